"""Iterated re-weighted least squares for the working sets of the chunked solver (Perez-Cruz et al. 2000, Table 1).

For a variable with |beta| <= C, sign s, and b the level of V, the loss is C max(0, e), e = s (V - b). IRWLS replaces
it by the parabola a e^2 / 2 with a = C / e, whose minimum is at beta = s a e:

    S1   0 < beta < C       solved for        [ K_S1 + diag(1/a)  1 ] [ beta_S1 ]   [ linear - K_S1,S3 beta_S3 - G_in ]
    S2   beta = 0           left out          [ 1'                0 ] [ b       ] = [ sum - 1'beta_S3                 ]
    S3   beta = C

(beta is signed, so without the paper's y and H; G_in, from outside of the working set, is in V from the start.) Then
variables of S1 beyond a bound go to S2 or S3, and those of S2 and S3 whose error has the wrong sign to S1 (in Table 1
those of S3 by way of S2). This plain iteration cycles or diverges on many problems. Four changes make it converge:

* S1 is the free variables; others of the wrong sign join it by pair steps. All at once, about half of them would leave
  again, and with them most of a factor.
* A variable beyond a bound is fixed there and the rest solved again, until all are within (``Face``). So the solution
  is the optimum of a face of the box, and feasible.
* The weight 1/a is the same for all of S1: delta = DAMPING x (spread of V over S1) / C, around the present beta:
  delta |beta - beta before|^2 / 2. It bounds the step where K_S1 is nearly singular (large C), and vanishes with the
  spread at the optimum.
* An exact line search from the present beta to the solution, so the dual objective never rises.

A round begins with pair steps that cost about as much as its least squares, fewer while rounds reduce the gap well.
They identify the bounds; once S1 is that of the optimum, a round is Newton's step. After rounds that do not reduce the
gap (a cycle), the next begins with many (counted in ``Subproblem.fallbacks``), which converge from any feasible point.

At very large C the optimum depends on eigenvalues of K that rounding to float hides. Then K is in double, and rounds
have no pair steps (``in_double``): variables at a bound with the wrong sign join S1 a few at a time, and a round
without progress moves within its face instead, from bound to bound.
"""

from __future__ import annotations

from itertools import repeat

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.dense import MOST_MOVED, beside, cholesky, product, solve_cholesky, solve_lower
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.decomposition.subproblem import Subproblem
from libsvmx._solvers.dual import first_bound
from libsvmx._typing import FloatArray

Places = NDArray[np.intp]


DAMPING = 0.3
# Least delta, relative to the mean diagonal of K_S1: the rounding of its eigenvalues, in float and in double.
PROXIMAL = 1e-7
PROXIMAL_IN_DOUBLE = 1e-13
# In double, variables of the wrong sign that join S1 in a round: at most the larger of this and this share of S1.
JOINING = 20
JOINING_PER_FREE = 0.25
# Least number of pair steps at the beginning of a round, plus steps per variable of the working set.
STEPS = 50
STEPS_PER_VARIABLE = 0.5
# After a round that leaves less than this share of the gap, the next begins with a quarter of the pair steps, else with
# four times as many; at least this share of those that cost as much as its least squares.
GOOD = 0.25
MIN_SHARE = 1 / 16
# Flops of BLAS and LAPACK in the time of a variable in a pair step, of a gathered matrix element, and of one read.
PER_VARIABLE = 8
PER_GATHERED = 30
PER_COPIED = 8
# After this many rounds that have not halved the gap follow pair steps, this many per variable, at most three times.
STALL_ROUNDS = 10
FALLBACK_STEPS = 100
MAX_FALLBACKS = 3
# Faces solved in a round.
MAX_FACES = 30
# Distance to a bound, relative to the box, that is rounding.
ON_BOUND = 1e-14
# Steps of the bisection for a feasible point.
BISECTIONS = 80


