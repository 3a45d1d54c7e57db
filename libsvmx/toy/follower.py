"""The model of the rows on the page after each change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.copy_and_swap import at_once
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._train.folds import Rand, group_classes
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.training import train_problem
from libsvmx._train.updating.state import State, train_state
from libsvmx._train.updating.version import Version
from libsvmx.enums import KernelType
from libsvmx.exceptions import SvmxError
from libsvmx.io.transcript import REMARKS
from libsvmx.toy.rows import Row, problem_of

# Remarks on which a reader of the page can act.
TOLD = (
    Remark.ITERATION_LIMIT,
    Remark.TIME_LIMIT,
    Remark.ROUNDING,
    Remark.DEGENERATE,
    Remark.UNBOUNDED,
    Remark.ONE_CLASS,
)
MAY_BE_LOCAL = "this kernel need not be positive semidefinite: a cold start may end at another local optimum"


class Heard(Observer):
    """Records the remarks on a training for the reader."""

    def __init__(self) -> None:
        self.remarks: list[str] = []

    def remark(self, kind: Remark, detail: str = "") -> None:
        if kind in TOLD and REMARKS[kind] not in self.remarks:
            self.remarks.append(REMARKS[kind])


class Follower:
    """The model of the rows last given to ``following``. Immutable: each change makes another one.

    Attributes
    ----------
    model : Model or None        None without rows, or if they cannot be trained
    order : list of int          keys of the rows, in the order of ``model.row_numbers``
    state : State or None        the model's state, if a path can be followed; shared with the next follower
    way : str                    origin of the model: 'path', 'training', 'file', or '' without one
    breakpoints : int            of the last path
    seconds : float              of the last change
    error, note : str            the reason why there is no model; a note on the model
    """

    def __init__(self) -> None:
        self.state: State | None = None
        self._version: Version | None = None  # of the state; an interrupted change may have left another one there
        self._known: dict[int, Row] = {}  # rows of the state
        self._ids: dict[int, int] = {}  # their ids there
        self._put(None, [], "")

    def following(self, rows: Mapping[int, Row], param: Parameter) -> Follower:
        """A follower for these rows: along the path from the previous ones, else by a training."""
        other: Follower = at_once(self)
        begin, error = machine.perf_counter(), ""
        other._put(None, [], "")
        if not rows:
            other.state = None
        for way in (other._follow_path, other._train_state, other._train) if rows else ():
            heard = Heard()
            try:
                if way(rows, param, heard):
                    other.note = "; ".join([*heard.remarks, *([MAY_BE_LOCAL] if may_be_local(param) else [])])
                    break
            except SvmxError as problem:
                error = str(problem)
        if other.model is None:
            other.error = error
        other.seconds = machine.perf_counter() - begin
        return other

    def showing(self, model: Model) -> Follower:
        """A follower for a model whose rows are unknown."""
        other = Follower()
        other._put(model, [], "file")
        return other

    def _put(self, model: Model | None, order: list[int], way: str, breakpoints: int = 0) -> None:
        self.model, self.order, self.way, self.breakpoints = model, order, way, breakpoints
        self.seconds, self.error, self.note = 0.0, "", ""

    # ---- origins of a model: each returns whether it has one, or raises SvmxError ------------------

    def _follow_path(self, rows: Mapping[int, Row], param: Parameter, heard: Heard) -> bool:
        """Add and remove rows, and change C. A moved row is removed and added."""
        state = self.state
        if state is None or state.version is not self._version or replace(state.param, C=param.C) != param:
            return False
        joining = [key for key, row in rows.items() if self._known.get(key) != row]
        leaving = [key for key, row in self._known.items() if rows.get(key) != row]
        breakpoints = 0
        if joining or leaving:
            fresh = problem_of([rows[key] for key in joining], param.svm_type.is_regression)
            ids = state.change(fresh.matrix, fresh.targets, [self._ids[key] for key in leaving], heard)
            staying = {key: row for key, row in self._ids.items() if key not in leaving}
            self._ids = {**staying, **dict(zip(joining, ids.tolist(), strict=True))}
            self._known, self._version = dict(rows), state.version
            breakpoints = state.report.breakpoints
        if state.param.C != param.C:
            state.set_cost(param.C, heard)
            self._version = state.version
            breakpoints += state.report.breakpoints
        way = "training" if state.report.retrained else "path"
        self._put(model_of(state, rows), sorted(self._ids, key=self._ids.__getitem__), way, breakpoints)
        return True

    def _train_state(self, rows: Mapping[int, Row], param: Parameter, heard: Heard) -> bool:
        self.state = None
        if param.svm_type.groups > 1:  # most drags would make nu infeasible
            return False
        state = train_state(problem_of(rows.values(), param.svm_type.is_regression), param, heard, State)
        self.state, self._version, self._known = state, state.version, dict(rows)
        self._ids = {key: place for place, key in enumerate(rows)}
        self._put(model_of(state, rows), list(rows), "training")
        return True

    def _train(self, rows: Mapping[int, Row], param: Parameter, heard: Heard) -> bool:
        self._put(trained(rows, param, heard), list(rows), "training")
        return True

    @property
    def objective(self) -> float:
        """KKT gap of all dual problems; nan without a model, or for one of a file."""
        if self.state is not None and self.state.version is self._version:
            return self.state.objective
        reports = self.model.reports if self.model is not None else ()
        return float(np.sum([report.objective for report in reports])) if reports else float("nan")


def may_be_local(param: Parameter) -> bool:
    """Whether the kernel matrix of some rows is not positive semidefinite, so that an optimum may be local."""
    kernel = param.kernel_type
    return kernel == KernelType.SIGMOID or (kernel == KernelType.POLY and param.coef0 < 0)


def model_of(state: State, rows: Mapping[int, Row]) -> Model:
    """The model of a state, with classes in the order of a training on ``rows``.

    A moved row is the last one of the state, so the state's own order may differ.
    """
    if not state.param.svm_type.is_classification:
        return state.model
    labels, _, _ = group_classes(filled("d", (row.label for row in rows.values())))
    return replace(state.model_by_class(labels), class_labels=tuple(labels))


def trained(rows: Mapping[int, Row], param: Parameter, observer: Observer) -> Model:
    """The model of svmx-train for these rows. Raises DataError, ParameterError."""
    return train_problem(problem_of(rows.values(), param.svm_type.is_regression), param, Rand(), observer)
