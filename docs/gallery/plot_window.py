"""
A window over a stream
======================

Cars from 1970 to 1982, in the order of their years: how many miles they go on a gallon is predicted
from weight and power. Each car is predicted before it joins the model. With a window of 80 cars the
oldest one leaves whenever one joins; the model is the exact optimum of the cars in the window after
each change.

What a car of some weight needs has changed over the years. So a model of the first 80 cars predicts
ever less than is true, and one of all cars so far follows late. Look at what comes after 1980: the
window is back near 0 within a year, the others are not.
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
X = X.toarray()
years, X = 1900 + X[:, 5], X[:, [2, 3]]  # power and weight
X = (X - X[:80].mean(axis=0)) / X[:80].std(axis=0)

# %%
# Three states begin with the same 80 cars. ``update`` lets rows join and leave along one path.

first, options = 80, {"svm_type": "epsilon_svr", "C": 10, "gamma": 0.2, "p": 0.5}
states = {
    name: libsvmx.train(X[:first], y[:first], keep_state=True, **options)
    for name in ("first", "all", "window")
}
predicted = {name: [] for name in states}
for row in range(first, len(y)):
    x, target = X[row : row + 1], y[row : row + 1]
    for name, state in states.items():
        predicted[name].append(state.predict(x)[0])
    states["all"].update(add=(x, target))
    states["window"].update(add=(x, target), remove=states["window"].ids[:1])

# %%
# By year, how far predictions are off on average: below 0 where they are too low.

figure, ax = plt.subplots(figsize=(6.4, 4.5), layout="constrained")
later = years[first:]
shown = np.unique(later)
names = {
    "first": "first 80 cars, never changed",
    "all": "all cars so far",
    "window": "the last 80 cars",
}
for k, (name, label) in enumerate(names.items()):
    errors = np.array(predicted[name]) - y[first:]
    ax.plot(
        shown,
        [errors[later == year].mean() for year in shown],
        "os^"[k] + "-",
        color=COLOURS[k],
        label=label,
    )
ax.axhline(0, color="0.4", linewidth=1, linestyle="--")
ax.set(
    title="cars use less and less: what was learnt last is nearest",
    xlabel="year",
    ylabel="mean of prediction - truth, miles per gallon",
)
ax.legend()
plt.show()
