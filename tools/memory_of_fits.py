"""Whether repeated fits leak memory: python tools/memory_of_fits.py [FITS]

For each estimator and kind of input, MB of the process after half of the fits and after all (200), and the increase in
Python objects. Exit code 1 if memory grows by more than half a MB, or by an object per fit. The first hundred fits may
add 1.7 MB, once.
"""

import gc
import sys
import warnings

import numpy as np
from scipy.sparse import csr_array

import libsvmx

PAGE = 4096
rng = np.random.default_rng(1)
X = rng.normal(size=(600, 20))
Y = np.where(X[:, 0] + rng.normal(size=600) > 0, "a", "b")
WEIGHTS = rng.integers(0, 3, 600).astype(float)


def linear(A, B):
    return A @ B.T


KINDS = {
    "dense": (X, {}, {}),
    "sparse": (csr_array(X), {}, {}),
    "weights": (X, {}, {"sample_weight": WEIGHTS}),
    "callable": (X, {"kernel": linear}, {}),
    "precomputed": (X @ X.T, {"kernel": "precomputed"}, {}),
    "2 threads": (X, {"n_jobs": 2}, {}),
}


def resident():
    """MB of this process."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE / 1e6


def grown(name, rows, parameters, fit, fits):
    """Growth in MB and in objects over the second half of the fits."""
    made = getattr(libsvmx, name)(**parameters, **({"nu": 0.2} if name == "NuSVC" else {}))
    targets = X[:, 0] if name in ("SVR", "NuSVR") else Y
    before = objects = 0
    for i in range(fits):
        made.fit(rows, targets, **fit).predict(rows[:10])
        if i == fits // 2:
            before, objects = resident(), len(gc.get_objects())
    return before, resident(), len(gc.get_objects()) - objects


def main(fits):
    worst = 0
    print(f"{'':24}{'MB after ' + str(fits // 2):>16}{'after ' + str(fits):>12}{'objects':>10}")
    for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
        for kind, (rows, parameters, fit) in KINDS.items():
            before, after, objects = grown(name, rows, parameters, fit, fits)
            print(f"{name + ', ' + kind:24}{before:16.1f}{after:12.1f}{objects:10}", flush=True)
            worst |= after - before > 0.5 or objects >= fits // 4
    return int(worst)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
