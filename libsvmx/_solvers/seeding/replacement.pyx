"""The least squares of MIR (mir.py has the equations), without the interpreter.

    min_x sum_i (sum_t K_it x_t - goal_i)^2 + sum_g (sum_{t of g} x_t - missing_g)^2,      A'A x = A'b   (18)

by Cholesky of A'A, which unknowns join one by one; one that depends on those before it stays as it is.
"""

from libc.math cimport cbrt, fabs
from libc.stdint cimport int32_t
from libc.stdlib cimport free, qsort, realloc

from libsvmx._core.buffers import zeros
from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.vectors cimport svmx_dot
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.fold_change cimport FoldChange
from libsvmx._solvers.seeding.seeded_start cimport ChangeStart, FoldStart
from libsvmx._solvers.seeding.start_rows cimport StartRows

# Unknowns: the normal equations then take 0.1 s.
cdef Py_ssize_t MOST_UNKNOWNS = 1000
# Values K_it: 32 MB.
cdef Py_ssize_t MOST_VALUES = 1 << 22
# Of the work of a solve from nothing, what the least squares may take.
cdef double REPLACEMENT_SHARE = 0.25
# A pivot below this share of its diagonal element is none: what a float64 can hold.
cdef double SINGULAR = 1e-13
# Of the width of the bounds: what solving a linear system leaves of a value that is at one of them.
cdef double ROUNDING = 1e-13


