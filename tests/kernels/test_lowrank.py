"""Low-rank factors of kernel matrices, against dense linear algebra on the whole matrix."""

import pickle

import numpy as np
import pytest
from libsvmx._core.arrays import ramp
from support import data
from support.lowrank import (
    CHOLESKY,
    LINEAR,
    METHODS,
    POLY,
    PRECOMPUTED,
    RBF,
    SIGMOID,
    check,
    dense,
    fit,
    from_dense,
    given,
    greedy,
    kernel_of,
    points,
    problem,
)

from libsvmx._kernels import factors, pivoting
from libsvmx._kernels.approximation import USUAL, FactorPolicy
from libsvmx._kernels.block_kernel import KernelSpec, kernel_columns, kernel_diagonal, split
from libsvmx._kernels.lowrank import features_of
from libsvmx.exceptions import DataError


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF, PRECOMPUTED])
def test_factor_error_and_features(kind, method):
    matrix, K, arguments = problem(kind)
    for rank in (1, 5, 20):
        found = fit(matrix, arguments, low_rank=method, rank=rank)
        assert found.method == method
        assert found.factor.shape[1] == min(rank, 7 if kind == LINEAR else rank)
        check(found, K, matrix, arguments)


@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF, PRECOMPUTED])
def test_greedy_takes_the_textbook_pivots(kind):
    matrix, K, arguments = problem(kind)
    found = fit(matrix, arguments, low_rank="cholesky", rank=7)
    pivots, L = greedy(K, 7)
    assert list(found.pivots) == pivots
    np.testing.assert_allclose(found.factor, L, rtol=0, atol=1e-9 * np.abs(L).max())


def test_greedy_with_more_rows_than_candidates(exhaustive):
    matrix, _ = data.load("a1a.xz", 800)
    X = dense(matrix)
    K = kernel_of(X, X, RBF, gamma=0.01)
    rank = 150 if exhaustive else 40
    found = fit(matrix, (RBF, 0, 0.01, 0.0), low_rank="cholesky", rank=rank)
    pivots, L = greedy(K, rank)
    assert list(found.pivots) == pivots
    np.testing.assert_allclose(found.factor, L, rtol=0, atol=1e-10)


def test_random_pivots_follow_the_residual(exhaustive):
    """The probability of each pair of pivots, against the product of its conditional probabilities."""
    K = np.array([[0.4, 0.3, 0.0], [0.3, 1.0, 0.3], [0.0, 0.3, 4.0]])
    matrix = given(K)
    counts, runs = np.zeros((3, 3)), 3000 if exhaustive else 400
    for seed in range(runs):
        first, second = fit(matrix, (PRECOMPUTED, 0, 0.0, 0.0), low_rank="rpcholesky", rank=2, random_state=seed).pivots
        counts[first, second] += 1
    chances = np.zeros((3, 3))
    for i in range(3):
        rest = K.diagonal() - K[:, i] ** 2 / K[i, i]
        chances[i] = K[i, i] / K.trace() * rest / rest.sum()
    assert np.abs(counts / runs - chances).max() < 4.5 * np.sqrt(0.25 / runs) / 2
    assert chances.max() - chances[~np.eye(3, dtype=bool)].min() > 0.05


