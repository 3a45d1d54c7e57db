"""
Wrong labels found
==================

Fifteen labels of the training rows are wrong, on purpose. ``influence`` says for each row what
leaving it out does to the loss on validation rows: it leaves along the exact path, and is put back.
A row whose absence makes the loss fall does harm, and such rows are worth a second look.

Rows are looked at in the order of their influence, the most harmful first. The higher the curve, the
more of the wrong labels have been found by then; the dashed line is what looking in any order would
find.
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
X, y = libsvmx.read_problem(f"{data}/breast-cancer.xz")
X = X.toarray()[:, 1:] / 10  # without the patient's number
rng = np.random.default_rng(0)
order = rng.permutation(len(y))
train, validation = order[:300], order[300:]

wrong = rng.choice(300, 15, replace=False)
labels = y[train].copy()
labels[wrong] = 6 - labels[wrong]  # 2 for 4, and 4 for 2

# %%
# Influence below 0: the loss falls without the row.

state = libsvmx.train(X[train], labels, C=1, gamma=0.5, keep_state=True)
found = libsvmx.influence(state, X[validation], y[validation])
ranked = np.argsort(found.loss, kind="stable")
caught = np.cumsum(np.isin(ranked, wrong))

figure, ax = plt.subplots(figsize=(6.4, 4.5), layout="constrained")
looked = np.arange(1, 301)
ax.step(
    looked,
    caught,
    where="post",
    color=COLOURS[0],
    label="by influence, the most harmful first",
)
ax.plot([0, 300], [0, 15], "--", color="0.4", linewidth=1, label="in any order")
ax.set(
    title=f"15 wrong labels of 300: {caught[29]} among the first 30 rows",
    xlabel="training rows looked at",
    ylabel="wrong labels found",
    xlim=(0, 300),
    ylim=(0, 15.5),
)
ax.legend(loc="lower right")
plt.show()
