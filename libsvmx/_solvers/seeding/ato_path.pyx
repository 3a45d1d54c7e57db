"""ATO, adjusting alpha towards its optimum (Wen et al. 2017, eqs. 4-11, algorithm 1; Karasuyama & Takeuchi 2009).

With eta from 0 to 1 the beta of R fall to 0, those of T that violate optimality move to their bounds, and the variables
on the margin M answer such that their V stays at its level and the sums reach those of the new fold. Per unit of eta,

    d beta_R = -beta_R,   d beta_T = their bound,   W = K_:T d beta_T + K_:R d beta_R                           (7)
    [0   E   ] [d level ]   [what the sums lack - sums of d beta_T and d beta_R]
    [E'  K_MM] [d beta_M] = [-W_M                                              ]                                (8-10)
    dV = -K_:M d beta_M - W                                                                                     (11)

where E has a row for each sum, with 1 for the variables that count in it. A straight line ends at a breakpoint: where a
variable of M meets a bound, where one at its bound or in T meets the level, or at eta = 1, where R is empty.

Departs from the paper:

* The level (the paper's -b) moves, as in Karasuyama & Takeuchi's (7). The paper keeps f on the margin as it is (9), so
  its matrix (10) has one row more than columns, and in general only a pseudo-inverse.
* The paper's path has no limits. Here M and its kernel values have limits, and the path may take less work than the
  solver would without it (below): the first fold that is seeded, and later ones while paths do not pay, start
  as SIR has it. Where a path meets a limit, the rest of R goes at once, M answers as if no bound were in its way, and
  AdjustAlpha repairs what is not feasible.
* Rows far from their level take part in the first line and the last values alone, unless M comes to be empty. Those
  that a path has passed, and those that the solver left violating up to its tolerance, are brought in by further
  paths, on which they alone move.
* V of the margin goes to its level meanwhile, where the paper leaves it as the solver had it, equal to its tolerance.
* A ridge on K_MM (as Karasuyama & Takeuchi have it) keeps rows that come twice from making it singular. The paper
  inverts it as it is, or takes a pseudo-inverse.
* A variable of M that meets its bound ends a line, too; the paper takes the step from rows off the margin alone.
* Where no variable of a group is on the margin, which the paper leaves open, the level moves to the first variable that
  can take what the sum lacks; if it lacks nothing, eta grows until the interval that the level is free in is a point.
* The paper's eta is the share of what is left, ours counts from the beginning: the lines are the same.

Lines and their ends are those of every path (_solvers/path). To that engine a fold is the state of an optimum,
V = linear - K beta, where R has none of beta and

* what K_:R beta_R took from V is in the linear term, and goes as that moves:  d linear = K_:R beta_R            (7)
* T grows or falls to its other bound, JOINING;
* M and the levels answer, and each sum comes to what it is in the fold                                       (8-11)

    [0   E   ] [d level ]   [what the sums lack - sums of d beta_T]
    [E'  K_MM] [d beta_M] = [d linear_M - K_MT d beta_T           ],    dV = d linear - K_:T d beta_T - K_:M d beta_M

on the kernel values in float that the solver has. What makes it fast, where an optimum within eps is all that is asked:
a ridge on K_MM, so that nothing is exchanged; rows that are FAR are always shrunk; a path that takes too long is given
up; and in a chain the factor of K_MM goes on from fold to fold.
"""

cimport cython
from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t
from libc.string cimport memset

from libsvmx._core.smo_steps cimport svmx_axpy_at
from libsvmx._kernels.sharedrows cimport DoubleRows
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.following cimport WHOLE, append_or_exchange, go, shrink_if_many, unshrink
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, JOINING, LEAVING, MARGIN, PathState, border_margin
from libsvmx._solvers.seeding.fold_change cimport ComputedRows, FoldChange, FoldStart, StartRows, add_known, describe

from libsvmx._core.buffers import zeros


# ---- How much work a start is worth ----------------------------------------------------------------
#
# In a chain a start has to beat what a fold takes from nothing, by ato what it takes from a start as SIR has it, which costs
# next to nothing: the first fold that is seeded has one. After a start that did not, one fold, then two, four … go without.
# So those that do not pay are few, and ATO takes little more than SIR where its path is long.

