"""AVG: what leaves is spread evenly over the free rows (DeCoste & Wagstaff 2000).

    y_j alpha_j += sum_R y_r alpha_r / d    for the d rows j of S with 0 < alpha_j < C

and what one of them has no room for goes evenly to the others, as Wen et al. 2017 describe it in their supplement. That
is the shift by which ``adjust`` makes starts feasible, here over the free rows of S.

Departs from the paper: R may be a fold, not one row. What is spread is what the sum of the new fold lacks, which in the
nu formulations, where it depends on the number of rows, is less than what has left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.seeding.fold_change import equalise

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


def seed(change: FoldChange) -> Buffer:
    """The beta of R evenly over the free rows of S. Returns beta, float64, to be adjusted."""
    start = change.kept()
    equalise(change, start, change.shared(True))
    return start
