"""The folds of a cross-validation over one dual problem: a pair of classes, a one-class SVM or a regression.

A fold is the full problem with 0 alone in the boxes of the rows held out. So one kernel serves all folds, V is
followed for all rows, and the decision values of the rows held out are there when a fold is solved.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import zeros
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._train.formulation import build_dual, coefficient_sums, decision_values, held_out
from libsvmx._train.limits import control_of
from libsvmx._train.queue.tasks import start_pays, tolerance_of_start, values_of_steps
from libsvmx._train.solve_dual import recover, solve
from libsvmx._train.validation.fold_start import FoldStarts, Optimum, OptimumAtC
from libsvmx._train.validation.removal_path import RemovalPath
from libsvmx._train.validation.scheme import AUTO
from libsvmx.enums import SvmType

if TYPE_CHECKING:
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.validation.fold_start import Start
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._train.warm_start import NumberOfDual, WarmStart
    from libsvmx._typing import Buffer


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedFold:
    """One fold of one dual problem.

    Attributes
    ----------
    optimum : Optimum                 where it ended
    coefficients : buffer of float64  of the rows, shape (l,), in its decision function, whose rho is the report's
    scale : float                     of the decision function relative to the dual's: 1, or 1 / r in nu-SVC
    seeder : str                      what it started from
    seeding_seconds, solving_seconds : float
    report : SolveReport
    """

    optimum: Optimum
    coefficients: Buffer
    scale: float
    seeder: str
    seeding_seconds: float
    solving_seconds: float
    report: SolveReport


class Effort:
    """Effort(kernel): seconds and kernel values from now on."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.values_before, self.began = kernel, kernel.values_computed, machine.perf_counter()
        self.seeding_seconds = 0.0

    def seeded(self) -> None:
        """The start is made."""
        self.seeding_seconds = machine.perf_counter() - self.began

    def spent(self) -> tuple[float, int]:
        """Seconds since then, and kernel values in all."""
        seconds = machine.perf_counter() - self.began - self.seeding_seconds
        return seconds, self.kernel.values_computed - self.values_before


def optimum_may_stand(param: Parameter) -> bool:
    """Whether an optimum stands when rows without coefficients leave: not if a sum depends on the number of rows."""
    return not param.svm_type.has_nu


