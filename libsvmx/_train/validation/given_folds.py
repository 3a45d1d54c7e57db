"""Predictions of given folds by C-SVC models; folds of the same kernel are one list of trainings."""

from __future__ import annotations

from functools import partial

from libsvmx._core.records import NamedTuple, replace
from libsvmx._core.threads import thread_count
from libsvmx._train import limits
from libsvmx._train.folds import Rand
from libsvmx._train.many import Training, train_many
from libsvmx._train.prediction import predict_labels
from libsvmx._train.side_by_side import param_of, side_by_side
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer


class GivenFold(NamedTuple):
    """Rows to train a C-SVC on, and rows to predict, int32; and the parameters."""

    rows: Buffer
    tests: Buffer
    param: Parameter


def predicted_folds(problem: Problem, given: list[GivenFold], observer: Observer) -> list[Buffer]:
    """Labels predicted by LIBSVM's models, for each fold. Parameters may differ in C, gamma and class weights only.

    Raises
    ------
    DataError, ParameterError      a fold cannot be trained
    Stopped
    """
    param, by_gamma = given[0].param, dict[float, list[int]]()
    observer = limits.limited(observer, param.time_limit)
    for f, fold in enumerate(given):
        by_gamma.setdefault(fold.param.gamma, []).append(f)
    n, groups = len(by_gamma), list(by_gamma.values())
    pays = len(given) * float(len(problem)) ** 2 > param.policy.work_for_threads and not param.solver.needs_features
    threads = thread_count(param.threads) if pays and n > 1 else 1

    def predicted(g: int, observer: Observer) -> list[Buffer]:
        trainings, found = [], []
        for f in groups[g]:
            own = param_of(given[f].param, g, n, threads)
            own = replace(own, cache_size=own.cache_size / min(threads, n))
            trainings.append(Training(problem.take(given[f].rows), own, f"fold {f}"))
        for f, model in zip(groups[g], train_many(problem, trainings, Rand(), observer), strict=True):
            limits.ask(observer)  # do not use a model that was stopped early
            found.append(predict_labels(model, problem.matrix, given[f].tests, partial(limits.ask, observer)))
        return found

    by_fold: dict[int, Buffer] = {}
    for group, found in zip(groups, side_by_side(predicted, n, threads, observer), strict=True):
        by_fold.update(zip(group, found, strict=True))
    return [by_fold[f] for f in range(len(given))]
