"""Rates of a grid search over log2 C and log2 gamma: filled contours, or a line over a single axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isfinite, log2, nan
from typing import TYPE_CHECKING, Any

from libsvmx.enums import SvmType
from libsvmx.exceptions import ParameterError
from libsvmx.plot.axes import BEST, COLOURS, axes_of

if TYPE_CHECKING:
    from libsvmx.api.grid import GridSearch

Place = tuple[float | None, float | None]  # log2 C and log2 gamma; None where an axis is not searched

LEVELS = 12  # denser near the best rate


def grid(search: GridSearch | Any, *, ax: Any = None) -> Any:
    """Draw the rates of a grid search, or the mean scores of a scikit-learn search; a star marks the best point.

    Over both axes, filled contours: bright is good, levels are denser near the best rate, small dots are the points of
    the grid. Over a single axis, a line.

    Parameters
    ----------
    search : GridSearch, or fitted SVCCV, SVRCV, GridSearchCV, …
        Result of ``libsvmx.grid_search``, or a search with ``cv_results_`` over C, gamma or both, also of a pipeline.
        Among points that differ only in other parameters, the best is drawn.
    ax : matplotlib Axes
        Axes to draw in; None: those of a new figure.

    Returns
    -------
    Axes
        The colour bar has axes of its own.

    Raises
    ------
    TypeError
        Not a search, or not Axes.
    ParameterError
        Neither C nor gamma was searched; a gamma that is not a number.
    SvmxError
        matplotlib is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import libsvmx
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
    >>> import libsvmx.plot
    >>> found = libsvmx.grid_search(X, y, log2c=(-1, 3, 2), log2g=(-3, 1, 2))
    >>> axes = libsvmx.plot.grid(found)
    >>> axes.figure.savefig("grid.png")
    """
    axes = axes_of(ax)
    if hasattr(search, "cv_results_"):
        mean_of = scores_of(search.cv_results_["params"], search.cv_results_["mean_test_score"])
        places, scores = list(mean_of), list(mean_of.values())
        best = max(range(len(scores)), key=lambda k: scores[k] if isfinite(scores[k]) else -inf)
        draw_rates(axes, places, scores, best, "mean score")
        return axes
    if not hasattr(search, "log2c"):
        raise TypeError(
            f"a GridSearch is needed, of libsvmx.grid_search, or a fitted search of scikit-learn, not a "
            f"{type(search).__name__}"
        )
    places = list(zip(_known(search.log2c), _known(search.log2g), strict=True))
    regression = search.param.svm_type.is_regression
    draw_rates(axes, places, search.rate.tolist(), search.best, what_rates_are(search.param.svm_type), regression)
    return axes


def what_rates_are(svm_type: SvmType) -> str:
    """Name of the rates of ``grid_search``."""
    if svm_type == SvmType.QUANTILE_SVR:
        return "pinball loss"
    return "mean squared error" if svm_type.is_regression else "accuracy, %"


def scores_of(params: Sequence[dict[str, Any]], means: Sequence[float]) -> dict[Place, float]:
    """Best mean score at each (log2 C, log2 gamma), in the order of the search. Raises ParameterError."""
    found: dict[Place, float] = {}
    for point, mean in zip(params, means, strict=True):
        own = {name.rpartition("__")[2]: value for name, value in point.items()}
        if not own.keys() & {"C", "gamma"}:
            raise ParameterError("the search has neither C nor gamma among its parameters")
        for name in own.keys() & {"C", "gamma"}:
            if isinstance(own[name], str):
                raise ParameterError(f"{name}={own[name]!r} cannot be drawn on an axis: search {name} by numbers")
        c, gamma = (log2(own[name]) if name in own else None for name in ("C", "gamma"))
        place = c, gamma
        known = found.get(place, nan)
        found[place] = known if known >= mean or mean != mean else float(mean)
    return found


def draw_rates(
    axes: Any, places: Sequence[Place], rates: Sequence[float], best: int, what: str, errors: bool = False
) -> None:
    """Draw the rates, with index ``best`` marked. ``what``: name of a rate; ``errors``: less is better."""
    cs = sorted({c for c, _ in places if c is not None})
    gs = sorted({g for _, g in places if g is not None})
    if len(cs) > 1 and len(gs) > 1:
        _surface(axes, dict(zip(places, rates, strict=True)), cs, gs, what, errors)
        axes.plot(*([value] for value in places[best]), **BEST, clip_on=False)
        axes.set_xlabel("log2(C)")
        axes.set_ylabel("log2(gamma)")
    else:
        by_c = len(cs) > 1 or not gs
        ordered = sorted(((c if by_c else g) or 0.0, rate) for (c, g), rate in zip(places, rates, strict=True))
        axes.plot(*zip(*ordered, strict=True), "o-", color=COLOURS[0], markersize=4)
        axes.plot([places[best][0 if by_c else 1] or 0.0], [rates[best]], **BEST)
        axes.set_xlabel("log2(C)" if by_c else "log2(gamma)")
        axes.set_ylabel(what)


def levels(worst: float, best: float) -> list[float]:
    """Ascending contour levels between two different rates."""
    return sorted(best + (worst - best) * (k / LEVELS) ** 2 for k in range(LEVELS + 1))


def _known(exponents: Iterable[float]) -> list[float | None]:
    return [float(value) if isfinite(value) else None for value in exponents]


def _surface(
    axes: Any, rate_at: dict[Place, float], cs: list[float], gs: list[float], what: str, regression: bool
) -> None:
    from matplotlib.colors import BoundaryNorm

    rates = {place: rate if isfinite(rate) else nan for place, rate in rate_at.items()}
    table = [[rates.get((c, g), nan) for c in cs] for g in gs]
    ordered = sorted((rate for rate in rates.values() if isfinite(rate)), reverse=regression)
    colours = "viridis_r" if regression else "viridis"  # the best is bright
    if not ordered or ordered[0] == ordered[-1]:  # a plane has no contours
        mesh = axes.pcolormesh(cs, gs, table, shading="nearest", cmap=colours)
    else:
        limits = levels(ordered[0], ordered[-1])
        mesh = axes.contourf(cs, gs, table, limits, cmap=colours, norm=BoundaryNorm(limits, 256))
        axes.contour(
            cs, gs, table, limits[1:] if limits[0] == ordered[0] else limits[:-1], colors="black", linewidths=0.5
        )
    axes.plot(*zip(*rate_at, strict=True), ".", color="black", markersize=2, clip_on=False)
    axes.figure.colorbar(mesh, ax=axes, label=what, format="%.4g")
