"""Rows of 0 and 1, counted by bits: every kernel value from plain arithmetic, and from the code for other data."""

import math

import numpy as np
import pytest
from support import data

from libsvmx._core.buffers import filled
from libsvmx._kernels.kernel_matrix import Kernel

LINEAR, POLY, RBF, SIGMOID = range(4)
KINDS = [LINEAR, POLY, RBF, SIGMOID]


def sparse_rows(X, zeros=()):
    """Rows of (index, value); the cells in ``zeros`` are stored although they are 0."""
    return [[(j + 1, float(v)) for j, v in enumerate(row) if v or (i, j) in zeros] for i, row in enumerate(X.tolist())]


def plain(X, i, kind, degree, gamma, coef0):
    """K(i, .) in plain Python, one value for each number of shared ones."""
    square = X.sum(axis=1)
    shared = X @ X[i]

    def value(s, product):
        if kind == LINEAR:
            return product
        if kind == POLY:
            result, base, t = 1.0, gamma * product + coef0, degree
            while t > 0:
                result = result * base if t % 2 else result
                base *= base
                t //= 2
            return result
        if kind == RBF:
            return math.exp(-gamma * (square[i] + s - 2 * product))
        return math.tanh(gamma * product + coef0)

    known = {pair: value(*pair) for pair in set(zip(square.tolist(), shared.tolist(), strict=True))}
    return np.array([known[pair] for pair in zip(square.tolist(), shared.tolist(), strict=True)]).astype(np.float32)


def check(X, kind, gamma=0.3, coef0=0.25, zeros=(), sources=None):
    n = len(X)
    rows = sparse_rows(X, zeros)
    options = kind, 3, gamma, coef0
    bits = Kernel(data.from_rows(rows), filled("i", range(n)), *options)
    # one additional value, neither 0 nor 1
    other = Kernel(data.from_rows([*rows, [(1, 2.0)]]), filled("i", range(n + 1)), *options)
    assert bits.binary
    assert not other.binary
    for i in sources or sorted({0, n // 2, n - 1}):
        values = plain(X, i, *options)
        assert np.asarray(bits.row(i)).tolist() == values.tolist()
        assert np.asarray(other.row(i))[:n].tolist() == values.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "n", [1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 511, 512, 513, 767, 1023, 1024, 1025, 1535, 1536, 1537, 2049]
)
def test_numbers_of_targets(n, kind):
    rng = np.random.default_rng(n)
    for width, share in ((9, 0.4), (60, 0.3)):  # tables of at most 32 values and of more
        X = (rng.random((n, width)) < share).astype(float)
        X[n // 3] = 1.0
        check(X, kind, sources=[0, n // 3, n - 1])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_ones(kind):
    X = (np.random.default_rng(0).random((150, 20)) < 0.3).astype(float)
    X[[0, 7, 63, 64, 149]] = 0.0
    check(X, kind, sources=[0, 1, 7, 64, 149])


@pytest.mark.parametrize("kind", KINDS)
def test_explicit_zeros_are_not_ones(kind):
    rng = np.random.default_rng(1)
    X = (rng.random((70, 12)) < 0.3).astype(float)
    X[5] = 0.0
    zeros = {(int(i), int(j)) for i, j in zip(*np.nonzero(rng.random(X.shape) < 0.3), strict=True)} | {(5, 0), (5, 11)}
    check(X, kind, zeros=zeros, sources=range(70))


@pytest.mark.parametrize("gamma", [0.001, 0.3, 3.34, 3.36, 5.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_ones(kind, gamma):
    """Up to 1023 in a row; from gamma = 104 / 31 on, exp(-gamma d) is 0 already at a distance below 32."""
    counts = [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 255, 256, 511, 512, 513, 1022, 1023]
    rng = np.random.default_rng(2)
    X = np.zeros((2 * len(counts), 1023))
    for i, count in enumerate(counts):
        X[2 * i, :count] = 1.0
        X[2 * i + 1, rng.permutation(1023)[:count]] = 1.0
    check(X, kind, gamma, sources=range(len(X)))


@pytest.mark.parametrize("width", [14, 15, 16, 17, 40])
@pytest.mark.parametrize("gamma", [0.01, 3.34, 3.36, 50.0])
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_of_tables(kind, gamma, width):
    """Of 2 width + 1 values, around 32, and all distances from 0 to width."""
    X = np.tril(np.ones((width + 1, width)), -1)
    X = np.vstack([X, X[:, ::-1], 1.0 - X])
    check(X, kind, gamma, sources=range(len(X)))


@pytest.mark.parametrize("kind", KINDS)
def test_more_ones_than_planes_hold(kind):
    """From 1024 ones on rows are not kept as bits, with the same values."""
    X = np.ones((6, 1024))
    X[1:, 0] = 0.0
    X[2, :500] = 0.0
    kernel = Kernel(data.from_rows(sparse_rows(X)), filled("i", range(6)), kind, 3, 0.01, 0.25)
    assert not kernel.binary
    check(X[1:], kind, 0.01)
    for i in range(6):
        assert np.asarray(kernel.row(i)).tolist() == plain(X, i, kind, 3, 0.01, 0.25).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_targets_in_any_order(kind):
    """A subset of the rows, repeated and out of order, as in a solver's active set."""
    rng = np.random.default_rng(3)
    X = (rng.random((90, 30)) < 0.3).astype(float)
    kernel = Kernel(data.from_rows(sparse_rows(X)), filled("i", range(90)), kind, 3, 0.3, 0.25)
    members = rng.integers(0, 90, 700)
    sources = [0, 5, 5, 89]
    for i, row in zip(sources, kernel.targets(filled("i", members.tolist())).rows(sources), strict=True):
        assert np.asarray(row).tolist() == plain(X, i, kind, 3, 0.3, 0.25)[members].tolist()
