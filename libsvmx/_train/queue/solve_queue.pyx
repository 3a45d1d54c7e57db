"""Many dual problems over parts of the same rows, worked off by all threads with no Python object for each.

One against one, folds, and the inner folds of probability estimates: hundreds of solves of tens of rows, which are over
before Python has made the objects of one. Here a solve is a Task, a few numbers; rows of all of them stand in one list, one
after the other, and each thread has a Worker with memory for the largest.

    queue = SolveQueue(kernel_values, matrix_of, weights, param, observer, most_workers)
    t = queue.add(rows, n_positive, Cp, Cn, held_out)     as often as there are solves, in LIBSVM's order
    queue.run(threads)
    queue.coefficients(t), queue.values(t), queue.tell(t, observer)     in LIBSVM's order again

The result does not depend on the number of threads. Every solve is LIBSVM's own path, but those that start from an optimum
over other rows: of another queue, of the solve before in a chain (star.py), or of another one, the parent.
"""

from itertools import accumulate, chain, pairwise
from math import nan

from cpython.exc cimport PyErr_CheckSignals
from cython cimport critical_section
from libc.math cimport HUGE_VAL
from libc.stdint cimport int64_t
from libc.stdlib cimport free, realloc

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.stopping import Stopped
from libsvmx._core.thread_pool cimport ThreadPool, svmx_job
from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets, svmx_renew_tickets, svmx_tear_tickets
from libsvmx._train.queue.tasks cimport Task, TaskList, has_start
from libsvmx._train.queue.worker cimport Worker

from libsvmx._solvers.control import MARKS
from libsvmx._solvers.smo.settings import SMO
from libsvmx._train import limits
from libsvmx._train.formulation import QUANTITIES
from libsvmx._train.reports import announced
from libsvmx._train.solve_report import SolveReport
from libsvmx.enums import SolveStatus

# Squares of the sizes of all solves together, from which on more threads pay: some milliseconds.
cdef double WORK_FOR_THREADS = 2e6
# With fewer units, threads would wait for the last one.
cdef int UNITS_PER_THREAD = 4


