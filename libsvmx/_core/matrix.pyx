"""Sparse rows, the one form in which data enters the package.

Row i holds the pairs (indices[k], values[k]) for indptr[i] <= k < indptr[i+1], indices
ascending. Indices are the ones of the LIBSVM file: features count from 1, and index 0
is allowed (a precomputed kernel keeps its serial number there).
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from libsvmx._core.buffers import zeros


cdef class CsrMatrix:
    """CsrMatrix(indptr, indices, values)

    Parameters
    ----------
    indptr : buffer of int64, shape (n_rows + 1,)     not copied
    indices : buffer of int32, shape (nnz,)           not copied; ascending in each row, >= 0
    values : buffer of float64, shape (nnz,)          not copied

    Attributes
    ----------
    n_rows : int
    max_index : int      largest index of any entry, 0 for a matrix without entries

    Raises
    ------
    ValueError           lengths that do not fit, or indices that are negative or not ascending
    """

    def __cinit__(self, indptr, indices, values):
        cdef int64_t i, k, begin, end
        cdef int32_t last
        self._indptr, self._indices, self._values = indptr, indices, values
        self.indptr, self.indices, self.values = indptr, indices, values
        self.n_rows = self._indptr.shape[0] - 1
        if self.n_rows < 0 or self._indptr[0] != 0 or self._indptr[self.n_rows] != self._indices.shape[0] \
                or self._indices.shape[0] != self._values.shape[0]:
            raise ValueError("indptr, indices and values do not fit together")
        self.ptr = &self._indptr[0]
        self.index = &self._indices[0] if self._indices.shape[0] else NULL
        self.value = &self._values[0] if self._values.shape[0] else NULL
        self.max_index = 0
        for i in range(self.n_rows):
            begin, end = self.ptr[i], self.ptr[i + 1]
            if begin > end or end > self._indices.shape[0]:
                raise ValueError(f"row {i}: indptr must not decrease")
            last = -1
            for k in range(begin, end):
                if self.index[k] <= last:
                    raise ValueError(f"row {i}: feature indices must be ascending and not negative, "
                                     f"but {self.index[k]} follows {last}")
                last = self.index[k]
            if last > self.max_index:
                self.max_index = last

    @property
    def nnz(self):
        return self._indices.shape[0]

    def take(self, rows):
        """The given rows, copied, in the given order. ``rows``: buffer of int32."""
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t i, n = chosen.shape[0]
        cdef int64_t begin, size, at = 0
        indptr = zeros("q", n + 1)
        cdef int64_t[::1] ptr = indptr
        for i in range(n):
            if not 0 <= chosen[i] < self.n_rows:
                raise IndexError(f"row {chosen[i]} of {self.n_rows}")
            ptr[i + 1] = ptr[i] + self.ptr[chosen[i] + 1] - self.ptr[chosen[i]]
        indices, values = zeros("i", ptr[n]), zeros("d", ptr[n])
        cdef int32_t[::1] index = indices
        cdef double[::1] value = values
        for i in range(n):
            begin = self.ptr[chosen[i]]
            size = self.ptr[chosen[i] + 1] - begin
            if size:
                memcpy(&index[at], self.index + begin, size * sizeof(int32_t))
                memcpy(&value[at], self.value + begin, size * sizeof(double))
            at += size
        return CsrMatrix(indptr, indices, values)

    def row(self, Py_ssize_t i):
        """Row i as a list of (index, value) pairs."""
        if not 0 <= i < self.n_rows:
            raise IndexError(f"row {i} of {self.n_rows}")
        return [(self.index[k], self.value[k]) for k in range(self.ptr[i], self.ptr[i + 1])]

    def __reduce__(self):
        return _unpickle, (bytes(self.indptr), bytes(self.indices), bytes(self.values))

    def __repr__(self):
        return f"<CsrMatrix of {self.n_rows} rows, {self.nnz} entries, largest index {self.max_index}>"


def _unpickle(indptr, indices, values):
    return CsrMatrix(memoryview(indptr).cast("q"), memoryview(indices).cast("i"), memoryview(values).cast("d"))
