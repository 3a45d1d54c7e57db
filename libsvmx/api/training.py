"""The Python API: functions over arrays, the same computations as the commands.

Feature j of a row (counted from 0) is LIBSVM's index j + 1, and zeros are left out, as in a data file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.rand import Rand
from libsvmx._train import prediction
from libsvmx._train.metrics import Scores
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_problem
from libsvmx._train.updating.state import train_state
from libsvmx._train.validation import cross_validation
from libsvmx._train.validation.cross_validation import CrossValidated
from libsvmx._train.validation.fold_report import FoldReport
from libsvmx._train.validation.leave_one_out import leave_one_out as leave_one_out_problem
from libsvmx._train.validation.scheme import Seeding
from libsvmx.api.arrays import USUAL_STATE, model_of, parameter_of, problem_of, tests_of
from libsvmx.api.state import State
from libsvmx.exceptions import DataError
from libsvmx.io import modelfile, svmlight

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Result of a cross-validation.

    Attributes
    ----------
    predictions : ndarray, shape (n,)       of each row by the model trained without its fold
    accuracy : float                        percent of predictions equal to the target
    mean_squared_error, squared_correlation : float
    decision_values : ndarray, shape (n, f) of the same models: f = 1 for two classes, one-class and regression, else a
        column for each pair of ``labels`` (0, 1), (0, 2), …; nan where a model lacks one of the classes
    labels : tuple of int                   classes by first appearance; positive values speak for the first of a pair
    fold_of : ndarray of int32, shape (n,)  the fold that each row is held out in
    folds : tuple of FoldReport             seeder used, iterations, times and more of each fold
    full : FoldReport or None               of the training over all rows that a star begins with
    seeder, scheme : str                    as asked for, with the usual scheme filled in
    """

    predictions: FloatArray
    accuracy: float
    mean_squared_error: float
    squared_correlation: float
    decision_values: FloatArray
    labels: tuple[int, ...]
    fold_of: IntArray
    folds: tuple[FoldReport, ...]
    full: FoldReport | None
    seeder: str
    scheme: str

    @property
    def iterations(self) -> int:
        """Of all trainings."""
        return sum(report.iterations for report in (self.full, *self.folds) if report)


@overload
def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    keep_state: Literal[False] = False,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Model: ...
@overload
def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    keep_state: Literal[True],
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> State: ...
def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    keep_state: bool = False,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Model | State:
    """Train a model, or a state that rows can join and leave.

    Parameters
    ----------
    X : array, scipy sparse matrix, CsrMatrix, or sequence of rows (sequences or {index: value}), n rows
        With ``kernel_type=PRECOMPUTED`` the kernel matrix, shape (n, n).
    y : array of float, shape (n,)       labels (integers) or targets; ignored by one-class
    param : Parameter                    or its fields as keywords: ``train(X, y, C=10, gamma=0.1)``; with
        ``solver="chunked"`` or ``"irwls"`` the optimum is LIBSVM's to ``eps``, but not its bits; ``"crsvm"`` is C-SVC
        on explicit features: ``kernel_type=LINEAR``, POLY of degree 2, or any with ``low_rank="cholesky", rank=300``
    keep_state : bool                    C-SVC, epsilon-SVR and one-class: return a ``State``, whose ``model`` is the
        exact optimum of the kernel in double, not LIBSVM's to ``eps`` of the kernel in float
    random_state : int                   of what is drawn: the folds behind probability estimates, by default LIBSVM's,
        and by solvers that draw
    observer : Observer                  is told of progress; ``iterated`` gets an Iteration for each of crsvm

    Returns
    -------
    Model, or State with ``keep_state``

    Raises
    ------
    ParameterError, DataError            both are ValueErrors
    """
    param = parameter_of(param, options, random_state)
    problem, param = problem_of(X, y, param)
    if keep_state:
        return train_state(problem, param, observer or Observer(), State)
    return train_problem(
        problem, param, Rand(USUAL_STATE if random_state is None else random_state), observer or Observer()
    )


