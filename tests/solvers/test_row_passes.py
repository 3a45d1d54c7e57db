"""Passes over rows of the interior-point method: their results solve the Newton equations (3.7) to (3.10)."""

import numpy as np
import pytest

from libsvmx._solvers.interior_point.row_passes import RowsAt, moved

SIZES = [1, 7, 64, 1001]


class Rows:
    """Rows(n): a point within all bounds, of n rows."""

    def __init__(self, n):
        random = np.random.default_rng(n)
        self.y = random.choice([-1.0, 1.0], n)
        self.alpha, self.u, self.xi, self.s = random.uniform(0.1, 2.0, (4, n))
        self.z, self.d_z, self.linear = random.normal(size=(3, n))
        self.upper, self.rho, self.drho = random.uniform(1.0, 3.0, n), 0.3, -0.7
        self.at = RowsAt(self.y, self.alpha, self.u, self.xi, self.s)

    def residuals(self):
        return self.at.residuals(self.rho, self.z, self.upper, self.linear)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
def test_residuals(n):
    rows = Rows(n)
    (r_s, r_u, inverse), y_alpha, hinge, (most_u, most_s) = rows.residuals()
    margin = rows.y * (rows.z - rows.rho - rows.linear)
    close(r_s, margin + rows.xi - rows.s)
    close(r_u, rows.upper - rows.alpha - rows.u)
    close(inverse, 1 / (rows.s / rows.alpha + rows.xi / rows.u))
    close(y_alpha, rows.y * rows.alpha)
    close(hinge, np.maximum(0, -margin))
    assert (most_u, most_s) == (np.abs(r_u).max(), np.abs(r_s).max())


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("corrected", [False, True])
def test_directions(n, corrected):
    rows = Rows(n)
    sides, correction, sigma_mu = rows.residuals()[0], None, 0.05
    c_s = c_u = np.zeros(n)
    if corrected:
        before = rows.at.direction(sides, None, rows.drho, rows.d_z)[0]
        correction = c_s, c_u = rows.at.corrector(before, sigma_mu)
        close(rows.alpha * c_s, before[0] * before[3] - sigma_mu)
        close(rows.xi * c_u, before[1] * before[2] - sigma_mu)
    (d_alpha, d_u, d_xi, d_s), most = rows.at.direction(sides, correction, rows.drho, rows.d_z)
    r_s, r_u, inverse = sides
    of_z = rows.y * (rows.d_z - rows.drho)
    close(of_z + d_xi - d_s, -r_s)
    close(d_alpha + d_u, r_u)
    close(rows.s * d_alpha + rows.alpha * d_s, -rows.alpha * (rows.s + c_s))
    close(rows.xi * d_u + rows.u * d_xi, -rows.xi * (rows.u + c_u))
    close(rows.at.right_side(sides, correction), -rows.y * d_alpha - inverse * (rows.d_z - rows.drho))
    ratios = [-d_alpha / rows.alpha, -d_u / rows.u, -d_xi / rows.xi, -d_s / rows.s]
    assert most == np.max(ratios)


@pytest.mark.parametrize("n", SIZES)
def test_what_is_no_number_is_the_maximum(n):
    for k in sorted({0, n // 2, n - 1}):
        rows = Rows(n)
        rows.z[k] = np.nan
        sides, _, _, most = rows.residuals()
        assert np.isnan(most).all()
        assert np.isnan(rows.at.direction(sides, None, rows.drho, rows.d_z)[1])


@pytest.mark.parametrize("n", SIZES)
def test_moves(n):
    rows = Rows(n)
    close(moved(rows.z, 0.25, rows.d_z), rows.z + 0.25 * rows.d_z)


def test_vectors_of_another_length_are_refused():
    rows, short = Rows(4), np.ones(1)
    sides = rows.residuals()[0]
    direction = rows.at.direction(sides, None, 0.0, rows.d_z)[0]
    calls = [
        lambda: RowsAt(rows.y, rows.alpha, rows.u, rows.xi, short),
        lambda: rows.at.residuals(0.0, short, rows.upper, rows.linear),
        lambda: rows.at.residuals(0.0, rows.z, rows.upper, short),
        lambda: rows.at.right_side((*sides[:2], short), None),
        lambda: rows.at.right_side(sides, (rows.z, short)),
        lambda: rows.at.direction(sides, None, 0.0, short),
        lambda: rows.at.direction((short, *sides[1:]), None, 0.0, rows.d_z),
        lambda: rows.at.corrector((*direction[:3], short), 0.1),
        lambda: moved(rows.z, 1.0, short),
        lambda: moved(np.empty(0), 1.0, np.empty(0)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"length|values"):
            call()
