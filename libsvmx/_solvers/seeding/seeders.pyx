"""The seeders: a warm start of a fold from the optimum of another fold, or from that over all rows.

    FoldSeeder      ``make``: propose (sir, mir, ato, avg, top or near), make feasible (AdjustAlpha), update the scores
    Replacement     the least squares of mir; the path of ato is in ato_path.pyx

A seeder redistributes the beta of rows that leave; AdjustAlpha corrects the sum. A new one needs a number in
``SeederKind``, a branch in ``FoldSeeder.propose`` and a line in registry.py.
"""

from libc.math cimport cbrt, fabs
from libc.stdint cimport int8_t, int32_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy, memset

from libsvmx._core.allocation cimport reallocate
from libsvmx._core.cholesky cimport Cholesky
from libsvmx._core.dispatch cimport SVMX_SOURCES, svmx_dot
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._solvers.seeding.ato_path cimport AtoPath
from libsvmx._solvers.seeding.fold_change cimport (
    FREE, FoldChange, FoldStart, add_known, describe, make_feasible, move_scores, shift)

from libsvmx._core.buffers import zeros
from libsvmx._solvers.seeding.registry import SEEDERS


# NEAR needs at least this many free rows per leaving row; with fewer it is TOP.
cdef double LEAST_FREE = 0.5


# ---- From the optimum to a start -------------------------------------------------------------------

