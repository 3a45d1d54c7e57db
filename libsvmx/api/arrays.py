"""Arrays as the lower layers take them.

Feature j of a row (counted from 0) is LIBSVM's index j + 1, and zeros are left out, as in a data file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.rand import Rand
from libsvmx._solvers.solver import converted
from libsvmx._train import prediction
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter, changed
from libsvmx._train.problem import Problem
from libsvmx._train.training import default_gamma
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from libsvmx._typing import Buffer, FloatArray

MAX_INDEX = 2**31 - 1
REAL_KINDS = "biufO"  # of dtypes; objects are asked one by one for their float
UNREAL = (complex, np.complexfloating, np.datetime64, np.timedelta64, str, bytes)


def as_matrix(X: Any) -> CsrMatrix:
    """X as sparse rows with LIBSVM's indices. CsrMatrix is taken as it is.

    Raises
    ------
    DataError        wrong shape, type, index, or a value that is not finite
    """
    if isinstance(X, CsrMatrix):
        return X
    if hasattr(X, "tocsr"):
        return from_scipy(X)
    if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
        return from_mappings(X)
    dense = numbers_of(X, "X")
    if dense.ndim != 2:
        raise DataError(f"X must have rows and columns, but its shape is {dense.shape}")
    check_finite(dense)
    return from_dense(dense)


def from_dense(dense: FloatArray) -> CsrMatrix:
    """Rows of finite numbers, shape (n, number of features), copied without their zeros."""
    rows, columns = np.nonzero(dense)
    indptr = np.zeros(dense.shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=dense.shape[0]), out=indptr[1:])
    indices, values = (columns + 1).astype(np.int32), np.ascontiguousarray(dense[rows, columns])
    return CsrMatrix(indptr, indices, values, copy=False, n_columns=dense.shape[1])


def numbers_of(given: Any, what: str) -> FloatArray:
    """An array of float64, the given one where it is that already.

    Raises
    ------
    DataError        not numbers, or numbers that have no equal among real ones: complex, dates, text
    """
    try:
        if np.ma.is_masked(given):
            raise DataError(f"{what} has masked values: fill them, or leave their rows out")
        array = np.asarray(given)
        if array.dtype.kind not in REAL_KINDS:
            raise DataError(f"{what} must hold real numbers, not {array.dtype}")
        if array.dtype.kind == "O" and any(isinstance(value, UNREAL) for value in array.flat):
            raise DataError(f"{what} must hold real numbers, but there is a complex one, a date or a text")
        numbers: FloatArray = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} cannot be read as numbers: {error}") from None
    return numbers


def from_scipy(X: Any) -> CsrMatrix:
    shape = getattr(X, "shape", ())
    if len(shape) != 2:
        raise DataError(f"X must have rows and columns, but its shape is {shape}")
    csr = X.tocsr()
    if csr.nnz and not 0 <= int(csr.indices.min()) <= int(csr.indices.max()) < csr.shape[1]:
        raise DataError(f"X has an index that is not one of its {csr.shape[1]} columns")
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if csr.shape[1] >= MAX_INDEX:
        raise DataError(f"X has {csr.shape[1]} columns, at most {MAX_INDEX - 1} are possible")
    values = np.ascontiguousarray(numbers_of(csr.data, "X"))
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
        raise DataError(f"the value of column {csr.indices[bad[0]]} is not finite", row)
    # explicit zeros would be features with value 0: the same kernel, but another file
    keep = values != 0
    indptr = np.concatenate([[0], np.cumsum(keep)])[csr.indptr].astype(np.int64)
    indices = (csr.indices[keep] + 1).astype(np.int32)
    return CsrMatrix(indptr, indices, values[keep], copy=False, n_columns=csr.shape[1])


def from_mappings(X: Sequence[Mapping[int, float]]) -> CsrMatrix:
    indptr, indices, values = [0], [], []
    for i, row in enumerate(X):
        for index in sorted(row):
            value = real(row[index], i)
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


def real(value: Any, row: int) -> float:
    """The value of a feature. Raises DataError."""
    try:
        if isinstance(value, UNREAL):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise DataError(f"{value!r} is not a real number", row) from None


def check_finite(dense: FloatArray) -> None:
    bad = np.argwhere(~np.isfinite(dense))
    if len(bad):
        raise DataError(f"the value of column {bad[0][1]} is not finite", int(bad[0][0]))


def precomputed(K: Any) -> CsrMatrix:
    """Kernel values as rows 0:serial 1:K(row,1) …, which is what the lower layers and model files use."""
    if isinstance(K, CsrMatrix):
        return K
    values = numbers_of(K.toarray() if hasattr(K, "toarray") else K, "the kernel matrix")
    if values.ndim != 2:
        raise DataError(f"the kernel matrix must have rows and columns, but its shape is {values.shape}")
    check_finite(values)
    n, m = values.shape
    table = np.column_stack([np.arange(1, n + 1, dtype=np.float64), values])
    indices = np.tile(np.arange(m + 1, dtype=np.int32), n)
    return CsrMatrix(np.arange(n + 1, dtype=np.int64) * (m + 1), indices, table.ravel(), copy=False)


def parameter_of(
    param: Parameter | None, options: Mapping[str, Any], random_state: int | None = None, X: Any = None
) -> Parameter:
    """``param`` with keywords: its fields, and the settings of its solver. Raises ParameterError.

    ``random_state``: of the solver, too, if it draws at random. ``X``: rows that gamma="scale" and "auto" are of.
    """
    if X is not None and isinstance(options.get("gamma"), str):
        options = {**options, "gamma": gamma_of(options["gamma"], X)}
    found = changed(param or Parameter(), options)
    if random_state is None or not any(known.name == "random_state" for known in found.solver.settings()):
        return found
    return changed(found, {"random_state": random_state})


def gamma_of(name: str, X: Any) -> float:
    """gamma by one of scikit-learn's names: "auto" is 1 / columns, "scale" 1 / (columns * variance of all values).

    Raises
    ------
    ParameterError      another name
    DataError           bad data, or data without a column
    """
    if name not in ("auto", "scale"):
        raise ParameterError(f"gamma must be a number, 'scale' or 'auto', not {name!r}")
    matrix = as_matrix(X)
    if not matrix.nnz:
        raise DataError(f"gamma={name!r} needs values, and X has none")
    n_columns = matrix.n_columns
    if name == "auto":
        return 1.0 / n_columns
    if hasattr(X, "tocsr") or (isinstance(X, Sequence) and isinstance(X[0], Mapping)):  # as scikit-learn of each
        values, size = np.asarray(matrix.values), matrix.n_rows * n_columns
        variance = float((values * values).sum() / size - (values.sum() / size) ** 2)
    else:
        variance = float(numbers_of(X, "X").var())
    return 1.0 / (n_columns * variance) if variance > 0 else 1.0


def seed_of(random_state: int | None) -> int:
    """What starts the stream that folds are drawn from, by default LIBSVM's. Raises ParameterError."""
    state = 1 if random_state is None else converted("random_state", random_state, int)
    if not 0 <= state < 2**32:
        raise ParameterError(f"random_state must be between 0 and 2^32 - 1, not {random_state}")
    return int(state)


