"""The folds of a classification: those of one dual for each pair of classes."""

from __future__ import annotations

from copy import copy
from functools import partial
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.arrays import ramp, take_float64, take_int32
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._train import folds, prediction
from libsvmx._train.assembly import INNER_FOLDS, assemble_classifier, joined_betas
from libsvmx._train.limits import ask
from libsvmx._train.parameter import class_costs
from libsvmx._train.training import pair_problem, predict_fold, shared_kernels, sigmoid_of
from libsvmx._train.validation.dual_folds import DualFolds, optimum_may_stand
from libsvmx._train.validation.problem_folds import ProblemFolds, WarmStarts, joined
from libsvmx._train.validation.single_folds import SingleFolds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.validation.dual_folds import SolvedFold
    from libsvmx._train.validation.fold_report import FoldReport
    from libsvmx._train.validation.scheme import Seeding
    from libsvmx._train.validation.seeded_inner_folds import SeededInnerFolds
    from libsvmx._typing import Buffer


def folds_of(
    problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider | None = None
) -> ProblemFolds:
    """What solves the folds of this problem; ``kernels`` of its rows, if there were or will be other solves."""
    kernels = kernels or shared_kernels(problem, param)
    if not param.svm_type.is_classification:
        return SingleFolds(problem, param, observer, kernels)
    return PairFolds(problem, param, observer, kernels)


def by_pairs(values: Buffer, n: int, labels: Sequence[int] | None, all_labels: list[int]) -> Buffer:
    """Decision values of a model with the classes ``labels`` in the order of the pairs of ``all_labels``.

    A pair the other way round changes its sign; pairs that the model lacks have nan.
    """
    if labels is None or list(labels) == all_labels:
        return values
    number = {label: c for c, label in enumerate(labels)}
    return folds.pairs_in_order(values, n, [number.get(label, -1) for label in all_labels])


