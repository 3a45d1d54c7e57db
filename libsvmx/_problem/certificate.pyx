"""The certificate of an optimum: how far the KKT conditions are from holding, over all variables.

    gap = max_{I_up} V - min_{I_low} V        optimal to eps  <=>  gap <= eps    (Fan, Chen & Lin 2005, (6))

and for split problems the larger of the gaps of the two labels.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t

from libsvmx._problem.dual cimport DualProblem


def kkt_gap(DualProblem problem, alpha, scores):
    """The gap at ``alpha`` with its ``scores`` V; buffers of float64, shape (problem.size,).

    Returns
    -------
    float            -inf if no pair of variables can move at all
    """
    cdef const double[::1] a = alpha, V = scores, C = problem.C
    cdef const int8_t[::1] y = problem.y
    cdef double top[2]
    cdef double bottom[2]
    cdef Py_ssize_t i
    cdef int g
    for g in range(2):
        top[g], bottom[g] = -HUGE_VAL, HUGE_VAL
    for i in range(problem.size):
        g = 1 if problem.split and y[i] < 0 else 0
        if a[i] < C[i] if y[i] > 0 else a[i] > 0:
            top[g] = max(top[g], V[i])
        if a[i] > 0 if y[i] > 0 else a[i] < C[i]:
            bottom[g] = min(bottom[g], V[i])
    return max(top[0] - bottom[0], top[1] - bottom[1])
