"""ATO, adjusting alpha towards its optimum (Wen et al. 2017, eqs. 4-11, algorithm 1; Karasuyama & Takeuchi 2009).

As eta goes from 0 to 1, the beta of R fall to 0, those of T that violate optimality move to their bounds, and those of
the margin M change so that their V stays at its level and the sums reach those of the new fold. Per unit of eta,

    d beta_R = -beta_R,   d beta_T = their bound,   W = K_:T d beta_T + K_:R d beta_R                           (7)
    [0   E   ] [d level ]   [missing - sums of d beta_T and d beta_R]
    [E'  K_MM] [d beta_M] = [-W_M                                   ]                                           (8-10)
    dV = -K_:M d beta_M - W                                                                                     (11)

where E has a row per group, with 1 for its variables, and missing is the required change of the sums. A line ends at a
breakpoint: a variable of M meets a bound, one at its bound or in T meets the level, or eta = 1, where R is empty.

Departs from the paper:

* The level (the paper's -b) moves, as in Karasuyama & Takeuchi's (7). The paper keeps f on the margin as it is (9), so
  its matrix (10) has one row more than columns, and in general only a pseudo-inverse.
* The paper's path has no limits. Here M and its kernel values are limited (below), and the work of a path to that of a
  cold start; folds where a path is not expected to pay (paying.pyx) start as in SIR, or cold. If a path reaches a
  limit, the rest of R is removed in one step, ignoring the bounds of M, and AdjustAlpha makes the start feasible.
* Rows far from their level are updated only for the first line and at the end, unless M becomes empty. Those that
  crossed the level meanwhile, and those that the solver left violating within its tolerance, are corrected by further
  paths, on which they alone move.
* V of the margin moves to its level; the paper leaves it as the solver did, equal to its tolerance.
* A ridge on K_MM (as in Karasuyama & Takeuchi) keeps it regular with duplicate rows; the paper inverts it as it is, or
  takes a pseudo-inverse.
* A variable of M that meets its bound ends a line; the paper's step depends only on rows off the margin.
* If no variable of a group is on the margin, a case not in the paper, the level moves to the first variable that can
  take what is missing; if nothing is, eta grows until the interval of possible levels is a point.
* The paper's eta falls from 1, ours rises from 0: the lines are the same.

The engine of all paths (_solvers/path) follows the lines. There a fold is the state of an optimum, V = linear - K beta,
where beta_R = 0 and

* the contribution of beta_R to V is in the linear term, and fades with eta:  d linear = K_:R beta_R               (7)
* T moves to its other bound, as JOINING;
* M and the levels follow, and each sum reaches that of the fold                                               (8-11)

    [0   E   ] [d level ]   [missing - sums of d beta_T ]
    [E'  K_MM] [d beta_M] = [d linear_M - K_MT d beta_T ],    dV = d linear - K_:T d beta_T - K_:M d beta_M

with the solver's kernel values in float. As an optimum within eps is enough, it is fast: with a ridge on K_MM no
exchange is needed; FAR rows are always shrunk; long paths are given up; a chain keeps the factor of K_MM between folds, and
those of a star begin with that of the optimum over all rows.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.doublerows cimport DoubleRows
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._solvers.path.following cimport WHOLE, append_or_exchange, go, shrink_if_many, unshrink
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, JOINING, LEAVING, MARGIN, PathState, border_margin
from libsvmx._solvers.seeding.fold_change cimport FoldChange, FoldStart, add_known, describe

from libsvmx._core.buffers import zeros


# ---- The path of ATO -------------------------------------------------------------------------------

# Added to the diagonal of K_MM, relative to its mean: keeps it regular with duplicate rows (Karasuyama & Takeuchi).
cdef double RIDGE = 1e-6
# Variables on the margin at most; kernel values of them with all variables (128 MB).
cdef Py_ssize_t MOST_MARGIN = 2000
cdef Py_ssize_t MOST_VALUES = 1 << 24
# Rounding of the sums, relative to the sum of |beta|.
cdef double SAME_SUM = 1e-10
# A row is FAR beyond this multiple of the length of the path.
cdef double FAR = 3.0
# Share of the allowed work after which a path's total work is extrapolated.
cdef double GLIMPSE = 1.0
# Further paths that correct violations at the end of a path, at most; each needs allowed work of at least this many
# times the kernel rows of M.
cdef int MOST_MENDS = 4
cdef double WORTH_A_MEND = 20.0
# A factor is rebuilt if more than this share of its variables has left M.
cdef double CHANGED = 0.25
# A value this near a bound, relative to the width of the box, is at it: rounding of the linear system.
cdef double ROUNDING = 1e-13


cdef class AtoPath:
    """AtoPath(): follows paths one at a time, with memory allocated by ``reserve``.

    Attributes
    ----------
    values, lines : float   of the last path, its work
    """

    def __cinit__(self):
        self.rows = DoubleRows(8.0 * MOST_VALUES)
        self.state = PathState(1, 0.0)
        self.state.rows = self.rows
        self.motion = Motion(self.state)
        self.motion.glimpse, self.motion.many_values, self.motion.far, self.motion.far_at_mean = GLIMPSE, 0.0, FAR, 0.0
        self.row_of, self.member_key, self.shared_key = zeros("i", 0), zeros("i", 0), zeros("i", 0)
        self.violating = zeros("b", 0)
        self.shared = Cholesky()

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns) except -1:
        """Allocate for folds of up to m variables over ``columns`` rows."""
        if self.row_of.shape[0] < 2 * columns:
            self.row_of = zeros("i", 2 * columns)
        if self.member_key.shape[0] < m:
            self.state.make_room(m)
            self.rows.make_room(m)
            self.motion.make_room()
            self.member_key, self.shared_key, self.violating = zeros("i", m), zeros("i", m), zeros("b", m)
        return 0

    cdef int bind(self, SharedRows rows, Control control) except -1:
        """Set the kernel rows and the Control of the next folds."""
        self.rows.source, self.state.control, self.motion.control = rows, control, control
        return 0

    cdef int forget(self) noexcept nogil:
        """Drop the factor of the last fold."""
        self.state.factor.size = 0
        return 0

    cdef int share(self, const int32_t *column, Py_ssize_t n, Py_ssize_t n_first, SharedRows rows,
                   Control control) except -1 nogil:
        """Make the factor that the folds of a star begin with: that of the margin of the optimum over all rows, n
        variables, of which ``n_first`` come first and the others are second ones of their rows. None if it is too large
        or singular."""
        self.shared.size = 0
        if 0 < n <= self.member_key.shape[0]:
            self.attach(rows, control)
            self.factor(self.state, column, n, n_first)
        return 0

    cdef int factor(self, PathState s, const int32_t *column, Py_ssize_t n, Py_ssize_t n_first) except -1 nogil:
        """``share``."""
        cdef Py_ssize_t q
        self.forget()
        self.motion.reset_counts(HUGE_VAL)
        self.rows.begin(n)
        self.n_rows, s.groups, s.n, s.active = n_first, 1, n, n
        for q in range(n):
            s.tag[q], s.group[q], s.place[q], self.rows.target[q] = q, 0, -1, column[q]
            s.assign(q, MARGIN)
        if self.keep_factor(s, n, HUGE_VAL):
            self.keep_keys(s)
            self.shared.take(s.factor)
            memcpy(&self.shared_key[0], &self.member_key[0], self.shared.size * sizeof(int32_t))
            self.shared_shift, self.shared_ridge = s.shift, s.ridge
        return 0

    cdef int begin_shared(self) except -1 nogil:
        """Begin the next fold with the factor of ``share``."""
        self.state.factor.take(self.shared)
        memcpy(&self.member_key[0], &self.shared_key[0], self.shared.size * sizeof(int32_t))
        self.state.shift, self.state.ridge = self.shared_shift, self.shared_ridge
        return 0

    cdef int attach(self, SharedRows rows, Control control) except -1 nogil:
        """``bind``, where they are others."""
        if self.rows.source is not rows or self.motion.control is not control:
            with gil:
                self.bind(rows, control)
        return 0

    cdef void keep_keys(self, PathState s) noexcept nogil:
        """Keep the keys of the factor."""
        cdef Py_ssize_t k
        for k in range(s.factor.size):
            self.member_key[k] = self.key_of(s, s.member[k])

    cdef bint follow(self, FoldStart *at, SharedRows rows, Control control, double most_work,
                     double *scores) except -1 nogil:
        """Follow the path from the optimum to its end, or until ``most_work``: then the rest of R is removed in one
        step, ignoring the bounds of M. ``scores`` (m,) becomes V at its end. Needs ``reserve``.

        False, with beta and ``scores`` unchanged, if nothing moves, or M is too large or singular.
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
        self.attach(rows, control)
        if not self.begin(self.state, at, most_work):
            return False
        going = self.walk(self.state)
        for again in range(MOST_MENDS):
            cost = WORTH_A_MEND * self.state.factor.size * at.m
            if not going or cost > most_work or self.motion.work + cost > most_work or not self.mend(self.state):
                break
            going = self.walk(self.state)
        self.finish(self.state, at, scores)
        self.values, self.lines = self.motion.work, <double>self.motion.breakpoints
        return True

    # ---- setup ---------------------------------------------------------------------------------

    cdef bint begin(self, PathState s, FoldStart *at, double most_work) except -1 nogil:
        """Set the state and the velocities of the path; False if there is none."""
        cdef Py_ssize_t q
        cdef int g
        self.motion.reset_counts(most_work)
        if not self.keep_factor(s, self.load(s, at), most_work):
            return False
        for q in range(s.n):
            s.diagonal[q] = s.shift  # any value does
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
        """Load the variables into the state; returns the number of free ones."""
        cdef Py_ssize_t q, n_inside = 0
        self.rows.begin(at.m)
        self.n_rows, s.groups, s.n, s.active = at.n_rows, at.groups, at.m, at.m
        s.level[0], s.level[1], s.total[0], s.total[1] = at.level[0], at.level[1], at.missing[0], at.missing[1]
        for q in range(at.m):
            s.tag[q], s.group[q], s.place[q], self.rows.target[q] = q, at.group[q], -1, at.column[q]
            s.lower[q], s.upper[q], s.beta[q], s.linear[q], s.F[q] = at.lower[q], at.upper[q], at.beta[q], at.V[q], 0.0
            s.total[s.group[q]] += s.beta[q]
            if not s.lower[q] < s.upper[q]:
                s.assign(q, LEAVING)
            elif s.is_inside(q):
                s.assign(q, MARGIN)
                n_inside += 1
            else:
                s.assign_bound(q)
        return n_inside

    cdef bint keep_factor(self, PathState s, Py_ssize_t n, double most_work) except -1 nogil:
        """Update the factor of the previous fold to that of M, n variables. False if M is singular, too large, or would
        take more than ``most_work``."""
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
        """Key of a variable across folds: its column, and which of the row's variables it is."""
        return self.rows.target[q] + (<int32_t>(self.row_of.shape[0] // 2) if s.tag[q] >= self.n_rows else 0)

    cdef int send(self, PathState s, Py_ssize_t q) except -1 nogil:
        """Let a variable move to its other bound."""
        cdef double velocity = (s.upper[q] if s.beta[q] <= s.lower[q] else s.lower[q]) - s.beta[q]
        s.assign(q, JOINING)
        s.side[q] = -1.0 if velocity > 0 else 1.0
        self.motion.tick(2 * s.n)
        return self.motion.start_moving(q, velocity)

    # ---- following -----------------------------------------------------------------------------

    cdef bint walk(self, PathState s) except -1 nogil:
        """Follow the path as far as it leads, and make the rest in one step; whether it reached its end."""
        cdef Py_ssize_t q
        cdef int end
        self.motion.mass += self.motion.speed_outside
        shrink_if_many(self.motion, s)
        end = go(self.motion, s)
        for q in range(s.active):
            if s.where[q] == JOINING and end == WHOLE:
                # exactly, or a row at C but for rounding would count as free
                self.motion.fix_at_bound(q, self.motion.velocity[q] > 0)
            elif s.where[q] == JOINING:
                self.motion.stop_moving(q)
        if end != WHOLE and s.factor.size:
            self.motion.direction()
        if end != WHOLE:
            self.motion.advance(max(1.0 - self.motion.eta, 0.0))
        return end == WHOLE

    cdef bint mend(self, PathState s) except -1 nogil:
        """Start a path for variables at the wrong bound: FAR ones that crossed the level, and those within the solver's
        tolerance; False if there is none."""
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

    # ---- result --------------------------------------------------------------------------------

    cdef int finish(self, PathState s, FoldStart *at, double *scores) except -1 nogil:
        """Clip beta, write beta and V, and keep the factor's keys for the next fold."""
        cdef Py_ssize_t q
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
        self.keep_keys(s)
        return 0


def first_line(FoldChange change):
    """(velocity or d beta of each variable, d level of each group, dV, ridge) on the first line of the path; None if
    there is no path. For tests."""
    cdef FoldStart *at = change.begin()
    cdef SharedRows rows = change.rows()
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
        K = rows.at(at.left_column[q])
        add_known(at, &K, 1, &at.left_beta[q], &leaving[0])
    if not path.begin(s, at, change.most_work):
        return None
    moves, dV = [0.0] * change.size, [0.0] * change.size
    path.motion.direction()
    for q in range(s.n):
        moves[s.tag[q]] = s.dbeta[s.place[q]] if s.place[q] >= 0 else path.motion.velocity[q]
        dV[s.tag[q]] = path.motion.dlinear[q] - path.motion.dF[q]
    return moves, [path.motion.dlevel[q] for q in range(s.groups)], dV, s.ridge
