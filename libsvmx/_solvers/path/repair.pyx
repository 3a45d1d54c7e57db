"""From near the optimum of a path to it: refinement, and the repair of what rounding and shrinking have changed.

beta near the optimum is exactly optimal for another linear term: that with V_v at its level wherever it is on the wrong
side. A path leads from that term back to the given one (``refine_once``).

    refine    from any beta near the optimum, with a new margin
    repair    after a path: errors of rounding and of shrinking
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.dispatch cimport svmx_axpy, svmx_dot
from libsvmx._kernels.kernel_matrix cimport Kernel
from libsvmx._solvers.dual cimport Certificate, add_variable, begin, level_of
from libsvmx._solvers.path.following cimport (
    REPAIRS_TO_STOP_SHRINKING, centre_levels, empty_margin_if_all_bound, follow, gather_margin)
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, LEAVING, PathState

from libsvmx._core.buffers import zeros
from libsvmx._solvers.path.path_state import PathLost

# Error of the sum of beta, relative to sum |beta|, that is rounding.
cdef double SAME_SUM = 1e-13
# Repairs after a path, before everything is recomputed; and refinements.
cdef int MAX_REPAIRS = 4
cdef int MAX_REFINEMENTS = 8
# Beyond a bound by more than this many ``near_bound`` is not rounding.
cdef double FAR_BEYOND = 1e3
# Work of a kernel value that may have to be computed.
cdef int64_t WORK_OF_VALUE = 8


cdef int repair(Motion motion) except -1:
    """After a path: recompute V of the margin, and repair what has drifted or was shrunk wrongly."""
    cdef PathState s = motion.state
    cdef int g, k
    cdef Py_ssize_t v
    for v in range(s.factor.size):
        clip(motion, s.member[v])
    for g in range(s.groups):
        distribute_sum_residual(s, g)
    for k in range(MAX_REPAIRS + 1):
        motion.reset()
        recompute_F(motion, s.drift > motion.tolerance())
        if is_optimal(motion):
            break
        if k < MAX_REPAIRS:
            refine_once(motion)
    else:
        refine(motion, True)
    return empty_margin_if_all_bound(motion, s)


cdef int refine(Motion motion, bint anew) except -1:
    """From beta near the optimum to it. F is recomputed for the new margin if ``anew``, or if it may have drifted.
    Raises PathLost; Stopped; what a signal handler raises; MemoryError."""
    cdef PathState s = motion.state
    cdef int k
    cdef double gap, gap_before = HUGE_VAL
    s.inexact = False
    if anew:
        s.drift = HUGE_VAL
    for k in range(MAX_REFINEMENTS):
        motion.reset()
        if k == 0 or not is_optimal(motion):
            gather_margin(motion)
            motion.reset()  # exchanges may have changed beta, and the scales, by much
        recompute_F(motion, s.drift > motion.tolerance())
        set_levels_of_margin(motion)
        if is_optimal(motion):
            return empty_margin_if_all_bound(motion, s)
        gap = s.kkt_gap()
        if gap > 0.5 * gap_before and gap > motion.tolerance() and motion.repairs >= REPAIRS_TO_STOP_SHRINKING:
            raise PathLost(f"a gap of {gap:g} remains")
        gap_before = gap
        refine_once(motion)
    raise PathLost(f"a gap of {s.kkt_gap():g} remains")


cdef int refine_once(Motion motion) except -1:
    """Path from the linear term for which beta is optimal to the given one."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v, m = s.per_row * s.n
    cdef double excess
    motion.final_linear = zeros("d", m)
    motion.final_linear[:] = s.linear[:m]
    motion.linear_moves = True
    motion.need_sums()
    for v in range(m):
        excess = s.excess(v)
        if s.where[v] == LEAVING or (s.where[v] == AT_LOWER and excess < 0) or (s.where[v] == AT_UPPER and excess > 0):
            continue
        motion.dlinear[v] = excess
    for v in range(m):
        s.linear[v] -= motion.dlinear[v]
    try:
        follow(motion)
    finally:
        s.linear[:m], motion.final_linear = motion.final_linear, None
    motion.repairs += 1
    return 0


