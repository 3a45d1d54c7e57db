"""The dual problem of all formulations, its solution and its certificate.

    min  1/2 beta'K beta - linear'beta    s.t.  lower <= beta <= upper,  the sum of beta over each group is fixed

in the coefficients beta of the decision function, without labels. At an optimum the scores

    V = linear - K beta        (minus the gradient)

are equal where beta is free, at least that level at upper bounds and at most at lower ones. There is one group, or two
in the nu formulations. Each sum is that of the given beta.

LIBSVM's variables are alpha_i = |beta_i| with labels y_i (Fan, Chen & Lin 2005, eq. 1); only _solvers/smo uses them
(positions.pyx).
"""

from libc.math cimport HUGE_VAL, NAN, fabs, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort

from libsvmx._core.buffers import zeros
from libsvmx.exceptions import Stopped

cdef double ROUNDING = 1e-9  # of the sum of beta, relative to that of |beta|
# A coefficient from this share of its bound on is at the bound, up to rounding.
cdef double ALMOST = 1 - 1e-12


cdef class DualProblem:
    """DualProblem(linear, lower, upper, group, row, beta, scores=None, rounded=False); IN: buffers, shape (m,).

    Parameters
    ----------
    linear : float64
    lower, upper : float64    the box of beta; lower = upper = 0 for held-out variables
    group : int8              0, or 0 and 1: the sum of a variable
    row : int32               kernel row of each variable
    beta : float64            feasible start
    scores : float64          V at ``beta``, for a warm start; V of held-out variables is then updated, too
    rounded : bool            ``scores`` are of kernel values in float, all of K beta

    Attributes
    ----------
    size : int                m
    groups : int              1 or 2
    """

    def __cinit__(self, linear, lower, upper, group, row, beta, scores=None, bint rounded=False):
        self.linear, self.lower, self.upper, self.group, self.row, self.beta = linear, lower, upper, group, row, beta
        self.scores, self.rounded = scores, rounded
        self.size = len(linear)
        for other in (lower, upper, group, row, beta, beta if scores is None else scores):
            if len(other) != self.size:
                raise ValueError("linear, lower, upper, group, row, beta and scores differ in length")
        self.groups = 1
        cdef const int8_t[::1] of = group
        cdef Py_ssize_t v
        for v in range(self.size):
            if of[v]:
                self.groups = 2
                break

    def changed(self, *, lower=None, upper=None, beta=None, scores=None, bint rounded=False):
        """The same problem with another box or start; without scores unless given."""
        return DualProblem(self.linear, self.lower if lower is None else lower, self.upper if upper is None else upper,
                           self.group, self.row, self.beta if beta is None else beta, scores, rounded)

    def is_of_hinges(self):
        """Whether the loss is a sum of hinges (C-SVC, epsilon-SVR): one bound of each variable is 0, variables of both
        signs exist, and beta sums to 0."""
        cdef const double[::1] lower = self.lower, upper = self.upper, beta = self.beta
        cdef Py_ssize_t v, ups = 0, downs = 0
        cdef double total = 0, size = 0
        for v in range(self.size):
            ups += lower[v] == 0.0 and upper[v] > 0.0
            downs += lower[v] < 0.0 and upper[v] == 0.0
            total += beta[v]
            size += fabs(beta[v])
        return (self.groups == 1 and ups > 0 and downs > 0 and ups + downs == self.size
                and fabs(total) <= ROUNDING * size)

    def is_of_regression(self):
        """Whether rows have two variables each."""
        cdef const int32_t[::1] row = self.row
        cdef Py_ssize_t v
        cdef int32_t last = -1
        for v in range(self.size):
            last = max(last, row[v])
        return self.size > last + 1

    def largest_bound(self):
        """Of |beta|; 0 without variables."""
        cdef const double[::1] lower = self.lower, upper = self.upper
        cdef Py_ssize_t v
        cdef double largest = 0
        for v in range(self.size):
            largest = max(largest, upper[v], -lower[v])
        return largest

    def count_free(self, values):
        """Variables inside of their box at beta = ``values``, float64."""
        cdef const double[::1] beta = values, lower = self.lower, upper = self.upper
        cdef Py_ssize_t v, n = 0
        for v in range(self.size):
            n += bound_state(beta[v], lower[v], upper[v], 0.0) == FREE
        return n


FIELDS = ("beta", "scores", "rho", "r", "objective", "iterations", "rows_computed", "values_computed", "subproblems",
          "fallbacks", "work", "reach", "status", "chosen", "gap")


