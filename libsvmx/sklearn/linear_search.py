"""LinearSVCCV and LinearSVRCV: C chosen by cross-validation within one fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.copy_and_swap import at_once
from libsvmx._core.machine import machine
from libsvmx._core.stopping import Token
from libsvmx._core.threads import in_order
from libsvmx._train.parameter import MAX_THREADS
from libsvmx._typing import FloatArray
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import warn_caller
from libsvmx.sklearn.linear import (
    CLASS_WEIGHTS,
    HINGE_LOSSES,
    TUBE_LOSSES,
    LinearSVC,
    LinearSVR,
    MethodParameters,
    feature_rows,
)
from libsvmx.sklearn.parameters import NOT_NEGATIVE, parameter, with_parameters
from libsvmx.sklearn.search import BaseSearch, ClassifierSearch
from libsvmx.sklearn.search_folds import FoldSearch


class LinearSearch(FoldSearch):
    """The search of LinearSVCCV and LinearSVRCV: a thread trains each C on a fold, and the folds share the rows."""

    def run(self) -> None:
        self.rows = feature_rows(self.X)
        asking = Token()
        with one_blas_thread():  # sums would depend on the number of BLAS threads
            jobs = [(f, asking) for f in range(len(self.folds))]
            self.take_all(in_order(self.column_of, jobs, min(self.n_jobs, MAX_THREADS), asking), len(jobs))
        if self.unfinished:
            warn_caller("Solver terminated early at some points of the search.", ConvergenceWarning)

    def column_of(self, f: int, asking: Token) -> None:
        """Score every C on fold ``f``."""
        fold, estimator = self.folds[f], clone(self.estimator)
        weights = None if self.row_weights is None else self.row_weights[fold.rows]
        training = estimator._training(self.rows, self.y, fold.rows.astype(np.int64), weights)
        starts: list[FloatArray | None] = [None] * len(training.functions)
        before = 0.0
        estimator.n_features_in_ = self.X.shape[1]
        tests, own = self.X[fold.test], {} if fold.weights is None else {"sample_weight": fold.weights}
        for c in np.argsort(self.costs, kind="stable"):
            begun, C = machine.perf_counter(), self.costs[c]
            solutions = [
                training.solve(k, C, asking, None if start is None else start * (C / before))
                for k, start in enumerate(starts)
            ]
            starts, before = [solution.beta for solution in solutions], C
            self.unfinished |= any(solution.status != SolveStatus.CONVERGED for solution in solutions)
            estimator._show(solutions)
            trained = machine.perf_counter()
            scorer = self.scorer or type(estimator).score
            self.scores.score[c, f] = scorer(estimator, tests, fold.targets, **own)
            self.scores.fit_time[c, f] = trained - begun
            self.scores.score_time[c, f] = machine.perf_counter() - trained


class BaseLinearSearch(BaseSearch, MethodParameters):
    """Base class of LinearSVCCV and LinearSVRCV."""

    _search = LinearSearch
    kernel = "linear"

    @property
    def n_iter_(self) -> int:
        return at_once(self).best_estimator_.n_iter_

    def _costs(self) -> list[float]:
        costs = super()._costs()
        if not np.isfinite(costs).all():  # no hard margin, unlike SVC and SVR
            raise ValueError(f"Cs must be finite numbers, not {costs}")
        return costs


@with_parameters
class LinearSVCCV(ClassifierSearch, BaseLinearSearch):
    """``LinearSVC`` whose C is chosen by cross-validation.

    Results are those of ``GridSearchCV(LinearSVC(), {"C": Cs}, cv=cv).fit(X, y)``, except for rows whose decision value
    is within the tolerance of 0. Folds share the rows, and each training starts from the one with the next smaller C.

    Parameters
    ----------
    Cs, cv, scoring, refit, n_jobs
        As in ``SVCCV``.
    loss, tol, fit_intercept, intercept_scaling, class_weight, max_iter
        As in ``LinearSVC``.

    Attributes
    ----------
    C_, best_score_, best_index_, best_params_, cv_results_, Cs_, classes_, n_splits_, scorer_, refit_time_
        As in ``SVCCV``.
    best_estimator_ : LinearSVC
        Best model, trained on all rows; only with ``refit``.
    n_iter_ : int
        Iterations of ``best_estimator_``; only with ``refit``.
    n_features_in_, feature_names_in_
        As in ``SVC``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from libsvmx import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = LinearSVCCV(Cs=[0.1, 1, 10]).fit(X, y)
    >>> search.C_, round(search.best_score_, 2)
    (10.0, 0.97)
    """

    _kind = LinearSVC

    loss: str = parameter(default="squared_hinge", allowed=HINGE_LOSSES)
    class_weight: Any = parameter(default=None, allowed=CLASS_WEIGHTS)


@with_parameters
class LinearSVRCV(RegressorMixin, BaseLinearSearch):
    """``LinearSVR`` whose C is chosen by cross-validation, as in ``LinearSVCCV``.

    Parameters
    ----------
    Cs, cv, scoring, refit, n_jobs
        As in ``SVRCV``.
    epsilon, loss, tol, fit_intercept, intercept_scaling, max_iter
        As in ``LinearSVR``.

    Attributes
    ----------
    C_, best_score_, best_index_, best_params_, cv_results_, Cs_
        As in ``LinearSVCCV``.
    n_iter_, n_splits_, scorer_, refit_time_, n_features_in_, feature_names_in_
        As in ``LinearSVCCV``.
    best_estimator_ : LinearSVR
        Best model, trained on all rows; only with ``refit``.

    Examples
    --------
    >>> from libsvmx import LinearSVRCV
    >>> X = [[k / 10] for k in range(40)]
    >>> search = LinearSVRCV(Cs=[0.01, 1, 100]).fit(X, [3 * x for (x,) in X])
    >>> search.C_, search.predict([[5.0]]).round(1)
    (100.0, array([15.]))
    """

    _kind = LinearSVR

    loss: str = parameter(default="epsilon_insensitive", allowed=TUBE_LOSSES)
    epsilon: float = parameter(default=0.0, allowed=NOT_NEGATIVE)

    score = BaseSearch.score  # not that of RegressorMixin
