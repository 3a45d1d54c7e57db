"""The folds of a cross-validation over one dual problem: a pair of classes, a one-class SVM or a regression.

A fold is the full problem in which the rows held out have weight 0. So one kernel serves all folds, V is followed for
all rows, and the decision values of the rows held out are there when a fold is solved.

It starts from the optimum over all rows or of the fold before, by a seeder (_solvers/seeding); from its own optimum at
another C (_train/warm_start.py); or from nothing. Along the exact path (_solvers/path) the rows held out leave the
optimum over all rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from math import inf
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.seeding.ato_path import StartBudget, most_in_star
from libsvmx._solvers.seeding.fold_change import FoldChange, moved_scores
from libsvmx._solvers.seeding.seeders import start_of
from libsvmx._train.formulation import build_dual, coefficient_sums, decision_values
from libsvmx._train.limits import control_of
from libsvmx._train.queue.tasks import start_pays, tolerance_of_start, values_of_steps, work_of_start
from libsvmx._train.solve_dual import recover, solve
from libsvmx._train.validation.scheme import AUTO
from libsvmx.enums import KernelType, SvmType

if TYPE_CHECKING:
    from libsvmx._kernels.kernel_matrix import Kernel, Targets
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.control import Control
    from libsvmx._solvers.path.path import Path
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._train.warm_start import NumberOfDual, WarmStart
    from libsvmx._typing import Buffer

# Values that a kernel value of a row that a solver asks for is counted as, one of the blocks of rows of a start as one:
# measured on a4a, german, abalone and cpusmall.
WORK_OF_A_VALUE = 4.0
# auto takes the path where a line costs so little, for leave-one-out and alike: SMO takes some dozens of steps of n.
SHORT_LINE = 3e4
FEW_LEAVING = 1


class Start(NamedTuple):
    """A feasible beta, V there, and what made it: 'none', 'C' for the fold's optimum at another C, or a seeder, of
    which ``change`` tells."""

    beta: Buffer
    scores: Buffer
    seeder: str
    change: FoldChange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedFold:
    """One fold of one dual problem.

    Attributes
    ----------
    dual : DualProblem
    beta, scores : buffer of float64  where it ended, by variable
    coefficients : buffer of float64  of the rows, shape (l,), in its decision function, whose rho is the report's
    scale : float                     of the decision function relative to the dual's: 1, or 1 / r in nu-SVC
    seeder : str                      what it started from
    seeding_seconds, solving_seconds : float
    report : SolveReport
    """

    dual: DualProblem
    beta: Buffer
    scores: Buffer
    coefficients: Buffer
    scale: float
    seeder: str
    seeding_seconds: float
    solving_seconds: float
    report: SolveReport


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
    problem : DualProblem             over all rows
    weights : buffer of float64       of the rows, 1 where there are none; ``weight``, their sum
    full, last : SolvedFold or None   the optimum over all rows, and the last fold; None at first
    budget : StartBudget or None      of a chain, once there is one
    work_from_nothing : float         values that a solve from nothing works on; inf while there was none
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
        self.costs, self.observer, self.sample_weight = (Cp, Cn), observer, sample_weight
        self.weights = filled("d", sample_weight or repeat(1.0, len(targets)))
        self.weight = sum(self.weights)
        self.problem = build_dual(param, targets, Cp, Cn, sample_weight)
        self.full: SolvedFold | None = None
        self.last: SolvedFold | None = None
        self.budget: StartBudget | None = None
        self.work_from_nothing = inf

    def of_thread(self, at_once: int) -> DualFolds:
        """As ``ProblemFolds.of_thread``."""
        other = copy(self)
        other.param = replace(self.param, threads=1)
        other.kernel = self.kernel.part(ramp(self.kernel.n))
        other.budget_bytes = self.budget_bytes / at_once
        for of_kernel in ("every_row", "path"):
            other.__dict__.pop(of_kernel, None)
        return other

    def begin(self, observer: Observer) -> None:
        """As ``ProblemFolds.begin``."""
        self.observer, self.last, self.budget = observer, None, None

    # ---- solving -------------------------------------------------------------------------------

    def train_full(
        self, warm: WarmStart | None = None, number: NumberOfDual = (0, 0), unfinished: bool = False
    ) -> SolvedFold:
        """The optimum over all rows, from nothing or from where ``warm`` says.

        ``unfinished``: what it has reached is wanted if it is ended early; else that raises Stopped.
        """
        began, values = machine.perf_counter(), self.kernel.values_computed
        control, dual = self._control(), self.problem
        if warm:
            dual = warm.begin(number, dual, self.kernel, control)
        solution = solve(self.param, dual, self.kernel, self.budget_bytes, control)
        if control.stopped and not unfinished:
            raise Stopped(control.stopped)
        if warm:
            warm.keep(number, dual, solution)
        self.full = self._solved(dual, solution, "none", began, 0.0, values)
        self.work_from_nothing = self._work_of(solution, dual.beta, 0)
        return self.full

    def solve(
        self, left_out: Buffer, seeding: Seeding, warm: WarmStart | None = None, number: NumberOfDual = (0, 0)
    ) -> SolvedFold:
        """The fold without the rows ``left_out``. What ``warm`` knows of it, at another C, comes before ``seeding``.

        Raises
        ------
        Stopped
        """
        known = self.full if seeding.scheme == "star" else self.last
        if known is not None and known.scale != 1.0 and not start_pays(1 / known.scale):
            known = None
        began, values = machine.perf_counter(), self.kernel.values_computed
        control = self._control(known.scale if known else 1.0)
        weights, gone = zeros("d", len(self.targets)), 0.0
        weights[:] = self.weights
        for row in left_out:
            gone += weights[row]
            weights[row] = 0.0
        fold = build_dual(self.param, self.targets, *self.costs, weights)
        sums = coefficient_sums(self.param, self.weight - gone)
        solution, seeder, seeding_seconds = None, "path", 0.0
        start = self._linked(fold, warm, number, control) if warm else None
        if start is None and self._takes_path(seeding, len(left_out)):
            solution = self._along_path(left_out, sums)
        if solution is None:
            if start is None and known is not None and seeding.seeder != "none":
                start = self._from_optimum(fold, sums, len(left_out), seeding, known, control)
            start = start or self._from_nothing(fold, control)
            fold, seeder = fold.changed(beta=start.beta, scores=start.scores), start.seeder
            seeding_seconds, start_values = machine.perf_counter() - began, self.kernel.values_computed - values
            solution = solve(self.param, fold, self.kernel, self.budget_bytes, control)
            if control.stopped:
                raise Stopped(control.stopped)
            if seeding.scheme == "chain" and seeder != "C":
                self._note(start, start_values, self._work_of(solution, start.beta, len(left_out)))
        if warm:
            warm.keep(number, fold, solution)
        self.last = self._solved(fold, solution, seeder, began, seeding_seconds, values)
        return self.last

    def _solved(
        self,
        fold: DualProblem,
        solution: DualSolution,
        seeder: str,
        began: float,
        seeding_seconds: float,
        values_before: int,
    ) -> SolvedFold:
        seconds = machine.perf_counter() - began - seeding_seconds
        values = self.kernel.values_computed - values_before
        coefficients, report = recover(
            self.param, self.targets, fold, solution, self.observer, values, self.sample_weight, seconds
        )
        scale = 1.0
        if self.param.svm_type == SvmType.NU_SVC:
            scale = 1 / solution.r if solution.r else inf
        return SolvedFold(
            dual=fold,
            beta=solution.beta,
            scores=solution.scores,
            coefficients=coefficients,
            scale=scale,
            seeder=seeder,
            seeding_seconds=seeding_seconds,
            solving_seconds=seconds,
            report=report,
        )

    def _work_of(self, solution: DualSolution, start: Buffer, n_left_out: int) -> float:
        """Values that a solve has worked on, as if the kernel row of each variable that has moved were computed once.
        How many a row store computes depends on what rows cost when measured, and no start may."""
        moved, n = sum(map(ne, solution.beta, start)), self.kernel.n
        variables = self.problem.size * (n - n_left_out) // max(1, n)
        return values_of_steps(variables, solution.iterations) + WORK_OF_A_VALUE * moved * n

    def _control(self, scale: float = 1.0) -> Control:
        """``scale``: of the decision function where a solve starts, 1 from nothing. In nu-SVC, where it is 1 / r,
        decision values may not be farther off by a seeded solve than by one from nothing, which comes from far
        outside."""
        if scale == 1.0:
            return control_of(self.param, self.observer)
        return control_of(replace(self.param, eps=tolerance_of_start(self.param.eps, 1 / scale)), self.observer)

    # ---- what a fold starts from ---------------------------------------------------------------

    def _linked(self, fold: DualProblem, warm: WarmStart, number: NumberOfDual, control: Control) -> Start | None:
        """From what is known of the fold itself, if it is."""
        begun = warm.begin(number, fold, self.kernel, control)
        return None if begun is fold else Start(begun.beta, begun.scores, "C")

    def _from_nothing(self, fold: DualProblem, control: Control) -> Start:
        """LIBSVM's start."""
        origin, sums = zeros("d", fold.size), (0.0,) * fold.groups
        nothing = FoldChange(self.kernel, fold, sums, origin, fold.linear, fold, control, self.every_row)
        return Start(fold.beta, moved_scores(nothing, fold.beta), "none")

    def _from_optimum(
        self,
        fold: DualProblem,
        sums: tuple[float, ...],
        n_left_out: int,
        seeding: Seeding,
        known: SolvedFold,
        control: Control,
    ) -> Start | None:
        """By a seeder from the optimum of another fold or over all rows; None if it cannot be made feasible, or starts
        before did not pay. In a star all folds are alike, lest they depend on each other."""
        # auto; and path, where the path has been lost
        seeder = AUTO[seeding.scheme] if seeding.seeder in ("auto", "path") else seeding.seeder
        most_work = self.work_from_nothing
        if seeding.scheme == "chain":
            by_path = seeder == "ato"
            if self.budget is None:
                self.budget = StartBudget(by_path, len(self.targets) / max(1, n_left_out))
                if not by_path:
                    self.budget.note(False, True, 0.0, most_work)
            most_work = self.budget.most(most_work)
            if most_work == 0 and not by_path:
                return None
        elif seeder == "ato":
            most_work = most_in_star(most_work)
        change = FoldChange(
            self.kernel, fold, sums, known.beta, known.scores, known.dual, control, self.every_row, most_work
        )
        start = start_of(change, seeder)
        return None if start is None else Start(start[0], start[1], seeder, change)

    def _note(self, start: Start, start_values: int, work: float) -> None:
        """A fold of a chain is solved that began there; ``start_values``: kernel values that the start has computed,
        ``work``: values that the solver worked on."""
        change = start.change
        if change is None:
            self.work_from_nothing = work
        if self.budget is None:  # it begins with the first fold that knows another one
            return
        if change is None:
            self.budget.note(False, True, 0.0, work)
        elif start.seeder == "ato":
            self.budget.note(change.path_work >= 0, change.path_whole, change.path_work, work)
        else:
            start_work = work_of_start(self.kernel.n, start_values // self.kernel.n) + change.work
            self.budget.note(True, True, start_work + start_values, work)

    @cached_property
    def every_row(self) -> Targets:
        """All rows of the kernel, to move the scores of all variables."""
        return self.kernel.targets(ramp(self.kernel.n))

    # ---- the exact path ------------------------------------------------------------------------

    def _takes_path(self, seeding: Seeding, n_left_out: int) -> bool:
        if self.full is None:  # a path begins with all rows
            return False
        few = n_left_out <= FEW_LEAVING and seeding.seeder == "auto"
        return seeding.seeder == "path" or (few and self.work_of_line <= SHORT_LINE)

    @cached_property
    def work_of_line(self) -> float:
        """Multiplications in a straight line of the path, about; infinite where there is no path."""
        full, problem = self.full, self.problem
        assert full is not None
        if problem.groups == 2 or self.kernel.kind == KernelType.PRECOMPUTED:
            return inf
        free = sum(low < b < high for b, low, high in zip(full.beta, problem.lower, problem.upper, strict=True))
        return float(free * (self.kernel.n + free))

    @cached_property
    def path(self) -> Path | None:
        """The path that starts at the exact optimum over all rows; None if there is none. Raises Stopped."""
        from libsvmx._solvers.path.path import PathLost, path_of

        assert self.full is not None
        if self.problem.groups == 2:
            return None
        try:
            return path_of(self.problem, self.kernel, self.budget_bytes, self.full.beta, self._control())
        except PathLost:
            return None

    def _along_path(self, left_out: Buffer, sums: tuple[float, ...]) -> DualSolution | None:
        """The optimum without the rows ``left_out``; None if the path is lost. Raises Stopped."""
        if self.path is None:
            return None
        from libsvmx._solvers.path.path import PathLost, solution_without

        try:
            return solution_without(self.path, self.problem, left_out, sums, self._control())
        except PathLost:  # the solver goes on
            return None

    # ---- what came of it -----------------------------------------------------------------------

    def decided(self, rows: Buffer, solved: SolvedFold | None = None) -> Buffer:
        """Decision values of ``rows`` in a fold, the last by default, from V, which is followed for all rows."""
        solved = solved or self.last
        assert solved is not None
        return decision_values(self.problem, solved.scores, rows, solved.scale, solved.report.rho)

    def is_unused(self, row: int) -> bool:
        """Whether the row has no coefficient in the optimum over all rows."""
        assert self.full is not None
        return bool(self.full.coefficients[row] == 0)

    @property
    def rho_width(self) -> float:
        """Width of the interval in which rho may lie, in the last fold or, wider, over all rows: 0 but where no
        variable is within its bounds, and the gap negative."""
        return max([0.0, *(-solved.report.gap for solved in (self.full, self.last) if solved)])