def rand_of(random_state: int | None) -> Rand:
    """The stream itself."""
    return Rand(seed_of(random_state))


def problem_of(X: Any, y: Any, param: Parameter, sample_weight: Any = None) -> tuple[Problem, Parameter]:
    """Rows, targets and weights as a Problem, and ``param`` with its gamma."""
    matrix = precomputed(X) if param.kernel_type == KernelType.PRECOMPUTED else as_matrix(X)
    targets, weights = targets_of(y, matrix.n_rows), weights_of(sample_weight, matrix.n_rows)
    return Problem(matrix, targets, sample_weight=weights), default_gamma(param, matrix.max_index)


def targets_of(y: Any, n_rows: int) -> Buffer:
    """Labels or targets of so many rows: buffer of float64, a copy, since a State keeps it. Raises DataError."""
    targets = np.array(numbers_of(y, "y"), order="C")
    if targets.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, but y has shape {targets.shape}")
    return targets.data


def weights_of(sample_weight: Any, n_rows: int) -> Buffer | None:
    """Weights of so many rows: buffer of float64, a copy, or None, also where all are 1. Raises DataError."""
    if sample_weight is None:
        return None
    weights = np.array(numbers_of(sample_weight, "sample_weight"), order="C")
    if weights.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, but sample_weight has shape {weights.shape}")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise DataError(f"sample_weight must be finite and >= 0, not {weights[bad[0]]}", int(bad[0]))
    return None if (weights == 1).all() else weights.data


def model_of(model: Any) -> Model:
    """A Model as it is. Raises TypeError for anything else, a State too."""
    if not isinstance(model, Model):
        hint = "; take its .model" if hasattr(model, "model") else ""
        raise TypeError(f"a Model is needed, not a {type(model).__name__}{hint}")
    return model


def tests_of(model: Model, X: Any) -> CsrMatrix:
    return precomputed(X) if model.param.kernel_type == KernelType.PRECOMPUTED else as_matrix(X)


def predict(model: Model, X: Any) -> FloatArray:
    """Labels, targets, or +1 / -1 of one-class: float64, shape (n,). X as for ``train``.

    With a precomputed kernel X holds K(test row, training row), shape (n, number of training rows).

    Raises
    ------
    DataError
    """
    tests = tests_of(model_of(model), X)
    return np.asarray(prediction.predict_labels(model, tests, Problem(tests, np.zeros(tests.n_rows)).rows))


def decision_values(model: Model, X: Any) -> FloatArray:
    """Decision values, float64, shape (n, n_functions); pairs of classes in the order (0,1), (0,2), …"""
    tests = tests_of(model_of(model), X)
    values = prediction.decision_values(model, tests, Problem(tests, np.zeros(tests.n_rows)).rows)
    return np.asarray(values).reshape(tests.n_rows, len(model.offsets))
