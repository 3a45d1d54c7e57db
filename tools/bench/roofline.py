"""The least time that a binary training can take on this machine, to measure the solver against.

    limit = (distinct rows used * n) values * seconds of a value  +  iterations * n * (V_i, K_i, K_j) bytes / bandwidth

Shrinking lets a solver pass over fewer than n values in a step, so it may come below the second part.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tools.bench.datasets import Dataset, csr_matrix

SAMPLE_ROWS = 200
TRIAD_VALUES = 1 << 24  # three arrays of 128 MB: beyond the caches of most machines
STEP_BYTES = 8 + 4 + 4  # V_i in double, K_i and K_j in float


@dataclass(frozen=True)
class Limit:
    """Seconds of both parts and what they come from; without ``rows_known`` n_sv stands for the rows used."""

    seconds: float
    rows_seconds: float
    steps_seconds: float
    value_seconds: float
    bandwidth: float  # bytes a second
    rows_known: bool


def limit(dataset: Dataset, param: Any, result: dict[str, Any]) -> Limit:
    """The limit for what libsvmx's ``result`` says was needed."""
    n = len(dataset.targets)
    touched = result["counts"].get("rows_touched")
    rate, bandwidth = seconds_per_value(dataset, param), memory_bandwidth()
    rows = (result["n_sv"] if touched is None else touched) * n * rate
    steps = result["iterations"] * n * STEP_BYTES / bandwidth
    return Limit(rows + steps, rows, steps, rate, bandwidth, touched is not None)


def seconds_per_value(dataset: Dataset, param: Any) -> float:
    """Time of a kernel value at libsvmx's best rate, rows in blocks, by one thread."""
    from libsvmx._kernels.kernel import Kernel
    from libsvmx._train.problem import Problem

    problem = Problem(csr_matrix(dataset), dataset.targets)
    kernel = Kernel(problem.features, problem.rows, param.kernel_type, param.degree, param.gamma, param.coef0)
    rows = np.unique(np.linspace(0, kernel.n - 1, SAMPLE_ROWS, dtype=int)).tolist()
    targets = kernel.targets(np.arange(kernel.n, dtype=np.int32))
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        targets.rows(rows)
        best = min(best, time.perf_counter() - start)
    return best / (len(rows) * kernel.n)


@cache
def memory_bandwidth() -> float:
    """Bytes a second of a = b + s c by one thread, in NumPy's two passes of 16 and 24 bytes a value."""
    a, b, c = (np.ones(TRIAD_VALUES) for _ in range(3))
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)
        best = min(best, time.perf_counter() - start)
    return float(40 * TRIAD_VALUES / best)
