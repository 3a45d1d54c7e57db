from libsvmx._solvers.smo.warm cimport WarmSmo


cdef class GrowingSmo(WarmSmo):
    cdef double[::1] kept_beta      # by variable: what start_beta and start_scores are, from the second C on
    cdef double[::1] kept_scores
    cdef object optimum(self, began=*)
    cdef int grow(self, double growth) except -1
    cdef double width(self) noexcept nogil
    cdef double factor(self, double growth) noexcept nogil
