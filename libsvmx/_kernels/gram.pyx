"""All kernel values of a small problem, and rows of parts of it: for many solves over the same few rows.

Pairs of classes, folds and inner folds of probability estimates ask for the same values over and over. Where all of them
fit, they are computed once, by all threads, and each solve gathers the rows it asks for. Nothing here makes a Python object
while solves go on, so that one can be begun every few microseconds.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc

from libsvmx._core.buffers import zeros
from libsvmx._core.arrays import ramp
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.smo_steps cimport svmx_gather
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets

# Following one swap of positions, in nanoseconds, and gathering a value.
cdef double SWAP_NS = 2.0, GATHER_NS = 0.5


cdef class Gram:
    """Gram(kernel, pool, asking): K(i, j) of all rows of ``kernel``, float32, shape (n, n).

    Parameters
    ----------
    kernel : Kernel          not a given one, which may differ from its transpose
    pool : ThreadPool        whose threads share the work
    asking : Asking          is told of the work
    """

    def __cinit__(self, Kernel kernel, ThreadPool pool, asking):
        cdef float *out[SVMX_SOURCES]
        cdef int32_t rows[SVMX_SOURCES]
        cdef Py_ssize_t i
        cdef int s, count
        cdef Targets targets
        if kernel.given:
            raise ValueError("a given kernel is not shared")
        self.kernel, self.n, self.diagonal = kernel, kernel.n, kernel.diagonal
        self.values = <float *>malloc(max(kernel.n, 1) * max(kernel.n, 1) * sizeof(float))
        if self.values == NULL:
            raise MemoryError("kernel values")
        targets = kernel.targets(ramp(kernel.n))
        for i in range(0, self.n, SVMX_SOURCES):
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, self.n - i)
            for s in range(count):
                rows[s], out[s] = <int32_t>(i + s), self.values + (i + s) * self.n
            with nogil:
                kernel.values_computed += targets.fill_rows(rows, count, self.n, out, pool, True)
            asking.ask(4 * count * self.n)

    def __dealloc__(self):
        free(self.values)


cdef class GramRows(KernelRows):
    """GramRows(gram, most_rows, most_positions, pool): rows of one part after the other of ``gram``, see ``begin``."""

    def __cinit__(self, Gram gram, Py_ssize_t most_rows, Py_ssize_t most_positions, ThreadPool pool):
        self.gram, self.kernel, self.pool, self.whole = gram, gram.kernel, pool, True
        self.index, self.at = zeros("i", most_positions), zeros("i", most_positions)
        self.member, self.synced = zeros("i", most_rows), zeros("q", most_rows)
        self.stride = (most_positions + 15) // 16 * 16
        self.slots = <float *>malloc(max(most_rows * self.stride, 1) * sizeof(float))
        if self.slots == NULL:
            raise MemoryError("kernel rows")

    def __dealloc__(self):
        free(self.slots)
        free(self.swaps)

    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil:
        """A part of n rows of the Gram matrix; a position for each of them, or, ``doubled``, another n for the same rows."""
        cdef Py_ssize_t p
        self.size = self.active = 2 * n if doubled else n
        for p in range(n):
            self.member[p], self.synced[p] = members[p], -1
        for p in range(self.size):
            self.index[p] = <int32_t>(p if p < n else p - n)
            self.at[p] = self.member[self.index[p]]
        self.rows_computed = self.rows_found = self.n_swaps = 0

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        cdef float *values = self.slots + i * self.stride
        if self.synced[i] != self.n_swaps and not self.sync(i, values):
            svmx_gather(self.size, self.gram.values + <int64_t>self.member[i] * self.gram.n, &self.at[0], values)
            self.rows_computed += self.synced[i] < 0
            self.synced[i] = self.n_swaps
        self.rows_found += 1
        return values

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
