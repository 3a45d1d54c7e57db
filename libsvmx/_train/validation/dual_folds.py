"""The rounds of a cross-validation over one dual problem: a pair of classes, a one-class SVM or a regression.

Every round is the whole problem with lower = upper = 0 for the rows held out. So one kernel serves all rounds, V is
kept for all rows, and the decision values of the held-out rows are there when a round is solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.thread_pool import ThreadPool
from libsvmx._solvers.seeding.seeders import seeder as seeder_of
from libsvmx._solvers.seeding.starts import Round, adjust, moved_scores
from libsvmx._solvers.smo.alpha_form import AlphaForm
from libsvmx._train.formulation import build_dual, coefficient_sums, held_out, scaled_start
from libsvmx._train.limits import control_of
from libsvmx._train.reports import recover
from libsvmx._train.solvers import solve
from libsvmx._train.validation.scheme import AUTO
from libsvmx.enums import KernelType, SvmType

if TYPE_CHECKING:
    from libsvmx._kernels.kernel import Kernel, Targets
    from libsvmx._problem.dual import DualProblem, DualSolution
    from libsvmx._solvers.path.path import Path
    from libsvmx._train.observer import Observer, SolveReport
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._typing import Buffer
    from libsvmx.enums import SolveStatus


Box = tuple["Buffer", "Buffer"]  # lower, upper

# The path is taken where a line costs so little, for leave-one-out and alike: SMO takes some dozens of steps of n.
SHORT_LINE = 3e4
FEW_LEAVING = 1


@dataclass(frozen=True, slots=True)
class Optimum:
    """(beta, V) at an optimum of one dual problem; buffers by variable.

    ``left_out`` are the rows that took no part.
    """

    beta: Buffer
    scores: Buffer
    left_out: Buffer


@dataclass(frozen=True, slots=True)
class Kept:
    """An optimum at ``C`` that can be pickled: beta and V as bytes of float64."""

    C: float
    beta: bytes
    scores: bytes


@dataclass(frozen=True, slots=True)
class SolvedRound:
    """One round of one dual problem.

    ``optimum`` is where it ended; ``beta`` (float64, shape (l,)) and ``rho`` are coefficients and offset of its
    decision function, whose scale relative to the dual's is ``scale`` (1, or 1/r in nu-SVC).
    """

    optimum: Optimum
    beta: Buffer
    rho: float
    scale: float
    status: SolveStatus
    seeder: str
    seeding_seconds: float
    solving_seconds: float
    report: SolveReport


class Rounds:
    """Rounds(kernel, budget_bytes, param, targets, Cp, Cn, observer)

    Parameters
    ----------
    kernel : Kernel                             over the l rows of the problem
    budget_bytes : float                        for the rows that a solve keeps
    targets : buffer of float64, shape (l,)     of a binary classification > 0 or not
    Cp, Cn : float                              upper bounds of the two classes, C-SVC only

    Attributes
    ----------
    whole, solved : SolvedRound or None      the optimum over all rows, and the last round; None at first
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
    ) -> None:
        self.budget_bytes = budget_bytes
        self.kernel, self.param, self.targets, self.costs = kernel, param, targets, (Cp, Cn)
        self.observer = observer
        self.dual = build_dual(param, targets, Cp, Cn)
        self.pool = ThreadPool(1)
        self.whole: SolvedRound | None = None
        self.solved: SolvedRound | None = None

    @cached_property
    def every_row(self) -> Targets:
        """All rows of the kernel, to move the scores of all variables."""
        return self.kernel.targets(ramp(self.kernel.n))

    def train_whole(self) -> SolvedRound:
        """The optimum over all rows, from nothing."""
        began, before = perf_counter(), self.kernel.values_computed
        solution = solve(self.param, self.dual, self.kernel, self.budget_bytes, control_of(self.param, self.observer))
        seconds = perf_counter() - began
        self.whole = self._finish(self.dual, solution, zeros("i", 0), "none", 0.0, seconds, before)
        return self.whole

    def solve(self, left_out: Buffer, seeding: Seeding, kept: Kept | None = None) -> SolvedRound:
        """The round without the rows ``left_out``; ``kept``: its optimum at a smaller C, to start from."""
        began, values_before = perf_counter(), self.kernel.values_computed
        before = self.whole if seeding.scheme == "star" else self.solved
        box = held_out(self.dual, left_out)
        sums = coefficient_sums(self.param, len(self.targets) - len(left_out))
        start, seeder = None, seeding.method
        if seeder == "auto" and kept is None and self.path_pays(len(left_out)):
            seeder = "path"
        if seeder == "path" and before is not None and kept is None:
            solved = self._along_path(box, sums, left_out, began, values_before)
            if solved is not None:
                self.solved = solved
                return solved
            seeder = "auto"
        if kept is not None:
            seeder = "C"
            start, scores = self._scaled(box, kept)
        elif before is not None and seeder != "none":
            if seeder == "auto":
                seeder = AUTO[seeding.scheme]
            start, scores = self._seeded(box, sums, left_out, seeder, before.optimum)
        if start is None:
            seeder = "none"
            start, scores = self._cold(left_out)
        dual = self.dual.changed(lower=box[0], upper=box[1], beta=start, scores=scores)
        seeded = perf_counter()
        solution = solve(self.param, dual, self.kernel, self.budget_bytes, control_of(self.param, self.observer))
        ended = perf_counter()
        self.solved = self._finish(dual, solution, left_out, seeder, seeded - began, ended - seeded, values_before)
        return self.solved

    @property
    def may_stand(self) -> bool:
        """Whether the optimum stands when rows without coefficients go: not if a sum depends on the number of rows."""
        return self.param.svm_type in (SvmType.C_SVC, SvmType.EPSILON_SVR)

    @property
    def leeway(self) -> float:
        """How wide the interval is in which rho may lie, in the last round or, wider, over all rows: 0 but where no
        variable is within its bounds, and the gap negative."""
        return max([0.0, *(-solved.report.gap for solved in (self.whole, self.solved) if solved)])

    def unused(self, row: int) -> bool:
        """Whether the row has no coefficient in the optimum over all rows."""
        assert self.whole is not None
        return bool(self.whole.beta[row] == 0)

    def decided(self, rows: Buffer, solved: SolvedRound | None = None) -> Buffer:
        """Decision values of ``rows`` in a round, the last by default, from the scores that are kept for all rows."""
        solved = solved or self.solved
        assert solved is not None
        linear, V = self.dual.linear, solved.optimum.scores
        return filled("d", ((linear[i] - V[i]) * solved.scale - solved.rho for i in rows))

    def path_pays(self, n_left_out: int) -> bool:
        """Whether the path of so many rows that leave is expected to take less time than a solve from a seed."""
        return n_left_out <= FEW_LEAVING and self.work_of_line <= SHORT_LINE

    @cached_property
    def work_of_line(self) -> float:
        """Multiplications in a straight line of the path, about; infinite where there is no path."""
        if self.whole is None or self.dual.groups == 2 or self.kernel.kind == KernelType.PRECOMPUTED:
            return inf
        box = zip(self.dual.lower, self.dual.upper, strict=True)
        free = sum(low < b < high for b, (low, high) in zip(self.whole.optimum.beta, box, strict=True))
        return float(free * (self.kernel.n + free))

    @cached_property
    def path(self) -> Path | None:
        """The path that starts at the exact optimum over all rows; None if there is none."""
        from libsvmx._solvers.path.path import PathLost
        from libsvmx._solvers.path.removal import path_of

        if self.whole is None or self.dual.groups == 2:
            return None
        try:
            return path_of(
                self.dual,
                self.kernel,
                self.budget_bytes,
                self.whole.optimum.beta,
                control_of(self.param, self.observer),
            )
        except (PathLost, TimeoutError):
            return None

    def _along_path(
        self, box: Box, sums: tuple[float, ...], left_out: Buffer, began: float, values_before: int
    ) -> SolvedRound | None:
        """The round by the path, None if that is lost."""
        if self.path is None:
            return None
        from libsvmx._solvers.path.path import PathLost
        from libsvmx._solvers.path.removal import solution_without

        ready = perf_counter()
        dual = self.dual.changed(lower=box[0], upper=box[1])
        try:
            solution = solution_without(self.path, dual, left_out, sums[0], control_of(self.param, self.observer))
        except (PathLost, TimeoutError):  # the solver goes on, and says what has ended it
            return None
        ended = perf_counter()
        return self._finish(dual, solution, left_out, "path", ready - began, ended - ready, values_before)

    def _finish(
        self,
        dual: DualProblem,
        solution: DualSolution,
        left_out: Buffer,
        seeder: str,
        seeding_seconds: float,
        solving_seconds: float,
        values_before: int,
    ) -> SolvedRound:
        values = self.kernel.values_computed - values_before
        beta, report = recover(self.param, self.targets, dual, solution, self.observer, values)
        scale = 1.0
        if self.param.svm_type == SvmType.NU_SVC:
            scale = 1 / solution.r if solution.r else inf
        optimum = Optimum(solution.beta, solution.scores, left_out)
        return SolvedRound(
            optimum, beta, report.rho, scale, report.status, seeder, seeding_seconds, solving_seconds, report
        )

    def _seeded(
        self, box: Box, sums: tuple[float, ...], left_out: Buffer, seeder: str, before: Optimum
    ) -> tuple[Buffer | None, Buffer | None]:
        leaving = self._variables(set(left_out) - set(before.left_out))
        entering = self._variables(set(before.left_out) - set(left_out))
        lower, upper = box
        old = AlphaForm(self.dual.changed(beta=before.beta))
        C = AlphaForm(self.dual.changed(lower=lower, upper=upper)).C
        two_groups = self.dual.groups == 2
        round_ = Round(
            self.kernel, old.y, C, self.dual.row, two_groups, sums, old.alpha, before.scores, leaving, entering
        )
        start = seeder_of(seeder)(round_)
        if not adjust(round_, start):
            return None, None
        scores = moved_scores(round_, self.every_row, start, self.pool)
        return old.beta_of(start), scores

    def _scaled(self, box: Box, kept: Kept) -> tuple[Buffer, Buffer]:
        """The optimum at a smaller C, drawn out in proportion: feasible, and its scores need no kernel row."""
        growth = self.param.C / kept.C if self.param.svm_type.has_cost else 1.0
        return scaled_start(self.dual, box, _doubles(kept.beta), _doubles(kept.scores), growth)

    def keep(self) -> Kept:
        """The last round, for a larger C."""
        assert self.solved is not None
        optimum = self.solved.optimum
        return Kept(self.param.C, bytes(optimum.beta), bytes(optimum.scores))

    def _cold(self, left_out: Buffer) -> tuple[Buffer, Buffer]:
        """LIBSVM's start for the rows that take part."""
        gone = set(left_out)
        kept = [i for i in range(len(self.targets)) if i not in gone]
        part = build_dual(self.param, filled("d", (self.targets[i] for i in kept)), *self.costs)
        start = zeros("d", self.dual.size)
        if any(part.beta):
            for v, k in enumerate([*kept, *(len(self.targets) + i for i in kept)][: part.size]):
                start[k] = part.beta[v]
        form = AlphaForm(self.dual.changed(beta=start))
        nothing = Round(
            self.kernel,
            form.y,
            form.C,
            self.dual.row,
            self.dual.groups == 2,
            (0.0, 0.0),
            zeros("d", self.dual.size),
            self.dual.linear,
            left_out,
            left_out,
        )
        return start, moved_scores(nothing, self.every_row, form.alpha, self.pool)

    def _variables(self, rows: set[int]) -> Buffer:
        """The variables of these rows: one each, two in a regression."""
        ordered = sorted(rows)
        if self.dual.size > len(self.targets):
            ordered += [len(self.targets) + i for i in ordered]
        return filled("i", ordered)


def _doubles(raw: bytes) -> Buffer:
    return memoryview(raw).cast("d")
