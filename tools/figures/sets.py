"""The sets in data/, and trainings on them."""

import warnings
from pathlib import Path

import libsvmx
from libsvmx.enums import SolveStatus

DATA = Path(__file__).resolve().parents[2] / "data"


def problem(name):
    """Rows and targets of a set."""
    return libsvmx.read_problem(str(DATA / name))


def plane(name, classes, features):
    """Rows of two classes with two selected features: X of float64, shape (n, 2), and y of +1 and -1."""
    import numpy as np

    X, y = problem(name)
    kept = np.isin(y, classes)
    return X.toarray()[kept][:, [feature - 1 for feature in features]], np.where(y[kept] == classes[0], 1.0, -1.0)


def ended_after(steps, X, y, **options):
    """The model after at most ``steps`` steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)
        return libsvmx.train(X, y, max_iter=steps, **options)


def gaps(steps, X, y, **options):
    """The KKT gap by number of steps, until the training ends: two lists, steps and gaps."""
    reached = []
    for limit in steps:
        report = ended_after(int(limit), X, y, **options).reports[0]
        reached.append((report.iterations, report.gap))
        if report.status == SolveStatus.CONVERGED:
            break
    return map(list, zip(*reached, strict=True))
