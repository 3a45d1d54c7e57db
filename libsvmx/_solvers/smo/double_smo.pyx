"""SMO in double over the state of a path: for kernels that are not positive semidefinite, where no path leads on.

Second-order working sets of Fan, Chen & Lin (2005), both variables of one group, with V in double and rows from
``DoubleRows``: the same matrix that the path uses, which the rows of smo.pyx, rounded to float, are not.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._core.smo_steps cimport SVMX_TAU
from libsvmx._problem.certificate cimport Certificate, gap_of
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.path_state cimport PathState

from libsvmx._solvers.path.path_state import PathLost

# As LIBSVM: iterations at least, and for each variable.
cdef int64_t LEAST_LIMIT = 10000000
cdef int64_t LIMIT_PER_VARIABLE = 100


cdef int smo_in_double(PathState state, double eps, Control control) except -1:
    """Move beta of ``state``, whose F is right, until the gap is at most ``eps`` or the limit of iterations is met."""
    cdef Py_ssize_t v, i, j, m = state.per_row * state.n
    cdef int g, h = state.per_row
    cdef double V, highest, gain, best, curvature, step
    cdef Certificate found, other
    cdef const double *K
    cdef double[::1] F = state.F, beta = state.beta, lower = state.lower, upper = state.upper, diagonal = state.diagonal
    cdef int64_t t
    for t in range(max(LEAST_LIMIT, LIMIT_PER_VARIABLE * m)):
        g, found = 0, state.certificate(0)
        if state.groups > 1:
            other = state.certificate(1)
            if gap_of(&other) > gap_of(&found):
                g, found = 1, other
        if gap_of(&found) <= eps:
            return 0
        i, j, highest = found.max_violator, -1, found.highest
        K = state.row(<int32_t>(i // h))
        best = -1.0
        for v in range(m):
            V = state.score(v)
            if beta[v] > lower[v] and V < highest and state.group[v] == g:
                curvature = max(diagonal[i // h] + diagonal[v // h] - 2 * K[v // h], SVMX_TAU)
                gain = (highest - V) * (highest - V) / curvature
                if gain > best:
                    best, j = gain, v
        if j < 0:
            raise PathLost("scores are not finite")
        curvature = max(diagonal[i // h] + diagonal[j // h] - 2 * K[j // h], SVMX_TAU)
        step = min((highest - state.score(j)) / curvature, upper[i] - beta[i], beta[j] - lower[j])
        # exactly at a bound, or the pair would be chosen again for what rounding left
        beta[i] = upper[i] if step == upper[i] - beta[i] else beta[i] + step
        beta[j] = lower[j] if step == beta[j] - lower[j] else beta[j] - step
        svmx_axpy(state.n, step, K, &F[0])
        svmx_axpy(state.n, -step, state.row(<int32_t>(j // h)), &F[0])
        control.asked(4 * m)
    return 0


cdef bint restore_sums(PathState state) except -1:
    """Shift beta of each group, one variable after the other, until its sum is ``state.total``; False if the bounds forbid
    it.

    Variables within their bounds come first. F is not right afterwards.
    """
    cdef int g
    for g in range(state.groups):
        if not restore_sum(state, g):
            return False
    return True


cdef bint restore_sum(PathState state, int g) except -1:
    """The same of one group."""
    cdef Py_ssize_t v, m = state.per_row * state.n
    cdef double missing = state.sum_residual(g), room
    cdef bint free_only
    for free_only in (True, False):
        for v in range(m):
            if state.group[v] != g or (free_only and not state.is_inside(v)):
                continue
            room = state.upper[v] - state.beta[v] if missing > 0 else state.lower[v] - state.beta[v]
            if fabs(room) > fabs(missing):
                room = missing
            state.beta[v] += room
            missing -= room
            if missing == 0.0:
                return True
    return fabs(missing) <= 1e-12 * (fabs(state.total[g]) + 1.0)
