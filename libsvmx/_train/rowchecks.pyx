"""Checks that look at every value."""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.buffers import zeros
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


def largest_serial(CsrMatrix vectors):
    """Largest serial number of precomputed support vectors, whose rows start with 0:serial; 0 without rows."""
    cdef Py_ssize_t i
    cdef double largest = 0
    for i in range(vectors.n_rows):
        largest = max(largest, vectors.value[vectors.ptr[i]])
    return int(largest)


def serials_only(CsrMatrix matrix, rows):
    """The given rows (buffer of int32) cut down to 0:serial, all a precomputed model needs of them."""
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t i, n = chosen.shape[0]
    indptr_, values_ = zeros("q", n + 1), zeros("d", n)
    cdef int64_t[::1] indptr = indptr_
    cdef double[::1] values = values_
    for i in range(n):
        indptr[i + 1] = i + 1
        values[i] = matrix.value[matrix.ptr[chosen[i]]]
    return CsrMatrix(indptr_, zeros("i", n), values_)
