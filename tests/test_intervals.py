"""jackknife_plus(), cv_plus() and full_conformal() are what refits give, row by row and candidate by candidate."""

from itertools import pairwise
from math import floor, inf

import numpy as np
import pytest
from support.conformal import (
    CLASSES,
    EXACT,
    REGRESSIONS,
    ROWS,
    SVR,
    TIE,
    all_but,
    interval,
    no_less,
    scores_by,
    state_of,
)
from support.selection import quick_first

import libsvmx
from libsvmx import DataError
from libsvmx._train import folds
from libsvmx._train.conformal import class_scores, interval_ends, rank_of
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.updating.joined import Joiner
from libsvmx.api.arrays import as_matrix

# ---- refits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.01])
@pytest.mark.parametrize("kind", REGRESSIONS)
def test_jackknife_plus_equals_refits(kind, alpha):
    options, X, y, new = REGRESSIONS[kind]
    found = libsvmx.jackknife_plus(state_of(options, X, y), new, alpha)
    refits = [state_of(options, *all_but(X, y, row)) for row in range(len(y))]
    residuals = np.array([abs(y[i] - refit.predict(X[i : i + 1])[0]) for i, refit in enumerate(refits)])
    lower, upper = interval(np.array([refit.predict(new) for refit in refits]), residuals, alpha)
    np.testing.assert_allclose(found.lower, lower, rtol=0, atol=EXACT)
    np.testing.assert_allclose(found.upper, upper, rtol=0, atol=EXACT)
    assert found.alpha == alpha
    assert np.isinf(found.lower).all() == (alpha == 0.01)


@pytest.mark.parametrize("kind", CLASSES)
def test_label_sets_of_jackknife_plus_equal_refits(kind):
    options, X, y, new = CLASSES[kind]
    found = libsvmx.jackknife_plus(state_of(options, X, y), new, 0.2)
    known, n = found.labels.tolist(), len(y)
    expected = np.ones((len(new), len(known)))
    for i in range(n):
        model = state_of(options, *all_but(X, y, i)).model
        own = scores_by(model, X[i : i + 1], known)[0, known.index(y[i])]
        others = scores_by(model, new, known)
        expected += np.array([[no_less(own, other) for other in row] for row in others])
    np.testing.assert_array_equal(found.p_values, expected / (n + 1))
    np.testing.assert_array_equal(found.contains, expected / (n + 1) > 0.2)
    assert 0 < found.contains.mean() < 1


@pytest.mark.parametrize("kind", list(CLASSES))
def test_full_conformal_equals_refits(kind):
    options, X, y, new = CLASSES[kind]
    state = state_of(options, X, y)
    found = libsvmx.full_conformal(state, new[:12], 0.2)
    known, n = found.labels.tolist(), len(y)
    for t, row in enumerate(new[:12]):
        for c, label in enumerate(known):
            all_rows, all_labels = np.vstack([X, row]), np.r_[y, label]
            scores = scores_by(state_of(options, all_rows, all_labels).model, all_rows, known)
            own = [scores[i, known.index(of)] for i, of in enumerate(all_labels)]
            assert found.p_values[t, c] == sum(no_less(s, own[-1]) for s in own) / (n + 1)
    assert 0 < found.contains.mean() < 1


@pytest.mark.parametrize("kind", ["two", "linear"])
def test_decision_values_with_a_row_that_joins(kind):
    options, X, y, new = CLASSES[kind]
    state = state_of(options, X, y)
    joiner, (pair,) = Joiner(state, as_matrix(new), Observer()), state.binaries
    for t, row in enumerate(new):
        for label in pair:
            fresh = state_of(options, np.vstack([X, row]), np.r_[y, label])
            sign = 1.0 if fresh.model.labels[0] == pair[0] else -1.0
            expected = sign * fresh.decision_values(np.vstack([X, row]))[:, 0]
            np.testing.assert_allclose(joiner.join(pair, t, label).values, expected, rtol=0, atol=EXACT)


def target_p_value(options, X, y, row, target):
    """By a refit, and the scores of all rows."""
    fresh = state_of(options, np.vstack([X, row]), np.r_[y, target])
    scores = np.abs(np.r_[y, target] - fresh.predict(np.vstack([X, row])))
    scale = np.abs(y).max() + options.get("p", 0.1)
    return np.mean(scores >= scores[-1] - TIE * max(scale, scores[-1])), scores


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_p_values_of_targets_equal_refits(kind):
    options, X, y, new = REGRESSIONS[kind]
    targets = np.random.default_rng(0).normal(size=12)
    found = libsvmx.conformal_p_values(state_of(options, X, y), new[:12], targets)
    expected = [target_p_value(options, X, y, row, t)[0] for row, t in zip(new[:12], targets, strict=True)]
    np.testing.assert_array_equal(found, expected)
    assert len(set(expected)) > 3


