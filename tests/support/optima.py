"""The dual problems behind a model, and NumPy's check of its coefficients with a kernel matrix in double.

It uses only public properties of a model: ``param``, ``sv_coef``, ``sv_indices``, ``rho``, ``labels``.
"""

from itertools import combinations

import numpy as np

from libsvmx import SvmType

from .judge import FLOAT_ULP, ULP, Judge

# Relative to the box: a coefficient this near a bound is at the bound.
SHARP = 1e-11


class Judged(Judge):
    """One dual problem and its answer, beta and the level of each group; ``reached``: its objective."""

    def __init__(self, K, linear, lower, upper, totals, beta, levels, group=None):
        super().__init__(K, linear, lower, upper, group, width=SHARP)
        self.totals, self.beta, self.levels = totals, beta, levels
        self.F, self.V, self.reached = K @ beta, self.scores(beta), self.objective(beta)
        # rounding of V, here and there
        self.noise = 64 * ULP * (max(np.abs(K).max(), 1.0) * (np.abs(beta).sum() + 1) + np.abs(linear).max())
        # may be as large as V of one-class
        self.scale = np.abs(linear).max() if linear.any() else max(np.abs(K).max(), self.noise, *np.abs(levels))

    def check(self, relative=1e-9):
        """An exact optimum: feasible, optimal, and with LIBSVM's levels."""
        self.check_in_box()
        self.check_sums()
        allowed = relative * self.scale + 16 * self.noise
        gap = self.gap(self.beta)
        assert gap <= allowed, (gap, allowed)
        left = 0.0
        for own, (top, bottom) in zip(self.groups, self.intervals(self.beta), strict=True):
            level = self.levels[self.group[own][0]]
            if bottom - top > 4 * allowed and np.isfinite(bottom - top):
                assert abs(level - (top + bottom) / 2) <= allowed, (level, top, bottom)
            elif np.isfinite([top, bottom]).any():
                assert top - 4 * allowed <= level <= bottom + 4 * allowed, (level, top, bottom)
            left += self.slack(self.beta, own, level)
        box = np.maximum(np.abs(self.lower), np.abs(self.upper))
        assert left <= allowed * (box.sum() + np.abs(self.beta).sum()), left

    def check_to(self, eps, ulp=FLOAT_ULP):
        """Feasible, and optimal to ``eps`` for kernel values with rounding error ``ulp``."""
        self.check_in_box()
        self.check_sums()
        noise = 4 * ulp * (np.abs(self.K) @ np.abs(self.beta) + np.abs(self.linear)).max() + self.noise
        allowed = eps + 2 * noise
        gap = self.gap(self.beta)
        assert gap <= allowed, (gap, allowed)
        assert self.duality_gap(self.beta) <= allowed * (self.upper - self.lower).sum()
        for own, (top, bottom) in zip(self.groups, self.intervals(self.beta), strict=True):
            level = self.levels[self.group[own][0]]
            assert min(top, bottom) - allowed <= level <= max(top, bottom) + allowed, (level, top, bottom)

    def check_in_box(self):
        self.check_feasible(self.beta, self.beta, share=SHARP)

    def check_sums(self):
        box = np.maximum(np.abs(self.lower), np.abs(self.upper))
        for own in self.groups:
            total = self.totals[self.group[own][0]]
            assert abs(self.beta[own].sum() - total) <= 1e-11 * (np.abs(self.beta).sum() + box.max())


