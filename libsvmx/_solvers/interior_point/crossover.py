"""Crossover from an interior point to a vertex, where each alpha is 0, upper, or free.

At an interior point every alpha is above 0. At the optimum a row is at 0, at upper, or on the boundary plane of its
class; near it, alpha/upper against s and u/upper against xi tell which. Rows at a bound are fixed (the active set), the
free ones solve the equations of free_rows.py. A row that leaves its bounds is fixed there, one that violates the KKT
conditions is freed, and the equations are solved again.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from libsvmx._solvers.interior_point import vertex_steps
from libsvmx._solvers.interior_point.free_rows import solve_free_rows
from libsvmx._solvers.interior_point.row_blocks import RowBlocks
from libsvmx._typing import FloatArray

# Active-set rounds end after this many that have not halved the gap, at a gap this much larger than the least, or when
# one changes more rows than are free and more than FEW: the interior point was too far from the optimum.
STALL_ROUNDS = 6
GAP_GROWTH = 100.0
FEW = 20
# A vertex with a KKT gap up to this is an optimum; scores are about 1.
SHARP = 1e-8
# Tolerated violation relative to the range of scores (1, less if all C are small), its rounding, and the least range.
SLACK, ROUNDING, SMALLEST = 1e-10, 1e-14, 1e-12
# Steps from vertex to vertex, if rounds fail.
MAX_STEPS = 100
# Rows with a violation above this share of the largest are freed (many, or one); a gain of the objective by rounding.
MANY, ONE, TINY = 0.5, 1 - 1e-9, 1e-15


class VertexSolution(NamedTuple):
    """A vertex: w, rho, its KKT gap max_{I_up} V - min_{I_low} V, V = linear - X w, and 1/2 |w|^2 - linear'beta."""

    w: FloatArray
    rho: float
    gap: float
    objective: float
    n_free: int


class Candidate(NamedTuple):
    """A vertex, max_{I_up} V and min_{I_low} V, whether its y'alpha is 0, and the states of the row blocks.

    ``blocking``: masks of the free rows of each block that met a bound on the way to the solution of their equations;
    None if it was reached.
    """

    vertex: VertexSolution
    max_up: float
    min_low: float
    is_balanced: bool
    blocking: list[NDArray[np.bool_]] | None
    states: list[object]


def cross_over(
    blocks: RowBlocks, w: FloatArray, rho: float, mean_square: float, most_elements: int, thorough: bool = True
) -> VertexSolution | None:
    """Move ``blocks`` from an interior point to a vertex.

    Parameters
    ----------
    w, rho : ndarray of shape (n,), float      of the interior point
    mean_square : float      mean of |x|^2
    most_elements : int      limit for the free rows
    thorough : bool          if active-set rounds fail, go from vertex to vertex, which takes time

    Returns
    -------
    VertexSolution, the best vertex found, or None: too many free rows, or no vertex with y'alpha = 0

    Raises Stopped.
    """
    interior = blocks.states
    # if all C are small, scores within a class differ by this little; or not at all, w being rounding
    score_range = min(1.0, max(float(np.sqrt(mean_square * (w @ w))), SMALLEST))
    slack = max(SLACK * score_range, ROUNDING)
    best = None
    for measure in (1.0, score_range) if score_range < 0.1 else (1.0,):
        blocks.states = interior
        best = better(best, active_set_rounds(blocks, rho, mean_square, measure, slack, most_elements))
        if best is not None and best.vertex.gap <= 2 * slack:
            break
    if thorough and (best is None or best.vertex.gap > SHARP):
        blocks.states = interior
        best = better(best, vertex_descent(blocks, rho, mean_square, slack, most_elements))
    if best is None:
        return None
    blocks.states = best.states
    return best.vertex


def active_set_rounds(
    blocks: RowBlocks, rho: float, mean_square: float, score_range: float, slack: float, most_elements: int
) -> Candidate | None:
    """The best vertex of active-set rounds; ``blocks`` may end at another one."""
    best = None
    counts = blocks.run(vertex_steps.guess_active_set, score_range)
    least, idle = np.inf, 0
    while sum(counts) * blocks.n <= most_elements:
        found = solved_vertex(blocks, rho, mean_square, slack)
        if found is None:
            break
        best, gap, rho = better(best, found), found.vertex.gap, found.vertex.rho
        idle = 0 if gap < 0.5 * least else idle + 1
        least = min(least, max(gap, slack))
        if (found.is_balanced and gap <= 2 * slack) or idle >= STALL_ROUNDS or gap > GAP_GROWTH * least:
            break
        changed = sum(blocks.run(vertex_steps.update_active_set, found.vertex.w, rho, slack))
        if not 0 < changed <= max(FEW, sum(counts)):
            break
        counts = blocks.run(vertex_steps.count_free)
    return best


