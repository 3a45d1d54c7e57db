"""Where the numbers of a kernel row come from: dot products of one row with all rows.

Three sources behind one virtual call per row: dense panels, column postings, and the
given matrix of a precomputed kernel. Each sum runs over ascending features, one rounded
product after the other, as LIBSVM's merge of two sparse rows does; terms it skips are
zeros, which change no bit.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.lanes cimport SVMX_PANEL, svmx_panel_dots, svmx_postings_axpy
from libsvmx._core.matrix cimport CsrMatrix


# At this share of nonzeros and above, a dense panel reads fewer bytes per row than the
# postings (8 bytes a cell against 12 a nonzero plus a read-modify-write of the sum).
DENSE_FROM = 0.25


def products_of(CsrMatrix matrix, rows):
    """The source that suits the density of ``rows`` (buffer of int32) of ``matrix``."""
    cdef const int32_t[::1] chosen = rows
    cdef int64_t nnz = 0
    cdef Py_ssize_t i, n = chosen.shape[0]
    for i in range(n):
        nnz += matrix.ptr[chosen[i] + 1] - matrix.ptr[chosen[i]]
    if nnz >= DENSE_FROM * n * (1.0 + matrix.max_index):
        return PanelProducts(matrix, rows)
    return PostingProducts(matrix, rows)


cdef class Products:
    """Base: ``fill(i, out)`` writes n values of row i; ``out`` has room for ``padded`` doubles."""

    cdef int fill(self, Py_ssize_t i, double *out) noexcept nogil:
        return 0


cdef class PanelProducts(Products):
    """Dense data: panels of 16 rows, feature-major, so that a feature of row i meets 16 rows at once."""

    def __cinit__(self, CsrMatrix matrix, rows):
        cdef Py_ssize_t i, panel, lane
        cdef int64_t k
        self.matrix = matrix
        self._rows = rows
        self.n = self._rows.shape[0]
        self.rows = &self._rows[0] if self.n else NULL
        self.width = 1 + <Py_ssize_t>matrix.max_index
        self.padded = (self.n + SVMX_PANEL - 1) // SVMX_PANEL * SVMX_PANEL
        self.panels = zeros("d", self.padded * self.width)
        for i in range(self.n):
            panel, lane = i // SVMX_PANEL, i % SVMX_PANEL
            for k in range(matrix.ptr[self.rows[i]], matrix.ptr[self.rows[i] + 1]):
                self.panels[(panel * self.width + matrix.index[k]) * SVMX_PANEL + lane] = matrix.value[k]

    cdef int fill(self, Py_ssize_t i, double *out) noexcept nogil:
        cdef int64_t begin = self.matrix.ptr[self.rows[i]], end = self.matrix.ptr[self.rows[i] + 1]
        svmx_panel_dots(self.padded // SVMX_PANEL, self.width, &self.panels[0], end - begin,
                        self.matrix.index + begin, self.matrix.value + begin, out)
        return 0


cdef class PostingProducts(Products):
    """Sparse data: for each feature the rows that have it, so that only meeting nonzeros are touched."""

    def __cinit__(self, CsrMatrix matrix, rows):
        cdef Py_ssize_t i
        cdef int64_t k, at, width = 1 + <int64_t>matrix.max_index
        self.matrix = matrix
        self._rows = rows
        self.n = self.padded = self._rows.shape[0]
        self.rows = &self._rows[0] if self.n else NULL
        self.column = zeros("q", width + 1)
        for i in range(self.n):
            for k in range(matrix.ptr[self.rows[i]], matrix.ptr[self.rows[i] + 1]):
                self.column[matrix.index[k] + 1] += 1
        for k in range(width):
            self.column[k + 1] += self.column[k]
        self.row_of = zeros("i", self.column[width])
        self.value = zeros("d", self.column[width])
        cursor = bytearray(memoryview(self.column).cast("B"))
        cdef int64_t[::1] next_free = memoryview(cursor).cast("q")
        for i in range(self.n):
            for k in range(matrix.ptr[self.rows[i]], matrix.ptr[self.rows[i] + 1]):
                at = next_free[matrix.index[k]]
                next_free[matrix.index[k]] += 1
                self.row_of[at] = <int32_t>i
                self.value[at] = matrix.value[k]

    cdef int fill(self, Py_ssize_t i, double *out) noexcept nogil:
        cdef int64_t k, begin
        memset(out, 0, self.n * sizeof(double))
        for k in range(self.matrix.ptr[self.rows[i]], self.matrix.ptr[self.rows[i] + 1]):
            begin = self.column[self.matrix.index[k]]
            svmx_postings_axpy(self.column[self.matrix.index[k] + 1] - begin, &self.row_of[begin], &self.value[begin],
                               self.matrix.value[k], out)
        return 0


cdef class GivenValues(Products):
    """Precomputed kernel: row i holds its serial number at index 0 and K(i, s) at index s, every s present."""

    def __cinit__(self, CsrMatrix matrix, rows):
        cdef Py_ssize_t i
        self.matrix = matrix
        self._rows = rows
        self.n = self.padded = self._rows.shape[0]
        self.serial = zeros("i", self.n)
        for i in range(self.n):
            self.serial[i] = <int32_t>matrix.value[matrix.ptr[self._rows[i]]]

    cdef int fill(self, Py_ssize_t i, double *out) noexcept nogil:
        cdef const double *given = self.matrix.value + self.matrix.ptr[self._rows[i]]
        cdef Py_ssize_t j
        for j in range(self.n):
            out[j] = given[self.serial[j]]
        return 0
