"""The model at every C of an interval, and its cross-validated error: a path instead of a grid."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from libsvmx._core.records import record, replace
from libsvmx._core.threads import thread_count
from libsvmx._solvers.solver import converted
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.repeated_folds import draw_folds
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._train.updating.cost_curve import Curve, middle
from libsvmx._train.updating.cost_folds import followed
from libsvmx._train.updating.cost_path import NO_PATH, Costs, Ways, check_followed
from libsvmx._train.updating.state import train_state
from libsvmx._train.zero_weights import check_bounds
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import decision_values, folds_of, numbers_of, parameter_of, problem_of, rand_of
from libsvmx.api.kernels import KernelRows, call_on, called, with_all_values
from libsvmx.api.state import State
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

AnyPath = TypeVar("AnyPath", bound="ModelPath")


@record(frozen=True, slots=True, eq=False)
class ModelPath:
    """Base class of CostPath and TauPath: the optimum at every value of C or tau."""

    _breakpoints: FloatArray
    _costs: Costs
    _curve: Curve | None
    _known: KernelRows | None  # rows of the caller's own kernel, if it is one

    def __repr__(self) -> str:
        first, last = self._breakpoints[[0, -1]].tolist()
        return (
            f"<{type(self).__name__} of {self.param.svm_type.name}, {self._costs.moved} from {first:g} to {last:g}, "
            f"{len(self._breakpoints)} breakpoints>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled: take its model at the {self._costs.moved} that is wanted"
        )

    @property
    def param(self) -> Parameter:
        """Parameters of the path; its C, or tau, is the smallest one."""
        return self._costs.param

    def _on_the_path(self, given: Any) -> FloatArray:
        """Values as an array. Raises ParameterError for values off the path."""
        moved = self._costs.moved
        try:
            values = numbers_of(given, moved)
        except DataError as error:
            raise ParameterError(str(error)) from None
        least, most = self._breakpoints[[0, -1]].tolist()
        for value in values[~((values >= least) & (values <= most))].reshape(-1)[:1].tolist():
            raise ParameterError(f"{moved} = {value:g} is not on the path, which is from {least:g} to {most:g}")
        return values

    def _model(self, given: Any) -> Model:
        """The model at one point. Raises ParameterError."""
        if np.ndim(given):
            raise ParameterError(f"{self._costs.moved} must be one number, not an array of shape {np.shape(given)}")
        model = self._costs.model(float(self._on_the_path(given)))
        return model if self._known is None else self._known.in_model(model)


class CostPath(ModelPath):
    """The optimum at every C from ``C_min`` to ``C_max``, made by ``c_path``.

    Examples
    --------
    The examples of its methods go on from this one.

    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> path = libsvmx.c_path(X, y, 0.1, 100, n_folds=5, gamma=0.5)
    >>> path.C_min, path.C_max
    (0.1, 100.0)
    """

    __slots__ = ()

    @property
    def C(self) -> FloatArray:
        """Breakpoints in ascending order, ends included: ndarray, shape (m,), read-only. Between them coefficients, rho
        and decision values are linear in C."""
        return self._breakpoints

    @property
    def C_min(self) -> float:
        return float(self.C[0])

    @property
    def C_max(self) -> float:
        return float(self.C[-1])

    def model(self, C: float) -> Model:
        """The model at C, as ``train`` returns it.

        Parameters
        ----------
        C : float
            Between ``C_min`` and ``C_max``.

        Returns
        -------
        Model

        Raises
        ------
        ParameterError
            A C that is not on the path.

        Examples
        --------
        >>> path.model(3.7).param.C
        3.7
        """
        return self._model(C)

    def decision_values(self, X: Any, C: float, *, threads: int = 0) -> FloatArray:
        """As ``libsvmx.decision_values(path.model(C), X, threads=threads)``.

        Parameters
        ----------
        X, threads
            As in ``libsvmx.decision_values``.
        C : float
            As in ``model``.

        Returns
        -------
        ndarray of float64, shape (n, n_functions)

        Raises
        ------
        DataError, ParameterError

        Examples
        --------
        >>> path.decision_values(X[:3], C=3.7).shape
        (3, 1)
        """
        return decision_values(self.model(C), X, threads=threads)

    def n_support(self, C: float) -> int:
        """Number of support vectors of the model at C.

        Parameters
        ----------
        C : float
            As in ``model``.

        Returns
        -------
        int

        Raises
        ------
        ParameterError

        Examples
        --------
        >>> path.n_support(0.1) > path.n_support(100)
        True
        """
        return self.model(C).n_sv

    # ---- cross-validation ------------------------------------------------------------------------

    def cv_error(self, C: Any) -> Any:
        """Cross-validated error at C, exact, not interpolated.

        Parameters
        ----------
        C : float or array of float
            Between ``C_min`` and ``C_max``.

        Returns
        -------
        float or ndarray of float64
            Percent of rows predicted wrongly by the model trained without their fold; in regression the mean squared
            error, with quantiles the mean pinball loss.

        Raises
        ------
        ParameterError
            A C that is not on the path, or a path without cross-validation.

        Examples
        --------
        >>> path.cv_error([1, 10]).shape, path.cv_error(path.best_C) == path.best_error
        ((2,), True)
        """
        found = self._validated.at(self._on_the_path(C))
        return float(found) if np.ndim(C) == 0 else found

    @property
    def cv_C(self) -> FloatArray:
        """Where ``cv_error`` changes, ends of the path included: ndarray, shape (k + 1,). In between it is constant in
        classification, a parabola in regression, and linear with quantiles."""
        return self._validated.C.copy()

    @property
    def best_error(self) -> float:
        """Smallest cross-validated error."""
        return self._validated.least()[0]

    @property
    def best_interval(self) -> tuple[float, float]:
        """First and last C with the smallest error; of several such intervals the one that spans the largest factor. In
        regression usually a point."""
        return self._validated.least()[1:]

    @property
    def best_C(self) -> float:
        """The geometric mean of ``best_interval``."""
        return middle(*self.best_interval)

    @property
    def standard_error(self) -> float:
        """Standard error of ``best_error``, a share of the rows, in percent. Raises ParameterError for regression."""
        if self.param.svm_type.is_regression:
            raise ParameterError("only a path with classes has a standard error")
        return float(self._standard_errors(self.best_error))

    def _standard_errors(self, errors: Any) -> Any:
        """Standard errors, in percent, of errors in percent."""
        shares = errors / 100
        return 100 * np.sqrt(shares * (1 - shares) / len(self._costs.problem))

    @property
    def near_interval(self) -> tuple[float, float]:
        """Interval where the error is within one ``standard_error`` of the least; of several, the one that spans the
        largest factor. A C in its middle depends less on chance than ``best_C``."""
        return self._validated.widest_below(self.best_error + self.standard_error)

    def plot(self, axes: Any = None) -> Any:
        """Draw the cross-validated error over C, as ``libsvmx.plot.path(path, ax=axes)``.

        Parameters
        ----------
        axes : matplotlib Axes
            Axes to draw in; None: those of a new figure.

        Returns
        -------
        Axes

        Raises
        ------
        ParameterError
            A path without cross-validation.

        Examples
        --------
        >>> path.plot().figure.savefig("curve.png")
        """
        from libsvmx.plot.curves import path

        return path(self, ax=axes)

    # ---- internals -------------------------------------------------------------------------------

    @property
    def _validated(self) -> Curve:
        if self._curve is None:
            raise ParameterError("there was no cross-validation: give c_path a number of folds, n_folds=5")
        return self._curve


def followed_from(
    kind: type[AnyPath],
    X: Any,
    y: Any,
    param: Parameter,
    known: KernelRows | None,
    last: float,
    moved: str,
    sample_weight: Any,
    observer: Observer | None,
    n_folds: int | None = None,
    random_state: int | None = None,
) -> AnyPath:
    """Follow a path of class ``kind`` along the field ``moved``, from its value in ``param`` to ``last``.

    ``known``: rows of the caller's own kernel. Raises as ``c_path``.
    """
    check_followed(param)
    problem, param = problem_of(X, y, param, sample_weight)
    end: dict[str, Any] = {moved: last}
    largest = replace(param, **end)
    largest.require_finite_cost(f"a path along {moved}")
    check_bounds(problem, largest)
    with call_on(problem, param, observer) as told:
        try:
            state = train_state(with_all_values(problem, known, told), param, told, State)
        except StoppedEarly as stop:
            raise StoppedEarly(stop.status, NO_PATH) from None
        if not state.binaries:
            raise DataError("all rows are of one class: no C makes a difference")
        order, bounds = None, [0]
        if n_folds is not None:
            order, bounds = draw_folds(state.problem, param, n_folds, rand_of(random_state), told)
        threads = min(thread_count(param.threads), len(bounds))
        with errors_of_a_path(NO_PATH):
            paths, curve = followed(Ways(state, last, threads, told, moved), order, bounds, threads, told)
        costs = Costs(param, state.problem, paths, last, moved)
        breakpoints = costs.breakpoints
        breakpoints.flags.writeable = False
        return kind(breakpoints, costs, curve, None if known is None else known.copied())


def c_path(
    X: Any,
    y: Any,
    C_min: float = 0.01,
    C_max: float = 100.0,
    n_folds: int | None = None,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> CostPath:
    """The optimum at every C from ``C_min`` to ``C_max`` and, with ``n_folds`` folds, its error: a curve, not points.

    Coefficients are piecewise linear in C (Hastie, Rosset, Tibshirani & Zhu, *The entire regularization path for the
    support vector machine*, JMLR 5, 2004), so the path is followed from breakpoint to breakpoint, in double precision,
    and interpolated exactly between them. So are the paths without each fold; the cross-validated error has a step
    where the decision value of a held-out row changes its sign.

    Parameters
    ----------
    X, y
        As in ``train``, for C-SVC, epsilon-SVR or quantile regression.
    C_min, C_max : float
        Ends of the path, 0 < C_min <= C_max; weights of rows and classes multiply C.
    n_folds : int or None
        Number of folds, drawn as in ``cross_validate``; None: no cross-validation; ``cv`` is a synonym.
    param, sample_weight, random_state, observer, **options
        As in ``cross_validate``; C itself is ignored.

    Returns
    -------
    CostPath
        Independent of the number of threads.

    Raises
    ------
    ParameterError
        Also for other formulations, probability estimates, and kernels that are not positive semidefinite, if the path
        cannot be followed.
    DataError
        Also for rows of a single class.
    TooLittleMemory
        For 24 bytes for each row on the margin at each breakpoint.
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> path = libsvmx.c_path(X, y, 0.1, 100, n_folds=5, gamma=0.5)
    >>> path.model(3.7).param.C
    3.7
    >>> path.n_support(0.1) > path.n_support(100)
    True
    >>> path.best_error == path.cv_error(path.best_C)
    True
    """
    C_min, C_max = converted("C_min", C_min, float), converted("C_max", C_max, float)
    if not C_min > 0:
        raise ParameterError(f"C_min must be positive, not {C_min:g}")
    if C_min > C_max:
        raise ParameterError(f"C_min must be at most C_max, but {C_min:g} > {C_max:g}")
    X, known, options = called(X, options)
    n_folds = folds_of(n_folds, options)
    param = replace(parameter_of(param, options, random_state, X), C=C_min)
    return followed_from(CostPath, X, y, param, known, C_max, "C", sample_weight, observer, n_folds, random_state)
