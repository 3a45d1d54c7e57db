"""The state of an exact optimum that rows can join and leave, and the linear algebra of its margin.

The dual problem in label-free form (algorithms of this package, _problem/dual.pyx):

    min  1/2 beta'K beta - linear'beta     s.t.  sum beta = total,   low <= beta <= high
    V = linear - F,  F = K beta;   optimal  <=>  there is a level with
    V_v <= level where beta_v = low,   V_v >= level where beta_v = high,   V_v = level between

A row of data has one variable, or two in regression (y = +1 and y = -1), which share K and F.

Members of the margin M, V = level, move together. Their matrix is K_MM bordered by the sum. Adding one number to every
kernel value changes V of all variables alike, since the sum of beta is fixed, so the border can be had by

    K'_MM = K_MM + shift 11',      x'K'x = x'Kx + shift (1'x)^2

which is positive definite whenever the bordered matrix is regular and K positive semidefinite: one Cholesky factor,
also where K_MM itself is singular (a linear kernel with |M| = d + 1).
"""

from libc.math cimport HUGE_VAL
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free, realloc

from libsvmx._core.buffers import zeros
from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.dense_lanes cimport svmx_add_rows, svmx_axpy, svmx_dot
from libsvmx._kernels.doublerows cimport DoubleRows
from libsvmx._kernels.kernel cimport Kernel

from libsvmx._core.buffers import filled


class PathLost(ArithmeticError):
    """A path cannot be followed: K is not positive semidefinite, or rounding has taken over."""


