from libc.stdint cimport int32_t, int64_t

from libsvmx._core.matrix cimport CsrMatrix


cdef class CrossKernel:
    cdef readonly CsrMatrix vectors
    cdef CsrMatrix numbered     # the vectors, features numbered as in the tests
    cdef readonly int kind
    cdef int degree
    cdef double gamma
    cdef double coef0
    cdef Py_ssize_t n_slots
    cdef int32_t[::1] slot_feature
    cdef int32_t[::1] slot_of
    cdef double[::1] lanes
    cdef int load(self, CsrMatrix tests, const int32_t *rows, Py_ssize_t n) noexcept nogil
    cdef int fill(self, CsrMatrix tests, const int32_t *rows, Py_ssize_t n, double *out) noexcept nogil
