from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.tickets cimport svmx_tickets
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.gram cimport Gram, GramRows
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._train.formulation cimport Dual, Formulation, Recovered


cdef struct Task:
    Py_ssize_t first            # in ``rows``: its rows, then those held out
    Py_ssize_t n
    Py_ssize_t n_positive       # the rows of target +1 come first; -1: targets are those of the rows
    Py_ssize_t n_held
    double Cp
    double Cn
    Py_ssize_t out              # of its coefficients; -1 if they are not kept
    Py_ssize_t values           # of the decision values of the rows held out
    # what came of it
    Recovered found
    double gap
    double seconds
    int64_t iterations
    int64_t rows_computed
    int64_t values_computed
    bint converged
    bint begun                  # before the end of the call
    char *marks
    Py_ssize_t n_marks
    Py_ssize_t room


cdef struct Sigmoid:
    Py_ssize_t n
    Py_ssize_t n_positive
    Py_ssize_t values           # of the decision values of its rows
    double A
    double B
    int trouble


cdef struct Fold:
    Py_ssize_t first            # in ``rows``: its rows by class, then those held out, the solve of each pair, the starts
    Py_ssize_t n
    Py_ssize_t n_held
    int k                       # classes; 1 for a single function of all rows
    Py_ssize_t n_functions
    Py_ssize_t values           # of decision values, row by row


cdef class QueueControl(Control):
    cdef svmx_tickets *tickets
    cdef Task *task
    cdef double looked              # when signals were let in, in nanoseconds


cdef class SolveQueue:
    cdef readonly Gram gram
    cdef readonly object param
    cdef object matrix              # the rows, in the order of ``gram``
    cdef object limits
    cdef object error               # what a signal handler or a thread has raised
    cdef readonly object stopped    # SolveStatus, once the call has come to its end
    cdef Formulation of
    cdef bint doubled               # two variables for a row
    cdef const double[::1] targets
    cdef const double[::1] weights
    cdef bint weighted
    cdef int32_t *rows
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t room_for_rows
    cdef Task *tasks
    cdef readonly Py_ssize_t n_tasks
    cdef Py_ssize_t room_for_tasks, most_rows, n_out, n_values
    cdef Sigmoid *sigmoids
    cdef readonly Py_ssize_t n_sigmoids
    cdef Py_ssize_t room_for_sigmoids
    cdef Fold *folds
    cdef readonly Py_ssize_t n_folds
    cdef Py_ssize_t most_functions
    cdef list constants             # decision values that need no solve: (place, value)
    cdef double[::1] label          # scratch of the sigmoids
    cdef bint predicts
    cdef double[::1] coefficient
    cdef double[::1] value
    cdef svmx_tickets tickets
    cdef object crew
    cdef void **worker
    cdef Task *task(self, Py_ssize_t t) except NULL
    cdef int append(self, Py_ssize_t n_rows) except -1
    cdef Task *new_task(self) except NULL
    cdef Sigmoid *new_sigmoid(self) except NULL
    cdef void fit(self, int64_t part) noexcept nogil
    cdef void evaluate(self, int64_t part) noexcept nogil
    cdef void work(self, int64_t part) noexcept with gil
    cdef void look(self) noexcept with gil
    cdef int failed(self, error) except -1


cdef class Worker:
    cdef SolveQueue queue
    cdef QueueControl control
    cdef GramRows kernel_rows
    cdef CrossKernel cross
    cdef Smo smo
    cdef Dual dual
    cdef double[::1] targets, weights, linear, lower, upper, start, beta, scores, coefficients, panel
    cdef int8_t[::1] group
    cdef int32_t[::1] row
    cdef int work(self) except -1 nogil
    cdef int solve(self, Task *task) except -1 nogil
    cdef void lay_out(self, const Task *task, const int32_t *rows) noexcept nogil
    cdef void evaluate(self, const Fold *fold) noexcept nogil
    cdef void decide(self, const Task *task, const double *coefficients, double rho) noexcept nogil
