"""Kernel rows shared by several solves: folds, pairs of classes, values of C.

Expensive values K(i, .) are kept in pieces (row i, segment) over all rows of a segment, from which solves over parts of
the rows gather theirs. Segments are classes, so that the pairs (a, b) and (a, c) share K(a, a). A gather costs about
0.5 ns per value; cheaper values are computed for each part. Pieces are never evicted: fold after fold reads all rows in
turn, the worst case of a cache of the latest ones. A piece is computed by the first thread that needs it; another
thread that needs it meanwhile computes it for itself, which is rare.

For a queue of many small solves, the pieces of a single segment, the Gram matrix, are computed first, in separate
memory. Of classes, each thread has PairRows, of two at a time, which share the pieces of rows with their own class;
these are computed on demand, as a fifth to a half of all rows is ever read. GramRows are the rows of a solve.
"""

from itertools import pairwise

from libc.math cimport HUGE_VAL
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from libsvmx._core.arrays cimport give_slab, give_slabs, memory, take_slab
from libsvmx._core.dispatch cimport (
    SVMX_REPLAY, SVMX_SOURCES, svmx_axpy_at, svmx_axpy_rows, svmx_gather, svmx_interleave)
from libsvmx._core.pieces cimport (
    svmx_claim_piece, svmx_give_lock, svmx_lock_begin, svmx_lock_end, svmx_piece, svmx_piece_there, svmx_publish_piece,
    svmx_take_lock)
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.stopping cimport Token
from libsvmx._core.slab cimport SVMX_SLAB
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.products cimport TILE
from libsvmx._kernels.rowstore cimport SWAP_NS, KernelRows, padded

from libsvmx._core.arrays import empty, ramp, take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._kernels.kernel_matrix import check_members


# ---- Kernel values shared by many solves -------------------------------------------------------------
#
# If all values fit, they are computed once, by all threads, and each solve (pair of classes, fold, inner fold of
# probability estimates) gathers its rows. No Python object is made during the solves, so that one can begin every few
# microseconds.

# Gathering a value, in nanoseconds.
cdef double GATHER_NS = 0.5
# Columns that a sum of rows may take for one that is needed: it takes a quarter of the time where they are in order.
cdef Py_ssize_t MOST_SPREAD = 4
# Work on a square between two checks for a stop.
cdef Py_ssize_t ASKED_AT_ONCE = 1 << 16


cdef class Slab:
    """Slab(n, what): memory for n floats, reused by the next one when freed. ``what``: text of MemoryError."""

    def __cinit__(self, Py_ssize_t n, what):
        self.bytes = max(n, 1) * sizeof(float)
        self.values = <float *>take_slab(self.bytes)
        if self.values == NULL:
            raise MemoryError(what)

    def __dealloc__(self):
        give_slab(self.values, self.bytes)


cdef int fill_square(Targets targets, float *values, ThreadPool pool, Token token) except -1:
    """K(i, j) of the targets, all rows of the kernel, with each other into ``values`` (n, n).

    The lower triangle is computed, and mirrored, except for rows kept as bits, where mirroring is slower, and for
    given values, which may be asymmetric.
    """
    cdef float *out[SVMX_SOURCES]
    cdef int32_t rows[SVMX_SOURCES]
    cdef Py_ssize_t i = 0, j, n = targets.n
    cdef int s, count
    cdef int64_t work = 0
    cdef bint mirrored = not (targets.kernel.binary or targets.kernel.given)
    while i < n:
        count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - i)
        for s in range(count):
            rows[s], out[s] = <int32_t>(i + s), values + (i + s) * n
        with nogil:
            targets.kernel.values_computed += targets.fill_rows(rows, count, i + count if mirrored else n, out, pool)
            if mirrored and count == SVMX_REPLAY:
                svmx_interleave(i, n, out[0], n, values + i)
            elif mirrored:
                for j in range(i):
                    for s in range(count):
                        values[j * n + i + s] = out[s][j]
        work += 4 * count * (i + count if mirrored else n)
        i += count
        if work >= ASKED_AT_ONCE:
            token.note(work)
            work = 0
    token.note(work)
    return 0


# ---- Rows that are shared ----------------------------------------------------------------------------

