"""Models for programs without libsvmx."""

from __future__ import annotations

import os
from typing import Literal

from libsvmx._solvers.solver import converted
from libsvmx._train.model import Model
from libsvmx._typing import FilePath
from libsvmx.api.arrays import Fitted, model_of
from libsvmx.io.exporting import export_model, format_of


def export(
    model: Model | Fitted,
    path: FilePath,
    format: Literal["c", "json", "onnx"] | None = None,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    name: str = "model",
    n_features: int | None = None,
) -> None:
    """Write a model as C99 source, JSON or ONNX, atomically.

    Parameters
    ----------
    model : Model
        Any kernel except a precomputed one.
    path : str or path
        ``-`` is standard output.
    format : str
        'c', 'json' or 'onnx'; by default by the ending of ``path``, else 'c'. 'c': functions ``name_decision_values``,
        ``name_predict``, and ``name_predict_probability`` for classifiers with probability estimates. 'json': the
        numbers of the model, see docs/compress.md. 'onnx': a graph with input x and outputs label (value in regression)
        and decision_values, without probabilities; needs the package onnx.
    dtype : str
        Type of tables and sums in C and ONNX.
    name : str
        Prefix of the functions in C.
    n_features : int
        Features of the rows to predict; by default ``model.n_features``, in a loaded model those of its support
        vectors.

    Raises
    ------
    ParameterError
        Unknown format or dtype, float32 in JSON, a name that is invalid in C, fewer features than the model has, or a
        precomputed kernel.
    DataError
        Numbers that are not finite or out of range for a float, more features than a C int holds, or a graph too large
        for an ONNX file.
    SvmxError
        The package onnx is missing.
    OSError
        The file cannot be written.

    Feature j of LIBSVM's files is column j - 1 of a row, or column j in models of rows with an index 0.

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
