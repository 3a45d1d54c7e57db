"""Rows of explicit features: dense or sparse ones, of the data itself, of a map, or of a low-rank factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg import blas

from libsvmx._core.matrix import compacted, distinct_features
from libsvmx._kernels.sparserows import SparseRows, sparse_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._typing import Buffer, FloatArray

    Members = NDArray[np.int64]

# With at least this share of nonzeros rows are kept dense: a dense product of blocks then costs less than sparse sums.
DENSE_SHARE = 0.25
# Dense rows mapped at a time, as elements: 2 MB.
COPIED = 1 << 18
# Dense rows that are scaled, or used twice, at a time; they stay in a second-level cache.
AT_A_TIME = 128


class FeatureRows(Protocol):
    """m rows of n features X; SparseRows and DenseRows are ones."""

    @property
    def m(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    def squares(self) -> float:
        """The sum of |x|^2 over the rows."""

    def times(self, w: FloatArray) -> FloatArray:
        """X w, shape (m,)."""

    def transposed(self, vectors: FloatArray) -> FloatArray:
        """vectors X, shape (k, n), of ``vectors``, shape (k, m)."""

    def curvature(self, weights: FloatArray, v: FloatArray) -> FloatArray:
        """X' diag(weights) X v, shape (n,)."""

    def gram(self, members: Members, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """sum of weight_i x_i x_i^T, of which only the lower triangle counts, and sum of weight_i x_i."""

    def take(self, members: Members) -> FloatArray:
        """Rows as a dense array, shape (q, n)."""

    def part(self, begin: int, end: int) -> FeatureRows:
        """Rows ``begin`` to ``end``, not copied."""

    def select(self, members: Members) -> FeatureRows:
        """A copy of these rows."""


class DenseRows:
    """DenseRows(X): rows of a C-contiguous array of float64, shape (m, n)."""

    __slots__ = ("X", "m", "n")

    def __init__(self, X: FloatArray):
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self.m, self.n = self.X.shape

    @property
    def nnz(self) -> int:
        return self.X.size

    def squares(self) -> float:
        return float(np.vdot(self.X, self.X))

    def times(self, w: FloatArray) -> FloatArray:
        product: FloatArray = self.X @ w
        return product

    def transposed(self, vectors: FloatArray) -> FloatArray:
        if len(vectors) == 1:
            product: FloatArray = vectors @ self.X
            return product
        total = np.zeros((len(vectors), self.n))
        for begin in range(0, self.m, AT_A_TIME):  # a product of matrices copies X, which then is in cache
            total += vectors[:, begin : begin + AT_A_TIME] @ self.X[begin : begin + AT_A_TIME]
        return total

    def curvature(self, weights: FloatArray, v: FloatArray) -> FloatArray:
        total = np.zeros(self.n)
        for begin in range(0, self.m, AT_A_TIME):
            rows = self.X[begin : begin + AT_A_TIME]
            total += (weights[begin : begin + AT_A_TIME] * (rows @ v)) @ rows
        return total

    def gram(self, members: Members, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        outer, total = np.zeros((self.n, self.n), order="F"), np.zeros(self.n)
        roots = np.sqrt(weights)
        whole = len(members) == self.m  # members ascend
        for begin in range(0, len(members) if self.n else 0, AT_A_TIME):
            end = min(begin + AT_A_TIME, len(members))
            if whole:
                scaled = self.X[begin:end] * roots[begin:end, None]
            else:
                scaled = self.X[members[begin:end]]
                scaled *= roots[begin:end, None]
            # added in place, one triangle alone: NumPy's product fills in the other one, too, for 10 % to 30 % more
            outer = blas.dsyrk(1.0, scaled.T, 1.0, outer, overwrite_c=1)
            total += roots[begin:end] @ scaled
        return outer.T, total

    def take(self, members: Members) -> FloatArray:
        rows: FloatArray = self.X[members]
        return rows

    def part(self, begin: int, end: int) -> DenseRows:
        return DenseRows(self.X[begin:end])

    def select(self, members: Members) -> DenseRows:
        return DenseRows(self.X[members])


def feature_rows(matrix: CsrMatrix, rows: Buffer) -> FeatureRows:
    """The rows with their own features, those that occur nowhere in ``matrix`` left out: what a linear kernel sees.

    Parameters
    ----------
    rows : buffer of int32, shape (m,)      rows of ``matrix``
    """
    matrix = compacted(matrix)[0]
    return as_suits(sparse_rows(matrix, rows, distinct_features(matrix)))


def as_suits(sparse: SparseRows) -> FeatureRows:
    """The rows, sparse or dense."""
    if sparse.nnz < DENSE_SHARE * sparse.m * sparse.n:
        return sparse
    return DenseRows(sparse.take(np.arange(sparse.m)))


def second_order_size(n: int, coef0: float) -> int:
    """Features of the second-order map of n features."""
    return n * (n + 1) // 2 + (n if coef0 else 0)


def second_order_rows(rows: FeatureRows, gamma: float, coef0: float) -> FeatureRows:
    """The explicit map of the polynomial kernel (gamma x'z + coef0)^2 (Jung, O'Leary & Tits 2008, (5.1)).

    gamma x_j^2, sqrt(2) gamma x_j x_k for j < k, sqrt(2 gamma coef0) x_j. The constant feature coef0 is left out: it
    adds the same to all kernel values, which sum(y alpha) = 0 cancels. Needs gamma >= 0 and coef0 >= 0.
    """
    first, second = np.triu_indices(rows.n)
    factors = np.where(first == second, gamma, np.sqrt(2.0) * gamma)
    width = second_order_size(rows.n, coef0)
    size = max(1, COPIED // max(width, 1))
    parts: list[FloatArray] = []
    sparse_parts: list[tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]] = []
    dense = rows.nnz**2 >= DENSE_SHARE * (rows.m * rows.n) ** 2
    for begin in range(0, rows.m, size):
        x = rows.take(np.arange(begin, min(begin + size, rows.m)))
        mapped = np.empty((len(x), width))
        np.multiply(x[:, first], x[:, second], out=mapped[:, : len(first)])
        mapped[:, : len(first)] *= factors
        if coef0:
            np.multiply(x, np.sqrt(2.0 * gamma * coef0), out=mapped[:, len(first) :])
        if dense:
            parts.append(mapped)
        else:
            at, columns = np.nonzero(mapped)
            sparse_parts.append((np.bincount(at, minlength=len(x)), columns.astype(np.int32), mapped[at, columns]))
    if dense:
        return DenseRows(np.concatenate(parts) if parts else np.empty((0, width)))
    counts, indices, values = (np.concatenate(arrays) for arrays in zip(*sparse_parts, strict=True))
    # combinations of features that never come together would only make the normal matrix larger
    present, columns = np.unique(indices, return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return SparseRows(indptr, columns.astype(np.int32), values, len(present))
