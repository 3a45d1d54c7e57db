"""QuantileSVR: one curve, or one for each of several tau.

Chernozhukov, Fernandez-Val & Galichon, Quantile and probability curves without crossing, Econometrica 78, 2010: sorting
the predictions of each row in ascending order of tau never increases their distance from the true quantiles.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from libsvmx._core.copy_and_swap import at_once
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import numbers_of
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError
from libsvmx.sklearn.base import BaseSVM
from libsvmx.sklearn.fitted import FittedModel
from libsvmx.sklearn.parameters import POSITIVE, parameter, with_parameters
from libsvmx.sklearn.together import fit_together, predicted_together
from libsvmx.sklearn.updating import OfferedIf, may_go_on


def is_of_one(estimator: Any) -> None:
    """Raise AttributeError if tau is an array."""
    if not isinstance(estimator.tau, Real):
        raise AttributeError("there are several tau: call this of one of estimators_")


def is_of_one_and_may_go_on(estimator: Any) -> None:
    """As ``is_of_one`` and ``may_go_on``."""
    is_of_one(estimator)
    may_go_on(estimator)


@with_parameters
class QuantileSVR(RegressorMixin, BaseSVM):
    """Quantile regression: the curve that a share ``tau`` of the targets lies below, or several such curves.

    The dual problem is that of Takeuchi, Le, Sears & Smola, Nonparametric quantile estimation, JMLR 7, 2006.

    Parameters
    ----------
    tau : float or array-like of float, default=0.5
        Quantiles, 0 < tau < 1. Several are trained together: ``predict`` then has a column for each, and ``warm_start``
        is not available.
    non_crossing : bool, default=False
        With several tau: sort the predictions of each row, so that quantile curves do not cross.
    kernel, degree, gamma, coef0, tol, C, shrinking, cache_size, verbose, max_iter
        As in ``SVR``.
    solver, n_jobs, max_time, warm_start, refine, keep_rows, callback
        As in ``SVR``.

    Attributes
    ----------
    estimators_ : list of QuantileSVR
        Only with several tau: fitted estimators, one for each, which then have the first of the attributes below.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, row_ids_
        As in ``SVR``.
    n_iter_ : int
        Iterations; with several tau their sum.
    fit_status_, optimality_, shape_fit_, n_features_in_, feature_names_in_
        As in ``SVR``.

    Examples
    --------
    >>> import numpy as np
    >>> from libsvmx import QuantileSVR
    >>> X, y = np.zeros((9, 1)), np.arange(9.0)
    >>> QuantileSVR(tau=0.3).fit(X, y).predict(X[:1]).round(2)
    array([2.])
    >>> QuantileSVR(tau=[0.2, 0.5, 0.8], non_crossing=True).fit(X, y).predict(X[:1]).round(2)
    array([[1., 4., 7.]])
    """

    _svm_type = SvmType.QUANTILE_SVR

    tau: Any = parameter(default=0.5, allowed=[Interval(Real, 0.0, 1.0, closed="neither"), "array-like"])
    C: float = parameter(default=1.0, allowed=POSITIVE)
    non_crossing: bool = parameter(default=False, allowed=["boolean"])

    partial_fit = OfferedIf(is_of_one_and_may_go_on)(BaseSVM.partial_fit)
    unlearn = OfferedIf(is_of_one)(BaseSVM.unlearn)
    loo_decision_function = OfferedIf(is_of_one)(BaseSVM.loo_decision_function)
    to_model = OfferedIf(is_of_one)(BaseSVM.to_model)
    to_libsvm = OfferedIf(is_of_one)(BaseSVM.to_libsvm)

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in vars(self) or super().__sklearn_is_fitted__()

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any, keep: bool, exact: bool) -> None:
        if isinstance(self.tau, Real):
            super()._be_fitted(X, y, sample_weight, keep, exact)
            return
        self._forget()
        taus = numbers_of(self.tau, "tau")
        if taus.ndim != 1 or not len(taus):
            raise ParameterError(f"tau must be a number or several, not an array of shape {taus.shape}")
        if self.warm_start:
            raise ParameterError("warm_start is for one tau, and there are several")
        # not clones, which would copy a callback, too
        fitted = [type(self)(**{**self.get_params(deep=False), "tau": float(tau)}) for tau in taus]
        fit_together(self, fitted, X, [(f"tau = {tau:g}", y) for tau in taus], sample_weight, keep, exact)
        self.n_iter_ = sum(one.n_iter_ for one in fitted)
        self.estimators_ = fitted

    def _predictions(self, X: Any) -> FloatArray:
        if "estimators_" not in vars(self):
            return super()._predictions(X)
        columns = predicted_together(self.estimators_, X, FittedModel.predictions)
        if self.non_crossing:
            columns[:, np.argsort([one.tau for one in self.estimators_])] = np.sort(columns, axis=1)
        return columns

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score: 1 minus the ratio of the pinball loss to that of the best constant; 1 is perfect.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        float
            With several tau, their mean.
        """
        now = at_once(self)
        check_is_fitted(now)
        taus = [one.tau for one in getattr(now, "estimators_", [now])]
        columns = now._predictions(X).reshape(-1, len(taus))
        losses = [
            d2_pinball_score(y, column, sample_weight=sample_weight, alpha=tau)
            for tau, column in zip(taus, columns.T, strict=True)
        ]
        return float(np.mean(losses))
