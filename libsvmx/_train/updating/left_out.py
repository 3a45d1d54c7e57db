"""Exact leave-one-out: the decision value of each row of a state at the optimum without it.

Each row leaves along its path and comes back. A row without a coefficient leaves the optimum where it is, if the sum of
beta does not depend on the rows: in C-SVC and regression, not in one-class. But where nothing is free, rho is in the
middle of an interval, which such a row may end.
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
from libsvmx._train.updating.transaction import Transaction
from libsvmx.enums import SvmType

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.updating.binary_problem import BinaryProblem, Pair
    from libsvmx._train.updating.state import State
    from libsvmx._typing import Buffer, FloatArray, Ids

Found = TypeVar("Found")


def values_left_out(state: State, observer: Observer) -> dict[Pair, tuple[Ids, FloatArray]]:
    """Of each pair of classes the ids of its rows and the decision value of each by the optimum without it.

    Values are positive for the class that is named first, and nan for a row that is all of its class. The state stays
    as it is. Rows of weight 0 are in no pair.

    Raises
    ------
    ParameterError      an optimum that cannot be followed
    StoppedEarly
    """
    with state._change():
        observer = limited(observer, state.param.time_limit)
        transaction = Transaction(state.param, state.problem, state._ids, observer)
        done, total = 0, sum(len(binary.ids) for binary in state.binaries.values())
        found: dict[Pair, tuple[Ids, FloatArray]] = {}
        with errors_of_a_path("leave-one-out has no result; the state is as it was"):
            for pair, binary in state.binaries.items():
                prepare(transaction, binary)
                ids, own = binary.ids, np.asarray(binary.state.K_beta) - binary.state.rho
                lonely = alone(transaction, pair, ids)
                stands = stand_without(state.param, binary)
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
    return ~rests_on & (param.svm_type != SvmType.ONE_CLASS)


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
    """Whether each row is the only one: of its class, or, without classes, of all."""
    if pair is None:
        return [len(ids) == 1] * len(ids)
    targets = np.asarray(transaction.rows_of(ids).targets)
    first = int((targets == pair[0]).sum())
    return [(first if target == pair[0] else len(ids) - first) == 1 for target in targets.tolist()]


def without(transaction: Transaction, binary: BinaryProblem, row: int, read: Callable[[], Found]) -> Found:
    """What ``read`` finds when the row with id ``row`` has left; it comes back. Raises PathLost, Stopped."""
    param, path = transaction.param, binary.path
    others = binary.ids[binary.ids != row]
    (total,) = coefficient_sums(param, transaction.rows_of(others).weight if is_weighted(transaction) else len(others))
    try:
        return read_after(binary, row, lambda gone: path.update(0, gone, total, transaction.control()), read)
    except PathLost:
        return read_after(binary, row, lambda gone: path.by_smo(gone, total, param.eps, transaction.control()), read)


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
    return float(binary.state.K_beta[position] - binary.state.rho)


def is_weighted(transaction: Transaction) -> bool:
    """Whether rows have weights."""
    return transaction.problem.sample_weight is not None
