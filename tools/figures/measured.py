"""The overview: LIBSVM beside libsvmx, with the times of tools/tables.py; below, a row that is moved and the boundary
that follows."""

import numpy as np

import libsvmx
from tools import tables
from tools.figures import sets, style
from tools.figures.figure import Figure, rounded
from tools.figures.support_vectors import CLASSES, FEATURES, ends, plane, shown_in_plane

CASES = {
    "w7a": "w7a",
    "a9a-c1": "a9a",
    "madelon": "madelon",
    "reuters-linear": "reuters, linear",
    "a9a-0.9": "a9a times 0.9",
    "mnist-parity": "mnist, 10,000 rows",
    "cpusmall-svr": "cpusmall, regression",
    "letter": "letter, 26 classes",
    "abalone-nu-svr": "abalone, nu-SVR",
}
SOURCE = "CPU seconds of a training, one thread each"
EVERY, C, MOVED, TO, GRID = 4, 10.0, 8, (0.05, -0.55), 25


def overview():
    return {"times": times(), **moved()}


def times():
    """CPU seconds of LIBSVM and of libsvmx with one thread, largest speedup first."""
    found = sorted(tables.named("training", CASES), key=tables.times_faster, reverse=True)
    return {
        CASES[one.name]: {way: rounded(one.median(way, "cpu"), 4) for way in ("libsvm", "libsvmx")} for one in found
    }


def moved():
    """A state before and after a row is moved."""
    X, y = sets.plane("wine.scale", CLASSES, FEATURES)
    X, y = X[::EVERY], y[::EVERY]
    state = libsvmx.train(X, y, C=C, gamma=1.0, keep_state=True)
    before = shown_in_plane(state, X, y, C, GRID)
    state.update(add=([TO], [y[MOVED]]), remove=[MOVED])
    X, y = np.vstack([np.delete(X, MOVED, axis=0), TO]), np.append(np.delete(y, MOVED), y[MOVED])
    after = shown_in_plane(state, X, y, C, GRID)
    return {"moved": MOVED, "before": before, "after": after, "breakpoints": state.report.breakpoints}


def draw_overview(found):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(style.WIDTH, 6.0), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1.5, 1))
    axes = above.subplots()
    names = list(found["times"])[::-1]
    for place, name in enumerate(names):
        theirs, ours = found["times"][name]["libsvm"], found["times"][name]["libsvmx"]
        axes.plot([ours, theirs], [place, place], color=style.FAINT, lw=4, solid_capstyle="butt", zorder=1)
        ratio = theirs / ours
        text = f"{ratio:.0f} {style.TIMES}" if ratio >= 10 else f"{ratio:.1f} {style.TIMES}"
        axes.text((ours * theirs) ** 0.5, place + 0.12, text, ha="center", size=8.5, color=style.MUTED)
    times_of = [[found["times"][name][who] for name in names] for who in ("libsvmx", "libsvm")]
    axes.scatter(times_of[0], range(len(names)), color=style.BLUE, s=46, label="libsvmx", zorder=2)
    axes.scatter(times_of[1], range(len(names)), color=style.RED, marker="s", s=38, label="LIBSVM", zorder=2)
    axes.set(xscale="log", yticks=range(len(names)), yticklabels=names, xlabel=SOURCE)
    axes.set_xticks(ticks := [0.1, 1, 10, 100], [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.spines.left.set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(-0.5, len(names) - 0.2))
    axes.legend(loc="lower right", borderaxespad=0)
    above.suptitle("Trainings: the same model file, faster", weight="bold", size=11, x=0.02, ha="left")
    move(below, found)
    return figure


def move(figure, found):
    """Two panels: the row in its old place and in its new one."""
    figure.suptitle("A row moves, the exact optimum follows", weight="bold", size=11, x=0.02, ha="left")
    left, right = figure.subplots(1, 2)
    before, after = found["before"], found["after"]
    old, new = before["rows"][found["moved"]], after["rows"][-1]
    plane(left, before, marked=[found["moved"]], size=9)
    plane(right, after, marked=[len(after["rows"]) - 1], size=9)
    for axes, place in ((left, old), (right, new)):
        axes.scatter(*place, s=90, marker="*", color=style.PINK, ec=style.INK, lw=0.7, zorder=5)
        axes.set(xlim=ends(before["x"]), ylim=ends(before["z"]))
    style.arrow(right, old, new, style.PINK)
    left.set_xlabel("before")
    right.set_xlabel(f"after {found['breakpoints']} breakpoints of a path")


FIGURES = (Figure("overview", overview, draw_overview, close=1e-3),)
