"""The one place where a dual problem meets its solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.threads import thread_count
from libsvmx._solvers.smo import smo

if TYPE_CHECKING:
    from libsvmx._kernels.kernel import Kernel
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control
    from libsvmx._train.parameter import Parameter


def solve(param: Parameter, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control) -> DualSolution:
    """Solve ``dual`` as ``param.solver`` says: from its scores where it has them, else from nothing.

    Parameters
    ----------
    kernel : Kernel              over the rows that ``dual.index`` counts
    budget_bytes : float         for kernel rows that are kept

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    threads = thread_count(param.threads)
    # the two below are loaded where they are needed: the start of a command counts
    if param.solver != "smo":
        from libsvmx._solvers.decomposition import chunked

        return chunked.solve(dual, kernel, budget_bytes, control, threads, param.chunking())
    if dual.scores is None:
        return smo.solve(dual, kernel, budget_bytes, control, threads)
    from libsvmx._solvers.smo import warm

    return warm.solve(dual, kernel, budget_bytes, control, threads)
