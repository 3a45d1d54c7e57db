"""Leave-one-out from one training over all rows.

* A row with alpha = 0 does not change the optimum, so its prediction stands (C-SVC and epsilon-SVR; in the nu
  formulations the sums depend on the number of rows).
* A misclassified row stays misclassified: as its alpha goes to 0, its margin y f only falls, since the optimal value is
  convex in alpha. The rest is solved again only if its decision value is requested.
* For every other row the rest is solved again, from the optimum over all rows with the row's coefficient redistributed:
  in a queue (queued_rows.py), or, where there are many rows, by ProblemFolds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.arrays import inverse, ramp, take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, prediction
from libsvmx._train.checks import check_problem
from libsvmx._train.limits import limited
from libsvmx._train.queue.trainings import queue_of_folds
from libsvmx._train.repeated_folds import Folds, draw_folds
from libsvmx._train.training import each_trained, predict_fold, shared_kernels, tell_offset
from libsvmx._train.validation.dual_folds import may_follow_path, optimum_may_stand
from libsvmx._train.validation.fold_report import FoldReport
from libsvmx._train.validation.problem_folds import (
    BATCHES_PER_THREAD,
    MOST_ROWS,
    PairsOfClasses,
    ProblemFolds,
    by_pairs,
)
from libsvmx._train.validation.queued_rows import QueuedRows
from libsvmx._train.validation.scheme import Seeding, check_seedable
from libsvmx._train.zero_weights import counting_part
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.zero_weights import CountingPart
    from libsvmx._typing import Buffer

# Two optima to eps differ in decision values by a few eps. With ``exact``, a row whose value is below this many eps, or
# below the width of the interval of possible rho (all coefficients at bounds), is predicted by LIBSVM's own training.
DOUBT = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOneOut:
    """Result of leave-one-out.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)              of each row by the training without it
    values : buffer of float64, shape (n * n_functions,)   decision values, as in a cross-validation; for known wrong
        rows those of the training over all rows
    labels : tuple of int
    retrained : buffer of int32        rows for which the rest was solved again, in the order of the solves
    known_wrong : int                  misclassified rows for which it was not
    folds : tuple of FoldReport        one for each of ``retrained``
    full : FoldReport                  the training over all rows
    done : int                         number of rows, or of leading folds drawn, that are done
    """

    predicted: Buffer
    values: Buffer
    labels: tuple[int, ...]
    retrained: Buffer
    known_wrong: int
    folds: tuple[FoldReport, ...]
    full: FoldReport
    done: int


def replaces_n_folds(param: Parameter) -> bool:
    """Whether leave-one-out with ``exact`` replaces LIBSVM's ``-v n`` for n rows."""
    if not param.solver.follows_libsvm or param.svm_type != SvmType.C_SVC or param.probability:
        return False
    if param.has_infinite_cost:
        return False
    return all(weight != 0 for _, weight in param.weights)


def leave_one_out(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    seeder: str = "auto",
    with_values: bool = True,
    exact: bool = False,
) -> LeftOneOut:
    """Predict every row by a model of all others.

    Parameters
    ----------
    seeder : str             see libsvmx._train.validation.scheme
    with_values : bool       also return decision values
    exact : bool             C-SVC: if two optima to eps might disagree on a label, LIBSVM's own training decides, with
                             the folds that ``rand`` draws

    Raises
    ------
    DataError, ParameterError
    StoppedEarly             ``partial`` is a LeftOneOut, nan from the first unfinished row on; None if the training
                             over all rows is unfinished
    """
    observer, n = limited(observer, param.time_limit), len(problem)
    check_seeding(problem, param, seeder)
    tell_offset(problem, param, observer)
    drawn = Folds(problem, *draw_folds(problem, param, n, rand, observer), rand)
    return rows_left_out(drawn, param, observer, shared_kernels(problem, param), seeder, with_values, exact)


