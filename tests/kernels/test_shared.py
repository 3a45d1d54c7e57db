"""Shared rows: with any part and any kept rows, a value is that of the kernel's own row."""

import threading
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._core.arrays import ramp
from libsvmx._kernels.rowstore import RowStore
from libsvmx._kernels.sharedrows import SharedRows, all_bytes
from support import data
from support.examples import examples

from libsvmx._core.buffers import filled
from libsvmx._core.process import HAS_THREADS, ThreadPool
from libsvmx._kernels.kernel_matrix import Kernel

LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED = range(5)
N = 45
SETS = {
    "dense": (("heart_scale", N), RBF),
    "linear": (("heart_scale", N), LINEAR),
    "polynomial": (("heart_scale", N), POLY),
    "sigmoid": (("heart_scale", N), SIGMOID),
    "blocks": (("splice.xz", N), RBF),
    "postings": (("text",), POLY),
    "bits": (("a1a.xz", N), RBF),
    "linear bits": (("a1a.xz", N), LINEAR),
}


@cache
def kernel_of(name):
    """(kernel, every row computed alone)."""
    arguments, kind = SETS[name]
    kernel = Kernel(data.load(*arguments)[0], filled("i", range(N)), kind, 3, 0.1, 0.25)
    assert kernel.binary == ("bits" in name)
    K = np.array([kernel.row(i) for i in range(N)])
    assert len(set(K.ravel().tolist())) > 7
    return kernel, K


numbers = st.lists(st.integers(0, N - 1), min_size=1, max_size=60)
ASKED = st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8)


@pytest.mark.parametrize("name", SETS)
@given(
    asked=ASKED,
    cuts=st.sets(st.integers(1, N - 1), max_size=6),
    share=st.one_of(st.floats(0, 1.2), st.just(2)),
    across=st.booleans(),
)
@examples(120)
def test_values_of_parts(name, asked, cuts, share, across):
    """Members of a part, its targets and its sources in any order, repeated or not; also a part of a part."""
    kernel, K = kernel_of(name)
    starts = [0, *sorted(cuts), N]
    budget = share * all_bytes(starts, across)
    shared = SharedRows(kernel, budget, starts, across)
    table = 8 * N * (len(starts) - 1 if across else 1)
    assert shared.most_bytes <= max(budget, table)
    for members, chosen, sources in asked:
        part = shared.part(filled("i", members))
        origin = members
        if len(chosen) % 2:
            inner = [i % len(origin) for i in chosen]
            part, origin = part.part(filled("i", inner)), [origin[i] for i in inner]
        assert part.n == len(origin)
        assert list(part.diagonal) == [kernel.diagonal[i] for i in origin]
        targets = [i % len(origin) for i in chosen]
        sources = [i % len(origin) for i in sources]
        expected = K[np.ix_([origin[i] for i in sources], [origin[i] for i in targets])]
        for pool in (None, ThreadPool(2)):
            rows = part.targets(filled("i", targets)).rows(sources, pool)
            assert [list(row) for row in rows] == expected.tolist()
        assert list(part.row(0)) == K[origin[0], origin].tolist()
    assert table <= shared.held_bytes <= shared.most_bytes


@pytest.mark.parametrize("name", SETS)
@given(members=numbers, chosen=numbers)
@examples(40)
def test_a_plain_part(name, members, chosen):
    kernel, K = kernel_of(name)
    part = kernel.part(filled("i", members)).part(filled("i", [i % len(members) for i in chosen]))
    origin = [members[i % len(members)] for i in chosen]
    for i in range(part.n):
        assert list(part.row(i)) == K[origin[i], origin].tolist()


