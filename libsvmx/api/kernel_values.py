"""Rows for the caller's own kernels, and checks of the returned values.

Rows are arrays, object arrays, sparse matrices, data frames, or lists, such as of strings or graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from libsvmx._core.interchange import in_shape
from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.block_kernel import KernelSpec, kernel_columns
from libsvmx._kernels.cross import CrossKernel, CrossRow
from libsvmx._typing import FloatArray, Ids
from libsvmx.api.arrays import as_matrix, csr_of_parts, is_of_polars, parts_of_csr, real_array
from libsvmx.exceptions import DataError

# K(i, j) and K(j, i) of a symmetric kernel may differ by this share of sqrt(K(i, i) K(j, j)): rounding in float.
APART = 1e-4
# In addition, for a diagonal of 0, they may differ by this share of the largest value of the rows.
NOISE = 1e-6


class PartRows:
    """PartRows(parts): the same rows, prepared by each part of a Combined kernel."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    @property
    def shape(self) -> tuple[int]:
        return (n_rows_of(self.parts[0]),)

    def __getitem__(self, numbers: Any) -> PartRows:
        return PartRows([chosen_rows(part, numbers) for part in self.parts])

    def joined(self, others: PartRows) -> PartRows:
        return PartRows([all_rows(*own) for own in zip(self.parts, others.parts, strict=True)])


class NamedRows:
    """NamedRows(matrix): rows for libsvmx's own kernels; pickled as the parts of the matrix."""

    def __init__(self, matrix: CsrMatrix | tuple[Any, ...]) -> None:
        self.matrix = csr_of_parts(matrix) if isinstance(matrix, tuple) else matrix
        self.with_all: tuple[KernelSpec, CrossRow] | None = None  # cache of ``rows``, for the last kernel

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedRows, (parts_of_csr(self.matrix),)

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def __getitem__(self, numbers: Any) -> NamedRows:
        return NamedRows(self.matrix[numbers])

    def joined(self, others: NamedRows) -> NamedRows:
        return NamedRows(as_matrix(all_rows(self.matrix.tocsr(), others.matrix.tocsr())))

    def check_width(self, others: NamedRows) -> None:
        """Raise DataError if the numbers of columns differ."""
        if self.shape[1] != others.shape[1]:
            raise DataError(f"there are rows with {self.shape[1]} columns and rows with {others.shape[1]}")

    def columns(self, others: NamedRows, spec: KernelSpec) -> FloatArray:
        """Kernel values, shape (n, len(others))."""
        self.check_width(others)
        return kernel_columns(self.matrix, others.matrix, spec)

    def rows(self, others: NamedRows, spec: KernelSpec) -> FloatArray:
        """The transpose, shape (len(others), n), for repeated calls with few others."""
        self.check_width(others)
        if self.with_all is None or self.with_all[0] != spec:
            cross = CrossKernel(self.matrix, spec.kind, spec.degree, spec.gamma, spec.coef0)
            self.with_all = spec, CrossRow(cross)
        return np.array([self.with_all[1].values(others.matrix, i) for i in range(others.shape[0])])


