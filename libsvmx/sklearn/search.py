"""SVCCV and SVRCV: C and gamma chosen by cross-validation within one fit."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from inspect import signature
from itertools import product
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from libsvmx._core.copy_and_swap import at_once
from libsvmx._core.machine import machine
from libsvmx._train.parameter import is_several
from libsvmx.api.kernels import KernelRows
from libsvmx.api.own_kernel import is_called
from libsvmx.sklearn.base import KernelParameters, Predicts, TakesKernel
from libsvmx.sklearn.classifiers import SVC, PairwiseVoting
from libsvmx.sklearn.input_checks import test_data, training_data
from libsvmx.sklearn.parameters import NOT_NEGATIVE, THREADS, parameter, with_parameters
from libsvmx.sklearn.regressors import SVR
from libsvmx.sklearn.search_folds import FoldSearch, Scores, objects, results_of, splits_of
from libsvmx.sklearn.tasks import CallbackSupportMixin, fitted_apart, refit_task

# Default axes, as in LIBSVM's guide: powers of 4 from 2^-5 and 2^-15; ten of them end at 2^13 and 2^3.
FIRST_C, FIRST_GAMMA, STEP = -5, -15, 2
MAX_EXPONENT = 1023  # of a double
AXIS = [Interval(Integral, 1, None, closed="left"), "array-like"]


@with_parameters
class BaseSearch(CallbackSupportMixin, Predicts, TakesKernel):
    """Base class of the searches. Their parameters are those of ``_kind``, and those of the search."""

    _kind: ClassVar[Any]
    _search: ClassVar[type[FoldSearch]] = FoldSearch

    Cs: Any = parameter(default=10, allowed=AXIS)
    cv: Any = parameter(default=None, allowed=["cv_object"])
    scoring: Any = parameter(default=None, allowed=[str, callable, None])
    refit: Any = parameter(default=True, allowed=["boolean", callable])
    n_jobs: int | None = parameter(default=None, allowed=THREADS)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Search, then train on all rows with the best C and gamma.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the kernel matrix, shape (n_samples, n_samples).
        y : array of shape (n_samples,)
            Class labels of any type, or targets.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in trainings; in scores, too, if GridSearchCV of the installed scikit-learn weights
            them.
        groups : array of shape (n_samples,), default=None
            For a splitter such as GroupKFold.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Invalid data or parameters, also in a single fold.
        """
        n_subtasks = 2 if self.refit else 1
        fitted_apart(self, lambda made: made._be_fitted(X, y, sample_weight, groups), X, y, sample_weight, n_subtasks)
        return self

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """``fit`` on a copy that no other thread uses."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        if is_called(self.kernel):
            rows, y = X, column_or_1d(y, warn=True)
        else:
            rows, y = training_data(self, X, y, given=self.kernel == "precomputed")
        if issubclass(self._kind, ClassifierMixin):
            check_classification_targets(y)
        else:
            y = np.asarray(y, dtype=np.float64)
        estimator = self._estimator()
        scorer = None if self.scoring is None else check_scoring(estimator, self.scoring)
        splits = splits_of(self.cv, isinstance(estimator, ClassifierMixin), rows, y, groups)
        if isinstance(sample_weight, Real):  # as SVC accepts it
            sample_weight = np.full(len(y), float(sample_weight))
        costs, gammas = self._costs(), self._gammas()
        scores = self._scores(estimator, rows, y, sample_weight, splits, scorer)
        names = ("C",) if gammas == [None] else ("C", "gamma")
        points = [dict(zip(names, values, strict=False)) for values in product(costs, gammas)]
        self.n_splits_, self.scorer_ = len(splits), scorer or check_scoring(estimator)
        self._take(estimator, points, results_of(points, scores), rows, y, sample_weight)

    def _scores(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any, splits: list[tuple[Any, Any]], scorer: Any
    ) -> Scores:
        """Scores of all points; C changes slowest."""
        searched, known = estimator, X
        if is_called(self.kernel) and not callable(self.scoring):  # a callable scorer may need the rows
            searched = copy(estimator).set_params(kernel="precomputed")  # one call of the kernel for all folds
            known = KernelRows.of(self.kernel, X).all_values()
        search = self._search(self, searched, known, y, sample_weight, splits, scorer)
        search.run()
        return search.scores

    def _take(
        self, estimator: Any, points: list[dict[str, Any]], results: dict[str, Any], X: Any, y: Any, sample_weight: Any
    ) -> None:
        """Set the results of the search, and train at the best point."""
        if callable(self.refit):
            best = self.refit(results)
            if not isinstance(best, Integral) or not 0 <= int(best) < len(points):
                raise ValueError(f"refit must return the index of one of {len(points)} points, not {best!r}")
        else:
            best = results["rank_test_score"].argmin()
        best = int(best)
        estimator.set_params(**points[best])
        begun = machine.perf_counter()
        if self.refit:
            with refit_task(self, estimator):
                estimator.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
            self.refit_time_ = machine.perf_counter() - begun
        self.cv_results_, self.best_index_, self.best_params_ = results, best, points[best]
        self.C_ = estimator.C
        self.best_score_ = float(results["mean_test_score"][best])
        self.Cs_ = np.array(self._costs())
        if hasattr(estimator, "gamma"):
            gammas = self._gammas()
            self.gamma_ = estimator.gamma
            self.gammas_ = np.array(gammas) if all(isinstance(g, float) for g in gammas) else objects(gammas)
        if self.refit:
            if hasattr(estimator, "classes_"):
                self.classes_ = estimator.classes_
            self.best_estimator_ = estimator

    def _estimator(self) -> Any:
        """An unfitted estimator of ``_kind``, with all parameters that it shares with the search."""
        own = self.get_params(deep=False)
        estimator = self._kind(**{name: own[name] for name in signature(self._kind).parameters if name in own})
        if hasattr(self, "random_state") and not isinstance(self.random_state, Integral):
            # one seed for all points; a shared RandomState advances once
            estimator.set_params(random_state=check_random_state(self.random_state).randint(np.iinfo("i").max))
        return estimator

    def _costs(self) -> list[float]:
        costs = _axis("Cs", self.Cs, FIRST_C)
        if any(isinstance(C, str) or not C > 0 for C in costs):
            raise ValueError(f"Cs must be numbers > 0, not {costs}")
        return costs

    def _gammas(self) -> list[Any]:
        if self.kernel in ("linear", "precomputed") or callable(self.kernel):
            return [None]
        gammas = _axis("gammas", self.gammas, FIRST_GAMMA)
        numbers = [number for gamma in gammas if not isinstance(gamma, str) for number in np.atleast_1d(gamma)]
        if not all(number >= 0 for number in numbers) or {g for g in gammas if isinstance(g, str)} - {"scale", "auto"}:
            raise ValueError(f"gammas must be numbers >= 0, one for each feature, 'scale' or 'auto', not {gammas}")
        return gammas

    def _best(self, X: Any) -> tuple[Any, Any]:
        """The best estimator, and test rows in its format. Raises NotFittedError, ValueError."""
        now = at_once(self)
        if "cv_results_" in vars(now) and "best_estimator_" not in vars(now):
            raise NotFittedError(
                f"This {type(now).__name__} is not fitted to predict: with refit=False no model is trained. Train one "
                "with best_params_"
            )
        check_is_fitted(now)
        best = now.best_estimator_
        called = callable(now.kernel) and best._is_called
        return best, X if called else test_data(now, X, given=now.kernel == "precomputed")

    def _predictions(self, X: Any) -> Any:
        best, X = self._best(X)
        return best.predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the best model on other rows by ``scoring``; accuracy or R^2 without it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        now = at_once(self)
        best, X = now._best(X)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(now.scorer_(best, X, y, **weights))


def _axis(name: str, given: Any, first: int) -> list[Any]:
    """Values of an axis; a number n gives n powers of 4 from 2^first. Raises ValueError."""
    if isinstance(given, Integral):
        most = (MAX_EXPONENT - first) // STEP + 1
        if int(given) > most:
            raise ValueError(f"{name} may be at most {most}, not {given}: the next value is too large")
        return [2.0 ** (first + STEP * k) for k in range(int(given))]
    values: Sequence[Any] = list(given)
    several = [value for value in values if not isinstance(value, (str, Real))]
    if (
        not values
        or (several and name != "gammas")
        or not all(is_several(value) and np.ndim(value) == 1 and len(value) for value in several)
    ):
        raise ValueError(f"{name} must be a number of values, or a list of them, not {given!r}")
    return [v if isinstance(v, str) else float(v) if isinstance(v, Real) else tuple(map(float, v)) for v in values]


class ClassifierSearch(ClassifierMixin):
    """Mixin of SVCCV and LinearSVCCV."""

    if TYPE_CHECKING:  # of BaseSearch

        def _best(self, X: Any) -> tuple[Any, Any]: ...

    score = BaseSearch.score  # not that of ClassifierMixin

    def decision_function(self, X: Any) -> Any:
        """Decision values of rows by the best model, as in ``SVC`` or ``LinearSVC``.

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
class KernelSearch(BaseSearch, KernelParameters):
    """Base class of SVCCV and SVRCV."""

    gammas: Any = parameter(default=10, allowed=AXIS)


