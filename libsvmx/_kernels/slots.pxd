from libc.stdint cimport int32_t

from libsvmx._kernels.rows cimport KernelRows


cdef class RowSlots(KernelRows):
    cdef readonly Py_ssize_t capacity
    cdef double budget_bytes
    cdef Py_ssize_t stride          # floats of a slot
    cdef Py_ssize_t slab_bytes
    cdef Py_ssize_t per_slab
    cdef Py_ssize_t n_slabs
    cdef Py_ssize_t used
    cdef float **slabs
    cdef int32_t[::1] slot_of       # a kernel row, -1 for none
    cdef int32_t[::1] row_in        # a slot
    cdef int32_t head
    cdef int32_t[::1] newer         # newer[head] is the oldest slot
    cdef int32_t[::1] older
    cdef int lay_slabs(self, Py_ssize_t length) except -1
    cdef void empty(self) noexcept nogil
    cdef void cut(self, Py_ssize_t length) noexcept nogil
    cdef Py_ssize_t fitting(self) noexcept nogil
    cdef int32_t unused(self) noexcept nogil
    cdef float *slot(self, Py_ssize_t s) noexcept nogil
    cdef void unlink(self, int32_t s) noexcept nogil
    cdef void make_newest(self, int32_t s) noexcept nogil
