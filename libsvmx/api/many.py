"""Many trainings over the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from libsvmx._core import memory
from libsvmx._core.buffers import zeros
from libsvmx._train.gamma import default_gamma
from libsvmx._train.many import Training, finished_models
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx.api.arrays import numbers_of, parameter_of, rand_of, training_rows, weights_of
from libsvmx.api.kernels import call_on, called
from libsvmx.api.warned import warn_of_weights
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError


def fit_many(
    X: Any,
    Y: Any,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> list[Model]:
    """Train a model for each column of Y: labels of many tasks, one class against the rest, or permuted labels.

    All trainings share kernel values, which do not depend on labels. If these fit ``cache_size`` (up to 2,048 rows),
    all threads take solves from one queue; with more rows, trainings run in parallel.

    Parameters
    ----------
    X
        n rows, as in ``train``.
    Y : array of float, shape (n, m)
        Labels or targets, one training for each column; shape (n,) if weights differ by training: those of all
        trainings.
    sample_weight : array of float, shape (n,) or (n, m)
        Weights of the rows in all trainings, or in each of them, as in ``train``; for bootstrap samples, how often a
        row was drawn.
    param, random_state, observer, **options
        As in ``train``, for every training.

    Returns
    -------
    list of Model
        m models; with solver 'smo' each equals ``train(X, Y[:, j], ...)`` bit for bit, with any number of threads.

    Raises
    ------
    ParameterError, DataError
        As in ``train``, naming the column; also for one-class, which ignores labels.
    TooLittleMemory
        For m models as large as the first one.
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it; ``partial`` is a list of the first models.

    Warns
    -----
    ConvergenceWarning
        If a solve ended before the tolerance was reached.
    UserWarning
        A weight of a class that is in no column.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> models = libsvmx.fit_many(X, np.column_stack([y, X[:, 0] > 0]), C=10, gamma=0.5)
    >>> [model.n_sv for model in models]
    [13, 13]
    """
    X, known, options = called(X, options)
    param = parameter_of(param, options, random_state, X)
    if param.svm_type == SvmType.ONE_CLASS:
        raise ParameterError("one-class ignores labels, so all models would be identical")
    table, weights = numbers_of(Y, "Y"), None
    if sample_weight is not None:
        weights = numbers_of(sample_weight, "sample_weight")
        if weights.ndim == 2 and table.ndim == 1 and len(weights) == len(table):
            table = np.broadcast_to(table[:, None], weights.shape)
    if table.ndim != 2:
        raise DataError(f"Y must have a column for each training, but its shape is {table.shape}; for one, use train")
    rows = training_rows(X, param, borrow=True)
    n = rows.n_rows
    if len(table) != n:
        raise DataError(f"X has {n} rows, but Y has shape {table.shape}")
    if weights is not None and weights.ndim == 2 and weights.shape != table.shape:
        raise DataError(f"sample_weight has shape {weights.shape}, but there are {table.shape} targets")
    memory.require(8.0 * table.size, f"{table.shape[1]} columns of targets", "; train fewer at a time")
    columns = np.ascontiguousarray(table.T)
    if weights is not None and weights.ndim == 2:
        each = [weights_of(np.ascontiguousarray(column), n) for column in weights.T]
        largest = weights_of(weights.max(axis=1, initial=0.0), n)
    else:
        largest = weights_of(sample_weight, n)
        each = [largest] * len(columns)
    problem = Problem(rows, zeros("d", n), sample_weight=largest)
    param = default_gamma(param, rows.max_index)
    warn_of_weights(param, *columns)
    with call_on(problem, param, observer) as told:
        trainings = [
            Training(Problem(rows, column.data, problem.rows, problem.features, own), param, f"column {j} of Y")
            for j, (column, own) in enumerate(zip(columns, each, strict=True))
        ]
        models = finished_models(problem, trainings, rand_of(random_state), told)
    return models if known is None else [known.in_model(model) for model in models]
