"""What a kernel of the caller is: ``Kernel``, which is subclassed; a plain function is the least of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx.api.kernel_values import chosen_rows, n_rows_of, values_of
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

# Rows whose values with each other are computed for the sake of those with themselves.
ROWS_OF_DIAGONAL = 16


class Kernel:
    """A kernel of your own: subclass it and define ``__call__``; the other methods follow from it.

    An instance is given as ``kernel=`` to ``train``, ``cross_validate`` and all functions over rows, and to the
    estimators. A plain function of (A, B) may be given instead. Within one call of libsvmx it is never called by two
    threads at a time; calls that threads of yours make with one instance may do so. What it raises ends the call that
    it was given to, of which nothing is left.

    Attributes
    ----------
    symmetric : bool       True: K(a, b) = K(b, a), so that rows are asked for as a training needs them; a kernel that
        contradicts itself is refused when that is seen. False: all values are asked for at once, before a training
    normalized : bool      False; True: K(a, a) = 1 for each row, so that ``diagonal`` need not be asked

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

    def __call__(self, A: Any, B: Any) -> Any:
        """K(a, b) of all pairs: real and finite numbers, shape (len(A), len(B)); an array, or what NumPy makes one of.

        A and B are rows as ``prepare`` returns them. A value must not depend on the rows that it is asked for with.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, A, B)")

    def prepare(self, X: Any) -> Any:
        """Rows in the form that the other methods are given; here as they are.

        Called once for the rows of a training, and once for the rows of each prediction: the place for what is computed
        of each row alone, such as the substrings of a string. As many rows as X has: an array, a sparse matrix, a frame
        or a list. A model keeps those of its support vectors.
        """
        return X

    def rows(self, some: Any, X: Any) -> Any:
        """Rows of the kernel matrix of a training: shape (len(some), len(X)); ``some`` are rows of X."""
        return self(some, X)

    def cross(self, X: Any, vectors: Any) -> Any:
        """Values of rows to predict with support vectors: shape (len(X), len(vectors))."""
        return self(X, vectors)

    def diagonal(self, X: Any) -> Any:
        """K(x, x) of each row: shape (len(X),)."""
        n = n_rows_of(X)
        if self.normalized:
            return np.ones(n)
        values = np.empty(n)
        for begin in range(0, n, ROWS_OF_DIAGONAL):
            some = chosen_rows(X, range(begin, min(begin + ROWS_OF_DIAGONAL, n)))
            values[begin : begin + ROWS_OF_DIAGONAL] = values_of(self, some, some).diagonal()
        return values


class Function(Kernel):
    """Function(kernel): a plain function as a Kernel."""

    def __init__(self, kernel: Callable[[Any, Any], Any]) -> None:
        self.kernel = kernel

    def __call__(self, A: Any, B: Any) -> Any:
        return self.kernel(A, B)


def as_kernel(given: Any) -> Kernel:
    """What a caller has given. Raises ParameterError for a class in the place of an instance."""
    if isinstance(given, type):
        raise ParameterError(f"a kernel must be an instance or a function: give {given.__name__}(), not the class")
    return given if isinstance(given, Kernel) else Function(given)
