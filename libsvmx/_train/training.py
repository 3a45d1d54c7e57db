"""Training: one dual problem per pair of classes, or a single one, and a model of the results."""

from __future__ import annotations

from array import array
from itertools import combinations, pairwise
from math import isfinite
from time import monotonic

from libsvmx._core.arrays import take_float64
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._core.threads import thread_count
from libsvmx._problem.dual import DualSolution
from libsvmx._train import folds, limits
from libsvmx._train.assembly import assemble_classifier, assemble_single
from libsvmx._train.checks import check_problem
from libsvmx._train.counting import counting_part
from libsvmx._train.formulation import build_dual
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.model import Model
from libsvmx._train.observer import Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.queue.pairs_at_once import INNER_FOLDS, Pairs, QueuedPairs, solves_of, tell_of_classes
from libsvmx._train.reports import Recovered, recover
from libsvmx._train.rowchecks import first_asymmetry
from libsvmx._train.solvers import solve
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx._core.rand import Rand
    from libsvmx._train.observer import Observer
    from libsvmx._train.warm_start import WarmStart
    from libsvmx._typing import Buffer


def default_gamma(param: Parameter, max_index: int) -> Parameter:
    """``param`` with gamma = 1 / max_index where it was left 0."""
    if param.gamma == 0 and max_index > 0:
        return replace(param, gamma=1.0 / max_index)
    return param


def train_problem(
    problem: Problem, param: Parameter, rand: Rand, observer: Observer, warm: WarmStart | None = None
) -> Model:
    """Check, then train. ``rand`` draws the inner folds of probability estimates and is moved on; ``warm`` says where
    the dual problems start, those of the folds left out, and keeps their optima.

    A training that is ended early has a model of what it has reached, whose ``statuses`` tell: of pairs of classes that
    were not begun the coefficients are 0, and there are no probability estimates.

    Raises
    ------
    DataError, ParameterError      what cannot be trained
    """
    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    if param.kernel_type == KernelType.PRECOMPUTED:
        pair = first_asymmetry(problem.matrix, problem.rows)
        if pair:
            observer.remark(Remark.NOT_SYMMETRIC, f"{pair[0] + 1} and {pair[1] + 1}")
    model = train_counting(problem, param, rand, observer, warm=warm)
    check_finite(model)
    return model


REMEDIES = {
    SvmType.NU_SVC: "a smaller nu, other kernel parameters",
    SvmType.ONE_CLASS: "another nu, other kernel parameters",
    SvmType.NU_SVR: "another nu, other kernel parameters",
}


def check_finite(model: Model) -> None:
    """Raise ParameterError, with what is not finite and the pair of classes, if a function of the model degenerates."""
    param, what, where = model.param, "", ""
    classes: tuple[int, ...] = ()
    if SolveStatus.DEGENERATE in model.statuses:
        function = model.statuses.index(SolveStatus.DEGENERATE)
        what = "rho is" if all(map(isfinite, model.coef)) else "coefficients are"
        if isfinite(model.offsets[function]) and what == "rho is":
            what = "objective is"
        if model.class_labels is not None and model.nr_class > 2:
            classes = list(combinations(model.class_labels, 2))[function]
            where = f" for classes {classes[0]} and {classes[1]}"
    elif not all(map(isfinite, (*(model.sigmoid_a or ()), *(model.sigmoid_b or ())))):
        what = "probability estimates are"
    if what:
        remedy = REMEDIES.get(param.svm_type, "other kernel parameters, a smaller C")
        if param.has_infinite_cost:
            remedy = "a finite C, other kernel parameters"
        raise ParameterError(
            f"the solution degenerates{where}: its {what} not finite "
            f"({param.svm_type.name}, {param.kernel_type.name} kernel). Choose {remedy}, or scale the data",
            classes,
        )


def train_counting(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
    warm: WarmStart | None = None,
) -> Model:
    """Train on the rows that count. ``kernels``: of these rows and more, if others are to train on them."""
    train = train_classifier if param.svm_type.is_classification else train_single
    part = counting_part(problem, param, observer)
    if part is None:
        return train(problem, param, rand, observer, kernels, warm)
    model = train(part.problem, part.param, rand, observer, kernels, warm)
    param = replace(param, probability=model.param.probability)  # they may be unfinished
    if kernels is not None or model.row_numbers is None:  # a fold: nobody asks for its row numbers
        return replace(model, param=param, row_numbers=None)
    return replace(model, param=param, row_numbers=filled("i", (part.rows[n - 1] + 1 for n in model.row_numbers)))


