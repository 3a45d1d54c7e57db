from libc.stdint cimport int32_t, int64_t

from libsvmx._core.pieces cimport svmx_lock, svmx_piece
from libsvmx._core.process cimport ThreadPool
from libsvmx._kernels.gram cimport KernelValues, Slab
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets


cdef class SharedRows(KernelValues):
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
    # memory of the others, filled from the front by whoever has the lock
    cdef svmx_lock lock
    cdef bint locks
    cdef float **slabs
    cdef Py_ssize_t n_slabs         # that there may be
    cdef Py_ssize_t slab_bytes
    cdef Py_ssize_t filling         # slab in use, n_slabs if there is no room left
    cdef int64_t filled             # bytes of it
    cdef svmx_piece *piece_of(self, int32_t row, int32_t segment) noexcept nogil
    cdef float *room_for(self, Py_ssize_t bytes) noexcept nogil
    cdef int64_t bring(self, const int32_t *rows, int count, int32_t segment, Targets targets, const float **pieces,
                       float *spare, Py_ssize_t stride, ThreadPool pool, double expected_ns) noexcept nogil


cdef class SharedKernel(Kernel):
    cdef readonly SharedRows shared
    cdef const int32_t[::1] origin  # row of shared.kernel
    cdef float[::1] scratch         # a block of rows
    cdef dict own                   # targets of segments
    cdef Targets own_targets(self, Py_ssize_t segment)


cdef class SharedTargets(Targets):
    cdef SharedRows shared
    cdef const int32_t[::1] origin  # of the rows of the kernel
    cdef int32_t[::1] segments      # that have targets
    cdef list own                   # the targets of these
    cdef void **target              # the same
    cdef float[::1] scratch         # that of the kernel, or of the thread
    cdef int32_t[::1] place         # of a target in the pieces of these segments, one after the other
    cdef Py_ssize_t width           # of these
    cdef int lay_out(self, members) except -1
    cdef int64_t gather(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end, float **out, ThreadPool pool,
                        double expected_ns) noexcept nogil


cdef class PairValues(KernelValues):
    cdef SharedRows shared          # keeps what these are:
    cdef const int64_t *start
    cdef const int32_t *class_of
    cdef Slab slab
    cdef float *values              # (rows of two classes, stride), of ``slab``, in the order in which they are asked for
    cdef int32_t[::1] slot_of       # of each place, -1 if its row was not asked for
    cdef int32_t n_slots
    cdef Py_ssize_t stride
    cdef int32_t a                  # the classes, a < b
    cdef int32_t b
    cdef Py_ssize_t n_a
    cdef Py_ssize_t n_b
    cdef void fill(self, int32_t row, int32_t c, float *values) noexcept nogil
