"""Exact leave-one-out: the decision value of each row of a state at the optimum without it.

Each row leaves along its path and comes back. A row without a coefficient leaves the optimum where it is, if sums of
beta do not depend on the rows: not where there is a nu. But where nothing is free, rho is in the middle of an interval,
which such a row may end.
"""

from __future__ import annotations

from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import PathLost
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import ask, limited
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._train.updating.state import weights_of
from libsvmx._train.updating.transaction import Transaction
from libsvmx.enums import SvmType

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._solvers.path.path_state import PathState
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.updating.binary_problem import BinaryProblem, Pair
    from libsvmx._train.updating.state import State
    from libsvmx._train.updating.version import Version
    from libsvmx._typing import Buffer, FloatArray, Ids

Found = TypeVar("Found")


def values_left_out(state: State, observer: Observer) -> dict[Pair, tuple[Ids, FloatArray]]:
    """Of each pair of classes the ids of its rows and the decision value of each by the optimum without it.

    Values are positive for the class that is named first, and nan for a row that is all of its class, or without which
    nu is infeasible. The state stays as it is. Rows of weight 0 are in no pair.

    Raises
    ------
    ParameterError      an optimum that cannot be followed
    StoppedEarly
    """

    def found(version: Version, moving: list[PathState]) -> dict[Pair, tuple[Ids, FloatArray]]:
        param, told = version.param, limited(observer, version.param.time_limit)
        transaction = Transaction(param, version.problem, version.ids, told, moving=moving)
        with errors_of_a_path("leave-one-out has no result; the state is as it was"):
            return values_without_each(transaction, version.binaries)

    return state._look(found)


def values_without_each(
    transaction: Transaction, binaries: dict[Pair, BinaryProblem]
) -> dict[Pair, tuple[Ids, FloatArray]]:
    """As ``values_left_out``, of the binary problems of ``transaction``. Raises PathLost, Stopped."""
    observer, found = transaction.observer, {}
    done, total = 0, sum(len(binary.ids) for binary in binaries.values())
    for pair, binary in binaries.items():
        transaction.moving.append(binary.state)
        prepare(transaction, binary)
        ids, own = binary.ids, np.asarray(binary.values)
        lonely = alone(transaction, pair, ids)
        stands = stand_without(transaction.param, binary)
        for at, row in enumerate(ids.tolist()):
            ask(observer)
            if lonely[at]:
                own[at] = nan
            elif not stands[at]:
                own[at] = without(transaction, binary, row, partial(value_of, binary, row))
            done += 1
            observer.counted("row", done, total)
        found[pair] = ids, own
    return found


def stand_without(param: Parameter, binary: BinaryProblem) -> Any:
    """Whether the optimum without each row is the optimum with it: ndarray of bool, in the order of ``binary.ids``."""
    rests_on = (binary.coefficients != 0) | (np.asarray(binary.state.holds_rho) != 0)
    return ~rests_on & (not param.svm_type.has_nu)


def prepare(transaction: Transaction, binary: BinaryProblem) -> None:
    """Give the path a kernel of just its rows."""
    binary.state.mark()
    try:
        transaction.bind(binary)
    except BaseException:
        binary.state.rollback()
        raise
    binary.state.forget()


def alone(transaction: Transaction, pair: Pair, ids: Ids) -> list[bool]:
    """Whether each row is the only one: of its class, or, without classes, of all; or nu is infeasible without it."""
    if pair is None:
        return [len(ids) == 1] * len(ids)
    rows = transaction.rows_of(ids)
    is_first, weights = np.asarray(rows.targets) == pair[0], weights_of(rows)
    if transaction.param.svm_type == SvmType.NU_SVC:
        sums = np.array([weights[is_first].sum(), weights[~is_first].sum()])
        others = np.minimum(np.where(is_first, sums[0], sums[1]) - weights, np.where(is_first, sums[1], sums[0]))
        infeasible: list[bool] = (transaction.param.nu * (sums.sum() - weights) / 2 > others).tolist()
        return infeasible
    first = int(is_first.sum())
    return [(first if own else len(ids) - first) == 1 for own in is_first.tolist()]


def without(transaction: Transaction, binary: BinaryProblem, row: int, read: Callable[[], Found]) -> Found:
    """What ``read`` finds when the row with id ``row`` has left; it comes back. Raises PathLost, Stopped."""
    param, path = transaction.param, binary.path
    others = binary.ids[binary.ids != row]
    totals = coefficient_sums(param, transaction.rows_of(others).weight if is_weighted(transaction) else len(others))
    try:
        return read_after(binary, row, lambda gone: path.update(0, gone, totals, transaction.control()), read)
    except PathLost:
        return read_after(binary, row, lambda gone: path.by_smo(gone, totals, param.eps, transaction.control()), read)


def read_after(binary: BinaryProblem, row: int, leave: Callable[[Buffer], object], read: Callable[[], Found]) -> Found:
    """What ``read`` finds after ``leave`` has been called with the position of a row, which is then taken back."""
    at = binary.state
    at.mark()
    try:
        leave(filled("i", np.flatnonzero(binary.ids == row)))
        return read()
    finally:
        at.rollback()


def value_of(binary: BinaryProblem, row: int) -> float:
    """The decision value of the row with id ``row``, that may be leaving."""
    position = int(np.flatnonzero(binary.ids == row)[0])  # rows change places on a path
    return float(binary.values[position])


def is_weighted(transaction: Transaction) -> bool:
    """Whether rows have weights."""
    return transaction.problem.sample_weight is not None
