from libc.stdint cimport int32_t, int64_t

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel
from libsvmx._kernels.rows cimport KernelRows
from libsvmx._solvers.control cimport Control


cdef class DeferredUpdates:
    cdef int32_t *source
    cdef double *coef
    cdef readonly int64_t n
    cdef int64_t room
    cdef int add(self, int32_t source, double coef) except -1 nogil
    cdef int apply(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                   bint transposed, Control control) except -1 nogil
    cdef int apply_rows(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                        Control control) except -1 nogil
    cdef int apply_anew(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                        bint transposed, Control control) except -1
    cdef int missing_from(self, int64_t e, KernelRows store, int32_t *rows) except -1 nogil
    cdef int apply_shared(self, int64_t first, KernelRows store, rows, double *scores, Control control) except -1
    cdef int apply_blocks(self, int64_t first, Kernel kernel, ThreadPool pool, const int32_t *rows, Py_ssize_t n_rows, double *scores,
                          bint transposed, Control control) except -1


cdef class GBar:
    cdef readonly DeferredUpdates updates
    cdef double[::1] scores
    cdef int64_t[::1] seen          # updates that are in scores[row]
    cdef int64_t limit
    # of the positions that are made current together
    cdef int32_t[::1] every
    cdef int32_t[::1] late
    cdef double[::1] sums
    cdef void begin(self, Py_ssize_t n) noexcept nogil
    cdef int add(self, int32_t row, double coef, KernelRows store, Control control) except -1 nogil
    cdef int clear(self, KernelRows store, Control control) except -1 nogil
    cdef int make_current(self, KernelRows store, const int32_t *positions, Py_ssize_t n, Control control) except -1 nogil
