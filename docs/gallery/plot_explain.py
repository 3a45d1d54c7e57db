"""
Why this decision value?
========================

Shapley values split a decision value among the features, exactly. One begins at the mean decision
value of the background, 100 other patients, and ends at that of the patient who is explained: the
bars add up to the difference.

An orange bar leads to the right and speaks for heart disease, a blue one to the left and against it.
The features at the top have moved the decision value most, for this patient; for another one they
may be others. Their values are given as they were measured.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import libsvmx
from libsvmx.plot import COLOURS

names = [
    "age",
    "sex",
    "chest pain, type",
    "blood pressure",
    "cholesterol",
    "blood sugar > 120",
    "ECG at rest",
]
names += [
    "highest heart rate",
    "angina by exercise",
    "ST depression",
    "slope of ST",
    "coloured vessels",
    "thallium scan",
]

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
measured, _ = libsvmx.read_problem(f"{data}/heart.xz")
X, y = libsvmx.read_problem(f"{data}/heart_scale")  # the same patients, scaled

# %%
# Positive decision values speak for the first label of the model, +1, which is disease.

model = libsvmx.train(X, y, C=1, gamma=0.05)
assert model.labels[0] == 1
patient = 0
found = libsvmx.explain(model, X[patient : patient + 1], background=X[100:200])
values, base = found.values[0], found.base_values[0]

# %%
# Each bar begins where the one below it ends.

order = np.argsort(abs(values))
ends = base + np.cumsum(values[order])
figure, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
colours = [COLOURS[1] if value > 0 else COLOURS[0] for value in values[order]]
ax.barh(range(len(order)), values[order], left=ends - values[order], color=colours)
ax.set_yticks(
    range(len(order)),
    [f"{names[k]} = {measured.toarray()[patient, k]:g}" for k in order],
)
ax.axvline(
    base, color="0.4", linestyle="--", linewidth=1, label=f"background: {base:+.2f}"
)
ax.axvline(ends[-1], color="black", linewidth=1, label=f"this patient: {ends[-1]:+.2f}")
ax.set(
    xlabel="decision value",
    xlim=(base - 0.2, ends[-1] + 0.2),
    title="heart disease: from the background to one patient",
)
ax.legend(loc="lower center")
plt.show()
