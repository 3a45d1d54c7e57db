"""
Rows on a Dask cluster
======================

``libsvmx.dask`` trains over rows that stay on the workers of a cluster: only small sums travel. Here
it is a cluster of two threads in this process; a real one needs nothing but its address.

The solver is an interior-point method. Above, its duality gap by iteration: the nearer it is to the
optimum, the faster it comes. Below, how many rows enter the normal equations of an iteration.
At first all of them do. Once it shows which rows are far from the margin, they are left out, and an
iteration has less to compute.
"""

import sys
from pathlib import Path

import dask.array
import matplotlib.pyplot as plt
from distributed import Client

import libsvmx
import libsvmx.dask
import libsvmx.plot

here = [Path.cwd(), *Path.cwd().parents]
data = next((f / "data" for f in here if (f / "data/heart_scale").is_file()), None)
if data is None:
    sys.exit("run this in a clone of the repository: data/ is needed")
X, rings = libsvmx.read_problem(f"{data}/abalone_scale.xz")
X, y = X.toarray(), (rings > 9) * 2 - 1  # has this abalone more than nine rings?

# %%
# An observer is told of each iteration. The RBF kernel is approximated by 60 features.


class Log(libsvmx.Observer):
    """Keeps the iterations of a training."""

    def __init__(self):
        self.lines = []

    def iterated(self, line):
        self.lines.append(line)


log = Log()
with Client(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
) as client:
    blocks = dask.array.from_array(X, chunks=(2100, X.shape[1]))
    problem = libsvmx.dask.from_arrays(blocks, y, client)
    model = libsvmx.dask.train(
        problem, C=1, gamma=1, low_rank="cholesky", rank=60, observer=log
    )
print(
    f"{(libsvmx.predict(model, X) == y).mean():.2%} right, {model.n_sv} support vectors"
)

figure, axes = plt.subplots(2, 1, figsize=(6.4, 7), layout="constrained")
libsvmx.plot.convergence(log.lines, x="number", ax=axes[0])
libsvmx.plot.convergence(log.lines[1:], x="number", y="rows", ax=axes[1])
axes[1].axhline(len(y), color="0.4", linestyle="--", linewidth=1, label="all rows")
axes[1].legend()
axes[1].set_ylim(bottom=0)
plt.show()