cdef class Replacement:
    """Replacement(): memory for starts, one after the other, by ``replace``."""

    def __cinit__(self):
        self.factor = Cholesky()
        self.unknown, self.equation, self.kept = (zeros("i", 0) for _ in range(3))
        self.goal, self.right, self.column = (zeros("d", 0) for _ in range(3))

    def __dealloc__(self):
        free(self.values)
        free(self.distances)

    cdef int reserve(self, Py_ssize_t m) except -1:
        """Memory for folds of so many variables."""
        cdef void *grown
        if self.unknown.shape[0] < m:
            grown = realloc(self.distances, m * sizeof(Distance))
            if grown == NULL:
                raise MemoryError("a start by MIR")
            self.distances = <Distance *>grown
            self.unknown, self.equation, self.kept = (zeros("i", m) for _ in range(3))
            self.goal, self.right, self.column = (zeros("d", m + 1) for _ in range(3))
        return 0

    cdef int replace(self, FoldStart *at, StartRows rows, Control control, double most_work) except -1 nogil:
        """beta of T, all at once, or where nothing enters those of the margin. There must be room. ``most_work``: values
        that a solve from nothing works on."""
        cdef const float *K
        cdef double *own
        cdef void *grown
        cdef Py_ssize_t t, u, i, v, k, n = self.choose_unknowns(at, REPLACEMENT_SHARE * most_work), n_equations
        cdef double pivot, total, slack, diagonal
        if n == 0:
            return 0
        n_equations = self.choose_equations(at, n, REPLACEMENT_SHARE * most_work)
        if n * n_equations > self.room:
            with gil:
                grown = realloc(self.values, n * n_equations * sizeof(double))
                if grown == NULL:
                    raise MemoryError("kernel values of a start by MIR")
            self.values, self.room = <double *>grown, n * n_equations
        self.factor.size = 0
        k = 0
        for t in range(n):
            v, own = self.unknown[t], self.values + k * n_equations
            K = rows.row(at.column[v])
            for i in range(n_equations):
                own[i] = K[at.column[self.equation[i]]]
            for u in range(k):
                self.column[u] = svmx_dot(n_equations, own, self.values + u * n_equations)
                if at.group[self.kept[u]] == at.group[v]:
                    self.column[u] += 1.0
            diagonal = svmx_dot(n_equations, own, own) + 1.0
            control.asked(k * (n_equations + k) + n_equations)
            pivot = self.factor.border(&self.column[0], diagonal)
            if not pivot > SINGULAR * diagonal:
                continue
            if k >= self.factor.room:
                with gil:
                    self.factor.reserve(k + 1)
            self.factor.append(&self.column[0], pivot)
            self.kept[k] = <int32_t>v
            self.right[k] = svmx_dot(n_equations, own, &self.goal[0]) + at.missing[at.group[v]]
            k += 1
        self.factor.forward(&self.right[0])
        self.factor.backward(&self.right[0])
        for t in range(k):
            v = self.kept[t]
            total, slack = at.beta[v] + self.right[t], ROUNDING * (at.upper[v] - at.lower[v])
            if not total < at.upper[v] - slack:
                at.beta[v] = at.upper[v]
            elif not total > at.lower[v] + slack:
                at.beta[v] = at.lower[v]
            else:
                at.beta[v] = total
        return 0

    cdef Py_ssize_t choose_unknowns(self, FoldStart *at, double most_work) noexcept nogil:
        """``unknown``, in the order of the variables; returns how many they are."""
        cdef Py_ssize_t v, t, n = 0
        cdef Py_ssize_t most = <Py_ssize_t>min(<double>MOST_UNKNOWNS, 1.0 + cbrt(2.0 * most_work))
        cdef bint star = True
        for v in range(at.m):
            star = star and at.entering[v] <= 0
        for v in range(at.m):
            if at.lower[v] < at.upper[v] and (at.entering[v] > 0 or (star and at.lower[v] < at.beta[v] < at.upper[v])):
                self.distances[n].variable, self.distances[n].distance = <int32_t>v, fabs(goal_of(at, v))
                n += 1
        if n > most:
            qsort(self.distances, n, sizeof(Distance), by_distance)
            n = most
            qsort(self.distances, n, sizeof(Distance), by_variable)
        for t in range(n):
            self.unknown[t] = self.distances[t].variable
        return n

    cdef Py_ssize_t choose_equations(self, FoldStart *at, Py_ssize_t n_unknowns, double most_work) noexcept nogil:
        """``equation`` and ``goal``: the margin, the unknowns, and, if T has any, others of S as there is room."""
        cdef Py_ssize_t v, t, n = 0, n_others = 0, first, room, at_other = 0
        cdef Py_ssize_t most = <Py_ssize_t>min(<double>(MOST_VALUES // n_unknowns), 2.0 * most_work / n_unknowns / n_unknowns)
        cdef bint star = at.entering[self.unknown[0]] <= 0
        most = max(most, n_unknowns)
        for v in range(at.m):
            if at.lower[v] < at.beta[v] < at.upper[v] and n < most:
                self.equation[n] = <int32_t>v
                n += 1
            elif at.lower[v] < at.upper[v] and not at.entering[v]:
                n_others += 1
        for t in range(0 if star else n_unknowns):
            if n < most:
                self.equation[n] = self.unknown[t]
                n += 1
        if not star:
            first, room = n, min(most - n, n_others)
            for v in range(at.m):
                if at.lower[v] < at.upper[v] and not at.entering[v] and not at.lower[v] < at.beta[v] < at.upper[v]:
                    # evenly spaced
                    if n < first + room and at_other == (n - first) * n_others // room:
                        self.equation[n] = <int32_t>v
                        n += 1
                    at_other += 1
        for t in range(n):
            self.goal[t] = goal_of(at, self.equation[t])
        return n


cdef double goal_of(const FoldStart *at, Py_ssize_t v) noexcept nogil:
    """Right side of (15): what sum_T K_vt x_t should be."""
    if at.lower[v] < at.beta[v] < at.upper[v]:
        return at.leaving[v]
    return at.V[v] - at.level[at.group[v]] + at.leaving[v]


cdef int by_distance(const void *a, const void *b) noexcept nogil:
    """The farthest first, of equals the first variable."""
    cdef double left = (<const Distance *>a).distance, right = (<const Distance *>b).distance
    if left != right:
        return (right > left) - (right < left)
    return by_variable(a, b)


cdef int by_variable(const void *a, const void *b) noexcept nogil:
    cdef int32_t left = (<const Distance *>a).variable, right = (<const Distance *>b).variable
    return (left > right) - (left < right)


def start_by_replacement(FoldChange change):
    """beta, float64, shape (m,): MIR's start. Raises Stopped."""
    cdef ChangeStart start = ChangeStart(change)
    cdef Replacement replacement = Replacement()
    replacement.reserve(change.size)
    if change.size:
        with nogil:
            replacement.replace(&start.at, start.rows, change.control, change.most_work)
    return memoryview(start.beta)
