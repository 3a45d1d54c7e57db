"""SVMRFE and SVMRFECV: recursive feature elimination by the change of the margin.

Importance of feature f: w_f^2 with a linear kernel (Guyon, Weston, Barnhill & Vapnik, Gene selection for cancer
classification using support vector machines, Machine Learning 46, 2002); else the change of |w|^2 = beta' K beta
without f at the same beta, which for a linear kernel is the same (Rakotomamonjy, Variable selection using SVM-based
criteria, JMLR 3, 2003).

A removed feature is subtracted from the inner products of the rows, from which kernel values follow, and each training
starts from the last coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE
from sklearn.metrics import check_scoring
from sklearn.utils._param_validation import HasMethods, Interval

from libsvmx._core.copy_and_swap import built_apart
from libsvmx._core.machine import machine
from libsvmx._core.records import replace
from libsvmx._kernels.remaining_features import RemainingFeatures
from libsvmx._train.folds import Rand
from libsvmx._train.gamma import feature_factors, gamma_of
from libsvmx._train.limits import limited
from libsvmx._train.model import Model, by_function
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import is_several
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_counting
from libsvmx._train.warm_start import KnownOptima, WarmStart
from libsvmx._typing import FloatArray, IntArray
from libsvmx.api.arrays import kernel_table
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import ParameterError, StoppedEarly, warn_caller
from libsvmx.sklearn.base import BaseSVM
from libsvmx.sklearn.fitted import FittedModel
from libsvmx.sklearn.input_checks import training_data
from libsvmx.sklearn.search_folds import splits_of

FORMULATIONS = (SvmType.C_SVC, SvmType.EPSILON_SVR, SvmType.QUANTILE_SVR)
# Importances that differ by less than this share of the largest are tied: rounding.
EQUAL = 1e-10


class Trainings:
    """Trainings(seconds): the time limit of one call, 0 for none, and how its trainings ended.

    Attributes
    ----------
    observer : Observer       of all trainings
    """

    def __init__(self, seconds: float) -> None:
        self.observer = limited(Observer(), seconds)
        self.early: SolveStatus | None = None

    def check(self, model: Model) -> None:
        """Record how a training ended. Raises StoppedEarly."""
        for status in model.statuses:
            if status in (SolveStatus.TIME_LIMIT, SolveStatus.INTERRUPTED):
                raise StoppedEarly(status, "too few features have been left out; there is no result")
            if status not in (SolveStatus.CONVERGED, SolveStatus.ROUNDING):
                self.early = status

    def time_left(self) -> float | None:
        """``max_time`` for the final estimator."""
        deadline = self.observer.limits.deadline if self.observer.limits else 0.0
        return max(deadline - machine.monotonic(), 1e-9) if deadline else None

    def warn(self) -> None:
        """Warn if a training ended before its tolerance was reached."""
        if self.early is not None:
            warn_caller(
                f"Solver terminated early in trainings on the way: {self.early}. Features may have been left out in "
                "another order.  Consider pre-processing your data with StandardScaler or MinMaxScaler.",
                ConvergenceWarning,
            )


class Step(NamedTuple):
    """One training: the features, the kernel values of all rows, and the model."""

    features: IntArray
    K: FloatArray
    model: Model
    estimator: Any


class SVMRFE(RFE):
    """Recursive feature elimination by an SVM with a linear or an RBF kernel: scikit-learn's RFE, faster.

    Leaves out the features whose loss changes the margin least and retrains on the others, until
    ``n_features_to_select`` remain. With a linear kernel, features and ranking are those of RFE. No kernel value is
    computed twice, and each training starts from the last one. ``max_time`` of the estimator limits the whole call,
    which raises StoppedEarly if it is exceeded while features are being left out.

    Parameters
    ----------
    estimator : SVC, SVR or QuantileSVR
        SVM with kernel 'linear' or 'rbf'.
    n_features_to_select : int, float or None, default=None
        Number of features to keep, or their share; None is half.
    step : int or float, default=1
        Number of features to leave out at a time, or their share of all features.

    Attributes
    ----------
    ranking_ : array of int, shape (n_features,)
        Rank of each feature: 1 for those kept; the larger, the earlier it was left out.
    support_ : array of bool, shape (n_features,)
        Mask of the features kept.
    n_features_ : int
        Number of features kept.
    ties_ : list of arrays of int
        For each step with a tie, the tied features; the first ones of them were left out.
    estimator_ : estimator
        Model trained on the features kept.
    classes_, n_features_in_, feature_names_in_
        As in RFE.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from libsvmx import SVC, SVMRFE
    >>> X, y = load_wine(return_X_y=True)
    >>> SVMRFE(SVC(), n_features_to_select=4).fit(scale(X), y).get_support(indices=True)
    array([1, 2, 6, 7])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit"])],
        **{name: RFE._parameter_constraints[name] for name in ("n_features_to_select", "step")},
    }

    estimator: Any
    n_features_to_select: Any
    step: Any

    def __init__(self, estimator: Any, *, n_features_to_select: Any = None, step: Any = 1) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.step = step

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Eliminate features.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        built_apart(self, lambda made: made._be_fitted(X, y, sample_weight))
        return self

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any) -> None:
        """``fit`` on a copy that no other thread uses."""
        rows, y = self._checked(X, y)
        n, wanted = rows.shape[1], self.n_features_to_select
        if wanted is None:
            wanted = n // 2
        left = int(wanted if isinstance(wanted, Integral) else n * wanted)
        if left < 1:
            raise ParameterError(f"n_features_to_select={wanted} of {n} features is less than one")
        self._select(rows, y, sample_weight, left, Trainings(self.estimator.max_time or 0.0))

    def _checked(self, X: Any, y: Any) -> tuple[FloatArray, Any]:
        """Validated rows, as an array, and targets. Raises ValueError."""
        one = self.estimator
        known = isinstance(one, BaseSVM) and one._svm_type in FORMULATIONS
        if not known or one.kernel not in ("linear", "rbf") or not hasattr(one, "to_model"):
            raise ValueError(
                "the estimator must be an SVC, SVR or QuantileSVR of libsvmx, of one function, with "
                f"kernel 'linear' or 'rbf', not by {one!r}"
            )
        X, y = training_data(self, X, y)
        if X.shape[1] < 2:
            raise ValueError(f"Found array with 1 feature(s) (shape={X.shape}) while a minimum of 2 is required.")
        return X.toarray() if issparse(X) else X, y

    def _select(self, X: FloatArray, y: Any, sample_weight: Any, wanted: int, trainings: Trainings) -> None:
        """Eliminate down to ``wanted`` features, and set the fitted attributes."""
        ranking, left_out, self.ties_ = np.ones(X.shape[1], dtype=int), [], []
        for step, gone, ties in eliminated(self.estimator, X, y, sample_weight, self._step_of(X), wanted, trainings):
            left_out.append(step.features[gone])
            if len(ties):
                self.ties_.append(step.features[ties])
        for rank, features in enumerate(reversed(left_out), 2):
            ranking[features] = rank
        support = ranking == 1
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        last = clone(self.estimator).set_params(max_time=trainings.time_left())
        if last.kernel == "rbf" and is_several(last.gamma):
            last.set_params(gamma=np.asarray(last.gamma)[support])
        self.estimator_ = last.fit(X[:, support], y, **weights).set_params(max_time=self.estimator.max_time)
        trainings.warn()
        self.support_, self.ranking_, self.n_features_ = support, ranking, int(support.sum())

    def _step_of(self, X: FloatArray) -> int:
        """Number of features to leave out at a time."""
        return int(self.step) if self.step >= 1 else int(max(1, self.step * X.shape[1]))


