from libc.stdint cimport int32_t

from libsvmx._kernels.kernel cimport Kernel, Targets


cdef class DoubleGram:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t n
    cdef double *values             # (n, n)


cdef class DoubleGramKernel(Kernel):
    cdef DoubleGram gram
    cdef const int32_t[::1] origin  # rows of ``gram``


cdef class DoubleGramTargets(Targets):
    cdef DoubleGram gram
    cdef const int32_t[::1] origin
    cdef const int32_t[::1] target  # the same of targets
    cdef bint whole                 # targets are all rows of ``gram``, in their order
