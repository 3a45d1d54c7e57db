"""Sequential minimal optimisation with the same iterates as LIBSVM 3.37.

Working set selection by second order information (Fan, Chen & Lin, JMLR 6, 2005, WSS 2),
shrinking as in LIBSVM (Chang & Lin, ACM TIST 2, 2011, section 5). In scores V = -y G, free of labels:

    i = argmax_{I_up} V                    I_up: alpha can grow (y = +1) or fall (y = -1)
    j = argmin_{I_low, V_j < V_i}  -(V_i - V_j)^2 / (K_ii + K_jj - 2 K_ij)
    V -= K_i dbeta_i + K_j dbeta_j         until  V_i - min_{I_low} V < eps

Variables are stored at positions (positions.pyx); ``variable`` (LIBSVM's active_set) maps a position to its variable.
Shrinking swaps positions exactly as LIBSVM does, since the last position wins a tie, and sums are in LIBSVM's order.
With two groups (nu-SVC, nu-SVR; LIBSVM's Solver_NU) all is per label: group 0 is y = +1, group 1 is y = -1.

LIBSVM's names: alpha, y, C (get_C), QD, G_bar, active_size, select_working_set, be_shrunk, reconstruct_gradient,
calculate_rho, update_status (update_alpha_status; writes the tables ``up`` and ``low``).
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, int64_t

from libsvmx._core.arrays cimport memory
from libsvmx._core.dispatch cimport SVMX_TAU, svmx_axpy_row, svmx_max_violator, svmx_pairing
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.stopping cimport MARK_FEW_FREE, MARK_STEP, MARK_UNSHRINK, Control
from libsvmx._kernels.kernel_matrix cimport Kernel
from libsvmx._kernels.rowstore cimport KernelRows, RowStore
from libsvmx._solvers.dual cimport USUAL_EPS, Certificate, DualProblem, DualSolution, certify, gap_of, score_rounding
from libsvmx._solvers.smo.positions cimport AlphaForm, DeferredUpdates, GBar, PositionsWithRows, Scans

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx.enums import SolveStatus

cdef int64_t SHRINK_EVERY = 1000
# Work of a step in values: per active variable the update by two rows, and two passes of selection for each group; and
# a constant, as that of this number of variables. Measured on 14 sets of 200 to 1,800 rows, two choices of parameters
# each: a value takes 0.22 to 0.48 ns. (By all variables instead of active ones it took 0.05 to 0.35 ns.)
cdef double VARIABLES_OF_A_STEP = 256.0
# Distance from a bound that is rounding: as a share of the box, and in the decision values, as a share of ``eps``.
cdef double BESIDE = 1e-12
cdef double UNSEEN = 1e-3


def solve(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1):
    """Solve ``problem`` with at most ``budget_bytes`` of stored kernel rows; returns a DualSolution.

    The solution does not depend on ``n_threads``.

    Raises
    ------
    KeyboardInterrupt, or another exception of a signal handler; MemoryError
    """
    return Smo(problem, kernel, budget_bytes, control, n_threads).run()


cdef class Smo(PositionsWithRows):
    def __init__(self, DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1):
        cdef Py_ssize_t p, v, m = problem.size
        cdef const int32_t[::1] kernel_row = problem.row
        cdef const double[::1] linear = problem.linear
        cdef double[::1] diagonal = kernel.diagonal
        cdef AlphaForm start = AlphaForm(problem)
        self.control = control
        self.make_room(m, problem.groups)
        self.begin(m, kernel.n, problem.groups)
        cdef const int32_t[::1] order = self.starting_order(problem)
        row_ = zeros("i", m)
        cdef int32_t[::1] row = row_
        for p in range(m):
            v = order[p]
            row[p] = kernel_row[v]
            self.put(p, <int32_t>v, linear[v], start.alpha[v], start.C[v], start.y[v], diagonal[row[p]])
        pool = ThreadPool(n_threads)
        self.store, self.scans = RowStore(kernel, budget_bytes, row_, pool, self.active_size), Scans(m, pool)

    cdef int make_room(self, Py_ssize_t m, int groups) except -1:
        """Allocate for at most m variables."""
        self.hold(m, groups)
        self.shrunk = memory("i", m)
        self.missed = DeferredUpdates()
        return 0

    cdef int solve_many(self, Py_ssize_t m, Control control, KernelRows store) except -1:
        """Instead of the constructor: for many problems of at most m variables over ``store``, each set by ``begin`` and
        ``put``."""
        self.control, self.store, self.scans = control, store, Scans(m, store.pool)
        return self.make_room(m, 2)

    cdef void begin(self, Py_ssize_t m, Py_ssize_t n_rows, int groups) noexcept nogil:
        """Start a problem of m variables over ``n_rows`` kernel rows; ``put`` sets each position."""
        self.clear(m, groups)
        self.n_rows, self.countdown, self.reach, self.max_violator = n_rows, 0, 0.0, -2
        self.unshrunk_once = self.scores_known = False
        self.end_direction()  # of a solve that an exception has ended
        self.count_anew()

    cdef void count_anew(self) noexcept nogil:
        """Begin to count iterations, for limits and for ``stalls``."""
        self.iterations, self.stepped, self.stalled = 0, 0, False
        self.next_look, self.least_gap, self.last_gap = libsvms_limit(self.size), HUGE_VAL, HUGE_VAL

    cdef object starting_order(self, DualProblem problem):
        """The variable at each position."""
        return ramp(self.total)

    cdef int optimize(self) except -1 nogil:
        """1 if optimal, 0 if a limit ended it."""
        if not self.size:
            return 1
        self.control.poll()
        self.add_start()
        return self.iterate(self.limit())

    cdef int64_t limit(self) noexcept nogil:
        """The largest number of iterations."""
        return self.control.max_iter if self.control.max_iter != 0 else libsvms_limit(self.size)

    def run(self):
        cdef bint converged
        with nogil:
            converged = self.optimize()
        return self.ended(converged)

    def advance(self, int64_t limit):
        """The steps of ``run``, until ``limit`` in all calls together; whether the optimum is reached."""
        cdef bint converged
        with nogil:
            converged = self.advance_to(limit)
        return bool(converged)

    cdef int advance_to(self, int64_t limit) except -1 nogil:
        """``advance``."""
        if not self.size:
            return 1
        if self.countdown == 0:
            self.countdown = self.between_shrinkings() + 1
            self.control.poll()
            self.add_start()
        return self.make_steps(limit)

    def finish(self, bint converged):
        """The DualSolution after ``advance``."""
        with nogil:
            self.bring_back()
        return self.ended(converged)

    @property
    def most_steps(self):
        """LIBSVM's limit, regardless of ``control``."""
        return libsvms_limit(self.size)

    @property
    def gap(self):
        """The KKT gap of the active variables before the last step."""
        return self.control.gap

    @property
    def was_stopped(self):
        """Whether a time limit or the observer has ended it; ``control.stopped`` does not say so in a queue."""
        return bool(self.control.expired)

    @property
    def n_free(self):
        """``count_free``."""
        return self.count_free()

    cdef Py_ssize_t count_free(self) noexcept nogil:
        """Number of free active variables."""
        cdef Py_ssize_t p, n = 0
        for p in range(self.active_size):
            n += self.is_free(p)
        return n

    cdef object ended(self, bint converged):
        if self.control.by_r:
            with nogil:
                converged = self.refined_by_r(self.control.eps, converged)
        return self.solution(SolveStatus.CONVERGED if converged else self.control.stopped or self.unfinished())

    cdef bint refined_by_r(self, double eps, bint converged) except -1 nogil:
        """Go on from an optimum to ``eps``, to ``tolerance_by_r``, which ``control`` then has; whether it is
        reached."""
        cdef double finer
        cdef int64_t begun = self.iterations, steps = max(self.iterations, <int64_t>self.size)
        cdef int64_t most = min(begun + MOST_REFINING * steps, self.limit())
        while converged:
            finer = tolerance_by_r(eps, self.r(), self.rounding())
            if finer >= self.control.eps:
                self.stalled = not self.control.gap < fabs(self.r())  # decision values are not determined
                return not self.stalled
            self.control.eps = finer
            converged = self.iterate(most)
            if not converged and self.iterations >= most and self.control.gap < KNOWN_R * fabs(self.r()):
                most = min(begun + MOST_WITH_R * steps, self.limit())
                converged = self.iterate(most)
        return False

    cdef object unfinished(self):
        """Status if ``iterate`` ended before the optimum, and not by ``control``."""
        return SolveStatus.ROUNDING if self.stalled else SolveStatus.ITERATION_LIMIT

    # ---- the iteration ----------------------------------------------------------------

    cdef int iterate(self, int64_t limit) except -1 nogil:
        """1 if optimal, 0 if a limit ended it; all variables are active afterwards."""
        self.countdown = self.between_shrinkings() + 1
        if self.make_steps(limit):
            return 1
        self.bring_back()
        return 0

    cdef int64_t between_shrinkings(self) noexcept nogil:
        """Steps from one shrinking to the next."""
        return min(self.size, SHRINK_EVERY)

    cdef int make_steps(self, int64_t limit) except -1 nogil:
        """``iterate``, but shrunk variables stay shrunk if a limit ends it."""
        cdef Py_ssize_t i = 0, j = 0
        while self.iterations < limit and not self.control.expired:
            self.countdown -= 1
            if self.countdown == 0:
                self.end_direction()
                self.countdown = self.between_shrinkings()
                if self.control.shrinking:
                    self.shrink()
                self.control.mark(MARK_STEP)
                if limit > libsvms_limit(self.size) and self.control.eps < USUAL_EPS and self.stalls():
                    return 0
            if not self.select_working_set(&i, &j):
                self.end_direction()
                self.unshrink()
                self.control.mark(MARK_UNSHRINK)
                if not self.select_working_set(&i, &j):
                    return 1
                self.countdown = 1  # shrink in the next iteration
            self.iterations += 1
            self.stepped += self.active_size
            self.step(i, j)
        self.end_direction()
        return 0

    cdef bint stalls(self) noexcept nogil:
        """Whether rounding hides what is left: the gap has not halved while the number of iterations has doubled, from
        LIBSVM's limit on, and is less than the error of scores. Kernel values in float need not be positive
        semidefinite, and then steps go on where there is nothing to gain. Asked only for less than the usual tolerance,
        and without LIBSVM's limit, which ends such a solve."""
        self.least_gap = min(self.least_gap, self.control.gap)
        if self.iterations < self.next_look:
            return False
        self.stalled = 2.0 * self.least_gap > self.last_gap
        self.last_gap, self.least_gap, self.next_look = self.least_gap, HUGE_VAL, 2 * self.iterations
        if self.stalled:
            self.stalled = self.last_gap <= self.rounding()
        return self.stalled

    cdef double rounding(self) noexcept nogil:
        """``score_rounding`` of the current scores."""
        cdef double largest = 0.0, squares = 0.0
        cdef Py_ssize_t p
        for p in range(self.size):
            squares += self.alpha[p] * self.alpha[p]
            largest = max(largest, fabs(self.QD[p]))
        return score_rounding(largest, squares)

    cdef int bring_back(self) except -1 nogil:
        """Unshrink, and mark it on ``control``."""
        if self.active_size < self.size:
            self.unshrink()
            self.control.mark(MARK_UNSHRINK)
        return 0

    cdef int select_working_set(self, Py_ssize_t *i, Py_ssize_t *j) except -1 nogil:
        """1 and the pair (i, j) to move, or 0 if the active part is optimal to eps."""
        cdef int g
        cdef Py_ssize_t violator[2]
        cdef Py_ssize_t partner = -1, candidate
        cdef double best = -HUGE_VAL, gain, gap = -HUGE_VAL, gap_of_group
        cdef svmx_pairing pair
        pair.V, pair.QD, pair.unit = &self.V[0], &self.QD[0], self.unit_diagonal
        for g in range(self.groups):
            if g == 0 and self.max_violator >= -1:
                violator[g], pair.Vmax = self.max_violator, self.max_score
            else:
                violator[g] = svmx_max_violator(self.active_size, &self.V[0], &self.up[g, 0], &pair.Vmax)
            if violator[g] < 0:
                continue
            pair.low, pair.K, pair.QD_i = &self.low[g, 0], self.violator_row(violator[g], g), self.QD[violator[g]]
            candidate = self.scans.partner(&pair, self.active_size, self.control.eps, &gain, &gap_of_group)
            gap = max(gap, gap_of_group)
            if candidate >= 0 and (gain > best or (gain == best and candidate > partner)):
                best, partner = gain, candidate
                i[0] = violator[g]
        self.control.gap = gap
        if gap < self.control.eps or partner < 0:
            return 0
        j[0] = partner
        return 1

    cdef int step(self, Py_ssize_t i, Py_ssize_t j) except -1 nogil:
        """Move alpha_i and alpha_j, with ``direction`` those before them, too."""
        cdef int64_t values_before = self.store.kernel.values_computed
        cdef int g = 0 if self.groups == 1 or self.y[i] > 0 else 1
        cdef const float *K_i = self.violator_row(i, g)
        cdef const float *K_j = self.partner_row(j, g, i, K_i)
        cdef bint was_upper_i = self.alpha[i] >= self.C[i], was_upper_j = self.alpha[j] >= self.C[j]
        cdef double curvature = self.QD[i] + self.QD[j] - 2 * K_i[j]
        if curvature <= 0:
            curvature = SVMX_TAU
        if self.direction is None or not self.direction.step(self, i, j, K_i, K_j, curvature):
            self.step_of_pair(i, j, K_i, K_j, curvature)
        else:  # the reach of the others is not known
            self.reach, self.max_violator, self.max_score = 1.0, self.direction.max_violator, self.direction.max_score
        if self.control.shrinking:
            self.update_G_bar(i, was_upper_i)
            self.update_G_bar(j, was_upper_j)
        return self.control.worked(3 * self.active_size + 4 * (self.store.kernel.values_computed - values_before))

    cdef void step_of_pair(self, Py_ssize_t i, Py_ssize_t j, const float *K_i, const float *K_j,
                           double curvature) noexcept nogil:
        """Minimise over alpha_i and alpha_j, clip to the box in LIBSVM's order, update V."""
        cdef double C_i = self.C[i], C_j = self.C[j], old_i = self.alpha[i], old_j = self.alpha[j]
        cdef double new_i = old_i, new_j = old_j, delta, diff, total
        if self.y[i] != self.y[j]:
            delta = (self.y[i] * self.V[i] + self.y[j] * self.V[j]) / curvature
            diff = old_i - old_j
            new_i += delta
            new_j += delta
            if diff > 0:
                if new_j < 0:
                    new_j, new_i = 0, diff
            elif new_i < 0:
                new_i, new_j = 0, -diff
            if diff > C_i - C_j:
                if new_i > C_i:
                    new_i, new_j = C_i, C_i - diff
            elif new_j > C_j:
                new_j, new_i = C_j, C_j + diff
        else:
            delta = (self.y[j] * self.V[j] - self.y[i] * self.V[i]) / curvature
            total = old_i + old_j
            new_i -= delta
            new_j += delta
            if total > C_i:
                if new_i > C_i:
                    new_i, new_j = C_i, total - C_i
            elif new_j < 0:
                new_j, new_i = 0, total
            if total > C_j:
                if new_j > C_j:
                    new_j, new_i = C_j, total - C_j
            elif new_i < 0:
                new_i, new_j = 0, total
        self.alpha[i], self.alpha[j] = new_i, new_j
        if new_i > self.reach * C_i:
            self.reach = new_i / C_i
        if new_j > self.reach * C_j:
            self.reach = new_j / C_j
        self.update_status(i)
        self.update_status(j)
        if self.direction is not None and self.is_free(i) and self.is_free(j):
            self.direction.begin(self, i, j, K_i, K_j, curvature, self.y[i] * (new_i - old_i))
            self.max_violator, self.max_score = self.direction.max_violator, self.direction.max_score
            return
        self.max_violator = self.scans.update_max_violator(self.active_size, &self.V[0], K_i, K_j,
                                                           self.y[i] * (new_i - old_i),
                                                           self.y[j] * (new_j - old_j), &self.up[0, 0], &self.max_score)

    cdef void end_direction(self) noexcept nogil:
        """Let the next step be that of a pair; alpha is then up to date."""
        if self.direction is not None:
            self.direction.end(self)

    cdef int update_G_bar(self, Py_ssize_t p, bint was_upper) except -1 nogil:
        """Update G_bar if position p has reached or left its upper bound."""
        cdef bint upper = self.alpha[p] >= self.C[p]
        if upper != was_upper:
            self.G_bar.add(self.store.index[p], -self.y[p] * self.C[p] if upper else self.y[p] * self.C[p],
                           self.store, self.control)
        return 0

    cdef int before_rows(self) except -1 nogil:
        return self.G_bar.before_rows(self.store, self.control) if self.G_bar is not None else 0

    cdef int add_start(self) except -1 nogil:
        """V and G_bar of the initial alpha; incomplete if a limit ends it, and then no step follows.

        In a queue, whose solves are short, it is always completed.
        """
        cdef Py_ssize_t p
        cdef bint may_end = self.G_bar is None
        if self.G_bar is None:
            with gil:
                self.G_bar = GBar(self.n_rows, self.size)
        else:
            self.G_bar.begin(self.n_rows)
        for p in range(self.size):
            if self.alpha[p] > 0 or self.alpha[p] >= self.C[p]:
                if may_end and self.control.expired:
                    return 0
                self.reach = 1.0
                if not self.scores_known:
                    if self.store.to_compute(self.store.index[p]):
                        self.before_rows()
                        if self.store.together(True) > 1:
                            self.fetch_next(p)
                    svmx_axpy_row(self.size, -self.y[p] * self.alpha[p], self.store.row(p), &self.V[0])
                if self.control.shrinking:
                    self.update_G_bar(p, False)
                self.control.worked(5 * (1 if self.scores_known else self.size))
        return 0

    # ---- shrinking -----------------------------------------------------------------------

    cdef int shrink(self) except -1 nogil:
        """Shrink variables that are likely to stay at a bound, in LIBSVM's order of swaps."""
        cdef Certificate found[2]
        cdef Py_ssize_t p
        cdef double gap = self.certify(found)
        if self.store.is_crowded():
            if self.G_bar is not None:
                self.G_bar.clear(self.store, self.control)
            self.store.shorten()
        if not self.unshrunk_once and gap <= self.control.eps * 10:
            self.unshrunk_once = True
            self.unshrink()
            if self.groups == 1:  # LIBSVM's nu solver prints nothing here
                self.control.mark(MARK_UNSHRINK)
        p = 0
        while p < self.active_size:
            if self.be_shrunk(p, found):
                self.active_size -= 1
                while self.active_size > p:
                    if not self.be_shrunk(self.active_size, found):
                        self.swap(p, self.active_size)
                        break
                    self.active_size -= 1
            p += 1
        self.store.resize(self.active_size)
        self.max_violator = -2
        return 0

    cdef double certify(self, Certificate *found) noexcept nogil:
        """The certificate of each group over the active positions; returns the gap."""
        cdef double gap = -HUGE_VAL
        cdef int g
        for g in range(self.groups):
            certify(&found[g], self.active_size, &self.V[0], &self.up[g, 0], &self.low[g, 0])
            gap = max(gap, gap_of(&found[g]))
        return gap

    cdef bint be_shrunk(self, Py_ssize_t p, const Certificate *found) noexcept nogil:
        """Whether position p is at a bound and in no violating pair."""
        cdef int g = 0 if self.groups == 1 or self.y[p] > 0 else 1
        if self.up[g, p] != 0:
            return self.V[p] > found[g].highest
        if self.low[g, p] != 0:
            return self.V[p] < found[g].lowest
        return False

    cdef int swap(self, Py_ssize_t a, Py_ssize_t b) except -1 nogil:
        self.store.swap(a, b)
        self.exchange(a, b)
        return 0

    cdef int unshrink(self) except -1 nogil:
        """Make all variables active again."""
        if self.active_size < self.size:
            self.reconstruct_gradient()
        self.active_size = self.size
        self.store.resize(self.size)
        self.max_violator = -2
        return 0

    cdef int reconstruct_gradient(self) except -1 nogil:
        """V of the shrunk positions, from G_bar and the free variables."""
        cdef int64_t n_free = self.count_free()
        if 2 * n_free < self.active_size:
            self.control.mark(MARK_FEW_FREE)
        self.add_deferred(n_free)
        return 0

    cdef int add_deferred(self, int64_t n_free) except -1 nogil:
        """Make the deferred updates of the shrunk positions; ``n_free`` active variables are free."""
        cdef Py_ssize_t p, n_shrunk = self.size - self.active_size
        cdef const int32_t *row = &self.store.index[0]
        # LIBSVM's choice of the cheaper: a row per shrunk position or per free variable. Terms and order are the
        # same; results differ only for an asymmetric precomputed kernel.
        cdef bint by_shrunk_row = n_free * self.size > 2 * self.active_size * n_shrunk
        for p in range(n_shrunk):
            self.shrunk[p] = <int32_t>(self.active_size + p)
        self.G_bar.make_current(self.store, &self.shrunk[0], n_shrunk, self.control)
        self.missed.n = 0
        for p in range(self.active_size, self.size):
            self.V[p] = self.G_bar.scores[row[p]] + self.linear[p]
        for p in range(self.active_size):
            if self.is_free(p):
                self.missed.add(row[p], -self.y[p] * self.alpha[p])
        return self.missed.apply(0, self.store, &self.shrunk[0], n_shrunk, &self.V[self.active_size], not by_shrunk_row,
                                 self.control)

    # ---- the solution ----------------------------------------------------------------------

    cdef double calculate_rho(self, int g) noexcept nogil:
        """LIBSVM's rho of one group: the mean over free variables of y G (of G, with two groups), else the
        middle of the bounds."""
        cdef double ub = HUGE_VAL, lb = -HUGE_VAL, total = 0, value
        cdef int64_t n_free = 0
        cdef Py_ssize_t p
        cdef bint in_up, in_low, one_group = self.groups == 1
        for p in range(self.size):
            in_up, in_low = self.up[g, p] == 0, self.low[g, p] == 0
            if not (in_up or in_low):
                continue  # of the other group, or closed
            # -y V may be -0 where LIBSVM's G is +0; adding 0 fixes the sign
            value = -self.y[p] * self.V[p] + 0.0
            if one_group:
                value = self.y[p] * value
            if in_up and in_low:
                n_free += 1
                total += value
            # ties keep the later value: +0 and -0 are equal, but printed differently
            elif in_up == (one_group or g == 0):
                ub = ub if ub < value else value
            else:
                lb = lb if lb > value else value
        return total / n_free if n_free > 0 else (ub + lb) / 2

    cdef void to_bounds(self) noexcept nogil:
        """Put alpha that rounding has left beside a bound, as it may after a warm start, on it: rho would be theirs.

        With a large C, coefficients that matter are beside 0, too; |K_ij| is at most the largest K_ii."""
        cdef Py_ssize_t p
        cdef double largest = 1.0
        for p in range(self.size):
            largest = max(largest, self.QD[p])
        for p in range(self.size):
            if self.is_free(p) and min(self.alpha[p], self.C[p] - self.alpha[p]) < min(
                    BESIDE * self.C[p], UNSEEN * self.control.eps / largest):
                self.alpha[p] = 0.0 if self.alpha[p] < 0.5 * self.C[p] else self.C[p]
                self.update_status(p)

    cdef double work(self) noexcept nogil:
        """The work of all steps, in values."""
        return (1 + 2 * self.groups) * (<double>self.stepped + VARIABLES_OF_A_STEP * <double>self.iterations)

    cdef double r(self) noexcept nogil:
        """Half the distance of the levels of two groups, by which nu-SVC divides its decision values."""
        return 0.5 * (self.calculate_rho(0) + self.calculate_rho(1))

    cdef void write(self, Optimum *found, double *beta, double *scores) noexcept nogil:
        """Write beta and scores, shape (total,), by variable; beta is 0 beyond ``size``."""
        cdef Py_ssize_t p
        cdef double r_positive, r_negative, objective = 0
        found.r = 0
        if self.groups == 1:
            found.rho = self.calculate_rho(0)
        else:
            r_positive, r_negative = self.calculate_rho(0), self.calculate_rho(1)
            found.r, found.rho = (r_positive + r_negative) / 2, (r_positive - r_negative) / 2
        for p in range(self.size):
            # alpha (G + p), with G = -y V and p = -y linear
            objective += self.alpha[p] * (-self.y[p] * self.V[p] - self.y[p] * self.linear[p])
            beta[self.variable[p]] = self.y[p] * self.alpha[p]
        for p in range(self.size, self.total):
            beta[self.variable[p]] = 0
        for p in range(self.total):
            scores[self.variable[p]] = self.V[p]
        found.objective = objective / 2

    cdef object solution(self, status, int64_t subproblems=0, int64_t fallbacks=0):
        cdef Optimum found
        beta, scores = zeros("d", self.total), zeros("d", self.total)
        cdef double[::1] beta_out = beta, scores_out = scores
        self.write(&found, &beta_out[0] if self.total else NULL, &scores_out[0] if self.total else NULL)
        return DualSolution(
            beta=beta, scores=scores, rho=found.rho, r=found.r, objective=found.objective, iterations=self.iterations,
            rows_computed=self.store.rows_computed, values_computed=self.store.kernel.values_computed, work=self.work(),
            subproblems=subproblems, fallbacks=fallbacks, reach=self.reach, status=status)


