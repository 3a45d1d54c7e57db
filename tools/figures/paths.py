"""Breakpoints: coefficients along C (Hastie, Rosset, Tibshirani & Zhu, JMLR 5, 2004), and while one row joins
(Cauwenberghs & Poggio, NIPS 2000; Karasuyama & Takeuchi, NIPS 2009).

Rows of heart_scale, RBF kernel. A row joins here by its weight, which goes from 0 to 1: while it is at its bound its
coefficient is its weight times C, and once it is on the margin the coefficient is constant.
"""

import numpy as np

import libsvmx
from tools.figures import sets, style
from tools.figures.figure import Figure, rounded

SET, ROWS, SHOWN = "heart_scale", 40, 14
C_MIN, C_MAX, GAMMA = 0.1, 20.0, 0.05
JOINS, JOIN_C, WEIGHTS = 110, 10.0, 201
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.RED, style.SKY, style.PINK, style.INK)


def numbers():
    X, y = sets.problem(SET)
    path = libsvmx.c_path(X[:ROWS], y[:ROWS], C_MIN, C_MAX, gamma=GAMMA)
    alphas = np.array([alphas_of(path.model(C), ROWS) for C in path.C])
    moving = np.argsort(-alphas.var(axis=0), kind="stable")
    return {
        "set": SET,
        "rows": ROWS,
        "C": rounded(path.C),
        "along_C": rounded(np.round(alphas[:, np.sort(moving[:SHOWN])].T, 6)),
        **joining(X, y),
    }


def alphas_of(model, n):
    """|beta| of all rows."""
    alpha = np.zeros(n)
    alpha[np.asarray(model.sv_indices) - 1] = abs(np.asarray(model.sv_coef)[0])
    return alpha


def joining(X, y):
    """Coefficients while another row joins: its own, and those that move most."""
    weights = np.linspace(0, 1, WEIGHTS)
    before = libsvmx.train(X[:ROWS], y[:ROWS], C=JOIN_C, gamma=GAMMA, keep_state=True)
    found, breakpoints = [], 0
    for weight in weights:
        state = before.copy()
        if weight:
            state.add(X[JOINS : JOINS + 1], y[JOINS : JOINS + 1], sample_weight=[weight])
            breakpoints = state.report.breakpoints
        found.append(alphas_of(state.model, ROWS + 1))
    found = np.array(found)
    moving = np.argsort(-np.ptp(found[:, :-1], axis=0), kind="stable")[:SHOWN]
    return {
        "weights": rounded(weights),
        "joins": rounded(np.round(found[:, -1], 6)),
        "others": rounded(np.round(found[:, np.sort(moving)].T, 6)),
        "breakpoints": breakpoints,
    }


def draw(found):
    figure, (above, below) = style.panels(5.4, 2, 1)
    for k, alpha in enumerate(found["along_C"]):
        above.plot(found["C"], alpha, color=COLOURS[k % len(COLOURS)], lw=1.2)
    above.plot(found["C"], found["C"], color=style.MUTED, lw=0.9, ls="--")
    ticks(above, found["C"])
    above.set(xlabel="C", ylabel=style.ALPHA, title=f"C grows: {len(found['C'])} breakpoints", xlim=(0, found["C"][-1]))
    for k, alpha in enumerate(found["others"]):
        below.plot(found["weights"], alpha, color=COLOURS[k % len(COLOURS)], lw=1.2)
    below.plot(found["weights"], found["joins"], color=style.INK, lw=2.6)
    below.annotate("the row that joins", (0.55, 0.55 * JOIN_C), (-6, 6), textcoords="offset points", ha="right")
    below.set(xlabel="weight of the row that joins", ylabel=style.ALPHA, xlim=(0, 1))
    below.set(title=f"A row joins: {found['breakpoints']} breakpoints")
    return figure


def ticks(axes, places):
    """A short line on the lower edge for each breakpoint."""
    axes.vlines(places, 0, 0.04, transform=axes.get_xaxis_transform(), color=style.INK, lw=0.6)


FIGURES = (Figure("paths", numbers, draw, close=1e-4),)
