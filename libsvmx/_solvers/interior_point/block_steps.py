"""What an iteration of the interior-point method does with a block of rows (Jung, O'Leary & Tits 2008, section 3).

    min 1/2 |w|^2 + tau'xi   s.t.  Y(Xw - gamma e) + xi - s = e,  xi, s >= 0       multipliers alpha of s, u of xi

Vectors over rows stay where the rows are, so a block may be in another process or on another machine; what is summed
over blocks has the length of w, or is the normal matrix. Each step takes a block and its state and returns another
state and a reply. Steps change nothing in place: a step whose block was lost can be done again.

Residuals (3.1)-(3.4) and, with r_sv and r_xiu the right-hand sides of complementarity (3.7)-(3.10),

    r_w = w - X'Y alpha,  r_alpha = y'alpha,  r_u = tau - alpha - u,  r_s = Y(Xw - gamma e) + xi - e - s
    Omega = S/alpha + Xi/u,   rbar_u = r_u + r_xiu/xi,   r_Omega = r_s + r_sv/alpha - (xi/u) rbar_u
    d_alpha = -(r_Omega + Y(X dw - dgamma e)) / Omega                                                        (3.13)
    d_xi = -(xi/u)(rbar_u - d_alpha),  d_u = -(r_xiu + u d_xi)/xi,  d_s = -(r_sv + s d_alpha)/alpha      (3.14)-(3.16)

r_sv is written s alpha + c_s and r_xiu as xi u + c_u, with c = 0 for the predictor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx._solvers.interior_point.constraint_reduction import ladder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._typing import FloatArray


# Products s alpha and xi u that centrality correctors leave alone, against the mean wanted.
LOW, HIGH = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of the problem: features, y = +1 or -1, shape (m,), and tau > 0, shape (m,), the bound C of each row."""

    rows: FeatureRows
    y: FloatArray
    tau: FloatArray


@dataclass(frozen=True, slots=True)
class State:
    """An iterate over the rows of a block, and of the iteration what the next step needs. All arrays have shape (m,).

    ``z`` = X w. ``correction``: (c_s, c_u) / (alpha, xi); ``direction``: d_alpha, d_u, d_xi, d_s, d_z.
    """

    alpha: FloatArray
    u: FloatArray
    xi: FloatArray
    s: FloatArray
    z: FloatArray
    r_s: FloatArray | None = None
    r_u: FloatArray | None = None
    inverse: FloatArray | None = None
    keys: FloatArray | None = None
    correction: tuple[FloatArray, FloatArray] | None = None
    direction: tuple[FloatArray, ...] | None = None


class Begun(NamedTuple):
    """Reply of ``begin``: sums over the rows."""

    members: tuple[int, int]
    squares: float
    tau: float
    entries: int


class Measured(NamedTuple):
    """Reply of ``measure``: sums, maxima of |r_u|, |r_s|, and X'Y alpha, X'Omega^-1 e, X'Y Omega^-1 r_Omega."""

    complementarity: float
    balance: float
    slack_cost: float
    hinge: float
    inverse: float
    weighted: float
    largest: NDArray[np.float64]
    vectors: FloatArray


class Normal(NamedTuple):
    """Reply of ``normal``, over Q: sum of x x' / omega (lower triangle), of x / omega, of 1 / omega, and |Q|."""

    outer: FloatArray
    total: FloatArray
    inverse: float
    patterns: int


class Reached(NamedTuple):
    """Reply of ``direct``: max of -d/v over all variables, and the sums that give mu after any step."""

    ratio: float
    linear: float
    quadratic: float


def begin(block: Block, state: None) -> tuple[State, Begun]:
    """A start that is the same whatever the scale of C: w = 0, gamma = 0, alpha = u = tau/2, xi = s = 2.

    The paper's alpha = u = 2 is this for tau = 4 in all rows; with alpha + u = tau, r_u is 0 from the start.
    """
    half, two = block.tau / 2, np.full(len(block.y), 2.0)
    positive = int(np.count_nonzero(block.y > 0))
    members = (positive, len(block.y) - positive)
    return (
        State(half, half, two, two, np.zeros(len(block.y))),
        Begun(members, block.rows.squares(), float(block.tau.sum()), block.rows.nnz),
    )


