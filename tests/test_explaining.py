"""explain(): Shapley values equal those over all coalitions; and models that cannot be explained."""

import sys
from itertools import chain, combinations
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest
from libsvmx._kernels.shapley import ExpansionShapley
from scipy.special import roots_legendre
from support.data import load

import libsvmx
from libsvmx import DataError, ParameterError
from libsvmx.api.explaining import rule
from libsvmx.exceptions import TooLittleMemory

HEART, LABELS = load("heart_scale")
ROWS = np.asarray(HEART.toarray())


@pytest.mark.parametrize("kernel_type", ["rbf", "linear"])
@pytest.mark.parametrize("d", [1, 2, 9, 60, 300])
def test_values_add_up(d, kernel_type):
    drawn = np.random.default_rng(d)
    X = drawn.normal(size=(90, d)) * (drawn.random((90, d)) < 0.7)
    y = np.where(X.sum(axis=1) > 0, 1, -1) * np.where(drawn.random(90) < 0.1, -1, 1)
    model = libsvmx.train(X, y, gamma=1.0 / d, kernel_type=kernel_type)
    found = libsvmx.explain(model, X[:7], X[40:60])
    values = libsvmx.decision_values(model, X[:7])[:, 0]
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, values, rtol=1e-12, atol=1e-12)
    assert found.values.shape == (7, d) == found.data.shape
    assert (found.data == X[:7]).all()
    np.testing.assert_allclose(found.base_values, libsvmx.decision_values(model, X[40:60]).mean())


def test_a_feature_that_is_shared_or_without_effect_has_none():
    X = ROWS.copy()
    X[:, 3] = 0.25
    model = libsvmx.train(X, LABELS, gamma=0.1)
    values = libsvmx.explain(model, X[:4], X[50:90]).values
    assert (values[:, 3] == 0).all()
    assert (libsvmx.explain(model, X[:1], X[:1]).values == 0).all()


def test_products_that_underflow():
    """With a gamma this large, K is 0 except between a vector and itself."""
    model = libsvmx.train(ROWS, LABELS, gamma=1e4)
    found = libsvmx.explain(model, ROWS[:3], ROWS[3:5])
    sums = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(sums, libsvmx.decision_values(model, ROWS[:3])[:, 0], atol=1e-12)


def test_the_number_of_threads_and_the_form_of_rows_change_nothing(tmp_path):
    model = libsvmx.train(HEART, LABELS, gamma=0.1)
    expected = libsvmx.explain(model, ROWS[:5], ROWS[100:160], threads=1).values
    assert (libsvmx.explain(model, HEART[:5], HEART[100:160], threads=3).values == expected).all()
    libsvmx.save_model(str(tmp_path / "model"), model)
    loaded = libsvmx.load_model(str(tmp_path / "model"))
    np.testing.assert_allclose(libsvmx.explain(loaded, ROWS[:5], ROWS[100:160]).values, expected, rtol=1e-6, atol=1e-9)


def test_features_that_only_some_have():
    """Features of the vectors alone, missing in both rows, and features in no vector."""
    model = libsvmx.train(HEART, LABELS, gamma=0.1)
    found = libsvmx.explain(model, [{1: 0.5}], [{2: 1.0}])
    assert found.values.shape == (1, 2)
    value = libsvmx.decision_values(model, [{1: 0.5}])[0, 0]
    assert found.values.sum() + found.base_values[0] == pytest.approx(value, rel=1e-12)
    narrow, wide = [{2: 0.5}], [{1: 1.0}, {20: 2.0}]
    found = libsvmx.explain(model, narrow, wide)
    assert found.values.shape == (1, 20)
    value = libsvmx.decision_values(model, narrow)[0, 0]
    assert found.values.sum() + found.base_values[0] == pytest.approx(value, rel=1e-12)
    assert found.values[0, 19] != 0


