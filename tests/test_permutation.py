"""permutation_test(): each score equals cross_validate on the permuted targets; fit_many() is in test_many.py."""

from math import nan, sqrt

import numpy as np
import pytest
from support.data import load
from support.policies import BY_CLASSES, KernelPolicy

import libsvmx
from libsvmx import DataError, Observer, ParameterError, StoppedEarly

HEART, LABELS = load("heart_scale")
ROWS, LABELS = np.asarray(HEART.toarray()), np.asarray(LABELS)


def test_threads_batches_and_memory_change_nothing():
    expected = libsvmx.permutation_test(HEART, LABELS, 20, threads=1).scores
    others = [
        {"threads": 2},
        {"threads": 3},
        {"threads": 2, "policy": KernelPolicy(rows_in_queue=2000)},
        {"threads": 1, "policy": BY_CLASSES},
        {"threads": 3, "policy": BY_CLASSES},
        {"cache_size": 0.01},
    ]
    for options in others:
        assert (libsvmx.permutation_test(ROWS, LABELS, 20, **options).scores == expected).all()


def result(score, scores, scoring="accuracy"):
    return libsvmx.PermutationTest(score=score, scores=np.array(scores), scoring=scoring)


def test_labels_without_meaning_are_as_likely_to_be_good_as_permutations():
    """p-values of independent labels: at most a share a of them is <= a, up to chance (100 draws, 4 sigma)."""
    drawn = np.random.default_rng(5)
    p = [
        libsvmx.permutation_test(drawn.normal(size=(24, 3)), np.resize([1.0, -1.0], 24), 19, 4).p_value
        for _ in range(100)
    ]
    assert 0.3 < np.mean(p) < 0.75
    assert np.mean(np.array(p) <= 0.25) < 0.25 + 4 * sqrt(0.25 * 0.75 / 100)
    assert libsvmx.permutation_test(ROWS, LABELS, 99).p_value == 0.01


def test_progress_and_an_early_end():
    class Watching(Observer):
        def __init__(self, most):
            self.most, self.done = most, []

        def counted(self, what, done, total):
            if what == "permutation":
                self.done.append((done, total))

        def should_stop(self):
            return len(self.done) > self.most

    watching = Watching(100)
    expected = libsvmx.permutation_test(ROWS, LABELS, 8, observer=watching)
    assert watching.done == [(k, 8) for k in range(9)]
    stopped = Watching(5)
    with pytest.raises(StoppedEarly, match="5 of 8 permutations are done") as error:
        libsvmx.permutation_test(ROWS, LABELS, 8, solver="chunked", observer=stopped)
    assert (error.value.partial.scores == expected.scores[:5]).all()
    with pytest.raises(StoppedEarly, match="time limit: 0 of 100000 permutations are done") as error:
        libsvmx.permutation_test(ROWS, LABELS, 100000, time_limit=1e-9)
    assert error.value.partial is None


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"n": 0}, ParameterError, "n must be at least 1, not 0"),
        ({"n": 1.5}, ParameterError, "n"),
        ({"cv": 1}, ParameterError, "at least 2 folds"),
        ({"cv": 271}, ParameterError, "271 folds of 270 rows"),
        ({"scoring": "f1"}, ParameterError, "'accuracy' or 'balanced_accuracy', not 'f1'"),
        ({"svm_type": "nu_svr", "scoring": "accuracy"}, ParameterError, "must be 'mean_squared_error', not"),
        ({"svm_type": "one_class"}, ParameterError, "one-class ignores labels"),
        ({"seeder": "no such"}, ParameterError, "no such"),
        ({"random_state": -1}, ParameterError, "random_state"),
        ({"y": np.ones(270)}, DataError, "all rows are of one class"),
        ({"y": np.ones(270), "svm_type": "nu_svr"}, DataError, "of the same target"),
        ({"y": LABELS[:-1]}, DataError, "270 rows, but y has shape"),
        ({"y": np.where(LABELS > 0, 0.5, 1)}, DataError, "not an integer"),
        ({"y": np.where(LABELS > 0, nan, 1), "svm_type": "nu_svr"}, DataError, "not finite"),
        ({"X": np.where(ROWS > 0.99, np.inf, ROWS)}, DataError, "not finite"),
        ({"X": ROWS[:0], "y": LABELS[:0]}, DataError, "no data"),
    ],
)
def test_refusals(change, error, match):
    with pytest.raises(error, match=match):
        libsvmx.permutation_test(**{"X": ROWS, "y": LABELS, "n": 3, **change})


def test_an_interval_has_a_level():
    for level in (0.0, 1.0, nan):
        with pytest.raises(ParameterError, match=r"level must be (between 0 and 1|finite)"):
            result(1.0, [2.0]).interval(level)


def test_errors_that_differ_by_rounding_alone_are_equal():
    """Left out one by one, with a tube as wide as all targets: constants, and sums in other orders."""
    drawn = np.random.default_rng(7)
    X, y = drawn.normal(size=(30, 3)), np.round(drawn.normal(size=30), 3)
    found = libsvmx.permutation_test(X, y, 50, 30, svm_type="epsilon_svr", p=100.0)
    assert len(set(found.scores.tolist())) > 1 and found.p_value == 1.0


def test_a_level_that_is_no_number():
    found = libsvmx.permutation_test(ROWS, LABELS, 3, 3)
    with pytest.raises(ParameterError, match="level"):
        found.interval("x")
