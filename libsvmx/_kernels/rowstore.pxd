from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.rows cimport RowCosts
from libsvmx._kernels.slots cimport RowSlots
from libsvmx._kernels.symmetry cimport Symmetry


cdef class RowStore(RowSlots):
    cdef int64_t rows_taken         # computed or shared; the clock of what was when
    cdef Py_ssize_t extent          # values in a row: of the active positions, or of all if whole
    cdef bint begins_short          # with a part of the positions
    cdef bint unsettled             # the active part has changed since the last row
    cdef Py_ssize_t covered         # positions [0, covered) had their rows in targets
    cdef Py_ssize_t distinct        # kernel rows among the active positions
    cdef bint injective             # no two positions share a row
    cdef bint in_order              # position p < active is target p
    cdef bint twice                 # positions are the targets in their order, and the same again: of a regression
    cdef int32_t[::1] place         # target of a position
    cdef float[::1] scratch
    cdef double arrange_ns
    cdef bint symmetric             # values may be copied: the store was empty when targets were arranged, and none has moved
    cdef bint symmetry_pays
    cdef Symmetry symmetry
    cdef Py_ssize_t n_symmetric     # slots used when it was made, 0 if there is none to be used
    cdef int64_t in_vain            # values computed since then that could have been copied
    cdef int64_t rows_before        # rows_taken when the positions last changed
    cdef int32_t[::1] length        # values in the slot
    cdef int64_t[::1] synced        # swaps the slot has seen
    cdef int32_t *swaps             # pairs of positions
    cdef int64_t n_swaps
    cdef int64_t room_for_swaps
    cdef RowCosts costs
    cdef int64_t[::1] last_use      # rows_taken when a row was last asked for, 0 for never
    cdef unsigned char[::1] ahead   # by slot: computed on a guess, with a missing row, and not asked for yet

    cdef int prepare_symmetry(self, int n) except -1 nogil
    cdef void forgo_symmetry(self) noexcept nogil
    cdef bint missing(self, int32_t i) except -1 nogil
    cdef int settle(self) except -1 nogil
    cdef int arrange(self) except -1
    cdef bint timed(self) noexcept nogil
    cdef int64_t compute(self, const int32_t *rows, int count, float **out) noexcept nogil
    cdef bint sync(self, int32_t s) noexcept nogil
    cdef int32_t slot_for(self, int32_t i) except -1 nogil
    cdef void catch_up(self) noexcept nogil
    cdef void compress(self) noexcept nogil
    cdef void forget(self) noexcept nogil
