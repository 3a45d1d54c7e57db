from libsvmx._solvers.path.motion cimport Motion

cdef int breakpoint_event(Motion motion, Py_ssize_t v) except -1
cdef int enter_margin(Motion motion, Py_ssize_t v, double rate) except -1
cdef int gather_margin(Motion motion) except -1
