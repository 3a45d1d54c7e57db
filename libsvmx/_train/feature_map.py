"""Explicit features of a problem's rows, for solvers that work with X instead of the kernel X X'."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.arrays import inverse, take_int32
from libsvmx._core.blas import one_blas_thread
from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.memory import require, threads_that_fit
from libsvmx._core.stopping import NOBODY, Control, Leeway, Stopped, Token
from libsvmx._core.threads import thread_count
from libsvmx._kernels.approximation import Approximation, LowRank
from libsvmx._kernels.featurerows import (
    DenseRows,
    FeatureRows,
    feature_rows,
    second_order_rows,
    second_order_size,
)
from libsvmx._solvers.dual import DualProblem, DualSolution
from libsvmx._solvers.interior_point.solver import CRSVM
from libsvmx._train.assembly import each_beta
from libsvmx._train.checks import LARGEST
from libsvmx._train.model import Model, columns_of, vectors_of
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.solve_report import SolveReport
from libsvmx._typing import Buffer, FloatArray, IntArray
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError, ParameterError, StoppedEarly

if TYPE_CHECKING:
    from libsvmx._train.assembly import Reports

# Typical number of iterations of the interior-point method, and number of operations from which a remark is made: some
# tens of seconds on one core.
ITERATIONS, MUCH_WORK = 25, 3e11
# Trace error of a full factor of K, relative to the trace.
FULL = 1e-15
UNFINISHED = "the features of the rows are not finished, so there is no model; give it more time, or a smaller rank"
# Arrays of the size of a low-rank factor needed to make it, if more than to use it.
COPIES = {"nystrom": 2, "eigen": 12}
TAKE_LESS = "; a low-rank approximation (--rank) needs less"
OVERFLOW_CAUSE = "kernel values of rows with themselves overflow: scale the data"


class FeatureMap:
    """FeatureMap(problem, param, observer, asking): features of the rows, made once for all pairs and all folds.

    Of the linear kernel they are the data's own, of a polynomial kernel of degree 2 products of two; of any kernel, the
    rows of a low-rank factor of K, which is over all rows of ``problem`` (their labels take no part). Where these
    features were more than the rows, the full factor of K has fewer.

    Attributes
    ----------
    low_rank : LowRank or None

    Raises
    ------
    DataError            values that overflow, or a kernel matrix without such a factor
    ParameterError       a kernel without explicit features and no low rank asked for, or too many features
    StoppedEarly         ``asking`` has stopped it before there are any features. Where it has stopped a low-rank factor
        by Cholesky, or by Nystroem to an error, the features are those of the factor so far
    """

    def __init__(self, problem: Problem, param: Parameter, observer: Observer, asking: Token = NOBODY):
        assert isinstance(param.solver, CRSVM)
        self.problem, self.param, self.solver = problem, param, param.solver
        self.low_rank: LowRank | None = None
        if param.svm_type.is_regression and self.solver.low_rank and not self.predicts:
            raise ParameterError(
                "a regression on a low-rank factor predicts with the factor (predict_with='factor'): with the kernel "
                "itself its errors would grow with C"
            )
        try:
            own = None if self.solver.low_rank else self.own_rows(asking)
            if own is not None:
                self.tell_of_work(own.n, float(own.nnz) * own.nnz / max(own.m, 1), observer)
            elif self.solver.rank or not self.solver.low_rank:  # with only an error given, the rank is unknown
                n = min(self.solver.rank or len(problem), len(problem))
                self.tell_of_work(n, float(len(problem)) * n * n, observer)
            self.rows = self.factor_rows(observer, asking) if own is None else own
        except Stopped as stop:
            raise StoppedEarly(stop.status, UNFINISHED) from None
        if not self.rows.squares() <= LARGEST * self.rows.m:  # the mean of the diagonal
            raise DataError(OVERFLOW_CAUSE)
        if self.rows.n == 0:  # no feature at all, but LAPACK needs one
            self.rows = DenseRows(np.zeros((self.rows.m, 1)))
        self.number = inverse(problem.rows, problem.features.n_rows)

    def tell_of_work(self, n: int, of_matrices: float, observer: Observer) -> None:
        """Remark in advance on much work with n features; ``of_matrices``: operations for the normal matrices of an
        iteration with all rows in one problem. With k classes each row is in k - 1 problems."""
        k = 2 if self.param.svm_type.is_regression else len(set(self.problem.targets))
        work = ITERATIONS * max(1, k - 1) * (of_matrices + k / 2 * n**3 / 3)
        if work > MUCH_WORK:
            observer.remark(Remark.MUCH_WORK, f"{work:.0e}")

    @property
    def predicts(self) -> bool:
        """Whether models predict by the pivots of the factor."""
        return self.solver.predict_with == "factor"

    def own_rows(self, asking: Token) -> FeatureRows | None:
        """Rows of the data, or of their second-order map; None if these have more features than rows."""
        param = self.param
        if param.lacks_features:
            raise ParameterError(
                f"solver {self.solver.name} needs explicit features: a linear kernel, a polynomial one of degree 2 "
                "with coef0 >= 0, or a low-rank approximation of the kernel (low_rank and rank)"
            )
        rows = feature_rows(self.problem.features, self.problem.rows, asking)
        is_linear = param.kernel_type == KernelType.LINEAR
        n = rows.n if is_linear else second_order_size(rows.n, param.coef0)
        if n > rows.m:
            return None
        check_size(n, param)
        if not is_linear:
            self.check_memory(n, min(rows.m * n, rows.nnz * (rows.nnz // rows.m + 3) // 2), TAKE_LESS)
        else:
            self.check_memory(n, rows.nnz, TAKE_LESS)
        return rows if is_linear else second_order_rows(rows, param.gamma, param.coef0, asking)

    def factor_rows(self, observer: Observer, asking: Token) -> FeatureRows:
        """Rows of the low-rank factor asked for, else of the full one."""
        from libsvmx._kernels.approximation import Approximation

        solver, m = self.solver, len(self.problem)
        most = min(solver.rank, m) if solver.low_rank else m
        check_size(most, self.param)
        copies = COPIES.get(solver.low_rank, 1)
        self.check_memory(most, copies * m * most, "; a smaller --rank needs less" if solver.low_rank else TAKE_LESS)
        settings = solver.approximation() if solver.low_rank else Approximation("cholesky", rank_error=FULL)
        self.low_rank = factor_of(self.problem, self.param, settings, asking, self.predicts)
        n = self.low_rank.factor.shape[1]
        if solver.low_rank:
            observer.factorized(n, self.low_rank.trace_error, self.low_rank.trace)
        check_size(n, self.param)
        return DenseRows(self.low_rank.factor)

    def check_memory(self, n: int, entries: int, advice: str) -> None:
        """Raise TooLittleMemory if memory does not suffice for n features with this number of entries.

        They are copied for each pair of classes. The normal matrix is there as the sum, a term of it for each thread,
        and the factor. Of vectors over rows there are some tens.
        """
        squares, variables = (3 + self.threads()) * n * n, (1 + self.param.svm_type.is_regression) * len(self.problem)
        vectors = 40 * variables
        require(8 * (2 * entries + squares + vectors), f"solver {self.solver.name} with {n} features", advice)

    def threads(self) -> int:
        """Number of threads that may work on features."""
        return threads_that_fit(thread_count(self.param.threads))

    def of(self, problem: Problem, asking: Token = NOBODY) -> FeatureRows:
        """The features of the rows of ``problem``, a subset of the whole."""
        members = self.numbers_of(problem)
        if len(members) == self.rows.m and np.array_equal(members, np.arange(len(members))):
            return self.rows
        return self.rows.select(members, asking)

    @one_blas_thread()
    def model(
        self,
        problem: Problem,
        classes: tuple[list[int], list[int], Buffer],
        betas: Buffer,
        reports: Reports,
    ) -> Model:
        """The model that predicts by the factor: functions f(x) = sum_p k(x, p) coef_p - rho over its pivots p.

        ``classes``, ``betas``: as of assemble_classifier, of ``problem``.
        """
        labels, start, order = classes
        by_class = self.numbers_of(problem)[np.asarray(order)]
        coefs = []
        for (i, j), beta in zip(combinations(range(len(labels)), 2), each_beta(betas, start), strict=True):
            rows = np.concatenate([by_class[start[c] : start[c + 1]] for c in (i, j)])
            coefs.append(self.coef_of_pivots(rows, beta))
        pivots, numbers, columns = self.pivots()
        return model_on_pivots(self.param, pivots, labels, coefs, reports, columns, numbers)

    @one_blas_thread()
    def single_model(self, problem: Problem, beta: Buffer, report: SolveReport) -> Model:
        """``model`` for a regression."""
        pivots, numbers, columns = self.pivots()
        return Model(
            self.param,
            2,
            pivots,
            self.coef_of_pivots(self.numbers_of(problem), beta).data,
            np.array([report.rho]).data,
            row_numbers=numbers.astype(np.int32).data,
            columns=columns,
            reports=(report,),
        )

    def coef_of_pivots(self, rows: NDArray[np.int64], beta: Buffer) -> FloatArray:
        """coef = T w: with F = K(rows, pivots) T and w = F'beta, the features of x are k(x, pivots) T."""
        low_rank = self.low_rank
        if low_rank is None or low_rank.transform is None:
            raise ParameterError("there is no factor to predict with: choose a low_rank approximation")
        coef: FloatArray = low_rank.transform @ (low_rank.factor[rows].T @ np.asarray(beta))
        return coef

    def pivots(self) -> tuple[CsrMatrix, IntArray, int]:
        """The pivots as vectors, their numbers from 1, and the columns of the data."""
        assert self.low_rank is not None
        vectors = vectors_of(self.problem, self.low_rank.pivots, self.param)
        return vectors, self.low_rank.pivots + 1, columns_of(self.problem.matrix, self.param)

    def numbers_of(self, problem: Problem) -> NDArray[np.int64]:
        """Positions of the rows of ``problem`` in the whole."""
        return np.asarray(take_int32(self.number, problem.rows)).astype(np.int64)

    def solve(self, dual: DualProblem, problem: Problem, control: Control, observer: Observer) -> DualSolution:
        """Solve ``dual`` over the rows of ``problem``."""
        threads = self.threads()
        rows = self.of(problem, Leeway(control))
        return self.solver.solve_features(dual, rows, control, threads, observer.iterated)


