"""Chunked and IRWLS: the gap by step, beside SMO, for large C; and the part of the kernel matrix read in a step."""

import numpy as np

from tools.figures import sets, style
from tools.figures.figure import Figure, rounded

SET, OPTIONS = "ionosphere_scale.xz", {"C": 1e5, "gamma": 0.01, "threads": 1}
SOLVERS = {"smo": style.RED, "chunked": style.BLUE, "irwls": style.GREEN}
STEPS = np.unique(np.geomspace(10, 3e5, 34).astype(int))


def numbers():
    X, y = sets.problem(SET)
    found = {}
    for name in SOLVERS:
        steps, gaps = sets.gaps(STEPS, X, y, solver=name, **OPTIONS)
        found[name] = {"steps": steps, "gap": rounded(gaps, 4)}
    return {"set": SET, "rows": len(y), "C": OPTIONS["C"], "gamma": OPTIONS["gamma"], **found}


def draw(found):
    figure, (above, below) = style.panels(5.0, 2, 1, height_ratios=(1, 1.7))
    what_is_read(above)
    for name, colour in SOLVERS.items():
        below.plot(found[name]["steps"], found[name]["gap"], color=colour)
        below.annotate(name, (found[name]["steps"][-1], found[name]["gap"][-1]), color=colour, **beside(name))
    title = f"ionosphere, C = {found['C']:,.0f}: steps until the gap is 0.001"
    below.set(xscale="log", yscale="log", xlabel="pair steps", ylabel="KKT gap over all rows", title=title)
    below.axhline(1e-3, color=style.MUTED, lw=0.9, ls="--")
    return figure


def beside(name):
    """Position of the label of a curve, relative to its end."""
    place, side = {"smo": ((-6, 2), "right"), "chunked": ((5, 0), "left"), "irwls": ((-6, 2), "right")}[name]
    return {"xytext": place, "textcoords": "offset points", "ha": side}


def what_is_read(axes):
    """The kernel matrix twice: two rows of it, and the block of a working set."""
    from matplotlib.patches import Rectangle

    texts = ("smo: a step\nreads two\nrows of K", "chunked, irwls:\na step reads\nthe dark block")
    for left, text in zip((0, 4.1), texts, strict=True):
        axes.add_patch(Rectangle((left, 0), 2, 2, fc="none", ec=style.MUTED))
        axes.text(left + 2.2, 1.0, text, va="center")
    for y in (0.45, 1.5):
        axes.add_patch(Rectangle((0, y), 2, 0.09, color=style.RED))
    axes.add_patch(Rectangle((4.1, 1.3), 2, 0.7, fc=style.BLUE, alpha=0.18, ec="none"))
    axes.add_patch(Rectangle((4.1, 1.3), 0.7, 0.7, color=style.BLUE))
    axes.set(xlim=(-0.05, 8.6), ylim=(-0.1, 2.1), aspect="equal")
    axes.axis("off")


FIGURES = (Figure("working_sets", numbers, draw, close=1e-3, loose=("irwls",)),)
