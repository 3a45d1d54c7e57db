from libc.stdint cimport int64_t

from libsvmx._solvers.path.following cimport Walk


cdef class Path(Walk):
    cdef readonly int64_t polished          # of the last update: paths in the linear term that repaired drift
    cdef void level_of_free(self) noexcept nogil
    cdef int clip(self, Py_ssize_t v) except -1
    cdef int loosen(self) except -1
    cdef double tolerance(self) noexcept nogil
    cdef bint is_settled(self) noexcept nogil
    cdef int move(self, Py_ssize_t v, double beta) except -1
    cdef int level_of_margin(self) except -1
    cdef int rescale_shift(self) except -1
    cdef int refresh(self, bint everywhere) except -1
    cdef int gather_margin(self) except -1
    cdef int polish_once(self) except -1
