"""Arrays become sparse rows: all kinds, without copies as large as the array."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import libsvmx
from libsvmx import DataError
from libsvmx._core.entries import count_entries, count_stored, write_entries, write_stored
from libsvmx.api.arrays import (
    VALUES_OF_BLOCK,
    as_matrix,
    blocks_of,
    borrowed,
    from_dense,
    from_scipy,
    numbers_of,
    parts_of,
    precomputed,
)

RANDOM = np.random.default_rng(0)
DENSE = RANDOM.integers(-2, 3, (57, 11)).astype(float) / 4
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "not aligned": lambda X: np.frombuffer(b"x" + X.tobytes(), X.dtype, offset=1).reshape(X.shape),
}


@pytest.mark.parametrize("kind", ["f8", "f4", "f2", ">f8", ">f4", "i8", "i1", "g", "O"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dense_arrays_of_every_kind(layout, kind):
    if kind == "O" and layout in ("read-only", "not aligned"):
        pytest.skip("objects are no bytes")
    X = LAYOUTS[layout]((DENSE * 4).astype(kind))
    assert as_matrix(X) == as_matrix(sparse.csr_array(DENSE * 4))
    np.testing.assert_array_equal(as_matrix(X).toarray(), DENSE * 4)


def test_numbers_at_odd_addresses_are_copied():
    """Compiled code must not get an array misaligned for its type; x86 would tolerate most of them."""
    odd = LAYOUTS["not aligned"]
    full = 1 + RANDOM.random((40, 6))
    assert not odd(full).flags.aligned
    block = next(blocks_of(odd(full)))[1]
    assert block.flags.aligned
    matrix = borrowed(odd(full))
    assert matrix is not None
    values = np.asarray(matrix.values)
    assert values.flags.aligned
    assert values.tobytes() == full.tobytes()
    assert numbers_of(odd(full[0]), "y").flags.aligned
    X = sparse.csr_array(full)
    X.data, X.indices = odd(X.data), odd(X.indices)
    assert as_matrix(X) == as_matrix(full)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (1, 1), (3, 1), (1, 3)])
def test_small_shapes(shape):
    for X in (np.ones(shape), np.zeros(shape), np.ones(shape, order="F", dtype=np.float32)):
        assert as_matrix(X).shape == shape
        np.testing.assert_array_equal(as_matrix(X).toarray(), X)
        np.testing.assert_array_equal(as_matrix(sparse.csr_matrix(X)).toarray(), X)


def test_more_rows_than_a_block_has():
    X = RANDOM.integers(0, 3, (2 * VALUES_OF_BLOCK // 7 + 5, 7))
    np.testing.assert_array_equal(as_matrix(X).toarray(), X)
    wrong = np.asfortranarray(X.astype(float))
    wrong[-2, 3] = np.inf
    with pytest.raises(DataError, match="column 3 is not finite") as caught:
        as_matrix(wrong)
    assert caught.value.row == len(X) - 2


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", ["f8", "f4", "i4", "?", ">f8", "g"])
@pytest.mark.parametrize("form", ["canonical", "explicit zeros", "duplicates", "unsorted", "spare room"])
def test_sparse_matrices_of_every_kind(form, value, index):
    if value in ("?", ">f8") and form in ("duplicates", "unsorted"):
        pytest.skip("SciPy does not add or sort them")
    X = sparse.csr_array((DENSE * 4).astype(value).astype(float))
    if form == "explicit zeros":
        X.data[::3] = 0
    elif form == "duplicates":
        X = sparse.csr_array((np.repeat(X.data, 2), np.repeat(X.indices, 2), X.indptr * 2), X.shape)
    expected = as_matrix(X.toarray())
    if form == "unsorted":
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
        X.has_sorted_indices = X.has_canonical_format = False
    elif form == "spare room":
        X.data, X.indices = np.append(X.data, X.data[:5]), np.append(X.indices, X.indices[:5])
    X.data, X.indices, X.indptr = X.data.astype(value), X.indices.astype(index), X.indptr.astype(index)
    before = X.data.tobytes(), X.indices.tobytes()
    assert as_matrix(X) == expected
    assert (X.data.tobytes(), X.indices.tobytes()) == before


@pytest.mark.parametrize(
    ("form", "rows_of"), [(np.array, from_dense), (np.asfortranarray, from_dense), (sparse.csr_matrix, from_scipy)]
)
def test_signals_are_let_in_between_parts(form, rows_of):
    """In many parts, as for large arrays, the result is the same; one row may be larger than a part."""
    expected = as_matrix(form(DENSE))
    for most in (1, 30, 100):
        assert rows_of(form(DENSE), most) == expected
        wrong = form(DENSE)
        wrong[40, 5] = np.nan
        with pytest.raises(DataError, match="column 5 is not finite") as caught:
            rows_of(wrong, most)
        assert caught.value.row == 40
    assert [begin for begin, _ in blocks_of(DENSE, 30)] == list(range(0, 57, 2))
    assert len(parts_of(sparse.csr_matrix(DENSE).indptr, 30)) > 10


@pytest.mark.parametrize("indptr", [[0, 2, 1], [0, 9, 9], [0, -1, 2], [1, 1, 2]])
def test_a_sparse_matrix_that_is_none(indptr):
    X = sparse.csr_matrix(np.eye(2))
    X.has_canonical_format = True
    X.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises((DataError, ValueError)):
        as_matrix(X)


@pytest.mark.parametrize("kind", [float, np.uint64, "table"])
@pytest.mark.parametrize("part", ["indices", "indptr"])
def test_indices_of_another_kind(part, kind):
    X = sparse.csr_matrix(np.eye(2))
    given = getattr(X, part)
    setattr(X, part, given[:, None] if kind == "table" else given.astype(kind))
    with pytest.raises(DataError, match="indptr and indices must be whole numbers"):
        as_matrix(X)


def test_a_kernel_in_one_dimension():
    row = sparse.coo_array(np.ones(3))
    if row.ndim != 1:
        pytest.skip("this SciPy has tables only")
    with pytest.raises(DataError, match=r"must have rows and columns, but its shape is \(3,\)"):
        precomputed(row)


def peak_of(call, *arguments):
    call(*arguments)
    tracemalloc.start()
    try:
        kept = call(*arguments)
        return tracemalloc.get_traced_memory()[1], kept
    finally:
        tracemalloc.stop()


@cache
def big():
    return np.random.default_rng(1).standard_normal((3000, 400))


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X,
        lambda X: X.astype("f4"),
        np.asfortranarray,
        lambda X: (X * 10).astype("i2"),
        lambda X: np.where(X > 1, X, 0),
        lambda X: sparse.csr_matrix(np.where(X > 1, X, 0)),
        lambda X: sparse.csr_array(np.where(X > 1, X, 0).astype("f4")),
    ],
    ids=["dense", "float32", "Fortran", "int16", "few", "csr", "csr float32"],
)
def test_12_bytes_for_each_entry(form):
    X = form(big())
    if sparse.issparse(X):
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    peak, matrix = peak_of(as_matrix, X)
    assert 12 * matrix.nnz <= peak <= 12 * matrix.nnz + 4 * 8 * VALUES_OF_BLOCK


def test_a_precomputed_kernel():
    K = big() @ big().T[:, :600]
    for kind in (np.float64, np.float32):
        peak, matrix = peak_of(precomputed, K.astype(kind))
        assert peak <= 12 * matrix.nnz + 4 * 8 * VALUES_OF_BLOCK
    K[2, 1] = np.nan
    with pytest.raises(DataError, match="column 1 is not finite") as caught:
        precomputed(K)
    assert caught.value.row == 2


def test_no_buffer_of_the_caller_is_kept():
    for X in (DENSE.copy(), sparse.csr_matrix(DENSE)):
        matrix = as_matrix(X)
        (X.data if sparse.issparse(X) else X)[:] = 7
        np.testing.assert_array_equal(matrix.toarray(), DENSE)


def test_an_array_that_changes_meanwhile():
    """Nothing is written out of bounds, whatever the second pass meets."""
    counts, indices, values = np.zeros(4, np.int64), np.zeros(3, np.int32), np.zeros(3)
    assert count_entries(np.eye(3), counts[1:]) == -1
    indptr = counts.cumsum()
    for table in (np.ones((3, 3)), np.zeros((3, 3)), np.eye(3)[:2]):
        with pytest.raises(ValueError, match="was changed"):
            write_entries(table, indptr, indices, values)
    csr = sparse.csr_matrix(np.eye(3))
    given = csr.indptr.astype(np.int64), csr.indices, csr.data
    assert count_stored(*given, 3, counts[1:]) == -1
    for data in (np.zeros(3), np.array([1.0, 0.0, 2.0])):
        with pytest.raises(ValueError, match="was changed"):
            write_stored(given[0], csr.indices, data, indptr, indices, values)
    with pytest.raises(ValueError, match="was changed"):
        write_stored(np.array([0, 2, 2, 3]), csr.indices, csr.data, indptr, indices, values)


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, np.float32, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_has_the_bits_of_scikit_learn(form, gamma):
    svm = pytest.importorskip("sklearn.svm")
    rows = big()[:300, :37]
    X, y = form(rows * (rows > -0.5)), np.arange(300) % 2
    expected = svm.SVC(gamma=gamma).fit(X, y)._gamma
    assert libsvmx.train(X, y, gamma=gamma).param.gamma == expected
