"""From near an optimum to it, by paths in the linear term.

What is optimal but for small errors is exactly optimal for another linear term: V_v is set to its level where it is on the
wrong side. The path leads from that term back to the given one (``refine_once``).

    refine    a solver by itself: from beta near the optimum, with its margin gathered anew
    repair    after a path: what rounding, or shrinking, has left
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy, svmx_dot
from libsvmx._problem.certificate cimport Certificate, add_variable, begin, level_of
from libsvmx._solvers.path.empty_margin cimport centre_levels, empty_margin_if_all_bound
from libsvmx._solvers.path.following cimport follow
from libsvmx._solvers.path.margin cimport gather_margin
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, LEAVING, PathState

from libsvmx._solvers.path.path_state import PathLost

# The sum of beta may be off by so much of sum |beta|.
cdef double SAME_SUM = 1e-13
# Paths that repair what little is wrong after a path, before all is computed from nothing.
cdef int MOST_REPAIRS = 3
# Refining again and again does not help.
cdef int MOST_REFINEMENTS = 8
# Beyond a bound by more than so many times what counts as at it is no rounding.
cdef double FAR_BEYOND = 1e3
# Of a value of a kernel row that may have to be computed.
cdef int64_t WORK_OF_ROW = 8


cdef int repair(Motion motion) except -1:
    """After a path: V of the margin from nothing, and repair of what has drifted or was shrunk wrongly."""
    cdef PathState s = motion.state
    cdef int g, k
    cdef Py_ssize_t v
    for v in range(s.factor.size):
        clip(motion, s.member[v])
    for g in range(s.groups):
        settle_sum(s, g)
    for k in range(MOST_REPAIRS + 1):
        motion.reset()
        recompute_F(motion, s.drift > motion.tolerance())
        if is_optimal(motion):
            break
        if k < MOST_REPAIRS:
            refine_once(motion)
    else:
        refine(motion, True)
    return empty_margin_if_all_bound(motion)


cdef int refine(Motion motion, bint anew) except -1:
    """From beta near the optimum to the optimum. F is computed from nothing once the margin is known if ``anew``, or where
    it may have drifted.

    Raises
    ------
    PathLost; Stopped; what a signal handler raises; MemoryError
    """
    cdef PathState s = motion.state
    cdef int k
    cdef double gap, gap_before = HUGE_VAL
    s.inexact = False
    if anew:
        s.drift = HUGE_VAL
    for k in range(MOST_REFINEMENTS):
        motion.reset()
        if k == 0 or not is_optimal(motion):
            gather_margin(motion)
            motion.reset()  # exchanges may have brought beta from large bounds to nothing, and scales with it
        recompute_F(motion, s.drift > motion.tolerance())
        set_levels_of_margin(motion)
        if is_optimal(motion):
            return empty_margin_if_all_bound(motion)
        gap = s.kkt_gap()
        if gap > 0.5 * gap_before and gap > motion.tolerance():
            raise PathLost(f"a gap of {gap:g} remains")
        gap_before = gap
        refine_once(motion)
    raise PathLost(f"a gap of {s.kkt_gap():g} remains")


cdef int refine_once(Motion motion) except -1:
    """From the linear term for which beta is optimal to the given one."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v, m = s.per_row * s.n
    cdef double excess
    motion.final_linear = zeros("d", m)
    motion.final_linear[:] = s.linear[:m]
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
    """Whether the conditions of the optimum hold, to the scales that ``reset`` has found."""
    cdef PathState s = motion.state
    cdef int g
    for g in range(s.groups):
        if not fabs(s.sum_residual(g)) <= SAME_SUM * (motion.mass + fabs(s.total[g])):
            return False
    return s.kkt_gap() <= motion.tolerance()


cdef int clip(Motion motion, Py_ssize_t v) except -1:
    """A variable that rounding has left beyond a bound goes back to it."""
    cdef PathState s = motion.state
    cdef double clipped = min(max(s.beta[v], s.lower[v]), s.upper[v])
    if fabs(clipped - s.beta[v]) > FAR_BEYOND * motion.near_bound(v):
        raise PathLost("a coefficient has left its bounds")
    return s.set_beta(v, clipped)


cdef int settle_sum(PathState s, int g) except -1:
    """What rounding has left of the sum of a group goes to its members, to each as far as it has room.

    Roundings of a large C are much to a small one: a member that all others leave on a bound would seem to be free.
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
    """F from nothing: of the rows of the margin, or of all rows."""
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


cdef const double *row_if_free(PathState s, int32_t p) except NULL:
    """Kernel row p: one that stays where a variable of it is within its bounds, as it will be asked for in the margin."""
    cdef Py_ssize_t v
    for v in range(s.per_row * p, s.per_row * (p + 1)):
        if s.is_inside(v):
            return s.row(p)
    if s.control is not None and s.rows.kept(p) == NULL:
        s.control.asked(WORK_OF_ROW * s.n)
    return s.rows.glance(p)


cdef int set_levels_of_margin(Motion motion) except -1:
    """The level that the members of each group agree on best."""
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
    centre_levels(motion)
    return 0


cdef void set_levels_of_free(Motion motion) noexcept:
    """Levels without a margin: the mean of V over free variables, or the middle of its interval."""
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
