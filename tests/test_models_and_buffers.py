"""Objects that outlive a call own their data: models check their parts, and no other buffer is kept."""

import ctypes
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy import sparse
from support.interrupts import interrupted, points_of, press

import libsvmx
from libsvmx import DataError

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.3 * RANDOM.standard_normal(40) > 0, 1.0, -1.0)


def models():
    """One of each kind: two and three classes, regression, one-class with estimates, a precomputed kernel."""
    yield "two classes", libsvmx.train(X, Y, probability=True), X
    yield "three classes", libsvmx.train(X, np.arange(40) % 3), X
    yield "regression", libsvmx.train(X, X[:, 0], svm_type=3, probability=True), X
    yield "one class", libsvmx.train(X, Y, svm_type=2, probability=True), X
    yield "precomputed", libsvmx.train(X @ X.T, Y, kernel_type=4), X @ X.T


MODELS = {name: (model, tests) for name, model, tests in models()}


def wrong_values(model):
    n = len(model.coef)
    return [
        None,
        (),
        (1, -1),
        np.zeros(0),
        np.zeros(3),
        np.zeros(n, "i4"),
        np.zeros(n, "f4"),
        np.zeros(2 * n)[::2],
        np.zeros((1, n)),
        -1,
        2**31,
        ("a", "b"),
        (1.5, 2),
        (model.n_sv + 2, -2),
    ]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("field", [f.name for f in fields(libsvmx.Model)])
def test_a_model_of_wrong_parts_is_refused_or_predicts(name, field):
    """No part, however wrong, leads predictions out of bounds."""
    model, tests = MODELS[name]
    refused = 0
    for value in wrong_values(model):
        try:
            made = replace(model, **{field: value})
        except (ValueError, TypeError):
            refused += 1
            continue
        rows = tests if made.columns is None else np.pad(tests, ((0, 0), (0, min(made.columns, 100) - tests.shape[1])))
        for call in (libsvmx.predict, libsvmx.decision_values):
            if made.columns is None or made.columns <= 100:
                assert len(call(made, rows)) == len(rows)
            else:  # no table is that wide
                with pytest.raises(DataError, match="columns"):
                    call(made, rows)
    assert refused > 5


@pytest.mark.parametrize("name", MODELS)
def test_a_model_needs_coefficients_and_offsets(name):
    for field in ("coef", "offsets"):
        with pytest.raises(ValueError, match=f"a model needs {field}"):
            replace(MODELS[name][0], **{field: None})


@pytest.mark.parametrize("rows", ["empty", -5.0, 0.0, 1.5, -1e18, float("nan"), 2.0**31, "two features"])
def test_vectors_of_a_precomputed_kernel_are_serial_numbers(rows):
    model = MODELS["precomputed"][0]
    n = model.n_sv
    indptr, indices, values = np.arange(n + 1), np.zeros(n, "i4"), np.ones(n)
    if rows == "empty":
        indptr, indices, values = np.zeros(n + 1, "i8"), np.zeros(0, "i4"), np.zeros(0)
    elif rows == "two features":
        indptr, indices, values = indptr * 2, np.tile(np.array([0, 1], "i4"), n), np.ones(2 * n)
    else:
        values[n // 2] = rows
    vectors = libsvmx.CsrMatrix(indptr.astype("i8"), indices, values)
    with pytest.raises(ValueError, match="0:serial"):
        replace(model, vectors=vectors)


def test_a_model_cannot_be_given_another_state():
    model = MODELS["two classes"][0]
    with pytest.raises(TypeError, match="constructor"):
        model.__setstate__({"x": 1})
    restore, (version, state) = model.__reduce__()
    for garbage in ({}, {**state, "x": 1}, {**state, "coef": None}, {**state, "coef": ("d", b"short")}):
        with pytest.raises((ValueError, TypeError)):
            restore(version, garbage)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(libsvmx.decision_values(again, X), libsvmx.decision_values(model, X))


def without_owner(array):
    """The memory of an array, in a memoryview that does not keep it."""
    view = ctypes.pythonapi.PyMemoryView_FromMemory
    view.restype, view.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
    return view(array.ctypes.data, array.nbytes, 0x200).cast("d")


@pytest.mark.parametrize("given", [np.asarray, memoryview, without_owner])
def test_a_model_keeps_no_buffer_of_the_caller(given):
    model = MODELS["two classes"][0]
    coef = np.array(model.coef)
    made = replace(model, coef=given(coef))
    before = libsvmx.decision_values(made, X)
    coef[:] = 7
    np.testing.assert_array_equal(libsvmx.decision_values(made, X), before)


def garbled(*arrays):
    for array in arrays:
        data = array.data if sparse.issparse(array) else array
        data[:] = 7


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, sparse.csc_array], ids=["dense", "csr", "csc"])
def test_a_state_keeps_no_buffer_of_the_caller(make):
    rows, labels, twin = make(X[:30]), Y[:30].copy(), libsvmx.train(X[:30], Y[:30], C=2, keep_state=True)
    state = libsvmx.train(rows, labels, C=2, keep_state=True)
    garbled(rows, labels)
    more, theirs = make(X[30:]), Y[30:].copy()
    ids = state.add(more, theirs)
    garbled(more, theirs)
    twin.add(X[30:], Y[30:])
    chosen = np.array(ids[:2])
    for one in (state, twin):
        one.remove(chosen)
        one.set_cost(4)
    garbled(chosen)
    expected = libsvmx.decision_values(twin.model, X)
    np.testing.assert_allclose(libsvmx.decision_values(state.model, X), expected, rtol=0, atol=1e-12)
    assert list(state.model.labels) == list(twin.model.labels)


