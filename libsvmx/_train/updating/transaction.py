"""One change of a trained state: what it does to the dual problems that the state is made of.

Each follows the path of libsvmx._solvers.path.path over its rows, in double; only its start is a training, polished.
A change is prepared on all of them, so that it can be taken back, and then committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._kernels.kernel import Kernel
from libsvmx._solvers.control import Control
from libsvmx._solvers.path.path import Path, PathLost
from libsvmx._solvers.path.path_state import interleaved
from libsvmx._train import folds
from libsvmx._train.formulation import build_dual, coefficient_sums
from libsvmx._train.kernel_provider import MEGABYTE, KernelProvider
from libsvmx._train.limits import control_of
from libsvmx._train.observer import Remark
from libsvmx._train.solvers import solve
from libsvmx._train.training import class_costs
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import ParameterError, SvmxError

if TYPE_CHECKING:
    from libsvmx._train.observer import Observer
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem
    from libsvmx._typing import Buffer, Ids, IntArray


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What an update, or the training of a state, took; sums over its parts.

    Attributes
    ----------
    breakpoints : int      times that a variable changed between margin, bounds and the rows on their way
    steps : int            straight lines between breakpoints, those of length 0 left out
    exchanges : int        moves along a null direction of the kernel matrix, because of dependent rows
    repairs : int          paths that mended what rounding had left
    retrained : int        parts that were trained anew: those of a new class, and where no path led on
    gap : float            largest KKT gap of any part, over all its rows
    """

    breakpoints: int = 0
    steps: int = 0
    exchanges: int = 0
    repairs: int = 0
    retrained: int = 0
    gap: float = float("-inf")


class Part:
    """Part(path): one dual problem; rows of the path are tagged with ids.

    Attributes
    ----------
    path : Path
    trained : bool      from nothing, since the last report
    """

    __slots__ = ("path", "trained")

    def __init__(self, path: Path) -> None:
        self.path, self.trained = path, False

    @property
    def ids(self) -> Ids:
        """Of the row at each position of the path."""
        return np.asarray(self.path.state.tags)

    def copy(self) -> Part:
        return Part(self.path.copy())


Key = tuple[int, int] | None  # labels of the positive and the negative class


class Layout:
    """Layout(param, problem, observer): the dual problems of data: rows and costs of each, by key."""

    def __init__(self, param: Parameter, problem: Problem, observer: Observer) -> None:
        self.param, self.problem = param, problem
        self.members: dict[Key, Buffer] = {}
        self.costs: dict[Key, tuple[float, float]] = {}
        if not param.svm_type.is_classification:
            self.members[None] = np.arange(len(problem), dtype=np.int32).data
            self.costs[None] = (0.0, 0.0)
            return
        labels, start, order = folds.group_classes(problem.targets)
        costs = class_costs(labels, param, observer)
        for i in range(len(labels)):
            for j in range(i + 1, len(labels)):
                key = labels[i], labels[j]
                self.members[key] = np.concatenate([order[start[c] : start[c + 1]] for c in (i, j)]).data
                self.costs[key] = costs[i], costs[j]


