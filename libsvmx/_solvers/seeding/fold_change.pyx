"""Starts of a fold from an optimum that is known: the change, the kernel rows, and what SIR, TOP, NEAR and MIR do.

    FoldChange                what leaves, what enters, and the scores of a start
    StartRows, ChangeStart    kernel rows of a start, and a fold as compiled seeders see it
    adjust                    AdjustAlpha: a start made feasible
    hand_over                 each beta that leaves goes to similar rows: SIR, TOP, NEAR
    Replacement               the least squares of MIR
"""

from libc.math cimport HUGE_VAL, cbrt, fabs
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.smo_steps cimport svmx_axpy_at, svmx_axpy_row
from libsvmx._core.vectors cimport svmx_dot
from libsvmx._kernels.gram cimport KernelValues
from libsvmx._kernels.kernel cimport Kernel, Targets
from libsvmx._problem.dual cimport Certificate, DualProblem, add_variable, begin, level_of
from libsvmx._solvers.control cimport Control

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._problem.dual import project


# ---- The change ------------------------------------------------------------------------------------
#
# What changes from an optimum that is known to the next fold, and the scores of a start made from it.
#
# The rows R leave, T enter, S are shared (Wen et al. 2017, section 2). In a chain of folds T is the fold that was held out
# before. In a star each fold starts from the optimum over all rows, and T is empty.

cdef class FoldChange:
    """FoldChange(kernel, problem, sums, beta, scores, leaving, entering, control=None, targets=None, most_work=inf)

    What a seeder is given; nothing of it is modified. A seeder tells ``control`` of its work: Stopped ends it.

    Parameters
    ----------
    kernel : Kernel
    problem : DualProblem                with the box of the new fold: 0 alone for variables that take no part
    sums : tuple of float                sum of beta over each group in the new fold
    beta, scores : buffer of float64     the optimum that is known, and its V, shape (problem.size,)
    leaving, entering : buffer of int32  the variables of R and of T
    control : Control                    of the fold; None: nothing ends the work
    targets : Targets                    all rows of the kernel in their order; None: they are made when they are asked for
    most_work : float                    values that a path may work on, 0: there is to be none; that the solve from nothing
                                         works on, for least squares

    Attributes
    ----------
    size, lower, upper, group, row       those of the problem
    path_work, path_whole : float, bool  what the path of a seeder worked on, -1 without one; whether it came to its end
    """

    def __init__(self, Kernel kernel, DualProblem problem, sums, beta, scores, leaving, entering, Control control=None,
                 Targets targets=None, double most_work=HUGE_VAL):
        self.targets, self.most_work, self.path_work, self.path_whole = targets, most_work, -1.0, False
        self.control = Control(0.0) if control is None else control
        self.kernel, self.sums, self.beta, self.scores = kernel, sums, beta, scores
        self.leaving, self.entering = leaving, entering
        self.size, self.lower, self.upper = problem.size, problem.lower, problem.upper
        self.group, self.row = problem.group, problem.row
        self.reached_beta, self.reached_scores = beta, scores

    @property
    def every_row(self):
        """All rows of the kernel in their order: Targets."""
        if self.targets is None:
            self.targets = self.kernel.targets(ramp(self.kernel.n))
        return self.targets

    def reach(self, beta, scores, double work, bint whole):
        """A path has come to another beta, whose scores are known: ``moved_scores`` goes on from there."""
        self.reached_beta, self.reached_scores, self.path_work, self.path_whole = beta, scores, work, whole

    def kept(self):
        """The known beta within the new bounds, so 0 for R: where every seeder begins. float64, shape (m,)."""
        cdef const double[::1] beta = self.beta, lower = self.lower, upper = self.upper
        cdef Py_ssize_t v
        start_ = zeros("d", self.size)
        cdef double[::1] start = start_
        for v in range(self.size):
            start[v] = min(max(beta[v], lower[v]), upper[v])
        return start_

    def shared(self, bint free_only):
        """The variables of S, or those of them with lower < beta < upper: buffer of int32."""
        cdef const double[::1] beta = self.beta, lower = self.lower, upper = self.upper
        cdef const int32_t[::1] entering = self.entering
        cdef Py_ssize_t v, n = 0
        chosen_ = zeros("i", self.size)
        new_ = bytearray(self.size)
        cdef int32_t[::1] chosen = chosen_
        cdef unsigned char[::1] new = new_
        for v in range(entering.shape[0]):
            new[entering[v]] = 1
        for v in range(self.size):
            if lower[v] < upper[v] and not new[v] and (not free_only or lower[v] < beta[v] < upper[v]):
                chosen[n] = <int32_t>v
                n += 1
        return chosen_[:n]


