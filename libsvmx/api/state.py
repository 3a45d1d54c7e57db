"""``State`` of the Python API: a trained model that rows of arrays can join and leave."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Self

from libsvmx._core.arrays import ramp, zeros
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train.checks import check_signs
from libsvmx._train.model import Model, columns_of
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.updating import state
from libsvmx._train.updating.from_model import completed, state_of_model
from libsvmx._train.updating.version import Version
from libsvmx._typing import FilePath, FloatArray, Ids
from libsvmx.api.arrays import (
    Fitted,
    as_matrix,
    check_width,
    decision_values,
    is_model,
    is_table,
    model_of,
    parameter_of,
    precomputed,
    predict,
    scaled,
    targets_of,
    tests_of,
    training_rows,
    weights_of,
)
from libsvmx.api.kernels import KernelRows, StateRows, call_on, called, with_all_values, without_named
from libsvmx.api.warned import early_stops_warned, warn_of_weights
from libsvmx.exceptions import DataError
from libsvmx.io.statefile import load_state, save_state

NO_ROWS = CsrMatrix(zeros("q", 1), zeros("i", 0), zeros("d", 0), copy=False)


class State(state.State):
    __doc__ = state.State.__doc__

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        self._known: StateRows | None = None  # of a kernel of the caller

    def with_kernel(self, known: KernelRows | None) -> Self:
        """The state itself, a new one, whose rows a kernel of the caller knows."""
        self._known = None if known is None else StateRows(known.copied(), self.ids)
        return self

    def copy(self) -> Self:
        with self._lock:
            own = super().copy()
            own._known = self._known
        return own

    copy.__doc__ = state.State.copy.__doc__
    __copy__ = copy

    @property
    def model(self) -> Model:
        """The model of the rows as they are, as a training on them in the order of ``ids`` would give it."""
        with self._lock:
            model = super().model
            return model if self._known is None else self._known.in_model(model)

    def tests(self, X: Any) -> CsrMatrix:
        """Rows to predict, with kernel values with all rows of the state where those are given, or a kernel of the
        caller has them; for this package.

        Raises DataError as ``predict``.
        """
        model, known = self.model, self._known
        if known is not None:
            return known.only(self.ids).tests(X, model.n_features)
        tests = tests_of(model, X)
        check_signs(tests, ramp(tests.n_rows), model.param.kernel_type)
        return tests

    @classmethod
    def from_model(
        cls,
        X: Any,
        y: Any,
        model: Model | Fitted,
        param: Parameter | None = None,
        *,
        sample_weight: Any = None,
        observer: Observer | None = None,
        **options: Any,
    ) -> Self:
        """The state of a model and the rows that it was trained on, without training.

        Support vectors are found among the rows by their features. Probability estimates are dropped.

        Parameters
        ----------
        X, y, sample_weight
            Training rows, as in ``train``.
        model : Model, or fitted estimator
            Of LIBSVM or libsvmx.
        param, **options
            As in ``train``; needed for a model file, which has neither C, weights, epsilon and nu nor tolerances. The
            kernel is the model's.
        observer : Observer
            As in ``train``.

        Returns
        -------
        State

        Raises
        ------
        DataError
            A support vector that is not among the rows, other labels, or coefficients that C and weights, or nu, do not
            allow.
        ParameterError
            A training without a state, or a kernel other than the model's.
        TypeError
            Not a Model (a State, for example).

        Examples
        --------
        >>> model = libsvmx.train(X, y, C=10, gamma=0.5)
        >>> state = libsvmx.State.from_model(X, y, model)
        >>> state.remove([0])
        >>> len(state.ids)
        59
        """
        model, known = model_of(model), None
        if model.own_kernel is not None:
            X, known, _ = called(X, {"kernel": model.own_kernel.given})
        options = without_named(options)
        if param is None and model.statuses:
            param = replace(model.param, probability=False)
        param = completed(parameter_of(param, options, X=X), model, options)
        matrix = training_rows(X, param, borrow=False)
        targets, row_weights = targets_of(y, matrix.n_rows), weights_of(sample_weight, matrix.n_rows)
        problem = Problem(matrix, targets, sample_weight=row_weights)
        warn_of_weights(param, targets)
        with call_on(problem, param, observer) as told:
            return state_of_model(with_all_values(problem, known, told), param, model, told, cls).with_kernel(known)

    @classmethod
    def load(cls, path: FilePath) -> Self:
        """Read a state written by ``save``; it is updated exactly as the saved one.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        State

        Raises
        ------
        OSError, FormatError

        Examples
        --------
        >>> state.save("half.state")
        >>> libsvmx.State.load("half.state").predict(X[50:53])
        array([ 1., -1., -1.])
        """
        return load_state(os.fspath(path), cls)

    def save(self, path: FilePath) -> None:
        """Write the state, with its rows, to a file of its own format, atomically.

        With your own kernel the file has kernel values: ``load`` returns the state of a precomputed kernel.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        OSError

        Examples
        --------
        >>> state.save("half.state")
        >>> libsvmx.State.load("half.state").model.n_sv == state.model.n_sv
        True
        """
        save_state(os.fspath(path), self)

    def add(self, X: Any, y: Any, *, sample_weight: Any = None, observer: Observer | None = None) -> Ids:
        """Add rows.

        Additional columns are new features; an array with fewer columns is refused, while a CsrMatrix and dicts have 0
        there. A new label makes a new class, which is trained against each other one.

        Parameters
        ----------
        X
            n rows, as in ``train``. With a precomputed kernel, a column for each row that was ever in the state, in the
            order of ids, then one for each new row; values with removed rows are not used. Or a CsrMatrix with rows
            0:serial 1:K(row,1) 2:K(row,2) …, with new serial numbers.
        y, sample_weight
            As in ``train``.
        observer : Observer
            As in ``train``.

        Returns
        -------
        ndarray of int64, shape (n,)
            Ids of the new rows.

        Raises
        ------
        DataError, ParameterError
            Invalid data, or nu of nu-SVC infeasible for all rows; the state is unchanged.

        Examples
        --------
        >>> state.add(X[50:], y[50:])
        array([50, 51, 52, 53, 54, 55, 56, 57, 58, 59])
        """
        return self.update(add=(X, y), sample_weight=sample_weight, observer=observer)

    def remove(self, ids: Iterable[int], *, observer: Observer | None = None) -> None:
        """Remove rows. A class goes with its last row; at least one row must remain.

        Parameters
        ----------
        ids : iterable of int
            Elements of ``state.ids``.
        observer : Observer
            As in ``train``.

        Raises
        ------
        DataError
            Unknown or repeated ids, or all ids; the state is unchanged.
        ParameterError
            nu of nu-SVC infeasible for the remaining rows; the state is unchanged.

        Examples
        --------
        >>> state.remove([3, 7])
        >>> state.ids[:8]
        array([0, 1, 2, 4, 5, 6, 8, 9])
        """
        self.update(remove=ids, observer=observer)

    def update(
        self,
        add: tuple[Any, Any] | None = None,
        remove: Iterable[int] = (),
        *,
        sample_weight: Any = None,
        observer: Observer | None = None,
    ) -> Ids:
        """Add and remove rows along one path.

        Parameters
        ----------
        add : (X, y)
            Rows to add, as in ``add``.
        remove : iterable of int
            Ids of the rows to remove.
        sample_weight
            Weights of the rows to add, as in ``train``.
        observer : Observer
            As in ``train``.

        Returns
        -------
        ndarray of int64
            Ids of the new rows.

        Raises
        ------
        DataError, ParameterError
            As in ``add`` and ``remove``; the state is unchanged.

        Examples
        --------
        >>> state.update(add=(X[50:52], y[50:52]), remove=[0, 1])
        array([50, 51])
        """
        if add is not None and not (isinstance(add, tuple | list) and len(add) == 2):
            raise DataError("add must be a pair (X, y)")
        with early_stops_warned(observer) as told, self._lock:  # nobody else takes the next ids
            matrix = self._joining(self._at_rest(), add[0]) if add is not None else NO_ROWS
            targets = targets_of(add[1], matrix.n_rows) if add is not None else zeros("d", 0)
            row_weights = weights_of(sample_weight, matrix.n_rows)
            return self.change(matrix, targets, remove, told, row_weights)

    def _joining(self, version: Version, X: Any) -> CsrMatrix:
        """Rows that join, an array of which has no fewer columns than those that are there; of a precomputed kernel it
        has one for each row that ever was there, and for each that joins. Raises DataError."""
        if self._known is not None:
            # rows that are kept beyond those of the version are not looked at: of a change that fails they leave here
            self._known, values = self._known.only(version.ids).joined(X, version.next_id)
            return precomputed(values, version.next_id + 1)
        if version.table is None or isinstance(X, CsrMatrix):
            matrix, there = as_matrix(X), version.problem.matrix
            if is_table(X) and matrix.n_rows and matrix.n_columns < there.n_columns:
                check_width(matrix.n_columns, there.n_columns)
            return scaled(matrix, X, version.param, there.first_index)
        rows = precomputed(X, version.next_id + 1)
        ever, m = version.next_id, rows.n_rows
        given, known = (columns_of(matrix, version.param) for matrix in (rows, version.problem.matrix))
        if m and given not in (ever + m, max(known, ever + m)):
            raise DataError(
                f"rows that join need {ever + m} kernel values each, not {given}: with the {ever} rows that ever were "
                f"in the state, in the order of their ids, and with the {m} that join"
            )
        return rows

    def set_cost(self, C: float, observer: Observer | None = None) -> None:
        with early_stops_warned(observer) as told:
            super().set_cost(C, told)

    set_cost.__doc__ = state.State.set_cost.__doc__

    def set_nu(self, nu: float, observer: Observer | None = None) -> None:
        with early_stops_warned(observer) as told:
            super().set_nu(nu, told)

    set_nu.__doc__ = state.State.set_nu.__doc__

    def predict(self, X: Any, *, threads: int = 0) -> FloatArray:
        """As ``libsvmx.predict(state.model, X, threads=threads)``.

        Parameters
        ----------
        X, threads
            As in ``libsvmx.predict``; with a precomputed kernel X has a column for each row that was ever in the state.

        Returns
        -------
        ndarray of float64, shape (n,)

        Raises
        ------
        DataError, ParameterError

        Examples
        --------
        >>> state.predict(X[50:53])
        array([ 1., -1., -1.])
        """
        return predict(self.model, X, threads=threads)

    def decision_values(self, X: Any, *, threads: int = 0) -> FloatArray:
        """As ``libsvmx.decision_values(state.model, X, threads=threads)``.

        Parameters
        ----------
        X, threads
            As in ``predict``.

        Returns
        -------
        ndarray of float64, shape (n, n_functions)

        Raises
        ------
        DataError, ParameterError

        Examples
        --------
        >>> state.decision_values(X[50:53]).shape
        (3, 1)
        """
        return decision_values(self.model, X, threads=threads)


def check_state(given: Any) -> None:
    """Raise TypeError unless it is a State."""
    if not isinstance(given, State):
        of_model = ", or State.from_model(X, y, model)" if is_model(given) else ""
        raise TypeError(f"a State is needed, train(..., keep_state=True){of_model}, not a {type(given).__name__}")
