"""Training: a dual problem for each pair of classes, or a single one, and the model assembled from their optima."""

from __future__ import annotations

from array import array
from itertools import chain, combinations, repeat

from libsvmx._core.arrays import give_back, take_float64, take_int32
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.machine import machine
from libsvmx._core.matrix import first_asymmetry, square_of_offsets
from libsvmx._core.records import replace
from libsvmx._core.threads import thread_count
from libsvmx._solvers.dual import DualSolution
from libsvmx._train import folds, limits
from libsvmx._train.assembly import (
    INNER_FOLDS,
    Pairs,
    assemble_single,
    classifier_of,
    joined_betas,
    solves_of,
    tell_of_classes,
    without_probability,
)
from libsvmx._train.checks import OFFSET, check_finite, check_problem, is_noise
from libsvmx._train.formulation import build_dual
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter, class_costs
from libsvmx._train.problem import Problem
from libsvmx._train.solve_dual import Recovered, recover, solve
from libsvmx._typing import TYPE_CHECKING, Buffer
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from libsvmx._solvers.solver import Unfinished
    from libsvmx._train.folds import Rand
    from libsvmx._train.queue.duals import KnownOptima
    from libsvmx._train.queue.solve_queue import SolveQueue
    from libsvmx._train.repeated_folds import Folds
    from libsvmx._train.solve_report import SolveReport
    from libsvmx._train.validation.seeded_inner_folds import SeededInnerFolds
    from libsvmx._train.warm_start import WarmStart

    Result = TypeVar("Result")


def train_problem(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    warm: WarmStart | None = None,
    inner: SeededInnerFolds | None = None,
) -> Model:
    """Check, then train. ``rand`` draws the inner folds of probability estimates; ``warm`` has the starts of the dual
    problems, inner folds excepted, and keeps their optima; ``inner`` warm-starts inner folds.

    A training stopped early returns the model so far, with its ``statuses``: pairs of classes not begun have
    coefficients 0, and there are no probability estimates. Raises DataError, ParameterError.
    """
    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    tell_asymmetry(problem, param, observer)
    tell_offset(problem, param, observer)
    model = train_counting(problem, param, rand, observer, warm=warm, inner=inner)
    check_finite(model)
    return model


def tell_asymmetry(problem: Problem, param: Parameter, observer: Observer) -> None:
    """Remark on a precomputed kernel that is not symmetric."""
    if param.kernel_type == KernelType.PRECOMPUTED:
        pair = first_asymmetry(problem.matrix, problem.rows)
        if pair:
            observer.remark(Remark.NOT_SYMMETRIC, f"{pair[0] + 1} and {pair[1] + 1}")


def tell_offset(problem: Problem, param: Parameter, observer: Observer) -> None:
    """Remark on features so far from 0 that squared distances, |x|^2 + |z|^2 - 2 x'z, have large rounding errors."""
    if not param.kernel_type.is_of_distance:
        return
    if not is_noise(param.gamma, square_of_offsets(problem.matrix, problem.rows, OFFSET)):
        return
    from libsvmx._train.advice import Table, far_from_0, far_text

    table = Table(problem)  # needs NumPy, which trainings do without
    places = far_from_0(table, param.gamma)
    if len(places):
        observer.remark(Remark.OFFSET, far_text(table, places[:1]))


def train_counting(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
    warm: WarmStart | None = None,
    inner: SeededInnerFolds | None = None,
) -> Model:
    """Train on the rows of weight > 0. ``kernels``: of these rows and more, if other trainings share them."""
    train = train_classifier if param.svm_type.is_classification else train_single
    part = None
    if problem.sample_weight is not None or param.weights:
        from libsvmx._train.zero_weights import counting_part, of_whole

        part = counting_part(problem, param, observer)
    if part is None:
        return train(problem, param, rand, observer, kernels, warm, inner)
    return of_whole(train(part.problem, part.param, rand, observer, kernels, warm, inner), part, param)