def moved_scores(FoldChange change, Targets targets, start_, ThreadPool pool):
    """V at ``start``, V_old - K (start - beta_old), from kernel rows of the variables that differ alone; old is the optimum
    that is known, or what a seeder has come to (``reach``).

    Parameters
    ----------
    targets : Targets      all rows of the kernel in their order
    start : buffer of float64, shape (m,)

    Returns
    -------
    buffer of float64, shape (m,)

    Raises
    ------
    Stopped
    """
    cdef const double[::1] beta = change.reached_beta, start = start_, scores = change.reached_scores
    cdef const int32_t[::1] row = change.row
    cdef Py_ssize_t v
    difference_, moved_ = zeros("d", change.kernel.n), zeros("d", change.size)
    cdef double[::1] difference = difference_, moved = moved_, product
    for v in range(change.size):
        difference[row[v]] += start[v] - beta[v]
    product = times_kernel(change, targets, difference, pool)
    for v in range(change.size):
        moved[v] = scores[v] - product[row[v]]
    return moved_


cdef object rows_of_leaving(FoldChange change):
    """Sum over R of beta_r K_r, by variable: float64, shape (m,). Raises Stopped."""
    cdef const double[::1] beta = change.beta
    cdef const int32_t[::1] row = change.row, leaving = change.leaving
    cdef Py_ssize_t k, v
    coef_, sum_ = zeros("d", change.kernel.n), zeros("d", change.size)
    cdef double[::1] coef = coef_, sum = sum_, product
    for k in range(leaving.shape[0]):
        coef[row[leaving[k]]] += beta[leaving[k]]
    product = times_kernel(change, change.every_row, coef, ThreadPool(1))
    for v in range(change.size):
        sum[v] = product[row[v]]
    return sum_


cdef object times_kernel(FoldChange change, Targets targets, double[::1] coef, ThreadPool pool):
    """Sum of coef K over the rows of the kernel, those with coef 0 left out: float64, shape (n,). Raises Stopped."""
    cdef Py_ssize_t v, n = change.kernel.n, n_rows = 0, at
    cdef int s, count
    cdef float *out[SVMX_SOURCES]
    product_, chosen_, values_ = zeros("d", n), zeros("i", n), zeros("f", SVMX_SOURCES * n)
    cdef double[::1] product = product_
    cdef int32_t[::1] chosen = chosen_
    cdef float[::1] values = values_
    with nogil:
        for v in range(n):
            if coef[v] != 0:
                chosen[n_rows] = <int32_t>v
                n_rows += 1
        for s in range(SVMX_SOURCES):
            out[s] = &values[s * n]
        at = 0
        while at < n_rows:
            count = <int>min(SVMX_SOURCES, n_rows - at)
            targets.fill_rows(&chosen[at], count, n, out, pool, n * count)
            for s in range(count):
                svmx_axpy_row(n, coef[chosen[at + s]], out[s], &product[0])
            at += count
            change.control.asked(4 * count * n)
        change.kernel.values_computed += n_rows * n
    return product_


# ---- Kernel rows of a start ------------------------------------------------------------------------
#
# The kernel rows that a seeder asks for, wherever they come from.

cdef class StartRows:
    """Base: ``row(column)`` is K of that row with all columns, float32, valid as long as this is."""

    cdef const float *row(self, int32_t column) except NULL nogil:
        with gil:
            raise NotImplementedError(type(self).__name__)


cdef class ValueRows(StartRows):
    """ValueRows(values): of KernelValues, which has them all."""

    def __cinit__(self, KernelValues values):
        self.values = values

    cdef const float *row(self, int32_t column) except NULL nogil:
        return self.values.at(column)


