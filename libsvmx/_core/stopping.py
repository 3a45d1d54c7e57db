"""How work in Python, or in BLAS and LAPACK, asks whether to stop: between two pieces of it, each of some milliseconds.

Whoever works is given an ``Asking`` and tells it of each piece. The one of a solve is its Control, which lets signals
in, looks at the clock, and asks the observer.
"""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING
from libsvmx.exceptions import Stopped as Stopped  # of these callers, too

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from libsvmx.enums import SolveStatus
else:
    Protocol = object

# Flops of a dense product of matrices that take as long as one element elsewhere, about a nanosecond.
FLOPS = 8
# Elements elsewhere that take as long as one of memory that may be touched for the first time.
TOUCHED = 8
# Flops of a piece: some milliseconds to some tens of them.
PIECE = 1 << 27


class Asking(Protocol):
    """Who is asked."""

    def ask(self, amount: int) -> None:
        """After a piece of work on so many elements: Stopped is raised if it is time to come to an end."""

    def note(self, amount: int) -> None:
        """As ``ask``, for work that has to be done in any case: only signals get through."""

    def abandon(self) -> None:
        """Every other thread that asks is to stop: an exception is on its way."""


class NobodyAsked:
    """An Asking that never stops."""

    def ask(self, amount: int) -> None: ...

    def note(self, amount: int) -> None: ...

    def abandon(self) -> None: ...


NOBODY = NobodyAsked()


class LetSignalsIn:
    """LetSignalsIn(asking): for work that has to be done in any case, by functions that ask."""

    def __init__(self, asking: Asking):
        self.ask = self.note = asking.note
        self.abandon = asking.abandon


class Relay:
    """Relay(to): asks another one, which may be exchanged for a time."""

    def __init__(self, to: Asking):
        self.to = to

    def ask(self, amount: int) -> None:
        self.to.ask(amount)

    def note(self, amount: int) -> None:
        self.to.note(amount)

    def abandon(self) -> None:
        self.to.abandon()


class Within:
    """Within(asking, amount): for what is worth doing after the end, if it is that little; else Stopped is raised."""

    def __init__(self, asking: Asking, amount: int, status: SolveStatus):
        self.asking, self.left, self.status = asking, amount, status
        self.abandon = asking.abandon

    def ask(self, amount: int) -> None:
        self.note(amount)
        self.left -= amount
        if self.left < 0:
            raise Stopped(self.status)

    def note(self, amount: int) -> None:
        self.asking.note(amount)


def pieces(begin: int, end: int, flops: int, most: int = PIECE) -> Iterator[tuple[int, int]]:
    """[begin, end) in intervals of about ``most`` flops, at ``flops`` for each number; ascending, 1 or longer."""
    size = max(1, most // max(flops, 1))
    for first in range(begin, end, size):
        yield first, min(first + size, end)
