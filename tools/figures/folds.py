"""The start of a fold: chain and star (Wen et al., AAAI 2017), and the iterations of each fold."""

import libsvmx
from tools.figures import sets, style
from tools.figures.figure import Figure

SET, FOLDS, OPTIONS = "a1a.xz", 10, {"C": 1.0, "gamma": 0.05}
WAYS = {"nothing": (None, ""), "chain": ("sir", "chain"), "star": ("near", "star")}
LABELS = {"nothing": "cold start", "chain": "chain, by sir", "star": "star, by near"}
COLOURS = {"nothing": style.MUTED, "chain": style.ORANGE, "star": style.BLUE}


def numbers():
    X, y = sets.problem(SET)
    found = {"set": SET, "rows": len(y), **OPTIONS}
    for name, (seeder, scheme) in WAYS.items():
        cv = libsvmx.cross_validate(X, y, FOLDS, seeder=seeder, scheme=scheme, **OPTIONS)
        iterations = [fold.iterations for fold in cv.folds]
        found[name] = {"iterations": iterations, "full": cv.full.iterations if cv.full else 0, "accuracy": cv.accuracy}
    return found


def draw(found):
    figure, (above, below) = style.panels(5.2, 2, 1, height_ratios=(1, 1.25))
    schemes(above)
    width = 0.27
    for k, name in enumerate(WAYS):
        places = [fold + (k - 1) * width for fold in range(1, FOLDS + 1)]
        below.bar(places, found[name]["iterations"], width * 0.9, color=COLOURS[name], label=LABELS[name])
    below.bar([0], [found["star"]["full"]], width * 0.9, color=COLOURS["star"])
    below.set(xticks=range(FOLDS + 1), xticklabels=["all\nrows", *range(1, FOLDS + 1)], xlabel="fold")
    below.set(ylabel="iterations", title=f"a1a, C = {found['C']:g}: iterations of each fold")
    style.legend_below(figure, below, 3)
    return figure


def schemes(axes):
    """Folds in a row, each started from the one before; folds around the optimum over all rows."""
    shown = 4
    for fold in range(shown):
        node(axes, (0.55 + 1.25 * fold, 2.3), f"fold {fold + 1}", style.ORANGE)
        if fold:
            style.arrow(axes, (1.25 * fold - 0.2 + 0.02, 2.3), (1.25 * fold + 0.05, 2.3))
    axes.text(0.55 + 1.25 * shown - 0.55, 2.3, "…", va="center")
    axes.text(-0.15, 2.85, "chain: a fold starts from the one before", color=style.INK)
    node(axes, (2.4, 1.0), "all rows", style.BLUE, filled=True)
    for fold in range(shown):
        x = 0.55 + 1.25 * fold
        node(axes, (x, 0.0), f"fold {fold + 1}", style.BLUE)
        style.arrow(axes, (2.4 + 0.12 * (x - 2.4), 0.78), (x, 0.24))
    axes.text(0.55 + 1.25 * shown - 0.55, 0.0, "…", va="center")
    axes.text(-0.15, 1.45, "star: every fold starts from all rows", color=style.INK)
    axes.set(xlim=(-0.2, 5.6), ylim=(-0.3, 3.1))
    axes.axis("off")


def node(axes, place, text, colour, *, filled=False):
    style.box(axes, place[0] - 0.45, place[1] - 0.2, 0.9, 0.4, text, colour, filled=filled, size=9)


FIGURES = (Figure("folds", numbers, draw),)
