"""
A grid search over C and gamma
==============================

The accuracy of a cross-validation at each point of a grid. Small dots are the points, the star is
the best of them. Contours stand close where the accuracy is near the best, so a wide bright field
says that C and gamma need not be met exactly, and a best point at the edge says that the grid should
go on there.

Look at the slope of the bright band: a larger C makes up for a smaller gamma.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import libsvmx
import libsvmx.plot

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, y = libsvmx.read_problem(f"{data}/heart_scale")

# %%
# 15 values of C, 13 of gamma, and 10 folds of each. Folds start from what is known of the others, and
# a point from the one of the next smaller C.

search = libsvmx.grid_search(X, y, log2c=(-5, 9, 1), log2g=(-11, 1, 1), n_folds=10)
print(f"C = {search.best_C:g}, gamma = {search.best_gamma:g}: {search.best_rate:g}%")

ax = libsvmx.plot.grid(search)
ax.set_title(f"heart disease, 10 folds: {search.best_rate:.1f}% at the star")
plt.show()