cdef class SharedRows:
    """SharedRows(kernel, budget_bytes=0.0, starts=None, across=True, targets=None, token=None): rows of ``kernel``, for
    solves over parts of it.

    Several threads may use them, each through its own ``part``.

    Whole rows are read in ``of_thread()``, the object for one thread. Of a single segment they are computed by
    ``keep_own``, or on demand within the budget; of several, PairRows has them.
    ``begin(first, last)``: the next rows are of the segments of these two.
    ``place_of(row)``: column of a row; ``at(place)``: its values with all columns, valid until ``begin``.
    ``block(places, count, out)``: ``at`` of up to SVMX_SOURCES rows, valid until the next call.
    ``group_of(first, last)``, if it ``has_groups``: equal for parts that should be solved consecutively.

    Parameters
    ----------
    kernel : Kernel               precomputed only without pieces, or with a token; maybe asymmetric
    budget_bytes : float          for pieces; others are computed at each use
    starts : list of int          first row of each segment, and the end; None: a single segment
    across : bool                 keep pieces of rows with other segments, too
    targets : Targets             all rows, of a single segment; None: made here
    token : Token                 for rows on demand: counts the work, and may raise Stopped

    Attributes
    ----------
    held_bytes, most_bytes : float      present and largest memory of pieces and their table, without ``keep_own``
    values_computed : int
    for_threads : bool          False for wide sparse data, which are computed in memory that threads would share
    """

    def __cinit__(self):
        self.locks = svmx_lock_begin(&self.lock)
        if not self.locks:
            raise MemoryError("shared kernel rows")

    def __init__(self, Kernel kernel, double budget_bytes=0.0, starts=None, bint across=True, Targets targets=None,
                 Token token=None):
        cdef Py_ssize_t longest, s
        if kernel.given and token is None and (budget_bytes > 0 or starts is not None):
            raise ValueError("pieces of a given kernel are not shared")
        self.kernel, self.n, self.width, self.diagonal = kernel, kernel.n, kernel.n, kernel.diagonal
        self.token, self.across, self.what, self.alone = token, across, "a kernel row", ThreadPool(1)
        self.k = 1 if starts is None else len(starts) - 1
        self.starts = memory("q", self.k + 1)
        for s in range(self.k + 1):
            self.starts[s] = (0 if s == 0 else kernel.n) if starts is None else starts[s]
        self.has_groups = self.k > 1
        longest = self.take_segments(targets)
        self.lay_slabs(kernel.n * (self.k if across else 1), longest,
                       all_bytes(self.starts, across) if budget_bytes > 0 else 0.0, budget_bytes)

    cdef int lay_slabs(self, Py_ssize_t n_pieces, Py_ssize_t longest, double needed, double budget_bytes) except -1:
        """Plan slabs for pieces of up to ``longest`` bytes; memory is touched only as they come in.

        ``needed``: the bytes of all of them and of their table."""
        self.piece = <svmx_piece *>calloc(max(n_pieces, 1), sizeof(svmx_piece))
        self.held_bytes = n_pieces * sizeof(float *)
        budget_bytes, needed = max(0.0, budget_bytes - self.held_bytes), max(0.0, needed - self.held_bytes)
        self.slab_bytes = max(longest, <Py_ssize_t>min(needed, budget_bytes, <double>SVMX_SLAB))
        self.n_slabs = <Py_ssize_t>min(budget_bytes / max(self.slab_bytes, 1), <double>n_pieces)  # each holds a piece
        if needed <= self.slab_bytes:
            self.n_slabs = min(self.n_slabs, 1)
        elif longest < self.slab_bytes:  # each slab wastes less than a piece at its end
            self.n_slabs = min(self.n_slabs, <Py_ssize_t>(needed / (self.slab_bytes - longest)) + 1)
        self.most_bytes = self.held_bytes + <double>self.n_slabs * self.slab_bytes
        self.slabs = <float **>calloc(self.n_slabs + 1, sizeof(float *))
        if self.piece == NULL or self.slabs == NULL:
            raise MemoryError("shared kernel rows")
        return 0

    cdef Py_ssize_t take_segments(self, Targets targets) except -1:
        """Set the segment of each row, and the targets of each segment; returns the bytes of the longest piece."""
        cdef Py_ssize_t s, i, longest = 0
        everyone = ramp(self.n) if targets is None else None
        self.segment_of, self.for_threads, self.targets = memory("i", self.n), True, []
        self.target = <void **>calloc(self.k, sizeof(void *))
        if self.target == NULL:
            raise MemoryError("shared kernel rows")
        for s in range(self.k):
            self.targets.append(targets or self.kernel.targets(everyone[self.starts[s]:self.starts[s + 1]]))
            self.blocks |= (<Targets>self.targets[s]).blocks
            self.target[s] = <void *>self.targets[s]
            self.for_threads &= (<Targets>self.targets[s]).tile == TILE
            longest = max(longest, 4 * padded(self.starts[s + 1] - self.starts[s]))
            for i in range(self.starts[s], self.starts[s + 1]):
                self.segment_of[i] = <int32_t>s
        return longest

    def __dealloc__(self):
        give_slabs(self.slabs, self.n_slabs, self.slab_bytes)
        free(self.spare)
        free(self.piece)
        free(self.target)
        if self.locks:
            svmx_lock_end(&self.lock)

    def part(self, members):
        """The SharedKernel of the rows ``members``, a buffer of int32 (kept)."""
        cdef Kernel whole = self.kernel
        if not self.targets:
            raise ValueError("all values are computed: solves read them by a queue")
        check_members(members, whole.n)
        cdef SharedKernel part = SharedKernel(whole.matrix, take_int32(whole.rows, members), whole.kind, whole.degree,
                                              whole.gamma, whole.coef0, whole, members)
        part.shared, part.origin, part.own = self, members, {}
        part.scratch = empty("f", SVMX_SOURCES * whole.n)
        return part

    @property
    def block_ns(self):
        """Estimated nanoseconds of a value in a block."""
        return max((<Targets>targets).block_ns for targets in self.targets)

    # ---- all values at once --------------------------------------------------------------------

    def keep_own(self, ThreadPool pool, Token token not None):
        """Compute all pieces of a single segment, by all threads of ``pool``, to the end, even if ``token``, which
        counts the work, says stop.

        Before any use of them; ``part`` is not possible afterwards.
        """
        cdef Py_ssize_t i
        self.own_slab = Slab(self.n * self.n, "kernel values")
        fill_square(self.targets[0], self.own_slab.values, pool, token)
        for i in range(self.n):
            svmx_publish_piece(&self.piece[i], self.own_slab.values + i * self.n)
        self.targets, self.target[0] = [], NULL  # frees their copy of the data

    def is_symmetric(self):
        """Whether the values of a single segment, after ``keep_own``, are."""
        cdef Py_ssize_t i, j
        for i in range(self.n):
            for j in range(i):
                if self.own_slab.values[i * self.n + j] != self.own_slab.values[j * self.n + i]:
                    return False
        return True

    # ---- whole rows, for one thread --------------------------------------------------------------

    @property
    def thread_bytes(self):
        """Memory per thread for the values of two segments."""
        return bytes_of_pair(self.starts)

    def of_thread(self):
        return PairRows(self) if self.has_groups else self

    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil:
        cdef int64_t a = self.segment_of[first], b = self.segment_of[last]
        return min(a, b) * self.k + max(a, b)

    cdef void begin(self, int32_t first, int32_t last) noexcept nogil:
        pass

    cdef int32_t place_of(self, int32_t row) noexcept nogil:
        return row

    cdef const float *at(self, int32_t place) except NULL nogil:
        cdef const float *values = svmx_piece_there(&self.piece[place])
        cdef float *room
        if values != NULL:
            return values
        room = self.room_for(4 * padded(self.width))
        if room == NULL:
            with gil:
                raise MemoryError(self.what)
        self.compute(&place, 1, &room)
        svmx_publish_piece(&self.piece[place], room)
        return room

    cdef int block(self, const int32_t *places, int count, const float **out) except -1 nogil:
        """Rows that are missing are computed, and not kept."""
        cdef int32_t missing[SVMX_SOURCES]
        cdef float *values[SVMX_SOURCES]
        cdef int s, n = 0
        for s in range(count):
            out[s] = svmx_piece_there(&self.piece[places[s]])
            if out[s] != NULL:
                continue
            if self.spare == NULL:
                self.spare = <float *>malloc(SVMX_SOURCES * self.n * sizeof(float))
                if self.spare == NULL:
                    with gil:
                        raise MemoryError("kernel rows")
            missing[n], values[n] = places[s], self.spare + n * self.n
            out[s] = values[n]
            n += 1
        return self.compute(missing, n, values) if n else 0

    cdef int compute(self, const int32_t *places, int count, float **out) except -1 nogil:
        """Compute whole rows."""
        (<Targets>self.target[0]).fill_rows(places, count, self.n, out, self.alone)
        self.kernel.values_computed += count * self.n
        return self.token.asked(4 * count * self.n)

    # ---- pieces --------------------------------------------------------------------------------

    cdef svmx_piece *piece_of(self, int32_t row, int32_t segment) noexcept nogil:
        """NULL for a piece that is not kept."""
        if self.across:
            return &self.piece[row * self.k + segment]
        return &self.piece[row] if self.segment_of[row] == segment else NULL

    cdef float *claim(self, svmx_piece *piece, Py_ssize_t n) noexcept nogil:
        """Room for a missing piece of n values, which the caller fills and publishes; NULL if it is not kept (it stays
        claimed if there is no room, so that nobody asks again), or another thread computes it."""
        return self.room_for(4 * padded(n)) if piece != NULL and svmx_claim_piece(piece) else NULL

    cdef float *room_for(self, Py_ssize_t bytes) noexcept nogil:
        """Memory for a piece, or NULL."""
        cdef float *room = NULL
        svmx_take_lock(&self.lock)
        if self.filling < self.n_slabs and self.slabs[self.filling] != NULL and self.filled + bytes > self.slab_bytes:
            self.filling += 1
            self.filled = 0
        if self.filling < self.n_slabs and self.slabs[self.filling] == NULL:
            self.slabs[self.filling] = <float *>take_slab(self.slab_bytes)
            if self.slabs[self.filling] == NULL:
                self.filling = self.n_slabs  # a smaller store is slower, not wrong
            else:
                self.held_bytes += self.slab_bytes
        if self.filling < self.n_slabs:
            room = self.slabs[self.filling] + self.filled // <Py_ssize_t>sizeof(float)
            self.filled += bytes
        svmx_give_lock(&self.lock)
        return room

    cdef int64_t bring(self, const int32_t *rows, int count, int32_t segment, Targets targets, const float **pieces,
                       float *spare, Py_ssize_t stride, ThreadPool pool) noexcept nogil:
        """Pieces of up to SVMX_SOURCES rows with a segment, by its ``targets``; returns the number of values computed.

        Piece r, if not kept, is computed into ``spare`` + r * ``stride``.
        """
        cdef int32_t todo[SVMX_SOURCES]
        cdef float *out[SVMX_SOURCES]
        cdef svmx_piece *claimed[SVMX_SOURCES]
        cdef int r, n = 0
        cdef svmx_piece *piece
        cdef float *room
        cdef Py_ssize_t length = self.starts[segment + 1] - self.starts[segment]
        cdef int64_t computed
        for r in range(count):
            piece = self.piece_of(rows[r], segment)
            pieces[r] = svmx_piece_there(piece) if piece != NULL else NULL
            if pieces[r] != NULL:
                continue
            room = self.claim(piece, length)
            claimed[n] = piece if room != NULL else NULL
            out[n] = room if room != NULL else spare + r * stride
            pieces[r], todo[n] = out[n], rows[r]
            n += 1
        if n == 0:
            return 0
        computed = targets.fill_rows(todo, n, length, out, pool)
        for r in range(n):
            if claimed[r] != NULL:
                svmx_publish_piece(claimed[r], out[r])
        svmx_take_lock(&self.lock)
        self.values_computed += computed
        svmx_give_lock(&self.lock)
        return computed


