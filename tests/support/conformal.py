"""Rows, trainings and refits, to compare intervals and label sets with."""

from itertools import combinations
from math import floor, inf, isinf

import numpy as np

import libsvmx
from support.data import dense_rows

ROWS, LABELS = dense_rows("heart_scale")
FLOWERS, SPECIES = dense_rows("iris.scale")
SVR = {"svm_type": "EPSILON_SVR", "C": 2, "gamma": 0.1}
REGRESSIONS = {
    "rbf": (SVR, ROWS[:60, :9], ROWS[:60, 9], ROWS[60:100, :9]),
    "linear": ({**SVR, "kernel_type": "linear", "p": 0.3}, ROWS[:50, :9], ROWS[:50, 9], ROWS[60:100, :9]),
    "new rows among the rows": (SVR, ROWS[:40, :9], ROWS[:40, 9], ROWS[:20, :9]),
}
# The only row of its class: without it the class is missing.
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
    """Minus the smallest decision value for a label against another; ``own`` are the classes of the decision values."""
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
    """At least as large, up to rounding: ties count."""
    return score >= other or (not isinf(other) and other - score <= TIE * max(1, abs(other)))


def interval(table, residuals, alpha):
    """Barber et al., eq. 1.2, for each new row; ``table``: their predictions by each training row's model."""
    n = len(residuals)
    k = floor(alpha * (n + 1) + 1e-12)
    low, high = np.sort(table - residuals[:, None], axis=0), np.sort(table + residuals[:, None], axis=0)
    return (low[k - 1], high[n - k]) if k else (np.full(table.shape[1], -inf), np.full(table.shape[1], inf))
