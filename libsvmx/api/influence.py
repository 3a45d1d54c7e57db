"""What each training row does to the loss on validation rows: it leaves along the exact path, and is put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.threads import thread_count
from libsvmx._train.limits import ask, limited
from libsvmx._train.observer import Observer
from libsvmx._train.prediction import labels_of
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._train.updating.influence import NO_RESULT, left_out
from libsvmx.api.arrays import targets_of, threads_of, values_of_tests
from libsvmx.api.state import State, check_state
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from libsvmx._train.model import Model
    from libsvmx._typing import FloatArray, Ids


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """What each row of a state does to validation rows: the exact optimum without the row against that with it.

    Attributes
    ----------
    loss : ndarray of float64, shape (n,)      validation loss without each row of the state, minus ``base_loss``: > 0
        where the row helps, < 0 where it harms, 0 where the optimum does not rest on it; nan where it is all of its
        class
    base_loss : float                          validation loss of the state as it is
    rows : ndarray of int64, shape (s,)        positions of the rows that the optimum rests on, ascending
    decision_values : ndarray of float64, shape (s, m), or (s, m, n_functions) where the model has several functions
        how the decision values of the m validation rows change without each of ``rows``; without another they stay
    ids : ndarray of int64, shape (n,)         ids of the rows of the state
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
    decremental support vector machine learning*, NIPS 2000) and is put back: what ``state.remove`` would do to the
    loss, not an approximation of it. A row without a coefficient has influence 0 and needs no path, but
    in one-class, where the sum of the coefficients depends on the number of rows. The state stays as it is.

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
    state : State                a ``train(..., keep_state=True)``
    X, y : as of ``train``       m validation rows, and their labels, targets, or +1 and -1 for one-class
    loss : str                   a name from the table; '' for the default
    threads : int                as of ``predict``; nothing depends on it
    observer : Observer          is told of rows, and asked whether to stop

    Raises
    ------
    TypeError           no State, but a Model, say
    ParameterError      another loss, or an optimum that cannot be followed
    DataError           rows as of ``predict``; no row; a label that the state does not have, or a target that is not
        finite; a state of one class
    TooLittleMemory     ``decision_values`` are 8 s m n_functions bytes
    StoppedEarly        ``time_limit`` of the state's parameters, for this call, or the observer has ended it

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
