from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState

cdef int breakpoint_event(Motion motion, PathState s, Py_ssize_t v) except -1 nogil
cdef int enter_margin(Motion motion, PathState s, Py_ssize_t v, double rate) except -1 nogil
cdef int gather_margin(Motion motion) except -1