class Change:
    """Change(param, problem, ids, stays, observer, n_fresh=0): one change of a state, and what it takes.

    Parameters
    ----------
    problem : Problem      all rows, those that leave and those that join included
    ids, stays : ndarray   of its rows: id, and whether it is among the rows after the change
    n_fresh : int          rows that join, the last ones
    """

    def __init__(
        self, param: Parameter, problem: Problem, ids: Ids, stays: Any, observer: Observer, n_fresh: int = 0
    ) -> None:
        self.param, self.problem, self.ids, self.stays, self.observer = param, problem, ids, stays, observer
        self.last_known = ids[-n_fresh] - 1 if n_fresh else ids[-1]
        self.whole: Kernel | None = None
        self.touched: list[Part] = []
        self.marked: list[Part] = []

    def control(self) -> Control:
        param = self.param
        return Control(param.eps, True, 0, param.time_limit, None, self.observer.should_stop)

    def kernel_of(self, ids: Ids) -> Kernel:
        """The kernel of the rows ``ids``, in their order."""
        rows = np.searchsorted(self.ids, ids).astype(np.int32)
        if self.whole is None:
            param, problem = self.param, self.problem
            self.whole = Kernel(
                problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0
            )
        return self.whole.part(rows.data)

    def apply(self, parts: dict[Key, Part], layout: Layout) -> tuple[dict[Key, Part], UpdateReport]:
        """The parts after the change, and what it took; ``commit`` must follow. ``parts`` is not changed, its members
        are: all of them, or, with an error, none."""
        after: dict[Key, Part] = {}
        remaining = self.ids[self.stays]
        try:
            for key, members in layout.members.items():
                kept = key if key in parts else key and (key[1], key[0])
                if kept not in parts:
                    after[key] = train_part(self.param, layout, key, remaining, self.observer)
                    self.touched.append(after[key])
                    continue
                part = after[kept] = parts[kept]
                gone = np.flatnonzero(~self.stays[np.searchsorted(self.ids, part.ids)]).astype(np.int32)
                wanted = remaining[np.asarray(members)]
                fresh = wanted[wanted > self.last_known]
                if not len(gone) and not len(fresh):
                    continue
                self.mark(part)
                self.move(part, kept, layout, fresh, gone)
            return after, self.report(after)
        except BaseException:
            self.take_back()
            raise

    def mark(self, part: Part) -> None:
        """The part will change."""
        self.marked.append(part)
        part.path.state.mark()

    def take_back(self) -> None:
        """All parts as they were."""
        for part in self.marked:
            part.path.state.rollback()

    def commit(self) -> None:
        """No way back: rows that have left are gone."""
        for part in self.marked:
            part.path.state.discard()
            part.path.state.forget()

    def move(self, part: Part, key: Key, layout: Layout, fresh: Ids, gone: IntArray) -> None:
        """One path."""
        ids = np.concatenate([part.ids, fresh])
        (total,) = coefficient_sums(self.param, len(ids) - len(gone))
        kernel = self.kernel_of(ids)
        boxes = self.posed(fresh, key, layout)
        self.touched.append(part)
        part.trained = False
        part.path.state.append(kernel, fresh.data, *boxes)
        try:
            part.path.update(len(fresh), gone.data, total, self.control())
        except PathLost:
            part.path.state.rollback()
            part.path.state.mark()
            part.path.state.append(kernel, fresh.data, *boxes)
            part.trained = True
            self.lost(lambda: part.path.by_smo(gone.data, total, self.param.eps, self.control()))
        except TimeoutError as error:
            raise SvmxError(f"{error}: the state is as it was before") from None

    def lost(self, solve: Callable[[], None]) -> None:
        """A solve by SMO where no path leads on."""
        try:
            solve()
        except PathLost as error:
            raise ParameterError(
                f"the optimum cannot be followed ({error}): scale the data, or choose other kernel parameters"
            ) from None
        except TimeoutError as error:
            raise SvmxError(f"{error}: the state is as it was before") from None

    def each(
        self, parts: dict[Key, Part], action: Callable[[Part], None], otherwise: Callable[[Part], None] | None = None
    ) -> UpdateReport:
        """Do something to the paths of all parts, or, if there is an error, to none; ``otherwise`` where a path is
        lost. ``commit`` must follow."""
        try:
            for part in parts.values():
                self.mark(part)
                self.touched.append(part)
                part.trained = False
                nobody = filled("q", []), *nothing()
                part.path.state.append(self.kernel_of(part.ids), *nobody)
                try:
                    action(part)
                except PathLost:
                    if otherwise is None:
                        raise
                    part.path.state.rollback()
                    part.path.state.mark()
                    part.path.state.append(self.kernel_of(part.ids), *nobody)
                    part.trained = True
                    otherwise(part)
            return self.report(parts)
        except BaseException as error:
            self.take_back()
            if isinstance(error, PathLost):
                raise ParameterError(f"the optimum cannot be followed ({error}): train again") from None
            if isinstance(error, TimeoutError):
                raise SvmxError(f"{error}: the state is as it was before") from None
            raise

    def boxes(self, part: Part, key: Key, layout: Layout) -> tuple[Buffer, Buffer]:
        """low and high of the rows of a part, in the order of its path."""
        return self.posed(part.ids, key, layout)[1:]

    def posed(self, ids: Ids, key: Key, layout: Layout) -> tuple[Buffer, Buffer, Buffer]:
        """linear, low and high of rows in a part whose key is this one."""
        targets = np.asarray(self.problem.targets)[np.searchsorted(self.ids, ids)]
        if key is None:
            return boxes_of(self.param, targets.data, 0.0, 0.0)
        Cp, Cn = layout.costs[key] if key in layout.costs else layout.costs[key[1], key[0]][::-1]
        return boxes_of(self.param, np.where(targets == key[0], 1.0, -1.0).data, Cp, Cn)

    def report(self, parts: dict[Key, Part]) -> UpdateReport:
        done = [part.path.motion for part in self.touched]
        return UpdateReport(
            sum(motion.breakpoints for motion in done),
            sum(motion.steps for motion in done),
            sum(motion.exchanges for motion in done),
            sum(motion.repairs for motion in done),
            sum(part.trained for part in self.touched),
            max((part.path.state.gap() for part in parts.values()), default=float("-inf")),
        )


