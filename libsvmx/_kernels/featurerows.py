"""Rows of explicit features, dense or sparse: of the data, of a feature map, or of a low-rank factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from libsvmx._core.dense import MOST_MOVED
from libsvmx._core.matrix import DENSE_SHARE, CsrMatrix, compacted, distinct_features
from libsvmx._core.stopping import FLOPS, NOBODY, PIECE, TOUCHED, Token, pieces
from libsvmx._kernels.feature_products import NARROW, SparseRows, narrow_gram, sparse_rows
from libsvmx._typing import Buffer, FloatArray

Members = NDArray[np.int64]

# Their Gram matrix is one piece of work up to the flops of this many pieces.
MOST_PIECES = 8
# Dense rows mapped at a time, as elements: 2 MB.
COPIED = 1 << 18
# Dense rows that are scaled, or read twice, at a time; they fit a second-level cache.
AT_A_TIME = 128


class FeatureRows(Protocol):
    """m rows of n features X: SparseRows, DenseRows or TwiceRows. ``unit``: parts begin at multiples of it."""

    @property
    def unit(self) -> int: ...

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

    def gram(
        self, members: Members | None, weights: FloatArray, asking: Token = NOBODY
    ) -> tuple[FloatArray, FloatArray]:
        """sum of weight_i x_i x_i^T, of which only the lower triangle counts, and sum of weight_i x_i.

        ``members``: rows, ascending; None for all.
        """

    def take(self, members: Members) -> FloatArray:
        """Rows as a dense array, shape (q, n)."""

    def part(self, begin: int, end: int) -> FeatureRows:
        """Rows ``begin`` to ``end``, not copied."""

    def select(self, members: Members, asking: Token = NOBODY) -> FeatureRows:
        """A copy of these rows."""


class DenseRows:
    """DenseRows(X): rows of a C-contiguous array of float64, shape (m, n)."""

    __slots__ = ("X", "m", "n")
    unit = 1

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
        product: FloatArray = vectors @ self.X
        return product

    def curvature(self, weights: FloatArray, v: FloatArray) -> FloatArray:
        total = np.zeros(self.n)
        for begin in range(0, self.m, AT_A_TIME):
            rows = self.X[begin : begin + AT_A_TIME]
            total += (weights[begin : begin + AT_A_TIME] * (rows @ v)) @ rows
        return total

    def gram(
        self, members: Members | None, weights: FloatArray, asking: Token = NOBODY
    ) -> tuple[FloatArray, FloatArray]:
        if 0 < self.n <= NARROW:
            narrow = narrow_gram(self.X, members, weights)
            asking.ask(len(weights) * self.n**2 // FLOPS)
            return narrow
        outer, total = np.zeros((self.n, self.n), order="F"), np.zeros(self.n)
        roots = np.sqrt(weights)
        for begin in range(0, len(weights) if self.n else 0, AT_A_TIME):
            end = min(begin + AT_A_TIME, len(weights))
            if members is None:
                scaled = self.X[begin:end] * roots[begin:end, None]
            else:
                scaled = self.X[members[begin:end]]
                scaled *= roots[begin:end, None]
            if AT_A_TIME * self.n**2 <= MOST_PIECES * PIECE:
                # in place, one triangle; NumPy's product fills both, and takes 10 % to 30 % longer
                outer = blas.dsyrk(1.0, scaled.T, 1.0, outer, overwrite_c=1)
                asking.ask(len(scaled) * self.n**2 // FLOPS)
            else:
                for first, last in pieces(0, self.n, 2 * AT_A_TIME * self.n // MOST_PIECES):
                    outer[:last, first:last] += scaled[:, :last].T @ scaled[:, first:last]
                    asking.ask((last - first) * 2 * len(scaled) * last // FLOPS)
            total += roots[begin:end] @ scaled
        return outer.T, total

    def take(self, members: Members) -> FloatArray:
        rows: FloatArray = self.X[members]
        return rows

    def part(self, begin: int, end: int) -> DenseRows:
        return DenseRows(self.X[begin:end])

    def select(self, members: Members, asking: Token = NOBODY) -> DenseRows:
        chosen = np.empty((len(members), self.n))
        for begin, end in pieces(0, len(members), TOUCHED * FLOPS * self.n):
            chosen[begin:end] = self.X[members[begin:end]]
            asking.ask(TOUCHED * (end - begin) * self.n)
        return DenseRows(chosen)


class TwiceRows:
    """TwiceRows(rows): each row twice, consecutively, without copies or double work."""

    __slots__ = ("m", "n", "nnz", "rows")
    unit = 2

    def __init__(self, rows: FeatureRows):
        self.rows = rows
        self.m, self.n, self.nnz = 2 * rows.m, rows.n, 2 * rows.nnz

    def squares(self) -> float:
        return 2 * self.rows.squares()

    def times(self, w: FloatArray) -> FloatArray:
        return np.repeat(self.rows.times(w), 2)

    def transposed(self, vectors: FloatArray) -> FloatArray:
        return self.rows.transposed(vectors[:, ::2] + vectors[:, 1::2])

    def curvature(self, weights: FloatArray, v: FloatArray) -> FloatArray:
        return self.rows.curvature(weights[::2] + weights[1::2], v)

    def gram(
        self, members: Members | None, weights: FloatArray, asking: Token = NOBODY
    ) -> tuple[FloatArray, FloatArray]:
        if members is None:
            return self.rows.gram(None, weights[::2] + weights[1::2], asking)
        rows = members // 2
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        return self.rows.gram(rows[first], np.add.reduceat(weights, first) if len(first) else weights, asking)

    def take(self, members: Members) -> FloatArray:
        return self.rows.take(members // 2)

    def part(self, begin: int, end: int) -> TwiceRows:
        return TwiceRows(self.rows.part(begin // 2, end // 2))

    def select(self, members: Members, asking: Token = NOBODY) -> FeatureRows:
        return self.rows.select(members // 2, asking)


def times(rows: FeatureRows, w: FloatArray, asking: Token) -> FloatArray:
    """X w, shape (m,), in parts."""
    return np.concatenate([part.times(w) for part, _ in _parts(rows, asking)])


def transposed(rows: FeatureRows, vector: FloatArray, asking: Token) -> FloatArray:
    """X'v, shape (n,), in parts."""
    total: FloatArray = np.sum([part.transposed(vector[None, own])[0] for part, own in _parts(rows, asking)], axis=0)
    return total


