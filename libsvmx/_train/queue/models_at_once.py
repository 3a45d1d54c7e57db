"""Many trainings over the same rows in a SolveQueue."""

from __future__ import annotations

from functools import partial

from libsvmx._core.buffers import zeros
from libsvmx._train import folds
from libsvmx._train.assembly import assemble_single, classifier_of, tell_of_classes
from libsvmx._train.parameter import class_costs
from libsvmx._train.queue.batches import in_batches
from libsvmx._train.queue.pairs_at_once import QueuedPairs
from libsvmx._train.training import of_whole
from libsvmx._train.zero_weights import counting_part
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.many import Training
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.queue.solve_queue import SolveQueue


def trained_models(
    queue: SolveQueue, trainings: Sequence[Training], rand: Rand, observer: Observer, kernels: KernelProvider
) -> Iterator[Model]:
    """The models, in order; their solves are reported in LIBSVM's order.

    ``queue``: of ``kernels``, empty; ``rand``: its state at the begin of each training.
    """
    begun = (partial(WaitingTraining, own, kernels, rand.copy(), observer) for own in trainings)
    return in_batches(queue, begun, observer)


class WaitingTraining:
    """A training in a queue; arguments of ``trained_models``."""

    def __init__(
        self, training: Training, kernels: KernelProvider, rand: Rand, observer: Observer, queue: SolveQueue
    ) -> None:
        problem, param, _ = training
        self.queue, self.solve, self.param = queue, queue.n_tasks, param
        self.part = counting_part(problem, param, observer)
        if self.part is not None:
            problem, param = self.part.problem, self.part.param
        self.counting = problem, param
        members, by_row = kernels.members(problem), None
        if problem.sample_weight is not None:
            by_row = zeros("d", queue.kernel_values.n)
            folds.put_rows(by_row, members, problem.sample_weight, 1)
        queue.belong_to(param, by_row)
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
        """Its model, reported to the observer."""
        problem, param = self.counting
        if self.pairs is None:
            report = self.queue.tell(self.solve, observer)
            model = assemble_single(problem, param, self.queue.coefficients(self.solve), report)
        else:
            labels, start, _ = self.classes
            tell_of_classes(labels, start, param, observer)
            model = classifier_of(problem, param, self.classes, self.pairs.collect(observer), observer)
        return model if self.part is None else of_whole(model, self.part, self.param)
