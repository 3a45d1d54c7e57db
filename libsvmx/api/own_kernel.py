"""Classes of the caller's own kernels.

Kernel          base class
Function        wraps a plain function
Named           one of libsvmx's kernels: Kernel.named
Sum, Product    of several: w * k, k + k, k * k
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._kernels.block_kernel import KernelSpec, kernel_diagonal
from libsvmx._train.checks import check_signs
from libsvmx._train.gamma import GROWING_AS_FEATURES, shown_gammas
from libsvmx._train.parameter import Parameter, is_several
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import as_matrix, scaled
from libsvmx.api.kernel_values import NamedRows, PartRows, check_finite, chosen_rows, n_rows_of, plain_array, values_of
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError

# The default ``diagonal`` computes blocks of this many rows by ``__call__``, and takes their diagonals.
ROWS_OF_DIAGONAL = 32


class Kernel:
    """Base class of your own kernels: define ``__call__``; the other methods have defaults based on it.

    Pass an instance as ``kernel=`` to ``train``, ``cross_validate`` and all functions over rows, and to the estimators.
    A plain function of (A, B) will do, too. One call of libsvmx never calls it from two threads at a time, but your own
    threads may share an instance. An exception in the kernel ends the call of libsvmx, which then has no effect.

    Attributes
    ----------
    symmetric : bool
        True (default): K(a, b) = K(b, a), so rows are computed on demand; contradictions are refused when they are
        seen. False: all values are computed before a training.
    normalized : bool
        True: K(a, a) = 1 for each row, so ``diagonal`` is not called. False is the default.

    Examples
    --------
    >>> import libsvmx
    >>> class Shared(libsvmx.Kernel):
    ...     "Letters that two words have in common, as a share of all that they have."
    ...     normalized = True
    ...     def prepare(self, X):
    ...         return [frozenset(word) for word in X]
    ...     def __call__(self, A, B):
    ...         return [[len(a & b) / len(a | b) for b in B] for a in A]
    >>> model = libsvmx.train(["noon", "moon", "cat", "tact"], [1, 1, 2, 2], kernel=Shared())
    >>> libsvmx.predict(model, ["soon", "act"])
    array([1., 2.])
    """

    symmetric: bool = True
    normalized: bool = False
    __array_ufunc__ = None  # so that a NumPy number times a kernel is a kernel

    @staticmethod
    def named(kernel_type: Any, *, gamma: Any = 0.0, degree: int = 3, coef0: float = 0.0) -> Kernel:
        """One of libsvmx's kernels, for a ``Sum`` or ``Product``, or with a gamma for each feature.

        Parameters
        ----------
        kernel_type, degree, coef0
            As in ``Parameter``.
        gamma : float or array of float, shape (n_features,)
            An array has a factor >= 0 for each feature's part of the distance or of u'v; a feature with gamma 0 does
            not count.

        Returns
        -------
        Kernel

        Raises
        ------
        ParameterError
            An unknown kernel, or a gamma that is missing or does not fit.
        """
        param = Parameter(kernel_type=kernel_type, gamma=gamma, degree=degree, coef0=coef0)
        if is_several(gamma) and not param.gammas:
            raise ParameterError(f"kernel {param.kernel_type.keyword} has no gamma")
        return Named(param)

    def __call__(self, A: Any, B: Any) -> Any:
        """K(a, b) of all pairs: real and finite numbers, shape (len(A), len(B)), an array or convertible to one.

        A and B are rows as ``prepare`` returns them. A value must not depend on the rows that it is asked for with.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, A, B)")

    def prepare(self, X: Any) -> Any:
        """Convert rows once to the form that the other methods take; by default X itself.

        Called once for the rows of a training, and once for those of each prediction: compute here what depends on one
        row only, such as the substrings of a string. Returns an array, a sparse matrix, a data frame or a list with as
        many rows as X. A model keeps those of its support vectors.
        """
        return X

    def rows(self, some: Any, X: Any) -> Any:
        """Rows of the kernel matrix of a training, shape (len(some), len(X)); ``some`` are rows of X.

        X: all training rows; with ``symmetric`` perhaps a part of them, those whose own rows have not been asked for.
        """
        return self(some, X)

    def cross(self, X: Any, vectors: Any) -> Any:
        """Values of test rows with support vectors, shape (len(X), len(vectors))."""
        return self(X, vectors)

    def diagonal(self, X: Any) -> Any:
        """K(x, x) of each row, shape (len(X),)."""
        n = n_rows_of(X)
        if self.normalized:
            return np.ones(n)
        values = np.empty(n)
        for begin in range(0, n, ROWS_OF_DIAGONAL):
            some = chosen_rows(X, range(begin, min(begin + ROWS_OF_DIAGONAL, n)))
            values[begin : begin + ROWS_OF_DIAGONAL] = values_of(self, some, some).diagonal()
        return values

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if callable(other) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        if isinstance(other, Real) and other == 0:  # the start value of sum()
            return self
        return Sum(other, self) if callable(other) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Real):
            return Sum(self).times(float(other))
        return Product(self, other) if callable(other) else NotImplemented

    __rmul__ = __mul__


