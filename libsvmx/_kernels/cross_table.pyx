"""All kernel values of some rows as predictions have them, for those that are predicted again and again.

Folds of permuted labels predict every row by models of nearly all others, over and over. Values that have been computed once
are read from a table, the same bits.
"""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.arrays import ramp
from libsvmx._core.test_panels cimport SVMX_TESTS
from libsvmx._kernels.cross cimport CrossKernel


cdef class CrossTable(CrossKernel):
    """CrossTable(vectors, kind, degree, gamma, coef0): a CrossKernel whose test rows are the ``vectors`` themselves.

    After ``prepare``, panel by panel, and in any order: ``begin``, then ``tabulate_with`` each row. After all of them
    ``load`` and ``fill``, which read the table.
    """

    def __cinit__(self, *_):
        self.everyone = ramp(self.vectors.n_rows)

    cdef void share(self, double[::1] entry) noexcept:
        """The table, float64, shape (n_rows, n_rows), of all threads that fill it."""
        self.entry = entry

    cdef bint begin(self, int64_t panel) noexcept nogil:
        """Rows of a panel of the table are next; False if there is none of this number."""
        self.at = panel * SVMX_TESTS
        if self.at >= self.everyone.shape[0]:
            return False
        CrossKernel.load(self, &self.everyone[self.at], min(<Py_ssize_t>SVMX_TESTS, self.everyone.shape[0] - self.at))
        return True

    cdef void tabulate_with(self, Py_ssize_t row, double *values) noexcept nogil:
        """K of these with another one; ``values``: room for SVMX_TESTS."""
        cdef Py_ssize_t r
        CrossKernel.fill(self, row, row + 1, values)
        for r in range(self.n):
            self.entry[(self.at + r) * self.everyone.shape[0] + row] = values[r]

    cdef int load(self, const int32_t *rows, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t r
        self.n = n
        for r in range(n):
            self.of_row[r] = &self.entry[rows[r] * self.everyone.shape[0]]
        return 0

    cdef int fill(self, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef Py_ssize_t v, r
        for v in range(begin, end):
            for r in range(self.n):
                out[(v - begin) * SVMX_TESTS + r] = self.of_row[r][v]
        return 0
