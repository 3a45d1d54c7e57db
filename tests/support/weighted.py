"""Problems with row weights."""

import numpy as np

from libsvmx.enums import SvmType

TIGHT = 1e-8
SMALL = {"working_set": 8}  # of chunked and irwls: many working sets


def options_of(kind, solver="smo", **more):
    """Parameters of a training to a small tolerance."""
    known = {"svm_type": kind, "gamma": 0.3, "nu": 0.25, "C": 2.0, "p": 0.2, "eps": TIGHT, "solver": solver}
    if solver in ("chunked", "irwls"):
        known.update(SMALL)
    if solver == "crsvm":
        known.update(low_rank="cholesky", rank_error=1e-14, tolerance=1e-11)
    return known | more


def random_rows(seed, n=60, classes=2):
    """(X, y by class, y of a regression, integer weights from 0 to 3)"""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    labels = np.digitize(score, np.linspace(-0.6, 0.6, classes - 1) if classes > 2 else [0.0]) + 3.0
    return X, labels, X @ [1, 2, -1, 0.5] + 0.3 * rng.normal(size=n), rng.integers(0, 4, size=n).astype(float)


def targets_of(kind, labels, values):
    return values if kind.is_regression else labels


def repeated(w, *arrays):
    """Each row repeated by its weight."""
    times = np.repeat(np.arange(len(w)), w.astype(int))
    return [array[times] for array in arrays]


KINDS = [(kind, classes) for kind in SvmType for classes in ((2, 4) if kind.is_classification else (2,))]