cdef class FoldSeeder:
    """FoldSeeder(): makes starts one at a time, with memory allocated by ``reserve``.

    Attributes
    ----------
    path : AtoPath           of ato, else None
    along_path : bool        whether the last start was found along it
    in_a_star : SeederKind   replaces ato in a star if ato does not pay
    """

    def __cinit__(self):
        self.replacement, self.in_a_star = Replacement(), NEAR
        self.leaving, self.origin, self.before = (zeros("d", 0) for _ in range(3))
        self.chosen, self.used = zeros("i", 0), zeros("b", 0)

    cdef int reserve(self, Py_ssize_t m, Py_ssize_t columns, SeederKind kind) except -1:
        """Allocate for folds of up to m variables over ``columns`` rows."""
        if self.chosen.shape[0] < m:
            self.leaving, self.origin, self.before = (zeros("d", m) for _ in range(3))
            self.chosen, self.used = zeros("i", m), zeros("b", m)
        if kind == ATO:
            self.path = self.path or AtoPath()
            self.path.reserve(m, columns)
        elif kind == MIR:
            self.replacement.reserve(m)
        return 0

    cdef bint make(self, FoldStart *at, SharedRows rows, Control control, SeederKind kind, double most_work,
                   double *scores) except -1 nogil:
        """A feasible start in ``at.beta``, and V there in ``scores`` (m,), after ``reserve``. False if the fold is
        infeasible.

        ``most_work``: limit of a path's work in values, 0: no path; for mir, the work of a cold start.
        """
        self.propose(at, rows, control, kind, most_work, scores)
        if not make_feasible(at, &self.origin[0], &self.chosen[0]):
            return False
        move_scores(at, &self.before[0], rows, control, scores)
        return True

    cdef int propose(self, FoldStart *at, SharedRows rows, Control control, SeederKind kind, double most_work,
                     double *scores) except -1 nogil:
        """A start in ``at.beta``, within its bounds; ``before`` becomes the beta of ``at.V``."""
        describe(at, control.eps)
        memcpy(&self.origin[0], at.beta, at.m * sizeof(double))
        memcpy(&self.before[0], at.beta, at.m * sizeof(double))
        memset(&self.leaving[0], 0, at.m * sizeof(double))
        at.leaving, self.along_path, self.replacement.work = &self.leaving[0], False, 0.0
        if kind == ATO and not most_work > 0:
            kind = self.cheapest(at)
        if kind == ATO:
            self.take_leave(at, rows, control, kind)
            self.along_path = self.path.follow(at, rows, control, most_work, scores)
            if self.along_path:
                memcpy(&self.before[0], at.beta, at.m * sizeof(double))
                memset(&self.leaving[0], 0, at.m * sizeof(double))
                at.V = scores
                return 0
            kind = self.cheapest(at)
            if kind != AVG:
                memset(&self.leaving[0], 0, at.m * sizeof(double))
        elif kind == AVG or kind == MIR:
            self.take_leave(at, rows, control, kind)
        if kind == MIR:
            return self.replacement.replace(at, rows, control, most_work)
        if kind == AVG:
            return self.spread(at)
        self.begin_to_hand_over(at, kind)
        return self.take_leave(at, rows, control, kind)

    cdef SeederKind cheapest(self, const FoldStart *at) noexcept nogil:
        """The seeder used where a path is not tried."""
        return SIR if at.n_entering else self.in_a_star

    # ---- R, the rows that leave ----------------------------------------------------------------

    cdef int take_leave(self, FoldStart *at, SharedRows rows, Control control, SeederKind kind) except -1 nogil:
        """Set ``leaving``, sum over R of beta_r K_r; sir, top and near hand over its beta meanwhile."""
        cdef const float *K[SVMX_SOURCES]
        cdef bint hands_over = kind == SIR or kind == TOP or kind == NEAR
        cdef Py_ssize_t first = 0
        cdef int s, count
        while first < at.n_left:
            count = <int>min(<Py_ssize_t>SVMX_SOURCES, at.n_left - first)
            rows.block(at.left_column + first, count, K)
            add_known(at, K, count, at.left_beta + first, &self.leaving[0])
            if hands_over:
                for s in range(count):
                    self.hand_over(at, K[s], at.left_beta[first + s], kind)
            control.asked(count * (at.m + self.n_chosen if hands_over else at.m))
            first += count
        return 0

    # ---- AVG -----------------------------------------------------------------------------------
    #
    # AVG: the alpha of rows that leave is spread evenly over the free rows (DeCoste & Wagstaff 2000).
    #
    #     y_j alpha_j += sum_R y_r alpha_r / d    for the d rows j of S with 0 < alpha_j < C
    #
    # and the excess over a bound goes evenly to the others (Wen et al. 2017, supplement): the shift of AdjustAlpha,
    # over the free rows of S.
    #
    # Departs from the paper: R may be a fold, not one row. The amount is what is missing in the sum of the new fold,
    # which is less than what has left in the nu formulations, where the sum depends on the number of rows.

    cdef int spread(self, const FoldStart *at) except -1 nogil:
        cdef int g
        for g in range(at.groups):
            shift(at, FREE, g, &self.origin[0], &self.chosen[0])
        return 0

    # ---- SIR, TOP and NEAR ---------------------------------------------------------------------
    #
    # Each beta that leaves goes to the rows of largest kernel value.
    #
    #     for r in R with beta_r != 0:   t = argmax K(r, t) over the candidates with room in the direction of beta_r
    #                                    beta_t += what of beta_r has room there, the rest to the next
    #
    # A row of the other class has room in that direction while its own alpha is above 0, which then falls.
    #
    # SIR, single instance replacement: each row that leaves is replaced by the most similar unused row of T of its
    # class, q = argmax K(r, t) over unused t in T with y_t = y_r, alpha_q = alpha_r. The score of row i then changes by
    # alpha_r y_r (K_ir - K_iq), which is small if q is like r (Wen et al. 2017, eqs. 19-21, algorithm 3 of the
    # supplement). Departs from the paper:
    #
    # * Algorithm 3 also uses up a row of T for each row of R with alpha = 0.
    # * If T has no unused row of the class of r, the paper's text takes a random one of T (its algorithm 3 none). Here
    #   alpha_r is left to AdjustAlpha, so that a cross-validation is reproducible.
    # * Algorithm 3 takes only positive kernel values; here the largest counts, even if it is 0 or less.
    # * In a star T is empty: alpha_r goes to the most similar rows of S of its class, as far as there is room.
    #
    # TOP: the alpha of a row that leaves goes to the few rows most similar to it, of either class (Lee, Keerthi, Ong &
    # DeCoste 2004; Wen et al. 2017, supplement), for leave-one-out: R is one row, T is empty. Departs from the paper:
    # in a chain rows of T are candidates too, and R may be a fold, whose rows are handled one after the other.
    #
    # NEAR is our own: TOP, restricted to free rows of S. These are on the margin, so a change there violates little,
    # and as they are few, few kernel values are compared. If they are fewer than half the rows that leave, they would
    # all reach their bounds: then it is TOP. (Iterations left, NEAR and TOP, with C = 1 and a tenth leaving: fourclass
    # 30 %, 85 %; satimage 55 %, 75 %; nowhere many more.)

    cdef void begin_to_hand_over(self, const FoldStart *at, SeederKind kind) noexcept nogil:
        """Set ``chosen`` to the candidates, S before T."""
        cdef Py_ssize_t v, n_free = 0
        cdef int turn
        cdef bint of_T = kind == SIR and at.n_entering
        if kind == NEAR:
            for v in range(at.m):
                n_free += at.lower[v] < self.origin[v] < at.upper[v]
            if n_free < LEAST_FREE * at.n_left:
                kind = TOP
        self.n_chosen = 0
        memset(&self.used[0], 0, at.m * sizeof(int8_t))
        for turn in range(2):
            if (kind == NEAR and turn) or (kind == SIR and turn != of_T):
                continue
            for v in range(at.m):
                if at.lower[v] < at.upper[v] and (at.entering[v] != 0) == turn and (
                        kind != NEAR or at.lower[v] < self.origin[v] < at.upper[v]):
                    self.chosen[self.n_chosen] = <int32_t>v
                    self.n_chosen += 1

    cdef void hand_over(self, const FoldStart *at, const float *K, double beta, SeederKind kind) noexcept nogil:
        """Hand over the beta of a leaving row with kernel row K; AdjustAlpha places the rest if room is short."""
        cdef bint grows = beta > 0, once = kind == SIR and at.n_entering
        cdef double left = fabs(beta), room
        cdef Py_ssize_t v
        while left > 0:
            v = self.nearest(at, K, grows, kind == SIR)
            if v < 0:
                return
            room = min(left, at.upper[v] - at.beta[v] if grows else at.beta[v] - at.lower[v])
            at.beta[v] += room if grows else -room
            left -= room
            if once:
                self.used[v] = True
                return

    cdef Py_ssize_t nearest(self, const FoldStart *at, const float *K, bint grows, bint same_class) noexcept nogil:
        """The candidate with room of the largest K, the first in a tie; -1: none."""
        cdef Py_ssize_t v, k, found = -1
        cdef float most = 0
        for k in range(self.n_chosen):
            v = self.chosen[k]
            if ((found < 0 or K[at.column[v]] > most) and not self.used[v]
                    and (at.beta[v] < at.upper[v] if grows else at.beta[v] > at.lower[v])
                    and not (same_class and (at.upper[v] <= 0 if grows else at.lower[v] >= 0))):
                found, most = v, K[at.column[v]]
        return found


