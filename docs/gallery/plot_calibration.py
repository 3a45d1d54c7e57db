"""
Are probabilities to be trusted?
================================

A decision value says on which side of the boundary a row is, not how sure that is. Probability
estimates put a sigmoid over the decision values, whose two parameters are fitted to rows that the
model was not trained on.

Rows are put into ten bins by the probability they are given. A point shows how often that came true;
one below the diagonal is an estimate that was too high. Bars, 95% intervals, and the strip above,
numbers of rows, tell how much a point can be trusted. The logistic function of the decision value
itself, without a fit, is given for comparison: look at the bins with many rows.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import libsvmx
import libsvmx.plot

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, rings = libsvmx.read_problem(f"{data}/abalone_scale.xz")
y = (rings > 9) * 2 - 1  # has this abalone more than nine rings?

# %%
# Trained on 1000 rows, by a fixed seed; the others are shown. ``probability="cv"`` fits the sigmoid to
# a cross-validation over all training rows.

order = np.random.default_rng(0).permutation(len(y))
train, new = order[:1000], order[1000:]
model = libsvmx.train(X[train], y[train], C=10, gamma=1, probability="cv")
_, probabilities = libsvmx.predict_probability(model, X[new])
values = libsvmx.decision_values(model, X[new])[:, 0]

first = model.labels[0]
curves = {
    "sigmoid, fitted": probabilities[:, 0],
    "logistic, not fitted": 1 / (1 + np.exp(-values)),
}
ax = libsvmx.plot.calibration(y[new] == first, curves)
ax.set_xlabel(f"estimated probability of label {first}")
plt.show()
