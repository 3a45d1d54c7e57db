"""The report on one solve."""

from __future__ import annotations

from libsvmx._core.records import field, record
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@record(frozen=True, slots=True, kw_only=True)
class SolveReport:
    """Report on one dual problem solved. Reports that differ only in ``seconds`` are equal.

    Attributes
    ----------
    iterations : int
        Solver steps: of two variables in SMO and decompositions, of the interior-point method in crsvm; in the model of
        a state, the number of linear pieces of its last path.
    objective, rho : float
        Objective of the dual problem, and offset: decision value = sum of coef K minus rho.
    n_sv, n_bsv : int
        Number of support vectors, and of those at their bound.
    quantity : str or None
        Name of the equivalent parameter whose value is ``value`` : float: nu of C-SVC (None if classes differ in C) and
        of epsilon-SVR, C of nu-SVC, epsilon of nu-SVR; None in one-class.
    status : SolveStatus
        How the solve ended.
    rows_computed, values_computed : int
        Kernel rows and kernel values computed; of problems solved together, those that this one requested.
    gap : float
        KKT gap over all variables, in smo with kernel values in double where float may hide more than the tolerance;
        inf if a limit ended a nu formulation or one-class before the first step, with ``rho`` and ``objective`` 0.
    subproblems, fallbacks : int
        Number of working sets solved, and of those that least squares left to pair steps; 0 along LIBSVM's path.
    reach : float
        Largest coefficient during the steps of smo, relative to its bound; 1 if unknown. If it is less than 1, a cold
        start of smo takes the same steps at any C above ``reach`` times this one.
    chosen : str
        With solver auto, the solvers used in turn, such as 'smo, irwls' or 'smo, path'; with irwls and chunked,
        'irwls, path' if a path of exact optima finished the solve; else ''.
    seconds : float
        Wall time of the solve, with kernel rows, but without work shared by several solves, such as features and
        low-rank factors, and without the folds of probability estimates.
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


# Columns of SolveReports; has_value: whether there is a quantity.
NUMBERS = (
    *("iterations", "objective", "rho", "n_sv", "n_bsv", "value", "rows_computed", "values_computed"),
    *("gap", "reach", "seconds", "has_value"),
)
RHO = NUMBERS.index("rho")
WHOLE = frozenset({"iterations", "n_sv", "n_bsv", "rows_computed", "values_computed"})


class SolveReports:
    """SolveReports(numbers, quantity, chosen): like a tuple of reports of converged solves, each made on access, since
    there may be hundreds of thousands.

    Parameters
    ----------
    numbers : buffer of float64, shape (n * len(NUMBERS),)
    quantity : str or None         of the solves with a value
    chosen : str                   as in SolveReport
    """

    __slots__ = ("chosen", "numbers", "quantity")

    def __init__(self, numbers: Buffer, quantity: str | None, chosen: str) -> None:
        self.numbers, self.quantity, self.chosen = numbers, quantity, chosen

    def like(self, numbers: Buffer) -> SolveReports:
        """Other reports of the same training, from their numbers."""
        return SolveReports(numbers, self.quantity, self.chosen)

    @property
    def statuses(self) -> tuple[SolveStatus, ...]:
        return (SolveStatus.CONVERGED,) * len(self)

    @property
    def rhos(self) -> Buffer:
        """Buffer of float64, shape (n,)."""
        return memoryview(bytes(self.numbers[RHO :: len(NUMBERS)])).cast("d")

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
