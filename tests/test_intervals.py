"""jackknife_plus(), cv_plus() and full_conformal(): what refits give, and the coverage that they promise."""

import signal
from itertools import combinations, pairwise
from math import floor, inf, isinf
from threading import Timer

import numpy as np
import pytest
from support.data import load

import libsvmx
from libsvmx import DataError, ParameterError, StoppedEarly
from libsvmx._core import memory
from libsvmx._core.memory import TooLittleMemory
from libsvmx._core.rand import Rand
from libsvmx._core.records import replace
from libsvmx._train import folds
from libsvmx._train.conformal import class_scores, interval_ends, rank_of
from libsvmx._train.observer import Observer
from libsvmx._train.updating.joined import Joiner
from libsvmx.api.arrays import as_matrix

HEART, LABELS = load("heart_scale")
ROWS, LABELS = np.asarray(HEART.toarray()), np.asarray(LABELS)
IRIS, SPECIES = load("iris.scale")
FLOWERS, SPECIES = np.asarray(IRIS.toarray()), np.asarray(SPECIES)
SVR = {"svm_type": "EPSILON_SVR", "C": 2, "gamma": 0.1}
REGRESSIONS = {
    "rbf": (SVR, ROWS[:60, :9], ROWS[:60, 9], ROWS[60:100, :9]),
    "linear": ({**SVR, "kernel_type": "linear", "p": 0.3}, ROWS[:50, :9], ROWS[:50, 9], ROWS[60:100, :9]),
    "new rows among the rows": (SVR, ROWS[:40, :9], ROWS[:40, 9], ROWS[:20, :9]),
}
# Of the first row's class there is no other: without it a class is gone.
LONELY = np.r_[3.0, SPECIES[:40:2], SPECIES[50:90:2]]
CLASSES = {
    "two": ({"C": 1, "gamma": 0.1}, ROWS[:50], LABELS[:50], ROWS[50:80]),
    "weights": ({"C": 5, "gamma": 0.05, "weights": {1: 2.0}}, ROWS[:40], LABELS[:40], ROWS[50:80]),
    "linear": ({"C": 0.3, "kernel_type": "linear"}, ROWS[:40], LABELS[:40], ROWS[30:60]),
    "three": ({"C": 3, "gamma": 0.3}, FLOWERS[::4], SPECIES[::4].copy(), FLOWERS[1::9]),
    "one row of a class": ({"C": 3, "gamma": 0.3}, FLOWERS[[101, *range(0, 40, 2), *range(50, 90, 2)]], LONELY,
                           FLOWERS[1::9]),
}  # fmt: skip
EXACT = 1e-9
TIE = 1e-9


def all_but(X, y, row):
    rest = np.delete(np.arange(len(y)), row)
    return X[rest], y[rest]


def state_of(options, X, y):
    return libsvmx.train(X, y, keep_state=True, **options)


def score(values, own, label, known):
    """Minus the least decision value for a label against another, of decision values of the classes ``own``."""
    for_it = [
        f if label == a else -f for f, (a, b) in zip(values, combinations(own, 2), strict=True) if label in (a, b)
    ]
    return -min(for_it) if for_it else inf


def scores_by(model, X, known):
    """The score of each row with each class, shape (m, k)."""
    own = model.labels.tolist()
    values = libsvmx.decision_values(model, X)
    return np.array([[score(row, own, label, known) for label in known] for row in values])


def no_less(score, other):
    """Ties count."""
    return score >= other or (not isinf(other) and other - score <= TIE * max(1, abs(other)))


def interval(table, residuals, alpha):
    """Barber et al., eq. 1.2, for one new row after another; ``table``: of each row's model."""
    n = len(residuals)
    k = floor(alpha * (n + 1) + 1e-12)
    low, high = np.sort(table - residuals[:, None], axis=0), np.sort(table + residuals[:, None], axis=0)
    return (low[k - 1], high[n - k]) if k else (np.full(table.shape[1], -inf), np.full(table.shape[1], inf))


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


@pytest.mark.parametrize(("C", "p", "alpha"), [(5, 1, 0.3), (5, 1.5, 0.15), (5, 1.5, 0.2), (50, 1, 0.4)])
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


# ---- what is promised --------------------------------------------------------------------------


