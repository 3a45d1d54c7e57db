from libsvmx._solvers.path.motion cimport Motion

cdef int refine(Motion motion) except -1
cdef int repair(Motion motion) except -1
cdef int recompute_F(Motion motion, bint everywhere) except -1
cdef void set_rho_of_free(Motion motion) noexcept
