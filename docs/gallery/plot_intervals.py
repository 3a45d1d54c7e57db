"""
Intervals that hold
===================

A prediction of miles per gallon says nothing of how far off it may be. The jackknife+ gives an
interval for each new car, from exact leave-one-out. If cars are as if shuffled, nine in ten of the
true values are inside, as a rule, and the guarantee is eight in ten, whatever the distribution and
however good the model.

Points are cars that were not trained on; crosses are those outside. The band has nearly the same
width everywhere, although light cars spread more than heavy ones: it holds on average over cars, not
for each kind of car.
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
X, y = libsvmx.read_problem(f"{data}/mpg")
weight = X.toarray()[:, 3:4] / 1000  # thousands of pounds

# %%
# Cars are shuffled, by a fixed seed: those in the file are in the order of their years.

order = np.random.default_rng(0).permutation(len(y))
train, new = order[:200], order[200:]
state = libsvmx.train(
    weight[train],
    y[train],
    svm_type="epsilon_svr",
    C=10,
    gamma=0.5,
    p=0.5,
    keep_state=True,
)
found = libsvmx.jackknife_plus(state, weight[new], alpha=0.1)
inside = (found.lower <= y[new]) & (y[new] <= found.upper)

across = np.linspace(weight.min(), weight.max(), 200)[:, None]
band = libsvmx.jackknife_plus(state, across, alpha=0.1)

figure, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
ax.fill_between(
    across[:, 0],
    band.lower,
    band.upper,
    color=COLOURS[5],
    alpha=0.35,
    label="jackknife+ interval, alpha = 0.1",
)
ax.plot(across, state.predict(across), color=COLOURS[0], label="prediction")
ax.scatter(
    weight[new][inside],
    y[new][inside],
    s=14,
    color="0.35",
    label=f"new cars inside, {inside.mean():.0%}",
)
ax.scatter(
    weight[new][~inside],
    y[new][~inside],
    s=40,
    marker="x",
    color=COLOURS[1],
    label="outside",
)
ax.set(xlabel="weight, 1000 lb", ylabel="miles per gallon")
ax.legend()
plt.show()
