"""The solves of a queue, by one thread."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from libsvmx._core.allocation cimport reserve
from libsvmx._core.arrays cimport memory
from libsvmx._core.clock cimport svmx_nanoseconds
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.stopping cimport Control
from libsvmx._core.tickets cimport svmx_next_ticket, svmx_tickets, svmx_tickets_over
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._solvers.dual cimport (
    Certificate, Dual, DualProblem, DualSolution, add_variable, begin, gap_of, rounding_may_hide, width_of_rho)
from libsvmx._solvers.seeding.paying cimport COLD, SEEDED
from libsvmx._solvers.smo.conjugate cimport Direction
from libsvmx._solvers.smo.positions cimport GBar
from libsvmx._solvers.smo.smo cimport Optimum, Smo
from libsvmx._solvers.smo.warm cimport QueuedWarmSmo
from libsvmx._train.formulation cimport recover, write_dual
from libsvmx._train.queue.decisions cimport QueueDecisions
from libsvmx._train.queue.starts cimport QueueStarts
from libsvmx._train.queue.tasks cimport Parent, Task, TaskList, has_start

from libsvmx._core.buffers import zeros
from libsvmx._solvers.smo.solver import checked
from libsvmx.enums import SolveStatus


# Elements worked on between two checks for a stop: a fraction of a millisecond, over several solves.
cdef int64_t ASK_WORK = 100000

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()


cdef class QueueControl(Control):
    """The Control of a worker: marks are kept with the task, and all workers stop together."""

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

    def __init__(self, TaskList todo, should_stop, max_iter):
        cdef Py_ssize_t l = max(1, todo.most_rows), m = 2 * l if todo.doubled else l
        param = todo.param
        self.todo, self.last_task = todo, -1
        self.control = QueueControl(param.eps, param.shrinking, max_iter, should_stop=should_stop)
        self.kernel_rows = GramRows(todo.kernel_values.of_thread(), l, m, ThreadPool(1))
        # one buffer for all: each takes as long as twenty steps
        cdef double[::1] doubles = memory("d", 3 * l + 6 * m)
        self.targets, self.weights, self.coefficients = doubles[:l], doubles[l:2 * l], doubles[2 * l:3 * l]
        doubles = doubles[3 * l:]
        self.linear, self.lower, self.upper = doubles[:m], doubles[m:2 * m], doubles[2 * m:3 * m]
        self.start, self.beta, self.scores = doubles[3 * m:4 * m], doubles[4 * m:5 * m], doubles[5 * m:]
        self.group, self.row = memory("b", m), memory("i", m)
        self.cold = Smo.__new__(Smo)
        self.cold.solve_many(m, self.control, self.kernel_rows)
        self.cold.G_bar = GBar(m, m)
        if todo.has_starts:
            self.warm = QueuedWarmSmo.__new__(QueuedWarmSmo)
            self.warm.solve_many(m, self.control, self.kernel_rows)
            self.warm.start_beta, self.warm.start_scores = self.start, self.scores
            self.warm.direction = Direction(m)
        self.starts = QueueStarts(todo, self.kernel_rows, self.control, l) if todo.has_starts else None
        self.dual = Dual(m, &self.linear[0], &self.lower[0], &self.upper[0], &self.start[0], &self.group[0], &self.row[0])
        self.decisions = QueueDecisions(todo, self.kernel_rows, self.control, self.starts)

    cdef void share(self, svmx_tickets *tickets) noexcept:
        """Set the source of task numbers, shared with the other workers."""
        self.tickets = self.control.tickets = self.decisions.tickets = tickets

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

    cdef int solve(self, Task *task) except -1 nogil:
        cdef double began = svmx_nanoseconds()
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef Optimum optimum
        cdef Parent parent
        cdef Py_ssize_t left, v
        cdef bint stands, warm, seeded = has_start(task)
        cdef double *coefficients = &self.coefficients[0] if task.out < 0 else &self.todo.coefficient[task.out]
        self.control.task, self.control.eps = task, self.todo.eps
        if seeded:
            self.starts.follow(task)
        if seeded and task.out >= 0 and self.take_over(task, coefficients):
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
            task.start_kind, task.converged, task.begun, task.reach = SEEDED, True, True, 1.0
            optimum.rho, optimum.objective, optimum.r = parent.task.found.rho, parent.task.found.objective, parent.task.r
            if task.turned:
                optimum.rho = -optimum.rho
            task.gap = parent.task.gap
        else:
            warm = seeded and self.make_start(task)
            if seeded:
                task.seeding_seconds = 1e-9 * (svmx_nanoseconds() - began)
            if warm:
                self.optimize(self.warm, task, rows, &optimum)
            else:
                self.optimize(self.cold, task, rows, &optimum)
            if task.of_earlier and task.pilot >= 0:
                self.todo.earlier.tasks[task.parent].pilot_kind[task.pilot] = task.start_kind
                self.todo.earlier.tasks[task.parent].pilot_work[task.pilot] = task.start_work + task.work
            if task.converged and self.may_hide_gap(rows):
                self.check_gap(task, rows)
            if task.weights != NULL or task.Cp != task.Cn:  # with equal bounds, rho does not depend on rounding
                task.width = width_of_rho(&self.dual, &self.beta[0], &self.scores[0])
        if task.keeps:
            memcpy(&self.todo.kept_beta[task.optimum], &self.beta[0], task.n_variables * sizeof(double))
            memcpy(&self.todo.kept_scores[task.optimum], &self.scores[0], task.n_variables * sizeof(double))
            for v in range(task.n_variables):
                self.todo.kept_free[task.optimum + v] = self.lower[v] < self.beta[v] < self.upper[v]
        task.found.rho, task.found.objective = optimum.rho, optimum.objective
        task.r = optimum.r
        recover(&task.of, task.n, &self.weights[0] if task.weights != NULL else NULL, &self.dual, &self.beta[0], optimum.r,
                coefficients, &task.found)
        if stands and self.todo.divides:  # the parent's are already divided by r
            task.found.rho, task.found.objective = optimum.rho, optimum.objective
        if task.closed:
            left = self.todo.rows[task.left]
            self.todo.value[task.values] = (self.linear[left] - self.scores[left]) * (
                1 / optimum.r if self.todo.divides else 1.0) - task.found.rho
        task.seconds = 1e-9 * (svmx_nanoseconds() - began)
        if task.converged or not svmx_tickets_over(self.tickets):
            self.decisions.finish(task, coefficients)
        return 0

    cdef bint make_start(self, Task *task) except -1 nogil:
        """Make the start of a task that has one, beta and scores; whether a WarmSmo goes on from it."""
        if task.growth > 0:
            task.start_kind = SEEDED
            self.starts.begin_larger(task, &self.dual, &self.scores[0])
        elif not self.starts.make(task, &self.dual, &self.scores[0]):
            task.start_kind, task.start_work, self.control.eps = COLD, 0.0, self.todo.eps
            self.write_dual(task)
        # at a larger C, kernel rows stay in place if no variable moves
        return task.start_kind != COLD and task.growth == 0 and not self.todo.tries

    cdef int optimize(self, Smo smo, Task *task, const int32_t *rows, Optimum *optimum) except -1 nogil:
        """Solve the dual problem from its start."""
        self.lay_out(smo, task, rows)
        if self.todo.tries:
            self.try_out(task)
        else:
            task.converged = smo.optimize()
        if self.todo.stops_by_r(task):
            task.converged = smo.refined_by_r(self.todo.eps, task.converged)
        if has_start(task):
            smo.to_bounds()
        smo.write(optimum, &self.beta[0], &self.scores[0])
        task.iterations, task.reach = smo.iterations, 1.0 if has_start(task) else smo.reach
        task.work = smo.work()
        task.begun = task.converged or task.iterations > 0
        task.rows_computed = self.kernel_rows.rows_computed
        task.values_computed = task.rows_computed * self.dual.size
        task.gap = self.gap()
        task.rounding = smo.stalled
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
        self.decisions.finish(task, coefficients)
        return True

    cdef int try_out(self, Task *task) except -1 nogil:
        """The steps of ``todo.trial``, which is asked only from its first check on."""
        if self.control.max_iter == 0:
            task.converged = self.cold.advance_to(self.todo.unchecked[task.n])
        if not task.converged:
            with gil:
                task.converged, task.too_slow = self.todo.trial.run(self.cold, task.n, self.control)
        if not task.converged:
            self.cold.bring_back()
        return 0

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
        cdef Py_ssize_t m = self.dual.size, v
        for v in range(m):
            if self.beta[v] != 0:
                task.values_checked += task.n
        members = zeros("i", task.n)
        cdef int32_t[::1] member = members
        memcpy(&member[0], rows, task.n * sizeof(int32_t))
        problem = DualProblem(self.linear[:m], self.lower[:m], self.upper[:m], self.group[:m], self.row[:m], self.start[:m])
        solution = DualSolution(beta=self.beta[:m], scores=self.scores[:m], rho=0.0, objective=0.0, iterations=task.iterations,
                                status=SolveStatus.CONVERGED, gap=task.gap)
        solution = checked(solution, problem, self.todo.kernel_values.kernel.part(members), self.control)
        task.gap, task.rounding = solution.gap, solution.status == SolveStatus.ROUNDING
        return 0

    cdef bint pose(self, Task *task, const int32_t *rows) noexcept nogil:
        """Set the dual problem and its start; whether the parent's optimum is that of the task, too."""
        cdef const double *own = self.todo.targets + task.targets
        cdef Py_ssize_t i, l = task.n
        for i in range(l):
            self.targets[i] = own[i] if task.n_positive < 0 else 1.0 if i < task.n_positive else -1.0
            if task.weights != NULL or task.closed:
                self.weights[i] = task.weights[rows[i]] if task.weights != NULL else 1.0
        if task.closed:
            self.weights[self.todo.rows[task.left]] = 0.0
        self.dual.size = task.n_variables
        self.write_dual(task)
        return has_start(task) and task.growth == 0 and self.starts.begin(task, &self.dual)

    cdef void write_dual(self, const Task *task) noexcept nogil:
        """Write the dual problem with LIBSVM's start."""
        cdef bint weighted = task.weights != NULL or task.closed
        write_dual(&task.of, task.n, &self.targets[0], task.Cp, task.Cn, &self.weights[0] if weighted else NULL, &self.dual)

    cdef void lay_out(self, Smo smo, const Task *task, const int32_t *rows) noexcept nogil:
        """Set ``smo`` to the dual problem with its start."""
        cdef Py_ssize_t v
        cdef int groups = 1, y
        cdef bint negative
        for v in range(self.dual.size):
            if self.group[v]:
                groups = 2
        smo.begin(self.dual.size, task.n, groups)
        for v in range(self.dual.size):
            negative = self.group[v] if groups == 2 else self.lower[v] < 0
            y = -1 if negative else 1
            smo.put(v, <int32_t>v, self.linear[v], y * self.start[v] + 0.0,
                    y * (self.lower[v] if negative else self.upper[v]) + 0.0, y,
                    self.todo.kernel_values.diagonal[rows[self.row[v]]])
            if self.lower[v] == self.upper[v]:
                smo.close(v)
        smo.scores_known = task.start_kind != COLD
        if smo.scores_known:
            memcpy(&smo.V[0], &self.scores[0], self.dual.size * sizeof(double))
