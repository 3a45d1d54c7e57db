"""SVCCV and SVRCV give the results of GridSearchCV with scikit-learn's estimators over the same folds."""

import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse
from support.data import dense_rows
from support.machine import machine_with
from support.optional import optional

import libsvmx
import libsvmx._train.policy as policies
from libsvmx._core.process import HAS_THREADS
from libsvmx._train.policy import KernelPolicy

svm = optional("sklearn.svm")
exceptions = optional("sklearn.exceptions")
metrics = optional("sklearn.metrics")
model_selection = optional("sklearn.model_selection")

COSTS, GAMMAS = [0.1, 1.0, 10.0, 100.0], [0.01, 0.1, 1.0]
NAMES = np.array(["alpha", "beta", "gamma", "delta", "epsilon"])


def rows_of(name, n=None):
    X, y = dense_rows(name)
    order = np.random.RandomState(0).permutation(len(y))[:n]
    return X[order], y[order]


HEART, IRIS, GLASS, MPG = (
    rows_of("heart_scale"),
    rows_of("iris.scale"),
    rows_of("glass.scale", 150),
    rows_of("mpg", 150),
)


def both(data, ours, theirs=None, search=None, fit=None, kind="SVC", gammas=GAMMAS, costs=COSTS):
    """Our search, and GridSearchCV with scikit-learn's estimator and the same parameters."""
    X, y = data
    theirs, search, fit = ours if theirs is None else theirs, search or {}, fit or {}
    grid = {"C": costs} if gammas is None else {"C": costs, "gamma": gammas}
    found = getattr(libsvmx, f"{kind}CV")(Cs=costs, gammas=GAMMAS if gammas is None else gammas, **ours, **search)
    wanted = model_selection.GridSearchCV(getattr(svm, kind)(**theirs), grid, **search)
    return found.fit(X, y, **fit), wanted.fit(X, y, **fit)


def rows_apart(ours, theirs, n):
    """Number of rows predicted differently, over all points and folds of about equal size."""
    keys = [f"split{f}_test_score" for f in range(theirs.n_splits_)]
    return sum(np.abs(ours.cv_results_[k] - theirs.cv_results_[k]).sum() for k in keys) * n / theirs.n_splits_


def assert_same_search(ours, theirs, n, most_apart=2):
    assert ours.best_params_ == theirs.best_params_
    assert (ours.best_index_, ours.n_splits_) == (theirs.best_index_, theirs.n_splits_)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert rows_apart(ours, theirs, n) <= most_apart + 1e-6


