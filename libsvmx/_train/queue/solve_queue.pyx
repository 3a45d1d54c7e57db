"""Many dual problems over parts of the same rows, solved by all threads without a Python object per solve.

One against one, folds, and inner folds of probability estimates: hundreds of solves of tens of rows, each faster than
Python can make its objects. Here a solve is a Task, a C struct; the rows of all tasks are in one list, and each thread
has a Worker with memory for the largest task.

    queue = SolveQueue(kernel_values, matrix_of, weights, param, observer, most_workers)
    t = queue.add(rows, n_positive, Cp, Cn, held_out)     for each solve, in LIBSVM's order
    queue.run(threads)
    queue.coefficients(t), queue.values(t), queue.tell(t, observer)     in LIBSVM's order again

Results do not depend on the number of threads. Solves take LIBSVM's steps, except those that start from the optimum of
a parent: of another queue, the previous solve of a chain (duals.py), or another solve.
"""

from itertools import accumulate, chain, pairwise
from math import nan

from cpython.exc cimport PyErr_CheckSignals
from cpython.memoryview cimport PyMemoryView_FromObject
from cython cimport critical_section
from libc.math cimport HUGE_VAL, isfinite
from libc.stdint cimport int8_t, int64_t
from libc.stdlib cimport free

from libsvmx._core.allocation cimport reallocate
from libsvmx._core.arrays cimport Memory, memory
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.tickets cimport (
    svmx_begin_tickets, svmx_end_tickets, svmx_renew_tickets, svmx_tear_tickets, svmx_tickets)
from libsvmx._solvers.dual cimport DualSolution
from libsvmx._solvers.seeding.paying cimport COLD, PATH
from libsvmx._solvers.seeding.seeders cimport ATO, SIR, name_of
from libsvmx._train.queue.tasks cimport Fold, Task, TaskList, has_start
from libsvmx._train.queue.worker cimport Worker

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import MARKS, Stopped
from libsvmx._core.threads import thread_count
from libsvmx._solvers.smo.solver import SMO
from libsvmx._train import limits
from libsvmx._train.formulation import QUANTITIES
from libsvmx._train.probability import TROUBLES
from libsvmx._train.solve_dual import announced
from libsvmx._train.solve_report import NUMBERS, SolveReport, SolveReports
from libsvmx.enums import SolveStatus


# With fewer units, threads would idle at the end.
cdef int UNITS_PER_THREAD = 4
# Work of a kernel value in double, where a gap is checked; measured on abalone.
cdef double CHECK_OF_A_VALUE = 8.0


cdef enum Phase:
    TABULATING
    SOLVING
    EVALUATING


