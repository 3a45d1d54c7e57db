from libsvmx._kernels.kernel cimport Kernel


cdef class Round:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t size
    cdef readonly bint split
    cdef readonly tuple sums
    cdef readonly object y
    cdef readonly object C
    cdef readonly object index
    cdef readonly object alpha
    cdef readonly object scores
    cdef readonly object leaving
    cdef readonly object entering
