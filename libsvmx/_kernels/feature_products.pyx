"""Products with rows of features as an interior-point method needs them: dense rows of few features, and sparse
rows."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from libsvmx._core.dispatch cimport SVMX_NARROW, SVMX_NARROW_ROOM, svmx_narrow_gram
from libsvmx._core.matrix cimport CsrMatrix

from libsvmx._core.stopping import NOBODY


# ---- Sparse rows -----------------------------------------------------------------------------------
#
# Sparse rows of features as an interior-point method needs them: products, and weighted sums of outer products.

# Products of a piece of work between two questions.
cdef int64_t PIECE = 1 << 22


cdef class SparseRows:
    """SparseRows(indptr, columns, values, n)

    Parameters
    ----------
    indptr : buffer of int64, shape (m + 1,)     may begin anywhere: rows are parts of larger arrays
    columns : buffer of int32                    ascending in each row, 0 <= column < n
    values : buffer of float64

    Attributes
    ----------
    m, n : int       rows and columns
    unit : int       1: parts begin anywhere

    Raises
    ------
    ValueError       arrays that do not fit together, or columns that do not ascend from 0 to n - 1
    """

    def __cinit__(self, indptr, columns, values, Py_ssize_t n):
        cdef Py_ssize_t i
        cdef int64_t k
        cdef int32_t last
        self.indptr_, self.columns_, self.values_ = indptr, columns, values
        self.indptr, self.columns, self.values = indptr, columns, values
        self.m, self.n = self.indptr.shape[0] - 1, n
        if self.m < 0 or self.indptr[0] < 0 or not self.indptr[self.m] <= self.columns.shape[0] == self.values.shape[0]:
            raise ValueError("indptr, columns and values do not fit together")
        for i in range(self.m):
            if not self.indptr[i] <= self.indptr[i + 1] <= self.columns.shape[0]:
                raise ValueError(f"indptr does not ascend at row {i}")
            last = -1
            for k in range(self.indptr[i], self.indptr[i + 1]):
                if not last < self.columns[k] < n:
                    raise ValueError(f"columns of row {i} do not ascend below {n}")
                last = self.columns[k]

    @property
    def unit(self):
        return 1

    @property
    def nnz(self):
        return self.indptr[self.m] - self.indptr[0]

    def squares(self):
        """The sum of |x|^2 over the rows."""
        cdef double total = 0.0
        cdef int64_t k
        for k in range(self.indptr[0], self.indptr[self.m]):
            total += self.values[k] * self.values[k]
        return total

    def times(self, w):
        """X w, shape (m,)."""
        cdef const double[::1] v = w
        out_ = np.empty(self.m)
        cdef double[::1] out = out_
        cdef const int64_t[::1] indptr = self.indptr
        cdef const int32_t[::1] columns = self.columns
        cdef const double[::1] values = self.values
        cdef Py_ssize_t i
        cdef int64_t k
        cdef double total
        if v.shape[0] != self.n:
            raise ValueError(f"a vector of {v.shape[0]} for {self.n} columns")
        with nogil:
            for i in range(self.m):
                total = 0.0
                for k in range(indptr[i], indptr[i + 1]):
                    total += values[k] * v[columns[k]]
                out[i] = total
        return out_

    def transposed(self, vectors):
        """vectors X, shape (k, n), of ``vectors``, shape (k, m)."""
        cdef const double[:, ::1] v = vectors
        cdef Py_ssize_t count = v.shape[0], i, j
        out_ = np.zeros((self.n, count))
        cdef double[:, ::1] out = out_
        cdef const int64_t[::1] indptr = self.indptr
        cdef const int32_t[::1] columns = self.columns
        cdef const double[::1] values = self.values
        cdef int64_t k
        cdef double x, first, second, third
        cdef double *at
        if v.shape[1] != self.m:
            raise ValueError(f"vectors of {v.shape[1]} for {self.m} rows")
        with nogil:
            if count == 3:  # the three sums of an iteration, side by side
                for i in range(self.m):
                    first, second, third = v[0, i], v[1, i], v[2, i]
                    for k in range(indptr[i], indptr[i + 1]):
                        x = values[k]
                        at = &out[columns[k], 0]
                        at[0] += x * first
                        at[1] += x * second
                        at[2] += x * third
            else:
                for j in range(count):
                    for i in range(self.m):
                        first = v[j, i]
                        for k in range(indptr[i], indptr[i + 1]):
                            out[columns[k], j] += values[k] * first
        return np.ascontiguousarray(out_.T)

    def curvature(self, weights, w):
        """X' diag(weights) X w, shape (n,)."""
        if len(w) != self.n or len(weights) != self.m:
            raise ValueError(f"a vector of {len(w)} and {len(weights)} weights for {self.m} x {self.n}")
        return self.transposed((self.times(w) * weights)[np.newaxis])[0]

    def gram(self, members, weights, asking=NOBODY):
        """sum of weight_i x_i x_i^T, its lower triangle, shape (n, n); sum of weight_i x_i, shape (n,).

        Parameters
        ----------
        members : buffer of int64, shape (q,), or None      rows; None for all
        weights : buffer of float64, shape (q,)
        """
        cdef const int64_t[::1] member = np.arange(self.m) if members is None else members
        cdef const double[::1] weight = weights
        outer_, sum_ = np.zeros((self.n, self.n)), np.zeros(self.n)
        cdef double[:, ::1] outer = outer_
        cdef double[::1] total = sum_
        cdef const int64_t[::1] indptr = self.indptr
        cdef const int32_t[::1] columns = self.columns
        cdef const double[::1] values = self.values
        cdef Py_ssize_t i
        cdef int64_t a, b, begin, end, work
        cdef double factor
        cdef double *row
        if weight.shape[0] != member.shape[0]:
            raise ValueError(f"{weight.shape[0]} weights for {member.shape[0]} rows")
        for i in range(member.shape[0]):
            if not 0 <= member[i] < self.m:
                raise IndexError(f"row {member[i]} of {self.m}")
        i = 0
        while i < member.shape[0]:
            work = 0
            with nogil:
                while i < member.shape[0] and work < PIECE:
                    begin, end = indptr[member[i]], indptr[member[i] + 1]
                    for a in range(begin, end):
                        factor = weight[i] * values[a]
                        total[columns[a]] += factor
                        row = &outer[columns[a], 0]
                        for b in range(begin, a + 1):  # columns ascend
                            row[columns[b]] += factor * values[b]
                    work += (end - begin + 1) * (end - begin) // 2
                    i += 1
            asking.ask(work)
        return outer_, sum_

    def take(self, members):
        """Rows as a dense array, shape (q, n). ``members``: buffer of int64, shape (q,)."""
        cdef const int64_t[::1] member = members
        out_ = np.zeros((member.shape[0], self.n))
        cdef double[:, ::1] out = out_
        cdef Py_ssize_t i
        cdef int64_t k
        for i in range(member.shape[0]):
            if not 0 <= member[i] < self.m:
                raise IndexError(f"row {member[i]} of {self.m}")
            for k in range(self.indptr[member[i]], self.indptr[member[i] + 1]):
                out[i, self.columns[k]] = self.values[k]
        return out_

    def part(self, Py_ssize_t begin, Py_ssize_t end):
        """Rows ``begin`` to ``end``, not copied."""
        if not 0 <= begin <= end <= self.m:
            raise IndexError(f"rows {begin} to {end} of {self.m}")
        return SparseRows(self.indptr_[begin:end + 1], self.columns_, self.values_, self.n)

    def select(self, members, asking=NOBODY):
        """A copy of these rows. ``members``: buffer of int64, shape (q,)."""
        cdef const int64_t[::1] member = members
        cdef Py_ssize_t i
        cdef int64_t k, size = 0
        indptr_ = np.zeros(member.shape[0] + 1, dtype=np.int64)
        cdef int64_t[::1] indptr = indptr_
        for i in range(member.shape[0]):
            if not 0 <= member[i] < self.m:
                raise IndexError(f"row {member[i]} of {self.m}")
            size += self.indptr[member[i] + 1] - self.indptr[member[i]]
            indptr[i + 1] = size
        columns_, values_ = np.empty(size, dtype=np.int32), np.empty(size)
        cdef int32_t[::1] columns = columns_
        cdef double[::1] values = values_
        size = 0
        for i in range(member.shape[0]):
            for k in range(self.indptr[member[i]], self.indptr[member[i] + 1]):
                columns[size], values[size] = self.columns[k], self.values[k]
                size += 1
        asking.ask(size)
        return SparseRows(indptr_, columns_, values_, self.n)

    def __reduce__(self):
        cdef int64_t begin = self.indptr[0], end = self.indptr[self.m]
        indptr = np.asarray(self.indptr) - begin
        return SparseRows, (indptr, np.array(self.columns[begin:end]), np.array(self.values[begin:end]), self.n)


