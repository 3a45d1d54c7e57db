from libc.stdint cimport int32_t, int64_t, uint64_t

from libsvmx._core.dispatch cimport svmx_kernel
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._core.process cimport ThreadPool
from libsvmx._kernels.products cimport Products, RbfPanels


cdef class Kernel:
    cdef readonly Py_ssize_t n
    cdef readonly int kind
    cdef readonly int degree
    cdef readonly double gamma
    cdef readonly double coef0
    cdef svmx_kernel formula
    cdef readonly bint given
    cdef bint of_distance           # K is a function of |u - v|^2
    cdef bint of_quotient           # K is of <u, v>, |u|^2 and |v|^2
    cdef readonly object diagonal
    cdef readonly bint binary
    cdef readonly bint integers
    cdef public int64_t values_computed
    cdef readonly CsrMatrix matrix
    cdef const int32_t[::1] rows
    cdef double[::1] squares
    # binary rows only
    cdef int64_t[::1] first_one     # where the features of row i start in ones
    cdef int32_t[::1] n_ones        # number of them
    cdef int32_t[::1] ones
    cdef float[::1] table
    cdef int n_table
    cdef int measure(self, Py_ssize_t begin) except -1
    cdef int take(self, Kernel whole, members) except -1
    cdef int keep_ones(self, int64_t most) except -1


cdef class Targets:
    cdef readonly Kernel kernel
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t tile
    cdef readonly bint blocks
    cdef readonly bint kept
    cdef readonly double value_ns   # estimates, see Targets
    cdef readonly double block_ns
    cdef readonly double again_ns
    cdef readonly double layout_ns
    cdef Targets of_thread(self)
    cdef bint has(self, int32_t i) noexcept nogil
    cdef int fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil
    cdef void lay_block(self, const int32_t *sources, int count) noexcept nogil
    cdef int fill_block(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end,
                        float **out) noexcept nogil
    cdef int fill_doubles(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil
    cdef int64_t fill_rows(self, const int32_t *sources, int count, Py_ssize_t n, float **out,
                           ThreadPool pool) noexcept nogil


cdef class DotTargets(Targets):
    cdef Products products
    cdef double[::1] squares
    cdef double[::1] scratch
    cdef double[::1] sources
    cdef bint on_demand             # rows of the kernel are computed in Python, and kept
    cdef void demand(self, const int32_t *sources, int count) noexcept nogil
    cdef readonly RbfPanels panels  # for rows that can be computed in one pass, or None
    cdef int lay_out(self, Kernel kernel, members, bint transposed, bint few, bint doubles) except -1
    cdef int lay_panels(self, members) except -1
    cdef void finish(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, const double *dots, float *out) noexcept nogil


cdef class BitTargets(Targets):
    cdef Py_ssize_t stride
    cdef int32_t base               # for kernels of shared ones only
    cdef uint64_t[::1] columns      # feature by feature
    cdef int32_t[::1] offset
    cdef double[::1] squares        # of the cosine
    cdef float[::1] ones_of         # of the Tanimoto kernel: number of each target
    cdef void divide(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil


cdef int set_formula(svmx_kernel *formula, int kind, int degree, double gamma, double coef0) except -1
