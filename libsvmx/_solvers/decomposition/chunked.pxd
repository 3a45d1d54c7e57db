from libc.stdint cimport int32_t

from libsvmx._kernels.kernel_matrix cimport Targets
from libsvmx._kernels.rowstore cimport RowStore
from libsvmx._solvers.control cimport Control


cdef class ScoreUpdates:
    cdef RowStore store
    cdef Control control
    cdef readonly bint in_double    # V by kernel values in double
    cdef bint keeps                 # rows are kept in the store
    cdef bint stale                 # ``targets`` no longer match the active positions
    cdef Targets targets            # the active positions
    cdef float[::1] values          # SVMX_SOURCES rows over them
    cdef double[::1] doubles        # or one row in double
    cdef double largest             # kernel value
    cdef int add(self, Py_ssize_t n, const int32_t *positions, const double *coef, Py_ssize_t active_size,
                 double *V) except -1 nogil
    cdef int add_kept(self, Py_ssize_t n, const int32_t *positions, const double *coef, Py_ssize_t active_size,
                      double *V) except -1 nogil
    cdef int add_block(self, const int32_t *sources, const double *coef, int count, Py_ssize_t n, double *V) except -1 nogil
    cdef int take_positions(self, Py_ssize_t active_size) except -1
    cdef double rounding(self, double squares) noexcept nogil


cdef object kernel_rows(RowStore store, const int32_t *positions, Py_ssize_t n)
