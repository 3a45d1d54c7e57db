"""The caller's own kernels: training computes kernel rows on demand, prediction only values with support vectors.

    KernelRows    a kernel, and training rows or a model's support vectors
    CalledTests   test rows, whose values with them are computed as they are predicted
    StateRows     the same for a state, whose rows have ids
    CalledRows    kernel rows on demand: the RowSource behind a CsrMatrix

To a training, rows of any kind are a precomputed kernel; row i has the serial number i + 1.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._core.stopping import Token
from libsvmx._kernels.rows_on_demand import RowSource
from libsvmx._train.checks import LARGEST, overflow
from libsvmx._train.limits import ask, limited
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import RowBlocks
from libsvmx._train.problem import Problem
from libsvmx._train.updating.binary_problem import NO_STATE, errors_of_a_path
from libsvmx._typing import Buffer, FloatArray, Ids
from libsvmx.api.arrays import check_kernel, first_beyond_of, kernel_table
from libsvmx.api.kernel_values import (
    all_rows,
    are_same,
    bytes_of_copy,
    check_same,
    chosen_rows,
    make_symmetric,
    n_rows_of,
    values_of,
)
from libsvmx.api.own_kernel import Function, Kernel, as_kernel, diagonal_of, is_called, prepared
from libsvmx.api.warned import early_stops_warned
from libsvmx.enums import KernelType, SolveStatus
from libsvmx.exceptions import ParameterError

# Up to this number of training rows the whole kernel matrix is computed in one call.
FEW_ROWS = 64
# Values per call of a prediction: 8 MB, so that what Python makes of them fits a cache.
VALUES_OF_CALL = 1 << 20
# Training rows are copied, to ask for some columns, up to this size, or up to a quarter of the matrix in float.
COPIED_BYTES = 1 << 23
# Rows per call when all are computed; the time limit is checked in between.
ROWS_OF_ALL = 64


class KernelRows:
    """KernelRows(kernel, rows): a kernel, and rows prepared by it; in a Model, support vectors in order.

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
        """Make one from a kernel as given by the caller, and training rows."""
        kernel = as_kernel(given)
        return cls(kernel, prepared(kernel, X))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kernel, self.rows)

    @property
    def given(self) -> Any:
        """The kernel as given by the caller."""
        return self.kernel.kernel if isinstance(self.kernel, Function) else self.kernel

    def copied(self) -> KernelRows:
        """A copy that may outlive the call."""
        return self.chosen(range(self.n))

    def chosen(self, numbers: Any) -> KernelRows:
        """A copy of the rows with these indices."""
        return KernelRows(self.kernel, chosen_rows(self.rows, numbers))

    def matrix(self, whole: bool = False) -> CsrMatrix:
        """The kernel matrix, computed now if ``whole``, else row by row on demand. Raises DataError."""
        if whole or self.n <= FEW_ROWS or not self.kernel.symmetric:
            return kernel_table(self.all_values())
        indices = np.arange(self.n + 1, dtype=np.int32)
        indptr = np.arange(self.n + 1, dtype=np.int64) * (self.n + 1)
        return CsrMatrix(indptr, indices, CalledRows(self), copy=False, regular=True)

    def all_values(self) -> FloatArray:
        """Values of all pairs from one call of the kernel, shape (n, n). Raises DataError."""
        values = values_of(self.kernel.rows, self.rows, self.rows)
        check_kernel(values)
        return values

    def values(self, X: Any) -> FloatArray:
        """Values of other rows with these, shape (n_rows(X), n). Raises DataError."""
        tests, begin = CalledTests(self, X), 0
        values = np.empty((tests.n_rows, self.n))
        for some in tests.values():
            values[begin : begin + len(some)] = some
            begin += len(some)
        return values

    def to_predict(self, model: Model, X: Any) -> tuple[Model, CalledTests]:
        """For prediction, a model whose support vectors these are, and rows X, as kernel values. Raises DataError."""
        return of_columns(model), CalledTests(self, X)

    def in_model(self, model: Model) -> Model:
        """The model of a training on these rows, with a copy of its support vectors."""
        return replace(model, own_kernel=self.chosen(np.asarray(model.vectors.values).astype(np.intp) - 1))


