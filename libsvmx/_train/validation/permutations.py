"""Cross-validation of targets and of permutations of them, to test whether the features predict better than chance.

Ojala & Garriga, Permutation tests for studying classifier performance, JMLR 11, 2010, test 1. Folds are drawn anew for
each permutation, with the same random numbers: folds of the original targets would be stratified for these only, and
favour them even if there is nothing to predict. Kernel values do not depend on targets, so all trainings share them.
"""

from __future__ import annotations

from itertools import chain, islice

from libsvmx._core.arrays import take_float64
from libsvmx._core.buffers import zeros
from libsvmx._core.records import NamedTuple
from libsvmx._core.stopping import Stopped
from libsvmx._train import folds, limits
from libsvmx._train.checks import check_problem
from libsvmx._train.folds import Rand
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.queue.trainings import queue_of_folds, solved_folds
from libsvmx._train.repeated_folds import draw_folds, draw_repeats
from libsvmx._train.training import tell_offset
from libsvmx._train.validation.cross_validation import cross_validate
from libsvmx._train.validation.scheme import Seeding
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._typing import Buffer


class Predicted(NamedTuple):
    """Targets, and the prediction of each row by a model trained without its fold; float64, shape (n,)."""

    targets: Buffer
    predictions: Buffer


def predicted_permutations(
    problem: Problem,
    param: Parameter,
    n_permutations: int,
    n_folds: int,
    seed: int,
    observer: Observer,
    seeding: Seeding,
) -> Iterator[Predicted]:
    """Predictions for the targets, then for each permutation.

    ``seed``: of the random numbers that draw the folds, the same for each permutation; permutations are drawn after the
    folds of the targets.

    Raises
    ------
    DataError, ParameterError
    StoppedEarly             at the first unfinished cross-validation
    """
    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    tell_offset(problem, param, observer)
    check_permutable(problem, param, n_folds)
    rand = Rand(seed)
    draw_folds(problem, param, n_folds, rand, observer)
    permutations = (take_float64(problem.targets, folds.shuffled(len(problem), rand)) for _ in range(n_permutations))
    problems = (problem.with_targets(targets) for targets in chain([problem.targets], permutations))
    kernels, exact, queue = KernelProvider(problem, param, repeated=True), seeding == Seeding("none"), None
    try:
        if exact:
            queue = queue_of_folds(problem, param, n_folds, observer, kernels, 1 + n_permutations)
        if queue is not None:
            yield from queued(queue, problems, param, n_folds, seed, observer, kernels)
            return
        shared = kernels.if_shared() if exact else kernels
        for own in problems:
            found = cross_validate(
                own, param, n_folds, Rand(seed), observer, seeding, with_values=False, kernels=shared
            )
            yield Predicted(own.targets, found.predicted)
    except Stopped as stop:
        raise StoppedEarly(stop.status, "a cross-validation has no result") from None


def check_permutable(problem: Problem, param: Parameter, n_folds: int) -> None:
    """Raise DataError or ParameterError if all permutations are equal, or there are fewer rows than folds."""
    if param.svm_type == SvmType.ONE_CLASS:
        raise ParameterError("one-class ignores labels: there is nothing to permute")
    if n_folds > len(problem):
        raise ParameterError(f"{n_folds} folds of {len(problem)} rows: there may be as many folds as rows")
    if len(set(problem.targets)) == 1:
        what = "of one class" if param.svm_type.is_classification else "of the same target"
        raise DataError(f"all rows are {what}: permutations are all the same")


def queued(
    queue: SolveQueue,
    problems: Iterable[Problem],
    param: Parameter,
    n_folds: int,
    seed: int,
    observer: Observer,
    kernels: KernelProvider,
) -> Iterator[Predicted]:
    """``predicted_permutations`` with the folds of all permutations in a queue. Raises Stopped."""
    each = chain.from_iterable(draw_repeats(own, param, n_folds, 1, Rand(seed), observer) for own in problems)
    found = solved_folds(queue, each, param, observer, kernels)
    for first in found:
        predictions = zeros("d", len(first.own.order))
        for one in chain([first], islice(found, first.own.n - 1)):
            folds.put_rows(predictions, one.fold.held_out, one.predicted, 1)
        yield Predicted(first.own.problem.targets, predictions)
