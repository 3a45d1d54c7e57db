"""Many dual problems over parts of the same rows, solved by all threads without a Python object per solve.

One against one, folds, and inner folds of probability estimates: hundreds of solves of tens of rows, each faster than
Python can make its objects. Here a solve is a Task, a C struct; the rows of all tasks are in one list, and each thread
has a Worker with memory for the largest task.

    queue = SolveQueue(kernel_values, matrix_of, weights, param, observer, most_workers)
    t = queue.add(rows, n_positive, Cp, Cn, held_out)     for each solve, in LIBSVM's order
    queue.run(threads)
    queue.coefficients(t), queue.values(t), queue.tell(t, observer)     in LIBSVM's order again

Results do not depend on the number of threads. Solves take LIBSVM's steps, except those that start from the optimum of
a parent: of another queue, the previous solve of a chain (star_and_chain.py), or another solve.
"""

from itertools import accumulate, chain, pairwise
from math import nan

from cpython.exc cimport PyErr_CheckSignals
from cython cimport critical_section
from libc.math cimport HUGE_VAL, fabs, isfinite
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from libsvmx._core.allocation cimport reallocate, reserve
from libsvmx._core.clock cimport svmx_nanoseconds
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.smo_steps cimport svmx_axpy_at, svmx_axpy_row, svmx_gather
from libsvmx._core.test_panels cimport SVMX_LINE, SVMX_TESTS, svmx_aligned, svmx_weighted_sum
from libsvmx._core.tickets cimport (
    svmx_begin_tickets, svmx_counted_down, svmx_end_tickets, svmx_next_ticket, svmx_renew_tickets, svmx_tear_tickets,
    svmx_tickets, svmx_tickets_over)
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._problem.dual cimport Certificate, Dual, DualProblem, DualSolution, add_variable, begin, gap_of, width_of_rho
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Optimum, Smo, rounding_may_hide
from libsvmx._train.formulation cimport recover, write_dual
from libsvmx._train.probability cimport fit
from libsvmx._train.queue.tasks cimport (
    Fold, Parent, QueueStarts, Sigmoid, Task, TaskList, has_start, most_steps_by_r, tolerance_by_r)

from libsvmx._core.arrays import empty, ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._solvers.control import MARKS
from libsvmx._solvers.smo.solver import SMO, checked
from libsvmx._train import limits
from libsvmx._train.formulation import QUANTITIES
from libsvmx._train.solve_dual import announced
from libsvmx._train.solve_report import NUMBERS, SolveReport, SolveReports
from libsvmx.enums import SolveStatus


# ---- Workers ---------------------------------------------------------------------------------------

# Elements worked on between two checks for a stop: a fraction of a millisecond, over several solves.
cdef int64_t ASK_WORK = 100000

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()


cdef class QueueControl(Control):
    """The Control of a worker: marks are kept with the task, and all workers stop together."""

    cdef svmx_tickets *tickets
    cdef Task *task

    def __cinit__(self, *args, **more):
        self.poll_work = ASK_WORK

    cdef int mark(self, int kind) except -1 nogil:
        cdef Task *task = self.task
        reserve(<void **>&task.marks, &task.room, task.n_marks + 1, 1, b"marks of progress")
        task.marks[task.n_marks] = <char>kind
        task.n_marks += 1
        return 0

    cdef int poll(self) except -1 nogil:
        """Check for a stop; at the start of a solve only ``tickets``, which suffices for a short one."""
        if self.work == 0 and PyThread_get_thread_ident() == self.owner:
            with gil:
                PyErr_CheckSignals()
                self.should_stop()
        if svmx_tickets_over(self.tickets):
            self.expired = True
        return 0


