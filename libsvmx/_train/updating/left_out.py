"""Exact leave-one-out: the decision value of each row of a state at the optimum without it.

Each row is removed along its path and restored. Removing a row with coefficient 0 leaves the optimum as it is, unless a
nu formulation ties sums of beta to the number of rows, or the row determines an end of the interval of rho, which
happens if no variable is free.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan
from typing import Any, TypeVar

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import PathLost
from libsvmx._solvers.path.path_state import PathState
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import ask, limited
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.updating.binary_problem import BinaryProblem, Pair, errors_of_a_path
from libsvmx._train.updating.state import State, weights_of
from libsvmx._train.updating.transaction import Transaction
from libsvmx._train.updating.version import Version
from libsvmx._typing import Buffer, FloatArray, Ids
from libsvmx.enums import SvmType

Found = TypeVar("Found")


def values_left_out(state: State, observer: Observer) -> dict[Pair, tuple[Ids, FloatArray]]:
    """For each pair of classes the ids of its rows, and the decision value of each at the optimum without it.

    Values are positive for the first class, and nan for a row that is its whole class or without which nu is
    infeasible. The state does not change. Rows of weight 0 are in no pair.

    Raises
    ------
    ParameterError      the path cannot be followed
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
    """``values_left_out`` by the binary problems of ``transaction``. Raises PathLost, Stopped."""
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
    """Bind the path to a kernel of its rows only."""
    binary.state.mark()
    try:
        transaction.bind(binary)
    except BaseException:
        binary.state.rollback()
        raise
    binary.state.forget()


def alone(transaction: Transaction, pair: Pair, ids: Ids) -> list[bool]:
    """For each row: whether it is the only one of its class (without classes: at all), or nu is infeasible without
    it."""
    if pair is None:
        return [len(ids) == 1] * len(ids)
    rows = transaction.rows_of(ids)
    is_first, weights = np.asarray(rows.targets) == pair[0], weights_of(rows)
    if transaction.param.svm_type == SvmType.NU_SVC:
        sums = np.array([weights[is_first].sum(), weights[~is_first].sum()])
        others = np.minimum(np.where(is_first, sums[0], sums[1]) - weights, np.where(is_first, sums[1], sums[0]))
        return (transaction.param.nu * (sums.sum() - weights) / 2 > others).tolist()
    first = int(is_first.sum())
    return [(first if own else len(ids) - first) == 1 for own in is_first.tolist()]


def without(transaction: Transaction, binary: BinaryProblem, row: int, read: Callable[[], Found]) -> Found:
    """The result of ``read`` while the row with id ``row`` is removed. Raises PathLost, Stopped."""
    param, path = transaction.param, binary.path
    others, weighted = binary.ids[binary.ids != row], transaction.problem.sample_weight is not None
    totals = coefficient_sums(param, transaction.rows_of(others).weight if weighted else len(others))
    try:
        return read_after(binary, row, lambda gone: path.update(0, gone, totals, transaction.control()), read)
    except PathLost:
        return read_after(binary, row, lambda gone: path.by_smo(gone, totals, param.eps, transaction.control()), read)


def read_after(binary: BinaryProblem, row: int, leave: Callable[[Buffer], object], read: Callable[[], Found]) -> Found:
    """The result of ``read`` after ``leave`` with the position of a row; then roll back."""
    at = binary.state
    at.mark()
    try:
        leave(filled("i", np.flatnonzero(binary.ids == row)))
        return read()
    finally:
        at.rollback()


def value_of(binary: BinaryProblem, row: int) -> float:
    """The decision value of the row with id ``row``, which may be one being removed."""
    position = int(np.flatnonzero(binary.ids == row)[0])  # rows change places on a path
    return float(binary.values[position])