cdef class PairRows(SharedRows):
    """PairRows(source): whole rows of two segments of ``source`` at a time, for one thread.

    For problems whose Gram matrix does not fit; segments are classes. One against one has one problem per pair of
    classes, or six with probability estimates: consecutive solves reuse the values of a pair.
    """

    def __init__(self, SharedRows source):
        cdef Py_ssize_t m = rows_of_pair(source.starts)
        self.kernel, self.n, self.diagonal, self.source = source.kernel, source.n, source.diagonal, source
        self.starts, self.k, self.segment_of, self.segments[0] = source.starts, source.k, source.segment_of, -1
        self.what = "kernel values of two classes"
        self.lay_slabs(m, 4 * padded(m), bytes_of_pair(self.starts) + m * sizeof(float *), HUGE_VAL)

    cdef void begin(self, int32_t first, int32_t last) noexcept nogil:
        cdef int32_t a = min(self.segment_of[first], self.segment_of[last])
        cdef int32_t b = max(self.segment_of[first], self.segment_of[last])
        if a == self.segments[0] and b == self.segments[1]:
            return
        self.segments[0], self.segments[1] = a, b
        self.n_first = self.starts[a + 1] - self.starts[a]
        self.width = self.n_first + self.starts[b + 1] - self.starts[b]
        self.filling, self.filled = 0, 0
        memset(<void *>self.piece, 0, self.width * sizeof(svmx_piece))

    cdef int32_t place_of(self, int32_t row) noexcept nogil:
        if self.segment_of[row] == self.segments[0]:
            return <int32_t>(row - self.starts[self.segments[0]])
        return <int32_t>(row - self.starts[self.segments[1]] + self.n_first)

    cdef int block(self, const int32_t *places, int count, const float **out) except -1 nogil:
        cdef int s
        for s in range(count):
            out[s] = self.at(places[s])
        return 0

    cdef int compute(self, const int32_t *places, int count, float **out) except -1 nogil:
        """One row."""
        cdef int32_t row = places[0] + <int32_t>(self.starts[self.segments[0]] if places[0] < self.n_first
                                                 else self.starts[self.segments[1]] - self.n_first)
        self.fill(row, self.segments[0], self.n_first, out[0])
        self.fill(row, self.segments[1], self.width - self.n_first, out[0] + self.n_first)
        return 0

    cdef void fill(self, int32_t row, int32_t segment, Py_ssize_t n, float *values) noexcept nogil:
        """K of a row with those of a segment, n; with its own, kept for other pairs while there is room."""
        cdef svmx_piece *piece = self.source.piece_of(row, segment)
        cdef const float *own = svmx_piece_there(piece) if piece != NULL else NULL
        cdef float *room
        if own != NULL:
            memcpy(values, own, n * sizeof(float))
            return
        (<Targets>self.source.target[segment]).fill(row, 0, n, values)
        room = self.source.claim(piece, n)
        if room != NULL:
            memcpy(room, values, n * sizeof(float))
            svmx_publish_piece(piece, room)