REFUSED = {
    "masked": np.ma.masked_array(X, mask=X > 1),
    "tocsr alone": type("Odd", (), {"tocsr": lambda self: self})(),
    "complex": X + 1j,
    "dates": X.astype("datetime64[s]"),
    "spans": X.astype("timedelta64[s]"),
    "text": X.astype("U8"),
    "records": np.zeros(40, [("a", "f8")]),
    "complex sparse": sparse.csr_array(X + 1j),
}


@pytest.mark.parametrize("what", REFUSED)
def test_rows_that_are_not_real_numbers_are_refused(what):
    model = MODELS["two classes"][0]
    with pytest.raises(DataError, match=r"must hold real numbers|masked values|rows and columns"):
        libsvmx.train(REFUSED[what], Y)
    with pytest.raises(DataError, match=r"must hold real numbers|masked values|rows and columns"):
        libsvmx.predict(model, REFUSED[what])


@pytest.mark.parametrize("value", [np.complex128(1 + 2j), 1j, np.datetime64("2020-01-01"), "a", "1", None, b"1"])
def test_single_values_that_are_not_real_numbers(value):
    for rows in ([{1: value}, {1: 2.0}], np.array([[value], [2.0]], dtype=object)):
        with pytest.raises(DataError):
            libsvmx.train(rows, [1, -1])
    for wrong in ({"C": value}, {"weights": {1: value}}):
        with pytest.raises(libsvmx.ParameterError):
            libsvmx.train(X, Y, **wrong)


@pytest.mark.parametrize("kind", ["c16", "M8[s]", "U4"])
def test_targets_that_are_not_real_numbers_are_refused(kind):
    with pytest.raises(DataError, match="y must hold real numbers"):
        libsvmx.train(X, Y.astype(kind))


@pytest.mark.parametrize("index", [-1, 3, 2**31 - 1])
def test_a_sparse_matrix_with_an_index_out_of_bounds(index):
    rows = sparse.csr_matrix(X)
    rows.indices[1] = index
    with pytest.raises(DataError, match="not one of its 3 columns"):
        libsvmx.train(rows, Y)


def test_a_sparse_array_of_one_dimension():
    with pytest.raises(DataError, match="rows and columns"):
        libsvmx.train(sparse.coo_array(np.ones(3)), Y)


@pytest.mark.parametrize("kind", ["f4", "f2", "i8", "u1", "?", "O"])
def test_every_kind_of_real_number_is_taken(kind):
    rows = (X * 4).round().clip(0, 1).astype(kind)
    expected = libsvmx.decision_values(libsvmx.train(rows.astype(float), Y), X)
    np.testing.assert_array_equal(libsvmx.decision_values(libsvmx.train(rows, Y), X), expected)


@pytest.mark.parametrize("state", [-1, 2**32, 2**70, 1.5, "x", float("nan")])
def test_an_invalid_random_state(state):
    calls = [
        lambda: libsvmx.train(X, Y, probability=True, random_state=state),
        lambda: libsvmx.cross_validate(X, Y, 3, random_state=state),
        lambda: libsvmx.grid_search(X, Y, log2c=(0, 0, 1), log2g=(0, 0, 1), random_state=state),
    ]
    for call in calls:
        with pytest.raises(libsvmx.ParameterError, match="random_state must be"):
            call()


def test_svm_predict_of_something_else():
    from libsvmx import svmutil

    for given in (libsvmx.Model, MODELS["two classes"][0], None):
        with pytest.raises(TypeError, match="svm_predict needs a model of svm_train"):
            svmutil.svm_predict([1], [{1: 1}], given)


@pytest.mark.parametrize("changes", [0, 1, 2])
def test_a_row_at_fault_is_counted_among_those_that_join(changes):
    """From the second change on, the kernel of the rows before it is there."""
    state = libsvmx.train(X, Y, kernel_type="linear", keep_state=True)
    for _ in range(changes):
        state.add(X[:1], Y[:1])
    with pytest.raises(DataError, match="overflows") as caught:
        state.add([[0.5, 0, 0], [0.1, 0, 0], [1e300, 0, 0]], [1, -1, 1])
    assert caught.value.row == 2
    assert len(state) == 40 + changes


def test_a_row_at_fault_of_a_new_class(tmp_path):
    """Its own binary problem is trained over the remaining rows, which have other numbers."""
    state = libsvmx.train(X[:6], [1, 1, 1, 2, 2, 2], keep_state=True)
    with pytest.raises(DataError, match="overflows") as caught:
        state.update(add=([[1, 1, 0], [1e200, 0, 0]], [3, 3]), remove=[0, 1, 2])
    assert caught.value.row == 1


def test_no_id_is_left():
    most_id = 2**62  # an id is an int64
    state = libsvmx.train(X, Y, keep_state=True)
    state._version.next_id = most_id - 1
    with pytest.raises(DataError, match="no 2 ids left"):
        state.add(X[:2], Y[:2])
    assert list(state.add(X[:1], Y[:1])) == [most_id - 1]


def test_an_interrupted_prediction_leaves_the_model(exhaustive):
    """Data that predictions keep with a model for later calls is complete, or not kept."""
    model = libsvmx.train(X, Y)
    expected = libsvmx.decision_values(model, X), libsvmx.predict(model, X)
    for call in (libsvmx.decision_values, libsvmx.predict):
        for at in points_of(lambda: model, lambda model, call=call: call(model, X), exhaustive, ("predictor_of",)):
            assert interrupted(lambda call=call: call(model, X), at, press)
            assert len(model.predictors) <= 1
            np.testing.assert_array_equal(libsvmx.decision_values(model, X), expected[0])
            np.testing.assert_array_equal(libsvmx.predict(model, X), expected[1])
