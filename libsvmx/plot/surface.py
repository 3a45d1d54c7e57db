"""The rates of a grid search over log2 C and log2 gamma: filled contours, or a line over a single axis."""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from libsvmx.plot.axes import BEST, COLOURS, axes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from libsvmx.api.grid import GridSearch

    Place = tuple[float | None, float | None]  # log2 C and log2 gamma; None where an axis is not searched

LEVELS = 12  # their distance grows with that from the best rate, where differences matter


def grid(search: GridSearch, *, ax: Any = None) -> Any:
    """Draw the rates of a grid search, the best point marked by a star.

    Over both axes they are filled contours of the rates at the points, which small dots show: bright is good. Contours
    stand close where rates are near the best. Over a single axis they are a line.

    Parameters
    ----------
    search : GridSearch          of ``libsvmx.grid_search``
    ax : matplotlib Axes         None: those of a new figure

    Returns
    -------
    Axes                         the colour bar stands beside it, in axes of its own

    Raises
    ------
    TypeError                    no GridSearch, or no Axes
    SvmxError                    matplotlib is missing
    """
    if not hasattr(search, "log2c"):
        raise TypeError(f"a GridSearch is needed, of libsvmx.grid_search, not a {type(search).__name__}")
    axes = axes_of(ax)
    places = list(zip(_known(search.log2c), _known(search.log2g), strict=True))
    draw_rates(axes, places, search.rate.tolist(), search.best, search.param.svm_type.is_regression)
    return axes


def draw_rates(axes: Any, places: Sequence[Place], rates: Sequence[float], best: int, regression: bool) -> str:
    """The rate at each place into ``axes``, row ``best`` marked; returns what a rate is."""
    what = "mean squared error" if regression else "accuracy, %"
    cs = sorted({c for c, _ in places if c is not None})
    gs = sorted({g for _, g in places if g is not None})
    if len(cs) > 1 and len(gs) > 1:
        _surface(axes, dict(zip(places, rates, strict=True)), cs, gs, what, regression)
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
    return what


def levels(worst: float, best: float) -> list[float]:
    """Ascending limits of the contours between two different rates."""
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
