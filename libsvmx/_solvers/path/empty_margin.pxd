from libsvmx._solvers.path.motion cimport Motion

cdef bint fill_margin(Motion motion) except -1
cdef int empty_margin_if_all_bound(Motion motion) except -1
cdef void centre_rho(Motion motion) noexcept
cdef int write_lines(Motion motion, double step) except -1
