from libc.stdint cimport int8_t, int32_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.process cimport ThreadPool
from libsvmx._kernels.gram cimport KernelValues
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._solvers.control cimport Control


cdef class FoldChange:
    cdef readonly Kernel kernel
    cdef readonly Control control
    cdef readonly Py_ssize_t size
    cdef readonly tuple sums
    cdef readonly object lower
    cdef readonly object upper
    cdef readonly object group
    cdef readonly object row
    cdef readonly object beta
    cdef readonly object scores
    cdef readonly object leaving
    cdef readonly object entering
    cdef Targets targets
    cdef readonly double most_work
    cdef readonly double path_work
    cdef readonly bint path_whole
    cdef readonly object reached_beta
    cdef readonly object reached_scores


cdef object rows_of_leaving(FoldChange change)
cdef object times_kernel(FoldChange change, Targets targets, double[::1] coef, ThreadPool pool)


cdef class StartRows:
    cdef const float *row(self, int32_t column) except NULL nogil


cdef class ValueRows(StartRows):
    cdef KernelValues values


cdef class ComputedRows(StartRows):
    cdef Kernel kernel
    cdef Control control
    cdef Targets targets
    cdef ThreadPool pool
    cdef float **kept                # by column, NULL: not computed
    cdef Py_ssize_t n


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


cdef struct Distance:
    double distance
    int32_t variable


cdef class Replacement:
    cdef Cholesky factor            # of the normal equations
    cdef Distance *distances
    cdef int32_t[::1] unknown, equation, kept
    cdef double[::1] goal, right, column
    cdef double *values             # K of the unknowns with the equations, one unknown after the other
    cdef Py_ssize_t room
    cdef int reserve(self, Py_ssize_t m) except -1
    cdef int replace(self, FoldStart *at, StartRows rows, Control control, double most_work) except -1 nogil
    cdef Py_ssize_t choose_unknowns(self, FoldStart *at, double most_work) noexcept nogil
    cdef Py_ssize_t choose_equations(self, FoldStart *at, Py_ssize_t n_unknowns, double most_work) noexcept nogil
