"""Iterated re-weighted least squares for the working sets of the chunked solver (Perez-Cruz et al. 2000, Table 1).

For a variable that may be up to C in absolute value, with s the sign of its coefficient and b the level of V, the loss
is C max(0, e), e = s (V - b). IRWLS puts a parabola a e^2 / 2 with a = C / e in its place, whose minimum is at
beta = s a e:

    S1   0 < beta < C       solved for        [ K_S1 + diag(1/a)  1 ] [ beta_S1 ]   [ linear - K_S1,S3 beta_S3 - G_in ]
    S2   beta = 0           left out          [ 1'                0 ] [ b       ] = [ sum - 1'beta_S3                 ]
    S3   beta = C

(beta signed, so without the paper's y and H; G_in, what lies outside of the working set, is in V from the start.) Then
those of S1 that came out beyond a bound go to S2 or S3, and those of S2 and S3 whose error has the wrong sign to S1 (in
Table 1 those of S3 by way of S2).

The plain iteration cycles or diverges on many problems. Four things make it converge on all:

* S1 is the free variables, and what else has the wrong sign comes there by pair steps: taken at once, those are many
  more than stay (of 650 half), so most of a factor is for nothing.
* What comes out beyond a bound stays there and the rest is solved again, until all are within (``Face``). So the point
  found is the optimum of a face of the box, and feasible.
* The weight 1/a is the same for all of S1, whatever the sign of their error: delta = DAMPING times the spread of V over
  them divided by C, that is 1/a for an error of that size; and around where beta is, delta |beta - beta before|^2 / 2.
  Where K_S1 is singular or nearly so, as at large C it is, no coefficient moves by more than about C for an error of
  that size; towards the optimum delta vanishes with the spread.
* The best point between the present beta and the one found is taken, so the dual objective never rises.

A round begins with pair steps, as many as take about as long as its least squares; fewer, once rounds bring the gap
far down. Easy working sets need no more, and with the bounds that they find S1 is soon what it is at the optimum, where
one round is Newton's step. Where rounds do not bring the gap down, which is what a cycle looks like now, the next
begins with many: pair steps converge from any feasible point (``Subproblem.fallbacks`` counts how often).

At very large C the optimum depends on eigenvalues of K that rounding to float hides. There K is in double, and rounds
have no pair steps (``in_double``): those on a bound that have the wrong sign come to S1 by themselves, a few at a time,
and a round that would lead nowhere goes within its face instead, from bound to bound (``within_face``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas, lapack

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.dense import MOST_MOVED, beside, cholesky, product, solve_cholesky
from libsvmx._core.stopping import FLOPS, Stopped, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._solvers.decomposition.subproblem import Subproblem
    from libsvmx._typing import FloatArray

    Places = NDArray[np.intp]

DAMPING = 0.3
# delta at least, relative to the mean of the diagonal of K_S1: so much of its eigenvalues is rounding, in float and in
# double.
PROXIMAL = 1e-7
PROXIMAL_IN_DOUBLE = 1e-13
# In double, of those that have the wrong sign so many come to S1 in a round, and for each of S1 so many.
JOINING = 20
JOINING_FOR_FREE = 0.25
# Pair steps at the beginning of a round: at least so many, and so many for each variable of the working set.
STEPS = 50
STEPS_PER_VARIABLE = 0.5
# Where a round leaves the gap at less than this share, the next begins with a quarter of the pair steps, else with
# four times as many; but with at least this share of those that take as long as its least squares.
GOOD = 0.25
LEAST_SHARE = 1 / 16
# Flops of BLAS and LAPACK that take as long as a variable in a pair step, and as a gathered element of a matrix.
OF_VARIABLE = 8
OF_GATHERED = 30
# And as an element of a matrix that is only read, or copied.
OF_PASSED = 8
# Pair steps take over, so many for each variable, after so many rounds that have not halved the gap.
PATIENCE = 10
FALLBACK_STEPS = 100
MOST_FALLBACKS = 3
# Faces solved in a round.
MOST_FACES = 30
# Relative to the box: what is as near to a bound is on it, but for rounding.
ON_BOUND = 1e-14
# Of the search for a feasible point: each halves an interval.
BISECTIONS = 80


class LeastSquares:
    """The engine of subproblems: pair steps and rounds of least squares in turn.

    Attributes
    ----------
    flops : float      what all least squares so far have taken, about
    most_flops : float      it ends as at a limit of steps once they are so many
    """

    def __init__(self) -> None:
        self.share = 1.0  # pair steps before a round, as a share of those that take as long
        self.flops, self.most_flops = 0.0, np.inf

    @one_blas_thread()  # of more threads, sums would depend on how many there are
    def __call__(self, subproblem: Subproblem, eps: float, limit: int) -> None:
        """Bring the gap of ``subproblem`` below ``eps``, or make about ``limit`` pair steps."""
        if subproblem.in_double:
            self.flops += in_double(subproblem, eps, limit, self.most_flops - self.flops)
            return
        last = subproblem.steps + limit
        best, waited, fallbacks = np.inf, 0, 0
        least = STEPS + int(STEPS_PER_VARIABLE * subproblem.size)
        of_step = OF_VARIABLE * subproblem.size
        begun, goal = subproblem.steps, subproblem.steps + least
        while True:
            made = subproblem.sweep(eps, min(last, goal) - subproblem.steps)
            gap = subproblem.kkt_gap()
            if gap < eps or subproblem.steps >= last or self.flops > self.most_flops or subproblem.told_to_stop():
                return
            goal = max(goal, begun + int(self.share * of_factor(subproblem.n_free()) / of_step))
            if made and subproblem.steps < goal:
                continue
            waited = 0 if gap <= 0.5 * best else waited + 1
            if waited == 0:
                best, fallbacks = gap, 0
            if fallbacks > MOST_FALLBACKS:
                return  # the rest is for the next working set
            try:
                leads_on, flops = waited <= PATIENCE * (fallbacks + 1), 0.0
                if leads_on:
                    leads_on, flops = least_squares(subproblem)
                    self.flops += flops
            except Stopped:
                return
            if leads_on and subproblem.kkt_gap() < GOOD * gap:
                self.share = max(LEAST_SHARE, self.share / 4)
            else:
                self.share = min(1.0, 4 * self.share)
            begun, goal = subproblem.steps, subproblem.steps + max(least, int(self.share * flops / of_step))
            if not leads_on:
                subproblem.fallbacks += 1
                fallbacks += 1
                goal = max(goal, subproblem.steps + FALLBACK_STEPS * subproblem.size)


def in_double(subproblem: Subproblem, eps: float, limit: int, most_flops: float) -> float:
    """As LeastSquares without pair steps, which go by kernel values in float. A round counts as ``size`` steps. Returns
    about how many flops it took."""
    best, waited, last, total = np.inf, 0, subproblem.steps + limit, 0.0
    try:
        while waited <= PATIENCE and subproblem.steps < last and total <= most_flops:
            gap = subproblem.kkt_gap()
            if gap < eps or subproblem.told_to_stop():
                break
            waited = 0 if gap <= 0.5 * best else waited + 1
            best = gap if waited == 0 else best
            leads_on, flops = least_squares(subproblem)
            total += flops
            if not leads_on:
                break
            subproblem.count(subproblem.size)
    except Stopped:
        pass
    return total


def of_factor(n: int) -> float:
    """Flops of gathering a matrix and factoring it, or what takes as long."""
    return n**3 / 3 + OF_GATHERED * n**2 / 2


def least_squares(subproblem: Subproblem) -> tuple[bool, float]:
    """One round: least squares, and the best point on the way to its solution; whether it leads anywhere, and
    about how many flops it took.

    Raises Stopped, and the subproblem is as it was.
    """
    K, V, beta, lower, upper, group = (np.asarray(view) for view in subproblem.views())
    K, flops = K[:, : subproblem.size], 0.0
    for way in (face_optimum, within_face) if subproblem.in_double else (face_optimum,):
        found = beta.copy()
        for g in range(subproblem.groups):
            members = np.flatnonzero((group == g) & (upper > lower))
            if len(members) > 1:
                flops += way(subproblem, K, V, found, lower, upper, members)
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
) -> float:
    """Move ``beta`` of one group, ``members``, to the solution of Table 1, step 1, clipped and solved again until it is
    feasible; ``V`` is that of the beta that comes in. Returns about how many flops that took."""
    own_lower, own_upper, now = lower[members], upper[members], beta[members]
    S1 = members[(now > own_lower) & (now < own_upper)]
    if subproblem.in_double:
        S1 = np.sort(np.append(S1, joining(S1, members, V, now, own_lower, own_upper)))
    total, flops, right = float(now.sum()), 0.0, V.copy()
    damping = damping_of(V[S1], own_upper - own_lower)
    face = None
    for _ in range(MOST_FACES):
        if face is None:
            if len(S1) < 2:
                break
            rest = float(beta[members].sum() - beta[S1].sum())
            face = Face(subproblem, right, beta, S1, total - rest, damping)
        x = face.solution()
        if x is None:
            break
        clipped = np.clip(x, lower[S1], upper[S1])
        out = np.flatnonzero(clipped != x)
        if not len(out):
            beta[S1] = clipped
            break
        if face.is_worth_holding(len(out)):
            face.hold(out, clipped[out])
            continue
        stays = put_aside(subproblem, K, right, beta, S1, clipped, face.held, out)
        S1, flops, face = S1[stays], flops + face.flops, None
    flops += face.flops if face else 0.0
    beta[members] = feasible(beta[members], total, own_lower, own_upper)
    return flops


def within_face(
    subproblem: Subproblem,
    K: FloatArray,
    V: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    members: Places,
) -> float:
    """As ``face_optimum``, but on the way to the solution over the free variables no farther than the first bound; what
    is there is held, and the way leads on to the solution over the others.

    That always leads on. Where K_S1 is singular the solution may lie far outside, and what is left once it is clipped
    may be no better than before.
    """
    own_lower, own_upper, now = lower[members], upper[members], beta[members]
    S1 = members[(now > own_lower) & (now < own_upper)]
    total, flops, right = float(now.sum()), 0.0, V.copy()
    damping = damping_of(V[S1], own_upper - own_lower)
    face, at = None, beta[S1]
    while len(S1) > 1:
        if face is None:
            rest = float(beta[members].sum() - beta[S1].sum())
            face = Face(subproblem, right, beta, S1, total - rest, damping)
        x = face.solution()
        if x is None:
            break
        way = x - at
        bound = np.where(way > 0, upper[S1], lower[S1])
        with np.errstate(divide="ignore", invalid="ignore"):  # of what does not move
            share = np.abs(bound - at) / np.abs(way)
        share[face.held] = np.inf
        step = min(1.0, float(share.min()))
        reached = share <= step
        at = np.where(reached, bound, at + step * way)
        if step == 1.0:
            break
        out = np.flatnonzero(reached)
        if face.is_worth_holding(len(out)):
            face.hold(out, at[out])
            continue
        stays = put_aside(subproblem, K, right, beta, S1, at, face.held, out)
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
    """Those at ``places`` of S1 have the beta ``x`` there from now on, and V is moved with them. Returns which of S1
    are left: shape (len(S1),)."""
    stays = np.ones(len(S1), dtype=bool)
    for some in places:
        stays[some] = False
    gone = S1[~stays]
    V -= rows_times(subproblem, K, gone, x[~stays] - beta[gone])
    beta[gone] = x[~stays]
    return stays


def damping_of(V: FloatArray, box: FloatArray) -> float:
    """delta, by V of S1."""
    return DAMPING * float(np.ptp(V)) / float(box.max()) if len(V) else 0.0


def joining(
    S1: Places, members: Places, V: FloatArray, beta: FloatArray, lower: FloatArray, upper: FloatArray
) -> Places:
    """Of ``members``, whose beta and bounds are given, those on a bound whose error has the wrong sign most."""
    up, low, own = beta < upper, beta > lower, V[members]
    if not (up.any() and low.any()):
        return S1[:0]
    level = V[S1].mean() if len(S1) else (own[up].max() + own[low].min()) / 2
    error = np.where(up, own - level, level - own)
    error[up & low] = 0.0
    worst = np.argsort(-error, kind="stable")[: max(JOINING, int(JOINING_FOR_FREE * len(S1)))]
    found: Places = members[worst[error[worst] > 0]]
    return found


class Face:
    """Face(subproblem, V, beta, S1, total, damping): the least squares over S1, some of which are then held.

    With M = K_S1 + delta, r = V_S1 + (K_S1 + delta) beta_S1, ones e, and H those held at values c,

        M x + b e + E_H u = r,     e'x = total,     x_H = c

    (u are the multipliers of what is held). By M = L L' and the Schur complement of B = [e, E_H], Z = L^-1 B:

        Z'Z (b, u) = Z' L^-1 r - (total, c),     x = L'^-1 (L^-1 r - Z (b, u))

    so that one more that is held costs a column of Z, and a row of the factor of Z'Z.
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
        self.Z = self.forward(np.ones((n, 1), order="F"))
        self.half = self.forward((base + delta * now)[:, None])[:, 0]
        self.factor, self.info = cholesky(self.Z.T @ self.Z, 1, self.asking)
        self.Zr = self.Z.T @ self.half

    def forward(self, right: FloatArray) -> FloatArray:
        """L^-1 right, some columns at a time."""
        n, count = right.shape
        for begin, end in pieces(0, count, n * n):
            right[:, begin:end], _ = lapack.dtrtrs(self.L, right[:, begin:end], lower=1)
            self.asking.ask((end - begin) * n * n // FLOPS)
        return right

    def solution(self) -> FloatArray | None:
        """x; None if rounding leaves Z'Z without a factor."""
        if self.info:
            return None
        of_bounds = solve_cholesky(self.factor, self.Zr - np.append(self.total, self.values), 1, self.asking)
        x, _ = lapack.dtrtrs(self.L, self.half - self.Z @ of_bounds, lower=1, trans=1)
        self.asking.ask(self.Z.size)
        solution: FloatArray = np.asarray(x)
        solution[self.held] = self.values
        return solution

    def is_worth_holding(self, count: int) -> bool:
        """Whether so many more, held, take less than a factor of the others."""
        return self.of_holding(count) < of_factor(len(self.L) - len(self.held) - count)

    def of_holding(self, count: int) -> float:
        """Flops of holding so many more."""
        n, columns = len(self.L), self.Z.shape[1] + count
        passes = n * n + 2 * n * columns + columns**2  # over L, Z and the factor, of which Z and the factor are copied
        return float(count * n * n + 2 * n * count * columns + count * columns**2 + OF_PASSED * passes)

    def hold(self, places: Places, values: FloatArray) -> None:
        """Hold x there, too."""
        n, count = len(self.L), len(places)
        self.flops += self.of_holding(count)
        right = np.zeros((n, count), order="F")
        right[places, np.arange(count)] = 1.0
        more = self.forward(right)
        across, own = product(self.Z.T, more, self.asking), product(more.T, more, self.asking)
        side, _ = lapack.dtrtrs(self.factor, across, lower=1)
        below, self.info = cholesky(own - product(side.T, side, self.asking), 1, self.asking)
        self.factor = np.block([[self.factor, np.zeros_like(side)], [side.T, below]])
        self.Zr = np.append(self.Zr, more.T @ self.half)
        self.Z = beside(self.Z, more, self.asking)
        self.held, self.values = np.append(self.held, places), np.append(self.values, values)


def rows_times(subproblem: Subproblem, K: FloatArray, rows: Places, weights: FloatArray) -> FloatArray:
    """The sum of some rows of K, each with its weight, in double."""
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
    # a hair inside of a bound, a variable would count as free, and no step could move it
    for bound in (lower, upper):
        nearest = np.where(np.abs(nearest - bound) <= ON_BOUND * (upper - lower), bound, nearest)
    inside = (nearest > lower) & (nearest < upper)
    if inside.any():  # what rounding leaves
        nearest[inside] += (total - nearest.sum()) / inside.sum()
    clipped: FloatArray = np.clip(nearest, lower, upper)
    return clipped
