from libc.stdint cimport int32_t, int64_t

from libsvmx._core.pieces cimport svmx_lock, svmx_piece
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.stopping cimport Token
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.rowstore cimport KernelRows


cdef class Slab:
    cdef float *values
    cdef size_t bytes


cdef class SharedRows:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t n
    cdef readonly bint has_groups
    cdef const double[::1] diagonal
    cdef readonly bint across
    cdef readonly bint blocks
    cdef readonly bint for_threads
    cdef readonly double held_bytes
    cdef readonly double most_bytes
    cdef readonly int64_t values_computed
    cdef Py_ssize_t k               # segments
    cdef int64_t[::1] starts
    cdef int32_t[::1] segment_of
    cdef list targets               # of each segment
    cdef void **target              # the same
    cdef svmx_piece *piece          # see ``piece_of``
    cdef ThreadPool alone
    cdef Slab own_slab              # pieces of ``keep_own``
    cdef Token token
    cdef float *spare               # rows of the last block that are not kept
    cdef Py_ssize_t width           # values of a whole row
    cdef str what                   # text of MemoryError
    # memory of the other pieces, filled from the front under the lock
    cdef svmx_lock lock
    cdef bint locks
    cdef float **slabs
    cdef Py_ssize_t n_slabs         # at most
    cdef Py_ssize_t slab_bytes
    cdef Py_ssize_t filling         # slab in use, n_slabs if full
    cdef int64_t filled             # bytes of it
    cdef Py_ssize_t take_segments(self, Targets targets) except -1
    cdef int lay_slabs(self, Py_ssize_t n_pieces, Py_ssize_t longest, double needed, double budget_bytes) except -1
    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil
    cdef void begin(self, int32_t first, int32_t last) noexcept nogil
    cdef int32_t place_of(self, int32_t row) noexcept nogil
    cdef const float *at(self, int32_t place) except NULL nogil
    cdef int block(self, const int32_t *places, int count, const float **out) except -1 nogil
    cdef int compute(self, const int32_t *places, int count, float **out) except -1 nogil
    cdef svmx_piece *piece_of(self, int32_t row, int32_t segment) noexcept nogil
    cdef float *claim(self, svmx_piece *piece, Py_ssize_t n) noexcept nogil
    cdef float *room_for(self, Py_ssize_t bytes) noexcept nogil
    cdef int64_t bring(self, const int32_t *rows, int count, int32_t segment, Targets targets, const float **pieces,
                       float *spare, Py_ssize_t stride, ThreadPool pool) noexcept nogil


cdef class PairRows(SharedRows):
    cdef SharedRows source
    cdef int32_t segments[2]
    cdef Py_ssize_t n_first         # rows of the first one
    cdef void fill(self, int32_t row, int32_t segment, Py_ssize_t n, float *values) noexcept nogil


cdef class SharedKernel(Kernel):
    cdef readonly SharedRows shared
    cdef const int32_t[::1] origin  # row of shared.kernel
    cdef float[::1] scratch         # a block of rows
    cdef dict own                   # targets of segments
    cdef Targets own_targets(self, Py_ssize_t segment)


cdef class SharedTargets(Targets):
    cdef SharedRows shared
    cdef const int32_t[::1] origin  # of the rows of the kernel
    cdef int32_t[::1] segments      # segments with targets
    cdef list own                   # the targets of these
    cdef void **target              # the same
    cdef float[::1] scratch         # of the kernel, or of the thread
    cdef int32_t[::1] place         # of a target in the pieces of these segments, one after the other
    cdef Py_ssize_t width           # of these
    cdef int lay_out(self, members) except -1
    cdef int64_t gather(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end, float **out,
                        ThreadPool pool) noexcept nogil


cdef class GramRows(KernelRows):
    cdef SharedRows values
    cdef int32_t[::1] member        # place in ``values`` of each row of the part
    cdef Py_ssize_t n_rows          # of the part
    cdef int32_t[::1] run           # first row of each run of consecutive places
    cdef Py_ssize_t n_runs
    cdef Slab slab
    cdef float *slots               # (rows of the part, stride), in ``slab``, in the order of use
    cdef int32_t[::1] slot_of       # of each row of the part; see ``synced``
    cdef int32_t n_slots
    cdef Py_ssize_t stride
    cdef int64_t[::1] synced        # swaps applied to the slot of a row, -1: no slot, -2: in place
    cdef int32_t[::1] length        # of a slot: positions that it has values of
    cdef double[::1] sums           # scratch
    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil
    cdef void copy(self, const float *row, float *values) noexcept nogil
