"""States with large margins and outliers, and internal conditions that must not occur."""

import copy
import pickle

import numpy as np
import pytest

import libsvmx
from libsvmx import KernelType, SvmType

LINEAR, POLY, RBF, SIGMOID = KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID
SVR, ONE_CLASS = SvmType.EPSILON_SVR, SvmType.ONE_CLASS


def noise(n, seed=5):
    """Random labels: at large C most rows are on the margin."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


def test_rows_far_from_the_margin_are_shrunk_and_come_back():
    """Large enough that a path continues without them; a copy behaves like the state."""
    X, y = noise(1500)
    state = libsvmx.train(X[:1400], y[:1400], keep_state=True, C=3, gamma=0.5)
    binary = next(iter(state.binaries.values()))
    assert binary.state.margin_size * len(state) > 4e5  # otherwise nothing is shrunk
    other = state.copy()
    for each in (state, other):
        ids = each.update(add=(X[1400:], y[1400:]), remove=range(100))
        each.remove(ids[:50])
        assert each.gap < 1e-9
    fresh = libsvmx.train(X[state.ids], y[state.ids], keep_state=True, C=3, gamma=0.5)
    for each in (state, other):
        assert each.objective == pytest.approx(fresh.objective, rel=1e-10)
        np.testing.assert_allclose(each.decision_values(X), fresh.decision_values(X), rtol=0, atol=1e-8)
        assert each.check() < 1e-9


def test_an_outlier_leaves_nothing_behind():
    """While it is present, its kernel values set the scale of rounding."""
    X, y = noise(200)
    state = libsvmx.train(X, y, keep_state=True, kernel_type=0)
    state.remove(state.add(np.full((1, 6), 1e6), [1]))
    with pytest.raises(libsvmx.DataError):
        state.update(add=(np.full((1, 6), 1e9), [1]), remove=[10**6])
    for k in range(20):
        state.update(add=(X[3 * k : 3 * k + 3], y[3 * k : 3 * k + 3]), remove=state.ids[:3])
    rows = np.r_[60:200, 0:60]
    fresh = libsvmx.train(X[rows], y[rows], keep_state=True, kernel_type=0)
    assert state.check() < 1e-10
    assert state.objective == pytest.approx(fresh.objective, rel=1e-10)


def test_an_observer_cannot_use_a_state_in_change():
    X, y = noise(1200)
    state = libsvmx.train(X[:600], y[:600], keep_state=True, C=100, gamma=0.5)
    before = bytes(state.model.coef)

    class Meddler(libsvmx.Observer):
        def should_stop(self):
            return bool(state.model)

    with pytest.raises(libsvmx.SvmxError, match="being changed"):
        state.add(X[600:], y[600:], observer=Meddler())
    assert bytes(state.model.coef) == before
    assert len(state.add(X[600:700], y[600:700])) == 100


def test_states_are_copied_but_not_pickled():
    X, y = noise(60)
    state = libsvmx.train(X, y, keep_state=True)
    for other in (copy.copy(state), copy.deepcopy(state)):
        other.remove([0])
        assert (len(other), len(state)) == (59, 60)
    with pytest.raises(TypeError, match="save it to a file"):
        pickle.dumps(state)
    for wrong in (lambda: libsvmx.predict(state, X), lambda: libsvmx.save_model("never", state)):
        with pytest.raises(TypeError, match=r"take its \.model"):
            wrong()


@pytest.mark.parametrize("kernel", [RBF, LINEAR])
@pytest.mark.parametrize("way", [(2.0**70, None), (1e15, None), (1e12, 2.0), (1e14, 1.0), (1.0, 1e12), (5e3, 2.0**70)])
def test_scores_keep_no_rounding_of_bounds_that_are_far_larger(kernel, way):
    """Rows moving to a bound of 1e21 move scores by as much, and leave its rounding error when they stop."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 20))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, 1.0, -1.0)
    state = libsvmx.train(X[:70], y[:70], keep_state=True, C=1.0, kernel_type=kernel, gamma=0.05)
    state.set_cost(way[0])
    for k in range(70, 80, 2):
        state.add(X[k : k + 2], y[k : k + 2])
    if way[1] is not None:
        state.set_cost(way[1])
    binary = next(iter(state.binaries.values())).state
    rows = X[np.asarray(binary.tags)]
    K = rows @ rows.T if kernel == LINEAR else np.exp(-0.05 * ((rows[:, None] - rows) ** 2).sum(2))
    expected = K @ np.asarray(binary.coefficients)
    np.testing.assert_allclose(binary.K_beta, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert state.check() < 1e-9
