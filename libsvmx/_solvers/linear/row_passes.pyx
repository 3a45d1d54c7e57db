"""Passes over rows of a linear problem: products, and coordinate descent.

    min_w  1/2 |w|^2 + sum_k max_{lower_k <= beta_k <= upper_k} (target_k - x_k'w) beta_k - tube |beta_k|
                                                                              - ridge_k/2 beta_k^2

Its dual, with w = sum_k beta_k x_k:

    min_beta  1/2 |w|^2 - target'beta + tube |beta|_1 + 1/2 sum_k ridge_k beta_k^2,       lower <= beta <= upper

Losses of a row with cost C:                       target    [lower, upper]         ridge      tube
    hinge                                          y         between 0 and y C      0          0
    squared hinge                                  y         between 0 and y inf    1 / (2C)   0
    epsilon-insensitive                            y         [-C, C]                0          epsilon
    squared epsilon-insensitive                    y         [-inf, inf]            1 / (2C)   epsilon

With an intercept, x_k ends in a constant feature. The gap, primal minus dual value, is a sum of nonnegative terms over
the rows for w = X'beta.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from libsvmx._core.dispatch cimport svmx_axpy, svmx_dot
from libsvmx._kernels.feature_products cimport SparseRows

import numpy as np


# ---- The losses ------------------------------------------------------------------------------------

cdef inline double soft(double u, double tube) noexcept nogil:
    """Soft threshold: u moved towards 0 by ``tube``."""
    return u - inside(u, -tube, tube)


cdef inline double inside(double u, double lower, double upper) noexcept nogil:
    """u clipped, without branches."""
    u = lower if u < lower else u
    return upper if u > upper else u


cdef inline double loss_of(double r, double lower, double upper, double ridge, double tube) noexcept nogil:
    """max of r beta - tube |beta| - ridge/2 beta^2 over the box, which contains 0."""
    cdef double beyond = soft(r, tube), best
    if ridge > 0:
        best = inside(beyond / ridge, lower, upper)
        return beyond * best - 0.5 * ridge * best * best
    return max(beyond * upper, beyond * lower)


cdef class Losses:
    """Losses(target, lower, upper, ridge, tube): of m rows; arrays of float64, shape (m,), and tube >= 0.

    lower <= 0 <= upper. Either all bounds are finite and ridge is 0, or ridge > 0 and bounds are 0 or infinite.

    Attributes
    ----------
    is_squared : bool       ridge > 0
    """

    cdef readonly object target_, lower_, upper_, ridge_
    cdef readonly double tube
    cdef readonly Py_ssize_t m
    cdef readonly bint is_squared
    cdef const double[::1] target, lower, upper, ridge

    def __cinit__(self, target, lower, upper, ridge, double tube):
        self.target_, self.lower_, self.upper_, self.ridge_, self.tube = target, lower, upper, ridge, tube
        self.target, self.lower, self.upper, self.ridge = target, lower, upper, ridge
        self.m = self.target.shape[0]
        if not self.m == self.lower.shape[0] == self.upper.shape[0] == self.ridge.shape[0]:
            raise ValueError("losses of different numbers of rows")
        self.is_squared = self.m > 0 and self.ridge[0] > 0

    def primal(self, const double[::1] scores):
        """The sum of the losses at scores X w."""
        cdef double total = 0.0
        cdef Py_ssize_t k
        self.check(scores.shape[0])
        with nogil:
            for k in range(self.m):
                total += loss_of(self.target[k] - scores[k], self.lower[k], self.upper[k], self.ridge[k], self.tube)
        return total

    def dual(self, const double[::1] beta):
        """target'beta - tube |beta|_1 - 1/2 sum ridge beta^2."""
        cdef double total = 0.0
        cdef Py_ssize_t k
        self.check(beta.shape[0])
        with nogil:
            for k in range(self.m):
                total += beta[k] * (self.target[k] - 0.5 * self.ridge[k] * beta[k]) - self.tube * fabs(beta[k])
        return total

    def settle(self, const double[::1] scores, const double[::1] centre, const double[::1] sigma, double[::1] beta,
               double[::1] curvature):
        """beta nearest to the centre, by the augmented Lagrangian at these scores.

        beta_k = argmax r_k b - tube |b| - (b - centre_k)^2 / (2 sigma_k),  r = target - scores;
        curvature_k = sigma_k where beta_k moves with the score, else 0. beta, curvature : OUT
        """
        cdef Py_ssize_t k
        cdef double reach, found
        for n in (scores.shape[0], centre.shape[0], sigma.shape[0], beta.shape[0], curvature.shape[0]):
            self.check(n)
        with nogil:
            for k in range(self.m):
                reach = soft(centre[k] + sigma[k] * (self.target[k] - scores[k]), sigma[k] * self.tube)
                found = inside(reach, self.lower[k], self.upper[k])
                beta[k] = found
                curvature[k] = sigma[k] if found == reach and reach != 0 else 0.0

    def slope(self, double a, const double[::1] scores, const double[::1] along, const double[::1] centre,
              const double[::1] sigma):
        """(-sum beta_k along_k, sum curvature_k along_k^2) at scores + a along, as in ``settle``."""
        cdef double first = 0.0, second = 0.0, reach, found
        cdef Py_ssize_t k
        for n in (scores.shape[0], along.shape[0], centre.shape[0], sigma.shape[0]):
            self.check(n)
        with nogil:
            for k in range(self.m):
                reach = soft(centre[k] + sigma[k] * (self.target[k] - scores[k] - a * along[k]), sigma[k] * self.tube)
                found = inside(reach, self.lower[k], self.upper[k])
                first -= found * along[k]
                if found == reach and reach != 0:
                    second += sigma[k] * along[k] * along[k]
        return first, second

    cdef int check(self, Py_ssize_t n) except -1:
        if n != self.m:
            raise ValueError(f"{n} values for {self.m} rows")
        return 0


