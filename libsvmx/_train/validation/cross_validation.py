"""Cross-validation with alpha seeding (folds start from a known optimum), or as in LIBSVM; once or repeated.

Wen, Li, Kotagiri, Chen, Chen & Zhang, Improving efficiency of SVM k-fold cross-validation by alpha seeding, AAAI 2017.
The folds are LIBSVM's. Seeded folds reach the same optimum to eps, so only rows near the border may be predicted
otherwise. The folds of all repeats are solved as one list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import nan
from typing import TYPE_CHECKING

from libsvmx._core.buffers import filled, not_done, zeros
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._solvers.seeding.registry import SEEDERS
from libsvmx._train import folds, prediction
from libsvmx._train.checks import check_problem
from libsvmx._train.limits import ask, limited
from libsvmx._train.observer import Forwarding, Observer
from libsvmx._train.queue.duals import Chain, Star
from libsvmx._train.queue.trainings import queue_of_folds, solved_folds
from libsvmx._train.repeated_folds import draw_repeats
from libsvmx._train.training import each_trained, predict_fold, shared_kernels, tell_offset
from libsvmx._train.validation.fold_report import FoldReport, fold_report, standing
from libsvmx._train.validation.problem_folds import ProblemFolds, by_pairs
from libsvmx._train.validation.scheme import (
    AUTO,
    Seeding,
    chain_length,
    check_seedable,
    named_star_from,
    scheme_in_queue,
    star_from,
)
from libsvmx._train.validation.seeded_inner_folds import SeededInnerFolds, seeded_inner_folds
from libsvmx._train.zero_weights import counting_part, nothing_counts
from libsvmx.enums import SvmType
from libsvmx.exceptions import StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libsvmx._train.folds import Rand
    from libsvmx._train.kernel_provider import KernelProvider
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._train.queue.duals import KnownOptima
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.repeated_folds import Fold, Folds
    from libsvmx._train.side_by_side import HandedOn
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.warm_start import KnownOptima as FoldOptima
    from libsvmx._train.zero_weights import CountingPart
    from libsvmx._typing import Buffer

    Labels = Sequence[int] | None
    Predictions = tuple[Buffer, Buffer, Buffer | None, Labels]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossValidated:
    """Result of a cross-validation. Arrays by row are of shape (repeats, n, …), flattened.

    Attributes
    ----------
    predicted : buffer of float64, shape (repeats * n,)      of each row by the fold without it
    values : buffer of float64, shape (repeats * n * n_functions,)      its decision values: one, or one for each pair
        of ``labels`` (0, 1), (0, 2), …; nan where a fold lacks a class
    labels : tuple of int                                classes by first appearance
    fold_of : buffer of int32, shape (repeats * n,)      index into ``folds``
    folds : tuple of FoldReport                          of all repeats, in order
    seeding : Seeding
    full : FoldReport            the training over all rows of a star, else None
    """

    predicted: Buffer
    values: Buffer
    labels: tuple[int, ...]
    fold_of: Buffer
    folds: tuple[FoldReport, ...]
    seeding: Seeding
    full: FoldReport | None = None

    @property
    def solves(self) -> tuple[FoldReport, ...]:
        """All trainings: that over all rows, if any, and the folds."""
        return self.folds if self.full is None else (self.full, *self.folds)


def cross_validate(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    rand: Rand,
    observer: Observer,
    seeding: Seeding,
    with_values: bool = True,
    kernels: KernelProvider | None = None,
    warm_starts: list[FoldOptima] | HandedOn | None = None,
    leaves: HandedOn | None = None,
    repeats: int = 1,
) -> CrossValidated:
    """Predict every row by a model trained without its fold.

    Parameters
    ----------
    rand : Rand              draws the folds, and inner folds, as LIBSVM does
    with_values : bool       also return decision values
    kernels : KernelProvider        of these rows, if shared with other solves
    warm_starts : list of KnownOptima, or HandedOn      of each fold at a smaller C, from which seeded folds start
    leaves : HandedOn               takes each seeded fold's for a larger C, as soon as it is solved
    repeats : int                   number of times that folds are drawn; each predicts every row

    Raises
    ------
    DataError, ParameterError
    StoppedEarly             ``partial`` is a CrossValidated of the leading folds that are finished
    """
    observer = limited(observer, param.time_limit)
    check_problem(problem, param)
    tell_offset(problem, param, observer)
    drawn = draw_repeats(problem, param, n_folds, repeats, rand, observer)
    results = Results(problem, param, drawn, observer)
    n = len(results.each)
    by_path, inner = seeding == Seeding("path"), None
    if by_path:
        seeding = Seeding("auto")  # it follows a path where that pays

    def named(seeding: Seeding) -> Seeding:
        """``seeding`` by its name in the request, unless auto chose cold starts as in LIBSVM, or a chain, which has no
        path."""
        by_name = by_path and seeding.seeder == "auto" and seeding.scheme != "chain"
        return replace(seeding, seeder="path") if by_name else seeding

    if seeding.seeder != "none":
        check_seedable(param)
        if not param.svm_type.is_classification:
            param = replace(param, probability=False)  # LIBSVM does not use them to predict
        inner = seeded_inner_folds(seeding, param, for_model=False) if param.probability else None
    if isinstance(warm_starts, list) and len(warm_starts) != n:
        warm_starts = None  # of other folds
    warm_starts = warm_starts or None
    try:
        linked = warm_starts is not None or leaves is not None
        starts = seeding.seeder != "none" and seeding.scheme != "chain" and not (linked or param.probability)
        if starts and repeats == 1 and n == len(problem):
            seeding = replace(seeding, scheme="star")
            left_one_out(results, param, observer, kernels or shared_kernels(problem, param), seeding)
            return results.result(named(seeding))
        kernels = kernels or shared_kernels(problem, param, drawn[0].order)
        seeding, queue = chosen(seeding, drawn, param, len(results.labels), observer, kernels, linked)
        if queue is not None:
            queued(results, queue, param, observer, with_values, kernels, seeding, inner)
        elif not seeding.scheme:
            plain(results, param, observer, with_values, kernels, inner)
        else:
            part = counting_part(problem, param, observer)
            problem_folds = ProblemFolds(*part[:2] if part else (problem, param), observer, kernels)
            if seeding.scheme == "star" and warm_starts is None:
                results.full = problem_folds.train_full()
            # in a chain each fold needs the previous one
            threads = kernels.at_once_of(n, thread_count(param.threads)) if seeding.scheme == "star" else 1
            seeded(results, part, problem_folds, threads, seeding, warm_starts, leaves, with_values)
    except Stopped as stop:
        consequence = f"the cross-validation has no result; {len(results.reports)} of {n} folds are done"
        raise StoppedEarly(stop.status, consequence, results.result(named(seeding))) from None
    return results.result(named(seeding))


def chosen(
    seeding: Seeding,
    drawn: list[Folds],
    param: Parameter,
    n_classes: int,
    observer: Observer,
    kernels: KernelProvider,
    linked: bool,
) -> tuple[Seeding, SolveQueue | None]:
    """``seeding`` with its open choices made; and a queue for all folds, or None.

    ``linked``: folds start from a smaller C, or return starts for a larger one, which a queue does not support.
    """
    problem, n_folds, repeats = drawn[0].problem, drawn[0].n, len(drawn)
    # with probability estimates five of six solves are inner folds, which start from the sixth: outside a queue, the
    # training over all rows of a star costs what it saves of the sixth
    linked = linked and not param.probability
    exact, auto = seeding.seeder == "none", seeding == Seeding("auto")
    # two folds share no rows, and pairs of several classes are small: a start costs more than it saves
    apart = auto and (n_folds == 2 or n_classes > 2) and (param.svm_type != SvmType.NU_SVC or param.probability)
    may_start = not exact and seeding.seeder != "path" and not linked
    queue = None
    if exact or apart or may_start:
        queue = queue_of_folds(problem, param, n_folds, observer, kernels, repeats)
    if queue is not None and may_start:
        queue.decide_by_floats()
        queue.seed_by(seeding.seeder)
        if auto:
            return Seeding("auto", scheme_in_queue(param, len(problem), n_folds)), queue
        return seeding.usual(n_folds, named_from=named_star_from(param)), queue
    if exact or apart or param.probability:
        return Seeding("none"), queue
    if n_folds == 3 and param.svm_type.is_regression and not linked and not seeding.scheme:
        return seeding, None  # all would start cold, and regressions over all rows take more steps than LIBSVM's
    return seeding.usual(n_folds, linked, star_from(param), named_star_from(param)), None


def seeded(
    results: Results,
    part: CountingPart | None,
    whole: ProblemFolds,
    threads: int,
    seeding: Seeding,
    warm_starts: list[FoldOptima] | HandedOn | None,
    leaves: HandedOn | None,
    with_values: bool,
) -> None:
    """Solve seeded folds. Raises Stopped.

    ``whole``: the folds of ``part``, if given; its models predict the rows of weight 0.
    """
    problem = results.problem
    linked = warm_starts is not None or leaves is not None
    if linked:
        from libsvmx._train.warm_start import WarmStart  # loads NumPy, which other folds do not need

    def seeded_fold(
        problem_folds: ProblemFolds, f: int, observer: Observer
    ) -> tuple[list[Predictions], FoldReport, FoldOptima | None]:
        rest, held_out = results.each[f].rest, results.each[f].held_out
        rows, others = held_out, None
        if part:
            rest = part.split(rest)[0]
            held_out, rows, others = part.split(held_out)
            if not len(rest):
                raise nothing_counts(problem.sample_weight)
        warm = WarmStart(problem_folds.param, warm_starts[f] if warm_starts else None) if linked else None
        report = problem_folds.solve(rest, held_out, seeding, warm)
        predictions: list[Predictions] = [
            (rows, *problem_folds.predict(rest, held_out, with_values), problem_folds.labels)
        ]
        if others is not None and len(others):
            model, out = problem_folds.model_of(rest), problem.take(others)
            values = prediction.decision_values(model, out.matrix, out.rows, partial(ask, observer))
            predicted = prediction.labels_of(model.param, model.class_labels or (), values, len(out))
            predictions.append((others, predicted, values, model.class_labels))
        return predictions, report, warm.found if warm else None

    for predictions, report, of_fold in whole.each(seeded_fold, len(results.each), threads, results.observer):
        for predicted in reversed(predictions):
            results.put(*predicted)
        results.count(report)
        if of_fold is not None and leaves is not None:
            leaves.append(of_fold)


def left_one_out(
    results: Results, param: Parameter, observer: Observer, kernels: KernelProvider, seeding: Seeding
) -> None:
    """Leave-one-out: folds of one row each. Raises Stopped."""
    from libsvmx._train.validation.leave_one_out import LeftOneOut, rows_left_out

    (drawn,), stopped = results.drawn, None
    try:
        found: LeftOneOut | None = rows_left_out(drawn, param, observer, kernels, seeding.seeder, unit="fold")
    except StoppedEarly as stop:
        found, stopped = stop.partial, Stopped(stop.status)
    if found:
        results.predicted, results.values, results.full = found.predicted, found.values, found.full
        name = seeding.seeder if seeding.seeder in SEEDERS else AUTO["star"]
        same, reports = standing(found.full, name), dict(zip(found.retrained, found.folds, strict=True))
        results.reports = [reports.get(row, same) for row in drawn.order[: found.done]]
        width = len(found.values) // len(found.predicted)
        for row in drawn.order[found.done :]:
            found.predicted[row] = nan
            found.values[row * width : (row + 1) * width] = filled("d", [nan] * width)
    if stopped:
        raise stopped


def queued(
    results: Results,
    queue: SolveQueue,
    param: Parameter,
    observer: Observer,
    with_values: bool,
    kernels: KernelProvider,
    seeding: Seeding,
    inner: SeededInnerFolds | None,
) -> None:
    """Solve all folds in a queue: in a star from the optimum over all rows, in a chain from the previous fold.

    Raises Stopped.
    """
    problem = results.problem
    known: KnownOptima | None = None
    if seeding.scheme == "star":
        known = star = Star(queue.another(), kernels, problem, observer)
        seconds = star.report.seconds
        results.full = fold_report([star.report], seeder="none", seeding_seconds=0.0, solving_seconds=seconds)
    elif seeding.scheme == "chain":
        known = Chain(chain_length(len(results.drawn[0].each)) if seeding.seeder == "auto" else 0)
    scheme = inner.scheme_in_queue(param) if inner else ""
    for fold in solved_folds(queue, results.drawn, param, observer, kernels, known, scheme):
        report = FoldReport(**fold.figures)
        results.add(fold.predicted, fold.values if with_values else None, report, fold.labels or None)


def plain(
    results: Results,
    param: Parameter,
    observer: Observer,
    with_values: bool,
    kernels: KernelProvider,
    inner: SeededInnerFolds | None,
) -> None:
    """LIBSVM's cross-validation: cold starts with LIBSVM's steps, except for ``inner`` folds. Raises Stopped."""

    def solved(model: Model, held_out: Problem, counting: Counting) -> tuple[Buffer, Buffer | None, FoldReport, Labels]:
        seconds, values = machine.perf_counter() - counting.began, None
        if with_values:
            values = prediction.decision_values(model, held_out.matrix, held_out.rows, partial(ask, counting))
        if values is None or param.probability:
            predicted = predict_fold(model, held_out, counting)
        else:
            predicted = prediction.labels_of(model.param, model.class_labels or (), values, len(held_out))
        report = fold_report(counting.reports, seeder="none", seeding_seconds=0.0, solving_seconds=seconds)
        return predicted, values, report, model.class_labels

    for fold in each_trained(results.drawn, param, observer, kernels, solved, inner, Counting):
        results.add(*fold)


class Counting(Forwarding):
    """Forwards everything, and collects the reports of one fold, which begins now."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(observer)
        self.reports: list[SolveReport] = []
        self.began = machine.perf_counter()

    def solved(self, report: SolveReport) -> None:
        self.reports.append(report)
        self.observer.solved(report)


