"""Kernel values of pairs of classes, for problems whose Gram matrix does not fit.

One against one solves a problem over the rows of each pair of classes, with probability estimates six over the same rows.
Each thread has memory for the values of one pair and computes rows of it as they are asked for; solves over the same pair
that it does one after the other find them there. Values of a class with itself are wanted by every pair that it is in.
"""

from itertools import pairwise

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.gram cimport Slab, fill_square
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._kernels.products cimport TILE
from libsvmx._kernels.rows cimport padded


def rows_of_pair(starts):
    """Rows of the two largest of the classes that begin at ``starts``."""
    return sum(sorted((end - begin for begin, end in pairwise(starts)), reverse=True)[:2])


def bytes_of_pair(starts):
    """Memory for the values of those: what a thread takes."""
    m = rows_of_pair(starts)
    return 4 * m * padded(m)


cdef class ClassValues(KernelValues):
    """ClassValues(kernel, starts): the rows of ``kernel``, class by class; shared by all threads.

    Parameters
    ----------
    kernel : Kernel               not a given one
    starts : list of int          first row of each class, and the end

    Attributes
    ----------
    for_threads : bool            rows of wide sparse data are computed in memory that threads would share: False
    """

    def __cinit__(self, Kernel kernel, starts):
        cdef Py_ssize_t c, i, k = len(starts) - 1
        if kernel.given:
            raise ValueError("a given kernel is not shared")
        self.kernel, self.n, self.diagonal, self.starts = kernel, kernel.n, kernel.diagonal, starts
        self.start, self.class_of = filled("q", starts), zeros("i", kernel.n)
        everyone = ramp(kernel.n)
        self.targets = [kernel.targets(everyone[starts[c]:starts[c + 1]]) for c in range(k)]
        self.target, self.own = <void **>calloc(k, sizeof(void *)), <float **>calloc(k, sizeof(float *))
        if self.target == NULL or self.own == NULL:
            raise MemoryError("classes of rows")
        self.for_threads = self.has_groups = True
        for c in range(k):
            self.for_threads = self.for_threads and (<Targets>self.targets[c]).tile == TILE
            self.target[c] = <void *>self.targets[c]
            for i in range(self.start[c], self.start[c + 1]):
                self.class_of[i] = <int32_t>c

    def __dealloc__(self):
        free(self.target)
        free(self.own)

    def keep_own(self, ThreadPool pool, asking):
        """Compute all values of each class with itself, by all threads of ``pool``; ``asking`` is told of the work."""
        cdef Py_ssize_t c
        cdef float *values
        self.own_slab = Slab(self.own_bytes // sizeof(float), "kernel values of classes with themselves")
        values = self.own_slab.values
        for c in range(len(self.targets)):
            fill_square(self.targets[c], self.start[c], values, pool, asking)
            self.own[c] = values
            values += (<Targets>self.targets[c]).n ** 2

    @property
    def own_bytes(self):
        """Memory that ``keep_own`` takes."""
        return sum(4 * (end - begin) ** 2 for begin, end in pairwise(self.starts))

    @property
    def thread_bytes(self):
        """Memory of each thread."""
        return bytes_of_pair(self.starts)

    def of_thread(self):
        return PairValues(self)

    cdef int64_t group_of(self, int32_t first, int32_t last) noexcept nogil:
        cdef int64_t a = self.class_of[first], b = self.class_of[last]
        return min(a, b) * self.start.shape[0] + max(a, b)


cdef class PairValues(KernelValues):
    """PairValues(classes): those of one pair after the other, for one thread. Columns are the rows of the one, then those
    of the other class."""

    def __cinit__(self, ClassValues classes):
        cdef Py_ssize_t m = rows_of_pair(classes.starts)
        self.classes, self.kernel, self.n, self.diagonal = classes, classes.kernel, classes.n, classes.diagonal
        self.start, self.class_of = &classes.start[0], &classes.class_of[0]
        self.target, self.own = classes.target, classes.own
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
        if self.own[c] != NULL and self.class_of[row] == c:
            memcpy(values, self.own[c] + (row - self.start[c]) * n, n * sizeof(float))
        else:
            (<Targets>self.target[c]).fill(row, 0, n, values)
