"""The largest eigenpairs of a kernel matrix given by products with vectors.

A product costs m^2 kernel values for any number of vectors, so few products of many vectors are best: a block method,
Davidson's. It starts from the eigenvectors U of F F' = U S U', F a factor of K by randomly pivoted Cholesky of a
multiple of the wanted rank, which is cheap. In each round, with an orthonormal basis Q:

    Q' K Q = Y diag(w) Y'        Rayleigh-Ritz: the best eigenpairs (w, Q Y) within the basis
    R = K Q Y - Q Y diag(w)      residuals; end if they are small
    Q <- [Q, (w - F F')^-1 R]    for the other pairs, with F F' in place of K

(w - U S U')^-1 R = U (w - S)^-1 U' R + (R - U U' R) / w, so residuals fall by about |K - F F'| / w or better in each
round, while Lanczos needs hundreds of steps. Some random vectors are added to the start, and multiplied by K again in
each round as in subspace iteration, since anything orthogonal to the basis would never be found.

An indefinite K has no F; then scipy.sparse.linalg.eigsh (restarted Lanczos) is used. It is not used for every kernel,
for two reasons: it takes 40 to 130 products with one vector at ranks 10 and 64, against 4 or 5 rounds here, and each
product computes K again if the kernel values do not fit memory; and from one vector it misses multiple eigenvalues.
CPU seconds, one thread, gamma 1 / features, 100 MB, medians of three (a9a: rank 10, 64; else 10, 50, 100):

                                       here                 eigsh
    a9a, 12,000 rows, K 1,152 MB       1.5  3.2             5.9  19.0
    letter.scale, 4,000                0.20  0.50  1.22     0.27  1.05  1.99
    mnist.scale, 4,000                 0.44  0.85  1.77     0.58  1.34  2.36
    a1a, 1,605                         0.07  0.15  0.62     0.10  0.21  0.45
    splice.t, 2,175                    0.24  0.40  1.58     0.24  0.50  0.94

With gamma 0.5 and rank 100, eigsh left 91.5 % of the trace of splice.t; 90.4 % is the minimum. If the start has about
as many columns as K, eigsh is faster, up to 2.8 times (a1a, gamma 0.5, rank 100). scipy's block method lobpcg from the
same start, measured once: a9a 3.6 and 5.5 s, letter.scale 0.29, 0.69 and 1.56 s.

Davidson 1975; Morgan & Scott 1986 for a preconditioner other than the diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from libsvmx._core.dense import beside, eigenpairs, product
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.stopping import FLOPS, NOBODY, PIECE, Token, pieces
from libsvmx._core.threads import awaited, in_order
from libsvmx._kernels.approximation import USUAL, FactorPolicy
from libsvmx._kernels.block_kernel import KernelSpec, kernel_columns, split
from libsvmx._typing import FloatArray, IntArray

Eigenpairs = tuple[FloatArray, FloatArray, FloatArray]

# Tolerance of |K v - w v|, relative to the eigenvalue and, for rounding of the product, to the largest one.
RESIDUAL = 1e-5
RESIDUAL_OF_LARGEST = 1e-12
# Additional vectors, a share and a minimum: they widen the gap to the rest of the spectrum.
EXTRA, MIN_EXTRA = 0.1, 4
# Random vectors, and the least number of rounds for them.
RANDOM_VECTORS, MIN_ROUNDS = 4, 3
MAX_ROUNDS = 50
# Least w - S, relative to w.
MIN_GAP = 1e-3
# Flops of vectors that are orthonormalized at once, and their least number.
MAX_BLOCK_FLOPS, MIN_BLOCK = 8 * PIECE, 16
# Restart with the best vectors once the basis has this many times the columns of the start.
MAX_WIDTH = 5
# Norm below which the part of a unit vector orthogonal to the basis is rounding.
DEPENDENT = 1e-10
# From rank n / DENSE_SHARE on, all of K is decomposed.
DENSE_SHARE = 4
# Work of a row in Python, in elements.
ROW_OF_PYTHON = 1000


class KernelOperator:
    """Products of D K D with vectors; kernel values are kept while there is room.

    K is the kernel matrix of distinct rows, D the diagonal matrix of the square roots of their multiplicities. If y is
    an eigenvector, then D^-1 y, with its elements repeated, is one of the kernel matrix of all rows, with the same
    eigenvalue and norm.

    Parameters
    ----------
    matrix : CsrMatrix
    rows : ndarray of int32, shape (n,)        distinct rows of ``matrix``
    weights : ndarray of float64, shape (n,)   D
    spec : KernelSpec
    budget_bytes : float          for kernel values (half of K, by symmetry)
    threads : int
    asking : Token
    policy : FactorPolicy
    """

    def __init__(
        self,
        matrix: CsrMatrix,
        rows: IntArray,
        weights: FloatArray,
        spec: KernelSpec,
        budget_bytes: float,
        threads: int,
        asking: Token = NOBODY,
        policy: FactorPolicy = USUAL,
    ):
        self.n, self.weights, self.spec, self.threads, self.asking = len(rows), weights, spec, threads, asking
        self.room = budget_bytes
        self.tall, self.small = split(matrix, rows, policy.tall), split(matrix, rows, policy.small)
        self.policy = policy
        self.kept: dict[tuple[int, int], FloatArray] = {}

    def product(self, vectors: FloatArray) -> FloatArray:
        """D K D V, shape (n, q), of V = ``vectors``, (n, q)."""
        # by rows: BLAS is 1.2 times as fast
        rows = np.empty(vectors.shape[::-1])
        for begin, end in pieces(0, self.n, FLOPS * len(rows)):
            rows[:, begin:end] = (self.weights[begin:end, None] * vectors[begin:end]).T
            self.asking.ask((end - begin) * len(rows))
        out = np.zeros(rows.shape)
        for a, b, upper, left in in_order(partial(self.part, rows), self.pairs(), self.threads, self.asking):
            at_a, at_b = self.corner(a, b)
            out[:, at_a : at_a + upper.shape[1]] += upper
            if left is not None:
                out[:, at_b : at_b + left.shape[1]] += left
        for begin, end in pieces(0, len(out), FLOPS * self.n):
            out[begin:end] *= self.weights
            self.asking.ask((end - begin) * self.n)
        return out.T

    def part(self, rows: FloatArray, a: int, b: int) -> tuple[int, int, FloatArray, FloatArray | None]:
        """Contribution of tile (a, b) to a product, and of its transpose if off the diagonal."""
        tile = self.tile(a, b)
        (m, width), (at_a, at_b) = tile.shape, self.corner(a, b)
        upper = product(rows[:, at_b : at_b + width], tile.T, self.asking)
        if self.diagonal(a, b):
            return a, b, upper, None
        return a, b, upper, product(rows[:, at_a : at_a + m], tile, self.asking)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Tiles on and below the diagonal."""
        for a in range(len(self.tall)):
            for b in range(min(len(self.small), (a + 1) * self.policy.tall // self.policy.small)):
                yield a, b

    def corner(self, a: int, b: int) -> tuple[int, int]:
        """First row and first column of a tile."""
        return self.policy.tall * a, self.policy.small * b

    def diagonal(self, a: int, b: int) -> bool:
        """Whether the rows of b are among those of a: their tiles are both in ``pairs``."""
        at_a, at_b = self.corner(a, b)
        return at_b >= at_a

    def tile(self, a: int, b: int) -> FloatArray:
        """Kernel values of ``policy.tall`` rows with ``policy.small`` rows."""
        tile = self.kept.get((a, b))
        if tile is None:
            tile = kernel_columns(self.tall[a], self.small[b], self.spec, self.asking)
            if tile.nbytes <= self.room:
                self.kept[a, b] = tile
                self.room -= tile.nbytes
        return tile

    def dense(self) -> FloatArray:
        """All of D K D, (n, n)."""
        out = np.empty((self.n, self.n))
        for a, b in self.pairs():
            tile, (at_a, at_b) = self.tile(a, b), self.corner(a, b)
            of_a, of_b = slice(at_a, at_a + len(tile)), slice(at_b, at_b + tile.shape[1])
            out[of_a, of_b] = self.weights[of_a, None] * tile * self.weights[of_b]
            if not self.diagonal(a, b):
                out[of_b, of_a] = out[of_a, of_b].T
        return out


def distinct(matrix: CsrMatrix, rows: IntArray, asking: Token = NOBODY) -> tuple[IntArray, IntArray]:
    """Distinct rows.

    Returns
    -------
    first : ndarray of int32, shape (n,)      positions in ``rows``, ascending, of the first of equal rows
    kind : ndarray of int32, shape (m,)       for each of ``rows``, index in ``first`` of the equal row
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
        asking.ask(ROW_OF_PYTHON)
    return np.array(first, dtype=np.int32), kind


def davidson(operator: KernelOperator, k: int, near: FloatArray, S: FloatArray, seed: int) -> Eigenpairs:
    """The k largest eigenpairs of a positive semidefinite K.

    Ends at RESIDUAL, or after MAX_ROUNDS. Beside kernel values it needs two arrays of (MAX_WIDTH + 1) (1 + EXTRA) k
    columns.

    Parameters
    ----------
    operator : KernelOperator
    k : int
    near, S : ndarray, shape (n, r) and (r,)      U and S, F F' = U S U', K ~ F F', r >= k: see ``principal``
    seed : int                            of the random vectors

    Returns
    -------
    values : ndarray of float64, shape (k,)       descending
    vectors : ndarray of float64, shape (n, k)    orthonormal columns V
    images : ndarray of float64, shape (n, k)     K V
    """
    size = min(len(S), k + max(MIN_EXTRA, int(EXTRA * k)))
    start, random_vectors = near[:, :size], np.random.default_rng(seed).standard_normal((operator.n, RANDOM_VECTORS))
    Q = KQ = np.empty((operator.n, 0))
    asking = operator.asking
    fresh = _extend(Q, start, asking)
    for turn in range(MAX_ROUNDS):
        fresh = np.hstack([fresh, _extend(beside(Q, fresh, asking), random_vectors, asking)])
        if not fresh.shape[1]:
            break  # the basis spans the whole space
        image = operator.product(fresh)
        Q, KQ = beside(Q, fresh, asking), beside(KQ, image, asking)
        random_vectors = image[:, image.shape[1] - RANDOM_VECTORS :]
        values, Y = _descending(product(Q.T, KQ, asking), asking)
        w, X = values[:k], product(Q, Y[:, :k], asking)
        residuals = product(KQ, Y[:, :k], asking) - X * w
        norms: FloatArray = np.sqrt(np.einsum("ij,ij->j", residuals, residuals))
        open_ = np.flatnonzero(norms > RESIDUAL * np.abs(w) + RESIDUAL_OF_LARGEST * w[0])
        if not len(open_) and turn + 1 >= MIN_ROUNDS:
            break
        if Q.shape[1] > MAX_WIDTH * size:
            Q, KQ = product(Q, Y[:, :size], asking), product(KQ, Y[:, :size], asking)
            Y = np.eye(size)
        inside = product(near.T, residuals[:, open_], asking)
        # the first ``size`` are in the basis already; S of the others is below w, but may be close
        gaps = np.maximum(w[open_] - S[size:, None], MIN_GAP * w[open_])
        step = (residuals[:, open_] - product(near, inside, asking)) / w[open_]
        step += product(near[:, size:], inside[size:] / gaps, asking)
        fresh = _extend(Q, step, asking)
    return w, X, product(KQ, Y[:, :k], asking)


def principal(factor: FloatArray, asking: Token = NOBODY) -> tuple[FloatArray, FloatArray]:
    """Eigenvectors, (n, r'), and eigenvalues, descending, of F F', without those that are rounding."""
    if not factor.shape[1]:
        return factor, np.empty(0)
    values, vectors = _descending(product(factor.T, factor, asking), asking)
    used = int(np.count_nonzero(values > RESIDUAL_OF_LARGEST * values[0]))
    flops = 2 * factor.size * used
    found = awaited(lambda: factor @ (vectors[:, :used] / np.sqrt(values[:used])), flops=flops, asking=asking)
    return found, values[:used]


def _descending(matrix: FloatArray, asking: Token) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, descending, and eigenvectors of a matrix that is symmetric up to rounding."""
    values, vectors = eigenpairs(matrix, asking)
    return values[::-1], vectors[:, ::-1]


def _extend(basis: FloatArray, vectors: FloatArray, asking: Token = NOBODY) -> FloatArray:
    """Orthonormal vectors that extend the basis to the span of basis and ``vectors``."""
    norms = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
    new = vectors[:, norms > 0] / norms[norms > 0]
    n, width = new.shape
    if 4 * n * width**2 <= MAX_BLOCK_FLOPS:
        return _orthonormal((basis,), new, asking)
    found = np.empty((n, 0))
    size = max(MIN_BLOCK, int(np.sqrt(MAX_BLOCK_FLOPS / (4 * n))))
    for begin in range(0, width, size):
        fresh = _orthonormal((basis, found), new[:, begin : begin + size], asking)
        found = beside(found, fresh, asking)
    return found


def _orthonormal(bases: Sequence[FloatArray], new: FloatArray, asking: Token) -> FloatArray:
    """``_extend`` by unit vectors, for several bases that are jointly orthonormal."""
    from scipy.linalg import qr

    for _ in range(2):  # reorthogonalization
        for basis in bases:
            new = new - product(basis, product(basis.T, new, asking), asking)
        new, R, _ = qr(new, mode="economic", pivoting=True)
        asking.ask(4 * new.size * new.shape[1] // FLOPS)
        sizes = np.abs(R.diagonal())
        new = new[:, sizes > DEPENDENT]
    return np.ascontiguousarray(new)


def lanczos(operator: KernelOperator, k: int, seed: int) -> Eigenpairs:
    """``davidson`` for any symmetric K, k < n, by scipy's eigsh."""
    from scipy.sparse.linalg import LinearOperator, eigsh

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
    """``lanczos`` for k <= n, with all of K in memory."""
    K = operator.dense()
    values, vectors = eigenpairs(K, operator.asking, k)
    vectors = np.ascontiguousarray(vectors[:, ::-1])
    return values[::-1], vectors, product(K, vectors, operator.asking)
