from libc.stdint cimport int32_t, int64_t

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Kernel, Targets


cdef inline Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """Floats of a row of n, so that the next one is aligned as this one is."""
    return (n + 15) // 16 * 16


cdef class KernelRows:
    cdef readonly Kernel kernel
    cdef ThreadPool pool
    cdef Targets targets            # what rows are computed against
    cdef readonly Py_ssize_t size
    cdef readonly Py_ssize_t active
    cdef readonly int64_t rows_computed
    cdef readonly int64_t rows_found
    cdef int32_t[::1] index         # kernel row of each position
    cdef readonly bint whole        # row_of has the values of all positions
    cdef const float *row(self, Py_ssize_t position) except NULL nogil
    cdef const float *row_of(self, int32_t i) except NULL nogil
    cdef bint to_compute(self, int32_t i) except -1 nogil
    cdef int together(self, bint sure) noexcept nogil
    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil
    cdef void let_go(self, int32_t i) noexcept nogil
    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef void resize(self, Py_ssize_t active) noexcept nogil


cdef double FETCH_NS, EXPENSIVE_NS, SWAP_NS
cdef int64_t FEW_ROWS


cdef class RowCosts:
    cdef double value_ns            # of a row taken, computed or shared
    cdef double single_ns           # of a row computed alone
    cdef double least_ns            # of the cheapest row alone: the first ones meet cold memory
    cdef double block_ns            # of a whole block, for each place in its rows
    cdef double regret_ns           # lost by computing rows again that a larger store would have kept
    cdef double touching_ns         # spent on the first touch of memory
    cdef double touched_bytes
    cdef int64_t patience           # so many of them may wait to be used
    cdef int64_t guesses            # rows computed on a guess of late
    cdef int64_t guesses_used       # and asked for later
    cdef void taken(self, int n, Py_ssize_t length, double took_ns, int64_t rows_before) noexcept nogil
    cdef void computed(self, bint single, double n_rows, Py_ssize_t length, double took_ns,
                       int64_t rows_before) noexcept nogil
    cdef void regret(self, Py_ssize_t length) noexcept nogil
    cdef void guessed(self, int n) noexcept nogil
    cdef bint blocks_pay(self, bint sure) noexcept nogil
    cdef void touched(self, double bytes, double took_ns) noexcept nogil
    cdef bint worth_more_memory(self, Py_ssize_t used, Py_ssize_t stride, Py_ssize_t length) noexcept nogil