cdef class SharedKernel(Kernel):
    """Kernel of a part of the rows of a SharedRows, which has the values; see SharedRows.part."""

    def part(self, members):
        check_members(members, self.n)
        return self.shared.part(take_int32(self.origin, members))

    def targets(self, members, bint transposed=False):
        return SharedTargets(self, members)

    cdef Targets own_targets(self, Py_ssize_t segment):
        """Targets of a segment for this thread."""
        if segment not in self.own:
            self.own[segment] = (<Targets>self.shared.targets[segment]).of_thread()
        return self.own[segment]


cdef class SharedTargets(Targets):
    """Values gathered from shared pieces, which are computed if missing."""

    def __cinit__(self, SharedKernel kernel, members, SharedTargets like=None):
        cdef Py_ssize_t t
        cdef SharedRows shared = kernel.shared
        self.kernel, self.shared, self.origin = kernel, shared, kernel.origin
        self.tile, self.kept, self.blocks = TILE, shared.across, shared.blocks
        if like is None:
            self.lay_out(members)
            self.scratch, self.own = kernel.scratch, [kernel.own_targets(s) for s in self.segments]
        else:
            self.n, self.width, self.place, self.segments = like.n, like.width, like.place, like.segments
            self.scratch = zeros("f", SVMX_SOURCES * like.width)
            self.own = [(<Targets>shared.targets[s]).of_thread() for s in self.segments]
        self.target = <void **>calloc(len(self.own) + 1, sizeof(void *))
        if self.target == NULL:
            raise MemoryError("shared kernel rows")
        for t in range(len(self.own)):
            self.target[t] = <void *>self.own[t]
            self.value_ns = max(self.value_ns, GATHER_NS + (<Targets>self.own[t]).value_ns)
            self.block_ns = max(self.block_ns, GATHER_NS + (<Targets>self.own[t]).block_ns)
        self.again_ns, self.layout_ns = GATHER_NS if self.kept else self.value_ns, GATHER_NS

    cdef Targets of_thread(self):
        return SharedTargets(self.kernel, None, self)

    cdef int lay_out(self, members) except -1:
        """Set the place of each target in the pieces of a row."""
        cdef const int32_t[::1] chosen = members
        cdef SharedRows shared = self.shared
        cdef Py_ssize_t t
        cdef int32_t s, row
        self.n = chosen.shape[0]
        cdef int64_t[::1] offset = filled("q", [-1] * shared.k)
        self.place = zeros("i", self.n)
        touched = []
        for t in range(self.n):
            s = shared.segment_of[self.origin[chosen[t]]]
            if offset[s] < 0:
                offset[s] = self.width
                self.width += shared.starts[s + 1] - shared.starts[s]
                touched.append(s)
            row = self.origin[chosen[t]]
            self.place[t] = <int32_t>(offset[s] + row - shared.starts[s])
        self.segments = filled("i", touched)
        return 0

    def __dealloc__(self):
        free(self.target)

    cdef bint has(self, int32_t i) noexcept nogil:
        cdef Py_ssize_t t
        cdef svmx_piece *piece
        for t in range(self.segments.shape[0]):
            piece = self.shared.piece_of(self.origin[i], self.segments[t])
            if piece == NULL or svmx_piece_there(piece) == NULL:
                return False
        return True

    cdef int fill(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, float *out) noexcept nogil:
        self.gather(&i, 1, begin, end, &out, self.shared.alone)
        return 0

    cdef int fill_block(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end,
                        float **out) noexcept nogil:
        self.gather(sources, count, begin, end, out, self.shared.alone)
        return 0

    cdef int64_t fill_rows(self, const int32_t *sources, int count, Py_ssize_t n, float **out,
                           ThreadPool pool) noexcept nogil:
        return self.gather(sources, count, 0, n, out, pool)

    cdef int64_t gather(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end, float **out,
                        ThreadPool pool) noexcept nogil:
        """Targets [begin, end) of up to SVMX_SOURCES rows; returns the number of values computed for them."""
        cdef int32_t rows[SVMX_SOURCES]
        cdef const float *pieces[SVMX_SOURCES]
        cdef const float *joined[SVMX_SOURCES]  # the pieces of a row, one after the other
        cdef float *spare = &self.scratch[0]
        cdef Py_ssize_t t, length, n_segments = self.segments.shape[0]
        cdef int32_t s
        cdef int r
        cdef int64_t computed = 0
        for r in range(count):
            rows[r] = self.origin[sources[r]]
            joined[r] = &self.scratch[0] + r * self.width
        for t in range(n_segments):
            s = self.segments[t]
            length = self.shared.starts[s + 1] - self.shared.starts[s]
            computed += self.shared.bring(rows, count, s, <Targets>self.target[t], pieces, spare, self.width, pool)
            for r in range(count):
                if n_segments == 1:
                    joined[r] = pieces[r]
                elif pieces[r] != spare + r * self.width:
                    memcpy(spare + r * self.width, pieces[r], length * sizeof(float))
            spare += length
        for r in range(count):
            svmx_gather(end - begin, joined[r], &self.place[begin], out[r] + begin)
        return computed