CASES = {
    "two classes": (HEART, {}, {}),
    "three classes": (IRIS, {}, {}),
    "six classes": (GLASS, {}, {}),
    "linear": (HEART, {"kernel": "linear"}, {"cv": 2}),
    "poly": (IRIS, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {}),
    "sigmoid": (HEART, {"kernel": "sigmoid", "coef0": 0.1}, {"cv": 2}),
    "balanced": (GLASS, {"class_weight": "balanced"}, {}),
    "weights of classes": (HEART, {"class_weight": {-1.0: 2.0}}, {}),
    "no shrinking": (HEART, {"shrinking": False}, {}),
    "ties broken": (IRIS, {"break_ties": True}, {}),
    "three folds": (HEART, {}, {"cv": 3}),
    "shuffled folds": (IRIS, {}, {"cv": lambda: model_selection.StratifiedKFold(4, shuffle=True, random_state=3)}),
    "folds that overlap": (HEART, {}, {"cv": lambda: model_selection.ShuffleSplit(4, test_size=0.2, random_state=3)}),
    "repeated folds": (
        IRIS,
        {},
        {"cv": lambda: model_selection.RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=3)},
    ),
    "a fold per row": ((IRIS[0][:60], IRIS[1][:60]), {}, {"cv": model_selection.LeaveOneOut}),
    "a list of folds": (
        HEART,
        {},
        {"cv": [(np.arange(60, 270), np.arange(60)), (np.arange(210), np.arange(210, 270))]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_grid_search_of_scikit_learn(name, exhaustive):
    data, parameters, search = CASES[name]
    if callable(search.get("cv")):
        search = {"cv": search["cv"]()}
    whole = exhaustive or not (parameters or search)
    gammas = None if parameters.get("kernel") == "linear" else GAMMAS if whole else GAMMAS[1:]
    costs = COSTS if whole else COSTS[1:3]
    ours, theirs = both(data, parameters, search=search, gammas=gammas, costs=costs)
    held_out = {"a list of folds": 120, "repeated folds": 3 * len(data[1])}
    assert_same_search(ours, theirs, held_out.get(name, len(data[1])))
    np.testing.assert_array_equal(ours.predict(data[0]), theirs.predict(data[0]))
    np.testing.assert_allclose(ours.decision_function(data[0]), theirs.decision_function(data[0]), rtol=1e-5, atol=1e-6)


def test_string_labels_and_sparse_rows():
    X, y = sparse.csr_matrix(IRIS[0]), NAMES[IRIS[1].astype(int)]
    ours, theirs = both((X, y), {})
    assert_same_search(ours, theirs, len(y))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_by_name_is_that_of_the_training_rows(gamma):
    ours, theirs = both(HEART, {}, gammas=[gamma, 0.5])
    assert_same_search(ours, theirs, 270)
    assert list(ours.gammas_) == [gamma, 0.5]


def test_weights_of_rows():
    weights = np.random.RandomState(1).randint(0, 4, len(HEART[1])).astype(float)
    ours, theirs = both(HEART, {}, fit={"sample_weight": weights})
    assert_same_search(ours, theirs, 270, most_apart=6)  # with weighted scores, a row of weight 3 counts three times


def test_groups():
    groups = np.arange(len(HEART[1])) % 7
    ours, theirs = both(HEART, {}, search={"cv": model_selection.GroupKFold(3)}, fit={"groups": groups})
    assert_same_search(ours, theirs, 270)


@pytest.mark.parametrize("scoring", ["f1_macro", "balanced_accuracy", "roc_auc"])
def test_scorings_by_name(scoring):
    ours, theirs = both(HEART, {}, search={"scoring": scoring}, gammas=GAMMAS[:2], costs=COSTS[:2])
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01)
    assert ours.score(*HEART) == pytest.approx(theirs.score(*HEART), abs=0.02)


def test_scorers_may_ask_for_decision_values_of_many_classes():
    def gap(estimator, X, y):
        return float(np.abs(estimator.decision_function(X)).mean())

    of_values = metrics.make_scorer(lambda y, values: float(values.max()), response_method="decision_function")
    for scoring in (gap, of_values):
        ours, theirs = both(IRIS, {}, search={"scoring": scoring}, gammas=GAMMAS[:2], costs=COSTS[:2])
        np.testing.assert_allclose(
            ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-2
        )


def test_probabilities():
    ours = libsvmx.SVCCV(Cs=[1.0], gammas=[0.1], probability=True, scoring="neg_log_loss", random_state=0).fit(*HEART)
    grid = {"C": [1.0], "gamma": [0.1]}
    estimator = libsvmx.SVC(probability=True, random_state=0)
    theirs = model_selection.GridSearchCV(estimator, grid, scoring="neg_log_loss").fit(*HEART)
    assert ours.best_score_ == theirs.best_score_
    np.testing.assert_array_equal(ours.predict_proba(HEART[0]), theirs.predict_proba(HEART[0]))
    assert not hasattr(libsvmx.SVCCV(), "predict_proba")


@pytest.mark.parametrize("kernel", ["precomputed", "callable"])
def test_kernels_that_have_no_gamma(kernel):
    X, y = HEART
    if kernel == "callable":
        ours, theirs = both((X, y), {"kernel": lambda a, b: a @ b.T}, gammas=None)
    else:
        ours, theirs = both((X @ X.T, y), {"kernel": kernel}, gammas=None)
    assert_same_search(ours, theirs, len(y), most_apart=0)
    assert "param_gamma" not in ours.cv_results_


@pytest.mark.parametrize("turned", [False, True])
def test_regression_without_one_row(turned):
    """With the small C and the wide tube rho is the middle of an interval; the order of the folds is any."""
    X, y = (MPG[0] - MPG[0].mean(axis=0))[:80] / MPG[0].std(axis=0), MPG[1][:80]
    folds = list(model_selection.LeaveOneOut().split(X))[:: -1 if turned else 1]
    search = {"cv": folds, "scoring": "neg_mean_absolute_error"}
    parameters = {"epsilon": 2.0, "tol": 1e-4}
    ours, theirs = both((X, y), parameters, kind="SVR", gammas=[0.02, 0.2], costs=[0.02, 1.0, 30.0], search=search)
    assert ours.best_params_ == theirs.best_params_
    for f in range(80):
        own, other = (found.cv_results_[f"split{f}_test_score"] for found in (ours, theirs))
        np.testing.assert_allclose(own, other, rtol=0, atol=5e-3)


@pytest.mark.parametrize("scored", ["all rows", "one row twice", "a row trained on"])
def test_as_many_folds_as_rows_may_score_several(scored):
    X, y = (MPG[0] - MPG[0].mean(axis=0))[:20] / MPG[0].std(axis=0), MPG[1][:20]
    folds = []
    for i, (rest, _) in enumerate(model_selection.LeaveOneOut().split(X)):
        folds.append((rest, {"all rows": range(20), "one row twice": [i, i], "a row trained on": [i - 1, i]}[scored]))
    search = {"cv": folds, "scoring": "neg_mean_absolute_error"}
    ours, theirs = both((X, y), {"tol": 1e-6}, kind="SVR", gammas=[0.2], costs=[0.1, 10.0], search=search)
    for f in range(20):
        own, other = (found.cv_results_[f"split{f}_test_score"] for found in (ours, theirs))
        np.testing.assert_allclose(own, other, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_regression(kernel, exhaustive):
    X = (MPG[0] - MPG[0].mean(axis=0)) / MPG[0].std(axis=0)
    parameters = {"epsilon": 0.5, "kernel": kernel, "degree": 2}
    gammas = None if kernel == "linear" else GAMMAS[:2]
    search = {} if exhaustive else {"cv": 2}
    ours, theirs = both((X, MPG[1]), parameters, kind="SVR", gammas=gammas, search=search)
    scores, wanted = (one.cv_results_["mean_test_score"] for one in (ours, theirs))
    np.testing.assert_allclose(scores, wanted, atol=2e-3)
    assert wanted[ours.best_index_] == pytest.approx(theirs.best_score_, abs=1e-3)
    np.testing.assert_allclose(ours.predict(X), ours.best_estimator_.predict(X))
    weights = np.random.RandomState(1).randint(0, 3, len(X)).astype(float)
    ours, theirs = both(
        (X, MPG[1]), parameters, kind="SVR", gammas=gammas, fit={"sample_weight": weights}, search=search
    )
    scores, wanted = (one.cv_results_["mean_test_score"] for one in (ours, theirs))
    np.testing.assert_allclose(scores, wanted, atol=2e-3)


def test_table_has_the_keys_of_grid_search():
    ours, theirs = both(IRIS, {})
    assert set(ours.cv_results_) == set(theirs.cv_results_)
    for key, column in theirs.cv_results_.items():
        if key != "params":
            assert ours.cv_results_[key].dtype == column.dtype, key
    np.testing.assert_array_equal(ours.cv_results_["param_gamma"], theirs.cv_results_["param_gamma"])
    assert (ours.cv_results_["mean_fit_time"] > 0).all()
    assert ours.cv_results_["rank_test_score"][ours.best_index_] == 1


def test_points_may_be_given_in_any_order():
    up = libsvmx.SVCCV(Cs=COSTS, gammas=GAMMAS).fit(*HEART)
    down = libsvmx.SVCCV(Cs=COSTS[::-1], gammas=GAMMAS[::-1]).fit(*HEART)
    np.testing.assert_array_equal(up.cv_results_["mean_test_score"], down.cv_results_["mean_test_score"][::-1])


@pytest.mark.parametrize("gammas", [GAMMAS, GAMMAS[:1]], ids=str)
@pytest.mark.parametrize("policy", [KernelPolicy(), KernelPolicy(queue=False, work_for_threads=0.0)], ids=str)
def test_threads_change_nothing(gammas, policy, monkeypatch):
    monkeypatch.setattr(policies, "USUAL", policy)
    one, *several = (
        libsvmx.SVCCV(Cs=COSTS, gammas=gammas, n_jobs=n_jobs).fit(*GLASS).cv_results_ for n_jobs in (1, 2, 8)
    )
    for found in several:
        np.testing.assert_array_equal(one["mean_test_score"], found["mean_test_score"])


@pytest.mark.skipif(not HAS_THREADS, reason="built without threads")
@pytest.mark.parametrize("kind", ["SVCCV", "SVRCV"])
def test_two_threads_are_in_folds_at_once(kind, monkeypatch):
    """Each fold reads the clock when it begins; the first one waits there until another thread is there, too."""
    monkeypatch.setattr(policies, "USUAL", KernelPolicy(queue=False, work_for_threads=0.0))
    meeting, have_met = threading.Barrier(2, timeout=60), threading.Event()  # seconds: waited only by folds in turn

    def clock():
        if not have_met.is_set():
            with suppress(threading.BrokenBarrierError):
                meeting.wait()
                have_met.set()
        return time.perf_counter()

    search = getattr(libsvmx, kind)(Cs=COSTS, gammas=GAMMAS[:1], cv=3, n_jobs=2, refit=False)
    with machine_with(perf_counter=clock):
        search.fit(*HEART)
    assert have_met.is_set()


def test_refit():
    unfitted = libsvmx.SVCCV(Cs=COSTS, gammas=GAMMAS, refit=False).fit(*HEART)
    assert not hasattr(unfitted, "best_estimator_")
    assert unfitted.C_ in COSTS
    with pytest.raises(ValueError, match="not fitted"):
        unfitted.predict(HEART[0])
    chosen = libsvmx.SVCCV(Cs=COSTS, gammas=GAMMAS, refit=lambda results: 4).fit(*HEART)
    assert (chosen.best_index_, chosen.C_, chosen.gamma_) == (4, 1.0, 0.1)
    assert chosen.best_estimator_.C == 1.0
    with pytest.raises(ValueError, match="index of one of 12 points"):
        libsvmx.SVCCV(Cs=COSTS, gammas=GAMMAS, refit=lambda results: 12).fit(*HEART)


def test_defaults_are_powers_of_four():
    search = libsvmx.SVCCV(Cs=3, gammas=2, cv=2).fit(*IRIS)
    assert search.Cs_.tolist() == [2.0**-5, 2.0**-3, 2.0**-1]
    assert search.gammas_.tolist() == [2.0**-15, 2.0**-13]


def test_an_infinite_cost_is_trained_by_itself():
    search = libsvmx.SVCCV(Cs=[1.0, np.inf], gammas=[8.0], cv=3).fit(*IRIS)
    wanted = model_selection.GridSearchCV(libsvmx.SVC(gamma=8.0), {"C": [1.0, np.inf]}, cv=3).fit(*IRIS)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], wanted.cv_results_["mean_test_score"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"Cs": []}, "Cs must be"),
        ({"Cs": [0.0, 1.0]}, "Cs must be numbers > 0"),
        ({"Cs": ["big"]}, "Cs must be"),
        ({"gammas": [-1.0]}, "gammas must be"),
        ({"gammas": ["wide"]}, "gammas must be"),
        ({"gammas": [()]}, "gammas must be"),
        ({"gammas": [[[1.0, 2.0]]]}, "gammas must be"),
        ({"gammas": [{1: 2.0}]}, "gammas must be"),
        ({"Cs": 0}, "Cs"),
        ({"class_weight": {-1.0: 0.0}}, "class weights must be > 0"),
        ({"cv": [(np.flatnonzero(HEART[1] > 0), np.arange(5))]}, "number of classes"),
        ({"scoring": "fame"}, "scoring"),
    ],
)
def test_what_cannot_be_searched_is_refused(parameters, message):
    search = libsvmx.SVCCV(**parameters)
    with pytest.raises(ValueError, match=message):
        search.fit(*HEART)
    assert not hasattr(search, "C_")


