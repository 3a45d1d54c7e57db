"""C-SVC over rows that are spread over the workers of a Dask cluster, by the interior-point solver.

The solver is that of _solvers.interior_point itself. Rows and all vectors over rows stay on the workers; every step of
an iteration sends a few vectors of the length of w there, and brings sums back. No process holds all rows, and none is
sent. A step is a pure function of a block and its state before, so Dask repeats the steps of a worker that is lost,
from reading the rows on.

A model of all support vectors would be as large as the data. These are as small as w: their vectors are unit vectors
with w as coefficients, or the pivots of a low-rank kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from libsvmx._core.matrix import CsrMatrix, distinct_features
from libsvmx._kernels.featurerows import DenseRows, FeatureRows, as_suits
from libsvmx._kernels.sparserows import SparseRows
from libsvmx._solvers.interior_point import crossover, predictor_corrector
from libsvmx._solvers.interior_point.block_steps import Block
from libsvmx._solvers.interior_point.settings import CRSVM
from libsvmx._train.feature_map import LARGEST, check_size, model_on_pivots
from libsvmx._train.folds import check_labels, group_classes
from libsvmx._train.observer import Observer, SolveReport
from libsvmx._train.reports import announced
from libsvmx._train.training import class_costs
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import DataError, ParameterError, SvmxError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from libsvmx._train.model import Model
    from libsvmx._train.parameter import Parameter
    from libsvmx._typing import FloatArray, IntArray

    Rows = CsrMatrix | FloatArray

# distributed's Client, and its Future of something that is on a worker: how far they are typed depends on the version
Client: TypeAlias = Any
Future: TypeAlias = Any

# Replies that a worker adds up before the sum goes on.
FAN_IN = 8


class Chunk(NamedTuple):
    """Rows on a worker, CsrMatrix or array of shape (m, n), and their targets."""

    rows: Any
    targets: FloatArray


class Summary(NamedTuple):
    """What is known here of a chunk: rows, labels by first appearance, the features that occur."""

    m: int
    labels: tuple[int, ...]
    features: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The rows of a problem on a cluster.

    Attributes
    ----------
    client : distributed.Client
    chunks : list of Future of Chunk
    summaries : list of Summary
    """

    client: Client
    chunks: list[Future]
    summaries: list[Summary]

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
    def labels(self) -> list[int]:
        """Classes in LIBSVM's order."""
        first = [float(label) for summary in self.summaries for label in summary.labels]
        return list(group_classes(np.array(first))[0])


def summarize(chunk: Chunk, name: str) -> Summary:
    """Look at a chunk, on its worker. Raises DataError, which tells ``name``."""
    rows, targets = chunk
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
        raise DataError(f"{name}: kernel values of rows with themselves overflow: scale the data")
    labels = tuple(dict.fromkeys(int(label) for label in _firsts(targets)))
    return Summary(len(targets), labels, np.asarray(features, dtype=np.int32))


def _firsts(targets: FloatArray) -> FloatArray:
    """The distinct targets in the order of their first row."""
    values, first = np.unique(targets, return_index=True)
    ordered: FloatArray = values[np.argsort(first)]
    return ordered


def spread_out(client: Client, chunks: list[Future], names: list[str]) -> Spread:
    """Chunks as a problem. ``names``: of the chunks, for errors.

    Raises DataError for what no classifier can be trained on, SvmxError, and what loading them raised.
    """
    summaries = gathered(client, client.map(summarize, chunks, names, pure=False))
    kept = [(chunk, summary) for chunk, summary in zip(chunks, summaries, strict=True) if summary.m]
    if not kept:
        raise DataError("no data: there is not a single row")
    return Spread(client, [chunk for chunk, _ in kept], [summary for _, summary in kept])


def explicit_rows(rows: Rows, features: IntArray) -> FeatureRows:
    """The rows of a chunk with their own features as columns."""
    if not isinstance(rows, CsrMatrix):
        return DenseRows(rows if len(features) == rows.shape[1] else rows[:, features - 1])
    # found by search: a table would be as long as the largest index
    columns = np.searchsorted(features, np.asarray(rows.indices)).astype(np.int32)
    return as_suits(SparseRows(rows.indptr, columns, rows.values, len(features)))


