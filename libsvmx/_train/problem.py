"""Rows, targets and weights of a training: selected rows of a matrix, in any order."""

from __future__ import annotations

from libsvmx._core.arrays import ramp, take_float64, take_int32
from libsvmx._core.matrix import CsrMatrix, compacted
from libsvmx._typing import Buffer


class Problem:
    """Problem(matrix, targets, rows=None, features=None, sample_weight=None)

    Parameters
    ----------
    matrix : CsrMatrix
    targets : buffer of float64, shape (n,)     label or target of each selected row
    rows : buffer of int32, shape (n,)          rows of ``matrix``; all of them in order by default
    features : CsrMatrix                        ``matrix`` as kernels see it: huge indices renumbered
    sample_weight : buffer of float64, shape (n,)     finite and >= 0; None: 1 each
    """

    __slots__ = ("features", "matrix", "rows", "sample_weight", "targets")

    def __init__(
        self,
        matrix: CsrMatrix,
        targets: Buffer,
        rows: Buffer | None = None,
        features: CsrMatrix | None = None,
        sample_weight: Buffer | None = None,
    ):
        if rows is None:
            rows = ramp(matrix.n_rows)
        if len(targets) != len(rows):
            raise ValueError(f"{len(targets)} targets for {len(rows)} rows")
        if sample_weight is not None and len(sample_weight) != len(rows):
            raise ValueError(f"{len(sample_weight)} weights for {len(rows)} rows")
        self.matrix: CsrMatrix = matrix
        self.targets: Buffer = targets
        self.rows: Buffer = rows
        self.sample_weight: Buffer | None = sample_weight
        self.features: CsrMatrix = features or compacted(matrix)[0]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def weight(self) -> float:
        """The sum of the weights; without weights the number of rows."""
        return float(len(self) if self.sample_weight is None else sum(self.sample_weight))

    def take(self, positions: Buffer, targets: Buffer | None = None) -> Problem:
        """The rows at ``positions`` (buffer of int32) of this problem, with their own or other targets."""
        if targets is None:
            targets = take_float64(self.targets, positions)
        weights = None if self.sample_weight is None else take_float64(self.sample_weight, positions)
        return Problem(self.matrix, targets, take_int32(self.rows, positions), self.features, weights)

    def copied(self, positions: Buffer) -> Problem:
        """As ``take`` of a problem of all rows of its matrix, with a matrix of these rows only."""
        weights = None if self.sample_weight is None else take_float64(self.sample_weight, positions)
        return Problem(self.matrix.take(positions), take_float64(self.targets, positions), sample_weight=weights)

    def with_targets(self, targets: Buffer) -> Problem:
        """The same rows with other targets."""
        return Problem(self.matrix, targets, self.rows, self.features, self.sample_weight)
