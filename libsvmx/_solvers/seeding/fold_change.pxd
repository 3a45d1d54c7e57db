from libc.stdint cimport int8_t, int32_t

from libsvmx._core.stopping cimport Control
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets


# A fold and the known optimum; arrays by variable, shape (m,).
cdef struct FoldStart:
    Py_ssize_t m
    Py_ssize_t n_rows           # m, or m / 2: then variables v and n_rows + v share a row
    int groups                  # 1 or 2
    const double *lower         # IN  box in the fold; both bounds 0: not in the fold
    const double *upper
    const int8_t *group         # IN
    const int32_t *column       # IN  kernel row of a variable
    bint in_order               # IN  whether column is 0, 1, 2, ……
    const double *V             # IN  at the optimum
    double sum[2]               # IN  of beta in the fold, by group
    Py_ssize_t n_left           # IN  variables of R with beta != 0; their columns and beta
    const int32_t *left_column
    const double *left_beta
    Py_ssize_t n_entering       # IN  variables of T
    int8_t *entering            # IN  whether in T (beta = 0); after ``describe`` 1: violates optimality, -1: does not
    double *beta                # IN  the optimum, OUT the start, within the box; unchanged if there is none
    # set by ``FoldSeeder`` (leaving) and ``describe``
    const double *leaving       # sum over R of beta_r K_r
    double level[2]             # of V on the margin, by group
    double missing[2]           # sum - sum of beta over the variables of the fold, by group


cdef class FoldChange:
    cdef readonly Kernel kernel
    cdef readonly Control control
    cdef readonly Py_ssize_t size
    cdef readonly tuple sums
    cdef readonly object lower, upper, group, row, beta, scores, former
    cdef readonly double most_work, work, path_values, path_lines
    cdef Targets targets
    cdef FoldStart at
    cdef double[::1] start, left_beta
    cdef int32_t[::1] left_column
    cdef int8_t[::1] enters
    cdef const double[::1] low, high, low_before, high_before, V
    cdef const int8_t[::1] group_of
    cdef const int32_t[::1] column
    cdef bint is_new(self, Py_ssize_t v) noexcept
    cdef FoldStart *begin(self) except NULL
    cdef SharedRows rows(self)


# Which variables AdjustAlpha moves.
cdef enum Movable:
    ENTERING
    FREE
    ALL


cdef int add_rows(const FoldStart *at, const double *old, const double *new, SharedRows rows, Control control,
                  double *sums) except -1 nogil
cdef int add_block(const FoldStart *at, const int32_t *column, int count, const double *factor, SharedRows rows,
                   Control control, double *sums) except -1 nogil
cdef void add_known(const FoldStart *at, const float **K, int count, const double *factor, double *sums) noexcept nogil
cdef void describe(FoldStart *at, double eps) noexcept nogil
cdef double above(const FoldStart *at, Py_ssize_t v) noexcept nogil
cdef int move_scores(const FoldStart *at, const double *before, SharedRows rows, Control control,
                     double *scores) except -1 nogil
cdef bint make_feasible(const FoldStart *at, const double *known, int32_t *scratch) except -1 nogil
cdef bint shift(const FoldStart *at, Movable which, int g, const double *known, int32_t *scratch) except -1 nogil
