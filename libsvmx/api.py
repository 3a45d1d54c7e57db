"""The Python API: functions over arrays, the same computations as the commands.

Feature j of a row (counted from 0) is LIBSVM's index j + 1, and zeros are left out, as in a data file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.rand import Rand
from libsvmx._train import crossval, loo, prediction
from libsvmx._train.crossval import CrossValidated
from libsvmx._train.metrics import Scores
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.pairrounds import FoldReport
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.seeding import Seeding
from libsvmx._train.training import default_gamma, train_problem
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError
from libsvmx.io import modelfile, svmlight

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray, IntArray

MAX_INDEX = 2**31 - 1


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
    folds : tuple of FoldReport             seeder used, iterations, times and more of each round
    whole : FoldReport or None              of the training over all rows that a star of rounds begins with
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
    whole: FoldReport | None
    seeder: str
    scheme: str

    @property
    def iterations(self) -> int:
        """Of all trainings."""
        return sum(report.iterations for report in (self.whole, *self.folds) if report)


def train(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    random_state: int = 1,
    observer: Observer | None = None,
    **options: Any,
) -> Model:
    """Train a model.

    Parameters
    ----------
    X : array, scipy sparse matrix, CsrMatrix, or sequence of rows (sequences or {index: value}), n rows
        With ``kernel_type=PRECOMPUTED`` the kernel matrix, shape (n, n).
    y : array of float, shape (n,)       labels (integers) or targets; ignored by one-class
    param : Parameter                    or its fields as keywords: ``train(X, y, C=10, gamma=0.1)``
    random_state : int                   of the folds behind probability estimates; 1 is LIBSVM's
    observer : Observer                  is told of progress

    Returns
    -------
    Model

    Raises
    ------
    ParameterError, DataError            both are ValueErrors
    """
    param = _parameter(param, options)
    problem, param = _problem(X, y, param)
    return train_problem(problem, param, Rand(random_state), observer or Observer())


def cross_validate(
    X: Any,
    y: Any,
    n_folds: int,
    param: Parameter | None = None,
    *,
    seed: str | None = None,
    seed_from: str = "",
    random_state: int = 1,
    observer: Observer | None = None,
    **options: Any,
) -> CrossValidation:
    """Cross-validate with LIBSVM's folds; arguments as of ``train``, and:

    seed : str or None
        None or 'none': every round from nothing along LIBSVM's path. 'auto', 'sir', 'mir', 'ato', 'avg' or 'top':
        rounds start from a known optimum (alpha seeding), which as a rule saves iterations. The optimum is the same to
        ``eps``: a row on the border may be predicted otherwise, as with another ``eps``.
    seed_from : str
        'chain': a round starts from the one before; 'star': from the optimum over all rows; '' for the usual one.
    random_state : int                   of the folds; 1 draws those of svm-train

    Raises
    ------
    ParameterError, DataError
    """
    param = _parameter(param, options)
    problem, param = _problem(X, y, param)
    found = crossval.cross_validate(
        problem, param, n_folds, Rand(random_state), observer or Observer(), Seeding(seed or "none", seed_from)
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
        found.whole,
        found.seeding.method,
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
    whole : FoldReport                           the training over all rows
    """

    predictions: FloatArray
    accuracy: float
    mean_squared_error: float
    squared_correlation: float
    decision_values: FloatArray
    labels: tuple[int, ...]
    retrained: IntArray
    folds: tuple[FoldReport, ...]
    whole: FoldReport


def leave_one_out(
    X: Any,
    y: Any,
    param: Parameter | None = None,
    *,
    seed: str = "auto",
    values: bool = True,
    random_state: int = 1,
    observer: Observer | None = None,
    **options: Any,
) -> LeaveOneOut:
    """Predict each row by a model of all others, from one training over all rows; arguments as of ``train``, and:

    seed : str           how the coefficient of a row is handed on: 'auto', 'sir', 'mir', 'ato', 'avg' or 'top'
    values : bool        decision values are wanted; else misclassified rows of two classes, which stay so, are not left
        out, and their ``decision_values`` are those of the training over all rows

    Raises
    ------
    ParameterError, DataError
    """
    param = _parameter(param, options)
    problem, param = _problem(X, y, param)
    found = loo.leave_one_out(problem, param, Rand(random_state), observer or Observer(), seed, values)
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
        found.whole,
    )


def predict(model: Model, X: Any) -> FloatArray:
    """Labels, targets, or +1 / -1 of one-class: float64, shape (n,). X as for ``train``.

    With a precomputed kernel X holds K(test row, training row), shape (n, number of training rows).

    Raises
    ------
    DataError
    """
    tests = _tests(model, X)
    return np.asarray(prediction.predict_labels(model, tests, Problem(tests, np.zeros(tests.n_rows)).rows))


