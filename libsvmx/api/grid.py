"""Grid search over arrays; the same computations as svmx-grid."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.validation.grid import C_AXIS, G_AXIS, Grid, Point, exponents, param_at
from libsvmx._train.validation.grid_pool import Workers
from libsvmx._train.validation.grid_search import Plan, Search, usual_seeding
from libsvmx._train.validation.scheme import Seeding
from libsvmx._typing import FloatArray
from libsvmx.api.arrays import folds_of, parameter_of, problem_of, seed_of
from libsvmx.api.kernels import call_on, called, kernel_word
from libsvmx.exceptions import ParameterError, StoppedEarly

Axis = tuple[float, float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class GridSearch:
    """Result of a grid search: a table of n points in grid.py's order, and the best of them.

    Attributes
    ----------
    C, gamma : ndarray, shape (n,)
        Values at each point.
    log2c, log2g : ndarray, shape (n,)
        Their logarithms to base 2; nan for an axis that was not searched.
    rate : ndarray, shape (n,)
        Accuracy in percent, or mean squared error in regression, to six digits.
    squared_correlation : ndarray, shape (n,)
        In regression; else nan.
    seconds : ndarray, shape (n,)
        Time of each point.
    iterations : ndarray of int64, shape (n,)
        Solver iterations of each point.
    best : int
        Index of the best point: highest accuracy or smallest error.
    param : Parameter
        Parameters of the search with the best C and gamma.
    """

    C: FloatArray
    gamma: FloatArray
    log2c: FloatArray
    log2g: FloatArray
    rate: FloatArray
    squared_correlation: FloatArray
    seconds: FloatArray
    iterations: npt.NDArray[np.int64]
    best: int
    param: Parameter

    def __repr__(self) -> str:
        axes = (("C", self.log2c), ("gamma", self.log2g))
        searched = "".join(
            f"{name}={getattr(self.param, name):g}, " for name, powers in axes if not np.isnan(powers).all()
        )
        return f"<GridSearch of {len(self.rate)} points, best: {searched}rate={self.best_rate:g}>"

    @property
    def best_C(self) -> float:
        """C of the best point."""
        return self.param.C

    @property
    def best_gamma(self) -> float:
        """gamma of the best point."""
        return self.param.gamma

    @property
    def best_rate(self) -> float:
        """Rate of the best point."""
        return float(self.rate[self.best])


def grid_search(
    X: Any,
    y: Any,
    log2c: Axis = C_AXIS,
    log2g: Axis = G_AXIS,
    n_folds: int | None = None,
    param: Parameter | None = None,
    *,
    sample_weight: Any = None,
    seeder: str | None = "auto",
    random_state: int | None = None,
    workers: int = 1,
    dask: Any = None,
    progress: Callable[[Point], object] | None = None,
    observer: Observer | None = None,
    **options: Any,
) -> GridSearch:
    """Cross-validate at every point of a grid of C and gamma.

    Parameters
    ----------
    X, y, param, **options
        As in ``train``.
    log2c, log2g : (begin, end, step) or None
        Exponents of C and gamma; None keeps C or gamma of ``param``. Your own kernels have no gamma, and that of a
        ``Kernel.named`` is only searched if log2g is given; where each feature has its own, this is a factor of all
        (several arrays of gammas: ``SVCCV``).
    n_folds : int
        Number of folds, 5 by default; ``cv`` is a synonym.
    sample_weight
        As in ``cross_validate``.
    seeder : str or None
        As in ``cross_validate``; points also start from the result for the next smaller C. None or 'none' follows
        LIBSVM's path, with exactly its rates; so does 'auto' where seeding is not possible (solver crsvm) or saves
        nothing (several classes, up to 1,000 rows, and most classifications with probability estimates).
    random_state : int
        Seed of the folds, drawn from it at each point, by default LIBSVM's, and of randomized solvers.
    workers : int
        Number of processes; more than one needs joblib.
    dask : str or distributed.Client
        Distribute the points to its workers instead; needs dask and distributed.
    progress : callable(point)
        Called with each point when it is finished.
    observer : Observer
        As in ``train``.

    Returns
    -------
    GridSearch
        Independent of the number of workers.

    Raises
    ------
    ParameterError, DataError, SvmxError
        These are ValueErrors.
    StoppedEarly
        ``time_limit`` (seconds for the whole search) or the observer ended it; ``partial`` is a GridSearch of the
        points finished, or None.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> found = libsvmx.grid_search(X, y, log2c=(-1, 5, 2), log2g=(-3, 1, 2))
    >>> found.best_C, found.best_gamma, found.best_rate
    (0.5, 0.5, 96.6667)
    """
    if kernel_word(options) and log2g is G_AXIS:
        log2g = None
    X, known, options = called(X, options)
    if known is not None:
        if workers != 1 or dask is not None:
            raise ParameterError("a kernel of your own is called in this process: leave out workers= and dask=")
        if log2g is not None:
            raise ParameterError("a kernel of your own has no gamma: leave out log2g=")
    n_folds = folds_of(n_folds, options, 5)
    problem, param = problem_of(X, y, parameter_of(param, options, random_state, X), sample_weight)
    axes = (None if axis is None else exponents(*map(float, axis)) for axis in (log2c, log2g))
    seeding = usual_seeding(Seeding(seeder or "none"), param, problem.targets)
    plan = Plan(param, Grid(*axes), n_folds, seeding, seed_of(random_state))
    workers_pool = Workers(workers, dask) if workers != 1 or dask is not None else None
    search = None
    try:
        with workers_pool or nullcontext(), call_on(problem, param, observer) as told:
            search = Search(plan, problem, workers_pool, observer=told)
            for outcome in search:
                if progress is not None:
                    progress(outcome.point)
    except StoppedEarly as stop:
        partial = _table(search) if search and search.found else None
        raise StoppedEarly(stop.status, stop.consequence, partial) from None
    return _table(search)


def _table(search: Search) -> GridSearch:
    points, param = search.points, search.plan.param
    params = [param_at(param, point.key) for point in points]

    def column(name: str) -> FloatArray:
        return np.array([getattr(point, name) for point in points], dtype=np.float64)

    return GridSearch(
        np.array([p.C for p in params]),
        np.array([p.gamma for p in params]),
        column("log2c"),
        column("log2g"),
        column("rate"),
        column("scc"),
        column("seconds"),
        np.array([point.iterations for point in points], dtype=np.int64),
        points.index(search.best),
        param_at(param, search.best.key),
    )
