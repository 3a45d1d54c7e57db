"""The variables of SMO where they stand: by position, with what the iteration reads of each."""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t, int32_t

from libsvmx._core.buffers import table, zeros


cdef class Positions:
    """Base of Smo: V, alpha, C, y, QD and the linear term of the variable at each position, and what it can do."""

    cdef int hold(self, Py_ssize_t m, int groups) except -1:
        """Memory for at most so many variables and groups."""
        self.V, self.alpha, self.C, self.QD, self.linear = (zeros("d", m) for _ in range(5))
        self.y, self.variable = zeros("b", m), zeros("i", m)
        self.up, self.low = table("f", groups, m), table("f", groups, m)
        return 0

    cdef void clear(self, Py_ssize_t m, int groups) noexcept nogil:
        """m variables to come, all of them active."""
        self.groups, self.unit_diagonal = groups, True
        self.total = self.size = self.active_size = m

    cdef void put(self, Py_ssize_t p, int32_t v, double linear, double alpha, double C, int8_t y, double diagonal) noexcept nogil:
        """Variable v at position p."""
        self.variable[p] = v
        self.V[p] = self.linear[p] = linear
        self.alpha[p], self.C[p], self.y[p], self.QD[p] = alpha, C, y, diagonal
        self.unit_diagonal &= diagonal == 1.0
        self.update_status(p)

    cdef void update_status(self, Py_ssize_t p) noexcept nogil:
        """Membership of position p in I_up and I_low of its group."""
        cdef bint upper = self.alpha[p] >= self.C[p]
        cdef bint lower = not upper and self.alpha[p] <= 0
        cdef bint positive = self.y[p] > 0
        cdef bint in_up = not upper if positive else not lower
        cdef bint in_low = not lower if positive else not upper
        cdef int g, own = 0 if self.groups == 1 or positive else 1
        for g in range(self.groups):
            self.up[g, p] = 0 if g == own and in_up else -HUGE_VAL
            self.low[g, p] = 0 if g == own and in_low else HUGE_VAL

    cdef bint is_free(self, Py_ssize_t p) noexcept nogil:
        return self.alpha[p] > 0 and self.alpha[p] < self.C[p]

    cdef void exchange(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """The variables at two positions change places."""
        cdef int g
        self.V[a], self.V[b] = self.V[b], self.V[a]
        self.alpha[a], self.alpha[b] = self.alpha[b], self.alpha[a]
        self.C[a], self.C[b] = self.C[b], self.C[a]
        self.QD[a], self.QD[b] = self.QD[b], self.QD[a]
        self.linear[a], self.linear[b] = self.linear[b], self.linear[a]
        self.y[a], self.y[b] = self.y[b], self.y[a]
        self.variable[a], self.variable[b] = self.variable[b], self.variable[a]
        for g in range(self.groups):
            self.up[g, a], self.up[g, b] = self.up[g, b], self.up[g, a]
            self.low[g, a], self.low[g, b] = self.low[g, b], self.low[g, a]
