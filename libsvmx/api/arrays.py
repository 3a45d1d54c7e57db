"""Converts arrays, SciPy matrices and dicts to the types of the lower layers; predicts.

Column j (from 0) becomes LIBSVM's index j + 1; zeros are left out, as in a data file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any, Protocol

import numpy as np

from libsvmx._core.arrays import empty, ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.entries import count_entries, count_stored, write_entries, write_stored
from libsvmx._core.interchange import in_shape
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.threads import thread_count
from libsvmx._solvers.solver import converted
from libsvmx._train import prediction
from libsvmx._train.checks import LARGEST, check_weights, overflow
from libsvmx._train.folds import DEFAULT_SEED, Rand
from libsvmx._train.gamma import default_gamma, gamma_of, scaled_rows
from libsvmx._train.model import Model, columns_of
from libsvmx._train.parameter import SCIKIT_LEARN, Parameter, changed, check_threads
from libsvmx._train.prediction import Tests
from libsvmx._train.problem import Problem
from libsvmx._typing import Buffer, FloatArray, Ids
from libsvmx.api.warned import warn_of_weights
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.io.file_kind import is_number

MAX_INDEX = 2**31 - 1
REAL_KINDS = "biufO"  # kinds of dtypes; objects are converted one by one
VALUES_OF_BLOCK = 2**17  # values converted at a time: a megabyte
TILE = 256  # rows and columns compared with their transpose at a time: half a megabyte
VALUES_OF_LOOK = 2**24  # values between two checks for Ctrl-C: a twentieth of a second
# From this share of nonzeros on, sparse rows and panels take over 1.5 times as long as dense ones.
SHARE_OF_VALUES = 1 / 3
UNREAL = (complex, np.complexfloating, np.datetime64, np.timedelta64, str, bytes)


def as_matrix(X: Any) -> CsrMatrix:
    """X as sparse rows with LIBSVM's indices. A CsrMatrix is returned unchanged.

    Raises DataError for a wrong shape, type or index, and for a value that is not finite.
    """
    if isinstance(X, CsrMatrix):
        return X
    if hasattr(X, "tocsr"):
        return from_scipy(X)
    if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
        return from_mappings(X)
    table = real_array(X, "X")
    if table.ndim != 2:
        raise DataError(f"X must have rows and columns, but its shape is {table.shape}")
    return from_dense(table)


def borrowed(X: Any) -> CsrMatrix | None:
    """An array or SciPy matrix as rows for one call, without a copy of float64 or float32 values in C order.

    None for other types, and for arrays of mostly zeros or of only 0 and 1: sparse rows are smaller and faster; of a
    float32 array they are made here, in float32. Types that fit a float32, such as int16, become float32. Raises
    DataError for values that are not finite.
    """
    if isinstance(X, CsrMatrix):  # its explicit zeros are kept
        return X
    if hasattr(X, "tocsr"):
        return from_scipy(X, borrow=True)
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    n, columns = X.shape
    if not (n and 0 < columns < MAX_INDEX):
        return None
    counts = zeros("q", n)
    for begin, block in blocks_of(X):
        bad = count_entries(block, counts[begin : begin + len(block)])
        if bad >= 0:
            raise DataError(f"the value of column {bad % columns} is not finite", begin + bad // columns)
    # where the last column is 0, the largest index is less
    if int(np.sum(counts)) < SHARE_OF_VALUES * X.size or not X[:, -1].any() or is_of_ones(X):
        return from_dense(X, kind="f") if is_plain(X) and X.itemsize == 4 else None
    indptr, indices = np.arange(n + 1, dtype=np.int64) * columns, np.arange(1, columns + 1, dtype=np.int32)
    values = packed(X, np.float32 if np.can_cast(X.dtype, np.float32) else np.float64).reshape(-1)
    return CsrMatrix(indptr, indices, values, copy=False, n_columns=columns, regular=True)


def is_of_ones(table: Any) -> bool:
    """Whether all values are 0 or 1."""
    return all(((block == 0) | (block == 1)).all() for _, block in blocks_of(table, VALUES_OF_BLOCK))


def from_dense(table: Any, at_once: int = 0, kind: str = "d") -> CsrMatrix:
    """Sparse rows of an array of real numbers, shape (n, columns); ``at_once`` as in ``blocks_of``.

    ``kind``: values in float64, or "f", of an array of native float32. Memory: 4 bytes and a value per nonzero, and one
    converted block. Raises DataError.
    """
    n, columns = table.shape
    if columns > MAX_INDEX:
        raise DataError(f"X has {columns} columns, at most {MAX_INDEX} are possible")
    indptr = zeros("q", n + 1)
    for begin, block in blocks_of(table, at_once):
        bad = count_entries(block, indptr[begin + 1 : begin + 1 + len(block)])
        if bad >= 0:
            raise DataError(f"the value of column {bad % columns} is not finite", begin + bad // columns)
    indices, values = room_for(indptr, kind)
    for begin, block in blocks_of(table, at_once):
        write_entries(block, indptr[begin : begin + len(block) + 1], indices, values)
    return CsrMatrix(indptr, indices, values, copy=False, n_columns=columns)


def blocks_of(table: Any, at_once: int = 0) -> Iterator[tuple[int, Any]]:
    """Yield (index of the first row, rows) of consecutive blocks, each row contiguous and in float.

    ``at_once``: most values of a block of several rows; 0: those processed between two checks for Ctrl-C.
    """
    n, columns = table.shape
    as_it_is = is_plain(table) and (columns <= 1 or table.strides[1] == table.itemsize)
    step = max(1, (at_once or (VALUES_OF_LOOK if as_it_is else VALUES_OF_BLOCK)) // max(columns, 1))
    for begin in range(0, n, step):
        block = table[begin : begin + step]
        yield begin, block if as_it_is else packed(block, np.float64)


def packed(array: Any, dtype: Any = None) -> Any:
    """An aligned array in C order; the given one if it is that."""
    return np.require(array, dtype, ("C", "A"))


def is_plain(array: Any) -> bool:
    """Whether its values are C's double or float: aligned, in native byte order."""
    return bool(array.dtype.kind == "f" and array.itemsize in (4, 8) and array.dtype.isnative and array.flags.aligned)


