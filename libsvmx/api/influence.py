"""What each training row does to the loss on validation rows: it leaves along the exact path, and is put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from libsvmx._core.threads import thread_count
from libsvmx._train.limits import ask, limited
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.prediction import labels_of
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._train.updating.influence import NO_RESULT, left_out
from libsvmx._typing import FloatArray, Ids
from libsvmx.api.arrays import targets_of, threads_of, values_of_tests
from libsvmx.api.state import State, check_state
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """Influence of each row of a state on validation rows: the exact optimum without the row against that with it.

    Attributes
    ----------
    loss : ndarray of float64, shape (n,)
        Validation loss without each row of the state, minus ``base_loss``: > 0 if the row helps, < 0 if it harms, 0 if
        the optimum does not depend on it; nan for the only row of a class.
    base_loss : float
        Validation loss of the state.
    rows : ndarray of int64, shape (s,)
        Positions of the rows that the optimum depends on, ascending.
    decision_values : ndarray of float64, shape (s, m), or (s, m, n_functions) if the model has several functions
        Change of the decision values of the m validation rows without each of ``rows``; without other rows there is
        none.
    ids : ndarray of int64, shape (n,)
        Ids of the rows of the state.
    """

    loss: FloatArray
    base_loss: float
    rows: Ids
    decision_values: FloatArray
    ids: Ids


def influence(
    state: State, X: Any, y: Any, *, loss: str = "", threads: int = 0, observer: Observer | None = None
) -> Influence:
    """The exact influence of each row of a state on validation rows, by leaving it out.

    Each row in turn leaves along the path to the optimum of the others (Cauwenberghs & Poggio, *Incremental and
    decremental support vector machine learning*, NIPS 2000) and is put back: the exact effect of ``state.remove`` on
    the loss. A row without a coefficient has influence 0 and needs no path, except in one-class, where the sum of the
    coefficients depends on the number of rows. The state is not changed.

    Losses, means over the m validation rows with decision values f:

    ========= =================================================== ================================
    'hinge'   max(0, 1 - s f), s = +1 for the first class, else   C-SVC, the default
              -1; of several classes the mean of this over the
              pairs that the row's class is in
    'error'   1 where the prediction is not y, else 0             C-SVC; one-class, the default
    'squared' (f - y)^2                                           epsilon-SVR, the default;
                                                                  quantile regression
    'pinball' tau (y - f) where it is > 0, else (1 - tau) (f - y) quantile regression, the default
    ========= =================================================== ================================

    Parameters
    ----------
    state : State
        From ``train(..., keep_state=True)``.
    X, y
        m validation rows, as in ``train``, and their labels, targets, or +1 and -1 for one-class.
    loss : str
        A name of the table; '' is the default.
    threads : int
        As in ``predict``; results do not depend on it.
    observer : Observer
        Told of each row; can stop the call.

    Returns
    -------
    Influence

    Raises
    ------
    TypeError
        Not a State (a Model, for example).
    ParameterError
        Unknown loss, or an optimum that cannot be followed.
    DataError
        As in ``predict``; no rows; a label that the state does not have, or a target that is not finite; a state of one
        class.
    TooLittleMemory
        For ``decision_values``, 8 s m n_functions bytes.
    StoppedEarly
        ``time_limit`` of the state's parameters or the observer ended it.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> state = libsvmx.train(X, y, C=10, gamma=0.5, keep_state=True)
    >>> found = libsvmx.influence(state, X[:10], y[:10])
    >>> int(found.loss.argmax()) in found.rows, found.decision_values.shape == (len(found.rows), 10)
    (True, True)
    """
    check_state(state)
    most, state = threads_of(threads), state.copy()
    observer = limited(observer or Observer(), state.param.time_limit)
    model = state.model
    tests = state.tests(X)
    loss_of = loss_function(model, np.asarray(targets_of(y, tests.n_rows)), loss)
    base = values_of_tests(model, tests, most)
    rows, changes, _ = left_out(state, tests, thread_count(most), observer, "influence")
    base_loss, ids = loss_of(base), state.ids
    found = np.zeros(len(ids))
    with errors_of_a_path(NO_RESULT.format("influence")):
        for row, change in zip(rows, changes, strict=True):
            ask(observer)
            found[row] = loss_of(base + change) - base_loss
    return Influence(found, base_loss, rows, changes[:, :, 0] if base.shape[1] == 1 else changes, ids)


# ---- losses ------------------------------------------------------------------------------------


def loss_function(model: Model, y: FloatArray, name: str) -> Callable[[FloatArray], float]:
    """The loss of decision values, shape (m, n_functions), against y; nan if one of them is.

    Raises ParameterError, DataError.
    """
    kind = model.param.svm_type
    tau = model.param.quantile
    known = (
        [*(["pinball"] if tau is not None else []), "squared"]
        if kind.is_regression
        else ["error"]
        if kind == SvmType.ONE_CLASS
        else ["hinge", "error"]
    )
    if not isinstance(name, str) or name not in ("", *known):
        raise ParameterError(f"loss of {kind.name} must be {' or '.join(known)}, not {name!r}")
    if not len(y):
        raise DataError("there are no validation rows")
    if kind.is_regression:
        for row in np.flatnonzero(~np.isfinite(y)).tolist():
            raise DataError(f"the target {y[row]:g} is not finite", row)
        if tau is not None and name != "squared":
            return lambda values: float(np.mean(np.maximum(tau * (y - values[:, 0]), (tau - 1) * (y - values[:, 0]))))
        return lambda values: float(np.mean((values[:, 0] - y) ** 2))
    labels = model.class_labels or (1, -1)
    if len(labels) < 2:
        raise DataError("a state of one class has no decision function")
    for row in np.flatnonzero(~np.isin(y, labels)).tolist():
        raise DataError(f"the label {y[row]:g} is not one of the state's", row)
    if (name or known[0]) == "hinge":
        signs = np.column_stack(
            [(y == labels[i]) * 1.0 - (y == labels[j]) for i in range(len(labels)) for j in range(i + 1, len(labels))]
        )
        return lambda values: hinge(values, signs)
    return lambda values: error(model, values, y)


def hinge(values: FloatArray, signs: FloatArray) -> float:
    """Mean of max(0, 1 - s f) over the pairs of each row's class, whose ``signs`` are not 0, and over rows."""
    own = np.where(signs != 0, np.maximum(0.0, 1.0 - signs * values), 0.0)
    return float(np.mean(own.sum(axis=1) / (signs != 0).sum(axis=1)))


def error(model: Model, values: FloatArray, y: FloatArray) -> float:
    """Share of the rows that are not predicted as y."""
    if np.isnan(values).any():
        return float("nan")
    predicted = labels_of(model.param, model.class_labels or (), np.ascontiguousarray(values).reshape(-1).data, len(y))
    return float(np.mean(np.asarray(predicted) != y))
