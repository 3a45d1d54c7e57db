"""What a training asks of inner folds that do not start from nothing; validation/seeded_inner_folds.py has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from libsvmx._train.assembly import Pairs
    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.reports import Recovered
    from libsvmx._train.warm_start import WarmStart
    from libsvmx._typing import Buffer


class SingleOptimum(Protocol):
    """The optimum of a regression over all rows, from which its inner folds start."""

    @property
    def found(self) -> Recovered:
        """Its coefficients."""

    def predicted(self, rand: Rand) -> Buffer:
        """Predictions of the rows, each by the inner fold without it, as ``rand`` draws them. Raises Stopped."""


class InnerFolds(Protocol):
    """Inner folds of probability estimates that start from the optimum over all their rows; all rows count."""

    @property
    def in_queue(self) -> bool:
        """Whether a queue does what was asked for."""

    @property
    def seeder(self) -> str:
        """As of ``TaskList.seed_by``."""

    def scheme_in_queue(self, param: Parameter) -> str:
        """How inner folds start there, as of QueuedPairs."""

    def pairs(
        self,
        problem: Problem,
        param: Parameter,
        classes: tuple[list[int], list[int], Buffer],
        costs: list[float],
        rand: Rand,
        observer: Observer,
        kernels: KernelProvider,
        warm: WarmStart | None,
    ) -> Pairs:
        """The solves of a classifier that are in no queue; arguments as of ``pairs_side_by_side``."""

    def single(
        self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider, warm: WarmStart | None
    ) -> SingleOptimum:
        """The solve of a regression; arguments as of ``solve_binary``."""
