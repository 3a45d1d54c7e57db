"""The dual problem that every formulation becomes, and its solution.

    min  1/2 beta'K beta - linear'beta    s.t.  lower <= beta <= upper,  the sum of beta over each group is fixed

in the coefficients beta of the decision function, without labels. An optimum is told by the scores

    V = linear - K beta        (minus the gradient)

which are equal where beta is free, not below that level at upper bounds and not above it at lower ones, by the certificate below.
There is one group, or two in the nu formulations. Each sum is what the given beta has.

LIBSVM's variables are alpha_i = |beta_i| with labels y_i (Fan, Chen & Lin 2005, eq. 1); only libsvmx._solvers.smo knows
them, see positions.pyx there.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, malloc, qsort

cdef double ROUNDING = 1e-9  # of the sum of beta, against that of |beta|


cdef class DualProblem:
    """DualProblem(linear, lower, upper, group, row, beta, scores=None, rounded=False); buffers, shape (m,), none of them
    modified.

    Parameters
    ----------
    linear : float64
    lower, upper : float64    the box of beta; lower = upper = 0 for variables that take no part
    group : int8              0, or 0 and 1: which sum a variable counts in
    row : int32               kernel row of each variable
    beta : float64            feasible start
    scores : float64          V at ``beta``, if it is known: the solver goes on from there, and variables that take no
                              part have their V followed
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
        """The same problem with another box or another start; its scores are not known unless they are given."""
        return DualProblem(self.linear, self.lower if lower is None else lower, self.upper if upper is None else upper,
                           self.group, self.row, self.beta if beta is None else beta, scores, rounded)

    def is_of_hinges(self):
        """Whether it is that of a sum of hinges, as of C-SVC and epsilon-SVR: beta may go from 0 to either side, each variable
        to one, and all of it adds up to 0."""
        cdef const double[::1] lower = self.lower, upper = self.upper, beta = self.beta
        cdef Py_ssize_t v, ups = 0, downs = 0
        cdef double total = 0, size = 0
        for v in range(self.size):
            ups += lower[v] == 0.0 and upper[v] > 0.0
            downs += lower[v] < 0.0 and upper[v] == 0.0
            total += beta[v]
            size += fabs(beta[v])
        return self.groups == 1 and ups > 0 and downs > 0 and ups + downs == self.size and fabs(total) <= ROUNDING * size


cdef class DualSolution:
    """What a solver found; buffers of float64, shape (m,), in the order of the problem's variables.

    Attributes
    ----------
    beta : buffer
    scores : buffer       V at beta, for every variable
    rho : float           minus the level of V, so that decision values are sum_j beta_j K_j - rho; with the levels V0 and V1
                          of two groups -(V0 + V1)/2
    r : float             (V1 - V0)/2 with two groups, else 0
    objective : float     1/2 beta'K beta - linear'beta
    iterations, rows_computed, values_computed : int      kernel rows, and kernel values in rows and besides
    reach : float         the largest share of its bound that steps of SMO have moved a variable to; 1 where it is not known
    subproblems, fallbacks : int      of decomposition: working sets solved, and those that IRWLS left to pair steps; else 0
    status : SolveStatus
    chosen : str          by solver auto: the solvers that have worked on it, else ''
    """

    def __init__(self, *, beta, scores, double rho, double r=0.0, double objective, int64_t iterations,
                 int64_t rows_computed=0, int64_t values_computed=0, int64_t subproblems=0, int64_t fallbacks=0,
                 double reach=1.0, status, str chosen=""):
        self.beta, self.scores, self.rho, self.r, self.objective = beta, scores, rho, r, objective
        self.iterations, self.status, self.chosen = iterations, status, chosen
        self.rows_computed, self.values_computed = rows_computed, values_computed
        self.subproblems, self.fallbacks, self.reach = subproblems, fallbacks, reach


# ---- The certificate of an optimum -----------------------------------------------------------------
#
# The certificate of an optimum, and the feasible set, once each for all solvers.
#
#     gap   = max_{beta < upper} V - min_{beta > lower} V         optimal to eps  <=>  gap <= eps
#     level = mean V over lower < beta < upper, or the middle between those two where no variable is free;  rho = -level
#
# of each group (Fan, Chen & Lin 2005, (6), free of labels; Chang & Lin 2011, section 4.1.5). Compiled loops use the
# inline functions of dual.pxd, over whatever their storage is; those below take whole buffers or arrays. The
# loop of SMO, which the chunked solver shares, has a rho of its own, whose signed zeros and ties are LIBSVM's.

def kkt_gap(beta, scores, lower, upper, group=None):
    """The KKT gap over all variables, with two groups the larger one; -inf if no pair of variables can move.

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


# ---- arrays of NumPy, whose sums have an order of their own ----------------------------------------


def extremes(V, can_grow, can_fall):
    """(max V over what can grow, min V over what can fall), infinite where there is none; ``V`` an array, the others masks."""
    return float(V.max(initial=-HUGE_VAL, where=can_grow)), float(V.min(initial=HUGE_VAL, where=can_fall))


def array_level(V, can_grow, can_fall):
    """Minus rho, as ``level_of``; ``V`` an array of one group, the others masks."""
    free = can_grow & can_fall
    if free.any():
        return float(V[free].mean())
    highest, lowest = extremes(V, can_grow, can_fall)
    if not can_grow.any() or not can_fall.any():
        return highest if can_grow.any() else lowest if can_fall.any() else 0.0
    return (highest + lowest) / 2


# ---- feasibility -----------------------------------------------------------------------------------


cdef struct Kink:
    double at
    int slope


cdef int by_place(const void *a, const void *b) noexcept nogil:
    cdef double left = (<const Kink *>a).at, right = (<const Kink *>b).at
    return (left > right) - (left < right)


def project(beta, lower, upper, double missing, movable):
    """Move the sum of ``beta`` by ``missing`` or as far as boxes allow, in place; True where it is there.

    beta_t becomes clip(beta_t + theta, lower_t, upper_t) for t of ``movable``, with one theta for all: the nearest point of
    the box with that sum. The sum grows with theta, linearly between the ends of boxes: these are sorted and walked
    through until it is met.

    Parameters
    ----------
    beta : buffer of float64, shape (m,)                 not necessarily within the box
    lower, upper : buffers of float64, shape (m,)
    movable : buffer of int32                            of one group; those with lower = upper stay what they are
    """
    cdef double[::1] b = beta
    cdef const double[::1] low = lower, high = upper
    cdef const int32_t[::1] chosen = movable
    if chosen.shape[0] == 0:
        return missing == 0
    return project_chosen(&b[0], &low[0], &high[0], missing, &chosen[0], chosen.shape[0])


cdef bint project_chosen(double *b, const double *low, const double *high, double missing, const int32_t *chosen,
                         Py_ssize_t count) except -1 nogil:
    """``project`` for compiled loops; ``chosen`` are the variables to move, (count,)."""
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
