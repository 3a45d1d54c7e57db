"""Deferred updates of scores, for shrunk variables.

Shrunk variables have no current scores. When they are wanted, all the updates that they missed,

    score_q += coef_e K(source_e, q),    e = 0, 1, ...

are made at once, row by row in the order in which they arose. That gives the bits that LIBSVM gets by keeping its G_bar
up to date at every step (Chang & Lin 2011, section 5.3), but needs the kernel values of shrunk rows only when a
gradient is reconstructed, and then from kept rows or in blocks.
"""

from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._core.smo_steps cimport SVMX_REPLAY, svmx_axpy_at, svmx_axpy_row, svmx_interleave, svmx_replay
from libsvmx._kernels.kernel cimport LONG_NS, Kernel, Targets
from libsvmx._kernels.rows cimport KernelRows
from libsvmx._solvers.control cimport Control

# Different sources worked on at a time: their values for SVMX_REPLAY rows take 1 MB.
cdef Py_ssize_t MOST_SOURCES = 8192
cdef enum:
    LINE = 16  # values of a cache line
# What one of several threads does at a time has so many values at least: a few microseconds of work.
cdef Py_ssize_t VALUES_FOR_THREADS = 32768
cdef enum:
    MOST_THREADS = 64
# Updates kept before they are made to all rows.
cdef int64_t MOST_UPDATES = 1 << 20


