"""Conversion of estimators from and to LIBSVM's model files: the mixin ``LibsvmFiles``."""

from __future__ import annotations

import os
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from libsvmx._core.copy_and_swap import at_once
from libsvmx._core.records import replace
from libsvmx._train.model import Model
from libsvmx.api.arrays import model_of
from libsvmx.api.kernels import KernelRows
from libsvmx.api.own_kernel import as_kernel
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import warn_caller
from libsvmx.io.modelfile import load_model, save_model
from libsvmx.sklearn.class_order import with_sorted_classes
from libsvmx.sklearn.fitted import FittedModel

KERNEL_NAMES = {kind: "poly" if kind == KernelType.POLY else kind.keyword for kind in KernelType}  # scikit-learn's
ESTIMATORS = {
    SvmType.C_SVC: "SVC",
    SvmType.NU_SVC: "NuSVC",
    SvmType.EPSILON_SVR: "SVR",
    SvmType.NU_SVR: "NuSVR",
    SvmType.QUANTILE_SVR: "QuantileSVR",
    SvmType.ONE_CLASS: "OneClassSVM",
}


class LibsvmFiles:
    """Mixin of BaseSVM that reads and writes LIBSVM's model files.

    Examples
    --------
    >>> import os, tempfile
    >>> from libsvmx import SVC
    >>> model = SVC(gamma=0.5).fit([[0.0, 1.0], [1.0, 0.0]], [1, 2])
    >>> path = os.path.join(tempfile.mkdtemp(), "model")
    >>> model.to_libsvm(path)
    >>> SVC.from_libsvm(path).predict([[0.9, 0.2]])
    array([2])
    """

    _svm_type: ClassVar[SvmType]
    _fitted: FittedModel

    if TYPE_CHECKING:  # members of BaseSVM
        classes_: Any
        support_: Any
        n_features_in_: int
        _gamma: Any

        def __getattr__(self, name: str) -> Any: ...

    def to_libsvm(self, path: Any, *, codes: bool = False) -> None:
        """Write a LIBSVM model file, atomically, for ``svm-predict`` and other readers of such files.

        The file has neither C nor more than eight digits of each feature: a model read back predicts the same up to
        that rounding. A callable kernel is written as a precomputed one.

        Parameters
        ----------
        path : str or path
        codes : bool, default=False
            Write the classes as 0, 1, …, their indices in ``classes_``. Labels in files are integers; without this,
            other classes, such as text, are refused.

        Raises
        ------
        NotFittedError, OSError
        ValueError
            Classes that are not 32-bit integers.
        """
        save_model(os.fspath(path), self.to_model(codes=codes))

    def to_model(self, *, codes: bool = False) -> Model:
        """The trained model, as ``libsvmx.train`` returns it, without rounding.

        Functions over arrays (``libsvmx.explain``, ``compress``, ``export``, ``plot.boundary``, …) take a fitted
        estimator, too.

        Parameters
        ----------
        codes : bool, default=False
            Name the classes 0, 1, …, their indices in ``classes_``. Labels of a model are integers; without this, other
            classes, such as text, are refused.

        Returns
        -------
        Model
            With a callable kernel, a model of a precomputed kernel that keeps the callable and the support vectors, and
            so predicts rows as the estimator does.

        Raises
        ------
        NotFittedError
        ValueError
            Classes that are not 32-bit integers.

        Examples
        --------
        >>> from libsvmx import SVC, decision_values
        >>> fitted = SVC(gamma=0.5).fit([[0.0, 1.0], [1.0, 0.0]], [1, 2])
        >>> fitted.to_model()
        <Model c_svc, rbf gamma=0.5, 2 classes, 2 support vectors>
        >>> bool(decision_values(fitted, [[0.9, 0.2]])[0, 0] == -fitted.decision_function([[0.9, 0.2]])[0])
        True
        """
        now = at_once(self)
        check_is_fitted(now)
        model = now._fitted.model
        if now._fitted.vectors is not None and callable(now.kernel):
            model = replace(model, own_kernel=KernelRows(as_kernel(now.kernel), now._fitted.vectors))
        if model.row_numbers is not None:  # numbered in training order, sorted by class
            model = replace(model, row_numbers=(now.support_ + 1).astype(np.int32).data)
        if model.class_labels is None:
            return model
        labels = list(range(len(now.classes_))) if codes else whole_numbers(now.classes_)
        weights = tuple((labels[code], weight) for code, weight in model.param.weights if weight != 1)
        return replace(
            model,
            param=replace(model.param, weights=weights),
            class_labels=tuple(labels[code] for code in model.class_labels),
        )

    @classmethod
    def from_libsvm(cls, path: Any, *, classes: Any = None, n_features: int | None = None) -> Self:
        """A fitted estimator from a model file of LIBSVM or libsvmx.

        It predicts as ``svm-predict`` does. C, nu, epsilon and ``tol``, which are not in the file, keep their
        defaults; ``support_``, ``n_iter_``, ``fit_status_``, ``optimality_`` and ``shape_fit_`` are missing.

        Parameters
        ----------
        path : str or path
        classes : array of shape (n_classes,), default=None
            Classes in sorted order, for a file written with ``codes=True``: label 0 is ``classes[0]``.
        n_features : int, default=None
            Number of features; by default as many as the support vectors need. With a precomputed kernel
            the number of training rows.

        Returns
        -------
        estimator
            With ``predict_proba`` if the file has probabilities of classes.

        Raises
        ------
        OSError
        ValueError
            Not a model file (FormatError), a model of another formulation, or classes that do not match.
        """
        try:
            return cls.from_model(load_model(os.fspath(path)), classes=classes, n_features=n_features)
        except WrongFormulation as wrong:
            raise ValueError(f"{os.fspath(path)}: {wrong}: read it by {wrong.estimator}.from_libsvm") from None

    @classmethod
    def from_model(cls, model: Any, *, classes: Any = None, n_features: int | None = None) -> Self:
        """A fitted estimator from a model that ``libsvmx.train`` or ``load_model`` returned.

        It predicts as the model does. Missing are ``n_iter_``, ``fit_status_``, ``optimality_`` and ``shape_fit_``;
        for a loaded model also ``support_``.

        Parameters
        ----------
        model : Model, or fitted estimator
        classes : array of shape (n_classes,), default=None
            Classes in sorted order, for a model with labels 0, 1, …: label 0 is ``classes[0]``.
        n_features : int, default=None
            Number of features; by default that of the training rows, or, for a loaded model, as many as the support
            vectors need. With a precomputed kernel the number of training rows.

        Returns
        -------
        estimator
            With ``predict_proba`` if the model has probabilities of classes.

        Raises
        ------
        TypeError
            Not a model.
        ValueError
            A model of another formulation, or classes that do not match.

        Examples
        --------
        >>> import libsvmx
        >>> model = libsvmx.train([[0.0, 1.0], [1.0, 0.0]], [1, 2], C=10.0, gamma=0.5)
        >>> libsvmx.SVC.from_model(model).predict([[0.9, 0.2]])
        array([2])
        """
        model = model_of(model)
        param = model.param
        if param.svm_type != cls._svm_type:
            raise WrongFormulation(param.svm_type)
        made = cls()
        names = {"C": "C", "nu": "nu", "tau": "tau", "epsilon": "p", "tol": "eps"}
        known = {name: getattr(param, ours) for name, ours in names.items() if name in made.get_params()}
        own = model.own_kernel
        made.set_params(
            kernel=KERNEL_NAMES[param.kernel_type] if own is None else own.given,
            **{name: getattr(param, name) for name in param.kernel_type.uses},
            **known,
        )
        made._gamma = np.multiply(param.gamma, param.gammas) if param.gammas else param.gamma
        if param.gammas:
            made.set_params(gamma=made._gamma)
        if param.svm_type.is_classification:
            made.set_params(probability=model.has_probability)
            made.classes_, model = with_codes(model, classes)
        elif classes is not None:
            raise ValueError("only models of a classification have classes")
        elif model.has_probability:
            warn_caller("the probability estimates of the model are left out")
            model = replace(model, sigmoid_a=None, marks=None)
        if n_features is not None:
            if not isinstance(n_features, Integral) or not model.n_features <= n_features < 2**31:
                raise ValueError(
                    f"n_features must be a whole number from {model.n_features}, the columns that the support "
                    f"vectors need, to 2^31 - 1, not {n_features!r}"
                )
            model = replace(model, columns=int(n_features))
        made.n_features_in_ = model.n_features
        given = param.kernel_type == KernelType.PRECOMPUTED
        ordered = with_sorted_classes(model)
        made._read_off(ordered, np.empty((0, 0)) if given else ordered.support_vectors)
        if model.row_numbers is not None:
            made.support_ = np.asarray(ordered.row_numbers) - 1
        made._fitted = FittedModel(replace(model, own_kernel=None), vectors=None if own is None else own.rows)
        return made


