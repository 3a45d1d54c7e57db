"""Warm starts of the tasks of a queue, from an optimum over other rows, and whether they pay.

The seeders are in _solvers/seeding. Variables are those of the task's rows, S and T; R has beta and kernel rows only.
"""

from libc.math cimport HUGE_VAL, isfinite
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.stopping cimport Control
from libsvmx._kernels.sharedrows cimport GramRows
from libsvmx._solvers.dual cimport Dual, grow
from libsvmx._solvers.seeding.paying cimport (
    COLD, KEPT_FACTOR, OWN_FACTOR, PATH, SEEDED, SHARED_FACTOR, PathKind, StartKind, Taken, average, begin, choose,
    expected_path, expected_seeded, most_values, note, share_too_few, work_of_path, work_of_start)
from libsvmx._solvers.seeding.seeders cimport ATO, FoldSeeder
from libsvmx._solvers.smo.smo cimport tolerance_by_r
from libsvmx._train.queue.tasks cimport Parent, Task, TaskList, is_as_parent, is_of_many

from libsvmx._core.buffers import filled, zeros


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
        self.sv_column, self.sv_beta, self.margin_column = zeros("i", n), zeros("d", n), zeros("i", 2 * n)
        self.seeder = FoldSeeder()
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
        cdef const int32_t *left = self.todo.rows + task.left
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
            q = place[i]
            self.entering[v] = q < 0
            if q < 0:
                self.at.n_entering += 1
                dual.beta[v] = self.V[v] = 0.0
            else:
                k = q if v < n else former.n + q
                dual.beta[v], self.V[v] = sign * beta[k] + 0.0, sign * parent.V[k]
        for k in range(task.n_left):
            for i in range(former.n_variables // former.n):
                v = left[k] + i * former.n
                if beta[v] != 0:
                    self.left_column[self.at.n_left] = self.kernel_rows.values.place_of(parent.rows[left[k]])
                    self.left_beta[self.at.n_left] = sign * beta[v]
                    self.at.n_left += 1
                if task.closed:
                    dual.beta[v] = 0.0
        self.inherit(task, former)
        return self.stands(task, &parent)

    cdef void inherit(self, Task *task, const Task *former) noexcept nogil:
        """Set ``cold_work``."""
        task.cold_work = former.cold_work if former.start_kind != COLD else former.work / max(1, former.n)

    cdef bint stands(self, const Task *task, const Parent *parent) noexcept nogil:
        """Whether the parent's optimum is that of the task, too."""
        cdef const Task *former = parent.task
        cdef const int32_t *left = self.todo.rows + task.left
        cdef Py_ssize_t k
        if former.gap >= (tolerance_by_r(self.todo.eps, former.r) if self.todo.divides else self.todo.eps):
            return False
        if is_as_parent(task):
            return True
        if not self.todo.may_stand or task.n_new > 0 or former.gap < 0:  # if no row is free, rho depends on the others
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
        task.start_kind, task.converged, task.begun = SEEDED, True, True
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
            if self.todo.doubled:
                self.V[n + i] = dual.linear[n + i] + V
            self.control.asked(n_sv)
        return 0

    cdef void follow(self, const Task *task) noexcept nogil:
        """Note in ``taken`` what the previous task of a chain has taken."""
        cdef const Task *former = self.todo.parent_of(task).task
        if not task.chained:
            return
        if self.last_task != task.parent:
            begin(&self.taken)
            if self.todo.seeder == ATO:
                self.seeder.path.forget()  # so that starts do not depend on this worker's other tasks
        if former.start_work + former.work > 0:
            note(&self.taken, former.start_kind, former.start_work + former.work)
        self.last_task = self.todo.number_of(task)

    cdef double part_in_factor(self, const Task *task) noexcept nogil:
        """Part of a fold in the factor that the paths of its star share; 0: they do not."""
        if task.chained or not task.of_earlier or self.todo.earlier.n_tasks != 1 or self.at.groups != 1:
            return 0.0
        if task.pilot >= 0 and not is_of_many(task):
            return 0.0  # the only path so far
        return task.n_left / <double>self.todo.earlier.tasks[0].n

    cdef PathKind kind_of_path(self, const Task *task) noexcept nogil:
        return KEPT_FACTOR if task.chained else SHARED_FACTOR if self.part_in_factor(task) > 0 else OWN_FACTOR

    cdef int share_factor(self, const Task *task) except -1 nogil:
        """Let the path of a fold begin with the factor of its parent's margin, which this worker makes once."""
        cdef Parent parent = self.todo.parent_of(task)
        cdef Py_ssize_t v, k = 0, n_first = 0, n = parent.task.n
        if self.shared_from != parent.beta:
            for v in range(parent.task.n_variables):
                if v == n:
                    n_first = k
                if parent.free[v]:
                    self.margin_column[k] = self.kernel_rows.values.place_of(parent.rows[v if v < n else v - n])
                    k += 1
            if parent.task.n_variables == n:
                n_first = k
            self.seeder.path.share(&self.margin_column[0], k, n_first, self.kernel_rows.values, self.control)
            self.shared_from = parent.beta
        return self.seeder.path.begin_shared()

    cdef StartKind kind_of_start(self, const Task *task, double *limit) noexcept nogil:
        """How a task is begun, after ``begin``; ``limit``: of a path's values, or the work of a cold start."""
        cdef const Task *former = self.todo.parent_of(task).task
        cdef Taken taken = self.taken
        cdef StartKind chosen
        cdef double shared = self.part_in_factor(task)
        cdef PathKind kind = self.kind_of_path(task)
        cdef double cold = task.cold_work * task.n if task.cold_work > 0 else HUGE_VAL, path = HUGE_VAL
        cdef double seeded = expected_seeded(cold, task.n, task.n_left + task.n_new, task.chained)
        cdef Py_ssize_t v, n_free = 0
        cdef int k
        if self.todo.seeder == ATO and not (task.chained and share_too_few(task.n, task.n_left + task.n_new)):
            for v in range(self.at.m):
                n_free += self.at.lower[v] < self.at.beta[v] < self.at.upper[v]
            path = expected_path(kind, self.at.m, n_free, self.at.n_left + self.at.n_entering, shared)
        if not task.chained:
            begin(&taken)
            for k in range(4 if task.of_earlier and task.pilot < 0 else 0):
                if former.pilot_work[k] > 0:
                    average(&taken, former.pilot_kind[k], former.pilot_work[k])
        chosen = choose(&taken, cold, seeded, path)
        if task.of_earlier and task.pilot >= 0 and path < cold and (is_of_many(task) or task.pilot == 1):
            chosen = PATH if task.pilot % 2 else SEEDED
        limit[0] = cold
        if self.todo.seeder == ATO:
            limit[0] = most_values(kind, cold, self.at.m, n_free) if chosen == PATH else 0.0
        return SEEDED if chosen == COLD and not former.converged else chosen

    cdef bint make(self, Task *task, const Dual *dual, double *scores) except -1 nogil:
        """Start of a task, after ``begin``: beta in ``dual``, V in ``scores``. False if it is infeasible, or not expected
        to pay."""
        cdef double limit, shared = self.part_in_factor(task)
        cdef bint feasible
        cdef Py_ssize_t v
        cdef StartKind chosen = self.kind_of_start(task, &limit)
        if chosen == COLD or not isfinite(self.todo.parent_of(task).task.r):  # of nu-SVC, whose decision values are then 0
            return False
        if task.n_new:
            self.add_new(task, dual)
        if chosen == PATH and shared > 0:
            self.share_factor(task)
        elif not task.chained and self.todo.seeder == ATO:
            self.seeder.path.forget()
        feasible = self.seeder.make(&self.at, self.kernel_rows.values, self.control, self.todo.seeder, limit, scores)
        task.start_kind = PATH if self.seeder.along_path else SEEDED
        task.start_work = work_of_start(self.at.m, task.n_left + task.n_new) + self.seeder.replacement.work
        for v in range(self.at.m):  # move_scores
            if self.at.beta[v] != self.seeder.before[v]:
                task.start_work += self.at.m
        if self.seeder.along_path:
            task.start_work += work_of_path(self.kind_of_path(task), self.at.m, self.seeder.path.values
                                            + shared * self.seeder.path.shared.size ** 3 / 6.0, self.seeder.path.lines,
                                            self.seeder.path.shared.size)
        return feasible
