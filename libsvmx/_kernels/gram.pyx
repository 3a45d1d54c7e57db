"""Kernel rows for many solves over the same few rows, and for paths.

    GramRows      of one part of KernelValues after the other: all values, or those of pairs of classes (sharedrows.pyx)
    DoubleRows    rows in double over rows that come and go
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.slab cimport svmx_give_slab, svmx_take_slab
from libsvmx._core.smo_steps cimport svmx_gather
from libsvmx._kernels.kernel_matrix cimport LONG_NS, Kernel, Targets
from libsvmx._kernels.rowstore cimport SWAP_NS, KernelRows, padded

from libsvmx._core.buffers import zeros


# ---- Kernel values that many solves ask for ----------------------------------------------------------
#
# All kernel values of a small problem, and rows of parts of it: for many solves over the same few rows.
#
# Pairs of classes, folds and inner folds of probability estimates ask for the same values over and over. Where all of them
# fit, they are computed once, by all threads, and each solve gathers the rows it asks for. Nothing here makes a Python object
# while solves go on, so that one can be begun every few microseconds.

# Rows of a part that follow each other among the values are copied as a run; it pays from this mean length on.
cdef Py_ssize_t LEAST_RUN = 16
# Gathering a value, in nanoseconds.
cdef double GATHER_NS = 0.5
# Values of a square that are copied across before its owner is asked again, and rows of one that one thread copies.
cdef Py_ssize_t COPIED_AT_ONCE = 1 << 16, SHORT = 256


cdef class Slab:
    """Slab(n, what): memory for n floats, kept for the next one when it is let go. MemoryError says ``what``."""

    def __cinit__(self, Py_ssize_t n, what):
        self.bytes = max(n, 1) * sizeof(float)
        self.values = <float *>svmx_take_slab(self.bytes)
        if self.values == NULL:
            raise MemoryError(what)

    def __dealloc__(self):
        svmx_give_slab(self.values, self.bytes)


cdef class KernelValues:
    """Base: K(i, j) of the n rows of ``kernel``, from which rows of parts are gathered; SharedRows and PairValues.

    ``of_thread()``: what a thread uses of it, to itself.
    ``begin(first, last)``: the rows to come are of the classes of these two.
    ``place_of(row)``: where a row stands among the columns, and ``at(place)``: K of a row with all columns.
    ``group_of(first, last)``, if it ``has_groups``: the same number for parts that had better come one after the other.
    """

    def of_thread(self):
        return self

    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil:
        return 0

    cdef void begin(self, int32_t first, int32_t last) noexcept nogil:
        pass

    cdef int32_t place_of(self, int32_t row) noexcept nogil:
        return row

    cdef const float *at(self, int32_t place) noexcept nogil:
        return NULL


cdef int fill_square(Targets targets, Py_ssize_t first, float *values, ThreadPool pool, asking) except -1:
    """K(i, j) of the targets with each other, which are the rows of their kernel from ``first`` on, into (n, n) floats.

    For j <= i they are computed, K(j, i) is a copy; of rows kept as bits, to copy takes longer.
    """
    cdef float *out[SVMX_SOURCES]
    cdef int32_t rows[SVMX_SOURCES]
    cdef Py_ssize_t i, n = targets.n
    cdef int s, count
    cdef bint copied = not targets.kernel.binary
    for i in range(0, n, SVMX_SOURCES):
        count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - i)
        for s in range(count):
            rows[s], out[s] = <int32_t>(first + i + s), values + (i + s) * n
        with nogil:
            targets.kernel.values_computed += targets.fill_rows(rows, count, i + count if copied else n, out, pool, LONG_NS)
        asking.ask(4 * count * (i + count if copied else n))
    return copy_across(values, n, pool, asking) if copied else 0


cdef int copy_across(float *values, Py_ssize_t n, ThreadPool pool, asking) except -1:
    """The upper triangle of (n, n) floats, from the lower."""
    cdef Square square
    cdef Py_ssize_t blocks = max(<Py_ssize_t>1, COPIED_AT_ONCE // max(n, 1) // SVMX_SOURCES), first, block, k
    square.values, square.n = values, n
    for first in range(0, n, blocks * SVMX_SOURCES):
        square.first = first
        k = (min(blocks * SVMX_SOURCES, n - square.first) + SVMX_SOURCES - 1) // SVMX_SOURCES
        with nogil:
            if n <= SHORT:
                for block in range(k):
                    _copy_block(&square, block)
            else:
                pool.run(_copy_block, &square, k)
        asking.ask(k * SVMX_SOURCES * n)
    return 0


cdef struct Square:
    float *values
    Py_ssize_t n
    Py_ssize_t first


cdef void _copy_block(void *context, int64_t part) noexcept nogil:
    """SVMX_SOURCES rows of the upper triangle, from ``first`` on."""
    cdef Square *square = <Square *>context
    cdef Py_ssize_t i, j, begin = square.first + part * SVMX_SOURCES, n = square.n, end = min(begin + SVMX_SOURCES, n)
    cdef float *values = square.values
    for j in range(begin + 1, n):
        for i in range(begin, min(end, j)):
            values[i * n + j] = values[j * n + i]


cdef class GramRows(KernelRows):
    """GramRows(values, most_rows, most_positions, pool): rows of one part after the other of ``values``, see ``begin``."""

    def __cinit__(self, KernelValues values, Py_ssize_t most_rows, Py_ssize_t most_positions, ThreadPool pool):
        self.values, self.kernel, self.pool, self.whole = values, values.kernel, pool, True
        self.index, self.place = zeros("i", most_positions), zeros("i", most_positions)
        self.member, self.synced = zeros("i", most_rows), zeros("q", most_rows)
        self.slot_of, self.run = zeros("i", most_rows), zeros("i", most_rows)
        self.slab = Slab(most_rows * padded(most_positions), "kernel rows")
        self.slots = self.slab.values

    cdef void begin(self, const int32_t *members, Py_ssize_t n, bint doubled) noexcept nogil:
        """A part of n rows of ``values``; a position for each of them, or, ``doubled``, another n for the same rows."""
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
        self.n_slots, self.stride = 0, padded(self.size)

    cdef const float *row_of(self, int32_t i) except NULL nogil:
        cdef float *values
        if self.synced[i] < 0:
            self.slot_of[i] = self.n_slots
            self.n_slots += 1
            self.rows_computed += 1
        values = self.slots + self.slot_of[i] * self.stride
        if self.synced[i] < 0 and self.n_runs * LEAST_RUN <= self.n_rows and self.n_swaps * SWAP_NS <= self.size * GATHER_NS:
            self.copy(self.values.at(self.member[i]), values)
            self.synced[i] = 0
        if self.synced[i] != self.n_swaps and (
                self.synced[i] < 0
                or not self.follow(values, <int32_t>self.size, self.synced[i], self.size * GATHER_NS)):
            svmx_gather(self.size, self.values.at(self.member[i]), &self.place[0], values)
        self.synced[i] = self.n_swaps
        self.rows_found += 1
        return values

    cdef void copy(self, const float *row, float *values) noexcept nogil:
        """A row over all positions where no swap has moved them, run by run."""
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


# ---- Kernel rows in double over rows that come and go ----------------------------------------------
#
# Kernel rows in double over rows that come and go: what a path along exact optima needs.
#
# LIBSVM's optimum is that of the matrix rounded to float, which near a singular K_MM is another matrix: 6e-8 of rounding
# is far more than its least eigenvalues. On a path every value is a double, from ``Targets.fill_doubles``, and symmetric.
#
# A row that was computed is kept while there is room, the one not used for longest makes way; pinned rows stay. New
# columns of kept rows are values of the new rows, by symmetry.

# However small the budget.
cdef Py_ssize_t LEAST_SLOTS = 8
# And of so many rows all: what is laid out is a dozen objects, of which the states of many classes have thousands.
cdef Py_ssize_t SMALL = 64
cdef int32_t[::1] NO_INTS = zeros("i", 0)
cdef int64_t[::1] NO_USES = zeros("q", 0)


cdef class DoubleRows:
    """DoubleRows(budget_bytes)

    Attributes
    ----------
    kernel : Kernel             whose rows these are, in this order, since ``bind``
    n : int
    rows_computed : int
    """

    def __cinit__(self, double budget_bytes):
        self.budget_bytes = budget_bytes
        self.slot_of = self.pins = self.row_in = self.empty = NO_INTS
        self.last_use = NO_USES

    def __dealloc__(self):
        cdef Py_ssize_t s
        for s in range(self.n_slots):
            free(self.slots[s])
        free(self.slots)
        free(self.spare)
        free(self.unordered)

    cdef int bind(self, Kernel kernel) except -1:
        """The rows are those of ``kernel``: first the ones there were, in their order, then new ones, whose columns the
        rows that are kept lack: ``place_column`` of each must come next."""
        self.make_room(kernel.n)
        self.kernel, self.targets, self.n = kernel, None, kernel.n
        self.in_order, self.n_alone = True, 0
        return 0

    cdef void release_kernel(self) noexcept:
        """Rows that are not kept are not wanted any more, until ``bind``: whatever the kernel reads may be freed."""
        self.kernel = self.targets = None

    cdef void place_column(self, Py_ssize_t a, Py_ssize_t n, const int32_t *rows, const double *values) noexcept nogil:
        """Column a of those of n ``rows`` that are kept; all that are kept are among them. ``values``: K(a, row) of each."""
        cdef Py_ssize_t k
        for k in range(n):
            if self.slot_of[rows[k]] >= 0:
                self.slots[self.slot_of[rows[k]]][a] = values[k]

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Slots and lists for n rows."""
        cdef Py_ssize_t s, room
        cdef int32_t[::1] ints
        cdef void *grown
        if n <= self.room:
            return 0
        room = n + n // 4 + 4
        if 8.0 * room * self.n_slots > self.budget_bytes:
            self.give_up()
        for s in range(self.n_slots):
            grown = realloc(self.slots[s], room * sizeof(double))
            if grown == NULL:
                raise MemoryError(f"kernel rows of {8 * room} bytes")
            self.slots[s] = <double *>grown
        grown = realloc(self.spare, room * sizeof(double))
        if grown == NULL:
            raise MemoryError(f"kernel rows of {8 * room} bytes")
        self.spare = <double *>grown
        grown = realloc(self.unordered, room * sizeof(double))
        if grown == NULL:
            raise MemoryError(f"kernel rows of {8 * room} bytes")
        self.unordered = <double *>grown
        ints = zeros("i", 3 * room)  # one buffer, as of a PathState
        ints[:self.room] = self.slot_of
        ints[self.room:room] = -1
        ints[room:room + self.room] = self.pins
        self.slot_of, self.pins, self.target, self.room = ints[:room], ints[room:2 * room], ints[2 * room:], room
        return 0

    cdef void give_up(self) noexcept nogil:
        """Only pinned rows keep their slots."""
        cdef Py_ssize_t s, n = 0
        for s in range(self.n_slots):
            if self.row_in[s] >= 0 and self.pins[self.row_in[s]]:
                self.slots[n], self.row_in[n], self.last_use[n] = self.slots[s], self.row_in[s], self.last_use[s]
                self.slot_of[self.row_in[n]] = <int32_t>n
                n += 1
            else:
                if self.row_in[s] >= 0:
                    self.slot_of[self.row_in[s]] = -1
                free(self.slots[s])
        self.n_slots, self.n_empty = n, 0

    cdef const double *kept(self, int32_t p) noexcept nogil:
        """Row p if it is kept, else NULL. Valid until ``row`` is called, while pinned until it is not."""
        return NULL if self.slot_of[p] < 0 else self.slots[self.slot_of[p]]

    cdef const double *row(self, int32_t p) except NULL nogil:
        """Row p, (n,). Valid until the next call, while pinned until it is not."""
        cdef int32_t s = self.slot_of[p]
        self.clock += 1
        if s >= 0:
            self.last_use[s] = self.clock
            return self.slots[s]
        s = self.free_slot()
        self.rows_computed += 1
        if s < 0:
            self.compute(p, self.spare)
            return self.spare
        self.empty[self.n_empty] = s  # as it is, if the row cannot be computed
        self.n_empty += 1
        self.compute(p, self.slots[s])
        self.n_empty -= 1
        self.row_in[s], self.slot_of[p], self.last_use[s] = p, s, self.clock
        return self.slots[s]

    cdef const double *glance(self, int32_t p) except NULL nogil:
        """As ``row``, for rows that will not be wanted again soon: they take no slot."""
        if self.slot_of[p] >= 0:
            return self.slots[self.slot_of[p]]
        self.rows_computed += 1
        self.compute(p, self.spare)
        return self.spare

    cdef int compute(self, int32_t p, double *out) except -1 nogil:
        """Row p, (n,), from nothing."""
        cdef Py_ssize_t q
        if self.n_alone <= FEW_ROWS:
            if self.n_alone == 0 or (self.n_alone == FEW_ROWS and self.n > SMALL):
                with gil:
                    self.targets = self.kernel.double_targets(None, self.n_alone == 0)
            self.n_alone += 1
        self.kernel.values_computed += self.n
        if self.in_order:
            self.targets.fill_doubles(p, 0, self.n, out)
            return 0
        self.targets.fill_doubles(self.target[p], 0, self.targets.n, self.unordered)
        for q in range(self.n):
            out[q] = self.unordered[self.target[q]]
        return 0

    cdef void swap(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil:
        """Rows pairs[2 k] and pairs[2 k + 1] change places, k = 0, 1, … n - 1; no row is in two pairs."""
        cdef Py_ssize_t k, s
        cdef int32_t a, b, held
        cdef double *own
        cdef double value
        if self.in_order:
            for k in range(self.n):
                self.target[k] = <int32_t>k
            self.in_order = False
        for k in range(n):
            a, b = pairs[2 * k], pairs[2 * k + 1]
            held = self.target[a]
            self.target[a], self.target[b] = self.target[b], held
            held = self.pins[a]
            self.pins[a], self.pins[b] = self.pins[b], held
            held = self.slot_of[a]
            self.slot_of[a], self.slot_of[b] = self.slot_of[b], held
            if self.slot_of[a] >= 0:
                self.row_in[self.slot_of[a]] = a
            if self.slot_of[b] >= 0:
                self.row_in[self.slot_of[b]] = b
        for s in range(self.n_slots):
            own = self.slots[s]
            for k in range(n):
                value = own[pairs[2 * k]]
                own[pairs[2 * k]] = own[pairs[2 * k + 1]]
                own[pairs[2 * k + 1]] = value

    cdef void pin(self, int32_t p) noexcept nogil:
        self.pins[p] += 1

    cdef void unpin(self, int32_t p) noexcept nogil:
        self.pins[p] -= 1

    cdef void release(self, int32_t s) noexcept nogil:
        """Slot s gives up its row."""
        self.slot_of[self.row_in[s]] = -1
        self.row_in[s] = -1
        self.empty[self.n_empty] = s
        self.n_empty += 1

    cdef int32_t free_slot(self) except -2 nogil:
        """A slot for another row; -1 if all are pinned and the budget is spent."""
        cdef Py_ssize_t s, oldest = -1
        cdef void *grown
        cdef double *slot
        if not self.n_empty and (self.n_slots < LEAST_SLOTS
                                 or 8.0 * self.room * (self.n_slots + 1) <= self.budget_bytes):
            if self.n_slots == self.room_for_slots:
                grown = realloc(self.slots, (2 * self.n_slots + 16) * sizeof(double *))
                if grown == NULL:
                    with gil:
                        raise MemoryError("kernel rows")
                self.slots = <double **>grown
                with gil:
                    self.longer_lists(2 * self.n_slots + 16)
            slot = <double *>malloc(self.room * sizeof(double))
            if slot != NULL:
                self.slots[self.n_slots] = slot
                self.row_in[self.n_slots] = -1
                self.n_slots += 1
                return <int32_t>(self.n_slots - 1)
            if self.n_slots < LEAST_SLOTS:
                with gil:
                    raise MemoryError(f"kernel rows of {8 * self.room} bytes")
        if not self.n_empty:
            for s in range(self.n_slots):
                if not self.pins[self.row_in[s]] and (oldest < 0 or self.last_use[s] < self.last_use[oldest]):
                    oldest = s
            if oldest < 0:
                return -1
            self.release(<int32_t>oldest)
        self.n_empty -= 1
        return self.empty[self.n_empty]

    cdef int longer_lists(self, Py_ssize_t room) except -1:
        cdef int32_t[::1] ints = zeros("i", 2 * room)
        cdef int64_t[::1] last_use = zeros("q", room)
        ints[:self.n_slots] = self.row_in[:self.n_slots]
        last_use[:self.n_slots] = self.last_use[:self.n_slots]
        ints[room:room + self.n_empty] = self.empty[:self.n_empty]
        self.row_in, self.last_use, self.empty, self.room_for_slots = ints[:room], last_use, ints[room:], room
        return 0

    cdef void cut(self, Py_ssize_t n) noexcept nogil:
        """Only the first n rows are left; those behind are not pinned."""
        cdef Py_ssize_t p
        for p in range(n, self.n):
            if self.slot_of[p] >= 0:
                self.release(self.slot_of[p])
            self.pins[p] = 0
        self.n = n

    cdef void move(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil:
        """Row pairs[2 k] takes the place of row pairs[2 k + 1], which leaves, k = 0, 1, …; ``cut`` and ``bind`` must follow.

        Rows that nobody has asked for since the move before the last one are given up: to keep them in step costs more
        than to compute them again.
        """
        cdef Py_ssize_t k, s
        cdef int32_t last, to
        cdef double *own
        for s in range(self.n_slots):
            if self.row_in[s] >= 0 and not self.pins[self.row_in[s]] and self.last_use[s] <= self.cuts[1]:
                self.release(<int32_t>s)
        self.cuts[1] = self.cuts[0]
        self.cuts[0] = self.clock
        for k in range(n):
            last, to = pairs[2 * k], pairs[2 * k + 1]
            if self.slot_of[to] >= 0:
                self.release(self.slot_of[to])
            self.pins[to] = 0
            if last == to:
                continue
            self.slot_of[to], self.pins[to] = self.slot_of[last], self.pins[last]
            self.slot_of[last], self.pins[last] = -1, 0
            if self.slot_of[to] >= 0:
                self.row_in[self.slot_of[to]] = to
        for s in range(self.n_slots):
            if self.row_in[s] < 0:
                continue
            own = self.slots[s]
            for k in range(n):
                own[pairs[2 * k + 1]] = own[pairs[2 * k]]