class DualFolds:
    """DualFolds(kernel, budget_bytes, param, targets, Cp, Cn, observer, sample_weight=None)

    Parameters
    ----------
    kernel : Kernel                             over the l rows of the problem
    budget_bytes : float                        for the rows that a solve keeps
    targets : buffer of float64, shape (l,)     of a binary classification > 0 or not
    Cp, Cn : float                              upper bounds of the two classes, C-SVC only
    sample_weight : buffer of float64, shape (l,), or None      of the rows, > 0

    Attributes
    ----------
    problem : DualProblem                       over all rows
    full, last : SolvedFold or None             the optimum over all rows, and the last fold; None at first
    """

    def __init__(
        self,
        kernel: Kernel,
        budget_bytes: float,
        param: Parameter,
        targets: Buffer,
        Cp: float,
        Cn: float,
        observer: Observer,
        sample_weight: Buffer | None = None,
    ) -> None:
        self.kernel, self.budget_bytes, self.param, self.targets = kernel, budget_bytes, param, targets
        self.observer, self.sample_weight = observer, sample_weight
        self.problem = build_dual(param, targets, Cp, Cn, sample_weight)
        self.starts = FoldStarts(kernel, self.problem, param, targets, (Cp, Cn), sample_weight)
        self.full: SolvedFold | None = None
        self.last: SolvedFold | None = None

    def of_thread(self, at_once: int) -> DualFolds:
        """As ``ProblemFolds.of_thread``."""
        other = copy(self)
        other.param = replace(self.param, threads=1)
        other.kernel = self.kernel.part(ramp(self.kernel.n))
        other.budget_bytes = self.budget_bytes / at_once
        other.starts = self.starts.over(other.kernel)
        other.__dict__.pop("removal", None)
        return other

    def begin(self, observer: Observer) -> None:
        """As ``ProblemFolds.begin``."""
        self.observer, self.last = observer, None

    def train_full(self) -> SolvedFold:
        """The optimum over all rows, from nothing. Raises Stopped."""
        effort, control = Effort(self.kernel), self._control()
        solution = solve(self.param, self.problem, self.kernel, self.budget_bytes, control)
        if control.stopped:
            raise Stopped(control.stopped)
        self.full = self._solved(self.problem, solution, zeros("i", 0), "none", effort)
        return self.full

    def solve_full(self, warm: WarmStart | None, number: NumberOfDual) -> SolvedFold:
        """The training over all rows as ``train_problem`` has it: what it has reached when it is ended early, and from
        where ``warm`` says."""
        effort, control, dual = Effort(self.kernel), self._control(), self.problem
        if warm:
            dual = warm.begin(number, dual, self.kernel, control)
        solution = solve(self.param, dual, self.kernel, self.budget_bytes, control)
        if warm:
            warm.keep(number, dual, solution)
        self.full = self._solved(dual, solution, zeros("i", 0), "none", effort)
        return self.full

    def solve(self, left_out: Buffer, seeding: Seeding, warm: OptimumAtC | None = None) -> SolvedFold:
        """The fold without the rows ``left_out``; ``warm``: its optimum at a smaller C, to start from.

        Raises
        ------
        Stopped
        """
        known = self._known(seeding)
        effort, control = Effort(self.kernel), self._control(known.scale if known else 1.0)
        lower, upper = held_out(self.problem, left_out)
        fold = self.problem.changed(lower=lower, upper=upper)
        sums = coefficient_sums(self.param, self._weight_without(left_out))
        solved = None
        if warm is None and self._takes_path(seeding, len(left_out)):
            solved = self._along_path(fold, sums, left_out, effort)
        if solved is None:
            start = self._start(fold, sums, left_out, seeding, warm, known, control)
            fold = fold.changed(beta=start.beta, scores=start.scores)
            effort.seeded()
            solution = solve(self.param, fold, self.kernel, self.budget_bytes, control)
            if control.stopped:
                raise Stopped(control.stopped)
            solved = self._solved(fold, solution, left_out, start.seeder, effort)
        self.last = solved
        return solved

    def _weight_without(self, left_out: Buffer) -> float:
        """What the rows count for that are not left out."""
        if self.sample_weight is None:
            return len(self.targets) - len(left_out)
        gone = set(left_out)
        return float(sum(weight for row, weight in enumerate(self.sample_weight) if row not in gone))

    def for_larger_C(self) -> OptimumAtC:
        """What the last fold leaves for the same fold at a larger C."""
        assert self.last is not None
        optimum = self.last.optimum
        return OptimumAtC(self.param.C, bytes(optimum.beta), bytes(optimum.scores))

    def decided(self, rows: Buffer, solved: SolvedFold | None = None) -> Buffer:
        """Decision values of ``rows`` in a fold, the last by default, from V, which is followed for all rows."""
        solved = solved or self.last
        assert solved is not None
        return decision_values(self.problem, solved.optimum.scores, rows, solved.scale, solved.report.rho)

    def is_unused(self, row: int) -> bool:
        """Whether the row has no coefficient in the optimum over all rows."""
        assert self.full is not None
        return bool(self.full.coefficients[row] == 0)

    @property
    def rho_width(self) -> float:
        """Width of the interval in which rho may lie, in the last fold or, wider, over all rows: 0 but where no
        variable is within its bounds, and the gap negative."""
        return max([0.0, *(-solved.report.gap for solved in (self.full, self.last) if solved)])

    @cached_property
    def removal(self) -> RemovalPath:
        """The exact path on which rows leave the optimum over all of them."""
        assert self.full is not None
        return RemovalPath(self.problem, self.kernel, self.budget_bytes, self.full.optimum.beta, self._control)

    def _takes_path(self, seeding: Seeding, n_left_out: int) -> bool:
        if self.full is None:  # a path begins with all rows
            return False
        return seeding.seeder == "path" or (seeding.seeder == "auto" and self.removal.pays(n_left_out))

    def _along_path(
        self, fold: DualProblem, sums: tuple[float, ...], left_out: Buffer, effort: Effort
    ) -> SolvedFold | None:
        """The fold by the exact path, None if that is lost."""
        if self.removal.path is None:
            return None
        effort.seeded()
        solution = self.removal.solution_without(left_out, sums)
        return None if solution is None else self._solved(fold, solution, left_out, "path", effort)

    def _known(self, seeding: Seeding) -> SolvedFold | None:
        """From whose optimum a fold starts, None if there is none, or from nothing is better."""
        known = self.full if seeding.scheme == "star" else self.last
        return known if known is None or known.scale == 1.0 or start_pays(1 / known.scale) else None

    def _start(
        self,
        fold: DualProblem,
        sums: tuple[float, ...],
        left_out: Buffer,
        seeding: Seeding,
        warm: OptimumAtC | None,
        known: SolvedFold | None,
        control: Control,
    ) -> Start:
        """Where the solver starts; where a seeder finds nothing feasible, from nothing."""
        if warm is not None:
            return self.starts.from_smaller_C(fold, warm) or self.starts.from_nothing(left_out, control)
        start = None
        if known is not None and seeding.seeder != "none":
            # auto; and path, where the path has been lost
            seeder = AUTO[seeding.scheme] if seeding.seeder in ("auto", "path") else seeding.seeder
            start = self.starts.from_optimum(fold, sums, left_out, seeder, known.optimum, control)
        return start or self.starts.from_nothing(left_out, control)

    def _solved(
        self, fold: DualProblem, solution: DualSolution, left_out: Buffer, seeder: str, effort: Effort
    ) -> SolvedFold:
        seconds, values = effort.spent()
        coefficients, report = recover(
            self.param, self.targets, fold, solution, self.observer, values, self.sample_weight, seconds
        )
        in_star = self.full is not None and len(left_out) > 0  # whose folds threads meet in some order
        self.starts.solved(self._work_of(report, len(left_out)), in_star)
        scale = 1.0
        if self.param.svm_type == SvmType.NU_SVC:
            scale = 1 / solution.r if solution.r else inf
        return SolvedFold(
            optimum=Optimum(solution.beta, solution.scores, left_out),
            coefficients=coefficients,
            scale=scale,
            seeder=seeder,
            seeding_seconds=effort.seeding_seconds,
            solving_seconds=seconds,
            report=report,
        )

    def _work_of(self, report: SolveReport, n_left_out: int) -> float:
        """Values that a solve has worked on, kernel values of a row counted by what ``Control`` takes them for: as if
        each row that a step may ask for were computed once. How many a row store computes depends on what rows cost
        when measured, and no start may."""
        variables = self.problem.size * (len(self.targets) - n_left_out) // max(1, len(self.targets))
        rows = min(variables, 2 * report.iterations)
        return values_of_steps(variables, report.iterations) + 4.0 * rows * variables

    def _control(self, scale: float = 1.0) -> Control:
        """``scale``: of the decision function where a solve starts, 1 from nothing. In nu-SVC, where it is 1 / r,
        decision values may not be farther off by a seeded solve than by one from nothing, which comes from far
        outside."""
        if scale == 1.0:
            return control_of(self.param, self.observer)
        return control_of(replace(self.param, eps=tolerance_of_start(self.param.eps, 1 / scale)), self.observer)
