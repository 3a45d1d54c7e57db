"""Borrowed rows: float32 gives the same bits as the same numbers in float64, in half the memory."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, issparse
from support.selection import quick_first

import libsvmx
from libsvmx import CsrMatrix
from libsvmx._train.gamma import gamma_of
from libsvmx.api.arrays import borrowed, from_dense, from_scipy, gamma_by_name
from libsvmx.io.modelfile import model_text

SETTINGS = [
    {},
    {"kernel_type": "linear"},
    {"kernel_type": "linear", "solver": "auto"},
    {"kernel_type": "linear", "solver": "crsvm"},
    {"kernel_type": "poly", "gamma": 0.3, "coef0": 1.0},
    {"kernel_type": "sigmoid", "gamma": 0.01},
    {"gamma": 30.0},
    {"gamma": "scale"},
    {"gamma": "auto"},
    {"svm_type": "nu_svc", "nu": 0.2},
    {"svm_type": "one_class", "nu": 0.2},
    {"svm_type": "epsilon_svr"},
    {"svm_type": "nu_svr"},
    {"probability": True},
    {"solver": "chunked"},
    {"solver": "irwls"},
    {"shrinking": False, "cache_size": 0.01},
]
# Rows, columns and classes. Panels are in double, and, from 2^20 values on, in float; the last rows are too long for
# blocks.
SHAPES = [(90, 1, 2), (90, 7, 4), (310, 3500, 2), (250, 4500, 2)]


def rows_and_targets(n, columns, classes, share=0.8):
    """Float32 of any size with that share of nonzeros, and targets that depend on them."""
    rng = np.random.default_rng([n, columns, classes])
    X = (rng.standard_normal((n, columns)) * (rng.random((n, columns)) < share)).astype(np.float32)
    X[:4, -1] = [0.1, 1e-40, -1e-45, -0.0]  # rounded, subnormal
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0) + rng.integers(0, classes - 1, n)
    return X, y.astype(float)


def same_models(X, y, **settings):
    """Whether a training on X gives the same model as on the numbers in double."""
    found, expected = (libsvmx.train(rows, y, **settings) for rows in (X, X.astype(np.float64)))
    return model_text(found) == model_text(expected) and found.param == expected.param


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("shape", SHAPES[:2], ids=str)
def test_models_are_those_of_float64(setting, shape):
    X, y = rows_and_targets(*shape)
    assert same_models(X, y, **setting)


@pytest.mark.parametrize("shape", SHAPES[2:], ids=str)
@pytest.mark.parametrize("setting", quick_first([{}, {"kernel_type": "linear"}, *SETTINGS[2:]], 2), ids=str)
def test_models_of_long_rows_are_those_of_float64(setting, shape):
    X, y = rows_and_targets(*shape)
    assert same_models(X, y, **setting)


@pytest.mark.parametrize("threads", quick_first([3, 1]))
def test_all_threads_read_the_same_panels(threads, exhaustive):
    X, y = rows_and_targets(1100, 1100, 2)
    if exhaustive:
        assert same_models(X, y, threads=threads, kernel_type="poly", gamma=0.1, C=10.0)
    assert same_models(X, y, threads=threads, gamma=0.01, C=10.0)


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X[::-1],
        lambda X: X.astype(">f4"),
        lambda X: np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape),
        lambda X: X.astype(np.float16),
        lambda X: (X * 9).astype(np.int16),
        lambda X: (X * 9).astype(np.int8),
        lambda X: np.abs(X * 9).astype(np.uint8),
        lambda X: (X * 1e8).astype(np.int32),  # not all of them fit in a float32
    ],
)
@pytest.mark.parametrize("shape", quick_first(SHAPES[1:3]), ids=str)
def test_other_arrays(form, shape):
    X, y = rows_and_targets(*shape)
    assert same_models(form(X), y, gamma=0.01)


def test_kernel_rows_in_double(exhaustive):
    """Those of a path, with the same targets."""
    X, y = rows_and_targets(*SHAPES[2])
    for kind in ("linear", "rbf") if exhaustive else ("rbf",):
        states = [libsvmx.train(rows, y, kernel_type=kind, keep_state=True) for rows in (X, X.astype(np.float64))]
        for state in states:
            state.remove([3, 8])
        assert model_text(states[0].model) == model_text(states[1].model)
        kept = states[0].problem.matrix
        rows, first = [list(kept.row(i)) for i in range(5)], X[:5].copy()
        X[:5] += 1
        assert [list(kept.row(i)) for i in range(5)] == rows  # no view of the caller's
        X[:5] = first


def test_predictions_and_validation(exhaustive):
    X, y = rows_and_targets(*(SHAPES[2] if exhaustive else (110, 1000, 2)))
    wide = X.astype(np.float64)
    model = libsvmx.train(X, y, gamma=0.01)
    for ask in (libsvmx.predict, libsvmx.decision_values):
        assert np.array_equal(ask(model, X), ask(model, wide))
        assert np.array_equal(ask(model, X[:1]), ask(model, wide[:1]))
    found, expected = (libsvmx.cross_validate(rows, y, 4, gamma=0.01, seeder="sir") for rows in (X, wide))
    assert np.array_equal(found.predictions, expected.predictions)
    assert np.array_equal(found.decision_values, expected.decision_values)
    models = [libsvmx.fit_many(rows, np.column_stack([y, y[::-1]]), gamma=0.01) for rows in (X, wide)]
    assert [model_text(one) for one in models[0]] == [model_text(one) for one in models[1]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value):
    X, y = rows_and_targets(*SHAPES[1])
    X[4, 1] = value
    with pytest.raises(libsvmx.DataError, match="row 4: the value of column 1 is not finite"):
        libsvmx.train(X, y)


def peak_of(call, *arguments, **options):
    tracemalloc.start()
    try:
        call(*arguments, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_array_is_borrowed_in_little_memory_and_given_back():
    X, y = rows_and_targets(*SHAPES[2])
    assert peak_of(borrowed, X) < X.nbytes * 0.6  # two flags for each value
    model = libsvmx.train(X, y, gamma=0.01)
    before = model_text(model)
    X[:] = 7.0
    assert model_text(model) == before


def test_a_training_takes_half_as_much_again_at_most():
    """Panels of the rows, where RBF does not read them in place, and little else."""
    X, y = rows_and_targets(2200, 500, 2)
    for setting in ({"gamma": 1e-5}, {"gamma": "scale"}, {"kernel_type": "linear"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)
            peak = peak_of(libsvmx.train, X, y, max_iter=5, **setting)
        assert peak < (1.5 if "kernel_type" in setting else 0.5) * X.nbytes, setting


@pytest.mark.parametrize("share", [0.1, 0.8, 0.97, 1.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_vectors_stay_in_float(kernel, share):
    """A model takes four bytes per value, and four more for the index of each if there are many zeros."""
    X, y = rows_and_targets(310, 3500, 2, share)
    X[3, -1] = 1.0  # not zero
    rows = csr_matrix(X) if share < 0.5 else X
    setting = {"kernel_type": kernel, "gamma": 1e-4}
    expected, wide = libsvmx.train(rows.astype(np.float64), y, **setting), X.astype(np.float64)
    tracemalloc.start()
    try:
        model = libsvmx.train(rows, y, **setting)
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert size < (1.1 if share > 0.9 else 2.2 * share) * X[model.sv_indices - 1].nbytes
    for tests in (wide[:1], wide[:40]):
        assert np.array_equal(libsvmx.decision_values(model, tests), libsvmx.decision_values(expected, tests))


def test_rows_in_float_behave_as_others():
    X, y = rows_and_targets(*SHAPES[1])
    rows, sparse = borrowed(X), from_dense(X)
    assert np.asarray(rows.values).dtype == np.float64
    assert rows == borrowed(X.astype(np.float64))
    assert np.array_equal(rows.toarray(), X)
    assert np.array_equal(rows.tocsr().toarray(), X)
    none = CsrMatrix(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), regular=True)
    assert len(none.values) == none.nnz == 0
    assert rows.row(2) == [(j + 1, float(v)) for j, v in enumerate(X[2]) if v]
    for key in (3, slice(1, 7, 2), [5, 0, 5]):
        assert np.array_equal(rows[key].toarray(), sparse[key].toarray())
    model = libsvmx.train(rows, y)
    assert model_text(model) == model_text(libsvmx.train(sparse, y))
    linear = libsvmx.train(rows, y, kernel_type="linear")
    for one in (model, linear):
        assert np.array_equal(libsvmx.decision_values(one, rows), libsvmx.decision_values(one, sparse))
        assert np.array_equal(libsvmx.decision_values(one, rows[:0]), libsvmx.decision_values(one, sparse[:0]))
        few = CsrMatrix(rows.indptr[:2], rows.indices[:7], X[0], regular=True)
        assert np.array_equal(libsvmx.decision_values(one, few), libsvmx.decision_values(one, sparse[:1]))


@pytest.mark.parametrize(
    ("indices", "values", "further"),
    [
        ([0, 1], np.float32, {"regular": True}),
        ([0, 1, 0, 1], np.float32, {}),
        ([1, 2], np.float32, {"regular": True, "first_index": 0}),
        ([1, 2, 1, 2], np.float32, {"first_index": 0}),
        ([1, 2, 1, 2], ">f4", {}),
        ([1, 2], np.int32, {"regular": True}),
        ([1, 2], ">f4", {"regular": True}),
    ],
)
@pytest.mark.parametrize("copy", [False, True])
def test_values_of_another_type(indices, values, further, copy):
    parts = np.array([0, 2, 4]), np.array(indices, dtype=np.int32), np.ones(4, dtype=values)
    with pytest.raises(ValueError):
        CsrMatrix(*parts, copy=copy, **further)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (700, 409), (17, 30011)])
def test_gamma_has_the_bits_of_float64(shape):
    rng = np.random.default_rng(shape)
    X = (rng.standard_normal(shape) * 3 + 1).astype(np.float32)
    wide = X.astype(np.float64)
    expected = 1 / (X.shape[1] * wide.var()) if X.size > 1 else 1.0
    assert gamma_of("scale", X) == gamma_of("scale", wide) == expected


# ---- sparse rows -----------------------------------------------------------------------------------


def sparse_rows(n, columns, share, one_value=False):
    """A CSR matrix of float32; ``one_value``: all nonzeros of a column are equal."""
    rng = np.random.default_rng([n, columns])
    values = rng.standard_normal(columns if one_value else (n, columns))
    return csr_matrix(np.where(rng.random((n, columns)) < share, values, 0).astype(np.float32))


# by panels; by postings, in blocks and, beyond 4,096 features, without; by bit columns many words wide
SPARSE = [(150, 40, 0.5, False), (150, 90, 0.1, False), (120, 4500, 0.01, False), (1300, 60, 0.1, True)]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("form", SPARSE, ids=str)
def test_models_of_sparse_rows_are_those_of_float64(form, setting, exhaustive):
    X = sparse_rows(*form)
    if not exhaustive:
        X = X[:150]
    y = np.where(np.arange(X.shape[0]) % 3, 1.0, -1.0) * np.sign(X.sum(axis=1).A1 + 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)
        assert same_models(X, y, max_iter=2000, **setting)


def test_sparse_rows_are_borrowed_in_little_memory_and_given_back():
    X = sparse_rows(500, 2000, 0.2)
    size = X.data.nbytes + X.indices.nbytes
    rows = borrowed(X)
    assert peak_of(borrowed, X) < 0.6 * size  # the indices, half of the bytes
    assert rows == from_scipy(X)
    assert rows[3:9] == from_scipy(X)[3:9]
    y = np.sign(X[:, :40].sum(axis=1).A1 + 1e-3)
    model = libsvmx.train(X, y)
    before = model_text(model)
    X.data[:], X.indices[:], X.indptr[:] = 7.0, -1, -1  # indices are not read again: they lead to addresses
    assert model_text(model) == before
    assert rows.row(0)[0][0] >= 1
    assert rows.nnz == rows.indptr[500]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_training_on_sparse_rows_takes_little_more_than_they_do(kind):
    """Their indices, and one copy of the values with two bytes each."""
    X = sparse_rows(700, 5000, 0.1).astype(kind)
    size, y = X.data.nbytes + X.indices.nbytes, np.where(np.arange(700) % 2, 1.0, -1.0)

    def fit(gamma):
        return libsvmx.SVC(gamma=gamma, max_iter=5).fit(X, y)

    for ask in (libsvmx.train, lambda X, y, gamma, max_iter: fit(gamma)):
        for gamma in (0.1, "scale"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(gamma)  # loads modules
                peak = peak_of(ask, X, y, gamma=gamma, max_iter=5)
            assert size / 2 < peak < 1.6 * size, (ask, gamma)


@pytest.mark.parametrize("form", ["explicit zeros", "ones", "duplicates", "column by column", "spare room", "wide"])
def test_other_sparse_rows(form):
    X = sparse_rows(150, 90, 0.1)
    if form == "explicit zeros":
        X.data[::7] = 0
    elif form == "ones":
        X.data[:] = 1
    elif form == "duplicates":
        X.data = np.rint(X.data * 8)  # with sums that fit in a float32, too
        X = csr_matrix((np.r_[X.data, X.data[:9]], np.r_[X.indices, X.indices[-9:]], np.r_[X.indptr[:-1], X.nnz + 9]))
    elif form == "column by column":
        X = X.tocsc()
    elif form == "spare room":
        X.data, X.indices = np.r_[X.data, X.data[:9]], np.r_[X.indices, X.indices[:9]]
    else:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert issparse(X)
    y = np.where(np.arange(150) % 3, 1.0, -1.0)
    for setting in ({}, {"gamma": "scale"}):
        assert same_models(X, y, **setting)


@pytest.mark.parametrize("form", [csr_matrix, csr_array])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("tiny", [False, True])
def test_gamma_of_sparse_rows_is_that_of_scipy(form, kind, tiny):
    X = form(sparse_rows(700, 3000, 0.2)).astype(kind)  # more values than fit in double at a time
    if tiny:
        X.data[5] = 1e-30 if kind == np.float32 else 1e-200  # its square underflows float32, or is 0
    wide = X.astype(np.float64)
    variance = float(wide.multiply(wide).mean() - wide.mean() ** 2)
    assert gamma_of("scale", X) == gamma_by_name("scale", X) == 1 / (3000 * variance)


def test_support_vectors_of_a_model_of_dense_float32_rows():
    X = np.random.default_rng(3).random((40, 3)).astype(np.float32)
    model = libsvmx.train(X, np.arange(40) % 2)
    np.testing.assert_array_equal(model.support_vectors.toarray(), X[model.sv_indices - 1])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