def test_p_values_of_labels_are_those_of_the_sets():
    options, X, y, new = CLASSES["three"]
    state = state_of(options, X, y)
    found = libsvmx.full_conformal(state, new)
    for c, label in enumerate(found.labels):
        np.testing.assert_array_equal(libsvmx.conformal_p_values(state, new, [label] * len(new)), found.p_values[:, c])


# The last two have a tube so wide that few rows are beyond it: ends are within it, or where targets move the optimum.
WIDE = {"svm_type": "EPSILON_SVR", "C": 5, "gamma": 0.1, "p": 0.8}
TUBES = {"rbf": (REGRESSIONS["rbf"][0], 0.2), "linear": (REGRESSIONS["linear"][0], 0.1),
         "no tube": ({**SVR, "p": 0.0}, 0.1), "large C": ({**SVR, "C": 1e3, "p": 0.01}, 0.3),
         "wide": (WIDE, 0.4), "wider": ({**WIDE, "p": 0.6}, 0.25)}  # fmt: skip


@pytest.mark.parametrize("name", TUBES)
def test_intervals_of_full_conformal_equal_refits(name):
    """p is above alpha at the ends, and not beyond; where rows are on the tube, an end fits as well as the k-th row."""
    options, alpha = TUBES[name]
    _, X, y, new = REGRESSIONS["rbf"]
    found = libsvmx.full_conformal(state_of(options, X, y), new[:5], alpha)
    k, p = floor(alpha * (len(y) + 1)), options.get("p", 0.1)
    exact = []
    for row, lower, upper in zip(new[:5], found.lower, found.upper, strict=True):
        for end, out in ((lower, -1), (upper, 1)):
            value, scores = target_p_value(options, X, y, row, end)
            assert value > alpha
            assert target_p_value(options, X, y, row, end + out * 1e-6 * (1 + abs(end)))[0] <= alpha
            exact.append(np.sort(scores[:-1])[-k] >= p - EXACT and abs(np.sort(scores[:-1])[-k] - scores[-1]) < EXACT)
            for step in np.geomspace(0.01, 100, 12):
                assert target_p_value(options, X, y, row, end + out * step)[0] <= alpha
        inside = target_p_value(options, X, y, row, 0.5 * (lower + upper))[0]
        assert inside > alpha
    assert all(exact) == (not name.startswith("wid"))


@pytest.mark.parametrize(
    ("C", "p", "alpha"), quick_first([(5, 1.5, 0.2), (50, 1, 0.4), (5, 1, 0.3), (5, 1.5, 0.15)], 2, names=3)
)
def test_the_set_of_targets_by_a_fine_grid(C, p, alpha):
    """Where few rows are beyond the tube the interval is the least that contains the set, as far as a grid tells."""
    _, X, y, new = REGRESSIONS["rbf"]
    state = state_of({**WIDE, "C": C, "p": p}, X, y + np.random.default_rng(0).normal(size=len(y)))
    found, (grid, step) = libsvmx.full_conformal(state, new[:2], alpha), np.linspace(-20, 20, 801, retstep=True)
    for t in range(2):
        kept = grid[libsvmx.conformal_p_values(state, new[[t] * len(grid)], grid) > alpha]
        assert kept[0] - step <= found.lower[t] <= kept[0]
        assert kept[-1] <= found.upper[t] <= kept[-1] + step
        ends = np.array([found.lower[t], found.upper[t], found.lower[t] - 1e-7, found.upper[t] + 1e-7])
        inside = libsvmx.conformal_p_values(state, new[[t] * 4], ends) > alpha
        assert inside.tolist() == [True, True, False, False]


def test_a_C_that_bends_the_model_to_any_target():
    """Targets so far off that the tube of the others is rounding beside them: still p > alpha up to the ends."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(5, 3))
    state = state_of({"svm_type": "EPSILON_SVR", "C": 1e9, "gamma": 0.5}, X, X[:, 0] + 0.3 * rng.normal(size=60))
    found = libsvmx.full_conformal(state, new, 0.2)
    assert (found.upper - found.lower > 1e6).all()
    for ends in (found.lower, found.upper):
        assert (libsvmx.conformal_p_values(state, new, ends) > 0.2).all()


@pytest.mark.parametrize("kind", REGRESSIONS)
def test_decision_values_with_a_target_that_joins(kind):
    options, X, y, new = REGRESSIONS[kind]
    joiner = Joiner(state_of(options, X, y), as_matrix(new), Observer())
    for t, row in enumerate(new):
        for target in (-3.0, 0.1, 2.0, 50.0):
            fresh = state_of(options, np.vstack([X, row]), np.r_[y, target])
            expected = fresh.predict(np.vstack([X, row]))
            np.testing.assert_allclose(joiner.join(None, t, target).values, expected, rtol=0, atol=EXACT)


def fold_models(X, y, options, k, random_state=1):
    """The models of cross_validate's folds, and the rows that each leaves out."""
    order, bounds = (
        folds.plain_folds(len(y), k, Rand(random_state))
        if "SVR" in options.get("svm_type", "")
        else folds.stratified_folds(y, k, Rand(random_state))
    )
    order = np.asarray(order)
    for begin, end in pairwise(bounds):
        rest = np.r_[order[:begin], order[end:]]
        yield libsvmx.train(X[rest], y[rest], **options), order[begin:end]


