"""Folds of a cross-validation along the path on which the rows held out leave the optimum over all rows.

    update(path, R) -> (beta, V) without R; rollback

The decremental half of Karasuyama & Takeuchi (2009); with |R| = 1 exact leave-one-out (Cauwenberghs & Poggio 2000).
V of the rows that have left stays up to date on the path, so their decision values are there at its end.
"""

from libc.stdint cimport int64_t

from libsvmx._core.buffers import filled, zeros
from libsvmx._kernels.kernel cimport Kernel
from libsvmx._problem.dual cimport DualProblem, DualSolution
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.path cimport Path
from libsvmx._solvers.path.path_state cimport PathState

from libsvmx._solvers.path.path import interleaved
from libsvmx.enums import SolveStatus


def path_of(DualProblem problem, Kernel kernel, double budget_bytes, beta, Control control):
    """The Path at the optimum of ``problem``. Its rows are tagged 0, 1, …

    Parameters
    ----------
    kernel : Kernel           of the rows 0, 1, … of ``problem``
    budget_bytes : float      for kernel rows that are kept
    beta : buffer of float64, shape (problem.size,)        near the optimum

    Raises
    ------
    PathLost; Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError
    """
    cdef Py_ssize_t n = kernel.n, v
    cdef int per_row = <int>(problem.size // n)
    cdef Path path = Path(per_row, budget_bytes, problem.groups)
    start = interleaved(beta, n)
    cdef const double[::1] values = start, lower = interleaved(problem.lower, n)
    totals = [0.0] * problem.groups
    for v in range(problem.size):
        totals[problem.groups > 1 and lower[v] < 0] += values[v]
    path.state.append(kernel, filled("q", range(n)), interleaved(problem.linear, n), interleaved(problem.lower, n),
                      interleaved(problem.upper, n), control)
    path.start(start, totals, control)
    return path


def solution_without(Path path, DualProblem problem, rows, totals, Control control):
    """The optimum of the rows of ``path`` but ``rows`` (tags, a buffer of int32), with sums of beta ``totals``, as a
    DualSolution of ``problem``; its iterations are breakpoints. The path is left as it was. Raises as ``path_of``."""
    cdef PathState s = path.state
    cdef Py_ssize_t n = s.n, p, v, d
    cdef int h
    cdef const double[::1] linear = problem.linear
    cdef int64_t values = s.rows.kernel.values_computed, computed = s.rows.rows_computed
    beta_, scores_ = zeros("d", problem.size), zeros("d", problem.size)
    cdef double[::1] beta = beta_, scores = scores_
    leaving = set(rows)
    gone = filled("i", [p for p in range(n) if s.tag[p] in leaving])
    s.mark()
    try:
        path.update(0, gone, totals, control)
        for p in range(n):
            for h in range(s.per_row):
                v = s.per_row * p + h
                d = h * n + s.tag[p]
                beta[d], scores[d] = s.beta[v], linear[d] - s.F[p]
        return DualSolution(
            beta=beta_, scores=scores_, rho=s.rho, r=s.r, objective=s.objective(), iterations=path.motion.breakpoints,
            rows_computed=s.rows.rows_computed - computed, values_computed=s.rows.kernel.values_computed - values,
            status=SolveStatus.CONVERGED)
    finally:
        s.rollback()
