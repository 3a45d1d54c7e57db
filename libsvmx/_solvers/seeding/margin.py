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
    from collections.abc import Iterator

    import numpy.typing as npt

    from libsvmx._kernels.kernel import Targets
    from libsvmx._solvers.seeding.fold_change import FoldChange

    Array = npt.NDArray[Any]

# Of the width of the bounds: what solving a linear system leaves of a value that is at one of them.
ROUNDING = 1e-13
# Kernel values between two questions whether to stop, some milliseconds; and values that are held, 32 MB.
VALUES_OF_A_BLOCK = 1 << 20
VALUES_HELD = 1 << 22


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


def kernel_values(change: FoldChange, sources: Array, members: Array) -> Array:
    """K(source, member), float64 holding the rounded float32, shape (len(sources), len(members)). Raises Stopped."""
    return values_with(change, change.kernel.targets(filled("i", members.tolist())), sources)


def values_with(change: FoldChange, targets: Targets, sources: Array) -> Array:
    """As ``kernel_values``, with the rows of ``targets``."""
    values = np.zeros((len(sources), targets.n))
    if not values.size:
        return values
    for block in blocks(len(sources), targets.n, VALUES_OF_A_BLOCK):
        values[block] = targets.rows(sources[block].tolist())
        change.kernel.values_computed += values[block].size
        change.control.ask(4 * values[block].size)
    return values


def weighted_values(change: FoldChange, weights: Array, sources: Array, members: Array) -> Array:
    """Sum of K(source, member) over the sources, each times its weight: shape (len(members),). Raises Stopped."""
    total = np.zeros(len(members))
    targets = change.kernel.targets(filled("i", members.tolist()))
    for block in blocks(len(sources), len(members), VALUES_HELD):
        total += weights[block] @ values_with(change, targets, sources[block])
    return total


def blocks(n: int, width: int, values: int) -> Iterator[slice]:
    """n rows of ``width`` values, so many values at a time, a row at least."""
    size = max(1, values // max(width, 1))
    for begin in range(0, n, size):
        yield slice(begin, min(begin + size, n))
