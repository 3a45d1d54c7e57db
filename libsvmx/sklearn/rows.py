"""Rows and weights in scikit-learn's formats, converted for the lower layers."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_sample_weight

from libsvmx._core.interchange import in_shape
from libsvmx._core.matrix import CsrMatrix
from libsvmx._train.model import Model
from libsvmx._typing import FloatArray, IntArray
from libsvmx.api.arrays import borrowed, from_dense, from_scipy, kernel_table

# scikit-learn 1.9 refuses weights that are all 0; here all weights <= 0 have one error
WITH_ZEROS = {"allow_all_zero_weights": True} if "allow_all_zero" in str(signature(_check_sample_weight)) else {}


def joining_weights(sample_weight: Any, X: Any) -> FloatArray | None:
    """Weights of added rows, shape (n,), negative ones set to 0; None: all are 1. Raises ValueError."""
    if sample_weight is None:
        return None
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, **WITH_ZEROS)
    return np.maximum(weights, 0.0)


def matrix_of(X: Any, is_kernel: bool, borrow: bool = False) -> CsrMatrix:
    """Validated rows, or kernel values, as a CsrMatrix. ``borrow``: without a copy, as ``borrowed`` does."""
    if is_kernel:
        return kernel_table(in_shape(X).toarray() if issparse(X) else X if borrow else X.copy())
    return (borrowed(X) if borrow else None) or (from_scipy if issparse(X) else from_dense)(X)


def vectors_of(model: Model, rows: Any, support: IntArray) -> Any:
    """Support vectors, in double, of ``rows`` that are sparse, or scaled in the model by a gamma for each feature; else
    None, since the model has them."""
    return rows[support].astype(np.float64, copy=False) if issparse(rows) or model.param.gammas else None


def weights_of(sample_weight: Any, X: Any) -> tuple[FloatArray | None, IntArray | None]:
    """Weights, shape (n,), None if all are 1, and the indices of rows of positive weight, None if that is all rows.

    Other rows are left out, as in scikit-learn. Raises ValueError.
    """
    if sample_weight is None:
        return None, None
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, **WITH_ZEROS)
    counts = weights > 0
    if counts.all():
        return (None if (weights == 1).all() else weights), None
    rows = np.flatnonzero(counts).astype(np.int32)
    if not len(rows):
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return weights, rows