cdef class SolveQueue(TaskList):
    """SolveQueue(kernel_values, matrix_of, weights, param, observer, most_workers); the first four as of TaskList.

    Parameters
    ----------
    observer : Observer       of the call; it is asked whether to stop, and told of nothing before ``tell``
    most_workers : int        for whose rows there is memory; there is one in any case
    """

    def __init__(self, kernel_values, matrix_of, weights, param, observer, int most_workers):
        self.limits, self.most_workers = observer, most_workers
        svmx_begin_tickets(&self.tickets)

    def __dealloc__(self):
        free(self.worker)

    def another(self):
        """An empty queue over the same rows."""
        weights = self.weights if self.weighted else None
        cdef SolveQueue found = SolveQueue(self.kernel_values, self.matrix_of, weights, self.param, self.limits,
                                           self.most_workers)
        found.seeder = self.seeder
        found.matrix, found.by_floats, found.tabulates = self.matrix, self.by_floats, self.tabulates
        found.held_by_floats = self.held_by_floats
        found.table, found.has_table = self.table, self.has_table
        return found

    def run(self, int threads):
        """Do all that is to be done.

        Raises
        ------
        KeyboardInterrupt, or what else a signal handler raises; MemoryError
        """
        cdef ThreadPool pool
        cdef Py_ssize_t k
        threads = max(1, min(threads, self.most_workers)) if self.work_of(range(self.n_tasks)) > WORK_FOR_THREADS else 1
        self.coefficient, self.value = zeros("d", self.n_out), zeros("d", self.n_values)
        self.score = zeros("d", self.n_out if self.keeps_scores else 0)
        stages = self.stages(threads)
        if self.crosses() and self.matrix is None:
            self.matrix = self.matrix_of()
        if self.tabulates and not self.has_table:
            self.table = empty("d", self.kernel_values.n ** 2)
        pool = ThreadPool(threads)
        self.worker = <void **>realloc(self.worker, pool.n * sizeof(void *))
        if self.worker == NULL:
            raise MemoryError("a queue of solves")
        self.workers = [Worker(self, self.should_stop) for _ in range(pool.n)]
        for k, worker in enumerate(self.workers):
            self.worker[k] = <void *>worker
            (<Worker>worker).share(&self.tickets)
        for k, value in self.constants:
            self.value[k] = value
        for k in range(self.n_sigmoids):
            if self.sigmoids[k].n_solves == 0:
                (<Worker>self.worker[0]).fit(&self.sigmoids[k])
        if self.tabulates and self.predicts and not self.has_table:
            self.run_phase(_tabulate, pool, pool.n)
            self.has_table = True
        for self.order, self.unit in stages:
            self.run_phase(_work, pool, pool.n)
        self.run_phase(_evaluate, pool, pool.n if self.by_group else 0)
        self.workers = None  # each of them knows the queue: both would wait for the garbage collector

    cdef int run_phase(self, svmx_job phase, ThreadPool pool, int64_t n) except -1:
        """Let so many workers do what there is in a phase; raises what one of them has."""
        svmx_renew_tickets(&self.tickets)
        with nogil:
            pool.run(phase, <void *>self, n, _look)
        if self.error is not None:
            raise self.error
        return 0

    cdef stages(self, int threads):
        """(``order``, ``unit``) of what is done at once, one after the other: solves, and then those that start from them.

        Those of a chain are for one worker, in turn. Else solves over the same group of kernel values stand together, for
        one worker, if they are not too few for so many threads; then there is one stage, in which each comes after its
        parent.
        """
        cdef Py_ssize_t t
        cdef int pieces = 1
        cdef bint grouped = self.kernel_values.has_groups and self.last_of_chain is None
        self.by_group = self.kernel_values.has_groups
        stages = [self.groups_in_units() if grouped else self.chains_in_units()]
        if grouped and threads > 1:
            pieces += UNITS_PER_THREAD * threads // max(1, len(stages[0]))
        if self.has_parents and (pieces > 1 or not grouped):
            stages = [
                [[t for t in unit if (self.tasks[t].parent >= 0) == later] for unit in stages[0]] for later in (False, True)
            ]
        if grouped and threads > 1:
            stages = [[unit[k::pieces] for unit in units for k in range(pieces)] for units in stages]
            for units in stages:
                units.sort(key=self.work_of, reverse=True)  # the last ones to be done are short
        return [
            (filled("q", chain.from_iterable(units)), filled("q", accumulate(map(len, units), initial=0))) for units in stages
        ]

    cdef chains_in_units(self):
        """A unit of each chain, in turn, and of each other solve; the longest chains come first."""
        cdef Py_ssize_t t
        cdef list units = [], unit_of = []
        for t in range(self.n_tasks):
            if self.tasks[t].chained and has_start(&self.tasks[t]):
                unit_of.append(unit_of[self.tasks[t].after])
                unit_of[t].append(t)
            else:
                unit_of.append([t])
                units.append(unit_of[t])
        return units if self.last_of_chain is None else sorted(units, key=self.work_of, reverse=True)

    cdef groups_in_units(self):
        """A unit of solves for each group of kernel values, in which each solve comes after its parent."""
        cdef Py_ssize_t t
        cdef Task *task
        groups = []
        for t in range(self.n_tasks):
            task = &self.tasks[t]
            groups.append(self.kernel_values.group_of(self.rows[task.first], self.rows[task.first + task.n - 1]))
        order = sorted(range(self.n_tasks), key=groups.__getitem__)
        begins = [t for t in range(self.n_tasks) if t == 0 or groups[order[t]] != groups[order[t - 1]]]
        return [order[begin:end] for begin, end in pairwise([*begins, self.n_tasks])]

    def work_of(self, unit):
        """Squares of the sizes of some solves together."""
        cdef Py_ssize_t t
        cdef double work = 0.0
        for t in unit:
            work += <double>self.tasks[t].n ** 2
        return work

    cdef void work(self, int64_t part, Phase phase) noexcept with gil:
        """Panels of the table, tasks, or folds to evaluate, as they come, until there is none, by one of the workers."""
        cdef Worker worker = <Worker>self.worker[part]
        try:
            with nogil:
                if phase == TABULATING:
                    worker.tabulate()
                elif phase == SOLVING:
                    worker.work()
                else:
                    worker.evaluate_solved()
        except Stopped:  # in a start, which is left then; ``stopped`` says why
            pass
        except BaseException as error:
            self.failed(error)

    cdef int failed(self, error) except -1:
        with critical_section(self):  # several workers may fail at once
            self.error = self.error or error
        svmx_tear_tickets(&self.tickets)
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
            rows_computed=task.rows_computed, values_computed=task.values_computed, gap=task.gap, reach=task.reach,
            seconds=task.seconds, chosen=self.chosen())
        return announced(report, observer)


    def summed(self, Py_ssize_t first, Py_ssize_t last):
        """One report of the solves first to last - 1: sums, the largest gap, the first end that was not an optimum; rho is
        that of a single one, else nan."""
        cdef Task *task
        cdef Py_ssize_t t
        cdef double objective = 0.0, gap = -HUGE_VAL, reach = 0.0, seconds = 0.0
        cdef int64_t iterations = 0, rows = 0, values = 0, n_sv = 0, n_bsv = 0
        status = SolveStatus.CONVERGED
        for t in range(first, last):
            task = self.task(t)
            objective += task.found.objective
            seconds += task.seconds
            iterations += task.iterations
            rows += task.rows_computed
            values += task.values_computed
            n_sv += task.found.n_sv
            n_bsv += task.found.n_bsv
            gap, reach = max(gap, task.gap), max(reach, task.reach)
            if not task.converged and status == SolveStatus.CONVERGED:
                status = self.stopped or SolveStatus.ITERATION_LIMIT
        rho = self.task(first).found.rho if last == first + 1 else nan
        return SolveReport(
            iterations=iterations, objective=objective, rho=rho, n_sv=n_sv, n_bsv=n_bsv, status=status, rows_computed=rows,
            values_computed=values, gap=gap if last > first else 0.0, reach=reach, seconds=seconds, chosen=self.chosen())

    def seeding_seconds(self, Py_ssize_t first, Py_ssize_t last):
        """What the starts of the solves first to last - 1 took."""
        cdef Py_ssize_t t
        cdef double seconds = 0.0
        for t in range(first, last):
            seconds += self.task(t).seeding_seconds
        return seconds

    def chosen(self):
        """What solver auto has chosen: the solver of a queue."""
        return "" if self.param.solver.follows_libsvm else SMO.name


cdef void _tabulate(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).work(part, TABULATING)


cdef void _work(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).work(part, SOLVING)


cdef void _evaluate(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).work(part, EVALUATING)


cdef void _look(void *queue) noexcept nogil:
    (<SolveQueue>queue).look()