# Of the work of a solve without it, what a path may take.
cdef double PATH_SHARE = 0.8
# What a path works on takes longer than what SMO does: each line reads the factor twice. Measured on folds of 200 to 1,600
# rows, where a value took 0.13 to 0.2 ns in SMO and 0.2 to 0.3 ns on a path.
cdef double COST_OF_A_VALUE = 1.6
# What it takes besides, in values that SMO works on. Measured on 4,500 folds of stars of 30 to 860 rows, where SMO took
# 0.25 ns for a value, a path 1.0 ns, 1.5 us for a line and 9 us besides.
cdef double COST_BESIDES = 36e3
# In a chain of fewer folds a path that does not pay would cost too much of the whole: the first must pay sooner.
cdef double MANY_FOLDS = 40.0

# In a star, where folds do not know of each other, what a path may take is a part of the time of a solve from nothing.
cdef double STAR_SHARE = 0.8
# There each path begins with a factor and rows of its own, and takes more for a value, and something for each line. Measured
# as above.
cdef double COST_IN_A_STAR = 4.0
cdef double COST_OF_A_LINE = 6e3
# There auto tries it where such a solve takes so many steps for each variable (else seeds save less, and a path as much),
cdef double MANY_STEPS = 3.0
# and where it is expected to take no more than this part of its time.
cdef double EXPECTED_SHARE = 0.6
# Lines of such a path, for each row with a coefficient that leaves, and besides; and the part of all variables that lines
# are followed for. Measured on folds of 30 to 1,600 rows, a tenth and a hundredth of all.
cdef double LINES_OF_A_ROW = 1.25
cdef double LINES_BESIDES = 5.0
cdef double NEAR_SHARE = 0.6


cpdef double most_in_star(double from_nothing) noexcept nogil:
    """What a path that was asked for may take in a star."""
    return STAR_SHARE / COST_IN_A_STAR * from_nothing


cdef double most_of_auto(double from_nothing, double steps, double m, double margin, double leaving) noexcept nogil:
    """The same where auto may try one; 0: it had better not.

    A solve from nothing takes ``steps`` for each of the m variables, if that is known (else HUGE_VAL); ``margin`` of them
    are within their bounds, and ``leaving`` rows with a coefficient leave.
    """
    cdef double a_line = margin * (margin + NEAR_SHARE * m)
    cdef double lines = LINES_BESIDES + LINES_OF_A_ROW * leaving
    cdef double expected = COST_IN_A_STAR * (margin ** 3 / 6 + lines * a_line) + COST_OF_A_LINE * lines + COST_BESIDES
    if from_nothing == HUGE_VAL or steps < MANY_STEPS or expected > EXPECTED_SHARE * from_nothing:
        return 0.0
    return most_in_star(from_nothing)


@cython.final
cdef class StartBudget:
    """StartBudget(by_path, n_folds): of a chain of about so many folds; ``by_path``: starts are those of ato. Work is in
    values, as ``Control`` counts it."""

    def __cinit__(self, bint by_path, double n_folds=MANY_FOLDS):
        self.by_path = by_path
        self.start(n_folds)

    cdef void start(self, double n_folds) noexcept nogil:
        """A new chain."""
        self.to_beat, self.scale, self.wait, self.next_wait = -1.0, min(1.0, n_folds / MANY_FOLDS), 0, 1

    cpdef double most(self, double from_nothing) noexcept nogil:
        """What the start of the next fold may take; 0: it is to go without. ``from_nothing``: work of a fold from nothing."""
        if self.wait > 0 or (self.by_path and self.to_beat < 0):
            return 0.0
        if not self.by_path:
            return from_nothing
        return max(0.0, PATH_SHARE * self.scale * min(self.to_beat, from_nothing) - COST_BESIDES) / COST_OF_A_VALUE

    cpdef void note(self, bint tried, bint whole, double start_work, double solve_work) noexcept nogil:
        """A fold is solved, after a start that has to pay if ``tried``; ``whole``: its path came to its end."""
        cdef double work = solve_work
        if tried:
            work += COST_OF_A_VALUE * start_work + COST_BESIDES if self.by_path else start_work
        if not tried:
            self.to_beat = 0.5 * (work + self.to_beat) if self.by_path and self.to_beat >= 0 else work
            self.wait = max(0, self.wait - 1)
        elif whole and (work <= self.to_beat or self.to_beat < 0):
            self.scale, self.next_wait = min(1.0, 2.0 * self.scale), 1
        else:
            self.wait, self.next_wait = self.next_wait, min(64, 2 * self.next_wait)


# ---- The path of ATO -------------------------------------------------------------------------------

