"""The rows of a problem on the workers of a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from libsvmx._core.matrix import CsrMatrix, distinct_features
from libsvmx._train.checks import LARGEST, check_weights
from libsvmx._train.feature_map import OVERFLOW_CAUSE
from libsvmx._train.folds import check_labels, group_classes
from libsvmx._train.parameter import Parameter
from libsvmx._typing import FloatArray, IntArray
from libsvmx.exceptions import DataError, ParameterError, SvmxError

# distributed's Client, and its Future of something that is on a worker: how far they are typed depends on the version
Client: TypeAlias = Any
Future: TypeAlias = Any


class DataBlock(NamedTuple):
    """Rows on a worker, CsrMatrix or array of shape (m, n), their targets, and their weights; None: 1 each."""

    rows: Any
    targets: FloatArray
    sample_weight: FloatArray | None = None


class BlockSummary(NamedTuple):
    """Summary of a block: rows, labels by first appearance, features that occur, the last one, and the largest weight,
    None without weights."""

    m: int
    labels: tuple[int, ...]
    features: IntArray
    last_index: int
    heaviest: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DistributedProblem:
    """The rows of a problem on a cluster.

    Attributes
    ----------
    client : distributed.Client
    blocks : list of Future of DataBlock
    summaries : list of BlockSummary
    """

    client: Client
    blocks: list[Future]
    summaries: list[BlockSummary]

    @property
    def m(self) -> int:
        """Rows."""
        return sum(summary.m for summary in self.summaries)

    @property
    def features(self) -> IntArray:
        """Indices of the features that occur, ascending, as in a data file."""
        every = [summary.features for summary in self.summaries]
        return np.unique(np.concatenate(every)).astype(np.int32)

    @property
    def columns(self) -> int:
        """Number of features of the rows, as in a Model; an index 0 counts."""
        first = min((int(summary.features[0]) for summary in self.summaries if len(summary.features)), default=1)
        return max(summary.last_index for summary in self.summaries) + (first == 0)

    def counting(self, param: Parameter) -> DistributedProblem:
        """The rows with weight > 0, with the features of all.

        Raises
        ------
        DataError
            No row has weight > 0.
        ParameterError
            C times a weight overflows.
        """
        heaviest = max((1.0 if one.heaviest is None else one.heaviest for one in self.summaries), default=1.0)
        if not isfinite(param.C * heaviest * max((weight for _, weight in param.weights), default=1.0)):
            raise ParameterError("C times a weight is not finite")
        weighted = any(summary.heaviest is not None for summary in self.summaries)
        if not weighted and all(weight > 0 for _, weight in param.weights):
            return self
        count, client = len(self.blocks), self.client
        blocks = client.map(counting_rows_of, self.blocks, [param.C] * count, [param.weights] * count, pure=False)
        found = gathered(client, client.map(labels_of, blocks, pure=False))
        kept = [
            (block, before._replace(m=m, labels=labels))
            for block, before, (m, labels) in zip(blocks, self.summaries, found, strict=True)
            if m
        ]
        if not kept:
            raise DataError("every class has weight 0" if not weighted else "every row has weight 0")
        first = kept[0][1]._replace(features=self.features, last_index=max(one.last_index for one in self.summaries))
        return DistributedProblem(client, [one for one, _ in kept], [first, *(summary for _, summary in kept[1:])])

    @property
    def labels(self) -> list[int]:
        """Classes in LIBSVM's order."""
        first = [float(label) for summary in self.summaries for label in summary.labels]
        return list(group_classes(np.array(first))[0])


def summarize(block: DataBlock, name: str) -> BlockSummary:
    """Summarize a block, on its worker. Raises DataError, which names the block."""
    rows, targets, weights = block
    try:
        check_labels(targets)
        if weights is not None:
            if weights.shape != (len(targets),):
                raise DataError(f"weights of shape {weights.shape} for {len(targets)} rows")
            check_weights(weights)
    except DataError as error:
        raise DataError(f"{name}{'' if error.row is None else f', row {error.row} from 0'}: {error.cause}") from None
    features = distinct_features(rows) if isinstance(rows, CsrMatrix) else np.arange(1, rows.shape[1] + 1)
    values = np.asarray(rows.values) if isinstance(rows, CsrMatrix) else rows
    with np.errstate(all="ignore"):
        squares = float(np.vdot(values, values))  # no copy of a block, which may be large
    if not squares <= LARGEST * max(len(targets), 1):
        if not np.isfinite(values).all():
            raise DataError(f"{name}: a feature value is not finite")
        raise DataError(f"{name}: {OVERFLOW_CAUSE}")
    labels = _labels(targets)
    last = rows.n_columns + rows.first_index - 1 if isinstance(rows, CsrMatrix) else rows.shape[1]
    heaviest = None if weights is None else float(weights.max(initial=0.0))
    return BlockSummary(len(targets), labels, np.asarray(features, dtype=np.int32), last, heaviest)


def counting_rows_of(block: DataBlock, C: float, class_weights: tuple[tuple[int, float], ...]) -> DataBlock:
    """The rows of a block whose bound is not 0, on its worker."""
    rows, targets, weights = block
    bounds = np.full(len(targets), C)
    for label, factor in class_weights:
        bounds[targets == label] *= factor
    if weights is not None:
        bounds *= weights
    counts = np.flatnonzero(bounds).astype(np.int32)
    if len(counts) == len(targets):
        return block
    part = rows.take(counts) if isinstance(rows, CsrMatrix) else rows[counts]
    return DataBlock(part, targets[counts], None if weights is None else weights[counts])


def labels_of(block: DataBlock) -> tuple[int, tuple[int, ...]]:
    """Number of rows of a block, and their labels by first appearance."""
    return len(block.targets), _labels(block.targets)


def _labels(targets: FloatArray) -> tuple[int, ...]:
    """The distinct labels in the order of their first row."""
    values, first = np.unique(targets, return_index=True)
    return tuple(map(int, values[np.argsort(first)]))


def problem_of(client: Client, blocks: list[Future], names: list[str]) -> DistributedProblem:
    """The problem of blocks on the workers. ``names``: of the blocks, for errors.

    Raises DataError for data that cannot be trained on, SvmxError, and errors of loading.
    """
    summaries = gathered(client, client.map(summarize, blocks, names, pure=False))
    kept = [(block, summary) for block, summary in zip(blocks, summaries, strict=True) if summary.m]
    if not kept:
        raise DataError("no data: there is not a single row")
    return DistributedProblem(client, [block for block, _ in kept], [summary for _, summary in kept])


def gathered(client: Client, futures: list[Future]) -> list[Any]:
    """The values of futures. Raises SvmxError when Dask gives up, and errors of tasks."""
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    try:
        return list(client.gather(futures))
    except (KilledWorker, FutureCancelledError, TimeoutError) as error:
        raise SvmxError(f"the cluster failed to do a part of the training: {error}") from error
