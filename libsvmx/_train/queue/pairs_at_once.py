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
    from collections.abc import Callable

    from libsvmx._train.folds import Rand
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._typing import Buffer, LeftRows


class QueuedPairs:
    """QueuedPairs(queue, members, classes, costs, rand, left, seeded): puts the solves of a classifier into a queue.

    Parameters
    ----------
    members : buffer of int32      row of ``queue.kernel_values`` of each row of the problem
    classes : (labels, start, order), as of ``folds.group_classes``
    costs : list of float          C of each class
    rand : Rand or None            draws the inner folds, in LIBSVM's order; None for no probability estimates
    left : function or None        from two classes to ``left`` of ``TaskList.add``, where their solve starts
    seeded : bool                  whether inner folds start from the optimum of their pair
    """

    __slots__ = ("queue", "sigmoids", "solves")

    def __init__(
        self,
        queue: SolveQueue,
        members: Buffer,
        classes: tuple[list[int], list[int], Buffer],
        costs: list[float],
        rand: Rand | None,
        left: Callable[[int, int], LeftRows] | None = None,
        seeded: bool = False,
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
            gone = left(labels[i], labels[j]) if left else None
            # LIBSVM's order, but for folds that need the solve
            solve = queue.add(pair, n_i, costs[i], costs[j], left=gone) if seeded else -1
            first = queue.n_tasks
            if rand is not None and self.sigmoids is not None:
                self.sigmoids.append(queue.n_sigmoids)
                inner, bounds = folds.plain_folds(len(pair), INNER_FOLDS, rand)
                queue.add_folds(pair, n_i, costs[i], costs[j], inner, bounds, solve)
            inner_solves = range(first, queue.n_tasks)
            if not seeded:
                solve = queue.add(pair, n_i, costs[i], costs[j], left=gone)
            self.solves.append((inner_solves, solve))

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
