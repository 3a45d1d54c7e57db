from libc.stdint cimport int32_t

from libsvmx._kernels.kernel cimport Targets


cdef class GemmTargets(Targets):
    cdef object multiply            # BLAS gemm
    cdef object transposed          # the targets, features by rows
    cdef object products            # scratch of a tile
    cdef object sources
    cdef bint single
    cdef double[::1] squares
    cdef int multiply_all(self, const int32_t[::1] sources, Py_ssize_t n, size_t out) except -1
