"""A row that joins a state for a moment: the decision values of all rows at the optimum with it, exactly.

The incremental half of the path. Full conformal prediction asks it of every candidate label of every new row
(Cherubin, Chatzikokolakis & Jaggi, Exact optimization of conformal predictors via incremental and decremental learning,
ICML 2021).
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.records import replace
from libsvmx._solvers.path.path import PathLost
from libsvmx._train.conformal import at_least, class_scores, own_scores
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import ask
from libsvmx._train.model import pair_place
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.side_by_side import side_by_side
from libsvmx._train.updating.binary_problem import PairIndex, errors_of_a_path
from libsvmx._train.updating.left_out import prepare, read_after
from libsvmx._train.updating.state import stacked_rows
from libsvmx._train.updating.transaction import Transaction

if TYPE_CHECKING:
    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._train.updating.binary_problem import Pair
    from libsvmx._train.updating.state import State
    from libsvmx._typing import Buffer, FloatArray

NO_RESULT = "full_conformal has no result"


class Joiner:
    """Joiner(state, tests, observer): a copy of a state that rows of ``tests`` join, one at a time.

    All rows count 1. It comes back to the same optimum.
    """

    def __init__(self, state: State, tests: CsrMatrix, observer: Observer) -> None:
        self.param = replace(state.param, threads=1)
        both = stacked_rows(state.problem, Problem(tests, np.zeros(tests.n_rows).data))
        self.fresh = state._next_id + np.arange(tests.n_rows)
        self.transaction = Transaction(self.param, both, np.concatenate([state.ids, self.fresh]), observer)
        self.index = PairIndex(state.param, state.problem, Observer())
        self.binaries = {pair: binary.copy() for pair, binary in state.binaries.items()}
        for binary in self.binaries.values():
            prepare(self.transaction, binary)

    def values(self, pair: Pair, t: int, target: float, observer: Observer) -> FloatArray:
        """Decision values of the rows of a pair, in the order of their ids, and last of row t of the tests, at the
        optimum with it and this label or target; positive for the class named first. Raises PathLost, Stopped."""
        transaction, binary = self.transaction, self.binaries[pair]
        transaction.observer = observer
        new = self.fresh[t : t + 1]
        bounds = self.index.bounded(pair, transaction.rows_of(new).with_targets(filled("d", [target])))
        kernel = transaction.kernel_of(np.concatenate([binary.ids, new]))
        (total,) = coefficient_sums(self.param, kernel.n)

        def join(nobody: Buffer) -> None:
            binary.state.append(kernel, new.data, *bounds, transaction.control())
            binary.path.update(1, nobody, total, transaction.control())

        def join_by_smo(nobody: Buffer) -> None:
            binary.state.append(kernel, new.data, *bounds, transaction.control())
            binary.path.by_smo(nobody, total, self.param.eps, transaction.control())

        def read() -> FloatArray:
            return np.asarray(binary.state.K_beta)[np.argsort(binary.ids)] - binary.state.rho

        try:
            return read_after(binary, int(new[0]), join, read)
        except PathLost:
            return read_after(binary, int(new[0]), join_by_smo, read)


def class_p_values(state: State, tests: CsrMatrix, threads: int, observer: Observer) -> FloatArray:
    """p of each class of each of the tests, shape (m, k); the state must stay as it is meanwhile.

    The share of the n + 1 rows, the new one with this label among them, whose score by the optimum of all is no less
    than that of the new one.

    Raises
    ------
    ParameterError      an optimum that cannot be followed
    StoppedEarly
    """
    labels, ids, n, m = state.model.class_labels or (), state.ids, len(state), tests.n_rows
    k, class_of = len(labels), np.searchsorted(np.sort(labels), state.targets)
    class_of = np.argsort(labels)[class_of]
    base, place_of, rows_of = np.full((n, k * (k - 1) // 2), nan), {}, {}
    for pair, binary in state.binaries.items():
        assert pair is not None
        place, sign = place_of[pair] = pair_place(pair, labels)
        rows = np.searchsorted(ids, binary.ids)
        base[rows, place] = sign * (np.asarray(binary.state.K_beta) - binary.state.rho)
        rows_of[pair] = np.sort(rows)

    def p_of(t: int, observer: Observer) -> FloatArray:
        own, counts = joiners.pop(), np.zeros(k)  # there is one for each thread
        try:
            for c, label in enumerate(labels):
                values, new = base.copy(), np.full(base.shape[1], nan)
                for pair, (place, sign) in place_of.items():
                    if label in pair:
                        ask(observer)
                        *others, last = sign * own.values(pair, t, label, observer)
                        values[rows_of[pair], place], new[place] = others, last
                counts[c] = np.count_nonzero(own_scores(values, k, class_of) >= at_least(class_scores(new, k)[c]))
            return (1 + counts) / (n + 1)
        finally:
            joiners.append(own)

    found = np.zeros((m, k))
    with errors_of_a_path(NO_RESULT):
        joiners = [Joiner(state, tests, observer) for _ in range(max(1, min(threads, m)))]
        for t, one in enumerate(side_by_side(p_of, m, threads, observer)):
            ask(observer)
            found[t] = one
            observer.counted("row", t + 1, m)
    return found
