"""The kernel rows that a seeder asks for, wherever they come from."""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc

from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.gram cimport KernelValues
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._solvers.control cimport Control


cdef class StartRows:
    """Base: ``row(column)`` is K of that row with all columns, float32, valid as long as this is."""

    cdef const float *row(self, int32_t column) except NULL nogil:
        with gil:
            raise NotImplementedError(type(self).__name__)


cdef class ValueRows(StartRows):
    """ValueRows(values): of KernelValues, which has them all."""

    def __cinit__(self, KernelValues values):
        self.values = values

    cdef const float *row(self, int32_t column) except NULL nogil:
        return self.values.at(column)


cdef class ComputedRows(StartRows):
    """ComputedRows(kernel, targets, control): computed as they are asked for, and kept; ``targets`` are all rows of
    ``kernel`` in their order. Raises Stopped."""

    def __cinit__(self, Kernel kernel, Targets targets, Control control):
        self.kernel, self.targets, self.control, self.pool, self.n = kernel, targets, control, ThreadPool(1), kernel.n
        self.kept = <float **>calloc(max(self.n, 1), sizeof(float *))
        if self.kept == NULL:
            raise MemoryError("kernel rows of a start")

    def __dealloc__(self):
        cdef Py_ssize_t k
        if self.kept != NULL:
            for k in range(self.n):
                free(self.kept[k])
        free(self.kept)

    cdef const float *row(self, int32_t column) except NULL nogil:
        cdef float *out
        if self.kept[column] == NULL:
            out = <float *>malloc(self.n * sizeof(float))
            if out == NULL:
                with gil:
                    raise MemoryError("a kernel row of a start")
            self.targets.fill_rows(&column, 1, self.n, &out, self.pool, 0)
            self.kept[column] = out
            self.kernel.values_computed += self.n
            self.control.asked(4 * self.n)
        return self.kept[column]