def test_nystrom_is_the_landmarks_projection():
    matrix, K, arguments = problem(RBF)
    found = fit(matrix, arguments, low_rank="nystrom", rank=12)
    P = found.pivots
    assert len(set(P)) == 12
    expected = K[:, P] @ np.linalg.solve(K[np.ix_(P, P)], K[P])
    np.testing.assert_allclose(found.factor @ found.factor.T, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_rank_by_tolerance(method):
    matrix, K, arguments = problem(RBF)
    found = fit(matrix, arguments, low_rank=method, rank_error=0.05)
    check(found, K, matrix, arguments)
    assert found.trace_error <= 0.05 * K.trace()
    r = found.factor.shape[1]
    if method == "cholesky":
        assert r == greedy(K, len(K), 0.05)[1].shape[1]
    if method == "eigen":
        values = np.linalg.eigvalsh(K)[::-1]
        assert r == 1 + int(np.argmax(K.trace() - np.cumsum(values) <= 0.05 * K.trace()))
    if method == "rpcholesky":
        fewer = fit(matrix, arguments, low_rank=method, rank=r - 1)
        assert fewer.trace_error > 0.05 * K.trace()
    for rank, expected in ((3, 3), (len(K), r)):  # whichever comes first
        both = fit(matrix, arguments, low_rank=method, rank=rank, rank_error=0.05)
        assert both.factor.shape[1] == expected


@pytest.mark.parametrize("method", METHODS)
def test_duplicate_rows_end_it_early(method):
    X = np.repeat(points(6, 3), 5, axis=0)
    matrix, arguments = from_dense(X), (RBF, 0, 0.5, 0.0)
    found = fit(matrix, arguments, low_rank=method, rank=30)
    assert found.factor.shape[1] == 6
    assert found.trace_error < 1e-12 * 30
    np.testing.assert_allclose(found.factor @ found.factor.T, kernel_of(X, X, *arguments), rtol=0, atol=1e-12)
    found = fit(matrix, arguments, low_rank=method, rank_error=1e-9)
    assert found.factor.shape[1] == 6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF, PRECOMPUTED])
def test_rank_beyond_the_number_of_rows(kind, method):
    matrix, K, arguments = problem(kind, n=25)
    found = fit(matrix, arguments, low_rank=method, rank=1000)
    assert found.factor.shape[1] <= 25
    np.testing.assert_allclose(found.factor @ found.factor.T, K, rtol=0, atol=1e-8 * K.max())


@pytest.mark.parametrize("method", METHODS)
def test_one_row(method):
    found = fit(from_dense(np.array([[3.0, 4.0]])), (LINEAR, 0, 0.0, 0.0), low_rank=method, rank=3)
    assert abs(found.factor[0, 0]) == pytest.approx(5.0) and found.factor.shape == (1, 1)
    assert found.trace == 25.0 and list(found.pivots) == [0]


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_entries(method):
    found = fit(from_dense(np.zeros((4, 2))), (LINEAR, 0, 0.0, 0.0), low_rank=method, rank=2)
    assert found.factor.shape == (4, 0) and found.trace == found.trace_error == 0.0
    found = fit(from_dense(np.zeros((4, 2))), (RBF, 0, 1.0, 0.0), low_rank=method, rank=2)
    np.testing.assert_allclose(np.abs(found.factor), np.ones((4, 1)))


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides(method):
    matrix, _, arguments = problem(RBF)
    first, again, other = (fit(matrix, arguments, low_rank=method, rank=5, random_state=seed) for seed in (1, 1, 2))
    assert first.factor.tobytes() == again.factor.tobytes() and list(first.pivots) == list(again.pivots)
    if method in ("rpcholesky", "nystrom"):
        assert list(first.pivots) != list(other.pivots)


@pytest.mark.parametrize("method", METHODS)
def test_some_of_the_rows_in_another_order(method):
    matrix, K, arguments = problem(RBF)
    rows = np.array([40, 2, 77, 13, 5, 60, 31, 8], dtype=np.int32)
    found = fit(matrix, arguments, rows, low_rank=method, rank=4)
    check(found, K[np.ix_(rows, rows)], matrix.take(rows), arguments, policy=FactorPolicy(pivots=3))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF])
def test_values_of_any_size(kind, scale, method):
    X = points(60, 6, scale=scale)
    matrix, arguments = from_dense(X), (kind, 2, 0.1 / scale**2, 1.0)
    found = fit(matrix, arguments, low_rank=method, rank=10)
    check(found, kernel_of(X, X, *arguments), matrix, arguments)
    assert found.factor.shape[1] == (6 if kind == LINEAR else 10)