def room_for(counts: Buffer, kind: str = "d") -> tuple[Buffer, Buffer]:
    """Unfilled indices and values of a CsrMatrix; ``counts``, 0 and the entries of each row, becomes indptr."""
    indptr = np.asarray(counts)
    np.cumsum(indptr, out=indptr)
    return empty("i", int(indptr[-1])), empty(kind, int(indptr[-1]))


def numbers_of(given: Any, what: str) -> FloatArray:
    """An array of float64; the given one if it is that. Raises DataError as ``real_array`` does."""
    return np.require(real_array(given, what), np.float64, "A")


def real_array(given: Any, what: str) -> Any:
    """An array of real numbers, of any type except object; the given one if it is that.

    Raises DataError for what are no real numbers: complex ones, dates, text, masked values.
    """
    try:
        # masked arrays need numpy.ma, whose import takes 8 ms
        if "numpy.ma" in sys.modules and np.ma.is_masked(given):
            raise DataError(f"{what} has masked values: fill them, or leave their rows out")
        column = column_of_times(given)
        if column is not None:
            raise DataError(f"{what} must hold real numbers, but column {column!r} holds dates or times")
        array = np.asarray(given)
        if array.dtype.kind not in REAL_KINDS:
            raise DataError(f"{what} must hold real numbers, not {array.dtype}")
        if array.dtype.kind != "O":
            return array
        if any(isinstance(value, UNREAL) for value in array.flat):
            where = columns_of_text(given) or "there is a complex one, a date or a text"
            raise DataError(f"{what} must hold real numbers, but {where}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} cannot be read as numbers: {error}") from None


def column_of_times(frame: Any) -> str | None:
    """A column of a polars frame that holds dates, times or durations; None if there is none.

    Beside columns of numbers, polars converts it to days or nanoseconds since 1970, which NumPy takes for numbers.
    """
    for name, kind in dict(getattr(frame, "schema", None) or {}).items() if is_of_polars(frame) else ():
        if kind.is_temporal():
            return str(name)
    return None


