"""From an interior point to a corner: which alpha are 0, which are tau, and exact values of the rest.

An interior point has every alpha above 0, and its scores are off by what is left of mu. At the optimum a row is at 0,
at tau, or on the boundary plane of its class; near it, alpha/tau against s and u/tau against xi tell which. With those
at a bound fixed, the free ones F are the solution of

    w = w_fixed + A'beta,   A w - gamma e = y_F,   e'beta = -(sum of the fixed y alpha),      A = X_F, beta = Y alpha_F

nearest to the interior point: proximal steps, each a linear system of the smaller of n and |F|. What leaves its bounds
is fixed there, what violates the KKT conditions becomes free, and the system is solved again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import lapack

from libsvmx._solvers.interior_point.block_steps import Block, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._solvers.interior_point.row_blocks import Parts
    from libsvmx._typing import FloatArray

# Proximal weight against the mean of diag(A A'), steps, and the residual of the free rows that ends them.
PROXIMAL = 1e-9
MOST_STEPS = 30
EXACT = 1e-13
# Rounds of fixing and freeing end when so many in a row have not halved the gap, or when one changes more rows than are
# free, and more than a few: the interior point was too far away to tell.
PATIENCE = 6
MUCH_WORSE = 100.0
FEW = 20
# A corner with a KKT gap up to it is one; scores are about 1.
SHARP = 1e-8
# Most elements of A.
MOST_ELEMENTS = 1 << 26
# Violations up to it are none, against what scores differ by; that is 1, but less where all C are small. And their
# rounding, scores being about 1.
SLACK, ROUNDING, SMALLEST = 1e-10, 1e-14, 1e-12
# Steps along corners, where rounds fail.
MOST_CHANGES = 100
# Rows become free whose violation is above that share of the largest; and a gain of the objective that is rounding.
MANY, ONE, TINY = 0.5, 1 - 1e-9, 1e-15
# |y'alpha| against the sum of alpha: rounding, and what is left of a large C and can be given to the free rows.
BALANCED, NEARLY = 1e-13, 1e-9


@dataclass(frozen=True, slots=True)
class Corner:
    """alpha over the rows of a block, and which of them are free; shape (m,)."""

    alpha: FloatArray
    free: NDArray[np.bool_]


class Free(NamedTuple):
    """The free rows of a block, and what the fixed ones add to w, to y'alpha and to the sum of alpha."""

    w: FloatArray
    balance: float
    total: float
    rows: FloatArray
    y: FloatArray
    alpha: FloatArray
    tau: FloatArray


class Crossed(NamedTuple):
    """A corner: w, gamma, its KKT gap, max_{I_up} V - min_{I_low} V with V = y - X w, and 1/2 |w|^2 - sum alpha."""

    w: FloatArray
    gamma: float
    gap: float
    objective: float
    n_free: int


class Solved(NamedTuple):
    """w, gamma and alpha of the free rows, within their bounds; what y'alpha lacks to 0, and the sum of all alpha.

    ``n_inside``: free rows that are at no bound. ``met``: as of as_far_as_allowed.
    """

    w: FloatArray
    gamma: float
    alpha: FloatArray
    missing: float
    total: float
    n_inside: int
    met: NDArray[np.bool_] | None


def snap(block: Block, state: State, spread: float) -> tuple[Corner, int]:
    """Tell the rows apart; replies how many are free. ``spread``: of scores, what s and xi are measured by."""
    far = block.tau / spread
    at_zero = state.alpha < far * state.s
    at_tau = (state.u < far * state.xi) & ~(at_zero & (state.alpha < state.u))
    at_zero &= ~at_tau
    alpha = np.where(at_zero, 0.0, np.where(at_tau, block.tau, np.minimum(state.alpha, block.tau)))
    free = ~(at_zero | at_tau)
    return Corner(alpha, free), int(np.count_nonzero(free))


def free_rows(block: Block, corner: Corner) -> tuple[Corner, Free]:
    """The free rows themselves; there are few of them."""
    members = np.flatnonzero(corner.free)
    fixed = np.where(corner.free, 0.0, block.y * corner.alpha)
    return corner, Free(
        block.rows.transposed(fixed[None, :])[0],
        float(fixed.sum()),
        float(abs(fixed).sum()),
        block.rows.take(members),
        block.y[members],
        corner.alpha[members],
        block.tau[members],
    )


