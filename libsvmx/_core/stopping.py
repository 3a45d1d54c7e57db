"""How work in Python, or in BLAS and LAPACK, asks whether to stop: between two pieces of it, each of some milliseconds.

Whoever works is given a Token and tells it of each piece: that of a solve is its Control.
"""

from __future__ import annotations

from math import inf

from libsvmx._core.process import Token as Token
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped as Stopped  # of these callers, too

if TYPE_CHECKING:
    from collections.abc import Iterator

# Flops of a dense product of matrices that take as long as one element elsewhere, about a nanosecond.
FLOPS = 8
# Elements elsewhere that take as long as one of memory that may be touched for the first time.
TOUCHED = 8
# Flops of a piece: some milliseconds to some tens of them.
PIECE = 1 << 27


class Leeway(Token):
    """Leeway(token, left=inf): a Token for work that has to be done in any case, or is worth doing after the end.

    ``left``: elements that may still be worked on before Stopped is raised; None: none, once the end has come.
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


# Never stops, whatever threads it is asked by.
NOBODY = Leeway(Token())


def pieces(begin: int, end: int, flops: int, most: int = PIECE) -> Iterator[tuple[int, int]]:
    """[begin, end) in intervals of about ``most`` flops, at ``flops`` for each number; ascending, 1 or longer."""
    size = max(1, most // max(flops, 1))
    for first in range(begin, end, size):
        yield first, min(first + size, end)
