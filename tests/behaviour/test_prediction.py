"""predict(), decision_values(), predict_probability(): LIBSVM's bits, and NumPy's sums over the coefficients."""

import threading

import numpy as np
import pytest
from scipy import sparse
from support import optima, oracle

import libsvmx
from libsvmx import DataError, ParameterError

from .table import IN_LIBSVM, LIBSVMS, Case, each
from .test_training import THREADS, forms


def trained(case, tmp_path, **options):
    """A model read from its file, whose vectors have fewer digits; and LIBSVM's from the same file."""
    libsvmx.save_model(tmp_path / "model", case.train(**options))
    return libsvmx.load_model(tmp_path / "model"), oracle.load(tmp_path / "model")


def predictions(model, X, threads=0):
    """All predictions of a model, as bytes."""
    found = [libsvmx.predict(model, X, threads=threads), libsvmx.decision_values(model, X, threads=threads)]
    if model.has_probability and not model.param.svm_type.is_regression:
        found += libsvmx.predict_probability(model, X, threads=threads)
    return [part.tobytes() for part in found]


@each("train", solver=["smo"], task=IN_LIBSVM, kernel=LIBSVMS, probability=[True, False])
def test_labels_values_and_probabilities_are_libsvms(solver, task, kernel, probability, mechanism, tmp_path):
    case = Case(solver, task, kernel, probability=probability, **mechanism)
    model, theirs = trained(case, tmp_path)
    for rows in (case.rows, case.new):
        matrix = case.matrix(rows, case.rows)
        X = case.tests(rows)
        labels, values = oracle.predict(theirs, matrix)
        assert libsvmx.predict(model, X).tolist() == labels
        assert libsvmx.decision_values(model, X).tolist() == values
        if probability and model.has_probability and not case.svm_type.is_regression:
            labels, estimates = oracle.predict_probability(theirs, matrix)
            found = libsvmx.predict_probability(model, X)
            assert found[0].tolist() == labels
            assert found[1].tolist() == estimates


@each("train")
def test_values_are_sums_of_coefficients_and_kernel_values(solver, task, kernel, mechanism):
    """As computed by NumPy, and labels by LIBSVM's votes."""
    case = Case(solver, task, kernel, **mechanism)
    model = case.train()
    expected = optima.decision_values(model, case.K(case.new, case.rows))
    values = libsvmx.decision_values(model, case.tests())
    size = np.abs(model.sv_coef).sum() * max(1.0, np.abs(case.known).max())
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * size)
    assert np.array_equal(libsvmx.predict(model, case.tests()), optima.predictions(model, values))