def judged(model, K, y, weight=None, both=None):
    """The dual problems of a model of rows with kernel matrix K and targets y: list of Judged.

    Parameters
    ----------
    weight : array, or None      weights of the rows
    both : array, or None        the variables of nu-SVR's rows, first those >= 0, as a model only has their sums.
        None: one variable per row is nonzero, as in a tube of positive width
    """
    param, n = model.param, len(y)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    rows = np.asarray(model.sv_indices) - 1

    def spread(coefficients, chosen=slice(None)):
        beta = np.zeros(n)
        beta[rows[chosen]] = coefficients[chosen]
        return beta

    if param.svm_type == SvmType.ONE_CLASS:
        totals = (param.nu * w.sum(),)
        return [Judged(K, np.zeros(n), np.zeros(n), w, totals, spread(model.sv_coef[0]), (-model.rho[0],))]
    if param.svm_type.is_regression:
        beta, none, C = spread(model.sv_coef[0]), np.zeros(n), param.C * w
        if both is None:
            both = np.concatenate([np.maximum(beta, 0), np.minimum(beta, 0)])
        np.testing.assert_allclose(both[:n] + both[n:], beta, rtol=0, atol=1e-12 * param.C)
        K, box = np.tile(K, (2, 2)), (np.concatenate([none, -C]), np.concatenate([C, none]))
    if param.svm_type == SvmType.QUANTILE_SVR:
        box = box[0] * (1 - param.tau), box[1] * param.tau
        return [Judged(K, np.concatenate([y, y]), *box, (0.0,), both, (-model.rho[0],))]
    if param.svm_type == SvmType.EPSILON_SVR:
        linear = np.concatenate([y - param.p, y + param.p])
        return [Judged(K, linear, *box, (0.0,), both, (-model.rho[0],))]
    if param.svm_type == SvmType.NU_SVR:
        group, total = np.repeat([0, 1], n), param.nu * C.sum() / 2
        # the model has rho, midway between the two levels, but not their distance
        asked = Judge(K, np.concatenate([y, y]), *box, group, width=SHARP)
        free, V = asked.free(both) & (group == 1), asked.scores(both)
        level = V[free].mean() if free.any() else np.mean(asked.intervals(both)[1])
        levels = -2 * model.rho[0] - level, level
        return [Judged(K, asked.linear, *box, (total, -total), both, levels, group)]
    labels, weights, found = list(model.labels), dict(param.weights), []
    if param.svm_type == SvmType.NU_SVC:
        weights = {}
    counts = (w > 0) & np.array([weights.get(int(label), 1.0) > 0 for label in y])
    assert sorted(labels) == sorted(set(y[counts].astype(int)))
    owner = y[rows]
    for function, (i, j) in enumerate(combinations(range(len(labels)), 2)):
        beta = spread(model.sv_coef[j - 1], owner == labels[i]) + spread(model.sv_coef[i], owner == labels[j])
        own = (y == labels[i]) | (y == labels[j])
        sign = np.where(y[own] == labels[i], 1.0, -1.0)
        part, rho = K[np.ix_(own, own)], model.rho[function]
        if param.svm_type == SvmType.NU_SVC:
            total = param.nu * w[own].sum() / 2
            r = total / np.maximum(beta[own], 0).sum()  # coefficients in a model are divided by it
            levels, group = (-r * (rho + 1), -r * (rho - 1)), (sign < 0).astype(int)
            box = np.minimum(sign, 0) * w[own], np.maximum(sign, 0) * w[own]
            found.append(Judged(part, np.zeros(len(sign)), *box, (total, -total), r * beta[own], levels, group))
            continue
        C = w[own] * np.array([param.C * weights.get(int(label), 1.0) for label in y[own]])
        low, high = np.where(sign > 0, 0, -C), np.where(sign > 0, C, 0)
        found.append(Judged(part, sign, low, high, (0.0,), beta[own], (-rho,)))
    return found


def decision_values(model, cross):
    """f of rows with kernel values ``cross`` with all training rows: shape (rows, functions)."""
    beta = coefficients(model, cross.shape[1])
    return cross @ beta.T - np.asarray(model.rho)


def coefficients(model, n):
    """Coefficients of all n training rows in each decision function, shape (functions, n)."""
    rows = np.asarray(model.sv_indices) - 1
    if model.labels is None:
        beta = np.zeros((1, n))
        beta[0, rows] = model.sv_coef[0]
        return beta
    of_class = np.repeat(np.arange(model.nr_class), model.class_sv)
    pairs = list(combinations(range(model.nr_class), 2))
    beta = np.zeros((len(pairs), n))
    for own, (i, j) in zip(beta, pairs, strict=True):
        own[rows[of_class == i]] = model.sv_coef[j - 1, of_class == i]
        own[rows[of_class == j]] = model.sv_coef[i, of_class == j]
    return beta


def wins(values, labels):
    """Number of pairs won by each class, shape (rows, classes)."""
    won = np.zeros((len(values), len(labels)))
    for column, (i, j) in zip(values.T, combinations(range(len(labels)), 2), strict=True):
        won[:, i] += column > 0
        won[:, j] += ~(column > 0)
    return won


def votes(values, labels):
    """The class of each row by LIBSVM's vote: the first of those with most pairs."""
    return np.asarray(labels)[wins(values, labels).argmax(axis=1)]


def predictions(model, values):
    """Labels, targets, or +1 and -1 of one-class, from decision values."""
    if model.labels is not None:
        return votes(values, model.labels).astype(float)
    return values[:, 0] if model.param.svm_type.is_regression else np.where(values[:, 0] > 0, 1.0, -1.0)


def by_labels(model, values, labels):
    """Decision values of a model in the order of all ``labels``, which may include others and have another order.

    Pairs of a class that the model lacks are nan; without labels values are unchanged.
    """
    if not len(labels):
        return values
    own, pairs = list(model.labels), list(combinations(labels, 2))
    found, column = np.full((len(values), len(pairs)), np.nan), {}
    for at, pair in enumerate(combinations(own, 2)):
        column[pair], column[pair[::-1]] = (at, 1.0), (at, -1.0)
    for at, pair in enumerate(pairs):
        if pair in column:
            place, sign = column[pair]
            found[:, at] = sign * values[:, place]
    return found
