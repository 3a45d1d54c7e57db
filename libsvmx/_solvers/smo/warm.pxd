from libsvmx._solvers.smo.smo cimport Smo


cdef class WarmSmo(Smo):
    cdef const double[::1] start_beta       # by variable
    cdef const double[::1] start_scores
    cdef int make_current(self, Py_ssize_t begin, Py_ssize_t end) except -1
