"""Scores of rows that nobody has looked at for a while.

Shrunk variables have no current scores. When they are wanted, all the terms that were missed,

    score_q += coef_e K(source_e, q),    e = 0, 1, ...

are added at once, row by row in the order in which they arose, which gives the bits that LIBSVM gets by
keeping its G_bar up to date at every step (Chang & Lin 2011, section 5.3), but needs the kernel values of
shrunk rows only when a gradient is reconstructed, and then in blocks.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc

from libsvmx._core.buffers import zeros
from libsvmx._core.smo_lanes cimport SVMX_REPLAY, svmx_interleave, svmx_replay
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._solvers.control cimport Control

# Different sources worked on at a time: their values for SVMX_REPLAY rows take 1 MB.
cdef Py_ssize_t MOST_SOURCES = 8192
# Terms kept before they are applied to all rows.
cdef int64_t MOST_TERMS = 1 << 20


cdef class Terms:
    """Terms(kernel): a list of (source row, coefficient)."""

    def __cinit__(self, Kernel kernel):
        self.kernel = kernel

    def __dealloc__(self):
        free(self.source)
        free(self.coef)

    cdef int add(self, int32_t source, double coef) except -1 nogil:
        cdef void *sources
        cdef void *coefs
        if self.n == self.room:
            sources = realloc(self.source, (2 * self.room + 256) * sizeof(int32_t))
            if sources != NULL:
                self.source = <int32_t *>sources
            coefs = realloc(self.coef, (2 * self.room + 256) * sizeof(double))
            if coefs != NULL:
                self.coef = <double *>coefs
            if sources == NULL or coefs == NULL:
                with gil:
                    raise MemoryError("terms of scores")
            self.room = 2 * self.room + 256
        self.source[self.n], self.coef[self.n] = source, coef
        self.n += 1
        return 0

    cdef int apply(self, int64_t first, const int32_t *rows, Py_ssize_t n_rows, double *scores, bint transposed,
                   Control control) except -1:
        """Add the terms from ``first`` on: scores[k] is that of row rows[k] of the kernel.

        ``transposed``: K(source, row), else K(row, source); they differ only in a given matrix.
        """
        cdef int64_t begin = first, end
        cdef Py_ssize_t at, lanes, r, n_sources
        cdef Targets targets
        cdef double sums[SVMX_REPLAY]
        if first == self.n or n_rows == 0:
            return 0
        number_, members_ = zeros("i", self.kernel.n), zeros("i", min(MOST_SOURCES, self.n - first))
        place_ = zeros("i", self.n - first)
        cdef int32_t[::1] number = number_, members = members_, place = place_
        cdef float[::1] values, together
        while begin < self.n:
            # a stretch of terms with not too many sources
            end, n_sources = begin, 0
            while end < self.n and (number[self.source[end]] or n_sources < members.shape[0]):
                if not number[self.source[end]]:
                    members[n_sources] = self.source[end]
                    n_sources += 1
                    number[self.source[end]] = <int32_t>n_sources
                place[end - first] = number[self.source[end]] - 1
                end += 1
            targets = self.kernel.targets(members_[:n_sources], transposed)
            values, together = zeros("f", SVMX_REPLAY * n_sources), zeros("f", SVMX_REPLAY * n_sources)
            with nogil:
                at = 0
                while at < n_rows:
                    lanes = min(SVMX_REPLAY, n_rows - at)
                    for r in range(lanes):
                        targets.fill(rows[at + r], 0, n_sources, &values[r * n_sources])
                        sums[r] = scores[at + r]
                    svmx_interleave(n_sources, &values[0], &together[0])
                    svmx_replay(end - begin, &place[begin - first], &self.coef[begin], &together[0], sums)
                    for r in range(lanes):
                        scores[at + r] = sums[r]
                    at += lanes
                    control.worked(4 * lanes * n_sources + 2 * (end - begin))
            for r in range(n_sources):
                number[members[r]] = 0
            self.kernel.values_computed += n_rows * n_sources
            begin = end
        return 0


cdef class BoundScores:
    """BoundScores(kernel): V_bound, scores of the variables at their upper bound alone, by kernel row.

    Terms are only noted as variables reach their bound or leave it; ``bring`` makes the scores of some rows current.
    """

    def __cinit__(self, Kernel kernel):
        self.terms = Terms(kernel)
        self.scores, self.seen = zeros("d", kernel.n), zeros("q", kernel.n)
        self.limit = max(MOST_TERMS, 4 * kernel.n)

    cdef int add(self, int32_t row, double coef, Control control) except -1 nogil:
        """score_q += coef K(row, q) for all q."""
        if self.terms.n == self.limit:
            with gil:
                self.settle(control)
        return self.terms.add(row, coef)

    def settle(self, Control control):
        """Bring all rows and start with an empty list."""
        cdef Py_ssize_t n = self.scores.shape[0], i
        all_rows = zeros("i", n)
        cdef int32_t[::1] every = all_rows
        for i in range(n):
            every[i] = <int32_t>i
        self.bring(&every[0], n, control)
        self.seen[:] = 0
        self.terms.n = 0

    cdef int bring(self, const int32_t *rows, Py_ssize_t n_rows, Control control) except -1:
        """Make ``scores`` current at the given rows."""
        cdef Py_ssize_t i, n_late
        cdef int64_t oldest
        cdef int32_t[::1] late = zeros("i", max(n_rows, 1))
        cdef double[::1] sums = zeros("d", max(n_rows, 1))
        while True:
            # rows that have seen the same terms go together; there are few such groups
            oldest = self.terms.n
            for i in range(n_rows):
                oldest = min(oldest, self.seen[rows[i]])
            if oldest == self.terms.n:
                return 0
            n_late = 0
            for i in range(n_rows):
                if self.seen[rows[i]] == oldest:
                    self.seen[rows[i]] = self.terms.n  # a row that comes twice is served once
                    late[n_late], sums[n_late] = rows[i], self.scores[rows[i]]
                    n_late += 1
            self.terms.apply(oldest, &late[0], n_late, &sums[0], True, control)
            for i in range(n_late):
                self.scores[late[i]] = sums[i]
