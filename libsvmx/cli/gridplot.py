"""The picture of a grid search: rates over log2 C and log2 gamma as filled contours, or a line over a single axis."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

from libsvmx._core.memory import MEGABYTE, TooLittleMemory, load_numpy, require
from libsvmx._train.validation.grid import Point
from libsvmx.exceptions import SvmxError
from libsvmx.io.files import atomic_write

SIZE = (6.4, 4.8)  # inches, at DPI 640 x 480 pixels times 1.5
DPI = 150
ADDRESSES = 200 * MEGABYTE  # of NumPy, matplotlib and a picture, 160 measured
LEVELS = 12  # their distance grows with that from the best rate, where differences matter


def load() -> None:
    """Import what drawing needs. Raises SvmxError if it is there but broken, or if there is too little memory."""
    try:
        if "matplotlib.figure" not in sys.modules:
            require(ADDRESSES, "drawing", "")
        load_numpy()
    except TooLittleMemory as error:
        raise SvmxError(str(error)) from error
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.figure  # noqa: F401
    except Exception as error:  # compiled parts fail in ways of their own
        raise SvmxError(f"matplotlib cannot be used: {error}") from error


def draw(path: str, points: Sequence[Point], best: Point, title: str, regression: bool) -> None:
    """Write a PNG, whole or not at all. Needs matplotlib. Raises OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    what = "mean squared error" if regression else "accuracy, %"
    cs = sorted({p.log2c for p in points if p.log2c is not None})
    gs = sorted({p.log2g for p in points if p.log2g is not None})
    if len(cs) > 1 and len(gs) > 1:
        _surface(figure, axes, points, cs, gs, what, regression)
        axes.plot(
            [best.log2c],
            [best.log2g],
            "*",
            color="white",
            markeredgecolor="black",
            markersize=13,
            clip_on=False,
            zorder=3,
        )
        axes.set_xlabel("log2(C)")
        axes.set_ylabel("log2(gamma)")
    else:
        _line(axes, points, best, "log2(C)" if len(cs) > 1 or not gs else "log2(gamma)", what)
    powers = [f"{n} = 2^{v:g}" for n, v in (("C", best.log2c), ("gamma", best.log2g)) if v is not None]
    axes.set_title(f"{title}\nbest: {', '.join(powers)}, {what.split(',')[0]} {best.rate:g}{'' if regression else '%'}")
    with atomic_write(path) as file:
        canvas.print_png(file)  # type: ignore[no-untyped-call]


def levels(worst: float, best: float) -> list[float]:
    """Ascending limits of the contours between two different rates."""
    return sorted(best + (worst - best) * (k / LEVELS) ** 2 for k in range(LEVELS + 1))


def _surface(
    figure: Any, axes: Any, points: Sequence[Point], cs: list[float], gs: list[float], what: str, regression: bool
) -> None:
    from matplotlib.colors import BoundaryNorm

    rates = {p.key: p.rate if isfinite(p.rate) else nan for p in points}
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
    places = zip(*((p.log2c, p.log2g) for p in points), strict=True)
    axes.plot(*places, ".", color="black", markersize=2, clip_on=False)
    figure.colorbar(mesh, ax=axes, label=what, format="%.4g")


def _line(axes: Any, points: Sequence[Point], best: Point, label: str, what: str) -> None:
    def place(p: Point) -> float:
        return (p.log2c if label == "log2(C)" else p.log2g) or 0.0

    ordered = sorted(points, key=place)
    axes.plot([place(p) for p in ordered], [p.rate for p in ordered], "o-", markersize=4)
    axes.plot([place(best)], [best.rate], "*", color="black", markersize=13)
    axes.set_xlabel(label)
    axes.set_ylabel(what)