def decision_values(model: Model, X: Any) -> FloatArray:
    """Decision values, float64, shape (n, n_functions); pairs of classes in the order (0,1), (0,2), …"""
    tests = _tests(model, X)
    values = prediction.decision_values(model, tests, Problem(tests, np.zeros(tests.n_rows)).rows)
    return np.asarray(values).reshape(tests.n_rows, len(model.offsets))


def predict_probability(model: Model, X: Any) -> tuple[FloatArray, FloatArray]:
    """Labels, shape (n,), and probabilities, shape (n, nr_class), columns as ``model.labels``.

    One-class has columns normal, outlier.

    Raises
    ------
    DataError        also for a model without probability estimates, and for regression
    """
    if not model.has_probability or model.param.svm_type.is_regression:
        raise DataError("the model has no class probabilities; train with probability=True")
    tests = _tests(model, X)
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
    modelfile.save_model(path, model)


def as_matrix(X: Any) -> CsrMatrix:
    """X as sparse rows with LIBSVM's indices. CsrMatrix is taken as it is.

    Raises
    ------
    DataError        wrong shape, type, index, or a value that is not finite
    """
    if isinstance(X, CsrMatrix):
        return X
    if hasattr(X, "tocsr"):
        return _from_scipy(X)
    if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
        return _from_mappings(X)
    try:
        dense = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"X cannot be read as rows of numbers: {error}") from None
    if dense.ndim != 2:
        raise DataError(f"X must have rows and columns, but its shape is {dense.shape}")
    _check_finite(dense)
    rows, columns = np.nonzero(dense)
    indptr = np.zeros(dense.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=dense.shape[0]), out=indptr[1:])
    return CsrMatrix(indptr, (columns + 1).astype(np.int32), np.ascontiguousarray(dense[rows, columns]), copy=False)


def _from_scipy(X: Any) -> CsrMatrix:
    csr = X.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if csr.shape[1] >= MAX_INDEX:
        raise DataError(f"X has {csr.shape[1]} columns, at most {MAX_INDEX - 1} are possible")
    values = np.ascontiguousarray(csr.data, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
        raise DataError(f"the value of column {csr.indices[bad[0]]} is not finite", row)
    # explicit zeros would be features with value 0: the same kernel, but another file
    keep = values != 0
    indptr = np.concatenate([[0], np.cumsum(keep)])[csr.indptr].astype(np.int64)
    return CsrMatrix(indptr, (csr.indices[keep] + 1).astype(np.int32), values[keep], copy=False)


def _from_mappings(X: Sequence[Mapping[int, float]]) -> CsrMatrix:
    indptr, indices, values = [0], [], []
    for i, row in enumerate(X):
        for index in sorted(row):
            value = float(row[index])
            if not (isinstance(index, int | np.integer) and 0 <= index <= MAX_INDEX):
                raise DataError(f"index {index!r} is not a whole number between 0 and {MAX_INDEX}", i)
            if not np.isfinite(value):
                raise DataError(f"the value of index {index} is not finite", i)
            if value != 0:
                indices.append(int(index))
                values.append(value)
        indptr.append(len(indices))
    return CsrMatrix(
        np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), np.array(values, dtype=np.float64)
    )


def _check_finite(dense: FloatArray) -> None:
    bad = np.argwhere(~np.isfinite(dense))
    if len(bad):
        raise DataError(f"the value of column {bad[0][1]} is not finite", int(bad[0][0]))


def _precomputed(K: Any) -> CsrMatrix:
    """Kernel values as rows 0:serial 1:K(row,1) …, which is what the lower layers and model files use."""
    if isinstance(K, CsrMatrix):
        return K
    values = np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64)
    if values.ndim != 2:
        raise DataError(f"the kernel matrix must have rows and columns, but its shape is {values.shape}")
    _check_finite(values)
    n, m = values.shape
    table = np.column_stack([np.arange(1, n + 1, dtype=np.float64), values])
    indices = np.tile(np.arange(m + 1, dtype=np.int32), n)
    return CsrMatrix(np.arange(n + 1, dtype=np.int64) * (m + 1), indices, table.ravel(), copy=False)


def _parameter(param: Parameter | None, options: Mapping[str, Any]) -> Parameter:
    return replace(param or Parameter(), **options)


def _problem(X: Any, y: Any, param: Parameter) -> tuple[Problem, Parameter]:
    matrix = _precomputed(X) if param.kernel_type == KernelType.PRECOMPUTED else as_matrix(X)
    targets = np.ascontiguousarray(y, dtype=np.float64)
    if targets.shape != (matrix.n_rows,):
        raise DataError(f"X has {matrix.n_rows} rows, but y has shape {targets.shape}")
    return Problem(matrix, targets.data), default_gamma(param, matrix.max_index)


def _tests(model: Model, X: Any) -> CsrMatrix:
    return _precomputed(X) if model.param.kernel_type == KernelType.PRECOMPUTED else as_matrix(X)
