from libc.stdint cimport int32_t

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.gram cimport KernelValues
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._solvers.control cimport Control


cdef class StartRows:
    cdef const float *row(self, int32_t column) except NULL nogil


cdef class ValueRows(StartRows):
    cdef KernelValues values


cdef class ComputedRows(StartRows):
    cdef Kernel kernel
    cdef Control control
    cdef Targets targets
    cdef ThreadPool pool
    cdef float **kept                # by column, NULL: not computed
    cdef Py_ssize_t n
