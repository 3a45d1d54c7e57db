"""Shapley values of an RBF expansion sum_v coef_v exp(-gamma |z_v - x|^2), exact.

A kernel value is a product of functions of one feature each, whose Shapley values are an integral over [0, 1] of a
polynomial (``_core/loops/shapley.h``). Features that two rows share have none; what they contribute to the distance is a
common factor.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from libsvmx._core.buffers import filled, zeros
from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._core.shapley cimport SVMX_GAMES, svmx_shapley_of_products
from libsvmx._core.thread_pool cimport ThreadPool

# Groups of pieces, each with sums of its own that are added up in the order of the groups: the same whatever the number
# of threads is. As many as their scratch fits so many bytes.
cdef int64_t MOST_GROUPS = 16, MOST_BYTES = 1 << 28
# Work of a group between two looks at signals, in factors of products: a few milliseconds.
cdef int64_t PIECE = 1 << 21


cdef class RbfShapley:
    """RbfShapley(vectors, first, coef, gamma, background, nodes, n_threads)

    Parameters
    ----------
    vectors : CsrMatrix            support vectors
    first : int                    feature of column 0
    coef : buffer of float64, shape (n_functions, n_vectors)
    gamma : float
    background : buffer of float64, shape (n_background, d)      d covers all features of the vectors, too
    nodes : list of (nodes, weights)       of Gauss and Legendre over [0, 1], buffers of float64, ever more of them
    n_threads : int
    """

    cdef CsrMatrix vectors
    cdef const double[:, ::1] coef, background
    cdef int32_t first
    cdef double gamma
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
    cdef int64_t[::1] block              # whose vectors the scratch has, or -1
    cdef int64_t[::1] at                 # the unit that each group has come to
    cdef const double *x

    def __init__(self, CsrMatrix vectors, int32_t first, coef, double gamma, background, nodes, int n_threads):
        cdef const double[::1] node, weight
        cdef int64_t of_group
        self.vectors, self.first, self.gamma, self.kept = vectors, first, gamma, nodes
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
        of_group = 6 * SVMX_GAMES * max(self.d, 1)
        self.n_groups = max(1, min(MOST_GROUPS, min(self.n_units, MOST_BYTES // (8 * of_group))))
        self.scratch = zeros("d", self.n_groups * of_group).cast("B").cast("d", [self.n_groups, of_group])
        of_sums = max(1, self.coef.shape[0] * self.d)
        self.sums = zeros("d", self.n_groups * of_sums).cast("B").cast("d", [self.n_groups, of_sums])
        self.differing = zeros("i", self.n_groups * max(1, self.d)).cast("B").cast("i", [self.n_groups, max(1, self.d)])
        self.known = zeros("b", self.n_groups * max(1, self.d)).cast("B").cast("b", [self.n_groups, max(1, self.d)])
        self.at, self.block = zeros("q", self.n_groups), filled("q", [-1] * self.n_groups)
        self.pool = ThreadPool(n_threads)

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
            self.at[g] = g * self.n_units // self.n_groups
            memset(&self.known[g, 0], 0, self.d)
            memset(&self.sums[g, 0], 0, n * sizeof(double))
        while more:
            with nogil:
                self.pool.run(_advance, <void *>self, self.n_groups)
            PyErr_CheckSignals()
            more = False
            for g in range(self.n_groups):
                more = more or self.at[g] < (g + 1) * self.n_units // self.n_groups
        sums = &out[0, 0]
        memset(sums, 0, n * sizeof(double))
        for g in range(self.n_groups):
            for k in range(n):
                sums[k] += self.sums[g, k]
        for k in range(n):
            sums[k] /= self.n_background

    cdef void advance(self, Py_ssize_t g) noexcept nogil:
        """Some more units of a group: a block of support vectors against each row of the background, then the next."""
        cdef int64_t last = (g + 1) * self.n_units // self.n_groups, work = 0, block
        cdef Py_ssize_t row, n_differing
        cdef int rule
        while self.at[g] < last and work < PIECE:
            block, row = self.at[g] // self.n_background, self.at[g] % self.n_background
            if block != self.block[g]:
                if self.block[g] >= 0:
                    self.lay(g, self.block[g], False)
                self.lay(g, block, True)
                self.block[g] = block
                memset(&self.known[g, 0], 0, self.d)
            n_differing = self.find_differing(row, &self.differing[g, 0])
            rule = 0  # exact from half as many nodes on as there are factors
            while rule < self.n_rules - 1 and 2 * self.n_nodes[rule] < n_differing:
                rule += 1
            if n_differing:
                self.add_block(g, row, block * SVMX_GAMES, n_differing, rule)
            work += SVMX_GAMES * (n_differing * self.n_nodes[rule] + self.d)
            self.at[g] += 1

    cdef Py_ssize_t find_differing(self, Py_ssize_t row, int32_t *differing) noexcept nogil:
        """The features that x and a row of the background do not share. Returns their number."""
        cdef Py_ssize_t f, n = 0
        for f in range(self.d):
            if self.x[f] != self.background[row, f]:
                differing[n] = <int32_t>f
                n += 1
        return n

    cdef void add_block(self, Py_ssize_t g, Py_ssize_t row, Py_ssize_t begin, Py_ssize_t n, int rule) noexcept nogil:
        """Add the Shapley values of up to SVMX_GAMES support vectors, for ``n`` features that differ."""
        cdef Py_ssize_t size = SVMX_GAMES * self.d, lanes = min(<Py_ssize_t>SVMX_GAMES, self.n_vectors - begin), j, r, c, f
        cdef const double *z = &self.scratch[g, 0]  # the vectors, by feature
        cdef double *of_x = &self.scratch[g, size]  # factors of x, by feature
        cdef double *p = of_x + size
        cdef double *q = p + size
        cdef double *before = q + size
        cdef double *phi = before + size
        cdef double common[SVMX_GAMES]
        cdef double far, total
        cdef const int32_t *differing = &self.differing[g, 0]
        cdef const double *b = &self.background[row, 0]
        cdef const double *coef
        memset(common, 0, sizeof(common))
        for f in range(self.d):
            if self.x[f] == b[f]:
                for r in range(SVMX_GAMES):
                    far = z[f * SVMX_GAMES + r] - b[f]
                    common[r] += far * far
        for r in range(SVMX_GAMES):
            common[r] = exp(-self.gamma * common[r])
        for j in range(n):
            f = differing[j]
            if not self.known[g, f]:
                self.known[g, f] = 1
                self.factors(z + f * SVMX_GAMES, self.x[f], of_x + f * SVMX_GAMES)
            memcpy(p + j * SVMX_GAMES, of_x + f * SVMX_GAMES, SVMX_GAMES * sizeof(double))
            self.factors(z + f * SVMX_GAMES, b[f], q + j * SVMX_GAMES)
        svmx_shapley_of_products(n, self.n_nodes[rule], self.node[rule], self.weight[rule], p, q, before, phi)
        for c in range(self.coef.shape[0]):
            coef = &self.coef[c, begin]
            for j in range(n):
                total = 0.0
                for r in range(lanes):
                    total += coef[r] * common[r] * phi[j * SVMX_GAMES + r]
                self.sums[g, c * self.d + differing[j]] += total

    cdef void factors(self, const double *z, double value, double *out) noexcept nogil:
        """exp(-gamma (z - value)^2) of the vectors of a block."""
        cdef int r
        cdef double far
        for r in range(SVMX_GAMES):
            far = z[r] - value
            out[r] = exp(-self.gamma * (far * far))

    cdef void lay(self, Py_ssize_t g, Py_ssize_t block, bint there) noexcept nogil:
        """Put the vectors of a block into the scratch, by feature, or zeros in their places."""
        cdef double *z = &self.scratch[g, 0]
        cdef const int32_t *feature
        cdef Py_ssize_t begin = block * SVMX_GAMES, r, k
        cdef int64_t start
        for r in range(min(<Py_ssize_t>SVMX_GAMES, self.n_vectors - begin)):
            start, feature = self.vectors.ptr[begin + r], self.vectors.features(begin + r)
            for k in range(self.vectors.ptr[begin + r + 1] - start):
                z[(feature[k] - self.first) * SVMX_GAMES + r] = self.vectors.value[start + k] if there else 0.0


cdef void _advance(void *values, int64_t part) noexcept nogil:
    (<RbfShapley>values).advance(part)
