"""What an iteration of the interior-point method does with a block of rows (Jung, O'Leary & Tits 2008, section 3).

    min 1/2 |w|^2 + upper'xi   s.t.  Y(Xw - rho e - l) + xi - s = 0,  xi, s >= 0   multipliers alpha of s, u of xi

The paper writes gamma for rho and tau for upper; its l, the linear term of the dual in beta = Y alpha, is y: Y y = e.
Vectors over rows stay where the rows are, so a block may be in another process or on another machine; what is summed
over blocks has the length of w, or is the normal matrix. Each step takes a block and its iterate and returns another
iterate and a reply. Steps change nothing in place: a step whose block was lost can be done again.

Residuals (3.1)-(3.4) and, with r_sv and r_xiu the right-hand sides of complementarity (3.7)-(3.10),

    r_w = w - X'Y alpha,  r_alpha = y'alpha,  r_u = upper - alpha - u,  r_s = Y(Xw - rho e - l) + xi - s
    Omega = S/alpha + Xi/u,   rbar_u = r_u + r_xiu/xi,   r_Omega = r_s + r_sv/alpha - (xi/u) rbar_u
    d_alpha = -(r_Omega + Y(X dw - drho e)) / Omega                                                          (3.13)
    d_xi = -(xi/u)(rbar_u - d_alpha),  d_u = -(r_xiu + u d_xi)/xi,  d_s = -(r_sv + s d_alpha)/alpha      (3.14)-(3.16)

r_sv is written s alpha + c_s and r_xiu as xi u + c_u, with c = 0 for the predictor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx._core.records import replace
from libsvmx._core.stopping import NOBODY
from libsvmx._solvers.interior_point.constraint_reduction import RankedClass, quantile_sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._core.stopping import Asking
    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._typing import FloatArray


# Centrality correctors leave products s alpha and xi u alone that lie in [LOW, HIGH] times the mean wanted.
LOW, HIGH = 0.1, 10.0


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows of the problem: features, y = +1 or -1, upper > 0, the bound C of each row, and linear; shape (m,).

    ``linear``: y of C-SVC; of epsilon-SVR target - epsilon where y = 1, else target + epsilon, about 1 in size.
    ``asking``: is asked by steps that take long.
    """

    rows: FeatureRows
    y: FloatArray
    upper: FloatArray
    linear: FloatArray
    asking: Asking = NOBODY