def cross_validate(
    X: Any,
    y: Any,
    n_folds: int,
    param: Parameter | None = None,
    *,
    seeder: str | None = None,
    scheme: str = "",
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> CrossValidation:
    """Cross-validate with LIBSVM's folds; arguments as of ``train``, and:

    seeder : str or None
        None or 'none': every fold from nothing along LIBSVM's path. 'auto', or a name of ``libsvmx.SEEDERS``, where
        each has a line of ``help``: folds start from a known optimum (alpha seeding), which as a rule saves iterations.
        The optimum is the same to ``eps``: a row on the border may be predicted otherwise, as with another ``eps``.
        'path': a fold leaves the optimum over all rows along the exact path, whose breakpoints are counted as
        ``iterations``.
    scheme : str
        'chain': a fold starts from the one before; 'star': from the optimum over all rows; '' for the usual one.
    random_state : int
        Of what is drawn: the folds, by default those of svm-train, and by solvers that draw.

    Raises
    ------
    ParameterError, DataError
    """
    param = parameter_of(param, options, random_state)
    problem, param = problem_of(X, y, param)
    found = cross_validation.cross_validate(
        problem,
        param,
        n_folds,
        Rand(USUAL_STATE if random_state is None else random_state),
        observer or Observer(),
        Seeding(seeder or "none", scheme),
    )
    return _cross_validation(found, problem)


def _cross_validation(found: CrossValidated, problem: Problem) -> CrossValidation:
    scores = Scores()
    scores.add(found.predicted, problem.targets)
    n = len(problem)
    return CrossValidation(
        np.asarray(found.predicted),
        scores.accuracy,
        scores.mean_squared_error,
        scores.squared_correlation,
        np.asarray(found.values).reshape(n, -1 if len(found.values) else 0),
        found.labels,
        np.asarray(found.fold_of),
        found.folds,
        found.full,
        found.seeding.seeder,
        found.seeding.scheme,
    )


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """Result of leave-one-out.

    Attributes
    ----------
    predictions : ndarray, shape (n,)            of each row by a model of all others
    accuracy, mean_squared_error, squared_correlation : float
    decision_values : ndarray, shape (n, f)      of the same models, as of CrossValidation
    labels : tuple of int
    retrained : ndarray of int32                 rows without which the problem was solved again
    folds : tuple of FoldReport                  one for each of them
    full : FoldReport                            the training over all rows
    """

    predictions: FloatArray
    accuracy: float
    mean_squared_error: float
    squared_correlation: float
    decision_values: FloatArray
    labels: tuple[int, ...]
    retrained: IntArray
    folds: tuple[FoldReport, ...]
    full: FoldReport


def leave_one_out(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    seeder: str = "auto",
    values: bool = True,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> LeaveOneOut:
    """Predict each row by a model of all others, from one training over all rows; arguments as of ``train``, and:

    seeder : str         how the coefficient of a row is handed on, a name of ``libsvmx.SEEDERS``; 'path': the row
        leaves along the exact path; 'auto': what is expected to be the fastest
    values : bool        decision values are wanted; else misclassified rows of two classes, which stay so, are not left
        out, and their ``decision_values`` are those of the training over all rows

    Raises
    ------
    ParameterError, DataError
    """
    param = parameter_of(param, options, random_state)
    problem, param = problem_of(X, y, param)
    found = leave_one_out_problem(
        problem,
        param,
        Rand(USUAL_STATE if random_state is None else random_state),
        observer or Observer(),
        seeder,
        values,
    )
    scores = Scores()
    scores.add(found.predicted, problem.targets)
    return LeaveOneOut(
        np.asarray(found.predicted),
        scores.accuracy,
        scores.mean_squared_error,
        scores.squared_correlation,
        np.asarray(found.values).reshape(len(problem), -1 if len(found.values) else 0),
        found.labels,
        np.asarray(found.retrained),
        found.folds,
        found.full,
    )


def predict_probability(model: Model, X: Any) -> tuple[FloatArray, FloatArray]:
    """Labels, shape (n,), and probabilities, shape (n, nr_class), columns as ``model.labels``.

    One-class has columns normal, outlier.

    Raises
    ------
    DataError        also for a model without probability estimates, and for regression
    """
    if not model.has_probability or model.param.svm_type.is_regression:
        raise DataError("the model has no class probabilities; train with probability=True")
    tests = tests_of(model, X)
    rows = Problem(tests, np.zeros(tests.n_rows)).rows
    labels, estimates, _ = prediction.predict_probability(model, tests, rows)
    return np.asarray(labels), np.asarray(estimates).reshape(tests.n_rows, model.nr_class)


def read_problem(path: str, *, lenient: bool = False) -> tuple[CsrMatrix, FloatArray]:
    """Rows and targets of a LIBSVM data file (plain, gzip, xz, bzip2; ``-`` is standard input).

    Raises
    ------
    OSError, FormatError
    """
    data = svmlight.read_data(path, lenient=lenient)
    return data.matrix, np.asarray(data.targets)


def load_model(path: str) -> Model:
    """Read a model file of LIBSVM or libsvmx. Raises OSError, FormatError."""
    return modelfile.load_model(path)


def save_model(path: str, model: Model) -> None:
    """Write a LIBSVM model file, whole or not at all. Raises OSError."""
    modelfile.save_model(path, model_of(model))
