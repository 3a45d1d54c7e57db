"""Decision values of a model for many rows, equal to LIBSVM's or of equal sign; and votes.

A decision function is sum_i coef_i K(x, z_i) - rho, summed in LIBSVM's order, so equal bits of K give equal bits of the
sum. If K is within e of LIBSVM's and both are at most M, the sums differ by at most

    A (e + 2 (l + 2) u M),    A = sum_i |coef_i|,  u = 2^-53,  l terms:

a relative u for each product and u for each of up to l additions, in either sum. Subtracting rho keeps the sign. With a
factor of two for higher orders and 1e-290 for underflow, a value further from 0 than this bound has LIBSVM's sign.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport HUGE_VAL, NAN, fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.dispatch cimport (
    SVMX_LINE, SVMX_TESTS, SVMX_VECTORS, svmx_aligned, svmx_weighted_lines, svmx_weighted_sum)
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._kernels.cross cimport CrossKernel, CrossRow

from libsvmx._core.buffers import filled, zeros

cdef double UNIT = 2.0 ** -53
cdef double TINY = 1e-290
# Sums whose bounds are below it do not overflow.
cdef double HUGE = 1e300
# Rows of a linear model between two checks for a stop.
cdef Py_ssize_t ROWS_OF_W = 2048
# Up to this number, rows are evaluated singly: a panel costs as much as nine. Only from the second call on, since the
# tables for single rows cost as much as a panel, and memory for the vectors.
cdef Py_ssize_t FEW_ROWS = 8


cdef class Functions:
    """Coefficients of all decision functions of a model.

    Parameters
    ----------
    coef : buffer of float64, shape ((k-1) * n_vectors,)     LIBSVM's sv_coef, row by row
    rho : buffer of float64, shape (n_functions,)
    n_sv : sequence of int, length k, or None   vectors of each class; None: one function of all vectors
    """

    cdef const double[::1] coef
    cdef const double[::1] rho
    cdef double[::1] weight             # (n_functions,)  sum of |coef|
    cdef int64_t[::1] start             # (k + 1,)        first vector of each class
    cdef readonly Py_ssize_t n_vectors
    cdef readonly int k                 # classes; 1 for a single function
    cdef readonly Py_ssize_t n_functions

    def __init__(self, coef, rho, n_sv, Py_ssize_t n_vectors):
        cdef int c, j
        cdef Py_ssize_t v, p
        self.coef, self.rho = coef, rho
        self.n_vectors = n_vectors
        self.k = 1 if n_sv is None else <int>len(n_sv)
        self.n_functions = 1 if n_sv is None else self.k * (self.k - 1) // 2
        self.start = zeros("q", self.k + 1)
        for c in range(self.k):
            self.start[c + 1] = n_vectors if n_sv is None else self.start[c] + n_sv[c]
        self.weight = zeros("d", self.n_functions)
        for c in range(self.k):
            for j in range(self.lines()):
                p = self.function(c, j)
                for v in range(self.start[c], self.start[c + 1]):
                    self.weight[p] += fabs(self.coef[j * n_vectors + v])

    cdef int lines(self) noexcept nogil:
        """Number of coefficients of each vector."""
        return self.k - 1 if self.k > 1 else <int>self.n_functions

    cdef Py_ssize_t function(self, int c, int line) noexcept nogil:
        """The function of the coefficients in ``line`` of coef, for vectors of class c.

        It is that of class c and class ``line``, or ``line + 1`` if line >= c; of k classes the pair i < j has the
        number i (2k - i - 1) / 2 + j - i - 1.
        """
        cdef Py_ssize_t i, j
        if self.k == 1:
            return 0
        i, j = min(c, line), max(c, line + 1)
        return i * (2 * self.k - i - 1) // 2 + j - i - 1

    cdef double bound(self, Py_ssize_t p, double margin, double largest) noexcept nogil:
        """Bound on |value - LIBSVM's value| of function p, with e = margin and M = largest of the kernel values."""
        if not self.weight[p] * largest < HUGE:
            return HUGE_VAL
        return 2.0 * self.weight[p] * (margin + 2.0 * (self.n_vectors + 2) * UNIT * largest) + TINY

    cdef bint doubtful(self, const double *values, double margin, double largest) noexcept nogil:
        """Whether a value of a row, (n_functions,), may differ from LIBSVM's in sign."""
        cdef Py_ssize_t p
        for p in range(self.n_functions):
            if not fabs(values[p]) > self.bound(p, margin, largest):  # true for nan
                return True
        return False

    def evaluate(self, CsrMatrix tests, rows, values, ask=None):
        """As in ``KernelFunctions``."""
        raise NotImplementedError

    def bounds(self, double margin, double largest=1.0):
        """The bounds of all functions, for tests: list of float."""
        return [self.bound(p, margin, largest) for p in range(self.n_functions)]


