from libc.stdint cimport int32_t, int64_t, uint64_t


cdef enum:
    MIXED           # half of them those that violate most, half at random
    RANDOM          # at random among the candidates
    LARGEST         # those that violate most


cdef class Selection:
    cdef readonly int rule
    cdef readonly double kept
    cdef uint64_t state
    cdef double[::1] key
    cdef double[::1] sorted
    cdef double random(self) noexcept nogil
    cdef Py_ssize_t choose(self, Py_ssize_t n, int groups, const double *V, const float *up, const float *low,
                           Py_ssize_t stride, int32_t *last, int32_t round, Py_ssize_t q, int32_t *chosen) noexcept nogil
    cdef Py_ssize_t take_largest(self, Py_ssize_t n, Py_ssize_t q, int32_t *last, int32_t round, int32_t *chosen) noexcept nogil
    cdef double threshold(self, Py_ssize_t n, Py_ssize_t count) noexcept nogil
