"""A row added to a state temporarily: exact decision values of all rows at the optimum with it.

Full conformal prediction needs them for every candidate label of every new row (Cherubin, Chatzikokolakis & Jaggi,
Exact optimization of conformal predictors via incremental and decremental learning, ICML 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._solvers.path.path import PathLost
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import ask
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.updating.binary_problem import Pair, PairIndex, errors_of_a_path
from libsvmx._train.updating.left_out import prepare, read_after
from libsvmx._train.updating.state import State, stacked_rows
from libsvmx._train.updating.transaction import Transaction
from libsvmx._typing import Buffer, FloatArray
from libsvmx.enums import KernelType
from libsvmx.exceptions import ParameterError

Found = TypeVar("Found")


class Joined(NamedTuple):
    """The optimum with the additional row.

    values : ndarray, shape (rows + 1,)      decision values of the rows of the pair in the order of their ids, the new
        one last; positive for the first class
    beta : float                             coefficient of the new row
    """

    values: FloatArray
    beta: float


class Joiner:
    """Joiner(state, tests, observer): a copy of a state to which rows of ``tests`` are added, one at a time, each with
    weight 1, and removed again. Raises ParameterError for a precomputed kernel."""

    def __init__(self, state: State, tests: CsrMatrix, observer: Observer) -> None:
        if state.param.kernel_type == KernelType.PRECOMPUTED:
            raise ParameterError(
                "the kernel value of a new row with itself is needed, which a state with a precomputed kernel, or with "
                "a kernel of your own, does not have"
            )
        self.param = replace(state.param, threads=1)
        both = stacked_rows(state.problem, Problem(tests, np.zeros(tests.n_rows).data))
        self.fresh = state.next_id + np.arange(tests.n_rows)
        self.transaction = Transaction(self.param, both, np.concatenate([state.ids, self.fresh]), observer)
        self.index = PairIndex(state.param, state.problem, Observer())
        self.binaries = {pair: binary.copy() for pair, binary in state.binaries.items()}
        for binary in self.binaries.values():
            prepare(self.transaction, binary)

    def join(self, pair: Pair, t: int, target: float) -> Joined:
        """The optimum of a pair with row t of the tests, given this label or target. Raises PathLost, Stopped."""
        transaction, binary, new = self.transaction, self.binaries[pair], self.fresh[t : t + 1]
        ask(transaction.observer)
        bounds = self.index.bounded(pair, transaction.rows_of(new).with_targets(filled("d", [target])))
        kernel = transaction.kernel_of(np.concatenate([binary.ids, new]))
        totals = coefficient_sums(self.param, kernel.n)

        def follow(nobody: Buffer) -> None:
            binary.state.append(kernel, new.data, *bounds, transaction.control())
            binary.path.update(1, nobody, totals, transaction.control())

        def solve(nobody: Buffer) -> None:
            binary.state.append(kernel, new.data, *bounds, transaction.control())
            binary.path.by_smo(nobody, totals, self.param.eps, transaction.control())

        def read() -> Joined:
            order = np.argsort(binary.ids)
            values = np.asarray(binary.state.K_beta)[order] - binary.state.rho
            return Joined(values, float(binary.coefficients[order[-1]]))

        try:
            return read_after(binary, int(new[0]), follow, read)
        except PathLost:
            return read_after(binary, int(new[0]), solve, read)


def each_joining(
    state: State,
    tests: CsrMatrix,
    threads: int,
    observer: Observer,
    of_row: Callable[[Joiner, int], Found],
    what: str,
) -> Iterator[Found]:
    """``of_row(joiner, t)`` for each of the tests; the state must not change meanwhile. The observer is told of rows.

    ``what``: name of the computation for errors.

    Raises
    ------
    ParameterError      the path cannot be followed
    StoppedEarly
    """

    def one(t: int, observer: Observer) -> Found:
        own = joiners.pop()  # one for each thread
        own.transaction.observer = observer
        try:
            return of_row(own, t)
        finally:
            joiners.append(own)

    with errors_of_a_path(f"{what} has no result"):
        joiners = [Joiner(state, tests, observer) for _ in range(max(1, min(threads, tests.n_rows)))]
        for t, found in enumerate(side_by_side(one, tests.n_rows, threads, observer)):
            ask(observer)
            observer.counted("row", t + 1, tests.n_rows)
            yield found