def least(counts: FloatArray, count: int) -> tuple[IntArray, IntArray]:
    """Indices of the ``count`` smallest values, first of equals; and, if the choice was among ties, of all these."""
    last, following = np.partition(counts, (count - 1, count))[count - 1 : count + 1]
    less, same = np.flatnonzero(counts < last), np.flatnonzero(counts == last)
    near = EQUAL * counts.max()
    ties = np.flatnonzero(np.abs(counts - last) <= near) if following <= last + near else same[:0]
    gone = np.concatenate([less, same[: count - len(less)]])
    return gone.astype(np.int32), ties.astype(np.int32)


def eliminated(
    estimator: Any,
    X: FloatArray,
    y: Any,
    sample_weight: Any,
    step: int,
    wanted: int,
    trainings: Trainings,
    among: Any = None,
    scored: Callable[[Step], None] | None = None,
) -> Iterator[tuple[Step, IntArray, IntArray]]:
    """Yield each training down to ``wanted`` features, with the indices of the features left out next, and of ties.

    Raises StoppedEarly at the time limit.

    Parameters
    ----------
    among : ndarray of int, or None       rows to train on; None: all
    scored : function                     called with each Step, including the last
    """
    own = clone(estimator)
    train = np.arange(len(y)) if among is None else among
    weights = None if sample_weight is None else np.asarray(sample_weight)[train]
    data = own._training_data(X[train], y[train], weights, False)
    given = data.problem
    rows = train[np.asarray(given.rows)].astype(np.int32)
    param = own._parameter()
    several = bool(param.gammas)
    if several:
        X = X * feature_factors(param)
    param = replace(param, kernel_type=KernelType.PRECOMPUTED, probability=False)
    if not param.solver.may_be_seeded:
        raise ParameterError(
            f"solver {param.solver.name} cannot start from the coefficients before a feature was left out: "
            "take solver='smo' for the estimator"
        )
    rest, known = RemainingFeatures(X, estimator.kernel == "rbf"), None
    while True:
        n, gamma = len(rest.features), 0.0
        if n <= wanted and scored is None:
            return
        if several:
            gamma = 1.0
        elif rest.is_rbf:
            gamma = gamma_of(estimator.gamma, np.ascontiguousarray(X[np.ix_(train, rest.features)]))
        K = rest.kernel(gamma)
        problem = Problem(kernel_table(K), given.targets, rows.data, None, given.sample_weight)
        warm = WarmStart(param, known)
        model = train_counting(problem, param, Rand(), trainings.observer, warm=warm)
        trainings.check(model)
        known = KnownOptima({}, warm.found.C, warm.found.optima)  # no kernel parameters: the kernel changes each time
        now = Step(rest.features, K, model, own)
        if scored is not None:
            scored(now)
        if n <= wanted:
            return
        table = by_function(model.sv_coef, model.class_sv)
        support = rows[np.asarray(model.row_numbers) - 1]  # a fold may repeat a row
        betas = np.array([np.bincount(support, weights=beta, minlength=len(X)) for beta in table])
        gone, ties = least(rest.importances(K, gamma, betas), min(step, n - wanted))
        yield now, gone, ties
        rest.leave_out(gone)


