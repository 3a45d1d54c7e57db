"""The folds of a problem: those of one dual, or of one for each pair of classes."""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import combinations, pairwise
from math import nan
from typing import TYPE_CHECKING, NamedTuple

from libsvmx._core.arrays import ramp, take_float64, take_int32
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._train import folds, prediction
from libsvmx._train.assembly import assemble_classifier, assemble_single, joined_betas
from libsvmx._train.limits import ask
from libsvmx._train.parameter import class_costs
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.training import pair_problem, shared_kernels
from libsvmx._train.validation.dual_folds import DualFolds, optimum_may_stand
from libsvmx._train.validation.fold_report import FoldReport, fold_report, standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self, TypeVar

    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.validation.dual_folds import SolvedFold
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._train.warm_start import WarmStart
    from libsvmx._typing import Buffer

    Result = TypeVar("Result")

SINGLE = (0, 0)
# Rows of leave-one-out per piece of work of a thread at most; fewer if there are few rows, so that threads end at about
# the same time.
MOST_ROWS = 16
BATCHES_PER_THREAD = 16


class LeftOut(NamedTuple):
    """A row without which the rest was solved again: its report, the row's changed decision values, by index of the
    pair, and for each pair the width of the interval of possible rho, the larger of this solve's and that over all
    rows."""

    report: FoldReport
    changed: dict[int, float]
    widths: list[float]


class PairsOfClasses:
    """PairsOfClasses(problem, param): the classes of a problem, its pairs, and where a row is in them.

    Attributes
    ----------
    labels : list of int           classes; empty for one-class and regression
    pairs : list of (int, int)     (0, 1), (0, 2), …; for one-class and regression ``SINGLE``
    start, order                   of ``folds.group_classes``; without classes all rows
    class_of : buffer of int32     class of each row, in classification
    size : list of int             number of rows of each class
    """

    def __init__(self, problem: Problem, param: Parameter) -> None:
        self.problem, self.param = problem, param
        self.labels, self.start, self.order = list[int](), [0, len(problem)], ramp(len(problem))
        self.pairs = [SINGLE]
        if param.svm_type.is_classification:
            self.labels, self.start, self.order = folds.group_classes(problem.targets)
            self.class_of, self.place = folds.places_in_classes(self.start, self.order)
            self.size = [end - begin for begin, end in pairwise(self.start)]
            self.pairs = list(combinations(range(len(self.labels)), 2))
            self.duals_of_class: list[list[tuple[int, int]]] = [[] for _ in self.size]  # pair, and its first row there
            for at, (i, j) in enumerate(self.pairs):
                self.duals_of_class[i].append((at, 0))
                self.duals_of_class[j].append((at, self.size[i]))

    def rows_of(self, rows: Buffer, pair: tuple[int, int]) -> Buffer:
        """Those of ``rows`` that are in a dual, as rows of the dual, in the same order."""
        if pair == SINGLE:
            return rows
        i, j = pair
        return folds.rows_of_pair(rows, self.class_of, self.place, i, j, self.size[i])

    def duals_of(self, row: int) -> list[tuple[int, int]]:
        """The duals of a row: index of the pair, and the row in the dual."""
        if not self.labels:
            return [(0, row)]
        place = self.place[row]
        return [(at, first + place) for at, first in self.duals_of_class[self.class_of[row]]]

    def is_alone(self, row: int) -> bool:
        """Whether its class has no other row."""
        return bool(self.labels) and self.size[self.class_of[row]] == 1

    def prediction(self, row: int, values: Buffer, order: list[int]) -> float:
        """Prediction of a row from its decision values; ``order``: the classes, the first of which wins equal votes."""
        if not self.labels:
            return float(prediction.labels_of(self.param, (), values, 1)[0])
        place = {c: at for at, c in enumerate(order)}
        votes = [0] * len(self.labels)
        present = [c for c in order if self.size[c] > (c == self.class_of[row])]
        for value, (i, j) in zip(values, self.pairs, strict=True):
            if i in present and j in present:  # nan is a vote for the second, as in LIBSVM
                first, second = (i, j) if place[i] < place[j] else (j, i)
                votes[first if (value if first == i else -value) > 0 else second] += 1
        return self.labels[max(present, key=lambda c: votes[c])]