def _parts(rows: FeatureRows, asking: Token) -> Iterator[tuple[FeatureRows, slice]]:
    """Parts of the rows, with their slices."""
    size = rows.m if rows.nnz <= MOST_MOVED else max(1, MOST_MOVED * rows.m // rows.nnz)
    size += -size % rows.unit
    for begin in range(0, rows.m, max(size, 1)):
        end = min(begin + size, rows.m)
        part = rows.part(begin, end)
        yield part, slice(begin, end)
        asking.note(part.nnz)


def feature_rows(matrix: CsrMatrix, rows: Buffer, asking: Token = NOBODY) -> FeatureRows:
    """The rows over the features that occur in ``matrix``: those of a linear kernel.

    Parameters
    ----------
    rows : buffer of int32, shape (m,)      rows of ``matrix``
    """
    matrix = compacted(matrix)[0]
    asking.ask(matrix.nnz)
    sparse = sparse_rows(matrix, rows, distinct_features(matrix))
    asking.ask(sparse.nnz)
    return as_suits(sparse, asking)


def as_suits(sparse: SparseRows, asking: Token = NOBODY) -> FeatureRows:
    """The rows, dense if that pays."""
    if sparse.nnz < DENSE_SHARE * sparse.m * sparse.n:
        return sparse
    dense = np.empty((sparse.m, sparse.n))
    for begin, end in pieces(0, sparse.m, TOUCHED * FLOPS * sparse.n):
        dense[begin:end] = sparse.take(np.arange(begin, end))
        asking.ask(TOUCHED * (end - begin) * sparse.n)
    return DenseRows(dense)


def second_order_size(n: int, coef0: float) -> int:
    """Features of the second-order map of n features."""
    return n * (n + 1) // 2 + (n if coef0 else 0)


def second_order_rows(rows: FeatureRows, gamma: float, coef0: float, asking: Token = NOBODY) -> FeatureRows:
    """The explicit map of the polynomial kernel (gamma x'z + coef0)^2 (Jung, O'Leary & Tits 2008, (5.1)).

    gamma x_j^2, sqrt(2) gamma x_j x_k for j < k, sqrt(2 gamma coef0) x_j. The constant feature coef0 is left out: it
    adds the same to all kernel values, which sum(y alpha) = 0 cancels. Needs gamma >= 0 and coef0 >= 0.
    """
    first, second = np.triu_indices(rows.n)
    factors = np.where(first == second, gamma, np.sqrt(2.0) * gamma)
    width = second_order_size(rows.n, coef0)
    size = max(1, COPIED // max(width, 1))
    sparse_parts: list[tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]] = []
    dense = rows.nnz**2 >= DENSE_SHARE * (rows.m * rows.n) ** 2
    whole = np.empty((rows.m, width) if dense else (0, 0))
    for begin in range(0, rows.m, size):
        x = rows.take(np.arange(begin, min(begin + size, rows.m)))
        mapped = whole[begin : begin + len(x)] if dense else np.empty((len(x), width))
        np.multiply(x[:, first], x[:, second], out=mapped[:, : len(first)])
        mapped[:, : len(first)] *= factors
        if coef0:
            np.multiply(x, np.sqrt(2.0 * gamma * coef0), out=mapped[:, len(first) :])
        if not dense:
            at, columns = np.nonzero(mapped)
            sparse_parts.append((np.bincount(at, minlength=len(x)), columns.astype(np.int32), mapped[at, columns]))
        asking.ask(4 * mapped.size)
    return DenseRows(whole) if dense else _renumbered(sparse_parts, width, asking)


def _renumbered(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int32], FloatArray]], width: int, asking: Token
) -> SparseRows:
    """The rows of parts (entries of each row, columns, values), without empty columns, which would only enlarge the
    normal matrix.
    """
    occurs = np.zeros(width, dtype=bool)
    for _, columns, _ in parts:
        occurs[columns] = True
        asking.ask(len(columns))
    number = (np.cumsum(occurs) - 1).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([counts for counts, _, _ in parts]))])
    indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    end = 0
    for _, columns, some in parts:
        begin, end = end, end + len(columns)
        indices[begin:end], values[begin:end] = number[columns], some
        asking.ask(len(columns))
    return SparseRows(indptr, indices, values, int(occurs.sum()))
