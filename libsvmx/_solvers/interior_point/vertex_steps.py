"""Steps of crossover over a block of rows, at a vertex, where every alpha is 0, upper, or free.

As in block_steps.pyx, steps change nothing in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from libsvmx._solvers.dual import extremes
from libsvmx._solvers.interior_point.block_steps import Iterate, RowBlock, net
from libsvmx._typing import FloatArray


@dataclass(frozen=True, slots=True)
class Vertex:
    """alpha over the rows of a block, and the mask of free rows; shape (m,)."""

    alpha: FloatArray
    free: NDArray[np.bool_]


class FreeRows(NamedTuple):
    """The free rows of a block, and the fixed ones' parts of w, y'alpha, the sum of alpha and linear'beta."""

    w_fixed: FloatArray
    y_alpha_fixed: float
    alpha_fixed: float
    linear_fixed: float
    rows: FloatArray
    y: FloatArray
    linear: FloatArray
    alpha: FloatArray
    upper: FloatArray


class KktSides(NamedTuple):
    """The sides of the KKT gap, V = linear - X w: max of V over I_up, min of V over I_low."""

    max_up: float
    min_low: float


class SupportCounts(NamedTuple):
    """For the rows of a block: sum of alpha, number of support vectors, and of those at upper."""

    alpha: float
    n_sv: int
    n_bsv: int


def guess_active_set(block: RowBlock, iterate: Iterate, score_range: float) -> tuple[Vertex, int]:
    """Fix the rows of an interior point that seem to be at a bound; replies the number of free ones.

    ``score_range``: range of the scores, the scale of s and xi.
    """
    far, alpha = block.upper / score_range, net(block.rows, iterate.alpha)
    at_zero = alpha < far * iterate.s
    at_upper = (iterate.u < far * iterate.xi) & ~(at_zero & (alpha < iterate.u))
    at_zero &= ~at_upper
    alpha = np.where(at_zero, 0.0, np.where(at_upper, block.upper, np.minimum(alpha, block.upper)))
    free = ~(at_zero | at_upper)
    return Vertex(alpha, free), int(np.count_nonzero(free))


def free_rows(block: RowBlock, vertex: Vertex) -> tuple[Vertex, FreeRows]:
    """Replies the free rows, which are few."""
    members = np.flatnonzero(vertex.free)
    fixed = np.where(vertex.free, 0.0, block.y * vertex.alpha)
    return vertex, FreeRows(
        block.rows.transposed(fixed[None, :])[0],
        float(fixed.sum()),
        float(abs(fixed).sum()),
        float(block.linear @ fixed),
        block.rows.take(members),
        block.y[members],
        block.linear[members],
        vertex.alpha[members],
        block.upper[members],
    )


def set_free_rows(block: RowBlock, vertex: Vertex, w: FloatArray, alpha: FloatArray) -> tuple[Vertex, KktSides]:
    """Set ``alpha`` of the free rows; ``w``: of all rows."""
    new = vertex.alpha.copy()
    new[vertex.free] = alpha
    positive, below, above = block.y > 0, new < block.upper, new > 0
    can_grow, can_fall = np.where(positive, below, above), np.where(positive, above, below)
    return Vertex(new, vertex.free), KktSides(*extremes(block.linear - block.rows.times(w), can_grow, can_fall))


def update_active_set(block: RowBlock, vertex: Vertex, w: FloatArray, rho: float, slack: float) -> tuple[Vertex, int]:
    """Fix free rows at a bound, free fixed rows that violate optimality; replies the number of changes."""
    growth = block.y * (block.linear - block.rows.times(w) + rho)  # > 0: alpha has to grow
    at_zero, at_upper = vertex.alpha <= 0, vertex.alpha >= block.upper
    free = ~(at_zero | at_upper) | (at_zero & (growth > slack)) | (at_upper & (growth < -slack))
    return Vertex(vertex.alpha, free), int(np.count_nonzero(free != vertex.free))


def fix_blocking(block: RowBlock, vertex: Vertex, blocking: NDArray[np.bool_]) -> tuple[Vertex, None]:
    """Fix the ``blocking`` free rows (mask)."""
    free = vertex.free.copy()
    free[free] = ~blocking
    return Vertex(vertex.alpha, free), None


def count_free(block: RowBlock, vertex: Vertex) -> tuple[Vertex, int]:
    """Replies the number of free rows."""
    return vertex, int(np.count_nonzero(vertex.free))


def count_support(block: RowBlock, state: Vertex | Iterate) -> tuple[Vertex | Iterate, SupportCounts]:
    alpha = state.alpha
    return state, SupportCounts(
        float(alpha.sum()), int(np.count_nonzero(alpha)), int(np.count_nonzero(alpha >= block.upper))
    )