# Added to the diagonal of K_MM, relative to its mean: rows that come twice leave it regular (Karasuyama & Takeuchi).
cdef double RIDGE = 1e-6
# Variables on the margin; values of them with all others (128 MB).
cdef Py_ssize_t MOST_MARGIN = 2000
cdef Py_ssize_t MOST_VALUES = 1 << 24
# Of the sum of |beta|: differences of the sums that come from rounding.
cdef double SAME_SUM = 1e-10
# How far is far: of the length of the path.
cdef double FAR = 3.0
# The share of the work that a path may take after which what it has come to tells how much it would take.
cdef double GLIMPSE = 1.0
# Times that what is found violating at the end of a path is brought in by another one, where kernel rows of M, so many
# times, are less than the work that the path may take.
cdef int MOST_MENDS = 4
cdef double WORTH_A_MEND = 20.0
# A factor of which more than this share has left is made anew.
cdef double CHANGED = 0.25
# Of the width of the bounds: what solving a linear system leaves of a value that is at one of them.
cdef double ROUNDING = 1e-13


cdef class FloatRows(DoubleRows):
    """FloatRows(budget_bytes): rows in float of ``source`` in the order of a path. ``target`` is the column of each."""

    cdef void begin(self, Py_ssize_t n) noexcept nogil:
        """Of n other rows; ``target`` of them must follow."""
        self.cut(0)
        self.n, self.in_order = n, False

    cdef int compute(self, int32_t p, double *out) except -1 nogil:
        cdef const float *K = self.source.row(self.target[p])
        memset(out, 0, self.n * sizeof(double))
        svmx_axpy_at(self.n, 1.0, K, &self.target[0], out)
        return 0