def solve_binary(
    problem: Problem,
    param: Parameter,
    Cp: float,
    Cn: float,
    observer: Observer,
    kernels: KernelProvider,
    warm: WarmStart | None = None,
    number: tuple[int, int] = (0, 0),
    left: Unfinished | None = None,
) -> Recovered:
    """Solve one dual problem: of one-class, a regression, or a pair of classes with this ``number`` in ``warm``.
    ``left``: see ``solve``."""
    control = limits.control_of(param, observer)
    features = kernels.features(observer, control) if param.solver.needs_features else None
    began = machine.monotonic() - (left.seconds if left else 0.0)
    dual = build_dual(param, problem.targets, Cp, Cn, problem.sample_weight)
    if features is not None:
        solution = features.solve(dual, problem, control, observer)
    else:
        kernel, budget_bytes = kernels.of(problem)
        if warm:
            dual = warm.begin(number, dual, kernel, control)
        solution = solve(param, dual, kernel, budget_bytes, control, left)
        if warm:
            warm.keep(number, dual, solution)
    seconds, weights = machine.monotonic() - began, problem.sample_weight
    return recover(param, problem.targets, dual, solution, observer, sample_weight=weights, seconds=seconds)


def left_at_zero(
    problem: Problem, param: Parameter, Cp: float, Cn: float, observer: Observer, status: SolveStatus
) -> Recovered:
    """A pair of classes of C-SVC that was not begun: beta = 0, V = linear = y, rho = 0."""
    dual = build_dual(param, problem.targets, Cp, Cn, problem.sample_weight)
    beta = zeros("d", len(dual.linear))
    solution = DualSolution(beta=beta, scores=dual.linear, rho=0.0, objective=0.0, iterations=0, status=status)
    return recover(param, problem.targets, dual, solution, observer, sample_weight=problem.sample_weight)


def train_single(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
    warm: WarmStart | None = None,
    inner: SeededInnerFolds | None = None,
) -> Model:
    """One-class SVM or regression, on rows of weight > 0; other parameters as of ``train_counting``."""
    kernels = kernels or KernelProvider(problem, param, repeated=param.probability and param.svm_type.is_regression)
    seeded = inner if param.svm_type.is_regression else None
    optimum = seeded.optimum(problem, param, (0.0, 0.0), observer, kernels, warm) if seeded else None
    found = optimum.found if optimum else solve_binary(problem, param, 0.0, 0.0, observer, kernels, warm)
    if kernels.feature_map and kernels.feature_map.predicts:
        model = kernels.feature_map.single_model(problem, found.coefficients, found.report)
    else:
        model = assemble_single(problem, param, found.coefficients, found.report)
    if not param.probability:
        return model
    try:
        limits.ask(observer)
        if param.svm_type == SvmType.ONE_CLASS:
            from libsvmx._train import prediction, probability

            values = prediction.decision_values(model, problem.matrix, problem.rows, lambda: limits.ask(observer))
            marks = probability.density_marks(values)
            if marks is None:
                observer.remark(Remark.FEW_DENSITY_VALUES)
            return replace(model, marks=marks)
        if optimum:
            predicted = optimum.predicted(rand)
        else:
            own = replace(param, probability=False)
            predicted = cross_validate_problem(problem, own, INNER_FOLDS, rand, observer, kernels)
    except Stopped:
        return without_probability(model, observer)
    from libsvmx._train import probability

    sigma = probability.laplace_scale(problem.targets, predicted)
    observer.laplace_scale(sigma)
    return replace(model, sigmoid_a=filled("d", [sigma]))


