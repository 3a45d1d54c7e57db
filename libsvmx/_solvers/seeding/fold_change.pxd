from libsvmx._kernels.kernel cimport Kernel
from libsvmx._solvers.control cimport Control


cdef class FoldChange:
    cdef readonly Kernel kernel
    cdef readonly Control control
    cdef readonly Py_ssize_t size
    cdef readonly tuple sums
    cdef readonly object lower
    cdef readonly object upper
    cdef readonly object group
    cdef readonly object row
    cdef readonly object beta
    cdef readonly object scores
    cdef readonly object leaving
    cdef readonly object entering
