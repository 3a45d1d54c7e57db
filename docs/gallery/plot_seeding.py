"""
Cold starts of folds, and warm starts
=====================================

A cross-validation trains on nearly the same rows again and again. Without a seeder each fold has a
cold start. With one it starts from a known optimum: in a chain from that of the fold before, in a
star from that over all rows, which has to be found first.

Bars are iterations of the solver. All three ways end at the same optima, to the tolerance. Look at
the first fold of the chain, which has nothing to start from, and at the bar *all rows*, which only
the star needs.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import libsvmx
from libsvmx.plot import COLOURS

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, y = libsvmx.read_problem(f"{data}/a1a.xz")

# %%
# The same ten folds three times. ``folds`` has a report of each, ``full`` that over all rows.

options = {"C": 1, "gamma": 0.05}
ways = {
    "cold starts": libsvmx.cross_validate(X, y, 10, **options),
    "SIR, chain": libsvmx.cross_validate(
        X, y, 10, seeder="sir", scheme="chain", **options
    ),
    "NEAR, star": libsvmx.cross_validate(
        X, y, 10, seeder="near", scheme="star", **options
    ),
}

figure, ax = plt.subplots(figsize=(6.4, 4.5), layout="constrained")
for k, (name, found) in enumerate(ways.items()):
    bars = [
        found.full.iterations if found.full else 0,
        *(fold.iterations for fold in found.folds),
    ]
    label = f"{name}: {found.iterations} iterations, {found.accuracy:.1f}%"
    ax.bar(np.arange(11) + 0.28 * (k - 1), bars, 0.28, color=COLOURS[k], label=label)
ax.set_xticks(
    range(11), ["all rows", *(f"fold {k}" for k in range(1, 11))], rotation=45
)
ax.set(ylabel="iterations", title="a1a, 10 folds")
ax.set_ylim(top=1.35 * ax.get_ylim()[1])  # room for the legend
ax.legend()
plt.show()
