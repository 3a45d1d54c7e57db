from libc.stdint cimport int32_t, int64_t

from libsvmx._core.dispatch cimport SVMX_TESTS, svmx_kernel, svmx_vectors
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._kernels.products cimport Products


cdef class CrossKernel:
    cdef readonly CsrMatrix vectors
    cdef readonly bint exact        # K of the rows last prepared is LIBSVM's, bit for bit
    cdef svmx_kernel formula
    cdef bint given                 # a precomputed kernel
    cdef bint of_distance           # K is a function of |x - z|^2
    cdef int product                # the product in place of x'z, see kernel_functions.h
    cdef bint of_squares            # K depends on |x|^2 and |z|^2, too
    cdef bint approximate
    cdef int distances              # how distances are computed
    # the vectors
    cdef CsrMatrix numbered         # with the features numbered as in the tests
    cdef svmx_vectors entries       # of ``numbered``
    cdef double[::1] square_z
    cdef double largest_square
    cdef int64_t longest
    cdef bint whole                 # every value is an integer
    cdef double[::1] table
    # the panel
    cdef CsrMatrix tests
    cdef Py_ssize_t n
    cdef const int32_t *rows
    cdef object lent                # rows on demand that are not kept
    cdef const void *asked_at[SVMX_TESTS]
    cdef Py_ssize_t n_slots
    cdef int32_t[::1] slot_feature
    cdef int32_t[::1] slot_of
    cdef double[::1] panel_memory
    cdef double[::1] squares_memory
    cdef double *panel
    cdef double *squares
    cdef double[SVMX_TESTS] square_x
    cdef double[SVMX_TESTS] margin  # bound of |K - LIBSVM's K| for each row of the panel
    cdef void release(self) noexcept
    cdef void clear_slots(self) noexcept nogil
    cdef bint has_table(self, double square) noexcept nogil
    cdef int tabulate(self, double square) except -1
    cdef int load(self, const int32_t *rows, Py_ssize_t n) noexcept nogil
    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil
    cdef void apply(self, Py_ssize_t n_vectors, double *values) noexcept nogil
    cdef double error_bound(self, double square, int64_t nonzeros) noexcept nogil


cdef class CrossRow:
    cdef CrossKernel kernel
    cdef readonly bint exact        # K of the row last loaded is LIBSVM's, bit for bit
    cdef readonly double margin     # bound of |K - LIBSVM's K| for it
    cdef Py_ssize_t tile
    cdef double *room               # of two tiles; ``fill`` writes to the first
    # the vectors
    cdef CsrMatrix numbered         # with features numbered 0, 1, …
    cdef bint renumbered
    cdef const int32_t[::1] feature     # original feature of each, if renumbered
    cdef Products for_dots
    cdef Products for_distances
    cdef double[::1] memory
    # the row
    cdef Products products          # for_dots or for_distances
    cdef bint by_distances
    cdef double square
    cdef bint table                 # whether K is read from the table of integer distances
    cdef int64_t n_met              # entries at features of the vectors
    cdef int32_t[::1] met
    cdef double[::1] met_value
    cdef int64_t n
    cdef int32_t[::1] place         # of every entry, see Products
    cdef double[::1] value
    cdef int choose(self, bint distances) except -1
    cdef int load(self, CsrMatrix tests, Py_ssize_t row) except -1
    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