def columns_of_text(frame: Any, numeric: bool = True) -> str:
    """``column 'city' holds text``, for errors; empty if no column does. ``numeric``: also one of ``"1"``."""
    names = getattr(frame, "column_names", None)  # of pyarrow, whose ``columns`` are their values
    names = list(map(str, names if isinstance(names, list) else getattr(frame, "columns", ())))
    values = np.asarray(frame, dtype=object) if names else np.empty((0, 0))
    found = [
        repr(name)
        for name, column in zip(names, values.T, strict=False)
        if any(isinstance(value, str) and (numeric or not is_number(value)) for value in column)
    ]
    return f"column{'s' * (len(found) > 1)} {', '.join(found)} hold{'s' * (len(found) == 1)} text" if found else ""


def is_of_polars(frame: Any) -> bool:
    """Whether it is a polars frame, without importing polars."""
    return type(frame).__module__.partition(".")[0] == "polars"


def parts_of_csr(matrix: CsrMatrix) -> tuple[Any, ...]:
    """A matrix as NumPy arrays and numbers, for pickles."""
    arrays = (np.asarray(part) for part in (matrix.indptr, matrix.stored_indices, matrix.values))
    return (*arrays, matrix.n_columns, matrix.first_index, matrix.regular)


def csr_of_parts(parts: tuple[Any, ...]) -> CsrMatrix:
    """Inverse of ``parts_of_csr``."""
    indptr, indices, values, *numbers = parts  # earlier versions left ``regular`` out
    return CsrMatrix(indptr.data, indices.data, values.data, True, *numbers)


