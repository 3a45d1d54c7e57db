"""LinearSVCCV and LinearSVRCV: C chosen by cross-validation within one fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.copy_and_swap import at_once
from libsvmx._core.machine import machine
from libsvmx._core.process import Token
from libsvmx._core.threads import in_order
from libsvmx._train.parameter import MAX_THREADS
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import warn_caller
from libsvmx.sklearn.linear import (
    CLASS_WEIGHTS,
    HINGE_LOSSES,
    TUBE_LOSSES,
    BaseLinear,
    LinearSVC,
    LinearSVR,
    MethodParameters,
    feature_rows,
)
from libsvmx.sklearn.parameters import NOT_NEGATIVE, parameter, with_parameters
from libsvmx.sklearn.rows import weights_of
from libsvmx.sklearn.search import BaseSearch, weights_score
from libsvmx.sklearn.search_folds import Scores, check_some_count, numbers_of
from libsvmx.sklearn.tasks import told_of_each

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray


class BaseLinearSearch(BaseSearch, MethodParameters):
    """Base class of LinearSVCCV and LinearSVRCV."""

    kernel = "linear"

    @property
    def n_iter_(self) -> int:
        found: int = at_once(self).best_estimator_.n_iter_
        return found

    def _costs(self) -> list[float]:
        costs = super()._costs()
        if not np.isfinite(costs).all():  # no hard margin, unlike SVC and SVR
            raise ValueError(f"Cs must be finite numbers, not {costs}")
        return costs

    def _scores(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, splits: list[tuple[Any, Any]], scorer: Any
    ) -> Scores:
        search = LinearSearch(estimator, X, y, sample_weight, self._costs(), splits, scorer)
        search.run(self, min(int(effective_n_jobs(self.n_jobs)), MAX_THREADS))
        return search.scores


@with_parameters
class LinearSVCCV(ClassifierMixin, BaseLinearSearch):
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

    score = BaseSearch.score  # not that of ClassifierMixin

    def decision_function(self, X: Any) -> Any:
        """Decision values of rows by the best model, as in ``LinearSVC``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64
        """
        best, X = self._best(X)
        return best.decision_function(X)


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


class LinearSearch:
    """LinearSearch(estimator, X, y, sample_weight, costs, splits, scorer): scores each C on given folds."""

    def __init__(
        self,
        estimator: BaseLinear,
        X: Any,
        y: Any,
        sample_weight: Any,
        costs: list[float],
        splits: list[tuple[Any, Any]],
        scorer: Any,
    ) -> None:
        self.estimator, self.X, self.y, self.costs, self.splits, self.scorer = estimator, X, y, costs, splits, scorer
        self.rows = feature_rows(X)
        self.weights, counting = weights_of(sample_weight, X)
        self.counts = np.full(len(y), counting is None)
        self.counts[slice(0) if counting is None else counting] = True
        self.weights_score = sample_weight is not None and weights_score(scorer)
        self.scores = Scores((len(costs), len(splits)))
        self.unfinished = False

    def run(self, whole: BaseLinearSearch, threads: int) -> None:
        """Score all points, fold by fold on threads, and notify the callbacks of ``whole`` after each."""
        asking, jobs = Token(), range(len(self.splits))
        with one_blas_thread():  # sums would depend on the number of BLAS threads
            coming = in_order(self.fold, [(f, asking) for f in jobs], threads, asking)
            for _ in told_of_each(whole, "search", coming, len(jobs)):
                pass
        if self.unfinished:
            warn_caller("Solver terminated early at some points of the search.", ConvergenceWarning)

    def fold(self, f: int, asking: Token) -> None:
        """Score all points of fold ``f``. Raises ValueError, IndexError."""
        train, test = (numbers_of(rows, len(self.y)) for rows in self.splits[f])
        estimator = clone(self.estimator)
        chosen = train[self.counts[train]]
        weights = None if self.weights is None else self.weights[chosen]
        training = estimator._training(self.rows, self.y, chosen, weights)
        starts: list[FloatArray | None] = [None] * len(training.functions)
        before = 0.0
        estimator.n_features_in_ = self.X.shape[1]
        tests = self.X[test]
        of_test = self.weights[test] if self.weights_score and self.weights is not None else None
        check_some_count(of_test)
        own = {} if of_test is None else {"sample_weight": of_test}
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
            self.scores.score[c, f] = scorer(estimator, tests, self.y[test], **own)
            self.scores.fit_time[c, f] = trained - begun
            self.scores.score_time[c, f] = machine.perf_counter() - trained
