from libc.stdint cimport int32_t, int64_t

from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.products cimport Products


cdef class CrossRow:
    cdef CrossKernel kernel
    cdef readonly bint exact        # of the row last loaded: K is LIBSVM's, bit for bit
    cdef readonly double margin     # bound of |K - LIBSVM's K| for it
    cdef Py_ssize_t tile
    cdef double *room               # of two tiles; the values of the first
    # the vectors
    cdef CsrMatrix numbered         # features numbered 0, 1, …
    cdef bint renumbered
    cdef const int32_t[::1] feature     # what these are, if they are not the numbers themselves
    cdef Products for_dots
    cdef Products for_distances
    cdef double[::1] memory
    # the row
    cdef Products products          # by which it is computed
    cdef bint by_distances
    cdef double square
    cdef bint table                 # K by the table of integer distances
    cdef int64_t n_met              # entries at features of the vectors
    cdef int32_t[::1] met
    cdef double[::1] met_value
    cdef int64_t n
    cdef int32_t[::1] place         # of every entry, see Products
    cdef double[::1] value
    cdef int choose(self, bint distances) except -1
    cdef int load(self, CsrMatrix tests, Py_ssize_t row) except -1
    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
