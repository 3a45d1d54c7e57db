from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState

cdef bint fill_margin(Motion motion) except -1
cdef int empty_margin_if_all_bound(Motion motion) except -1
cdef void centre_levels(Motion motion) noexcept
cdef int write_line(Motion motion, PathState s, double step) except -1 nogil
