"""The dual problems of a training in a SolveQueue, and the optima that they start from.

QueuedPairs has those of all pairs of classes, QueuedTraining also the single one of one-class and regression. In a Star
each dual problem is first solved over all rows, and all folds start from that optimum, independently of each other. In
a Chain a fold starts from the previous one, so that the solves of a pair of classes are done in turn. The seeder
(_solvers/seeding) redistributes the coefficients of rows that leave.
"""

from __future__ import annotations

from itertools import pairwise

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import zeros
from libsvmx._core.stopping import Stopped
from libsvmx._train import folds
from libsvmx._train.assembly import Pairs, tell_of_classes
from libsvmx._train.observer import Observer, Remark, hears
from libsvmx._train.parameter import Parameter, class_costs
from libsvmx._train.queue.starts import PairNumbers
from libsvmx._train.solve_report import NUMBERS, SolveReports
from libsvmx._train.zero_weights import counting_part
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._typing import Buffer

    KnownOptima: TypeAlias = "Star | Chain"


# Stands for the classes of a solve without classes.
NO_CLASSES = (0, 1)


def solved_pairs(
    queue: SolveQueue,
    members: Buffer,
    classes: tuple[list[int], list[int], Buffer],
    costs: list[float],
    rand: Rand | None,
    observer: Observer,
    inner: str = "",
) -> Pairs:
    """Solve all pairs of a training, in batches if they are many; reports are in LIBSVM's order.

    ``queue``: empty; other arguments of QueuedPairs.
    """
    param, n = queue.param, len(classes[0]) * (len(classes[0]) - 1) // 2
    batch = max(1, param.policy.pairs_in_queue) if rand is None else max(1, n)
    if n <= batch:
        queued = QueuedPairs(queue, members, classes, costs, rand, inner=inner)
        queue.run()
        return queued.collect(observer)
    together: list[SolveReport] = []  # all reports, once a solve has not gone well
    for first in range(0, n, batch):
        own = queue.another()  # no two batches at a time: the caller holds ``queue``
        queued = QueuedPairs(own, members, classes, costs, rand, part=(first, min(first + batch, n)))
        own.run()
        found = queued.collect(observer)
        del own, queued
        if first == 0:  # in one piece, as parts and their sum would be twice as much: there may be 100 MB
            betas, at, not_begun = zeros("d", (len(classes[0]) - 1) * len(members)), 0, 0
            numbers, width = zeros("d", n * len(NUMBERS)), len(NUMBERS)
        betas[at : at + len(found.betas)] = found.betas
        at += len(found.betas)
        not_begun += found.not_begun
        if isinstance(found.reports, SolveReports) and not together:
            alike = found.reports
            numbers[first * width : (first + len(alike)) * width] = alike.numbers
        else:
            together += [*(alike.like(numbers[: first * width]) if first and not together else ()), *found.reports]
    return Pairs(betas, together or alike.like(numbers), None, not_begun)