def from_scipy(X: Any, at_once: int = VALUES_OF_LOOK, borrow: bool = False) -> CsrMatrix:
    """Rows of a SciPy matrix, without explicit zeros. Raises DataError.

    ``at_once``: entries converted between two checks for Ctrl-C. ``borrow``: values are not copied, as in
    ``borrowed``. Indices always are: a change by another thread could make them lead to wrong addresses.
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2:
        raise DataError(f"X must have rows and columns, but its shape is {shape}")
    csr = X.tocsr() if getattr(X, "format", "csr") == "csr" else in_shape(X).tocsr()
    n, columns = shape
    if columns > MAX_INDEX:
        raise DataError(f"X has {columns} columns, at most {MAX_INDEX} are possible")
    if not all(part.ndim == 1 and np.can_cast(part.dtype, np.int64) for part in (csr.indptr, csr.indices)):
        raise DataError(
            f"X is not a matrix of {n} rows: its indptr and indices must be whole numbers, one after the other"
        )
    ptr = np.asarray(csr.indptr, dtype=np.int64)
    if ptr.shape != (n + 1,) or ptr[0] != 0 or (np.diff(ptr) < 0).any() or ptr[-1] > len(csr.indices):
        raise DataError(f"X is not a matrix of {n} rows: its indptr does not ascend from 0 to its number of indices")
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
        ptr = np.asarray(csr.indptr, dtype=np.int64)
    data = real_array(csr.data, "X")
    if not is_plain(data):
        data = data.astype(np.float64)
    indices = csr.indices if csr.indices.dtype in (np.int32, np.int64) else csr.indices.astype(np.int64)
    stored = packed(indices), packed(data)
    parts = parts_of(ptr, at_once)
    # explicit zeros would change model files, not the kernel
    indptr = zeros("q", n + 1)
    for begin, end in parts:
        try:
            bad = count_stored(ptr[begin : end + 1], *stored, columns, indptr[begin + 1 : end + 1])
        except ValueError as error:
            raise DataError(f"X is not a matrix of {n} rows: {error}") from None
        if bad >= 0:
            if not 0 <= indices[bad] < columns:
                raise DataError(f"X has an index that is not one of its {columns} columns")
            row = int(ptr.searchsorted(bad, side="right")) - 1
            raise DataError(f"the value of column {indices[bad]} is not finite", row)
    if borrow and np.sum(indptr) == ptr[-1] == len(data) == len(indices) and not is_of_ones(data[:, np.newaxis]):
        own = np.cumsum(indptr), np.add(indices, 1, dtype=np.int32, casting="same_kind")
        return CsrMatrix(*own, stored[1], copy=False, n_columns=columns)
    kept, values = room_for(indptr)
    for begin, end in parts:
        write_stored(ptr[begin : end + 1], *stored, indptr[begin : end + 1], kept, values)
    return CsrMatrix(indptr, kept, values, copy=False, n_columns=columns)


def parts_of(indptr: Ids, at_once: int) -> list[tuple[int, int]]:
    """Ranges of rows, (begin, end), of at most ``at_once`` entries each, or one row."""
    marks = np.arange(0, indptr[-1], at_once)
    return list(pairwise(np.unique([0, *indptr.searchsorted(marks, "right"), len(indptr) - 1]).tolist()))


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


def precomputed(K: Any, first: int = 1, most: float = LARGEST) -> CsrMatrix:
    """Kernel values as rows 0:serial 1:K(row,1) …, the format of the lower layers and of model files.

    float64 and float32 arrays of any strides are used without a copy, within the call. ``first``: serial number of the
    first row, the others follow; values are copied if it is not 1. Raises DataError, also for a value beyond ``most``.
    """
    if isinstance(K, CsrMatrix):
        return K
    values = real_array(in_shape(K).toarray() if hasattr(K, "toarray") else K, "the kernel matrix")
    if values.ndim != 2:
        raise DataError(f"the kernel matrix must have rows and columns, but its shape is {values.shape}")
    check_kernel(values, first, most)
    if first == 1:
        return kernel_table(values)
    n, m = values.shape
    table = np.empty((n, m + 1))
    table[:, 0], table[:, 1:] = np.arange(first, first + n), values
    indices, indptr = np.arange(m + 1, dtype=np.int32), np.arange(n + 1, dtype=np.int64) * (m + 1)
    return CsrMatrix(indptr, indices, table.reshape(-1), copy=False, regular=True)


def kernel_table(values: Any) -> CsrMatrix:
    """``precomputed`` for an array that the caller has checked."""
    n, m = values.shape
    if not is_plain(values):
        values = packed(values, np.float64)
    if n == m and lies_in_columns(values) and is_symmetric(values):
        values = values.T  # equal rows, contiguous
    indices, indptr = np.arange(m + 1, dtype=np.int32), np.arange(n + 1, dtype=np.int64) * (m + 1)
    return CsrMatrix(indptr, indices, values, copy=False, regular=True)


def lies_in_columns(table: Any) -> bool:
    """Whether columns lie closer together in memory than rows, as in Fortran order."""
    return abs(table.strides[0]) < abs(table.strides[1])


def check_kernel(values: Any, first: int = 1, most: float = LARGEST) -> None:
    """Raise DataError for the first kernel value that is not finite or beyond ``most``; ``first`` as of
    ``precomputed``."""
    across = is_plain(values) and lies_in_columns(values)
    bad = first_beyond_of(values.T if across else values, most)
    if bad is not None and across:  # the first in row order
        bad = first_beyond_of(np.ascontiguousarray(values), most)
    if bad is None:
        return
    if np.isfinite(values[bad]):
        raise overflow("with itself" if bad[1] == bad[0] + first - 1 else f"in column {bad[1]}", bad[0])
    raise DataError(f"the value of column {bad[1]} is not finite", bad[0])


def first_beyond_of(table: Any, most: float) -> tuple[int, int] | None:
    """Row and column of the first value that is not finite or beyond ``most``."""
    for begin, block in blocks_of(table):
        bad = count_entries(block, zeros("q", len(block)), most)
        if bad >= 0:
            return begin + bad // table.shape[1], bad % table.shape[1]
    return None


def is_symmetric(table: Any) -> bool:
    """Whether a square array is equal to its transpose, to the last bit."""
    tiles = [slice(begin, begin + TILE) for begin in range(0, len(table), TILE)]
    return all((table[a, b] == table[b, a].T).all() for i, a in enumerate(tiles) for b in tiles[: i + 1])


def parameter_of(
    param: Parameter | None, options: Mapping[str, Any], random_state: int | None = None, X: Any = None
) -> Parameter:
    """``param`` changed by keywords: its fields, and the settings of its solver. Raises ParameterError.

    ``random_state``: also seeds a solver that draws at random. ``X``: rows for gamma="scale" and "auto".
    """
    if any(callable(options.get(word)) for word in ("kernel", "kernel_type")):
        raise ParameterError(
            "this needs a kernel that libsvmx computes, or kernel values as a precomputed one, not a kernel of your own"
        )
    if X is not None and isinstance(options.get("gamma"), str):
        options = {**options, "gamma": gamma_by_name(options["gamma"], X)}
    found = changed(param or Parameter(), own_words(options))
    if random_state is None or not any(known.name == "random_state" for known in found.solver.settings()):
        return found
    return changed(found, {"random_state": random_state})


def own_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with scikit-learn's names replaced by ours: ``tol`` by ``eps``, ``n_jobs=None`` by one thread.

    Raises ParameterError for both names of a parameter, and for ``class_weight`` as text.
    """
    found = dict(options)
    for theirs, ours in SCIKIT_LEARN.items():
        if theirs not in found:
            continue
        if ours in found:
            raise ParameterError(f"{theirs} is called {ours} here: give one of them")
        value = found.pop(theirs)
        if theirs == "class_weight":
            if isinstance(value, str):
                raise ParameterError(f"class_weight must be factors of C by label, {{-1: 2.0}}, not {value!r}")
            value = value or {}
        elif theirs == "n_jobs":
            value = threads_of_jobs(value)
        elif theirs == "max_time":
            value = value or 0.0
        found[ours] = value
    return found


