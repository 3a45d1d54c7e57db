"""Figures of updates, after figures 4 to 6 of Karasuyama & Takeuchi (2009)."""

STYLES = {
    "MID": {"color": "C3", "marker": "o"},
    "SID": {"color": "C0", "marker": "s"},
    "LIBSVM 1e-3": {"color": "0.2", "marker": "^"},
    "LIBSVM 1e-6": {"color": "0.45", "marker": "v"},
    "LIBSVM 1e-9": {"color": "0.65", "marker": "<"},
    "cold 1e-3": {"color": "C2", "marker": "x"},
    "seeded 1e-6": {"color": "C1", "marker": "+"},
}


def updates(path, title, points):
    """Median times against the last component of a place, m or C, a panel per gamma; returns a message for the user."""
    try:
        import matplotlib
    except ImportError:
        return "no figures: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    *panel, name = points[0].place
    groups = {}
    for point in points:
        groups.setdefault(tuple(point.place[key] for key in panel), []).append(point)
    shape = {"figsize": (3.2 * len(groups) + 2, 4.2), "sharey": True, "layout": "constrained", "squeeze": False}
    figure, axes = pyplot.subplots(1, len(groups), **shape)
    for axis, (place, group) in zip(axes[0], groups.items(), strict=True):
        for way, style in STYLES.items():
            shown = [(point.place[name], 1e3 * point.median(way)) for point in group if point.median(way) is not None]
            if shown:
                axis.plot(*zip(*shown, strict=True), label=way, markersize=4, **style)
        axis.set(xscale="log", yscale="log", xlabel=name, title=" ".join(f"gamma={gamma:g}" for gamma in place))
    axes[0][0].set_ylabel("CPU time, ms")
    figure.suptitle(title)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES))
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return f"figure: {path}"
