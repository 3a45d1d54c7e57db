"""LinearSVC, LinearSVR and their searches against those of scikit-learn, which solve the same problems."""

import pickle
import threading
import warnings

import numpy as np
import pytest
from scipy import sparse
from support.data import load
from support.interrupts import ctrl_c
from support.optional import optional

import libsvmx

svm = optional("sklearn.svm")
exceptions = optional("sklearn.exceptions")
model_selection = optional("sklearn.model_selection")

NAMES = np.array(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"])
CLASSIFIED, REGRESSED = ("hinge", "squared_hinge"), ("epsilon_insensitive", "squared_epsilon_insensitive")


def rows_of(name, n=None):
    matrix, targets = load(name, n)
    X = np.zeros((matrix.n_rows, matrix.max_index))
    for i in range(matrix.n_rows):
        for j, value in matrix.row(i):
            X[i, j - 1] = value
    return X, np.array(targets)


HEART, IRIS, GLASS, PYRIM = rows_of("heart_scale"), rows_of("iris.scale"), rows_of("glass.scale"), rows_of("pyrim")


def text():
    """Sparse, with too many features to factorize."""
    matrix, targets = load("text")
    width = matrix.max_index + 1
    indices, indptr = np.array(matrix.indices, dtype=np.int32), np.array(matrix.indptr, dtype=np.int32)
    X = sparse.csr_array((np.array(matrix.values), indices, indptr), (matrix.n_rows, width))
    assert width > 1000
    return X, np.array(targets)


def objectives(estimator, X, y, weights=1.0):
    """For each function, by the definition."""
    coef = np.atleast_2d(estimator.coef_)
    intercept = np.broadcast_to(estimator.intercept_, len(coef))
    found = []
    for k in range(len(coef)):
        scores = X @ coef[k] + intercept[k]
        if hasattr(estimator, "epsilon"):
            loss = np.maximum(np.abs(y - scores) - estimator.epsilon, 0)
        else:
            positive = y == estimator.classes_[k if len(coef) > 1 else 1]
            loss = np.maximum(1 - np.where(positive, scores, -scores), 0)
        loss = loss**2 if estimator.loss.startswith("squared") else loss
        penalty = coef[k] @ coef[k] + (intercept[k] / estimator.intercept_scaling) ** 2
        found.append(penalty / 2 + estimator.C * np.sum(weights * loss))
    return np.array(found)


def both(kind, X, y, **parameters):
    """Ours, and scikit-learn's to far more digits than by default."""
    ours = getattr(libsvmx, kind)(**{"tol": 1e-6, **parameters}).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        theirs = getattr(svm, kind)(**{**parameters, "tol": 1e-8, "max_iter": 1_000_000, "random_state": 0})
        return ours, theirs.fit(X, y)


@pytest.mark.parametrize("loss", CLASSIFIED)
@pytest.mark.parametrize("data", [HEART, IRIS, GLASS], ids=["heart", "iris", "glass"])
@pytest.mark.parametrize("more", [{}, {"intercept_scaling": 5.0, "C": 0.1}, {"fit_intercept": False}])
def test_classification(data, loss, more):
    X, y = data
    ours, theirs = both("LinearSVC", X, NAMES[y.astype(int)], loss=loss, **more)
    wanted, found = objectives(theirs, X, NAMES[y.astype(int)]), objectives(ours, X, NAMES[y.astype(int)])
    assert (found <= wanted * (1 + 1e-7)).all()
    assert (found - ours.dual_gap_ <= wanted * (1 + 1e-12)).all()
    assert ours.objective_ == pytest.approx(found, rel=1e-10)
    assert (ours.dual_gap_ <= 1e-8 * found).all()
    for name in ("coef_", "classes_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    assert (ours.classes_ == theirs.classes_).all()
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99
    assert isinstance(ours.n_iter_, int)
    assert 0 < ours.n_iter_ < 200


@pytest.mark.parametrize("loss", REGRESSED)
@pytest.mark.parametrize("more", [{}, {"intercept_scaling": 5.0, "C": 10.0, "epsilon": 0.1}, {"fit_intercept": False}])
def test_regression(loss, more):
    X, y = PYRIM
    ours, theirs = both("LinearSVR", X, y, loss=loss, **more)
    wanted, found = objectives(theirs, X, y), objectives(ours, X, y)
    assert found - ours.dual_gap_ <= wanted * (1 + 1e-12)
    assert found <= wanted * (1 + 1e-7)
    assert ours.objective_ == pytest.approx(found[0], rel=1e-10)
    assert ours.dual_gap_ <= 1e-8 * found
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-3)


@pytest.mark.parametrize("loss", CLASSIFIED)
def test_text(loss):
    X, y = text()
    ours, theirs = both("LinearSVC", X, y, loss=loss)
    assert objectives(ours, X, y) <= objectives(theirs, X, y) * (1 + 1e-7)
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("loss", CLASSIFIED)
def test_weights_of_classes_and_rows(loss):
    X, y = IRIS
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    weights[::7] = 0
    for data, class_weight in ((IRIS, {1: 3.0, 2: 0.5}), (HEART, {1: 3.0, -1: 0.5}), (IRIS, "balanced")):
        X, y = data
        own = np.resize(weights, len(y))
        ours = libsvmx.LinearSVC(loss=loss, class_weight=class_weight, tol=1e-6).fit(X, y, own)
        theirs = svm.LinearSVC(loss=loss, class_weight=class_weight, tol=1e-10, max_iter=1_000_000).fit(X, y, own)
        assert ours.coef_ == pytest.approx(theirs.coef_, abs=2e-3)
    twice = libsvmx.LinearSVC(loss=loss, tol=1e-8).fit(np.vstack([X, X[:50]]), np.append(y, y[:50]))
    weighted = libsvmx.LinearSVC(loss=loss, tol=1e-8).fit(X, y, np.where(np.arange(len(y)) < 50, 2.0, 1.0))
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-9)


