"""The row store with any sequence of requests, swaps, shrinking and growing: a row is always that of its position."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._kernels.rowstore import RowStore
from libsvmx._kernels.sharedrows import SharedRows
from support import data
from support.examples import examples

from libsvmx._core.buffers import filled
from libsvmx._core.process import ThreadPool
from libsvmx._kernels.kernel_matrix import Kernel

LINEAR, RBF, PRECOMPUTED = 0, 2, 4
N = 37
SHARED = {"shared": (1e6, True), "partly shared": (2000.0, True), "shared by class": (1e6, False)}


def wide_rows(n, width=3000):
    rng = np.random.default_rng(n)
    return data.from_rows([[(j + 1, float(v)) for j, v in enumerate(row)] for row in rng.normal(size=(n, width))])


@cache
def kernel_of(name):
    """(kernel, its matrix, every row computed alone)."""
    if name == "dense":
        matrix, kind = data.load("heart_scale", N)[0], RBF
    elif name == "bits":
        matrix, kind = data.load("a1a.xz", N)[0], RBF
    elif name == "postings":
        matrix, kind = data.load("text")[0], LINEAR
    elif name in ("blocks", *SHARED):
        matrix, kind = data.load("splice.xz", N)[0], RBF
    elif name == "expensive":
        matrix, kind = wide_rows(N), LINEAR
    else:
        rng = np.random.default_rng(0)
        K = rng.normal(size=(N, N))
        matrix, kind = (
            data.from_rows([[(0, i + 1.0), *((j + 1, K[i, j]) for j in range(N))] for i in range(N)]),
            PRECOMPUTED,
        )
    kernel = Kernel(matrix, filled("i", range(N)), kind, 0, 0.1, 0.0)
    assert kernel.binary == (name == "bits")
    assert kernel.targets(filled("i", range(N))).blocks == (name not in ("bits", "given"))
    K = np.array([kernel.row(i) for i in range(N)])
    if name in SHARED:
        budget, across = SHARED[name]
        kernel = SharedRows(kernel, budget, [0, 11, N], across).part(filled("i", range(N)))
    return kernel, K


class Follower:
    """A store beside a plain list of the positions."""

    def __init__(self, kernel, K, budget, index=None):
        self.K, self.index = K, list(range(len(K))) if index is None else list(index)
        self.store = RowStore(kernel, budget, None if index is None else filled("i", index))
        self.active = len(self.index)

    def check(self, position):
        row = np.asarray(self.store.fetch(position))
        assert row.tolist() == self.K[self.index[position], self.index[: self.active]].tolist()

    def check_all(self):
        for position in range(len(self.index)):
            self.check(position)

    def shrink(self, swaps, active):
        for a, b in swaps:
            self.index[a], self.index[b] = self.index[b], self.index[a]
        self.store.shrink(swaps, active)
        self.active = active


share = st.floats(0, 1, exclude_max=True)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fetch"), st.lists(share, min_size=1, max_size=25)),
        # as a solver shrinks: swaps within the active set, and a new active set that is no larger
        st.tuples(st.just("shrink"), st.lists(st.tuples(share, share), max_size=30), share),
        st.tuples(st.just("grow"), share),
        st.tuples(st.just("grow and shrink"), st.lists(st.tuples(share, share), max_size=12), share),
        st.tuples(st.just("symmetry")),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("name", ["dense", "bits", "postings", "blocks", "expensive", "given", *SHARED])
@given(
    steps=STEPS,
    index=st.one_of(
        st.none(), st.just([*range(N), *range(N)]), st.lists(st.integers(0, N - 1), min_size=1, max_size=90)
    ),
    capacity=st.one_of(st.integers(3, 12), st.just(1000)),
)
@examples(150)
def test_rows_follow_their_positions(name, steps, index, capacity):
    kernel, K = kernel_of(name)
    size = N if index is None else len(index)
    follower = Follower(kernel, K, 4.0 * ((size + 15) // 16 * 16) * capacity, index)
    for step in steps:
        if step[0] == "fetch":
            for where in step[1]:
                follower.check(int(where * size))
            continue
        if step[0] == "symmetry":
            follower.store.use_symmetry()
            continue
        if step[0] != "shrink":
            smallest = follower.active
            larger = size if step[0] == "grow and shrink" else smallest + int(step[1] * (size + 1 - smallest))
            follower.shrink([], larger)
        if step[0] != "grow":
            active = follower.active
            swaps = [(int(a * active), int(b * active)) for a, b in step[1]]
            follower.shrink(swaps, 1 + int(step[2] * active))
    follower.check_all()
    follower.shrink([], size)
    follower.check_all()


@pytest.mark.parametrize("name", ["dense", "postings", "blocks", "expensive"])
@pytest.mark.parametrize("doubled", [False, True], ids=["", "of a regression"])
def test_savings_by_symmetry(name, doubled):
    kernel, K = kernel_of(name)
    follower = Follower(kernel, K, 1e6, [*range(N), *range(N)] if doubled else None)
    before = kernel.values_computed
    order = np.random.default_rng(3).permutation(N)
    for done, position in enumerate(order):
        assert follower.store.use_symmetry() == done
        follower.check(position)
    assert kernel.values_computed - before == N * (N + 1) // 2
    follower.shrink([(0, 20)], 30)
    assert follower.store.use_symmetry() == 0  # before the targets are rearranged


def test_rows_of_a_regression_are_stored_once():
    """Half as long as the number of positions, and still there after these are swapped, or shrunk and restored."""
    kernel, K = kernel_of("dense")
    follower = Follower(kernel, K, 4.0 * 48 * 10, [*range(N), *range(N)])
    store = follower.store
    assert store.capacity == 10
    for position in (3, 4, 5, 6, 7):
        follower.check(position)
    computed = store.rows_computed
    follower.shrink([(0, 40), (3, 60), (10, 11)], 50)
    for position in (0, 4, N + 5, 6, 7):
        follower.check(position)
    follower.shrink([(1, 45)], 20)
    for position in (0, 4):
        follower.check(position)
    follower.shrink([], 2 * N)
    for position in (4, N + 4, N + 7, 60):
        follower.check(position)
    assert store.rows_computed == computed


def test_symmetry_ends_where_a_row_is_replaced():
    kernel, K = kernel_of("blocks")
    follower = Follower(kernel, K, 4.0 * 48 * 5)
    for position in range(5):
        follower.check(position)
    assert follower.store.use_symmetry() == 5
    follower.check(5)
    assert follower.store.use_symmetry() == 0
    follower.check_all()


@pytest.mark.parametrize("threads", [1, 3])
def test_symmetry_on_threads(threads):
    """For rows long enough that threads share the copying."""
    n = 17_000
    rng = np.random.default_rng(5)
    matrix = data.from_rows([[(j + 1, float(v)) for j, v in enumerate(row)] for row in rng.normal(size=(n, 4))])
    kernel = Kernel(matrix, filled("i", range(n)), RBF, 0, 0.1, 0.0)
    store = RowStore(kernel, 1e9, pool=ThreadPool(threads))
    positions = rng.permutation(n)[:60].tolist()
    expected = [bytes(row) for row in kernel.targets(filled("i", range(n))).rows(positions)]
    before = kernel.values_computed
    for done, position in enumerate(positions):
        if done % 20 == 0:
            assert store.use_symmetry() == done
        assert bytes(store.fetch(position)) == expected[done]
    assert kernel.values_computed - before == 20 * (n + n - 20 + n - 40)


def test_symmetry_of_rows_that_are_stored_while_nothing_moves():
    kernel, _ = kernel_of("blocks")
    store = RowStore(kernel, 1e6)
    for position in range(5):
        store.fetch(position)
    store.shrink([], N)  # a shrinking step that shrinks nothing
    assert store.use_symmetry() == 5
    store.shrink([], N - 1)
    assert store.use_symmetry() == 0
    store.shrink([], N)
    store.fetch(6)
    assert store.use_symmetry() == 0  # some rows may be shorter


def test_a_store_grows_soon_where_rows_come_back():
    """Of 1,400 rows read again and again, 700 have room at first, and the other 700 are computed only once more."""
    n = 3000
    rng = np.random.default_rng(5)
    matrix = data.from_rows([[(j + 1, float(v)) for j, v in enumerate(row)] for row in rng.normal(size=(n, 4))])
    store = RowStore(Kernel(matrix, filled("i", range(n)), RBF, 0, 0.1, 0.0), 1e9)
    for _ in range(4):
        for position in range(1400):
            store.fetch(position)
    assert 2000 < store.rows_computed < 2200


def test_slots_are_compressed():
    """A full store of cheap rows twice as long as needed makes room for more, and keeps its rows."""
    matrix, _ = data.load("a1a.xz", 400)
    kernel = Kernel(matrix, filled("i", range(400)), RBF, 0, 0.1, 0.0)
    K = np.array([kernel.row(i) for i in range(400)])
    follower = Follower(kernel, K, 4.0 * 400 * 60)
    store = follower.store
    assert store.capacity == 60
    for p in range(60):
        follower.check(p)
    computed = store.rows_computed
    follower.shrink([(0, 30), (100, 3), (7, 150)], 160)
    follower.check(1)
    assert store.capacity == 150
    for p in range(60):
        follower.check(p)
    assert store.rows_computed <= computed + 3  # rows that a swap brought in
    for p in range(150):
        follower.check(p)
    computed = store.rows_computed
    for p in range(150):
        follower.check(p)
    assert store.rows_computed == computed
    follower.shrink([(0, 20)], 50)  # once more
    for p in range(400):
        follower.check(p)
    assert store.capacity == 375
    follower.shrink([], 400)
    follower.check_all()
    assert store.capacity == 60


@pytest.mark.parametrize("repeated", [False, True])
def test_dear_rows_are_kept_whole(repeated):
    """So any later active set can use them without recomputation."""
    kernel, K = kernel_of("expensive")
    index = [*range(N), *range(N)] if repeated else list(range(N))
    follower = Follower(kernel, K, 1e6, index)
    store, rng = follower.store, np.random.default_rng(1)
    follower.check_all()
    for active in (30, 21, 8):
        swaps = [(int(a), int(b)) for a, b in rng.integers(0, active, (5, 2))]
        follower.shrink(swaps, active)
        follower.check_all()
        assert store.whole
    follower.shrink([], len(index))
    follower.check_all()
    assert store.rows_computed == N


def test_rows_catch_up_with_very_many_swaps():
    kernel, K = kernel_of("expensive")
    follower = Follower(kernel, K, 1.0)  # three rows
    store, rng = follower.store, np.random.default_rng(2)
    for p in (4, 5, 6):
        follower.check(p)
    kept = [follower.index[p] for p in (4, 5, 6)]
    for _ in range(6):
        follower.shrink([(int(a), int(b)) for a, b in rng.integers(0, 30, (9 * N, 2))], 30)
        for i in kept:
            follower.check(follower.index.index(i))
    assert store.rows_computed == 3
    follower.shrink([], N)
    follower.check_all()
