"""smo's status for coefficients so large that the rounding of float kernel values exceeds the tolerance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from support import data
from support.judge import Judge
from support.oracle import Oracle
from support.policies import KernelPolicy
from support.posed import classes

import libsvmx
from libsvmx.enums import SolveStatus
from libsvmx.io.modelfile import model_text

X, Y = classes(3, 300, 2)
GAMMA, LARGE = 0.5, 1e4


def judged(model, C):
    """The KKT gap, from data and coefficients."""
    beta, sign = np.zeros(len(Y)), np.where(model.labels[0] == Y, 1.0, -1.0)
    beta[np.asarray(model.row_numbers) - 1] = np.asarray(model.sv_coef)[0]
    K = np.exp(-GAMMA * cdist(X, X, "sqeuclidean"))
    return Judge(K, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0)).gap(beta)


def test_a_gap_hidden_by_floats_is_reported():
    with pytest.warns(libsvmx.ConvergenceWarning, match="rounding hides"):
        model = libsvmx.train(X, Y, C=LARGE, gamma=GAMMA)
    assert model.statuses == (SolveStatus.ROUNDING,)
    assert model.reports[0].gap == pytest.approx(judged(model, LARGE), rel=1e-3)
    assert model.reports[0].gap > 2e-3
    auto = libsvmx.train(X, Y, C=LARGE, gamma=GAMMA, solver="auto")
    assert auto.statuses == (SolveStatus.CONVERGED,)
    assert judged(auto, LARGE) <= 2e-3


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_ordinary_trainings_give_no_warning(C):
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


@pytest.mark.filterwarnings("ignore:.*rounding hides:libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("p", [0.1, 1.0])
def test_a_gap_that_stands_still_for_a_while_is_no_end(p, tmp_path):
    """Hundreds of thousands of steps, in which the gap falls late: the model is that of LIBSVM, which goes on."""
    rows, targets = data.dense_rows("mpg")
    low, high = rows.min(axis=0), rows.max(axis=0)
    rows = (2 * rows - low - high) / (high - low)
    listed = data.from_rows([[(j + 1, value) for j, value in enumerate(row)] for row in rows.tolist()])
    known = Oracle(listed, targets.tolist(), f"-s 3 -t 0 -c 1000 -e 5e-4 -p {p}").train().model_bytes(tmp_path)
    options = {"svm_type": "epsilon_svr", "kernel_type": "linear", "C": 1000.0, "eps": 5e-4, "p": p}
    model = libsvmx.train(listed, targets, max_iter=10**9, **options)  # beyond LIBSVM's, up to which nothing is asked
    assert model_text(model) == known
    assert model.reports[0].iterations > 200_000


# ---- Several classes, folds, estimators ------------------------------------------------------------

RNG = np.random.default_rng(0)
ROWS, SPECIES = RNG.normal(size=(120, 2)), RNG.integers(0, 3, size=120).astype(float)
OPTIONS = {"C": 2e4, "gamma": 1.0}
OUTSIDE = KernelPolicy(queue=False)
ORDINARY = [
    *("heart_scale", "ionosphere_scale.xz", "a1a.xz", "iris.scale", "glass.scale"),
    *("wine.scale", "vowel.scale.xz", "splice.xz", "heart.xz", "breast-cancer.xz"),
]


def hides():
    return pytest.warns(libsvmx.ConvergenceWarning, match="rounding hides what is left")


def gap_of_pair(model, pair):
    """By NumPy, for a pair of classes (0, 1), (0, 2), (1, 2)."""
    own = np.flatnonzero(np.isin(SPECIES, [model.labels[c] for c in pair]))
    sign = np.where(SPECIES[own] == model.labels[pair[0]], 1.0, -1.0)
    beta = np.zeros(len(SPECIES))
    first = np.cumsum([0, *model.class_sv])
    rows = np.asarray(model.row_numbers) - 1
    for c, other in (pair, pair[::-1]):
        part = slice(first[c], first[c + 1])
        beta[rows[part]] = np.asarray(model.sv_coef)[other - (other > c), part]
    K = np.exp(-OPTIONS["gamma"] * cdist(ROWS[own], ROWS[own], "sqeuclidean"))
    C = OPTIONS["C"]
    return Judge(K, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0)).gap(beta[own])


@pytest.mark.parametrize("threads", [1, 3])
def test_of_several_classes(threads):
    """The gap is that of values in double, in a queue and outside, and bytes are the same."""
    with hides():
        model = libsvmx.train(ROWS, SPECIES, threads=threads, **OPTIONS)
    with hides():
        outside = libsvmx.train(ROWS, SPECIES, policy=OUTSIDE, **OPTIONS)
    assert model.statuses == outside.statuses == ("rounding",) * 3
    assert bytes(model.coef) == bytes(outside.coef)
    for report, other, pair in zip(model.reports, outside.reports, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert report.gap == other.gap == pytest.approx(gap_of_pair(model, pair), rel=1e-6)
        assert report.gap > 2e-3


@pytest.mark.parametrize("policy", [KernelPolicy(), OUTSIDE], ids=["in a queue", "outside"])
@pytest.mark.parametrize("seeder", ["none", "sir"])
def test_of_folds(policy, seeder):
    with hides():
        libsvmx.cross_validate(ROWS, SPECIES, 4, policy=policy, seeder=seeder, **OPTIONS)


def test_of_inner_folds():
    """Probability estimates are there all the same."""
    with hides():
        model = libsvmx.train(ROWS, SPECIES, probability=True, **OPTIONS)
    assert len(model.sigmoid_a) == 3


def test_of_a_regression_in_folds():
    with hides():
        libsvmx.cross_validate(
            ROWS[:60], ROWS[:60, 0] + RNG.normal(size=60), 3, svm_type="epsilon_svr", p=0.1, **OPTIONS
        )


def test_of_an_estimator_and_its_warm_start():
    from sklearn.exceptions import ConvergenceWarning as Theirs

    from libsvmx.sklearn import SVC

    own = SVC(C=2e4, gamma=1.0, warm_start=True)
    for _ in range(2):
        with pytest.warns(Theirs, match="rounding hides what is left"):
            own.fit(ROWS, SPECIES)
        assert own.fit_status_ == 1
        assert own.optimality_ > 2e-3


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_sets_give_no_warning(name):
    """Any warning would be an error."""
    rows, y = data.load(name)
    libsvmx.train(rows, y, C=10)
    libsvmx.cross_validate(rows, y, 3, C=10)
