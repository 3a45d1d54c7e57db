from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._kernels.rows cimport KernelRows
from libsvmx._problem.certificate cimport Certificate
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.deferred cimport DeferredUpdates, GBar


cdef struct Optimum:
    double rho
    double r            # (rho of group 0 + rho of group 1) / 2, with two groups
    double objective


cdef class Smo:
    cdef KernelRows store
    cdef Py_ssize_t n_rows      # of the kernel, that positions stand for
    cdef Control control
    cdef Py_ssize_t total       # variables
    cdef Py_ssize_t size        # positions [0, size) take part; all but in a warm start
    cdef Py_ssize_t active_size    # positions [0, active_size) are not shrunk
    cdef int groups             # 1 or 2
    cdef bint unshrunk_once
    cdef bint unit_diagonal     # K_ii = 1 throughout
    cdef int64_t iterations
    cdef Py_ssize_t max_violator    # i of group 0 after the last step, -2 if the variables have moved since
    cdef double max_score           # its V
    # by position
    cdef double[::1] V
    cdef double[::1] alpha
    cdef double[::1] C
    cdef double[::1] QD
    cdef double[::1] linear
    cdef int8_t[::1] y
    cdef int32_t[::1] variable
    cdef float[:, ::1] up       # (groups, size): 0 in I_up of the group, -inf outside
    cdef float[:, ::1] low      # (groups, size): 0 in I_low of the group, +inf outside
    cdef GBar G_bar             # LIBSVM's, in scores: -sum_{alpha_j = C_j} beta_j K_j, by kernel row
    cdef double[::1] lanes      # scratch of the selections
    cdef int32_t[::1] shrunk    # scratch: positions
    cdef DeferredUpdates missed # of shrunk positions
    @staticmethod
    cdef Smo for_many(Py_ssize_t m, int groups, Control control, KernelRows store)
    cdef int make_room(self, Py_ssize_t m, int groups) except -1
    cdef void begin(self, Py_ssize_t m, Py_ssize_t n_rows, int groups) noexcept nogil
    cdef void put(self, Py_ssize_t p, int32_t v, double linear, double alpha, double C, int8_t y, double diagonal) noexcept nogil
    cdef object starting_order(self, DualProblem problem)
    cdef int optimize(self) except -1 nogil
    cdef int iterate(self, int64_t limit) except -1 nogil
    cdef int select_working_set(self, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil
    cdef const float *row(self, Py_ssize_t p) except NULL nogil
    cdef int fetch_with(self, Py_ssize_t p) except -1 nogil
    cdef int violators_to_compute(self, Py_ssize_t p, const float *side, double sign, int32_t *found) except -1 nogil
    cdef int step(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int update_G_bar(self, Py_ssize_t p, bint was_upper) except -1 nogil
    cdef int add_start(self) except -1 nogil
    cdef int fetch_next(self, Py_ssize_t p) except -1 nogil
    cdef void update_status(self, Py_ssize_t p) noexcept nogil
    cdef int shrink(self) except -1 nogil
    cdef double certify(self, Certificate *found) noexcept nogil
    cdef bint be_shrunk(self, Py_ssize_t p, const Certificate *found) noexcept nogil
    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef bint is_free(self, Py_ssize_t p) noexcept nogil
    cdef int unshrink(self) except -1 nogil
    cdef int reconstruct_gradient(self) except -1 nogil
    cdef int add_deferred(self, int64_t n_free) except -1 nogil
    cdef double calculate_rho(self, int g) noexcept nogil
    cdef void write(self, Optimum *found, double *beta, double *scores) noexcept nogil
    cdef object unfinished(self)
    cdef object solution(self, status, int64_t subproblems=*, int64_t fallbacks=*)
