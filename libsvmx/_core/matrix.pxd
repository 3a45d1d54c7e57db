from libc.stdint cimport int32_t, int64_t


cdef class CsrMatrix:
    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_columns
    cdef readonly int max_index
    cdef readonly int first_index
    cdef readonly object indptr
    cdef readonly object indices
    cdef readonly object values
    cdef const int64_t *ptr
    cdef const int32_t *index
    cdef const double *value
    cdef const int64_t[::1] _indptr
    cdef const int32_t[::1] _indices
    cdef const double[::1] _values


cdef Py_ssize_t first_at_least(const int32_t[::1] sorted_indices, int32_t index, Py_ssize_t begin) noexcept nogil
