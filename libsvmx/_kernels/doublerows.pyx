"""Kernel rows in double over rows that come and go: what a path along exact optima needs.

LIBSVM's optimum is that of the matrix rounded to float, which near a singular K_MM is another matrix: 6e-8 of rounding
is far more than its least eigenvalues. On a path every value is a double, from ``Targets.fill_doubles``, and symmetric.

A row that was computed is kept while there is room, the one not used for longest makes way; pinned rows stay. New
columns of kept rows are values of the new rows, by symmetry.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc

from libsvmx._core.buffers import zeros
from libsvmx._kernels.kernel cimport Kernel

from libsvmx._core.buffers import filled

# However small the budget.
cdef Py_ssize_t LEAST_SLOTS = 8


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
        self.slot_of, self.pins = zeros("i", 0), zeros("i", 0)
        self.row_in, self.last_use, self.empty = zeros("i", 0), zeros("q", 0), zeros("i", 0)

    def __dealloc__(self):
        cdef Py_ssize_t s
        for s in range(self.n_slots):
            free(self.slots[s])
        free(self.slots)
        free(self.spare)
        free(self.unordered)

    cdef Py_ssize_t bind(self, Kernel kernel) except -1:
        """The rows are those of ``kernel``: first the ones there were, in their order, then new ones.

        Returns the first row whose column the rows that are kept lack: ``row`` of it and all that follow, then
        ``fill_column`` of each of these, then ``fill_corner`` must come next.
        """
        cdef Py_ssize_t before = self.n
        self.make_room(kernel.n)
        self.kernel, self.targets, self.n = kernel, kernel.double_targets(), kernel.n
        self.in_order = True
        return before if self.n_slots else kernel.n

    cdef void release_kernel(self) noexcept:
        """Rows that are not kept are not wanted any more, until ``bind``: whatever the kernel reads may be freed."""
        self.kernel = self.targets = None

    cdef void fill_column(self, int32_t a) noexcept nogil:
        """Column of a new row that is not kept itself: there was no room, or it was needed for the next."""
        cdef Py_ssize_t s
        cdef const double *fresh
        if self.slot_of[a] >= 0:
            return
        fresh = self.glance(a)
        for s in range(self.n_slots):
            if self.row_in[s] >= 0:
                self.slots[s][a] = fresh[self.row_in[s]]

    cdef void fill_corner(self, Py_ssize_t begin) noexcept nogil:
        """Columns of the new rows from ``begin`` on that are kept."""
        cdef Py_ssize_t a, s
        for s in range(self.n_slots):
            for a in range(begin, self.n):
                if self.row_in[s] >= 0 and self.slot_of[a] >= 0:
                    self.slots[s][a] = self.slots[self.slot_of[a]][self.row_in[s]]

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Slots and lists for n rows."""
        cdef Py_ssize_t s, room
        cdef void *grown
        if n <= self.room:
            return 0
        room = n + n // 4 + 16
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
        slot_of, pins = filled("i", [-1]), zeros("i", room)
        slot_of = memoryview(bytearray(bytes(slot_of) * room)).cast("i")
        slot_of[:self.room] = memoryview(self.slot_of)
        pins[:self.room] = memoryview(self.pins)
        self.slot_of, self.pins, self.room, self.target = slot_of, pins, room, zeros("i", room)
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
        self.kernel.values_computed += self.n
        if s < 0:
            self.compute(p, self.spare)
            return self.spare
        self.compute(p, self.slots[s])
        self.row_in[s], self.slot_of[p], self.last_use[s] = p, s, self.clock
        return self.slots[s]

    cdef const double *glance(self, int32_t p) noexcept nogil:
        """As ``row``, for rows that will not be wanted again soon: they take no slot."""
        if self.slot_of[p] >= 0:
            return self.slots[self.slot_of[p]]
        self.rows_computed += 1
        self.kernel.values_computed += self.n
        self.compute(p, self.spare)
        return self.spare

    cdef void compute(self, int32_t p, double *out) noexcept nogil:
        cdef Py_ssize_t q
        if self.in_order:
            self.targets.fill_doubles(p, 0, self.n, out)
            return
        self.targets.fill_doubles(self.target[p], 0, self.targets.n, self.unordered)
        for q in range(self.n):
            out[q] = self.unordered[self.target[q]]

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
                grown = realloc(self.slots, (2 * self.n_slots + 64) * sizeof(double *))
                if grown == NULL:
                    with gil:
                        raise MemoryError("kernel rows")
                self.slots = <double **>grown
                with gil:
                    self.longer_lists(2 * self.n_slots + 64)
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
        row_in, last_use, empty = zeros("i", room), zeros("q", room), zeros("i", room)
        row_in[:self.n_slots], last_use[:self.n_slots] = self.row_in[:self.n_slots], self.last_use[:self.n_slots]
        empty[:self.n_empty] = self.empty[:self.n_empty]
        self.row_in, self.last_use, self.empty, self.room_for_slots = row_in, last_use, empty, room
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
