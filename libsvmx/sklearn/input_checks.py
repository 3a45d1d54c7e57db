"""scikit-learn's validation, skipped for plain finite arrays: for few rows it takes longer than the training."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_X_y, validate_data

from libsvmx.api.arrays import column_of_times, columns_of_text

# validate_data's options for kernel values: float64 and float32 arrays are used without a copy.
KERNEL_VALUES = {"dtype": [np.float64, np.float32], "order": None, "accept_sparse": "csr"}


def is_plain(X: Any, kind: Any = np.float64) -> bool:
    """Whether X is an array that scikit-learn would return unchanged: finite, 2-D, in C order."""
    return type(X) is np.ndarray and X.dtype == kind and X.ndim == 2 and X.flags.c_contiguous and has_finite_sum(X)


def is_plain_kernel(K: Any) -> bool:
    """The same for kernel values, of float64 or float32 and with any strides."""
    known = type(K) in (np.ndarray, np.memmap) and K.ndim == 2 and K.dtype in (np.float64, np.float32)
    return known and has_finite_sum(K)


def is_plain_csr(X: Any) -> bool:
    """The same for a CSR matrix."""
    return issparse(X) and X.format == "csr" and X.dtype == np.float64 and X.ndim == 2 and has_finite_sum(X.data)


def has_finite_sum(values: Any) -> bool:
    """False if there are no values, or one of them may not be finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.size > 0 and isfinite(values.sum())


def are_whole(values: Any) -> bool:
    """Whether floats are finite integers, as labels must be."""
    with np.errstate(invalid="ignore"):
        return bool((np.abs(values) < 2**53).all() and (values == np.rint(values)).all())


def validated(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """``validate_data``; its errors name columns that do not convert. Raises ValueError, also for dates, which
    scikit-learn would convert to numbers."""
    column = column_of_times(X)
    if column is not None:
        raise ValueError(f"X must hold real numbers, but column {column!r} holds dates or times")
    try:
        return validate_data(estimator, X, *y, **options)
    except ValueError as error:
        if "could not convert" in str(error) and (text := columns_of_text(X, numeric=False)):
            raise ValueError(f"{error}: {text}") from None
        raise


def training_data(estimator: Any, X: Any, y: Any, float32: bool = False, given: bool = False) -> tuple[Any, Any]:
    """``validate_data`` for rows and targets. Raises ValueError.

    ``float32``: finite values of this type are not converted; ``given``: X is a kernel matrix, used without a copy.
    """
    stays = float32 and getattr(X, "dtype", None) == np.float32
    stays = stays and (issparse(X) or (type(X) is np.ndarray and has_finite_sum(X)))
    wanted = np.float32 if stays else np.float64
    if (is_plain_kernel(X) if given else is_plain(X, wanted)) and type(y) is np.ndarray and y.shape == X.shape[:1]:
        kind = y.dtype.kind
        if kind in "iub" or (kind == "f" and has_finite_sum(y)):
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
            return X, y
    options = {"dtype": wanted, "order": "C", "accept_sparse": "csr"}
    X, y = validated(estimator, X, y, **(KERNEL_VALUES if given else options))
    return X, y


def more_data(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """``training_data`` for additional rows, with the same number and names of features. Raises ValueError."""
    X, y = validated(estimator, X, y, dtype=np.float64, order="C", accept_sparse="csr", reset=False)
    return X, y


def more_values(estimator: Any, K: Any, y: Any, known: int) -> tuple[Any, Any]:
    """``more_data`` for kernel values, shape (n, known + n). Raises ValueError."""
    K, y = check_X_y(K, y, dtype=np.float64, order="C", estimator=estimator)
    if K.shape[1] != known + len(K):
        raise ValueError(
            f"rows that join need {known + len(K)} kernel values each, with the {known} rows that were ever given and "
            f"with the {len(K)} that join, but X has shape {K.shape}"
        )
    return K, y


def test_data(estimator: Any, X: Any, given: bool = False) -> Any:
    """``validate_data`` for test rows, ``given`` as in ``training_data``. Raises ValueError."""
    known = vars(estimator)
    plain = is_plain_kernel(X) if given else is_plain(X) or is_plain_csr(X)
    if plain and X.shape[1] == known["n_features_in_"] and "feature_names_in_" not in known:
        return X
    options = {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}
    return validated(estimator, X, reset=False, **(KERNEL_VALUES if given else options))
