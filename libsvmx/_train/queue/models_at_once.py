"""Trainings over the same rows, each with targets of its own, by a SolveQueue: their solves, and then their models."""

from __future__ import annotations

from functools import partial

from libsvmx._train import folds
from libsvmx._train.assembly import assemble_single, classifier_of, tell_of_classes
from libsvmx._train.parameter import class_costs
from libsvmx._train.queue.batches import in_batches
from libsvmx._train.queue.pairs_at_once import QueuedPairs
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._typing import Buffer


def trained_models(
    queue: SolveQueue,
    problems: Sequence[Problem],
    param: Parameter,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider,
) -> Iterator[Model]:
    """The models one after the other; the observer is told of their solves in LIBSVM's order.

    ``queue``: of ``queue_of``, empty; ``problems``: the same rows with other targets; ``rand``: as each finds it.
    """
    members = kernels.members(problems[0])
    begun = (partial(WaitingTraining, own, param, members, rand.copy(), observer) for own in problems)
    return in_batches(queue, begun, observer)


class WaitingTraining:
    """A training in a queue; arguments as of ``trained_models``."""

    def __init__(
        self, problem: Problem, param: Parameter, members: Buffer, rand: Rand, observer: Observer, queue: SolveQueue
    ) -> None:
        self.queue, self.problem, self.param, self.solve = queue, problem, param, queue.n_tasks
        self.pairs: QueuedPairs | None = None
        if param.svm_type.is_classification:
            self.classes = folds.group_classes(problem.targets)
            labels = self.classes[0]
            draws = param.probability and len(labels) > 1  # LIBSVM has no estimates of a single class
            costs = class_costs(labels, param, observer)
            self.pairs = QueuedPairs(queue, members, self.classes, costs, rand if draws else None)
        else:
            queue.add(members, -1, 0.0, 0.0, targets=problem.targets)

    def result(self, observer: Observer) -> Model:
        """Its model; the observer is told of it."""
        if self.pairs is None:
            report = self.queue.tell(self.solve, observer)
            return assemble_single(self.problem, self.param, self.queue.coefficients(self.solve), report)
        labels, start, _ = self.classes
        tell_of_classes(labels, start, self.param, observer)
        return classifier_of(self.problem, self.param, self.classes, self.pairs.collect(observer), observer)
