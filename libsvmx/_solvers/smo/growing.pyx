"""SMO at one C after the other, in C-SVC and epsilon-SVR: what a column of a grid search asks of one fold.

Each optimum is where the next, larger C starts (``scaled_start`` tells why), and nothing is made anew between them: variables
keep their positions, and kernel rows stay in the store. Rows to predict go along as variables without a box, whose scores

    V = -K beta        so that their decision values are -V - rho

are made current at each optimum, from the one before: no support vector is met twice unless its beta has moved.
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int32_t, int64_t

from time import perf_counter

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.dot_products cimport SVMX_SOURCES
from libsvmx._core.smo_steps cimport svmx_axpy_row
from libsvmx._core.stopping import Stopped
from libsvmx._kernels.kernel cimport LONG_NS, Kernel
from libsvmx._problem.dual cimport DualProblem
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._solvers.smo.warm cimport WarmSmo

# A coefficient at this share of its bound is there, but for rounding.
cdef double ALMOST = 1 - 1e-12


def solve(DualProblem problem, Py_ssize_t n_tests, Kernel kernel, double budget_bytes, Control control, growths,
          int n_threads=1):
    """Solve ``problem``, then again with its box ``growth`` times as large, for each of ``growths``.

    Parameters
    ----------
    problem : DualProblem       of one group, whose start is beta = 0 and whose sum of beta is 0
    n_tests : int               rows to predict, which follow those of the problem in ``kernel``
    kernel : Kernel             of both
    growths : sequence of float     each at least 1

    Returns
    -------
    list of (values, width, iterations, seconds, converged), one for the problem and one for each growth; values: decision
    values of the rows to predict, buffer of float64; width: of the interval in which rho may lie, 0 but where all coefficients
    are at bounds

    Raises
    ------
    Stopped, KeyboardInterrupt, or what else a signal handler raises; MemoryError
    """
    if problem.groups != 1:
        raise ValueError("sums of beta that grow with C have no start at a smaller one")
    cdef GrowingSmo smo = GrowingSmo(with_tests(problem, kernel.n - n_tests, n_tests), kernel, budget_bytes, control, n_threads)
    found = [smo.optimum()]
    for growth in growths:
        began = perf_counter()
        smo.grow(growth)
        found.append(smo.optimum(began))
    return found


def with_tests(DualProblem problem, Py_ssize_t n_rows, Py_ssize_t n_tests):
    """``problem`` over ``n_rows`` rows, with a variable without a box for each row to predict, and V at beta = 0."""
    cdef Py_ssize_t m = problem.size, size = problem.size + n_tests
    linear, lower, upper, beta = (zeros("d", size) for _ in range(4))
    group, row = zeros("b", size), zeros("i", size)
    linear[:m], lower[:m], upper[:m], row[:m] = problem.linear, problem.lower, problem.upper, problem.row
    row[m:] = ramp(n_rows + n_tests)[n_rows:]
    return DualProblem(linear, lower, upper, group, row, beta, linear)


cdef class GrowingSmo(WarmSmo):
    def __init__(self, DualProblem problem, Kernel kernel, double budget_bytes, Control control, int n_threads=1):
        WarmSmo.__init__(self, problem, kernel, budget_bytes, control, n_threads)
        self.kept_beta, self.kept_scores = zeros("d", self.total), zeros("d", self.total)
        self.add_start()

    cdef object optimum(self, began=None):
        """Solve from where it stands. Raises Stopped."""
        cdef int64_t limit = self.control.max_iter if self.control.max_iter > 0 else max(10000000, 100 * self.size)
        cdef bint converged = True
        cdef Py_ssize_t p
        cdef double rho
        began = perf_counter() if began is None else began
        self.iterations = 0
        with nogil:
            if self.size:
                converged = self.iterate(limit)
        if self.control.stopped:
            raise Stopped(self.control.stopped)
        self.follow_tests()
        rho = self.calculate_rho(0)
        values_ = zeros("d", self.total - self.size)
        cdef double[::1] values = values_
        for p in range(self.size, self.total):
            values[p - self.size] = -self.V[p] - rho
        return values_, width_of(self), self.iterations, perf_counter() - began, bool(converged)

    cdef int follow_tests(self) except -1:
        """V of the rows to predict, from the start."""
        cdef Py_ssize_t p, n = self.total - self.size
        cdef int32_t[::1] index = self.store.index
        cdef int count = 0, r
        cdef int32_t sources[SVMX_SOURCES]
        cdef double falls[SVMX_SOURCES]
        cdef float *out[SVMX_SOURCES]
        if n == 0 or not self.store.targets.kept or self.store.whole:
            return self.make_current(self.size, self.total)
        if self.tests is None:  # once, as there are many optima over few rows
            self.tests = self.store.kernel.targets(self.row_of_tests())
            self.test_values = zeros("f", SVMX_SOURCES * n)
        for p in range(self.size, self.total):
            self.V[p] = self.start_scores[self.variable[p]]
        with nogil:
            for p in range(self.size + 1):
                if p < self.size:
                    falls[count] = self.start_beta[self.variable[p]] - self.y[p] * self.alpha[p]
                    if falls[count] == 0:
                        continue
                    sources[count] = index[p]
                    out[count] = &self.test_values[count * n]
                    count += 1
                if count == SVMX_SOURCES or (p == self.size and count > 0):
                    self.store.kernel.values_computed += self.tests.fill_rows(sources, count, n, out, self.store.pool, LONG_NS)
                    for r in range(count):
                        svmx_axpy_row(n, falls[r], out[r], &self.V[self.size])
                    self.control.worked(2 * count * n)
                    count = 0
        return 0

    cdef object row_of_tests(self):
        cdef Py_ssize_t p
        rows_ = zeros("i", self.total - self.size)
        cdef int32_t[::1] rows = rows_
        for p in range(self.size, self.total):
            rows[p - self.size] = self.store.index[p]
        return rows_

    cdef int grow(self, double growth) except -1:
        """The box, ``growth`` times as large, and the start in it: see ``scaled_start``."""
        cdef Py_ssize_t p
        enlarge(self, growth)
        for p in range(self.size):
            self.kept_beta[self.variable[p]] = self.y[p] * self.alpha[p]
        for p in range(self.total):
            self.kept_scores[self.variable[p]] = self.V[p]
        self.start_beta, self.start_scores = self.kept_beta, self.kept_scores
        if self.control.shrinking:
            with nogil:
                self.shrink()
        return 0


cdef void enlarge(Smo smo, double growth) noexcept nogil:
    """The box, ``growth`` times as large, and a start in it."""
    cdef Py_ssize_t p
    cdef double factor = factor_of(smo, growth)
    for p in range(smo.size):
        smo.C[p] *= growth
        smo.alpha[p] *= factor
        if smo.alpha[p] > smo.C[p] * ALMOST:
            smo.alpha[p] = smo.C[p]
        smo.update_status(p)
    for p in range(smo.total):
        smo.V[p] = smo.linear[p] + factor * (smo.V[p] - smo.linear[p])
    smo.max_violator = -2


cdef double factor_of(Smo smo, double growth) noexcept nogil:
    """By what the coefficients grow: 1 where most are free, else to the best point of the ray within the box."""
    cdef Py_ssize_t p, n_free = 0, n_bounded = 0
    cdef double curvature = 0.0, slope = 0.0, beta
    for p in range(smo.size):
        if smo.alpha[p] > 0:
            if smo.alpha[p] > smo.C[p] * ALMOST:
                n_bounded += 1
            else:
                n_free += 1
            beta = smo.y[p] * smo.alpha[p]
            slope += beta * smo.linear[p]
            curvature += beta * (smo.linear[p] - smo.V[p])
    if n_bounded <= n_free or curvature <= 0:
        return 1.0
    return max(1.0, min(slope / curvature, growth))


cdef double width_of(Smo smo) noexcept nogil:
    """Of the interval in which rho may lie. A coefficient that is free by rounding alone does not narrow it."""
    cdef Py_ssize_t p
    cdef double highest = -HUGE_VAL, lowest = HUGE_VAL
    cdef bint upper
    for p in range(smo.size):
        upper = smo.alpha[p] > smo.C[p] * ALMOST
        if not upper and smo.alpha[p] > smo.C[p] * (1 - ALMOST):
            return 0.0
        if upper == (smo.y[p] > 0):
            lowest = min(lowest, smo.V[p])
        else:
            highest = max(highest, smo.V[p])
    return max(0.0, lowest - highest)
