"""The folds of a problem, of one dual or of many: what cross-validation and leave-one-out ask of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from libsvmx._train.validation.fold_report import FoldReport, fold_report
from libsvmx._train.validation.fold_start import WarmStart

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.validation.dual_folds import SolvedFold
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._typing import Buffer

# Optima of one fold by pair of classes; of a single dual as that of (0, 0).
WarmStarts = dict[tuple[int, int], WarmStart]


class ProblemFolds(ABC):
    """SingleFolds has one DualFolds, PairFolds one for each pair of classes. All rows count.

    What solves or predicts raises Stopped where the call has to come to an end.

    Attributes
    ----------
    param : Parameter
    labels : list of int, or None       the classes whose pairs decision values are of
    """

    param: Parameter
    labels: list[int] | None

    @abstractmethod
    def of_thread(self, at_once: int) -> Self:
        """The same folds, for a thread that is one of so many: kernel rows, which share the memory, and ``last`` are
        its own."""

    def of_threads(self, threads: int, n: int) -> list[Self]:
        """Those of so many threads that do n solves: itself if there is but one."""
        at_once = min(threads, n)
        return [self.of_thread(at_once) for _ in range(at_once)] if at_once > 1 else [self]

    @abstractmethod
    def begin(self, observer: Observer) -> None:
        """A part of the work that depends on none before it, and whom to tell of it."""

    @abstractmethod
    def train_full(self) -> FoldReport:
        """The optimum over all rows."""

    @abstractmethod
    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding, warm: WarmStarts) -> FoldReport:
        """The fold without ``held_out``; ``rest`` are the other rows in the order of the folds, ``warm`` the fold's
        optima at a smaller C, if there are any."""

    @abstractmethod
    def for_larger_C(self) -> WarmStarts:
        """What the last fold leaves for the same fold at a larger C."""

    @abstractmethod
    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer | None]:
        """Predictions and, if they are wanted, decision values of the rows held out of the last fold."""

    @abstractmethod
    def full_values(self) -> Buffer:
        """Decision values of all rows by the training over all of them, in the order of the pairs."""

    @abstractmethod
    def model_of(self, rest: Buffer, full: bool = False) -> Model:
        """The model of the last fold, whose rows are ``rest`` in the order of the folds, or of the training over all
        rows; of a classification the order decides equal votes."""

    @abstractmethod
    def rho_widths(self) -> list[float]:
        """For each dual, the width of the interval in which rho may lie, in its last fold or, wider, over all rows."""

    @abstractmethod
    def is_unused(self, row: int) -> bool:
        """Whether the training over all rows gave the row no coefficient."""

    @abstractmethod
    def leave_out(self, row: int, seeding: Seeding) -> tuple[FoldReport, dict[int, float]]:
        """The fold without one row, and what it changes of the row's decision values, by their number; nan where its
        class is gone."""

    @abstractmethod
    def prediction(self, row: int, values: Buffer, order: list[int]) -> float:
        """What decision values say of a row; ``order``: the classes, of which the first wins equal votes."""


def joined(solved: Sequence[SolvedFold]) -> FoldReport:
    """One fold of these duals."""
    return fold_report(
        [one.report for one in solved],
        seeder=next((one.seeder for one in solved if one.seeder != "none"), "none"),
        seeding_seconds=sum(one.seeding_seconds for one in solved),
        solving_seconds=sum(one.solving_seconds for one in solved),
    )
