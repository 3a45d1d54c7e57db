from libc.stdint cimport int64_t


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
    cdef int64_t guesses            # rows computed on a guess of late
    cdef int64_t guesses_used       # and asked for later
    cdef void taken(self, int n, Py_ssize_t length, double took_ns, int64_t rows_before) noexcept nogil
    cdef void computed(self, bint single, double n_rows, Py_ssize_t length, double took_ns,
                       int64_t rows_before) noexcept nogil
    cdef void regret(self, Py_ssize_t length) noexcept nogil
    cdef void guessed(self, int n) noexcept nogil
    cdef bint blocks_pay(self) noexcept nogil
    cdef void touched(self, double bytes, double took_ns) noexcept nogil
    cdef bint worth_more_memory(self, Py_ssize_t used, Py_ssize_t stride, Py_ssize_t length) noexcept nogil
