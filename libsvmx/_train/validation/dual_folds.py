"""The folds of a cross-validation over one dual problem: a pair of classes, a one-class SVM or a regression.

A fold is the full problem with weight 0 for held-out rows. So one kernel serves all folds, V is known for all rows, and
with it the decision values of held-out rows.

A fold starts from the optimum over all rows or of the previous fold, by a seeder (_solvers/seeding); from its own
optimum at another C (_train/warm_start.py); or cold. Or the held-out rows leave the optimum over all rows along the
exact path (_solvers/path).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from math import inf, isfinite
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.seeding.fold_change import FoldChange, moved_scores
from libsvmx._solvers.seeding.paying import (
    PATHS,
    STARTS,
    Account,
    expected_path,
    expected_seeded,
    most_values,
    share_too_few,
    work_of_path,
    work_of_start,
)
from libsvmx._solvers.seeding.seeders import start_of
from libsvmx._train.formulation import build_dual, coefficient_sums, decision_values
from libsvmx._train.limits import control_of
from libsvmx._train.solve_dual import recover, solve
from libsvmx._train.validation.scheme import AUTO
from libsvmx.enums import KernelType, SolveStatus, SvmType

if TYPE_CHECKING:
    from libsvmx._core.stopping import Control
    from libsvmx._kernels.kernel_matrix import Kernel, Targets
    from libsvmx._solvers.dual import DualProblem, DualSolution
    from libsvmx._solvers.path.path import Path
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._train.warm_start import NumberOfDual, WarmStart
    from libsvmx._typing import Buffer

# Cost of a kernel value of a solver's row, relative to one of a start's block: measured on a4a, german, abalone,
# cpusmall.
WORK_OF_A_VALUE = 4.0
COLD, SEEDED, PATH = STARTS
OWN_FACTOR, KEPT_FACTOR, IN_DOUBLE = PATHS

# auto takes the path up to this work per line, if few rows leave: SMO would take some dozens of steps of n values.
SHORT_LINE = 3e4
FEW_LEAVING = 1


class Start(NamedTuple):
    """A feasible beta, its V, and its origin: 'none', 'C' for the fold's optimum at another C, or a seeder, with its
    ``change``."""

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
    beta, scores : buffer of float64  solution, by variable
    coefficients : buffer of float64, shape (l,)      of the rows in the decision function; its rho is in ``report``
    scale : float                     of the decision function relative to the dual's: 1, or 1 / r in nu-SVC
    seeder : str                      origin of its start
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
    """Whether an optimum is unchanged without its unused rows: not if a sum depends on the number of rows."""
    return not param.svm_type.has_nu


def may_lose_rows(report: SolveReport) -> bool:
    """Whether rows without a coefficient do not matter: not if the solve was ended early, or no row is free, so
    that rho depends on each."""
    return report.gap >= 0 and report.status in (SolveStatus.CONVERGED, SolveStatus.ROUNDING)


def may_follow_path(param: Parameter) -> bool:
    """Whether ``auto`` may let rows leave along the exact path: not with two sums, nor if K is given."""
    return param.svm_type not in (SvmType.NU_SVC, SvmType.NU_SVR) and param.kernel_type != KernelType.PRECOMPUTED


class DualFolds:
    """DualFolds(kernel, budget_bytes, param, targets, Cp, Cn, observer, sample_weight=None)

    Parameters
    ----------
    kernel : Kernel                             over the l rows of the problem
    budget_bytes : float                        for stored kernel rows of a solve
    targets : buffer of float64, shape (l,)     in classification > 0: first class
    Cp, Cn : float                              upper bounds of the two classes, C-SVC only
    sample_weight : buffer of float64, shape (l,), or None      of the rows, > 0

    Attributes
    ----------
    problem : DualProblem             over all rows
    weights : buffer of float64       of the rows, 1 by default; ``weight``, their sum
    full, last : SolvedFold or None   the optimum over all rows, and the last fold; None if not solved yet
    account : Account                 of the current chain
    work_from_nothing : float         work of a cold start, in values; inf if none was made
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
        self.account = Account()
        self.work_from_nothing = inf

    def of_thread(self, at_once: int) -> DualFolds:
        """See ``ProblemFolds.of_thread``."""
        other = copy(self)
        other.param = replace(self.param, threads=1)
        other.kernel = self.kernel.part(ramp(self.kernel.n))
        other.budget_bytes = self.budget_bytes / at_once
        for of_kernel in ("every_row", "path"):
            other.__dict__.pop(of_kernel, None)
        return other

    def begin(self, observer: Observer) -> None:
        """See ``ProblemFolds.begin``."""
        self.observer, self.last, self.account = observer, None, Account()

    # ---- solving -------------------------------------------------------------------------------

    def train_full(
        self,
        warm: WarmStart | None = None,
        number: NumberOfDual = (0, 0),
        unfinished: bool = False,
        for_model: bool = False,
    ) -> SolvedFold:
        """Solve for the optimum over all rows, from a cold start or that of ``warm``.

        ``unfinished``: return an unfinished solution if stopped early, instead of raising Stopped; ``for_model``: the
        solution is LIBSVM's.
        """
        began, values = machine.perf_counter(), self.kernel.values_computed
        control, dual = self._control(by_r=not for_model), self.problem
        if warm:
            dual = warm.begin(number, dual, self.kernel, control)
        solution = solve(self.param, dual, self.kernel, self.budget_bytes, control)
        if control.stopped and not unfinished:
            raise Stopped(control.stopped)
        if warm:
            warm.keep(number, dual, solution)
        self.full = self._solved(dual, solution, "none", began, 0.0, values)
        self.work_from_nothing = self._work_of(solution, dual.beta)
        return self.full

    def know(self, queue: SolveQueue, t: int) -> None:
        """Take the optimum over all rows from solve ``t`` of a queue, not of nu-SVC."""
        (beta, scores), report = queue.optimum(t), queue.summed(t, t + 1)
        self.full = SolvedFold(
            dual=self.problem,
            beta=beta,
            scores=scores,
            coefficients=queue.coefficients(t),
            scale=1.0,
            seeder="none",
            seeding_seconds=0.0,
            solving_seconds=report.seconds,
            report=report,
        )
        self.work_from_nothing = queue.work_in_values(t) + WORK_OF_A_VALUE * report.n_sv * self.kernel.n

    def solve(
        self, left_out: Buffer, seeding: Seeding, warm: WarmStart | None = None, number: NumberOfDual = (0, 0)
    ) -> SolvedFold:
        """Solve the fold without rows ``left_out``. A start by ``warm``, from another C, takes precedence over
        ``seeding``.

        Raises
        ------
        Stopped
        """
        known = self.full if seeding.scheme == "star" else self.last
        if known is not None and known.scale == 0.0:
            known = None  # r of nu-SVC is infinite: its coefficients and decision values are 0
        began, values = machine.perf_counter(), self.kernel.values_computed
        control = self._control(by_r=seeding.seeder != "none")
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
            if start.change and seeder == "ato" and start.change.path_values < 0:
                seeder = AUTO[seeding.scheme]  # it has replaced a path that was not followed
            seeding_seconds, start_values = machine.perf_counter() - began, self.kernel.values_computed - values
            solution = solve(self.param, fold, self.kernel, self.budget_bytes, control)
            if control.stopped:
                raise Stopped(control.stopped)
            if seeding.scheme == "chain" and seeder != "C":
                self._note(start, start_values, self._work_of(solution, start.beta))
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

    def _work_of(self, solution: DualSolution, start: Buffer) -> float:
        """Work of a solve in values, as if the kernel row of each changed variable were computed once. (The actual
        number depends on measured times, on which starts must not depend.)"""
        return solution.work + WORK_OF_A_VALUE * sum(map(ne, solution.beta, start)) * self.kernel.n

    def _control(self, by_r: bool = False) -> Control:
        """``by_r``: where decision values are divided by r, the solution is as accurate as in other formulations."""
        control = control_of(self.param, self.observer)
        control.by_r = by_r and self.param.svm_type == SvmType.NU_SVC
        return control

    # ---- starts --------------------------------------------------------------------------------

    def _linked(self, fold: DualProblem, warm: WarmStart, number: NumberOfDual, control: Control) -> Start | None:
        """A start from the fold's optimum at another C, if known."""
        begun = warm.begin(number, fold, self.kernel, control)
        return None if begun is fold else Start(begun.beta, begun.scores, "C")

    def _from_nothing(self, fold: DualProblem, control: Control) -> Start:
        """A cold start, as in LIBSVM."""
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
        """A start by a seeder from the known optimum; None if there is none, or it is not expected to pay. The
        folds of a star are independent of each other."""
        # path: after the path was lost
        seeder = AUTO[seeding.scheme] if seeding.seeder in ("auto", "path") else seeding.seeder
        chained, cold = seeding.scheme == "chain", self.work_from_nothing
        n, changed = self.kernel.n - n_left_out, n_left_out * (1 + chained)
        # the cold start of one class, its first rows, is far from any optimum
        poor = self.param.svm_type == SvmType.ONE_CLASS and chained
        kind, path = KEPT_FACTOR if chained else OWN_FACTOR, inf
        if seeder == "ato" and not (chained and share_too_few(n, changed)):
            moving = changed * known.report.n_sv / self.kernel.n
            path = expected_path(kind, fold.size, known.report.n_sv - known.report.n_bsv, moving)
        account = self.account if chained else Account()
        chosen = account.choose(cold, expected_seeded(cold, n, 0 if poor else changed, chained), path)
        if chosen == COLD:
            return None
        most_work = cold
        if seeder == "ato":
            most_work = most_values(kind, cold) if chosen == PATH else 0.0
        change = FoldChange(
            self.kernel, fold, sums, known.beta, known.scores, known.dual, control, self.every_row, most_work
        )
        start = start_of(change, seeder)
        return None if start is None else Start(start[0], start[1], seeder, change)

    def _note(self, start: Start, start_values: int, work: float) -> None:
        """Note the work of a solved fold of a chain; ``start_values``: kernel values computed for the start; ``work``:
        of the solver, in values."""
        change = start.change
        if change is None:
            self.work_from_nothing = work
            self.account.note(COLD, work)
        elif change.path_values >= 0:
            self.account.note(
                PATH, work_of_path(KEPT_FACTOR, len(start.beta), change.path_values, change.path_lines) + work
            )
        else:
            start_work = work_of_start(self.kernel.n, start_values // self.kernel.n) + change.work
            self.account.note(SEEDED, start_work + start_values + work)

    @cached_property
    def every_row(self) -> Targets:
        """All rows of the kernel, to update the scores of all variables."""
        return self.kernel.targets(ramp(self.kernel.n))

    # ---- the exact path ------------------------------------------------------------------------

    def _takes_path(self, seeding: Seeding, n_left_out: int) -> bool:
        if self.full is None:  # a path starts from the optimum over all rows
            return False
        if seeding.seeder != "auto":
            return seeding.seeder == "path"
        if not may_follow_path(self.param):
            return False
        full, n, cold = self.full.report, self.kernel.n, self.work_from_nothing
        margin, moving = full.n_sv - full.n_bsv, n_left_out * full.n_sv / max(1, n)
        if n_left_out <= FEW_LEAVING and margin * (n + margin) <= SHORT_LINE:
            return True
        path = expected_path(IN_DOUBLE, n, margin, moving)
        return Account().choose(cold, expected_seeded(cold, n - n_left_out, n_left_out, False), path) == PATH

    @cached_property
    def path(self) -> Path | None:
        """The path from the exact optimum over all rows, or None. Raises Stopped."""
        from libsvmx._solvers.path.path import PathLost, path_of

        assert self.full is not None
        if self.problem.groups == 2 or not isfinite(self.full.report.rho):  # of one-class with nu = 1
            return None
        try:
            return path_of(self.problem, self.kernel, self.budget_bytes, self.full.beta, self._control())
        except PathLost:
            return None

    def _along_path(self, left_out: Buffer, sums: tuple[float, ...]) -> DualSolution | None:
        """The optimum without rows ``left_out``; None if the path is lost. Raises Stopped."""
        if self.path is None:
            return None
        from libsvmx._solvers.path.path import PathLost, solution_without

        try:
            return solution_without(self.path, self.problem, left_out, sums, self._control())
        except PathLost:  # the solver takes over
            return None

    # ---- results -------------------------------------------------------------------------------

    def decided(self, rows: Buffer, solved: SolvedFold | None = None) -> Buffer:
        """Decision values of ``rows`` in a fold, the last by default, from V."""
        solved = solved or self.last
        assert solved is not None
        return decision_values(self.problem, solved.scores, rows, solved.scale, solved.report.rho)

    def is_unused(self, row: int) -> bool:
        """Whether the optimum over all rows is that without the row, too."""
        assert self.full is not None
        return bool(self.full.coefficients[row] == 0 and may_lose_rows(self.full.report))

    @property
    def rho_width(self) -> float:
        """Width of the interval of possible rho, the larger of the last fold's and the full one's: not 0 only if no
        variable is free, and the gap negative."""
        return max([0.0, *(-solved.report.gap for solved in (self.full, self.last) if solved)])
