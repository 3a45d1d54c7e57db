"""Small random problems of every formulation, the rounds of their cross-validation, and NumPy oracles of both."""

from dataclasses import replace

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.thread_pool import ThreadPool
from libsvmx._kernels.kernel import Kernel
from libsvmx._solvers.control import Control
from libsvmx._solvers.seeding.starts import Round
from libsvmx._solvers.smo import smo
from libsvmx._train.formulation import build_dual, coefficient_sums, held_out
from libsvmx._train.parameter import Parameter
from libsvmx.enums import SvmType

from . import data
from .judge import Judge
from .labels import alpha_of, labels_of

FORMULATIONS = [SvmType.C_SVC, SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR, SvmType.NU_SVR]
SEEDERS = ["sir", "top", "avg", "near", "mir", "ato"]


class Case:
    """One dual problem over random rows.

    ``K``: the rounded kernel values over variables; ``beyond``: rows twice, and a linear kernel.
    """

    def __init__(self, seed, kind, n, C=3.0, weight=1.0, beyond=False, nu=0.35):
        rng = self.rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3)).round(1)
        if beyond:
            X[n // 2 :] = X[: n - n // 2]
        self.n, self.C, self.kind = n, C, kind
        if kind.is_regression:
            self.targets = (X[:, 0] + 0.3 * rng.normal(size=n)).round(2)
        else:
            self.targets = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
            self.targets[:2] = 1.0, -1.0
        if kind == SvmType.NU_SVC:
            nu = min(nu, 1.8 * min((self.targets > 0).sum(), (self.targets < 0).sum()) / n)
        rows = [[(j + 1, v) for j, v in enumerate(row) if v] for row in X.tolist()]
        self.kernel = Kernel(data.from_rows(rows), filled("i", range(n)), 0 if beyond else 2, 0, 0.7, 0.0)
        self.param = Parameter(svm_type=kind, C=C, nu=nu, p=0.1)
        self.costs = C, C * weight
        self.dual = build_dual(self.param, filled("d", self.targets), *self.costs)
        self.y, self.index = labels_of(self.dual), np.asarray(self.dual.row)
        self.linear = np.asarray(self.dual.linear)
        self.K = np.array([self.kernel.row(i) for i in range(n)], dtype=float)[np.ix_(self.index, self.index)]
        self.judge = Judge.of(self.dual, self.K)
        self.every_row, self.pool = self.kernel.targets(filled("i", range(n))), ThreadPool(1)

    def folds(self, k):
        """The rows in k random folds, which may be of different sizes."""
        cuts = np.sort(self.rng.choice(np.arange(1, self.n), k - 1, replace=False))
        return [np.sort(fold) for fold in np.split(self.rng.permutation(self.n), cuts)]

    def variables(self, rows):
        return np.flatnonzero(np.isin(self.index, rows))

    def scores(self, alpha):
        """V from nothing."""
        return self.judge.scores(self.y * alpha)

    def objective(self, alpha):
        return self.judge.objective(self.y * alpha)

    def costs_without(self, left_out):
        """C, 0 for the variables of ``left_out``."""
        lower, upper = held_out(self.dual, filled("i", left_out))
        return np.asarray(upper) - np.asarray(lower)

    def gap(self, alpha, left_out):
        """The largest violation of optimality by a pair, over the variables that take part."""
        C = self.costs_without(left_out)
        lower, upper = np.where(self.y > 0, 0.0, -C), np.where(self.y > 0, C, 0.0)
        return replace(self.judge, lower=lower, upper=upper).gap(self.y * alpha)

    def optimum(self, left_out, eps=1e-3):
        """(alpha, V) over all variables, by the cold solver over the rows that take part alone."""
        kept = np.setdiff1d(np.arange(self.n), left_out)
        part = build_dual(self.param, filled("d", self.targets[kept]), *self.costs)
        kernel = Kernel(self.kernel.matrix, filled("i", kept), self.kernel.kind, 0, 0.7, 0.0)
        solution = smo.solve(part, kernel, 1e6, Control(eps, True, max_iter=300000))
        alpha = np.zeros(len(self.y))
        alpha[self.variables(kept)] = alpha_of(part, solution)
        return alpha, self.scores(alpha), solution

    def round(self, alpha, V, out_before, left_out):
        """The round without ``left_out``, after the optimum without ``out_before``."""
        return Round(
            self.kernel,
            filled("b", self.y.astype(int)),
            filled("d", self.costs_without(left_out)),
            self.dual.row,
            self.dual.groups == 2,
            coefficient_sums(self.param, self.n - len(left_out)),
            filled("d", alpha),
            filled("d", V),
            filled("i", self.variables(np.setdiff1d(left_out, out_before))),
            filled("i", self.variables(np.setdiff1d(out_before, left_out))),
        )


def sums_of(round_, alpha):
    """What the constraints fix, at alpha."""
    y, alpha = np.asarray(round_.y).astype(float), np.asarray(alpha)
    if round_.split:
        return np.array([alpha[y > 0].sum(), alpha[y < 0].sum()])
    return np.array([y @ alpha])


def extremes(round_):
    """Least and largest values of the sums within the boxes."""
    y, C = np.asarray(round_.y), np.asarray(round_.C)
    if round_.split:
        return np.zeros(2), np.array([C[y > 0].sum(), C[y < 0].sum()])
    return np.array([-C[y < 0].sum()]), np.array([C[y > 0].sum()])


def shifted(beta, low, high, missing):
    """beta + theta, clipped, such that its sum grows by ``missing`` or as far as it can; theta by bisection."""
    least, most = (low - beta).sum(), (high - beta).sum()
    if missing <= least:
        return low
    if missing >= most:
        return high
    left, right = (low - beta).min(), (high - beta).max()
    for _ in range(200):
        theta = (left + right) / 2
        if (np.clip(beta + theta, low, high) - beta).sum() < missing:
            left = theta
        else:
            right = theta
    return np.clip(beta + right, low, high)


def spread(round_, alpha, movable):
    """alpha with the y alpha of ``movable`` shifted by one amount for each sum, towards the sums of the round."""
    y, C = np.asarray(round_.y).astype(float), np.asarray(round_.C)
    alpha, low = alpha.copy(), np.where(y > 0, 0.0, -C)
    signs = (1, -1) if round_.split else (0,)
    for sign, goal in zip(signs, round_.sums, strict=True):
        own = y == sign if sign else np.ones(len(y), dtype=bool)
        chosen = np.array([v for v in movable if own[v]], dtype=int)
        beta = y * alpha
        missing = goal * (sign or 1) - beta[own].sum()
        moved = shifted(beta[chosen], low[chosen], low[chosen] + C[chosen], missing)
        alpha[chosen] = np.clip(y[chosen] * moved, 0.0, C[chosen])
    return alpha


def adjusted(round_, start):
    """AdjustAlpha: T first, then the free rows of S, then all."""
    C, old = np.asarray(round_.C), np.asarray(round_.alpha)
    entering = list(round_.entering)
    free = [v for v in range(len(C)) if v not in entering and 0 < old[v] < C[v]]
    alpha = np.clip(start, 0.0, C)
    for movable in (entering, free, range(len(C))):
        alpha = spread(round_, alpha, movable)
    return alpha
