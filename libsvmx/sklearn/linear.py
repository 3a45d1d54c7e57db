"""LinearSVC and LinearSVR: LIBLINEAR's problems, in which the intercept is penalised.

    min_w  1/2 |w|^2 + C sum_i weight_i loss(y_i, x_i'w),       x_i with a last feature, intercept_scaling

One problem in regression and with two classes, else one for each class against the rest, on the same rows.
"""

from __future__ import annotations

from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel, SparseCoefMixin
from sklearn.svm import _classes
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.stopping import Leeway, Token
from libsvmx._core.threads import in_order
from libsvmx._kernels.feature_products import SparseRows
from libsvmx._solvers.linear.row_passes import ChosenRows, Losses
from libsvmx._solvers.linear.solver import LinearSolution, LinearSolver
from libsvmx._train.parameter import MAX_THREADS
from libsvmx._typing import FloatArray
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, ParameterError, warn_caller
from libsvmx.sklearn.input_checks import training_data
from libsvmx.sklearn.parameters import NOT_NEGATIVE, POSITIVE, SECONDS, THREADS, parameter, with_parameters
from libsvmx.sklearn.rows import weights_of
from libsvmx.sklearn.tasks import Trains, told_of_each

# Duality gap at the end, relative to the objective, is this times ``tol``: about that of LIBLINEAR when it converges.
GAP_OF_TOL = 0.01
# Before 1.8, scikit-learn's balanced class weights ignore those of rows.
WEIGHTS_BALANCE = "sample_weight" in signature(compute_class_weight).parameters
# Allowed parameters, also of the searches.
HINGE_LOSSES = [StrOptions({"hinge", "squared_hinge"})]
TUBE_LOSSES = [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})]
CLASS_WEIGHTS = [None, dict, StrOptions({"balanced"})]


def feature_rows(X: Any) -> Any:
    """Validated rows for the solver: the array itself, or SparseRows."""
    if not issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indptr, indices = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
    return SparseRows(indptr, indices, X.data.astype(np.float64, copy=False), X.shape[1])


class Function(NamedTuple):
    """Targets and costs of one function.

    Attributes
    ----------
    target : array of shape (m,)      1 and -1, or targets
    cost : array of shape (m,)        cost of each row at C = 1
    """

    target: FloatArray
    cost: FloatArray


class LinearTraining:
    """LinearTraining(estimator, rows, chosen, functions): the problems of an estimator on some of the rows.

    Parameters
    ----------
    rows
        As in ``feature_rows``.
    chosen : array of int64, shape (m,)      rows of positive weight
    functions : list of Function
    """

    def __init__(self, estimator: Any, rows: Any, chosen: Any, functions: list[Function]) -> None:
        constant = float(estimator.intercept_scaling) if estimator.fit_intercept else 0.0
        self.rows, self.functions = ChosenRows(rows, chosen, constant), functions
        self.is_squared, self.tube = estimator.loss.startswith("squared"), getattr(estimator, "epsilon", None)
        self.tol, self.max_iter = GAP_OF_TOL * estimator.tol, estimator.max_iter

    def losses(self, k: int, C: float) -> Losses:
        """Losses of function k."""
        target, cost = self.functions[k]
        bound = np.full(len(target), np.inf) if self.is_squared else C * cost
        smallest = C * cost.min(initial=np.inf)
        if not C * cost.max(initial=0.0) < np.inf or (self.is_squared and not smallest > 1e-300):
            raise ParameterError(f"C={C:g} times the weights of rows is too large or too small a number to train with")
        ridge = 0.5 / (C * cost) if self.is_squared else np.zeros(len(target))
        if self.tube is not None:
            return Losses(target, -bound, bound, ridge, float(self.tube))
        return Losses(target, np.where(target > 0, 0.0, -bound), np.where(target > 0, bound, 0.0), ridge, 0.0)

    def solve(self, k: int, C: float, asking: Token, start: FloatArray | None = None) -> LinearSolution:
        """Train function k; ``start``: a feasible beta, shape (m,). Raises ParameterError, DataError."""
        losses = self.losses(k, C)
        if losses.primal(np.zeros(losses.m)) < np.inf:
            found = LinearSolver(self.rows, losses, self.tol, self.max_iter, asking).solve(start)
            if np.isfinite(found.objective) and np.isfinite(found.gap):
                return found
        raise DataError("the objective is too large for a number: scale the rows and targets, or take a smaller C")


