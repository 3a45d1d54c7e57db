"""Rounds of a cross-validation along the path on which the rows held out leave the optimum over all rows.

    update(path, R) -> (alpha, V) without R; rollback

The decremental half of Karasuyama & Takeuchi (2010); with |R| = 1 exact leave-one-out (Cauwenberghs & Poggio 2001).
V of the rows that have left stays up to date on the path, so their decision values are there at its end.
"""

from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.buffers import filled, zeros
from libsvmx._kernels.kernel cimport Kernel
from libsvmx._problem.dual cimport DualProblem, DualSolution
from libsvmx._solvers.path.path cimport Path
from libsvmx._solvers.path.path_state cimport PathState
from libsvmx._solvers.control cimport Control


def path_of(DualProblem problem, Kernel kernel, double budget_bytes, alpha, Control control):
    """The Path at the optimum of ``problem``, near which ``alpha`` (buffer of float64) is. Its rows are tagged 0, 1, …

    Raises
    ------
    PathLost; KeyboardInterrupt or what else a signal handler raises; MemoryError
    """
    cdef Py_ssize_t n = kernel.n, p, v, d
    cdef int h, per_row = <int>(problem.size // n)
    cdef const int8_t[::1] y = problem.y
    cdef const double[::1] p_linear = problem.linear, C = problem.C, a = alpha
    linear_, lower_, upper_, beta_ = (zeros("d", per_row * n) for _ in range(4))
    tags_ = zeros("q", n)
    cdef double[::1] linear = linear_, lower = lower_, upper = upper_, beta = beta_
    cdef int64_t[::1] tags = tags_
    cdef double total = 0.0
    for p in range(n):
        tags[p] = p
        for h in range(per_row):
            v = per_row * p + h
            d = h * n + p
            linear[v], beta[v] = p_linear[d], y[d] * a[d]
            lower[v], upper[v] = (0.0 if y[d] > 0 else -C[d]), (C[d] if y[d] > 0 else 0.0)
            total += beta[v]
    cdef Path path = Path(per_row, budget_bytes)
    path.state.append(kernel, tags_, linear_, lower_, upper_)
    path.start(beta_, total, control)
    return path


def solution_without(Path path, DualProblem problem, rows, double total, Control control):
    """The optimum of the rows of ``path`` but ``rows`` (tags, a buffer of int32), with sum of beta ``total``, as a
    DualSolution of ``problem``; its iterations are breakpoints. The path is left as it was. Raises as ``path_of``."""
    cdef PathState s = path.state
    cdef Py_ssize_t n = s.n, p, v, d
    cdef int h, per_row = s.per_row
    cdef const int8_t[::1] y = problem.y
    cdef const double[::1] linear = problem.linear
    cdef int64_t values = s.rows.kernel.values_computed, computed = s.rows.rows_computed
    alpha_, scores_ = zeros("d", problem.size), zeros("d", problem.size)
    cdef double[::1] alpha = alpha_, scores = scores_
    leaving = set(rows)
    gone = filled("i", [p for p in range(n) if s.tag[p] in leaving])
    s.mark()
    try:
        path.update(0, gone, total, control)
        for p in range(n):
            for h in range(per_row):
                v = per_row * p + h
                d = h * n + s.tag[p]
                alpha[d], scores[d] = y[d] * s.beta[v], linear[d] - s.F[p]
        return DualSolution(alpha_, scores_, s.rho, 0.0, s.objective(), path.motion.breakpoints,
                            s.rows.rows_computed - computed, s.rows.kernel.values_computed - values, "converged")
    finally:
        s.rollback()
