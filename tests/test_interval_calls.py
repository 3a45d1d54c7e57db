"""jackknife_plus(), cv_plus() and full_conformal(): coverage, threads, states, stops and bad input."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from support.conformal import CLASSES, FLOWERS, LABELS, REGRESSIONS, ROWS, SPECIES, state_of
from support.data import load
from support.interrupts import ctrl_c
from support.machine import too_little_memory

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly

# ---- coverage ----------------------------------------------------------------------------------


def test_coverage_of_intervals(exhaustive):
    """0.8 requested, 30 trainings of 40 rows: 0.8 up to a standard error of 0.011, and at least 0.6."""
    rng, hits, widths = np.random.default_rng(3), [], []
    trainings, n, near = (30, 440, 0.03) if exhaustive else (8, 100, 0.08)
    for _ in range(trainings):
        X = rng.normal(size=(n, 3))
        y = np.sin(X[:, 0]) + X[:, 1] + rng.standard_t(3, size=n)
        state = state_of({"svm_type": "EPSILON_SVR", "gamma": 0.3}, X[:40], y[:40])
        every = (
            libsvmx.jackknife_plus(state, X[40:], 0.2),
            libsvmx.cv_plus(X[:40], y[:40], X[40:], 8, 0.2, svm_type="EPSILON_SVR", gamma=0.3),
            libsvmx.full_conformal(state, X[40:], 0.2),
        )
        hits.append([((one.lower <= y[40:]) & (y[40:] <= one.upper)).mean() for one in every])
        widths.append((every[0].upper - every[0].lower).mean())
    assert np.abs(np.mean(hits, axis=0) - 0.81).max() < near
    assert np.ptp(widths) > 0.1


def test_coverage_of_label_sets(exhaustive):
    rng, hits = np.random.default_rng(4), []
    for _ in range(12 if exhaustive else 3):
        X = rng.normal(size=(160, 2))
        y = np.where(X[:, 0] + 0.8 * rng.normal(size=160) > 0, 1, np.where(X[:, 1] > 0.5, 2, 3))
        state = state_of({"C": 1, "gamma": 0.5}, X[:60], y[:60])
        every = (
            libsvmx.full_conformal(state, X[60:], 0.2),
            libsvmx.jackknife_plus(state, X[60:], 0.2),
            libsvmx.cv_plus(X[:60], y[:60], X[60:], 6, 0.2, gamma=0.5),
        )
        places = [[one.labels.tolist().index(label) for label in y[60:]] for one in every]
        hits.append([one.contains[np.arange(100), own].mean() for one, own in zip(every, places, strict=True)])
    assert np.abs(np.mean(hits, axis=0) - 0.81).max() < (0.04 if exhaustive else 0.08)


def test_full_conformal_is_valid_for_each_alpha():
    """A p-value of the right label is at most alpha with probability at most alpha; here close to it."""
    rng, p = np.random.default_rng(5), []
    for _ in range(10):
        X, y = rng.normal(size=(150, 2)), rng.integers(0, 2, size=150)
        found = libsvmx.full_conformal(state_of({"gamma": 1, "C": 10}, X[:50], y[:50]), X[50:], 0.2)
        p += found.p_values[np.arange(100), np.argsort(found.labels)[y[50:]]].tolist()
    for alpha in (0.05, 0.1, 0.3):
        assert np.mean(np.array(p) <= alpha) <= alpha + 0.03


# ---- threads, states, stops --------------------------------------------------------------------


def bits(found):
    if isinstance(found, libsvmx.LabelSets):
        return found.p_values.tobytes()
    return found.lower.tobytes() + found.upper.tobytes()


def test_a_kernel_without_paths():
    """SMO in double takes over, to eps."""
    options = {"kernel_type": "sigmoid", "gamma": 0.7, "coef0": -0.3, "C": 4, "eps": 1e-8}
    state = state_of(options, ROWS[:50], LABELS[:50])
    assert libsvmx.jackknife_plus(state, ROWS[60:]).contains.any()
    assert libsvmx.full_conformal(state, ROWS[60:70]).contains.any()


def test_no_new_rows():
    for kind in ("two", "rbf"):
        options, X, y, new = {**CLASSES, **REGRESSIONS}[kind]
        for threads in (1, 2):
            found = libsvmx.jackknife_plus(state_of(options, X, y), new[:0], threads=threads)
            assert len(bits(found)) == 0
        assert len(bits(libsvmx.cv_plus(X, y, new[:0], 3, **options))) == 0
        for name in ("full_conformal", "jackknife_plus"):
            assert len(bits(getattr(libsvmx, name)(state_of(options, X, y), new[:0]))) == 0
        assert libsvmx.conformal_p_values(state_of(options, X, y), new[:0], []).shape == (0,)


CALLS = {
    "jackknife_plus": lambda state, X, y, new, **kw: libsvmx.jackknife_plus(state, new, **kw),
    "full_conformal": lambda state, X, y, new, **kw: libsvmx.full_conformal(state, new, **kw),
    "cv_plus": lambda state, X, y, new, **kw: libsvmx.cv_plus(X, y, new, 6, **kw),
    "conformal_p_values": lambda state, X, y, new, **kw: libsvmx.conformal_p_values(state, X, y, **kw),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_time_limit_of_the_whole_call(name):
    X, y = load("splice.xz")
    state = libsvmx.train(X[:300], y[:300], keep_state=True)
    state.param = replace(state.param, time_limit=1e-9)
    limit = {"time_limit": 1e-9} if name == "cv_plus" else {}
    with pytest.raises(StoppedEarly, match="time"):
        CALLS[name](state, X[:300], y[:300], X, **limit)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(name, threads):
    X, y = load("splice.xz")
    state = libsvmx.train(X, y, keep_state=True)
    with ctrl_c():
        while True:
            CALLS[name](state, X, y, X, threads=threads)


def test_no_more_memory_than_there_is():
    options, X, y, new = CLASSES["two"]
    state = state_of(options, X, y)
    with too_little_memory(100, r"leaving out \d+ rows needs about .*; give fewer rows as X"):
        libsvmx.jackknife_plus(state, new)
    with too_little_memory(100, r"the values of 5 models needs? about .*; give fewer rows as X_new"):
        libsvmx.cv_plus(X, y, new, 5, **options)


# ---- bad input ---------------------------------------------------------------------------------


def test_labels_and_targets_that_cannot_be_tried():
    options, X, y, new = CLASSES["two"]
    state = state_of(options, X, y)
    with pytest.raises(DataError, match="row 1: the label 7 is not one of the state's"):
        libsvmx.conformal_p_values(state, new[:2], [1, 7])
    with pytest.raises(DataError, match="X has 2 rows, but y has shape"):
        libsvmx.conformal_p_values(state, new[:2], [1])
    options, X, y, new = REGRESSIONS["rbf"]
    with pytest.raises(DataError, match="row 0: the target inf is not finite"):
        libsvmx.conformal_p_values(state_of(options, X, y), new[:2], [inf, 1])


@pytest.mark.parametrize("name", ["jackknife_plus", "full_conformal"])
def test_alpha_and_rows_that_cannot_be(name):
    call = getattr(libsvmx, name)
    options, X, y, new = CLASSES["two"]
    state = state_of(options, X, y)
    for alpha in (0, 1, -0.1, 1.5):
        with pytest.raises(ParameterError, match="alpha must be between 0 and 1"):
            call(state, new, alpha)
    for alpha in ("much", None, float("nan")):
        with pytest.raises(ParameterError, match="alpha"):
            call(state, new, alpha)
    with pytest.raises(DataError, match="not finite"):
        call(state, np.full((1, 13), np.nan))
    with pytest.raises(ParameterError, match="a class of weight 0"):
        call(state_of({"weights": {1: 0.0}}, FLOWERS, SPECIES), FLOWERS)


def test_what_cv_plus_refuses():
    options, X, y, new = CLASSES["two"]
    with pytest.raises(ParameterError, match="alpha must be between 0 and 1"):
        libsvmx.cv_plus(X, y, new, 5, 1.0, **options)
    with pytest.raises(ParameterError, match="at least 2 folds, not 1"):
        libsvmx.cv_plus(X, y, new, 1, **options)
    with pytest.raises(ParameterError, match="k must be"):
        libsvmx.cv_plus(X, y, new, "many", **options)
    with pytest.raises(ParameterError, match="one-class"):
        libsvmx.cv_plus(X, y, new, svm_type="ONE_CLASS")
    with pytest.raises(ParameterError, match="leave out probability"):
        libsvmx.cv_plus(X, y, new, probability=True)
    with pytest.raises(DataError, match="all rows are of one class"):
        libsvmx.cv_plus(X, np.ones(len(X)), new)
    with pytest.raises(DataError, match="X has 50 rows, but y has shape"):
        libsvmx.cv_plus(X, y[1:], new)
    with pytest.raises(DataError, match="columns"):
        libsvmx.cv_plus(X, y, np.ones((1, 14)))
    with pytest.raises(ParameterError, match="cost is called C here"):
        libsvmx.cv_plus(X, y, new, cost=3)
    with pytest.raises(DataError, match="not finite"):
        libsvmx.cv_plus(X, ROWS[:50, 0] * np.nan, new, svm_type="EPSILON_SVR")


@pytest.mark.parametrize("posed", [CLASSES["two"], REGRESSIONS["rbf"]], ids=["classes", "regression"])
def test_jackknife_plus_trains_a_state(posed):
    options, X, y, new = posed
    state = libsvmx.train(X, y, keep_state=True, **options)
    expected = bits(libsvmx.jackknife_plus(state, new, 0.2))
    assert bits(libsvmx.jackknife_plus(X, y, new, 0.2, **options)) == expected
    assert bits(libsvmx.jackknife_plus(X, y, X_new=new, alpha=0.2, **options)) == expected
    with pytest.raises(ParameterError, match="alpha"):
        libsvmx.jackknife_plus(X, y, new, 1.0, **options)
    with pytest.raises(TypeError, match="a State is needed"):
        libsvmx.jackknife_plus(state.model, new, 0.2)


def test_jackknife_plus_trains_by_keywords_too():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    options = {"svm_type": "EPSILON_SVR", "gamma": 0.3}
    by_keyword = libsvmx.jackknife_plus(X=X[:30], y=y[:30], X_new=X[30:], alpha=0.2, **options)
    expected = libsvmx.jackknife_plus(state_of(options, X[:30], y[:30]), X[30:], 0.2)
    assert np.array_equal(by_keyword.lower, expected.lower)
    with pytest.raises(TypeError):
        libsvmx.jackknife_plus()