class LeastSquares:
    """The engine of subproblems: pair steps and rounds of least squares in turn.

    Attributes
    ----------
    flops : float      of all least squares so far, estimated
    max_flops : float  limit of ``flops``
    """

    def __init__(self) -> None:
        self.share = 1.0  # pair steps before a round, as a share of those of equal cost
        self.flops, self.max_flops = 0.0, np.inf

    @one_blas_thread()  # sums would depend on the number of threads
    def __call__(self, subproblem: Subproblem, eps: float, limit: int) -> None:
        """Bring the gap of ``subproblem`` below ``eps``, or make about ``limit`` pair steps."""
        if subproblem.in_double:
            self.flops += in_double(subproblem, eps, limit, self.max_flops - self.flops)
            return
        last = subproblem.steps + limit
        best, stalled, fallbacks = np.inf, 0, 0
        least = STEPS + int(STEPS_PER_VARIABLE * subproblem.size)
        of_step = PER_VARIABLE * subproblem.size
        begun, goal = subproblem.steps, subproblem.steps + least
        while True:
            made = subproblem.sweep(eps, min(last, goal) - subproblem.steps)
            gap = subproblem.kkt_gap()
            if gap < eps or subproblem.steps >= last or self.flops > self.max_flops or subproblem.told_to_stop():
                return
            goal = max(goal, begun + int(self.share * of_factor(subproblem.n_free()) / of_step))
            if made and subproblem.steps < goal:
                continue
            stalled = 0 if gap <= 0.5 * best else stalled + 1
            if stalled == 0:
                best, fallbacks = gap, 0
            if fallbacks > MAX_FALLBACKS:
                return  # the rest is for the next working set
            try:
                descends, flops = stalled <= STALL_ROUNDS * (fallbacks + 1), 0.0
                if descends:
                    descends, flops = least_squares(subproblem)
                    self.flops += flops
            except Stopped:
                return
            if descends and subproblem.kkt_gap() < GOOD * gap:
                self.share = max(MIN_SHARE, self.share / 4)
            else:
                self.share = min(1.0, 4 * self.share)
            begun, goal = subproblem.steps, subproblem.steps + max(least, int(self.share * flops / of_step))
            if not descends:
                subproblem.fallbacks += 1
                fallbacks += 1
                goal = max(goal, subproblem.steps + FALLBACK_STEPS * subproblem.size)


def in_double(subproblem: Subproblem, eps: float, limit: int, max_flops: float) -> float:
    """As LeastSquares, without pair steps, which use kernel values in float. A round counts as ``size`` steps. Returns
    the flops."""
    best, stalled, last, total = np.inf, 0, subproblem.steps + limit, 0.0
    try:
        while stalled <= STALL_ROUNDS and subproblem.steps < last and total <= max_flops:
            gap = subproblem.kkt_gap()
            if gap < eps or subproblem.told_to_stop():
                break
            stalled = 0 if gap <= 0.5 * best else stalled + 1
            best = gap if stalled == 0 else best
            descends, flops = least_squares(subproblem)
            total += flops
            if not descends:
                break
            subproblem.count(subproblem.size)
    except Stopped:
        pass
    return total


def of_factor(n: int) -> float:
    """Cost in flops of gathering and factoring a matrix of order n."""
    return n**3 / 3 + PER_GATHERED * n**2 / 2


def least_squares(subproblem: Subproblem) -> tuple[bool, float]:
    """One round: least squares and a line search to its solution. Returns whether the objective falls, and the flops.

    Raises Stopped, and the subproblem is unchanged.
    """
    K, V, beta, lower, upper, group = (np.asarray(view) for view in subproblem.views())
    K, flops = K[:, : subproblem.size], 0.0
    for within in (False, True) if subproblem.in_double else (False,):
        found = beta.copy()
        for g in range(subproblem.groups):
            members = np.flatnonzero((group == g) & (upper > lower))
            if len(members) > 1:
                flops += face_optimum(subproblem, K, V, found, lower, upper, members, within)
        direction = found - beta
        slope = float(V @ direction)
        if slope > 0:
            break
    else:  # also nan
        return False, flops
    changed = np.flatnonzero(direction)
    along = rows_times(subproblem, K, changed, direction[changed])
    curvature = float(along @ direction)
    step = min(1.0, slope / curvature) if curvature > 0 else 1.0
    subproblem.replace(found if step == 1.0 else np.clip(beta + step * direction, lower, upper), V - step * along)
    return True, flops


