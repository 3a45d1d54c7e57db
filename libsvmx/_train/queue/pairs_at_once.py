"""One against one by a SolveQueue: all pairs of classes, and the inner folds of their probability estimates."""

from __future__ import annotations

from itertools import combinations

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import zeros
from libsvmx._train import folds
from libsvmx._train.assembly import INNER_FOLDS, Pairs
from libsvmx._train.observer import Observer, Remark, hears
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from libsvmx._train.folds import Rand
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._typing import Buffer

    class KnownOptima(Protocol):
        """Star or Chain: where the solves of folds start; of pairs of classes, or of (0, 0) alone."""

        chained: bool

        def prepare(self, queue: SolveQueue) -> None:
            """Before solves are added to ``queue``."""

        def parent_of(self, first: int, second: int) -> int:
            """As of ``TaskList.add``."""

        def note(self, first: int, second: int, solve: int) -> None:
            """The number of a solve that was added."""


class QueuedPairs:
    """QueuedPairs(queue, members, classes, costs, rand, known, inner): puts the solves of a classifier into a queue.

    Parameters
    ----------
    members : buffer of int32      row of ``queue.kernel_values`` of each row of the problem
    classes : (labels, start, order), as of ``folds.group_classes``
    costs : list of float          C of each class
    rand : Rand or None            draws the inner folds, in LIBSVM's order; None for no probability estimates
    known : KnownOptima or None    where the solves start
    inner : str                    inner folds start from the optimum of their pair: 'star'; from the one before them:
        'chain'; from nothing: ''
    """

    __slots__ = ("queue", "sigmoids", "solves")

    def __init__(
        self,
        queue: SolveQueue,
        members: Buffer,
        classes: tuple[list[int], list[int], Buffer],
        costs: list[float],
        rand: Rand | None,
        known: KnownOptima | None = None,
        inner: str = "",
    ) -> None:
        labels, start, order = classes
        rows = take_int32(members, order)
        self.queue = queue
        self.sigmoids: list[int] | None = None if rand is None else []
        self.solves: list[tuple[range, int]] = []  # the inner folds, and the solve itself
        for i, j in combinations(range(len(labels)), 2):
            n_i, n_j = start[i + 1] - start[i], start[j + 1] - start[j]
            pair = zeros("i", n_i + n_j)
            pair[:n_i], pair[n_i:] = rows[start[i] : start[i + 1]], rows[start[j] : start[j + 1]]

            def own_solve(pair: Buffer = pair, i: int = i, j: int = j) -> int:
                if known is None:
                    return queue.add(pair, start[i + 1] - start[i], costs[i], costs[j])
                classes = labels[i], labels[j]
                parent, chained = known.parent_of(*classes), known.chained
                solve = queue.add(pair, start[i + 1] - start[i], costs[i], costs[j], parent=parent, chained=chained)
                known.note(*classes, solve)
                return solve

            # LIBSVM's order, but for folds that need the solve
            solve = own_solve() if inner == "star" else -1
            first = queue.n_tasks
            if rand is not None and self.sigmoids is not None:
                self.sigmoids.append(queue.n_sigmoids)
                drawn, bounds = folds.plain_folds(len(pair), INNER_FOLDS, rand)
                queue.add_folds(pair, n_i, costs[i], costs[j], drawn, bounds, solve, inner == "chain")
            inner_solves = range(first, queue.n_tasks)
            self.solves.append((inner_solves, own_solve() if solve < 0 else solve))

    def have_sigmoids(self) -> bool:
        """Whether the sigmoids that were asked for are there: the queue was not stopped before."""
        return all(map(self.queue.sigmoid_is_done, self.sigmoids or ()))

    def collect(self, observer: Observer, for_model: bool = True) -> Pairs:
        """The results, once the queue has run; the observer is told of them in LIBSVM's order.

        ``for_model``: coefficients and reports are wanted; else reports are made of what the observer hears alone, and
        coefficients of what its ``total_sv`` needs.
        """
        queue, heard = self.queue, hears(observer, "solved") or hears(observer, "mark")
        counted = for_model or hears(observer, "total_sv")
        found = Pairs([], [], [] if self.sigmoids is not None and self.have_sigmoids() else None, 0)
        not_begun = 0
        for k, (inner_solves, solve) in enumerate(self.solves):
            for inner in inner_solves:
                if heard or not queue.went_well(inner):
                    observer.total_sv(queue.tell(inner, observer).n_sv)  # a training of its own in LIBSVM
            if found.sigmoids is not None and self.sigmoids is not None:
                a, b, trouble = queue.sigmoid(self.sigmoids[k])
                if trouble:
                    observer.remark(Remark(trouble))
                found.sigmoids.append((a, b))
            not_begun += not queue.was_begun(solve)
            if counted:
                found.betas.append(queue.coefficients(solve))
            if for_model or heard or not queue.went_well(solve):
                found.reports.append(queue.tell(solve, observer))
        return found._replace(not_begun=not_begun)
