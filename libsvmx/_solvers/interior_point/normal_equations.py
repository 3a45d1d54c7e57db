"""The reduced normal equations of a Newton step (Jung, O'Leary & Tits 2008, (3.11), (3.17), (3.23)).

    M_(Q) dw = -rbar_w - rbar_alpha / (e'Omega^-1 e) ybar,      ybar = X'Omega^-1 e
    M_(Q) = I + sum_Q x x'/omega - ybar_Q ybar_Q' / sum_Q 1/omega
    rbar_w = r_w + X'Y Omega^-1 r_Omega,   rbar_alpha = r_alpha - y'Omega^-1 r_Omega
    drho = (-rbar_alpha + ybar'dw) / (e'Omega^-1 e)                                                          (3.12)

The matrix, n x n for n features, is the cost of an iteration: |Q| n^2 flops. Beyond the paper, where M_(Q) is too far
from M, the matrix of all rows, dw is refined by conjugate gradients on M, preconditioned by M_(Q).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas

from libsvmx._core.dense import cholesky, solve_cholesky
from libsvmx._solvers.interior_point import block_steps

if TYPE_CHECKING:
    from libsvmx._solvers.interior_point.block_steps import RightHandSide
    from libsvmx._solvers.interior_point.point import Point
    from libsvmx._solvers.interior_point.row_blocks import RowBlocks
    from libsvmx._typing import FloatArray

# The residual of M's equations, in the norm of M_(Q)^-1 and relative to the right-hand side, that is good enough, and
# the conjugate gradients of a solve.
EXACT_ENOUGH = 0.2
MOST_GRADIENTS = 8
# Tries to factorize a matrix.
MOST_SHIFTS = 6


class NormalEquations:
    """NormalEquations(blocks, point, m, refines): the equations at a point; ``factorize`` comes first.

    Parameters
    ----------
    m : int                 rows of the problem
    refines : bool          solve M dw = ... instead of M_(Q) dw = ...

    Attributes
    ----------
    factor : ndarray, shape (n, n)      Cholesky factor of M_(Q), upper triangle
    rows : int              |Q|
    gradients : int         conjugate gradients until now
    poor : bool             a solve had too few of them
    """

    factor: FloatArray

    def __init__(self, blocks: RowBlocks, point: Point, m: int, refines: bool):
        self.blocks, self.point, self.m, self.refines = blocks, point, m, refines
        self.rows, self.gradients, self.poor = 0, 0, False
        self.size = 0.0

    def factorize(self, thresholds: tuple[float, float] | None) -> bool:
        """Make M_(Q), Q the rows whose keys are up to ``thresholds``; False if it has no Cholesky factor."""
        shift = 0.0
        for _ in range(MOST_SHIFTS):
            replies = self.blocks.run(block_steps.normal_sums, thresholds, merge=block_steps.add_normal_sums)
            matrix, ybar, inverse, self.rows = block_steps.add_normal_sums(replies)
            # in the order of columns, which LAPACK takes as it is, and in place; but a reply may be read-only
            scale = -1.0 / inverse if self.rows else 0.0
            triangle = blas.dsyr(scale, ybar, a=matrix.T, overwrite_a=matrix.flags.writeable)
            diagonal = np.diag_indices_from(triangle)
            triangle[diagonal] += 1.0 + shift
            largest = float(triangle[diagonal].max())
            factor, info = cholesky(triangle, 0, self.blocks.asking, overwrite=True)
            if info == 0:
                self.factor = np.asarray(factor)
                return True
            # so ill-conditioned that rounding made it indefinite
            shift = max(100 * shift, 1e-15 * largest)
        return False

    def solve(self, right: RightHandSide) -> tuple[FloatArray, float]:
        """(dw, drho) of a right-hand side of complementarity."""
        point = self.point
        rbar_alpha = point.r_alpha - right.r_omega
        side = -(point.r_w + right.vector) - rbar_alpha / point.inverse * point.ybar
        dw = self.solved(side)
        self.size = float(side @ dw)
        if self.refines and self.rows < self.m:
            dw = self.refined(side, dw)
        return dw, (float(point.ybar @ dw) - rbar_alpha) / point.inverse

    def solved(self, side: FloatArray) -> FloatArray:
        """M_(Q)^-1 side."""
        return solve_cholesky(self.factor, side, 0, self.blocks.asking)

    def refined(self, side: FloatArray, dw: FloatArray) -> FloatArray:
        """dw nearer to the solution of M dw = side, by conjugate gradients."""
        residual = side - self.times(dw)
        direction, before = None, 1.0
        for _ in range(MOST_GRADIENTS):
            inside, now = self.preconditioned(residual)
            if now <= EXACT_ENOUGH**2 * self.size:
                return dw
            direction = inside if direction is None else inside + now / before * direction
            image = self.times(direction)
            length = now / float(direction @ image)
            dw, residual, before = dw + length * direction, residual - length * image, now
            self.gradients += 1
        self.poor = True
        return dw

    def preconditioned(self, residual: FloatArray) -> tuple[FloatArray, float]:
        """M_(Q)^-1 residual, and the square of the residual in that norm."""
        inside = self.solved(residual)
        return inside, float(residual @ inside)

    def times(self, v: FloatArray) -> FloatArray:
        """M v, of all rows."""
        point = self.point
        image: FloatArray = sum(self.blocks.run(block_steps.curvature, v), start=v)
        image = image - point.ybar * (float(point.ybar @ v) / point.inverse)
        return image

    def is_too_rough(self, residual: FloatArray) -> bool:
        """Whether a direction of M_(Q) that leaves this residual of M's equations should have been refined."""
        return self.preconditioned(residual)[1] > EXACT_ENOUGH**2 * self.size
