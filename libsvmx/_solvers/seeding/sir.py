"""SIR, single instance replacement: each row that leaves is replaced by the most similar that enters.

    for r in R with alpha_r > 0:   q = argmax K(r, t) over unused t in T with y_t = y_r,   alpha_q = alpha_r

Replacing r by q moves the score of each row i by alpha_r y_r (K_ir - K_iq), which is small where q is like r
(Wen et al. 2017, eqs. 19-21, algorithm 3 of the supplement).

Departs from the paper:

* Algorithm 3 goes over all of R: a row with alpha = 0, which has nothing to hand over, takes a row of T away, too.
* Where T has no unused row of the class of r, the paper's text takes a random one of T (its algorithm 3 none). Here
  alpha_r is left to ``adjust``, so that a cross-validation gives the same figures each time.
* Kernel values may be 0 or less: the largest counts, where algorithm 3 takes positive ones only.
* In a star T is empty: alpha_r then goes to the most similar rows of S of the class of r, as far as there is room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsvmx._solvers.seeding.fold_change import hand_over

if TYPE_CHECKING:
    from libsvmx._solvers.seeding.fold_change import FoldChange
    from libsvmx._typing import Buffer


def seed(change: FoldChange) -> Buffer:
    """Each beta of R to the most similar row of its class. Returns beta, float64, to be adjusted."""
    start = change.kept()
    if len(change.entering):
        hand_over(change, start, change.entering, same_class=True, once=True)
    else:
        hand_over(change, start, change.shared(False), same_class=True)
    return start
