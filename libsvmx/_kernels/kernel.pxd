from libsvmx._kernels.products cimport Products


cdef class Kernel:
    cdef readonly Py_ssize_t n
    cdef readonly int kind
    cdef readonly int degree
    cdef readonly double gamma
    cdef readonly double coef0
    cdef Products products
    cdef readonly object diagonal
    cdef double[::1] squares
    cdef double[::1] scratch
    cdef int fill_row(self, Py_ssize_t i, float *out) noexcept nogil


cdef enum:
    LINEAR = 0
    POLY = 1
    RBF = 2
    SIGMOID = 3
    PRECOMPUTED = 4
