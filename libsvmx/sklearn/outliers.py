"""OneClassSVM."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from libsvmx._core.copy_and_swap import at_once
from libsvmx._train.model import Model
from libsvmx.enums import SvmType
from libsvmx.sklearn.base import BaseSVM
from libsvmx.sklearn.parameters import SHARE, parameter, with_parameters
from libsvmx.sklearn.updating import OfferedIf, may_go_on


@with_parameters
class OneClassSVM(OutlierMixin, BaseSVM):
    """Outlier detection, with the parameters and attributes of ``sklearn.svm.OneClassSVM``.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of outliers among the training rows and lower bound on the share of support vectors, in
        (0, 1].
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in ``SVR``.
    solver, n_jobs, max_time, warm_start, refine, keep_rows, callback
        As in ``SVR``.

    Attributes
    ----------
    offset_ : array of float64, shape (1,)
        decision_function = score_samples - offset_.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_
        As in ``SVR``.
    fit_status_, optimality_, shape_fit_, row_ids_, n_features_in_, feature_names_in_
        As in ``SVR``.

    Examples
    --------
    >>> from libsvmx import OneClassSVM
    >>> OneClassSVM(gamma="auto").fit([[0.0], [0.44], [0.45], [0.46], [1.0]]).predict([[0.0], [0.45]])
    array([-1,  1])
    """

    _svm_type = SvmType.ONE_CLASS

    nu: float = parameter(default=0.5, allowed=SHARE)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Train on rows, as ``SVR.fit`` does.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y
            Ignored.
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        super().fit(X, np.ones(_num_samples(X)), sample_weight=sample_weight)
        return self

    @OfferedIf(may_go_on)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Add rows, as ``SVR.partial_fit`` does.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y
            Ignored.
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        super().partial_fit(X, np.ones(_num_samples(X)), sample_weight=sample_weight)
        return self

    def _read_off(self, model: Model, vectors: Any) -> None:
        super()._read_off(model, vectors)
        self.offset_ = -self.intercept_

    def decision_function(self, X: Any) -> Any:
        """Signed distances to the boundary, positive for inliers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64, shape (n_samples,)
        """
        now = at_once(self)
        tests = now._tests(X)
        return now._fitted.values(tests, now._threads).ravel()

    def score_samples(self, X: Any) -> Any:
        """Decision values without the offset.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64, shape (n_samples,)
        """
        now = at_once(self)
        return now.decision_function(X) + now.offset_

    def predict(self, X: Any) -> Any:
        """Predict +1 for inliers and -1 for outliers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of int, shape (n_samples,)
        """
        return np.asarray(super().predict(X), dtype=np.intp)