cdef bint is_optimal(Motion motion) noexcept:
    """Whether the KKT conditions hold, at the scales of ``reset``."""
    return has_sums(motion) and motion.state.kkt_gap() <= motion.tolerance()


cdef bint has_sums(Motion motion) noexcept:
    """Whether the sums of beta equal their totals up to rounding."""
    cdef PathState s = motion.state
    cdef int g
    for g in range(s.groups):
        if not fabs(s.sum_residual(g)) <= SAME_SUM * (motion.mass + fabs(s.total[g])):
            return False
    return True


cdef int clip(Motion motion, Py_ssize_t v) except -1:
    """Put a variable that is beyond a bound by rounding back to it."""
    cdef PathState s = motion.state
    cdef double clipped = min(max(s.beta[v], s.lower[v]), s.upper[v])
    if fabs(clipped - s.beta[v]) > FAR_BEYOND * motion.near_bound(v):
        raise PathLost("a coefficient has left its bounds")
    return s.set_beta(v, clipped)


cdef int distribute_sum_residual(PathState s, int g) except -1:
    """Distribute the rounding of a group's sum over its members.

    After a path to a much smaller C that rounding is large: the last member off a bound would seem to be free.
    """
    cdef Py_ssize_t k, v
    cdef double left = s.sum_residual(g), before
    for k in range(s.factor.size):
        v = s.member[k]
        if s.group[v] == g and left != 0.0:
            before = s.beta[v]
            s.set_beta(v, min(max(before + left, s.lower[v]), s.upper[v]))
            left -= s.beta[v] - before
    return 0


cdef int recompute_F(Motion motion, bint everywhere) except -1:
    """Recompute F of the rows of the margin, or of all rows."""
    cdef PathState s = motion.state
    cdef Py_ssize_t k, p, v, m = s.per_row * s.n
    cdef const double *K
    by_row_ = zeros("d", max(s.n, 1))
    cdef double[::1] by_row = by_row_
    for v in range(m):
        by_row[v // s.per_row] += s.beta[v]
    if not everywhere:
        for k in range(s.factor.size):
            K = s.row(s.member[k] // s.per_row)
            s.F[s.member[k] // s.per_row] = svmx_dot(s.n, K, &by_row[0])
        return 0
    memset(&s.F[0], 0, s.n * sizeof(double))
    for p in range(s.n):
        if by_row[p] != 0.0:
            svmx_axpy(s.n, by_row[p], row_if_free(s, <int32_t>p), &s.F[0])
            motion.tick(s.n)
    s.drift = 0.0
    return 0


cdef const double *row_if_free(PathState s, int32_t p, bint moved=False) except NULL:
    """Kernel row p; it is kept if a variable of it is free, for use in the margin, and if its beta has ``moved`` and a
    slot is empty: the next change often moves it back."""
    cdef Py_ssize_t v
    for v in range(s.per_row * p, s.per_row * (p + 1)):
        if s.is_inside(v):
            return s.row(p)
    if s.control is not None and s.rows.kept(p) == NULL:
        s.control.asked(WORK_OF_VALUE * s.n)
    return s.rows.peek(p, moved)


cdef int set_levels_of_margin(Motion motion) except -1:
    """Set each level to the mean of V over its members."""
    cdef PathState s = motion.state
    cdef Py_ssize_t k, n_members
    cdef double total
    cdef int g
    for g in range(s.groups):
        total, n_members = 0.0, 0
        for k in range(s.factor.size):
            if s.group[s.member[k]] == g:
                total += s.score(s.member[k])
                n_members += 1
        if n_members:
            s.level[g] = total / n_members
    centre_levels(motion, s)
    return 0


cdef void set_levels_of_free(Motion motion) noexcept:
    """Set each level without a margin: the mean of V over free variables, or the middle of its interval."""
    cdef PathState s = motion.state
    cdef Certificate found
    cdef Py_ssize_t v
    cdef int g
    for g in range(s.groups):
        begin(&found)
        for v in range(s.per_row * s.n):
            if s.group[v] == g:
                add_variable(&found, v, s.score(v), s.beta[v] < s.upper[v], s.beta[v] > s.lower[v], motion.is_free(v))
        s.level[g] = level_of(&found)
