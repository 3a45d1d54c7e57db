"""
Fewer support vectors
=====================

A model is as large as its number of support vectors, and so is the time of a prediction.
``compress`` keeps those that matter, with new coefficients, and gives a bound: no decision value of
any row changes by more.

Above, the accuracy on rows that were not trained on, by the number of vectors that are kept. Below,
the bound, and the largest change that these rows really met. Look how few vectors are enough for the
accuracy; the bound holds for any row whatever, so it is far above what these rows met.
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
X_new, y_new = X[1000:], y[1000:]

# %%
# From two vectors to 400.

model = libsvmx.train(X[:1000], y[:1000], C=1, gamma=0.02)
before = libsvmx.decision_values(model, X_new)
kept = np.unique(np.geomspace(2, 400, 20).astype(int))
accuracy, bounds, changes = [], [], []
for n in kept:
    small = libsvmx.compress(model, max_sv=n)
    accuracy.append(100 * (libsvmx.predict(small.model, X_new) == y_new).mean())
    bounds.append(small.bounds[0])
    changes.append(abs(libsvmx.decision_values(small.model, X_new) - before).max())

figure, (above, below) = plt.subplots(
    2, 1, figsize=(6.4, 6), sharex=True, layout="constrained"
)
whole = 100 * (libsvmx.predict(model, X_new) == y_new).mean()
above.axhline(
    whole,
    color="0.4",
    linestyle="--",
    linewidth=1,
    label=f"all {model.n_sv} support vectors: {whole:.1f}%",
)
above.plot(kept, accuracy, "o-", color=COLOURS[0], markersize=4, label="compressed")
above.set(xscale="log", ylabel="accuracy on new rows, %")
above.legend(loc="lower right")
below.plot(
    kept, bounds, "s-", color=COLOURS[1], markersize=4, label="bound for any row"
)
below.plot(
    kept,
    changes,
    "o-",
    color=COLOURS[0],
    markersize=4,
    label="largest change on new rows",
)
below.set(
    xlabel="support vectors kept", ylabel="change of a decision value", ylim=(0, None)
)
below.set_xticks(ticks := [2, 5, 10, 20, 50, 100, 200, 400], map(str, ticks))
below.minorticks_off()
above.set_title("a1a: from two support vectors to 400")
below.legend(loc="upper right")
plt.show()