cdef class DualSolution:
    """Result of a solver; buffers of float64, shape (m,), in the order of the problem's variables.

    Attributes
    ----------
    beta : buffer
    scores : buffer       V at beta, for every variable
    rho : float           minus the level of V: decision values are sum_j beta_j K_j - rho; with levels V0 and V1 of two
                          groups
                          -(V0 + V1)/2
    r : float             (V1 - V0)/2 with two groups, else 0
    objective : float     1/2 beta'K beta - linear'beta
    iterations, rows_computed, values_computed : int      kernel rows, and all kernel values
    work : float          of the steps of SMO, in values (_solvers/seeding/paying.pyx)
    reach : float         largest share of its bound to which SMO has moved a variable; 1: unknown
    subproblems, fallbacks : int      working sets solved, and those that IRWLS left to pair steps
    status : SolveStatus
    chosen : str          the solvers in turn, if several or chosen by auto, else ''
    gap : float           KKT gap over all variables, nan: that of ``scores``
    """

    def __init__(self, *, beta, scores, double rho, double r=0.0, double objective, int64_t iterations,
                 int64_t rows_computed=0, int64_t values_computed=0, int64_t subproblems=0, int64_t fallbacks=0,
                 double work=0.0, double reach=1.0, status, str chosen="", double gap=NAN):
        self.beta, self.scores, self.rho, self.r, self.objective = beta, scores, rho, r, objective
        self.iterations, self.status, self.chosen, self.gap = iterations, status, chosen, gap
        self.rows_computed, self.values_computed = rows_computed, values_computed
        self.subproblems, self.fallbacks, self.work, self.reach = subproblems, fallbacks, work, reach

    def changed(self, **fields):
        """A copy with other values of some fields."""
        return DualSolution(**({name: getattr(self, name) for name in FIELDS} | fields))

    def with_work_of(self, DualSolution other):
        """A copy whose counts include those of ``other``, found for the same problem."""
        return self.changed(
            iterations=self.iterations + other.iterations, rows_computed=self.rows_computed + other.rows_computed,
            values_computed=max(self.values_computed, other.values_computed),  # a count of the kernel, over both
            subproblems=self.subproblems + other.subproblems, fallbacks=self.fallbacks + other.fallbacks,
            work=self.work + other.work)


# ---- The certificate of an optimum -----------------------------------------------------------------
#
#     gap   = max_{beta < upper} V - min_{beta > lower} V         optimal to eps  <=>  gap <= eps
#     level = mean V over lower < beta < upper, or the middle of those two if no variable is free;  rho = -level
#
# of each group (Fan, Chen & Lin 2005, (6), without labels; Chang & Lin 2011, section 4.1.5). Compiled loops use the
# inline functions of dual.pxd; those below take buffers or arrays. SMO computes its own rho, with LIBSVM's signed zeros
# and ties.

def kkt_gap(beta, scores, lower, upper, group=None):
    """The KKT gap over all variables, the larger of two groups; -inf if no pair of variables can move.

    Parameters
    ----------
    beta, scores, lower, upper : buffers of float64, shape (m,)      ``scores``: V at beta
    group : buffer of int8, shape (m,)         0 or 1; None: one group
    """
    cdef const double[::1] b = beta, V = scores, low = lower, high = upper
    cdef const int8_t[::1] groups = group
    cdef Certificate found[2]
    cdef Py_ssize_t v
    begin(&found[0])
    begin(&found[1])
    for v in range(b.shape[0]):
        add_variable(&found[0 if groups is None else groups[v]], v, V[v], b[v] < high[v], b[v] > low[v], False)
    return max(gap_of(&found[0]), gap_of(&found[1]))


# ---- NumPy arrays, whose order of summation differs ------------------------------------------------


def extremes(V, can_grow, can_fall):
    """(max of V over I_up, min of V over I_low), infinite if empty; ``V``: array, the others masks."""
    return float(V.max(initial=-HUGE_VAL, where=can_grow)), float(V.min(initial=HUGE_VAL, where=can_fall))


def array_level(V, can_grow, can_fall):
    """``level_of`` for an array ``V`` of one group and masks."""
    free = can_grow & can_fall
    if free.any():
        return float(V[free].mean())
    highest, lowest = extremes(V, can_grow, can_fall)
    if not can_grow.any() or not can_fall.any():
        return highest if can_grow.any() else lowest if can_fall.any() else 0.0
    return (highest + lowest) / 2


def first_bound(at, target, lower, upper):
    """The point at the first bound on the way from ``at``, within the box, to ``target``, and the mask of what blocks
    there: none if the whole way is free. Arrays of shape (m,); bounds may be numbers."""
    import numpy as np

    way = target - at
    room = np.where(way > 0, upper - at, at - lower)
    lengths = np.full(len(at), HUGE_VAL)
    np.divide(room, abs(way), out=lengths, where=abs(way) > room)
    step = float(lengths.min(initial=HUGE_VAL))
    if step >= 1:
        return np.clip(target, lower, upper), np.zeros(len(at), dtype=bool)
    blocking = lengths <= step
    return np.where(blocking, np.where(way > 0, upper, lower), np.clip(at + step * way, lower, upper)), blocking