def test_a_search_that_fails_leaves_the_one_before():
    search = libsvmx.SVCCV(Cs=[1.0], gammas=[1.0]).fit(*HEART)
    before = dict(vars(search))
    with pytest.raises(ValueError, match="inconsistent"):
        search.fit(HEART[0], HEART[1][:-1])
    with pytest.raises(ValueError, match="refit must return"):
        search.set_params(refit=lambda results: -1).fit(*HEART)
    assert vars(search.set_params(refit=True)) == before


def test_a_class_that_some_folds_do_not_train_on():
    X, y = IRIS
    lacks = [(np.flatnonzero(y != 2), np.arange(30)), (np.arange(100), np.arange(100, 150))]
    ours, theirs = both((X, y), {}, search={"cv": lacks})
    assert_same_search(ours, theirs, len(y))


def test_folds_may_count_from_the_end():
    X, y = HEART
    n = len(y)
    ahead = [(np.arange(60, n), np.arange(60)), (list(range(200)), tuple(range(200, n)))]
    behind = [(np.arange(60 - n, 0), np.arange(-n, 60 - n)), (np.arange(n) < 200, np.arange(200 - n, 0))]
    found, expected = (libsvmx.SVCCV(Cs=COSTS, gammas=GAMMAS, cv=cv).fit(X, y) for cv in (behind, ahead))
    for key in ("split0_test_score", "split1_test_score"):
        np.testing.assert_array_equal(found.cv_results_[key], expected.cv_results_[key])
    with pytest.raises(IndexError, match="out of bounds"):
        libsvmx.SVCCV(Cs=COSTS, gammas=GAMMAS, cv=[(np.arange(n), [-n - 1])]).fit(X, y)