cdef class Worker:
    """Worker(todo, should_stop, max_iter): solves tasks of ``todo``, a TaskList, in one thread."""

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

    def __init__(self, TaskList todo, should_stop, max_iter):
        cdef Py_ssize_t l = max(1, todo.most_rows), m = 2 * l if todo.doubled else l, n_held = todo.most_held
        param = todo.param
        self.todo, self.last_task = todo, -1
        self.control = QueueControl(param.eps, param.shrinking, max_iter, should_stop=should_stop)
        self.kernel_rows = GramRows(todo.kernel_values.of_thread(), l, m, ThreadPool(1))
        self.smo = Smo.for_many(m, 2, self.control, self.kernel_rows)
        cdef double[::1] of_rows = zeros("d", 3 * l), of_variables = zeros("d", 6 * m)  # fewer buffers: 1 us each
        self.targets, self.weights, self.coefficients = of_rows[:l], of_rows[l:2 * l], of_rows[2 * l:]
        self.linear, self.lower = of_variables[:m], of_variables[m:2 * m]
        self.upper, self.start = of_variables[2 * m:3 * m], of_variables[3 * m:4 * m]
        self.beta, self.scores = of_variables[4 * m:5 * m], of_variables[5 * m:]
        cdef int32_t[::1] numbers = zeros("i", m + n_held)
        cdef double[::1] values = zeros("d", n_held + 2 * todo.most_labels)
        self.group, self.row, self.column = zeros("b", m), numbers[:m], numbers[m:]
        self.total, self.labels = values[:n_held], values[n_held:]
        if todo.has_larger:
            self.gathered, self.is_gathered = empty("f", l * max(1, n_held)), zeros("b", l)
        self.starts = QueueStarts(todo, self.kernel_rows, self.control, l) if todo.has_starts else None
        self.dual = Dual(m, &self.linear[0], &self.lower[0], &self.upper[0], &self.start[0], &self.group[0], &self.row[0])
        self.row_elements = 1
        if todo.predicts:
            self.panel = zeros("d", (1 + max(1, todo.most_functions)) * SVMX_TESTS + 2 * SVMX_LINE)
        if todo.crosses():
            self.row_elements = todo.matrix.nnz // max(1, todo.kernel_values.n) + 1
            self.cross = CrossKernel(todo.matrix, param.kernel_type, param.degree, param.gamma, param.coef0)
            self.everyone = ramp(todo.kernel_values.n)
            self.cross.prepare(todo.matrix, self.everyone)

    cdef void share(self, svmx_tickets *tickets) noexcept:
        """Set the source of task numbers, shared with the other workers."""
        self.tickets = self.control.tickets = tickets

    cdef int tabulate(self) except -1 nogil:
        """Compute panels of the table until there are no more, each with the rows from its first on and, by symmetry,
        the mirror image."""
        cdef double *values = svmx_aligned(&self.panel[0])
        cdef double *table = &self.todo.table[0]
        cdef Py_ssize_t n = self.todo.kernel_values.n, first, lanes, row, r
        cdef int64_t panel = svmx_next_ticket(self.tickets), n_panels = (n + SVMX_TESTS - 1) // SVMX_TESTS
        while panel < n_panels:
            first = panel * SVMX_TESTS
            lanes = min(<Py_ssize_t>SVMX_TESTS, n - first)
            self.cross.load(&self.everyone[first], lanes)
            for row in range(first, n):
                self.cross.fill(row, row + 1, values)
                for r in range(lanes):
                    table[(first + r) * n + row] = table[row * n + first + r] = values[r]
                if not self.goes_on(SVMX_TESTS):
                    return 0
            panel = svmx_next_ticket(self.tickets)
        return 0

    cdef int work(self) except -1 nogil:
        cdef const int64_t *unit = &self.todo.unit[0]
        cdef int64_t t, n_units = self.todo.unit.shape[0] - 1, u = svmx_next_ticket(self.tickets)
        cdef Task *task
        while u < n_units:
            for t in range(unit[u], unit[u + 1]):
                task = &self.todo.tasks[self.todo.order[t]]
                if has_start(task) and svmx_tickets_over(self.tickets):
                    return 0  # its parent may be unfinished
                self.solve(task)
            u = svmx_next_ticket(self.tickets)
        return 0

    cdef int evaluate_solved(self) except -1 nogil:
        """Evaluate solved folds until there are no more."""
        cdef int64_t f = svmx_next_ticket(self.tickets)
        while f < self.todo.n_folds:
            if self.todo.folds[f].solved and not self.todo.folds[f].done:
                self.evaluate(&self.todo.folds[f])
            f = svmx_next_ticket(self.tickets)
        return 0

    cdef int solve(self, Task *task) except -1 nogil:
        cdef double began = svmx_nanoseconds()
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef Optimum optimum
        cdef Parent parent
        cdef int64_t most
        cdef bint stands, seeded = has_start(task)
        cdef double *coefficients = &self.coefficients[0] if task.out < 0 else &self.todo.coefficient[task.out]
        self.control.task, self.control.eps = task, self.todo.eps
        task.from_nothing = seeded and not self.starts.pays(task)
        if seeded and not task.from_nothing and task.out >= 0 and self.take_over(task, coefficients):
            return 0
        if task.growth > 0 and self.last_task == task.parent and self.kernel_rows.n_swaps == 0:
            self.kernel_rows.rows_computed = self.kernel_rows.rows_found = 0  # same rows, in place
        else:
            self.kernel_rows.begin(rows, task.n, self.todo.doubled)
        self.last_task = self.todo.number_of(task)
        stands = self.pose(task, rows)
        if stands:
            parent = self.todo.parent_of(task)
            self.control.worked(task.n)
            memcpy(&self.beta[0], &self.start[0], task.n_variables * sizeof(double))
            memcpy(&self.scores[0], &self.starts.V[0], task.n_variables * sizeof(double))
            task.converged, task.begun, task.reach = True, True, 1.0
            optimum.rho, optimum.objective, optimum.r = parent.task.found.rho, parent.task.found.objective, parent.task.r
            if task.turned:
                optimum.rho = -optimum.rho
            task.gap = parent.task.gap
        else:
            self.lay_out(task, rows)
            if seeded:
                task.seeding_seconds = 1e-9 * (svmx_nanoseconds() - began)
            if self.todo.tries:
                self.try_out(task)
            else:
                task.converged = self.smo.optimize()
            most = most_steps_by_r(self.smo.iterations, self.dual.size, self.control.max_iter)
            while task.converged and self.todo.stops_by_r(task) and self.has_finer_end():
                task.converged = self.smo.go_on(most)
            self.smo.write(&optimum, &self.beta[0], &self.scores[0])
            task.iterations, task.reach = self.smo.iterations, 1.0 if seeded else self.smo.reach
            task.begun = task.converged or task.iterations > 0
            task.rows_computed = self.kernel_rows.rows_computed
            task.values_computed = task.rows_computed * self.dual.size
            task.gap = self.gap()
            task.rounding = self.smo.stalled
            if task.of_earlier and task.pilot >= 0:
                self.starts.note_pilot(task)
            if task.converged and self.may_hide_gap(rows):
                self.check_gap(task, rows)
            if task.weights != NULL or task.Cp != task.Cn:  # with equal bounds, rho does not depend on rounding
                task.width = width_of_rho(&self.dual, &self.beta[0], &self.scores[0])
        if task.keeps:
            memcpy(&self.todo.kept_beta[task.optimum], &self.beta[0], task.n_variables * sizeof(double))
            memcpy(&self.todo.kept_scores[task.optimum], &self.scores[0], task.n_variables * sizeof(double))
        task.found.rho, task.found.objective = optimum.rho, optimum.objective
        task.r = optimum.r
        recover(&task.of, task.n, &self.weights[0] if task.weights != NULL else NULL, &self.dual, &self.beta[0], optimum.r,
                coefficients, &task.found)
        if stands and self.todo.divides:  # the parent's are already divided by r
            task.found.rho, task.found.objective = optimum.rho, optimum.objective
        task.seconds = 1e-9 * (svmx_nanoseconds() - began)
        if task.converged or not svmx_tickets_over(self.tickets):
            self.finish(task, coefficients)
        return 0

    cdef bint take_over(self, Task *task, double *coefficients) except -1 nogil:
        """Finish a task whose optimum is the parent's, if so."""
        cdef double began = svmx_nanoseconds()
        cdef double *beta = &self.todo.kept_beta[task.optimum] if task.keeps else NULL
        cdef double *scores = &self.todo.kept_scores[task.optimum] if task.keeps else NULL
        if not self.starts.takes_over(task, coefficients, beta, scores):
            return False
        self.control.worked(task.n)
        task.seconds = 1e-9 * (svmx_nanoseconds() - began)
        self.finish(task, coefficients)
        return True

    cdef int try_out(self, Task *task) except -1 nogil:
        """The steps of ``todo.trial``, which is asked only from its first check on."""
        if self.control.max_iter == 0:
            task.converged = self.smo.advance_to(self.todo.unchecked[task.n])
        if not task.converged:
            with gil:
                task.converged, task.too_slow = self.todo.trial.run(self.smo, task.n, self.control)
        if not task.converged:
            self.smo.bring_back()
        return 0

    cdef bint has_finer_end(self) noexcept nogil:
        """Whether the solve has to go on, since its r is less than 1, to the tolerance that ``control`` then has."""
        cdef double eps = tolerance_by_r(self.todo.eps, self.smo.r(), self.smo.rounding())
        if eps >= self.control.eps:
            return False
        self.control.eps = eps
        return True

    cdef double gap(self) noexcept nogil:
        """The KKT gap of the current solve."""
        cdef Certificate sides[2]
        cdef Py_ssize_t v
        begin(&sides[0])
        begin(&sides[1])
        for v in range(self.dual.size):
            add_variable(&sides[self.group[v]], v, self.scores[v], self.beta[v] < self.upper[v],
                         self.beta[v] > self.lower[v], False)
        return max(gap_of(&sides[0]), gap_of(&sides[1]))

    cdef bint may_hide_gap(self, const int32_t *rows) noexcept nogil:
        """Whether the error of kernel values in float may exceed the tolerance."""
        cdef double squares = 0.0, largest = 0.0
        cdef Py_ssize_t v
        for v in range(self.dual.size):
            squares += self.beta[v] * self.beta[v]
            largest = max(largest, fabs(self.todo.kernel_values.diagonal[rows[self.row[v]]]))
        return rounding_may_hide(largest, squares, self.control.eps)

    cdef int check_gap(self, Task *task, const int32_t *rows) except -1 with gil:
        """Recompute the gap with kernel values in double."""
        cdef Py_ssize_t m = self.dual.size
        members = zeros("i", task.n)
        cdef int32_t[::1] member = members
        memcpy(&member[0], rows, task.n * sizeof(int32_t))
        problem = DualProblem(self.linear[:m], self.lower[:m], self.upper[:m], self.group[:m], self.row[:m], self.start[:m])
        solution = DualSolution(beta=self.beta[:m], scores=self.scores[:m], rho=0.0, objective=0.0, iterations=task.iterations,
                                status=SolveStatus.CONVERGED, gap=task.gap)
        solution = checked(solution, problem, self.todo.kernel_values.kernel.part(members), self.control)
        task.gap, task.rounding = solution.gap, solution.status == SolveStatus.ROUNDING
        return 0

    cdef int finish(self, const Task *task, const double *coefficients) except -1 nogil:
        """Decision values of the held-out rows; then the sigmoid or fold whose last solve this was.

        With ``by_group``, folds are evaluated at the end by all threads.
        """
        if task.out < 0 and not self.decide(task, coefficients, task.found.rho):
            return 0
        if task.sigmoid >= 0 and svmx_counted_down(&self.todo.sigmoids[task.sigmoid].left):
            self.fit(&self.todo.sigmoids[task.sigmoid])
        if task.fold >= 0 and svmx_counted_down(&self.todo.folds[task.fold].left):
            self.todo.folds[task.fold].solved = True
            if not self.todo.by_group:
                self.evaluate(&self.todo.folds[task.fold])
        return 0

    cdef bint goes_on(self, int64_t lanes) except -1 nogil:
        """Count the work of a row's kernel values with a panel; False if the call must stop."""
        self.control.worked(lanes * self.row_elements)
        return not svmx_tickets_over(self.tickets)

    cdef bint pose(self, Task *task, const int32_t *rows) noexcept nogil:
        """Set the dual problem and its start; whether the parent's optimum is that of the task, too."""
        cdef const double *own = self.todo.targets + task.targets
        cdef Py_ssize_t i, l = task.n
        for i in range(l):
            self.targets[i] = own[i] if task.n_positive < 0 else 1.0 if i < task.n_positive else -1.0
            if task.weights != NULL:
                self.weights[i] = task.weights[rows[i]]
        self.dual.size = task.n_variables
        self.write_dual(task)
        return has_start(task) and not task.from_nothing and task.growth == 0 and self.starts.begin(task, &self.dual)

    cdef void write_dual(self, const Task *task) noexcept nogil:
        """Write the dual problem with LIBSVM's start."""
        write_dual(&task.of, task.n, &self.targets[0], task.Cp, task.Cn, &self.weights[0] if task.weights != NULL else NULL,
                   &self.dual)

    cdef int lay_out(self, Task *task, const int32_t *rows) except -1 nogil:
        """Set ``smo`` to the dual problem, with a warm start if the task has one."""
        cdef Py_ssize_t v
        cdef int groups = 1, y
        cdef bint negative, seeded = False
        if task.growth > 0:
            seeded = True
            self.starts.begin_larger(task, &self.dual, &self.scores[0])
        elif has_start(task) and not task.from_nothing:
            seeded = self.starts.make(task, &self.dual, &self.scores[0])
            if not seeded:
                task.from_nothing, self.control.eps = True, self.todo.eps
                self.write_dual(task)
        for v in range(self.dual.size):
            if self.group[v]:
                groups = 2
        self.smo.begin(self.dual.size, task.n, groups)
        for v in range(self.dual.size):
            negative = self.group[v] if groups == 2 else self.lower[v] < 0
            y = -1 if negative else 1
            self.smo.put(v, <int32_t>v, self.linear[v], y * self.start[v] + 0.0,
                         y * (self.lower[v] if negative else self.upper[v]) + 0.0, y,
                         self.todo.kernel_values.diagonal[rows[self.row[v]]])
        if seeded:
            memcpy(&self.smo.V[0], &self.scores[0], self.dual.size * sizeof(double))
            self.smo.scores_known = True
        return 0

    cdef bint decide(self, const Task *task, const double *coefficients, double rho) except -1 nogil:
        """Decision values of the held-out rows: sum of coefficient K, in the order of the rows, minus rho.

        False if the call must stop.
        """
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef const int32_t *held = rows + task.n
        cdef const int32_t *place = held + task.n_held
        cdef double *out = &self.todo.value[task.values]
        cdef double *total = svmx_aligned(&self.panel[0])
        cdef double *values = total + SVMX_TESTS
        cdef Py_ssize_t at = 0, lanes, i, r
        if self.todo.held_by_floats:
            return self.decide_by_floats(task, coefficients, rho)
        while at < task.n_held:
            lanes = min(<Py_ssize_t>SVMX_TESTS, task.n_held - at)
            self.load(held + at, lanes)
            memset(total, 0, SVMX_TESTS * sizeof(double))
            for i in range(task.n):
                if coefficients[i] != 0:
                    self.fill(rows[i], lanes, values)
                    svmx_weighted_sum(1, &coefficients[i], values, total)
                    if not self.goes_on(lanes):
                        return False
            for r in range(lanes):
                out[place[at + r]] = total[r] - rho
            at += lanes
        return True

    cdef bint decide_by_floats(self, const Task *task, const double *coefficients, double rho) except -1 nogil:
        """``decide`` with the solve's kernel rows, in float."""
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef const int32_t *held = rows + task.n
        cdef const int32_t *place = held + task.n_held
        cdef double *out = &self.todo.value[task.values]
        cdef const float *K
        cdef Py_ssize_t i, r
        if self.todo.has_larger:
            return self.decide_in_column(task, coefficients, rho)
        for r in range(task.n_held):
            self.column[r], self.total[r] = self.kernel_rows.values.place_of(held[r]), 0.0
        for i in range(task.n):
            if coefficients[i] == 0:
                continue
            K = self.kernel_rows.values.at(self.kernel_rows.values.place_of(rows[i]))
            svmx_axpy_at(task.n_held, coefficients[i], K, &self.column[0], &self.total[0])
            self.control.worked(2 * task.n_held)
            if svmx_tickets_over(self.tickets):
                return False
        for r in range(task.n_held):
            out[place[r]] = self.total[r] - rho
        return True

    cdef bint decide_in_column(self, const Task *task, const double *coefficients, double rho) except -1 nogil:
        """``decide_by_floats`` at growing C: kernel values of the rows are kept from one C to the next, and the
        parent's sums, scaled with its beta, are updated by the changes of coefficients."""
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef const int32_t *held = rows + task.n
        cdef double *out = &self.todo.value[task.values]
        cdef const double *former
        cdef float *K
        cdef Parent parent = Parent(NULL, NULL, NULL, NULL)
        cdef double change
        cdef Py_ssize_t i, r
        for r in range(task.n_held):
            out[r] = 0.0
        if task.growth > 0:
            parent = self.todo.parent_of(task)
            former = &self.todo.value[parent.task.values]
            for r in range(task.n_held):
                out[r] = self.starts.drawn_out * (former[r] + parent.task.found.rho)
        else:
            memset(&self.is_gathered[0], 0, task.n)
            for r in range(task.n_held):
                self.column[r] = self.kernel_rows.values.place_of(held[r])
        for i in range(task.n):
            change = coefficients[i]
            if task.growth > 0:
                change -= self.starts.drawn_out * (parent.beta[i] + (parent.beta[task.n + i] if self.todo.doubled else 0.0))
            if change == 0:
                continue
            K = &self.gathered[i * task.n_held]
            if not self.is_gathered[i]:
                self.is_gathered[i] = True
                svmx_gather(task.n_held, self.kernel_rows.values.at(self.kernel_rows.values.place_of(rows[i])),
                            &self.column[0], K)
            svmx_axpy_row(task.n_held, change, K, out)
            self.control.worked(2 * task.n_held)
            if svmx_tickets_over(self.tickets):
                return False
        for r in range(task.n_held):
            out[r] -= rho
        return True

    cdef void fit(self, Sigmoid *sigmoid) noexcept nogil:
        """Fit the sigmoid of a pair of classes to its decision values."""
        cdef double *y
        cdef Py_ssize_t i
        sigmoid.done = True
        if sigmoid.n == 0:
            return
        y = &self.labels[0]
        for i in range(sigmoid.n):
            y[i] = 1.0 if i < sigmoid.n_positive else -1.0
        sigmoid.trouble = fit(sigmoid.n, &self.todo.value[sigmoid.values], y, y + sigmoid.n, &sigmoid.A, &sigmoid.B)

    cdef int evaluate(self, Fold *fold) except -1 nogil:
        """Decision values of all functions, each summed over the rows of its first class, then of the other."""
        cdef const int32_t *rows = self.todo.rows + fold.first
        cdef const int32_t *held = rows + fold.n
        cdef const int32_t *solves = held + fold.n_held
        cdef const int32_t *start = solves + fold.n_functions
        cdef double *values = svmx_aligned(&self.panel[0])
        cdef double *total = values + SVMX_TESTS
        cdef double *out
        cdef Py_ssize_t at = 0, lanes, r, f
        while at < fold.n_held:
            lanes = min(<Py_ssize_t>SVMX_TESTS, fold.n_held - at)
            self.load(held + at, lanes)
            memset(total, 0, fold.n_functions * SVMX_TESTS * sizeof(double))
            if not self.add_up(fold, rows, solves, start, lanes, values, total):
                return 0
            out = &self.todo.value[fold.values + at * fold.n_functions]
            for f in range(fold.n_functions):
                for r in range(lanes):
                    out[r * fold.n_functions + f] = total[f * SVMX_TESTS + r] - self.todo.tasks[solves[f]].found.rho
            at += lanes
        fold.done = True
        return 0

    cdef int load(self, const int32_t *rows, Py_ssize_t lanes) except -1 nogil:
        """Load the rows of a panel for ``fill``."""
        cdef Py_ssize_t r
        if self.todo.by_floats:
            for r in range(lanes):
                self.loaded[r] = self.kernel_rows.values.at(self.kernel_rows.values.place_of(rows[r]))
        elif self.todo.tabulates:
            for r in range(lanes):
                self.tabulated[r] = &self.todo.table[rows[r] * self.todo.kernel_values.n]
        else:
            self.cross.load(rows, lanes)
        return 0

    cdef int fill(self, int32_t row, Py_ssize_t lanes, double *values) except -1 nogil:
        """K of the loaded rows with another: LIBSVM's in double, or the solves' in float."""
        cdef int32_t place
        cdef Py_ssize_t r
        if self.todo.by_floats:
            place = self.kernel_rows.values.place_of(row)
            for r in range(lanes):
                values[r] = self.loaded[r][place]
        elif self.todo.tabulates:
            for r in range(lanes):
                values[r] = self.tabulated[r][row]
        else:
            self.cross.fill(row, row + 1, values)
        return 0

    cdef bint add_up(self, const Fold *fold, const int32_t *rows, const int32_t *solves, const int32_t *start,
                     Py_ssize_t lanes, double *values, double *total) except -1 nogil:
        """Add up the sums of a panel for ``evaluate``; False if the call must stop."""
        cdef const double *coefficient
        cdef Py_ssize_t q, f
        cdef int c, d
        cdef bint filled
        for c in range(fold.k):
            for q in range(start[c], start[c + 1]):
                filled = False
                for d in range(fold.k if fold.k > 1 else 1):
                    if d == c and fold.k > 1:
                        continue
                    f = 0
                    if fold.k > 1:
                        f = min(c, d) * (2 * fold.k - min(c, d) - 1) // 2 + max(c, d) - min(c, d) - 1
                    coefficient = &self.todo.coefficient[self.todo.tasks[solves[f]].out] + q - start[c]
                    if d < c:
                        coefficient += start[d + 1] - start[d]
                    if coefficient[0] != 0:
                        if not filled:
                            self.fill(rows[q], lanes, values)
                            filled = True
                        svmx_weighted_sum(1, coefficient, values, total + SVMX_TESTS * f)
                if filled and not self.goes_on(lanes):
                    return False
        return True