def block_of(rows: FeatureRows, chunk: Chunk, positive: int, negative: int, costs: tuple[float, float]) -> Block:
    """The rows of two classes, with their bounds."""
    targets = np.asarray(chunk.targets)
    members = np.flatnonzero((targets == positive) | (targets == negative))
    if len(members) < len(targets):
        rows, targets = rows.select(members), targets[members]
    y = np.where(targets == positive, 1.0, -1.0)
    return Block(rows, y, np.where(y > 0, costs[0], costs[1]))


def size_of(block: Block) -> int:
    return len(block.y)


class OneThread:
    """While entered by anyone in this process, BLAS has one thread: workers may have threads of their own, and sums
    shall not depend on how many. What is not finite is found by the one who adds up the replies."""

    lock = Lock()
    inside = 0
    limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits

        with OneThread.lock:
            if OneThread.inside == 0:
                OneThread.limits = threadpool_limits(1, "blas")
            OneThread.inside += 1
        self.quiet = np.errstate(all="ignore")
        self.quiet.__enter__()

    def __exit__(self, *_: object) -> None:
        self.quiet.__exit__(None, None, None)
        with OneThread.lock:
            OneThread.inside -= 1
            if OneThread.inside == 0:
                OneThread.limits.restore_original_limits()


def perform(step: Callable[..., Any], block: Block, before: Any, common: Any, own: Any) -> Any:
    """A step, on a worker; ``before`` is what the step before it returned, (state, reply), or None."""
    with OneThread():
        return step(block, None if before is None else before[0], *common, *own)


def gathered(client: Client, futures: list[Future]) -> list[Any]:
    """Their values. Raises SvmxError when Dask gives up, and what a task raised."""
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    try:
        return list(client.gather(futures))
    except (KilledWorker, FutureCancelledError, TimeoutError) as error:
        raise SvmxError(f"the cluster has given up a part of the training: {error}") from error


class SpreadParts:
    """SpreadParts(client, blocks, n): blocks of rows that are futures, as row_blocks.Parts."""

    def __init__(self, client: Client, blocks: list[Future], n: int):
        self.client, self.blocks, self.n = client, blocks, n
        self.states: list[Any] = [None] * len(blocks)

    def run(
        self,
        step: Callable[..., tuple[Any, Any]],
        *common: Any,
        each: Sequence[tuple[Any, ...]] = (),
        merge: Callable[[list[Any]], Any] | None = None,
    ) -> list[Any]:
        count, client = len(self.blocks), self.client
        own = list(each) or [()] * count
        name = f"svmx-{step.__name__}"
        done = client.map(
            perform, [step] * count, self.blocks, self.states, [common] * count, own, key=name, pure=False
        )
        replies = client.map(itemgetter(1), done, pure=False, key=f"{name}-reply")
        while merge is not None and len(replies) > FAN_IN:
            groups = [replies[k : k + FAN_IN] for k in range(0, len(replies), FAN_IN)]
            replies = client.map(merge, groups, pure=False, key=f"{name}-sum")
        values = gathered(client, replies)
        self.states = done
        return values


class Solved(NamedTuple):
    """One function: w over the features, rho, and what is reported."""

    w: FloatArray
    rho: float
    report: SolveReport


def solve_pair(parts: SpreadParts, param: Parameter, observer: Observer) -> Solved:
    """The optimum of one pair of classes."""
    assert isinstance(param.solver, CRSVM)
    deadline = Deadline(param.time_limit, observer)
    with OneThread():
        found = predictor_corrector.solve(parts, param.solver, deadline.watch, param.max_iter)
    counts: list[crossover.Counted] = parts.run(crossover.count)
    alpha, n_sv, n_bsv = (sum(column) for column in zip(*counts, strict=True))
    # of a solve that was stopped, w is the last one: it is not of these alpha
    objective = float(found.w @ found.w) / 2 - alpha if found.crossed else -found.primal
    gap = found.crossed.gap if found.crossed else float("inf")
    status = found.certified(gap, alpha, n_sv, param.eps)
    report = SolveReport(
        iterations=found.iterations,
        objective=objective,
        rho=found.gamma,
        n_sv=n_sv,
        n_bsv=n_bsv,
        status=status,
        gap=gap,
    )
    return Solved(found.w, found.gamma, announced(report, observer))


