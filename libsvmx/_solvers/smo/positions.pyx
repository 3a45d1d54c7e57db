"""LIBSVM's variables of a dual problem, where they stand, and the passes over them; only this chapter knows them.

    min 1/2 a'Qa + p'a   s.t.  y'a = const,  0 <= a_i <= C_i,   Q_ij = y_i y_j K_ij      (Fan, Chen & Lin 2005, eq. 1)

With two groups the sum over each label is fixed by itself: group 0 is y = +1, group 1 is y = -1. There and back,

    a_i = y_i beta_i,  p_i = -y_i linear_i,  beta_i in [0, C_i] for y_i = +1, in [-C_i, 0] for y_i = -1

lose no bit: a product with y changes a sign. A zero has the sign of LIBSVM: +0 in alpha, y_i 0 in beta (which is
what a model file shows of it).

    AlphaForm    the problem in these variables
    Positions    what the iteration reads of each, by position; PositionsWithRows: and kernel rows of them
    Scans        the two passes over all active ones that an iteration makes
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport calloc, free

from libsvmx._core.buffers import table, zeros
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.smo_steps cimport SVMX_SPAN, SVMX_TAU, svmx_pairing, svmx_partner, svmx_update_max_violator
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.rows cimport KernelRows
from libsvmx._problem.dual cimport DualProblem

# A part has about so many positions at least: half a microsecond of work, a few times a handing over.
cdef Py_ssize_t LEAST_PART = 8 * SVMX_SPAN


cdef class AlphaForm:
    """AlphaForm(problem): ``alpha`` (the start), ``C`` and ``y`` of its variables, shape (m,).

    Raises
    ------
    ValueError       a box with 0 inside, or that of the wrong sign for its group
    """

    def __cinit__(self, DualProblem problem):
        cdef const double[::1] lower = problem.lower, upper = problem.upper, beta = problem.beta
        cdef const int8_t[::1] group = problem.group
        cdef Py_ssize_t v
        cdef bint negative
        self.alpha, self.C, self.y = zeros("d", problem.size), zeros("d", problem.size), zeros("b", problem.size)
        for v in range(problem.size):
            negative = group[v] if problem.groups == 2 else lower[v] < 0  # a box that is 0 alone has no label
            if (upper[v] if negative else lower[v]) != 0:
                raise ValueError("SMO needs boxes from or to 0, those of the second of two groups to 0")
            self.y[v] = -1 if negative else 1
            self.C[v] = self.y[v] * (lower[v] if negative else upper[v]) + 0.0  # + 0.0: no -0
            self.alpha[v] = self.y[v] * beta[v] + 0.0


cdef class Positions:
    """Base of Smo: V, alpha, C, y, QD and the linear term of the variable at each position, and what it can do."""

    cdef int hold(self, Py_ssize_t m, int groups) except -1:
        """Memory for at most so many variables and groups."""
        self.V, self.alpha, self.C, self.QD, self.linear = (zeros("d", m) for _ in range(5))
        self.y, self.variable = zeros("b", m), zeros("i", m)
        self.up, self.low = table("f", groups, m), table("f", groups, m)
        return 0

    cdef void clear(self, Py_ssize_t m, int groups) noexcept nogil:
        """m variables to come, all of them active."""
        self.groups, self.unit_diagonal = groups, True
        self.total = self.size = self.active_size = m

    cdef void put(self, Py_ssize_t p, int32_t v, double linear, double alpha, double C, int8_t y, double diagonal) noexcept nogil:
        """Variable v at position p."""
        self.variable[p] = v
        self.V[p] = self.linear[p] = linear
        self.alpha[p], self.C[p], self.y[p], self.QD[p] = alpha, C, y, diagonal
        self.unit_diagonal &= diagonal == 1.0
        self.update_status(p)

    cdef void update_status(self, Py_ssize_t p) noexcept nogil:
        """Membership of position p in I_up and I_low of its group."""
        cdef bint upper = self.alpha[p] >= self.C[p]
        cdef bint lower = not upper and self.alpha[p] <= 0
        cdef bint positive = self.y[p] > 0
        cdef bint in_up = not upper if positive else not lower
        cdef bint in_low = not lower if positive else not upper
        cdef int g, own = 0 if self.groups == 1 or positive else 1
        for g in range(self.groups):
            self.up[g, p] = 0 if g == own and in_up else -HUGE_VAL
            self.low[g, p] = 0 if g == own and in_low else HUGE_VAL

    cdef bint is_free(self, Py_ssize_t p) noexcept nogil:
        return self.alpha[p] > 0 and self.alpha[p] < self.C[p]

    cdef void exchange(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """The variables at two positions change places."""
        cdef int g
        self.V[a], self.V[b] = self.V[b], self.V[a]
        self.alpha[a], self.alpha[b] = self.alpha[b], self.alpha[a]
        self.C[a], self.C[b] = self.C[b], self.C[a]
        self.QD[a], self.QD[b] = self.QD[b], self.QD[a]
        self.linear[a], self.linear[b] = self.linear[b], self.linear[a]
        self.y[a], self.y[b] = self.y[b], self.y[a]
        self.variable[a], self.variable[b] = self.variable[b], self.variable[a]
        for g in range(self.groups):
            self.up[g, a], self.up[g, b] = self.up[g, b], self.up[g, a]
            self.low[g, a], self.low[g, b] = self.low[g, b], self.low[g, a]


cdef class PositionsWithRows(Positions):
    """Positions whose kernel rows are in ``store``. Where blocks pay, one that is missing is computed with others: those that
    are most likely to be asked for next, or will be."""

    cdef const float *violator_row(self, Py_ssize_t i, int g) except NULL nogil:
        """K of the violator i of group g with the active part; if it has to be computed, maybe with those of the next ones."""
        if self.store.to_compute(self.store.index[i]) and self.store.together(False) > 1:
            self.fetch_likely(i, g, -1, NULL)
        return self.store.row(i)

    cdef const float *partner_row(self, Py_ssize_t j, int g, Py_ssize_t i, const float *K_i) except NULL nogil:
        """The same of the partner j of i, whose row is ``K_i``; maybe with those of the next best partners."""
        if self.store.to_compute(self.store.index[j]) and self.store.together(False) > 1:
            self.fetch_likely(j, g, i, K_i)
        return self.store.row(j)

    cdef int fetch_likely(self, Py_ssize_t p, int g, Py_ssize_t i, const float *K_i) except -1 nogil:
        """Compute the row of p and those that are most likely to be asked for next, of group g: without ``K_i`` rows of I_up
        that violate optimality most, else rows of I_low that would gain most with i."""
        cdef int32_t chosen[SVMX_SOURCES]
        cdef double values[SVMX_SOURCES]
        cdef double v, curvature, least = -HUGE_VAL
        cdef Py_ssize_t q
        cdef int n = 1, at
        chosen[0] = self.store.index[p]
        for q in range(self.active_size - 1, -1, -1):  # the last first among equals, as the selection has it
            if K_i == NULL:
                v = self.V[q] + self.up[g, q]
            else:
                v = self.V[i] - self.V[q] - self.low[g, q]
                if v <= 0:
                    continue
                curvature = self.QD[i] + self.QD[q] - 2 * K_i[q]
                v = v * v / (curvature if curvature > 0 else SVMX_TAU)
            if v > least and q != p and self.store.to_compute(self.store.index[q]):
                at = n if n < SVMX_SOURCES else SVMX_SOURCES - 1
                while at > 1 and v > values[at - 1]:
                    values[at], chosen[at] = values[at - 1], chosen[at - 1]
                    at -= 1
                values[at], chosen[at] = v, self.store.index[q]
                if n < SVMX_SOURCES:
                    n += 1
                if n == SVMX_SOURCES:
                    least = values[SVMX_SOURCES - 1]
        return self.store.take(chosen, n, False)

    cdef int fetch_next(self, Py_ssize_t p) except -1 nogil:
        """Compute the rows of p and the next positions that are not 0."""
        cdef int32_t chosen[SVMX_SOURCES]
        cdef int n = 0
        while p < self.size and n < self.store.together(True):
            if (self.alpha[p] > 0 or self.alpha[p] >= self.C[p]) and self.store.to_compute(self.store.index[p]):
                chosen[n] = self.store.index[p]
                n += 1
            p += 1
        return self.store.take(chosen, n, True)


cdef class Scans:
    """Scans(n, pool): passes over up to n positions, by the threads of ``pool``, cut up for them if they are long.

    Each part finds what a pass over its positions alone would find, and joining the parts in their order gives what one
    pass gives: the last position wins a tie. So nothing depends on the threads.
    """

    def __cinit__(self, Py_ssize_t n, ThreadPool pool):
        self.pool, self.tops = pool, zeros("f", n // SVMX_SPAN + 1)
        self.parts = <Part *>calloc(pool.n, sizeof(Part))
        if self.parts == NULL:
            raise MemoryError("threads of a solve")

    def __dealloc__(self):
        free(self.parts)

    cdef int64_t update_max_violator(self, Py_ssize_t n, double *V, const float *K_i, const float *K_j, double dbeta_i,
                                     double dbeta_j, const float *up, double *maximum) noexcept nogil:
        """V -= K_i dbeta_i + K_j dbeta_j; returns the last position of the largest V + up, -1 if there is none."""
        if self.cut(n) == 1:
            return svmx_update_max_violator(n, V, K_i, K_j, dbeta_i, dbeta_j, up, maximum)
        self.V, self.K_i, self.K_j, self.up, self.dbeta_i, self.dbeta_j = V, K_i, K_j, up, dbeta_i, dbeta_j
        self.pool.run_short(_update_part, <void *>self, self.n_parts)
        return self.join(maximum)

    cdef int64_t partner(self, const svmx_pairing *pair, Py_ssize_t n, double eps, double *largest,
                         double *gap) noexcept nogil:
        """The last position of the largest gain as a partner of i, -1 if there is none; see svmx_partner."""
        cdef Py_ssize_t k
        if self.cut(n) == 1:
            return svmx_partner(pair, n, eps, &self.tops[0], largest, gap)
        self.pair, self.eps = pair, eps
        self.pool.run_short(_partner_of_part, <void *>self, self.n_parts)
        gap[0] = self.parts[0].gap
        for k in range(1, self.n_parts):
            gap[0] = max(gap[0], self.parts[k].gap)
        return self.join(largest)

    cdef Py_ssize_t cut(self, Py_ssize_t n) noexcept nogil:
        """Into how many parts n positions are cut from now on."""
        self.n, self.n_parts = n, max(1, min(<Py_ssize_t>self.pool.n, n // LEAST_PART))
        return self.n_parts

    cdef Py_ssize_t begin(self, int64_t part) noexcept nogil:
        """Where a part begins, and the one before ends: at a multiple of SVMX_SPAN, or behind the last position."""
        return self.n if part == self.n_parts else self.n // SVMX_SPAN * part // self.n_parts * SVMX_SPAN

    cdef int64_t join(self, double *largest) noexcept nogil:
        """The last position of the largest value of all parts."""
        cdef int64_t found = -1
        cdef Py_ssize_t k
        largest[0] = -HUGE_VAL
        for k in range(self.n_parts):
            if self.parts[k].found >= 0 and self.parts[k].largest >= largest[0]:
                found, largest[0] = self.parts[k].found, self.parts[k].largest
        return found

    cdef void update_part(self, int64_t number) noexcept nogil:
        cdef Part *part = &self.parts[number]
        cdef Py_ssize_t begin = self.begin(number)
        part.found = svmx_update_max_violator(self.begin(number + 1) - begin, self.V + begin, self.K_i + begin, self.K_j + begin,
                                              self.dbeta_i, self.dbeta_j, self.up + begin, &part.largest)
        part.found += begin if part.found >= 0 else 0

    cdef void partner_of_part(self, int64_t number) noexcept nogil:
        cdef Part *part = &self.parts[number]
        cdef Py_ssize_t begin = self.begin(number)
        cdef svmx_pairing pair = self.pair[0]
        pair.V += begin
        pair.QD += begin
        pair.low += begin
        pair.K += begin
        part.found = svmx_partner(&pair, self.begin(number + 1) - begin, self.eps, &self.tops[0] + begin // SVMX_SPAN,
                                  &part.largest, &part.gap)
        part.found += begin if part.found >= 0 else 0


cdef void _update_part(void *scans, int64_t number) noexcept nogil:
    (<Scans>scans).update_part(number)


cdef void _partner_of_part(void *scans, int64_t number) noexcept nogil:
    (<Scans>scans).partner_of_part(number)