@pytest.mark.parametrize("method", METHODS)
def test_features_with_huge_numbers(method):
    X, names = points(40, 5), np.array([0, 7, 2**20, 2**30, 2**31 - 2])
    matrix = data.from_rows([[(int(j), float(v)) for j, v in zip(names, row, strict=True)] for row in X])
    found = fit(matrix, (RBF, 0, 0.1, 0.0), low_rank=method, rank=6)
    plain = fit(from_dense(X), (RBF, 0, 0.1, 0.0), low_rank=method, rank=6)
    assert found.factor.tobytes() == plain.factor.tobytes()
    features = features_of(matrix.take(found.pivots), found.transform, matrix, ramp(40), KernelSpec(RBF, 0, 0.1))
    np.testing.assert_allclose(features, found.factor, rtol=0, atol=1e-10)


def test_rows_far_from_the_origin_have_their_distances():
    """Dot products would lose all digits."""
    X = points(30, 3) + 1e6
    matrix, spec = from_dense(X), KernelSpec(RBF, 0, 0.5, 0.0)
    np.testing.assert_allclose(
        kernel_columns(matrix, matrix, spec), kernel_of(X, X, RBF, 0, 0.5), rtol=1e-9, atol=1e-300
    )


def test_equal_rows_have_an_rbf_of_one():
    matrix = from_dense(points(40, 9))
    values = kernel_columns(matrix, matrix, KernelSpec(RBF, 0, 0.37, 0.0))
    assert (values.diagonal() == 1.0).all() and (values == values.T).all()


# ---- kernels that are not positive semidefinite ----------------------------------------------


@pytest.mark.parametrize("method", [*CHOLESKY, "nystrom"])
def test_indefinite_kernels_are_refused(method):
    X = points(40, 3)
    with pytest.raises(DataError, match="not positive semidefinite"):
        fit(from_dense(X), (SIGMOID, 0, 1.0, -0.5), low_rank=method, rank=40)
    with pytest.raises(DataError, match="not positive semidefinite"):
        fit(given(np.array([[1.0, 2.0], [2.0, 1.0]])), (PRECOMPUTED, 0, 0.0, 0.0), low_rank=method, rank=2)


def test_landmarks_of_an_indefinite_kernel():
    with pytest.raises(DataError, match="not positive semidefinite"):
        factors.nystrom_transform(np.array([[1.0, 2.0], [2.0, 1.0]]), 1.0)


@pytest.mark.parametrize("method", CHOLESKY)
def test_the_row_at_fault_is_named(method):
    K = np.diag([4.0, 5.0, -1.0, 6.0])
    with pytest.raises(DataError) as error:
        fit(given(K), (PRECOMPUTED, 0, 0.0, 0.0), rows=np.array([3, 2, 0], dtype=np.int32), low_rank=method, rank=2)
    assert error.value.row == 2


@pytest.mark.parametrize("method", METHODS)
def test_rounding_of_given_values_is_no_error(method):
    X = points(60, 4)
    K = np.round(kernel_of(X, X, RBF, gamma=0.05), 7)
    found = fit(given(K), (PRECOMPUTED, 0, 0.0, 0.0), low_rank=method, rank=60)
    assert 10 < found.factor.shape[1] <= 60
    assert np.abs(found.factor @ found.factor.T - K).max() < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_a_given_matrix_must_be_symmetric(method):
    K = np.eye(5)
    K[1, 3] = 0.5
    with pytest.raises(DataError, match="not symmetric"):
        fit(given(K), (PRECOMPUTED, 0, 0.0, 0.0), low_rank=method, rank=5)


