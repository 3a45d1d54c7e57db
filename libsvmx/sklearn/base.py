"""Base class of the estimators: validation, training by the lower layers, attributes, decision values."""

from __future__ import annotations

from copy import copy
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted

from libsvmx._core.copy_and_swap import at_once
from libsvmx._core.records import replace
from libsvmx._solvers.solver import Solver
from libsvmx._train.folds import Rand
from libsvmx._train.gamma import gamma_of
from libsvmx._train.observer import Remark
from libsvmx._train.parameter import MAX_THREADS, Parameter, is_several
from libsvmx._train.problem import Problem
from libsvmx._train.warm_start import KnownOptima, WarmStart
from libsvmx.api.arrays import check_kernel, scaled
from libsvmx.api.kernel_values import NamedRows
from libsvmx.api.kernels import CalledTests, KernelRows
from libsvmx.api.own_kernel import Named, as_kernel
from libsvmx.enums import KernelType, SolveStatus, SvmType
from libsvmx.exceptions import warn_caller
from libsvmx.io.transcript import REMARKS
from libsvmx.sklearn.class_order import name_classes
from libsvmx.sklearn.files import KERNEL_NAMES, LibsvmFiles
from libsvmx.sklearn.fitted import FittedModel
from libsvmx.sklearn.input_checks import test_data, training_data
from libsvmx.sklearn.parameters import (
    CALLBACK,
    NOT_NEGATIVE,
    POSITIVE,
    SECONDS,
    THREADS,
    check_parameters,
    parameter,
    with_parameters,
)
from libsvmx.sklearn.pickling import Pickled
from libsvmx.sklearn.rows import matrix_of, vectors_of, weights_of
from libsvmx.sklearn.tasks import Trains
from libsvmx.sklearn.together import fit_together
from libsvmx.sklearn.training import (
    TrainingData,
    fingerprint,
    refined,
    train,
    train_without_steps,
)
from libsvmx.sklearn.updating import Updating

try:
    from sklearn.utils._sparse import _align_api_if_sparse as as_configured  # matrix or array, from 1.9
except ImportError:

    def as_configured(X: Any) -> Any:
        return sparse.csr_matrix(X)


from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.prediction import Tests
from libsvmx._typing import FloatArray, IntArray

KERNELS = {name: kind for kind, name in KERNEL_NAMES.items()}
# attributes set by a fit, besides the names and the number of features
FITTED = (
    *("_fitted", "support_", "support_vectors_", "n_support_", "dual_coef_", "intercept_", "offset_", "n_iter_"),
    *("fit_status_", "optimality_", "shape_fit_", "classes_", "class_weight_", "row_ids_", "_kept", "estimators_"),
)
# Iterations of SMO for scikit-learn's max_iter=-1. A hard margin, which need not have an optimum, keeps LIBSVM's
# default, max(10^7, 100 l).
NO_LIMIT = 2**63 - 1


class TakesKernel(BaseEstimator):
    """An estimator with a parameter ``kernel``, which may be 'precomputed'."""

    kernel: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


@with_parameters
class KernelParameters(TakesKernel):
    """Parameters of all estimators with a kernel, and of the searches."""

    kernel: Any = parameter(default="rbf", allowed=[StrOptions(set(KERNELS)), callable])
    degree: int = parameter(default=3, allowed=[Interval(Integral, 0, None, closed="left")])
    coef0: float = parameter(default=0.0, allowed=[Interval(Real, None, None, closed="neither")])
    tol: float = parameter(default=1e-3, allowed=POSITIVE)
    shrinking: bool = parameter(default=True, allowed=["boolean"])
    cache_size: float = parameter(default=200, allowed=[Interval(Real, 0, None, closed="neither")])


@with_parameters
class SolverParameters(KernelParameters):
    """Parameters of all estimators that are trained by solving dual problems."""

    gamma: Any = parameter(default="scale", allowed=[StrOptions({"scale", "auto"}), *NOT_NEGATIVE, "array-like"])
    verbose: bool = parameter(default=False, allowed=["verbose"])
    max_iter: int = parameter(default=-1, allowed=[Interval(Integral, -1, None, closed="left")])
    solver: Any = parameter(default="smo", allowed=[StrOptions({"smo", "auto", "chunked", "irwls", "crsvm"}), Solver])
    n_jobs: int | None = parameter(default=None, allowed=THREADS)
    max_time: float | None = parameter(default=None, allowed=SECONDS)

    def _validate_params(self) -> None:
        """Check the parameters; called by ``fit``."""
        if type(self).__module__.startswith("libsvmx.sklearn."):
            check_parameters(self)
        else:  # a user's subclass may have other defaults
            super()._validate_params()


