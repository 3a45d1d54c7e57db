from libc.stdint cimport int32_t

from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState


cdef int refine(Motion motion, bint anew) except -1
cdef int repair(Motion motion) except -1
cdef int recompute_F(Motion motion, bint everywhere) except -1
cdef void set_levels_of_free(Motion motion) noexcept
cdef const double *row_if_free(PathState s, int32_t p) except NULL


cdef class Path:
    cdef readonly PathState state
    cdef readonly Motion motion
    cdef int begin(self, Control control) except -1
    cdef int set_joining(self, Py_ssize_t n_fresh) except -1
    cdef int move_each_with_its_bound(self) except -1
    cdef int move_with_bounds(self, double ratio) except -1
    cdef int restore_sums_at(self, totals) except -1
    cdef int drop_margin(self) except -1
    cdef bint is_near(self, double eps) except -1
