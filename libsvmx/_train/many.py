"""Many trainings over the same rows, with different targets, weights and parameters.

Kernel values depend on none of these, so the trainings share them: in a queue of the solves of all trainings if all
values fit, else by shared rows, if that pays.
"""

from __future__ import annotations

from contextlib import contextmanager

from libsvmx._core import memory
from libsvmx._core.buffers import filled
from libsvmx._core.records import NamedTuple, replace
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, limits
from libsvmx._train.assembly import solves_of
from libsvmx._train.checks import check_finite, check_rows, check_targets
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.queue.trainings import queued_models
from libsvmx._train.side_by_side import param_of, side_by_side
from libsvmx._train.training import tell_asymmetry, tell_offset, train_counting
from libsvmx._train.zero_weights import counting_part
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from libsvmx._train.folds import Rand
    from libsvmx._train.model import Model

ENDED = (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED)


class Training(NamedTuple):
    """One of the trainings.

    Attributes
    ----------
    problem : Problem      its rows, of the common matrix, in any order, with its targets and weights
    param : Parameter      may differ from the others' in C, p, tau and class weights only
    name : str             its name in errors
    """

    problem: Problem
    param: Parameter
    name: str


def finished_models(whole: Problem, trainings: Sequence[Training], rand: Rand, observer: Observer) -> list[Model]:
    """``train_many`` without unfinished models.

    Raises
    ------
    TooLittleMemory             once the first model shows the size
    StoppedEarly                ``partial`` is the list of the models finished, the first ones
    """
    n = len(trainings)
    models: list[Model] = []
    if trainings:
        observer = limits.limited(observer, trainings[0].param.time_limit)
    for own, model in zip(trainings, train_many(whole, trainings, rand, observer), strict=True):
        status = unfinished(model, own.param, observer)
        if status is not None:
            raise StoppedEarly(status, f"{len(models)} of {n} models are done", models)
        if not models:
            size = 12.0 * model.vectors.nnz + 8.0 * len(model.coef)  # of entries and coefficients, most of a model
            memory.require((n - 1.0) * size, f"{n} models", "; train fewer at a time")
        models.append(model)
        observer.counted("training", len(models), n)
    return models


def unfinished(model: Model, param: Parameter, observer: Observer) -> SolveStatus | None:
    """The status that stopped the call before this model was complete, None if it is."""
    for status in model.statuses:
        if status in ENDED:
            return status
    if param.probability and not model.param.probability:
        return limits.look(observer)
    return None


def train_many(whole: Problem, trainings: Sequence[Training], rand: Rand, observer: Observer) -> Iterator[Model]:
    """The models in order, each as by ``train_problem``, also if the call is stopped.

    Parameters
    ----------
    whole : Problem             all rows of any training, each with its largest weight; its targets are not used
    rand : Rand                 for each training in the same state

    Raises DataError, ParameterError (before work begins).
    """
    if not trainings:
        return
    param = dearest(trainings)
    observer = limits.limited(observer, param.time_limit)
    check_rows(whole, param)
    for own in trainings:
        with told_of(own.name):
            check_targets(own.problem, own.param)
            counting_part(own.problem, own.param, Observer())
    tell_asymmetry(whole, param, observer)
    tell_offset(whole, param, observer)
    for own, model in zip(trainings, each_model(whole, trainings, param, rand, observer), strict=True):
        with told_of(own.name):
            check_finite(model)
        yield model


def dearest(trainings: Sequence[Training]) -> Parameter:
    """The parameters with the largest C."""
    return max((own.param for own in trainings), key=lambda param: max(param.costs, default=0.0))


@contextmanager
def told_of(name: str) -> Iterator[None]:
    """Let errors name their training."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{name}: {error.cause}", error.row, error.classes) from None
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}", error.classes) from None


def each_model(
    whole: Problem, trainings: Sequence[Training], param: Parameter, rand: Rand, observer: Observer
) -> Iterator[Model]:
    """``train_many`` of trainings that have been checked; ``param`` as of ``dearest``."""
    kernels = KernelProvider(of_some_weight(whole), param, repeated=True)
    queue = None
    if not param.probability or param.svm_type.is_classification:
        n_solves = len(trainings)
        if param.svm_type.is_classification:
            classes = (len(folds.group_classes(own.problem.targets)[0]) for own in trainings)
            n_solves = sum(solves_of(k, param.probability) for k in classes)
        queue = kernels.queue(param, observer, n_solves, False, param.probability)
    if queue is not None:
        each = ((own.problem, own.param, rand.copy()) for own in trainings)
        return queued_models(queue, each, observer, kernels)
    return models_side_by_side(trainings, rand, observer, kernels)


def of_some_weight(problem: Problem) -> Problem:
    """The rows with a weight > 0 in any training: others need no kernel values, and would change a low-rank factor."""
    weights = problem.sample_weight
    if weights is None or all(weights):
        return problem
    return problem.take(filled("i", (row for row, weight in enumerate(weights) if weight != 0)))


def models_side_by_side(
    trainings: Sequence[Training], rand: Rand, observer: Observer, kernels: KernelProvider
) -> Iterator[Model]:
    """``each_model`` without a queue."""
    n, threads = len(trainings), thread_count(trainings[0].param.threads)
    threads, shared = kernels.at_once_of(n, threads), kernels.if_shared()

    def trained(j: int, observer: Observer) -> Model:
        problem, param, _ = trainings[j]
        own, whole = param_of(param, j, n, threads), shared
        if param.solver.needs_features and not has_all_rows(kernels, problem, param):
            whole = None  # a factor of other rows is different
        if whole is None:
            own = replace(own, cache_size=own.cache_size / kernels.at_once)
        model = train_counting(problem, own, rand.copy(), observer, whole)
        return replace(model, param=replace(model.param, cache_size=param.cache_size, threads=param.threads))

    return side_by_side(trained, n, threads, observer)


def has_all_rows(kernels: KernelProvider, problem: Problem, param: Parameter) -> bool:
    """Whether the rows of ``problem`` with weight > 0 are those of ``kernels``, in their order."""
    part = counting_part(problem, param, Observer())
    return bytes((part.problem if part else problem).rows) == bytes(kernels.request[0].rows)
