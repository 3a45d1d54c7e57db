"""The picture of a grid search: ``libsvmx.plot.grid`` in a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from libsvmx._core.memory import MEGABYTE, TooLittleMemory, load_numpy, require
from libsvmx._train.validation.grid import Point
from libsvmx.enums import SvmType
from libsvmx.exceptions import SvmxError
from libsvmx.io.outputs import atomic_write

SIZE = (6.4, 4.8)  # inches, at DPI 640 x 480 pixels times 1.5
DPI = 150
ADDRESSES = 200 * MEGABYTE  # address space of NumPy, matplotlib and a picture, 160 measured


def load() -> None:
    """Import the drawing modules. Raises SvmxError if they are broken, or memory is short."""
    try:
        if "matplotlib.figure" not in sys.modules:
            require(ADDRESSES, "drawing", "")
        load_numpy()
    except TooLittleMemory as error:
        raise SvmxError(str(error)) from error
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.figure  # noqa: F401
    except Exception as error:  # compiled parts may raise anything
        raise SvmxError(f"matplotlib cannot be used: {error}") from error


def draw(path: str, points: Sequence[Point], best: Point, title: str, svm_type: SvmType) -> None:
    """Write a PNG atomically. Needs matplotlib. Raises OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from libsvmx.plot.surface import draw_rates, what_rates_are

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    places, rates = [p.key for p in points], [p.rate for p in points]
    what, regression = what_rates_are(svm_type), svm_type.is_regression
    draw_rates(axes, places, rates, places.index(best.key), what, regression)
    powers = [f"{n} = 2^{v:g}" for n, v in (("C", best.log2c), ("gamma", best.log2g)) if v is not None]
    axes.set_title(f"{title}\nbest: {', '.join(powers)}, {what.split(',')[0]} {best.rate:g}{'' if regression else '%'}")
    with atomic_write(path) as file:
        canvas.print_png(file)  # type: ignore[no-untyped-call]
