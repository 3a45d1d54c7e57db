"""Leave-one-out: for how many rows the training over all rows already gives the answer.

A row with alpha = 0 changes nothing when left out, and a misclassified row stays misclassified
(docs/crossvalidation.md). leave_one_out(..., values=False) retrains only without each of the others.
"""

import numpy as np

import libsvmx
from tools.figures import sets, style
from tools.figures.figure import Figure

TRAININGS = {
    "heart_scale": {"C": 1.0, "gamma": 0.05},
    "ionosphere_scale.xz": {"C": 1.0, "gamma": 0.1},
    "splice.xz": {"C": 1.0, "gamma": 0.01},
    "a1a.xz": {"C": 1.0, "gamma": 0.05},
    "mushrooms.xz": {"C": 1.0, "gamma": 0.01},
}
KINDS = {"zero": f"{style.ALPHA} = 0: the same model", "wrong": "misclassified: stays so", "solved": "solved again"}
COLOURS = {"zero": style.SKY, "wrong": style.ORANGE, "solved": style.RED}


def numbers():
    return {name: counts(*sets.problem(name), options) for name, options in TRAININGS.items()}


def counts(X, y, options):
    """Number of rows of each kind."""
    model = libsvmx.train(X, y, **options)
    support = np.zeros(len(y), bool)
    support[np.asarray(model.sv_indices) - 1] = True
    wrong = np.asarray(libsvmx.predict(model, X)) != y
    kinds = {"zero": ~support, "wrong": support & wrong, "solved": support & ~wrong}
    return {**{kind: int(rows.sum()) for kind, rows in kinds.items()}, **options}


def draw(found):
    figure, axes = style.panels(2.9)
    names = list(found)[::-1]
    totals = [sum(found[name][kind] for kind in KINDS) for name in names]
    left = [0.0] * len(names)
    for kind, label in KINDS.items():
        shares = [100 * found[name][kind] / total for name, total in zip(names, totals, strict=True)]
        axes.barh(range(len(names)), shares, left=left, height=0.62, color=COLOURS[kind], label=label)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    for place, name in enumerate(names):
        axes.text(101, place, f"{found[name]['solved']:,}", va="center", color=style.RED, clip_on=False)
    labels = [f"{name.split('.')[0].split('_')[0]}\n{total:,} rows" for name, total in zip(names, totals, strict=True)]
    axes.spines.left.set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set(yticks=range(len(names)), yticklabels=labels, xlim=(0, 100), xlabel="% of the rows")
    style.legend_below(figure, axes, 2)
    return figure


FIGURES = (Figure("left_out", numbers, draw),)
