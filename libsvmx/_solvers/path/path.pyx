"""Exact optima under changes of rows and C: multiple incremental-decremental SVM (Karasuyama & Takeuchi 2009).

Paths, with eta from 0 to 1:

* ``update``: rows that join (A) grow towards their bounds, and those that leave (R) shrink to 0, all together:
  d beta_A = bound_A - beta_A, d beta_R = -beta_R                                                    (eqs. 3, 4)
  Without such rows, only the sums of beta move, as with a change of nu.
* ``rescale``: bounds move, as with C or tau, and beta at them.
* ``start``, ``check``: from near the optimum to it, by a path in the linear term.
* ``near``: the same from the result of a training, if that is faster.
* ``by_smo``: the same by SMO in double, if no path can be followed.
"""

from libc.math cimport INFINITY, fabs, isfinite, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.dispatch cimport svmx_axpy
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.kernel_matrix cimport Kernel
from libsvmx._solvers.dual cimport DualProblem, DualSolution, begin
from libsvmx._solvers.path.following cimport centre_levels, follow
from libsvmx._solvers.path.motion cimport Motion, Trace
from libsvmx._solvers.path.path_state cimport (
    AT_LOWER, AT_UPPER, JOINING, LEAVING, MARGIN, PathState, add_margin_rows, clear_margin, remove_from_margin,
    rescale_shift)
from libsvmx._solvers.path.repair cimport (
    is_optimal, recompute_F, refine, repair, row_if_free, set_levels_of_free)
from libsvmx._solvers.smo.smo cimport tolerance_by_r
from libsvmx._solvers.smo.warm cimport restore_sums, smo_in_double

from libsvmx._core.buffers import filled, zeros
from libsvmx._solvers.path.path_state import PathLong, PathLost
from libsvmx.enums import SolveStatus


# ---- Path ------------------------------------------------------------------------------------------

cdef double ULP = 2.0 ** -52
# Solves in double, each to a tolerance by the r of the one before.
cdef int MAX_BY_R = 3
# Gap of an accepted optimum with F recomputed, in tolerances of a path.
cdef double GAP_TOLERANCES = 4.0
# Of a path whose cost is expected: share of the rows that stay active where it shrinks; breakpoints for each row that
# moves, and of other rows, as a multiple of the root of the number of those (1.4 to 4 in all for each of 200 or more
# rows); share of all whose kernel rows, if those that move are not kept, have to be computed; half nanoseconds per
# element of the factor for a member that leaves.
cdef double ACTIVE_SHARE = 0.2
cdef double BREAKPOINTS_OF_MOVING = 2.0
cdef double BREAKPOINTS = 20.0
cdef double JOINING_SHARE = 0.5
cdef double COST_OF_ROTATION = 0.4


