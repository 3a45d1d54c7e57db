"""Errors between Python and the library, by their numbers in tests/io/invalid/README.md."""

import copy
import gc
import io
import pickle
import threading

import numpy as np
import pytest
from scipy import sparse
from support import data

import libsvmx
from libsvmx import DataError, svmutil
from libsvmx.io.modelfile import model_text

OPTIONS = {"C": 2.0, "gamma": 0.1}


@pytest.fixture(scope="module")
def heart():
    matrix, targets = data.load("heart_scale", 90)
    dense = np.zeros((matrix.n_rows, 13))
    for i in range(matrix.n_rows):
        for j, value in matrix.row(i):
            dense[i, j - 1] = value
    return dense, np.array(targets)


@pytest.fixture(scope="module")
def expected(heart):
    return model_text(libsvmx.train(*heart, **OPTIONS))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_fault_89_models_and_rows_are_pickled_by_every_protocol(heart, expected, protocol):
    X, y = heart
    model = libsvmx.train(X, y, **OPTIONS)
    again = pickle.loads(pickle.dumps(model, protocol))
    assert model_text(again) == expected
    assert again.param == model.param and again.statuses == model.statuses
    assert list(again.sv_indices) == list(model.sv_indices)
    rows = pickle.loads(pickle.dumps(model.vectors, protocol))
    assert [rows.row(i) for i in range(rows.n_rows)] == [model.vectors.row(i) for i in range(rows.n_rows)]


def test_fault_89_copies_and_joblib(heart, expected):
    joblib = pytest.importorskip("joblib")
    model = libsvmx.train(*heart, **OPTIONS)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for other in (joblib.load(file), copy.copy(model), copy.deepcopy(model)):
        assert model_text(other) == expected
    assert joblib.hash(model) == joblib.hash(pickle.loads(pickle.dumps(model)))


def test_fault_89_states_are_saved_not_pickled(heart, tmp_path):
    state = libsvmx.train(*heart, **OPTIONS, keep_state=True)
    with pytest.raises(TypeError, match="a State cannot be pickled: save it to a file, or take its model"):
        pickle.dumps(state)
    state.save(str(tmp_path / "state"))
    again = libsvmx.State.load(str(tmp_path / "state"))
    np.testing.assert_allclose(again.decision_values(heart[0]), state.decision_values(heart[0]), rtol=0, atol=1e-12)
    assert model_text(copy.deepcopy(state).model) == model_text(state.model)


def test_fault_96_a_model_outlives_the_arrays_it_was_trained_on(heart, expected):
    X, y = heart
    for make in (np.array, sparse.csr_array):
        rows, targets = make(X), y.copy()
        model = libsvmx.train(rows, targets, **OPTIONS)
        (rows if make is np.array else rows.data)[:] = 7
        targets[:] = 7
        del rows, targets
        gc.collect()
        assert model_text(model) == expected


def memory_map(X, tmp_path):
    X.astype("f8").tofile(tmp_path / "rows")
    return np.memmap(tmp_path / "rows", dtype="f8", mode="r", shape=X.shape)


