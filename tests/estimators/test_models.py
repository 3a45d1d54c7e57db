"""Estimators to and from models, without a file: functions over arrays and estimators work together."""

from inspect import isfunction, signature

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.optional import optional

import libsvmx

optional("sklearn")

RANDOM = np.random.RandomState(3)
X = RANDOM.normal(size=(60, 2)) / 3
CLASSES = np.where(X[:, 0] > 0.1, 3, np.where(X[:, 1] > 0, 8, -1))
TARGETS = X[:, 0] - X[:, 1] ** 2
ESTIMATORS = {
    "SVC": (libsvmx.SVC(C=3.0, gamma=0.7), CLASSES),
    "SVC of two classes": (libsvmx.SVC(kernel="linear"), CLASSES == 3),
    "SVC with probabilities": (libsvmx.SVC(gamma=0.7, probability=True, random_state=0), CLASSES),
    "NuSVC": (libsvmx.NuSVC(nu=0.2, gamma=0.7), CLASSES),
    "SVR": (libsvmx.SVR(epsilon=0.01, gamma=0.7), TARGETS),
    "NuSVR": (libsvmx.NuSVR(kernel="poly", degree=2, coef0=1.0), TARGETS),
    "OneClassSVM": (libsvmx.OneClassSVM(nu=0.3, gamma=0.7), None),
}


@pytest.fixture(params=ESTIMATORS)
def fitted(request):
    estimator, y = ESTIMATORS[request.param]
    return estimator.fit(X, y)


def test_there_and_back_nothing_changes(fitted):
    model = fitted.to_model()
    again = type(fitted).from_model(model)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(
        again.decision_function(X) if hasattr(again, "decision_function") else 0,
        fitted.decision_function(X) if hasattr(fitted, "decision_function") else 0,
    )
    np.testing.assert_array_equal(again.support_, fitted.support_)
    for name in ("C", "nu", "epsilon", "tol", "kernel", "degree", "coef0"):
        assert getattr(again, name, None) == getattr(fitted, name, None), name
    np.testing.assert_array_equal(libsvmx.predict(fitted, X), libsvmx.predict(model, X))
    np.testing.assert_array_equal(libsvmx.decision_values(fitted, X), libsvmx.decision_values(model, X))
    if getattr(fitted, "probability", False):
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
        np.testing.assert_array_equal(
            libsvmx.predict_probability(fitted, X)[1], libsvmx.predict_probability(model, X)[1]
        )


def test_models_of_train_whose_classes_come_in_any_order():
    order = np.argsort(-CLASSES, kind="stable")
    rows, y = X[order], CLASSES[order]
    model = libsvmx.train(rows, y, C=3.0, gamma=0.7)
    made, fitted = libsvmx.SVC.from_model(model), libsvmx.SVC(C=3.0, gamma=0.7).fit(rows, y)
    assert made.classes_.tolist() == fitted.classes_.tolist()
    np.testing.assert_array_equal(made.predict(X), libsvmx.predict(model, X))
    assert sorted(made.support_) == sorted(np.asarray(model.sv_indices) - 1)
    np.testing.assert_array_equal(rows[made.support_], made.support_vectors_.toarray())


TAKEN = ("compress", "decision_values", "explain", "export", "predict", "predict_probability", "save_model")
OF_STATES = ("conformal_p_values", "full_conformal", "influence", "jackknife_plus")


def test_what_takes_a_model_is_known():
    """By argument name: a new function that takes a model must also take a fitted estimator, and be listed here."""
    found = {"model": [], "state": []}
    for name in libsvmx.__all__:
        if isfunction(getattr(libsvmx, name)):
            for argument in signature(getattr(libsvmx, name)).parameters:
                if argument in found:
                    found[argument].append(name)
    assert found["model"] == sorted(TAKEN)
    assert set(found["state"]) == {*OF_STATES} - {"jackknife_plus"}  # it takes either a state or rows


@pytest.mark.parametrize("name", OF_STATES)
def test_what_takes_a_state_says_how_an_estimator_becomes_one(name):
    fitted = libsvmx.SVC(gamma=0.7).fit(X, CLASSES)
    more = (CLASSES[:2],) if name in ("conformal_p_values", "influence") else ()
    with pytest.raises(TypeError, match=r"or State.from_model\(X, y, model\), not a SVC"):
        getattr(libsvmx, name)(fitted, X[:2], *more)
    state = libsvmx.State.from_model(X, CLASSES, fitted, C=1.0)
    getattr(libsvmx, name)(state, X[:2], *more)


