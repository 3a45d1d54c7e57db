"""SMO: the KKT gap by iteration, and which rows are shrunk when.

A training is stopped after 1, 2, ... steps; its coefficients are then those of the whole training at that step. The
shrunk rows follow from them by LIBSVM's rule (be_shrunk in _solvers/smo/smo.pyx; Chang & Lin, ACM TIST 2, 2011,
section 5), applied every min(n, 1000) steps.
"""

import numpy as np

import libsvmx
from tools.figures import sets, style
from tools.figures.figure import Figure, rounded

SET, OPTIONS = "heart_scale", {"C": 100.0, "gamma": 0.05}
EPS, SHRINK_EVERY, UNSHRINK = 1e-3, 1000, 10  # all rows return once the gap is at most UNSHRINK * EPS
POINTS, LOOKS = 60, 120
ZERO, FREE, BOUND = "0fC"


def numbers():
    X, y = sets.problem(SET)
    whole = libsvmx.train(X, y, **OPTIONS).reports[0].iterations
    steps, gaps = sets.gaps(np.unique(np.geomspace(1, whole, POINTS).astype(int)), X, y, **OPTIONS)
    looks = np.unique(np.linspace(0, whole, LOOKS).astype(int))
    times, shrunk, unshrunk_at = rows_shrunk(X, y, whole)
    states = np.array([state_of(coefficients(X, y, step)) for step in looks]).T
    return {
        "set": SET,
        "rows": len(y),
        **OPTIONS,
        "iterations": whole,
        "steps": rounded(steps),
        "gap": rounded(gaps, 4),
        "looks": rounded(looks),
        "states": ["".join(row) for row in states],
        "unshrunk_at": unshrunk_at,
        "shrink_at": times,
        "shrunk": ["".join("01"[one] for one in row) for row in np.array(shrunk, int).T],
    }


def coefficients(X, y, steps):
    """beta of all rows after ``steps`` steps; the first label of the set is +1."""
    beta = np.zeros(len(y))
    if steps:
        model = sets.ended_after(steps, X, y, **OPTIONS)
        beta[np.asarray(model.sv_indices) - 1] = np.asarray(model.sv_coef)[0]
    return beta


def state_of(beta):
    return np.where(beta == 0, ZERO, np.where(abs(beta) < OPTIONS["C"], FREE, BOUND))


def rows_shrunk(X, y, whole):
    """Steps at which rows are shrunk, masks of the rows shrunk from then on, and the step of the unshrinking before."""
    K = kernel_matrix(X)
    every = min(len(y), SHRINK_EVERY)
    active, unshrunk_at = np.ones(len(y), bool), 0
    times, found = list(range(every, whole, every)), []
    for time in times:
        beta = coefficients(X, y, time)
        V = y - K @ beta
        up, low = beta < upper(y), beta > lower(y)
        highest, lowest = V[active & up].max(), V[active & low].min()
        if not unshrunk_at and highest - lowest <= UNSHRINK * EPS:
            unshrunk_at, active = time, np.ones(len(y), bool)
        # at a bound, and no violating pair contains it
        active &= up | (highest >= V)
        active &= low | (lowest <= V)
        found.append(~active)
    return times, found, unshrunk_at


def upper(y):
    return np.where(y > 0, OPTIONS["C"], 0.0)


def lower(y):
    return np.where(y > 0, 0.0, -OPTIONS["C"])


def kernel_matrix(X):
    X = X.toarray()
    squares = (X**2).sum(axis=1)
    return np.exp(-OPTIONS["gamma"] * (squares[:, None] + squares - 2 * X @ X.T))


def draw(found):
    figure, (above, below) = style.panels(5.2, 2, 1, sharex=True, height_ratios=(1, 1.75))
    above.plot(found["steps"], found["gap"], color=style.BLUE)
    above.axhline(EPS, color=style.MUTED, lw=0.9, ls="--")
    above.annotate("-e 0.001", (0, EPS), (3, 3), textcoords="offset points", color=style.MUTED)
    above.set(yscale="log", ylabel="KKT gap", title="The gap falls, not at every step")
    rows_over_time(below, found)
    below.set(xlabel="iteration", ylabel=f"{found['rows']} rows", yticks=[], title="Rows at a bound leave the work")
    below.set(xlim=(0, found["iterations"]), ylim=(found["rows"], 0))
    for line in style.legend_below(figure, below, 4).legend_handles:
        line.set_linewidth(6)
    return figure


def rows_over_time(axes, found):
    """A line for each row, coloured by the kind of its coefficient, and pale while it is shrunk."""
    looks = np.array(found["looks"])
    states = np.array([list(row) for row in found["states"]])
    shrunk = np.zeros(states.shape, bool)
    of_time = np.array([list(row) for row in found["shrunk"]]) == "1"
    last = np.searchsorted(found["shrink_at"], looks, side="right") - 1
    shrunk[:, last >= 0] = of_time[:, last[last >= 0]]
    kinds = np.where(shrunk, "s", states)
    order = np.lexsort((-(kinds == FREE).sum(axis=1), (kinds == "s").sum(axis=1)))
    for kind, colour, label in (
        ("s", style.FAINT, "shrunk"),
        (ZERO, style.SKY, f"{style.ALPHA} = 0"),
        (FREE, style.ORANGE, f"0 < {style.ALPHA} < C"),
        (BOUND, style.BLUE, f"{style.ALPHA} = C"),
    ):
        x, y = segments(looks, kinds[order] == kind)
        axes.plot(x, y, color=colour, lw=1.1, solid_capstyle="butt", label=label)


def segments(looks, chosen):
    """Lines with gaps, one per run of True in each row."""
    x, y = [], []
    for row, marks in enumerate(chosen):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.astype(int), [0]])))
        for start, end in edges.reshape(-1, 2):
            x += [looks[start], looks[min(end, len(looks) - 1)], np.nan]
            y += [row + 0.5, row + 0.5, np.nan]
    return x, y


FIGURES = (Figure("smo", numbers, draw, close=1e-3),)
