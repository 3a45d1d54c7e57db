"""What follows the solves of a queue: decision values of held-out rows, and the sigmoids and folds that wait for them."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.arrays cimport memory
from libsvmx._core.dispatch cimport (
    SVMX_LINE, SVMX_TESTS, svmx_aligned, svmx_axpy_at, svmx_axpy_row, svmx_gather, svmx_weighted_sum)
from libsvmx._core.stopping cimport Control
from libsvmx._core.tickets cimport svmx_counted_down, svmx_next_ticket, svmx_tickets_over
from libsvmx._kernels.cross cimport CrossKernel
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._train.probability cimport fit
from libsvmx._train.queue.starts cimport QueueStarts
from libsvmx._train.queue.tasks cimport Fold, Parent, Sigmoid, Task, TaskList

from libsvmx._core.arrays import empty, ramp
from libsvmx._core.buffers import zeros


cdef class QueueDecisions:
    """QueueDecisions(todo, kernel_rows, control, starts): those of one thread's solves.

    ``kernel_rows``: set to the solve whose decision values are computed; ``starts``: None if no task has a parent.
    """

    def __init__(self, TaskList todo, GramRows kernel_rows, Control control, QueueStarts starts):
        cdef Py_ssize_t l = max(1, todo.most_rows), n_held = todo.most_held
        param = todo.param
        self.todo, self.kernel_rows, self.control, self.starts = todo, kernel_rows, control, starts
        cdef double[::1] values
        if todo.n_values:
            values = memory("d", n_held + 2 * todo.most_labels)
            self.column, self.total, self.labels = memory("i", n_held), values[:n_held], values[n_held:]
        if todo.has_larger:
            self.gathered, self.is_gathered = empty("f", l * max(1, n_held)), zeros("b", l)
        self.row_elements = 1
        if todo.predicts:
            self.panel = memory("d", (1 + max(1, todo.most_functions)) * SVMX_TESTS + 2 * SVMX_LINE)
        if todo.crosses():
            self.row_elements = todo.matrix.nnz // max(1, todo.kernel_values.n) + 1
            self.cross = CrossKernel(todo.matrix, param.kernel_type, param.degree, param.gamma, param.coef0)
            self.everyone = ramp(todo.kernel_values.n)
            self.cross.prepare(todo.matrix, self.everyone)

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

    cdef int evaluate_solved(self) except -1 nogil:
        """Evaluate solved folds until there are no more."""
        cdef int64_t f = svmx_next_ticket(self.tickets)
        while f < self.todo.n_folds:
            if self.todo.folds[f].solved and not self.todo.folds[f].done:
                self.evaluate(&self.todo.folds[f])
            f = svmx_next_ticket(self.tickets)
        return 0

    cdef int finish(self, const Task *task, const double *coefficients) except -1 nogil:
        """Decision values of the held-out rows; then the sigmoid or fold whose last solve this was.

        With ``by_group``, folds are evaluated at the end by all threads.
        """
        if task.n_held > 0 and not self.decide(task, coefficients, task.found.rho):
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
        """``decide`` with the solve's kernel rows, in float. Of a column of growing C their values are kept from one C to
        the next, and the parent's sums, scaled with its beta, are updated by the changes of coefficients."""
        cdef const int32_t *rows = self.todo.rows + task.first
        cdef const int32_t *held = rows + task.n
        cdef const int32_t *place = held + task.n_held
        cdef double *out = &self.todo.value[task.values]
        cdef double *total = &self.total[0]
        cdef const double *former
        cdef const float *K
        cdef Parent parent = Parent(NULL, NULL, NULL, NULL, NULL)
        cdef double change
        cdef Py_ssize_t i, r
        if task.growth > 0:
            parent = self.todo.parent_of(task)
            former = &self.todo.value[parent.task.values]
            for r in range(task.n_held):
                total[r] = self.starts.drawn_out * (former[place[r]] + parent.task.found.rho)
        else:
            for r in range(task.n_held):
                self.column[r], total[r] = self.kernel_rows.values.place_of(held[r]), 0.0
            if self.todo.has_larger:
                memset(&self.is_gathered[0], 0, task.n)
        for i in range(task.n):
            change = coefficients[i]
            if task.growth > 0:
                change -= self.starts.drawn_out * (parent.beta[i] + (parent.beta[task.n + i] if self.todo.doubled else 0.0))
            if change == 0:
                continue
            if self.todo.has_larger:
                if not self.is_gathered[i]:
                    self.is_gathered[i] = True
                    K = self.kernel_rows.values.at(self.kernel_rows.values.place_of(rows[i]))
                    svmx_gather(task.n_held, K, &self.column[0], &self.gathered[i * task.n_held])
                svmx_axpy_row(task.n_held, change, &self.gathered[i * task.n_held], total)
            else:
                K = self.kernel_rows.values.at(self.kernel_rows.values.place_of(rows[i]))
                svmx_axpy_at(task.n_held, change, K, &self.column[0], total)
            self.control.worked(2 * task.n_held)
            if svmx_tickets_over(self.tickets):
                return False
        for r in range(task.n_held):
            out[place[r]] = total[r] - rho
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
