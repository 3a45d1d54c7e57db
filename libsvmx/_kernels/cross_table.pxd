from libc.stdint cimport int32_t, int64_t

from libsvmx._core.test_panels cimport SVMX_TESTS
from libsvmx._kernels.cross cimport CrossKernel


cdef class CrossTable(CrossKernel):
    cdef double[::1] entry          # (n_rows, n_rows)
    cdef const double *of_row[SVMX_TESTS]      # of each row of the panel, with all
    cdef int32_t[::1] everyone
    cdef Py_ssize_t at              # the first row of the panel that is tabulated
    cdef void share(self, double[::1] entry) noexcept
    cdef bint begin(self, int64_t panel) noexcept nogil
    cdef void tabulate_with(self, Py_ssize_t row, double *values) noexcept nogil
