"""One line of a path: direction, step, breakpoint and trace.

    Motion             direction and step (Karasuyama & Takeuchi 2009, (7), (10), (11))
    next_breakpoint    the end of the line
    Trace              all lines of a path on which C grows
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from libsvmx._core.allocation cimport reserve
from libsvmx._core.dispatch cimport svmx_axpy, svmx_fastest, svmx_nearest, svmx_waiting
from libsvmx._core.stopping cimport Control
from libsvmx._solvers.dual cimport FREE, bound_state
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, MARGIN, PathState, add_margin_rows

from libsvmx._core.buffers import filled, zeros


# ---- Trace -----------------------------------------------------------------------------------------
#
# On each line everything is linear in C: beta of the margin, beta at bounds, rho, F = K beta, and the decision value of
# any row (Hastie, Rosset, Tibshirani & Zhu, The entire regularization path for the support vector machine, JMLR 5,
# 2004, section 3). So a line keeps C and rho at its ends, the objective as a quadratic function of C, and beta of each
# member of the margin at its ends; which bound the other variables are at is kept where it changes.
#
# F of the rows held out, the tests of a fold, is updated on the path; their decision value is F - rho. Kept are its
# changes of sign; or, for regression, the sum of squared errors, a quadratic function of C on a line; or the sum of
# pinball losses, which has a kink where a test meets its target.

# Numbers of an entry: C, rho, … (``line``); variable, beta, beta; line, variable, set; C, test, sign.
LINE, MEMBER, SET, CROSSING = 11, 3, 3, 3

cdef enum:
    OF_LINE = 11
    OF_OTHERS = 3

# An eta from here on is 1.
cdef double WHOLE = 1.0 - 1e-15


cdef class Trace:
    """Trace(n_tags, keeps=False, tests=None, targets=None, tau=None)

    Parameters
    ----------
    n_tags : int                rows of the path are tagged 0, 1, … n_tags - 1
    keeps : bool                keep coefficients and objectives
    tests : buffer of int32     tags of the rows held out
    targets : buffer of float64, shape (tests,)        for regression; None: signs of decision values
    tau : float or None         for quantile regression: pinball losses instead of squares
    """

    def __cinit__(self, Py_ssize_t n_tags, bint keeps=False, tests=None, targets=None, tau=None):
        cdef const int32_t[::1] chosen = tests if tests is not None else zeros("i", 0)
        cdef Py_ssize_t k
        self.keeps, self.has_targets = keeps, targets is not None
        self.tau = -1.0 if tau is None else tau
        self.test_of = filled("i", [-1] * n_tags)
        self.position = zeros("i", chosen.shape[0])
        self.positive = filled("b", [-1] * chosen.shape[0])
        self.target = targets if self.has_targets else zeros("d", 0)
        if self.has_targets and self.target.shape[0] != chosen.shape[0]:
            raise ValueError("tests and targets do not fit together")
        for k in range(chosen.shape[0]):
            if not 0 <= chosen[k] < n_tags:
                raise IndexError(f"row {chosen[k]} of {n_tags}")
            self.test_of[chosen[k]] = <int32_t>k
        self.seen = None

    def __dealloc__(self):
        free(self.lines.at)
        free(self.sets.at)
        free(self.members.at)
        free(self.crossings.at)

    @property
    def n_bytes(self):
        return 8.0 * (self.lines.room + self.sets.room + self.members.room + self.crossings.room)

    # ---- results: copies, float64, entry by entry -----------------------------------------------

    def lines_of(self):
        """(C, C at the end, rho, rho at the end, objective, its first and second derivative along the line (0 to 1),
        three coefficients of the loss as a polynomial along the line, index of the first entry of ``members_of``)."""
        return copy_of(&self.lines)

    def members_of(self):
        """(variable, beta, beta at the end) of the margin, line by line; variable = per_row * tag + 0 or 1."""
        return copy_of(&self.members)

    def sets_of(self):
        """(line, variable, set as in PathState) of variables that change sets."""
        return copy_of(&self.sets)

    def crossings_of(self):
        """(C, test, 1 if its decision value becomes positive, else 0); of pinball losses (C, line, change of the slope
        per line)."""
        return copy_of(&self.crossings)

    # ---- recording --------------------------------------------------------------------------------

    cdef int begin(self, PathState s, double first, double last) except -1:
        """Begin a path from C ``first`` to ``last``."""
        cdef Py_ssize_t p
        self.first, self.last = first, last
        if self.seen is None:
            self.seen = filled("b", [-1] * (s.per_row * self.test_of.shape[0]))
        for p in range(s.n):
            if self.test_of[s.tag[p]] >= 0:
                self.position[self.test_of[s.tag[p]]] = <int32_t>p
        return 0

    cdef int line(self, PathState s, const double *velocity, const double *dF, double eta, double begin, double length,
                  double rho, double drho, bint resting) except -1 nogil:
        """Add the line from eta + begin, of this length; derivatives are per unit of eta. ``resting``: the margin stays
        at bounds."""
        cdef double at_begin = eta + begin, at_end = eta + begin + length
        cdef double C = self.first + at_begin * (self.last - self.first)
        cdef double end = self.last if at_end > WHOLE else self.first + at_end * (self.last - self.first)
        cdef double *entry = append(&self.lines, OF_LINE)
        cdef Py_ssize_t k
        for k in range(OF_LINE):
            entry[k] = 0.0
        entry[0], entry[1], entry[2], entry[3] = C, end, rho, rho + length * drho
        entry[OF_LINE - 1] = self.members.size // OF_OTHERS
        if self.keeps:
            self.keep(s, velocity, dF, begin, length, resting)
        self.test(s, dF, begin, length, rho, drho, C, end)
        self.n_lines += 1
        return 0

    cdef int keep(self, PathState s, const double *velocity, const double *dF, double begin, double length,
                  bint resting) except -1 nogil:
        """Coefficients, and the objective 1/2 beta'F - linear'beta."""
        cdef Py_ssize_t p, v, variable
        cdef int where
        cdef double beta, change, F, objective = 0.0, first = 0.0, second = 0.0
        cdef double *entry
        for v in range(s.per_row * s.n):
            p = v // s.per_row
            variable = s.per_row * s.tag[p] + v % s.per_row
            change = s.dbeta[s.place[v]] if s.where[v] == MARGIN else velocity[v]
            beta, F = s.beta[v] + begin * change, s.F[p] + begin * dF[p]
            objective += beta * (0.5 * F - s.linear[v])
            first += change * (F - s.linear[v])
            second += change * dF[p]
            where = s.where[v]
            if where == MARGIN and resting:
                where = AT_UPPER if s.upper[v] - s.beta[v] < s.beta[v] - s.lower[v] else AT_LOWER
            if where != self.seen[variable]:
                self.seen[variable] = <int8_t>where
                entry = append(&self.sets, OF_OTHERS)
                entry[0], entry[1], entry[2] = self.n_lines, variable, where
            if where == MARGIN:
                entry = append(&self.members, OF_OTHERS)
                entry[0], entry[1], entry[2] = variable, beta, beta + length * change
        entry = self.lines.at + self.lines.size - OF_LINE
        entry[4], entry[5], entry[6] = objective, length * first, length * length * second
        return 0

    cdef int test(self, PathState s, const double *dF, double begin, double length, double rho, double drho, double C,
                  double end) except -1 nogil:
        """Decision values of the tests: f at the begin, f + change at the end."""
        cdef Py_ssize_t k, p
        cdef double f, change, missed, slope
        cdef bint positive
        cdef double *bend
        cdef double *entry = self.lines.at + self.lines.size - OF_LINE
        for k in range(self.position.shape[0]):
            p = self.position[k]
            f, change = s.F[p] + begin * dF[p] - rho, length * (dF[p] - drho)
            if self.has_targets and self.tau >= 0.0:
                missed = f - self.target[k]
                slope = 1.0 - self.tau if missed > 0.0 else -self.tau
                entry[7] += slope * missed
                entry[8] += slope * change
                if (missed + change > 0.0) != (missed > 0.0):
                    bend = append(&self.crossings, OF_OTHERS)
                    bend[0] = min(C + (end - C) * fabs(missed / change), end)
                    bend[1], bend[2] = self.n_lines, fabs(change)
                continue
            if self.has_targets:
                missed = f - self.target[k]
                entry[7] += missed * missed
                entry[8] += 2.0 * missed * change
                entry[9] += change * change
                continue
            positive = f > 0.0
            if self.positive[k] != positive:
                self.cross(C, k, positive)
            if (f + change > 0.0) != positive:
                self.cross(min(C + (end - C) * fabs(f / change), end), k, not positive)
        return 0

    cdef int cross(self, double C, Py_ssize_t k, bint positive) except -1 nogil:
        """Record a change of sign of test k at C."""
        cdef double *entry = append(&self.crossings, OF_OTHERS)
        entry[0], entry[1], entry[2] = C, k, positive
        self.positive[k] = positive
        return 0


cdef double *append(Numbers *numbers, Py_ssize_t n) except NULL nogil:
    """Append n numbers; returns where they are to be written."""
    reserve(<void **>&numbers.at, &numbers.room, numbers.size + n, sizeof(double), b"the lines of a path")
    numbers.size += n
    return numbers.at + numbers.size - n


cdef copy_of(const Numbers *numbers):
    out_ = zeros("d", numbers.size)
    cdef double[::1] out = out_
    if numbers.size:
        memcpy(&out[0], numbers.at, numbers.size * sizeof(double))
    return out_


# ---- Direction and step ----------------------------------------------------------------------------
#
# With eta from 0 to 1 there move beta of variables outside the margin M (the moving set: A, R, and those at bounds that
# move), the linear term, or the bounds. With
#
#     W = sum over the moving set of d beta_j K_j
#     sum_residual = required change of each sum without the moving set
#
# M, levels and V respond, per unit of eta, such that the KKT conditions continue to hold:
#
#     K_MM d beta_M + d level = d linear_M - W_M,   sum d beta_M = sum_residual    (Karasuyama & Takeuchi 2009, 7, 10)
#     dF = W + K_:M d beta_M,   dV = d linear - dF                                                               (11)
#
# With two groups, each has a sum and a level, and the system has a border for each with members in M.

cdef double[::1] NO_DOUBLES = zeros("d", 0)
cdef double ULP = 2.0 ** -52
# Tolerance of equality, relative to the scale of V and to the width of a box. Breakpoints within it may be passed in
# any order; taking the fastest first (Harris 1973) keeps the factor well conditioned.
cdef double SHARP = 1e-12
# Gap at the end of a path, relative to the scale of V.
cdef double NO_GAP = 1e-10
# Roundings of a sum of beta that one variable may have to absorb in the nu formulations, if all others are at bounds.
cdef double LEFT_OF_SUM = 8.0
# W is summed anew once its rounding error exceeds this many times that of what still moves.
cdef double STALE = 64.0
# Share of ``most_cost`` after which the cost of a path is extrapolated.
cdef double GLIMPSE = 0.03
# Cost of a line in half nanoseconds: of itself; of an active row, and of its value in a row of the margin; of an
# element of the factor. And of a kernel value in double, for 1 + ``value_ns``. Measured on 54 changes of 10 to 1,000 of
# 5,000 and 20,000 rows of elec2 and synthetic sets of 2 to 54 features: .5 to 1.5 times the time that they took.
cdef double COST_OF_LINE = 15000.0
cdef double COST_OF_ACTIVE = 2.0
cdef double COST_OF_VALUE = 0.2
cdef double COST_OF_PAIR = 1.9
cdef double COST_OF_COMPUTED = 5.0
# Values K_:M from which shrinking is tried, and the distance that counts as far, in lengths of the path at a row's own
# initial speed, and at the root mean square of all: speeds turn, and each row that was shrunk wrongly costs a repair.
cdef double MANY_VALUES = 4e5
cdef double FAR = 5.0
cdef double FAR_AT_MEAN = 2.0


cdef class Motion:
    """Motion(state): of a state at rest; call ``begin`` and ``reset`` before anything moves.

    Attributes
    ----------
    breakpoints, steps, exchanges, repairs : int      since ``begin``: changes of sets, lines of length > 0, moves along
        a null direction, paths that repaired rounding
    work : float            since ``begin``, as ``Control`` counts it
    """

    def __cinit__(self, PathState state):
        self.state = state
        self.velocity = self.dlinear = self.dlower = self.dupper = self.W = self.dF = self.start_beta = NO_DOUBLES
        self.final_linear = None
        self.glimpse, self.many_values, self.far, self.far_at_mean = GLIMPSE, MANY_VALUES, FAR, FAR_AT_MEAN

    def begin(self, Control control, bint moves=True):
        """Reset the counts; ``control`` is asked whether to stop from now on. The state is saved if it ``moves``."""
        self.control = self.state.control = control
        self.trace = None
        self.reset_counts(INFINITY)
        if moves:
            self.state.keep_lists()

    cdef void reset_counts(self, double most_work) noexcept nogil:
        """Reset the counts for a path of at most ``most_work``."""
        self.breakpoints = self.steps = self.exchanges = self.repairs = 0
        self.work, self.most_work, self.most_cost = 0.0, most_work, INFINITY
        self.cost, self.falling_cost, self.rows_before = 0.0, 0.0, self.state.rows.rows_computed

    cdef double total_cost(self) noexcept nogil:
        """Since ``begin``: of the lines, and of the kernel rows that have been computed."""
        return self.cost + self.row_cost() * (self.state.rows.rows_computed - self.rows_before)

    cdef double line_cost(self, double active) noexcept nogil:
        """Cost of a line with the present margin, without kernel rows."""
        cdef double m = self.state.factor.size
        return COST_OF_LINE + COST_OF_ACTIVE * active + m * (COST_OF_VALUE * active + COST_OF_PAIR * m)

    cdef double row_cost(self) noexcept nogil:
        """Cost of computing a kernel row."""
        return COST_OF_COMPUTED * (1.0 + self.state.rows.value_ns) * self.state.n

    @property
    def no_gap(self):
        """``tolerance`` at the scales of the last optimum."""
        return self.tolerance()

    cdef int make_room(self) except -1:
        """Allocate arrays of the size of the state's."""
        cdef PathState s = self.state
        cdef Py_ssize_t n = s.F.shape[0], m = s.linear.shape[0]
        cdef double[::1] doubles  # one buffer, as of a PathState
        if self.velocity.shape[0] < m:
            doubles = zeros("d", 2 * n + 7 * m)
            self.near = zeros("b", n)
            self.W, self.dF, doubles = doubles[:n], doubles[n:2 * n], doubles[2 * n:]
            self.dlinear, self.dlower, doubles = doubles[:m], doubles[m:2 * m], doubles[2 * m:]
            self.dupper, self.start_beta, doubles = doubles[:m], doubles[m:2 * m], doubles[2 * m:]
            # for any number of groups; velocity comes last: its length tells that there is room
            self.relative, self.drelative, self.velocity = doubles[:m], doubles[m:2 * m], doubles[2 * m:]
        s.make_room_in_margin()
        return 0

    cdef int reset(self) except -1 nogil:
        """Stop all motion, and set the scales."""
        cdef Py_ssize_t v
        cdef int g
        cdef double largest = 0.0
        if self.velocity.shape[0] < self.state.linear.shape[0] or not self.state.has_room_in_margin():
            with gil:
                self.make_room()
        self.lost = NULL
        self.eta = self.mass = self.speed_outside = self.typical = self.blur = 0.0
        self.rounded = 0.0
        for g in range(2):
            self.wanted[g] = self.sum_residual[g] = self.dlevel[g] = 0.0
            if self.state.groups > 1:
                self.rounded = max(self.rounded, LEFT_OF_SUM * ULP * fabs(self.state.total[g]))
        if self.others_move:
            clear(self.velocity)
            clear(self.W)
        if self.linear_moves:
            clear(self.dlinear)
        if self.bounds_move:
            clear(self.dlower)
            clear(self.dupper)
        self.directed = self.bounds_move = self.linear_moves = self.others_move = False
        self.state.active = self.state.n
        for v in range(self.state.per_row * self.state.n):
            self.mass += fabs(self.state.beta[v])
            largest = max(largest, fabs(self.state.linear[v]))
            if self.state.lower[v] < self.state.beta[v] < self.state.upper[v]:
                self.typical = max(self.typical, fabs(self.state.beta[v]))
        self.scale = largest if largest > 0 else max(self.state.largest_level(), self.state.largest)
        self.sharpness = max(SHARP * self.scale, ULP * self.state.largest * self.mass)
        return 0

    cdef int tick(self, int64_t amount) except -1 nogil:
        """Count work. Raises Stopped, and what a signal handler raises."""
        self.work += amount
        return self.control.asked(amount)

    # ---- the moving set ------------------------------------------------------------------------

    cdef int need_sums(self) except -1 nogil:
        """Let each sum of beta move to its total; nothing else moves yet."""
        cdef int g
        for g in range(self.state.groups):
            self.wanted[g] = self.sum_residual[g] = self.state.sum_residual(g)
        return 0

    cdef int start_moving(self, Py_ssize_t v, double velocity) except -1 nogil:
        """Start moving a variable outside the margin."""
        self.velocity[v] = velocity
        self.speed_outside += fabs(velocity)
        if velocity != 0.0:
            self.others_move = True
            svmx_axpy(self.state.active, velocity, self.state.row(<int32_t>(v // self.state.per_row)), &self.W[0])
            self.sum_residual[self.state.group[v]] -= velocity
            self.blur += ULP * self.state.largest * fabs(velocity)
        return 0

    cdef int stop_moving(self, Py_ssize_t v) except -1 nogil:
        """Stop moving a variable outside the margin."""
        cdef double velocity = self.velocity[v]
        if velocity != 0.0:
            self.velocity[v] = 0.0
            self.speed_outside -= fabs(velocity)
            self.blur += ULP * self.state.largest * fabs(velocity)
            svmx_axpy(self.state.active, -velocity, self.state.row(<int32_t>(v // self.state.per_row)), &self.W[0])
            self.sum_residual[self.state.group[v]] += velocity
            self.resum_if_stale()
        return 0

    cdef int resum_if_stale(self) except -1 nogil:
        """Recompute W and the residuals if rounding of velocities that are gone dominates them."""
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
                svmx_axpy(self.state.active, self.velocity[v], self.state.row(<int32_t>(v // self.state.per_row)),
                          &self.W[0])
                self.sum_residual[self.state.group[v]] -= self.velocity[v]
                self.speed_outside += fabs(self.velocity[v])
        self.blur = ULP * self.state.largest * self.speed_outside
        return 0

    cdef int fix_at_bound(self, Py_ssize_t v, bint upper) except -1 nogil:
        """Fix a variable at a bound; it moves with the bound."""
        self.state.assign(v, AT_UPPER if upper else AT_LOWER)
        self.round_to(v, self.state.upper[v] if upper else self.state.lower[v])
        if self.bounds_move:
            self.start_moving(v, self.dupper[v] if upper else self.dlower[v])
        return 0

    cdef void round_to(self, Py_ssize_t v, double beta) noexcept nogil:
        """Remove the rounding of a variable's beta; F does not follow."""
        self.state.drift += self.state.largest * fabs(self.state.beta[v] - beta)
        self.state.beta[v] = beta

    # ---- the line ------------------------------------------------------------------------------

    cdef int direction(self) except -1 nogil:
        """Response of the margin, levels and F: ``dbeta`` of the state, ``dlevel``, ``dF``. (7, 10, 11)

        The level of a group without members stays. With a ridge, V of the margin drifts from its level; ``pull`` leads
        it back by eta = 1.
        """
        cdef Py_ssize_t k, m = self.state.factor.size
        cdef Py_ssize_t v, p
        cdef double t, largest = 0.0, pull = 0.0
        cdef double *x = &self.state.dbeta[0]
        self.speed, self.typical = self.speed_outside, 0.0
        if self.state.ridge > 0.0 and self.eta < 1.0:
            pull = 1.0 / (1.0 - self.eta)
        for k in range(m):
            v = self.state.member[k]
            p = v // self.state.per_row
            x[k] = self.dlinear[v] - self.W[p]
            if pull > 0.0:
                x[k] += pull * (self.state.linear[v] - self.state.F[p] - self.state.level[self.state.group[v]])
            largest = max(largest, fabs(x[k]))
        self.solve_margin()
        for k in range(m):
            self.speed += fabs(x[k])
            self.typical = max(self.typical, fabs(self.state.beta[self.state.member[k]]))
        memcpy(&self.dF[0], &self.W[0], self.state.active * sizeof(double))
        add_margin_rows(self.state, x, self.state.active, &self.dF[0])
        self.slowest = 16 * ULP * (self.state.largest * self.speed + largest)
        if self.state.ridge > 0.0:
            return 0
        for k in range(m):  # any other motion of V of the margin is rounding
            t = (self.dlinear[self.state.member[k]] - self.dF[self.state.member[k] // self.state.per_row]
                 - self.dlevel[self.state.group[self.state.member[k]]])
            self.slowest = max(self.slowest, 4 * fabs(t))
        return 0

    cdef void solve_margin(self) noexcept nogil:
        """``dbeta`` and ``dlevel`` from the right-hand side in ``dbeta``, with e_g = 1 in group g:

            d beta_M = K'^-1 (rhs - t_0 e_0 - t_1 e_1),   e_g'd beta_M = sum_residual_g

        with S t = s, S_gh = e_g'K'^-1 e_h positive definite if both groups have members; t_g = 0 for a group without.
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
        if self.state.groups > 1:
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
        """Move everything by ``step`` in eta."""
        cdef Py_ssize_t k, m = self.state.per_row * self.state.active
        if step == 0.0:
            return
        for k in range(self.state.factor.size):
            self.state.beta[self.state.member[k]] += step * self.state.dbeta[k]
        if self.others_move:
            svmx_axpy(m, step, &self.velocity[0], &self.state.beta[0])
        if self.linear_moves:
            svmx_axpy(m, step, &self.dlinear[0], &self.state.linear[0])
        if self.bounds_move:
            svmx_axpy(m, step, &self.dlower[0], &self.state.lower[0])
            svmx_axpy(m, step, &self.dupper[0], &self.state.upper[0])
        svmx_axpy(self.state.active, step, &self.dF[0], &self.state.F[0])
        for k in range(self.state.groups):
            self.state.level[k] = self.state.level[k] + step * self.dlevel[k]
        self.eta += step
        self.state.drift += step * (ULP * self.state.largest * self.speed + self.blur)

    # ---- tolerances ----------------------------------------------------------------------------

    cdef double near_bound(self, Py_ssize_t v) noexcept nogil:
        """Distance within which a variable is at a bound: relative to the width of the box, or to the size of beta if
        that is much less."""
        return bound_tolerance(self, self.state, v)

    cdef bint is_free(self, Py_ssize_t v) noexcept nogil:
        """Whether a variable is inside its box by more than ``near_bound``."""
        return bound_state(self.state.beta[v], self.state.lower[v], self.state.upper[v], self.near_bound(v)) == FREE

    cdef double tolerance(self) noexcept nogil:
        """The gap that counts as 0."""
        return max(NO_GAP * self.scale, 16 * self.sharpness)


cdef void clear(double[::1] values) noexcept nogil:
    memset(&values[0], 0, values.shape[0] * sizeof(double))


# ---- The next breakpoint ---------------------------------------------------------------------------
#
cdef inline double bound_tolerance(Motion motion, PathState s, Py_ssize_t v) noexcept nogil:
    """``near_bound``: of min(width, max(``typical``, scale / K))."""
    cdef double width = s.upper[v] - s.lower[v], K = s.diagonal[v // s.per_row]
    if K * width > motion.scale:  # a division costs as much as all else, for each member and line
        width = min(width, motion.typical if K * motion.typical >= motion.scale else motion.scale / K)
    return max(motion.rounded, SHARP * width)


cdef Py_ssize_t next_breakpoint(Motion motion, PathState s, double *step) noexcept nogil:
    """The variable that ends the line, and the length ``step`` to it: AT_END for eta = 1, another negative number if
    none is found.

    Harris' ratio test, two passes over all variables: the largest step with each overshooting by at most its tolerance,
    and the fastest variable met within it.
    """
    cdef svmx_waiting waiting
    cdef Py_ssize_t k, v, first, m = s.per_row * s.active
    cdef double distance = 0.0, speed, near, nearest = 1.0 - motion.eta, fastest = motion.slowest, length = 0.0
    step[0] = nearest
    for k in range(s.factor.size):
        near = bound_tolerance(motion, s, s.member[k])
        speed = approach_speed(motion, s, k, near, &distance)
        if speed > 0 and distance + near < nearest * speed:
            nearest = (distance + near) / speed
        s.null[k], s.column[k] = speed, distance  # scratch
    waiting.n, waiting.per_row, waiting.side = m, s.per_row, &s.side[0]
    waiting.linear, waiting.F, waiting.level = &s.linear[0], &s.F[0], s.level[0]
    waiting.dlinear, waiting.dF, waiting.dlevel = &motion.dlinear[0], &motion.dF[0], motion.dlevel[0]
    if s.groups > 1:
        subtract_levels(motion, s)
        waiting.linear, waiting.level = &motion.relative[0], 0.0
        waiting.dlinear, waiting.dlevel = &motion.drelative[0], 0.0
    nearest = svmx_nearest(&waiting, motion.sharpness, motion.slowest, nearest)
    if nearest == step[0]:
        return AT_END
    first = svmx_fastest(&waiting, nearest, &fastest, &length)
    step[0] = length
    # speeds of V and of beta are compared in units of their tolerances
    fastest = fastest / motion.sharpness if first >= 0 else 0.0
    for k in range(s.factor.size):
        speed, distance = s.null[k], s.column[k]
        if speed > 0.0 and distance <= nearest * speed:
            v = s.member[k]
            near = bound_tolerance(motion, s, v)
            if speed > fastest * near:
                first, fastest, step[0] = v, speed / near, distance / speed
    return first


cdef void subtract_levels(Motion motion, PathState s) noexcept nogil:
    """Subtract the level of each group from the linear term; variables of a group without members meet nothing."""
    cdef Py_ssize_t v
    cdef int g
    cdef bint empty[2]
    for g in range(2):
        empty[g] = s.is_empty(g)
    for v in range(s.per_row * s.active):
        g = s.group[v]
        motion.relative[v] = s.linear[v] - s.level[g]
        motion.drelative[v] = motion.dF[v // s.per_row] if empty[g] else motion.dlinear[v] - motion.dlevel[g]


cdef inline double approach_speed(Motion motion, PathState s, Py_ssize_t k, double slow,
                                  double *distance) noexcept nogil:
    """Speed of member k of the margin towards a bound, 0 up to ``slow``, and its ``distance``."""
    cdef Py_ssize_t v = s.member[k]
    cdef double up = s.dbeta[k] - motion.dupper[v], down = motion.dlower[v] - s.dbeta[k]
    cdef double above = max(s.upper[v] - s.beta[v], 0.0), below = max(s.beta[v] - s.lower[v], 0.0)
    # a shrinking box can be met on both sides: the first counts
    if up > slow and (down <= slow or above * down < below * up):
        distance[0] = above
        return up
    distance[0] = below
    return down if down > slow else 0.0
