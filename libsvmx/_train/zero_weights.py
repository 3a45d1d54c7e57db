"""Rows of weight 0, or of a class of weight 0, are left out of a problem."""

from __future__ import annotations

from math import isfinite

from libsvmx._core.buffers import filled
from libsvmx._core.records import NamedTuple, replace
from libsvmx._train.formulation import counting_rows
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.problem import Problem
from libsvmx._typing import TYPE_CHECKING, Buffer, IntArray
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection

    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter


class CountingPart(NamedTuple):
    """The rows of weight > 0, the parameters without classes of weight 0, and the positions of these rows."""

    problem: Problem
    param: Parameter
    rows: Buffer

    def split(self, rows: Buffer) -> tuple[Buffer, Buffer, Buffer]:
        """For ``rows`` of the whole, in order: positions in the part of those of weight > 0, these rows, and the other
        rows; buffers of int32."""
        place = {row: at for at, row in enumerate(self.rows)}
        counting = filled("i", (row for row in rows if row in place))
        places = filled("i", (place[row] for row in counting))
        return places, counting, filled("i", (row for row in rows if row not in place))


def check_bounds(problem: Problem, param: Parameter) -> None:
    """Raise ParameterError if C times the weight of a row overflows."""
    if problem.sample_weight is None or param.has_infinite_cost:
        return
    largest = max(problem.sample_weight) * (param.C if param.svm_type.has_cost else 1.0)
    if not isfinite(largest * max((weight for _, weight in param.weights), default=1.0)):
        raise ParameterError("C times a weight is not finite")


def dropped_classes(param: Parameter) -> set[int]:
    """Labels of the classes of weight 0; nu-SVC has no C to weight."""
    return {label for label, weight in param.weights if weight == 0} if param.svm_type == SvmType.C_SVC else set()


def rows_of_state(problem: Problem, param: Parameter) -> IntArray:
    """The rows of a state with weight > 0, ascending. They must be the same for every C, so a bound may be 0 only for a
    row or a class of weight 0.

    Raises
    ------
    DataError           no row of weight > 0
    ParameterError      C times a weight overflows or underflows
    """
    import numpy as np

    dropped = dropped_classes(param)
    if problem.sample_weight is None and not dropped:
        return np.arange(len(problem), dtype=np.int32)
    check_bounds(problem, param)
    counts = np.ones(len(problem), dtype=bool)
    if problem.sample_weight is not None:
        counts &= np.asarray(problem.sample_weight) != 0
    if dropped:
        counts &= ~np.isin(np.asarray(problem.targets), sorted(dropped))
    rows = np.flatnonzero(counts).astype(np.int32)
    if not len(rows):
        raise nothing_counts(problem.sample_weight)
    if len(counting_rows(param, problem.targets, problem.sample_weight)) != len(rows):
        raise ParameterError("C times a weight is less than any double: a state cannot be kept")
    return rows


def nothing_counts(sample_weight: Buffer | None) -> DataError:
    """The error for a training without rows of weight > 0."""
    return DataError("every class has weight 0" if sample_weight is None else "every row has weight 0")


def counting_part(problem: Problem, param: Parameter, observer: Observer) -> CountingPart | None:
    """The part of a problem with weight > 0; None if that is the whole problem.

    If all its rows have weight 1, the part has no weights, and is trained as without any.

    Raises
    ------
    DataError           no row of weight > 0
    ParameterError      C times a weight overflows
    """
    weights = problem.sample_weight
    by_class = param.svm_type == SvmType.C_SVC  # nu-SVC has no C to weight
    if weights is None and not (by_class and param.weights):
        return None
    check_bounds(problem, param)
    rows = counting_rows(param, problem.targets, weights)
    if len(rows) == len(problem) and (weights is None or any(weight != 1 for weight in weights)):
        return None
    if not len(rows):
        raise nothing_counts(weights)
    part = problem.take(rows)
    if part.sample_weight is not None and all(weight == 1 for weight in part.sample_weight):
        part = Problem(part.matrix, part.targets, part.rows, part.features)
    if param.svm_type.is_classification:
        param = without_classes(param, tell_dropped(problem, part, observer))
    return CountingPart(part, param, rows)


def of_whole(model: Model, part: CountingPart, param: Parameter) -> Model:
    """The model of the rows of weight > 0 as a model of all rows, with the caller's parameters."""
    param = replace(param, probability=model.param.probability)  # False if the estimates were stopped
    if model.row_numbers is None:
        return replace(model, param=param)
    return replace(model, param=param, row_numbers=filled("i", (part.rows[n - 1] + 1 for n in model.row_numbers)))


def tell_dropped(problem: Problem, part: Problem, observer: Observer) -> set[int]:
    """Labels of the classes of ``problem`` missing in its ``part``; the observer is told of them."""
    dropped = {int(label) for label in set(problem.targets) - set(part.targets)}
    for label in sorted(dropped):
        observer.remark(Remark.CLASS_DROPPED, str(label))
    return dropped


def without_classes(param: Parameter, labels: Collection[int]) -> Parameter:
    """``param`` without the weights of these classes."""
    if not labels:
        return param
    return replace(param, weights=tuple(pair for pair in param.weights if pair[0] not in labels))
