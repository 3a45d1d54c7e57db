"""Leave-one-out from one training over all rows.

* A row with alpha = 0 says nothing: the optimum without it is the optimum with it, so its prediction stands
  (C-SVC and epsilon-SVR; the nu formulations fix sums that depend on the number of rows).
* A misclassified row stays misclassified: along the path on which its alpha goes to 0 its own margin y f only falls,
  since the optimal value is convex in alpha. It is trained again only if its decision value is wanted.
* For every other row the rest is solved again, from the optimum over all rows with the row's coefficient handed on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from libsvmx._core.arrays import inverse, ramp, take_int32
from libsvmx._core.buffers import filled, not_done, zeros
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._train import folds, prediction
from libsvmx._train.checks import check_problem
from libsvmx._train.counting import counting_part
from libsvmx._train.limits import ask, limited
from libsvmx._train.training import draw_folds, predict_fold, shared_kernels, train_all_but
from libsvmx._train.validation.dual_folds import optimum_may_stand
from libsvmx._train.validation.fold_report import FoldReport
from libsvmx._train.validation.pair_folds import PairFolds, by_pairs, folds_of
from libsvmx._train.validation.scheme import Seeding, check_seedable
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from libsvmx._core.rand import Rand
    from libsvmx._train.counting import CountingPart
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.validation.problem_folds import ProblemFolds
    from libsvmx._typing import Buffer

# Two optima to eps differ in decision values by a few eps: what is nearer to 0, in multiples of eps, is trained again
# along LIBSVM's path where its answer is wanted. So is what is nearer than the interval is wide in which rho is free to
# lie if no row is within its bounds.
DOUBT = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOneOut:
    """What leave-one-out found.

    Attributes
    ----------
    predicted : buffer of float64, shape (n,)              of each row by the training without it
    values : buffer of float64, shape (n * n_functions,)   decision values, as in a cross-validation; those of rows that
        are known to be wrong are the ones of the training over all rows
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
    """Whether leave-one-out can take the place of LIBSVM's ``-v n`` with n rows: see ``exact``."""
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
    with_values : bool       decision values are wanted, not only predictions
    exact : bool             C-SVC: where two optima to eps might disagree on a label, LIBSVM's own path decides, with
                             the folds that ``rand`` draws

    Raises
    ------
    DataError, ParameterError
    StoppedEarly             ``partial`` is a LeftOneOut with predictions up to the first row that was not done, then
        nan; None if the training over all rows was not done
    """
    observer = limited(observer, param.time_limit)
    seeding = checked_seeding(problem, param, seeder)
    n = len(problem)
    order, _ = draw_folds(problem, param, n, rand, observer)
    place = inverse(order, n)
    kernels = shared_kernels(problem, param)
    part = counting_part(problem, param, observer)
    rows, own_order = (part.rows, part.split(order)[0]) if part else (ramp(n), order)
    if len(rows) < 2:
        raise DataError("leave-one-out needs at least 2 rows whose weight is not 0")

    def libsvms(row: int) -> float:
        return libsvms_prediction(problem, param, order, place[row], rand, observer, kernels)

    found: Rows | None = None
    try:
        problem_folds = folds_of(*part[:2] if part else (problem, param), observer, kernels)
        full = problem_folds.train_full()
        found = Rows(problem_folds, param, own_order, full)
        for at, row in enumerate(rows):
            ask(observer)
            predicted = found.without(at, seeding, with_values)
            found.add(at, libsvms(row) if exact and found.is_doubtful(at) else predicted)
            observer.counted("row", at + 1, len(rows))
        whole = of_whole(found, part, problem)
        if part and exact:
            for row in part.split(ramp(n))[2]:
                if found.is_doubtful_for_any(whole, row):
                    whole.predicted[row] = libsvms(row)
    except Stopped as stop:
        done = f"leave-one-out has no result; {found.done if found else 0} of {len(rows)} rows are done"
        raise StoppedEarly(stop.status, done, found and of_whole(found, part, problem)) from None
    return whole


def of_whole(found: Rows, part: CountingPart | None, problem: Problem) -> LeftOneOut:
    """What was found; rows of ``problem`` that do not count are predicted by the training on all of the others."""
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


class Rows:
    """Rows(problem_folds, param, order, full): the folds of one row each, around the optimum over all rows; all count.

    Attributes
    ----------
    done : int      rows, the first ones, that have a prediction
    """

    def __init__(self, problem_folds: ProblemFolds, param: Parameter, order: Buffer, full: FoldReport) -> None:
        self.problem_folds, self.param, self.order, self.full = problem_folds, param, order, full
        self.pairs = problem_folds if isinstance(problem_folds, PairFolds) else None
        self.classes = ClassOrder(self.pairs, order) if self.pairs else None
        self.values = problem_folds.full_values()
        self.width = len(self.values) // len(order)
        self.predicted = not_done(len(order))
        self.retrained: list[int] = []
        self.reports: list[FoldReport] = []
        self.known_wrong = self.done = 0

    def own(self, row: int) -> Buffer:
        """The decision values of a row."""
        return self.values[row * self.width : (row + 1) * self.width]

    def without(self, row: int, seeding: Seeding, with_values: bool) -> float:
        """The prediction of a row by a training without it. Raises Stopped."""
        own, pairs, stands = self.own(row), self.pairs, optimum_may_stand(self.param)
        ranking = self.classes.without(row) if self.classes else []
        wrong = len(ranking) == 2 and not with_values and pairs and (own[0] > 0) != (pairs.class_of[row] == 0)
        if stands and wrong:
            self.known_wrong += not self.problem_folds.is_unused(row)
        elif not (stands and self.problem_folds.is_unused(row)):
            report, changed = self.problem_folds.leave_out(row, seeding)
            self.reports.append(report)
            self.retrained.append(row)
            for at, value in changed.items():
                own[at] = value
        return self.problem_folds.prediction(row, own, ranking)

    def is_doubtful(self, row: int) -> bool:
        """Whether two optima to eps might disagree on the label of the row that was left out last."""
        return is_doubtful(self.own(row), self.problem_folds.rho_widths(), self.param.eps)

    def is_doubtful_for_any(self, whole: LeftOneOut, row: int) -> bool:
        """The same of a row of the whole that does not count."""
        width = len(whole.values) // len(whole.predicted)
        own = filled("d", (v for v in whole.values[row * width : (row + 1) * width] if v == v))
        widest = max(self.problem_folds.rho_widths(), default=0.0)
        return is_doubtful(own, [widest] * len(own), self.param.eps)

    def add(self, row: int, predicted: float) -> None:
        """The prediction of the next row."""
        self.predicted[row] = predicted
        self.done = row + 1

    def result(self) -> LeftOneOut:
        """All of it."""
        return LeftOneOut(
            predicted=self.predicted,
            values=self.values,
            labels=tuple(self.pairs.labels) if self.pairs else (),
            retrained=filled("i", self.retrained),
            known_wrong=self.known_wrong,
            folds=tuple(self.reports),
            full=self.full,
        )


def checked_seeding(problem: Problem, param: Parameter, seeder: str) -> Seeding:
    """How the folds start. Raises DataError, ParameterError."""
    check_problem(problem, param)
    check_seedable(param)
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
    """Of the row at a place of ``order``, by LIBSVM's own path over all others. Raises Stopped."""
    model = train_all_but(problem, param, order, at, at + 1, rand, observer, kernels)
    ask(observer)
    return float(predict_fold(model, problem.take(order[at : at + 1]), observer)[0])


class ClassOrder:
    """ClassOrder(pairs, order): classes as LIBSVM orders them, by first appearance in ``order`` without a row."""

    def __init__(self, pairs: PairFolds, order: Buffer) -> None:
        self.first: dict[int, list[int]] = {}  # the first two places of each class
        for place, row in enumerate(order):
            seen = self.first.setdefault(pairs.class_of[row], [])
            if len(seen) < 2:
                seen.append(place)
        self.order, self.class_of = order, pairs.class_of
        self.usual = sorted(self.first, key=lambda c: self.first[c][0])

    def without(self, row: int) -> list[int]:
        """The order of the classes when ``row`` is left out."""
        own = self.first[self.class_of[row]]
        if self.order[own[0]] != row:
            return self.usual
        return sorted(self.first, key=lambda c: self.first[c][-1] if c == self.class_of[row] else self.first[c][0])
