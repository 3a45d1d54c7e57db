"""The dual problem over a working set W, with its kernel matrix in memory, and its solution.

    min  1/2 beta'K beta - V_0'beta  over W,   lower <= beta <= upper,   the sum of beta of each group fixed

V, the scores, are right whenever ``solve`` returns. Solved by second-order pair steps (Fan, Chen & Lin 2005), or by a
given engine. Once few variables can still move, they become a smaller subproblem whose matrix stays in cache.
"""

from libc.math cimport HUGE_VAL, HUGE_VALF, fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

from libsvmx._core.dispatch cimport (
    SVMX_LEAF_PAD, SVMX_TAU, svmx_add_float_rows, svmx_gather, svmx_leaf_move, svmx_leaf_partner)
from libsvmx._core.stopping cimport Control
from libsvmx._kernels.kernel_matrix cimport Targets
from libsvmx._solvers.dual cimport Certificate, certify, gap_of, level_of

from libsvmx._core.buffers import table, zeros
from libsvmx._core.stopping import NOBODY


# ---- Working sets ----------------------------------------------------------------------------------
#
# With the level of a group, the mean of V over its free variables, the error of a variable is V - level at its lower
# bound, level - V at its upper one, and |V - level| where it is free. Candidates are the free variables and those of
# positive error, as in Perez-Cruz et al. (2000), section 3:
#
# * RANDOM   their rule: the largest violator of each kind, the rest at random from the candidates, then those of least
#            |error|. Kinds are the two directions of each sum (theirs: class and condition, and any violator)
# * LARGEST  those of largest error, as Joachims (1999)
# * MIXED    half by largest error, half at random
#
# A share of the candidates of the last working set is kept: they have just been balanced against each other.

# Keys of the largest violators, and of kept candidates.
cdef double FIRST = 1e300
cdef double STAYS = 1e299

RULES = {"mixed": MIXED, "random": RANDOM, "largest": LARGEST}



cdef inline bint has_pair(const Certificate *found) noexcept nogil:
    return found.max_violator >= 0 and found.min_violator >= 0


