"""ATO, adjusting alpha towards its optimum (Wen et al. 2017, eqs. 4-11, algorithm 1; Karasuyama & Takeuchi 2009).

With eta from 0 to 1 the beta of R fall to 0, those of T that violate optimality move to their bounds, and the variables
on the margin M answer such that their V stays at its level and the sums reach those of the new fold. Per unit of eta,

    d beta_R = -beta_R,   d beta_T = their bound,   W = K_:T d beta_T + K_:R d beta_R                           (7)
    [0   E   ] [d level ]   [what the sums lack - sums of d beta_T and d beta_R]
    [E'  K_MM] [d beta_M] = [-W_M                                              ]                                (8-10)
    dV = -K_:M d beta_M - W                                                                                     (11)

where E has a row for each sum, with 1 for the variables that count in it. A straight line ends at a breakpoint: where a
variable of M meets a bound, where one at its bound or in T meets the level, or at eta = 1, where R is empty. The path
itself, which a queue of folds follows, too, is in ato_path.pyx.

Departs from the paper:

* The level (the paper's -b) moves, as in Karasuyama & Takeuchi's (7). The paper keeps f on the margin as it is (9), so
  its matrix (10) has one row more than columns, and in general only a pseudo-inverse.
* The paper's path has no limits. Here M and its kernel values have limits, and the path may take less work than the
  solver would without it (ato_path.pyx): the first fold that is seeded, and later ones while paths do not pay, start
  as SIR has it. Where a path meets a limit, the rest of R goes at once, M answers as if no bound were in its way, and
  ``adjust`` repairs what is not feasible.
* Rows far from their level take part in the first line and the last values alone. Those that a path has passed, and
  those that the solver left violating up to its tolerance, are brought in by further paths, on which they alone move.
* V of the margin goes to its level meanwhile, where the paper leaves it as the solver had it, equal to its tolerance.
* A ridge on K_MM (as Karasuyama & Takeuchi have it) keeps rows that come twice from making it singular. The paper
  inverts it as it is, or takes a pseudo-inverse.
* A variable of M that meets its bound ends a line, too; the paper takes the step from rows off the margin alone.
* Where no variable of a group is on the margin, which the paper leaves open, the level moves to the first variable that
  can take what the sum lacks.
* The paper's eta is the share of what is left, ours counts from the beginning: the lines are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.seeding import sir
from libsvmx._solvers.seeding.ato_path import start_along_path

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


def seed(change: FoldChange) -> Buffer:
    """The end of the path from the known optimum, or as far as its limits allow; the start of SIR where there is none.
    Returns beta, to be adjusted.

    Raises
    ------
    Stopped
    """
    return start_along_path(change) or sir.seed(change)
