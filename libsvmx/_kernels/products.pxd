from libc.stdint cimport int32_t, int64_t

from libsvmx._core.matrix cimport CsrMatrix


cdef class Products:
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t padded
    cdef int fill(self, Py_ssize_t i, double *out) noexcept nogil


cdef class PanelProducts(Products):
    cdef CsrMatrix matrix
    cdef const int32_t *rows
    cdef const int32_t[::1] _rows
    cdef Py_ssize_t width
    cdef double[::1] panels


cdef class PostingProducts(Products):
    cdef CsrMatrix matrix
    cdef const int32_t *rows
    cdef const int32_t[::1] _rows
    cdef int64_t[::1] column
    cdef int32_t[::1] row_of
    cdef double[::1] value


cdef class GivenValues(Products):
    cdef CsrMatrix matrix
    cdef const int32_t[::1] _rows
    cdef int32_t[::1] serial
