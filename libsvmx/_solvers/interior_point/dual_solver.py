"""The door of the chapter: a DualProblem of C-SVC and the features of its rows in, a DualSolution out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.blas import one_blas_thread
from libsvmx._kernels.featurerows import times, transposed
from libsvmx._problem.certificate import array_level, kkt_gap
from libsvmx._problem.dual import DualSolution
from libsvmx._solvers.interior_point import predictor_corrector
from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._problem.dual import DualProblem
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._solvers.interior_point.settings import CRSVM
    from libsvmx._typing import FloatArray

    Log = Callable[["Iteration"], object]


def solve_dual(
    dual: DualProblem, rows: FeatureRows, settings: CRSVM, control: Control, threads: int, log: Log
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
    # beta = y alpha, and alpha lies in [0, upper]
    lowest, highest = np.asarray(dual.lower), np.asarray(dual.upper)
    y = np.where(lowest < 0, -1.0, 1.0)
    upper = highest - lowest

    def watch(line: Iteration) -> SolveStatus | None:
        log(line)
        return control.look()

    # of more threads of BLAS, sums would depend on how many there are; here, row blocks are what threads share
    # of the scale of C and X, squares may be out of range: that ends the iterations
    with (
        np.errstate(all="ignore"),
        one_blas_thread(),
        LocalRowBlocks(rows, y, upper, threads, control) as blocks,
    ):
        found = predictor_corrector.solve(blocks, settings, watch, control.max_iter)
        alpha = np.concatenate([state.alpha for state in blocks.states])
        if not found.vertex:
            alpha = feasible(alpha, y, upper)
        w = transposed(rows, y * alpha, control)
        if found.status != SolveStatus.CONVERGED:
            # far from the optimum X'Y alpha is not w but far too long; of t alpha, t <= 1, the best is taken
            best = float(alpha.sum()) / max(float(w @ w), 1e-300)
            if best < 1:
                alpha, w = best * alpha, best * w
        scores = y - times(rows, w, control)
        beta = y * alpha
        rho = -array_level(scores, beta < highest, beta > lowest)
        objective = float(w @ w) / 2 - float(alpha.sum())
    gap = kkt_gap(beta, scores, lowest, highest)
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
