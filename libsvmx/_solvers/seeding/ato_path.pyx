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
* Rows far from their level take part in the first line and the last values alone. Those that a path has passed, and
  those that the solver left violating up to its tolerance, are brought in by further paths, on which they alone move.
* V of the margin goes to its level meanwhile, where the paper leaves it as the solver had it, equal to its tolerance.
* A ridge on K_MM (as Karasuyama & Takeuchi have it) keeps rows that come twice from making it singular. The paper
  inverts it as it is, or takes a pseudo-inverse.
* A variable of M that meets its bound ends a line, too; the paper takes the step from rows off the margin alone.
* Where no variable of a group is on the margin, which the paper leaves open, the level moves to the first variable that
  can take what the sum lacks.
* The paper's eta is the share of what is left, ours counts from the beginning: the lines are the same.

Per unit of eta the margin M and the levels answer to what moves by W,

    [0   E   ] [d level ]   [s   ]
    [E'  K_MM] [d beta_M] = [-W_M],       dV = -K_:M d beta_M - W                                    (8-11)

where s is what the sums need besides. With one constant added to all kernel values of a group, K' = K + shift E'E, this is

    K'_MM d beta_M = -W_M - E't,    E d beta_M = s,    d level = t + shift s

so that one Cholesky factor, of K'_MM and the ridge, serves; it follows M (_core/cholesky.pyx), and in a chain goes on from
fold to fold.

Few variables come near their level while a fold changes. Those that would not come there within FAR times the path, at
their first speed, are far: lines are followed without them, and ``move_scores`` brings their V up to date.
"""

from libc.float cimport DBL_EPSILON, DBL_MIN
from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.smo_steps cimport svmx_axpy_at
from libsvmx._core.vectors cimport svmx_add_rows
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.fold_change cimport (
    ChangeStart, FoldChange, FoldStart, StartRows, add_known, describe, move_scores)

from libsvmx._core.buffers import zeros


# ---- How much work a path is worth -----------------------------------------------------------------
#
# How much work a path of ATO is worth.
#
# In a chain, the first fold that is seeded starts as SIR has it, which costs next to nothing: what the solver takes from
# there is what a path must beat. After a path that did not, one fold, then two, four … start as SIR has it before the next
# one is tried. So the paths that do not pay are few, and ATO takes little more than SIR where its path is long.

# Of the work of a solve without it, what a path may take.
cdef double PATH_SHARE = 0.8
# What a path works on takes longer than what SMO does: each line reads the factor twice. Measured on folds of 200 to 1,600
# rows, where a value took 0.13 to 0.2 ns in SMO and 0.2 to 0.3 ns on a path.
cdef double COST_OF_A_VALUE = 1.6
# In a chain of fewer folds a path that does not pay would cost too much of the whole: the first must pay sooner.
cdef double MANY_FOLDS = 40.0

# In a star, where folds do not know of each other, what a path may take is a part of the work of a solve from nothing.
cdef double STAR_SHARE = 0.4
# There auto tries it where such a solve takes so many steps for each variable (else seeds save less, and a path as much),
cdef double MANY_STEPS = 3.0
# and where it is expected to take no more than this part of its time.
cdef double EXPECTED_SHARE = 0.6
# Lines of such a path, for each row with a coefficient that leaves, and besides; and the part of all variables that lines
# are followed for. Measured on folds of 80 to 1,600 rows, a tenth and a hundredth of all.
cdef double LINES_OF_A_ROW = 2.5
cdef double LINES_BESIDES = 10.0
cdef double NEAR_SHARE = 0.6


cpdef double most_in_star(double from_nothing) noexcept nogil:
    """What a path that was asked for may take in a star."""
    return STAR_SHARE * from_nothing


cdef double most_of_auto(double from_nothing, double steps, double m, double margin, double leaving) noexcept nogil:
    """The same where auto may try one; 0: it had better not.

    A solve from nothing takes ``steps`` for each of the m variables, if it is known (else HUGE_VAL); ``margin`` of them are within their bounds, and
    ``leaving`` rows with a coefficient leave.
    """
    cdef double a_line = margin * (margin + NEAR_SHARE * m)
    cdef double expected = margin ** 3 / 6 + (LINES_BESIDES + LINES_OF_A_ROW * leaving) * a_line
    if from_nothing == HUGE_VAL or steps < MANY_STEPS or COST_OF_A_VALUE * expected > EXPECTED_SHARE * from_nothing:
        return 0.0
    return most_in_star(from_nothing)


cdef class PathBudget:
    """PathBudget(n_folds): of a chain of about so many folds. Work is in values, as ``Control`` counts it."""

    def __cinit__(self, double n_folds=MANY_FOLDS):
        self.start(n_folds)

    cdef void start(self, double n_folds) noexcept nogil:
        """A new chain."""
        self.to_beat, self.scale, self.wait, self.next_wait = -1.0, min(1.0, n_folds / MANY_FOLDS), 0, 1

    cdef double most(self, double from_nothing) noexcept nogil:
        """What the path of the next fold may take; 0: none is to be tried. ``from_nothing``: work of a fold from nothing."""
        if self.to_beat < 0 or self.wait > 0:
            return 0.0
        return PATH_SHARE / COST_OF_A_VALUE * self.scale * min(self.to_beat, from_nothing)

    cdef void note(self, bint along_path, bint whole, double path_work, double solve_work) noexcept nogil:
        """A fold is solved; ``whole``: its path came to its end."""
        cdef double work = COST_OF_A_VALUE * path_work + solve_work if along_path else solve_work
        if not along_path:
            self.to_beat = work if self.to_beat < 0 else 0.5 * (work + self.to_beat)
            self.wait = max(0, self.wait - 1)
        elif whole and work <= self.to_beat:
            self.scale, self.next_wait = min(1.0, 2.0 * self.scale), 1
        else:
            self.wait, self.next_wait = self.next_wait, min(64, 2 * self.next_wait)

    # ---- from Python ---------------------------------------------------------------------------

    def allowed(self, double from_nothing):
        """As ``most``."""
        return self.most(from_nothing)

    def solved(self, bint along_path, bint whole, double path_work, double solve_work):
        """As ``note``."""
        self.note(along_path, whole, path_work, solve_work)


# ---- The path of ATO -------------------------------------------------------------------------------

# Added to the diagonal of K_MM, relative to its mean: rows that come twice leave it regular (Karasuyama & Takeuchi).
cdef double RIDGE = 1e-6
# A pivot below this share of the ridge is not positive but for rounding.
cdef double SINGULAR = 1e-3
# Variables on the margin; values of them with the near ones (128 MB).
cdef Py_ssize_t MOST_MARGIN = 2000
cdef Py_ssize_t MOST_VALUES = 1 << 24
# Of the sum of |beta|: differences of the sums that come from rounding.
cdef double SAME_SUM = 1e-10
# With fewer members of M none is far: it may come to have none.
cdef Py_ssize_t FEW_MEMBERS = 10
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
# Lines of length 0 in a row, for each member of M, after which the path turns in a circle.
cdef Py_ssize_t MOST_STILL = 2
# Of the width of the bounds: what solving a linear system leaves of a value that is at one of them.
cdef double ROUNDING = 1e-13
# What ends the last line.
cdef Py_ssize_t AT_END = -1

# States of variables: of R or held out; at a bound; of M; of T, on the way to its bound.
cdef enum:
    OUT
    BOUND
    MARGIN
    MOVING


cdef class AtoPath:
    """AtoPath(): memory for paths, one after the other, by ``follow``.

    Attributes
    ----------
    eta, lines : float, int      where the last path ended, and after how many lines
    work : float                 values that it has worked on
    """

    def __cinit__(self):
        self.factor = Cholesky()
        self.where, self.violating = zeros("b", 0), zeros("b", 0)
        self.before, self.nothing, self.folds_to_come = zeros("d", 0), zeros("d", 0), 1.0
        self.velocity, self.W, self.dV, self.near_V, self.near_W, self.near_dF = (zeros("d", 0) for _ in range(6))
        self.x, self.first, self.second, self.column, self.coef = (zeros("d", 0) for _ in range(5))
        self.place, self.variable_of, self.near, self.member, self.member_column, self.slot, self.free_slots = (
            zeros("i", 0) for _ in range(7))

    def __dealloc__(self):
        free(self.values)
        free(self.rows)

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns) except -1:
        """Memory for folds of so many variables over so many rows."""
        cdef Py_ssize_t most = min(m, MOST_MARGIN) + 2
        cdef void *grown
        if self.variable_of.shape[0] < columns:
            self.variable_of = zeros("i", columns)
        if self.where.shape[0] >= m:
            return 0
        grown = realloc(self.rows, most * sizeof(double *))
        if grown == NULL:
            raise MemoryError("a path of ATO")
        self.rows = <const double **>grown
        self.velocity, self.W, self.dV, self.near_V, self.near_W, self.near_dF = (zeros("d", m) for _ in range(6))
        self.x, self.first, self.second, self.column, self.coef = (zeros("d", most) for _ in range(5))
        self.place, self.near, self.member, self.member_column, self.slot, self.free_slots = (
            zeros("i", max(m, most)) for _ in range(6))
        self.before, self.nothing = zeros("d", m), zeros("d", m)
        self.violating, self.where = zeros("b", m), zeros("b", m)
        return 0

    cdef int forget(self) noexcept nogil:
        """The next fold has nothing of the last one's factor."""
        self.factor.size = 0
        return 0

    cdef bint follow(self, FoldStart *at, StartRows rows, Control control, double most_work,
                     double *scores) except -1 nogil:
        """The path from the optimum, to its end or as far as ``most_work`` allows: then the rest of R goes at once, and
        M answers as if no bound were in its way. There must be room. ``scores`` (m,) becomes V at its end.

        False, with beta and ``scores`` as they were, where nothing moves, or M is too large, or depends on itself.
        """
        cdef FoldStart mended
        cdef Py_ssize_t v
        cdef int again, g
        cdef double cost
        cdef bint moves = False
        cdef double size = 0.0
        for v in range(at.m):
            moves = moves or at.leaving[v] != 0 or at.entering[v] > 0
            size += fabs(at.beta[v])
        for g in range(at.groups):
            moves = moves or fabs(at.missing[g]) > SAME_SUM * size
        self.lines, self.work = 0, 0.0
        if not moves:
            return False
        memcpy(&self.before[0], at.beta, at.m * sizeof(double))
        if not self.go(at, rows, control, most_work, GLIMPSE * most_work):
            return False
        self.whole = self.eta >= 1.0
        move_scores(at, &self.before[0], rows, control, scores)
        mended = at[0]
        mended.V, mended.leaving, mended.entering = scores, &self.nothing[0], &self.violating[0]
        for again in range(MOST_MENDS):
            cost = WORTH_A_MEND * self.factor.size * at.m
            if self.eta < 1.0 or cost > most_work or self.work + cost > most_work or not self.violates(&mended, control):
                break
            for v in range(at.m):
                if at.lower[v] < at.upper[v]:
                    mended.missing[at.group[v]] -= at.beta[v] - self.before[v]
                self.before[v] = at.beta[v]
            if not self.go(&mended, rows, control, most_work, most_work):
                break
            move_scores(&mended, &self.before[0], rows, control, scores)
        return True

    cdef bint violates(self, FoldStart *at, Control control) noexcept nogil:
        """Which variables that were far, and passed, are at the wrong bound at the end of the path; False if none is."""
        cdef Py_ssize_t v
        cdef double above
        cdef bint found = False
        for v in range(at.m):
            above = at.V[v] - self.level[at.group[v]]
            self.violating[v] = self.where[v] == BOUND and (
                (at.beta[v] < at.upper[v] and above > 0.5 * control.eps)
                or (at.beta[v] > at.lower[v] and -above > 0.5 * control.eps))
            found = found or self.violating[v]
        at.level[0], at.level[1] = self.level[0], self.level[1]
        return found

    cdef bint go(self, FoldStart *at, StartRows rows, Control control, double most_work, double glimpse) except -1 nogil:
        """Line by line. From the work ``glimpse`` on it is given up where it would take more than ``most_work``. False
        where there is no path."""
        cdef Py_ssize_t ended, still = 0, n
        cdef double step
        cdef bint going = True
        self.begin(at, rows, control)
        if not self.keep_factor(at, rows, control, most_work):
            return False
        if not self.direction(at, True):
            self.forget()
            return False
        self.spread(at, rows, control)
        if not self.choose_near(at, rows):
            return False
        while going:
            n = self.factor.size
            if not self.direction(at, False):
                break
            ended = self.breakpoint(at, &step)
            self.advance(at, step)
            self.lines += 1
            self.work += n * <double>n + (n + 8) * <double>self.n_near
            control.asked(n * n + (n + 8) * self.n_near)
            if ended == AT_END or self.eta >= 1.0:  # nothing is left to go, whatever is met there
                self.eta = 1.0
                break
            still = still + 1 if step == 0.0 else 0
            if still > MOST_STILL * (n + 20) or (self.work > glimpse and self.work > self.eta * most_work):
                going = False
            if ended < n:
                going = self.leave_margin(at, rows, ended) and going
            else:
                going = self.join_margin(at, rows, self.near[ended - n]) and going
        self.finish(at, rows)
        return True

    # ---- where it begins -----------------------------------------------------------------------

    cdef int begin(self, FoldStart *at, StartRows rows, Control control) except -1 nogil:
        """What each variable does, and W of all that moves."""
        cdef Py_ssize_t v
        cdef int g
        self.eta, self.n_near = 0.0, 0
        for g in range(2):
            self.n_members[g] = 0
            self.level[g], self.sum_residual[g], self.d_level[g] = at.level[g], at.missing[g], 0.0
        for v in range(at.m):
            self.W[v], self.velocity[v], self.place[v] = -at.leaving[v], 0.0, -1
            if not at.lower[v] < at.upper[v]:
                self.where[v] = OUT
            elif at.entering[v] > 0:
                self.where[v] = MOVING
                self.velocity[v] = (at.upper[v] if at.beta[v] <= at.lower[v] else at.lower[v]) - at.beta[v]
                self.sum_residual[at.group[v]] -= self.velocity[v]
            elif at.lower[v] < at.beta[v] < at.upper[v]:
                self.where[v] = MARGIN
            else:
                self.where[v] = BOUND
        for v in range(at.m):
            if self.where[v] == MOVING:
                svmx_axpy_at(at.m, self.velocity[v], rows.row(at.column[v]), at.column, &self.W[0])
                self.work += at.m
                control.asked(2 * at.m)
        return 0

    cdef bint keep_factor(self, FoldStart *at, StartRows rows, Control control, double most_work) except -1 nogil:
        """The factor of M: that of the fold before, less what is not of M any more, and with what has come to it. A group
        that is not on the margin gets the first variable that can give what its sum lacks.

        False where M is singular, too large, or takes more than ``most_work``.
        """
        cdef Py_ssize_t v, k, n = 0, n_gone = 0
        cdef int g
        cdef double diagonal = 0.0
        for v in range(at.m):
            n += self.where[v] == MARGIN
        if n > MOST_MARGIN:
            return False
        if self.factor.size:
            for v in range(self.variable_of.shape[0]):
                self.variable_of[v] = -1
            for v in range(at.m):
                self.variable_of[at.column[v]] = <int32_t>v
            for k in range(self.factor.size):
                v = self.variable_of[self.member_column[k]]
                self.member[k] = <int32_t>v
                n_gone += v < 0 or self.where[v] != MARGIN
            if n_gone > CHANGED * self.factor.size:
                self.factor.size = 0
        for k in range(self.factor.size - 1, -1, -1):
            v = self.member[k]
            if v < 0 or self.where[v] != MARGIN:
                self.work += <double>(self.factor.size - k) ** 2
                self.remove(k)
        for k in range(self.factor.size):
            self.place[self.member[k]] = 0
            self.n_members[at.group[self.member[k]]] += 1
        self.work += 2.0 * n * at.m
        if self.factor.size == 0 and <double>n ** 3 / 6 > most_work * self.folds_to_come:
            return False
        if self.work + n * <double>n > most_work:
            self.forget()
            return False
        if self.factor.size == 0:
            for v in range(at.m):
                if self.where[v] == MARGIN:
                    diagonal += fabs(rows.row(at.column[v])[at.column[v]])
            self.scale_by(diagonal / n if n else 0.0)
        for v in range(at.m):
            if self.where[v] == MARGIN and self.place[v] < 0:
                if not self.append(at, rows, v):
                    self.forget()
                    return False
                control.asked(self.factor.size * self.factor.size)
        for k in range(self.factor.size):
            self.place[self.member[k]] = -1
        for g in range(at.groups):
            if self.n_members[g] == 0 and self.sum_residual[g] != 0:
                v = self.first_to_answer(at, g, at.m, NULL, at.V)
                if v >= 0 and not self.answer(at, rows, v, at.V[v]):
                    return False
        return True

    cdef void scale_by(self, double diagonal) noexcept nogil:
        """Shift and ridge, of kernel values of this size."""
        self.shift = diagonal if diagonal > 0 else 1.0
        self.ridge = RIDGE * self.shift

    cdef bint append(self, FoldStart *at, StartRows rows, Py_ssize_t v) except -1 nogil:
        """A variable joins the factor; False if it depends on the others."""
        cdef const float *K = rows.row(at.column[v])
        cdef Py_ssize_t k, n = self.factor.size
        cdef double pivot
        if n + 1 >= self.x.shape[0]:
            return False
        for k in range(n):
            self.column[k] = K[self.member_column[k]]
            if at.group[self.member[k]] == at.group[v]:
                self.column[k] += self.shift
        pivot = self.factor.border(&self.column[0], K[at.column[v]] + self.shift + self.ridge)
        if not pivot > SINGULAR * self.ridge:
            return False
        if n >= self.factor.room:
            with gil:
                self.factor.reserve(n + 1)
        self.factor.append(&self.column[0], pivot)
        self.member[n], self.member_column[n], self.slot[n] = <int32_t>v, at.column[v], -1
        self.n_members[at.group[v]] += 1
        return True

    cdef void remove(self, Py_ssize_t k) noexcept nogil:
        """Member k leaves the factor."""
        self.factor.remove(k)
        while k < self.factor.size:
            self.member[k], self.member_column[k] = self.member[k + 1], self.member_column[k + 1]
            self.slot[k] = self.slot[k + 1]
            k += 1

    # ---- the straight line ---------------------------------------------------------------------

    cdef bint direction(self, FoldStart *at, bint everywhere) noexcept nogil:
        """d beta of M (``x``) and d level, from W of all variables or of the near ones; False where there is none."""
        cdef Py_ssize_t k, v, n = self.factor.size
        cdef double q[2]
        cdef double t[2]
        cdef double own = 0.0, other = 0.0, shared = 0.0, determinant
        cdef int g, only = 0 if self.n_members[0] else 1
        self.d_level[0] = self.d_level[1] = t[0] = t[1] = 0.0
        if not everywhere:
            memcpy(&self.near_dF[0], &self.near_W[0], self.n_near * sizeof(double))
        if n == 0:
            return True
        q[0], q[1] = -self.sum_residual[0], -self.sum_residual[1]
        for k in range(n):
            v, g = self.member[k], at.group[self.member[k]]
            if everywhere:
                self.x[k] = -self.W[v] + at.V[v] - self.level[g]
            else:
                self.x[k] = -self.near_W[self.place[v]] + (self.near_V[self.place[v]] - self.level[g]) / (1.0 - self.eta)
            self.first[k] = g == only
            self.second[k] = self.coef[k] = g != only
        self.factor.solve_two(&self.x[0], &self.first[0])
        if self.n_members[1 - only]:
            self.factor.solve_two(&self.second[0], &self.coef[0])
        for k in range(n):
            g = at.group[self.member[k]]
            q[g] += self.x[k]
            if g == only:
                own += self.first[k]
            else:
                shared += self.first[k]
                other += self.second[k]
        if self.n_members[1 - only]:
            determinant = own * other - shared * shared
            if not determinant > 0:
                return False
            t[only] = (q[only] * other - q[1 - only] * shared) / determinant
            t[1 - only] = (q[1 - only] * own - q[only] * shared) / determinant
        else:
            if not own > 0:
                return False
            t[only] = q[only] / own
        for k in range(n):
            self.x[k] -= t[only] * self.first[k] + t[1 - only] * self.second[k]
        for g in range(at.groups):
            if self.n_members[g]:
                self.d_level[g] = t[g] + self.shift * self.sum_residual[g]
        if not everywhere:
            for k in range(n):
                self.rows[k] = self.values + self.slot[k] * self.n_near
            svmx_add_rows(self.n_near, n, &self.x[0], self.rows, &self.near_dF[0])
        return True

    cdef int spread(self, FoldStart *at, StartRows rows, Control control) except -1 nogil:
        """dV of all variables, on the first line."""
        cdef Py_ssize_t v, k
        for v in range(at.m):
            self.dV[v] = -self.W[v]
        for k in range(self.factor.size):
            if self.x[k] != 0:
                svmx_axpy_at(at.m, -self.x[k], rows.row(self.member_column[k]), at.column, &self.dV[0])
                control.asked(2 * at.m)
        return 0

    cdef bint choose_near(self, FoldStart *at, StartRows rows) except -1 nogil:
        """Which variables are near their level, or move; and K of M with them. False if these values are too many."""
        cdef Py_ssize_t v, k, n_near = 0
        cdef bint every = at.groups > 1 or self.factor.size < FEW_MEMBERS
        cdef double side
        for v in range(at.m):
            if self.where[v] == OUT:
                continue
            if self.where[v] == BOUND and not every:
                side = 1.0 if at.beta[v] < at.upper[v] else -1.0
                if FAR * side * (self.dV[v] - self.d_level[at.group[v]]) <= -side * (at.V[v] - self.level[at.group[v]]):
                    continue
            self.near[n_near], self.place[v] = <int32_t>v, <int32_t>n_near
            self.near_V[n_near], self.near_W[n_near] = at.V[v], self.W[v]
            n_near += 1
        self.n_near, self.n_slots, self.n_free_slots = n_near, 0, 0
        if self.factor.size * n_near > MOST_VALUES:
            return False
        for k in range(self.factor.size):
            self.take_slot(at, rows, k)
        return True

    cdef int take_slot(self, FoldStart *at, StartRows rows, Py_ssize_t k) except -1 nogil:
        """K of member k with the near variables."""
        cdef const float *K
        cdef double *out
        cdef void *grown
        cdef Py_ssize_t a, room
        if self.n_free_slots:
            self.n_free_slots -= 1
            self.slot[k] = self.free_slots[self.n_free_slots]
        else:
            if (self.n_slots + 1) * self.n_near > self.room_for_values:
                room = (self.n_slots + 1) * self.n_near
                room = max(room + room // 2, (self.factor.size + 16) * self.n_near)
                with gil:
                    grown = realloc(self.values, room * sizeof(double))
                    if grown == NULL:
                        raise MemoryError("kernel values of a path of ATO")
                self.values, self.room_for_values = <double *>grown, room
            self.slot[k] = <int32_t>self.n_slots
            self.n_slots += 1
        K, out = rows.row(self.member_column[k]), self.values + self.slot[k] * self.n_near
        for a in range(self.n_near):
            out[a] = K[at.column[self.near[a]]]
        return 0

    cdef Py_ssize_t breakpoint(self, FoldStart *at, double *step) noexcept nogil:
        """What ends the line, and its length: a member of M that meets a bound, by its number, or a near variable that
        meets its level, by the size of M more than its own; or AT_END."""
        cdef Py_ssize_t k, a, v, n = self.factor.size, found = AT_END
        cdef double distance, speed, side, size = 0.0
        cdef double slowest
        step[0] = 1.0 - self.eta
        for k in range(n):
            v = self.member[k]
            speed = fabs(self.x[k])
            size += speed
            distance = max(at.upper[v] - at.beta[v] if self.x[k] > 0 else at.beta[v] - at.lower[v], 0.0)
            if speed > DBL_MIN and distance < step[0] * speed:
                step[0], found = distance / speed, k
        slowest = max(DBL_MIN, 16 * DBL_EPSILON * self.shift * size)
        for a in range(self.n_near):
            v = self.near[a]
            if self.where[v] == MARGIN:
                continue
            if self.where[v] == MOVING:
                side = -1.0 if self.velocity[v] > 0 else 1.0
            else:
                side = 1.0 if at.beta[v] < at.upper[v] else -1.0
            speed = -side * (self.near_dF[a] + self.d_level[at.group[v]])
            if speed > slowest:
                distance = max(-side * (self.near_V[a] - self.level[at.group[v]]), 0.0)
                if distance < step[0] * speed:
                    step[0], found = distance / speed, n + a
        return found

    cdef void advance(self, FoldStart *at, double step) noexcept nogil:
        """All that is near goes on by ``step`` in eta."""
        cdef Py_ssize_t k, a
        cdef int g
        for k in range(self.factor.size):
            at.beta[self.member[k]] += step * self.x[k]
        for a in range(self.n_near):
            self.near_V[a] -= step * self.near_dF[a]
            at.beta[self.near[a]] += step * self.velocity[self.near[a]]
        for g in range(at.groups):
            self.level[g] += step * self.d_level[g]
        self.eta += step

    # ---- breakpoints ---------------------------------------------------------------------------

    cdef bint leave_margin(self, FoldStart *at, StartRows rows, Py_ssize_t k) except -1 nogil:
        """Member k of M has met a bound. False if nothing can take what its sum lacks."""
        cdef Py_ssize_t v = self.member[k]
        cdef int g = at.group[v]
        at.beta[v] = at.upper[v] if self.x[k] > 0 else at.lower[v]
        self.where[v] = BOUND
        self.free_slots[self.n_free_slots] = self.slot[k]
        self.n_free_slots += 1
        self.remove(k)
        self.n_members[g] -= 1
        if self.n_members[g] or self.sum_residual[g] == 0:
            return True
        v = self.first_to_answer(at, g, self.n_near, &self.near[0], &self.near_V[0])
        if v < 0 or not self.answer(at, rows, v, self.near_V[self.place[v]]):
            return False
        self.take_slot(at, rows, self.factor.size - 1)
        return True

    cdef bint join_margin(self, FoldStart *at, StartRows rows, Py_ssize_t v) except -1 nogil:
        """A variable has met the level. False if there is no room for it, or it depends on the others."""
        if self.where[v] == MOVING:
            self.stop_moving(at, rows, v)
            if not at.lower[v] < at.beta[v] < at.upper[v]:
                return True  # at once: it stays at its bound
        if (self.n_slots + 1) * self.n_near > MOST_VALUES:
            return False
        if not self.append(at, rows, v):
            return False
        self.where[v] = MARGIN
        self.take_slot(at, rows, self.factor.size - 1)
        return True

    cdef int stop_moving(self, FoldStart *at, StartRows rows, Py_ssize_t v) except -1 nogil:
        """A variable of T stays where it is."""
        cdef const float *K = rows.row(at.column[v])
        cdef Py_ssize_t a
        for a in range(self.n_near):
            self.near_W[a] -= self.velocity[v] * K[at.column[self.near[a]]]
        self.sum_residual[at.group[v]] += self.velocity[v]
        self.velocity[v], self.where[v] = 0.0, BOUND
        return 0

    cdef Py_ssize_t first_to_answer(self, FoldStart *at, int g, Py_ssize_t n, const int32_t *among,
                                    const double *V) noexcept nogil:
        """The variable that the level of group g meets first of those whose beta can give what the sum lacks; -1 if there
        is none. ``V``: of the n variables ``among``, or of all."""
        cdef Py_ssize_t k, v, found = -1
        cdef double sign = 1.0 if self.sum_residual[g] > 0 else -1.0, best = 0.0
        for k in range(n):
            v = k if among == NULL else among[k]
            if at.group[v] != g or self.where[v] == OUT or self.where[v] == MARGIN:
                continue
            # of T those that the level may pass
            if self.where[v] == MOVING and (sign * self.velocity[v] > 0 or not at.lower[v] < at.beta[v] < at.upper[v]):
                continue
            if not (at.beta[v] < at.upper[v] if sign > 0 else at.beta[v] > at.lower[v]):
                continue
            if found < 0 or sign * V[k] > best:
                found, best = v, sign * V[k]
        return found

    cdef bint answer(self, FoldStart *at, StartRows rows, Py_ssize_t v, double V) except -1 nogil:
        """The level of a group without members becomes that of a variable, which joins M. False if it cannot."""
        if self.where[v] == MOVING:
            self.stop_moving(at, rows, v)
        if self.factor.size == 0:
            self.scale_by(fabs(rows.row(at.column[v])[at.column[v]]))
        if not self.append(at, rows, v):
            return False
        self.where[v], self.level[at.group[v]] = MARGIN, V
        return True

    # ---- where it ends -------------------------------------------------------------------------

    cdef int finish(self, FoldStart *at, StartRows rows) except -1 nogil:
        """What is left of the path at once; all within their bounds."""
        cdef Py_ssize_t k, a, v
        cdef double slack
        if self.eta < 1.0:
            for a in range(self.n_near):
                if self.where[self.near[a]] == MOVING:
                    self.stop_moving(at, rows, self.near[a])
            if self.direction(at, False):
                for k in range(self.factor.size):
                    at.beta[self.member[k]] += (1.0 - self.eta) * self.x[k]
        for a in range(self.n_near):
            v = self.near[a]
            if self.where[v] == MOVING:  # exactly: a row that is at C but for rounding counts as one that can still grow
                at.beta[v] = at.upper[v] if self.velocity[v] > 0 else at.lower[v]
            slack = ROUNDING * (at.upper[v] - at.lower[v])
            if not at.beta[v] < at.upper[v] - slack:
                at.beta[v] = at.upper[v]
            elif not at.beta[v] > at.lower[v] + slack:
                at.beta[v] = at.lower[v]
        return 0

    # ---- for tests -----------------------------------------------------------------------------

    def first_line(self, FoldChange change):
        """(velocity and d beta of all variables, d level of each group, dV, ridge) on the first line; None without one."""
        cdef ChangeStart start = ChangeStart(change)
        cdef double[::1] leaving = zeros("d", change.size)
        cdef const float *K
        cdef Py_ssize_t k
        self.reserve(change.size, change.kernel.n)
        self.lines, self.work = 0, 0.0
        describe(&start.at, change.control.eps)
        start.at.leaving = &leaving[0]
        for k in range(start.at.n_left):
            K = start.rows.row(start.at.left_column[k])
            add_known(&start.at, &K, 1, &start.at.left_beta[k], &leaving[0])
        self.begin(&start.at, start.rows, change.control)
        if not (self.keep_factor(&start.at, start.rows, change.control, change.most_work)
                and self.direction(&start.at, True)):
            return None
        self.spread(&start.at, start.rows, change.control)
        moves = [self.velocity[k] for k in range(change.size)]
        for k in range(self.factor.size):
            moves[self.member[k]] = self.x[k]
        return moves, [self.d_level[k] for k in range(start.at.groups)], list(self.dV[:change.size]), self.ridge
