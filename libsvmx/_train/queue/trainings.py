"""Many trainings over parts of the same rows in a SolveQueue, for their models or as the folds of a cross-validation.

The queue is filled and run in batches, to limit memory.
"""

from __future__ import annotations

from functools import partial

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._train import probability
from libsvmx._train.assembly import assemble_single, classifier_of, solves_of
from libsvmx._train.decision import most_probable
from libsvmx._train.formulation import support_vectors
from libsvmx._train.observer import Remark, hears
from libsvmx._train.prediction import labels_of
from libsvmx._train.queue.duals import QueuedTraining
from libsvmx._train.zero_weights import of_whole
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Protocol, TypeVar

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.duals import KnownOptima
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.repeated_folds import Fold, Folds
    from libsvmx._typing import Buffer

    Result = TypeVar("Result", covariant=True)

    class Queued(Protocol[Result]):
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
    if param.probability and not param.svm_type.is_classification:
        return None
    return kernels.queue(param, observer, n_solves, problem.sample_weight is not None, predicted_often)


def queue_of_folds(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    observer: Observer,
    kernels: KernelProvider,
    validations: int = 1,
) -> SolveQueue | None:
    """A queue for the folds of several cross-validations, or None if a queue is unsuitable."""
    n_classes = len(set(problem.targets)) if param.svm_type.is_classification else 2
    n_solves = validations * n_folds * solves_of(n_classes, param.probability)
    return queue_of(problem, param, n_solves, observer, kernels, validations > 1 or param.probability)


def in_batches(
    queue: SolveQueue, begun: Iterable[Callable[[SolveQueue], Queued[Result]]], observer: Observer
) -> Iterator[Result]:
    """The results of trainings, in order; their solves are reported in LIBSVM's order. Each of ``begun`` adds its
    solves to the queue given to it.

    ``queue``: the first one, empty.
    """
    waiting: list[Queued[Result]] = []
    most_rows = queue.param.policy.rows_in_queue
    for begin in begun:
        if queue.n_rows >= most_rows:
            queue.run()
            yield from (training.result(observer) for training in waiting)
            queue, waiting = queue.another(), []
        waiting.append(begin(queue))
    queue.run()
    yield from (training.result(observer) for training in waiting)


def solved_folds(
    queue: SolveQueue,
    validations: Iterable[Folds],
    param: Parameter,
    observer: Observer,
    kernels: KernelProvider,
    known: KnownOptima | None = None,
    inner: str = "",
) -> Iterator[QueuedFold]:
    """The folds, in order. Raises Stopped.

    ``queue``: of ``queue_of_folds``, empty; ``validations``: over the same rows; ``known``: warm starts of the folds;
    ``inner``: see QueuedPairs.
    """

    def begun() -> Iterator[Callable[[SolveQueue], QueuedFold]]:
        for own in validations:
            members = kernels.members(own.problem)
            for fold in own.each:
                held_out = take_int32(members, fold.held_out)
                yield partial(QueuedFold, own, fold, held_out, param, kernels, observer, known, inner)

    return in_batches(queue, begun(), observer)


class QueuedFold:
    """One of ``own.each`` in a queue. ``held_out``: rows of ``queue.kernel_values``; other arguments of
    ``solved_folds``.

    Attributes
    ----------
    predicted : buffer of float64      of the held-out rows, once there is a ``result``
    values : buffer of float64         their decision values by pairs of ``labels``, likewise
    labels : list of int               of the classes of the other rows; empty without classes
    """

    __slots__ = ("fold", "labels", "n_held", "number", "own", "param", "predicted", "queue", "training", "values")
    predicted: Buffer
    values: Buffer

    def __init__(
        self,
        own: Folds,
        fold: Fold,
        held_out: Buffer,
        param: Parameter,
        kernels: KernelProvider,
        observer: Observer,
        known: KnownOptima | None,
        inner: str,
        queue: SolveQueue,
    ) -> None:
        self.own, self.fold, self.param = own, fold, param
        self.queue, self.number, self.n_held = queue, queue.n_folds, len(held_out)
        rest = own.problem.take(fold.rest)
        self.training = QueuedTraining(queue, kernels, rest, param, observer, own.rand, known, inner)
        self.labels = self.training.labels
        queue.add_fold(self.training.rows, self.training.start, self.training.own, held_out)

    def result(self, observer: Observer) -> QueuedFold:
        """Itself with its predictions, reported to the observer. Raises Stopped if unfinished."""
        queue, training, n, k = self.queue, self.training, self.n_held, len(self.labels)
        if not queue.fold_is_done(self.number) or not training.have_sigmoids():
            raise Stopped(queue.stopped or SolveStatus.INTERRUPTED)
        self.values = queue.fold_values(self.number)
        found = training.collect(observer, for_model=False)
        if k and hears(observer, "total_sv"):
            observer.total_sv(len(support_vectors(found.betas, training.start, training.rows)[0]))
        if found.sigmoids is None:
            self.predicted = labels_of(self.param, self.labels, self.values, n)
            return self
        a, b = (filled("d", (sigmoid[part] for sigmoid in found.sigmoids)) for part in (0, 1))
        estimates, unfinished = probability.class_probabilities(self.values, n, k, a, b)
        if unfinished:
            observer.remark(Remark.COUPLING_LIMIT, str(unfinished))
        self.predicted = most_probable(self.labels, estimates, n)
        return self

    @property
    def figures(self) -> dict[str, Any]:
        """The fields of a FoldReport."""
        first, last = self.training.solves.start, self.training.solves.stop
        figures, seconds = self.queue.sums(first, last), self.queue.seeding_seconds(first, last)
        del figures["n_bsv"]
        figures.update(seeder=self.seeder, seeding_seconds=seconds, solving_seconds=figures.pop("seconds") - seconds)
        return figures

    @property
    def seeder(self) -> str:
        """The seeder of its starts: 'ato' if any of them followed a path."""
        return self.queue.seeder_of(self.training.own)


def queued_models(
    queue: SolveQueue,
    trainings: Iterable[tuple[Problem, Parameter, Rand]],
    observer: Observer,
    kernels: KernelProvider,
) -> Iterator[Model]:
    """The models, in order. ``queue``: of ``kernels``, empty; each training with the random numbers that draw its inner
    folds."""
    begun = (partial(QueuedModel, problem, param, rand, kernels, observer) for problem, param, rand in trainings)
    return in_batches(queue, begun, observer)


class QueuedModel:
    """QueuedModel(problem, param, rand, kernels, observer, queue): a training in a queue, for its model."""

    def __init__(
        self,
        problem: Problem,
        param: Parameter,
        rand: Rand,
        kernels: KernelProvider,
        observer: Observer,
        queue: SolveQueue,
    ) -> None:
        self.param, self.training = param, QueuedTraining(queue, kernels, problem, param, observer, rand)

    def result(self, observer: Observer) -> Model:
        """Its model, reported to the observer."""
        training, (problem, param) = self.training, self.training.counting
        found = training.collect(observer)
        if training.labels:
            model = classifier_of(problem, param, training.classes, found, observer)
        else:
            model = assemble_single(problem, param, found.betas, found.reports[0])
        return model if training.part is None else of_whole(model, training.part, self.param)
