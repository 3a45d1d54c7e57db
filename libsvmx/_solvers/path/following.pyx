"""Path following from breakpoint to breakpoint (Karasuyama & Takeuchi 2009; Cauwenberghs & Poggio 2000).

    direction -> next_breakpoint -> advance -> breakpoint_event, until eta = 1

A line ends at a breakpoint: a member of the margin M meets a bound, or V of another variable meets the level of its
group. The Cholesky factor of K_MM follows M.
"""

from libc.math cimport HUGE_VAL, INFINITY, fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from libsvmx._core.dispatch cimport svmx_axpy
from libsvmx._solvers.path.motion cimport AT_END, Motion, next_breakpoint
from libsvmx._solvers.path.path_state cimport (
    AT_LOWER, AT_UPPER, JOINING, LEAVING, MARGIN, PathState, add_margin_rows, append_to_margin, border_margin,
    clear_margin, remove_from_margin, swap_values)

from libsvmx._core.buffers import zeros
from libsvmx._solvers.path.path_state import PathLong, PathLost


# ---- Changes of the margin at a breakpoint ---------------------------------------------------------
#
# If the column of a variable that meets its level is linearly dependent on those of M (duplicate rows, a linear kernel
# with more members than its rank), there is a null direction u, K u = 0 and sum u = 0 in each group: beta moves along
# it, V stays, until a member of M or the variable itself meets a bound and leaves (``exchange``). So no ridge is
# needed; a path with one, for speed (ATO), is lost where a pivot is rounding.

cdef double ULP = 2.0 ** -52
# A Schur complement below this many roundings of its kernel values is 0; with a ridge, one below this share of it.
cdef double SINGULAR = 8.0
cdef double SHARE_OF_RIDGE = 1e-3
# Entries of a null direction that may be rounding.
cdef double NULL_ENTRY = 1e-8
# From this many members on, they are factored by LAPACK.
cdef Py_ssize_t MANY_MEMBERS = 200
# Safety factor: |K'^-1| is estimated, rarely more than 10 times too low (Higham 2002, section 15.3).
cdef double NORM_SAFETY = 100.0


