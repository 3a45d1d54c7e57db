from libc.stdint cimport int32_t, int64_t

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets


cdef class KernelRows:
    cdef readonly Kernel kernel
    cdef ThreadPool pool
    cdef Targets targets            # what rows are computed against
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t active
    cdef readonly int64_t rows_computed
    cdef readonly int64_t rows_found
    cdef int32_t[::1] index         # kernel row of each position
    cdef readonly bint whole        # row_of has the values of all positions
    cdef const float *row(self, Py_ssize_t position) except NULL nogil
    cdef const float *row_of(self, int32_t i) except NULL nogil
    cdef bint to_compute(self, int32_t i) except -1 nogil
    cdef int together(self) noexcept nogil
    cdef int take(self, const int32_t *wanted, int count) except -1 nogil
    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef void resize(self, Py_ssize_t active) noexcept nogil
