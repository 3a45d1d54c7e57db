"""The tasks of a queue of solves: a Task each, the rows of all in one list, and what they share."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from libsvmx._core.allocation cimport reallocate, reserve
from libsvmx._core.arrays cimport int32_of, memory
from libsvmx._core.tickets cimport svmx_begin_countdown
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._solvers.seeding.seeders cimport ATO, AVG, NEAR, kind_of
from libsvmx._train.formulation cimport formulation_of

from libsvmx._core.arrays import empty
from libsvmx._core.buffers import filled, zeros
from libsvmx._train.assembly import INNER_FOLDS
from libsvmx._train.folds import plain_folds
from libsvmx.enums import SvmType


cdef class TaskList:
    """TaskList(kernel_values, matrix_of, weights, param)

    Parameters
    ----------
    kernel_values : SharedRows
    matrix_of : function                returns the rows as CsrMatrix for predictions; called on demand
    weights : buffer of float64, shape (kernel_values.n,), or None
    param : Parameter                   formulation, eps, shrinking, limits
    """

    def __cinit__(self, SharedRows kernel_values, matrix_of, weights, param, *_):
        self.kernel_values, self.matrix_of, self.param = kernel_values, matrix_of, param
        self.earlier, self.seeder = None, NEAR
        self.in_a_star = NEAR if param.svm_type == SvmType.C_SVC else AVG
        self.doubled, self.kept_weights = param.svm_type.is_regression, []
        self.belong_to(param, weights)
        self.eps, self.divides = param.eps, param.svm_type == SvmType.NU_SVC
        # in the nu formulations a sum depends on the number of rows
        self.may_stand = not param.svm_type.has_nu
        self.table = self.kept_beta = self.kept_scores = None
        self.position, self.constants = None, []

    def __dealloc__(self):
        cdef Py_ssize_t t
        for t in range(self.n_tasks):
            free(self.tasks[t].marks)
        free(self.tasks)
        free(self.rows)
        free(self.targets)
        free(self.sigmoids)
        free(self.folds)

    # ---- adding tasks ------------------------------------------------------------------------------

    cdef int append(self, Py_ssize_t n_rows) except -1:
        """Make room for ``n_rows`` more rows."""
        return reserve(<void **>&self.rows, &self.room_for_rows, self.n_rows + n_rows, sizeof(int32_t),
                       b"rows of a queue of solves")

    cdef int reserve_tasks(self, Py_ssize_t n_tasks) except -1:
        """Make room for exactly ``n_tasks`` more tasks."""
        if self.n_tasks + n_tasks > self.room_for_tasks:
            reallocate(<void **>&self.tasks, (self.n_tasks + n_tasks) * sizeof(Task), b"a queue of solves")
            self.room_for_tasks = self.n_tasks + n_tasks
        return 0

    cdef Task *new_task(self) except NULL:
        cdef Task *task
        reserve(<void **>&self.tasks, &self.room_for_tasks, self.n_tasks + 1, sizeof(Task), b"a queue of solves")
        memset(&self.tasks[self.n_tasks], 0, sizeof(Task))
        task = &self.tasks[self.n_tasks]
        task.sigmoid = task.fold = task.parent = task.pilot = -1
        task.of, task.weights = self.of, self.weights
        self.n_tasks += 1
        return task

    cdef Sigmoid *new_sigmoid(self) except NULL:
        reserve(<void **>&self.sigmoids, &self.room_for_sigmoids, self.n_sigmoids + 1, sizeof(Sigmoid),
                b"a queue of solves")
        memset(&self.sigmoids[self.n_sigmoids], 0, sizeof(Sigmoid))
        self.n_sigmoids += 1
        return &self.sigmoids[self.n_sigmoids - 1]

    def belong_to(self, param, weights):
        """Set the parameters (C, p, nu, tau or class weights) and row weights of solves added from now on."""
        cdef const double[::1] own
        self.of, self.weights = formulation_of(param), NULL
        self.kept_weights.append(weights)
        if weights is not None:
            own = weights
            if own.shape[0] != self.kernel_values.n:
                raise ValueError(f"{own.shape[0]} weights of {self.kernel_values.n} rows")
            self.weights = &own[0]

    def start_from(self, TaskList earlier):
        """Let ``parent`` of solves added from now on refer to ``earlier``, a queue over the same rows that has run."""
        if earlier.kernel_values.kernel is not self.kernel_values.kernel:
            raise ValueError("a queue over other rows")
        self.earlier = earlier

    def seed_by(self, str name, bint models=False):
        """Set the seeder; auto: ato where a path is expected to pay, else near in C-SVC, and avg otherwise. ``models``:
        only inner folds are seeded, of solves that are LIBSVM's."""
        self.seeds, self.has_models = True, models
        self.seeder = ATO if name == "auto" else kind_of(name)

    def keep_optima(self):
        """Keep the optima of all solves, for starts in this queue or a later one."""
        self.keeps_all = True

    def try_out(self, trial):
        """Let SMO take the steps of ``trial``, of solver auto, and keep what it leaves."""
        self.trial, self.tries, self.keeps_all = trial, True, True

    def decide_by_floats(self):
        """Allow decision values that are not LIBSVM's to the last digit, from the solves' kernel values in float: of
        held-out rows of a solve, and of folds, if kernel values of all rows are stored. No effect in nu-SVC, where they
        are divided by an r that may be tiny."""
        if self.param.svm_type == SvmType.NU_SVC:
            return
        self.by_floats, self.held_by_floats = not self.kernel_values.has_groups, True

    cdef bint crosses(self) noexcept:
        """Whether decision values need kernel values in double."""
        return self.predicts and not self.by_floats and (self.n_folds > 0 or not self.held_by_floats)

    def tabulate(self):
        """Compute kernel values for decision values once, in a table for which there must be memory: folds of permuted
        labels predict every row repeatedly, by models of nearly all others."""
        self.tabulates = not self.kernel_values.has_groups

    def add(self, rows, Py_ssize_t n_positive, double Cp, double Cn, held_out=None, targets=None, Py_ssize_t parent=-1,
            bint chained=False):
        """Add a solve; returns its number.

        Parameters
        ----------
        rows : buffer of int32           rows of ``kernel_values``, in the order of the solve
        n_positive : int                 number of leading rows of class +1, the others are of -1; -1: ``targets``
        Cp, Cn : float                   of the two classes in C-SVC
        held_out : buffer of int32       rows to compute decision values of, instead of keeping the coefficients
        targets : buffer of float64      of the rows, if there are no classes
        parent : int                     solve from whose optimum it starts, in the queue of ``start_from`` if set, or
            else in this one; -1: cold start
        chained : bool                   in a chain, where the parent is the previous solve, except for the first
        """
        cdef const int32_t[::1] chosen = rows, held = held_out
        cdef Py_ssize_t k, n = chosen.shape[0], n_held = 0 if held_out is None else held.shape[0]
        if (n_positive < 0) != (targets is not None):
            raise ValueError("a solve has either classes or targets")
        if n_held and self.held_by_floats and self.kernel_values.has_groups:
            raise ValueError("rows of any class are held out, and only the kernel values of pairs are there")
        self.append(n + 2 * n_held)
        cdef Task *task = self.new_task()
        task.first, task.n, task.n_positive, task.n_held, task.Cp, task.Cn = self.n_rows, n, n_positive, n_held, Cp, Cn
        task.n_variables = 2 * n if self.doubled else n
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
        task.chained = chained
        if chained and parent < 0:
            self.n_chains += 1
        if parent >= 0:
            self.link(self.n_tasks - 1, parent, self.earlier)
            task = &self.tasks[self.n_tasks - 1]
        if held_out is None:
            task.out = self.n_out
            self.n_out += n
        else:
            task.out, task.values = -1, self.n_values
            self.n_values += n_held
            self.predicts = True
        return self.n_tasks - 1

    def add_larger(self, growths):
        """Add a solve for each of ``growths``: the problem of the previous solve with C scaled by it, starting from its
        optimum. They continue the chain of the last solve, which has held-out rows.

        Raises ValueError where sums of coefficients grow with C, or do not depend on it.
        """
        cdef Task *task
        cdef Task *former
        cdef double growth
        for growth in growths:
            former = self.task(self.n_tasks - 1)
            if not self.may_stand or not growth >= 1.0:
                raise ValueError(f"no start at a smaller C, {growth:g} times as large: {self.param.svm_type.name}")
            if not former.chained or former.out >= 0:
                raise ValueError("the last solve is of no chain, or has no rows that are held out")
            task = self.new_task()
            former = task - 1
            task.first, task.n, task.n_positive, task.targets = former.first, former.n, former.n_positive, former.targets
            task.n_held, task.n_variables, task.parent = former.n_held, former.n_variables, self.n_tasks - 2
            task.Cp, task.Cn, task.of, task.weights = growth * former.Cp, growth * former.Cn, former.of, former.weights
            task.of.cost *= growth
            task.growth, task.chained, task.out, task.values = growth, True, -1, self.n_values
            former.keeps = self.has_starts = self.has_larger = True
            self.n_values += task.n_held

    def add_left_out(self, parents, places):
        """Add solves: each the problem of one of ``parents``, int64, solves of the queue of ``start_from``, without the row
        that ``places``, int32, names, from its optimum; see ``left_out_value``."""
        cdef const int64_t[::1] parent = parents
        cdef const int32_t[::1] left = places
        cdef Task *former
        cdef Task *task
        cdef Py_ssize_t i, k, p
        begin_, targets_ = filled("q", [-1] * self.earlier.n_tasks), zeros("q", self.earlier.n_tasks)
        cdef int64_t[::1] begin = begin_, targets = targets_  # of the rows and targets of each parent
        for k in range(left.shape[0]):
            p = parent[k]
            former = self.earlier.task(p)
            if self.earlier.kept_beta is None or not former.keeps:
                raise ValueError(f"the optimum of solve {p} was not kept")
            if not 0 <= left[k] < former.n:
                raise IndexError(f"row {left[k]} of {former.n}")
            if begin[p] < 0:
                begin[p], targets[p] = self.n_rows, self.n_targets
                self.append(2 * former.n)
                memcpy(self.rows + self.n_rows, self.earlier.rows + former.first, former.n * sizeof(int32_t))
                for i in range(former.n):
                    self.rows[self.n_rows + former.n + i] = <int32_t>i
                self.n_rows += 2 * former.n
                if former.n_positive < 0:
                    self.append_targets(self.earlier.targets + former.targets, former.n)
                self.most_rows = max(self.most_rows, former.n)
            task = self.new_task()
            task.first, task.n, task.n_positive, task.targets = begin[p], former.n, former.n_positive, targets[p]
            task.n_variables, task.Cp, task.Cn, task.of, task.weights = (
                former.n_variables, former.Cp, former.Cn, former.of, former.weights)
            task.parent, task.of_earlier, task.out, task.values = p, True, -1, self.n_values + k
            task.closed, task.places, task.left, task.n_left = True, task.first + task.n, self.n_rows, 1
            self.append(1)
            self.rows[self.n_rows] = left[k]
            self.n_rows += 1
            self.number_pilot(task, former)
        self.n_values += left.shape[0]
        self.has_starts = True

    def add_pairs(self, rows, start, costs, Py_ssize_t first, Py_ssize_t last, parents=None, bint chained=False, rand=None,
                  str scheme=""):
        """Add the solves of pairs ``first`` to ``last`` - 1 of (0, 1), (0, 2), …, keeping their coefficients; returns their
        numbers.

        Parameters
        ----------
        rows : buffer of int32      see ``add``; grouped by class
        start : list of int         first row of each class, and the end
        costs : list of float       C of each class
        parents : buffer of int64   parent of each of all pairs, see ``add``; None: cold starts
        chained : bool              see ``add``
        rand : Rand or None         draws inner folds of each pair, for its sigmoid; they come before its solve, as in
            LIBSVM, except for folds that start from it. None: no inner folds
        scheme : str                inner folds start from their pair's optimum: 'star'; from the previous one: 'chain';
            cold: ''
        """
        cdef Py_ssize_t i, j, k, c, n_rows, pair = 0, before = self.n_tasks
        cdef const int32_t *chosen = int32_of(rows, &n_rows)
        cdef int64_t[::1] begin = memory("q", len(start))
        cdef const int64_t[::1] parent = parents
        cdef const double[::1] C = filled("d", costs)
        cdef Task *task
        cdef bint from_pair = scheme == "star"
        cdef list numbers = []
        for c in range(begin.shape[0]):
            begin[c] = start[c]
        if not 0 <= begin[0] <= begin[C.shape[0]] <= n_rows or begin.shape[0] != C.shape[0] + 1:
            raise ValueError(f"{C.shape[0]} classes of {n_rows} rows")
        for k in range(n_rows):
            if not 0 <= chosen[k] < self.kernel_values.n:
                raise IndexError(f"row {chosen[k]} of {self.kernel_values.n}")
        if self.n_tasks == 0:  # no more than they need, as there may be tens of thousands
            self.reserve_tasks(max(0, last - first) * (1 if rand is None else 1 + INNER_FOLDS))
        for i in range(C.shape[0]):
            if pair + C.shape[0] - i - 1 <= first:  # none of its pairs
                pair += C.shape[0] - i - 1
                continue
            for j in range(i + 1, C.shape[0]):
                if first <= pair < last:
                    if rand is not None and not from_pair:
                        self.add_drawn(chosen, &begin[i], &begin[j], C[i], C[j], rand, -1, scheme == "chain")
                    self.append(begin[i + 1] - begin[i] + begin[j + 1] - begin[j])
                    task = self.new_task()
                    task.first, task.n_positive, task.Cp, task.Cn = self.n_rows, begin[i + 1] - begin[i], C[i], C[j]
                    for c in (i, j):
                        for k in range(begin[c], begin[c + 1]):
                            self.rows[self.n_rows] = chosen[k]
                            self.n_rows += 1
                    task.n = task.n_variables = self.n_rows - task.first
                    self.most_rows = max(self.most_rows, task.n)
                    task.out = self.n_out
                    self.n_out += task.n
                    task.chained = chained
                    if parent is not None and parent[pair] >= 0:
                        self.link(self.n_tasks - 1, parent[pair], self.earlier)
                    elif chained:
                        self.n_chains += 1
                    if rand is not None:
                        numbers.append(self.n_tasks - 1)
                        if from_pair:
                            self.add_drawn(chosen, &begin[i], &begin[j], C[i], C[j], rand, self.n_tasks - 1, False)
                pair += 1
        return range(before, self.n_tasks) if rand is None else numbers

    cdef int add_drawn(self, const int32_t *rows, const int64_t *of_i, const int64_t *of_j, double Cp, double Cn, rand,
                       Py_ssize_t parent, bint chained) except -1:
        """``add_folds`` of a pair of classes, rows [of[0], of[1]) of each, with LIBSVM's inner folds drawn."""
        cdef Py_ssize_t n_i = of_i[1] - of_i[0], n_j = of_j[1] - of_j[0], k
        pair_ = empty("i", n_i + n_j)
        cdef int32_t[::1] pair = pair_
        for k in range(n_i):
            pair[k] = rows[of_i[0] + k]
        for k in range(n_j):
            pair[n_i + k] = rows[of_j[0] + k]
        order, bounds = plain_folds(n_i + n_j, INNER_FOLDS, rand)
        self.add_folds(pair_, n_i, Cp, Cn, order, bounds, parent, chained)
        return 0

    cdef int add_targets(self, Task *task, targets) except -1:
        """Append the targets of a task."""
        cdef const double[::1] given = targets
        if given.shape[0] != task.n:
            raise ValueError(f"{given.shape[0]} targets for {task.n} rows")
        task.targets = self.n_targets
        return self.append_targets(&given[0], task.n) if task.n else 0

    cdef int append_targets(self, const double *targets, Py_ssize_t n) except -1:
        reserve(<void **>&self.targets, &self.room_for_targets, self.n_targets + n, sizeof(double),
                b"targets of a queue of solves")
        memcpy(self.targets + self.n_targets, targets, n * sizeof(double))
        self.n_targets += n
        return 0

    cdef int link(self, Py_ssize_t number, Py_ssize_t parent, TaskList earlier) except -1:
        """Set the parent of a task, in ``earlier`` if given; appends to ``rows`` the places of its rows in the parent,
        -1 for new ones, and then the parent's rows that left."""
        cdef TaskList family = self if earlier is None else earlier
        cdef Task *former = family.task(parent)
        cdef Task *task = self.task(number)
        cdef const int32_t *known
        cdef const int32_t *own
        cdef Py_ssize_t i
        cdef int32_t q
        cdef bint seen = False
        if (former.n_positive < 0) != (task.n_positive < 0) or former.n_variables // max(1, former.n) != 1 + self.doubled:
            raise ValueError(f"solve {parent} is of another formulation")
        if earlier is not None and (earlier.kept_beta is None or not (former.keeps or earlier.keeps_all)):
            raise ValueError(f"the optimum of solve {parent} was not kept")
        self.append(task.n + former.n)
        if self.position is None:
            self.position = filled("i", [-1] * self.kernel_values.n)
        known, own = family.rows + former.first, self.rows + task.first
        for i in range(former.n):
            self.position[known[i]] = <int32_t>i
        former.keeps = self.has_starts = True
        task.parent, task.of_earlier, task.places = parent, earlier is not None, self.n_rows
        task.n_left = task.n_new = 0
        task.turned = False
        for i in range(task.n):
            q = self.position[own[i]]
            self.rows[self.n_rows + i] = q
            if q < 0:
                task.n_new += 1
                continue
            if not seen and task.n_positive >= 0:
                seen, task.turned = True, (i < task.n_positive) != (q < former.n_positive)
            self.position[own[i]] = -1
        self.n_rows += task.n
        task.left = self.n_rows
        for i in range(former.n):
            if self.position[known[i]] >= 0:
                self.position[known[i]] = -1
                self.rows[self.n_rows + task.n_left] = <int32_t>i
                task.n_left += 1
        self.n_rows += task.n_left
        if task.of_earlier and not is_as_parent(task):
            self.number_pilot(task, former)
        return 0

    cdef void number_pilot(self, Task *task, Task *former) noexcept nogil:
        """Make a task a pilot of its parent, if that has too few."""
        if former.n_pilots < (4 if is_of_many(task) else 2):
            task.pilot, self.has_pilots = former.n_pilots, True
            former.n_pilots += 1

    def add_folds(self, rows, Py_ssize_t n_positive, double Cp, double Cn, order, bounds, Py_ssize_t parent=-1,
                  bint chained=False):
        """Add the inner folds of a pair of classes, whose decision values give its sigmoid.

        Fold f holds out order[bounds[f]:bounds[f+1]], indices into ``rows``; other arguments as in ``add``. If the rest
        lacks a class, there is no solve: decision values are 1, -1 or 0 (no rows), as in LIBSVM. ``parent``: the solve
        over all of ``rows``, -1: cold starts; ``chained``: each but the first starts from the previous one.
        """
        cdef const int32_t[::1] chosen = rows, at = order
        cdef Py_ssize_t k, f, first, last, n_rest, n_ahead, n = chosen.shape[0]
        cdef int turn
        cdef const int64_t[::1] ends = filled("q", bounds)
        cdef Task *task
        if parent >= 0 and self.task(parent).n != n:
            raise ValueError(f"solve {parent} is not over the {n} rows of these folds")
        cdef Sigmoid *sigmoid = self.new_sigmoid()
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
                task.n_variables = n_rest
                task.Cp, task.Cn, task.out, task.values = Cp, Cn, -1, self.n_values
                task.sigmoid = self.n_sigmoids - 1
                sigmoid.n_solves += 1
                for k in range(first, last):
                    self.rows[self.n_rows + n_rest + k - first] = chosen[at[k]]
                    self.rows[self.n_rows + n_rest + last - first + k - first] = at[k]
                self.n_rows += n_rest + 2 * (last - first)
                self.most_rows, self.most_held = max(self.most_rows, n_rest), max(self.most_held, last - first)
                self.predicts = True
                task.chained = chained
                if parent >= 0:
                    self.link(self.n_tasks - 1, parent, None)
                elif chained:
                    self.n_chains += 1
                if chained:
                    parent = self.n_tasks - 1
            else:
                value = 0.0 if n_rest == 0 else 1.0 if n_ahead else -1.0
                self.constants.extend((self.n_values + at[k], value) for k in range(first, last))
        svmx_begin_countdown(&sigmoid.left, sigmoid.n_solves)
        self.n_values += n

    def add_fold(self, rows, start, solves, held_out):
        """Request the decision values of rows by all functions of a classifier, or by a single one.

        Parameters
        ----------
        rows : buffer of int32         rows of the classifier, grouped by class; see ``add``
        start : list of int            first row of each class, and the end
        solves : list of int           its solves, of the pairs (0, 1), (0, 2), …, or the single one; in no other fold
        held_out : buffer of int32     rows to compute decision values of
        """
        cdef const int32_t[::1] chosen = rows, held = held_out
        cdef Py_ssize_t k
        cdef Fold *fold
        reallocate(<void **>&self.folds, (self.n_folds + 1) * sizeof(Fold), b"a queue of solves")
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

    cdef Task *task(self, Py_ssize_t t) except NULL:
        if not 0 <= t < self.n_tasks:
            raise IndexError(f"solve {t} of {self.n_tasks}")
        return &self.tasks[t]

    cdef bint stops_by_r(self, const Task *task) noexcept nogil:
        """Whether a solve ends at ``tolerance_by_r``."""
        return self.divides and self.seeds and not (self.has_models and task.sigmoid < 0)

    cdef Py_ssize_t number_of(self, const Task *task) noexcept nogil:
        return task - self.tasks

    cdef Parent parent_of(self, const Task *task) noexcept nogil:
        """The optimum that a task starts from; valid until a task is added."""
        cdef Parent found
        if task.of_earlier:
            found.task, found.rows = &self.earlier.tasks[task.parent], self.earlier.rows
            found.beta, found.V = &self.earlier.kept_beta[0], &self.earlier.kept_scores[0]
            found.free = &self.earlier.kept_free[0]
        else:
            found.task, found.rows = &self.tasks[task.parent], self.rows
            found.beta, found.V, found.free = &self.kept_beta[0], &self.kept_scores[0], &self.kept_free[0]
        found.rows += found.task.first
        found.beta += found.task.optimum
        found.V += found.task.optimum
        found.free += found.task.optimum
        return found

    cdef int make_room(self) except -1:
        """Allocate for the results of all tasks."""
        cdef Py_ssize_t t, room = 0
        for t in range(self.n_tasks):
            if self.keeps_all or self.tasks[t].keeps:
                self.tasks[t].keeps, self.tasks[t].optimum = True, room
                room += self.tasks[t].n_variables
        self.coefficient, self.value = memory("d", self.n_out), memory("d", self.n_values)
        if self.tries:
            self.unchecked = zeros("q", self.most_rows + 1)
            for t in range(self.n_tasks):
                if self.unchecked[self.tasks[t].n] == 0:
                    self.unchecked[self.tasks[t].n] = self.trial.first_check(self.tasks[t].n)
        if room or self.keeps_all:
            self.kept_beta, self.kept_scores, self.kept_free = zeros("d", room), zeros("d", room), zeros("b", room)
        return 0
