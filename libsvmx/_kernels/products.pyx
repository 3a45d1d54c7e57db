"""Where the numbers of a kernel row come from: dot products of one row with many target rows.

Three sources behind one virtual call per tile of targets: dense panels, column postings,
and the given matrix of a precomputed kernel. Each sum runs over ascending features, one
rounded product after the other, as LIBSVM's merge of two sparse rows does; terms it skips
are zeros, which change no bit.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.lanes cimport SVMX_PANEL, svmx_panel_dots, svmx_postings_axpy
from libsvmx._core.matrix cimport CsrMatrix


# At this share of nonzeros and above, a dense panel reads fewer bytes per row than the
# postings (8 bytes a cell against 10 a nonzero plus a read-modify-write of the sum).
DENSE_FROM = 0.25
# Largest tile of postings: a target's place in its tile fits 16 bits.
cdef int64_t LARGEST_TILE = 1 << 16


def products_of(CsrMatrix matrix, rows):
    """The source that suits the density of the targets ``rows`` (buffer of int32) of ``matrix``."""
    cdef const int32_t[::1] chosen = rows
    cdef int64_t nnz = 0
    cdef Py_ssize_t i, n = chosen.shape[0]
    for i in range(n):
        nnz += matrix.ptr[chosen[i] + 1] - matrix.ptr[chosen[i]]
    if nnz >= DENSE_FROM * n * (1.0 + matrix.max_index):
        return PanelProducts(matrix, rows)
    return PostingProducts(matrix, rows)


cdef class Products:
    """Base. ``fill(row, begin, end, out)``: products of row ``row`` of the matrix with the targets [begin, end).

    ``begin`` is a multiple of ``tile``, ``end`` at most the next one; ``out`` has room for ``tile`` doubles.
    """

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        return 0


cdef class PanelProducts(Products):
    """Dense data: panels of 16 targets, feature-major, so that a feature of the row meets 16 targets at once."""

    def __cinit__(self, CsrMatrix matrix, rows):
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t i, panel, lane
        cdef int64_t k
        self.matrix, self.n, self.tile = matrix, chosen.shape[0], TILE
        self.width = 1 + <Py_ssize_t>matrix.max_index
        self.panels = zeros("d", (self.n + SVMX_PANEL - 1) // SVMX_PANEL * SVMX_PANEL * self.width)
        for i in range(self.n):
            panel, lane = i // SVMX_PANEL, i % SVMX_PANEL
            for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
                self.panels[(panel * self.width + matrix.index[k]) * SVMX_PANEL + lane] = matrix.value[k]

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef int64_t first = self.matrix.ptr[row]
        svmx_panel_dots((end - begin + SVMX_PANEL - 1) // SVMX_PANEL, self.width, &self.panels[begin * self.width],
                        self.matrix.ptr[row + 1] - first, self.matrix.index + first, self.matrix.value + first, out)
        return 0


cdef class PostingProducts(Products):
    """Sparse data: for each feature the targets that have it, so that only meeting nonzeros are touched.

    Postings are kept by tile of targets, whose sums then stay in L1; tiles grow where features are so many
    that the table of (tile, feature) would outgrow the data.
    """

    def __cinit__(self, CsrMatrix matrix, rows):
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t i
        cdef int64_t k, cell, nnz = 0, n_tiles
        self.matrix, self.n, self.tile = matrix, chosen.shape[0], TILE
        self.width = 1 + <Py_ssize_t>matrix.max_index
        for i in range(self.n):
            nnz += matrix.ptr[chosen[i] + 1] - matrix.ptr[chosen[i]]
        while self.tile < LARGEST_TILE and self.width * (self.n // self.tile) > nnz:
            self.tile *= 2
        n_tiles = (self.n + self.tile - 1) // self.tile
        self.column = zeros("q", n_tiles * self.width + 2)
        for i in range(self.n):
            cell = i // self.tile * self.width + 1
            for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
                self.column[cell + matrix.index[k]] += 1
        for k in range(n_tiles * self.width + 1):
            self.column[k + 1] += self.column[k]
        self.place = zeros("H", nnz)
        self.value = zeros("d", nnz)
        # filled from the back: column[c + 1], so far the end of cell c, becomes its start
        for i in range(self.n - 1, -1, -1):
            cell = i // self.tile * self.width + 1
            for k in range(matrix.ptr[chosen[i]], matrix.ptr[chosen[i] + 1]):
                self.column[cell + matrix.index[k]] -= 1
                self.place[self.column[cell + matrix.index[k]]] = <uint16_t>(i % self.tile)
                self.value[self.column[cell + matrix.index[k]]] = matrix.value[k]

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef const int64_t *start = &self.column[begin // self.tile * self.width + 1]
        cdef int64_t k, first
        cdef int32_t f
        memset(out, 0, (end - begin) * sizeof(double))
        for k in range(self.matrix.ptr[row], self.matrix.ptr[row + 1]):
            f = self.matrix.index[k]
            first = start[f]
            svmx_postings_axpy(start[f + 1] - first, &self.place[first], &self.value[first], self.matrix.value[k], out)
        return 0


cdef class GivenValues(Products):
    """Precomputed kernel: row i holds its serial number at index 0 and K(i, s) at index s, every s present.

    ``transposed``: K(target, row) instead of K(row, target); the same if the given matrix is symmetric.
    """

    def __cinit__(self, CsrMatrix matrix, rows, bint transposed=False):
        cdef Py_ssize_t i
        self.matrix, self.rows, self.transposed, self.tile = matrix, rows, transposed, TILE
        self.n = self.rows.shape[0]
        self.serial = zeros("i", self.n)
        for i in range(self.n):
            self.serial[i] = self.serial_of(self.rows[i])

    cdef int32_t serial_of(self, int64_t row) noexcept nogil:
        return <int32_t>self.matrix.value[self.matrix.ptr[row]]

    cdef int fill(self, int64_t row, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef const double *given = self.matrix.value + self.matrix.ptr[row]
        cdef int32_t serial = self.serial_of(row)
        cdef Py_ssize_t j
        if self.transposed:
            for j in range(begin, end):
                out[j - begin] = self.matrix.value[self.matrix.ptr[self.rows[j]] + serial]
        else:
            for j in range(begin, end):
                out[j - begin] = given[self.serial[j]]
        return 0
