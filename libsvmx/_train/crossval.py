"""Cross-validation of one parameter point, with what the next larger C of the same column can start from."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from libsvmx._train.observer import Observer, SolveReport
from libsvmx._train.training import cross_validate_problem

if TYPE_CHECKING:
    from libsvmx._core.rand import Rand
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """A cross-validation.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)     of each row by the model trained without its fold
    state : object                                picklable; ``start`` of the next larger C, None without seeding
    iterations : int                              of all solves
    seconds : float
    """

    predicted: Buffer
    state: Any
    iterations: int
    seconds: float


class _Counting(Observer):
    """Passes on and counts iterations."""

    def __init__(self, inner: Observer) -> None:
        self.remark = inner.remark  # type: ignore[method-assign]
        self.should_stop = inner.should_stop  # type: ignore[method-assign]
        self.iterations = 0

    def solved(self, report: SolveReport) -> None:
        self.iterations += report.iterations


def cross_validate(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    rand: Rand,
    observer: Observer,
    seeding: str | None,
    start: Any = None,
    rows: Any = None,
) -> CrossValidated:
    """LIBSVM's own path, whatever ``seeding`` says: every solve starts from zero."""
    counting = _Counting(observer)
    begun = perf_counter()
    predicted = cross_validate_problem(problem, param, n_folds, rand, counting)
    return CrossValidated(predicted, None, counting.iterations, perf_counter() - begun)
