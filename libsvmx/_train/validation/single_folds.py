"""The folds of a one-class SVM or a regression: those of one dual."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._train.assembly import assemble_single
from libsvmx._train.validation.dual_folds import DualFolds
from libsvmx._train.validation.problem_folds import ProblemFolds, WarmStarts, joined

if TYPE_CHECKING:
    from typing import Self

    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.validation.fold_report import FoldReport
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._typing import Buffer


class SingleFolds(ProblemFolds):
    """SingleFolds(problem, param, observer, kernels): the folds of a one-class SVM or a regression."""

    def __init__(self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider) -> None:
        self.problem, self.param, self.labels = problem, param, None
        self.folds = DualFolds(*kernels.of(problem), param, problem.targets, 0.0, 0.0, observer, problem.sample_weight)

    def of_thread(self, at_once: int) -> Self:
        other = copy(self)
        other.param = replace(self.param, threads=1)
        other.folds = self.folds.of_thread(at_once)
        return other

    def begin(self, observer: Observer) -> None:
        self.folds.begin(observer)

    def train_full(self) -> FoldReport:
        return joined([self.folds.train_full()])

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding, warm: WarmStarts) -> FoldReport:
        return joined([self.folds.solve(held_out, seeding, warm.get((0, 0)))])

    def for_larger_C(self) -> WarmStarts:
        return {(0, 0): self.folds.for_larger_C()}

    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer]:
        values = self.folds.decided(held_out)
        if self.param.svm_type.is_regression:
            return values, values
        return filled("d", (1.0 if value > 0 else -1.0 for value in values)), values

    def full_values(self) -> Buffer:
        return self.folds.decided(ramp(len(self.folds.targets)), self.folds.full)

    def model_of(self, rest: Buffer, full: bool = False) -> Model:
        solved = self.folds.full if full else self.folds.last
        assert solved is not None
        return assemble_single(self.problem, self.param, solved.coefficients, solved.report)

    def rho_widths(self) -> list[float]:
        return [self.folds.rho_width]

    def is_unused(self, row: int) -> bool:
        return self.folds.is_unused(row)

    def leave_out(self, row: int, seeding: Seeding) -> tuple[FoldReport, dict[int, float]]:
        left_out = filled("i", [row])
        report = joined([self.folds.solve(left_out, seeding)])
        return report, {0: self.folds.decided(left_out)[0]}

    def prediction(self, row: int, values: Buffer, order: list[int]) -> float:
        if self.param.svm_type.is_regression:
            return float(values[0])
        return 1.0 if values[0] > 0 else -1.0
