"""AdjustAlpha: a start made feasible, lower <= beta <= upper and sum of beta = the new fold's (Wen et al. 2017, section 3).

Departs from the paper: it shifts the beta of T alone. Here what T cannot take goes to the free rows of S, and what these
cannot take to all rows; so a start is found whenever there is one, also where T is empty. In the nu formulations there
are two sums, each over one class, and each is adjusted by itself.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free, malloc, qsort

from libsvmx._solvers.seeding.fold_change cimport FoldChange

from libsvmx._core.arrays import ramp


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


cdef struct Kink:
    double at
    int slope


cdef int by_place(const void *a, const void *b) noexcept nogil:
    cdef double left = (<const Kink *>a).at, right = (<const Kink *>b).at
    return (left > right) - (left < right)


cdef bint shift(FoldChange change, start_, movable_, int g) except -1:
    """One sum, that of group g: towards its goal. True when it is there.

    sum_v clip(beta_v + theta, lower_v, upper_v) grows with theta, linearly between kinks, where a variable meets a
    bound or leaves it: these are sorted and walked through until the goal is met.
    """
    cdef double[::1] beta = start_
    cdef const int32_t[::1] movable = movable_
    cdef const double[::1] lower = change.lower, upper = change.upper
    cdef const int8_t[::1] group = change.group
    cdef Py_ssize_t v, k, n = 0, m = movable.shape[0]
    cdef double total = 0.0, size = 0.0, least = 0.0, most = 0.0, moved, theta, sum_here, missing
    cdef int slope = 0
    cdef Kink *kinks
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
    kinks = <Kink *>malloc(max(2 * m, 1) * sizeof(Kink))
    if kinks == NULL:
        raise MemoryError("alpha seeding")
    for k in range(m):
        v = movable[k]
        if group[v] != g or lower[v] >= upper[v]:
            continue
        kinks[n].at, kinks[n].slope = lower[v] - beta[v], 1
        kinks[n + 1].at, kinks[n + 1].slope = upper[v] - beta[v], -1
        n += 2
        least += lower[v] - beta[v]
        most += upper[v] - beta[v]
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
    for k in range(m):
        v = movable[k]
        if group[v] == g and lower[v] < upper[v]:
            beta[v] = min(max(beta[v] + theta, lower[v]), upper[v])
    return least <= missing <= most
