"""
Leave-one-out
=============

Each row is predicted by a model of all the others. A row that is no support vector makes no
difference to the model, so nothing has to be trained for it. Only rows with a coefficient are
trained without, and these trainings start from the optimum over all rows.

Rings mark the support vectors, which are the rows that were trained without. Crosses mark rows that
the model of all rows predicts rightly, and the model without them wrongly: they alone hold the
boundary where it is, and are what the accuracy of the training hides. Look where they are.
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
X, y = libsvmx.read_problem(f"{data}/iris.scale")
X, y = (
    X.toarray()[y > 1, 0:3:2],
    y[y > 1],
)  # length of sepal and petal, versicolor (2) and virginica (3)

# %%
# ``retrained`` are the rows without which the problem was solved again, counted from 0.

options = {"C": 50, "gamma": 5}
model = libsvmx.train(X, y, **options)
found = libsvmx.leave_one_out(X, y, **options)
right = libsvmx.predict(model, X) == y
flipped = right & (found.predictions != y)
assert set(found.retrained) == set(model.sv_indices - 1)
print(f"{right.mean():.1%} right in training, {found.accuracy:.1f}% in leave-one-out")

# %%
# The boundary is that of the model of all rows.

ax = libsvmx.plot.boundary(
    model, X, y, ax=plt.figure(figsize=(6.4, 5.5), layout="constrained").add_subplot()
)
ax.scatter(
    *X[flipped].T,
    s=90,
    marker="x",
    color="black",
    zorder=4,
    label="right only with itself",
)
ax.set(xlabel="sepal length", ylabel="petal length")
ax.set_title(
    f"{len(found.retrained)} of {len(y)} rows trained without, {flipped.sum()} labels flip"
)
ax.get_legend().remove()
ax.figure.legend(loc="outside lower center", ncols=2)
plt.show()