@each("train", strength=1, solver=["smo"])
def test_neither_threads_nor_other_rows_change_a_bit(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, probability=True, **mechanism)
    model = case.train()
    whole = predictions(model, case.tests(), threads=1)
    for threads in THREADS:
        assert predictions(model, case.tests(), threads) == whole
    width = [len(part) // len(case.new) for part in whole]
    for few in ([0], [3, 1, 4, 1, 5], range(8), range(23)):
        found = predictions(model, case.tests(case.new[list(few)]))
        for part, all_rows, size in zip(found, whole, width, strict=True):
            assert part == b"".join(all_rows[size * i : size * (i + 1)] for i in few)
    assert libsvmx.predict(model, case.tests()[:0]).shape == (0,)
    assert libsvmx.decision_values(model, case.tests()[:0]).shape == (0, len(model.rho))


@pytest.mark.parametrize("task", ["two classes", "binary features", "three classes", "epsilon-SVR"])
@pytest.mark.parametrize("kernel", ["linear", "cubic", "rbf", "sigmoid"])
def test_every_form_of_rows_is_predicted_alike(task, kernel):
    case = Case("smo", task, kernel)
    model, X = case.train(), case.tests()
    expected = predictions(model, case.matrix(case.new))
    assert predictions(model, X) == expected
    for name, form in forms(X):
        assert predictions(model, form) == expected, name


def test_features_that_are_missing_are_0_and_others_count_as_libsvm_counts_them(tmp_path):
    case = Case("smo", "two classes", "rbf")
    model, X = case.train(), case.tests()
    narrow = X[:, :9]
    filled = np.column_stack([narrow, np.zeros((len(X), 4))])
    with_index = [{j + 1: v for j, v in enumerate(row)} for row in narrow.tolist()]
    assert np.array_equal(libsvmx.decision_values(model, with_index), libsvmx.decision_values(model, filled))
    with pytest.raises(DataError, match="X has 9 columns, but the model was trained on 13"):
        libsvmx.decision_values(model, narrow)
    with pytest.raises(DataError, match="X has 14 columns, but the model was trained on 13"):
        libsvmx.predict(model, np.column_stack([X, X[:, 0]]))
    with pytest.raises(DataError, match="X has 14 columns"):
        libsvmx.predict(model, sparse.csr_array(np.column_stack([X, X[:, 0]])))
    beyond = [{1: 0.5, 40: 2.0}, {2: -1.0}]
    libsvmx.save_model(tmp_path / "model", model)
    rows = libsvmx.CsrMatrix(*(np.array(a, t) for a, t in (([0, 2, 3], "q"), ([1, 40, 2], "i"), ([0.5, 2, -1], "d"))))
    _, values = oracle.predict(oracle.load(tmp_path / "model"), rows)
    loaded = libsvmx.load_model(tmp_path / "model")
    assert libsvmx.decision_values(loaded, beyond).tolist() == values


@each("predict_probability", strength=1, solver=["smo", "irwls", "crsvm, low rank"])
def test_probabilities_are_probabilities(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, probability=True, **mechanism)
    model = case.train()
    labels, estimates = libsvmx.predict_probability(model, case.tests())
    assert estimates.shape == (len(case.new), max(case.task.n_classes, 2))
    assert (estimates >= 0).all() and (estimates <= 1).all()
    np.testing.assert_allclose(estimates.sum(axis=1), 1, rtol=0, atol=1e-12)
    if case.task.is_classification:
        assert np.array_equal(labels, model.labels[estimates.argmax(axis=1)])
    else:
        assert np.array_equal(labels, libsvmx.predict(model, case.tests()))


def test_labels_in_doubt_are_those_of_libsvms_sums(tmp_path):
    """Vectors of both classes at the same places: each decision value is rounding error, of either sign, or 0."""
    case = Case("smo", "two classes", "rbf")
    X = np.vstack([case.X(), case.X()])
    y = np.concatenate([case.y(), -case.y()])
    for kernel, options in {"linear": {}, "rbf": {"gamma": 0.1}, "sigmoid": {"gamma": 0.05, "coef0": 0.1}}.items():
        model = libsvmx.train(X, y, kernel_type=kernel, **options)
        libsvmx.save_model(tmp_path / "model", model)
        labels, values = oracle.predict(oracle.load(tmp_path / "model"), case.matrix(case.new))
        loaded = libsvmx.load_model(tmp_path / "model")
        assert libsvmx.predict(loaded, case.tests()).tolist() == labels
        assert libsvmx.decision_values(loaded, case.tests()).tolist() == values
        assert np.abs(values).max() < 1e-9


def test_threads_that_predict_with_one_model_at_once():
    case = Case("smo", "three classes", "rbf", probability=True)
    model, start, found = case.train(), threading.Barrier(4), []
    expected = predictions(model, case.tests())

    def predict():
        start.wait()
        found.extend(predictions(model, case.tests()) for _ in range(20))

    threads = [threading.Thread(target=predict) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 80


def test_refusals():
    case = Case("smo", "two classes", "rbf")
    model = case.train()
    state = case.state()
    for function in (libsvmx.predict, libsvmx.decision_values):
        with pytest.raises(TypeError, match=r"take its \.model"):
            function(state, case.tests())
        with pytest.raises(ParameterError, match="threads must be between 0 and"):
            function(model, case.tests(), threads=-1)
        with pytest.raises(DataError, match="not finite"):
            function(model, np.full((2, 13), np.nan))
        with pytest.raises(DataError, match="must have rows and columns"):
            function(model, np.zeros(13))
    with pytest.raises(DataError, match="train with probability=True"):
        libsvmx.predict_probability(model, case.tests())
    given = Case("smo", "two classes", "precomputed")
    with pytest.raises(DataError, match="column"):
        libsvmx.predict(given.train(), given.tests()[:, :20])