def test_coverage_of_intervals():
    """0.8 asked for, of 30 trainings of 40 rows: 0.8 but for 0.011 of standard error, and 0.6 at least."""
    rng, hits, widths = np.random.default_rng(3), [], []
    for _ in range(30):
        X = rng.normal(size=(440, 3))
        y = np.sin(X[:, 0]) + X[:, 1] + rng.standard_t(3, size=440)
        state = state_of({"svm_type": "EPSILON_SVR", "gamma": 0.3}, X[:40], y[:40])
        every = (
            libsvmx.jackknife_plus(state, X[40:], 0.2),
            libsvmx.cv_plus(X[:40], y[:40], X[40:], 8, 0.2, svm_type="EPSILON_SVR", gamma=0.3),
            libsvmx.full_conformal(state, X[40:], 0.2),
        )
        hits.append([((one.lower <= y[40:]) & (y[40:] <= one.upper)).mean() for one in every])
        widths.append((every[0].upper - every[0].lower).mean())
    assert np.abs(np.mean(hits, axis=0) - 0.81).max() < 0.03
    assert np.ptp(widths) > 0.1


def test_coverage_of_label_sets():
    rng, hits = np.random.default_rng(4), []
    for _ in range(12):
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
    assert np.abs(np.mean(hits, axis=0) - 0.81).max() < 0.04


def test_full_conformal_is_valid_for_each_alpha():
    """A p-value of the right label is at most alpha with probability alpha at most; here close to it."""
    rng, p = np.random.default_rng(5), []
    for _ in range(10):
        X, y = rng.normal(size=(150, 2)), rng.integers(0, 2, size=150)
        found = libsvmx.full_conformal(state_of({"gamma": 1, "C": 10}, X[:50], y[:50]), X[50:], 0.2)
        p += found.p_values[np.arange(100), np.argsort(found.labels)[y[50:]]].tolist()
    for alpha in (0.05, 0.1, 0.3):
        assert np.mean(np.array(p) <= alpha) <= alpha + 0.03


# ---- threads, states, stops --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jackknife_plus", "full_conformal"])
@pytest.mark.parametrize("kind", ["two", "three", "rbf"])
@pytest.mark.parametrize("cache_size", [100, 1e-3])
def test_the_number_of_threads_changes_no_bit(name, kind, cache_size):
    options, X, y, new = {**CLASSES, **REGRESSIONS}[kind]
    state = state_of({**options, "cache_size": cache_size}, X, y)
    expected = bits(getattr(libsvmx, name)(state, new, threads=1))
    for threads in (2, 3):
        assert bits(getattr(libsvmx, name)(state, new, threads=threads)) == expected


@pytest.mark.parametrize("kind", ["three", "rbf"])
def test_the_number_of_threads_changes_no_bit_of_cv_plus(kind):
    options, X, y, new = {**CLASSES, **REGRESSIONS}[kind]
    expected = bits(libsvmx.cv_plus(X, y, new, 5, threads=1, **options))
    for threads in (2, 3):
        assert bits(libsvmx.cv_plus(X, y, new, 5, threads=threads, **options)) == expected


def bits(found):
    if isinstance(found, libsvmx.LabelSets):
        return found.p_values.tobytes()
    return found.lower.tobytes() + found.upper.tobytes()


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_changes_no_bit_of_p_values(threads):
    options, X, y, new = REGRESSIONS["rbf"]
    state, targets = state_of(options, X, y), np.linspace(-1, 1, len(new))
    one, more = (libsvmx.conformal_p_values(state, new, targets, threads=n) for n in (1, threads))
    assert one.tobytes() == more.tobytes()


@pytest.mark.parametrize("name", ["jackknife_plus", "full_conformal"])
def test_the_state_stays_as_it_is(name):
    options, X, y, new = CLASSES["three"]
    state = state_of(options, X, y)
    state.remove([3, 4])
    ids, values, report = state.ids, state.decision_values(new), state.report
    getattr(libsvmx, name)(state, new)
    np.testing.assert_array_equal(state.ids, ids)
    assert (state.decision_values(new) == values).all()
    assert state.report is report
    found = getattr(libsvmx, name)(state, new)
    fresh = getattr(libsvmx, name)(state_of(options, *all_but(X, y, [3, 4])), new)
    np.testing.assert_array_equal(found.p_values, fresh.p_values)


def test_a_kernel_of_which_no_path_leads_on():
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


class Asked(Observer):
    """Counts, and stops after some."""

    def __init__(self, most):
        self.most, self.heard = most, []

    def counted(self, what, done, total):
        self.heard.append((what, done, total))

    def should_stop(self):
        return len(self.heard) >= self.most


