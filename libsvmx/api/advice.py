"""What a training would be, told without training; the same as ``svmx-train --explain``."""

from __future__ import annotations

from typing import Any

from libsvmx._train.advice import TrainingPlan, plan_of
from libsvmx._train.parameter import Parameter
from libsvmx.api.arrays import parameter_of, problem_of
from libsvmx.api.kernels import call_on, called


def explain_training(
    X: Any, y: Any, param: Parameter | None = None, *, sample_weight: Any = None, **parameters: Any
) -> TrainingPlan:
    """What ``train`` would do with the same arguments, and warnings about data and parameters, without training.

    Parameters
    ----------
    X, y, param, sample_weight, **parameters
        As in ``train``.

    Returns
    -------
    plan : TrainingPlan
        Solver and reason, sizes, memory, and ``warnings`` with remedies.

    Raises
    ------
    DataError, ParameterError
        Invalid data or parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> plan = libsvmx.explain_training(X, y, C=10)
    >>> plan.solver
    'smo'
    """
    X, _, parameters = called(X, parameters)
    problem, param = problem_of(X, y, parameter_of(param, parameters, None, X), sample_weight)
    with call_on(problem, param, None):
        return plan_of(problem, param)
