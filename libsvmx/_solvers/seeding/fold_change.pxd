from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets
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
    cdef Targets targets
    cdef readonly double most_work
    cdef readonly double path_work
    cdef readonly bint path_whole
    cdef readonly object reached_beta
    cdef readonly object reached_scores


cdef object rows_of_leaving(FoldChange change)
cdef object times_kernel(FoldChange change, Targets targets, double[::1] coef, ThreadPool pool)
