"""One against one in a SolveQueue: all pairs of classes, and the inner folds of their probability estimates."""

from __future__ import annotations

from itertools import chain, combinations

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import zeros
from libsvmx._core.threads import thread_count
from libsvmx._train import folds
from libsvmx._train.assembly import INNER_FOLDS, Pairs, joined_betas
from libsvmx._train.observer import Observer, Remark, hears
from libsvmx._train.solve_report import SolveReports
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from libsvmx._train.assembly import Reports
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
    found: list[Pairs] = []
    for first in range(0, max(1, n), batch):
        queue = queue.another() if found else queue
        queued = QueuedPairs(queue, members, classes, costs, rand, inner=inner, part=(first, min(first + batch, n)))
        queue.run(thread_count(param.threads))
        found.append(queued.collect(observer))
    if len(found) == 1:
        return found[0]
    betas, reports = joined_betas([part.betas for part in found]), joined_reports([part.reports for part in found])
    return Pairs(betas, reports, None, sum(part.not_begun for part in found))


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
    own : sequence of int          solve of each pair
    inner : list of range          inner folds of each pair; empty without probability estimates
    """

    __slots__ = ("inner", "own", "queue", "sigmoids")

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
        rows = take_int32(members, order)
        self.queue, self.inner = queue, list[range]()
        self.sigmoids: list[int] | None = None if rand is None else []
        if rand is None:
            first, numbers = queue.n_tasks, part or (0, len(labels) * (len(labels) - 1) // 2)
            if known is None:
                queue.add_pairs(rows, start, costs, *numbers)
            else:
                queue.add_pairs(rows, start, costs, *numbers, known.parents_of(labels), known.chained)
                known.note(labels, first)
            self.own: Sequence[int] = range(first, queue.n_tasks)
            return
        own: list[int] = []
        self.own = own
        for i, j in combinations(range(len(labels)), 2):
            n_i, n_j = start[i + 1] - start[i], start[j + 1] - start[j]
            pair = zeros("i", n_i + n_j)
            pair[:n_i], pair[n_i:] = rows[start[i] : start[i + 1]], rows[start[j] : start[j + 1]]

            def own_solve(pair: Buffer = pair, i: int = i, j: int = j) -> int:
                if known is None:
                    return queue.add(pair, start[i + 1] - start[i], costs[i], costs[j])
                classes = labels[i], labels[j]
                parent, chained = known.parents_of(classes)[0], known.chained
                solve = queue.add(pair, start[i + 1] - start[i], costs[i], costs[j], parent=parent, chained=chained)
                known.note(classes, solve)
                return solve

            # LIBSVM's order, except for folds that start from the solve
            solve = own_solve() if inner == "star" else -1
            if rand is not None and self.sigmoids is not None:
                first = queue.n_tasks
                self.sigmoids.append(queue.n_sigmoids)
                drawn, bounds = folds.plain_folds(len(pair), INNER_FOLDS, rand)
                queue.add_folds(pair, n_i, costs[i], costs[j], drawn, bounds, solve, inner == "chain")
                self.inner.append(range(first, queue.n_tasks))
            own.append(own_solve() if solve < 0 else solve)

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
        if not self.inner and for_model and self.own and queue.all_went_well(self.own[0], self.own[-1]):
            if heard or queue.chosen():
                for solve in self.own:
                    queue.tell(solve, observer)
            return Pairs(betas, queue.reports(self.own[0], self.own[-1]), None, 0)  # without an object per solve
        sigmoids: list[tuple[float, float]] | None = None
        if self.sigmoids is not None and self.have_sigmoids():
            sigmoids = []
        reports: list[SolveReport] = []
        not_begun = 0
        for k, solve in enumerate(self.own):
            for inner in self.inner[k] if self.inner else ():
                if heard or not queue.went_well(inner):
                    observer.total_sv(queue.tell(inner, observer).n_sv)  # a separate training in LIBSVM
            if sigmoids is not None and self.sigmoids is not None:
                a, b, trouble = queue.sigmoid(self.sigmoids[k])
                if trouble:
                    observer.remark(Remark(trouble))
                sigmoids.append((a, b))
            not_begun += not queue.was_begun(solve)
            if for_model or heard or not queue.went_well(solve):
                reports.append(queue.tell(solve, observer))
        return Pairs(betas, reports, sigmoids, not_begun)


def joined_reports(parts: Sequence[Reports]) -> Reports:
    """The reports of all batches, in order."""
    numbers, first = [part.numbers for part in parts if isinstance(part, SolveReports)], parts[0]
    if len(numbers) == len(parts) and isinstance(first, SolveReports):
        return SolveReports(memoryview(b"".join(numbers)).cast("d"), first.quantity, first.chosen)
    return tuple(chain.from_iterable(parts))
