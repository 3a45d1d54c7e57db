"""``State`` of the Python API: a trained model that rows of arrays can join and leave."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._arrays import as_matrix, decision_values, predict
from libsvmx._train import update
from libsvmx._train.observer import Observer
from libsvmx.exceptions import DataError

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray, Ids


class State(update.State):
    __doc__ = update.State.__doc__

    def add(self, X: Any, y: Any, *, observer: Observer | None = None) -> Ids:
        """Rows join; X and y as of ``train``. Their ids: ndarray of int64, shape (number of rows,).

        A label that is new makes a new class, which is trained against each of the others.

        Raises
        ------
        DataError, ParameterError      the state stays as it was
        """
        return self.update(add=(X, y), observer=observer)

    def remove(self, ids: Iterable[int], *, observer: Observer | None = None) -> None:
        """Rows leave. With its last row a class is gone; one row at least must stay.

        Raises
        ------
        DataError        an id that is unknown, or given twice, or all ids; the state stays as it was
        """
        self.update(remove=ids, observer=observer)

    def update(
        self, add: tuple[Any, Any] | None = None, remove: Iterable[int] = (), *, observer: Observer | None = None
    ) -> Ids:
        """Rows ``add = (X, y)`` join and rows ``remove`` leave along one path; the ids of those that join.

        Raises
        ------
        DataError, ParameterError      the state stays as it was
        """
        X, y = add if add is not None else (np.zeros((0, 0)), np.zeros(0))
        matrix = as_matrix(X)
        targets = np.ascontiguousarray(y, dtype=np.float64)
        if targets.shape != (matrix.n_rows,):
            raise DataError(f"X has {matrix.n_rows} rows, but y has shape {targets.shape}")
        return self.change(matrix, targets.data, remove, observer or Observer())

    def predict(self, X: Any) -> FloatArray:
        """As ``libsvmx.predict(state.model, X)``."""
        return predict(self.model, X)

    def decision_values(self, X: Any) -> FloatArray:
        """As ``libsvmx.decision_values(state.model, X)``."""
        return decision_values(self.model, X)
