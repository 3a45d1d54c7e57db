"""A lower bound on the time of a binary training on this machine, to measure the solver against.

    limit = (support vectors * n) values * seconds of a value  +  iterations * n * (V_i, K_i, K_j) bytes / bandwidth

Shrinking lets a solver use fewer than n values in a step, so it may beat the second part.
"""

import time
from functools import cache

import numpy as np

from tools.bench.datasets import csr_matrix
from tools.bench.measure import timed

SAMPLE_ROWS = 200
TRIAD_VALUES = 1 << 24  # three arrays of 128 MB: beyond the caches of most machines
STEP_BYTES = 8 + 4 + 4  # V_i in double, K_i and K_j in float


def limit(dataset, param, result):
    """Seconds of both parts and their factors, for the work in libsvmx's ``result``."""
    n = len(dataset.targets)
    rate, bandwidth = seconds_per_value(dataset, param), memory_bandwidth()
    rows, steps = result["n_sv"] * n * rate, result["iterations"] * n * STEP_BYTES / bandwidth
    parts = {"rows_seconds": rows, "steps_seconds": steps}
    return {"seconds": rows + steps, **parts, "value_seconds": rate, "bandwidth": bandwidth}


def seconds_per_value(dataset, param):
    """Time per kernel value at libsvmx's best rate, rows in blocks, one thread."""
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._train.problem import Problem

    problem = Problem(csr_matrix(dataset), dataset.targets)
    kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
    rows = np.unique(np.linspace(0, kernel.n - 1, SAMPLE_ROWS, dtype=int)).tolist()
    targets = kernel.targets(np.arange(kernel.n, dtype=np.int32))
    return best(3, lambda: targets.rows(rows)) / (len(rows) * kernel.n)


@cache
def memory_bandwidth():
    """Bytes a second of a = b + s c on one thread, in NumPy's two passes of 16 and 24 bytes a value."""
    a, b, c = (np.ones(TRIAD_VALUES) for _ in range(3))
    return 40 * TRIAD_VALUES / best(5, lambda: np.add(np.multiply(c, 3.0, out=a), b, out=a))


def best(times, work):
    return min(timed(work, time.perf_counter) for _ in range(times))