cdef class KernelFunctions(Functions):
    """KernelFunctions(kernel, coef, rho, n_sv): evaluated by kernel values; parameters as in ``Functions``."""

    cdef CrossKernel kernel
    cdef CrossRow row                   # for calls with few rows
    cdef bint had_few

    def __init__(self, CrossKernel kernel, coef, rho, n_sv):
        super().__init__(coef, rho, n_sv, kernel.vectors.n_rows)
        self.kernel = kernel

    def evaluate(self, CsrMatrix tests, rows, values, ask=None):
        """Decision values of rows of ``tests``.

        Parameters
        ----------
        tests : CsrMatrix
        rows : buffer of int32, shape (n,)
        values : buffer of float64, shape (n * n_functions,)     OUT
        ask : callable() or None       called every few milliseconds; may raise to stop

        Returns
        -------
        list of int      positions of rows with a value that may differ from LIBSVM's in sign; empty for an exact kernel
        """
        cdef const int32_t[::1] chosen = rows
        cdef double[::1] out = values
        cdef Py_ssize_t n = chosen.shape[0], at, lanes, r, p
        doubtful = []
        if n == 0 or self.n_functions == 0:
            return doubtful
        if n <= FEW_ROWS and not self.kernel.given:
            if self.had_few:
                return self.evaluate_one_by_one(tests, rows, values, ask)
            self.had_few = True
        cdef double[::1] room = zeros("d", SVMX_TESTS * self.n_functions + SVMX_LINE)
        cdef double *total = svmx_aligned(&room[0])
        self.kernel.prepare(tests, rows)
        try:
            for at in range(0, n, SVMX_TESTS):
                lanes = min(SVMX_TESTS, n - at)
                with nogil:
                    self.kernel.load(&chosen[at], lanes)
                    self.sum_up(total)
                    for p in range(self.n_functions):
                        for r in range(lanes):
                            out[(at + r) * self.n_functions + p] = total[p * SVMX_TESTS + r] - self.rho[p]
                for r in range(0 if self.kernel.exact else lanes):
                    # only RBF and sigmoid are approximate; both are at most 1
                    if self.doubtful(&out[(at + r) * self.n_functions], self.kernel.margin[r], 1.0):
                        doubtful.append(at + r)
                if ask is not None:
                    ask()
                PyErr_CheckSignals()
        finally:
            self.kernel.release()
        return doubtful

    def evaluate_one_by_one(self, CsrMatrix tests, rows, values, ask=None):
        """``evaluate`` without panels, with equal results."""
        cdef const int32_t[::1] chosen = rows
        cdef double[::1] out = values
        cdef double[::1] sums = zeros("d", max(self.lines(), 1))
        cdef Py_ssize_t i, p
        cdef double *total
        doubtful = []
        if self.row is None:
            self.row = CrossRow(self.kernel)
        for i in range(chosen.shape[0]):
            total = &out[i * self.n_functions]
            self.row.load(tests, chosen[i])
            with nogil:
                self.sum_up_row(&sums[0], total)
                for p in range(self.n_functions):
                    total[p] -= self.rho[p]
            if not self.row.exact and self.doubtful(total, self.row.margin, 1.0):
                doubtful.append(i)
            if ask is not None:
                ask()
            PyErr_CheckSignals()
        return doubtful

    cdef int sum_up_row(self, double *sums, double *total) noexcept nogil:
        """``sum_up`` of the loaded row: total, (n_functions,). ``sums``: room for the lines of a class."""
        cdef Py_ssize_t begin, end, v = 0, tile_end
        cdef int c, line
        memset(total, 0, self.n_functions * sizeof(double))
        while v < self.n_vectors:
            tile_end = min(v + self.row.tile, self.n_vectors)
            self.row.fill(v, tile_end)
            for c in range(self.k):
                begin, end = max(v, self.start[c]), min(tile_end, self.start[c + 1])
                if begin >= end:
                    continue
                for line in range(self.lines()):
                    sums[line] = total[self.function(c, line)]
                svmx_weighted_lines(end - begin, self.lines(), &self.coef[begin], self.n_vectors,
                                    self.row.room + begin - v, sums)
                for line in range(self.lines()):
                    total[self.function(c, line)] = sums[line]
            v = tile_end
        return 0

    cdef int sum_up(self, double *total) noexcept nogil:
        """total[p * SVMX_TESTS + r] = sum of function p over its vectors, for row r of the loaded panel, in LIBSVM's
        order: for a pair i < j the vectors of class i, then those of j."""
        cdef double[SVMX_VECTORS * SVMX_TESTS + SVMX_LINE] room
        cdef double *values = svmx_aligned(room)
        cdef Py_ssize_t v, end
        cdef int c, line
        memset(total, 0, SVMX_TESTS * self.n_functions * sizeof(double))
        for c in range(self.k):
            v = self.start[c]
            while v < self.start[c + 1]:
                end = min(v + SVMX_VECTORS, self.start[c + 1])
                self.kernel.fill(v, end, values)
                for line in range(self.lines()):
                    svmx_weighted_sum(end - v, &self.coef[line * self.n_vectors + v], values,
                                      total + SVMX_TESTS * self.function(c, line))
                v = end
        return 0


