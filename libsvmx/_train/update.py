"""Trained states that rows can join and leave: the optimum after each update is the one a training would reach.

A state has a ``Part`` for each dual problem: one for regression and one-class, else one for each pair of classes. It
follows the path of libsvmx._solvers.path over its rows, in double; only its start is a training by SMO, polished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import index
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.threads import thread_count
from libsvmx._kernels.kernel import Kernel
from libsvmx._solvers import smo
from libsvmx._solvers.control import Control
from libsvmx._solvers.path import Path, PathLost
from libsvmx._train import folds
from libsvmx._train.checks import check_problem
from libsvmx._train.formulation import coefficient_sums, pose
from libsvmx._train.kernels import MEGABYTE, Kernels
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.training import assemble_classifier, assemble_single, class_costs
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError

if TYPE_CHECKING:
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import Buffer, FloatArray, Ids, IntArray


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
    trained : bool      by SMO, since the last report
    """

    __slots__ = ("path", "trained")

    def __init__(self, path: Path) -> None:
        self.path, self.trained = path, False

    @property
    def ids(self) -> Ids:
        """Of the row at each position of the path."""
        return np.asarray(self.path.tags)

    def copy(self) -> Part:
        return Part(self.path.copy())


Key = tuple[int, int] | None  # labels of the positive and the negative class


