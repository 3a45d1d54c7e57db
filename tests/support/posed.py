"""One dual problem of any formulation and kernel for a solver, and a NumPy check of the solution.

    V = linear - K beta,  beta = y alpha          optimal to eps  <=>  max_{I_up} V - min_{I_low} V <= eps

K is kept twice: in double from the rows, and as the kernel rounds it to float.
"""

import numpy as np
import pytest
from libsvmx._train.formulation import build_dual

from libsvmx import KernelType
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.decomposition import chunked
from libsvmx._solvers.decomposition.solver import IRWLS, Chunked
from libsvmx._solvers.smo import smo

from . import data
from .judge import FLOAT_ULP, ULP, Judge, kernel_values
from .labels import alpha_of, costs_of, labelled, labels_of

# Maximum number of kernel rows added to V, each with a rounding error.
SHIFTS = 4096

ENGINES = [Chunked, IRWLS]


class Posed:
    """Rows of X with ``targets``, or variables given one by one.

    Attributes
    ----------
    y, linear, C, start, index : over variables
    K, K_float : ndarray, over variables
    """

    def __init__(self, X, targets, param, weights=(1.0, 1.0)):
        X = np.asarray(X, dtype=float)
        self.n = len(X)
        rows = [[(j + 1, v) for j, v in enumerate(row) if v] for row in X.tolist()]
        if param.kernel_type == KernelType.PRECOMPUTED:
            values = X @ X.T
            rows = [[(0, i + 1.0), *((j + 1, v) for j, v in enumerate(values[i].tolist()))] for i in range(self.n)]
        else:
            values = kernel_values(param, X, X)
        self.param, self.targets, self.matrix = param, np.asarray(targets, dtype=float), data.from_rows(rows)
        kind = int(param.kernel_type), param.degree, param.gamma, param.coef0
        self.kernel = Kernel(self.matrix, filled("i", range(self.n)), *kind)
        self.take(build_dual(param, filled("d", self.targets), param.C * weights[0], param.C * weights[1]), values)

    def take(self, dual, values=None):
        """Replace the problem by ``dual`` over the same rows."""
        self.dual = dual
        self.y, self.C, self.start = labels_of(dual), costs_of(dual), alpha_of(dual, dual)
        self.linear, self.index = np.asarray(dual.linear), np.asarray(dual.row)
        self.values = self.values if values is None else values
        over = np.ix_(self.index, self.index)
        self.K = self.values[over]
        rounded = [self.kernel.row(i) for i in range(self.n)]
        self.K_float = np.array(rounded, dtype=float).reshape(self.n, self.n)[over]
        return self

    def judge(self, C=None, K=None):
        """A Judge of this problem, with another C or another K."""
        beta_max = self.C if C is None else C
        lower, upper = np.where(self.y > 0, 0.0, -beta_max), np.where(self.y > 0, beta_max, 0.0)
        return Judge(self.K if K is None else K, self.linear, lower, upper, np.asarray(self.dual.group))

    def changed(self, C=None, start=None, V=None):
        """The DualProblem with other bounds or another start, optionally with scores."""
        C, start = self.C if C is None else C, self.start if start is None else start
        return labelled(self.y, self.linear, C, start, self.index, self.dual.groups == 2, V)

    def alpha(self, solution):
        return alpha_of(self.dual, solution)

    def solve(
        self, eps=1e-3, shrinking=True, problem=None, budget=1e8, threads=1, control=None, engine=Chunked, **settings
    ):
        control = control or Control(eps, shrinking)
        return chunked.solve(problem or self.dual, self.kernel, budget, control, threads, engine(**settings))

    def cold(self, eps, problem=None, **options):
        """Solve by pair steps over all variables."""
        return smo.solve(problem or self.dual, self.kernel, 1e8, Control(eps, **options))

    def scores(self, alpha, K=None):
        return self.judge(K=K).scores(self.y * alpha)

    def objective(self, alpha, K=None):
        return self.judge(K=K).objective(self.y * alpha)

    def gap(self, alpha, C=None, K=None):
        """The largest violation of optimality by a pair of variables with a box."""
        return self.judge(C, K).gap(self.y * alpha)

    def noise(self, alpha, ulp=ULP):
        """Rounding error of V, given that of its terms."""
        terms = np.abs(self.K) @ (np.abs(alpha) + np.abs(self.start)) + np.abs(self.linear)
        return ulp * terms.max(initial=0.0)

    def check_feasible(self, alpha, C=None, start=None):
        self.judge(C).check_feasible(self.y * alpha, self.y * (self.start if start is None else start))

    def check(self, solution, eps, C=None, start=None, precision="auto"):
        """Feasible, optimal to eps by NumPy in the given precision, and V correct for every variable."""
        alpha, V = self.alpha(solution), np.asarray(solution.scores)
        K = self.K_float if precision == "float" else self.K
        self.check_feasible(alpha, C, start)
        assert solution.status == "converged"
        slack = SHIFTS * self.noise(alpha)
        gap = self.gap(alpha, C, K)
        assert gap <= eps + slack, gap
        # loose for rows rounded to float: tests of precision are stricter
        loosely = slack if precision == "float" else 4 * self.noise(alpha, FLOAT_ULP)
        assert np.abs(V - self.scores(alpha, K)).max(initial=0.0) <= loosely
        beta = self.y * alpha
        assert solution.objective == pytest.approx(self.objective(alpha, K), rel=1e-9, abs=loosely * np.abs(beta).sum())
        free = (alpha > 0) & (alpha < (self.C if C is None else C))
        if free.any() and self.dual.groups == 1:
            assert solution.rho == pytest.approx(-V[free].mean(), abs=slack + ULP)

    def check_near(self, solution, optimum, eps, K=None):
        """The objective equals that of ``optimum`` up to gap |dbeta| / 2, the bound by convexity."""
        alpha, best = self.alpha(solution), self.alpha(optimum)
        distance = np.abs(alpha - best).sum() / 2
        allowed = eps * distance + SHIFTS * (self.noise(alpha) + self.noise(best)) * (1 + alpha.sum() + best.sum())
        assert self.objective(alpha, K) - self.objective(best, K) <= allowed


def classes(seed, n, d=3, spread=1.0):
    """(X, y): two overlapping classes, neither empty."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return spread * (rng.normal(size=(n, d)) + 0.7 * y[:, None]), y


def posed(kind, X, targets, **options):
    """Posed, with a feasible nu and targets for the formulation."""
    from libsvmx._train.parameter import Parameter
    from libsvmx.enums import SvmType

    targets = np.asarray(targets, dtype=float)
    nu = options.pop("nu", 0.3)
    if kind == SvmType.NU_SVC:
        nu = min(nu, 1.8 * min((targets > 0).sum(), (targets <= 0).sum()) / max(len(targets), 1))
    if kind.is_regression and set(targets) <= {-1.0, 1.0} and len(targets):
        targets = np.asarray(X)[:, 0] + 0.3 * targets
    weights = options.pop("weights", (1.0, 1.0))
    return Posed(X, targets, Parameter(**{"svm_type": kind, "nu": nu, "gamma": 0.3, **options}), weights)
