"""Kernel rows of dense data as matrix products, by BLAS, for solvers that are not to follow LIBSVM bit by bit.

Rows by the hundred: one product of the sources with a tile of targets, then the kernel function. In float where that keeps
RBF values right to a few units of a float, else in double: with u = 2^-24 the squared distance is off by about 2 u |x|^2, a
value by gamma times that.
"""

from libc.stdint cimport int32_t, int64_t

from libsvmx._core.crew cimport Crew
from libsvmx._core.rbf cimport svmx_near_rbf_doubles, svmx_near_rbf_floats
from libsvmx._kernels.kernel cimport LINEAR, RBF, Kernel, Targets
from libsvmx._kernels.sharedrows cimport SharedKernel

import numpy as np
from scipy.linalg import blas

# With fewer features, or fewer of them nonzero, panels and postings (products.pyx) are as fast.
cdef double DENSE_FROM = 0.1
WIDTH_FROM = 128
# Sources at a time, and targets: what comes of a tile stays in a second-level cache.
SOURCES = 256
TARGETS = 1024
# A value may be off by so much in float.
cdef double FLOAT_ERROR = 1e-6


def error_of(Kernel kernel):
    """How far a value in float may be off; those of LIBSVM's cache are by 2^-25."""
    cdef Py_ssize_t k
    cdef double largest = 0.0
    for k in range(kernel.n):
        largest = max(largest, kernel.squares[k])
    return 2.0**-23 * (1.0 + (0.0 if kernel.kind == LINEAR else kernel.gamma * largest))


def pays(Kernel kernel):
    """Whether the rows of ``kernel`` are worth multiplying as dense ones."""
    cdef Py_ssize_t i
    cdef int64_t nnz = 0
    cdef Py_ssize_t width = 1 + <Py_ssize_t>kernel.matrix.max_index
    if kernel.kind not in (LINEAR, RBF) or kernel.binary or width <= WIDTH_FROM or isinstance(kernel, SharedKernel):
        return False
    for i in range(kernel.n):
        nnz += kernel.matrix.ptr[kernel.rows[i] + 1] - kernel.matrix.ptr[kernel.rows[i]]
    return nnz >= DENSE_FROM * kernel.n * width


cdef class GemmTargets(Targets):
    """GemmTargets(kernel, members): see Targets; only ``fill_rows``, of up to ``together`` sources, is for use."""

    def __cinit__(self, Kernel kernel, members):
        cdef const int32_t[::1] chosen = members
        cdef Py_ssize_t k, width = 1 + <Py_ssize_t>kernel.matrix.max_index
        self.kernel, self.n, self.tile, self.together = kernel, chosen.shape[0], TARGETS, SOURCES
        self.squares = np.empty(self.n)
        for k in range(self.n):
            self.squares[k] = kernel.squares[chosen[k]]
        self.single = error_of(kernel) < FLOAT_ERROR
        kind = np.float32 if self.single else np.float64
        self.multiply = blas.sgemm if self.single else blas.dgemm
        self.transposed = spread(kernel, chosen, np.empty((self.n, width), dtype=kind)).T
        self.products = np.empty((TARGETS, SOURCES), dtype=kind, order="F")
        self.sources = np.empty((SOURCES, width), dtype=kind)

    cdef int64_t fill_rows(self, const int32_t *sources, int count, Py_ssize_t n, float **out, Crew crew,
                           bint long_enough) noexcept nogil:
        with gil:
            self.multiply_all(<const int32_t[:count]>sources, n, <size_t>out)
        return count * n

    cdef int multiply_all(self, const int32_t[::1] sources, Py_ssize_t n, size_t out) except -1:
        cdef Py_ssize_t begin, m
        cdef int s, count = <int>sources.shape[0]
        cdef float **rows = <float **>out
        cdef float[::1, :] floats
        cdef double[::1, :] doubles
        left = spread(self.kernel, sources, self.sources[:count]).T
        for begin in range(0, n, TARGETS):
            m = min(<Py_ssize_t>TARGETS, n - begin)
            product = self.products if m == TARGETS and count == SOURCES else np.empty((m, count), self.products.dtype, "F")
            product = self.multiply(1.0, self.transposed[:, begin:begin + m], left, beta=0.0, c=product, trans_a=1,
                                    overwrite_c=1)
            if self.single:
                floats = product
                for s in range(count):
                    if self.kernel.kind == LINEAR:
                        np.asarray(<float[:m]>(rows[s] + begin))[:] = product[:, s]
                    else:
                        svmx_near_rbf_floats(m, &floats[0, s], &self.squares[begin], self.kernel.squares[sources[s]],
                                             -self.kernel.gamma, rows[s] + begin)
            else:
                doubles = product
                for s in range(count):
                    svmx_near_rbf_doubles(m, &doubles[0, s], &self.squares[begin], self.kernel.squares[sources[s]],
                                          -self.kernel.gamma, rows[s] + begin)
        return 0


cdef object spread(Kernel kernel, const int32_t[::1] members, out):
    """The rows ``members`` of the kernel as dense ones into ``out``, which is returned."""
    cdef Py_ssize_t i
    cdef int64_t k
    cdef float[:, ::1] floats
    cdef double[:, ::1] doubles
    cdef bint single = out.dtype == np.float32
    out[:] = 0
    if single:
        floats = out
    else:
        doubles = out
    for i in range(members.shape[0]):
        for k in range(kernel.matrix.ptr[kernel.rows[members[i]]], kernel.matrix.ptr[kernel.rows[members[i]] + 1]):
            if single:
                floats[i, kernel.matrix.index[k]] = <float>kernel.matrix.value[k]
            else:
                doubles[i, kernel.matrix.index[k]] = kernel.matrix.value[k]
    return out
