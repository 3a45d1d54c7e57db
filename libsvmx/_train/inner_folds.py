"""What a training asks of inner folds that do not start from nothing; validation/seeded_inner_folds.py has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.solve_dual import Recovered
    from libsvmx._train.warm_start import NumberOfDual, WarmStart
    from libsvmx._typing import Buffer


class DualOptimum(Protocol):
    """The optimum of a dual problem over all rows, from which its inner folds start."""

    @property
    def found(self) -> Recovered:
        """Its coefficients."""

    def values(self, order: Buffer, bounds: list[int], f: int, observer: Observer, parallel: int) -> Buffer:
        """Of a pair of classes, decision values of the rows order[bounds[f]:bounds[f+1]] by the fold without them;
        ``parallel``: so many folds are solved at a time. Raises Stopped."""

    def predicted(self, rand: Rand) -> Buffer:
        """Of a regression, predictions of the rows, each by the inner fold without it, as ``rand`` draws them. Raises
        Stopped."""


class InnerFolds(Protocol):
    """Inner folds of probability estimates that start from the optimum over all their rows; all rows count."""

    @property
    def in_queue(self) -> bool:
        """Whether a queue does what was asked for."""

    @property
    def seeder(self) -> str:
        """As of ``TaskList.seed_by``."""

    @property
    def in_turn(self) -> bool:
        """Whether those of a dual problem know of each other."""

    def scheme_in_queue(self, param: Parameter) -> str:
        """How inner folds start there, as of QueuedPairs."""

    def optimum(
        self,
        problem: Problem,
        param: Parameter,
        costs: tuple[float, float],
        observer: Observer,
        kernels: KernelProvider,
        warm: WarmStart | None,
        number: NumberOfDual = (0, 0),
    ) -> DualOptimum:
        """The solve of a regression, or of a pair of classes, that is in no queue; as of ``solve_binary``."""
