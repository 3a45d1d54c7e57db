"""Postings in several tiles, given values from both sides, and rows computed in blocks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._kernels.products import InPlaceProducts, IntegerProducts, PanelProducts, PostingProducts, products_of
from support import data
from support.examples import examples

from libsvmx._core.buffers import filled
from libsvmx._core.process import ThreadPool
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx.api.arrays import borrowed, from_dense

LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED = range(5)
KINDS = [LINEAR, POLY, RBF, SIGMOID]


def random_rows(seed, n, width, entries):
    """n rows of ``entries`` nonzeros, normally distributed, at random features of 1 ... width."""
    rng = np.random.default_rng(seed)
    return [
        [(int(j) + 1, float(rng.normal())) for j in np.sort(rng.choice(width, entries, replace=False))]
        for _ in range(n)
    ]


def dots(rows, i):
    """<row i, .>, products rounded one by one in ascending order of features."""
    values = []
    a = rows[i]
    for b in map(dict, rows):
        total = 0.0
        for j, v in a:
            if j in b:
                total += v * b[j]
        values.append(total)
    return np.array(values).astype(np.float32)


@pytest.mark.parametrize(
    ("n", "width", "tile"),
    [
        (1023, 300, 1024),
        (1024, 300, 1024),
        (1025, 300, 1024),
        (2048, 300, 1024),
        (2500, 300, 1024),
        (2500, 20000, 4096),
        (3000, 8000, 2048),
        (4100, 4090, 2048),
    ],
)
def test_tiles_of_postings(n, width, tile):
    rows = random_rows(n, n, width, 3)
    rows[n // 2] = []
    rows[-1] = rows[0]
    matrix = data.from_rows(rows)
    products = products_of(matrix, filled("i", range(n)))
    assert isinstance(products, PostingProducts)
    assert products.tile == tile
    kernel = Kernel(matrix, filled("i", range(n)), LINEAR, 0, 0.0, 0.0)
    for i in (0, n // 2, n - 2):
        assert np.asarray(kernel.row(i)).tolist() == dots(rows, i).tolist()


@pytest.mark.parametrize("width", [300, 20000])
def test_postings_of_repeated_rows(width):
    rows = random_rows(4, 200, width, 3)
    kernel = Kernel(data.from_rows(rows), filled("i", range(200)), LINEAR, 0, 0.0, 0.0)
    members = np.random.default_rng(5).integers(0, 200, 2600)
    members[:40] = 7
    sources = [7, 0, 7, 199]
    for i, row in zip(sources, kernel.targets(filled("i", members.tolist())).rows(sources), strict=True):
        assert np.asarray(row).tolist() == dots(rows, i)[members].tolist()


def test_given_values_from_both_sides():
    """A given matrix need not be symmetric: K(i, target), or transposed, K(target, i)."""
    rng = np.random.default_rng(6)
    n, serial = 40, rng.permutation(40)
    given_values = rng.normal(size=(n, n))
    # row i has serial number serial[i] + 1
    rows = [[(0, serial[i] + 1.0), *((s + 1, given_values[i, s]) for s in range(n))] for i in range(n)]
    kernel = Kernel(data.from_rows(rows), filled("i", range(n)), PRECOMPUTED, 0, 0.0, 0.0)
    K = given_values[:, serial].astype(np.float32)  # K[i, j]
    members = rng.integers(0, n, 1500)
    chosen = filled("i", members.tolist())
    for transposed, expected in ((False, K), (True, K.T)):
        rows = kernel.targets(chosen, transposed).rows(range(n))
        for i in range(n):
            assert np.asarray(rows[i]).tolist() == expected[i][members].tolist()


# density and width: how the block is computed
BLOCKS = {
    "dense, over all features": (70, 60, PanelProducts),
    "at 60 percent": (100, 60, PanelProducts),
    "dense, over nonzeros": (100, 45, PanelProducts),
    "postings": (400, 20, PostingProducts),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 127, 128, 129, 255, 257, 300])
@pytest.mark.parametrize("name", BLOCKS)
def test_a_row_in_a_block_is_the_row_alone(name, n, kind):
    width, entries, storage = BLOCKS[name]
    rows = random_rows(n, n, width, entries)
    if n > 2:
        rows[1] = rows[1][:3]  # of very different lengths
        rows[-1] = [(j + 1, 1.0 / (j + 1)) for j in range(width)]
    matrix = data.from_rows(rows)
    everyone = filled("i", range(n))
    kernel = Kernel(matrix, everyone, kind, 3, 0.05, 0.25)
    targets = kernel.targets(everyone)
    if n > 2:  # otherwise features have a single value, which is stored differently
        assert targets.blocks
        assert isinstance(products_of(matrix, everyone), storage)
    alone = [bytes(kernel.row(i)) for i in range(n)]
    if kind == LINEAR:
        assert alone[n // 2] == dots(rows, n // 2).tobytes()
    for count in (1, 2, 15, 16, 23):
        sources = [(7 * k + n // 2) % n for k in range(count)]
        assert [bytes(row) for row in targets.rows(sources)] == [alone[i] for i in sources]


@given(st.integers(0, 2**32 - 1))
@examples(40)
def test_blocks_over_some_of_the_rows(seed):
    """Sources that are not targets, repeated targets, all-zero sources."""
    rng = np.random.default_rng(seed)
    width, n = int(rng.integers(20, 120)), int(rng.integers(2, 200))
    rows = [
        [(j + 1, float(rng.normal())) for j in range(width) if rng.random() < share]
        for share in rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], n, p=[0.05, 0.1, 0.15, 0.3, 0.4])
    ]
    kernel = Kernel(data.from_rows(rows), filled("i", range(n)), LINEAR, 0, 0.0, 0.0)
    members = rng.integers(0, n, int(rng.integers(1, 300)))
    sources = rng.integers(0, n, int(rng.integers(1, 40))).tolist()
    computed = kernel.targets(filled("i", members.tolist())).rows(sources)
    for i, row in zip(sources, computed, strict=True):
        assert np.asarray(row).tolist() == np.asarray(kernel.row(i))[members].tolist()


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("n", [1, 1023, 1025, 2500, 5000])
@pytest.mark.parametrize(("width", "entries"), [(30, 20), (300, 3), (9000, 2), (400, 20), (30, None)])
def test_rows_shared_by_threads(width, entries, n, threads):
    """Panels, postings in small and large tiles, blocks of both, bits: any split gives the same row."""
    rows = random_rows(n, n, width, entries or 9)
    if entries is None:
        rows = [[(j, 1.0) for j, _ in row] for row in rows]
    everyone = filled("i", range(n))
    kernel = Kernel(data.from_rows(rows), everyone, RBF, 0, 0.1, 0.0)
    assert kernel.binary == (entries is None)
    targets, pool = kernel.targets(everyone), ThreadPool(threads)
    for count in (1, 5, 16):
        sources = [(n // 2 + k) % n for k in range(count)]
        assert [bytes(row) for row in targets.rows(sources, pool)] == [bytes(kernel.row(i)) for i in sources]


@pytest.mark.parametrize("width", [24, 25, 60, 255])
@pytest.mark.parametrize("n", [1, 15, 17, 128, 300])
def test_dot_products_of_integers(n, width):
    """Up to |x|^2 = 2^31 - 1, the limit of 32-bit sums; some features are 0."""
    rng = np.random.default_rng(n)
    X = rng.integers(-1000, 1001, (n, width))
    X[rng.random((n, width)) < 0.6] = 0
    X[: n // 3] = 0
    X[: n // 3, :4] = [32767, 32767, 362, 5]
    X[1 : n // 3 : 2] *= -1
    assert (X * X).sum(axis=1).max() == 2**31 - 1 or n < 3
    rows = [[(j + 1, float(v)) for j, v in enumerate(row) if v] for row in X.tolist()]
    rows[0] = [(j + 1, float(v)) for j, v in enumerate(X[0].tolist())]  # with explicit zeros
    matrix, everyone = data.from_rows(rows), filled("i", range(n))
    assert isinstance(products_of(matrix, everyone, integers=True), IntegerProducts) or n < 3
    kernel = Kernel(matrix, everyone, LINEAR, 0, 0.0, 0.0)
    assert kernel.integers
    expected = (X @ X.T).astype(float).astype(np.float32)
    assert [list(kernel.row(i)) for i in range(n)] == expected.tolist()
    assert [list(row) for row in kernel.targets(everyone).rows(range(n))] == expected.tolist()


@pytest.mark.parametrize("width", [1, 2, 7, 40, 64, 129, 300])
@pytest.mark.parametrize("size", [1.0, 100.0, 1e4, 1e6, 1e8, 1e12])
def test_rows_in_one_pass_change_no_bit(size, width):
    """Rows far from the origin and near each other: |x|^2 + |z|^2 - 2 <x, z> leaves only rounding error."""
    rng = np.random.default_rng(width)
    n = 300 + width
    X = np.sqrt(size / width) + 0.5 / np.sqrt(width) * rng.normal(size=(n, width))
    X[n // 2 : n // 2 + 9] = X[:9]
    X[40:60] *= 1 + 6 / np.sqrt(size)  # far enough that values are subnormal, or 0
    rows = [[(j + 1, v) for j, v in enumerate(row)] for row in X.tolist()]
    everyone = filled("i", range(n))
    kernel = Kernel(data.from_rows(rows), everyone, RBF, 0, 1.0, 0.0)
    squares = [dot(row, row) for row in rows]
    sources = [3, 41, n // 2 + 3, n - 1, *range(5)]
    expected = [[exp_float(-(squares[i] + squares[j] - 2 * dot(rows[i], rows[j]))) for j in range(n)] for i in sources]
    assert [list(row) for row in kernel.targets(everyone).rows(sources)] == expected
    assert [list(kernel.row(i)) for i in sources] == expected


@pytest.mark.parametrize("width", [1, 5, 12, 60])
@pytest.mark.parametrize("size", [1e3, 1e5, 1e6, 1e7, 1e9])
def test_unscaled_rows_in_one_pass_change_no_bit(size, width):
    """Rows far enough apart that nearly all values are 0, however large the rounding; some are near each other."""
    rng = np.random.default_rng(width)
    n = 700
    X = size * rng.normal(size=(n, width))
    X[::50] = X[0] + rng.normal(size=(n // 50, width)) * np.geomspace(1e-3, 30.0, n // 50)[:, None]
    rows = [[(j + 1, v) for j, v in enumerate(row)] for row in X.tolist()]
    everyone = filled("i", range(n))
    kernel = Kernel(data.from_rows(rows), everyone, RBF, 0, 1.0, 0.0)
    assert kernel.targets(everyone).panels.mostly_zero
    squares = [dot(row, row) for row in rows]
    sources = [0, 50, 100, 3, n - 1]
    expected = [[exp_float(-(squares[i] + squares[j] - 2 * dot(rows[i], rows[j]))) for j in range(n)] for i in sources]
    assert [list(row) for row in kernel.targets(everyone).rows(sources)] == expected
    assert [list(kernel.row(i)) for i in sources] == expected


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("n, width", [(1030, 1031), (4101, 256), (3700, 289)])
@pytest.mark.parametrize("size", [1.0, 100.0, 1e12])
def test_dense_rows_in_place_change_no_bit(n, width, kind, size):
    """Against panels, where rounding is small and large; with a row beyond the targets that is far from all of them."""
    rng = np.random.default_rng(width)
    X = (np.sqrt(size / width) + 0.5 / np.sqrt(width) * rng.normal(size=(n, width))).astype(kind)
    X[-1] *= 1e9
    X[5] = X[4]
    borrowed_rows, everyone = borrowed(X), filled("i", range(n))
    assert isinstance(products_of(borrowed_rows, everyone, any_order=True), InPlaceProducts)
    assert isinstance(products_of(borrowed_rows, everyone), PanelProducts)
    sources, found = [3, 4, 5, n - 2, n - 1, *range(20, 33)], []
    for matrix in (borrowed_rows, from_dense(X)):
        targets = Kernel(matrix, everyone, RBF, 0, 1.0, 0.0).targets(everyone[: n - 1])
        assert targets.panels.suits == (size < 1e12)
        found.append([bytes(row) for some in (sources, sources[:5], [4], [n - 1]) for row in targets.rows(some)])
    assert found[0] == found[1]


def dot(a, b):
    total = 0.0
    for (_, v), (_, w) in zip(a, b, strict=True):
        total += v * w
    return total


def exp_float(x):
    """exp(x) as a float; infinite if rounding makes x huge at a distance of 0."""
    with np.errstate(over="ignore"):
        return float(np.float32(math.exp(min(x, 700.0))))
