"""SVR and NuSVR."""

from __future__ import annotations

from sklearn.base import RegressorMixin

from libsvmx.enums import SvmType
from libsvmx.sklearn.base import BaseSVM
from libsvmx.sklearn.parameters import COST, NOT_NEGATIVE, SHARE, parameter, with_parameters


@with_parameters
class SVR(RegressorMixin, BaseSVM):
    """Epsilon-support vector regression, with the parameters and attributes of ``sklearn.svm.SVR``.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol
        As in ``SVC``.
    C : float, default=1.0
        Cost, > 0.
    epsilon : float, default=0.1
        Half-width of the tube in which errors cost nothing, >= 0.
    shrinking, cache_size, verbose
        As in ``SVC``.
    max_iter : int, default=-1
        Maximum number of iterations; -1: no limit, except LIBSVM's for infinite C.
    solver, n_jobs, max_time, warm_start, refine, keep_rows, callback
        As in ``SVC``.

    Attributes
    ----------
    support_ : array of int32, shape (n_sv,)
        Indices of the support vectors.
    support_vectors_ : array or sparse, shape (n_sv, n_features)
        Support vectors; of dense rows read-only, and made at the first use. After ``partial_fit`` and ``unlearn``,
        features whose gamma is 0 are 0.
    n_support_ : array of int32, shape (1,)
        Number of support vectors.
    dual_coef_ : array or sparse, shape (1, n_sv)
        Coefficients of the support vectors.
    intercept_ : array of float64, shape (1,)
        Intercept.
    coef_ : array or sparse, shape (1, n_features)
        Weights of the features; only with a linear kernel.
    n_iter_ : int
        Iterations.
    fit_status_, optimality_, shape_fit_, row_ids_, n_features_in_, feature_names_in_
        As in ``SVC``.

    Examples
    --------
    >>> from libsvmx import SVR
    >>> SVR(kernel="linear", C=100, epsilon=0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(2)
    array([7.])
    """

    _svm_type = SvmType.EPSILON_SVR

    C: float = parameter(default=1.0, allowed=COST)
    epsilon: float = parameter(default=0.1, allowed=NOT_NEGATIVE)


@with_parameters
class NuSVR(RegressorMixin, BaseSVM):
    """Nu-support vector regression, with the parameters and attributes of ``sklearn.svm.NuSVR``.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside the tube and lower bound on the share of support vectors, in (0, 1].
    C, kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in ``SVR``.
    solver, n_jobs, max_time, warm_start, refine, keep_rows, callback
        As in ``SVR``.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_
        As in ``SVR``.
    fit_status_, optimality_, shape_fit_, row_ids_, n_features_in_, feature_names_in_
        As in ``SVR``.

    Examples
    --------
    >>> from libsvmx import NuSVR
    >>> NuSVR(kernel="linear", C=100).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(2)
    array([7.])
    """

    _svm_type = SvmType.NU_SVR

    nu: float = parameter(default=0.5, allowed=SHARE)
    C: float = parameter(default=1.0, allowed=COST)
