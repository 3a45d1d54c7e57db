"""Models for programs without libsvmx."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from libsvmx._solvers.solver import converted
from libsvmx.api.arrays import model_of
from libsvmx.io.exporting import export_model, format_of

if TYPE_CHECKING:
    from libsvmx._train.model import Model
    from libsvmx._typing import FilePath
    from libsvmx.api.arrays import Fitted


def export(
    model: Model | Fitted,
    path: FilePath,
    format: Literal["c", "json", "onnx"] | None = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    name: str = "model",
    n_features: int | None = None,
) -> None:
    """Write a model as a program, or for one: C99, JSON, or ONNX. Whole or not at all.

    Parameters
    ----------
    model : Model          any kernel but a precomputed one
    path : str or path     ``-`` is standard output
    format : str           by default what ``path`` ends with, .json or .onnx, else 'c'. 'c': a file with
        ``name_decision_values``, ``name_predict``, and, where a classifier has probability estimates,
        ``name_predict_probability``. 'json': the numbers of the model, see docs/compress.md. 'onnx': a
        graph with input x and outputs label (value, in regression) and decision_values, without probabilities; needs
        the package onnx
    dtype : str            of tables and sums in C and ONNX
    name : str             with which the functions in C begin
    n_features : int       of the rows that will be given; by default ``model.n_features``, which of a loaded model are
        those of its support vectors

    Raises
    ------
    ParameterError         another format or dtype, float32 in JSON, a name that C does not take, fewer features than
        the model has; a precomputed kernel, whose model has no vectors
    DataError              numbers that are not finite, or too large or too small for a float; more features than a C
        int counts; a graph that is too large for a file of ONNX
    SvmxError              the package onnx is missing
    OSError                the file cannot be written

    Feature of index j in LIBSVM's files is column j - 1 of a row, column j in models of rows with an index 0.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> model = libsvmx.train(X, y, gamma=0.5)
    >>> libsvmx.export(model, "half.c", name="half")
    >>> libsvmx.export(model, "half.json")
    """
    width = None if n_features is None else converted("n_features", n_features, int)
    target = os.fspath(path)
    export_model(model_of(model), target, format_of(target) if format is None else format, dtype, name, width)
