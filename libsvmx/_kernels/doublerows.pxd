from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.sharedrows cimport SharedRows


cdef enum:
    FEW_ROWS = 4    # computed one by one: a layout of all rows costs as much as four or five


cdef class DoubleRows:
    cdef readonly Kernel kernel
    cdef Targets targets
    cdef SharedRows source
    cdef readonly Py_ssize_t n
    cdef readonly int64_t rows_computed
    cdef double budget_bytes
    cdef Py_ssize_t room            # values per slot, and slots at most
    cdef double **slots
    cdef Py_ssize_t n_slots
    cdef double *spare              # a row without a slot
    cdef double *unordered          # a row in the order of the targets
    cdef int32_t[::1] target        # of a row, or its place in ``source``; unless ``in_order``
    cdef bint in_order
    cdef double value_ns            # of the last targets
    cdef Py_ssize_t n_alone         # rows computed since ``bind``, at most FEW_ROWS + 1
    cdef int64_t clock
    cdef int32_t[::1] slot_of       # by row, -1: not kept
    cdef int32_t[::1] pins          # by row
    cdef int32_t[::1] row_in        # by slot, -1: free
    cdef int64_t[::1] last_use      # by slot
    cdef Py_ssize_t n_empty         # slots without a row
    cdef int64_t cuts[2]            # ``clock`` at the last two moves
    cdef int bind(self, Kernel kernel) except -1
    cdef void release_kernel(self) noexcept
    cdef void begin(self, Py_ssize_t n) noexcept nogil
    cdef void place_column(self, Py_ssize_t a, Py_ssize_t n, const int32_t *rows, const double *values) noexcept nogil
    cdef const double *kept(self, int32_t p) noexcept nogil
    cdef double most_kept(self) noexcept nogil
    cdef const double *row(self, int32_t p) except NULL nogil
    cdef const double *peek(self, int32_t p, bint keep=*) except NULL nogil
    cdef int compute(self, int32_t p, double *out) except -1 nogil
    cdef void swap(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil
    cdef void pin(self, int32_t p) noexcept nogil
    cdef void unpin(self, int32_t p) noexcept nogil
    cdef void free_unpinned(self) noexcept nogil
    cdef void release(self, int32_t s) noexcept nogil
    cdef int32_t free_slot(self) except -2 nogil
    cdef void cut(self, Py_ssize_t n) noexcept nogil
    cdef void move(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil
    cdef int make_room(self, Py_ssize_t n) except -1
