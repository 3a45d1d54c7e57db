from libc.stdint cimport int8_t, int32_t

from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.fold_change cimport FoldChange
from libsvmx._solvers.seeding.start_rows cimport ComputedRows, StartRows


# A fold and the optimum that is known; arrays by variable, shape (m,).
cdef struct FoldStart:
    Py_ssize_t m
    int groups                  # 1 or 2
    const double *lower         # IN  the box of the fold; both bounds are 0 for what takes no part
    const double *upper
    const int8_t *group         # IN  which sum a variable counts in
    const int32_t *column       # IN  of its kernel row
    const int8_t *entering      # IN  of T, beta = 0: 1 on the wrong side of its level, -1 on the right one; else 0
    const double *leaving       # IN  sum over R of beta_r K_r
    const double *V             # IN  at the optimum
    double *beta                # IN  the optimum, OUT the start, within the box; untouched without one
    double level[2]             # of V on the margin, by group
    double missing[2]           # what the sum over the variables that take part lacks in the fold, by group


cdef class ChangeStart:
    cdef FoldStart at
    cdef readonly ComputedRows rows
    cdef FoldChange change
    cdef double[::1] beta, leaving
    cdef int8_t[::1] entering
    cdef const double[::1] lower, upper, V
    cdef const int8_t[::1] group
    cdef const int32_t[::1] column


cdef double above(const FoldStart *at, Py_ssize_t v) noexcept nogil
cdef int move_scores(const FoldStart *at, const double *before, StartRows rows, Control control,
                     double *scores) except -1 nogil
