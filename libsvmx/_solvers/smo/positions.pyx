"""LIBSVM's variables of a dual problem, their positions, and the passes over them. Only _solvers/smo uses them.

    min 1/2 a'Qa + p'a   s.t.  y'a = const,  0 <= a_i <= C_i,   Q_ij = y_i y_j K_ij      (Fan, Chen & Lin 2005, eq. 1)

With two groups the sum over each label is fixed: group 0 is y = +1, group 1 is y = -1. The conversion

    a_i = y_i beta_i,  p_i = -y_i linear_i,  beta_i in [0, C_i] for y_i = +1, in [-C_i, 0] for y_i = -1

is exact: a product with y changes a sign. Zeros are signed as in LIBSVM: +0 in alpha, y_i 0 in beta and in model files.

    AlphaForm    the problem in these variables
    Positions    the variables' data by position; PositionsWithRows: with their kernel rows
    Scans        the two passes of an iteration over all active variables
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t, int32_t, int64_t, intptr_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from libsvmx._core.allocation cimport reallocate
from libsvmx._core.arrays cimport memory, memory_table
from libsvmx._core.dispatch cimport (
    SVMX_PER_TOP, SVMX_REPLAY, SVMX_SOURCES, SVMX_SPAN, SVMX_TAU, svmx_axpy_at, svmx_axpy_row, svmx_axpy_rows,
    svmx_interleave, svmx_pairing, svmx_partner, svmx_replay, svmx_update_max_violator)
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.rowstore cimport KernelRows
from libsvmx._solvers.dual cimport DualProblem

from libsvmx._core.buffers import zeros

# Nanoseconds: a pass over a position, one update of a score, and a stored value that is fetched for it.
cdef double SCAN_NS = 0.3, ADD_NS = 0.15, FETCH_NS = 0.4


cdef class AlphaForm:
    """AlphaForm(problem): initial ``alpha``, ``C`` and ``y``, shape (m,).

    Raises
    ------
    ValueError       a box with 0 in its interior, or on the wrong side for its group
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
    """Base of Smo: V, alpha, C, y, QD, linear term and status (I_up, I_low) of the variable at each position."""

    cdef int hold(self, Py_ssize_t m, int groups) except -1:
        """Allocate for at most m variables."""
        cdef double[::1] all_of_them = memory("d", 5 * m)
        cdef float[:, ::1] statuses = memory_table("f", 2 * groups, m)
        self.V, self.alpha, self.C = all_of_them[:m], all_of_them[m:2 * m], all_of_them[2 * m:3 * m]
        self.QD, self.linear = all_of_them[3 * m:4 * m], all_of_them[4 * m:]
        self.y, self.variable = memory("b", m), memory("i", m)
        self.up, self.low = statuses[:groups], statuses[groups:]
        return 0

    cdef void clear(self, Py_ssize_t m, int groups) noexcept nogil:
        """Start a problem of m variables, all active."""
        self.groups, self.unit_diagonal = groups, True
        self.total = self.size = self.active_size = m

    cdef void put(self, Py_ssize_t p, int32_t v, double linear, double alpha, double C, int8_t y,
                  double diagonal) noexcept nogil:
        """Set position p to variable v."""
        self.variable[p] = v
        self.V[p] = self.linear[p] = linear
        self.alpha[p], self.C[p], self.y[p], self.QD[p] = alpha, C, y, diagonal
        self.unit_diagonal &= diagonal == 1.0
        self.update_status(p)

    cdef void update_status(self, Py_ssize_t p) noexcept nogil:
        """Recompute the membership of position p in I_up and I_low of its group."""
        cdef bint upper = self.alpha[p] >= self.C[p]
        cdef bint lower = not upper and self.alpha[p] <= 0
        cdef bint positive = self.y[p] > 0
        cdef bint in_up = not upper if positive else not lower
        cdef bint in_low = not lower if positive else not upper
        cdef int g = 0 if self.groups == 1 or positive else 1
        self.up[g, p], self.low[g, p] = 0 if in_up else -HUGE_VAL, 0 if in_low else HUGE_VAL
        if self.groups == 2:  # in the other one it is nowhere
            self.up[1 - g, p], self.low[1 - g, p] = -HUGE_VAL, HUGE_VAL

    cdef void close(self, Py_ssize_t p) noexcept nogil:
        """Let no step move position p, which has an empty box; its score follows the others."""
        cdef int g
        for g in range(self.groups):
            self.up[g, p], self.low[g, p] = -HUGE_VAL, HUGE_VAL

    cdef bint is_free(self, Py_ssize_t p) noexcept nogil:
        return self.alpha[p] > 0 and self.alpha[p] < self.C[p]

    cdef void exchange(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
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
    """Positions whose kernel rows are in ``store``. Where blocks pay, a missing row is computed together with those
    most likely to be needed next."""

    cdef const float *violator_row(self, Py_ssize_t i, int g) except NULL nogil:
        """Kernel row of the violator i of group g over the active positions; prefetches those of the next violators."""
        if self.store.to_compute(self.store.index[i]):
            self.before_rows()
            if self.store.together(False) > 1:
                self.fetch_likely(i, g, -1, NULL)
        return self.store.row(i)

    cdef const float *partner_row(self, Py_ssize_t j, int g, Py_ssize_t i, const float *K_i) except NULL nogil:
        """Kernel row of the partner j of i, whose row is ``K_i``; prefetches those of the next best partners."""
        if self.store.to_compute(self.store.index[j]):
            self.before_rows()
            if self.store.together(False) > 1:
                self.fetch_likely(j, g, i, K_i)
        return self.store.row(j)

    cdef int before_rows(self) except -1 nogil:
        """Hook called before rows are computed, which may replace stored ones."""
        return 0

    cdef int fetch_likely(self, Py_ssize_t p, int g, Py_ssize_t i, const float *K_i) except -1 nogil:
        """Compute the row of p and the rows of group g most likely to be needed next: without ``K_i`` the largest V in
        I_up, else the largest gains in I_low with i."""
        cdef int32_t chosen[SVMX_SOURCES]
        cdef double values[SVMX_SOURCES]
        cdef double v, curvature, least = -HUGE_VAL
        cdef Py_ssize_t q
        cdef int n = 1, at, most = self.store.together(False)
        chosen[0] = self.store.index[p]
        for q in range(self.active_size - 1, -1, -1):  # last position first among ties, as in the selection
            if K_i == NULL:
                v = self.V[q] + self.up[g, q]
            else:
                v = self.V[i] - self.V[q] - self.low[g, q]
                if v <= 0:
                    continue
                curvature = self.QD[i] + self.QD[q] - 2 * K_i[q]
                v = v * v / (curvature if curvature > 0 else SVMX_TAU)
            if v > least and q != p and self.store.to_compute(self.store.index[q]):
                at = n if n < most else most - 1
                while at > 1 and v > values[at - 1]:
                    values[at], chosen[at] = values[at - 1], chosen[at - 1]
                    at -= 1
                values[at], chosen[at] = v, self.store.index[q]
                if n < most:
                    n += 1
                if n == most:
                    least = values[most - 1]
        return self.store.take(chosen, n, False)

    cdef int fetch_next(self, Py_ssize_t p) except -1 nogil:
        """Compute the row of p and those of the next positions with alpha != 0."""
        cdef int32_t chosen[SVMX_SOURCES]
        cdef int n = 0
        while p < self.size and n < self.store.together(True):
            if (self.alpha[p] > 0 or self.alpha[p] >= self.C[p]) and self.store.to_compute(self.store.index[p]):
                chosen[n] = self.store.index[p]
                n += 1
            p += 1
        return self.store.take(chosen, n, True)


cdef class Scans:
    """Scans(n, pool): passes over up to n positions, split among the threads of ``pool`` if long.

    Results of the parts are joined in order, the last position winning a tie, so they do not depend on the threads.
    """

    def __cinit__(self, Py_ssize_t n, ThreadPool pool):
        self.pool, self.tops = pool, memory("f", (n + SVMX_SPAN) // SVMX_PER_TOP)
        self.parts = <Part *>calloc(pool.n, sizeof(Part))
        if self.parts == NULL:
            raise MemoryError("threads of a solve")

    def __dealloc__(self):
        free(self.parts)

    cdef int64_t update_max_violator(self, Py_ssize_t n, double *V, const float *K_i, const float *K_j, double dbeta_i,
                                     double dbeta_j, const float *up, double *maximum) noexcept nogil:
        """V -= K_i dbeta_i + K_j dbeta_j; returns the last position of the largest V + up, -1: none."""
        if self.cut(n) == 1:
            return svmx_update_max_violator(n, V, K_i, K_j, dbeta_i, dbeta_j, up, maximum)
        self.V, self.K_i, self.K_j, self.up, self.dbeta_i, self.dbeta_j = V, K_i, K_j, up, dbeta_i, dbeta_j
        self.pool.run(_update_part, <void *>self, self.n_parts, SCAN_NS * n)
        return self.join(maximum)

    cdef int64_t partner(self, const svmx_pairing *pair, Py_ssize_t n, double eps, double *largest,
                         double *gap) noexcept nogil:
        """Last position of the largest gain as a partner of i, -1: none; see svmx_partner."""
        cdef Py_ssize_t k
        if self.cut(n) == 1:
            return svmx_partner(pair, n, eps, &self.tops[0], largest, gap)
        self.pair, self.eps = pair, eps
        self.pool.run(_partner_of_part, <void *>self, self.n_parts, SCAN_NS * n)
        gap[0] = self.parts[0].gap
        for k in range(1, self.n_parts):
            gap[0] = max(gap[0], self.parts[k].gap)
        return self.join(largest)

    cdef Py_ssize_t cut(self, Py_ssize_t n) noexcept nogil:
        """Split n positions into parts; returns their number."""
        self.n, self.n_parts = n, self.pool.parts(SCAN_NS * n)
        return self.n_parts

    cdef Py_ssize_t begin(self, int64_t part) noexcept nogil:
        """First position of a part, a multiple of SVMX_SPAN; n for ``n_parts``."""
        return self.n if part == self.n_parts else self.n // SVMX_SPAN * part // self.n_parts * SVMX_SPAN

    cdef int64_t join(self, double *largest) noexcept nogil:
        """Last position of the largest value over all parts."""
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
        part.found = svmx_update_max_violator(self.begin(number + 1) - begin, self.V + begin, self.K_i + begin,
                                              self.K_j + begin, self.dbeta_i, self.dbeta_j, self.up + begin,
                                              &part.largest)
        part.found += begin if part.found >= 0 else 0

    cdef void partner_of_part(self, int64_t number) noexcept nogil:
        cdef Part *part = &self.parts[number]
        cdef Py_ssize_t begin = self.begin(number)
        cdef svmx_pairing pair = self.pair[0]
        pair.V += begin
        pair.QD += begin
        pair.low += begin
        pair.K += begin
        part.found = svmx_partner(&pair, self.begin(number + 1) - begin, self.eps,
                                  &self.tops[0] + begin // SVMX_PER_TOP, &part.largest, &part.gap)
        part.found += begin if part.found >= 0 else 0


cdef void _update_part(void *scans, int64_t number) noexcept nogil:
    (<Scans>scans).update_part(number)


cdef void _partner_of_part(void *scans, int64_t number) noexcept nogil:
    (<Scans>scans).partner_of_part(number)


# ---- Deferred updates ------------------------------------------------------------------------------
#
# Shrunk variables have no current scores. When these are needed, the updates that they missed,
#
#     score_q += coef_e K(source_e, q),    e = 0, 1, ...
#
# are made together, in the order of the steps, which gives the same bits as LIBSVM's G_bar, updated at every step
# (Chang & Lin 2011, section 5.3). If whole rows are stored, a few updates are made at a time, while these are in a CPU
# cache; with shortened rows, all of them when a gradient is reconstructed, from values computed in blocks.

# Distinct sources at a time: their values for SVMX_REPLAY rows take 1 MB.
cdef Py_ssize_t MOST_SOURCES = 8192
cdef enum:
    LINE = 16  # values of a cache line
# Positions at a time with stored rows: their scores stay in L1.
cdef Py_ssize_t POSITIONS = 2048
# Values of one piece of work of a thread, at least: a few microseconds.
cdef Py_ssize_t VALUES_FOR_THREADS = 32768
cdef enum:
    MOST_THREADS = 64
# Pending updates at most; and the number whose stored rows are still in a cache.
cdef int64_t MOST_UPDATES = 1 << 20, FEW_UPDATES = 32


cdef class DeferredUpdates:
    """A list of (source, coefficient); sources are rows of a kernel."""

    def __dealloc__(self):
        free(self.source)
        free(self.coef)
        free(self.row)

    cdef int add(self, int32_t source, double coef) except -1 nogil:
        cdef int64_t room = 2 * self.room + 256
        if self.n == self.room:
            reallocate(<void **>&self.source, room * sizeof(int32_t), b"deferred updates of scores")
            reallocate(<void **>&self.coef, room * sizeof(double), b"deferred updates of scores")
            reallocate(<void **>&self.row, room * sizeof(float *), b"deferred updates of scores")
            self.room = room
        self.source[self.n], self.coef[self.n] = source, coef
        self.n += 1
        return 0

    cdef int apply(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                   bint transposed, Control control) except -1 nogil:
        """Make the updates from ``first`` on to scores[0..n), those of ``positions`` of ``store``.

        ``transposed``: K(source, position), else K(position, source); they differ only in a precomputed matrix.
        """
        cdef bint usable = store.whole and (transposed or not store.one_way)
        if first == self.n or n == 0:
            return 0
        if store.by_row:
            with gil:
                return self.apply_by_row(first, store, positions, n, scores, transposed, control)
        if usable and self.are_stored(first, store):
            return self.apply_rows(first, store.pool, positions, n, scores, control)
        with gil:
            rows_ = zeros("i", n)
            take_rows(rows_, store, positions)
            if store.targets.kept:
                return self.apply_shared(first, store, rows_, scores, control)
            return self.apply_blocks(first, store, positions, rows_, scores, transposed, usable, control)

    cdef int apply_by_row(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                          bint transposed, Control control) except -1:
        """``apply`` for a store ``by_row``, with one position at a time of those that share a row."""
        cdef Py_ssize_t left = n, m, rest, k
        cdef bint usable = transposed or not store.one_way
        order_, place_ = zeros("i", n), zeros("i", n)
        cdef int32_t[::1] order = order_, place = place_
        cdef int32_t[::1] one = zeros("i", n), of_one = zeros("i", n)
        cdef double[::1] sums = zeros("d", n)
        sort_by_place(order, place, store, positions)
        while left:
            m = rest = 0
            for k in range(left):
                if m and place[k] == of_one[m - 1]:
                    order[rest], place[rest] = order[k], place[k]
                    rest += 1
                else:
                    one[m], of_one[m] = order[k], place[k]
                    m += 1
            for k in range(m):
                sums[k] = scores[one[k]]
            if usable and self.are_stored(first, store):
                self.apply_rows(first, store.pool, &of_one[0], m, &sums[0], control)
            else:
                rows_ = zeros("i", m)
                take_rows(rows_, store, &of_one[0])
                self.apply_blocks(first, store, &of_one[0], rows_, &sums[0], transposed, usable, control)
            for k in range(m):
                scores[one[k]] = sums[k]
            left = rest
        return 0

    cdef bint are_stored(self, int64_t first, KernelRows store) except -1 nogil:
        """Whether the rows of all sources from update ``first`` on are stored; if so, sets ``row``."""
        cdef int64_t e
        for e in range(first, self.n):
            if store.to_compute(self.source[e]):
                return False
        for e in range(first, self.n):
            self.row[e] = store.stored(self.source[e])
        return True

    cdef int apply_rows(self, int64_t first, ThreadPool pool, const int32_t *positions, Py_ssize_t n, double *scores,
                        Control control) except -1 nogil:
        """Make the updates from ``first`` on by the whole rows in ``row``, POSITIONS ascending positions at a time per
        thread."""
        cdef StretchJob job
        cdef Py_ssize_t k, parts = pool.parts(ADD_NS * n * (self.n - first))
        job.row, job.coef, job.n_updates = self.row + first, self.coef + first, self.n - first
        job.positions, job.scores, job.n = positions, scores, n
        job.in_order, job.at = n > 0 and positions[n - 1] - positions[0] == n - 1, 0
        while job.at < n:
            k = min(parts, (n - job.at + POSITIONS - 1) // POSITIONS)
            pool.run(_add_to_stretch, &job, k, ADD_NS * k * POSITIONS * job.n_updates)
            control.worked(k * POSITIONS * job.n_updates)
            job.at += k * POSITIONS
        return 0

    cdef int apply_shared(self, int64_t first, KernelRows store, rows, double *scores, Control control) except -1:
        """Make the updates from shared rows, which hold the sources but maybe not ``rows``."""
        cdef Targets targets = store.kernel.targets(rows)
        cdef float *out[SVMX_SOURCES]
        cdef float[::1] values = zeros("f", SVMX_SOURCES * targets.n)
        cdef int64_t e = first
        cdef int r, count
        with nogil:
            while e < self.n:
                count = <int>min(<int64_t>SVMX_SOURCES, self.n - e)
                for r in range(count):
                    out[r] = &values[r * targets.n]
                store.kernel.values_computed += targets.fill_rows(&self.source[e], count, targets.n, out, store.pool)
                for r in range(count):
                    svmx_axpy_row(targets.n, self.coef[e + r], out[r], scores)
                e += count
                control.worked(2 * count * targets.n)
        return 0

    cdef int apply_blocks(self, int64_t first, KernelRows store, const int32_t *positions, const int32_t[::1] rows,
                          double *scores, bint transposed, bint usable, Control control) except -1:
        """Make the updates for SVMX_REPLAY positions at a time against all sources, split among threads.

        ``rows``: kernel row of each position. ``usable``: stored rows of sources may be read.
        """
        cdef int64_t begin = first, end, e
        cdef Py_ssize_t at, r, most = min(<int64_t>MOST_SOURCES, self.n - first), n_rows = rows.shape[0], parts, work
        cdef int32_t source
        cdef Replay replay
        cdef Targets targets
        cdef Kernel kernel = store.kernel
        cdef ThreadPool pool = store.pool
        number_, members_, place_ = zeros("i", kernel.n), zeros("i", most), zeros("i", self.n - first)
        stored_ = zeros("q", most)
        cdef int32_t[::1] number = number_, members = members_, place = place_
        cdef int64_t[::1] stored = stored_
        cdef float[::1] values
        cdef void *targets_of[MOST_THREADS]
        cdef double row_ns
        while begin < self.n:
            # updates with at most ``most`` sources: stored ones are numbered -1, -2, ..., the others 1, 2, ...
            end, replay.n_computed, replay.n_stored = begin, 0, 0
            while end < self.n and (number[self.source[end]] or replay.n_computed + replay.n_stored < most):
                source = self.source[end]
                if number[source] == 0:
                    if usable and not store.to_compute(source):
                        stored[replay.n_stored] = <intptr_t>store.stored(source)
                        replay.n_stored += 1
                        number[source] = -<int32_t>replay.n_stored
                    else:
                        members[replay.n_computed] = source
                        replay.n_computed += 1
                        number[source] = <int32_t>replay.n_computed
                end += 1
            for e in range(begin, end):
                r = number[self.source[e]]
                place[e - first] = <int32_t>(r - 1 if r > 0 else replay.n_computed - r - 1)
            for e in range(begin, end):
                number[self.source[e]] = 0
            r = replay.n_computed + replay.n_stored
            targets = kernel.targets(members_[:replay.n_computed], transposed)
            replay.rows_of_part = SVMX_REPLAY * (1 + VALUES_FOR_THREADS // (SVMX_REPLAY * r))
            row_ns = targets.block_ns * replay.n_computed + FETCH_NS * replay.n_stored + ADD_NS * (end - begin)
            parts = min(pool.parts(row_ns * n_rows), MOST_THREADS,
                        (n_rows + replay.rows_of_part - 1) // replay.rows_of_part)
            replay.stride = ((r + LINE - 1) // LINE | 1) * LINE
            work = parts * replay.rows_of_part // SVMX_REPLAY * (4 * SVMX_REPLAY * r + 2 * (end - begin))
            own = [targets]
            while len(own) < parts:
                own.append(targets.of_thread())
            for r in range(parts):
                targets_of[r] = <void *>own[r]
            values = zeros("f", parts * 2 * SVMX_REPLAY * replay.stride + LINE)
            replay.targets, replay.n_rows, replay.rows, replay.positions = targets_of, n_rows, &rows[0], positions
            replay.values = <float *>((<uintptr_t>&values[0] + 63) // 64 * 64)
            replay.stored, replay.scores = <const float **>&stored[0], scores
            replay.n, replay.place, replay.coef = end - begin, &place[begin - first], &self.coef[begin]
            with nogil:
                at = 0
                while at < n_rows:
                    replay.at = at
                    r = min(parts * replay.rows_of_part, n_rows - at)
                    pool.run(_replay_part, &replay, (r + replay.rows_of_part - 1) // replay.rows_of_part, row_ns * r)
                    at += parts * replay.rows_of_part
                    control.worked(work)
            kernel.values_computed += n_rows * replay.n_computed
            begin = end
        return 0


cdef int take_rows(int32_t[::1] rows, KernelRows store, const int32_t *places) except -1:
    """Kernel row of each place, into ``rows``."""
    cdef const int32_t *row = store.row_at()
    cdef Py_ssize_t k
    for k in range(rows.shape[0]):
        rows[k] = row[places[k]]
    return 0


cdef int sort_by_place(int32_t[::1] order, int32_t[::1] place, KernelRows store, const int32_t *positions) except -1:
    """Sort positions by their place in whole rows, so that reads are in order."""
    cdef int32_t[::1] begin = zeros("i", store.n_places() + 1)
    cdef Py_ssize_t k
    cdef int32_t t
    for k in range(order.shape[0]):
        begin[store.place[positions[k]] + 1] += 1
    for k in range(store.n_places()):
        begin[k + 1] += begin[k]
    for k in range(order.shape[0]):
        t = store.place[positions[k]]
        order[begin[t]], place[begin[t]] = <int32_t>k, t
        begin[t] += 1
    return 0


cdef struct StretchJob:
    const float **row           # of each update
    const double *coef
    int64_t n_updates
    const int32_t *positions
    bint in_order               # positions are consecutive
    double *scores
    Py_ssize_t n
    Py_ssize_t at               # where the first part begins


cdef void _add_to_stretch(void *context, int64_t part) noexcept nogil:
    """Make the updates to part ``part``, POSITIONS positions."""
    cdef StretchJob *job = <StretchJob *>context
    cdef Py_ssize_t begin = job.at + part * POSITIONS, n = min(POSITIONS, job.n - begin)
    cdef int64_t e
    if job.in_order:
        svmx_axpy_rows(n, job.n_updates, job.coef, job.row, job.positions[begin], job.scores + begin)
        return
    for e in range(job.n_updates):
        svmx_axpy_at(n, job.coef[e], job.row[e], job.positions + begin, job.scores + begin)


cdef struct Replay:
    void **targets              # of each part
    float *values               # scratch at a cache line, 2 SVMX_REPLAY stride for each part
    Py_ssize_t n_computed       # sources; in values, stored sources follow them
    const float **stored        # whole rows
    Py_ssize_t n_stored
    Py_ssize_t stride           # of rows in values: an odd number of cache lines, against conflicts in the cache
    const int32_t *rows
    const int32_t *positions
    double *scores
    Py_ssize_t n_rows
    Py_ssize_t rows_of_part     # a multiple of SVMX_REPLAY
    Py_ssize_t at               # where the first part begins
    int64_t n                   # updates
    const int32_t *place        # their sources, in [0, n_computed + n_stored)
    const double *coef


cdef void _replay_part(void *context, int64_t part) noexcept nogil:
    cdef Replay *replay = <Replay *>context
    cdef Py_ssize_t at = replay.at + part * replay.rows_of_part, end = min(at + replay.rows_of_part, replay.n_rows)
    cdef float *values = replay.values + part * 2 * SVMX_REPLAY * replay.stride
    while at < end:
        _replay_group(replay, <Targets>replay.targets[part], at, min(SVMX_REPLAY, end - at), values)
        at += SVMX_REPLAY


cdef void _replay_group(Replay *replay, Targets targets, Py_ssize_t at, Py_ssize_t lanes, float *values) noexcept nogil:
    """Make the updates to rows [at, at + lanes)."""
    cdef float *together = values + SVMX_REPLAY * replay.stride
    cdef double sums[SVMX_REPLAY]
    cdef float *out[SVMX_REPLAY]
    cdef float *lane
    cdef const int32_t *positions = replay.positions + at
    cdef Py_ssize_t r, k
    cdef bint in_order
    for r in range(lanes):
        out[r] = values + r * replay.stride
        sums[r] = replay.scores[at + r]
    if replay.n_computed == 0:
        pass
    elif lanes == 1:
        targets.fill(replay.rows[at], 0, replay.n_computed, out[0])
    else:
        targets.lay_block(replay.rows + at, <int>lanes)
        targets.fill_block(replay.rows + at, <int>lanes, 0, replay.n_computed, out)
    svmx_interleave(replay.n_computed, replay.stride, values, SVMX_REPLAY, together)
    lane = together + SVMX_REPLAY * replay.n_computed
    in_order = lanes == SVMX_REPLAY
    for r in range(1, lanes):
        in_order &= positions[r] == positions[0] + r
    if in_order:
        for k in range(replay.n_stored):
            memcpy(lane + SVMX_REPLAY * k, replay.stored[k] + positions[0], SVMX_REPLAY * sizeof(float))
    else:
        for k in range(replay.n_stored):
            for r in range(lanes):
                lane[SVMX_REPLAY * k + r] = replay.stored[k][positions[r]]
    svmx_replay(replay.n, replay.place, replay.coef, together, sums)
    for r in range(lanes):
        replay.scores[at + r] = sums[r]


cdef class GBar:
    """GBar(n, positions): LIBSVM's G_bar, the contribution of variables with alpha = C to the scores of n kernel rows.

    An update is added whenever a variable reaches or leaves C; ``make_current`` makes them for given positions,
    ``make_stored`` for all rows while the sources' rows are stored.
    """

    def __cinit__(self, Py_ssize_t n, Py_ssize_t positions):
        self.updates = DeferredUpdates()
        cdef Py_ssize_t p
        self.n, self.memory = n, memory("d", 2 * n + 2 * positions + n // 8 + 1)
        self.scores = <double *>self.memory.items
        self.sums = self.scores + n
        self.seen = <int64_t *>(self.sums + positions)
        self.every = <int32_t *>(self.seen + n)
        self.late = self.every + positions
        self.sources = <unsigned char *>(self.late + positions)
        for p in range(positions):
            self.every[p] = <int32_t>p
        self.begin(n)

    cdef void begin(self, Py_ssize_t n) noexcept nogil:
        """Reset for at most as many rows as in the constructor, with no variable at C."""
        self.updates.n, self.level = 0, True
        memset(self.scores, 0, n * sizeof(double))
        memset(self.seen, 0, n * sizeof(int64_t))
        memset(self.sources, 0, n)
        self.limit = max(MOST_UPDATES, 4 * n)

    cdef int add(self, int32_t row, double coef, KernelRows store, Control control) except -1 nogil:
        """score_q += coef K(row, q) for all q."""
        if self.updates.n == self.limit:
            self.clear(store, control)
        self.sources[row] = True
        return self.updates.add(row, coef)

    cdef int before_rows(self, KernelRows store, Control control) except -1 nogil:
        """Make the updates if whole rows are stored, and some of theirs may be replaced or leave the CPU cache."""
        if self.updates.n and store.whole and (self.updates.n >= FEW_UPDATES or store.may_replace(self.sources)):
            self.clear(store, control)
        return 0

    cdef int clear(self, KernelRows store, Control control) except -1 nogil:
        """Make all updates, and empty the list."""
        self.make_current(store, self.every, store.size, control)
        memset(self.seen, 0, self.n * sizeof(int64_t))
        memset(self.sources, 0, self.n)
        self.updates.n, self.level = 0, True
        return 0

    cdef bint make_stored(self, KernelRows store, Control control) except -1 nogil:
        """Make all updates to all rows, if no row has any of them yet and the sources' whole rows are stored."""
        cdef Py_ssize_t p, n = store.n_places()
        cdef const int32_t *row
        if not (self.level and store.whole and (store.injective or store.by_row) and self.updates.are_stored(0, store)):
            return False
        row = store.row_at()  # the store may have been laid out anew
        for p in range(n):
            self.sums[p] = self.scores[row[p]]
        self.updates.apply_rows(0, store.pool, self.every, n, self.sums, control)
        for p in range(n):
            self.scores[row[p]] = self.sums[p]
        memset(self.sources, 0, self.n)
        self.updates.n = 0
        return True

    cdef int make_current(self, KernelRows store, const int32_t *positions, Py_ssize_t n,
                          Control control) except -1 nogil:
        """Make ``scores`` current at the rows of ``positions`` of ``store``."""
        cdef Py_ssize_t i, n_late
        cdef int32_t row
        cdef int64_t oldest
        if self.make_stored(store, control):
            return 0
        self.level = False
        while True:
            # rows with the same number of updates made are handled together; there are few such groups
            oldest = self.updates.n
            for i in range(n):
                oldest = min(oldest, self.seen[store.index[positions[i]]])
            if oldest == self.updates.n:
                return 0
            n_late = 0
            for i in range(n):
                row = store.index[positions[i]]
                if self.seen[row] == oldest:
                    self.seen[row] = self.updates.n  # each row once
                    self.late[n_late], self.sums[n_late] = positions[i], self.scores[row]
                    n_late += 1
            self.updates.apply(oldest, store, self.late, n_late, self.sums, True, control)
            for i in range(n_late):
                self.scores[store.index[self.late[i]]] = self.sums[i]
