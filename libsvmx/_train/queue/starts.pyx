"""Warm starts of the tasks of a queue, from an optimum over other rows, and whether they pay.

The seeders are in _solvers/seeding. Variables are those of the task's rows, S and T; R has beta and kernel rows only.
"""

from libc.math cimport HUGE_VAL, isfinite
from libc.stdint cimport int32_t, int64_t

from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._problem.dual cimport Dual, grow
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.ato_path cimport COST_IN_A_STAR, StartBudget, most_in_star, most_of_auto
from libsvmx._solvers.seeding.seeders cimport ATO, FoldSeeder
from libsvmx._solvers.smo.smo cimport libsvms_limit
from libsvmx._train.queue.tasks cimport Parent, Task, TaskList, has_start, is_as_parent, work_like, work_of_steps

from libsvmx._core.buffers import filled, zeros


def values_of_steps(Py_ssize_t n_variables, double iterations):
    """Work of SMO steps, in values."""
    return work_of_steps(n_variables, iterations)


# Lower limits of r as a factor of the tolerance, and of the tolerance.
cdef double LEAST_R = 1e-3
cdef double FINEST = 1e-7


cpdef double tolerance_by_r(double eps, double r, double rounding=0.0) noexcept nogil:
    """Tolerance of a nu-SVC solve of a seeded cross-validation, whose decision values are divided by r: ``eps`` r, but
    not much finer than its steps can reach if r is tiny. ``rounding``: of its scores."""
    return max(eps * min(1.0, max(r, LEAST_R)), min(eps, max(FINEST, rounding)))


# Steps from eps to eps r at most, relative to those to eps, or to one of each variable if these are fewer. Measured in
# chains, on 48 problems of 13 sets of 208 to 400 rows: up to 1 / r = 1,000 all solves took up to 23, but for some of one
# set, 52; beyond, up to 400. With random labels, r about 0, 300 did not determine the decision values.
cdef int64_t MOST_REFINING = 30


cpdef int64_t most_steps_by_r(int64_t iterations, Py_ssize_t n_variables, int64_t max_iter) noexcept nogil:
    """Limit of all steps of a solve to ``tolerance_by_r`` that has taken ``iterations`` to eps. ``max_iter``: of its
    Control."""
    cdef int64_t most = iterations + MOST_REFINING * max(iterations, <int64_t>n_variables)
    return min(most, max_iter if max_iter != 0 else libsvms_limit(n_variables))


# Measured on 11,500 folds of 30 to 860 rows.
cdef double START_OF_A_ROW = 100.0
cdef double START_OF_A_CHANGE = 2.0
cdef double START_BESIDES = 8e3


# Two pilots have to take this share more work than cold starts before the others of a star start cold: an estimate of how
# much the numbers of steps of two folds differ.
cdef double DOUBT = 0.5


cpdef bint changes_most(Py_ssize_t n, Py_ssize_t n_changed) noexcept nogil:
    """Whether so many of the rows of a chain's fold leave or enter, as with three folds, that its start does not pay:
    about as many as it has, or more. With four folds it is two thirds."""
    return 10 * n_changed >= 9 * n


cpdef double work_of_start(Py_ssize_t n, Py_ssize_t n_changed) noexcept nogil:
    """Work of a start, in values of SMO: per row, per row and row that leaves or enters, and a constant."""
    return START_BESIDES + n * (START_OF_A_ROW + START_OF_A_CHANGE * n_changed)


