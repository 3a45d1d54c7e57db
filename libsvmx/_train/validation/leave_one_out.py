"""Leave-one-out from one training over all rows.

* A row with alpha = 0 does not change the optimum, so its prediction stands (C-SVC and epsilon-SVR; in the nu
  formulations the sums depend on the number of rows).
* A misclassified row stays misclassified: as its alpha goes to 0, its margin y f only falls, since the optimal value is
  convex in alpha. The rest is solved again only if its decision value is requested.
* For every other row the rest is solved again, from the optimum over all rows with the row's coefficient redistributed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, repeat
from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.arrays import inverse, ramp, take_int32
from libsvmx._core.buffers import filled, not_done, zeros
from libsvmx._core.records import NamedTuple, replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, prediction
from libsvmx._train.checks import check_problem
from libsvmx._train.drawn_folds import Fold, draw_folds
from libsvmx._train.limits import ask, limited
from libsvmx._train.training import predict_fold, shared_kernels, tell_offset, train_all_but
from libsvmx._train.validation.dual_folds import optimum_may_stand
from libsvmx._train.validation.fold_report import FoldReport
from libsvmx._train.validation.problem_folds import ProblemFolds, by_pairs
from libsvmx._train.validation.scheme import Seeding, check_seedable
from libsvmx._train.zero_weights import counting_part
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
# Rows per piece of work of a thread at most; fewer if there are few rows, so that threads end at about the same time.
MOST_ROWS = 16
BATCHES_PER_THREAD = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOneOut:
    """Result of leave-one-out.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)              of each row by the training without it
    values : buffer of float64, shape (n * n_functions,)   decision values, as in a cross-validation; for known wrong
        rows those of the training over all rows
    labels : tuple of int
    retrained : buffer of int32        rows for which the rest was solved again, ascending
    known_wrong : int                  misclassified rows for which it was not
    folds : tuple of FoldReport        one for each of ``retrained``
    full : FoldReport                  the training over all rows
    """

    predicted: Buffer
    values: Buffer
    labels: tuple[int, ...]
    retrained: Buffer
    known_wrong: int
    folds: tuple[FoldReport, ...]
    full: FoldReport


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
    over
        all rows is unfinished
    """
    observer, n = limited(observer, param.time_limit), len(problem)
    seeding = checked_seeding(problem, param, seeder)
    tell_offset(problem, param, observer)
    order = draw_folds(problem, param, n, rand, observer)[0]
    place, kernels = inverse(order, n), shared_kernels(problem, param)
    part = counting_part(problem, param, observer)
    rows, own_order = (part.rows, part.split(order)[0]) if part else (ramp(n), order)
    check_count(rows)

    def libsvms(row: int, observer: Observer, threads: int = 1) -> float:
        own = param if threads == 1 else replace(param, threads=1)
        return libsvms_prediction(problem, own, order, place[row], rand, observer, kernels)

    found: Rows | None = None
    try:
        problem_folds = ProblemFolds(*part[:2] if part else (problem, param), observer, kernels)
        found = Rows(problem_folds, param, own_order, problem_folds.train_full())
        threads = kernels.at_once_of(len(rows), thread_count(param.threads))

        def without(own: ProblemFolds, at: int, observer: Observer) -> LeftOut:
            assert found is not None
            one = found.without(own, at, seeding, with_values, observer)
            doubtful = exact and is_doubtful(one.values, own.rho_widths(), param.eps)
            return one._replace(predicted=libsvms(rows[at], observer, threads)) if doubtful else one

        for one in each_left_out(without, problem_folds, len(rows), threads, observer):
            found.add(one)
            observer.counted("row", found.done, len(rows))
        problem_folds.begin(observer)
        whole = of_whole(found, part, problem)
        for row in part.split(ramp(n))[2] if part and exact else ():
            if found.is_doubtful_for_any(whole, row):
                whole.predicted[row] = libsvms(row, observer)
    except Stopped as stop:
        done = f"leave-one-out has no result; {found.done if found else 0} of {len(rows)} rows are done"
        raise StoppedEarly(stop.status, done, found and of_whole(found, part, problem)) from None
    return whole


def of_whole(found: Rows, part: CountingPart | None, problem: Problem) -> LeftOneOut:
    """The result over ``problem``; rows of weight 0 are predicted by the training on all others."""
    own = found.result()
    if part is None:
        return own
    model = found.problem_folds.model_of(found.order, full=True)
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


class LeftOut(NamedTuple):
    """A row left out: its prediction, its decision values, and the report if the rest was solved again."""

    predicted: float
    values: Buffer
    known_wrong: bool
    report: FoldReport | None


