"""Kernels of the caller: rows of the kernel matrix as a training asks for them, values with support vectors alone.

    Kernel        what a caller subclasses; a plain function is the least of them
    KernelRows    a kernel with the rows that it is asked about: those of a training, or a model's support vectors
    StateRows     the same of a state, whose rows have ids
    CalledRows    rows of their kernel matrix on demand: the RowSource behind a CsrMatrix

Rows are of any kind: arrays, object arrays, sparse matrices, frames, lists of strings or graphs. A training sees them
as a precomputed kernel whose row i has the serial number i + 1.
"""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.interchange import in_shape
from libsvmx._core.matrix import CsrMatrix, RowSource
from libsvmx._core.records import replace
from libsvmx._train.limits import ask, limited
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import NO_STATE, errors_of_a_path
from libsvmx.api.arrays import is_of_polars, kernel_table, real_array
from libsvmx.enums import KernelType, SolveStatus
from libsvmx.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from libsvmx._core.process import Token
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._typing import Buffer, FloatArray, Ids

# A kernel is called once for so few training rows: the calls would take longer than what they spare.
FEW_ROWS = 64
# Rows whose values with each other are computed for the sake of those with themselves.
ROWS_OF_DIAGONAL = 16
# Rows that are asked for at a time where all are wanted: the clock is looked at between.
ROWS_OF_ALL = 64
# K(i, j) and K(j, i) of a symmetric kernel may differ by this share of sqrt(K(i, i) K(j, j)): sums in float.
APART = 1e-4
# What they may differ by beside it, where those are 0: this share of the largest value of the rows, for sums in float.
NOISE = 1e-6


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


class KernelRows:
    """KernelRows(kernel, rows): a kernel and rows, as its ``prepare`` has made them.

    Of a Model they are its support vectors, in the order of ``sv_indices``.

    Attributes
    ----------
    kernel : Kernel
    rows : object
    n : int
    """

    __slots__ = ("kernel", "n", "rows")

    def __init__(self, kernel: Kernel, rows: Any) -> None:
        self.kernel, self.rows, self.n = kernel, rows, n_rows_of(rows)

    @classmethod
    def of(cls, given: Any, X: Any) -> KernelRows:
        """Of a kernel as a caller gives it, and the rows of a training."""
        kernel = as_kernel(given)
        return cls(kernel, prepared(kernel, X))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kernel, self.rows)

    @property
    def given(self) -> Any:
        """The kernel as the caller has given it."""
        return self.kernel.kernel if isinstance(self.kernel, Function) else self.kernel

    def copied(self) -> KernelRows:
        """All rows, in memory of their own, for what outlives the call."""
        return self.chosen(range(self.n))

    def chosen(self, numbers: Any) -> KernelRows:
        """The rows with these numbers, as a copy."""
        return KernelRows(self.kernel, chosen_rows(self.rows, numbers))

    def matrix(self, whole: bool = False) -> CsrMatrix:
        """Their kernel matrix: all of it now if ``whole``, else rows as they are asked for. Raises DataError."""
        if whole or self.n <= FEW_ROWS or not self.kernel.symmetric:
            return kernel_table(self.all_values())
        indices = np.arange(self.n + 1, dtype=np.int32)
        indptr = np.arange(self.n + 1, dtype=np.int64) * (self.n + 1)
        return CsrMatrix(indptr, indices, CalledRows(self), copy=False, regular=True)

    def all_values(self) -> FloatArray:
        """Values of all pairs, asked for at once: shape (n, n). Raises DataError."""
        return values_of(self.kernel.rows, self.rows, self.rows)

    def values(self, X: Any) -> FloatArray:
        """Values of other rows with these: shape (rows of X, n). Raises DataError."""
        return values_of(self.kernel.cross, prepared(self.kernel, X), self.rows)

    def to_predict(self, model: Model, X: Any) -> tuple[Model, CsrMatrix]:
        """A model of which these are the support vectors, and other rows, as they are predicted. Raises DataError."""
        return of_columns(model), kernel_table(self.values(X))

    def in_model(self, model: Model) -> Model:
        """A model of a training on these rows, with those that are its support vectors."""
        return replace(model, own_kernel=self.chosen(np.asarray(model.vectors.values).astype(np.intp) - 1))