class CalledTests(RowBlocks):
    """CalledTests(known, X): values of test rows X with the rows of a KernelRows, computed as they are predicted."""

    def __init__(self, known: KernelRows, X: Any) -> None:
        self.known, self.rows = known, prepared(known.kernel, X)
        self.n_rows = n_rows_of(self.rows)

    def blocks(self) -> Iterator[CsrMatrix]:
        return map(kernel_table, self.values())

    def values(self) -> Iterator[FloatArray]:
        """Values of some rows after the others, shape (number of these, known.n). Raises DataError."""
        known, n = self.known, self.n_rows
        step = max(1, VALUES_OF_CALL // max(known.n, 1))
        for begin in range(0, n, step):
            some = self.rows if n <= step else chosen_rows(self.rows, range(begin, min(begin + step, n)))
            yield values_of(known.kernel.cross, some, known.rows, copy=False)


class StateRows:
    """StateRows(known, ids): the rows of a state with the caller's own kernel.

    Attributes
    ----------
    known : KernelRows
    ids : ndarray of int64, shape (known.n,)      ascending; those of removed rows are missing
    """

    __slots__ = ("ids", "known")

    def __init__(self, known: KernelRows, ids: Ids) -> None:
        self.known, self.ids = known, ids

    def only(self, ids: Ids) -> StateRows:
        """The rows with these ids."""
        if np.array_equal(ids, self.ids):
            return self
        return StateRows(self.known.chosen(np.searchsorted(self.ids, ids)), ids)

    def in_model(self, model: Model) -> Model:
        """A model of the state, with a copy of its support vectors."""
        ids = np.asarray(model.vectors.values).astype(np.int64) - 1
        return replace(model, own_kernel=self.known.chosen(np.searchsorted(self.ids, ids)))

    def tests(self, X: Any, columns: int) -> CsrMatrix:
        """Kernel values of rows X; the column is the id. Raises DataError."""
        found = self.known.values(X)
        values = np.zeros((len(found), columns))
        values[:, self.ids] = found
        return kernel_table(values)

    def joined(self, X: Any, next_id: int) -> tuple[StateRows, FloatArray]:
        """These rows and new ones, with ids from ``next_id``; and kernel values of the new ones, a column for each id.

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
    """CalledRows(known): kernel rows of a KernelRows on demand.

    Attributes
    ----------
    token : Token or None       of the current call, which ends when the kernel raises
    error : BaseException or None      what the kernel raised
    """

    def __init__(self, known: KernelRows) -> None:
        self.known, self.n = known, known.n
        self.token: Token | None = None
        self.error: BaseException | None = None
        self.lock = allocate_lock()
        self.own: FloatArray = np.zeros(0)  # the diagonal
        # indices of the first rows; of each row its values with them, and with itself
        self.first: tuple[Ids, FloatArray] | None = None
        self.columns: Buffer | None = None  # those of the last call, None: all
        self.others: Any = known.rows  # their rows; a copy, beside which there is none
        self.divisible = bytes_of_copy(known.rows) <= max(COPIED_BYTES, known.n**2)
        self.place = np.arange(known.n)  # of a column among them

    def diagonal(self) -> Buffer:
        self.own = diagonal_of(self.known.kernel, self.known.rows)
        return self.own.data

    def rows(self, numbers: list[int], columns: Buffer | None = None) -> Buffer:
        self.check()
        known = self.known
        if columns is not self.columns:
            self.others = None
            self.others = known.rows if columns is None else chosen_rows(known.rows, columns)
            chosen = np.arange(self.n) if columns is None else np.asarray(columns)
            self.place[chosen] = np.arange(len(chosen))
            self.columns = columns
        values = values_of(known.kernel.rows, chosen_rows(known.rows, numbers), self.others)
        bad = first_beyond_of(values, LARGEST)
        if bad is not None:
            row, column = numbers[bad[0]], bad[1] if columns is None else columns[bad[1]]
            raise overflow("with itself" if column == row else f"in column {column}", row)
        self.compare(numbers, values)
        if self.token is not None:
            self.token.urgent = self.token.look() is not None
        return values.data

    def compare(self, numbers: list[int], values: FloatArray) -> None:
        """Raise DataError if rows contradict the diagonal, or symmetry with the first rows."""
        at = np.array(numbers)
        if self.first is None:
            self.first = at, np.column_stack([values.T, self.own])
        first, known = self.first
        found = np.empty((len(at), len(first) + 1))
        found[:, :-1], found[:, -1] = values[:, self.place[first]], values[np.arange(len(at)), self.place[at]]
        if not are_same(found, known[at]):
            columns = np.column_stack([np.broadcast_to(first, (len(at), len(first))), at])
            check_same(found, known[at], self.own, at[:, None], columns, values, known)

    def fail(self, error: BaseException) -> None:
        self.error = self.error or error
        if self.token is not None:
            self.token.stop(SolveStatus.INTERRUPTED)
            self.token.urgent = True

    def check(self) -> None:
        """Raise what the kernel raised."""
        if self.error is not None:
            raise self.error


@contextmanager
def raising(source: CalledRows | None, observer: Observer) -> Iterator[None]:
    """Context for work on rows on demand; an exception of the kernel ends the work, and is raised."""
    if source is None:
        yield
        return
    source.token = observer.limits
    try:
        yield
    finally:
        source.check()  # instead of results or errors from missing rows


# ---- functions over arrays ------------------------------------------------------------------------


def called(X: Any, options: Mapping[str, Any]) -> tuple[Any, KernelRows | None, dict[str, Any]]:
    """Arguments (rows, own kernel or None, keywords) of a function over rows.

    With the caller's own ``kernel`` among the options, rows and keywords are those of a precomputed kernel; a
    ``Kernel.named`` is replaced by its parameters; other arguments are unchanged.

    Raises ParameterError, DataError.
    """
    options = without_named(options)
    word = kernel_word(options)
    if word is None:
        return X, None, options
    check_own(options)
    known = KernelRows.of(options.pop(word), X)
    return known.matrix(), known, {**options, "kernel_type": KernelType.PRECOMPUTED}


def without_named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords in which a ``Kernel.named`` is replaced by its parameters. Raises ParameterError."""
    options = dict(options)
    word = kernel_word(options)
    if word is None or is_called(options[word]):
        return options
    check_own(options)
    param = options.pop(word).param
    return {**options, **{name: getattr(param, name) for name in ("kernel_type", "degree", "gamma", "coef0", "gammas")}}


def kernel_word(options: Mapping[str, Any]) -> str | None:
    """The keyword that is a callable kernel, or None."""
    return next((word for word in ("kernel", "kernel_type") if callable(options.get(word))), None)


def check_own(options: Mapping[str, Any]) -> None:
    """Raise ParameterError for keywords beside a callable kernel that are not for it."""
    if "kernel" in options and "kernel_type" in options:
        raise ParameterError("kernel is called kernel_type here: give one of them")
    for name in ("gamma", "degree", "coef0"):
        if name in options:
            raise ParameterError(f"{name} is for kernels that libsvmx computes: let the kernel itself know it")


@contextmanager
def call_on(problem: Problem, param: Parameter, observer: Observer | None, of_rows: bool = False) -> Iterator[Observer]:
    """Context for one call on rows that may be computed on demand: yields its observer, with the time limit of
    ``param``, and warns as ``early_stops_warned``. Raises what the kernel raises."""
    with early_stops_warned(observer, of_rows) as stops:
        told = limited(stops, param.time_limit)
        with raising(problem.matrix.source, told):
            yield told


def of_columns(model: Model) -> Model:
    """The model for kernel values with support vectors only: column i is support vector i."""
    n = model.n_sv
    serials = np.arange(1, n + 1, dtype=np.float64)
    vectors = CsrMatrix(np.arange(n + 1, dtype=np.int64), np.zeros(n, dtype=np.int32), serials)
    return replace(model, vectors=vectors, columns=None, own_kernel=None)


def with_all_values(problem: Problem, known: KernelRows | None, observer: Observer) -> Problem:
    """The problem for a state: with all values of the caller's own kernel, exactly symmetric if it is declared so.

    Raises DataError, StoppedEarly, and what the kernel raises.
    """
    if known is None or not known.kernel.symmetric:
        return problem
    source: CalledRows | None = problem.matrix.source
    n, values = known.n, np.empty((known.n, known.n))
    if source is None:  # few rows: already computed
        values[:] = np.asarray(problem.matrix.values).reshape(n, n + 1)[:, 1:]
    diagonal = values.diagonal().copy() if source is None else source.own
    with errors_of_a_path(NO_STATE):
        for begin in range(0, n, ROWS_OF_ALL):
            ask(observer)
            end = min(begin + ROWS_OF_ALL, n)
            if source is not None and source.divisible and begin:  # K(a, b) for K(b, a), beside the first rows
                asked = np.r_[:ROWS_OF_ALL, begin:n].astype(np.int32)
                values[begin:end, :begin] = values[:begin, begin:end].T
                values[begin:end, asked] = source.rows(list(range(begin, end)), asked.data)
            elif source is not None:
                values[begin:end] = source.rows(list(range(begin, end)))
            make_symmetric(values[:end, :end], begin, diagonal)
    return Problem(kernel_table(values), problem.targets, sample_weight=problem.sample_weight)