def folds_of(given: Any, options: dict[str, Any], usual: int | None = None, name: str = "n_folds") -> Any:
    """Number of folds, given as ``name`` or by a synonym, which is removed from ``options``.

    Raises ParameterError for two of them, and for what is no integer.
    """
    words = {name: given, **{word: options.pop(word, None) for word in ("n_folds", "cv") if word != name}}
    asked = [word for word, value in words.items() if value is not None]
    if len(asked) > 1:
        raise ParameterError(f"{asked[1]} is called {asked[0]} here: give one of them")
    return converted(asked[0], words[asked[0]], int) if asked else usual


def threads_of_jobs(n_jobs: Any) -> int:
    """Threads as ``Parameter`` counts them, 0 for all, from joblib's ``n_jobs``: None is one, -1 all, -2 all but one.

    Raises ParameterError for 0, and for what is no integer.
    """
    if n_jobs is None:
        return 1
    number: int = converted("n_jobs", n_jobs, int)
    if number == 0:
        raise ParameterError("n_jobs must not be 0: -1 is all processors")
    return max(1, thread_count(0) + 1 + number) if number < 0 else number


def gamma_by_name(name: str, X: Any) -> float:
    """gamma="scale" or "auto" for the rows of a call; in sparse rows, columns are those with values.

    Raises ParameterError for another name, DataError for bad data and for data without a column.
    """
    if name not in ("auto", "scale"):
        raise ParameterError(f"gamma must be a number, 'scale' or 'auto', not {name!r}")
    matrix = borrowed(X) or as_matrix(X)
    if not matrix.nnz:
        raise DataError(f"gamma={name!r} needs values, and X has none")
    if name == "scale" and getattr(X, "format", "") == "csr" and X.has_canonical_format and X.nnz == matrix.nnz:
        return gamma_of(name, X)
    if name == "auto" or hasattr(X, "tocsr") or not is_table(X):
        return gamma_of(name, matrix if name == "auto" else matrix.tocsr())
    del matrix
    table = real_array(X, "X")
    return gamma_of(name, packed(table, np.float32 if table.dtype == np.float32 else np.float64))


def seed_of(random_state: int | None) -> int:
    """Seed of the folds, by default LIBSVM's. Raises ParameterError."""
    state = DEFAULT_SEED if random_state is None else converted("random_state", random_state, int)
    if not 0 <= state < 2**32:
        raise ParameterError(f"random_state must be between 0 and 2^32 - 1, not {random_state}")
    return int(state)