def n_rows_of(X: Any) -> int:
    """Number of rows. Raises DataError for data without rows."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or shape == ():
        raise DataError(f"rows must be an array, a matrix, a frame or a list, not {type(X).__name__}")
    return len(X)


def chosen_rows(X: Any, numbers: Any) -> Any:
    """A copy of rows of data of any type, of the same type."""
    chosen = np.asarray(numbers, dtype=np.intp)
    if hasattr(X, "tocsr"):
        return X.tocsr()[chosen]
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if isinstance(X, np.ndarray) or is_of_polars(X):
        return X[chosen]
    if isinstance(getattr(X, "shape", None), tuple):  # arrays of other packages
        return X[chosen]
    some = [X[i] for i in chosen.tolist()]
    return tuple(some) if isinstance(X, tuple) else some


def bytes_of_copy(X: Any) -> float:
    """About the memory of ``chosen_rows`` of all rows, in bytes; inf for rows of an unknown type."""
    if isinstance(X, PartRows):
        return sum(map(bytes_of_copy, X.parts))
    if isinstance(X, NamedRows):
        return 2 * bytes_of_copy(X.matrix)  # and what ``rows`` makes of the copy
    if hasattr(X, "tocsr"):
        return float(X.nnz * (X.dtype.itemsize + 8))
    if hasattr(X, "iloc"):
        return float(np.sum(X.memory_usage()))
    if is_of_polars(X):
        return float(X.estimated_size())
    if isinstance(X, list | tuple):
        return 8.0 * len(X)
    return float(getattr(X, "nbytes", np.inf))


def all_rows(A: Any, B: Any) -> Any:
    """Rows of A, then of B, in the type of A. Raises DataError."""
    if not n_rows_of(B):
        return A
    if isinstance(A, PartRows | NamedRows):
        return A.joined(B)
    if hasattr(A, "tocsr") and hasattr(B, "tocsr"):
        from scipy.sparse import vstack

        return vstack([A, B], format="csr")
    if isinstance(A, np.ndarray):
        return np.concatenate([A, np.asarray(B, dtype=object if A.dtype == object else None)])
    if hasattr(A, "iloc") and hasattr(B, "iloc"):
        pandas: Any = import_module("pandas")
        return pandas.concat([A, B])
    if is_of_polars(A) and is_of_polars(B):
        return A.vstack(B)
    if isinstance(A, list | tuple):
        return type(A)([*A, *B])
    raise DataError(
        "rows that join must be of the kind of those that are there, an array, a sparse matrix, a frame or a list: "
        f"these are in a {type(B).__name__}, those in a {type(A).__name__}"
    )


def values_of(kernel: Callable[[Any, Any], Any], A: Any, B: Any, copy: bool = True) -> FloatArray:
    """Kernel values of all pairs of rows in C order, a copy unless they are read at once; without pairs the kernel is
    not called.

    Raises DataError.
    """
    shape = n_rows_of(A), n_rows_of(B)
    if not all(shape):
        return np.empty(shape)
    values = plain_array(kernel(A, B), copy)
    if values.shape != shape:
        raise DataError(
            f"the kernel was called with {shape[0]} and {shape[1]} rows and must return an array of shape {shape}, "
            f"but its shape is {values.shape}"
        )
    check_finite(values)
    return values


def make_symmetric(values: FloatArray, begin: int, diagonal: FloatArray) -> None:
    """Copy the upper triangle to the lower one in rows from ``begin`` on. Raises DataError if they differ by more than
    rounding in float."""
    lower, upper = values[begin:], values[:, begin:].T
    check_same(lower, upper, diagonal, np.arange(begin, len(values))[:, None], np.arange(len(values)), lower)
    lower[:, :begin] = upper[:, :begin]
    own = lower[:, begin:]
    own[:] = np.triu(own) + np.triu(own, 1).T


def are_same(found: FloatArray, known: FloatArray) -> bool:
    """Whether values differ by no more than APART, of their own size: nearly always."""
    with np.errstate(over="ignore"):
        return bool((np.abs(found - known) <= APART * np.abs(known)).all())


def check_same(found: FloatArray, known: FloatArray, diagonal: FloatArray, i: Ids, j: Ids, *seen: FloatArray) -> None:
    """Raise DataError where ``found`` and ``known`` values of K(i, j) differ by more than rounding in float.

    ``seen``: their largest value scales NOISE, needed by kernels of distances: 0 on the diagonal up to cancellation.
    """
    if are_same(found, known):
        return
    with np.errstate(over="ignore"):
        apart, same = np.abs(found - known), APART * np.abs(known)
        size = np.sqrt(np.abs(diagonal[i])) * np.sqrt(np.abs(diagonal[j]))
        noise = NOISE * max(float(max(values.max(initial=0.0), -values.min(initial=0.0))) for values in seen)
        wrong = np.argwhere(apart > noise + np.maximum(APART * size, same))
    for place in map(tuple, wrong[:1]):
        a, b = (np.broadcast_to(row, found.shape)[place] for row in (i, j))
        raise DataError(
            f"the kernel contradicts itself: of rows {a} and {b} its value is {found[place]:.9g}, and was "
            f"{known[place]:.9g}. It must have one value for two rows, in either order, each time; one that is not "
            "symmetric says so: symmetric = False of a libsvmx.Kernel"
        )


def plain_array(K: Any, copy: bool = True) -> FloatArray:
    """Values returned by a kernel in float64, in C order; ``copy``: not the kernel's array. Raises DataError."""
    values = real_array(in_shape(K).toarray() if hasattr(K, "tocsr") else K, "the kernel")
    return (np.array if copy else np.asarray)(values, dtype=np.float64, order="C")


def check_finite(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise DataError("the kernel must return finite values, but one is NaN or infinite")
