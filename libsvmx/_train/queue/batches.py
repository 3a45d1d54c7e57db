"""A queue for many trainings over parts of the same rows, filled and run in batches to limit memory."""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SvmType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol, TypeVar

    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue

    Result = TypeVar("Result", covariant=True)

    class Waiting(Protocol[Result]):
        """A training whose solves are in a queue; ``result`` reports them to the observer after the queue has run."""

        def result(self, observer: Observer) -> Result: ...


def queue_of(
    problem: Problem,
    param: Parameter,
    n_solves: int,
    observer: Observer,
    kernels: KernelProvider,
    predicted_often: bool = False,
) -> SolveQueue | None:
    """A queue for trainings with ``n_solves`` solves in total, or None if a queue is unsuitable.

    ``predicted_often``: see ``KernelProvider.queue``.
    """
    weights, costs = problem.sample_weight, [1.0]
    if param.svm_type == SvmType.C_SVC:
        costs = [param.C, *(param.C * weight for _, weight in param.weights)]
    if min(costs) * (1.0 if weights is None else min(weights, default=1.0)) <= 0:
        return None  # rows of weight 0
    if param.probability and not param.svm_type.is_classification:
        return None
    return kernels.queue(param, observer, n_solves, weights is not None, predicted_often)


def in_batches(
    queue: SolveQueue, begun: Iterable[Callable[[SolveQueue], Waiting[Result]]], observer: Observer
) -> Iterator[Result]:
    """The results of trainings, in order; each of ``begun`` adds its solves to the queue given to it.

    ``queue``: the first one, empty.
    """
    waiting: list[Waiting[Result]] = []
    most_rows = queue.param.policy.rows_in_queue
    for begin in begun:
        if queue.n_rows >= most_rows:
            queue.run()
            yield from (training.result(observer) for training in waiting)
            queue, waiting = queue.another(), []
        waiting.append(begin(queue))
    queue.run()
    yield from (training.result(observer) for training in waiting)