def one_against_rest(
    codes: Any, n_classes: int, class_weight: FloatArray, weights: FloatArray | None
) -> list[Function]:
    """The functions of a classifier for rows with these class codes; with two classes one, positive for the second.

    As in LIBLINEAR, class weights apply to the positive class only, except with two classes.
    """
    found = []
    for k in range(n_classes) if n_classes > 2 else [1]:
        positive = codes == k
        cost = np.where(positive, class_weight[k], class_weight[0] if n_classes == 2 else 1.0)
        found.append(Function(np.where(positive, 1.0, -1.0), cost if weights is None else cost * weights))
    return found


@with_parameters
class MethodParameters:
    """Parameters of all that solve linear problems."""

    tol: float = parameter(default=1e-4, allowed=POSITIVE)
    fit_intercept: bool = parameter(default=True, allowed=["boolean"])
    intercept_scaling: float = parameter(default=1, allowed=[Interval(Real, 0, None, closed="neither")])
    max_iter: int = parameter(default=1000, allowed=[Interval(Integral, 0, None, closed="left")])


@with_parameters
class LinearParameters(MethodParameters, BaseEstimator):
    """Parameters of LinearSVC and LinearSVR."""

    C: float = parameter(default=1.0, allowed=POSITIVE)
    dual: Any = parameter(default="auto", allowed=["boolean", StrOptions({"auto"})])
    verbose: int = parameter(default=0, allowed=["verbose"])
    random_state: Any = parameter(default=None, allowed=["random_state"])
    n_jobs: int | None = parameter(default=None, allowed=THREADS)
    max_time: float | None = parameter(default=None, allowed=SECONDS)


class BaseLinear(Trains, LinearParameters):
    """Base class of LinearSVC and LinearSVR."""

    coef_: Any
    intercept_: Any
    dual_gap_: Any
    objective_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y = training_data(self, X, y, float32=True)
        weights, counting = weights_of(sample_weight, X)
        chosen = np.arange(X.shape[0]) if counting is None else counting.astype(np.int64)
        training = self._training(feature_rows(X), y, chosen, None if weights is None else weights[chosen])
        asking = Token(self.max_time or 0.0)
        jobs = [(k, float(self.C), asking) for k in range(len(training.functions))]
        threads = min(int(effective_n_jobs(self.n_jobs)), MAX_THREADS)
        with one_blas_thread():  # sums would depend on the number of BLAS threads
            # each solve checks the time itself and returns a result, so they are only awaited
            coming = in_order(training.solve, jobs, threads, Leeway(asking))
            solutions = list(told_of_each(self, "solve", coming, len(jobs)))
        self._show(solutions)
        self._tell_end(solutions)

    def _training(self, rows: Any, y: Any, chosen: Any, weights: FloatArray | None) -> LinearTraining:
        """The problems on the rows ``chosen``, those of positive weight. Raises ValueError."""
        raise NotImplementedError

    def _show(self, solutions: list[LinearSolution]) -> None:
        """Set coef_ and intercept_."""
        w = np.array([solution.w for solution in solutions])
        if self.fit_intercept:
            self.coef_, self.intercept_ = w[:, :-1].copy(), self.intercept_scaling * w[:, -1]
        else:
            self.coef_, self.intercept_ = w, 0.0

    def _tell_end(self, solutions: list[LinearSolution]) -> None:
        """Set the attributes on the solves, and warn if one missed its gap."""
        self.n_iter_ = max(solution.iterations for solution in solutions)
        self.objective_ = np.array([solution.objective for solution in solutions])
        self.dual_gap_ = np.array([solution.gap for solution in solutions])
        early = [solution for solution in solutions if solution.status != SolveStatus.CONVERGED]
        self.fit_status_ = int(bool(early))
        if early:
            worst = max(solution.gap / solution.objective for solution in early)
            limit = f" (max_iter={self.max_iter})" if early[0].status == SolveStatus.ITERATION_LIMIT else ""
            warn_caller(
                f"Solver terminated early: {early[0].status}{limit}. The duality gap is {worst:.1e} of the objective, "
                f"and should be {GAP_OF_TOL * self.tol:.1e} (tol / 100).",
                ConvergenceWarning,
            )