def each_left_out(
    without: Callable[[ProblemFolds, int, Observer], LeftOut],
    problem_folds: ProblemFolds,
    n: int,
    threads: int,
    observer: Observer,
) -> Iterator[LeftOut]:
    """``without(folds, row, observer)`` for rows 0, 1, … n - 1, in batches per thread. Raises Stopped."""
    size = max(1, min(MOST_ROWS, n // (BATCHES_PER_THREAD * threads))) if threads > 1 else 1

    def batch(own: ProblemFolds, b: int, observer: Observer) -> tuple[list[LeftOut], Stopped | None]:
        done: list[LeftOut] = []
        try:
            for row in range(b * size, min(n, (b + 1) * size)):
                ask(observer)
                done.append(without(own, row, observer))
        except Stopped as stop:
            return done, stop
        return done, None

    for done, stop in problem_folds.each(batch, (n + size - 1) // size, threads, observer):
        yield from done
        if stop is not None:
            raise stop


class Rows:
    """Rows(problem_folds, param, order, full): collects folds of one row each, all of weight > 0.

    Attributes
    ----------
    done : int      number of leading rows with a prediction
    """

    def __init__(self, problem_folds: ProblemFolds, param: Parameter, order: Buffer, full: FoldReport) -> None:
        self.problem_folds, self.param, self.order, self.full = problem_folds, param, order, full
        self.classes = ClassOrder(problem_folds, order) if problem_folds.labels else None
        self.values = problem_folds.full_values()
        self.width = len(self.values) // len(order)
        self.predicted = not_done(len(order))
        self.retrained: list[int] = []
        self.reports: list[FoldReport] = []
        self.known_wrong = self.done = 0

    def own(self, row: int) -> Buffer:
        """Decision values of a row."""
        return self.values[row * self.width : (row + 1) * self.width]

    def without(
        self, folds: ProblemFolds, row: int, seeding: Seeding, with_values: bool, observer: Observer
    ) -> LeftOut:
        """Leave out a row, with the ProblemFolds of the thread. Raises Stopped."""
        folds.begin(observer)
        own, stands = filled("d", self.own(row)), optimum_may_stand(self.param)
        ranking = self.classes.without(row) if self.classes else []
        wrong = len(ranking) == 2 and not with_values and (own[0] > 0) != (folds.class_of[row] == 0)
        known_wrong, report = False, None
        if stands and wrong:
            known_wrong = not folds.is_unused(row)
        elif not (stands and folds.is_unused(row)):
            report, changed = folds.leave_out(row, seeding)
            for at, value in changed.items():
                own[at] = value
        return LeftOut(folds.prediction(row, own, ranking), own, known_wrong, report)

    def is_doubtful_for_any(self, whole: LeftOneOut, row: int) -> bool:
        """``is_doubtful`` for a row of weight 0."""
        width = len(whole.values) // len(whole.predicted)
        own = filled("d", (v for v in whole.values[row * width : (row + 1) * width] if v == v))
        widest = max(self.problem_folds.rho_widths(), default=0.0)
        return is_doubtful(own, [widest] * len(own), self.param.eps)

    def add(self, one: LeftOut) -> None:
        """Add the next row."""
        row = self.done
        self.own(row)[:] = one.values
        self.predicted[row] = one.predicted
        self.known_wrong += one.known_wrong
        if one.report is not None:
            self.retrained.append(row)
            self.reports.append(one.report)
        self.done += 1

    def result(self) -> LeftOneOut:
        """The result; unfinished rows are nan."""
        n_done, n = self.done * self.width, len(self.values)
        return LeftOneOut(
            predicted=self.predicted,
            values=filled("d", chain(self.values[:n_done], repeat(nan, n - n_done))) if n_done < n else self.values,
            labels=tuple(self.problem_folds.labels),
            retrained=filled("i", self.retrained),
            known_wrong=self.known_wrong,
            folds=tuple(self.reports),
            full=self.full,
        )


def checked_seeding(problem: Problem, param: Parameter, seeder: str) -> Seeding:
    """The checked Seeding. Raises DataError, ParameterError."""
    check_problem(problem, param)
    check_seedable(param)
    if param.probability:
        raise ParameterError("leave-one-out from one training gives no probability estimates: leave out -b 1")
    seeding = Seeding(seeder, "star")
    if seeder == "none":
        raise ParameterError("leave-one-out starts from the training over all rows: choose a seeding method")
    return seeding


def is_doubtful(values: Buffer, rho_widths: list[float], eps: float) -> bool:
    """Whether two optima to eps might disagree on the sign of one of these decision values, or one is nan."""
    return any(not abs(value) > max(DOUBT * eps, width) for value, width in zip(values, rho_widths, strict=True))


def libsvms_prediction(
    problem: Problem,
    param: Parameter,
    order: Buffer,
    at: int,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider,
) -> float:
    """Prediction of row order[at] by LIBSVM's own training on all others. Raises Stopped."""
    fold = Fold(order, at, at + 1)
    model = train_all_but(problem, param, fold, rand, observer, kernels)
    ask(observer)
    return float(predict_fold(model, problem.take(fold.held_out), observer)[0])


class ClassOrder:
    """ClassOrder(problem_folds, order): LIBSVM's order of classes, by first appearance in ``order`` without a row."""

    def __init__(self, problem_folds: ProblemFolds, order: Buffer) -> None:
        self.first: dict[int, list[int]] = {}  # the first two places of each class
        for place, row in enumerate(order):
            seen = self.first.setdefault(problem_folds.class_of[row], [])
            if len(seen) < 2:
                seen.append(place)
        self.order, self.class_of = order, problem_folds.class_of
        self.usual = sorted(self.first, key=lambda c: self.first[c][0])

    def without(self, row: int) -> list[int]:
        """The order without ``row``."""
        own = self.first[self.class_of[row]]
        if self.order[own[0]] != row:
            return self.usual
        return sorted(self.first, key=lambda c: self.first[c][-1] if c == self.class_of[row] else self.first[c][0])
