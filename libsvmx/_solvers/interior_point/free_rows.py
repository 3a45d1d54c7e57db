"""alpha of the free rows F of a vertex, the others fixed at 0 or upper.

    w = w_fixed + A'beta,   A w - rho e = l_F,   e'beta = -(sum of the fixed y alpha),      A = X_F, beta = Y alpha_F

(l: linear terms), nearest to the present values: proximal steps, each a linear system of size min(n, |F|).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.dense import cholesky, product, solve_cholesky
from libsvmx._core.stopping import NOBODY, Token
from libsvmx._solvers.dual import first_bound
from libsvmx._solvers.interior_point.vertex_steps import FreeRows
from libsvmx._typing import FloatArray

# Proximal weight relative to the mean of diag(A A'), largest number of steps, and the residual that ends them.
PROXIMAL = 1e-9
MAX_STEPS = 30
EXACT = 1e-13
# |y'alpha| relative to the sum of alpha: rounding; and what can be distributed over the free rows, at large C.
BALANCED, NEARLY = 1e-13, 1e-9


class FreeSolution(NamedTuple):
    """Values of the free rows.

    Attributes
    ----------
    w, rho : ndarray of shape (n,), float
    alpha : ndarray, shape (|F|,)        within the bounds
    missing, total : float     minus y'alpha, and the sum of alpha, over all rows
    linear : float             linear'beta over all rows
    n_inside : int             free rows strictly inside their bounds
    blocking : ndarray of bool, shape (|F|,), or None       rows that end the way at a bound; None: none does
    """

    w: FloatArray
    rho: float
    alpha: FloatArray
    missing: float
    total: float
    linear: float
    n_inside: int
    blocking: NDArray[np.bool_] | None

    @property
    def is_balanced(self) -> bool:
        """Whether y'alpha is 0."""
        return abs(self.missing) <= BALANCED * self.total


def solve_free_rows(
    blocks: Sequence[FreeRows],
    rho: float,
    mean_square: float | None,
    within: bool = False,
    asking: Token = NOBODY,
) -> FreeSolution | None:
    """The solution nearest to the present values; None if the system cannot be solved.

    Parameters
    ----------
    mean_square : float or None      mean of |x|^2; None: keep the present values
    within : bool                    stop at the first bound on the way; else clip
    """
    A, y, linear, alpha, upper = (joined(blocks, name) for name in ("rows", "y", "linear", "alpha", "upper"))
    w_fixed = blocks[0].w_fixed if len(blocks) == 1 else np.sum([block.w_fixed for block in blocks], axis=0)
    fixed = sum(block.y_alpha_fixed for block in blocks)
    blocking = None
    if len(A) and mean_square is not None:
        solved = proximal_steps(A, linear, y * alpha, rho, (w_fixed, fixed, float(upper.sum())), mean_square, asking)
        if solved is None:
            return None
        beta, rho = solved
        target = y * beta
        if within:
            alpha, at_bound = first_bound(alpha, target, 0.0, upper)
            blocking = at_bound if at_bound.any() else None
        else:
            alpha = np.clip(target, 0.0, upper)
    missing = -(fixed + float(y @ alpha))
    total = sum(block.alpha_fixed for block in blocks) + float(alpha.sum())
    if abs(missing) > BALANCED * total and (mean_square is None or abs(missing) <= NEARLY * total):
        alpha = restore_balance(alpha, y, upper, fixed)
        missing = -(fixed + float(y @ alpha))
        total = sum(block.alpha_fixed for block in blocks) + float(alpha.sum())
    n_inside = int(np.count_nonzero((alpha > 0) & (alpha < upper)))
    beta = y * alpha
    gain = sum(block.linear_fixed for block in blocks) + float(linear @ beta)
    return FreeSolution(w_fixed + A.T @ beta, rho, alpha, missing, total, gain, n_inside, blocking)


def joined(blocks: Sequence[FreeRows], name: str) -> FloatArray:
    """A field of the free rows of all blocks."""
    values: list[FloatArray] = [getattr(block, name) for block in blocks]
    return values[0] if len(values) == 1 else np.concatenate(values)


def restore_balance(alpha: FloatArray, y: FloatArray, upper: FloatArray, fixed: float) -> FloatArray:
    """Move each alpha in proportion to its distance from its bound until y'alpha = -fixed, as far as possible."""
    for _ in range(2):
        missing = -(fixed + float(y @ alpha))
        inside = (alpha > 0) & (alpha < upper)
        room = np.where(y * missing > 0, upper - alpha, alpha)
        own = np.where(inside, room, 0.0)
        if own.sum() < abs(missing):
            own = room
        if missing == 0 or not own.any():
            break
        share = min(1.0, abs(missing) / float(own.sum()))
        alpha = np.clip(alpha + y * np.sign(missing) * share * own, 0.0, upper)
    return alpha


def proximal_steps(
    A: FloatArray,
    linear: FloatArray,
    beta: FloatArray,
    rho: float,
    fixed: tuple[FloatArray, float, float],
    mean_square: float,
    asking: Token,
) -> tuple[FloatArray, float] | None:
    """beta and rho of the free rows, ignoring bounds.

    ``fixed``: contributions of the other rows to w and to the sum of beta, and the sum of upper of the free ones.
    """
    w_fixed, beta_fixed, upper = fixed
    epsilon = PROXIMAL * max(float(np.vdot(A, A)) / len(A), mean_square, 1e-300)
    total = A.sum(axis=0)
    if A.shape[1] < len(A):
        matrix = (product(A.T, A, asking) - np.outer(total, total) / len(A)) / epsilon
        matrix.flat[:: len(matrix) + 1] += 1.0
    else:
        matrix = product(A, A.T, asking)
        matrix.flat[:: len(matrix) + 1] += epsilon
    factor, info = cholesky(matrix, 1, asking)
    if info:
        return None
    before = np.inf
    for _ in range(MAX_STEPS):
        w = w_fixed + A.T @ beta
        residual = linear - A @ w + rho
        missing = -(beta_fixed + float(beta.sum()))
        error = max(float(abs(residual).max()), abs(missing) / upper)
        if error <= EXACT or error > 0.5 * before:
            break
        before = error
        if len(matrix) == len(A):  # (A A' + eps I) d_beta = residual + drho e, e'd_beta = missing
            sides = solve_cholesky(factor, np.stack([residual, np.ones(len(A))], axis=1), 1, asking)
            drho = (missing - sides[:, 0].sum()) / sides[:, 1].sum()
            d_beta = sides[:, 0] + drho * sides[:, 1]
        else:  # (I + A'A/eps - h h'/(eps |F|)) dw = (A'residual + h (eps missing - e'residual) / |F|) / eps, h = A'e
            excess = (epsilon * missing - float(residual.sum())) / len(A)
            dw = solve_cholesky(factor, (A.T @ residual + total * excess) / epsilon, 1, asking)
            drho = excess + float(total @ dw) / len(A)
            d_beta = (residual - A @ dw + drho) / epsilon
        asking.ask(4 * A.size)
        beta = beta + d_beta
        rho += float(drho)
    return beta, rho
