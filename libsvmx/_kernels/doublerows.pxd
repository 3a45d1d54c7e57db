from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.kernel cimport Kernel, Targets


cdef class DoubleRows:
    cdef readonly Kernel kernel
    cdef Targets targets
    cdef readonly Py_ssize_t n
    cdef readonly int64_t rows_computed
    cdef double budget_bytes
    cdef Py_ssize_t room            # values that a slot holds
    cdef double **slots
    cdef Py_ssize_t n_slots
    cdef Py_ssize_t room_for_slots
    cdef double *spare              # a row that there is no slot for
    cdef double *unordered          # a row in the order of the targets
    cdef int32_t[::1] target        # of a row; unless ``in_order``
    cdef bint in_order
    cdef int64_t clock
    cdef int32_t[::1] slot_of       # by row, -1: not kept
    cdef int32_t[::1] pins          # by row
    cdef int32_t[::1] row_in        # by slot, -1: free
    cdef int64_t[::1] last_use      # by slot
    cdef int32_t[::1] empty         # slots without a row
    cdef Py_ssize_t n_empty
    cdef int64_t cuts[2]            # the clock at the last two
    cdef Py_ssize_t bind(self, Kernel kernel) except -1
    cdef void release_kernel(self) noexcept
    cdef void fill_column(self, int32_t a) noexcept nogil
    cdef void fill_corner(self, Py_ssize_t begin) noexcept nogil
    cdef const double *kept(self, int32_t p) noexcept nogil
    cdef const double *row(self, int32_t p) except NULL nogil
    cdef const double *glance(self, int32_t p) noexcept nogil
    cdef void compute(self, int32_t p, double *out) noexcept nogil
    cdef void swap(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil
    cdef void pin(self, int32_t p) noexcept nogil
    cdef void unpin(self, int32_t p) noexcept nogil
    cdef void give_up(self) noexcept nogil
    cdef void release(self, int32_t s) noexcept nogil
    cdef int32_t free_slot(self) except -2 nogil
    cdef int longer_lists(self, Py_ssize_t room) except -1
    cdef void cut(self, Py_ssize_t n) noexcept nogil
    cdef void move(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) except -1