cdef class Path:
    """Path(per_row, budget_bytes, groups=1): an optimum, at first of no rows, and its changes.

    ``totals`` in its methods: the required sum of beta of each group, tuple of float.

    Attributes
    ----------
    state : PathState      the optimum; rows join by ``state.append`` before ``update`` and leave by ``state.discard``
        after it; ``state.mark`` and ``state.rollback`` undo a change
    motion : Motion        counts of the last call
    """

    cdef readonly PathState state
    cdef readonly Motion motion

    def __cinit__(self, int per_row, double budget_bytes, int groups=1):
        self.state = PathState(per_row, budget_bytes, groups)
        self.motion = Motion(self.state)

    def start(self, beta, totals, Control control):
        """The optimum from ``beta`` near it (buffer of float64, shape (per_row * n,)), within bounds and with sums
        ``totals``. Raises PathLost; Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError."""
        self.approach(beta, totals, control)
        self.finish()

    def approach(self, beta, totals, Control control):
        """Set ``beta``, clipped to its bounds, and F; ``finish`` must follow. Raises as ``start``, but PathLost."""
        cdef PathState s = self.state
        cdef const double[::1] given = beta
        cdef Py_ssize_t v
        check_length(given.shape[0], s.per_row * s.n)
        self.motion.begin(control)
        s.set_totals(totals)
        for v in range(s.per_row * s.n):
            s.beta[v] = min(max(given[v], s.lower[v]), s.upper[v])
        clear_margin(s)
        recompute_F(self.motion, True)

    def finish(self):
        """From ``approach`` to the optimum. Raises as ``start``."""
        refine(self.motion, True)

    def copy(self, budget_bytes=None):
        """An independent copy without the kept kernel rows; ``budget_bytes``: None for the same."""
        cdef Path other = Path.__new__(Path, self.state.per_row, 0.0, self.state.groups)
        other.state = self.state.copy(budget_bytes)
        other.motion = Motion(other.state)
        return other

    def update(self, Py_ssize_t n_fresh, gone, totals, Control control, double most_cost=INFINITY,
               double falling_cost=0.0):
        """The optimum with the last ``n_fresh`` rows and without the rows ``gone`` (buffer of int32), which stay with
        beta = 0 until ``state.discard``.

        Raises PathLong if the rest of the path seems to cost more than another way to that optimum; else as ``start``. The
        cost of the other way, in half nanoseconds, falls from ``most_cost`` at the beginning of the path by
        ``falling_cost`` in all, as less is left to do.
        """
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h
        if self.rests(n_fresh, gone, totals, control):
            return
        self.begin(control)
        motion.most_cost, motion.falling_cost = most_cost, falling_cost
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                v = s.per_row * leaving[k] + h
                if s.place[v] >= 0:
                    control.asked(s.factor.size * s.factor.size)  # not of the path, whose work is extrapolated
                    remove_from_margin(s, v)
                s.assign(v, LEAVING)
        self.set_joining(n_fresh)
        s.set_totals(totals)
        motion.need_sums()
        for v in range(s.per_row * s.n):
            if s.where[v] == LEAVING:
                motion.start_moving(v, -s.beta[v])
            elif s.where[v] == JOINING:
                motion.start_moving(v, s.upper[v] if s.upper[v] > 0 else s.lower[v])
        follow(motion)
        for v in range(s.per_row * s.n):
            if s.where[v] == JOINING:
                motion.fix_at_bound(v, s.upper[v] > 0)
            elif s.where[v] == LEAVING:
                motion.round_to(v, 0.0)
                s.lower[v] = s.upper[v] = s.linear[v] = 0.0
        repair(motion)

    def rests(self, Py_ssize_t n_fresh, gone, totals, Control control):
        """``update`` if it moves no beta, in O(n) and without kernel rows; returns whether it was that."""
        cdef PathState s = self.state
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h, m = s.per_row * s.n
        if s.inexact:
            return False
        for k in range(leaving.shape[0]):
            for v in range(s.per_row * leaving[k], s.per_row * (leaving[k] + 1)):
                if s.place[v] >= 0 or s.beta[v] != 0.0:
                    return False
        for v in range(m - s.per_row * n_fresh, m):
            if violates_at_zero(s, v):
                return False
        self.motion.begin(control, False)
        self.motion.reset()
        s.set_totals(totals)
        if s.drift > self.motion.tolerance() or not is_optimal(self.motion):
            return False
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                s.leave_at_rest(s.per_row * leaving[k] + h)
        centre_levels(self.motion, s)
        return True

    def expected(self, Py_ssize_t n_fresh, gone):
        """Number of the last ``n_fresh`` rows, and of the rows ``gone`` (buffer of int32), that ``update`` would move
        from or to 0, and how many of them are in the margin; and its expected cost in half nanoseconds."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, p, v, count = 0, n_members = 0, n_kept = 0
        cdef bint moves, is_member
        cdef double others, missing, line, m = s.factor.size, active = s.n
        for k in range(leaving.shape[0] + n_fresh):
            p = leaving[k] if k < leaving.shape[0] else s.n - n_fresh + k - leaving.shape[0]
            moves = is_member = False
            for v in range(s.per_row * p, s.per_row * (p + 1)):
                moves = moves or s.beta[v] != 0.0 or (k >= leaving.shape[0] and violates_at_zero(s, v))
                is_member = is_member or s.place[v] >= 0
            count += moves
            n_members += is_member
            n_kept += moves and not is_member and s.rows.kept(<int32_t>p) != NULL
        if m * s.n > motion.many_values:
            active *= ACTIVE_SHARE
        others = max(count - n_members, 0)
        missing = (others - n_kept) * motion.row_cost()
        line = motion.line_cost(active) + JOINING_SHARE * missing / max(others, 1.0)
        line += max(m - s.rows.most_kept(), 0.0) * motion.row_cost()  # members that cannot be kept
        return count, n_members, n_members * COST_OF_ROTATION * m * m + missing + (
            BREAKPOINTS_OF_MOVING * others + BREAKPOINTS * sqrt(others)) * line

    @property
    def row_cost(self):
        """Estimated cost of a kernel row in half nanoseconds."""
        return self.motion.row_cost()

    def leave(self, gone):
        """Mark the rows ``gone`` (buffer of int32) as LEAVING, without a path, for ``dual`` and ``near``."""
        cdef PathState s = self.state
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, h
        s.keep_lists()
        clear_margin(s)
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                s.assign(s.per_row * leaving[k] + h, LEAVING)

    def dual(self):
        """The DualProblem of all rows at the present beta, with its scores; LEAVING rows have an empty box."""
        cdef PathState s = self.state
        cdef Py_ssize_t p, v, d, n = s.n, m = s.per_row * s.n
        cdef int h
        linear_, lower_, upper_, beta_, scores_ = (zeros("d", m) for _ in range(5))
        cdef double[::1] linear = linear_, lower = lower_, upper = upper_, beta = beta_, scores = scores_
        row_, group_ = zeros("i", m), zeros("b", m)
        cdef int32_t[::1] row = row_
        cdef int8_t[::1] group = group_
        for p in range(n):
            for h in range(s.per_row):
                v, d = s.per_row * p + h, h * n + p
                row[d], linear[d], beta[d], scores[d] = <int32_t>p, s.linear[v], s.beta[v], s.score(v)
                group[d] = s.group[v]
                if s.where[v] != LEAVING:
                    lower[d], upper[d] = s.lower[v], s.upper[v]
        return DualProblem(linear_, lower_, upper_, group_, row_, beta_, scores_)

    def near(self, beta, totals, Control control):
        """The optimum without LEAVING rows from ``beta`` near it (buffer of float64, in the order of ``dual``), within
        bounds and with sums ``totals``. Costs a kernel row for each change. Raises as ``start``."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef const double[::1] given = beta
        cdef Py_ssize_t p, v, n = s.n
        cdef int h
        cdef double change, moved = 0.0
        check_length(given.shape[0], s.per_row * n)
        motion.begin(control)
        clear_margin(s)
        rescale_shift(s)
        for p in range(n):
            change = 0.0
            for h in range(s.per_row):
                v = s.per_row * p + h
                if s.where[v] == LEAVING:
                    s.lower[v] = s.upper[v] = s.linear[v] = 0.0
                change -= s.beta[v]
                s.beta[v] = min(max(given[h * n + p], s.lower[v]), s.upper[v])
                change += s.beta[v]
            if change != 0.0:
                svmx_axpy(n, change, row_if_free(s, <int32_t>p, True), &s.F[0])
                motion.tick(n)
                moved += fabs(change)
        s.drift += ULP * s.largest * moved
        s.set_totals(totals)
        refine(motion, False)

    cdef int begin(self, Control control) except -1:
        """Reset the motion at the optimum, before a path."""
        self.motion.begin(control)
        rescale_shift(self.state)
        if self.state.inexact:
            raise PathLost("the last optimum was not exact")
        return self.motion.reset()

    cdef int set_joining(self, Py_ssize_t n_fresh) except -1:
        """JOINING: the last rows that violate optimality at 0."""
        cdef PathState s = self.state
        cdef Py_ssize_t v
        for v in range(s.per_row * (s.n - n_fresh), s.per_row * s.n):
            if s.where[v] != LEAVING and violates_at_zero(s, v):
                s.assign(v, JOINING)
        return 0

    def rescale(self, lower, upper, ratio, Control control, double most_cost=INFINITY, Trace trace=None,
                double first=1.0, double last=1.0):
        """The optimum with the bounds ``lower`` and ``upper`` (buffers of float64, shape (per_row * n,)). With
        ``ratio`` > 0 bounds and sums are the present ones times it, up to rounding; None: any bounds, same sums. Raises
        as ``update``.

        ``trace`` records the lines, with C (or another parameter) from ``first`` to ``last``.
        """
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef Py_ssize_t v, m = s.per_row * s.n
        cdef const double[::1] final_lower = lower, final_upper = upper
        check_length(final_lower.shape[0], m)
        check_length(final_upper.shape[0], m)
        self.begin(control)
        motion.most_cost = most_cost
        if trace is not None:
            trace.begin(s, first, last)
        motion.trace = trace
        for v in range(m):
            motion.dlower[v], motion.dupper[v] = final_lower[v] - s.lower[v], final_upper[v] - s.upper[v]
        if ratio is None:
            self.move_each_with_its_bound()
        else:
            self.move_with_bounds(ratio)
        follow(motion)
        motion.trace = None
        s.lower[:m], s.upper[:m] = final_lower, final_upper
        for v in range(m):
            if s.where[v] == AT_LOWER:
                motion.round_to(v, s.lower[v])
            elif s.where[v] == AT_UPPER:
                motion.round_to(v, s.upper[v])
        repair(motion)

    def stand(self, double C, Trace trace, Control control):
        """Record the present optimum in ``trace`` as a line of length 0 at C. Raises as ``start``."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        motion.begin(control)
        motion.reset()
        s.dbeta[:s.factor.size], motion.dF[:s.n] = 0.0, 0.0
        trace.begin(s, C, C)
        trace.line(s, &motion.velocity[0], &motion.dF[0], 0.0, 0.0, 0.0, -s.level[0], 0.0, False)

    cdef int move_each_with_its_bound(self) except -1:
        """The moving set: all variables at bounds."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef Py_ssize_t v
        motion.bounds_move = True
        motion.need_sums()
        for v in range(s.per_row * s.n):
            if s.where[v] != MARGIN:
                motion.start_moving(v, motion.dupper[v] if s.where[v] == AT_UPPER else motion.dlower[v])
                motion.tick(s.n)
        return 0

    cdef int move_with_bounds(self, double ratio) except -1:
        """The moving set: all variables at bounds other than 0."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef Py_ssize_t v, p
        cdef int g
        cdef double reach
        motion.bounds_move = motion.others_move = True
        for g in range(s.groups):
            s.total[g] *= ratio
        motion.need_sums()
        for v in range(s.per_row * s.n):
            if s.where[v] != MARGIN and s.beta[v] != 0.0:
                motion.velocity[v] = (ratio - 1.0) * s.beta[v]
                motion.sum_residual[s.group[v]] -= motion.velocity[v]
                motion.speed_outside += fabs(motion.velocity[v])
        # sum of beta K over the bounded variables = F - sum over M: no kernel row is needed
        for p in range(s.factor.size):
            s.dbeta[p] = -s.beta[s.member[p]]
        motion.W[:s.n] = s.F[:s.n]
        add_margin_rows(s, &s.dbeta[0] if s.factor.size else NULL, s.n, &motion.W[0])
        motion.blur = ULP * s.largest * (motion.speed_outside + motion.mass * fabs(ratio - 1.0))
        s.drift *= 1.0 + fabs(ratio - 1.0)  # F becomes F ratio
        reach = motion.speed_outside
        for p in range(s.n):
            motion.W[p] *= ratio - 1.0
            reach += fabs(motion.W[p])
        if not isfinite(reach):
            raise PathLost("the change is beyond double precision")
        return motion.resum_if_stale()

    def by_smo(self, gone, totals, double eps, Control control):
        """As ``update`` by SMO from the present beta to a gap of ``eps``: if no path can be followed. Raises as
        ``start``."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h, m = s.per_row * s.n
        motion.begin(control)
        clear_margin(s)
        motion.reset()
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                v = s.per_row * leaving[k] + h
                s.beta[v] = s.lower[v] = s.upper[v] = s.linear[v] = 0.0
                s.assign(v, LEAVING)
        for v in range(m):
            s.beta[v] = min(max(s.beta[v], s.lower[v]), s.upper[v])
        self.step_in_double(totals, eps, control)
        recompute_F(motion, True)
        try:
            refine(motion, True)
        except PathLost:
            self.drop_margin()
            self.step_in_double(totals, eps, control)
            recompute_F(motion, True)
            if not self.is_near(eps):
                raise

    def accept(self, beta, totals, double eps, Control control):
        """Set ``beta`` without a path; returns whether it is as near the optimum as after a path or SMO to ``eps``.
        Raises as ``start``, but PathLost."""
        self.approach(beta, totals, control)
        self.drop_margin()
        return self.is_near(eps)

    cdef int drop_margin(self) except -1:
        """Empty the margin; all rows are active."""
        cdef PathState s = self.state
        cdef Py_ssize_t v
        clear_margin(s)
        for v in range(s.per_row * s.n):
            if s.where[v] != LEAVING:
                s.assign_bound(v)
        s.active = s.n  # the path may have been lost with rows shrunk

    cdef bint is_near(self, double eps) except -1:
        """Whether beta, with F recomputed, is as near the optimum as after SMO to ``eps`` or a path."""
        cdef PathState s = self.state
        s.inexact = True
        self.motion.reset()
        set_levels_of_free(self.motion)
        self.motion.reset()  # rho may be its scale
        return s.kkt_gap() <= self.goal(eps) + GAP_TOLERANCES * self.motion.tolerance()

    cdef int step_in_double(self, totals, double eps, Control control) except -1:
        """SMO to ``goal``."""
        cdef PathState s = self.state
        cdef double within = eps
        cdef int k
        self.restore_sums_at(totals)
        for k in range(MAX_BY_R):
            smo_in_double(s, max(within, self.motion.tolerance()), control)
            if not self.divides():
                break
            set_levels_of_free(self.motion)
            within = self.goal(eps)
            if s.kkt_gap() <= within:
                break
        return 0

    cdef double goal(self, double eps) except -1:
        """``eps``; in nu-SVC ``tolerance_by_r`` at the levels of beta."""
        return tolerance_by_r(eps, self.state.r) if self.divides() else eps

    cdef bint divides(self) noexcept:
        """Whether decision values are divided by r, in nu-SVC."""
        return self.state.groups > 1 and self.state.per_row == 1

    cdef int restore_sums_at(self, totals) except -1:
        """Restore the sums ``totals`` of beta, and recompute F."""
        self.state.set_totals(totals)
        if not restore_sums(self.state):
            raise PathLost("no variable can make up for the sum")
        return recompute_F(self.motion, True)

    def check(self, Control control):
        """Recompute V, and repair drift. Returns the gap before the repair."""
        self.motion.begin(control)
        recompute_F(self.motion, True)
        found = self.state.kkt_gap()
        refine(self.motion, True)
        return found


