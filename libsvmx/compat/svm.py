"""The data types of LIBSVM's Python module: svm_parameter, svm_problem, svm_node, svm_model.

Same names, constructors and fields as LIBSVM's ctypes structures, and pointers can point to them; but C arrays are
lists, and NULL is None. Nothing here points to foreign memory: a model owns its vectors and can be copied, pickled and
used without the problem. Fields that a program changes take effect, as in C.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from ctypes import c_double
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar, overload

import numpy as np

from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train.checks import check_weights
from libsvmx._train.model import Model
from libsvmx._train.problem import Problem
from libsvmx._typing import Buffer
from libsvmx.compat.handles import Handle, contents_of
from libsvmx.compat.nodes import NodeRows, gen_svm_nodearray, svm_node
from libsvmx.compat.options import (
    PRINT_STRING_FUN,
    kernel_names,
    print_null,
    svm_forms,
    svm_parameter,
)
from libsvmx.compat.options import ctypes_print_null as ctypes_print_null
from libsvmx.compat.rows import matrix_of, targets_of
from libsvmx.exceptions import DataError

# Formulations and kernels by name, as in LIBSVM up to 3.32.
C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR = map(int, svm_forms)
LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED = map(int, kernel_names)

__all__ = [
    "C_SVC",
    "EPSILON_SVR",
    "LINEAR",
    "NU_SVC",
    "NU_SVR",
    "ONE_CLASS",
    "POLY",
    "PRECOMPUTED",
    "PRINT_STRING_FUN",
    "RBF",
    "SIGMOID",
    "c_double",
    "gen_svm_nodearray",
    "kernel_names",
    "print_null",
    "svm_forms",
    "svm_model",
    "svm_node",
    "svm_parameter",
    "svm_problem",
    "toPyModel",
]


def __getattr__(name: str) -> Any:
    """All of ctypes, and NumPy and SciPy, which LIBSVM's module has beside ``__all__``."""
    if name in OTHER_MODULES:
        return import_module(OTHER_MODULES[name])
    if name.startswith("_") or not hasattr(ctypes, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(ctypes, name)


OTHER_MODULES = {"np": "numpy", "scipy": "scipy", "sparse": "scipy.sparse"}


class svm_problem(Handle):
    """svm_problem(y, x, isKernel=False), or svm_problem(W, y, x, isKernel=False) of LIBSVM's tool for weights

    Parameters
    ----------
    W : list, tuple or 1-d ndarray, shape (l,)
        Weights of the rows, >= 0; empty for 1 each.
    y : list, tuple or 1-d ndarray, shape (l,)
        Labels or targets.
    x : list, tuple, ndarray, scipy.sparse matrix or CsrMatrix
        l rows: a list or tuple of dicts of index to value, lists, tuples or 1-d ndarrays; or a matrix of shape (l, n).
    isKernel : bool
        Rows of a precomputed kernel, serial number first.

    Attributes
    ----------
    l, n : int
        Rows, and the largest feature index.
    y : list of float
    x : sequence of rows, each a ctypes array of svm_node
    x_space : the same
    W : list of float
        Weights of the rows.
    matrix : CsrMatrix
        The rows as the solver reads them; shares no memory with lists, dicts or ndarrays.

    Changes of ``y``, ``x`` and ``W`` take effect in later trainings.

    Raises
    ------
    TypeError
        Other types, or entries that are not numbers.
    ValueError
        Lengths that differ, indices outside 0 .. 2^31 - 1, nan or infinite values.
    """

    @overload
    def __init__(self, y: Any, x: Any, isKernel: bool | None = False) -> None: ...
    @overload
    def __init__(self, W: Any, y: Any, x: Any, isKernel: bool | None = False) -> None: ...
    def __init__(self, *arguments: Any, **named: Any) -> None:
        form = _weighted if _has_weights(arguments, named) else _plain
        W, y, x, isKernel = form(*arguments, **named)
        targets = targets_of(y)
        matrix, self.n = matrix_of(x, bool(isKernel))
        if len(targets) != matrix.n_rows:
            raise DataError(f"y has {len(targets)} labels, but x has {matrix.n_rows} rows; give one label for each row")
        self.y = targets.tolist()
        self.W = targets_of(W, "W").tolist() or [1.0] * len(targets)
        self._rows = NodeRows(matrix)
        self._weights(matrix.n_rows)

    @property
    def l(self) -> int:  # noqa: E743
        return len(self._rows)

    @property
    def x(self) -> Sequence[Any]:
        return self._rows

    @property
    def x_space(self) -> Sequence[Any]:
        return self._rows

    @property
    def matrix(self) -> CsrMatrix:
        return self._rows.matrix()

    def to_problem(self) -> Problem:
        """All rows with the present labels."""
        matrix, targets = self._rows.matrix(), targets_of(self.y)
        if len(targets) != matrix.n_rows:
            raise DataError(f"y has {len(targets)} labels, but x has {matrix.n_rows} rows; give one label for each row")
        return Problem(matrix, targets, sample_weight=self._weights(matrix.n_rows))

    def _weights(self, n: int) -> Buffer | None:
        """The present values of ``W``, for n rows; None if all are 1. Raises DataError."""
        if isinstance(self.W, list) and self.W.count(1.0) == len(self.W) == n:
            return None  # the usual case; NumPy would take longer than the rest of the problem
        weights = np.asarray(targets_of(self.W, "W"))
        if len(weights) != n:
            raise DataError(f"W has {len(weights)} weights, but there are {n} rows; give one for each")
        check_weights(weights)
        return None if (weights == 1).all() else weights.data


def _plain(y: Any, x: Any, isKernel: bool | None = False) -> tuple[Any, Any, Any, bool | None]:
    return (), y, x, isKernel


def _weighted(W: Any, y: Any, x: Any, isKernel: bool | None = False) -> tuple[Any, Any, Any, bool | None]:
    return W, y, x, isKernel


_plain.__qualname__ = _weighted.__qualname__ = "svm_problem"  # what Python's errors of wrong arguments name


def _has_weights(arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether the arguments of an svm_problem begin with weights: then the third are rows, not a flag."""
    if "W" in named or len(arguments) != 3:
        return "W" in named or len(arguments) > 3
    return not isinstance(arguments[2], int | np.bool_ | None)


def _listed(values: Any) -> list[Any] | None:
    return None if values is None else list(values)


def _copied(lists: Any) -> Any:
    return [_copied(part) for part in lists] if isinstance(lists, list) else lists


class svm_model(Handle):
    """svm_model(model): a trained model with the fields and methods of LIBSVM's.

    Attributes
    ----------
    param : svm_parameter
    nr_class, l : int
        Classes (2 unless classification), support vectors.
    SV : sequence of l rows, each a ctypes array of svm_node
    sv_coef : list of nr_class - 1 lists of l floats
    rho : list of float
        One for each pair of classes.
    label, nSV : list of int, or None unless classification
    probA, probB, prob_density_marks : list of float, or None
    sv_indices : list of int counted from 1, or None in a loaded model
    free_sv : int
        1 in a loaded model.
    model : Model
        The same as a Model, with changes of the fields.

    Raises
    ------
    ValueError
        Access to a freed model, or fields that do not make a model.
    """

    # for each array field: how it is made from a Model, and its field there
    _made: ClassVar[dict[str, tuple[Callable[[Model], Any], str, str]]] = {
        "sv_coef": (lambda model: model.sv_coef.tolist(), "coef", "d"),
        "rho": (lambda model: list(model.offsets), "offsets", "d"),
        "label": (lambda model: _listed(model.class_labels), "class_labels", ""),
        "nSV": (lambda model: _listed(model.class_sv), "class_sv", ""),
        "probA": (lambda model: _listed(model.sigmoid_a), "sigmoid_a", "d"),
        "probB": (lambda model: _listed(model.sigmoid_b), "sigmoid_b", "d"),
        "prob_density_marks": (lambda model: _listed(model.marks), "marks", "d"),
        "sv_indices": (lambda model: _listed(model.row_numbers), "row_numbers", "i"),
    }

    def __init__(self, model: Model | None = None, loaded: bool = False, vectors: CsrMatrix | None = None):
        if model is not None and not isinstance(model, Model):
            raise TypeError(f"svm_model shows a Model; it is made by svm_train, not of a {type(model).__name__}")
        if model is not None:
            model.param.require_one_gamma("LIBSVM's interface")
        # a precomputed model has only serial numbers of its vectors; LIBSVM shows the training rows
        self._attributes.update(_model=model, _shown=vectors, free_sv=int(loaded))

    def __reduce__(self) -> tuple[Any, ...]:
        return svm_model, (self.model, bool(self.free_sv), self._shown)

    def __getattr__(self, name: str) -> Any:
        attributes = self._attributes
        if name not in attributes:
            if name in self._made:
                attributes[name] = self._made[name][0](self._kept)
                # of the same objects, which are soon compared
                attributes.setdefault("_as_made", {})[name] = _copied(attributes[name])
            elif name == "param":
                attributes[name] = svm_parameter.from_parameter(self._kept.param)
            elif name == "SV":
                attributes[name] = NodeRows(self._kept.vectors if self._shown is None else self._shown)
        return super().__getattr__(name)

    @property
    def _kept(self) -> Model:
        """As trained or loaded."""
        if self._model is None:
            raise ValueError("this svm_model has no content: it was freed, or never had one")
        return self._model

    @property
    def model(self) -> Model:
        found, changes, as_made = self._kept, dict[str, Any](), self._attributes.get("_as_made", {})
        for name, (make, field, code) in self._made.items():
            held = self._attributes.get(name)
            if name in self._attributes and held != (as_made[name] if name in as_made else make(found)):
                flat = list(chain.from_iterable(held)) if name == "sv_coef" else held
                changes[field] = filled(code, flat) if code and flat is not None else flat
        if "SV" in self._attributes and self._shown is None:
            changes |= {"vectors": self.SV.matrix()} if self.SV.matrix() is not found.vectors else {}
        if "param" in self._attributes:
            kernel = self.param.to_kernel(found.param)
            changes |= {"param": kernel} if kernel != found.param else {}
        return replace(found, **changes) if changes else found

    def free(self) -> None:
        """Free the content of the model; afterwards only methods of ctypes work on it."""
        self._attributes.clear()
        self._model = self._shown = None

    @property
    def vectors(self) -> CsrMatrix:
        return self._kept.vectors if self._shown is None else self._shown

    @property
    def nr_class(self) -> int:
        return self._kept.nr_class

    @property
    def l(self) -> int:  # noqa: E743
        return int(self._kept.n_sv)

    def get_svm_type(self) -> int:
        return int(self._kept.param.svm_type)

    def get_nr_class(self) -> int:
        return self.nr_class

    def get_svr_probability(self) -> float:
        """Noise scale of a regression with probability estimates; of others 0, with a line on stderr."""
        if self._kept.param.svm_type.is_regression and self.probA:
            return float(self.probA[0])
        print("this model is not a regression with probability estimates", file=sys.stderr)
        return 0.0

    def get_labels(self) -> list[int]:
        """Class labels; zeros unless classification, as in LIBSVM."""
        return list(self.label) if self.label is not None else [0] * self.nr_class

    def get_sv_indices(self) -> list[int]:
        """Training row of each support vector, from 1; zeros in a loaded model, as in LIBSVM."""
        return list(self.sv_indices) if self.sv_indices is not None else [0] * self.l

    def get_nr_sv(self) -> int:
        return self.l

    def is_probability_model(self) -> bool:
        return self._kept.has_probability

    def get_sv_coef(self) -> list[tuple[float, ...]]:
        """For each support vector its nr_class - 1 coefficients."""
        return list(zip(*self.sv_coef, strict=True)) if self.nr_class > 1 else [()] * self.l

    def get_SV(self) -> list[dict[int, float]]:
        """Support vectors, each a dict of index to value."""
        return [dict(self.vectors.row(i)) for i in range(self.l)]


def toPyModel(model_ptr: Any) -> svm_model:
    """The svm_model given, or that of a pointer or a Model.

    Parameters
    ----------
    model_ptr : pointer, svm_model or Model

    Returns
    -------
    svm_model

    Raises
    ------
    TypeError
        Anything else.
    ValueError
        None or a NULL pointer.
    """
    if model_ptr is None or (isinstance(model_ptr, ctypes._Pointer) and not model_ptr):
        raise ValueError("no model: None or a NULL pointer was given")
    return svm_model(model_ptr) if isinstance(model_ptr, Model) else contents_of(model_ptr, svm_model)


def all_rows(matrix: CsrMatrix) -> Buffer:
    """Row numbers 0 .. n_rows - 1, buffer of int32."""
    return np.arange(matrix.n_rows, dtype=np.int32).data