class PairFolds(ProblemFolds):
    """PairFolds(problem, param, observer, kernels): the folds of all pairs of classes."""

    def __init__(self, problem: Problem, param: Parameter, observer: Observer, kernels: KernelProvider) -> None:
        self.problem, self.param, self.observer, self.ask = problem, param, observer, partial(ask, observer)
        labels, start, order = folds.group_classes(problem.targets)
        self.labels: list[int] = labels
        k = len(self.labels)
        self.class_of, self.place = folds.places_in_classes(start, order)
        self.size = [start[c + 1] - start[c] for c in range(k)]
        costs = class_costs(self.labels, param, observer)
        self.pairs: dict[tuple[int, int], DualFolds] = {}
        self.solved_pairs: list[tuple[int, int]] = []  # of the last fold: those with both classes
        self.solved: list[SolvedFold] = []  # these pairs
        self.sigmoids: list[tuple[float, float]] | None = None  # of the last fold, in its own order, after fit_sigmoids
        for i in range(k):
            for j in range(i + 1, k):
                pair = pair_problem(problem, order, start, i, j)
                self.pairs[i, j] = DualFolds(
                    *kernels.of(pair), param, pair.targets, costs[i], costs[j], observer, pair.sample_weight
                )

    def of_thread(self, at_once: int) -> Self:
        other = copy(self)
        other.param = replace(self.param, threads=1)
        other.pairs = {pair: own.of_thread(at_once) for pair, own in self.pairs.items()}
        return other

    def begin(self, observer: Observer) -> None:
        self.observer, self.ask = observer, partial(ask, observer)
        for pair in self.pairs.values():
            pair.begin(observer)

    def train_full(self) -> FoldReport:
        return joined([pair.train_full() for pair in self.pairs.values()])

    def solve(self, rest: Buffer, held_out: Buffer, seeding: Seeding, warm: WarmStarts) -> FoldReport:
        present = folds.classes_among(rest, self.class_of, len(self.labels))
        self.solved_pairs = [(i, j) for i, j in self.pairs if i in present and j in present]
        self.sigmoids = None
        self.solved = [
            self.pairs[i, j].solve(self.rows_in_pair(held_out, i, j), seeding, warm.get((i, j)))
            for i, j in self.solved_pairs
        ]
        return joined(self.solved)

    def fit_sigmoids(self, rest: Buffer, rand: Rand, inner: SeededInnerFolds) -> FoldReport:
        """After ``solve``, the probability estimates of the fold: of each pair inner folds, as LIBSVM draws them of the
        pair's rows in ``rest``. Returns the report of all solves of the fold. Raises Stopped."""
        labels, start, order = folds.group_classes(take_float64(self.problem.targets, rest))
        rows, number = take_int32(rest, order), [self.labels.index(label) for label in labels]
        self.sigmoids, solved = [], list(self.solved)
        for a, b in combinations(range(len(labels)), 2):
            i, j = min(number[a], number[b]), max(number[a], number[b])
            members = filled("i", [*rows[start[a] : start[a + 1]], *rows[start[b] : start[b + 1]]])
            inner_order, bounds = folds.plain_folds(len(members), INNER_FOLDS, rand)
            in_pair = take_int32(self.rows_in_pair(members, i, j), inner_order)
            dual, values = self.pairs[i, j].inside(), []
            for f in range(INNER_FOLDS):
                own = inner.values(dual, in_pair, bounds, f, dual.observer, 1)
                values.append(own if number[a] == i else filled("d", (-value for value in own)))
                if dual.last is not None and dual.last is not solved[-1]:
                    solved.append(dual.last)
            self.sigmoids.append(sigmoid_of(values, inner_order, start[a + 1] - start[a], dual.observer))
        return joined(solved)

    def for_larger_C(self) -> WarmStarts:
        return {(i, j): self.pairs[i, j].for_larger_C() for i, j in self.solved_pairs}

    def rows_in_pair(self, rows: Buffer, i: int, j: int) -> Buffer:
        """Which rows of pair (i, j) are among ``rows``, in the order of these."""
        return folds.rows_of_pair(rows, self.class_of, self.place, i, j, self.size[i])

    def predict(self, rest: Buffer, held_out: Buffer, with_values: bool) -> tuple[Buffer, Buffer | None]:
        if len(self.labels) == 2 and self.solved_pairs and self.sigmoids is None:
            values = self.pairs[0, 1].decided(self.rows_in_pair(held_out, 0, 1))
            return prediction.labels_of(self.param, self.labels, values, len(values)), values
        model = self.model_of(rest)
        out = self.problem.take(held_out)
        values = None
        if with_values:
            values = prediction.decision_values(model, out.matrix, out.rows, self.ask)
            values = by_pairs(values, len(out), model.class_labels, self.labels)
        if self.sigmoids is not None:
            return predict_fold(model, out, self.observer), values
        return prediction.predict_labels(model, out.matrix, out.rows, self.ask), values

    def full_values(self) -> Buffer:
        every = ramp(len(self.problem))
        if len(self.labels) == 2:
            pair = self.pairs[0, 1]
            return pair.decided(self.rows_in_pair(every, 0, 1), pair.full)
        model = self.model_of(every, full=True)
        return prediction.decision_values(model, self.problem.matrix, self.problem.rows, self.ask)

    def pairs_of(self, row: int) -> list[tuple[int, int, int]]:
        """Pairs of classes that the row is in, each with its number."""
        c = self.class_of[row]
        return [(at, i, j) for at, (i, j) in enumerate(self.pairs) if c in (i, j)]

    def rho_widths(self) -> list[float]:
        return [pair.rho_width for pair in self.pairs.values()]

    def is_unused(self, row: int) -> bool:
        return all(
            self.pairs[i, j].is_unused(self.rows_in_pair(filled("i", [row]), i, j)[0]) for _, i, j in self.pairs_of(row)
        )

    def leave_out(self, row: int, seeding: Seeding) -> tuple[FoldReport, dict[int, float]]:
        solved, changed = [], {}
        for at, i, j in self.pairs_of(row):
            left_out = self.rows_in_pair(filled("i", [row]), i, j)
            if self.size[self.class_of[row]] == 1:
                changed[at] = nan
            elif not optimum_may_stand(self.param) or not self.pairs[i, j].is_unused(left_out[0]):
                solved.append(self.pairs[i, j].solve(left_out, seeding))
                changed[at] = self.pairs[i, j].decided(left_out)[0]
        return joined(solved), changed

    def prediction(self, row: int, values: Buffer, order: list[int]) -> float:
        place = {c: at for at, c in enumerate(order)}
        votes = [0] * len(self.labels)
        for value, (i, j) in zip(values, self.pairs, strict=True):
            if value == value:  # else the row was all of its class
                first, second = (i, j) if place[i] < place[j] else (j, i)
                votes[first if (value if first == i else -value) > 0 else second] += 1
        present = [c for c in order if self.size[c] > (c == self.class_of[row])]
        return self.labels[max(present, key=lambda c: votes[c])]

    def model_of(self, rest: Buffer, full: bool = False) -> Model:
        part = self.problem.take(rest)
        labels, start, order = folds.group_classes(part.targets)
        number = [self.labels.index(label) for label in labels]
        rows = take_int32(rest, order)
        betas, reports = [], []
        for a, first in enumerate(number):
            for b in range(a + 1, len(number)):
                i, j = min(first, number[b]), max(first, number[b])
                pair = self.pairs[i, j]
                solved = pair.full if full else pair.last
                assert solved is not None
                members = filled("i", [*rows[start[a] : start[a + 1]], *rows[start[b] : start[b + 1]]])
                beta = take_float64(solved.coefficients, self.rows_in_pair(members, i, j))
                if first != i:
                    beta = filled("d", (-value for value in beta))
                betas.append(beta)
                report = solved.report
                reports.append(report if first == i else replace(report, rho=-report.rho))
        model = assemble_classifier(part, self.param, (labels, start, order), joined_betas(betas), reports)
        if not self.param.probability:
            return model
        if self.sigmoids is None or full:
            return replace(model, param=replace(self.param, probability=False))
        a, b = (filled("d", (sigmoid[k] for sigmoid in self.sigmoids)) for k in (0, 1))
        return replace(model, sigmoid_a=a, sigmoid_b=b)