class ProblemFolds(PairsOfClasses):
    """ProblemFolds(problem, param, observer, kernels=None): the folds of a problem, all rows of weight > 0.

    Methods that solve or predict raise Stopped if the call must stop.

    Parameters
    ----------
    kernels : KernelProvider       of these rows, if shared with other solves

    Attributes
    ----------
    duals : dict of DualFolds      by pair
    """

    def __init__(
        self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider | None = None
    ) -> None:
        super().__init__(problem, param)
        provider = kernels or shared_kernels(problem, param)
        self.ask = partial(ask, observer)
        self.duals: dict[tuple[int, int], DualFolds] = {}
        self.solved_pairs: list[tuple[int, int]] = []  # with rows of both classes in the last fold

        def dual_of(part: Problem, Cp: float = 0.0, Cn: float = 0.0) -> DualFolds:
            return DualFolds(*provider.of(part), param, part.targets, Cp, Cn, observer, part.sample_weight)

        if not param.svm_type.is_classification:
            self.duals[SINGLE] = dual_of(problem)
            return
        costs = class_costs(self.labels, param, observer)
        for i, j in self.pairs:
            self.duals[i, j] = dual_of(pair_problem(problem, self.order, self.start, i, j), costs[i], costs[j])

    def each(
        self, solve: Callable[[Self, int, Observer], Result], n: int, threads: int, observer: Observer
    ) -> Iterator[Result]:
        """``solve(folds, k, observer)`` for k = 0, 1, … n - 1, side by side. Each of several threads has its own
        ProblemFolds, with ``last`` and kernel rows, and a share of the memory. Raises Stopped."""
        at_once = min(threads, n)
        workers = [self.of_thread(at_once) for _ in range(at_once)] if at_once > 1 else [self]

        def solved(k: int, observer: Observer) -> Result:
            ask(observer)
            own = workers.pop()  # one for each thread
            try:
                if at_once > 1:
                    own.begin(observer)
                return solve(own, k, observer)
            finally:
                workers.append(own)

        return side_by_side(solved, n, at_once, observer)

    def of_thread(self, at_once: int) -> Self:
        """A copy for one of ``at_once`` threads."""
        other = copy(self)
        other.param = replace(self.param, threads=1)
        other.duals = {pair: own.of_thread(at_once) for pair, own in self.duals.items()}
        return other

    def begin(self, observer: Observer) -> None:
        """Begin a piece of work independent of earlier ones, with its own observer."""
        self.ask = partial(ask, observer)
        for dual in self.duals.values():
            dual.begin(observer)

    # ---- solving -------------------------------------------------------------------------------

    def train_full(self) -> FoldReport:
        """Solve for the optimum over all rows."""
        return joined([dual.train_full() for dual in self.duals.values()])

    def know(self, queue: SolveQueue) -> None:
        """Take the optimum over all rows from a queue that has kept it, whose solves are those of ``duals``."""
        for at, dual in enumerate(self.duals.values()):
            dual.know(queue, at)

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding, warm: WarmStart | None = None) -> FoldReport:
        """Solve the fold without ``held_out``; ``rest``: the other rows in the order of the folds; ``warm``: the fold's
        optima at another C."""
        self.solved_pairs = list(self.duals)
        if self.labels:
            present = folds.classes_among(rest, self.class_of, len(self.labels))
            self.solved_pairs = [(i, j) for i, j in self.duals if i in present and j in present]
        return joined(
            [self.duals[pair].solve(self.rows_of(held_out, pair), seeding, warm, pair) for pair in self.solved_pairs]
        )

    # ---- predicting ----------------------------------------------------------------------------

    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer | None]:
        """Predictions and, if requested, decision values of the rows held out of the last fold."""
        if len(self.duals) == 1 and self.solved_pairs:
            (pair,) = self.solved_pairs
            values = self.duals[pair].decided(self.rows_of(held_out, pair))
            return prediction.labels_of(self.param, self.labels, values, len(values)), values
        model = self.model_of(rest)
        out = self.problem.take(held_out)
        by_model = None
        if with_values:
            by_model = prediction.decision_values(model, out.matrix, out.rows, self.ask)
            by_model = by_pairs(by_model, len(out), model.class_labels, self.labels)
        return prediction.predict_labels(model, out.matrix, out.rows, self.ask), by_model

    def full_values(self) -> Buffer:
        """Decision values of all rows by the training over all of them, in the order of the pairs."""
        every = ramp(len(self.problem))
        if len(self.duals) == 1:
            ((pair, dual),) = self.duals.items()
            return dual.decided(self.rows_of(every, pair), dual.full)
        model = self.model_of(every, full=True)
        return prediction.decision_values(model, self.problem.matrix, self.problem.rows, self.ask)

    def model_of(self, rest: Buffer, full: bool = False) -> Model:
        """The model of the last fold, or with ``full`` of the training over all rows; ``rest``: its rows, whose order
        decides equal votes."""

        def solved(pair: tuple[int, int]) -> SolvedFold:
            found = self.duals[pair].full if full else self.duals[pair].last
            assert found is not None
            return found

        if not self.labels:
            single = solved(SINGLE)
            return assemble_single(self.problem, self.param, single.coefficients, single.report)
        part = self.problem.take(rest)
        labels, start, order = folds.group_classes(part.targets)
        number = [self.labels.index(label) for label in labels]
        rows = take_int32(rest, order)
        betas, reports = [], []
        for a, b in combinations(range(len(number)), 2):
            pair = min(number[a], number[b]), max(number[a], number[b])
            own = solved(pair)
            members = filled("i", [*rows[start[a] : start[a + 1]], *rows[start[b] : start[b + 1]]])
            beta, report = take_float64(own.coefficients, self.rows_of(members, pair)), own.report
            if number[a] != pair[0]:
                beta, report = filled("d", (-value for value in beta)), replace(report, rho=-report.rho)
            betas.append(beta)
            reports.append(report)
        return assemble_classifier(part, self.param, (labels, start, order), joined_betas(betas), reports)

    # ---- leaving out one row -------------------------------------------------------------------

    def rho_widths(self) -> list[float]:
        """For each dual, the width of the interval of possible rho: the larger of the last fold's and the full
        one's."""
        return [dual.rho_width for dual in self.duals.values()]

    def is_unused(self, row: int) -> bool:
        """Whether all optima of the row stand without it."""
        return all(self.duals[self.pairs[at]].is_unused(place) for at, place in self.duals_of(row))

    def each_left_out(
        self, rows: Sequence[int], seeding: Seeding, threads: int, observer: Observer
    ) -> Iterator[LeftOut]:
        """Solve the folds without one of ``rows`` each, in order. Raises Stopped."""
        n = len(rows)
        size = max(1, min(MOST_ROWS, n // (BATCHES_PER_THREAD * threads))) if threads > 1 else 1

        def batch(own: Self, b: int, observer: Observer) -> tuple[list[LeftOut], Stopped | None]:
            done: list[LeftOut] = []
            try:
                for row in rows[b * size : (b + 1) * size]:
                    own.begin(observer)
                    own.ask()
                    done.append(own.leave_out(row, seeding))
            except Stopped as stop:
                return done, stop
            return done, None

        for done, stop in self.each(batch, (n + size - 1) // size, threads, observer):
            yield from done
            if stop is not None:
                raise stop

    def leave_out(self, row: int, seeding: Seeding) -> LeftOut:
        """Solve the fold without one row."""
        solved, changed = [], {}
        for at, place in self.duals_of(row):
            dual = self.duals[self.pairs[at]]
            if self.is_alone(row):
                changed[at] = nan
            elif not optimum_may_stand(self.param) or not dual.is_unused(place):
                left_out = filled("i", [place])
                solved.append(dual.solve(left_out, seeding))
                changed[at] = dual.decided(left_out)[0]
        fulls, others = [dual.full for dual in self.duals.values() if dual.full], list[FoldReport]()
        if len(changed) < len(fulls):
            others.append(standing(joined(fulls), "none", [fulls[at].report for at in changed]))
        return LeftOut(joined(solved, others), changed, self.rho_widths())


def joined(solved: Sequence[SolvedFold], others: Sequence[FoldReport] = ()) -> FoldReport:
    """The report of a fold with these duals, and those of other reports."""
    return fold_report(
        [*(one.report for one in solved), *others],
        seeder=next((one.seeder for one in solved if one.seeder != "none"), "none"),
        seeding_seconds=sum(one.seeding_seconds for one in solved),
        solving_seconds=sum(one.solving_seconds for one in solved),
    )


def by_pairs(values: Buffer, n: int, labels: Sequence[int] | None, all_labels: list[int]) -> Buffer:
    """Decision values of a model with the classes ``labels`` in the order of the pairs of ``all_labels``.

    A reversed pair changes its sign; pairs missing from the model are nan.
    """
    if labels is None or list(labels) == all_labels:
        return values
    number = {label: c for c, label in enumerate(labels)}
    return folds.pairs_in_order(values, n, [number.get(label, -1) for label in all_labels])
