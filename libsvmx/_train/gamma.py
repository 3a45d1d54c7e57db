"""gamma of a kernel: LIBSVM's 0, scikit-learn's "scale" and "auto", and one for each feature."""

from __future__ import annotations

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._typing import TYPE_CHECKING, FloatArray
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from libsvmx._train.parameter import Parameter

# Kernels whose argument, |u - v|_1 or (u - v)^2 / (u + v), grows as the features do; others grow as their squares.
GROWING_AS_FEATURES = (KernelType.LAPLACIAN, KernelType.CHI2)
# Factors of the last trainings and predictions. No lru_cache: commands start without functools.
KEPT_FACTORS: dict[tuple[tuple[float, ...], bool], FloatArray] = {}
MOST_KEPT = 16
VALUES_OF_BLOCK = 2**17  # a megabyte of doubles at a time


def default_gamma(param: Parameter, max_index: int) -> Parameter:
    """``param`` with gamma = 1 / max_index if it is 0, as in LIBSVM's commands."""
    if param.gamma == 0 and max_index > 0:
        return replace(param, gamma=1.0 / max_index)
    return param


def feature_factors(param: Parameter) -> FloatArray:
    """Factors of the features, shape (features,): over rows scaled by them, gamma = 1 is the kernel with ``gammas``."""
    from numpy import array, sqrt

    key = param.gammas, param.kernel_type in GROWING_AS_FEATURES
    factors = KEPT_FACTORS.get(key)
    if factors is None:
        factors = array(param.gammas) if key[1] else sqrt(array(param.gammas))
        factors.flags.writeable = False
        if len(KEPT_FACTORS) >= MOST_KEPT:
            KEPT_FACTORS.clear()
        KEPT_FACTORS[key] = factors
    return factors


def scaled_rows(matrix: CsrMatrix, param: Parameter, first_index: int, needs_all: bool = False) -> CsrMatrix:
    """``matrix`` with each feature scaled by its factor of gamma, if there are several.

    ``first_index``: that of the training rows. Raises DataError for features without a gamma, and, with ``needs_all``,
    for fewer features than gammas.
    """
    if not param.gammas:
        return matrix
    import numpy as np

    factors = feature_factors(param)
    columns = matrix.n_columns + matrix.first_index - first_index
    if columns > len(factors) or (needs_all and matrix.n_rows and columns < len(factors)):
        raise DataError(f"there are {len(factors)} gammas, but rows with {columns} columns")
    indices = np.asarray(matrix.stored_indices)
    if len(indices) and matrix.first_index < first_index and indices.min() < first_index:
        raise DataError(
            f"there is a gamma for each feature from {first_index} on, but rows with feature {indices.min()}"
        )
    values = np.asarray(matrix.stored_values)
    out, width = np.empty(len(values)), max(len(indices), 1)  # in float64, as test rows: float32 would be rounded
    step = VALUES_OF_BLOCK // width * width + width if matrix.regular else VALUES_OF_BLOCK
    for begin in range(0, len(values), step):
        some = slice(begin, begin + step)
        own = factors[(indices if matrix.regular else indices[some]) - first_index]
        np.multiply(values[some].reshape(-1, len(own)), own, out=out[some].reshape(-1, len(own)))
    return CsrMatrix(
        matrix.indptr,
        indices.data,
        out.data,
        copy=False,
        n_columns=matrix.n_columns,
        first_index=matrix.first_index,
        regular=matrix.regular,
    )


def shown_gammas(gammas: tuple[float, ...]) -> str:
    """Gammas in repr: of more than 20 the first and last three."""
    from numpy import array, array2string

    form: Any = {"float": "{:g}".format}
    return array2string(array(gammas), max_line_width=1000, separator=", ", threshold=20, edgeitems=3, formatter=form)


