"""Path following, from breakpoint to breakpoint (Karasuyama & Takeuchi 2009; Cauwenberghs & Poggio 2000).

    direction -> next_breakpoint -> advance -> breakpoint_event, until eta = 1

A straight line ends at a breakpoint: a member of the margin M meets a bound, or V of another variable meets -rho. One
of A that meets it has its optimal beta and joins M. The factor of K_MM follows M.
"""

from libc.stdint cimport int64_t

from libsvmx._core.breakpoints cimport svmx_fastest, svmx_nearest, svmx_waiting
from libsvmx._solvers.path.empty_margin cimport fill_margin, write_line
from libsvmx._solvers.path.margin cimport breakpoint_event
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState
from libsvmx._solvers.path.shrinking cimport shrink_if_many, unshrink

from libsvmx._solvers.path.path_state import PathLong, PathLost

# Lines of length 0 in a row, for each member of M, after which the path turns in a circle.
cdef int64_t MOST_STILL = 4

# The share of the work that a path may take after which what it has come to tells how much it would take.
cdef double GLIMPSE = 0.25

cdef enum:
    AT_END = -2     # what ends a line at eta = 1


cdef int follow(Motion motion) except -1:
    """From breakpoint to breakpoint to eta = 1. Others may have the interpreter meanwhile.

    Raises
    ------
    PathLong, where it would take more than ``most_work``; PathLost; Stopped; what a signal handler raises; MemoryError
    """
    cdef PathState s = motion.state
    cdef int64_t still = 0
    cdef bint over
    motion.mass += motion.speed_outside
    shrink_if_many(motion)
    while True:
        if s.factor.size == 0:
            unshrink(motion)
            if not fill_margin(motion):
                return 0
            continue  # it may have been exchanged at once
        with nogil:
            over = walk(motion, s, &still)
        if over:
            return unshrink(motion)
        if s.factor.size:
            unshrink(motion)
            raise PathLong("the path is long")


cdef bint walk(Motion motion, PathState s, int64_t *still) except -1 nogil:
    """Lines and breakpoints until eta = 1, and True, or until the margin is empty, or the path is seen to be long.

    still : lines of length 0 in a row
    """
    cdef Py_ssize_t v
    cdef double step
    while s.factor.size > 0:
        motion.direction()
        v = next_breakpoint(motion, s, &step)
        if motion.trace is not None and step > 0.0:
            write_line(motion, s, step)
        motion.advance(step)
        if v == AT_END:
            return True
        if v < 0:
            with gil:
                raise PathLost("rounding hides the next breakpoint")
        still[0] = still[0] + 1 if step == 0.0 else 0
        motion.steps += step > 0.0
        if still[0] > MOST_STILL * (s.factor.size + 50):
            with gil:
                raise PathLost("the path turns in a circle")
        breakpoint_event(motion, s, v)
        motion.tick(s.factor.size * (s.active + s.factor.size))
        if motion.work > GLIMPSE * motion.most_work and motion.work > motion.eta * motion.most_work:
            break
    return False


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
    waiting.linear, waiting.F, waiting.level = &s.linear[0], &s.F[0], -s.rho
    waiting.dlinear, waiting.dF, waiting.dlevel = &motion.dlinear[0], &motion.dF[0], -motion.drho
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
