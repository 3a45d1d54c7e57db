"""The folds of a cross-validation as LIBSVM draws them, and how many of them are solved at a time."""

from __future__ import annotations

from itertools import combinations, pairwise

from libsvmx._core.arrays import take_float64
from libsvmx._core.threads import thread_count
from libsvmx._train import folds
from libsvmx._train.assembly import INNER_FOLDS
from libsvmx._train.observer import Remark
from libsvmx._typing import TYPE_CHECKING
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer


def draw_folds(
    problem: Problem, param: Parameter, n_folds: int, rand: Rand, observer: Observer
) -> tuple[Buffer, list[int]]:
    """LIBSVM's folds, (order, bounds): fold f is order[bounds[f]:bounds[f+1]].

    Raises
    ------
    DataError, ParameterError
    """
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


def folds_at_once(
    problem: Problem, param: Parameter, order: Buffer, bounds: list[int], rand: Rand, kernels: KernelProvider
) -> tuple[int, list[Rand]]:
    """How many folds that are not solved by a queue are solved at a time, and for each of them the random numbers as
    its training finds them. ``kernels`` are made ready for that."""
    n, threads = len(bounds) - 1, thread_count(param.threads)
    if param.probability and (problem.sample_weight is not None or not param.svm_type.is_classification):
        return 1, [rand] * n  # what a training draws is known when it does
    threads = kernels.at_once_of(n, threads)
    if not param.probability:
        return threads, [rand] * n
    rands = []
    for begin, end in pairwise(bounds):
        rands.append(rand.copy())
        draw_inner(take_float64(problem.targets, folds.all_but(order, begin, end)), rand)
    return threads, rands


def draw_inner(targets: Buffer, rand: Rand) -> None:
    """Move ``rand`` on as a training of these classes does, which draws the inner folds of all pairs."""
    labels, start, _ = folds.group_classes(targets)
    for i, j in combinations(range(len(labels)), 2):
        folds.plain_folds(start[i + 1] - start[i] + start[j + 1] - start[j], INNER_FOLDS, rand)
