"""BLAS and LAPACK in pieces: as exact as in one call, with checks for a stop between the pieces."""

import numpy as np
import pytest
from scipy.linalg import eigh, lapack
from support.asking import Asked

from libsvmx._core import dense
from libsvmx._core.stopping import Stopped

EPS = 2.0**-52


# Every matrix counts as large: pieces of small matrices, quick to test.
SMALL = dense.Sizes(whole=0, most_moved=0, piece=5000, rows=7, block=16)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def positive(n, seed=0):
    X = normal(n, n + 3, seed=seed)
    return X @ X.T


SHAPES = [(1, 1, 1), (50, 40, 30), (3, 200, 5), (0, 4, 5), (4, 0, 5), (4, 5, 0), (700, 700, 700)]


@pytest.mark.parametrize("shape", SHAPES)
def test_product(shape):
    m, k, n = shape
    A, B, asked = normal(m, k), normal(k, n, seed=1), Asked()
    np.testing.assert_allclose(dense.product(A, B, asked), A @ B, atol=1e-13 * (1 + k))
    assert sum(asked.told) >= 2 * m * k * n // 8


def test_moves():
    A, B = normal(100, 9), normal(100, 4, seed=1)
    np.testing.assert_array_equal(dense.beside(A, B), np.hstack([A, B]))
    np.testing.assert_allclose(dense.row_squares(A), (A * A).sum(axis=1))
    out = np.zeros((100, 9))
    dense.put_columns(out, 3, B, sizes=SMALL)
    np.testing.assert_array_equal(out[:, 3:7], B)
    assert not out[:, :3].any() and not out[:, 7:].any()
    assert dense.first_columns(A, 9, sizes=SMALL) is A
    first = A[:, :5].copy()
    found = dense.first_columns(A, 5, sizes=SMALL)
    assert found.flags.c_contiguous and np.shares_memory(found, A)
    np.testing.assert_array_equal(found, first)
    assert dense.first_columns(A, 0, sizes=SMALL).shape == (100, 0)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_cholesky(n, lower, order):
    A = positive(n)
    given = np.array(np.tril(A) if lower else np.triu(A), order=order)  # the other triangle is not used
    factor, info = dense.cholesky(given, lower, sizes=SMALL)
    L = np.tril(factor) if lower else np.triu(factor).T
    assert info == 0
    np.testing.assert_allclose(L @ L.T, A, atol=1e-13 * n * A.max())
    np.testing.assert_array_equal(given, np.tril(A) if lower else np.triu(A))
    right = normal(n, 2)
    for side in (right, right[:, 0]):
        np.testing.assert_allclose(A @ dense.solve_cholesky(factor, side, lower, sizes=SMALL), side, atol=1e-8)
    overwritten, info = dense.cholesky(given, lower, overwrite=True, sizes=SMALL)
    assert info == 0 and (order == "C" or np.shares_memory(overwritten, given))


@pytest.mark.parametrize("bad", [0, 15, 16, 40])
def test_no_cholesky_factor(bad):
    A = positive(50)
    A[bad, bad] = -1.0
    assert dense.cholesky(A, 1, sizes=SMALL)[1] == lapack.dpotrf(A, lower=1)[1] == bad + 1


@pytest.mark.parametrize(("n", "count", "asks"), [(4, 0, 0), (4, 9, 1), (4500, 65, 3)])
def test_solve_lower(n, count, asks):
    """A large factor is read once for some dozens of columns, not for a few."""
    L, asked = np.asfortranarray(np.tril(np.full((n, n), 1e-3)) + np.eye(n)), Asked()
    side = np.asfortranarray(normal(n, count))
    found = dense.solve_lower(L, side.copy(order="F"), asked)
    np.testing.assert_allclose(L @ found, side, atol=1e-9)
    assert len(asked.told) == asks
    assert sum(asked.told) >= 0.9 * n * n * count / 8


@pytest.mark.parametrize("n", [0, 1, 60])
def test_inverse_transposed(n):
    L = np.tril(normal(n, n)) + 5 * np.eye(n)
    found = dense.inverse_transposed(L, sizes=SMALL)
    np.testing.assert_allclose(found.T @ L, np.eye(n), atol=1e-12)
    assert not np.tril(found, -1).any()


# ---- factors of possibly singular matrices ---


def one_norm_of_inverse(A):
    return np.abs(np.linalg.inv(A)).sum(axis=0).max()


def test_part():
    A, rows = positive(60), np.array([0, 3, 4, 17, 59])
    for found, expected in ((dense.part(A), A), (dense.part(A, rows), A[rows][:, rows])):
        np.testing.assert_array_equal(found, expected)
        assert found.flags.f_contiguous and not np.shares_memory(found, A)


@pytest.mark.parametrize("n", [1, 2, 17, 90])
def test_factor_and_inverse_norm(n):
    """Never above the true norm, and here never below a third of it."""
    for A in (positive(n), positive(n, 1) + np.eye(n), np.diag(np.logspace(-8, 3, n)), np.eye(n)):
        given = np.array(A, order="F")
        factor, norm = dense.factor_and_inverse_norm(given, sizes=SMALL)
        L, exact = np.tril(factor), one_norm_of_inverse(A)
        np.testing.assert_allclose(L @ L.T, A, atol=1e-13 * n * A.max())
        assert np.shares_memory(factor, given)
        assert exact / 3 <= norm <= exact * (1 + 1e-6)


