"""What does the tasks of a queue: one worker a thread, with memory for the largest of them."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.clock cimport svmx_nanoseconds
from libsvmx._core.test_panels cimport SVMX_LINE, SVMX_TESTS, svmx_aligned, svmx_weighted_sum
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._core.tickets cimport svmx_counted_down, svmx_next_ticket, svmx_tickets, svmx_tickets_over
from libsvmx._problem.certificate cimport Certificate, add_variable, begin, gap_of
from libsvmx._solvers.smo.smo cimport Optimum, Smo
from libsvmx._train.formulation cimport recover, write_dual
from libsvmx._train.probability cimport fit

# Elements worked on from one question whether to stop to the next: a fraction of a millisecond, over several solves.
cdef int64_t ASK_WORK = 100000

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()


cdef class QueueControl(Control):
    """The Control of one worker: marks are kept with the task, and the end of the call is that of all workers."""

    cdef int mark(self, int kind) except -1 nogil:
        cdef Task *task = self.task
        cdef void *grown
        if task.n_marks == task.room:
            grown = realloc(task.marks, 2 * task.room + 16)
            if grown == NULL:
                with gil:
                    raise MemoryError("marks of progress")
            task.marks, task.room = <char *>grown, 2 * task.room + 16
        task.marks[task.n_marks] = <char>kind
        task.n_marks += 1
        return 0

    cdef int worked(self, int64_t amount) except -1 nogil:
        self.work += amount
        if self.work > ASK_WORK:
            self.work = 0
            self.poll()
        return 0

    cdef int poll(self) except -1 nogil:
        """As a solve begins, too; a short one needs no question of its own."""
        if self.work == 0 and PyThread_get_thread_ident() == self.owner:
            with gil:
                PyErr_CheckSignals()
                self.should_stop()
        if svmx_tickets_over(self.tickets):
            self.expired = True
        return 0


cdef class Worker:
    """Worker(todo, should_stop): memory for the largest solve of ``todo``, a TaskList, and what does its tasks one by one."""

    def __init__(self, TaskList todo, should_stop):
        cdef Py_ssize_t l = max(1, todo.most_rows), m = 2 * l if todo.doubled else l
        param = todo.param
        self.todo = todo
        self.control = QueueControl(param.eps, param.shrinking, param.max_iter, should_stop=should_stop)
        self.kernel_rows = GramRows(todo.kernel_values.of_thread(), l, m, ThreadPool(1))
        self.smo = Smo.for_many(m, 2, self.control, self.kernel_rows)
        self.targets, self.weights, self.coefficients = zeros("d", l), zeros("d", l), zeros("d", l)
        self.linear, self.lower, self.upper, self.start = (zeros("d", m) for _ in range(4))
        self.beta, self.scores, self.group, self.row = zeros("d", m), zeros("d", m), zeros("b", m), zeros("i", m)
        self.dual = Dual(m, &self.linear[0], &self.lower[0], &self.upper[0], &self.start[0], &self.group[0], &self.row[0])
        self.labels = zeros("d", 2 * todo.most_labels)
        if todo.predicts:
            self.row_elements = todo.matrix.nnz // max(1, todo.kernel_values.n) + 1
            self.panel = zeros("d", (1 + max(1, todo.most_functions)) * SVMX_TESTS + 2 * SVMX_LINE)
            self.cross = CrossKernel(todo.matrix, param.kernel_type, param.degree, param.gamma, param.coef0)
            self.cross.prepare(todo.matrix, ramp(todo.kernel_values.n))

    cdef void share(self, svmx_tickets *tickets) noexcept:
        """Where it draws the numbers of its tasks, as the other workers do."""
        self.tickets = self.control.tickets = tickets

    cdef int work(self) except -1 nogil:
        cdef const int64_t *unit = &self.todo.unit[0]
        cdef int64_t t, n_units = self.todo.unit.shape[0] - 1, u = svmx_next_ticket(self.tickets)
        while u < n_units:
            for t in range(unit[u], unit[u + 1]):
                self.solve(&self.todo.tasks[self.todo.order[t]])
            u = svmx_next_ticket(self.tickets)
        return 0

    cdef int evaluate_solved(self) except -1 nogil:
        """Folds that are waiting, as they come."""
        cdef int64_t f = svmx_next_ticket(self.tickets)
        while f < self.todo.n_folds:
            if self.todo.folds[f].solved and not self.todo.folds[f].done:
                self.evaluate(&self.todo.folds[f])
            f = svmx_next_ticket(self.tickets)
        return 0

    cdef int solve(self, Task *task) except -1 nogil:
        cdef double began = svmx_nanoseconds()
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef Certificate sides[2]
        cdef Optimum optimum
        cdef Py_ssize_t v
        cdef double *coefficients = &self.coefficients[0] if task.out < 0 else &self.todo.coefficient[task.out]
        self.control.task = task
        self.lay_out(task, rows)
        task.converged = self.smo.optimize()
        self.smo.write(&optimum, &self.beta[0], &self.scores[0])
        task.iterations = self.smo.iterations
        task.begun = task.converged or task.iterations > 0
        task.rows_computed = self.kernel_rows.rows_computed
        task.values_computed = task.rows_computed * self.dual.size
        task.found.rho, task.found.objective = optimum.rho, optimum.objective
        recover(&self.todo.of, task.n, &self.weights[0] if self.todo.weighted else NULL, &self.dual, &self.beta[0],
                optimum.r, coefficients, &task.found)
        begin(&sides[0])
        begin(&sides[1])
        for v in range(self.dual.size):
            add_variable(&sides[self.group[v]], v, self.scores[v], self.beta[v] < self.upper[v],
                         self.beta[v] > self.lower[v], False)
        task.gap = max(gap_of(&sides[0]), gap_of(&sides[1]))
        task.seconds = 1e-9 * (svmx_nanoseconds() - began)
        if task.converged or not svmx_tickets_over(self.tickets):
            self.finish(task, coefficients)
        return 0

    cdef int finish(self, const Task *task, const double *coefficients) except -1 nogil:
        """Decision values of the rows held out; then the sigmoid or the fold of which this was the last solve.

        Where folds are solved all at the very end, their evaluation is left to all threads together.
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
        """Whether the call has not come to its end; after a row's kernel values with those of a panel."""
        self.control.worked(lanes * self.row_elements)
        return not svmx_tickets_over(self.tickets)

    cdef void lay_out(self, const Task *task, const int32_t *rows) noexcept nogil:
        """The dual problem, and the same in LIBSVM's variables."""
        cdef Py_ssize_t i, v, l = task.n
        cdef int groups = 1, y
        cdef bint negative
        for i in range(l):
            self.targets[i] = self.todo.targets[rows[i]] if task.n_positive < 0 else 1.0 if i < task.n_positive else -1.0
            if self.todo.weighted:
                self.weights[i] = self.todo.weights[rows[i]]
        self.dual.size = 2 * l if self.todo.doubled else l
        write_dual(&self.todo.of, l, &self.targets[0], task.Cp, task.Cn,
                   &self.weights[0] if self.todo.weighted else NULL, &self.dual)
        for v in range(self.dual.size):
            if self.group[v]:
                groups = 2
        self.kernel_rows.begin(rows, l, self.todo.doubled)
        self.smo.begin(self.dual.size, l, groups)
        for v in range(self.dual.size):
            negative = self.group[v] if groups == 2 else self.lower[v] < 0
            y = -1 if negative else 1
            self.smo.put(v, <int32_t>v, self.linear[v], y * self.start[v] + 0.0,
                         y * (self.lower[v] if negative else self.upper[v]) + 0.0, y,
                         self.todo.kernel_values.diagonal[rows[self.row[v]]])

    cdef bint decide(self, const Task *task, const double *coefficients, double rho) except -1 nogil:
        """Decision values of the rows held out: sum of coefficient K, in the order of the rows, minus rho.

        False if the call has come to its end before.
        """
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef const int32_t *held = rows + task.n
        cdef const int32_t *place = held + task.n_held
        cdef double *out = &self.todo.value[task.values]
        cdef double *total = svmx_aligned(&self.panel[0])
        cdef double *values = total + SVMX_TESTS
        cdef Py_ssize_t at = 0, lanes, i, r
        while at < task.n_held:
            lanes = min(<Py_ssize_t>SVMX_TESTS, task.n_held - at)
            self.cross.load(held + at, lanes)
            memset(total, 0, SVMX_TESTS * sizeof(double))
            for i in range(task.n):
                if coefficients[i] != 0:
                    self.cross.fill(rows[i], rows[i] + 1, values)
                    svmx_weighted_sum(1, &coefficients[i], values, total)
                    if not self.goes_on(lanes):
                        return False
            for r in range(lanes):
                out[place[at + r]] = total[r] - rho
            at += lanes
        return True

    cdef void fit(self, Sigmoid *sigmoid) noexcept nogil:
        """The sigmoid of a pair of classes from its decision values."""
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
        """Decision values of all functions, the sum of each pair over the rows of its first class, then of the other."""
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
            self.cross.load(held + at, lanes)
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

    cdef bint add_up(self, const Fold *fold, const int32_t *rows, const int32_t *solves, const int32_t *start,
                     Py_ssize_t lanes, double *values, double *total) except -1 nogil:
        """The sums of a panel for ``evaluate``; False if the call has come to its end before."""
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
                            self.cross.fill(rows[q], rows[q] + 1, values)
                            filled = True
                        svmx_weighted_sum(1, coefficient, values, total + SVMX_TESTS * f)
                if filled and not self.goes_on(lanes):
                    return False
        return True
