"""Feature rows of a problem on a cluster, kept where the rows are, and models of w over them.

A model of all support vectors would be as large as the data. These are as small as w: their vectors are unit vectors
with w as coefficients, or the pivots of a low-rank kernel (low_rank.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels.feature_products import SparseRows
from libsvmx._kernels.featurerows import DenseRows, FeatureRows, as_suits
from libsvmx._solvers.interior_point.block_steps import RowBlock
from libsvmx._train.cluster.problem import DataBlock, DistributedProblem, Future, gathered
from libsvmx._train.feature_map import check_size, model_on_pivots
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._train.solve_report import SolveReport
from libsvmx._typing import FloatArray, IntArray
from libsvmx.exceptions import DataError

Rows = CsrMatrix | FloatArray


class LinearFunction(NamedTuple):
    """The solution of a pair of classes: w over the features, rho, and the report of its solve."""

    w: FloatArray
    rho: float
    report: SolveReport


class DistributedFeatures:
    """Feature rows on the cluster, one future for each block of the problem.

    Attributes
    ----------
    rows : list of Future of FeatureRows
    n : int            features
    """

    rows: list[Future]
    n: int

    def __init__(self, problem: DistributedProblem):
        self.problem = problem

    def blocks(self, positive: int, negative: int, costs: tuple[float, float]) -> list[Future]:
        """The blocks of RowBlocks for two classes: a Future of RowBlock for each block with rows of them."""
        count, client = len(self.rows), self.problem.client
        made = client.map(
            block_of,
            self.rows,
            self.problem.blocks,
            [positive] * count,
            [negative] * count,
            [costs] * count,
            pure=False,
        )
        sizes = gathered(client, client.map(size_of, made))
        return [block for block, size in zip(made, sizes, strict=True) if size]

    def model(self, param: Parameter, labels: list[int], functions: list[LinearFunction]) -> Model:
        """The functions of all pairs of classes, in the order of the pairs."""
        raise NotImplementedError


class LinearFeatures(DistributedFeatures):
    """The data's own features, and models of w."""

    def __init__(self, problem: DistributedProblem, param: Parameter):
        super().__init__(problem)
        self.features = problem.features
        self.n = len(self.features)
        check_size(self.n, param)
        if not self.n:
            raise DataError("there is not a single feature")
        client = problem.client
        self.rows = client.map(
            rows_of, problem.blocks, [self.features] * len(problem.blocks), pure=False, key="svmx-rows"
        )

    def model(self, param: Parameter, labels: list[int], functions: list[LinearFunction]) -> Model:
        """w as coefficients of unit vectors: a model file has 17 digits of these, but 8 of values."""
        units = CsrMatrix(np.arange(self.n + 1), self.features, np.ones(self.n))
        weights, reports = [one.w for one in functions], [one.report for one in functions]
        return model_on_pivots(param, units, labels, weights, reports, self.problem.columns)


def rows_of(block: DataBlock, features: IntArray) -> FeatureRows:
    """The rows of a block with their own features as columns."""
    rows = block.rows
    if not isinstance(rows, CsrMatrix):
        return DenseRows(rows if len(features) == rows.shape[1] else rows[:, features - 1])
    # a table would be as long as the largest index
    columns = np.searchsorted(features, np.asarray(rows.indices)).astype(np.int32)
    return as_suits(SparseRows(rows.indptr, columns, rows.values, len(features)))


def block_of(rows: FeatureRows, block: DataBlock, positive: int, negative: int, costs: tuple[float, float]) -> RowBlock:
    """The rows of two classes, with their bounds: C times the weights of class and row."""
    targets, weights = np.asarray(block.targets), block.sample_weight
    members = np.flatnonzero((targets == positive) | (targets == negative))
    if len(members) < len(targets):
        rows, targets = rows.select(members), targets[members]
        weights = None if weights is None else weights[members]
    y = np.where(targets == positive, 1.0, -1.0)
    bounds = np.where(y > 0, costs[0], costs[1])
    return RowBlock(rows, y, bounds if weights is None else bounds * weights, linear=y)


def size_of(block: RowBlock) -> int:
    return len(block.y)
