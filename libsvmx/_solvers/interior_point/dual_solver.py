"""The door of the chapter: a DualProblem of C-SVC and the features of its rows in, a DualSolution out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libsvmx._problem.certificate import kkt_gap
from libsvmx._problem.dual import DualSolution
from libsvmx._solvers.interior_point import predictor_corrector
from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._problem.dual import DualProblem
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.interior_point.constraint_reduction import Reduction
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._typing import FloatArray

    Log = Callable[["Iteration"], object]


def solve_dual(
    dual: DualProblem, rows: FeatureRows, settings: Reduction, control: Control, threads: int, log: Log
) -> DualSolution:
    """The optimum of a C-SVC problem whose kernel is X X' of explicit features.

    Parameters
    ----------
    dual : DualProblem       of C-SVC, C > 0
    rows : FeatureRows       X, one row for each variable
    log : callable(Iteration)         is told of each iteration

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    from threadpoolctl import threadpool_limits

    # alpha = y beta lies in [0, upper]
    y = np.where(np.asarray(dual.lower) < 0, -1.0, 1.0)
    upper = np.asarray(dual.upper) - np.asarray(dual.lower)

    def watch(line: Iteration) -> SolveStatus | None:
        log(line)
        return control.look()

    # of more threads of BLAS, sums would depend on how many there are; here, row blocks are what threads share
    # of the scale of C and X, squares may be out of range: that ends the iterations
    with np.errstate(all="ignore"), threadpool_limits(1, "blas"), LocalRowBlocks(rows, y, upper, threads) as blocks:
        found = predictor_corrector.solve(blocks, settings, watch, control.max_iter)
        alpha = np.concatenate([state.alpha for state in blocks.states])
        if not found.vertex:
            alpha = feasible(alpha, y, upper)
        w = rows.transposed((y * alpha)[None, :])[0]
        if found.status != SolveStatus.CONVERGED:
            # far from the optimum X'Y alpha is not w but far too long; of t alpha, t <= 1, the best is taken
            best = float(alpha.sum()) / max(float(w @ w), 1e-300)
            if best < 1:
                alpha, w = best * alpha, best * w
        scores = y - rows.times(w)
        rho = rho_of(alpha, scores, y, upper)
        objective = float(w @ w) / 2 - float(alpha.sum())
    beta = y * alpha
    gap = kkt_gap(dual, beta, scores)
    status = found.certified(gap, float(alpha.sum()), int(np.count_nonzero(alpha)), control.eps)
    return DualSolution(
        beta=beta, scores=scores, rho=rho, objective=objective, iterations=found.iterations, status=status
    )


def feasible(alpha: FloatArray, y: FloatArray, upper: FloatArray) -> FloatArray:
    """alpha within its bounds and y'alpha = 0: what one class has more than the other is taken away in proportion."""
    alpha = np.clip(alpha, 0.0, upper)
    sums = [float(alpha[y > 0].sum()), float(alpha[y < 0].sum())]
    for sign, own, other in ((1, *sums), (-1, *reversed(sums))):
        if own > other:
            alpha = np.where(y == sign, alpha * (other / own), alpha)
    return alpha


def rho_of(alpha: FloatArray, scores: FloatArray, y: FloatArray, upper: FloatArray) -> float:
    """rho: -(mean of V over free rows), or the middle of what the KKT conditions allow, as LIBSVM has it."""
    free = (alpha > 0) & (alpha < upper)
    if free.any():
        return -float(scores[free].mean())
    up = np.where(y > 0, alpha < upper, alpha > 0)
    max_up, min_low = scores[up].max(initial=-np.inf), scores[~up].min(initial=np.inf)
    if np.isinf(max_up) or np.isinf(min_low):
        return -float(max_up if np.isinf(min_low) else min_low)
    return -float(max_up + min_low) / 2