@pytest.mark.parametrize("kind", ["LinearSVC", "LinearSVR"])
def test_rows_of_every_kind(kind):
    X, y = HEART if kind == "LinearSVC" else PYRIM
    wanted = getattr(libsvmx, kind)(tol=1e-6).fit(X, y).coef_
    wide = sparse.csr_array(X)
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    unsorted = sparse.csr_array(
        (
            np.concatenate([np.append(row[::-1] / 2, row[::-1] / 2) for row in X]),
            np.tile(np.arange(X.shape[1])[::-1], 2 * len(X)),
            np.arange(0, 2 * X.size + 1, 2 * X.shape[1]),
        ),
        X.shape,
    )
    before = unsorted.indices.copy()
    for rows in (sparse.csr_matrix(X), sparse.csc_array(X), wide, unsorted, np.asfortranarray(X), X.tolist(), X[::1]):
        assert getattr(libsvmx, kind)(tol=1e-6).fit(rows, y).coef_ == pytest.approx(wanted, abs=1e-3)
    assert (unsorted.indices == before).all()
    single = X.astype(np.float32)
    same = getattr(libsvmx, kind)().fit(single.astype(np.float64), y).coef_
    assert getattr(libsvmx, kind)().fit(single, y).coef_ == pytest.approx(same, abs=1e-9)


def test_threads_change_no_bit():
    X, y = GLASS
    wanted = libsvmx.LinearSVC(loss="hinge").fit(X, y)
    for n_jobs in (2, 5):
        found = libsvmx.LinearSVC(loss="hinge", n_jobs=n_jobs).fit(X, y)
        assert found.coef_.tobytes() == wanted.coef_.tobytes()
        assert found.n_iter_ == wanted.n_iter_


@pytest.mark.parametrize("data", ["dense", "text"])
def test_eight_threads_at_a_time_find_equal_bits(data):
    X, y = GLASS if data == "dense" else text()
    wanted = libsvmx.LinearSVC(loss="hinge").fit(X, y).coef_.tobytes()
    found = []

    def work():
        for _ in range(3):
            found.append(libsvmx.LinearSVC(loss="hinge").fit(X, y).coef_.tobytes())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24
    assert set(found) == {wanted}


