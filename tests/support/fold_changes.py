"""Small random problems of every formulation, changes from fold to fold, and NumPy's results for both."""

from dataclasses import replace

import numpy as np
from libsvmx._solvers.seeding.fold_change import FoldChange
from libsvmx._solvers.seeding.seeders import start_of
from libsvmx._train.formulation import build_dual, coefficient_sums

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.smo import smo
from libsvmx._train.parameter import Parameter
from libsvmx.enums import SvmType

from . import data
from .judge import Judge
from .labels import labels_of

FORMULATIONS = list(SvmType)


class Case:
    """One dual problem over random rows.

    ``K``: the rounded kernel values over variables; ``beyond``: duplicated rows, and a linear kernel.
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

    def folds(self, k):
        """The rows in k random folds, perhaps of different sizes."""
        cuts = np.sort(self.rng.choice(np.arange(1, self.n), k - 1, replace=False))
        return [np.sort(fold) for fold in np.split(self.rng.permutation(self.n), cuts)]

    def variables(self, rows):
        return np.flatnonzero(np.isin(self.index, rows))

    def scores(self, beta):
        """V, computed from beta."""
        return self.judge.scores(beta)

    def objective(self, beta):
        return self.judge.objective(beta)

    def box(self, left_out):
        """(lower, upper), 0 for the variables of ``left_out``."""
        dual = self.without(left_out)
        return np.asarray(dual.lower), np.asarray(dual.upper)

    def without(self, left_out):
        """The dual problem in which the rows ``left_out`` have weight 0."""
        weights = np.where(np.isin(np.arange(self.n), left_out), 0.0, 1.0)
        return build_dual(self.param, filled("d", self.targets), *self.costs, filled("d", weights))

    def gap(self, beta, left_out):
        """The largest violation of optimality by a pair of variables of the fold."""
        lower, upper = self.box(left_out)
        return replace(self.judge, lower=lower, upper=upper).gap(beta)

    def optimum(self, left_out, eps=1e-3):
        """(beta, V, solution) over all variables, by a cold start over the rows of the fold."""
        present = np.setdiff1d(np.arange(self.n), left_out)
        part = build_dual(self.param, filled("d", self.targets[present]), *self.costs)
        kernel = Kernel(self.kernel.matrix, filled("i", present), self.kernel.kind, 0, 0.7, 0.0)
        solution = smo.solve(part, kernel, 1e6, Control(eps, True, max_iter=300000))
        beta = np.zeros(len(self.y))
        beta[self.variables(present)] = solution.beta
        return beta, self.scores(beta), solution

    def change(self, beta, V, out_before, left_out, sums=None):
        """The change to the fold without ``left_out``, from the optimum without ``out_before``."""
        return FoldChange(
            self.kernel,
            self.without(left_out),
            sums or coefficient_sums(self.param, self.n - len(left_out)),
            filled("d", beta),
            filled("d", V),
            self.without(out_before),
        )


def proposed(change, name):
    """beta proposed by a seeder, not feasible yet."""
    return start_of(change, name, proposed=True)[0]


def leaving(change):
    """The variables of R."""
    return np.setdiff1d(taking_part(change.former), taking_part(change))


def entering(change):
    """The variables of T."""
    return np.setdiff1d(taking_part(change), taking_part(change.former))


def taking_part(dual):
    lower, upper = box_of(dual)
    return np.flatnonzero(lower < upper)


def shared(change, free_only):
    """The variables of S, or only those of them strictly within their bounds."""
    (lower, upper), beta = box_of(change), np.asarray(change.beta)
    chosen = (lower < beta) & (beta < upper) if free_only else lower < upper
    return np.setdiff1d(np.flatnonzero(chosen), entering(change))


def box_of(change):
    """(lower, upper)"""
    return np.asarray(change.lower), np.asarray(change.upper)


def groups_of(change):
    """The variables of each sum."""
    return [np.asarray(change.group) == g for g in range(len(change.sums))]


def sums_of(change, beta):
    """The values of the sums at beta."""
    return np.array([np.asarray(beta)[own].sum() for own in groups_of(change)])


def extremes(change):
    """Minimum and maximum of the sums within the boxes."""
    lower, upper = box_of(change)
    own = groups_of(change)
    return np.array([lower[g].sum() for g in own]), np.array([upper[g].sum() for g in own])


def shifted(beta, lower, upper, missing):
    """beta + theta, clipped, with the sum increased by ``missing``, or as far as possible; theta by bisection."""
    least, most = (lower - beta).sum(), (upper - beta).sum()
    if missing <= least:
        return lower
    if missing >= most:
        return upper
    left, right = (lower - beta).min(), (upper - beta).max()
    for _ in range(200):
        theta = (left + right) / 2
        if (np.clip(beta + theta, lower, upper) - beta).sum() < missing:
            left = theta
        else:
            right = theta
    return np.clip(beta + right, lower, upper)


def equalised(change, beta, movable):
    """beta with the ``movable`` variables shifted by one amount for each sum, towards the sums of the new fold."""
    lower, upper = box_of(change)
    beta = beta.copy()
    for own, goal in zip(groups_of(change), change.sums, strict=True):
        chosen = np.array([v for v in movable if own[v]], dtype=int)
        beta[chosen] = shifted(beta[chosen], lower[chosen], upper[chosen], goal - beta[own].sum())
    return beta


def adjusted(change, start):
    """AdjustAlpha: first T, then the free rows of S, then all rows."""
    (lower, upper), known = box_of(change), np.asarray(change.beta)
    new = list(entering(change))
    free = [v for v in range(len(known)) if v not in new and lower[v] < known[v] < upper[v]]
    beta = np.clip(start, lower, upper)
    for movable in (new, free, range(len(known))):
        beta = equalised(change, beta, movable)
    return beta
