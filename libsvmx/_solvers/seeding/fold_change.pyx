"""The change from a known optimum to the next fold, and what all seeders share.

    FoldChange       the rows that leave and enter, from Python;  FoldStart: the same for compiled seeders (seeders.pyx)
    make_feasible    AdjustAlpha: corrects the sums of a start
    move_scores      V at a start
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t

from libsvmx._core.dispatch cimport SVMX_SOURCES, svmx_axpy_at, svmx_axpy_row
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._solvers.dual cimport Certificate, DualProblem, add_variable, begin, level_of, project_chosen

from libsvmx._core.buffers import zeros


# ---- The change ------------------------------------------------------------------------------------
#
# The rows R leave, T enter, S stay (Wen et al. 2017, section 2). In a chain of folds T is the fold held out before; in
# a star each fold starts from the optimum over all rows, and T is empty.

cdef class FoldChange:
    """FoldChange(kernel, problem, sums, beta, scores, former, control=None, targets=None, most_work=inf)

    The input of a seeder, not modified. A seeder reports its work to ``control``, which may raise Stopped.

    Parameters
    ----------
    kernel : Kernel
    problem : DualProblem                with the box of the new fold: [0, 0] for variables outside it
    sums : tuple of float                sum of beta over each group in the new fold
    beta, scores : buffer of float64     the known optimum, and its V, shape (problem.size,)
    former : DualProblem                 with the box of the known optimum
    control : Control                    of the fold; None: no limits
    targets : Targets                    all rows of the kernel, in order; None: made on demand
    most_work : float                    limit of a path's work in values, 0: no path; for mir, the work of a cold start

    Attributes
    ----------
    size, lower, upper, group, row       those of the problem
    work : float                         of the least squares, in values
    path_values, path_lines : float      of a path: its work, -1: no path
    """

    def __init__(self, Kernel kernel, DualProblem problem, sums, beta, scores, DualProblem former, Control control=None,
                 Targets targets=None, double most_work=HUGE_VAL):
        cdef Py_ssize_t k, v, m = problem.size
        cdef const double[::1] known = beta
        self.targets, self.most_work, self.path_values = targets, most_work, -1.0
        self.control = Control(0.0) if control is None else control
        self.kernel, self.sums, self.beta, self.scores, self.size = kernel, sums, beta, scores, m
        self.former, self.low_before, self.high_before = former, former.lower, former.upper
        self.lower, self.upper, self.group, self.row = problem.lower, problem.upper, problem.group, problem.row
        self.low, self.high, self.V, self.group_of, self.column = self.lower, self.upper, scores, self.group, self.row
        self.left_column, self.left_beta = zeros("i", m), zeros("d", m)
        self.at.m, self.at.groups = m, <int>len(sums)
        self.at.n_rows = kernel.n if m == 2 * kernel.n else m
        for k in range(self.at.groups):
            self.at.sum[k] = sums[k]
        if m == 0:
            return
        self.at.lower, self.at.upper, self.at.group = &self.low[0], &self.high[0], &self.group_of[0]
        self.at.column, self.at.in_order = &self.column[0], True
        for v in range(self.at.n_rows):
            self.at.in_order = self.at.in_order and self.column[v] == v
        self.at.left_column, self.at.left_beta = &self.left_column[0], &self.left_beta[0]
        for v in range(m):
            self.at.n_entering += self.is_new(v)
            if self.low[v] >= self.high[v] and known[v] != 0:
                self.left_column[self.at.n_left], self.left_beta[self.at.n_left] = self.column[v], known[v]
                self.at.n_left += 1

    cdef bint is_new(self, Py_ssize_t v) noexcept:
        """Whether a variable is in T."""
        return self.low[v] < self.high[v] and self.low_before[v] >= self.high_before[v]

    cdef FoldStart *begin(self) except NULL:
        """The input of a seeder, whose beta is ``start``."""
        cdef Py_ssize_t v
        self.start, self.enters = self.kept(), zeros("b", self.size)
        for v in range(self.size):
            self.enters[v] = self.is_new(v)
        if self.size:
            self.at.beta, self.at.entering, self.at.V = &self.start[0], &self.enters[0], &self.V[0]
        return &self.at

    cdef SharedRows rows(self):
        """Kernel rows over all columns, on demand."""
        return SharedRows(self.kernel, HUGE_VAL, targets=self.targets, token=self.control)

    def kept(self):
        """The known beta, clipped to the new box (0 for R): the input of every seeder. float64, shape (m,)."""
        cdef const double[::1] beta = self.beta
        cdef Py_ssize_t v
        start_ = zeros("d", self.size)
        cdef double[::1] start = start_
        for v in range(self.size):
            start[v] = min(max(beta[v], self.low[v]), self.high[v])
        return start_


# ---- Sums of kernel rows ----------------------------------------------------------------------------

cdef int add_rows(const FoldStart *at, const double *old, const double *new, SharedRows rows, Control control,
                  double *sums) except -1 nogil:
    """sums_v += sum_u (old_u - new_u) K_uv for all variables v; arrays by variable, shape (m,)."""
    cdef double factor[SVMX_SOURCES]
    cdef int32_t column[SVMX_SOURCES]
    cdef Py_ssize_t i, n = at.n_rows
    cdef double c
    cdef int count = 0
    for i in range(n):
        c = old[i] - new[i]
        if at.m > n:
            c += old[n + i] - new[n + i]
        if c != 0:
            factor[count], column[count] = c, at.column[i]
            count += 1
        if count == SVMX_SOURCES or (count and i == n - 1):
            add_block(at, column, count, factor, rows, control, sums)
            count = 0
    return 0


cdef int add_block(const FoldStart *at, const int32_t *column, int count, const double *factor, SharedRows rows,
                   Control control, double *sums) except -1 nogil:
    """sums += factor K for up to SVMX_SOURCES rows."""
    cdef const float *K[SVMX_SOURCES]
    rows.block(column, count, K)
    add_known(at, K, count, factor, sums)
    return control.asked(count * at.m)


cdef void add_known(const FoldStart *at, const float **K, int count, const double *factor, double *sums) noexcept nogil:
    """``add_block`` with the kernel rows given."""
    cdef Py_ssize_t i, n = at.n_rows
    cdef int s
    for s in range(count):
        if at.in_order:
            svmx_axpy_row(n, factor[s], K[s], sums)
        else:
            svmx_axpy_at(n, factor[s], K[s], at.column, sums)
        if at.m > n:  # second variables of the rows
            if at.in_order:
                svmx_axpy_row(n, factor[s], K[s], sums + n)
            else:
                svmx_axpy_at(n, factor[s], K[s], at.column, sums + n)


# ---- Levels ----------------------------------------------------------------------------------------

cdef void describe(FoldStart *at, double eps) noexcept nogil:
    """Set ``level`` and ``missing``, and in ``entering`` which variables of T violate optimality.

    The level of a group is V of its free variables: -rho; in the nu formulations, with two groups, -rho - r and -rho +
    r.
    """
    cdef Certificate sides[2]
    cdef Py_ssize_t v
    cdef int g
    for g in range(2):
        begin(&sides[g])
        at.missing[g] = at.sum[g] if g < at.groups else 0.0
    for v in range(at.m):
        if at.lower[v] < at.upper[v]:
            at.missing[at.group[v]] -= at.beta[v]
            if not at.entering[v]:
                add_variable(&sides[at.group[v]], v, at.V[v], at.beta[v] < at.upper[v], at.beta[v] > at.lower[v],
                             at.lower[v] < at.beta[v] < at.upper[v])
    for g in range(2):
        at.level[g] = level_of(&sides[g])
    if at.n_entering:
        for v in range(at.m):
            if at.entering[v]:
                # smaller violations are within the tolerance
                at.entering[v] = 1 if above(at, v) > 0.5 * eps else -1


cdef double above(const FoldStart *at, Py_ssize_t v) noexcept nogil:
    """Violation of optimality of a variable with beta = 0."""
    return (at.V[v] - at.level[at.group[v]]) * (1.0 if at.upper[v] > 0 else -1.0)


# ---- V at a start ----------------------------------------------------------------------------------

cdef int move_scores(const FoldStart *at, const double *before, SharedRows rows, Control control,
                     double *scores) except -1 nogil:
    """V of all variables, shape (m,), without R and with ``at.beta`` instead of ``before``."""
    cdef Py_ssize_t v
    for v in range(at.m):
        scores[v] = at.V[v] + at.leaving[v]
    return add_rows(at, before, at.beta, rows, control, scores)


def moved_scores(FoldChange change, start_):
    """V at ``start``, V_old - K (start - beta_old), old being the known optimum; computes only rows with a change.

    Parameters
    ----------
    start : buffer of float64, shape (m,)

    Returns
    -------
    buffer of float64, shape (m,)

    Raises
    ------
    Stopped
    """
    cdef const double[::1] beta = change.beta, start = start_
    cdef FoldStart *at = change.begin()
    cdef SharedRows rows = change.rows()
    moved_ = zeros("d", change.size)
    cdef double[::1] moved = moved_
    if change.size:
        moved[:] = change.V
        with nogil:
            add_rows(at, &beta[0], &start[0], rows, change.control, &moved[0])
    return moved_


# ---- AdjustAlpha -----------------------------------------------------------------------------------
#
# Makes a start feasible: lower <= beta <= upper, and the sums of beta are those of the fold (Wen et al. 2017, section
# 3).
#
# Departs from the paper, which shifts the beta of T alone: what T cannot take goes to the free rows of S, and then to
# all rows; so a start is found whenever one exists, even if T is empty. In the nu formulations each of the two sums is
# adjusted on its own.

# Rounding of the sums, relative to the sum of |beta|.
cdef double ROUNDING = 1e-10
# Difference of the sums that may remain if no single variable can take it.
cdef double NOTHING = 1e-13


cdef bint make_feasible(const FoldStart *at, const double *known, int32_t *scratch) except -1 nogil:
    """Shift beta, which is within its bounds, until its sums are those of the fold. False if that is impossible.

    ``known``: beta at the known optimum, which decides which variables are free; ``scratch``: (m,).
    """
    cdef int g
    cdef bint feasible = True
    for g in range(at.groups):
        if not (shift(at, ENTERING, g, known, scratch) or shift(at, FREE, g, known, scratch)
                or shift(at, ALL, g, known, scratch)):
            feasible = False  # still adjust the other group
    return feasible


cdef bint shift(const FoldStart *at, Movable which, int g, const double *known, int32_t *scratch) except -1 nogil:
    """Shift beta of some variables of a group by one amount, clipped to the box, until the sum is that of the fold;
    whether it is reached."""
    cdef Py_ssize_t v, k, n = 0
    cdef double total = 0.0, size = 0.0, moved, missing
    for v in range(at.m):
        if at.group[v] == g:
            total += at.beta[v]
            size += fabs(at.beta[v])
            if at.lower[v] < at.upper[v] and (which == ALL or (
                    at.entering[v] != 0 if which == ENTERING
                    else not at.entering[v] and at.lower[v] < known[v] < at.upper[v])):
                scratch[n] = <int32_t>v
                n += 1
    missing = at.sum[g] - total
    if fabs(missing) <= ROUNDING * size:
        # rounding goes to one variable, so that V changes by one kernel row only
        for k in range(n):
            v = scratch[k]
            moved = at.beta[v] + missing
            if at.lower[v] < at.beta[v] < at.upper[v] and at.lower[v] < moved < at.upper[v]:
                at.beta[v] = moved
                return True
        if fabs(missing) <= NOTHING * size:
            return True
    if n == 0:
        return missing == 0
    return project_chosen(at.beta, at.lower, at.upper, missing, scratch, n)


def adjust(FoldChange change, start):
    """Make ``start``, float64, shape (m,), feasible in place. False if the fold is infeasible."""
    cdef double[::1] beta = start
    cdef FoldStart *at = change.begin()
    cdef double[::1] known = change.start
    cdef int32_t[::1] scratch = zeros("i", change.size)
    cdef Py_ssize_t v
    if change.size == 0:
        return True
    for v in range(change.size):
        beta[v] = min(max(beta[v], change.low[v]), change.high[v])
    at.beta = &beta[0]
    return make_feasible(at, &known[0], &scratch[0])
