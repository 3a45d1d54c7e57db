"""State of an exact optimum under changes of rows, with rollback.

The optimum, in double, of the dual problem (_solvers/dual.pyx) of one or two groups:

    min  1/2 beta'K beta - linear'beta     s.t.  sum of beta over group g = total_g,   lower <= beta <= upper
    V = linear - F,  F = K beta;   optimal  <=>  each group has a level, such that for its variables
    V_v <= level where beta_v = lower,   V_v >= level where beta_v = upper,   V_v = level between

A row of data has one variable, or two in regression (y = +1 and y = -1), which share K and F. With one group the level
is -rho. The nu formulations have two groups: beta >= 0 and beta <= 0.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from libsvmx._core.allocation cimport reallocate
from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.dispatch cimport SVMX_TOGETHER, svmx_add_rows, svmx_axpy, svmx_dot
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.doublerows cimport FEW_ROWS, DoubleRows
from libsvmx._kernels.kernel_matrix cimport Kernel, Targets
from libsvmx._solvers.dual cimport Certificate, add_variable, begin, gap_of

from libsvmx._core.buffers import filled, zeros

cdef double ULP = 2.0 ** -52
# Scores that differ by less (relative) are at the same end of the interval of rho.
cdef double NEAR = 1e-9
# Work of a kernel value in double, as ``Control.worked`` counts it.
cdef int64_t VALUE_WORK = 8


# A state of many classes has thousands of paths, so empty arrays are shared, and arrays of a type lie in one buffer:
# the garbage collector visits three objects per buffer.
cdef double[::1] NO_DOUBLES = zeros("d", 0)
cdef int64_t[::1] NO_TAGS = zeros("q", 0)
cdef int32_t[::1] NO_INTS = zeros("i", 0), NO_MOVES = zeros("i", 2)
cdef int8_t[::1] NO_BYTES = zeros("b", 0)


class PathLost(ArithmeticError):
    """A path cannot be followed: K is not positive semidefinite, or rounding dominates."""


class PathLong(PathLost):
    """A path is longer than allowed. The state stops on it: beta and F of all rows are consistent, and rows that should
    leave are LEAVING."""


cdef class PathState:
    """PathState(per_row, budget_bytes, groups=1): without rows; rows join by ``append`` and leave by ``discard``.

    Parameters
    ----------
    per_row : int           variables of a row, 1 or 2
    budget_bytes : float    for kernel rows that are kept
    groups : int            1, or 2 (variables with lower < 0 are of group 1)

    Attributes
    ----------
    n : int                 rows
    drift : float           bound on the rounding errors of V since it was last recomputed
    inexact : bool          result of SMO: optimal to a tolerance, no start of a path
    """

    def __cinit__(self, int per_row, double budget_bytes, int groups=1):
        self.per_row, self.rows, self.groups = per_row, DoubleRows(budget_bytes), groups
        self.factor = Cholesky()
        self.F = self.diagonal = self.linear = self.lower = self.upper = self.beta = self.side = NO_DOUBLES
        self.column = self.null = self.dbeta = self.ones = self.ones_of_other = self.computed = NO_DOUBLES
        self.where = self.group = NO_BYTES
        self.place = self.member = NO_INTS
        self.tag, self.moves = NO_TAGS, NO_MOVES

    def __dealloc__(self):
        free(self.margin_rows)

    # ---- results -------------------------------------------------------------------------------

    @property
    def rho(self):
        """Minus the level, or the mean of both levels: decision values are F - rho."""
        return -self.level[0] if self.groups == 1 else -(self.level[0] + self.level[1]) / 2

    @property
    def r(self):
        """Half the difference of the levels of two groups, as in a DualSolution; 0 with one."""
        return 0.0 if self.groups == 1 else (self.level[1] - self.level[0]) / 2

    @property
    def totals(self):
        """Required sum of beta of each group: tuple of float."""
        return tuple([self.total[g] for g in range(self.groups)])

    @property
    def coefficients(self):
        """beta of each variable: buffer of float64, shape (per_row * n,), a copy."""
        return copied(self.beta, self.per_row * self.n)

    @property
    def scores(self):
        """V of each variable: buffer of float64, shape (per_row * n,)."""
        cdef Py_ssize_t v
        out_ = zeros("d", self.per_row * self.n)
        cdef double[::1] out = out_
        for v in range(self.per_row * self.n):
            out[v] = self.score(v)
        return out_

    @property
    def K_beta(self):
        """F = K beta of each row: buffer of float64, shape (n,), a copy."""
        return copied(self.F, self.n)

    @property
    def tags(self):
        """Tag of each row: buffer of int64, shape (n,), a copy."""
        return copied(self.tag, self.n)

    @property
    def margin_size(self):
        return self.factor.size

    def objective(self):
        """1/2 beta'K beta - linear'beta."""
        cdef Py_ssize_t v
        cdef double value = 0.0
        for v in range(self.per_row * self.n):
            value += self.beta[v] * (0.5 * self.F[v // self.per_row] - self.linear[v])
        return value

    @property
    def holds_rho(self):
        """Mask of the rows that alone determine an end of the interval of rho if no variable is free: buffer of int8,
        shape (n,); all 0 if one is free. For one group."""
        cdef Certificate found = self.certificate(0)
        cdef Py_ssize_t v, above = 0, below = 0, top = -1, bottom = -1
        cdef double V
        out_ = zeros("b", self.n)
        cdef int8_t[::1] out = out_
        if found.n_free:
            return out_
        for v in range(self.per_row * self.n):
            V = self.score(v)
            if self.beta[v] < self.upper[v] and V >= found.highest - NEAR * (1.0 + fabs(found.highest)):
                above, top = above + 1, v // self.per_row
            if self.beta[v] > self.lower[v] and V <= found.lowest + NEAR * (1.0 + fabs(found.lowest)):
                below, bottom = below + 1, v // self.per_row
        if above == 1:
            out[top] = True
        if below == 1:
            out[bottom] = True
        return out_

    def support_counts(self):
        """Number of rows with beta != 0, and of those of them at a bound: (int, int)."""
        cdef Py_ssize_t p, v, n_sv = 0, n_bsv = 0
        cdef double beta
        cdef bint inside
        for p in range(self.n):
            beta, inside = 0.0, False
            for v in range(self.per_row * p, self.per_row * (p + 1)):
                beta += self.beta[v]
                inside = inside or self.is_inside(v)
            if beta > 0 or beta < 0:
                n_sv += 1
                n_bsv += not inside
        return n_sv, n_bsv

    def gap(self):
        """The KKT gap (_solvers/dual.pyx), the larger of two groups; -inf if no two variables can move."""
        return self.kkt_gap()

    cdef double kkt_gap(self) noexcept nogil:
        cdef Certificate found
        cdef double gap = -HUGE_VAL
        cdef int g
        for g in range(self.groups):
            found = self.certificate(g)
            gap = max(gap, gap_of(&found))
        return gap

    cdef Certificate certificate(self, int g) noexcept nogil:
        cdef Certificate found
        cdef Py_ssize_t v
        cdef double beta
        begin(&found)
        for v in range(self.per_row * self.n):
            if self.groups == 1 or self.group[v] == g:
                beta = self.beta[v]  # and V without a call: each change computes the gap three times
                add_variable(&found, v, self.linear[v] - self.F[v >> (self.per_row - 1)], beta < self.upper[v],
                             beta > self.lower[v], False)
        return found

    cdef double score(self, Py_ssize_t v) noexcept nogil:
        return self.linear[v] - self.F[v >> (self.per_row - 1)]  # a division would cost as much as the rest

    cdef double excess(self, Py_ssize_t v) noexcept nogil:
        """V minus the level of its group."""
        return self.score(v) - self.level[self.group[v]]

    cdef double largest_level(self) noexcept nogil:
        return max(fabs(self.level[0]), fabs(self.level[1])) if self.groups > 1 else fabs(self.level[0])

    cdef bint is_empty(self, int g) noexcept nogil:
        """Whether a group has no member in the margin."""
        cdef Py_ssize_t k
        if self.groups == 1:
            return self.factor.size == 0
        for k in range(self.factor.size):
            if self.group[self.member[k]] == g:
                return False
        return True

    cdef bint has_empty_group(self) noexcept nogil:
        return self.is_empty(0) or (self.groups > 1 and self.is_empty(1))

    cdef int set_totals(self, totals) except -1:
        """Set the required sums, one per group. Raises ValueError."""
        if len(totals) != self.groups:
            raise ValueError(f"{len(totals)} sums of {self.groups} groups")
        for g in range(self.groups):
            self.total[g] = totals[g]
        return 0

    cdef void assign(self, Py_ssize_t v, int where) noexcept nogil:
        """Move a variable to a set; JOINING ones move to the bound that is not 0."""
        self.where[v] = <int8_t>where
        if where == JOINING:
            self.side[v] = -1.0 if self.upper[v] > 0 else 1.0
        else:
            self.side[v] = 1.0 if where == AT_LOWER else -1.0 if where == AT_UPPER else 0.0

    cdef void assign_bound(self, Py_ssize_t v) noexcept nogil:
        """Assign a variable to the set of the bound that it is at, or beyond."""
        self.assign(v, AT_LOWER if self.beta[v] <= self.lower[v] else AT_UPPER)

    cdef bint is_inside(self, Py_ssize_t v) noexcept nogil:
        return self.lower[v] < self.beta[v] < self.upper[v]

    cdef double sum_residual(self, int g) noexcept nogil:
        """``total`` of a group minus its sum of beta."""
        cdef Py_ssize_t v
        cdef double missing = self.total[g]
        for v in range(self.per_row * self.n):
            if self.group[v] == g:
                missing -= self.beta[v]
        return missing

    cdef int set_beta(self, Py_ssize_t v, double beta) except -1 nogil:
        """Set beta of one variable, and update F."""
        if beta != self.beta[v]:
            svmx_axpy(self.n, beta - self.beta[v], self.row(<int32_t>(v // self.per_row)), &self.F[0])
            self.drift += ULP * self.largest * fabs(beta - self.beta[v])
            self.beta[v] = beta
        return 0

    # ---- rows ----------------------------------------------------------------------------------

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Allocate arrays for n rows."""
        cdef Py_ssize_t m = self.linear.shape[0], room, rows = self.F.shape[0]
        cdef double[::1] doubles
        cdef int64_t[::1] tag
        cdef int32_t[::1] ints
        cdef int8_t[::1] small
        if self.per_row * n <= m:
            return 0
        room = n + n // 4 + 4
        doubles, tag = zeros("d", (2 + 5 * self.per_row) * room), zeros("q", room)
        ints, small = zeros("i", (2 + self.per_row) * room), zeros("b", 2 * self.per_row * room)
        # nothing below can fail
        tag[:rows] = self.tag
        self.tag, self.moves, ints = tag, ints[:2 * room], ints[2 * room:]
        ints[:m] = self.place
        self.place = ints
        self.diagonal, doubles = longer(self.diagonal, doubles, room), doubles[room:]
        self.F, doubles = longer(self.F, doubles, room), doubles[room:]
        room *= self.per_row
        small[:m] = self.where
        small[room:room + m] = self.group
        self.where, self.group = small[:room], small[room:]
        self.lower, doubles = longer(self.lower, doubles, room), doubles[room:]
        self.upper, doubles = longer(self.upper, doubles, room), doubles[room:]
        self.beta, doubles = longer(self.beta, doubles, room), doubles[room:]
        self.side, doubles = longer(self.side, doubles, room), doubles[room:]
        self.linear = longer(self.linear, doubles, room)
        return 0

    cdef const double *row(self, int32_t p) except NULL nogil:
        """Kernel row p, (n,), valid as ``DoubleRows.row``. Raises Stopped if it is not kept and ``control`` says so."""
        if self.control is not None and self.rows.kept(p) == NULL:
            self.control.asked(VALUE_WORK * self.rows.n)
        return self.rows.row(p)

    def append(self, Kernel kernel, tags, linear, lower, upper, Control control=None):
        """Append rows with beta = 0.

        Parameters
        ----------
        kernel : Kernel                       over all rows, the new ones included
        tags : buffer of int64, shape (new rows,)
        linear, lower, upper : buffers of float64, shape (per_row * new rows,)       one of the bounds is 0
        control : Control or None             asked by kernel rows from now on, until a path begins

        Raises
        ------
        ValueError      they do not fit together
        Stopped; MemoryError      only ``rollback`` may follow
        """
        cdef const double[::1] new_linear = linear, new_lower = lower, new_upper = upper
        cdef const int64_t[::1] tag = tags
        cdef Py_ssize_t k, v, n = self.n, m = self.per_row * n, p
        if not (n + tag.shape[0] == kernel.n
                and new_linear.shape[0] == new_lower.shape[0] == new_upper.shape[0] == self.per_row * tag.shape[0]):
            raise ValueError("kernel, tags, linear, lower and upper do not fit together")
        self.make_room(kernel.n)
        for k in range(new_linear.shape[0]):
            v = m + k
            self.linear[v], self.lower[v], self.upper[v] = new_linear[k], new_lower[k], new_upper[k]
            self.beta[v], self.place[v], self.group[v] = 0.0, -1, self.groups > 1 and self.lower[v] < 0
            self.assign(v, AT_LOWER if self.lower[v] == 0 else AT_UPPER)
        for k in range(tag.shape[0]):
            self.tag[n + k], self.diagonal[n + k] = tag[k], kernel.diagonal[n + k]
        self.control = control
        self.rows.bind(kernel)
        if n and n < kernel.n:
            self.meet(kernel, control)
        self.n = self.active = kernel.n
        for p in range(n, kernel.n):
            self.largest = max(self.largest, self.diagonal[p])
        if self.shift == 0.0:
            self.shift = self.largest if self.largest > 0 else 1.0

    cdef int meet(self, Kernel kernel, Control control) except -1:
        """F of the new rows, and their columns of the kept kernel rows, from the same kernel values.

        Rows with beta != 0 come first, so that F does not depend on which rows are kept.
        """
        cdef Py_ssize_t k = 0, n_betas, n_others = 0, p, v
        cdef double beta
        rows_ = zeros("i", self.n)
        cdef int32_t[::1] rows = rows_, others = zeros("i", self.n)
        cdef double[::1] betas = zeros("d", self.n), values
        cdef Targets targets
        for p in range(self.n):
            beta = 0.0
            for v in range(self.per_row * p, self.per_row * (p + 1)):
                beta += self.beta[v]
            if beta != 0.0:
                rows[k], betas[k] = <int32_t>p, beta
                k += 1
            elif self.rows.kept(<int32_t>p) != NULL:
                others[n_others] = <int32_t>p
                n_others += 1
        n_betas = k
        for k in range(n_others):
            rows[n_betas + k] = others[k]
        k = n_betas + n_others
        self.F[self.n:kernel.n] = 0.0
        if k == 0:
            return 0
        values = zeros("d", k)
        targets = kernel.double_targets(rows_[:k], kernel.n - self.n <= FEW_ROWS)
        self.rows.value_ns = targets.value_ns
        for p in range(self.n, kernel.n):
            if control is not None:
                control.asked(VALUE_WORK * k)
            targets.fill_doubles(<int32_t>p, 0, k, &values[0])
            self.F[p] = svmx_dot(n_betas, &values[0], &betas[0])
            self.rows.place_column(p, k, &rows[0], &values[0])
        kernel.values_computed += k * (kernel.n - self.n)
        return 0

    def discard(self):
        """Remove the LEAVING rows: the last rows take their places. Cannot fail."""
        cdef Py_ssize_t h, to, last, v, w, n_pairs = 0
        cdef int32_t[::1] pairs = self.moves
        for to in range(self.n - 1, -1, -1):
            if self.where[self.per_row * to] != LEAVING:
                continue
            last = self.n - 1
            for h in range(self.per_row):
                v = self.per_row * to + h
                w = self.per_row * last + h
                self.linear[v], self.lower[v], self.upper[v] = self.linear[w], self.lower[w], self.upper[w]
                self.beta[v], self.where[v], self.place[v] = self.beta[w], self.where[w], self.place[w]
                self.side[v], self.group[v] = self.side[w], self.group[w]
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

    cdef int swap_rows(self, const int32_t *pairs, Py_ssize_t n) except -1 nogil:
        """Swap rows pairs[2 k] and pairs[2 k + 1]; no row is in two pairs."""
        cdef Py_ssize_t k, h, v, w
        cdef int32_t held
        cdef int64_t tag
        if self.swapped is not None:
            with gil:
                self.swapped.append([pairs[k] for k in range(2 * n)])
        for k in range(n):
            for h in range(self.per_row):
                v = self.per_row * pairs[2 * k] + h
                w = self.per_row * pairs[2 * k + 1] + h
                swap_values(self.linear, v, w)
                swap_values(self.lower, v, w)
                swap_values(self.upper, v, w)
                swap_values(self.beta, v, w)
                swap_values(self.side, v, w)
                held = self.where[v]
                self.where[v], self.where[w] = self.where[w], <int8_t>held
                held = self.group[v]
                self.group[v], self.group[w] = self.group[w], <int8_t>held
                held = self.place[v]
                self.place[v], self.place[w] = self.place[w], held
                if self.place[v] >= 0:
                    self.member[self.place[v]] = <int32_t>v
                if self.place[w] >= 0:
                    self.member[self.place[w]] = <int32_t>w
            v, w = pairs[2 * k], pairs[2 * k + 1]
            swap_values(self.F, v, w)
            swap_values(self.diagonal, v, w)
            tag = self.tag[v]
            self.tag[v], self.tag[w] = self.tag[w], tag
        self.rows.swap(pairs, n)
        return 0

    # ---- rollback ------------------------------------------------------------------------------

    def mark(self):
        """Begin a change that ``rollback`` can undo. Arrays are saved before they change, as most of a change at rest
        would be copying them: see ``keep_lists``, ``leave_at_rest`` and ``keep_factor``."""
        self.swapped, self.left = [], []
        self.before = self.n, self.level, self.total, self.drift, self.inexact, self.largest, self.shift

    cdef int keep_lists(self) except -1:
        """Save the arrays for ``rollback`` before they change."""
        if self.before is not None and self.lists_before is None:
            m = self.per_row * self.before[0]
            self.lists_before = ([copied(each, self.before[0]) for each in self.row_lists()],
                                 [copied(each, m) for each in self.lists()], copied(self.member, self.factor.size))
        return 0

    cdef int leave_at_rest(self, Py_ssize_t v) except -1:
        """LEAVING, of a variable outside the margin with beta = 0, while nothing moves."""
        if self.before is not None:
            self.left.append((v, self.lower[v], self.upper[v], self.linear[v], self.where[v], self.side[v]))
        self.lower[v] = self.upper[v] = self.linear[v] = 0.0
        self.assign(v, LEAVING)
        return 0

    cdef int keep_factor(self) except -1 nogil:
        """Save the factor for ``rollback`` before its first change, if any."""
        if self.before is not None and self.factor_before is None:
            with gil:
                self.factor_before = self.factor.copy()
        return 0

    def rollback(self):
        """Restore the state at ``mark``; there must not have been a ``discard`` since."""
        cdef Py_ssize_t k, v
        cdef int32_t[::1] pairs
        if self.before is None:
            return
        n, levels, totals, self.drift, self.inexact, self.largest, self.shift = self.before
        if self.factor_before is not None:
            self.factor, self.factor_before = self.factor_before, None
        for k in range(2):
            self.level[k], self.total[k] = levels[k], totals[k]
        while self.swapped:  # a signal handler may raise in ``filled``: no swap is undone twice
            pairs = filled("i", self.swapped[len(self.swapped) - 1])
            self.rows.swap(&pairs[0], pairs.shape[0] // 2)
            self.swapped.pop()
        if self.lists_before is not None:
            row_lists, lists, member = self.lists_before
            for mine, kept in zip(self.row_lists(), row_lists):
                mine[:n] = kept
            for mine, kept in zip(self.lists(), lists):
                mine[:len(kept)] = kept
            self.make_room_in_margin()
            memoryview(self.member)[:len(member)] = member
        for number, lower, upper, linear, where, side in self.left:
            v = number
            self.lower[v], self.upper[v], self.linear[v] = lower, upper, linear
            self.where[v], self.side[v] = where, side
        for k in range(self.rows.pins.shape[0]):
            self.rows.pins[k] = 0
        self.rows.cut(n)
        self.n = self.active = n
        for k in range(self.factor.size):
            self.rows.pin(self.member[k] // self.per_row)
        self.forget()

    def lists(self):
        """The arrays by variable."""
        return [memoryview(self.linear), memoryview(self.lower), memoryview(self.upper), memoryview(self.beta),
                memoryview(self.where), memoryview(self.place), memoryview(self.side), memoryview(self.group)]

    def row_lists(self):
        """The arrays by row."""
        return [memoryview(self.F), memoryview(self.diagonal), memoryview(self.tag)]

    def forget(self):
        """Drop what ``mark`` has saved."""
        self.before = self.lists_before = self.left = self.swapped = self.factor_before = None

    def release(self):
        """Release the kernel and its data until ``append``; kept kernel rows stay. No path may be followed before.
        Cannot fail."""
        self.rows.release_kernel()

    def copy(self, budget_bytes=None):
        """An independent copy, without kept kernel rows and what ``mark`` has saved."""
        cdef PathState other = PathState(
            self.per_row, self.rows.budget_bytes if budget_bytes is None else budget_bytes, self.groups)
        cdef Py_ssize_t k
        other.make_room(self.n)
        other.rows.make_room(self.n)
        other.n = other.active = self.n
        other.level, other.total, other.drift, other.inexact = self.level, self.total, self.drift, self.inexact
        other.shift, other.largest, other.rows.value_ns = self.shift, self.largest, self.rows.value_ns
        for mine, own in zip(self.row_lists(), other.row_lists()):
            own[:self.n] = mine[:self.n]
        for mine, own in zip(self.lists(), other.lists()):
            own[:self.per_row * self.n] = mine[:self.per_row * self.n]
        other.factor = self.factor.copy()
        other.make_room_in_margin()
        other.member[:self.factor.size] = self.member[:self.factor.size]
        for k in range(self.factor.size):
            other.rows.pin(self.member[k] // self.per_row)
        return other

    # ---- the margin ----------------------------------------------------------------------------

    cdef bint has_room_in_margin(self) noexcept nogil:
        """Whether there is room for another member."""
        return self.factor.size + 2 <= self.member.shape[0] and self.factor.size + 1 <= self.factor.room

    cdef int make_room_in_margin(self, Py_ssize_t more=1) except -1:
        """Allocate scratch and arrays for ``more`` further members."""
        cdef Py_ssize_t room = self.member.shape[0], wanted = self.factor.size + more + 1
        cdef double[::1] doubles
        cdef int32_t[::1] member
        self.factor.reserve(self.factor.size + more + (more > 1))
        if wanted > room:
            room = max(16, 2 * room, wanted)
            reallocate(<void **>&self.margin_rows, room * sizeof(double *), b"rows of the margin")
            doubles, member = zeros("d", 5 * room), zeros("i", room)
            # nothing below can fail
            member[:self.member.shape[0]] = self.member
            self.member = member
            self.dbeta, doubles = longer(self.dbeta, doubles, room), doubles[room:]
            self.ones, doubles = longer(self.ones, doubles, room), doubles[room:]
            self.null, doubles = longer(self.null, doubles, room), doubles[room:]
            self.column, doubles = longer(self.column, doubles, room), doubles[room:]
            self.ones_of_other = longer(self.ones_of_other, doubles, room)
        return 0


cdef void swap_values(double[::1] values, Py_ssize_t v, Py_ssize_t w) noexcept nogil:
    cdef double held = values[v]
    values[v], values[w] = values[w], held


cdef double[::1] longer(double[::1] values, double[::1] out, Py_ssize_t n):
    """out[:n], with ``values`` copied to its beginning."""
    out[:values.shape[0]] = values
    return out[:n]


def copied(values, Py_ssize_t n):
    """The first n of ``values``."""
    return memoryview(bytearray(memoryview(values)[:n])).cast(memoryview(values).format)


# ---- The matrix of the margin and its factor -------------------------------------------------------
#
# The system of the margin M is K_MM bordered by the sum of each group. A constant added to all kernel values within a
# group changes V of all its variables alike, since their sum of beta is fixed, so the border can be replaced by
#
#     K'_MM = K_MM + shift sum_g e_g e_g',      x'K'x = x'Kx + shift sum_g (e_g'x)^2,      e_g = 1 in group g, else 0
#
# which is positive definite if the bordered matrix is nonsingular and K positive semidefinite, so it has a Cholesky
# factor even if K_MM is singular (a linear kernel with |M| = d + 1). For an optimum to a tolerance, a ridge on K_MM
# makes it positive definite for any members.

# The shift is within this factor of the kernel values.
cdef double SAME_SIZE = 64.0


cdef double border_margin(PathState s, Py_ssize_t v) except? -1.0 nogil:
    """The Schur complement of a variable that may join; sets ``column`` to L^-1 K'_Mv."""
    cdef Py_ssize_t k
    cdef const double *K
    if not s.has_room_in_margin():
        with gil:
            s.make_room_in_margin()
    K = s.row(<int32_t>(v // s.per_row))
    for k in range(s.factor.size):
        s.column[k] = K[s.member[k] // s.per_row] + (s.shift if s.group[s.member[k]] == s.group[v] else 0.0)
    return s.factor.border(&s.column[0], K[v // s.per_row] + s.shift + s.ridge)


cdef int append_to_margin(PathState s, Py_ssize_t v, double schur) except -1 nogil:
    """Add the variable of ``border_margin``, with its Schur complement."""
    s.keep_factor()
    s.member[s.factor.size], s.place[v] = <int32_t>v, <int32_t>s.factor.size
    s.assign(v, MARGIN)
    s.factor.append(&s.column[0], schur)
    s.rows.pin(<int32_t>(v // s.per_row))
    return 0


cdef int remove_from_margin(PathState s, Py_ssize_t v) except -1 nogil:
    """Remove a member; the caller assigns it to another set."""
    cdef Py_ssize_t k = s.place[v]
    s.keep_factor()
    s.factor.remove(k)
    s.place[v] = -1
    while k < s.factor.size:
        s.member[k] = s.member[k + 1]
        s.place[s.member[k]] = <int32_t>k
        k += 1
    s.rows.unpin(<int32_t>(v // s.per_row))
    return 0


cdef int clear_margin(PathState s) except -1 nogil:
    """Remove all members; the caller assigns them to other sets."""
    cdef Py_ssize_t k
    s.keep_factor()
    for k in range(s.factor.size):
        s.place[s.member[k]] = -1
        s.rows.unpin(<int32_t>(s.member[k] // s.per_row))
    s.factor.size = 0
    return 0


cdef int add_margin_rows(PathState s, const double *coef, Py_ssize_t n, double *out) except -1 nogil:
    """out += sum over the margin of coef K, over the first n rows.

    The order does not depend on which rows are kept, so a path from the same state always has the same bits. Rows
    without room are computed in blocks.
    """
    cdef Py_ssize_t k, count = 0, n_computed = 0
    cdef int32_t p
    cdef const double *K
    cdef double *kept_coef = &s.ones[0]  # scratch
    cdef double *computed = NULL
    for k in range(s.factor.size):
        if coef[k] == 0.0:
            continue
        p = <int32_t>(s.member[k] // s.per_row)
        K = s.rows.kept(p)  # stays valid, since members are pinned
        if K == NULL:
            K = s.row(p)
            if s.rows.kept(p) == NULL:
                if computed == NULL:
                    computed = room_for(s, SVMX_TOGETHER * n)
                memcpy(computed + n_computed * n, K, n * sizeof(double))
                K = computed + n_computed * n
                n_computed += 1
        kept_coef[count], s.margin_rows[count] = coef[k], K
        count += 1
        if n_computed and count % SVMX_TOGETHER == 0:
            svmx_add_rows(n, count, kept_coef, s.margin_rows, 0, out)
            count = n_computed = 0
    if count:
        svmx_add_rows(n, count, kept_coef, s.margin_rows, 0, out)
    return 0


cdef double *room_for(PathState s, Py_ssize_t n) except NULL nogil:
    """Scratch for n kernel values, reused."""
    if s.computed.shape[0] < n:
        with gil:
            s.computed = zeros("d", n)
    return &s.computed[0]


cdef int rescale_shift(PathState s) except -1:
    """Set a shift of the size of the kernel values, if theirs has changed much, and refactor."""
    cdef Py_ssize_t v
    if s.largest == 0.0 or 1.0 / SAME_SIZE < s.shift / s.largest < SAME_SIZE:
        return 0
    members = [s.member[v] for v in range(s.factor.size)]
    s.shift = s.largest
    clear_margin(s)
    for v in members:
        append_to_margin(s, v, max(border_margin(s, v), ULP * s.largest))
    return 0
