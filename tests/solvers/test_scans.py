"""Passes over the variables split between threads: the same pair at each step, whichever thread scans which part."""

import numpy as np
import pytest

import libsvmx as sx

ROWS = 9000  # a part has at least 2,048 variables


def trained(threads, labels, X, **options):
    model = sx.train(X, labels, threads=threads, gamma=0.3, **options)
    return model.coef.tobytes(), np.asarray(model.rho).tobytes(), [r.iterations for r in model.reports]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shrinking": False, "eps": 0.1},
        {"C": 100.0, "max_iter": 3000},
        {"svm_type": "nu_svc", "nu": 0.4, "max_iter": 3000},
        {"svm_type": "epsilon_svr", "max_iter": 2000},
        {"kernel_type": "polynomial", "degree": 2, "max_iter": 2000},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("values", ["bits", "reals"])
def test_threads_choose_the_same_pairs(values, options, exhaustive):
    """Bits: most rows occur many times, so that most pairs are ties, and the last position must win."""
    draw = np.random.default_rng(7)
    X = draw.integers(0, 2, (ROWS, 9)).astype(float) if values == "bits" else draw.normal(size=(ROWS, 5))
    labels = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.4 * draw.normal(size=ROWS) > 0.6, 1.0, -1.0)
    if not exhaustive:
        options = {**options, "max_iter": 1200}
    one = trained(1, labels, X, **options)
    assert all(trained(n, labels, X, **options) == one for n in ((2, 3, 8) if exhaustive else (3,)))
