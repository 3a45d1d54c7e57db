"""Folds of a small problem at all C of a column, with no Python object for each dual problem.

As in ``growing``, each optimum is where the next, larger C starts. Here all kernel values are known, a Gram matrix, and one
Smo solves all pairs of classes of all folds, without shrinking. The rows to predict need no variables: at each optimum their
decision values are

    f(t) = sum_i beta_i K(i, t) - rho
"""

from itertools import combinations

from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memset

from libsvmx._core.clock cimport svmx_nanoseconds
from libsvmx._core.process cimport ThreadPool
from libsvmx._core.smo_steps cimport svmx_axpy_row, svmx_gather
from libsvmx._kernels.gram cimport Gram, GramRows
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.smo.smo cimport Smo
from libsvmx._solvers.smo.warm cimport enlarge, width_of
from libsvmx._train.formulation cimport Dual, Formulation, formulation_of, write_dual

from libsvmx._core.buffers import filled, zeros
from libsvmx._core.stopping import Stopped

cdef class GramColumn:
    """GramColumn(gram, targets, weights, param, growths, control)

    Parameters
    ----------
    gram : Gram
    targets : buffer of float64, shape (gram.n,)       of regression; else not looked at
    weights : buffer of float64, shape (gram.n,), or None
    param : Parameter             C-SVC or epsilon-SVR, with the smallest C
    growths : sequence of float   each C as a multiple of the one before, at least 1
    control : Control        without shrinking
    """

    cdef Gram gram
    cdef const double[::1] targets, weights, growth
    cdef bint weighted, doubled
    cdef double cost
    cdef Formulation of
    cdef Control control
    cdef Py_ssize_t n_costs, room, room_for_tests
    # the dual problem at hand, and what solves it
    cdef GramRows rows
    cdef Smo smo
    cdef Dual dual
    cdef double[::1] target, weight, linear, lower, upper, start
    cdef int8_t[::1] group
    cdef int32_t[::1] row, member
    cdef float[::1] values          # (rows, tests)
    # of the fold at hand, by C
    cdef double[::1] width, seconds
    cdef int64_t[::1] iterations
    cdef int8_t[::1] converged

    def __init__(self, Gram gram, targets, weights, param, growths, Control control):
        self.gram, self.targets, self.weighted, self.control = gram, targets, weights is not None, control
        if self.weighted:
            self.weights = weights
        self.growth, self.n_costs = filled("d", growths), len(growths) + 1
        self.cost, self.of, self.doubled = param.C, formulation_of(param), param.svm_type.is_regression
        self.room = self.room_for_tests = -1

    def solve(self, members, start, tests, factors):
        """Train on some rows, predict others.

        Parameters
        ----------
        members : buffer of int32      rows of ``gram``, grouped by class
        start : list of int            first of each class, and the end
        tests : buffer of int32        rows of ``gram``
        factors : list of float        of C, by class; not looked at in regression

        Returns
        -------
        (values, widths, seconds, iterations, converged): decision values, buffer of float64, shape (functions, C, tests),
        flat; lists by C, as of ColumnFold

        Raises
        ------
        Stopped, KeyboardInterrupt, or what else a signal handler raises; MemoryError
        """
        cdef const int32_t[::1] chosen = members, wanted = tests
        cdef Py_ssize_t n = chosen.shape[0], n_tests = wanted.shape[0], first, second, n_first, n_second, k, f
        cdef double[::1] out
        cdef double C_first, C_second
        cdef const int32_t *at
        cdef double *place
        pairs = [(0, 0)] if self.doubled else list(combinations(range(len(start) - 1), 2))
        for number in (*members, *tests):
            if not 0 <= number < self.gram.n:
                raise IndexError(f"row {number} of {self.gram.n}")
        most = n if self.doubled else max(start[i + 1] - start[i] + start[j + 1] - start[j] for i, j in pairs)
        self.make_room(most, n_tests)
        values = zeros("d", len(pairs) * self.n_costs * n_tests)
        out = values
        at = &wanted[0] if n_tests else NULL
        for f, (i, j) in enumerate(pairs):
            first, n_first = start[i], start[i + 1] - start[i]
            second, n_second = (0, 0) if self.doubled else (start[j], start[j + 1] - start[j])
            C_first, C_second = (self.cost, self.cost) if self.doubled else (self.cost * factors[i], self.cost * factors[j])
            for k in range(n_first + n_second):
                self.member[k] = chosen[first + k if k < n_first else second + k - n_first]
            place = &out[f * self.n_costs * n_tests] if n_tests else NULL
            with nogil:
                self.solve_dual(n_first + n_second, n_first, C_first, C_second, at, n_tests, place)
        return values, list(self.width), list(self.seconds), list(self.iterations), list(map(bool, self.converged))

    cdef int make_room(self, Py_ssize_t l, Py_ssize_t n_tests) except -1:
        """Memory for dual problems of so many rows, and nothing said of the fold."""
        cdef Py_ssize_t m
        if l > self.room or n_tests > self.room_for_tests:
            self.room, self.room_for_tests = max(l, self.room), max(n_tests, self.room_for_tests)
            l, m = self.room, 2 * self.room if self.doubled else self.room
            self.rows = GramRows(self.gram, l, m, ThreadPool(1))
            self.smo = Smo.for_many(m, 1, self.control, self.rows)
            self.target, self.weight, self.member = zeros("d", l), zeros("d", l), zeros("i", l)
            self.linear, self.lower, self.upper, self.start = (zeros("d", m) for _ in range(4))
            self.group, self.row = zeros("b", m), zeros("i", m)
            self.values = zeros("f", l * self.room_for_tests)
            if m:
                self.dual = Dual(m, &self.linear[0], &self.lower[0], &self.upper[0], &self.start[0], &self.group[0],
                                 &self.row[0])
        self.width, self.seconds = zeros("d", self.n_costs), zeros("d", self.n_costs)
        self.iterations, self.converged = zeros("q", self.n_costs), filled("b", [1] * self.n_costs)
        return 0

    cdef void lay_out(self, Py_ssize_t l, Py_ssize_t n_positive, double Cp, double Cn) noexcept nogil:
        """The dual problem at the smallest C, and the same in LIBSVM's variables."""
        cdef Py_ssize_t i, v
        cdef bint negative
        for i in range(l):
            self.target[i] = self.targets[self.member[i]] if self.doubled else 1.0 if i < n_positive else -1.0
            if self.weighted:
                self.weight[i] = self.weights[self.member[i]]
        self.dual.size = 2 * l if self.doubled else l
        write_dual(&self.of, l, &self.target[0], Cp, Cn, &self.weight[0] if self.weighted else NULL, &self.dual)
        self.rows.begin(&self.member[0], l, self.doubled)
        self.smo.begin(self.dual.size, l, 1)
        for v in range(self.dual.size):
            negative = self.lower[v] < 0
            self.smo.put(v, <int32_t>v, self.linear[v], 0.0, -self.lower[v] if negative else self.upper[v],
                         -1 if negative else 1, self.gram.diagonal[self.member[self.row[v]]])

    cdef int solve_dual(self, Py_ssize_t l, Py_ssize_t n_positive, double Cp, double Cn, const int32_t *tests, Py_ssize_t n_tests,
                        double *out) except -1 nogil:
        """All C of one dual problem; its decision values C by C into ``out``."""
        cdef int64_t limit
        cdef Py_ssize_t c, i
        cdef double began
        cdef bint converged = True
        if l == 0:
            memset(out, 0, self.n_costs * n_tests * sizeof(double))
            return 0
        self.lay_out(l, n_positive, Cp, Cn)
        for i in range(l):
            svmx_gather(n_tests, self.gram.values + <int64_t>self.member[i] * self.gram.n, tests, &self.values[i * n_tests])
        limit = self.control.max_iter if self.control.max_iter > 0 else max(10000000, 100 * self.smo.size)
        for c in range(self.n_costs):
            began = svmx_nanoseconds()
            if c == 0:
                converged = self.smo.optimize()
            else:
                enlarge(self.smo, self.growth[c - 1])
                self.smo.iterations = 0
                converged = self.smo.iterate(limit)
            if self.control.expired:
                with gil:
                    raise Stopped(self.control.stopped)
            self.predict(n_tests, out + c * n_tests)
            if self.weighted or Cp != Cn:  # steps between equal bounds end at bounds exactly
                self.width[c] = max(self.width[c], width_of(self.smo))
            self.iterations[c] += self.smo.iterations
            self.converged[c] &= converged
            self.seconds[c] += 1e-9 * (svmx_nanoseconds() - began)
        return 0

    cdef void predict(self, Py_ssize_t n_tests, double *out) noexcept nogil:
        """Decision values at the optimum."""
        cdef double rho = self.smo.calculate_rho(0)
        cdef Py_ssize_t p, t
        for t in range(n_tests):
            out[t] = -rho
        for p in range(self.smo.size):
            if self.smo.alpha[p] > 0:
                svmx_axpy_row(n_tests, self.smo.y[p] * self.smo.alpha[p], &self.values[self.rows.index[p] * n_tests], out)
