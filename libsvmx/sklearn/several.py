"""OneVsRestSVC and MultiOutputSVR: several functions trained together on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted

from libsvmx._core.copy_and_swap import at_once
from libsvmx._train.prediction import Tests
from libsvmx._typing import FloatArray
from libsvmx.exceptions import warn_caller
from libsvmx.sklearn.base import BaseSVM, Predicts, SolverParameters
from libsvmx.sklearn.classifiers import NO_PROBABILITIES, SVC, LabelParameters, NuSVC
from libsvmx.sklearn.fitted import FittedModel
from libsvmx.sklearn.parameters import CALLBACK, COST, NOT_NEGATIVE, SHARE, parameter, with_parameters
from libsvmx.sklearn.pickling import Pickled
from libsvmx.sklearn.regressors import SVR
from libsvmx.sklearn.rows import weights_of
from libsvmx.sklearn.tasks import Trains
from libsvmx.sklearn.together import fit_together, predicted_together


class Several(Trains, Pickled, Predicts, SolverParameters):
    """Base class of OneVsRestSVC and MultiOutputSVR. Their parameters are those of ``estimators_``."""

    estimators_: list[Any]
    shape_fit_: tuple[int, ...]
    n_features_in_: int
    n_iter_: Any
    fit_status_: int
    optimality_: float
    classes_: Any
    multilabel_: bool

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in vars(self)

    def _trained(self, X: Any, y: Any, sample_weight: Any, **how: bool) -> Any:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return super()._trained(X, y, sample_weight)

    def _one(self, kind: type[BaseSVM]) -> Any:
        """An unfitted estimator of ``kind``, with all parameters that it shares with this one."""
        own = self.get_params(deep=False)
        return kind(**{name: own[name] for name in signature(kind).parameters if name in own})


@with_parameters
class OneVsRestSVC(ClassifierMixin, Several, LabelParameters):
    """Classification of each class against the rest, or of several labels at once, by ``SVC`` or ``NuSVC``.

    Results equal those of ``OneVsRestClassifier(SVC())`` bit for bit; all trainings share kernel values.

    Parameters
    ----------
    C : float, default=1.0
        Cost, > 0; inf is a hard margin. Ignored with ``nu``.
    nu : float or None, default=None
        Train each ``NuSVC(nu=nu)`` in place of an ``SVC``. It must be at most 2 a / n for each class or label, where a
        of n rows are in it, or the others if they are fewer. Each is the one fitted alone to ``tol``, not bit for bit.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in ``SVC``.
    probability : bool or 'cv', default=False
        Whether to fit Platt's sigmoids of each class against the rest, for ``predict_proba``, by either way of ``SVC``.
    class_weight : dict, 'balanced' or None, default=None
        'balanced': for each class and its rest; a dict has the factor of C for each class, or, with several labels, for
        0 and 1, that is, rows without and with the label. Not with ``nu``.
    random_state, solver, n_jobs, callback
        As in ``SVC``.
    max_time : float or None, default=None
        Time limit of all trainings together, in seconds.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order; 0, 1, … for several labels.
    multilabel_ : bool
        Whether ``y`` has a column for each label.
    estimators_ : list of SVC or NuSVC
        Fitted estimators, one for each class against the rest, with classes 0 and 1; a single one for two classes.
    n_iter_ : array of int
        Iterations of each of ``estimators_``.
    fit_status_, optimality_
        Largest of all ``estimators_``.
    shape_fit_, n_features_in_, feature_names_in_
        As in ``SVC``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from libsvmx import OneVsRestSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> OneVsRestSVC().fit(X, y).decision_function(X[:2]).shape
    (2, 3)
    >>> OneVsRestSVC().fit([[0.0], [1.0], [2.0], [3.0]], [[0, 0], [0, 1], [1, 1], [1, 0]]).predict([[2.1]])
    array([[1, 1]])
    """

    C: float = parameter(default=1.0, allowed=COST)
    nu: float | None = parameter(default=None, allowed=[*SHARE, None])
    callback: Any = parameter(default=None, allowed=CALLBACK)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any) -> None:
        if getattr(y, "dtype", np.dtype(bool)).kind == "f":
            assert_all_finite(y, input_name="y")
        self.multilabel_ = type_of_target(y, input_name="y") == "multilabel-indicator"
        self._sparse = issparse(y)
        y = (y.toarray() if self._sparse else np.asarray(y)) if self.multilabel_ else column_or_1d(y, warn=True)
        weights, chosen = weights_of(sample_weight, y)
        counting = y if chosen is None else y[chosen]
        weight_of = self.class_weight
        if self.nu is not None and weight_of is not None:
            raise ValueError("class_weight is a factor of C, which training with nu does not have")
        if self.multilabel_:
            if not np.isin(y, (0, 1)).all():
                raise ValueError(f"a table of labels has to be of 0 and 1, not of {np.unique(y).tolist()}")
            self.classes_, marks = np.arange(y.shape[1]), y.astype(np.int64)
            names = [f"label {j}" for j in range(y.shape[1])]
        else:
            check_classification_targets(y)
            self.classes_ = np.unique(counting)
            if len(self.classes_) < 2:
                raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class")
            positive = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
            marks, names = (y[:, None] == positive).astype(np.int64), [f"class {label}" for label in positive]
            if isinstance(weight_of, dict):
                if not all(weight_of.get(label, 1.0) > 0 for label in self.classes_.tolist()):
                    raise ValueError("class weights must be > 0; leave out the rows of a class instead")
                own = np.array([weight_of.get(label, 1.0) for label in y.tolist()])
                weights, weight_of = own if weights is None else own * weights, None
        constants = {}
        for j, column in enumerate((marks if chosen is None else marks[chosen]).T):
            if len(column) and column.min() == column.max():
                constants[j] = ConstantLabel(2 * int(column[0]) - 1)
                warn_caller(f"{names[j]} is of {'all rows' if column[0] else 'no row'}: so it will be predicted")
        kind = SVC if self.nu is None else NuSVC
        fitted = {
            j: self._one(kind).set_params(class_weight=weight_of) for j in range(len(names)) if j not in constants
        }
        if not fitted:
            raise ValueError("no label differs between rows: the number of classes is less than two")
        fit_together(self, list(fitted.values()), X, [(names[j], marks[:, j]) for j in fitted], weights)
        self.estimators_ = [constants.get(j) or fitted[j] for j in range(len(names))]
        self.n_iter_ = np.array([int(fitted[j].n_iter_[0]) if j in fitted else 0 for j in range(len(names))])

    def _columns(self, X: Any, of: Callable[[FittedModel, Tests, int], FloatArray], scale: float) -> FloatArray:
        """A column ``of(fitted, rows, threads)`` for each label; -1 or 1, times ``scale``, for constant labels."""
        check_is_fitted(self)
        trained = [j for j, one in enumerate(self.estimators_) if not isinstance(one, ConstantLabel)]
        found = predicted_together([self.estimators_[j] for j in trained], X, of)
        columns = np.empty((len(found), len(self.estimators_)))
        for j, one in enumerate(self.estimators_):
            columns[:, j] = scale * one.sign if isinstance(one, ConstantLabel) else found[:, trained.index(j)]
        return columns

    def _decision_values(self, X: Any) -> FloatArray:
        """Shape (n, len(estimators_)), positive for the class."""
        return self._columns(X, lambda fitted, tests, threads: -fitted.values(tests, threads), 1.0)

    def decision_function(self, X: Any) -> Any:
        """Decision values of rows, positive for the class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of float64, shape (n_samples, n_classes); of two classes (n_samples,), positive for ``classes_[1]``. Of a
        label that all training rows had, or none, they are 1 or -1.
        """
        values = at_once(self)._decision_values(X)
        return values.ravel() if values.shape[1] == 1 and not self.multilabel_ else values

    def predict(self, X: Any) -> Any:
        """Predict the class with the largest decision value, or all labels whose decision values are not negative.

        Two classes, and each label, are predicted as by ``SVC.predict``: at 0 the second class, or the label.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,), of ``classes_``; of several labels of 0 and 1, shape (n_samples, n_classes), sparse
        if ``y`` was
        """
        now = at_once(self)
        check_is_fitted(now)
        if not now.multilabel_ and len(now.classes_) > 2:
            return now.classes_[now._decision_values(X).argmax(axis=1)]
        marks = (now._columns(X, FittedModel.predictions, 1.0) > 0).astype(np.int64)
        if not now.multilabel_:
            return now.classes_[marks[:, 0]]
        return csr_array(marks) if now._sparse else marks

    def _probabilities(self, X: Any) -> Any:
        check_is_fitted(self)
        if any(isinstance(one, BaseSVM) and not one._fitted.model.has_probability for one in self.estimators_):
            raise NotFittedError(NO_PROBABILITIES)
        columns = self._columns(X, lambda fitted, tests, threads: fitted.probabilities(tests, threads)[:, 1], 0.5)
        for j, one in enumerate(self.estimators_):
            columns[:, j] += 0.5 * isinstance(one, ConstantLabel)
        if self.multilabel_:
            return columns
        if columns.shape[1] == 1:
            return np.column_stack([1 - columns, columns])
        return columns / columns.sum(axis=1, keepdims=True)


class ConstantLabel:
    """ConstantLabel(sign): predicts a label that all training rows have (1), or none (-1)."""

    def __init__(self, sign: int) -> None:
        self.sign = sign


@with_parameters
class MultiOutputSVR(RegressorMixin, Several):
    """Epsilon-support vector regression of several targets at once.

    Results equal those of ``MultiOutputRegressor(SVR())`` bit for bit; all trainings share kernel values.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, C, epsilon, shrinking, cache_size, verbose, max_iter, solver, n_jobs, callback
        As in ``SVR``.
    max_time : float or None, default=None
        Time limit of all trainings together, in seconds.

    Attributes
    ----------
    estimators_ : list of SVR
        Fitted estimators, one for each target.
    n_iter_ : array of int
        Iterations of each of ``estimators_``.
    fit_status_, optimality_
        Largest of all ``estimators_``.
    shape_fit_, n_features_in_, feature_names_in_
        As in ``SVR``.

    Examples
    --------
    >>> from libsvmx import MultiOutputSVR
    >>> model = MultiOutputSVR(kernel="linear", C=100, epsilon=0).fit([[0.0], [1.0], [2.0]], [[1, 0], [3, 1], [5, 2]])
    >>> model.predict([[3.0]]).round(2)
    array([[7., 3.]])
    """

    C: float = parameter(default=1.0, allowed=COST)
    epsilon: float = parameter(default=0.1, allowed=NOT_NEGATIVE)
    callback: Any = parameter(default=None, allowed=CALLBACK)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _be_fitted(self, X: Any, y: Any, sample_weight: Any) -> None:
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        self._is_column = y.ndim == 1
        columns = [(f"target {j}", column) for j, column in enumerate(y.reshape(len(y), -1).T)]
        self.estimators_ = [self._one(SVR) for _ in columns]
        fit_together(self, self.estimators_, X, columns, sample_weight)
        self.n_iter_ = np.array([one.n_iter_ for one in self.estimators_])

    def _predictions(self, X: Any) -> Any:
        check_is_fitted(self)
        columns = predicted_together(self.estimators_, X, FittedModel.predictions)
        return columns.ravel() if self._is_column else columns
