"""What crossover does with a block of rows: steps over a vertex, where every alpha is 0, upper, or free.

As those of block_steps.py, steps change nothing in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from libsvmx._problem.dual import extremes
from libsvmx._solvers.interior_point.block_steps import net

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from libsvmx._solvers.interior_point.block_steps import Iterate, RowBlock
    from libsvmx._typing import FloatArray


@dataclass(frozen=True, slots=True)
class Vertex:
    """alpha over the rows of a block, and which of them are free; shape (m,)."""

    alpha: FloatArray
    free: NDArray[np.bool_]


class FreeRows(NamedTuple):
    """The free rows of a block, and what the fixed ones add to w, y'alpha, the sum of alpha and linear'beta."""

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
    """The two sides of the KKT gap, V = linear - X w: max V where beta = y alpha can grow, min V where it can fall."""

    max_up: float
    min_low: float


class SupportCounts(NamedTuple):
    """Of the rows of a block: sum of alpha, support vectors, and those at their bound."""

    alpha: float
    n_sv: int
    n_bsv: int


def guess_active_set(block: RowBlock, iterate: Iterate, score_range: float) -> tuple[Vertex, int]:
    """Fix the rows of an interior point that seem to be at a bound; replies how many are free.

    ``score_range``: what scores differ by, against which s and xi are measured.
    """
    far, alpha = block.upper / score_range, net(block.rows, iterate.alpha)
    at_zero = alpha < far * iterate.s
    at_upper = (iterate.u < far * iterate.xi) & ~(at_zero & (alpha < iterate.u))
    at_zero &= ~at_upper
    alpha = np.where(at_zero, 0.0, np.where(at_upper, block.upper, np.minimum(alpha, block.upper)))
    free = ~(at_zero | at_upper)
    return Vertex(alpha, free), int(np.count_nonzero(free))


def free_rows(block: RowBlock, vertex: Vertex) -> tuple[Vertex, FreeRows]:
    """The free rows themselves; there are few of them."""
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
    """Give the free rows their values; ``w`` is that of all rows."""
    new = vertex.alpha.copy()
    new[vertex.free] = alpha
    positive, below, above = block.y > 0, new < block.upper, new > 0
    can_grow, can_fall = np.where(positive, below, above), np.where(positive, above, below)
    return Vertex(new, vertex.free), KktSides(*extremes(block.linear - block.rows.times(w), can_grow, can_fall))


def update_active_set(block: RowBlock, vertex: Vertex, w: FloatArray, rho: float, slack: float) -> tuple[Vertex, int]:
    """Fix free rows that are at a bound, free fixed rows whose condition is violated; replies how many changed."""
    growth = block.y * (block.linear - block.rows.times(w) + rho)  # alpha has to grow where it is positive
    at_zero, at_upper = vertex.alpha <= 0, vertex.alpha >= block.upper
    free = ~(at_zero | at_upper) | (at_zero & (growth > slack)) | (at_upper & (growth < -slack))
    return Vertex(vertex.alpha, free), int(np.count_nonzero(free != vertex.free))


def fix_blocking(block: RowBlock, vertex: Vertex, blocking: NDArray[np.bool_]) -> tuple[Vertex, None]:
    """Fix those of the free rows that are ``blocking``."""
    free = vertex.free.copy()
    free[free] = ~blocking
    return Vertex(vertex.alpha, free), None


def count_free(block: RowBlock, vertex: Vertex) -> tuple[Vertex, int]:
    """Replies how many rows are free."""
    return vertex, int(np.count_nonzero(vertex.free))


def count_support(block: RowBlock, state: Vertex | Iterate) -> tuple[Vertex | Iterate, SupportCounts]:
    """What is reported of a solution."""
    alpha = state.alpha
    return state, SupportCounts(
        float(alpha.sum()), int(np.count_nonzero(alpha)), int(np.count_nonzero(alpha >= block.upper))
    )
