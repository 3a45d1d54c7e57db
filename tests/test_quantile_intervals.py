"""quantile_intervals(): the formula of Romano, Patterson & Candès over single trainings, and its coverage."""

from math import ceil

import numpy as np
import pytest
from support.drawn import Rand

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly, quantile_intervals

RNG = np.random.default_rng(8)
X = RNG.uniform(0, 3, size=(90, 2))
Y = np.sin(2 * X[:, 0]) + (0.1 + 0.3 * X[:, 1]) * RNG.normal(size=90)
NEW = RNG.uniform(0, 3, size=(25, 2))
OPTIONS = {"C": 3.0, "gamma": 0.7}


def curves(rows, tests, alpha, **options):
    models = [
        libsvmx.train(X[rows], Y[rows], svm_type="quantile_svr", tau=tau, **OPTIONS, **options)
        for tau in (alpha / 2, 1 - alpha / 2)
    ]
    return np.sort([libsvmx.predict(model, tests) for model in models], axis=0)


def folds_of(k, seed=1):
    return Rand(seed).folds(Y, k, False)


@pytest.mark.parametrize("alpha", [0.1, 0.25])
@pytest.mark.parametrize("seed", [1, 6])
def test_half_of_the_rows_calibrates(alpha, seed):
    held, rest = folds_of(2, seed)
    low, high = curves(rest, X[held], alpha)
    scores = np.sort(np.maximum(low - Y[held], Y[held] - high))
    widened = scores[ceil((1 - alpha) * (len(held) + 1)) - 1]
    low, high = curves(rest, NEW, alpha)
    found = quantile_intervals(X, Y, NEW, alpha=alpha, random_state=seed, **OPTIONS)
    np.testing.assert_allclose(found.lower, low - widened, atol=1e-12)
    np.testing.assert_allclose(found.upper, high + widened, atol=1e-12)


@pytest.mark.parametrize("solver", ["smo", "chunked"])
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_folds_calibrate_each_other(alpha, solver):
    lower, upper = [], []
    folds = folds_of(5)
    for held in folds:
        rest = np.concatenate([other for other in folds if other is not held])
        low, high = curves(rest, X[held], alpha, solver=solver)
        scores = np.maximum(low - Y[held], Y[held] - high)
        low, high = curves(rest, NEW, alpha, solver=solver)
        lower.extend(low - score for score in scores)
        upper.extend(high + score for score in scores)
    k = int(alpha * 91 + 1e-9)
    found = quantile_intervals(X, Y, NEW, 5, alpha, solver=solver, **OPTIONS)
    np.testing.assert_allclose(found.lower, np.sort(lower, axis=0)[k - 1], atol=1e-9)
    np.testing.assert_allclose(found.upper, np.sort(upper, axis=0)[-k], atol=1e-9)
    again = quantile_intervals(X, Y, NEW, cv=5, alpha=alpha, solver=solver, threads=3, **OPTIONS)
    np.testing.assert_array_equal(again.lower, found.lower)


def test_they_cover_and_follow_the_scatter():
    drawn = np.random.default_rng(1)
    rows = drawn.uniform(0, 3, size=(1600, 2))
    y = np.sin(2 * rows[:, 0]) + (0.1 + 0.3 * rows[:, 1]) * drawn.normal(size=1600)
    for n_folds in (None, 5):
        found = quantile_intervals(rows[:600], y[:600], rows[600:], n_folds, 0.1, **OPTIONS)
        covered = (found.lower <= y[600:]) & (y[600:] <= found.upper)
        assert 0.86 < covered.mean() < 0.95
        width, calm = found.upper - found.lower, rows[600:, 1] < 1
        assert width[~calm].mean() > 1.5 * width[calm].mean()


def test_too_few_rows_tell_nothing():
    found = quantile_intervals(X[:10], Y[:10], NEW, alpha=0.1, **OPTIONS)
    assert (found.lower == -np.inf).all()
    assert (found.upper == np.inf).all()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"alpha": 1.0}, ParameterError, "alpha"),
        ({"svm_type": "epsilon_svr"}, ParameterError, "of quantile regression"),
        ({"probability": True}, ParameterError, "without probability"),
        ({"n_folds": 1}, ParameterError, "at least 2 folds"),
        ({"y": Y[:-1]}, DataError, "90 rows"),
        ({"time_limit": 1e-9}, StoppedEarly, "time limit"),
    ],
)
def test_refusals(change, error, words):
    with pytest.raises(error, match=words):
        quantile_intervals(**{"X": X, "y": Y, "X_new": NEW, **OPTIONS, **change})
