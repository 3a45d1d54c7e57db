"""Weights of linear models, low-rank features, and reports of solver crsvm to observers."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from support import data

import libsvmx

SETS = ["heart_scale", "iris.scale", "glass.scale", "a1a.xz"]


def table(name):
    """(dense rows, labels): feature j in column j - 1."""
    X, y = libsvmx.read_problem(str(data.DATA / name))
    return X.toarray(), y


# ---- Model.w ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("options", [{}, {"solver": "crsvm"}, {"svm_type": 1, "nu": 0.05}])
def test_w_gives_the_decision_values(name, options):
    X, y = table(name)
    model = libsvmx.train(X, y, kernel_type=0, **options)
    assert model.w.shape == (len(model.rho), X.shape[1])
    assert model.support_vectors.shape == (model.n_sv, X.shape[1])
    assert model.w.dtype == np.float64
    values = X @ model.w.T - model.rho
    np.testing.assert_allclose(values, libsvmx.decision_values(model, X), rtol=0, atol=1e-9 * (1 + abs(values).max()))


@pytest.mark.parametrize("options", [{"svm_type": 2, "nu": 0.3}, {"svm_type": 3, "p": 0.2}, {"svm_type": 4}])
def test_w_of_a_single_function(options):
    X, y = table("heart_scale")
    model = libsvmx.train(X, y, kernel_type=0, **options)
    values = X @ model.w.T - model.rho
    np.testing.assert_allclose(values, libsvmx.decision_values(model, X), rtol=0, atol=1e-9)


def test_w_of_a_loaded_model(tmp_path):
    X, y = table("iris.scale")
    model = libsvmx.train(X, y, kernel_type=0, solver="crsvm", low_rank="cholesky", rank=4, predict_with="factor")
    path = str(tmp_path / "model")
    libsvmx.save_model(path, model)
    np.testing.assert_array_equal(libsvmx.load_model(path).w, model.w)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).w, model.w)
    exact = libsvmx.train(X, y, kernel_type=0, solver="crsvm")  # 4 features: the factor is exact
    np.testing.assert_allclose(model.w, exact.w, rtol=0, atol=1e-8)


def test_w_is_read_only_and_may_be_empty():
    X, y = table("heart_scale")
    with pytest.raises(ValueError, match="read-only"):
        libsvmx.train(X, y, kernel_type=0).w[0, 0] = 1
    with_one_class = libsvmx.train(X, np.ones(len(y)), kernel_type=0)
    assert with_one_class.n_sv == 0
    assert with_one_class.w.shape == (0, 13)


def test_what_has_no_w():
    X, y = table("heart_scale")
    model = libsvmx.train(X, y)
    with pytest.raises(AttributeError, match="only models of a linear kernel have w, not of RBF"):
        model.w  # noqa: B018
    assert not hasattr(model, "w")


def test_w_of_features_with_index_0():
    rows = [{0: 1.0, 1: 2.0}, {0: 0.5, 1: -2.0}, {3: 1.0}]
    model = libsvmx.train(rows, [1, -1, 1], kernel_type=0)
    assert model.w.shape == (1, 4)
    tests = libsvmx.train(rows, [1, -1, 1], kernel_type=0, C=1e3).vectors
    values = tests.toarray() @ model.w.T - model.rho
    np.testing.assert_allclose(values, libsvmx.decision_values(model, tests), rtol=0, atol=1e-12)


# ---- low_rank -----------------------------------------------------------------------------------


def kernel(X, Z, gamma):
    return np.exp(-gamma * (np.sum(X**2, 1)[:, None] + np.sum(Z**2, 1) - 2 * X @ Z.T))


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, np.ndarray.tolist, lambda X: libsvmx.read_problem(HEART)[0]])
def test_every_form_of_rows(form):
    X, _ = table("heart_scale")
    expected = libsvmx.low_rank(X, rank=9)
    assert expected.param.gamma == 1 / 13
    found = libsvmx.low_rank(form(X), rank=9)
    np.testing.assert_array_equal(found.factor, expected.factor)
    np.testing.assert_array_equal(found.features_of(form(X)), expected.features_of(X))


HEART = str(data.DATA / "heart_scale")


def test_a_given_kernel_matrix():
    X, _ = table("heart_scale")
    K = kernel(X, X, 0.1)
    np.fill_diagonal(K, 1)  # otherwise rounding decides the first pivot
    given = libsvmx.low_rank(K, kernel_type=4, rank=30)
    computed = libsvmx.low_rank(X, gamma=0.1, rank=30)
    np.testing.assert_allclose(given.factor, computed.factor, rtol=0, atol=1e-7)
    np.testing.assert_allclose(given.features_of(K[:7]), computed.factor[:7], rtol=0, atol=1e-7)
    with pytest.raises(libsvmx.DataError):
        given.features_of(K[:7, :3])


@pytest.mark.parametrize("empty", [np.zeros((0, 3)), []])
def test_no_rows(empty):
    with pytest.raises(libsvmx.DataError):
        libsvmx.low_rank(empty, rank=3)
    assert libsvmx.low_rank(np.eye(4), rank=3).features_of(np.zeros((0, 4))).shape == (0, 3)


# ---- observers ----------------------------------------------------------------------------------


class Log(libsvmx.Observer):
    def __init__(self):
        self.lines, self.factors = [], []

    def iterated(self, line):
        assert isinstance(line, libsvmx.Iteration)
        self.lines.append(line)

    def factorized(self, rank, trace_error, trace):
        self.factors.append((rank, trace_error, trace))


def test_an_observer_is_told_of_iterations():
    X, y = table("heart_scale")
    log = Log()
    libsvmx.train(X, y, kernel_type=0, solver="crsvm", observer=log)
    assert log.lines[0].number == 0
    assert log.lines[-1].gap <= 1e-8
    assert all(type(value) in (int, float) for line in log.lines for value in line)
    assert log.factors == []
    log = Log()
    libsvmx.cross_validate(X, y, 5, solver="crsvm", low_rank="cholesky", rank=9, observer=log)
    assert sum(line.number == 0 for line in log.lines) == 5
    ((rank, error, trace),) = log.factors
    assert rank == 9
    assert 0 < error < trace == 270


def test_public_names():
    assert {"Iteration", "LowRankKernel", "low_rank"} <= set(dir(libsvmx))


def test_star_import_has_the_estimators_where_scikit_learn_is_installed():
    from importlib.util import find_spec

    names: dict[str, object] = {}
    exec("from libsvmx import *", names)
    assert names["train"] is libsvmx.train
    assert ("SVC" in names) == ("SVC" in dir(libsvmx)) == (find_spec("sklearn") is not None)


@pytest.mark.parametrize("error", ["ImportError", "ValueError"])
def test_star_import_without_a_scikit_learn_that_can_be_imported(error, tmp_path):
    (tmp_path / "sklearn.py").write_text(f"raise {error}('made for another NumPy')")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from libsvmx import *; print(train, 'SVC' in globals())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout[-6:]) == (0, "False\n"), done.stderr