def face_optimum(
    subproblem: Subproblem,
    K: FloatArray,
    V: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    members: Places,
    within: bool = False,
) -> float:
    """Move ``beta`` (INOUT) of one group, ``members``, to the solution of Table 1, step 1, clipped and solved again
    until feasible; ``V``: the scores at the beta given. Returns the flops.

    ``within``: by steps to the first bound on the way to the solution over the free variables; what reaches its bound
    is held there for the next step. This always lowers the objective, while a clipped solution that lies far outside
    (K_S1 singular) may not.
    """
    own_lower, own_upper, now = lower[members], upper[members], beta[members]
    S1 = members[(now > own_lower) & (now < own_upper)]
    if subproblem.in_double and not within:
        S1 = np.sort(np.append(S1, joining(S1, members, V, now, own_lower, own_upper)))
    total, flops, right = float(now.sum()), 0.0, V.copy()
    damping = damping_of(V[S1], own_upper - own_lower)
    face, at = None, beta[S1]
    for _ in repeat(None) if within else range(MAX_FACES):
        if face is None:
            if len(S1) < 2:
                break
            rest = float(beta[members].sum() - beta[S1].sum())
            face = Face(subproblem, right, beta, S1, total - rest, damping)
        x = face.solution()
        if x is None:
            break
        if within:
            to, blocking = first_bound(at, x, lower[S1], upper[S1])
            out = np.flatnonzero(blocking)
        else:
            to = np.clip(x, lower[S1], upper[S1])
            out = np.flatnonzero(to != x)
        if within or not len(out):
            at = to
        if not len(out):
            break
        if face.is_worth_holding(len(out)):
            face.hold(out, to[out])
            continue
        stays = put_aside(subproblem, K, right, beta, S1, to, face.held, out)
        S1, at, flops, face = S1[stays], at[stays], flops + face.flops, None
    flops += face.flops if face else 0.0
    beta[S1] = at
    beta[members] = feasible(beta[members], total, own_lower, own_upper)
    return flops


def put_aside(
    subproblem: Subproblem,
    K: FloatArray,
    V: FloatArray,
    beta: FloatArray,
    S1: Places,
    x: FloatArray,
    *places: Places,
) -> NDArray[np.bool_]:
    """Fix ``beta`` of S1 at ``places`` to ``x``, and update V. Returns the mask of those left in S1, (len(S1),)."""
    stays = np.ones(len(S1), dtype=bool)
    for some in places:
        stays[some] = False
    gone = S1[~stays]
    V -= rows_times(subproblem, K, gone, x[~stays] - beta[gone])
    beta[gone] = x[~stays]
    return stays


def damping_of(V: FloatArray, box: FloatArray) -> float:
    """delta, from V of S1."""
    return DAMPING * float(np.ptp(V)) / float(box.max()) if len(V) else 0.0


def joining(
    S1: Places, members: Places, V: FloatArray, beta: FloatArray, lower: FloatArray, upper: FloatArray
) -> Places:
    """The ``members`` at a bound, with the given beta and bounds, whose error of the wrong sign is largest."""
    up, low, own = beta < upper, beta > lower, V[members]
    if not (up.any() and low.any()):
        return S1[:0]
    level = V[S1].mean() if len(S1) else (own[up].max() + own[low].min()) / 2
    error = np.where(up, own - level, level - own)
    error[up & low] = 0.0
    worst = np.argsort(-error, kind="stable")[: max(JOINING, int(JOINING_PER_FREE * len(S1)))]
    found: Places = members[worst[error[worst] > 0]]
    return found