def train_classifier(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
    warm: WarmStart | None = None,
    inner: SeededInnerFolds | None = None,
) -> Model:
    """One against one: a dual problem for each pair of classes; parameters as of ``train_single``."""
    labels, start, order = classes = folds.group_classes(problem.targets)
    tell_of_classes(labels, start, param, observer)
    costs = class_costs(labels, param, observer)
    own = kernels is None
    kernels = kernels or KernelProvider(problem, param, (start, order), repeated=param.probability)
    queue = None
    if warm is None and (inner is None or inner.in_queue):
        n, weighted = solves_of(len(labels), param.probability), problem.sample_weight is not None
        queue = kernels.queue(param, observer, n, weighted, trial=inner is None)
    if queue and queue.trial is None:
        import libsvmx._train.queue.duals as duals  # ``from … import`` takes 1.2 us longer each time

        drawn_by, scheme = rand if param.probability else None, ""
        if inner:
            scheme = inner.scheme_in_queue(param)
            queue.decide_by_floats()
            queue.seed_by(inner.seeder, models=True)
        pairs = duals.solved_pairs(queue, kernels.members(problem), classes, costs, drawn_by, observer, scheme)
    else:
        pairs = pairs_side_by_side(problem, param, classes, costs, rand, observer, kernels, warm, inner, queue)
    feature_map = kernels.feature_map
    if own:  # kernel values need not be in memory beside the support vectors
        del queue, kernels
        give_back(problem.matrix.nnz)
    return classifier_of(problem, param, classes, pairs, observer, feature_map)


def pairs_side_by_side(
    problem: Problem,
    param: Parameter,
    classes: tuple[list[int], list[int], Buffer],
    costs: list[float],
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider,
    warm: WarmStart | None,
    inner: SeededInnerFolds | None,
    trial: SolveQueue | None = None,
) -> Pairs:
    """The solves of a classifier without a queue: for each pair the inner folds of its sigmoid, then its own solve;
    with ``inner`` first the own solves of all pairs, from which the inner folds start. ``trial``: a queue that solves
    the easy pairs; the others go on from where it has left them."""
    labels, start, order = classes
    if trial:
        from libsvmx._train.queue.duals import QueuedPairs

        queued = QueuedPairs(trial, kernels.members(problem), classes, costs, None)
        trial.run()
        if trial.all_went_well(queued.own[0], queued.own[-1]):
            return queued.collect(observer)
    pairs = list(combinations(range(len(labels)), 2))
    sizes = [start[i + 1] - start[i] + start[j + 1] - start[j] for i, j in pairs]
    drawn = [folds.plain_folds(size, INNER_FOLDS, rand) for size in sizes] if param.probability else []
    n_inner = INNER_FOLDS if drawn else 0
    n = (n_inner + 1) * len(pairs)
    threads = kernels.at_once_of(n, thread_count(param.threads)) if warm is None else 1
    at_once = 1 if inner and inner.in_turn else threads
    optima: dict[int, Any] = {}  # SeededDual

    def inner_fold(k: int, f: int, own: Parameter, observer: Observer) -> Buffer | None:
        (i, j), (inner_order, bounds) = pairs[k], drawn[k]
        try:
            if inner:
                return optima[k].values(inner_order, bounds, f, observer, at_once)
            pair = pair_problem(problem, order, start, i, j)
            own = replace(own, probability=False, C=1.0, weights=((1, costs[i]), (-1, costs[j])))
            return inner_values(pair, own, inner_order, bounds[f], bounds[f + 1], rand, observer, kernels)
        except Stopped:
            return None

    def own_solve(k: int, own: Parameter, observer: Observer) -> tuple[Recovered, bool]:
        if trial and trial.went_well(k):
            return Recovered(trial.coefficients(k), trial.tell(k, observer)), True
        i, j = pairs[k]
        pair, stopped = pair_problem(problem, order, start, i, j), limits.look(observer)
        if stopped and trial and trial.was_begun(k):
            return Recovered(trial.coefficients(k), trial.tell(k, observer, stopped)), True
        if stopped and k and param.svm_type == SvmType.C_SVC:
            return left_at_zero(pair, param, costs[i], costs[j], observer, stopped), False
        if inner is None:
            left = trial.left(k) if trial else None
            return solve_binary(pair, own, costs[i], costs[j], observer, kernels, warm, (i, j), left), stopped is None
        optima[k] = inner.optimum(pair, own, (costs[i], costs[j]), observer, kernels, warm, (i, j))
        return optima[k].found, stopped is None

    def in_libsvms_order(t: int, own: Parameter, observer: Observer) -> Any:
        k, f = divmod(t, n_inner + 1)
        return own_solve(k, own, observer) if f == n_inner else inner_fold(k, f, own, observer)

    def each(solve: Callable[[int, Parameter, Observer], Any], n: int, threads: int) -> Iterator[Any]:
        if threads == 1:
            return (solve(t, param, observer) for t in range(n))
        from libsvmx._train.side_by_side import param_of, side_by_side

        return side_by_side(lambda t, told: solve(t, param_of(param, t, n, threads), told), n, threads, observer)

    if inner:
        found = list(each(own_solve, len(pairs), threads))
        of_pairs: Iterator[Any] = iter(found)
        ended = not all(begun for _, begun in found) or limits.look(observer) is not None
        of_folds: Iterator[Any] = repeat(None)
        if not ended:
            of_folds = each(lambda t, own, told: inner_fold(*divmod(t, n_inner), own, told), n - len(pairs), at_once)
    else:
        of_pairs = of_folds = each(in_libsvms_order, n, threads)
    betas: list[Buffer] = []
    reports: list[SolveReport] = []
    sigmoids: list[tuple[float, float]] = []
    not_begun = 0
    for k, (i, _) in enumerate(pairs):
        values = [next(of_folds) for _ in range(n_inner)]
        if n_inner and len(sigmoids) == k and None not in values:
            sigmoids.append(sigmoid_of(values, drawn[k][0], start[i + 1] - start[i], observer))
        solved, begun = next(of_pairs)
        not_begun += not begun
        betas.append(solved.coefficients)
        reports.append(solved.report)
    whole = n_inner > 0 and len(sigmoids) == len(pairs)
    return Pairs(joined_betas(betas), reports, sigmoids if whole else None, not_begun)


