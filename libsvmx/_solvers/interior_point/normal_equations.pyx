"""The reduced normal equations of a Newton step (Jung, O'Leary & Tits 2008, (3.11), (3.17), (3.23)).

    M_(Q) dw = -rbar_w - rbar_alpha / (e'Omega^-1 e) ybar,      ybar = X'Omega^-1 e
    M_(Q) = I + sum_Q x x'/omega - ybar_Q ybar_Q' / sum_Q 1/omega
    rbar_w = r_w + X'Y Omega^-1 r_Omega,   rbar_alpha = r_alpha - y'Omega^-1 r_Omega
    drho = (-rbar_alpha + ybar'dw) / (e'Omega^-1 e)                                                          (3.12)

The matrix, n x n for n features, is the cost of an iteration: |Q| n^2 flops. Beyond the paper, where M_(Q) is too far
from M, the matrix of all rows, dw is refined by conjugate gradients on M, preconditioned by M_(Q).
"""

from libc.string cimport memcpy

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.vectors cimport svmx_axpy, svmx_dot
from libsvmx._solvers.interior_point.point cimport Point

import numpy as np

from libsvmx._core.dense import cholesky, solve_cholesky
from libsvmx._solvers.interior_point import block_steps, replies

# The residual of M's equations, in the norm of M_(Q)^-1 and relative to the right-hand side, that is good enough, and
# the conjugate gradients of a solve.
EXACT_ENOUGH = 0.2
MOST_GRADIENTS = 8
# Tries to factorize a matrix.
MOST_SHIFTS = 6
# Rows of a factor that is made without LAPACK, whose calls take longer than so small a factor.
cdef enum:
    SMALL = 64


cdef class NormalEquations:
    """NormalEquations(blocks, point, m, refines): the equations at a point; ``factorize`` comes first.

    Parameters
    ----------
    m : int                 rows of the problem
    refines : bool          solve M dw = ... instead of M_(Q) dw = ...

    Attributes
    ----------
    factor : Cholesky, or ndarray of shape (n, n)      of M_(Q); LAPACK's, the upper triangle, if it is not small
    rows : int              |Q|
    gradients : int         conjugate gradients until now
    poor : bool             a solve had too few of them
    size : float            the right-hand side of the last solve, squared, in the norm of M_(Q)^-1
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
        """Make M_(Q), Q the rows whose keys are up to ``thresholds``; False if it has no Cholesky factor."""
        cdef double shift = 0.0, largest, inverse
        cdef double[:, ::1] matrix
        cdef const double[::1] ybar
        cdef Py_ssize_t n = self.n, j
        for _ in range(MOST_SHIFTS):
            found = replies.add_normal_sums(
                self.blocks.run(block_steps.normal_sums, thresholds, merge=replies.add_normal_sums))
            outer, of_ybar, inverse, self.rows = found
            if not outer.flags.writeable:  # a reply may be
                outer = outer.copy()
            matrix, ybar, largest = outer, of_ybar, 0.0
            for j in range(n):
                if self.rows:
                    svmx_axpy(j + 1, -ybar[j] / inverse, &ybar[0], &matrix[j, 0])
                matrix[j, j] += 1.0 + shift
                if matrix[j, j] > largest:
                    largest = matrix[j, j]
            self.factor = factor_of(matrix) if n <= SMALL else self.factor_by_lapack(outer)
            if self.factor is not None:
                return True
            # so ill-conditioned that rounding made it indefinite
            shift = max(100 * shift, 1e-15 * largest)
        return False

    cdef factor_by_lapack(self, outer):
        """The factor, in place of the matrix; None if there is none."""
        factor, info = cholesky(outer.T, 0, self.blocks.asking, overwrite=True)  # in the order of columns
        return np.asarray(factor) if info == 0 else None

    def solve(self, right):
        """(dw, drho) of a right-hand side of complementarity."""
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
        if not isinstance(self.factor, Cholesky):
            return solve_cholesky(self.factor, side, 0, self.blocks.asking)
        cdef Cholesky factor = self.factor
        x = side.copy()
        cdef double[::1] at = x
        factor.forward(&at[0])
        factor.backward(&at[0])
        return x

    def refined(self, side, dw):
        """dw nearer to the solution of M dw = side, by conjugate gradients."""
        residual = side - self.times(dw)
        direction, before = None, 1.0
        for _ in range(MOST_GRADIENTS):
            inside, now = self.preconditioned(residual)
            if now <= EXACT_ENOUGH**2 * self.size:
                return dw
            direction = inside if direction is None else inside + now / before * direction
            image = self.times(direction)
            length = now / dot(direction, image)
            dw, residual, before = dw + length * direction, residual - length * image, now
            self.gradients += 1
        self.poor = True
        return dw

    def preconditioned(self, residual):
        """M_(Q)^-1 residual, and the square of the residual in that norm."""
        inside = self.solved(residual)
        return inside, dot(residual, inside)

    def times(self, v):
        """M v, of all rows."""
        image = sum(self.blocks.run(block_steps.curvature, v), start=v)
        return image - self.point.ybar * (dot(self.point.ybar, v) / self.point.inverse)

    def is_too_rough(self, residual):
        """Whether a direction of M_(Q) that leaves this residual of M's equations should have been refined."""
        return self.preconditioned(residual)[1] > EXACT_ENOUGH**2 * self.size


cdef Cholesky factor_of(const double[:, ::1] matrix):
    """The factor of a matrix of few rows, by its lower triangle; None if there is none."""
    cdef Py_ssize_t n = matrix.shape[0], j
    cdef Cholesky factor = Cholesky(n)
    cdef double row[SMALL]
    cdef double pivot
    for j in range(n):
        memcpy(row, &matrix[j, 0], j * sizeof(double))
        pivot = factor.border(row, matrix[j, j])
        if not pivot > 0:
            return None
        factor.append(row, pivot)
    return factor


cdef double dot(const double[::1] x, const double[::1] y):
    """x'y."""
    return svmx_dot(x.shape[0], &x[0], &y[0])
