"""Alpha seeding: a start for the next round from the optimum of the last (Wen, Li, Kotagiri, Chen, Chen & Zhang 2017).

Rows leave the problem (the set R), others come in (T), the rest is shared (S). A seeder gives the coefficients of R to
others, so that the new problem starts near its optimum:

* SIR  each r hands its alpha to the unused t of T of the same sign with the largest K(r, t) (their algorithm 3);
* TOP  to the row of largest K, of either sign, as far as its box goes, then to the next (Lee, Keerthi, Ong & DeCoste 2004);
* AVG  evenly to the free rows of S (DeCoste & Wagstaff 2000);
* MIR  and ATO, which solve linear systems, are in mir.py and ato.py.

In the paper's chain of rounds h, h + 1, ..., T is the fold that was held out before. In a star every round starts from the
optimum of the whole problem and T is empty: SIR then hands on to the nearest rows of S of the same sign that have room.

``adjust`` (the paper's AdjustAlpha) makes any of them feasible: 0 <= alpha <= C and the constraint on the sum.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free, malloc, qsort

from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.buffers import zeros
from libsvmx._core.thread_pool cimport ThreadPool
from libsvmx._core.smo_lanes cimport svmx_axpy_row
from libsvmx._kernels.kernel cimport Kernel, Targets

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled


cdef class Round:
    """Round(kernel, y, C, index, split, sums, alpha, scores, leaving, entering)

    What a seeder is given. All buffers have an element for each of the m variables.

    Parameters
    ----------
    kernel : Kernel
    y : buffer of int8                   +1 or -1
    C : buffer of float64                upper bounds of the new round: 0 for the variables that take no part
    index : buffer of int32              kernel row of each variable
    split : bool                         the sums over each sign are fixed by themselves
    sums : tuple of float                the new round's sum of y alpha; if split, of alpha over y = +1 and over y = -1
    alpha, scores : buffer of float64    the old optimum and its V; not modified
    leaving, entering : buffer of int32  the variables of R and T
    """

    def __init__(self, Kernel kernel, y, C, index, bint split, sums, alpha, scores, leaving, entering):
        self.kernel, self.split, self.sums = kernel, split, sums
        self.y, self.C, self.index, self.alpha, self.scores = y, C, index, alpha, scores
        self.leaving, self.entering = leaving, entering
        self.size = len(y)

    def cut(self):
        """The old alpha with 0 for the variables that leave, within the new bounds: where every seeder begins."""
        cdef const double[::1] alpha = self.alpha, C = self.C
        cdef Py_ssize_t v
        start_ = zeros("d", self.size)
        cdef double[::1] start = start_
        for v in range(self.size):
            start[v] = min(alpha[v], C[v])
        return start_

    def shared(self, bint free_only):
        """The variables of S, or those of them with 0 < alpha < C: buffer of int32."""
        cdef const double[::1] alpha = self.alpha, C = self.C
        cdef const int32_t[::1] entering = self.entering
        cdef Py_ssize_t v, n = 0
        chosen_ = zeros("i", self.size)
        fresh_ = bytearray(self.size)
        cdef int32_t[::1] chosen = chosen_
        cdef unsigned char[::1] fresh = fresh_
        for v in range(entering.shape[0]):
            fresh[entering[v]] = 1
        for v in range(self.size):
            if C[v] > 0 and not fresh[v] and (not free_only or 0 < alpha[v] < C[v]):
                chosen[n] = <int32_t>v
                n += 1
        return chosen_[:n]


def seed_sir(Round round_):
    """Each leaving coefficient to the most similar row of its sign. Returns alpha, float64, to be adjusted.

    Within a chain each row of T takes one alpha at most, so that single support vectors are replaced by single ones.
    """
    start = round_.cut()
    if len(round_.entering):
        hand_over(round_, start, round_.entering, True, False)
    else:
        hand_over(round_, start, round_.shared(False), False, False)
    return start


def seed_top(Round round_):
    """Each leaving coefficient to the most similar rows, of either sign. Returns alpha, float64, to be adjusted."""
    start = round_.cut()
    candidates = round_.shared(False)
    if len(round_.entering):
        candidates = filled("i", [*candidates, *round_.entering])
    hand_over(round_, start, candidates, False, True)
    return start


def seed_near(Round round_):
    """As TOP, but to free rows of S alone: their scores are level, so what is handed to them violates little, and few
    kernel values tell which are near. Returns alpha, float64, to be adjusted."""
    start = round_.cut()
    hand_over(round_, start, round_.shared(True), False, True)
    return start


def seed_avg(Round round_):
    """The coefficients of R spread evenly over the free rows of S. Returns alpha, float64, to be adjusted."""
    start = round_.cut()
    spread(round_, start, round_.shared(True))
    return start


cdef int hand_over(Round round_, start_, candidates_, bint once, bint either) except -1:
    """Give each leaving alpha to the candidates of largest K: to one of them, as it is (``once``), or to one after
    the other as far as their room goes; of the same sign, or of ``either``, where the opposite sign loses alpha."""
    cdef double[::1] start = start_
    cdef const int32_t[::1] candidates = candidates_, leaving = round_.leaving, index = round_.index
    cdef const int8_t[::1] y = round_.y
    cdef const double[::1] alpha = round_.alpha, C = round_.C
    cdef Py_ssize_t n = candidates.shape[0], k, v, at, best
    cdef int s, count
    cdef int32_t r
    cdef double left, room
    cdef float most
    cdef float *out[SVMX_SOURCES]
    cdef int32_t rows[SVMX_SOURCES]
    cdef ThreadPool pool = ThreadPool(1)
    if n == 0:
        return 0
    members_ = zeros("i", n)
    cdef int32_t[::1] members = members_
    for k in range(n):
        members[k] = index[candidates[k]]
    givers_ = [v for v in leaving if alpha[v] > 0]
    cdef int32_t[::1] givers = filled("i", givers_) if givers_ else zeros("i", 1)
    cdef Py_ssize_t n_givers = len(givers_)
    cdef Targets targets = round_.kernel.targets(members_)
    values_ = zeros("f", SVMX_SOURCES * n)
    cdef float[::1] values = values_
    used_ = bytearray(n)
    cdef unsigned char[::1] used = used_
    with nogil:
        at = 0
        while at < n_givers:
            count = <int>min(SVMX_SOURCES, n_givers - at)
            for s in range(count):
                rows[s], out[s] = index[givers[at + s]], &values[s * n]
            targets.fill_rows(rows, count, n, out, pool, False)
            for s in range(count):
                r = givers[at + s]
                left = alpha[r]
                while left > 0:
                    best, most = -1, 0
                    for k in range(n):
                        v = candidates[k]
                        if ((best < 0 or out[s][k] > most) and not used[k]
                                and (start[v] < C[v] if y[v] == y[r] else either and start[v] > 0)):
                            best, most = k, out[s][k]
                    if best < 0:
                        break  # nobody has room: adjust will see to it
                    v = candidates[best]
                    room = min(left, C[v] - start[v] if y[v] == y[r] else start[v])
                    start[v] += room if y[v] == y[r] else -room
                    left -= room
                    if once:
                        used[best] = True
                        break
            at += count
        round_.kernel.values_computed += n_givers * n
    return 0


# ---- feasibility -------------------------------------------------------------------------------


def adjust(Round round_, start):
    """Make ``start`` feasible in place (AdjustAlpha): 0 <= alpha <= C and the sums of the new round.

    The coefficients of T are shifted by one common amount each as far as their boxes go; what T cannot take goes
    to the free rows of S, then to all rows. False if even they cannot: the new round is infeasible.
    """
    cdef const double[::1] C = round_.C
    cdef double[::1] alpha = start
    cdef Py_ssize_t v
    for v in range(round_.size):
        alpha[v] = min(max(alpha[v], 0.0), C[v])
    if spread(round_, start, round_.entering) or spread(round_, start, round_.shared(True)):
        return True
    return spread(round_, start, ramp(round_.size))


cdef bint spread(Round round_, start_, movable_) except -1:
    """Shift the y alpha of ``movable`` by one amount, clipped to their boxes, such that the sums come right."""
    if not round_.split:
        return shift(round_, start_, movable_, 0, round_.sums[0])
    # both, even if the first falls short
    right = [shift(round_, start_, movable_, 1, round_.sums[0]), shift(round_, start_, movable_, -1, -round_.sums[1])]
    return all(right)


# Of the sum of alpha: differences of the sums that come from rounding.
cdef double ROUNDING = 1e-10


cdef struct Kink:
    double at
    int slope


cdef int by_place(const void *a, const void *b) noexcept nogil:
    cdef double left = (<const Kink *>a).at, right = (<const Kink *>b).at
    return (left > right) - (left < right)


cdef bint shift(Round round_, start_, movable_, int sign, double goal) except -1:
    """One sum: of y alpha over the variables of ``sign`` (0: all) towards ``goal``. True when it is there.

    sum_t clip(beta_t + theta, box_t) grows with theta, linearly between the ends of boxes: these are sorted and
    walked through until the goal is met.
    """
    cdef double[::1] alpha = start_
    cdef const int32_t[::1] movable = movable_
    cdef const double[::1] C = round_.C
    cdef const int8_t[::1] y = round_.y
    cdef Py_ssize_t v, k, n = 0, m = movable.shape[0]
    cdef double total = 0.0, least = 0.0, most = 0.0, size = 0.0, low, high, beta, theta, sum_here, missing
    cdef int slope = 0
    cdef Kink *kinks
    for v in range(round_.size):
        if sign == 0 or y[v] == sign:
            total += y[v] * alpha[v]
            size += alpha[v]
    missing = goal - total
    if fabs(missing) <= ROUNDING * size:
        # what rounding of the sum makes goes to one variable, lest V changes by a kernel row for each
        for k in range(m):
            v = movable[k]
            beta = alpha[v] + y[v] * missing
            if (sign == 0 or y[v] == sign) and 0 < alpha[v] < C[v] and 0 < beta < C[v]:
                alpha[v] = beta
                return True
        if fabs(missing) <= 1e-13 * size:
            return True
    kinks = <Kink *>malloc(max(2 * m, 1) * sizeof(Kink))
    if kinks == NULL:
        raise MemoryError("alpha seeding")
    for k in range(m):
        v = movable[k]
        if (sign != 0 and y[v] != sign) or C[v] <= 0:
            continue
        beta = y[v] * alpha[v]
        low = 0.0 if y[v] > 0 else -C[v]
        high = low + C[v]
        kinks[n].at, kinks[n].slope = low - beta, 1
        kinks[n + 1].at, kinks[n + 1].slope = high - beta, -1
        n += 2
        least += low - beta
        most += high - beta
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
        if (sign == 0 or y[v] == sign) and C[v] > 0:
            alpha[v] = min(max(alpha[v] + y[v] * theta, 0.0), C[v])
    return least <= missing <= most


# ---- scores ------------------------------------------------------------------------------------


def moved_scores(Round round_, Targets targets, start_, ThreadPool pool):
    """V at ``start``, from the V of the old optimum and the coefficients that differ: float64, shape (m,).

    ``targets`` : all rows of the kernel in their order
    """
    cdef const double[::1] alpha = round_.alpha, start = start_, scores = round_.scores
    cdef const int32_t[::1] index = round_.index
    cdef const int8_t[::1] y = round_.y
    cdef Py_ssize_t v, n = round_.kernel.n, n_changed = 0, at
    cdef int s, count
    cdef float *out[SVMX_SOURCES]
    change_, sum_, out_ = zeros("d", n), zeros("d", n), zeros("d", round_.size)
    changed_, values_ = zeros("i", n), zeros("f", SVMX_SOURCES * n)
    cdef double[::1] change = change_, total = sum_, moved = out_
    cdef int32_t[::1] changed = changed_
    cdef float[::1] values = values_
    with nogil:
        for v in range(round_.size):
            change[index[v]] += y[v] * (start[v] - alpha[v])
        for v in range(n):
            if change[v] != 0:
                changed[n_changed] = <int32_t>v
                n_changed += 1
        for s in range(SVMX_SOURCES):
            out[s] = &values[s * n]
        at = 0
        while at < n_changed:
            count = <int>min(SVMX_SOURCES, n_changed - at)
            targets.fill_rows(&changed[at], count, n, out, pool, n * count > 40000)
            for s in range(count):
                svmx_axpy_row(n, change[changed[at + s]], out[s], &total[0])
            at += count
        round_.kernel.values_computed += n_changed * n
        for v in range(round_.size):
            moved[v] = scores[v] - total[index[v]]
    return out_