cdef class SolveQueue(TaskList):
    """SolveQueue(kernel_values, matrix_of, weights, param, observer, most_workers); for the first four see TaskList.

    Parameters
    ----------
    observer : Observer       says when to stop; gets reports from ``tell`` only
    most_workers : int        limit by memory; there is always one
    """

    cdef object limits
    cdef int most_workers
    cdef object error               # raised by a signal handler or a thread
    cdef readonly bint has_run
    cdef readonly object stopped    # SolveStatus, once the call must stop
    cdef svmx_tickets tickets
    cdef object workers                # keeps alive the workers that ``worker`` points to
    cdef void **worker
    cdef bint has_table             # ``table`` is computed
    cdef Phase phase                # of the workers
    cdef int8_t[::1] level          # of the solves, see ``find_levels``

    def __init__(self, kernel_values, matrix_of, weights, param, observer, int most_workers):
        self.limits, self.most_workers = observer, most_workers
        svmx_begin_tickets(&self.tickets)

    def __dealloc__(self):
        free(self.worker)

    def another(self):
        """An empty queue over the same rows."""
        cdef SolveQueue found = SolveQueue(self.kernel_values, self.matrix_of, self.kept_weights[0], self.param,
                                           self.limits, self.most_workers)
        found.seeder, found.seeds, found.has_models = self.seeder, self.seeds, self.has_models
        found.matrix, found.by_floats, found.tabulates = self.matrix, self.by_floats, self.tabulates
        found.held_by_floats = self.held_by_floats
        found.table, found.has_table = self.table, self.has_table
        return found

    def run(self, threads=None):
        """Solve all tasks. ``threads``: as of ``thread_count``; None: those of the parameters. Raises
        KeyboardInterrupt, or another exception of a signal handler; MemoryError."""
        cdef ThreadPool pool
        cdef Py_ssize_t k
        pays = self.work_of(range(self.n_tasks)) > self.param.policy.work_for_threads
        self.make_room()
        threads = self.param.threads if threads is None else threads
        pool = ThreadPool(min(thread_count(threads), self.most_workers) if pays else 1)
        stages = self.stages(pool.n)
        if self.crosses() and self.matrix is None:
            self.matrix = self.matrix_of()
        tabulates = self.tabulates and self.crosses() and not self.has_table
        if tabulates:
            self.table = empty("d", self.kernel_values.n ** 2)
        reallocate(<void **>&self.worker, pool.n * sizeof(void *), b"a queue of solves")
        self.workers = [Worker(self, self.should_stop, limits.most_steps(self.param, self.limits)) for _ in range(pool.n)]
        for k, worker in enumerate(self.workers):
            self.worker[k] = <void *>worker
            (<Worker>worker).share(&self.tickets)
        self.should_stop()  # a few short solves do not check
        for k, value in self.constants:
            self.value[k] = value
        for k in range(self.n_sigmoids):
            if self.sigmoids[k].n_solves == 0:
                (<Worker>self.worker[0]).decisions.fit(&self.sigmoids[k])
        if tabulates:
            self.run_phase(TABULATING, pool, pool.n)
            self.has_table = True
        for self.order, self.unit in stages:
            self.run_phase(SOLVING, pool, pool.n)
        self.run_phase(EVALUATING, pool, pool.n if self.by_group else 0)
        self.has_run = True
        self.workers = None  # they refer to the queue: avoid a reference cycle

    cdef int run_phase(self, Phase phase, ThreadPool pool, int64_t n) except -1:
        """Run a phase with n workers; raises the exception of one of them."""
        self.phase = phase
        svmx_renew_tickets(&self.tickets)
        with nogil:
            pool.run(_work, <void *>self, n, 0, _look)
        if self.error is not None:
            raise self.error
        return 0

    cdef stages(self, int threads):
        """List of (``order``, ``unit``), for stages run one after the other: solves, and then those that start from
        them.

        A chain is one unit, solved in turn by one worker. Else the solves over a group of kernel values form a unit,
        each after those that it depends on, in a single stage; if these are too few for the threads, they are split,
        into a stage for each level.
        """
        cdef Py_ssize_t t
        cdef int pieces = 1
        cdef bint grouped = self.kernel_values.has_groups and self.n_chains == 0
        cdef int last = self.find_levels()
        cdef const int8_t[::1] levels = self.level
        self.by_group = self.kernel_values.has_groups
        if not self.by_group and self.n_chains == 0:
            return [self.each_a_unit(level) for level in range(last + 1)]
        stages = [self.groups_in_units() if grouped else self.chains_in_units()]
        if grouped and threads > 1:
            pieces += UNITS_PER_THREAD * threads // max(1, len(stages[0]))
        if last > 0 and (pieces > 1 or not grouped):
            stages = [[[t for t in unit if levels[t] == level] for unit in stages[0]] for level in range(last + 1)]
        if grouped and threads > 1:
            stages = [[unit[k::pieces] for unit in units for k in range(pieces)] for units in stages]
            for units in stages:
                units.sort(key=self.work_of, reverse=True)  # short ones last
        return [
            (filled("q", chain.from_iterable(units)), filled("q", accumulate(map(len, units), initial=0))) for units in stages
        ]

    cdef int find_levels(self) except -1:
        """Set ``level`` of each solve, one more than that of those that it depends on: a parent in this queue, or pilots;
        a chain has that of its first. Returns the highest."""
        cdef Py_ssize_t t
        cdef Task *task
        cdef int highest = 0
        self.level = memory("b", self.n_tasks)
        for t in range(self.n_tasks):
            task = &self.tasks[t]
            if task.parent >= 0 and not task.of_earlier:
                self.level[t] = <int8_t>(self.level[task.parent] + (not task.chained))
            else:
                self.level[t] = self.has_pilots and task.of_earlier and task.pilot < 0
            highest = max(highest, <int>self.level[t])
        return highest

    cdef each_a_unit(self, int level):
        """A stage of the solves of a level, each of which is a unit."""
        cdef Py_ssize_t t, n = 0
        for t in range(self.n_tasks):
            n += self.level[t] == level
        cdef Memory order_ = memory("q", n), unit_ = memory("q", n + 1)
        cdef int64_t *order = <int64_t *>order_.items
        cdef int64_t *unit = <int64_t *>unit_.items
        n = 0
        for t in range(self.n_tasks):
            if self.level[t] == level:
                order[n] = t
                n += 1
                unit[n] = n
        return order_, unit_

    cdef chains_in_units(self):
        """A unit for each chain, longest first, and for each other solve."""
        cdef Py_ssize_t t
        cdef list units = [], unit_of = []
        for t in range(self.n_tasks):
            if self.tasks[t].chained and self.tasks[t].parent >= 0:
                unit_of.append(unit_of[self.tasks[t].parent])
                unit_of[t].append(t)
            else:
                unit_of.append([t])
                units.append(unit_of[t])
        return sorted(units, key=self.work_of, reverse=True) if self.n_chains else units

    cdef groups_in_units(self):
        """A unit for each group of kernel values, each solve after those that it depends on."""
        cdef Py_ssize_t t
        cdef Task *task
        cdef const int8_t[::1] levels = self.level
        groups = []
        for t in range(self.n_tasks):
            task = &self.tasks[t]
            group = self.kernel_values.group_of(self.rows[task.first], self.rows[task.first + task.n - 1])
            groups.append((group, levels[t]))
        order = sorted(range(self.n_tasks), key=groups.__getitem__)
        begins = [t for t in range(self.n_tasks) if t == 0 or groups[order[t]][0] != groups[order[t - 1]][0]]
        return [order[begin:end] for begin, end in pairwise([*begins, self.n_tasks])]

    def work_of(self, unit):
        """Sum of the squared sizes of some solves."""
        cdef Py_ssize_t t
        cdef double work = 0.0
        for t in unit:
            work += <double>self.tasks[t].n ** 2
        return work

    cdef void work(self, int64_t part) noexcept with gil:
        """Run one worker in a phase, until there is no work left."""
        cdef Worker worker = <Worker>self.worker[part]
        try:
            with nogil:
                if self.phase == TABULATING:
                    worker.decisions.tabulate()
                elif self.phase == SOLVING:
                    worker.work()
                else:
                    worker.decisions.evaluate_solved()
        except Stopped:  # by a start; the reason is in ``stopped``
            pass
        except BaseException as error:
            self.failed(error)

    cdef int failed(self, error) except -1:
        with critical_section(self):  # several workers may fail at once
            self.error = self.error or error
        svmx_tear_tickets(&self.tickets)
        return 0

    cdef void look(self) noexcept with gil:
        """Check signals and limits, while the calling thread waits for the workers."""
        try:
            PyErr_CheckSignals()
            self.should_stop()
        except BaseException as error:
            self.failed(error)

    def should_stop(self):
        """Whether the call must stop; if so, ends all solves."""
        if self.stopped is None:
            self.stopped = limits.look(self.limits)
            if self.stopped is not None:
                svmx_end_tickets(&self.tickets)
        return self.stopped is not None

    # ---- results -----------------------------------------------------------------------------------

    def coefficients(self, Py_ssize_t t, last=None):
        """Coefficients of a solve (LIBSVM's sv_coef), float64, shape (n,); with ``last`` of all solves t to
        ``last``."""
        cdef const Task *task = self.task(t)
        cdef const Task *end = self.task(t if last is None else last)
        return memoryview(self.coefficient)[task.out:end.out + end.n]

    def values(self, Py_ssize_t t):
        """Decision values of the held-out rows of a solve, float64, shape (n_held,)."""
        cdef Task *task = self.task(t)
        return memoryview(self.value)[task.values:task.values + task.n_held]

    def left_out_value(self, Py_ssize_t t):
        """Decision value of the row that is left out of a solve of ``add_left_out``."""
        return self.value[self.task(t).values]

    def fold_values(self, Py_ssize_t f):
        """Decision values of the f-th call of ``add_fold``, float64, shape (n_held, n_functions), flat."""
        if not 0 <= f < self.n_folds:
            raise IndexError(f"fold {f} of {self.n_folds}")
        cdef Fold *fold = &self.folds[f]
        return memoryview(self.value)[fold.values:fold.values + fold.n_held * fold.n_functions]

    def sigmoid(self, Py_ssize_t s):
        """(A, B, trouble) of the s-th call of ``add_folds``, like fit_sigmoid."""
        if not 0 <= s < self.n_sigmoids:
            raise IndexError(f"sigmoid {s} of {self.n_sigmoids}")
        return self.sigmoids[s].A, self.sigmoids[s].B, TROUBLES[self.sigmoids[s].trouble]

    def sigmoid_is_done(self, Py_ssize_t s):
        """Whether all inner folds of a pair are finished."""
        if not 0 <= s < self.n_sigmoids:
            raise IndexError(f"sigmoid {s} of {self.n_sigmoids}")
        return self.sigmoids[s].done

    def fold_is_done(self, Py_ssize_t f):
        """Whether the solves and decision values of a fold are finished."""
        if not 0 <= f < self.n_folds:
            raise IndexError(f"fold {f} of {self.n_folds}")
        return self.folds[f].done

    def has_ended(self, Py_ssize_t t):
        """Whether a solve has converged to finite numbers."""
        cdef Task *task = self.task(t)
        return task.converged and isfinite(task.found.rho) and isfinite(task.found.objective)

    def went_well(self, Py_ssize_t t):
        """Whether a solve has ended, and not with status ROUNDING."""
        return self.has_ended(t) and not self.task(t).rounding

    def all_went_well(self, Py_ssize_t first, Py_ssize_t last):
        """Whether solves ``first`` to ``last`` all went well."""
        cdef Py_ssize_t t
        for t in range(first, last + 1):
            if not self.went_well(t):
                return False
        return True

    def seeder_of(self, solves):
        """Name of the seeder that made starts of these solves; 'none' if all are cold. For ato and auto: 'ato' if any
        start followed a path."""
        cdef const Task *task
        cdef bint along_path = False, enters = False, starts = False
        for t in solves:
            task = self.task(t)
            if has_start(task) and task.start_kind != COLD:
                starts, along_path, enters = True, along_path or task.start_kind == PATH, enters or task.n_new > 0
        if not starts:
            return "none"
        if self.seeder != ATO or along_path:
            return name_of(self.seeder)
        return name_of(SIR if enters else self.in_a_star)

    def was_begun(self, Py_ssize_t t):
        """Whether a solve was begun before the call was stopped."""
        return self.task(t).begun

    def status_of(self, Py_ssize_t t):
        """SolveStatus of a solve."""
        cdef Task *task = self.task(t)
        if not task.converged and self.stopped:
            return self.stopped
        if task.rounding:
            return SolveStatus.ROUNDING
        return SolveStatus.CONVERGED if task.converged else SolveStatus.ITERATION_LIMIT

    def left(self, Py_ssize_t t):
        """Where ``trial`` has left a solve, for ``Solver.go_on``."""
        cdef Task *task = self.task(t)
        own = slice(task.optimum, task.optimum + task.n)
        solution = DualSolution(
            beta=memoryview(self.kept_beta)[own], scores=memoryview(self.kept_scores)[own], rho=task.found.rho,
            objective=task.found.objective, iterations=task.iterations, rows_computed=task.rows_computed,
            values_computed=task.values_computed, reach=task.reach, gap=task.gap, status=self.status_of(t))
        return self.trial.left(solution, task.too_slow, task.seconds)

    def tell(self, Py_ssize_t t, observer, ended=None):
        """Report a solve to the observer; returns the report. ``ended``: status of one that a trial has left when the
        call has to stop."""
        cdef Task *task = self.task(t)
        cdef Py_ssize_t k
        cdef bint usual = self.went_well(t) and not self.chosen()
        marks = [MARKS[task.marks[k]] for k in range(task.n_marks)]
        if not usual:
            for mark in marks:
                observer.mark(mark)
        status = ended or self.status_of(t)
        quantity = QUANTITIES[self.param.svm_type] if task.found.has_value else None
        report = SolveReport(
            iterations=task.iterations, objective=task.found.objective, rho=task.found.rho, n_sv=task.found.n_sv,
            n_bsv=task.found.n_bsv, quantity=quantity, value=task.found.value, status=status,
            rows_computed=task.rows_computed, values_computed=task.values_computed, gap=task.gap, reach=task.reach,
            seconds=task.seconds, chosen=self.chosen())
        if not usual:
            return announced(report, observer)
        observer.solved_with_marks(marks, report)
        return report

    def reports(self, solves):
        """SolveReports of ``solves``, a sequence, all of which went well."""
        cdef Py_ssize_t t, width = len(NUMBERS)
        cdef Task *task
        cdef Memory numbers = memory("d", len(solves) * width)
        cdef double *own = <double *>numbers.items
        for t in solves:
            task = self.task(t)
            own[0], own[1], own[2] = <double>task.iterations, task.found.objective, task.found.rho
            own[3], own[4], own[5] = <double>task.found.n_sv, <double>task.found.n_bsv, task.found.value
            own[6], own[7] = <double>task.rows_computed, <double>task.values_computed
            own[8], own[9], own[10] = task.gap, task.reach, task.seconds
            own[11] = task.found.has_value
            own += width
        return SolveReports(PyMemoryView_FromObject(numbers), QUANTITIES.get(self.param.svm_type), self.chosen())

    def summed(self, Py_ssize_t first, Py_ssize_t last):
        """One report of solves ``first`` to ``last`` - 1, see ``sums``."""
        return SolveReport(**self.sums(first, last), chosen=self.chosen())

    def sums(self, Py_ssize_t first, Py_ssize_t last):
        """Fields of one report of solves ``first`` to ``last`` - 1, dict: sums, largest gap, status DEGENERATE, or the
        first other than CONVERGED; rho of a single one, else nan."""
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
            if not (isfinite(task.found.rho) and isfinite(task.found.objective)):
                status = SolveStatus.DEGENERATE
            elif (task.rounding or not task.converged) and status == SolveStatus.CONVERGED:
                status = self.status_of(t)
        rho = self.task(first).found.rho if last == first + 1 else nan
        return {"iterations": iterations, "objective": objective, "rho": rho, "n_sv": n_sv, "n_bsv": n_bsv,
                "status": status, "rows_computed": rows, "values_computed": values, "gap": gap if last > first else 0.0,
                "reach": reach, "seconds": seconds}

    def by_cost(self, Py_ssize_t first, Py_ssize_t n_duals, Py_ssize_t n_costs):
        """(values, widths, seconds, iterations, converged) of ``n_duals`` dual problems at each C, from solve ``first``
        on.

        values: decision values, shape (n_duals, n_costs, n_held), flat. Lists by C: largest width of the interval of
        possible rho, sums, and whether all have converged."""
        cdef Task *task
        cdef Py_ssize_t t, c
        widths, seconds, iterations, converged = [0.0] * n_costs, [0.0] * n_costs, [0] * n_costs, [True] * n_costs
        for t in range(n_duals * n_costs):
            c, task = t % n_costs, self.task(first + t)
            if task.width > widths[c]:
                widths[c] = task.width
            seconds[c] += task.seconds
            iterations[c] += task.iterations
            if task.rounding or not task.converged:
                converged[c] = False
        task = self.task(first)
        values = memoryview(self.value)[task.values:task.values + n_duals * n_costs * task.n_held]
        return values, widths, seconds, iterations, converged

    def work_in_values(self, Py_ssize_t t):
        """Work of a solve, its start and the check of its gap, in values (_solvers/seeding/paying.pyx)."""
        cdef Task *task = self.task(t)
        return task.start_work + task.work + CHECK_OF_A_VALUE * task.values_checked

    def optimum(self, Py_ssize_t t):
        """(beta, V) of a solve whose optimum is kept, by variable."""
        cdef Task *task = self.task(t)
        own = slice(task.optimum, task.optimum + task.n_variables)
        return memoryview(self.kept_beta)[own], memoryview(self.kept_scores)[own]

    def seeding_seconds(self, Py_ssize_t first, Py_ssize_t last):
        """Seconds of the starts of solves ``first`` to ``last`` - 1."""
        cdef Py_ssize_t t
        cdef double seconds = 0.0
        for t in range(first, last):
            seconds += self.task(t).seeding_seconds
        return seconds

    def chosen(self):
        """Name of the solver, for SolveReport; '' if the user's solver follows LIBSVM."""
        return "" if self.param.solver.follows_libsvm else SMO.name


cdef void _work(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).work(part)


cdef void _look(void *queue) noexcept nogil:
    (<SolveQueue>queue).look()
