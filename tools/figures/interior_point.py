"""crsvm: rows of the normal matrix and the duality measure by iteration (Jung, O'Leary & Tits 2008, figure 5.5), and
the approximation error of low-rank factors of a kernel matrix by rank (as figure 5.7, measured by the trace)."""

import libsvmx
from tools.figures import sets, style
from tools.figures.figure import Figure, rounded

SET, OPTIONS = "mushrooms.xz", {"C": 1.0, "gamma": 0.05, "rank": 200}
LOW_RANK_SET, LOW_RANK_GAMMA, RANKS = "a1a.xz", 0.01, (10, 20, 40, 80, 160)
METHODS = {
    "cholesky": (style.GREEN, "^-"),
    "nystrom": (style.ORANGE, "s-"),
    "rpcholesky": (style.BLUE, "o--"),
    "eigen": (style.INK, "D-"),
}


class Lines(libsvmx.Observer):
    """Records the report of each iteration."""

    def __init__(self):
        self.lines = []

    def iterated(self, line):
        self.lines.append(line)


def iterations():
    X, y = sets.problem(SET)
    told = Lines()
    libsvmx.train(X, y, solver="crsvm", observer=told, **OPTIONS)
    lines = told.lines[1:]  # the first iteration builds no matrix
    return {
        "set": SET,
        "rows": len(y),
        **OPTIONS,
        "mu": rounded([line.mu for line in lines], 3),
        "Q": [line.rows for line in lines],
    }


def errors():
    X, _ = sets.problem(LOW_RANK_SET)
    found = {"set": LOW_RANK_SET, "rows": X.n_rows, "gamma": LOW_RANK_GAMMA, "ranks": list(RANKS)}
    for method in METHODS:
        factors = (libsvmx.low_rank(X, gamma=LOW_RANK_GAMMA, low_rank=method, rank=rank) for rank in RANKS)
        found[method] = rounded([factor.relative_error for factor in factors], 4)
    return found


def draw_iterations(found):
    figure, (above, below) = style.panels(4.2, 2, 1, sharex=True)
    steps = range(1, len(found["Q"]) + 1)
    above.bar(steps, found["Q"], color=style.BLUE, width=0.75)
    above.axhline(found["rows"], color=style.MUTED, lw=0.9, ls="--")
    above.set(ylabel="|Q|", title=f"mushrooms, {found['rows']:,} rows: ever fewer in the matrix")
    below.plot(steps, found["mu"], color=style.RED, marker="o")
    below.set(yscale="log", xlabel="iteration", ylabel="duality measure μ")
    below.set(xlim=(0.2, len(found["Q"]) + 0.8), xticks=[1, *range(5, len(found["Q"]) + 1, 5)])
    figure.align_ylabels()
    return figure


def draw_errors(found):
    figure, axes = style.panels(3.2)
    for method, (colour, line) in METHODS.items():
        axes.plot(found["ranks"], [100 * error for error in found[method]], line, color=colour, label=method)
    axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="% of the trace left out")
    axes.set_xticks(found["ranks"], [str(rank) for rank in found["ranks"]])
    axes.set_yticks(percents := [0.5, 1, 2, 5, 10, 20], [f"{percent:g}" for percent in percents])
    axes.minorticks_off()
    axes.set_title(f"a1a, {found['rows']:,} rows, RBF kernel, {style.GAMMA} = {found['gamma']:g}")
    style.legend_below(figure, axes, 4)
    return figure


FIGURES = (
    Figure("crsvm", iterations, draw_iterations, close=0.2),
    Figure("low_rank", errors, draw_errors, close=0.02),
)
