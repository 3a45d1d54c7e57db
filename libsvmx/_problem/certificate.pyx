"""The certificate of an optimum: how far the KKT conditions are from holding, over all variables.

    gap = max_{beta < upper} V - min_{beta > lower} V        optimal to eps  <=>  gap <= eps

(Fan, Chen & Lin 2005, (6), free of labels), and with two groups the larger of both gaps.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t

from libsvmx._problem.dual cimport DualProblem


def kkt_gap(DualProblem problem, beta, scores):
    """The gap at ``beta`` with its ``scores`` V; buffers of float64, shape (problem.size,).

    Returns
    -------
    float            -inf if no pair of variables can move at all
    """
    cdef const double[::1] b = beta, V = scores, lower = problem.lower, upper = problem.upper
    cdef const int8_t[::1] group = problem.group
    cdef double highest[2]
    cdef double lowest[2]
    cdef Py_ssize_t i
    cdef int g
    for g in range(2):
        highest[g], lowest[g] = -HUGE_VAL, HUGE_VAL
    for i in range(problem.size):
        g = group[i]
        if b[i] < upper[i]:
            highest[g] = max(highest[g], V[i])
        if b[i] > lower[i]:
            lowest[g] = min(lowest[g], V[i])
    return max(highest[0] - lowest[0], highest[1] - lowest[1])