def sparse_rows(CsrMatrix matrix, rows, features):
    """The rows of a matrix with its columns renumbered.

    Parameters
    ----------
    rows : buffer of int32, shape (m,)         rows of ``matrix``, repetitions allowed
    features : buffer of int32, shape (n,)     ascending indices of the columns; what else a row has is left out
    """
    cdef const int32_t[::1] chosen = rows
    cdef const int32_t[::1] feature = features
    cdef Py_ssize_t m = chosen.shape[0], n = feature.shape[0], i, j
    cdef int64_t k, size = 0
    cdef const int32_t *own
    column_ = np.full(<Py_ssize_t>matrix.max_index + 1, -1, dtype=np.int32)
    indptr_ = np.zeros(m + 1, dtype=np.int64)
    cdef int32_t[::1] column = column_
    cdef int64_t[::1] indptr = indptr_
    for j in range(n):
        if 0 <= feature[j] <= matrix.max_index:
            column[feature[j]] = <int32_t>j
    for i in range(m):
        if not 0 <= chosen[i] < matrix.n_rows:
            raise IndexError(f"row {chosen[i]} of {matrix.n_rows}")
        own = matrix.features(chosen[i]) - matrix.ptr[chosen[i]]
        for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
            size += column[own[k]] >= 0
        indptr[i + 1] = size
    columns_, values_ = np.empty(size, dtype=np.int32), np.empty(size)
    cdef int32_t[::1] columns = columns_
    cdef double[::1] values = values_
    size = 0
    for i in range(m):
        own = matrix.features(chosen[i]) - matrix.ptr[chosen[i]]
        for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
            if column[own[k]] >= 0:
                columns[size] = column[own[k]]
                values[size] = matrix.at(k)
                size += 1
    return SparseRows(indptr_, columns_, values_, n)


