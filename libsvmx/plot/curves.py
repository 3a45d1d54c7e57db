"""Curves: convergence of a training, calibration of probabilities, error along a path of C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from libsvmx._solvers.solver import converted
from libsvmx._train.updating.cost_curve import middle
from libsvmx._typing import FloatArray, Ids
from libsvmx.api.arrays import numbers_of
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.plot.axes import BEST, COLOURS, EMPHASIS, axes_of, look_of

if TYPE_CHECKING:
    from libsvmx._solvers.interior_point.predictor_corrector import Iteration
    from libsvmx._train.solve_report import SolveReport

    Steps = Sequence[SolveReport] | Sequence[Iteration]

# Axis labels of the fields whose names do not explain themselves.
MEANINGS = {"gap": "KKT gap", "number": "iterations", "mu": "complementarity mu", "rows": "rows of the normal matrix"}
POINTS_OF_PATH = 500  # where a regression's error is computed, besides breakpoints
NORMAL_QUANTILE = 1.959964  # of 0.975
FEW_ROWS = 10  # bins with fewer are drawn grey: their share means little
FAINT = "0.7"
HEIGHT_OF_COUNTS, GAP = 0.18, 0.06  # shares of the height of the axes


def convergence(
    steps: Steps | Mapping[str, Steps],
    x: str = "iterations",
    y: str = "gap",
    *,
    eps: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw the convergence of trainings, a curve for each.

    A step is a ``SolveReport``, such as one for each of several values of ``max_iter``, or an ``Iteration`` of solver
    crsvm, as reported to an observer.

    Parameters
    ----------
    steps : sequence of records, or mapping of names to such sequences
        Steps in order; names label the curves.
    x, y : str
        Fields of the records; ``number`` and ``gap`` of an Iteration.
    eps : float
        The tolerance, drawn as a dashed line.
    ax : matplotlib Axes
        Axes to draw in; None: those of a new figure.

    Returns
    -------
    Axes
        Logarithmic for iterations and gaps that are all positive; with a legend if curves have names.

    Raises
    ------
    ParameterError
        No steps, records without such a field, or an eps that is no number.
    TypeError
        Steps that are not a sequence, or not Axes.
    SvmxError
        matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> import libsvmx.plot
    >>> steps, observer = [], libsvmx.Observer()
    >>> observer.iterated = steps.append
    >>> model = libsvmx.train(X, y, kernel_type="linear", solver="crsvm", observer=observer)
    >>> axes = libsvmx.plot.convergence(steps, x="number")
    """
    limit = None if eps is None else converted("eps", eps, float)
    named = steps if isinstance(steps, Mapping) else {"": steps}
    curves = {name: _records(one, name) for name, one in named.items()}
    points = {name: (_column(one, x, name), _column(one, y, name)) for name, one in curves.items()}
    if not points:
        raise ParameterError("there are no steps to draw")
    axes = axes_of(ax)
    for k, (name, (across, up)) in enumerate(points.items()):
        axes.plot(across, up, **look_of(k), markersize=4, label=name or None)
    if limit is not None:
        axes.axhline(limit, color="0.4", linestyle="--", linewidth=1, label=f"eps = {limit:g}")
    if x == "iterations" and all((across > 0).all() for across, _ in points.values()):
        axes.set_xscale("log")
    elif x in ("iterations", "number"):
        axes.locator_params(axis="x", integer=True)
    if y == "gap" and all((up > 0).all() for _, up in points.values()):
        axes.set_yscale("log")
    relative = y == "gap" and any(hasattr(step, "mu") for one in curves.values() for step in one)
    axes.set_xlabel(MEANINGS.get(x, x))
    axes.set_ylabel("relative duality gap" if relative else MEANINGS.get(y, y))
    if any(points) or limit is not None:
        axes.legend()
    return axes


