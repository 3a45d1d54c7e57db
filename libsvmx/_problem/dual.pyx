"""The dual problem that every formulation becomes, and its solution.

    min  1/2 a'Qa + p'a    s.t.  y'a = const,  0 <= a_i <= C_i,    Q_ij = y_i y_j K_ij
                                                                  (Fan, Chen & Lin 2005, eq. 1)

in label-free form: beta_i = y_i a_i, scores V_i = -y_i (Qa + p)_i = linear_i - sum_j beta_j K_ij
with linear_i = -y_i p_i. The constant is whatever the given alpha has. With ``split`` the
sum over each label is kept by itself (the nu formulations: e'a is fixed as well).
"""

from libc.stdint cimport int32_t, int64_t


cdef class DualProblem:
    """DualProblem(y, linear, C, alpha, index, split, scores=None)

    Parameters
    ----------
    y : buffer of int8, shape (m,)            +1 or -1
    linear : buffer of float64, shape (m,)    -y_i p_i
    C : buffer of float64, shape (m,)         upper bounds, >= 0
    alpha : buffer of float64, shape (m,)     feasible start, not modified
    index : buffer of int32, shape (m,)       kernel row of each variable
    split : bool                              pairs are chosen within one label
    scores : buffer of float64, shape (m,)    V at ``alpha``, if it is known: the solver goes on from there, and
                                              variables with C_i = 0 take no part but have their V followed
    """

    def __cinit__(self, y, linear, C, alpha, index, bint split, scores=None):
        self.y, self.linear, self.C, self.alpha, self.index, self.split = y, linear, C, alpha, index, split
        self.scores = scores
        self.size = len(y)
        if not len(linear) == len(C) == len(alpha) == len(index) == len(alpha if scores is None else scores) == self.size:
            raise ValueError("y, linear, C, alpha and index differ in length")


cdef class DualSolution:
    """What a solver found; variables in the order of the problem.

    Attributes
    ----------
    alpha : buffer of float64, shape (m,)
    scores : buffer of float64, shape (m,)     V at alpha, for every variable
    rho : float           decision offset, -(mean of V over free variables); for split problems (r1 - r2)/2
    r : float             (r1 + r2)/2 of split problems, else 0
    objective : float     1/2 a'Qa + p'a
    iterations, rows_computed, values_computed : int      kernel rows, and kernel values in rows and besides
    chunks, fallbacks : int      subproblems of the chunked solver, and how often IRWLS left one to pair steps; 0 of others
    status : str          'converged', 'iteration limit', 'time limit', 'interrupted', or 'rounding': no step is seen to lead
        further
    """

    def __init__(self, alpha, scores, double rho, double r, double objective, int64_t iterations,
                 int64_t rows_computed, int64_t values_computed, str status):
        self.alpha, self.scores, self.rho, self.r, self.objective = alpha, scores, rho, r, objective
        self.iterations, self.status = iterations, status
        self.rows_computed, self.values_computed = rows_computed, values_computed
