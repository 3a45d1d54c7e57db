"""Steps over the rows of a block: their results solve the Newton equations (3.7) to (3.10), for any number of rows."""

import pickle

import numpy as np
import pytest
from libsvmx._solvers.interior_point.block_steps import RowBlock, at_point

from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.interior_point import block_steps

SIZES = [1, 7, 64, 1001]


class Rows:
    """Rows(n): a point strictly within all bounds, of n rows with one feature, ``d_z``."""

    def __init__(self, n, **other):
        random = np.random.default_rng(n)
        self.y = random.choice([-1.0, 1.0], n)
        self.alpha, self.u, self.xi, self.s = random.uniform(0.1, 2.0, (4, n))
        self.z, self.d_z, self.linear = random.normal(size=(3, n))
        self.upper, self.rho, self.drho = random.uniform(1.0, 3.0, n), 0.3, -0.7
        vars(self).update(other)
        self.block = RowBlock(DenseRows(self.d_z[:, None]), self.y, self.upper, self.linear)
        self.start = at_point(self.alpha, self.u, self.xi, self.s, self.z)

    def measure(self):
        return block_steps.measure(self.block, self.start, self.rho)

    def direct(self, iterate):
        return block_steps.direct(self.block, iterate, np.ones(1), self.drho)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
def test_measure(n):
    rows = Rows(n)
    found, sums = rows.measure()
    margin = rows.y * (rows.z - rows.rho - rows.linear)
    inverse = 1 / (rows.s / rows.alpha + rows.xi / rows.u)
    close(found.r_s, margin + rows.xi - rows.s)
    close(found.r_u, rows.upper - rows.alpha - rows.u)
    close(found.inverse, inverse)
    for name in ("alpha", "u", "xi", "s", "z"):
        np.testing.assert_array_equal(getattr(found, name), getattr(rows, name))
    assert sums.largest == (np.abs(found.r_u).max(), np.abs(found.r_s).max())
    close(sums.complementarity, rows.s @ rows.alpha + rows.xi @ rows.u)
    close(sums.r_alpha, rows.y @ rows.alpha)
    close(sums.slack_loss, rows.upper @ rows.xi)
    close(sums.hinge_loss, rows.upper @ np.maximum(0, -margin))
    close(sums.inverse, inverse.sum())
    right = rows.y * inverse * (found.r_s + rows.s - rows.xi / rows.u * (found.r_u + rows.u))
    close(sums.r_omega, right.sum())
    close(sums.vectors[:, 0], np.stack([rows.y * rows.alpha, inverse, right]) @ rows.d_z)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("corrected", [False, True])
def test_directions(n, corrected):
    rows, sigma_mu = Rows(n), 0.05
    found, _ = rows.measure()
    c_s = c_u = np.zeros(n)
    if corrected:
        found, _ = rows.direct(found)
        before = found.direction
        found, right = block_steps.correct(rows.block, found, sigma_mu)
        c_s, c_u = found.correction
        close(rows.alpha * c_s, before[0] * before[3] - sigma_mu)
        close(rows.xi * c_u, before[1] * before[2] - sigma_mu)
    found, sums = rows.direct(found)
    d_alpha, d_u, d_xi, d_s, d_z = found.direction
    np.testing.assert_array_equal(d_z, rows.d_z)
    of_z = rows.y * (rows.d_z - rows.drho)
    close(of_z + d_xi - d_s, -found.r_s)
    close(d_alpha + d_u, found.r_u)
    close(rows.s * d_alpha + rows.alpha * d_s, -rows.alpha * (rows.s + c_s))
    close(rows.xi * d_u + rows.u * d_xi, -rows.xi * (rows.u + c_u))
    if corrected:
        close(right.r_omega, (-rows.y * d_alpha - found.inverse * (rows.d_z - rows.drho)).sum())
    ratios = [-d_alpha / rows.alpha, -d_u / rows.u, -d_xi / rows.xi, -d_s / rows.s]
    assert sums.ratio == np.max(ratios)
    close(sums.linear, rows.s @ d_alpha + rows.alpha @ d_s + rows.xi @ d_u + rows.u @ d_xi)
    close(sums.quadratic, d_s @ d_alpha + d_xi @ d_u)


@pytest.mark.parametrize("n", SIZES)
def test_nan_is_the_maximum(n):
    for k in sorted({0, n // 2, n - 1}):
        z = Rows(n).z.copy()
        z[k] = np.nan
        rows = Rows(n, z=z)
        found, sums = rows.measure()
        assert np.isnan(sums.largest).all()
        assert np.isnan(rows.direct(found)[1].ratio)


@pytest.mark.parametrize("n", SIZES)
def test_moves(n):
    rows = Rows(n)
    found, _ = rows.direct(rows.measure()[0])
    moved, sums = block_steps.move(rows.block, found, 0.25, rows.rho)
    for name, step in zip(("alpha", "u", "xi", "s", "z"), found.direction, strict=True):
        close(getattr(moved, name), getattr(rows, name) + 0.25 * step)
    at = (moved.alpha, moved.u, moved.xi, moved.s, moved.z)
    again, expected = block_steps.measure(rows.block, at_point(*at), rows.rho)
    np.testing.assert_array_equal(moved.r_s, again.r_s)
    assert sums[:7] == expected[:7]
    assert moved.direction is None and moved.correction is None


def test_states_and_blocks_are_pickled():
    rows = Rows(7)
    found, _ = rows.direct(rows.measure()[0])
    found, _ = rows.direct(block_steps.correct(rows.block, found, 0.05)[0])
    found, _ = block_steps.rank_rows(rows.block, found, "omega", 0.5, 1.0, None)
    block, again = pickle.loads(pickle.dumps((rows.block, found)))
    for name in ("alpha", "u", "xi", "s", "z", "r_s", "r_u", "inverse", "keys", "correction", "direction"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    moved, sums = block_steps.move(block, again, 0.25, rows.rho)
    expected, totals = block_steps.move(rows.block, found, 0.25, rows.rho)
    np.testing.assert_array_equal(moved.r_s, expected.r_s)
    assert sums[:7] == totals[:7]


def test_vectors_of_another_length_are_refused():
    rows, short = Rows(4), np.ones(1)
    found, _ = rows.measure()
    directed, _ = rows.direct(found)
    other = Rows(5).block
    calls = [
        lambda: RowBlock(rows.block.rows, short, rows.upper, rows.linear),
        lambda: RowBlock(rows.block.rows, rows.y, rows.upper, np.ones(5)),
        lambda: RowBlock(Rows(5).block.rows, rows.y, rows.upper, rows.linear),
        lambda: at_point(rows.alpha, rows.u, rows.xi, rows.s, np.ones(3)),
        lambda: block_steps.measure(other, found, 0.0),
        lambda: block_steps.direct(other, found, short, 0.0),
        lambda: block_steps.correct(other, directed, 0.0),
        lambda: block_steps.move(other, directed, 1.0, 0.0),
        lambda: block_steps.correct(rows.block, found, 0.0),
        lambda: block_steps.move(rows.block, found, 1.0, 0.0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"length|over|broadcast|direction"):
            call()
