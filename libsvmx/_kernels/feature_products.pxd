from libc.stdint cimport int32_t, int64_t


cdef class SparseRows:
    cdef readonly Py_ssize_t m, n
    cdef object indptr_, columns_, values_
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] columns
    cdef const double[::1] values
