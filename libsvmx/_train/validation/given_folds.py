"""Predictions of rows by classifiers trained on other rows, all of them as one queue where that pays."""

from __future__ import annotations

from functools import partial

from libsvmx._core.arrays import take_int32
from libsvmx._core.records import NamedTuple, replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, limits
from libsvmx._train.folds import Rand
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.parameter import class_costs
from libsvmx._train.prediction import labels_of, predict_labels
from libsvmx._train.queue.pairs_at_once import QueuedPairs
from libsvmx._train.side_by_side import param_of, side_by_side
from libsvmx._train.training import train_problem
from libsvmx._train.zero_weights import counting_part
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer


class GivenFold(NamedTuple):
    """Rows of a problem to train a C-SVC on, those to predict (buffers of int32), and the parameters."""

    rows: Buffer
    tests: Buffer
    param: Parameter


def predicted_folds(problem: Problem, given: list[GivenFold], observer: Observer) -> list[Buffer]:
    """Labels that LIBSVM's models predict, for each fold. Parameters differ in C, gamma and weights of classes alone.

    Raises
    ------
    DataError, ParameterError      what cannot be trained
    Stopped
    """
    param, queue = given[0].param, None
    observer = limits.limited(observer, param.time_limit)
    parts = [problem.take(fold.rows) for fold in given]
    classes = [folds.group_classes(part.targets) for part in parts]
    if all(
        fold.param.gamma == param.gamma
        and not fold.param.has_infinite_cost
        and counting_part(part, fold.param, observer) is None
        for fold, part in zip(given, parts, strict=True)
    ):
        kernels = KernelProvider(problem, param, repeated=True)
        n_solves = sum(len(labels) * (len(labels) - 1) // 2 for labels, *_ in classes)
        queue = kernels.queue(param, observer, n_solves, problem.sample_weight is not None)
    if queue is None:
        return predicted_side_by_side(problem, parts, given, observer)
    for fold, part, (labels, start, order) in zip(given, parts, classes, strict=True):
        members = kernels.members(part)
        pairs = QueuedPairs(queue, members, (labels, start, order), class_costs(labels, fold.param, observer), None)
        tests = kernels.members(problem.take(fold.tests))
        queue.add_fold(take_int32(members, order), start, list(pairs.own), tests)
    queue.run(thread_count(param.threads))
    if not all(map(queue.fold_is_done, range(len(given)))):
        raise Stopped(queue.stopped or SolveStatus.INTERRUPTED)
    return [labels_of(param, classes[f][0], queue.fold_values(f), len(given[f].tests)) for f in range(len(given))]


def predicted_side_by_side(
    problem: Problem, parts: list[Problem], given: list[GivenFold], observer: Observer
) -> list[Buffer]:
    """As ``predicted_folds``, without a queue; ``parts``: the rows of each fold."""
    n, param = len(given), given[0].param
    work = n * float(len(problem)) ** 2
    pays = work > param.policy.work_for_threads and not param.solver.needs_features
    threads = thread_count(param.threads) if pays and n > 1 else 1

    def predicted(f: int, observer: Observer) -> Buffer:
        own = param_of(given[f].param, f, n, threads)
        model = train_problem(parts[f], replace(own, cache_size=own.cache_size / min(threads, n)), Rand(), observer)
        limits.ask(observer)  # a model that was ended early is none
        return predict_labels(model, problem.matrix, given[f].tests, partial(limits.ask, observer))

    return list(side_by_side(predicted, n, threads, observer))