def pair_problem(problem: Problem, order: Buffer, start: list[int], i: int, j: int) -> Problem:
    """Rows of classes i and j of ``order``, with targets +1 and -1."""
    n_i, n_j = start[i + 1] - start[i], start[j + 1] - start[j]
    positions = zeros("i", n_i + n_j)
    positions[:n_i] = order[start[i] : start[i + 1]]
    positions[n_i:] = order[start[j] : start[j + 1]]
    signs = memoryview(array("d", [1.0]) * n_i + array("d", [-1.0]) * n_j)
    return problem.take(positions, signs)


def inner_values(
    pair: Problem,
    param: Parameter,
    order: Buffer,
    begin: int,
    end: int,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider,
) -> Buffer:
    """Decision values of the rows order[begin:end] of a pair, by a model of its other rows. Raises Stopped."""
    from libsvmx._train import prediction

    def ask() -> None:
        limits.ask(observer)

    ask()
    rest, held_out = pair.take(folds.all_but(order, begin, end)), pair.take(order[begin:end])
    n_positive = sum(1 for y in rest.targets if y > 0)
    if not 0 < n_positive < len(rest):
        constant = 0.0 if not len(rest) else 1.0 if n_positive else -1.0
        return filled("d", [constant] * len(held_out))
    model = train_classifier(rest, param, rand, observer, kernels)
    ask()
    # of the labels -1 and +1, +1 is always the first class, so positive values speak for it
    return prediction.decision_values(model, held_out.matrix, held_out.rows, ask)


def sigmoid_of(values: list[Buffer], order: Buffer, n_positive: int, observer: Observer) -> tuple[float, float]:
    """(A, B) of a pair from its decision values, fold by fold in ``order``; its first n_positive rows are positive."""
    from libsvmx._train import probability

    by_row = zeros("d", len(order))
    folds.put_rows(by_row, order, filled("d", chain.from_iterable(values)), 1)
    targets = filled("d", [1.0] * n_positive + [-1.0] * (len(order) - n_positive))
    a, b, trouble = probability.fit_sigmoid(by_row, targets)
    if trouble:
        observer.remark(Remark(trouble))
    return a, b


