"""Rows, weights and kernels of scikit-learn's kinds, as the lower layers take them."""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight, _num_samples

from libsvmx._core.interchange import in_shape
from libsvmx._core.matrix import CsrMatrix, RowSource
from libsvmx.api.arrays import borrowed, from_dense, from_scipy, kernel_table, real_array
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from libsvmx._core.process import Token
    from libsvmx._train.observer import Observer
    from libsvmx._typing import Buffer, FloatArray, IntArray


# scikit-learn 1.9 refuses weights that are all 0; here they are told with those that are not positive
WITH_ZEROS = {"allow_all_zero_weights": True} if "allow_all_zero" in str(signature(_check_sample_weight)) else {}


def joining_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Weights of rows that join, shape (n,), 0 of what does not count; None: each counts once. Raises ValueError."""
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, **WITH_ZEROS)
    return np.maximum(weights, 0.0)


def matrix_of(X: Any, is_kernel: bool, borrow: bool = False) -> CsrMatrix:
    """Validated rows, or rows of kernel values. ``borrow``: they may be read where they are, see ``borrowed``."""
    if is_kernel:
        return kernel_table(in_shape(X).toarray() if issparse(X) else X if borrow else X.copy())
    return (borrowed(X) if borrow else None) or (from_scipy if issparse(X) else from_dense)(X)


# A callable kernel is called once for so few training rows: the calls would take longer than what they spare.
FEW_ROWS = 64
# Rows whose values with each other are computed for the sake of those with themselves.
ROWS_OF_DIAGONAL = 16


class CalledRows(RowSource):
    """CalledRows(kernel, X): rows of the matrix of a callable kernel over training rows, as they are asked for.

    The kernel is given some of the rows, and X as it is, and never called twice at a time.

    Attributes
    ----------
    token : Token or None       of the call that is going on: it ends once the kernel has raised
    error : BaseException or None      what it has raised
    """

    def __init__(self, kernel: Callable[[Any, Any], Any], X: Any) -> None:
        self.kernel, self.X, self.n = kernel, X.tocsr() if issparse(X) else X, _num_samples(X)
        self.token: Token | None = None
        self.error: BaseException | None = None
        self.lock = allocate_lock()

    def diagonal(self) -> Buffer:
        values = np.empty(self.n)
        for begin in range(0, self.n, ROWS_OF_DIAGONAL):
            some = chosen_rows(self.X, range(begin, min(begin + ROWS_OF_DIAGONAL, self.n)))
            values[begin : begin + ROWS_OF_DIAGONAL] = called_values(self.kernel, some, some).diagonal()
        return values.data

    def rows(self, numbers: list[int]) -> Buffer:
        self.check()
        values = called_values(self.kernel, chosen_rows(self.X, numbers), self.X)
        if self.token is not None:
            self.token.urgent = self.token.look() is not None
        return values.data

    def fail(self, error: BaseException) -> None:
        self.error = self.error or error
        if self.token is not None:
            self.token.stop(SolveStatus.INTERRUPTED)
            self.token.urgent = True

    def check(self) -> None:
        """Raise what the kernel has raised."""
        if self.error is not None:
            raise self.error


@contextmanager
def raising(source: CalledRows | None, observer: Observer) -> Iterator[None]:
    """Work on rows that a kernel computes, ended and undone by what it raises."""
    if source is None:
        yield
        return
    source.token = observer.limits
    try:
        yield
    finally:
        source.check()  # in place of what has come of rows that were not there


def chosen_rows(X: Any, numbers: Any) -> Any:
    """Rows of data of any kind that a callable kernel takes, as data of that kind."""
    if issparse(X) and not hasattr(X, "indptr"):
        X = X.tocsr()
    return _safe_indexing(X, np.asarray(numbers, dtype=np.intp))


def called_matrix(source: CalledRows) -> CsrMatrix:
    """The kernel matrix of which rows are asked for as they are read."""
    n = source.n
    indices, indptr = np.arange(n + 1, dtype=np.int32), np.arange(n + 1, dtype=np.int64) * (n + 1)
    return CsrMatrix(indptr, indices, source, copy=False, regular=True)


def called_values(kernel: Callable[[Any, Any], Any], A: Any, B: Any) -> FloatArray:
    """What a callable kernel says of all pairs of their rows, in C order and memory of its own. Raises ValueError."""
    K, shape = kernel(A, B), (_num_samples(A), _num_samples(B))
    values = np.array(
        real_array(in_shape(K).toarray() if issparse(K) else K, "the kernel"), dtype=np.float64, order="C"
    )
    if values.shape != shape:
        raise ValueError(
            f"the kernel was called with {shape[0]} and {shape[1]} rows and must return an array of shape {shape}, "
            f"but its shape is {values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError("the kernel must return finite values, but one is NaN or infinite")
    return values


def weights_of(sample_weight: Any, X: Any) -> tuple[FloatArray | None, IntArray | None]:
    """Weights of the rows, shape (n,), and the numbers of those that count; None: each row counts, and counts once.

    A row whose weight is not positive does not count, as in scikit-learn. Raises ValueError.
    """
    if sample_weight is None:
        return None, None
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, **WITH_ZEROS)
    counts = weights > 0
    if counts.all():
        return (None if (weights == 1).all() else weights), None
    rows = np.flatnonzero(counts).astype(np.int32)
    if not len(rows):
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return weights, rows