def factor_of(
    problem: Problem, param: Parameter, settings: Approximation, asking: Token, transform: bool = True
) -> LowRank:
    """A low-rank factor of the kernel matrix of a problem's rows; arguments as in ``factorize``.

    Raises
    ------
    DataError
    Stopped          there is none yet
    """
    from libsvmx._kernels.block_kernel import KernelSpec
    from libsvmx._kernels.lowrank import factorize

    spec, threads = KernelSpec(*param.kernel_function), threads_that_fit(thread_count(param.threads))
    return factorize(problem.features, problem.rows, spec, settings, param.cache_bytes, threads, asking, transform)


def check_size(n: int, param: Parameter) -> None:
    """Raise ParameterError for more features than the solver allows."""
    if n > param.policy.most_features:
        raise ParameterError(
            f"{n} features are too many for solver {CRSVM.name}, whose matrix of the normal equations would take "
            f"{8e-9 * n * n:.0f} GB: take a low-rank approximation (low_rank and rank), or another solver"
        )


def model_on_pivots(
    param: Parameter,
    pivots: CsrMatrix,
    labels: list[int],
    coefs: list[FloatArray],
    reports: Reports,
    columns: int,
    row_numbers: IntArray | None = None,
) -> Model:
    """A model of functions sum_p k(x, p) coef_p - rho over common vectors, one for each pair (0, 1), (0, 2), …

    A vector of class i can only count in functions of i: each class but the last has a copy of the pivots, for its
    pairs (i, j).
    """
    k, p = len(labels), pivots.n_rows
    table = np.zeros((k - 1, k - 1, p))
    for (i, j), coef in zip(combinations(range(k), 2), coefs, strict=True):
        table[j - 1, i] = coef
    tiled = np.tile(np.arange(p, dtype=np.int32), k - 1)
    return Model(
        param,
        k,
        pivots.take(tiled),
        table.reshape(-1).data,
        np.array([report.rho for report in reports], dtype=np.float64).data,
        tuple(labels),
        (p,) * (k - 1) + (0,),
        row_numbers=None if row_numbers is None else row_numbers[tiled].astype(np.int32).data,
        columns=columns,
        reports=reports,
    )
