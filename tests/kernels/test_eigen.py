"""Leading eigenpairs of kernel matrices by block iteration, against dense linear algebra."""

import numpy as np
import pytest
from libsvmx._core.arrays import ramp
from support import data
from support.lowrank import (
    LINEAR,
    METHODS,
    POLY,
    PRECOMPUTED,
    RBF,
    SIGMOID,
    check,
    dense,
    from_dense,
    given,
    kernel_of,
    points,
    problem,
)
from support.lowrank import fit as fitted

from libsvmx._core.stopping import NOBODY
from libsvmx._kernels import eigen, factors
from libsvmx._kernels.approximation import Approximation, FactorPolicy
from libsvmx._kernels.block_kernel import KernelSpec
from libsvmx._kernels.lowrank import factorize

# Davidson's method with tiles and row blocks of all kinds, on a small problem.
SMALL = FactorPolicy(row_block=20, dense=0, tall=48, small=16)


def fit(*arguments, **settings):
    return fitted(*arguments, policy=SMALL, **settings)


def operator_of(matrix, spec, rows=None, weights=None, budget=0.0, threads=1, kind=eigen.KernelOperator):
    rows = np.arange(matrix.n_rows, dtype=np.int32) if rows is None else rows
    weights = np.ones(len(rows)) if weights is None else weights
    return kind(matrix, rows, weights, spec, budget, threads, NOBODY, SMALL)


@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF, PRECOMPUTED])
@pytest.mark.parametrize(("budget", "threads"), [(0.0, 1), (20000.0, 1), (1e9, 2)])
def test_products_by_tiles(kind, budget, threads):
    matrix, K, arguments = problem(kind, n=110)
    rows = np.arange(109, -1, -1, dtype=np.int32)
    weights = np.linspace(1, 2, 110)
    operator = operator_of(matrix, KernelSpec(*arguments), rows, weights, budget, threads)
    expected = weights[:, None] * K[::-1, ::-1] * weights
    V = np.random.default_rng(0).standard_normal((110, 3))
    for _ in range(2):
        np.testing.assert_allclose(operator.product(V), expected @ V, rtol=0, atol=1e-10 * np.abs(expected).max())
        assert sum(tile.nbytes for tile in operator.kept.values()) <= budget
    assert bool(operator.kept) == (budget > 0)
    np.testing.assert_allclose(operator.dense(), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", [POLY, RBF, PRECOMPUTED])
def test_eigenpairs_are_those_of_the_whole_matrix(kind):
    """By Davidson's method, with duplicates: residuals, values, and nothing missed."""
    matrix, K, arguments = problem(kind, n=150)
    rows = np.concatenate([np.arange(150), np.arange(0, 150, 4), np.arange(20)]).astype(np.int32)
    K, residuals = K[np.ix_(rows, rows)], []
    for k in (1, 6, 17):
        found = fit(matrix, arguments, rows, low_rank="eigen", rank=k)
        w = np.linalg.eigvalsh(K)[::-1][:k]
        V = found.transform * np.sqrt(w)
        np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0, rtol=1e-8)
        residuals.append((np.linalg.norm(K @ V - V * w, axis=0) / w).max())
        assert found.trace_error == pytest.approx(K.trace() - w.sum(), rel=1e-8)
        check(found, K, matrix.take(rows), arguments)
    # on a decomposition of the whole K they would be rounding error
    assert 1e-9 < max(residuals) <= 2 * eigen.RESIDUAL


def test_eigenpairs_that_the_start_does_not_see():
    """Clusters without any similarity: greedy pivots take one row of each, the first ones, not those of the largest."""
    sizes = [2] * 60 + [6, 5]
    K = np.zeros((sum(sizes), sum(sizes)))
    ends = np.cumsum(sizes)
    for size, end in zip(sizes, ends, strict=True):
        K[end - size : end, end - size : end] = 0.9
    np.fill_diagonal(K, 1.0)
    matrix = given(K)
    start = np.zeros((len(K), 20))
    for j in range(20):
        start[2 * j : 2 * j + 2, j] = np.sqrt(0.95)
    U, S = eigen.principal(start)
    operator = operator_of(matrix, KernelSpec(PRECOMPUTED))
    w, V, KV = eigen.davidson(operator, 2, U, S, 1)
    np.testing.assert_allclose(w, [1 + 0.9 * 5, 1 + 0.9 * 4], rtol=1e-9)
    np.testing.assert_allclose(KV, K @ V, rtol=0, atol=1e-10)


