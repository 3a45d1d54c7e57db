"""Intervals between two quantiles, widened until they cover: conformalised quantile regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from libsvmx._core.matrix import CsrMatrix
from libsvmx._core.records import replace
from libsvmx._train import folds
from libsvmx._train.conformal import interval_ends
from libsvmx._train.limits import ask
from libsvmx._train.many import Training, finished_models
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import predict_labels
from libsvmx._train.problem import Problem
from libsvmx._train.repeated_folds import draw_folds
from libsvmx._train.updating.binary_problem import errors_of_a_path
from libsvmx._typing import Buffer, FloatArray
from libsvmx.api.arrays import folds_of, new_rows, parameter_of, problem_of, rand_of
from libsvmx.api.intervals import Intervals, alpha_of
from libsvmx.api.kernels import call_on, called
from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError


def quantile_intervals(
    X: Any,
    y: Any,
    X_new: Any,
    n_folds: int | None = None,
    alpha: float = 0.1,
    param: Parameter | None = None,
    *,
    random_state: int | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> Intervals:
    """Conformalized quantile regression: intervals between the quantiles alpha / 2 and 1 - alpha / 2, calibrated.

    With E_i = max(f_low(x_i) - y_i, y_i - f_high(x_i)) of rows that the two curves were not trained on, each end moves
    outwards by the floor(alpha (n + 1))-th largest E_i, or inwards if that is negative (Romano, Patterson & Candès,
    *Conformalized quantile regression*, NeurIPS 2019): intervals are wide where targets scatter. If rows are
    exchangeable, the target of a new row is covered with probability at least 1 - alpha. Curves that cross at a row are
    swapped there.

    With ``n_folds`` all rows are used for training: each is held out of one fold, and its E_i and the curves of that
    fold replace residual and prediction in ``cv_plus``. The guarantee is then that of ``cv_plus`` (Gupta, Kuchibhotla &
    Ramdas, *Nested conformal prediction and quantile out-of-bag ensemble methods*, Pattern Recognition 127, 2022),
    usually about 1 - alpha.

    Parameters
    ----------
    X, y
        n rows, as in ``train``, and targets.
    X_new
        m new rows, as in ``predict``; with a precomputed kernel K(new row, row), shape (m, n).
    n_folds : int or None
        Number of folds, drawn as in ``cross_validate``; None: half of the rows, drawn as one of two folds, are for
        training, the others for calibration; ``cv`` is a synonym.
    alpha : float
        Miscoverage level, 0 < alpha < 1.
    param, random_state, observer, **options
        As in ``train``; the formulation is quantile regression, and ``tau`` is ignored.

    Returns
    -------
    Intervals
        If ends moved inwards, ``lower`` may be above ``upper``: the interval is then empty.

    Raises
    ------
    ParameterError, DataError
        As in ``cross_validate``, and alpha.
    StoppedEarly
        ``time_limit`` (seconds for the whole call) or the observer ended it.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] - X[:, 1]
    >>> found = libsvmx.quantile_intervals(X, y, X[:3], 10, 0.2, C=10)
    >>> bool((found.lower <= found.upper).all())
    True
    """
    X, known, options = called(X, options)
    n_folds = folds_of(n_folds, options)
    if param is None:
        options.setdefault("svm_type", SvmType.QUANTILE_SVR)
    alpha, param = alpha_of(alpha), parameter_of(param, options, random_state, X)
    if param.svm_type != SvmType.QUANTILE_SVR or param.probability:
        raise ParameterError("quantile_intervals is of quantile regression, without probability estimates")
    problem, param = problem_of(X, y, param)
    tests = new_rows(X_new if known is None else known.values(X_new), param, problem.matrix)
    rand = rand_of(random_state)
    with call_on(problem, param, observer) as told, errors_of_a_path("quantile_intervals has no result"):
        order, bounds = draw_folds(problem, param, n_folds or 2, rand, told)
        n_groups = len(bounds) - 1 if n_folds else 1
        group = np.repeat(np.arange(n_groups), np.diff(bounds)[:n_groups])
        scores, curves = np.empty(len(group)), np.empty((n_groups, 2, tests.n_rows))
        for g in range(n_groups):
            begin, end = bounds[g], bounds[g + 1]
            held_out = problem.take(order[begin:end])
            own, curves[g] = curves_of(
                problem.take(folds.all_but(order, begin, end)), param, alpha, told, held_out, tests
            )
            targets = np.asarray(held_out.targets)
            scores[begin:end] = np.maximum(own[0] - targets, targets - own[1])
            told.counted("fold", g + 1, n_groups)

        def ends(side: int) -> FloatArray:
            table = curves[:, side]
            found = interval_ends(lambda part: table[:, part], tests.n_rows, group, scores, alpha, lambda: ask(told))
            return found[side]

        return Intervals(lower=ends(0), upper=ends(1), alpha=alpha)


def curves_of(
    rest: Problem, param: Parameter, alpha: float, observer: Observer, held_out: Problem, tests: CsrMatrix
) -> tuple[FloatArray, FloatArray]:
    """The two curves of a training at the rows ``held_out``, and at ``tests``: shape (2, rows), the lower one first."""
    trainings = [Training(rest, replace(param, tau=tau), f"tau = {tau:g}") for tau in (alpha / 2, 1 - alpha / 2)]
    models = finished_models(rest, trainings, rand_of(None), observer)

    def values(matrix: CsrMatrix, rows: Buffer) -> FloatArray:
        found = [np.asarray(predict_labels(model, matrix, rows, lambda: ask(observer))) for model in models]
        return np.sort(np.stack(found), axis=0)

    return values(held_out.matrix, held_out.rows), values(tests, np.arange(tests.n_rows, dtype=np.int32).data)
