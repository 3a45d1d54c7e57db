"""SVR and NuSVR."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval

from libsvmx.enums import SvmType
from libsvmx.sklearn.base import BaseSVM
from libsvmx.sklearn.input_checks import keep_parameters


class SVR(RegressorMixin, BaseSVM):
    """Epsilon-support vector regression, with the parameters and attributes of ``sklearn.svm.SVR``.

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'}, a name of docs/kernels.md, or callable, default='rbf'
    degree : int, default=3                   of the polynomial kernel
    gamma : {'scale', 'auto'} or float, default='scale'      1 / (n_features * X.var()), 1 / n_features
    coef0 : float, default=0.0                constant of the polynomial and the sigmoid kernel
    tol : float, default=1e-3                 training ends when the KKT gap is smaller
    C : float, default=1.0                    cost, > 0
    epsilon : float, default=0.1              half the width of the tube in which an error costs nothing, >= 0
    shrinking : bool, default=True            leave out rows that seem to stay at a bound: the same optimum, faster
    cache_size : float, default=200           MB for kernel rows
    verbose : bool, default=False             draw a bar (on a terminal, with tqdm), or print LIBSVM's transcript
    max_iter : int, default=-1                of the solver, -1 for no limit but that of LIBSVM where C is infinite
    solver : {'smo', 'auto', 'chunked', 'irwls', 'crsvm'} or Solver, default='smo'      'smo' is LIBSVM's path
    n_jobs : int or None, default=None        threads, as joblib counts: None is 1, -1 all; no result depends on it
    max_time : float or None, default=None    seconds after which training ends with what it has
    warm_start : bool, default=False          start from the last fit, if that was over the same rows and classes
    refine : bool, default=False              follow the exact path to the optimum of the kernel in double
    keep_rows : bool, default=False           keep the training rows, for partial_fit, unlearn and loo_decision_function
    callback : callable or None, default=None      is called with a Progress; returning True ends the fit

    Attributes
    ----------
    support_ : array of int32, shape (n_sv,)                     rows that are support vectors
    support_vectors_ : array or sparse, shape (n_sv, n_features)
    n_support_ : array of int32, shape (1,)
    dual_coef_ : array or sparse, shape (1, n_sv)
    intercept_ : array of float64, shape (1,)
    coef_ : array or sparse, shape (1, n_features)               of a linear kernel
    n_iter_ : int
    fit_status_ : int                                            0, or 1 if training ended before ``tol`` was reached
    optimality_ : float                                          largest KKT gap of a dual problem
    shape_fit_ : tuple                                           of X
    row_ids_ : array of int64                                    numbers of the rows that are kept, as of ``unlearn``
    n_features_in_, feature_names_in_                            as scikit-learn has them

    Examples
    --------
    >>> from libsvmx import SVR
    >>> SVR(kernel="linear", C=100, epsilon=0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(2)
    array([7.])
    """

    _svm_type = SvmType.EPSILON_SVR
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVM._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: Any = "smo",
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        refine: bool = False,
        keep_rows: bool = False,
        callback: Any = None,
    ) -> None:
        keep_parameters(self, locals())


class NuSVR(RegressorMixin, BaseSVM):
    """Nu-support vector regression, with the parameters and attributes of ``sklearn.svm.NuSVR``.

    ``nu`` in (0, 1], an upper bound on the share of rows outside the tube and a lower bound on that of support vectors,
    takes the place of ``epsilon``. All else is as in ``SVR``.

    Examples
    --------
    >>> from libsvmx import NuSVR
    >>> NuSVR(kernel="linear", C=100).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(2)
    array([7.])
    """

    _svm_type = SvmType.NU_SVR
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVM._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: Any = "smo",
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        refine: bool = False,
        keep_rows: bool = False,
        callback: Any = None,
    ) -> None:
        keep_parameters(self, locals())
