"""Cross-validation whose rounds start from what the last ones found (alpha seeding), and LIBSVM's plain one.

Wen, Li, Kotagiri, Chen, Chen & Zhang, Improving efficiency of SVM k-fold cross-validation by alpha seeding, AAAI 2017.
The folds are LIBSVM's. Seeded rounds end at the same optimum to eps, so they predict the same but for rows on the
border.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import nan
from time import perf_counter
from typing import TYPE_CHECKING

from libsvmx._core.arrays import take_float64, take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._kernels.kernel import Kernel
from libsvmx._train import folds, prediction
from libsvmx._train.checks import check_problem
from libsvmx._train.observer import Observer, SolveReport
from libsvmx._train.rounds import Rounds, SolvedRound
from libsvmx._train.seeding import Seeding
from libsvmx._train.training import (
    assemble_classifier,
    class_costs,
    draw_folds,
    pair_problem,
    predict_fold,
    train_all_but,
)
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._core.rand import Rand
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer


@dataclass(frozen=True, slots=True)
class FoldReport:
    """One round. Sums over the pairs of classes where there are several.

    Attributes
    ----------
    seeder : str                 what the round started from: 'none', or a method
    iterations : int
    seeding_seconds, solving_seconds : float     the start, and the rest; predicting is not in them
    objective : float
    rho : float                  nan with several pairs
    n_sv : int                   support vectors
    rows_computed, values_computed : int         kernel rows in the solver, kernel values in all
    gap : float                  largest KKT gap
    status : str                 'converged', or the first other end of a solve
    """

    seeder: str
    iterations: int
    seeding_seconds: float
    solving_seconds: float
    objective: float
    rho: float
    n_sv: int
    rows_computed: int
    values_computed: int
    gap: float
    status: str


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """What a cross-validation found.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)            of each row by the round without it
    values : buffer of float64, shape (n * n_functions,) its decision values: one, or one for each pair of ``labels``
        (0, 1), (0, 2), …; nan where a round lacks a class
    labels : tuple of int                                classes by first appearance
    fold_of : buffer of int32, shape (n,)
    folds : tuple of FoldReport
    seeding : Seeding
    whole : FoldReport           the training over all rows that a star begins with, else None
    state : object               starts for the same folds at another C, None without seeding
    """

    predicted: Buffer
    values: Buffer
    labels: tuple[int, ...]
    fold_of: Buffer
    folds: tuple[FoldReport, ...]
    seeding: Seeding
    whole: FoldReport | None = None
    state: object = None

    @property
    def solves(self) -> tuple[FoldReport, ...]:
        """All trainings: that over all rows, if there was one, and the rounds."""
        return self.folds if self.whole is None else (self.whole, *self.folds)


def cross_validate(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    rand: Rand,
    observer: Observer,
    seeding: Seeding,
    with_values: bool = True,
) -> CrossValidated:
    """Predict every row by a model trained without its fold; ``with_values``: decision values are wanted, too.

    Raises
    ------
    DataError, ParameterError
    """
    check_problem(problem, param)
    order, bounds = draw_folds(problem, param, n_folds, rand, observer)
    if seeding.method == "none":
        return plain(problem, param, order, bounds, rand, observer, with_values)
    check_seedable(param)
    tally = Tally(problem, param, order, bounds)
    solver = rounds_of(problem, param, observer)
    seeding = seeding.usual
    if seeding.scheme == "star":
        tally.whole = solver.train_whole()
    for begin, end in pairwise(bounds):
        rest, held_out = folds.all_but(order, begin, end), order[begin:end]
        report = solver.solve(rest, held_out, seeding)
        predicted, values = solver.predict(rest, held_out, with_values)
        tally.add(held_out, predicted, values, report)
    return tally.result(seeding)


def rounds_of(problem: Problem, param: Parameter, observer: Observer) -> SingleRounds | PairRounds:
    """What solves the rounds of this problem."""
    if not param.svm_type.is_classification:
        return SingleRounds(problem, param, observer)
    return PairRounds(problem, param, observer)


def check_seedable(param: Parameter) -> None:
    """Raises ParameterError for what seeded rounds do not do."""
    if param.probability:
        raise ParameterError("alpha seeding gives no probability estimates: leave out -b 1, or seed with none")
    if param.svm_type == SvmType.C_SVC and any(weight == 0 for _, weight in param.weights):
        raise ParameterError("alpha seeding needs positive class weights: leave the class out, or seed with none")


def plain(
    problem: Problem,
    param: Parameter,
    order: Buffer,
    bounds: list[int],
    rand: Rand,
    observer: Observer,
    with_values: bool,
) -> CrossValidated:
    """LIBSVM's cross-validation: every round from nothing, along LIBSVM's path."""
    tally = Tally(problem, param, order, bounds)
    for begin, end in pairwise(bounds):
        counting = Counting(observer)
        began = perf_counter()
        model = train_all_but(problem, param, order, begin, end, rand, counting)
        seconds = perf_counter() - began
        held_out = problem.take(order[begin:end])
        predicted = predict_fold(model, held_out, observer)
        values = None
        if with_values:
            values = prediction.decision_values(model, held_out.matrix, held_out.rows)
            values = by_pairs(values, len(held_out), model.class_labels, tally.labels)
        tally.add(order[begin:end], predicted, values, fold_report(counting.reports, "none", 0.0, seconds))
    return tally.result(Seeding("none"))


class Counting(Observer):
    """Passes everything on, and sums up what the solves of one round took."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.reports: list[SolveReport] = []
        for name in ("mark", "should_stop", "total_sv", "laplace_scale", "remark"):
            setattr(self, name, getattr(observer, name))

    def solved(self, report: SolveReport) -> None:
        self.reports.append(report)
        self.observer.solved(report)