def test_one_weight_for_all_rows():
    for kernel in ("rbf", "sigmoid"):
        search = libsvmx.SVCCV(Cs=[1.0], gammas=GAMMAS, kernel=kernel, cv=2)
        found = search.fit(*HEART, sample_weight=2).cv_results_["mean_test_score"]
        expected = search.fit(*HEART, sample_weight=np.full(len(HEART[1]), 2.0)).cv_results_["mean_test_score"]
        np.testing.assert_array_equal(found, expected)


def test_a_search_without_folds_or_beyond_all_numbers_is_refused():
    for parameters, message in (
        ({"cv": []}, "cv gives no folds"),
        ({"cv": [(range(200), [])]}, "no rows to score"),
        ({"cv": [(range(200), 201)]}, "must have arrays of row indices, or masks, not 201"),
        ({"Cs": 516}, "Cs may be at most 515"),
        ({"gammas": 521}, "gammas may be at most 520"),
    ):
        with pytest.raises(ValueError, match=message):
            libsvmx.SVCCV(**parameters).fit(*HEART)


@pytest.mark.parametrize("name", ["SVCCV", "SVRCV", "LinearSVCCV", "LinearSVRCV"])
def test_a_fold_whose_rows_to_train_on_count_for_nothing(name):
    X, y = HEART
    weights, cv = np.r_[np.zeros(60), np.ones(len(y) - 60)], [(np.arange(60), np.arange(60, len(y)))]
    with pytest.raises(ValueError, match=r"zero or negative weights|no row counts"):
        getattr(libsvmx, name)(Cs=[1.0], cv=cv).fit(X, y, weights)