class StateRows:
    """StateRows(known, ids): the rows of a state whose values a kernel of the caller computes; some may have left.

    Attributes
    ----------
    known : KernelRows
    ids : ndarray of int64, shape (known.n,)      ascending
    """

    __slots__ = ("ids", "known")

    def __init__(self, known: KernelRows, ids: Ids) -> None:
        self.known, self.ids = known, ids

    def only(self, ids: Ids) -> StateRows:
        """Those with these ids."""
        if np.array_equal(ids, self.ids):
            return self
        return StateRows(self.known.chosen(np.searchsorted(self.ids, ids)), ids)

    def in_model(self, model: Model) -> Model:
        """A model of the state, with its support vectors."""
        ids = np.asarray(model.vectors.values).astype(np.int64) - 1
        return replace(model, own_kernel=self.known.chosen(np.searchsorted(self.ids, ids)))

    def tests(self, X: Any, columns: int) -> CsrMatrix:
        """Values of other rows with these, in the column of each id. Raises DataError."""
        found = self.known.values(X)
        values = np.zeros((len(found), columns))
        values[:, self.ids] = found
        return kernel_table(values)

    def joined(self, X: Any, next_id: int) -> tuple[StateRows, FloatArray]:
        """These rows and others, whose ids begin with ``next_id``; and the values of those, with a column for each id.

        Raises DataError.
        """
        kernel, rows = self.known.kernel, prepared(self.known.kernel, X)
        m = n_rows_of(rows)
        values = np.zeros((m, next_id + m))
        values[:, self.ids] = values_of(kernel.cross, rows, self.known.rows)
        among = values[:, next_id:]
        among[:] = values_of(kernel.rows, rows, rows)
        if kernel.symmetric:
            make_symmetric(among, 0, among.diagonal().copy())
        ids = np.concatenate([self.ids, next_id + np.arange(m)])
        return StateRows(KernelRows(kernel, all_rows(self.known.rows, rows)), ids), values


def prepared(kernel: Kernel, X: Any) -> Any:
    """``kernel.prepare(X)``. Raises DataError where that has not the rows of X."""
    n, rows = n_rows_of(X), kernel.prepare(X.tocsr() if hasattr(X, "tocsr") else X)
    if n_rows_of(rows) != n:
        raise DataError(f"the kernel was to prepare {n} rows, but has returned {n_rows_of(rows)}")
    return rows


class CalledRows(RowSource):
    """CalledRows(known): rows of the kernel matrix of a KernelRows, as they are asked for.

    Attributes
    ----------
    token : Token or None       of the call that is going on: it ends once the kernel has raised
    error : BaseException or None      what it has raised
    """

    def __init__(self, known: KernelRows) -> None:
        self.known, self.n = known, known.n
        self.token: Token | None = None
        self.error: BaseException | None = None
        self.lock = allocate_lock()
        self.own: FloatArray = np.zeros(0)  # the diagonal
        self.first: tuple[Ids, FloatArray] | None = None  # numbers of the rows that came first, and the rows

    def diagonal(self) -> Buffer:
        values = plain_array(self.known.kernel.diagonal(self.known.rows))
        if values.shape != (self.n,):
            raise DataError(f"the diagonal of the kernel must have shape {(self.n,)}, but its shape is {values.shape}")
        check_finite(values)
        self.own = values
        return values.data

    def rows(self, numbers: list[int]) -> Buffer:
        self.check()
        rows = self.known.rows
        some = chosen_rows(rows, numbers)
        values = values_of(self.known.kernel.rows, some, rows)
        self.compare(numbers, values)
        if self.token is not None:
            self.token.urgent = self.token.look() is not None
        return values.data

    def compare(self, numbers: list[int], values: FloatArray) -> None:
        """Raise DataError where these rows contradict the diagonal, or the rows that came first."""
        at = np.array(numbers)
        self.first = first, rows = self.first or (at, values)
        check_same(values[np.arange(len(at)), at], self.own[at], self.own, at, at, values)
        check_same(values[:, first], rows[:, at].T, self.own, at[:, None], first, values, rows)

    def fail(self, error: BaseException) -> None:
        self.error = self.error or error
        if self.token is not None:
            self.token.stop(SolveStatus.INTERRUPTED)
            self.token.urgent = True

    def check(self) -> None:
        """Raise what the kernel has raised."""
        if self.error is not None:
            raise self.error


