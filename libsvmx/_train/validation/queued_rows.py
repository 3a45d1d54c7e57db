"""Leave-one-out in a SolveQueue: the training over all rows, and then a solve for each row, from its optimum."""

from __future__ import annotations

from functools import partial
from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._train.parameter import class_costs
from libsvmx._train.queue.star_and_chain import Star
from libsvmx._train.validation.dual_folds import optimum_may_stand
from libsvmx._train.validation.fold_report import FoldReport, fold_report
from libsvmx._train.validation.problem_folds import LeftOut, PairsOfClasses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._typing import Buffer


class QueuedRows(PairsOfClasses):
    """QueuedRows(queue, problem, param, members, observer): as ProblemFolds for ``leave_one_out``; ``queue`` is empty.

    ``members``: row of ``queue.kernel_values`` of each row of the problem. Methods that solve raise Stopped if the call
    must stop.
    """

    def __init__(
        self, queue: SolveQueue, problem: Problem, param: Parameter, members: Buffer, observer: Observer
    ) -> None:
        super().__init__(problem, param)
        costs_of = partial(class_costs, param=param, observer=observer)
        self.star = Star(queue, problem, members, costs_of, observer, decides=True)
        reports = [self.star.queue.summed(t, t + 1) for t in range(len(self.pairs))]
        self.widths = [max(0.0, -report.gap) for report in reports]
        self.betas = [self.star.queue.coefficients(t) for t in range(len(self.pairs))]

    def train_full(self) -> FoldReport:
        """The report of the training over all rows."""
        report = self.star.report
        return fold_report([report], seeder="none", seeding_seconds=0.0, solving_seconds=report.seconds)

    def full_values(self) -> Buffer:
        """Decision values of all rows by it, in the order of the pairs."""
        return self.star.queue.fold_values(0)

    def rho_widths(self) -> list[float]:
        """For each dual, the width of the interval of possible rho in it."""
        return self.widths

    def is_unused(self, row: int) -> bool:
        """Whether the row has no coefficient in it."""
        return all(self.betas[at][place] == 0 for at, place in self.duals_of(row))

    def each_left_out(
        self, rows: Sequence[int], seeding: Seeding, threads: int, observer: Observer
    ) -> Iterator[LeftOut]:
        """Solve the folds without one of ``rows`` each, in order."""
        queue, stands = self.star.queue.another(), optimum_may_stand(self.param)
        places: list[list[int]] = [[] for _ in self.pairs]  # rows to leave out of each dual
        wanted: list[list[tuple[int, int]]] = []  # of each of ``rows``: pairs, and its index in ``places``
        for row in rows:
            own = []
            for at, place in self.duals_of(row):
                if self.is_alone(row):
                    own.append((at, -1))
                elif not stands or self.betas[at][place] != 0:
                    own.append((at, len(places[at])))
                    places[at].append(place)
            wanted.append(own)
        queue.start_from(self.star.queue)
        first = [queue.add_left_out(at, filled("i", left)) for at, left in enumerate(places)]
        queue.run()
        values = [queue.left_out_values(first[at], len(left)) if left else None for at, left in enumerate(places)]
        for own in wanted:
            solves, changed, widths, reports = [], {}, [*self.widths], []
            for at, k in own:
                of_pair = values[at]
                if of_pair is None or k < 0:
                    changed[at] = nan
                    continue
                solve = first[at] + k
                if queue.stopped is not None and not queue.has_ended(solve):
                    raise Stopped(queue.stopped)
                reports.append(queue.tell(solve, observer))
                widths[at] = max(widths[at], -reports[-1].gap)
                changed[at] = of_pair[k]
                solves.append(solve)
            seeding_seconds = sum(queue.seeding_seconds(solve, solve + 1) for solve in solves)
            report = fold_report(
                reports,
                seeder=queue.seeder_of(solves),
                seeding_seconds=seeding_seconds,
                solving_seconds=sum(report.seconds for report in reports) - seeding_seconds,
            )
            yield LeftOut(report, changed, widths)
