"""One against one in a SolveQueue: all pairs of classes, and the inner folds of their probability estimates."""

from __future__ import annotations

from itertools import pairwise

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import zeros
from libsvmx._train.assembly import Pairs
from libsvmx._train.observer import Observer, Remark, hears
from libsvmx._train.solve_report import NUMBERS, SolveReports
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from libsvmx._train.folds import Rand
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.queue.star_and_chain import Chain, Star
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._typing import Buffer

    KnownOptima: TypeAlias = Star | Chain


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
    together: list[SolveReport] = []  # all reports, once a solve has not gone well
    for first in range(0, max(1, n), batch):
        own = queue if n <= batch else queue.another()  # no two batches at a time: the caller holds ``queue``
        queued = QueuedPairs(own, members, classes, costs, rand, inner=inner, part=(first, min(first + batch, n)))
        own.run()
        found = queued.collect(observer)
        if n <= batch:
            return found
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
    rows : buffer of int32         ``members`` grouped by class
    own : sequence of int          solve of each pair
    inner : list of range          inner folds of each pair; empty without probability estimates
    solves : range                 all of these
    """

    __slots__ = ("inner", "own", "queue", "rows", "sigmoids", "solves")

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
        labels, start, order = classes
        n, parents, chained = len(labels) * (len(labels) - 1) // 2, None, False
        if known is not None:
            parents, chained = known.parents_of(labels), known.chained
        self.queue, self.rows, begin = queue, take_int32(members, order), queue.n_tasks
        self.sigmoids = None if rand is None else range(queue.n_sigmoids, queue.n_sigmoids + n)
        self.own = queue.add_pairs(self.rows, start, costs, *(part or (0, n)), parents, chained, rand, inner)
        if known is not None:
            known.note(labels, self.own)
        self.solves, self.inner = range(begin, queue.n_tasks), list[range]()
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
        counted = for_model or hears(observer, "total_sv")
        betas = queue.coefficients(self.own[0], self.own[-1]) if counted and self.own else zeros("d", 0)
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