@contextmanager
def raising(source: CalledRows | None, observer: Observer) -> Iterator[None]:
    """Work on rows that a kernel computes, ended and undone by what it raises."""
    if source is None:
        yield
        return
    source.token = observer.limits
    try:
        yield
    finally:
        source.check()  # in place of what has come of rows that were not there


# ---- functions over arrays ------------------------------------------------------------------------


def called(X: Any, options: Mapping[str, Any]) -> tuple[Any, KernelRows | None, dict[str, Any]]:
    """Rows and keywords of a function as it would be given them with a precomputed kernel, where ``kernel`` among them
    is one of the caller: it and the rows; else None, and all as it is.

    Raises
    ------
    ParameterError, DataError
    """
    options = dict(options)
    word = next((word for word in ("kernel", "kernel_type") if callable(options.get(word))), None)
    if word is None:
        return X, None, options
    given = options.pop(word)
    for name in ("kernel", "kernel_type"):
        if name in options:
            raise ParameterError("kernel is called kernel_type here: give one of them")
    for name in ("gamma", "degree", "coef0"):
        if name in options:
            raise ParameterError(f"{name} is for kernels that libsvmx computes: let the kernel itself know it")
    known = KernelRows.of(given, X)
    return known.matrix(), known, {**options, "kernel_type": KernelType.PRECOMPUTED}


@contextmanager
def asked_for(problem: Problem, seconds: float, observer: Observer) -> Iterator[Observer]:
    """Work on a problem whose rows a kernel of the caller may have to compute: the observer to work with.

    What the kernel raises is raised, in place of what has come of rows that were not there.
    """
    source = problem.matrix.source
    told = observer if source is None else limited(observer, seconds)
    with raising(source, told):
        yield told


def of_columns(model: Model) -> Model:
    """The model for rows of kernel values that have a column for each support vector alone."""
    n = model.n_sv
    serials = np.arange(1, n + 1, dtype=np.float64)
    vectors = CsrMatrix(np.arange(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32), serials)
    return replace(model, vectors=vectors, columns=None, own_kernel=None)


def with_all_values(problem: Problem, known: KernelRows | None, observer: Observer) -> Problem:
    """The problem as a state takes it: of a symmetric kernel of the caller with all values, in two equal triangles.

    Raises
    ------
    DataError, StoppedEarly; what the kernel raises
    """
    if known is None or not known.kernel.symmetric:
        return problem
    source: CalledRows | None = problem.matrix.source
    n, values = known.n, np.empty((known.n, known.n))
    if source is None:  # of few rows all are there
        values[:] = np.asarray(problem.matrix.values).reshape(n, n + 1)[:, 1:]
    diagonal = values.diagonal().copy() if source is None else source.own
    with errors_of_a_path(NO_STATE):
        for begin in range(0, n, ROWS_OF_ALL):
            ask(observer)
            end = min(begin + ROWS_OF_ALL, n)
            if source is not None:
                values[begin:end] = source.rows(list(range(begin, end)))
            make_symmetric(values[:end, :end], begin, diagonal)
    return Problem(kernel_table(values), problem.targets, sample_weight=problem.sample_weight)


# ---- rows and values of any kind --------------------------------------------------------------------