def settle(block: Block, corner: Corner, w: FloatArray, alpha: FloatArray) -> tuple[Corner, tuple[float, float]]:
    """Give the free rows their values; replies max_{I_up} V and min_{I_low} V."""
    new = corner.alpha.copy()
    new[corner.free] = alpha
    score = block.y - block.rows.times(w)
    positive, below, above = block.y > 0, new < block.tau, new > 0
    up, low = np.where(positive, below, above), np.where(positive, above, below)
    return Corner(new, corner.free), (
        float(score.max(initial=-np.inf, where=up)),
        float(score.min(initial=np.inf, where=low)),
    )


def regroup(block: Block, corner: Corner, w: FloatArray, gamma: float, slack: float) -> tuple[Corner, int]:
    """Fix free rows that are at a bound, free fixed rows whose condition is violated; replies how many changed."""
    wish = block.y * (block.y - block.rows.times(w) + gamma)  # alpha wants to grow where it is positive
    at_zero, at_tau = corner.alpha <= 0, corner.alpha >= block.tau
    free = ~(at_zero | at_tau) | (at_zero & (wish > slack)) | (at_tau & (wish < -slack))
    return Corner(corner.alpha, free), int(np.count_nonzero(free != corner.free))


def fix(block: Block, corner: Corner, met: NDArray[np.bool_]) -> tuple[Corner, None]:
    """Free no longer those of the free rows that are ``met``."""
    free = corner.free.copy()
    free[free] = ~met
    return Corner(corner.alpha, free), None


class Start(NamedTuple):
    """The interior point: w and gamma; and the mean of |x|^2."""

    w: FloatArray
    gamma: float
    scale: float


def cross_over(parts: Parts, start: Start, thorough: bool = True) -> Crossed | None:
    """Move ``parts`` from an interior state to a corner.

    ``thorough``: go along corners where rounds lead nowhere, though it takes time.

    Returns
    -------
    Crossed, the best corner found, or None: too many free rows, or no corner with y'alpha = 0
    """
    interior = parts.states
    # where all C are small, scores differ by so little within a class; or they do not differ at all, w being rounding
    spread = min(1.0, max(float(np.sqrt(start.scale * (start.w @ start.w))), SMALLEST))
    slack = max(SLACK * spread, ROUNDING)
    best = None
    for measure in (1.0, spread) if spread < 0.1 else (1.0,):
        parts.states = interior
        best = better(best, regrouped(parts, start, measure, slack))
        if best is not None and best.crossed.gap <= 2 * slack:
            break
    if thorough and (best is None or best.crossed.gap > SHARP):
        parts.states = interior
        best = better(best, descended(parts, start, slack))
    if best is None:
        return None
    parts.states = best.states
    return best.crossed


def regrouped(parts: Parts, start: Start, spread: float, slack: float) -> Found | None:
    """The best corner of rounds of fixing and freeing; its states may not be the last ones."""
    best, gamma = None, start.gamma
    counts = parts.run(snap, spread)
    least, idle = np.inf, 0
    while sum(counts) * parts.n <= MOST_ELEMENTS:
        found = settled(parts, gamma, start.scale, slack)
        if found is None:
            break
        best, gap, gamma = better(best, found), found.crossed.gap, found.crossed.gamma
        idle = 0 if gap < 0.5 * least else idle + 1
        least = min(least, max(gap, slack))
        if (found.balanced and gap <= 2 * slack) or idle >= PATIENCE or gap > MUCH_WORSE * least:
            break
        changed = sum(parts.run(regroup, found.crossed.w, gamma, slack))
        if not 0 < changed <= max(FEW, sum(counts)):
            break
        counts = parts.run(count_free)
    return best


def descended(parts: Parts, start: Start, slack: float) -> Found | None:
    """The corner that a path through corners leads to, each better than the one before.

    It begins where the rows are as they were told apart, which is hardly worse than the interior point. Steps go as
    far as the bounds allow; a row that is met there is fixed, and at the end of a whole step those rows become free
    that violate their conditions most.
    """
    n_free = sum(parts.run(snap, 1.0))
    if n_free * parts.n > MOST_ELEMENTS:
        return None
    best = found = settled(parts, start.gamma, None, slack)
    if n_free > 2 * parts.n + MOST_CHANGES:  # a corner has n + 1, but for ties: most of these would have to be fixed
        return better(None, best)
    reached = np.inf
    for _ in range(MOST_CHANGES):
        if found is None or not found.balanced or found.crossed.gap <= 2 * slack:
            break
        if found.met is not None:
            parts.run(fix, each=[(part,) for part in found.met])
        else:
            # of many at once, some may be in the way of all: where nothing was gained, one at a time
            gamma, objective = found.crossed.gamma, found.crossed.objective
            share = MANY if objective < reached - TINY * abs(objective) else ONE
            reached = min(reached, objective)
            least = max(slack, share * max(found.top + gamma, -(found.bottom + gamma)))
            changed = sum(parts.run(regroup, found.crossed.w, gamma, least))
            if found is not best and not changed:
                break
        if sum(parts.run(count_free)) * parts.n > MOST_ELEMENTS:
            break
        found = settled(parts, found.crossed.gamma, start.scale, slack, within=True)
        best = better(best, found)
    return best


