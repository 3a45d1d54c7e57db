from libc.stdint cimport int32_t, int64_t

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._kernels.rows cimport KernelRows


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


cdef class Gram(KernelValues):
    cdef Slab slab
    cdef float *values              # (n, n), of ``slab``


cdef class GramRows(KernelRows):
    cdef KernelValues values
    cdef int32_t[::1] member        # place in ``values`` of each row of the part
    cdef int32_t[::1] at            # the same of each position
    cdef Py_ssize_t n_rows          # of the part
    cdef int32_t[::1] run           # first of each stretch of them whose places in ``values`` follow each other
    cdef Py_ssize_t n_runs
    cdef Slab slab
    cdef float *slots               # (rows of the part, stride), of ``slab``, in the order in which they are asked for
    cdef int32_t[::1] slot_of       # of each row of the part; see ``synced``
    cdef int32_t n_slots
    cdef Py_ssize_t stride
    cdef int64_t[::1] synced        # swaps that the slot of a row has seen, -1 if it has none
    cdef int32_t *swaps             # pairs of positions
    cdef int64_t n_swaps
    cdef int64_t room_for_swaps
    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil
    cdef void copy(self, const float *row, float *values) noexcept nogil
    cdef bint sync(self, int32_t i, float *values) noexcept nogil


cdef int fill_square(Targets targets, Py_ssize_t first, float *values, ThreadPool pool, asking) except -1