def gamma_of(gamma: str | float, X: Any) -> float:
    """A number, or a value by scikit-learn's rules: "auto" is 1 / columns, "scale" 1 / (columns * variance of all
    values).

    Weights of rows do not count. ``X``: an ndarray of float64 or float32 in C order, or a compressed matrix of SciPy;
    for "auto", whatever has a shape.
    """
    if gamma == "auto":
        return float(1.0 / X.shape[1])
    if gamma == "scale":
        variance = variance_of(X)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    return float(gamma)


def variance_of(X: Any) -> float:
    """Variance of all values, summed as in scikit-learn for equal bits; for a sparse matrix rounding may make it
    negative."""
    if hasattr(X, "tocsr"):
        if X.format == "csr" and X.has_canonical_format and adds_value_by_value():
            variance = variance_of_values(X)
            if variance is not None:
                return variance
        if X.dtype == "float32":
            X = with_values(X, X.data.astype("float64"))
        of_data = X.data * X.data
        as_there = X.format == "csr" and X.has_canonical_format and of_data.all()  # else the sum has another order
        squares = with_values(X, of_data) if as_there else X.multiply(X)
        return float(squares.mean() - X.mean() ** 2)
    return variance_in_double(X)


def with_values(X: Any, data: FloatArray) -> Any:
    """A compressed matrix of SciPy with other values and the same structure, without a copy of that."""
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def variance_of_values(X: Any) -> float | None:
    """The variance of a compressed matrix without zero squares, some values at a time; else None."""
    data, n, per_value = X.data, len(X.data), 1.0 / (X.shape[0] * X.shape[1])

    def values(begin: int, end: int) -> FloatArray:
        some: FloatArray = data[begin:end].astype("float64")
        return some

    def squares(begin: int, end: int) -> FloatArray:
        some = values(begin, end)
        return some * some

    blocks = range(0, n, VALUES_OF_BLOCK)
    if n != X.indptr[-1] or not all(squares(begin, begin + VALUES_OF_BLOCK).all() for begin in blocks):
        return None
    mean_of_squares = pairwise_sum(lambda begin, end: squares(begin, end) * per_value, 0, n)
    return float(mean_of_squares - pairwise_sum(lambda begin, end: values(begin, end) * per_value, 0, n) ** 2)


def adds_value_by_value() -> bool:
    """Whether SciPy sums a sparse matrix as the array of its values; older versions add sums of rows."""
    from scipy.sparse import csr_matrix

    return float(csr_matrix([[1e16, 1.0], [-1e16, 1.0]]).sum()) == 1.0  # by rows it is 0, as 1 is lost in each


def variance_in_double(X: Any) -> float:
    """``X.astype(float64).var()`` of an array in C order, some values at a time."""
    from numpy import __version__
    from numpy.lib import NumpyVersion

    values = X.reshape(-1)
    added = pairwise_sum if NumpyVersion(__version__) >= "2.3.0" else buffered_sum
    mean = added(lambda begin, end: values[begin:end].astype("float64"), 0, len(values)) / len(values)

    def squares(begin: int, end: int) -> FloatArray:
        apart: FloatArray = values[begin:end].astype("float64") - mean
        return apart * apart

    return float(added(squares, 0, len(values)) / len(values))


def pairwise_sum(terms: Callable[[int, int], FloatArray], begin: int, end: int) -> Any:
    """The sum of terms(begin, end), by NumPy's pairwise summation and so with its bits."""
    if end - begin <= VALUES_OF_BLOCK:
        return terms(begin, end).sum()
    middle = begin + (end - begin) // 16 * 8
    return pairwise_sum(terms, begin, middle) + pairwise_sum(terms, middle, end)


def buffered_sum(terms: Callable[[int, int], FloatArray], begin: int, end: int) -> Any:
    """The sum with the bits of NumPy before 2.3, which adds one buffer after another."""
    from numpy import getbufsize

    size = getbufsize()
    return sum(terms(first, min(first + size, end)).sum() for first in range(begin, end, size))