class Function(Kernel):
    """Function(kernel): a plain function as a Kernel."""

    def __init__(self, kernel: Callable[[Any, Any], Any]) -> None:
        self.kernel = kernel

    def __call__(self, A: Any, B: Any) -> Any:
        return self.kernel(A, B)

    def __repr__(self) -> str:
        return repr(self.kernel)


class Named(Kernel):
    """Named(param): one of libsvmx's kernels."""

    def __init__(self, param: Parameter) -> None:
        kind = param.kernel_type
        if kind == KernelType.PRECOMPUTED:
            raise ParameterError("a precomputed kernel has values, not rows: it cannot be a part of another one")
        if "gamma" in kind.uses and not param.gamma > 0:
            raise ParameterError(f"kernel {kind.keyword} needs gamma > 0")
        self.spec, self.gammas = KernelSpec(*param.kernel_function), param.gammas

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "factors" in state:  # pickles of 0.3.0
            factors, kind = state["factors"], state["spec"].kind
            values = () if factors is None else factors if kind in GROWING_AS_FEATURES else factors**2
            state = {"spec": state["spec"], "gammas": tuple(map(float, values))}
        self.__dict__.update(state)

    @property
    def param(self) -> Parameter:
        """Parameters of a training with this kernel."""
        own = self.spec
        return Parameter(
            kernel_type=KernelType(own.kind), degree=own.degree, gamma=own.gamma, coef0=own.coef0, gammas=self.gammas
        )

    def __repr__(self) -> str:
        """Short form, for tables of searches."""
        kind = KernelType(self.spec.kind)
        told = {name: repr(getattr(self.spec, name)) for name in kind.uses}
        if self.gammas:
            told["gamma"] = shown_gammas(self.gammas)
        return f"Kernel.named({', '.join([repr(kind.keyword), *(f'{name}={value}' for name, value in told.items())])})"

    def prepare(self, X: Any) -> NamedRows:
        matrix = as_matrix(X)
        check_signs(matrix, ramp(matrix.n_rows), KernelType(self.spec.kind))
        return NamedRows(scaled(matrix, X, self.param))

    def __call__(self, A: NamedRows, B: NamedRows) -> FloatArray:
        return A.columns(B, self.spec)

    def rows(self, some: NamedRows, X: NamedRows) -> FloatArray:
        return X.rows(some, self.spec)

    def diagonal(self, X: NamedRows) -> FloatArray:
        return kernel_diagonal(X.matrix, self.spec)


class Combined(Kernel):
    """Combined(parts): a function of the values of other kernels, each with its own prepared rows.

    Attributes
    ----------
    parts : tuple of Kernel
    """

    def __init__(self, *parts: Any) -> None:
        if not parts:
            raise ParameterError(f"{type(self).__name__} needs at least one kernel")
        self.parts = tuple(as_kernel(part) for part in parts)
        self.symmetric = all(part.symmetric for part in self.parts)

    def prepare(self, X: Any) -> PartRows:
        return PartRows([prepared(part, X) for part in self.parts])

    def __call__(self, A: PartRows, B: PartRows) -> Any:
        return self.combined(lambda i: values_of(self.parts[i], A.parts[i], B.parts[i]))

    def rows(self, some: PartRows, X: PartRows) -> Any:
        return self.combined(lambda i: values_of(self.parts[i].rows, some.parts[i], X.parts[i]))

    def cross(self, X: PartRows, vectors: PartRows) -> Any:
        return self.combined(lambda i: values_of(self.parts[i].cross, X.parts[i], vectors.parts[i]))

    def diagonal(self, X: PartRows) -> Any:
        return self.combined(lambda i: diagonal_of(self.parts[i], X.parts[i]))

    def combined(self, values: Callable[[int], FloatArray]) -> Any:
        """Combine the values of all parts; ``values(i)``: those of part i."""
        raise NotImplementedError