def solve_binary(
    problem: Problem,
    param: Parameter,
    Cp: float,
    Cn: float,
    observer: Observer,
    kernels: KernelProvider,
    warm: WarmStart | None = None,
    number: tuple[int, int] = (0, 0),
) -> Recovered:
    """One dual problem, for one-class and regression or for a pair of classes; ``number``: of these, for ``warm``."""
    control = limits.control_of(param, observer)
    features = kernels.features(observer, control) if param.solver.needs_features else None  # made once, for all
    began = monotonic()
    dual = build_dual(param, problem.targets, Cp, Cn, problem.sample_weight)
    if features is not None:
        solution = features.solve(dual, problem, control, observer)
    else:
        kernel, budget_bytes = kernels.of(problem)
        if warm:
            dual = warm.begin(number, dual, kernel, control)
        solution = solve(param, dual, kernel, budget_bytes, control)
        if warm:
            warm.keep(number, dual, solution)
    seconds, weights = monotonic() - began, problem.sample_weight
    return recover(param, problem.targets, dual, solution, observer, sample_weight=weights, seconds=seconds)


def left_at_zero(
    problem: Problem, param: Parameter, Cp: float, Cn: float, observer: Observer, status: SolveStatus
) -> Recovered:
    """A pair of classes in C-SVC that is not begun: beta = 0, V = linear = y, and rho = 0 in the middle of them."""
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
) -> Model:
    """One-class SVM or regression; all rows count. ``kernels``, ``warm``: as there."""
    kernels = kernels or KernelProvider(problem, param, repeated=param.probability and param.svm_type.is_regression)
    found = solve_binary(problem, param, 0.0, 0.0, observer, kernels, warm)
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
        inner = replace(param, probability=False)
        predicted = cross_validate_problem(problem, inner, INNER_FOLDS, rand, observer, kernels)
    except Stopped:
        return without_probability(model, observer)
    from libsvmx._train import probability

    sigma = probability.laplace_scale(problem.targets, predicted)
    observer.laplace_scale(sigma)
    return replace(model, sigmoid_a=filled("d", [sigma]))


def without_probability(model: Model, observer: Observer) -> Model:
    """The model of a training that was ended before it had probability estimates."""
    observer.remark(Remark.PROBABILITY_UNFINISHED)
    return replace(model, param=replace(model.param, probability=False))


def train_classifier(
    problem: Problem,
    param: Parameter,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
    warm: WarmStart | None = None,
) -> Model:
    """One against one: a dual problem for each pair of classes; all rows count. ``kernels``, ``warm``: as there."""
    labels, start, order = folds.group_classes(problem.targets)
    k = len(labels)
    tell_of_classes(labels, start, param, observer)
    costs = class_costs(labels, param, observer)
    kernels = kernels or KernelProvider(problem, param, (start, order), repeated=param.probability)
    classes, weighted = (labels, start, order), problem.sample_weight is not None
    queue = kernels.queue(param, observer, solves_of(k, param.probability), weighted) if warm is None else None
    if queue:
        queued = QueuedPairs(queue, kernels.members(problem), classes, costs, rand if param.probability else None)
        queue.run(thread_count(param.threads))
        pairs = queued.collect(observer)
    else:
        pairs = pairs_in_turn(problem, param, classes, costs, rand, observer, kernels, warm)
    if pairs.not_begun and k > 2:
        observer.remark(Remark.PAIRS_NOT_BEGUN, f"{pairs.not_begun} of {len(pairs.betas)}")
    if kernels.feature_map and kernels.feature_map.predicts:
        model = kernels.feature_map.model(problem, classes, pairs.betas, pairs.reports)
    else:
        model = assemble_classifier(problem, param, classes, pairs.betas, pairs.reports)
    observer.total_sv(model.n_sv)
    if not param.probability:
        return model
    if pairs.sigmoids is None:
        return without_probability(model, observer)
    a, b = (filled("d", (sigmoid[part] for sigmoid in pairs.sigmoids)) for part in (0, 1))
    return replace(model, sigmoid_a=a, sigmoid_b=b)


