"""Replies of the steps of block_steps: sums over the rows of a block, to be added over all blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray


class DataSums:
    """DataSums(class_sizes, squares, upper, entries): sums over rows that do not change.

    Attributes
    ----------
    class_sizes, m : (int, int), int       rows of +1 and of -1, and all
    squares, mean_square : float           sum and mean of |x|^2
    length : float                         root of the mean of |x|^2; 1 if that is 0
    upper : float                          sum of the upper bounds
    entries : int                          stored entries of X
    """

    def __init__(self, class_sizes: tuple[int, int], squares: float, upper: float, entries: int):
        self.class_sizes, self.squares, self.upper, self.entries = class_sizes, squares, upper, entries
        self.m = sum(class_sizes)
        self.mean_square = squares / self.m
        self.length = float(np.sqrt(self.mean_square)) or 1.0


class Residuals(NamedTuple):
    """Sums over the rows of a block.

    Attributes
    ----------
    complementarity : float         s'alpha + xi'u
    r_alpha : float                 y'alpha
    slack_loss, hinge_loss : float  upper'xi, and upper' max(0, y (linear - x'w + rho))
    inverse : float                 e'Omega^-1 e
    r_omega : float                 y'Omega^-1 r_Omega, of the predictor
    largest : (float, float)        maxima of |r_u| and |r_s|
    vectors : ndarray, shape (3, n)      X'Y alpha, ybar = X'Omega^-1 e, X'Y Omega^-1 r_Omega
    """

    complementarity: float
    r_alpha: float
    slack_loss: float
    hinge_loss: float
    inverse: float
    r_omega: float
    largest: tuple[float, float]
    vectors: FloatArray


class NormalSums(NamedTuple):
    """Sums over Q: x x' / omega (lower triangle), x / omega, 1 / omega; and |Q|."""

    outer: FloatArray
    ybar: FloatArray
    inverse: float
    rows: int


class RightHandSide(NamedTuple):
    """Sums over rows: y'Omega^-1 r_Omega and X'Y Omega^-1 r_Omega, shape (n,)."""

    r_omega: float
    vector: FloatArray


class RatioTest(NamedTuple):
    """``ratio``: max of -d/v over all variables, 1 / (largest step); the others determine mu after a step."""

    ratio: float
    linear: float
    quadratic: float


def add_data_sums(replies: list[DataSums]) -> DataSums:
    """The sums over the rows of several blocks."""
    positive, negative = (sum(reply.class_sizes[c] for reply in replies) for c in range(2))
    squares, upper, entries = (
        sum(getattr(reply, name) for reply in replies) for name in ("squares", "upper", "entries")
    )
    return DataSums((positive, negative), squares, upper, entries)


def add_normal_sums(replies: list[NormalSums]) -> NormalSums:
    """The sums over the rows of several blocks."""
    if len(replies) == 1:
        return replies[0]
    first, *others = replies
    outer, ybar = first.outer, first.ybar
    for k, reply in enumerate(others):  # replies are not changed
        outer = np.add(outer, reply.outer, out=outer if k else None)
        ybar = ybar + reply.ybar
    return NormalSums(outer, ybar, sum(reply.inverse for reply in replies), sum(reply.rows for reply in replies))
