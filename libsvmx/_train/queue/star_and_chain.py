"""Folds that start from an optimum that is known, in a SolveQueue: a star, or a chain.

In a star each dual problem is solved over all rows, once. A fold starts there; the solves of all folds are in the queue
at once, as those from nothing are. In a chain a fold starts from the one before, and those of a pair of classes are
solved in turn. What becomes of what the rows had that leave says the seeder (_solvers/seeding).
"""

from __future__ import annotations

from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._train import folds
from libsvmx._train.assembly import tell_of_classes
from libsvmx._train.queue.pairs_at_once import QueuedPairs
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._train.assembly import Reports
    from libsvmx._train.observer import Observer
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._typing import Buffer


class Star:
    """Star(queue, problem, members, costs_of, observer): solves what a training over all rows does.

    Parameters
    ----------
    queue : SolveQueue                empty, for these solves alone
    members : buffer of int32         row of ``queue.kernel_values`` of each row of the problem
    costs_of : function               C of each of some classes
    observer : Observer               is told of the solves

    Attributes
    ----------
    reports : sequence of SolveReport     of the pairs (0, 1), (0, 2), …

    Raises
    ------
    Stopped
    """

    chained = False

    def __init__(
        self,
        queue: SolveQueue,
        problem: Problem,
        members: Buffer,
        costs_of: Callable[[list[int]], list[float]],
        observer: Observer,
    ) -> None:
        self.queue, self.solves = queue, Numbers()
        queue.keep_optima()
        pairs = None
        if queue.param.svm_type.is_classification:
            labels, start, order = folds.group_classes(problem.targets)
            pairs = QueuedPairs(queue, members, (labels, start, order), costs_of(labels), None, self)
        else:
            self.note(0, 0, queue.add(members, -1, 0.0, 0.0, targets=problem.targets))
        queue.run(thread_count(queue.param.threads))
        if queue.stopped is not None:
            raise Stopped(queue.stopped)
        self.reports: Reports
        if pairs is None:
            self.reports = [queue.tell(0, observer)]
        else:
            tell_of_classes(labels, start, queue.param, observer)
            self.reports = list(pairs.collect(observer).reports)

    def prepare(self, queue: SolveQueue) -> None:
        queue.start_from(self.queue)

    def parent_of(self, first: int, second: int) -> int:
        return self.solves.of(first, second)

    def note(self, first: int, second: int, solve: int) -> None:
        if not self.queue.has_run:
            self.solves.put(first, second, solve)


class Chain:
    """Chain(): each fold starts from the one before it in the same queue, the first from nothing."""

    chained = True

    def __init__(self) -> None:
        self.last = Numbers()

    def prepare(self, queue: SolveQueue) -> None:
        if queue.n_tasks == 0:
            self.last = Numbers()

    def parent_of(self, first: int, second: int) -> int:
        return self.last.of(first, second)

    def note(self, first: int, second: int, solve: int) -> None:
        self.last.put(first, second, solve)


class Numbers:
    """Numbers(): of solves, by two classes in any order."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], int] = {}

    def put(self, first: int, second: int, solve: int) -> None:
        self.known[min(first, second), max(first, second)] = solve

    def of(self, first: int, second: int) -> int:
        """-1 if there is none."""
        return self.known.get((min(first, second), max(first, second)), -1)
