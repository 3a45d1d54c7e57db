"""Working sets of the chunked solver.

With the level of a group, the mean of V over its free variables, the error of a variable is V - level where it can only
grow, level - V where it can only fall, and |V - level| where it is free. Candidates are the free variables and those of
positive error, as in Perez-Cruz et al. (2000), section 3:

* RANDOM   their rule: one that violates most of each kind, the rest at random from the candidates; if there are fewer than
           q, the others of least |error|. Kinds are the two directions of each sum; theirs are class and condition, and any
           one that violates it
* LARGEST  those of largest error, as Joachims (1999)
* MIXED    half of them so, half at random

Of the working set before, a share of its candidates stays, so that what has just been balanced is not torn apart.
"""

from libc.math cimport HUGE_VAL, fabs
from libc.stdint cimport int32_t, uint64_t

from libsvmx._core.buffers import zeros
from libsvmx._problem.certificate cimport Certificate, certify, gap_of, level_of

# Keys of those that are taken in any case, and of those that stay.
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
                           Py_ssize_t stride, int32_t *last, int32_t round, Py_ssize_t q, int32_t *chosen) noexcept nogil:
        """Up to q of n variables, ascending, into ``chosen``; returns how many.

        ``up`` and ``low`` (groups, stride): 0 in I_up and I_low of the group, infinite outside; ``last``: the round in which
        a variable was last chosen, brought up to date.
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
            self.key[p] = error if error == error else -HUGE_VAL  # no order with nan
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
            g = 0 if gap_of(&found[0]) >= gap_of(&found[1]) else 1  # working sets of two or three want a pair of one group
            self.key[found[g].max_violator] = self.key[found[g].min_violator] = 2 * FIRST
        return self.take_largest(n, q, last, round, chosen)

    cdef Py_ssize_t take_largest(self, Py_ssize_t n, Py_ssize_t q, int32_t *last, int32_t round, int32_t *chosen) noexcept nogil:
        """The variables of the q largest keys, ascending, into ``chosen``; returns how many."""
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
