from libc.stdint cimport int32_t, int64_t, uint64_t

from libsvmx._core.process cimport ThreadPool
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """n rounded up, so that consecutive rows are aligned alike."""
    return (n + 15) // 16 * 16


cdef double SWAP_NS


cdef enum:
    LAID_ROWS = 4  # two in use, and the two violators of problems with two groups


cdef class KernelRows:
    cdef readonly Kernel kernel
    cdef ThreadPool pool
    cdef Targets targets            # columns of computed rows
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t active
    cdef readonly int64_t rows_computed
    cdef readonly int64_t rows_found
    cdef int32_t[::1] index         # kernel row of each position
    cdef readonly bint whole        # rows are over all positions
    cdef bint injective             # no two positions share a row; False if unknown
    cdef bint one_way               # K(i, j) may differ from K(j, i)
    cdef bint by_row                # whole rows are stored by target, not by position
    cdef int32_t[::1] place         # of a position: its target in a RowStore, its row of the values in GramRows
    cdef int32_t[::1] row_of_target # by_row: kernel row
    cdef int32_t *swaps             # pairs of positions, see ``note_swap``
    cdef int64_t n_swaps
    cdef Py_ssize_t room_for_swaps  # numbers
    cdef int note_swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef bint follow(self, float *values, int32_t length, int64_t since, double spared_ns) noexcept nogil
    cdef const float *row(self, Py_ssize_t position) except NULL nogil
    cdef const float *row_of(self, int32_t i) except NULL nogil
    cdef bint to_compute(self, int32_t i) except -1 nogil
    cdef int together(self, bint sure) noexcept nogil
    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil
    cdef const float *stored(self, int32_t i) except NULL nogil
    cdef Py_ssize_t n_places(self) noexcept nogil
    cdef const int32_t *row_at(self) noexcept nogil
    cdef bint may_replace(self, const unsigned char *wanted) noexcept nogil
    cdef bint add_rows(self, int64_t count, const int32_t *rows, const double *coef, const float **row,
                       Py_ssize_t first, Py_ssize_t n, double *scores) except -1 nogil
    cdef bint is_crowded(self) noexcept nogil
    cdef void shorten(self) noexcept nogil
    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef void resize(self, Py_ssize_t active) noexcept nogil


cdef class Symmetry:
    cdef Targets whole
    cdef Targets left               # targets whose rows are not stored
    cdef const int32_t[::1] row     # kernel row of a target
    cdef int32_t[::1] place         # target of a kernel row, -1 for none
    cdef const float **row_at       # stored row of a target, or NULL
    cdef int32_t[::1] order         # targets, those whose rows are stored first, and both in ascending order
    cdef readonly Py_ssize_t n_stored
    cdef float[::1] scratch
    cdef void store(self, int32_t i, const float *values) noexcept nogil
    cdef int divide(self) except -1
    cdef int64_t fill_rows(self, const int32_t *sources, int count, float **out,
                           ThreadPool pool) noexcept nogil


cdef class RowStore(KernelRows):
    cdef readonly Py_ssize_t capacity
    cdef double budget_bytes
    cdef Py_ssize_t stride          # floats of a slot
    cdef Py_ssize_t slab_bytes
    cdef Py_ssize_t per_slab
    cdef Py_ssize_t n_slabs
    cdef Py_ssize_t used
    cdef float **slabs
    cdef int32_t[::1] slot_of       # a kernel row, -1 for none
    cdef int32_t[::1] row_in        # a slot
    cdef int64_t rows_taken         # computed or shared; the clock of ``last_use``
    cdef Py_ssize_t extent          # length of a row: active positions, or all if whole
    cdef bint stale                 # the active part has changed since the last row
    cdef Py_ssize_t covered         # positions [0, covered) have targets
    cdef Py_ssize_t distinct        # kernel rows among the active positions
    cdef bint in_order              # position p < active is target p
    cdef bint twice                 # positions are (by_row: were at first) the targets in order, twice
    cdef float[:, ::1] laid         # by_row: the last rows read, by position
    cdef int32_t laid_row[LAID_ROWS]
    cdef int64_t laid_last[LAID_ROWS]   # n_laid when it was last read
    cdef int64_t n_laid
    cdef int32_t[:, ::1] moved      # active positions that have moved since the start; their targets
    cdef Py_ssize_t n_moved
    cdef bint moves_known           # and laid out rows are valid
    cdef float[::1] scratch
    cdef bint symmetric             # values may be copied: the store was empty when targets were made, no row moved
    cdef bint symmetry_pays
    cdef Symmetry symmetry
    cdef Py_ssize_t n_symmetric     # slots used when it was made, 0: not in use
    cdef int64_t in_vain            # values computed since then that could have been copied
    cdef int64_t rows_before        # rows_taken when the positions last changed
    cdef int32_t[::1] length        # values in the slot
    cdef int64_t[::1] synced        # swaps the slot has seen
    cdef double credit_ns           # what memory is expected to save, minus what it has cost
    cdef int64_t recomputed         # rows, in a full store
    cdef int64_t max_unjudged       # guesses before their use counts
    cdef int64_t guesses            # rows prefetched recently
    cdef int64_t guesses_used       # those of them that were read
    cdef int64_t[::1] last_use      # rows_taken when a row was last read, 0: never
    cdef double[::1] uses           # of a row, in growing units, so that the latest count most
    cdef double use                 # weight of the next one
    cdef int32_t newest             # slot of the last row read, -1: none
    cdef int32_t held               # slot not to be evicted
    cdef uint64_t dice
    cdef unsigned char[::1] ahead   # by slot: prefetched, and not read yet
    cdef unsigned char[::1] asked   # by kernel row that targets keep: whether it was computed for this store, and read
    cdef int64_t n_asked            # such rows
    cdef int64_t n_used             # those of them that were read

    cdef int lay_slabs(self, Py_ssize_t length) except -1
    cdef void cut(self, Py_ssize_t length) noexcept nogil
    cdef Py_ssize_t fitting(self) noexcept nogil
    cdef int32_t unused(self) noexcept nogil
    cdef float *slot(self, Py_ssize_t s) noexcept nogil
    cdef const float *by_position(self, int32_t i, const float *values) noexcept nogil
    cdef void find_moved(self) noexcept nogil
    cdef int prepare_symmetry(self, int n) except -1 nogil
    cdef void forgo_symmetry(self) noexcept nogil
    cdef bint missing(self, int32_t i) except -1 nogil
    cdef int adapt(self) except -1 nogil
    cdef int make_targets(self) except -1
    cdef Py_ssize_t min_rows(self) noexcept nogil
    cdef void credit_reuse(self, int32_t i) noexcept nogil
    cdef bint grows(self) noexcept nogil
    cdef int64_t compute(self, const int32_t *rows, int count, float **out) noexcept nogil
    cdef bint sync(self, int32_t s) noexcept nogil
    cdef int32_t slot_for(self, int32_t i) except -1 nogil
    cdef int32_t to_evict(self, uint64_t *dice) noexcept nogil
    cdef void count_use(self, int32_t i) noexcept nogil
    cdef void catch_up(self) noexcept nogil
    cdef void compress(self) noexcept nogil
    cdef void forget(self) noexcept nogil
