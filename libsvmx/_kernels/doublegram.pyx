"""All kernel values in double, for paths over parts of the same rows.

The paths of the folds of a cross-validation ask for the same rows over and over. Where all values fit, they are computed
once, and each path copies, or gathers, what it asks for. Written before threads start.
"""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from libsvmx._kernels.kernel cimport Kernel, Targets

from libsvmx._core.arrays import ramp, take_int32
from libsvmx._kernels.kernel import check_members


cdef class DoubleGram:
    """DoubleGram(kernel, asking): K(i, j) of all rows of ``kernel``, float64, shape (n, n).

    Parameters
    ----------
    kernel : Kernel          symmetric, not a given one
    asking : Asking          is told of the work
    """

    def __cinit__(self, Kernel kernel, asking):
        cdef Py_ssize_t i, j, first
        cdef Targets targets = kernel.double_targets()
        cdef double *row
        if kernel.given:
            raise ValueError("a given kernel is not shared")
        self.kernel, self.n = kernel, kernel.n
        self.values = <double *>malloc(max(self.n * self.n, 1) * sizeof(double))
        if self.values == NULL:
            raise MemoryError(f"kernel values of {self.n} rows")
        for i in range(self.n):
            row = self.values + i * self.n
            with nogil:
                first = i // targets.tile * targets.tile
                targets.fill_doubles(<int32_t>i, first, self.n, row)
                for j in range(first):
                    row[j] = self.values[j * self.n + i]
            kernel.values_computed += self.n - first
            asking.ask(4 * self.n)

    def __dealloc__(self):
        free(self.values)

    def part(self, members):
        """The kernel of the rows ``members``, a buffer of int32 that is kept."""
        cdef Kernel whole = self.kernel
        check_members(members, self.n)
        cdef DoubleGramKernel part = DoubleGramKernel(whole.matrix, take_int32(whole.rows, members), whole.kind, whole.degree,
                                                      whole.gamma, whole.coef0, whole, members)
        part.gram, part.origin = self, members
        return part


cdef class DoubleGramKernel(Kernel):
    """Kernel of a part of the rows of a DoubleGram, for paths; see DoubleGram.part."""

    def part(self, members):
        check_members(members, self.n)
        return self.gram.part(take_int32(self.origin, members))

    def double_targets(self, members=None):
        return DoubleGramTargets(self, ramp(self.n) if members is None else members)


cdef class DoubleGramTargets(Targets):
    """Values in double that are there."""

    def __cinit__(self, DoubleGramKernel kernel, members):
        cdef Py_ssize_t k
        self.kernel, self.gram, self.origin, self.tile = kernel, kernel.gram, kernel.origin, 1
        self.target = take_int32(kernel.origin, members)
        self.n = self.target.shape[0]
        self.whole = self.n == self.gram.n
        for k in range(self.n):
            self.whole = self.whole and self.target[k] == k

    cdef int fill_doubles(self, int32_t i, Py_ssize_t begin, Py_ssize_t end, double *out) noexcept nogil:
        cdef Py_ssize_t k
        cdef const double *row = self.gram.values + self.origin[i] * self.gram.n
        if self.whole:
            memcpy(out + begin, row + begin, (end - begin) * sizeof(double))
        else:
            for k in range(begin, end):
                out[k] = row[self.target[k]]
        return 0
