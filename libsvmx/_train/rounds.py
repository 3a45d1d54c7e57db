"""The rounds of a cross-validation over one dual problem: a pair of classes, a one-class SVM or a regression.

Every round is the whole problem with C = 0 for the rows held out. So one kernel serves all rounds, V is kept for all
rows, and the decision values of the held-out rows are there when a round is solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.crew import Crew
from libsvmx._problem.dual import DualProblem
from libsvmx._solvers import smo, warm
from libsvmx._solvers.control import Control
from libsvmx._solvers.seeders import seeder as seeder_of
from libsvmx._solvers.seeding import Round, adjust, moved_scores
from libsvmx._train.formulation import coefficient_sums, held_out, pose

if TYPE_CHECKING:
    from libsvmx._kernels.kernel import Kernel
    from libsvmx._problem.dual import DualSolution
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import Buffer


@dataclass(frozen=True, slots=True)
class Optimum:
    """(beta, V) at an optimum of one dual problem; buffers by variable.

    ``left_out`` are the rows that took no part.
    """

    alpha: Buffer
    scores: Buffer
    left_out: Buffer


@dataclass(frozen=True, slots=True)
class SolvedRound:
    """One round of one dual problem: its problem, its solution, and what the start took."""

    dual: DualProblem
    solution: DualSolution
    seeder: str
    seeding_seconds: float
    solving_seconds: float


class Rounds:
    """Rounds(kernel, param, targets, Cp, Cn, observer, threads=1)

    Parameters
    ----------
    kernel : Kernel                             over the l rows of the problem
    targets : buffer of float64, shape (l,)     of a binary classification > 0 or not
    Cp, Cn : float                              upper bounds of the two classes, C-SVC only
    """

    def __init__(
        self, kernel: Kernel, param: Parameter, targets: Buffer, Cp: float, Cn: float, observer: Observer, threads: int
    ) -> None:
        self.kernel, self.param, self.targets, self.costs = kernel, param, targets, (Cp, Cn)
        self.observer, self.threads = observer, threads
        self.dual = pose(param, targets, Cp, Cn)
        self.every_row = kernel.targets(ramp(kernel.n))
        self.crew = Crew(threads)

    def full(self) -> DualSolution:
        """The optimum over all rows, by LIBSVM's path."""
        return smo.solve(self.dual, self.kernel, self._budget(), self._control(), self.threads)

    def solve(self, left_out: Buffer, seeder: str, before: Optimum | None) -> SolvedRound:
        """The round without the rows ``left_out``, from the optimum ``before``, or from nothing."""
        began = perf_counter()
        C = held_out(self.dual, left_out)
        sums = coefficient_sums(self.param, len(self.targets) - len(left_out))
        start = None
        if before is not None and seeder != "none":
            start, scores = self._seeded(C, sums, left_out, seeder, before)
        if start is None:
            seeder = "none"
            start, scores = self._cold(C, left_out)
        dual = DualProblem(self.dual.y, self.dual.linear, C, start, self.dual.index, self.dual.split, scores)
        seeded = perf_counter()
        solution = warm.solve(dual, self.kernel, self._budget(), self._control(), self.threads)
        return SolvedRound(dual, solution, seeder, seeded - began, perf_counter() - seeded)

    def _seeded(
        self, C: Buffer, sums: tuple[float, ...], left_out: Buffer, seeder: str, before: Optimum
    ) -> tuple[Buffer | None, Buffer | None]:
        leaving = self._variables(set(left_out) - set(before.left_out))
        entering = self._variables(set(before.left_out) - set(left_out))
        dual = self.dual
        round_ = Round(
            self.kernel, dual.y, C, dual.index, dual.split, sums, before.alpha, before.scores, leaving, entering
        )
        start = seeder_of(seeder)(round_)
        if not adjust(round_, start):
            return None, None
        return start, moved_scores(round_, self.every_row, start, self.crew)

    def _cold(self, C: Buffer, left_out: Buffer) -> tuple[Buffer, Buffer]:
        """LIBSVM's start for the rows that take part."""
        gone = set(left_out)
        kept = [i for i in range(len(self.targets)) if i not in gone]
        part = pose(self.param, filled("d", (self.targets[i] for i in kept)), *self.costs)
        start = zeros("d", self.dual.size)
        if any(part.alpha):
            for v, k in enumerate([*kept, *(len(self.targets) + i for i in kept)][: part.size]):
                start[k] = part.alpha[v]
        nothing = Round(
            self.kernel,
            self.dual.y,
            C,
            self.dual.index,
            self.dual.split,
            (0.0, 0.0),
            zeros("d", self.dual.size),
            self.dual.linear,
            left_out,
            left_out,
        )
        return start, moved_scores(nothing, self.every_row, start, self.crew)

    def _variables(self, rows: set[int]) -> Buffer:
        """The variables of these rows: one each, two in a regression."""
        ordered = sorted(rows)
        if self.dual.size > len(self.targets):
            ordered += [len(self.targets) + i for i in ordered]
        return filled("i", ordered)

    def _budget(self) -> float:
        return self.param.cache_size * (1 << 20)

    def _control(self) -> Control:
        param, observer = self.param, self.observer
        return Control(
            param.eps, param.shrinking, param.max_iter, param.time_limit, observer.mark, observer.should_stop
        )
