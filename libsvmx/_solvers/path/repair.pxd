from libc.stdint cimport int32_t

from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState


cdef int repair(Motion motion) except -1
cdef int refine(Motion motion, bint anew) except -1
cdef bint is_optimal(Motion motion) noexcept
cdef int recompute_F(Motion motion, bint everywhere) except -1
cdef const double *row_if_free(PathState s, int32_t p, bint moved=*) except NULL
cdef void set_levels_of_free(Motion motion) noexcept
