"""Checks that look at every value."""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.matrix cimport CsrMatrix


def first_not_finite(CsrMatrix matrix, rows):
    """Position in ``rows`` (buffer of int32) of the first row with a nan or infinite value, or -1."""
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t i
    cdef int64_t k
    for i in range(chosen.shape[0]):
        for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
            if matrix.value[k] - matrix.value[k] != 0:
                return i
    return -1


def precomputed_row_length(CsrMatrix matrix, Py_ssize_t row):
    """Last index of the row if it has all of 0, 1, …, last; else -1."""
    cdef int64_t k, begin = matrix.ptr[row], end = matrix.ptr[row + 1]
    for k in range(begin, end):
        if matrix.index[k] != k - begin:
            return -1
    return end - begin - 1


def has_index_zero(CsrMatrix matrix):
    """Whether any row has a feature with index 0."""
    cdef Py_ssize_t i
    for i in range(matrix.n_rows):
        if matrix.ptr[i] < matrix.ptr[i + 1] and matrix.index[matrix.ptr[i]] == 0:
            return True
    return False
