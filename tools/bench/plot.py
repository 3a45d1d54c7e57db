"""A bar chart of ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench.training import OURS

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.peers import Solver
    from tools.bench.training import CaseResult


def save_plot(path: Path, results: list[CaseResult], solvers: list[Solver]) -> str:
    """Draw into ``path``; returns what to tell the user."""
    try:
        import matplotlib
    except ImportError:
        return "no chart: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    shown = [found for found in results if found.entry(OURS)]
    if not shown:
        return "no chart: libsvmx with one thread was not measured"
    others = [s for s in solvers if s.name != OURS]
    height = 0.8 / max(len(others), 1)
    figure, axes = pyplot.subplots(figsize=(9, 2 + len(shown) * (0.2 + 0.18 * len(others))), layout="constrained")
    for k, solver in enumerate(others):
        measured = [(i, found.entry(solver.name), found) for i, found in enumerate(shown)]
        bars = [(i + k * height, found.ratio(entry)) for i, entry, found in measured if entry]
        if bars:
            places, ratios = zip(*bars, strict=True)
            # from 1 on, so that what is faster than libsvmx points the other way
            axes.barh(places, [ratio - 1 for ratio in ratios], height, left=1, label=solver.label)
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(shown))], [found.case.name for found in shown])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("training time as a multiple of libsvmx with one thread")
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return f"chart: {path}"
