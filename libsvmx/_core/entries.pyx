"""From arrays of NumPy and SciPy to the buffers of a CsrMatrix.

In two passes: entries are counted, then written. Another thread may change an array meanwhile, so the second pass
checks all bounds, and raises ValueError.
"""

from libc.float cimport DBL_MAX, FLT_MAX
from libc.math cimport fabs, fabsf
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.matrix import CHANGED

ctypedef fused real:
    float
    double

ctypedef fused stored:
    float
    double

ctypedef fused whole:
    int32_t
    int64_t

def count_entries(const real[:, :] table, counts, double most=DBL_MAX):
    """Number of nonzero values of each row, into ``counts`` (OUT, int64, shape (rows,)).

    Rows must be contiguous. Returns row * columns + column of the first value that is not finite or beyond ``most``, or
    -1.
    """
    cdef int64_t[::1] count = counts
    cdef Py_ssize_t i, j, n = table.shape[0], columns = table.shape[1]
    cdef int64_t entries, good
    cdef const real *row
    cdef real limit
    if real is float:
        limit = <real>min(most, <double>FLT_MAX)
    else:
        limit = <real>min(most, DBL_MAX)
    if count.shape[0] != n or (columns > 1 and table.strides[1] != sizeof(real)):
        raise ValueError("rows of values side by side are needed, and a count for each")
    if columns == 0:
        return -1
    with nogil:
        for i in range(n):
            row = &table[i, 0]
            entries, good = 0, 0
            for j in range(columns):
                entries += row[j] != 0
                if real is float:
                    good += fabsf(row[j]) <= limit
                else:
                    good += fabs(row[j]) <= limit
            count[i] = entries
            if good < columns:
                break
        else:
            i = -1
    if i < 0:
        return -1
    for j in range(columns):
        if not fabs(row[j]) <= limit:
            return i * columns + j
    raise ValueError(CHANGED)


def write_entries(const real[:, :] table, indptr, indices, stored[::1] value):
    """Write index (column + 1) and value of each nonzero value, at ``indptr`` (IN, int64, shape (rows + 1,)).

    Values in float are for a table in float.
    """
    cdef const int64_t[::1] ptr = indptr
    cdef int32_t[::1] index = indices
    cdef Py_ssize_t i, j, n = table.shape[0], columns = table.shape[1]
    cdef int64_t at, end, room = min(index.shape[0], value.shape[0])
    cdef bint fits = ptr.shape[0] == n + 1
    cdef const real *row
    if columns == 0 or n == 0:
        return
    if columns > 1 and table.strides[1] != sizeof(real):
        raise ValueError("rows of values side by side are needed")
    with nogil:
        for i in range(n):
            if not fits:
                break
            at, end, row = ptr[i], ptr[i + 1], &table[i, 0]
            fits = 0 <= at <= end <= room
            if not fits:
                break
            if end - at == columns:
                for j in range(columns):
                    index[at + j] = <int32_t>(j + 1)
                    value[at + j] = <stored>row[j]
                continue
            for j in range(columns):
                if row[j] != 0:
                    if at == end:
                        fits = False
                        break
                    index[at] = <int32_t>(j + 1)
                    value[at] = <stored>row[j]
                    at += 1
            fits = fits and at == end
    if not fits:
        raise ValueError(CHANGED)


def count_stored(indptr, const whole[::1] indices, const real[::1] data, int64_t columns, counts):
    """Number of nonzero stored values of each row, into ``counts`` (OUT, int64, shape (rows,)).

    Parameters
    ----------
    indptr : buffer of int64, shape (rows + 1,)      ascending, up to at most the length of ``indices`` and ``data``

    Returns
    -------
    int      position of the first entry whose value is not finite or whose index is not below ``columns``, or -1
    """
    cdef const int64_t[::1] ptr = indptr
    cdef int64_t[::1] count = counts
    cdef Py_ssize_t i, n = count.shape[0]
    cdef int64_t k, entries, room = min(indices.shape[0], data.shape[0]), bad = -1
    if ptr.shape[0] != n + 1:
        raise ValueError("there is no count for each row")
    with nogil:
        for i in range(n):
            entries = 0
            if not 0 <= ptr[i] <= ptr[i + 1] <= room:
                bad = -2
                break
            for k in range(ptr[i], ptr[i + 1]):
                if not 0 <= indices[k] < columns or data[k] - data[k] != 0:
                    bad = k
                    break
                entries += data[k] != 0
            if bad >= 0:
                break
            count[i] = entries
    if bad == -2:
        raise ValueError("indptr does not ascend, or leads beyond the entries")
    return bad


def write_stored(indptr, const whole[::1] indices, const real[::1] data, kept_indptr, kept_indices, values):
    """Write index (column + 1) and value of each nonzero stored value, at ``kept_indptr``; see ``count_stored``."""
    cdef const int64_t[::1] ptr = indptr, kept_ptr = kept_indptr
    cdef int32_t[::1] index = kept_indices
    cdef double[::1] value = values
    cdef Py_ssize_t i, n = kept_ptr.shape[0] - 1
    cdef int64_t k, at, end, room = min(indices.shape[0], data.shape[0])
    cdef int64_t kept_room = min(index.shape[0], value.shape[0])
    cdef bint fits = ptr.shape[0] == n + 1
    with nogil:
        for i in range(n):
            if not fits:
                break
            at, end = kept_ptr[i], kept_ptr[i + 1]
            fits = 0 <= ptr[i] <= ptr[i + 1] <= room and 0 <= at <= end <= kept_room
            if not fits:
                break
            for k in range(ptr[i], ptr[i + 1]):
                if data[k] != 0:
                    if at == end:
                        fits = False
                        break
                    index[at] = <int32_t>(indices[k] + 1)
                    value[at] = data[k]
                    at += 1
            fits = fits and at == end
    if not fits:
        raise ValueError(CHANGED)