class QueuedPairs:
    """QueuedPairs(queue, members, classes, costs, rand, known, inner, part): adds the solves of a classifier to a
    queue.

    Parameters
    ----------
    members : buffer of int32      row of ``queue.kernel_values`` of each row of the problem
    classes : (labels, start, order) of ``folds.group_classes``
    costs : list of float          C of each class
    rand : Rand or None            draws the inner folds, in LIBSVM's order; None: no probability estimates
    known : Star, Chain or None    warm starts of the pairs
    inner : str                    inner folds start from their pair's optimum: 'star'; from the previous one: 'chain';
        cold: ''
    part : (int, int) or None      range of pairs; None: all. Only for cold starts without inner folds

    Attributes
    ----------
    labels, start : list of int    of ``classes``
    rows : buffer of int32         ``members`` grouped by class
    own : sequence of int          solve of each pair
    inner : list of range          inner folds of each pair; empty without probability estimates
    solves : range                 all of these
    """

    __slots__ = ("classes", "inner", "labels", "own", "queue", "rows", "sigmoids", "solves", "start")

    def __init__(
        self,
        queue: SolveQueue,
        members: Buffer,
        classes: tuple[list[int], list[int], Buffer],
        costs: list[float],
        rand: Rand | None,
        known: KnownOptima | None = None,
        inner: str = "",
        part: tuple[int, int] | None = None,
    ) -> None:
        labels, start, order = self.classes = classes
        n, begin = len(labels) * (len(labels) - 1) // 2, queue.n_tasks
        parents, chained = (known.parents_of(labels), known.chained) if known else (None, False)
        self.queue, self.labels, self.start, self.rows = queue, labels, start, take_int32(members, order)
        self.sigmoids = None if rand is None else range(queue.n_sigmoids, queue.n_sigmoids + n)
        self.own = queue.add_pairs(self.rows, start, costs, *(part or (0, n)), parents, chained, rand, inner)
        if known is not None:
            known.note(labels, self.own)
        self.solves = range(begin, queue.n_tasks)
        self.inner: list[range] = []
        if rand is not None:  # inner folds are between their pair's solve and the next, or the previous one and theirs
            ends = [*self.own, queue.n_tasks] if inner == "star" else [begin - 1, *self.own]
            self.inner = [range(one + 1, other) for one, other in pairwise(ends)]

    def have_sigmoids(self) -> bool:
        """Whether all requested sigmoids and their functions are finished, i.e. the queue was not stopped before."""
        queue = self.queue
        whole = queue.stopped is None or all(map(queue.has_ended, self.own))
        return whole and all(map(queue.sigmoid_is_done, self.sigmoids or ()))

    def collect(self, observer: Observer, for_model: bool = True) -> Pairs:
        """The results, after the queue has run, reported in LIBSVM's order.

        ``for_model``: return coefficients and reports; else only those that the observer needs.
        """
        queue, heard = self.queue, hears(observer, "solved") or hears(observer, "mark")
        wanted = self.own and (for_model or hears(observer, "total_sv"))
        betas = queue.coefficients(self.own[0], self.own[-1]) if wanted else zeros("d", 0)
        well = queue.all_went_well(self.solves.start, self.solves.stop - 1)
        each = heard or (for_model and (not well or bool(queue.chosen())))
        sigmoids: list[tuple[float, float]] | None = [] if self.sigmoids is not None and self.have_sigmoids() else None
        reports: list[SolveReport] = []
        not_begun = 0
        for k, solve in enumerate(self.own) if each or not well or sigmoids is not None else ():
            for inner in self.inner[k] if self.inner and (heard or not well) else ():
                if heard or not queue.went_well(inner):
                    observer.total_sv(queue.tell(inner, observer).n_sv)  # a separate training in LIBSVM
            if sigmoids is not None and self.sigmoids is not None:
                a, b, trouble = queue.sigmoid(self.sigmoids[k])
                if trouble:
                    observer.remark(Remark(trouble))
                sigmoids.append((a, b))
            not_begun += not queue.was_begun(solve)
            if each or not queue.went_well(solve):
                reports.append(queue.tell(solve, observer))
        if well and for_model:  # without an object per solve
            return Pairs(betas, queue.reports(self.own), sigmoids, 0)
        return Pairs(betas, reports, sigmoids, not_begun)


