"""NEAR: TOP, but to free rows of S alone. It is ours, of no paper.

    for r in R:   t = argmax K(r, t) over free t of S,   y_t alpha_t += y_r alpha_r as far as 0 <= alpha_t <= C;   …

The scores of free rows are all on the margin, so what is handed to them violates little; and as there are few, few
kernel values tell which of them are near. In a queue of solves ``QueueStarts`` (_train/queue/tasks.pyx) does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.seeding.fold_change import hand_over

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


def seed(change: FoldChange) -> Buffer:
    """Each beta of R to the most similar free rows of S. Returns beta, float64, to be adjusted."""
    start = change.kept()
    hand_over(change, start, change.shared(True))
    return start
