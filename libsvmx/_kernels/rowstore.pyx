"""Cache of kernel rows over the active variables of a solver.

Position p of a solver holds a variable whose kernel row is index[p]. Shrinking swaps positions and reduces the active
part [0, active). Rows are computed for the active part only, in its order, and a cached row applies the swaps it has
missed when it is read again. So rows are read without a gather, and become shorter as the problem shrinks. Where rows
are cheaper in blocks, rows that will probably be needed next are prefetched with a missing one, as long as enough of
them are used.

The two variables of a row in regression share a kernel row. If it is kept for all positions, its values are stored
once, in the order of the kernel's rows (``by_row``), and laid out by position when the row is read. That halves memory,
and swaps change nothing that is stored.

Caching and prefetching are decided by counts (of reused rows, and of the work for a value, ``value_ns`` of Targets), so
that a training computes the same rows in every run. The budget bounds memory; new memory is touched only if that pays.
Values that stored rows contain are copied from them (Symmetry). Rows that several solves share: sharedrows.pyx.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from libsvmx._core.allocation cimport reserve
from libsvmx._core.arrays cimport give_slabs, take_slab
from libsvmx._core.dispatch cimport SVMX_SOURCES, svmx_gather
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.slab cimport SVMX_SLAB
from libsvmx._kernels.kernel_matrix cimport DotTargets, Kernel, Targets

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import table, zeros


# ---- Base of RowStore and GramRows -----------------------------------------------------------------

# Applying one swap to a row, in nanoseconds.
cdef double SWAP_NS = 2.0

cdef class KernelRows:
    """Rows K(index[p], index[0..active)) over the active ones of ``size`` positions.

    ``row(p)`` is valid until two other rows have been read, or the positions change.

    Attributes
    ----------
    rows_computed, rows_found : int      reads of missing rows, and of stored ones
    """

    def __dealloc__(self):
        free(self.swaps)

    cdef const float *row(self, Py_ssize_t position) except NULL nogil:
        """Kernel values of ``position`` with the active positions, (active,)."""
        return self.row_of(self.index[position])

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        """Kernel row i over the active positions, and over all if rows are ``whole`` and not ``by_row``."""
        return NULL

    cdef bint to_compute(self, int32_t i) except -1 nogil:
        """Whether kernel row i is neither stored nor shared with other solves."""
        return False

    cdef const float *stored(self, int32_t i) except NULL nogil:
        """Kernel row i, which is not ``to_compute``, without counting a use."""
        return self.row_of(i)

    cdef int together(self, bint sure) noexcept nogil:
        """Number of rows to compute at once when one is missing; ``sure``: all of them will be used."""
        return 1

    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil:
        """Compute and store missing kernel rows: the first on demand, the others as a prefetch unless ``sure``."""
        return 0

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Exchange the variables at two positions; ``resize`` must follow before the next row."""
        self.index[a], self.index[b] = self.index[b], self.index[a]
        self.place[a], self.place[b] = self.place[b], self.place[a]
        return 0

    cdef int note_swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Log a swap for the stored rows, each of which applies it at its next use."""
        reserve(<void **>&self.swaps, &self.room_for_swaps, 2 * self.n_swaps + 2, sizeof(int32_t),
                b"swaps of variables")
        self.swaps[2 * self.n_swaps], self.swaps[2 * self.n_swaps + 1] = <int32_t>a, <int32_t>b
        self.n_swaps += 1
        return 0

    cdef bint follow(self, float *values, int32_t length, int64_t since, double spared_ns) noexcept nogil:
        """Apply the swaps from ``since`` on to a row of ``length`` values.

        False, and the values are invalid, if a missing value is swapped in, or if recomputing the row (``spared_ns``)
        is faster.
        """
        cdef int64_t k
        cdef int32_t a, b
        if (self.n_swaps - since) * SWAP_NS > spared_ns:
            return False
        for k in range(since, self.n_swaps):
            a, b = self.swaps[2 * k], self.swaps[2 * k + 1]
            if a < length and b < length:
                values[a], values[b] = values[b], values[a]
            elif a < length or b < length:
                return False
        return True

    cdef void resize(self, Py_ssize_t active) noexcept nogil:
        """Set the active part to [0, active)."""
        self.active = active

    cdef Py_ssize_t n_places(self) noexcept nogil:
        """Length of a stored row, if whole."""
        return self.targets.n if self.by_row else self.size

    cdef const int32_t *row_at(self) noexcept nogil:
        """The kernel row of each place in a stored row, if whole."""
        return &self.row_of_target[0] if self.by_row else &self.index[0]

    cdef bint may_replace(self, const unsigned char *wanted) noexcept nogil:
        """Whether computing the next rows may evict one of ``wanted`` (mask by kernel row)."""
        return False

    cdef bint add_rows(self, int64_t count, const int32_t *rows, const double *coef, const float **row,
                       Py_ssize_t first, Py_ssize_t n, double *scores) except -1 nogil:
        """scores[k] += sum_e coef_e K(rows_e, index[first + k]) for n positions, from values that are shared, in any
        order of the terms; False if there are none. ``row``: scratch, (count,)."""
        return False

    cdef bint is_crowded(self) noexcept nogil:
        """Whether shorter rows, not ``whole``, would be better, so that more fit."""
        return False

    cdef void shorten(self) noexcept nogil:
        """Store only the active part of rows from now on."""
        self.whole = False


# ---- Kernel rows by symmetry -----------------------------------------------------------------------
#
# Values of a new row with targets whose rows are stored are copied, K(i, t) = K(t, i), and only the others are
# computed: n^2 / 2 values for all n rows. The bits are equal, as LIBSVM's products and sums are symmetric.


cdef class Symmetry:
    """Symmetry(whole, rows): rows over the targets ``whole``, where target t is kernel row rows[t]; all differ.

    Call ``store(i, values)`` for each stored kernel row, which must not move, then ``divide()``; ``fill_rows`` then
    equals that of ``whole``.
    """

    def __cinit__(self, Targets whole, rows):
        cdef Py_ssize_t t
        self.whole, self.row = whole, rows
        self.place, self.order = zeros("i", whole.kernel.n), zeros("i", whole.n)
        self.place[:] = -1
        for t in range(whole.n):
            self.place[self.row[t]] = <int32_t>t
        self.row_at = <const float **>calloc(max(whole.n, 1), sizeof(float *))
        if self.row_at == NULL:
            raise MemoryError("kernel rows by symmetry")

    def __dealloc__(self):
        free(self.row_at)

    cdef void store(self, int32_t i, const float *values) noexcept nogil:
        if self.place[i] >= 0:
            self.n_stored += self.row_at[self.place[i]] == NULL
            self.row_at[self.place[i]] = values

    cdef int divide(self) except -1:
        cdef Py_ssize_t n = self.whole.n - self.n_stored, t, k = 0, q = 0
        rows_ = zeros("i", n)
        cdef int32_t[::1] rows = rows_
        for t in range(self.whole.n):
            if self.row_at[t] != NULL:
                self.order[k] = <int32_t>t
                k += 1
            else:
                self.order[self.n_stored + q], rows[q] = <int32_t>t, self.row[t]
                q += 1
        self.left = self.whole.kernel.targets(rows_)
        self.scratch = zeros("f", max(n, 1) * SVMX_SOURCES)
        return 0

    cdef int64_t fill_rows(self, const int32_t *sources, int count, float **out,
                           ThreadPool pool) noexcept nogil:
        cdef CopyJob job
        cdef int64_t n_computed
        cdef int s
        for s in range(count):
            job.place[s] = self.place[sources[s]]
            if job.place[s] < 0:
                return self.whole.fill_rows(sources, count, self.whole.n, out, pool)
            job.computed[s] = &self.scratch[0] + s * self.left.n
        n_computed = self.left.fill_rows(sources, count, self.left.n, job.computed, pool)
        job.row_at, job.order, job.n_stored, job.n_left = self.row_at, &self.order[0], self.n_stored, self.left.n
        job.count, job.out = count, out
        job.n_parts = pool.parts(FETCH_NS * count * self.whole.n)
        pool.run(_copy_part, &job, job.n_parts, FETCH_NS * count * self.whole.n)
        return n_computed


cdef struct CopyJob:
    const float **row_at
    const int32_t *order
    Py_ssize_t n_stored
    Py_ssize_t n_left
    int count
    int32_t place[SVMX_SOURCES]     # of the rows among the targets
    float *computed[SVMX_SOURCES]   # their values with the other targets
    float **out
    int64_t n_parts


cdef void _copy_part(void *context, int64_t part) noexcept nogil:
    """Copy a part of the stored and of the computed values to their places."""
    cdef CopyJob *job = <CopyJob *>context
    cdef const int32_t *others = job.order + job.n_stored
    cdef const float *values
    cdef Py_ssize_t k
    cdef int s
    for k in range(job.n_stored * part // job.n_parts, job.n_stored * (part + 1) // job.n_parts):
        values = job.row_at[job.order[k]]
        for s in range(job.count):
            job.out[s][job.order[k]] = values[job.place[s]]
    for s in range(job.count):
        for k in range(job.n_left * part // job.n_parts, job.n_left * (part + 1) // job.n_parts):
            job.out[s][others[k]] = job.computed[s][k]


# ---- The row store ---------------------------------------------------------------------------------

# Costs are estimates in nanoseconds. Memory that is always used: a few megabytes, or a part of L2 if computing a row is
# as fast as fetching it from further away.
cdef double MIN_BYTES = 8 << 20
cdef double MIN_BYTES_CHEAP = 1 << 20
# Per float: the first touch (0.4 to 4.6 on virtual machines), and a fetch.
cdef double TOUCH_NS = 0.6, FETCH_NS = 0.4
# Number of reads expected of a row that has come back. Of svmguide1, each row is computed 1.9 times if it is 1, 1.5 times
# if 2, and 1.3 times if 3 to 8, all with the same memory in the end.
cdef double EXPECTED_READS = 3
# Rows of cheaper values are computed for the active part. Others are computed whole, as the rest is needed when the
# gradient is reconstructed,
cdef double CHEAP_NS = 0.8
# until, in a full store, more than one row is recomputed per this many that are not.
cdef int64_t RECOMPUTED_SHARE = 8
# Least cost of a value for prefetching.
cdef double BLOCK_NS = 6.0
# Rows per prefetched row that is not yet judged: of thousands of rows, many are used much later.
cdef int64_t ROWS_PER_GUESS = 32
# Of a kernel in Python a call costs more than some rows, and many that are not used soon are later: blocks of FEW_AHEAD
# only while MANY_UNUSED rows more are unused than used.
cdef int64_t MANY_UNUSED = 256
cdef int FEW_AHEAD = 8
cdef enum: ASKED = 1, USED = 2
# A full store evicts the least frequently used of this many rows drawn at random; the weight of a use halves after
# HALF_LIFE uses per slot. (20,000 noisy rows of 22 features, room for an eighth of the rows: 6.5 n^2 values; least
# recently used: 8.0.)
cdef enum: DRAWN = 16
cdef double HALF_LIFE = 16.0, LN_2 = 0.6931471805599453
# Uses are counted in growing units, which are rescaled here.
cdef double MAX_USE = 1e100
# Rows are stored by kernel row if this many rows by position fit the budget.
cdef double MIN_BY_ROW = 6.0
# Rows are laid out by copying if at most one in this many positions has moved, else by a gather.
cdef Py_ssize_t FEW_MOVED = 2
# Least mean number of entries of a row for symmetry (else computing is as fast).
cdef double MIN_ENTRIES = 64


cdef class RowStore(KernelRows):
    """RowStore(kernel, budget_bytes, index=None, pool=None, active=None): rows K(index[p], index[0..active)) of p.

    ``row(p)`` is valid until two other rows have been read, or the positions change. At least three rows are stored for
    any budget.

    Parameters
    ----------
    kernel : Kernel
    budget_bytes : float
    index : buffer of int32, shape (size,)      copied; None: all kernel rows in order
    pool : ThreadPool                           for expensive rows; None: no threads
    active : int                                initial active part; None: all positions

    Attributes
    ----------
    rows_computed, rows_found : int      reads of missing rows, and of stored ones. A shared row that was partly
                                         computed counts as computed
    """

    def __cinit__(self, Kernel kernel, double budget_bytes, index=None, ThreadPool pool=None, active=None):
        cdef const int32_t[::1] given = ramp(kernel.n) if index is None else index
        cdef Py_ssize_t p
        self.kernel, self.budget_bytes, self.one_way = kernel, budget_bytes, kernel.given
        self.max_unjudged = max(4 * SVMX_SOURCES, kernel.n // ROWS_PER_GUESS)
        self.pool = ThreadPool(1) if pool is None else pool
        self.size = given.shape[0]
        self.active = self.extent = self.size if active is None else active
        self.index, self.place = zeros("i", self.size), zeros("i", self.size)
        self.last_use, self.uses, self.use, self.newest = zeros("q", kernel.n), zeros("d", kernel.n), 1.0, -1
        self.injective = True
        for p in range(self.size):
            if not 0 <= given[p] < kernel.n:
                raise IndexError(f"index {given[p]} of {kernel.n} rows")
            self.index[p] = given[p]
            self.injective &= not self.last_use[given[p]]
            self.last_use[given[p]] = 1
        self.last_use[:] = 0
        self.slot_of = zeros("i", kernel.n)
        self.row_in, self.length = zeros("i", kernel.n + 4), zeros("i", kernel.n + 4)
        self.synced, self.ahead = zeros("q", kernel.n + 4), bytearray(kernel.n + 4)
        self.asked = bytearray(max(kernel.n, 1))
        self.make_targets()
        self.whole = self.extent == self.size and self.targets.again_ns >= CHEAP_NS
        # a store of a few rows, soon crowded, keeps them by position from the start
        self.by_row = (self.whole and not self.targets.kept and self.targets.n < self.size
                       and budget_bytes >= MIN_BY_ROW * 4.0 * self.size)
        if self.by_row:
            self.extent = self.targets.n
            self.laid, self.moved = table("f", LAID_ROWS, self.size), table("i", 2, self.size)
        self.lay_slabs(self.extent if self.by_row else self.size)
        if self.extent < self.size and not self.by_row:
            self.cut(self.extent)
        self.forget()

    def __dealloc__(self):
        give_slabs(self.slabs, self.n_slabs, self.slab_bytes)

    # ---- rows ------------------------------------------------------------------------------

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        """Kernel row i over the active positions, and over all if rows are ``whole``."""
        cdef int32_t s
        if self.missing(i):
            self.take(&i, 1, True)
        s = self.slot_of[i]
        if self.newest != s:  # else it was read just before: a step reads its rows twice
            self.newest = s
            self.count_use(i)
        if self.asked[i] == ASKED:
            self.asked[i] = USED
            self.n_used += 1
        self.rows_found += 1
        self.guesses_used += self.ahead[s]
        self.ahead[s] = False
        self.credit_reuse(i)
        self.last_use[i] = self.rows_taken
        return self.by_position(i, self.slot(s)) if self.by_row else self.slot(s)

    cdef const float *by_position(self, int32_t i, const float *values) noexcept nogil:
        """Kernel row i over the active positions, laid out from its ``values`` by target."""
        cdef Py_ssize_t n = self.targets.n, k
        cdef const int32_t *position = &self.moved[0, 0]
        cdef const int32_t *target = &self.moved[1, 0]
        cdef int r, at = 0
        cdef float *out
        if not self.moves_known:
            self.find_moved()
        self.n_laid += 1
        for r in range(LAID_ROWS):
            if self.laid_row[r] == i:
                self.laid_last[r] = self.n_laid
                return &self.laid[r, 0]
            if self.laid_last[r] < self.laid_last[at]:
                at = r
        self.laid_row[at], self.laid_last[at] = i, self.n_laid
        out = &self.laid[at, 0]
        if not self.twice or FEW_MOVED * self.n_moved > self.active:
            svmx_gather(self.active, values, &self.place[0], out)
            return out
        memcpy(out, values, min(n, self.active) * sizeof(float))
        if self.active > n:
            memcpy(out + n, values, (self.active - n) * sizeof(float))
        for k in range(self.n_moved):
            out[position[k]] = values[target[k]]
        return out

    cdef void find_moved(self) noexcept nogil:
        """Find the active positions that have moved since the start, and drop all laid out rows."""
        cdef Py_ssize_t p, n = self.targets.n
        cdef int r
        for r in range(LAID_ROWS):
            self.laid_row[r] = -1
        self.n_moved = 0
        for p in range(self.active if self.twice else 0):
            if self.place[p] != (p if p < n else p - n):
                self.moved[0, self.n_moved], self.moved[1, self.n_moved] = <int32_t>p, self.place[p]
                self.n_moved += 1
        self.moves_known = True

    cdef const float *stored(self, int32_t i) except NULL nogil:
        return self.slot(self.slot_of[i])

    cdef bint to_compute(self, int32_t i) except -1 nogil:
        """Whether kernel row i is missing, and has not been computed by a solve that shares it."""
        return self.missing(i) and not (self.targets.kept and self.targets.has(i))

    cdef bint missing(self, int32_t i) except -1 nogil:
        """Whether kernel row i is not in the store."""
        cdef int32_t s
        if self.stale:
            self.adapt()
        s = self.slot_of[i]
        if s < 0 or self.length[s] < (self.extent if self.by_row else self.active):
            return True
        if self.synced[s] != self.n_swaps and not self.sync(s):
            self.length[s] = 0
            return True
        return False

    cdef int together(self, bint sure) noexcept nogil:
        """1, or the rows of a block if it costs less than computing one by one those of its rows that are used."""
        cdef int64_t known = self.guesses - 2 * SVMX_SOURCES  # not the latest, which may still be used
        cdef double used = 1.0
        if not self.targets.blocks or self.targets.value_ns < BLOCK_NS or self.capacity < 3 * SVMX_SOURCES:
            return 1
        if self.targets.kept:
            return FEW_AHEAD if not sure and self.n_asked - 2 * self.n_used > MANY_UNUSED else SVMX_SOURCES
        if not sure and known > self.max_unjudged:
            used = min(1.0, self.guesses_used / <double>known)
        if SVMX_SOURCES * self.targets.block_ns > self.targets.value_ns * (1.0 + (SVMX_SOURCES - 1) * used):
            return 1
        return SVMX_SOURCES

    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil:
        """Up to SVMX_SOURCES rows."""
        cdef int32_t rows[SVMX_SOURCES]
        cdef float *out[SVMX_SOURCES]
        cdef int k, n = 0
        cdef int32_t i, s
        cdef int64_t n_computed
        for k in range(count if self.targets.kept else 0):
            if not self.asked[wanted[k]] and not self.targets.has(wanted[k]):
                self.asked[wanted[k]] = ASKED
                self.n_asked += 1
        self.prepare_symmetry(count)
        self.held = self.newest
        for k in range(count):
            i = wanted[k]
            s = self.slot_of[i]
            if k > 0 and self.capacity < 3 * SVMX_SOURCES:
                break  # out of memory: further rows would take the slots of the first
            if s < 0:
                s = self.slot_for(i)
                if s < 0:
                    break
            elif self.length[s] < 0:
                continue  # twice in this block: two variables of a regression share a row
            self.length[s] = -1
            self.count_use(i)
            rows[n], out[n] = i, self.slot(s)
            n += 1
        if n == 0:
            with gil:
                raise MemoryError(f"no room for three kernel rows of {4 * self.size} bytes")
        n_computed = self.compute(rows, n, out)
        for k in range(n):
            i = rows[k]
            s = self.slot_of[i]
            if self.last_use[i] > 0 and self.used == self.capacity:
                self.recomputed += 1
            self.length[s], self.synced[s] = <int32_t>self.extent, self.n_swaps
            self.ahead[s] = k > 0 and not sure
        self.rows_taken += n
        self.rows_computed += n if n_computed > 0 else 0
        self.rows_found -= 1
        if not sure:
            self.guesses += n - 1
            if self.guesses > 4 * self.max_unjudged:  # old prefetches count less
                self.guesses //= 2
                self.guesses_used //= 2
        return 0

    cdef int64_t compute(self, const int32_t *rows, int count, float **out) noexcept nogil:
        """Compute kernel rows over ``extent`` positions; returns the number of values computed."""
        cdef float *whole[SVMX_SOURCES]
        cdef bint direct = self.in_order or self.by_row
        cdef float **to = out if direct else whole
        cdef int k
        cdef int64_t computed
        for k in range(0 if direct else count):
            whole[k] = &self.scratch[0] + k * self.targets.n
        if self.n_symmetric:
            computed = self.symmetry.fill_rows(rows, count, to, self.pool)
        else:
            computed = self.targets.fill_rows(rows, count, self.extent if direct else self.targets.n, to, self.pool)
        for k in range(0 if direct else count):
            if self.twice:
                memcpy(out[k], whole[k], self.targets.n * sizeof(float))
                memcpy(out[k] + self.targets.n, whole[k], self.targets.n * sizeof(float))
            else:
                svmx_gather(self.extent, whole[k], &self.place[0], out[k])
        self.kernel.values_computed += computed
        return computed

    # ---- symmetry ----------------------------------------------------------------------------

    cdef int prepare_symmetry(self, int n) except -1 nogil:
        """Before n rows are computed: renew or drop ``symmetry``.

        It is renewed once the values computed in vain outweigh the new layout of the data, which must fit the budget
        beside all rows.
        """
        cdef double left = self.targets.n - self.used, bytes = 4.0 * self.stride * self.kernel.n
        if not self.symmetric and self.symmetry is not None:
            with gil:
                self.symmetry = None  # and its memory
        if not (self.symmetric and self.symmetry_pays):
            return 0
        self.in_vain += n * (self.used - self.n_symmetric)
        if (left > 0 and self.in_vain * self.targets.block_ns > self.targets.layout_ns * left
                and bytes + 8.0 * self.kernel.matrix.max_index * left <= self.budget_bytes):
            with gil:
                try:
                    self.use_symmetry()
                except MemoryError:  # slower without it
                    self.forgo_symmetry()
        return 0

    def use_symmetry(self):
        """Copy the values of targets whose rows are stored from now on; returns the number of these.

        0 if the kernel or the order of the targets does not allow it, or if a row was moved or replaced.
        """
        cdef Py_ssize_t s
        if not self.symmetric:
            return 0
        self.n_symmetric, self.symmetry = 0, None
        self.symmetry = Symmetry(self.targets, self.index[:self.targets.n])
        for s in range(self.used):
            if self.length[s] == self.extent:
                self.symmetry.store(self.row_in[s], self.slot(s))
        self.symmetry.divide()
        self.n_symmetric, self.in_vain = self.used, 0
        return self.symmetry.n_stored

    cdef void forgo_symmetry(self) noexcept nogil:
        """Stop using symmetry, since rows have moved."""
        self.symmetric, self.n_symmetric = False, 0

    # ---- the active part ----------------------------------------------------------------------

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        KernelRows.swap(self, a, b)
        self.in_order, self.twice = False, self.twice and self.by_row
        self.forgo_symmetry()
        return 0 if self.used == 0 or self.by_row else self.note_swap(a, b)

    cdef void resize(self, Py_ssize_t active) noexcept nogil:
        if active != self.active:
            self.forgo_symmetry()
        self.active = active
        self.stale = True
        self.moves_known = False
        if self.whole:
            return
        self.extent = active
        if active > self.covered:
            self.covered = 0  # swaps may activate positions without a target

    cdef int adapt(self) except -1 nogil:
        """Adapt targets and slots to a changed active part."""
        cdef int64_t rows = self.rows_taken - self.rows_before
        cdef double waste
        self.stale = False
        self.rows_before = self.rows_taken
        if self.extent > self.covered:
            with gil:
                self.make_targets()
        else:
            # if as many rows follow as since the last change, is their waste worth new targets?
            self.distinct = self.extent if self.injective else min(self.extent, self.distinct)
            waste = self.targets.value_ns * (self.targets.n - self.distinct)
            if self.injective and not self.in_order:
                waste += FETCH_NS * self.extent  # the gather
            if waste * rows > self.targets.layout_ns * self.extent:
                with gil:
                    self.make_targets()
        if self.extent > self.stride:
            self.cut(self.size)
            self.forget()
        elif self.n_swaps > 8 * self.size:
            self.catch_up()
        elif 2 * self.extent <= self.stride and self.used == self.capacity and self.capacity < self.kernel.n:
            self.compress()
        return 0

    cdef int make_targets(self) except -1:
        """Make targets of ``extent`` positions, in their order, each kernel row once."""
        cdef Py_ssize_t p, n = 0
        members_ = zeros("i", self.extent)
        cdef int32_t[::1] members = members_, seen
        if self.injective:
            for p in range(self.extent):
                members[p], self.place[p] = self.index[p], <int32_t>p
            n = self.extent
        else:
            seen = zeros("i", self.kernel.n)
            for p in range(self.extent):
                if not seen[self.index[p]]:
                    members[n] = self.index[p]
                    n += 1
                    seen[self.index[p]] = <int32_t>n
                self.place[p] = seen[self.index[p]] - 1
        self.in_order, self.twice = self.injective, self.extent == 2 * n
        for p in range(n if self.twice else 0):
            self.twice = self.twice and self.place[p] == p and self.place[n + p] == p
        self.symmetry, self.n_symmetric, self.in_vain = None, 0, 0
        self.stale, self.covered = True, 0  # if memory ends here
        self.targets = None  # a layout of the rows, which would be beside the next one
        self.targets, self.row_of_target = self.kernel.targets(members_[:n]), members_[:n]
        self.stale, self.covered, self.distinct = False, self.extent, n
        self.symmetric = (self.used == 0 and (self.in_order or self.twice) and isinstance(self.targets, DotTargets)
                          and not self.kernel.given)
        self.symmetry_pays = self.symmetric and (<DotTargets>self.targets).products.nnz >= MIN_ENTRIES * n
        self.scratch = zeros("f", n * (SVMX_SOURCES if self.targets.blocks else 1))
        return 0

    cdef bint sync(self, int32_t s) noexcept nogil:
        """Apply the swaps that slot s has missed; False if the row has to be recomputed."""
        if not self.follow(self.slot(s), self.length[s], self.synced[s], self.targets.again_ns * self.extent):
            return False
        self.synced[s] = self.n_swaps
        return True

    cdef void catch_up(self) noexcept nogil:
        """Apply the swaps to all slots, and clear the log."""
        cdef int32_t s
        for s in range(<int32_t>self.used):
            if not self.sync(s):
                self.length[s] = 0
            self.synced[s] = 0
        self.n_swaps = 0

    cdef void compress(self) noexcept nogil:
        """Shorten slots to ``extent``, so that more rows fit."""
        cdef Py_ssize_t s, old_stride = self.stride, old_per_slab = self.per_slab
        cdef const float *values
        self.catch_up()
        self.cut(self.extent)
        for s in range(self.used):  # moves towards the front only
            values = self.slabs[s // old_per_slab] + (s % old_per_slab) * old_stride
            self.length[s] = min(self.length[s], <int32_t>self.stride)
            memmove(self.slot(s), values, self.length[s] * sizeof(float))

    cdef void forget(self) noexcept nogil:
        """Drop all rows; the memory stays."""
        cdef Py_ssize_t i
        for i in range(self.kernel.n):
            self.slot_of[i] = -1
        self.used, self.newest, self.n_swaps = 0, -1, 0

    # ---- slots, in slabs of memory --------------------------------------------------------------

    cdef int lay_slabs(self, Py_ssize_t length) except -1:
        """Plan slabs for rows of up to ``length`` values; memory is touched only as rows come in.

        A slab has SVMX_SLAB bytes, or those of a longer row over all positions, or less if all slots fit one.
        """
        self.stride = padded(length)
        self.capacity = self.fitting()
        self.slab_bytes = max(<Py_ssize_t>SVMX_SLAB, 4 * max(self.stride, padded(self.size)))
        self.per_slab = max(1, self.slab_bytes // max(4 * self.stride, 1))
        if self.capacity < self.per_slab:
            self.per_slab = self.capacity
            self.slab_bytes = self.per_slab * 4 * self.stride
        self.n_slabs = (self.capacity + self.per_slab - 1) // self.per_slab
        self.slabs = <float **>calloc(self.n_slabs, sizeof(float *))
        if self.slabs == NULL:
            raise MemoryError("kernel row store")
        return 0

    cdef void cut(self, Py_ssize_t length) noexcept nogil:
        """Set the length of slots."""
        self.stride = max(padded(length), 16)
        self.per_slab = self.slab_bytes // (4 * self.stride)
        self.capacity = min(self.fitting(), self.n_slabs * self.per_slab)

    cdef Py_ssize_t fitting(self) noexcept nogil:
        """Number of slots within the budget."""
        return max(3, <Py_ssize_t>min(self.budget_bytes / (4.0 * max(self.stride, 1)), <double>self.kernel.n))

    cdef int32_t unused(self) noexcept nogil:
        """A new slot; -1 if out of memory."""
        cdef Py_ssize_t slab = self.used // self.per_slab
        if self.slabs[slab] == NULL:
            self.slabs[slab] = <float *>take_slab(self.slab_bytes)
        if self.slabs[slab] == NULL:
            return -1
        self.used += 1
        return <int32_t>(self.used - 1)

    cdef float *slot(self, Py_ssize_t s) noexcept nogil:
        return self.slabs[s // self.per_slab] + (s % self.per_slab) * self.stride

    cdef int32_t slot_for(self, int32_t i) except -1 nogil:
        """A slot for row i: new, or that of an evicted row; -1 if out of memory and all are in use."""
        cdef int32_t s = -1
        if self.used < self.capacity and self.grows():
            if self.used >= self.min_rows():
                self.credit_ns -= TOUCH_NS * self.stride
            s = self.unused()
            if s < 0 and self.used < 3:
                with gil:
                    raise MemoryError(f"no room for three kernel rows of {4 * self.size} bytes")
            if s < 0:
                # a smaller store is slower, not wrong
                self.capacity = self.used
        if s < 0:
            s = self.to_evict(&self.dice)
            if s < 0:
                return s
            self.slot_of[self.row_in[s]] = -1
            self.forgo_symmetry()
        self.slot_of[i], self.row_in[s] = s, i
        self.length[s] = 0
        return s

    cdef int32_t to_evict(self, uint64_t *dice) noexcept nogil:
        """A slot to evict: neither the last one read nor one of the block being computed; -1: none."""
        cdef int32_t found = -1, s
        cdef int k
        for k in range(DRAWN):
            dice[0] = dice[0] * 6364136223846793005ULL + 1442695040888963407ULL  # Knuth's, mod 2^64
            s = <int32_t>(((dice[0] >> 32) * <uint64_t>self.used) >> 32)
            if s != self.held and self.length[s] >= 0 and (
                    found < 0 or self.uses[self.row_in[s]] < self.uses[self.row_in[found]]):
                found = s
        for s in range(<int32_t>self.used if found < 0 else 0):
            if s != self.held and self.length[s] >= 0:
                return s
        return found

    cdef void count_use(self, int32_t i) noexcept nogil:
        """Count a use of row i: computed, or read after another one."""
        cdef Py_ssize_t k
        self.uses[i] += self.use
        self.use += self.use * LN_2 / (HALF_LIFE * (self.used + 1))
        if self.use > MAX_USE:
            for k in range(self.kernel.n):
                self.uses[k] /= self.use
            self.use = 1.0

    # ---- growth --------------------------------------------------------------------------------

    cdef Py_ssize_t min_rows(self) noexcept nogil:
        """Number of rows that are always kept."""
        cdef double least = MIN_BYTES if self.targets.again_ns > FETCH_NS else MIN_BYTES_CHEAP
        cdef Py_ssize_t few = 3 * SVMX_SOURCES if self.targets.value_ns >= BLOCK_NS else 3
        return max(few, <Py_ssize_t>(least / (4.0 * self.stride)))

    cdef void credit_reuse(self, int32_t i) noexcept nogil:
        """At a read of row i: credit what memory beyond ``min_rows`` is expected to save from now on."""
        cdef int64_t since = self.rows_taken - self.last_use[i]
        if self.last_use[i] > 0 and self.min_rows() < since <= self.capacity:
            self.credit_ns += EXPECTED_READS * max(0.0, self.targets.again_ns - FETCH_NS) * self.extent

    cdef bint grows(self) noexcept nogil:
        """Whether another slot pays, if the budget allows it: its first touch is cheap, or credited."""
        return (self.used < self.min_rows() or self.targets.again_ns >= BLOCK_NS
                or self.credit_ns >= TOUCH_NS * self.stride)

    cdef bint may_replace(self, const unsigned char *wanted) noexcept nogil:
        cdef uint64_t dice = self.dice
        cdef int32_t s
        cdef int k
        if self.used < self.capacity and self.grows():
            return False
        self.held = self.newest
        for k in range(self.together(True)):
            s = self.to_evict(&dice)
            if s >= 0 and wanted[self.row_in[s]]:
                return True
        return False

    cdef bint is_crowded(self) noexcept nogil:
        return self.whole and RECOMPUTED_SHARE * self.recomputed > self.rows_taken - self.recomputed

    cdef void shorten(self) noexcept nogil:
        self.whole = False
        if self.by_row:  # to rows by position
            self.by_row, self.covered = False, 0
            self.forget()
        self.resize(self.active)

    # ---- for tests -----------------------------------------------------------------------------

    def fetch(self, Py_ssize_t position):
        """A copy of the row of ``position`` as a buffer of float32, shape (active,)."""
        if not 0 <= position < self.size:
            raise IndexError(f"position {position} of {self.size}")
        out = zeros("f", self.active)
        cdef float[::1] copy = out
        cdef const float *values
        cdef Py_ssize_t k
        with nogil:
            values = self.row(position)
            for k in range(self.active):
                copy[k] = values[k]
        return out

    def shrink(self, swaps, Py_ssize_t active):
        """Exchange pairs of positions, then make [0, active) the active part."""
        for a, b in swaps:
            if not (0 <= a < self.size and 0 <= b < self.size):
                raise IndexError(f"positions {a}, {b} of {self.size}")
            self.swap(a, b)
        if not 0 < active <= self.size:
            raise ValueError(f"{active} active positions of {self.size}")
        self.resize(active)
