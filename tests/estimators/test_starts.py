"""Start and end of a fit: warm starts, the optimum in double, no iteration at all; and their reports."""

import pickle
import warnings

import numpy as np
import pytest
from support.data import sparse_rows
from support.injected import put_around
from support.optional import optional

import libsvmx
from libsvmx._train.warm_start import WarmStart

svm = optional("sklearn.svm")
exceptions = optional("sklearn.exceptions")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
EXACT = ("SVC", "SVR", "OneClassSVM")


X, Y = sparse_rows("heart_scale")
IRIS, SPECIES = sparse_rows("iris.scale", 150)


def values(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.fixture
def begun(monkeypatch):
    """For each dual problem of a fit, whether it had a start."""
    seen = []

    def spy(known, own, number, dual, kernel, control):
        started = known(own, number, dual, kernel, control)
        seen.append(started is not dual)
        return started

    put_around(monkeypatch, WarmStart, "begin", spy)
    return seen


# ---- warm starts ----------------------------------------------------------------------------------

CHANGES = [
    {"gamma": 0.2},
    {"gamma": 0.02},
    {"coef0": 1.0},
    {"kernel": "linear"},
    {"tol": 1e-9},
    {"shrinking": False},
    {"solver": "chunked"},
    {"solver": "irwls"},
]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, change) for name in NAMES for change in CHANGES),
        *((name, {"C": C}) for name in ("SVC", "SVR", "NuSVR") for C in (8.0, 0.2)),
        *((name, {"nu": 0.2}) for name in ("NuSVC", "NuSVR", "OneClassSVM")),
        ("SVR", {"epsilon": 0.3}),
    ],
)
def test_a_warm_start_ends_at_the_optimum(name, change, begun):
    y = Y if name in ("SVC", "NuSVC") else Y + X.toarray()[:, 0]
    kind = getattr(libsvmx, name)
    parameters = {"kernel": "poly", "gamma": 0.1, "coef0": 0.5, "tol": 1e-8}
    if name == "NuSVC":
        parameters["nu"] = 0.4
    found = kind(warm_start=True, **parameters).fit(X, y)
    assert begun == [False]
    found.set_params(**change).fit(X, y)
    assert begun == [False, True]
    expected = kind(**{**parameters, **change}).fit(X, y)
    assert found.fit_status_ == 0
    assert found.optimality_ <= found.tol
    np.testing.assert_allclose(values(found, X), values(expected, X), atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_fit_is_as_without(name):
    expected = getattr(libsvmx, name)().fit(X, Y)
    found = getattr(libsvmx, name)(warm_start=True).fit(X, Y)
    np.testing.assert_array_equal(found.n_iter_, expected.n_iter_)
    np.testing.assert_array_equal(values(found, X), values(expected, X))


def test_the_same_again_takes_no_iteration():
    found = libsvmx.SVC(warm_start=True, gamma=0.1).fit(X, Y)
    before = found.decision_function(X)
    assert found.n_iter_[0] > 0
    assert found.fit(X, Y).n_iter_[0] == 0
    np.testing.assert_allclose(found.decision_function(X), before, atol=1e-10)


def test_a_path_of_costs_takes_fewer_iterations():
    rows, targets = sparse_rows("splice.xz", 400)
    for costs in (2.0 ** np.arange(0, 10), 2.0 ** np.arange(9, -1, -1)):
        cold = warm = 0
        chain = libsvmx.SVC(warm_start=True, gamma=0.05)
        for C in costs:
            warm += chain.set_params(C=C).fit(rows, targets).n_iter_[0]
            cold += libsvmx.SVC(C=C, gamma=0.05).fit(rows, targets).n_iter_[0]
        assert warm < 0.5 * cold


def test_warm_starts_of_many_classes_weights_and_class_weights(begun):
    found = libsvmx.SVC(warm_start=True, tol=1e-8, gamma=0.5).fit(IRIS, SPECIES)
    weights = np.linspace(0.5, 2, len(SPECIES))
    found.set_params(class_weight={1: 2.0}, C=3.0).fit(IRIS, SPECIES, sample_weight=weights)
    assert begun == [False] * 3 + [True] * 3
    expected = libsvmx.SVC(tol=1e-8, gamma=0.5, class_weight={1: 2.0}, C=3.0)
    expected.fit(IRIS, SPECIES, sample_weight=weights)
    np.testing.assert_allclose(found.decision_function(IRIS), expected.decision_function(IRIS), atol=1e-6)


def test_other_targets_of_a_regression_may_be_started_from(begun):
    found = libsvmx.SVR(warm_start=True, tol=1e-8, gamma=0.1).fit(X, Y)
    found.fit(X, 2 * Y)
    assert begun == [False, True]
    expected = libsvmx.SVR(tol=1e-8, gamma=0.1).fit(X, 2 * Y)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-6)


