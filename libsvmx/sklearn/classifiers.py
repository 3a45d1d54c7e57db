"""SVC and NuSVC."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from libsvmx._core.copy_and_swap import at_once
from libsvmx._train.assembly import INNER_FOLDS, solves_of
from libsvmx._train.checks import check_nu
from libsvmx._train.decision import one_vs_rest_values
from libsvmx._train.folds import Rand
from libsvmx._train.model import Model, by_function
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._typing import FloatArray, IntArray
from libsvmx.enums import SvmType
from libsvmx.exceptions import warn_caller
from libsvmx.io.transcript import REMARKS
from libsvmx.sklearn.base import BaseSVM
from libsvmx.sklearn.input_checks import are_whole
from libsvmx.sklearn.parameters import COST, SHARE, parameter, with_parameters
from libsvmx.sklearn.updating import OfferedIf, may_go_on

NO_PROBABILITIES = "predict_proba is not available when fitted with probability=False, nor when the fit was ended early"


def gives_probabilities(estimator: LabelParameters) -> bool:
    """Raise AttributeError, which hides the method, if not fitted with ``probability``."""
    if not estimator.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


@with_parameters
class LabelParameters:
    """Parameters of all that classify by dual problems."""

    probability: bool | str = parameter(default=False, allowed=["boolean", StrOptions({"cv"})])
    class_weight: Any = parameter(default=None, allowed=[StrOptions({"balanced"}), dict, None])
    random_state: Any = parameter(default=None, allowed=["random_state"])

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Class probabilities by Platt's method; needs ``probability``.

        They come from a cross-validation over the training rows: the most probable class may differ from that of
        ``predict``, and with few rows they mean little. Those of each class against the rest (``OneVsRestSVC``) are
        normalised.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64, shape (n_samples, n_classes)
            Columns in the order of ``classes_``. Of several labels (``OneVsRestSVC``) each is the probability of a
            label, and rows do not sum to 1.
        """
        return at_once(self)._probabilities(X)

    def _probabilities(self, X: Any) -> Any:
        """``predict_proba`` on a snapshot that no other thread changes."""
        raise NotImplementedError


@with_parameters
class PairwiseVoting(LabelParameters):
    """What classifiers with a function for each pair of classes have in common, and their searches."""

    decision_function_shape: str = parameter(default="ovr", allowed=[StrOptions({"ovr", "ovo"})])
    break_ties: bool = parameter(default=False, allowed=["boolean"])

    @available_if(gives_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64, shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))