@pytest.mark.parametrize("name", ["SVCCV", "SVRCV", "LinearSVCCV", "LinearSVRCV"])
def test_a_fold_whose_rows_to_score_count_for_nothing(name):
    from libsvmx.sklearn.search_folds import weights_score

    if not weights_score(None):
        pytest.skip("this version of scikit-learn does not weight scores")
    weights = np.r_[np.zeros(60), np.ones(len(HEART[1]) - 60)]
    cv = [(np.arange(60, 270), np.arange(60))]
    with pytest.raises(ValueError, match="rows to score in a fold have sample_weight 0"):
        getattr(libsvmx, name)(Cs=[1.0], cv=cv).fit(*HEART, weights)


def test_a_search_that_trained_no_model_says_so():
    with pytest.raises(ValueError, match="refit=False no model is trained"):
        libsvmx.SVCCV(Cs=[1.0], gammas=[1.0], refit=False).fit(*HEART).predict(HEART[0])


def test_scores_do_not_depend_on_memory():
    """There is room for the kernel values of all rows, of two of eleven classes, or of some rows."""
    X, y = dense_rows("vowel.scale.xz")
    searches = (
        libsvmx.SVCCV(Cs=[1.0, 8.0], gammas=[1.0], cv=3, refit=False, cache_size=size) for size in (200, 0.5, 0.01)
    )
    all_rows, *others = (search.fit(X, y).cv_results_["mean_test_score"] for search in searches)
    for scores in others:
        np.testing.assert_allclose(scores, all_rows, atol=2 / len(y))


