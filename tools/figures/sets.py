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
    """Rows of two classes, of which two features are kept: X of float64, shape (n, 2), and y of +1 and -1."""
    import numpy as np

    X, y = problem(name)
    kept = np.isin(y, classes)
    return X.toarray()[kept][:, [feature - 1 for feature in features]], np.where(y[kept] == classes[0], 1.0, -1.0)


def ended_after(steps, X, y, **options):
    """The model of a training that may take so many steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)
        return libsvmx.train(X, y, max_iter=steps, **options)


def gaps(steps, X, y, **options):
    """The KKT gap after each number of steps, up to the end of the training: two lists, steps and gaps."""
    reached = []
    for limit in steps:
        report = ended_after(int(limit), X, y, **options).reports[0]
        reached.append((report.iterations, report.gap))
        if report.status == SolveStatus.CONVERGED:
            break
    return map(list, zip(*reached, strict=True))