cdef class LinearFunctions(Functions):
    """LinearFunctions(vectors, coef, rho, n_sv): a linear kernel collapsed to w = sum_i coef_i z_i for each function.

    The error of a component w_f is at most (l + 1) u sum_i |coef_i z_if|, that of <w, x> another m u, so that of the
    value A (l + m + 1) u X R, with X = |x|, m entries of x, R = max |z|. This equals kernel values with an error of
    e = (m + 1) u M, M = X R; LIBSVM's kernel values have an error of m u M.
    """

    cdef readonly Py_ssize_t width
    cdef double[::1] w                  # (width, n_functions)
    cdef double radius                  # R

    def __init__(self, CsrMatrix vectors, coef, rho, n_sv):
        super().__init__(coef, rho, n_sv, vectors.n_rows)
        cdef int c, line
        cdef Py_ssize_t v, p
        cdef int64_t k
        cdef double square, largest = 0.0
        cdef const int32_t *feature
        self.width = 1 + <Py_ssize_t>vectors.max_index
        self.w = zeros("d", max(self.width * self.n_functions, 1))
        for c in range(self.k):
            for v in range(self.start[c], self.start[c + 1]):
                square = 0.0
                feature = vectors.features(v) - vectors.ptr[v]
                for k in range(vectors.ptr[v], vectors.ptr[v + 1]):
                    square += vectors.at(k) * vectors.at(k)
                    for line in range(self.lines()):
                        p = feature[k] * self.n_functions + self.function(c, line)
                        self.w[p] += self.coef[line * self.n_vectors + v] * vectors.at(k)
                largest = max(largest, square)
        self.radius = sqrt(largest)

    @staticmethod
    def pays(CsrMatrix vectors, Py_ssize_t n_functions):
        """Whether w is no larger than the vectors it replaces."""
        return (1 + <Py_ssize_t>vectors.max_index) * n_functions <= vectors.nnz

    def evaluate(self, CsrMatrix tests, rows, values, ask=None):
        """As in ``KernelFunctions``."""
        cdef const int32_t[::1] chosen = rows
        cdef double[::1] out = values
        cdef Py_ssize_t n = chosen.shape[0], i, begin, end
        doubt_ = bytearray(n)
        cdef unsigned char[::1] doubt = doubt_
        if self.n_functions:
            for begin in range(0, n, ROWS_OF_W):
                end = min(begin + ROWS_OF_W, n)
                with nogil:
                    for i in range(begin, end):
                        doubt[i] = self.evaluate_row(tests, chosen[i], &out[i * self.n_functions])
                if ask is not None:
                    ask()
                PyErr_CheckSignals()
        return [i for i in range(n) if doubt_[i]] if any(doubt_) else []

    cdef bint evaluate_row(self, CsrMatrix tests, Py_ssize_t row, double *values) noexcept nogil:
        """Values of one row, (n_functions,); returns whether they are doubtful."""
        cdef Py_ssize_t p
        cdef int64_t k, entries = tests.ptr[row + 1] - tests.ptr[row]
        cdef double x, largest, square = 0.0
        cdef const double *w
        cdef const int32_t *feature = tests.features(row) - tests.ptr[row]
        memset(values, 0, self.n_functions * sizeof(double))
        for k in range(tests.ptr[row], tests.ptr[row + 1]):
            x = tests.at(k)
            square += x * x
            if feature[k] < self.width:
                w = &self.w[feature[k] * self.n_functions]
                for p in range(self.n_functions):
                    values[p] += x * w[p]
        for p in range(self.n_functions):
            values[p] -= self.rho[p]
        largest = (sqrt(square) + 1e-150) * (self.radius + 1e-150)
        return self.doubtful(values, (2 * entries + 2) * UNIT * largest, largest)


