"""The one place where a dual problem meets its solver."""

from __future__ import annotations

from libsvmx._core.threads import thread_count
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libsvmx._kernels.kernel import Kernel
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control
    from libsvmx._train.parameter import Parameter


def solve(param: Parameter, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control) -> DualSolution:
    """Solve ``dual`` as ``param.solver`` says: from its scores where it has them, else from nothing.

    Parameters
    ----------
    kernel : Kernel              over the rows that ``dual.row`` counts
    budget_bytes : float         for kernel rows that are kept

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    solution = param.solver.solve(dual, kernel, budget_bytes, control, thread_count(param.threads))
    control.read_out()
    return solution
