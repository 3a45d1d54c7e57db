"""Low-rank factors of kernel matrices over arrays: features for use elsewhere, those of solver crsvm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._core.stopping import Stopped
from libsvmx._kernels.block_kernel import KernelSpec
from libsvmx._kernels.lowrank import features_of
from libsvmx._solvers.interior_point.solver import CRSVM
from libsvmx._solvers.smo.solver import SMO
from libsvmx._train.checks import check_problem
from libsvmx._train.feature_map import factor_of
from libsvmx._train.gamma import default_gamma
from libsvmx._train.limits import control_of
from libsvmx._train.model import columns_of
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._typing import FloatArray, IntArray
from libsvmx.api.arrays import parameter_of, rows_as, training_rows
from libsvmx.api.kernels import without_named
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError, StoppedEarly


@dataclass(frozen=True, slots=True, eq=False)
class LowRankKernel:
    """A factor F of the kernel matrix K of n rows, K ~ F F', and the map to features of other rows.

    Attributes
    ----------
    factor : ndarray of float64, shape (n, rank)
        F, the features of the rows themselves.
    pivots : ndarray of int32, shape (p,)
        Rows, counted from 0, whose kernel values determine all features.
    transform : ndarray of float64, shape (p, rank)
        Features of a row x: k(x, pivots) @ transform.
    trace : float
        Trace of K.
    trace_error : float
        Trace of K - F F'.
    param : Parameter
        Kernel and approximation, with gamma filled in.
    vectors : CsrMatrix
        Rows of the pivots.
    columns : int
        Number of features of the n rows; n with a precomputed kernel.
    """

    factor: FloatArray
    pivots: IntArray
    transform: FloatArray
    trace: float
    trace_error: float
    param: Parameter
    vectors: CsrMatrix
    columns: int

    @property
    def rank(self) -> int:
        """Number of features; less than asked for where the rest of K is rounding errors."""
        return int(self.factor.shape[1])

    @property
    def relative_error(self) -> float:
        """trace_error / trace; 0 of a kernel matrix of zeros."""
        return self.trace_error / self.trace if self.trace > 0 else 0.0

    def features_of(self, X: Any) -> FloatArray:
        """Features of m rows, whose inner products approximate the kernel.

        Parameters
        ----------
        X
            m rows, as in ``train``; with a precomputed kernel K(row, row of the factor), shape (m, n).

        Returns
        -------
        ndarray of float64, shape (m, rank)

        Raises
        ------
        DataError
            Also for an array with another number of columns than the n rows.
        """
        tests = rows_as(X, self.param, self.columns, self.vectors.first_index)
        rows = np.arange(tests.n_rows, dtype=np.int32).data
        return features_of(self.vectors, self.transform, tests, rows, KernelSpec(*self.param.kernel_function))


def low_rank(X: Any, param: Parameter | None = None, **options: Any) -> LowRankKernel:
    """Low-rank factor of the kernel matrix of the rows of X: ``low_rank(X, gamma=0.1, rank=300)``.

    A linear method on its features is a method with the kernel F F'; solver crsvm trains on them.

    Parameters
    ----------
    X
        As in ``train``.
    param : Parameter
        Parameters of the kernel; its fields may be given as keywords instead.
    **options
        Fields of ``Parameter`` for the kernel, ``low_rank`` (the method, by default 'cholesky'), ``rank``,
        ``rank_error``, ``random_state``, ``cache_size`` and ``threads``.

    Returns
    -------
    LowRankKernel
        Independent of the number of threads.

    Raises
    ------
    ParameterError
        Neither rank nor rank_error, or an unknown method.
    DataError
        Invalid data, or a kernel matrix that is not positive semidefinite.
    StoppedEarly
        ``time_limit`` was reached before there is a factor. A Cholesky factor is returned with the pivots so far, and a
        smaller rank.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> kernel = libsvmx.low_rank(X, gamma=0.1, rank=20)
    >>> kernel.rank, kernel.features_of(X[:3]).shape
    (20, (3, 20))
    """
    options = {"solver": CRSVM.name, **without_named(options)}
    param = parameter_of(replace(param or Parameter(), svm_type=SvmType.C_SVC), options, X=X)
    solver = param.solver
    if not isinstance(solver, CRSVM) or not solver.low_rank:
        raise ParameterError("a low-rank factor needs a rank, or the error that it may have (rank_error)")
    matrix = training_rows(X, param, borrow=False)
    problem = Problem(matrix, np.zeros(matrix.n_rows).data)
    param = default_gamma(param, matrix.max_index)
    check_problem(problem, replace(param, svm_type=SvmType.ONE_CLASS, solver=SMO()))  # no labels
    try:
        found = factor_of(problem, param, solver.approximation(), control_of(param, Observer()))
    except Stopped as stop:
        raise StoppedEarly(stop.status, "the factor is not finished; give it more time, or a smaller rank") from None
    assert found.transform is not None
    vectors, columns = problem.matrix.take(found.pivots.astype(np.int32).data), columns_of(matrix, param)
    return LowRankKernel(
        found.factor, found.pivots, found.transform, found.trace, found.trace_error, param, vectors, columns
    )
