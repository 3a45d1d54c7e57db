"""The walk along a path of optima, from breakpoint to breakpoint (Karasuyama & Takeuchi 2010; Cauwenberghs & Poggio 2001).

Something moves with eta from 0 to 1: beta of some variables (A, R), the linear term, or the bounds. With

    W = sum over what moves outside the margin M of d beta_j K_j,      lack = what the sum needs besides

M, the level and V answer, per unit of eta, such that everything else stays optimal:

    K_MM d beta_M + d level = d linear_M - W_M,   sum d beta_M = lack                                       (7, 10)
    dF = W + K_:M d beta_M,   dV = d linear - dF                                                            (11)

A straight line ends at a breakpoint: a member of M meets a bound, or another variable the level. One of A that meets
it has its optimal beta and joins M. The factor of K_MM follows M.

Where the column of a variable that meets the level depends on those of M (duplicate rows, a linear kernel with
|M| > d), there is a null direction, K u = 0 and sum u = 0: beta moves along it at no cost, V stays, until a member of
M meets a bound and makes way, or the variable itself does (``exchange``). So no ridge is added to K.

With M empty the level is free within an interval. If the sum must change, the level moves to that end of it
where a variable can answer; else eta grows until the ends meet (section 3.3).

On long rows most variables are far from the level, and stay there. Those whose V would not meet it at its first speed
within ``FAR`` times the path are put aside (``put_aside``): rows are permuted so that the others come first, all loops go over
these, and at the end F of the rest is brought up to date (``bring_back``). What was put aside wrongly is found by the KKT
conditions over all rows, and mended.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.buffers import zeros
from libsvmx._core.dense_lanes cimport svmx_axpy, svmx_fastest, svmx_nearest
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.path_state cimport AT_HIGH, AT_LOW, DRIVEN, LEAVING, MARGIN, PathState, trade

from libsvmx._solvers.path.path_state import PathLost, copied

cdef double ULP = 2.0 ** -52
# Relative to the scale of V, and to the width of a box: closer is equal. Breakpoints so near each other may be passed in
# any order, so the one with the largest speed is taken (Harris 1973), which keeps the factor well conditioned.
cdef double SHARP = 1e-12
# A Schur complement below so many roundings of the kernel values that it is made of is none.
cdef double SINGULAR = 8.0
# Lines of length 0 in a row, for each member of M, after which the path turns in a circle.
cdef int64_t MOST_STILL = 4
# Entries of a null direction that may be rounding.
cdef double FAINT = 1e-8
# Values K_:M from which on putting rows aside is tried; which rows; and the share of rows left that makes it worth while.
cdef double MANY_VALUES = 4e5
cdef double FAR = 5.0
cdef double FEW = 0.8

cdef enum:
    AT_END = -2     # what ends a line at eta = 1


cdef class Walk(PathState):
    """Walk(halves, budget_bytes): what Path does on its way; see there."""

    def __cinit__(self, int halves, double budget_bytes):
        self.velocity, self.dlinear, self.dlow, self.dhigh = (zeros("d", 0) for _ in range(4))
        self.W, self.dF = zeros("d", 0), zeros("d", 0)
        self.given = self.start_beta = None

    cdef int prepare(self) except -1:
        """Nothing moves yet; scales of what there is."""
        cdef Py_ssize_t v, m = self.halves * self.n
        cdef double most = 0.0
        if self.velocity.shape[0] < self.linear.shape[0]:
            # velocity, which tells that there is room, comes last
            self.W, self.dF = zeros("d", self.F.shape[0]), zeros("d", self.F.shape[0])
            self.dlinear, self.dlow, self.dhigh = (zeros("d", self.linear.shape[0]) for _ in range(3))
            self.velocity = zeros("d", self.linear.shape[0])
        self.make_room_in_margin()
        self.eta = self.lack = self.mass = self.driven = self.typical = 0.0
        self.moving, self.active = False, self.n
        for v in range(m):
            self.velocity[v] = self.dlinear[v] = self.dlow[v] = self.dhigh[v] = 0.0
            self.mass += fabs(self.beta[v])
            most = max(most, fabs(self.linear[v]))
            if self.inside(v):
                self.typical = max(self.typical, fabs(self.beta[v]))
        for v in range(self.n):
            self.W[v] = 0.0
        self.scale = most if most > 0 else max(fabs(self.level), self.largest)
        self.sharpness = max(SHARP * self.scale, ULP * self.largest * self.mass)
        return 0

    cdef int follow(self) except -1:
        """Walk from breakpoint to breakpoint to eta = 1."""
        cdef Py_ssize_t v
        cdef double step
        cdef int64_t still = 0
        self.mass += self.driven
        if not self.moving and self.factor.size * <double>self.n > MANY_VALUES:
            self.put_aside()
        while True:
            if self.factor.size == 0:
                self.bring_back()
                if not self.fill_margin():
                    return 0
                continue  # it may have been exchanged at once
            self.direction()
            v = self.breakpoint(&step)
            self.advance(step)
            if v == AT_END:
                return self.bring_back()
            if v < 0:
                raise PathLost("rounding hides the next breakpoint")
            still = still + 1 if step == 0.0 else 0
            self.steps += step > 0.0
            if still > MOST_STILL * (self.factor.size + 50):
                raise PathLost("the path turns in a circle")
            self.turn(v)
            self.tick(self.factor.size * (self.active + self.factor.size))

    cdef int tick(self, int64_t amount) except -1:
        """Note work done. Raises TimeoutError when it has to end, and what a signal handler raises."""
        self.control.worked(amount)
        if self.control.expired:
            raise TimeoutError(self.control.stopped)
        return 0

    cdef int direction(self) except -1:
        """How M, the level and F answer: ``dbeta``, ``dlevel``, ``dF``."""
        cdef Py_ssize_t k, m = self.factor.size
        cdef double sum_x = 0.0, sum_ones = 0.0, t, most = 0.0
        cdef double[::1] x = self.dbeta, ones = self.ones
        self.reach, self.typical = self.driven, 0.0
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
            self.reach += fabs(x[k])
            self.typical = max(self.typical, fabs(self.beta[self.member[k]]))
        self.dF[:self.active] = self.W[:self.active]
        self.add_margin(&x[0], self.active, &self.dF[0])
        self.slowest = 16 * ULP * (self.largest * self.reach + most)
        for k in range(m):  # they should not leave the level at all
            t = self.dlinear[self.member[k]] - self.dF[self.member[k] // self.halves] - self.dlevel
            self.slowest = max(self.slowest, 4 * fabs(t))
        return 0

    cdef double speed(self, Py_ssize_t k, double *distance) noexcept nogil:
        """How fast member k of the margin nears a bound, 0 if it does not, and its distance from it."""
        cdef Py_ssize_t v = self.member[k]
        cdef double up = self.dbeta[k] - self.dhigh[v], down = self.dlow[v] - self.dbeta[k]
        cdef double above = max(self.high[v] - self.beta[v], 0.0), below = max(self.beta[v] - self.low[v], 0.0)
        cdef double slow = self.near_bound(v)
        # a box that shrinks can be met on both sides: the one that is met first counts
        if up > slow and (down <= slow or above * down < below * up):
            distance[0] = above
            return up
        distance[0] = below
        return down if down > slow else 0.0

    cdef Py_ssize_t breakpoint(self, double *step) noexcept nogil:
        """The variable that ends the line; AT_END if it ends at eta = 1, another negative number if none is found."""
        cdef Py_ssize_t k, v, first, m = self.halves * self.active
        cdef double distance = 0.0, speed, nearest = 1.0 - self.eta, fastest = self.slowest, length = 0.0
        step[0] = nearest
        for k in range(self.factor.size):
            speed = self.speed(k, &distance)
            if speed > 0 and distance + self.near_bound(self.member[k]) < nearest * speed:
                nearest = (distance + self.near_bound(self.member[k])) / speed
        nearest = svmx_nearest(m, self.halves, &self.side[0], &self.linear[0], &self.F[0], &self.dlinear[0], &self.dF[0],
                               self.level, self.dlevel, self.sharpness, self.slowest, nearest)
        if nearest == step[0]:
            return AT_END
        first = svmx_fastest(m, self.halves, &self.side[0], &self.linear[0], &self.F[0], &self.dlinear[0], &self.dF[0],
                             self.level, self.dlevel, nearest, &fastest, &length)
        step[0] = length
        # speeds of V and of beta are compared in their own units of what is close
        fastest = fastest / self.sharpness if first >= 0 else 0.0
        for k in range(self.factor.size):
            v = self.member[k]
            speed = self.speed(k, &distance)
            if speed > fastest * self.near_bound(v) and distance <= nearest * speed:
                first, fastest, step[0] = v, speed / self.near_bound(v), distance / speed
        return first

    cdef void advance(self, double step) noexcept nogil:
        cdef Py_ssize_t k, m = self.halves * self.active
        if step == 0.0:
            return
        for k in range(self.factor.size):
            self.beta[self.member[k]] += step * self.dbeta[k]
        svmx_axpy(m, step, &self.velocity[0], &self.beta[0])
        svmx_axpy(m, step, &self.dlinear[0], &self.linear[0])
        if self.moving:
            svmx_axpy(m, step, &self.dlow[0], &self.low[0])
            svmx_axpy(m, step, &self.dhigh[0], &self.high[0])
        svmx_axpy(self.active, step, &self.dF[0], &self.F[0])
        self.level += step * self.dlevel
        self.eta += step
        self.drift += step * ULP * self.largest * self.reach

    cdef int turn(self, Py_ssize_t v) except -1:
        """A breakpoint: ``v`` changes sets."""
        cdef bint high
        cdef double rate
        self.breakpoints += 1
        if self.state[v] == MARGIN:
            high = self.high[v] - self.beta[v] < self.beta[v] - self.low[v]
            self.leave(v)
            return self.rest(v, high)
        rate = self.dlinear[v] - self.dF[v // self.halves] - self.dlevel
        if self.state[v] == DRIVEN:
            self.halt(v)
            if not self.inside(v):
                # at once: its beta is optimal where it is
                self.to_bound(v)
                return 0
        return self.enter(v, rate)

    cdef int enter(self, Py_ssize_t v, double rate) except -1:
        """A variable at the level, whose V would move away from it at ``rate``, joins the margin."""
        cdef double pivot = self.try_join(v)
        if self.velocity[v] != 0.0:
            self.halt(v)
        if self.is_regular(pivot):
            self.join(v, pivot)
            return 0
        return self.exchange(v, 1.0 if rate > 0 else -1.0)

    cdef bint is_regular(self, double pivot) except -1:
        """Whether the Schur complement of ``try_join`` is more than rounding; ``null`` becomes K'_MM^-1 K'_Mv.

        It is u'K'u with u = (1, -null), so rounding of K' is seen through (sum |u|)^2.
        """
        cdef Py_ssize_t k, m = self.factor.size
        cdef double mass = 1.0
        for k in range(m):
            self.null[k] = self.half[k]
        self.factor.backward(&self.null[0])
        for k in range(m):
            mass += fabs(self.null[k])
        mass *= SINGULAR * ULP * (self.largest + self.shift) * mass
        if pivot < -mass:
            raise PathLost("the kernel matrix is not positive semidefinite")
        return pivot > mass

    cdef double near_bound(self, Py_ssize_t v) noexcept nogil:
        """Closer to a bound than this is at it: relative to the width of the box, or, where that is far wider than beta
        ever is, to the size of beta."""
        cdef double width = self.high[v] - self.low[v], K = self.diagonal[v // self.halves]
        return SHARP * min(width, max(self.typical, self.scale / K if K > 0 else width))

    cdef int exchange(self, Py_ssize_t v, double sign) except -1:
        """Move along the null direction u_v = 1, u_M = -null, until ``v`` or a member meets a bound.

        V cannot tell members and ``v`` apart by more than u, sum u_j V_j: after the exchange the member that makes
        way moves to the side of the level that its bound asks for, as ``v`` would have.
        """
        cdef Py_ssize_t k, w, m, blocking
        cdef double room, nearest, fastest, u, length, pivot
        cdef double[::1] z
        while True:
            z = self.null
            self.pivots += 1
            m, blocking = self.factor.size, -1
            nearest = self.high[v] - self.beta[v] if sign > 0 else self.beta[v] - self.low[v]
            for k in range(m):
                w = self.member[k]
                u = -sign * z[k]
                room = max(self.high[w] - self.beta[w] if u > 0 else self.beta[w] - self.low[w], 0.0)
                if fabs(u) > FAINT and room + self.near_bound(w) < nearest * fabs(u):
                    nearest = (room + self.near_bound(w)) / fabs(u)
                    blocking = k
            length, fastest = nearest, FAINT
            if blocking >= 0:
                for k in range(m):
                    w = self.member[k]
                    u = -sign * z[k]
                    room = max(self.high[w] - self.beta[w] if u > 0 else self.beta[w] - self.low[w], 0.0)
                    if fabs(u) > fastest and room <= nearest * fabs(u):
                        blocking, fastest, length = k, fabs(u), room / fabs(u)
            if length > 0.0:
                for k in range(m):
                    # those too faint to block may be at a bound, and stay there
                    w = self.member[k]
                    room = min(max(self.beta[w] - sign * length * z[k], self.low[w]), self.high[w])
                    self.dbeta[k] = room - self.beta[w]
                    self.beta[w] = room
                self.beta[v] += sign * length
                self.add_margin(&self.dbeta[0], self.active, &self.F[0])
                svmx_axpy(self.active, sign * length, self.rows.row(<int32_t>(v // self.halves)), &self.F[0])
                self.drift += ULP * self.largest * length * (m + 1)
            if blocking < 0:
                return self.rest(v, sign > 0)
            w, u = self.member[blocking], -sign * z[blocking]
            self.leave(w)
            self.rest(w, u > 0)
            pivot = self.try_join(v)
            if self.is_regular(pivot):
                self.join(v, pivot)
                return 0

    cdef int rest(self, Py_ssize_t v, bint high) except -1:
        """A variable comes to rest on a bound, and moves with it."""
        self.put(v, AT_HIGH if high else AT_LOW)
        self.beta[v] = self.high[v] if high else self.low[v]
        if self.moving:
            self.drive(v, self.dhigh[v] if high else self.dlow[v])
        return 0

    cdef int drive(self, Py_ssize_t v, double velocity) except -1:
        """A variable outside the margin moves from now on."""
        self.velocity[v] = velocity
        self.driven += fabs(velocity)
        if velocity != 0.0:
            svmx_axpy(self.active, velocity, self.rows.row(<int32_t>(v // self.halves)), &self.W[0])
            self.lack -= velocity
        return 0

    cdef int halt(self, Py_ssize_t v) except -1:
        """A variable outside the margin stays where it is."""
        cdef double velocity = self.velocity[v]
        if velocity != 0.0:
            svmx_axpy(self.active, -velocity, self.rows.row(<int32_t>(v // self.halves)), &self.W[0])
            self.lack += velocity
            self.driven -= fabs(velocity)
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
            self.tick(m)
            if fabs(self.lack) > 64 * ULP * (self.mass + fabs(self.total)):
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
                        self.to_bound(best)
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
                    self.to_bound(v)
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

    # ---- rows put aside ------------------------------------------------------------------------

    cdef int put_aside(self) except -1:
        """Go on with the rows whose variables are in the margin, move, or are not far from the level."""
        cdef Py_ssize_t p, q, v, n_near = 0, n_pairs = 0
        cdef double V, speed
        if self.factor.size == 0:
            return 0
        self.direction()
        near_, pairs_ = bytearray(self.n), zeros("i", 2 * self.n)
        cdef unsigned char[::1] near = near_
        cdef int32_t[::1] pairs = pairs_
        for v in range(self.halves * self.n):
            p = v // self.halves
            speed = self.side[v] * (self.dlinear[v] - self.dF[p] - self.dlevel)
            V = self.side[v] * (self.level - self.score(v))
            if self.side[v] == 0.0 or self.velocity[v] != 0.0 or self.dlinear[v] != 0.0 or FAR * speed > V - self.sharpness:
                near[p] = 1
        for p in range(self.n):
            n_near += near[p]
        if n_near > FEW * self.n:
            return 0
        q = n_near
        for p in range(n_near):
            if not near[p]:
                while not near[q]:
                    q += 1
                pairs[2 * n_pairs], pairs[2 * n_pairs + 1] = <int32_t>p, <int32_t>q
                n_pairs += 1
                q += 1
        for p in range(n_pairs):
            q = pairs[2 * p + 1]
            for v in range(self.halves):
                self.exchange_numbers(self.halves * pairs[2 * p] + v, self.halves * q + v)
            trade(self.W, q, pairs[2 * p])
        self.swap(&pairs[0], n_pairs)
        self.start_beta = copied(self.beta, self.halves * self.n)
        self.active = n_near
        return 0

    cdef void exchange_numbers(self, Py_ssize_t v, Py_ssize_t w) noexcept nogil:
        """Two variables change places in the lists of this walk."""
        trade(self.velocity, v, w)
        trade(self.dlinear, v, w)
        if self.given is not None:
            trade(self.given, v, w)

    cdef int bring_back(self) except -1:
        """F, and W, of the rows put aside, from what beta has become meanwhile."""
        cdef Py_ssize_t p, h, begin = self.active, n = self.n - self.active
        cdef double change, velocity
        cdef const double *K
        if n == 0:
            return 0
        memset(&self.W[begin], 0, n * sizeof(double))
        for p in range(begin):
            change = velocity = 0.0
            for h in range(self.halves * p, self.halves * (p + 1)):
                change += self.beta[h] - self.start_beta[h]
                velocity += self.velocity[h]
            if change == 0.0 and velocity == 0.0:
                continue
            K = self.rows.row(<int32_t>p) + begin
            svmx_axpy(n, change, K, &self.F[begin])
            if velocity != 0.0:
                svmx_axpy(n, velocity, K, &self.W[begin])
            self.tick(n)
        self.active = self.n
        return 0
