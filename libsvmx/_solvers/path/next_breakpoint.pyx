"""What ends a straight line of a path: a member of the margin that meets a bound, or a variable whose V meets its level."""

from libsvmx._core.breakpoints cimport svmx_fastest, svmx_nearest, svmx_waiting
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState


cdef Py_ssize_t next_breakpoint(Motion motion, PathState s, double *step) noexcept nogil:
    """The variable that ends the line, and how far that is: AT_END if it ends at eta = 1, another negative number if
    none is found.

    Two passes over the margin and over all others (Harris' ratio test): how far one can go if each may overshoot by
    what counts as equal, and, of those met within that, the fastest.
    """
    cdef svmx_waiting waiting
    cdef Py_ssize_t k, v, first, m = s.per_row * s.active
    cdef double distance = 0.0, speed, nearest = 1.0 - motion.eta, fastest = motion.slowest, length = 0.0
    step[0] = nearest
    for k in range(s.factor.size):
        speed = approach_speed(motion, s, k, &distance)
        if speed > 0 and distance + motion.near_bound(s.member[k]) < nearest * speed:
            nearest = (distance + motion.near_bound(s.member[k])) / speed
    waiting.n, waiting.per_row, waiting.side = m, s.per_row, &s.side[0]
    waiting.linear, waiting.F, waiting.level = &s.linear[0], &s.F[0], s.level[0]
    waiting.dlinear, waiting.dF, waiting.dlevel = &motion.dlinear[0], &motion.dF[0], motion.dlevel[0]
    if s.groups > 1:
        subtract_levels(motion, s)
        waiting.linear, waiting.level = &motion.levelled[0], 0.0
        waiting.dlinear, waiting.dlevel = &motion.dlevelled[0], 0.0
    nearest = svmx_nearest(&waiting, motion.sharpness, motion.slowest, nearest)
    if nearest == step[0]:
        return AT_END
    first = svmx_fastest(&waiting, nearest, &fastest, &length)
    step[0] = length
    # speeds of V and of beta are compared in their own units of what is close
    fastest = fastest / motion.sharpness if first >= 0 else 0.0
    for k in range(s.factor.size):
        v = s.member[k]
        speed = approach_speed(motion, s, k, &distance)
        if speed > fastest * motion.near_bound(v) and distance <= nearest * speed:
            first, fastest, step[0] = v, speed / motion.near_bound(v), distance / speed
    return first


cdef void subtract_levels(Motion motion, PathState s) noexcept nogil:
    """The linear term less the level of each group, in which all wait for 0; a group without a member waits for nothing."""
    cdef Py_ssize_t v
    cdef int g
    cdef bint empty[2]
    for g in range(2):
        empty[g] = s.is_empty(g)
    for v in range(s.per_row * s.active):
        g = s.group[v]
        motion.levelled[v] = s.linear[v] - s.level[g]
        motion.dlevelled[v] = motion.dF[v // s.per_row] if empty[g] else motion.dlinear[v] - motion.dlevel[g]


cdef double approach_speed(Motion motion, PathState s, Py_ssize_t k, double *distance) noexcept nogil:
    """How fast member k of the margin nears a bound, 0 if it does not, and its distance from it."""
    cdef Py_ssize_t v = s.member[k]
    cdef double up = s.dbeta[k] - motion.dupper[v], down = motion.dlower[v] - s.dbeta[k]
    cdef double above = max(s.upper[v] - s.beta[v], 0.0), below = max(s.beta[v] - s.lower[v], 0.0)
    cdef double slow = motion.near_bound(v)
    # a box that shrinks can be met on both sides: the one that is met first counts
    if up > slow and (down <= slow or above * down < below * up):
        distance[0] = above
        return up
    distance[0] = below
    return down if down > slow else 0.0
