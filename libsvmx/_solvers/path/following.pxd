from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState


cdef int breakpoint_event(Motion motion, PathState s, Py_ssize_t v) except -1 nogil
cdef int enter_margin(Motion motion, PathState s, Py_ssize_t v, double rate) except -1 nogil
cdef int append_or_exchange(Motion motion, PathState s, Py_ssize_t v, double schur, double sign) except -1 nogil
cdef int gather_margin(Motion motion) except -1


cdef bint fill_margin(Motion motion, PathState s) except -1 nogil
cdef int empty_margin_if_all_bound(Motion motion, PathState s) except -1 nogil
cdef void centre_levels(Motion motion, PathState s) noexcept nogil
cdef int write_line(Motion motion, PathState s, double step) except -1 nogil


cdef enum:
    # Repairs after which rows are no longer shrunk: wrong shrinking is their likely cause. Each has fewer rows to mend,
    # so the last one, over all rows, is short: after 1, it was four fifths of the work with 100 rows of 20,000.
    REPAIRS_TO_STOP_SHRINKING = 3

cdef int shrink_if_many(Motion motion, PathState s) except -1 nogil
cdef int unshrink(Motion motion, PathState s) except -1 nogil


cdef enum:      # ends of a path
    WHOLE       # at eta = 1
    LONG        # more than ``most_work``
    LOST        # see ``motion.lost``

cdef int go(Motion motion, PathState s) except -1 nogil
cdef int follow(Motion motion) except -1
