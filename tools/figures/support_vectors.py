"""The dual in the plane: which rows have a coefficient, and which are at their bound.

Two features of wine.scale, classes 1 and 2, C-SVC with an RBF kernel.
"""

import numpy as np

import libsvmx
from tools.figures import sets, style
from tools.figures.figure import Figure, rounded

FEATURES, CLASSES = (1, 10), (1.0, 2.0)
OPTIONS = {"C": 1.0, "gamma": 1.0}
GRID = 61
KINDS = ("0", "free", "C")


def numbers():
    X, y = sets.plane("wine.scale", CLASSES, FEATURES)
    state = libsvmx.train(X, y, keep_state=True, **OPTIONS)
    return shown_in_plane(state, X, y, OPTIONS["C"], GRID)


def shown_in_plane(state, X, y, C, size):
    """Rows, kinds of their coefficients, and decision values on a ``size`` by ``size`` grid around them."""
    rows = {"rows": rounded(X), "labels": rounded(y), "kinds": kinds(state, len(y), C)}
    return {**rows, **values_on_grid(state, X, size)}


def kinds(state, n, C):
    """The kind of each row, '0', 'free' or 'C', by its coefficient."""
    found = ["0"] * n
    model = state.model
    for row, coef in zip(model.sv_indices, np.asarray(model.sv_coef)[0], strict=True):
        found[row - 1] = "C" if abs(coef) >= C * (1 - 1e-9) else "free"
    return found


def values_on_grid(state, X, size):
    """Decision values over the plane, and two lists of coordinates."""
    margin = 0.12
    x, z = (np.linspace(low - margin, high + margin, size) for low, high in zip(X.min(0), X.max(0), strict=True))
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(x, z)])
    values = np.asarray(state.decision_values(points)).reshape(size, size)
    return {"x": rounded(x, 4), "z": rounded(z, 4), "values": rounded(np.round(values, 3))}


def plane(axes, found, *, marked=(), size=16):
    """Draws rows, boundary and margins; rows ``marked`` are left to the caller."""
    values = np.array(found["values"])
    axes.contourf(found["x"], found["z"], values, levels=[-99, 0, 99], colors=[style.ORANGE, style.BLUE], alpha=0.10)
    axes.contour(found["x"], found["z"], values, levels=[-1, 1], colors=style.MUTED, linewidths=0.9, linestyles="--")
    axes.contour(found["x"], found["z"], values, levels=[0], colors=style.INK, linewidths=1.6)
    rows, labels = np.array(found["rows"]), np.array(found["labels"])
    kind = np.array(found["kinds"])
    shown = ~np.isin(np.arange(len(labels)), marked)
    for label, colour, marker in ((1, style.BLUE, "o"), (-1, style.ORANGE, "s")):
        for name, face, edge, scale in looks(colour):
            chosen = shown & (labels == label) & (kind == name)
            axes.scatter(*rows[chosen].T, s=scale * size, marker=marker, fc=face, ec=edge, lw=1.1, zorder=3)
    axes.set(xticks=[], yticks=[], xlim=ends(found["x"]), ylim=ends(found["z"]))


def ends(values):
    return values[0], values[-1]


def looks(colour):
    """Face colour, edge colour and size for each kind of row."""
    return (("0", "none", colour, 0.6), ("C", colour, colour, 1.0), ("free", colour, style.INK, 2.2))


def draw(found):
    figure, axes = style.panels(3.9)
    plane(axes, found)
    axes.set(xlabel="alcohol", ylabel="colour intensity")
    counts = {name: found["kinds"].count(name) for name in KINDS}
    told = {
        "0": f"{style.ALPHA} = 0: {counts['0']} rows",
        "free": f"0 < {style.ALPHA} < C: {counts['free']} rows",
        "C": f"{style.ALPHA} = C: {counts['C']} rows",
    }
    handles = []
    for colour, marker, name in ((style.BLUE, "o", "class 1"), (style.ORANGE, "s", "class 2")):
        handles.append(axes.scatter([], [], s=16, marker=marker, fc=colour, ec=colour, label=name))
    for name, face, edge, scale in looks(style.MUTED):
        handles.append(axes.scatter([], [], s=16 * scale, fc=face, ec=edge, lw=1.1, label=told[name]))
    (line,) = axes.plot([], [], color=style.INK, label="f(x) = 0")
    (margin,) = axes.plot([], [], color=style.MUTED, ls="--", lw=0.9, label="f(x) = ±1")
    circles, squares, zero, bound, free = handles
    ordered = [zero, bound, free, line, margin, circles, squares]
    figure.legend(handles=ordered, loc="outside lower center", ncols=3)
    return figure


FIGURES = (Figure("support_vectors", numbers, draw, close=1e-3),)
