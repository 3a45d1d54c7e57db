"""What a queue of solves is to do: the rows of all of them in one list, a few numbers for each, and what comes of them."""

from libc.math cimport HUGE_VAL, fabs, isfinite
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from libsvmx._core.smo_steps cimport svmx_axpy_at
from libsvmx._core.tickets cimport svmx_begin_countdown
from libsvmx._kernels.gram cimport GramRows
from libsvmx._problem.dual cimport project_chosen
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.ato_path cimport AtoPath, PathBudget, most_in_star, most_of_auto
from libsvmx._solvers.seeding.fold_change cimport Replacement, ValueRows, above, move_scores
from libsvmx._train.formulation cimport Dual, formulation_of

from libsvmx._core.buffers import filled, zeros
from libsvmx._train.probability import TROUBLES
from libsvmx.enums import SvmType

# Of enum QueueSeeder, in its order.
QUEUED_SEEDERS = ("near", "sir", "mir", "ato", "auto")


def values_of_steps(Py_ssize_t n_variables, double iterations):
    """What so many steps of SMO work on."""
    return work_of_steps(n_variables, iterations)


cdef class TaskList:
    """TaskList(kernel_values, matrix_of, weights, param)

    Parameters
    ----------
    kernel_values : KernelValues
    matrix_of : function                gives a CsrMatrix, the same rows as predictions see them; called if there are any
    weights : buffer of float64, shape (kernel_values.n,), or None
    param : Parameter                   formulation, eps, shrinking, limits
    """

    def __cinit__(self, KernelValues kernel_values, matrix_of, weights, param, *_):
        self.kernel_values, self.matrix_of, self.param = kernel_values, matrix_of, param
        self.weighted = weights is not None
        self.known, self.known_scores = None, None  # a = b = None is beyond Cython 3.1.2
        self.last_of_chain, self.seeder = None, NEAR
        if self.weighted:
            self.weights = weights
        self.of, self.doubled = formulation_of(param), param.svm_type.is_regression
        self.table = None
        self.constants = []

    def __dealloc__(self):
        cdef Py_ssize_t t
        for t in range(self.n_tasks):
            free(self.tasks[t].marks)
        free(self.tasks)
        free(self.rows)
        free(self.targets)
        free(self.sigmoids)
        free(self.folds)

    # ---- what is to be done ------------------------------------------------------------------------

    cdef int append(self, Py_ssize_t n_rows) except -1:
        """Room for so many rows more."""
        cdef Py_ssize_t room
        cdef void *grown
        if self.n_rows + n_rows > self.room_for_rows:
            room = 2 * (self.n_rows + n_rows) + 1024
            grown = realloc(self.rows, room * sizeof(int32_t))
            if grown == NULL:
                raise MemoryError("rows of a queue of solves")
            self.rows, self.room_for_rows = <int32_t *>grown, room
        return 0

    cdef Task *new_task(self) except NULL:
        cdef Py_ssize_t room
        cdef void *grown
        cdef Task *task
        if self.n_tasks == self.room_for_tasks:
            room = 2 * self.n_tasks + 16
            grown = realloc(self.tasks, room * sizeof(Task))
            if grown == NULL:
                raise MemoryError("a queue of solves")
            self.tasks, self.room_for_tasks = <Task *>grown, room
        memset(&self.tasks[self.n_tasks], 0, sizeof(Task))
        task = &self.tasks[self.n_tasks]
        task.sigmoid = task.fold = task.n_left = task.parent = -1
        self.n_tasks += 1
        return task

    cdef Sigmoid *new_sigmoid(self) except NULL:
        cdef Py_ssize_t room
        cdef void *grown
        if self.n_sigmoids == self.room_for_sigmoids:
            room = 2 * self.n_sigmoids + 16
            grown = realloc(self.sigmoids, room * sizeof(Sigmoid))
            if grown == NULL:
                raise MemoryError("a queue of solves")
            self.sigmoids, self.room_for_sigmoids = <Sigmoid *>grown, room
        memset(&self.sigmoids[self.n_sigmoids], 0, sizeof(Sigmoid))
        self.n_sigmoids += 1
        return &self.sigmoids[self.n_sigmoids - 1]

    def start_from(self, known, known_scores):
        """An optimum over more rows, for solves that are added with rows that left it: |coefficients| and scores V, float64,
        shape (planes, kernel_values.n), a plane for each class but a row's own, as in LIBSVM's sv_coef."""
        self.known, self.known_scores = known, known_scores
        if self.known.shape[0] != self.known_scores.shape[0] or self.known.shape[0] % max(1, self.kernel_values.n):
            raise ValueError(f"{len(known)} coefficients and {len(known_scores)} scores of {self.kernel_values.n} rows")

    def begin_chains(self, Py_ssize_t planes):
        """Solves that are added with rows that are left out start from the last one over the same two classes, the first
        of a chain from nothing."""
        self.last_of_chain = {}
        self.chain_known, self.chain_scores = (zeros("d", planes * self.kernel_values.n) for _ in range(2))
        self.known, self.known_scores = self.chain_known, self.chain_scores

    def seed_by(self, str name):
        """The seeder of solves that start from an optimum: one of QUEUED_SEEDERS."""
        self.seeder = QUEUED_SEEDERS.index(name)

    def keep_scores(self):
        """``scores`` will be asked for."""
        self.keeps_scores = not self.doubled

    def decide_by_floats(self):
        """Decision values need not be LIBSVM's to the last digit: they may come of the kernel values, rounded to float, that
        solves have: of rows held out of a solve, and of folds, if there are those of all rows."""
        self.by_floats, self.held_by_floats = not self.kernel_values.has_groups, True

    cdef bint crosses(self) noexcept:
        """Whether decision values need other kernel values than solves have."""
        return self.predicts and not self.by_floats and (self.n_folds > 0 or not self.held_by_floats)

    def tabulate(self):
        """Decision values of all rows will be asked for several times, and there is memory for a CrossTable."""
        self.tabulates = not self.kernel_values.has_groups

    def add(self, rows, Py_ssize_t n_positive, double Cp, double Cn, held_out=None, left=None, targets=None):
        """Put a solve at the end of the queue; returns its number.

        Parameters
        ----------
        rows : buffer of int32           numbers of rows of ``kernel_values``, in the order that the solve is to have
        n_positive : int                 the first of them are of class +1, the others of -1; -1 for targets of their own
        Cp, Cn : float                   of the two classes in C-SVC
        held_out : buffer of int32       rows whose decision values are wanted, instead of the coefficients
        left : (positive, negative, plane_positive, plane_negative, turned, rho, objective, gap, work), or None       to start
            from the optimum of ``start_from``, which has the last four numbers, or from the last one of a chain: rows of each
            class, buffers of int32, that were in it and are not in ``rows``, the planes of these classes, and whether it has
            them the other way round
        targets : buffer of float64      of its rows, where there are no classes
        """
        cdef const int32_t[::1] chosen = rows, held = held_out
        cdef Py_ssize_t k, n = chosen.shape[0], n_held = 0 if held_out is None else held.shape[0]
        if (n_positive < 0) != (targets is not None):
            raise ValueError("a solve has either classes or targets")
        self.append(n + 2 * n_held)
        cdef Task *task = self.new_task()
        task.first, task.n, task.n_positive, task.n_held, task.Cp, task.Cn = self.n_rows, n, n_positive, n_held, Cp, Cn
        for k in range(n + n_held):
            self.rows[self.n_rows + k] = chosen[k] if k < n else held[k - n]
            if not 0 <= self.rows[self.n_rows + k] < self.kernel_values.n:
                raise IndexError(f"row {self.rows[self.n_rows + k]} of {self.kernel_values.n}")
        for k in range(n_held):
            self.rows[self.n_rows + n + n_held + k] = <int32_t>k
        self.n_rows += n + 2 * n_held
        self.most_rows, self.most_held = max(self.most_rows, n), max(self.most_held, n_held)
        if targets is not None:
            self.add_targets(task, targets)
        if left is not None:
            positive, negative, plane_positive, plane_negative, turned, rho, objective, gap, work = left
            self.add_left(task, positive, negative, plane_positive, plane_negative, turned, rho, objective, gap, work)
            if self.last_of_chain is not None:
                self.add_to_chain(task, self.n_tasks - 1)
        if held_out is None:
            task.out = self.n_out
            self.n_out += n
        else:
            task.out, task.values = -1, self.n_values
            self.n_values += n_held
            self.predicts = True
        return self.n_tasks - 1

    cdef int add_targets(self, Task *task, targets) except -1:
        """Those of the rows of a task."""
        cdef const double[::1] given = targets
        cdef Py_ssize_t room
        cdef void *grown
        if given.shape[0] != task.n:
            raise ValueError(f"{given.shape[0]} targets for {task.n} rows")
        if self.n_targets + task.n > self.room_for_targets:
            room = 2 * (self.n_targets + task.n) + 1024
            grown = realloc(self.targets, room * sizeof(double))
            if grown == NULL:
                raise MemoryError("targets of a queue of solves")
            self.targets, self.room_for_targets = <double *>grown, room
        task.targets = self.n_targets
        if task.n:
            memcpy(self.targets + self.n_targets, &given[0], task.n * sizeof(double))
        self.n_targets += task.n
        return 0

    cdef int add_left(self, Task *task, positive, negative, Py_ssize_t plane_positive, Py_ssize_t plane_negative,
                      bint turned, double rho, double objective, double gap, double work) except -1:
        """After the rows of a task, those that left the optimum from which it starts."""
        cdef Py_ssize_t planes = self.known.shape[0] // max(1, self.kernel_values.n)
        cdef const int32_t[::1] rows
        cdef Py_ssize_t k
        if not (0 <= plane_positive < planes and 0 <= plane_negative < planes):
            raise IndexError(f"planes {plane_positive}, {plane_negative} of {planes}")
        task.n_left, task.n_left_positive, self.has_starts = 0, len(positive), True
        task.plane_positive, task.plane_negative = plane_positive, plane_negative
        task.turned, task.known_rho, task.known_objective, task.known_gap = turned, -rho if turned else rho, objective, gap
        task.work_from_nothing = work
        for side in (positive, negative):
            rows = side
            self.append(rows.shape[0])
            for k in range(rows.shape[0]):
                if not 0 <= rows[k] < self.kernel_values.n:
                    raise IndexError(f"row {rows[k]} of {self.kernel_values.n}")
                self.rows[self.n_rows + k] = rows[k]
            self.n_rows += rows.shape[0]
            task.n_left += rows.shape[0]
        return 0

    cdef int add_to_chain(self, Task *task, Py_ssize_t number) except -1:
        """A task with rows that are left out, after the last one of the same classes."""
        key = (min(task.plane_positive, task.plane_negative), max(task.plane_positive, task.plane_negative))
        task.chained, task.after = True, self.last_of_chain.get(key, -1)
        self.last_of_chain[key] = number
        self.n_chains = len(self.last_of_chain)
        return 0

    def add_folds(self, rows, Py_ssize_t n_positive, double Cp, double Cn, order, bounds, Py_ssize_t parent=-1):
        """Put the inner folds of a pair of classes into the queue, whose decision values give its sigmoid.

        Fold f leaves out order[bounds[f]:bounds[f+1]], positions in ``rows``; these and the rest as of ``add``. A rest without
        both classes is not solved: decision values are 1, -1 or 0 (no rows at all) there, as in LIBSVM. ``parent``: the solve
        over all of ``rows``, from whose optimum the folds start; -1: from nothing.
        """
        cdef const int32_t[::1] chosen = rows, at = order
        cdef Py_ssize_t k, f, first, last, n_rest, n_ahead, n = chosen.shape[0]
        cdef int turn
        cdef const int64_t[::1] ends = filled("q", bounds)
        cdef Task *task
        cdef Sigmoid *sigmoid = self.new_sigmoid()
        if parent >= 0:
            if self.param.svm_type != SvmType.C_SVC:
                raise ValueError("only C-SVC starts from the optimum over more rows")
            if self.task(parent).n != n or self.task(parent).out < 0:
                raise ValueError(f"solve {parent} is not over the {n} rows of these folds")
            self.keep_scores()
            self.has_starts = self.has_parents = True
        sigmoid.n, sigmoid.n_positive, sigmoid.values = n, n_positive, self.n_values
        self.most_labels = max(self.most_labels, n)
        for f in range(ends.shape[0] - 1):
            first, last, n_rest, n_ahead = ends[f], ends[f + 1], 0, 0
            self.append(2 * n)
            for turn in range(2):
                for k in range(n):
                    if (k < first or k >= last) and (at[k] < n_positive) == (turn == 0):
                        self.rows[self.n_rows + n_rest] = chosen[at[k]]
                        n_rest += 1
                if turn == 0:
                    n_ahead = n_rest
            if 0 < n_ahead < n_rest:
                task = self.new_task()
                task.first, task.n, task.n_positive, task.n_held = self.n_rows, n_rest, n_ahead, last - first
                task.Cp, task.Cn, task.out, task.values = Cp, Cn, -1, self.n_values
                task.sigmoid = self.n_sigmoids - 1
                sigmoid.n_solves += 1
                for k in range(first, last):
                    self.rows[self.n_rows + n_rest + k - first] = chosen[at[k]]
                    self.rows[self.n_rows + n_rest + last - first + k - first] = at[k]
                self.n_rows += n_rest + 2 * (last - first)
                self.most_rows, self.most_held = max(self.most_rows, n_rest), max(self.most_held, last - first)
                self.predicts = True
                if parent >= 0:
                    self.add_places(task, parent, &at[0], n, first, last, n_positive)
            else:
                value = 0.0 if n_rest == 0 else 1.0 if n_ahead else -1.0
                self.constants.extend((self.n_values + at[k], value) for k in range(first, last))
        svmx_begin_countdown(&sigmoid.left, sigmoid.n_solves)
        self.n_values += n

    cdef int add_places(self, Task *task, Py_ssize_t parent, const int32_t *at, Py_ssize_t n, Py_ssize_t first,
                        Py_ssize_t last, Py_ssize_t n_positive) except -1:
        """After the rows of an inner fold, where each of its own stands among those of its parent."""
        cdef Py_ssize_t k
        cdef int turn
        task.parent, task.n_left = parent, last - first
        self.append(task.n)
        for turn in range(2):
            for k in range(n):
                if (k < first or k >= last) and (at[k] < n_positive) == (turn == 0):
                    self.rows[self.n_rows] = at[k]
                    self.n_rows += 1
        return 0

    def add_fold(self, rows, start, solves, held_out):
        """Ask for the decision values of rows by all the functions of a classifier, or by a single one.

        Parameters
        ----------
        rows : buffer of int32         the rows of the classifier, grouped by class; as of ``add``
        start : list of int            first row of each class, and the end
        solves : list of int           its solves, of the pairs (0, 1), (0, 2), …; one for a single function. They are of
                                       no other fold
        held_out : buffer of int32     rows whose values are wanted
        """
        cdef const int32_t[::1] chosen = rows, held = held_out
        cdef Py_ssize_t k
        cdef Fold *fold
        cdef void *grown = realloc(self.folds, (self.n_folds + 1) * sizeof(Fold))
        if grown == NULL:
            raise MemoryError("a queue of solves")
        self.folds = <Fold *>grown
        fold = &self.folds[self.n_folds]
        self.n_folds += 1
        fold.first, fold.n, fold.n_held, fold.k = self.n_rows, chosen.shape[0], held.shape[0], <int>len(start) - 1
        fold.n_functions, fold.values, fold.done = len(solves), self.n_values, not solves
        svmx_begin_countdown(&fold.left, <int>len(solves))
        for number in solves:
            if self.task(number).fold >= 0:
                raise ValueError(f"solve {number} is of another fold")
            self.task(number).fold = self.n_folds - 1
        self.append(fold.n + fold.n_held + fold.n_functions + fold.k + 1)
        for k in range(fold.n + fold.n_held):
            self.rows[self.n_rows + k] = chosen[k] if k < fold.n else held[k - fold.n]
        self.n_rows += fold.n + fold.n_held
        for number in (*solves, *start):
            self.rows[self.n_rows] = number
            self.n_rows += 1
        self.n_values += fold.n_held * fold.n_functions
        self.most_functions, self.predicts = max(self.most_functions, fold.n_functions), True

    # ---- what came of it ---------------------------------------------------------------------------

    def coefficients(self, Py_ssize_t t):
        """The coefficients of the rows of a solve, float64, shape (n,): LIBSVM's sv_coef."""
        cdef Task *task = self.task(t)
        return memoryview(self.coefficient)[task.out:task.out + task.n]

    def scores(self, Py_ssize_t t):
        """V of the rows of a solve, one variable each, float64, shape (n,), after ``keep_scores``."""
        cdef Task *task = self.task(t)
        return memoryview(self.score)[task.out:task.out + task.n]

    def values(self, Py_ssize_t t):
        """Decision values of the rows held out of a solve, float64, shape (n_held,)."""
        cdef Task *task = self.task(t)
        return memoryview(self.value)[task.values:task.values + task.n_held]

    def fold_values(self, Py_ssize_t f):
        """Decision values of what was the f-th to be given to ``add_fold``, float64, row by row."""
        if not 0 <= f < self.n_folds:
            raise IndexError(f"fold {f} of {self.n_folds}")
        cdef Fold *fold = &self.folds[f]
        return memoryview(self.value)[fold.values:fold.values + fold.n_held * fold.n_functions]

    def sigmoid(self, Py_ssize_t s):
        """(A, B, trouble) of the pair that was the s-th to be given to ``add_folds``; ``trouble`` as of fit_sigmoid."""
        if not 0 <= s < self.n_sigmoids:
            raise IndexError(f"sigmoid {s} of {self.n_sigmoids}")
        return self.sigmoids[s].A, self.sigmoids[s].B, TROUBLES[self.sigmoids[s].trouble]

    def sigmoid_is_done(self, Py_ssize_t s):
        """Whether all the inner folds of a pair came to their ends before the call did."""
        if not 0 <= s < self.n_sigmoids:
            raise IndexError(f"sigmoid {s} of {self.n_sigmoids}")
        return self.sigmoids[s].done

    def fold_is_done(self, Py_ssize_t f):
        """The same of the solves of a fold, and its decision values."""
        if not 0 <= f < self.n_folds:
            raise IndexError(f"fold {f} of {self.n_folds}")
        return self.folds[f].done

    def went_well(self, Py_ssize_t t):
        """Whether a solve has come to its end, and its numbers are finite."""
        cdef Task *task = self.task(t)
        return task.converged and isfinite(task.found.rho) and isfinite(task.found.objective)

    def is_seeded(self, Py_ssize_t t):
        """Whether a solve starts from an optimum that is known."""
        return has_start(self.task(t))

    def was_along_path(self, Py_ssize_t t):
        """Whether that start was found along a path of ATO."""
        return self.task(t).along_path

    def was_begun(self, Py_ssize_t t):
        """Whether a solve was begun before the call came to its end."""
        return self.task(t).begun

    cdef Task *task(self, Py_ssize_t t) except NULL:
        if not 0 <= t < self.n_tasks:
            raise IndexError(f"solve {t} of {self.n_tasks}")
        return &self.tasks[t]

    cdef Py_ssize_t number_of(self, const Task *task) noexcept nogil:
        return task - self.tasks


# ---- Starts from an optimum over other rows --------------------------------------------------------
#
# Where the solves of a queue start that follow an optimum over other rows: NEAR, SIR, MIR and ATO without the interpreter.
#
# What each does is in _solvers/seeding. Here all is over the rows of the task alone, S and T; what R has had is handed over
# by its kernel values with them. V of rows that are held out is computed when their fold is solved, for the next of the chain.

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
        """The sum of beta becomes 0: AdjustAlpha (_solvers/seeding/fold_change.pyx). False if it cannot."""
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
