"""Rows of a precomputed kernel in a state: the kernel values between its rows.

A row is 0:serial 1:K(row, 1) 2:K(row, 2) …, where column s belongs to the row with serial number s. The matrix is
symmetric, so a value may be missing in one of its two rows: K(i, j) with i > j is taken from row i if it has it, else
from row j. A state of n rows keeps a square table of S >= n slots,

    values[a] = a + 1, K(slot a, slot 0), …, K(slot a, slot S - 1)         8 S (S + 1) bytes

which kernels read as a precomputed kernel with serial numbers a + 1 (``Problem.features``). ``Problem.rows`` are the
slots of the rows, and ``Problem.matrix`` has 0:serial of each, all that a model needs. A removed row frees its slot. An
added row takes a free slot and fills a row and a column of the table. If there are too few, values move to a table with
a sixteenth more slots than rows; if half are free, to a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from libsvmx._core import memory
from libsvmx._core.matrix import CsrMatrix, first_not_finite, precomputed_row_length
from libsvmx._train.checks import PRECOMPUTED_HELP, check_largest, check_values
from libsvmx._train.checks import check_rows as check_features
from libsvmx._train.limits import ask
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._typing import Buffer, FloatArray, Ids
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError

MOST_SERIAL = 2**31 - 2  # a column; one more has the serial numbers
TILE = 512  # rows and columns compared at a time: some milliseconds
JOINING = 64  # rows whose columns are written at a time: a cache line of the table each
# K(i, j) and K(j, i) may differ by this share of them, and by that one of the largest K(i, i): rounding, the digits of
# a file, or a sum that cancels.
APART = 1e-6
CANCELLED = 1e-12


class Table:
    """Table(values, shared=False): the values between the rows in its slots.

    Attributes
    ----------
    values : ndarray, shape (S, S + 1)
    features : CsrMatrix      the values as kernels read them
    shared : bool             in use elsewhere, so read-only
    """

    __slots__ = ("features", "shared", "values")

    def __init__(self, values: FloatArray, shared: bool = False) -> None:
        self.values, self.shared = values, shared
        size = len(values)
        indptr, indices = np.arange(size + 1, dtype=np.int64) * (size + 1), np.arange(size + 1, dtype=np.int32)
        self.features = CsrMatrix(indptr.data, indices.data, values.reshape(-1).data, copy=False, regular=True)

    def problem(self, serials: Ids, columns: int, slots: Ids, targets: Buffer, sample_weight: Buffer | None) -> Problem:
        """The rows in ``slots``, with their targets and weights.

        ``serials``: of the row in each slot, ndarray of int64, shape (S,); ``columns``: those of the widest row so far.
        """
        size = len(serials)
        indptr, indices = np.arange(size + 1, dtype=np.int64), np.zeros(size, dtype=np.int32)
        own = serials.astype(np.float64).data
        matrix = CsrMatrix(indptr.data, indices.data, own, copy=False, n_columns=columns + 1, first_index=0)
        return Problem(matrix, targets, slots.astype(np.int32).data, self.features, sample_weight)


def room_for(size: int) -> FloatArray:
    """Values of a table with ``size`` slots, not yet filled. Raises TooLittleMemory."""
    memory.require(8.0 * size * (size + 1), f"the kernel values of {size} rows", "")
    values = np.zeros((size, size + 1))
    values[:, 0] = np.arange(1, size + 1)
    return values


def serials_of(problem: Problem) -> Ids:
    """Serial numbers of the rows of a state: ndarray of int64, shape (n,)."""
    return np.asarray(problem.matrix.values)[np.asarray(problem.rows)].astype(np.int64)


# ---- input rows ----------------------------------------------------------------------------------


def check_rows(problem: Problem, param: Parameter, contiguous: bool = True) -> None:
    """``check_problem`` for rows of a state: those of a precomputed kernel may differ in length, and nu is not checked.

    ``contiguous`` as in ``GivenRows``.
    """
    if param.kernel_type != KernelType.PRECOMPUTED:
        check_features(problem, param)
        return check_values(problem, param)
    if not len(problem):
        raise DataError("no data: there is not a single row")
    GivenRows(problem, contiguous)
    return check_values(problem, param)


class GivenRows:
    """GivenRows(problem, contiguous=True): access to the values of rows 0:serial 1:K(row, 1) ….

    ``contiguous``: no column except the last ones may be missing.

    Raises
    ------
    DataError      a malformed row; a value that is too large; two rows with one serial number
    """

    def __init__(self, problem: Problem, contiguous: bool = True) -> None:
        matrix = self.matrix = problem.matrix
        self.rows = np.asarray(problem.rows)
        self.begins, self.values = np.asarray(matrix.indptr), np.asarray(matrix.values)
        row = first_not_finite(matrix, problem.rows)
        if row >= 0:
            raise DataError("a kernel value is not finite", row)
        self.lengths = np.array([precomputed_row_length(matrix, row) for row in self.rows.tolist()], dtype=np.int64)
        self.indices = np.zeros(0, dtype=np.int32) if contiguous else np.asarray(matrix.indices)
        for k in np.flatnonzero(self.lengths < 0).tolist():
            begin, end = self.begins[self.rows[k] : self.rows[k] + 2]
            if contiguous or begin == end or self.indices[begin] != 0:
                raise DataError(PRECOMPUTED_HELP, k)
        for k, row in enumerate(self.rows.tolist()):
            check_largest(matrix, row, k)
        given = self.values[self.begins[self.rows]]
        for k in np.flatnonzero((given != np.rint(given)) | (given < 1) | (given > MOST_SERIAL)).tolist():
            raise DataError(f"precomputed kernel: serial number {given[k]:g} is not one of 1, 2, …", k)
        self.serials = given.astype(np.int64)
        check_distinct(self.serials, np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_values(self) -> int:
        """All kernel values."""
        return int((self.begins[self.rows + 1] - self.begins[self.rows] - 1).sum())

    @property
    def columns(self) -> int:
        """Number of columns: of the widest row, or of the matrix."""
        longest = max(int(self.lengths.max(initial=0)), int(self.serials.max(initial=0)))
        return max(longest, self.matrix.n_columns + self.matrix.first_index - 1)

    def with_rows(self, k: int, serials: Ids) -> FloatArray:
        """Values of row k with the rows of these serial numbers, nan if missing."""
        begin, end = self.begins[self.rows[k]], self.begins[self.rows[k] + 1]
        own, found = self.values[begin:end], np.full(len(serials), np.nan)
        if self.lengths[k] >= 0:
            known = serials <= self.lengths[k]
            found[known] = own[serials[known]]
        else:
            indices = self.indices[begin:end]
            at = np.minimum(np.searchsorted(indices, serials), len(indices) - 1)
            known = indices[at] == serials
            found[known] = own[at[known]]
        return found


def check_distinct(serials: Ids, known: Ids) -> None:
    """Raise DataError for a row of ``serials`` with the number of an earlier one or of one in ``known``."""
    distinct, first = np.unique(serials, return_index=True)
    twice = np.ones(len(serials), dtype=bool)
    twice[first[~np.isin(distinct, known)]] = False
    for k in np.flatnonzero(twice).tolist():
        raise DataError(f"precomputed kernel: there is already a row with serial number {serials[k]}", k)


def made_symmetric(values: FloatArray, serials: Ids, observer: Observer) -> FloatArray:
    """values[:, 1:], K(i, j) of rows with these numbers, nan where row i has none, made symmetric.

    Changed in place, or copied first if read-only; of two values that differ by rounding, the later row's is taken.

    Raises
    ------
    DataError      values missing or not symmetric; numbers these rows
    """
    n = len(values)
    diagonal = values.reshape(-1)[1 :: n + 2]
    for i in np.flatnonzero(np.isnan(diagonal)).tolist():
        raise DataError(f"precomputed kernel: the row lacks column {serials[i]}, its value with itself", i)
    least = CANCELLED * float(np.abs(diagonal).max(initial=0.0))
    for a in range(0, n, TILE):
        rows = slice(a, min(a + TILE, n))
        for b in range(0, a + 1, TILE):
            columns = slice(b, min(b + TILE, n))
            ask(observer)
            K = values[:, 1:]
            lower, upper = K[rows, columns], K[columns, rows].T
            if np.array_equal(lower, upper):
                continue
            found = np.where(np.isnan(lower), upper, lower)
            apart = np.abs(lower - upper) > APART * np.maximum(np.abs(lower), np.abs(upper)) + least
            if a == b:
                found, apart = np.tril(found), np.tril(apart)
            for i, j in np.argwhere(np.isnan(found)).tolist():
                raise DataError(
                    f"precomputed kernel: the value of serial numbers {serials[a + i]} and {serials[b + j]} is in "
                    "neither of the two rows",
                    a + i,
                )
            for i, j in np.argwhere(apart).tolist():
                raise DataError(
                    f"the kernel is not symmetric: K({serials[a + i]}, {serials[b + j]}) is {lower[i, j]:.9g}, but "
                    f"K({serials[b + j]}, {serials[a + i]}) is {upper[i, j]:.9g}",
                    a + i,
                )
            if a == b:
                found += np.tril(found, -1).T
            if not values.flags.writeable:
                values = copied(values, observer)
                K = values[:, 1:]
            K[rows, columns], K[columns, rows] = found, found.T
    return values


def copied(values: FloatArray, observer: Observer) -> FloatArray:
    """A writable array of the same values."""
    own = room_for(len(values))
    for begin in range(0, len(values), TILE):
        ask(observer)
        own[begin : begin + TILE] = values[begin : begin + TILE]
    return own


# ---- the rows of a state -------------------------------------------------------------------------


def kept_rows(
    problem: Problem, param: Parameter, observer: Observer, contiguous: bool = True
) -> tuple[Problem, Table | None]:
    """The rows of a training for a state, and for a precomputed kernel the table of their values.

    Rows that are such a table already are not copied. ``contiguous`` as in ``GivenRows``.

    Raises
    ------
    DataError           kernel values of no symmetric matrix
    Stopped; TooLittleMemory
    """
    if param.kernel_type != KernelType.PRECOMPUTED:
        own = Problem(problem.matrix.take(problem.rows), problem.targets, sample_weight=problem.sample_weight)
        return own, None
    rows, n = GivenRows(problem, contiguous), len(problem)
    every = np.arange(1, n + 1, dtype=np.int64)
    if (rows.lengths == n).all() and np.array_equal(rows.serials, every) and np.array_equal(rows.rows, every - 1):
        values = rows.values[: n * (n + 1)].reshape(n, n + 1)
    else:
        if rows.n_values < n * (n + 1) // 2:  # before memory is allocated, whatever a file says
            raise DataError(f"precomputed kernel: {n} rows have {rows.n_values} values, too few for a symmetric matrix")
        values = room_for(n)
        for i in range(n):
            ask(observer)
            values[i, 1:] = rows.with_rows(i, rows.serials)
    values = made_symmetric(values, rows.serials, observer)
    table = Table(values, shared=not values.flags.writeable)
    return table.problem(rows.serials, rows.columns, every - 1, problem.targets, problem.sample_weight), table


def joined(
    problem: Problem, table: Table, joining: Problem, targets: Buffer, sample_weight: Buffer | None, observer: Observer
) -> tuple[Problem, Table]:
    """The rows of a state, then added ones, and their table: the given one with free slots filled, or another.

    Parameters
    ----------
    problem, table            of the state, unchanged
    joining : Problem         added rows as given
    targets, sample_weight    of all rows

    Raises
    ------
    DataError            kernel values missing or not symmetric, or the serial number of another row; numbers the added
    rows
    Stopped; TooLittleMemory
    """
    rows, slots, known = GivenRows(joining), np.asarray(problem.rows), serials_of(problem)
    check_distinct(rows.serials, known)
    n, m, size = len(slots), len(rows), len(table.values)
    among = room_for(m) if m else np.zeros((0, 1))
    for k in range(m):
        among[k, 1:] = rows.with_rows(k, rows.serials)
    among = made_symmetric(among, rows.serials, observer)
    serials = np.asarray(problem.matrix.values).astype(np.int64)
    free = np.setdiff1d(np.arange(size), slots)
    if (m and (table.shared or len(free) < m)) or size > 2 * (n + m) + JOINING:
        table = moved(table, slots, n + m + (n + m) // 16 + 16, observer)
        slots, free = np.arange(n), np.arange(n, len(table.values))
        serials = np.zeros(len(table.values), dtype=np.int64)
        serials[:n] = known
    free = free[:m]
    for begin in range(0, m, JOINING):
        ask(observer)
        some = free[begin : begin + JOINING]
        beside = np.array([rows.with_rows(k, known) for k in range(begin, begin + len(some))])
        for k, j in np.argwhere(np.isnan(beside)).tolist():
            raise DataError(
                f"precomputed kernel: the row lacks column {known[j]}, its value with a row that is there", begin + k
            )
        table.values[some[:, None], 1 + slots] = beside
        table.values[slots[:, None], 1 + some] = beside.T
    if m:
        table.values[free[:, None], 1 + free] = among[:, 1:]
        serials[free] = rows.serials
    columns = max(problem.matrix.n_columns - 1, rows.columns)
    return table.problem(serials, columns, np.concatenate([slots, free]), targets, sample_weight), table


def moved(table: Table, slots: Ids, size: int, observer: Observer) -> Table:
    """A table of ``size`` slots, with the rows in ``slots`` in the first ones."""
    values, n = room_for(size), len(slots)
    for begin in range(0, n, TILE):
        ask(observer)
        some = slots[begin : begin + TILE]
        values[begin : begin + len(some), 1 : n + 1] = table.values[some][:, 1 + slots]
    return Table(values)


# ---- output rows ---------------------------------------------------------------------------------


def sorted_rows(problem: Problem, lower: bool = False) -> Iterator[tuple[Ids, FloatArray]]:
    """For each row of a state the serial numbers of its values, ascending, and the values.

    ``lower``: only with itself and earlier rows.
    """
    slots, serials = np.asarray(problem.rows), serials_of(problem)
    size = problem.features.n_rows
    values = np.asarray(problem.features.values).reshape(size, size + 1)
    order = np.argsort(serials)
    for i, slot in enumerate(slots.tolist()):
        others = order[order <= i] if lower else order
        yield serials[others], values[slot, 1 + slots[others]]


def tests_of(problem: Problem) -> CsrMatrix:
    """Rows for predictions: a column for each serial number up to the largest, 0 without a row."""
    serials = serials_of(problem)
    n, columns = len(problem), int(serials.max())
    memory.require(8.0 * n * (columns + 1), f"kernel values of {n} rows", "")
    values = np.zeros((n, columns + 1))
    values[:, 0] = serials
    for i, (numbers, row) in enumerate(sorted_rows(problem)):
        values[i, numbers] = row
    indptr, indices = np.arange(n + 1, dtype=np.int64) * (columns + 1), np.arange(columns + 1, dtype=np.int32)
    return CsrMatrix(indptr.data, indices.data, values.reshape(-1).data, copy=False, regular=True)


def rows_of_file(problem: Problem) -> CsrMatrix:
    """Rows for a state file: each with the values of earlier rows and its own."""
    n, serials = len(problem), serials_of(problem)
    indptr = np.concatenate([[0], np.cumsum(np.arange(2, n + 2, dtype=np.int64))])
    memory.require(12.0 * int(indptr[-1]), f"a file of the kernel values of {n} rows", "")
    indices, values = np.zeros(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    for i, (numbers, row) in enumerate(sorted_rows(problem, lower=True)):
        begin, end = indptr[i : i + 2].tolist()
        values[begin], indices[begin + 1 : end], values[begin + 1 : end] = serials[i], numbers, row
    columns = problem.matrix.n_columns
    return CsrMatrix(indptr.data, indices.data, values.data, copy=False, n_columns=columns, first_index=0)
