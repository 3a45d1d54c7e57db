"""Kernels of the caller: rows of the kernel matrix as a training asks for them, values with support vectors alone.

    KernelRows    a kernel with the rows that it is asked about: those of a training, or a model's support vectors
    StateRows     the same of a state, whose rows have ids
    CalledRows    rows of their kernel matrix on demand: the RowSource behind a CsrMatrix

A training sees rows, of any kind, as a precomputed kernel whose row i has the serial number i + 1.
"""

from __future__ import annotations

from _thread import allocate_lock
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix, RowSource
from libsvmx._core.records import replace
from libsvmx._train.limits import ask, limited
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import NO_STATE, errors_of_a_path
from libsvmx.api.arrays import kernel_table
from libsvmx.api.kernel_values import (
    all_rows,
    check_same,
    chosen_rows,
    make_symmetric,
    n_rows_of,
    values_of,
)
from libsvmx.api.own_kernel import Function, Named, as_kernel, diagonal_of, prepared
from libsvmx.enums import KernelType, SolveStatus
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from libsvmx._core.process import Token
    from libsvmx._train.model import Model
    from libsvmx._train.observer import Observer
    from libsvmx._typing import Buffer, FloatArray, Ids
    from libsvmx.api.own_kernel import Kernel

# A kernel is called once for so few training rows: the calls would take longer than what they spare.
FEW_ROWS = 64
# Rows that are asked for at a time where all are wanted: the clock is looked at between.
ROWS_OF_ALL = 64


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
        self.own = diagonal_of(self.known.kernel, self.known.rows)
        return self.own.data

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
    is one of the caller: it and the rows; else None, and all as it is, but for ``Kernel.named``, which is told by name.

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
    if isinstance(given, Named):
        own = ("kernel_type", "degree", "gamma", "coef0", "gammas")
        return X, None, {**options, **{name: getattr(given.param, name) for name in own}}
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
