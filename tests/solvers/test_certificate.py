"""The certificate and the projection against NumPy, over boxes of any kind."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.fold_changes import shifted

from libsvmx._core.buffers import filled
from libsvmx._solvers.dual import array_level, extremes, kkt_gap, project


def boxes(seed, n):
    """(beta, lower, upper): some boxes are one point, some beta are at a bound."""
    rng = np.random.default_rng(seed)
    lower = np.where(rng.random(n) < 0.5, 0.0, -rng.uniform(0.1, 3, n))
    upper = np.where(rng.random(n) < 0.2, lower, lower + rng.uniform(0.1, 3, n))
    share = rng.choice([0.0, 0.3, 0.8, 1.0], n)
    beta = np.where(share == 0, lower, np.where(share == 1, upper, lower + share * (upper - lower)))
    return beta, lower, upper


@given(st.integers(0, 2**32 - 1), st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_gap_and_level(seed, n):
    beta, lower, upper = boxes(seed, n)
    rng = np.random.default_rng(seed + 1)
    V, group = rng.normal(size=n), rng.integers(0, 2, n).astype(np.int8)
    gaps = []
    for own in (np.ones(n, dtype=bool), group == 0, group == 1):
        up, low = own & (beta < upper), own & (beta > lower)
        highest, lowest = extremes(V, up, low)
        assert highest == V[up].max(initial=-np.inf)
        assert lowest == V[low].min(initial=np.inf)
        gaps.append(highest - lowest)
        level = array_level(V[own], up[own], low[own])
        if (up & low).any():
            assert level == pytest.approx(V[up & low].mean())
        elif up.any() and low.any():
            assert level == (highest + lowest) / 2
        else:
            assert level == (highest if up.any() else lowest if low.any() else 0.0)
    assert kkt_gap(beta, V, lower, upper) == gaps[0]
    assert kkt_gap(beta, V, lower, upper, group) == max(gaps[1:])


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(-1.5, 1.5), st.booleans())
@example(1324, 21, 1.0, True)
@settings(max_examples=200, deadline=None)
def test_projection(seed, n, share, inside):
    """The nearest point of the box with that sum, from inside the box or not; fixed variables do not move."""
    beta, lower, upper = boxes(seed, n)
    rng = np.random.default_rng(seed + 1)
    if not inside:
        beta = beta + rng.normal(size=n)
    movable = np.flatnonzero((rng.random(n) < 0.7) & (lower < upper))
    own = beta[movable], lower[movable], upper[movable]
    # summed in project()'s order: in another one the last bit may put a sum at the bound beyond it
    least, most = (np.cumsum([0.0, *(bound - own[0])])[-1] for bound in own[1:])
    missing = least + (share + 1) / 2 * (most - least)
    found = beta.copy()
    met = project(found, lower, upper, missing, filled("i", movable))
    assert met == (least <= missing <= most)
    expected = beta.copy()
    expected[movable] = shifted(*own, missing)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.all((found >= lower) & (found <= upper) | (found == beta))
