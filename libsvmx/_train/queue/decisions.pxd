from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.dispatch cimport SVMX_TESTS
from libsvmx._core.stopping cimport Control
from libsvmx._core.tickets cimport svmx_tickets
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._train.queue.starts cimport QueueStarts
from libsvmx._train.queue.tasks cimport Fold, Sigmoid, Task, TaskList


cdef class QueueDecisions:
    cdef TaskList todo
    cdef svmx_tickets *tickets      # of the workers
    cdef GramRows kernel_rows       # of the solve
    cdef Control control
    cdef QueueStarts starts
    cdef CrossKernel cross          # None if no values in double are needed
    cdef double[::1] labels, panel
    cdef const float *loaded[SVMX_TESTS]     # kernel rows of ``load``, in float
    cdef const double *tabulated[SVMX_TESTS]     # or in double, of the table
    cdef int64_t row_elements       # mean elements of a row, the work of a decision value
    cdef int32_t[::1] everyone      # 0, 1, …, the rows of ``cross``
    cdef int32_t[::1] column        # of held-out rows, in rows of kernel values
    cdef double[::1] total          # sums of their decision values
    cdef float[::1] gathered        # kernel values of a solve's rows with them, filled on demand
    cdef int8_t[::1] is_gathered    # by row of the solve
    cdef int tabulate(self) except -1 nogil
    cdef int evaluate_solved(self) except -1 nogil
    cdef int finish(self, const Task *task, const double *coefficients) except -1 nogil
    cdef bint goes_on(self, int64_t lanes) except -1 nogil
    cdef bint decide(self, const Task *task, const double *coefficients, double rho) except -1 nogil
    cdef bint decide_by_floats(self, const Task *task, const double *coefficients, double rho) except -1 nogil
    cdef void fit(self, Sigmoid *sigmoid) noexcept nogil
    cdef int evaluate(self, Fold *fold) except -1 nogil
    cdef int load(self, const int32_t *rows, Py_ssize_t lanes) except -1 nogil
    cdef int fill(self, int32_t row, Py_ssize_t lanes, double *values) except -1 nogil
    cdef bint add_up(self, const Fold *fold, const int32_t *rows, const int32_t *solves, const int32_t *start,
                     Py_ssize_t lanes, double *values, double *total) except -1 nogil