def n_rows_of(X: Any) -> int:
    """How many rows there are. Raises DataError for what has none."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or shape == ():
        raise DataError(f"rows must be an array, a matrix, a frame or a list, not {type(X).__name__}")
    return len(X)


def chosen_rows(X: Any, numbers: Any) -> Any:
    """Rows of data of any kind, as data of that kind, in memory of their own."""
    chosen = np.asarray(numbers, dtype=np.intp)
    if hasattr(X, "tocsr"):
        return X.tocsr()[chosen]
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if isinstance(X, np.ndarray) or is_of_polars(X):
        return X[chosen]
    if isinstance(getattr(X, "shape", None), tuple):  # arrays of other packages
        return X[chosen]
    some = [X[i] for i in chosen.tolist()]
    return tuple(some) if isinstance(X, tuple) else some


def all_rows(A: Any, B: Any) -> Any:
    """Rows of A, then of B, as data of the kind of A. Raises DataError."""
    if not n_rows_of(B):
        return A
    if hasattr(A, "tocsr") and hasattr(B, "tocsr"):
        from scipy.sparse import vstack

        return vstack([A, B], format="csr")
    if isinstance(A, np.ndarray):
        return np.concatenate([A, np.asarray(B, dtype=object if A.dtype == object else None)])
    if hasattr(A, "iloc") and hasattr(B, "iloc"):
        pandas: Any = import_module("pandas")
        return pandas.concat([A, B])
    if is_of_polars(A) and is_of_polars(B):
        return A.vstack(B)
    if isinstance(A, list | tuple):
        return type(A)([*A, *B])
    raise DataError(
        "rows that join must be of the kind of those that are there, an array, a sparse matrix, a frame or a list: "
        f"these are in a {type(B).__name__}, those in a {type(A).__name__}"
    )


def values_of(kernel: Callable[[Any, Any], Any], A: Any, B: Any) -> FloatArray:
    """What a kernel says of all pairs of rows, in C order and memory of its own; of no pair it is not asked.

    Raises DataError.
    """
    shape = n_rows_of(A), n_rows_of(B)
    if not all(shape):
        return np.empty(shape)
    values = plain_array(kernel(A, B))
    if values.shape != shape:
        raise DataError(
            f"the kernel was called with {shape[0]} and {shape[1]} rows and must return an array of shape {shape}, "
            f"but its shape is {values.shape}"
        )
    check_finite(values)
    return values


def make_symmetric(values: FloatArray, begin: int, diagonal: FloatArray) -> None:
    """Give rows from ``begin`` on below the diagonal the values above it: a kernel in float rounds, and of each two one
    has to count. Raises DataError where they differ by more."""
    lower, upper = values[begin:], values[:, begin:].T
    check_same(lower, upper, diagonal, np.arange(begin, len(values))[:, None], np.arange(len(values)), lower)
    lower[:, :begin] = upper[:, :begin]
    own = lower[:, begin:]
    own[:] = np.triu(own) + np.triu(own, 1).T


def check_same(found: FloatArray, known: FloatArray, diagonal: FloatArray, i: Ids, j: Ids, *seen: FloatArray) -> None:
    """Raise DataError where K(i, j), which is ``found``, is not what is ``known`` of it but for rounding, as the values
    ``seen`` have it: a kernel of distances is 0 on the diagonal, but for what is left of sums that cancel."""
    size = np.sqrt(np.abs(diagonal[i])) * np.sqrt(np.abs(diagonal[j]))
    noise = NOISE * max(float(max(values.max(initial=0.0), -values.min(initial=0.0))) for values in seen)
    with np.errstate(over="ignore"):
        apart = np.argwhere(np.abs(found - known) > noise + APART * np.maximum(size, np.abs(known)))
    for place in map(tuple, apart[:1]):
        a, b = (np.broadcast_to(row, found.shape)[place] for row in (i, j))
        raise DataError(
            f"the kernel contradicts itself: of rows {a} and {b} its value is {found[place]:.9g}, and was "
            f"{known[place]:.9g}. It must have one value for two rows, in either order, each time; one that is not "
            "symmetric says so: symmetric = False of a libsvmx.Kernel"
        )


def plain_array(K: Any) -> FloatArray:
    """Numbers that a kernel has returned: a copy in float64, in C order. Raises DataError."""
    dense = in_shape(K).toarray() if hasattr(K, "tocsr") else K
    return np.array(real_array(dense, "the kernel"), dtype=np.float64, order="C")


def check_finite(values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise DataError("the kernel must return finite values, but one is NaN or infinite")