@with_parameters
class SVCCV(ClassifierSearch, KernelSearch, PairwiseVoting):
    """C-support vector classification whose C and gamma are chosen by cross-validation.

    It finds what ``GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}, cv=cv).fit(X, y)`` finds, many times as fast:
    trainings with the same gamma share kernel rows, each starts from the one with the next smaller C in the same fold,
    and decision values of the rows to score are updated along the way.

    Optima agree to ``tol``, so rows near the boundary may be predicted differently. With the default scoring, points
    that may be the best are retrained along the path of ``SVC`` if they have such rows, so that the best point and its
    score are those of GridSearchCV; of equal scores the first in ``cv_results_`` wins, as there. Sigmoid, callable and
    precomputed kernels, an infinite C, a callable ``scoring`` and one that needs probabilities are trained point by
    point, with exactly the scores of GridSearchCV.

    Parameters
    ----------
    Cs : int or array-like, default=10
        Values of C to try; an int n stands for the first n of 2^-5, 2^-3, 2^-1, ….
    gammas : int or array-like, default=10
        Values of gamma to try: floats, arrays with one for each feature, 'scale' and 'auto'; an int n stands for the
        first n of 2^-15, 2^-13, …. Ignored by kernels without gamma.
    kernel, degree, coef0
        As in ``SVC``.
    cv : int, splitter or iterable, default=None
        Cross-validation splits, as in GridSearchCV; None is 5 folds, stratified for a classifier.
    scoring : str, callable or None, default=None
        Score to maximise, as in GridSearchCV; None is accuracy.
    refit : bool or callable, default=True
        Whether to train the best model on all rows; a callable takes ``cv_results_`` and returns the index of the best
        point.
    n_jobs, shrinking
        As in ``SVC``.
    probability : bool or 'cv', default=False
        Whether to fit Platt's sigmoids for the best model.
    tol
        As in ``SVC``.
    cache_size : float, default=200
        Memory for kernel rows, of all threads together, in MB; those of a callable may take more.
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced': inversely proportional to its number of rows in a fold.
    decision_function_shape, break_ties, random_state
        As in ``SVC``.

    Attributes
    ----------
    C_ : float
        Best value.
    gamma_ : float, tuple of float, 'scale' or 'auto'
        Best value.
    best_score_ : float
        Mean score of the best point.
    best_index_ : int
        Its index in ``cv_results_``.
    best_params_ : dict
        The best point, as keywords.
    best_estimator_ : SVC
        Best model, trained on all rows; only with ``refit``.
    cv_results_ : dict
        As in GridSearchCV: params, param_C, …, split0_test_score, …, mean_test_score, std_test_score, rank_test_score,
        and times in seconds.
    Cs_, gammas_ : array
        Values that were tried.
    classes_
        As in ``SVC``.
    n_splits_ : int
        Number of folds.
    scorer_ : callable
        What scores the estimators, made from ``scoring``.
    refit_time_ : float
        Seconds of the training on all rows.
    n_features_in_, feature_names_in_
        As in ``SVC``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from libsvmx import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1, 1]).fit(X, y)
    >>> search.C_, search.gamma_, round(search.best_score_, 2)
    (1.0, 0.1, 0.98)
    """

    _kind = SVC

    def _probabilities(self, X: Any) -> Any:
        best, X = self._best(X)
        return best.predict_proba(X)