def cross_validate_problem(
    problem: Problem,
    param: Parameter,
    n_folds: int,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
    queue: SolveQueue | None = None,
    known: KnownOptima | None = None,
) -> Buffer:
    """Prediction of each row by the model trained without its fold: buffer of float64, shape (len(problem),).

    Folds are LIBSVM's: stratified for classification, plain otherwise and for leave-one-out. ``kernels``: of these
    rows, if other solves share them; ``queue``: of them, empty; ``known``: see ``solved_folds``. Raises Stopped.
    """
    from libsvmx._train.queue.trainings import queue_of_folds, solved_folds
    from libsvmx._train.repeated_folds import draw_repeats

    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    if kernels is None:  # else the training has told of it
        tell_offset(problem, param, observer)
    (drawn,) = draw_repeats(problem, param, n_folds, 1, rand, observer)
    kernels = kernels or shared_kernels(problem, param, drawn.order)
    queue = queue or queue_of_folds(problem, param, drawn.n, observer, kernels)
    predicted = zeros("d", len(problem))
    each: Iterator[Buffer] = each_trained([drawn], param, observer, kernels, predict_fold)
    if queue:
        each = (fold.predicted for fold in solved_folds(queue, [drawn], param, observer, kernels, known))
    for fold, values in zip(drawn.each, each, strict=True):
        folds.put_rows(predicted, fold.held_out, values, 1)
    return predicted


def each_trained(
    drawn: list[Folds],
    param: Parameter,
    observer: Observer,
    kernels: KernelProvider,
    use: Callable[[Model, Problem, Any], Result],
    inner: SeededInnerFolds | None = None,
    told: Callable[[Observer], Observer] | None = None,
    queue: SolveQueue | None = None,
) -> Iterator[Result]:
    """``use(model, held_out, observer)`` of each fold's model, in order: cold starts on LIBSVM's path, except inner
    folds with ``inner``. ``told`` makes a fold's observer from the caller's. ``queue``: an empty one, which solves them
    without these two. Raises Stopped."""
    problem, each = drawn[0].problem, [fold for own in drawn for fold in own.each]

    def of_fold(f: int, model: Model, observer: Observer) -> Result:
        limits.ask(observer)  # do not use a fold that was interrupted
        return use(model, problem.take(each[f].held_out), observer)

    if queue is not None:
        from libsvmx._train.queue.trainings import queued_models

        rests = ((problem.take(fold.rest), param, own.rand) for own in drawn for fold in own.each)
        for f, model in enumerate(queued_models(queue, rests, observer, kernels)):
            yield of_fold(f, model, observer)
        return
    from libsvmx._train.repeated_folds import folds_at_once
    from libsvmx._train.side_by_side import param_of, side_by_side

    n, (threads, rands) = len(each), folds_at_once(drawn, param, kernels)

    def solved(f: int, observer: Observer) -> Result:
        observer, own = told(observer) if told else observer, param_of(param, f, n, threads)
        rest = problem.take(each[f].rest)
        return of_fold(f, train_counting(rest, own, rands[f], observer, kernels, inner=inner), observer)

    yield from side_by_side(solved, n, threads, observer)


def shared_kernels(problem: Problem, param: Parameter, order: Buffer | None = None) -> KernelProvider:
    """Kernel rows for many solves over the same rows. ``order``: all rows, sorted so that the rows of a solve are
    mostly contiguous."""
    if not param.svm_type.is_classification:
        groups = None if order is None else ([0, len(order)], order)
        return KernelProvider(problem, param, groups, repeated=True)
    targets = problem.targets if order is None else take_float64(problem.targets, order)
    _, start, grouped = folds.group_classes(targets)
    return KernelProvider(
        problem, param, (start, grouped if order is None else take_int32(order, grouped)), repeated=True
    )


def predict_fold(model: Model, held_out: Problem, observer: Observer) -> Buffer:
    """Predictions of held-out rows as in LIBSVM's cross-validation: float64, shape (len(held_out),).

    Raises Stopped.
    """
    from libsvmx._train import prediction

    def ask() -> None:
        limits.ask(observer)

    if not (model.param.probability and model.param.svm_type.is_classification):
        return prediction.predict_labels(model, held_out.matrix, held_out.rows, ask)
    predictor = prediction.Predictor(model, ask=ask)
    values, _, unfinished = prediction.predict_probability(model, held_out.matrix, held_out.rows, predictor)
    if unfinished:
        observer.remark(Remark.COUPLING_LIMIT, str(unfinished))
    return values
