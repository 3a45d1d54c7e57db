from libsvmx._solvers.path.motion cimport Motion

cdef int follow(Motion motion) except -1
cdef Py_ssize_t next_breakpoint(Motion motion, double *step) noexcept
