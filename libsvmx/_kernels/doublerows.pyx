"""Kernel rows in double, for paths of exact optima whose rows join and leave.

LIBSVM's optimum is that of the matrix rounded to float; near a singular K_MM the rounding, 6e-8, far exceeds the least
eigenvalues. On a path values are doubles (``Targets.fill_doubles``) and symmetric.

Rows are kept while there is room; the least recently used one is evicted, pinned ones are not. New columns of kept rows
are values of the new rows, by symmetry.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from libsvmx._core.allocation cimport reallocate
from libsvmx._core.dispatch cimport svmx_axpy_at
from libsvmx._kernels.kernel_matrix cimport Kernel

from libsvmx._core.buffers import zeros

# Least number of slots for any budget.
cdef Py_ssize_t MIN_SLOTS = 8
# Up to this many rows, all are computed one by one: a layout is a dozen objects, too many for thousands of paths.
cdef Py_ssize_t SMALL = 64
cdef int32_t[::1] NO_INTS = zeros("i", 0)
cdef int64_t[::1] NO_USES = zeros("q", 0)


cdef class DoubleRows:
    """DoubleRows(budget_bytes)

    Attributes
    ----------
    kernel : Kernel             set by ``bind``; its rows, in its order. Without it, rows of ``source``, see ``begin``
    n : int
    rows_computed : int
    """

    def __cinit__(self, double budget_bytes):
        self.budget_bytes = budget_bytes
        self.slot_of = self.pins = self.row_in = NO_INTS
        self.last_use = NO_USES

    def __dealloc__(self):
        cdef Py_ssize_t s
        for s in range(self.n_slots):
            free(self.slots[s])
        free(self.slots)
        free(self.spare)
        free(self.unordered)

    cdef int bind(self, Kernel kernel) except -1:
        """Set the kernel: the present rows first, in their order, then new ones, whose columns must then be set in the
        kept rows by ``place_column``."""
        self.make_room(kernel.n)
        self.kernel, self.targets, self.n = kernel, None, kernel.n
        self.in_order, self.n_alone = True, 0
        return 0

    cdef void release_kernel(self) noexcept:
        """Release the kernel and its data until ``bind``; only kept rows can be read."""
        self.kernel = self.targets = None

    cdef void begin(self, Py_ssize_t n) noexcept nogil:
        """Start with n other rows, of ``source``; the caller sets ``target`` next."""
        self.cut(0)
        self.n, self.in_order = n, False

    cdef void place_column(self, Py_ssize_t a, Py_ssize_t n, const int32_t *rows, const double *values) noexcept nogil:
        """Set column a of the kept rows, all of which are among the n ``rows``; ``values``: K(a, row) of each."""
        cdef Py_ssize_t k
        for k in range(n):
            if self.slot_of[rows[k]] >= 0:
                self.slots[self.slot_of[rows[k]]][a] = values[k]

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Allocate slots and arrays for n rows."""
        cdef Py_ssize_t s, room
        cdef int32_t[::1] ints
        cdef int64_t[::1] last_use
        if n <= self.room:
            return 0
        room = n + n // 4 + 4
        if 8.0 * room * self.n_slots > self.budget_bytes:
            self.free_unpinned()
        for s in range(self.n_slots):
            reallocate(<void **>&self.slots[s], room * sizeof(double), b"kernel rows")
        reallocate(<void **>&self.spare, room * sizeof(double), b"kernel rows")
        reallocate(<void **>&self.unordered, room * sizeof(double), b"kernel rows")
        reallocate(<void **>&self.slots, room * sizeof(double *), b"kernel rows")  # there are not more than rows
        ints, last_use = zeros("i", 4 * room), zeros("q", room)  # one buffer, as of a PathState
        ints[:self.room] = self.slot_of
        ints[self.room:room] = -1
        ints[room:room + self.room] = self.pins
        ints[2 * room:2 * room + self.room] = self.row_in
        last_use[:self.room] = self.last_use
        self.slot_of, self.pins, self.row_in = ints[:room], ints[room:2 * room], ints[2 * room:3 * room]
        self.target, self.last_use, self.room = ints[3 * room:], last_use, room
        return 0

    cdef void free_unpinned(self) noexcept nogil:
        """Free the slots of all rows that are not pinned."""
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
        """Row p if kept, else NULL. Valid until ``row`` is called, or while pinned."""
        return NULL if self.slot_of[p] < 0 else self.slots[self.slot_of[p]]

    cdef double most_kept(self) noexcept nogil:
        """Number of rows that there may be slots for."""
        return self.budget_bytes / (8.0 * max(self.room, 1))

    cdef const double *row(self, int32_t p) except NULL nogil:
        """Row p, (n,). Valid until the next call, or while pinned."""
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
        self.compute(p, self.slots[s])  # the slot stays empty if the row cannot be computed
        self.n_empty -= 1
        self.row_in[s], self.slot_of[p], self.last_use[s] = p, s, self.clock
        return self.slots[s]

    cdef const double *peek(self, int32_t p, bint keep=False) except NULL nogil:
        """As ``row``, without storing the row or counting a use; with ``keep`` it is stored if a slot is empty."""
        if self.slot_of[p] >= 0:
            return self.slots[self.slot_of[p]]
        if keep and self.n_empty:
            return self.row(p)
        self.rows_computed += 1
        self.compute(p, self.spare)
        return self.spare

    cdef int compute(self, int32_t p, double *out) except -1 nogil:
        """Compute row p, (n,)."""
        cdef Py_ssize_t q
        if self.source is not None:
            memset(out, 0, self.n * sizeof(double))
            svmx_axpy_at(self.n, 1.0, self.source.at(self.target[p]), &self.target[0], out)
            return 0
        if self.n_alone <= FEW_ROWS:
            if self.n_alone == 0 or (self.n_alone == FEW_ROWS and self.n > SMALL):
                with gil:
                    self.targets = self.kernel.double_targets(None, self.n_alone == 0)
                    self.value_ns = self.targets.value_ns
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
        """Swap rows pairs[2 k] and pairs[2 k + 1], k < n; no row is in two pairs."""
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
        """Empty slot s."""
        self.slot_of[self.row_in[s]] = -1
        self.row_in[s] = -1
        self.n_empty += 1

    cdef int32_t free_slot(self) except -2 nogil:
        """An empty slot, for a new row; -1 if all are pinned and the budget is used up."""
        cdef Py_ssize_t s, oldest = -1
        if not self.n_empty and (self.n_slots < MIN_SLOTS
                                 or 8.0 * self.room * (self.n_slots + 1) <= self.budget_bytes):
            self.slots[self.n_slots] = <double *>malloc(self.room * sizeof(double))
            if self.slots[self.n_slots] != NULL:
                self.row_in[self.n_slots] = -1
                self.n_slots += 1
                self.n_empty += 1
                return <int32_t>(self.n_slots - 1)
            if self.n_slots < MIN_SLOTS:
                with gil:
                    raise MemoryError(f"kernel rows of {8 * self.room} bytes")
        for s in range(self.n_slots):
            if self.row_in[s] < 0:
                return <int32_t>s
            if not self.pins[self.row_in[s]] and (oldest < 0 or self.last_use[s] < self.last_use[oldest]):
                oldest = s
        if oldest >= 0:
            self.release(<int32_t>oldest)
        return <int32_t>oldest

    cdef void cut(self, Py_ssize_t n) noexcept nogil:
        """Truncate to the first n rows; the others are unpinned."""
        cdef Py_ssize_t p
        for p in range(n, self.n):
            if self.slot_of[p] >= 0:
                self.release(self.slot_of[p])
            self.pins[p] = 0
        self.n = n

    cdef void move(self, const int32_t *pairs, Py_ssize_t n) noexcept nogil:
        """Row pairs[2 k] replaces row pairs[2 k + 1], k < n; ``cut`` and ``bind`` must follow.

        Rows that have not been read since the move before the last one are dropped: updating costs more than
        recomputing them.
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
