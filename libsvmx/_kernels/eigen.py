"""The largest eigenpairs of a kernel matrix that is known by its products with vectors.

A product costs m^2 kernel values, whatever the number of vectors; few products of many vectors are wanted. So it is a
block method, Davidson's, from a start that is nearly right: the eigenvectors U of F F' = U S U', F a factor of K by
randomly pivoted Cholesky of some times the rank wanted, which costs next to nothing. In each round, with an orthonormal
basis Q:

    Q' K Q = Y diag(w) Y'        Rayleigh-Ritz: the best eigenpairs (w, Q Y) within the basis
    R = K Q Y - Q Y diag(w)      residuals; done if they are small
    Q <- [Q, (w - F F')^-1 R]    for the pairs that are not, as if K were F F'

(w - U S U')^-1 R = U (w - S)^-1 U' R + (R - U U' R) / w. What the round loses is only what F does not see of K, so the
residuals fall by about |K - F F'| / w or better each time, where Lanczos needs steps by the hundred.

Whatever is orthogonal to the start would never be found; so some vectors drawn at random go along, and those are
multiplied by K again in each round, as in subspace iteration.

Where K is indefinite there is no F, and scipy.sparse.linalg.eigsh (Lanczos with restarts) does it.

Davidson 1975; Morgan & Scott 1986 for a preconditioner other than the diagonal.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from libsvmx._kernels.block_kernel import KernelSpec, in_order, kernel_columns, split
from libsvmx.enums import KernelType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._typing import FloatArray, IntArray

    Eigenpairs = tuple[FloatArray, FloatArray, FloatArray]

# |K v - w v| of an eigenpair, relative to its eigenvalue and, for the roundings of the product, to the largest.
RESIDUAL = 1e-5
RESIDUAL_OF_LARGEST = 1e-12
# Vectors beside those wanted: a share, and at least so many. They widen the gap to what is left out.
EXTRA, LEAST_EXTRA = 0.1, 4
# Vectors at random, and rounds that they are given.
EXPLORERS, LEAST_ROUNDS = 4, 3
MOST_ROUNDS = 50
# w - S at least, relative to w.
LEAST_GAP = 1e-3
# Basis, in blocks of the start, before it is replaced by the best vectors within it.
WIDEST = 5
# What is left of a new vector of norm 1 beside the basis, if less, is rounding.
DEPENDENT = 1e-10
# Up to so many rows, and from a rank of the DENSE_SHARE-th of them on, all of K is decomposed.
DENSE, DENSE_SHARE = 1000, 4
# Entries of a row from which on values are kept in the few rounds of Davidson: the first use of memory cost 20 to 30 ns
# a value on a virtual machine, where those of a9a (14 entries) were computed in 6, and those of MNIST (150) in 30.
COSTLY = 32
# Rows and columns of a tile of kernel values; with the vectors it stays in a cache of 8 MB. TALL is a multiple of
# SMALL.
TALL, SMALL = 2048, 256


class KernelOperator:
    """Products of D K D with vectors, kernel values kept while there is room.

    K is the kernel matrix of distinct rows, D diagonal with the square root of how often each occurs. If y is an
    eigenvector, then D^-1 y, with as many copies of each element, is one of the kernel matrix of all rows, of the same
    eigenvalue and norm.

    Parameters
    ----------
    matrix : CsrMatrix
    rows : ndarray of int32, shape (n,)        distinct rows of ``matrix``
    weights : ndarray of float64, shape (n,)   D
    spec : KernelSpec
    budget_bytes : float          for kernel values, of which half are enough, K being symmetric
    threads : int
    """

    def __init__(
        self,
        matrix: CsrMatrix,
        rows: IntArray,
        weights: FloatArray,
        spec: KernelSpec,
        budget_bytes: float,
        threads: int,
    ):
        self.n, self.weights, self.spec, self.threads = len(rows), weights, spec, threads
        self.budget_bytes, self.room = budget_bytes, 0.0
        self.costly = spec.kind != KernelType.PRECOMPUTED and matrix.nnz > COSTLY * matrix.n_rows
        self.tall, self.small = split(matrix, rows, TALL), split(matrix, rows, SMALL)
        self.kept: dict[tuple[int, int], FloatArray] = {}

    def keep(self) -> None:
        """Keep values from now on: of use for many products, or where a value is costly."""
        self.room = self.budget_bytes

    def product(self, vectors: FloatArray) -> FloatArray:
        """D K D V, shape (n, q), of V = ``vectors``, (n, q)."""
        # by rows, which BLAS multiplies 1.2 times as fast
        rows = np.ascontiguousarray((self.weights[:, None] * vectors).T)
        out = np.zeros(rows.shape)
        for a, b, upper, left in in_order(partial(self.part, rows), self.pairs(), self.threads):
            out[:, TALL * a : TALL * a + upper.shape[1]] += upper
            if left is not None:
                out[:, SMALL * b : SMALL * b + left.shape[1]] += left
        return out.T * self.weights[:, None]

    def part(self, rows: FloatArray, a: int, b: int) -> tuple[int, int, FloatArray, FloatArray | None]:
        """What tile (a, b) adds to a product; its transpose as well, where it is off the diagonal."""
        tile = self.tile(a, b)
        m, width = tile.shape
        upper = rows[:, SMALL * b : SMALL * b + width] @ tile.T
        return a, b, upper, None if self.diagonal(a, b) else rows[:, TALL * a : TALL * a + m] @ tile

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Tiles on and below the diagonal."""
        for a in range(len(self.tall)):
            for b in range(min(len(self.small), (a + 1) * TALL // SMALL)):
                yield a, b

    def diagonal(self, a: int, b: int) -> bool:
        """Whether the rows of b are among those of a: their tiles are both in ``pairs``."""
        return b * SMALL >= a * TALL

    def tile(self, a: int, b: int) -> FloatArray:
        """Kernel values of TALL rows with SMALL rows."""
        tile = self.kept.get((a, b))
        if tile is None:
            tile = kernel_columns(self.tall[a], self.small[b], self.spec)
            if tile.nbytes <= self.room:
                self.kept[a, b] = tile
                self.room -= tile.nbytes
        return tile

    def dense(self) -> FloatArray:
        """All of D K D, (n, n)."""
        out = np.empty((self.n, self.n))
        for a, b in self.pairs():
            tile = self.tile(a, b)
            of_a, of_b = slice(TALL * a, TALL * a + len(tile)), slice(SMALL * b, SMALL * b + tile.shape[1])
            out[of_a, of_b] = self.weights[of_a, None] * tile * self.weights[of_b]
            if not self.diagonal(a, b):
                out[of_b, of_a] = out[of_a, of_b].T
        return out


def distinct(matrix: CsrMatrix, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Rows that are not alike.

    Returns
    -------
    first : ndarray of int32, shape (n,)      positions in ``rows``, ascending, of the first of each kind
    kind : ndarray of int32, shape (m,)       position in ``first`` of the row like each of ``rows``
    """
    ptr, indices, values = (memoryview(array) for array in (matrix.indptr, matrix.indices, matrix.values))
    seen: dict[bytes, int] = {}
    first: list[int] = []
    kind = np.empty(len(rows), dtype=np.int32)
    for place, row in enumerate(rows.tolist()):
        entries = slice(ptr[row], ptr[row + 1])
        kind[place] = seen.setdefault(bytes(indices[entries]) + bytes(values[entries]), len(first))
        if kind[place] == len(first):
            first.append(place)
    return np.array(first, dtype=np.int32), kind


def davidson(operator: KernelOperator, k: int, near: FloatArray, S: FloatArray, seed: int) -> Eigenpairs:
    """The k largest eigenpairs of a positive semidefinite K.

    Residuals are up to RESIDUAL, unless MOST_ROUNDS come first. Kernel values are kept, within the operator's budget,
    if they are costly. Beside them it needs two arrays of (WIDEST + 1) (1 + EXTRA) k columns.

    Parameters
    ----------
    operator : KernelOperator
    k : int
    near, S : ndarray, shape (n, r) and (r,)      U and S, F F' = U S U', K ~ F F', r >= k: see ``principal``
    seed : int                            of the vectors at random

    Returns
    -------
    values : ndarray of float64, shape (k,)       descending
    vectors : ndarray of float64, shape (n, k)    orthonormal columns V
    images : ndarray of float64, shape (n, k)     K V
    """
    size = min(len(S), k + max(LEAST_EXTRA, int(EXTRA * k)))
    start, explorers = near[:, :size], np.random.default_rng(seed).standard_normal((operator.n, EXPLORERS))
    Q = KQ = np.empty((operator.n, 0))
    if operator.costly:
        operator.keep()
    fresh = _beside(Q, start)
    for turn in range(MOST_ROUNDS):
        fresh = np.hstack([fresh, _beside(np.hstack([Q, fresh]), explorers)])
        if not fresh.shape[1]:
            break  # the basis has all there is
        image = operator.product(fresh)
        Q, KQ = np.hstack([Q, fresh]), np.hstack([KQ, image])
        explorers = image[:, image.shape[1] - EXPLORERS :]
        values, Y = _descending(Q.T @ KQ)
        w, X = values[:k], Q @ Y[:, :k]
        residuals = KQ @ Y[:, :k] - X * w
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->j", residuals, residuals))
        open_ = np.flatnonzero(norms > RESIDUAL * np.abs(w) + RESIDUAL_OF_LARGEST * w[0])
        if not len(open_) and turn + 1 >= LEAST_ROUNDS:
            break
        if Q.shape[1] > WIDEST * size:
            Q, KQ = Q @ Y[:, :size], KQ @ Y[:, :size]
            Y = np.eye(size)
        inside = near.T @ residuals[:, open_]
        # those of the start are in the basis already; of the others S is below w, but may be near
        gaps = np.maximum(w[open_] - S[size:, None], LEAST_GAP * w[open_])
        step = (residuals[:, open_] - near @ inside) / w[open_]
        step += near[:, size:] @ (inside[size:] / gaps)
        fresh = _beside(Q, step)
    return w, X, KQ @ Y[:, :k]


def principal(factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors, (n, r'), and eigenvalues, descending, of F F'; rounding errors left out."""
    if not factor.shape[1]:
        return factor, np.empty(0)
    values, vectors = _descending(factor.T @ factor)
    used = values > RESIDUAL_OF_LARGEST * values[0]
    return factor @ (vectors[:, used] / np.sqrt(values[used])), values[used]


def _descending(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of a matrix that is symmetric up to rounding."""
    from scipy.linalg import eigh

    values, vectors = eigh((matrix + matrix.T) / 2)
    return values[::-1], vectors[:, ::-1]


def _beside(basis: FloatArray, vectors: FloatArray) -> FloatArray:
    """Orthonormal vectors that span with the basis what ``vectors`` and the basis span."""
    from scipy.linalg import qr

    norms = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    new = vectors[:, norms > 0] / norms[norms > 0]
    for _ in range(2):  # the second time for the rounding errors of the first
        new = new - basis @ (basis.T @ new)
        new, R, _ = qr(new, mode="economic", pivoting=True)
        sizes = np.abs(R.diagonal())
        new = new[:, sizes > DEPENDENT]
    return np.ascontiguousarray(new)


def lanczos(operator: KernelOperator, k: int, seed: int) -> Eigenpairs:
    """The k < n largest eigenpairs of any symmetric K, as ``davidson`` gives them, by scipy's eigsh."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator.keep()
    shape = (operator.n, operator.n)
    linear = LinearOperator(
        shape, lambda v: operator.product(v.reshape(-1, 1)), matmat=operator.product, dtype=np.float64
    )
    start = np.random.default_rng(seed).standard_normal(operator.n)
    values, vectors = eigsh(linear, k, which="LA", v0=start, tol=RESIDUAL)
    order = np.argsort(-values, kind="stable")
    vectors = np.ascontiguousarray(vectors[:, order])
    return values[order], vectors, operator.product(vectors)


def whole(operator: KernelOperator, k: int) -> Eigenpairs:
    """As ``lanczos``, k <= n, by all of K in memory."""
    from scipy.linalg import eigh

    K = operator.dense()
    values, vectors = eigh(K, subset_by_index=(operator.n - k, operator.n - 1))
    vectors = np.ascontiguousarray(vectors[:, ::-1])
    return values[::-1], vectors, K @ vectors
