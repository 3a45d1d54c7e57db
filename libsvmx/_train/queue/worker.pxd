from libc.stdint cimport int8_t, int32_t

from libsvmx._core.stopping cimport Control
from libsvmx._core.tickets cimport svmx_tickets
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._solvers.dual cimport Dual
from libsvmx._solvers.smo.smo cimport Optimum, Smo
from libsvmx._solvers.smo.warm cimport QueuedWarmSmo
from libsvmx._train.queue.decisions cimport QueueDecisions
from libsvmx._train.queue.starts cimport QueueStarts
from libsvmx._train.queue.tasks cimport Task, TaskList


cdef class QueueControl(Control):
    cdef svmx_tickets *tickets
    cdef Task *task


cdef class Worker:
    cdef TaskList todo
    cdef svmx_tickets *tickets
    cdef Py_ssize_t last_task       # solved by this worker; -1: none
    cdef QueueControl control
    cdef GramRows kernel_rows
    cdef Smo cold
    cdef QueuedWarmSmo warm         # None if no task has a parent
    cdef Dual dual
    cdef double[::1] targets, weights, linear, lower, upper, start, beta, scores, coefficients
    cdef int8_t[::1] group
    cdef int32_t[::1] row
    cdef QueueStarts starts         # None if no task has a parent
    cdef QueueDecisions decisions
    cdef void share(self, svmx_tickets *tickets) noexcept
    cdef int work(self) except -1 nogil
    cdef int solve(self, Task *task) except -1 nogil
    cdef bint make_start(self, Task *task) except -1 nogil
    cdef int optimize(self, Smo smo, Task *task, const int32_t *rows, Optimum *optimum) except -1 nogil
    cdef bint take_over(self, Task *task, double *coefficients) except -1 nogil
    cdef int try_out(self, Task *task) except -1 nogil
    cdef double gap(self) noexcept nogil
    cdef bint may_hide_gap(self, const int32_t *rows) noexcept nogil
    cdef int check_gap(self, Task *task, const int32_t *rows) except -1 with gil
    cdef bint pose(self, Task *task, const int32_t *rows) noexcept nogil
    cdef void write_dual(self, const Task *task) noexcept nogil
    cdef void lay_out(self, Smo smo, const Task *task, const int32_t *rows) noexcept nogil
