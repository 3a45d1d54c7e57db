from libc.stdint cimport int8_t, int32_t

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.doublerows cimport DoubleRows
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport PathState
from libsvmx._solvers.seeding.fold_change cimport FoldStart


cdef class AtoPath:
    cdef readonly double values, lines
    cdef PathState state             # of all variables; a row's tag is its variable
    cdef Motion motion
    cdef DoubleRows rows
    cdef Py_ssize_t n_rows           # variables v and n_rows + v share a row
    cdef int32_t[::1] row_of         # by ``key_of``, for ``keep_factor``
    cdef int32_t[::1] member_key     # keys of the factor after the last path
    cdef Cholesky shared             # of a star: factor of the margin over all rows, its keys, shift and ridge
    cdef int32_t[::1] shared_key
    cdef double shared_shift, shared_ridge
    cdef int8_t[::1] violating       # for ``mend``
    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns) except -1
    cdef int bind(self, SharedRows rows, Control control) except -1
    cdef int forget(self) noexcept nogil
    cdef int share(self, const int32_t *column, Py_ssize_t n, Py_ssize_t n_first, SharedRows rows,
                   Control control) except -1 nogil
    cdef int factor(self, PathState s, const int32_t *column, Py_ssize_t n, Py_ssize_t n_first) except -1 nogil
    cdef int begin_shared(self) except -1 nogil
    cdef int attach(self, SharedRows rows, Control control) except -1 nogil
    cdef void keep_keys(self, PathState s) noexcept nogil
    cdef int32_t key_of(self, PathState s, Py_ssize_t q) noexcept nogil
    cdef bint follow(self, FoldStart *at, SharedRows rows, Control control, double most_work,
                     double *scores) except -1 nogil
    cdef bint begin(self, PathState s, FoldStart *at, double most_work) except -1 nogil
    cdef Py_ssize_t load(self, PathState s, FoldStart *at) noexcept nogil
    cdef bint keep_factor(self, PathState s, Py_ssize_t n, double most_work) except -1 nogil
    cdef int send(self, PathState s, Py_ssize_t q) except -1 nogil
    cdef bint walk(self, PathState s) except -1 nogil
    cdef bint mend(self, PathState s) except -1 nogil
    cdef int finish(self, PathState s, FoldStart *at, double *scores) except -1 nogil
