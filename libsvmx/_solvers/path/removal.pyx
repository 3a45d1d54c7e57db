"""Rounds of a cross-validation along the path on which the rows held out leave the optimum over all rows.

    update(path, R) -> (beta, V) without R; rollback

The decremental half of Karasuyama & Takeuchi (2010); with |R| = 1 exact leave-one-out (Cauwenberghs & Poggio 2001).
V of the rows that have left stays up to date on the path, so their decision values are there at its end.
"""

from libc.stdint cimport int64_t

from libsvmx._core.buffers import filled, zeros
from libsvmx._kernels.kernel cimport Kernel
from libsvmx._problem.dual cimport DualProblem, DualSolution
from libsvmx._solvers.path.path cimport Path
from libsvmx._solvers.control cimport Control

from libsvmx.enums import SolveStatus


def path_of(DualProblem problem, Kernel kernel, double budget_bytes, start, Control control):
    """The Path at the optimum of ``problem``, near which ``start`` (beta, a buffer of float64) is. Its rows are tagged 0, 1, …

    Raises
    ------
    PathLost; KeyboardInterrupt or what else a signal handler raises; MemoryError
    """
    cdef Py_ssize_t n = kernel.n, p, v, d
    cdef int h, halves = <int>(problem.size // n)
    cdef const double[::1] p_linear = problem.linear, lower = problem.lower, upper = problem.upper, given = start
    linear_, low_, high_, beta_ = (zeros("d", halves * n) for _ in range(4))
    tags_ = zeros("q", n)
    cdef double[::1] linear = linear_, low = low_, high = high_, beta = beta_
    cdef int64_t[::1] tags = tags_
    cdef double total = 0.0
    for p in range(n):
        tags[p] = p
        for h in range(halves):
            v = halves * p + h
            d = h * n + p
            linear[v], beta[v] = p_linear[d], given[d]
            low[v], high[v] = lower[d], upper[d]
            total += beta[v]
    cdef Path path = Path(halves, budget_bytes)
    path.append(kernel, tags_, linear_, low_, high_)
    path.start(beta_, total, control)
    return path


def solution_without(Path path, DualProblem problem, rows, double total, Control control):
    """The optimum of the rows of ``path`` but ``rows`` (tags, a buffer of int32), with sum of beta ``total``, as a
    DualSolution of ``problem``; its iterations are breakpoints. The path is left as it was. Raises as ``path_of``."""
    cdef Py_ssize_t n = path.n, p, v, d
    cdef int h, halves = path.halves
    cdef const double[::1] linear = problem.linear
    cdef int64_t values = path.rows.kernel.values_computed, computed = path.rows.rows_computed
    beta_, scores_ = zeros("d", problem.size), zeros("d", problem.size)
    cdef double[::1] beta = beta_, scores = scores_
    leaving = set(rows)
    gone = filled("i", [p for p in range(n) if path.tag[p] in leaving])
    path.mark()
    try:
        path.update(0, gone, total, control)
        for p in range(n):
            for h in range(halves):
                v = halves * p + h
                d = h * n + path.tag[p]
                beta[d], scores[d] = path.beta[v], linear[d] - path.F[p]
        return DualSolution(
            beta=beta_, scores=scores_, rho=-path.level, objective=path.objective(), iterations=path.breakpoints,
            rows_computed=path.rows.rows_computed - computed, values_computed=path.rows.kernel.values_computed - values,
            status=SolveStatus.CONVERGED)
    finally:
        path.rollback()
