"""Kernel rows by symmetry: K(i, t) is K(t, i), which is there if row t is stored.

Of a new row, values with targets whose rows are stored are copied, and only the others are computed: who needs all n rows
computes little more than half of the n^2 values. The bits are the same, since those of LIBSVM's products and sums are.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from libsvmx._core.buffers import zeros
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Targets

# From so many values on, threads share what is copied.
cdef Py_ssize_t MANY = 1 << 14


cdef class Symmetry:
    """Symmetry(whole, rows): rows over the targets ``whole``. Target t is row rows[t] of the kernel; no two are the same.

    ``store(i, values)`` tells that row i of the kernel, with all targets, stands at ``values``, and will stay there.
    ``divide()`` comes after the last of them. From then on ``fill_rows`` is as that of ``whole``.
    """

    def __cinit__(self, Targets whole, rows):
        cdef Py_ssize_t t
        self.whole, self.row = whole, rows
        self.place, self.order = zeros("i", whole.kernel.n), zeros("i", whole.n)
        self.place[:] = -1
        for t in range(whole.n):
            self.place[self.row[t]] = <int32_t>t
        self.row_at = <const float **>calloc(max(whole.n, 1), sizeof(float *))
        if self.row_at == NULL:
            raise MemoryError("kernel rows by symmetry")

    def __dealloc__(self):
        free(self.row_at)

    cdef void store(self, int32_t i, const float *values) noexcept nogil:
        if self.place[i] >= 0:
            self.n_stored += self.row_at[self.place[i]] == NULL
            self.row_at[self.place[i]] = values

    cdef int divide(self) except -1:
        cdef Py_ssize_t n = self.whole.n - self.n_stored, t, k = 0, q = 0
        rows_ = zeros("i", n)
        cdef int32_t[::1] rows = rows_
        for t in range(self.whole.n):
            if self.row_at[t] != NULL:
                self.order[k] = <int32_t>t
                k += 1
            else:
                self.order[self.n_stored + q], rows[q] = <int32_t>t, self.row[t]
                q += 1
        self.left = self.whole.kernel.targets(rows_)
        self.scratch = zeros("f", max(n, 1) * SVMX_SOURCES)
        return 0

    cdef int64_t fill_rows(self, const int32_t *sources, int count, float **out, ThreadPool pool,
                           double expected_ns) noexcept nogil:
        cdef CopyJob job
        cdef int64_t n_computed
        cdef int s
        for s in range(count):
            job.place[s] = self.place[sources[s]]
            if job.place[s] < 0:
                return self.whole.fill_rows(sources, count, self.whole.n, out, pool, expected_ns)
            job.computed[s] = &self.scratch[0] + s * self.left.n
        n_computed = self.left.fill_rows(sources, count, self.left.n, job.computed, pool,
                                         expected_ns * self.left.n / self.whole.n)
        job.row_at, job.order, job.n_stored, job.n_left = self.row_at, &self.order[0], self.n_stored, self.left.n
        job.count, job.out = count, out
        job.n_parts = pool.n if count * self.whole.n >= MANY else 1
        if job.n_parts == 1:
            _copy_part(&job, 0)
        else:
            pool.run_short(_copy_part, &job, job.n_parts)
        return n_computed


cdef struct CopyJob:
    const float **row_at
    const int32_t *order
    Py_ssize_t n_stored
    Py_ssize_t n_left
    int count
    int32_t place[SVMX_SOURCES]     # of the rows among the targets
    float *computed[SVMX_SOURCES]   # their values with the targets that are left
    float **out
    int64_t n_parts


cdef void _copy_part(void *context, int64_t part) noexcept nogil:
    """A share of what stored rows have, and of what was computed, to its places."""
    cdef CopyJob *job = <CopyJob *>context
    cdef const int32_t *others = job.order + job.n_stored
    cdef const float *values
    cdef Py_ssize_t k
    cdef int s
    for k in range(job.n_stored * part // job.n_parts, job.n_stored * (part + 1) // job.n_parts):
        values = job.row_at[job.order[k]]
        for s in range(job.count):
            job.out[s][job.order[k]] = values[job.place[s]]
    for s in range(job.count):
        for k in range(job.n_left * part // job.n_parts, job.n_left * (part + 1) // job.n_parts):
            job.out[s][others[k]] = job.computed[s][k]
