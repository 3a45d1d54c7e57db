"""What a training tells of itself while it runs. The train layer prints nothing."""

from __future__ import annotations

from libsvmx._core.enumerations import StrEnum
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libsvmx._core.process import Token
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._train.solve_report import SolveReport


class Remark(StrEnum):
    """Something the user should know; the first six are how a solve may end, as of SolveStatus."""

    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    ROUNDING = "rounding"
    UNBOUNDED = "unbounded"
    DEGENERATE = "degenerate"
    HARD_MARGIN = "hard margin"
    ONE_CLASS = "one class"
    WEIGHT_WITHOUT_CLASS = "weight without class"
    CLASS_DROPPED = "class dropped"
    NOT_SYMMETRIC = "not symmetric"
    OFFSET = "offset"
    FEW_DENSITY_VALUES = "few density values"
    FEW_ROWS_FOR_PROBABILITY = "few rows for probability"
    CLASS_SMALLER_THAN_FOLDS = "class smaller than folds"
    MORE_FOLDS_THAN_ROWS = "more folds than rows"
    PROBABILITY_DROPPED = "probability dropped"
    PROBABILITY_UNFINISHED = "probability unfinished"
    PAIRS_NOT_BEGUN = "pairs not begun"
    COUPLING_LIMIT = "coupling limit"
    LINE_SEARCH = "line search"
    NEWTON_LIMIT = "newton limit"
    MUCH_WORK = "much work"
    SOLVER = "solver"


class Observer:
    """Base class of observers, which are told of progress: its methods do nothing; override what you need.

    Attributes
    ----------
    limits : Token or None
        Limits of the observed call; for libsvmx itself.
    """

    limits: Token | None = None

    def mark(self, mark: str) -> None:
        """'.', '*' or 'few free', see libsvmx._solvers.control."""

    def should_stop(self) -> bool:
        """Asked several times a second; True ends the call with what it has, status 'interrupted'."""
        return False

    def solved(self, report: SolveReport) -> None:
        """A dual problem has been solved."""

    def solved_with_marks(self, marks: Sequence[str], report: SolveReport) -> None:
        """A dual problem has been solved while nobody was told: its marks, and then ``solved``. For libsvmx itself."""
        for mark in marks:
            self.mark(mark)
        self.solved(report)

    def counted(self, what: str, done: int, total: int) -> None:
        """So many of all folds of a cross-validation, rows of leave-one-out, ... are done; ``what``: 'fold', 'row'."""

    def solving(self, gap: float) -> None:
        """Told several times a second while a dual problem is solved that is the only one at the time: the KKT gap over
        the variables that are not shrunk. Not of crsvm, see ``iterated``."""

    def iterated(self, line: Iteration) -> None:
        """The interior-point solver begins an iteration, or ends; ``line`` is a libsvmx.Iteration."""

    def factorized(self, rank: int, trace_error: float, trace: float) -> None:
        """The kernel has been approximated: the trace of the kernel matrix, and what of it the factor leaves out."""

    def total_sv(self, n_sv: int) -> None:
        """A classifier is complete, with so many support vectors over all pairs."""

    def laplace_scale(self, sigma: float) -> None:
        """The noise scale of a regression with probability estimates."""

    def remark(self, kind: Remark, detail: str = "") -> None:
        """Something the user should know: ``detail`` names the class, the rows or the number it is about."""


def hears(observer: Observer, name: str) -> bool:
    """Whether an observer does anything when it is told: ``name`` is that of a method of Observer."""
    return getattr(getattr(observer, name), "__func__", None) is not getattr(Observer, name)


class Forwarding(Observer):
    """Forwarding(observer): tells another observer all that the subclass does not override."""

    passed_on: tuple[str, ...] = tuple(name for name in vars(Observer) if not name.startswith("_"))

    def __init_subclass__(cls) -> None:
        own = {name for name in Forwarding.passed_on if getattr(cls, name) is not getattr(Observer, name)}
        if own & {"mark", "solved"}:
            own.add("solved_with_marks")  # which goes by them
        cls.passed_on = tuple(name for name in Forwarding.passed_on if name not in own)

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        for name in self.passed_on:
            setattr(self, name, getattr(observer, name))
