"""Folds of a classification that start from an optimum that is known, in a SolveQueue: a star, or a chain.

In a star each pair of classes is solved over all rows, once. A fold starts there; the solves of all folds are in the
queue at once, as those from nothing are. In a chain a fold starts from the one before, and those of a pair of classes
are solved in turn. What becomes of what the rows had that leave says the seeder (tasks.pyx).
"""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf

from libsvmx._core.arrays import take_int32
from libsvmx._core.buffers import zeros
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._train import folds
from libsvmx._train.assembly import tell_of_classes
from libsvmx._train.queue.pairs_at_once import QueuedPairs
from libsvmx._train.queue.tasks import values_of_steps
from libsvmx._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from libsvmx._train.observer import Observer
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._typing import Buffer, LeftRows

    class KnownOptima(Protocol):
        """Star or Chain: where folds in a queue start."""

        def prepare(self, queue: SolveQueue) -> None: ...

        def without(self, targets: Buffer, rows: Buffer) -> Callable[[int, int], LeftRows]: ...


class Star:
    """Star(queue, problem, members, costs_of, observer): solves all pairs of classes over all rows.

    Parameters
    ----------
    queue : SolveQueue                empty, for these solves alone
    members : buffer of int32         row of ``queue.kernel_values`` of each row of the problem
    costs_of : function               C of each of some classes
    observer : Observer               is told of the solves

    Attributes
    ----------
    known, known_scores : buffer of float64         of ``TaskList.start_from``
    reports : list of SolveReport     of the pairs (0, 1), (0, 2), …

    Raises
    ------
    Stopped
    """

    def __init__(
        self,
        queue: SolveQueue,
        problem: Problem,
        members: Buffer,
        costs_of: Callable[[list[int]], list[float]],
        observer: Observer,
    ) -> None:
        labels, start, order = folds.group_classes(problem.targets)
        costs = costs_of(labels)
        pairs = QueuedPairs(queue, members, (labels, start, order), costs, None)
        queue.keep_scores()
        queue.run(thread_count(queue.param.threads))
        if queue.stopped is not None:
            raise Stopped(queue.stopped)
        tell_of_classes(labels, start, queue.param, observer)
        found = pairs.collect(observer)
        self.number = {label: c for c, label in enumerate(labels)}
        self.sizes = [end - begin for begin, end in pairwise(start)]
        self.of_pair = dict(zip(combinations(range(len(labels)), 2), found.reports, strict=True))
        self.reports: list[SolveReport] = found.reports
        n, rows = queue.kernel_values.n, take_int32(members, order)
        self.known, self.known_scores = (zeros("d", (len(labels) - 1) * n) for _ in range(2))
        for (i, j), (_, solve) in zip(self.of_pair, pairs.solves, strict=True):
            n_i, beta, scores = start[i + 1] - start[i], queue.coefficients(solve), queue.scores(solve)
            for plane, c, part in ((j - 1, i, slice(n_i)), (i, j, slice(n_i, None))):
                own, place = rows[start[c] : start[c + 1]], slice(plane * n, (plane + 1) * n)
                folds.put_sizes(self.known[place], own, beta[part])
                folds.put_rows(self.known_scores[place], own, scores[part], 1)

    def prepare(self, queue: SolveQueue) -> None:
        """Solves that are added to ``queue`` may start there."""
        queue.start_from(self.known, self.known_scores)

    def without(self, targets: Buffer, rows: Buffer) -> Callable[[int, int], LeftRows]:
        """Of a fold without ``rows``, of these targets: from two classes to ``left`` of ``TaskList.add``."""
        rows_of = by_class(targets, rows)

        def left(positive: int, negative: int) -> LeftRows:
            i, j = self.number[positive], self.number[negative]
            report, own = self.of_pair[min(i, j), max(i, j)], self.sizes[i] + self.sizes[j]
            work = values_of_steps(own, report.iterations)
            return (
                *rows_of(positive, negative),
                *planes_of(i, j),
                i > j,
                report.rho,
                report.objective,
                report.gap,
                work,
            )

        return left


class Chain:
    """Chain(problem): each fold of a pair of classes starts from the one before it in the same queue, the first from
    nothing."""

    def __init__(self, problem: Problem) -> None:
        labels = folds.group_classes(problem.targets)[0]
        self.number = {label: c for c, label in enumerate(labels)}

    def prepare(self, queue: SolveQueue) -> None:
        """As ``Star.prepare``."""
        if queue.n_tasks == 0:
            queue.begin_chains(max(1, len(self.number) - 1))

    def without(self, targets: Buffer, rows: Buffer) -> Callable[[int, int], LeftRows]:
        """As ``Star.without``; of the optimum itself the queue knows."""
        rows_of = by_class(targets, rows)

        def left(positive: int, negative: int) -> LeftRows:
            i, j = self.number[positive], self.number[negative]
            return *rows_of(positive, negative), *planes_of(i, j), i > j, 0.0, 0.0, inf, 0.0

        return left


def planes_of(i: int, j: int) -> tuple[int, int]:
    """Of ``TaskList.start_from``: those of the rows of classes i and j that are for the other class."""
    return (j - 1 if j > i else j), (i - 1 if i > j else i)


def by_class(targets: Buffer, rows: Buffer) -> Callable[[int, int], tuple[Buffer, Buffer]]:
    """From two classes to those of ``rows``, of these targets, that are of the one and of the other."""
    labels, start, order = folds.group_classes(targets)
    grouped, nobody = take_int32(rows, order), zeros("i", 0)
    of_class = {label: grouped[start[c] : start[c + 1]] for c, label in enumerate(labels)}
    return lambda positive, negative: (of_class.get(positive, nobody), of_class.get(negative, nobody))
