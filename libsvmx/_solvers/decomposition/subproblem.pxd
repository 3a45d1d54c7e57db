from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from libsvmx._core.stopping cimport Control
from libsvmx._kernels.kernel_matrix cimport Targets


cdef enum:
    MIXED           # half the largest violators, half at random
    RANDOM          # at random among the candidates
    LARGEST         # the largest violators


cdef class Selection:
    cdef readonly int rule
    cdef readonly double kept
    cdef uint64_t state
    cdef double[::1] key
    cdef double[::1] sorted
    cdef double random(self) noexcept nogil
    cdef Py_ssize_t choose(self, Py_ssize_t n, int groups, const double *V, const float *up, const float *low,
                           Py_ssize_t stride, int32_t *last, int32_t round, Py_ssize_t q,
                           int32_t *chosen) noexcept nogil
    cdef Py_ssize_t take_largest(self, Py_ssize_t n, Py_ssize_t q, int32_t *last, int32_t round,
                                 int32_t *chosen) noexcept nogil
    cdef double threshold(self, Py_ssize_t n, Py_ssize_t count) noexcept nogil


cdef class Subproblem:
    cdef readonly Py_ssize_t room
    cdef readonly Py_ssize_t stride
    cdef readonly Py_ssize_t size
    cdef readonly int groups
    cdef readonly int64_t steps
    cdef readonly int64_t subproblems
    cdef public int64_t fallbacks
    cdef readonly double gained
    cdef double level[2]
    cdef int64_t rounds
    cdef readonly object engine
    cdef Subproblem inner
    cdef Selection selection
    cdef Control control
    cdef float[::1] K
    cdef double[::1] exact          # K in double, shape (size * size,), by rows
    cdef int8_t[::1] filled         # which of its rows are filled
    cdef const int32_t[::1] sources # their kernel rows
    cdef Targets targets            # what fills them; None: K in float is what engines work on
    cdef float[::1] nearby
    cdef float[::1] float_diagonal
    cdef double[::1] V
    cdef double[::1] beta
    cdef double[::1] lower
    cdef double[::1] upper
    cdef double[::1] diagonal
    cdef int8_t[::1] group
    cdef float[:, ::1] up
    cdef float[:, ::1] low
    cdef int32_t[::1] working
    cdef int32_t[::1] last
    cdef double[::1] before
    cdef double[::1] coef
    cdef double[::1] falls
    cdef const float **rows
    cdef void begin(self, Py_ssize_t size) noexcept nogil
    cdef void put(self, Py_ssize_t v, double V, double beta, double lower, double upper, double diagonal,
                  int group) noexcept nogil
    cdef void update_status(self, Py_ssize_t v) noexcept nogil
    cdef bint crowded(self) noexcept nogil
    cdef double gap(self) noexcept nogil
    cdef int solve(self, double eps, int64_t limit) except -1 nogil
    cdef int solve_by_pairs(self, double eps, int64_t limit) except -1 nogil
    cdef bint tick(self, int64_t amount) except -1 nogil
    cdef bint renew_scores(self) noexcept nogil
    cdef int many_steps(self, double eps, int64_t limit) except -1 nogil
    cdef void begin_steps(self, Py_ssize_t size) noexcept nogil
    cdef int pair_steps(self, double eps, int64_t limit) except -1 nogil
    cdef void load(self, Subproblem full, Py_ssize_t n) noexcept nogil
    cdef bint absorb(self) noexcept nogil
    cdef int lay_doubles(self, Targets targets, const int32_t[::1] sources) except -1
    cdef int fill_doubles(self, const int64_t[::1] places) except -1 nogil
    cdef int check(self, const int64_t[::1] places) except -1
