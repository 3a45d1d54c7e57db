from libc.stdint cimport int64_t

from libsvmx._core.thread_pool cimport ThreadPool, svmx_job
from libsvmx._core.tickets cimport svmx_tickets
from libsvmx._train.queue.tasks cimport TaskList


cdef enum Phase:
    TABULATING
    SOLVING
    EVALUATING


cdef class SolveQueue(TaskList):
    cdef object limits
    cdef int most_workers
    cdef object error               # what a signal handler or a thread has raised
    cdef readonly object stopped    # SolveStatus, once the call has come to its end
    cdef svmx_tickets tickets
    cdef object workers                # the workers, of which ``worker`` has the addresses
    cdef void **worker
    cdef bint has_table             # ``table`` is there
    cdef int run_phase(self, svmx_job phase, ThreadPool pool, int64_t n) except -1
    cdef stages(self, int threads)
    cdef chains_in_units(self)
    cdef groups_in_units(self)
    cdef void work(self, int64_t part, Phase phase) noexcept with gil
    cdef void look(self) noexcept with gil
    cdef int failed(self, error) except -1
