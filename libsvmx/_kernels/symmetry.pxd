from libc.stdint cimport int32_t, int64_t

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Targets


cdef class Symmetry:
    cdef Targets whole
    cdef Targets left               # the targets whose rows are not stored
    cdef const int32_t[::1] row     # kernel row of a target
    cdef int32_t[::1] place         # target of a kernel row, -1 for none
    cdef const float **row_at       # stored row of a target, or NULL
    cdef int32_t[::1] order         # targets, those whose rows are stored first, and both in ascending order
    cdef readonly Py_ssize_t n_stored
    cdef float[::1] scratch
    cdef void store(self, int32_t i, const float *values) noexcept nogil
    cdef int divide(self) except -1
    cdef int64_t fill_rows(self, const int32_t *sources, int count, float **out, ThreadPool pool,
                           double expected_ns) noexcept nogil