class WrongFormulation(ValueError):
    """A model of another formulation than the estimator's."""

    def __init__(self, svm_type: SvmType) -> None:
        self.estimator = ESTIMATORS[svm_type]
        super().__init__(f"this is a model of {svm_type.name}")


def whole_numbers(classes: Any) -> list[int]:
    """The classes as integer labels of a model file. Raises ValueError."""
    kind, limit = classes.dtype.kind, 2**31
    if kind in "iub" or (kind == "f" and (classes == np.floor(classes)).all()):
        labels: list[int] = [int(label) for label in classes]
        if -limit <= min(labels) and max(labels) < limit:
            return labels
    raise ValueError(
        f"a model file has whole numbers of 32 bits as labels, not {classes.tolist()[:3]}: to_libsvm(path, codes=True) "
        "writes 0, 1, … for classes_[0], classes_[1], …, and from_libsvm(path, classes=classes_) reads them back"
    )


def with_codes(model: Model, classes: Any) -> tuple[Any, Model]:
    """The sorted classes, and the model with their indices as labels. Raises ValueError."""
    labels = list(model.class_labels or ())
    if len(labels) < 2:
        raise ValueError("a model of one class has nothing to separate")
    if classes is None:
        found = np.array(sorted(labels))
        return found, replace(model, class_labels=tuple(found.searchsorted(labels).tolist()))
    given = np.asarray(classes)
    if given.ndim != 1 or sorted(labels) != list(range(len(given))):
        raise ValueError(
            f"classes must be the {len(labels)} classes of labels 0 to {len(labels) - 1}, not {given.shape}; the file "
            f"has the labels {labels}"
        )
    if not np.array_equal(np.unique(given), given):
        raise ValueError("classes must be sorted, each once, as classes_ are")
    return given, model