@pytest.mark.parametrize("method", METHODS)
def test_values_that_overflow(method):
    matrix = from_dense(np.array([[1.0], [1e200], [2.0]]))
    with pytest.raises(DataError, match="overflow") as error:
        fit(matrix, (LINEAR, 0, 0.0, 0.0), low_rank=method, rank=2)
    assert error.value.row == 1
    rows, policy = np.array([0, 2, 2, 1], dtype=np.int32), FactorPolicy(row_block=2)
    with pytest.raises(DataError, match="overflow") as error:
        fit(matrix, (LINEAR, 0, 0.0, 0.0), rows, low_rank=method, rank=2, policy=policy)
    assert error.value.row == 1


def test_a_given_matrix_that_lacks_values():
    arguments = (PRECOMPUTED, 0, 0.0, 0.0)
    full, short = [(0, 1.0), (1, 1.0), (2, 0.0)], [(0, 2.0), (1, 0.0)]
    for rows, cause in (
        ([full, short], "no kernel value"),
        ([[(0, 2.0), *full[1:]], [(0, 0.0), *full[1:]]], "at least 1"),
        ([full, []], "no serial number"),
    ):
        with pytest.raises(DataError, match=cause) as error:
            fit(data.from_rows(rows), arguments, rank=1)
        assert error.value.row == 1
    pivots = data.from_rows([[(0, 2.0)]])
    tests = data.from_rows([full, full, short])
    features = features_of(pivots, np.array([[2.0]]), tests, ramp(2), KernelSpec(*arguments))
    assert features.tolist() == [[0.0], [0.0]]
    with pytest.raises(DataError, match="no kernel value") as error:
        features_of(pivots, np.array([[2.0]]), tests, np.array([1, 2], dtype=np.int32), KernelSpec(*arguments))
    assert error.value.row == 2


@pytest.mark.parametrize("method", METHODS)
def test_no_rows(method):
    found = fit(data.from_rows([]), (RBF, 0, 1.0, 0.0), low_rank=method, rank=2)
    assert found.factor.shape == (0, 0) and found.trace == 0.0


# ---- row blocks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [POLY, RBF, PRECOMPUTED])
def test_row_blocks_of_any_size_give_the_same(kind, method):
    matrix, K, arguments = problem(kind)
    policy = FactorPolicy(row_block=13)
    whole, parts = (fit(matrix, arguments, low_rank=method, rank=8, policy=p) for p in (USUAL, policy))
    assert list(parts.pivots) == list(whole.pivots)
    np.testing.assert_allclose(
        parts.factor @ parts.factor.T, whole.factor @ whole.factor.T, rtol=0, atol=1e-9 * K.diagonal().max()
    )
    check(parts, K, matrix, arguments, policy=policy)


@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED])
def test_values_of_row_blocks(kind):
    X = points(50, 6, density=0.5)
    X[7] = 0.0
    matrix = from_dense(X)
    arguments = (kind, 3, 0.3, 0.7)
    if kind == PRECOMPUTED:
        X = np.column_stack([np.arange(1, 51), X @ X.T])
        matrix = given(X[:, 1:])
    spec = pickle.loads(pickle.dumps(KernelSpec(*arguments)))
    K = kernel_of(X if kind == PRECOMPUTED else dense(matrix), X if kind == PRECOMPUTED else dense(matrix), *arguments)
    row_blocks = split(matrix, ramp(50), 18)
    assert [row_block.n_rows for row_block in row_blocks] == [18, 18, 14]
    np.testing.assert_allclose(np.concatenate([kernel_diagonal(c, spec) for c in row_blocks]), K.diagonal(), rtol=1e-12)
    others = matrix.take(np.array([41, 7, 3, *range(40)], dtype=np.int32))
    values = np.concatenate([kernel_columns(c, others, spec) for c in row_blocks])
    np.testing.assert_allclose(values, K[:, [41, 7, 3, *range(40)]], rtol=1e-12, atol=1e-13)


