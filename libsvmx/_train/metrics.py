"""Scores of predictions, summed row by row in LIBSVM's order so that printed digits agree."""

from __future__ import annotations

from math import copysign, inf, nan, sqrt

from libsvmx._core.arrays import add_up_scores
from libsvmx._core.buffers import filled
from libsvmx._typing import TYPE_CHECKING, Buffer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def balanced_accuracy(predictions: Iterable[float], targets: Iterable[float]) -> float:
    """Balanced accuracy: mean over the classes among ``targets`` of the percentage predicted correctly; 0 without
    rows."""
    from collections import Counter  # imported on use; predictions do without

    total, correct = Counter(targets), Counter(y for v, y in zip(predictions, targets, strict=True) if v == y)
    return 100.0 * sum(correct[y] / total[y] for y in sorted(total)) / len(total) if total else 0.0


class Scores:
    """Scores(tau=None): running sums over predictions v and targets y; ``tau`` for quantile regression.

    Attributes
    ----------
    total, correct : int
    sums : list of float      as of ``add_up_scores``
    """

    def __init__(self, tau: float | None = None) -> None:
        self.tau = tau
        self.total: int = 0
        self.correct: int = 0
        self.sums = [0.0] * 8

    def add(self, predictions: Iterable[float], targets: Iterable[float]) -> None:
        """Add rows. Raises ValueError for different lengths."""
        v, y, sums = doubles(predictions), doubles(targets), doubles(self.sums)
        if len(v) != len(y):
            raise ValueError(f"{len(v)} predictions for {len(y)} targets")
        self.correct += add_up_scores(v, y, sums)
        self.total += len(v)
        self.sums = list(sums)

    @property
    def accuracy(self) -> float:
        """Accuracy in percent, 0 without rows."""
        return 100.0 * self.correct / self.total if self.total else 0.0

    @property
    def mean_squared_error(self) -> float:
        """Mean squared error, 0 without rows."""
        return self.sums[0] / self.total if self.total else 0.0

    @property
    def pinball_loss(self) -> float:
        """Mean of tau (y - v) for targets above the prediction, (1 - tau) (v - y) for those below; 0 without rows, nan
        without tau."""
        if self.tau is None:
            return nan
        above, below = self.sums[6:]
        return (self.tau * above + (1.0 - self.tau) * below) / self.total if self.total else 0.0

    @property
    def squared_correlation(self) -> float:
        """Squared correlation coefficient; 0 without rows; if either side is constant 0/0, a nan that has a sign on
        x86."""
        n = self.total
        if n == 0:
            return 0.0
        _, v, y, vv, yy, vy, _, _ = self.sums
        covariance = n * vy - v * y
        spread = (n * vv - v * v) * (n * yy - y * y)
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