def unsorted(X):
    csr = sparse.csr_matrix(X)
    for i in range(len(X)):
        part = slice(csr.indptr[i], csr.indptr[i + 1])
        csr.indices[part], csr.data[part] = csr.indices[part][::-1].copy(), csr.data[part][::-1].copy()
    return sparse.csr_matrix((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def repeated(X):
    csr = sparse.csr_matrix(X)
    parts = np.repeat(csr.data, 2) / 2, np.repeat(csr.indices, 2), csr.indptr * 2
    return sparse.csr_matrix(parts, shape=csr.shape)


def wide_indices(X):
    csr = sparse.csr_matrix(X)
    csr.indices, csr.indptr = csr.indices.astype("i8"), csr.indptr.astype("i8")
    return csr


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def damaged(form, how):
    """A SciPy matrix whose own indices are out of bounds."""
    K = sparse.csr_matrix(np.eye(8) + 0.1).asformat(form)
    if how == "rows that end nowhere":
        K.indptr[2] = 2**28
    elif form == "coo":
        K.col = K.col.copy()
        K.col[3] = how
    else:
        K.indices[3] = how
    return K


@pytest.mark.parametrize("how", [-(2**30), 2**30, "rows that end nowhere"])
@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_fault_97_scipy_is_not_led_astray(form, how):
    """SciPy converts such a matrix by writing to those indices."""
    if form == "coo" and isinstance(how, str):
        pytest.skip("it has none")
    y = np.repeat([1.0, -1.0], 4)
    for kernel in (libsvmx.KernelType.LINEAR, libsvmx.KernelType.PRECOMPUTED):
        with pytest.raises(libsvmx.DataError):
            libsvmx.train(damaged(form, how), y, kernel_type=kernel)
        with pytest.raises(libsvmx.DataError):
            svmutil.svm_problem(y, damaged(form, how), isKernel=kernel == libsvmx.KernelType.PRECOMPUTED)


FORMS = {
    "read-only": read_only,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype("g"),
    "objects": lambda X: X.astype(object),
    "64-bit indices": wide_indices,
    "unsorted": unsorted,
    "repeated indices": repeated,
    **{name: lambda X, name=name: sparse.csr_array(X).asformat(name) for name in ("csc", "coo", "lil", "dok", "bsr")},
}


@pytest.mark.parametrize("form", ["memory map", *FORMS])
def test_fault_97_every_form_of_the_same_rows(heart, expected, form, tmp_path):
    X, y = heart
    rows = memory_map(X, tmp_path) if form == "memory map" else FORMS[form](X)
    before = np.array(rows.toarray() if sparse.issparse(rows) else rows, dtype="f8")
    assert model_text(libsvmx.train(rows, y, **OPTIONS)) == expected
    after = np.array(rows.toarray() if sparse.issparse(rows) else rows, dtype="f8")
    np.testing.assert_array_equal(before, after)


def test_fault_97_single_precision_is_taken_as_its_doubles(heart):
    X, y = heart
    single = X.astype("f4")
    assert model_text(libsvmx.train(single, y)) == model_text(libsvmx.train(single.astype("f8"), y))


def test_fault_97_rows_without_entries(heart):
    X, y = heart[0].copy(), heart[1]
    X[[0, 5, 89]] = 0
    assert model_text(libsvmx.train(sparse.csr_array(X), y)) == model_text(libsvmx.train(X, y))


def test_fault_99_a_model_predicts_the_same_while_its_state_changes(heart):
    """From this thread or another. Ids are read before the change begins; others wait for its end."""
    X, y = heart
    state = libsvmx.train(X[:60], y[:60], **OPTIONS, keep_state=True)
    model = state.model
    before = libsvmx.decision_values(model, X)
    seen, waited = [], []
    waiting = threading.Thread(target=lambda: waited.append(state.decision_values(X)))

    def look():
        seen.append(libsvmx.decision_values(model, X))

    def leaving():
        look()
        other = threading.Thread(target=look)
        other.start()
        other.join()
        np.testing.assert_array_equal(state.decision_values(X), before)
        waiting.start()
        yield 3

    state.update(add=(X[60:], y[60:]), remove=leaving())
    waiting.join()
    look()
    assert len(seen) == 3
    for values in seen:
        np.testing.assert_array_equal(values, before)
    after = state.decision_values(X)
    np.testing.assert_array_equal(waited[0], after)
    assert not np.array_equal(after, before)


def test_ids_are_read_before_their_change_begins(heart):
    """An iterable of ids that itself changes the state: neither change is lost."""
    X, y = heart
    state = libsvmx.train(X[:60], y[:60], **OPTIONS, keep_state=True)

    def leaving():
        state.add(X[60:62], y[60:62])
        yield 3

    state.remove(leaving())
    assert state.ids.tolist() == [i for i in range(62) if i != 3]
    fresh = libsvmx.train(np.delete(X[:62], 3, 0), np.delete(y[:62], 3), **OPTIONS, eps=1e-8)
    np.testing.assert_allclose(state.decision_values(X), libsvmx.decision_values(fresh, X), atol=1e-6)


def test_fault_100_classes_come_and_go(heart):
    X, y = heart
    state = libsvmx.train(X, y, **OPTIONS, keep_state=True)
    state.remove(state.ids[state.targets == 1])
    assert list(state.model.labels) == [-1]
    state.add(X[:10], [7] * 10)
    assert sorted(state.model.labels) == [-1, 7]
    assert state.gap < 1e-9
    assert len(state.add(np.zeros((0, 13)), [])) == 0
    state.remove([])


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_no_entries_and_an_indptr_that_descends(form):
    """SciPy checks no index of a matrix without entries."""
    X = sparse.csr_matrix((4, 4)).asformat(form)
    X.indptr = np.array([0, 2**31 - 1, 0, 0, 0], dtype=np.int32)
    for kernel in (libsvmx.KernelType.PRECOMPUTED, libsvmx.KernelType.RBF):
        with pytest.raises(DataError, match="indptr"):
            libsvmx.train(X, [1, 2, 1, 2], kernel_type=kernel)
