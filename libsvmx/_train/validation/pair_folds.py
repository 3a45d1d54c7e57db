"""The rounds of a whole problem: one dual problem of a regression or one-class SVM, or one for each pair of classes."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp, take_float64, take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._train import folds, prediction
from libsvmx._train.training import assemble_classifier, class_costs, pair_problem, shared_kernels
from libsvmx._train.validation.dual_folds import Kept, Rounds, SolvedRound
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer, SolveReport
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.validation.scheme import Seeding
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


def rounds_of(
    problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider | None = None
) -> SingleRounds | PairRounds:
    """What solves the rounds of this problem; ``kernels`` of its rows, if there were or will be other solves."""
    kernels = kernels or shared_kernels(problem, param)
    if not param.svm_type.is_classification:
        return SingleRounds(problem, param, observer, kernels)
    return PairRounds(problem, param, observer, kernels)


def check_seedable(param: Parameter) -> None:
    """Raises ParameterError for what seeded rounds do not do."""
    param.solver.require("may_be_seeded")
    if param.probability:
        raise ParameterError("alpha seeding gives no probability estimates: leave out -b 1, or seed with none")
    if param.svm_type == SvmType.C_SVC and any(weight == 0 for _, weight in param.weights):
        raise ParameterError("alpha seeding needs positive class weights: leave the class out, or seed with none")


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


# Optima of one fold by pair of classes; of a single problem as that of (0, 0).
KeptFold = dict[tuple[int, int], Kept]


class SingleRounds:
    """SingleRounds(problem, param, observer, kernels): the rounds of a one-class SVM or a regression."""

    def __init__(self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider) -> None:
        self.param = param
        self.rounds = Rounds(*kernels.of(problem), param, problem.targets, 0.0, 0.0, observer)

    def train_whole(self) -> FoldReport:
        """The optimum over all rows."""
        return sum_up([self.rounds.train_whole()])

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding, kept: KeptFold) -> FoldReport:
        """The round without ``held_out``; ``rest`` are the other rows in the order of the folds, ``kept`` its optimum
        at a smaller C, if there is one."""
        return sum_up([self.rounds.solve(held_out, seeding, kept.get((0, 0)))])

    def keep(self) -> KeptFold:
        """The last round, for a larger C."""
        return {(0, 0): self.rounds.keep()}

    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer]:
        """Predictions and decision values of the rows held out of the last round."""
        values = self.rounds.decided(held_out)
        if self.param.svm_type.is_regression:
            return values, values
        return filled("d", (1.0 if value > 0 else -1.0 for value in values)), values

    def whole_values(self) -> Buffer:
        """Decision values of all rows by the training over all of them."""
        return self.rounds.decided(ramp(len(self.rounds.targets)), self.rounds.whole)

    def leeway(self) -> list[float]:
        """How wide the interval is in which rho may lie, in the last round or, wider, over all rows."""
        return [self.rounds.leeway]

    def unused(self, row: int) -> bool:
        """Whether the training over all rows gave the row no coefficient."""
        return self.rounds.unused(row)

    def leave_out(self, row: int, seeding: Seeding) -> tuple[FoldReport, dict[int, float]]:
        """The round without one row, and the row's decision value by it."""
        left_out = filled("i", [row])
        report = sum_up([self.rounds.solve(left_out, seeding)])
        return report, {0: self.rounds.decided(left_out)[0]}

    def prediction(self, row: int, values: Buffer, order: list[int]) -> float:
        """What decision values say of a row."""
        if self.param.svm_type.is_regression:
            return float(values[0])
        return 1.0 if values[0] > 0 else -1.0


