"""Arrays whose values are not copied for a training: the same models, and nothing of the array is kept."""

import contextlib
import copy
import gc
import pickle
import threading
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import libsvmx
from libsvmx import CsrMatrix, KernelType
from libsvmx.api.arrays import borrowed, csr_of_parts, from_dense, parts_of_csr, precomputed
from libsvmx.io.modelfile import model_text


def table(rng, n, columns, share=1.0, values=None):
    """n rows with that share of nonzero values."""
    X = rng.standard_normal((n, columns)) if values is None else rng.choice(values, (n, columns))
    return X * (rng.random((n, columns)) < share)


SETTINGS = [
    {},
    {"kernel_type": "linear"},
    {"kernel_type": "poly", "gamma": 0.3, "coef0": 1.0},
    {"kernel_type": "sigmoid", "gamma": 0.1},
    {"svm_type": "nu_svc", "nu": 0.2},
    {"svm_type": "one_class", "nu": 0.2},
    {"svm_type": "epsilon_svr"},
    {"svm_type": "nu_svr"},
    {"probability": True},
    {"solver": "chunked"},
    {"shrinking": False, "cache_size": 0.01},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("share", [0.5, 0.96, 1.0])
@pytest.mark.parametrize("columns, classes", [(1, 2), (7, 4), (60, 2)])
def test_models_are_those_of_sparse_rows(setting, share, columns, classes):
    rng = np.random.default_rng([columns, classes, int(10 * share)])
    X = table(rng, 90, columns, share)
    X[0, -1] = 0.5
    y = (np.arange(90) + (rng.random(90) < 0.1)) % classes
    assert borrowed(X) is not None
    ours = libsvmx.train(X, y, **setting)
    assert model_text(ours) == model_text(libsvmx.train(from_dense(X), y, **setting))
    # rows for probability estimates are predicted, so they are not the caller's
    zeros = np.mean(ours.vectors.toarray() == 0)
    assert ours.vectors.regular == (zeros <= 1 / 16 and "probability" not in setting)
    assert pickle.loads(pickle.dumps(ours)).vectors == ours.vectors


@pytest.mark.parametrize("kernel", [kernel.keyword for kernel in KernelType if kernel != KernelType.PRECOMPUTED])
def test_vectors_with_a_few_zeros_are_those_without_them(kernel):
    """They take less memory with their zeros, which no result and no file shows."""
    X = np.round(np.random.default_rng(8).random((60, 30)), 1)
    X[X == 0] = 0.1
    X[::5, ::7] = 0.0
    setting = {"kernel_type": kernel, "gamma": 0.5}
    ours, sparse = (libsvmx.train(rows, np.arange(60) % 3, **setting) for rows in (X, csr_matrix(X)))
    assert ours.vectors.regular and not sparse.vectors.regular
    assert [ours.vectors.row(i) for i in range(ours.n_sv)] == [sparse.vectors.row(i) for i in range(ours.n_sv)]
    assert model_text(ours) == model_text(sparse)
    assert (ours.support_vectors != sparse.support_vectors).nnz == 0
    assert ours.support_vectors.nnz == sparse.support_vectors.nnz
    assert ours.vectors.tocsr().nnz == sparse.vectors.tocsr().nnz == np.count_nonzero(sparse.vectors.toarray())
    for tests in (X[:1], X):
        assert np.array_equal(ours.decision_function(tests), sparse.decision_function(tests))
        assert np.array_equal(ours.predict(tests), sparse.predict(tests))


@pytest.mark.parametrize(
    "X",
    [
        table(np.random.default_rng(1), 9, 5, 0.1),
        table(np.random.default_rng(1), 9, 5, values=[0.0, 1.0]),
        np.array([[1.5, 0.0], [2.5, 0.0]]),  # LIBSVM's largest index is 1
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.ma.masked_array(np.ones((2, 2)), False),
    ],
)
def test_arrays_that_are_better_as_sparse_rows(X):
    assert borrowed(X) is None


@pytest.mark.parametrize("kind", [np.float32, np.int16, np.uint8])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_arrays_are_converted_once(kind, order):
    X = np.array(table(np.random.default_rng(2), 40, 6, values=[1, 2, 3, 4]), dtype=kind, order=order)
    y = np.arange(40) % 3
    assert model_text(libsvmx.train(X, y, gamma=0.1)) == model_text(libsvmx.train(from_dense(X), y, gamma=0.1))


def test_an_array_is_borrowed_and_given_back():
    rng = np.random.default_rng(3)
    X, y = table(rng, 50, 4), np.arange(50) % 2
    rows = borrowed(X)
    assert np.shares_memory(np.asarray(rows.values), X)
    del rows
    model = libsvmx.train(X, y, gamma=0.2)
    before = model_text(model)
    gc.collect()
    assert not any(np.shares_memory(np.asarray(part), X) for part in (model.vectors.values, model.coef))
    X[:] = 0.0
    assert model_text(model) == before


def test_an_estimator_has_its_vectors_once():
    X, y = table(np.random.default_rng(7), 60, 4), np.arange(60) % 3
    machine = libsvmx.SVC().fit(X, y)
    copied = pickle.loads(pickle.dumps(machine))
    assert np.array_equal(machine.support_vectors_, X[machine.support_])
    assert np.array_equal(copied.support_vectors_, X[machine.support_])
    with pytest.raises(AttributeError, match="not fitted"):
        _ = libsvmx.SVC().support_vectors_
    assert np.shares_memory(machine.support_vectors_, np.asarray(machine.to_model().vectors.values))
    assert not np.shares_memory(machine.support_vectors_, X)
    assert not machine.support_vectors_.flags.writeable


def test_a_state_keeps_rows_of_its_own():
    X, y = table(np.random.default_rng(4), 40, 3), np.arange(40) % 2
    state, other = (libsvmx.train(X, y, gamma=0.5, keep_state=True) for _ in range(2))
    X[:] = 7.0
    state.remove([3])
    other.remove([3])
    assert model_text(state.model) == model_text(other.model)
    assert not np.shares_memory(np.asarray(state.problem.matrix.values), X)


def test_values_that_are_not_finite_are_refused():
    X = table(np.random.default_rng(5), 9, 3)
    for value in (np.nan, np.inf, -np.inf):
        X[4, 1] = value
        with pytest.raises(libsvmx.DataError, match="row 4: the value of column 1 is not finite"):
            libsvmx.train(X, np.arange(9) % 2)


def test_a_regular_matrix_behaves_as_any_other():
    X = table(np.random.default_rng(6), 8, 4, 0.7)
    X[0, -1] = 1.0
    rows, sparse = borrowed(X), from_dense(X)
    assert rows.regular
    assert rows.shape == sparse.shape == (8, 4)
    assert (rows.max_index, rows.first_index, rows.nnz) == (4, 1, 32)
    assert np.array_equal(rows.toarray(), X)
    assert np.array_equal(rows.tocsr().toarray(), X) and rows.tocsr().nnz == np.count_nonzero(X) < rows.nnz
    for key in (3, slice(1, 7, 2), [5, 0, 5], X[:, 0] > 0):
        assert np.array_equal(rows[key].toarray(), sparse[key].toarray())
        assert rows[key].regular == (3 * np.count_nonzero(X[key]) >= 2 * X[key].size)  # less memory than with indices
    assert rows.row(2) == [(j + 1, v) for j, v in enumerate(X[2]) if v]
    assert pickle.loads(pickle.dumps(rows)) == rows
    assert list(rows.indices) == [1, 2, 3, 4] * 8


def test_kernel_values_have_one_list_of_indices():
    K = np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0], [1.0, 0.0, 4.0]])
    rows = precomputed(K)
    assert rows.regular
    assert [rows.row(i) for i in range(3)] == [[(0, i + 1.0), *((j + 1, K[i, j]) for j in range(3))] for i in range(3)]
    some = rows[[2, 0]]
    assert some.regular
    assert [some.row(i) for i in range(2)] == [rows.row(2), rows.row(0)]
    assert pickle.loads(pickle.dumps(some)) == some


