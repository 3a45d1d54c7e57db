"""Trained states to which rows are added and from which rows are removed: always the optimum that a training reaches.

A state has a binary problem for each pair of classes, a single one in regression and one-class; transaction.py changes
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index as whole_number
from threading import RLock
from typing import Any, Self, TypeVar

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._solvers.path.path_state import PathState
from libsvmx._train.checks import BYTES_OF_PATH, check_nu, check_pairs
from libsvmx._train.limits import limited
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.training import tell_offset
from libsvmx._train.updating.binary_problem import (
    NO_STATE,
    BinaryProblem,
    Pair,
    PairIndex,
    errors_of_a_path,
    train_binary,
    trained_pairs,
)
from libsvmx._train.updating.certificate import certificate_of
from libsvmx._train.updating.precomputed import Table, check_rows, joined, kept_rows
from libsvmx._train.updating.transaction import UNCHANGED, Transaction, UpdateReport, report_of
from libsvmx._train.updating.version import Keeper, Opened, Version
from libsvmx._train.zero_weights import rows_of_state, tell_dropped
from libsvmx._typing import Buffer, FloatArray, Ids
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError

Found = TypeVar("Found")

MOST_ID = 2**62  # of a row; ids are int64
WITHOUT_NU = {
    SvmType.C_SVC: "C-SVC",
    SvmType.EPSILON_SVR: "epsilon-SVR",
    SvmType.QUANTILE_SVR: "quantile regression",
}


class State:
    """A trained model to which rows can be added and from which rows can be removed.

    Made by ``libsvmx.train(..., keep_state=True)``, ``State.load`` or ``State.from_model``. Rows have ids: training
    rows have 0, 1, … in their order, added rows get the next ones, and ids are never reused. With a precomputed kernel,
    column j of an array belongs to the row with id j, and models have the serial numbers ids + 1. Changes are atomic:
    one that raises an error or is interrupted has no effect. States may be shared by threads; changes are serialized.
    The examples of its methods go on from this one.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> state = libsvmx.train(X[:50], y[:50], C=10, gamma=0.5, keep_state=True)
    >>> state
    <State of 50 rows, C_SVC, RBF kernel>
    """

    def __init__(self, version: Version) -> None:
        self._version = version
        self._opened: Opened | None = None  # a change in progress
        self._lock = RLock()

    # ---- rows, model, certificate --------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._version.ids)

    def __repr__(self) -> str:
        return f"<State of {len(self)} rows, {self.param.svm_type.name}, {self.param.kernel_type.name} kernel>"

    @property
    def param(self) -> Parameter:
        """Parameters of the training, with the present C and nu."""
        return self._version.param

    @param.setter
    def param(self, param: Parameter) -> None:
        with self._lock:
            self._version = replace(self._at_rest(), param=param)

    @property
    def report(self) -> UpdateReport:
        """Report on the last change."""
        return self._version.report

    @property
    def ids(self) -> Ids:
        """The id of each row, ascending: ndarray of int64, a copy."""
        return self._version.ids.copy()

    @property
    def targets(self) -> FloatArray:
        """Label or target of each row, in the order of ``ids``."""
        return np.array(self._version.problem.targets)

    @property
    def sample_weight(self) -> FloatArray:
        """Weight of each row, in the order of ``ids``; rows of weight 0 are kept, but have no effect."""
        return np.array(weights_of(self._version.problem))

    @property
    def model(self) -> Model:
        """The model, equal to that of a training on the present rows in the order of ``ids``."""
        with self._lock:
            return self._at_rest().model

    def model_by_class(self, labels: Sequence[int]) -> Model:
        """``Version.model_by_class`` of the present version."""
        with self._lock:
            return self._at_rest().model_by_class(labels)

    @property
    def gap(self) -> float:
        """Largest KKT gap of any dual problem over all its rows, by the scores of the paths."""
        with self._lock:
            return self._at_rest().gap

    @property
    def objective(self) -> float:
        """Sum of the objectives, 1/2 beta'K beta - linear'beta, of all dual problems."""
        with self._lock:
            return self._at_rest().objective

    def certificate(self) -> dict[str, Any]:
        """Certificate of the optimum after the last change, which ``json`` can write.

        Returns
        -------
        dict
            Fields of ``report`` (None for a gap that is not finite), number of ``rows``, and their ``sha256``, as
            computed by ``libsvmx._train.updating.certificate.digest_of``.

        Raises
        ------
        SvmxError
            When called during a change.

        Examples
        --------
        >>> import libsvmx
        >>> state = libsvmx.train([[0.0], [1.0]], [1, 2], keep_state=True)
        >>> state.certificate()["rows"]
        2
        """
        with self._lock:
            version = self._at_rest()
            return certificate_of(version.problem, version.ids, version.report, version.table is not None)

    # ---- the present version, for this package ----------------------------------------------------

    @property
    def version(self) -> Version:
        """The present version, replaced by each change."""
        return self._version

    @property
    def problem(self) -> Problem:
        """The rows."""
        return self._version.problem

    @property
    def next_id(self) -> int:
        """The id of the next row added."""
        return self._version.next_id

    @property
    def binaries(self) -> dict[Pair, BinaryProblem]:
        """The dual problems, read-only and valid until the next change."""
        with self._lock:
            return self._at_rest().binaries

    # ---- changes -------------------------------------------------------------------------------

    def change(
        self,
        matrix: CsrMatrix,
        targets: Buffer,
        remove: Iterable[int],
        observer: Observer,
        sample_weight: Buffer | None = None,
        keeper: Keeper | None = None,
    ) -> Ids:
        """Add rows and remove others along one path.

        Parameters
        ----------
        matrix, targets : CsrMatrix, buffer of float64, shape (new rows,)
            Of a precomputed kernel rows 0:serial 1:K(row, 1) ….
        remove : iterable of int
            Ids of present rows.
        sample_weight : buffer of float64, shape (new rows,), or None
            Their weights; None: 1 each.
        keeper : Keeper or None
            Keeps the version after the change; None: the state.

        Returns
        -------
        ndarray of int64, shape (new rows,)
            The new ids.

        Raises
        ------
        DataError, ParameterError, StoppedEarly
            The state is unchanged, as after any other error; ``row`` is the number among the new rows. In nu-SVC also
            a nu that is infeasible for the rows left.
        """

        def changed(version: Version, moving: list[PathState]) -> Version:
            gone = rows_of_ids(version.ids, wanted)
            next_id = version.next_id + len(targets)
            if next_id > MOST_ID:
                raise DataError(f"there are no {len(targets)} ids left: they end at {MOST_ID}")
            joining = Problem(matrix, targets, sample_weight=sample_weight)
            ids = np.concatenate([version.ids, np.arange(version.next_id, next_id, dtype=np.int64)])
            stays = np.ones(len(ids), dtype=bool)
            stays[gone] = False
            if len(gone) == len(ids):
                raise DataError("no row would be left")
            if len(targets):
                check_rows(joining, version.param)
            told = limited(observer, version.param.time_limit)
            both, table = with_rows(version, joining, told)
            rest, kept = both, None
            if len(gone):
                kept = np.flatnonzero(stays).astype(np.int32)
                rest = both.take(kept.data) if table is not None else both.copied(kept.data)
            check_feasible(rest, version.param, len(version.binaries), len(targets))
            try:  # the first line measures the joining rows, too
                transaction = Transaction(version.param, both, ids, told, stays, len(targets), moving, version.kernel)
                index = PairIndex(version.param, rest, told)
                binaries, report = transaction.update(version.binaries, index, version.report.gap)
            except DataError as error:
                if error.row is None or error.row < len(version.problem):
                    raise
                raise DataError(error.cause, error.row - len(version.problem)) from error
            kernel = transaction.kernel if table is None else None  # a table is filled in place
            if kernel is not None and kernel.binary:
                kernel = None
            if kept is not None:
                ids, kernel = ids[kept], kernel and kernel.moved(rest.features, rest.rows, kept.data)
            return Version(version.param, rest, ids, next_id, table, binaries, report, kernel)

        with self._lock:
            wanted = whole_ids(remove)  # first: a generator could change the state
            after = self._make(changed, keeper)
        return np.arange(after.next_id - len(targets), after.next_id, dtype=np.int64)

    def set_cost(self, C: float, observer: Observer | None = None) -> None:
        """Follow the optimum to another C; class weights are unchanged.

        Parameters
        ----------
        C : float
            > 0.
        observer : Observer
            As in ``train``.

        Raises
        ------
        ParameterError
            A C that is not positive, or a formulation without C; the state is unchanged, as after any other error.
        StoppedEarly

        Examples
        --------
        >>> state.set_cost(100)
        >>> state.model.param.C
        100.0
        """
        self._set_cost(C, observer or Observer())

    def _set_cost(self, C: float, observer: Observer, keeper: Keeper | None = None) -> None:
        """``set_cost``; ``keeper`` as of ``change``."""

        def followed(version: Version, moving: list[PathState]) -> Version:
            if not version.param.svm_type.has_cost:
                kind = "one-class" if version.param.svm_type == SvmType.ONE_CLASS else "nu-SVC"
                raise ParameterError(f"{kind} has no C")
            param = replace(version.param, C=C)
            param.require_finite_cost("a state")
            transaction = transaction_of(version, param, observer, moving)
            index = PairIndex(param, version.problem, transaction.observer)
            binaries, report = transaction.rescale(version.binaries, index, param.C / version.param.C)
            return replace(version, param=param, binaries=binaries, report=report)

        self._make(followed, keeper)

    def set_nu(self, nu: float, observer: Observer | None = None) -> None:
        """Follow the optimum to another nu, in one-class, nu-SVC and nu-SVR.

        Parameters
        ----------
        nu : float
            0 < nu <= 1.
        observer : Observer
            As in ``train``.

        Raises
        ------
        ParameterError
            A nu that is not in (0, 1] or is infeasible, or a formulation without nu; the state is unchanged, as after
            any other error.
        StoppedEarly

        Examples
        --------
        >>> state = libsvmx.train(X, y, svm_type="nu_svc", nu=0.3, gamma=0.5, keep_state=True)
        >>> state.set_nu(0.4)
        >>> state.model.param.nu
        0.4
        """
        self._set_nu(nu, observer or Observer())

    def _set_nu(self, nu: float, observer: Observer, keeper: Keeper | None = None) -> None:
        """``set_nu``; ``keeper`` as of ``change``."""

        def followed(version: Version, moving: list[PathState]) -> Version:
            if not version.param.svm_type.has_nu:
                raise ParameterError(f"{WITHOUT_NU[version.param.svm_type]} has no nu")
            param = replace(version.param, nu=nu)
            check_feasible(version.problem, param, len(version.binaries), 0)
            transaction = transaction_of(version, param, observer, moving)
            index = PairIndex(param, version.problem, transaction.observer)
            binaries, report = transaction.set_sums(version.binaries, index)
            return replace(version, param=param, binaries=binaries, report=report)

        self._make(followed, keeper)

    def check(self, observer: Observer | None = None) -> float:
        """Recompute all scores, and repair rounding errors of earlier changes.

        Parameters
        ----------
        observer : Observer
            As in ``train``.

        Returns
        -------
        float
            KKT gap before the repair.

        Raises
        ------
        StoppedEarly

        Examples
        --------
        >>> import libsvmx
        >>> state = libsvmx.train([[0.0], [1.0]], [1, 2], keep_state=True)
        >>> state.check() < 1e-9
        True
        """
        gaps: list[float] = []

        def checked(version: Version, moving: list[PathState]) -> Version:
            transaction = transaction_of(version, version.param, observer or Observer(), moving)

            def check(_: Pair, binary: BinaryProblem) -> None:
                gaps.append(binary.path.check(transaction.control()))

            binaries, report = transaction.for_each(version.binaries, check)
            return replace(version, binaries=binaries, report=report)

        self._make(checked)
        return max(gaps, default=float("-inf"))

    def come_to_rest(self) -> None:
        """Roll back or finish an interrupted change, as any other method does, too. Raises SvmxError within a
        change."""
        with self._lock:
            self._at_rest()

    def copy(self) -> Self:
        """An independent copy, which shares the data; cached kernel rows are not copied.

        Returns
        -------
        State

        Raises
        ------
        SvmxError
            When called during a change.

        Examples
        --------
        >>> import libsvmx
        >>> state = libsvmx.train([[0.0], [1.0]], [1, 2], keep_state=True)
        >>> other = state.copy()
        >>> other.add([[2.0]], [2])
        array([2])
        >>> len(state.ids), len(other.ids)
        (2, 3)
        """
        with self._lock:
            version = self._at_rest()
            if version.table is not None:
                version.table.shared = True
            own = replace(version, binaries={pair: binary.copy() for pair, binary in version.binaries.items()})
            own.known_model = version.known_model
            return type(self)(own)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a State cannot be pickled: save it to a file, or take its model")

    # ---- internals -----------------------------------------------------------------------------

    def _at_rest(self) -> Version:
        """The present version, with its paths in place. Under ``_lock``. Raises SvmxError within a change: an observer
        or a signal handler would see it half done."""
        if self._opened is not None:
            if self._opened.is_under_way:
                raise SvmxError("the state is being changed: an observer cannot use it")
            self._settle()
        return self._version

    def _make(self, work: Callable[[Version, list[PathState]], Version], keeper: Keeper | None = None) -> Version:
        """One change: ``work`` takes the present version and returns the next one; it lists the paths that it moves,
        before it does. ``keeper`` as of ``change``."""
        with self._lock:
            version = self._at_rest()
            opened = self._opened = Opened(keeper or Own(self))
            try:
                after = opened.after = work(version, opened.moving)
                opened.keeper.keep(after)
            finally:
                self._settle()
            return after

    def _look(self, work: Callable[[Version, list[PathState]], Found]) -> Found:
        """The result of ``work``, which moves paths; they are rolled back."""
        with self._lock:
            version = self._at_rest()
            opened = self._opened = Opened(Own(self))
            try:
                return work(version, opened.moving)
            finally:
                self._settle()

    def _settle(self) -> None:
        """Finish or roll back a change: at its end, or if it was interrupted, at the next use of the state.

        If this is interrupted, the next call repeats it.
        """
        opened = self._opened
        if opened is None:
            return
        opened.comes_from_here()
        if opened.is_made:
            assert opened.after is not None
            self._version = opened.after
            opened.commit()
        else:
            opened.rollback()
        self._opened = opened.frame = None


class Own:
    """Own(state): a state is its own Keeper."""

    def __init__(self, state: State) -> None:
        self.state = state

    def version(self) -> Version:
        return self.state._version

    def keep(self, version: Version) -> None:
        self.state._version = version


def transaction_of(version: Version, param: Parameter, observer: Observer, moving: list[PathState]) -> Transaction:
    """A change that keeps the rows."""
    told = limited(observer, param.time_limit)
    return Transaction(param, version.problem, version.ids, told, moving=moving, known=version.kernel)


def whole_ids(ids: Iterable[int]) -> Ids:
    """Raises DataError."""
    try:
        return np.array([whole_number(i) for i in ids], dtype=np.int64)
    except (TypeError, OverflowError) as error:
        raise DataError(f"ids must be whole numbers, in a sequence: {error}") from None


def rows_of_ids(known: Ids, wanted: Ids) -> Ids:
    """Positions of ids among those of the rows. Raises DataError for unknown and repeated ids."""
    if not len(wanted):
        return wanted
    rows = known.searchsorted(wanted)
    unknown = wanted[known.take(rows, mode="clip") != wanted]
    if len(unknown):
        raise DataError(f"there is no row with id {unknown[0]}")
    in_order = np.sort(wanted)
    twice = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(twice):
        raise DataError(f"the id {twice[0]} is given twice")
    return rows


def with_rows(version: Version, joining: Problem, observer: Observer) -> tuple[Problem, Table | None]:
    """The rows, then the added ones, and the table of a precomputed kernel. Raises as ``State.change``."""
    if version.table is None:
        return stacked_rows(version.problem, joining), None
    like = targets_and_weights(version.problem, joining)
    with errors_of_a_path(UNCHANGED):
        return joined(version.problem, version.table, joining, *like, observer)


# ---- training ----------------------------------------------------------------------------------


AnyState = TypeVar("AnyState", bound=State)


def train_state(problem: Problem, param: Parameter, observer: Observer, kind: type[AnyState]) -> AnyState:
    """A state of these rows, of class ``kind``: trained, then followed to the optimum in double.

    Raises
    ------
    DataError, ParameterError      also for solvers and parameters without a state
    StoppedEarly
    """
    observer = limited(observer, param.time_limit)
    check_kept(param)
    check_rows(problem, param)
    check_feasible(problem, param)
    tell_offset(problem, param, observer)
    with errors_of_a_path(NO_STATE):
        problem, table = kept_rows(problem, param, observer)
    ids = np.arange(len(problem), dtype=np.int64)
    index = PairIndex(param, problem, observer)
    if param.svm_type.is_classification:
        tell_dropped(problem, problem.take(rows_of_state(problem, param).data), observer)
    if not index.costs:
        observer.remark(Remark.ONE_CLASS)
    trained = trained_pairs(param, index, observer)
    binaries = {pair: train_binary(param, index, pair, ids, observer, *trained.get(pair, ())) for pair in index.costs}
    report = report_of(binaries.values(), binaries)
    for binary in binaries.values():
        binary.retrained = False
    return kind(Version(param, problem, ids, len(problem), table, binaries, report))


def check_kept(param: Parameter) -> None:
    """Raise ParameterError for a training whose state cannot be kept."""
    param.solver.require("has_state")
    param.require_finite_cost("a state")
    if param.probability:
        raise ParameterError("a state has no probability estimates: they come from cross-validation")


def check_feasible(problem: Problem, param: Parameter, n_known: int = 0, n_fresh: int | None = None) -> None:
    """Raise ParameterError for a nu that is infeasible for the rows of a state; TooLittleMemory for the pairs of very
    many classes, of which it has ``n_known`` already, all but those of ``n_fresh`` new rows."""
    check_pairs(problem, param, n_known, BYTES_OF_PATH, n_fresh)
    if param.svm_type == SvmType.NU_SVC:
        check_nu(problem.targets, problem.sample_weight, param.nu)


def targets_and_weights(a: Problem, b: Problem) -> tuple[Buffer, Buffer | None]:
    """Targets and weights of the rows of a, then of b; no weights if neither has any."""
    weights = None
    if not (a.sample_weight is None and b.sample_weight is None):
        weights = np.concatenate([weights_of(a), weights_of(b)]).data
    return np.concatenate([np.asarray(a.targets), np.asarray(b.targets)]).data, weights


def stacked_rows(a: Problem, b: Problem) -> Problem:
    """The rows of a, then those of b."""
    if not len(b):
        return a
    targets, weights = targets_and_weights(a, b)
    return Problem(a.matrix.followed_by(b.matrix), targets, sample_weight=weights)


def weights_of(problem: Problem) -> FloatArray:
    """Weight of each row: ndarray of float64, which may share memory with the problem."""
    return np.ones(len(problem)) if problem.sample_weight is None else np.asarray(problem.sample_weight)
