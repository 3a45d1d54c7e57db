"""Objective and KKT gap of a solution, from the original data and the coefficients alone.

Every formulation is  min 1/2 b'Kb + p'|b| - z'b  over signed coefficients b with |b_i| <= C_i and a fixed sum, so with
scores f = Kb an optimum to eps is one where no b_i can go up and no b_j down with a gain of more than eps:

    gap = max_{b_i can rise} (V_i)  -  min_{b_j can fall} (V_j)        (Fan, Chen & Lin 2005, (6))

nu-SVC and nu-SVR fix the sums of the positive and of the negative coefficients, so each sign has its own gap.
The kernel is computed here, in float64 by blocks, with NumPy and SciPy; nothing of libsvmx is used but the names
of the parameters. All rows count, support vectors or not. LIBSVM's rows are rounded to float, so its gap may exceed
eps by about that rounding error.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR = range(5)
LINEAR, POLY, RBF, SIGMOID = range(4)
BLOCK_VALUES = 1 << 24  # kernel values at a time: 128 MB
DENSE_ABOVE = 0.05  # share of nonzeros above which a BLAS product is faster than a sparse one
AT_BOUND = 1e-10  # relative distance to 0 or C_i that counts as zero: peers rescale coefficients


@dataclass(frozen=True)
class Certificate:
    """gap : the largest of all dual problems;  objective : their sum;  infeasibility : of bounds and sums, absolute."""

    gap: float
    objective: float
    infeasibility: float


def certify(X, targets, param, solution):
    """Certificate of one training.

    X : scipy.sparse.csr_matrix, shape (n, d)     targets : float64, shape (n,)     param : libsvmx's Parameter
    """
    kernel = Kernel(X, param)
    if param.svm_type > NU_SVC:
        everything = np.arange(len(targets))
        return certify_problem(kernel, everything, targets, solution.rows, solution.coef[0], param, (1.0, 1.0))
    parts = [certify_problem(kernel, *pair[:4], param, pair[4]) for pair in pairs(targets, param, solution)]
    if not parts:
        return Certificate(0.0, 0.0, 0.0)
    return Certificate(max(p.gap for p in parts), sum(p.objective for p in parts), max(p.infeasibility for p in parts))


def pairs(targets, param, solution):
    """(rows, signs, support vectors, their coefficients, (C+ factor, C- factor)) of each pair of classes."""
    start = np.concatenate([[0], np.cumsum(solution.class_sv)])
    weights = {}
    for label, weight in param.weights:
        weights[label] = weights.get(label, 1.0) * weight
    for i, j in combinations(range(len(start) - 1), 2):
        first, second = int(solution.labels[i]), int(solution.labels[j])
        rows = np.flatnonzero((targets == first) | (targets == second))
        a, b = slice(start[i], start[i + 1]), slice(start[j], start[j + 1])
        used = np.concatenate([solution.rows[a], solution.rows[b]])
        coefficients = np.concatenate([solution.coef[j - 1, a], solution.coef[i, b]])
        costs = weights.get(first, 1.0), weights.get(second, 1.0)
        yield rows, np.where(targets[rows] == first, 1.0, -1.0), used, coefficients, costs


def certify_problem(kernel, rows, targets, used, coefficients, param, costs):
    """One dual problem over ``rows``; those in ``used`` have the given coefficients, the others 0."""
    place = np.full(kernel.n, -1)
    place[rows] = np.arange(len(rows))
    beta = np.zeros(len(rows))
    beta[place[used]] = coefficients
    f = kernel.scores(rows, used, coefficients)
    if param.svm_type in (EPSILON_SVR, NU_SVR):
        return _regression(beta, f, targets, param)
    return _signed(beta, f, targets, param, costs)


def _signed(beta, f, targets, param, costs):
    """Formulations with a given sign for each coefficient: C-SVC, nu-SVC, one-class."""
    s, n, size = param.svm_type, len(beta), np.abs(beta)
    sign, groups = targets, [np.ones(n, dtype=bool)]
    V, linear, total, scale = -f, 0.0, 0.0, 1.0
    if s == C_SVC:
        C = param.C * np.where(sign > 0, *costs)
        V, linear = sign - f, -float(size.sum())
    elif s == NU_SVC:  # coefficients are divided by r (Chang & Lin 2001): undo that in bounds and scores
        scale = param.nu * n / size.sum()
        C, groups = np.full(n, 1 / scale), [sign > 0, sign < 0]
    else:
        C, sign, total = np.ones(n), np.ones(n), param.nu * n
    below, above, plus, minus = _room(beta, C)
    up, down = np.where(sign > 0, below, minus), np.where(sign > 0, plus, above)
    gap = scale * max(_gap(V, V, up & group, down & group) for group in groups)
    wrong = max(0.0, float(np.max(-sign * beta)), float(np.max(size - C)), abs(float(beta.sum()) - total))
    return Certificate(gap, 0.5 * float(beta @ f) + linear, wrong)


def _regression(beta, f, targets, param):
    """Formulations over b = alpha - alpha*, one of them 0: epsilon-SVR, nu-SVR."""
    V, size = targets - f, np.abs(beta)
    C = np.full(len(beta), param.C)
    below, above, plus, minus = _room(beta, C)
    objective = 0.5 * float(beta @ f) - float(targets @ beta)
    wrong = max(0.0, float(np.max(size - C)), abs(float(beta.sum())))
    if param.svm_type == EPSILON_SVR:  # raising b lowers alpha* before it raises alpha; lowering, the reverse
        rise, fall = V - np.where(minus, -param.p, param.p), V - np.where(plus, param.p, -param.p)
        return Certificate(_gap(rise, fall, below, above), objective + param.p * float(size.sum()), wrong)
    gap = max(_gap(V, V, below & ~minus, plus), _gap(V, V, minus, above & ~plus))
    return Certificate(gap, objective, max(wrong, float(size.sum()) - param.C * param.nu * len(beta)))


def _room(beta, C):
    """Masks: beta below C, above -C, above 0, below 0."""
    near = C * (1 - AT_BOUND)
    return beta < near, beta > -near, beta > AT_BOUND * C, beta < -AT_BOUND * C


def _gap(V_up, V_down, up, down):
    """-inf if no coefficient can move."""
    return float(np.max(V_up[up], initial=-np.inf) - np.min(V_down[down], initial=np.inf))


class Kernel:
    """Kernel values between rows of X, in float64."""

    def __init__(self, X, param):
        if param.kernel_type not in (LINEAR, POLY, RBF, SIGMOID):
            raise ValueError("no certificate for precomputed kernels")
        self.n, self.param = X.shape[0], param
        self.squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        X = X[:, np.unique(X.indices)]  # unused columns would only cost time
        self.X = X.toarray() if X.nnz > DENSE_ABOVE * X.shape[0] * X.shape[1] else X

    def block(self, a, b):
        """K between rows a and rows b, shape (len(a), len(b))."""
        p, K = self.param, self.X[a] @ self.X[b].T
        if hasattr(K, "toarray"):
            K = K.toarray()
        if p.kernel_type == LINEAR:
            return K
        if p.kernel_type == RBF:
            K *= -2
            K += self.squares[a][:, None]
            K += self.squares[b]
            K[a[:, None] == b] = 0  # exactly: large values leave a rounding error here
            K *= -p.gamma
            return np.exp(K, out=K)
        K *= p.gamma
        K += p.coef0
        return np.tanh(K, out=K) if p.kernel_type == SIGMOID else K**p.degree

    def scores(self, rows, used, coefficients):
        """f_i = sum_j b_j K_ij for each of ``rows``."""
        step = max(1, BLOCK_VALUES // max(len(used), 1))
        parts = [self.block(rows[i : i + step], used) @ coefficients for i in range(0, len(rows), step)]
        return np.concatenate(parts)
