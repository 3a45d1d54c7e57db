"""Kernel rows over the active variables of a solver, kept where keeping beats computing.

A solver's variables live at positions; position p stands for row index[p] of the kernel.
Shrinking swaps positions and then makes the active part [0, active) smaller, and the store
follows: rows are computed against the active part alone, in its order, and a kept row
catches up with the swaps it missed when it is asked for again. So rows are read as they
lie, without a gather, and get shorter, and cheaper, as the problem shrinks. Where rows are
cheaper by the block, the solver may have those it will probably want next computed with a
missing one, as long as enough of them are used.

How rows follow the positions stands here; their memory is RowSlots. What is worth keeping, and computing on a guess, is
decided by measured cost (RowCosts). Memory is bounded by the budget, but touched for the first time only if that pays.
Values that stored rows have are copied from them (Symmetry), by a rule that counts, so that reports are the same in every
run. Rows that several solves share (sharedrows.pyx) come from there; costs of computing count those alone that were not
there yet.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memmove, memset

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.clock cimport svmx_nanoseconds
from libsvmx._core.smo_steps cimport svmx_gather
from libsvmx._kernels.kernel cimport DotTargets, Kernel
from libsvmx._kernels.rows cimport EXPENSIVE_NS, FETCH_NS, FEW_ROWS, SWAP_NS, RowCosts, padded
from libsvmx._kernels.slots cimport RowSlots
from libsvmx._kernels.symmetry cimport Symmetry


# A store that can hold one in so many rows computes expensive ones whole: what shrinking saves would be computed when a
# gradient is reconstructed.
cdef double KEPT_SHARE = 4
# Values are copied by symmetry where rows have so many entries in the mean, else they are computed as fast. To lay out a
# target again takes as long as so many values with it.
cdef double LEAST_ENTRIES = 64, LAYOUT_VALUES = 20
# Of rows shorter than the first, one in so many is timed, and the first so many.
cdef Py_ssize_t LONG_ROW = 2048
cdef int64_t TIMED_ROWS = 8


cdef class RowStore(RowSlots):
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
        self.kernel, self.budget_bytes, self.costs = kernel, budget_bytes, RowCosts(kernel.n)
        self.pool = ThreadPool(1) if pool is None else pool
        self.size = given.shape[0]
        self.active = self.extent = self.size if active is None else active
        self.begins_short = self.extent < self.size
        self.index, self.place = zeros("i", self.size), zeros("i", self.size)
        self.last_use = zeros("q", kernel.n)
        self.injective = True
        for p in range(self.size):
            if not 0 <= given[p] < kernel.n:
                raise IndexError(f"index {given[p]} of {kernel.n} rows")
            self.index[p] = given[p]
            self.injective &= not self.last_use[given[p]]
            self.last_use[given[p]] = 1
        self.last_use[:] = 0
        self.length = zeros("i", kernel.n + 4)
        self.synced, self.ahead = zeros("q", kernel.n + 4), bytearray(kernel.n + 4)
        self.lay_slabs(self.size)
        if self.extent < self.size:
            self.cut(self.extent)
        self.forget()
        self.arrange()

    def __dealloc__(self):
        free(self.swaps)

    # ---- rows ------------------------------------------------------------------------------

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        """Row i of the kernel with the active positions, and with all of them if rows are kept ``whole``."""
        cdef int32_t s
        if self.missing(i):
            self.take(&i, 1, True)
        s = self.slot_of[i]
        if self.older[self.head] != s:  # else it is the newest already
            self.unlink(s)
            self.make_newest(s)
        self.rows_found += 1
        self.costs.guesses_used += self.ahead[s]
        self.ahead[s] = False
        self.last_use[i] = self.rows_taken
        return self.slot(s)

    cdef bint to_compute(self, int32_t i) except -1 nogil:
        """Whether row i of the kernel is missing, and not shared with solves that have asked for it."""
        return self.missing(i) and not (self.targets.kept and self.targets.has(i))

    cdef bint missing(self, int32_t i) except -1 nogil:
        """Whether row i of the kernel is not in the store."""
        cdef int32_t s
        if self.unsettled:
            self.settle()
        s = self.slot_of[i]
        if s < 0 or self.length[s] < self.active:
            return True
        if self.synced[s] != self.n_swaps and not self.sync(s):
            self.length[s] = 0
            return True
        return False

    cdef int together(self, bint sure) noexcept nogil:
        """1, or what goes into a block."""
        if not self.targets.blocks or self.capacity < 3 * SVMX_SOURCES or self.rows_computed < FEW_ROWS:
            return 1
        return SVMX_SOURCES if self.costs.blocks_pay(sure) else 1

    cdef int take(self, const int32_t *wanted, int count, bint sure) except -1 nogil:
        """Up to SVMX_SOURCES rows."""
        cdef int32_t rows[SVMX_SOURCES]
        cdef float *out[SVMX_SOURCES]
        cdef int k, n = 0
        cdef int32_t i, s
        cdef double start, took_ns, n_computed
        cdef bint timed
        self.prepare_symmetry(count)
        for k in range(count):
            i = wanted[k]
            s = self.slot_of[i]
            if k > 0 and self.capacity < 3 * SVMX_SOURCES:
                break  # memory ran out meanwhile: further rows would take the slots of the first
            if s < 0:
                s = self.slot_for(i)
            elif self.length[s] < 0:
                continue  # twice in this very block: two variables of a regression share a row
            else:
                self.unlink(s)
                self.make_newest(s)
            self.length[s] = -1
            rows[n], out[n] = i, self.slot(s)
            n += 1
        timed = self.timed()
        start = svmx_nanoseconds() if timed else 0
        n_computed = self.compute(rows, n, out) / <double>self.targets.n
        if timed:
            took_ns = svmx_nanoseconds() - start
            self.costs.taken(n, self.extent, took_ns, self.rows_taken)
            if n_computed > 0 and not self.n_symmetric:
                self.costs.computed(count == 1, n_computed * (self.targets.work_of(rows[0]) if count == 1 else 1.0), self.extent,
                                    took_ns, self.rows_computed)
        for k in range(n):
            i = rows[k]
            s = self.slot_of[i]
            # a row that was here before, and not too long ago for any store of this budget, should have been kept
            if self.last_use[i] > 0 and self.rows_taken - self.last_use[i] <= self.capacity:
                self.costs.regret(self.extent)
            self.length[s], self.synced[s] = <int32_t>self.extent, self.n_swaps
            self.ahead[s] = k > 0 and not sure
        self.rows_taken += n
        self.rows_computed += n if n_computed > 0 else 0
        self.rows_found -= 1
        if not sure:
            self.costs.guessed(n - 1)
        return 0

    cdef bint timed(self) noexcept nogil:
        """Whether to look at the clock for the next rows: of short ones, that costs a tenth."""
        return self.extent >= LONG_ROW or self.rows_taken < TIMED_ROWS or self.rows_taken % TIMED_ROWS == 0

    cdef int64_t compute(self, const int32_t *rows, int count, float **out) noexcept nogil:
        """Rows of the kernel over ``extent`` positions; returns how many values were computed."""
        cdef float *whole[SVMX_SOURCES]
        cdef float **to = out if self.in_order else whole
        cdef int k
        cdef int64_t computed
        cdef double expected_ns = self.costs.value_ns * count * self.extent
        for k in range(0 if self.in_order else count):
            whole[k] = &self.scratch[0] + k * self.targets.n
        if self.n_symmetric:
            computed = self.symmetry.fill_rows(rows, count, to, self.pool, expected_ns)
        else:
            computed = self.targets.fill_rows(rows, count, self.extent if self.in_order else self.targets.n, to, self.pool,
                                              expected_ns)
        for k in range(0 if self.in_order else count):
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
        cdef int64_t room
        cdef void *grown
        self.index[a], self.index[b] = self.index[b], self.index[a]
        self.place[a], self.place[b] = self.place[b], self.place[a]
        self.in_order = self.twice = False
        self.forgo_symmetry()
        if self.used == 0:
            return 0
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

    cdef void resize(self, Py_ssize_t active) noexcept nogil:
        """The active part is now [0, active), smaller or larger."""
        if active != self.active:
            self.forgo_symmetry()
        self.active = active
        self.unsettled = True
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
        # rows that are there already must be whole, too
        if not self.rows_before and not self.begins_short and not self.targets.kept and self.costs.value_ns > EXPENSIVE_NS \
                and KEPT_SHARE * self.capacity >= self.kernel.n:
            self.whole, self.extent = True, self.size
        self.rows_before = self.rows_taken
        if self.extent > self.covered:
            with gil:
                self.arrange()
        else:
            # as many rows as in the last period: is their waste worth a new arrangement?
            self.distinct = self.extent if self.injective else min(self.extent, self.distinct)
            waste = self.costs.value_ns * (self.targets.n - self.distinct)
            if self.injective and not self.in_order:
                waste += FETCH_NS * 4 * self.extent  # the gather
            if waste * rows > self.arrange_ns:
                with gil:
                    self.arrange()
        if self.extent > self.stride:
            self.stride = padded(self.size)
            self.per_slab = self.slab_bytes // (4 * self.stride)
            self.capacity = self.fitting()
            self.forget()
        elif self.n_swaps > 8 * self.size:
            self.catch_up()
        elif 2 * self.extent <= self.stride and self.used == self.capacity and self.capacity < self.kernel.n:
            self.compress()
        return 0

    cdef int arrange(self) except -1:
        """Targets of ``extent`` positions: in their order, each kernel row once."""
        cdef double start = svmx_nanoseconds()
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
        self.targets = self.kernel.targets(members_[:n])
        self.covered, self.distinct = self.extent, n
        self.symmetry, self.n_symmetric, self.in_vain = None, 0, 0
        self.symmetric = (self.used == 0 and (self.in_order or self.twice) and isinstance(self.targets, DotTargets)
                          and not self.kernel.given)
        self.symmetry_pays = self.symmetric and (<DotTargets>self.targets).products.nnz >= LEAST_ENTRIES * n
        self.scratch = zeros("f", n * (SVMX_SOURCES if self.targets.blocks else 1))
        self.arrange_ns = svmx_nanoseconds() - start
        return 0

    cdef bint sync(self, int32_t s) noexcept nogil:
        """Let slot s follow the swaps it has missed; False if the row had better be computed again."""
        cdef int64_t k
        cdef int32_t a, b, length = self.length[s]
        cdef float *values = self.slot(s)
        if (self.n_swaps - self.synced[s]) * SWAP_NS > self.costs.value_ns * self.extent:
            return False
        for k in range(self.synced[s], self.n_swaps):
            a, b = self.swaps[2 * k], self.swaps[2 * k + 1]
            if a < length and b < length:
                values[a], values[b] = values[b], values[a]
            elif a < length or b < length:  # a value that was never computed comes in
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
        self.empty()
        self.n_swaps = 0

    # ---- slots -------------------------------------------------------------------------------

    cdef int32_t slot_for(self, int32_t i) except -1 nogil:
        """A slot for row i: a new one, or that of the row not asked for for longest."""
        cdef int32_t s = -1
        cdef double start
        if self.used < self.capacity and self.costs.worth_more_memory(self.used, self.stride, self.extent):
            s = self.unused()
            if s >= 0:
                if self.timed():  # touch the memory now, so that it does not count as the cost of the row
                    start = svmx_nanoseconds()
                    memset(self.slot(s), 0, self.stride * sizeof(float))
                    self.costs.touched(4.0 * self.stride, svmx_nanoseconds() - start)
            elif self.used < 3:
                with gil:
                    raise MemoryError(f"no room for three kernel rows of {4 * self.size} bytes")
            else:
                # carry on with the rows there are: a smaller store is slower, not wrong
                self.capacity = self.used
        if s < 0:
            s = self.newer[self.head]
            self.unlink(s)
            self.slot_of[self.row_in[s]] = -1
            self.forgo_symmetry()
        self.slot_of[i], self.row_in[s] = s, i
        self.length[s] = 0
        self.make_newest(s)
        return s

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
