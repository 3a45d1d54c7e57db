from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.kernel cimport Kernel
from libsvmx._kernels.rows cimport KernelRows


cdef class Gram:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t n
    cdef float *values              # (n, n)
    cdef const double[::1] diagonal


cdef class GramRows(KernelRows):
    cdef Gram gram
    cdef int32_t[::1] member        # row of the Gram matrix of each row of the part
    cdef int32_t[::1] at            # row of the Gram matrix of each position
    cdef float *slots               # (rows of the part, stride)
    cdef Py_ssize_t stride
    cdef int64_t[::1] synced        # swaps that a slot has seen, -1 if it is empty
    cdef int32_t *swaps             # pairs of positions
    cdef int64_t n_swaps
    cdef int64_t room_for_swaps
    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil
    cdef bint sync(self, int32_t i, float *values) noexcept nogil
