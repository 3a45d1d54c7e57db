"""Progress of a training. This layer prints nothing; it tells an Observer."""

from __future__ import annotations

from libsvmx._core.enumerations import StrEnum
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libsvmx._core.stopping import Token
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._train.solve_report import SolveReport


class Remark(StrEnum):
    """A remark for the user; the first six are ends of solves, as in SolveStatus."""

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
        """'.', '*' or 'few free', see libsvmx._core.stopping."""

    def should_stop(self) -> bool:
        """Asked several times a second; True ends the call with what it has, status 'interrupted'."""
        return False

    def solved(self, report: SolveReport) -> None:
        """A dual problem has been solved."""

    def solved_with_marks(self, marks: Sequence[str], report: SolveReport) -> None:
        """A dual problem has been solved unobserved: its marks, and then ``solved``. For libsvmx itself."""
        for mark in marks:
            self.mark(mark)
        self.solved(report)

    def counted(self, what: str, done: int, total: int) -> None:
        """``done`` of ``total`` folds of a cross-validation, rows of leave-one-out, ... are done; ``what``: 'fold',
        'row'."""

    def solving(self, gap: float) -> None:
        """Called several times a second with the KKT gap over the unshrunk variables, during a solve that is the only
        one at the time; not in crsvm, see ``iterated``."""

    def iterated(self, line: Iteration) -> None:
        """The interior-point solver begins an iteration, or ends; ``line`` is a libsvmx.Iteration."""

    def factorized(self, rank: int, trace_error: float, trace: float) -> None:
        """The kernel has been approximated: trace of the kernel matrix, and of the part that the factor leaves out."""

    def total_sv(self, n_sv: int) -> None:
        """A classifier is complete: number of support vectors over all pairs."""

    def laplace_scale(self, sigma: float) -> None:
        """The noise scale of a regression with probability estimates."""

    def remark(self, kind: Remark, detail: str = "") -> None:
        """A remark; ``detail`` names the class, the rows or the number."""


def hears(observer: Observer, name: str) -> bool:
    """Whether an observer overrides the method ``name``."""
    return getattr(getattr(observer, name), "__func__", None) is not getattr(Observer, name)


class Forwarding(Observer):
    """Forwarding(observer): passes on everything that the subclass does not override."""

    passed_on: tuple[str, ...] = tuple(name for name in vars(Observer) if not name.startswith("_"))

    def __init_subclass__(cls) -> None:
        own = {name for name in Forwarding.passed_on if getattr(cls, name) is not getattr(Observer, name)}
        if own & {"mark", "solved"}:
            own.add("solved_with_marks")  # it calls these two
        cls.passed_on = tuple(name for name in Forwarding.passed_on if name not in own)

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.__dict__.update({name: getattr(observer, name) for name in self.passed_on})
