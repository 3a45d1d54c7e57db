"""
Boundary and margins
====================

A small C allows many rows within the margins, which are wide then. A large C pays for each row on
the wrong side, so the margins become narrow and the boundary bends around single rows.

Two kinds of iris are told apart by two measures of a flower. The line is the boundary, where the
decision value is 0; dashed are the margins, where it is -1 and 1. Colours show the decision value.
Rings mark the support vectors, the only rows on which the model rests: those on the margins, between
them, or on the wrong side. Compare how many there are.
"""

# %%
# Petal length and width of versicolor (2) and virginica (3), scaled to -1 … 1.

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import libsvmx
import libsvmx.plot

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, y = libsvmx.read_problem(f"{data}/iris.scale")
X, y = X.toarray()[y > 1, 2:], y[y > 1]

# %%
# ``libsvmx.plot.boundary`` draws a model of two features, with the rows that it is given.

figure, axes = plt.subplots(
    2, 1, figsize=(6.4, 8.5), sharex=True, sharey=True, layout="constrained"
)
for ax, C in zip(axes, (0.5, 500), strict=True):
    model = libsvmx.train(X, y, C=C, gamma=2)
    libsvmx.plot.boundary(model, X, y, ax=ax)
    ax.set(
        title=f"C = {C:g}: {model.n_sv} support vectors",
        xlabel="petal length",
        ylabel="petal width",
    )
axes[1].get_legend().remove()
plt.show()
