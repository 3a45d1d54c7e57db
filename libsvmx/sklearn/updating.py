"""The mixin ``Updating``: adds and removes rows of a fitted estimator along the exact path; leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from libsvmx._core.copy_and_swap import at_once, built_apart
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train.folds import Rand
from libsvmx._train.limits import limited
from libsvmx._train.model import Model, pair_place
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import is_several
from libsvmx._train.updating.left_out import values_left_out
from libsvmx._train.updating.version import Version
from libsvmx._train.validation.leave_one_out import leave_one_out
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import as_matrix, precomputed, scaled
from libsvmx.api.state import State
from libsvmx.enums import KernelType
from libsvmx.exceptions import StoppedEarly, warn_caller
from libsvmx.io.transcript import update
from libsvmx.sklearn.class_order import name_classes
from libsvmx.sklearn.fitted import FittedModel
from libsvmx.sklearn.input_checks import more_data, more_values
from libsvmx.sklearn.kept import FIXED, KeptRows, counting_order
from libsvmx.sklearn.progress import watched
from libsvmx.sklearn.rows import joining_weights, matrix_of
from libsvmx.sklearn.training import as_trained, check_not_called

Found = TypeVar("Found")

NO_ROWS = "the training rows are not kept: fit with keep_rows=True, or begin with partial_fit"


class OfferedIf:
    """OfferedIf(check): descriptor of a method that is hidden if ``check`` raises AttributeError."""

    def __init__(self, check: Callable[[Any], None]) -> None:
        self.check = check

    def __call__(self, method: Callable[..., Any]) -> OfferedIf:
        update_wrapper(self, method)
        self.method = method
        return self

    def __get__(self, found: Any, owner: type | None = None) -> Any:
        if found is None:
            return self.method
        self.check(found)
        return MethodType(self.method, found)


def may_go_on(estimator: Any) -> None:
    """Raise AttributeError for an estimator fitted without ``keep_rows``."""
    if "_fitted" in vars(estimator) and "_kept" not in vars(estimator):
        raise AttributeError(NO_ROWS)


class Updating:
    """Mixin of BaseSVM: methods that need the training rows after ``fit``.

    The path is that of Karasuyama & Takeuchi, Multiple incremental decremental learning of support vector machines,
    NIPS 2009; see docs/update.md.

    Examples
    --------
    >>> from libsvmx import SVC
    >>> model = SVC(kernel="linear").partial_fit([[0.0], [4.0]], ["a", "b"])
    >>> model.partial_fit([[1.0], [3.0]], ["a", "b"]).decision_function([[1.0], [2.5]]).round(6)
    array([-1. ,  0.5])
    >>> model.row_ids_
    array([0, 1, 2, 3])
    >>> model.loo_decision_function().round(2)
    array([-2.  ,  2.  , -0.33,  0.33])
    >>> model.unlearn([2, 3]).decision_function([[1.0], [2.5]]).round(6)
    array([-0.5 ,  0.25])
    """

    shape_fit_: tuple[int, ...]
    n_features_in_: int
    _fitted: FittedModel

    if TYPE_CHECKING:  # members of BaseSVM

        def __getattr__(self, name: str) -> Any: ...

    @OfferedIf(may_go_on)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Add rows: the optimum moves along an exact path to that of all rows, for the kernel in double precision.

        The first call trains and keeps its rows; after ``fit``, ``keep_rows=True`` is needed. C and nu may be changed
        by ``set_params`` in between; ``gamma="scale"`` and "auto" keep their first value. A call that raises an error
        changes nothing.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` kernel values with all rows ever given, then with these: at first of shape
            (n_samples, n_samples). Rows to predict, too, have a column for each row ever given.
        y : array of shape (n_samples,)
            Class labels, or targets.
        sample_weight : array of shape (n_samples,), default=None
            As in ``fit``.

        Returns
        -------
        self
            With the new rows at the end of ``row_ids_``.

        Raises
        ------
        ValueError
            Invalid data or parameters, ``max_time`` exceeded, or nu of NuSVC infeasible for all rows.
        AttributeError
            After a ``fit`` that has not kept its rows.
        """
        return self._join(X, y, sample_weight)

    def unlearn(self, ids: Any) -> Any:
        """Remove rows: the model is then, up to rounding in double precision, as if they had never been given.

        Parameters
        ----------
        ids : sequence of int
            Elements of ``row_ids_``: rows are numbered from 0 in the order in which they were given.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Unknown or repeated ids, too few rows or classes left, rows not kept, or ``max_time`` exceeded. The
            estimator is unchanged.
        """
        leaving = np.asarray(ids)
        if leaving.dtype == bool:
            raise ValueError("ids must be numbers of rows, not a mask: give row_ids_[mask]")

        def unlearnt(now: Any, kept: KeptRows) -> None:
            if kept.labels is not None and len(kept.classes(~np.isin(kept.ids, leaving))[0]) < 2:
                raise ValueError("fewer than two classes would be left")
            nothing = as_matrix(np.zeros((0, 0)))
            self._change(kept, nothing, np.zeros(0), kept.labels, leaving.ravel().tolist())

        self._in_turn("unlearn", unlearnt)
        return self

    def loo_decision_function(self) -> Any:
        """Leave-one-out decision values: of each training row, by the model of all others.

        Each row leaves the optimum along the exact path, for the kernel in double precision; with given kernel values
        the others are retrained from the optimum, to ``tol``, unless rows have been added or removed. Kernel parameters
        and class weights are those of all rows. Needs kept rows (``keep_rows=True``).

        Returns
        -------
        array of float64, shape as in ``decision_function``
            One row for each of ``row_ids_``; in regression predictions, shape (n_samples,). nan for the only row of a
            class, and in NuSVC where nu is infeasible without the row.

        Raises
        ------
        ValueError
            Rows not kept, or ``max_time`` exceeded.
        """

        def left_out(now: Any, kept: KeptRows) -> Any:
            name = f"{type(now).__name__} leave-one-out"
            with watched(now.verbose, now.callback, name, now._n_solves) as observer:
                return now._shaped(now._values_left_out(kept, limited(observer, now.max_time or 0.0)))

        return self._in_turn("", left_out)

    def _values_left_out(self, kept: KeptRows, observer: Observer) -> FloatArray:
        """Decision values of ``loo_decision_function``, shape (n, n_functions)."""
        param = self._fitted.model.param
        if kept.state is not None or param.kernel_type != KernelType.PRECOMPUTED:  # which need not be symmetric
            state = kept.state or self._make_state(kept, observer)
            values = np.array(FittedModel(kept.model).values(kept.tests, self._threads))
            codes = kept.classes()[1] if kept.labels is not None else []
            for pair, (ids, own) in values_left_out(state, observer).items():
                at, sign = pair_place(pair, codes) if pair else (0, 1.0)
                values[np.searchsorted(kept.ids, ids), at] = sign * own
            return values
        problem = kept.problem
        values = np.array(self._fitted.values(problem.matrix, self._threads))
        counting = counting_order(problem, kept.labels is not None)
        if len(counting) == 1:  # no row is left to train on
            values[counting] = np.nan
            return values
        param = replace(param, probability=False, time_limit=self.max_time or 0.0)
        found = leave_one_out(problem.take(counting.data), param, Rand(0), observer)
        values[counting] = np.asarray(found.values).reshape(len(counting), -1)
        return values

    # ---- inside --------------------------------------------------------------------------------

    def _join(self, X: Any, y: Any, sample_weight: Any) -> Any:
        check_follows(self, "partial_fit")
        if "_fitted" not in self.__dict__:
            return self._trained(X, y, sample_weight, keep=True, exact=True)

        def joined(now: Any, kept: KeptRows) -> None:
            first = kept.next_id
            rows, given = more_data(now, X, y) if first is None else more_values(now, X, y, first)
            if kept.labels is not None:
                check_classification_targets(given)
            weights = joining_weights(sample_weight, rows)
            targets, labels = (np.array(given, dtype=np.float64), None) if kept.labels is None else kept.codes(given)
            if first is None:
                matrix = scaled(matrix_of(rows, False), rows, now._fitted.model.param)
            else:
                matrix = precomputed(rows, first + 1)
            self._change(kept, matrix, targets, labels, [], weights)

        self._in_turn("partial_fit", joined)
        return self

    def _change(
        self,
        kept: KeptRows,
        matrix: CsrMatrix,
        targets: FloatArray,
        labels: Any,
        leaving: list[int],
        weights: Any = None,
    ) -> None:
        """Add and remove rows, all or none; ``labels`` is then the class of each code.

        Raises DataError, ParameterError, StoppedEarly: the estimator is unchanged then, except that a new C or nu is
        applied.
        """
        try:
            with watched(False, self.callback, "", 1) as told:
                observer = limited(told, self.max_time or 0.0)
                state, shown = kept.state or self._make_state(kept, observer), Shown(self, kept.labels)
                C, nu = (getattr(self, name, getattr(state.param, name)) for name in ("C", "nu"))
                if C != state.param.C:
                    state._set_cost(C, observer, shown)
                if nu != state.param.nu:
                    state._set_nu(nu, observer, shown)
                row_weights = None if weights is None else weights.data
                state.change(matrix, targets.data, leaving, observer, row_weights, Shown(self, labels))
            if self.verbose:
                print(f"+{len(targets)} -{len(leaving)}: {len(state)} rows, {update(state.report)}")
        except BaseException as error:
            name_classes(error, labels)
            raise

    def _in_turn(self, what: str, work: Callable[[Any, KeptRows], Found]) -> Found:
        """``work(now, kept)`` under the lock of the rows; ``now`` is a snapshot of the estimator.

        ``what`` as in ``_kept_rows``, whose errors are raised.
        """
        while True:
            lock = self._kept_rows(what).lock
            with lock:
                now = at_once(self)
                kept = now._kept_rows(what)
                if kept.lock is not lock:  # refitted by another thread in between
                    continue
                if kept.state is not None:
                    kept.state.come_to_rest()
                return work(now, kept)

    def _kept_rows(self, what: str) -> KeptRows:
        """The kept rows; ``what``: the method that changes them, or "". Raises NotFittedError, ValueError."""
        check_is_fitted(self)
        if what:
            check_follows(self, what)
        kept: KeptRows | None = self.__dict__.get("_kept")
        if kept is None:
            raise ValueError(NO_ROWS)
        for name, value in kept.given.items():
            if not _same(getattr(self, name), value):
                raise ValueError(f"{name} was {value!r} in the training, and is {getattr(self, name)!r} now: fit again")
        return kept

    def _make_state(self, kept: KeptRows, observer: Observer) -> State:
        """Make a state from the rows and the model. Raises ParameterError, StoppedEarly."""
        given = getattr(self, "class_weight", None)
        weights: tuple[tuple[int, float], ...] = ()
        if given is not None and kept.labels is not None:
            if isinstance(given, str):  # balanced
                given = dict(zip(self.classes_.tolist(), self.class_weight_.tolist(), strict=True))
            codes = enumerate(kept.labels.tolist())
            weights = tuple((code, float(given[label])) for code, label in codes if label in given)
        return kept.make_state(self._fitted.model, weights, observer)

    def _keep(self, data: Any, sparse: bool) -> KeptRows:
        """KeptRows of a training."""
        labels = getattr(self, "classes_", None)
        given = {name: getattr(self, name) for name in FIXED if hasattr(self, name)}
        if isinstance(given.get("class_weight"), dict):  # a copy: the caller may change it
            given["class_weight"] = dict(given["class_weight"])
        if is_several(given.get("gamma")):
            given["gamma"] = np.array(given["gamma"])
        kept = KeptRows.of_training(data, labels, sparse, given)
        weights = given.get("class_weight")
        if isinstance(weights, dict) and labels is not None:  # also classes without rows yet
            kept.add_labels(list(weights))
        return kept

    def _refine_kept(self, kept: KeptRows, observer: Observer) -> None:
        """After ``fit``: refine to the exact optimum, within the time limit."""
        try:
            self._make_state(kept, observer)
        except StoppedEarly as stop:
            self.fit_status_ = 1
            warn_caller(f"The exact optimum was not reached: {stop.status}.", ConvergenceWarning)
            return
        self._show(kept, self._fitted.model)

    def _show(self, kept: KeptRows, trained: Model | None = None) -> None:
        """Set attributes and model from the state; ``trained``: the model it was just made from."""
        model = kept.model
        if trained is not None:
            model = as_trained(model, trained)
        elif kept.labels is not None:
            self.classes_ = kept.classes()[0]
            given = self.class_weight or {}
            self.class_weight_ = np.array([float(given.get(label, 1.0)) for label in self.classes_.tolist()])
        vectors: Any = np.empty((0, 0))
        if kept.next_id is None:
            vectors = model.support_vectors if kept.sparse else None
        elif self.n_features_in_ != kept.next_id:  # one column per row ever given
            self.n_features_in_ = kept.next_id
            vars(self).pop("feature_names_in_", None)
        self.row_ids_ = kept.ids
        self.support_ = self.row_ids_[np.asarray(model.row_numbers) - 1]
        self._read_off(model, vectors)
        self.shape_fit_ = (len(self.row_ids_), self.n_features_in_)
        self._tell_end(model)
        self._fitted = FittedModel(model)