class State:
    """A trained model that rows can join and leave.

    Made by ``libsvmx.train(..., keep_state=True)``, ``State.load`` or ``State.from_model``. Rows have ids: those of
    the training are 0, 1, … in their order, rows that join get the next ones, and ids are never given twice. Every
    change is made whole or, if it raises an error, not at all. States can be used from several threads: changes
    follow one another.

    Attributes
    ----------
    param : Parameter
    report : UpdateReport      of the last change
    """

    def __init__(self, param: Parameter, problem: Problem, ids: Ids, next_id: int) -> None:
        self.param, self.problem, self._ids, self._next_id = param, problem, ids, next_id
        self.parts: dict[Key, Part] = {}
        self.report = UpdateReport()
        self._model: Model | None = None
        self._lock = RLock()
        self._changing = False

    # ---- what it is ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<State of {len(self)} rows, {self.param.svm_type.name}, {self.param.kernel_type.name} kernel>"

    @property
    def ids(self) -> Ids:
        """The id of each row, ascending: ndarray of int64, a copy."""
        return self._ids.copy()

    @property
    def targets(self) -> FloatArray:
        """Label or target of each row, in the order of ``ids``."""
        return np.array(self.problem.targets)

    @property
    def model(self) -> Model:
        """The model of the rows as they are, as a training on them in the order of ``ids`` would give it."""
        with self._at_rest():
            if self._model is None:
                self._model = self._assemble()
            return self._model

    @property
    def gap(self) -> float:
        """Largest KKT gap of any part over all its rows, from the scores that the paths have kept."""
        with self._at_rest():
            return max((part.path.gap() for part in self.parts.values()), default=float("-inf"))

    @property
    def objective(self) -> float:
        """Sum of the dual objectives, 1/2 alpha'Q alpha + p'alpha, of all parts."""
        with self._at_rest():
            return sum(part.path.objective() for part in self.parts.values())

    # ---- how it changes ------------------------------------------------------------------------

    def change(self, matrix: CsrMatrix, targets: Buffer, remove: Iterable[int], observer: Observer) -> Ids:
        """Rows join and others leave along one path; the new ids.

        Raises
        ------
        DataError, ParameterError      the state stays as it was, as with any other error
        """
        with self._change():
            gone = self._rows_of(remove)
            both = Problem(stacked(self.problem.matrix, matrix), stacked_floats(self.problem.targets, targets))
            fresh = np.arange(self._next_id, self._next_id + len(targets), dtype=np.int64)
            ids = np.concatenate([self._ids, fresh])
            stays = np.ones(len(ids), dtype=bool)
            stays[gone] = False
            kept = np.flatnonzero(stays).astype(np.int32)
            if not len(kept):
                raise DataError("no row would be left")
            rest = Problem(both.matrix.take(kept.data), both.take(kept.data).targets)
            if len(targets):
                check_problem(Problem(matrix, targets), self.param)
            change = Change(self.param, both, ids, stays, observer, len(targets))
            after, next_id = ids[kept], self._next_id + len(targets)
            parts, report = change.apply(self.parts, Layout(self.param, rest, observer))
            # nothing from here on can fail
            self._model = None
            change.commit()
            self.parts, self.problem, self._ids, self._next_id, self.report = parts, rest, after, next_id, report
            return fresh

    def set_cost(self, C: float, observer: Observer | None = None) -> None:
        """Follow the optimum to another C, class weights as they are.

        Raises
        ------
        ParameterError      a C that is not positive, or one-class, which has none
        """
        with self._change():
            if self.param.svm_type == SvmType.ONE_CLASS:
                raise ParameterError("one-class has no C")
            param = replace(self.param, C=C)
            change = Change(param, self.problem, self._ids, np.ones(len(self), dtype=bool), observer or Observer())
            ratio = param.C / self.param.C
            layout = Layout(param, self.problem, observer or Observer())
            boxes = {id(part): change.boxes(part, key, layout) for key, part in self.parts.items()}
            report = change.each(
                self.parts,
                lambda part: part.path.rescale(*boxes[id(part)], ratio, change.control()),
                lambda part: part.path.by_smo(filled("i", []), 0.0, param.eps, change.control(), *boxes[id(part)]),
            )
            self._model = None
            change.commit()
            self.param, self.report = param, report

    def check(self, observer: Observer | None = None) -> float:
        """Compute all scores from nothing, and repair what rounding has done to them; the gap before the repair."""
        with self._change():
            change = Change(self.param, self.problem, self._ids, np.ones(len(self), dtype=bool), observer or Observer())
            found: list[float] = []
            report = change.each(self.parts, lambda part: found.append(part.path.check(change.control())))
            self._model = None
            change.commit()
            self.report = report
            return max(found, default=float("-inf"))

    def copy(self) -> Self:
        """A state of its own: the kernel rows that this one has kept are not copied, but the data are shared."""
        with self._at_rest():
            other = type(self)(self.param, self.problem, self._ids, self._next_id)
            other.parts = {key: part.copy() for key, part in self.parts.items()}
            other.report, other._model = self.report, self._model
            return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a State cannot be pickled: save it to a file, or take its model")

    # ---- its insides ---------------------------------------------------------------------------

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """The lock, and not from within a change: an observer or a signal handler would see it half done."""
        with self._lock:
            if self._changing:
                raise SvmxError("the state is being changed: an observer cannot use it")
            yield

    @contextmanager
    def _change(self) -> Iterator[None]:
        """As ``_at_rest``, for one who changes."""
        with self._at_rest():
            self._changing = True
            try:
                yield
            finally:
                self._changing = False

    def _rows_of(self, ids: Iterable[int]) -> Ids:
        """Rows of ids. Raises DataError for those that are unknown or come twice."""
        try:
            wanted = np.array([index(i) for i in ids], dtype=np.int64)
        except (TypeError, OverflowError) as error:
            raise DataError(f"ids must be whole numbers, in a sequence: {error}") from None
        rows = np.searchsorted(self._ids, wanted)
        unknown = [i for i, row in zip(wanted, rows, strict=True) if row == len(self._ids) or self._ids[row] != i]
        if unknown:
            raise DataError(f"there is no row with id {unknown[0]}")
        values, counts = np.unique(wanted, return_counts=True)
        if (counts > 1).any():
            raise DataError(f"the id {values[counts > 1][0]} is given twice")
        return rows

    def _assemble(self) -> Model:
        param, problem = self.param, self.problem
        if not param.svm_type.is_classification:
            part = self.parts[None]
            model: Model = assemble_single(
                problem, param, self._beta(part, self._ids), -part.path.level + 0.0, status(part, param)
            )
            return model
        labels, start, order = folds.group_classes(problem.targets)
        betas, rhos, statuses = [], [], []
        for i in range(len(labels)):
            for j in range(i + 1, len(labels)):
                turned = (labels[i], labels[j]) not in self.parts
                part = self.parts[(labels[j], labels[i]) if turned else (labels[i], labels[j])]
                members = np.concatenate([order[start[i] : start[i + 1]], order[start[j] : start[j + 1]]])
                beta = self._beta(part, self._ids[members])
                betas.append((-np.asarray(beta) + 0.0).data if turned else beta)
                rhos.append(part.path.level + 0.0 if turned else -part.path.level + 0.0)
                statuses.append(status(part, param))
        return assemble_classifier(problem, param, (labels, start, order), betas, rhos, statuses)

    def _beta(self, part: Part, ids: Ids) -> Buffer:
        """Coefficients of the rows ``ids``."""
        own = part.ids
        by_position = np.asarray(part.path.coefficients).reshape(len(own), -1).sum(axis=1)
        order = np.argsort(own)
        return np.ascontiguousarray(by_position[order[np.searchsorted(own[order], ids)]]).data


def status(part: Part, param: Parameter) -> str:
    """How the solve of a part ended, in the words of DualSolution."""
    return "converged" if part.path.gap() <= param.eps else "iteration limit"