@pytest.mark.parametrize(
    "indptr, indices, values",
    [
        ([0, 2, 4], [1, 2], [1.0] * 3),
        ([0, 1, 4], [1, 2], [1.0] * 4),
        ([0, 2, 4], [2, 1], [1.0] * 4),
        ([0, 2], [1], [1.0] * 2),
    ],
)
def test_irregular_matrices_are_refused(indptr, indices, values):
    parts = np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), np.array(values)
    with pytest.raises(ValueError):
        CsrMatrix(*parts, regular=True)


def test_an_array_changed_by_another_thread_causes_no_crash():
    """The model is then meaningless, but the code uses no changeable value as an index."""
    rng = np.random.default_rng(7)
    X, y = table(rng, 400, 20, values=[1.0, 2.0]), np.arange(400) % 2
    stop = threading.Event()

    def change():
        while not stop.is_set():
            X[:] = rng.choice([0.0, 1.0, 1e300, np.nan, -5.5], X.shape)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            with warnings.catch_warnings(), contextlib.suppress(ValueError):
                warnings.simplefilter("ignore")
                libsvmx.train(X, y, gamma=0.01, max_iter=200)
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_copies_of_a_model_write_its_files(dtype):
    rng = np.random.default_rng(3)
    X = table(rng, 120, 20, 0.97).astype(dtype)
    ours = libsvmx.train(X, np.arange(120) % 2)
    parts = csr_of_parts(parts_of_csr(ours.vectors))
    assert ours.vectors.regular and 0.0 in list(ours.vectors.values)
    for copied in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert model_text(copied) == model_text(ours)
        assert copied.support_vectors.nnz == ours.support_vectors.nnz
        for vectors in (copied.vectors, parts):
            assert vectors.regular and vectors == ours.vectors
            assert [vectors.row(i) for i in range(ours.n_sv)] == [ours.vectors.row(i) for i in range(ours.n_sv)]


def test_pickles_of_earlier_versions_have_all_indices():
    rows = from_dense(np.array([[1.0, 2.0], [0.0, 3.0]]))
    make, parts = rows.__reduce__()
    assert make(*parts[:-1]) == csr_of_parts(parts_of_csr(rows)[:-1]) == rows
