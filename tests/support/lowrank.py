"""Kernel matrices and their low-rank factors, by dense linear algebra."""

import numpy as np
import pytest
from libsvmx._core.arrays import ramp

from libsvmx._kernels.approximation import USUAL, Approximation
from libsvmx._kernels.block_kernel import KernelSpec
from libsvmx._kernels.lowrank import factorize, features_of

from . import data

METHODS = ["cholesky", "rpcholesky", "nystrom", "eigen"]
CHOLESKY = ["cholesky", "rpcholesky"]
LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED = range(5)
BUDGET = 1e8


def from_dense(table, first=1):
    return data.from_rows([[(first + f, float(v)) for f, v in enumerate(row) if v or first == 0] for row in table])


def given(K):
    """Rows of a precomputed kernel: serial number at index 0, values at 1 ... n."""
    return from_dense(np.column_stack([np.arange(1, len(K) + 1), K]), 0)


def dense(matrix):
    out = np.zeros((matrix.n_rows, 1 + matrix.max_index))
    for i in range(matrix.n_rows):
        for f, v in matrix.row(i):
            out[i, f] = v
    return out


def kernel_of(X, Z, kind, degree=3, gamma=0.0, coef0=0.0):
    if kind == PRECOMPUTED:
        return X[:, Z[:, 0].astype(int)]
    if kind == RBF:
        return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(2))
    dots = X @ Z.T
    if kind == LINEAR:
        return dots
    return (gamma * dots + coef0) ** degree if kind == POLY else np.tanh(gamma * dots + coef0)


def points(n, d, seed=0, density=1.0, scale=1.0):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((n, d)) * (rng.random((n, d)) < density)


def problem(kind, n=90, seed=0):
    """(matrix, K, kernel arguments) of a positive semidefinite kernel, of full numerical rank except LINEAR."""
    X = points(n, 7, seed, density=0.6)
    X[3] = 0.0  # a row without entries
    arguments = {LINEAR: (0, 0.0, 0.0), POLY: (3, 0.2, 1.0), RBF: (0, 0.15, 0.0), PRECOMPUTED: (0, 0.0, 0.0)}[kind]
    if kind == PRECOMPUTED:
        K = kernel_of(X, X, RBF, gamma=0.1)
        return given(K), K, (kind, *arguments)
    return from_dense(X), kernel_of(X, X, kind, *arguments), (kind, *arguments)


def fit(matrix, arguments, rows=None, **settings):
    return factorize(
        matrix, ramp(matrix.n_rows) if rows is None else rows, KernelSpec(*arguments), Approximation(**settings), BUDGET
    )


def greedy(K, rank, tolerance=0.0):
    """Textbook pivoted Cholesky."""
    residual, pivots, L = K.diagonal().copy(), [], np.zeros((len(K), rank))
    for k in range(rank):
        if residual.sum() <= tolerance * K.trace():
            return pivots, L[:, :k]
        p = int(np.argmax(residual))
        L[:, k] = (K[:, p] - L[:, :k] @ L[p, :k]) / np.sqrt(residual[p])
        residual -= L[:, k] ** 2
        pivots.append(p)
    return pivots, L


def check(found, K, matrix, arguments, slack=1e-9, policy=USUAL):
    """Properties of every method."""
    F, scale = found.factor, K.trace()
    m, r = F.shape
    assert F.dtype == np.float64 and F.flags.c_contiguous and np.isfinite(F).all()
    assert found.pivots.dtype == np.int32 and found.transform.shape == (len(found.pivots), r)
    assert found.trace == pytest.approx(scale, rel=1e-12)
    residual = K - F @ F.T
    assert found.trace_error == pytest.approx(residual.trace(), abs=1e-11 * scale)
    assert found.trace_error >= 0.0
    size = np.sqrt(K.diagonal().max())
    np.testing.assert_allclose(K[:, found.pivots] @ found.transform, F, rtol=0, atol=slack * size)
    pivots = matrix.take(found.pivots)
    features = features_of(pivots, found.transform, matrix, ramp(m), KernelSpec(*arguments), policy)
    np.testing.assert_allclose(features, F, rtol=0, atol=slack * size)
    assert np.linalg.eigvalsh(residual).min() > -1e-9 * scale