def test_what_is_not_at_the_optimum_says_so():
    X, y = HEART
    best = libsvmx.LinearSVC(loss="hinge", C=100, tol=1e-6).fit(X, y)
    for most in (0, 1, 3):
        with pytest.warns(exceptions.ConvergenceWarning, match=rf"max_iter={most}.*duality gap"):
            early = libsvmx.LinearSVC(loss="hinge", C=100, max_iter=most).fit(X, y)
        assert (early.n_iter_, early.fit_status_) == (most, 1)
        assert early.objective_ - early.dual_gap_ <= best.objective_ <= early.objective_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert libsvmx.LinearSVC(loss="hinge", C=100).fit(X, y).fit_status_ == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_ends_a_fit_with_what_it_has(n_jobs):
    X, y = np.tile(IRIS[0], (10_000, 1)), np.tile(IRIS[1], 10_000)
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit.*duality gap"):
        fitted = libsvmx.LinearSVC(loss="hinge", tol=1e-12, max_time=1e-9, n_jobs=n_jobs).fit(X, y)
    assert fitted.fit_status_ == 1
    assert fitted.objective_ == pytest.approx(objectives(fitted, X, y), rel=1e-9)


def test_ctrl_c_leaves_it_as_it_was():
    fitted = libsvmx.LinearSVC().fit(*HEART)
    before = fitted.coef_.copy()
    X, y = np.tile(HEART[0], (1000, 1)), np.tile(HEART[1], 1000)
    with ctrl_c():
        while True:
            fitted.set_params(loss="hinge", tol=1e-9).fit(X, y)
            fitted.coef_ = before
    assert (fitted.coef_ == before).all()


def test_pickles_and_sparse_coefficients():
    fitted = libsvmx.LinearSVC().fit(*IRIS)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.decision_function(IRIS[0]) == fitted.decision_function(IRIS[0])).all()
    assert sparse.issparse(fitted.sparsify().coef_)


@pytest.mark.parametrize(
    ("parameters", "instead"),
    [({"penalty": "l1", "dual": False}, "penalty='l2'"), ({"multi_class": "crammer_singer"}, "multi_class='ovr'")],
)
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # after 1,000 passes, in 1.7
def test_what_is_refused_is_scikit_learns_where_it_was_patched(parameters, instead):
    X, y = IRIS
    with pytest.raises(libsvmx.ParameterError, match=f"take {instead} here, .*sklearn.svm.LinearSVC"):
        libsvmx.LinearSVC(**parameters).fit(X, y)
    theirs = svm.LinearSVC(**parameters, random_state=0).fit(X, y)
    libsvmx.patch_sklearn()
    try:
        assert svm.LinearSVC is libsvmx.LinearSVC
        found = svm.LinearSVC(**parameters, random_state=0).fit(X, y)
    finally:
        libsvmx.unpatch_sklearn()
    assert (found.coef_ == theirs.coef_).all()
    assert (found.predict(X) == theirs.predict(X)).all()
    with pytest.raises(libsvmx.ParameterError):
        libsvmx.LinearSVC(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"C": 0.0}, "'C' parameter"), ({"loss": "log"}, "'loss' parameter"), ({"max_time": 0}, "'max_time' parameter")],
)
def test_wrong_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        libsvmx.LinearSVC(**parameters).fit(*HEART)


def test_one_class_is_not_enough():
    X, y = HEART
    with pytest.raises(ValueError, match="of one class"):
        libsvmx.LinearSVC().fit(X, np.full(len(y), "same"))
    with pytest.raises(ValueError, match="of one class"):
        libsvmx.LinearSVC().fit(X, y, (y > 0).astype(float))


def test_weights_of_classes_are_positive():
    X, y = IRIS
    for weight in (0.0, -1.0, np.nan, np.inf):
        for loss in CLASSIFIED:
            with pytest.raises(libsvmx.ParameterError, match="class weights must be > 0"):
                libsvmx.LinearSVC(class_weight={2: weight}, loss=loss).fit(X, y)


@pytest.mark.parametrize("loss", CLASSIFIED)
def test_a_class_without_rows_that_count_is_none(loss):
    X, y = IRIS
    for class_weight in (None, "balanced"):
        estimator = libsvmx.LinearSVC(class_weight=class_weight, loss=loss)
        found = estimator.fit(X, y, (y != 2).astype(float))
        assert found.classes_.tolist() == [1, 3]
        coef = found.coef_
        assert (coef == estimator.fit(X[y != 2], y[y != 2]).coef_).all()
    search = libsvmx.LinearSVCCV(Cs=[1.0], cv=3, class_weight="balanced").fit(X, y, (y != 2).astype(float))
    assert search.classes_.tolist() == [1, 3]


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_numbers_that_are_too_large_or_too_small():
    X, y = HEART
    with pytest.raises(libsvmx.ParameterError, match="too small"):
        libsvmx.LinearSVC(C=1e-310).fit(X, y)
    with pytest.raises(libsvmx.ParameterError, match="too large"):
        libsvmx.LinearSVR(C=1e300).fit(X, y, np.full(len(y), 1e300))
    with pytest.raises(libsvmx.DataError, match="objective is too large"):
        libsvmx.LinearSVC(C=1e307, loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="Cs must be finite"):
        libsvmx.LinearSVCCV(Cs=[1, np.inf]).fit(X, y)


