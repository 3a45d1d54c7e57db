"""The folds of a cross-validation in a SolveQueue: their solves, inner folds and decision values."""

from __future__ import annotations

from functools import partial

from libsvmx._core.arrays import take_float64, take_int32
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._train import folds, probability
from libsvmx._train.assembly import solves_of, tell_of_classes
from libsvmx._train.decision import most_probable
from libsvmx._train.formulation import support_vectors
from libsvmx._train.observer import Remark, hears
from libsvmx._train.prediction import labels_of
from libsvmx._train.queue.batches import in_batches, queue_of
from libsvmx._train.queue.pairs_at_once import NO_CLASSES, QueuedPairs
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from libsvmx._train.drawn_folds import Fold, Folds
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.pairs_at_once import KnownOptima
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._typing import Buffer

    Costs = Callable[[list[int]], list[float]]


def queue_of_folds(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    observer: Observer,
    kernels: KernelProvider,
    validations: int = 1,
) -> SolveQueue | None:
    """A queue for the folds of several cross-validations, or None if a queue is unsuitable."""
    n_solves = validations * n_folds * solves_of_a_fold(problem, param)
    return queue_of(problem, param, n_solves, observer, kernels, validations > 1 or param.probability)


def solves_of_a_fold(problem: Problem, param: Parameter) -> int:
    """Number of dual problems of a training, including those of its probability estimates."""
    return solves_of(len(set(problem.targets)) if param.svm_type.is_classification else 2, param.probability)


def solved_folds(
    queue: SolveQueue,
    validations: Iterable[Folds],
    param: Parameter,
    observer: Observer,
    kernels: KernelProvider,
    costs_of: Costs,
    known: KnownOptima | None = None,
    inner: str = "",
) -> Iterator[QueuedFold]:
    """The folds, in order; their solves are reported in LIBSVM's order. Raises Stopped.

    ``queue``: of ``queue_of_folds``, empty; ``validations``: over the same rows; ``costs_of``: C of each class of a
    list; ``known``: warm starts of the folds; ``inner``: see QueuedPairs.
    """

    def begun() -> Iterator[Callable[[SolveQueue], QueuedFold]]:
        for own in validations:
            members = kernels.members(own.problem)
            for fold in own.each:
                yield partial(QueuedFold, own, fold, param, members, costs_of, known, inner)

    return in_batches(queue, begun(), observer)


class QueuedFold:
    """One of ``own.each`` in a queue; other arguments of ``solved_folds``.

    Attributes
    ----------
    predicted : buffer of float64      of the held-out rows, once there is a ``result``
    values : buffer of float64         their decision values by pairs of ``labels``, likewise
    labels : list of int               of the classes of the other rows; empty without classes
    """

    predicted: Buffer
    values: Buffer

    def __init__(
        self,
        own: Folds,
        fold: Fold,
        param: Parameter,
        members: Buffer,
        costs_of: Costs,
        known: KnownOptima | None,
        inner: str,
        queue: SolveQueue,
    ) -> None:
        others = fold.rest
        targets, rest = take_float64(own.problem.targets, others), take_int32(members, others)
        held_out = take_int32(members, fold.held_out)
        self.queue, self.param, self.number = queue, param, queue.n_folds
        self.n_held, self.first = len(held_out), queue.n_tasks
        self.labels: list[int] = []
        self.pairs: QueuedPairs | None = None
        if known is not None:
            known.prepare(queue)
        if param.svm_type.is_classification:
            classes = folds.group_classes(targets)
            self.labels, self.start = classes[:2]
            costs = costs_of(self.labels)
            drawn_by = own.rand if param.probability else None
            self.pairs = QueuedPairs(queue, rest, classes, costs, drawn_by, known, inner)
            rest = self.pairs.rows
            self.solves: Sequence[int] = self.pairs.own
        else:
            self.start = [0, len(rest)]
            parent, chained = (known.parents_of(NO_CLASSES)[0], known.chained) if known else (-1, False)
            self.solves = [queue.add(rest, -1, 0.0, 0.0, targets=targets, parent=parent, chained=chained)]
            if known:
                known.note(NO_CLASSES, self.solves)
        queue.add_fold(rest, self.start, self.solves, held_out)
        self.last = queue.n_tasks

    def result(self, observer: Observer) -> QueuedFold:
        """Itself with its predictions, reported to the observer. Raises Stopped if unfinished."""
        queue, n, k = self.queue, self.n_held, len(self.labels)
        if not queue.fold_is_done(self.number) or (self.pairs and not self.pairs.have_sigmoids()):
            raise Stopped(queue.stopped or SolveStatus.INTERRUPTED)
        self.values = queue.fold_values(self.number)
        if self.pairs is None:
            queue.tell(self.first, observer)
            self.predicted = labels_of(self.param, (), self.values, n)
            return self
        tell_of_classes(self.labels, self.start, self.param, observer)
        found = self.pairs.collect(observer, for_model=False)
        if hears(observer, "total_sv"):
            observer.total_sv(len(support_vectors(found.betas, self.start, self.pairs.rows)[0]))
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
    def report(self) -> SolveReport:
        """The summed report of its solves."""
        return self.queue.summed(self.first, self.last)

    @property
    def seeder(self) -> str:
        """The seeder of its starts: 'ato' if any of them followed a path."""
        return self.queue.seeder_of(self.solves)

    @property
    def seeding_seconds(self) -> float:
        return self.queue.seeding_seconds(self.first, self.last)