# ---- The rows --------------------------------------------------------------------------------------

# Dense rows up to this length: a call of a loop for long ones would cost more.
cdef enum:
    SHORT = 16


cdef class ChosenRows:
    """ChosenRows(rows, chosen, constant): some rows, each with a constant feature at its end.

    Parameters
    ----------
    rows : SparseRows, or array of float64 or float32, shape (any, p), C order      read where it is
    chosen : array of int64, shape (m,)
    constant : float                            0: no constant feature

    Attributes
    ----------
    m, n : int          rows, and features with the constant one
    row_work : int      values of a row, about
    """

    cdef readonly object rows_, chosen_
    cdef readonly double constant
    cdef readonly Py_ssize_t m, n, row_work
    cdef Py_ssize_t p
    cdef const int64_t[::1] chosen
    cdef const double[:, ::1] doubles
    cdef const float[:, ::1] floats
    cdef const int64_t[::1] indptr
    cdef const int32_t[::1] columns
    cdef const double[::1] values
    cdef int kind       # 0 sparse, 1 double, 2 float

    def __cinit__(self, rows, chosen, double constant):
        cdef SparseRows sparse
        cdef Py_ssize_t k, known
        self.rows_, self.chosen_, self.chosen, self.constant = rows, chosen, chosen, constant
        self.m = self.chosen.shape[0]
        if isinstance(rows, SparseRows):
            sparse = rows
            self.indptr, self.columns, self.values = sparse.indptr, sparse.columns, sparse.values
            self.p, known = sparse.n, sparse.m
            self.row_work = 1 + sparse.nnz // (known if known else 1)
        elif rows.dtype == np.float32:
            self.kind, self.floats = 2, rows
            self.p, known, self.row_work = rows.shape[1], rows.shape[0], 1 + rows.shape[1]
        else:
            self.kind, self.doubles = 1, rows
            self.p, known, self.row_work = rows.shape[1], rows.shape[0], 1 + rows.shape[1]
        self.n = self.p + (constant != 0)
        for k in range(self.m):
            if not 0 <= self.chosen[k] < known:
                raise IndexError(f"row {self.chosen[k]} of {known}")

    cdef inline double dot(self, int64_t i, const double *w, double *room) noexcept nogil:
        """x_i'w without the constant feature; ``room``: of p doubles."""
        cdef double total = 0.0
        cdef int64_t k
        cdef Py_ssize_t j
        if self.kind == 0:
            for k in range(self.indptr[i], self.indptr[i + 1]):
                total += self.values[k] * w[self.columns[k]]
            return total
        if self.p < SHORT:
            for j in range(self.p):
                total += (self.doubles[i, j] if self.kind == 1 else <double>self.floats[i, j]) * w[j]
            return total
        if self.kind == 1:
            return svmx_dot(self.p, &self.doubles[i, 0], w)
        for j in range(self.p):
            room[j] = self.floats[i, j]
        return svmx_dot(self.p, room, w)

    cdef inline void add(self, int64_t i, double a, double *w, double *room) noexcept nogil:
        """w += a x_i, without the constant feature."""
        cdef int64_t k
        cdef Py_ssize_t j
        if self.kind == 0:
            for k in range(self.indptr[i], self.indptr[i + 1]):
                w[self.columns[k]] += a * self.values[k]
        elif self.p < SHORT:
            for j in range(self.p):
                w[j] += a * (self.doubles[i, j] if self.kind == 1 else <double>self.floats[i, j])
        elif self.kind == 1:
            svmx_axpy(self.p, a, &self.doubles[i, 0], w)
        else:
            for j in range(self.p):
                room[j] = self.floats[i, j]
            svmx_axpy(self.p, a, room, w)

    def scores(self, const double[::1] w, double[::1] out, Py_ssize_t begin, Py_ssize_t end):
        """out[k] = x_k'w for begin <= k < end."""
        cdef Py_ssize_t k
        cdef double offset
        cdef double[::1] room = np.empty(self.p + 1)
        self.check(w.shape[0], out.shape[0], begin, end)
        if self.n == 0:
            out[begin:end] = 0.0
            return
        offset = self.constant * w[self.p] if self.constant != 0 else 0.0
        with nogil:
            for k in range(begin, end):
                out[k] = offset + self.dot(self.chosen[k], &w[0], &room[0])

    def gather(self, const double[::1] beta, double[::1] out, Py_ssize_t begin, Py_ssize_t end):
        """out += sum of beta_k x_k over begin <= k < end."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        cdef double[::1] room = np.empty(self.p + 1)
        self.check(out.shape[0], beta.shape[0], begin, end)
        if self.n == 0:
            return
        with nogil:
            for k in range(begin, end):
                if beta[k] != 0:
                    self.add(self.chosen[k], beta[k], &out[0], &room[0])
                    total += beta[k]
        if self.constant != 0:
            out[self.p] += self.constant * total

    def curvature(self, const double[::1] weights, const double[::1] v, double[::1] out, Py_ssize_t begin,
                  Py_ssize_t end):
        """out += sum of weights_k (x_k'v) x_k over begin <= k < end."""
        cdef Py_ssize_t k
        cdef double offset, product, total = 0.0
        cdef double[::1] room = np.empty(self.p + 1)
        self.check(v.shape[0], weights.shape[0], begin, end)
        self.check(out.shape[0], weights.shape[0], begin, end)
        if self.n == 0:
            return
        offset = self.constant * v[self.p] if self.constant != 0 else 0.0
        with nogil:
            for k in range(begin, end):
                if weights[k] != 0:
                    product = weights[k] * (offset + self.dot(self.chosen[k], &v[0], &room[0]))
                    self.add(self.chosen[k], product, &out[0], &room[0])
                    total += product
        if self.constant != 0:
            out[self.p] += self.constant * total

    def squares(self, double[::1] out, Py_ssize_t begin, Py_ssize_t end):
        """out[k] = |x_k|^2 for begin <= k < end."""
        cdef Py_ssize_t k, j
        cdef int64_t i, l
        cdef double total
        self.check(self.n, out.shape[0], begin, end)
        with nogil:
            for k in range(begin, end):
                i, total = self.chosen[k], self.constant * self.constant
                if self.kind == 0:
                    for l in range(self.indptr[i], self.indptr[i + 1]):
                        total += self.values[l] * self.values[l]
                elif self.kind == 1:
                    for j in range(self.p):
                        total += self.doubles[i, j] * self.doubles[i, j]
                else:
                    for j in range(self.p):
                        total += <double>self.floats[i, j] * self.floats[i, j]
                out[k] = total

    cdef int check(self, Py_ssize_t n, Py_ssize_t m, Py_ssize_t begin, Py_ssize_t end) except -1:
        if n != self.n or m != self.m or not 0 <= begin <= end <= m:
            raise ValueError(f"vectors of {n} and {m} values, rows {begin} to {end} of {self.m} x {self.n}")
        return 0


# ---- Coordinate descent ----------------------------------------------------------------------------
#
# Hsieh, Chang, Lin, Keerthi & Sundararajan, A dual coordinate descent method for large-scale linear SVM, ICML 2008,
# algorithm 3; Ho & Lin, Large-scale linear support vector regression, JMLR 13, 2012. The order of the rows is
# pseudo-random with a fixed seed.

cdef uint64_t SEED = 0x9E3779B97F4A7C15


cdef class Descent:
    """Descent(rows, losses, squares, beta, w): passes of coordinate descent; beta, w = X'beta : INOUT.

    Attributes
    ----------
    n_active : int       rows that are not shrunk
    gap : float          of the last pass over active rows, each term before its update
    """

    cdef ChosenRows rows
    cdef Losses losses
    cdef const double[::1] squares
    cdef double[::1] beta, w, room
    cdef int64_t[::1] active
    cdef readonly Py_ssize_t n_active
    cdef Py_ssize_t at
    cdef uint64_t random
    cdef readonly double gap
    cdef double gap_sum, largest, slack     # of this pass: sum of gaps, largest violation; violation of the last pass

    def __cinit__(self, ChosenRows rows, Losses losses, squares, beta, w):
        self.rows, self.losses, self.squares, self.beta, self.w = rows, losses, squares, beta, w
        losses.check(rows.m)
        losses.check(self.squares.shape[0])
        losses.check(self.beta.shape[0])
        if self.w.shape[0] != rows.n:
            raise ValueError(f"{self.w.shape[0]} weights for {rows.n} features")
        self.active, self.room, self.random = np.arange(rows.m), np.empty(rows.p + 1), SEED
        self.gap = np.inf
        self.unshrink()

    def unshrink(self):
        """Activate all rows; the next pass shrinks none."""
        self.n_active, self.slack, self.at = self.rows.m, np.inf, 0

    def go_on(self, int64_t work):
        """Process the next rows, of about ``work`` values; returns whether a pass has ended."""
        cdef Py_ssize_t s, other, last, p = self.rows.p
        cdef int64_t k, i
        cdef double *w
        cdef double constant = self.rows.constant, score, Q, u, reach, found, before, r, tube = self.losses.tube, held
        if self.rows.n == 0:  # no features: each beta by itself
            w = NULL
        else:
            w = &self.w[0]
        if self.at == 0:
            self.gap_sum = self.largest = 0.0
        last = self.at + work // self.rows.row_work + 1
        with nogil:
            s = self.at
            while s < self.n_active and s < last:
                self.random ^= self.random << 13
                self.random ^= self.random >> 7
                self.random ^= self.random << 17
                other = s + <Py_ssize_t>(self.random % <uint64_t>(self.n_active - s))
                k = self.active[other]
                self.active[other], self.active[s] = self.active[s], k
                i = self.rows.chosen[k]
                score = self.rows.dot(i, w, &self.room[0]) if w != NULL else 0.0
                if constant != 0:
                    score += constant * w[p]
                before = self.beta[k]
                r = self.losses.target[k] - score
                self.gap_sum += (loss_of(r, self.losses.lower[k], self.losses.upper[k], self.losses.ridge[k], tube)
                                 - r * before + tube * fabs(before) + 0.5 * self.losses.ridge[k] * before * before)
                Q = self.squares[k] + self.losses.ridge[k]
                if Q > 0:
                    u = self.squares[k] * before + r
                    reach = soft(u, tube)
                    found = inside(reach / Q, self.losses.lower[k], self.losses.upper[k])
                else:  # a row of zeros
                    u = r
                    reach = soft(u, tube)
                    found = self.losses.upper[k] if reach > 0 else self.losses.lower[k] if reach < 0 else 0.0
                if found == before:
                    # change of the score that beta tolerates
                    if reach > Q * self.losses.upper[k]:
                        held = reach - Q * self.losses.upper[k]
                    elif reach < Q * self.losses.lower[k]:
                        held = Q * self.losses.lower[k] - reach
                    elif reach == 0:
                        held = tube - fabs(u)
                    else:
                        held = 0.0
                    if held > self.slack:
                        self.n_active -= 1
                        self.active[s], self.active[self.n_active] = self.active[self.n_active], k
                        continue
                else:
                    self.largest = max(self.largest, fabs(found - before) * Q)
                    self.beta[k] = found
                    if w != NULL:
                        self.rows.add(i, found - before, w, &self.room[0])
                        if constant != 0:
                            w[p] += (found - before) * constant
                s += 1
        self.at = s
        if s < self.n_active:
            return False
        self.at, self.gap, self.slack = 0, self.gap_sum, self.largest
        return True
