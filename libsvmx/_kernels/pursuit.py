"""Approximation of a sum of kernel functions by fewer of its vectors, with an error bound.

A decision function is <w, phi(x)> - rho with w = sum_i beta_i phi(z_i) in the feature space of a kernel, positive
semidefinite, with K = Phi Phi'. A set S of the vectors is kept, and w' is the point of span phi(S) nearest to w:

    beta'_S = K[S, S]^-1 K[S, :] beta.

The set grows by one vector at a time, the one that lowers |w - w'|^2 most: orthogonal least squares (Chen, Billings &
Luo, *Orthogonal least squares methods and their application to non-linear system identification*, Int. J. Control
50(5), 1989), for kernels the pre-fitting of Vincent & Bengio, *Kernel matching pursuit*, Machine Learning 48, 2002.
With the Cholesky factor F of K whose pivots are S (``BlockElimination``), d the diagonal of K - F F', s = Phi (w - w'),

    |w - w'|^2 falls by s_v^2 / d_v with vector v,     s <- s - (s_v / sqrt(d_v)) f,   f the new column of F.

By Cauchy and Schwarz a value changes by |<w - w', phi(x)>| <= |w - w'| sqrt(K(x, x)) for every x.
"""

from __future__ import annotations

from math import fsum, isqrt, sqrt

import numpy as np

from libsvmx._core.dense import product, solve_cholesky
from libsvmx._core.matrix import CsrMatrix, compacted
from libsvmx._core.stopping import NOBODY, Token
from libsvmx._core.threads import in_order
from libsvmx._kernels.block_kernel import KernelSpec, kernel_columns, split
from libsvmx._kernels.pivoting import BlockElimination
from libsvmx._typing import FloatArray
from libsvmx.enums import KernelType

UNIT = 2.0**-53
# Bound on the error of underflow in products.
TINY = 1e-150
# A vector whose residual square is less than this share of its square is spanned by the others.
SPANNED = 1e-12
# Rows of the kernel matrix per job.
ROW_BLOCK = 256


def kernel_matrix(vectors: CsrMatrix, spec: KernelSpec, threads: int, asking: Token = NOBODY) -> FloatArray:
    """K of all vectors, LIBSVM's values, shape (n, n)."""
    vectors, _ = compacted(vectors)
    blocks = split(vectors, np.arange(vectors.n_rows, dtype=np.int32), ROW_BLOCK)
    K = np.empty((vectors.n_rows, vectors.n_rows))

    def fill(block: CsrMatrix, rows: FloatArray) -> None:
        rows[:] = kernel_columns(block, vectors, spec, asking, exact=True)

    for _ in in_order(
        fill, ((block, K[k * ROW_BLOCK :][:ROW_BLOCK]) for k, block in enumerate(blocks)), threads, asking
    ):
        pass
    return K


class Pursuit:
    """Pursuit(K, beta, room): w = sum_i beta_i phi(z_i) by at most ``room`` of its n vectors.

    Attributes
    ----------
    beta : ndarray of float64, shape (n,)
    square : float                            |w - w'|^2, up to rounding
    """

    def __init__(self, K: FloatArray, beta: FloatArray, room: int):
        self.K, self.beta = K, beta
        self.elimination = BlockElimination(K, room)
        self.floor = SPANNED * K.diagonal()
        self.values = product(K, beta[:, None])[:, 0]  # <w, phi(z)>
        self.slopes = self.values.copy()  # s
        self.square = float(beta @ self.values)

    def gains(self) -> FloatArray:
        """Decrease of |w - w'|^2 by each vector, shape (n,); 0 for spanned ones."""
        left, gains = self.elimination.residual, np.zeros(len(self.beta))
        np.divide(self.slopes * self.slopes, left, out=gains, where=left > self.floor)
        return gains

    def keep(self, place: int) -> None:
        """Keep a vector, unless it is spanned by the kept ones."""
        left = self.elimination.residual[place]
        if left > self.floor[place]:
            column = self.elimination.eliminate(place)
            step = self.slopes[place] / sqrt(left)
            self.slopes -= step * column
            self.square -= step * step

    def coefficients(self) -> FloatArray:
        """beta', shape (n,), 0 for vectors that are not kept."""
        order, lower = self.elimination.result()
        found = np.zeros(len(self.beta))
        if len(order):
            found[order] = solve_cholesky(lower, self.values[order], 1)
        return found


