"""Cross-validation and leave-one-out over arrays; the same computations as ``svmx-train -v`` and ``--loo``."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from libsvmx._train.metrics import mean, scores_of_repeats
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.validation import cross_validation
from libsvmx._train.validation.cross_validation import CrossValidated
from libsvmx._train.validation.fold_report import FoldReport
from libsvmx._train.validation.leave_one_out import LeftOneOut
from libsvmx._train.validation.leave_one_out import leave_one_out as leave_one_out_problem
from libsvmx._train.validation.scheme import Seeding
from libsvmx._typing import FloatArray, IntArray
from libsvmx.api.arrays import folds_of, parameter_of, problem_of, rand_of
from libsvmx.api.kernels import call_on, called
from libsvmx.exceptions import ParameterError, StoppedEarly


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Common part of cross-validation and leave-one-out results: each row is predicted by a model trained without it.

    Attributes
    ----------
    predictions : ndarray, shape (n,)
        Predicted label or target of each row.
    accuracy : float
        Correct predictions, in percent.
    mean_squared_error, squared_correlation : float
        Of predictions and targets.
    pinball_loss : float
        Of predictions, in quantile regression; else nan.
    decision_values : ndarray, shape (n, f)
        Decision values by the same models: f = 1 for two classes, one-class and regression, else a column for each pair
        of ``labels``, (0, 1), (0, 2), …; nan where a model lacks one of the classes.
    labels : tuple of int
        Classes in order of first appearance; positive decision values stand for the first of a pair.
    folds : tuple of FoldReport
        Seeder used, iterations, times and more of each fold.
    full : FoldReport or None
        The training over all rows, if there was one.
    """

    predictions: FloatArray
    accuracy: float
    mean_squared_error: float
    squared_correlation: float
    pinball_loss: float
    decision_values: FloatArray
    labels: tuple[int, ...]
    folds: tuple[FoldReport, ...]
    full: FoldReport | None

    def __repr__(self) -> str:
        rate = f"accuracy {self.accuracy:g}%" if self.labels else f"mean squared error {self.mean_squared_error:g}"
        return f"<{type(self).__name__} of {self.predictions.shape[-1]} rows, {len(self.folds)} folds, {rate}>"

    @property
    def iterations(self) -> int:
        """Of all trainings."""
        return sum(report.iterations for report in (self.full, *self.folds) if report)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CrossValidation(Validation):
    """Result of a cross-validation: a Validation, and:

    Attributes
    ----------
    fold_of : ndarray of int32, shape (n,)
        Fold that each row is held out in, an index of ``folds``.
    accuracies, mean_squared_errors, squared_correlations, pinball_losses : ndarray, shape (repeats,)
        Of each repeat; ``accuracy``, … are their means.
    seeder, scheme : str
        As given, with the default scheme filled in; ``auto`` and '': cold starts, whose decision values may differ from
        those of ``none`` in the last digits.

    With several repeats ``predictions``, ``decision_values`` and ``fold_of`` have shapes (repeats, n), (repeats, n, f)
    and (repeats, n), and ``folds`` has those of the first repeat, then those of the next.
    """

    fold_of: IntArray
    accuracies: FloatArray
    mean_squared_errors: FloatArray
    squared_correlations: FloatArray
    pinball_losses: FloatArray
    seeder: str
    scheme: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LeaveOneOut(Validation):
    """Result of leave-one-out: a Validation whose ``folds`` are one for each of ``retrained``, and:

    Attributes
    ----------
    retrained : ndarray of int32
        Rows for which the problem was solved again without them.
    """

    retrained: IntArray
    full: FoldReport