@with_parameters
class RefittingParameters(SolverParameters):
    """Parameters of the estimators of one function, which can be fitted again, refined, and given rows."""

    warm_start: bool = parameter(default=False, allowed=["boolean"])
    refine: bool = parameter(default=False, allowed=["boolean"])
    keep_rows: bool = parameter(default=False, allowed=["boolean"])
    callback: Any = parameter(default=None, allowed=CALLBACK)


class Predicts:
    """Mixin of all that predict a class or a target for each row; a search by its best model."""

    def predict(self, X: Any) -> Any:
        """Predict the classes or targets of rows; a search by its best model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Where the estimator has ``kernel``, with ``kernel="precomputed"`` of shape (n_samples, number of training
            rows).

        Returns
        -------
        array of shape (n_samples,)
            Elements of ``classes_`` if there are classes; of several targets
            (``MultiOutputSVR``) shape (n_samples, n_outputs).
        """
        return at_once(self)._predictions(X)

    def _predictions(self, X: Any) -> Any:
        """``predict`` on a snapshot that no other thread changes."""
        raise NotImplementedError


class BaseSVM(Trains, Updating, LibsvmFiles, Pickled, Predicts, RefittingParameters):
    """An estimator trained by one dual problem, or one for each pair of classes."""

    _svm_type: ClassVar[SvmType]
    _takes_class_weight: ClassVar[bool] = False

    # attributes set by a fit
    support_: IntArray
    n_support_: IntArray
    dual_coef_: Any
    intercept_: FloatArray
    offset_: FloatArray
    n_iter_: Any
    fit_status_: int
    optimality_: float
    shape_fit_: tuple[int, ...]
    class_weight_: FloatArray
    row_ids_: Any

    @classmethod
    def _get_param_names(cls) -> list[str]:
        kind: Any = cls
        return list(parameter_names(kind))

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def _trained(self, X: Any, y: Any, sample_weight: Any, **how: bool) -> Any:
        return super()._trained(X, y, sample_weight, **(how or {"keep": self.keep_rows, "exact": self.refine}))

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any, keep: bool, exact: bool) -> None:
        """``keep`` the rows; refine to the ``exact`` optimum."""
        self.__dict__.pop("_fitted", None)
        try:
            fit_together(self, [self], X, [("", y)], sample_weight, keep, exact)
        except BaseException as error:
            name_classes(error, self.__dict__.get("classes_"))
            raise

    def _may_borrow(self, keep: bool, exact: bool) -> bool:
        """Whether training may use the caller's array without a copy: its rows are neither kept nor, unless they hold
        kernel values, predicted (predictions look rows up by value, which another thread might change)."""
        predicted = exact or self.warm_start or getattr(self, "probability", False)
        return not keep and (self._is_kernel or not predicted)

    def _be_trained(self, model: Model, data: TrainingData, keep: bool, exact: bool, observer: Observer) -> None:
        """Set the fitted attributes from a trained model, refined first if ``exact``."""
        if exact and not keep:
            model = refined(model, data.problem, observer)
        self._show_training(model, data, keep)
        if keep and exact and not self.fit_status_:
            self._refine_kept(self._kept, observer)

    def _show_training(self, model: Model, data: TrainingData, keep: bool) -> None:
        """Set the fitted attributes from a trained model."""
        self.shape_fit_ = data.shape
        support = np.asarray(model.row_numbers) - 1
        self.support_ = support if data.chosen is None else data.chosen[support]
        none = np.empty((0, 0))
        self._read_off(model, none if self._is_kernel else vectors_of(model, data.rows, self.support_))
        self._tell_end(model)
        fitted = FittedModel(model, None if data.training_rows is None else data.training_rows.rows)
        if keep:
            self._kept = self._keep(data, sparse.issparse(data.rows))
            self.row_ids_ = self._kept.ids
        self._fitted = fitted

    def _predictions(self, X: Any) -> Any:
        tests = self._tests(X)
        return self._fitted.predictions(tests, self._threads)

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, shape (n_sv, n_features); those of dense rows are made of the model's at the first use."""
        own = vars(self)
        if "support_vectors_" in own:
            return own["support_vectors_"]
        if "_fitted" not in own:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: it has no support_vectors_")
        return self._fitted.dense_vectors

    @support_vectors_.setter
    def support_vectors_(self, vectors: Any) -> None:
        self.__dict__["support_vectors_"] = vectors

    @support_vectors_.deleter
    def support_vectors_(self) -> None:
        del self.__dict__["support_vectors_"]

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (n_functions, n_features); only with a linear kernel."""
        return at_once(self)._coef()

    def _coef(self) -> Any:
        fitted = vars(self).get("_fitted")
        if self.kernel != "linear" or (fitted and fitted.model.param.kernel_type != KernelType.LINEAR):
            raise AttributeError("coef_ is only available when using a linear kernel")
        beta = self._coefficients_by_function()
        vectors = self.support_vectors_
        if sparse.issparse(vectors):
            coef = as_configured(sparse.csr_array(sparse.csr_array(beta) @ vectors))
            coef.data.flags.writeable = False
        else:
            coef = beta @ vectors
            coef.flags.writeable = False
        return coef

    def _shaped(self, values: FloatArray) -> FloatArray:
        """Decision values, shape (n, n_functions), in the shape of ``decision_function``."""
        return values.ravel()

    def _coefficients_by_function(self) -> FloatArray:
        """Coefficients of the support vectors in each decision function, shape (n_functions, n_sv)."""
        coef = self.dual_coef_
        return coef.toarray() if sparse.issparse(coef) else coef

    @property
    def _is_kernel(self) -> bool:
        """Whether the kernel is precomputed."""
        return self._is_called or self.kernel == "precomputed"

    @property
    def _is_called(self) -> bool:
        """Whether the kernel is a callable; 0.3.0 has called ``Kernel.named``, too."""
        if isinstance(self.kernel, Named):
            return isinstance(getattr(vars(self).get("_fitted"), "vectors", None), NamedRows)
        return callable(self.kernel)

    def _gamma_of(self, rows: Any) -> Any:
        """gamma for these training rows: a number, or one for each feature."""
        if isinstance(self.kernel, Named):
            return self.kernel.param.gammas or self.kernel.param.gamma
        if self._is_kernel:
            return 0.0
        return copy(self.gamma) if is_several(self.gamma) else gamma_of(self.gamma, rows)

    @property
    def _kernel_fields(self) -> dict[str, Any]:
        """Kernel fields of a Parameter; needs ``_gamma``."""
        own: Any = self.kernel.param if isinstance(self.kernel, Named) else self
        kind = KernelType.PRECOMPUTED if self._is_kernel else KERNELS[self.kernel] if own is self else own.kernel_type
        return {"kernel_type": kind, "degree": own.degree, "gamma": self._gamma, "coef0": own.coef0}

    @property
    def _threads(self) -> int:
        return min(int(effective_n_jobs(self.n_jobs)), MAX_THREADS)

    def _forget(self) -> None:
        """Return to the state before the first ``fit``."""
        own = self.__dict__
        for name in FITTED:
            own.pop(name, None)

    def _training_data(self, X: Any, y: Any, sample_weight: Any, borrow: bool) -> TrainingData:
        """Validated training data; ``borrow`` as in ``matrix_of``. Sets ``_gamma`` and attributes of features and
        classes. Raises ValueError.
        """
        training_rows = None
        if self._is_called:
            check_consistent_length(X, y)
            n, rows, y = _num_samples(X), None, column_or_1d(y, warn=True)
        else:
            rows, y = self._validated(X, y)
            n = rows.shape[0]
        self._gamma = self._gamma_of(rows)
        weights, chosen = weights_of(sample_weight, range(n) if rows is None else rows)
        if weights is not None and chosen is not None and (weights[chosen] == 1).all():
            weights = None  # rows of weight 0 are left out
        targets, order = self._targets(y if chosen is None else y[chosen], chosen is not None)
        if rows is None:  # the costly part, after all other checks
            self._check_targets(targets, weights if weights is None or chosen is None else weights[chosen], order)
            training_rows = KernelRows.of(self.kernel, X)
            # keeping rows, or comparing them with those of the last fit, needs all values
            matrix = training_rows.matrix(whole=not borrow or self.warm_start)
        else:
            if self._is_kernel:
                check_kernel(rows)
            matrix = matrix_of(rows, self._is_kernel, borrow)
            if is_several(self._gamma):
                matrix = scaled(matrix, rows, Parameter(**self._kernel_fields))
        if order is not None:  # sorted by class, as in scikit-learn's LIBSVM
            chosen = order if chosen is None else chosen[order]
        problem = Problem(
            matrix,
            targets.data,
            None if chosen is None else chosen.data,
            sample_weight=None if weights is None else weights.data if chosen is None else weights[chosen].data,
        )
        return TrainingData(problem, rows, chosen, training_rows, getattr(X if rows is None else rows, "shape", (n,)))

    def _check_targets(self, targets: FloatArray, weights: FloatArray | None, order: IntArray | None) -> None:
        """Raise ParameterError for targets that cannot be trained on; ``order`` as in ``_targets``."""

    @property
    def _n_solves(self) -> int:
        """Number of dual problems of a training."""
        return 1

    @property
    def _by_cv(self) -> bool:
        """Whether probabilities come from one cross-validation over all rows."""
        return isinstance(getattr(self, "probability", False), str)

    def _train(self, problem: Problem, param: Parameter, rand: Rand, observer: Observer) -> Model:
        """Train. Raises DataError, ParameterError."""
        if self.max_iter == 0:
            return train_without_steps(problem, param, rand, observer)
        if not self.warm_start:
            self.__dict__.pop("_known", None)
            return train(problem, param, rand, observer)
        before, known = self.__dict__.get("_known", (b"", None))
        param.solver.require("may_be_seeded")
        mark = fingerprint(problem, param)
        if isinstance(known, dict):  # pickles of earlier versions hold a tuple
            known = KnownOptima.of_parts(known)
        warm = WarmStart(param, known if mark == before else None)
        model = train(problem, param, rand, observer, warm)
        self._known = mark, warm.found.parts()
        return model

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        if self.kernel == "precomputed" and sparse.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported.")
        X, y = training_data(self, X, y, float32=True, given=self.kernel == "precomputed")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        return X, y

    def _tests(self, X: Any) -> Tests:
        """Validated test rows. Raises NotFittedError, ValueError."""
        if "_fitted" not in self.__dict__:
            check_is_fitted(self)
        fitted = self._fitted
        given = fitted.model.param.kernel_type == KernelType.PRECOMPUTED
        if given != self._is_kernel or (fitted.vectors is not None) != self._is_called:
            raise ValueError(f"the model was fitted with another kind of kernel than {self.kernel!r}: fit again")
        if self._is_called:
            return CalledTests(KernelRows(as_kernel(self.kernel), fitted.vectors), X)
        X = test_data(self, X, given=self.kernel == "precomputed")
        return scaled(matrix_of(X, self._is_kernel, borrow=self._is_kernel), X, fitted.model.param)

    def _targets(self, y: Any, some_left_out: bool) -> tuple[FloatArray, IntArray | None]:
        """Targets of the rows with positive weight, and the order to train on them; None: as given."""
        return np.array(y, dtype=np.float64), None

    def _parameter(self) -> Parameter:
        """Parameters for the lower layers. Raises ParameterError."""
        own = {name: getattr(self, name) for name in ("C", "nu", "tau") if hasattr(self, name)}
        if hasattr(self, "epsilon"):
            own["p"] = self.epsilon
        if self._takes_class_weight:
            own["weights"] = tuple(enumerate(self.class_weight_.tolist()))
        param = Parameter(
            svm_type=self._svm_type,
            **self._kernel_fields,
            cache_size=self.cache_size,
            eps=self.tol,
            shrinking=bool(self.shrinking),
            probability=bool(getattr(self, "probability", False)) and not self._by_cv,
            max_iter=max(self.max_iter, 0),
            time_limit=self.max_time or 0.0,
            threads=self._threads,
            solver=self.solver,
            **own,
        )
        if self.max_iter == -1 and self.solver == "smo" and not param.is_hard_margin:
            param = replace(param, max_iter=NO_LIMIT)
        return param

    def _read_off(self, model: Model, vectors: Any) -> None:
        """Set scikit-learn's attributes from a model with the support vectors ``vectors``; None: those of the model."""
        coef = model.sv_coef.copy()
        self.intercept_ = -model.rho
        if self._svm_type.is_classification and model.nr_class == 2:  # LIBSVM's first class is the positive one
            coef, self.intercept_ = -coef, -self.intercept_
        self.__dict__.pop("support_vectors_", None)
        if sparse.issparse(vectors):
            self.support_vectors_, coef = as_configured(vectors), as_configured(sparse.csr_array(coef))
        elif vectors is not None:
            vectors.flags.writeable = False
            self.support_vectors_ = vectors
        self.dual_coef_ = coef
        self.n_support_ = np.array(model.class_sv or (model.n_sv,), dtype=np.int32)

    def _tell_end(self, model: Model) -> None:
        """Set ``n_iter_``, ``fit_status_`` and ``optimality_``, and warn if the tolerance was not reached."""
        iterations = np.array([report.iterations for report in model.reports], dtype=np.int32)
        self.n_iter_ = iterations if self._svm_type.is_classification else int(iterations[0])
        self.optimality_ = float(max(report.gap for report in model.reports))
        early = [status for status in model.statuses if status != SolveStatus.CONVERGED]
        self.fit_status_ = int(bool(early))
        if not early:
            return
        if early[0] == SolveStatus.ITERATION_LIMIT:
            cause = f"Solver terminated early (max_iter={self.max_iter})."
        else:
            cause = f"Solver terminated early: {REMARKS[Remark(early[0])]}."
        warn_caller(
            f"{cause}  Consider pre-processing your data with StandardScaler or MinMaxScaler.", ConvergenceWarning
        )


@cache
def parameter_names(kind: Any) -> tuple[str, ...]:
    """Names of the parameters, cached by class: a search needs them three times per fit."""
    found: Any = super(BaseSVM, kind)
    return tuple(found._get_param_names())
