"""Decision values by the models of a cross-validation: of held-out rows, and of new rows by each model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx._core import memory
from libsvmx._core.arrays import inverse, ramp
from libsvmx._core.stopping import Stopped
from libsvmx._train import folds, prediction
from libsvmx._train.checks import check_problem
from libsvmx._train.limits import ask, limited
from libsvmx._train.queue.trainings import queue_of_folds
from libsvmx._train.repeated_folds import draw_repeats
from libsvmx._train.training import each_trained, shared_kernels, tell_offset
from libsvmx._train.validation.problem_folds import by_pairs
from libsvmx.exceptions import StoppedEarly

if TYPE_CHECKING:
    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.folds import Rand
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import FloatArray, Ids


class FoldValues(NamedTuple):
    """Decision values by the models of k folds, like those of CrossValidated.

    fold_of : ndarray, shape (n,)                  fold in which each row is held out
    own : ndarray, shape (n, n_functions)          of each row by the model without its fold
    new : ndarray, shape (k, m, n_functions)       of the new rows by each model
    labels : list of int                           classes by first appearance
    """

    fold_of: Ids
    own: FloatArray
    new: FloatArray
    labels: list[int]


def fold_values(
    problem: Problem, param: Parameter, n_folds: int, rand: Rand, observer: Observer, tests: CsrMatrix
) -> FoldValues:
    """Decision values by the models of the folds that ``cross_validate`` draws, solved from cold starts.

    Raises
    ------
    DataError, ParameterError
    StoppedEarly
    TooLittleMemory      ``new`` takes 8 k m n_functions bytes
    """
    observer, n = limited(observer, param.time_limit), len(problem)
    check_problem(problem, param)
    tell_offset(problem, param, observer)
    (drawn,) = draw_repeats(problem, param, n_folds, 1, rand, observer)
    each = drawn.each
    labels = folds.group_classes(problem.targets)[0] if param.svm_type.is_classification else []
    width, k = len(labels) * (len(labels) - 1) // 2 if labels else 1, len(each)
    memory.require(8.0 * k * tests.n_rows * width, f"the values of {k} models", "; give fewer rows as X_new")
    fold_of = np.repeat(np.arange(k), np.diff(drawn.bounds))[np.asarray(inverse(drawn.order, n))]
    found = FoldValues(fold_of, np.zeros((n, width)), np.zeros((k, tests.n_rows, width)), labels)

    def values_by(model: Model, held_out: Problem, observer: Observer) -> list[FloatArray]:
        both = (problem.matrix, held_out.rows), (tests, ramp(tests.n_rows))
        values = (prediction.decision_values(model, *rows, partial(ask, observer)) for rows in both)
        return [
            np.asarray(by_pairs(part, len(rows), model.class_labels, labels)).reshape(len(rows), width)
            for part, (_, rows) in zip(values, both, strict=True)
        ]

    done = 0
    try:
        kernels = shared_kernels(problem, param)
        queue = queue_of_folds(problem, param, k, observer, kernels)
        trained = each_trained([drawn], param, observer, kernels, values_by, queue=queue)
        for fold, (own, new) in zip(each, trained, strict=True):
            ask(observer)
            found.own[np.asarray(fold.held_out)], found.new[done] = own, new
            done += 1
            observer.counted("fold", done, k)
    except Stopped as stop:
        raise StoppedEarly(stop.status, f"the cross-validation has no result; {done} of {k} folds are done") from None
    return found
