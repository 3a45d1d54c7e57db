"""QuantileSVR: one tau is one quantile regression, several are those trainings over shared kernel values."""

import pickle
from copy import copy

import numpy as np
import pytest
from support.data import dense_rows
from support.optional import optional

import libsvmx

base = optional("sklearn.base")
metrics = optional("sklearn.metrics")
model_selection = optional("sklearn.model_selection")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] + (0.5 + 0.5 * np.abs(X[:, 1])) * RNG.normal(size=80)
TAUS = [0.9, 0.1, 0.5]
SETS = ["mpg", "pyrim", "abalone_scale.xz", "heart_scale", "iris.scale", "wine.scale", "glass.scale", "vowel.scale.xz"]
SETS += ["breast-cancer.xz", "ionosphere_scale.xz"]


def test_one_tau_is_the_training():
    fitted = libsvmx.QuantileSVR(tau=0.8, C=2.0, gamma=0.3).fit(X, Y)
    model = libsvmx.train(X, Y, svm_type="quantile_svr", tau=0.8, C=2.0, gamma=0.3)
    assert np.array_equal(fitted.dual_coef_, model.sv_coef)
    assert np.array_equal(fitted.predict(X), libsvmx.predict(model, X))
    assert np.array_equal(libsvmx.predict(fitted, X), fitted.predict(X))
    assert fitted.score(X, Y) == pytest.approx(metrics.d2_pinball_score(Y, fitted.predict(X), alpha=0.8))


@pytest.mark.parametrize("name", SETS)
def test_no_objective_is_smaller(name):
    """By more than 1e-6 of it: weak duality bounds the primal objective from below."""
    features, target = dense_rows(name, 150)
    if name not in ("mpg", "pyrim", "abalone_scale.xz"):  # sets of classes: predict the last feature from the others
        features, target = features[:, :-1], features[:, -1]
    features, target = ((part - part.mean(axis=0)) / np.maximum(part.std(axis=0), 1e-9) for part in (features, target))
    K = np.exp(-0.2 * np.square(features[:, None] - features).sum(axis=2))
    for tau in (0.05, 0.5, 0.9):
        fitted = libsvmx.QuantileSVR(tau=tau, C=2.0, gamma=0.2, refine=True).fit(features, target)
        beta = np.zeros(len(target))
        beta[fitted.support_] = fitted.dual_coef_[0]
        assert abs(beta.sum()) < 1e-9
        assert beta.min() >= -2.0 * (1 - tau) and beta.max() <= 2.0 * tau
        residual = target - K @ beta - fitted.intercept_
        half_square = 0.5 * beta @ K @ beta
        primal = half_square + 2.0 * np.maximum(tau * residual, (tau - 1) * residual).sum()
        assert primal > 1.0
        assert 0 <= primal - (target @ beta - half_square) + 1e-12 < 1e-6 * primal


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_several_are_a_column_each(form):
    fitted = libsvmx.QuantileSVR(tau=form(TAUS), gamma=0.3).fit(X, Y)
    alone = [libsvmx.QuantileSVR(tau=tau, gamma=0.3).fit(X, Y) for tau in TAUS]
    assert np.array_equal(fitted.predict(X), np.column_stack([one.predict(X) for one in alone]))
    assert [one.tau for one in fitted.estimators_] == TAUS
    assert fitted.n_iter_ == sum(one.n_iter_ for one in alone)
    assert fitted.score(X, Y) == pytest.approx(np.mean([one.score(X, Y) for one in alone]))
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    assert fitted.n_features_in_ == 3
    with pytest.raises(ValueError, match="3 features"):
        fitted.predict(X[:, :2])


def test_curves_that_cross_are_sorted():
    """With few rows and a narrow kernel some cross; the same values are returned, in the order of tau."""
    crossing = libsvmx.QuantileSVR(tau=TAUS, gamma=3.0, C=30.0).fit(X[:30], Y[:30])
    plain = crossing.predict(X)
    ranks = np.argsort(TAUS)
    assert (np.diff(plain[:, ranks], axis=1) < 0).any()
    found = base.clone(crossing).set_params(non_crossing=True).fit(X[:30], Y[:30]).predict(X)
    assert (np.diff(found[:, ranks], axis=1) >= 0).all()
    assert np.array_equal(np.sort(found, axis=1), np.sort(plain, axis=1))


