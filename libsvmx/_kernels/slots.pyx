"""Memory for kernel rows: slots in slabs, and a ring of them by age."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free

from libsvmx._core.buffers import zeros
from libsvmx._core.slab cimport SVMX_SLAB, svmx_give_slab, svmx_take_slab
from libsvmx._kernels.rows cimport KernelRows, padded


cdef class RowSlots(KernelRows):
    """Base: rows of a kernel in slots of ``stride`` floats, ``used`` of up to ``capacity`` of them so far.

    ``lay_slabs(length)`` comes first, with ``kernel`` and ``budget_bytes`` set. At least three slots fit any budget.
    """

    def __dealloc__(self):
        cdef Py_ssize_t s
        if self.slabs != NULL:
            for s in range(self.n_slabs):
                svmx_give_slab(self.slabs[s], self.slab_bytes)
            free(self.slabs)

    cdef int lay_slabs(self, Py_ssize_t length) except -1:
        """Room for rows of up to so many values.

        No malloc per row, and memory is touched only as rows come in. Slabs are of SVMX_SLAB bytes or of one longer row, or
        a smaller one holds all there will be.
        """
        self.stride = padded(length)
        self.capacity = self.fitting()
        self.per_slab = max(1, <Py_ssize_t>SVMX_SLAB // max(4 * self.stride, 1))
        self.slab_bytes = max(<Py_ssize_t>SVMX_SLAB, 4 * self.stride)
        if self.capacity < self.per_slab:
            self.per_slab = self.capacity
            self.slab_bytes = self.per_slab * 4 * self.stride
        self.n_slabs = (self.capacity + self.per_slab - 1) // self.per_slab
        self.slabs = <float **>calloc(self.n_slabs, sizeof(float *))
        if self.slabs == NULL:
            raise MemoryError("kernel row store")
        self.slot_of = zeros("i", self.kernel.n)
        self.row_in, self.newer, self.older = (zeros("i", self.kernel.n + 4) for _ in range(3))
        self.head = <int32_t>self.kernel.n + 3
        return 0

    cdef void empty(self) noexcept nogil:
        """No slot is used; the memory stays."""
        cdef Py_ssize_t i
        for i in range(self.kernel.n):
            self.slot_of[i] = -1
        self.newer[self.head] = self.older[self.head] = self.head
        self.used = 0

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

    cdef void let_go(self, int32_t i) noexcept nogil:
        cdef int32_t s = self.slot_of[i]
        if s >= 0:
            self.unlink(s)
            self.newer[s], self.older[s] = self.newer[self.head], self.head
            self.older[self.newer[s]] = s
            self.newer[self.head] = s

    cdef void unlink(self, int32_t s) noexcept nogil:
        self.newer[self.older[s]] = self.newer[s]
        self.older[self.newer[s]] = self.older[s]

    cdef void make_newest(self, int32_t s) noexcept nogil:
        self.newer[s] = self.head
        self.older[s] = self.older[self.head]
        self.newer[self.older[s]] = s
        self.older[self.head] = s
