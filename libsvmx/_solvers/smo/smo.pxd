from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.stopping cimport Control
from libsvmx._kernels.rowstore cimport KernelRows
from libsvmx._solvers.dual cimport Certificate, DualProblem
from libsvmx._solvers.smo.conjugate cimport Direction
from libsvmx._solvers.smo.positions cimport DeferredUpdates, GBar, PositionsWithRows, Scans


cdef struct Optimum:
    double rho
    double r            # (rho of group 0 + rho of group 1) / 2, with two groups
    double objective


cdef class Smo(PositionsWithRows):
    cdef Py_ssize_t n_rows      # of the kernel
    cdef Control control
    cdef bint unshrunk_once
    cdef bint scores_known      # V belongs to the alpha given to put
    cdef int64_t iterations
    cdef int64_t stepped        # sum of the active variables over all steps
    cdef int64_t countdown      # steps to the next shrinking
    cdef int64_t next_look      # number of iterations at which ``stalls`` looks again
    cdef double least_gap, last_gap     # since its last look, and up to it
    cdef readonly bint stalled  # ended by ``stalls``
    cdef double reach           # largest alpha_i / C_i so far; 1 after a start other than 0
    cdef Py_ssize_t max_violator    # i of group 0 after the last step, -2 if the variables have moved since
    cdef double max_score           # its V
    cdef GBar G_bar             # LIBSVM's, in scores: -sum_{alpha_j = C_j} beta_j K_j, by kernel row
    cdef Scans scans
    cdef Direction direction    # of the last steps; None: all steps are of a pair, as LIBSVM's
    cdef int32_t[::1] shrunk    # scratch: positions
    cdef DeferredUpdates missed # of shrunk positions
    cdef int make_room(self, Py_ssize_t m, int groups) except -1
    cdef int solve_many(self, Py_ssize_t m, Control control, KernelRows store) except -1
    cdef void begin(self, Py_ssize_t m, Py_ssize_t n_rows, int groups) noexcept nogil
    cdef object starting_order(self, DualProblem problem)
    cdef int optimize(self) except -1 nogil
    cdef int64_t limit(self) noexcept nogil
    cdef Py_ssize_t count_free(self) noexcept nogil
    cdef int advance_to(self, int64_t limit) except -1 nogil
    cdef int iterate(self, int64_t limit) except -1 nogil
    cdef int make_steps(self, int64_t limit) except -1 nogil
    cdef void count_anew(self) noexcept nogil
    cdef bint stalls(self) noexcept nogil
    cdef double rounding(self) noexcept nogil
    cdef bint refined_by_r(self, double eps, bint converged) except -1 nogil
    cdef int bring_back(self) except -1 nogil
    cdef int64_t between_shrinkings(self) noexcept nogil
    cdef int select_working_set(self, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil
    cdef int step(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef void step_of_pair(self, Py_ssize_t i, Py_ssize_t j, const float *K_i, const float *K_j,
                           double curvature) noexcept nogil
    cdef void end_direction(self) noexcept nogil
    cdef int before_rows(self) except -1 nogil
    cdef int update_G_bar(self, Py_ssize_t p, bint was_upper) except -1 nogil
    cdef int add_start(self) except -1 nogil
    cdef int shrink(self) except -1 nogil
    cdef double certify(self, Certificate *found) noexcept nogil
    cdef bint be_shrunk(self, Py_ssize_t p, const Certificate *found) noexcept nogil
    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef int unshrink(self) except -1 nogil
    cdef int reconstruct_gradient(self) except -1 nogil
    cdef int add_deferred(self, int64_t n_free) except -1 nogil
    cdef double calculate_rho(self, int g) noexcept nogil
    cdef double r(self) noexcept nogil
    cdef double work(self) noexcept nogil
    cdef void to_bounds(self) noexcept nogil
    cdef void write(self, Optimum *found, double *beta, double *scores) noexcept nogil
    cdef object ended(self, bint converged)
    cdef object unfinished(self)
    cdef object solution(self, status, int64_t subproblems=*, int64_t fallbacks=*)


cdef inline int64_t libsvms_limit(Py_ssize_t m) noexcept nogil:
    """LIBSVM's limit of iterations for m variables."""
    return max(<int64_t>10000000, <int64_t>100 * m)


cdef double tolerance_by_r(double eps, double r, double rounding=*) noexcept nogil
