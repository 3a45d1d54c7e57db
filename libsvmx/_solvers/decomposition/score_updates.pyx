"""The scores of the active variables after a working set has moved, by blocks of kernel rows:

    V_p += sum_k coef_k K(k, p)        coef_k = beta_k before - beta_k

in the order of k, whatever the number of threads, each of which has a part of the positions p. Rows are in float, as
LIBSVM's, and what that hides of V is estimated; or, once that is too much, in double.
"""

from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._core.subproblem_steps cimport svmx_add_float_rows
from libsvmx._kernels.kernel cimport LONG_NS, Kernel, Targets
from libsvmx._kernels.rowstore cimport RowStore
from libsvmx._kernels.sharedrows cimport SharedKernel
from libsvmx._solvers.control cimport Control

# Rows of so many nonzeros are kept in the row store, if it can hold such a share of them; others are computed when they
# move scores, and forgotten.
cdef double EXPENSIVE_NONZEROS = 64
cdef double WORTH_KEEPING = 0.1
# Of kernel values in float, relative to K(i, i); and how much larger than expected what comes of it may be.
cdef double FLOAT_ERROR = 6e-8
cdef double SAFETY = 4.0
cdef Py_ssize_t PARTS_PER_THREAD = 2


cdef struct AddJob:
    void *targets
    const int32_t *sources
    const double *coef
    int count
    float **rows
    double *doubles
    Py_ssize_t n
    Py_ssize_t size
    double *V


cdef void _add_part(void *context, int64_t part) noexcept nogil:
    cdef AddJob *job = <AddJob *>context
    cdef Py_ssize_t begin = part * job.size, end = min(job.n, begin + job.size)
    cdef int s
    if job.doubles == NULL:
        svmx_add_float_rows(end - begin, job.count, job.coef, <const float **>job.rows, begin, job.V + begin)
        return
    for s in range(job.count):
        (<Targets>job.targets).fill_doubles(job.sources[s], begin, end, job.doubles)
        svmx_axpy(end - begin, job.coef[s], job.doubles + begin, job.V + begin)


cdef class ScoreUpdates:
    """ScoreUpdates(store, size, in_double, control): for variables at the positions of ``store``, of which the first ``size``
    take part."""

    def __cinit__(self, RowStore store, Py_ssize_t size, bint in_double, Control control):
        cdef Py_ssize_t p
        cdef const double[::1] diagonal = store.kernel.diagonal
        self.store, self.control, self.in_double, self.stale = store, control, in_double, True
        self.value_error = FLOAT_ERROR
        for p in range(size):
            self.value_error = max(self.value_error, FLOAT_ERROR * fabs(diagonal[store.index[p]]))
        self.keeps = is_expensive(store.kernel) and store.capacity >= WORTH_KEEPING * store.size

    cdef double rounding(self, double squares) noexcept nogil:
        """How far rounding of kernel values may have moved a score, ``squares`` being the sum of squares of the differences of
        beta to that of the first scores.

        Each value is off by about ``value_error``, one way or the other, and always alike, so on whatever way beta came
        there the scores are off by that times the root of the sum.
        """
        return SAFETY * self.value_error * sqrt(squares)

    cdef int add(self, Py_ssize_t n, const int32_t *positions, const double *coef, Py_ssize_t active_size,
                 double *V) except -1 nogil:
        """V += sum_k coef_k K_k over n positions."""
        cdef int32_t sources[SVMX_SOURCES]
        cdef Py_ssize_t k = 0
        cdef int s, count
        if self.keeps and not self.in_double and active_size == self.store.active:
            return self.add_kept(n, positions, coef, active_size, V)
        if self.stale:
            with gil:
                self.take_positions(active_size)
        while k < n:
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, n - k)
            for s in range(count):
                sources[s] = self.store.index[positions[k + s]]
            self.add_block(sources, coef + k, count, active_size, V)
            self.store.kernel.values_computed += count * active_size
            self.control.worked(4 * count * active_size)
            k += count
        return 0

    cdef int add_kept(self, Py_ssize_t n, const int32_t *positions, const double *coef, Py_ssize_t active_size,
                      double *V) except -1 nogil:
        """``add`` by rows of the store."""
        cdef int32_t sources[SVMX_SOURCES]
        cdef const float *row
        cdef Py_ssize_t k, at
        cdef int count
        for k in range(n):
            if self.store.to_compute(self.store.index[positions[k]]) and self.store.together(True) > 1:
                at, count = k, 0
                while at < n and count < self.store.together(True):
                    if self.store.to_compute(self.store.index[positions[at]]):
                        sources[count] = self.store.index[positions[at]]
                        count += 1
                    at += 1
                self.store.take(sources, count, True)
            row = self.store.row(positions[k])
            svmx_add_float_rows(active_size, 1, coef + k, &row, 0, V)
            self.control.worked(8 * active_size)
        return 0

    cdef int add_block(self, const int32_t *sources, const double *coef, int count, Py_ssize_t n, double *V) except -1 nogil:
        """V += the rows of so many ``sources``, by all threads."""
        cdef float *rows[SVMX_SOURCES]
        cdef int s
        cdef AddJob job
        if not self.in_double:
            for s in range(count):
                rows[s] = &self.values[s * n]
            self.targets.fill_rows(sources, count, n, rows, self.store.pool, LONG_NS)
        job.targets, job.sources, job.coef, job.count = <void *>self.targets, sources, coef, count
        job.rows, job.n, job.V = rows, n, V
        job.doubles = &self.doubles[0] if self.in_double else NULL
        job.size = (n // (PARTS_PER_THREAD * self.store.pool.n) // self.targets.tile + 1) * self.targets.tile
        self.store.pool.run(_add_part, &job, (n + job.size - 1) // job.size)
        return 0

    cdef int take_positions(self, Py_ssize_t active_size) except -1:
        """``targets`` are those of the active positions."""
        rows = kernel_rows(self.store, NULL, active_size)
        if self.in_double:
            self.targets, self.doubles = self.store.kernel.double_targets(rows), zeros("d", active_size + 1)
        else:
            self.targets = self.store.kernel.targets(rows)
            self.values = zeros("f", SVMX_SOURCES * active_size + 1)
        self.stale = False
        return 0


cdef object kernel_rows(RowStore store, const int32_t *positions, Py_ssize_t n):
    """The kernel row at each of n positions, by default the first: buffer of int32."""
    cdef Py_ssize_t k
    rows_ = zeros("i", n)
    cdef int32_t[::1] rows = rows_
    for k in range(n):
        rows[k] = store.index[k if positions == NULL else positions[k]]
    return rows_


cdef bint is_expensive(Kernel kernel):
    """Whether a kernel value takes much longer than to fetch one."""
    cdef int64_t nnz = 0
    cdef Py_ssize_t i
    if kernel.binary or kernel.given or isinstance(kernel, SharedKernel):
        return False
    for i in range(kernel.n):
        nnz += kernel.matrix.ptr[kernel.rows[i] + 1] - kernel.matrix.ptr[kernel.rows[i]]
    return nnz >= EXPENSIVE_NONZEROS * kernel.n