def rand_of(random_state: int | None) -> Rand:
    """Random stream of the folds."""
    return Rand(seed_of(random_state))


def problem_of(
    X: Any, y: Any, param: Parameter, sample_weight: Any = None, borrow: bool = False
) -> tuple[Problem, Parameter]:
    """Rows, targets and weights as a Problem, and ``param`` with its gamma; ``borrow`` as in ``training_rows``."""
    matrix = training_rows(X, param, borrow)
    targets, weights = targets_of(y, matrix.n_rows), weights_of(sample_weight, matrix.n_rows)
    warn_of_weights(param, targets)
    return Problem(matrix, targets, sample_weight=weights), default_gamma(param, matrix.max_index)


def training_rows(X: Any, param: Parameter, borrow: bool) -> CsrMatrix:
    """Rows to train on.

    ``borrow``: use arrays without a copy, for problems that do not outlive the call. Ignored for probability estimates,
    whose predictions look rows up by values, which another thread might change.
    """
    if param.kernel_type == KernelType.PRECOMPUTED:
        return precomputed(X)
    as_it_is = borrow and not (param.solver.needs_features or param.probability)
    return scaled((borrowed(X) if as_it_is else None) or as_matrix(X), X, param)


def scaled(matrix: CsrMatrix, X: Any, param: Parameter, first_index: int | None = None) -> CsrMatrix:
    """``matrix``, the rows of X, with each feature scaled by its factor of gamma, if there are several.

    ``first_index``: that of the training rows, for test rows. Raises DataError unless there is one gamma per column.
    """
    first = matrix.first_index if first_index is None else first_index
    return scaled_rows(matrix, param, first, needs_all=bool(param.gammas) and is_table(X))


def targets_of(y: Any, n_rows: int) -> Buffer:
    """Labels or targets, (n_rows,): buffer of float64, a copy, since a State keeps it. Raises DataError."""
    targets = np.array(numbers_of(y, "y"), order="C")
    if targets.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, but y has shape {targets.shape}")
    return targets.data


def weights_of(sample_weight: Any, n_rows: int) -> Buffer | None:
    """Weights, (n_rows,): buffer of float64, a copy; None if all are 1. Raises DataError."""
    if sample_weight is None:
        return None
    weights = np.array(numbers_of(sample_weight, "sample_weight"), order="C")
    if weights.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, but sample_weight has shape {weights.shape}")
    check_weights(weights, "sample_weight")
    return None if (weights == 1).all() else weights.data


def threads_of(threads: Any) -> int:
    """Checked number of threads, as in ``Parameter``. Raises ParameterError."""
    number: int = converted("threads", threads, int)
    check_threads(number)
    return number


class Fitted(Protocol):
    """A fitted estimator."""

    def to_model(self) -> Model: ...


def is_model(model: Any) -> bool:
    """Whether ``model_of`` accepts it."""
    return isinstance(model, Model) or hasattr(getattr(model, "best_estimator_", model), "to_model")


def model_of(model: Any) -> Model:
    """The Model itself, ``to_model()`` of a fitted estimator, or that of the best estimator of a search.

    Raises TypeError for anything else, including a State.
    """
    if isinstance(model, Model):
        return model
    own = None if isinstance(model, type) else getattr(getattr(model, "best_estimator_", model), "to_model", None)
    if own is None:
        hint = "; take its .model" if hasattr(model, "model") else ""
        raise TypeError(f"a Model or a fitted estimator is needed, not a {type(model).__name__}{hint}")
    return own()


def tests_of(model: Model, X: Any) -> CsrMatrix:
    """Test rows of a model. Raises DataError, also if an array has another number of columns than the training rows."""
    return rows_as(X, model.param, model.columns, model.vectors.first_index)


def to_predict(model: Model, X: Any) -> tuple[Model, Tests]:
    """Model and test rows for prediction; with the caller's own kernel, as kernel values. Raises DataError."""
    if model.own_kernel is None:
        return model, tests_of(model, X)
    return model.own_kernel.to_predict(model, X)


