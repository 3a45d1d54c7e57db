"""
What is normal? One class
=========================

A one-class model learns from normal rows alone and draws a line around most of them. At most a share
``nu`` of these rows is left outside the line, and at least that share become support vectors.

The model knows only one kind of iris, versicolor, label 1. Flowers of the two other kinds have the
label -1: those outside the line are told to be something else, without ever having been seen. Look at
the upper end of the line, where the next kind begins and no line could be right for all.
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
X, y = libsvmx.read_problem(f"{data}/iris.scale")
X = X.toarray()[:, 2:]  # petal length and width
normal, others = X[y == 2], X[y != 2]

# %%
# The labels of one-class are +1, normal, and -1.

model = libsvmx.train(
    normal, np.ones(len(normal)), svm_type="one_class", nu=0.1, gamma=3, eps=1e-9
)
outside = (
    libsvmx.decision_values(model, normal) < -1e-6
)  # not on the line, but for rounding
noticed = libsvmx.predict(model, others) < 0

figure, ax = plt.subplots(figsize=(6.4, 5.5), layout="constrained")
libsvmx.plot.boundary(model, X, np.where(y == 2, 1, -1), ax=ax)
ax.set(xlabel="petal length", ylabel="petal width")
ax.set_title(
    f"{outside.sum()} of {len(normal)} normal rows outside, {noticed.sum()} of {len(others)} others noticed"
)
ax.get_legend().remove()
figure.legend(loc="outside lower center", ncols=3)
plt.show()
