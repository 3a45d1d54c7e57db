from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint64_t

from libsvmx._core.dispatch cimport SVMX_SOURCES, svmx_kernel, svmx_source, svmx_targets
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._core.numbers cimport svmx_numbers


cdef enum:
    TILE = 1024     # targets per tile: their dot products stay in L1
    BLOCK_TILE = 128    # targets per tile of blocks


cdef class Products:
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t tile
    cdef readonly bint blocks
    cdef CsrMatrix matrix
    cdef const int32_t[::1] rows
    cdef int product                # see kernel_functions.h
    cdef Py_ssize_t width
    cdef int64_t nnz
    cdef double value_ns            # estimated time of a product
    cdef double block_ns            # in a block
    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil
    cdef int dots(self, int64_t nnz, const int32_t *index, svmx_numbers value, Py_ssize_t begin, Py_ssize_t end,
                  double *out) noexcept nogil
    cdef int distances(self, int64_t nnz, const int32_t *place, const double *value, Py_ssize_t begin, Py_ssize_t end,
                       double *out) noexcept nogil
    cdef double mean_nonzeros(self) noexcept nogil
    cdef void lay_sources(self, const int64_t *rows, int n, double *sources) noexcept nogil
    cdef int fill_block(self, const double *sources, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil
    cdef double dot(self, int64_t row, Py_ssize_t target) noexcept nogil


cdef class StreamedProducts(Products):
    cdef double[::1] source         # the row, by feature
    cdef int64_t spread             # number of that row in the matrix; -1: none
    cdef int meet(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil
    cdef void spread_out(self, int64_t row) noexcept nogil


cdef class PanelProducts(Products):
    cdef double[::1] in_double      # the panels, here
    cdef float[::1] in_float        # or here
    cdef svmx_numbers panels
    cdef bint full                  # dense enough for blocks over all features


cdef class InPlaceProducts(Products):
    pass


cdef class IntegerProducts(Products):
    cdef Py_ssize_t n_pairs         # of features
    cdef int16_t[::1] panels
    cdef void lay(self, int64_t row, Py_ssize_t step, int16_t *to) noexcept nogil


cdef class PostingProducts(Products):
    cdef int64_t[::1] column        # [c + 1]: begin of the postings of cell c = tile * width + feature
    cdef uint16_t[::1] place        # of the target within its tile
    cdef double[::1] in_double      # its value, here
    cdef float[::1] in_float        # or here
    cdef svmx_numbers values


cdef class ColumnProducts(Products):
    cdef Py_ssize_t stride
    cdef uint64_t[::1] columns
    cdef double[::1] value          # of each feature


cdef class GivenValues(Products):
    cdef bint transposed
    cdef int32_t[::1] serial
    cdef object lent                # rows on demand of the last ``demand`` that the matrix does not keep
    cdef int n_asked
    cdef int32_t asked[SVMX_SOURCES]
    cdef const void *asked_at[SVMX_SOURCES]
    cdef int demand(self, const int32_t *rows, int count) noexcept nogil
    cdef const void *found(self, int32_t row) noexcept nogil


cdef class RbfPanels:
    cdef Products products
    cdef bint full                  # panels are, or rows are dense
    cdef readonly bint in_place
    cdef readonly bint suits        # no row of a target is left to ``products``
    cdef CsrMatrix matrix
    cdef const int32_t[::1] rows    # of the kernel, in the matrix
    cdef double[::1] squares        # of the rows
    cdef double[::1] of_targets     # squares of the targets
    cdef double largest             # of the targets' squares
    cdef svmx_kernel formula
    cdef svmx_targets targets
    cdef Py_ssize_t n
    cdef Py_ssize_t block_tile      # targets at a time
    cdef readonly bint mostly_zero  # few values are in doubt even if rounding is large
    @staticmethod
    cdef RbfPanels over(Products products, CsrMatrix matrix, const int32_t[::1] rows, double[::1] squares,
                        const svmx_kernel *formula, double[::1] of_targets, const int32_t[::1] members)
    cdef int64_t doubts(self, const int32_t[::1] members) except -1
    cdef bint knows(self, int32_t i, svmx_source *source) noexcept nogil
    cdef int64_t tile(self, int32_t i, svmx_source source, Py_ssize_t begin, Py_ssize_t end, float *out,
                      int32_t *doubtful) noexcept nogil
    cdef bint fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil
    cdef bint fill_block(self, const int32_t *sources, int count, const double *laid, Py_ssize_t begin, Py_ssize_t end,
                         float **out) noexcept nogil
    cdef void settle(self, int32_t i, Py_ssize_t begin, int64_t n_doubtful, const int32_t *doubtful,
                     float *out) noexcept nogil
