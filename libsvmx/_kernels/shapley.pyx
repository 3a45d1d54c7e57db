"""Shapley values of an expansion sum_v coef_v exp(-gamma |z_v - x|^2), or of |z_v - x|_1 (Laplacian), exact.

A kernel value is a product of functions of one feature each, whose Shapley values are an integral over [0, 1] of a
polynomial (``_core/loops/shapley.h``). Features that two rows share have none; what they contribute to the distance
is a common factor.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp, fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from libsvmx._core.dispatch cimport SVMX_GAMES, svmx_shapley_of_products
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._core.process cimport ThreadPool

from libsvmx._core.buffers import table

# Limits of groups of units and of their scratch. Sums of groups are added in order, so threads do not change results.
cdef int64_t MAX_GROUPS = 16, MAX_BYTES = 1 << 28
# Work of a thread between two checks of signals, in factors of products: some milliseconds; cost of an exponential.
cdef int64_t PIECE = 1 << 23, EXPONENTIAL = 16


cdef struct Unit:
    # Current unit of a group: a block of support vectors against a row of the background.
    int64_t number
    int64_t block               # whose vectors the scratch has, or -1
    int64_t n                   # features that differ
    int64_t n_done              # nodes
    int rule
    double common[SVMX_GAMES]   # factors of the features that do not differ


cdef class ExpansionShapley:
    """ExpansionShapley(vectors, first, coef, gamma, background, nodes, n_threads, laplacian=False)

    Parameters
    ----------
    vectors : CsrMatrix            support vectors
    first : int                    feature of column 0
    coef : buffer of float64, shape (n_functions, n_vectors)
    gamma : float
    background : buffer of float64, shape (n_background, d)      d covers all features of the vectors, too
    nodes : list of (nodes, weights)       Gauss-Legendre rules over [0, 1] of growing size, buffers of float64
    n_threads : int
    """

    cdef CsrMatrix vectors
    cdef const double[:, ::1] coef, background
    cdef int32_t first
    cdef double gamma
    cdef bint laplacian
    cdef ThreadPool pool
    cdef Py_ssize_t d, n_vectors, n_background, n_groups, n_units, n_blocks
    cdef object kept                    # the buffers of nodes
    cdef const double *node[64]
    cdef const double *weight[64]
    cdef int64_t n_nodes[64]
    cdef int n_rules
    cdef double[:, ::1] scratch, sums    # of each group
    cdef int32_t[:, ::1] differing
    cdef int8_t[:, ::1] known            # of which features the scratch has the factors of x
    cdef Unit unit[16]                   # of each group
    cdef int64_t piece
    cdef const double *x

    def __init__(self, CsrMatrix vectors, int32_t first, coef, double gamma, background, nodes, int n_threads,
                 bint laplacian=False):
        cdef const double[::1] node, weight
        cdef int64_t of_group, of_sums
        self.vectors, self.first, self.gamma, self.kept = vectors, first, gamma, nodes
        self.laplacian = laplacian
        self.coef, self.background = coef, background
        self.n_background, self.d = self.background.shape[0], self.background.shape[1]
        self.n_vectors = vectors.n_rows
        self.n_rules = <int>len(nodes)
        if not 0 < self.n_rules <= 64 or self.coef.shape[1] != self.n_vectors:
            raise ValueError("nodes or coefficients")
        for k, (node, weight) in enumerate(nodes):
            self.node[k], self.weight[k], self.n_nodes[k] = &node[0], &weight[0], node.shape[0]
        self.n_blocks = (self.n_vectors + SVMX_GAMES - 1) // SVMX_GAMES
        self.n_units = self.n_background * self.n_blocks
        if self.n_vectors and not (first <= vectors.first_index and vectors.max_index - first < self.d):
            raise ValueError("features of vectors that the background lacks")
        of_group, of_sums = 6 * SVMX_GAMES * max(self.d, 1), max(1, self.coef.shape[0] * self.d)
        self.n_groups = max(1, min(MAX_GROUPS, min(self.n_units, MAX_BYTES // (8 * (of_group + of_sums)))))
        self.scratch = table("d", self.n_groups, of_group)
        self.sums = table("d", self.n_groups, of_sums)
        self.differing = table("i", self.n_groups, max(1, self.d))
        self.known = table("b", self.n_groups, max(1, self.d))
        for k in range(self.n_groups):
            self.unit[k].block = -1
        self.pool = ThreadPool(n_threads)
        self.piece = PIECE * min(self.pool.n, self.n_groups) // self.n_groups

    def values_of(self, const double[::1] x, double[:, ::1] out):
        """Means over the background of the Shapley values of a row x, shape (d,), into ``out``, shape (n_functions, d).

        Raises KeyboardInterrupt, or what else a signal handler raises.
        """
        cdef Py_ssize_t g, k, n = self.coef.shape[0] * self.d
        cdef double *sums
        cdef bint more = self.n_units > 0
        if x.shape[0] != self.d or out.shape[0] != self.coef.shape[0] or out.shape[1] != self.d:
            raise ValueError("shapes")
        if n == 0:
            return
        self.x = &x[0]
        for g in range(self.n_groups):
            self.unit[g].number, self.unit[g].n_done = g * self.n_units // self.n_groups, 0
            memset(&self.known[g, 0], 0, self.d)
            memset(&self.sums[g, 0], 0, n * sizeof(double))
        while more:
            with nogil:
                self.pool.run(_advance, <void *>self, self.n_groups, <double>self.piece * self.n_groups)
            PyErr_CheckSignals()
            more = False
            for g in range(self.n_groups):
                more = more or self.unit[g].number < (g + 1) * self.n_units // self.n_groups
        sums = &out[0, 0]
        memset(sums, 0, n * sizeof(double))
        for g in range(self.n_groups):
            for k in range(n):
                sums[k] += self.sums[g, k]
        for k in range(n):
            sums[k] /= self.n_background

    cdef void advance(self, Py_ssize_t g) noexcept nogil:
        """Advance a group: a block of support vectors against each row of the background, then the next block; some
        nodes at a time."""
        cdef int64_t last = (g + 1) * self.n_units // self.n_groups, work = 0, count, left
        cdef Unit *unit = &self.unit[g]
        cdef double *q = &self.scratch[g, 3 * SVMX_GAMES * self.d]
        while unit.number < last and work < self.piece:
            if unit.n_done == 0:
                self.begin_unit(g, unit)
                work += SVMX_GAMES * (self.d + EXPONENTIAL * unit.n)
            left = self.n_nodes[unit.rule] - unit.n_done if unit.n else 0
            count = min(left, 1 + max(<int64_t>0, self.piece - work) // (SVMX_GAMES * max(<int64_t>1, unit.n)))
            if count:
                svmx_shapley_of_products(
                    unit.n, count, self.node[unit.rule] + unit.n_done, self.weight[unit.rule] + unit.n_done,
                    q - SVMX_GAMES * self.d, q, q + SVMX_GAMES * self.d, q + 2 * SVMX_GAMES * self.d)
                work += SVMX_GAMES * unit.n * count
            if count == left:
                self.end_unit(g, unit)
                unit.number += 1
            unit.n_done = 0 if count == left else unit.n_done + count

    cdef Py_ssize_t find_differing(self, Py_ssize_t row, int32_t *differing) noexcept nogil:
        """Find the features in which x and a row of the background differ; returns their number."""
        cdef Py_ssize_t f, n = 0
        for f in range(self.d):
            if self.x[f] != self.background[row, f]:
                differing[n] = <int32_t>f
                n += 1
        return n

    cdef void begin_unit(self, Py_ssize_t g, Unit *unit) noexcept nogil:
        """Load its vectors, if not in the scratch, and compute the factors of the differing features."""
        cdef Py_ssize_t size = SVMX_GAMES * self.d, j, r, f
        cdef int64_t block = unit.number // self.n_background
        cdef const double *z = &self.scratch[g, 0]  # the vectors, by feature
        cdef double *of_x = &self.scratch[g, size]  # factors of x, by feature
        cdef double *p = of_x + size
        cdef double *q = p + size
        cdef double far
        cdef const double *b = &self.background[unit.number % self.n_background, 0]
        cdef int32_t *differing = &self.differing[g, 0]
        if block != unit.block:
            if unit.block >= 0:
                self.lay(g, unit.block, False)
            self.lay(g, block, True)
            unit.block = block
            memset(&self.known[g, 0], 0, self.d)
        unit.n = self.find_differing(unit.number % self.n_background, differing)
        unit.rule = 0  # exact with half as many nodes as factors
        while unit.rule < self.n_rules - 1 and 2 * self.n_nodes[unit.rule] < unit.n:
            unit.rule += 1
        if unit.n == 0:
            return
        memset(unit.common, 0, sizeof(unit.common))
        for f in range(self.d):
            if self.x[f] == b[f]:
                for r in range(SVMX_GAMES):
                    far = z[f * SVMX_GAMES + r] - b[f]
                    unit.common[r] += fabs(far) if self.laplacian else far * far
        for r in range(SVMX_GAMES):
            unit.common[r] = exp(-self.gamma * unit.common[r])
        for j in range(unit.n):
            f = differing[j]
            if not self.known[g, f]:
                self.known[g, f] = 1
                self.factors(z + f * SVMX_GAMES, self.x[f], of_x + f * SVMX_GAMES)
            memcpy(p + j * SVMX_GAMES, of_x + f * SVMX_GAMES, SVMX_GAMES * sizeof(double))
            self.factors(z + f * SVMX_GAMES, b[f], q + j * SVMX_GAMES)
        memset(&self.scratch[g, 5 * size], 0, unit.n * SVMX_GAMES * sizeof(double))

    cdef void end_unit(self, Py_ssize_t g, Unit *unit) noexcept nogil:
        """Add the values of its vectors to the sums of the group."""
        cdef Py_ssize_t begin = unit.block * SVMX_GAMES, c, j, r
        cdef Py_ssize_t lanes = min(<Py_ssize_t>SVMX_GAMES, self.n_vectors - begin)
        cdef const double *phi = &self.scratch[g, 5 * SVMX_GAMES * self.d]
        cdef const double *coef
        cdef double total
        for c in range(self.coef.shape[0]):
            coef = &self.coef[c, begin]
            for j in range(unit.n):
                total = 0.0
                for r in range(lanes):
                    total += coef[r] * unit.common[r] * phi[j * SVMX_GAMES + r]
                self.sums[g, c * self.d + self.differing[g, j]] += total

    cdef void factors(self, const double *z, double value, double *out) noexcept nogil:
        """exp(-gamma (z - value)^2), or exp(-gamma |z - value|), of the vectors of a block."""
        cdef int r
        cdef double far
        for r in range(SVMX_GAMES):
            far = z[r] - value
            out[r] = exp(-self.gamma * (fabs(far) if self.laplacian else far * far))

    cdef void lay(self, Py_ssize_t g, Py_ssize_t block, bint there) noexcept nogil:
        """Write the vectors of a block into the scratch, by feature, or zeros in their places."""
        cdef double *z = &self.scratch[g, 0]
        cdef const int32_t *feature
        cdef Py_ssize_t begin = block * SVMX_GAMES, r, k
        cdef int64_t start
        for r in range(min(<Py_ssize_t>SVMX_GAMES, self.n_vectors - begin)):
            start, feature = self.vectors.ptr[begin + r], self.vectors.features(begin + r)
            for k in range(self.vectors.ptr[begin + r + 1] - start):
                z[(feature[k] - self.first) * SVMX_GAMES + r] = self.vectors.at(start + k) if there else 0.0


cdef void _advance(void *values, int64_t part) noexcept nogil:
    (<ExpansionShapley>values).advance(part)