def test_an_index_of_0():
    """It is a feature like any other; columns of arrays start at index 1."""
    drawn = np.random.default_rng(1).normal(size=(40, 3))
    rows = [dict(enumerate(row)) for row in drawn]
    model = libsvmx.train(rows, np.sign(drawn.sum(axis=1)), gamma=0.5)
    found = libsvmx.explain(model, rows[:2], rows[2:9])
    assert (found.first_index, found.values.shape) == (0, (2, 3))
    np.testing.assert_allclose(found.values[1], by_coalitions_of_dicts(model, rows[1], rows[2:9]), atol=1e-12)
    table = libsvmx.explain(model, drawn[:2, 1:], drawn[2:9, 1:])
    assert (table.first_index, table.values.shape) == (1, (2, 2))
    assert (table.data == drawn[:2, 1:]).all()


def by_coalitions_of_dicts(model, x, background):
    """``by_coalitions`` for one function and rows as dicts."""
    values = np.zeros(len(x))
    features = sorted(x)
    for S in chain.from_iterable(combinations(features, k) for k in range(len(x))):
        for f in set(features) - set(S):
            weight = factorial(len(S)) * factorial(len(x) - len(S) - 1) / factorial(len(x))
            worth = [
                libsvmx.decision_values(model, [{**b, **{k: x[k] for k in members}} for b in background]).mean()
                for members in ({*S, f}, S)
            ]
            values[features.index(f)] += weight * (worth[0] - worth[1])
    return values


@pytest.mark.parametrize("n", [2, 3, 8, 501])
def test_nodes_are_those_of_scipy(n):
    nodes, weights = rule(n)
    expected, of_expected = roots_legendre(n)
    np.testing.assert_allclose(nodes, (expected + 1) / 2, atol=1e-15)
    np.testing.assert_allclose(weights, of_expected / 2, atol=1e-13)


def test_an_explanation_for_the_plots_of_shap(monkeypatch):
    class Explanation:
        def __init__(self, values, base_values, data, feature_names=None):
            self.given = values, base_values, data, feature_names

    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=Explanation))
    found = libsvmx.explain(libsvmx.train(ROWS, LABELS), ROWS[:2], ROWS)
    assert found.to_shap("abc").given == (found.values, found.base_values, found.data, "abc")


def test_no_more_memory_than_there_is():
    model = libsvmx.train(ROWS, LABELS)
    with pytest.raises(TooLittleMemory, match="explaining 2000000000 features needs about"):
        libsvmx.explain(model, [{2_000_000_000: 1.0}], ROWS)


def test_vectors_with_features_that_rows_lack_are_refused():
    model = libsvmx.train(ROWS, LABELS)
    with pytest.raises(ValueError, match="features of vectors"):
        ExpansionShapley(model.vectors, 1, np.ones((1, model.n_sv)), 1.0, np.zeros((1, 2)), [rule(4)], 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kernel_type", ["linear", "rbf"])
def test_values_that_overflow(kernel_type):
    drawn = np.random.default_rng(2).normal(size=(30, 4))
    model = libsvmx.train(drawn, np.sign(drawn[:, 0]), kernel_type=kernel_type)
    far = np.full((1, 4), 1.7e308)
    if kernel_type == "linear":
        with pytest.raises(DataError, match="too large for a double"):
            libsvmx.explain(model, far, -far)
    else:
        assert libsvmx.explain(model, far, -far).values.shape == (1, 4)


def test_models_that_cannot_be_explained():
    model = libsvmx.train(ROWS, LABELS, kernel_type="polynomial")
    with pytest.raises(ParameterError, match="RBF, LAPLACIAN or LINEAR, not POLY"):
        libsvmx.explain(model, ROWS[:1], ROWS)
    model = libsvmx.train(ROWS, LABELS)
    with pytest.raises(DataError, match="the background has no rows"):
        libsvmx.explain(model, ROWS[:1], ROWS[:0])
    with pytest.raises(DataError, match="columns"):
        libsvmx.explain(model, np.ones((1, 14)), ROWS)
    with pytest.raises(DataError):
        libsvmx.explain(model, ROWS[:1], np.full((1, 13), np.nan))
    with pytest.raises(TypeError):
        libsvmx.explain("model", ROWS, ROWS)
    assert libsvmx.explain(model, ROWS[:0], ROWS).values.shape == (0, 13)


def test_a_model_without_vectors():
    model = libsvmx.train(ROWS, np.ones(len(ROWS)), svm_type="EPSILON_SVR")
    assert model.n_sv == 0
    assert (libsvmx.explain(model, ROWS[:2], ROWS).values == 0).all()
