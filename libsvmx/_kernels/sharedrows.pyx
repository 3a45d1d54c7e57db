"""Kernel rows that several solves share: folds, pairs of classes, values of C.

Solves over parts of the same rows ask for the same values. Where these are expensive, K(i, .) is kept in pieces
(row i, segment) over all rows of a segment, and a part gathers its values from them; segments are classes,
so that the pairs (a, b) and (a, c) share K(a, a). A gather costs about half a nanosecond a value: values
that are as cheap as that are better computed for each part alone, in its own order.

Pieces stay for good: solves come round, fold after fold, and a store of the latest rows would always just
have lost those that are wanted next.

Solves in several threads share them, too. A piece is computed by the first thread that asks for it; one that asks
meanwhile computes it for itself, which is rare, since solves ask for rows in orders of their own.

For a queue of many small solves the pieces of rows with their own segment are all computed at first, with memory of their
own: those of a single segment are all values, the Gram matrix; those of classes are what pairs of classes have in common.
"""

from itertools import pairwise

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.pieces cimport (
    svmx_claim_piece, svmx_give_lock, svmx_lock_begin, svmx_lock_end, svmx_piece, svmx_piece_there, svmx_publish_piece,
    svmx_take_lock)
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.slab cimport SVMX_SLAB, svmx_give_slab, svmx_take_slab
from libsvmx._core.smo_steps cimport svmx_gather
from libsvmx._kernels.gram cimport KernelValues, Slab, fill_square
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._kernels.products cimport TILE
from libsvmx._kernels.rowstore cimport padded

from libsvmx._core.arrays import empty, ramp, take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._kernels.kernel_matrix import check_members

# An estimate, in nanoseconds.
cdef double GATHER_NS = 0.5


