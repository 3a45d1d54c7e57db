"""Where the solve of a fold starts: from nothing, from an optimum that is known by a seeder, or from a smaller C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from libsvmx._core.arrays import ramp, take_float64
from libsvmx._core.buffers import filled, zeros
from libsvmx._problem.dual import scaled_start
from libsvmx._solvers.seeding.ato_path import PathBudget, most_in_star
from libsvmx._solvers.seeding.fold_change import FoldChange, moved_scores
from libsvmx._solvers.seeding.seeders import start_of
from libsvmx._train.formulation import build_dual

if TYPE_CHECKING:
    from libsvmx._kernels.kernel_matrix import Kernel, Targets
    from libsvmx._problem.dual import DualProblem
    from libsvmx._solvers.control import Control
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import Buffer

OF_ROUNDING = 1e-9  # relative to a bound: what may be beyond it


@dataclass(frozen=True, slots=True)
class Optimum:
    """(beta, V) at an optimum of one dual problem; buffers by variable.

    ``left_out`` are the rows that took no part.
    """

    beta: Buffer
    scores: Buffer
    left_out: Buffer


@dataclass(frozen=True, slots=True)
class OptimumAtC:
    """A fold's optimum at ``C``, for a larger one, that can be pickled: beta and V as bytes of float64."""

    C: float
    beta: bytes
    scores: bytes


class Start(NamedTuple):
    """A feasible beta, V there, and what made it: 'none', 'C', or a seeder."""

    beta: Buffer
    scores: Buffer
    seeder: str


class FoldStarts:
    """FoldStarts(kernel, full, param, targets, costs, sample_weight=None)

    Parameters
    ----------
    kernel : Kernel                             over the l rows of the problem
    full : DualProblem                          over all of them
    targets : buffer of float64, shape (l,)
    costs : (float, float)                      upper bounds of the two classes, C-SVC only
    sample_weight : buffer of float64, shape (l,), or None

    ``fold`` below is the problem with the box of a fold, ``control`` what its start and its solve ask: Stopped ends the
    start.

    Attributes
    ----------
    work_from_nothing : float      values that a solve from nothing works on; inf while there was none
    budget : PathBudget            of paths in a chain, None before there was one
    last : FoldChange or None      that of the last start, if a seeder made it
    """

    def __init__(
        self,
        kernel: Kernel,
        full: DualProblem,
        param: Parameter,
        targets: Buffer,
        costs: tuple[float, float],
        sample_weight: Buffer | None = None,
    ) -> None:
        self.kernel, self.full, self.param, self.targets, self.costs = kernel, full, param, targets, costs
        self.sample_weight = sample_weight
        self.work_from_nothing = inf
        self.budget: PathBudget | None = None
        self.last: FoldChange | None = None

    def over(self, kernel: Kernel) -> FoldStarts:
        """The same over another kernel of these rows."""
        other = FoldStarts(kernel, self.full, self.param, self.targets, self.costs, self.sample_weight)
        other.work_from_nothing = self.work_from_nothing
        return other

    @cached_property
    def every_row(self) -> Targets:
        """All rows of the kernel, to move the scores of all variables."""
        return self.kernel.targets(ramp(self.kernel.n))

    def from_nothing(self, left_out: Buffer, control: Control) -> Start:
        """LIBSVM's start for the rows that take part."""
        self.last = None
        gone, n_rows = set(left_out), len(self.targets)
        present = [i for i in range(n_rows) if i not in gone]
        rest, weights = filled("i", present), self.sample_weight
        part = build_dual(
            self.param,
            take_float64(self.targets, rest),
            *self.costs,
            None if weights is None else take_float64(weights, rest),
        )
        start = zeros("d", self.full.size)
        if any(part.beta):
            for beta, v in zip(part.beta, [*present, *(n_rows + i for i in present)], strict=False):
                start[v] = beta
        nothing = FoldChange(
            self.kernel,
            self.full,
            (0.0, 0.0),
            zeros("d", self.full.size),
            self.full.linear,
            left_out,
            left_out,
            control,
            self.every_row,
        )
        return Start(start, moved_scores(nothing, start), "none")

    def from_optimum(
        self,
        fold: DualProblem,
        sums: tuple[float, ...],
        left_out: Buffer,
        seeder: str,
        known: Optimum,
        control: Control,
    ) -> Start | None:
        """By a seeder from the optimum of another fold or over all rows; None if it cannot be made feasible."""
        leaving = self._variables(set(left_out) - set(known.left_out))
        entering = self._variables(set(known.left_out) - set(left_out))
        change = FoldChange(
            self.kernel,
            fold,
            sums,
            known.beta,
            known.scores,
            leaving,
            entering,
            control,
            self.every_row,
            self._most_work(seeder, len(left_out), len(entering)),
        )
        self.last = change
        start = start_of(change, seeder)
        return None if start is None else Start(start[0], start[1], seeder)

    def _most_work(self, seeder: str, n_left_out: int, n_entering: int) -> float:
        """As of FoldChange. In a star all folds are alike, lest they depend on each other."""
        if seeder != "ato":
            return self.work_from_nothing
        if not n_entering:
            return most_in_star(self.work_from_nothing)
        if self.budget is None:
            self.budget = PathBudget(len(self.targets) / max(1, n_left_out))
        return self.budget.allowed(self.work_from_nothing)

    def solved(self, work: float, in_star: bool) -> None:
        """The fold is solved whose start was asked for last; ``work``: values that the solver worked on."""
        if self.last is None:
            if not in_star:
                self.work_from_nothing = work
        elif self.budget is not None and not in_star:
            change = self.last
            self.budget.solved(change.path_work >= 0, change.path_whole, change.path_work, work)

    def from_smaller_C(self, fold: DualProblem, warm: OptimumAtC) -> Start | None:
        """The same fold's optimum at a smaller C, drawn out in proportion: feasible, and V needs no kernel row.

        None if it is not one of as many variables, or not within its box: it may be read from a file.
        """
        if not len(warm.beta) == len(warm.scores) == 8 * fold.size:
            return None
        growth = self.param.C / warm.C if self.param.svm_type.has_cost else 1.0
        known, factor = _doubles(warm.beta), growth * (1 - OF_ROUNDING)
        within = (low <= factor * b <= high for b, low, high in zip(known, fold.lower, fold.upper, strict=True))
        if not all(within):
            return None
        beta, scores = scaled_start(fold, (fold.lower, fold.upper), known, _doubles(warm.scores), growth)
        return Start(beta, scores, "C")

    def _variables(self, rows: set[int]) -> Buffer:
        """The variables of these rows: one each, two in a regression."""
        ordered = sorted(rows)
        if self.full.size > len(self.targets):
            ordered += [len(self.targets) + i for i in ordered]
        return filled("i", ordered)


def _doubles(raw: bytes) -> Buffer:
    return memoryview(raw).cast("d")