cdef class ComputedRows(StartRows):
    """ComputedRows(kernel, targets, control): computed as they are asked for, and kept; ``targets`` are all rows of
    ``kernel`` in their order. Raises Stopped."""

    def __cinit__(self, Kernel kernel, Targets targets, Control control):
        self.kernel, self.targets, self.control, self.pool, self.n = kernel, targets, control, ThreadPool(1), kernel.n
        self.kept = <float **>calloc(max(self.n, 1), sizeof(float *))
        if self.kept == NULL:
            raise MemoryError("kernel rows of a start")

    def __dealloc__(self):
        cdef Py_ssize_t k
        if self.kept != NULL:
            for k in range(self.n):
                free(self.kept[k])
        free(self.kept)

    cdef const float *row(self, int32_t column) except NULL nogil:
        cdef float *out
        if self.kept[column] == NULL:
            out = <float *>malloc(self.n * sizeof(float))
            if out == NULL:
                with gil:
                    raise MemoryError("a kernel row of a start")
            self.targets.fill_rows(&column, 1, self.n, &out, self.pool, 0)
            self.kept[column] = out
            self.kernel.values_computed += self.n
            self.control.asked(4 * self.n)
        return self.kept[column]


# ---- A fold as compiled seeders see it -------------------------------------------------------------
#
# A fold and the optimum that is known as compiled seeders see them, and V at the start that they make.

cdef class ChangeStart:
    """ChangeStart(change): the FoldStart of a FoldChange, and the memory it points to. Raises Stopped.

    V is the same at all free variables of a group, its level: -rho of the decision function; in the nu formulations, which
    have two groups, -rho - r and -rho + r.
    """

    def __cinit__(self, FoldChange change):
        cdef const int32_t[::1] new = change.entering
        cdef Certificate sides[2]
        cdef Py_ssize_t k, v
        cdef Py_ssize_t m = change.size
        self.change, self.rows = change, ComputedRows(change.kernel, change.every_row, change.control)
        self.lower, self.upper, self.V, self.group, self.column = (
            change.lower, change.upper, change.scores, change.group, change.row)
        self.beta, self.entering, self.leaving = change.kept(), zeros("b", m), rows_of_leaving(change)
        self.at.m, self.at.groups = m, <int>len(change.sums)
        if m == 0:
            return
        self.at.lower, self.at.upper, self.at.V = &self.lower[0], &self.upper[0], &self.V[0]
        self.at.group, self.at.column, self.at.beta = &self.group[0], &self.column[0], &self.beta[0]
        self.at.entering, self.at.leaving = &self.entering[0], &self.leaving[0]
        for k in range(2):
            begin(&sides[k])
            self.at.missing[k] = change.sums[k] if k < self.at.groups else 0.0
        for k in range(new.shape[0]):
            self.entering[new[k]] = True
        for v in range(m):
            if self.lower[v] < self.upper[v]:
                self.at.missing[self.group[v]] -= self.beta[v]
                if not self.entering[v]:
                    add_variable(&sides[self.group[v]], v, self.V[v], self.beta[v] < self.upper[v],
                                 self.beta[v] > self.lower[v], self.lower[v] < self.beta[v] < self.upper[v])
        for k in range(2):
            self.at.level[k] = level_of(&sides[k])
        for v in range(m):
            if self.entering[v]:
                self.entering[v] = 1 if above(&self.at, v) > 0 else -1


cdef double above(const FoldStart *at, Py_ssize_t v) noexcept nogil:
    """How far V of a variable with beta = 0 is on the wrong side of its level."""
    return (at.V[v] - at.level[at.group[v]]) * (1.0 if at.upper[v] > 0 else -1.0)


cdef int move_scores(const FoldStart *at, const double *before, StartRows rows, Control control,
                     double *scores) except -1 nogil:
    """V of all variables once R has left and beta is no longer ``before``, at variables that take part."""
    cdef Py_ssize_t v
    for v in range(at.m):
        scores[v] = at.V[v] + at.leaving[v]
    for v in range(at.m):
        if at.lower[v] < at.upper[v] and at.beta[v] != before[v]:
            svmx_axpy_at(at.m, before[v] - at.beta[v], rows.row(at.column[v]), at.column, scores)
            control.asked(2 * at.m)
    return 0


# ---- AdjustAlpha -----------------------------------------------------------------------------------
#
# AdjustAlpha: a start made feasible, lower <= beta <= upper and sum of beta = the new fold's (Wen et al. 2017, section 3).
#
# Departs from the paper: it shifts the beta of T alone. Here what T cannot take goes to the free rows of S, and what these
# cannot take to all rows; so a start is found whenever there is one, also where T is empty. In the nu formulations there
# are two sums, each over one class, and each is adjusted by itself.

