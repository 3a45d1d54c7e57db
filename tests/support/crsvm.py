"""Problems for solver crsvm, whose solutions must be feasible, optimal, and correctly reported."""

import numpy as np
import pytest
from libsvmx._kernels.feature_products import SparseRows

from libsvmx._core.stopping import Control
from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.interior_point.dual_solver import solve_dual
from libsvmx._solvers.interior_point.solver import CRSVM
from support.judge import Factor, Judge
from support.labels import labelled


def sparse(X):
    at, columns = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(X)))])
    return SparseRows(indptr, columns.astype(np.int32), X[at, columns], X.shape[1])


class Case:
    """Rows X with y = +1 or -1 and bounds upper."""

    def __init__(self, X, y, C=1.0, weights=(1.0, 1.0), make=DenseRows):
        self.X, self.y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        self.upper = C * np.where(self.y > 0, *weights)
        self.rows = make(self.X)
        n = len(self.y)
        self.dual = labelled(self.y, self.y, self.upper, [0.0] * n, range(n))
        self.judge, self.lines = Judge.of(self.dual, Factor(self.X)), []

    def solve(self, reduction=None, threads=1, eps=1e-3, **control):
        self.lines.clear()
        control = Control(eps, **control)
        solution = solve_dual(self.dual, self.rows, reduction or CRSVM(), control, threads, self.lines.append)
        assert len(self.lines) > solution.iterations or not self.lines
        return solution

    def scores(self, alpha):
        """(V, objective) in higher precision than the solver's."""
        return self.judge.scores(self.y * alpha), self.judge.objective(self.y * alpha)

    def gap(self, alpha):
        return self.judge.gap(self.y * alpha)

    def shortfall(self, alpha):
        """Primal minus dual objective, at the best level for alpha; and the dual objective."""
        return self.judge.duality_gap(self.y * alpha), self.judge.objective(self.y * alpha)

    def check_feasible(self, solution):
        alpha = self.y * np.asarray(solution.beta)
        assert np.isfinite(alpha).all()
        assert np.all((alpha >= 0) & (alpha <= self.upper))
        assert abs(self.y @ alpha) <= 1e-12 * alpha.sum()
        V, objective = self.scores(alpha)
        noise = (
            64 * 2.0**-52 * (1 + np.abs(self.X).max(initial=0) * np.abs(self.X.T * alpha).sum(axis=1).max(initial=0))
        )
        noise *= max(1, self.X.shape[1])
        np.testing.assert_allclose(np.asarray(solution.scores), V.astype(float), atol=noise)
        assert solution.objective == pytest.approx(objective, rel=1e-12, abs=noise * alpha.sum())
        assert np.isfinite(solution.rho)
        return alpha, noise

    def check(self, solution, gap=1e-7, relative=1e-7):
        alpha, noise = self.check_feasible(solution)
        assert solution.status == "converged"
        assert self.gap(alpha) <= gap + noise, self.gap(alpha)
        short, dual = self.shortfall(alpha)
        assert short <= relative * abs(dual) + noise * self.upper.sum(), (short, dual)
        # rho lies where the optimality conditions allow it
        V, _ = self.scores(alpha)
        free = (alpha > 0) & (alpha < self.upper)
        if free.any():
            np.testing.assert_allclose(np.asarray(V, dtype=float)[free], -solution.rho, atol=gap + noise)
        return alpha


def clouds(seed, m=120, n=4, apart=0.7, share=0.5):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(m) < share, 1.0, -1.0)
    y[:2] = 1, -1
    return rng.normal(size=(m, n)) + apart * y[:, None] * rng.normal(size=n), y