# ---- From Python -----------------------------------------------------------------------------------

cpdef SeederKind kind_of(str name) except *:
    """The SeederKind of a name."""
    return <SeederKind><int>list(SEEDERS).index(name)


cpdef str name_of(SeederKind kind):
    """The name of a SeederKind."""
    return list(SEEDERS)[<int>kind]


def start_of(FoldChange change, str name, bint proposed=False):
    """(beta, V), float64, shape (m,): a feasible start by a seeder; None if the fold is infeasible. Sets the work
    attributes of ``change``. ``proposed``: beta before AdjustAlpha, without V; for tests. Raises Stopped."""
    cdef FoldStart *at = change.begin()
    cdef SharedRows rows = change.rows()
    cdef FoldSeeder seeder = FoldSeeder()
    cdef SeederKind kind = kind_of(name)
    cdef bint feasible = True
    scores_ = zeros("d", change.size)
    cdef double[::1] scores = scores_
    if change.size:
        seeder.reserve(change.size, change.kernel.n, kind)
        with nogil:
            if proposed:
                seeder.propose(at, rows, change.control, kind, change.most_work, &scores[0])
            else:
                feasible = seeder.make(at, rows, change.control, kind, change.most_work, &scores[0])
    change.work = seeder.replacement.work
    if seeder.along_path:
        change.path_values, change.path_lines = seeder.path.values, seeder.path.lines
    return (memoryview(change.start), scores_) if feasible else None


# ---- MIR -------------------------------------------------------------------------------------------
#
# MIR, multiple instance replacement: alpha of T by least squares (Wen et al. 2017, eqs. 12-18, algorithm 2). The alpha
# of S stay, those of R become 0. With V_i = -f_i (their f), level = -b and beta = y alpha, free of labels,
#
#     sum_T K_it beta_t = V_i - level + sum_R K_ir beta_r    off the margin, to bring i there             (15)
#     sum_T K_it beta_t = sum_R K_ir beta_r                  on the margin, to keep it there
#     sum_T beta_t      = the new sum - sum_S beta_s         (16); in split problems one for each sign
#
# are solved for beta_T by least squares (17, 18),
#
#     min_x sum_i (sum_t K_it x_t - goal_i)^2 + sum_g (sum_{t of g} x_t - missing_g)^2,      A'A x = A'b
#
# by Cholesky of A'A, bordered by one unknown at a time.
#
# Departs from the paper:
#
# * A row of T on the right side of the margin by V keeps beta_t = 0 and is no unknown. So a regression row, which has
#   two variables, is at most one unknown, of known sign.
# * If no row of T is an unknown, as in a star, the unknowns are the changes of the free rows of S, and the rows i are
#   these alone: rows off the margin have no goal.
# * Rows i: the margin, then T, then others of S, evenly spaced, as many as memory and the work of a cold start allow;
#   the paper takes all rows of the previous fold, hence R and not T. At most 1000 unknowns, those farthest from their
#   goal.
# * An unknown linearly dependent on others in float64 stays 0; the paper takes a pseudo-inverse.