cdef int breakpoint_event(Motion motion, PathState s, Py_ssize_t v) except -1 nogil:
    """At the end of a line: a member ``v`` of M goes to the bound it has met; any other joins M."""
    cdef bint upper
    cdef double rate
    motion.breakpoints += 1
    if s.where[v] == MARGIN:
        upper = s.upper[v] - s.beta[v] < s.beta[v] - s.lower[v]
        remove_from_margin(s, v)
        return motion.fix_at_bound(v, upper)
    rate = motion.dlinear[v] - motion.dF[v // s.per_row] - motion.dlevel[s.group[v]]
    if s.where[v] == JOINING:
        motion.stop_moving(v)
        if not s.is_inside(v):
            s.assign_bound(v)
            return 0
    return enter_margin(motion, s, v, rate)


cdef int enter_margin(Motion motion, PathState s, Py_ssize_t v, double rate) except -1 nogil:
    """``v``, whose V is at its level and would leave it at ``rate``, joins the margin."""
    cdef double schur = border_margin(s, v)
    if motion.velocity[v] != 0.0:
        motion.stop_moving(v)
    return append_or_exchange(motion, s, v, schur, 1.0 if rate > 0 else -1.0)


cdef int append_or_exchange(Motion motion, PathState s, Py_ssize_t v, double schur, double sign) except -1 nogil:
    """The variable of ``border_margin`` joins the margin, by an exchange if its column is dependent."""
    if is_nonsingular(motion, s, schur):
        append_to_margin(s, v, schur)
    elif motion.lost == NULL:
        exchange(motion, s, v, sign)
    return 0


cdef bint is_nonsingular(Motion motion, PathState s, double schur) noexcept nogil:
    """Whether the Schur complement of ``border_margin`` is more than rounding; ``null`` becomes K'_MM^-1 K'_Mv. The
    path is ``lost`` if it is clearly negative.

    It is u'K'u with u = (1, -null), so rounding of K' enters with (sum |u|)^2.
    """
    cdef Py_ssize_t k, m = s.factor.size
    cdef double mass = 1.0
    if s.ridge > 0.0:
        if not schur > SHARE_OF_RIDGE * s.ridge:
            motion.lost = b"a variable depends on the margin"
        return motion.lost == NULL
    for k in range(m):
        s.null[k] = s.column[k]
    s.factor.backward(&s.null[0])
    for k in range(m):
        mass += fabs(s.null[k])
    mass *= SINGULAR * ULP * (s.largest + s.shift) * mass
    if schur < -mass:
        motion.lost = b"the kernel matrix is not positive semidefinite"
    return schur > mass


cdef int exchange(Motion motion, PathState s, Py_ssize_t v, double sign) except -1 nogil:
    """Move along the null direction u_v = 1, u_M = -null, until ``v`` or a member meets a bound.

    The member that leaves then moves to the side of the level that fits its bound, as ``v`` would have.
    """
    cdef Py_ssize_t w, blocking
    cdef double u, length, schur
    while motion.lost == NULL:
        motion.exchanges += 1
        motion.tick(s.factor.size * s.factor.size + s.n)
        blocking = first_blocking(motion, s, v, sign, &length)
        if length > 0.0:
            move_along_null(s, v, sign, length)
        if blocking < 0:
            return motion.fix_at_bound(v, sign > 0)
        w, u = s.member[blocking], -sign * s.null[blocking]
        remove_from_margin(s, w)
        motion.fix_at_bound(w, u > 0)
        schur = border_margin(s, v)
        if is_nonsingular(motion, s, schur):
            append_to_margin(s, v, schur)
            return 0
    return 0


cdef Py_ssize_t first_blocking(Motion motion, PathState s, Py_ssize_t v, double sign, double *length) noexcept nogil:
    """Place of the member that meets a bound first along the null direction, -1 for ``v``; ``length``: the distance.

    Among those within ``near_bound`` of the first, the fastest (Harris' ratio test).
    """
    cdef Py_ssize_t k, w, m = s.factor.size, blocking = -1
    cdef double room, u, fastest = NULL_ENTRY, nearest = room_of(s, v, sign)
    for k in range(m):
        w = s.member[k]
        u = -sign * s.null[k]
        if fabs(u) <= NULL_ENTRY:
            continue
        room = room_of(s, w, u) + motion.near_bound(w)
        if room < nearest * fabs(u):
            nearest = room / fabs(u)
            blocking = k
    length[0] = nearest
    if blocking >= 0:
        for k in range(m):
            u = -sign * s.null[k]
            room = room_of(s, s.member[k], u)
            if fabs(u) > fastest and room <= nearest * fabs(u):
                blocking, fastest, length[0] = k, fabs(u), room / fabs(u)
    return blocking


cdef inline double room_of(PathState s, Py_ssize_t v, double u) noexcept nogil:
    """Distance of a variable to its bound in direction ``u``."""
    return max(s.upper[v] - s.beta[v] if u > 0 else s.beta[v] - s.lower[v], 0.0)


cdef int move_along_null(PathState s, Py_ssize_t v, double sign, double length) except -1 nogil:
    """Move beta of the margin and of ``v`` by ``length`` along the null direction, and update F."""
    cdef Py_ssize_t k, w, m = s.factor.size
    cdef double beta
    for k in range(m):
        # members with a NULL_ENTRY may be at a bound, and stay there
        w = s.member[k]
        beta = min(max(s.beta[w] - sign * length * s.null[k], s.lower[w]), s.upper[w])
        s.dbeta[k] = beta - s.beta[w]
        s.beta[w] = beta
    s.beta[v] += sign * length
    add_margin_rows(s, &s.dbeta[0], s.active, &s.F[0])
    svmx_axpy(s.active, sign * length, s.row(<int32_t>(v // s.per_row)), &s.F[0])
    s.drift += ULP * s.largest * (length * (m + 1) + fabs(s.beta[v]))
    return 0


cdef int gather_margin(Motion motion) except -1:
    """Rebuild the margin from the free variables, with exchanges where columns are dependent."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v, n_members = 0, m = s.per_row * s.n
    clear_margin(s)
    for v in range(m):
        if s.where[v] == LEAVING:
            continue
        if motion.is_free(v):
            s.assign(v, MARGIN)
            n_members += 1
        elif s.beta[v] <= s.lower[v] + motion.near_bound(v):
            s.set_beta(v, s.lower[v])
            s.assign(v, AT_LOWER)
        else:
            s.set_beta(v, s.upper[v])
            s.assign(v, AT_UPPER)
    if n_members >= MANY_MEMBERS:
        factor_at_once(motion, n_members)
    for v in range(m):
        if s.where[v] == MARGIN and s.place[v] < 0:
            append_or_exchange(motion, s, v, border_margin(s, v), 1.0)
            raise_if_lost(motion)
            motion.tick(s.factor.size * s.factor.size)
    return 0


cdef int raise_if_lost(Motion motion) except -1:
    """Raise PathLost if the path is ``lost``."""
    if motion.lost != NULL:
        raise PathLost(motion.lost.decode())
    return 0


cdef int factor_at_once(Motion motion, Py_ssize_t n_wanted) except -1:
    """Factor K' of all future members by one call of LAPACK, except those with nearly dependent columns, which are left
    to be joined one by one; so are all, if the rest is nearly singular.

    The null vector in ``is_nonsingular`` has sum |u| <= L_jj (|M| |K'^-1|)^1/2, so each Schur complement L_jj^2 is more
    than rounding if SINGULAR ULP (largest + shift) |M| |K'^-1| < 1.
    """
    cdef PathState s = motion.state
    cdef Py_ssize_t k, q, v
    cdef const double *K
    cdef double[::1, :] values
    # imported here: most paths have small margins, and loading takes as long as many of them
    import numpy as np

    from libsvmx._core.blas import one_blas_thread
    from libsvmx._core.dense import factor_and_inverse_norm, independent_rows, part
    wanted_ = zeros("i", n_wanted)
    cdef int32_t[::1] wanted = wanted_
    matrix = np.empty((n_wanted, n_wanted), order="F")
    values = matrix
    k = 0
    for v in range(s.per_row * s.n):
        if s.where[v] == MARGIN:
            wanted[k] = <int32_t>v
            k += 1
    for k in range(n_wanted):
        K = s.row(<int32_t>(wanted[k] // s.per_row))
        for q in range(n_wanted):
            values[q, k] = K[wanted[q] // s.per_row] + (s.shift if s.group[wanted[q]] == s.group[wanted[k]] else 0.0)
        motion.tick(n_wanted)
    with one_blas_thread():
        factor, inverse_norm = factor_and_inverse_norm(part(matrix, None, motion.control), motion.control)
        if not are_members(motion, inverse_norm, n_wanted):
            del factor
            chosen = independent_rows(matrix, motion.control)
            if len(chosen) in (0, n_wanted):
                return 0
            factor, inverse_norm = factor_and_inverse_norm(part(matrix, chosen, motion.control), motion.control)
            if not are_members(motion, inverse_norm, len(chosen)):
                return 0
            wanted = np.asarray(wanted_)[chosen]
    del matrix
    values = None  # so that at most two exist at a time
    s.make_room_in_margin(wanted.shape[0])
    s.keep_factor()
    s.factor.load(factor)
    for k in range(wanted.shape[0]):
        v = wanted[k]
        s.member[k], s.place[v] = <int32_t>v, <int32_t>k
        s.rows.pin(<int32_t>(v // s.per_row))
    return 0


cdef bint are_members(Motion motion, double inverse_norm, Py_ssize_t n) noexcept:
    """Whether all Schur complements of n rows of K', whose inverse has this norm, are more than rounding."""
    cdef PathState s = motion.state
    return NORM_SAFETY * SINGULAR * ULP * (s.largest + s.shift) * n * inverse_norm < 1.0


# ---- Empty margin ----------------------------------------------------------------------------------
#
# (Karasuyama & Takeuchi 2009, section 3.3.) Without members in the margin, the level of a group is free in an interval,
#
#     max V_v over those that must stay below  <=  level  <=  min V_v over those that must stay above
#
# If its sum must change, the level moves to the end at which a variable can change it; else eta grows until the ends
# meet, or until a breakpoint of the other group.

# A residual of the sum below this share of sum |beta| is rounding.
cdef double SAME_SUM = 64 * ULP
# The same if all variables of a group are at bounds, each up to a rounding of its box.
cdef double NO_SUM = 1e-11
# Variables that reach an end of the interval of rho within this share of a line do so together.
cdef double SAME_PLACE = 64 * ULP


cdef struct Ends:           # of the interval of -rho; 0 for a missing end
    Py_ssize_t below, above
    double bottom, top
    double bottom_speed, top_speed
    double next_below, next_above       # where another variable becomes that end


cdef bint fill_margin(Motion motion, PathState s) except -1 nogil:
    """Go on, with the margin of a group empty, to the next event; False at eta = 1 or if the path is ``lost``."""
    cdef Py_ssize_t v = -1, w = AT_END, below, above
    cdef double sign, step = 1.0 - motion.eta
    cdef int g
    motion.tick(s.per_row * s.n)
    for g in range(s.groups):
        if not s.is_empty(g):
            continue
        if fabs(motion.sum_residual[g]) > SAME_SUM * (motion.mass + fabs(s.total[g])):
            sign = 1.0 if motion.sum_residual[g] > 0 else -1.0
            v = first_to_answer(motion, s, g, sign)
            if v >= 0:
                return set_level(motion, s, v, sign)
            if fabs(motion.sum_residual[g]) * (1.0 - motion.eta) > NO_SUM * (motion.mass + fabs(s.total[g])):
                motion.lost = b"no variable can make up for the sum"
                return False
        motion.sum_residual[g] = 0.0
    if s.factor.size:
        motion.direction()
        w = next_breakpoint(motion, s, &step)
        if w < 0 and w != AT_END:
            motion.lost = b"rounding hides the next breakpoint"
            return False
    else:
        memcpy(&motion.dF[0], &motion.W[0], s.n * sizeof(double))
        motion.dlevel[0] = motion.dlevel[1] = 0.0
    for g in range(s.groups):
        if s.is_empty(g) and ends_meet(motion, s, g, &step, &below, &above):
            if below < 0 or above < 0:  # nan has no order
                motion.lost = b"scores overflow"
                return False
            v = below if s.where[below] != JOINING else above
            sign = 1.0 if v == below else -1.0
    if motion.trace is not None and step > 0.0:
        write_resting(motion, s, step)
        if motion.lost != NULL:
            return False
    motion.advance(step)
    if v < 0 and w == AT_END:
        centre_levels(motion, s)
        return False
    motion.steps += step > 0
    if v < 0:
        breakpoint_event(motion, s, w)
        motion.tick(s.factor.size * (s.active + s.factor.size))
        return True
    return set_level(motion, s, v, sign)


cdef bint set_level(Motion motion, PathState s, Py_ssize_t v, double sign) except -1 nogil:
    """Set the level of an empty group to V of ``v``, which joins; its beta will grow (sign 1) or shrink (-1)."""
    s.level[s.group[v]] = s.score(v)
    motion.breakpoints += 1
    if s.where[v] == JOINING:
        motion.stop_moving(v)
        if not s.is_inside(v):
            s.assign_bound(v)
            return True
    enter_margin(motion, s, v, sign)
    return motion.lost == NULL


cdef Py_ssize_t first_to_answer(Motion motion, PathState s, int g, double sign) noexcept nogil:
    """The variable that the level of its group meets first among those whose beta can grow (sign 1) or shrink (-1); -1:
    none."""
    cdef Py_ssize_t v, best = -1
    cdef int where
    for v in range(s.per_row * s.n):
        where = s.where[v]
        if where == LEAVING or s.group[v] != g:
            continue
        if where == JOINING:
            if sign * motion.velocity[v] > 0:
                continue
        elif not (s.beta[v] < s.upper[v] if sign > 0 else s.beta[v] > s.lower[v]):
            continue
        if best < 0 or sign * (s.score(v) - s.score(best)) > 0:
            best = v
    return best


cdef bint ends_meet(Motion motion, PathState s, int g, double *step, Py_ssize_t *below,
                    Py_ssize_t *above) noexcept nogil:
    """Whether the interval of a group's level is empty after a line of length ``step``, INOUT: shortened to where it
    becomes empty. ``below``, ``above``: OUT, the variables at its ends there."""
    cdef double width, speed, meeting
    cdef bint met = False
    # the ends are convex and concave in eta: Newton from the right finds where they meet
    while True:
        width = level_interval(motion, s, g, step[0], below, above)
        # if scores overflow, the width may be nan
        if width >= -motion.sharpness or width != width:
            return met
        met = True
        if step[0] == 0.0 or below[0] < 0 or above[0] < 0:
            return True
        speed = (motion.dlinear[above[0]] - motion.dF[above[0] // s.per_row]) - (
            motion.dlinear[below[0]] - motion.dF[below[0] // s.per_row])
        meeting = step[0] - width / speed if speed < 0 else 0.0
        step[0] = max(0.0, min(meeting, step[0] * (1.0 - ULP)))


cdef double level_interval(Motion motion, PathState s, int g, double step, Py_ssize_t *below,
                           Py_ssize_t *above) noexcept nogil:
    """Width of the interval of a group's level after a line of length ``step``, negative if empty; ``below``,
    ``above``: the variables at its ends (-1: none)."""
    cdef Py_ssize_t v
    cdef double V, bottom = -HUGE_VAL, top = HUGE_VAL
    cdef int where
    below[0] = above[0] = -1
    for v in range(s.per_row * s.n):
        where = s.where[v]
        if where == LEAVING or s.group[v] != g:
            continue
        V = s.score(v) + step * (motion.dlinear[v] - motion.dF[v // s.per_row])
        if (where == AT_LOWER and s.lower[v] < s.upper[v]) or (
                where == JOINING and motion.velocity[v] < 0):
            if V > bottom:
                bottom, below[0] = V, v
        elif where == AT_UPPER or where == JOINING:
            if V < top and (where == JOINING or s.lower[v] < s.upper[v]):
                top, above[0] = V, v
    return top - bottom


cdef int write_line(Motion motion, PathState s, double step) except -1 nogil:
    """Add a line to the trace."""
    if rests(motion, s, step):
        return write_resting(motion, s, step)
    return motion.trace.line(s, &motion.velocity[0], &motion.dF[0], motion.eta, 0.0, step, -s.level[0],
                             -motion.dlevel[0], False)


cdef int write_resting(Motion motion, PathState s, double step) except -1 nogil:
    """Add a line without free variables: -rho is the middle of its interval, and the line is cut where another variable
    becomes an end of it."""
    cdef Ends at
    cdef double begin = 0.0, length
    cdef int n_ends
    while begin < step:
        motion.tick(s.per_row * s.n)
        find_ends(motion, s, begin, &at)
        n_ends = (at.below >= 0) + (at.above >= 0)
        if n_ends == 0:
            motion.lost = b"scores overflow"
            return 0
        length = max(min(at.next_below, at.next_above, step) - begin, min(SAME_PLACE * step, step - begin))
        motion.trace.line(s, &motion.velocity[0], &motion.dF[0], motion.eta, begin, length,
                          -(at.bottom + at.top) / n_ends, -(at.bottom_speed + at.top_speed) / n_ends, True)
        begin += length
    return 0


cdef bint rests(Motion motion, PathState s, double step) noexcept nogil:
    """Whether all members of the margin stay at bounds on a line of length ``step``."""
    cdef Py_ssize_t k, v
    cdef double near, beta
    for k in range(s.factor.size):
        v = s.member[k]
        near, beta = motion.near_bound(v), s.beta[v] + step * s.dbeta[k]
        if not (s.beta[v] - s.lower[v] <= near and beta - s.lower[v] - step * motion.dlower[v] <= near
                or s.upper[v] - s.beta[v] <= near and s.upper[v] + step * motion.dupper[v] - beta <= near):
            return False
    return True


cdef void find_ends(Motion motion, PathState s, double begin, Ends *at) noexcept nogil:
    """The interval of -rho at ``begin`` and just after it."""
    cdef Py_ssize_t v
    cdef double V, speed
    cdef int again
    at.below = at.above = -1
    at.bottom = at.top = at.bottom_speed = at.top_speed = 0.0
    at.next_below = at.next_above = HUGE_VAL
    for again in range(2):
        for v in range(s.per_row * s.n):
            if s.lower[v] >= s.upper[v] or s.where[v] == LEAVING:
                continue
            speed = motion.dlinear[v] - motion.dF[v // s.per_row]
            V = s.score(v) + begin * speed
            if s.beta[v] - s.lower[v] < s.upper[v] - s.beta[v]:
                if again == 0:
                    if at.below < 0 or V > at.bottom or (V == at.bottom and speed > at.bottom_speed):
                        at.below, at.bottom, at.bottom_speed = v, V, speed
                elif speed > at.bottom_speed:
                    at.next_below = min(at.next_below, begin + (at.bottom - V) / (speed - at.bottom_speed))
            else:
                if again == 0:
                    if at.above < 0 or V < at.top or (V == at.top and speed < at.top_speed):
                        at.above, at.top, at.top_speed = v, V, speed
                elif speed < at.top_speed:
                    at.next_above = min(at.next_above, begin + (V - at.top) / (at.top_speed - speed))


cdef void centre_levels(Motion motion, PathState s) noexcept nogil:
    """Set the level of each group with an empty margin to the middle of its interval, or to its only end."""
    cdef Py_ssize_t below, above
    cdef int g
    for g in range(s.groups):
        if not s.is_empty(g):
            continue
        level_interval(motion, s, g, 0.0, &below, &above)
        if below >= 0 and above >= 0:
            s.level[g] = 0.5 * (s.score(below) + s.score(above))
        elif below >= 0:
            s.level[g] = s.score(below)
        elif above >= 0:
            s.level[g] = s.score(above)


cdef int empty_margin_if_all_bound(Motion motion, PathState s) except -1 nogil:
    """Empty the margin of a group whose members are all at bounds."""
    cdef Py_ssize_t k, v, n_left
    cdef int g
    cdef bint upper, free
    for g in range(s.groups):
        n_left, free = 0, False
        for k in range(s.factor.size):
            if s.group[s.member[k]] == g:
                free = free or motion.is_free(s.member[k])
            else:
                n_left += 1
        if free:
            continue
        for k in range(s.factor.size):
            v = s.member[k]
            if s.group[v] == g:
                upper = s.upper[v] - s.beta[v] < s.beta[v] - s.lower[v]
                s.set_beta(v, s.upper[v] if upper else s.lower[v])
                s.assign(v, AT_UPPER if upper else AT_LOWER)
        if n_left == 0:
            clear_margin(s)
            continue
        for k in range(s.factor.size - 1, -1, -1):
            if s.group[s.member[k]] == g:
                motion.tick(s.factor.size * s.factor.size)
                remove_from_margin(s, s.member[k])
    centre_levels(motion, s)
    return 0


# ---- Shrinking -------------------------------------------------------------------------------------
#
# On large data V of most variables stays far from the level. Rows whose variables would not meet it within ``far``
# times the path at their initial speed, nor within ``far_at_mean`` times it at the root mean square of all, are shrunk:
# rows are permuted, all loops go over the others, and F of the shrunk ones is updated at the end (``unshrink``). The
# KKT conditions over all rows show what was shrunk wrongly; it is repaired.

# Shrink only if at most this share of the rows is left.
cdef double MAX_ACTIVE_SHARE = 0.8


cdef int shrink_if_many(Motion motion, PathState s) except -1 nogil:
    """Keep active only rows with a variable in the margin, moving, or with V near the level, if that pays."""
    cdef Py_ssize_t p, q, v, n_near = 0, n_pairs = 0
    cdef double near = -HUGE_VAL, squares = 0.0
    if motion.bounds_move or motion.repairs >= REPAIRS_TO_STOP_SHRINKING:
        return 0
    if s.factor.size * <double>s.n <= motion.many_values or s.has_empty_group():  # whose level may be anywhere
        return 0
    motion.direction()
    motion.directed = True
    memset(&motion.near[0], 0, s.n)
    if motion.far_at_mean > 0.0:
        for v in range(s.per_row * s.n):
            if s.side[v] != 0.0 and motion.velocity[v] == 0.0:
                squares += approach(motion, s, v) ** 2
        near = motion.far_at_mean * sqrt(squares / (s.per_row * s.n))
    for v in range(s.per_row * s.n):
        if is_near(motion, s, v, near):
            motion.near[v // s.per_row] = 1
    for p in range(s.n):
        n_near += motion.near[p]
    if n_near > MAX_ACTIVE_SHARE * s.n:
        return 0
    q = n_near
    for p in range(n_near):
        if not motion.near[p]:
            while not motion.near[q]:
                q += 1
            s.moves[2 * n_pairs], s.moves[2 * n_pairs + 1] = <int32_t>p, <int32_t>q
            n_pairs += 1
            q += 1
    for p in range(n_pairs):
        q = s.moves[2 * p + 1]
        for v in range(s.per_row):
            swap_motion(motion, s.per_row * s.moves[2 * p] + v, s.per_row * q + v)
        swap_values(motion.W, q, s.moves[2 * p])
        swap_values(motion.dF, q, s.moves[2 * p])
    s.swap_rows(&s.moves[0], n_pairs)
    memcpy(&motion.start_beta[0], &s.beta[0], s.per_row * s.n * sizeof(double))
    s.active = n_near
    return 0


cdef inline double approach(Motion motion, PathState s, Py_ssize_t v) noexcept nogil:
    """Initial speed of a variable towards its level."""
    return s.side[v] * (motion.dlinear[v] - motion.dF[v // s.per_row] - motion.dlevel[s.group[v]])


cdef inline bint is_near(Motion motion, PathState s, Py_ssize_t v, double near) noexcept nogil:
    """Whether a variable is in the margin, moves, or may meet the level: in the distance ``near``, or at its speed."""
    cdef double distance = s.side[v] * (s.level[s.group[v]] - s.score(v))
    if motion.final_linear is not None and motion.dlinear[v] != 0.0:  # under repair: at the level at first
        return True
    return s.side[v] == 0.0 or motion.velocity[v] != 0.0 or (
        max(motion.far * approach(motion, s, v), near) > distance - motion.sharpness)


cdef void swap_motion(Motion motion, Py_ssize_t v, Py_ssize_t w) noexcept nogil:
    """Swap two variables in the arrays of the motion."""
    swap_values(motion.velocity, v, w)
    swap_values(motion.dlinear, v, w)
    if motion.final_linear is not None:
        swap_values(motion.final_linear, v, w)


cdef int unshrink(Motion motion, PathState s) except -1 nogil:
    """Update the linear term, F and W of the shrunk rows by the changes of eta and beta since."""
    cdef Py_ssize_t p, v, begin = s.active, n = s.n - s.active
    cdef double change, velocity
    cdef const double *K
    if n == 0:
        return 0
    if motion.linear_moves:
        svmx_axpy(s.per_row * n, motion.eta, &motion.dlinear[s.per_row * begin], &s.linear[s.per_row * begin])
    memset(&motion.W[begin], 0, n * sizeof(double))
    for p in range(begin):
        change = velocity = 0.0
        for v in range(s.per_row * p, s.per_row * (p + 1)):
            change += s.beta[v] - motion.start_beta[v]
            velocity += motion.velocity[v]
        if change == 0.0 and velocity == 0.0:
            continue
        K = s.row(<int32_t>p) + begin
        svmx_axpy(n, change, K, &s.F[begin])
        if velocity != 0.0:
            svmx_axpy(n, velocity, K, &motion.W[begin])
        motion.tick(n)
    s.active = s.n
    return 0


# ---- From breakpoint to breakpoint -----------------------------------------------------------------

# Breakpoints after which the rest of a path is known to about a third.
cdef double FEW_BREAKPOINTS = 8.0
# A repair is given up if it costs this share of another way from here.
cdef double MOST_REPAIR = 0.5
# Consecutive lines of length 0, per member of M, that count as cycling.
cdef int64_t MAX_IDLE_LINES = 4


cdef int follow(Motion motion) except -1:
    """Follow the path to eta = 1, without the interpreter. Raises PathLong (more than ``most_cost``); PathLost;
    Stopped; what a signal handler raises; MemoryError."""
    cdef PathState s = motion.state
    cdef int end
    motion.mass += motion.speed_outside
    motion.speed_before = motion.speed_outside
    with nogil:
        shrink_if_many(motion, s)
        if not motion.directed and not s.has_empty_group():
            motion.direction()  # now: it may compute the rows of the margin, which say nothing of the lines
            motion.directed = True
        motion.cost_before, motion.breakpoints_before = motion.total_cost(), motion.breakpoints
        end = go(motion, s)
        if end != LOST:
            unshrink(motion, s)
    raise_if_lost(motion)
    if end == LONG:
        raise PathLong("the path is long")
    return 0


cdef bint is_long(Motion motion) noexcept nogil:
    """Whether the path will take more than ``most_work``, or the rest of it cost more than another way from here,
    extrapolated from its lines so far; from few of them, only if it is much more."""
    cdef double done = motion.eta, spent, left, known, otherwise
    if motion.most_cost == INFINITY:
        return motion.work > max(motion.glimpse, done) * motion.most_work
    if motion.speed_before > 0.0:  # rows that have joined the margin, or met a bound, have ended their motion
        done = 1.0 - (1.0 - done) * min(motion.speed_outside / motion.speed_before, 1.0)
    spent, known = motion.total_cost() - motion.cost_before, motion.breakpoints - motion.breakpoints_before
    if motion.linear_moves:  # a repair, whose first breakpoints lie close together: they say little of the rest
        return spent > MOST_REPAIR * (motion.most_cost - motion.falling_cost)
    left, otherwise = spent * (1.0 - done), motion.most_cost - motion.falling_cost * done
    return spent > motion.glimpse * otherwise and left * known > done * otherwise * (known + FEW_BREAKPOINTS)


cdef int go(Motion motion, PathState s) except -1 nogil:
    """Lines and breakpoints, until one of the ends above. Rows may be left shrunk."""
    cdef Py_ssize_t v, allowance
    cdef int64_t idle = 0  # consecutive lines of length 0
    cdef double step, before
    while motion.lost == NULL:
        allowance = 0
        if s.has_empty_group():
            unshrink(motion, s)
            before = motion.eta
            if not fill_margin(motion, s):
                return WHOLE if motion.lost == NULL else LOST
            if s.factor.size == 0:
                continue  # its first member may have been exchanged
            step, allowance = motion.eta - before, s.per_row * s.n
        else:
            if not motion.directed:
                motion.direction()
            motion.directed = False
            v = next_breakpoint(motion, s, &step)
            if motion.trace is not None and step > 0.0:
                write_line(motion, s, step)
            motion.advance(step)
            if v == AT_END:
                return WHOLE
            if v < 0:
                motion.lost = b"rounding hides the next breakpoint"
                break
            motion.steps += step > 0.0
            breakpoint_event(motion, s, v)
            motion.tick(s.factor.size * (s.active + s.factor.size))
            motion.cost += motion.line_cost(s.active)
        idle = idle + 1 if step == 0.0 else 0
        if idle > allowance + MAX_IDLE_LINES * (s.factor.size + 50):
            motion.lost = b"the path turns in a circle"
        elif is_long(motion):
            return LONG
    return LOST