@pytest.mark.parametrize(
    "fitted",
    [
        libsvmx.SVC(gamma=0.7, probability=True),
        libsvmx.SVCCV(Cs=[1.0], gammas=[0.7], probability=True),
        optional("sklearn.model_selection").GridSearchCV(libsvmx.SVC(gamma=0.7, probability=True), {"C": [1.0]}),
    ],
    ids=lambda fitted: type(fitted).__name__,
)
def test_every_function_takes_a_fitted_estimator(fitted, tmp_path):
    fitted.fit(X, CLASSES)
    model = libsvmx.SVC.from_model(fitted).to_model()
    for one in (libsvmx.predict, libsvmx.decision_values):
        np.testing.assert_array_equal(one(fitted, X), one(model, X))
    np.testing.assert_array_equal(libsvmx.predict_probability(fitted, X)[1], libsvmx.predict_probability(model, X)[1])
    np.testing.assert_array_equal(
        libsvmx.explain(fitted, X[:3], X[3:6]).values, libsvmx.explain(model, X[:3], X[3:6]).values
    )
    assert libsvmx.compress(fitted, max_sv=10).model.n_sv == libsvmx.compress(model, max_sv=10).model.n_sv == 10
    libsvmx.export(fitted, tmp_path / "m.json")
    libsvmx.export(model, tmp_path / "same.json")
    assert (tmp_path / "m.json").read_bytes() == (tmp_path / "same.json").read_bytes()
    libsvmx.save_model(tmp_path / "m", fitted)
    libsvmx.save_model(tmp_path / "same", model)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "same").read_bytes()
    state = libsvmx.State.from_model(X, CLASSES, fitted)
    assert sorted(state.model.labels) == sorted(model.labels)
    for start in (fitted, model):
        started = libsvmx.train(X, CLASSES, gamma=0.7, C=1.0, start=start)  # from its own optimum
        assert max(report.iterations for report in started.reports) <= 1


def test_plots_take_a_fitted_estimator():
    optional("matplotlib").use("Agg")
    from libsvmx.plot import boundary

    axes = boundary(libsvmx.SVC(gamma=0.7).fit(X, CLASSES), X, CLASSES, resolution=10)
    assert axes.has_data()


def test_what_is_no_model():
    with pytest.raises(TypeError, match="a Model or a fitted estimator is needed, not a dict"):
        libsvmx.predict({}, X)
    with pytest.raises(TypeError, match="not a type"):
        libsvmx.predict(libsvmx.SVC, X)
    with pytest.raises(ValueError, match="not fitted"):
        libsvmx.predict(libsvmx.SVC(), X)
    text = libsvmx.SVC().fit(X, CLASSES.astype(str))
    with pytest.raises(ValueError, match="codes=True"):
        libsvmx.explain(text, X[:1], X[1:2])
    assert set(libsvmx.predict(text.to_model(codes=True), X)) <= {0.0, 1.0, 2.0}
    with pytest.raises(TypeError, match="a Model or a fitted estimator is needed, not a list"):
        libsvmx.SVC.from_model([])
    with pytest.raises(ValueError, match=r"this is a model of EPSILON_SVR$"):
        libsvmx.SVC.from_model(libsvmx.train(X, TARGETS, svm_type="epsilon_svr"))


def test_estimators_of_sparse_rows_and_of_kernels():
    sparse = libsvmx.SVC(gamma=0.7).fit(csr_matrix(X), CLASSES)
    np.testing.assert_array_equal(libsvmx.decision_values(sparse, csr_matrix(X)), libsvmx.decision_values(sparse, X))
    given = libsvmx.SVC(kernel="precomputed").fit(X @ X.T, CLASSES)
    again = libsvmx.SVC.from_model(given.to_model())
    np.testing.assert_array_equal(again.decision_function(X @ X.T), given.decision_function(X @ X.T))


def test_scikit_learns_names_of_parameters():
    ours = libsvmx.train(X, CLASSES, eps=1e-5, kernel_type="linear", threads=1, weights={3: 2.0}, time_limit=60)
    theirs = libsvmx.train(X, CLASSES, tol=1e-5, kernel="linear", n_jobs=None, class_weight={3: 2.0}, max_time=60)
    assert theirs.param == ours.param
    assert libsvmx.train(X, TARGETS, svm_type="epsilon_svr", epsilon=0.3).param.p == 0.3
    assert libsvmx.cross_validate(X, CLASSES, 3, tol=1e-5, n_jobs=2).accuracy > 0
    assert libsvmx.train(X, CLASSES, n_jobs=-1).param.threads >= 1
    for wrong, words in (
        ({"tol": 1e-3, "eps": 1e-3}, "tol is called eps here"),
        ({"class_weight": "balanced"}, "factors of C by label"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"max_iter_": 3}, "no parameter max_iter_"),
    ):
        with pytest.raises(libsvmx.ParameterError, match=words):
            libsvmx.train(X, CLASSES, **wrong)


@pytest.mark.parametrize("kind", [libsvmx.SVC, libsvmx.SVR, libsvmx.QuantileSVR])
def test_crsvm_where_it_can(kind):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y = np.sign(X[:, 0]) if kind is libsvmx.SVC else X[:, 0] + 0.1 * rng.normal(size=60)
    usual = kind(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(kind(kernel="linear", solver="crsvm").fit(X, y).coef_, usual.coef_, atol=1e-5)
    for more, why in (
        ({"kernel": "rbf"}, "solver crsvm needs explicit features"),
        ({"kernel": "linear", "refine": True}, "choose another solver than crsvm"),
        ({"kernel": "linear", "warm_start": True}, "solver crsvm cannot start from what is known"),
    ):
        with pytest.raises(ValueError, match=why):
            kind(solver="crsvm", **more).fit(X, y)
    with pytest.raises(ValueError, match="choose another solver than crsvm"):
        kind(kernel="linear", solver="crsvm").partial_fit(X, y)


@pytest.mark.parametrize("kind", [libsvmx.NuSVC, libsvmx.NuSVR, libsvmx.OneClassSVM])
def test_crsvm_where_it_cannot(kind):
    X = np.random.default_rng(4).normal(size=(20, 3))
    with pytest.raises(ValueError, match="solver crsvm solves C_SVC, EPSILON_SVR and QUANTILE_SVR, not"):
        kind(kernel="linear", solver="crsvm").fit(X, np.sign(X[:, 0]))
