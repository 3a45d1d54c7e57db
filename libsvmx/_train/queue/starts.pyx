"""Where the solves of a queue start that follow an optimum over other rows: NEAR, SIR, MIR and ATO without the interpreter.

What each does is in _solvers/seeding. Here all is over the rows of the task alone, S and T; what R has had is handed over
by its kernel values with them. V of rows that are held out is computed when their fold is solved, for the next of the chain.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memcpy, memset

from libsvmx._core.buffers import zeros
from libsvmx._core.smo_steps cimport svmx_axpy_at
from libsvmx._kernels.gram cimport GramRows
from libsvmx._problem.certificate cimport project_chosen
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.ato_path cimport AtoPath
from libsvmx._solvers.seeding.path_budget cimport PathBudget, most_in_star, most_of_auto
from libsvmx._solvers.seeding.replacement cimport Replacement
from libsvmx._solvers.seeding.seeded_start cimport above, move_scores
from libsvmx._solvers.seeding.start_rows cimport ValueRows
from libsvmx._train.formulation cimport Dual
from libsvmx._train.queue.tasks cimport ATO, AUTO, MIR, SIR, Task, TaskList, has_start, work_of_steps

# Of the sum of |beta|: what a sum that should be 0 may be by rounding.
cdef double ROUNDING = 1e-10


cdef class QueueStarts:
    """QueueStarts(todo, kernel_rows, control, most_rows): of one worker, for tasks of at most so many rows."""

    def __init__(self, TaskList todo, GramRows kernel_rows, Control control, Py_ssize_t most_rows):
        cdef Py_ssize_t l = max(1, most_rows)
        self.todo, self.kernel_rows, self.control = todo, kernel_rows, control
        self.rows, self.last_task = ValueRows(kernel_rows.values), -1
        self.V, self.origin, self.leaving, self.before = (zeros("d", l) for _ in range(4))
        self.entering, self.new, self.free = zeros("b", l), zeros("i", l), zeros("i", l)
        self.is_new = zeros("b", max(1, todo.kernel_values.n))
        self.path, self.replacement, self.budget = AtoPath(), Replacement(), PathBudget()
        if todo.seeder in (ATO, AUTO):
            self.path.reserve(l, max(1, todo.kernel_values.n))
        if todo.seeder == MIR:
            self.replacement.reserve(l)

    cdef void look_up(self, Task *task) noexcept nogil:
        """What the parent of a task has come to, or the work that the first of its chain took."""
        cdef const Task *parent
        if task.parent >= 0:
            parent = &self.todo.tasks[task.parent]
            task.known_rho, task.known_objective, task.known_gap = parent.found.rho, parent.found.objective, parent.gap
            task.work_from_nothing = parent.work_from_nothing
            if not has_start(parent):
                task.work_from_nothing = work_of_steps(parent.n, parent.iterations)
        elif task.chained:
            task.work_from_nothing = self.todo.tasks[task.after].work_from_nothing

    cdef void begin_at_optimum(self, Task *task, const int32_t *rows, double *start) noexcept nogil:
        """``origin`` and V of the rows of a task, as they are in the optimum from which it starts; ``start`` is beta there."""
        cdef const int32_t *place = rows + task.n + 2 * task.n_held
        cdef const double *beta
        cdef const double *V
        cdef int64_t at
        cdef Py_ssize_t i
        self.look_up(task)
        if task.parent >= 0:
            beta = &self.todo.coefficient[self.todo.tasks[task.parent].out]
            V = &self.todo.score[self.todo.tasks[task.parent].out]
            for i in range(task.n):
                self.origin[i], self.V[i] = beta[place[i]], V[place[i]]
        else:
            beta, V = &self.todo.known[0], &self.todo.known_scores[0]
            for i in range(task.n):
                at = task.plane_positive if i < task.n_positive else task.plane_negative
                at = at * self.todo.kernel_values.n + rows[i]
                self.origin[i] = beta[at] if i < task.n_positive else -beta[at]
                self.V[i] = -V[at] if task.turned else V[at]
        memcpy(start, &self.origin[0], task.n * sizeof(double))

    cdef const int32_t *left_of(self, const Task *task) noexcept nogil:
        """The rows that left that optimum: those held out, if it is a parent's."""
        return self.todo.rows + task.first + task.n + (0 if task.parent >= 0 else 2 * task.n_held)

    cdef double beta_left(self, const Task *task, Py_ssize_t k) noexcept nogil:
        """beta of the k-th of them there."""
        cdef const int32_t *left = self.left_of(task)
        cdef int64_t n = self.todo.kernel_values.n
        if task.parent >= 0:
            return self.todo.coefficient[self.todo.tasks[task.parent].out + left[task.n_held + k]]
        if k < task.n_left_positive:
            return self.todo.known[task.plane_positive * n + left[k]]
        return -self.todo.known[task.plane_negative * n + left[k]]

    cdef bint stands(self, const Task *task) noexcept nogil:
        """Whether no row had a coefficient that left the optimum from which a task starts: then it is the task's own."""
        cdef Py_ssize_t k
        if task.chained or not task.known_gap < self.control.eps:
            return False
        for k in range(task.n_left):
            if self.beta_left(task, k) != 0:
                return False
        return True

    cdef const float *row_of(self, int32_t row) noexcept nogil:
        """K of a row of ``kernel_values``."""
        return self.kernel_rows.values.at(self.kernel_rows.values.place_of(row))

    cdef int make(self, Task *task, const int32_t *rows, Dual *dual, double *scores) except -1 nogil:
        """The start of a task whose beta is that of ``begin_at_optimum``, feasible, and V there. ``kernel_rows`` has its rows."""
        cdef const int32_t *left = self.left_of(task)
        cdef double most_work = task.work_from_nothing if task.work_from_nothing > 0 else HUGE_VAL
        self.describe(task, rows, dual)
        if self.todo.seeder in (ATO, AUTO):
            most_work = self.worth_a_path(task, most_work)
            if most_work > 0 and self.path.follow(&self.at, self.rows, self.control, most_work, scores):
                memcpy(&self.before[0], dual.beta, task.n * sizeof(double))
                memset(&self.leaving[0], 0, task.n * sizeof(double))
                self.at.V, task.along_path = scores, True
            else:
                self.hand_on(task, left)
        elif self.todo.seeder == MIR:
            self.replacement.replace(&self.at, self.rows, self.control, most_work)
        else:
            self.hand_on(task, left)
        if not self.make_feasible():
            memset(dual.beta, 0, task.n * sizeof(double))
            memcpy(scores, dual.linear, task.n * sizeof(double))
            return 0
        return move_scores(&self.at, &self.before[0], self.rows, self.control, scores)

    cdef double worth_a_path(self, const Task *task, double most_work) noexcept nogil:
        """How many values a path may work on."""
        cdef const Task *former
        cdef Py_ssize_t k, leaving = 0
        if not task.chained or self.last_task != task.after:
            self.path.forget()  # lest a start depends on what else this worker does
            self.budget.start(self.todo.n_tasks / <double>self.todo.n_chains if task.chained else HUGE_VAL)
        else:
            former = &self.todo.tasks[task.after]
            self.budget.note(former.along_path, self.path.whole, self.path.work,
                             work_of_steps(former.n, former.iterations))
        self.last_task = self.todo.number_of(task)
        if task.chained:
            return self.budget.most(most_work)
        if self.todo.seeder == ATO:
            return most_in_star(most_work)
        for k in range(task.n_left):
            leaving += self.beta_left(task, k) != 0
        return most_of_auto(most_work, most_work / work_of_steps(task.n, task.n), task.n, self.n_free, leaving)

    cdef int hand_on(self, const Task *task, const int32_t *left) except -1 nogil:
        """What costs next to nothing: SIR in a chain, NEAR in a star."""
        if task.chained and self.todo.seeder in (SIR, ATO):
            return self.replace_each(task, left)
        return self.hand_over_all(task, left)

    cdef int describe(self, const Task *task, const int32_t *rows, Dual *dual) except -1 nogil:
        """``at``: the fold, and the optimum from which it starts."""
        cdef const int32_t *left = self.left_of(task)
        cdef const Task *former
        cdef const int32_t *back
        cdef Py_ssize_t i, k, n = task.n
        cdef double beta
        self.at.m, self.at.groups = n, 1
        self.at.lower, self.at.upper, self.at.group = dual.lower, dual.upper, dual.group
        self.at.column, self.at.entering = &self.kernel_rows.member[0], &self.entering[0]
        self.at.leaving, self.at.V, self.at.beta = &self.leaving[0], &self.V[0], dual.beta
        self.at.level[0], self.at.level[1] = -task.known_rho, 0.0
        self.at.missing[0] = self.at.missing[1] = 0.0
        self.n_new = self.n_free = 0
        memcpy(&self.before[0], &self.origin[0], n * sizeof(double))
        for i in range(n):
            self.at.missing[0] -= dual.beta[i]
            self.leaving[i], self.entering[i] = 0.0, 0
            if dual.lower[i] < dual.beta[i] < dual.upper[i]:
                self.free[self.n_free] = <int32_t>i
                self.n_free += 1
        for k in range(task.n_left):
            beta = self.beta_left(task, k)
            if beta != 0:
                svmx_axpy_at(n, beta, self.row_of(left[k]), self.at.column, &self.leaving[0])
                self.control.worked(2 * n)
        if not task.chained:
            return 0
        former = &self.todo.tasks[task.after]
        back = self.left_of(former)
        self.at.level[0] = former.found.rho if former.turned != task.turned else -former.found.rho
        for k in range(former.n_left):
            self.is_new[back[k]] = True
        for i in range(n):
            if self.is_new[rows[i]]:
                self.new[self.n_new] = <int32_t>i
                self.n_new += 1
                # within eps it would be no violation of the optimum that is looked for
                self.entering[i] = 1 if above(&self.at, i) > 0.5 * self.control.eps else -1
        for k in range(former.n_left):
            self.is_new[back[k]] = False
        return 0

    cdef bint make_feasible(self) except -1 nogil:
        """The sum of beta becomes 0: AdjustAlpha (_solvers/seeding/adjust.pyx). False if it cannot."""
        cdef Py_ssize_t i
        cdef double total = 0.0, size = 0.0, moved
        cdef double *beta = self.at.beta
        for i in range(self.at.m):
            total += beta[i]
            size += fabs(beta[i])
        if fabs(total) <= ROUNDING * size:
            # what rounding makes of the sum goes to one variable
            for i in range(self.at.m):
                moved = beta[i] - total
                if self.at.lower[i] < beta[i] < self.at.upper[i] and self.at.lower[i] < moved < self.at.upper[i]:
                    beta[i] = moved
                    break
            return True
        if project_chosen(beta, self.at.lower, self.at.upper, -total, &self.new[0], self.n_new):
            return True
        total, self.n_free = 0.0, 0
        for i in range(self.at.m):
            total += beta[i]
            if self.at.lower[i] < self.before[i] < self.at.upper[i]:
                self.free[self.n_free] = <int32_t>i
                self.n_free += 1
        if project_chosen(beta, self.at.lower, self.at.upper, -total, &self.free[0], self.n_free):
            return True
        total = 0.0
        for i in range(self.at.m):
            total += beta[i]
            self.free[i] = <int32_t>i
        return project_chosen(beta, self.at.lower, self.at.upper, -total, &self.free[0], self.at.m)

    cdef int leave_to_next(self, const Task *task, const int32_t *rows, const Dual *dual, const double *beta,
                           const double *scores) except -1 nogil:
        """The optimum of a task to the next of its chain: beta and V of its rows, and V of those left out."""
        cdef const int32_t *left = self.left_of(task)
        cdef const int32_t *column = &self.kernel_rows.member[0]
        cdef double *known = &self.todo.chain_known[0]
        cdef double *known_scores = &self.todo.chain_scores[0]
        cdef const float *K
        cdef double V
        cdef int64_t plane
        cdef Py_ssize_t i, k, n_sv = 0
        for i in range(task.n):
            plane = (task.plane_positive if i < task.n_positive else task.plane_negative) * self.todo.kernel_values.n
            known[plane + rows[i]] = fabs(beta[i])
            known_scores[plane + rows[i]] = -scores[i] if task.turned else scores[i]
            if beta[i] != 0:
                self.free[n_sv] = <int32_t>i
                n_sv += 1
        for k in range(task.n_left):
            K, V = self.row_of(left[k]), 1.0 if k < task.n_left_positive else -1.0
            for i in range(n_sv):
                V -= beta[self.free[i]] * K[column[self.free[i]]]
            plane = (task.plane_positive if k < task.n_left_positive else task.plane_negative) * self.todo.kernel_values.n
            known[plane + left[k]] = 0.0
            known_scores[plane + left[k]] = -V if task.turned else V
            self.control.worked(n_sv)
        return 0

    # ---- NEAR ----------------------------------------------------------------------------------

    cdef int hand_over_all(self, const Task *task, const int32_t *left) except -1 nogil:
        """NEAR: the coefficient of each row that left goes to the most similar rows, to free ones first."""
        cdef Py_ssize_t k
        cdef double beta
        for k in range(task.n_left):
            beta = self.beta_left(task, k)
            if beta != 0:
                self.hand_over(self.row_of(left[k]), beta)
                self.control.worked(self.at.m)
        return 0

    cdef void hand_over(self, const float *K, double beta) noexcept nogil:
        """Add ``beta``, of a row that left, to the start, as far as there is room."""
        cdef double room
        cdef Py_ssize_t i, k
        while beta != 0:
            k = self.nearest(K, beta > 0)
            if k < 0:
                # all rows: one that was at a bound is free then, and may be taken again
                for i in range(self.at.m):
                    self.free[i] = <int32_t>i
                self.n_free = self.at.m
                k = self.nearest(K, beta > 0)
                if k < 0:
                    return
            i = self.free[k]
            room = self.at.upper[i] - self.at.beta[i] if beta > 0 else self.at.lower[i] - self.at.beta[i]
            if fabs(beta) < fabs(room):
                self.at.beta[i] += beta
                return
            self.at.beta[i] = self.at.upper[i] if beta > 0 else self.at.lower[i]
            beta -= room
            self.n_free -= 1
            self.free[k] = self.free[self.n_free]

    cdef Py_ssize_t nearest(self, const float *K, bint growing) noexcept nogil:
        """Which of ``free`` with room is the one of largest K, -1 if there is none."""
        cdef Py_ssize_t i, k, found = -1
        cdef float most = 0
        for k in range(self.n_free):
            i = self.free[k]
            if (found < 0 or K[self.at.column[i]] > most) and \
                    (self.at.beta[i] < self.at.upper[i] if growing else self.at.beta[i] > self.at.lower[i]):
                found, most = k, K[self.at.column[i]]
        return found

    # ---- SIR -----------------------------------------------------------------------------------

    cdef int replace_each(self, const Task *task, const int32_t *left) except -1 nogil:
        """SIR: the coefficient of each row that left goes to the most similar row of T of its class, one to each."""
        cdef const float *K
        cdef double beta
        cdef Py_ssize_t i, k, q, found
        for q in range(self.n_new):
            self.entering[self.new[q]] = 1  # it has no predecessor yet
        for k in range(task.n_left):
            beta = self.beta_left(task, k)
            if beta == 0:
                continue
            K, found = self.row_of(left[k]), -1
            for q in range(self.n_new):
                i = self.new[q]
                if self.entering[i] > 0 and (self.at.upper[i] > 0) == (beta > 0):
                    if found < 0 or K[self.at.column[i]] > K[self.at.column[found]]:
                        found = i
            if found >= 0:
                self.entering[found] = -1
                self.at.beta[found] = min(max(beta, self.at.lower[found]), self.at.upper[found])
            self.control.worked(self.n_new)
        return 0