CALLS = {
    "jackknife_plus": lambda state, X, y, new, **kw: libsvmx.jackknife_plus(state, new, **kw),
    "full_conformal": lambda state, X, y, new, **kw: libsvmx.full_conformal(state, new, **kw),
    "cv_plus": lambda state, X, y, new, **kw: libsvmx.cv_plus(X, y, new, 6, **kw),
    "conformal_p_values": lambda state, X, y, new, **kw: libsvmx.conformal_p_values(state, X, y, **kw),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_observer_hears_of_it_and_ends_it(name, threads):
    options, X, y, new = CLASSES["two"]
    state, heard = state_of(options, X, y), Asked(10**9)
    CALLS[name](state, X, y, new, observer=heard, threads=threads)
    what, _, total = heard.heard[0]
    assert heard.heard == [(what, done, total) for done in range(1, total + 1)]
    assert what == ("fold" if name == "cv_plus" else "row")
    with pytest.raises(StoppedEarly, match="has no result"):
        CALLS[name](state, X, y, new, observer=Asked(1), threads=threads)


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
    timer = Timer(0.2, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while True:
            CALLS[name](state, X, y, X, threads=threads)


def test_no_more_memory_than_there_is(monkeypatch):
    options, X, y, new = CLASSES["two"]
    state = state_of(options, X, y)
    monkeypatch.setattr(memory, "free", lambda: 100)
    with pytest.raises(TooLittleMemory, match=r"leaving out \d+ rows needs about .*; give fewer rows as X"):
        libsvmx.jackknife_plus(state, new)
    with pytest.raises(TooLittleMemory, match=r"the values of 5 models needs? about .*; give fewer rows as X_new"):
        libsvmx.cv_plus(X, y, new, 5, **options)


# ---- bad input ---------------------------------------------------------------------------------


def test_labels_and_targets_that_cannot_be_tried():
    options, X, y, new = CLASSES["two"]
    state = state_of(options, X, y)
    with pytest.raises(DataError, match="row 1: the label 7 is not one of the state's"):
        libsvmx.conformal_p_values(state, new[:2], [1, 7])
    with pytest.raises(DataError, match="X has 2 rows, but y has shape"):
        libsvmx.conformal_p_values(state, new[:2], [1])
    with pytest.raises(TypeError, match="a State is needed"):
        libsvmx.conformal_p_values(state.model, new[:2], [1, 1])
    options, X, y, new = REGRESSIONS["rbf"]
    with pytest.raises(DataError, match="row 0: the target inf is not finite"):
        libsvmx.conformal_p_values(state_of(options, X, y), new[:2], [inf, 1])


@pytest.mark.parametrize("name", ["jackknife_plus", "full_conformal"])
def test_what_is_no_state(name):
    call = getattr(libsvmx, name)
    options, X, y, new = CLASSES["two"]
    with pytest.raises(TypeError, match="a State is needed, train"):
        call(libsvmx.train(X, y, **options), new)
    state = state_of(options, X, y)
    for alpha in (0, 1, -0.1, 1.5):
        with pytest.raises(ParameterError, match="alpha must be between 0 and 1"):
            call(state, new, alpha)
    for alpha in ("much", None, float("nan")):
        with pytest.raises(ParameterError, match="alpha"):
            call(state, new, alpha)
    with pytest.raises(DataError, match="columns"):
        call(state, np.ones((1, 14)))
    with pytest.raises(DataError, match="not finite"):
        call(state, np.full((1, 13), np.nan))
    with pytest.raises(ParameterError, match="threads"):
        call(state, new, threads=-1)
    one_class = libsvmx.train(X, y, svm_type="ONE_CLASS", keep_state=True)
    with pytest.raises(ParameterError, match="one-class predicts neither"):
        call(one_class, new)
    with pytest.raises(DataError, match="a state of one class"):
        call(state_of(options, X, np.ones(len(X))), new)
    weighted = libsvmx.train(X, y, sample_weight=np.r_[2.0, np.ones(len(y) - 1)], keep_state=True)
    with pytest.raises(ParameterError, match="rows are exchangeable only if they count alike"):
        call(weighted, new)
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
    with pytest.raises(ParameterError, match="leave probability out"):
        libsvmx.cv_plus(X, y, new, probability=True)
    with pytest.raises(DataError, match="all rows are of one class"):
        libsvmx.cv_plus(X, np.ones(len(X)), new)
    with pytest.raises(DataError, match="X has 50 rows, but y has shape"):
        libsvmx.cv_plus(X, y[1:], new)
    with pytest.raises(DataError, match="columns"):
        libsvmx.cv_plus(X, y, np.ones((1, 14)))
    with pytest.raises(ParameterError, match="there is no parameter"):
        libsvmx.cv_plus(X, y, new, cost=3)
    with pytest.raises(DataError, match="not finite"):
        libsvmx.cv_plus(X, ROWS[:50, 0] * np.nan, new, svm_type="EPSILON_SVR")
