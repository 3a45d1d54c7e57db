"""Scores of predictions, summed row by row in LIBSVM's order so that printed digits agree."""

from __future__ import annotations

from math import copysign, inf, nan, sqrt

from libsvmx._core.arrays import add_up_scores
from libsvmx._core.buffers import filled
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from libsvmx._typing import Buffer


def balanced_accuracy(predictions: Iterable[float], targets: Iterable[float]) -> float:
    """Balanced accuracy: mean over the classes among ``targets`` of the percentage predicted correctly; 0 without
    rows."""
    from collections import Counter  # imported on use; predictions do without

    total, correct = Counter(targets), Counter(y for v, y in zip(predictions, targets, strict=True) if v == y)
    return 100.0 * sum(correct[y] / total[y] for y in sorted(total)) / len(total) if total else 0.0


class Scores:
    """Scores(tau=None): running sums over predictions and targets; ``tau`` for quantile regression.

    Attributes
    ----------
    total, correct : int
    """

    def __init__(self, tau: float | None = None) -> None:
        self.tau = tau
        self.total: int = 0
        self.correct: int = 0
        self.error: float = 0.0
        self.sum_v: float = 0.0
        self.sum_y: float = 0.0
        self.sum_vv: float = 0.0
        self.sum_yy: float = 0.0
        self.sum_vy: float = 0.0
        self.above: float = 0.0  # sum of targets - predictions where positive; below: where negative
        self.below: float = 0.0

    def add(self, predictions: Iterable[float], targets: Iterable[float]) -> None:
        """Add rows. Raises ValueError for different lengths."""
        v, y = doubles(predictions), doubles(targets)
        if len(v) != len(y):
            raise ValueError(f"{len(v)} predictions for {len(y)} targets")
        before = self.error, self.sum_v, self.sum_y, self.sum_vv, self.sum_yy, self.sum_vy, self.above, self.below
        sums = filled("d", before)
        self.correct += add_up_scores(v, y, sums)
        self.total += len(v)
        self.error, self.sum_v, self.sum_y, self.sum_vv, self.sum_yy, self.sum_vy, self.above, self.below = sums

    @property
    def accuracy(self) -> float:
        """Accuracy in percent, 0 without rows."""
        return 100.0 * self.correct / self.total if self.total else 0.0

    @property
    def mean_squared_error(self) -> float:
        """Mean squared error, 0 without rows."""
        return self.error / self.total if self.total else 0.0

    @property
    def pinball_loss(self) -> float:
        """Mean of tau (y - v) for targets above the prediction, (1 - tau) (v - y) for those below; 0 without rows, nan
        without tau."""
        if self.tau is None:
            return nan
        return (self.tau * self.above + (1.0 - self.tau) * self.below) / self.total if self.total else 0.0

    @property
    def squared_correlation(self) -> float:
        """Squared correlation coefficient; 0 without rows; if either side is constant 0/0, a nan that has a sign on
        x86."""
        n = self.total
        if n == 0:
            return 0.0
        covariance = n * self.sum_vy - self.sum_v * self.sum_y
        spread = (n * self.sum_vv - self.sum_v * self.sum_v) * (n * self.sum_yy - self.sum_y * self.sum_y)
        if spread == 0:
            return copysign(inf, spread) if covariance else -nan
        return covariance * covariance / spread


def doubles(values: Iterable[float]) -> Buffer:
    """A buffer of float64."""
    return values if isinstance(values, memoryview) else filled("d", values)


def scores_of_repeats(predictions: Buffer, targets: Buffer, tau: float | None = None) -> list[Scores]:
    """Scores of each repeat of a cross-validation; ``predictions``: of all rows in the first repeat, then in the
    next."""
    found, n = [], len(targets)
    for begin in range(0, len(predictions), n):
        found.append(Scores(tau))
        found[-1].add(predictions[begin : begin + n], targets)
    return found


def mean(values: Sequence[float]) -> float:
    """Mean; of one value that value itself, with the sign of a nan."""
    return sum(values[1:], values[0]) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Sample standard deviation (denominator n - 1); nan for one value."""
    if len(values) < 2:
        return nan
    middle = mean(values)
    return sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))
