from libc.stdint cimport int8_t, int32_t

from libsvmx._solvers.path.path_state cimport PathState


cdef struct Pile:       # numbers that become more
    double *at
    Py_ssize_t size
    Py_ssize_t room


cdef class Trace:
    cdef readonly bint keeps            # coefficients, by variable
    cdef readonly bint squares          # of decision values minus targets
    cdef readonly Py_ssize_t n_lines
    cdef double first, last             # C at eta = 0 and at eta = 1
    cdef Pile lines, sets, members, crossings
    cdef int8_t[::1] seen               # the set of each variable on the last line
    cdef int32_t[::1] test_of           # by tag: number of a test row, -1 for others
    cdef int32_t[::1] position          # of each test row
    cdef const double[::1] target
    cdef int8_t[::1] positive           # whether its decision value is, -1: not known yet
    cdef int begin(self, PathState s, double first, double last) except -1
    cdef int line(self, PathState s, const double *velocity, const double *dF, double eta, double begin, double length,
                  double rho, double drho, bint resting) except -1 nogil
    cdef int keep(self, PathState s, const double *velocity, const double *dF, double begin, double length,
                  bint resting) except -1 nogil
    cdef int test(self, PathState s, const double *dF, double begin, double length, double rho, double drho, double C,
                  double end) except -1 nogil
    cdef int cross(self, double C, Py_ssize_t k, bint positive) except -1 nogil
