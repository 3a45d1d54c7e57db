"""Rows in all forms that LIBSVM's Python module takes, turned into a CsrMatrix.

Columns of dense and scipy data count from 0 and become feature indices from 1, except
for a precomputed kernel, whose column 0 holds the serial number and stays 0. Zeros of
dense rows and dicts are left out, zeros stored in a scipy matrix are kept, both as
LIBSVM does: its model files show the difference.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from libsvmx._core.arrays import doubles
from libsvmx._core.interchange import in_shape
from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer, FloatArray, Ids
from libsvmx.exceptions import DataError

MAX_INDEX = 2**31 - 1  # largest int of LIBSVM's svm_node and of our CsrMatrix


def is_sparse(x: Any) -> bool:
    """Whether ``x`` is of scipy.sparse, without importing it."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def matrix_of(x: Any, kernel: bool) -> tuple[CsrMatrix, int]:
    """The rows of ``x`` and the number of features that LIBSVM would see.

    Parameters
    ----------
    x : list or tuple of rows (see ``pairs_of``), 2-d ndarray, 1-d ndarray of rows, scipy.sparse of any
        format, or CsrMatrix, which is taken as it is. Not changed; duplicate entries of a sparse matrix are added up,
        as scipy means them.
    kernel : bool        rows of a precomputed kernel

    Returns
    -------
    matrix : CsrMatrix
    n : int              columns of a sparse matrix, else the largest index with a nonzero value

    Raises
    ------
    TypeError            another form, or values that are not numbers
    DataError            indices outside 0 .. 2^31 - 1, nan or infinite values; names the row
    """
    if isinstance(x, CsrMatrix):
        return x, x.max_index
    if is_sparse(x):
        return _from_sparse(x, kernel)
    if isinstance(x, np.ndarray):
        if x.ndim == 2:
            return _from_dense(x, kernel)
        if x.ndim != 1:
            raise TypeError(f"x has {x.ndim} dimensions; it must have 2, one row for each instance")
        x = list(x)
    if not isinstance(x, (list, tuple)):
        raise TypeError(f"x is a {type(x).__name__}; it must be a list, a tuple, an ndarray or a scipy.sparse matrix")
    return _from_rows(x, kernel)


def pairs_of(row: Any, kernel: bool) -> tuple[Sequence[int], Sequence[float]]:
    """Indices, ascending, and values of one row.

    Parameters
    ----------
    row : dict of index to value, list, tuple or 1-d ndarray of values, or a pair of ndarrays
        (columns from 0, values)
    kernel : bool        keep zeros, and let columns count from 0

    Raises
    ------
    TypeError            anything else
    """
    first = 0 if kernel else 1
    if isinstance(row, dict):
        items = sorted(row.items())
        return [j for j, v in items if kernel or v != 0], [v for j, v in items if kernel or v != 0]
    if isinstance(row, tuple) and len(row) == 2 and all(isinstance(part, np.ndarray) for part in row):
        order = np.argsort(row[0], kind="stable")
        return (row[0][order] + first).tolist(), row[1][order].tolist()
    if isinstance(row, np.ndarray) and row.ndim == 1:
        row = row.tolist()
    if isinstance(row, (list, tuple)):
        if kernel:
            return range(len(row)), row
        return [j for j, v in enumerate(row, 1) if v != 0], [v for v in row if v != 0]
    raise TypeError(
        f"a row is a {type(row).__name__}; it must be a dict, list, tuple, 1-d ndarray or a pair of ndarrays"
    )


def targets_of(y: Any, name: str = "y") -> Buffer:
    """Labels, or weights ``W``, as a buffer of float64, shape (l,), from a list, tuple or 1-d ndarray of numbers.

    Raises TypeError for any other form, and for values that are not numbers.
    """
    if isinstance(y, np.ndarray):
        if y.ndim != 1:
            raise TypeError(f"{name} has {y.ndim} dimensions; it must have 1")
        y = y.tolist()
    if not isinstance(y, (list, tuple)):
        raise TypeError(f"{name} is a {type(y).__name__}; it must be a list, a tuple or an ndarray")
    try:
        return doubles(y)
    except (TypeError, OverflowError):
        wrong = next(i for i, value in enumerate(y) if not _is_number(value))
        what, remedy = ("label", "map labels to integers first") if name == "y" else ("weight", "1 counts a row once")
        raise TypeError(f"row {wrong}: {what} {y[wrong]!r} is not a number; {remedy}") from None


def _is_number(value: Any) -> bool:
    try:
        array("d", [value])
    except (TypeError, OverflowError):
        return False
    return True


def _from_rows(rows: Sequence[Any], kernel: bool) -> tuple[CsrMatrix, int]:
    indices, values, indptr = array("q"), array("d"), array("q", [0])
    for i, row in enumerate(rows):
        try:
            row_indices, row_values = pairs_of(row, kernel)
            indices.extend(row_indices)
            values.extend(row_values)
        except TypeError as error:
            raise TypeError(f"row {i}: {error}") from None
        except OverflowError:
            raise DataError(f"a feature index is outside 0..{MAX_INDEX}; {RENUMBER}", i) from None
        indptr.append(len(indices))
    matrix = _checked(np.array(indptr), np.array(indices), np.array(values))
    return matrix, matrix.max_index


def _from_dense(x: Any, kernel: bool) -> tuple[CsrMatrix, int]:
    n_rows, n_columns = x.shape
    dense = _as_float(x)
    if kernel:
        indptr = np.arange(n_rows + 1, dtype=np.int64) * n_columns
        columns = np.tile(np.arange(n_columns, dtype=np.int64), n_rows)
        return _checked(indptr, columns, dense.flatten()), max(n_columns - 1, 0)
    row_of, columns = np.nonzero(dense)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(row_of, minlength=n_rows), out=indptr[1:])
    matrix = _checked(indptr, columns + 1, dense[row_of, columns])
    return matrix, matrix.max_index


def _from_sparse(x: Any, kernel: bool) -> tuple[CsrMatrix, int]:
    if x.ndim != 2:
        raise TypeError(f"x has {x.ndim} dimension; it must have 2, one row for each instance")
    csr, n_columns = in_shape(x).tocsr(), x.shape[1]
    if kernel:  # kernel values of 0 are not stored, but their columns must exist
        return _from_dense(csr.toarray(), kernel)[0], n_columns
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    indices = csr.indices.astype(np.int64) + 1
    return _checked(csr.indptr.astype(np.int64), indices, _as_float(csr.data).copy()), n_columns


def _as_float(values: Any) -> FloatArray:
    if values.dtype.kind not in "buifO":
        raise TypeError(f"x is of dtype {values.dtype}; it must hold real numbers")
    return np.ascontiguousarray(values, dtype=np.float64)


def _checked(indptr: Ids, indices: Ids, values: FloatArray) -> CsrMatrix:
    """Indices and values of rows, checked; errors name the first invalid row."""
    for wrong in (np.flatnonzero((indices < 0) | (indices > MAX_INDEX)), np.flatnonzero(~np.isfinite(values))):
        if wrong.size:
            k = int(wrong[0])
            row = int(np.searchsorted(indptr, k, side="right")) - 1
            if not 0 <= indices[k] <= MAX_INDEX:
                raise DataError(f"feature index {indices[k]} is outside 0..{MAX_INDEX}; {RENUMBER}", row)
            raise DataError(
                f"the value of feature {indices[k]} is {values[k]}; remove the row or fill in a finite value", row
            )
    return CsrMatrix(indptr.data, indices.astype(np.int32).data, values.data)


RENUMBER = "renumber the features from 1"
