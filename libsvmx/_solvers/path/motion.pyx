"""Motion along a straight piece of a path: what moves, how the margin answers, and the step.

Something moves with eta from 0 to 1: beta of some variables outside the margin M (the moving set: those of A and R, and
those on bounds that move), the linear term, or the bounds. With

    W = sum over the moving set of d beta_j K_j,      sum_residual = what the sum of each group needs besides

M, levels and V answer, per unit of eta, such that everything else stays optimal:

    K_MM d beta_M + d level = d linear_M - W_M,   sum d beta_M = sum_residual    (Karasuyama & Takeuchi 2009, 7, 10)
    dF = W + K_:M d beta_M,   dV = d linear - dF                                                               (11)

With two groups each has its sum and its level, so the system has two borders, and one for what members it has.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._problem.certificate cimport FREE, bound_state
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.margin_factor cimport add_margin_rows
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, PathState

cdef double ULP = 2.0 ** -52
# Relative to the scale of V, and to the width of a box: closer is equal. Breakpoints so near each other may be passed
# in any order, so the one with the largest speed is taken (Harris 1973), which keeps the factor well conditioned.
cdef double SHARP = 1e-12
# The gap that a path has to end with, relative to the scale of V.
cdef double NO_GAP = 1e-10
# Roundings of a sum of beta that may be left with a variable, of two groups: where all others are on wide bounds, it is
# the only one within them, and no measure for itself.
cdef double LEFT_OF_SUM = 8.0
# W is summed anew once its rounding errors may be so many times those of what still moves.
cdef double STALE = 64.0


cdef class Motion:
    """Motion(state): of a state at rest; ``begin`` and ``reset`` come before anything moves.

    Attributes
    ----------
    breakpoints, steps, exchanges, repairs : int      since ``begin``: variables that changed sets, straight lines of
        length > 0, moves along a null direction, paths that repaired what rounding had left
    work : float            values that were worked on since ``begin``
    """

    def __cinit__(self, PathState state):
        self.state = state
        self.velocity, self.dlinear, self.dlower, self.dupper = (zeros("d", 0) for _ in range(4))
        self.W, self.dF = zeros("d", 0), zeros("d", 0)
        self.final_linear = self.start_beta = None

    def begin(self, Control control):
        """Count anew, and stop where ``control`` says so."""
        self.control = self.state.control = control
        self.trace = None
        self.breakpoints = self.steps = self.exchanges = self.repairs = 0
        self.work, self.most_work = 0.0, INFINITY

    @property
    def no_gap(self):
        """The gap that is none, to the scales of the optimum that was found last."""
        return self.tolerance()

    cdef int reset(self) except -1:
        """Nothing moves; scales of what there is."""
        cdef PathState s = self.state
        cdef Py_ssize_t v, m = s.per_row * s.n
        cdef int g
        cdef double largest = 0.0
        if self.velocity.shape[0] < s.linear.shape[0]:
            # velocity, which tells that there is room, comes last
            self.W, self.dF = zeros("d", s.F.shape[0]), zeros("d", s.F.shape[0])
            self.dlinear, self.dlower, self.dupper = (zeros("d", s.linear.shape[0]) for _ in range(3))
            if s.groups > 1:
                self.levelled, self.dlevelled = (zeros("d", s.linear.shape[0]) for _ in range(2))
            self.velocity = zeros("d", s.linear.shape[0])
        s.make_room_in_margin()
        self.eta = self.mass = self.speed_outside = self.typical = self.blur = 0.0
        self.rounded = 0.0
        for g in range(2):
            self.wanted[g] = self.sum_residual[g] = self.dlevel[g] = 0.0
            if s.groups > 1:
                self.rounded = max(self.rounded, LEFT_OF_SUM * ULP * fabs(s.total[g]))
        self.bounds_move, s.active = False, s.n
        for v in range(m):
            self.velocity[v] = self.dlinear[v] = self.dlower[v] = self.dupper[v] = 0.0
            self.mass += fabs(s.beta[v])
            largest = max(largest, fabs(s.linear[v]))
            if s.is_inside(v):
                self.typical = max(self.typical, fabs(s.beta[v]))
        for v in range(s.n):
            self.W[v] = 0.0
        self.scale = largest if largest > 0 else max(s.largest_level(), s.largest)
        self.sharpness = max(SHARP * self.scale, ULP * s.largest * self.mass)
        return 0

    cdef int tick(self, int64_t amount) except -1 nogil:
        """Note work done. Raises Stopped when it has to end, and what a signal handler raises."""
        self.work += amount
        return self.control.asked(amount)

    # ---- the moving set ------------------------------------------------------------------------

    cdef int need_sums(self) except -1 nogil:
        """Each sum of beta is to become what it has to be; nothing moves yet."""
        cdef int g
        for g in range(self.state.groups):
            self.wanted[g] = self.sum_residual[g] = self.state.sum_residual(g)
        return 0

    cdef int start_moving(self, Py_ssize_t v, double velocity) except -1 nogil:
        """A variable outside the margin moves from now on."""
        self.velocity[v] = velocity
        self.speed_outside += fabs(velocity)
        if velocity != 0.0:
            svmx_axpy(self.state.active, velocity, self.state.row(<int32_t>(v // self.state.per_row)), &self.W[0])
            self.sum_residual[self.state.group[v]] -= velocity
            self.blur += ULP * self.state.largest * fabs(velocity)
        return 0

    cdef int stop_moving(self, Py_ssize_t v) except -1 nogil:
        """A variable outside the margin stays where it is."""
        cdef double velocity = self.velocity[v]
        if velocity != 0.0:
            self.velocity[v] = 0.0
            self.speed_outside -= fabs(velocity)
            self.blur += ULP * self.state.largest * fabs(velocity)
            svmx_axpy(self.state.active, -velocity, self.state.row(<int32_t>(v // self.state.per_row)), &self.W[0])
            self.sum_residual[self.state.group[v]] += velocity
            self.sum_anew_if_stale()
        return 0

    cdef int sum_anew_if_stale(self) except -1 nogil:
        """Sums over what moves, from nothing, if the rounding errors of what was far larger are left in them."""
        cdef Py_ssize_t v
        cdef int g
        if self.blur <= STALE * ULP * self.state.largest * self.speed_outside:
            return 0
        for g in range(2):
            self.sum_residual[g] = self.wanted[g]
        self.speed_outside = 0.0
        memset(&self.W[0], 0, self.state.active * sizeof(double))
        for v in range(self.state.per_row * self.state.active):
            if self.velocity[v] != 0.0:
                svmx_axpy(self.state.active, self.velocity[v], self.state.row(<int32_t>(v // self.state.per_row)), &self.W[0])
                self.sum_residual[self.state.group[v]] -= self.velocity[v]
                self.speed_outside += fabs(self.velocity[v])
        self.blur = ULP * self.state.largest * self.speed_outside
        return 0

    cdef int fix_at_bound(self, Py_ssize_t v, bint upper) except -1 nogil:
        """A variable comes to rest on a bound, and moves with it."""
        self.state.assign(v, AT_UPPER if upper else AT_LOWER)
        self.round_to(v, self.state.upper[v] if upper else self.state.lower[v])
        if self.bounds_move:
            self.start_moving(v, self.dupper[v] if upper else self.dlower[v])
        return 0

    cdef void round_to(self, Py_ssize_t v, double beta) noexcept nogil:
        """What a variable has come to but for rounding; F does not follow."""
        self.state.drift += self.state.largest * fabs(self.state.beta[v] - beta)
        self.state.beta[v] = beta

    # ---- the straight line ---------------------------------------------------------------------

    cdef int direction(self) except -1 nogil:
        """How the margin, levels and F answer to what moves: ``dbeta`` of the state, ``dlevel``, ``dF``. (7, 10, 11)

        The level of a group without a member is free, and stays.
        """
        cdef Py_ssize_t k, m = self.state.factor.size
        cdef double t, largest = 0.0
        cdef double *x = &self.state.dbeta[0]
        self.speed, self.typical = self.speed_outside, 0.0
        for k in range(m):
            x[k] = self.dlinear[self.state.member[k]] - self.W[self.state.member[k] // self.state.per_row]
            largest = max(largest, fabs(x[k]))
        if self.state.groups == 1:
            self.answer_to_sum()
        else:
            self.answer_to_sums()
        for k in range(m):
            self.speed += fabs(x[k])
            self.typical = max(self.typical, fabs(self.state.beta[self.state.member[k]]))
        memcpy(&self.dF[0], &self.W[0], self.state.active * sizeof(double))
        add_margin_rows(self.state, x, self.state.active, &self.dF[0])
        self.slowest = 16 * ULP * (self.state.largest * self.speed + largest)
        for k in range(m):  # V of the margin should stay at its level: what it does otherwise is rounding
            t = (self.dlinear[self.state.member[k]] - self.dF[self.state.member[k] // self.state.per_row]
                 - self.dlevel[self.state.group[self.state.member[k]]])
            self.slowest = max(self.slowest, 4 * fabs(t))
        return 0

    cdef void answer_to_sum(self) noexcept nogil:
        """``dbeta`` and ``dlevel`` of one group, from the right side in ``dbeta``:

            d beta_M = K'^-1 (right side - t 1), with t such that the sum is sum_residual;   K_MM = K' - shift 11'
        """
        cdef Py_ssize_t k, m = self.state.factor.size
        cdef double sum_x = 0.0, sum_ones = 0.0, t
        cdef double *x = &self.state.dbeta[0]
        cdef double *ones = &self.state.ones[0]
        for k in range(m):
            ones[k] = 1.0
        self.state.factor.solve_two(x, ones)
        for k in range(m):
            sum_x += x[k]
            sum_ones += ones[k]
        t = (sum_x - self.sum_residual[0]) / sum_ones
        self.dlevel[0] = t + self.state.shift * self.sum_residual[0]
        for k in range(m):
            x[k] -= t * ones[k]

    cdef void answer_to_sums(self) noexcept nogil:
        """The same of two groups, e_g being 1 in group g:

            d beta_M = K'^-1 (right side - t_0 e_0 - t_1 e_1),   e_g'd beta_M = sum_residual_g

        with t of two equations, S t = s; S_gh = e_g'K'^-1 e_h is positive definite where both groups have members, and t_g
        is 0 where one has none.
        """
        cdef Py_ssize_t k, m = self.state.factor.size
        cdef int g, h
        cdef double *x = &self.state.dbeta[0]
        cdef double *ones[2]
        cdef double S[2][2]
        cdef double s[2]
        cdef double t[2]
        cdef double determinant
        ones[0], ones[1] = &self.state.ones[0], &self.state.ones_of_other[0]
        for k in range(m):
            g = self.state.group[self.state.member[k]]
            ones[g][k], ones[1 - g][k] = 1.0, 0.0
        self.state.factor.solve_two(x, ones[0])
        self.state.factor.forward(ones[1])
        self.state.factor.backward(ones[1])
        for g in range(2):
            s[g] = t[g] = S[g][0] = S[g][1] = self.dlevel[g] = 0.0
        for k in range(m):
            g = self.state.group[self.state.member[k]]
            s[g] += x[k]
            for h in range(2):
                S[g][h] += ones[h][k]
        for g in range(2):
            s[g] -= self.sum_residual[g]
        determinant = S[0][0] * S[1][1] - S[0][1] * S[1][0]
        for g in range(2):
            h = 1 - g
            if S[h][h] == 0.0:
                t[g] = s[g] / S[g][g] if S[g][g] != 0.0 else 0.0
            elif S[g][g] != 0.0:
                t[g] = (s[g] * S[h][h] - s[h] * S[g][h]) / determinant
            if S[g][g] != 0.0:
                self.dlevel[g] = t[g] + self.state.shift * self.sum_residual[g]
        for k in range(m):
            x[k] -= t[0] * ones[0][k] + t[1] * ones[1][k]

    cdef void advance(self, double step) noexcept nogil:
        """Everything moves on by ``step`` in eta."""
        cdef Py_ssize_t k, m = self.state.per_row * self.state.active
        if step == 0.0:
            return
        for k in range(self.state.factor.size):
            self.state.beta[self.state.member[k]] += step * self.state.dbeta[k]
        svmx_axpy(m, step, &self.velocity[0], &self.state.beta[0])
        svmx_axpy(m, step, &self.dlinear[0], &self.state.linear[0])
        if self.bounds_move:
            svmx_axpy(m, step, &self.dlower[0], &self.state.lower[0])
            svmx_axpy(m, step, &self.dupper[0], &self.state.upper[0])
        svmx_axpy(self.state.active, step, &self.dF[0], &self.state.F[0])
        for k in range(self.state.groups):
            self.state.level[k] = self.state.level[k] + step * self.dlevel[k]
        self.eta += step
        self.state.drift += step * (ULP * self.state.largest * self.speed + self.blur)

    # ---- what is near --------------------------------------------------------------------------

    cdef double near_bound(self, Py_ssize_t v) noexcept nogil:
        """Closer to a bound than this is at it: relative to the width of the box, or, where that is far wider than beta
        ever is, to the size of beta."""
        cdef double width = self.state.upper[v] - self.state.lower[v]
        cdef double K = self.state.diagonal[v // self.state.per_row]
        return max(self.rounded, SHARP * min(width, max(self.typical, self.scale / K if K > 0 else width)))

    cdef bint is_free(self, Py_ssize_t v) noexcept nogil:
        """Whether a variable is at no bound, nor near one."""
        return bound_state(self.state.beta[v], self.state.lower[v], self.state.upper[v], self.near_bound(v)) == FREE

    cdef double tolerance(self) noexcept nogil:
        """The gap that is none."""
        return max(NO_GAP * self.scale, 16 * self.sharpness)
