from libc.stdint cimport int8_t, int32_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._solvers.seeding.ato_path cimport AtoPath
from libsvmx._solvers.seeding.fold_change cimport FoldStart


# The seeders, in the order of registry.py.
cdef enum SeederKind:
    SIR
    MIR
    ATO
    AVG
    TOP
    NEAR


cdef struct Distance:
    double distance
    int32_t variable


cdef class Replacement:
    cdef Cholesky factor            # of the normal equations
    cdef Distance *distances
    cdef int32_t[::1] unknown, equation, kept
    cdef double[::1] goal, right, column
    cdef double *values             # K, shape (unknowns, equations)
    cdef Py_ssize_t room
    cdef double work                # of the last least squares, in values
    cdef int reserve(self, Py_ssize_t m) except -1
    cdef int replace(self, FoldStart *at, SharedRows rows, Control control, double most_work) except -1 nogil
    cdef Py_ssize_t choose_unknowns(self, FoldStart *at, double most_work) noexcept nogil
    cdef Py_ssize_t choose_equations(self, FoldStart *at, Py_ssize_t n_unknowns, double most_work) noexcept nogil


cdef class FoldSeeder:
    cdef AtoPath path
    cdef Replacement replacement
    cdef bint along_path
    cdef SeederKind in_a_star
    cdef double[::1] leaving, origin, before
    cdef int32_t[::1] chosen
    cdef Py_ssize_t n_chosen
    cdef int8_t[::1] used
    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns, SeederKind kind) except -1
    cdef bint make(self, FoldStart *at, SharedRows rows, Control control, SeederKind kind, double most_work,
                   double *scores) except -1 nogil
    cdef int propose(self, FoldStart *at, SharedRows rows, Control control, SeederKind kind, double most_work,
                     double *scores) except -1 nogil
    cdef SeederKind cheapest(self, const FoldStart *at) noexcept nogil
    cdef int take_leave(self, FoldStart *at, SharedRows rows, Control control, SeederKind kind) except -1 nogil
    cdef int spread(self, const FoldStart *at) except -1 nogil
    cdef void begin_to_hand_over(self, const FoldStart *at, SeederKind kind) noexcept nogil
    cdef void hand_over(self, const FoldStart *at, const float *K, double beta, SeederKind kind) noexcept nogil
    cdef Py_ssize_t nearest(self, const FoldStart *at, const float *K, bint grows, bint same_class) noexcept nogil


cpdef SeederKind kind_of(str name) except *
cpdef str name_of(SeederKind kind)
