"""Reading data, measuring predictions and scaling, as LIBSVM's Python module offers them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.matrix import CsrMatrix
from libsvmx._train.metrics import Scores
from libsvmx._typing import FloatArray
from libsvmx.exceptions import DataError, warn_caller
from libsvmx.io.svmlight import read_data
from libsvmx.io.textparse import parse_data

__all__ = ["csr_find_scale_param", "csr_scale", "evaluations", "svm_read_problem"]


def svm_read_problem(data_source: Any, return_scipy: bool = False) -> tuple[Any, Any]:
    """Read a data file.

    Parameters
    ----------
    data_source : path, or object with a read method of text or bytes
    return_scipy : bool
        Return arrays instead of lists.

    Returns
    -------
    y : list of float, or ndarray of float64, shape (l,)
        Labels or targets.
    x : list of dict of index to value, or scipy.sparse.csr_matrix, shape (l, n)
        Rows. Feature 1 is column 0, unless the file has a feature 0, which is then column 0. Zeros stay in dicts, and
        are left out of the csr_matrix.

    Raises
    ------
    FormatError
        A file that does not follow the format, with file, line and column.
    OSError
        A file that cannot be read.

    Oddities that are not errors, such as blank lines at the end, give warnings.

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale")
    >>> y[:2], x[0][1]
    ([1.0, -1.0], 0.708333)
    """
    if hasattr(data_source, "read"):
        content = data_source.read()
        content = content.encode() if isinstance(content, str) else bytes(content)
        matrix, targets = parse_data(content, str(getattr(data_source, "name", "stream")), False, False)[:2]
    else:
        data = read_data(os.fsdecode(data_source))
        matrix, targets = data.matrix, data.targets
        for remark in data.remarks:
            warn_caller(remark)
    if return_scipy:
        return np.array(targets, dtype=np.float64), _csr_of(matrix)
    return list(targets), [dict(matrix.row(i)) for i in range(matrix.n_rows)]


def _csr_of(matrix: CsrMatrix) -> Any:
    from scipy.sparse import csr_matrix

    indptr, indices, values = (np.asarray(part) for part in (matrix.indptr, matrix.indices, matrix.values))
    first = 0 if indices.size and indices.min() == 0 else 1
    kept = values != 0
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))  # entries kept before each entry
    columns = indices[kept].astype(np.int64) - first
    n_columns = int(columns.max()) + 1 if columns.size else 0
    return csr_matrix((values[kept], columns, before[indptr]), shape=(matrix.n_rows, n_columns))


def evaluations(
    ty: Sequence[float] | NDArray[Any], pv: Sequence[float] | NDArray[Any], useScipy: bool = True
) -> tuple[float, float, float]:
    """Accuracy in percent, mean squared error, squared correlation coefficient.

    Parameters
    ----------
    ty, pv : list, tuple or ndarray, shape (l,)
        True and predicted values.
    useScipy : bool
        Sum in NumPy's order; else sequentially, which may differ in the last digit.

    Returns
    -------
    tuple of float

    Raises
    ------
    ValueError
        Lengths that differ.

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> evaluations([1, 1, -1, -1], [1, -1, -1, -1])[0]
    75.0
    """
    if useScipy:
        return evaluations_scipy(np.asarray(ty), np.asarray(pv))
    if not _same_length(ty, pv):
        return NO_VALUES
    scores = Scores()
    scores.add(pv, ty)
    correlation = float(scores.squared_correlation)
    return float(scores.accuracy), float(scores.mean_squared_error), correlation if isfinite(correlation) else nan


def evaluations_scipy(ty: NDArray[Any], pv: NDArray[Any]) -> tuple[float, float, float]:
    """``evaluations`` of two ndarrays of shape (l,); TypeError for anything else."""
    if not (isinstance(ty, np.ndarray) and isinstance(pv, np.ndarray)):
        raise TypeError("ty and pv must be ndarrays")
    l = _same_length(ty, pv)  # noqa: E741
    if not l:
        return NO_VALUES
    accuracy = 100.0 * (ty == pv).mean()
    error = ((ty - pv) ** 2).mean()
    scc = _squared_correlation(l, pv.sum(), ty.sum(), (pv * ty).sum(), (pv * pv).sum(), (ty * ty).sum())
    return float(accuracy), float(error), scc


NO_VALUES = (nan, nan, nan)


def _same_length(ty: Any, pv: Any) -> int:
    if len(ty) != len(pv):
        raise ValueError(f"there are {len(ty)} true values, but {len(pv)} predicted ones")
    return len(ty)


def _squared_correlation(l: int, v: Any, y: Any, vy: Any, vv: Any, yy: Any) -> float:  # noqa: E741
    """From sums over v, y, v y, v^2, y^2; nan where a variance is 0."""
    with np.errstate(all="raise"):
        try:
            covariance = l * vy - v * y
            return float((covariance * covariance) / ((l * vv - v * v) * (l * yy - y * y)))
        except (ZeroDivisionError, FloatingPointError):
            return nan


def csr_find_scale_param(x: Any, lower: float = -1, upper: float = 1) -> dict[str, FloatArray]:
    """Linear maps that bring every column of ``x`` to the range from lower to upper.

    Parameters
    ----------
    x : scipy.sparse CSR matrix or array, shape (l, n)
    lower, upper : float
        Ends of the range, lower < upper.

    Returns
    -------
    dict
        'coef' and 'offset', ndarrays of shape (n,), for x * coef + offset; both are 0 for a constant column.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale", return_scipy=True)
    >>> float(csr_scale(x, csr_find_scale_param(x, lower=0)).max())
    1.0
    """
    _check_csr(x)
    if not lower < upper:
        raise ValueError(f"lower must be below upper, not {lower} and {upper}")
    smallest, largest = (side(axis=0).toarray().ravel() for side in (x.min, x.max))
    coef = (largest - smallest) / (upper - lower)
    varies = coef != 0
    coef[varies] = 1.0 / coef[varies]
    offset = -smallest * coef + lower
    offset[~varies] = 0
    if np.count_nonzero(offset) * x.shape[0] > 3 * x.nnz:
        print(f"WARNING: scaling will add many nonzeros to the {x.nnz} there are; {TRY_ZERO}", file=sys.stderr)
    return {"coef": coef, "offset": offset}


def csr_scale(x: Any, scale_param: dict[str, FloatArray]) -> Any:
    """Scale the columns of ``x`` by the maps of ``csr_find_scale_param``.

    Columns without a map become 0, with a warning on standard error.

    Parameters
    ----------
    x : scipy.sparse CSR matrix or array, shape (l, n)
    scale_param : dict
        From ``csr_find_scale_param``.

    Returns
    -------
    scipy.sparse CSR matrix or array, shape (l, n)

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from libsvmx.svmutil import *
    >>> y, x = svm_read_problem("data/heart_scale", return_scipy=True)
    >>> float(csr_scale(x, csr_find_scale_param(x, lower=0)).max())
    1.0
    """
    from scipy import sparse

    _check_csr(x)
    coef, offset = scale_param["coef"], scale_param["offset"]
    if len(coef) != len(offset):
        raise ValueError(f"scale_param: {len(coef)} entries of coef, but {len(offset)} of offset")
    l, n = x.shape  # noqa: E741
    if len(coef) != n:
        print(f"WARNING: x has {n} columns, but the scaling was found from {len(coef)}", file=sys.stderr)
        coef, offset = (np.concatenate((part[:n], np.zeros(max(n - len(part), 0)))) for part in (coef, offset))
    row = sparse.csr_matrix(offset.reshape(1, n))
    scaled = x @ sparse.diags(coef, 0, shape=(n, n)) + sparse.vstack([row] * l, format="csr", dtype=x.dtype)
    if scaled.nnz > x.nnz:
        print(f"WARNING: scaling made {scaled.nnz} nonzeros of {x.nnz}; {TRY_ZERO}", file=sys.stderr)
    return scaled


TRY_ZERO = "if values are not negative, lower=0 keeps zeros"


def _check_csr(x: Any) -> None:
    if getattr(x, "format", None) != "csr":
        raise TypeError(f"x is a {type(x).__name__}; it must be a scipy.sparse CSR matrix, see its method tocsr")
    if not np.isfinite(x.data).all():
        row = int(np.searchsorted(x.indptr, np.flatnonzero(~np.isfinite(x.data))[0], side="right")) - 1
        raise DataError("a value is not finite; remove the row or fill in a finite value", row)
