"""A fold and the optimum that is known as compiled seeders see them, and V at the start that they make."""

from libc.stdint cimport int8_t, int32_t

from libsvmx._core.buffers import zeros
from libsvmx._core.smo_steps cimport svmx_axpy_at
from libsvmx._problem.certificate cimport Certificate, add_variable, begin, level_of
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.fold_change cimport FoldChange, rows_of_leaving
from libsvmx._solvers.seeding.start_rows cimport ComputedRows, StartRows


cdef class ChangeStart:
    """ChangeStart(change): the FoldStart of a FoldChange, and the memory it points to. Raises Stopped.

    V is the same at all free variables of a group, its level: -rho of the decision function; in the nu formulations, which
    have two groups, -rho - r and -rho + r.
    """

    def __cinit__(self, FoldChange change):
        cdef const int32_t[::1] new = change.entering
        cdef Certificate sides[2]
        cdef Py_ssize_t k, v
        cdef Py_ssize_t m = change.size
        self.change, self.rows = change, ComputedRows(change.kernel, change.every_row, change.control)
        self.lower, self.upper, self.V, self.group, self.column = (
            change.lower, change.upper, change.scores, change.group, change.row)
        self.beta, self.entering, self.leaving = change.kept(), zeros("b", m), rows_of_leaving(change)
        self.at.m, self.at.groups = m, <int>len(change.sums)
        if m == 0:
            return
        self.at.lower, self.at.upper, self.at.V = &self.lower[0], &self.upper[0], &self.V[0]
        self.at.group, self.at.column, self.at.beta = &self.group[0], &self.column[0], &self.beta[0]
        self.at.entering, self.at.leaving = &self.entering[0], &self.leaving[0]
        for k in range(2):
            begin(&sides[k])
            self.at.missing[k] = change.sums[k] if k < self.at.groups else 0.0
        for k in range(new.shape[0]):
            self.entering[new[k]] = True
        for v in range(m):
            if self.lower[v] < self.upper[v]:
                self.at.missing[self.group[v]] -= self.beta[v]
                if not self.entering[v]:
                    add_variable(&sides[self.group[v]], v, self.V[v], self.beta[v] < self.upper[v],
                                 self.beta[v] > self.lower[v], self.lower[v] < self.beta[v] < self.upper[v])
        for k in range(2):
            self.at.level[k] = level_of(&sides[k])
        for v in range(m):
            if self.entering[v]:
                self.entering[v] = 1 if above(&self.at, v) > 0 else -1


cdef double above(const FoldStart *at, Py_ssize_t v) noexcept nogil:
    """How far V of a variable with beta = 0 is on the wrong side of its level."""
    return (at.V[v] - at.level[at.group[v]]) * (1.0 if at.upper[v] > 0 else -1.0)


cdef int move_scores(const FoldStart *at, const double *before, StartRows rows, Control control,
                     double *scores) except -1 nogil:
    """V of all variables once R has left and beta is no longer ``before``, at variables that take part."""
    cdef Py_ssize_t v
    for v in range(at.m):
        scores[v] = at.V[v] + at.leaving[v]
    for v in range(at.m):
        if at.lower[v] < at.upper[v] and at.beta[v] != before[v]:
            svmx_axpy_at(at.m, before[v] - at.beta[v], rows.row(at.column[v]), at.column, scores)
            control.asked(2 * at.m)
    return 0