def test_another_fit_forgets_the_other_kind():
    fitted = libsvmx.QuantileSVR(tau=TAUS).fit(X, Y)
    fitted.set_params(tau=0.5).fit(X, Y)
    assert not hasattr(fitted, "estimators_")
    assert fitted.predict(X).shape == (80,)
    fitted.set_params(tau=TAUS).fit(X, Y)
    assert not hasattr(fitted, "support_")
    assert fitted.predict(X).shape == (80, 3)


def test_rows_join_and_leave_one_tau():
    one = (
        libsvmx.QuantileSVR(tau=0.7, gamma=0.3)
        .partial_fit(X[:50], Y[:50])
        .partial_fit(X[50:], Y[50:])
        .unlearn(range(10))
    )
    fresh = libsvmx.QuantileSVR(tau=0.7, gamma=0.3, refine=True).fit(X[10:], Y[10:])
    np.testing.assert_allclose(one.predict(X), fresh.predict(X), atol=1e-9)
    several = libsvmx.QuantileSVR(tau=TAUS, keep_rows=True).fit(X, Y)
    for name in ("partial_fit", "unlearn", "loo_decision_function", "to_model", "to_libsvm"):
        with pytest.raises(AttributeError, match="there are several tau"):
            getattr(several, name)
        assert hasattr(several.estimators_[0], name)
    assert len(several.estimators_[1].loo_decision_function()) == 80


def test_model_files(tmp_path):
    fitted = libsvmx.QuantileSVR(tau=0.3, gamma=0.3).fit(X, Y)
    fitted.to_libsvm(tmp_path / "model")
    read = libsvmx.QuantileSVR.from_libsvm(tmp_path / "model")
    np.testing.assert_allclose(read.predict(X), fitted.predict(X), atol=1e-6)
    kept = libsvmx.QuantileSVR.from_model(fitted.to_model())
    assert kept.tau == 0.3
    assert np.array_equal(kept.predict(X), fitted.predict(X))


@pytest.mark.parametrize("tau", [0.0, 1.0, [0.5, 1.5], [], "half", None, ["0.5"], [[0.1], [0.9]], {0.5}])
def test_refusals(tau):
    with pytest.raises(ValueError, match="tau"):
        libsvmx.QuantileSVR(tau=tau).fit(X, Y)


def test_what_several_share():
    """A kernel and a callback, but no start."""
    told = []
    made = libsvmx.QuantileSVR(tau=TAUS, kernel=lambda A, B: A @ B.T, callback=told.append).fit(X, Y)
    linear = libsvmx.QuantileSVR(tau=TAUS, kernel="linear").fit(X, Y)
    np.testing.assert_allclose(made.predict(X), linear.predict(X), atol=1e-2)
    assert all(one.callback is made.callback for one in made.estimators_)
    with pytest.raises(ValueError, match="warm_start is for one tau"):
        libsvmx.QuantileSVR(tau=TAUS, warm_start=True).fit(X, Y)


def test_a_copy_shares_no_rows():
    made = libsvmx.QuantileSVR(tau=TAUS, keep_rows=True).fit(X, Y)
    before = made.predict(X)
    copy(made).estimators_[0].unlearn([0])
    np.testing.assert_array_equal(made.predict(X), before)


def test_a_search_chooses_by_the_pinball_loss():
    search = model_selection.GridSearchCV(libsvmx.QuantileSVR(tau=0.9), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(X, Y)
    assert search.score(X, Y) == pytest.approx(metrics.d2_pinball_score(Y, search.predict(X), alpha=0.9))


def test_warm_starts_from_another_tau():
    model = libsvmx.QuantileSVR(tau=0.2, gamma=0.3, tol=1e-8, warm_start=True).fit(X, Y)
    for tau in (0.9, 0.5):
        model.set_params(tau=tau).fit(X, Y)
        fresh = libsvmx.QuantileSVR(tau=tau, gamma=0.3, tol=1e-8).fit(X, Y)
        assert model.fit_status_ == 0
        np.testing.assert_allclose(model.predict(X), fresh.predict(X), atol=1e-5)
