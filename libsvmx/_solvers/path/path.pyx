"""Exact optima that rows join and leave, and whose C changes: multiple incremental-decremental SVM.

What can be asked of a path (Karasuyama & Takeuchi 2009), with eta from 0 to 1:

* ``update``: from the optimum, rows that join (A) grow towards their bounds, and those that leave (R) shrink to 0, all
  together: d beta_A = bound_A - beta_A, d beta_R = -beta_R                                          (eqs. 3, 4)
  With no row on its way, the sums of beta alone move, as they do where nu changes.
* ``rescale``: bounds move, and take along the beta that rest on them.
* ``start``, ``check``: from near the optimum, by a path in the linear term (refinement.pyx).
* ``near``: the same from a start that a training has found, where a path would take longer.
* ``by_smo``: the same by SMO in double, where no path leads on.
"""

from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int8_t, int32_t

from libsvmx._core.buffers import zeros
from libsvmx._core.vectors cimport svmx_axpy
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.path.following cimport follow
from libsvmx._solvers.path.margin_factor cimport add_margin_rows, clear_margin, remove_from_margin, rescale_shift
from libsvmx._solvers.path.motion cimport Motion
from libsvmx._solvers.path.path_state cimport AT_LOWER, AT_UPPER, JOINING, LEAVING, MARGIN, PathState
from libsvmx._solvers.path.refinement cimport recompute_F, refine, repair, row_if_free, set_levels_of_free
from libsvmx._solvers.path.trace cimport Trace
from libsvmx._solvers.smo.double_smo cimport smo_in_double, restore_sums

from libsvmx._solvers.path.path_state import PathLong, PathLost


cdef double ULP = 2.0 ** -52
# Tolerances of a path that the gap of what it has left may take, if F is computed from nothing.
cdef double NEARLY = 4.0


