"""The number of kernel values that a training computes: reproducible, and no larger with shrinking or more memory."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from support import data

import libsvmx

N = 1600
# Size of all kernel rows, in MB; a store told to keep few rows keeps a few more.
ALL_ROWS = 4 * N * N / 2**20


def noisy(features):
    """Half of the rows become support vectors, as with real tables."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, features))
    return X, np.sign(X @ rng.normal(size=features) + 2.5 * rng.normal(size=N))


def scores(X, y):
    return X, X[:, 0] * X[:, 1] + np.cos(X[:, 2]) + y / 4


def bits():
    rows, y = data.load("a1a.xz", N)
    return rows, y


SETS = {
    "cheap values": (bits, {"gamma": 0.05}),
    "few features": (lambda: noisy(20), {}),
    "by the block": (lambda: noisy(300), {}),
    "of a regression": (lambda: scores(*noisy(20)), {"svm_type": 3, "p": 0.2}),
    "nu-SVC": (lambda: noisy(20), {"svm_type": 1, "nu": 0.6}),
    "one class": (lambda: noisy(20), {"svm_type": 2, "nu": 0.4}),
}


def work(name, share, **more):
    """Rows and values computed, the latter as a share of all; and the bytes of the model."""
    make, options = SETS[name]
    model = libsvmx.train(*make(), cache_size=share * ALL_ROWS, threads=1, **options, **more)
    (report,) = model.reports
    return report.rows_computed, report.values_computed / N**2, bytes(np.asarray(model.sv_coef))


@pytest.mark.parametrize("name", SETS)
def test_the_same_work_beside_a_load(name):
    first, over = work(name, 0.6), threading.Event()

    def load():
        while not over.is_set():
            np.dot(np.ones(100_000), np.ones(100_000))

    others = [threading.Thread(target=load) for _ in range(3)]
    for other in others:
        other.start()
    try:
        assert [work(name, 0.6) for _ in range(3)] == [first] * 3
    finally:
        over.set()
        for other in others:
            other.join()


@pytest.mark.parametrize("name", ["few features", "by the block", "nu-SVC", "one class"])
def test_shrinking_computes_no_value_twice(name):
    for share in (0.1, 0.3, 0.6, 1.2):
        values, unshrunk = (work(name, share, shrinking=shrinking)[1] for shrinking in (True, False))
        assert values <= 1.05 * unshrunk


@pytest.mark.parametrize("name", SETS)
def test_more_memory_means_no_more_work(name):
    shares = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2]
    found = [work(name, share) for share in shares]
    values = [each[1] for each in found]
    assert all(later <= 1.02 * before for before, later in pairwise(values))
    assert len({each[2] for each in found}) == 1