cdef class Selection:
    """Selection(n, rule, kept, seed): for problems of up to n variables."""

    def __cinit__(self, Py_ssize_t n, str rule, double kept, uint64_t seed):
        self.rule, self.kept = RULES[rule], kept
        self.state = (seed + 1) * <uint64_t>0x9E3779B97F4A7C15
        self.key, self.sorted = zeros("d", n), zeros("d", n)

    cdef double random(self) noexcept nogil:
        """Uniform on [0, 1): xorshift64* (Vigna 2016)."""
        self.state ^= self.state >> 12
        self.state ^= self.state << 25
        self.state ^= self.state >> 27
        return (self.state * <uint64_t>0x2545F4914F6CDD1D >> 11) * 1.1102230246251565e-16

    cdef Py_ssize_t choose(self, Py_ssize_t n, int groups, const double *V, const float *up, const float *low,
                           Py_ssize_t stride, int32_t *last, int32_t round, Py_ssize_t q,
                           int32_t *chosen) noexcept nogil:
        """Up to q of n variables, ascending, into ``chosen``; returns the number.

        ``up`` and ``low`` (groups, stride): 0 in I_up and I_low of the group, infinite outside; ``last`` (n,): INOUT,
        the round in which a variable was last chosen.
        """
        cdef Py_ssize_t p, n_stay = 0, n_candidates = 0, places
        cdef Certificate found[2]
        cdef double level[2]
        cdef double error, bar = 0.0
        cdef int g
        cdef bint in_up, in_low
        if n <= q:
            for p in range(n):
                chosen[p], last[p] = <int32_t>p, round
            return n
        for g in range(groups):
            certify(&found[g], n, V, up + g * stride, low + g * stride)
            level[g] = level_of(&found[g])
        for p in range(n):
            error = -HUGE_VAL
            for g in range(groups):
                in_up, in_low = up[g * stride + p] == 0, low[g * stride + p] == 0
                if in_up and in_low:
                    error = fabs(V[p] - level[g])
                    n_candidates += 1
                elif in_up or in_low:
                    error = V[p] - level[g] if in_up else level[g] - V[p]
                    n_candidates += error > 0
                else:
                    continue
                break
            self.key[p] = error if error == error else -HUGE_VAL  # nan has no order
        if n_candidates > q:
            places = q // 2 if self.rule == MIXED else q
            if self.rule != RANDOM:
                bar = self.threshold(n, places)
            for p in range(n):
                if not self.key[p] >= 0:  # a free variable at the level counts as a candidate
                    self.key[p] = -HUGE_VAL
                elif last[p] == round - 1 and n_stay < self.kept * q and self.random() < 2 * self.kept:
                    self.key[p] = STAYS
                    n_stay += 1
                elif self.rule == RANDOM or (self.rule == MIXED and self.key[p] < bar):
                    self.key[p] = self.random() * 1e-200
        for g in range(groups):
            if has_pair(&found[g]):
                self.key[found[g].max_violator] = self.key[found[g].min_violator] = FIRST
        if groups == 2 and has_pair(&found[0]) and has_pair(&found[1]):
            # two or three variables must include a pair of one group
            g = 0 if gap_of(&found[0]) >= gap_of(&found[1]) else 1
            self.key[found[g].max_violator] = self.key[found[g].min_violator] = 2 * FIRST
        return self.take_largest(n, q, last, round, chosen)

    cdef Py_ssize_t take_largest(self, Py_ssize_t n, Py_ssize_t q, int32_t *last, int32_t round,
                                 int32_t *chosen) noexcept nogil:
        """The variables of the q largest keys, ascending, into ``chosen``; returns the number."""
        cdef Py_ssize_t p, k = 0, n_chosen = 0
        cdef double bar = self.threshold(n, q)
        for p in range(n):
            n_chosen += self.key[p] > bar
        for p in range(n):
            if self.key[p] > bar or (self.key[p] == bar and n_chosen < q):
                n_chosen += self.key[p] == bar
                chosen[k], last[p] = <int32_t>p, round
                k += 1
        return k

    cdef double threshold(self, Py_ssize_t n, Py_ssize_t count) noexcept nogil:
        """The ``count``-th largest of n keys, by Hoare's selection."""
        cdef double *a = &self.sorted[0]
        cdef Py_ssize_t low = 0, high = n - 1, i, j, k = count - 1
        cdef double pivot
        for i in range(n):
            a[i] = self.key[i]
        while low < high:
            pivot = a[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while a[i] > pivot:
                    i += 1
                while a[j] < pivot:
                    j -= 1
                if i <= j:
                    a[i], a[j] = a[j], a[i]
                    i += 1
                    j -= 1
            if k <= j:
                high = j
            elif k >= i:
                low = i
            else:
                break
        return a[k]


# ---- The problem over a working set ----------------------------------------------------------------

# The smaller subproblem is solved to this share of the gap.
cdef double TIGHTNESS = 0.1
# Pair steps per variable between two computations of V in double.
cdef int64_t STEPS_PER_VARIABLE = 32
# Scores updated by pair steps between two checks for a stop: some tens of milliseconds.
cdef int64_t WORK = 1 << 27
# Rounds in which the gap need not fall by a tenth.
cdef int STALL_ROUNDS = 20
# Variables of the smaller subproblem: its matrix, 4 bytes per pair, fits a second-level cache.
cdef Py_ssize_t LEAF = 352


cdef Py_ssize_t padded(Py_ssize_t n) noexcept nogil:
    """n rounded up to whole vectors."""
    return (n + SVMX_LEAF_PAD - 1) // SVMX_LEAF_PAD * SVMX_LEAF_PAD


# Work of one kernel value in double.
cdef int64_t WORK_OF_A_VALUE = 40

ctypedef fused real:
    float
    double


cdef void gather_doubles(Py_ssize_t n, const real *row, const int64_t *places, double *out) noexcept nogil:
    """out[k] = row[places[k]]."""
    cdef Py_ssize_t k
    for k in range(n):
        out[k] = row[places[k]]


cdef class Subproblem:
    """Subproblem(room, groups, leaf=0, engine=None, selection=(...), control=None): for up to ``room`` variables.

    Parameters
    ----------
    groups : int                         2 in the nu formulations (a fixed sum each), else 1
    leaf : int                           variables of the smaller subproblem
    engine : callable(Subproblem, eps, limit)     solves it instead of pair steps
    selection : (rule, kept, seed)       of the smaller subproblem
    control : Control                    counts work, and says when to stop

    Attributes
    ----------
    steps, subproblems : int      pair steps, and working sets solved, here and below
    gained : float           decrease of the objective, if K is positive semi-definite
    fallbacks : int          times that the engine left a subproblem to pair steps
    in_double : bool         the engine has K in double; pair steps have none
    """

    def __cinit__(self, Py_ssize_t room, int groups, Py_ssize_t leaf=0, engine=None, selection=("random", 0.0, 1),
                  Control control=None):
        room = max(room, 1)
        self.room, self.groups, self.engine, self.control = room, groups, engine, control
        self.stride = padded(room)
        leaf = min(leaf or LEAF, room)
        self.K = zeros("f", room * self.stride)
        self.V, self.beta, self.lower, self.upper, self.diagonal = (zeros("d", self.stride) for _ in range(5))
        self.group = zeros("b", self.stride)
        self.up, self.low = table("f", groups, self.stride), table("f", groups, self.stride)
        self.before = zeros("d", self.stride)
        self.coef, self.falls = zeros("d", room), zeros("d", room)
        self.working, self.last = zeros("i", room), zeros("i", room)
        self.rows = <const float **>malloc(room * sizeof(float *))
        if self.rows == NULL:
            raise MemoryError("rows of a subproblem")
        self.nearby, self.float_diagonal = zeros("f", self.stride), zeros("f", self.stride)
        self.selection = Selection(room, *selection)
        if leaf < room:
            self.inner = Subproblem(leaf, groups, leaf, None, selection, control)

    def __dealloc__(self):
        free(self.rows)

    cdef void begin(self, Py_ssize_t size) noexcept nogil:
        """Start a problem of ``size`` variables, to be set by ``put``."""
        cdef Py_ssize_t v
        cdef int g
        self.size = size
        for v in range(size, self.stride):  # padding, on neither side
            self.V[v] = 0
            for g in range(self.groups):
                self.up[g, v], self.low[g, v] = -HUGE_VALF, HUGE_VALF
        for v in range(size):
            self.last[v] = 0
        self.rounds = 1

    cdef void put(self, Py_ssize_t v, double V, double beta, double lower, double upper, double diagonal,
                  int group) noexcept nogil:
        self.V[v], self.beta[v], self.lower[v], self.upper[v] = V, beta, lower, upper
        self.diagonal[v], self.group[v] = diagonal, <int8_t>group
        self.update_status(v)

    cdef void update_status(self, Py_ssize_t v) noexcept nogil:
        cdef int g
        for g in range(self.groups):
            self.up[g, v] = 0 if self.group[v] == g and self.beta[v] < self.upper[v] else -HUGE_VALF
            self.low[g, v] = 0 if self.group[v] == g and self.beta[v] > self.lower[v] else HUGE_VALF

    cdef double gap(self) noexcept nogil:
        cdef Certificate found
        cdef double gap = -HUGE_VAL
        cdef int g
        for g in range(self.groups):
            certify(&found, self.size, &self.V[0], &self.up[g, 0], &self.low[g, 0])
            gap = max(gap, gap_of(&found))
        return gap

    cdef int solve(self, double eps, int64_t limit) except -1 nogil:
        """Bring the gap below ``eps``, or make about ``limit`` steps."""
        if self.engine is None:
            return self.solve_by_pairs(eps, limit)
        self.subproblems += 1
        with gil:
            self.engine(self, eps, limit)
        return 0

    cdef int solve_by_pairs(self, double eps, int64_t limit) except -1 nogil:
        """``solve`` by pair steps, mostly in the smaller subproblem."""
        cdef int64_t last_step = self.steps + limit, before
        cdef double gap = self.gap(), best = HUGE_VAL
        cdef Py_ssize_t n
        cdef int since = 0
        while gap >= eps and self.steps < last_step and since < STALL_ROUNDS:
            since = 0 if gap < 0.9 * best else since + 1
            best = min(best, gap)
            before = self.steps
            self.rounds += 1
            if self.inner is None or self.crowded():
                self.subproblems += 1
                if not self.many_steps(eps, min(last_step - self.steps, STEPS_PER_VARIABLE * self.size)):
                    break
            else:
                n = self.selection.choose(self.size, self.groups, &self.V[0], &self.up[0, 0], &self.low[0, 0],
                                          self.stride, &self.last[0], <int32_t>self.rounds, self.inner.room,
                                          &self.working[0])
                self.inner.load(self, n)
                self.inner.steps = self.inner.subproblems = 0
                self.inner.solve(max(0.5 * eps, TIGHTNESS * gap), last_step - self.steps)
                self.steps += self.inner.steps
                self.subproblems += self.inner.subproblems
                self.gained += self.inner.gained
                self.inner.gained = 0
                if not self.absorb():
                    break
            gap = self.gap()
            if self.tick((self.steps - before) * self.size):
                break
        return 0

    cdef bint tick(self, int64_t amount) except -1 nogil:
        """Count work; whether a stop is due."""
        if self.control is None:
            return False
        self.control.worked(amount // 8 + self.size)
        return self.control.expired

    cdef bint crowded(self) noexcept nogil:
        """Whether more variables can move than fit the smaller subproblem."""
        cdef Py_ssize_t v, n = 0
        cdef Certificate found
        cdef int g
        cdef double level
        for g in range(self.groups):
            certify(&found, self.size, &self.V[0], &self.up[g, 0], &self.low[g, 0])
            level = level_of(&found)
            for v in range(self.size):
                if self.up[g, v] == 0 and (self.low[g, v] == 0 or self.V[v] > level):
                    n += 1
                elif self.low[g, v] == 0 and self.V[v] < level:
                    n += 1
        return n > self.inner.room

    cdef void load(self, Subproblem full, Py_ssize_t n) noexcept nogil:
        """Set this problem to the first n variables of the working set of ``full``."""
        cdef Py_ssize_t k, v
        self.begin(n)
        for k in range(n):
            v = full.working[k]
            self.put(k, full.V[v], full.beta[v], full.lower[v], full.upper[v], full.diagonal[v], full.group[v])
            svmx_gather(n, &full.K[v * full.stride], &full.working[0], &self.K[k * self.stride])

    cdef bint absorb(self) noexcept nogil:
        """Take over the solution of ``inner``; False if nothing has changed."""
        cdef Py_ssize_t k, v, n = 0
        for k in range(self.inner.size):
            v = self.working[k]
            if self.inner.beta[k] != self.beta[v]:
                self.coef[n] = self.beta[v] - self.inner.beta[k]
                self.rows[n] = &self.K[v * self.stride]
                self.beta[v] = self.inner.beta[k]
                self.update_status(v)
                n += 1
        svmx_add_float_rows(self.size, n, &self.coef[0], self.rows, 0, &self.V[0])
        return n > 0

    cdef int many_steps(self, double eps, int64_t limit) except -1 nogil:
        """Up to ``limit`` pair steps; False if nothing has changed. V is recomputed in double at intervals, shorter
        ones after steps in float that did not lower the objective."""
        cdef int64_t last_step = self.steps + limit, together = STEPS_PER_VARIABLE * self.size
        cdef bint changed = False
        while self.steps < last_step and together > 0 and self.gap() >= eps:
            if self.pair_steps(eps, min(together, last_step - self.steps)):
                changed = True
            else:
                together //= 16
            if self.control is not None and self.control.expired:
                break
        return changed

    cdef void begin_steps(self, Py_ssize_t size) noexcept nogil:
        """Set V in float, relative to the levels, padded to ``size``; the diagonal in float; copies of beta and V."""
        cdef Py_ssize_t n = self.size, v
        cdef Certificate found
        cdef float *V = &self.nearby[0]
        cdef int g
        for g in range(self.groups):
            certify(&found, n, &self.V[0], &self.up[g, 0], &self.low[g, 0])
            self.level[g] = level_of(&found)
        for v in range(n):
            self.coef[v], self.before[v] = self.beta[v], self.V[v]
            self.float_diagonal[v] = <float>self.diagonal[v]
            V[v] = <float>(self.V[v] - self.level[self.group[v]])
        for v in range(n, size):
            V[v] = 0

    cdef int pair_steps(self, double eps, int64_t limit) except -1 nogil:
        """Second-order pair steps until the gap is below ``eps``, up to ``limit``; False if nothing has changed.

        V is in float relative to the level of its group, near which the scores of free variables are.
        """
        cdef Py_ssize_t n = self.size, i, j, candidate, size
        cdef Py_ssize_t violator[2]
        cdef float highest[2]
        cdef float gain, best, widest, gap
        cdef double step, room_i, room_j, curvature
        cdef int64_t t, since = 0, together = max(WORK // max(self.size, 1), 1)
        cdef int g
        cdef float *V = &self.nearby[0]
        size = padded(n)
        self.begin_steps(size)
        for g in range(self.groups):
            violator[g] = svmx_leaf_move(size, V, &self.K[0], &self.K[0], 0, &self.up[g, 0], &highest[g])
        for t in range(limit):
            if t - since == together:
                since = t
                if self.tick(together * n):
                    break
            best, gap, i, j = 0, -1, -1, -1
            for g in range(self.groups):
                if violator[g] < 0:
                    continue
                candidate = svmx_leaf_partner(size, V, &self.low[g, 0], &self.K[violator[g] * self.stride],
                                              &self.float_diagonal[0], self.float_diagonal[violator[g]], highest[g],
                                              &gain, &widest)
                gap = max(gap, widest)
                if candidate >= 0 and gain > best:
                    best, i, j = gain, violator[g], candidate
            if gap < eps or j < 0:
                break
            self.steps += 1
            curvature = max(self.diagonal[i] + self.diagonal[j] - 2.0 * self.K[i * self.stride + j], SVMX_TAU)
            step = (<double>V[i] - V[j]) / curvature
            room_i, room_j = self.upper[i] - self.beta[i], self.beta[j] - self.lower[j]
            step = min(step, room_i, room_j)
            # exactly the bound, or rounding would select the pair again
            self.beta[i] = self.upper[i] if step == room_i else self.beta[i] + step
            self.beta[j] = self.lower[j] if step == room_j else self.beta[j] - step
            self.update_status(i)
            self.update_status(j)
            for g in range(self.groups):
                violator[g] = svmx_leaf_move(size, V, &self.K[i * self.stride], &self.K[j * self.stride],
                                        <float>step if g == 0 else 0, &self.up[g, 0], &highest[g])
        return self.renew_scores()

    cdef bint renew_scores(self) noexcept nogil:
        """V in double, from the changes since ``coef`` and ``before``. If the objective has not fallen, float cannot
        resolve the scores: undo the changes, and return False.

        Changes of a group sum to 0 but for rounding, hence scores relative to its level.
        """
        cdef Py_ssize_t v, n = 0
        cdef double gain = 0.0
        for v in range(self.size):
            self.coef[v], self.beta[v] = self.beta[v], self.coef[v]
        for v in range(self.size):
            if self.coef[v] != self.beta[v]:
                self.rows[n] = &self.K[v * self.stride]
                self.falls[n] = self.beta[v] - self.coef[v]
                n += 1
        svmx_add_float_rows(self.size, n, &self.falls[0], self.rows, 0, &self.V[0])
        for v in range(self.size):
            gain += (self.coef[v] - self.beta[v]) * (self.V[v] + self.before[v] - 2.0 * self.level[self.group[v]])
        if not gain > 0:
            for v in range(self.size):
                self.V[v] = self.before[v]
                self.update_status(v)
            return False
        for v in range(self.size):
            self.beta[v] = self.coef[v]
        self.gained += 0.5 * gain
        return n > 0

    # ---- for engines ---------------------------------------------------------------------------

    cdef int lay_doubles(self, Targets targets, const int32_t[::1] sources) except -1:
        """Give the engine K of this problem in double, until the next call: row v is row ``sources[v]`` of ``targets``,
        computed on demand."""
        cdef Py_ssize_t n = self.size
        if self.targets is None or self.exact.shape[0] < n * n:
            self.exact = None
            self.exact = zeros("d", n * n)
        self.targets, self.sources, self.filled = targets, sources, zeros("b", n)
        return 0

    cdef int fill_doubles(self, const int64_t[::1] places) except -1 nogil:
        cdef Py_ssize_t k, v, n = self.size
        for k in range(places.shape[0]):
            v = places[k]
            if not self.filled[v]:
                self.targets.fill_doubles(self.sources[v], 0, n, &self.exact[v * n])
                self.targets.kernel.values_computed += n
                self.filled[v] = True
                self.control.asked(WORK_OF_A_VALUE * n)
        return 0

    @property
    def in_double(self):
        return self.targets is not None

    def views(self):
        """Views without a copy: K, float32 (float64 in double), shape (size, >= size); V, beta, lower, upper, float64,
        and group, int8, shape (size,). Of K in double only the rows given to ``prepare`` are filled."""
        n = self.size
        if self.targets is None:
            K = memoryview(self.K)[:n * self.stride].cast("B").cast("f", [n, self.stride])
        else:
            K = memoryview(self.exact)[:n * n].cast("B").cast("d", [n, n])
        return (K, memoryview(self.V)[:n], memoryview(self.beta)[:n], memoryview(self.lower)[:n],
                memoryview(self.upper)[:n], memoryview(self.group)[:n])

    def count(self, int64_t steps):
        """Count work that costs as much as ``steps`` pair steps."""
        self.steps += steps

    def sweep(self, double eps, int64_t limit):
        """Up to ``limit`` pair steps until the gap is below ``eps``; returns their number."""
        cdef int64_t before = self.steps
        with nogil:
            self.solve_by_pairs(eps, limit)
        return self.steps - before

    def prepare(self, const int64_t[::1] places):
        """Compute the rows of K at ``places``, ascending."""
        self.check(places)
        if self.targets is not None:
            with nogil:
                self.fill_doubles(places)

    def lower_triangle(self, const int64_t[::1] places, double[::1, :] out):
        """Lower triangle of K at n ``places``, ascending, into ``out``, shape (n, n), Fortran order."""
        cdef Py_ssize_t j, n = places.shape[0]
        if out.shape[0] != n or out.shape[1] != n:
            raise IndexError(f"{n} places, and a matrix of {out.shape[0]} rows")
        self.prepare(places)
        with nogil:
            for j in range(n):
                if self.targets is None:
                    gather_doubles(n - j, &self.K[places[j] * self.stride], &places[j], &out[j, j])
                else:
                    gather_doubles(n - j, &self.exact[places[j] * self.size], &places[j], &out[j, j])

    cdef int check(self, const int64_t[::1] places) except -1:
        cdef Py_ssize_t n = places.shape[0]
        if n and not 0 <= places[0] <= places[n - 1] < self.size:
            raise IndexError(f"{n} places of {self.size}")
        return 0

    def replace(self, beta, V):
        """Set feasible ``beta`` and their scores ``V``, float64, shape (size,)."""
        cdef const double[::1] coefficients = beta, scores = V
        cdef Py_ssize_t v
        for v in range(self.size):
            self.gained += 0.5 * (coefficients[v] - self.beta[v]) * (scores[v] + self.V[v])
            self.beta[v], self.V[v] = coefficients[v], scores[v]
            self.update_status(v)

    def n_free(self):
        """Number of free variables."""
        cdef Py_ssize_t v, n = 0
        for v in range(self.size):
            n += self.lower[v] < self.beta[v] < self.upper[v]
        return n

    def told_to_stop(self):
        """Whether a stop is due; handles signals."""
        return self.tick(self.size * self.size)

    @property
    def asking(self):
        """The Token that an engine asks whether to stop."""
        return NOBODY if self.control is None else self.control

    def kkt_gap(self):
        """max of V over I_up minus min of V over I_low."""
        return self.gap()
