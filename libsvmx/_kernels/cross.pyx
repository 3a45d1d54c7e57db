"""Kernel values between test rows and support vectors, in double and in LIBSVM's prediction form.

The prediction form of RBF sums (x_f - z_f)^2 over ascending features of either row; training
uses norms and a dot product instead, and the two differ in the last bits. A panel of eight
test rows meets one support vector at a time: the lanes are test rows, so every sum keeps its order.
"""

from libc.math cimport exp, tanh
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.matrix import compacted
from libsvmx._core.lanes cimport SVMX_TESTS, svmx_panel_distances, svmx_panel_products, svmx_powi
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._kernels.kernel cimport LINEAR, POLY, PRECOMPUTED, RBF

PANEL_ROWS = SVMX_TESTS


cdef int ascending(const void *a, const void *b) noexcept nogil:
    cdef int32_t x = (<const int32_t *>a)[0], y = (<const int32_t *>b)[0]
    return (x > y) - (x < y)


cdef class CrossKernel:
    """CrossKernel(vectors, kind, degree, gamma, coef0): ``vectors`` is the CsrMatrix of support vectors."""

    def __cinit__(self, CsrMatrix vectors, int kind, int degree, double gamma, double coef0):
        self.vectors = self.numbered = vectors
        self.kind, self.degree, self.gamma, self.coef0 = kind, degree, gamma, coef0
        self.slot_of, self.slot_feature, self.lanes = zeros("i", 0), zeros("i", 0), zeros("d", 0)

    def prepare(self, CsrMatrix tests):
        """Make room for panels of ``tests``; returns what to give to ``fill``: ``tests`` or its renumbered likeness."""
        if self.kind == PRECOMPUTED:
            return tests
        self.numbered, tests = compacted(self.vectors, tests)
        cdef Py_ssize_t width = 1 + <Py_ssize_t>max(tests.max_index, self.numbered.max_index)
        if self.slot_of.shape[0] < width:
            self.slot_of = zeros("i", width)
            self.slot_of[:] = -1
            self.n_slots = 0
        cdef Py_ssize_t i, longest = 1
        for i in range(tests.n_rows):
            longest = max(longest, tests.ptr[i + 1] - tests.ptr[i])
        if self.slot_feature.shape[0] < min(width, SVMX_TESTS * longest):
            for i in range(self.n_slots):
                self.slot_of[self.slot_feature[i]] = -1
            self.n_slots = 0
            self.slot_feature = zeros("i", min(width, SVMX_TESTS * longest))
            self.lanes = zeros("d", SVMX_TESTS * self.slot_feature.shape[0])
        return tests

    cdef int load(self, CsrMatrix tests, const int32_t *rows, Py_ssize_t n) noexcept nogil:
        """Scatter up to eight test rows into lanes[slot][row], slots by ascending feature."""
        cdef Py_ssize_t r, s
        cdef int64_t k
        cdef int32_t f
        for s in range(self.n_slots):
            self.slot_of[self.slot_feature[s]] = -1
        self.n_slots = 0
        for r in range(n):
            for k in range(tests.ptr[rows[r]], tests.ptr[rows[r] + 1]):
                f = tests.index[k]
                if self.slot_of[f] < 0:
                    self.slot_of[f] = 0
                    self.slot_feature[self.n_slots] = f
                    self.n_slots += 1
        if self.n_slots:
            qsort(&self.slot_feature[0], self.n_slots, sizeof(int32_t), ascending)
            memset(&self.lanes[0], 0, self.n_slots * SVMX_TESTS * sizeof(double))
        for s in range(self.n_slots):
            self.slot_of[self.slot_feature[s]] = <int32_t>s
        for r in range(n):
            for k in range(tests.ptr[rows[r]], tests.ptr[rows[r] + 1]):
                self.lanes[self.slot_of[tests.index[k]] * SVMX_TESTS + r] = tests.value[k]
        return 0

    cdef int fill(self, CsrMatrix tests, const int32_t *rows, Py_ssize_t n, double *out) noexcept nogil:
        """out[s * 8 + r] = K(tests[rows[r]], vector s) for r < n <= 8; lanes beyond n are of no use."""
        cdef Py_ssize_t s, r
        cdef int64_t begin, nnz
        cdef double *lane
        if self.kind == PRECOMPUTED:
            for s in range(self.vectors.n_rows):
                for r in range(n):
                    # position = index: the caller has checked that every index 0..n is there
                    out[s * SVMX_TESTS + r] = tests.value[tests.ptr[rows[r]]
                                                          + <int64_t>self.vectors.value[self.vectors.ptr[s]]]
            return 0
        self.load(tests, rows, n)
        for s in range(self.numbered.n_rows):
            begin = self.numbered.ptr[s]
            nnz = self.numbered.ptr[s + 1] - begin
            lane = out + s * SVMX_TESTS
            if self.kind == RBF:
                svmx_panel_distances(self.n_slots, &self.slot_feature[0], &self.lanes[0], nnz,
                                     self.numbered.index + begin, self.numbered.value + begin, lane)
                for r in range(n):
                    lane[r] = exp(-self.gamma * lane[r])
            else:
                svmx_panel_products(&self.slot_of[0], &self.lanes[0], nnz, self.numbered.index + begin,
                                    self.numbered.value + begin, lane)
                if self.kind == POLY:
                    for r in range(n):
                        lane[r] = svmx_powi(self.gamma * lane[r] + self.coef0, self.degree)
                elif self.kind != LINEAR:
                    for r in range(n):
                        lane[r] = tanh(self.gamma * lane[r] + self.coef0)
        return 0
