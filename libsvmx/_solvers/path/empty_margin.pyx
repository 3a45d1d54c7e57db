"""The path while the margin is empty (Karasuyama & Takeuchi 2009, section 3.3).

rho is free within an interval then,

    max V_v over those that are to stay below  <=  -rho  <=  min V_v over those that are to stay above

If the sum must change, -rho moves to that end of it where a variable can answer; else eta grows until the ends meet.
"""

from libc.math cimport HUGE_VAL, fabs

from libsvmx._solvers.path.margin cimport enter_margin
from libsvmx._solvers.path.margin_factor cimport clear_margin
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, JOINING, LEAVING, PathState

from libsvmx._solvers.path.path_state import PathLost

cdef double ULP = 2.0 ** -52
# What the sum needs is none within so many roundings of the |beta| that it is made of.
cdef double SAME_SUM = 64 * ULP
# Of a line: variables that come to an end of the interval of rho nearer to each other do so at once.
cdef double SAME_PLACE = 64 * ULP


cdef struct Ends:           # of the interval of -rho; an end that there is not is 0
    Py_ssize_t below, above
    double bottom, top
    double bottom_speed, top_speed
    double next_below, next_above       # where another variable is at that end


cdef bint fill_margin(Motion motion) except -1:
    """Go on with an empty margin until it has a member; False if eta = 1 is reached without one."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v, below, above
    cdef double sign, step
    while True:
        motion.tick(s.per_row * s.n)
        if fabs(motion.sum_residual) > SAME_SUM * (motion.mass + fabs(s.total)):
            sign = 1.0 if motion.sum_residual > 0 else -1.0
            v = first_to_answer(motion, sign)
            if v < 0:
                raise PathLost("no variable can make up for the sum")
        else:
            motion.sum_residual = 0.0
            step = step_until_ends_meet(motion, &below, &above)
            motion.dF[:s.n] = motion.W[:s.n]
            motion.drho = 0.0
            if motion.trace is not None and step > 0.0:
                write_resting(motion, step)
            motion.advance(step)
            if motion.eta >= 1.0:
                centre_rho(motion)
                return False
            if below < 0 or above < 0:  # scores that are not numbers have no order
                raise PathLost("scores overflow")
            motion.steps += step > 0
            v = below if s.where[below] != JOINING else above
            sign = 1.0 if v == below else -1.0
        s.rho = -s.score(v)
        motion.breakpoints += 1
        if s.where[v] == JOINING:
            motion.stop_moving(v)
            if not s.is_inside(v):
                s.assign_bound(v)
                continue
        enter_margin(motion, s, v, sign)
        return True


cdef Py_ssize_t first_to_answer(Motion motion, double sign) noexcept:
    """The variable that -rho meets first of those whose beta can grow (sign 1) or shrink (-1); -1 without one."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v, best = -1
    cdef int where
    for v in range(s.per_row * s.n):
        where = s.where[v]
        if where == LEAVING:
            continue
        if where == JOINING:
            if sign * motion.velocity[v] > 0:
                continue
        elif not (s.beta[v] < s.upper[v] if sign > 0 else s.beta[v] > s.lower[v]):
            continue
        if best < 0 or sign * (s.score(v) - s.score(best)) > 0:
            best = v
    return best


cdef double step_until_ends_meet(Motion motion, Py_ssize_t *below, Py_ssize_t *above) noexcept:
    """How far eta can grow until the interval of rho is empty, at most to 1, and the variables at its ends then."""
    cdef PathState s = motion.state
    cdef double step = 1.0 - motion.eta, width, speed, meeting
    # the ends of the interval are convex and concave in eta: from the right, Newton finds where they meet
    while True:
        width = rho_interval(motion, step, below, above)
        # where scores overflow an end may be nowhere, and the width not a number
        if width >= -motion.sharpness or step == 0.0 or width != width or below[0] < 0 or above[0] < 0:
            return step
        speed = (motion.dlinear[above[0]] - motion.W[above[0] // s.per_row]) - (
            motion.dlinear[below[0]] - motion.W[below[0] // s.per_row])
        meeting = step - width / speed if speed < 0 else 0.0
        step = max(0.0, min(meeting, step * (1.0 - ULP)))


cdef double rho_interval(Motion motion, double step, Py_ssize_t *below, Py_ssize_t *above) noexcept:
    """The width of the interval of rho after a line of length ``step``, negative if it is empty, and the variables at
    the ends of that of -rho (-1: none)."""
    cdef PathState s = motion.state
    cdef Py_ssize_t v
    cdef double V, bottom = -HUGE_VAL, top = HUGE_VAL
    cdef int where
    below[0] = above[0] = -1
    for v in range(s.per_row * s.n):
        where = s.where[v]
        if where == LEAVING:
            continue
        V = s.score(v) + step * (motion.dlinear[v] - motion.W[v // s.per_row])
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
    return motion.trace.line(s, &motion.velocity[0], &motion.dF[0], motion.eta, 0.0, step, s.rho, motion.drho, False)


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


cdef void centre_rho(Motion motion) noexcept:
    """With an empty margin rho is the middle of its interval, or its one end."""
    cdef PathState s = motion.state
    cdef Py_ssize_t below, above
    rho_interval(motion, 0.0, &below, &above)
    if below >= 0 and above >= 0:
        s.rho = -0.5 * (s.score(below) + s.score(above))
    elif below >= 0:
        s.rho = -s.score(below)
    elif above >= 0:
        s.rho = -s.score(above)


cdef int empty_margin_if_all_bound(Motion motion) except -1:
    """If all members of the margin are on their bounds, it is empty, and rho is not theirs."""
    cdef PathState s = motion.state
    cdef Py_ssize_t k, v
    cdef bint upper
    for k in range(s.factor.size):
        if motion.is_free(s.member[k]):
            return 0
    for k in range(s.factor.size):
        v = s.member[k]
        upper = s.upper[v] - s.beta[v] < s.beta[v] - s.lower[v]
        s.set_beta(v, s.upper[v] if upper else s.lower[v])
        s.assign(v, AT_UPPER if upper else AT_LOWER)
    clear_margin(s)
    centre_rho(motion)
    return 0