# ---- Rounding of kernel values ---------------------------------------------------------------------

# Error of a kernel value in float, relative to K(i, i); and a safety factor on its effect.
cdef double FLOAT_ERROR = 6e-8
cdef double SAFETY = 4.0
# The gap is recomputed in double if the rounding of scores exceeds this multiple of eps, or of LIBSVM's if larger.
# Measured: the gap in double exceeds that in float by at most a quarter of the estimate (11 sets, 500 to 3,000 rows, C
# from 10 to 1e4). An eps below LIBSVM's is beyond float nearly everywhere, even with small coefficients: not reported.
cdef double MOST_ROUNDING = 2.0
cdef double USUAL_EPS = 1e-3
# A gap in double up to this multiple of eps counts as converged.
TOLERATED = 2.0


cdef double score_rounding(double largest, double squares) noexcept nogil:
    """Estimated error of a score from kernel values in float, the largest of which is ``largest`` (at least 1).

    ``squares``: sum of squared differences of beta to one whose scores have no such error. The errors of kernel values
    are independent of each other and the same in every step, so they add up to error x sqrt(squares) on any path.
    """
    return SAFETY * FLOAT_ERROR * max(1.0, largest) * sqrt(squares)


cdef bint rounding_may_hide(double largest, double squares, double eps) noexcept nogil:
    """Whether the error of kernel values in float may exceed the tolerance (at least LIBSVM's default); arguments as in
    ``score_rounding``."""
    return score_rounding(largest, squares) > MOST_ROUNDING * max(eps, USUAL_EPS)


def gap_in_double(DualProblem problem, kernel, beta, control):
    """KKT gap of ``beta`` with kernel values in double; None if ``rounding_may_hide`` is False, or if a limit ends it.

    Raises
    ------
    KeyboardInterrupt, or another exception of a signal handler; MemoryError
    """
    cdef const double[::1] b = beta, linear = problem.linear, diagonal = kernel.diagonal
    cdef const int32_t[::1] row = problem.row
    cdef Py_ssize_t v, i, n = kernel.n
    cdef double squares = 0.0, largest = 0.0
    for v in range(problem.size):
        squares += b[v] * b[v]
    for i in range(n):
        largest = max(largest, fabs(diagonal[i]))
    if not rounding_may_hide(largest, squares, control.eps):
        return None
    V_ = zeros("d", problem.size)
    cdef double[::1] of_row = zeros("d", n), sums, V = V_
    for v in range(problem.size):
        of_row[row[v]] += b[v]
    try:
        sums = kernel.times(of_row, control)
    except Stopped:
        return None
    for v in range(problem.size):
        V[v] = linear[v] - sums[row[v]]
    return kkt_gap(beta, V_, problem.lower, problem.upper, problem.group)


# ---- feasibility -----------------------------------------------------------------------------------


cdef struct Kink:
    double at
    int slope


cdef int by_place(const void *a, const void *b) noexcept nogil:
    cdef double left = (<const Kink *>a).at, right = (<const Kink *>b).at
    return (left > right) - (left < right)


def project(beta, lower, upper, double missing, movable):
    """Change the sum of ``beta`` (INOUT) by ``missing``, or as far as boxes allow; returns whether it was reached.

    beta_t becomes clip(beta_t + theta, lower_t, upper_t) for t of ``movable``, with one theta: the nearest point of the
    box with that sum. The sum is piecewise linear in theta; its sorted kinks are passed until it is reached.

    Parameters
    ----------
    beta : buffer of float64, shape (m,)                 may be outside the box
    lower, upper : buffers of float64, shape (m,)
    movable : buffer of int32                            of one group; those with lower = upper are not moved
    """
    cdef double[::1] b = beta
    cdef const double[::1] low = lower, high = upper
    cdef const int32_t[::1] chosen = movable
    if chosen.shape[0] == 0:
        return missing == 0
    return project_chosen(&b[0], &low[0], &high[0], missing, &chosen[0], chosen.shape[0])