def adjust(FoldChange change, start):
    """Make ``start`` (buffer of float64, shape (m,)) feasible in place. False if the new fold is infeasible."""
    cdef const double[::1] lower = change.lower, upper = change.upper
    cdef double[::1] beta = start
    cdef Py_ssize_t v
    for v in range(change.size):
        beta[v] = min(max(beta[v], lower[v]), upper[v])
    if equalise(change, start, change.entering) or equalise(change, start, change.shared(True)):
        return True
    return equalise(change, start, ramp(change.size))


def equalise(FoldChange change, start, movable):
    """Shift beta of the variables ``movable`` (buffer of int32) by one amount for each sum, as far as their bounds go,
    until the sums are those of the new fold. True if they are."""
    # all of them, even if the first falls short
    right = [shift(change, start, movable, g) for g in range(len(change.sums))]
    return all(right)


# Of the sum of |beta|: differences of the sums that come from rounding.
cdef double ROUNDING = 1e-10
# Differences that stay where no single variable can take them.
cdef double NOTHING = 1e-13


cdef bint shift(FoldChange change, start, movable_, int g) except -1:
    """One sum, that of group g: towards its goal. True when it is there."""
    cdef double[::1] beta = start
    cdef const int32_t[::1] movable = movable_
    cdef const double[::1] lower = change.lower, upper = change.upper
    cdef const int8_t[::1] group = change.group
    cdef Py_ssize_t v, k, m = movable.shape[0]
    cdef double total = 0.0, size = 0.0, moved, missing
    for v in range(change.size):
        if group[v] == g:
            total += beta[v]
            size += fabs(beta[v])
    missing = <double>change.sums[g] - total
    if fabs(missing) <= ROUNDING * size:
        # what rounding of the sum makes goes to one variable, lest V changes by a kernel row for each
        for k in range(m):
            v = movable[k]
            moved = beta[v] + missing
            if group[v] == g and lower[v] < beta[v] < upper[v] and lower[v] < moved < upper[v]:
                beta[v] = moved
                return True
        if fabs(missing) <= NOTHING * size:
            return True
    if len(change.sums) > 1:
        movable_ = filled("i", [v for v in movable_ if group[v] == g])
    return project(start, change.lower, change.upper, missing, movable_)


# ---- SIR, TOP and NEAR -----------------------------------------------------------------------------
#
# The loop of SIR, TOP and NEAR: each beta that leaves goes to the rows of largest kernel value.
#
#     for r in R with beta_r != 0:   t = argmax K(r, t) over the candidates with room in the direction of beta_r
#                                    beta_t += what of beta_r has room there
#
# A row of the other class has room in that direction while its own alpha is above 0: it loses what r has lost.

def hand_over(FoldChange change, start, candidates, *, bint same_class=False, bint once=False):
    """Hand the beta of R over to ``candidates``. What finds no room is left to ``adjust``.

    Parameters
    ----------
    start : buffer of float64, shape (m,)      modified
    candidates : buffer of int32               variables; of equal kernel values the first counts
    same_class : bool                          only those of the class of the row that leaves
    once : bool                                each of R has one successor and each candidate one predecessor, whatever
                                               the room: else what finds no room there goes to the next

    Raises
    ------
    Stopped
    """
    cdef double[::1] beta = start
    cdef const int32_t[::1] chosen = candidates, row = change.row
    cdef const double[::1] known = change.beta, lower = change.lower, upper = change.upper
    cdef Py_ssize_t n = chosen.shape[0], n_givers, k, v, at, best
    cdef int s, count
    cdef int32_t r
    cdef bint grows
    cdef double left, room
    cdef float most
    cdef float *out[SVMX_SOURCES]
    cdef int32_t rows[SVMX_SOURCES]
    cdef ThreadPool pool = ThreadPool(1)
    givers_ = [v for v in change.leaving if known[v] != 0]
    n_givers = len(givers_)
    if n == 0 or n_givers == 0:
        return
    cdef int32_t[::1] givers = filled("i", givers_)
    members_ = zeros("i", n)
    cdef int32_t[::1] members = members_
    for k in range(n):
        members[k] = row[chosen[k]]
    cdef Targets targets = change.kernel.targets(members_)
    cdef float[::1] values = zeros("f", SVMX_SOURCES * n)
    cdef unsigned char[::1] used = bytearray(n)
    with nogil:
        at = 0
        while at < n_givers:
            count = <int>min(SVMX_SOURCES, n_givers - at)
            for s in range(count):
                rows[s], out[s] = row[givers[at + s]], &values[s * n]
            targets.fill_rows(rows, count, n, out, pool, 0)
            for s in range(count):
                r = givers[at + s]
                left, grows = fabs(known[r]), known[r] > 0
                while left > 0:
                    best, most = -1, 0
                    for k in range(n):
                        v = chosen[k]
                        if ((best < 0 or out[s][k] > most) and not used[k]
                                and (beta[v] < upper[v] if grows else beta[v] > lower[v])
                                and not (same_class and (upper[v] <= 0 if grows else lower[v] >= 0))):
                            best, most = k, out[s][k]
                    if best < 0:
                        break
                    v = chosen[best]
                    room = min(left, upper[v] - beta[v] if grows else beta[v] - lower[v])
                    beta[v] += room if grows else -room
                    left -= room
                    change.control.asked(n)
                    if once:
                        used[best] = True
                        break
            at += count
            change.control.asked(4 * count * n)
        change.kernel.values_computed += n_givers * n


