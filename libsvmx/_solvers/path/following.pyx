"""Path following, from breakpoint to breakpoint (Karasuyama & Takeuchi 2009; Cauwenberghs & Poggio 2000).

    direction -> next_breakpoint -> advance -> breakpoint_event, until eta = 1

A straight line ends at a breakpoint: a member of the margin M meets a bound, or V of another variable meets the level of
its group. One of A that meets it has its optimal beta and joins M. The factor of K_MM follows M.
"""

from libc.stdint cimport int64_t

from libsvmx._solvers.path.empty_margin cimport fill_margin, write_line
from libsvmx._solvers.path.margin cimport breakpoint_event
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.next_breakpoint cimport AT_END, next_breakpoint
from libsvmx._solvers.path.path_state cimport PathState
from libsvmx._solvers.path.shrinking cimport shrink_if_many, unshrink

from libsvmx._solvers.path.path_state import PathLong, PathLost

# Lines of length 0 in a row, for each member of M, after which the path turns in a circle.
cdef int64_t MOST_STILL = 4

# The share of the work that a path may take after which what it has come to tells how much it would take.
cdef double GLIMPSE = 0.25

cdef int follow(Motion motion) except -1:
    """From breakpoint to breakpoint to eta = 1. Others may have the interpreter meanwhile.

    Raises
    ------
    PathLong, where it would take more than ``most_work``; PathLost; Stopped; what a signal handler raises; MemoryError
    """
    cdef PathState s = motion.state
    cdef int64_t still = 0
    cdef double before
    cdef bint over
    motion.mass += motion.speed_outside
    shrink_if_many(motion)
    while True:
        if s.has_empty_group():
            unshrink(motion)
            before = motion.eta
            if not fill_margin(motion):
                return 0
            if s.factor.size:  # of the other group
                still = still + 1 if motion.eta == before else 0
                check_progress(motion, s, still - s.per_row * s.n)
                if s.has_empty_group() and is_long(motion):
                    raise PathLong("the path is long")
            continue  # it may have been exchanged at once
        with nogil:
            over = walk(motion, s, &still)
        if over:
            return unshrink(motion)
        if not s.has_empty_group():
            unshrink(motion)
            raise PathLong("the path is long")


cdef bint is_long(Motion motion) noexcept nogil:
    """Whether a path takes more than ``most_work``, as far as that can be told by what it has come to."""
    return motion.work > GLIMPSE * motion.most_work and motion.work > motion.eta * motion.most_work


cdef int check_progress(Motion motion, PathState s, int64_t still) except -1 nogil:
    """Raise PathLost after too many lines of length 0 in a row."""
    if still > MOST_STILL * (s.factor.size + 50):
        with gil:
            raise PathLost("the path turns in a circle")
    return 0


cdef bint walk(Motion motion, PathState s, int64_t *still) except -1 nogil:
    """Lines and breakpoints until eta = 1, and True, or until a group has an empty margin, or the path is seen to be long.

    still : lines of length 0 in a row
    """
    cdef Py_ssize_t v
    cdef double step
    while not s.has_empty_group():
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
        check_progress(motion, s, still[0])
        breakpoint_event(motion, s, v)
        motion.tick(s.factor.size * (s.active + s.factor.size))
        if is_long(motion):
            break
    return False
