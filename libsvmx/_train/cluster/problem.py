"""The rows of a problem on the workers of a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from libsvmx._core.matrix import CsrMatrix, distinct_features
from libsvmx._train.feature_map import LARGEST, OVERFLOW_CAUSE
from libsvmx._train.folds import check_labels, group_classes
from libsvmx.exceptions import DataError, SvmxError

if TYPE_CHECKING:
    from libsvmx._typing import FloatArray, IntArray

# distributed's Client, and its Future of something that is on a worker: how far they are typed depends on the version
Client: TypeAlias = Any
Future: TypeAlias = Any


class DataBlock(NamedTuple):
    """Rows on a worker, CsrMatrix or array of shape (m, n), and their targets."""

    rows: Any
    targets: FloatArray


class BlockSummary(NamedTuple):
    """What is known here of a block: rows, labels by first appearance, the features that occur, the last one."""

    m: int
    labels: tuple[int, ...]
    features: IntArray
    last_index: int


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
        found: IntArray = np.unique(np.concatenate(every)).astype(np.int32)
        return found

    @property
    def columns(self) -> int:
        """Features of the rows, as of a Model; an index 0 counts."""
        first = min((int(summary.features[0]) for summary in self.summaries if len(summary.features)), default=1)
        return max(summary.last_index for summary in self.summaries) + (first == 0)

    @property
    def labels(self) -> list[int]:
        """Classes in LIBSVM's order."""
        first = [float(label) for summary in self.summaries for label in summary.labels]
        return list(group_classes(np.array(first))[0])


def summarize(block: DataBlock, name: str) -> BlockSummary:
    """Look at a block, on its worker. Raises DataError, which tells ``name``."""
    rows, targets = block
    try:
        check_labels(targets)
    except DataError as error:
        raise DataError(f"{name}, row {error.row} from 0: {error.cause}") from None
    features = distinct_features(rows) if isinstance(rows, CsrMatrix) else np.arange(1, rows.shape[1] + 1)
    values = np.asarray(rows.values) if isinstance(rows, CsrMatrix) else rows
    with np.errstate(all="ignore"):
        squares = float(np.vdot(values, values))  # without a copy of a block that may be large
    if not squares <= LARGEST * max(len(targets), 1):
        if not np.isfinite(values).all():
            raise DataError(f"{name}: a feature value is not finite")
        raise DataError(f"{name}: {OVERFLOW_CAUSE}")
    labels = tuple(dict.fromkeys(int(label) for label in _firsts(targets)))
    last = rows.n_columns + rows.first_index - 1 if isinstance(rows, CsrMatrix) else rows.shape[1]
    return BlockSummary(len(targets), labels, np.asarray(features, dtype=np.int32), last)


def _firsts(targets: FloatArray) -> FloatArray:
    """The distinct targets in the order of their first row."""
    values, first = np.unique(targets, return_index=True)
    ordered: FloatArray = values[np.argsort(first)]
    return ordered


def problem_of(client: Client, blocks: list[Future], names: list[str]) -> DistributedProblem:
    """The problem of blocks that are on the workers. ``names``: of the blocks, for errors.

    Raises DataError for what no classifier can be trained on, SvmxError, and what loading them raised.
    """
    summaries = gathered(client, client.map(summarize, blocks, names, pure=False))
    kept = [(block, summary) for block, summary in zip(blocks, summaries, strict=True) if summary.m]
    if not kept:
        raise DataError("no data: there is not a single row")
    return DistributedProblem(client, [block for block, _ in kept], [summary for _, summary in kept])


def gathered(client: Client, futures: list[Future]) -> list[Any]:
    """Their values. Raises SvmxError when Dask gives up, and what a task raised."""
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    try:
        return list(client.gather(futures))
    except (KilledWorker, FutureCancelledError, TimeoutError) as error:
        raise SvmxError(f"the cluster has given up a part of the training: {error}") from error
