"""What is told of one solve."""

from __future__ import annotations

from libsvmx._core.records import field, record
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libsvmx.enums import SolveStatus


@record(frozen=True, slots=True, kw_only=True)
class SolveReport:
    """One solved dual problem. Reports that differ in ``seconds`` alone are equal.

    Attributes
    ----------
    iterations : int           steps of the solver: of two variables in SMO and decompositions, of the interior-point
        method in crsvm; in the model of a state the straight lines of its last path
    objective, rho : float     of the dual problem; decision value = sum of coef K minus rho
    n_sv, n_bsv : int          rows with a coefficient, and those at their bound
    quantity : str or None     what the formulation yields, and ``value`` : float how much: nu of C-SVC (None when the
        classes differ in C) and of epsilon-SVR, C of nu-SVC, epsilon of nu-SVR, nothing of one-class
    status : SolveStatus       how it ended
    rows_computed, values_computed : int      kernel rows, and all kernel values; of problems that are solved
        at once, those that this one has asked for
    gap : float                KKT gap over all variables, of smo with kernel values in double where those in float may
        hide more than the tolerance; inf where a limit came before the first step of a nu
        formulation or one-class, in which case ``rho`` and ``objective`` are not known either, and 0
    subproblems, fallbacks : int              working sets that were solved, and how often least squares left one to
        pair steps; both are 0 along LIBSVM's path
    reach : float              the largest share of its bound, such as C, to which steps of smo have moved a
        coefficient; 1 where it is not known. Where it is less, smo takes the same steps from nothing at any C above
        ``reach`` times this one
    chosen : str               by solver auto: the solvers that have worked on it one after the other, such as 'smo,
        irwls'; of irwls and chunked 'irwls, path' where a path of exact optima went on; else ''
    seconds : float            wall time of the solve, kernel rows included; what several solves share, such as
        features and low-rank factors, and the folds of probability estimates are not in it
    """

    iterations: int
    objective: float
    rho: float
    n_sv: int
    n_bsv: int
    quantity: str | None = None
    value: float = 0.0
    status: SolveStatus
    rows_computed: int = 0
    values_computed: int = 0
    gap: float
    subproblems: int = 0
    fallbacks: int = 0
    reach: float = 1.0
    chosen: str = ""
    seconds: float = field(default=0.0, compare=False)