cdef bint project_chosen(double *b, const double *low, const double *high, double missing, const int32_t *chosen,
                         Py_ssize_t count) except -1 nogil:
    """``project`` for compiled loops; ``chosen``: the movable variables, (count,)."""
    cdef Py_ssize_t v, k, n = 0
    cdef double least = 0.0, most = 0.0, theta, sum_here
    cdef int slope = 0
    cdef Kink *kinks = <Kink *>malloc(max(2 * count, 1) * sizeof(Kink))
    if kinks == NULL:
        with gil:
            raise MemoryError("projection on the box")
    for k in range(count):
        v = chosen[k]
        if low[v] >= high[v]:
            continue
        kinks[n].at, kinks[n].slope = low[v] - b[v], 1
        kinks[n + 1].at, kinks[n + 1].slope = high[v] - b[v], -1
        n += 2
        least += low[v] - b[v]
        most += high[v] - b[v]
    theta = -HUGE_VAL if missing <= least else HUGE_VAL
    if least < missing < most:
        qsort(kinks, n, sizeof(Kink), by_place)
        sum_here, theta = least, kinks[0].at
        for k in range(n):
            if sum_here + slope * (kinks[k].at - theta) >= missing:
                break
            sum_here += slope * (kinks[k].at - theta)
            theta = kinks[k].at
            slope += kinks[k].slope
        theta += (missing - sum_here) / slope
    free(kinks)
    for k in range(count):
        v = chosen[k]
        if low[v] < high[v]:
            b[v] = min(max(b[v] + theta, low[v]), high[v])
    return least <= missing <= most


# ---- Start at a larger C ---------------------------------------------------------------------------

cdef double growth_of(const Dual *dual, int groups, const double *beta, const double *V, double growth) noexcept nogil:
    """The factor q for a start q beta in the box of ``dual``, from an optimum in a box 1 / ``growth`` as large.

    Any q from 1 to ``growth`` is feasible, and V = linear - q K beta needs no kernel row. If most support vectors are
    free, q = 1; if most are at a bound, q minimises q^2 beta'K beta / 2 - q linear'beta. In nu-SVR, where the sums grow
    with C, and for a smaller C, q = ``growth``.
    """
    cdef Py_ssize_t v, n_free = 0, n_bounded = 0
    cdef double curvature = 0.0, slope = 0.0
    if groups > 1 or growth <= 1.0:
        return growth
    for v in range(dual.size):
        if beta[v] != 0:
            # at the old bound: growth leads to the new one, up to rounding
            if beta[v] * growth > dual.upper[v] * ALMOST or beta[v] * growth < dual.lower[v] * ALMOST:
                n_bounded += 1
            else:
                n_free += 1
            slope += beta[v] * dual.linear[v]
            curvature += beta[v] * (dual.linear[v] - V[v])
    if n_bounded > n_free and curvature > 0:
        return max(1.0, min(slope / curvature, growth))
    return 1.0


cdef double grow(const Dual *dual, int groups, const double *beta, const double *V, double growth, double *start,
                 double *scores) noexcept nogil:
    """A start in the box of ``dual`` from an optimum, and V there, OUT; returns its factor. Other arguments as of
    ``growth_of``; ``start`` and ``scores`` may be ``beta`` and ``V``."""
    cdef double factor = growth_of(dual, groups, beta, V, growth)
    cdef Py_ssize_t v
    for v in range(dual.size):
        scores[v] = dual.linear[v] + factor * (V[v] - dual.linear[v])
        start[v] = beta[v] * factor
        if start[v] > dual.upper[v] * ALMOST:
            start[v] = dual.upper[v]
        elif start[v] < dual.lower[v] * ALMOST:
            start[v] = dual.lower[v]
    return factor


cdef double width_of_rho(const Dual *dual, const double *beta, const double *V) noexcept nogil:
    """Width of the interval of rho at an optimum of one group: 0 unless all coefficients are at bounds."""
    cdef Certificate found
    cdef double rounding
    cdef Py_ssize_t v
    begin(&found)
    for v in range(dual.size):
        rounding = (1 - ALMOST) * (dual.upper[v] - dual.lower[v])
        if dual.lower[v] + rounding < beta[v] < dual.upper[v] - rounding:
            return 0.0
        add_variable(&found, v, V[v], beta[v] < dual.upper[v] - rounding, beta[v] > dual.lower[v] + rounding, False)
    return max(0.0, -gap_of(&found))


def growth_factor(DualProblem problem, kept_beta, kept_scores, double growth):
    """``growth_of`` for Python."""
    cdef const double[::1] linear = problem.linear, lower = problem.lower, upper = problem.upper
    cdef const double[::1] beta = kept_beta, V = kept_scores
    cdef Dual dual
    if problem.size == 0:
        return 1.0
    dual = Dual(problem.size, <double *>&linear[0], <double *>&lower[0], <double *>&upper[0], NULL, NULL, NULL)
    return growth_of(&dual, problem.groups, &beta[0], &V[0], growth)
