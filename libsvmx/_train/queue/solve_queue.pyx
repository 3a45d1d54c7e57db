"""Many dual problems over parts of the same rows, worked off by all threads with no Python object for each.

One against one, folds, and the inner folds of probability estimates: hundreds of solves of tens of rows, which are over
before Python has made the objects of one. Here a solve is a Task, a few numbers; rows of all of them stand in one list, one
after the other, and each thread has a Worker with memory for the largest.

    queue = SolveQueue(gram, matrix, targets, weights, param, observer)
    t = queue.add(rows, n_positive, Cp, Cn, held_out)     as often as there are solves, in LIBSVM's order
    queue.run(threads)
    queue.coefficients(t), queue.values(t), queue.tell(t, observer)     in LIBSVM's order again

The result does not depend on the number of threads: every solve is LIBSVM's own path.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from libsvmx._core.buffers import zeros
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets
from libsvmx._train.queue.tasks cimport Task, TaskList
from libsvmx._train.queue.worker cimport Worker

from libsvmx._solvers.control import MARKS
from libsvmx._train import limits
from libsvmx._train.formulation import QUANTITIES
from libsvmx._train.reports import announced
from libsvmx._train.solve_report import SolveReport
from libsvmx.enums import SolveStatus

# Squares of the sizes of all solves together, from which on more threads pay: some milliseconds.
cdef double WORK_FOR_THREADS = 2e6


cdef class SolveQueue(TaskList):
    """SolveQueue(gram, matrix, targets, weights, param, observer, most_workers); but for the last two as of TaskList.

    Parameters
    ----------
    observer : Observer       of the call; it is asked whether to stop, and told of nothing before ``tell``
    most_workers : int        for whose rows there is memory; there is one in any case
    """

    def __init__(self, gram, matrix, targets, weights, param, observer, int most_workers):
        self.limits, self.most_workers = observer, most_workers
        svmx_begin_tickets(&self.tickets)

    def __dealloc__(self):
        free(self.worker)

    def another(self):
        """An empty queue over the same rows."""
        return SolveQueue(self.gram, self.matrix, self.targets, self.weights if self.weighted else None, self.param,
                          self.limits, self.most_workers)

    def run(self, int threads):
        """Do all that is to be done.

        Raises
        ------
        KeyboardInterrupt, or what else a signal handler raises; MemoryError
        """
        cdef ThreadPool pool
        cdef Py_ssize_t k
        cdef double work = 0.0
        for k in range(self.n_tasks):
            work += <double>self.tasks[k].n ** 2
        threads = max(1, min(threads, self.most_workers)) if work > WORK_FOR_THREADS else 1
        self.coefficient, self.value = zeros("d", self.n_out), zeros("d", self.n_values)
        pool = ThreadPool(threads)
        self.worker = <void **>realloc(self.worker, pool.n * sizeof(void *))
        if self.worker == NULL:
            raise MemoryError("a queue of solves")
        self.crew = [Worker(self, self.should_stop) for _ in range(pool.n)]
        for k, worker in enumerate(self.crew):
            self.worker[k] = <void *>worker
            (<Worker>worker).share(&self.tickets)
        for k, value in self.constants:
            self.value[k] = value
        for k in range(self.n_sigmoids):
            if self.sigmoids[k].n_solves == 0:
                (<Worker>self.worker[0]).fit(&self.sigmoids[k])
        with nogil:
            pool.run(_work, <void *>self, pool.n, _look)
        if self.error is not None:
            raise self.error
        self.crew = None  # each of them knows the queue: both would wait for the garbage collector

    cdef void work(self, int64_t part) noexcept with gil:
        """Tasks as they come, until there is none, by one of the workers."""
        cdef Worker worker = <Worker>self.worker[part]
        try:
            with nogil:
                worker.work()
        except BaseException as error:
            self.failed(error)

    cdef int failed(self, error) except -1:
        self.error = self.error or error
        svmx_end_tickets(&self.tickets)
        return 0

    cdef void look(self) noexcept with gil:
        """The leader waits for the others: signals, and the end of the call."""
        try:
            PyErr_CheckSignals()
            self.should_stop()
        except BaseException as error:
            self.failed(error)

    def should_stop(self):
        """Whether the call has come to its end; then no solve goes on."""
        if self.stopped is None:
            self.stopped = limits.look(self.limits)
            if self.stopped is not None:
                svmx_end_tickets(&self.tickets)
        return self.stopped is not None

    def tell(self, Py_ssize_t t, observer):
        """Tell the observer of a solve. Returns its report."""
        cdef Task *task = self.task(t)
        cdef Py_ssize_t k
        for k in range(task.n_marks):
            observer.mark(MARKS[task.marks[k]])
        status = SolveStatus.CONVERGED
        if not task.converged:
            status = self.stopped or SolveStatus.ITERATION_LIMIT
        quantity = QUANTITIES[self.param.svm_type] if task.found.has_value else None
        report = SolveReport(
            iterations=task.iterations, objective=task.found.objective, rho=task.found.rho, n_sv=task.found.n_sv,
            n_bsv=task.found.n_bsv, quantity=quantity, value=task.found.value, status=status,
            rows_computed=task.rows_computed, values_computed=task.values_computed, gap=task.gap, seconds=task.seconds)
        return announced(report, observer)


cdef void _work(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).work(part)


cdef void _look(void *queue) noexcept nogil:
    (<SolveQueue>queue).look()