cdef class AtoPath:
    """AtoPath(): memory for paths, one after the other, by ``follow``.

    Attributes
    ----------
    work : float            values that the last path has worked on
    whole : bool            whether it came to its end, before what was mended
    """

    def __cinit__(self):
        self.rows = FloatRows(8.0 * MOST_VALUES)
        self.state = PathState(1, 0.0)
        self.state.rows = self.rows
        self.motion = Motion(self.state)
        self.motion.glimpse, self.motion.many_values, self.motion.far = GLIMPSE, 0.0, FAR
        self.row_of, self.member_key, self.violating = zeros("i", 0), zeros("i", 0), zeros("b", 0)

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns) except -1:
        """Memory for folds of so many variables over so many rows."""
        if self.row_of.shape[0] < 2 * columns:
            self.row_of = zeros("i", 2 * columns)
        if self.member_key.shape[0] < m:
            self.state.make_room(m)
            self.rows.make_room(m)
            self.motion.make_room()
            self.member_key, self.violating = zeros("i", m), zeros("b", m)
        return 0

    cdef int bind(self, StartRows rows, Control control) except -1:
        """Whose kernel rows the folds to come have, and who is asked on their way."""
        self.rows.source, self.state.control, self.motion.control = rows, control, control
        return 0

    cdef int forget(self) noexcept nogil:
        """The next fold has nothing of the last one's factor."""
        self.state.factor.size = 0
        return 0

    cdef bint follow(self, FoldStart *at, StartRows rows, Control control, double most_work,
                     double *scores) except -1 nogil:
        """The path from the optimum, to its end or as far as ``most_work`` allows: then the rest of R goes at once, and
        M answers as if no bound were in its way. There must be room. ``scores`` (m,) becomes V at its end.

        False, with beta and ``scores`` as they were, where nothing moves, or M is too large, or depends on itself.
        """
        cdef Py_ssize_t v
        cdef int again, g
        cdef bint going, moves = False
        cdef double cost, size = 0.0
        for v in range(at.m):
            moves = moves or at.leaving[v] != 0 or at.entering[v] > 0
            size += fabs(at.beta[v])
        for g in range(at.groups):
            moves = moves or fabs(at.missing[g]) > SAME_SUM * size
        if not moves:
            return False
        if self.rows.source is not rows or self.motion.control is not control:
            with gil:
                self.bind(rows, control)
        if not self.begin(self.state, at, most_work):
            return False
        self.whole = going = self.walk(self.state)
        for again in range(MOST_MENDS):
            cost = WORTH_A_MEND * self.state.factor.size * at.m
            if not going or cost > most_work or self.motion.work + cost > most_work or not self.mend(self.state):
                break
            going = self.walk(self.state)
        self.finish(self.state, at, scores)
        self.work = self.motion.work
        return True

    # ---- where it begins -----------------------------------------------------------------------

    cdef bint begin(self, PathState s, FoldStart *at, double most_work) except -1 nogil:
        """At rest, with what moves on the way; False where there is no path."""
        cdef Py_ssize_t q
        cdef int g
        self.motion.reset_counts(most_work)
        if not self.keep_factor(s, self.load(s, at), most_work):
            return False
        for q in range(s.n):
            s.diagonal[q] = s.shift  # as good as any
        s.largest = s.shift
        self.motion.reset()
        for g in range(s.groups):
            self.motion.wanted[g] = self.motion.sum_residual[g] = at.missing[g]
        self.motion.linear_moves = True
        for q in range(s.n):
            self.motion.dlinear[q] = at.leaving[s.tag[q]]
        for q in range(s.n):
            if at.entering[s.tag[q]] > 0:
                self.send(s, q)
        return True

    cdef Py_ssize_t load(self, PathState s, FoldStart *at) noexcept nogil:
        """The variables become those of the state; returns how many are within their bounds."""
        cdef Py_ssize_t q, n_inside = 0
        self.rows.begin(at.m)
        self.n_rows, s.groups, s.n, s.active = at.n_rows, at.groups, at.m, at.m
        s.level[0], s.level[1], s.total[0], s.total[1] = at.level[0], at.level[1], at.missing[0], at.missing[1]
        for q in range(at.m):
            s.tag[q], s.group[q], s.place[q], self.rows.target[q] = q, at.group[q], -1, at.column[q]
            s.lower[q], s.upper[q], s.beta[q], s.linear[q], s.F[q] = at.lower[q], at.upper[q], at.beta[q], at.V[q], 0.0
            s.total[s.group[q]] += s.beta[q]
            if not s.lower[q] < s.upper[q]:
                s.assign(q, LEAVING)  # it has left
            elif s.is_inside(q):
                s.assign(q, MARGIN)
                n_inside += 1
            else:
                s.assign_bound(q)
        return n_inside

    cdef bint keep_factor(self, PathState s, Py_ssize_t n, double most_work) except -1 nogil:
        """The factor of M, n variables: that of the fold before, less what is not of M any more, and with what has come
        to it. False where M is singular, too large, or takes more than ``most_work``."""
        cdef Py_ssize_t k, q, n_kept = 0
        cdef double diagonal = 0.0
        if n > MOST_MARGIN or n * s.n > MOST_VALUES:
            return False
        if s.factor.size:
            for k in range(self.row_of.shape[0]):
                self.row_of[k] = -1
            for q in range(s.n):
                self.row_of[self.key_of(s, q)] = <int32_t>q
            for k in range(s.factor.size):
                q = self.row_of[self.member_key[k]]
                s.member[k] = <int32_t>q if q >= 0 and s.where[q] == MARGIN else -1
                n_kept += s.member[k] >= 0
            if s.factor.size - n_kept > CHANGED * s.factor.size:
                self.forget()
        for k in range(s.factor.size - 1, -1, -1):
            if s.member[k] < 0:
                self.motion.tick((s.factor.size - k) * (s.factor.size - k))
                s.factor.remove(k)
                for q in range(k, s.factor.size):
                    s.member[q] = s.member[q + 1]
        for k in range(s.factor.size):
            s.place[s.member[k]] = <int32_t>k
            s.rows.pin(s.member[k])
        self.motion.tick(2 * n * s.n)
        if s.factor.size == 0 and <double>n ** 3 / 6 > most_work:
            return False
        if self.motion.work + n * <double>n > most_work:
            self.forget()
            return False
        if s.factor.size == 0:
            for q in range(s.n):
                if s.where[q] == MARGIN:
                    diagonal += fabs(s.row(<int32_t>q)[q])
            if n == 0:
                diagonal = fabs(s.row(0)[0])
            s.shift = diagonal / max(n, 1) if diagonal > 0 else 1.0
            s.ridge = RIDGE * s.shift
        self.motion.lost = NULL
        for q in range(s.n):
            if s.where[q] == MARGIN and s.place[q] < 0:
                append_or_exchange(self.motion, s, q, border_margin(s, q), 1.0)
                if self.motion.lost != NULL:
                    self.forget()
                    return False
                self.motion.control.asked(s.factor.size * s.factor.size)
        return True

    cdef int32_t key_of(self, PathState s, Py_ssize_t q) noexcept nogil:
        """What a variable is known by from fold to fold: its column, and which of two of it."""
        return self.rows.target[q] + (<int32_t>(self.row_of.shape[0] // 2) if s.tag[q] >= self.n_rows else 0)

    cdef int send(self, PathState s, Py_ssize_t q) except -1 nogil:
        """A variable sets out for its other bound."""
        cdef double velocity = (s.upper[q] if s.beta[q] <= s.lower[q] else s.lower[q]) - s.beta[q]
        s.assign(q, JOINING)
        s.side[q] = -1.0 if velocity > 0 else 1.0
        self.motion.tick(2 * s.n)
        return self.motion.start_moving(q, velocity)

    # ---- on the way ----------------------------------------------------------------------------

    cdef bint walk(self, PathState s) except -1 nogil:
        """To the end of the path, or as far as it leads, and the rest at once; whether it came to its end."""
        cdef Py_ssize_t q
        cdef int end
        self.motion.mass += self.motion.speed_outside
        shrink_if_many(self.motion, s)
        end = go(self.motion, s)
        for q in range(s.active):
            if s.where[q] == JOINING and end == WHOLE:
                # exactly: a row that is at C but for rounding counts as one that can still grow
                self.motion.fix_at_bound(q, self.motion.velocity[q] > 0)
            elif s.where[q] == JOINING:
                self.motion.stop_moving(q)
        if end != WHOLE and s.factor.size:
            self.motion.direction()
        if end != WHOLE:
            self.motion.advance(max(1.0 - self.motion.eta, 0.0))
        return end == WHOLE

    cdef bint mend(self, PathState s) except -1 nogil:
        """Variables that were far, and passed, and those that the solver has left at the wrong bound, set out; False if
        there is none."""
        cdef Py_ssize_t q
        cdef double above, eps = 0.5 * self.motion.control.eps
        cdef bint found = False
        unshrink(self.motion, s)
        for q in range(s.n):
            above = s.linear[q] - s.F[q] - s.level[s.group[q]]
            self.violating[q] = (s.where[q] == AT_LOWER and above > eps) or (s.where[q] == AT_UPPER and -above > eps)
            found = found or self.violating[q]
        if not found:
            return False
        self.motion.reset()
        self.motion.need_sums()
        for q in range(s.n):
            if self.violating[q]:
                self.send(s, q)
        return True

    # ---- where it ends -------------------------------------------------------------------------

    cdef int finish(self, PathState s, FoldStart *at, double *scores) except -1 nogil:
        """All within their bounds, beta and V to the fold; what the next one may keep of the factor."""
        cdef Py_ssize_t k, q
        cdef double slack
        unshrink(self.motion, s)
        for q in range(s.n):
            slack = ROUNDING * (s.upper[q] - s.lower[q])
            if not s.beta[q] < s.upper[q] - slack:
                s.set_beta(q, s.upper[q])
            elif not s.beta[q] > s.lower[q] + slack:
                s.set_beta(q, s.lower[q])
        for q in range(s.n):
            at.beta[s.tag[q]], scores[s.tag[q]] = s.beta[q], s.linear[q] - s.F[q]
        for k in range(s.factor.size):
            self.member_key[k] = self.key_of(s, s.member[k])
        return 0


def first_line(FoldChange change):
    """(velocity and d beta of all variables, d level of each group, dV, ridge) on the first line of the path; None
    without one. For tests."""
    cdef FoldStart *at = change.begin()
    cdef ComputedRows rows = change.rows()
    cdef AtoPath path = AtoPath()
    cdef PathState s = path.state
    cdef double[::1] leaving = zeros("d", change.size)
    cdef const float *K
    cdef Py_ssize_t q
    path.reserve(change.size, change.kernel.n)
    path.bind(rows, change.control)
    describe(at, change.control.eps)
    at.leaving = &leaving[0]
    for q in range(at.n_left):
        K = rows.row(at.left_column[q])
        add_known(at, &K, 1, &at.left_beta[q], &leaving[0])
    if not path.begin(s, at, change.most_work):
        return None
    moves, dV = [0.0] * change.size, [0.0] * change.size
    path.motion.direction()
    for q in range(s.n):
        moves[s.tag[q]] = s.dbeta[s.place[q]] if s.place[q] >= 0 else path.motion.velocity[q]
        dV[s.tag[q]] = path.motion.dlinear[q] - path.motion.dF[q]
    return moves, [path.motion.dlevel[q] for q in range(s.groups)], dV, s.ridge
