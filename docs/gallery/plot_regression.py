"""
The tube of a regression
========================

Epsilon-SVR asks for a function that is as flat as it can be while rows are within a tube of half
width epsilon around it. A row inside the tube costs nothing and is no support vector; one outside
costs C times how far outside it is.

Miles per gallon over the weight of a car. With a wide tube few cars are outside, and the model rests
on these alone. With a narrow one nearly all cars become support vectors, and the prediction is much the
same where there are many cars.
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
X, y = libsvmx.read_problem(f"{data}/mpg")
X, y = X.toarray()[::3, 3:4] / 1000, y[::3]  # thousands of pounds, of every third car

# %%
# A model of one feature is drawn with its targets.

figure, axes = plt.subplots(
    2, 1, figsize=(6.4, 8), sharex=True, sharey=True, layout="constrained"
)
for ax, epsilon in zip(axes, (6, 0.5), strict=True):
    model = libsvmx.train(X, y, svm_type="epsilon_svr", C=10, gamma=0.2, p=epsilon)
    libsvmx.plot.boundary(model, X, y, ax=ax)
    ax.set(
        title=f"{model.n_sv} of {len(y)} cars are support vectors",
        xlabel="weight, 1000 lb",
        ylabel="miles per gallon",
    )
plt.show()
