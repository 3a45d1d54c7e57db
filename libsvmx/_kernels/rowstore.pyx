"""Kernel rows kept under a byte budget, and views that see them through an index.

The store holds whole rows in the order of the problem, whatever has been shrunk. A view
puts the variables of a solver over them: position p of the view is row index[p] of the
store. The same index serves shrinking (a permutation), regression (two variables to a
row) and, over a shared store, folds and pairs.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from libsvmx._core.buffers import zeros
from libsvmx._core.lanes cimport svmx_gather
from libsvmx._kernels.kernel cimport Kernel


cdef extern from "svmx_memory.h" nogil:
    void *svmx_allocate(size_t bytes) noexcept

# Rows are allocated in slabs of about this size: no malloc per row, and memory is
# touched only as rows come in.
cdef Py_ssize_t SLAB_BYTES = 4 << 20


cdef class RowStore:
    """RowStore(kernel, budget_bytes): computed rows, least recently used ones replaced first.

    ``row(i)`` is valid until the next call, unless pinned: the pinned row stays until
    another is pinned. At least three rows are kept whatever the budget.

    Attributes
    ----------
    rows_computed : int      kernel rows computed so far
    """

    def __cinit__(self, Kernel kernel, double budget_bytes):
        cdef Py_ssize_t fit
        self.kernel = kernel
        self.n = kernel.n
        self.stride = (self.n + 15) // 16 * 16  # rows start 64-byte aligned relative to each other
        fit = <Py_ssize_t>min(budget_bytes / (4.0 * self.stride), <double>self.n) if self.n else 0
        self.capacity = max(fit, 3)
        self.per_slab = max(1, min(self.capacity, SLAB_BYTES // (4 * max(self.stride, 1))))
        self.slabs = <float **>calloc(self.capacity // self.per_slab + 1, sizeof(float *))
        if self.slabs == NULL:
            raise MemoryError("kernel row store")
        self.slot_of = zeros("i", self.n)
        self.slot_of[:] = -1
        self.row_in, self.newer, self.older = (zeros("i", self.capacity + 1) for _ in range(3))
        # a ring of slots; the entry past the last slot is its head: newer[head] is the oldest
        self.newer[self.capacity] = self.older[self.capacity] = <int32_t>self.capacity
        self.used = 0
        self.pinned = -1

    def __dealloc__(self):
        cdef Py_ssize_t s
        if self.slabs != NULL:
            for s in range(self.capacity // self.per_slab + 1):
                free(self.slabs[s])
            free(self.slabs)

    cdef float *slot(self, Py_ssize_t s) noexcept nogil:
        return self.slabs[s // self.per_slab] + (s % self.per_slab) * self.stride

    cdef void unlink(self, int32_t s) noexcept nogil:
        self.newer[self.older[s]] = self.newer[s]
        self.older[self.newer[s]] = self.older[s]

    cdef void make_newest(self, int32_t s) noexcept nogil:
        cdef int32_t head = <int32_t>self.capacity
        self.newer[s] = head
        self.older[s] = self.older[head]
        self.newer[self.older[s]] = s
        self.older[head] = s

    cdef const float *row(self, int32_t i) except NULL nogil:
        """Row i of the kernel, n floats; computed if it is not here."""
        cdef int32_t s = self.slot_of[i]
        if s >= 0:
            if self.older[self.capacity] != s:  # else it is the newest already
                self.unlink(s)
                self.make_newest(s)
            return self.slot(s)
        if self.used < self.capacity:
            if self.slabs[self.used // self.per_slab] == NULL:
                self.slabs[self.used // self.per_slab] = <float *>svmx_allocate(
                    self.per_slab * self.stride * sizeof(float))
                if self.slabs[self.used // self.per_slab] == NULL:
                    if self.used < 3:
                        with gil:
                            raise MemoryError(f"no room for three kernel rows of {4 * self.n} bytes")
                    # carry on with the rows there are: a smaller store is slower, not wrong
                    return self.replace(i)
            s = <int32_t>self.used
            self.used += 1
            return self.compute(i, s)
        return self.replace(i)

    cdef const float *replace(self, int32_t i) noexcept nogil:
        cdef int32_t s = self.newer[self.capacity]
        if s == self.pinned:
            s = self.newer[s]
        self.unlink(s)
        self.slot_of[self.row_in[s]] = -1
        return self.compute(i, s)

    cdef const float *compute(self, int32_t i, int32_t s) noexcept nogil:
        self.slot_of[i] = s
        self.row_in[s] = i
        self.make_newest(s)
        self.kernel.fill_row(i, self.slot(s))
        self.rows_computed += 1
        return self.slot(s)

    cdef void pin(self, int32_t i) noexcept nogil:
        """Keep row i, if it is here, until another row is pinned."""
        self.pinned = self.slot_of[i]

    def fetch(self, Py_ssize_t i):
        """A copy of row i as a buffer of float32, shape (n,)."""
        if not 0 <= i < self.n:
            raise IndexError(f"row {i} of {self.n}")
        out = zeros("f", self.n)
        cdef float[::1] copy = out
        cdef const float *row
        cdef Py_ssize_t k
        with nogil:
            row = self.row(<int32_t>i)
            for k in range(self.n):
                copy[k] = row[k]
        return out


cdef class RowView:
    """RowView(store, index): variables over rows; ``index`` is a buffer of int32, copied.

    ``active_row`` uses one of two buffers, so two active rows can be held at once; both
    end with the next call for the same buffer. ``full_row`` follows the rule of the store.
    """

    def __cinit__(self, RowStore store, index):
        cdef const int32_t[::1] given = index
        cdef Py_ssize_t p
        self.store = store
        self.size = given.shape[0]
        self.index = zeros("i", self.size)
        self.identity = self.size <= store.n
        for p in range(self.size):
            if not 0 <= given[p] < store.n:
                raise IndexError(f"index {given[p]} of {store.n} rows")
            self.index[p] = given[p]
            self.identity &= given[p] == p
        self.held_position[0] = self.held_position[1] = -1
        self.gathered = memoryview(zeros("f", 2 * max(self.size, 1))).cast("B").cast("f", [2, max(self.size, 1)])

    cdef const float *active_row(self, Py_ssize_t position, Py_ssize_t n_active, int buffer) except NULL nogil:
        """K(index[position], index[0..n_active))."""
        if self.identity:
            return self.store.row(self.index[position])
        if self.held_position[buffer] != position or self.held_active[buffer] != n_active:
            svmx_gather(n_active, self.store.row(self.index[position]), &self.index[0], &self.gathered[buffer, 0])
            self.held_position[buffer], self.held_active[buffer] = position, n_active
        return &self.gathered[buffer, 0]

    cdef const float *full_row(self, Py_ssize_t position) except NULL nogil:
        """K(index[position], .) in the order of the store."""
        return self.store.row(self.index[position])

    cdef void swap(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef int32_t kept = self.index[a]
        self.index[a] = self.index[b]
        self.index[b] = kept
        self.identity = False
        self.held_position[0] = self.held_position[1] = -1
