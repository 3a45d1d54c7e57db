"""Kernel values in double between row blocks: the one thing that low-rank factors need of the data.

A row block is a CsrMatrix with some of the rows. The functions are pure and their arguments can be pickled, so that a
caller who holds a problem in row blocks, on one machine or on many, can map them over the row blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from libsvmx._core.arrays import ramp
from libsvmx._core.matrix import CsrMatrix, serials_only
from libsvmx._core.stopping import NOBODY, Token
from libsvmx._kernels.cross import CrossKernel, squares_of, values_with_themselves
from libsvmx._typing import Buffer, FloatArray, IntArray
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError

# Rows that a CrossKernel takes at once.
PANEL = 32
# Values by dot products do if they are certain to be as near as this to those by sums of squares.
MARGIN = 1e-10


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """A kernel function, with LIBSVM's numbers and names.

    Attributes
    ----------
    kind : int                     see libsvmx.enums.KernelType
    degree, gamma, coef0           unused ones are ignored
    """

    kind: int
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0


def split(matrix: CsrMatrix, rows: Buffer, size: int) -> list[CsrMatrix]:
    """The given rows (buffer of int32) in row blocks of ``size``, the last one shorter."""
    chosen = np.asarray(rows, dtype=np.int32)
    return [matrix.take(chosen[begin : begin + size]) for begin in range(0, len(chosen), size)]


def kernel_diagonal(row_block: CsrMatrix, spec: KernelSpec) -> FloatArray:
    """k(x, x) of each row.

    Returns
    -------
    diagonal : ndarray of float64, shape (m,)

    Raises
    ------
    DataError            a value that overflows; ``row`` counts within the row block
    """
    diagonal: FloatArray
    if spec.kind == KernelType.PRECOMPUTED:
        diagonal = np.asarray(row_block.values)[np.asarray(row_block.indptr)[:-1] + _serials(row_block)]
    else:
        squares = np.asarray(squares_of(row_block, spec.kind))
        with np.errstate(over="ignore", invalid="ignore"):
            # NumPy's power and hyperbolic tangent: their last bits are part of the pivots that were chosen so far
            if spec.kind == KernelType.POLY:
                diagonal = (spec.gamma * squares + spec.coef0) ** spec.degree
            elif spec.kind == KernelType.SIGMOID:
                diagonal = np.tanh(spec.gamma * squares + spec.coef0)
            else:
                diagonal = np.asarray(values_with_themselves(squares, spec.kind, spec.degree, spec.gamma, spec.coef0))
    bad = np.flatnonzero(~np.isfinite(diagonal))
    if len(bad):
        raise DataError("the kernel value of the row with itself overflows: scale the data, "
                        "or choose smaller kernel parameters", int(bad[0]))  # fmt: skip
    return np.asarray(diagonal)


def kernel_columns(
    row_block: CsrMatrix, others: CsrMatrix, spec: KernelSpec, asking: Token = NOBODY, exact: bool = False
) -> FloatArray:
    """k(x, z) of each row x of ``row_block`` and each row z of ``others``; ``exact``: LIBSVM's values, to the bit.

    A given kernel matrix must have passed ``check_given``.

    Returns
    -------
    columns : ndarray of float64, shape (m, p), C order
    """
    columns = np.empty((row_block.n_rows, others.n_rows))
    for begin, panel in panels(row_block, others, spec, asking, exact):
        columns[:, begin : begin + panel.shape[1]] = panel
    return columns


def panels(
    row_block: CsrMatrix, others: CsrMatrix, spec: KernelSpec, asking: Token = NOBODY, exact: bool = False
) -> Iterator[tuple[int, FloatArray]]:
    """The columns of ``kernel_columns`` some at a time: number of the first, and ndarray of shape (m, up to PANEL)."""
    if spec.kind == KernelType.PRECOMPUTED:
        serials = _serials(others)
        for begin in range(0, others.n_rows, PANEL):
            yield begin, _given(row_block, serials[begin : begin + PANEL])
            asking.ask(PANEL * row_block.n_rows)
        return
    kernel = CrossKernel(row_block, spec.kind, spec.degree, spec.gamma, spec.coef0, approximate=not exact)
    careful = CrossKernel(row_block, spec.kind, spec.degree, spec.gamma, spec.coef0)
    numbers = np.asarray(ramp(others.n_rows))
    for begin in range(0, others.n_rows, PANEL):
        rows = numbers[begin : begin + PANEL]
        values, margins = kernel.block(others, rows, asking)
        if not max(margins) <= MARGIN:
            values, margins = careful.block(others, rows, asking)
        yield begin, np.asarray(values).reshape(-1, PANEL)[: row_block.n_rows, : len(rows)]


def check_given(matrix: CsrMatrix, rows: IntArray, others: CsrMatrix, those: IntArray) -> None:
    """Raise DataError unless the given rows of ``matrix`` have kernel values for ``those`` rows of ``others``."""
    serials = _serials(others)[those]
    short = np.flatnonzero(np.diff(np.asarray(matrix.indptr))[rows] <= serials.max(initial=0))
    if len(short):
        raise DataError("the row has no kernel value for every row of the problem", int(rows[short[0]]))
    if serials.min(initial=1) < 1:
        raise DataError("the serial number must be at least 1", int(those[np.argmin(serials)]))


def _serials(row_block: CsrMatrix) -> IntArray:
    """Of rows with a given kernel matrix: which of its columns each row is."""
    indptr = np.asarray(row_block.indptr)
    empty = np.flatnonzero(np.diff(indptr) == 0)
    if len(empty):
        raise DataError("the row has no serial number", int(empty[0]))
    return np.asarray(serials_only(row_block, ramp(row_block.n_rows)).values, dtype=np.int32)


def _given(row_block: CsrMatrix, serials: IntArray) -> FloatArray:
    """Values of the given matrix, (m, p): column ``serials[j]`` of each row, at the position of its index."""
    return np.asarray(np.asarray(row_block.values)[np.asarray(row_block.indptr)[:-1, None] + serials[None, :]])