def _records(steps: Any, name: str) -> list[Any]:
    """The steps of a curve. Raises TypeError, ParameterError."""
    of = f" of {name!r}" if name else ""
    try:
        records = list(steps)
    except TypeError:
        cause = f"steps{of} must be a sequence of records, such as [report, …], not a {type(steps).__name__}"
        raise TypeError(cause) from None
    if not records:
        raise ParameterError(f"there are no steps{of} to draw")
    return records


def _column(steps: list[Any], field: str, name: str) -> FloatArray:
    """A field of all steps of a curve. Raises ParameterError."""
    of = f" of {name!r}" if name else ""
    try:
        return np.array([float(getattr(step, field)) for step in steps])
    except (AttributeError, TypeError, ValueError):
        known = type(steps[0]).__name__
        raise ParameterError(f"the steps{of} have no number {field!r}: they are of type {known}") from None


def calibration(outcomes: Any, probabilities: Any, *, n_bins: int = 10, ax: Any = None) -> Any:
    """Draw a reliability curve: the observed share of an outcome over its estimated probability.

    Probabilities are put into bins of equal width. Each bin is a point: its mean probability, and the share of its rows
    with this outcome, with a bar for Wilson's 95% interval. Good probabilities are near the diagonal. The strip above
    shows the number of rows in each bin; bins of fewer than ten are grey and not part of the curve.

    Parameters
    ----------
    outcomes : array of bool, shape (n,)
        Whether it came true: ``y == model.labels[0]``.
    probabilities : array of float, shape (n,), or mapping of names to such arrays
        Its estimated probabilities, ``predict_probability(model, X)[1][:, 0]``; names label the curves.
    n_bins : int
        1 or more.
    ax : matplotlib Axes
        Axes to draw in; None: those of a new figure.

    Returns
    -------
    Axes
        The strip is the last of its ``child_axes``.

    Raises
    ------
    DataError
        Lengths differ, there are no rows, or a value is not a probability.
    ParameterError
        n_bins.
    TypeError
        Not Axes.
    SvmxError
        matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> import libsvmx.plot
    >>> model = libsvmx.train(X, y, gamma=0.5, probability=True)
    >>> _, probabilities = libsvmx.predict_probability(model, X)
    >>> axes = libsvmx.plot.calibration(y == model.labels[0], probabilities[:, 0], n_bins=4)
    """
    if (n_bins := converted("n_bins", n_bins, int)) < 1:
        raise ParameterError(f"n_bins must be at least 1, not {n_bins}")
    true = numbers_of(outcomes, "outcomes")
    if true.ndim != 1 or not len(true) or not np.isin(true, (0, 1)).all():
        raise DataError("outcomes must be True or False for each row, as y == label is")
    curves = dict(probabilities) if isinstance(probabilities, Mapping) else {"": probabilities}
    estimates = {name: _probabilities(p, len(true)) for name, p in curves.items()}
    axes = axes_of(ax)
    edges = np.linspace(0, 1, n_bins + 1)
    axes.plot([0, 1], [0, 1], "--", color="0.4", linewidth=1, label="as often as estimated")
    strip = axes.inset_axes([0, 1 + GAP, 1, HEIGHT_OF_COUNTS], sharex=axes)
    for k, (name, p) in enumerate(estimates.items()):
        bins = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, n_bins - 1)
        counts = np.bincount(bins, minlength=n_bins)
        filled = counts > 0
        means = np.bincount(bins, p, n_bins)[filled] / counts[filled]
        shares = np.bincount(bins, true, n_bins)[filled] / counts[filled]
        many, name = counts[filled] >= FEW_ROWS, name or "estimated"
        colours = np.where(many, COLOURS[k % len(COLOURS)], FAINT)
        axes.vlines(means, *_wilson(shares, counts[filled]), color=colours, alpha=0.5)
        axes.plot(means[many], shares[many], **look_of(k), markersize=5, label=name)
        off = {**look_of(k), "color": FAINT, "linestyle": "none", "markersize": 5}
        axes.plot(means[~many], shares[~many], **off, label=f"_{name}")  # not in the legend
        strip.stairs(counts, edges, color=COLOURS[k % len(COLOURS)], fill=len(estimates) == 1)
    strip.tick_params(labelbottom=False)
    strip.set_ylabel("rows")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="estimated probability", ylabel="share that came true")
    axes.legend()
    return axes