# ---- The queue -------------------------------------------------------------------------------------

# With fewer units, threads would idle at the end.
cdef int UNITS_PER_THREAD = 4


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
        found.seeder, found.chooses, found.seeds, found.has_models = self.seeder, self.chooses, self.seeds, self.has_models
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
                (<Worker>self.worker[0]).fit(&self.sigmoids[k])
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
        self.level = zeros("b", self.n_tasks)
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
        order_ = zeros("q", n)
        cdef int64_t[::1] order = order_
        n = 0
        for t in range(self.n_tasks):
            if self.level[t] == level:
                order[n] = t
                n += 1
        return order_, filled("q", range(n + 1))

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
        """A unit for each group of kernel values, each solve after its parent."""
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
                    worker.tabulate()
                elif self.phase == SOLVING:
                    worker.work()
                else:
                    worker.evaluate_solved()
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
        cdef Py_ssize_t k, t, width = len(NUMBERS)
        cdef Task *task
        numbers = zeros("d", len(solves) * width)
        cdef double[::1] out = numbers
        cdef double *own
        for k, t in enumerate(solves):
            task = self.task(t)
            own = &out[k * width]
            own[0], own[1], own[2] = <double>task.iterations, task.found.objective, task.found.rho
            own[3], own[4], own[5] = <double>task.found.n_sv, <double>task.found.n_bsv, task.found.value
            own[6], own[7] = <double>task.rows_computed, <double>task.values_computed
            own[8], own[9], own[10] = task.gap, task.reach, task.seconds
            own[11] = task.found.has_value
        return SolveReports(numbers, QUANTITIES[self.param.svm_type], self.chosen())

    def summed(self, Py_ssize_t first, Py_ssize_t last):
        """One report of solves ``first`` to ``last`` - 1: sums, largest gap, status DEGENERATE, or the first other than
        CONVERGED; rho of a single one, else nan."""
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
        return SolveReport(
            iterations=iterations, objective=objective, rho=rho, n_sv=n_sv, n_bsv=n_bsv, status=status, rows_computed=rows,
            values_computed=values, gap=gap if last > first else 0.0, reach=reach, seconds=seconds, chosen=self.chosen())

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
