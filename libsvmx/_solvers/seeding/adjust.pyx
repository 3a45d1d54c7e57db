"""AdjustAlpha: a start made feasible, lower <= beta <= upper and sum of beta = the new fold's (Wen et al. 2017, section 3).

Departs from the paper: it shifts the beta of T alone. Here what T cannot take goes to the free rows of S, and what these
cannot take to all rows; so a start is found whenever there is one, also where T is empty. In the nu formulations there
are two sums, each over one class, and each is adjusted by itself.
"""

from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t

from libsvmx._solvers.seeding.fold_change cimport FoldChange

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled
from libsvmx._problem.certificate import project


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
