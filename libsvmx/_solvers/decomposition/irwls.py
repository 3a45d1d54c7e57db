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

* What comes out beyond a bound stays there and the rest is solved again, until all are within. So the point found is
  the optimum of a face of the box, and feasible.
* A free variable stays in S1 whatever the sign of its error, with 1/a = 0, and every step is damped:
  delta |beta - beta before|^2 / 2 is added, delta = DAMPING times the spread of V over the free variables divided by C.
  (That is 1/a for an error of that size, around where beta is.) Where K_S1 is singular or nearly so, as at large C it
  is, no coefficient moves by more than about C for an error of that size; towards the optimum delta vanishes with the
  spread.
* The best point between the present beta and the one found is taken, so the dual objective never rises.
* A round begins with some pair steps, which is all that easy working sets need. Where rounds do not bring the gap down,
  which is what a cycle looks like now, the next begins with many: they converge from any feasible point
  (``Subproblem.fallbacks`` counts how often).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.dense import MOST_MOVED, cholesky, solve_cholesky
from libsvmx._core.stopping import FLOPS, NOBODY, Stopped, pieces
from libsvmx._problem.certificate import array_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._core.stopping import Asking
    from libsvmx._solvers.decomposition.subproblem import Subproblem
    from libsvmx._typing import FloatArray

    Places = NDArray[np.intp]
    Flags = NDArray[np.bool_]

DAMPING = 0.3
# delta at least, relative to the mean of the diagonal of K_S1: K is float, so that much of its eigenvalues is rounding.
PROXIMAL = 1e-7
# Pair steps at the beginning of a round: so many, and so many for each variable of the working set.
STEPS = 50
STEPS_PER_VARIABLE = 0.5
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


def solve(subproblem: Subproblem, eps: float, limit: int) -> None:
    """Bring the gap of ``subproblem`` below ``eps``, or make about ``limit`` pair steps."""
    last = subproblem.steps + limit
    best, waited, fallbacks = np.inf, 0, 0
    n_steps = usual = STEPS + int(STEPS_PER_VARIABLE * subproblem.size)
    while True:
        subproblem.sweep(eps, min(last - subproblem.steps, n_steps))
        gap = subproblem.kkt_gap()
        if gap < eps or subproblem.steps >= last or subproblem.told_to_stop():
            return
        n_steps = usual
        waited = 0 if gap <= 0.5 * best else waited + 1
        if waited == 0:
            best, fallbacks = gap, 0
        if fallbacks > MOST_FALLBACKS:
            return  # the rest is for the next working set
        try:
            leads_on = waited <= PATIENCE * (fallbacks + 1) and least_squares(subproblem)
        except Stopped:
            return
        if not leads_on:
            subproblem.fallbacks += 1
            fallbacks += 1
            n_steps = FALLBACK_STEPS * subproblem.size


def least_squares(subproblem: Subproblem) -> bool:
    """One round: weighted least squares, and the best point on the way to its solution. False if it leads nowhere.

    Raises Stopped, and the subproblem is as it was.
    """
    asking = subproblem.asking
    K, V, beta, lower, upper, group = (np.asarray(view) for view in subproblem.views())
    K = K[:, : subproblem.size]
    found = beta.copy()
    for g in range(subproblem.groups):
        members = np.flatnonzero((group == g) & (upper > lower))
        if len(members) > 1:
            face_optimum(K, V, found, lower, upper, members, asking)
    direction = found - beta
    slope = float(V @ direction)
    if not slope > 0:  # also nan
        return False
    changed = np.flatnonzero(direction)
    along = rows_times(K, changed, direction[changed], asking)
    curvature = float(along @ direction)
    step = min(1.0, slope / curvature) if curvature > 0 else 1.0
    subproblem.replace(found if step == 1.0 else np.clip(beta + step * direction, lower, upper), V - step * along)
    return True


def face_optimum(
    K: FloatArray,
    V: FloatArray,
    beta: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    members: Places,
    asking: Asking = NOBODY,
) -> None:
    """Move ``beta`` of one group, ``members``, to the solution of Table 1, step 1, clipped and solved again until it is
    feasible; ``V`` is that of the beta that comes in."""
    own_lower, own_upper, now = lower[members], upper[members], beta[members]
    free = (now > own_lower) & (now < own_upper)
    scores = V[members]
    sign = np.where(own_upper > 0, 1.0, -1.0)
    error = sign * (scores - array_level(scores, now < own_upper, now > own_lower))
    at_zero = now == 0
    inside = free | np.where(at_zero, error > 0, error < 0)
    weights = np.where(free, 0.0, np.maximum(error, 0.0) / (own_upper - own_lower))
    damping = DAMPING * float(np.ptp(scores[free])) / float((own_upper - own_lower).max()) if free.any() else 0.0
    S1, weights, total = members[inside], weights[inside], float(now.sum())
    right = V.copy()
    for _ in range(MOST_FACES):
        if len(S1) < 2:
            break
        rest = float(beta[members].sum() - beta[S1].sum())
        x = bordered_solution(K, right, beta, S1, total - rest, weights, damping, asking)
        clipped = np.clip(x, lower[S1], upper[S1])
        out = clipped != x
        gone = S1[out]
        if not len(gone):
            beta[S1] = x
            break
        right -= rows_times(K, gone, clipped[out] - beta[gone], asking)
        beta[gone] = clipped[out]
        S1, weights = S1[~out], weights[~out]
    beta[members] = feasible(beta[members], total, own_lower, own_upper)


def bordered_solution(
    K: FloatArray,
    V: FloatArray,
    beta: FloatArray,
    S1: Places,
    total: float,
    weights: FloatArray,
    damping: float,
    asking: Asking = NOBODY,
) -> FloatArray:
    """x with (K_S1 + diag(weights) + delta) x + b = V_S1 + (K_S1 + delta) beta_S1 and the sum ``total``.

    By a Cholesky factor and the Schur complement of the border.
    """
    A = np.empty((len(S1), len(S1)))
    for begin, end in pieces(0, len(S1), FLOPS * len(S1)):
        A[begin:end] = K[np.ix_(S1[begin:end], S1)]
        asking.ask((end - begin) * len(S1))
    now, diagonal = beta[S1], A.diagonal().copy()
    base = V[S1] + A @ now
    delta = max(damping, PROXIMAL * float(np.abs(diagonal).mean()), 1e-300)
    while True:
        np.fill_diagonal(A, diagonal + weights + delta)
        factor, info = cholesky(A, 1, asking)
        if info == 0:
            break
        delta *= 10.0
    x = solve_cholesky(factor, np.column_stack((base + delta * now, np.ones(len(S1)))), 1, asking)
    b = (x[:, 0].sum() - total) / x[:, 1].sum()
    solution: FloatArray = x[:, 0] - b * x[:, 1]
    return solution


def rows_times(K: FloatArray, rows: Places, weights: FloatArray, asking: Asking) -> FloatArray:
    """The sum of some rows of K, each with its weight, in double."""
    total = np.zeros(K.shape[1])
    size = max(1, MOST_MOVED // max(K.shape[1], 1))
    for begin in range(0, len(rows), size):
        some = slice(begin, begin + size)
        total += weights[some] @ K[rows[some]].astype(np.float64)
        asking.ask(2 * len(rows[some]) * K.shape[1])
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