def pairs_in_turn(
    problem: Problem,
    param: Parameter,
    classes: tuple[list[int], list[int], Buffer],
    costs: list[float],
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider,
    warm: WarmStart | None,
) -> Pairs:
    """The solves of a classifier, one after the other."""
    labels, start, order = classes
    found, sigmoids, estimates = Pairs([], [], None, 0), [], param.probability
    not_begun = 0
    for i, j in combinations(range(len(labels)), 2):
        pair = pair_problem(problem, order, start, i, j)
        if estimates:
            try:
                sigmoids.append(sigmoid_of_pair(pair, param, costs[i], costs[j], rand, observer, kernels))
            except Stopped:
                estimates = False
        stopped = limits.look(observer)
        not_begun += stopped is not None
        if stopped and found.betas and param.svm_type == SvmType.C_SVC:
            solved = left_at_zero(pair, param, costs[i], costs[j], observer, stopped)
        else:
            solved = solve_binary(pair, param, costs[i], costs[j], observer, kernels, warm, (i, j))
        found.betas.append(solved.coefficients)
        found.reports.append(solved.report)
    return found._replace(sigmoids=sigmoids if estimates else None, not_begun=not_begun)


def class_costs(labels: list[int], param: Parameter, observer: Observer) -> list[float]:
    """C of each class, weighted."""
    costs = [param.C] * len(labels)
    for label, weight in param.weights:
        if label in labels:
            costs[labels.index(label)] *= weight
        else:
            observer.remark(Remark.WEIGHT_WITHOUT_CLASS, str(label))
    return costs


def pair_problem(problem: Problem, order: Buffer, start: list[int], i: int, j: int) -> Problem:
    """Rows of classes i and j of ``order``, with targets +1 and -1."""
    n_i, n_j = start[i + 1] - start[i], start[j + 1] - start[j]
    positions = zeros("i", n_i + n_j)
    positions[:n_i] = order[start[i] : start[i + 1]]
    positions[n_i:] = order[start[j] : start[j + 1]]
    signs = memoryview(array("d", [1.0]) * n_i + array("d", [-1.0]) * n_j)
    return problem.take(positions, signs)


def sigmoid_of_pair(
    pair: Problem, param: Parameter, Cp: float, Cn: float, rand: Rand, observer: Observer, kernels: KernelProvider
) -> tuple[float, float]:
    """Sigmoid parameters (A, B) of one pair from decision values of a five-fold cross-validation. Raises Stopped."""
    from libsvmx._train import prediction, probability

    n = len(pair)

    def ask() -> None:
        limits.ask(observer)

    ask()
    values = zeros("d", n)
    order, bounds = folds.plain_folds(n, INNER_FOLDS, rand)
    inner = replace(param, probability=False, C=1.0, weights=((1, Cp), (-1, Cn)))
    for begin, end in pairwise(bounds):
        rest = pair.take(folds.all_but(order, begin, end))
        held_out = pair.take(order[begin:end])
        n_positive = sum(1 for y in rest.targets if y > 0)
        if n_positive and n_positive < len(rest):
            model = train_classifier(rest, inner, rand, observer, kernels)
            ask()
            # classes -1 and +1 are always ordered +1 first, so the values count for the positive class
            decided = prediction.decision_values(model, held_out.matrix, held_out.rows, ask)
            for p, value in zip(order[begin:end], decided, strict=True):
                values[p] = value
        else:
            constant = 0.0 if not len(rest) else 1.0 if n_positive else -1.0
            for p in order[begin:end]:
                values[p] = constant
    a, b, trouble = probability.fit_sigmoid(values, pair.targets)
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
) -> Buffer:
    """Prediction of every row by the model trained without its fold: buffer of float64, shape (len(problem),).

    Folds are LIBSVM's: stratified for classification, plain for the rest and for leave-one-out. ``kernels``: of these
    rows, if there were or will be other solves over them. Raises Stopped.
    """
    observer = limits.limited(observer, param.time_limit)
    check_problem(problem, param)
    order, bounds = draw_folds(problem, param, n_folds, rand, observer)
    kernels = kernels or shared_kernels(problem, param)
    predicted = zeros("d", len(problem))
    for (begin, end), fold in zip(
        pairwise(bounds), each_fold(problem, param, order, bounds, rand, observer, kernels), strict=True
    ):
        for p, value in zip(order[begin:end], fold, strict=True):
            predicted[p] = value
    return predicted