class Shown:
    """Shown(estimator, labels): Keeper of a state that shows each version in the attributes of the estimator.

    ``labels``: class of each code.
    """

    def __init__(self, estimator: Any, labels: Any) -> None:
        self.estimator, self.labels = estimator, labels

    def version(self) -> Version | None:
        """The version that the estimator shows."""
        kept: KeptRows | None = vars(self.estimator).get("_kept")
        return None if kept is None else kept.version

    def keep(self, version: Version) -> None:
        """Set attributes, model and rows of the version in one assignment."""

        def show(made: Any) -> None:
            made._kept = made._kept.at(version, self.labels)
            made._show(made._kept)

        built_apart(self.estimator, show)


def check_follows(estimator: Any, what: str) -> None:
    """Raise ValueError if rows cannot be added or removed with these parameters."""
    check_not_called(estimator.kernel, what)
    if estimator._is_called:
        raise ValueError(f"{what}: libsvmx 0.3.0, which has fitted this, called {estimator.kernel!r}: fit again")
    if getattr(estimator, "probability", False):
        raise ValueError(
            f"{what} gives no probability estimates, which come from a cross-validation: leave out probability=True"
        )
    if isinstance(getattr(estimator, "class_weight", None), str):
        raise ValueError(
            f"{what} needs fixed class weights, which 'balanced' changes with every row: give "
            "compute_class_weight's as a dict"
        )


def _same(a: Any, b: Any) -> bool:
    """Whether a parameter is unchanged."""
    if is_several(a) or is_several(b):
        return is_several(a) and is_several(b) and bool(np.array_equal(a, b))
    return a is b or (type(a) is type(b) and bool(a == b)) or (isinstance(a, int | float) and a == b)