class Tally:
    """Puts the rounds together."""

    def __init__(self, problem: Problem, param: Parameter, order: Buffer, bounds: list[int]) -> None:
        n = len(problem)
        classify = param.svm_type.is_classification
        self.labels = folds.group_classes(problem.targets)[0] if classify else []
        self.width = len(self.labels) * (len(self.labels) - 1) // 2 if classify else 1
        self.predicted, self.values, self.fold_of = zeros("d", n), zeros("d", n * self.width), zeros("i", n)
        for f, (begin, end) in enumerate(pairwise(bounds)):
            for row in order[begin:end]:
                self.fold_of[row] = f
        self.reports: list[FoldReport] = []
        self.whole: FoldReport | None = None

    def add(self, rows: Buffer, predicted: Buffer, values: Buffer | None, report: FoldReport) -> None:
        """A round: predictions and, if they were wanted, decision values of the rows held out."""
        width = self.width
        for k, row in enumerate(rows):
            self.predicted[row] = predicted[k]
            if values is not None:
                self.values[row * width : (row + 1) * width] = values[k * width : (k + 1) * width]
        self.reports.append(report)

    def result(self, seeding: Seeding) -> CrossValidated:
        """All of it."""
        return CrossValidated(
            self.predicted, self.values, tuple(self.labels), self.fold_of, tuple(self.reports), seeding, self.whole
        )


def by_pairs(values: Buffer, n: int, labels: tuple[int, ...] | None, all_labels: list[int]) -> Buffer:
    """Decision values of a model with the classes ``labels`` in the order of the pairs of ``all_labels``.

    A pair the other way round changes its sign; pairs that the model lacks have nan.
    """
    if labels is None or list(labels) == all_labels:
        return values
    k = len(labels)
    pairs = {pair: at for at, pair in enumerate((i, j) for i in range(k) for j in range(i + 1, k))}
    place = {label: c for c, label in enumerate(labels)}
    wanted = [(i, j) for c, i in enumerate(all_labels) for j in all_labels[c + 1 :]]
    out = zeros("d", n * len(wanted))
    for at, (first, second) in enumerate(wanted):
        a, b = place.get(first, -1), place.get(second, -1)
        source, sign = pairs.get((min(a, b), max(a, b))), 1.0 if a < b else -1.0
        for row in range(n):
            out[row * len(wanted) + at] = nan if source is None else sign * values[row * len(pairs) + source]
    return out


class SingleRounds:
    """SingleRounds(problem, param, observer): the rounds of a one-class SVM or a regression."""

    def __init__(self, problem: Problem, param: Parameter, observer: Observer) -> None:
        self.param = param
        self.rounds = Rounds(kernel_of(problem, param), param, problem.targets, 0.0, 0.0, observer)

    def train_whole(self) -> FoldReport:
        """The optimum over all rows."""
        return sum_up([self.rounds.train_whole()])

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding) -> FoldReport:
        """The round without ``held_out``; ``rest`` are the other rows in the order of the folds."""
        return sum_up([self.rounds.solve(held_out, seeding)])

    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer]:
        """Predictions and decision values of the rows held out of the last round."""
        values = self.rounds.decided(held_out)
        if self.param.svm_type.is_regression:
            return values, values
        return filled("d", (1.0 if value > 0 else -1.0 for value in values)), values