# ---- a change ----------------------------------------------------------------------------------


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
        part.path.mark()

    def take_back(self) -> None:
        """All parts as they were."""
        for part in self.marked:
            part.path.rollback()

    def commit(self) -> None:
        """No way back: rows that have left are gone."""
        for part in self.marked:
            part.path.discard()
            part.path.forget()

    def move(self, part: Part, key: Key, layout: Layout, fresh: Ids, gone: IntArray) -> None:
        """One path."""
        ids = np.concatenate([part.ids, fresh])
        (total,) = coefficient_sums(self.param, len(ids) - len(gone))
        kernel = self.kernel_of(ids)
        boxes = self.posed(fresh, key, layout)
        self.touched.append(part)
        part.trained = False
        part.path.append(kernel, fresh.data, *boxes)
        try:
            part.path.update(len(fresh), gone.data, total, self.control())
        except PathLost:
            part.path.rollback()
            part.path.mark()
            part.path.append(kernel, fresh.data, *boxes)
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
                part.path.append(self.kernel_of(part.ids), *nobody)
                try:
                    action(part)
                except PathLost:
                    if otherwise is None:
                        raise
                    part.path.rollback()
                    part.path.mark()
                    part.path.append(self.kernel_of(part.ids), *nobody)
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
        done = [part.path for part in self.touched]
        return UpdateReport(
            sum(path.breakpoints for path in done),
            sum(path.steps for path in done),
            sum(path.pivots for path in done),
            sum(path.polished for path in done),
            sum(part.trained for part in self.touched),
            max((part.path.gap() for part in parts.values()), default=float("-inf")),
        )


# ---- training ----------------------------------------------------------------------------------


AnyState = TypeVar("AnyState", bound=State)


def train_state(problem: Problem, param: Parameter, observer: Observer, kind: type[AnyState]) -> AnyState:
    """A state of these rows, of class ``kind``: trained by SMO, then followed to the optimum in double.

    Raises
    ------
    DataError, ParameterError
    """
    check_kept(param)
    check_problem(problem, param)
    problem = Problem(problem.matrix.take(problem.rows), problem.targets)
    ids = np.arange(len(problem), dtype=np.int64)
    state = kind(param, problem, ids, len(problem))
    layout = Layout(param, problem, observer)
    if not layout.members:
        observer.remark("one class")
    state.parts = {key: train_part(param, layout, key, ids, observer) for key in layout.members}
    change = Change(param, problem, ids, None, observer)
    change.touched = list(state.parts.values())
    state.report = change.report(state.parts)
    for part in state.parts.values():
        part.trained = False
    return state


def check_kept(param: Parameter) -> None:
    """Raise ParameterError for a training whose state cannot be kept."""
    if param.svm_type in (SvmType.NU_SVC, SvmType.NU_SVR):
        raise ParameterError(
            "a state is kept of C-SVC, epsilon-SVR and one-class: the nu formulations fix sums that change with "
            "every row and class; train again, or choose the C or epsilon that nu amounts to"
        )
    if param.kernel_type == KernelType.PRECOMPUTED:
        raise ParameterError("a state needs a kernel that it can compute for new rows, not a precomputed one")
    if param.probability:
        raise ParameterError("a state has no probability estimates: they come from cross-validation")
    if any(weight == 0 for _, weight in param.weights):
        raise ParameterError("a state cannot be kept with a class of weight 0: leave its rows out")


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
    control = Control(param.eps, param.shrinking, param.max_iter, param.time_limit, observer.mark, observer.should_stop)
    if beta is None:
        kernel, budget_bytes = Kernels(problem, param).of(problem)
        dual = pose(param, problem.targets, Cp, Cn)
        solution = smo.solve(dual, kernel, budget_bytes, control, thread_count(param.threads))
        if solution.status != "converged":
            observer.remark(solution.status)
        beta = interleaved(param, np.asarray(dual.y) * np.asarray(solution.alpha))
    kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
    boxes = boxes_of(param, problem.targets, Cp, Cn)
    part = Part(Path(2 if param.svm_type.is_regression else 1, param.cache_size * MEGABYTE))
    part.trained = True
    own = ids[np.asarray(members)]
    part.path.append(kernel, own.data, *boxes)
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
    dual = pose(param, targets, Cp, Cn)
    y, C = np.asarray(dual.y), np.asarray(dual.C)
    return (
        interleaved(param, np.asarray(dual.linear)),
        interleaved(param, np.where(y > 0, 0.0, -C)),
        interleaved(param, np.where(y > 0, C, 0.0)),
    )


def nothing() -> tuple[Buffer, Buffer, Buffer]:
    """Boxes of no variables."""
    return filled("d", []), filled("d", []), filled("d", [])


def interleaved(param: Parameter, values: FloatArray) -> Buffer:
    """Values by variable in the order of a path, both variables of a row together, from that of a dual problem."""
    if param.svm_type.is_regression:
        values = values.reshape(2, -1).T
    return np.ascontiguousarray(values, dtype=np.float64).ravel().data


def stacked(a: CsrMatrix, b: CsrMatrix) -> CsrMatrix:
    """The rows of a, then those of b."""
    if not b.n_rows:
        return a
    indptr = np.concatenate([np.asarray(a.indptr), np.asarray(b.indptr)[1:] + a.nnz])
    indices = np.concatenate([np.asarray(a.indices), np.asarray(b.indices)])
    return CsrMatrix(indptr, indices, np.concatenate([np.asarray(a.values), np.asarray(b.values)]), copy=False)


def stacked_floats(a: Buffer, b: Buffer) -> Buffer:
    return np.concatenate([np.asarray(a), np.asarray(b)]).data