def each_fold(
    problem: Problem,
    param: Parameter,
    order: Buffer,
    bounds: list[int],
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider,
) -> Iterator[Buffer]:
    """Predictions of one fold after the other: float64, shape (rows held out,). Raises Stopped."""
    from libsvmx._train.queue.folds_at_once import queue_of_folds, solved_folds
    from libsvmx._train.side_by_side import side_by_side, threads_of

    n = len(bounds) - 1
    queue = queue_of_folds(problem, param, n, observer, kernels)
    if queue:

        def costs_of(labels: list[int]) -> list[float]:
            return class_costs(labels, param, observer)

        for fold in solved_folds(queue, problem, param, order, bounds, rand, observer, kernels, costs_of):
            yield fold.predicted
        return
    threads, rands = folds_at_once(problem, param, order, bounds, rand, kernels)

    def predicted(f: int, observer: Observer) -> Buffer:
        begin, end = bounds[f : f + 2]
        part = replace(param, threads=threads_of(f, n, threads))
        model = train_all_but(problem, part, order, begin, end, rands[f], observer, kernels)
        limits.ask(observer)
        return predict_fold(model, problem.take(order[begin:end]), observer)

    yield from side_by_side(predicted, n, threads, observer)


def folds_at_once(
    problem: Problem, param: Parameter, order: Buffer, bounds: list[int], rand: Rand, kernels: KernelProvider
) -> tuple[int, list[Rand]]:
    """How many folds that are not solved by a queue are solved at a time, and for each of them the random numbers as
    its training finds them. ``kernels`` are made ready for that."""
    n, threads = len(bounds) - 1, thread_count(param.threads)
    if param.probability and (problem.sample_weight is not None or not param.svm_type.is_classification):
        return 1, [rand] * n  # what a training draws is known when it does
    threads = kernels.at_once_of(n, threads)
    if not param.probability:
        return threads, [rand] * n
    rands = []
    for begin, end in pairwise(bounds):
        rands.append(rand.copy())
        labels, start, _ = folds.group_classes(take_float64(problem.targets, folds.all_but(order, begin, end)))
        for i, j in combinations(range(len(labels)), 2):
            folds.plain_folds(start[i + 1] - start[i] + start[j + 1] - start[j], INNER_FOLDS, rand)
    return threads, rands


def shared_kernels(problem: Problem, param: Parameter) -> KernelProvider:
    """Kernel rows for many solves over the same rows."""
    classify = param.svm_type.is_classification
    return KernelProvider(problem, param, folds.group_classes(problem.targets)[1:] if classify else None, repeated=True)


def draw_folds(
    problem: Problem, param: Parameter, n_folds: int, rand: Rand, observer: Observer
) -> tuple[Buffer, list[int]]:
    """LIBSVM's folds, (order, bounds): fold f is order[bounds[f]:bounds[f+1]].

    Raises
    ------
    DataError, ParameterError
    """
    n = len(problem)
    if n_folds < 2:
        raise ParameterError(f"cross-validation needs at least 2 folds, not {n_folds}")
    if n_folds > n:
        observer.remark(Remark.MORE_FOLDS_THAN_ROWS, f"{n_folds} {n}")
        n_folds = n
    if n < 2:
        raise DataError("cross-validation needs at least 2 rows")
    if not param.svm_type.is_classification or n_folds == n:
        return folds.plain_folds(n, n_folds, rand)
    labels, start, _ = folds.group_classes(problem.targets)
    rare = [str(label) for c, label in enumerate(labels) if start[c + 1] - start[c] < n_folds]
    if rare:
        observer.remark(Remark.CLASS_SMALLER_THAN_FOLDS, ", ".join(rare))
    order, bounds = folds.stratified_folds(problem.targets, n_folds, rand)
    if any(end - begin == n for begin, end in pairwise(bounds)):
        raise DataError(
            f"one of {n_folds} stratified folds holds all {n} rows: with so few rows of each class, "
            f"take {n} folds (leave-one-out)"
        )
    return order, bounds


def train_all_but(
    problem: Problem,
    param: Parameter,
    order: Buffer,
    begin: int,
    end: int,
    rand: Rand,
    observer: Observer,
    kernels: KernelProvider | None = None,
) -> Model:
    """The model of the rows in ``order`` but those at [begin, end)."""
    return train_counting(problem.take(folds.all_but(order, begin, end)), param, rand, observer, kernels)


def predict_fold(model: Model, held_out: Problem, observer: Observer) -> Buffer:
    """Predictions of held-out rows as LIBSVM's cross-validation makes them: float64, shape (len(held_out),).

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
