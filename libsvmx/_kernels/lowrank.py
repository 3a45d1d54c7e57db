"""Low-rank factors of a kernel matrix, K ~ F F', and the corresponding features of other rows.

    method        pivots P                  features of a row x, k(x, P) T        paper
    cholesky      largest residual          T = L^-T, K[P, P] = L L'              Fine & Scheinberg 2001
    rpcholesky    at random, by residual    the same                              Chen, Epperly, Tropp & Webber 2022
    nystrom       uniformly at random       T = U W^-1/2, K[P, P] = U W U'        Williams & Seeger 2001
    eigen         all rows                  T = V W^-1/2, K V = V W               best of its rank

All give F = K[:, P] T. The error is the trace of K - F F', which bounds every norm of it (for eigen, if K is positive
semidefinite). A linear SVM on the rows of F is the SVM with the kernel F F'.

Rows are processed in row blocks by functions of libsvmx._kernels.block_kernel and pivoting, which may run in other
processes. The factor does not depend on the number of threads.

An indefinite kernel matrix (sigmoid, or given) has no such factor. The Cholesky methods detect a negative diagonal of
the residual, Nystroem a negative eigenvalue of K[P, P]: DataError. Negative values up to INDEFINITE of the largest
diagonal count as rounding of given values, and end the factorization once the residual is as small. An indefinite
matrix may go undetected by its pivots. Eigen drops negative eigenvalues; its error is then no bound.
"""

from __future__ import annotations

import numpy as np

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.matrix import CsrMatrix, compacted
from libsvmx._core.stopping import NOBODY, Token
from libsvmx._kernels import factors
from libsvmx._kernels.approximation import USUAL, Approximation, FactorPolicy, LowRank
from libsvmx._kernels.block_kernel import KernelSpec, check_given, kernel_columns
from libsvmx._typing import Buffer, FloatArray
from libsvmx.enums import KernelType


def factorize(
    matrix: CsrMatrix,
    rows: Buffer,
    spec: KernelSpec,
    settings: Approximation,
    budget_bytes: float,
    threads: int = 1,
    asking: Token = NOBODY,
    transform: bool = True,
) -> LowRank:
    """A low-rank factor of the kernel matrix of the given rows.

    Parameters
    ----------
    matrix : CsrMatrix
    rows : buffer of int32, shape (m,)     rows of ``matrix`` that make up the problem
    spec : KernelSpec
    settings : Approximation
    budget_bytes : float                   for kernel values kept by eigen, beside the factor
    threads : int                          does not change the result
    asking : Token                         asked whether to stop
    transform : bool                       compute that of a Cholesky factor

    Returns
    -------
    LowRank          of a smaller rank, possibly 0, if the rest of K is rounding. At a stop, that of the pivots so far,
        or of the landmarks of the last round

    Raises
    ------
    Stopped          before the first pivots or landmarks; always with eigen
    DataError        K is indefinite (see above), or a value overflows; ``row``: of ``matrix``
    """
    chosen = np.asarray(rows, dtype=np.int32)
    if spec.kind != KernelType.PRECOMPUTED:
        matrix, _ = compacted(matrix)
    with one_blas_thread():  # sums would depend on the number of threads
        problem = factors.BlockedRows(matrix, chosen, spec, threads, asking, settings.policy.row_block)
        if settings.low_rank == "eigen":
            return factors.eigenvectors(problem, settings, budget_bytes)
        if settings.low_rank == "nystrom":
            return factors.nystrom(problem, settings)
        return factors.cholesky(problem, settings, transform=transform)


@one_blas_thread()
def features_of(
    pivots: CsrMatrix,
    transform: FloatArray,
    tests: CsrMatrix,
    rows: Buffer,
    spec: KernelSpec,
    policy: FactorPolicy = USUAL,
) -> FloatArray:
    """Features k(x, pivots) @ transform of rows.

    Parameters
    ----------
    pivots : CsrMatrix                 rows of the p pivots, in the order of LowRank.pivots
    transform : ndarray, shape (p, r)
    tests : CsrMatrix
    rows : buffer of int32, shape (n,)     rows of ``tests``

    Returns
    -------
    features : ndarray of float64, shape (n, r)

    Raises
    ------
    DataError        a row of ``tests`` lacks values of a given kernel matrix
    """
    if spec.kind != KernelType.PRECOMPUTED:
        pivots, both = compacted(pivots, tests)
        tests = tests if both is None else both
    chosen = np.asarray(rows, dtype=np.int32)
    if spec.kind == KernelType.PRECOMPUTED:
        check_given(tests, chosen, pivots, np.arange(pivots.n_rows, dtype=np.int32))
    features = np.zeros((len(chosen), transform.shape[1]))
    every = np.arange(pivots.n_rows, dtype=np.int32)
    for begin in range(0, len(chosen), policy.row_block):
        part = slice(begin, begin + policy.row_block)
        row_block = tests.take(chosen[part])
        for first in range(0, len(every), policy.pivots):
            some = every[first : first + policy.pivots]
            features[part] += kernel_columns(row_block, pivots.take(some), spec) @ transform[some]
    return features
