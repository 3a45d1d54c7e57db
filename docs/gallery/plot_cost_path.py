"""
The error at every C
====================

A grid asks for the error at a few values of C. ``c_path`` follows the optimum from one C to another,
so the cross-validated error is known at all of them: a step function, which changes only where the
decision value of a row held out changes its sign.

The points are what a grid of the usual step would see of the curve. Short strokes at the bottom are
the breakpoints of the path, where a row meets the margin or leaves it. The least error holds over a
hair's width of C, which is chance; the shaded range, in which the error stays within one standard
error of the least, is a better choice, and the star is in its middle.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import libsvmx
import libsvmx.plot
from libsvmx.plot import COLOURS

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, y = libsvmx.read_problem(f"{data}/heart_scale")

# %%
# Ten folds, from C = 0.01 to 100, and the points of a grid whose C grows by factors of 4.

path = libsvmx.c_path(X, y, C_min=0.01, C_max=100, cv=10, gamma=0.05)
grid = 2.0 ** np.arange(-5, 7, 2)

figure, ax = plt.subplots(figsize=(6.4, 4.5), layout="constrained")
libsvmx.plot.path(path, ax=ax)
ax.plot(
    grid,
    path.cv_error(grid),
    "s",
    color=COLOURS[4],
    markeredgecolor="black",
    label="a grid's points",
)
ax.set_title(f"{len(path.C)} breakpoints, {len(path.cv_C) - 2} steps of the error")
ax.legend(loc="upper right", fontsize="small")
plt.show()
