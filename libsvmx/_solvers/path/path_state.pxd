from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._kernels.doublerows cimport DoubleRows


cdef enum:
    AT_LOW          # beta = low, and V at the level or below
    AT_HIGH         # beta = high, and V at the level or above
    MARGIN          # V at the level
    DRIVEN          # of A: on its way to a bound, from which V is on the wrong side
    LEAVING         # of R: on its way to 0, whatever its V


cdef class PathState:
    cdef readonly Py_ssize_t n          # rows
    cdef Py_ssize_t active              # rows [0, active) have their F up to date; all but on a path
    cdef readonly int halves            # variables of a row: v = halves * row + half
    cdef readonly double level          # V of the margin
    cdef readonly double total          # what the sum of beta has to be
    cdef readonly double drift          # bound on what rounding has done to F since it was last computed
    cdef readonly bint rough            # left by SMO: no exact optimum, no path from here
    cdef DoubleRows rows
    # by row
    cdef double[::1] F                  # sum_j beta_j K_j
    cdef double[::1] diagonal           # K(p, p)
    cdef int64_t[::1] tag               # whatever the caller knows a row by
    # by variable
    cdef double[::1] linear
    cdef double[::1] low
    cdef double[::1] high
    cdef double[::1] beta
    cdef int8_t[::1] state
    cdef double[::1] side               # 1: waits below the level, -1: above it, 0: neither
    cdef int32_t[::1] place             # in ``member``, -1 outside the margin
    # the margin
    cdef Cholesky factor                # of K_MM + shift
    cdef int32_t[::1] member            # variable of each row of the factor
    cdef double shift                   # added to every kernel value
    cdef double largest                 # K_ii
    cdef double[::1] half               # of a variable that may join: its column, then L^-1 of that
    cdef double[::1] null               # K'_MM^-1 of that column
    cdef double[::1] dbeta              # by place in the margin
    cdef double[::1] ones
    cdef const double **margin_rows     # scratch for svmx_add_rows
    cdef int32_t[::1] moves             # scratch for ``discard``, which must not fail
    cdef list swapped                   # since ``mark``
    cdef object before                  # the state that ``rollback`` returns to
    cdef double kkt_gap(self) noexcept nogil
    cdef double score(self, Py_ssize_t v) noexcept nogil
    cdef bint inside(self, Py_ssize_t v) noexcept nogil
    cdef int make_room_in_margin(self) except -1
    cdef double try_join(self, Py_ssize_t v) except? -1.0
    cdef void join(self, Py_ssize_t v, double pivot) noexcept nogil
    cdef void leave(self, Py_ssize_t v) noexcept nogil
    cdef void clear_margin(self) noexcept nogil
    cdef int add_margin(self, const double *coef, Py_ssize_t n, double *out) except -1
    cdef void put(self, Py_ssize_t v, int state) noexcept nogil
    cdef void to_bound(self, Py_ssize_t v) noexcept nogil
    cdef int swap(self, const int32_t *pairs, Py_ssize_t n) except -1
    cdef int make_room(self, Py_ssize_t n) except -1


cdef void trade(double[::1] values, Py_ssize_t v, Py_ssize_t w) noexcept nogil