# ---- LinearSVCCV and LinearSVRCV -------------------------------------------------------------------

COSTS = [0.01, 1.0, 0.1, 10.0]


@pytest.mark.parametrize("loss", CLASSIFIED)
@pytest.mark.parametrize("data", [HEART, IRIS, text()], ids=["heart", "iris", "text"])
def test_a_search_finds_what_a_grid_search_finds(data, loss):
    X, y = data
    cv = model_selection.StratifiedKFold(4, shuffle=True, random_state=0)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    for options, fit in (
        ({}, {}),
        ({"class_weight": "balanced"}, {"sample_weight": weights}),
        ({"scoring": "balanced_accuracy"}, {}),
    ):
        scoring = options.pop("scoring", None)
        ours = libsvmx.LinearSVCCV(Cs=COSTS, cv=cv, loss=loss, tol=1e-6, scoring=scoring, **options)
        theirs = model_selection.GridSearchCV(
            libsvmx.LinearSVC(loss=loss, tol=1e-6, **options), {"C": COSTS}, cv=cv, scoring=scoring
        )
        ours.fit(X, y, **fit)
        theirs.fit(X, y, **fit)
        assert ours.cv_results_["params"] == theirs.cv_results_["params"]
        for key in ("mean_test_score", "split0_test_score", "split3_test_score"):
            # at most one row is on the other side
            assert ours.cv_results_[key] == pytest.approx(theirs.cv_results_[key], abs=8 / len(y))
        assert ours.C_ == ours.best_params_["C"] == ours.best_estimator_.C
        assert ours.best_estimator_.coef_ == pytest.approx(
            libsvmx.LinearSVC(loss=loss, tol=1e-6, C=ours.C_, **options).fit(X, y, **fit).coef_
        )
        assert ours.n_iter_ == ours.best_estimator_.n_iter_
        assert not hasattr(ours, "gamma_")


@pytest.mark.parametrize("loss", REGRESSED)
def test_a_search_of_a_regression_finds_what_a_grid_search_finds(loss):
    X, y = PYRIM
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    cv = model_selection.KFold(4, shuffle=True, random_state=0)
    for scoring in (None, "neg_mean_absolute_error"):
        options = {"loss": loss, "tol": 1e-9, "epsilon": 0.05}
        ours = libsvmx.LinearSVRCV(Cs=COSTS, cv=cv, scoring=scoring, **options).fit(X, y, weights)
        theirs = model_selection.GridSearchCV(libsvmx.LinearSVR(**options), {"C": COSTS}, cv=cv, scoring=scoring)
        theirs.fit(X, y, sample_weight=weights)
        for key in ("mean_test_score", "split0_test_score", "split3_test_score"):
            assert ours.cv_results_[key] == pytest.approx(theirs.cv_results_[key], abs=1e-3)
        assert ours.best_params_ == theirs.best_params_
        assert (ours.predict(X) == theirs.predict(X)).all()


def test_a_search_does_not_depend_on_threads():
    X, y = GLASS
    cv = model_selection.KFold(4, shuffle=True, random_state=1)  # some classes are missing in some folds
    found = [libsvmx.LinearSVCCV(Cs=COSTS, cv=cv, n_jobs=n, loss="hinge").fit(X, y) for n in (1, 3)]
    assert (found[0].cv_results_["mean_test_score"] == found[1].cv_results_["mean_test_score"]).all()
    assert found[0].best_score_ == found[0].cv_results_["mean_test_score"].max()
    assert (found[0].predict(X) == found[1].predict(X)).all()
    assert found[0].decision_function(X).shape == (len(y), 6)


def test_a_search_without_refit_and_with_too_few_steps():
    X, y = HEART
    with pytest.warns(exceptions.ConvergenceWarning, match="some points of the search"):
        search = libsvmx.LinearSVCCV(Cs=2, refit=False, max_iter=1, loss="hinge").fit(X, y)
    assert len(search.Cs_) == 2
    with pytest.raises(exceptions.NotFittedError):
        search.predict(X)
