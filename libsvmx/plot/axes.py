"""Axes and colours of pictures."""

from __future__ import annotations

from typing import Any

from libsvmx._core.packages import need

# Okabe & Ito, *Color universal design*, 2008, darkest first; one, with a marker, for each class or curve.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
EMPHASIS = "#D55E00"
BEST = {"marker": "*", "color": "white", "markeredgecolor": "black", "markersize": 13, "linestyle": "none", "zorder": 3}


def axes_of(ax: Any) -> Any:
    """``ax``; if it is None, that of a new pyplot figure.

    Raises SvmxError without matplotlib, TypeError for what are no Axes, such as a figure.
    """
    need("matplotlib", "plot", "libsvmx.plot needs")
    if ax is None:
        from matplotlib import pyplot

        return pyplot.figure(layout="constrained").add_subplot()
    if not hasattr(ax, "set_xlabel"):
        raise TypeError(f"ax must be an Axes of matplotlib, not a {type(ax).__name__}")
    return ax


def look_of(k: int) -> dict[str, str]:
    """Colour and marker of class or curve k; they repeat after eight."""
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}


def pale(colour: str, share: float) -> tuple[float, ...]:
    """A colour mixed with white in this proportion."""
    from matplotlib.colors import to_rgb

    return tuple(1 - share * (1 - part) for part in to_rgb(colour))
