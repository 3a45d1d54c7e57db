"""LIBSVM's variables of a dual problem; only this chapter knows them.

    min 1/2 a'Qa + p'a   s.t.  y'a = const,  0 <= a_i <= C_i,   Q_ij = y_i y_j K_ij      (Fan, Chen & Lin 2005, eq. 1)

With two groups the sum over each label is fixed by itself: group 0 is y = +1, group 1 is y = -1. There and back,

    a_i = y_i beta_i,  p_i = -y_i linear_i,  beta_i in [0, C_i] for y_i = +1, in [-C_i, 0] for y_i = -1

lose no bit: a product with y changes a sign. A zero has the sign of LIBSVM: +0 in alpha, y_i 0 in beta (which is
what a model file shows of it).
"""

from libc.stdint cimport int8_t

from libsvmx._core.buffers import zeros
from libsvmx._problem.dual cimport DualProblem


cdef class AlphaForm:
    """AlphaForm(problem): ``alpha`` (the start), ``C`` and ``y`` of its variables, shape (m,).

    Raises
    ------
    ValueError       a box with 0 inside, or that of the wrong sign for its group
    """

    def __cinit__(self, DualProblem problem):
        cdef const double[::1] lower = problem.lower, upper = problem.upper, beta = problem.beta
        cdef const int8_t[::1] group = problem.group
        cdef Py_ssize_t v
        cdef bint negative
        self.alpha, self.C, self.y = zeros("d", problem.size), zeros("d", problem.size), zeros("b", problem.size)
        for v in range(problem.size):
            negative = group[v] if problem.groups == 2 else lower[v] < 0  # a box that is 0 alone has no label
            if (upper[v] if negative else lower[v]) != 0:
                raise ValueError("SMO needs boxes from or to 0, those of the second of two groups to 0")
            self.y[v] = -1 if negative else 1
            self.C[v] = self.y[v] * (lower[v] if negative else upper[v]) + 0.0  # + 0.0: no -0
            self.alpha[v] = self.y[v] * beta[v] + 0.0