# Unknowns at most: the normal equations then take 0.1 s.
cdef Py_ssize_t MOST_UNKNOWNS = 1000
# Values K_it: 32 MB.
cdef Py_ssize_t MOST_VALUES = 1 << 22
# Work of the least squares at most, relative to a cold start.
cdef double REPLACEMENT_SHARE = 0.25
# A pivot below this share of its diagonal element is singular in float64.
cdef double SINGULAR = 1e-13
# A value this near a bound, relative to the width of the box, is at it: rounding of the linear system.
cdef double ROUNDING_OF_BOX = 1e-13


cdef class Replacement:
    """Replacement(): the least squares of mir, with memory allocated by ``reserve``."""

    def __cinit__(self):
        self.factor = Cholesky()
        self.unknown, self.equation, self.kept = (zeros("i", 0) for _ in range(3))
        self.goal, self.right, self.column = (zeros("d", 0) for _ in range(3))

    def __dealloc__(self):
        free(self.values)
        free(self.distances)

    cdef int reserve(self, Py_ssize_t m) except -1:
        """Allocate for folds of up to m variables."""
        if self.unknown.shape[0] < m:
            reallocate(<void **>&self.distances, m * sizeof(Distance), b"a start by MIR")
            self.unknown, self.equation, self.kept = (zeros("i", m) for _ in range(3))
            self.goal, self.right, self.column = (zeros("d", m + 1) for _ in range(3))
        return 0

    cdef int replace(self, FoldStart *at, SharedRows rows, Control control, double most_work) except -1 nogil:
        """Set beta of T, or of the margin if no row of T is an unknown, after ``reserve``. ``most_work``: of
        ``make``."""
        cdef const float *K
        cdef double *own
        cdef Py_ssize_t t, u, i, v, k, n = self.choose_unknowns(at, REPLACEMENT_SHARE * most_work), n_equations
        cdef double pivot, total, slack, diagonal
        if n == 0:
            return 0
        n_equations = self.choose_equations(at, n, REPLACEMENT_SHARE * most_work)
        if n * n_equations > self.room:
            reallocate(<void **>&self.values, n * n_equations * sizeof(double), b"kernel values of a start by MIR")
            self.room = n * n_equations
        self.factor.size = 0
        k = 0
        for t in range(n):
            v, own = self.unknown[t], self.values + k * n_equations
            K = rows.at(at.column[v])
            for i in range(n_equations):
                own[i] = K[at.column[self.equation[i]]]
            for u in range(k):
                self.column[u] = svmx_dot(n_equations, own, self.values + u * n_equations)
                if at.group[self.kept[u]] == at.group[v]:
                    self.column[u] += 1.0
            diagonal = svmx_dot(n_equations, own, own) + 1.0
            control.asked(k * (n_equations + k) + n_equations)
            self.work += k * (n_equations + k) + n_equations
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
            total, slack = at.beta[v] + self.right[t], ROUNDING_OF_BOX * (at.upper[v] - at.lower[v])
            if not total < at.upper[v] - slack:
                at.beta[v] = at.upper[v]
            elif not total > at.lower[v] + slack:
                at.beta[v] = at.lower[v]
            else:
                at.beta[v] = total
        return 0

    cdef Py_ssize_t choose_unknowns(self, FoldStart *at, double most_work) noexcept nogil:
        """Set ``unknown``, ascending; returns their number."""
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
        """Set ``equation`` and ``goal``: margin, unknowns, and if these are of T others of S; returns their number."""
        cdef Py_ssize_t v, t, n = 0, n_others = 0, first, room, at_other = 0
        cdef Py_ssize_t most = <Py_ssize_t>min(<double>(MOST_VALUES // n_unknowns),
                                               2.0 * most_work / n_unknowns / n_unknowns)
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
    """Right side of (15) for variable v."""
    if at.lower[v] < at.beta[v] < at.upper[v]:
        return at.leaving[v]
    return at.V[v] - at.level[at.group[v]] + at.leaving[v]


cdef int by_distance(const void *a, const void *b) noexcept nogil:
    """Descending; ties by variable."""
    cdef double left = (<const Distance *>a).distance, right = (<const Distance *>b).distance
    if left != right:
        return (right > left) - (right < left)
    return by_variable(a, b)


cdef int by_variable(const void *a, const void *b) noexcept nogil:
    cdef int32_t left = (<const Distance *>a).variable, right = (<const Distance *>b).variable
    return (left > right) - (left < right)