def all_bytes(starts, bint across=True):
    """Memory for all pieces of rows in segments with these ``starts``, and their table."""
    lengths = [end - begin for begin, end in pairwise(starts)]
    n = float(sum(lengths))
    if across:
        return n * sum(4 * padded(m) for m in lengths) + n * len(lengths) * sizeof(float *)
    return float(sum(m * 4 * padded(m) for m in lengths)) + n * sizeof(float *)


def rows_of_pair(starts):
    """Number of rows of the two largest classes."""
    return sum(sorted((end - begin for begin, end in pairwise(starts)), reverse=True)[:2])


def bytes_of_pair(starts):
    """Memory per thread for the values of the two largest classes."""
    m = rows_of_pair(starts)
    return 4 * m * padded(m)


# ---- Kernel rows of consecutive solves --------------------------------------------------------------

# Least mean length of runs (rows of a part with consecutive places) for copying instead of a gather.
cdef Py_ssize_t MIN_RUN = 16


cdef class GramRows(KernelRows):
    """GramRows(values, most_rows, most_positions, pool): rows of one part of ``values`` at a time, set by ``begin``."""

    def __cinit__(self, SharedRows values, Py_ssize_t most_rows, Py_ssize_t most_positions, ThreadPool pool):
        self.values, self.kernel, self.pool, self.whole = values, values.kernel, pool, True
        cdef int32_t[::1] of_rows = memory("i", 4 * most_rows + 2 * most_positions)
        self.member, self.slot_of = of_rows[:most_rows], of_rows[most_rows:2 * most_rows]
        self.run, self.length = of_rows[2 * most_rows:3 * most_rows], of_rows[3 * most_rows:4 * most_rows]
        of_rows = of_rows[4 * most_rows:]
        self.index, self.place = of_rows[:most_positions], of_rows[most_positions:]
        self.synced, self.sums = memory("q", most_rows), memory("d", values.n)
        self.slab = Slab(most_rows * padded(most_positions), "kernel rows")
        self.slots = self.slab.values

    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil:
        """Set the part: n rows of ``values``, with a position for each, or, ``doubled``, two."""
        cdef Py_ssize_t p
        if n:
            self.values.begin(members[0], members[n - 1])
        self.size = self.active = 2 * n if doubled else n
        self.n_rows, self.n_runs = n, 0
        for p in range(n):
            self.member[p], self.synced[p] = self.values.place_of(members[p]), -1
            if p == 0 or self.member[p] != self.member[p - 1] + 1:
                self.run[self.n_runs] = <int32_t>p
                self.n_runs += 1
        for p in range(self.size):
            self.index[p] = <int32_t>(p if p < n else p - n)
            self.place[p] = self.member[self.index[p]]
        self.rows_computed = self.rows_found = self.n_swaps = 0
        self.n_slots, self.stride, self.whole = 0, padded(self.size), True

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        cdef float *values
        cdef Py_ssize_t n = self.size if self.whole else self.active
        if self.synced[i] == -1:
            self.slot_of[i] = self.n_slots
            self.n_slots += 1
            self.rows_computed += 1
        if self.n_runs == 1 and self.n_swaps == 0 and self.size == self.n_rows:  # in place
            self.synced[i] = -2
            self.rows_found += 1
            return self.values.at(self.member[i]) + self.member[0]
        values = self.slots + self.slot_of[i] * self.stride
        if (self.synced[i] < 0 and n == self.size and self.n_runs * MIN_RUN <= self.n_rows
                and self.n_swaps * SWAP_NS <= n * GATHER_NS):
            self.copy(self.values.at(self.member[i]), values)
            self.synced[i], self.length[i] = 0, <int32_t>n
        if self.synced[i] < 0 or self.length[i] < n or (
                self.synced[i] != self.n_swaps and
                not self.follow(values, self.length[i], self.synced[i], n * GATHER_NS)):
            svmx_gather(n, self.values.at(self.member[i]), &self.place[0], values)
            self.length[i] = <int32_t>n
        self.synced[i] = self.n_swaps
        self.rows_found += 1
        return values

    cdef void copy(self, const float *row, float *values) noexcept nogil:
        """Copy a row to unswapped positions, run by run."""
        cdef Py_ssize_t r, begin, end, n = self.n_rows
        for r in range(self.n_runs):
            begin = self.run[r]
            end = self.run[r + 1] if r + 1 < self.n_runs else n
            memcpy(values + begin, row + self.member[begin], (end - begin) * sizeof(float))
        if self.size > n:
            memcpy(values + n, values, n * sizeof(float))

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        KernelRows.swap(self, a, b)
        return self.note_swap(a, b)

    cdef bint add_rows(self, int64_t count, const int32_t *rows, const double *coef, const float **row,
                       Py_ssize_t first, Py_ssize_t n, double *scores) except -1 nogil:
        cdef const int32_t *place = &self.place[first]
        cdef int32_t low = place[0], high = place[0]
        cdef Py_ssize_t k, width
        cdef int64_t e
        for e in range(count):
            row[e] = self.values.at(self.member[rows[e]])
        for k in range(n):
            low, high = min(low, place[k]), max(high, place[k])
        width = high - low + 1
        if width > MOST_SPREAD * n:
            for e in range(count):
                svmx_axpy_at(n, coef[e], row[e], place, scores)
            return True
        memset(&self.sums[0], 0, width * sizeof(double))
        svmx_axpy_rows(width, count, coef, row, low, &self.sums[0])
        for k in range(n):
            scores[k] += self.sums[place[k] - low]
        return True
