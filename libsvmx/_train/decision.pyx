"""Decision values and votes of a model for many rows, the sums in LIBSVM's order."""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.buffers import zeros
from libsvmx._core.lanes cimport SVMX_TESTS, svmx_weighted_sum
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._kernels.cross cimport CrossKernel

from cpython.exc cimport PyErr_CheckSignals


cdef class DecisionFunction:
    """DecisionFunction(kernel, coef, rho, n_sv)

    Parameters
    ----------
    kernel : CrossKernel                        over the support vectors, grouped by class
    coef : buffer of float64, shape ((k-1) * n_vectors,)     LIBSVM's sv_coef, row by row
    rho : buffer of float64, shape (n_pairs,)
    n_sv : sequence of int, length k, or None   vectors of each class; None: one function of all vectors
    """

    cdef CrossKernel kernel
    cdef const double[::1] coef
    cdef const double[::1] rho
    cdef int64_t[::1] start
    cdef readonly int k
    cdef readonly Py_ssize_t n_functions

    def __cinit__(self, CrossKernel kernel, coef, rho, n_sv):
        cdef int c
        self.kernel = kernel
        self.coef, self.rho = coef, rho
        self.k = 0 if n_sv is None else <int>len(n_sv)
        self.n_functions = 1 if n_sv is None else self.k * (self.k - 1) // 2
        self.start = zeros("q", self.k + 1)
        for c in range(self.k):
            self.start[c + 1] = self.start[c] + n_sv[c]

    def values(self, CsrMatrix tests, rows):
        """Decision values of the rows (buffer of int32) of ``tests``: float64, shape (n * n_functions,)."""
        cdef const int32_t[::1] chosen = rows
        cdef Py_ssize_t n = chosen.shape[0], at, lanes, r, p, l = self.kernel.vectors.n_rows
        cdef int i, j
        cdef double total[SVMX_TESTS]
        out_ = zeros("d", n * self.n_functions)
        if n == 0 or self.n_functions == 0:
            return out_
        cdef double[::1] out = out_
        cdef double[::1] values = zeros("d", max(l, 1) * SVMX_TESTS)
        tests = self.kernel.prepare(tests)
        for at in range(0, n, SVMX_TESTS):
            lanes = min(SVMX_TESTS, n - at)
            with nogil:
                self.kernel.fill(tests, &chosen[at], lanes, &values[0])
                if self.k == 0:
                    self.add(0, 0, l, values, total, True)
                    for r in range(lanes):
                        out[at + r] = total[r] - self.rho[0]
                else:
                    p = 0
                    for i in range(self.k):
                        for j in range(i + 1, self.k):
                            self.add(j - 1, self.start[i], self.start[i + 1], values, total, True)
                            self.add(i, self.start[j], self.start[j + 1], values, total, False)
                            for r in range(lanes):
                                out[(at + r) * self.n_functions + p] = total[r] - self.rho[p]
                            p += 1
            PyErr_CheckSignals()
        return out_

    cdef void add(self, Py_ssize_t line, Py_ssize_t begin, Py_ssize_t end, double[::1] values, double *total,
                  bint fresh) noexcept nogil:
        """total += the vectors [begin, end) with the coefficients of row ``line`` of coef."""
        cdef int r
        if fresh:
            for r in range(SVMX_TESTS):
                total[r] = 0.0
        if begin < end:
            svmx_weighted_sum(end - begin, &self.coef[line * self.kernel.vectors.n_rows + begin],
                              &values[begin * SVMX_TESTS], total)


def votes(decision_values, Py_ssize_t n, int k):
    """Class with most pairwise votes, the first of equals: buffer of int32, shape (n,).

    ``decision_values``: buffer of float64, shape (n * k (k-1) / 2,), row by row.
    """
    cdef const double[::1] dec = decision_values
    cdef Py_ssize_t row, p = 0
    cdef int i, j, best
    won_, vote_ = zeros("i", n), zeros("i", max(k, 1))
    cdef int32_t[::1] won = won_, vote = vote_
    for row in range(n):
        vote[:] = 0
        for i in range(k):
            for j in range(i + 1, k):
                vote[i if dec[p] > 0 else j] += 1
                p += 1
        best = 0
        for i in range(1, k):
            if vote[i] > vote[best]:
                best = i
        won[row] = best
    return won_
