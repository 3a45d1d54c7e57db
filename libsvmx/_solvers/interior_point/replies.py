"""Replies of the steps of block_steps: sums over the rows of a block, to be added over all blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from libsvmx._typing import FloatArray


class DataSums(NamedTuple):
    """Sums over rows that do not change.

    Attributes
    ----------
    positive, negative, m : int            rows of +1 and of -1, and all
    squares, mean_square : float           sum and mean of |x|^2
    upper : float                          sum of the upper bounds
    entries : int                          stored entries of X
    length : float                         root of the mean of |x|^2; 1 if that is 0
    """

    positive: int
    negative: int
    squares: float
    upper: float
    entries: int

    @property
    def m(self) -> int:
        return self.positive + self.negative

    @property
    def mean_square(self) -> float:
        return self.squares / self.m

    @property
    def length(self) -> float:
        return float(np.sqrt(self.mean_square)) or 1.0


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


def added(replies: list[Any]) -> Any:
    """The sums over the rows of several blocks. Replies are not changed."""
    if len(replies) == 1:
        return replies[0]
    return type(replies[0])._make(sum(values[1:], start=values[0]) for values in zip(*replies, strict=True))
