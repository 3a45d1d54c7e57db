"""Pieces of the least squares of working sets."""

import numpy as np
import pytest

from libsvmx._solvers.decomposition.irwls import feasible


@pytest.mark.parametrize("excess", [-3e-16, -2e-16, 2e-16, 3e-16])
def test_what_is_at_a_bound_stays_there_exactly(excess):
    """Not a hair inside, where it would count as free, and no step could move it."""
    lower, upper = np.zeros(5), np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    point = np.array([0.0, 0.1, 0.2, 0.7, 0.5])
    found = feasible(point, float(point.sum()) + excess, lower, upper)
    assert found[0] == 0.0
    assert found[4] == 0.5
    np.testing.assert_allclose(found, point, atol=1e-14)


def test_the_nearest_point_of_a_sum():
    rng = np.random.default_rng(0)
    lower, upper = -rng.random(50), rng.random(50)
    point = 3 * rng.normal(size=50)
    for share in (0.0, 0.3, 1.0):
        total = float(lower.sum() + share * (upper - lower).sum())
        found = feasible(point, total, lower, upper)
        assert ((lower <= found) & (found <= upper)).all()
        assert found.sum() == pytest.approx(total, abs=1e-12)
        moved = (point - found)[(found > lower) & (found < upper)]
        assert not len(moved) or np.ptp(moved) < 1e-12  # all by the same
