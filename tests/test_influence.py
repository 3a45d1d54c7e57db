"""influence(): what leaving a row out does to validation rows equals a training without it."""

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from support.data import load
from support.interrupts import ctrl_c
from support.machine import too_little_memory

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly

HEART, LABELS = load("heart_scale")
ROWS, LABELS = np.asarray(HEART.toarray()), np.asarray(LABELS)
IRIS, SPECIES = load("iris.scale")
FLOWERS, SPECIES = np.asarray(IRIS.toarray()), np.asarray(SPECIES)
SVR, ONE = {"svm_type": "EPSILON_SVR", "C": 2, "gamma": 0.1}, {"svm_type": "ONE_CLASS", "nu": 0.33, "gamma": 0.1}
POLY = {"C": 1, "kernel_type": "poly", "coef0": 1, "gamma": 0.1}
KINDS = {
    "two classes": ({"C": 1, "gamma": 0.1}, ROWS[:90], LABELS[:90], ROWS[90:], LABELS[90:]),
    "class weights": ({"C": 5, "gamma": 0.05, "weights": {1: 2.0}}, ROWS[:70], LABELS[:70], ROWS[90:], LABELS[90:]),
    "linear": ({"C": 0.3, "kernel_type": "linear"}, ROWS[:80], LABELS[:80], ROWS[90:], LABELS[90:]),
    "polynomial": (POLY, ROWS[:60], LABELS[:60], ROWS, LABELS),
    "classes": ({"C": 3, "gamma": 0.3}, FLOWERS[::2], SPECIES[::2], FLOWERS[1::2], SPECIES[1::2]),
    "regression": (SVR, ROWS[:80, :9], ROWS[:80, 9], ROWS[:, :9], ROWS[:, 9]),
    "one-class": (ONE, ROWS[:61], LABELS[:61], ROWS[61:], LABELS[61:]),
}
EXACT = 1e-9


def values_of(state, X, labels):
    """Decision values in the order of ``labels``: classes may come in another one without the row that was first."""
    values = state.decision_values(X)
    if labels is None:
        return values
    own, out, at = state.model.labels.tolist(), np.full((len(X), len(labels) * (len(labels) - 1) // 2), np.nan), 0
    for i, first in enumerate(labels):
        for second in labels[i + 1 :]:
            if first in own and second in own:
                a, b = sorted((own.index(first), own.index(second)))
                place = a * len(own) - a * (a + 1) // 2 + b - a - 1
                out[:, at] = values[:, place] * (1 if own[a] == first else -1)
            at += 1
    return out


def changes_of(found, n):
    """Those of all n rows, shape (n, m, n_functions)."""
    changes = found.decision_values
    changes = changes[:, :, None] if changes.ndim == 2 else changes
    out = np.zeros((n, *changes.shape[1:]))
    out[found.rows] = changes
    return out


def mean_loss(name, values, y, labels):
    """The formulas of the docstring, row by row."""
    if name == "squared":
        return np.mean((values[:, 0] - y) ** 2)
    if labels is None:
        return np.mean([(1 if f > 0 else -1) != own for (f,), own in zip(values, y, strict=True)])
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]]
    losses = []
    for row, own in zip(values, y, strict=True):
        if name == "hinge":
            signs = [(1 if own == pair[0] else -1, f) for pair, f in zip(pairs, row, strict=True) if own in pair]
            losses.append(np.mean([max(0.0, 1 - s * f) for s, f in signs]))
        else:
            won = [pair[0] if f > 0 else pair[1] for pair, f in zip(pairs, row, strict=True)]
            losses.append(max(labels, key=won.count) != own)  # the first of equal ones
    return np.mean(losses)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_a_training_without_the_row(kind, exhaustive):
    options, X, y, tests, truth = KINDS[kind]
    state = libsvmx.train(X, y, keep_state=True, **options)
    labels = None if state.model.labels is None else state.model.labels.tolist()
    base = values_of(state, tests, labels)
    results = {name: libsvmx.influence(state, tests, truth, loss=name) for name in losses_of(state)}
    for name, found in results.items():
        assert found.base_loss == pytest.approx(mean_loss(name, base, truth, labels), abs=1e-12)
    assert any((found.loss > 0).any() for found in results.values())
    changes = changes_of(found, len(X))
    assert len(found.rows) == len(X) if kind == "one-class" else 0 < len(found.rows) < len(X)
    for row in range(0, len(X), 1 if exhaustive else 4):
        rest = np.delete(np.arange(len(X)), row)
        fresh = libsvmx.train(X[rest], y[rest], keep_state=True, **options)
        values = values_of(fresh, tests, labels)
        np.testing.assert_allclose(base + changes[row], values, rtol=0, atol=EXACT)
        for name, found in results.items():
            expected = mean_loss(name, values, truth, labels) - found.base_loss
            assert found.loss[row] == pytest.approx(expected, abs=EXACT)


