"""Many trainings over the same rows, each with targets of its own.

Kernel values know no targets, so all trainings share them: where all of them fit, by a queue of the solves of all
trainings, elsewhere by rows that are kept for all of them, where that pays.
"""

from __future__ import annotations

from contextlib import contextmanager

from libsvmx._core import memory
from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._core.threads import thread_count
from libsvmx._train import folds, limits
from libsvmx._train.assembly import solves_of
from libsvmx._train.checks import check_finite, check_rows, check_targets
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer
from libsvmx._train.queue.batches import queue_of
from libsvmx._train.queue.models_at_once import trained_models
from libsvmx._train.side_by_side import param_of, side_by_side
from libsvmx._train.training import tell_asymmetry, tell_offset, train_counting
from libsvmx._train.zero_weights import counting_part, dropped_classes
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from libsvmx._train.folds import Rand
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer

ENDED = (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED)


def train_many(
    problem: Problem, param: Parameter, columns: Sequence[Buffer], rand: Rand, observer: Observer
) -> list[Model]:
    """The model of each of ``columns``, the targets of a training, as ``train_problem`` makes it.

    Parameters
    ----------
    problem : Problem           the rows; its own targets are not looked at
    columns : sequence of buffers of float64, shape (n,)
    rand : Rand                 as each training finds it

    Raises
    ------
    DataError, ParameterError   what cannot be trained, before work begins
    TooLittleMemory             once the first model tells how large they are
    StoppedEarly                ``partial`` is a list of the models that were finished, the first ones
    """
    observer = limits.limited(observer, param.time_limit)
    check_rows(problem, param)
    problems = [problem.with_targets(targets) for targets in columns]
    for j, own in enumerate(problems):
        with told_of_column(j):
            check_targets(own, param)
            counting_part(own, param, Observer())
    tell_asymmetry(problem, param, observer)
    tell_offset(problem, param, observer)
    models: list[Model] = []
    for j, model in enumerate(each_model(problems, param, rand, observer)):
        status = unfinished(model, param, observer)
        if status is not None:
            raise StoppedEarly(status, f"{j} of {len(problems)} models are done", models)
        with told_of_column(j):
            check_finite(model)
        if not models:
            memory.require(
                (len(problems) - 1.0) * bytes_of(model), f"{len(problems)} models", "; train fewer at a time"
            )
        models.append(model)
        observer.counted("training", len(models), len(problems))
    return models


@contextmanager
def told_of_column(j: int) -> Iterator[None]:
    """Errors name the column whose training they are of."""
    try:
        yield
    except DataError as error:
        raise DataError(f"column {j} of Y: {error.cause}", error.row, error.classes) from None
    except ParameterError as error:
        raise ParameterError(f"column {j} of Y: {error}", error.classes) from None


def unfinished(model: Model, param: Parameter, observer: Observer) -> SolveStatus | None:
    """What has ended the call before this model was complete, None if it is."""
    for status in model.statuses:
        if status in ENDED:
            return status
    if param.probability and not model.param.probability:
        return limits.look(observer)
    return None


def bytes_of(model: Model) -> float:
    """About what a model takes: entries of its vectors, and coefficients."""
    return 12.0 * model.vectors.nnz + 8.0 * len(model.coef)


def each_model(problems: list[Problem], param: Parameter, rand: Rand, observer: Observer) -> Iterator[Model]:
    """The models one after the other."""
    if not problems:
        return iter(())
    kernels = KernelProvider(of_some_weight(problems[0]), param, repeated=True)
    n_solves = len(problems)
    if param.svm_type.is_classification:
        n_solves = sum(solves_of(len(folds.group_classes(own.targets)[0]), param.probability) for own in problems)
    queue = queue_of(problems[0], param, n_solves, observer, kernels, param.probability)
    if queue is not None:
        return trained_models(queue, problems, param, rand, observer, kernels)
    return models_side_by_side(problems, param, rand, observer, kernels)


def of_some_weight(problem: Problem) -> Problem:
    """The rows that may count: those of weight 0 need no kernel value, and with them a factor is another one."""
    weights = problem.sample_weight
    if weights is None or all(weights):
        return problem
    return problem.take(filled("i", (row for row, weight in enumerate(weights) if weight != 0)))


def models_side_by_side(
    problems: list[Problem], param: Parameter, rand: Rand, observer: Observer, kernels: KernelProvider
) -> Iterator[Model]:
    """As of ``each_model``, without a queue."""
    n = len(problems)
    threads, shared = kernels.at_once_of(n, thread_count(param.threads)), kernels.if_shared()
    dropped = dropped_classes(param)

    def trained(j: int, observer: Observer) -> Model:
        own, whole = param_of(param, j, n, threads), shared
        if param.solver.needs_features and not dropped.isdisjoint(problems[j].targets):
            whole = None  # a factor without the rows of these classes is another one
        if whole is None:
            own = replace(own, cache_size=own.cache_size / kernels.at_once)
        model = train_counting(problems[j], own, rand.copy(), observer, whole)
        return replace(model, param=replace(model.param, cache_size=param.cache_size, threads=param.threads))

    return side_by_side(trained, n, threads, observer)