class Found(NamedTuple):
    """A corner, max_{I_up} V and min_{I_low} V, whether its y'alpha is 0, and the states that it has.

    ``met``: of the free rows of each block, those that met a bound on the way to where their equations have them; or
    None if they are there.
    """

    crossed: Crossed
    top: float
    bottom: float
    balanced: bool
    met: list[NDArray[np.bool_]] | None
    states: list[object]


def better(best: Found | None, found: Found | None) -> Found | None:
    """The better one of those with y'alpha = 0."""
    if found is None or not found.balanced or (best is not None and best.crossed.gap <= found.crossed.gap):
        return best
    return found


def settled(parts: Parts, gamma: float, scale: float | None, slack: float, within: bool = False) -> Found | None:
    """The corner whose free rows are those of ``parts``, solved for; or left as they are, where ``scale`` is None."""
    replies: list[Free] = parts.run(free_rows)
    solved = solve_free(replies, gamma, scale, within)
    if solved is None:
        return None
    ends = np.cumsum([len(reply.y) for reply in replies])[:-1]
    extremes = parts.run(settle, solved.w, each=[(part,) for part in np.split(solved.alpha, ends)])
    top, bottom = max(top for top, _ in extremes), min(bottom for _, bottom in extremes)
    balanced = abs(solved.missing) <= BALANCED * solved.total
    gamma = solved.gamma if solved.n_inside else level(top, bottom, 0.0 if balanced else solved.missing, slack)
    objective = float(solved.w @ solved.w) / 2 - solved.total
    met = None if solved.met is None else np.split(solved.met, ends)
    crossed = Crossed(solved.w, gamma, top - bottom, objective, solved.n_inside)
    return Found(crossed, top, bottom, balanced, met, parts.states)


def level(top: float, bottom: float, missing: float, slack: float) -> float:
    """gamma where every row is at a bound: between V of what may grow and of what may shrink.

    Where y'alpha lacks ``missing``, it is such that ``regroup`` frees the rows that can give it at the least cost.
    """
    if missing > 0 or np.isinf(bottom):
        return -(top - 2 * slack)
    if missing < 0 or np.isinf(top):
        return -(bottom + 2 * slack)
    return -(top + bottom) / 2


def count_free(block: Block, corner: Corner) -> tuple[Corner, int]:
    return corner, int(np.count_nonzero(corner.free))


def solve_free(replies: list[Free], gamma: float, scale: float | None, within: bool = False) -> Solved | None:
    """The free rows, nearest to where they are; None if the system cannot be solved. Without ``scale``, as they are.

    What leaves its bounds is cut off, or, ``within``, ends the way there.
    """
    A = np.concatenate([reply.rows for reply in replies])
    y, alpha, tau = (np.concatenate([getattr(reply, name) for reply in replies]) for name in ("y", "alpha", "tau"))
    w_fixed, balance = np.sum([reply.w for reply in replies], axis=0), sum(reply.balance for reply in replies)
    met = None
    if len(A) and scale is not None:
        solved = proximal_steps(A, y, y * alpha, gamma, (w_fixed, balance, float(tau.sum())), scale)
        if solved is None:
            return None
        beta, gamma = solved
        target = y * beta
        if within:
            alpha, met = as_far_as_allowed(alpha, target, tau)
        else:
            alpha = np.clip(target, 0.0, tau)
    missing = -(balance + float(y @ alpha))
    total = sum(reply.total for reply in replies) + float(alpha.sum())
    if abs(missing) > BALANCED * total and (scale is None or abs(missing) <= NEARLY * total):
        alpha = balance_out(alpha, y, tau, balance)
        missing = -(balance + float(y @ alpha))
        total = sum(reply.total for reply in replies) + float(alpha.sum())
    n_inside = int(np.count_nonzero((alpha > 0) & (alpha < tau)))
    return Solved(w_fixed + A.T @ (y * alpha), gamma, alpha, missing, total, n_inside, met)