class Rounding:
    """Rounding(spec, vectors, diagonal, n_features): bounds on rounding errors.

    Kernel values are within e sqrt(K(x, x) K(z, z)) of exact ones, u = 2^-53, for m features that x or z has:

        RBF       e = 2 (m + 8) u, twice what is derived at rbf_about_error in kernel_functions.c
        POLY      e = 2 p (m + 5) u, twice: gamma x'z + coef0 is off by less than (m + 2) u (gamma |x| |z| + coef0), its
                  power by p times that and 2 p u more, and (gamma |x| |z| + coef0)^p <= sqrt(K(x, x) K(z, z))
        MATERN32, MATERN52, RATIONAL_QUADRATIC
                  e = 2 (m + 8) u, twice: t = |x - z|^2 is off by (m + 3) u t, |t K'(t)| < 1/3, and K <= 1 by less
                  than 6 u
        INTERSECTION
                  e = 2 (m + 8) u: minima are exact, and a sum of m numbers >= 0 is off by less than m u of it
        COSINE    e = 2 (2 m + 8) u, twice: x'z is off by m u |x| |z|, and |x| |z| by (m + 2) u of it
        TANIMOTO  e = 2 (4 m + 10) u, twice: d = x'z is off by m u d, and s = x'x + z'z - d by (m + 3) u (s + 2 d),
                  where d <= s, as 2 d <= x'x + z'z
    """

    def __init__(self, spec: KernelSpec, vectors: CsrMatrix, diagonal: FloatArray, n_features: int):
        longest = int(np.diff(np.asarray(vectors.indptr)).max(initial=0))
        self.of_vectors = self.kernel_error(spec, min(2 * longest, n_features))
        self.of_tests = self.kernel_error(spec, n_features)
        self.lengths = np.sqrt(diagonal * (1 + self.of_vectors)) * (1 + 2 * UNIT)  # of phi(z), not less

    @staticmethod
    def kernel_error(spec: KernelSpec, m: int) -> float:
        if spec.kind == KernelType.POLY:
            return 2 * UNIT * spec.degree * (m + 5)
        if spec.kind == KernelType.TANIMOTO:
            return 2 * UNIT * (4 * m + 10)
        return 2 * UNIT * (2 * m + 8 if spec.kind == KernelType.COSINE else m + 8)

    def distance(self, K: FloatArray, beta: FloatArray, lengths: FloatArray) -> float:
        """Upper bound of |w|, w = sum_i beta_i phi(z_i): sqrt(beta' K beta) plus rounding.

        K beta is summed up by blocks of sqrt(n), so its rounding is at most 2 sqrt(n) u relative to the sum of the
        absolute terms, in whatever order BLAS adds. So beta' K beta is off by (that + e) A^2 with
        A = sum_i |beta_i| |phi(z_i)|.
        """
        n = len(beta)
        size, image = isqrt(n) + 1, np.zeros(n)
        for begin in range(0, n, size):
            image += K[:, begin : begin + size] @ beta[begin : begin + size]
        weight = fsum(np.abs(beta) * lengths)
        error = (self.of_vectors + (2 * size + 8) * UNIT) * weight * weight
        return (sqrt(max(fsum(beta * image), 0.0) + error) + TINY) * (1 + 4 * UNIT)

    def change(self, K: FloatArray, beta: FloatArray, after: FloatArray, lengths: FloatArray, rho: float) -> float:
        """A bound on |change of a decision value of x| / sqrt(K(x, x)): |w - w'|, and the rounding of both values."""
        terms = fsum((np.abs(beta) + np.abs(after)) * lengths)
        own = terms * (self.of_tests + 2 * UNIT * (len(beta) + 4)) + 4 * UNIT * abs(rho)
        return self.distance(K, beta - after, lengths) + own
