"""tau_path(): at every tau the exact optimum, checked by NumPy and by refits."""

import pickle

import numpy as np
import pytest
from support import optima

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly

from .table import Case, each

FIRST, LAST = 0.07, 0.94


def followed(case, first=FIRST, last=LAST, **options):
    return libsvmx.tau_path(case.X(), case.y(), first, last, **{**case.options, **options})


def some_taus(path, n):
    """Values of tau: random, at breakpoints, just before and after them, and both ends."""
    drawn = np.random.default_rng(n)
    at = drawn.choice(path.tau[1:-1], min(n, len(path.tau) - 2), replace=False)
    found = [drawn.uniform(path.tau[0], path.tau[-1], n), at, at * (1 - 1e-9), at * (1 + 1e-9), path.tau[[0, -1]]]
    return np.clip(np.concatenate(found), path.tau[0], path.tau[-1])


@each("tau_path", kernel=["linear", "quadratic", "cubic", "rbf", "precomputed"])
def test_models_are_optima(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    path = followed(case)
    assert (np.diff(path.tau) > 0).all() and len(path.tau) > 10
    assert (path.tau[0], path.tau[-1], path.param.tau) == (FIRST, LAST, FIRST)
    for tau in some_taus(path, 3):
        model = path.model(tau)
        assert model.param.tau == tau
        (one,) = optima.judged(model, case.K(), case.y())
        one.check(1e-8)


@each("tau_path", solver=["smo", "irwls"], kernel=["linear", "cubic", "rbf", "precomputed"])
def test_curves_are_those_of_refits(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    path = followed(case)
    taus = some_taus(path, 3)
    expected = np.column_stack([case.state(tau=tau).predict(case.tests()) for tau in taus])
    found = path.predict(case.tests(), taus)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(path.predict(case.tests(), taus[0]), found[:, 0])


def test_weights_of_rows():
    case = Case("smo", "quantile", "rbf")
    w = np.random.default_rng(0).integers(0, 3, len(case.rows)).astype(float)
    path = followed(case, sample_weight=w)
    for tau in some_taus(path, 2):
        (one,) = optima.judged(path.model(tau), case.K(), case.y(), w)
        one.check(1e-8)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_path_of_one_point_and_threads(threads):
    case = Case("smo", "quantile", "rbf")
    path = followed(case, 0.3, 0.3, threads=threads)
    assert path.tau.tolist() == [0.3]
    expected = case.state(tau=0.3).predict(case.tests())
    np.testing.assert_allclose(path.predict(case.tests(), 0.3), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_kernel_of_the_caller():
    case = Case("smo", "quantile", "linear")
    options = {name: value for name, value in case.options.items() if name not in ("kernel_type", "gamma")}
    path = libsvmx.tau_path(case.X(), case.y(), FIRST, LAST, **options, kernel=lambda A, B: A @ B.T)
    expected = followed(case).predict(case.tests(), [0.2, 0.8])
    found = path.predict(case.tests(), [0.2, 0.8])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_the_share_of_rows_at_which_curves_cross():
    case = Case("smo", "quantile", "rbf")
    path = followed(case, C=100.0)
    fine = path.predict(case.tests(), np.linspace(FIRST, LAST, 2000))
    expected = (np.diff(fine, axis=1) < -1e-6 * np.abs(fine).max()).any(axis=1).mean()
    assert 0 < expected <= path.crossing(case.tests())
    assert path.crossing(case.tests(), 0.5) == 0
    two = path.predict(case.tests(), [0.4, 0.45])
    assert path.crossing(case.tests(), [0.45, 0.4]) == pytest.approx((two[:, 1] < two[:, 0]).mean())
    constant = libsvmx.tau_path(np.zeros((9, 1)), np.arange(9.0), 0.1, 0.9)
    assert constant.crossing(np.zeros((2, 1))) == 0
    assert constant.predict(np.zeros((2, 1)), []).shape == (2, 0)
    assert constant.crossing(np.zeros((2, 1)), []) == 0


def test_queries_of_a_path():
    case = Case("smo", "quantile", "rbf")
    path = followed(case)
    for ask in (path.model, lambda tau: path.predict(case.X(), tau)):
        for tau in (FIRST * 0.9, LAST * 1.01, float("nan"), "much"):
            with pytest.raises(ParameterError, match="tau"):
                ask(tau)
    with pytest.raises(ParameterError, match="must be one number"):
        path.model([0.2, 0.3])
    with pytest.raises(ValueError, match="read-only"):
        path.tau[0] = 0.5
    with pytest.raises(TypeError, match="take its model at the tau that is wanted"):
        pickle.dumps(path)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"tau_min": 0}, ParameterError, "0 < tau_min <= tau_max < 1 is needed"),
        ({"tau_max": 1}, ParameterError, "0 < tau_min <= tau_max < 1 is needed"),
        ({"tau_min": 0.6, "tau_max": 0.5}, ParameterError, "0 < tau_min <= tau_max < 1 is needed"),
        ({"probability": True}, ParameterError, "^a path has no probability estimates"),
        ({"param": libsvmx.Parameter()}, ParameterError, "one of quantile regression, not of C_SVC"),
        ({"sample_weight": np.zeros(60)}, DataError, "weight"),
        ({"time_limit": 1e-9}, StoppedEarly, "there is no path"),
    ],
)
def test_refusals(given, error, words):
    case = Case("smo", "quantile", "rbf")
    with pytest.raises(error, match=words):
        libsvmx.tau_path(**{"X": case.X(), "y": case.y(), **given})