# ---- Dense rows of few features --------------------------------------------------------------------
#
# A product with dense rows of few features, for which BLAS is slow; featurerows.py has the rows. All arrays are float64
# and C-contiguous.

# Features of narrow rows at most.
NARROW = SVMX_NARROW


def narrow_gram(const double[:, ::1] X, members, const double[::1] weights):
    """sum of weight_i x_i x_i^T, its lower triangle, shape (n, n); sum of weight_i x_i, shape (n,).

    Parameters
    ----------
    X : array, shape (m, n)      n <= NARROW
    members : buffer of int64, shape (q,), or None       rows; None for all
    weights : array, shape (q,)
    """
    cdef Py_ssize_t m = X.shape[0], n = X.shape[1], q = weights.shape[0], i
    cdef const int64_t[::1] member
    cdef const int64_t *chosen = NULL
    if not 0 < n <= SVMX_NARROW:
        raise ValueError(f"rows of {n} features")
    if members is None:
        if q != m:
            raise ValueError(f"{q} weights for {m} rows")
    else:
        member = members
        if q != member.shape[0]:
            raise ValueError(f"{q} weights for {member.shape[0]} rows")
        for i in range(q):
            if not 0 <= member[i] < m:
                raise IndexError(f"row {member[i]} of {m}")
        chosen = &member[0] if q else NULL
    outer_, sum_ = np.zeros((n, n)), np.zeros(n)
    cdef double[::1] room = np.empty(SVMX_NARROW_ROOM)
    cdef double[:, ::1] outer = outer_
    cdef double[::1] total = sum_
    if q:
        with nogil:
            svmx_narrow_gram(q, n, &X[0, 0], chosen, &weights[0], &room[0], &outer[0, 0], &total[0])
    return outer_, sum_
