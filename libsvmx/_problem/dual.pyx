"""The dual problem that every formulation becomes, and its solution.

    min  1/2 beta'K beta - linear'beta    s.t.  lower <= beta <= upper,  the sum of beta over each group is fixed

in the coefficients beta of the decision function, without labels. An optimum is told by the scores

    V = linear - K beta        (minus the gradient)

which are equal where beta is free, not below that level at upper bounds and not above it at lower ones; see certificate.pyx.
There is one group, or two in the nu formulations. Each sum is what the given beta has.

LIBSVM's variables are alpha_i = |beta_i| with labels y_i (Fan, Chen & Lin 2005, eq. 1); only libsvmx._solvers.smo knows
them, see positions.pyx there.
"""

from libc.math cimport fabs
from libc.stdint cimport int8_t, int64_t

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