cdef bint violates_at_zero(PathState s, Py_ssize_t v) noexcept:
    """Whether a variable at 0 violates optimality."""
    cdef double excess = s.excess(v)
    return (s.lower[v] < 0 and excess < 0) or (s.upper[v] > 0 and excess > 0)


def check_length(Py_ssize_t length, Py_ssize_t expected):
    """Raise ValueError for a buffer of the wrong length."""
    if length != expected:
        raise ValueError(f"a buffer has length {length}, not {expected}")


def interleaved(values, Py_ssize_t n):
    """Values by variable (buffer of float64, shape (per_row * n,)) from the order of a DualProblem, (per_row, n), to
    that of a path, (n, per_row)."""
    cdef const double[::1] given = values
    cdef Py_ssize_t p, h, per_row = given.shape[0] // max(n, 1)
    if per_row == 1:
        return values
    out_ = zeros("d", given.shape[0])
    cdef double[::1] out = out_
    for p in range(n):
        for h in range(per_row):
            out[per_row * p + h] = given[h * n + p]
    return out_


# ---- Decremental folds -----------------------------------------------------------------------------
#
#     update(path, R) -> (beta, V) without R; rollback
#
# The decremental half of Karasuyama & Takeuchi (2009); with |R| = 1 exact leave-one-out (Cauwenberghs & Poggio 2000).
# V of the rows R held out is updated on the path, so it ends with their decision values.

