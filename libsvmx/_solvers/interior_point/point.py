"""Where the method stands: w, rho, and the residuals and sums over all rows that the next iteration needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from libsvmx._solvers.interior_point.block_steps import RightHandSide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libsvmx._solvers.interior_point.block_steps import DataSums, Residuals
    from libsvmx._typing import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point of the iteration.

    Attributes
    ----------
    w, rho : ndarray of shape (n,), float
    mu : float                       (s'alpha + xi'u) / 2m
    gap, objective : float           2 m mu / (1/2 |w|^2 + upper'xi); the primal objective of w and rho
    r_w, r_alpha : ndarray of shape (n,), float      (3.1), (3.2)
    r_u, r_s : float                 largest elements of (3.3) and (3.4)
    dual : float                     largest of |x| |r_w|, y'alpha / sum upper and r_u / mean upper
    inverse, ybar : float, ndarray of shape (n,)     e'Omega^-1 e and X'Omega^-1 e
    predictor : RightHandSide
    """

    w: FloatArray
    rho: float
    mu: float
    gap: float
    objective: float
    r_w: FloatArray
    r_alpha: float
    r_u: float
    r_s: float
    dual: float
    inverse: float
    ybar: FloatArray
    predictor: RightHandSide


def point_of(data: DataSums, w: FloatArray, rho: float, blocks: Sequence[Residuals]) -> Point:
    """The point at (w, rho) of the residuals of all blocks."""
    sums = [sum(column) for column in list(zip(*blocks, strict=True))[:6]]
    complementarity, r_alpha, slack_loss, hinge_loss, inverse, r_omega = sums
    r_u, r_s = map(float, np.max([block.largest for block in blocks], axis=0))
    from_alpha, ybar, vector = np.sum([block.vectors for block in blocks], axis=0)
    r_w = w - from_alpha
    norm = float(w @ w) / 2
    primal = max(norm + slack_loss, float(np.finfo(float).tiny))  # of extreme bounds all of it may underflow
    return Point(
        w,
        rho,
        mu=complementarity / (2 * data.m),
        gap=complementarity / primal,
        objective=float(norm + hinge_loss),
        r_w=r_w,
        r_alpha=r_alpha,
        r_u=r_u,
        r_s=r_s,
        dual=max(
            data.length * float(abs(r_w).max(initial=0.0)),
            abs(r_alpha) / data.upper,
            r_u * data.m / data.upper,
        ),
        inverse=inverse,
        ybar=ybar,
        predictor=RightHandSide(r_omega, vector),
    )