# ---- MIR -------------------------------------------------------------------------------------------
#
# The least squares of MIR (mir.py has the equations), without the interpreter.
#
#     min_x sum_i (sum_t K_it x_t - goal_i)^2 + sum_g (sum_{t of g} x_t - missing_g)^2,      A'A x = A'b   (18)
#
# by Cholesky of A'A, which unknowns join one by one; one that depends on those before it stays as it is.

# Unknowns: the normal equations then take 0.1 s.
cdef Py_ssize_t MOST_UNKNOWNS = 1000
# Values K_it: 32 MB.
cdef Py_ssize_t MOST_VALUES = 1 << 22
# Of the work of a solve from nothing, what the least squares may take.
cdef double REPLACEMENT_SHARE = 0.25
# A pivot below this share of its diagonal element is none: what a float64 can hold.
cdef double SINGULAR = 1e-13
# Of the width of the bounds: what solving a linear system leaves of a value that is at one of them.
cdef double ROUNDING_OF_BOX = 1e-13


cdef class Replacement:
    """Replacement(): memory for starts, one after the other, by ``replace``."""

    def __cinit__(self):
        self.factor = Cholesky()
        self.unknown, self.equation, self.kept = (zeros("i", 0) for _ in range(3))
        self.goal, self.right, self.column = (zeros("d", 0) for _ in range(3))

    def __dealloc__(self):
        free(self.values)
        free(self.distances)

    cdef int reserve(self, Py_ssize_t m) except -1:
        """Memory for folds of so many variables."""
        cdef void *grown
        if self.unknown.shape[0] < m:
            grown = realloc(self.distances, m * sizeof(Distance))
            if grown == NULL:
                raise MemoryError("a start by MIR")
            self.distances = <Distance *>grown
            self.unknown, self.equation, self.kept = (zeros("i", m) for _ in range(3))
            self.goal, self.right, self.column = (zeros("d", m + 1) for _ in range(3))
        return 0

    cdef int replace(self, FoldStart *at, StartRows rows, Control control, double most_work) except -1 nogil:
        """beta of T, all at once, or where nothing enters those of the margin. There must be room. ``most_work``: values
        that a solve from nothing works on."""
        cdef const float *K
        cdef double *own
        cdef void *grown
        cdef Py_ssize_t t, u, i, v, k, n = self.choose_unknowns(at, REPLACEMENT_SHARE * most_work), n_equations
        cdef double pivot, total, slack, diagonal
        if n == 0:
            return 0
        n_equations = self.choose_equations(at, n, REPLACEMENT_SHARE * most_work)
        if n * n_equations > self.room:
            with gil:
                grown = realloc(self.values, n * n_equations * sizeof(double))
                if grown == NULL:
                    raise MemoryError("kernel values of a start by MIR")
            self.values, self.room = <double *>grown, n * n_equations
        self.factor.size = 0
        k = 0
        for t in range(n):
            v, own = self.unknown[t], self.values + k * n_equations
            K = rows.row(at.column[v])
            for i in range(n_equations):
                own[i] = K[at.column[self.equation[i]]]
            for u in range(k):
                self.column[u] = svmx_dot(n_equations, own, self.values + u * n_equations)
                if at.group[self.kept[u]] == at.group[v]:
                    self.column[u] += 1.0
            diagonal = svmx_dot(n_equations, own, own) + 1.0
            control.asked(k * (n_equations + k) + n_equations)
            pivot = self.factor.border(&self.column[0], diagonal)
            if not pivot > SINGULAR * diagonal:
                continue
            if k >= self.factor.room:
                with gil:
                    self.factor.reserve(k + 1)
            self.factor.append(&self.column[0], pivot)
            self.kept[k] = <int32_t>v
            self.right[k] = svmx_dot(n_equations, own, &self.goal[0]) + at.missing[at.group[v]]
            k += 1
        self.factor.forward(&self.right[0])
        self.factor.backward(&self.right[0])
        for t in range(k):
            v = self.kept[t]
            total, slack = at.beta[v] + self.right[t], ROUNDING_OF_BOX * (at.upper[v] - at.lower[v])
            if not total < at.upper[v] - slack:
                at.beta[v] = at.upper[v]
            elif not total > at.lower[v] + slack:
                at.beta[v] = at.lower[v]
            else:
                at.beta[v] = total
        return 0

    cdef Py_ssize_t choose_unknowns(self, FoldStart *at, double most_work) noexcept nogil:
        """``unknown``, in the order of the variables; returns how many they are."""
        cdef Py_ssize_t v, t, n = 0
        cdef Py_ssize_t most = <Py_ssize_t>min(<double>MOST_UNKNOWNS, 1.0 + cbrt(2.0 * most_work))
        cdef bint star = True
        for v in range(at.m):
            star = star and at.entering[v] <= 0
        for v in range(at.m):
            if at.lower[v] < at.upper[v] and (at.entering[v] > 0 or (star and at.lower[v] < at.beta[v] < at.upper[v])):
                self.distances[n].variable, self.distances[n].distance = <int32_t>v, fabs(goal_of(at, v))
                n += 1
        if n > most:
            qsort(self.distances, n, sizeof(Distance), by_distance)
            n = most
            qsort(self.distances, n, sizeof(Distance), by_variable)
        for t in range(n):
            self.unknown[t] = self.distances[t].variable
        return n

    cdef Py_ssize_t choose_equations(self, FoldStart *at, Py_ssize_t n_unknowns, double most_work) noexcept nogil:
        """``equation`` and ``goal``: the margin, the unknowns, and, if T has any, others of S as there is room."""
        cdef Py_ssize_t v, t, n = 0, n_others = 0, first, room, at_other = 0
        cdef Py_ssize_t most = <Py_ssize_t>min(<double>(MOST_VALUES // n_unknowns), 2.0 * most_work / n_unknowns / n_unknowns)
        cdef bint star = at.entering[self.unknown[0]] <= 0
        most = max(most, n_unknowns)
        for v in range(at.m):
            if at.lower[v] < at.beta[v] < at.upper[v] and n < most:
                self.equation[n] = <int32_t>v
                n += 1
            elif at.lower[v] < at.upper[v] and not at.entering[v]:
                n_others += 1
        for t in range(0 if star else n_unknowns):
            if n < most:
                self.equation[n] = self.unknown[t]
                n += 1
        if not star:
            first, room = n, min(most - n, n_others)
            for v in range(at.m):
                if at.lower[v] < at.upper[v] and not at.entering[v] and not at.lower[v] < at.beta[v] < at.upper[v]:
                    # evenly spaced
                    if n < first + room and at_other == (n - first) * n_others // room:
                        self.equation[n] = <int32_t>v
                        n += 1
                    at_other += 1
        for t in range(n):
            self.goal[t] = goal_of(at, self.equation[t])
        return n


cdef double goal_of(const FoldStart *at, Py_ssize_t v) noexcept nogil:
    """Right side of (15): what sum_T K_vt x_t should be."""
    if at.lower[v] < at.beta[v] < at.upper[v]:
        return at.leaving[v]
    return at.V[v] - at.level[at.group[v]] + at.leaving[v]


cdef int by_distance(const void *a, const void *b) noexcept nogil:
    """The farthest first, of equals the first variable."""
    cdef double left = (<const Distance *>a).distance, right = (<const Distance *>b).distance
    if left != right:
        return (right > left) - (right < left)
    return by_variable(a, b)


cdef int by_variable(const void *a, const void *b) noexcept nogil:
    cdef int32_t left = (<const Distance *>a).variable, right = (<const Distance *>b).variable
    return (left > right) - (left < right)


def start_by_replacement(FoldChange change):
    """beta, float64, shape (m,): MIR's start. Raises Stopped."""
    cdef ChangeStart start = ChangeStart(change)
    cdef Replacement replacement = Replacement()
    replacement.reserve(change.size)
    if change.size:
        with nogil:
            replacement.replace(&start.at, start.rows, change.control, change.most_work)
    return memoryview(start.beta)
