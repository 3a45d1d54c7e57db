"""The margin of an old optimum, in NumPy, for seeders that solve linear systems on it.

V_i = -rho - y_i r at a free variable: the level, one for all variables, or one for each sign in split problems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.buffers import filled

if TYPE_CHECKING:
    import numpy.typing as npt

    from libsvmx._kernels.kernel import Kernel
    from libsvmx._solvers.seeding.starts import Round

    Array = npt.NDArray[Any]

# Of C: what solving a linear system leaves of a value that is 0 or C.
ROUNDING = 1e-13


class Margin:
    """Margin(round)

    Attributes
    ----------
    y, C, alpha, V, index : ndarray                      of the round, by variable; not modified
    free, bounded, entering, leaving : ndarray of int    variables: S on the margin, the rest of S, T, R
    signs : tuple of int                                 (0,): one sum over all variables, (1, -1): one over each sign
    levels, goals : ndarray, shape (len(signs),)         V on the margin; the sums of beta in the new round
    """

    def __init__(self, round_: Round) -> None:
        self.y = np.asarray(round_.y).astype(np.float64)
        self.C, self.alpha, self.V = (np.asarray(a) for a in (round_.C, round_.alpha, round_.scores))
        self.index = np.asarray(round_.index)
        self.free, self.entering, self.leaving = (
            np.asarray(a) for a in (round_.shared(True), round_.entering, round_.leaving)
        )
        self.bounded = np.setdiff1d(np.asarray(round_.shared(False)), self.free)
        self.signs = (1, -1) if round_.split else (0,)
        self.goals = np.array([s * g if s else g for s, g in zip(self.signs, round_.sums, strict=True)])
        self.levels = np.array([self._level(s) for s in self.signs])

    def _level(self, sign: int) -> float:
        """Mean of V over the free variables of ``sign`` (0: all), else the middle of its bounds."""
        free = self.free[self.of(sign, self.free)]
        if len(free):
            return float(self.V[free].mean())
        bounded = self.bounded[self.of(sign, self.bounded)]
        grows = (self.alpha[bounded] <= 0) == (self.y[bounded] > 0)  # I_up
        up, low = self.V[bounded[grows]], self.V[bounded[~grows]]
        if len(up) and len(low):
            return float(up.max() + low.min()) / 2
        return float(up.max() if len(up) else low.min() if len(low) else 0.0)

    def of(self, sign: int, variables: Array) -> Array:
        """Which of ``variables`` count in the sum over ``sign``."""
        return self.y[variables] == sign if sign else np.ones(len(variables), dtype=bool)

    def counted(self, variables: Array) -> Array:
        """Left sides of the constraints: 1 where a variable counts in a sum, shape (len(signs), len(variables))."""
        return np.array([self.of(s, variables) for s in self.signs], dtype=np.float64)

    def above(self, variables: Array) -> Array:
        """V less the level of the variable's sum."""
        return np.asarray(self.V[variables] - self.levels @ self.counted(variables))

    def violating(self, variables: Array) -> Array:
        """Those of ``variables``, with alpha = 0, that the margin wants to grow."""
        return np.asarray(variables[self.y[variables] * self.above(variables) > 0])

    def missing(self, alpha: Array) -> Array:
        """What the sums of beta at ``alpha`` lack."""
        beta = self.y * alpha
        return np.asarray(self.goals - [beta[self.y == s].sum() if s else beta.sum() for s in self.signs])


def boxed(alpha: Array, C: Array) -> Array:
    """alpha within [0, C]; what is at a bound but for rounding is there, and no free variable to take rho from."""
    alpha = np.where(alpha < C - ROUNDING * C, alpha, C)
    return np.asarray(np.where(alpha > ROUNDING * C, alpha, 0.0))


def kernel_values(kernel: Kernel, sources: Array, members: Array) -> Array:
    """K(source, member), float64 holding the rounded float32, shape (len(sources), len(members))."""
    if not len(sources) or not len(members):
        return np.zeros((len(sources), len(members)))
    targets = kernel.targets(filled("i", members.tolist()))
    values = targets.rows(sources.tolist())
    kernel.values_computed += len(sources) * len(members)
    return np.array(values, dtype=np.float64)
