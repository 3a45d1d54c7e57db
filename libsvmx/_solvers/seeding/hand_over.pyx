"""The loop of SIR, TOP and NEAR: each beta that leaves goes to the rows of largest kernel value.

    for r in R with beta_r != 0:   t = argmax K(r, t) over the candidates with room in the direction of beta_r
                                   beta_t += what of beta_r has room there

A row of the other class has room in that direction while its own alpha is above 0: it loses what r has lost.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._kernels.kernel cimport Targets
from libsvmx._solvers.seeding.fold_change cimport FoldChange


def hand_over(FoldChange change, start, candidates, *, bint same_class=False, bint once=False):
    """Hand the beta of R over to ``candidates``. What finds no room is left to ``adjust``.

    Parameters
    ----------
    start : buffer of float64, shape (m,)      modified
    candidates : buffer of int32               variables; of equal kernel values the first counts
    same_class : bool                          only those of the class of the row that leaves
    once : bool                                each of R has one successor and each candidate one predecessor, whatever
                                               the room: else what finds no room there goes to the next

    Raises
    ------
    Stopped
    """
    cdef double[::1] beta = start
    cdef const int32_t[::1] chosen = candidates, row = change.row
    cdef const double[::1] known = change.beta, lower = change.lower, upper = change.upper
    cdef Py_ssize_t n = chosen.shape[0], n_givers, k, v, at, best
    cdef int s, count
    cdef int32_t r
    cdef bint grows
    cdef double left, room
    cdef float most
    cdef float *out[SVMX_SOURCES]
    cdef int32_t rows[SVMX_SOURCES]
    cdef ThreadPool pool = ThreadPool(1)
    givers_ = [v for v in change.leaving if known[v] != 0]
    n_givers = len(givers_)
    if n == 0 or n_givers == 0:
        return
    cdef int32_t[::1] givers = filled("i", givers_)
    members_ = zeros("i", n)
    cdef int32_t[::1] members = members_
    for k in range(n):
        members[k] = row[chosen[k]]
    cdef Targets targets = change.kernel.targets(members_)
    cdef float[::1] values = zeros("f", SVMX_SOURCES * n)
    cdef unsigned char[::1] used = bytearray(n)
    with nogil:
        at = 0
        while at < n_givers:
            count = <int>min(SVMX_SOURCES, n_givers - at)
            for s in range(count):
                rows[s], out[s] = row[givers[at + s]], &values[s * n]
            targets.fill_rows(rows, count, n, out, pool, 0)
            for s in range(count):
                r = givers[at + s]
                left, grows = fabs(known[r]), known[r] > 0
                while left > 0:
                    best, most = -1, 0
                    for k in range(n):
                        v = chosen[k]
                        if ((best < 0 or out[s][k] > most) and not used[k]
                                and (beta[v] < upper[v] if grows else beta[v] > lower[v])
                                and not (same_class and (upper[v] <= 0 if grows else lower[v] >= 0))):
                            best, most = k, out[s][k]
                    if best < 0:
                        break
                    v = chosen[best]
                    room = min(left, upper[v] - beta[v] if grows else beta[v] - lower[v])
                    beta[v] += room if grows else -room
                    left -= room
                    change.control.asked(n)
                    if once:
                        used[best] = True
                        break
            at += count
            change.control.asked(4 * count * n)
        change.kernel.values_computed += n_givers * n
