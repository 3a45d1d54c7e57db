"""Entry of the interior-point solver: a DualProblem with the features of its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.stopping import Control
from libsvmx._kernels.featurerows import FeatureRows, TwiceRows, times, transposed
from libsvmx._solvers.dual import DualProblem, DualSolution, array_level, kkt_gap
from libsvmx._solvers.interior_point import predictor_corrector
from libsvmx._solvers.interior_point.block_steps import net
from libsvmx._solvers.interior_point.predictor_corrector import Iteration
from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks
from libsvmx._typing import FloatArray
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:  # which imports this module
    from libsvmx._solvers.interior_point.solver import CRSVM

Log = Callable[["Iteration"], object]


def solve_dual(
    dual: DualProblem, rows: FeatureRows, settings: CRSVM, control: Control, threads: int, log: Log
) -> DualSolution:
    """The optimum of C-SVC or epsilon-SVR with the kernel X X' of explicit features.

    Parameters
    ----------
    dual : DualProblem       all upper - lower > 0, and lower or upper is 0
    rows : FeatureRows       X, one row for each variable, or for two variables of epsilon-SVR
    log : callable(Iteration)         called in each iteration

    Raises KeyboardInterrupt, or what else a signal handler raises; MemoryError.
    """
    order: NDArray[np.intp] | slice = slice(None)
    if dual.is_of_regression():
        order = np.argsort(np.asarray(dual.row), kind="stable")  # the two variables of a row side by side
        rows = TwiceRows(rows)
    lowest, highest, linear = (np.asarray(of)[order] for of in (dual.lower, dual.upper, dual.linear))
    # beta = y alpha, and alpha lies in [0, upper]
    y = np.where(lowest < 0, -1.0, 1.0)
    if linear[y > 0].max(initial=-np.inf) <= linear[y < 0].min(initial=np.inf):
        return at_zero(dual)  # the objective is 0, and no gap small relative to it
    # the method needs linear terms of about 1, like labels
    centre, unit = (0.0, 1.0) if np.array_equal(linear, y) else middle_and_deviation(linear)
    linear = (linear - centre) / unit
    upper = (highest - lowest) / unit

    def watch(line: Iteration) -> SolveStatus | None:
        log(line)
        return control.look()

    # threads share row blocks; BLAS's own would make sums depend on their number. An overflow ends the iterations
    with np.errstate(all="ignore"), one_blas_thread():
        blocks = LocalRowBlocks(rows, y, upper, linear, settings.policy, threads, control)
        found = predictor_corrector.solve(blocks, settings, watch, control.max_iter)
        alpha = net(rows, np.concatenate([state.alpha for state in blocks.states]))
        if not found.vertex:
            alpha = feasible(alpha, y, upper)
        w = transposed(rows, y * alpha, control)
        if found.status != SolveStatus.CONVERGED:
            # far from the optimum X'Y alpha is much longer than w: take the best t alpha, t <= 1
            best = max(float(linear @ (y * alpha)), 0.0) / max(float(w @ w), 1e-300)
            if best < 1:
                alpha, w = best * alpha, best * w
        scores = linear - times(rows, w, control)
        gain = float(linear @ (y * alpha))
        objective = unit * (unit * (float(w @ w) / 2 - gain))
    beta = np.empty(dual.size)
    beta[order] = np.where(alpha < upper, y * alpha * unit, lowest + highest)
    V = np.empty(dual.size)
    V[order] = scores * unit + centre
    lowest, highest = np.asarray(dual.lower), np.asarray(dual.upper)
    rho = -array_level(V, beta < highest, beta > lowest)
    gap = kkt_gap(beta, V, lowest, highest)
    status = found.certified(gap / unit, float(alpha.sum()), int(np.count_nonzero(alpha)), control.eps / unit)
    return DualSolution(beta=beta, scores=V, rho=rho, objective=objective, iterations=found.iterations, status=status)


def middle_and_deviation(values: FloatArray) -> tuple[float, float]:
    """Median and median absolute deviation; the standard deviation, or 1, if that is 0."""
    middle = float(np.median(values))
    return middle, float(np.median(np.abs(values - middle))) or float(values.std()) or 1.0


def at_zero(dual: DualProblem) -> DualSolution:
    """The optimum w = 0, if all targets lie within epsilon of one value."""
    beta, scores = np.zeros(dual.size), np.array(dual.linear)
    rho = -array_level(scores, np.asarray(dual.upper) > 0, np.asarray(dual.lower) < 0)
    return DualSolution(beta=beta, scores=scores, rho=rho, objective=0.0, iterations=0, status=SolveStatus.CONVERGED)


def feasible(alpha: FloatArray, y: FloatArray, upper: FloatArray) -> FloatArray:
    """alpha clipped to its bounds, and the class with the larger sum scaled down so that y'alpha = 0."""
    alpha = np.clip(alpha, 0.0, upper)
    sums = [float(alpha[y > 0].sum()), float(alpha[y < 0].sum())]
    for sign, own, other in ((1, *sums), (-1, *reversed(sums))):
        if own > other:
            alpha = np.where(y == sign, alpha * (other / own), alpha)
    return alpha