@with_parameters
class LinearSVC(LinearClassifierMixin, SparseCoefMixin, BaseLinear):
    """Linear classification with a penalised intercept, with the parameters and attributes of
    ``sklearn.svm.LinearSVC``.

    The objective is the same. Training ends when the duality gap proves it to be within ``tol / 100`` of its minimum,
    relatively. There is no randomness: the same rows give the same bits with any number of threads. ``fit`` does not
    copy float64 and float32 arrays in C order, nor CSR matrices of float64.

    Parameters
    ----------
    penalty : {'l2'}, default='l2'
        'l1' is refused.
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        Loss function.
    dual : bool or 'auto', default='auto'
        Ignored: the method does not depend on it.
    tol : float, default=1e-4
        Training ends when the duality gap is at most tol / 100 of the objective.
    C : float, default=1.0
        Cost, > 0.
    multi_class : {'ovr'}, default='ovr'
        One class against all others; 'crammer_singer' is refused.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    intercept_scaling : float, default=1
        Value of the constant feature that stands for the intercept; the larger, the less the intercept is penalised.
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced': inversely proportional to its number of rows.
    verbose : int, default=0
        Ignored.
    random_state : default=None
        Ignored.
    max_iter : int, default=1000
        Maximum number of coordinate descent passes and Newton steps.
    n_jobs : int or None, default=None
        Number of threads for several classes, as in joblib: None is 1, -1 all. Results do not depend on it.
    max_time : float or None, default=None
        Time limit of a fit in seconds; the result so far is kept.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features)
        Weights of the features.
    intercept_ : array of shape (1,) or (n_classes,)
        Intercepts; 0.0 without ``fit_intercept``.
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    n_iter_ : int
        Passes and Newton steps of the class that needed most.
    dual_gap_ : array of shape (1,) or (n_classes,)
        Bound on the distance of ``objective_`` from its minimum.
    objective_ : array of shape (1,) or (n_classes,)
        Objective of the primal problem.
    fit_status_ : int
        0, or 1 if training ended before its gap was reached.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from libsvmx import LinearSVC
    >>> LinearSVC().fit([[0.0, 0.0], [1.0, 1.0]], ["small", "large"]).predict([[0.9, 0.8]])
    array(['large'], dtype='<U5')
    """

    penalty: str = parameter(default="l2", allowed=[StrOptions({"l1", "l2"})], kw_only=False)
    loss: str = parameter(default="squared_hinge", allowed=HINGE_LOSSES, kw_only=False)
    multi_class: str = parameter(default="ovr", allowed=[StrOptions({"ovr", "crammer_singer"})])
    class_weight: Any = parameter(default=None, allowed=CLASS_WEIGHTS)

    # scikit-learn's class, while patched: trains what is refused here
    _theirs: ClassVar[Any] = None
    # Whether this estimator, or its original, was pickled while patched: joblib's workers are not patched
    _was_patched = False

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any) -> None:
        refused = ""
        if self.penalty != "l2":
            refused = (
                "penalty='l1' is another problem, whose dual has no kernel: take penalty='l2' here, or "
                "sklearn.svm.LinearSVC(penalty='l1', dual=False)"
            )
        if self.multi_class != "ovr":
            refused = (
                "multi_class='crammer_singer' is one problem of all classes: take multi_class='ovr' here, which is "
                "rarely less accurate, or sklearn.svm.LinearSVC(multi_class='crammer_singer')"
            )
        if not refused:
            super()._be_fitted(X, y, sample_weight)
        elif self._theirs is None and not self._was_patched:
            raise ParameterError(refused)
        else:
            own, kind = self.get_params(deep=False), self._theirs or _classes.LinearSVC
            theirs = kind(**{name: own[name] for name in signature(kind).parameters})
            for name in [name for name in vars(self) if name.endswith("_")]:  # of an earlier fit by this class
                del self.__dict__[name]
            self.__dict__.update(vars(theirs.fit(X, y, sample_weight)))

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return state if self._theirs is None else {**state, "_was_patched": True}

    def __sklearn_clone__(self) -> Any:
        made = super().__sklearn_clone__()
        if self._was_patched:
            made._was_patched = True
        return made

    def _training(self, rows: Any, y: Any, chosen: Any, weights: FloatArray | None) -> LinearTraining:
        check_classification_targets(y)
        classes, codes = np.unique(y[chosen], return_inverse=True)  # as in SVC, of the rows of positive weight
        if not len(codes):
            raise ParameterError("at least two classes are needed, but no row counts")
        if len(classes) < 2:
            raise ParameterError(
                f"at least two classes are needed, but all rows that count are of one class: {classes.tolist()[0]!r}"
            )
        known = {"sample_weight": np.ones(len(codes)) if weights is None else weights} if WEIGHTS_BALANCE else {}
        class_weight = compute_class_weight(self.class_weight, classes=classes, y=classes[codes], **known)
        if not ((class_weight > 0) & (class_weight < np.inf)).all():
            raise ParameterError("class weights must be > 0; leave out the rows of a class instead")
        self.classes_ = classes
        return LinearTraining(self, rows, chosen, one_against_rest(codes, len(classes), class_weight, weights))


