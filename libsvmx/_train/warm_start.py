"""Warm starts of a training from an earlier one over the same rows: alpha seeding for another C, gamma, ….
Folds of a grid search start from those at a smaller C in the same way.

beta and K beta are kept of each dual problem. The start is beta, scaled up if C has grown (``growth_factor``), clipped
to the new box if C has fallen, and projected on the fixed sums. Its scores are computed from known ones and the kernel
rows of variables that differ: with the same kernel V = linear - q K beta is known at any q beta; with another one only
V = linear at 0, which takes the rows of all support vectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from libsvmx._core.stopping import Control, Stopped
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.dual import DualProblem, DualSolution, growth_factor
from libsvmx._solvers.seeding.fold_change import FoldChange, adjust, moved_scores
from libsvmx._train.parameter import Parameter
from libsvmx._train.solve_dual import starts_unknown
from libsvmx._typing import FloatArray

# A coefficient this near a bound, relative to it, is at it but for rounding.
ON_BOUND = 1e-12

NumberOfDual = tuple[int, int]  # numbers of the two classes; (0, 0) without classes


class KnownOptimum(NamedTuple):
    """The optimum of one dual problem; float64, shape (variables,)."""

    beta: FloatArray
    K_beta: FloatArray


class KnownOptima(NamedTuple):
    """The optima of a training, as plain arrays and numbers, which can be pickled.

    Attributes
    ----------
    kernel : dict               parameters of the kernel, by name
    C : float                   1 if there is none
    optima : dict of KnownOptimum
    """

    kernel: dict[str, Any]
    C: float
    optima: dict[NumberOfDual, KnownOptimum]

    def parts(self) -> dict[str, Any]:
        """Its content as arrays, numbers and text, without classes of this package."""
        kernel = {name: int(value) if name == "kernel_type" else value for name, value in self.kernel.items()}
        return {"kernel": kernel, "C": self.C, "optima": [(*number, *arrays) for number, arrays in self.optima.items()]}

    @classmethod
    def of_parts(cls, parts: dict[str, Any]) -> KnownOptima:
        optima = {(first, second): KnownOptimum(*arrays) for first, second, *arrays in parts["optima"]}
        return cls(parts["kernel"], parts["C"], optima)


class WarmStart:
    """WarmStart(param, known=None): starts of a training's dual problems, and the optima found.

    Parameters
    ----------
    param : Parameter
    known : KnownOptima      of a training over the same rows and classes, in the same order; None: cold starts

    Attributes
    ----------
    found : KnownOptima      of this training, complete at its end
    """

    def __init__(self, param: Parameter, known: KnownOptima | None = None) -> None:
        kernel = {name: getattr(param, name) for name in ("kernel_type", *param.kernel_type.uses)}
        self.known = known
        self.found: KnownOptima = KnownOptima(kernel, param.C if param.svm_type.has_cost else 1.0, {})

    def begin(self, number: NumberOfDual, dual: DualProblem, kernel: Kernel, control: Control) -> DualProblem:
        """The dual problem with a warm start; unchanged if none is known or feasible."""
        known = self.known.optima.get(number) if self.known else None
        if known is None or len(known.beta) != dual.size or not np.isfinite(np.asarray(dual.upper)).all():
            return dual
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers from a file may be anything
                return self.started(known, dual, kernel, control)
        except Stopped:  # the solve will stop at once, too
            return dual

    def started(self, known: KnownOptimum, dual: DualProblem, kernel: Kernel, control: Control) -> DualProblem:
        """The dual problem with a start from ``known``. Raises Stopped."""
        assert self.known is not None
        linear, lower, upper = (np.asarray(values) for values in (dual.linear, dual.lower, dual.upper))
        same_kernel, ratio = self.known.kernel == self.found.kernel, self.found.C / self.known.C
        factor = ratio if dual.groups > 1 else 1.0
        if same_kernel and ratio > 1.0:
            V = (linear - known.K_beta).data
            factor = growth_factor(dual, known.beta.data, V, ratio)
        beta = on_bounds(factor * known.beta, lower, upper)
        start, sums = beta.copy().data, sums_of(dual)
        if not adjust(FoldChange(kernel, dual, sums, beta.data, linear.data, dual), start):
            return dual
        # compute V from the nearest beta with known V, by a kernel row for each variable that differs
        places = [(np.zeros(dual.size), linear)]
        if same_kernel:
            places += [(on_bounds(f * known.beta, lower, upper), linear - f * known.K_beta) for f in (factor, ratio)]
        origin, scores = min(places, key=lambda place: np.count_nonzero(place[0] != np.asarray(start)))
        if not np.isfinite(scores).all():
            return dual
        if np.array_equal(origin, start):
            return dual.changed(beta=start, scores=scores.data)
        change = FoldChange(kernel, dual, sums, origin.data, scores.data, dual, control)
        return dual.changed(beta=start, scores=moved_scores(change, start))

    def keep(self, number: NumberOfDual, dual: DualProblem, solution: DualSolution) -> None:
        """Keep the solution of a dual problem."""
        if starts_unknown(dual, solution):
            return
        beta, K_beta = np.array(solution.beta), np.asarray(dual.linear) - np.asarray(solution.scores)
        if np.isfinite(beta).all() and np.isfinite(K_beta).all():
            self.found.optima[number] = KnownOptimum(beta, K_beta)


def on_bounds(beta: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """beta, with coefficients at a bound but for rounding set to it."""
    for bound in (lower, upper):
        beta = np.where(np.abs(beta - bound) <= ON_BOUND * np.abs(bound), bound, beta)
    return beta


def sums_of(dual: DualProblem) -> tuple[float, ...]:
    """Sum of beta over each group, that of LIBSVM's feasible start."""
    beta, group = np.asarray(dual.beta), np.asarray(dual.group)
    return tuple(float(beta[group == g].sum()) for g in range(dual.groups))
