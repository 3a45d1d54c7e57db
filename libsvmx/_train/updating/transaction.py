"""One change of a trained state: the changes of its binary problems.

Each follows its path (libsvmx._solvers.path); if that is long or lost, a training takes over, or SMO in double. All are
marked before they move; the owner of the transaction commits or rolls back (version.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control, Stopped
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.path.path import PathLong, PathLost
from libsvmx._solvers.path.path_state import PathState
from libsvmx._train.formulation import coefficient_sums
from libsvmx._train.limits import ask, control_of
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import (
    BinaryProblem,
    Pair,
    PairIndex,
    errors_of_a_path,
    no_bounds,
    train_binary,
)
from libsvmx._train.updating.retraining import (
    cost_of_training,
    most_iterations,
    train_near,
)
from libsvmx._typing import Buffer, Ids, IntArray
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

Joining = tuple[Buffer, Buffer, Buffer, Buffer]  # ids of rows; linear, lower and upper of their variables

UNCHANGED = "the state is as it was before"
# Expected iterations of the next training as a multiple of those after which one was given up.
MORE = 4
# A path to another C or nu is given up if it costs as much as so many trainings. Their iterations rise and fall by the
# root of C, but not beyond that of this ratio.
MANY = 4
MOST_RISE = 1e6
# Span of ids, as a multiple of the number of rows, up to which a table of all ids is made.
SPARSE_IDS = 4
NOBODY = np.zeros(0, dtype=np.int32)


def most_cost(binary: BinaryProblem) -> float:
    """Cost of a path to another C or nu that is given up: of MANY trainings; a loaded state knows of none."""
    return MANY * cost_of_training(binary.path, binary.iterations)[0] if binary.iterations else inf


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """Report on an update, or on the training of a state; sums over its binary problems.

    Attributes
    ----------
    breakpoints : int
        Number of changes of variables between margin, bounds and moving rows.
    steps : int
        Number of linear pieces between breakpoints, without those of length 0.
    exchanges : int
        Number of moves along a null direction of the kernel matrix, due to dependent rows.
    repairs : int
        Number of paths that repaired rounding errors.
    retrained : int
        Number of binary problems that were trained: those of a new class, and those whose path could not be followed or
        was more work than a training.
    gap : float
        Largest KKT gap of any binary problem, over all its rows.
    gap_before : float
        The same before the change; -inf if there was no state.
    """

    breakpoints: int = 0
    steps: int = 0
    exchanges: int = 0
    repairs: int = 0
    retrained: int = 0
    gap: float = float("-inf")
    gap_before: float = float("-inf")


def report_of(
    touched: Iterable[BinaryProblem], binaries: dict[Pair, BinaryProblem], gap_before: float = float("-inf")
) -> UpdateReport:
    """Report on the last calls to the paths of ``touched``; ``binaries``: all of the state."""
    touched = list(touched)
    motions = [binary.path.motion for binary in touched]
    return UpdateReport(
        breakpoints=sum(motion.breakpoints for motion in motions),
        steps=sum(motion.steps for motion in motions),
        exchanges=sum(motion.exchanges for motion in motions),
        repairs=sum(motion.repairs for motion in motions),
        retrained=sum(binary.retrained for binary in touched),
        gap=largest_gap(binaries),
        gap_before=gap_before,
    )


def largest_gap(binaries: dict[Pair, BinaryProblem]) -> float:
    """The largest KKT gap of any binary problem; -inf without one."""
    return max((binary.state.gap() for binary in binaries.values()), default=float("-inf"))


class Transaction:
    """Transaction(param, problem, ids, observer, stays=None, n_fresh=0, moving=None, known=None): a change of a state.

    Parameters
    ----------
    problem : Problem                all rows, including those removed and added
    ids : ndarray of int64           of its rows, ascending
    stays : ndarray of bool          whether a row is kept; None: all are
    n_fresh : int                    number of added rows, the last ones
    moving : list of PathState       OUT: paths are appended before they move
    known : Kernel                   of the rows but the added ones; None: it is made if one is needed
    """

    def __init__(
        self,
        param: Parameter,
        problem: Problem,
        ids: Ids,
        observer: Observer,
        stays: Any = None,
        n_fresh: int = 0,
        moving: list[PathState] | None = None,
        known: Kernel | None = None,
    ) -> None:
        self.param, self.problem, self.ids, self.observer = param, problem, ids, observer
        self.stays = np.ones(len(ids), dtype=bool) if stays is None else stays
        self.n_fresh = n_fresh
        self.kernel: Kernel | None = None
        if known is not None:
            self.kernel = known if not n_fresh else known.moved(problem.features, problem.rows, ramp(known.n))
        self.row_of: IntArray | None = None
        self.touched: list[BinaryProblem] = []
        self.moving = [] if moving is None else moving

    def control(self) -> Control:
        """The control of the next path."""
        return control_of(self.param, self.observer)

    def kernel_of(self, ids: Ids) -> Kernel:
        """The kernel of the rows ``ids``, in their order."""
        return self.kernel_of_rows(self.numbers(ids))

    def kernel_of_rows(self, rows: IntArray) -> Kernel:
        """The kernel of rows of ``problem``."""
        if self.kernel is None:
            self.kernel = Kernel(self.problem.features, self.problem.rows, *self.param.kernel_function)
        return self.kernel.part(rows.data)

    def rows_of(self, ids: Ids) -> Problem:
        """The rows ``ids``, with their targets and weights."""
        return self.problem.take(self.numbers(ids).data)

    def numbers(self, ids: Ids) -> IntArray:
        """Row numbers in ``problem`` of ids in any order: ndarray of int32."""
        first, n = int(self.ids[0]), len(self.ids)
        span = int(self.ids[-1]) - first + 1
        if span == n:
            return (ids - first).astype(np.int32)
        if span > SPARSE_IDS * n:
            return np.searchsorted(self.ids, ids).astype(np.int32)
        if self.row_of is None:  # a search for each row may take longer than the rest of a change
            self.row_of = np.zeros(span, dtype=np.int32)
            self.row_of[self.ids - first] = np.arange(n, dtype=np.int32)
        return self.row_of[ids - first]

    def mark(self, binary: BinaryProblem) -> BinaryProblem:
        """The binary problem after the change: a new object with the same path, which is marked before it moves."""
        self.moving.append(binary.state)
        binary.state.mark()
        return binary.again()

    # ---- adding and removing rows --------------------------------------------------------------

    def trained(self, index: PairIndex, pair: Pair, remaining: Ids) -> BinaryProblem:
        """A binary problem of remaining rows, trained; errors number rows among all, removed and added ones
        included."""
        try:
            return train_binary(self.param, index, pair, remaining, self.observer)
        except StoppedEarly as stop:
            raise StoppedEarly(stop.status, UNCHANGED) from None
        except DataError as error:
            if error.row is None:
                raise
            raise DataError(error.cause, int(np.flatnonzero(self.stays)[error.row])) from error

    def update(
        self, binaries: dict[Pair, BinaryProblem], index: PairIndex, gap_before: float
    ) -> tuple[dict[Pair, BinaryProblem], UpdateReport]:
        """The binary problems after the change, and its report.

        Parameters
        ----------
        binaries : dict       unchanged, but paths of those with added or removed rows move, even if an error is raised
        index : PairIndex     of the rows after the change
        gap_before : float    of the last report
        """
        after: dict[Pair, BinaryProblem] = {}
        leaving_rows = np.flatnonzero(~self.stays)
        remaining = self.ids[self.stays] if len(leaving_rows) else self.ids
        leaving = set(np.asarray(self.problem.targets)[leaving_rows].tolist())
        for listed in index.costs:
            pair = listed if listed in binaries else listed and (listed[1], listed[0])
            if pair not in binaries:
                after[listed] = self.trained(index, listed, remaining)
                self.touched.append(after[listed])
                continue
            binary = after[pair] = binaries[pair]
            fresh = remaining[index.members(listed, len(remaining) - self.n_fresh)] if self.n_fresh else self.ids[:0]
            some_leave = bool(leaving if pair is None else leaving.intersection(pair))
            gone = np.flatnonzero(~self.stays[self.numbers(binary.ids)]).astype(np.int32) if some_leave else NOBODY
            if len(gone) or len(fresh):
                binary = after[pair] = self.mark(binary)
                self.update_binary(binary, pair, index, fresh, gone)
        return after, report_of(self.touched, after, gap_before)

    def update_binary(self, binary: BinaryProblem, pair: Pair, index: PairIndex, fresh: Ids, gone: IntArray) -> None:
        """Change one path: rows with the ids ``fresh`` join, those at the positions ``gone`` leave."""
        weight = float(binary.state.n - len(gone) + len(fresh))
        if self.problem.sample_weight is not None:
            weight = self.rows_of(np.concatenate([np.delete(binary.ids, gone), fresh])).weight
        totals = coefficient_sums(self.param, weight)
        self.touched.append(binary)
        with errors_of_a_path(UNCHANGED), binary.timed():
            ask(self.observer)
            if len(fresh) or not binary.path.rests(0, gone.data, totals, self.control()):
                bounds = index.bounded(pair, self.rows_of(fresh))
                kernel = self.kernel_of(np.concatenate([binary.ids, fresh]))
                self.change(binary, kernel, (fresh.data, *bounds), gone.data, totals)
        binary.check_scale()

    def change(
        self, binary: BinaryProblem, kernel: Kernel, joining: Joining, gone: Buffer, totals: tuple[float, ...]
    ) -> None:
        """Follow the path; train if that is less work or the path is lost; else SMO in double."""
        path, state, n_fresh = binary.path, binary.state, len(joining[0])

        def begin_again() -> None:
            state.rollback()
            state.mark()
            state.append(kernel, *joining, self.control())

        state.append(kernel, *joining, self.control())
        n_moving, n_members, of_path = path.expected(n_fresh, gone)
        cost, falling = cost_of_training(path, binary.iterations, n_moving, n_members)
        max_iter, lost = most_iterations(state, cost), False
        try:
            if of_path <= cost or state.inexact:
                return path.update(n_fresh, gone, totals, self.control(), cost, falling)
            path.leave(gone)
        except PathLong:
            pass
        except PathLost:
            lost = True
            begin_again()
            path.leave(gone)
        binary.retrained = True
        if not state.inexact:
            try:
                reordered = self.kernel_of(binary.ids)  # the path may have moved its rows
                iterations = train_near(self.param, path, reordered, totals, self.control(), max_iter)
                binary.iterations = max(iterations, binary.iterations // 2)
                return None
            except PathLost:
                begin_again()
        if not lost:
            binary.iterations = MORE * max(binary.iterations, max_iter)
            try:
                return path.update(n_fresh, gone, totals, self.control())
            except PathLost:
                begin_again()
        return path.by_smo(gone, totals, self.param.eps, self.control())

    # ---- changes that keep the rows ------------------------------------------------------------

    def for_each(
        self,
        binaries: dict[Pair, BinaryProblem],
        follow: Callable[[Pair, BinaryProblem], object],
        index: PairIndex | None = None,
    ) -> tuple[dict[Pair, BinaryProblem], UpdateReport]:
        """``follow`` the path of each binary problem; if it is lost, or longer than a training, train by ``index``,
        else raise ParameterError. Returns as ``update``."""
        gap_before = largest_gap(binaries)
        after: dict[Pair, BinaryProblem] = {}
        try:
            for pair, before in binaries.items():
                binary = self.mark(before)
                self.bind(binary)
                try:
                    with binary.timed():
                        follow(pair, binary)
                except PathLost:
                    if index is None:
                        raise
                    binary.state.rollback()
                    pair = index.as_listed(pair)
                    binary = self.trained(index, pair, self.ids)
                after[pair] = binary
                self.touched.append(binary)
                binary.check_scale()
        except PathLost as error:
            raise ParameterError(f"the optimum cannot be followed ({error}): train again") from None
        except Stopped as stop:
            raise StoppedEarly(stop.status, UNCHANGED) from None
        return after, report_of(self.touched, after, gap_before)

    def bind(self, binary: BinaryProblem) -> None:
        """Bind a path to a kernel of its rows."""
        binary.state.append(self.kernel_of(binary.ids), filled("q", []), *no_bounds(), self.control())

    def rescale(
        self, binaries: dict[Pair, BinaryProblem], index: PairIndex, ratio: float
    ) -> tuple[dict[Pair, BinaryProblem], UpdateReport]:
        """Change bounds to those of ``index``, and sums: both are multiplied by ``ratio``. Returns as ``update``."""
        bounds = {pair: index.bounded(pair, self.rows_of(b.ids))[1:] for pair, b in binaries.items()}
        rise = min(max(1 / MOST_RISE, ratio), MOST_RISE) ** 0.5

        def follow(pair: Pair, binary: BinaryProblem) -> None:
            binary.iterations = max(min(1, binary.iterations), int(rise * binary.iterations))  # 0: not known
            binary.path.rescale(*bounds[pair], ratio, self.control(), most_cost(binary))

        return self.for_each(binaries, follow, index)

    def set_sums(
        self, binaries: dict[Pair, BinaryProblem], index: PairIndex
    ) -> tuple[dict[Pair, BinaryProblem], UpdateReport]:
        """Change the sums of coefficients to those of ``param``, with another nu. Returns as ``update``."""

        def follow(_: Pair, binary: BinaryProblem) -> None:
            totals = coefficient_sums(self.param, self.rows_of(binary.ids).weight)
            binary.path.update(0, NOBODY.data, totals, self.control(), most_cost(binary))

        return self.for_each(binaries, follow, index)
