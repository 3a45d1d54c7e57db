"""Leave-one-out in a SolveQueue: the training over all rows, and then a solve for each row, from its optimum."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.seeding.paying import expected_paths, pilots_pay
from libsvmx._train.queue.duals import Star
from libsvmx._train.validation.dual_folds import may_lose_rows, optimum_may_stand
from libsvmx._train.validation.fold_report import FoldReport, fold_report, standing
from libsvmx._train.validation.problem_folds import LeftOut, PairsOfClasses, ProblemFolds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._typing import Buffer

    Dual = tuple[int, int]  # index of a pair of classes, and a row in it
    Solves = dict[Dual, tuple[SolveQueue, int]]  # without such a row: the queue, and the number there

N_PILOTS = 4  # of a pair


class QueuedRows(PairsOfClasses):
    """QueuedRows(queue, problem, param, kernels, observer): as ProblemFolds for ``leave_one_out``; ``queue`` is empty.

    ``kernels``: that the queue is of. Methods that solve raise Stopped if the call must stop.
    """

    def __init__(
        self, queue: SolveQueue, problem: Problem, param: Parameter, kernels: KernelProvider, observer: Observer
    ) -> None:
        super().__init__(problem, param)
        self.kernels, self.observer = kernels, observer
        self.star = Star(queue, kernels, problem, observer, decides=True)
        self.of_pairs = [self.star.queue.summed(t, t + 1) for t in range(len(self.pairs))]
        self.widths = [max(0.0, -report.gap) for report in self.of_pairs]
        self.may_stand = [optimum_may_stand(param) and may_lose_rows(report) for report in self.of_pairs]
        self.betas = [self.star.queue.coefficients(t) for t in range(len(self.pairs))]
        self.pilots: Solves | None = None

    def train_full(self) -> FoldReport:
        """The report of the training over all rows."""
        report = self.star.report
        return fold_report([report], seeder="none", seeding_seconds=0.0, solving_seconds=report.seconds)

    def as_folds(self) -> ProblemFolds:
        """The same optimum, to go on from outside of a queue; in nu-SVC only its model is that."""
        folds = ProblemFolds(self.problem, self.param, self.observer, self.kernels)
        folds.know(self.star.queue)
        return folds

    def full_values(self) -> Buffer:
        """Decision values of all rows by it, in the order of the pairs."""
        return self.star.queue.fold_values(0)

    def rho_widths(self) -> list[float]:
        """For each dual, the width of the interval of possible rho in it."""
        return self.widths

    def stands(self, at: int, place: int) -> bool:
        """Whether an optimum is that without one of its rows, too: not if a sum depends on the number of rows."""
        return self.may_stand[at] and self.betas[at][place] == 0

    def is_unused(self, row: int) -> bool:
        """Whether all optima of the row stand without it."""
        return all(self.stands(*dual) for dual in self.duals_of(row))

    def pays(self) -> bool:
        """Whether rows are not expected to leave the optimum sooner along the exact path, outside of a queue. Pilots
        show what the queue takes, unless a training takes very long."""
        own, sizes = (
            self.star.queue,
            [(len(beta), one.n_sv) for beta, one in zip(self.betas, self.of_pairs, strict=True)],
        )
        cold = sum(n_sv * own.work_in_values(at) for at, (_, n_sv) in enumerate(sizes))
        paths = sum(expected_paths(*size, one.n_sv - one.n_bsv) for size, one in zip(sizes, self.of_pairs, strict=True))
        if not pilots_pay(cold, paths):
            return False
        works: list[list[float]] = [[] for _ in self.pairs]
        for (at, _), (queue, solve) in self.solved_pilots().items():
            works[at].append(queue.work_in_values(solve))
        starts = [[own[k::2] for k in range(2) if own[k::2]] for own in works]  # every other one may follow a path
        taken = (min((sum(same) / len(same) for same in pair), default=0.0) for pair in starts)
        return sum(n_sv * work for (_, n_sv), work in zip(sizes, taken, strict=True)) <= paths

    def solved_pilots(self) -> Solves:
        """The first solves of each pair, which show the queue how to begin the others."""
        if self.pilots is None:
            first: list[list[Dual]] = [[] for _ in self.pairs]
            for row in range(len(self.problem)):
                for at, place in () if self.is_alone(row) else self.duals_of(row):
                    if self.betas[at][place] != 0 and len(first[at]) < N_PILOTS:
                        first[at].append((at, place))
            self.pilots = self.solved([dual for pair in first for dual in pair])
        return self.pilots

    def solved(self, duals: list[Dual]) -> Solves:
        """Solve without these rows."""
        queue = self.star.queue.another()
        queue.start_from(self.star.queue)
        queue.add_left_out(filled("q", (at for at, _ in duals)), filled("i", (place for _, place in duals)))
        queue.run()
        return {dual: (queue, t) for t, dual in enumerate(duals)}

    def each_left_out(
        self, rows: Sequence[int], seeding: Seeding, threads: int, observer: Observer
    ) -> Iterator[LeftOut]:
        """Solve the folds without one of ``rows`` each, in order."""
        pilots, full = self.solved_pilots(), self.train_full()
        of_rows = [
            [] if self.is_alone(row) else [dual for dual in self.duals_of(row) if not self.stands(*dual)]
            for row in rows
        ]
        # all pairs of a row together, so that a call that must stop leaves rows that are done
        solved = pilots | self.solved([dual for own in of_rows for dual in own if dual not in pilots])
        for row, duals in zip(rows, of_rows, strict=True):
            changed = dict.fromkeys((at for at, _ in self.duals_of(row)), nan) if self.is_alone(row) else {}
            widths, seeders, seconds, seeding_seconds = [*self.widths], set[str](), 0.0, 0.0
            reports: list[SolveReport | FoldReport] = []
            for at, place in duals:
                queue, solve = solved[at, place]
                if queue.stopped is not None and not queue.has_ended(solve):
                    raise Stopped(queue.stopped)
                told = queue.tell(solve, observer)
                reports.append(told)
                seconds += told.seconds
                widths[at] = max(widths[at], -told.gap)
                changed[at] = queue.left_out_value(solve)
                seeders.add(queue.seeder_of([solve]))
                seeding_seconds += queue.seeding_seconds(solve, solve + 1)
            if len(changed) < len(self.pairs):
                reports.append(standing(full, "none", [self.of_pairs[at] for at in changed]))
            report = fold_report(
                reports,
                seeder=min(seeders - {"none"}, default="none"),  # 'ato' if any start followed a path
                seeding_seconds=seeding_seconds,
                solving_seconds=seconds - seeding_seconds,
            )
            yield LeftOut(report, changed, widths)
