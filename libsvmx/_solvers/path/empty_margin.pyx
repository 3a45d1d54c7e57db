"""The path while the margin is empty (Karasuyama & Takeuchi 2009, section 3.3), or of two groups that of one.

The level of the group is free within an interval then,

    max V_v over those that are to stay below  <=  level  <=  min V_v over those that are to stay above

If its sum must change, the level moves to that end of it where a variable can answer; else eta grows until the ends meet,
or until the other group has a breakpoint.
"""

from libc.math cimport HUGE_VAL, fabs

from libsvmx._solvers.path.margin cimport breakpoint_event, enter_margin
from libsvmx._solvers.path.margin_factor cimport clear_margin, remove_from_margin
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.next_breakpoint cimport AT_END, next_breakpoint
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, JOINING, LEAVING, PathState

from libsvmx._solvers.path.path_state import PathLost

cdef double ULP = 2.0 ** -52
# What the sum needs is none within so many roundings of the |beta| that it is made of.
cdef double SAME_SUM = 64 * ULP
# The same of what is left to come where all of a group are on their bounds, each but for a rounding of its box.
cdef double NO_SUM = 1e-11
# Of a line: variables that come to an end of the interval of rho nearer to each other do so at once.
cdef double SAME_PLACE = 64 * ULP


cdef struct Ends:           # of the interval of -rho; an end that there is not is 0
    Py_ssize_t below, above
    double bottom, top
    double bottom_speed, top_speed
    double next_below, next_above       # where another variable is at that end