def test_equal_eigenvalues_are_all_found():
    """Eight equal clusters of four rows each: from one vector, Lanczos' method finds only some of them."""
    K = np.kron(np.eye(8), np.full((4, 4), 0.9) + 0.1 * np.eye(4))
    K = np.block([[K, np.zeros((32, 120))], [np.zeros((120, 32)), np.kron(np.eye(60), [[1, 0.9], [0.9, 1]])]])
    found = fit(given(K), (PRECOMPUTED, 0, 0.0, 0.0), low_rank="eigen", rank=8)
    assert found.trace_error == pytest.approx(152 - 8 * 3.7, rel=1e-9)


def test_eigenpairs_without_a_gap():
    """All eigenvalues near 1, all 0, and fewer than asked for."""
    matrix = from_dense(points(120, 8))
    found = fit(matrix, (RBF, 0, 3.0, 0.0), low_rank="eigen", rank=5)
    w = np.linalg.eigvalsh(kernel_of(dense(matrix), dense(matrix), RBF, gamma=3.0))[::-1]
    assert w[5] / w[0] > 0.3
    assert found.trace_error == pytest.approx(120 - w[:5].sum(), rel=1e-9)
    found = fit(from_dense(np.eye(120)), (LINEAR, 0, 0.0, 0.0), low_rank="eigen", rank=5)
    np.testing.assert_allclose(found.factor.T @ found.factor, np.eye(5), rtol=0, atol=1e-9)
    assert fit(from_dense(np.zeros((90, 2))), (LINEAR, 0, 0.0, 0.0), low_rank="eigen", rank=5).factor.shape == (90, 0)
    assert fit(from_dense(points(90, 2)), (LINEAR, 0, 0.0, 0.0), low_rank="eigen", rank=5).factor.shape == (90, 2)


def test_eigenpairs_of_indefinite_kernels():
    X = points(80, 3)
    K = kernel_of(X, X, SIGMOID, gamma=1.0, coef0=-0.5)
    w, V = np.linalg.eigh(K)
    assert w[0] < -1
    for settings, k in (({"rank": 4}, 4), ({"rank": 200}, int((w > 1e-10).sum()))):
        found = fit(from_dense(X), (SIGMOID, 0, 1.0, -0.5), low_rank="eigen", **settings)
        expected = (V[:, -k:] * w[-k:]) @ V[:, -k:].T
        assert found.factor.shape[1] == k
        np.testing.assert_allclose(found.factor @ found.factor.T, expected, rtol=0, atol=1e-6)
        assert found.trace_error == pytest.approx(max(0.0, K.trace() - w[-k:].sum()), abs=1e-6)
    found = fit(from_dense(X), (SIGMOID, 0, 1.0, -0.5), low_rank="eigen", rank_error=0.1)
    assert found.factor.shape[1] == 1 + int(np.argmax(K.trace() - np.cumsum(w[::-1]) <= 0.1 * K.trace()))


class Counting(eigen.KernelOperator):
    """Records the number of vectors in each product."""

    def product(self, vectors):
        self.counts = [*getattr(self, "counts", []), vectors.shape[1]]
        return super().product(vectors)


def test_a_near_start_saves_rounds():
    """Products with K by round: few vectors, early."""
    matrix, _ = data.load("a1a.xz", 1500)
    matrix = from_dense(np.unique(dense(matrix), axis=0)[:, 1:])
    spec, kept = (RBF, 0, 1 / 123, 0.0), 16
    near = fit(matrix, spec, low_rank="rpcholesky", rank=factors.NEARER * kept)
    operator = operator_of(matrix, KernelSpec(*spec), kind=Counting)
    w, V, _ = eigen.davidson(operator, kept, *eigen.principal(near.factor), 1)
    np.testing.assert_allclose(operator.dense() @ V, V * w, rtol=0, atol=2 * eigen.RESIDUAL * w[0])
    assert sum(operator.counts) < 90 and len(operator.counts) <= 5


@pytest.mark.parametrize("tolerance", [0.3, 0.02, 1e-6])
def test_eigenpairs_by_tolerance(tolerance):
    matrix, K, arguments = problem(RBF, n=150)
    values = np.linalg.eigvalsh(K)[::-1]
    found = fit(matrix, arguments, low_rank="eigen", rank_error=tolerance)
    assert found.factor.shape[1] == 1 + int(np.argmax(K.trace() - np.cumsum(values) <= tolerance * K.trace()))


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_no_bit(method):
    matrix, _, arguments = problem(RBF, n=150)
    spec = KernelSpec(*arguments)
    one, two = (
        factorize(matrix, ramp(150), spec, Approximation(method, 9, policy=SMALL), 1e5, threads=threads)
        for threads in (1, 2)
    )
    assert one.factor.tobytes() == two.factor.tobytes() and one.transform.tobytes() == two.transform.tobytes()
