from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._kernels.rowstore cimport RowStore
from libsvmx._problem.certificate cimport Certificate
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.deferred cimport BoundScores


cdef class Smo:
    cdef RowStore store
    cdef Control control
    cdef Py_ssize_t total       # variables
    cdef Py_ssize_t size        # positions [0, size) take part; all but in a warm start
    cdef Py_ssize_t active      # positions [0, active) are not shrunk
    cdef int groups             # 2 for split problems, else 1
    cdef bint unshrunk_once
    cdef bint unit_diagonal     # K_ii = 1 throughout
    cdef int64_t iterations
    cdef Py_ssize_t top         # of group 0 after the last step, -2 if the variables have moved since
    cdef double top_score
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
    cdef BoundScores bound      # -sum_{alpha_j = C_j} beta_j K_j, by kernel row
    cdef double[::1] lanes      # scratch of the selections
    cdef object starting_order(self, DualProblem problem)
    cdef int iterate(self, int64_t limit) except -1 nogil
    cdef int select(self, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil
    cdef const float *row(self, Py_ssize_t p) except NULL nogil
    cdef int fetch_with(self, Py_ssize_t p) except -1 nogil
    cdef int foremost_missing(self, Py_ssize_t p, const float *side, double sign, int32_t *found) except -1 nogil
    cdef int step(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil
    cdef int move_bound(self, Py_ssize_t p, bint was_upper) except -1 nogil
    cdef int add_start(self) except -1 nogil
    cdef int fetch_next(self, Py_ssize_t p) except -1 nogil
    cdef void set_sides(self, Py_ssize_t p) noexcept nogil
    cdef int shrink(self) except -1 nogil
    cdef double certify(self, Certificate *found) noexcept nogil
    cdef bint be_shrunk(self, Py_ssize_t p, const Certificate *found) noexcept nogil
    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil
    cdef bint is_free(self, Py_ssize_t p) noexcept nogil
    cdef int unshrink(self) except -1 nogil
    cdef int reconstruct(self) except -1 nogil
    cdef int add_missed(self, int64_t n_free) except -1
    cdef double offset(self, int g) noexcept nogil
    cdef object unfinished(self)
    cdef object solution(self, status, int64_t chunks=*, int64_t fallbacks=*)