class QueuedTraining(QueuedPairs):
    """QueuedTraining(queue, kernels, problem, param, observer, rand, known, inner): adds the solves of a training to a
    queue, as of QueuedPairs; those without classes have no ``labels``, and one solve.

    Parameters
    ----------
    kernels : KernelProvider       that the queue is of
    param : Parameter              may differ from the queue's in C, p, tau and class weights
    rand : Rand                    used only for probability estimates

    Attributes
    ----------
    part : CountingPart or None    of ``problem``; ``counting``, (problem, parameters) of what is trained
    """

    __slots__ = ("counting", "part")

    def __init__(
        self,
        queue: SolveQueue,
        kernels: KernelProvider,
        problem: Problem,
        param: Parameter,
        observer: Observer,
        rand: Rand | None = None,
        known: KnownOptima | None = None,
        inner: str = "",
    ) -> None:
        self.part = counting_part(problem, param, observer)
        if self.part is not None:
            problem, param = self.part.problem, self.part.param
        self.counting = problem, param
        members, targets, by_row = kernels.members(problem), problem.targets, None
        if problem.sample_weight is not None:
            by_row = zeros("d", queue.kernel_values.n)
            folds.put_rows(by_row, members, problem.sample_weight, 1)
        queue.belong_to(param, by_row)
        if known is not None:
            known.prepare(queue)
        if param.svm_type.is_classification:
            classes = folds.group_classes(targets)
            costs = class_costs(classes[0], param, observer)
            super().__init__(queue, members, classes, costs, rand if param.probability else None, known, inner)
            return
        parent, chained = (known.parents_of(NO_CLASSES)[0], known.chained) if known else (-1, False)
        own = queue.add(members, -1, 0.0, 0.0, targets=targets, parent=parent, chained=chained)
        self.queue, self.rows, self.labels, self.start = queue, members, [], [0, len(members)]
        self.own, self.solves, self.inner, self.sigmoids = [own], range(own, own + 1), [], None
        if known is not None:
            known.note(NO_CLASSES, self.own)

    def collect(self, observer: Observer, for_model: bool = True) -> Pairs:
        if self.labels:
            tell_of_classes(self.labels, self.start, self.counting[1], observer)
        return super().collect(observer, for_model)


class Star:
    """Star(queue, kernels, problem, observer, decides=False, for_model=False): solves the dual problems over all rows.

    Parameters
    ----------
    queue : SolveQueue                of ``kernels``, empty, only for these solves
    observer : Observer               receives the reports
    decides : bool                    computes the decision values of all rows, too, ``queue.fold_values(0)``
    for_model : bool                  ``found`` is for a model, unfinished if the call must stop

    Attributes
    ----------
    report : SolveReport              of all of them together
    found : Pairs                     see ``QueuedPairs.collect``

    Raises Stopped, but for a model.
    """

    chained = False

    def __init__(
        self,
        queue: SolveQueue,
        kernels: KernelProvider,
        problem: Problem,
        observer: Observer,
        decides: bool = False,
        for_model: bool = False,
    ) -> None:
        self.queue, self.solves = queue, PairNumbers()
        queue.keep_optima()
        training = QueuedTraining(queue, kernels, problem, queue.param, observer)
        self.solves.put(training.labels or NO_CLASSES, training.own)
        if decides:
            queue.add_fold(training.rows, training.start, training.own, kernels.members(problem))
        queue.run()
        if queue.stopped is not None and not for_model:
            raise Stopped(queue.stopped)
        self.found = training.collect(observer, for_model)
        self.report = queue.summed(0, queue.n_tasks)

    def prepare(self, queue: SolveQueue) -> None:
        """To be called before solves are added to ``queue``."""
        queue.start_from(self.queue)

    def parents_of(self, labels: Sequence[int]) -> Buffer:
        """Parents of the pairs (0, 1), (0, 2), … of some classes, or of NO_CLASSES, for ``TaskList.add_pairs``."""
        return self.solves.of(labels)

    def note(self, labels: Sequence[int], numbers: Sequence[int]) -> None:
        """To be called with the numbers of the solves added for these pairs, from which none starts."""


class Chain:
    """Chain(length): each fold starts from the previous one in the same queue; every ``length`` folds a new chain
    begins with a cold start, and chains are solved side by side. 0: one chain of all folds."""

    chained = True

    def __init__(self, length: int = 0) -> None:
        self.length, self.n_folds, self.last = length, 0, PairNumbers()

    def prepare(self, queue: SolveQueue) -> None:
        if queue.n_tasks == 0 or self.n_folds == self.length > 0:
            self.n_folds, self.last = 0, PairNumbers()
        self.n_folds += 1

    def parents_of(self, labels: Sequence[int]) -> Buffer:
        return self.last.of(labels)

    def note(self, labels: Sequence[int], numbers: Sequence[int]) -> None:
        self.last.put(labels, numbers)
