"""Kernel rows as a solver asks for them, wherever they come from, and what they cost, as measured.

    KernelRows    the base of RowStore and GramRows
    RowCosts      what is worth keeping in a RowStore, and computing on a guess

A row of cheap values is computed faster than it is fetched, or than memory for it is touched for the first time. Whatever
is decided by costs changes times only, never a value.
"""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.slab cimport SVMX_SLAB

# Memory that is used in any case: a few megabytes, or a part of L2 if rows are computed faster than fetched from further.
cdef double LEAST_BYTES = 8 << 20
cdef double LEAST_BYTES_CHEAP = 1 << 20
# Costs of memory, to be weighed against measured times of rows; nanoseconds per byte. The first touch is measured, too,
# since on a virtual machine it may cost anything from 0.1 to 2; this is what it is taken for before.
cdef double FIRST_TOUCH_NS = 0.5
FETCH_NS = 0.1
# Values that cost more, in nanoseconds, are expensive.
EXPENSIVE_NS = 2.0
# From this cost of a value on, rows are worth computing on a guess.
cdef double BLOCK_NS = 8.0
# One in so many rows may have been computed on a guess before it counts how many were used: of thousands of rows, many are
# asked for much later.
cdef int64_t ROWS_PER_GUESS = 32
# Rows computed alone before that is known.
FEW_ROWS = 4
# Catching up with one swap, in nanoseconds.
SWAP_NS = 2.0


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

    cdef int together(self, bint sure) noexcept nogil:
        """How many rows to compute where one is missing, itself included; ``sure``: they will all be asked for."""
        return 1

    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil:
        """Take in rows of the kernel that are missing; the first was asked for, the others are a guess, or ``sure``."""
        return 0

    cdef void let_go(self, int32_t i) noexcept nogil:
        """Row i of the kernel is the first to be replaced."""

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Exchange the variables at two positions; ``resize`` must follow before the next row."""
        return 0

    cdef void resize(self, Py_ssize_t active) noexcept nogil:
        """The active part is now [0, active), smaller or larger."""
        self.active = active


cdef class RowCosts:
    """RowCosts(n): of one store, of up to n rows. Lengths of rows are in values."""

    def __cinit__(self, Py_ssize_t n):
        self.value_ns, self.patience = 1.0, max(4 * SVMX_SOURCES, n // ROWS_PER_GUESS)
        self.touching_ns, self.touched_bytes = FIRST_TOUCH_NS * SVMX_SLAB, SVMX_SLAB

    cdef void taken(self, int n, Py_ssize_t length, double took_ns, int64_t rows_before) noexcept nogil:
        """n rows were computed or gathered from shared ones, after ``rows_before`` others."""
        self.value_ns += (took_ns / (n * length + 1.0) - self.value_ns) / min(rows_before + 1, 10)

    cdef void computed(self, bint single, double n_rows, Py_ssize_t length, double took_ns,
                       int64_t rows_before) noexcept nogil:
        """One row that was asked for alone was computed, which took as long as so many mean ones; or a block."""
        cdef double value_ns = took_ns / (n_rows * length + 1.0)
        if single:
            self.single_ns += (value_ns - self.single_ns) / min(rows_before + 1, 8)
            if rows_before == 0 or value_ns < self.least_ns:
                self.least_ns = value_ns
        elif self.block_ns == 0:
            self.block_ns = value_ns * n_rows
        else:
            self.block_ns += 0.1 * (value_ns * n_rows - self.block_ns)

    cdef void regret(self, Py_ssize_t length) noexcept nogil:
        """A row was computed again that a store of the whole budget would have kept."""
        self.regret_ns += max(0.0, (self.value_ns - FETCH_NS * 4) * length)

    cdef void guessed(self, int n) noexcept nogil:
        """n rows were computed on a guess."""
        self.guesses += n
        if self.guesses > 4 * self.patience:  # what was long ago counts less
            self.guesses //= 2
            self.guesses_used //= 2

    cdef bint blocks_pay(self, bint sure) noexcept nogil:
        """Whether to compute a block of rows where one is missing, the others on a guess if they are not ``sure``.

        Blocks go on while they cost less than computing one by one the rows of them that were ever asked for.
        """
        cdef int64_t known = self.guesses - 2 * SVMX_SOURCES  # the latest have had no chance yet
        cdef double used = 1.0
        if not sure and known > self.patience:
            used = min(1.0, self.guesses_used / <double>known)
        return self.least_ns >= BLOCK_NS and self.block_ns <= self.single_ns * (1.0 + (SVMX_SOURCES - 1) * used)

    cdef void touched(self, double bytes, double took_ns) noexcept nogil:
        """Memory was touched for the first time."""
        self.touching_ns += took_ns
        self.touched_bytes += bytes

    cdef bint worth_more_memory(self, Py_ssize_t used, Py_ssize_t stride, Py_ssize_t length) noexcept nogil:
        """Whether another slot of ``stride`` floats will pay, beyond ``used`` ones.

        A row is kept on trust if it is expensive; else memory is added as fast as time has been lost by computing
        rows again that a larger store would have kept, so that at most twice the least time is spent.
        """
        cdef double touch = self.touching_ns / self.touched_bytes * 4 * stride
        cdef double held = 4.0 * stride * used
        if used < (3 * SVMX_SOURCES if self.least_ns >= BLOCK_NS else 3):
            return True
        if held < (LEAST_BYTES_CHEAP if self.value_ns < 4 * FETCH_NS else LEAST_BYTES):
            return True
        if max(self.value_ns, self.least_ns) * length > 2 * touch:
            return True
        if self.regret_ns < touch:
            return False
        self.regret_ns -= touch
        return True