def test_candidates_of_row_blocks_are_those_of_the_whole():
    rng = np.random.default_rng(5)
    residual = np.round(rng.random(100), 1)  # with ties
    for count in (1, 7, 60, 100, 120):
        places, bound = pivoting.largest_rows(residual, count)
        order = np.argsort(-residual, kind="stable")
        assert list(places) == sorted(order[:count])
        assert bound == (residual[order[count]] if count < 100 else 0.0)
        parts = [residual[:30], residual[30:31], residual[31:]]
        answers = [pivoting.largest_rows(part, count) for part in parts]
        chosen, joint = pivoting.largest_of_blocks(
            [(part[at], least) for part, (at, least) in zip(parts, answers, strict=True)], count
        )
        found = [start + at[c] for start, (at, _), c in zip((0, 30, 31), answers, chosen, strict=True)]
        assert list(np.concatenate(found)) == list(places) and joint == bound


def test_rows_that_a_row_block_did_not_send_count():
    answers = [(np.array([9.0, 8.0, 7.0]), 6.0), (np.array([1.0]), 0.0)]
    chosen, bound = pivoting.largest_of_blocks(answers, 3)
    assert [list(c) for c in chosen] == [[0, 1, 2], []] and bound == 6.0


def test_draws_of_row_blocks_are_those_of_the_whole():
    rng = np.random.default_rng(5)
    residual = rng.random(100)
    residual[[3, 50]] = 0.0, -1e-17
    marks = rng.random(2000)
    whole = pivoting.drawn_rows(residual, marks * np.maximum(residual, 0).sum())
    assert not {3, 50} & set(whole)
    assert np.abs(np.bincount(whole, minlength=100) / 2000 - residual / residual.sum()).max() < 0.02
    parts = [residual[:30], residual[30:31], residual[31:]]
    dealt = pivoting.marks_of_blocks(np.array([np.maximum(part, 0).sum() for part in parts]), marks)
    found = [start + pivoting.drawn_rows(part, at) for start, part, at in zip((0, 30, 31), parts, dealt, strict=True)]
    assert sorted(np.concatenate(found)) == sorted(whole)


def test_a_factor_built_by_steps_over_row_blocks():
    """As a distributed caller works: blocks of nearly the largest residuals, rows broadcast, F updated in place."""
    matrix, K, arguments = problem(RBF)
    spec = KernelSpec(*arguments)
    starts, row_blocks = [0, 40, 80], split(matrix, ramp(90), 40)
    factors = [np.empty((row_block.n_rows, 0)) for row_block in row_blocks]
    residuals = [kernel_diagonal(row_block, spec) for row_block in row_blocks]
    pivots = []
    while len(pivots) < 30:
        answers = [pivoting.largest_rows(residual, 16) for residual in residuals]
        chosen, bound = pivoting.largest_of_blocks(
            [(residual[at], least) for residual, (at, least) in zip(residuals, answers, strict=True)], 16
        )
        places = [at[c] for (at, _), c in zip(answers, chosen, strict=True)]
        candidates = np.concatenate([start + at for start, at in zip(starts, places, strict=True)]).astype(np.int32)
        theirs = np.concatenate([factor[at] for factor, at in zip(factors, places, strict=True)])
        block = pivoting.residual_block(matrix.take(candidates), theirs, spec)
        picked, lower = pivoting.choose_largest(block, 0.5 * bound, 30 - len(pivots), 1e-13)
        assert len(picked) > 1 or len(pivots) == 29
        rows = matrix.take(candidates[picked])
        new = [
            pivoting.new_columns(row_block, factor, rows, theirs[picked], lower, spec)
            for row_block, factor in zip(row_blocks, factors, strict=True)
        ]
        factors = [np.hstack(pair) for pair in zip(factors, new, strict=True)]
        residuals = [pivoting.remaining(residual, n) for residual, n in zip(residuals, new, strict=True)]
        pivots.extend(candidates[picked])
    F = np.concatenate(factors)
    P = np.array(pivots)
    np.testing.assert_allclose(F @ F.T, K[:, P] @ np.linalg.solve(K[np.ix_(P, P)], K[P]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.concatenate(residuals), (K - F @ F.T).diagonal(), rtol=0, atol=1e-12)
