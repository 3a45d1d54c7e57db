"""Exact paths of optima: rows join and leave, C changes (Karasuyama & Takeuchi 2010; Cauwenberghs & Poggio 2001).

From the optimum, with eta from 0 to 1, the rows that join (A) grow towards their bounds and those that leave (R) shrink
to 0, all together; the margin M answers such that everything else stays optimal:

    d beta_A = bound_A - beta_A,   d beta_R = -beta_R,   W = sum over A and R of d beta_j K_j               (their 3, 4)
    K_MM d beta_M + d level = -W_M,   sum d beta_M = lack = d total - sum d beta_A - sum d beta_R           (7, 10)
    dF = W + K_:M d beta_M,   dV = -dF                                                                      (11)

A straight line ends at a breakpoint: a member of M meets a bound, or another variable the level. One of A that meets
it has its optimal beta and joins M. All changes of beta are one solve with the factor of K_MM, which follows M.

Two further things follow the same lines:

* C changes: bounds move and take along the beta that rest on them.
* ``polish``: what is optimal but for small errors is exactly optimal for another linear term, V_v set to the level where it is
  on the wrong side; the path leads from that term back to the given one. It repairs drift, and is a solver by itself.

Where the column of a variable that meets the level depends on those of M (duplicate rows, a linear kernel with
|M| > d), there is a null direction, K u = 0 and sum u = 0: beta moves along it at no cost, V stays, until a member of
M meets a bound and makes way, or the variable itself does (``exchange``). So no ridge is added to K.

With M empty the level is free within an interval. If the sum must change, the level moves to that end of it
where a variable can answer; else eta grows until the ends meet (section 3.3).
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.dense_lanes cimport svmx_axpy
from libsvmx._kernels.kernel cimport Kernel
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.exactsmo cimport exact_smo, restore_sum
from libsvmx._solvers.pathstate cimport AT_HIGH, AT_LOW, DRIVEN, LEAVING, MARGIN, PathState

from libsvmx._solvers.pathstate import longer

cdef double ULP = 2.0 ** -52
# Relative to the scale of V, and to the width of a box: closer is equal. Breakpoints so near each other may be passed in
# any order, so the one with the largest speed is taken (Harris 1973), which keeps the factor well conditioned.
cdef double SHARP = 1e-12
# A Schur complement below so many roundings of K_vv, for each row of the factor, is none.
cdef double SINGULAR = 4.0
# Lines of length 0 in a row, for each member of M, after which the path turns in a circle.
cdef int64_t MOST_STILL = 4
# The gap that a path has to end with, relative to the scale of V.
cdef double EXACT = 1e-10
# Polishing again and again does not help.
cdef int MOST_POLISHES = 8


class PathLost(ArithmeticError):
    """A path cannot be followed: K is not positive semidefinite, or rounding has taken over."""


cdef class Path(PathState):
    """Path(halves, budget_bytes): an optimum of no rows; see PathState.

    Attributes
    ----------
    breakpoints, steps, pivots, polished : int      of the last update: variables that changed sets, straight lines of
        length > 0, exchanges along a null direction, repairs
    drift : float        bound on the rounding errors of V since they were last computed from nothing
    """

    def __cinit__(self, int halves, double budget_bytes):
        self.velocity, self.dlinear, self.dlow, self.dhigh = (zeros("d", 0) for _ in range(4))
        self.W, self.dF = zeros("d", 0), zeros("d", 0)

    # ---- what can be asked for -----------------------------------------------------------------

    def start(self, beta, double total, Control control):
        """The optimum from ``beta`` near it (buffer of float64, shape (halves * n,)), within bounds and with
        sum ``total``.

        Raises
        ------
        PathLost; KeyboardInterrupt or what else a signal handler raises; MemoryError
        """
        cdef const double[::1] given = beta
        cdef Py_ssize_t v
        self.total = total
        for v in range(self.halves * self.n):
            self.beta[v] = min(max(given[v], self.low[v]), self.high[v])
        self.reset_counts(control)
        self.clear_margin()
        self.drift = HUGE_VAL
        self.polish()

    def resume(self, beta, K_beta, double total, Control control):
        """The optimum ``beta`` whose F = K beta is ``K_beta`` (buffer of float64, shape (n,)), as ``coefficients`` and
        ``K_beta`` of a state gave them. What is not quite the optimum is polished. Raises as ``start``."""
        cdef Py_ssize_t m = self.halves * self.n
        self.total = total
        self.beta[:m], self.F[:self.n] = beta, K_beta
        self.reset_counts(control)
        self.drift = 0.0
        self.gather_margin()
        self.settle()

    def copy(self):
        """A state of its own, without the kernel rows that are kept."""
        cdef Path other = Path(self.halves, self.rows.budget_bytes)
        cdef Py_ssize_t k
        other.make_room(self.n)
        other.rows.make_room(self.n)
        other.rough = self.rough
        other.n, other.level, other.total, other.drift = self.n, self.level, self.total, self.drift
        other.shift, other.largest, other.scale, other.sharpness = self.shift, self.largest, self.scale, self.sharpness
        other.F[:self.n] = self.F[:self.n]
        for mine, own in zip(self.lists(), other.lists()):
            own[:self.halves * self.n] = mine[:self.halves * self.n]
        other.factor = self.factor.copy()
        other.make_room_in_margin()
        other.member[:self.factor.size] = self.member[:self.factor.size]
        for k in range(self.factor.size):
            other.rows.pin(self.member[k] // self.halves)
        return other

    def update(self, Py_ssize_t n_fresh, gone, double total, Control control):
        """The optimum with the last ``n_fresh`` rows and without the rows ``gone`` (buffer of int32), which stay, with
        beta = 0, until ``discard``; the sum of beta is to be ``total``. Raises as ``start``."""
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h
        cdef double V
        self.reset_counts(control)
        if self.rough:
            raise PathLost("the last optimum was not exact")
        self.prepare()
        for k in range(leaving.shape[0]):
            for h in range(self.halves):
                v = self.halves * leaving[k] + h
                if self.place[v] >= 0:
                    self.leave(v)
                self.state[v] = LEAVING
        for v in range(self.halves * (self.n - n_fresh), self.halves * self.n):
            if self.state[v] == LEAVING:
                continue
            V = self.score(v)
            if self.low[v] < 0 and V < self.level:
                self.state[v] = DRIVEN
            elif self.high[v] > 0 and V > self.level:
                self.state[v] = DRIVEN
        self.total = self.lack = total
        for v in range(self.halves * self.n):
            self.lack -= self.beta[v]
        for v in range(self.halves * self.n):
            if self.state[v] == LEAVING:
                self.drive(v, -self.beta[v])
            elif self.state[v] == DRIVEN:
                self.drive(v, self.high[v] if self.high[v] > 0 else self.low[v])
        self.follow()
        for v in range(self.halves * self.n):
            if self.state[v] == DRIVEN:
                self.rest(v, self.high[v] > 0)
            elif self.state[v] == LEAVING:
                self.beta[v] = self.low[v] = self.high[v] = self.linear[v] = 0.0
        self.settle()

    def rescale(self, double ratio, Control control):
        """The optimum with all bounds multiplied by ``ratio`` > 0, and the sum as it is, 0. Raises as ``start``."""
        cdef Py_ssize_t v, p, m = self.halves * self.n
        low, high = zeros("d", m), zeros("d", m)
        cdef double[::1] low_then = low, high_then = high
        self.reset_counts(control)
        if self.rough:
            raise PathLost("the last optimum was not exact")
        self.prepare()
        self.moving, self.lack = True, self.total
        for v in range(m):
            low_then[v], high_then[v] = ratio * self.low[v], ratio * self.high[v]
            self.dlow[v], self.dhigh[v] = low_then[v] - self.low[v], high_then[v] - self.high[v]
            self.lack -= self.beta[v]  # of rounding: the sum is 0
            if self.state[v] != MARGIN and self.beta[v] != 0.0:
                self.velocity[v] = (ratio - 1.0) * self.beta[v]
                self.lack -= self.velocity[v]
        # sum over the bounded of beta K = F - sum over M: no kernel row is needed
        for p in range(self.factor.size):
            self.dbeta[p] = -self.beta[self.member[p]]
        self.W[:self.n] = self.F[:self.n]
        self.add_margin(&self.dbeta[0] if self.factor.size else NULL, &self.W[0])
        for p in range(self.n):
            self.W[p] *= ratio - 1.0
        self.follow()
        self.moving = False
        self.low[:m], self.high[:m] = low_then, high_then
        for v in range(m):
            if self.state[v] == AT_LOW:
                self.beta[v] = self.low[v]
            elif self.state[v] == AT_HIGH:
                self.beta[v] = self.high[v]
        self.settle()

    def by_smo(self, gone, double total, double eps, Control control):
        """As ``update``, to a gap of ``eps``, by SMO from beta as it is: where no path leads on."""
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h
        self.reset_counts(control)
        self.clear_margin()
        self.prepare()
        for k in range(leaving.shape[0]):
            for h in range(self.halves):
                v = self.halves * leaving[k] + h
                self.beta[v] = self.low[v] = self.high[v] = self.linear[v] = 0.0
                self.state[v] = LEAVING
        self.total = total
        if not restore_sum(self):
            raise PathLost("no variable can make up for the sum")
        self.refresh(True)
        exact_smo(self, eps, control)
        self.refresh(True)
        try:
            self.polish()
        except PathLost:
            self.clear_margin()
            for v in range(self.halves * self.n):
                self.state[v] = AT_LOW if self.beta[v] <= self.low[v] else AT_HIGH
            self.refresh(True)
            exact_smo(self, eps, control)
            self.level_of_free()
            self.rough = True
            if self.gap() > eps:
                raise

    def check(self, Control control):
        """Compute V from nothing, and repair what has drifted. Returns the gap that was found before the repair."""
        self.reset_counts(control)
        self.refresh(True)
        found = self.gap()
        self.polish()
        return found

    # ---- the path ------------------------------------------------------------------------------

    def reset_counts(self, Control control):
        self.control = control
        self.breakpoints = self.steps = self.pivots = self.polished = 0

    cdef int prepare(self) except -1:
        """Nothing moves yet."""
        cdef Py_ssize_t v, m = self.halves * self.n
        cdef double mass = 0.0, most = 0.0
        if self.velocity.shape[0] < self.linear.shape[0]:
            self.velocity, self.dlinear, self.dlow, self.dhigh = (zeros("d", self.linear.shape[0]) for _ in range(4))
            self.W, self.dF = zeros("d", self.F.shape[0]), zeros("d", self.F.shape[0])
        self.make_room_in_margin()
        self.eta = self.lack = 0.0
        self.moving = False
        for v in range(m):
            self.velocity[v] = self.dlinear[v] = self.dlow[v] = self.dhigh[v] = 0.0
            mass += fabs(self.beta[v])
            most = max(most, fabs(self.linear[v]))
        for v in range(self.n):
            self.W[v] = 0.0
        self.scale = most if most > 0 else max(fabs(self.level), self.largest)
        self.sharpness = max(SHARP * self.scale, ULP * self.largest * mass)
        return 0

    cdef int follow(self) except -1:
        """Walk from breakpoint to breakpoint to eta = 1."""
        cdef Py_ssize_t v
        cdef double step
        cdef int64_t still = 0
        while True:
            if self.factor.size == 0 and not self.fill_margin():
                return 0
            self.direction()
            v = self.breakpoint(&step)
            self.advance(step)
            if v < 0:
                return 0
            if step * (1.0 + self.slowest) > 0.0:
                self.steps += 1
                still = 0
            else:
                still += 1
            if still > MOST_STILL * (self.factor.size + 50):
                raise PathLost("the path turns in a circle")
            self.turn(v)
            self.control.worked(self.factor.size * (self.n + self.factor.size))
            if self.control.expired:
                raise TimeoutError(self.control.stopped)

    cdef int direction(self) except -1:
        """How M, the level and F answer: ``dbeta``, ``dlevel``, ``dF``."""
        cdef Py_ssize_t k, m = self.factor.size
        cdef double sum_x = 0.0, sum_ones = 0.0, t, reach = 0.0, most = 0.0
        cdef double[::1] x = self.dbeta, ones = self.ones
        for k in range(m):
            x[k] = self.dlinear[self.member[k]] - self.W[self.member[k] // self.halves]
            ones[k] = 1.0
            most = max(most, fabs(x[k]))
        self.factor.solve_two(&x[0], &ones[0])
        for k in range(m):
            sum_x += x[k]
            sum_ones += ones[k]
        t = (sum_x - self.lack) / sum_ones
        self.dlevel = t + self.shift * self.lack
        for k in range(m):
            x[k] -= t * ones[k]
            reach += fabs(x[k])
        self.dF[:self.n] = self.W[:self.n]
        self.add_margin(&x[0], &self.dF[0])
        self.slowest = 16 * ULP * (self.largest * reach + most)
        self.drift += ULP * self.largest * reach
        return 0

    cdef double speed(self, Py_ssize_t v, double *distance, double *sharpness) noexcept nogil:
        """How fast a variable nears what ends the line, with the distance left and what counts as none; 0 if it does
        not near it."""
        cdef double rate, width
        cdef int state = self.state[v]
        if state == LEAVING:
            return 0.0
        if state == MARGIN:
            rate = self.dbeta[self.place[v]]
            width = self.high[v] - self.low[v]
            sharpness[0] = SHARP * width
            if rate > 0:
                distance[0] = self.high[v] - self.beta[v]
                rate -= self.dhigh[v]
            else:
                distance[0] = self.beta[v] - self.low[v]
                rate = self.dlow[v] - rate
            return rate if rate > SHARP * width else 0.0
        rate = self.dlinear[v] - self.dF[v // self.halves] - self.dlevel
        sharpness[0] = self.sharpness
        distance[0] = self.level - self.score(v)
        # below the level wait those at the low bound, and those of A whose low bound is their aim
        if state == AT_HIGH or (state == DRIVEN and self.velocity[v] > 0):
            rate, distance[0] = -rate, -distance[0]
        return rate if rate > self.slowest else 0.0

    cdef Py_ssize_t breakpoint(self, double *step) noexcept nogil:
        """The variable that ends the line, or -1 for its end at eta = 1."""
        cdef Py_ssize_t v, first = -1, m = self.halves * self.n
        cdef double distance = 0.0, sharpness = 0.0, speed, nearest = 1.0 - self.eta, fastest = 0.0
        step[0] = nearest
        for v in range(m):
            speed = self.speed(v, &distance, &sharpness)
            if speed > 0 and max(distance, 0.0) + sharpness < nearest * speed:
                nearest = (max(distance, 0.0) + sharpness) / speed
        if nearest == step[0]:
            return -1
        for v in range(m):
            speed = self.speed(v, &distance, &sharpness)
            if speed > fastest * sharpness and max(distance, 0.0) <= nearest * speed:
                first, fastest, step[0] = v, speed / sharpness, max(distance, 0.0) / speed
        return first

    cdef void advance(self, double step) noexcept nogil:
        cdef Py_ssize_t k, v, m = self.halves * self.n
        if step == 0.0:
            return
        for k in range(self.factor.size):
            self.beta[self.member[k]] += step * self.dbeta[k]
        svmx_axpy(m, step, &self.velocity[0], &self.beta[0])
        svmx_axpy(m, step, &self.dlinear[0], &self.linear[0])
        if self.moving:
            svmx_axpy(m, step, &self.dlow[0], &self.low[0])
            svmx_axpy(m, step, &self.dhigh[0], &self.high[0])
        svmx_axpy(self.n, step, &self.dF[0], &self.F[0])
        self.level += step * self.dlevel
        self.eta += step

    cdef int turn(self, Py_ssize_t v) except -1:
        """A breakpoint: ``v`` changes sets."""
        cdef bint high
        cdef double rate
        self.breakpoints += 1
        if self.state[v] == MARGIN:
            high = self.dbeta[self.place[v]] > 0
            self.leave(v)
            return self.rest(v, high)
        rate = self.dlinear[v] - self.dF[v // self.halves] - self.dlevel
        if self.state[v] == DRIVEN:
            self.halt(v)
            if not self.inside(v):
                # at once: its beta is optimal where it is
                self.state[v] = AT_LOW if self.beta[v] <= self.low[v] else AT_HIGH
                return 0
        return self.enter(v, rate)

    cdef int enter(self, Py_ssize_t v, double rate) except -1:
        """A variable at the level, whose V would move away from it at ``rate``, joins the margin."""
        cdef double pivot = self.try_join(v)
        cdef double diagonal
        if self.velocity[v] != 0.0:
            self.halt(v)
        diagonal = self.rows.kernel.diagonal[v // self.halves] + self.shift
        if pivot > SINGULAR * (self.factor.size + 8) * ULP * diagonal:
            self.join(v, pivot)
            return 0
        return self.exchange(v, 1.0 if rate > 0 else -1.0)

    cdef int exchange(self, Py_ssize_t v, double sign) except -1:
        """Move along the null direction u_v = 1, u_M = -K'_MM^-1 K'_Mv, until ``v`` or a member meets a bound.

        V cannot tell members and ``v`` apart by more than u, sum u_j V_j: after the exchange the member that makes
        way moves to the side of the level that its bound asks for, as ``v`` would have.
        """
        cdef Py_ssize_t k, w, m = self.factor.size, blocking = -1
        cdef double room = self.high[v] - self.beta[v] if sign > 0 else self.beta[v] - self.low[v]
        cdef double nearest = room, fastest, u, length, own
        cdef double[::1] z = self.half
        self.pivots += 1
        self.factor.backward(&z[0])
        for k in range(m):
            w = self.member[k]
            u = -sign * z[k]
            own = SHARP * (self.high[w] - self.low[w])
            room = self.high[w] - self.beta[w] if u > 0 else self.beta[w] - self.low[w]
            if fabs(u) > SHARP and max(room, 0.0) + own < nearest * fabs(u):
                nearest = (max(room, 0.0) + own) / fabs(u)
                blocking = k
        length = nearest
        if blocking >= 0:
            fastest = 0.0
            for k in range(m):
                w = self.member[k]
                u = -sign * z[k]
                room = self.high[w] - self.beta[w] if u > 0 else self.beta[w] - self.low[w]
                if fabs(u) > max(SHARP, fastest) and max(room, 0.0) <= nearest * fabs(u):
                    blocking, fastest, length = k, fabs(u), max(room, 0.0) / fabs(u)
        for k in range(m):
            self.dbeta[k] = -sign * length * z[k]
            self.beta[self.member[k]] += self.dbeta[k]
        self.beta[v] += sign * length
        if length > 0.0:
            self.add_margin(&self.dbeta[0], &self.F[0])
            svmx_axpy(self.n, sign * length, self.rows.row(<int32_t>(v // self.halves)), &self.F[0])
            self.drift += ULP * self.largest * length * (m + 1)
        if blocking < 0:
            return self.rest(v, sign > 0)
        w = self.member[blocking]
        u = -sign * z[blocking]
        self.leave(w)
        self.rest(w, u > 0)
        u = self.try_join(v)
        if not u > 0:
            raise PathLost("the kernel matrix is not positive semidefinite")
        self.join(v, u)
        return 0

    cdef int rest(self, Py_ssize_t v, bint high) except -1:
        """A variable comes to rest on a bound, and moves with it."""
        self.state[v] = AT_HIGH if high else AT_LOW
        self.beta[v] = self.high[v] if high else self.low[v]
        if self.moving:
            self.drive(v, self.dhigh[v] if high else self.dlow[v])
        return 0

    cdef int drive(self, Py_ssize_t v, double velocity) except -1:
        """A variable outside the margin moves from now on."""
        self.velocity[v] = velocity
        if velocity != 0.0:
            svmx_axpy(self.n, velocity, self.rows.row(<int32_t>(v // self.halves)), &self.W[0])
            self.lack -= velocity
        return 0

    cdef int halt(self, Py_ssize_t v) except -1:
        """A variable outside the margin stays where it is."""
        cdef double velocity = self.velocity[v]
        if velocity != 0.0:
            svmx_axpy(self.n, -velocity, self.rows.row(<int32_t>(v // self.halves)), &self.W[0])
            self.lack += velocity
            self.velocity[v] = 0.0
        return 0

    # ---- the empty margin ----------------------------------------------------------------------

    cdef bint fill_margin(self) except -1:
        """Go on with an empty margin until it has a member; False if eta = 1 is reached without one."""
        cdef Py_ssize_t v, best, m = self.halves * self.n
        cdef double sign, V, tempo, h, width
        cdef Py_ssize_t below, above
        cdef int state
        while True:
            tempo = 0.0
            for v in range(m):
                tempo += fabs(self.velocity[v])
            if fabs(self.lack) > 64 * ULP * tempo + ULP * fabs(self.total):
                # somebody must answer: the first that the level meets on its way
                sign, best = (1.0 if self.lack > 0 else -1.0), -1
                for v in range(m):
                    state = self.state[v]
                    if state == LEAVING or (state == DRIVEN and sign * self.velocity[v] > 0):
                        continue
                    if state != DRIVEN and not (self.beta[v] < self.high[v] if sign > 0 else self.beta[v] > self.low[v]):
                        continue
                    if best < 0 or sign * (self.score(v) - self.score(best)) > 0:
                        best = v
                if best < 0:
                    raise PathLost("no variable can make up for the sum")
                self.level = self.score(best)
                self.breakpoints += 1
                if self.state[best] == DRIVEN:
                    self.halt(best)
                    if not self.inside(best):
                        self.state[best] = AT_LOW if self.beta[best] <= self.low[best] else AT_HIGH
                        continue
                self.enter(best, sign)
                return True
            self.lack = 0.0
            h = 1.0 - self.eta
            # the ends of the interval are convex and concave in eta: from the right, Newton finds where they meet
            while True:
                width = self.open_interval(h, &below, &above)
                if width >= -self.sharpness or h == 0.0:
                    break
                tempo = (self.dlinear[above] - self.W[above // self.halves]) - (
                    self.dlinear[below] - self.W[below // self.halves])
                V = h - width / tempo if tempo < 0 else 0.0  # where these two meet
                h = max(0.0, min(V, h * (1.0 - ULP)))
            for v in range(self.n):
                self.dF[v] = self.W[v]
            self.dlevel = 0.0
            self.advance(h)
            if self.eta >= 1.0:
                self.centre()
                return False
            self.steps += h > 0
            self.breakpoints += 1
            v = below if self.state[below] != DRIVEN else above
            self.level = self.score(v)
            if self.state[v] == DRIVEN:
                self.halt(v)
                if not self.inside(v):
                    self.state[v] = AT_LOW if self.beta[v] <= self.low[v] else AT_HIGH
                    continue
            self.enter(v, 1.0 if v == below else -1.0)
            return True

    cdef double open_interval(self, double h, Py_ssize_t *below, Py_ssize_t *above) noexcept nogil:
        """The width of the interval of the level after a line of length h, negative if it is empty, and the
        variables at its ends (-1: none)."""
        cdef Py_ssize_t v
        cdef double V, top = -HUGE_VAL, bottom = HUGE_VAL
        cdef int state
        below[0] = above[0] = -1
        for v in range(self.halves * self.n):
            state = self.state[v]
            if state == LEAVING:
                continue
            V = self.score(v) + h * (self.dlinear[v] - self.W[v // self.halves])
            if (state == AT_LOW and self.low[v] < self.high[v]) or (state == DRIVEN and self.velocity[v] < 0):
                if V > top:
                    top, below[0] = V, v
            elif state == AT_HIGH or state == DRIVEN:
                if V < bottom and (state == DRIVEN or self.low[v] < self.high[v]):
                    bottom, above[0] = V, v
        return bottom - top

    cdef void centre(self) noexcept nogil:
        """With an empty margin the level is the middle of its interval, or its one end."""
        cdef Py_ssize_t below, above
        self.open_interval(0.0, &below, &above)
        if below >= 0 and above >= 0:
            self.level = 0.5 * (self.score(below) + self.score(above))
        elif below >= 0:
            self.level = self.score(below)
        elif above >= 0:
            self.level = self.score(above)

    cdef void level_of_free(self) noexcept nogil:
        """The level as LIBSVM has it: the mean of V over variables within their bounds, or the middle of its interval."""
        cdef Py_ssize_t v, n_free = 0
        cdef double V, total = 0.0, top = -HUGE_VAL, bottom = HUGE_VAL
        for v in range(self.halves * self.n):
            V = self.score(v)
            if self.inside(v):
                total += V
                n_free += 1
            if self.beta[v] < self.high[v]:
                top = max(top, V)
            if self.beta[v] > self.low[v]:
                bottom = min(bottom, V)
        if n_free:
            self.level = total / n_free
        elif top > -HUGE_VAL and bottom < HUGE_VAL:
            self.level = 0.5 * (top + bottom)

    # ---- polishing -----------------------------------------------------------------------------

    def settle(self):
        """After a path: V of the margin from nothing, and repair of what has drifted."""
        cdef double tolerance
        self.refresh(False)
        tolerance = max(EXACT * self.scale, 16 * self.sharpness)
        if self.drift > tolerance:
            self.refresh(True)
        if not self.gap() <= tolerance:
            self.polish()
        self.loosen()

    def polish(self):
        """From beta near the optimum to the optimum, by paths in the linear term."""
        cdef int k
        cdef double found, before = HUGE_VAL
        self.rough = False
        for k in range(MOST_POLISHES):
            self.refresh(True)
            self.gather_margin()
            self.prepare()
            found = self.gap()
            if found <= max(EXACT * self.scale, 16 * self.sharpness):
                self.loosen()
                return
            if found > 0.5 * before:
                raise PathLost(f"a gap of {found:g} remains")
            before = found
            self.polish_once()
            self.polished += 1
        raise PathLost(f"a gap of {self.gap():g} remains")

    cdef void loosen(self) noexcept nogil:
        """If all members of the margin rest on their bounds, it is empty, and the level is not theirs."""
        cdef Py_ssize_t k, v
        cdef double width
        for k in range(self.factor.size):
            v = self.member[k]
            width = SHARP * (self.high[v] - self.low[v])
            if self.low[v] + width < self.beta[v] < self.high[v] - width:
                return
        for k in range(self.factor.size):
            v = self.member[k]
            self.state[v] = AT_LOW if self.beta[v] - self.low[v] < self.high[v] - self.beta[v] else AT_HIGH
            self.beta[v] = self.low[v] if self.state[v] == AT_LOW else self.high[v]
        self.clear_margin()
        self.centre()

    cdef int refresh(self, bint everywhere) except -1:
        """F from nothing: of the rows of the margin, or of all rows."""
        cdef Py_ssize_t k, p, v, m = self.halves * self.n
        cdef const double *K
        cdef double[::1] beta
        cdef double total
        by_row_ = zeros("d", max(self.n, 1))
        cdef double[::1] by_row = by_row_
        for v in range(m):
            by_row[v // self.halves] += self.beta[v]
        if not everywhere:
            for k in range(self.factor.size):
                K = self.rows.row(self.member[k] // self.halves)
                total = 0.0
                for p in range(self.n):
                    total += by_row[p] * K[p]
                self.F[self.member[k] // self.halves] = total
            return 0
        memset(&self.F[0], 0, self.n * sizeof(double))
        for p in range(self.n):
            if by_row[p] != 0.0:
                svmx_axpy(self.n, by_row[p], self.rows.row(<int32_t>p), &self.F[0])
                self.control.worked(self.n)
        self.drift = 0.0
        return 0

    cdef int gather_margin(self) except -1:
        """The margin anew: variables within their bounds, exchanged while their columns depend on each other."""
        cdef Py_ssize_t v, m = self.halves * self.n
        cdef double pivot, width, total = 0.0
        self.clear_margin()
        self.prepare()
        for v in range(m):
            width = SHARP * (self.high[v] - self.low[v])
            if self.state[v] == LEAVING:
                continue
            if self.beta[v] <= self.low[v] + width:
                self.beta[v], self.state[v] = self.low[v], AT_LOW
            elif self.beta[v] >= self.high[v] - width:
                self.beta[v], self.state[v] = self.high[v], AT_HIGH
            else:
                self.state[v] = MARGIN
        for v in range(m):
            if self.state[v] == MARGIN and self.place[v] < 0:
                pivot = self.try_join(v)
                if pivot > SINGULAR * (self.factor.size + 8) * ULP * (
                        self.rows.kernel.diagonal[v // self.halves] + self.shift):
                    self.join(v, pivot)
                else:
                    self.exchange(v, 1.0)
                self.control.worked(self.factor.size * self.factor.size)
        for v in range(self.factor.size):
            total += self.score(self.member[v])
        if self.factor.size:
            self.level = total / self.factor.size
        else:
            self.centre()
        return 0

    cdef int polish_once(self) except -1:
        """From the linear term for which all is well to the given one."""
        cdef Py_ssize_t v, m = self.halves * self.n
        cdef double excess
        given_ = zeros("d", m)
        cdef double[::1] given = given_
        given[:] = self.linear[:m]
        self.lack = self.total
        for v in range(m):
            self.lack -= self.beta[v]
            excess = self.score(v) - self.level
            if self.state[v] == LEAVING or (self.state[v] == AT_LOW and excess < 0) or (
                    self.state[v] == AT_HIGH and excess > 0):
                continue
            self.dlinear[v] = excess
        for v in range(m):
            self.linear[v] -= self.dlinear[v]
        try:
            self.follow()
        finally:
            self.linear[:m] = given
        return 0
