"""SMO from a warm start with known scores: a seeded fold, a larger C, rows added or removed.

The iteration is that of smo.pyx, and the optimum is LIBSVM's to eps, though the iterates differ:

* Scores are given, so no kernel row is computed for coefficients that do not change.
* Variables in no violating pair are shrunk before the first step, in a queue after SHRINK_FIRST steps.
* Scores of shrunk variables, and of fixed ones (lower = upper: held-out rows), are computed from the difference to the
  start, V = V_start - sum_j (beta_j - beta_j_start) K_j, which has few terms after a good start. There is no G_bar.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.dispatch cimport SVMX_TAU, svmx_axpy
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.kernel_matrix cimport Kernel
from libsvmx._solvers.dual cimport Certificate, Dual, DualProblem, add_variable, begin, gap_of, grow, width_of_rho
from libsvmx._solvers.path.path_state cimport PathState
from libsvmx._solvers.smo.smo cimport Optimum, Smo, libsvms_limit

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.machine import machine
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.dual import TOLERATED, gap_in_double
from libsvmx._solvers.path.path_state import PathLost

# Steps before the first shrinking in a queue, where a start is near the optimum, so that few variables move; then it is
# after twice as many, up to LIBSVM's number. With 20 or 40, rows that are gathered again cost what the steps save (7
# sets of 400 and 900 rows, a hundredth of them held out).
cdef int64_t SHRINK_FIRST = 100


def solve(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1):
    """Solve ``problem``, whose ``scores`` are those of its feasible ``beta``; returns a DualSolution.

    Its scores include those of fixed variables.

    Raises
    ------
    KeyboardInterrupt, or another exception of a signal handler; MemoryError
    """
    return WarmSmo(problem, kernel, budget_bytes, control, n_threads).run()


cdef class WarmSmo(Smo):
    cdef object starting_order(self, DualProblem problem):
        """Variables in violating pairs first, then other movable ones (shrunk), then fixed ones."""
        cdef const double[::1] lower = problem.lower, upper = problem.upper, beta = problem.beta, V = problem.scores
        cdef const int8_t[::1] group = problem.group
        cdef Py_ssize_t v, n_active = 0, n_shrunk = 0, n_out = 0
        cdef Certificate found[2]
        cdef int g
        cdef bint up, low
        order_, shrunk_, out_ = (zeros("i", self.total) for _ in range(3))
        cdef int32_t[::1] order = order_, shrunk = shrunk_, out = out_
        self.start_beta, self.start_scores = beta, V
        for g in range(2):
            begin(&found[g])
        for v in range(self.total):
            if lower[v] < upper[v]:
                add_variable(&found[group[v]], v, V[v], beta[v] < upper[v], beta[v] > lower[v], False)
        for v in range(self.total):
            g = group[v]
            up, low = beta[v] < upper[v], beta[v] > lower[v]
            if lower[v] >= upper[v]:
                out[n_out] = <int32_t>v
                n_out += 1
            elif self.control.shrinking and ((not up and V[v] > found[g].highest)
                                             or (not low and V[v] < found[g].lowest)):
                shrunk[n_shrunk] = <int32_t>v
                n_shrunk += 1
            else:
                order[n_active] = <int32_t>v
                n_active += 1
        order[n_active:n_active + n_shrunk] = shrunk[:n_shrunk]
        order[n_active + n_shrunk:] = out[:n_out]
        self.active_size, self.size = n_active, n_active + n_shrunk
        return order_

    cdef int add_start(self) except -1 nogil:
        cdef Py_ssize_t p
        self.reach, self.unshrunk_once = 1.0, True  # unknown for earlier iterations
        for p in range(self.total):
            self.V[p] = self.start_scores[self.variable[p]]
        return 0

    cdef int update_G_bar(self, Py_ssize_t p, bint was_upper) except -1 nogil:
        return 0

    cdef int before_rows(self) except -1 nogil:
        return 0

    cdef int add_deferred(self, int64_t n_free) except -1 nogil:
        return self.make_current(self.active_size, self.size)

    cdef int make_current(self, Py_ssize_t begin, Py_ssize_t end) except -1 nogil:
        """Compute V of positions [begin, end) from that of the start."""
        cdef Py_ssize_t p
        cdef double fall
        if begin == end:
            return 0
        for p in range(begin, end):
            self.shrunk[p - begin] = <int32_t>p
            self.V[p] = self.start_scores[self.variable[p]]
        self.missed.n = 0
        for p in range(self.size):
            fall = self.start_beta[self.variable[p]] - self.y[p] * self.alpha[p]
            if fall != 0:
                self.missed.add(self.store.index[p], fall)
        if self.missed.n and self.store.add_rows(self.missed.n, self.missed.source, self.missed.coef, self.missed.row,
                                                 begin, end - begin, &self.V[begin]):
            return self.control.worked(self.missed.n * (end - begin))
        return self.missed.apply(0, self.store, &self.shrunk[0], end - begin, &self.V[begin], True, self.control)

    cdef object solution(self, status, int64_t subproblems=0, int64_t fallbacks=0):
        self.to_bounds()
        self.make_current(self.size, self.total)
        return Smo.solution(self, status, subproblems, fallbacks)


cdef class QueuedWarmSmo(WarmSmo):
    """For many problems: see ``solve_many`` of Smo; ``start_beta``, ``start_scores`` and ``direction`` are set once."""

    cdef int add_start(self) except -1 nogil:
        WarmSmo.add_start(self)
        self.unshrunk_once = False
        self.store.shorten()  # no sum needs values of shrunk variables
        return 0

    cdef int64_t between_shrinkings(self) noexcept nogil:
        return min(Smo.between_shrinkings(self), max(SHRINK_FIRST, self.iterations))


# ---- A sequence of growing C -----------------------------------------------------------------------
#
# C-SVC and epsilon-SVR at growing C: one fold of a column of a grid search.
#
# Each optimum, scaled by ``grow`` of _solvers/dual, starts the next, larger C; variables keep their positions, and the
# store its rows. Rows to predict are variables with an empty box; their scores V = -K beta, computed from those at the
# previous optimum, give the decision values -V - rho.

def solve_growing(DualProblem problem, Py_ssize_t n_tests, Kernel kernel, double budget_bytes, Control control, growths,
                  int n_threads=1):
    """Solve ``problem``, then again with its box scaled by each of ``growths`` in turn.

    Parameters
    ----------
    problem : DualProblem       one group, start and sum of beta 0
    n_tests : int               rows to predict, after those of the problem in ``kernel``
    kernel : Kernel             of the rows of both
    growths : sequence of float     each at least 1

    Returns
    -------
    list of (values, width, iterations, seconds, converged), for the problem and each growth
        values: decision values of the rows to predict, float64, shape (n_tests,); width: of the interval of possible
        rho, not 0 only if all coefficients are at bounds; converged: also by the gap in double

    Raises
    ------
    Stopped, KeyboardInterrupt, or another exception of a signal handler; MemoryError
    """
    if problem.groups != 1:
        raise ValueError("sums of beta that grow with C have no start at a smaller one")
    cdef GrowingSmo smo = GrowingSmo(with_tests(problem, kernel.n - n_tests, n_tests), kernel, budget_bytes, control,
                                     n_threads)
    found = [smo.optimum()]
    for growth in growths:
        began = machine.perf_counter()
        smo.enlarge(growth)
        found.append(smo.optimum(began))
    return found


def with_tests(DualProblem problem, Py_ssize_t n_rows, Py_ssize_t n_tests):
    """``problem`` over ``n_rows`` rows, plus a variable with an empty box per row to predict, and V at beta = 0."""
    cdef Py_ssize_t m = problem.size, size = problem.size + n_tests
    linear, lower, upper, beta = (zeros("d", size) for _ in range(4))
    group, row = zeros("b", size), zeros("i", size)
    linear[:m], lower[:m], upper[:m], row[:m] = problem.linear, problem.lower, problem.upper, problem.row
    row[m:] = ramp(n_rows + n_tests)[n_rows:]
    return DualProblem(linear, lower, upper, group, row, beta, linear)


cdef class GrowingSmo(WarmSmo):
    def __init__(self, DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1):
        cdef Py_ssize_t m = problem.size
        WarmSmo.__init__(self, problem, kernel, budget_bytes, control, n_threads)
        lower, upper = zeros("d", m), zeros("d", m)
        lower[:], upper[:] = problem.lower, problem.upper
        self.linear_of, self.lower, self.upper, self.given = problem.linear, lower, upper, problem
        self.kept_beta, self.kept_scores = zeros("d", m), zeros("d", m)
        self.box = Dual(m, &self.linear_of[0], &self.lower[0], &self.upper[0], NULL, NULL, NULL)
        self.add_start()

    cdef object optimum(self, began=None):
        """Solve from the current alpha; an entry of the list of ``solve_growing``. Raises Stopped."""
        cdef bint converged = True
        cdef Py_ssize_t p
        cdef Optimum found
        began = machine.perf_counter() if began is None else began
        self.count_anew()
        with nogil:
            if self.size:
                converged = self.iterate(self.limit())
        if self.control.stopped:
            raise Stopped(self.control.stopped)
        self.make_current(self.size, self.total)
        self.write(&found, &self.kept_beta[0], &self.kept_scores[0])
        values_ = zeros("d", self.total - self.size)
        cdef double[::1] values = values_
        for p in range(self.size, self.total):
            values[p - self.size] = -self.V[p] - found.rho
        width = width_of_rho(&self.box, &self.kept_beta[0], &self.kept_scores[0])
        seconds = machine.perf_counter() - began
        problem = DualProblem(self.linear_of, self.lower, self.upper, self.given.group, self.given.row, self.kept_beta)
        gap = gap_in_double(problem, self.store.kernel, self.kept_beta, self.control) if converged else None
        converged = converged and (gap is None or gap <= TOLERATED * self.control.eps)
        return values_, width, self.iterations, seconds, converged

    cdef int enlarge(self, double growth) except -1:
        """Scale the box by ``growth``, and set the start in it."""
        cdef Py_ssize_t p, v
        for v in range(self.total):
            self.lower[v] *= growth
            self.upper[v] *= growth
        grow(&self.box, 1, &self.kept_beta[0], &self.kept_scores[0], growth, &self.kept_beta[0], &self.kept_scores[0])
        for p in range(self.total):
            v = self.variable[p]
            self.V[p] = self.kept_scores[v]
            if p < self.size:
                self.C[p] *= growth
                self.alpha[p] = self.y[p] * self.kept_beta[v] + 0.0
                self.update_status(p)
        self.max_violator = -2
        self.start_beta, self.start_scores = self.kept_beta, self.kept_scores
        if self.control.shrinking:
            with nogil:
                self.shrink()
        return 0


# ---- SMO in double over the state of a path --------------------------------------------------------
#
# For kernels that are not positive semidefinite, where a path may not continue: working sets of Fan, Chen & Lin (2005,
# WSS 2), both variables in one group, on V and the path's kernel matrix, both in double (smo.pyx rounds it to float).

cdef int smo_in_double(PathState state, double eps, Control control) except -1:
    """Move beta and F of ``state`` until the gap is at most ``eps`` or LIBSVM's limit of iterations is reached."""
    cdef Py_ssize_t v, i, j, m = state.per_row * state.n
    cdef int g, h = state.per_row
    cdef double V, highest, gain, best, curvature, step
    cdef Certificate found, other
    cdef const double *K
    cdef double[::1] F = state.F, beta = state.beta, lower = state.lower, upper = state.upper, diagonal = state.diagonal
    cdef int64_t t
    for t in range(libsvms_limit(m)):
        g, found = 0, state.certificate(0)
        if state.groups > 1:
            other = state.certificate(1)
            if gap_of(&other) > gap_of(&found):
                g, found = 1, other
        if gap_of(&found) <= eps:
            return 0
        i, j, highest = found.max_violator, -1, found.highest
        K = state.row(<int32_t>(i // h))
        best = -1.0
        for v in range(m):
            V = state.score(v)
            if beta[v] > lower[v] and V < highest and state.group[v] == g:
                curvature = max(diagonal[i // h] + diagonal[v // h] - 2 * K[v // h], SVMX_TAU)
                gain = (highest - V) * (highest - V) / curvature
                if gain > best:
                    best, j = gain, v
        if j < 0:
            raise PathLost("scores are not finite")
        curvature = max(diagonal[i // h] + diagonal[j // h] - 2 * K[j // h], SVMX_TAU)
        step = min((highest - state.score(j)) / curvature, upper[i] - beta[i], beta[j] - lower[j])
        # exactly the bound, or rounding would select the pair again
        beta[i] = upper[i] if step == upper[i] - beta[i] else beta[i] + step
        beta[j] = lower[j] if step == beta[j] - lower[j] else beta[j] - step
        svmx_axpy(state.n, step, K, &F[0])
        svmx_axpy(state.n, -step, state.row(<int32_t>(j // h)), &F[0])
        control.asked(4 * m)
    return 0


cdef bint restore_sums(PathState state) except -1:
    """Change beta of each group, free variables first, until its sum is ``state.total``; False if the bounds forbid it.

    F is not updated.
    """
    cdef int g
    for g in range(state.groups):
        if not restore_sum(state, g):
            return False
    return True


cdef bint restore_sum(PathState state, int g) except -1:
    """``restore_sums`` for group g."""
    cdef Py_ssize_t v, m = state.per_row * state.n
    cdef double missing = state.sum_residual(g), room
    cdef bint free_only
    for free_only in (True, False):
        for v in range(m):
            if state.group[v] != g or (free_only and not state.is_inside(v)):
                continue
            room = state.upper[v] - state.beta[v] if missing > 0 else state.lower[v] - state.beta[v]
            if fabs(room) > fabs(missing):
                room = missing
            state.beta[v] += room
            missing -= room
            if missing == 0.0:
                return True
    return fabs(missing) <= 1e-12 * (fabs(state.total[g]) + 1.0)
