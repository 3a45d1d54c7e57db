"""The judge of all solvers: a NumPy check of a solution of the dual problem, from the data.

    min 1/2 beta'K beta - linear'beta    s.t.  lower <= beta <= upper,  the sum of beta over group g is total_g

V = linear - K beta                                                 scores: minus the gradient
    gap = max over groups of (max V of variables that can grow - min V of those that can fall), <= eps at an optimum
    duality gap = sum_i max(upper_i s_i, lower_i s_i) - s_i beta_i,   s = V - level of its group: primal minus dual,
                  so no beta has an objective lower by more

Nothing here is computed by the package, neither kernel values nor certificates. ``K`` is an array over variables, or
any object with ``K @ beta``, see ``Factor``.
"""

from dataclasses import dataclass, field

import numpy as np

from libsvmx.enums import KernelType

ULP, FLOAT_ULP = 2.0**-52, 2.0**-23


def kernel_values(param, X, Z):
    """K(X, Z) of a Parameter in double; the precomputed kernel is that of the products of the rows."""
    dots = X @ Z.T
    if param.kernel_type in (KernelType.LINEAR, KernelType.PRECOMPUTED):
        return dots
    if param.kernel_type == KernelType.POLY:
        return (param.gamma * dots + param.coef0) ** param.degree
    if param.kernel_type == KernelType.SIGMOID:
        return np.tanh(param.gamma * dots + param.coef0)
    return OF_PAIRS[param.kernel_type](X[:, None, :], Z[None, :, :], param.gamma)


def chi2(u, v):
    both = np.where(u + v > 0, u + v, 1.0)
    return ((u - v) ** 2 / both).sum(axis=2)


def distance(u, v):
    return ((u - v) ** 2).sum(axis=2)


def quotient(dots, divisor, otherwise):
    return np.where(divisor > 0, dots / np.where(divisor > 0, divisor, 1.0), otherwise)


def cosine(u, v, gamma):
    return quotient((u * v).sum(axis=2), np.sqrt((u * u).sum(axis=2)) * np.sqrt((v * v).sum(axis=2)), 0.0)


def tanimoto(u, v, gamma):
    dots = (u * v).sum(axis=2)
    return quotient(dots, (u * u).sum(axis=2) + (v * v).sum(axis=2) - dots, 1.0)


def matern32(u, v, gamma):
    s = np.sqrt(6 * gamma * distance(u, v))
    return (1 + s) * np.exp(-s)


def matern52(u, v, gamma):
    s = np.sqrt(10 * gamma * distance(u, v))
    return (1 + s + s**2 / 3) * np.exp(-s)


# K of rows u (n, 1, d) and v (1, m, d).
OF_PAIRS = {
    KernelType.RBF: lambda u, v, gamma: np.exp(-gamma * distance(u, v)),
    KernelType.LAPLACIAN: lambda u, v, gamma: np.exp(-gamma * np.abs(u - v).sum(axis=2)),
    KernelType.COSINE: cosine,
    KernelType.TANIMOTO: tanimoto,
    KernelType.INTERSECTION: lambda u, v, gamma: np.minimum(u, v).sum(axis=2),
    KernelType.CHI2: lambda u, v, gamma: np.exp(-gamma * chi2(u, v)),
    KernelType.ADDITIVE_CHI2: lambda u, v, gamma: -chi2(u, v),
    KernelType.MATERN32: matern32,
    KernelType.MATERN52: matern52,
    KernelType.RATIONAL_QUADRATIC: lambda u, v, gamma: 1 / (1 + gamma * distance(u, v)),
}


class Factor:
    """X X' of explicit features, in higher precision than a solver's."""

    def __init__(self, X):
        self.X = np.asarray(X, dtype=np.longdouble)

    def __matmul__(self, beta):
        return self.X @ (self.X.T @ np.asarray(beta, dtype=np.longdouble))


@dataclass
class Judge:
    """One dual problem.

    Attributes
    ----------
    K, linear, lower, upper : over variables
    group : array of int, None for one group
    width : float       a coefficient this near a bound, relative to its box, is at the bound
    """

    K: object
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    group: np.ndarray | None = None
    width: float = 0.0
    takes_part: np.ndarray = field(init=False)
    groups: list = field(init=False)

    def __post_init__(self):
        self.linear, self.lower, self.upper = (np.asarray(a, float) for a in (self.linear, self.lower, self.upper))
        self.group = np.zeros(len(self.linear), int) if self.group is None else np.asarray(self.group)
        self.takes_part = self.lower < self.upper
        self.groups = [self.group == g for g in np.unique(self.group)]

    @classmethod
    def of(cls, dual, K, **options):
        """From a DualProblem; ``K`` over variables."""
        return cls(K, dual.linear, dual.lower, dual.upper, np.asarray(dual.group), **options)

    # ---- the definitions ---------------------------------------------------------------------------------

    def scores(self, beta):
        """V."""
        return self.linear - self.K @ beta

    def objective(self, beta):
        return float(-(self.linear + self.scores(beta)) @ beta / 2)

    def sums(self, beta):
        """For each group."""
        return np.array([np.sum(np.asarray(beta)[own]) for own in self.groups])

    def sides(self, beta):
        """(can grow, can fall), among the variables with a box."""
        near = self.width * (self.upper - self.lower)
        return self.takes_part & (beta < self.upper - near), self.takes_part & (beta > self.lower + near)

    def free(self, beta):
        return np.logical_and(*self.sides(beta))

    def intervals(self, beta):
        """Bounds of each group's level at an optimum: (max V of those that can grow, min V of those that can fall)."""
        V, (grow, fall) = self.scores(beta), self.sides(beta)
        return [(V[own & grow].max(initial=-np.inf), V[own & fall].min(initial=np.inf)) for own in self.groups]

    def gap(self, beta):
        """The largest violation of optimality by a pair in one group; -inf without a pair."""
        return float(max((top - bottom for top, bottom in self.intervals(beta)), default=-np.inf))

    def slack(self, beta, own, level):
        """Primal minus dual, for one group at one level."""
        s = (self.scores(beta) - level)[own]
        return np.sum(np.maximum(self.upper[own] * s, self.lower[own] * s) - s * np.asarray(beta)[own])

    def duality_gap(self, beta, level=None):
        """Primal minus dual, at the given level or, for each group, at the level that suits beta best: a score."""
        V = self.scores(beta)
        found = 0.0
        for own in self.groups:
            levels = np.unique(V[own & self.takes_part]) if level is None else [level]
            found += min((self.slack(beta, own, one) for one in levels), default=0.0)
        return float(found)

    # ---- properties of an answer -------------------------------------------------------------------------

    def check_feasible(self, beta, start, share=0.0, rounding=4096 * ULP):
        """Within the box up to a ``share`` of it, and with the sums of ``start`` up to rounding."""
        beta, start = np.asarray(beta), np.asarray(start)
        box = np.maximum(np.abs(self.lower), np.abs(self.upper))
        assert np.isfinite(beta).all()
        assert np.all(beta >= self.lower - share * box)
        assert np.all(beta <= self.upper + share * box)
        size = np.abs(beta).sum() + np.abs(start).sum() + box.max(initial=0.0)
        np.testing.assert_allclose(self.sums(beta), self.sums(start), rtol=0, atol=rounding * size)