def voted(labels, decision_values, Py_ssize_t n):
    """The label of the class with most pairwise votes, of equals the first, of each of n rows: buffer of float64.

    ``labels``: of k classes; ``decision_values``: buffer of float64, shape (n * k (k-1) / 2,), row by row.
    """
    cdef const double[::1] label = filled("d", labels), dec = decision_values
    cdef Py_ssize_t row, i, j, best, p = 0, k = label.shape[0]
    out_ = zeros("d", n)
    cdef double[::1] out = out_
    cdef int32_t[::1] vote = zeros("i", k)
    if k == 0 or dec.shape[0] != n * (k * (k - 1) // 2):
        raise ValueError(f"{dec.shape[0]} decision values of {n} rows and {k} classes")
    for row in range(n):
        for i in range(k):
            vote[i] = 0
        for i in range(k):
            for j in range(i + 1, k):
                vote[i if dec[p] > 0 else j] += 1
                p += 1
        best = 0
        for i in range(1, k):
            if vote[i] > vote[best]:
                best = i
        out[row] = label[best]
    return out_


def most_probable(labels, estimates, Py_ssize_t n):
    """The label of the most probable class, of equals the first, of each of n rows: buffer of float64.

    ``estimates``: buffer of float64, shape (n * len(labels),), row by row.
    """
    cdef const double[::1] label = filled("d", labels), p = estimates
    cdef Py_ssize_t row, i, best, k = label.shape[0]
    out_ = zeros("d", n)
    cdef double[::1] out = out_
    if k == 0 or p.shape[0] != n * k:
        raise ValueError(f"{p.shape[0]} probabilities of {n} rows and {k} classes")
    for row in range(n):
        best = row * k
        for i in range(best + 1, (row + 1) * k):
            if p[i] > p[best]:
                best = i
        out[row] = label[best - row * k]
    return out_


def one_vs_rest_values(decision_values, Py_ssize_t n, int k):
    """scikit-learn's decision function of shape "ovr", bit for bit: votes of each class, with ties broken by
    confidence.

    Parameters
    ----------
    decision_values : buffer of float64, shape (n * k (k - 1) / 2,)      row by row, pairs (0, 1), (0, 2), …, positive
        for the first class; nan: a pair without a model

    Returns
    -------
    buffer of float64, shape (n * k,): votes + s / (3 (|s| + 1)), with s the sum of the values of the pairs with this
    class first minus those with it second; nan for a class without a pair
    """
    cdef const double[::1] values = decision_values
    cdef Py_ssize_t row, f = 0
    cdef double value
    cdef int i, j, c
    out_, counts_ = zeros("d", n * k), zeros("d", k)
    cdef double[::1] out = out_, won = counts_
    counted_ = zeros("i", k)
    cdef int32_t[::1] counted = counted_
    if values.shape[0] != n * (k * (k - 1) // 2):
        raise ValueError(f"{values.shape[0]} values of {n} rows and {k} classes")
    for row in range(n):
        won[:] = 0.0
        counted[:] = 0
        for i in range(k):
            for j in range(i + 1, k):
                value = values[f]
                f += 1
                if value != value:
                    continue
                counted[i] = counted[j] = 1
                out[row * k + i] += value
                out[row * k + j] -= value
                won[j if value < 0 else i] += 1
        for c in range(k):
            value = out[row * k + c]
            out[row * k + c] = won[c] + value / (3 * (fabs(value) + 1)) if counted[c] else NAN
    return out_