class PairRounds:
    """PairRounds(problem, param, observer): the rounds of all pairs of classes."""

    def __init__(self, problem: Problem, param: Parameter, observer: Observer) -> None:
        self.problem, self.param = problem, param
        self.labels, start, order = folds.group_classes(problem.targets)
        k = len(self.labels)
        self.class_of, self.place = zeros("i", len(problem)), zeros("i", len(problem))  # place of a row in its class
        for c in range(k):
            for at in range(start[c], start[c + 1]):
                self.class_of[order[at]], self.place[order[at]] = c, at - start[c]
        self.size = [start[c + 1] - start[c] for c in range(k)]
        costs = class_costs(self.labels, param, observer)
        self.pairs: dict[tuple[int, int], Rounds] = {}
        for i in range(k):
            for j in range(i + 1, k):
                pair = pair_problem(problem, order, start, i, j)
                self.pairs[i, j] = Rounds(kernel_of(pair, param), param, pair.targets, costs[i], costs[j], observer)

    def train_whole(self) -> FoldReport:
        """The optima over all rows."""
        return sum_up([pair.train_whole() for pair in self.pairs.values()])

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding) -> FoldReport:
        """The round without ``held_out``; ``rest`` are the other rows in the order of the folds."""
        present = {self.class_of[row] for row in rest}
        return sum_up(
            [
                pair.solve(self.rows_in_pair(held_out, i, j), seeding)
                for (i, j), pair in self.pairs.items()
                if i in present and j in present
            ]
        )

    def rows_in_pair(self, rows: Buffer, i: int, j: int) -> Buffer:
        """Which rows of pair (i, j) are among ``rows``, in the order of these."""
        n_i = self.size[i]
        return filled(
            "i",
            (self.place[row] + (0 if self.class_of[row] == i else n_i) for row in rows if self.class_of[row] in (i, j)),
        )

    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer | None]:
        """Predictions and decision values of the rows held out of the last round."""
        if len(self.labels) == 2 and len({self.class_of[row] for row in rest}) == 2:
            values = self.pairs[0, 1].decided(self.rows_in_pair(held_out, 0, 1))
            first, second = self.labels
            return filled("d", (first if value > 0 else second for value in values)), values
        model = self.model_of(rest)
        out = self.problem.take(held_out)
        values = None
        if with_values:
            values = prediction.decision_values(model, out.matrix, out.rows)
            values = by_pairs(values, len(out), model.class_labels, self.labels)
        return prediction.predict_labels(model, out.matrix, out.rows), values

    def model_of(self, rest: Buffer) -> Model:
        """The classifier of the last round: classes and rows in LIBSVM's order, which decides equal votes."""
        part = self.problem.take(rest)
        labels, start, order = folds.group_classes(part.targets)
        number = [self.labels.index(label) for label in labels]
        rows = take_int32(rest, order)
        betas, rhos, statuses = [], [], []
        for a, first in enumerate(number):
            for b in range(a + 1, len(number)):
                i, j = min(first, number[b]), max(first, number[b])
                solved = self.pairs[i, j].solved
                members = filled("i", [*rows[start[a] : start[a + 1]], *rows[start[b] : start[b + 1]]])
                beta = take_float64(solved.beta, self.rows_in_pair(members, i, j))
                if first != i:
                    beta = filled("d", (-value for value in beta))
                betas.append(beta)
                rhos.append(solved.rho if first == i else -solved.rho)
                statuses.append(solved.status)
        return assemble_classifier(part, self.param, (labels, start, order), betas, rhos, statuses)


def kernel_of(problem: Problem, param: Parameter) -> Kernel:
    """The kernel over the rows of a problem."""
    return Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)


def fold_report(reports: list[SolveReport], seeder: str, seeding_seconds: float, solving_seconds: float) -> FoldReport:
    """Sums over pairs."""
    return FoldReport(
        seeder,
        sum(r.iterations for r in reports),
        seeding_seconds,
        solving_seconds,
        sum(r.objective for r in reports),
        reports[0].rho if len(reports) == 1 else nan,
        sum(r.n_sv for r in reports),
        sum(r.rows_computed for r in reports),
        sum(r.values_computed for r in reports),
        max((r.gap for r in reports), default=0.0),
        next((r.status for r in reports if r.status != "converged"), "converged"),
    )


def sum_up(rounds: list[SolvedRound]) -> FoldReport:
    """One round over all pairs."""
    return fold_report(
        [one.report for one in rounds],
        next((one.seeder for one in rounds if one.seeder != "none"), "none"),
        sum(one.seeding_seconds for one in rounds),
        sum(one.solving_seconds for one in rounds),
    )