def vertex_descent(
    blocks: RowBlocks, rho: float, mean_square: float, slack: float, most_elements: int
) -> Candidate | None:
    """The end of a path through vertices of falling objective.

    It begins with the guessed active set, hardly worse than the interior point. Steps end at the first bound, and the
    blocking row is fixed; after a full step the rows with the largest violations are freed.
    """
    n_free = sum(blocks.run(vertex_steps.guess_active_set, 1.0))
    if n_free * blocks.n > most_elements:
        return None
    best = found = solved_vertex(blocks, rho, None, slack)
    if n_free > 2 * blocks.n + MAX_STEPS:  # a vertex has n + 1, except for ties
        return better(None, best)
    reached = np.inf
    for _ in range(MAX_STEPS):
        if found is None or not found.is_balanced or found.vertex.gap <= 2 * slack:
            break
        if found.blocking is not None:
            blocks.run(vertex_steps.fix_blocking, each=[(own,) for own in found.blocking])
        else:
            # some of many may block all: without a gain, free one at a time
            rho, objective = found.vertex.rho, found.vertex.objective
            share = MANY if objective < reached - TINY * abs(objective) else ONE
            reached = min(reached, objective)
            least = max(slack, share * max(found.max_up + rho, -(found.min_low + rho)))
            changed = sum(blocks.run(vertex_steps.update_active_set, found.vertex.w, rho, least))
            if found is not best and not changed:
                break
        if sum(blocks.run(vertex_steps.count_free)) * blocks.n > most_elements:
            break
        found = solved_vertex(blocks, found.vertex.rho, mean_square, slack, within=True)
        best = better(best, found)
    return best


def better(best: Candidate | None, found: Candidate | None) -> Candidate | None:
    """The better of the candidates with y'alpha = 0."""
    if found is None or not found.is_balanced or (best is not None and best.vertex.gap <= found.vertex.gap):
        return best
    return found


def solved_vertex(
    blocks: RowBlocks, rho: float, mean_square: float | None, slack: float, within: bool = False
) -> Candidate | None:
    """Solve for the free rows of ``blocks``; other arguments as in ``solve_free_rows``."""
    replies: list[vertex_steps.FreeRows] = blocks.run(vertex_steps.free_rows)
    solved = solve_free_rows(replies, rho, mean_square, within, blocks.asking)
    if solved is None:
        return None
    counts = [len(reply.y) for reply in replies]
    sides: list[vertex_steps.KktSides] = blocks.run(
        vertex_steps.set_free_rows, solved.w, each=[(own,) for own in split_by(solved.alpha, counts)]
    )
    max_up, min_low = max(side.max_up for side in sides), min(side.min_low for side in sides)
    missing = 0.0 if solved.is_balanced else solved.missing
    rho = solved.rho if solved.n_inside else rho_between(max_up, min_low, missing, slack)
    objective = float(solved.w @ solved.w) / 2 - solved.linear
    blocking = None if solved.blocking is None else split_by(solved.blocking, counts)
    vertex = VertexSolution(solved.w, rho, max_up - min_low, objective, solved.n_inside)
    return Candidate(vertex, max_up, min_low, solved.is_balanced, blocking, blocks.states)


def split_by(values: NDArray[Any], counts: list[int]) -> list[NDArray[Any]]:
    """``values`` split by the counts of the blocks."""
    ends = list(accumulate(counts))
    return [values[end - count : end] for end, count in zip(ends, counts, strict=True)]


def rho_between(max_up: float, min_low: float, missing: float, slack: float) -> float:
    """rho if every row is at a bound: the middle of max V over I_up and min V over I_low.

    If y'alpha lacks ``missing``: such that ``update_active_set`` frees the rows that can supply it at least cost.
    """
    if missing > 0 or np.isinf(min_low):
        return -(max_up - 2 * slack)
    if missing < 0 or np.isinf(max_up):
        return -(min_low + 2 * slack)
    return -(max_up + min_low) / 2
