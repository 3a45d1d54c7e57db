"""Checks that look at every value."""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.buffers import zeros
from libsvmx._core.matrix cimport CsrMatrix

# Pairs looked at by first_asymmetry.
cdef Py_ssize_t SYMMETRY_PAIRS = 1000


def first_not_finite(CsrMatrix matrix, rows):
    """Position in ``rows`` (buffer of int32) of the first row with a nan or infinite value, or -1."""
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t i
    cdef int64_t k
    for i in range(chosen.shape[0]):
        for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
            if matrix.at(k) - matrix.at(k) != 0:
                return i
    return -1


def precomputed_row_length(CsrMatrix matrix, Py_ssize_t row):
    """Last index of the row if it has all of 0, 1, …, last; else -1."""
    cdef int64_t k, size = matrix.ptr[row + 1] - matrix.ptr[row]
    cdef const int32_t *feature = matrix.features(row)
    for k in range(size):
        if feature[k] != k:
            return -1
    return size - 1


def has_index_zero(CsrMatrix matrix):
    """Whether any row has a feature with index 0."""
    cdef Py_ssize_t i
    for i in range(matrix.n_rows):
        if matrix.ptr[i] < matrix.ptr[i + 1] and matrix.features(i)[0] == 0:
            return True
    return False


def first_asymmetry(CsrMatrix matrix, rows):
    """Looks for K(i, j) != K(j, i) among about a thousand pairs of precomputed rows (buffer of int32).

    Returns
    -------
    (i, j) : positions in ``rows`` of the first pair found, or None. Kernel values may differ by rounding:
        only a difference beyond 1e-6 of their size counts.
    """
    cdef const int32_t[::1] chosen = rows
    cdef Py_ssize_t n = chosen.shape[0], i, j, step = max(1, n * n // SYMMETRY_PAIRS), at = 0
    cdef int64_t row_i, row_j
    cdef double a, b
    if n and step > 1 and step % n == 0:
        step += 1  # so that columns vary
    while at < n * n:
        i, j = at // n, at % n
        row_i, row_j = matrix.ptr[chosen[i]], matrix.ptr[chosen[j]]
        a = matrix.value[row_i + <int64_t>matrix.value[row_j]]
        b = matrix.value[row_j + <int64_t>matrix.value[row_i]]
        if fabs(a - b) > 1e-6 * max(fabs(a), fabs(b)):
            return min(i, j), max(i, j)
        at += step
    return None


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
    return CsrMatrix(indptr_, zeros("i", n), values_, copy=False)
