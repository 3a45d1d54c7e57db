"""A low-rank factor of the kernel matrix of rows on a Dask cluster, block by block from broadcast pivots.

The steps are those of libsvmx._kernels.pivoting. A block keeps its rows of the factor and the diagonal of the residual;
candidates (rows) and the pivots among them are sent around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.blas import one_blas_thread
from libsvmx._core.matrix import CsrMatrix
from libsvmx._kernels import pivoting
from libsvmx._kernels.approximation import Approximation
from libsvmx._kernels.block_kernel import KernelSpec, kernel_columns, kernel_diagonal
from libsvmx._kernels.factors import CANDIDATES, INDEFINITE, INDEFINITE_CAUSE, ROUNDING, nystrom_transform
from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.interior_point.solver import CRSVM
from libsvmx._train.cluster.features import DistributedFeatures, LinearFunction
from libsvmx._train.cluster.problem import DataBlock, DistributedProblem
from libsvmx._train.cluster.row_blocks import DistributedRowBlocks
from libsvmx._train.feature_map import UNFINISHED, check_size, model_on_pivots
from libsvmx._train.gamma import scaled_rows
from libsvmx._train.limits import look
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._typing import FloatArray
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

Places = NDArray[np.intp]
Handed = tuple[CsrMatrix, FloatArray]


@dataclass(frozen=True, slots=True)
class PartialFactor:
    """The part of a block of m rows: its factor, shape (m, r), and the diagonal of the residual, shape (m,)."""

    factor: FloatArray
    residual: FloatArray


def begin(block: CsrMatrix, state: None, spec: KernelSpec) -> tuple[PartialFactor, tuple[float, float]]:
    """No columns yet; replies sum and maximum of the diagonal of K."""
    diagonal = kernel_diagonal(block, spec)
    return PartialFactor(np.empty((block.n_rows, 0)), diagonal), (
        float(diagonal.sum()),
        float(abs(diagonal).max(initial=0.0)),
    )


def left(block: CsrMatrix, state: PartialFactor) -> tuple[PartialFactor, tuple[float, float, float]]:
    """Replies sum of the positive part of the residual diagonal, its minimum, and its maximum."""
    residual = state.residual
    return state, (
        float(np.maximum(residual, 0.0).sum()),
        float(residual.min(initial=0.0)),
        float(residual.max(initial=0.0)),
    )


def offer(block: CsrMatrix, state: PartialFactor, count: int) -> tuple[PartialFactor, tuple[Places, FloatArray, float]]:
    """Replies positions and residuals of the largest ones, and the largest of the others."""
    places, bound = pivoting.largest_rows(state.residual, count)
    return state, (places, state.residual[places], bound)


def hand_over(block: CsrMatrix, state: PartialFactor, places: Places) -> tuple[PartialFactor, Handed]:
    """Replies rows, and their rows of the factor."""
    return state, (block.take(places.astype(np.int32)), state.factor[places])


def hand_drawn(block: CsrMatrix, state: PartialFactor, marks: FloatArray) -> tuple[PartialFactor, Handed]:
    """Replies the rows at the drawn marks, as ``hand_over`` does."""
    return hand_over(block, state, pivoting.drawn_rows(state.residual, marks))


def extend(
    block: CsrMatrix,
    state: PartialFactor,
    pivots: CsrMatrix,
    pivot_factor: FloatArray,
    lower: FloatArray,
    spec: KernelSpec,
) -> tuple[PartialFactor, FloatArray]:
    """Columns of new pivots, without an update of the residual; replies the decrease of the trace by each."""
    columns = pivoting.new_columns(block, state.factor, pivots, pivot_factor, lower, spec)
    return PartialFactor(np.hstack([state.factor, columns]), state.residual), np.einsum("ij,ij->j", columns, columns)


def eliminate(
    block: CsrMatrix, state: PartialFactor, begin: int, end: int
) -> tuple[PartialFactor, tuple[float, float, float]]:
    """Keep the new columns from ``begin`` to ``end``; replies as ``left``."""
    factor = np.ascontiguousarray(state.factor[:, :end])
    return left(block, PartialFactor(factor, pivoting.remaining(state.residual, factor[:, begin:])))


def project(
    block: CsrMatrix, state: PartialFactor, landmarks: CsrMatrix, transform: FloatArray, spec: KernelSpec
) -> tuple[PartialFactor, tuple[float, float, float]]:
    """The factor of all landmarks at once; replies as ``left``."""
    factor = kernel_columns(block, landmarks, spec) @ transform
    return left(block, PartialFactor(factor, state.residual - np.einsum("ij,ij->i", factor, factor)))


def sparse_block(block: DataBlock, param: Parameter) -> CsrMatrix:
    """The rows of a block as a CsrMatrix, scaled if each feature has its own gamma."""
    rows = block.rows
    if not isinstance(rows, CsrMatrix):
        at, columns = np.nonzero(rows)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=len(rows)))]).astype(np.int64)
        rows = CsrMatrix(indptr, (columns + 1).astype(np.int32), rows[at, columns])
    return scaled_rows(rows, param, first_index=1)


def factor_rows(result: tuple[PartialFactor, object]) -> DenseRows:
    return DenseRows(result[0].factor)


class LowRankFeatures(DistributedFeatures):
    """LowRankFeatures(problem, param, observer): rows of a low-rank factor, and models whose vectors are its pivots.

    Attributes
    ----------
    pivots : CsrMatrix
    transform : ndarray, shape (p, n)       features of a row x are k(x, pivots) @ transform
    trace, trace_error : float              of the kernel matrix, and of the part that the factor leaves out

    Raises
    ------
    DataError               the kernel matrix is indefinite, or overflows
    ParameterError          method 'eigen', which would need all rows as pivots
    StoppedEarly            stopped before the first pivot; later, the factor has the pivots so far
    """

    def __init__(self, problem: DistributedProblem, param: Parameter, observer: Observer):
        super().__init__(problem)
        assert isinstance(param.solver, CRSVM)
        settings = param.solver.approximation()
        if settings.low_rank == "eigen":
            raise ParameterError(
                "low_rank 'eigen' is not for rows on a cluster: choose cholesky, rpcholesky or nystrom"
            )
        check_size(min(settings.rank, problem.m), param)
        self.spec = KernelSpec(*param.kernel_function)
        self.random = np.random.default_rng(settings.random_state)
        self.observer = observer
        client = problem.client
        params = [param] * len(problem.blocks)
        blocks = client.map(sparse_block, problem.blocks, params, pure=False, key="svmx-sparse")
        self.row_blocks = DistributedRowBlocks(client, blocks, 0)
        begun = self.row_blocks.run(begin, self.spec)
        self.trace = sum(total for total, _ in begun)
        self.largest = max(largest for _, largest in begun)
        self.limit = min(settings.rank or problem.m, problem.m)
        if settings.low_rank == "nystrom":
            self.nystrom(settings)
        else:
            self.cholesky(settings)
        self.n = self.transform.shape[1]
        check_size(self.n, param)
        if not self.n:
            raise DataError("the kernel matrix is 0: it does not distinguish classes")
        self.rows = client.map(factor_rows, self.row_blocks.states, pure=False, key="svmx-factor")
        observer.factorized(self.n, self.trace_error, self.trace)

    def cholesky(self, settings: Approximation) -> None:
        """Greedy or randomly pivoted, as libsvmx._kernels.factors.cholesky."""
        target = settings.rank_error * self.trace if settings.rank_error else -np.inf
        pivots: list[CsrMatrix] = []
        lower = np.zeros((0, 0))
        replies = self.row_blocks.run(left)
        while len(lower) < self.limit and self.remaining(replies) > target:
            floor = max(ROUNDING * self.largest, -min(reply[1] for reply in replies))
            if not max(reply[2] for reply in replies) > floor or self.is_over(len(lower)):
                break
            room = self.limit - len(lower)
            if settings.low_rank == "cholesky":
                candidates, factor, bound = self.largest_candidates()
                block = pivoting.residual_block(candidates, factor, self.spec)
                chosen, new = pivoting.choose_largest(block, bound, room, floor)
            else:
                candidates, factor = self.drawn_candidates(np.array([reply[0] for reply in replies]))
                block = pivoting.residual_block(candidates, factor, self.spec)
                chosen, new = pivoting.choose_random(block, self.random.random(CANDIDATES), room, floor)
            if not len(chosen):
                break
            rows = candidates.take(chosen.astype(np.int32))
            gains = np.cumsum(sum(self.row_blocks.run(extend, rows, factor[chosen], new, self.spec)))
            # the required error may be reached before the last of the new pivots
            used = min(len(chosen), 1 + int(np.searchsorted(-(self.remaining(replies) - gains), -target)))
            pivots.append(rows.take(np.arange(used, dtype=np.int32)))
            begin, new = len(lower), new[:used, :used]
            lower = np.block([[lower, np.zeros((begin, used))], [factor[chosen[:used]], new]])
            replies = self.row_blocks.run(eliminate, begin, begin + used)
        from scipy.linalg import solve_triangular

        self.trace_error = self.remaining(replies)
        self.pivots = stacked(pivots)
        self.transform = solve_triangular(lower, np.eye(len(lower)), lower=True).T if len(lower) else np.empty((0, 0))

    def is_over(self, rank: int) -> bool:
        """Whether the call must end with a factor of this rank. Raises StoppedEarly without any."""
        status = look(self.observer)
        if status is not None and not rank:
            raise StoppedEarly(status, UNFINISHED)
        return status is not None

    def remaining(self, replies: Sequence[tuple[float, float, float]]) -> float:
        """The trace of the residual. Raises DataError for an indefinite kernel matrix."""
        if min(reply[1] for reply in replies) < -INDEFINITE * self.largest:
            raise DataError(INDEFINITE_CAUSE)
        return sum(reply[0] for reply in replies)

    def largest_candidates(self) -> tuple[CsrMatrix, FloatArray, float]:
        """Rows with the largest residuals, their rows of the factor, and the largest residual of the others."""
        offers = self.row_blocks.run(offer, CANDIDATES)
        chosen, bound = pivoting.largest_of_blocks([(values, least) for _, values, least in offers], CANDIDATES)
        places = [(offered[0][own],) for offered, own in zip(offers, chosen, strict=True)]
        return *joined(self.row_blocks.run(hand_over, each=places)), bound

    def drawn_candidates(self, totals: FloatArray) -> Handed:
        """Rows drawn with probabilities in proportion to their residuals, in random order."""
        marks = pivoting.marks_of_blocks(totals, self.random.random(CANDIDATES))
        rows, factor = joined(self.row_blocks.run(hand_drawn, each=[(own,) for own in marks]))
        order = self.random.permutation(rows.n_rows)
        return rows.take(order.astype(np.int32)), factor[order]

    def nystrom(self, settings: Approximation) -> None:
        """Landmarks drawn without replacement; the rank is given."""
        if not settings.rank:
            raise ParameterError("low_rank 'nystrom' on a cluster needs a rank")
        ends = np.cumsum([0, *(summary.m for summary in self.problem.summaries)])
        drawn = np.sort(self.random.choice(ends[-1], self.limit, replace=False))
        places = [(drawn[(drawn >= begin) & (drawn < end)] - begin,) for begin, end in pairwise(ends)]
        self.is_over(0)
        self.pivots, _ = joined(self.row_blocks.run(hand_over, each=places))
        block = kernel_columns(self.pivots, self.pivots, self.spec)
        self.transform = nystrom_transform(block, self.largest)
        self.trace_error = self.remaining(self.row_blocks.run(project, self.pivots, self.transform, self.spec))

    @one_blas_thread()
    def model(self, param: Parameter, labels: list[int], functions: list[LinearFunction]) -> Model:
        """Each function over the pivots."""
        coefs = [self.transform @ one.w for one in functions]
        reports = [one.report for one in functions]
        return model_on_pivots(param, self.pivots, labels, coefs, reports, self.problem.columns)


def joined(handed: Sequence[Handed]) -> Handed:
    return stacked([rows for rows, _ in handed]), np.concatenate([factor for _, factor in handed])


def stacked(matrices: Sequence[CsrMatrix]) -> CsrMatrix:
    """Rows of several matrices, one after the other."""
    if not matrices:
        return CsrMatrix(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
    counts = np.concatenate([np.diff(np.asarray(matrix.indptr)) for matrix in matrices])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices, values = (
        np.concatenate([np.asarray(getattr(matrix, name)) for matrix in matrices]) for name in ("indices", "values")
    )
    return CsrMatrix(indptr, indices, values, copy=False)