def path_of(DualProblem problem, Kernel kernel, double budget_bytes, beta, Control control):
    """The Path at the optimum of ``problem``. Its rows are tagged 0, 1, …

    Parameters
    ----------
    kernel : Kernel           of the rows 0, 1, … of ``problem``
    budget_bytes : float      for kernel rows that are kept
    beta : buffer of float64, shape (problem.size,)        near the optimum

    Raises PathLost; Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError.
    """
    cdef Py_ssize_t n = kernel.n, v
    cdef int per_row = <int>(problem.size // n)
    cdef Path path = Path(per_row, budget_bytes, problem.groups)
    start = interleaved(beta, n)
    cdef const double[::1] values = start, lower = interleaved(problem.lower, n)
    totals = [0.0] * problem.groups
    for v in range(problem.size):
        totals[problem.groups > 1 and lower[v] < 0] += values[v]
    path.state.append(kernel, filled("q", range(n)), interleaved(problem.linear, n), interleaved(problem.lower, n),
                      interleaved(problem.upper, n), control)
    path.start(start, totals, control)
    return path


def solution_without(Path path, DualProblem problem, rows, totals, Control control):
    """The optimum without ``rows`` (tags, a buffer of int32) and with sums of beta ``totals``, as a DualSolution of
    ``problem``; its iterations are breakpoints. The path is unchanged afterwards. Raises as ``path_of``."""
    cdef PathState s = path.state
    cdef Py_ssize_t n = s.n, p, v, d
    cdef int h
    cdef const double[::1] linear = problem.linear
    cdef int64_t values = s.rows.kernel.values_computed, computed = s.rows.rows_computed
    beta_, scores_ = zeros("d", problem.size), zeros("d", problem.size)
    cdef double[::1] beta = beta_, scores = scores_
    leaving = set(rows)
    gone = filled("i", [p for p in range(n) if s.tag[p] in leaving])
    s.mark()
    try:
        path.update(0, gone, totals, control)
        for p in range(n):
            for h in range(s.per_row):
                v = s.per_row * p + h
                d = h * n + s.tag[p]
                beta[d], scores[d] = s.beta[v], linear[d] - s.F[p]
        return DualSolution(
            beta=beta_, scores=scores_, rho=s.rho, r=s.r, objective=s.objective(), iterations=path.motion.breakpoints,
            rows_computed=s.rows.rows_computed - computed, values_computed=s.rows.kernel.values_computed - values,
            status=SolveStatus.CONVERGED)
    finally:
        s.rollback()
