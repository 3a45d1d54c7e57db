"""The quantile curve at every tau of an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from libsvmx._core.records import replace
from libsvmx._solvers.solver import converted
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import decision_values, parameter_of
from libsvmx.api.cost_path import ModelPath, followed_from
from libsvmx.api.kernel_values import n_rows_of
from libsvmx.api.kernels import called
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError


class TauPath(ModelPath):
    """The quantile curve at every tau from ``tau[0]`` to ``tau[-1]``, made by ``tau_path``.

    Examples
    --------
    The examples of its methods go on from this one.

    >>> import libsvmx
    >>> path = libsvmx.tau_path([[0.0]] * 9, range(9), 0.1, 0.9)
    >>> float(path.tau[0]), float(path.tau[-1])
    (0.1, 0.9)
    """

    __slots__ = ()

    @property
    def tau(self) -> FloatArray:
        """Breakpoints in ascending order, ends included: ndarray, shape (m,), read-only. Between them coefficients, rho
        and predictions are linear in tau."""
        return self._breakpoints

    def model(self, tau: float) -> Model:
        """The model at tau, as ``train`` returns it.

        Parameters
        ----------
        tau : float
            On the path.

        Returns
        -------
        Model

        Raises
        ------
        ParameterError
            A tau that is not on the path.

        Examples
        --------
        >>> path.model(0.3).predict([[0.0]]).round(6)
        array([2.])
        """
        return self._model(tau)

    def predict(self, X: Any, tau: Any, *, threads: int = 0) -> FloatArray:
        """The quantile curves at one tau or several.

        Parameters
        ----------
        X, threads
            As in ``libsvmx.predict``.
        tau : float or array of float, shape (k,)
            On the path.

        Returns
        -------
        ndarray of float64, shape (n,) or (n, k)

        Raises
        ------
        DataError, ParameterError

        Examples
        --------
        >>> path.predict([[0.0]], [0.2, 0.5]).round(6)
        array([[1., 4.]])
        """
        taus = self._on_the_path(tau)
        columns = [decision_values(self.model(each), X, threads=threads)[:, 0] for each in taus.reshape(-1).tolist()]
        if taus.ndim == 0:
            return columns[0]
        return np.column_stack(columns) if columns else np.empty((n_rows_of(X), 0))

    def crossing(self, X: Any, tau: Any = None, *, threads: int = 0) -> float:
        """Share of rows at which curves cross: that of a larger tau is below that of a smaller one.

        Parameters
        ----------
        X, threads
            As in ``libsvmx.predict``.
        tau : array of float
            Which curves; None: all of the path, exact to 1e-9 of the largest prediction, at one prediction for each
            breakpoint.

        Returns
        -------
        float

        Raises
        ------
        DataError, ParameterError

        Examples
        --------
        >>> path.crossing([[0.0]])
        0.0
        """
        curves = self.predict(X, self.tau if tau is None else np.sort(np.atleast_1d(tau)), threads=threads)
        falls = np.diff(curves, axis=1) < -CROSSED * np.abs(curves).max(initial=0.0)
        return float(falls.any(axis=1).mean()) if len(curves) else 0.0


# A curve must be lower by more than this share of the largest prediction to count as crossing: the path's accuracy.
CROSSED = 1e-9


def tau_path(
    X: Any,
    y: Any,
    tau_min: float = 0.05,
    tau_max: float = 0.95,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    observer: Observer | None = None,
    **options: Any,
) -> TauPath:
    """The quantile curve at every tau from ``tau_min`` to ``tau_max``.

    Coefficients are piecewise linear in tau (Takeuchi, Nomura & Kanamori, *Nonparametric conditional density estimation
    using piecewise-linear solution path of kernel quantile regression*, Neural Computation 21, 2009), so the path is
    followed from breakpoint to breakpoint, in double precision, as in ``c_path``.

    Parameters
    ----------
    X, y
        As in ``train``, for regression.
    tau_min, tau_max : float
        Ends of the path, 0 < tau_min <= tau_max < 1.
    param, sample_weight, observer, **options
        As in ``train``, for quantile regression, the default here; tau itself is ignored.

    Returns
    -------
    TauPath
        Independent of the number of threads.

    Raises
    ------
    ParameterError
        Also for other formulations and probability estimates, and for a kernel that is not positive semidefinite where
        the optimum cannot be followed.
    DataError
        As in ``train``.
    TooLittleMemory
        The path keeps 24 bytes for each row on the margin at each breakpoint.
    StoppedEarly
        ``time_limit``, seconds for the whole call, or the observer ended it.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(scale=0.2, size=50)
    >>> path = libsvmx.tau_path(X, y, C=10, gamma=1.0)
    >>> low, middle, high = path.predict(X, [0.1, 0.5, 0.9]).T
    >>> bool((y < low).mean() <= 0.1), bool((y > high).mean() <= 0.1)
    (True, True)
    """
    tau_min, tau_max = converted("tau_min", tau_min, float), converted("tau_max", tau_max, float)
    if not 0 < tau_min <= tau_max < 1:
        raise ParameterError(f"0 < tau_min <= tau_max < 1 is needed, not {tau_min:g} and {tau_max:g}")
    X, known, options = called(X, options)
    if param is None:
        options.setdefault("svm_type", SvmType.QUANTILE_SVR)
    param = replace(parameter_of(param, options, X=X), tau=tau_min)
    if param.quantile is None:
        raise ParameterError(f"a path along tau is one of quantile regression, not of {param.svm_type.name}")
    return followed_from(TauPath, X, y, param, known, tau_max, "tau", sample_weight, observer)
