"""Rows of explicit features, dense and sparse, against NumPy; the second-order map against its kernel."""

import pickle
import tracemalloc

import numpy as np
import pytest
from libsvmx._kernels.feature_products import NARROW, SparseRows, narrow_gram, sparse_rows
from support import data

from libsvmx._core.buffers import filled
from libsvmx._core.matrix import compacted
from libsvmx._kernels.featurerows import DenseRows, feature_rows, second_order_rows, second_order_size

# rows, columns, share of nonzeros
SHAPES = [(1, 1, 1.0), (1, 7, 0.5), (9, 1, 0.6), (40, 12, 0.2), (40, 12, 1.0), (23, 5, 0.0), (3, 50, 0.1)]


def matrix(m, n, share, seed=0):
    """Random values, some rows and columns empty."""
    rng = np.random.default_rng(seed + 1000 * m + n)
    X = rng.normal(size=(m, n)) * (rng.random((m, n)) < share)
    if m > 3 and share < 1:
        X[1] = X[m - 1] = 0
    return X


def sparse(X):
    """SparseRows of an array, inside larger arrays: ``indptr`` does not begin at 0."""
    at, columns = np.nonzero(X)
    indptr = 2 + np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(X)))])
    junk = np.full(2, 99.0)
    return SparseRows(
        indptr,
        np.concatenate([[0, 0], columns, [0]]).astype(np.int32),
        np.concatenate([junk, X[at, columns], junk[:1]]),
        X.shape[1],
    )


KINDS = [pytest.param(DenseRows, id="dense"), pytest.param(sparse, id="sparse")]