@pytest.mark.parametrize("cache_size", [200, 0.01])  # folds in a queue; one after the other
def test_a_search_says_what_rounding_hides(cache_size):
    """Folds reach the tolerance by kernel values in float, and not by those in double."""
    search = libsvmx.SVCCV(Cs=[1e3, 1e4], gammas=[0.01], cv=3, refit=False, cache_size=cache_size)
    with pytest.warns(exceptions.ConvergenceWarning, match="terminated early at some points"):
        search.fit(HEART[0][:, :3], HEART[1])


def test_trainings_end_with_the_search():
    """One thread fails while another one trains."""
    from libsvmx.enums import SolveStatus
    from libsvmx.sklearn.search_folds import FoldSearch

    ends = []

    class Seen(libsvmx.SVC):
        def fit(self, X, y, sample_weight=None):
            search.over.stop(SolveStatus.INTERRUPTED)
            with pytest.warns(exceptions.ConvergenceWarning, match="interrupted"):
                super().fit(X, y, sample_weight)
            ends.append(self.fit_status_)
            return self

    split = [(np.arange(100), np.arange(100, 150))]
    whole = libsvmx.SVCCV(kernel="sigmoid", Cs=[1.0], gammas=[0.1])
    search = FoldSearch(whole, Seen(kernel="sigmoid"), *HEART, None, split, None)
    search.training(0, 0)
    assert ends == [1]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_a_gamma_for_each_feature_is_a_point_like_any_other(kernel):
    X, y = HEART
    n = X.shape[1]
    several, others = np.linspace(0, 0.3, n), [0.05, "scale"]
    ours = libsvmx.SVCCV(kernel=kernel, Cs=COSTS[:2], gammas=[several, *others], cv=3).fit(X, y)
    grid = {"C": COSTS[:2], "gamma": [several, *others]}
    theirs = model_selection.GridSearchCV(libsvmx.SVC(kernel=kernel), grid, cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01)
    assert ours.best_index_ == theirs.best_index_
    assert [np.size(gamma) for gamma in ours.gammas_] == [n, 1, 1]
    with pytest.raises(ValueError, match="one for each feature"):
        libsvmx.SVCCV(gammas=[-several]).fit(X, y)
