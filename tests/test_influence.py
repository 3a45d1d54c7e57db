"""influence(): the effect of leaving a row out on validation rows equals that of a training without it."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from support.data import dense_rows, load
from support.interrupts import ctrl_c
from support.machine import too_little_memory

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly

ROWS, LABELS = dense_rows("heart_scale")
FLOWERS, SPECIES = dense_rows("iris.scale")
SVR = {"svm_type": "EPSILON_SVR", "C": 2, "gamma": 0.1}
KINDS = {
    "two classes": ({"C": 1, "gamma": 0.1}, ROWS[:90], LABELS[:90], ROWS[90:], LABELS[90:]),
    "regression": (SVR, ROWS[:80, :9], ROWS[:80, 9], ROWS[:, :9], ROWS[:, 9]),
}


def test_rows_that_the_optimum_does_not_rest_on_have_none():
    options, X, y, tests, truth = KINDS["two classes"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    found = libsvmx.influence(state, tests, truth)
    np.testing.assert_array_equal(found.rows, np.sort(np.asarray(state.model.row_numbers)) - 1)
    others = np.setdiff1d(np.arange(len(X)), found.rows)
    assert (found.loss[others] == 0).all()
    assert (found.loss[found.rows] != 0).all()
    assert found.decision_values.shape == (len(found.rows), len(tests))


def test_a_row_that_is_all_of_its_class():
    X, y = FLOWERS[:101], np.r_[SPECIES[:100], 3.0]
    state = libsvmx.train(X, y, keep_state=True, C=3, gamma=0.3)
    found = libsvmx.influence(state, FLOWERS[:100:5], SPECIES[:100:5])
    assert isnan(found.loss[100])
    assert not np.isnan(found.loss[:100]).any()
    gone = found.decision_values[found.rows.tolist().index(100)]
    assert np.isnan(gone).all(axis=0).tolist() == [False, True, True]  # pairs (1, 2), (1, 3), (2, 3)
    assert (gone[:, 0] == 0).all()
    assert isnan(libsvmx.influence(state, FLOWERS[:9], SPECIES[:9], loss="error").loss[100])


def test_a_kernel_without_paths():
    """SMO in double takes over, to eps."""
    options = {"kernel_type": "sigmoid", "gamma": 0.7, "coef0": -0.3, "C": 4, "eps": 1e-8}
    X, y = ROWS[:50], LABELS[:50]
    state = libsvmx.train(X, y, keep_state=True, **options)
    found = libsvmx.influence(state, ROWS[60:], LABELS[60:], threads=2)
    assert len(found.rows) > 0
    assert np.isfinite(found.loss).all()
    assert found.loss.tobytes() == libsvmx.influence(state, ROWS[60:], LABELS[60:], threads=1).loss.tobytes()


def test_a_time_limit_of_the_whole_call():
    X, y = load("splice.xz")
    state = libsvmx.train(X, y, keep_state=True)
    state.param = replace(state.param, time_limit=1e-9)
    with pytest.raises(StoppedEarly, match="time"):
        libsvmx.influence(state, X, y)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(threads):
    X, y = load("a1a.xz")
    state = libsvmx.train(X, y, gamma=0.05, keep_state=True)
    with ctrl_c():
        while True:
            libsvmx.influence(state, X, y, threads=threads)


def test_no_more_memory_than_there_is():
    options, X, y, tests, truth = KINDS["two classes"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    with too_little_memory(1000, r"leaving out \d+ rows needs about .*; give fewer rows as X"):
        libsvmx.influence(state, tests, truth)


def test_what_has_no_influence():
    options, X, y, tests, truth = KINDS["two classes"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    with pytest.raises(ParameterError, match="not None"):
        libsvmx.influence(state, tests, truth, loss=None)
    with pytest.raises(DataError, match="there are no validation rows"):
        libsvmx.influence(state, tests[:0], truth[:0])
    with pytest.raises(DataError, match="X has 180 rows, but y has shape"):
        libsvmx.influence(state, tests, truth[1:])
    with pytest.raises(DataError, match="row 1: the label nan"):
        libsvmx.influence(state, tests[:2], [1, np.nan])
    options, X, y, tests, truth = KINDS["regression"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    with pytest.raises(DataError, match="row 1: the target inf is not finite"):
        libsvmx.influence(state, tests[:2], [0.0, np.inf])
    with pytest.raises(ParameterError, match="loss of EPSILON_SVR must be squared, not 'hinge'"):
        libsvmx.influence(state, tests, truth, loss="hinge")


def test_rows_that_hold_rho():
    """Nothing is free, and rho is the middle of an interval bounded by a row without a coefficient."""
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 10.0])
    options = {"svm_type": "EPSILON_SVR", "p": 50.0, "gamma": 0.1}
    found = libsvmx.influence(libsvmx.train(X, y, keep_state=True, **options), [[0.5]], [1.0])
    np.testing.assert_array_equal(found.rows, [0, 2])
    np.testing.assert_allclose(found.decision_values, [[0.5], [-4.5]], atol=1e-12)
    X, y, options = np.array([[1.36], [1.225], [-0.298]]), np.array([0.0, 2.0, 2.0]), {"C": 0.1, "gamma": 0.0236}
    state = libsvmx.train(X, y, keep_state=True, **options)
    found, values = libsvmx.influence(state, [[0.3]], [2.0]), state.decision_values([[0.3]])[0, 0]
    for row in (1, 2):
        rest = [0, 3 - row]
        without = libsvmx.train(X[rest], y[rest], keep_state=True, **options).decision_values([[0.3]])[0, 0]
        changes = dict(zip(found.rows.tolist(), found.decision_values[:, 0].tolist(), strict=True))
        assert without - values == pytest.approx(changes.get(row, 0.0), abs=1e-9)


def test_a_state_without_support_vectors():
    state = libsvmx.train(ROWS, np.ones(len(ROWS)), svm_type="EPSILON_SVR", keep_state=True)
    found = libsvmx.influence(state, ROWS[:5], np.zeros(5))
    assert (found.loss == 0).all()
    assert found.decision_values.shape == (0, 5)
