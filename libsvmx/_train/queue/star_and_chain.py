"""Warm starts of folds in a SolveQueue: a star, or a chain.

In a star each dual problem is first solved over all rows, and all folds start from that optimum, independently of each
other. In a chain a fold starts from the previous one, so that the solves of a pair of classes are done in turn. The
seeder (_solvers/seeding) redistributes the coefficients of rows that leave.
"""

from __future__ import annotations

from libsvmx._core.stopping import Stopped
from libsvmx._train import folds
from libsvmx._train.assembly import tell_of_classes
from libsvmx._train.queue.pairs_at_once import NO_CLASSES, QueuedPairs
from libsvmx._train.queue.starts import PairNumbers
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from libsvmx._train.observer import Observer
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._typing import Buffer


class Star:
    """Star(queue, problem, members, costs_of, observer, decides=False): solves the dual problems over all rows.

    Parameters
    ----------
    queue : SolveQueue                empty, only for these solves
    members : buffer of int32         row of ``queue.kernel_values`` of each row of the problem
    costs_of : function               C of each class of a list
    observer : Observer               receives the reports
    decides : bool                    computes the decision values of all rows, too, ``queue.fold_values(0)``

    Attributes
    ----------
    report : SolveReport              of all of them together

    Raises Stopped.
    """

    chained = False

    def __init__(
        self,
        queue: SolveQueue,
        problem: Problem,
        members: Buffer,
        costs_of: Callable[[list[int]], list[float]],
        observer: Observer,
        decides: bool = False,
    ) -> None:
        self.queue, self.solves = queue, PairNumbers()
        queue.keep_optima()
        pairs, rows, start = None, members, [0, len(members)]
        if queue.param.svm_type.is_classification:
            labels, start, order = folds.group_classes(problem.targets)
            pairs = QueuedPairs(queue, members, (labels, start, order), costs_of(labels), None, self)
            rows = pairs.rows
        else:
            self.note(NO_CLASSES, [queue.add(members, -1, 0.0, 0.0, targets=problem.targets)])
        if decides:
            queue.add_fold(rows, start, range(queue.n_tasks), members)
        queue.run()
        if queue.stopped is not None:
            raise Stopped(queue.stopped)
        if pairs is None:
            queue.tell(0, observer)
        else:
            tell_of_classes(labels, start, queue.param, observer)
            pairs.collect(observer, for_model=False)
        self.report = queue.summed(0, queue.n_tasks)

    def prepare(self, queue: SolveQueue) -> None:
        """To be called before solves are added to ``queue``."""
        queue.start_from(self.queue)

    def parents_of(self, labels: Sequence[int]) -> Buffer:
        """Parents of the pairs (0, 1), (0, 2), … of some classes, or of NO_CLASSES, for ``TaskList.add_pairs``."""
        return self.solves.of(labels)

    def note(self, labels: Sequence[int], numbers: Sequence[int]) -> None:
        """Note the numbers of the solves added for the pairs of these classes."""
        if not self.queue.has_run:
            self.solves.put(labels, numbers)


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
