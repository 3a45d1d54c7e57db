"""The folds of a cross-validation, drawn like LIBSVM's, once or repeatedly, and the number solved at a time."""

from __future__ import annotations

from itertools import combinations, pairwise

from libsvmx._core.arrays import take_float64
from libsvmx._core.records import NamedTuple
from libsvmx._core.threads import thread_count
from libsvmx._train import folds
from libsvmx._train.assembly import INNER_FOLDS
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.zero_weights import CountingPart, counting_part
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem


class Fold(NamedTuple):
    """A fold: the rows order[begin:end] are held out of a training on the others."""

    order: Buffer
    begin: int
    end: int

    @property
    def held_out(self) -> Buffer:
        return self.order[self.begin : self.end]

    @property
    def rest(self) -> Buffer:
        return folds.all_but(self.order, self.begin, self.end)


class Folds(NamedTuple):
    """The folds of a cross-validation by ``draw_folds``; ``rand`` draws the inner ones of probability estimates."""

    problem: Problem
    order: Buffer
    bounds: list[int]
    rand: Rand

    @property
    def n(self) -> int:
        """Number of folds."""
        return len(self.bounds) - 1

    @property
    def each(self) -> list[Fold]:
        """The folds in order."""
        return [Fold(self.order, begin, end) for begin, end in pairwise(self.bounds)]


def draw_folds(
    problem: Problem, param: Parameter, n_folds: int, rand: Rand, observer: Observer
) -> tuple[Buffer, list[int]]:
    """LIBSVM's folds, (order, bounds): fold f is order[bounds[f]:bounds[f+1]]. Raises DataError, ParameterError."""
    n = len(problem)
    if n_folds < 2:
        raise ParameterError(f"cross-validation needs at least 2 folds, not {n_folds}")
    if n_folds > n:
        observer.remark(Remark.MORE_FOLDS_THAN_ROWS, f"{n_folds} {n}")
        n_folds = n
    if n < 2:
        raise DataError("cross-validation needs at least 2 rows")
    if not param.svm_type.is_classification or n_folds == n:
        return folds.plain_folds(n, n_folds, rand)
    labels, start, _ = folds.group_classes(problem.targets)
    rare = [str(label) for c, label in enumerate(labels) if start[c + 1] - start[c] < n_folds]
    if rare:
        observer.remark(Remark.CLASS_SMALLER_THAN_FOLDS, ", ".join(rare))
    order, bounds = folds.stratified_folds(problem.targets, n_folds, rand)
    if any(end - begin == n for begin, end in pairwise(bounds)):
        raise DataError(
            f"one of {n_folds} stratified folds holds all {n} rows: with so few rows of each class, "
            f"take {n} folds (leave-one-out)"
        )
    return order, bounds


def draw_repeats(
    problem: Problem, param: Parameter, n_folds: int, repeats: int, rand: Rand, observer: Observer
) -> list[Folds]:
    """LIBSVM's folds, drawn n times with one sequence of random numbers. Raises DataError, ParameterError."""
    if repeats < 1:
        raise ParameterError(f"repeats must be at least 1, not {repeats}")
    if repeats == 1:
        return [Folds(problem, *draw_folds(problem, param, n_folds, rand, observer), rand)]
    if n_folds >= len(problem):
        raise ParameterError(f"{n_folds} folds of {len(problem)} rows are leave-one-out: each repeat would be the same")
    part = counting_part(problem, param, Observer()) if param.probability else None
    drawn: list[Folds] = []
    for _ in range(repeats):
        # remarks on the folds are made once
        order, bounds = draw_folds(problem, param, n_folds, rand, Observer() if drawn else observer)
        drawn.append(Folds(problem, order, bounds, rand.copy()))
        inner_rands(drawn[-1]._replace(rand=rand), param, part)
    return drawn


def folds_at_once(validations: Sequence[Folds], param: Parameter, kernels: KernelProvider) -> tuple[int, list[Rand]]:
    """Number of folds solved at a time without a queue, and for each of them the random numbers in the state in which
    its training finds them. Prepares ``kernels``."""
    n, threads = sum(own.n for own in validations), thread_count(param.threads)
    weighted = validations[0].problem.sample_weight is not None
    if param.probability and (weighted or not param.svm_type.is_classification):
        # what a training draws is known when it does
        return 1, [own.rand for own in validations for _ in range(own.n)]
    return kernels.at_once_of(n, threads), [rand for own in validations for rand in inner_rands(own, param, None)]


def inner_rands(own: Folds, param: Parameter, part: CountingPart | None) -> list[Rand]:
    """For each fold, the random numbers as its training finds them, which draws inner folds of its rows that count;
    ``own.rand`` is moved on by all of them. ``part``: what counts of the problem, None for all of it."""
    if not param.probability:
        return [own.rand] * own.n
    rands, targets = [], part.problem.targets if part else own.problem.targets
    for fold in own.each:
        rands.append(own.rand.copy())
        draw_inner(take_float64(targets, part.split(fold.rest)[0] if part else fold.rest), param, own.rand)
    return rands


def draw_inner(targets: Buffer, param: Parameter, rand: Rand) -> None:
    """Move ``rand`` on as a training with probability estimates does, which draws the inner folds of all pairs."""
    if param.svm_type.is_regression:
        folds.shuffled(len(targets), rand)
    elif param.svm_type.is_classification:
        labels, start, _ = folds.group_classes(targets)
        for i, j in combinations(range(len(labels)), 2):
            folds.plain_folds(start[i + 1] - start[i] + start[j + 1] - start[j], INNER_FOLDS, rand)
