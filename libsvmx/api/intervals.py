"""Intervals of targets and sets of labels that hold with a stated probability: jackknife+, CV+, full conformal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, overload

import numpy as np

from libsvmx._core.threads import thread_count
from libsvmx._solvers.solver import converted
from libsvmx._train.conformal import class_numbers, class_scores, interval_ends, own_scores, p_values, rank_of
from libsvmx._train.limits import ask, limited
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._train.updating.full_conformal import ClassTrials, TargetTrials
from libsvmx._train.updating.influence import left_out
from libsvmx._train.updating.joined import each_joining
from libsvmx._train.validation.fold_values import fold_values
from libsvmx._train.zero_weights import rows_of_state
from libsvmx._typing import FloatArray, Ids, IntArray
from libsvmx.api.arrays import (
    folds_of,
    new_rows,
    parameter_of,
    problem_of,
    rand_of,
    targets_of,
    threads_of,
    values_of_tests,
)
from libsvmx.api.kernels import call_on, called
from libsvmx.api.state import State, check_state
from libsvmx.api.training import train
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError, ParameterError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Intervals:
    """Prediction intervals for the targets of m new rows.

    Attributes
    ----------
    lower, upper : ndarray of float64, shape (m,)
        Ends, which belong to the interval; -inf and inf with fewer than 1 / alpha - 1 rows.
    alpha : float
        As given.
    """

    lower: FloatArray
    upper: FloatArray
    alpha: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelSets:
    """Label sets of m new rows.

    Attributes
    ----------
    labels : ndarray of int32, shape (k,)
        Classes.
    p_values : ndarray of float64, shape (m, k)
        p-value of each class for each row, a multiple of 1 / (n + 1).
    alpha : float
        As given.
    """

    labels: IntArray
    p_values: FloatArray
    alpha: float

    @property
    def contains(self) -> Any:
        """Whether each label is in the set of each row, p > alpha: ndarray of bool, shape (m, k)."""
        return self.p_values > self.alpha


@overload
def jackknife_plus(
    state: State, X: Any, alpha: float = 0.1, *, threads: int = 0, observer: Observer | None = None
) -> Intervals | LabelSets: ...
@overload
def jackknife_plus(
    X: Any,
    y: Any,
    X_new: Any,
    alpha: float = 0.1,
    param: Parameter | None = None,
    *,
    threads: int = 0,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Intervals | LabelSets: ...
def jackknife_plus(*args: Any, **options: Any) -> Intervals | LabelSets:
    """Intervals of regressions without nu, or label sets of C-SVC, from exact leave-one-out.

    If the rows of the state and a new one are exchangeable (independent draws from one distribution are), the target of
    the new one is in its interval, its label in its set, with probability at least 1 - 2 alpha, whatever the
    distribution; as a rule it is about 1 - alpha (Barber, Candès, Ramdas & Tibshirani, *Predictive inference with the
    jackknife+*, Annals of Statistics 49(1), 2021, theorem 1; for classes the jackknife+ of Romano, Sesia & Candès,
    *Classification with valid and adaptive coverage*, NeurIPS 2020, with the score below).

    With f_i the optimum without row i, R_i = |y_i - f_i(x_i)| and k = floor(alpha (n + 1)), the interval (eq. 1.2) is

        [k-th smallest of f_i(x) - R_i,  k-th largest of f_i(x) + R_i]

    A label is in the set if its p-value, (1 + number of rows i whose score is at least that of the new row with this
    label by f_i) / (n + 1), is above alpha. The score of a row with a label is minus the least decision value for that
    label against another one. Each row that the optimum depends on leaves along the exact path, once for all new rows.
    C and gamma must not have been chosen by the targets of these rows.

    ``jackknife_plus(state, X, alpha)`` uses the rows of a state; ``jackknife_plus(X, y, X_new, alpha, param,
    **options)`` trains one, as ``train`` does, and drops it.

    Parameters
    ----------
    state : State
        From ``train(..., keep_state=True)``, C-SVC or a regression without nu; it is not changed.
    X
        m new rows, as in ``predict``; without a state, rows to train on, with targets or labels y.
    X_new
        Without a state: m new rows, as in ``predict``.
    alpha : float
        Miscoverage level, 0 < alpha < 1.
    threads : int
        As in ``predict``; results do not depend on it.
    observer : Observer
        Told of each row; can stop the call.

    Returns
    -------
    Intervals or LabelSets
        LabelSets for C-SVC.

    Raises
    ------
    TypeError
        Not a State (a Model, for example).
    ParameterError
        Alpha; one-class; rows that do not count alike; an optimum that cannot be followed.
    DataError
        Rows as in ``predict``; a state of one class.
    TooLittleMemory
        Of s rows that the optimum rests on, 8 s m n_functions bytes.
    StoppedEarly
        ``time_limit`` of the state's parameters, for this call and a training before it, or the observer has ended it.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] - X[:, 1]
    >>> found = libsvmx.jackknife_plus(X, y, X[:3], 0.2, svm_type="epsilon_svr", C=10)
    >>> bool((found.lower < found.upper).all())
    True
    """
    new = args[2] if len(args) > 2 else options.get("X_new")
    of_one = "state" in options or new is None or (bool(args) and isinstance(args[0], State)) or isinstance(new, Real)
    return of_state(*args, **options) if of_one else of_rows(*args, **options)


def of_rows(
    X: Any,
    y: Any,
    X_new: Any,
    alpha: float = 0.1,
    param: Parameter | None = None,
    *,
    threads: int = 0,
    observer: Observer | None = None,
    **options: Any,
) -> Intervals | LabelSets:
    """``jackknife_plus`` with a state trained on X, y."""
    alpha = alpha_of(alpha)
    state = train(X, y, param, keep_state=True, threads=threads, observer=observer, **options)
    return of_state(state, X_new, alpha, threads=threads, observer=observer)


def of_state(
    state: State, X: Any, alpha: float = 0.1, *, threads: int = 0, observer: Observer | None = None
) -> Intervals | LabelSets:
    """``jackknife_plus`` of a given state."""
    alpha, state, most = alpha_of(alpha), own_copy(state), threads_of(threads)
    observer = limited(observer or Observer(), state.param.time_limit)
    tests = state.tests(X)
    base = values_of_tests(state.model, tests, most)
    rows, changes, own = left_out(state, tests, thread_count(most), observer, "jackknife_plus")
    group = np.zeros(len(state), dtype=np.int64)
    group[rows] = 1 + np.arange(len(rows))
    with errors_of_a_path("jackknife_plus has no result"):
        if state.param.svm_type.is_regression:

            def table_of(part: slice) -> FloatArray:
                return np.concatenate([base[part].T, base[part].T + changes[:, part, 0]])

            return intervals_of(table_of, len(base), group, own, state.targets, alpha, observer)

        def values_of(g: int) -> FloatArray:
            return base + changes[g - 1] if g else base

        return sets_of(values_of, group, own, state.targets, state.model.class_labels or (), alpha, observer)


def cv_plus(
    X: Any,
    y: Any,
    X_new: Any,
    k: int | None = None,
    alpha: float = 0.1,
    param: Parameter | None = None,
    *,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Intervals | LabelSets:
    """Intervals of a regression, or label sets of a classification, from cross-validation.

    As ``jackknife_plus`` with the models of k folds in the place of those without a row; folds and left-out values are
    those of ``cross_validate(X, y, k)``. If rows are exchangeable, the target or label is covered with probability at
    least 1 - 2 alpha - min(2 (1 - 1/k) / (n/k + 1), (1 - k/n) / (k + 1)), as a rule about 1 - alpha (Barber et al.
    2021, theorem 4, for folds of equal size; for classes Romano, Sesia & Candès 2020, whose folds are not stratified).

    Parameters
    ----------
    X, y
        n rows, as in ``train``, and labels or targets.
    X_new
        m new rows, as in ``predict``; with a precomputed kernel K(new row, row), shape (m, n).
    k : int
        Number of folds, 10 by default; ``n_folds`` and ``cv`` are synonyms.
    alpha : float
        Miscoverage level, 0 < alpha < 1.
    param, random_state, observer, **options
        As in ``cross_validate``; any formulation but one-class.

    Returns
    -------
    Intervals or LabelSets
        LabelSets in classification.

    Raises
    ------
    ParameterError, DataError
        As in ``cross_validate``, and alpha; labels that are all the same.
    TooLittleMemory
        For 8 k m n_functions bytes.
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] - X[:, 1]
    >>> found = libsvmx.cv_plus(X, y, X[:3], 10, 0.2, svm_type="epsilon_svr", C=10)
    >>> bool((found.lower < found.upper).all())
    True
    """
    X, known, options = called(X, options)
    k = folds_of(k, options, 10, "k")
    alpha, param = alpha_of(alpha), parameter_of(param, options, random_state, X)
    check_kind(param)
    if param.probability:
        raise ParameterError("cv_plus does not use probability estimates: leave out probability")
    problem, param = problem_of(X, y, param)
    tests = new_rows(X_new if known is None else known.values(X_new), param, problem.matrix)
    with call_on(problem, param, observer) as told:
        found = fold_values(problem, param, k, rand_of(random_state), told, tests)
        targets = np.asarray(problem.targets)
        with errors_of_a_path("cv_plus has no result"):
            if param.svm_type.is_regression:
                table, m = found.new[:, :, 0], tests.n_rows
                return intervals_of(lambda part: table[:, part], m, found.fold_of, found.own, targets, alpha, told)
            return sets_of(found.new.__getitem__, found.fold_of, found.own, targets, tuple(found.labels), alpha, told)


def full_conformal(
    state: State, X: Any, alpha: float = 0.1, *, threads: int = 0, observer: Observer | None = None
) -> Intervals | LabelSets:
    """Intervals of regressions without nu, or label sets of C-SVC, by full conformal prediction.

    If the rows of the state and a new one are exchangeable, the target of the new one is in its interval, its label in
    its set, with probability at least 1 - alpha, whatever the distribution (Vovk, Gammerman & Shafer, *Algorithmic
    learning in a random world*, 2005, chapter 2). A candidate is in the set if p > alpha, as of
    ``conformal_p_values``. For each the new row joins along the exact path, and is removed again.

    Every label is tried. All targets are covered exactly: once the coefficient of the new row is at its bound, its
    target has no further effect. The interval is the smallest that contains the set, except if so few rows (about
    alpha of them) are on or outside the tube that its end lies among targets that still move the optimum: that end is
    found among 16 candidates, then by bisection, and targets between two candidates may be missed.

    Parameters
    ----------
    state, X, alpha, threads, observer
        As in ``jackknife_plus``. There is a path for each pair of classes of each label of each of the m rows, 2 or
        more for each row of regression.

    Returns
    -------
    Intervals or LabelSets
        LabelSets for C-SVC.

    Raises
    ------
    TypeError, ParameterError, DataError, StoppedEarly
        As in ``jackknife_plus``.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> state = libsvmx.train(X, y, C=10, gamma=0.5, keep_state=True)
    >>> libsvmx.full_conformal(state, [[2.0, 2.0]], 0.1).contains
    array([[ True,  True]])
    """
    alpha, state, most = alpha_of(alpha), own_copy(state), threads_of(threads)
    observer = limited(observer or Observer(), state.param.time_limit)
    tests = state.tests(X)
    call = (state, tests, thread_count(most), observer)
    if not state.param.svm_type.is_regression:
        labels = ClassTrials(state)
        counts = np.array(list(each_joining(*call, labels.counts, "full_conformal"))).reshape(-1, len(labels.labels))
        share = (1 + counts) / (len(state) + 1)
        return LabelSets(labels=np.array(labels.labels, dtype=np.int32), p_values=share, alpha=alpha)
    ends, k = np.tile([-np.inf, np.inf], (tests.n_rows, 1)), rank_of(alpha, len(state))
    if k:
        base, targets = values_of_tests(state.model, tests, most)[:, 0].tolist(), TargetTrials(state, k)
        found = each_joining(*call, lambda joiner, t: targets.ends(joiner, t, base[t]), "full_conformal")
        ends[:] = np.array(list(found)).reshape(-1, 2)
        if (ends[:, 0] > ends[:, 1]).any():
            raise ParameterError(
                "full_conformal has no result: an interval ends before it begins, as the optimum is not the only one; "
                "the kernel is not positive semidefinite"
            )
    return Intervals(lower=ends[:, 0].copy(), upper=ends[:, 1].copy(), alpha=alpha)


def conformal_p_values(
    state: State, X: Any, y: Any, *, threads: int = 0, observer: Observer | None = None
) -> FloatArray:
    """Conformal p-values: how well each of m rows, with its label or target, conforms to the rows of a state.

    p = (1 + number of rows of the state whose score is at least that of the new row) / (n + 1), with the optimum of all
    n + 1 rows, which it joins along the exact path and leaves again. The score of a row is |y - f(x)| in regression,
    and minus the smallest decision value for its label against another one in classification. If the rows of the state
    and the new one are exchangeable, p <= alpha has probability at most alpha. Scores that differ by less than 1e-9 of
    their scale count as equal, as on the margin.

    Parameters
    ----------
    state, X, threads, observer
        As in ``full_conformal``.
    y : array of float, shape (m,)
        Label that the state has, or target, of each row.

    Returns
    -------
    ndarray of float64, shape (m,)

    Raises
    ------
    TypeError, ParameterError, DataError, StoppedEarly
        As in ``full_conformal``, and a label that the state does not have, or a target that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> state = libsvmx.train(X, y, C=10, gamma=0.5, keep_state=True)
    >>> libsvmx.conformal_p_values(state, [[2.0, 2.0], [2.0, 2.0]], [1, -1]).round(3)
    array([0.23 , 0.246])
    """
    state, most = own_copy(state), threads_of(threads)
    observer = limited(observer or Observer(), state.param.time_limit)
    tests = state.tests(X)
    wanted = np.asarray(targets_of(y, tests.n_rows))
    regression = state.param.svm_type.is_regression
    bad = ~np.isfinite(wanted) if regression else ~np.isin(wanted, state.model.class_labels or ())
    for row in np.flatnonzero(bad).tolist():
        what = "target {:g} is not finite" if regression else "label {:g} is not one of the state's"
        raise DataError(f"the {what.format(wanted[row])}", row)
    trials = TargetTrials(state) if regression else ClassTrials(state)
    counts = each_joining(
        state,
        tests,
        thread_count(most),
        observer,
        lambda joiner, t: trials.count(joiner, t, float(wanted[t])),
        "conformal_p_values",
    )
    return (1.0 + np.array(list(counts), dtype=np.float64)) / (len(state) + 1)


# ---- shared --------------------------------------------------------------------------------------


def alpha_of(alpha: Any) -> float:
    """The miscoverage level. Raises ParameterError."""
    share: float = converted("alpha", alpha, float)
    if not 0 < share < 1:
        raise ParameterError(f"alpha must be between 0 and 1, not {alpha}")
    return share


def check_kind(param: Parameter) -> None:
    """Raise ParameterError for a formulation that predicts neither targets nor labels."""
    if param.svm_type == SvmType.ONE_CLASS:
        raise ParameterError("one-class predicts neither targets nor labels: there is nothing to cover")


def own_copy(state: Any) -> State:
    """A copy of a state whose rows all have weight 1. Raises TypeError, ParameterError, DataError."""
    check_state(state)
    check_kind(state.param)
    if state.param.svm_type.groups > 1:
        raise ParameterError(
            "in nu-SVC and nu-SVR the sums of coefficients depend on the number of rows: "
            "states of these formulations have no intervals and no p-values"
        )
    own: State = state.copy()
    if (own.sample_weight != 1).any() or len(rows_of_state(own.problem, own.param)) < len(own):
        raise ParameterError(
            "rows are exchangeable only if they count alike: train without sample_weight, and without "
            "a class of weight 0"
        )
    if own.model.class_labels is not None and len(own.model.class_labels) < 2:
        raise DataError("a state of one class has no decision function")
    return own


def intervals_of(
    table_of: Callable[[slice], FloatArray],
    m: int,
    group: Ids,
    own: FloatArray,
    targets: FloatArray,
    alpha: float,
    observer: Observer,
) -> Intervals:
    """Intervals; arguments as in ``interval_ends``; ``own``: left-out values, shape (n, 1). Raises Stopped."""
    residuals = np.abs(targets - own[:, 0])
    lower, upper = interval_ends(table_of, m, group, residuals, alpha, partial(ask, observer))
    return Intervals(lower=lower, upper=upper, alpha=alpha)


def sets_of(
    values_of: Callable[[int], FloatArray],
    group: Ids,
    own: FloatArray,
    targets: FloatArray,
    labels: Sequence[int],
    alpha: float,
    observer: Observer,
) -> LabelSets:
    """Label sets of decision values: ``values_of(g)`` those of the new rows by the model of a group, shape (m,
    n_functions); ``own`` those of each row by that of its group, shape (n, n_functions). Raises Stopped, DataError."""
    if len(labels) < 2:
        raise DataError("all rows are of one class, but at least two classes are needed")
    k = len(labels)
    scores = own_scores(own, k, class_numbers(labels, targets))
    found = p_values(lambda g: class_scores(values_of(g), k), group, scores, partial(ask, observer))
    return LabelSets(labels=np.array(labels, dtype=np.int32), p_values=found, alpha=alpha)
