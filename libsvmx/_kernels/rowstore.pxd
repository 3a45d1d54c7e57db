from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.kernel cimport Kernel


cdef class RowStore:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t capacity
    cdef readonly int64_t rows_computed
    cdef Py_ssize_t stride
    cdef Py_ssize_t per_slab
    cdef Py_ssize_t used
    cdef float **slabs
    cdef int32_t[::1] slot_of
    cdef int32_t[::1] row_in
    cdef int32_t[::1] newer
    cdef int32_t[::1] older
    cdef int32_t pinned
    cdef float *slot(self, Py_ssize_t s) noexcept nogil
    cdef void unlink(self, int32_t s) noexcept nogil
    cdef void make_newest(self, int32_t s) noexcept nogil
    cdef const float *row(self, int32_t i) except NULL nogil
    cdef const float *replace(self, int32_t i) noexcept nogil
    cdef const float *compute(self, int32_t i, int32_t s) noexcept nogil
    cdef void pin(self, int32_t i) noexcept nogil


cdef class RowView:
    cdef readonly RowStore store
    cdef readonly Py_ssize_t size
    cdef int32_t[::1] index
    cdef bint identity
    cdef float[:, ::1] gathered
    cdef Py_ssize_t held_position[2]
    cdef Py_ssize_t held_active[2]
    cdef const float *active_row(self, Py_ssize_t position, Py_ssize_t n_active, int buffer) except NULL nogil
    cdef const float *full_row(self, Py_ssize_t position) except NULL nogil
    cdef void swap(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