class SVMRFECV(SVMRFE):
    """``SVMRFE`` whose number of features is chosen by cross-validation: scikit-learn's RFECV, faster.

    Each fold eliminates features on its training rows and scores every model on its other rows; then features are
    eliminated on all rows. Of equal mean scores the smallest number of features wins.

    Parameters
    ----------
    estimator, step
        As in ``SVMRFE``.
    min_features_to_select : int, default=1
        Number of features at the end of each fold.
    cv : int, splitter or iterable, default=None
        Cross-validation splits, as in RFECV; None is 5 folds, stratified for a classifier.
    scoring : str, callable or None, default=None
        Score to maximise; None is accuracy, or R^2. A callable gets an estimator that predicts, and rows of kernel
        values.

    Attributes
    ----------
    cv_results_ : dict of arrays
        ``n_features``, and the scores of each number: ``mean_test_score``, ``std_test_score``, ``split0_test_score``,
        ….
    ranking_, support_, n_features_, ties_, estimator_, classes_, n_features_in_, feature_names_in_
        As in ``SVMRFE``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from libsvmx import SVC, SVMRFECV
    >>> X, y = load_wine(return_X_y=True)
    >>> SVMRFECV(SVC(kernel="linear"), step=2).fit(scale(X), y).n_features_ < 13
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: SVMRFE._parameter_constraints[name] for name in ("estimator", "step")},
        "min_features_to_select": [Interval(Integral, 0, None, closed="neither")],
        "cv": ["cv_object"],
        "scoring": [None, str, callable],
    }

    def __init__(
        self, estimator: Any, *, step: Any = 1, min_features_to_select: int = 1, cv: Any = None, scoring: Any = None
    ) -> None:
        self.estimator = estimator
        self.step = step
        self.min_features_to_select = min_features_to_select
        self.cv = cv
        self.scoring = scoring

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Choose the number of features, and eliminate the others.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in trainings, not in scores.
        groups : array of shape (n_samples,), default=None
            For a splitter such as GroupKFold.

        Returns
        -------
        self
        """
        built_apart(self, lambda made: made._be_chosen(X, y, sample_weight, groups))
        return self

    def _be_chosen(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """``fit`` on a copy that no other thread uses."""
        rows, y = self._checked(X, y)
        trainings = Trainings(self.estimator.max_time or 0.0)
        scorer, step = check_scoring(self.estimator, self.scoring), self._step_of(rows)
        response = getattr(scorer, "_response_method", "")
        if (response if isinstance(response, str) else [*response, ""][0]) == "predict_proba":
            raise ParameterError(
                f"scoring={self.scoring!r} needs probabilities, which trainings on the way do not estimate: take a "
                "score of predictions or of decision values"
            )
        least = min(self.min_features_to_select, rows.shape[1])
        scores: list[list[float]] = []
        counts: list[int] = []
        for train, test in splits_of(self.cv, is_classifier(self.estimator), rows, y, groups):
            of_fold: list[float] = []
            counts = []

            def scored(step: Step, test: IntArray = test, to: list[float] = of_fold, n: list[int] = counts) -> None:
                judged = clone(step.estimator).set_params(kernel="precomputed")
                judged._fitted, judged.n_features_in_ = FittedModel(step.model), len(y)
                if hasattr(step.estimator, "classes_"):
                    judged.classes_ = step.estimator.classes_
                to.append(float(scorer(judged, step.K[test], y[test])))
                n.append(len(step.features))

            for _ in eliminated(self.estimator, rows, y, sample_weight, step, least, trainings, train, scored):
                pass
            scores.append(of_fold)
        table = np.array(scores)[:, ::-1]
        means = table.mean(axis=0)
        self.cv_results_ = {
            "mean_test_score": means,
            "std_test_score": table.std(axis=0),
            **{f"split{k}_test_score": of_fold for k, of_fold in enumerate(table)},
            "n_features": np.array(counts[::-1]),
        }
        self._select(rows, y, sample_weight, counts[::-1][int(means.argmax())], trainings)