# ---- The end of nu-SVC in seeded cross-validations ---------------------------------------------------

# Lower limits of r as a factor of the tolerance, and of the tolerance.
cdef double LEAST_R = 1e-3
cdef double FINEST = 1e-7


cdef double tolerance_by_r(double eps, double r, double rounding=0.0) noexcept nogil:
    """Tolerance of a nu-SVC solve of a seeded cross-validation, whose decision values are divided by r: ``eps`` r, but
    not much finer than its steps can reach if r is tiny. If K is indefinite, r may be negative. ``rounding``: of its
    scores."""
    return max(eps * min(1.0, max(fabs(r), LEAST_R)), min(eps, max(FINEST, rounding)))


# Steps from eps to eps r at most, relative to those to eps, or to one of each variable if these are fewer. Measured in
# chains, on 48 problems of 13 sets of 208 to 400 rows: up to 1 / r = 1,000 all solves took up to 23, but for some of
# one set, 52; beyond, up to 400. With random labels, r about 0, 300 did not determine the decision values.
cdef int64_t MOST_REFINING = 30
# The same if r is known by then, the gap being less than so many r: of 24 problems of 2 features and 120 or 200 rows, nu
# .02 and .05, 12 had folds that the first limit ended, one has folds that this one ends.
cdef int64_t MOST_WITH_R = 1000
cdef double KNOWN_R = 10.0
