"""Rows of the plane, as a problem and as a LIBSVM data file.

Regression has one feature, the horizontal axis, and the target on the vertical axis; otherwise both are features.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._train.problem import Problem
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import as_matrix
from libsvmx.exceptions import DataError
from libsvmx.io.textparse import parse_data
from libsvmx.io.textwrite import data_text

MOST_ROWS = 2000  # of a page: more could not be distinguished
DIGITS = 6  # digits of principal components, so that their file is readable
COLUMNS = 1000  # at a time: a table of all features may be too large
LARGEST = 1e6  # maximum coordinate: beyond, nothing would be visible


class Row(NamedTuple):
    """A row of the page: its place, and its class, which regression and one-class ignore."""

    x: float
    y: float
    label: int


def problem_of(rows: Iterable[Row], regression: bool) -> Problem:
    """Rows as a problem.

    If all of two features lie on the horizontal axis, the first row has an explicit 0 of feature 2, as LIBSVM keeps it:
    without one the file would be that of a regression.
    """
    x, y, labels = columns_of(rows)
    matrix = as_matrix(x[:, None] if regression else np.column_stack([x, y]))
    if not regression and len(y) and not y.any():
        ends, at, values = (np.asarray(part) for part in (matrix.indptr, matrix.indices, matrix.values))
        first = int(ends[1])
        more = np.insert(at, first, 2).astype(np.int32), np.insert(values, first, 0.0)
        matrix = CsrMatrix(np.concatenate([ends[:1], ends[1:] + 1]), *more)
    return Problem(matrix, (y if regression else labels).data)


def columns_of(rows: Iterable[Row]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, y and labels of rows, three arrays of float64."""
    table = np.array([tuple(row) for row in rows], dtype=np.float64).reshape(-1, 3)
    x, y, labels = np.ascontiguousarray(table.T)
    return x, y, labels


def text_of(rows: Iterable[Row], regression: bool) -> bytes:
    """Rows as a LIBSVM data file, with all digits."""
    problem = problem_of(rows, regression)
    return data_text(problem.matrix, problem.targets)


def rows_of(text: bytes, name: str, chosen: tuple[int, int] | None = None) -> tuple[list[Row], bool]:
    """Rows of a LIBSVM data file, and whether they are of a regression: one feature, and targets.

    With more than two features the plane has the first two principal components, or the two ``chosen`` features.
    ``name``: of the file in messages.

    Raises FormatError for what are no LIBSVM data, DataError for data that the page cannot show.
    """
    matrix, targets, _, _ = parse_data(text, name)
    if not matrix.n_rows:
        raise DataError(f"{name} has no rows")
    if matrix.n_rows > MOST_ROWS:
        raise DataError(f"{name} has {matrix.n_rows} rows: the page takes at most {MOST_ROWS}")
    regression = matrix.max_index < 2 and matrix.first_index > 0 and chosen is None
    if chosen is not None:
        if missing := [index for index in chosen if not matrix.first_index <= index <= matrix.max_index]:
            raise DataError(f"{name} has no feature {missing[0]}")
        features = np.column_stack([of_feature(matrix, index) for index in chosen])
    elif matrix.max_index > 2 or matrix.first_index == 0:
        features = principal_components(matrix)
    else:
        features = plane_of(matrix, f"rows of {name}")
    y = np.asarray(targets)
    if not regression and (bad := np.flatnonzero((y != np.round(y)) | (abs(y) > 2**31 - 1))).size:
        raise DataError(f"{name}: {y[bad[0]]:g} is no class: with two features, labels must be whole numbers")
    if regression:
        features, y = np.column_stack([features[:, 0], y]), np.ones(len(y))
    if abs(features).max() > LARGEST:
        raise DataError(f"{name} has numbers above {LARGEST:g}: scale it, with svmx-scale say")
    return [Row(a, b, int(c)) for (a, b), c in zip(features.tolist(), y, strict=True)], regression


def of_feature(matrix: CsrMatrix, index: int) -> FloatArray:
    """The values of one feature, shape (n,)."""
    values = np.zeros(matrix.n_rows)
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(np.asarray(matrix.indptr)))
    here = np.asarray(matrix.indices) == index
    values[rows[here]] = np.asarray(matrix.values)[here]
    return values


def principal_components(matrix: CsrMatrix) -> FloatArray:
    """Rows by their first two principal components, shape (n, 2): eigenvectors of XX', X centred, times the square
    roots of their eigenvalues, with the sign that makes the largest component positive."""
    X = matrix.tocsr().tocsc()
    used = np.flatnonzero(np.diff(X.indptr))
    K = np.zeros((matrix.n_rows, matrix.n_rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, len(used), COLUMNS):
            part = X[:, used[begin : begin + COLUMNS]].toarray()
            part -= part.mean(axis=0)  # before the products, in which an offset would cause rounding
            K += part @ part.T
    if not np.isfinite(K).all():
        raise DataError(f"the rows have products above {np.finfo(float).max:g}: scale them, with svmx-scale say")
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    table = np.zeros((len(K), 2))
    for k in range(min(2, len(K))):
        component = vectors[:, -1 - k] * np.sqrt(max(values[-1 - k], 0.0))
        table[:, k] = component * (1.0 if component[abs(component).argmax()] >= 0 else -1.0)
    largest = abs(table).max()
    return np.round(table, DIGITS - int(np.floor(np.log10(largest)))) if largest > 0 else table


def plane_of(matrix: CsrMatrix, what: str) -> FloatArray:
    """Rows or vectors of features 1 and 2, shape (n, 2). Raises DataError for others."""
    if matrix.n_rows and (matrix.first_index == 0 or matrix.max_index > 2):
        found = 0 if matrix.first_index == 0 else matrix.max_index
        raise DataError(f"{what} have a feature {found}: the page shows features 1 and 2 only")
    table = np.zeros((matrix.n_rows, 2))
    known = matrix.toarray()[:, :2]
    table[:, : known.shape[1]] = known
    return table
