"""Figures of updates, after figures 4 to 6 of Karasuyama & Takeuchi (2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tools.bench.updating import Found, Point

MILLI = 1e3
STYLES = {
    "MID": {"color": "C3", "marker": "o"},
    "SID": {"color": "C0", "marker": "s"},
    "LIBSVM 1e-3": {"color": "0.2", "marker": "^"},
    "LIBSVM 1e-6": {"color": "0.45", "marker": "v"},
    "LIBSVM 1e-9": {"color": "0.65", "marker": "<"},
    "cold 1e-3": {"color": "C2", "marker": "x"},
    "seeded 1e-6": {"color": "C1", "marker": "+"},
}


def save(folder: Path, found: Found) -> str:
    """Draw a case into ``folder``; returns what to tell the user."""
    if not any(point.runs for point in found.points):
        return f"no figure of {found.case.name}"
    try:
        import matplotlib
    except ImportError:
        return "no figures: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found.case.name}.png"
    draw = ladder if "m" in found.points[0].place else columns
    figure = draw(pyplot, found)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return f"figure: {path}"


def ladder(pyplot: Any, found: Found) -> Any:
    """Time, and breakpoints with what theory expects of MID, against m."""
    figure, (times, counts) = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    lines(times, found.points, "m")
    times.set(xlabel="m", ylabel="CPU time, ms", yscale="log")
    for way in ("MID", "SID"):
        shown = curve(found.points, "m", lambda point, way=way: point.median(way, "breakpoints"))
        counts.plot(*shown, label=way, markersize=4, **STYLES[way])
    shown = curve(found.points, "m", lambda point: point.theory())
    counts.plot(*shown, color="black", linestyle="--", label="MID, theory")
    counts.set(xlabel="m", ylabel="breakpoints")
    counts.set_ylim(bottom=0)
    counts.legend()
    figure.suptitle(f"{found.case.name}: n={found.case.n}, C={found.case.C:g}, gamma={found.case.gamma:g}")
    figure.legend(*times.get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES))
    return figure


def columns(pyplot: Any, found: Found) -> Any:
    """Time against C, a panel for each gamma, the largest first."""
    gammas = sorted({point.place["gamma"] for point in found.points}, reverse=True)
    shape = {"figsize": (3.2 * len(gammas) + 1, 4.2), "sharey": True, "layout": "constrained", "squeeze": False}
    figure, panels = pyplot.subplots(1, len(gammas), **shape)
    for axes, gamma in zip(panels[0], gammas, strict=True):
        lines(axes, [point for point in found.points if point.place["gamma"] == gamma], "C")
        axes.set(xscale="log", yscale="log", xlabel="C", title=f"gamma={gamma:g}")
    panels[0][0].set_ylabel("CPU time, ms")
    figure.suptitle(f"{found.case.name}: {found.case.count} rows join {found.case.n:,}, {found.case.count} leave")
    handles = {}
    for axes in panels[0]:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(STYLES))
    return figure


def lines(axes: Any, points: list[Point], key: str) -> None:
    """Median milliseconds of each way."""
    for way, style in STYLES.items():
        x, seconds = curve(points, key, lambda point, way=way: point.median(way))
        if x:
            axes.plot(x, [MILLI * s for s in seconds], label=way, markersize=4, **style)


def curve(points: list[Point], key: str, value: Any) -> tuple[list[float], list[float]]:
    """Places and values, where there are any."""
    found = [(point.place[key], value(point)) for point in points]
    return [x for x, v in found if v is not None], [v for _, v in found if v is not None]
