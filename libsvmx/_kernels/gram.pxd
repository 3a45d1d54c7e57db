from libc.stdint cimport int32_t, int64_t

from libsvmx._core.process cimport ThreadPool
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.rowstore cimport KernelRows


cdef class Slab:
    cdef float *values
    cdef size_t bytes


cdef class KernelValues:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t n
    cdef readonly bint has_groups
    cdef const double[::1] diagonal
    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil
    cdef void begin(self, int32_t first, int32_t last) noexcept nogil
    cdef int32_t place_of(self, int32_t row) noexcept nogil
    cdef const float *at(self, int32_t place) noexcept nogil


cdef class GramRows(KernelRows):
    cdef KernelValues values
    cdef int32_t[::1] member        # place in ``values`` of each row of the part
    cdef Py_ssize_t n_rows          # of the part
    cdef int32_t[::1] run           # first of each stretch of them whose places in ``values`` follow each other
    cdef Py_ssize_t n_runs
    cdef Slab slab
    cdef float *slots               # (rows of the part, stride), of ``slab``, in the order in which they are asked for
    cdef int32_t[::1] slot_of       # of each row of the part; see ``synced``
    cdef int32_t n_slots
    cdef Py_ssize_t stride
    cdef int64_t[::1] synced        # swaps that the slot of a row has seen, -1 if it has none
    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil
    cdef void copy(self, const float *row, float *values) noexcept nogil


cdef int fill_square(Targets targets, Py_ssize_t first, float *values, ThreadPool pool, asking) except -1


cdef enum:
    FEW_ROWS = 4    # are computed one by one: to lay out all for more takes as long as four or five of them


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
    cdef Py_ssize_t n_alone         # rows computed since ``bind``; one more than FEW_ROWS for all that come after these
    cdef int64_t clock
    cdef int32_t[::1] slot_of       # by row, -1: not kept
    cdef int32_t[::1] pins          # by row
    cdef int32_t[::1] row_in        # by slot, -1: free
    cdef int64_t[::1] last_use      # by slot
    cdef int32_t[::1] empty         # slots without a row
    cdef Py_ssize_t n_empty
    cdef int64_t cuts[2]            # the clock at the last two
    cdef int bind(self, Kernel kernel) except -1
    cdef void release_kernel(self) noexcept
    cdef void place_column(self, Py_ssize_t a, Py_ssize_t n, const int32_t *rows, const double *values) noexcept nogil
    cdef const double *kept(self, int32_t p) noexcept nogil
    cdef const double *row(self, int32_t p) except NULL nogil
    cdef const double *glance(self, int32_t p) except NULL nogil
    cdef int compute(self, int32_t p, double *out) except -1 nogil
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