class Deadline:
    """Deadline(seconds, observer): ends a solve after that time, 0 for never, or when the observer says so."""

    def __init__(self, seconds: float, observer: Observer):
        from time import monotonic

        self.clock, self.observer = monotonic, observer
        self.end = monotonic() + seconds if seconds > 0 else float("inf")

    def watch(self, line: predictor_corrector.Iteration) -> SolveStatus | None:
        self.observer.iterated(line)
        if self.clock() > self.end:
            return SolveStatus.TIME_LIMIT
        return SolveStatus.INTERRUPTED if self.observer.should_stop() else None


def train_spread(
    data: Spread, source: Source, param: Parameter, observer: Observer
) -> tuple[Model, tuple[SolveReport, ...]]:
    """The model of all pairs of classes, and a report of each. ``source``: the features of ``data``.

    Raises
    ------
    DataError, ParameterError       what cannot be trained
    SvmxError                       the cluster gives up
    """
    labels = data.labels
    if len(labels) < 2:
        raise DataError(f"there is one class only, {labels[0]}: nothing to tell apart")
    costs = class_costs(labels, param, observer)
    if min(costs) == 0:
        raise ParameterError("a class of weight 0 takes no part: leave its rows out")
    solved = []
    for (i, positive), (j, negative) in combinations(enumerate(labels), 2):
        blocks = source.blocks(positive, negative, (costs[i], costs[j]))
        solved.append(solve_pair(SpreadParts(data.client, blocks, source.n), param, observer))
    model = source.model(param, labels, solved)
    observer.total_sv(model.n_sv)
    return model, tuple(one.report for one in solved)


class Source:
    """Feature rows on the cluster, one future for each chunk.

    Attributes
    ----------
    rows : list of Future of FeatureRows
    n : int            features
    """

    rows: list[Future]
    n: int

    def __init__(self, data: Spread):
        self.data = data

    def blocks(self, positive: int, negative: int, costs: tuple[float, float]) -> list[Future]:
        """Blocks of the rows of two classes; without those that have none."""
        count, client = len(self.rows), self.data.client
        made = client.map(
            block_of, self.rows, self.data.chunks, [positive] * count, [negative] * count, [costs] * count, pure=False
        )
        sizes = gathered(client, client.map(size_of, made))
        return [block for block, size in zip(made, sizes, strict=True) if size]

    def model(self, param: Parameter, labels: list[int], solved: list[Solved]) -> Model:
        """The functions of all pairs of classes, in the order of the pairs."""
        raise NotImplementedError


class LinearSource(Source):
    """The data's own features, and models of w."""

    def __init__(self, data: Spread):
        super().__init__(data)
        self.features = data.features
        self.n = len(self.features)
        check_size(self.n)
        if not self.n:
            raise DataError("there is not a single feature")
        client = data.client
        self.rows = client.map(rows_of, data.chunks, [self.features] * len(data.chunks), pure=False, key="svmx-rows")

    def model(self, param: Parameter, labels: list[int], solved: list[Solved]) -> Model:
        """w as coefficients of unit vectors: a model file has 17 digits of these, but 8 of values."""
        units = CsrMatrix(np.arange(self.n + 1), self.features, np.ones(self.n))
        rhos, statuses = [one.rho for one in solved], [one.report.status for one in solved]
        return model_on_pivots(param, units, labels, [one.w for one in solved], rhos, statuses)


def rows_of(chunk: Chunk, features: IntArray) -> FeatureRows:
    return explicit_rows(chunk.rows, features)
