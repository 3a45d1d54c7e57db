"""TOP: the alpha of a row that leaves goes to the few rows most similar to it (Lee, Keerthi, Ong & DeCoste 2004).

    for r in R:   t = argmax K(r, t),   y_t alpha_t += y_r alpha_r as far as 0 <= alpha_t <= C;   the rest to the next t

as Wen et al. 2017 describe it in their supplement. It was made for leave-one-out, where R is one row and T is empty.

Departs from the paper: in a chain the rows of T are among the candidates, and R may be a fold; its rows hand on one
after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled
from libsvmx._solvers.seeding.fold_change import hand_over

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


def seed(change: FoldChange) -> Buffer:
    """Each beta of R to the most similar rows of either class. Returns beta, float64, to be adjusted."""
    start = change.kept()
    candidates = change.shared(False)
    if len(change.entering):
        candidates = filled("i", [*candidates, *change.entering])
    hand_over(change, start, candidates)
    return start
