from libc.stdint cimport int32_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.seeded_start cimport FoldStart
from libsvmx._solvers.seeding.start_rows cimport StartRows


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
