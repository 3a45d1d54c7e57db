"""Leave-one-out in a SolveQueue: the training over all rows, and then a solve for each row, from its optimum."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.seeding.paying import PATHS, expected_path
from libsvmx._train.queue.duals import Star
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


IN_DOUBLE = PATHS[2]
# Work of all exact paths, in values, from which on pilots are worth while; and their number for a pair.
LITTLE_WORK = 2e8
N_PILOTS = 4
# Share of the work expected of an exact path that it took with one row, on abalone and random classes.
ONE_ROW = 0.5
# A training that takes this many exact paths: the pilots would take long, too.
LONG_TRAINING = 50.0


class QueuedRows(PairsOfClasses):
    """QueuedRows(queue, problem, param, members, observer): as ProblemFolds for ``leave_one_out``; ``queue`` is empty.

    ``members``: row of ``queue.kernel_values`` of each row of the problem. Methods that solve raise Stopped if the call
    must stop.
    """

    def __init__(
        self, queue: SolveQueue, problem: Problem, param: Parameter, members: Buffer, observer: Observer
    ) -> None:
        super().__init__(problem, param)
        self.star = Star(queue, problem, members, observer, decides=True)
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

    def pays(self) -> bool:
        """Whether rows are not expected to leave the optimum sooner along the exact path, outside of a queue.

        Pilots of each pair show what the queue takes; they show its other solves how to begin, too."""
        full, exact, n_used = self.star.queue, [0.0], list[int]()
        for at in range(len(self.pairs)):
            report, n = full.summed(at, at + 1), len(self.betas[at])
            n_used.append(report.n_sv)
            exact.append(report.n_sv * expected_path(IN_DOUBLE, n, report.n_sv - report.n_bsv, report.n_sv / max(1, n)))
        if sum(exact) <= LITTLE_WORK:
            return True
        if sum(n * full.work_in_values(at) for at, n in enumerate(n_used)) > LONG_TRAINING * sum(exact):
            return False
        queue, parents, places = full.another(), list[int](), list[int]()
        for at, betas in enumerate(self.betas):
            for place in [place for place, beta in enumerate(betas) if beta != 0][:N_PILOTS]:
                parents.append(at)
                places.append(place)
        queue.start_from(full)
        queue.add_left_out(filled("q", parents), filled("i", places))
        queue.run()
        taken, t = 0.0, 0
        for at, n in enumerate(n_used):
            works = [queue.work_in_values(k) for k in range(t, t + parents.count(at))]
            ways = [works[k::2] for k in range(2) if works[k::2]]
            taken += n * min((sum(way) / len(way) for way in ways), default=0.0)
            t += len(works)
        return taken <= ONE_ROW * sum(exact)

    def each_left_out(
        self, rows: Sequence[int], seeding: Seeding, threads: int, observer: Observer
    ) -> Iterator[LeftOut]:
        """Solve the folds without one of ``rows`` each, in order."""
        queue, stands = self.star.queue.another(), optimum_may_stand(self.param)
        parents, places = list[int](), list[int]()  # of the solves: pair, and row to leave out
        wanted: list[list[tuple[int, int]]] = []  # of each of ``rows``: pairs, and its solves or -1
        for row in rows:  # all pairs of a row together, so that a call that must stop leaves rows that are done
            own = []
            for at, place in self.duals_of(row):
                if self.is_alone(row):
                    own.append((at, -1))
                elif not stands or self.betas[at][place] != 0:
                    own.append((at, len(places)))
                    parents.append(at)
                    places.append(place)
            wanted.append(own)
        queue.start_from(self.star.queue)
        queue.add_left_out(filled("q", parents), filled("i", places))
        queue.run()
        values = queue.left_out_values(0, len(places)) if places else ()
        for own in wanted:
            solves, changed, widths, reports = [], {}, [*self.widths], []
            for at, solve in own:
                if solve < 0:
                    changed[at] = nan
                    continue
                if queue.stopped is not None and not queue.has_ended(solve):
                    raise Stopped(queue.stopped)
                reports.append(queue.tell(solve, observer))
                widths[at] = max(widths[at], -reports[-1].gap)
                changed[at] = values[solve]
                solves.append(solve)
            seeding_seconds = sum(queue.seeding_seconds(solve, solve + 1) for solve in solves)
            report = fold_report(
                reports,
                seeder=queue.seeder_of(solves),
                seeding_seconds=seeding_seconds,
                solving_seconds=sum(report.seconds for report in reports) - seeding_seconds,
            )
            yield LeftOut(report, changed, widths)
