"""LIBSVM's solver."""

from __future__ import annotations

from libsvmx._core.records import record
from libsvmx._solvers.solver import NO_BOUND, Solver
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from typing import ClassVar

    from libsvmx._core.stopping import Control
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._solvers.dual import DualProblem, DualSolution


def checked(solution: DualSolution, dual: DualProblem, kernel: Kernel, control: Control) -> DualSolution:
    """``solution``, with status ROUNDING if its gap with kernel values in double exceeds the tolerance.

    LIBSVM's kernel values are in float, whose error can exceed ``eps`` when coefficients are large.
    """
    from libsvmx._solvers.dual import TOLERATED, gap_in_double

    if solution.status != SolveStatus.CONVERGED:
        return solution
    gap = gap_in_double(dual, kernel, solution.beta, control)
    if gap is None:
        return solution
    return solution.changed(gap=gap, status=SolveStatus.ROUNDING if gap > TOLERATED * control.eps else solution.status)


@record(frozen=True)
class SMO(Solver):
    """Sequential minimal optimization with LIBSVM's pairs, order and rounding. It has no settings."""

    name: ClassVar[str] = "smo"
    summary: ClassVar[str] = "LIBSVM's path and its model files"
    follows_libsvm: ClassVar[bool] = True
    takes_infinite_cost: ClassVar[bool] = True

    def solve(
        self, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        if dual.scores is None and max(dual.upper, default=0.0) >= NO_BOUND:
            from libsvmx._solvers.smo import hard_margin

            if hard_margin.unbounded(dual) and hard_margin.asked_within(control.max_iter, dual.size):
                return hard_margin.solve(dual, kernel, budget_bytes, control, threads)
        if dual.scores is None:
            from libsvmx._solvers.smo import smo

            return smo.solve(dual, kernel, budget_bytes, control, threads)
        from libsvmx._solvers.smo import warm

        return warm.solve(dual, kernel, budget_bytes, control, threads)
