from libc.stdint cimport int32_t, int64_t

from libsvmx._solvers.smo.positions cimport Positions


cdef class Direction:
    cdef Py_ssize_t n               # alpha that it moves; 0: there is none
    cdef double curvature           # d'Kd
    cdef double[::1] Kd             # by position
    cdef int32_t[::1] place         # by position: in the arrays below, -1: it is not moved
    cdef int32_t[::1] position
    cdef double scale               # times ``d`` it is the direction in alpha
    cdef double[::1] d
    cdef double[::1] C
    cdef double *alpha              # newer than that of the positions
    cdef double *moved              # scratch
    cdef double[::1] of_alpha       # memory of these two
    cdef int64_t max_violator       # i of group 0 after the last step, and its V
    cdef double max_score
    cdef bint step(self, Positions at, Py_ssize_t i, Py_ssize_t j, const float *K_i, const float *K_j,
                   double curvature) noexcept nogil
    cdef void begin(self, Positions at, Py_ssize_t i, Py_ssize_t j, const float *K_i, const float *K_j, double curvature,
                    double step) noexcept nogil
    cdef void move_scores(self, Positions at, const float *K_i, const float *K_j, double gamma,
                          double step) noexcept nogil
    cdef Py_ssize_t add(self, Positions at, Py_ssize_t p, double moves) noexcept nogil
    cdef void end(self, Positions at) noexcept nogil
