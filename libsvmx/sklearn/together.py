"""Fits several estimators to different targets of the same rows, with shared kernel values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from libsvmx._core.arrays import give_back
from libsvmx._core.buffers import zeros
from libsvmx._train.folds import Rand
from libsvmx._train.limits import limited
from libsvmx._train.many import Training, train_many
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import Tests
from libsvmx._train.problem import Problem
from libsvmx._train.validation.calibration import calibrated
from libsvmx._typing import FloatArray
from libsvmx.api.kernels import raising
from libsvmx.api.warned import offset_warned
from libsvmx.sklearn.fitted import FittedModel
from libsvmx.sklearn.progress import watched
from libsvmx.sklearn.tasks import observed
from libsvmx.sklearn.training import TrainingData, check_exact, train_without_steps

if TYPE_CHECKING:
    from libsvmx.sklearn.base import BaseSVM  # which imports this module


def fit_together(
    whole: Any,
    ones: Sequence[BaseSVM],
    X: Any,
    columns: Sequence[tuple[str, Any]],
    sample_weight: Any,
    keep: bool = False,
    exact: bool = False,
) -> None:
    """Fit each of ``ones``, and set the shared attributes of ``whole``, which may be the only one of them.

    Parameters
    ----------
    whole : estimator         the one that shows progress
    ones : sequence of estimators, with the same parameters except ``tau``
    columns : sequence of (str, array)      name in errors, and targets, of each
    keep, exact : bool        as in ``_fit``

    Raises
    ------
    ValueError                invalid data or parameters
    """
    first = ones[0]
    for one in ones:
        one._forget()
    # always drawn, so that a shared RandomState advances as in scikit-learn
    seed = check_random_state(getattr(first, "random_state", None)).randint(np.iinfo("i").max)
    data = [first._training_data(X, columns[0][1], sample_weight, first._may_borrow(keep, exact))]
    for one, (_, y) in zip(ones[1:], columns[1:], strict=True):
        data.append(with_targets(one, y, data[0]))
        take_shared(one, first)
    take_shared(whole, first)
    params = [one._parameter() for one in ones]
    if exact:
        check_exact(params[0], first.kernel, "refine=True" if first.refine else "partial_fit")
    total = sum(one._n_solves for one in ones)
    with (
        watched(first.verbose, first.callback, f"{type(whole).__name__} fit", total) as shown,
        observed(whole, shown, total) as told,
        offset_warned(told) as heard,
    ):
        observer = limited(heard, params[0].time_limit)
        with raising(data[0].problem.matrix.source, observer):
            if whole is first:
                models = [first._train(data[0].problem, params[0], Rand(seed), observer)]
            else:
                models = list(models_of(first, data, params, [name for name, _ in columns], Rand(seed), observer))
            models = [
                calibrated(model, own.problem, param, Rand(seed), observer) if one._by_cv else model
                for one, model, own, param in zip(ones, models, data, params, strict=True)
            ]
        for one, model, own in zip(ones, models, data, strict=True):
            one._be_trained(model, own, keep, exact, observer)
    whole.shape_fit_ = first.shape_fit_
    whole.fit_status_ = max(one.fit_status_ for one in ones)
    whole.optimality_ = max(one.optimality_ for one in ones)
    size = data[0].problem.matrix.nnz
    del data, own
    give_back(size)


def with_targets(one: BaseSVM, y: Any, data: TrainingData) -> TrainingData:
    """``data`` with other targets; ``y``: for all rows."""
    known = data.problem
    rows = np.asarray(known.rows)
    order = np.argsort(rows)
    targets, by_class = one._targets(np.asarray(y)[rows[order]], len(rows) < data.shape[0])
    if by_class is not None:
        order = order[by_class]
    rows = rows[order]
    weights = None if known.sample_weight is None else np.asarray(known.sample_weight)[order].data
    problem = Problem(known.matrix, targets.data, rows.data, known.features, weights)
    return data._replace(problem=problem, chosen=None if data.chosen is None and by_class is None else rows)


def take_shared(one: Any, first: BaseSVM) -> None:
    """Copy the attributes of the features from ``first``."""
    for name in ("n_features_in_", "feature_names_in_", "_gamma"):
        if name in vars(first):
            setattr(one, name, getattr(first, name))
        else:
            vars(one).pop(name, None)


def models_of(
    first: BaseSVM,
    data: Sequence[TrainingData],
    params: Sequence[Parameter],
    names: Sequence[str],
    rand: Rand,
    observer: Observer,
) -> Iterator[Model]:
    """Yield the model of each training, in order; ``names`` are for errors."""
    if first.max_iter == 0:
        return (
            train_without_steps(own.problem, param, rand.copy(), observer)
            for own, param in zip(data, params, strict=True)
        )
    trainings = [Training(own.problem, param, name) for own, param, name in zip(data, params, names, strict=True)]
    problem = trainings[0].problem
    rows = np.asarray(problem.rows)
    order = np.argsort(rows)
    weights = None if problem.sample_weight is None else np.asarray(problem.sample_weight)[order].data
    whole = Problem(problem.matrix, zeros("d", len(rows)), rows[order].data, problem.features, weights)
    return train_many(whole, trainings, rand, observer)


def predicted_together(
    ones: Sequence[BaseSVM], X: Any, predicted: Callable[[FittedModel, Tests, int], FloatArray]
) -> FloatArray:
    """Predictions, one column per estimator; rows are validated once."""
    tests, columns = None, []
    for one in ones:
        if tests is None or one._is_called:  # its values are those with the support vectors of each model
            tests = one._tests(X)
        columns.append(predicted(one._fitted, tests, one._threads).reshape(-1))
    return np.column_stack(columns)
