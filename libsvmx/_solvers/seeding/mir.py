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
* Rows i: the margin first, then T, then as many others of S, evenly spaced, as fit memory and the work that the fold
  would take from nothing; the paper takes all rows of the fold before, so R, too, and not T.
  Unknowns: up to 1000, those whose rows are farthest from their goal.
* The normal equations are solved by Cholesky, which fold_change.pyx does for a queue of folds, too. An unknown that
  depends on others to float64 stays 0; the paper takes a pseudo-inverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.seeding.fold_change import start_by_replacement

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


def seed(change: FoldChange) -> Buffer:
    """The beta of R replaced by those of T, all at once. Returns beta, float64, to be adjusted. Raises Stopped."""
    return start_by_replacement(change)