cdef class PairNumbers:
    """PairNumbers(): numbers of solves, by unordered pair of classes."""

    def __cinit__(self):
        self.place, self.room = {}, 0

    def put(self, labels, numbers):
        """Set the numbers of the solves of the pairs (0, 1), (0, 2), … of some classes."""
        cdef const int64_t[::1] at = self.places(labels)
        cdef Py_ssize_t i, j, pair = 0
        for i in range(at.shape[0]):
            for j in range(i + 1, at.shape[0]):
                self.number[at[i] * self.room + at[j]] = self.number[at[j] * self.room + at[i]] = numbers[pair]
                pair += 1

    def of(self, labels):
        """Numbers of these pairs, int64, -1: none."""
        cdef const int64_t[::1] at = self.places(labels)
        cdef Py_ssize_t i, j, pair = 0
        found = zeros("q", at.shape[0] * (at.shape[0] - 1) // 2)
        cdef int64_t[::1] out = found
        for i in range(at.shape[0]):
            for j in range(i + 1, at.shape[0]):
                out[pair] = self.number[at[i] * self.room + at[j]]
                pair += 1
        return found

    cdef places(self, labels):
        """Indices of classes in ``number``, with new ones added."""
        cdef Py_ssize_t i, j, k
        at = filled("q", [self.place.setdefault(label, len(self.place)) for label in labels])
        if len(self.place) > self.room:
            k = len(self.place)
            number = filled("q", [-1] * (k * k))
            for i in range(self.room):
                for j in range(self.room):
                    number[i * k + j] = self.number[i * self.room + j]
            self.number, self.room = number, k
        return at


cdef class QueueStarts:
    """QueueStarts(todo, kernel_rows, control, most_rows): makes starts for tasks of at most ``most_rows`` rows."""

    def __init__(self, TaskList todo, GramRows kernel_rows, Control control, Py_ssize_t most_rows):
        cdef Py_ssize_t l = max(1, most_rows), m = 2 * l if todo.doubled else l, n = max(1, todo.kernel_values.n)
        self.todo, self.kernel_rows, self.control = todo, kernel_rows, control
        self.last_task = -1
        self.V, self.entering = zeros("d", m), zeros("b", m)
        self.left_column, self.left_beta = zeros("i", 2 * n), zeros("d", 2 * n)
        self.sv_column, self.sv_beta = zeros("i", n), zeros("d", n)
        self.seeder, self.budget = FoldSeeder(), StartBudget(todo.seeder == ATO)
        self.seeder.reserve(m, n, todo.seeder)
        self.seeder.in_a_star = todo.in_a_star

    cdef bint begin(self, Task *task, const Dual *dual) noexcept nogil:
        """Set ``at``, the fold and the parent's optimum. ``dual`` comes with LIBSVM's start, which has the sums of the
        fold, and leaves with the parent's beta. Returns whether that is the optimum of the task, too.

        ``kernel_rows`` is set to the rows of the task.
        """
        cdef Parent parent = self.todo.parent_of(task)
        cdef const Task *former = parent.task
        cdef const double *beta = parent.beta
        cdef const int32_t *place = self.todo.rows + task.places
        cdef double sign = -1.0 if task.turned else 1.0
        cdef Py_ssize_t v, i, k, n = task.n, m = dual.size
        cdef int32_t q
        self.at.m, self.at.n_rows, self.at.groups, self.at.in_order = m, n, 1, False
        self.at.lower, self.at.upper, self.at.group = dual.lower, dual.upper, dual.group
        self.at.column, self.at.V, self.at.beta = &self.kernel_rows.place[0], &self.V[0], dual.beta  # before any swap
        self.at.left_column, self.at.left_beta = &self.left_column[0], &self.left_beta[0]
        self.at.entering = &self.entering[0]
        self.at.sum[0] = self.at.sum[1] = 0.0
        self.at.n_left = self.at.n_entering = 0
        self.seeder.replacement.work = 0.0
        for v in range(m):
            self.at.sum[dual.group[v]] += dual.beta[v]
            if dual.group[v]:
                self.at.groups = 2
        for v in range(m):
            i = v if v < n else v - n
            q = <int32_t>i if task.closed >= 0 else place[i]
            self.entering[v] = q < 0
            if q < 0:
                self.at.n_entering += 1
                dual.beta[v] = self.V[v] = 0.0
            else:
                k = q if v < n else former.n + q
                dual.beta[v], self.V[v] = sign * beta[k] + 0.0, sign * parent.V[k]
        for k in range(task.n_left):
            q = <int32_t>task.closed if task.closed >= 0 else place[n + k]
            for i in range(former.n_variables // former.n):
                v = q + i * former.n
                if beta[v] != 0:
                    self.left_column[self.at.n_left] = self.kernel_rows.values.place_of(parent.rows[q])
                    self.left_beta[self.at.n_left] = sign * beta[v]
                    self.at.n_left += 1
                if task.closed >= 0:
                    dual.beta[v] = 0.0
        self.inherit(task, former)
        return self.stands(task, &parent)

    cdef void inherit(self, Task *task, const Task *former) noexcept nogil:
        """Set ``work_from_nothing``."""
        task.work_from_nothing = former.work_from_nothing
        if not has_start(former) or former.from_nothing:
            task.work_from_nothing = work_of_steps(former.n_variables, former.iterations)

    cdef bint stands(self, const Task *task, const Parent *parent) noexcept nogil:
        """Whether the parent's optimum is that of the task, too."""
        cdef const Task *former = parent.task
        cdef const int32_t *left = self.todo.rows + task.places + task.n
        cdef Py_ssize_t k
        if task.closed >= 0:  # those of unused rows are not added
            return False
        if former.gap >= (tolerance_by_r(self.todo.eps, former.r) if self.todo.divides else self.todo.eps):
            return False
        if is_as_parent(task):
            return True
        if not self.todo.may_stand or task.n_new > 0:
            return False
        for k in range(task.n_left):
            if parent.beta[left[k]] != 0 or (former.n_variables > former.n and parent.beta[former.n + left[k]] != 0):
                return False
        return True

    cdef bint takes_over(self, Task *task, double *coefficients, double *beta, double *scores) noexcept nogil:
        """Whether the parent's optimum is that of the task, a pair of classes whose results are then copied; ``beta`` and
        ``scores``: NULL if they are not kept."""
        cdef Parent parent = self.todo.parent_of(task)
        cdef const Task *former = parent.task
        cdef const int32_t *place = self.todo.rows + task.places
        cdef const double *known
        cdef double sign = -1.0 if task.turned else 1.0
        cdef Py_ssize_t i
        if task.n_positive < 0 or task.growth > 0 or former.out < 0 or not self.stands(task, &parent):
            return False
        if task.weights != NULL and task.n_left > 0:
            return False  # the quantity of the formulation is another
        known = &self.todo.earlier.coefficient[former.out] if task.of_earlier else &self.todo.coefficient[former.out]
        for i in range(task.n):
            coefficients[i] = sign * known[place[i]] + 0.0
            if beta != NULL:
                beta[i], scores[i] = sign * parent.beta[place[i]] + 0.0, sign * parent.V[place[i]]
        self.inherit(task, former)
        task.found, task.gap, task.r, task.reach = former.found, former.gap, former.r, 1.0
        task.found.rho *= sign
        if task.n_left > 0:
            task.found.value *= former.n / <double>task.n  # of C-SVC: the mean of alpha / C
        task.converged = task.begun = True
        return True

    cdef int begin_larger(self, Task *task, const Dual *dual, double *scores) except -1 nogil:
        """Start of a task from the optimum at a smaller C: beta in ``dual``, V in ``scores``."""
        cdef Parent parent = self.todo.parent_of(task)
        cdef int groups = 1  # checked by add_larger
        self.drawn_out = grow(dual, groups, parent.beta, parent.V, task.growth, dual.beta, scores)
        return self.control.worked(4 * dual.size)

    cdef int add_new(self, const Task *task, const Dual *dual) except -1 nogil:
        """Compute V of the rows T at the parent's optimum."""
        cdef Parent parent = self.todo.parent_of(task)
        cdef const Task *former = parent.task
        cdef const double *beta = parent.beta
        cdef const float *K
        cdef double V, b, sign = -1.0 if task.turned else 1.0
        cdef Py_ssize_t i, k, n_sv = 0, n = task.n
        for k in range(former.n):
            b = beta[k] + beta[former.n + k] if former.n_variables > former.n else beta[k]
            if b != 0:
                self.sv_column[n_sv], self.sv_beta[n_sv] = self.kernel_rows.values.place_of(parent.rows[k]), sign * b
                n_sv += 1
        for i in range(n):
            if not self.entering[i]:
                continue
            K, V = self.kernel_rows.values.at(self.at.column[i]), 0.0
            for k in range(n_sv):
                V -= self.sv_beta[k] * K[self.sv_column[k]]
            self.V[i] = dual.linear[i] + V
            if dual.size > n:
                self.V[n + i] = dual.linear[n + i] + V
            self.control.asked(n_sv)
        return 0

    cdef bint pays(self, Task *task) noexcept nogil:
        """Whether to make a start."""
        cdef double work = work_of_start(task.n, task.n_left + task.n_new)
        if not isfinite(self.todo.parent_of(task).task.r):  # of nu-SVC, whose decision values are then 0
            return False
        if is_as_parent(task) or not self.todo.parent_of(task).task.converged:
            return True
        if task.of_earlier:
            return self.pays_in_star(task, work)
        if task.chained and changes_most(task.n, task.n_left + task.n_new):
            return False
        if not task.chained or task.growth > 0 or self.todo.seeder == ATO:
            return True
        self.follow(task)
        return self.budget.most(HUGE_VAL, work) > 0

    cdef bint pays_in_star(self, const Task *task, double work) noexcept nogil:
        """``pays`` where the parent is over all rows; ``work``: of the start. The pilots have shown what is left."""
        cdef const Task *former = self.todo.parent_of(task).task
        if work >= work_like(former, task.n):
            return False
        return task.pilot >= 0 or former.excess[0] + former.excess[1] <= 0

    cdef void note_pilot(self, const Task *task) noexcept nogil:
        """Note the work of a solved pilot."""
        cdef Task *former = &self.todo.earlier.tasks[task.parent]
        cdef double cold = work_like(former, task.n)
        cdef double excess = task.start_work + work_of_steps(task.n_variables, task.iterations) - cold
        if task.along_path:
            former.path_excess[task.pilot] = excess
        elif not task.from_nothing:
            former.excess[task.pilot] = excess - DOUBT * cold

    cdef void follow(self, const Task *task) noexcept nogil:
        """Update ``budget`` with the previous task of a chain."""
        cdef const Task *former = &self.todo.tasks[task.parent]
        cdef bint by_path = self.todo.seeder == ATO, seeded = has_start(former) and not former.from_nothing
        cdef double steps = work_of_steps(former.n_variables, former.iterations)
        if self.last_task != task.parent:
            self.budget.start(self.todo.n_tasks / <double>self.todo.n_chains)
            if by_path:
                self.seeder.path.forget()  # so that starts do not depend on this worker's other tasks
        elif by_path:
            self.budget.note(former.along_path, self.seeder.path.whole, self.seeder.path.work, steps)
        if not by_path:
            self.budget.note(seeded, True, former.start_work, steps)
        self.last_task = self.todo.number_of(task)

    cdef bint make(self, Task *task, const Dual *dual, double *scores) except -1 nogil:
        """Feasible start of a task, after ``begin``: beta in ``dual``, V in ``scores``. False if infeasible."""
        cdef double most_work = task.work_from_nothing if task.work_from_nothing > 0 else HUGE_VAL
        cdef bint feasible
        if task.n_new:
            self.add_new(task, dual)
        if self.todo.seeder == ATO:
            most_work = self.worth_a_path(task, dual, most_work)
        feasible = self.seeder.make(&self.at, self.kernel_rows.values, self.control, self.todo.seeder, most_work, scores)
        task.along_path = self.seeder.along_path
        task.start_work = work_of_start(task.n, task.n_left + task.n_new) + self.seeder.replacement.work
        if task.along_path:
            task.start_work += COST_IN_A_STAR * self.seeder.path.work
        return feasible

    cdef double worth_a_path(self, const Task *task, const Dual *dual, double most_work) noexcept nogil:
        """Limit of the work of a path, in values."""
        cdef const Task *former
        cdef Py_ssize_t v, n_free = 0
        for v in range(dual.size):
            n_free += dual.lower[v] < dual.beta[v] < dual.upper[v]
        if task.chained:
            self.follow(task)
            return self.budget.most_of_few(most_work, dual.size, n_free, self.at.n_left + self.at.n_entering)
        self.seeder.path.forget()
        former = self.todo.parent_of(task).task
        if task.of_earlier and task.pilot < 0 and former.path_excess[0] + former.path_excess[1] > 0:
            return 0.0
        if not self.todo.chooses:
            return most_in_star(most_work)
        return most_of_auto(most_work, dual.size, n_free, self.at.n_left)