cdef class SharedRows(KernelValues):
    """SharedRows(kernel, budget_bytes=0.0, starts=None, across=True): rows of ``kernel``, for solves over parts of it.

    Several threads may use them, each by parts of its own. As KernelValues they are all values, once ``keep_own`` has
    computed them, of a single segment; of several ones, those of two at a time, for each thread.

    Parameters
    ----------
    kernel : Kernel               not a given one, which may differ from its transpose
    budget_bytes : float          for pieces; those that do not fit are computed whenever they are asked for
    starts : list of int          first row of each segment, and the end; a single segment by default
    across : bool                 whether to keep pieces of rows with segments other than their own

    Attributes
    ----------
    held_bytes, most_bytes : float      memory that pieces and their table take, and may take
    values_computed : int
    for_threads : bool          rows of wide sparse data are computed in memory that threads would share: False
    """

    def __cinit__(self, Kernel kernel, double budget_bytes=0.0, starts=None, bint across=True):
        cdef Py_ssize_t s, i, n_pieces, longest = 0
        cdef double needed
        if kernel.given:
            raise ValueError("a given kernel is not shared")
        self.kernel, self.n, self.diagonal, self.across = kernel, kernel.n, kernel.diagonal, across
        self.starts = filled("q", [0, kernel.n] if starts is None else starts)
        self.k = self.starts.shape[0] - 1
        self.has_groups = self.k > 1
        n_pieces = kernel.n * (self.k if across else 1)
        self.segment_of = zeros("i", kernel.n)
        self.alone, self.targets = ThreadPool(1), []
        everyone = ramp(kernel.n)
        self.piece = <svmx_piece *>calloc(n_pieces, sizeof(svmx_piece))
        self.locks = svmx_lock_begin(&self.lock)
        self.target = <void **>calloc(self.k, sizeof(void *))
        if self.piece == NULL or self.target == NULL or not self.locks:
            raise MemoryError("shared kernel rows")
        self.for_threads = True
        for s in range(self.k):
            self.targets.append(kernel.targets(everyone[self.starts[s]:self.starts[s + 1]]))
            self.blocks |= (<Targets>self.targets[s]).blocks
            self.target[s] = <void *>self.targets[s]
            self.for_threads &= (<Targets>self.targets[s]).tile == TILE
            longest = max(longest, _padded_bytes(self.starts[s + 1] - self.starts[s]))
            for i in range(self.starts[s], self.starts[s + 1]):
                self.segment_of[i] = <int32_t>s
        self.held_bytes = n_pieces * sizeof(float *)
        budget_bytes = max(0.0, budget_bytes - self.held_bytes)
        needed = all_bytes(list(self.starts), across) - self.held_bytes
        self.slab_bytes = max(longest, <Py_ssize_t>min(needed, budget_bytes, <double>SVMX_SLAB))
        self.n_slabs = <Py_ssize_t>min(budget_bytes / max(self.slab_bytes, 1), <double>n_pieces)  # each holds a piece
        if needed <= self.slab_bytes:
            self.n_slabs = min(self.n_slabs, 1)
        elif longest < self.slab_bytes:  # less than a piece is lost at the end of a slab
            self.n_slabs = min(self.n_slabs, <Py_ssize_t>(needed / (self.slab_bytes - longest)) + 1)
        self.most_bytes = self.held_bytes + <double>self.n_slabs * self.slab_bytes
        self.slabs = <float **>calloc(self.n_slabs + 1, sizeof(float *))
        if self.slabs == NULL:
            raise MemoryError("shared kernel rows")

    def __dealloc__(self):
        cdef Py_ssize_t s
        if self.slabs != NULL:
            for s in range(self.n_slabs):
                svmx_give_slab(self.slabs[s], self.slab_bytes)
        free(self.slabs)
        free(self.piece)
        free(self.target)
        if self.locks:
            svmx_lock_end(&self.lock)

    def part(self, members):
        """The kernel of the rows ``members``, a buffer of int32 that is kept: a SharedKernel."""
        cdef Kernel whole = self.kernel
        check_members(members, whole.n)
        cdef SharedKernel part = SharedKernel(whole.matrix, take_int32(whole.rows, members), whole.kind, whole.degree,
                                              whole.gamma, whole.coef0, whole, members)
        part.shared, part.origin, part.own = self, members, {}
        part.scratch = empty("f", SVMX_SOURCES * whole.n)
        return part

    @property
    def block_ns(self):
        """Nanoseconds that a value takes to compute in a block: an estimate by counts."""
        return max((<Targets>targets).block_ns for targets in self.targets)

    # ---- all values at once --------------------------------------------------------------------

    def keep_own(self, ThreadPool pool, asking):
        """Compute all pieces of rows with their own segment, by all threads of ``pool``; ``asking`` is told of the work.

        Nobody may have asked for any of them.
        """
        cdef Py_ssize_t s, i
        cdef float *values
        self.own_slab = Slab(self.own_bytes // sizeof(float), "kernel values")
        values = self.own_slab.values
        for s in range(self.k):
            fill_square(self.targets[s], self.starts[s], values, pool, asking)
            for i in range(self.starts[s], self.starts[s + 1]):
                svmx_publish_piece(self.piece_of(<int32_t>i, <int32_t>s), values)
                values += self.starts[s + 1] - self.starts[s]

    @property
    def own_bytes(self):
        """Memory that ``keep_own`` takes."""
        return sum(4 * (end - begin) ** 2 for begin, end in pairwise(self.starts))

    @property
    def thread_bytes(self):
        """Memory that each thread takes for the values of two segments."""
        return bytes_of_pair(list(self.starts))

    def of_thread(self):
        return PairValues(self) if self.has_groups else self

    cdef const float *at(self, int32_t place) noexcept nogil:
        return svmx_piece_there(&self.piece[place])

    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil:
        cdef int64_t a = self.segment_of[first], b = self.segment_of[last]
        return min(a, b) * self.k + max(a, b)

    # ---- pieces --------------------------------------------------------------------------------

    cdef svmx_piece *piece_of(self, int32_t row, int32_t segment) noexcept nogil:
        """NULL: it is one that is not kept."""
        if self.across:
            return &self.piece[row * self.k + segment]
        return &self.piece[row] if self.segment_of[row] == segment else NULL

    cdef float *room_for(self, Py_ssize_t bytes) noexcept nogil:
        """Memory for a piece, NULL if there is no more."""
        cdef float *room = NULL
        svmx_take_lock(&self.lock)
        if self.filling < self.n_slabs and self.slabs[self.filling] != NULL and self.filled + bytes > self.slab_bytes:
            self.filling += 1
            self.filled = 0
        if self.filling < self.n_slabs and self.slabs[self.filling] == NULL:
            self.slabs[self.filling] = <float *>svmx_take_slab(self.slab_bytes)
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
                       float *spare, Py_ssize_t stride, ThreadPool pool, double expected_ns) noexcept nogil:
        """Pieces of up to SVMX_SOURCES rows with a segment, of the ``targets``; returns how many values were computed.

        One that is not kept is computed to ``spare`` + its place among ``rows`` * ``stride``.
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
            room, claimed[n] = NULL, NULL
            if piece != NULL and svmx_claim_piece(piece):
                room = self.room_for(_padded_bytes(length))
                if room != NULL:
                    claimed[n] = piece
                else:
                    svmx_publish_piece(piece, NULL)
            out[n] = room if room != NULL else spare + r * stride
            pieces[r], todo[n] = out[n], rows[r]
            n += 1
        if n == 0:
            return 0
        computed = targets.fill_rows(todo, n, length, out, pool, expected_ns)
        for r in range(n):
            if claimed[r] != NULL:
                svmx_publish_piece(claimed[r], out[r])
        svmx_take_lock(&self.lock)
        self.values_computed += computed
        svmx_give_lock(&self.lock)
        return computed


cdef class SharedKernel(Kernel):
    """Kernel of a part of the rows of a SharedRows, whose values it asks for; see SharedRows.part."""

    def part(self, members):
        check_members(members, self.n)
        return self.shared.part(take_int32(self.origin, members))

    def targets(self, members, bint transposed=False):
        return SharedTargets(self, members)

    cdef Targets own_targets(self, Py_ssize_t segment):
        """Those of a segment, with what a thread has of its own."""
        if segment not in self.own:
            self.own[segment] = (<Targets>self.shared.targets[segment]).of_thread()
        return self.own[segment]


cdef class SharedTargets(Targets):
    """Values gathered from shared pieces, which are computed where they are missing."""

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
        """Where each target stands in the pieces of a row."""
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
        self.gather(&i, 1, begin, end, &out, self.shared.alone, 0)
        return 0

    cdef int fill_block(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end,
                        float **out) noexcept nogil:
        self.gather(sources, count, begin, end, out, self.shared.alone, 0)
        return 0

    cdef int64_t fill_rows(self, const int32_t *sources, int count, Py_ssize_t n, float **out, ThreadPool pool,
                           double expected_ns) noexcept nogil:
        return self.gather(sources, count, 0, n, out, pool, expected_ns)

    cdef int64_t gather(self, const int32_t *sources, int count, Py_ssize_t begin, Py_ssize_t end, float **out, ThreadPool pool,
                        double expected_ns) noexcept nogil:
        """Targets [begin, end) of up to SVMX_SOURCES rows; returns how many values were computed for them."""
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
            computed += self.shared.bring(rows, count, s, <Targets>self.target[t], pieces, spare, self.width, pool, expected_ns)
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
    """Memory for all pieces of rows in such segments, and their table."""
    lengths = [end - begin for begin, end in pairwise(starts)]
    n = float(sum(lengths))
    if across:
        return n * sum(_padded_bytes(m) for m in lengths) + n * len(lengths) * sizeof(float *)
    return float(sum(m * _padded_bytes(m) for m in lengths)) + n * sizeof(float *)


cdef Py_ssize_t _padded_bytes(Py_ssize_t n) noexcept nogil:
    """Pieces start 64-byte aligned relative to each other."""
    return (n + 15) // 16 * 64


# ---- Kernel values of pairs of classes -------------------------------------------------------------
#
# Kernel values of pairs of classes, which are the segments, for problems whose Gram matrix does not fit.
#
# One against one solves a problem over the rows of each pair of classes, with probability estimates six over the same rows.
# Each thread has memory for the values of one pair and computes rows of it as they are asked for; solves over the same pair
# that it does one after the other find them there. Values of a class with itself are wanted by every pair that it is in.

def rows_of_pair(starts):
    """Rows of the two largest of the classes that begin at ``starts``."""
    return sum(sorted((end - begin for begin, end in pairwise(starts)), reverse=True)[:2])


def bytes_of_pair(starts):
    """Memory for the values of those: what a thread takes."""
    m = rows_of_pair(starts)
    return 4 * m * padded(m)


cdef class PairValues(KernelValues):
    """PairValues(shared): those of one pair of segments after the other, for one thread. Columns are the rows of the one,
    then those of the other class."""

    def __cinit__(self, SharedRows shared):
        cdef Py_ssize_t m = rows_of_pair(list(shared.starts))
        self.shared, self.kernel, self.n, self.diagonal = shared, shared.kernel, shared.n, shared.diagonal
        self.start, self.class_of = &shared.starts[0], &shared.segment_of[0]
        self.slot_of, self.a = zeros("i", m), -1
        self.slab = Slab(m * padded(m), "kernel values of two classes")
        self.values = self.slab.values

    cdef void begin(self, int32_t first, int32_t last) noexcept nogil:
        cdef int32_t a = min(self.class_of[first], self.class_of[last])
        cdef int32_t b = max(self.class_of[first], self.class_of[last])
        if a == self.a and b == self.b:
            return
        self.a, self.b, self.n_slots = a, b, 0
        self.n_a, self.n_b = self.start[a + 1] - self.start[a], self.start[b + 1] - self.start[b]
        self.stride = padded(self.n_a + self.n_b)
        memset(&self.slot_of[0], -1, (self.n_a + self.n_b) * sizeof(int32_t))

    cdef int32_t place_of(self, int32_t row) noexcept nogil:
        if self.class_of[row] == self.a:
            return <int32_t>(row - self.start[self.a])
        return <int32_t>(row - self.start[self.b] + self.n_a)

    cdef const float *at(self, int32_t place) noexcept nogil:
        cdef float *values
        cdef int64_t row
        if self.slot_of[place] >= 0:
            return self.values + self.slot_of[place] * self.stride
        self.slot_of[place] = self.n_slots
        values = self.values + self.n_slots * self.stride
        self.n_slots += 1
        row = self.start[self.a] + place if place < self.n_a else self.start[self.b] + place - self.n_a
        self.fill(<int32_t>row, self.a, values)
        self.fill(<int32_t>row, self.b, values + self.n_a)
        return values

    cdef void fill(self, int32_t row, int32_t c, float *values) noexcept nogil:
        """K of a row with those of class c."""
        cdef Py_ssize_t n = self.start[c + 1] - self.start[c]
        cdef const float *own = NULL
        if self.class_of[row] == c:
            own = svmx_piece_there(self.shared.piece_of(row, c))
        if own != NULL:
            memcpy(values, own, n * sizeof(float))
        else:
            (<Targets>self.shared.target[c]).fill(row, 0, n, values)