@pytest.mark.parametrize("options", [SVR, {"svm_type": "NU_SVR", "C": 2, "gamma": 0.1}])
def test_cv_plus_equals_refits(options):
    _, X, y, new = REGRESSIONS["rbf"]
    found = libsvmx.cv_plus(X, y, new, 7, 0.2, **options)
    left_out, table = np.zeros(len(y)), np.zeros((len(y), len(new)))
    for model, out in fold_models(X, y, options, 7):
        left_out[out], table[out] = libsvmx.predict(model, X[out]), libsvmx.predict(model, new)
    validated = libsvmx.cross_validate(X, y, 7, **options)
    np.testing.assert_array_equal(validated.decision_values[:, 0], left_out)
    lower, upper = interval(table, abs(y - left_out), 0.2)
    np.testing.assert_array_equal(found.lower, lower)
    np.testing.assert_array_equal(found.upper, upper)


@pytest.mark.parametrize("kind", ["two", "three", "one row of a class"])
@pytest.mark.parametrize("random_state", [1, 5])
def test_label_sets_of_cv_plus_equal_refits(kind, random_state):
    options, X, y, new = CLASSES[kind]
    found = libsvmx.cv_plus(X, y, new, 4, 0.1, random_state=random_state, **options)
    known, n = found.labels.tolist(), len(y)
    expected = np.ones((len(new), len(known)))
    for model, out in fold_models(X, y, options, 4, random_state):
        others = scores_by(model, new, known)
        for i, own in zip(out, scores_by(model, X[out], known), strict=True):
            expected += np.vectorize(no_less)(own[known.index(y[i])], others)
    np.testing.assert_array_equal(found.p_values, expected / (n + 1))


def test_cv_plus_with_a_precomputed_kernel():
    X, y, new = ROWS[:60, :9], ROWS[:60, 9], ROWS[60:, :9]
    linear = libsvmx.cv_plus(X, y, new, 5, svm_type="EPSILON_SVR", kernel_type="linear", eps=1e-8)
    options = {"svm_type": "EPSILON_SVR", "kernel_type": "precomputed", "eps": 1e-8}
    given = libsvmx.cv_plus(X @ X.T, y, new @ X.T, 5, **options)
    np.testing.assert_allclose(given.lower, linear.lower, rtol=0, atol=1e-5)
    with pytest.raises(DataError, match="columns"):
        libsvmx.cv_plus(X @ X.T, y, np.ones((3, 61)), 5, **options)


# ---- ranks and scores --------------------------------------------------------------------------


def test_ranks():
    """floor(alpha (n + 1)) of alpha as it is written, where 0.07 * 100 > 7 and 0.29 * 100 < 29 in floating point."""
    assert [rank_of(0.07, 99), rank_of(0.29, 99), rank_of(0.1, 9), rank_of(0.1, 8)] == [7, 29, 1, 0]
    table, of_all, residuals = np.zeros((1, 2)), np.zeros(9, dtype=int), np.arange(1.0, 10.0)
    lower, upper = interval_ends(lambda part: table[:, part], 2, of_all, residuals, 0.1, lambda: None)
    assert (lower.tolist(), upper.tolist()) == ([-9, -9], [9, 9])
    lower, upper = interval_ends(lambda part: table[:, part], 2, of_all, residuals, 0.2, lambda: None)
    assert (lower.tolist(), upper.tolist()) == ([-8, -8], [8, 8])


def test_scores_of_classes():
    nan = np.nan
    assert class_scores(np.array([2.0]), 2).tolist() == [-2, 2]
    assert class_scores(np.array([1.0, -2.0, 3.0]), 3).tolist() == [2, 1, 3]  # 0 beats 1, loses to 2; 1 beats 2
    assert class_scores(np.array([nan, -2.0, nan]), 3).tolist() == [2, inf, -2]