def new_rows(X: Any, param: Parameter, training: CsrMatrix) -> CsrMatrix:
    """``tests_of`` before there is a model; ``training``: the training rows."""
    return rows_as(X, param, columns_of(training, param), training.first_index)


def rows_as(X: Any, param: Parameter, columns: int | None, first_index: int) -> CsrMatrix:
    """Test rows; ``columns`` and ``first_index``: those of the training rows, None if unknown. Raises DataError.

    Column 0 of an array is index 1, so it has no column for index 0.
    """
    given = param.kernel_type == KernelType.PRECOMPUTED
    tests = precomputed(X, most=inf) if given else as_matrix(X)
    if columns is not None and is_table(X) and tests.n_rows:
        check_width(columns_of(tests, param), columns if given else columns + first_index - 1)
    return scaled(tests, X, param, first_index)


def is_table(X: Any) -> bool:
    """Whether X has columns, as arrays and SciPy matrices do, instead of indexed features."""
    return not (isinstance(X, CsrMatrix) or (isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping)))


def check_width(columns: int, known: int) -> None:
    """Raise DataError unless ``columns`` equals those of the training rows."""
    if columns != known:
        others = "further features count" if columns > known else "features that are missing count"
        raise DataError(
            f"X has {columns} columns, but the model was trained on {known}. To have {others} as LIBSVM counts them, "
            "give rows with an index: a CsrMatrix, or dicts"
        )


def predict(model: Model | Fitted, X: Any, *, threads: int = 0) -> FloatArray:
    """Predict the labels or targets of rows.

    Parameters
    ----------
    model : Model, or fitted estimator
        Trained model.
    X
        n rows, as in ``train``; with a precomputed kernel K(row, training row), shape (n, number of training rows).
    threads : int
        Maximum number of threads, as in ``Parameter``; few rows are predicted by one.

    Returns
    -------
    ndarray of float64, shape (n,)
        Labels or targets; +1 or -1 in one-class.

    Raises
    ------
    ParameterError
        Invalid number of threads.
    DataError
        Also for an array or SciPy matrix without ``model.n_features`` columns, unless the model was loaded. In a
        CsrMatrix and in dicts, as in LIBSVM, missing features are 0, and additional ones count in the distances of RBF
        and are ignored by other kernels.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> model = libsvmx.train(X, y, C=10, gamma=0.5)
    >>> libsvmx.predict(model, [[1.0, 1.0], [-1.0, -1.0]])
    array([ 1., -1.])
    >>> libsvmx.predict(model, [{1: 1.0, 2: 1.0}, {}])
    array([ 1., -1.])
    """
    most = threads_of(threads)
    model, tests = to_predict(model_of(model), X)
    return np.asarray(prediction.predict_labels(model, tests, ramp(tests.n_rows), threads=most))


def decision_values(model: Model | Fitted, X: Any, *, threads: int = 0) -> FloatArray:
    """Decision values of rows.

    Parameters
    ----------
    model, X, threads
        As in ``predict``.

    Returns
    -------
    ndarray of float64, shape (n, n_functions)
        A column for each pair of classes, (0, 1), (0, 2), …, positive for the first of the pair; a single column in
        one-class and regression.

    Raises
    ------
    ParameterError, DataError
        As in ``predict``.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> model = libsvmx.train(X, y, C=10, gamma=0.5)
    >>> values = libsvmx.decision_values(model, X)
    >>> values.shape, bool(((values[:, 0] > 0) == (libsvmx.predict(model, X) == model.labels[0])).all())
    ((60, 1), True)
    """
    most = threads_of(threads)
    return values_of_tests(*to_predict(model_of(model), X), most)


def values_of_tests(model: Model, tests: Tests, threads: int) -> FloatArray:
    """``decision_values`` for converted rows; with the caller's own kernel, its values with all training rows."""
    values = prediction.decision_values(model, tests, ramp(tests.n_rows), threads=threads)
    return np.asarray(values).reshape(tests.n_rows, len(model.offsets))
