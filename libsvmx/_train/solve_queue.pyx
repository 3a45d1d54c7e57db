"""Many dual problems over parts of the same rows, worked off by all threads with no Python object for each.

One against one, folds, and the inner folds of probability estimates: hundreds of solves of tens of rows, which are over
before Python has made the objects of one. Here a solve is a Task, a few numbers; rows of all of them stand in one list, one
after the other, and each thread has a Worker with memory for the largest.

    queue = SolveQueue(gram, matrix, targets, weights, param, observer)
    t = queue.add(rows, n_positive, Cp, Cn, held_out)     as often as there are solves, in LIBSVM's order
    queue.run(threads)
    queue.coefficients(t), queue.values(t), queue.tell(t, observer)     in LIBSVM's order again

The result does not depend on the number of threads: every solve is LIBSVM's own path.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.clock cimport svmx_nanoseconds
from libsvmx._core.test_panels cimport SVMX_LINE, SVMX_TESTS, svmx_aligned, svmx_weighted_sum
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._core.tickets cimport svmx_begin_tickets, svmx_end_tickets, svmx_next_ticket, svmx_tickets_over
from libsvmx._problem.certificate cimport Certificate, add_variable, begin, gap_of
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Optimum, Smo
from libsvmx._train.formulation cimport formulation_of, recover, write_dual
from libsvmx._train.probability cimport fit

from libsvmx._train import limits
from libsvmx._train.formulation import QUANTITIES
from libsvmx._train.probability import TROUBLES
from libsvmx._train.reports import announced
from libsvmx._train.solve_report import SolveReport
from libsvmx._solvers.control import MARKS
from libsvmx.enums import SolveStatus

# Squares of the sizes of all solves together, from which on more threads pay: some milliseconds.
cdef double WORK_FOR_THREADS = 2e6
# From one look at signals and at the clock of the call to the next.
cdef double LOOK_NS = 5e6

cdef extern from "pythread.h" nogil:
    unsigned long PyThread_get_thread_ident()


cdef class QueueControl(Control):
    """Of one worker: marks are kept with the task, and the end of the call is that of all workers."""

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

    cdef int poll(self) except -1 nogil:
        cdef double now = svmx_nanoseconds()
        if PyThread_get_thread_ident() == self.owner and not 0 <= now - self.looked < LOOK_NS:
            self.looked = now
            with gil:
                PyErr_CheckSignals()
                self.should_stop()
        if svmx_tickets_over(self.tickets):
            self.expired = True
        return 0


cdef class SolveQueue:
    """SolveQueue(gram, matrix, targets, weights, param, observer)

    Parameters
    ----------
    gram : Gram
    matrix : CsrMatrix                  the same rows, as predictions see them
    targets : buffer of float64, shape (gram.n,)       of regression; else not looked at
    weights : buffer of float64, shape (gram.n,), or None
    param : Parameter                   formulation, eps, shrinking, limits
    observer : Observer                 whose call it is; asked whether to stop, and told of nothing before ``tell``
    """

    def __cinit__(self, Gram gram, matrix, targets, weights, param, observer):
        self.gram, self.matrix, self.param = gram, matrix, param
        self.targets, self.weighted = targets, weights is not None
        if self.weighted:
            self.weights = weights
        self.of, self.doubled = formulation_of(param), param.svm_type.is_regression
        self.limits, self.constants = observer, []
        svmx_begin_tickets(&self.tickets)

    def __dealloc__(self):
        cdef Py_ssize_t t
        for t in range(self.n_tasks):
            free(self.tasks[t].marks)
        free(self.tasks)
        free(self.rows)
        free(self.worker)
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
        if self.n_tasks == self.room_for_tasks:
            room = 2 * self.n_tasks + 16
            grown = realloc(self.tasks, room * sizeof(Task))
            if grown == NULL:
                raise MemoryError("a queue of solves")
            self.tasks, self.room_for_tasks = <Task *>grown, room
        memset(&self.tasks[self.n_tasks], 0, sizeof(Task))
        self.n_tasks += 1
        return &self.tasks[self.n_tasks - 1]

    cdef Sigmoid *new_sigmoid(self) except NULL:
        cdef Py_ssize_t room
        cdef void *grown
        if self.n_sigmoids == self.room_for_sigmoids:
            room = 2 * self.n_sigmoids + 16
            grown = realloc(self.sigmoids, room * sizeof(Sigmoid))
            if grown == NULL:
                raise MemoryError("a queue of solves")
            self.sigmoids, self.room_for_sigmoids = <Sigmoid *>grown, room
        self.n_sigmoids += 1
        return &self.sigmoids[self.n_sigmoids - 1]

    def add(self, rows, Py_ssize_t n_positive, double Cp, double Cn, held_out=None):
        """Put a solve at the end of the queue; returns its number.

        Parameters
        ----------
        rows : buffer of int32           numbers of rows of ``gram``, in the order that the solve is to have
        n_positive : int                 the first of them are of class +1, the others of -1; -1 for targets of their own
        Cp, Cn : float                   of the two classes in C-SVC
        held_out : buffer of int32       rows whose decision values are wanted, instead of the coefficients
        """
        cdef const int32_t[::1] chosen = rows, held = held_out
        cdef Py_ssize_t k, n = chosen.shape[0], n_held = 0 if held_out is None else held.shape[0]
        self.append(n + 2 * n_held)
        cdef Task *task = self.new_task()
        task.first, task.n, task.n_positive, task.n_held, task.Cp, task.Cn = self.n_rows, n, n_positive, n_held, Cp, Cn
        for k in range(n + n_held):
            self.rows[self.n_rows + k] = chosen[k] if k < n else held[k - n]
            if not 0 <= self.rows[self.n_rows + k] < self.gram.n:
                raise IndexError(f"row {self.rows[self.n_rows + k]} of {self.gram.n}")
        for k in range(n_held):
            self.rows[self.n_rows + n + n_held + k] = <int32_t>k
        self.n_rows += n + 2 * n_held
        self.most_rows = max(self.most_rows, n)
        if held_out is None:
            task.out = self.n_out
            self.n_out += n
        else:
            task.out, task.values = -1, self.n_values
            self.n_values += n_held
            self.predicts = True
        return self.n_tasks - 1

    def add_folds(self, rows, Py_ssize_t n_positive, double Cp, double Cn, order, bounds):
        """Put the inner folds of a pair of classes into the queue, whose decision values give its sigmoid.

        Fold f leaves out order[bounds[f]:bounds[f+1]], positions in ``rows``; these and the rest as of ``add``. A rest without
        both classes is not solved: decision values are 1, -1 or 0 (no rows at all) there, as in LIBSVM.
        """
        cdef const int32_t[::1] chosen = rows, at = order
        cdef Py_ssize_t k, f, first, last, n_rest, n_ahead, n = chosen.shape[0]
        cdef int turn
        cdef const int64_t[::1] ends = filled("q", bounds)
        cdef Task *task
        cdef Sigmoid *sigmoid = self.new_sigmoid()
        sigmoid.n, sigmoid.n_positive, sigmoid.values = n, n_positive, self.n_values
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
                for k in range(first, last):
                    self.rows[self.n_rows + n_rest + k - first] = chosen[at[k]]
                    self.rows[self.n_rows + n_rest + last - first + k - first] = at[k]
                self.n_rows += n_rest + 2 * (last - first)
                self.most_rows = max(self.most_rows, n_rest)
                self.predicts = True
            else:
                value = 0.0 if n_rest == 0 else 1.0 if n_ahead else -1.0
                self.constants.extend((self.n_values + at[k], value) for k in range(first, last))
        self.n_values += n

    def add_fold(self, rows, start, solves, held_out):
        """Ask for the decision values of rows by all the functions of a classifier, or by a single one.

        Parameters
        ----------
        rows : buffer of int32         the rows of the classifier, grouped by class; as of ``add``
        start : list of int            first row of each class, and the end
        solves : list of int           its solves, of the pairs (0, 1), (0, 2), …; one for a single function
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
        fold.n_functions, fold.values = len(solves), self.n_values
        self.append(fold.n + fold.n_held + fold.n_functions + fold.k + 1)
        for k in range(fold.n + fold.n_held):
            self.rows[self.n_rows + k] = chosen[k] if k < fold.n else held[k - fold.n]
        self.n_rows += fold.n + fold.n_held
        for number in (*solves, *start):
            self.rows[self.n_rows] = number
            self.n_rows += 1
        self.n_values += fold.n_held * fold.n_functions
        self.most_functions, self.predicts = max(self.most_functions, fold.n_functions), True

    # ---- the work ------------------------------------------------------------------------------------

    def run(self, int threads):
        """Do all that is to be done.

        Raises
        ------
        KeyboardInterrupt, or what else a signal handler raises; MemoryError
        """
        cdef ThreadPool pool
        cdef Py_ssize_t k
        cdef double work = 0.0
        for k in range(self.n_tasks):
            work += <double>self.tasks[k].n ** 2
        threads = <int>max(1, min(<Py_ssize_t>threads, self.n_tasks)) if work > WORK_FOR_THREADS else 1
        self.coefficient, self.value = zeros("d", self.n_out), zeros("d", self.n_values)
        pool = ThreadPool(threads)
        self.worker = <void **>realloc(self.worker, pool.n * sizeof(void *))
        if self.worker == NULL:
            raise MemoryError("a queue of solves")
        self.crew = [Worker(self) for _ in range(pool.n)]
        for k in range(pool.n):
            self.worker[k] = <void *>self.crew[k]
        for place, value in self.constants:
            self.value[place] = value
        self.label = zeros("d", 2 * self.n_values)
        with nogil:
            pool.run(_work, <void *>self, pool.n, _look)
            if self.stopped is None and self.error is None:
                pool.run(_fit, <void *>self, self.n_sigmoids, _look)
                svmx_begin_tickets(&self.tickets)
                pool.run(_evaluate, <void *>self, pool.n if self.n_folds else 0, _look)
        if self.error is not None:
            raise self.error

    cdef void work(self, int64_t part) noexcept with gil:
        """Tasks as they come, until there is none, by one of the workers."""
        cdef Worker worker = <Worker>self.worker[part]
        try:
            with nogil:
                worker.work()
        except BaseException as error:
            self.failed(error)

    cdef void fit(self, int64_t part) noexcept nogil:
        """One sigmoid."""
        cdef Sigmoid *sigmoid = &self.sigmoids[part]
        cdef double *y
        cdef Py_ssize_t i
        if sigmoid.n == 0:
            return
        y = &self.label[2 * sigmoid.values]
        for i in range(sigmoid.n):
            y[i] = 1.0 if i < sigmoid.n_positive else -1.0
        sigmoid.trouble = fit(sigmoid.n, &self.value[sigmoid.values], y, y + sigmoid.n, &sigmoid.A, &sigmoid.B)

    cdef void evaluate(self, int64_t part) noexcept nogil:
        """Decision values of folds as they come."""
        cdef int64_t f = svmx_next_ticket(&self.tickets)
        while f < self.n_folds:
            (<Worker>self.worker[part]).evaluate(&self.folds[f])
            f = svmx_next_ticket(&self.tickets)

    cdef int failed(self, error) except -1:
        self.error = self.error or error
        svmx_end_tickets(&self.tickets)
        return 0

    cdef void look(self) noexcept with gil:
        """The leader waits for the others: signals, and the end of the call."""
        try:
            PyErr_CheckSignals()
            self.should_stop()
        except BaseException as error:
            self.failed(error)

    def should_stop(self):
        """Whether the call has come to its end; then no solve goes on."""
        if self.stopped is None:
            self.stopped = limits.look(self.limits)
            if self.stopped is not None:
                svmx_end_tickets(&self.tickets)
        return self.stopped is not None

    # ---- what came of it -----------------------------------------------------------------------------

    def coefficients(self, Py_ssize_t t):
        """The coefficients of the rows of a solve, float64, shape (n,): LIBSVM's sv_coef."""
        cdef Task *task = self.task(t)
        return memoryview(self.coefficient)[task.out:task.out + task.n]

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

    def went_well(self, Py_ssize_t t):
        """Whether a solve has come to its end, and its numbers are finite."""
        cdef Task *task = self.task(t)
        return task.converged and isfinite(task.found.rho) and isfinite(task.found.objective)

    def was_begun(self, Py_ssize_t t):
        """Whether a solve was begun before the call came to its end."""
        return self.task(t).begun

    def tell(self, Py_ssize_t t, observer):
        """Tell the observer of a solve. Returns its report."""
        cdef Task *task = self.task(t)
        cdef Py_ssize_t k
        for k in range(task.n_marks):
            observer.mark(MARKS[task.marks[k]])
        status = SolveStatus.CONVERGED
        if not task.converged:
            status = self.stopped or SolveStatus.ITERATION_LIMIT
        quantity = QUANTITIES[self.param.svm_type] if task.found.has_value else None
        report = SolveReport(
            iterations=task.iterations, objective=task.found.objective, rho=task.found.rho, n_sv=task.found.n_sv,
            n_bsv=task.found.n_bsv, quantity=quantity, value=task.found.value, status=status,
            rows_computed=task.rows_computed, values_computed=task.values_computed, gap=task.gap, seconds=task.seconds)
        return announced(report, observer)

    cdef Task *task(self, Py_ssize_t t) except NULL:
        if not 0 <= t < self.n_tasks:
            raise IndexError(f"solve {t} of {self.n_tasks}")
        return &self.tasks[t]


