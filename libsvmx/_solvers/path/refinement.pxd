from libc.stdint cimport int32_t

from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState

cdef int refine(Motion motion, bint anew) except -1
cdef int repair(Motion motion) except -1
cdef int recompute_F(Motion motion, bint everywhere) except -1
cdef void set_levels_of_free(Motion motion) noexcept
cdef const double *row_if_free(PathState s, int32_t p) except NULL