def test_other_rows_or_classes_start_from_nothing(begun):
    found = libsvmx.SVC(warm_start=True, gamma=0.1).fit(X, Y)
    for rows, targets in [(X[:150], Y[:150]), (X[::-1], Y[::-1]), (X[::-1], np.where(np.arange(200) % 2, 1, 0))]:
        found.fit(rows, targets)
        expected = libsvmx.SVC(gamma=0.1).fit(rows, targets)
        np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert not any(begun)


@pytest.mark.parametrize("kernel", ["precomputed", lambda a, b: a @ b.T])
def test_warm_starts_of_given_kernels(kernel, begun):
    rows = (X @ X.T).toarray() if kernel == "precomputed" else X.toarray()
    found = libsvmx.SVC(kernel=kernel, warm_start=True, tol=1e-8).fit(rows, Y)
    found.set_params(C=0.1).fit(rows, Y)
    assert begun == [False, True]
    expected = libsvmx.SVC(kernel="linear", C=0.1, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(found.decision_function(rows), expected.decision_function(X), atol=1e-5)


def test_probabilities_of_a_warm_start():
    found = libsvmx.SVC(warm_start=True, probability=True, random_state=1, C=5).fit(X, Y).set_params(C=1).fit(X, Y)
    expected = libsvmx.SVC(probability=True, random_state=1).fit(X, Y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-2)
    np.testing.assert_array_equal(found.probA_, expected.probA_)


def test_a_warm_start_survives_a_pickle_and_a_time_limit(begun):
    found = libsvmx.SVC(warm_start=True, gamma=0.1).fit(X, Y)
    again = pickle.loads(pickle.dumps(found)).fit(X, Y)
    assert again.n_iter_[0] == 0
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit"):
        found.set_params(max_time=1e-9, gamma=0.5).fit(X, Y)
    assert found.fit_status_ == 1
    found.set_params(max_time=None).fit(X, Y)
    assert found.fit_status_ == 0
    assert found.optimality_ <= found.tol


def test_an_infinite_cost_starts_from_nothing(begun):
    rows, targets = IRIS[:100], SPECIES[:100]
    found = libsvmx.SVC(warm_start=True, C=np.inf).fit(rows, targets).fit(rows, targets)
    assert begun == [False, False]
    assert found.set_params(C=1.0).fit(rows, targets).fit_status_ == 0


# ---- the optimum of the kernel in double ----------------------------------------------------------


@pytest.mark.parametrize("name", EXACT)
def test_refined_is_the_optimum_in_double(name):
    y = Y if name == "SVC" else Y + X.toarray()[:, 0]
    kind = getattr(libsvmx, name)
    found = kind(refine=True, gamma=0.1).fit(X, y)
    coarse, fine = kind(gamma=0.1).fit(X, y), kind(gamma=0.1, tol=1e-10).fit(X, y)
    assert found.optimality_ < 1e-9 < coarse.optimality_ < 1e-3
    assert found.fit_status_ == 0
    far, near = (np.abs(values(found, X) - values(model, X)).max() for model in (coarse, fine))
    assert near < 1e-6 < far
    np.testing.assert_array_equal(found.n_iter_, coarse.n_iter_)
    parameters = {"svm_type": found._svm_type, "gamma": 0.1, "nu": 0.5}
    sign = -1 if name == "SVC" else 1
    state = libsvmx.train(X, (y > 0) * 1.0 if name == "SVC" else y, keep_state=True, **parameters)
    if name == "SVC" and y[0] > 0:
        sign = 1  # its first class is the positive one
    np.testing.assert_allclose(values(found, X), sign * state.decision_values(X).ravel(), atol=1e-9)


def test_refined_with_classes_weights_and_probabilities():
    weights = np.linspace(0.5, 2, len(SPECIES))
    parameters = {"gamma": 0.5, "class_weight": {1: 3.0, 3: 0.5}, "probability": True, "random_state": 0}
    found = libsvmx.SVC(refine=True, **parameters).fit(IRIS, SPECIES, sample_weight=weights)
    expected = libsvmx.SVC(tol=1e-10, **parameters).fit(IRIS, SPECIES, sample_weight=weights)
    assert found.optimality_ < 1e-9
    np.testing.assert_allclose(found.decision_function(IRIS), expected.decision_function(IRIS), atol=1e-5)
    np.testing.assert_array_equal(found.support_, expected.support_)
    assert found.predict_proba(IRIS).shape == (150, 3)


def test_a_refined_fit_depends_on_neither_tolerance_nor_order_nor_solver():
    expected = libsvmx.SVC(refine=True, gamma=0.1).fit(X, Y).decision_function(X)
    order = np.random.default_rng(0).permutation(len(Y))
    for parameters in ({"tol": 0.05}, {"solver": "chunked"}, {"solver": "irwls"}):
        found = libsvmx.SVC(refine=True, gamma=0.1, **parameters).fit(X[order], Y[order])
        np.testing.assert_allclose(found.decision_function(X), expected, atol=1e-9)


def test_refined_weights_are_repetitions():
    """To 1e-7, which SMO over a float kernel reaches with no tolerance."""
    weights = np.arange(len(Y)) % 3 + 1
    weighted = libsvmx.SVC(refine=True, gamma=0.1).fit(X, Y, sample_weight=weights)
    rows = np.repeat(np.arange(len(Y)), weights)
    repeated = libsvmx.SVC(refine=True, gamma=0.1).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("SVC", {"kernel": lambda a, b: a @ b.T}, "not a callable one"),
        ("SVC", {"C": np.inf}, "C must be finite for refine=True"),
        ("SVC", {"solver": libsvmx.CRSVM(), "kernel": "linear"}, "crsvm"),
    ],
)
def test_what_cannot_be_refined(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        getattr(libsvmx, name)(refine=True, **parameters).fit(X.toarray(), Y)


def test_a_refinement_that_is_stopped_is_told():
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit"):
        found = libsvmx.SVC(refine=True, max_time=1e-9).fit(X, Y)
    assert found.fit_status_ == 1
    with pytest.warns(exceptions.ConvergenceWarning, match="max_iter=3"):
        found = libsvmx.SVC(refine=True, max_iter=3).fit(X, Y)
    assert found.fit_status_ == 1
    assert found.n_iter_[0] == 3
    assert found.optimality_ > found.tol


def test_warm_and_refined():
    found = libsvmx.SVC(warm_start=True, refine=True, gamma=0.1).fit(X, Y)
    before = found.decision_function(X)
    assert found.fit(X, Y).n_iter_[0] == 0
    np.testing.assert_allclose(found.decision_function(X), before, atol=1e-10)


# ---- no iteration, and reports --------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 5])
@pytest.mark.parametrize("name", NAMES)
def test_few_iterations_are_those_of_scikit_learn(name, limit):
    parameters = {"max_iter": limit, "gamma": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(svm, name)(**parameters).fit(X, Y)
    with pytest.warns(exceptions.ConvergenceWarning, match=f"max_iter={limit}"):
        ours = getattr(libsvmx, name)(**parameters).fit(X, Y)
    np.testing.assert_array_equal(ours.n_iter_, theirs.n_iter_)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.n_support_.sum() == len(theirs.support_)  # theirs of regressions counts rows without beta
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.fit_status_ == theirs.fit_status_ == 1


@pytest.mark.parametrize("name", NAMES)
def test_optimality_is_the_gap_of_the_model(name):
    found = getattr(libsvmx, name)(gamma=0.1).fit(X, Y)
    assert found.optimality_ == max(report.gap for report in found._fitted.model.reports) <= found.tol
