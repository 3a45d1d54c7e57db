"""How decision values change when a row leaves a state for good, exactly.

With (beta, rho) the optimum and (beta', rho') the optimum without the row,

    f'(x) - f(x) = sum_i (beta'_i - beta_i) K(x_i, x) - (rho' - rho)

which is a decision function, too. Its vectors are the rows whose coefficients the path has moved: as a rule the margin,
the row itself and a few more. Where the optimum does not rest on the row, it is zero, and there is no path.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled, zeros
from libsvmx._core.records import replace
from libsvmx._kernels.cross import CrossKernel
from libsvmx._train.decision import KernelFunctions
from libsvmx._train.limits import ask
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._train.updating.left_out import alone, prepare, stand_without, without
from libsvmx._train.updating.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.observer import Observer
    from libsvmx._train.updating.binary_problem import Pair
    from libsvmx._train.updating.state import State
    from libsvmx._typing import FloatArray, Ids

# What is told where it is ended.
NO_RESULT = "influence has no result"


def rows_of_influence(state: State) -> dict[Pair, Ids]:
    """Of each pair of classes the ids, ascending, of the rows without which it has another optimum."""
    return {pair: np.sort(binary.ids[~stand_without(state.param, binary)]) for pair, binary in state.binaries.items()}


def changes_without(
    state: State, pair: Pair, ids: Ids, tests: CsrMatrix, threads: int, observer: Observer
) -> Iterator[FloatArray]:
    """For each of ``ids`` how the decision values of a pair change when that row leaves: ndarrays, shape (tests,).

    Values are positive for the class that is named first, and nan for a row that is all of its class. Each thread has a
    copy of the binary problem, which comes back to the same optimum after each row.

    Raises
    ------
    ParameterError      an optimum that cannot be followed
    StoppedEarly
    """

    def change(k: int, observer: Observer) -> FloatArray:
        ask(observer)
        own = leavers.pop()  # there is one for each thread
        try:
            return own.change(int(ids[k]), observer)
        finally:
            leavers.append(own)

    with errors_of_a_path(NO_RESULT):
        leavers = [Leaver(state, pair, tests, observer) for _ in range(min(threads, len(ids)))]
        for found in side_by_side(change, len(ids), threads, observer):
            ask(observer)
            yield found


class Leaver:
    """Leaver(state, pair, tests, observer): one binary problem of a state, copied, that rows leave one at a time."""

    def __init__(self, state: State, pair: Pair, tests: CsrMatrix, observer: Observer) -> None:
        self.param, self.tests = state.param, tests
        self.transaction = Transaction(replace(state.param, threads=1), state.problem, state.ids, observer)
        self.binary = state.binaries[pair].copy()
        prepare(self.transaction, self.binary)
        self.order = np.argsort(self.binary.ids)
        self.ids = self.binary.ids[self.order]
        self.beta, self.rho = self.binary.coefficients[self.order], self.binary.state.rho
        self.lonely = set(self.ids[alone(self.transaction, pair, self.ids)].tolist())

    def change(self, row: int, observer: Observer) -> FloatArray:
        """f' - f of the tests, shape (tests,), without the row with id ``row``. Raises PathLost, Stopped."""
        if row in self.lonely:
            return np.full(self.tests.n_rows, nan)
        self.transaction.observer = observer
        dbeta, drho = without(self.transaction, self.binary, row, self.moved)
        moved = np.flatnonzero(dbeta)
        vectors = self.transaction.rows_of(self.ids[moved])
        param, found = self.param, zeros("d", self.tests.n_rows)
        kernel = CrossKernel(
            vectors.matrix.take(vectors.rows), param.kernel_type, param.degree, param.gamma, param.coef0
        )
        function = KernelFunctions(kernel, np.ascontiguousarray(dbeta[moved]).data, filled("d", [drho]), None)
        function.evaluate(self.tests, ramp(self.tests.n_rows), found, lambda: ask(observer))
        return np.asarray(found)

    def moved(self) -> tuple[FloatArray, float]:
        """beta' - beta, in the order of ``ids``, and rho' - rho."""
        now = self.binary.coefficients[np.argsort(self.binary.ids)]
        return now - self.beta, self.binary.state.rho - self.rho
