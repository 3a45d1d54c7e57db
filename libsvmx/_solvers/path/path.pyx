"""Exact optima that rows join and leave, and whose C changes: multiple incremental-decremental SVM.

What can be asked of a path, in terms of the walk (walk.pyx), with eta from 0 to 1:

* ``update``: from the optimum, rows that join (A) grow towards their bounds, and those that leave (R) shrink to 0, all
  together: d beta_A = bound_A - beta_A, d beta_R = -beta_R             (Karasuyama & Takeuchi 2010, eqs. 3, 4)
* ``rescale``: bounds move, and take along the beta that rest on them.
* ``polish``: what is optimal but for small errors is exactly optimal for another linear term, V_v set to the level where it
  is on the wrong side; the path leads from that term back to the given one. It repairs drift, and is a solver by itself.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.dense_lanes cimport svmx_axpy, svmx_dot
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.double_smo cimport exact_smo, restore_sum
from libsvmx._solvers.path.path_state cimport AT_HIGH, AT_LOW, DRIVEN, LEAVING, MARGIN
from libsvmx._solvers.path.following cimport Walk

from libsvmx._solvers.path.path_state import PathLost

# The gap that a path has to end with, relative to the scale of V.
cdef double EXACT = 1e-10
# The shift is not far from the kernel values in size: within this factor.
cdef double SAME_SIZE = 64.0
cdef double ULP = 2.0 ** -52
# The sum of beta may be off by so much of sum |beta|.
cdef double SAME_SUM = 1e-13
# Paths that mend what little is wrong after a path, before all is computed from nothing.
cdef int MOST_REPAIRS = 3
# Polishing again and again does not help.
cdef int MOST_POLISHES = 8


cdef class Path(Walk):
    """Path(halves, budget_bytes): an optimum of no rows; see PathState.

    Attributes
    ----------
    breakpoints, steps, pivots, polished : int      of the last update: variables that changed sets, straight lines of
        length > 0, exchanges along a null direction, repairs
    drift : float        bound on the rounding errors of V since they were last computed from nothing
    """

    def start(self, beta, double total, Control control):
        """The optimum from ``beta`` near it (buffer of float64, shape (halves * n,)), within bounds and with
        sum ``total``.

        Raises
        ------
        PathLost; TimeoutError; KeyboardInterrupt or what else a signal handler raises; MemoryError
        """
        self.approach(beta, total, control)
        self.polish()

    def approach(self, beta, double total, Control control):
        """``beta``, cut to its bounds, and K beta of it; ``finish`` must follow. Raises as ``start``, but PathLost."""
        cdef const double[::1] given = beta
        cdef Py_ssize_t v
        check_length(given.shape[0], self.halves * self.n)
        self.total = total
        for v in range(self.halves * self.n):
            self.beta[v] = min(max(given[v], self.low[v]), self.high[v])
        self.reset_counts(control)
        self.clear_margin()
        self.refresh(True)

    def finish(self):
        """From where ``approach`` has left off to the optimum. Raises as ``start``."""
        self.polish()

    def copy(self):
        """A state of its own, without the kernel rows that are kept."""
        cdef Path other = Path(self.halves, self.rows.budget_bytes)
        cdef Py_ssize_t k
        other.make_room(self.n)
        other.rows.make_room(self.n)
        other.n, other.level, other.total = self.n, self.level, self.total
        other.drift, other.rough = self.drift, self.rough
        other.shift, other.largest, other.scale, other.sharpness = self.shift, self.largest, self.scale, self.sharpness
        other.active = self.n
        for mine, own in zip(self.row_lists(), other.row_lists()):
            own[:self.n] = mine[:self.n]
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
        self.rescale_shift()
        if self.rough:
            raise PathLost("the last optimum was not exact")
        self.prepare()
        for k in range(leaving.shape[0]):
            for h in range(self.halves):
                v = self.halves * leaving[k] + h
                if self.place[v] >= 0:
                    self.leave(v)
                self.put(v, LEAVING)
        for v in range(self.halves * (self.n - n_fresh), self.halves * self.n):
            if self.state[v] == LEAVING:
                continue
            V = self.score(v)
            if self.low[v] < 0 and V < self.level:
                self.put(v, DRIVEN)
            elif self.high[v] > 0 and V > self.level:
                self.put(v, DRIVEN)
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

    def rescale(self, low, high, double ratio, Control control):
        """The optimum with the bounds ``low`` and ``high`` (buffers of float64, shape (halves * n,)), which are those there
        are times ``ratio`` > 0 but for rounding, and the sum as it is, 0. Raises as ``start``."""
        cdef Py_ssize_t v, p, m = self.halves * self.n
        cdef const double[::1] low_then = low, high_then = high
        check_length(low_then.shape[0], m)
        check_length(high_then.shape[0], m)
        self.reset_counts(control)
        self.rescale_shift()
        if self.rough:
            raise PathLost("the last optimum was not exact")
        self.prepare()
        self.moving, self.lack = True, self.total
        for v in range(m):
            self.dlow[v], self.dhigh[v] = low_then[v] - self.low[v], high_then[v] - self.high[v]
            self.lack -= self.beta[v]  # of rounding: the sum is 0
            if self.state[v] != MARGIN and self.beta[v] != 0.0:
                self.velocity[v] = (ratio - 1.0) * self.beta[v]
                self.lack -= self.velocity[v]
                self.driven += fabs(self.velocity[v])
        # sum over the bounded of beta K = F - sum over M: no kernel row is needed
        for p in range(self.factor.size):
            self.dbeta[p] = -self.beta[self.member[p]]
        self.W[:self.n] = self.F[:self.n]
        self.add_margin(&self.dbeta[0] if self.factor.size else NULL, self.n, &self.W[0])
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

    def by_smo(self, gone, double total, double eps, Control control, low=None, high=None):
        """As ``update``, or as ``rescale`` to bounds ``low`` and ``high``, to a gap of ``eps``, by SMO from beta as it is:
        where no path leads on."""
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h
        self.reset_counts(control)
        self.clear_margin()
        self.prepare()
        for k in range(leaving.shape[0]):
            for h in range(self.halves):
                v = self.halves * leaving[k] + h
                self.beta[v] = self.low[v] = self.high[v] = self.linear[v] = 0.0
                self.put(v, LEAVING)
        if low is not None:
            memoryview(self.low)[:self.halves * self.n] = low
            memoryview(self.high)[:self.halves * self.n] = high
        for v in range(self.halves * self.n):
            self.beta[v] = min(max(self.beta[v], self.low[v]), self.high[v])
        self.total = total
        if not restore_sum(self):
            raise PathLost("no variable can make up for the sum")
        self.drift = HUGE_VAL
        self.refresh(True)
        exact_smo(self, eps, control)
        self.refresh(True)
        try:
            self.polish()
        except PathLost:
            self.clear_margin()
            for v in range(self.halves * self.n):
                if self.state[v] != LEAVING:
                    self.to_bound(v)
            self.active = self.n  # the path may have been lost with rows put aside
            if not restore_sum(self):
                raise PathLost("no variable can make up for the sum")
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

    def reset_counts(self, Control control):
        self.control = control
        self.breakpoints = self.steps = self.pivots = self.polished = 0

    # ---- polishing -----------------------------------------------------------------------------

    def settle(self):
        """After a path: V of the margin from nothing, and repair of what has drifted or was put aside wrongly."""
        cdef int k
        cdef Py_ssize_t v
        for v in range(self.factor.size):
            self.clip(self.member[v])
        for k in range(MOST_REPAIRS + 1):
            self.prepare()
            self.refresh(self.drift > self.tolerance())
            if self.is_settled():
                break
            if k < MOST_REPAIRS:
                self.polish_once()
        else:
            self.polish()
        self.loosen()

    cdef double tolerance(self) noexcept nogil:
        """The gap that is none."""
        return max(EXACT * self.scale, 16 * self.sharpness)

    cdef bint is_settled(self) noexcept nogil:
        """Whether the conditions of the optimum hold, as ``prepare`` has found the scales."""
        cdef Py_ssize_t v
        cdef double missing = self.total
        for v in range(self.halves * self.n):
            missing -= self.beta[v]
        return fabs(missing) <= SAME_SUM * (self.mass + fabs(self.total)) and self.kkt_gap() <= self.tolerance()

    cdef int clip(self, Py_ssize_t v) except -1:
        """A variable that rounding has left beyond a bound goes back to it."""
        cdef double inside = min(max(self.beta[v], self.low[v]), self.high[v])
        if fabs(inside - self.beta[v]) > 1e3 * self.near_bound(v):
            raise PathLost("a coefficient has left its bounds")
        return self.move(v, inside)

    cdef int move(self, Py_ssize_t v, double beta) except -1:
        """beta of one variable changes, and F with it."""
        if beta != self.beta[v]:
            svmx_axpy(self.n, beta - self.beta[v], self.rows.row(<int32_t>(v // self.halves)), &self.F[0])
            self.beta[v] = beta
        return 0

    def polish(self):
        """From beta near the optimum to the optimum, by paths in the linear term."""
        cdef int k
        cdef double found, before = HUGE_VAL
        self.rough = False
        self.drift = HUGE_VAL
        for k in range(MOST_POLISHES):
            self.prepare()
            if k == 0 or not self.is_settled():
                self.gather_margin()
            self.refresh(self.drift > self.tolerance())
            self.level_of_margin()
            if self.is_settled():
                self.loosen()
                return
            found = self.gap()
            if found > 0.5 * before and found > self.tolerance():
                raise PathLost(f"a gap of {found:g} remains")
            before = found
            self.polish_once()
        raise PathLost(f"a gap of {self.gap():g} remains")

    cdef int level_of_margin(self) except -1:
        """The level that the members agree on best."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        if self.factor.size == 0:
            self.centre()
            return 0
        for k in range(self.factor.size):
            total += self.score(self.member[k])
        self.level = total / self.factor.size
        return 0

    cdef void level_of_free(self) noexcept nogil:
        """The level as LIBSVM has it: the mean of V over variables within their bounds, or the middle of its interval."""
        cdef Py_ssize_t v, n_free = 0
        cdef double V, total = 0.0, top = -HUGE_VAL, bottom = HUGE_VAL
        for v in range(self.halves * self.n):
            V = self.score(v)
            if self.low[v] + self.near_bound(v) < self.beta[v] < self.high[v] - self.near_bound(v):
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

    cdef int loosen(self) except -1:
        """If all members of the margin rest on their bounds, it is empty, and the level is not theirs."""
        cdef Py_ssize_t k, v
        cdef bint high
        for k in range(self.factor.size):
            v = self.member[k]
            if self.low[v] + self.near_bound(v) < self.beta[v] < self.high[v] - self.near_bound(v):
                return 0
        for k in range(self.factor.size):
            v = self.member[k]
            high = self.high[v] - self.beta[v] < self.beta[v] - self.low[v]
            self.move(v, self.high[v] if high else self.low[v])
            self.put(v, AT_HIGH if high else AT_LOW)
        self.clear_margin()
        self.centre()
        return 0

    cdef int rescale_shift(self) except -1:
        """A shift of the size of the kernel values, which may have become others; with it the factor is another."""
        cdef Py_ssize_t v
        if self.largest == 0.0 or 1.0 / SAME_SIZE < self.shift / self.largest < SAME_SIZE:
            return 0
        members = [self.member[v] for v in range(self.factor.size)]
        self.shift = self.largest
        self.clear_margin()
        for v in members:
            self.join(v, max(self.try_join(v), ULP * self.largest))
        return 0

    cdef int refresh(self, bint everywhere) except -1:
        """F from nothing: of the rows of the margin, or of all rows."""
        cdef Py_ssize_t k, p, v, m = self.halves * self.n
        cdef const double *K
        by_row_ = zeros("d", max(self.n, 1))
        cdef double[::1] by_row = by_row_
        for v in range(m):
            by_row[v // self.halves] += self.beta[v]
        if not everywhere:
            for k in range(self.factor.size):
                K = self.rows.row(self.member[k] // self.halves)
                self.F[self.member[k] // self.halves] = svmx_dot(self.n, K, &by_row[0])
            return 0
        memset(&self.F[0], 0, self.n * sizeof(double))
        for p in range(self.n):
            if by_row[p] != 0.0:
                svmx_axpy(self.n, by_row[p], self.rows.glance(<int32_t>p), &self.F[0])
                self.tick(self.n)
        self.drift = 0.0
        return 0

    cdef int gather_margin(self) except -1:
        """The margin anew: variables within their bounds, exchanged while their columns depend on each other."""
        cdef Py_ssize_t v, m = self.halves * self.n
        cdef double pivot, width
        self.clear_margin()
        for v in range(m):
            width = self.near_bound(v)
            if self.state[v] == LEAVING:
                continue
            if self.beta[v] <= self.low[v] + width:
                self.move(v, self.low[v])
                self.put(v, AT_LOW)
            elif self.beta[v] >= self.high[v] - width:
                self.move(v, self.high[v])
                self.put(v, AT_HIGH)
            else:
                self.put(v, MARGIN)
        for v in range(m):
            if self.state[v] == MARGIN and self.place[v] < 0:
                pivot = self.try_join(v)
                if self.is_regular(pivot):
                    self.join(v, pivot)
                else:
                    self.exchange(v, 1.0)
                self.tick(self.factor.size * self.factor.size)
        return 0

    cdef int polish_once(self) except -1:
        """From the linear term for which all is well to the given one."""
        cdef Py_ssize_t v, m = self.halves * self.n
        cdef double excess
        self.given = zeros("d", m)
        self.given[:] = self.linear[:m]
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
            self.linear[:m], self.given = self.given, None
        self.polished += 1
        return 0


def check_length(Py_ssize_t length, Py_ssize_t expected):
    """Raise ValueError for a buffer of the wrong length."""
    if length != expected:
        raise ValueError(f"a buffer has length {length}, not {expected}")
