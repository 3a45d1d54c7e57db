"""jackknife_plus(), cv_plus() and full_conformal() equal refits, row by row and candidate by candidate."""

from math import floor, inf

import numpy as np
import pytest
from support.conformal import (
    CLASSES,
    EXACT,
    REGRESSIONS,
    SVR,
    TIE,
    state_of,
)
from support.selection import quick_first

import libsvmx
from libsvmx._train.conformal import class_scores, interval_ends, rank_of

# ---- refits ------------------------------------------------------------------------------------


def target_p_value(options, X, y, row, target):
    """From a refit, and the scores of all rows."""
    fresh = state_of(options, np.vstack([X, row]), np.r_[y, target])
    scores = np.abs(np.r_[y, target] - fresh.predict(np.vstack([X, row])))
    scale = np.abs(y).max() + options.get("p", 0.1)
    return np.mean(scores >= scores[-1] - TIE * max(scale, scores[-1])), scores


def test_p_values_of_labels_are_those_of_the_sets():
    options, X, y, new = CLASSES["three"]
    state = state_of(options, X, y)
    found = libsvmx.full_conformal(state, new)
    for c, label in enumerate(found.labels):
        np.testing.assert_array_equal(libsvmx.conformal_p_values(state, new, [label] * len(new)), found.p_values[:, c])


# The last two have a tube so wide that few rows are beyond it: ends are inside it, or where targets move the optimum.
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
    """If few rows are beyond the tube the interval is the smallest one that contains the set, up to the grid."""
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
    """Targets so distant that the tube of the others is rounding error beside them: still p > alpha up to the ends."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(5, 3))
    state = state_of({"svm_type": "EPSILON_SVR", "C": 1e9, "gamma": 0.5}, X, X[:, 0] + 0.3 * rng.normal(size=60))
    found = libsvmx.full_conformal(state, new, 0.2)
    assert (found.upper - found.lower > 1e6).all()
    for ends in (found.lower, found.upper):
        assert (libsvmx.conformal_p_values(state, new, ends) > 0.2).all()


# ---- ranks and scores --------------------------------------------------------------------------


def test_ranks():
    """floor(alpha (n + 1)) with alpha in decimal, where 0.07 * 100 > 7 and 0.29 * 100 < 29 in floating point."""
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
