from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState

cdef enum:
    AT_END = -2     # what ends a line at eta = 1

cdef Py_ssize_t next_breakpoint(Motion motion, PathState s, double *step) noexcept nogil