@with_parameters
class SVRCV(RegressorMixin, KernelSearch):
    """Epsilon-support vector regression whose C and gamma are chosen by cross-validation.

    As ``SVCCV``, for ``SVR``; the default scoring is R^2. No point is retrained, so scores agree with those of
    GridSearchCV as far as ``tol`` determines them, and among points with nearly equal scores the best may differ.

    Parameters
    ----------
    Cs, gammas, kernel, degree, coef0, cv, refit, n_jobs, shrinking, tol, cache_size
        As in ``SVCCV``.
    scoring : str, callable or None, default=None
        Score to maximise, as in GridSearchCV; None is R^2.
    epsilon
        As in ``SVR``.

    Attributes
    ----------
    C_, gamma_, best_score_, best_index_, best_params_
        As in ``SVCCV``.
    best_estimator_ : SVR
        Best model, trained on all rows; only with ``refit``.
    cv_results_, Cs_, gammas_, n_splits_, scorer_, refit_time_, n_features_in_, feature_names_in_
        As in ``SVCCV``.

    Examples
    --------
    >>> from libsvmx import SVRCV
    >>> X = [[k / 10] for k in range(40)]
    >>> search = SVRCV(kernel="linear", Cs=[0.01, 1, 100]).fit(X, [3 * x for (x,) in X])
    >>> search.predict([[5.0]]).round(0)
    array([15.])
    """

    _kind = SVR

    epsilon: float = parameter(default=0.1, allowed=NOT_NEGATIVE)

    score = BaseSearch.score  # not that of RegressorMixin