class Face:
    """Face(subproblem, V, beta, S1, total, damping): least squares over S1, with some variables held.

    With M = K_S1 + delta, r = V_S1 + (K_S1 + delta) beta_S1, ones e, and H those held at values c,

        M x + b e + E_H u = r,     e'x = total,     x_H = c

    (u: multipliers of those held). By M = L L' and the Schur complement of B = [e, E_H], Z = L^-1 B:

        Z'Z (b, u) = Z' L^-1 r - (total, c),     x = L'^-1 (L^-1 r - Z (b, u))

    so that one more costs a column of Z, and a row of the factor of Z'Z.
    """

    def __init__(
        self,
        subproblem: Subproblem,
        V: FloatArray,
        beta: FloatArray,
        S1: Places,
        total: float,
        damping: float,
    ) -> None:
        self.asking, self.flops = subproblem.asking, 0.0
        self.held: Places = np.empty(0, dtype=np.intp)
        self.total, self.values = total, np.empty(0)
        n, now = len(S1), beta[S1]
        A = np.empty((n, n), order="F")
        subproblem.lower_triangle(S1.astype(np.int64), A)
        self.asking.ask(n * n)
        diagonal = A.diagonal().copy()
        base = V[S1] + blas.dsymv(1.0, A, now, lower=1)
        least = PROXIMAL_IN_DOUBLE if subproblem.in_double else PROXIMAL
        delta = max(damping, least * float(np.abs(diagonal).mean()), 1e-300)
        while True:
            np.fill_diagonal(A, diagonal + delta)
            self.L, info = cholesky(A, 1, self.asking, overwrite=True)
            self.flops += of_factor(n)
            if info == 0:
                break
            delta *= 10.0
            subproblem.lower_triangle(S1.astype(np.int64), A)
        # Z, L^-1 r, the factor of Z'Z and Z' L^-1 r
        self.Z = solve_lower(self.L, np.ones((n, 1), order="F"), self.asking)
        self.half = solve_lower(self.L, (base + delta * now)[:, None], self.asking)[:, 0]
        self.factor, self.info = cholesky(self.Z.T @ self.Z, 1, self.asking)
        self.Zr = self.Z.T @ self.half

    def solution(self) -> FloatArray | None:
        """x; None if Z'Z has no factor, by rounding."""
        if self.info:
            return None
        of_bounds = solve_cholesky(self.factor, self.Zr - np.append(self.total, self.values), 1, self.asking)
        x, _ = lapack.dtrtrs(self.L, self.half - self.Z @ of_bounds, lower=1, trans=1)
        self.asking.ask(self.Z.size)
        solution: FloatArray = np.asarray(x)
        solution[self.held] = self.values
        return solution

    def is_worth_holding(self, count: int) -> bool:
        """Whether holding ``count`` more is cheaper than a new factor of the others."""
        return self.of_holding(count) < of_factor(len(self.L) - len(self.held) - count)

    def of_holding(self, count: int) -> float:
        """Flops of holding ``count`` more."""
        n, columns = len(self.L), self.Z.shape[1] + count
        passes = n * n + 2 * n * columns + columns**2  # over L, Z and the factor; the last two are copied
        return float(count * n * n + 2 * n * count * columns + count * columns**2 + PER_COPIED * passes)

    def hold(self, places: Places, values: FloatArray) -> None:
        """Hold x at ``places``, too."""
        n, count = len(self.L), len(places)
        self.flops += self.of_holding(count)
        right = np.zeros((n, count), order="F")
        right[places, np.arange(count)] = 1.0
        more = solve_lower(self.L, right, self.asking)
        across, own = product(self.Z.T, more, self.asking), product(more.T, more, self.asking)
        side, _ = lapack.dtrtrs(self.factor, across, lower=1)
        below, self.info = cholesky(own - product(side.T, side, self.asking), 1, self.asking)
        self.factor = np.block([[self.factor, np.zeros_like(side)], [side.T, below]])
        self.Zr = np.append(self.Zr, more.T @ self.half)
        self.Z = beside(self.Z, more, self.asking)
        self.held, self.values = np.append(self.held, places), np.append(self.values, values)


def rows_times(subproblem: Subproblem, K: FloatArray, rows: Places, weights: FloatArray) -> FloatArray:
    """weights @ K[rows], in double."""
    total = np.zeros(K.shape[1])
    subproblem.prepare(rows.astype(np.int64))
    size = max(1, MOST_MOVED // max(K.shape[1], 1))
    for begin in range(0, len(rows), size):
        some = slice(begin, begin + size)
        total += weights[some] @ K[rows[some]].astype(np.float64, copy=False)
        subproblem.asking.ask(2 * len(rows[some]) * K.shape[1])
    return total


def feasible(point: FloatArray, total: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The nearest point within the bounds whose sum is ``total``: clip(point - t, lower, upper)."""
    if np.clip(point, lower, upper).sum() == total:
        return np.clip(point, lower, upper)
    low, high = float((point - upper).min()), float((point - lower).max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if np.clip(point - middle, lower, upper).sum() > total:
            low = middle
        else:
            high = middle
    nearest = np.clip(point - high, lower, upper)
    # just inside a bound, a variable would count as free, and no step could move it
    for bound in (lower, upper):
        nearest = np.where(np.abs(nearest - bound) <= ON_BOUND * (upper - lower), bound, nearest)
    inside = (nearest > lower) & (nearest < upper)
    if inside.any():  # correct the rounding
        nearest[inside] += (total - nearest.sum()) / inside.sum()
    clipped: FloatArray = np.clip(nearest, lower, upper)
    return clipped
