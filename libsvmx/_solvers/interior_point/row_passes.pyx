"""Passes over the rows of a block, each with all of its arithmetic in one loop; block_steps.py has the equations.

All arrays are float64, of shape (m,) where nothing else is said, and C-contiguous.
"""

from libsvmx._core.interior_steps cimport (
    svmx_interior_corrector,
    svmx_interior_direction,
    svmx_interior_direction_of,
    svmx_interior_move,
    svmx_interior_residuals,
    svmx_interior_right_side,
    svmx_interior_rows,
    svmx_interior_sides,
)

import numpy as np


cdef class RowsAt:
    """RowsAt(y, alpha, u, xi, s): rows of +1 and -1, and where they are. They are not empty."""

    cdef const double[::1] y, alpha, u, xi, s
    cdef svmx_interior_rows rows

    def __init__(self, const double[::1] y, const double[::1] alpha, const double[::1] u, const double[::1] xi,
                 const double[::1] s):
        self.y, self.alpha, self.u, self.xi, self.s = y, alpha, u, xi, s
        if not len(y) == len(alpha) == len(u) == len(xi) == len(s) > 0:
            raise ValueError("vectors over rows differ in length, or are empty")
        self.rows = svmx_interior_rows(len(y), &y[0], &alpha[0], &u[0], &xi[0], &s[0])

    cdef const double *values(self, const double[::1] vector) except NULL:
        """Those of a vector over the rows, which the caller keeps."""
        if len(vector) != self.rows.n:
            raise ValueError(f"a vector over {self.rows.n} rows has {len(vector)} values")
        return &vector[0]

    cdef svmx_interior_sides sides(self, given, correction) except *:
        """(r_s, r_u, Omega^-1) and (c_s / alpha, c_u / xi), or None; the caller keeps them."""
        r_s, r_u, inverse = given
        cdef svmx_interior_sides found = svmx_interior_sides(
            self.values(r_s), self.values(r_u), self.values(inverse), NULL, NULL)
        if correction is not None:
            c_s, c_u = correction
            found.c_s, found.c_u = self.values(c_s), self.values(c_u)
        return found

    def residuals(self, double rho, const double[::1] z, const double[::1] upper, const double[::1] linear):
        """(r_s, r_u, Omega^-1), y alpha, hinge losses, and the maxima of |r_u| and |r_s|."""
        r_s, r_u, inverse, y_alpha, hinge = [np.empty(self.rows.n) for _ in range(5)]
        cdef double[::1] to_s = r_s, to_u = r_u, to_inverse = inverse, to_alpha = y_alpha, to_hinge = hinge
        cdef double largest[2]
        cdef const double *at_z = self.values(z)
        cdef const double *at_upper = self.values(upper)
        cdef const double *at_linear = self.values(linear)
        with nogil:
            svmx_interior_residuals(&self.rows, rho, at_z, at_upper, at_linear, &to_s[0], &to_u[0], &to_inverse[0],
                                    &to_alpha[0], &to_hinge[0], largest)
        return (r_s, r_u, inverse), y_alpha, hinge, (largest[0], largest[1])

    def right_side(self, sides, correction):
        """y Omega^-1 r_Omega. ``sides``: (r_s, r_u, Omega^-1); ``correction``: (c_s / alpha, c_u / xi), or None."""
        cdef svmx_interior_sides given = self.sides(sides, correction)
        out = np.empty(self.rows.n)
        cdef double[::1] to = out
        with nogil:
            svmx_interior_right_side(&self.rows, &given, &to[0])
        return out

    def direction(self, sides, correction, double drho, const double[::1] d_z):
        """(d_alpha, d_u, d_xi, d_s), and the maximum of -d/v over all variables. ``sides``, ``correction``: as above."""
        cdef svmx_interior_sides given = self.sides(sides, correction)
        cdef const double *at_z = self.values(d_z)
        found = d_alpha, d_u, d_xi, d_s = [np.empty(self.rows.n) for _ in range(4)]
        cdef double[::1] to_alpha = d_alpha, to_u = d_u, to_xi = d_xi, to_s = d_s
        cdef svmx_interior_direction out = svmx_interior_direction(&to_alpha[0], &to_u[0], &to_xi[0], &to_s[0])
        cdef double ratio
        with nogil:
            ratio = svmx_interior_direction_of(&self.rows, &given, drho, at_z, &out)
        return tuple(found), ratio

    def corrector(self, direction, double sigma_mu):
        """(c_s / alpha, c_u / xi) after a direction of the predictor."""
        d_alpha, d_u, d_xi, d_s = direction
        cdef svmx_interior_direction by = svmx_interior_direction(  # it is only read
            <double *>self.values(d_alpha), <double *>self.values(d_u), <double *>self.values(d_xi),
            <double *>self.values(d_s))
        c_s, c_u = np.empty(self.rows.n), np.empty(self.rows.n)
        cdef double[::1] to_s = c_s, to_u = c_u
        with nogil:
            svmx_interior_corrector(&self.rows, &by, sigma_mu, &to_s[0], &to_u[0])
        return c_s, c_u


def moved(const double[::1] x, double step, const double[::1] d):
    """x + step d. They are not empty."""
    if not len(x) == len(d) > 0:
        raise ValueError("vectors differ in length, or are empty")
    out = np.empty(len(x))
    cdef double[::1] to = out
    with nogil:
        svmx_interior_move(len(x), step, &x[0], &d[0], &to[0])
    return out
