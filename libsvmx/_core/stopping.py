"""Checks for a stop in Python, BLAS and LAPACK: work is done in pieces of some milliseconds, counted by a Token.

The Token of a solve is its Control.
"""

from __future__ import annotations

from math import inf

from libsvmx._core.process import Token as Token
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped as Stopped  # of these callers, too

if TYPE_CHECKING:
    from collections.abc import Iterator

# Flops of a dense matrix product in the time of one element elsewhere, about a nanosecond.
FLOPS = 8
# Elements elsewhere in the time of one in memory that may be touched for the first time.
TOUCHED = 8
# Flops of a piece: some milliseconds to tens of milliseconds.
PIECE = 1 << 27


class Leeway(Token):
    """Leeway(token, left=inf): a Token for work that must, or may, be finished after a stop.

    ``left``: elements that may still be worked on before Stopped is raised; None: no leeway.
    """

    def __init__(self, token: Token, left: float | None = inf) -> None:
        super().__init__(parent=token)
        self.token, self.left = token, left

    def look(self) -> SolveStatus | None:
        return self.token.look()

    def ask(self, amount: int) -> None:
        if self.left is None:
            self.token.ask(amount)
            return
        self.token.note(amount)
        self.left -= amount
        if self.left < 0:
            raise Stopped(self.token.stopped or SolveStatus.INTERRUPTED)

    def note(self, amount: int) -> None:
        self.token.note(amount)

    def abandon(self) -> None:
        self.token.abandon()


# Never stops; for any thread.
NOBODY = Leeway(Token())


def pieces(begin: int, end: int, flops: int, most: int = PIECE) -> Iterator[tuple[int, int]]:
    """[begin, end) in ascending, non-empty intervals of about ``most`` flops, with ``flops`` per index."""
    size = max(1, most // max(flops, 1))
    for first in range(begin, end, size):
        yield first, min(first + size, end)
