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
from libsvmx._solvers.interior_point.row_passes import RowsAt, moved

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
    at = _rows_at(block, iterate)
    sides, signed_alpha, hinge, largest = at.residuals(rho, iterate.z, block.upper, block.linear)
    r_s, r_u, inverse = sides
    signed = at.right_side(sides, None)
    reply = Residuals(
        float(iterate.s @ iterate.alpha + iterate.xi @ iterate.u),
        float(signed_alpha.sum()),
        float(block.upper @ iterate.xi),
        float(block.upper @ hinge),
        float(inverse.sum()),
        float(signed.sum()),
        np.array(largest),
        block.rows.transposed(np.stack([signed_alpha, inverse, signed])),
    )
    return replace(iterate, r_s=r_s, r_u=r_u, inverse=inverse, correction=None, direction=None, keys=None), reply


def _rows_at(block: RowBlock, iterate: Iterate) -> RowsAt:
    return RowsAt(block.y, iterate.alpha, iterate.u, iterate.xi, iterate.s)


def _sides(iterate: Iterate) -> tuple[FloatArray, FloatArray, FloatArray]:
    assert iterate.r_s is not None and iterate.r_u is not None and iterate.inverse is not None
    return iterate.r_s, iterate.r_u, iterate.inverse


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
    d_z = block.rows.times(dw)
    direction, ratio = _rows_at(block, iterate).direction(_sides(iterate), iterate.correction, drho, d_z)
    d_alpha, d_u, d_xi, d_s = direction
    reply = RatioTest(
        ratio,
        float(iterate.s @ d_alpha + iterate.alpha @ d_s + iterate.xi @ d_u + iterate.u @ d_xi),
        float(d_s @ d_alpha + d_xi @ d_u),
    )
    return replace(iterate, direction=(*direction, d_z)), reply


def correct(block: RowBlock, iterate: Iterate, sigma_mu: float) -> tuple[Iterate, RightHandSide]:
    """The right-hand side of the corrector, (3.9) and (3.10)."""
    assert iterate.direction is not None
    return _corrected(block, iterate, _rows_at(block, iterate).corrector(iterate.direction[:4], sigma_mu))


def _corrected(
    block: RowBlock, iterate: Iterate, correction: tuple[FloatArray, FloatArray]
) -> tuple[Iterate, RightHandSide]:
    """The right-hand side with c_s / alpha and c_u / xi."""
    signed = _rows_at(block, iterate).right_side(_sides(iterate), correction)
    reply = RightHandSide(float(signed.sum()), block.rows.transposed(signed[None, :])[0])
    return replace(iterate, correction=correction, direction=None), reply


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
    return _corrected(block, iterate, (c_s + outliers[0] / iterate.alpha, c_u + outliers[1] / iterate.xi))


def move(block: RowBlock, iterate: Iterate, step: float, rho: float) -> tuple[Iterate, Residuals]:
    """Go so far along the direction, and measure there. ``rho``: after the step."""
    assert iterate.direction is not None
    here = (iterate.alpha, iterate.u, iterate.xi, iterate.s, iterate.z)
    alpha, u, xi, s, z = (moved(v, step, d) for v, d in zip(here, iterate.direction, strict=True))
    return measure(block, Iterate(alpha, u, xi, s, z), rho)