@dataclass(frozen=True, slots=True)
class Iterate:
    """An iterate over the rows of a block, and what the next step needs of the iteration. All arrays have shape (m,).

    ``z`` = X w; ``inverse``: 1 / omega; ``keys``: rows of smallest key enter the normal matrix; ``correction``:
    (c_s / alpha, c_u / xi); ``direction``: d_alpha, d_u, d_xi, d_s, d_z.
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


class DataSums(NamedTuple):
    """Sums over rows that do not change: rows of +1 and of -1, |x|^2, upper bounds, stored entries of X."""

    class_sizes: tuple[int, int]
    squares: float
    upper: float
    entries: int

    @property
    def m(self) -> int:
        """Rows."""
        return sum(self.class_sizes)

    @property
    def mean_square(self) -> float:
        """Mean of |x|^2."""
        return self.squares / self.m

    @property
    def length(self) -> float:
        """|x|, the root of its mean square; 1 if that is 0."""
        return float(np.sqrt(self.mean_square)) or 1.0


class Residuals(NamedTuple):
    """Sums over the rows of a block.

    Attributes
    ----------
    complementarity : float         s'alpha + xi'u
    r_alpha : float                 y'alpha
    slack_loss, hinge_loss : float  upper'xi, and upper' max(0, y (linear - x'w + rho))
    inverse : float                 e'Omega^-1 e
    r_omega : float                 y'Omega^-1 r_Omega, of the predictor
    largest : ndarray, shape (2,)   maxima of |r_u| and |r_s|
    vectors : ndarray, shape (3, n)      X'Y alpha, ybar = X'Omega^-1 e, X'Y Omega^-1 r_Omega
    """

    complementarity: float
    r_alpha: float
    slack_loss: float
    hinge_loss: float
    inverse: float
    r_omega: float
    largest: NDArray[np.float64]
    vectors: FloatArray


class NormalSums(NamedTuple):
    """Sums over Q: x x' / omega (lower triangle), x / omega, 1 / omega; and |Q|."""

    outer: FloatArray
    ybar: FloatArray
    inverse: float
    rows: int


class RightHandSide(NamedTuple):
    """Sums over rows: y'Omega^-1 r_Omega and X'Y Omega^-1 r_Omega, shape (n,)."""

    r_omega: float
    vector: FloatArray


class RatioTest(NamedTuple):
    """``ratio``: max of -d/v over all variables, 1 / the longest step; the other two give mu after any step."""

    ratio: float
    linear: float
    quadratic: float


def begin(block: RowBlock, iterate: object) -> tuple[Iterate, DataSums]:
    """A start that is the same whatever the scale of C: w = 0, rho = 0, alpha = u = upper/2, xi = s = 2.

    The paper's alpha = u = 2 is this for upper = 4 in all rows; with alpha + u = upper, r_u is 0 from the start.
    """
    half, two = block.upper / 2, np.full(len(block.y), 2.0)
    positive = int(np.count_nonzero(block.y > 0))
    class_sizes = (positive, len(block.y) - positive)
    return (
        Iterate(half, half, two, two, np.zeros(len(block.y))),
        DataSums(class_sizes, block.rows.squares(), float(block.upper.sum()), block.rows.nnz),
    )


def add_data_sums(replies: list[DataSums]) -> DataSums:
    """The sums over the rows of several blocks."""
    class_sizes, squares, upper, entries = zip(*replies, strict=True)
    positive, negative = (sum(sizes) for sizes in zip(*class_sizes, strict=True))
    return DataSums((positive, negative), sum(squares), sum(upper), sum(entries))


def net(rows: FeatureRows, alpha: FloatArray) -> FloatArray:
    """alpha without what the two variables of a row have in common: it cancels, with a rounding of its own size."""
    if rows.unit == 1:
        return alpha
    pairs = alpha.reshape(-1, 2)
    less: FloatArray = (pairs - pairs.min(axis=1, keepdims=True)).reshape(-1)
    return less


def measure(block: RowBlock, iterate: Iterate, rho: float) -> tuple[Iterate, Residuals]:
    """Residuals, Omega^-1, and the right-hand side of the predictor."""
    y, alpha, u, xi, s = block.y, iterate.alpha, iterate.u, iterate.xi, iterate.s
    margin = iterate.z - rho
    margin -= block.linear
    margin *= y
    r_s = margin + xi
    r_s -= s
    r_u = block.upper - alpha
    r_u -= u
    inverse = s / alpha
    ratio = xi / u
    inverse += ratio
    np.reciprocal(inverse, out=inverse)
    r_omega = _predictor_r_omega(r_s, s, xi, ratio, r_u)
    r_omega *= inverse
    signed = y * r_omega
    reply = Residuals(
        float(s @ alpha + xi @ u),
        float(y @ alpha),
        float(block.upper @ xi),
        float(-(block.upper @ np.minimum(margin, 0.0))),
        float(inverse.sum()),
        float(signed.sum()),
        np.array([abs(r_u).max(), abs(r_s).max()]),
        block.rows.transposed(np.stack([y * alpha, inverse, signed])),
    )
    return replace(iterate, r_s=r_s, r_u=r_u, inverse=inverse, correction=None, direction=None, keys=None), reply


def _predictor_r_omega(
    r_s: FloatArray, s: FloatArray, xi: FloatArray, ratio: FloatArray, r_u: FloatArray
) -> FloatArray:
    """r_Omega of the predictor: r_s + s - (xi/u)(r_u + u)."""
    r_omega: FloatArray = ratio * r_u
    np.subtract(r_s, r_omega, out=r_omega)
    r_omega += s
    r_omega -= xi
    return r_omega


def rank_rows(
    block: RowBlock, iterate: Iterate, rule: str, least: float, near: float, draw: int | None
) -> tuple[Iterate, list[RankedClass]]:
    """Keys by which rows are chosen; replies q_L and a sketch of the keys for the classes +1 and -1.

    q_L counts the rows whose Omega^-1 is at least ``least``, theta sqrt(mu) of (3.20); with one-sided distances, those
    whose alpha/s is, or whose s is at most ``near``. ``draw``: random keys of this seed, for the first iteration.
    """
    assert iterate.inverse is not None and iterate.r_s is not None
    if rule == "omega":
        needed = iterate.inverse >= least
        keys = -iterate.inverse
    else:
        needed = (iterate.alpha >= least * iterate.s) | (iterate.s <= near)
        keys = iterate.r_s + iterate.s
    if draw is not None:
        keys = np.random.default_rng(draw).random(len(block.y))
    reply = [
        RankedClass(int(np.count_nonzero(needed & members)), quantile_sketch(keys[members]))
        for members in (block.y > 0, block.y <= 0)
    ]
    return replace(iterate, keys=keys), reply


def normal_sums(
    block: RowBlock, iterate: Iterate, thresholds: tuple[float, float] | None
) -> tuple[Iterate, NormalSums]:
    """The sums over the rows Q with keys up to ``thresholds`` (of +1, of -1; None: all rows)."""
    assert iterate.inverse is not None
    if thresholds is None:
        members = np.arange(len(block.y))
    else:
        assert iterate.keys is not None
        members = np.flatnonzero(iterate.keys <= np.where(block.y > 0, thresholds[0], thresholds[1]))
    weights = iterate.inverse if len(members) == len(block.y) else iterate.inverse[members]
    outer, ybar = block.rows.gram(members, weights, block.asking)
    return iterate, NormalSums(outer, ybar, float(weights.sum()), len(members))


def add_normal_sums(replies: list[NormalSums]) -> NormalSums:
    """The sums over the rows of several blocks."""
    first, *others = replies
    outer, ybar = first.outer, first.ybar
    for k, reply in enumerate(others):  # replies are not changed
        outer = np.add(outer, reply.outer, out=outer if k else None)
        ybar = ybar + reply.ybar
    return NormalSums(outer, ybar, sum(reply.inverse for reply in replies), sum(reply.rows for reply in replies))


def curvature(block: RowBlock, iterate: Iterate, v: FloatArray) -> tuple[Iterate, FloatArray]:
    """X'Omega^-1 X v over all rows, shape (n,)."""
    assert iterate.inverse is not None
    return iterate, block.rows.curvature(iterate.inverse, v)


def direct(block: RowBlock, iterate: Iterate, dw: FloatArray, drho: float) -> tuple[Iterate, RatioTest]:
    """The direction over the rows that belongs to (dw, drho): (3.13) to (3.16)."""
    assert iterate.inverse is not None and iterate.r_s is not None and iterate.r_u is not None
    alpha, u, xi, s, correction = iterate.alpha, iterate.u, iterate.xi, iterate.s, iterate.correction
    # r_sv / alpha and r_xiu / xi
    of_s, of_u = (s, u) if correction is None else (s + correction[0], u + correction[1])
    rbar_u = iterate.r_u + of_u
    ratio = xi / u
    d_z = block.rows.times(dw)
    d_alpha = block.y * (d_z - drho)
    d_alpha += iterate.r_s
    d_alpha += of_s
    d_alpha -= ratio * rbar_u
    d_alpha *= iterate.inverse
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
    reply = RatioTest(
        -min(float((d / v).min()) for v, d in pairs),
        float(s @ d_alpha + alpha @ d_s + xi @ d_u + u @ d_xi),
        float(d_s @ d_alpha + d_xi @ d_u),
    )
    return replace(iterate, direction=(d_alpha, d_u, d_xi, d_s, d_z)), reply


def correct(block: RowBlock, iterate: Iterate, sigma_mu: float) -> tuple[Iterate, RightHandSide]:
    """The right-hand side of the corrector, (3.9) and (3.10)."""
    assert iterate.direction is not None and iterate.inverse is not None
    assert iterate.r_s is not None and iterate.r_u is not None
    d_alpha, d_u, d_xi, d_s, _ = iterate.direction
    c_s = (d_s * d_alpha - sigma_mu) / iterate.alpha
    c_u = (d_xi * d_u - sigma_mu) / iterate.xi
    return _corrected(block, iterate, c_s, c_u)


def _corrected(block: RowBlock, iterate: Iterate, c_s: FloatArray, c_u: FloatArray) -> tuple[Iterate, RightHandSide]:
    """The right-hand side with c_s / alpha and c_u / xi."""
    assert iterate.inverse is not None and iterate.r_s is not None and iterate.r_u is not None
    ratio = iterate.xi / iterate.u
    r_omega = _predictor_r_omega(iterate.r_s, iterate.s, iterate.xi, ratio, iterate.r_u)
    r_omega += c_s
    r_omega -= ratio * c_u
    r_omega *= iterate.inverse
    r_omega *= block.y
    vector = block.rows.transposed(r_omega[None, :])[0]
    return replace(iterate, correction=(c_s, c_u), direction=None), RightHandSide(float(r_omega.sum()), vector)


def recentre(block: RowBlock, iterate: Iterate, step: float, target: float) -> tuple[Iterate, RightHandSide]:
    """The right-hand side that brings products far from ``target`` nearer to it (Gondzio 1996, section 3).

    A step of length ``step`` would lead to products v = s alpha and xi u, some of them far below or above the others.
    Those are to move to the interval [0.1, 10] target, by no more than 10 target.
    """
    assert iterate.direction is not None and iterate.correction is not None
    d_alpha, d_u, d_xi, d_s, _ = iterate.direction
    c_s, c_u = iterate.correction
    outliers = []
    for v, d_v, w, d_w in ((iterate.s, d_s, iterate.alpha, d_alpha), (iterate.xi, d_xi, iterate.u, d_u)):
        product = (v + step * d_v) * (w + step * d_w)
        outliers.append(np.minimum(product - np.clip(product, LOW * target, HIGH * target), HIGH * target))
    return _corrected(block, iterate, c_s + outliers[0] / iterate.alpha, c_u + outliers[1] / iterate.xi)


def move(block: RowBlock, iterate: Iterate, step: float, rho: float) -> tuple[Iterate, Residuals]:
    """Go so far along the direction, and measure there. ``rho``: after the step."""
    assert iterate.direction is not None
    d_alpha, d_u, d_xi, d_s, d_z = iterate.direction
    moved = Iterate(
        iterate.alpha + step * d_alpha,
        iterate.u + step * d_u,
        iterate.xi + step * d_xi,
        iterate.s + step * d_s,
        iterate.z + step * d_z,
    )
    return measure(block, moved, rho)
