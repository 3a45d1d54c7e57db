"""Exact changes of decision values when a row is removed from a state for good.

With (beta, rho) the optimum and (beta', rho') the optimum without the row,

    f'(x) - f(x) = sum_i (beta'_i - beta_i) K(x_i, x) - (rho' - rho)

which is a decision function, too. Its vectors are the rows whose coefficients change: usually the margin, the row
itself and a few more. If the optimum does not depend on the row, it is zero, and needs no path.

    left_out           of all rows, in the order of the model's functions: influence, jackknife+
    changes_without    of one pair of classes
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import NamedTuple

import numpy as np

from libsvmx._core import memory
from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._kernels.cross import CrossKernel
from libsvmx._train.decision import KernelFunctions
from libsvmx._train.limits import ask
from libsvmx._train.model import pair_place
from libsvmx._train.observer import Observer
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.updating.binary_problem import Pair, errors_of_a_path
from libsvmx._train.updating.left_out import alone, prepare, stand_without, value_of, without
from libsvmx._train.updating.state import State
from libsvmx._train.updating.transaction import Transaction
from libsvmx._typing import FloatArray, Ids
from libsvmx.exceptions import ParameterError

# Consequence of a stop.
NO_RESULT = "{} has no result"


class LeftOut(NamedTuple):
    """The effect of leaving out each of the n rows of a state.

    rows : ndarray of int64, shape (s,)                  positions of the rows that the optimum depends on, ascending
    changes : ndarray, shape (s, tests, n_functions)     of the decision values of the tests, without each of these
    own : ndarray, shape (n, n_functions)                decision values of each row at the optimum without it; nan if
    the row is not in the pair's classes, or is its whole class
    """

    rows: Ids
    changes: FloatArray
    own: FloatArray


class Without(NamedTuple):
    """A removed row: change of the tests' decision values, shape (tests,), and its own value then."""

    change: FloatArray
    own: float


def left_out(state: State, tests: CsrMatrix, threads: int, observer: Observer, what: str) -> LeftOut:
    """The effect of leaving out each row of a state, which must not change meanwhile. The observer is told of rows.

    ``what``: name of the computation for errors.

    Raises
    ------
    ParameterError, StoppedEarly      as ``changes_without``
    TooLittleMemory                   ``changes`` take 8 s tests n_functions bytes
    """
    if state.param.svm_type.groups > 1:
        raise ParameterError(
            f"{what} is not available for {state.param.svm_type.name}, whose sums of coefficients depend on all rows"
        )
    model, ids, param = state.model, state.ids, state.param
    # for each pair of classes the ids, ascending, of the rows that its optimum depends on
    moving = {pair: np.sort(binary.ids[~stand_without(param, binary)]) for pair, binary in state.binaries.items()}
    rows, width = np.searchsorted(ids, np.unique(np.concatenate(list(moving.values())))), len(model.offsets)
    need = 8.0 * len(rows) * (tests.n_rows * width + 1)
    memory.require(need, f"leaving out {len(rows)} rows", "; give fewer rows as X")
    changes, own = np.zeros((len(rows), tests.n_rows, width)), np.full((len(ids), width), nan)
    done, total = 0, sum(map(len, moving.values()))
    for pair, leaving in moving.items():
        place, sign = pair_place(pair, model.class_labels or ()) if pair else (0, 1.0)
        binary = state.binaries[pair]
        values = np.asarray(binary.values)
        own[np.searchsorted(ids, binary.ids), place] = sign * values
        found = changes_without(state, pair, leaving, tests, threads, observer, what)
        for row, one in zip(np.searchsorted(ids, leaving).tolist(), found, strict=True):
            changes[np.searchsorted(rows, row), :, place], own[row, place] = sign * one.change, sign * one.own
            done += 1
            observer.counted("row", done, total)
    return LeftOut(rows, changes, own)


def changes_without(
    state: State, pair: Pair, ids: Ids, tests: CsrMatrix, threads: int, observer: Observer, what: str
) -> Iterator[Without]:
    """For each of ``ids`` the changes of the decision values of a pair when that row is removed.

    Values are positive for the first class, and nan for a row that is its whole class. Each thread has a copy of the
    binary problem, restored after each row.

    Raises
    ------
    ParameterError      the path cannot be followed
    StoppedEarly
    """

    def change(k: int, observer: Observer) -> Without:
        ask(observer)
        own = leavers.pop()  # one for each thread
        try:
            return own.change(int(ids[k]), observer)
        finally:
            leavers.append(own)

    with errors_of_a_path(NO_RESULT.format(what)):
        leavers = [Leaver(state, pair, tests, observer) for _ in range(min(threads, len(ids)))]
        for found in side_by_side(change, len(ids), threads, observer):
            ask(observer)
            yield found


class Leaver:
    """Leaver(state, pair, tests, observer): a copy of one binary problem of a state, from which rows are removed
    singly."""

    def __init__(self, state: State, pair: Pair, tests: CsrMatrix, observer: Observer) -> None:
        self.param, self.tests = state.param, tests
        self.transaction = Transaction(replace(state.param, threads=1), state.problem, state.ids, observer)
        self.binary = state.binaries[pair].copy()
        prepare(self.transaction, self.binary)
        self.order = np.argsort(self.binary.ids)
        self.ids = self.binary.ids[self.order]
        self.beta, self.rho = self.binary.coefficients[self.order], self.binary.state.rho
        self.lonely = set(self.ids[alone(self.transaction, pair, self.ids)].tolist())

    def change(self, row: int, observer: Observer) -> Without:
        """f' - f of the tests, and f' of the row with id ``row``, without that row. Raises PathLost, Stopped."""
        if row in self.lonely:
            return Without(np.full(self.tests.n_rows, nan), nan)
        self.transaction.observer = observer
        dbeta, drho, own = without(self.transaction, self.binary, row, lambda: self.moved(row))
        moved = np.flatnonzero(dbeta)
        vectors = self.transaction.rows_of(self.ids[moved])
        found = zeros("d", self.tests.n_rows)
        kernel = CrossKernel(vectors.matrix.take(vectors.rows), *self.param.kernel_function)
        function = KernelFunctions(kernel, np.ascontiguousarray(dbeta[moved]).data, filled("d", [drho]), None)
        function.evaluate(self.tests, ramp(self.tests.n_rows), found, lambda: ask(observer))
        return Without(np.asarray(found), own)

    def moved(self, row: int) -> tuple[FloatArray, float, float]:
        """beta' - beta, in the order of ``ids``, rho' - rho, and f' of the row with id ``row``."""
        now = self.binary.coefficients[np.argsort(self.binary.ids)]
        return now - self.beta, self.binary.state.rho - self.rho, value_of(self.binary, row)