def _wilson(shares: FloatArray, counts: Ids) -> tuple[FloatArray, FloatArray]:
    """Ends of Wilson's 95% score interval of shares of ``counts`` rows (JASA 22, 1927)."""
    square = NORMAL_QUANTILE**2
    middle = (shares + square / (2 * counts)) / (1 + square / counts)
    half = np.sqrt(shares * (1 - shares) * square / counts + (square / (2 * counts)) ** 2) / (1 + square / counts)
    return middle - half, middle + half


def _probabilities(given: Any, n: int) -> FloatArray:
    p = numbers_of(given, "probabilities")
    if p.shape != (n,):
        raise DataError(f"there are {n} outcomes, but the probabilities have shape {p.shape}")
    for row in np.flatnonzero(~((p >= 0) & (p <= 1))).tolist():
        raise DataError(f"{p[row]:g} is not a probability", row)
    return p


def path(cost_path: Any, *, ax: Any = None) -> Any:
    """Draw the cross-validated error over C: steps with classes, parabolas in regression.

    With classes, a band shows one standard error to either side; ``near_interval``, where the error is within one
    standard error of the least, is shaded, and a star marks its middle. In regression a star marks ``best_C``. Short
    strokes at the bottom are the breakpoints of the path over all rows.

    Parameters
    ----------
    cost_path : CostPath
        Of ``libsvmx.c_path`` with ``cv`` folds.
    ax : matplotlib Axes
        Axes to draw in; None: those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ParameterError
        A path without cross-validation.
    TypeError
        Not a CostPath, or not Axes.
    SvmxError
        matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> import libsvmx.plot
    >>> axes = libsvmx.plot.path(libsvmx.c_path(X, y, 0.1, 100, n_folds=5, gamma=0.5))
    >>> axes.figure.savefig("path.png")
    """
    if not hasattr(cost_path, "cv_C"):
        raise TypeError(f"a CostPath is needed, of libsvmx.c_path, not a {type(cost_path).__name__}")
    regression = cost_path.param.svm_type.is_regression
    C = cost_path.cv_C
    if regression:
        C = np.unique(np.concatenate([C, np.geomspace(cost_path.C_min, cost_path.C_max, POINTS_OF_PATH)]))
        C = np.clip(C, cost_path.C_min, cost_path.C_max)
    error = cost_path.cv_error(C)
    axes = axes_of(ax)
    chosen = cost_path.best_C
    if not regression:
        widest = cost_path.near_interval
        chosen = middle(*widest)
        axes.axvspan(*widest, alpha=0.2, color=EMPHASIS, linewidth=0, label="within 1 SE of the least")
        band = cost_path._standard_errors(error)
        look = {"step": "post", "alpha": 0.2, "color": COLOURS[0], "linewidth": 0}
        axes.fill_between(C, error - band, error + band, label="error ± 1 SE", **look)
    axes.plot(C, error, color=COLOURS[0], drawstyle="default" if regression else "steps-post", label="error")
    strokes = {"marker": "|", "color": "0.4", "markersize": 6, "linestyle": "none", "alpha": 0.5}
    axes.plot(
        cost_path.C,
        np.full(len(cost_path.C), 0.02),
        transform=axes.get_xaxis_transform(),
        label="breakpoints",
        **strokes,
    )
    axes.plot([chosen], [cost_path.cv_error(chosen)], label=f"C = {chosen:.3g}", **BEST)
    axes.set_xscale("log")
    axes.set_xlabel("C")
    loss = "squared error" if cost_path.param.quantile is None else "pinball loss"
    axes.set_ylabel(f"mean {loss}" if regression else "error, %")
    axes.legend()
    return axes
