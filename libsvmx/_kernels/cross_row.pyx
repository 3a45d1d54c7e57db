"""Kernel values between a single test row and support vectors, the same numbers as of a panel.

A panel of 32 rows costs the same with one row in it. Here lanes are vectors: their products with a row come from what
gives training its kernel rows (products.pyx), kept with the vectors. That takes the room of the vectors once more.
"""

from libc.math cimport floor
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.kernel_functions cimport svmx_kernel
from libsvmx._core.matrix cimport CsrMatrix, first_at_least
from libsvmx._core.matrix import compacted, distinct_features
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.products cimport Products
from libsvmx._kernels.products import products_of


cdef class CrossRow:
    """CrossRow(kernel): of the vectors and the function of a CrossKernel.

    ``load(tests, row)``, then ``fill(begin, end)`` puts K(row, vector) of the vectors [begin, end) at ``room``; ``begin``
    is a multiple of ``tile``, ``end`` at most the next one.

    Attributes
    ----------
    exact : bool           whether the values for the row last loaded are LIBSVM's own
    margin : float         how far they may be from LIBSVM's
    """

    def __cinit__(self, CrossKernel kernel):
        if kernel.given:
            raise ValueError("values of a precomputed kernel are given")
        self.kernel = kernel
        self.numbered = compacted(kernel.vectors)[0]
        self.renumbered = self.numbered is not kernel.vectors
        self.feature = distinct_features(kernel.vectors) if self.renumbered else zeros("i", 0)
        self.met, self.met_value, self.place, self.value = zeros("i", 1), zeros("d", 1), zeros("i", 1), zeros("d", 1)
        self.memory = zeros("d", 0)

    cdef int load(self, CsrMatrix tests, Py_ssize_t row) except -1:
        """Get ready for a row of ``tests``."""
        cdef CrossKernel kernel = self.kernel
        cdef int64_t k, first = tests.ptr[row], p = 0
        cdef Py_ssize_t width
        cdef const int32_t *feature = tests.features(row)
        cdef bint whole = kernel.whole, found
        cdef double x
        self.n, self.n_met, self.square = tests.ptr[row + 1] - first, 0, 0.0
        if self.place.shape[0] < self.n:
            self.met, self.met_value = zeros("i", self.n), zeros("d", self.n)
            self.place, self.value = zeros("i", self.n), zeros("d", self.n)
        width = 1 + <Py_ssize_t>self.numbered.max_index
        for k in range(self.n):
            x = self.value[k] = tests.at(first + k)
            self.square += x * x
            whole = whole and x == floor(x)
            p = feature[k]
            if self.renumbered:
                p = first_at_least(self.feature, feature[k], 0)
                found = p < width and self.feature[p] == feature[k]
            else:
                found = p < width
                p = min(p, width)
            self.place[k] = <int32_t>(p if found else ~p)
            if found:
                self.met[self.n_met], self.met_value[self.n_met] = <int32_t>p, x
                self.n_met += 1
        self.table = kernel.of_distance and whole and kernel.has_table(self.square)
        self.exact = self.table or not kernel.approximate
        self.margin = 0.0 if self.exact else kernel.error_bound(self.square, self.n)
        if self.table:
            kernel.tabulate(self.square)
        return self.choose(kernel.of_distance and self.exact and not self.table)

    cdef int choose(self, bint distances) except -1:
        """Products that give distances, or dots; made when they are needed first."""
        cdef Products chosen = self.for_distances if distances else self.for_dots
        if chosen is None:
            chosen = products_of(self.numbered, ramp(self.numbered.n_rows), distances)
            if distances:
                self.for_distances = chosen
            else:
                self.for_dots = chosen
            if self.memory.shape[0] < 2 * chosen.tile:
                self.memory = zeros("d", 2 * chosen.tile)
                self.room = &self.memory[0]
        self.products, self.tile, self.by_distances = chosen, chosen.tile, distances
        return 0

    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
        cdef const svmx_kernel *formula = &self.kernel.formula
        cdef double *t = self.room
        cdef Py_ssize_t v, n = end - begin
        if self.by_distances:
            self.products.distances(self.n, &self.place[0], &self.value[0], begin, end, t)
        else:
            self.products.dots(self.n_met, &self.met[0], &self.met_value[0], begin, end, t)
            if self.kernel.of_distance:
                for v in range(n):
                    t[v] = self.square + self.kernel.square_z[begin + v] - 2.0 * t[v]
        if self.table:
            for v in range(n):
                t[v] = self.kernel.table[<int64_t>t[v]]
        elif self.kernel.approximate:
            formula.function.about(n, formula, t)
        elif formula.function.values != NULL:
            formula.function.values(n, formula, t)
        return 0

    def values(self, CsrMatrix tests, Py_ssize_t row):
        """K(row of ``tests``, vector) of all vectors: buffer of float64, shape (n_vectors,)."""
        cdef Py_ssize_t begin, end, n = self.numbered.n_rows
        out_ = zeros("d", n)
        cdef double[::1] out = out_
        if not 0 <= row < tests.n_rows:
            raise IndexError(f"row {row} of {tests.n_rows}")
        self.load(tests, row)
        for begin in range(0, n, self.tile):
            end = min(begin + self.tile, n)
            self.fill(begin, end)
            memcpy(&out[begin], self.room, (end - begin) * sizeof(double))
        return out_
