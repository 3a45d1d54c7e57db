from libc.stdint cimport int32_t, int64_t

from libsvmx._core.numbers cimport svmx_numbers, svmx_numbers_from


cdef class CsrMatrix:
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_columns
    cdef readonly int max_index
    cdef readonly int first_index
    cdef readonly object indptr
    cdef readonly Py_ssize_t nnz
    cdef object _buffer             # of values in double
    cdef const int64_t *ptr
    cdef readonly bint regular      # all rows have the same features
    cdef const int32_t *feature     # of all rows, or of each if they are the same; see ``features``
    cdef const double *value        # NULL if the values are in float: only ``at`` and ``values_from`` read both
    cdef const float *in_float      # NULL if they are in double
    cdef const int64_t[::1] _indptr
    cdef const int32_t[::1] _indices
    cdef const double[::1] _values
    cdef const float[::1] _floats
    cdef int64_t n_nonzeros, n_used     # values that are not 0, and features that have one, once they are counted

    cdef int hold(self, values) except -1
    cdef take_regular(self, const int32_t[::1] chosen, indptr)

    cdef inline const int32_t *features(self, Py_ssize_t i) noexcept nogil:
        """Of the entries of row i, which begin at ptr[i]."""
        return self.feature if self.regular else self.feature + self.ptr[i]

    cdef inline double at(self, int64_t k) noexcept nogil:
        """Value k of all."""
        return self.value[k] if self.in_float == NULL else <double>self.in_float[k]

    cdef inline svmx_numbers values_from(self, int64_t k) noexcept nogil:
        cdef svmx_numbers numbers
        numbers.in_double, numbers.in_float = self.value, self.in_float
        return svmx_numbers_from(numbers, k)


cdef Py_ssize_t first_at_least(const int32_t[::1] sorted_indices, int32_t index, Py_ssize_t begin) noexcept nogil
