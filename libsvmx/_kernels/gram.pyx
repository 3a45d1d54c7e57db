"""All kernel values of a small problem, and rows of parts of it: for many solves over the same few rows.

Pairs of classes, folds and inner folds of probability estimates ask for the same values over and over. Where all of them
fit, they are computed once, by all threads, and each solve gathers the rows it asks for. Nothing here makes a Python object
while solves go on, so that one can be begun every few microseconds.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from libsvmx._core.buffers import zeros
from libsvmx._core.arrays import ramp
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.slab cimport svmx_give_slab, svmx_take_slab
from libsvmx._core.smo_steps cimport svmx_gather
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport LONG_NS, Kernel, Targets
from libsvmx._kernels.rows cimport padded

# Rows of a part that follow each other among the values are copied as a run; it pays from this mean length on.
cdef Py_ssize_t LEAST_RUN = 16
# Following one swap of positions, in nanoseconds, and gathering a value.
cdef double SWAP_NS = 2.0, GATHER_NS = 0.5
# Values of a square that are copied across before its owner is asked again, and rows of one that one thread copies.
cdef Py_ssize_t COPIED_AT_ONCE = 1 << 16, SHORT = 256


cdef class Slab:
    """Slab(n, what): memory for n floats, kept for the next one when it is let go. MemoryError says ``what``."""

    def __cinit__(self, Py_ssize_t n, what):
        self.bytes = max(n, 1) * sizeof(float)
        self.values = <float *>svmx_take_slab(self.bytes)
        if self.values == NULL:
            raise MemoryError(what)

    def __dealloc__(self):
        svmx_give_slab(self.values, self.bytes)


cdef class KernelValues:
    """Base: K(i, j) of the n rows of ``kernel``, from which rows of parts are gathered; Gram and ClassValues.

    ``of_thread()``: what a thread uses of it, to itself.
    ``begin(first, last)``: the rows to come are of the classes of these two.
    ``place_of(row)``: where a row stands among the columns, and ``at(place)``: K of a row with all columns.
    ``group_of(first, last)``, if it ``has_groups``: the same number for parts that had better come one after the other.
    """

    def of_thread(self):
        return self

    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil:
        return 0

    cdef void begin(self, int32_t first, int32_t last) noexcept nogil:
        pass

    cdef int32_t place_of(self, int32_t row) noexcept nogil:
        return row

    cdef const float *at(self, int32_t place) noexcept nogil:
        return NULL


cdef class Gram(KernelValues):
    """Gram(kernel, pool, asking): K(i, j) of all rows of ``kernel``, float32, shape (n, n).

    Parameters
    ----------
    kernel : Kernel          not a given one, which may differ from its transpose
    pool : ThreadPool        whose threads share the work
    asking : Asking          is told of the work
    """

    def __cinit__(self, Kernel kernel, ThreadPool pool, asking):
        if kernel.given:
            raise ValueError("a given kernel is not shared")
        self.kernel, self.n, self.diagonal = kernel, kernel.n, kernel.diagonal
        self.slab = Slab(kernel.n * kernel.n, "kernel values")
        self.values = self.slab.values
        fill_square(kernel.targets(ramp(kernel.n)), 0, self.values, pool, asking)

    cdef const float *at(self, int32_t place) noexcept nogil:
        return self.values + <int64_t>place * self.n


cdef int fill_square(Targets targets, Py_ssize_t first, float *values, ThreadPool pool, asking) except -1:
    """K(i, j) of the targets with each other, which are the rows of their kernel from ``first`` on, into (n, n) floats.

    For j <= i they are computed, K(j, i) is a copy; of rows kept as bits, to copy takes longer.
    """
    cdef float *out[SVMX_SOURCES]
    cdef int32_t rows[SVMX_SOURCES]
    cdef Py_ssize_t i, n = targets.n
    cdef int s, count
    cdef bint copied = not targets.kernel.binary
    for i in range(0, n, SVMX_SOURCES):
        count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - i)
        for s in range(count):
            rows[s], out[s] = <int32_t>(first + i + s), values + (i + s) * n
        with nogil:
            targets.kernel.values_computed += targets.fill_rows(rows, count, i + count if copied else n, out, pool, LONG_NS)
        asking.ask(4 * count * (i + count if copied else n))
    return copy_across(values, n, pool, asking) if copied else 0


cdef int copy_across(float *values, Py_ssize_t n, ThreadPool pool, asking) except -1:
    """The upper triangle of (n, n) floats, from the lower."""
    cdef Square square
    cdef Py_ssize_t blocks = max(<Py_ssize_t>1, COPIED_AT_ONCE // max(n, 1) // SVMX_SOURCES), first, block, k
    square.values, square.n = values, n
    for first in range(0, n, blocks * SVMX_SOURCES):
        square.first = first
        k = (min(blocks * SVMX_SOURCES, n - square.first) + SVMX_SOURCES - 1) // SVMX_SOURCES
        with nogil:
            if n <= SHORT:
                for block in range(k):
                    _copy_block(&square, block)
            else:
                pool.run(_copy_block, &square, k)
        asking.ask(k * SVMX_SOURCES * n)
    return 0


cdef struct Square:
    float *values
    Py_ssize_t n
    Py_ssize_t first


cdef void _copy_block(void *context, int64_t part) noexcept nogil:
    """SVMX_SOURCES rows of the upper triangle, from ``first`` on."""
    cdef Square *square = <Square *>context
    cdef Py_ssize_t i, j, begin = square.first + part * SVMX_SOURCES, n = square.n, end = min(begin + SVMX_SOURCES, n)
    cdef float *values = square.values
    for j in range(begin + 1, n):
        for i in range(begin, min(end, j)):
            values[i * n + j] = values[j * n + i]


cdef class GramRows(KernelRows):
    """GramRows(values, most_rows, most_positions, pool): rows of one part after the other of ``values``, see ``begin``."""

    def __cinit__(self, KernelValues values, Py_ssize_t most_rows, Py_ssize_t most_positions, ThreadPool pool):
        self.values, self.kernel, self.pool, self.whole = values, values.kernel, pool, True
        self.index, self.at = zeros("i", most_positions), zeros("i", most_positions)
        self.member, self.synced = zeros("i", most_rows), zeros("q", most_rows)
        self.slot_of, self.run = zeros("i", most_rows), zeros("i", most_rows)
        self.slab = Slab(most_rows * padded(most_positions), "kernel rows")
        self.slots = self.slab.values

    def __dealloc__(self):
        free(self.swaps)

    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil:
        """A part of n rows of ``values``; a position for each of them, or, ``doubled``, another n for the same rows."""
        cdef Py_ssize_t p
        if n:
            self.values.begin(members[0], members[n - 1])
        self.size = self.active = 2 * n if doubled else n
        self.n_rows, self.n_runs = n, 0
        for p in range(n):
            self.member[p], self.synced[p] = self.values.place_of(members[p]), -1
            if p == 0 or self.member[p] != self.member[p - 1] + 1:
                self.run[self.n_runs] = <int32_t>p
                self.n_runs += 1
        for p in range(self.size):
            self.index[p] = <int32_t>(p if p < n else p - n)
            self.at[p] = self.member[self.index[p]]
        self.rows_computed = self.rows_found = self.n_swaps = 0
        self.n_slots, self.stride = 0, padded(self.size)

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        cdef float *values
        if self.synced[i] < 0:
            self.slot_of[i] = self.n_slots
            self.n_slots += 1
            self.rows_computed += 1
        values = self.slots + self.slot_of[i] * self.stride
        if self.synced[i] < 0 and self.n_runs * LEAST_RUN <= self.n_rows and self.n_swaps * SWAP_NS <= self.size * GATHER_NS:
            self.copy(self.values.at(self.member[i]), values)
            self.synced[i] = 0
        if self.synced[i] != self.n_swaps and not self.sync(i, values):
            svmx_gather(self.size, self.values.at(self.member[i]), &self.at[0], values)
            self.synced[i] = self.n_swaps
        self.rows_found += 1
        return values

    cdef void copy(self, const float *row, float *values) noexcept nogil:
        """A row over all positions where no swap has moved them, run by run."""
        cdef Py_ssize_t r, begin, end, n = self.n_rows
        for r in range(self.n_runs):
            begin = self.run[r]
            end = self.run[r + 1] if r + 1 < self.n_runs else n
            memcpy(values + begin, row + self.member[begin], (end - begin) * sizeof(float))
        if self.size > n:
            memcpy(values + n, values, n * sizeof(float))

    cdef bint sync(self, int32_t i, float *values) noexcept nogil:
        """Let a row follow the swaps it has missed; False if it had better be gathered again."""
        cdef int64_t k
        cdef int32_t a, b
        if self.synced[i] < 0 or (self.n_swaps - self.synced[i]) * SWAP_NS > self.size * GATHER_NS:
            return False
        for k in range(self.synced[i], self.n_swaps):
            a, b = self.swaps[2 * k], self.swaps[2 * k + 1]
            values[a], values[b] = values[b], values[a]
        self.synced[i] = self.n_swaps
        return True

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        cdef int64_t room
        cdef void *grown
        if self.n_swaps == self.room_for_swaps:
            room = 2 * self.room_for_swaps + 1024
            grown = realloc(self.swaps, 2 * room * sizeof(int32_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("swaps of variables")
            self.swaps, self.room_for_swaps = <int32_t *>grown, room
        self.swaps[2 * self.n_swaps], self.swaps[2 * self.n_swaps + 1] = <int32_t>a, <int32_t>b
        self.n_swaps += 1
        self.index[a], self.index[b] = self.index[b], self.index[a]
        self.at[a], self.at[b] = self.at[b], self.at[a]
        return 0