class PairRounds:
    """PairRounds(problem, param, observer, kernels): the rounds of all pairs of classes."""

    def __init__(self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider) -> None:
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
        self.solved_pairs: list[tuple[int, int]] = []  # of the last round: those with both classes
        for i in range(k):
            for j in range(i + 1, k):
                pair = pair_problem(problem, order, start, i, j)
                self.pairs[i, j] = Rounds(*kernels.of(pair), param, pair.targets, costs[i], costs[j], observer)

    def train_whole(self) -> FoldReport:
        """The optima over all rows."""
        return sum_up([pair.train_whole() for pair in self.pairs.values()])

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding, kept: KeptFold) -> FoldReport:
        """The round without ``held_out``; ``rest`` are the other rows in the order of the folds, ``kept`` its optima at
        a smaller C, if there are any."""
        present = {self.class_of[row] for row in rest}
        self.solved_pairs = [(i, j) for i, j in self.pairs if i in present and j in present]
        return sum_up(
            [
                self.pairs[i, j].solve(self.rows_in_pair(held_out, i, j), seeding, kept.get((i, j)))
                for i, j in self.solved_pairs
            ]
        )

    def keep(self) -> KeptFold:
        """The last round, for a larger C."""
        return {(i, j): self.pairs[i, j].keep() for i, j in self.solved_pairs}

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

    def whole_values(self) -> Buffer:
        """Decision values of all rows by the training over all of them, pair by pair."""
        every = ramp(len(self.problem))
        if len(self.labels) == 2:
            pair = self.pairs[0, 1]
            return pair.decided(self.rows_in_pair(every, 0, 1), pair.whole)
        return prediction.decision_values(self.model_of(every, whole=True), self.problem.matrix, self.problem.rows)

    def pairs_of(self, row: int) -> list[tuple[int, int, int]]:
        """Pairs of classes that the row is in, each with its number."""
        c = self.class_of[row]
        return [(at, i, j) for at, (i, j) in enumerate(self.pairs) if c in (i, j)]

    def leeway(self) -> list[float]:
        """For each pair, how wide the interval is in which rho may lie, in its last round or, wider, over all rows."""
        return [pair.leeway for pair in self.pairs.values()]

    def unused(self, row: int) -> bool:
        """Whether the training over all rows gave the row no coefficient."""
        return all(
            self.pairs[i, j].unused(self.rows_in_pair(filled("i", [row]), i, j)[0]) for _, i, j in self.pairs_of(row)
        )

    def leave_out(self, row: int, seeding: Seeding) -> tuple[FoldReport, dict[int, float]]:
        """The rounds without one row, and what they change of its decision values; nan where its class is gone."""
        solved, changed = [], {}
        for at, i, j in self.pairs_of(row):
            left_out = self.rows_in_pair(filled("i", [row]), i, j)
            if self.size[self.class_of[row]] == 1:
                changed[at] = nan
            elif not self.pairs[i, j].may_stand or not self.pairs[i, j].unused(left_out[0]):
                solved.append(self.pairs[i, j].solve(left_out, seeding))
                changed[at] = self.pairs[i, j].decided(left_out)[0]
        return sum_up(solved), changed

    def prediction(self, row: int, values: Buffer, order: list[int]) -> float:
        """What decision values say of a row; ``order``: the classes, of which the first wins equal votes."""
        place = {c: at for at, c in enumerate(order)}
        votes = [0] * len(self.labels)
        for value, (i, j) in zip(values, self.pairs, strict=True):
            if value == value:  # else the row was all of its class
                first, second = (i, j) if place[i] < place[j] else (j, i)
                votes[first if (value if first == i else -value) > 0 else second] += 1
        present = [c for c in order if self.size[c] > (c == self.class_of[row])]
        return self.labels[max(present, key=lambda c: votes[c])]

    def model_of(self, rest: Buffer, whole: bool = False) -> Model:
        """The classifier of the last round, or of the training over all rows; LIBSVM's order decides equal votes."""
        part = self.problem.take(rest)
        labels, start, order = folds.group_classes(part.targets)
        number = [self.labels.index(label) for label in labels]
        rows = take_int32(rest, order)
        betas, rhos, statuses = [], [], []
        for a, first in enumerate(number):
            for b in range(a + 1, len(number)):
                i, j = min(first, number[b]), max(first, number[b])
                pair = self.pairs[i, j]
                solved = pair.whole if whole else pair.solved
                assert solved is not None
                members = filled("i", [*rows[start[a] : start[a + 1]], *rows[start[b] : start[b + 1]]])
                beta = take_float64(solved.beta, self.rows_in_pair(members, i, j))
                if first != i:
                    beta = filled("d", (-value for value in beta))
                betas.append(beta)
                rhos.append(solved.rho if first == i else -solved.rho)
                statuses.append(solved.status)
        return assemble_classifier(part, self.param, (labels, start, order), betas, rhos, statuses)


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
