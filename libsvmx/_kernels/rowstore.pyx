"""Kernel rows over the active variables of a solver, kept where keeping beats computing.

A solver's variables live at positions; position p stands for row index[p] of the kernel.
Shrinking swaps positions and then makes the active part [0, active) smaller, and the store
follows: rows are computed against the active part alone, in its order, and a kept row
catches up with the swaps it missed when it is asked for again. So rows are read as they
lie, without a gather, and get shorter, and cheaper, as the problem shrinks. Where rows are
cheaper by the block, the solver may have those it will probably want next computed with a
missing one, as long as enough of them are used.

Two variables of a regression share a row. Its values, if they are kept for all positions, are stored once, in the order of
the kernel's rows (``by_row``), and laid out by position when the row is asked for. That halves memory, and nothing stored
follows a swap.

What is worth keeping, and computing on a guess, is decided by counts: of rows that come back, and of the work on a value
(``value_ns`` of Targets). So the same training computes and keeps the same rows in every run, on a busy machine, too.
Memory is bounded by the budget, but touched for the first time only if that pays. Values that stored rows have are copied
from them (Symmetry). Rows that several solves share (sharedrows.pyx) come from there.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.slab cimport SVMX_SLAB, svmx_give_slab, svmx_take_slab
from libsvmx._core.smo_steps cimport svmx_gather
from libsvmx._kernels.kernel_matrix cimport DotTargets, Kernel, Targets

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import table, zeros


# ---- Kernel rows as a solver asks for them ---------------------------------------------------------
#
# Kernel rows as a solver asks for them, wherever they come from: the base of RowStore and GramRows.

# Catching up with one swap, in nanoseconds.
cdef double SWAP_NS = 2.0

cdef class KernelRows:
    """Rows K(index[p], index[0..active)) over the active ones of ``size`` positions.

    ``row(p)`` is valid until two other rows have been asked for, or the positions change.

    Attributes
    ----------
    rows_computed, rows_found : int      rows that were asked for and had to be computed, or were there
    """

    def __dealloc__(self):
        free(self.swaps)

    cdef const float *row(self, Py_ssize_t position) except NULL nogil:
        """K of ``position`` with the active positions: ``active`` floats."""
        return self.row_of(self.index[position])

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        """Row i of the kernel with the active positions, and with all of them if rows are ``whole`` and not ``by_row``."""
        return NULL

    cdef bint to_compute(self, int32_t i) except -1 nogil:
        """Whether row i of the kernel is neither here nor shared with other solves."""
        return False

    cdef const float *stored(self, int32_t i) except NULL nogil:
        """Row i of the kernel, which is not ``to_compute``; that it was read does not count as a use of it."""
        return self.row_of(i)

    cdef int together(self, bint sure) noexcept nogil:
        """How many rows to compute where one is missing, itself included; ``sure``: they will all be asked for."""
        return 1

    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil:
        """Take in rows of the kernel that are missing; the first was asked for, the others are a guess, or ``sure``."""
        return 0

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Exchange the variables at two positions; ``resize`` must follow before the next row."""
        self.index[a], self.index[b] = self.index[b], self.index[a]
        self.place[a], self.place[b] = self.place[b], self.place[a]
        return 0

    cdef int note_swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Write it down for the rows that are kept, of which each follows when it is asked for again."""
        cdef int64_t room
        cdef void *grown
        if self.n_swaps == self.room_for_swaps:
            room = 2 * self.room_for_swaps + 1024
            grown = realloc(self.swaps, 2 * room * sizeof(int32_t))
            if grown == NULL:
                with gil:
                    raise MemoryError("swaps of variables")
            self.swaps, self.room_for_swaps = <int32_t *>grown, room
        self.swaps[2 * self.n_swaps], self.swaps[2 * self.n_swaps + 1] = <int32_t>a, <int32_t>b
        self.n_swaps += 1
        return 0

    cdef bint follow(self, float *values, int32_t length, int64_t since, double spared_ns) noexcept nogil:
        """Let a row, of which so many values were computed, follow the swaps from ``since`` on.

        False, and the values are of no use, if one that was not computed comes in, or if that takes longer than to make
        the row again, in ``spared_ns``.
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
        """The active part is now [0, active), smaller or larger."""
        self.active = active

    cdef Py_ssize_t n_places(self) noexcept nogil:
        """Values of a stored row, if it is whole."""
        return self.targets.n if self.by_row else self.size

    cdef int32_t row_at(self, Py_ssize_t place) noexcept nogil:
        """The kernel row that a place of a stored row, if it is whole, has the value with."""
        return self.row_of_target[place] if self.by_row else self.index[place]

    cdef bint may_replace(self, const unsigned char *wanted) noexcept nogil:
        """Whether the next rows to be computed may take the place of one of the ``wanted``, by kernel row."""
        return False

    cdef bint is_crowded(self) noexcept nogil:
        """Whether rows had better be ``whole`` no longer, so that more of them fit."""
        return False

    cdef void shorten(self) noexcept nogil:
        """Rows are ``whole`` no longer."""
        self.whole = False


