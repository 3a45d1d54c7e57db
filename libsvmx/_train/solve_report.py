"""What is told of one solve."""

from __future__ import annotations

from libsvmx._core.buffers import filled
from libsvmx._core.records import field, record
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from libsvmx._typing import Buffer


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
        irwls' or 'smo, path'; of irwls and chunked 'irwls, path' where a path of exact optima went on; else ''
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


# What stands in the row of a solve in SolveReports; the last one is whether there is a quantity.
NUMBERS = (
    *("iterations", "objective", "rho", "n_sv", "n_bsv", "value", "rows_computed", "values_computed"),
    *("gap", "reach", "seconds", "has_value"),
)
WHOLE = frozenset({"iterations", "n_sv", "n_bsv", "rows_computed", "values_computed"})


class SolveReports:
    """SolveReports(numbers, quantity, chosen): a tuple of the reports of solves that have converged, but for that each
    is made when it is asked for; they may be hundreds of thousands.

    Parameters
    ----------
    numbers : buffer of float64, shape (n * len(NUMBERS),)
    quantity : str or None         of those that have one
    chosen : str                   as of SolveReport
    """

    __slots__ = ("chosen", "numbers", "quantity")

    def __init__(self, numbers: Buffer, quantity: str | None, chosen: str) -> None:
        self.numbers, self.quantity, self.chosen = numbers, quantity, chosen

    @property
    def statuses(self) -> tuple[SolveStatus, ...]:
        """Of each."""
        return (SolveStatus.CONVERGED,) * len(self)

    @property
    def rhos(self) -> Buffer:
        """Of each: buffer of float64, shape (n,)."""
        return filled("d", self.numbers[NUMBERS.index("rho") :: len(NUMBERS)])

    def __len__(self) -> int:
        return len(self.numbers) // len(NUMBERS)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self[k] for k in range(*at.indices(len(self))))
        k = range(len(self))[at]
        of: dict[str, Any] = dict(zip(NUMBERS, self.numbers[k * len(NUMBERS) : (k + 1) * len(NUMBERS)], strict=True))
        has_value = of.pop("has_value")
        whole = {name: int(of[name]) for name in WHOLE}
        quantity = self.quantity if has_value else None
        return SolveReport(**{**of, **whole}, quantity=quantity, status=SolveStatus.CONVERGED, chosen=self.chosen)

    def __iter__(self) -> Iterator[SolveReport]:
        return (self[k] for k in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, tuple | SolveReports) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __add__(self, other: Any) -> Any:
        return tuple(self) + tuple(other)

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)
