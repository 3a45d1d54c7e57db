"""The reduced normal equations of a Newton step (Jung, O'Leary & Tits 2008, (3.11), (3.17), (3.23)).

    M_(Q) dw = -rbar_w - rbar_alpha / (e'Omega^-1 e) ybar,      ybar = X'Omega^-1 e
    M_(Q) = I + sum_Q x x'/omega - ybar_Q ybar_Q' / sum_Q 1/omega
    rbar_w = r_w + X'Y Omega^-1 r_Omega,   rbar_alpha = r_alpha - y'Omega^-1 r_Omega
    drho = (-rbar_alpha + ybar'dw) / (e'Omega^-1 e)                                                          (3.12)

The matrix, n x n for n features, is the cost of an iteration: |Q| n^2 flops. Beyond the paper, where M_(Q) is too far
from M, the matrix of all rows, dw is refined by conjugate gradients on M, preconditioned by M_(Q).
"""

from libc.float cimport DBL_MIN
from libc.math cimport fabs

import numpy as np

from libsvmx._core.dispatch cimport svmx_axpy, svmx_dot

from libsvmx._core.dense import cholesky, solve_cholesky
from libsvmx._solvers.interior_point import block_steps
from libsvmx._solvers.interior_point.replies import RightHandSide, added


# ---- The point of an iteration ---------------------------------------------------------------------

cdef class Point:
    """w, rho, and the residuals and sums over all rows for the next iteration.

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

    cdef readonly object w, r_w, ybar, predictor
    cdef readonly double rho, mu, gap, objective, r_alpha, r_u, r_s, dual, inverse


def point_of(data, w, double rho, blocks):
    """The point at (w, rho), from the Residuals of all blocks."""
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
    if primal < DBL_MIN:  # may underflow with extreme bounds
        primal = DBL_MIN
    found.mu, found.gap, found.objective = complementarity / (2 * m), complementarity / primal, norm + hinge_loss
    found.r_w, found.ybar = r_w, vectors[1]
    found.dual = larger(larger(data.length * largest, fabs(found.r_alpha) / upper), found.r_u * m / upper)
    found.predictor = RightHandSide(r_omega, vectors[2])
    return found


cdef double larger(double a, double b) noexcept:
    """Their maximum; NaN if one is."""
    return b if b > a or b != b else a


# ---- The normal equations --------------------------------------------------------------------------

# Tolerated residual of M's equations, in the norm of M_(Q)^-1 and relative to the right-hand side; conjugate gradient
# steps of a solve.
TOLERANCE = 0.2
MAX_GRADIENTS = 8
# Tries to factorize a matrix.
MAX_SHIFTS = 6


cdef class NormalEquations:
    """NormalEquations(blocks, point, m, refines): the equations at a point; call ``factorize`` first.

    Parameters
    ----------
    m : int                 rows of the problem
    refines : bool          solve M dw = ... instead of M_(Q) dw = ...

    Attributes
    ----------
    factor : ndarray of shape (n, n)      of M_(Q), in the upper triangle
    rows : int              |Q|
    gradients : int         conjugate gradient steps so far
    poor : bool             a solve reached MAX_GRADIENTS
    size : float            squared norm, by M_(Q)^-1, of the last right-hand side
    """

    cdef readonly object blocks
    cdef readonly Point point
    cdef public object factor
    cdef public Py_ssize_t rows, gradients
    cdef public double size
    cdef public bint poor
    cdef Py_ssize_t m, n
    cdef bint refines

    def __init__(self, blocks, Point point, Py_ssize_t m, bint refines):
        self.blocks, self.point, self.m, self.refines = blocks, point, m, refines
        self.n = blocks.n

    def factorize(self, thresholds):
        """Factorize M_(Q), Q the rows with keys up to ``thresholds``; False if it has no Cholesky factor."""
        cdef double shift = 0.0, largest, inverse
        cdef double[:, ::1] matrix
        cdef const double[::1] ybar
        cdef Py_ssize_t n = self.n, j
        for _ in range(MAX_SHIFTS):
            found = added(self.blocks.run(block_steps.normal_sums, thresholds, merge=added))
            outer, of_ybar, inverse, self.rows = found
            if not outer.flags.writeable:  # a reply may be read-only
                outer = outer.copy()
            matrix, ybar, largest = outer, of_ybar, 0.0
            for j in range(n):
                if self.rows:
                    svmx_axpy(j + 1, -ybar[j] / inverse, &ybar[0], &matrix[j, 0])
                matrix[j, j] += 1.0 + shift
                if matrix[j, j] > largest:
                    largest = matrix[j, j]
            self.factor, info = cholesky(outer.T, 0, self.blocks.asking, overwrite=True)  # in the order of columns
            if info == 0:
                return True
            # indefinite by rounding
            shift = max(100 * shift, 1e-15 * largest)
        return False

    def solve(self, right):
        """(dw, drho) for a RightHandSide."""
        cdef Point point = self.point
        cdef double r_omega, rbar_alpha
        r_omega, of_vector = right
        cdef const double[::1] vector = of_vector, ybar = point.ybar, r_w = point.r_w
        cdef Py_ssize_t k
        rbar_alpha = point.r_alpha - r_omega
        side = np.empty(self.n)
        cdef double[::1] to = side
        for k in range(self.n):
            to[k] = -(r_w[k] + vector[k]) - rbar_alpha / point.inverse * ybar[k]
        dw = self.solved(side)
        self.size = dot(side, dw)
        if self.refines and self.rows < self.m:
            dw = self.refined(side, dw)
        return dw, (dot(point.ybar, dw) - rbar_alpha) / point.inverse

    def solved(self, side):
        """M_(Q)^-1 side."""
        return solve_cholesky(self.factor, side, 0, self.blocks.asking)

    def refined(self, side, dw):
        """dw refined towards M dw = side by conjugate gradients."""
        residual = side - self.times(dw)
        direction, before = None, 1.0
        for _ in range(MAX_GRADIENTS):
            inside, now = self.preconditioned(residual)
            if now <= TOLERANCE**2 * self.size:
                return dw
            direction = inside if direction is None else inside + now / before * direction
            image = self.times(direction)
            length = now / dot(direction, image)
            dw, residual, before = dw + length * direction, residual - length * image, now
            self.gradients += 1
        self.poor = True
        return dw

    def preconditioned(self, residual):
        """M_(Q)^-1 residual, and the squared norm of the residual by it."""
        inside = self.solved(residual)
        return inside, dot(residual, inside)

    def times(self, v):
        """M v, over all rows."""
        image = sum(self.blocks.run(block_steps.curvature, v), start=v)
        return image - self.point.ybar * (dot(self.point.ybar, v) / self.point.inverse)

    def is_too_rough(self, residual):
        """Whether a direction with this residual of M's equations should have been refined."""
        return self.preconditioned(residual)[1] > TOLERANCE**2 * self.size


cdef double dot(const double[::1] x, const double[::1] y):
    return svmx_dot(x.shape[0], &x[0], &y[0])