# ---- the start ---------------------------------------------------------------------------------


def train_part(
    param: Parameter, layout: Layout, key: Key, ids: Ids, observer: Observer, beta: Buffer | None = None
) -> Part:
    """The optimum of one dual problem, from ``beta`` (by variable, in the order of its members) or from nothing."""
    members = layout.members[key]
    Cp, Cn = layout.costs[key]
    problem = layout.problem.take(members)
    if key is not None:
        problem = layout.problem.take(members, np.where(np.asarray(problem.targets) == key[0], 1.0, -1.0).data)
    (total,) = coefficient_sums(param, len(problem))
    control = control_of(param, observer)
    if beta is None:
        kernel, budget_bytes = KernelProvider(problem, param).of(problem)
        dual = build_dual(param, problem.targets, Cp, Cn)
        solution = solve(param, dual, kernel, budget_bytes, control)
        if solution.status != SolveStatus.CONVERGED:
            observer.remark(Remark(solution.status))
        beta = interleaved(solution.beta, len(problem))
    kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
    boxes = boxes_of(param, problem.targets, Cp, Cn)
    part = Part(Path(2 if param.svm_type.is_regression else 1, param.cache_size * MEGABYTE))
    part.trained = True
    own = ids[np.asarray(members)]
    part.path.state.append(kernel, own.data, *boxes)
    change = Change(param, problem, own, None, observer)
    try:
        part.path.start(beta, total, change.control())
    except PathLost:
        change.lost(lambda: part.path.by_smo(filled("i", []), total, param.eps, change.control()))
    except TimeoutError as error:
        raise SvmxError(f"{error}: there is no state") from None
    return part


def boxes_of(param: Parameter, targets: Buffer, Cp: float, Cn: float) -> tuple[Buffer, Buffer, Buffer]:
    """linear, low and high of beta, by variable."""
    if not len(targets):
        return nothing()
    dual = build_dual(param, targets, Cp, Cn)
    return (
        interleaved(dual.linear, len(targets)),
        interleaved(dual.lower, len(targets)),
        interleaved(dual.upper, len(targets)),
    )


def nothing() -> tuple[Buffer, Buffer, Buffer]:
    """Boxes of no variables."""
    return filled("d", []), filled("d", []), filled("d", [])