def measure(block: Block, state: State, gamma: float) -> tuple[State, Measured]:
    """Residuals, Omega^-1, and the right-hand side of the predictor."""
    y, alpha, u, xi, s = block.y, state.alpha, state.u, state.xi, state.s
    margin = y * (state.z - gamma)
    margin -= 1.0
    r_s = margin + xi
    r_s -= s
    r_u = block.tau - alpha
    r_u -= u
    inverse = s / alpha
    ratio = xi / u
    inverse += ratio
    np.reciprocal(inverse, out=inverse)
    r_omega = _right(r_s, s, xi, ratio, r_u)
    r_omega *= inverse
    signed = y * r_omega
    reply = Measured(
        float(s @ alpha + xi @ u),
        float(y @ alpha),
        float(block.tau @ xi),
        float(-(block.tau @ np.minimum(margin, 0.0))),
        float(inverse.sum()),
        float(signed.sum()),
        np.array([abs(r_u).max(), abs(r_s).max()]),
        block.rows.transposed(np.stack([y * alpha, inverse, signed])),
    )
    state = replace(state, r_s=r_s, r_u=r_u, inverse=inverse, correction=None, direction=None, keys=None)
    return state, reply


def _right(r_s: FloatArray, s: FloatArray, xi: FloatArray, ratio: FloatArray, r_u: FloatArray) -> FloatArray:
    """r_Omega of the predictor: r_s + s - (xi/u)(r_u + u)."""
    right: FloatArray = ratio * r_u
    np.subtract(r_s, right, out=right)
    right += s
    right -= xi
    return right


def rank(
    block: Block, state: State, rule: str, least: float, near: float, draw: int | None
) -> tuple[State, list[tuple[int, int, tuple[NDArray[np.int64], FloatArray]]]]:
    """Keys by which rows are chosen, and of either class: rows, q_L, and a ladder of the keys.

    q_L counts the rows whose Omega^-1 is at least ``least``, theta sqrt(mu) of (3.20); with one-sided distances, those
    whose alpha/s is, or whose s is at most ``near``. ``draw``: random keys of this seed, for the first iteration.
    """
    assert state.inverse is not None and state.r_s is not None
    if rule == "omega":
        needed = state.inverse >= least
        keys = -state.inverse
    else:
        needed = (state.alpha >= least * state.s) | (state.s <= near)
        keys = state.r_s + state.s
    if draw is not None:
        keys = np.random.default_rng(draw).random(len(block.y))
    reply = []
    for sign in (block.y > 0, block.y <= 0):
        own = keys[sign]
        reply.append((len(own), int(np.count_nonzero(needed & sign)), ladder(own)))
    return replace(state, keys=keys), reply


def normal(block: Block, state: State, limits: tuple[float, float] | None) -> tuple[State, Normal]:
    """The sums over the rows Q with keys up to ``limits`` (of +1, of -1; None: all rows)."""
    assert state.inverse is not None
    if limits is None:
        members = np.arange(len(block.y))
    else:
        assert state.keys is not None
        members = np.flatnonzero(state.keys <= np.where(block.y > 0, limits[0], limits[1]))
    weights = state.inverse if len(members) == len(block.y) else state.inverse[members]
    outer, total = block.rows.gram(members, weights)
    return state, Normal(outer, total, float(weights.sum()), len(members))


def add_normals(replies: list[Normal]) -> Normal:
    """Their sums, over the rows of several blocks."""
    first, *others = replies
    outer, total = first.outer, first.total
    for k, reply in enumerate(others):  # replies are not changed
        outer = np.add(outer, reply.outer, out=outer if k else None)
        total = total + reply.total
    return Normal(outer, total, sum(reply.inverse for reply in replies), sum(reply.patterns for reply in replies))


def curvature(block: Block, state: State, v: FloatArray) -> tuple[State, FloatArray]:
    """X'Omega^-1 X v over all rows, shape (n,)."""
    assert state.inverse is not None
    return state, block.rows.curvature(state.inverse, v)


