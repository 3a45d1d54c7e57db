"""Kernel rows against plain Python arithmetic: the float that LIBSVM would round to, for every storage and kernel."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._kernels.products import ColumnProducts, PanelProducts, PostingProducts, products_of
from libsvmx._kernels.rowstore import RowStore
from support import data
from support.examples import examples

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import NOBODY
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx.exceptions import DataError

LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED = range(5)


def dot(a, b):
    """Ascending features, products rounded one by one."""
    b = dict(b)
    total = 0.0
    for j, v in a:
        if j in b:
            total += v * b[j]
    return total


def power(base, times):
    result = 1.0
    while times > 0:
        if times % 2:
            result *= base
        base *= base
        times //= 2
    return result


def expected(matrix, i, j, kind, degree, gamma, coef0):
    a, b = matrix.row(i), matrix.row(j)
    product = dot(a, b)
    if kind == LINEAR:
        return product
    if kind == POLY:
        return power(gamma * product + coef0, degree)
    if kind == RBF:
        return math.exp(-gamma * (dot(a, a) + dot(b, b) - 2 * product))
    return math.tanh(gamma * product + coef0)


def rows_of(n):
    return filled("i", range(n))


@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF, SIGMOID])
@pytest.mark.parametrize("arguments", [("heart_scale", 45), ("a1a.xz", 41), ("glass.scale", 33), ("text", 0)])
def test_rows_are_rounded_as_in_libsvm(arguments, kind):
    matrix, _ = data.load(*arguments)
    n = min(matrix.n_rows, 50)
    kernel = Kernel(matrix, rows_of(n), kind, 3, 0.37, 0.25)
    for i in range(n):
        values = [expected(matrix, i, j, kind, 3, 0.37, 0.25) for j in range(n)]
        assert list(kernel.row(i)) == [float(np.float32(v)) for v in values]
        assert kernel.diagonal[i] == values[i]


def test_density_decides_the_storage():
    assert isinstance(products_of(data.load("heart_scale")[0], rows_of(270)), PanelProducts)
    assert isinstance(products_of(data.load("text")[0], rows_of(20)), PostingProducts)
    assert isinstance(products_of(data.load("a1a.xz")[0], rows_of(1605)), ColumnProducts)


@given(st.lists(st.floats(-103.9, 0.0), min_size=1, max_size=300))
@examples(200)
def test_rbf_rounds_as_libm(exponents):
    """x = -gamma d^2 over the whole range where float(exp(x)) is not 0, on one-feature rows."""
    values = [math.sqrt(-x) for x in exponents]
    matrix = data.from_rows([[], *([(1, v)] if v else [] for v in values)])
    row = Kernel(matrix, rows_of(len(values) + 1), RBF, 0, 1.0, 0.0).row(0)
    assert list(row) == [1.0] + [float(np.float32(math.exp(-(v * v)))) for v in values]


def test_rbf_near_the_middle_of_two_floats():
    """Arguments whose exp is within a few double ulps of the midpoint between two floats, found by search."""
    floats = np.random.default_rng(5).uniform(0.01, 0.99, 4000).astype(np.float32)
    middles = (floats.astype(np.float64) + np.nextafter(floats, np.float32(2)).astype(np.float64)) / 2
    x = np.log(middles)
    near = sum(abs(math.exp(v) - m) <= 2 * np.spacing(m) for v, m in zip(x, middles, strict=True))
    assert near > 3000  # the search finds such arguments
    values = np.sqrt(-x)
    matrix = data.from_rows([[], *([(1, v)] for v in values)])
    row = Kernel(matrix, rows_of(len(values) + 1), RBF, 0, 1.0, 0.0).row(0)
    assert list(row)[1:] == [float(np.float32(math.exp(-(v * v)))) for v in values]


def test_rbf_of_distant_rows():
    """Subnormal floats, and zeros beyond them."""
    values = np.sqrt(np.linspace(86.0, 760.0, 500))
    matrix = data.from_rows([[], *([(1, v)] for v in values)])
    row = list(Kernel(matrix, rows_of(501), RBF, 0, 1.0, 0.0).row(0))[1:]
    assert row == [float(np.float32(math.exp(-(v * v)))) for v in values]
    assert 0 < min(v for v in row if v) < 1e-40
    assert row[-1] == 0.0


def test_products_and_blocks_in_double():
    matrix, _ = data.load("heart_scale", 40)
    kernel = Kernel(matrix, rows_of(40), RBF, 0, 0.3, 0.0)
    K = np.array([[expected(matrix, i, j, RBF, 0, 0.3, 0.0) for j in range(40)] for i in range(40)])
    weights = np.linspace(-1, 1, 40)
    np.testing.assert_allclose(kernel.times(weights, NOBODY), K @ weights, rtol=1e-13)
    sources, members = filled("i", [3, 39, 3]), filled("i", [7, 0])
    out = np.empty((2, 3), order="F")
    kernel.block(sources, members, out, NOBODY)
    np.testing.assert_allclose(out, K[[7, 0]][:, [3, 39, 3]], rtol=1e-15)
    for n in (39, 41):
        with pytest.raises(ValueError, match=f"{n} weights of 40 rows"):
            kernel.times(np.ones(n), NOBODY)
    for bad in (-1, 40):
        for places in ((filled("i", [3, bad, 3]), members), (sources, filled("i", [7, bad]))):
            with pytest.raises(IndexError, match=f"row {bad} of 40"):
                kernel.block(*places, out, NOBODY)
    with pytest.raises(ValueError, match="a matrix of 2 x 3"):
        kernel.block(members, sources, out, NOBODY)


def test_rows_of_a_selection():
    matrix, _ = data.load("heart_scale", 40)
    chosen = [7, 3, 3, 39, 0]
    kernel = Kernel(matrix, filled("i", chosen), RBF, 0, 0.5, 0.0)
    whole = Kernel(matrix, rows_of(40), RBF, 0, 0.5, 0.0)
    for i, row in enumerate(chosen):
        assert list(kernel.row(i)) == [whole.row(row)[j] for j in chosen]


def test_given_values_are_taken_by_serial_number():
    rows = [[(0, 2.0), (1, 10.0), (2, 11.0)], [(0, 1.0), (1, 20.0), (2, 21.0)]]
    kernel = Kernel(data.from_rows(rows), rows_of(2), PRECOMPUTED, 0, 0.0, 0.0)
    assert list(kernel.row(0)) == [11.0, 10.0]
    assert list(kernel.row(1)) == [21.0, 20.0]
    assert list(kernel.diagonal) == [11.0, 20.0]


@pytest.mark.parametrize("kind", [LINEAR, POLY, RBF])
def test_overflow_is_refused(kind):
    matrix = data.from_rows([[(1, 1.0)], [(1, 1e200)]])
    with pytest.raises(DataError, match=r"row 1: .*overflows"):
        Kernel(matrix, rows_of(2), kind, 3, 1.0, 0.0)
    with pytest.raises(DataError, match=r"row 1: .*overflows"):  # the row of the matrix, not of the selection
        Kernel(matrix, filled("i", [1, 0]), kind, 3, 1.0, 0.0)


@given(st.lists(st.integers(0, 29), min_size=1, max_size=400), st.integers(3, 31))
@examples(60)
def test_store_gives_the_kernel_rows(requests, capacity):
    """With any sequence of requests, and any number of slots."""
    matrix, _ = data.load("heart_scale", 30)
    kernel = Kernel(matrix, rows_of(30), RBF, 0, 0.5, 0.0)
    whole = [list(kernel.row(i)) for i in range(30)]
    store = RowStore(kernel, 4.0 * 32 * capacity)
    assert store.capacity == min(capacity, 30)
    for i in requests:
        assert list(store.fetch(i)) == whole[i]
    assert len(set(requests)) <= store.rows_computed <= len(requests)
    if len(set(requests)) <= store.capacity:
        assert store.rows_computed == len(set(requests))


def test_store_keeps_frequently_requested_rows():
    kernel = Kernel(data.load("heart_scale", 30)[0], rows_of(30), RBF, 0, 0.5, 0.0)
    store = RowStore(kernel, 4.0 * 32 * 4)
    for i in (*(0, 1) * 3, *range(2, 30)):  # whatever other rows are requested
        store.fetch(i)
    assert store.rows_computed == 30
    for i in (0, 1, 29):
        store.fetch(i)
    assert store.rows_computed == 30
    store.fetch(2)
    assert store.rows_computed == 31


def test_store_forgets_uses_of_long_ago():
    kernel = Kernel(data.load("heart_scale", 30)[0], rows_of(30), RBF, 0, 0.5, 0.0)
    store = RowStore(kernel, 4.0 * 32 * 4)
    for i in (*(0, 1) * 50, *(2, 3) * 40, 4):  # 4 replaces 0 or 1
        store.fetch(i)
    assert store.rows_computed == 5
    for i in (2, 3, 4):
        store.fetch(i)
    assert store.rows_computed == 5
