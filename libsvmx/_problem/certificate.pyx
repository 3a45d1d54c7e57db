"""The certificate of an optimum, and the feasible set, once each for all solvers.

    gap   = max_{beta < upper} V - min_{beta > lower} V         optimal to eps  <=>  gap <= eps
    level = mean V over lower < beta < upper, or the middle between those two where no variable is free;  rho = -level

of each group (Fan, Chen & Lin 2005, (6), free of labels; Chang & Lin 2011, section 4.1.5). Compiled loops use the
functions of certificate.pxd, over whatever their storage is; those below take whole buffers or arrays. The
loop of SMO, which the chunked solver shares, has a rho of its own, whose signed zeros and ties are LIBSVM's.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free, malloc, qsort


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
