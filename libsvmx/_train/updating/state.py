"""Trained states that rows can join and leave: the optimum after each update is the one a training would reach.

A state has a binary problem for each pair of classes, or one for regression and one-class; transaction.py says what a
change does to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import index as whole_number
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train.checks import check_nu
from libsvmx._train.counting import rows_of_state, tell_dropped
from libsvmx._train.limits import limited
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.problem import Problem
from libsvmx._train.updating.assembled import assembled, model_of
from libsvmx._train.updating.binary_problem import (
    NO_STATE,
    BinaryProblem,
    Pair,
    PairIndex,
    errors_of_a_path,
    train_binary,
)
from libsvmx._train.updating.certificate import certificate_of
from libsvmx._train.updating.given import Table, check_rows, joined, kept_rows
from libsvmx._train.updating.transaction import UNCHANGED, Transaction, UpdateReport, largest_gap, report_of
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError

if TYPE_CHECKING:
    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import Buffer, FloatArray, Ids

MOST_ID = 2**62  # of a row; ids are int64


class State:
    """A trained model that rows can join and leave.

    Made by ``libsvmx.train(..., keep_state=True)``, ``State.load`` or ``State.from_model``. Rows have ids: those of
    the training are 0, 1, … in their order, rows that join get the next ones, and ids are never given twice. Of a
    precomputed kernel column j of an array is the row with id j, and models have the serial numbers ids + 1. Every
    change is made whole or, if it raises an error, not at all. States can be used from several threads: changes
    follow one another.

    Attributes
    ----------
    param : Parameter
    report : UpdateReport      of the last change
    """

    param: Parameter
    report: UpdateReport
    problem: Problem

    def __init__(self, param: Parameter, problem: Problem, ids: Ids, next_id: int, table: Table | None = None) -> None:
        self.param, self.problem, self._ids, self._next_id = param, problem, ids, next_id
        self._table = table  # of a precomputed kernel
        self.binaries: dict[Pair, BinaryProblem] = {}
        self.report = UpdateReport()
        self._model: Model | None = None
        self._lock = RLock()
        self._changing = False

    # ---- rows, model, certificate --------------------------------------------------------------

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
    def sample_weight(self) -> FloatArray:
        """Weight of each row, in the order of ``ids``; those of weight 0 are kept, but do not count."""
        return np.array(weights_of(self.problem))

    @property
    def model(self) -> Model:
        """The model of the rows as they are, as a training on them in the order of ``ids`` would give it."""
        with self._at_rest():
            if self._model is None:
                self._model = self._assemble()
            return self._model

    def model_by_class(self, labels: Sequence[int]) -> Model:
        """The model as a training on the rows sorted by class would give it, with its classes called 0, 1, ….

        ``labels``: all classes of rows that count, in the order that they are to have.
        """
        with self._at_rest():
            rows = rows_of_state(self.problem, self.param)
            rank = {label: at for at, label in enumerate(labels)}
            targets = np.asarray(self.problem.targets)[rows].astype(np.int64).tolist()
            order = rows[np.argsort([rank[label] for label in targets], kind="stable")]
            model = assembled(self.param, self.problem.take(order.data), self._ids[order], self.binaries)
            assert model.row_numbers is not None
            numbers = (order + 1)[np.asarray(model.row_numbers) - 1].astype(np.int32)
            return replace(model, class_labels=tuple(range(len(labels))), row_numbers=numbers.data)

    @property
    def gap(self) -> float:
        """Largest KKT gap of any dual problem over all its rows, from the scores that the paths have kept."""
        with self._at_rest():
            return largest_gap(self.binaries)

    @property
    def objective(self) -> float:
        """Sum of the objectives, 1/2 beta'K beta - linear'beta, of all dual problems."""
        with self._at_rest():
            return sum(binary.state.objective() for binary in self.binaries.values())

    def certificate(self) -> dict[str, Any]:
        """What the last change has led to, as ``json`` can write it: the fields of ``report`` (None for a gap that is
        not finite), the number of ``rows``, and their ``sha256`` (libsvmx._train.updating.certificate.digest_of)."""
        with self._at_rest():
            return certificate_of(self.problem, self._ids, self.report, self._table is not None)

    # ---- changes -------------------------------------------------------------------------------

    def change(
        self,
        matrix: CsrMatrix,
        targets: Buffer,
        remove: Iterable[int],
        observer: Observer,
        sample_weight: Buffer | None = None,
    ) -> Ids:
        """Rows join and others leave along one path.

        Parameters
        ----------
        matrix, targets : CsrMatrix, buffer of float64, shape (new rows,)      of a precomputed kernel rows 0:serial
            1:K(row, 1) …
        remove : iterable of int      ids of rows that are there
        sample_weight : buffer of float64, shape (new rows,), or None       their weights; None: 1 each

        Returns
        -------
        ndarray of int64, shape (new rows,)      the new ids

        Raises
        ------
        DataError, ParameterError, StoppedEarly   the state stays as it was, as with any other error; a row at fault
                                                  is counted among the new ones; nu-SVC: its nu may be too much for
                                                  the rows that would be left
        """
        with self._change():
            gone = self._rows_of(remove)
            if self._next_id > MOST_ID - len(targets):
                raise DataError(f"there are no {len(targets)} ids left: they end at {MOST_ID}")
            joining = Problem(matrix, targets, sample_weight=sample_weight)
            fresh = np.arange(self._next_id, self._next_id + len(targets), dtype=np.int64)
            ids = np.concatenate([self._ids, fresh])
            stays = np.ones(len(ids), dtype=bool)
            stays[gone] = False
            kept = np.flatnonzero(stays).astype(np.int32)
            if not len(kept):
                raise DataError("no row would be left")
            if len(targets):
                check_rows(joining, self.param)
            observer = limited(observer, self.param.time_limit)
            both, table = self._with(joining, observer)
            rest = both.take(kept.data)
            if table is None:
                rest = Problem(both.matrix.take(kept.data), rest.targets, sample_weight=rest.sample_weight)
            check_feasible(rest, self.param)
            transaction = Transaction(self.param, both, ids, observer, stays, len(targets))
            after, next_id = ids[kept], self._next_id + len(targets)
            try:
                binaries, report = transaction.update(self.binaries, PairIndex(self.param, rest, observer))
            except DataError as error:
                if error.row is None or error.row < len(self.problem):
                    raise
                raise DataError(error.cause, error.row - len(self.problem)) from error
            # nothing from here on can fail
            self._model = None
            transaction.commit()
            self.binaries, self.problem, self._ids, self._next_id, self.report = binaries, rest, after, next_id, report
            self._table = table
            return fresh

    def set_cost(self, C: float, observer: Observer | None = None) -> None:
        """Follow the optimum to another C, class weights as they are.

        Raises
        ------
        ParameterError      a C that is not positive, or one-class or nu-SVC, which have none; the state stays as it
            was, as with any other error
        StoppedEarly
        """
        with self._change():
            if not self.param.svm_type.has_cost:
                kind = "one-class" if self.param.svm_type == SvmType.ONE_CLASS else "nu-SVC"
                raise ParameterError(f"{kind} has no C")
            param, observer = replace(self.param, C=C), limited(observer or Observer(), self.param.time_limit)
            param.require_finite_cost("a state")
            transaction = Transaction(param, self.problem, self._ids, observer)
            index = PairIndex(param, self.problem, observer)
            report = transaction.rescale(self.binaries, index, param.C / self.param.C)
            self._model = None
            transaction.commit()
            self.param, self.report = param, report

    def set_nu(self, nu: float, observer: Observer | None = None) -> None:
        """Follow the optimum to another nu: of one-class, nu-SVC and nu-SVR.

        Raises
        ------
        ParameterError      a nu that is not in (0, 1], or infeasible, or a formulation that has none; the state stays
            as it was, as with any other error
        StoppedEarly
        """
        with self._change():
            if not self.param.svm_type.has_nu:
                kind = "C-SVC" if self.param.svm_type == SvmType.C_SVC else "epsilon-SVR"
                raise ParameterError(f"{kind} has no nu")
            param, observer = replace(self.param, nu=nu), limited(observer or Observer(), self.param.time_limit)
            check_feasible(self.problem, param)
            transaction = Transaction(param, self.problem, self._ids, observer)
            report = transaction.set_sums(self.binaries)
            self._model = None
            transaction.commit()
            self.param, self.report = param, report

    def check(self, observer: Observer | None = None) -> float:
        """Compute all scores from nothing, and repair what rounding has done to them; the gap before the repair."""
        with self._change():
            observer = limited(observer or Observer(), self.param.time_limit)
            transaction = Transaction(self.param, self.problem, self._ids, observer)
            gaps: list[float] = []
            report = transaction.for_each(
                self.binaries, lambda pair, binary: gaps.append(binary.path.check(transaction.control()))
            )
            self._model = None
            transaction.commit()
            self.report = report
            return max(gaps, default=float("-inf"))

    def copy(self) -> Self:
        """A state of its own. The data are shared; cached kernel rows are not copied."""
        with self._at_rest():
            if self._table is not None:
                self._table.shared = True
            other = type(self)(self.param, self.problem, self._ids, self._next_id, self._table)
            other.binaries = {pair: binary.copy() for pair, binary in self.binaries.items()}
            other.report, other._model = self.report, self._model
            return other

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a State cannot be pickled: save it to a file, or take its model")

    # ---- internals -----------------------------------------------------------------------------

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """The lock, and not from within a change: an observer or a signal handler would see it half done."""
        with self._lock:
            if self._changing:
                raise SvmxError("the state is being changed: an observer cannot use it")
            yield

    @contextmanager
    def _change(self) -> Iterator[None]:
        """As ``_at_rest``, for a change: nobody else comes in before it is made or taken back."""
        with self._at_rest():
            self._changing = True
            try:
                yield
            finally:
                self._changing = False

    def _rows_of(self, ids: Iterable[int]) -> Ids:
        """Positions of ids among the rows. Raises DataError for those that are unknown or come twice."""
        try:
            wanted = np.array([whole_number(i) for i in ids], dtype=np.int64)
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

    def _with(self, joining: Problem, observer: Observer) -> tuple[Problem, Table | None]:
        """The rows, then those that join, and the table of a precomputed kernel. Raises as ``change``."""
        if self._table is None:
            return stacked_rows(self.problem, joining), None
        like = targets_and_weights(self.problem, joining)
        with errors_of_a_path(UNCHANGED):
            return joined(self.problem, self._table, joining, *like, observer)

    def _assemble(self) -> Model:
        return model_of(self.param, self.problem, self._ids, self.binaries)


# ---- training ----------------------------------------------------------------------------------


AnyState = TypeVar("AnyState", bound=State)


def train_state(problem: Problem, param: Parameter, observer: Observer, kind: type[AnyState]) -> AnyState:
    """A state of these rows, of class ``kind``: trained, then followed to the optimum in double.

    Raises
    ------
    DataError, ParameterError      rows that cannot be trained, or a training of which no state is kept
    StoppedEarly
    """
    observer = limited(observer, param.time_limit)
    check_kept(param)
    check_rows(problem, param)
    check_feasible(problem, param)
    with errors_of_a_path(NO_STATE):
        problem, table = kept_rows(problem, param, observer)
    ids = np.arange(len(problem), dtype=np.int64)
    state = kind(param, problem, ids, len(problem), table)
    index = PairIndex(param, problem, observer)
    if param.svm_type.is_classification:
        tell_dropped(problem, problem.take(rows_of_state(problem, param).data), observer)
    if not index.members:
        observer.remark(Remark.ONE_CLASS)
    state.binaries = {pair: train_binary(param, index, pair, ids, observer) for pair in index.members}
    state.report = report_of(state.binaries.values(), state.binaries)
    for binary in state.binaries.values():
        binary.retrained = False
    return state


def check_kept(param: Parameter) -> None:
    """Raise ParameterError for a training whose state cannot be kept."""
    param.solver.require("has_state")
    param.require_finite_cost("a state")
    if param.probability:
        raise ParameterError("a state has no probability estimates: they come from cross-validation")


def check_feasible(problem: Problem, param: Parameter) -> None:
    """Raise ParameterError where nu is too much for the rows that a state has, or is to have."""
    if param.svm_type == SvmType.NU_SVC:
        check_nu(problem, param)


def stacked(a: CsrMatrix, b: CsrMatrix) -> CsrMatrix:
    """The rows of a, then those of b; b's columns may be new."""
    if not b.n_rows:
        return a
    indptr = np.concatenate([np.asarray(a.indptr), np.asarray(b.indptr)[1:] + a.nnz])
    indices = np.concatenate([np.asarray(a.indices), np.asarray(b.indices)])
    values = np.concatenate([np.asarray(a.values), np.asarray(b.values)])
    first = min(a.first_index, b.first_index)
    columns = max(matrix.n_columns + matrix.first_index for matrix in (a, b)) - first
    return CsrMatrix(indptr, indices, values, copy=False, n_columns=columns, first_index=first)


def targets_and_weights(a: Problem, b: Problem) -> tuple[Buffer, Buffer | None]:
    """Of the rows of a, then of b; they have weights if one of them has."""
    weights = None
    if not (a.sample_weight is None and b.sample_weight is None):
        weights = np.concatenate([weights_of(a), weights_of(b)]).data
    return np.concatenate([np.asarray(a.targets), np.asarray(b.targets)]).data, weights


def stacked_rows(a: Problem, b: Problem) -> Problem:
    """The rows of a, then those of b."""
    targets, weights = targets_and_weights(a, b)
    return Problem(stacked(a.matrix, b.matrix), targets, sample_weight=weights)


def weights_of(problem: Problem) -> FloatArray:
    """What each row counts for: ndarray of float64, not a copy where there are weights."""
    return np.ones(len(problem)) if problem.sample_weight is None else np.asarray(problem.sample_weight)
