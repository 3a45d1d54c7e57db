"""Kernel rows as a solver asks for them, wherever they come from: the base of RowStore and GramRows."""

from libc.stdint cimport int32_t


cdef class KernelRows:
    """Rows K(index[p], index[0..active)) over the active ones of ``size`` positions.

    ``row(p)`` is valid until two other rows have been asked for, or the positions change.

    Attributes
    ----------
    rows_computed, rows_found : int      rows that were asked for and had to be computed, or were there
    """

    cdef const float *row(self, Py_ssize_t position) except NULL nogil:
        """K of ``position`` with the active positions: ``active`` floats."""
        return self.row_of(self.index[position])

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        """Row i of the kernel with the active positions, and with all of them if rows are ``whole``."""
        return NULL

    cdef bint to_compute(self, int32_t i) except -1 nogil:
        """Whether row i of the kernel is neither here nor shared with other solves."""
        return False

    cdef int together(self) noexcept nogil:
        """How many rows to compute with a missing one, itself included."""
        return 1

    cdef int take(self, const int32_t *wanted, int count) except -1 nogil:
        """Take in rows of the kernel that are missing; the first was asked for."""
        return 0

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Exchange the variables at two positions; ``resize`` must follow before the next row."""
        return 0

    cdef void resize(self, Py_ssize_t active) noexcept nogil:
        """The active part is now [0, active), smaller or larger."""
        self.active = active
