"""The margin of an optimum that is known, in NumPy, for the seeders that solve linear systems on it.

V is the same at all free variables of a group, its level: -rho of the decision function; in the nu formulations, which
have two groups, -rho - r and -rho + r.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._problem.certificate import array_level

if TYPE_CHECKING:
    import numpy.typing as npt

    from libsvmx._kernels.kernel import Kernel
    from libsvmx._solvers.seeding.fold_change import FoldChange

    Array = npt.NDArray[Any]

# Of the width of the bounds: what solving a linear system leaves of a value that is at one of them.
ROUNDING = 1e-13


class Margin:
    """Margin(change)

    Attributes
    ----------
    lower, upper, beta, V, group, row : ndarray          of the FoldChange, by variable; not modified
    shared, free, bounded : ndarray of int               variables: S, those of it on the margin, and the others
    entering, leaving : ndarray of int                   variables: T, R
    levels, sums : ndarray, shape (number of groups,)    V on the margin; the sums of beta in the new fold
    """

    def __init__(self, change: FoldChange) -> None:
        self.lower, self.upper, self.beta, self.V, self.group, self.row = (
            np.asarray(a) for a in (change.lower, change.upper, change.beta, change.scores, change.group, change.row)
        )
        self.free, self.entering, self.leaving = (
            np.asarray(a) for a in (change.shared(True), change.entering, change.leaving)
        )
        self.shared = np.asarray(change.shared(False))
        self.bounded = np.setdiff1d(self.shared, self.free)
        self.sums = np.array(change.sums)
        self.levels = np.array([self._level(g) for g in range(len(self.sums))])

    def _level(self, g: int) -> float:
        """V on the margin of group ``g``."""
        own = self.shared[self.group[self.shared] == g]
        beta = self.beta[own]
        return array_level(self.V[own], beta < self.upper[own], beta > self.lower[own])

    def counted(self, variables: Array) -> Array:
        """Left sides of the constraints: 1 where a variable counts in a sum, shape (groups, len(variables))."""
        groups = np.arange(len(self.sums))
        return np.asarray(self.group[variables] == groups[:, None], dtype=np.float64)

    def above(self, variables: Array) -> Array:
        """V less the level of the variable's group."""
        return np.asarray(self.V[variables] - self.levels @ self.counted(variables))

    def violating(self, variables: Array) -> Array:
        """Those of ``variables``, all with beta = 0, for which optimality asks more."""
        away = np.where(self.upper[variables] > 0, 1.0, -1.0)
        return np.asarray(variables[away * self.above(variables) > 0])

    def missing(self, beta: Array) -> Array:
        """What the sums at ``beta`` lack."""
        return np.asarray(self.sums - [beta[self.group == g].sum() for g in range(len(self.sums))])


def clipped(beta: Array, lower: Array, upper: Array) -> Array:
    """beta within its bounds; what is at one but for rounding is there, and no free variable to take rho from."""
    slack = ROUNDING * (upper - lower)
    beta = np.where(beta < upper - slack, beta, upper)
    return np.asarray(np.where(beta > lower + slack, beta, lower))


def kernel_values(kernel: Kernel, sources: Array, members: Array) -> Array:
    """K(source, member), float64 holding the rounded float32, shape (len(sources), len(members))."""
    if not len(sources) or not len(members):
        return np.zeros((len(sources), len(members)))
    targets = kernel.targets(filled("i", members.tolist()))
    values = targets.rows(sources.tolist())
    kernel.values_computed += len(sources) * len(members)
    return np.array(values, dtype=np.float64)