def all_of(rows):
    return rows.take(np.arange(rows.m))


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
class TestRows:
    def test_sizes(self, make, shape):
        X = matrix(*shape)
        rows = make(X)
        assert (rows.m, rows.n) == X.shape
        assert rows.nnz == (X.size if make is DenseRows else np.count_nonzero(X))
        assert rows.squares() == pytest.approx(np.sum(X * X), rel=1e-14)

    def test_products(self, make, shape):
        X = matrix(*shape)
        rows, rng = make(X), np.random.default_rng(1)
        w = rng.normal(size=X.shape[1])
        np.testing.assert_allclose(rows.times(w), X @ w, atol=1e-13)
        for k in (1, 2, 3, 5):
            vectors = rng.normal(size=(k, len(X)))
            found = rows.transposed(vectors)
            assert found.shape == (k, X.shape[1])
            assert found.flags.c_contiguous
            np.testing.assert_allclose(found, vectors @ X, atol=1e-13)

    @pytest.mark.parametrize("chosen", ["all", "some", "one", "none"])
    def test_gram(self, make, shape, chosen):
        X = matrix(*shape)
        rng = np.random.default_rng(2)
        members = np.arange(len(X))
        members = {"all": members, "some": members[rng.random(len(X)) < 0.5], "one": members[-1:], "none": members[:0]}[
            chosen
        ]
        weights = rng.random(len(members)) * 10.0 ** rng.integers(-6, 6, size=len(members))
        outer, total = make(X).gram(members, weights)
        of = X[members]
        expected = (of * weights[:, None]).T @ of
        scale = abs(expected).max(initial=1e-300)
        np.testing.assert_allclose(np.tril(outer), np.tril(expected), atol=1e-13 * scale)
        np.testing.assert_allclose(total, weights @ of, atol=1e-13 * abs(weights).sum() * abs(X).max())

    def test_curvature(self, make, shape):
        X, rng = matrix(*shape), np.random.default_rng(3)
        weights, v = rng.random(len(X)), rng.normal(size=X.shape[1])
        np.testing.assert_allclose(make(X).curvature(weights, v), X.T @ (weights * (X @ v)), atol=1e-12)

    def test_take_part_select(self, make, shape):
        X = matrix(*shape)
        rows = make(X)
        members = np.array([len(X) - 1, 0, len(X) - 1, len(X) // 2])
        np.testing.assert_array_equal(rows.take(members), X[members])
        np.testing.assert_array_equal(all_of(rows.select(members)), X[members])
        assert rows.take(members[:0]).shape == (0, X.shape[1])
        assert rows.select(members[:0]).m == 0
        for begin in range(len(X) + 1):
            for end in range(begin, len(X) + 1):
                part = rows.part(begin, end)
                assert (part.m, part.n) == (end - begin, X.shape[1])
                np.testing.assert_array_equal(all_of(part), X[begin:end])
                if end > begin:
                    np.testing.assert_allclose(part.times(np.ones(part.n)), X[begin:end].sum(axis=1), atol=1e-13)

    def test_a_part_of_a_part_and_its_pickle(self, make, shape):
        X = matrix(*shape)
        rows = make(X).part(0, len(X)).part(len(X) // 3, len(X))
        again = pickle.loads(pickle.dumps(rows)) if make is not DenseRows else rows
        expected = X[len(X) // 3 :]
        assert again.nnz == rows.nnz
        np.testing.assert_array_equal(all_of(again), expected)
        vectors = np.arange(2.0 * len(expected)).reshape(2, -1)
        np.testing.assert_allclose(again.transposed(vectors), vectors @ expected, atol=1e-12)
        members = np.arange(len(expected))
        outer, total = again.gram(members, members + 1.0)
        weighted = expected * (members + 1.0)[:, None]
        np.testing.assert_allclose(np.tril(outer), np.tril(weighted.T @ expected), atol=1e-11)
        np.testing.assert_allclose(total, weighted.sum(axis=0), atol=1e-11)


def test_dense_rows_are_pickled_too():
    X = matrix(9, 4, 1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(DenseRows(X))).X, X)


def test_dense_gram_in_more_than_one_piece():
    X = matrix(700, 600, 1.0)
    weights = np.random.default_rng(3).random(700)
    for members in (np.arange(700), np.arange(0, 700, 1)[5:]):
        outer, total = DenseRows(X).gram(members, weights[members])
        of = X[members]
        np.testing.assert_allclose(np.tril(outer), np.tril((of * weights[members][:, None]).T @ of), atol=1e-10)
        np.testing.assert_allclose(total, weights[members] @ of, atol=1e-11)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 19, 63, 64, 65])
@pytest.mark.parametrize("m", [1, 63, 64, 65, 200])
def test_dense_products_of_few_features_and_more(m, n):
    X = matrix(m, n, 1.0)
    weights, vectors = np.random.default_rng(3).random(m), np.random.default_rng(4).normal(size=(3, m))
    np.testing.assert_allclose(DenseRows(X).transposed(vectors), vectors @ X, atol=1e-11)
    for members in (None, np.arange(0, m, 2), np.arange(0)):
        of, own = (X, weights) if members is None else (X[members], weights[members])
        outer, total = DenseRows(X).gram(members, own)
        np.testing.assert_allclose(np.tril(outer), np.tril((of * own[:, None]).T @ of), atol=1e-11)
        np.testing.assert_allclose(total, own @ of, atol=1e-11)


def test_dense_products_refuse_wrong_sizes():
    X = np.ones((6, 3))
    with pytest.raises(ValueError, match="5 weights for 6 rows"):
        narrow_gram(X, None, np.ones(5))
    with pytest.raises(ValueError, match="5 weights for 2 rows"):
        narrow_gram(X, np.arange(2), np.ones(5))
    with pytest.raises(IndexError, match="row 6 of 6"):
        narrow_gram(X, np.array([0, 6]), np.ones(2))
    for n in (0, NARROW + 1):
        with pytest.raises(ValueError, match=f"rows of {n} features"):
            narrow_gram(np.ones((6, n)), None, np.ones(6))


def test_dense_curvature_in_more_than_one_piece():
    X, weights = matrix(300, 20, 1.0), np.random.default_rng(3).random(300)
    np.testing.assert_allclose(DenseRows(X).curvature(weights, X[7]), X.T @ (weights * (X @ X[7])), atol=1e-10)


def test_sparse_rows_refuse_wrong_sizes():
    rows = sparse(matrix(6, 3, 0.7))
    with pytest.raises(ValueError, match="a vector of 4 for 3 columns"):
        rows.times(np.ones(4))
    with pytest.raises(ValueError, match="vectors of 5 for 6 rows"):
        rows.transposed(np.ones((2, 5)))
    with pytest.raises(ValueError, match="a vector of 3 and 5 weights for 6 x 3"):
        rows.curvature(np.ones(5), np.ones(3))
    with pytest.raises(ValueError, match="a vector of 2 and 6 weights for 6 x 3"):
        rows.curvature(np.ones(6), np.ones(2))
    with pytest.raises(ValueError, match="1 weights for 2 rows"):
        rows.gram(np.array([0, 1]), np.ones(1))
    for bad in (-1, 6):
        for call in (rows.take, rows.select, lambda members: rows.gram(members, np.ones(2))):
            with pytest.raises(IndexError, match=f"row {bad} of 6"):
                call(np.array([0, bad]))
    for begin, end in ((-1, 2), (3, 2), (0, 7)):
        with pytest.raises(IndexError, match=f"rows {begin} to {end} of 6"):
            rows.part(begin, end)


@pytest.mark.parametrize(
    ("indptr", "columns", "values"),
    [
        ([], [], []),
        ([-1, 0], [0], [1.0]),
        ([0, 2], [0], [1.0]),
        ([0, 1], [0, 1], [1.0]),
        ([0, 1], [0], [1.0, 2.0]),
    ],
)
def test_sparse_rows_refuse_arrays_that_do_not_fit_together(indptr, columns, values):
    with pytest.raises(ValueError, match="do not fit together"):
        SparseRows(np.array(indptr, dtype=np.int64), np.array(columns, dtype=np.int32), np.array(values), 2)


@pytest.mark.parametrize(
    ("indptr", "columns"),
    [([0, 1], [2]), ([0, 1], [-1]), ([0, 2, 1, 2], [0, 1]), ([0, 2], [1, 0]), ([0, 2], [1, 1])],
)
def test_sparse_rows_refuse_writes_out_of_bounds(indptr, columns):
    with pytest.raises(ValueError, match="ascend"):
        SparseRows(np.array(indptr, dtype=np.int64), np.array(columns, dtype=np.int32), np.ones(len(columns)), 2)


# ---- rows of a matrix ----------------------------------------------------------------------------


def test_sparse_or_dense_by_the_share_of_nonzeros():
    full = [[(j, 1.0 + j) for j in range(1, 9)]]
    thin = [[(j, 1.0)] for j in range(1, 9)]
    assert isinstance(feature_rows(data.from_rows(full), filled("i", [0])), DenseRows)
    assert isinstance(feature_rows(data.from_rows(thin), filled("i", range(8))), SparseRows)
    # 16 of 64 elements just count as dense, 15 do not
    two = [[(j, 1.0), (j % 8 + 1, 1.0)] for j in range(1, 8)] + [[(1, 1.0), (8, 2.0)]]
    two = [sorted(row) for row in two]
    assert isinstance(feature_rows(data.from_rows(two), filled("i", range(8))), DenseRows)
    two[7] = two[7][:1]
    assert isinstance(feature_rows(data.from_rows([*two, [(8, 1.0)]]), filled("i", range(8))), SparseRows)


@pytest.mark.parametrize("thin", [False, True])
def test_features_that_occur_nowhere_are_no_columns(thin):
    rows = [[(0, 5.0), (7, 2.0)], [], [(3, -1.0)], [(3, 4.0), (2**31 - 1, 1.5)]]
    rows += [[(100 + j, 1.0)] for j in range(40)] if thin else []
    matrix = data.from_rows(rows)
    chosen = [3, 0, 1, 3, 2]
    for of in (matrix, compacted(matrix)[0]):
        tracemalloc.start()
        found = feature_rows(of, filled("i", chosen))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20, "memory for all indices up to the largest"
        tracemalloc.stop()
        assert isinstance(found, SparseRows) == thin
        expected = np.zeros((4, 4))
        expected[0, [0, 2]], expected[2, 1], expected[3, [1, 3]] = (5, 2), -1, (4, 1.5)
        if thin:
            expected = np.insert(expected, [3], np.zeros((4, 40)), axis=1)
        np.testing.assert_array_equal(all_of(found), expected[chosen])


def test_no_features_and_no_rows():
    found = feature_rows(data.from_rows([[], []]), filled("i", [0, 1]))
    assert (found.m, found.n, found.nnz, found.squares()) == (2, 0, 0, 0.0)
    assert found.times(np.zeros(0)).tolist() == [0.0, 0.0]
    assert found.transposed(np.ones((3, 2))).shape == (3, 0)
    outer, total = found.gram(np.arange(2), np.ones(2))
    assert outer.shape == (0, 0)
    assert total.shape == (0,)


def test_chosen_columns():
    matrix = data.from_rows([[(1, 1.0), (4, 2.0), (9, 3.0)], [(4, 5.0)]])
    found = sparse_rows(matrix, filled("i", [1, 0, 0]), filled("i", [4, 9, 12]))
    np.testing.assert_array_equal(all_of(found), [[5, 0, 0], [2, 3, 0], [2, 3, 0]])
    with pytest.raises(IndexError, match="row 2 of 2"):
        sparse_rows(matrix, filled("i", [2]), filled("i", [4]))
    with pytest.raises(IndexError, match="row -1 of 2"):
        sparse_rows(matrix, filled("i", [-1]), filled("i", [4]))


# ---- the second-order map --------------------------------------------------------------------------


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("coef0", [0.0, 1e-3, 2.5])
@pytest.mark.parametrize("shape", [*SHAPES, (700, 30, 0.1), (700, 30, 1.0)])
def test_second_order_map(make, coef0, shape):
    X, gamma = matrix(*shape), 0.37
    mapped = second_order_rows(make(X), gamma, coef0)
    kernel = (gamma * X @ X.T + coef0) ** 2
    values = all_of(mapped)
    assert mapped.m == len(X)
    np.testing.assert_allclose(values @ values.T + coef0**2, kernel, rtol=1e-12, atol=1e-12 * kernel.max())
    assert mapped.n <= second_order_size(X.shape[1], coef0)
    if isinstance(mapped, SparseRows):
        assert values.any(axis=0).all(), "columns without a value"
    else:
        assert mapped.n == second_order_size(X.shape[1], coef0)


def test_the_map_is_dense_where_most_of_it_is_not_zero():
    assert isinstance(second_order_rows(DenseRows(matrix(30, 6, 1.0)), 1.0, 1.0), DenseRows)
    assert isinstance(second_order_rows(sparse(matrix(30, 12, 0.2)), 1.0, 0.0), SparseRows)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("n", [0, 3])
def test_the_map_of_nothing(make, n):
    mapped = second_order_rows(make(np.zeros((0, n))), 1.0, 1.0)
    assert mapped.m == 0


def test_sizes_of_the_map():
    assert [second_order_size(n, 0.0) for n in (0, 1, 2, 5)] == [0, 1, 3, 15]
    assert [second_order_size(n, 1.0) for n in (0, 1, 2, 5)] == [0, 2, 5, 20]