def as_far_as_allowed(
    alpha: FloatArray, target: FloatArray, tau: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_] | None]:
    """The point on the way to ``target`` at which the first bound is met, and by which rows; None if none is met."""
    way = target - alpha
    room = np.where(way > 0, tau - alpha, alpha)
    lengths = np.full(len(alpha), np.inf)
    np.divide(room, abs(way), out=lengths, where=abs(way) > room)
    step = float(lengths.min())
    if step >= 1:
        return np.clip(target, 0.0, tau), None
    met = lengths <= step
    moved = np.clip(alpha + step * way, 0.0, tau)
    return np.where(met, np.where(way > 0, tau, 0.0), moved), met


def balance_out(alpha: FloatArray, y: FloatArray, tau: FloatArray, balance: float) -> FloatArray:
    """Move alpha, in proportion to the room that each has, until y'alpha = -balance; as far as there is room."""
    for _ in range(2):
        missing = -(balance + float(y @ alpha))
        inside = (alpha > 0) & (alpha < tau)
        room = np.where(y * missing > 0, tau - alpha, alpha)
        own = np.where(inside, room, 0.0)
        if own.sum() < abs(missing):
            own = room
        if missing == 0 or not own.any():
            break
        share = min(1.0, abs(missing) / float(own.sum()))
        alpha = np.clip(alpha + y * np.sign(missing) * share * own, 0.0, tau)
    return alpha


def proximal_steps(
    A: FloatArray,
    y: FloatArray,
    beta: FloatArray,
    gamma: float,
    fixed: tuple[FloatArray, float, float],
    scale: float,
) -> tuple[FloatArray, float] | None:
    """beta and gamma of the free rows, whatever their bounds.

    ``fixed``: what the other rows add to w and to the sum of beta, and the sum of tau of the free ones.
    """
    w_fixed, balance, tau = fixed
    epsilon = PROXIMAL * max(float(np.vdot(A, A)) / len(A), scale, 1e-300)
    total = A.sum(axis=0)
    if A.shape[1] < len(A):
        matrix = (A.T @ A - np.outer(total, total) / len(A)) / epsilon
        matrix[np.diag_indices_from(matrix)] += 1.0
    else:
        matrix = A @ A.T
        matrix[np.diag_indices_from(matrix)] += epsilon
    factor, info = lapack.dpotrf(matrix, lower=1)
    if info:
        return None
    before = np.inf
    for _ in range(MOST_STEPS):
        w = w_fixed + A.T @ beta
        residual = y - A @ w + gamma
        missing = -(balance + float(beta.sum()))
        error = max(float(abs(residual).max()), abs(missing) / tau)
        if error <= EXACT or error > 0.5 * before:
            break
        before = error
        if len(matrix) == len(A):  # (A A' + eps I) d_beta = residual + dgamma e, e'd_beta = missing
            sides, _ = lapack.dpotrs(factor, np.stack([residual, np.ones(len(A))], axis=1), lower=1)
            dgamma = (missing - sides[:, 0].sum()) / sides[:, 1].sum()
            d_beta = sides[:, 0] + dgamma * sides[:, 1]
        else:  # (I + A'A/eps - h h'/(eps |F|)) dw = (A'residual + h (eps missing - e'residual) / |F|) / eps, h = A'e
            excess = (epsilon * missing - float(residual.sum())) / len(A)
            dw, _ = lapack.dpotrs(factor, (A.T @ residual + total * excess) / epsilon, lower=1)
            dgamma = excess + float(total @ dw) / len(A)
            d_beta = (residual - A @ dw + dgamma) / epsilon
        beta = beta + d_beta
        gamma += float(dgamma)
    return beta, gamma


class Counted(NamedTuple):
    """Of the rows of a block: sum of alpha, support vectors, and those at their bound."""

    alpha: float
    n_sv: int
    n_bsv: int


def count(block: Block, state: Corner | State) -> tuple[Corner | State, Counted]:
    """What is reported of a solution."""
    alpha = state.alpha
    return state, Counted(float(alpha.sum()), int(np.count_nonzero(alpha)), int(np.count_nonzero(alpha >= block.tau)))
