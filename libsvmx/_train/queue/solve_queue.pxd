from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.process cimport ThreadPool, svmx_job
from libsvmx._core.test_panels cimport SVMX_TESTS
from libsvmx._core.tickets cimport svmx_tickets
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._problem.dual cimport Dual
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._train.queue.tasks cimport Fold, QueueStarts, Sigmoid, Task, TaskList


cdef class QueueControl(Control):
    cdef svmx_tickets *tickets
    cdef Task *task


cdef class Worker:
    cdef TaskList todo
    cdef svmx_tickets *tickets
    cdef Py_ssize_t last_task       # solved by this worker; -1: none
    cdef QueueControl control
    cdef GramRows kernel_rows
    cdef CrossKernel cross
    cdef Smo smo
    cdef Dual dual
    cdef double[::1] targets, weights, linear, lower, upper, start, beta, scores, coefficients, labels, panel
    cdef int8_t[::1] group
    cdef const float *loaded[SVMX_TESTS]     # kernel rows of ``load``, in float
    cdef const double *tabulated[SVMX_TESTS]     # or in double, of the table
    cdef int64_t row_elements       # mean elements of a row, the work of a decision value
    cdef int32_t[::1] row
    cdef QueueStarts starts         # None if no task has a parent
    cdef int32_t[::1] everyone      # 0, 1, …, the rows of ``cross``
    cdef int32_t[::1] column        # of held-out rows, in rows of kernel values
    cdef double[::1] total          # sums of their decision values
    cdef float[::1] gathered        # kernel values of a solve's rows with them, filled on demand
    cdef int8_t[::1] is_gathered    # by row of the solve
    cdef void share(self, svmx_tickets *tickets) noexcept
    cdef int tabulate(self) except -1 nogil
    cdef int work(self) except -1 nogil
    cdef int evaluate_solved(self) except -1 nogil
    cdef int solve(self, Task *task) except -1 nogil
    cdef int try_out(self, Task *task) except -1 with gil
    cdef bint pose(self, Task *task, const int32_t *rows) noexcept nogil
    cdef void write_dual(self, const Task *task) noexcept nogil
    cdef int lay_out(self, Task *task, const int32_t *rows) except -1 nogil
    cdef double gap(self) noexcept nogil
    cdef bint may_hide_gap(self, const int32_t *rows) noexcept nogil
    cdef int check_gap(self, Task *task, const int32_t *rows) except -1 with gil
    cdef int finish(self, const Task *task, const double *coefficients) except -1 nogil
    cdef bint decide(self, const Task *task, const double *coefficients, double rho) except -1 nogil
    cdef bint decide_by_floats(self, const Task *task, const double *coefficients, double rho) except -1 nogil
    cdef bint decide_in_column(self, const Task *task, const double *coefficients, double rho) except -1 nogil
    cdef int add_to_totals(self, Py_ssize_t n_held, int32_t row, double coefficient) except -1 nogil
    cdef void fit(self, Sigmoid *sigmoid) noexcept nogil
    cdef int evaluate(self, Fold *fold) except -1 nogil
    cdef bint goes_on(self, int64_t lanes) except -1 nogil
    cdef int load(self, const int32_t *rows, Py_ssize_t lanes) except -1 nogil
    cdef int fill(self, int32_t row, Py_ssize_t lanes, double *values) except -1 nogil
    cdef bint add_up(self, const Fold *fold, const int32_t *rows, const int32_t *solves, const int32_t *start,
                     Py_ssize_t lanes, double *values, double *total) except -1 nogil


cdef enum Phase:
    TABULATING
    SOLVING
    EVALUATING


cdef class SolveQueue(TaskList):
    cdef object limits
    cdef int most_workers
    cdef object error               # raised by a signal handler or a thread
    cdef readonly bint has_run
    cdef readonly object stopped    # SolveStatus, once the call must stop
    cdef svmx_tickets tickets
    cdef object workers                # keeps alive the workers that ``worker`` points to
    cdef void **worker
    cdef bint has_table             # ``table`` is computed
    cdef int run_phase(self, svmx_job phase, ThreadPool pool, int64_t n) except -1
    cdef stages(self, int threads)
    cdef bint follows(self, Py_ssize_t t) noexcept
    cdef chains_in_units(self)
    cdef groups_in_units(self)
    cdef void work(self, int64_t part, Phase phase) noexcept with gil
    cdef void look(self) noexcept with gil
    cdef int failed(self, error) except -1