class Sum(Combined):
    """Sum(w1 * k1, w2 * k2, ...): the sum of kernels, each times a weight >= 0, or 1.

    Parameters
    ----------
    *terms : Kernel, a number times one, or function of (A, B)
        The terms of a Sum are added one by one.

    Attributes
    ----------
    parts : tuple of Kernel
        The terms without their weights.
    weights : ndarray of float64, shape (len(parts),)
        A part of weight 0 is not computed.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> near, smooth = libsvmx.Kernel.named("laplacian", gamma=0.3), libsvmx.Kernel.named("rbf", gamma=0.1)
    >>> model = libsvmx.train(X, y, kernel=libsvmx.Sum(0.3 * near, 0.7 * smooth))
    >>> float(np.mean(model.predict(X) == y))
    0.85
    """

    def __init__(self, *terms: Any) -> None:
        own = [(part, weight) for term in terms for part, weight in terms_of(as_kernel(term))]
        super().__init__(*(part for part, _ in own))
        self.weights = np.array([weight for _, weight in own])

    def times(self, factor: float) -> Sum:
        """The kernel times ``factor``. Raises ParameterError if that is negative or not finite."""
        if not 0 <= factor < np.inf:
            raise ParameterError(f"the weight of a kernel must be finite and >= 0, not {factor:g}")
        found = Sum(self)
        found.weights = self.weights * factor
        return found

    def __repr__(self) -> str:
        terms = zip(self.weights.tolist(), self.parts, strict=True)
        return f"Sum({', '.join(f'{weight!r} * {part!r}' for weight, part in terms)})"

    def combined(self, values: Callable[[int], FloatArray]) -> Any:
        used: list[int] = np.flatnonzero(self.weights).tolist() or [0]
        return sum(self.weights[i] * values(i) for i in used)


class Product(Combined):
    """Product(k1, k2, ...): the product of kernels.

    Parameters
    ----------
    *factors : Kernel or function of (A, B)

    Attributes
    ----------
    parts : tuple of Kernel
        The factors.

    Examples
    --------
    >>> import libsvmx
    >>> kernel = libsvmx.Product(libsvmx.Kernel.named("rbf", gamma=0.1), libsvmx.Kernel.named("cosine"))
    >>> libsvmx.train([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [1, 2, 2], C=10, kernel=kernel).predict([[0.1, 0.9]])
    array([1.])
    """

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.parts))})"

    def combined(self, values: Callable[[int], FloatArray]) -> Any:
        found = values(0)
        for i in range(1, len(self.parts)):
            found = found * values(i)
        return found


def terms_of(kernel: Kernel) -> Iterator[tuple[Kernel, float]]:
    """Terms (kernel, weight) of a sum; any other kernel is one term of weight 1."""
    return zip(kernel.parts, kernel.weights.tolist(), strict=True) if isinstance(kernel, Sum) else iter([(kernel, 1.0)])


def as_kernel(given: Any) -> Kernel:
    """The given kernel as a Kernel. Raises ParameterError for a class instead of an instance, and for no kernel."""
    if isinstance(given, type):
        raise ParameterError(f"a kernel must be an instance or a function: give {given.__name__}(), not the class")
    if not callable(given):
        raise ParameterError(
            "a kernel must be a function of two sets of rows, or a libsvmx.Kernel, such as "
            f"libsvmx.Kernel.named('rbf', gamma=0.1), not {given!r}"
        )
    return given if isinstance(given, Kernel) else Function(given)


def is_called(kernel: Any) -> bool:
    """Whether a kernel is a callable, and not one of libsvmx's."""
    return callable(kernel) and not isinstance(kernel, Named)


def prepared(kernel: Kernel, X: Any) -> Any:
    """``kernel.prepare(X)``. Raises DataError if the number of rows changes."""
    n, rows = n_rows_of(X), kernel.prepare(X.tocsr() if hasattr(X, "tocsr") else X)
    if n_rows_of(rows) != n:
        raise DataError(f"the kernel was to prepare {n} rows, but has returned {n_rows_of(rows)}")
    return rows


def diagonal_of(kernel: Kernel, rows: Any) -> FloatArray:
    """K(x, x) of each prepared row. Raises DataError."""
    values, shape = plain_array(kernel.diagonal(rows)), (n_rows_of(rows),)
    if values.shape != shape:
        raise DataError(f"the diagonal of the kernel must have shape {shape}, but its shape is {values.shape}")
    check_finite(values)
    return values