cdef void _work(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).work(part)


cdef void _fit(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).fit(part)


cdef void _evaluate(void *queue, int64_t part) noexcept nogil:
    (<SolveQueue>queue).evaluate(part)


cdef void _look(void *queue) noexcept nogil:
    (<SolveQueue>queue).look()


cdef class Worker:
    """Worker(queue): memory for the largest of the solves of ``queue``, and what does them one after the other."""

    def __init__(self, SolveQueue queue):
        cdef Py_ssize_t l = queue.most_rows, m = 2 * l if queue.doubled else l
        param = queue.param
        self.queue = queue
        self.control = QueueControl(param.eps, param.shrinking, param.max_iter, should_stop=queue.should_stop)
        self.control.tickets = &queue.tickets
        self.kernel_rows = GramRows(queue.gram, l, m, ThreadPool(1))
        self.smo = Smo.for_many(m, 2, self.control, self.kernel_rows)
        self.targets, self.weights, self.coefficients = zeros("d", l), zeros("d", l), zeros("d", l)
        self.linear, self.lower, self.upper, self.start = (zeros("d", m) for _ in range(4))
        self.beta, self.scores, self.group, self.row = zeros("d", m), zeros("d", m), zeros("b", m), zeros("i", m)
        if l:
            self.dual = Dual(m, &self.linear[0], &self.lower[0], &self.upper[0], &self.start[0], &self.group[0],
                             &self.row[0])
        if queue.predicts:
            self.panel = zeros("d", (1 + max(1, queue.most_functions)) * SVMX_TESTS + 2 * SVMX_LINE)
            self.cross = CrossKernel(queue.matrix, param.kernel_type, param.degree, param.gamma, param.coef0)
            self.cross.prepare(queue.matrix, ramp(queue.gram.n))

    cdef int work(self) except -1 nogil:
        cdef int64_t t = svmx_next_ticket(&self.queue.tickets)
        while t < self.queue.n_tasks:
            self.solve(&self.queue.tasks[t])
            t = svmx_next_ticket(&self.queue.tickets)
        return 0

    cdef int solve(self, Task *task) except -1 nogil:
        cdef double began = svmx_nanoseconds()
        cdef const int32_t *rows = self.queue.rows + task.first
        cdef Certificate sides[2]
        cdef Optimum optimum
        cdef Py_ssize_t v
        cdef double *coefficients = &self.coefficients[0] if task.out < 0 else &self.queue.coefficient[task.out]
        self.control.task = task
        task.begun = not svmx_tickets_over(&self.queue.tickets)
        self.lay_out(task, rows)
        task.converged = self.smo.optimize()
        self.smo.write(&optimum, &self.beta[0], &self.scores[0])
        task.iterations = self.smo.iterations
        task.rows_computed = self.kernel_rows.rows_computed
        task.values_computed = task.rows_computed * self.dual.size
        task.found.rho, task.found.objective = optimum.rho, optimum.objective
        recover(&self.queue.of, task.n, &self.weights[0] if self.queue.weighted else NULL, &self.dual, &self.beta[0],
                optimum.r, coefficients, &task.found)
        begin(&sides[0])
        begin(&sides[1])
        for v in range(self.dual.size):
            add_variable(&sides[self.group[v]], v, self.scores[v], self.beta[v] < self.upper[v],
                         self.beta[v] > self.lower[v], False)
        task.gap = max(gap_of(&sides[0]), gap_of(&sides[1]))
        task.seconds = 1e-9 * (svmx_nanoseconds() - began)
        if task.out < 0:
            self.decide(task, coefficients, task.found.rho)
        return 0

    cdef void lay_out(self, const Task *task, const int32_t *rows) noexcept nogil:
        """The dual problem, and the same in LIBSVM's variables."""
        cdef Py_ssize_t i, v, l = task.n
        cdef int groups = 1, y
        cdef bint negative
        for i in range(l):
            self.targets[i] = self.queue.targets[rows[i]] if task.n_positive < 0 else 1.0 if i < task.n_positive else -1.0
            if self.queue.weighted:
                self.weights[i] = self.queue.weights[rows[i]]
        self.dual.size = 2 * l if self.queue.doubled else l
        write_dual(&self.queue.of, l, &self.targets[0], task.Cp, task.Cn,
                   &self.weights[0] if self.queue.weighted else NULL, &self.dual)
        for v in range(self.dual.size):
            if self.group[v]:
                groups = 2
        self.kernel_rows.begin(rows, l, self.queue.doubled)
        self.smo.begin(self.dual.size, l, groups)
        for v in range(self.dual.size):
            negative = self.group[v] if groups == 2 else self.lower[v] < 0
            y = -1 if negative else 1
            self.smo.put(v, <int32_t>v, self.linear[v], y * self.start[v] + 0.0,
                         y * (self.lower[v] if negative else self.upper[v]) + 0.0, y,
                         self.queue.gram.diagonal[rows[self.row[v]]])

    cdef void evaluate(self, const Fold *fold) noexcept nogil:
        """Decision values of all functions, the sum of each pair over the rows of its first class, then of the other."""
        cdef const int32_t *rows = self.queue.rows + fold.first
        cdef const int32_t *held = rows + fold.n
        cdef const int32_t *solves = held + fold.n_held
        cdef const int32_t *start = solves + fold.n_functions
        cdef double *out = &self.queue.value[fold.values] if fold.n_held else NULL
        cdef double *values = svmx_aligned(&self.panel[0])
        cdef double *total = values + SVMX_TESTS
        cdef const double *coefficient
        cdef Py_ssize_t at = 0, lanes, q, r, f
        cdef int c, d
        cdef bint filled
        if fold.n_functions == 0:
            return
        while at < fold.n_held:
            lanes = min(<Py_ssize_t>SVMX_TESTS, fold.n_held - at)
            self.cross.load(held + at, lanes)
            memset(total, 0, fold.n_functions * SVMX_TESTS * sizeof(double))
            for c in range(fold.k):
                for q in range(start[c], start[c + 1]):
                    filled = False
                    for d in range(fold.k if fold.k > 1 else 1):
                        if d == c and fold.k > 1:
                            continue
                        f = 0
                        if fold.k > 1:
                            f = min(c, d) * (2 * fold.k - min(c, d) - 1) // 2 + max(c, d) - min(c, d) - 1
                        coefficient = &self.queue.coefficient[self.queue.tasks[solves[f]].out] + q - start[c]
                        if d < c:
                            coefficient += start[d + 1] - start[d]
                        if coefficient[0] != 0:
                            if not filled:
                                self.cross.fill(rows[q], rows[q] + 1, values)
                                filled = True
                            svmx_weighted_sum(1, coefficient, values, total + SVMX_TESTS * f)
            for f in range(fold.n_functions):
                for r in range(lanes):
                    out[(at + r) * fold.n_functions + f] = total[f * SVMX_TESTS + r] - self.queue.tasks[solves[f]].found.rho
            at += lanes

    cdef void decide(self, const Task *task, const double *coefficients, double rho) noexcept nogil:
        """Decision values of the rows held out: sum of coefficient K, in the order of the rows, minus rho."""
        cdef const int32_t *rows = self.queue.rows + task.first
        cdef const int32_t *held = rows + task.n
        cdef const int32_t *place = held + task.n_held
        cdef double *out = &self.queue.value[task.values]
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
            for r in range(lanes):
                out[place[at + r]] = total[r] - rho
            at += lanes
