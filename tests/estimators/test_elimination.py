"""SVMRFE and SVMRFECV: the rankings of scikit-learn's RFE and RFECV, and of refits with an RBF kernel."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.data import load
from support.optional import optional

import libsvmx
from libsvmx import SVC, SVMRFE, SVMRFECV, SVR, NuSVC, QuantileSVR
from libsvmx._kernels.remaining_features import RemainingFeatures

base = optional("sklearn.base")
exceptions = optional("sklearn.exceptions")
feature_selection = optional("sklearn.feature_selection")
model_selection = optional("sklearn.model_selection")
estimator_checks = optional("sklearn.utils.estimator_checks")

HEART, LABELS = load("heart_scale")
X, Y = HEART.toarray(), np.array(LABELS)
VOWEL, VOWELS = load("vowel.scale.xz", 100)
MANY, CLASSES = VOWEL.toarray(), np.array(VOWELS)
WEIGHTS = np.random.default_rng(2).integers(0, 3, len(Y)).astype(float)
TARGETS = X @ np.random.default_rng(0).normal(size=13) + 0.5 * np.random.default_rng(1).normal(size=len(Y))
LINEAR = {"kernel": "linear", "tol": 1e-6}


def ranking_of_refits(estimator, X, y, wanted=1):
    """Each model from a cold start, and |w|^2 from kernel matrices computed without each feature."""
    left, ranking = list(range(X.shape[1])), np.ones(X.shape[1], dtype=int)
    while len(left) > wanted:
        fitted = base.clone(estimator).fit(X[:, left], y)
        vectors, changes = fitted.support_vectors_, []
        gamma = fitted._gamma
        table = fitted._coefficients_by_function()

        def squares(rows, gamma=gamma, table=table):
            K = np.exp(-gamma * np.square(rows[:, None] - rows).sum(axis=2))
            return sum(beta @ K @ beta for beta in table)

        for f in range(len(left)):
            changes.append(abs(squares(vectors) - squares(np.delete(vectors, f, axis=1))))
        left.pop(int(np.argmin(changes)))
        ranking[np.setdiff1d(np.arange(X.shape[1]), left)] += 1
    return ranking


@pytest.mark.parametrize("step", [1, 3, 0.2])
@pytest.mark.parametrize("wanted", [None, 1, 4, 0.5, 20])
@pytest.mark.filterwarnings("ignore:Found n_features_to_select")
def test_a_linear_kernel_ranks_as_rfe(step, wanted):
    found = SVMRFE(SVC(**LINEAR), n_features_to_select=wanted, step=step).fit(X, Y)
    expected = feature_selection.RFE(SVC(**LINEAR), n_features_to_select=wanted, step=step).fit(X, Y)
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    np.testing.assert_array_equal(found.support_, expected.support_)
    assert found.n_features_ == expected.n_features_
    np.testing.assert_array_equal(found.transform(X), expected.transform(X))
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert found.score(X, Y) == expected.score(X, Y)


@pytest.mark.parametrize(
    ("estimator", "X", "y"),
    [
        (SVC(**LINEAR, class_weight="balanced"), X, Y),
        (SVC(**LINEAR), MANY, CLASSES),
        (SVR(**LINEAR), X, TARGETS),
        (QuantileSVR(**LINEAR, tau=0.3), X, TARGETS),
        (SVC(**LINEAR), csr_array(X), Y),
    ],
    ids=str,
)
def test_other_estimators_and_rows(estimator, X, y):
    found = SVMRFE(estimator, n_features_to_select=1).fit(X, y)
    expected = feature_selection.RFE(estimator, n_features_to_select=1).fit(X, y)
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize(("X", "y"), [(X[:120], Y[:120]), (MANY, CLASSES)], ids=["two classes", "eleven"])
def test_an_rbf_kernel_ranks_as_refits(gamma, X, y):
    estimator = SVC(gamma=gamma, tol=1e-6, C=2.0)
    np.testing.assert_array_equal(
        SVMRFE(estimator, n_features_to_select=1).fit(X, y).ranking_, ranking_of_refits(estimator, X, y)
    )


@pytest.mark.parametrize("scale", [1.0, 100.0])  # exponents that may be divided by one, and that may not
def test_rbf_rows_that_are_far_from_each_other(scale):
    rows = scale * X[:60] + np.where(np.arange(13) == 3, 300.0 * (np.arange(60)[:, None] % 2), 0.0)
    betas = np.random.default_rng(0).normal(size=(1, 60))
    left = RemainingFeatures(rows, True)
    found = left.importances(left.kernel(0.01), 0.01, betas)

    def square(rows):
        return float((betas @ np.exp(-0.01 * np.square(rows[:, None] - rows).sum(axis=2)) @ betas.T)[0, 0])

    wanted = [abs(square(rows) - square(np.delete(rows, f, axis=1))) for f in range(13)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:Solver terminated early")  # in RFE's first training
def test_what_a_large_feature_has_rounded_is_not_left():
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(80, 8))
    labels = rows @ draw.normal(size=8) + 0.3 * draw.normal(size=80) > 0
    offset = np.full(80, 1e8)
    found, theirs = (
        kind(SVC(kernel="linear"), n_features_to_select=3).fit(np.column_stack([rows, offset]), labels)
        for kind in (SVMRFE, feature_selection.RFE)
    )
    np.testing.assert_array_equal(found.ranking_, theirs.ranking_)
    # distances do not depend on an offset
    offset += 1e-3 * draw.normal(size=80)
    found = SVMRFE(SVC(gamma=0.1), n_features_to_select=3).fit(np.column_stack([rows, offset]), labels)
    expected = SVMRFE(SVC(gamma=0.1), n_features_to_select=3).fit(rows, labels)
    np.testing.assert_array_equal(found.ranking_, [*expected.ranking_, 7])


def test_weights_of_rows():
    found = SVMRFE(SVC(**LINEAR), n_features_to_select=1).fit(X, Y, WEIGHTS)
    repeated = np.repeat(np.arange(len(Y)), WEIGHTS.astype(int))
    expected = SVMRFE(SVC(**LINEAR), n_features_to_select=1).fit(X[repeated], Y[repeated])
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_ties_are_told(kernel):
    """A copy of a feature is as important as the original, so chance decides which of the two is left."""
    doubled = np.column_stack([X[:, :4], X[:, 0]])
    found = SVMRFE(SVC(kernel=kernel), n_features_to_select=1).fit(doubled, Y)
    assert [set(one) for one in found.ties_] == [{0, 4}]
    assert SVMRFE(SVC(kernel=kernel), n_features_to_select=1).fit(X[:, :4], Y).ties_ == []


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_a_cross_validation_is_that_of_rfecv(step, scoring):
    # with one or two features, many rows coincide, and rho is free within an interval
    options = {
        "step": step,
        "scoring": scoring,
        "min_features_to_select": 3,
        "cv": model_selection.KFold(3, shuffle=True, random_state=0),
    }
    found = SVMRFECV(SVC(**LINEAR), **options).fit(X, Y)
    expected = feature_selection.RFECV(SVC(**LINEAR), **options).fit(X, Y)
    np.testing.assert_array_equal(found.ranking_, expected.ranking_)
    for name in ("mean_test_score", "std_test_score", "split2_test_score", "n_features"):
        # coinciding rows have equal values up to rounding, and the area counts ties as halves
        atol = 3e-3 if scoring else 0.0
        np.testing.assert_allclose(found.cv_results_[name], expected.cv_results_[name], atol=atol)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_folds_may_be_masks_and_count_from_the_end():
    n = len(Y)
    ahead = [(np.arange(n // 2, n), np.arange(n // 2)), (np.arange(n // 2), np.arange(n // 2, n))]
    behind = [(train - n, test - n) for train, test in ahead]
    masks = [(np.isin(np.arange(n), train), np.isin(np.arange(n), test)) for train, test in ahead]
    lists = [(train.tolist(), test.tolist()) for train, test in ahead]
    wanted = SVMRFECV(SVC(**LINEAR), cv=ahead).fit(X, Y)
    for folds in (behind, masks, lists):
        found = SVMRFECV(SVC(**LINEAR), cv=folds).fit(X, Y)
        np.testing.assert_array_equal(found.ranking_, wanted.ranking_)
        np.testing.assert_array_equal(found.cv_results_["split0_test_score"], wanted.cv_results_["split0_test_score"])
    for row in (n, -n - 1):
        with pytest.raises(IndexError, match="out of bounds"):
            SVMRFECV(SVC(**LINEAR), cv=[([*range(n - 1), row], [0])]).fit(X, Y)
    for folds, message in (([], "cv gives no folds"), ([(range(n), [])], "no rows to score")):
        with pytest.raises(ValueError, match=message):
            SVMRFECV(SVC(**LINEAR), cv=folds).fit(X, Y)


def test_folds_may_repeat_rows():
    rng = np.random.default_rng(1)
    drawn = [rng.choice(len(Y), 80) for _ in range(3)]
    folds = [(rows, np.setdiff1d(np.arange(len(Y)), rows)) for rows in drawn]
    found, expected = (kind(SVC(**LINEAR), cv=folds).fit(X, Y) for kind in (SVMRFECV, feature_selection.RFECV))
    for k in range(3):  # coinciding rows leave rho free where few features are left
        name = f"split{k}_test_score"
        np.testing.assert_allclose(found.cv_results_[name][2:], expected.cv_results_[name][2:], atol=1e-12)


def test_a_cross_validation_of_a_regression_and_of_rbf():
    y = X[:, 0] + X[:, 3] ** 2
    found = SVMRFECV(SVR(), min_features_to_select=2, cv=3).fit(X[:, :6], y)
    assert found.support_[[0, 3]].all()
    assert found.cv_results_["n_features"].tolist() == [2, 3, 4, 5, 6]
    best = found.cv_results_["mean_test_score"].max()
    selected = model_selection.cross_val_score(SVR(), X[:, :6][:, found.support_], y, cv=3).mean()
    assert best == pytest.approx(selected, abs=1e-2)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVMRFE(SVC(kernel="poly")), "kernel 'linear' or 'rbf'"),
        (SVMRFE(NuSVC(kernel="linear")), "the estimator must be an SVC"),
        (SVMRFE(base.BaseEstimator()), "must be|the estimator must be an SVC"),
        (SVMRFE(QuantileSVR(tau=[0.1, 0.9])), "of one function"),
        (SVMRFE(SVC(kernel="linear", solver="crsvm")), "take solver='smo' for the estimator"),
        (SVMRFE(SVC(), step=0), "step"),
        (SVMRFE(SVC(), n_features_to_select=0.05), "n_features_to_select=0.05 of 13 features is less than one"),
        (SVMRFECV(SVC(probability=True), scoring="neg_log_loss"), "scoring='neg_log_loss' needs probabilities"),
        (SVMRFE(SVC(C=-1.0)), "C"),
    ],
)
def test_refusals(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


@pytest.mark.parametrize("kind", [SVMRFE, SVMRFECV])
def test_trainings_on_the_way_that_end_early(kind):
    with pytest.warns(exceptions.ConvergenceWarning) as told:
        kind(SVC(max_iter=3)).fit(X, Y)
    assert any("trainings on the way: " in str(one.message) for one in told)
    with pytest.raises(libsvmx.StoppedEarly, match="time limit"):
        kind(SVC(max_time=1e-9)).fit(X, Y)
    fitted = kind(SVC(max_time=1e6)).fit(X, Y)
    assert fitted.estimator_.max_time == 1e6
    np.testing.assert_array_equal(fitted.ranking_, kind(SVC()).fit(X, Y).ranking_)


@pytest.mark.filterwarnings("ignore:Solver terminated early")  # for unscaled rows with a linear kernel
@pytest.mark.parametrize("model", [SVMRFE(SVC(kernel="linear")), SVMRFE(SVR()), SVMRFECV(SVC(), cv=3)], ids=str)
def test_scikit_learn(model):
    results = estimator_checks.check_estimator(model, on_skip=None, on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in results if one["status"] not in ("passed", "skipped")}
    assert set(failed) <= {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}, failed


def test_there_are_names():
    assert libsvmx.SVMRFE is SVMRFE
    frame = optional("pandas").DataFrame(X[:, :3], columns=["a", "b", "c"])
    found = SVMRFE(SVC(kernel="linear"), n_features_to_select=1).fit(frame, Y)
    assert len(found.get_feature_names_out()) == 1