cdef bint fill_margin(Motion motion) except -1:
    """To the next event of a path on which a group has an empty margin; False if eta = 1 is reached without one."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v = -1, w = AT_END, below, above
    cdef double sign, step = 1.0 - motion.eta
    cdef int g
    motion.tick(s.per_row * s.n)
    for g in range(s.groups):
        if not s.is_empty(g):
            continue
        if fabs(motion.sum_residual[g]) > SAME_SUM * (motion.mass + fabs(s.total[g])):
            sign = 1.0 if motion.sum_residual[g] > 0 else -1.0
            v = first_to_answer(motion, g, sign)
            if v >= 0:
                return set_level(motion, s, v, sign)
            if fabs(motion.sum_residual[g]) * (1.0 - motion.eta) > NO_SUM * (motion.mass + fabs(s.total[g])):
                raise PathLost("no variable can make up for the sum")
        motion.sum_residual[g] = 0.0
    if s.factor.size:
        motion.direction()
        w = next_breakpoint(motion, s, &step)
        if w < 0 and w != AT_END:
            raise PathLost("rounding hides the next breakpoint")
    else:
        motion.dF[:s.n] = motion.W[:s.n]
        motion.dlevel[0] = motion.dlevel[1] = 0.0
    for g in range(s.groups):
        if s.is_empty(g) and ends_meet(motion, g, &step, &below, &above):
            if below < 0 or above < 0:  # scores that are not numbers have no order
                raise PathLost("scores overflow")
            v = below if s.where[below] != JOINING else above
            sign = 1.0 if v == below else -1.0
    if motion.trace is not None and step > 0.0:
        write_resting(motion, step)
    motion.advance(step)
    if v < 0 and w == AT_END:
        centre_levels(motion)
        return False
    motion.steps += step > 0
    if v < 0:
        breakpoint_event(motion, s, w)
        motion.tick(s.factor.size * (s.active + s.factor.size))
        return True
    return set_level(motion, s, v, sign)


cdef bint set_level(Motion motion, PathState s, Py_ssize_t v, double sign) except -1:
    """The level of an empty group comes to V of ``v``, which joins the margin; its beta would grow (sign 1) or shrink."""
    s.level[s.group[v]] = s.score(v)
    motion.breakpoints += 1
    if s.where[v] == JOINING:
        motion.stop_moving(v)
        if not s.is_inside(v):
            s.assign_bound(v)
            return True
    enter_margin(motion, s, v, sign)
    return True


cdef Py_ssize_t first_to_answer(Motion motion, int g, double sign) noexcept:
    """The variable of a group that its level meets first of those whose beta can grow (sign 1) or shrink (-1); -1 without
    one."""
    cdef PathState s = motion.state
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


cdef bint ends_meet(Motion motion, int g, double *step, Py_ssize_t *below, Py_ssize_t *above) noexcept:
    """Whether the interval of the level of a group is empty after a line of length ``step``, which then becomes how far eta
    can grow until it is, and the variables at its ends there."""
    cdef double width, speed, meeting
    cdef bint met = False
    # the ends of the interval are convex and concave in eta: from the right, Newton finds where they meet
    while True:
        width = level_interval(motion, g, step[0], below, above)
        # where scores overflow an end may be nowhere, and the width not a number
        if width >= -motion.sharpness or width != width:
            return met
        met = True
        if step[0] == 0.0 or below[0] < 0 or above[0] < 0:
            return True
        speed = (motion.dlinear[above[0]] - motion.dF[above[0] // motion.state.per_row]) - (
            motion.dlinear[below[0]] - motion.dF[below[0] // motion.state.per_row])
        meeting = step[0] - width / speed if speed < 0 else 0.0
        step[0] = max(0.0, min(meeting, step[0] * (1.0 - ULP)))


cdef double level_interval(Motion motion, int g, double step, Py_ssize_t *below, Py_ssize_t *above) noexcept:
    """The width of the interval of the level of a group after a line of length ``step``, negative if it is empty, and the
    variables at its ends (-1: none)."""
    cdef PathState s = motion.state
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
    """A straight line of the path for its trace."""
    if rests(motion, s, step):
        with gil:
            return write_resting(motion, step)
    return motion.trace.line(s, &motion.velocity[0], &motion.dF[0], motion.eta, 0.0, step, -s.level[0],
                             -motion.dlevel[0], False)


cdef int write_resting(Motion motion, double step) except -1:
    """A line along which nothing is free: -rho is the middle of its interval, and the line is cut where another variable
    comes to an end of that."""
    cdef PathState s = motion.state
    cdef Ends at
    cdef double begin = 0.0, length
    cdef int n_ends
    while begin < step:
        motion.tick(s.per_row * s.n)
        find_ends(motion, begin, &at)
        n_ends = (at.below >= 0) + (at.above >= 0)
        if n_ends == 0:
            raise PathLost("scores overflow")
        length = max(min(at.next_below, at.next_above, step) - begin, min(SAME_PLACE * step, step - begin))
        motion.trace.line(s, &motion.velocity[0], &motion.dF[0], motion.eta, begin, length,
                          -(at.bottom + at.top) / n_ends, -(at.bottom_speed + at.top_speed) / n_ends, True)
        begin += length
    return 0


cdef bint rests(Motion motion, PathState s, double step) noexcept nogil:
    """Whether all members of the margin stay on bounds on a line of that length."""
    cdef Py_ssize_t k, v
    cdef double near, beta
    for k in range(s.factor.size):
        v = s.member[k]
        near, beta = motion.near_bound(v), s.beta[v] + step * s.dbeta[k]
        if not (s.beta[v] - s.lower[v] <= near and beta - s.lower[v] - step * motion.dlower[v] <= near
                or s.upper[v] - s.beta[v] <= near and s.upper[v] + step * motion.dupper[v] - beta <= near):
            return False
    return True


cdef int find_ends(Motion motion, double begin, Ends *at) except -1:
    """The interval of -rho at ``begin`` and just after it."""
    cdef PathState s = motion.state
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
    return 0


cdef void centre_levels(Motion motion) noexcept:
    """The level of a group with an empty margin is the middle of its interval, or its one end."""
    cdef PathState s = motion.state
    cdef Py_ssize_t below, above
    cdef int g
    for g in range(s.groups):
        if not s.is_empty(g):
            continue
        level_interval(motion, g, 0.0, &below, &above)
        if below >= 0 and above >= 0:
            s.level[g] = 0.5 * (s.score(below) + s.score(above))
        elif below >= 0:
            s.level[g] = s.score(below)
        elif above >= 0:
            s.level[g] = s.score(above)


cdef int empty_margin_if_all_bound(Motion motion) except -1:
    """If all members of the margin of a group are on their bounds, it is empty, and the level is not theirs."""
    cdef PathState s = motion.state
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
    centre_levels(motion)
    return 0
