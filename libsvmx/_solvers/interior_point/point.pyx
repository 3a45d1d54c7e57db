"""Where the method stands: w, rho, and the residuals and sums over all rows that the next iteration needs."""

from libc.float cimport DBL_MIN
from libc.math cimport fabs

from libsvmx._core.vectors cimport svmx_dot

import numpy as np

from libsvmx._solvers.interior_point.replies import RightHandSide


cdef class Point:
    """A point of the iteration.

    Attributes
    ----------
    w, rho : ndarray of shape (n,), float
    mu : float                       (s'alpha + xi'u) / 2m
    gap, objective : float           2 m mu / (1/2 |w|^2 + upper'xi); the primal objective of w and rho
    r_w, r_alpha : ndarray of shape (n,), float      (3.1), (3.2)
    r_u, r_s : float                 largest elements of (3.3) and (3.4)
    dual : float                     largest of |x| |r_w|, y'alpha / sum upper and r_u / mean upper
    inverse, ybar : float, ndarray of shape (n,)     e'Omega^-1 e and X'Omega^-1 e
    predictor : RightHandSide
    """


def point_of(data, w, double rho, blocks):
    """The point at (w, rho) of the residuals of all blocks."""
    cdef Point found = Point.__new__(Point)
    cdef double complementarity = 0.0, slack_loss = 0.0, hinge_loss = 0.0, r_omega = 0.0, norm, primal, largest = 0.0
    cdef double upper = data.upper, m = data.m
    found.w, found.rho = w, rho
    for block in blocks:
        complementarity += block.complementarity
        slack_loss += block.slack_loss
        hinge_loss += block.hinge_loss
        r_omega += block.r_omega
        found.r_alpha += block.r_alpha
        found.inverse += block.inverse
        largest_u, largest_s = block.largest
        found.r_u, found.r_s = larger(found.r_u, largest_u), larger(found.r_s, largest_s)
    vectors = blocks[0].vectors if len(blocks) == 1 else np.sum([block.vectors for block in blocks], axis=0)
    cdef const double[::1] at = w, from_alpha = vectors[0]
    cdef Py_ssize_t n = at.shape[0], k
    r_w = np.empty(n)
    cdef double[::1] to = r_w
    for k in range(n):
        to[k] = at[k] - from_alpha[k]
        largest = larger(largest, fabs(to[k]))
    norm = svmx_dot(n, &at[0], &at[0]) / 2
    primal = norm + slack_loss
    if primal < DBL_MIN:  # of extreme bounds all of it may underflow
        primal = DBL_MIN
    found.mu, found.gap, found.objective = complementarity / (2 * m), complementarity / primal, norm + hinge_loss
    found.r_w, found.ybar = r_w, vectors[1]
    found.dual = larger(larger(data.length * largest, fabs(found.r_alpha) / upper), found.r_u * m / upper)
    found.predictor = RightHandSide(r_omega, vectors[2])
    return found


cdef double larger(double a, double b) noexcept:
    """Their maximum; NaN if one is."""
    return b if b > a or b != b else a
