"""Training times by number of rows, beside LIBSVM, scikit-learn and scikit-learn-intelex.

``python -m tools.bench growth --figures docs/figures`` measures; this module draws.
"""

from tools.figures import style
from tools.figures.figure import Figure

# solvers in tools.bench: name, colour, marker, line
WAYS = {
    "libsvm": ("LIBSVM", style.RED, "s", "-"),
    "sklearn": ("scikit-learn", style.ORANGE, "^", "-"),
    "sklearnex": ("oneDAL, all threads", style.GREEN, "D", "-"),
    "libsvmx": ("libsvmx", style.BLUE, "o", "-"),
    "libsvmx-all": ("libsvmx, all threads", style.SKY, "o", "--"),
}


def draw(found):
    """``found``: {"sets": {title: {way: {"rows": [...], "seconds": [...]}}}, "measured": lines about the machine}."""
    sets = found["sets"]
    rows = sorted({n for ways in sets.values() for way in ways.values() for n in way["rows"]})
    figure, axes = style.panels(0.6 + 2.15 * len(sets), len(sets), 1, squeeze=False, sharex=True)
    for panel, (title, ways) in zip(axes[:, 0], sets.items(), strict=True):
        for way, (label, colour, marker, line) in WAYS.items():
            if way in ways:
                points = (ways[way]["rows"], ways[way]["seconds"])
                panel.plot(*points, line, color=colour, marker=marker, label=label)
        panel.set(xscale="log", yscale="log", title=title, ylabel="seconds")
        panel.set_xticks(rows, [f"{n:,}" for n in rows])
        panel.minorticks_off()
        panel.grid(axis="y")
    axes[-1, 0].set_xlabel("rows")
    style.legend_below(figure, axes[0, 0], 2, title=found["measured"], title_fontproperties={"size": 7})
    return figure


FIGURES = (Figure("growth", None, draw),)
