"""SMO from a start whose scores are known: a seeded fold, a larger C, rows added or removed.

The iteration is that of smo.pyx, and the optimum is LIBSVM's to eps, though the path is not. Three things differ:

* Scores are given, so no kernel row is computed for what the start has in common with the optimum.
* The variables that cannot move at once are shrunk before the first step.
* Scores of shrunk variables, and of those that take no part (lower = upper: held-out rows), are made current from the
  difference to the start, V = V_start - sum_j (beta_j - beta_j_start) K_j, which has few terms where the start was good.
  There is no G_bar.
"""

from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.buffers import zeros
from libsvmx._kernels.kernel cimport Kernel
from libsvmx._problem.certificate cimport Certificate, add_variable, begin
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._solvers.smo.deferred cimport DeferredUpdates


def solve(DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1):
    """Solve ``problem``, whose ``scores`` are those of its feasible ``beta``; returns a DualSolution.

    Its scores are right for all variables, those that take no part included.

    Raises
    ------
    KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    return WarmSmo(problem, kernel, budget_bytes, control, n_threads).run()


cdef class WarmSmo(Smo):
    cdef object starting_order(self, DualProblem problem):
        """First the variables that may move, then the others that take part, then those without a box."""
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
            elif self.control.shrinking and ((not up and V[v] > found[g].highest) or (not low and V[v] < found[g].lowest)):
                shrunk[n_shrunk] = <int32_t>v
                n_shrunk += 1
            else:
                order[n_active] = <int32_t>v
                n_active += 1
        order[n_active:n_active + n_shrunk] = shrunk[:n_shrunk]
        order[n_active + n_shrunk:] = out[:n_out]
        self.active_size, self.size = n_active, n_active + n_shrunk
        self.unshrunk_once = True
        return order_

    cdef int add_start(self) except -1 nogil:
        cdef Py_ssize_t p
        self.reach = 1.0  # of a path from elsewhere nothing is known
        for p in range(self.total):
            self.V[p] = self.start_scores[self.variable[p]]
        return 0

    cdef int update_G_bar(self, Py_ssize_t p, bint was_upper) except -1 nogil:
        return 0

    cdef int add_deferred(self, int64_t n_free) except -1 nogil:
        with gil:
            return self.make_current(self.active_size, self.size)

    cdef int make_current(self, Py_ssize_t begin, Py_ssize_t end) except -1:
        """V of the positions [begin, end), from the start."""
        cdef Py_ssize_t p
        cdef double fall
        cdef DeferredUpdates updates = DeferredUpdates()
        positions_ = zeros("i", max(end - begin, 1))
        cdef int32_t[::1] positions = positions_
        if begin == end:
            return 0
        for p in range(begin, end):
            positions[p - begin] = <int32_t>p
            self.V[p] = self.start_scores[self.variable[p]]
        for p in range(self.size):
            fall = self.start_beta[self.variable[p]] - self.y[p] * self.alpha[p]
            if fall != 0:
                updates.add(self.store.index[p], fall)
        return updates.apply(0, self.store, &positions[0], end - begin, &self.V[begin], True, self.control)

    cdef object solution(self, status, int64_t subproblems=0, int64_t fallbacks=0):
        self.make_current(self.size, self.total)
        return Smo.solution(self, status, subproblems, fallbacks)