class Results:
    """Results(problem, param, drawn, observer): collects the folds, in order; predictions and values of unfinished ones
    are nan.

    Attributes
    ----------
    drawn : list of Folds       of each repeat
    each : list of Fold         of all of them
    """

    def __init__(self, problem: Problem, param: Parameter, drawn: list[Folds], observer: Observer) -> None:
        self.problem, self.drawn, self.observer = problem, drawn, observer
        self.each: list[Fold] = list(chain.from_iterable(own.each for own in drawn))
        n = len(problem)
        classify = param.svm_type.is_classification
        self.labels = folds.group_classes(problem.targets)[0] if classify else []
        self.width = len(self.labels) * (len(self.labels) - 1) // 2 if classify else 1
        self.predicted, self.values = not_done(len(drawn) * n), not_done(len(drawn) * n * self.width)
        self.reports: list[FoldReport] = []
        self.full: FoldReport | None = None

    def add(
        self, predicted: Buffer, values: Buffer | None, report: FoldReport, labels: Sequence[int] | None = None
    ) -> None:
        """Add the next fold; arguments of ``put`` for its held-out rows."""
        self.put(self.each[len(self.reports)].held_out, predicted, values, labels)
        self.count(report)

    def count(self, report: FoldReport) -> None:
        """Add the report of the next fold, after ``put``."""
        self.reports.append(report)
        self.observer.counted("fold", len(self.reports), len(self.each))

    def put(self, rows: Buffer, predicted: Buffer, values: Buffer | None, labels: Sequence[int] | None = None) -> None:
        """Put predictions, and decision values if given, of rows of the next fold.

        ``labels``: classes of the decision values, if they differ from ``self.labels``.
        """
        begin = self.begin_of(len(self.reports))
        if values is not None:
            values = by_pairs(values, len(rows), labels, self.labels)
            folds.put_rows(self.values[begin * self.width :], rows, values, self.width)
        folds.put_rows(self.predicted[begin:], rows, predicted, 1)

    def begin_of(self, f: int) -> int:
        """Index of the first row of the repeat with fold f."""
        return f // self.drawn[0].n * len(self.problem)

    def fold_of(self) -> Buffer:
        """``fold_of`` of CrossValidated."""
        found, n = zeros("i", len(self.predicted)), len(self.problem)
        for r, own in enumerate(self.drawn):
            folds.put_folds(found[r * n : (r + 1) * n], own.order, own.bounds, r * own.n)
        return found

    def result(self, seeding: Seeding) -> CrossValidated:
        """The result of the folds so far."""
        return CrossValidated(
            predicted=self.predicted,
            values=self.values,
            labels=tuple(self.labels),
            fold_of=self.fold_of(),
            folds=tuple(self.reports),
            seeding=seeding,
            full=self.full,
        )
