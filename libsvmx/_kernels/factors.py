"""Low-rank factors of the kernel matrix of rows in one process: see libsvmx._kernels.lowrank."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

import numpy as np

from libsvmx._core.dense import eigenpairs, first_columns, inverse_transposed, product, put_columns, row_squares
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.stopping import NOBODY, Leeway, Stopped, Token
from libsvmx._core.threads import in_order
from libsvmx._kernels import eigen, pivoting
from libsvmx._kernels.approximation import USUAL, Approximation, LowRank
from libsvmx._kernels.block_kernel import KernelSpec, check_given, kernel_columns, kernel_diagonal, panels, split
from libsvmx._typing import FloatArray, IntArray
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError

T = TypeVar("T")

INDEFINITE_CAUSE = "the kernel matrix is not positive semidefinite: choose another kernel or method 'eigen'"

# Candidates of a step of greedy and random Cholesky: c^2 kernel values, and rows that fit any cache.
CANDIDATES = 64
# Residuals, relative to the largest diagonal, that are rounding of double kernel values.
ROUNDING = 1e-13
# Negative residuals, relative to the largest diagonal, beyond rounding even of given values with 6 digits.
INDEFINITE = 1e-6
# Eigenvalues of K[P, P], relative to the largest, that Nystroem drops as noise.
CUTOFF = 1e-12
# Initial number of landmarks, and rank of eigen, with a tolerance.
FIRST = 16
# Eigen starts from a factor of this many times the rank, or 1 / of the error.
NEARER = 8


class IndefiniteError(DataError):
    """K has a negative eigenvalue."""


class BlockedRows:
    """The rows in row blocks of ``size``, threads for them, and the diagonal of K."""

    def __init__(
        self,
        matrix: CsrMatrix,
        rows: IntArray,
        spec: KernelSpec,
        threads: int,
        asking: Token = NOBODY,
        size: int = USUAL.row_block,
    ):
        self.matrix, self.rows, self.spec, self.threads, self.asking = matrix, rows, spec, threads, asking
        self.n = len(rows)
        self.row_blocks = split(matrix, rows, size)
        self.slices = [slice(begin, min(begin + size, self.n)) for begin in range(0, self.n, size)]
        self.diagonal = np.empty(self.n)
        if spec.kind == KernelType.ADDITIVE_CHI2:  # conditionally positive semidefinite only
            raise DataError(f"kernel {KernelType.ADDITIVE_CHI2.keyword} has no factor: choose chi2 or intersection")
        if spec.kind == KernelType.PRECOMPUTED:
            check_given(matrix, rows, matrix, rows)
        for part, row_block in zip(self.slices, self.row_blocks, strict=True):
            try:
                self.diagonal[part] = kernel_diagonal(row_block, spec)
            except DataError as error:
                place = None if error.row is None else int(rows[part.start + error.row])
                raise DataError(error.cause, place) from None
            asking.ask(row_block.nnz)
        self.trace = float(self.diagonal.sum())
        self.largest = float(np.abs(self.diagonal).max(initial=0.0))

    def take(self, places: Iterable[int]) -> CsrMatrix:
        """Rows by place in the problem."""
        return self.matrix.take(self.rows[np.asarray(places, dtype=np.intp)])

    def target(self, settings: Approximation) -> float:
        """The trace error to be reached; minus infinity without one."""
        if settings.rank_error and self.trace < 0:
            raise DataError("an error is a share of the trace of the kernel matrix, which is negative: give a rank")
        return settings.rank_error * self.trace if settings.rank_error else -np.inf

    def map(self, function: Callable[..., T], *arguments: Iterable[object]) -> list[T]:
        """``function`` of each row block and its arguments, in order."""
        jobs = zip(self.row_blocks, *arguments, strict=True)
        return list(in_order(function, jobs, self.threads, self.asking))

    def check_residual(self, residual: FloatArray) -> None:
        """Raise DataError for a residual that is negative beyond rounding, or not finite."""
        worst = int(np.argmin(residual)) if self.n else 0
        if self.n and not np.isfinite(residual).all():
            worst = int(np.flatnonzero(~np.isfinite(residual))[0])
            raise DataError("a kernel value of the row overflows", int(self.rows[worst]))
        if self.n and residual[worst] < -INDEFINITE * self.largest:
            raise IndefiniteError(INDEFINITE_CAUSE, int(self.rows[worst]))

    def check_symmetry(self, block: FloatArray) -> None:
        """Raise DataError if a block of a given kernel matrix is not symmetric."""
        if (
            self.spec.kind == KernelType.PRECOMPUTED
            and np.abs(block - block.T).max(initial=0.0) > INDEFINITE * self.largest
        ):
            raise DataError("the given kernel matrix is not symmetric")

    def check_whole_symmetry(self) -> None:
        """``check_symmetry`` of the whole matrix, if it is given."""
        if self.spec.kind != KernelType.PRECOMPUTED:
            return
        for some in split(self.matrix, self.rows, CANDIDATES):
            for row_block in self.row_blocks:
                own, turned = (row_block, some), (some, row_block)
                gap = kernel_columns(*own, self.spec, self.asking) - kernel_columns(*turned, self.spec, self.asking).T
                if np.abs(gap).max(initial=0.0) > INDEFINITE * self.largest:
                    raise DataError("the given kernel matrix is not symmetric")


def cholesky(problem: BlockedRows, settings: Approximation, partial: bool = True, transform: bool = True) -> LowRank:
    """Greedy or randomly pivoted Cholesky: steps of libsvmx._kernels.pivoting until rank or tolerance is met.

    ``partial``: a stop gives the factor of the pivots so far; without it, or without pivots, Stopped is raised.
    ``transform``: compute the result's transform.
    """
    elimination = Elimination(problem, settings)
    try:
        while elimination.step():
            pass
    except Stopped:
        if not (partial and elimination.pivots):
            raise
    return elimination.result(transform)


class Elimination:
    """Elimination(problem, settings): a Cholesky factor that grows.

    Attributes
    ----------
    pivots : list of int
    factor : ndarray of float64, shape (n, at least the number of pivots)
    residual : ndarray of float64, shape (n,)         diagonal of K - F F'
    """

    def __init__(self, problem: BlockedRows, settings: Approximation):
        self.problem, self.settings = problem, settings
        self.limit = min(settings.rank or problem.n, problem.n)
        self.target = problem.target(settings)
        self.random = np.random.default_rng(settings.random_state)
        self.residual = problem.diagonal.copy()
        self.factor = np.empty((problem.n, self.limit if settings.rank else min(self.limit, FIRST)))
        self.pivots: list[int] = []
        problem.check_residual(self.residual)

    def step(self) -> bool:
        """Add some pivots; False if there are enough, or no more. An exception leaves all unchanged."""
        problem, residual, r = self.problem, self.residual, len(self.pivots)
        floor = max(ROUNDING * problem.largest, -float(residual.min(initial=0.0)))
        if not (r < self.limit and residual.sum() > self.target and residual.max() > floor):
            return False
        found, lower = _pivots(problem, self.settings, residual, self.factor[:, :r], floor, self.limit - r, self.random)
        if not found:
            return False
        factor = self.factor = _with_room(self.factor, r, min(self.limit, r + len(found)), problem.asking)
        more = partial(
            pivoting.new_columns,
            pivots=problem.take(found),
            pivot_factor=factor[found, :r],
            lower=lower,
            spec=problem.spec,
            asking=problem.asking,
        )
        columns = problem.map(more, [factor[part, :r] for part in problem.slices])
        # the tolerance may be met before the last of the new pivots
        gains = np.cumsum(sum(np.einsum("ij,ij->j", new, new) for new in columns))
        used = min(len(found), 1 + int(np.searchsorted(-(residual.sum() - gains), -self.target)))
        for part, new in zip(problem.slices, columns, strict=True):
            put_columns(factor[part], r, new[:, :used], problem.asking)
        for part, new in zip(problem.slices, columns, strict=True):
            residual[part] = pivoting.remaining(residual[part], new[:, :used])
        self.pivots.extend(found[:used])
        problem.check_residual(residual)
        return True

    def result(self, transform: bool) -> LowRank:
        """The factor so far; ``factor`` must not be used afterwards."""
        asking = Leeway(self.problem.asking)
        factor = first_columns(self.factor, len(self.pivots), asking)
        found = None
        if transform:
            found = inverse_transposed(np.tril(factor[self.pivots]), asking) if self.pivots else np.empty((0, 0))
        pivots = np.array(self.pivots, dtype=np.int32)
        return _result(self.problem, self.settings, factor, pivots, found, self.residual.sum())


def _pivots(
    problem: BlockedRows,
    settings: Approximation,
    residual: FloatArray,
    factor: FloatArray,
    floor: float,
    room: int,
    random: np.random.Generator,
) -> tuple[list[int], FloatArray]:
    """Pivots of a step as rows of the problem, none if the rest is rounding, and N of libsvmx._kernels.pivoting."""
    if settings.low_rank == "cholesky":
        candidates, bound = pivoting.largest_rows(residual, CANDIDATES)
    else:
        marks = random.random(CANDIDATES) * np.maximum(residual, 0.0).sum()
        candidates = pivoting.drawn_rows(residual, marks)
    block = pivoting.residual_block(problem.take(candidates), factor[candidates], problem.spec)
    problem.check_symmetry(block)
    if settings.low_rank == "cholesky":
        chosen, lower = pivoting.choose_largest(block, bound, room, floor)
    else:
        chosen, lower = pivoting.choose_random(block, random.random(CANDIDATES), room, floor)
    return [int(place) for place in candidates[chosen]], lower


def nystrom(problem: BlockedRows, settings: Approximation) -> LowRank:
    """Landmarks drawn uniformly without replacement; for a tolerance, doubled until it is met.

    A stop gives the factor of half as many, if any; else Stopped is raised.
    """
    limit = min(settings.rank or problem.n, problem.n)
    target = problem.target(settings)
    order = np.random.default_rng(settings.random_state).permutation(problem.n).astype(np.int32)
    problem.check_residual(problem.diagonal)
    columns, p = np.empty((problem.n, 0)), min(FIRST, limit) if settings.rank_error else limit
    found = None
    while True:
        try:
            columns = _landmarks(problem, order[:p], columns)
            found = _projected(problem, settings, order[:p], columns)
        except Stopped:
            if found is None:
                raise
            return found
        if p == limit or found.trace_error <= target:
            return found
        p = min(2 * p, limit)


def _landmarks(problem: BlockedRows, landmarks: IntArray, known: FloatArray) -> FloatArray:
    """Kernel values of all rows with ``landmarks``, places in the problem; the first columns are ``known``."""
    n_known = known.shape[1]
    columns, fresh = np.empty((problem.n, len(landmarks))), problem.take(landmarks[n_known:])

    def fill(row_block: CsrMatrix, part: slice) -> None:
        put_columns(columns[part], 0, known[part], problem.asking)
        for begin, panel in panels(row_block, fresh, problem.spec, problem.asking):
            put_columns(columns[part], n_known + begin, panel, problem.asking)

    problem.map(fill, problem.slices)
    return columns


def _projected(problem: BlockedRows, settings: Approximation, landmarks: IntArray, columns: FloatArray) -> LowRank:
    """The factor of ``landmarks`` and their ``columns`` of K."""
    block = columns[landmarks]
    problem.check_symmetry(block)
    transform = nystrom_transform(block, problem.largest, problem.asking)
    factor = product(columns, transform, problem.asking)
    residual = problem.diagonal - row_squares(factor, problem.asking)
    problem.check_residual(residual)
    return _result(problem, settings, factor, landmarks, transform, residual.sum())


def nystrom_transform(block: FloatArray, largest: float, asking: Token = NOBODY) -> FloatArray:
    """T = U W^-1/2 of K[P, P] = U W U', without eigenvalues that are rounding.

    Parameters
    ----------
    block : ndarray, shape (p, p)      K[P, P]
    largest : float                    largest diagonal of K

    Returns
    -------
    transform : ndarray of float64, shape (p, r)

    Raises
    ------
    DataError           a negative eigenvalue beyond rounding
    """
    if not len(block):
        return np.empty((0, 0))
    values, vectors = eigenpairs(block, asking)
    if values[0] < -INDEFINITE * max(values[-1], largest):
        raise IndefiniteError(INDEFINITE_CAUSE)
    used = values > max(CUTOFF * values[-1], ROUNDING * largest, -values[0])
    return np.asarray(vectors[:, used] / np.sqrt(values[used]))


def eigenvectors(problem: BlockedRows, settings: Approximation, budget_bytes: float) -> LowRank:
    """F = K V W^-1/2 of the largest eigenpairs, K V = V W. Raises Stopped."""
    n, target = problem.n, problem.target(settings)
    problem.check_whole_symmetry()
    first, kind = eigen.distinct(problem.matrix, problem.rows, problem.asking)
    weights = np.sqrt(np.bincount(kind, minlength=len(first)))
    operator = eigen.KernelOperator(
        problem.matrix,
        problem.rows[first],
        weights,
        problem.spec,
        budget_bytes,
        problem.threads,
        problem.asking,
        settings.policy,
    )
    values, vectors, images = _eigenpairs(problem, settings, operator, first)
    used = values > max(ROUNDING, n * np.finfo(np.float64).eps) * max(values.max(initial=0.0), problem.largest)
    scale = np.sqrt(values[used])
    transform, factor = vectors[:, used] / scale, images[:, used] / scale
    errors = problem.trace - np.cumsum(np.einsum("ij,ij->j", factor, factor))
    r = min(len(errors), 1 + int(np.searchsorted(-errors, -target)))
    factor, transform = (array[:, :r] / weights[:, None] for array in (factor, transform))
    error = float(errors[r - 1]) if r else problem.trace
    return _result(problem, settings, factor[kind], np.arange(n, dtype=np.int32), transform[kind], error)


def _eigenpairs(
    problem: BlockedRows, settings: Approximation, operator: eigen.KernelOperator, first: IntArray
) -> eigen.Eigenpairs:
    """At least as many of the largest eigenpairs of the operator as rank or tolerance require.

    ``first``: (n,) places in the problem of the operator's rows.
    """
    target = problem.target(settings)
    limit = min(settings.rank or operator.n, operator.n)
    k = limit if settings.rank else min(FIRST, limit)
    if operator.n <= settings.policy.dense:
        return eigen.whole(operator, limit)
    near = Approximation(
        "rpcholesky", min(problem.n, NEARER * settings.rank), settings.rank_error / NEARER, settings.random_state
    )
    try:
        factor = cholesky(problem, near, partial=False, transform=False).factor[first]
    except IndefiniteError:
        pass
    else:
        U, S = eigen.principal(operator.weights[:, None] * factor, problem.asking)
        # eigenvalues of K are at least those of F F', so no more are needed for the same error
        if not len(S):
            return np.empty(0), factor, factor
        k = min(limit, len(S), 1 + int(np.searchsorted(np.cumsum(S), problem.trace - target)))
        if k * eigen.DENSE_SHARE < operator.n:
            return eigen.davidson(operator, k, U, S, settings.random_state)
    while k * eigen.DENSE_SHARE < operator.n:
        found = eigen.lanczos(operator, k, settings.random_state)
        if k == limit or problem.trace - np.maximum(found[0], 0.0).sum() <= target:
            return found
        k = min(2 * k, limit)
    return eigen.whole(operator, limit)


def _with_room(factor: FloatArray, used: int, columns: int, asking: Token) -> FloatArray:
    """The factor, with ``used`` columns, with room for ``columns``; its room is doubled if it has to grow."""
    if columns <= factor.shape[1]:
        return factor
    grown = np.empty((len(factor), min(max(columns, 2 * factor.shape[1]), len(factor))))
    put_columns(grown, 0, factor[:, :used], asking)
    return grown


def _result(
    problem: BlockedRows,
    settings: Approximation,
    factor: FloatArray,
    pivots: IntArray,
    transform: FloatArray | None,
    error: float,
) -> LowRank:
    if transform is not None:
        transform = np.ascontiguousarray(transform)
    return LowRank(factor, pivots, transform, problem.trace, max(0.0, float(error)), settings.low_rank)
