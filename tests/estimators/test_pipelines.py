"""Pipelines of scikit-learn give the same results with these estimators as with its own."""

import numpy as np
import pytest
from support.data import dense_rows
from support.optional import optional

import libsvmx

svm = optional("sklearn.svm")
calibration = optional("sklearn.calibration")
ensemble = optional("sklearn.ensemble")
inspection = optional("sklearn.inspection")
model_selection = optional("sklearn.model_selection")
multiclass = optional("sklearn.multiclass")
pipeline = optional("sklearn.pipeline")
preprocessing = optional("sklearn.preprocessing")
text = optional("sklearn.feature_extraction.text")


X, Y = dense_rows("wine.scale")
Y = np.array(["red", "white", "rosé"])[Y.astype(int) - 1]


def both(make):
    """The result of ``make`` with each module's classes."""
    return make(libsvmx), make(svm)


def test_grid_search():
    def search(module):
        steps = pipeline.make_pipeline(preprocessing.StandardScaler(), module.SVC())
        grid = {"svc__C": [0.1, 1, 10], "svc__gamma": ["scale", 0.01]}
        return model_selection.GridSearchCV(steps, grid, n_jobs=2, cv=3).fit(X, Y)

    ours, theirs = both(search)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert type(ours.best_estimator_[-1]) is libsvmx.SVC


def test_cross_validation_with_a_kernel_of_ones_own():
    def kernel(a, b):
        return (a @ b.T + 1) ** 2

    ours, theirs = both(lambda module: model_selection.cross_val_score(module.SVC(kernel=kernel), X, Y, cv=4))
    np.testing.assert_array_equal(ours, theirs)


def test_cross_validation_of_a_precomputed_kernel():
    ours, theirs = both(lambda m: model_selection.cross_val_score(m.SVC(kernel="precomputed"), X @ X.T, Y, cv=4))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: calibration.CalibratedClassifierCV(m.SVC(), cv=3, n_jobs=2),
        lambda m: multiclass.OneVsRestClassifier(m.SVC(), n_jobs=2),
        lambda m: ensemble.BaggingClassifier(m.SVC(), n_estimators=4, n_jobs=2, random_state=0),
        lambda m: ensemble.VotingClassifier([("a", m.SVC()), ("b", m.NuSVC(nu=0.2))], n_jobs=2),
    ],
    ids=["calibrated", "one against the rest", "bagging", "voting"],
)
def test_meta_estimators(make):
    ours, theirs = (make(module).fit(X, Y) for module in (libsvmx, svm))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if hasattr(theirs, "predict_proba") and not isinstance(theirs, ensemble.VotingClassifier):
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_regression_in_a_pipeline():
    y = X[:, 0] * 2 + X[:, 1]
    ours, theirs = both(lambda m: model_selection.cross_val_score(m.SVR(C=10), X, y, cv=3, n_jobs=2))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_learning_curve_and_importance():
    def curve(module):
        return model_selection.learning_curve(module.SVC(), X, Y, cv=3, shuffle=True, random_state=0, n_jobs=2)[2]

    def importance(module):
        fitted = module.SVC().fit(X, Y)
        return inspection.permutation_importance(fitted, X, Y, n_repeats=2, n_jobs=2, random_state=0).importances

    for make in (curve, importance):
        ours, theirs = both(make)
        np.testing.assert_array_equal(ours, theirs)


def test_text():
    lines = ["the cat sat", "a dog ran", "the cat ran", "a dog sat"] * 5
    labels = ["cat", "dog", "cat", "dog"] * 5
    union = pipeline.FeatureUnion(
        [("words", text.TfidfVectorizer()), ("letters", text.CountVectorizer(analyzer="char"))], n_jobs=2
    )
    ours, theirs = both(lambda m: pipeline.make_pipeline(union, m.SVC()).fit(lines, labels).decision_function(lines))
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_weights_are_routed():
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = libsvmx.SVC().set_fit_request(sample_weight=True)
        steps = pipeline.make_pipeline(preprocessing.MinMaxScaler(), model)
        weights = np.arange(len(Y)) % 3 + 1.0
        steps.fit(X, Y, sample_weight=weights)
    scaled = preprocessing.MinMaxScaler().fit_transform(X)
    np.testing.assert_array_equal(steps[-1].support_, libsvmx.SVC().fit(scaled, Y, sample_weight=weights).support_)