def direct(block: Block, state: State, dw: FloatArray, dgamma: float) -> tuple[State, Reached]:
    """The direction over the rows that belongs to (dw, dgamma): (3.13) to (3.16)."""
    assert state.inverse is not None and state.r_s is not None and state.r_u is not None
    alpha, u, xi, s = state.alpha, state.u, state.xi, state.s
    # r_sv / alpha and r_xiu / xi
    of_s, of_u = (s, u) if state.correction is None else (s + state.correction[0], u + state.correction[1])
    rbar_u = state.r_u + of_u
    ratio = xi / u
    d_z = block.rows.times(dw)
    d_alpha = block.y * (d_z - dgamma)
    d_alpha += state.r_s
    d_alpha += of_s
    d_alpha -= ratio * rbar_u
    d_alpha *= state.inverse
    np.negative(d_alpha, out=d_alpha)
    d_xi = d_alpha - rbar_u
    d_xi *= ratio
    d_u = d_xi / ratio
    d_u += of_u
    np.negative(d_u, out=d_u)
    d_s = s / alpha
    d_s *= d_alpha
    d_s += of_s
    np.negative(d_s, out=d_s)
    pairs = ((alpha, d_alpha), (u, d_u), (xi, d_xi), (s, d_s))
    reply = Reached(
        -min(float((d / v).min()) for v, d in pairs),
        float(s @ d_alpha + alpha @ d_s + xi @ d_u + u @ d_xi),
        float(d_s @ d_alpha + d_xi @ d_u),
    )
    return replace(state, direction=(d_alpha, d_u, d_xi, d_s, d_z)), reply


def correct(block: Block, state: State, centre: float) -> tuple[State, tuple[float, FloatArray]]:
    """The right-hand side of the corrector, ``centre`` = sigma mu: sum of y r_Omega/omega, and X'Y Omega^-1 r_Omega."""
    assert state.direction is not None and state.inverse is not None
    assert state.r_s is not None and state.r_u is not None
    d_alpha, d_u, d_xi, d_s, _ = state.direction
    c_s = (d_s * d_alpha - centre) / state.alpha
    c_u = (d_xi * d_u - centre) / state.xi
    return _corrected(block, state, c_s, c_u)


def _corrected(block: Block, state: State, c_s: FloatArray, c_u: FloatArray) -> tuple[State, tuple[float, FloatArray]]:
    """The right-hand side with c_s / alpha and c_u / xi."""
    assert state.inverse is not None and state.r_s is not None and state.r_u is not None
    ratio = state.xi / state.u
    r_omega = _right(state.r_s, state.s, state.xi, ratio, state.r_u)
    r_omega += c_s
    r_omega -= ratio * c_u
    r_omega *= state.inverse
    r_omega *= block.y
    vector = block.rows.transposed(r_omega[None, :])[0]
    return replace(state, correction=(c_s, c_u), direction=None), (float(r_omega.sum()), vector)


def recentre(block: Block, state: State, step: float, target: float) -> tuple[State, tuple[float, FloatArray]]:
    """The right-hand side that brings products far from ``target`` nearer to it (Gondzio 1996, section 3).

    A step of length ``step`` would lead to products v = s alpha and xi u, some of them far below or above the others.
    Those are to move to the interval [0.1, 10] target, by no more than 10 target.
    """
    assert state.direction is not None and state.correction is not None
    d_alpha, d_u, d_xi, d_s, _ = state.direction
    c_s, c_u = state.correction
    outliers = []
    for v, d_v, w, d_w in ((state.s, d_s, state.alpha, d_alpha), (state.xi, d_xi, state.u, d_u)):
        product = (v + step * d_v) * (w + step * d_w)
        outliers.append(np.minimum(product - np.clip(product, LOW * target, HIGH * target), HIGH * target))
    return _corrected(block, state, c_s + outliers[0] / state.alpha, c_u + outliers[1] / state.xi)


def move(block: Block, state: State, step: float, gamma: float) -> tuple[State, Measured]:
    """Go so far along the direction, and measure there. ``gamma``: after the step."""
    assert state.direction is not None
    d_alpha, d_u, d_xi, d_s, d_z = state.direction
    moved = State(
        state.alpha + step * d_alpha,
        state.u + step * d_u,
        state.xi + step * d_xi,
        state.s + step * d_s,
        state.z + step * d_z,
    )
    return measure(block, moved, gamma)