class BaseClassifier(ClassifierMixin, BaseSVM, PairwiseVoting):
    """One against one over sorted classes; the labels of the model are their codes 0, 1, …."""

    def decision_function(self, X: Any) -> Any:
        """Decision values of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64
            With two classes shape (n_samples,), positive for ``classes_[1]``. With k classes and
            ``decision_function_shape="ovr"`` shape (n_samples, k), votes plus confidences that break ties; with "ovo"
            shape (n_samples, k (k - 1) / 2), for pairs (0, 1), (0, 2), …, positive for the first class of a pair.
        """
        return at_once(self)._decision_values(X)

    def _decision_values(self, X: Any) -> Any:
        """``decision_function`` on a snapshot that no other thread changes."""
        tests = self._tests(X)
        return self._shaped(self._fitted.values(tests, self._threads))

    @OfferedIf(may_go_on)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows, as ``SVR.partial_fit`` does; a new label makes a new class, trained against each other one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels; at least two classes in the first call.
        classes : array, default=None
            All classes; optional. Labels that are not among them are refused.
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
            With the new rows at the end of ``row_ids_``.
        """
        if classes is not None and not np.isin(y, classes).all():
            raise ValueError("y has labels that are not among classes")
        return self._join(X, y, sample_weight)

    def _shaped(self, values: FloatArray) -> FloatArray:
        k = len(self.classes_)
        if k == 2:
            return -values.ravel()
        if self.decision_function_shape == "ovo":
            return values
        # nan for pairs of a class without rows, see ``leave_one_out``
        return np.asarray(one_vs_rest_values(values.reshape(-1).data, len(values), k)).reshape(-1, k)

    def _predictions(self, X: Any) -> Any:
        if "_fitted" not in self.__dict__:
            check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            codes = np.argmax(self.decision_function(X), axis=1)
        else:
            codes = super()._predictions(X)
        return self.classes_.take(codes.astype(np.intp))

    def _probabilities(self, X: Any) -> Any:
        tests = self._tests(X)
        if not self._fitted.model.has_probability:
            raise NotFittedError(NO_PROBABILITIES)
        return self._fitted.probabilities(tests, self._threads)

    @property
    def probA_(self) -> FloatArray:
        """Slopes of Platt's sigmoids, one for each pair of classes; empty without ``probability``."""
        a = self._fitted.model.sigmoid_a
        return np.empty(0) if a is None else np.array(a)

    @property
    def probB_(self) -> FloatArray:
        """Offsets of Platt's sigmoids, one for each pair of classes; empty without ``probability``."""
        b = self._fitted.model.sigmoid_b
        return np.empty(0) if b is None else np.array(b)

    @property
    def _n_solves(self) -> int:
        return solves_of(len(self.classes_), bool(self.probability))

    def _targets(self, y: Any, some_left_out: bool) -> tuple[FloatArray, IntArray | None]:
        if y.dtype.kind not in "iubf":
            check_classification_targets(y)
        order = np.argsort(y, kind="stable")
        in_order = y[order]
        first = np.empty(len(y), dtype=bool)  # of a class
        first[:1], first[1:] = True, in_order[1:] != in_order[:-1]
        self.classes_ = in_order[first]
        k = len(self.classes_)
        if 2 * k > len(y) or (y.dtype.kind == "f" and not are_whole(self.classes_)):
            check_classification_targets(y)  # takes longer than training on few rows
        if k < 2 and some_left_out:
            raise ValueError("Invalid input - all samples with positive weights belong to the same class.")
        if k < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {k} class")
        if self.class_weight is None:
            self.class_weight_ = np.ones(k)
        else:
            self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            if not (self.class_weight_ > 0).all() and self._takes_class_weight:
                raise ValueError("class weights must be > 0; leave out the rows of a class instead")
        return np.cumsum(first, dtype=np.float64) - 1, order.astype(np.int32)

    def _train(self, problem: Problem, param: Parameter, rand: Rand, observer: Observer) -> Model:
        self._warn_of_few_rows(problem, param)
        return super()._train(problem, param, rand, observer)

    def _warn_of_few_rows(self, problem: Problem, param: Parameter) -> None:
        if param.probability:
            rare = self.classes_[np.bincount(np.asarray(problem.targets, dtype=np.intp)) < INNER_FOLDS]
            if len(rare):
                warn_caller(REMARKS[Remark.FEW_ROWS_FOR_PROBABILITY].format(detail=", ".join(map(str, rare))))

    def _coefficients_by_function(self) -> FloatArray:
        return by_function(super()._coefficients_by_function(), self.n_support_)


