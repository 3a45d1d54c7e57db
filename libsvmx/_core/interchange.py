"""A CsrMatrix as NumPy, SciPy and scikit-learn use data: rows by any index, dense and SciPy's forms.

Column j is LIBSVM's index j + 1, or index j in data that have a feature 0. NumPy and SciPy load on first use.
"""

from __future__ import annotations

from operator import index

from libsvmx._core.buffers import filled
from libsvmx._typing import TYPE_CHECKING, Buffer, FloatArray
from libsvmx.exceptions import DataError

if TYPE_CHECKING:
    from typing import Any


def in_shape(X: Any) -> Any:
    """A matrix of SciPy once its own indices fit its shape: SciPy converts it by writing where they say.

    Raises
    ------
    DataError
    """
    try:
        if hasattr(X, "check_format"):  # compressed ones
            if (X.indptr[1:] < X.indptr[:-1]).any():  # of a matrix with no entry SciPy does not look
                raise ValueError("its indptr descends")
            X.check_format(full_check=True)
        elif getattr(X, "format", "") == "coo" and X.nnz:
            for length, numbers in zip(X.shape, getattr(X, "coords", (X.row, X.col)), strict=True):
                if not 0 <= numbers.min() <= numbers.max() < length:
                    raise ValueError("an index is outside")
    except ValueError as error:
        raise DataError(f"X is not a matrix of shape {X.shape}: {error}") from None
    return X


def row_numbers(key: Any, n_rows: int) -> Buffer:
    """Rows that an index chooses, as NumPy reads it: buffer of int32.

    Parameters
    ----------
    key : int, slice, ellipsis, sequence or array of int, mask of bool of length ``n_rows``; or a tuple of one of these
        and what chooses all columns, ``:`` or ``...``

    Raises
    ------
    IndexError         another index, or a row that there is not
    """
    if isinstance(key, tuple):
        rows, columns = (*key[:1], Ellipsis)[0], key[1:]
        if any(not (part is Ellipsis or (isinstance(part, slice) and part == slice(None))) for part in columns):
            raise IndexError("only rows can be chosen; X.tocsr()[rows, columns] chooses columns, too")
        return row_numbers(rows, n_rows)
    if key is Ellipsis:
        return filled("i", range(n_rows))
    if isinstance(key, slice):
        return filled("i", range(n_rows)[key])
    if not isinstance(key, bool):
        try:
            return filled("i", [_checked(index(key), n_rows)])
        except TypeError:
            pass
    return _from_array(key, n_rows)


def _from_array(key: Any, n_rows: int) -> Buffer:
    import numpy as np

    chosen = np.asarray(key)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "biu"):
        raise IndexError(f"rows are chosen by whole numbers, a slice or a mask in one dimension, not by {key!r}")
    if chosen.dtype.kind == "b":
        if len(chosen) != n_rows:
            raise IndexError(f"a mask of {len(chosen)} for {n_rows} rows")
        chosen = np.flatnonzero(chosen)
    wrong = np.flatnonzero((chosen < -n_rows) | (chosen >= n_rows)) if chosen.size else chosen
    if wrong.size:
        _checked(int(chosen[wrong[0]]), n_rows)
    chosen = chosen.astype(np.int64)
    return np.where(chosen < 0, chosen + n_rows, chosen).astype(np.int32).data


def _checked(row: int, n_rows: int) -> int:
    if not -n_rows <= row < n_rows:
        raise IndexError(f"row {row} of {n_rows}")
    return row + n_rows if row < 0 else row


def dense_of(matrix: Any) -> FloatArray:
    """All values with zeros between them: ndarray of float64, shape as ``matrix``. Raises MemoryError."""
    import numpy as np

    try:
        dense = np.zeros(matrix.shape)
    except (MemoryError, ValueError):  # ValueError: beyond any address
        raise MemoryError(f"no room for a dense array of shape {matrix.shape}; X.tocsr() stays sparse") from None
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(np.asarray(matrix.indptr)))
    dense[rows, np.asarray(matrix.indices) - matrix.first_index] = matrix.values
    return dense


def scipy_of(matrix: Any) -> Any:
    """A scipy.sparse.csr_matrix of float64 with memory of its own, shape as ``matrix``, without zeros of dense rows."""
    import numpy as np
    from scipy.sparse import csr_matrix

    indices = np.asarray(matrix.indices) - np.int32(matrix.first_index)
    csr = csr_matrix((np.array(matrix.values), indices, np.array(matrix.indptr)), shape=matrix.shape)
    if matrix.regular and matrix.first_index:  # kernel values, with an index 0, keep theirs
        csr.eliminate_zeros()
    return csr
