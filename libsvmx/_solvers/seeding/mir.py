"""MIR, multiple instance replacement: alpha of T by least squares (Wen et al. 2017, eqs. 12-18, algorithm 2).

The alpha of S stay, those of R become 0. With V_i = -f_i (their f), level = -b and beta = y alpha, free of labels,

    sum_T K_it beta_t = V_i - level + sum_R K_ir beta_r    off the margin, to bring i there             (15)
    sum_T K_it beta_t = sum_R K_ir beta_r                  on the margin, to keep it there
    sum_T beta_t      = the new sum - sum_S beta_s         (16); in split problems one for each sign

are solved for beta_T by least squares (17, 18).

Departs from the paper:

* A row of T that V puts on the right side of the margin has beta_t = 0 and is no unknown. So a row of a regression,
  which has two variables, is one unknown at most, and its sign is known.
* Without such T, as in a star, the unknowns are the changes of the free rows of S, and the rows i are these alone:
  nothing says where rows off the margin should go.
* Rows i: the margin first, then T, then as many others of S, evenly spaced, as fit MOST_VALUES; the paper takes all
  rows of the fold before, so R, too, and not T.
  Unknowns: up to MOST_UNKNOWNS, those whose rows are farthest from their goal.
* The normal equations are solved by Cholesky; where they are singular to float64, by their pseudo-inverse, as in the
  paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.stopping import FLOPS, pieces
from libsvmx._solvers.seeding.margin import Margin, clipped, kernel_values, weighted_values

if TYPE_CHECKING:
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._solvers.seeding.margin import Array
    from libsvmx._typing import Buffer

# Unknowns: the normal equations then take 0.1 s.
MOST_UNKNOWNS = 1000
# Values K_it at a time: 32 MB.
MOST_VALUES = 1 << 22
# Squared ratio of pivots below which the normal equations count as singular: what a float64 can hold.
SINGULAR = 1e-13


@one_blas_thread()
def seed(change: FoldChange) -> Buffer:
    """The beta of R replaced by those of T, all at once. Returns beta, float64, to be adjusted."""
    start_ = change.kept()
    start, at = np.asarray(start_), Margin(change)
    unknown = at.violating(at.entering)
    star = not len(unknown)
    if star:
        unknown = at.free
    givers = at.leaving[at.beta[at.leaving] != 0]
    unknown = farthest(unknown, goals(change, at, givers, unknown), MOST_UNKNOWNS)
    if not len(unknown):
        return start_
    rows = at.free if star else with_others(at, unknown, MOST_VALUES // len(unknown))
    rows = rows[: MOST_VALUES // len(unknown)]
    values = kernel_values(change, at.row[unknown], at.row[rows]).T
    A, b = np.vstack([values, at.counted(unknown)]), np.append(goals(change, at, givers, rows), at.missing(start))
    solved = least_squares(A, b, change.control)
    start[unknown] = clipped(start[unknown] + solved, at.lower[unknown], at.upper[unknown])
    return start_


def goals(change: FoldChange, at: Margin, givers: Array, rows: Array) -> Array:
    """Right sides of (15): what sum_T K_it beta_t should be, for i of ``rows``."""
    gone = weighted_values(change, at.beta[givers], at.row[givers], at.row[rows])
    return np.asarray(np.where(np.isin(rows, at.free), 0.0, at.above(rows)) + gone)


def farthest(variables: Array, distance: Array, most: int) -> Array:
    """Up to ``most`` of the variables, those of largest |distance|."""
    if len(variables) <= most:
        return variables
    return np.sort(np.asarray(variables[np.argsort(-np.abs(distance), kind="stable")[:most]]))


def with_others(at: Margin, unknown: Array, room: int) -> Array:
    """Variables for the rows of the system: the margin, T, and others of S as there is room."""
    rows = np.append(at.free, unknown)
    others = at.bounded[~np.isin(at.row[at.bounded], at.row[rows])]
    room = max(room - len(rows), 0)
    if room < len(others):
        others = others[np.arange(room) * len(others) // max(room, 1)]
    return np.append(rows, others)


def least_squares(A: Array, b: Array, control: Control) -> Array:
    """x that minimises ||A x - b||, the smallest if there are several. Raises Stopped."""
    n = A.shape[1]
    normal = np.zeros((n, n))
    for begin, end in pieces(0, len(A), 2 * n * n):
        normal += A[begin:end].T @ A[begin:end]
        control.ask(2 * n * n * (end - begin) // FLOPS)
    factor, info = lapack.dpotrf(normal, lower=1)
    pivots = factor.diagonal()
    if info == 0 and pivots.min() ** 2 > SINGULAR * pivots.max() ** 2:
        return np.asarray(lapack.dpotrs(factor, A.T @ b, lower=1)[0])
    control.ask(n**3 // FLOPS)
    return smallest_solution(normal, A.T @ b)


def smallest_solution(normal: Array, right: Array) -> Array:
    """x = L (L'L)^-2 L' right, where the singular matrix ``normal`` is LL' with L of full rank: its pseudo-inverse."""
    factor, order, rank, _ = lapack.dpstrf(normal, tol=SINGULAR * normal.diagonal().max(), lower=1)
    L = np.tril(factor)[:, :rank]
    inner, info = lapack.dpotrf(L.T @ L, lower=1)
    x, order = np.zeros(len(right)), order - 1
    if info == 0:
        once = lapack.dpotrs(inner, L.T @ right[order], lower=1)[0]
        x[order] = L @ lapack.dpotrs(inner, once, lower=1)[0]
    return x