@pytest.mark.parametrize("n, seed", [*((12, seed) for seed in range(20)), (4, 1522), (4, 1023)])
def test_inverse_norm_is_that_of_lapack(n, seed):
    """The last two would be too low without the alternating vector."""
    factor, _ = dense.cholesky(positive(n, seed), 1)
    reciprocal, _ = lapack.dpocon(factor, 1.0, uplo="L")
    assert dense.inverse_norm(factor) == pytest.approx(1 / reciprocal)


@pytest.mark.parametrize("A", [-np.eye(3), np.ones((3, 3)) - 1e-9 * np.eye(3), np.diag([1.0, np.nan, 1.0])])
def test_no_factor_no_norm(A):
    assert dense.factor_and_inverse_norm(np.asfortranarray(A))[1] == np.inf


def test_an_inverse_beyond_double_precision():
    assert dense.factor_and_inverse_norm(np.diag([1.0, 5e-324]))[1] == np.inf


def test_independent_rows():
    """For a matrix of rank 20, the first row of each direction; for a regular one, all."""
    X = normal(20, 25)
    weights = np.zeros((50, 20))
    first = np.array([0, 1, 2, 5, 6, *range(30, 45)])
    weights[first] = np.eye(20)
    for k in np.setdiff1d(np.arange(50), first):
        known = np.flatnonzero(first < k)
        weights[k, known] = normal(len(known), seed=k)
    A = weights @ X @ X.T @ weights.T
    before = A.copy()
    np.testing.assert_array_equal(dense.independent_rows(A, sizes=SMALL), first)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(dense.independent_rows(positive(50), sizes=SMALL), np.arange(50))
    np.testing.assert_array_equal(dense.independent_rows(np.eye(50) - 0.1, sizes=SMALL), [])


# ---- eigenvalues --------------------------------------------------------------------------------


def matrices(n):
    X = normal(n, n)
    near = normal(n, 3)
    rbf = np.exp(-0.1 * ((near[:, None] - near[None]) ** 2).sum(axis=2))
    yield X + X.T
    yield X @ X.T
    yield rbf
    yield np.round(rbf, 6)
    yield X[:, :4] @ X[:, :4].T
    yield -(X[:, :4] @ X[:, :4].T) * 1e150
    yield np.zeros((n, n))
    yield np.eye(n) * 1e-200
    yield np.ones((n, n))
    yield np.kron(np.eye(n // 2), np.ones((2, 2)))
    yield np.diag(np.arange(n) // 3 * 1.0)
    yield np.diag(np.logspace(-12, 3, n)) + 1e-8 * (X + X.T)
    yield np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    yield np.diag(abs(np.arange(n) - n // 2) * 1.0) + np.eye(n, k=1) + np.eye(n, k=-1)  # Wilkinson's: close pairs


@pytest.mark.parametrize("case", range(14))
@pytest.mark.parametrize("n", [22, 420])
def test_eigenpairs(case, n):
    """The larger ones are computed in another thread."""
    A = list(matrices(n))[case]
    before = A.copy()
    values, vectors = dense.eigenpairs(A)
    np.testing.assert_array_equal(A, before)
    size = np.abs(A).max() or 1.0
    np.testing.assert_allclose(values, eigh(A, eigvals_only=True), atol=50 * n * EPS * size)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=10 * n * EPS)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=50 * n * EPS * size)
    assert (np.diff(values) >= 0).all()
    some = dense.eigenpairs(A, count=7)
    assert some[1].shape == (n, 7)
    np.testing.assert_allclose(some[0], values[-7:], atol=50 * n * EPS * size)
    np.testing.assert_allclose(A @ some[1], some[1] * some[0], atol=50 * n * EPS * size)


def test_eigenpairs_of_what_is_symmetric_up_to_rounding():
    X = normal(50, 50)
    A = X + X.T + np.triu(1e-3 * X)
    np.testing.assert_allclose(dense.eigenpairs(A)[0], eigh((A + A.T) / 2)[0], atol=1e-12)


# ---- checks -------------------------------------------------------------------------------------

WORK = {
    "cholesky": (lambda asked: dense.cholesky(positive(1500), 1, asked), 1500**3 / 3),
    "factor and norm": (
        lambda asked: dense.factor_and_inverse_norm(np.asfortranarray(positive(1500)), asked),
        1500**3 / 3 + 4 * 1500**2,
    ),
    "independent rows": (lambda asked: dense.independent_rows(positive(1500), asked), 1500**3 / 3),
    "inverse": (
        lambda asked: dense.inverse_transposed(np.tril(normal(900, 900)) + 99 * np.eye(900), asked),
        900**3 / 3,
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_all_work_is_told_of_in_pieces(name):
    work, flops = WORK[name]
    asked = Asked()
    work(asked)
    asked.check(flops)


@pytest.mark.parametrize("name", WORK)
def test_stopped_at_any_question(name, exhaustive):
    work, _ = WORK[name]
    asked = Asked()
    work(asked)
    some = {1, (len(asked.told) + 1) // 2}
    for stop_at in {*some, min(2, len(asked.told)), len(asked.told)} if exhaustive else some:
        stopped = Asked(stop_at)
        with pytest.raises(Stopped):
            work(stopped)
        assert stopped.told == asked.told[:stop_at] and not stopped.after