cdef class DeferredUpdates:
    """A list of (source, coefficient); sources are rows of a kernel."""

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
                    raise MemoryError("deferred updates of scores")
            self.room = 2 * self.room + 256
        self.source[self.n], self.coef[self.n] = source, coef
        self.n += 1
        return 0

    cdef int apply(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                   bint transposed, Control control) except -1 nogil:
        """Make the updates from ``first`` on to scores[0..n), those of the given positions of ``store``.

        ``transposed``: K(source, position), else K(position, source); they differ only in a given matrix.
        """
        if first == self.n or n == 0:
            return 0
        if store.whole and (transposed or not store.kernel.given):
            return self.apply_rows(first, store, positions, n, scores, control)
        with gil:
            return self.apply_anew(first, store, positions, n, scores, transposed, control)

    cdef int apply_anew(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                        bint transposed, Control control) except -1:
        """By kernel values that are not in ``store``."""
        rows_ = zeros("i", n)
        cdef int32_t[::1] rows = rows_
        cdef Py_ssize_t k
        for k in range(n):
            rows[k] = store.index[positions[k]]
        if store.targets.kept:
            return self.apply_shared(first, store, rows_, scores, control)
        return self.apply_blocks(first, store.kernel, store.pool, &rows[0], n, scores, transposed, control)

    cdef int apply_rows(self, int64_t first, KernelRows store, const int32_t *positions, Py_ssize_t n, double *scores,
                        Control control) except -1 nogil:
        """A kept row at a time. Those that are not kept are computed by the block, and are the first to be replaced once they
        were used: if they took the places of kept ones, which later updates ask for, these would have to be computed, too."""
        cdef int32_t fetched[SVMX_SOURCES]
        cdef int k, n_fetched = 0
        cdef int64_t e, values_before = store.kernel.values_computed
        for e in range(first, self.n):
            if store.to_compute(self.source[e]) and store.together(True) > 1:
                n_fetched = self.missing_from(e, store, fetched)
                store.take(fetched, n_fetched, True)
            svmx_axpy_at(n, self.coef[e], store.row_of(self.source[e]), positions, scores)
            for k in range(n_fetched):
                if fetched[k] == self.source[e]:
                    store.let_go(fetched[k])
                    break
            control.worked(n + 4 * (store.kernel.values_computed - values_before))
            values_before = store.kernel.values_computed
        return 0

    cdef int missing_from(self, int64_t e, KernelRows store, int32_t *rows) except -1 nogil:
        """The sources of update e and of those after it that are not in ``store``, each once, up to a block; how many."""
        cdef int k, n = 0, most = store.together(True)
        while e < self.n and n < most:
            if store.to_compute(self.source[e]):
                for k in range(n):
                    if rows[k] == self.source[e]:
                        break
                else:
                    rows[n] = self.source[e]
                    n += 1
            e += 1
        return n

    cdef int apply_shared(self, int64_t first, KernelRows store, rows, double *scores, Control control) except -1:
        """A source at a time, from shared rows; sources have been asked for, ``rows`` not."""
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
                store.kernel.values_computed += targets.fill_rows(&self.source[e], count, targets.n, out, store.pool, LONG_NS)
                for r in range(count):
                    svmx_axpy_row(targets.n, self.coef[e + r], out[r], scores)
                e += count
                control.worked(2 * count * targets.n)
        return 0

    cdef int apply_blocks(self, int64_t first, Kernel kernel, ThreadPool pool, const int32_t *rows, Py_ssize_t n_rows, double *scores,
                          bint transposed, Control control) except -1:
        """Groups of SVMX_REPLAY positions against all sources, some of them by each thread at a time."""
        cdef int64_t begin = first, end
        cdef Py_ssize_t at, r, n_sources, parts, work
        cdef Replay replay
        cdef Targets targets
        number_, members_ = zeros("i", kernel.n), zeros("i", min(MOST_SOURCES, self.n - first))
        place_ = zeros("i", self.n - first)
        cdef int32_t[::1] number = number_, members = members_, place = place_
        cdef float[::1] values
        cdef void *targets_of[MOST_THREADS]
        while begin < self.n:
            # a stretch of updates with not too many sources
            end, n_sources = begin, 0
            while end < self.n and (number[self.source[end]] or n_sources < members.shape[0]):
                if not number[self.source[end]]:
                    members[n_sources] = self.source[end]
                    n_sources += 1
                    number[self.source[end]] = <int32_t>n_sources
                place[end - first] = number[self.source[end]] - 1
                end += 1
            targets = kernel.targets(members_[:n_sources], transposed)
            replay.rows_of_part = SVMX_REPLAY * (1 + VALUES_FOR_THREADS // (SVMX_REPLAY * n_sources))
            parts = min(min(pool.n, MOST_THREADS), (n_rows + replay.rows_of_part - 1) // replay.rows_of_part)
            own = [targets]
            while len(own) < parts:
                own.append(targets.of_thread())
            for r in range(parts):
                targets_of[r] = <void *>own[r]
            replay.stride = ((n_sources + LINE - 1) // LINE | 1) * LINE
            values = zeros("f", parts * 2 * SVMX_REPLAY * replay.stride + LINE)
            replay.targets, replay.n_sources, replay.n_rows = targets_of, n_sources, n_rows
            replay.values = <float *>((<uintptr_t>&values[0] + 63) // 64 * 64)
            replay.rows, replay.scores = rows, scores
            replay.n, replay.place, replay.coef = end - begin, &place[begin - first], &self.coef[begin]
            work = parts * replay.rows_of_part // SVMX_REPLAY * (4 * SVMX_REPLAY * n_sources + 2 * (end - begin))
            with nogil:
                at = 0
                while at < n_rows:
                    replay.at = at
                    pool.run(_replay_part, &replay, min(parts, (n_rows - at + replay.rows_of_part - 1) // replay.rows_of_part))
                    at += parts * replay.rows_of_part
                    control.worked(work)
            for r in range(n_sources):
                number[members[r]] = 0
            kernel.values_computed += n_rows * n_sources
            begin = end
        return 0


cdef struct Replay:
    void **targets              # of each part that is worked on
    float *values               # scratch at a cache line, 2 SVMX_REPLAY stride for each part
    Py_ssize_t n_sources
    Py_ssize_t stride           # of rows in values: an odd number of cache lines, so that they do not share places in a cache
    const int32_t *rows
    double *scores
    Py_ssize_t n_rows
    Py_ssize_t rows_of_part     # a multiple of SVMX_REPLAY
    Py_ssize_t at               # where the first part begins
    int64_t n                   # updates
    const int32_t *place        # their sources, in [0, n_sources)
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
    cdef Py_ssize_t r
    for r in range(lanes):
        out[r] = values + r * replay.stride
        sums[r] = replay.scores[at + r]
    if lanes == 1:
        targets.fill(replay.rows[at], 0, replay.n_sources, out[0])
    else:
        targets.lay_block(replay.rows + at, <int>lanes)
        targets.fill_block(replay.rows + at, <int>lanes, 0, replay.n_sources, out)
    svmx_interleave(replay.n_sources, replay.stride, values, together)
    svmx_replay(replay.n, replay.place, replay.coef, together, sums)
    for r in range(lanes):
        replay.scores[at + r] = sums[r]


cdef class GBar:
    """GBar(n, positions): LIBSVM's G_bar, what the variables with alpha = C add to the scores, by row of a kernel of n rows.

    Updates are only noted as variables reach C or leave it; ``make_current`` makes them for some of so many positions.
    """

    def __cinit__(self, Py_ssize_t n, Py_ssize_t positions):
        self.updates = DeferredUpdates()
        self.scores, self.seen = zeros("d", n), zeros("q", n)
        self.every, self.late, self.sums = ramp(positions), zeros("i", positions), zeros("d", positions)
        self.begin(n)

    cdef void begin(self, Py_ssize_t n) noexcept nogil:
        """Nothing is at C, of a kernel of n rows, no more than before."""
        self.updates.n = 0
        if n > 0:
            memset(&self.scores[0], 0, n * sizeof(double))
            memset(&self.seen[0], 0, n * sizeof(int64_t))
        self.limit = max(MOST_UPDATES, 4 * n)

    cdef int add(self, int32_t row, double coef, KernelRows store, Control control) except -1 nogil:
        """score_q += coef K(row, q) for all q."""
        if self.updates.n == self.limit:
            self.clear(store, control)
        return self.updates.add(row, coef)

    cdef int clear(self, KernelRows store, Control control) except -1 nogil:
        """Make all updates and start with an empty list."""
        self.make_current(store, &self.every[0], store.size, control)
        self.seen[:] = 0
        self.updates.n = 0
        return 0

    cdef int make_current(self, KernelRows store, const int32_t *positions, Py_ssize_t n, Control control) except -1 nogil:
        """Make ``scores`` current at the rows of the given positions of ``store``."""
        cdef Py_ssize_t i, n_late
        cdef int32_t row
        cdef int64_t oldest
        while True:
            # rows that have seen the same updates go together; there are few such groups
            oldest = self.updates.n
            for i in range(n):
                oldest = min(oldest, self.seen[store.index[positions[i]]])
            if oldest == self.updates.n:
                return 0
            n_late = 0
            for i in range(n):
                row = store.index[positions[i]]
                if self.seen[row] == oldest:
                    self.seen[row] = self.updates.n  # a row that comes twice is served once
                    self.late[n_late], self.sums[n_late] = positions[i], self.scores[row]
                    n_late += 1
            self.updates.apply(oldest, store, &self.late[0], n_late, &self.sums[0], True, control)
            for i in range(n_late):
                self.scores[store.index[self.late[i]]] = self.sums[i]
