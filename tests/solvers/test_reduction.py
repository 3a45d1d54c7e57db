"""The choice of rows: quantile sketches of keys against a full sort, and sizes against the paper's formulas."""

import numpy as np
import pytest

from libsvmx._solvers.interior_point.constraint_reduction import EXACT_RANKS, quantile_sketch, quotas, threshold_of
from libsvmx._solvers.interior_point.solver import CRSVM

DISTRIBUTIONS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "far apart": lambda rng, n: 10.0 ** rng.uniform(-300, 300, size=n),
    "with infinities": lambda rng, n: np.where(rng.random(n) < 0.1, np.inf, rng.normal(size=n)),
}


@pytest.mark.parametrize("n", [1, 2, 1023, 1024, 1025, 1030, 1100, 50_000])
def test_a_sketch_has_the_least_the_largest_and_ranks_in_order(n):
    keys = np.random.default_rng(n).normal(size=n)
    ranks, values = quantile_sketch(keys)
    assert ranks[0] == 1
    assert ranks[-1] == n
    assert np.all(np.diff(ranks) > 0)
    np.testing.assert_array_equal(ranks[:EXACT_RANKS], np.arange(1, min(n, EXACT_RANKS) + 1))
    np.testing.assert_array_equal(values, np.sort(keys)[ranks - 1])
    assert np.all(ranks[1:] <= np.maximum(ranks[:-1] + 1, np.ceil(1.0101 * ranks[:-1]) + 1))
    assert len(ranks) < EXACT_RANKS + 1000


def test_an_empty_sketch():
    ranks, values = quantile_sketch(np.zeros(0))
    assert len(ranks) == len(values) == 0


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
@pytest.mark.parametrize("sizes", [(1,), (5,), (900,), (40_000,), (3, 0, 7), (2000, 1, 30_000, 999), (1500,) * 12])
def test_a_threshold_takes_what_is_wanted_and_hardly_more(sizes, kind):
    rng = np.random.default_rng(sum(sizes))
    blocks = [DISTRIBUTIONS[kind](rng, n) for n in sizes]
    keys = np.concatenate(blocks)
    sketches = [quantile_sketch(block) for block in blocks]
    for wanted in np.unique(np.geomspace(1, len(keys), 60).astype(int)):
        threshold = threshold_of(sketches, int(wanted))
        taken = np.count_nonzero(keys <= threshold)
        assert taken >= wanted
        # each block may be off by one rank
        blockwise = [np.count_nonzero(block <= threshold) for block in blocks]
        most = sum(max(1, int(0.0101 * count) + 1) if count > EXACT_RANKS else 0 for count in blockwise)
        ties = np.count_nonzero(keys == threshold) - 1
        assert taken <= wanted + most + ties, (taken, wanted)
    assert threshold_of(sketches, len(keys) + 1) == np.inf
    assert threshold_of(sketches, 0) == threshold_of(sketches, -3) == -np.inf


def test_small_blocks_are_ranked_exactly():
    rng = np.random.default_rng(1)
    blocks = np.array_split(rng.permutation(3000).astype(float), 3)
    sketches = [quantile_sketch(block) for block in blocks]
    assert [threshold_of(sketches, wanted) for wanted in (1, 2, 1500, 3000)] == [0, 1, 1499, 2999]


def test_ties_come_together():
    blocks = [np.repeat([3.0, 1.0, 2.0], [5, 4, 6]), np.repeat([1.0, 2.0], [2, 1])]
    sketches = [quantile_sketch(block) for block in blocks]
    assert [threshold_of(sketches, wanted) for wanted in (1, 6, 7, 13, 14, 18)] == [1, 1, 2, 2, 3, 3]
    same = [quantile_sketch(np.zeros(5000)), quantile_sketch(np.zeros(3))]
    assert threshold_of(same, 1) == threshold_of(same, 5003) == 0


def test_no_block_has_keys():
    assert threshold_of([quantile_sketch(np.zeros(0))] * 2, 1) == np.inf
    assert threshold_of([quantile_sketch(np.zeros(0))] * 2, 0) == -np.inf


# ---- sizes ------------------------------------------------------------------------------------------


def size_of_the_paper(settings, share, m, least):
    """|Q| of (3.18); or q_U."""
    upper = settings.most_rows or m
    return max(least, min(int(np.ceil(share * m)), upper, m)) if settings.reduction == "adaptive" else min(upper, m)


def quotas_of_the_paper(wanted, class_sizes, least):
    """(3.21) and (3.22): half from each class; the shortfall of one from the other."""
    half = int(np.ceil(wanted / 2))
    found = [max(least[c], min(half, class_sizes[c])) for c in range(2)]
    for own, other in ((0, 1), (1, 0)):
        if found[own] == class_sizes[own] and sum(found) < wanted:
            found[other] = min(class_sizes[other], wanted - found[own])
    return tuple(found)


@pytest.mark.parametrize("upper", [0, 1, 7, 50, 10**9])
@pytest.mark.parametrize("size", ["adaptive", "fixed", "none"])
def test_quotas_are_those_of_the_paper(size, upper):
    rng = np.random.default_rng(upper % 1000)
    settings = CRSVM(size, most_rows=upper)
    for _ in range(500):
        class_sizes = tuple(int(k) for k in rng.integers(0, 40, size=2))
        m = sum(class_sizes)
        least = tuple(int(rng.integers(0, k + 1)) for k in class_sizes) if size == "adaptive" else (0, 0)
        share = float(rng.choice([rng.random(), 1e-9, 1.0]))
        wanted = size_of_the_paper(settings, share, m, sum(least))
        found = quotas(settings, share, class_sizes, least)
        assert found == quotas_of_the_paper(wanted, class_sizes, least)
        assert all(0 <= least[c] <= found[c] <= class_sizes[c] for c in range(2))
        assert wanted <= sum(found) <= max(wanted + 1, wanted + sum(least))


@pytest.mark.parametrize(
    ("options", "share", "class_sizes", "least", "expected"),
    [
        ({"reduction": "fixed", "most_rows": 10}, 0.0, (100, 100), (0, 0), (5, 5)),
        ({"reduction": "fixed", "most_rows": 11}, 0.0, (100, 100), (0, 0), (6, 6)),
        ({"reduction": "fixed", "most_rows": 10}, 0.0, (3, 100), (0, 0), (3, 7)),
        ({"reduction": "fixed", "most_rows": 10}, 0.0, (100, 3), (0, 0), (7, 3)),
        ({"reduction": "fixed", "most_rows": 10}, 0.0, (0, 100), (0, 0), (0, 10)),
        ({"reduction": "fixed"}, 0.0, (4, 9), (0, 0), (4, 9)),
        ({"reduction": "none"}, 0.0, (4, 9), (0, 0), (4, 9)),
        ({}, 0.1, (100, 100), (0, 0), (10, 10)),
        ({}, 0.1, (100, 100), (30, 0), (30, 15)),
        ({}, 0.1, (100, 100), (3, 4), (10, 10)),
        ({"most_rows": 6}, 0.1, (100, 100), (3, 4), (4, 4)),
        ({"most_rows": 6}, 1.0, (100, 100), (0, 0), (3, 3)),
        ({}, 1e-12, (100, 100), (0, 0), (1, 1)),
        ({}, 1.0, (2, 5), (0, 0), (2, 5)),
    ],
)
def test_some_quotas(options, share, class_sizes, least, expected):
    assert quotas(CRSVM(**options), share, class_sizes, least) == expected
