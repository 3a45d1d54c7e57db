from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.doublerows cimport DoubleRows
from libsvmx._kernels.kernel_matrix cimport Kernel
from libsvmx._solvers.dual cimport Certificate


cdef enum:          # sets of variables
    AT_LOWER        # beta = lower, and V at the level of its group or below
    AT_UPPER        # beta = upper, and V at that level or above
    MARGIN          # V at that level
    JOINING         # A: moves from 0 to its other bound, until V meets the level
    LEAVING         # R: moves to 0, for any V


cdef class PathState:
    cdef readonly Py_ssize_t n          # rows
    cdef Py_ssize_t active              # F is up to date for rows [0, active); all, except on a path
    cdef readonly int per_row           # variables of a row: v = per_row * row + 0 or 1
    cdef readonly int groups            # 1 or 2, each with a fixed sum of beta and a level
    cdef double level[2]                # V of the margin, of each group
    cdef double total[2]                # required sum of beta of each group
    cdef readonly double drift          # bound on the rounding error of F since it was last recomputed
    cdef readonly bint inexact          # result of SMO: not exact, no start of a path
    cdef DoubleRows rows
    cdef Control control                # asked by kernel rows, or None
    # by row
    cdef double[::1] F                  # sum_j beta_j K_j
    cdef double[::1] diagonal           # K(p, p)
    cdef int64_t[::1] tag               # the caller's id of a row
    # by variable
    cdef double[::1] linear
    cdef double[::1] lower
    cdef double[::1] upper
    cdef double[::1] beta
    cdef int8_t[::1] where
    cdef double[::1] side               # 1: V stays, or comes from, below the level; -1: above; 0: neither
    cdef int8_t[::1] group              # index of its sum and level
    cdef int32_t[::1] place             # in ``member``, -1 outside the margin
    # the margin
    cdef Cholesky factor                # of K'_MM: K_MM + shift within each group
    cdef int32_t[::1] member            # variable of each row of the factor
    cdef double shift                   # added to the kernel values of each group
    cdef double ridge                   # added to the diagonal of K_MM; 0: exact
    cdef double largest                 # K_ii
    cdef double[::1] column             # of a variable that may join: K'_Mv, then L^-1 K'_Mv
    cdef double[::1] null               # K'_MM^-1 of that column
    cdef double[::1] dbeta              # by place in the margin
    cdef double[::1] ones
    cdef double[::1] ones_of_other      # of group 1
    cdef const double **margin_rows     # scratch for svmx_add_rows
    cdef double[::1] computed           # scratch for rows that are not kept
    cdef int32_t[::1] moves             # scratch for pairs of rows: ``discard`` must not fail
    cdef list swapped                   # swaps since ``mark``
    cdef object before                  # saved by ``mark``
    cdef object lists_before            # the arrays then, None if they have not changed but for ``left``
    cdef list left                      # variables that have left at rest, as they were
    cdef Cholesky factor_before         # saved factor, None if it has not changed
    cdef double kkt_gap(self) noexcept nogil
    cdef Certificate certificate(self, int g) noexcept nogil
    cdef double score(self, Py_ssize_t v) noexcept nogil
    cdef bint is_inside(self, Py_ssize_t v) noexcept nogil
    cdef double sum_residual(self, int g) noexcept nogil
    cdef double excess(self, Py_ssize_t v) noexcept nogil
    cdef double largest_level(self) noexcept nogil
    cdef bint is_empty(self, int g) noexcept nogil
    cdef bint has_empty_group(self) noexcept nogil
    cdef int set_totals(self, totals) except -1
    cdef void assign(self, Py_ssize_t v, int where) noexcept nogil
    cdef void assign_bound(self, Py_ssize_t v) noexcept nogil
    cdef const double *row(self, int32_t p) except NULL nogil
    cdef int set_beta(self, Py_ssize_t v, double beta) except -1 nogil
    cdef int make_room(self, Py_ssize_t n) except -1
    cdef int meet(self, Kernel kernel, Control control) except -1
    cdef int keep_lists(self) except -1
    cdef int leave_at_rest(self, Py_ssize_t v) except -1
    cdef int keep_factor(self) except -1 nogil
    cdef int swap_rows(self, const int32_t *pairs, Py_ssize_t n) except -1 nogil
    cdef bint has_room_in_margin(self) noexcept nogil
    cdef int make_room_in_margin(self, Py_ssize_t more=*) except -1


cdef void swap_values(double[::1] values, Py_ssize_t v, Py_ssize_t w) noexcept nogil


cdef double border_margin(PathState s, Py_ssize_t v) except? -1.0 nogil
cdef int append_to_margin(PathState s, Py_ssize_t v, double schur) except -1 nogil
cdef int remove_from_margin(PathState s, Py_ssize_t v) except -1 nogil
cdef int clear_margin(PathState s) except -1 nogil
cdef int add_margin_rows(PathState s, const double *coef, Py_ssize_t n, double *out) except -1 nogil
cdef int rescale_shift(PathState s) except -1
