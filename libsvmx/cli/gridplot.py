"""The picture of a grid search: rates over log2 C and log2 gamma as filled contours, or a line over a single axis."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

from libsvmx._train.grid import Point
from libsvmx.io.files import atomic_write

SIZE = (6.4, 4.8)  # inches, at DPI 640 x 480 pixels times 1.5
DPI = 150
LEVELS = 12


def draw(path: str, points: Sequence[Point], best: Point, title: str, regression: bool) -> None:
    """Write a PNG, whole or not at all. Needs matplotlib. Raises OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    what = "mean squared error" if regression else "accuracy, %"
    cs = sorted({p.log2c for p in points if p.log2c is not None})
    gs = sorted({p.log2g for p in points if p.log2g is not None})
    if len(cs) > 1 and len(gs) > 1:
        _surface(figure, axes, points, cs, gs, what)
        axes.plot([best.log2c], [best.log2g], "*", color="white", markeredgecolor="black", markersize=13, zorder=3)
        axes.set_xlabel("log2(C)")
        axes.set_ylabel("log2(gamma)")
    else:
        _line(axes, points, best, "log2(C)" if len(cs) > 1 or not gs else "log2(gamma)", what)
    powers = [f"{n} = 2^{v:g}" for n, v in (("C", best.log2c), ("gamma", best.log2g)) if v is not None]
    axes.set_title(f"{title}\nbest: {', '.join(powers)}, {what.split(',')[0]} {best.rate:g}{'' if regression else '%'}")
    with atomic_write(path) as file:
        canvas.print_png(file)


def _surface(figure: Any, axes: Any, points: Sequence[Point], cs: list[float], gs: list[float], what: str) -> None:
    rates = {p.key: p.rate for p in points}
    table = [[rates.get((c, g), nan) for c in cs] for g in gs]
    table = [[value if isfinite(value) else nan for value in row] for row in table]
    finite = sorted(value for row in table for value in row if isfinite(value))
    if not finite or finite[0] == finite[-1]:  # contours of a plane do not exist
        mesh = axes.pcolormesh(cs, gs, table, shading="nearest", cmap="viridis")
    else:
        mesh = axes.contourf(cs, gs, table, LEVELS, cmap="viridis")
        lines = axes.contour(cs, gs, table, LEVELS, colors="black", linewidths=0.5)
        axes.clabel(lines, fontsize=7)
    axes.plot(*zip(*((p.log2c, p.log2g) for p in points), strict=True), ".", color="black", markersize=2)
    figure.colorbar(mesh, ax=axes, label=what)


def _line(axes: Any, points: Sequence[Point], best: Point, label: str, what: str) -> None:
    def place(p: Point) -> float:
        return (p.log2c if label == "log2(C)" else p.log2g) or 0.0

    ordered = sorted(points, key=place)
    axes.plot([place(p) for p in ordered], [p.rate for p in ordered], "o-", markersize=4)
    axes.plot([place(best)], [best.rate], "*", color="black", markersize=13)
    axes.set_xlabel(label)
    axes.set_ylabel(what)