def rows_left_out(
    drawn: Folds,
    param: Parameter,
    observer: Observer,
    kernels: KernelProvider,
    seeder: str = "auto",
    with_values: bool = True,
    exact: bool = False,
    unit: str = "row",
) -> LeftOneOut:
    """``leave_one_out`` of checked parameters, with folds of one row. ``unit``: what the observer counts: each
    'row', or in the order drawn each 'fold'."""
    problem, order, seeding, n = drawn.problem, drawn.order, Seeding(seeder, "star"), len(drawn.order)
    place = inverse(order, n)
    part = counting_part(problem, param, observer)
    rows, own_order = (part.rows, part.split(order)[0]) if part else (ramp(n), order)
    check_count(rows)
    visited, counts = ramp(len(rows)), [*range(len(rows) + 1)]
    if unit == "fold":
        visited, counts = own_order, [*(place[rows[row]] for row in own_order), n]

    def libsvms(doubtful: list[int]) -> dict[int, float]:
        """Predictions of rows by LIBSVM's own training on all others. Raises Stopped."""
        chosen = [drawn._replace(bounds=[place[row], place[row] + 1]) for row in doubtful]
        predictions = each_trained(chosen, param, observer, kernels, predict_fold) if doubtful else ()
        return {row: float(one[0]) for row, one in zip(doubtful, predictions, strict=True)}

    found: Rows | None = None
    try:
        counting = part[:2] if part else (problem, param)
        queue = None if seeder == "path" else queue_of_folds(*counting, len(rows), observer, kernels)
        source: ProblemFolds | QueuedRows
        known: QueuedRows | None = None
        if queue is not None:
            queue.decide_by_floats()
            queue.seed_by(seeder)
            source = known = QueuedRows(queue, *counting, kernels, observer)
            threads, at_once = 1, max(1, param.policy.rows_in_queue // len(rows))
        if known is None or (seeder == "auto" and may_follow_path(param) and not known.pays()):
            source = known.as_folds() if known else ProblemFolds(*counting, observer, kernels)
            seeding = Seeding("path", "star") if known else seeding
            threads = kernels.at_once_of(len(rows), thread_count(param.threads))
            at_once = BATCHES_PER_THREAD * MOST_ROWS * threads if exact else len(rows)
        full = (known or source).train_full()
        found = Rows(source, param, own_order, full, visited, counts)
        for first in range(0, len(rows), at_once):
            some = visited[first : first + at_once]
            for _ in found.left_out(some, seeding, threads, with_values, observer):
                if not exact:
                    found.counted(observer, unit)
            if exact:
                decided = libsvms([rows[row] for row in some if found.is_doubtful(row)])
                found.decided.update({row: decided[rows[row]] for row in some if rows[row] in decided})
                for _ in some:
                    found.counted(observer, unit)
        whole = of_whole(found, part, problem)
        others = part.split(ramp(n))[2] if part and exact else ()
        for row, predicted in libsvms([row for row in others if found.is_doubtful_for_any(whole, row)]).items():
            whole.predicted[row] = predicted
    except Stopped as stop:
        done = f"leave-one-out has no result; {found.done if found else 0} of {len(rows)} rows are done"
        raise StoppedEarly(stop.status, done, found and of_whole(found, part, problem)) from None
    return whole


def of_whole(found: Rows, part: CountingPart | None, problem: Problem) -> LeftOneOut:
    """The result over ``problem``; rows of weight 0 are predicted by the training on all others."""
    own = found.result()
    if part is None:
        return own
    source = found.source.as_folds() if isinstance(found.source, QueuedRows) else found.source
    model = source.model_of(found.order, full=True)
    order = folds.group_classes(problem.targets)[0] if own.labels else []
    _, counting, others = part.split(ramp(len(problem)))
    out = problem.take(others)
    values, labels_out = prediction.decision_values(model, out.matrix, out.rows), model.class_labels
    width = len(order) * (len(order) - 1) // 2 if own.labels else 1
    predicted, all_values = zeros("d", len(problem)), zeros("d", len(problem) * width)
    for rows, labels, some, them in (
        (counting, own.labels or None, own.values, own.predicted),
        (others, labels_out, values, prediction.labels_of(model.param, labels_out or (), values, len(others))),
    ):
        some = by_pairs(some, len(rows), labels, order)
        for at, row in enumerate(rows):
            predicted[row] = them[at]
            all_values[row * width : (row + 1) * width] = some[at * width : (at + 1) * width]
    return replace(
        own,
        predicted=predicted,
        values=all_values,
        labels=tuple(order),
        retrained=take_int32(part.rows, own.retrained),
    )


def check_count(rows: Buffer) -> None:
    """Raise DataError for fewer than two rows of weight > 0."""
    if len(rows) < 2:
        raise DataError("leave-one-out needs at least 2 rows whose weight is not 0")


class Rows:
    """Rows(source, param, order, full, visited, counts): collects folds of one row each, all of weight > 0, left out in
    the order ``visited``; ``counts``: what is counted when the k first are done.

    Attributes
    ----------
    done : int                     number of leading ones of ``visited`` with a prediction
    decided : dict of float        predictions by LIBSVM's own training, of doubtful rows
    """

    def __init__(
        self,
        source: ProblemFolds | QueuedRows,
        param: Parameter,
        order: Buffer,
        full: FoldReport,
        visited: Buffer,
        counts: list[int],
    ) -> None:
        self.source, self.param, self.order, self.full = source, param, order, full
        self.visited, self.counts = visited, counts
        self.values, self.widths = source.full_values(), source.rho_widths()
        self.width = len(self.values) // len(order)
        self.reports: dict[int, FoldReport] = {}  # of rows solved again
        self.known_wrong: list[int] = []
        self.widths_of: dict[int, list[float]] = {}  # of rows solved again
        self.decided: dict[int, float] = {}
        self.done = 0

    def own(self, row: int) -> Buffer:
        """Decision values of a row."""
        return self.values[row * self.width : (row + 1) * self.width]

    def is_known_wrong(self, row: int) -> bool:
        """Whether a row is wrong in the training over all rows, and so without it."""
        two = len(self.source.labels) == 2 and not self.source.is_alone(row)
        return two and (self.values[row] > 0) != (self.source.class_of[row] == 0)

    def left_out(
        self, rows: Buffer, seeding: Seeding, threads: int, with_values: bool, observer: Observer
    ) -> Iterator[int]:
        """Leave out each of ``rows``, and yield its number once its decision values are known. Raises Stopped."""
        source, again, wrong = self.source, set(rows), set[int]()
        if optimum_may_stand(self.param):
            again = {row for row in rows if not source.is_unused(row)}
            if not with_values:
                wrong = {row for row in again if self.is_known_wrong(row)}
                again -= wrong
        solved = source.each_left_out([row for row in rows if row in again], seeding, threads, observer)
        for row in rows:
            if row in wrong:
                self.known_wrong.append(row)
            elif row in again:
                one = next(solved)
                for pair, value in one.changed.items():
                    self.values[row * self.width + pair] = value
                self.reports[row], self.widths_of[row] = one.report, one.widths
            yield row

    def counted(self, observer: Observer, unit: str) -> None:
        """Count one more row that is done."""
        self.done += 1
        observer.counted(unit, self.counts[self.done], self.counts[-1])

    def is_doubtful(self, row: int) -> bool:
        """Whether two optima to eps might disagree on the prediction of a row."""
        return is_doubtful(self.own(row), self.widths_of.get(row, self.widths), self.param.eps)

    def is_doubtful_for_any(self, whole: LeftOneOut, row: int) -> bool:
        """``is_doubtful`` for a row of weight 0."""
        width = len(whole.values) // len(whole.predicted)
        own = filled("d", (v for v in whole.values[row * width : (row + 1) * width] if v == v))
        widest = max(self.widths, default=0.0)
        return is_doubtful(own, [widest] * len(own), self.param.eps)

    def predictions(self) -> Buffer:
        """Of all rows, by their values so far."""
        source, n = self.source, len(self.order)
        if not source.labels:
            return filled("d", prediction.labels_of(self.param, (), self.values, n))
        classes = ClassOrder(source, self.order)
        labels = [source.labels[c] for c in classes.usual]
        predicted = prediction.labels_of(self.param, labels, by_pairs(self.values, n, source.labels, labels), n)
        for row in classes.leading():  # without it equal votes may go to another class, or its class has no row
            predicted[row] = source.prediction(row, self.own(row), classes.without(row))
        for row, label in self.decided.items():
            predicted[row] = label
        return predicted

    def result(self) -> LeftOneOut:
        """The result; unfinished rows are nan."""
        predicted, unfinished = self.predictions(), set(self.visited[self.done :])
        for row in unfinished:
            predicted[row] = nan
            for at in range(row * self.width, (row + 1) * self.width):
                self.values[at] = nan
        reports = {row: report for row, report in self.reports.items() if row not in unfinished}
        return LeftOneOut(
            predicted=predicted,
            values=self.values,
            labels=tuple(self.source.labels),
            retrained=filled("i", reports),
            known_wrong=len(self.known_wrong) - len(unfinished.intersection(self.known_wrong)),
            folds=tuple(reports.values()),
            full=self.full,
            done=self.counts[self.done],
        )


def check_seeding(problem: Problem, param: Parameter, seeder: str) -> None:
    """Raise DataError or ParameterError where leave-one-out is impossible."""
    check_problem(problem, param)
    check_seedable(param)
    if param.probability:
        raise ParameterError("leave-one-out from one training gives no probability estimates: leave out -b 1")
    Seeding(seeder, "star")
    if seeder == "none":
        raise ParameterError("leave-one-out starts from the training over all rows: choose a seeding method")


def is_doubtful(values: Buffer, rho_widths: list[float], eps: float) -> bool:
    """Whether two optima to eps might disagree on the sign of one of these decision values, or one is nan."""
    return any(not abs(value) > max(DOUBT * eps, width) for value, width in zip(values, rho_widths, strict=True))


class ClassOrder:
    """ClassOrder(pairs, order): LIBSVM's order of classes, by first appearance in ``order`` without a row."""

    def __init__(self, pairs: PairsOfClasses, order: Buffer) -> None:
        self.first: dict[int, list[int]] = {}  # the first two places of each class
        for place, row in enumerate(order):
            seen = self.first.setdefault(pairs.class_of[row], [])
            if len(seen) < 2:
                seen.append(place)
        self.order, self.class_of = order, pairs.class_of
        self.swaps = pairs.labels == [1, -1]  # LIBSVM then has +1 first, whichever appears first
        self.usual = sorted(self.first, key=lambda c: c if self.swaps else self.first[c][0])

    def leading(self) -> list[int]:
        """The first row of each class."""
        return [self.order[places[0]] for places in self.first.values()]

    def without(self, row: int) -> list[int]:
        """The order without ``row``."""
        own = self.first[self.class_of[row]]
        if self.swaps or self.order[own[0]] != row:
            return self.usual
        return sorted(self.first, key=lambda c: self.first[c][-1] if c == self.class_of[row] else self.first[c][0])