def cross_validate(
    X: Any,
    y: Any,
    n_folds: int | None = None,
    param: Parameter | None = None,
    *,
    repeats: int = 1,
    sample_weight: Any = None,
    seeder: str | None = None,
    scheme: str = "",
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> CrossValidation:
    """Cross-validate with LIBSVM's folds, once or repeatedly.

    Parameters
    ----------
    X, y, param, observer, **options
        As in ``train``.
    n_folds : int
        Number of folds; ``cv`` is a synonym.
    repeats : int
        Number of drawings of the folds, the first as for ``repeats=1``: repeated cross-validation. All trainings share
        kernel values, and with a seeder that starts from it, the optimum over all rows.
    sample_weight : array of float, shape (n,)
        Weights in the trainings, as in ``train``. Folds are drawn from all rows, also those of weight 0; each row is
        predicted, and counts once in the scores.
    seeder : str or None
        None or 'none': each fold is a cold start along LIBSVM's path. 'auto', or a name of ``libsvmx.SEEDERS``, which
        has a line of ``help`` for each: folds start from a known optimum (alpha seeding), which usually saves
        iterations. The optimum is the same to ``eps``, so rows near the boundary may be predicted differently. 'path':
        with ``scheme`` 'star' the rows of a fold leave the optimum over all rows along the exact path, whose
        breakpoints are counted as ``iterations``; without, they do where that pays, else it is 'auto'.
    scheme : str
        'chain': each fold starts from the one before; 'star': from the optimum over all rows; '' is the default.
    random_state : int
        Seed of the folds, by default svm-train's, and of randomized solvers.

    Returns
    -------
    CrossValidation

    Raises
    ------
    ParameterError, DataError
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it; ``partial`` is the result so far, with nan
        for what is missing and for figures over all rows, or None before the first fold.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> found = libsvmx.cross_validate(X, y, 5, C=10, gamma=0.5)
    >>> found.accuracy
    90.0
    >>> libsvmx.cross_validate(X, y, 5, C=10, gamma=0.5, seeder="auto", repeats=3).predictions.shape
    (3, 60)
    """
    X, _, options = called(X, options)
    n_folds = folds_of(n_folds, options)
    if n_folds is None:
        raise ParameterError("a number of folds is needed: n_folds=5")
    param = parameter_of(param, options, random_state, X)
    problem, param = problem_of(X, y, param, sample_weight)
    seeding = Seeding(seeder or "none", scheme)
    rand = rand_of(random_state)
    try:
        with call_on(problem, param, observer) as told:
            found = cross_validation.cross_validate(problem, param, n_folds, rand, told, seeding, repeats=repeats)
        return _crossvalidation(found, problem, param)
    except StoppedEarly as stop:
        partial = _crossvalidation(stop.partial, problem, param) if stop.partial else None
        raise StoppedEarly(stop.status, stop.consequence, partial) from None


def _crossvalidation(found: CrossValidated, problem: Problem, param: Parameter) -> CrossValidation:
    figures, by_repeat = _fields(found, problem, param), _by_repeat(found, problem, param)
    return CrossValidation(
        **figures,
        fold_of=np.asarray(found.fold_of).reshape(figures["predictions"].shape),
        accuracies=by_repeat["accuracy"],
        mean_squared_errors=by_repeat["mean_squared_error"],
        squared_correlations=by_repeat["squared_correlation"],
        pinball_losses=by_repeat["pinball_loss"],
        full=found.full,
        seeder=found.seeding.seeder,
        scheme=found.seeding.scheme,
    )


def leave_one_out(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    seeder: str = "auto",
    values: bool = True,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> LeaveOneOut:
    """Leave-one-out: predict each row by a model of all others, starting from one training over all rows.

    Parameters
    ----------
    X, y, param, random_state, observer, **options
        As in ``train``.
    sample_weight : array of float, shape (n,)
        As in ``cross_validate``; a row is left out whole, whatever its weight.
    seeder : str
        How the coefficient of a row is passed on, a name of ``libsvmx.SEEDERS``; 'path': the row leaves along the exact
        path; 'auto': the one expected to be fastest.
    values : bool
        Whether exact decision values are needed. If not, misclassified rows of two classes, which stay misclassified,
        are not retrained for, and their ``decision_values`` are those of the training over all rows.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    ParameterError, DataError
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it; ``partial`` is the result so far, with nan
        for what is missing and for figures over all rows, or None before the end of the training over all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> found = libsvmx.leave_one_out(X, y, C=10, gamma=0.5)
    >>> found.accuracy, len(found.retrained)
    (91.66666666666667, 13)
    """
    X, _, options = called(X, options)
    param = parameter_of(param, options, random_state, X)
    problem, param = problem_of(X, y, param, sample_weight)
    rand = rand_of(random_state)
    try:
        with call_on(problem, param, observer) as told:
            found = leave_one_out_problem(problem, param, rand, told, seeder, values)
        return _leave_one_out(found, problem, param)
    except StoppedEarly as stop:
        partial = _leave_one_out(stop.partial, problem, param) if stop.partial else None
        raise StoppedEarly(stop.status, stop.consequence, partial) from None


def _leave_one_out(found: LeftOneOut, problem: Problem, param: Parameter) -> LeaveOneOut:
    return LeaveOneOut(**_fields(found, problem, param), retrained=np.asarray(found.retrained), full=found.full)


def _fields(found: CrossValidated | LeftOneOut, problem: Problem, param: Parameter) -> dict[str, Any]:
    """The fields of a Validation."""
    n, repeats = len(problem), len(found.predicted) // len(problem)
    rows = (n,) if repeats == 1 else (repeats, n)
    return {
        "predictions": np.asarray(found.predicted).reshape(rows),
        "decision_values": np.asarray(found.values).reshape(*rows, -1 if len(found.values) else 0),
        "labels": found.labels,
        "folds": found.folds,
        **{name: mean(values.tolist()) for name, values in _by_repeat(found, problem, param).items()},
    }


def _by_repeat(found: CrossValidated | LeftOneOut, problem: Problem, param: Parameter) -> dict[str, FloatArray]:
    """The scores of each repeat; leave-one-out has one."""
    scores = scores_of_repeats(found.predicted, problem.targets, param.quantile)
    whole = ~np.isnan(np.asarray(found.predicted)).reshape(len(scores), -1).any(axis=1)
    return {
        "accuracy": np.where(whole, [own.accuracy for own in scores], nan),
        "mean_squared_error": np.array([own.mean_squared_error for own in scores]),
        "squared_correlation": np.array([own.squared_correlation for own in scores]),
        "pinball_loss": np.array([own.pinball_loss for own in scores]),
    }