cdef class Path:
    """Path(per_row, budget_bytes, groups=1): the optimum of no rows, and how it moves.

    ``totals`` of its methods is what the sum of beta over each group has to be, a tuple of float.

    Attributes
    ----------
    state : PathState      the optimum; rows join it by ``state.append`` before ``update``, and are gone after
        ``state.discard``; ``state.mark`` and ``state.rollback`` make a change that can be taken back
    motion : Motion        its counts tell what the last call took
    """

    def __cinit__(self, int per_row, double budget_bytes, int groups=1):
        self.state = PathState(per_row, budget_bytes, groups)
        self.motion = Motion(self.state)

    def start(self, beta, totals, Control control):
        """The optimum from ``beta`` near it (buffer of float64, shape (per_row * n,)), within bounds and with
        sums ``totals``.

        Raises
        ------
        PathLost; Stopped; KeyboardInterrupt or what else a signal handler raises; MemoryError
        """
        self.approach(beta, totals, control)
        self.finish()

    def approach(self, beta, totals, Control control):
        """``beta``, cut to its bounds, and K beta of it; ``finish`` must follow. Raises as ``start``, but PathLost."""
        cdef PathState s = self.state
        cdef const double[::1] given = beta
        cdef Py_ssize_t v
        check_length(given.shape[0], s.per_row * s.n)
        s.set_totals(totals)
        for v in range(s.per_row * s.n):
            s.beta[v] = min(max(given[v], s.lower[v]), s.upper[v])
        self.motion.begin(control)
        clear_margin(s)
        recompute_F(self.motion, True)

    def finish(self):
        """From where ``approach`` has left off to the optimum. Raises as ``start``."""
        refine(self.motion, True)

    def copy(self, budget_bytes=None):
        """A path of its own, without the kernel rows that are kept; ``budget_bytes`` for its own, None: as many."""
        cdef Path other = Path.__new__(Path, self.state.per_row, 0.0, self.state.groups)
        other.state = self.state.copy(budget_bytes)
        other.motion = Motion(other.state)
        return other

    def update(self, Py_ssize_t n_fresh, gone, totals, Control control, double most_work=INFINITY):
        """The optimum with the last ``n_fresh`` rows and without the rows ``gone`` (buffer of int32), which stay, with
        beta = 0, until ``state.discard``; the sums of beta are to be ``totals``.

        Raises PathLong where it would take more than ``most_work`` (``motion.work``); else as ``start``.
        """
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, v, h, n_members = 0
        self.begin(control)
        motion.most_work = most_work
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                n_members += s.place[s.per_row * leaving[k] + h] >= 0
        if <double>n_members * s.factor.size * s.factor.size > most_work:
            self.leave(gone)
            raise PathLong("many rows leave the margin")
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                v = s.per_row * leaving[k] + h
                if s.place[v] >= 0:
                    motion.tick(s.factor.size * s.factor.size)
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
        motion.most_work = INFINITY
        for v in range(s.per_row * s.n):
            if s.where[v] == JOINING:
                motion.fix_at_bound(v, s.upper[v] > 0)
            elif s.where[v] == LEAVING:
                motion.round_to(v, 0.0)
                s.lower[v] = s.upper[v] = s.linear[v] = 0.0
        repair(motion)

    def leave(self, gone):
        """The rows ``gone`` (buffer of int32) are to leave: what ``dual`` and ``near`` ask where no path has begun."""
        cdef PathState s = self.state
        cdef const int32_t[::1] leaving = gone
        cdef Py_ssize_t k, h
        clear_margin(s)
        for k in range(leaving.shape[0]):
            for h in range(s.per_row):
                s.assign(s.per_row * leaving[k] + h, LEAVING)

    def dual(self):
        """The DualProblem of all rows, at beta as it is, whose scores are known; LEAVING ones have no box."""
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
        bounds and with sums ``totals``. What has kernel rows to do is what differs. Raises as ``start``."""
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
                svmx_axpy(n, change, row_if_free(s, <int32_t>p), &s.F[0])
                motion.tick(n)
                moved += fabs(change)
        s.drift += ULP * s.largest * moved
        s.set_totals(totals)
        refine(motion, False)

    cdef int begin(self, Control control) except -1:
        """At rest at the optimum, from where a path can lead."""
        self.motion.begin(control)
        rescale_shift(self.state)
        if self.state.inexact:
            raise PathLost("the last optimum was not exact")
        return self.motion.reset()

    cdef int set_joining(self, Py_ssize_t n_fresh) except -1:
        """A: those of the last rows whose V asks for another bound than 0, where they are."""
        cdef PathState s = self.state
        cdef Py_ssize_t v
        cdef double excess
        for v in range(s.per_row * (s.n - n_fresh), s.per_row * s.n):
            if s.where[v] == LEAVING:
                continue
            excess = s.excess(v)
            if (s.lower[v] < 0 and excess < 0) or (s.upper[v] > 0 and excess > 0):
                s.assign(v, JOINING)
        return 0

    def rescale(self, lower, upper, double ratio, Control control, Trace trace=None, double first=1.0,
                double last=1.0):
        """The optimum with the bounds ``lower`` and ``upper`` (buffers of float64, shape (per_row * n,)), which are
        those there are times ``ratio`` > 0 but for rounding, as are the sums. Raises as ``start``.

        ``trace`` writes down the lines of the way, as those from C ``first`` to ``last``.
        """
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef Py_ssize_t v, m = s.per_row * s.n
        cdef const double[::1] final_lower = lower, final_upper = upper
        check_length(final_lower.shape[0], m)
        check_length(final_upper.shape[0], m)
        self.begin(control)
        if trace is not None:
            trace.begin(s, first, last)
        motion.trace = trace
        for v in range(m):
            motion.dlower[v], motion.dupper[v] = final_lower[v] - s.lower[v], final_upper[v] - s.upper[v]
        self.move_with_bounds(ratio)
        follow(motion)
        motion.bounds_move, motion.trace = False, None
        s.lower[:m], s.upper[:m] = final_lower, final_upper
        for v in range(m):
            if s.where[v] == AT_LOWER:
                motion.round_to(v, s.lower[v])
            elif s.where[v] == AT_UPPER:
                motion.round_to(v, s.upper[v])
        repair(motion)

    def stand(self, double C, Trace trace, Control control):
        """``trace`` writes down where the path is, as a line of length 0 at C. Raises as ``start``."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        motion.begin(control)
        motion.reset()
        s.dbeta[:s.factor.size], motion.dF[:s.n] = 0.0, 0.0
        trace.begin(s, C, C)
        trace.line(s, &motion.velocity[0], &motion.dF[0], 0.0, 0.0, 0.0, -s.level[0], 0.0, False)

    cdef int move_with_bounds(self, double ratio) except -1:
        """The moving set are all variables at bounds but 0."""
        cdef PathState s = self.state
        cdef Motion motion = self.motion
        cdef Py_ssize_t v, p
        cdef int g
        cdef double reach
        motion.bounds_move = True
        for g in range(s.groups):
            s.total[g] *= ratio
        motion.need_sums()
        for v in range(s.per_row * s.n):
            if s.where[v] != MARGIN and s.beta[v] != 0.0:
                motion.velocity[v] = (ratio - 1.0) * s.beta[v]
                motion.sum_residual[s.group[v]] -= motion.velocity[v]
                motion.speed_outside += fabs(motion.velocity[v])
        # sum over the bounded of beta K = F - sum over M: no kernel row is needed
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
        return motion.sum_anew_if_stale()

    def by_smo(self, gone, totals, double eps, Control control, lower=None, upper=None):
        """As ``update``, or as ``rescale`` to bounds ``lower`` and ``upper``, to a gap of ``eps``, by SMO from beta as
        it is: where no path leads on. Raises as ``start``."""
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
        if lower is not None:
            memoryview(s.lower)[:m] = lower
            memoryview(s.upper)[:m] = upper
        for v in range(m):
            s.beta[v] = min(max(s.beta[v], s.lower[v]), s.upper[v])
        self.restore_sums_at(totals)
        smo_in_double(s, max(eps, motion.tolerance()), control)
        recompute_F(motion, True)
        try:
            refine(motion, True)
        except PathLost:
            self.let_go()
            self.restore_sums_at(totals)
            smo_in_double(s, max(eps, motion.tolerance()), control)
            recompute_F(motion, True)
            if not self.is_near(eps):
                raise

    def accept(self, beta, totals, double eps, Control control):
        """``beta`` as it is, where no path leads on from there, if it is as near the optimum as any path or SMO to
        ``eps`` has left it; returns whether it is. Raises as ``start``, but PathLost."""
        self.approach(beta, totals, control)
        self.let_go()
        return self.is_near(eps)

    cdef int let_go(self) except -1:
        """No margin, all rows."""
        cdef PathState s = self.state
        cdef Py_ssize_t v
        clear_margin(s)
        for v in range(s.per_row * s.n):
            if s.where[v] != LEAVING:
                s.assign_bound(v)
        s.active = s.n  # the path may have been lost with rows shrunk

    cdef bint is_near(self, double eps) except -1:
        """Whether beta, at rest with the right F, may stand for an optimum: as near as SMO comes to it, or a path, to
        which F is right within its tolerance."""
        cdef PathState s = self.state
        s.inexact = True
        self.motion.reset()
        set_levels_of_free(self.motion)
        self.motion.reset()  # rho may be its scale
        return s.kkt_gap() <= eps + NEARLY * self.motion.tolerance()

    cdef int restore_sums_at(self, totals) except -1:
        """beta with the sums ``totals``, and F of it."""
        self.state.set_totals(totals)
        if not restore_sums(self.state):
            raise PathLost("no variable can make up for the sum")
        return recompute_F(self.motion, True)

    def check(self, Control control):
        """Compute V from nothing, and repair what has drifted. Returns the gap that was found before the repair."""
        self.motion.begin(control)
        recompute_F(self.motion, True)
        found = self.state.kkt_gap()
        refine(self.motion, True)
        return found


def check_length(Py_ssize_t length, Py_ssize_t expected):
    """Raise ValueError for a buffer of the wrong length."""
    if length != expected:
        raise ValueError(f"a buffer has length {length}, not {expected}")


def interleaved(values, Py_ssize_t n):
    """Values by variable (buffer of float64, shape (per_row * n,)) in the order of a path, both variables of a row
    together, from that of a DualProblem, where all first ones come before all second ones."""
    cdef const double[::1] given = values
    cdef Py_ssize_t p, h, per_row = given.shape[0] // max(n, 1)
    out_ = zeros("d", given.shape[0])
    cdef double[::1] out = out_
    for p in range(n):
        for h in range(per_row):
            out[per_row * p + h] = given[h * n + p]
    return out_
