"""Exact Shapley values: the contribution of each feature to a decision value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from libsvmx._core import memory
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.threads import thread_count
from libsvmx._kernels.shapley import ExpansionShapley
from libsvmx._train.model import Model, by_function
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import Fitted, as_matrix, decision_values, model_of, tests_of, threads_of
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError

# Dense numbers for each feature in addition to those of rows: scratch memory of all threads.
OF_FEATURE = 1600
# Numbers of quadrature nodes, each up to a half more than the one before, so that few are computed.
FEWEST_NODES, GROWTH = 4, 1.25
# Iterations of Newton's method; three or four are usual.
MOST_STEPS, SMALL_STEP = 10, 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Shapley values of decision values: ``values`` over the features and ``base_values`` add up to them.

    Attributes
    ----------
    values : ndarray of float64, shape (n, d), or (n, d, n_functions) if the model has several functions
        Shapley value of each feature of each row.
    base_values : ndarray of float64, shape (n,), or (n, n_functions)
        Mean decision value of the background.
    data : ndarray of float64, shape (n, d)
        Rows explained.
    first_index : int
        LIBSVM's index of the first of the d features: 1, or 0 if a row has that index.
    """

    values: FloatArray
    base_values: FloatArray
    data: FloatArray
    first_index: int = 1

    def to_shap(self, feature_names: Any = None) -> Any:
        """As a ``shap.Explanation``, which the plots of the package shap take. Raises ImportError without shap."""
        explanation: Any = import_module("shap").Explanation
        return explanation(self.values, self.base_values, self.data, feature_names=feature_names)


def explain(model: Model | Fitted, X: Any, background: Any, *, threads: int = 0) -> Explanation:
    """Exact Shapley values of the decision values of rows, against a background.

    The value of a coalition S of features is the mean decision value of rows with the values of x in S and those of a
    background row elsewhere (interventional Shapley values: Lundberg & Lee, *A unified approach to interpreting model
    predictions*, NeurIPS 2017). For the RBF and the Laplacian kernel they are integrals of polynomials, computed
    exactly by quadrature, with m^2 / 2 products for each test row, background row and support vector, m the number of
    features in which the two rows differ. For a linear kernel they are w_f (x_f - mean of the background).

    Parameters
    ----------
    model : Model
        Kernel RBF, Laplacian or linear.
    X, background
        n rows to explain, and one or more reference rows, as in ``predict``.
    threads : int
        As in ``predict``; results do not depend on it.

    Returns
    -------
    Explanation
        With as many features as the wider of X and the background; for rows without columns (dicts, files) up to the
        last feature that a row has.

    Raises
    ------
    ParameterError
        Another kernel.
    DataError
        As in ``predict``; no background; a value too large for a double.
    TooLittleMemory
        For rows, background and support vectors as dense arrays.

    The values of a row sum up to f(x) minus the mean of f over the background, except for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> model = libsvmx.train(X, y, C=10, gamma=0.5)
    >>> found = libsvmx.explain(model, X[:3], X[:20])
    >>> found.values.shape
    (3, 2)
    >>> total = found.values.sum(axis=1) + found.base_values
    >>> np.allclose(total, libsvmx.decision_values(model, X[:3])[:, 0])
    True
    """
    model = model_of(model)
    kernel_type = model.param.kernel_type
    if kernel_type not in (KernelType.RBF, KernelType.LAPLACIAN, KernelType.LINEAR):
        raise ParameterError(f"explain takes models with kernel RBF, LAPLACIAN or LINEAR, not {kernel_type.name}")
    most, tests, others = threads_of(threads), tests_of(model, X), tests_of(model, background)
    if not others.n_rows:
        raise DataError("the background has no rows")
    base = decision_values(model, background, threads=threads).mean(axis=0)
    first = min(tests.first_index, others.first_index)
    begin = min(first, model.vectors.first_index)
    end = max(last_of(tests), last_of(others)) + 1
    whole = max(end, last_of(model.vectors) + 1) - begin
    dense_rows = (2 + 2 * len(base)) * tests.n_rows + 2 * others.n_rows
    memory.require(8.0 * whole * (dense_rows + OF_FEATURE), f"explaining {whole} features", "; give fewer rows")
    rows, usual = dense(tests, begin, whole), dense(others, begin, whole)
    values = np.zeros((len(rows), whole, len(base)))
    with np.errstate(over="ignore", invalid="ignore"):  # errors are raised below
        if kernel_type == KernelType.LINEAR:
            put_linear(values, model, rows, usual, begin)
        else:
            put_expansion(values, model, rows, usual, begin, thread_count(most))
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        raise DataError("a value of a feature, or a sum of them, is too large for a double")
    shown = np.broadcast_to(base, (len(rows), len(base))).copy()
    own = slice(first - begin, end - begin)
    data = dense(as_matrix(X), begin, whole) if model.param.gammas else rows
    values = values[:, own, 0].copy() if len(base) == 1 else values[:, own]
    return Explanation(values, shown[:, 0].copy() if len(base) == 1 else shown, data[:, own], first)