@with_parameters
class SVC(BaseClassifier):
    """C-support vector classification, with the parameters and attributes of ``sklearn.svm.SVC``.

    Parameters
    ----------
    C : float, default=1.0
        Cost, > 0; inf is a hard margin.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        Kernel function; docs/kernels.md has further names. A callable returns the kernel matrix of two sets of rows.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {'scale', 'auto'}, float or array of shape (n_features,), default='scale'
        Kernel coefficient; 'scale' is 1 / (n_features * X.var()), 'auto' is 1 / n_features; an array has one for each
        feature.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Leave out rows that seem to stay at a bound: same optimum, faster.
    probability : bool or 'cv', default=False
        Whether to fit Platt's sigmoids, for ``predict_proba``. True: five more trainings for each pair of classes, as
        in LIBSVM; 'cv': one cross-validation over all rows.
    tol : float, default=1e-3
        Tolerance of the stopping criterion, the KKT gap.
    cache_size : float, default=200
        Memory for kernel rows, in MB; those of a callable may take more, up to half of the free memory.
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced': inversely proportional to its number of rows.
    verbose : bool, default=False
        Show a progress bar (on a terminal, with tqdm), else print LIBSVM's transcript.
    max_iter : int, default=-1
        Maximum number of iterations for each pair of classes; -1: no limit, except LIBSVM's for infinite C.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Columns of ``decision_function``: one for each class, or one for each pair of classes.
    break_ties : bool, default=False
        Predict by the decision values of 'ovr' instead of by votes.
    random_state : int, RandomState or None, default=None
        Seed of the folds that probabilities are fitted on.
    solver : {'smo', 'auto', 'chunked', 'irwls', 'crsvm'} or Solver, default='smo'
        'smo' follows LIBSVM's path; for the others see docs/solvers.md.
    n_jobs : int or None, default=None
        Number of threads, as in joblib: None is 1, -1 all. Results do not depend on it.
    max_time : float or None, default=None
        Time limit of a fit in seconds; the result so far is kept.
    warm_start : bool, default=False
        Start from the last fit, if it was on the same rows and classes.
    refine : bool, default=False
        Follow the exact path to the optimum of the kernel in double precision.
    keep_rows : bool, default=False
        Keep the training rows, for ``partial_fit``, ``unlearn`` and ``loo_decision_function``.
    callback : callable or None, default=None
        Called with a Progress during the fit; returning True ends it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order.
    class_weight_ : array of float64, shape (n_classes,)
        Factor of C for each class.
    support_ : array of int32, shape (n_sv,)
        Indices of the support vectors, grouped by class.
    support_vectors_ : array or sparse, shape (n_sv, n_features)
        Support vectors; of dense rows read-only, and made at the first use. After ``partial_fit`` and ``unlearn``,
        features whose gamma is 0 are 0.
    n_support_ : array of int32, shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : array or sparse, shape (n_classes - 1, n_sv)
        Coefficients of the support vectors, laid out as in scikit-learn.
    intercept_ : array of float64, shape (n_classes (n_classes - 1) / 2,)
        Intercepts, one for each pair of classes.
    coef_ : array or sparse, shape (n_classes (n_classes - 1) / 2, n_features)
        Weights of the features; only with a linear kernel.
    n_iter_ : array of int32, shape (n_classes (n_classes - 1) / 2,)
        Iterations for each pair of classes.
    probA_, probB_ : array of float64
        Slopes and offsets of Platt's sigmoids.
    fit_status_ : int
        0, or 1 if training ended before ``tol`` was reached.
    optimality_ : float
        KKT gap at the end, the largest of all dual problems.
    shape_fit_ : tuple
        Shape of X.
    row_ids_ : array of int64
        Ids of the kept rows, for ``unlearn``.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from libsvmx import SVC
    >>> SVC().fit([[0.0, 0.0], [1.0, 1.0]], ["small", "large"]).predict([[0.9, 0.8]])
    array(['large'], dtype='<U5')
    """

    _svm_type = SvmType.C_SVC
    _takes_class_weight = True

    C: float = parameter(default=1.0, allowed=COST)


@with_parameters
class NuSVC(BaseClassifier):
    """Nu-support vector classification, with the parameters and attributes of ``sklearn.svm.NuSVC``.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of margin errors and lower bound on the share of support vectors, in (0, 1].
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter, decision_function_shape
        As in ``SVC``.
    class_weight : default=None
        Ignored, as in scikit-learn.
    break_ties, random_state, solver, n_jobs, max_time, warm_start, refine, keep_rows, callback
        As in ``SVC``.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_
        As in ``SVC``.
    probA_, probB_, fit_status_, optimality_, shape_fit_, row_ids_, n_features_in_, feature_names_in_
        As in ``SVC``.

    Examples
    --------
    >>> from libsvmx import NuSVC
    >>> NuSVC().fit([[0.0, 0.0], [1.0, 1.0]], ["small", "large"]).predict([[0.9, 0.8]])
    array(['large'], dtype='<U5')
    """

    _svm_type = SvmType.NU_SVC

    nu: float = parameter(default=0.5, allowed=SHARE)

    def _check_targets(self, targets: FloatArray, weights: FloatArray | None, order: IntArray | None) -> None:
        check_nu(targets, weights if weights is None or order is None else weights[order], self.nu)