@with_parameters
class LinearSVR(RegressorMixin, BaseLinear, LinearModel):
    """Linear regression with a tube and a penalised intercept, with the parameters and attributes of
    ``sklearn.svm.LinearSVR``.

    The objective is the same. ``fit`` copies as little as that of ``LinearSVC``.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width of the tube in which errors cost nothing, >= 0.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        Loss function.
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, n_jobs, max_time
        As in ``LinearSVC``.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        Weights of the features.
    intercept_ : array of shape (1,)
        Intercept; 0.0 without ``fit_intercept``.
    n_iter_ : int
        Passes and Newton steps.
    dual_gap_ : float
        Bound on the distance of ``objective_`` from its minimum.
    objective_ : float
        Objective of the primal problem.
    fit_status_, n_features_in_, feature_names_in_
        As in ``LinearSVC``.

    Examples
    --------
    >>> from libsvmx import LinearSVR
    >>> LinearSVR(C=100).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(2)
    array([7.])
    """

    epsilon: float = parameter(default=0.0, allowed=NOT_NEGATIVE)
    loss: str = parameter(default="epsilon_insensitive", allowed=TUBE_LOSSES)

    def _training(self, rows: Any, y: Any, chosen: Any, weights: FloatArray | None) -> LinearTraining:
        target = np.asarray(y, dtype=np.float64)[chosen]
        if not len(target):
            raise ParameterError("no row counts: there is nothing to train on")
        return LinearTraining(
            self, rows, chosen, [Function(target, np.ones(len(target)) if weights is None else weights)]
        )

    def _show(self, solutions: list[LinearSolution]) -> None:
        super()._show(solutions)
        self.coef_ = self.coef_.ravel()

    def _tell_end(self, solutions: list[LinearSolution]) -> None:
        super()._tell_end(solutions)
        self.objective_, self.dual_gap_ = float(self.objective_[0]), float(self.dual_gap_[0])
