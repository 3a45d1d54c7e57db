"""Trained states that rows can join and leave: the optimum after each update is the one a training would reach.

A state has a ``Part`` for each dual problem: one for regression and one-class, else one for each pair of classes.
What a change does to them is in change.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from operator import index
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix
from libsvmx._train import folds
from libsvmx._train.checks import check_problem
from libsvmx._train.observer import Observer
from libsvmx._train.problem import Problem
from libsvmx._train.training import assemble_classifier, assemble_single
from libsvmx._train.updating.transaction import Change, Key, Layout, Part, UpdateReport, train_part
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError

if TYPE_CHECKING:
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import Buffer, FloatArray, Ids


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
            return max((part.path.state.gap() for part in self.parts.values()), default=float("-inf"))

    @property
    def objective(self) -> float:
        """Sum of the dual objectives, 1/2 alpha'Q alpha + p'alpha, of all parts."""
        with self._at_rest():
            return sum(part.path.state.objective() for part in self.parts.values())

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
                problem, param, self._beta(part, self._ids), part.path.state.rho + 0.0, status(part, param)
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
                rhos.append(-part.path.state.rho + 0.0 if turned else part.path.state.rho + 0.0)
                statuses.append(status(part, param))
        return assemble_classifier(problem, param, (labels, start, order), betas, rhos, statuses)

    def _beta(self, part: Part, ids: Ids) -> Buffer:
        """Coefficients of the rows ``ids``."""
        own = part.ids
        by_position = np.asarray(part.path.state.coefficients).reshape(len(own), -1).sum(axis=1)
        order = np.argsort(own)
        return np.ascontiguousarray(by_position[order[np.searchsorted(own[order], ids)]]).data


def status(part: Part, param: Parameter) -> SolveStatus:
    """How the solve of a part ended."""
    return SolveStatus.CONVERGED if part.path.state.gap() <= param.eps else SolveStatus.ITERATION_LIMIT


# ---- training ----------------------------------------------------------------------------------


AnyState = TypeVar("AnyState", bound=State)


def train_state(problem: Problem, param: Parameter, observer: Observer, kind: type[AnyState]) -> AnyState:
    """A state of these rows, of class ``kind``: trained, then followed to the optimum in double.

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
    param.solver.require("has_state")
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


def stacked(a: CsrMatrix, b: CsrMatrix) -> CsrMatrix:
    """The rows of a, then those of b."""
    if not b.n_rows:
        return a
    indptr = np.concatenate([np.asarray(a.indptr), np.asarray(b.indptr)[1:] + a.nnz])
    indices = np.concatenate([np.asarray(a.indices), np.asarray(b.indices)])
    return CsrMatrix(indptr, indices, np.concatenate([np.asarray(a.values), np.asarray(b.values)]), copy=False)


def stacked_floats(a: Buffer, b: Buffer) -> Buffer:
    return np.concatenate([np.asarray(a), np.asarray(b)]).data