# ---- Kernel rows by symmetry -----------------------------------------------------------------------
#
# Kernel rows by symmetry: K(i, t) is K(t, i), which is there if row t is stored.
#
# Of a new row, values with targets whose rows are stored are copied, and only the others are computed: who needs all n rows
# computes little more than half of the n^2 values. The bits are the same, since those of LIBSVM's products and sums are.

# From so many values on, threads share what is copied.
cdef Py_ssize_t MANY = 1 << 14


cdef class Symmetry:
    """Symmetry(whole, rows): rows over the targets ``whole``. Target t is row rows[t] of the kernel; no two are the same.

    ``store(i, values)`` tells that row i of the kernel, with all targets, stands at ``values``, and will stay there.
    ``divide()`` comes after the last of them. From then on ``fill_rows`` is as that of ``whole``.
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

    cdef int64_t fill_rows(self, const int32_t *sources, int count, float **out, ThreadPool pool,
                           double expected_ns) noexcept nogil:
        cdef CopyJob job
        cdef int64_t n_computed
        cdef int s
        for s in range(count):
            job.place[s] = self.place[sources[s]]
            if job.place[s] < 0:
                return self.whole.fill_rows(sources, count, self.whole.n, out, pool, expected_ns)
            job.computed[s] = &self.scratch[0] + s * self.left.n
        n_computed = self.left.fill_rows(sources, count, self.left.n, job.computed, pool,
                                         expected_ns * self.left.n / self.whole.n)
        job.row_at, job.order, job.n_stored, job.n_left = self.row_at, &self.order[0], self.n_stored, self.left.n
        job.count, job.out = count, out
        job.n_parts = pool.ready() if count * self.whole.n >= MANY else 1
        if job.n_parts == 1:
            _copy_part(&job, 0)
        else:
            pool.run_short(_copy_part, &job, job.n_parts)
        return n_computed


cdef struct CopyJob:
    const float **row_at
    const int32_t *order
    Py_ssize_t n_stored
    Py_ssize_t n_left
    int count
    int32_t place[SVMX_SOURCES]     # of the rows among the targets
    float *computed[SVMX_SOURCES]   # their values with the targets that are left
    float **out
    int64_t n_parts


cdef void _copy_part(void *context, int64_t part) noexcept nogil:
    """A share of what stored rows have, and of what was computed, to its places."""
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

# All costs are estimates in nanoseconds. Memory that is used in any case: a few megabytes, or a part of L2 if rows are
# computed as fast as fetched from further.
cdef double LEAST_BYTES = 8 << 20
cdef double LEAST_BYTES_CHEAP = 1 << 20
# Of a float: the first touch, which costs from 0.4 to 4.6 on virtual machines, and to fetch it.
cdef double TOUCH_NS = 0.6, FETCH_NS = 0.4
# Rows of cheaper values are as soon computed again as kept, and get shorter with the active part. Others are computed
# whole, since what shrinking saves would be computed when a gradient is reconstructed,
cdef double CHEAP_NS = 0.8
# until, in a full store, more than one was computed again for so many that were not.
cdef int64_t AGAIN_SHARE = 8
# From this cost of a value on, rows are worth computing on a guess.
cdef double BLOCK_NS = 8.0
# One in so many rows may have been computed on a guess before it counts how many were used: of thousands of rows, many
# are asked for much later.
cdef int64_t ROWS_PER_GUESS = 32
# What makes way in a full store is the least used of so many rows, drawn anew each time; a use counts half after so many
# uses for each slot. 20,000 noisy rows of 22 features, with room for an eighth of those that come again: 6.5 n^2 values, and
# 8.0 where the row makes way that was not used for longest.
cdef enum: DRAWN = 16
cdef double HALF_LIFE = 16.0, LN_2 = 0.6931471805599453
# Uses are counted in units that grow; this much is made 1 again.
cdef double LARGEST_USE = 1e100
# Rows by row of the kernel, if so many by position fit the budget.
cdef double LEAST_BY_ROW = 6.0
# Rows are laid out by copying where at most one in so many positions is not where it was at first, else by a gather.
cdef Py_ssize_t FEW_MOVED = 2
# Values are copied by symmetry where rows have so many entries in the mean, else they are computed as fast. To lay out a
# target again takes as long as so many values with it.
cdef double LEAST_ENTRIES = 64, LAYOUT_VALUES = 20


cdef class RowStore(KernelRows):
    """RowStore(kernel, budget_bytes, index=None, pool=None, active=None): rows K(index[p], index[0..active)) of position p.

    ``row(p)`` is valid until two other rows have been asked for, or the positions change. At least three rows
    are kept whatever the budget.

    Parameters
    ----------
    kernel : Kernel
    budget_bytes : float
    index : buffer of int32, shape (size,)      copied; all rows of the kernel in order by default
    pool : ThreadPool                                 threads for rows that take long; none by default
    active : int                                at first; all positions by default

    Attributes
    ----------
    rows_computed, rows_found : int      rows that were asked for and had to be computed, or were there. One that
                                         is shared and of which a part was computed counts as computed
    """

    def __cinit__(self, Kernel kernel, double budget_bytes, index=None, ThreadPool pool=None, active=None):
        cdef const int32_t[::1] given = ramp(kernel.n) if index is None else index
        cdef Py_ssize_t p
        self.kernel, self.budget_bytes = kernel, budget_bytes
        self.patience = max(4 * SVMX_SOURCES, kernel.n // ROWS_PER_GUESS)
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
        self.slot_of, self.row_in, self.length = zeros("i", kernel.n), zeros("i", kernel.n + 4), zeros("i", kernel.n + 4)
        self.synced, self.ahead = zeros("q", kernel.n + 4), bytearray(kernel.n + 4)
        self.arrange()
        self.whole = self.extent == self.size and self.targets.again_ns >= CHEAP_NS
        # in a store of a few rows, which is soon crowded, they are by position from the start
        self.by_row = (self.whole and not self.targets.kept and self.targets.n < self.size
                       and budget_bytes >= LEAST_BY_ROW * 4.0 * self.size)
        if self.by_row:
            self.extent = self.targets.n
            self.laid, self.moved = table("f", LAID_ROWS, self.size), table("i", 2, self.size)
        self.lay_slabs(self.extent if self.by_row else self.size)
        if self.extent < self.size and not self.by_row:
            self.cut(self.extent)
        self.forget()

    def __dealloc__(self):
        cdef Py_ssize_t s
        if self.slabs != NULL:
            for s in range(self.n_slabs):
                svmx_give_slab(self.slabs[s], self.slab_bytes)
            free(self.slabs)

    # ---- rows ------------------------------------------------------------------------------

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        """Row i of the kernel with the active positions, and with all of them if rows are kept ``whole``."""
        cdef int32_t s
        if self.missing(i):
            self.take(&i, 1, True)
        s = self.slot_of[i]
        if self.newest != s:  # else it was asked for just now: a step asks for its rows twice
            self.newest = s
            self.count_use(i)
        self.rows_found += 1
        self.guesses_used += self.ahead[s]
        self.ahead[s] = False
        self.count_return(i)
        self.last_use[i] = self.rows_taken
        return self.by_position(i, self.slot(s)) if self.by_row else self.slot(s)

    cdef const float *by_position(self, int32_t i, const float *values) noexcept nogil:
        """Row i of the kernel with the active positions, laid out from its ``values`` by target."""
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
        """Which active positions are no longer where they were at first. No row is laid out for the positions as they are."""
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
        """Whether row i of the kernel is missing, and not shared with solves that have asked for it."""
        return self.missing(i) and not (self.targets.kept and self.targets.has(i))

    cdef bint missing(self, int32_t i) except -1 nogil:
        """Whether row i of the kernel is not in the store."""
        cdef int32_t s
        if self.unsettled:
            self.settle()
        s = self.slot_of[i]
        if s < 0 or self.length[s] < (self.extent if self.by_row else self.active):
            return True
        if self.synced[s] != self.n_swaps and not self.sync(s):
            self.length[s] = 0
            return True
        return False

    cdef int together(self, bint sure) noexcept nogil:
        """1, or what goes into a block.

        Blocks go on while they cost less than computing one by one the rows of them that were ever asked for.
        """
        cdef int64_t known = self.guesses - 2 * SVMX_SOURCES  # the latest have had no chance yet
        cdef double used = 1.0
        if not self.targets.blocks or self.targets.value_ns < BLOCK_NS or self.capacity < 3 * SVMX_SOURCES:
            return 1
        if not sure and known > self.patience:
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
        self.prepare_symmetry(count)
        self.held = self.newest
        for k in range(count):
            i = wanted[k]
            s = self.slot_of[i]
            if k > 0 and self.capacity < 3 * SVMX_SOURCES:
                break  # memory ran out meanwhile: further rows would take the slots of the first
            if s < 0:
                s = self.slot_for(i)
                if s < 0:
                    break
            elif self.length[s] < 0:
                continue  # twice in this very block: two variables of a regression share a row
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
                self.again += 1
            self.length[s], self.synced[s] = <int32_t>self.extent, self.n_swaps
            self.ahead[s] = k > 0 and not sure
        self.rows_taken += n
        self.rows_computed += n if n_computed > 0 else 0
        self.rows_found -= 1
        if not sure:
            self.guesses += n - 1
            if self.guesses > 4 * self.patience:  # what was long ago counts less
                self.guesses //= 2
                self.guesses_used //= 2
        return 0

    cdef int64_t compute(self, const int32_t *rows, int count, float **out) noexcept nogil:
        """Rows of the kernel over ``extent`` positions; returns how many values were computed."""
        cdef float *whole[SVMX_SOURCES]
        cdef bint direct = self.in_order or self.by_row
        cdef float **to = out if direct else whole
        cdef int k
        cdef int64_t computed
        cdef double expected_ns = (self.targets.value_ns if count == 1 else self.targets.block_ns) * count * self.extent
        for k in range(0 if direct else count):
            whole[k] = &self.scratch[0] + k * self.targets.n
        if self.n_symmetric:
            computed = self.symmetry.fill_rows(rows, count, to, self.pool, expected_ns)
        else:
            computed = self.targets.fill_rows(rows, count, self.extent if direct else self.targets.n, to, self.pool,
                                              expected_ns)
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
        """Before n rows are computed: leave out the targets of more stored rows, or none any longer.

        It is time once as much has been computed in vain as it takes. The second layout of the data that it needs has its
        place in the budget, beside all rows.
        """
        cdef double left = self.targets.n - self.used, bytes = 4.0 * self.stride * self.kernel.n
        if not self.symmetric and self.symmetry is not None:
            with gil:
                self.symmetry = None  # and its memory
        if not (self.symmetric and self.symmetry_pays):
            return 0
        self.in_vain += n * (self.used - self.n_symmetric)
        if (left > 0 and self.in_vain > LAYOUT_VALUES * left
                and bytes + 8.0 * self.kernel.matrix.max_index * left <= self.budget_bytes):
            with gil:
                try:
                    self.use_symmetry()
                except MemoryError:  # without it, it takes longer
                    self.forgo_symmetry()
        return 0

    def use_symmetry(self):
        """Leave out, of rows to come, the targets whose rows are stored; returns how many these are.

        0, and nothing is left out, where the kernel or the order of the targets does not allow it, and after a row was moved
        or replaced.
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
        """Rows are no longer where it has seen them."""
        self.symmetric, self.n_symmetric = False, 0

    # ---- the active part ----------------------------------------------------------------------

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        """Exchange the variables at two positions; ``resize`` must follow before the next row."""
        KernelRows.swap(self, a, b)
        self.in_order, self.twice = False, self.twice and self.by_row
        self.forgo_symmetry()
        return 0 if self.used == 0 or self.by_row else self.note_swap(a, b)

    cdef void resize(self, Py_ssize_t active) noexcept nogil:
        """The active part is now [0, active), smaller or larger."""
        if active != self.active:
            self.forgo_symmetry()
        self.active = active
        self.unsettled = True
        self.moves_known = False
        if self.whole:
            return
        self.extent = active
        if active > self.covered:
            self.covered = 0  # swaps may bring in positions without a target

    cdef int settle(self) except -1 nogil:
        """Follow a changed active part: order of computation and layout of the slots."""
        cdef int64_t rows = self.rows_taken - self.rows_before
        cdef double waste
        self.unsettled = False
        self.rows_before = self.rows_taken
        if self.extent > self.covered:
            with gil:
                self.arrange()
        else:
            # as many rows as in the last period: is their waste worth a new arrangement?
            self.distinct = self.extent if self.injective else min(self.extent, self.distinct)
            waste = self.targets.value_ns * (self.targets.n - self.distinct)
            if self.injective and not self.in_order:
                waste += FETCH_NS * self.extent  # the gather
            if waste * rows > self.targets.layout_ns * self.extent:
                with gil:
                    self.arrange()
        if self.extent > self.stride:
            self.cut(self.size)
            self.forget()
        elif self.n_swaps > 8 * self.size:
            self.catch_up()
        elif 2 * self.extent <= self.stride and self.used == self.capacity and self.capacity < self.kernel.n:
            self.compress()
        return 0

    cdef int arrange(self) except -1:
        """Targets of ``extent`` positions: in their order, each kernel row once."""
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
        self.targets, self.row_of_target = self.kernel.targets(members_[:n]), members_[:n]
        self.covered, self.distinct = self.extent, n
        self.symmetry, self.n_symmetric, self.in_vain = None, 0, 0
        self.symmetric = (self.used == 0 and (self.in_order or self.twice) and isinstance(self.targets, DotTargets)
                          and not self.kernel.given)
        self.symmetry_pays = self.symmetric and (<DotTargets>self.targets).products.nnz >= LEAST_ENTRIES * n
        self.scratch = zeros("f", n * (SVMX_SOURCES if self.targets.blocks else 1))
        return 0

    cdef bint sync(self, int32_t s) noexcept nogil:
        """Let slot s follow the swaps it has missed; False if the row had better be computed again."""
        if not self.follow(self.slot(s), self.length[s], self.synced[s], self.targets.again_ns * self.extent):
            return False
        self.synced[s] = self.n_swaps
        return True

    cdef void catch_up(self) noexcept nogil:
        """Let all slots follow, and forget the swaps."""
        cdef int32_t s
        for s in range(<int32_t>self.used):
            if not self.sync(s):
                self.length[s] = 0
            self.synced[s] = 0
        self.n_swaps = 0

    cdef void compress(self) noexcept nogil:
        """Shorter slots, so that more rows fit."""
        cdef Py_ssize_t s, old_stride = self.stride, old_per_slab = self.per_slab
        cdef const float *values
        self.catch_up()
        self.cut(self.extent)
        for s in range(self.used):  # never beyond where it was
            values = self.slabs[s // old_per_slab] + (s % old_per_slab) * old_stride
            self.length[s] = min(self.length[s], <int32_t>self.stride)
            memmove(self.slot(s), values, self.length[s] * sizeof(float))

    cdef void forget(self) noexcept nogil:
        """No row is kept; the memory stays."""
        cdef Py_ssize_t i
        for i in range(self.kernel.n):
            self.slot_of[i] = -1
        self.used, self.newest, self.n_swaps = 0, -1, 0

    # ---- slots, in slabs of memory --------------------------------------------------------------

    cdef int lay_slabs(self, Py_ssize_t length) except -1:
        """Room for rows of up to so many values.

        No malloc per row, and memory is touched only as rows come in. Slabs are of SVMX_SLAB bytes or of one longer row, of
        all positions, or a smaller one holds all there will be.
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
        """Slots of rows so long from now on."""
        self.stride = max(padded(length), 16)
        self.per_slab = self.slab_bytes // (4 * self.stride)
        self.capacity = min(self.fitting(), self.n_slabs * self.per_slab)

    cdef Py_ssize_t fitting(self) noexcept nogil:
        """Slots that the budget allows."""
        return max(3, <Py_ssize_t>min(self.budget_bytes / (4.0 * max(self.stride, 1)), <double>self.kernel.n))

    cdef int32_t unused(self) noexcept nogil:
        """One slot more; -1 if there is no memory for it."""
        cdef Py_ssize_t slab = self.used // self.per_slab
        if self.slabs[slab] == NULL:
            self.slabs[slab] = <float *>svmx_take_slab(self.slab_bytes)
        if self.slabs[slab] == NULL:
            return -1
        self.used += 1
        return <int32_t>(self.used - 1)

    cdef float *slot(self, Py_ssize_t s) noexcept nogil:
        return self.slabs[s // self.per_slab] + (s % self.per_slab) * self.stride

    cdef int32_t slot_for(self, int32_t i) except -1 nogil:
        """A slot for row i: a new one, or that of a row that is little used; -1 if memory has run out and all are in use."""
        cdef int32_t s = -1
        if self.used < self.capacity and self.grows():
            if self.used >= self.least_rows():
                self.credit_ns -= TOUCH_NS * self.stride
            s = self.unused()
            if s < 0 and self.used < 3:
                with gil:
                    raise MemoryError(f"no room for three kernel rows of {4 * self.size} bytes")
            if s < 0:
                # carry on with the rows there are: a smaller store is slower, not wrong
                self.capacity = self.used
        if s < 0:
            s = self.least_used(&self.dice)
            if s < 0:
                return s
            self.slot_of[self.row_in[s]] = -1
            self.forgo_symmetry()
        self.slot_of[i], self.row_in[s] = s, i
        self.length[s] = 0
        return s

    cdef int32_t least_used(self, uint64_t *dice) noexcept nogil:
        """A slot that can be given to another row: not the one that was asked for last, nor one of a block to be computed; -1 if
        there is none."""
        cdef int32_t found = -1, s
        cdef int k
        for k in range(DRAWN):
            dice[0] = dice[0] * 6364136223846793005ULL + 1442695040888963407ULL  # Knuth's, mod 2^64
            s = <int32_t>(((dice[0] >> 32) * <uint64_t>self.used) >> 32)
            if s != self.held and self.length[s] >= 0 and (found < 0 or self.uses[self.row_in[s]] < self.uses[self.row_in[found]]):
                found = s
        for s in range(<int32_t>self.used if found < 0 else 0):
            if s != self.held and self.length[s] >= 0:
                return s
        return found

    cdef void count_use(self, int32_t i) noexcept nogil:
        """Row i was computed, or is asked for after another one."""
        cdef Py_ssize_t k
        self.uses[i] += self.use
        self.use += self.use * LN_2 / (HALF_LIFE * (self.used + 1))
        if self.use > LARGEST_USE:
            for k in range(self.kernel.n):
                self.uses[k] /= self.use
            self.use = 1.0

    # ---- what pays -----------------------------------------------------------------------------

    cdef Py_ssize_t least_rows(self) noexcept nogil:
        """What is kept in any case."""
        cdef double least = LEAST_BYTES if self.targets.again_ns > FETCH_NS else LEAST_BYTES_CHEAP
        cdef Py_ssize_t few = 3 * SVMX_SOURCES if self.targets.value_ns >= BLOCK_NS else 3
        return max(few, <Py_ssize_t>(least / (4.0 * self.stride)))

    cdef void count_return(self, int32_t i) noexcept nogil:
        """Row i was asked for. If it had been before, what is saved by memory beyond the least, or would have been?"""
        cdef int64_t since = self.rows_taken - self.last_use[i]
        if self.last_use[i] > 0 and self.least_rows() < since <= self.capacity:
            self.credit_ns += max(0.0, self.targets.again_ns - FETCH_NS) * self.extent

    cdef bint grows(self) noexcept nogil:
        """Whether another slot will pay, if the budget allows it.

        Where memory costs little beside a row, it may; else what is spent on it was saved by it before, or lost for want
        of it.
        """
        return (self.used < self.least_rows() or self.targets.again_ns >= BLOCK_NS
                or self.credit_ns >= TOUCH_NS * self.stride)

    cdef bint may_replace(self, const unsigned char *wanted) noexcept nogil:
        cdef uint64_t dice = self.dice
        cdef int32_t s
        cdef int k
        if self.used < self.capacity and self.grows():
            return False
        self.held = self.newest
        for k in range(self.together(True)):
            s = self.least_used(&dice)
            if s >= 0 and wanted[self.row_in[s]]:
                return True
        return False

    cdef bint is_crowded(self) noexcept nogil:
        return self.whole and AGAIN_SHARE * self.again > self.rows_taken - self.again

    cdef void shorten(self) noexcept nogil:
        self.whole = False
        if self.by_row:  # rows are by position from now on
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