def losses_of(state):
    kind = state.param.svm_type.name
    return {"EPSILON_SVR": ["squared"], "ONE_CLASS": ["error"]}.get(kind, ["hinge", "error"])


def test_the_default_loss_is_the_first_of_the_table():
    for kind, name in (("two classes", "hinge"), ("regression", "squared"), ("one-class", "error")):
        options, X, y, tests, truth = KINDS[kind]
        state = libsvmx.train(X, y, keep_state=True, **options)
        found, named = libsvmx.influence(state, tests, truth), libsvmx.influence(state, tests, truth, loss=name)
        assert (found.loss == named.loss).all()


def test_rows_that_the_optimum_does_not_rest_on_have_none():
    options, X, y, tests, truth = KINDS["two classes"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    found = libsvmx.influence(state, tests, truth)
    np.testing.assert_array_equal(found.rows, np.sort(np.asarray(state.model.row_numbers)) - 1)
    others = np.setdiff1d(np.arange(len(X)), found.rows)
    assert (found.loss[others] == 0).all()
    assert (found.loss[found.rows] != 0).all()
    assert found.decision_values.shape == (len(found.rows), len(tests))


@pytest.mark.parametrize("kind", ["two classes", "classes", "regression", "one-class"])
@pytest.mark.parametrize("cache_size", [100, 1e-3])
def test_the_number_of_threads_changes_no_bit(kind, cache_size):
    """With little room for kernel rows, too: what is kept depends on the rows that a thread has had before."""
    options, X, y, tests, truth = KINDS[kind]
    state = libsvmx.train(X, y, keep_state=True, cache_size=cache_size, **options)
    expected = libsvmx.influence(state, tests, truth, threads=1)
    for threads in (2, 3):
        found = libsvmx.influence(state, tests, truth, threads=threads)
        assert found.decision_values.tobytes() == expected.decision_values.tobytes()
        assert found.loss.tobytes() == expected.loss.tobytes()


def test_the_state_stays_as_it_is():
    options, X, y, tests, truth = KINDS["classes"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    state.remove([3, 4])
    ids, values, report = state.ids, state.decision_values(tests), state.report
    found = libsvmx.influence(state, tests, truth)
    np.testing.assert_array_equal(found.ids, ids)
    assert (state.decision_values(tests) == values).all()
    assert state.report is report
    row = found.rows[5]
    state.remove([ids[row]])
    after = values_of(state, tests, [1, 2, 3])
    np.testing.assert_allclose(values + found.decision_values[5], after, rtol=0, atol=EXACT)


def test_weights_of_rows():
    """A row of weight 2 leaves whole; one of weight 0 has no influence."""
    X, y, w = ROWS[:60], LABELS[:60], np.ones(60)
    w[::3], w[5::7] = 2.0, 0.0
    state = libsvmx.train(X, y, gamma=0.1, sample_weight=w, keep_state=True)
    found = libsvmx.influence(state, ROWS[60:], LABELS[60:])
    assert (w[found.rows] > 0).all()
    base = state.decision_values(ROWS[60:])[:, 0]
    for change, row in zip(found.decision_values, found.rows.tolist(), strict=True):
        rest = np.delete(np.arange(60), row)
        fresh = libsvmx.train(X[rest], y[rest], gamma=0.1, sample_weight=w[rest], keep_state=True)
        np.testing.assert_allclose(base + change, values_of(fresh, ROWS[60:], [1, -1])[:, 0], rtol=0, atol=EXACT)


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


def test_a_kernel_of_which_no_path_leads_on():
    """SMO in double takes over, to eps."""
    options = {"kernel_type": "sigmoid", "gamma": 0.7, "coef0": -0.3, "C": 4, "eps": 1e-8}
    X, y = ROWS[:50], LABELS[:50]
    state = libsvmx.train(X, y, keep_state=True, **options)
    found = libsvmx.influence(state, ROWS[60:], LABELS[60:], threads=2)
    assert len(found.rows) > 0
    assert np.isfinite(found.loss).all()
    assert found.loss.tobytes() == libsvmx.influence(state, ROWS[60:], LABELS[60:], threads=1).loss.tobytes()


class Asked(libsvmx.Observer):
    """Counts rows, and stops after some."""

    def __init__(self, most):
        self.most, self.rows = most, []

    def counted(self, what, done, total):
        self.rows.append((what, done, total))

    def should_stop(self):
        return len(self.rows) >= self.most


@pytest.mark.parametrize("threads", [1, 2])
def test_an_observer_hears_of_rows_and_ends_it(threads):
    options, X, y, tests, truth = KINDS["two classes"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    heard = Asked(10**9)
    n = len(libsvmx.influence(state, tests, truth, observer=heard, threads=threads).rows)
    assert heard.rows == [("row", done, n) for done in range(1, n + 1)]
    with pytest.raises(StoppedEarly, match="influence has no result"):
        libsvmx.influence(state, tests, truth, observer=Asked(3), threads=threads)
    assert libsvmx.influence(state, tests, truth).base_loss > 0


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
    model = libsvmx.train(X, y, **options)
    with pytest.raises(TypeError, match="a State is needed"):
        libsvmx.influence(model, tests, truth)
    state = libsvmx.train(X, y, keep_state=True, **options)
    with pytest.raises(ParameterError, match="loss of C_SVC must be hinge or error, not 'squared'"):
        libsvmx.influence(state, tests, truth, loss="squared")
    with pytest.raises(ParameterError, match="not None"):
        libsvmx.influence(state, tests, truth, loss=None)
    with pytest.raises(DataError, match="there are no validation rows"):
        libsvmx.influence(state, tests[:0], truth[:0])
    with pytest.raises(DataError, match="X has 180 rows, but y has shape"):
        libsvmx.influence(state, tests, truth[1:])
    with pytest.raises(DataError, match="row 2: the label 7 is not one of the state's"):
        libsvmx.influence(state, tests[:4], [1, -1, 7, 1])
    with pytest.raises(DataError, match="row 1: the label nan"):
        libsvmx.influence(state, tests[:2], [1, np.nan])
    with pytest.raises(DataError, match="columns"):
        libsvmx.influence(state, np.ones((1, 14)), [1])
    with pytest.raises(ParameterError):
        libsvmx.influence(state, tests, truth, threads=-1)
    one = libsvmx.train(X, np.ones(len(X)), keep_state=True)
    with pytest.raises(DataError, match="a state of one class"):
        libsvmx.influence(one, tests, np.ones(len(tests)))
    options, X, y, tests, truth = KINDS["regression"]
    state = libsvmx.train(X, y, keep_state=True, **options)
    with pytest.raises(DataError, match="row 1: the target inf is not finite"):
        libsvmx.influence(state, tests[:2], [0.0, np.inf])
    with pytest.raises(ParameterError, match="loss of EPSILON_SVR must be squared, not 'hinge'"):
        libsvmx.influence(state, tests, truth, loss="hinge")


def test_formulations_of_two_sums():
    for options in ({"svm_type": "NU_SVC"}, {"svm_type": "NU_SVR"}):
        state = libsvmx.train(ROWS, LABELS, keep_state=True, **options)
        with pytest.raises(ParameterError, match=f"influence is not known of {options['svm_type']}"):
            libsvmx.influence(state, ROWS, LABELS)


def test_rows_that_hold_rho():
    """Nothing is free, and rho is the middle of an interval that a row without a coefficient ends."""
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