@pytest.mark.parametrize("across", [True, False])
def test_each_piece_is_computed_once(across):
    kernel, _ = kernel_of("blocks")
    starts = [0, 7, 24, N]
    shared = SharedRows(kernel, 1e9, starts, across)
    own = sum((b - a) ** 2 for a, b in pairwise(starts))
    everyone = filled("i", range(N))
    shared.part(everyone).targets(everyone).rows(range(N))
    assert shared.values_computed == N * N
    assert shared.held_bytes == shared.most_bytes == all_bytes(starts, across)
    for members in (range(3, 40), range(24, 30), range(N - 1, -1, -1)):
        part = shared.part(filled("i", members))
        part.targets(filled("i", range(part.n))).rows(range(part.n))
    again = shared.values_computed - N * N
    if across:
        assert again == 0
    else:  # the pieces with the other classes, one block at a time
        assert again == 4 * 38 + 17 * 28 + 16 * 24 + (N * N - own)


def test_without_room_all_is_computed_again():
    kernel, _ = kernel_of("blocks")
    shared = SharedRows(kernel, 0.0)
    for _ in range(2):
        shared.part(filled("i", range(20))).row(3)
    assert shared.values_computed == 2 * N
    assert shared.most_bytes == 8 * N


def test_slabs_of_several_segments():
    """Pieces of different lengths, together more than a slab."""
    matrix, _ = data.load("splice.xz")
    n = 1000
    kernel = Kernel(matrix, filled("i", range(n)), RBF, 0, 0.01, 0.0)
    for starts in ([0, n], [0, 700, n], [0, 10, 300, 301, n]):
        shared = SharedRows(kernel, 1e9, starts)
        assert 1.0 <= shared.most_bytes / all_bytes(starts) < 2.1
        everyone = filled("i", range(n))
        rows = shared.part(everyone).targets(everyone).rows(range(n))
        assert shared.values_computed == n * n
        assert shared.part(everyone).targets(everyone).rows(range(n)) == rows
        assert shared.values_computed == n * n
        for i in range(0, n, 97):
            assert rows[i] == kernel.row(i)


def test_cost_of_a_value():
    """An estimate by counts: reproducible, and larger for longer rows."""
    names = ("heart_scale", "ionosphere_scale.xz", "ionosphere_scale.xz")
    kernels = (Kernel(data.load(name)[0], filled("i", range(N)), RBF, 0, 0.1, 0.0) for name in names)
    few, many, again = (SharedRows(kernel, 0.0, [0, 3, N]).block_ns for kernel in kernels)
    assert 0 < few < many == again


def test_refusals():
    kernel, _ = kernel_of("dense")
    shared = SharedRows(kernel, 1e6)
    for part in (kernel.part, shared.part, shared.part(filled("i", range(N))).part):
        for wrong in (-1, N):
            with pytest.raises(IndexError, match=f"row {wrong} of {N}"):
                part(filled("i", [0, wrong]))
    given_values = data.from_rows([[(0, i + 1.0), (1, 1.0), (2, 2.0)] for i in range(2)])
    with pytest.raises(ValueError, match="not shared"):
        SharedRows(Kernel(given_values, filled("i", [0, 1]), PRECOMPUTED, 0, 0.0, 0.0), 1e6)


@pytest.mark.skipif(not HAS_THREADS, reason="built without threads")
@pytest.mark.parametrize("name", ["heart_scale", "splice.xz", "a1a.xz"])
@pytest.mark.parametrize("share", [0.3, 2])
def test_shared_rows_in_threads(name, share):
    """Each thread with its own stores over its own parts; any of them computes a piece first."""
    n = 200
    matrix, _ = data.load(name, n)
    kernel = Kernel(matrix, ramp(n), 2, 3, 0.1, 0.0)
    K = np.array([kernel.row(i) for i in range(n)])
    starts = [0, 60, 61, n]
    shared = SharedRows(kernel, share * all_bytes(starts), starts)
    wrong, begin = [], threading.Barrier(4)

    def work(seed):
        drawn = np.random.default_rng(seed)
        begin.wait()
        for _ in range(3):
            members = drawn.permutation(n)[: n - 20].astype(np.int32)
            store = RowStore(shared.part(filled("i", members.tolist())), 3 * 4 * n)
            for at in drawn.integers(0, len(members), 150):
                if not np.array_equal(np.asarray(store.fetch(int(at))), K[members[at]][members]):
                    wrong.append((seed, at))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert shared.held_bytes <= shared.most_bytes
