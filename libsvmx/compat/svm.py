"""The data types of LIBSVM's Python module: svm_parameter, svm_problem, svm_node, svm_model.

Same names, constructors and fields as the ctypes structures they stand in for, so C
arrays become lists and NULL becomes None. Nothing here points at foreign memory: a
model owns its vectors and can be copied, pickled and kept when the problem is gone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from ctypes import c_double
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from libsvmx._train.model import Model
from libsvmx._train.problem import Problem
from libsvmx.compat.options import PRINT_STRING_FUN, kernel_names, print_null, svm_forms, svm_parameter
from libsvmx.compat.rows import matrix_of, pairs_of, targets_of
from libsvmx.exceptions import DataError

if TYPE_CHECKING:
    from libsvmx._core.matrix import CsrMatrix
    from libsvmx._typing import Buffer

__all__ = [
    "PRINT_STRING_FUN",
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


@dataclass(slots=True)
class svm_node:
    """One entry of a row; index -1 ends the row."""

    index: int = -1
    value: float = 0.0

    def __str__(self) -> str:
        return f"{self.index}:{self.value:g}"


def gen_svm_nodearray(xi: Any, feature_max: int | None = None, isKernel: bool = False) -> tuple[list[svm_node], int]:
    """One row as nodes.

    Parameters
    ----------
    xi : dict, list, tuple, 1-d ndarray, or a pair of ndarrays (columns from 0, values)
    feature_max : int or None     entries of larger index are left out
    isKernel : bool               a row of a precomputed kernel: zeros stay, columns count from 0

    Returns
    -------
    nodes : list of svm_node      ascending, and a last one of index -1
    max_idx : int                 largest index, 0 without entries
    """
    if feature_max is not None and not isinstance(feature_max, int):
        raise TypeError(f"feature_max must be an int, not {feature_max!r}")
    pairs = zip(*pairs_of(xi, isKernel), strict=True)
    nodes = [svm_node(j, float(value)) for j, value in pairs if not feature_max or j <= feature_max]
    return [*nodes, svm_node()], nodes[-1].index if nodes else 0


class _NodeRows(Sequence[list[svm_node]]):
    """Rows of a matrix as lists of nodes, made when looked at."""

    __slots__ = ("matrix",)

    def __init__(self, matrix: CsrMatrix):
        self.matrix = matrix

    def __len__(self) -> int:
        return int(self.matrix.n_rows)

    @overload
    def __getitem__(self, at: int) -> list[svm_node]: ...
    @overload
    def __getitem__(self, at: slice) -> list[list[svm_node]]: ...
    def __getitem__(self, at: int | slice) -> list[svm_node] | list[list[svm_node]]:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        row = self.matrix.row(at + len(self) if at < 0 else at)
        return [*(svm_node(j, value) for j, value in row), svm_node()]


class svm_problem:
    """svm_problem(y, x, isKernel=False)

    Parameters
    ----------
    y : list, tuple or 1-d ndarray, shape (l,)       labels or targets
    x : list or tuple of l rows (dict of index to value, list, tuple, 1-d ndarray), 2-d ndarray of
        shape (l, n), or scipy.sparse matrix or array of any format, shape (l, n)
    isKernel : bool                                  rows of a precomputed kernel, serial number first

    Attributes
    ----------
    l, n : int                 rows, and the largest feature index
    y : list of float          may be changed before training
    x : sequence of rows, each a list of svm_node
    matrix : CsrMatrix         the rows as the solver reads them; shares no memory with lists, dicts or ndarrays

    Raises
    ------
    TypeError                  forms or entries that are not numbers
    ValueError                 lengths that differ, indices outside 0 .. 2^31 - 1, nan or infinite values
    """

    def __init__(self, y: Any, x: Any, isKernel: bool = False):
        targets = targets_of(y)
        self.matrix, self.n = matrix_of(x, isKernel)
        self.l = int(self.matrix.n_rows)
        if len(targets) != self.l:
            raise DataError(f"y has {len(targets)} labels, but x has {self.l} rows; give one label for each row")
        self.y: list[float] = targets.tolist()

    @property
    def x(self) -> Sequence[list[svm_node]]:
        return _NodeRows(self.matrix)

    def to_problem(self) -> Problem:
        """All rows with the labels of now."""
        return Problem(self.matrix, targets_of(self.y).data)


class svm_model:
    """svm_model(model): a trained model with the fields and methods of LIBSVM's.

    Attributes
    ----------
    param : svm_parameter
    nr_class, l : int                   classes (2 unless classification), support vectors
    SV : sequence of l rows, each a list of svm_node
    sv_coef : list of nr_class - 1 lists of l floats
    rho : list of float                 one for each pair of classes
    label, nSV : list of int, or None unless classification
    probA, probB, prob_density_marks : list of float, or None
    sv_indices : list of int counted from 1, or None in a loaded model
    free_sv : int                       1 in a loaded model
    """

    def __init__(self, model: Model, loaded: bool = False, vectors: CsrMatrix | None = None):
        # a precomputed model keeps only serial numbers of its vectors; LIBSVM shows the rows it was trained on
        self.model = model
        self.vectors = vectors or model.vectors
        self.free_sv = int(loaded)

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "vectors": self.vectors, "free_sv": self.free_sv}

    @property
    def nr_class(self) -> int:
        return self.model.nr_class

    @property
    def l(self) -> int:  # noqa: E743
        return int(self.model.n_sv)

    @cached_property
    def param(self) -> svm_parameter:
        return svm_parameter.from_parameter(self.model.param)

    @property
    def SV(self) -> Sequence[list[svm_node]]:
        return _NodeRows(self.vectors)

    @cached_property
    def sv_coef(self) -> list[list[float]]:
        rows: list[list[float]] = self.model.sv_coef.tolist()
        return rows

    @cached_property
    def rho(self) -> list[float]:
        return list(self.model.offsets)

    @cached_property
    def label(self) -> list[int] | None:
        return None if self.model.class_labels is None else list(self.model.class_labels)

    @cached_property
    def nSV(self) -> list[int] | None:
        return None if self.model.class_sv is None else list(self.model.class_sv)

    @cached_property
    def probA(self) -> list[float] | None:
        return None if self.model.sigmoid_a is None else list(self.model.sigmoid_a)

    @cached_property
    def probB(self) -> list[float] | None:
        return None if self.model.sigmoid_b is None else list(self.model.sigmoid_b)

    @cached_property
    def prob_density_marks(self) -> list[float] | None:
        return None if self.model.marks is None else list(self.model.marks)

    @cached_property
    def sv_indices(self) -> list[int] | None:
        return None if self.model.row_numbers is None else list(self.model.row_numbers)

    def get_svm_type(self) -> int:
        return int(self.model.param.svm_type)

    def get_nr_class(self) -> int:
        return self.nr_class

    def get_svr_probability(self) -> float:
        """Noise scale of a regression with probability estimates; of others 0, with a line on stderr."""
        if self.model.param.svm_type.is_regression and self.probA:
            return self.probA[0]
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
        return self.model.has_probability

    def get_sv_coef(self) -> list[tuple[float, ...]]:
        """For each support vector its nr_class - 1 coefficients."""
        return list(zip(*self.sv_coef, strict=True)) if self.nr_class > 1 else [()] * self.l

    def get_SV(self) -> list[dict[int, float]]:
        """Support vectors, each a dict of index to value."""
        return [dict(self.vectors.row(i)) for i in range(self.l)]


def toPyModel(model_ptr: svm_model | Model | None) -> svm_model:
    """The svm_model of a model; ValueError for None."""
    if model_ptr is None:
        raise ValueError("no model: None was given")
    return svm_model(model_ptr) if isinstance(model_ptr, Model) else model_ptr


def all_rows(matrix: CsrMatrix) -> Buffer:
    """Row numbers 0 .. n_rows - 1, buffer of int32."""
    return np.arange(matrix.n_rows, dtype=np.int32).data