cdef class PathState:
    """PathState(halves, budget_bytes): of no rows.

    Attributes
    ----------
    n : int                 rows
    halves : int            variables of a row
    level : float           V of the margin; -rho
    total : float           sum of all beta
    """

    def __cinit__(self, int halves, double budget_bytes):
        self.halves, self.rows = halves, DoubleRows(budget_bytes)
        self.factor = Cholesky()
        self.F, self.diagonal = zeros("d", 0), zeros("d", 0)
        self.linear, self.low, self.high, self.beta, self.side = (zeros("d", 0) for _ in range(5))
        self.state, self.place, self.tag = zeros("b", 0), zeros("i", 0), zeros("q", 0)
        self.moves = zeros("i", 2)
        self.member = zeros("i", 0)
        self.half, self.null, self.dbeta, self.ones = (zeros("d", 0) for _ in range(4))

    def __dealloc__(self):
        free(self.margin_rows)

    # ---- what others see -----------------------------------------------------------------------

    @property
    def coefficients(self):
        """beta of each variable: buffer of float64, shape (halves * n,), a copy."""
        return copied(self.beta, self.halves * self.n)

    @property
    def scores(self):
        """V of each variable: buffer of float64, shape (halves * n,)."""
        cdef Py_ssize_t v
        out_ = zeros("d", self.halves * self.n)
        cdef double[::1] out = out_
        for v in range(self.halves * self.n):
            out[v] = self.score(v)
        return out_

    @property
    def K_beta(self):
        """F = K beta of each row: buffer of float64, shape (n,), a copy."""
        return copied(self.F, self.n)

    @property
    def tags(self):
        """What each row was tagged with: buffer of int64, shape (n,), a copy."""
        return copied(self.tag, self.n)

    @property
    def margin_size(self):
        return self.factor.size

    def objective(self):
        """1/2 beta'K beta - linear'beta."""
        cdef Py_ssize_t v
        cdef double value = 0.0
        for v in range(self.halves * self.n):
            value += self.beta[v] * (0.5 * self.F[v // self.halves] - self.linear[v])
        return value

    def gap(self):
        """max V over beta < high less min V over beta > low: the KKT gap; -inf if no two variables can move."""
        return self.kkt_gap()

    cdef double kkt_gap(self) noexcept nogil:
        cdef Py_ssize_t v
        cdef double top = -HUGE_VAL, bottom = HUGE_VAL, V
        for v in range(self.halves * self.n):
            V = self.score(v)
            if self.beta[v] < self.high[v]:
                top = max(top, V)
            if self.beta[v] > self.low[v]:
                bottom = min(bottom, V)
        return top - bottom

    cdef double score(self, Py_ssize_t v) noexcept nogil:
        return self.linear[v] - self.F[v // self.halves]

    cdef void put(self, Py_ssize_t v, int state) noexcept nogil:
        """A variable changes sets; those of A aim at the bound that is not 0."""
        self.state[v] = <int8_t>state
        if state == DRIVEN:
            self.side[v] = -1.0 if self.high[v] > 0 else 1.0
        else:
            self.side[v] = 1.0 if state == AT_LOW else -1.0 if state == AT_HIGH else 0.0

    cdef void to_bound(self, Py_ssize_t v) noexcept nogil:
        """Into the set of the bound that a variable is at, or beyond."""
        self.put(v, AT_LOW if self.beta[v] <= self.low[v] else AT_HIGH)

    cdef bint inside(self, Py_ssize_t v) noexcept nogil:
        return self.low[v] < self.beta[v] < self.high[v]

    # ---- rows ----------------------------------------------------------------------------------

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Lists for n rows."""
        cdef Py_ssize_t m = self.halves * n, room
        if m <= self.linear.shape[0]:
            return 0
        room = n + n // 4 + 16
        if self.F.shape[0] < room:
            self.moves = zeros("i", 2 * room)
            self.tag, self.diagonal = longer(self.tag, "q", room), longer(self.diagonal, "d", room)
            self.F = longer(self.F, "d", room)
        room *= self.halves
        low, high = longer(self.low, "d", room), longer(self.high, "d", room)
        beta, side = longer(self.beta, "d", room), longer(self.side, "d", room)
        state, place = longer(self.state, "b", room), longer(self.place, "i", room)
        # linear, which tells that there is room, comes last
        linear = longer(self.linear, "d", room)
        self.low, self.high, self.beta, self.side, self.state, self.place = low, high, beta, side, state, place
        self.linear = linear
        return 0

    def append(self, Kernel kernel, tags, linear, low, high):
        """Rows join behind the others, with beta = 0. ``kernel`` is that of all rows then; ``tags`` of the new ones are
        a buffer of int64, shape (new rows,), ``linear``, ``low`` and ``high`` of float64, shape (halves * new rows,)."""
        cdef const double[::1] p = linear, least = low, most = high
        cdef const int64_t[::1] tag = tags
        cdef Py_ssize_t k, v, n = self.n, m = self.halves * n, a
        cdef const double *K
        if not (n + tag.shape[0] == kernel.n
                and p.shape[0] == least.shape[0] == most.shape[0] == self.halves * tag.shape[0]):
            raise ValueError("kernel, tags, linear, low and high do not fit together")
        self.make_room(kernel.n)
        for k in range(p.shape[0]):
            v = m + k
            self.linear[v], self.low[v], self.high[v], self.beta[v], self.place[v] = p[k], least[k], most[k], 0.0, -1
            self.put(v, AT_LOW if least[k] == 0 else AT_HIGH)
        for k in range(tag.shape[0]):
            self.tag[n + k], self.diagonal[n + k] = tag[k], kernel.diagonal[n + k]
        self.rows.bind(kernel)
        self.n = self.active = kernel.n
        for a in range(n, kernel.n):
            self.largest = max(self.largest, self.diagonal[a])
        if self.shift == 0.0:
            self.shift = self.largest if self.largest > 0 else 1.0
        by_row_ = zeros("d", max(n, 1))
        cdef double[::1] by_row = by_row_
        for v in range(m):
            by_row[v // self.halves] += self.beta[v]
        for a in range(n, kernel.n if n else 0):
            K = self.rows.row(<int32_t>a)
            self.F[a] = svmx_dot(n, K, &by_row[0])

    def discard(self):
        """Rows that were to leave do so: the last rows take their places."""
        cdef Py_ssize_t h, to, last, v, w, n_pairs = 0
        cdef int32_t[::1] pairs = self.moves
        for to in range(self.n - 1, -1, -1):
            if self.state[self.halves * to] != LEAVING:
                continue
            last = self.n - 1
            for h in range(self.halves):
                v = self.halves * to + h
                w = self.halves * last + h
                self.linear[v], self.low[v], self.high[v] = self.linear[w], self.low[w], self.high[w]
                self.beta[v], self.state[v], self.place[v] = self.beta[w], self.state[w], self.place[w]
                self.side[v] = self.side[w]
                if self.place[v] >= 0:
                    self.member[self.place[v]] = <int32_t>v
            self.F[to], self.tag[to], self.diagonal[to] = self.F[last], self.tag[last], self.diagonal[last]
            pairs[2 * n_pairs], pairs[2 * n_pairs + 1] = <int32_t>last, <int32_t>to
            n_pairs += 1
            self.n = last
        self.rows.move(&pairs[0], n_pairs)
        self.active = self.n
        self.rows.cut(self.n)
        self.largest = 0.0
        for to in range(self.n):
            self.largest = max(self.largest, self.diagonal[to])

    cdef int swap(self, const int32_t *pairs, Py_ssize_t n) except -1:
        """Rows pairs[2 k] and pairs[2 k + 1] change places; no row is in two pairs."""
        cdef Py_ssize_t k, h, v, w
        cdef int32_t held
        cdef int64_t tag
        if self.swapped is not None:
            self.swapped.append([pairs[k] for k in range(2 * n)])
        for k in range(n):
            for h in range(self.halves):
                v = self.halves * pairs[2 * k] + h
                w = self.halves * pairs[2 * k + 1] + h
                trade(self.linear, v, w)
                trade(self.low, v, w)
                trade(self.high, v, w)
                trade(self.beta, v, w)
                trade(self.side, v, w)
                held = self.state[v]
                self.state[v], self.state[w] = self.state[w], <int8_t>held
                held = self.place[v]
                self.place[v], self.place[w] = self.place[w], held
                if self.place[v] >= 0:
                    self.member[self.place[v]] = <int32_t>v
                if self.place[w] >= 0:
                    self.member[self.place[w]] = <int32_t>w
            v, w = pairs[2 * k], pairs[2 * k + 1]
            trade(self.F, v, w)
            trade(self.diagonal, v, w)
            tag = self.tag[v]
            self.tag[v], self.tag[w] = self.tag[w], tag
        self.rows.swap(pairs, n)
        return 0

    # ---- all or nothing ------------------------------------------------------------------------

    def mark(self):
        """Remember the state as it is, for ``rollback``."""
        cdef Py_ssize_t m = self.halves * self.n
        lists = [copied(each, m) for each in self.lists()]
        self.swapped = []
        row_lists = [copied(each, self.n) for each in self.row_lists()]
        self.before = (self.n, self.level, self.total, self.drift, self.rough, self.largest, self.shift, row_lists,
                       lists, self.factor.copy(), copied(self.member, self.factor.size))

    def rollback(self):
        """Back to the state at ``mark``, which ``discard`` must not have followed."""
        cdef Py_ssize_t k
        cdef int32_t[::1] pairs
        if self.before is None:
            return
        (n, self.level, self.total, self.drift, self.rough, self.largest, self.shift, row_lists, lists, self.factor,
         member) = self.before
        for each in reversed(self.swapped):
            pairs = filled("i", each)
            self.rows.swap(&pairs[0], len(each) // 2)
        for mine, kept in zip(self.row_lists(), row_lists):
            mine[:n] = kept
        for mine, kept in zip(self.lists(), lists):
            mine[:len(kept)] = kept
        for k in range(self.rows.pins.shape[0]):
            self.rows.pins[k] = 0
        self.rows.cut(n)
        self.n = self.active = n
        self.make_room_in_margin()
        memoryview(self.member)[:len(member)] = member
        for k in range(self.factor.size):
            self.rows.pin(self.member[k] // self.halves)
        self.before = self.swapped = None

    def lists(self):
        """What there is for each variable."""
        found = []
        for each in [memoryview(self.linear), memoryview(self.low), memoryview(self.high), memoryview(self.beta),
                     memoryview(self.state), memoryview(self.place), memoryview(self.side)]:
            found.append(each)
        return found

    def row_lists(self):
        """What there is for each row."""
        found = []
        for each in [memoryview(self.F), memoryview(self.diagonal), memoryview(self.tag)]:
            found.append(each)
        return found

    def forget(self):
        """The way back is not needed any more."""
        self.before = self.swapped = None

    # ---- the margin ----------------------------------------------------------------------------

    cdef int make_room_in_margin(self) except -1:
        """Scratch and lists for one more member."""
        cdef Py_ssize_t room = self.member.shape[0]
        cdef void *grown
        self.factor.reserve(self.factor.size + 1)
        if self.factor.size + 2 > room:
            room = max(64, 2 * room, self.factor.size + 2)
            grown = realloc(self.margin_rows, room * sizeof(double *))
            if grown == NULL:
                raise MemoryError("rows of the margin")
            self.margin_rows = <const double **>grown
            self.dbeta, self.ones = longer(self.dbeta, "d", room), longer(self.ones, "d", room)
            self.null, self.half = longer(self.null, "d", room), longer(self.half, "d", room)
            self.member = longer(self.member, "i", room)  # which tells that there is room, comes last
        return 0

    cdef double try_join(self, Py_ssize_t v) except? -1.0:
        """The Schur complement of a variable that may join; ``half`` becomes L^-1 of its column."""
        cdef Py_ssize_t k
        cdef const double *K
        self.make_room_in_margin()
        K = self.rows.row(<int32_t>(v // self.halves))
        for k in range(self.factor.size):
            self.half[k] = K[self.member[k] // self.halves] + self.shift
        return self.factor.border(&self.half[0], K[v // self.halves] + self.shift)

    cdef void join(self, Py_ssize_t v, double pivot) noexcept nogil:
        """The variable of ``try_join`` joins."""
        self.member[self.factor.size], self.place[v] = <int32_t>v, <int32_t>self.factor.size
        self.put(v, MARGIN)
        self.factor.append(&self.half[0], pivot)
        self.rows.pin(<int32_t>(v // self.halves))

    cdef void leave(self, Py_ssize_t v) noexcept nogil:
        """A member leaves; its new state is up to the caller."""
        cdef Py_ssize_t k = self.place[v]
        self.factor.remove(k)
        self.place[v] = -1
        while k < self.factor.size:
            self.member[k] = self.member[k + 1]
            self.place[self.member[k]] = <int32_t>k
            k += 1
        self.rows.unpin(<int32_t>(v // self.halves))

    cdef void clear_margin(self) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.factor.size):
            self.place[self.member[k]] = -1
            self.rows.unpin(<int32_t>(self.member[k] // self.halves))
        self.factor.size = 0

    cdef int add_margin(self, const double *coef, Py_ssize_t n, double *out) except -1:
        """out += sum over the margin of coef K, over the first n rows."""
        cdef Py_ssize_t k, count = 0
        cdef const double *K
        cdef double[::1] kept_coef = self.ones  # scratch
        for k in range(self.factor.size):
            if coef[k] == 0.0:
                continue
            K = self.rows.kept(self.member[k] // self.halves)
            if K != NULL:
                kept_coef[count], self.margin_rows[count] = coef[k], K
                count += 1
        svmx_add_rows(n, count, &kept_coef[0] if count else NULL, self.margin_rows, out)
        for k in range(self.factor.size):
            if coef[k] != 0.0 and self.rows.kept(self.member[k] // self.halves) == NULL:
                svmx_axpy(n, coef[k], self.rows.row(self.member[k] // self.halves), out)
        return 0


cdef void trade(double[::1] values, Py_ssize_t v, Py_ssize_t w) noexcept nogil:
    """Two values change places."""
    cdef double held = values[v]
    values[v], values[w] = values[w], held


def longer(values, str kind, Py_ssize_t n):
    """A buffer of ``kind`` that begins with ``values``."""
    out = zeros(kind, n)
    out[:len(values)] = memoryview(values)
    return out


def copied(values, Py_ssize_t n):
    """The first n of ``values``."""
    return memoryview(bytearray(memoryview(values)[:n])).cast(memoryview(values).format)