def put_linear(values: FloatArray, model: Model, rows: FloatArray, background: FloatArray, first: int) -> None:
    """Shapley values of a linear model into ``values``, shape (n, d, n_functions)."""
    weights, w, at = np.zeros(values.shape[1:]), model.w, model.vectors.first_index - first
    end = min(at + w.shape[1], len(weights))  # further columns of the training rows have no weight
    weights[at:end] = w.T[: end - at]
    mean = background.mean(axis=0)
    for x, own in zip(rows, values, strict=True):  # row by row, with signals handled in between
        np.multiply((x - mean)[:, None], weights, out=own)


def put_expansion(
    values: FloatArray, model: Model, rows: FloatArray, background: FloatArray, first: int, threads: int
) -> None:
    """Shapley values of an RBF or Laplacian model into ``values``, shape (n, d, n_functions)."""
    coef = by_function(model.sv_coef, model.class_sv)
    longest = min(values.shape[1], most_nonzeros(rows) + most_nonzeros(background))  # bound on features that differ
    rules = [rule(n) for n in sizes(longest)]
    param = model.param
    laplacian = param.kernel_type == KernelType.LAPLACIAN
    method = ExpansionShapley(
        model.vectors, first, np.ascontiguousarray(coef), param.gamma, background, rules, threads, laplacian
    )
    out = np.zeros((values.shape[2], values.shape[1]))
    for x, own in zip(rows, values, strict=True):
        method.values_of(x, out)
        own[:] = out.T


def most_nonzeros(rows: FloatArray) -> int:
    """The maximum number of nonzeros of a row."""
    return max((int(np.count_nonzero(row)) for row in rows), default=0)


def sizes(n_factors: int) -> list[int]:
    """Numbers of nodes, ascending; the last one is exact for products of ``n_factors`` factors."""
    found = [FEWEST_NODES]
    while 2 * found[-1] < n_factors:
        found.append(int(found[-1] * GROWTH) + 1)
    return found


@lru_cache(maxsize=64)
def rule(n: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights over [0, 1], shape (n,) each, n > 1.

    Roots of the Legendre polynomial P_n by Newton's method, half of them, the others by symmetry. A call of SciPy's
    roots_legendre for 4,000 nodes takes 2 s, in which it could not be interrupted.
    """
    x = np.cos(np.pi * (np.arange(1, n // 2 + n % 2 + 1) - 0.25) / (n + 0.5))
    for _ in range(MOST_STEPS):
        before, P = np.ones(len(x)), x.copy()
        for k in range(2, n + 1):  # k P_k = (2k - 1) x P_(k-1) - (k - 1) P_(k-2)
            before, P = P, ((2 * k - 1) * x * P - (k - 1) * before) / k
        slope = n * (before - x * P) / (1 - x * x)
        x = x - P / slope
        if abs(P / slope).max() <= SMALL_STEP:
            break
    half = 1.0 / ((1 - x * x) * slope**2)
    nodes, weights = np.concatenate([-x, x[n // 2 - 1 :: -1]]), np.concatenate([half, half[n // 2 - 1 :: -1]])
    return (nodes + 1) / 2, weights / weights.sum()


def last_of(matrix: CsrMatrix) -> int:
    """The largest feature, including columns of zeros."""
    return max(matrix.first_index + matrix.n_columns - 1, matrix.max_index)


def dense(matrix: CsrMatrix, first: int, width: int) -> FloatArray:
    """Rows with features from ``first`` on, shape (n, width)."""
    out, begin = np.zeros((matrix.n_rows, width)), matrix.first_index - first
    table = matrix.toarray()
    out[:, begin : begin + table.shape[1]] = table
    return out
