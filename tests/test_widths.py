"""The number of features of a model, and arrays with more or fewer."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from support import data

import libsvmx
from libsvmx import DataError

RANDOM = np.random.default_rng(1)
X = RANDOM.standard_normal((30, 4))
X[:, 3] = 0.0
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
WIDE = np.column_stack((X, np.ones(30)))

FORMS = {
    "dense": np.array,
    "list": np.ndarray.tolist,
    "float32": np.float32,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_array,
}
TRAININGS = {
    "C-SVC": (Y, {}),
    "three classes": (np.arange(30) % 3, {}),
    "regression": (X[:, 1], {"svm_type": 3}),
    "one class": (Y, {"svm_type": 2}),
    "crsvm": (Y, {"solver": "crsvm", "kernel_type": 0}),
    "factor": (Y, {"solver": "crsvm", "rank": 5, "predict_with": "factor"}),
}
CALLS = (libsvmx.predict, libsvmx.decision_values)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TRAININGS)
def test_columns_of_the_training_array(name, form):
    y, options = TRAININGS[name]
    model = libsvmx.train(FORMS[form](X), y, **options)
    assert model.n_features == 4
    assert model.support_vectors.shape == (model.n_sv, 4)
    for call in CALLS:
        with pytest.raises(DataError, match="X has 5 columns, but the model was trained on 4"):
            call(model, FORMS[form](WIDE))
        with pytest.raises(DataError, match="X has 3 columns, but the model was trained on 4"):
            call(model, FORMS[form](X[:, :3]))
        call(model, FORMS[form](X))


# every call that takes rows to predict: a function of rows
FACES = {
    "predict": lambda: partial(libsvmx.predict, libsvmx.train(X, Y)),
    "decision_values": lambda: partial(libsvmx.decision_values, libsvmx.train(X, Y)),
    "predict_probability": lambda: partial(libsvmx.predict_probability, libsvmx.train(X, Y, probability=True)),
    "explain": lambda: lambda rows: libsvmx.explain(libsvmx.train(X, Y), rows, X[:3]),
    "background": lambda: lambda rows: libsvmx.explain(libsvmx.train(X, Y), X[:3], rows),
    "State.predict": lambda: libsvmx.train(X, Y, keep_state=True).predict,
    "State.decision_values": lambda: libsvmx.train(X, Y, keep_state=True).decision_values,
    "State.add": lambda: lambda rows: libsvmx.train(X, Y, keep_state=True).add(rows, Y),
    "influence": lambda: lambda rows: libsvmx.influence(libsvmx.train(X, Y, keep_state=True), rows, Y),
    "jackknife_plus": lambda: lambda rows: libsvmx.jackknife_plus(libsvmx.train(X, Y, keep_state=True), rows),
    "full_conformal": lambda: lambda rows: libsvmx.full_conformal(libsvmx.train(X, Y, keep_state=True), rows),
    "p_values": lambda: lambda rows: libsvmx.conformal_p_values(libsvmx.train(X, Y, keep_state=True), rows, Y),
    "cv_plus": lambda: lambda rows: libsvmx.cv_plus(X, Y, rows),
    "low_rank": lambda: libsvmx.low_rank(X, rank=3).features_of,
    "SVC": lambda: estimator("SVC").fit(X, Y).predict,
    "SVC.partial_fit": lambda: lambda rows: estimator("SVC").partial_fit(X, Y).partial_fit(rows, Y),
    "OneClassSVM": lambda: estimator("OneClassSVM").fit(X).score_samples,
    "SVCCV": lambda: estimator("SVCCV", Cs=[1.0], gammas=[1.0]).fit(X, Y).decision_function,
}


def estimator(name, **parameters):
    pytest.importorskip("sklearn")
    return getattr(libsvmx, name)(**parameters)


@pytest.mark.each_value
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("face", FACES)
def test_columns_that_are_missing(face, form):
    """A table without its last column, or with the wrong ones, is a mistake, not rows that are 0 there."""
    call = FACES[face]()
    for rows in (X[:, :3], X[:, :1]):
        with pytest.raises(ValueError, match=f"X has {rows.shape[1]} (columns|features), but"):
            call(FORMS[form](rows))
    call(FORMS[form](X))


def test_features_that_are_missing_are_0_where_rows_have_indices():
    some = libsvmx.train(X, Y, kernel_type=0), libsvmx.train([{1: 1.0, 3: 2.0}, {2: -1.0}], [1, -1], kernel_type=0)
    for model in some:
        full = libsvmx.decision_values(model, np.array([[0.5, 0.0, 0.0, 0.0]])[:, : model.n_features])
        for rows in ([{1: 0.5}], libsvmx.CsrMatrix(np.array([0, 1]), np.ones(1, np.int32), np.array([0.5]))):
            assert libsvmx.decision_values(model, rows) == full
        with pytest.raises(DataError, match=f"1 columns, but the model was trained on {model.n_features}"):
            libsvmx.decision_values(model, np.array([[0.5]]))


def test_svmutil_reads_tables_as_libsvm_does():
    from libsvmx import svmutil

    trained = svmutil.svm_train(Y, X, "-t 0 -q")
    narrow = svmutil.svm_predict([], X[:, :2], trained, "-q")[2]
    assert narrow == svmutil.svm_predict([], np.column_stack((X[:, :2], np.zeros((30, 2)))), trained, "-q")[2]


def test_a_column_of_index_0_is_in_no_table():
    rows = [{0: 1.0, 2: 1.0}, {0: -1.0, 1: 2.0}, {2: -1.0}]
    model = libsvmx.train(rows, [1, -1, -1], kernel_type=0)
    expected = libsvmx.decision_values(model, [{1: 1.0, 2: 3.0}])
    assert libsvmx.decision_values(model, [[1.0, 3.0]]) == expected
    for table in ([[1.0]], [[1.0, 3.0, 2.0]]):
        with pytest.raises(DataError, match="but the model was trained on 2"):
            libsvmx.decision_values(model, table)


def test_support_vectors_are_rows_of_the_array():
    model = libsvmx.train(X, Y)
    np.testing.assert_array_equal(model.support_vectors.toarray(), X[model.sv_indices - 1])


def test_probabilities_and_states():
    model = libsvmx.train(X, Y, probability=True)
    with pytest.raises(DataError, match="5 columns"):
        libsvmx.predict_probability(model, WIDE)
    state = libsvmx.train(X, Y, keep_state=True)
    with pytest.raises(DataError, match="5 columns"):
        state.predict(WIDE)
    state.add(WIDE[:3] + 1, Y[:3])  # added rows may bring new features
    assert state.model.n_features == 5
    assert state.predict(WIDE).shape == (30,)
    state.remove(state.ids[-3:])
    assert state.model.n_features == 5


def test_a_state_file_keeps_the_columns(tmp_path):
    path = str(tmp_path / "state")
    for rows in (X, libsvmx.CsrMatrix(np.arange(3), np.ones(2, np.int32), np.ones(2), n_columns=7, first_index=0)):
        state = libsvmx.train(rows, Y[: len(rows)], keep_state=True)
        state.save(path)
        assert libsvmx.State.load(path).model.n_features == state.model.n_features
    state = libsvmx.train(X, Y, keep_state=True)
    state.save(path)
    np.testing.assert_array_equal(libsvmx.State.load(path).predict(X), state.predict(X))


def test_rows_with_indices_are_read_as_libsvm_reads_them():
    model = libsvmx.train(X, Y)
    known, further = [{1: 0.5}], [{1: 0.5, 9: 2.0}]
    assert libsvmx.decision_values(model, known) != libsvmx.decision_values(model, further)  # it counts in distances
    indptr, indices, values = np.array([0, 2]), np.array([1, 9], np.int32), np.array([0.5, 2.0])
    matrix = libsvmx.CsrMatrix(indptr, indices, values)
    assert libsvmx.decision_values(model, matrix) == libsvmx.decision_values(model, further)
    linear = libsvmx.train(X, Y, kernel_type=0)
    assert libsvmx.decision_values(linear, known) == libsvmx.decision_values(linear, further)


def test_a_loaded_model_knows_only_its_support_vectors(tmp_path):
    path = str(tmp_path / "model")
    model = libsvmx.train(X, Y)
    libsvmx.save_model(path, model)
    loaded = libsvmx.load_model(path)
    assert loaded.n_features == 3
    np.testing.assert_array_equal(libsvmx.predict(loaded, X), libsvmx.predict(model, X))
    assert pickle.loads(pickle.dumps(model)).n_features == 4
    with pytest.raises(ValueError, match="columns of a model must be at least 4"):
        replace(model, columns=2)


def test_data_files():
    rows, y = libsvmx.read_problem(str(data.DATA / "heart_scale"))
    model = libsvmx.train(rows[:50], y[:50])
    assert model.n_features == rows.max_index == 13
    assert libsvmx.train(rows[:0:-5], y[:0:-5]).support_vectors.shape[1] == 13


def test_an_index_0_is_a_column():
    rows = [{0: 1.0, 2: 1.0}, {0: -1.0}, {2: -1.0}]
    model = libsvmx.train(rows, [1, -1, -1], kernel_type=0)
    assert model.n_features == 3
    expected = [[row.get(j, 0.0) for j in range(3)] for row in np.array(rows)[model.sv_indices - 1]]
    np.testing.assert_array_equal(model.support_vectors.toarray(), expected)


def test_precomputed_kernels(tmp_path):
    K = X @ X.T
    model = libsvmx.train(K, Y, kernel_type=4)
    assert model.n_features == 30
    for columns in (29, 31):
        with pytest.raises(DataError, match=f"X has {columns} columns, but the model was trained on 30"):
            libsvmx.predict(model, np.ones((2, columns)))
    path = str(tmp_path / "model")
    libsvmx.save_model(path, model)
    assert libsvmx.load_model(path).n_features == max(model.sv_indices)


def test_low_rank_features():
    found = libsvmx.low_rank(X, rank=3)
    with pytest.raises(DataError, match="X has 5 columns, but the model was trained on 4"):
        found.features_of(WIDE)


@pytest.mark.parametrize("line, columns", [("1 2147483647:1\n", 2**31 - 1), ("1 0:2 2147483647:1\n", 2**31)])
def test_columns_up_to_the_largest_index(tmp_path, line, columns):
    (tmp_path / "d").write_text(line)
    X, _ = libsvmx.read_problem(str(tmp_path / "d"))
    assert X.shape == (1, columns)
