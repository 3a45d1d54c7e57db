"""What smo says of its end where coefficients are so large that kernel values in float hide more than the tolerance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from support import data
from support.judge import Judge
from support.oracle import Oracle
from support.posed import classes

import libsvmx
from libsvmx.enums import SolveStatus

X, Y = classes(3, 300, 2)
GAMMA, LARGE = 0.5, 1e4


def judged(model, C):
    """The KKT gap, from data and coefficients."""
    beta, sign = np.zeros(len(Y)), np.where(model.labels[0] == Y, 1.0, -1.0)
    beta[np.asarray(model.row_numbers) - 1] = np.asarray(model.sv_coef)[0]
    K = np.exp(-GAMMA * cdist(X, X, "sqeuclidean"))
    return Judge(K, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0)).gap(beta)


def test_it_tells_of_a_gap_that_floats_hide():
    with pytest.warns(libsvmx.ConvergenceWarning, match="rounding hides"):
        model = libsvmx.train(X, Y, C=LARGE, gamma=GAMMA)
    assert model.statuses == (SolveStatus.ROUNDING,)
    assert model.reports[0].gap == pytest.approx(judged(model, LARGE), rel=1e-3)
    assert model.reports[0].gap > 2e-3
    auto = libsvmx.train(X, Y, C=LARGE, gamma=GAMMA, solver="auto")
    assert auto.statuses == (SolveStatus.CONVERGED,)
    assert judged(auto, LARGE) <= 2e-3


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_ordinary_trainings_are_told_nothing(C):
    model = libsvmx.train(X, Y, C=C, gamma=GAMMA)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert model.reports[0].gap < 1e-3
    assert judged(model, C) <= 2e-3


def test_the_model_stays_libsvms_and_q_is_silent(folder):
    rows = [[(j + 1, value) for j, value in enumerate(row)] for row in X.tolist()]
    known = Oracle(data.from_rows(rows), Y, f"-g {GAMMA} -c {LARGE}").train().model_bytes(folder.path)
    lines = (f"{y:g} " + " ".join(f"{j}:{value!r}" for j, value in row) for y, row in zip(Y, rows, strict=True))
    folder.put("rows", "\n".join(lines) + "\n")
    for quiet in ([], ["-q"]):
        err, _ = folder.accepts("svmx-train", *quiet, "-g", f"{GAMMA}", "-c", f"{LARGE}", "rows", "model")
        assert ("rounding hides" in err) == (not quiet)
        assert folder.get("model") == known
