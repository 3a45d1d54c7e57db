"""
How solvers converge
====================

The KKT gap says how far the conditions of an optimum are from holding. A training ends when it is
below the tolerance ``eps``. For the first hundreds of steps the gap hardly falls, because most
variables have not yet moved; note that both axes are logarithmic.

Each point is a training that was stopped after some number of steps. ``chunked`` takes the same kind of step
as ``smo``, but within a working set of many rows. ``irwls`` solves such a set at once by weighted least
squares: with a C as large as this it needs far fewer steps. A step of one is not as long as a step of
another, so the picture says nothing about seconds.
"""

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt

import libsvmx
import libsvmx.plot

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, y = libsvmx.read_problem(f"{data}/ionosphere_scale.xz")

# %%
# ``max_iter`` ends a training early, with a warning; its report has the gap over all variables.

warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)


def steps(solver):
    """Reports after 1, 1.4, 2, … steps, until the training ends by itself."""
    found, limit = [], 1.0
    while not found or found[-1].status == "iteration limit":
        model = libsvmx.train(
            X, y, C=1e5, gamma=0.01, solver=solver, max_iter=round(limit)
        )
        found.append(model.reports[0])
        limit *= 1.4
    return found


ax = libsvmx.plot.convergence(
    {solver: steps(solver) for solver in ("smo", "chunked", "irwls")}, eps=1e-3
)
ax.set_title("ionosphere, C = 100,000")
plt.show()
