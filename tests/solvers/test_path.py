"""Paths against NumPy: an exact optimum after rows came and went, after C changed, and from any start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import Problems, Walk
from support.examples import examples

from libsvmx import Parameter
from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import PathLost

LINEAR, POLY, RBF, SIGMOID = range(4)
KINDS = ["classification", "regression", "one-class", "any"]
KERNELS = [
    Parameter(kernel_type=LINEAR),
    Parameter(kernel_type=POLY, degree=2, gamma=0.5, coef0=1.0),
    Parameter(kernel_type=RBF, gamma=0.4),
    Parameter(kernel_type=RBF, gamma=30.0),
]
SOURCES = ["normal", "grid", "twice", "same"]

problems = st.builds(
    Problems,
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.integers(2, 40),
    C=st.sampled_from([1 / 64, 1.0, 100.0]),
    source=st.sampled_from(SOURCES),
)


def walk_of(problem, param, rows, budget_bytes=1e8):
    """The optimum over ``rows``, by SMO and polished."""
    walk = Walk(problem.X, param, problem.halves, budget_bytes)
    walk.append(np.asarray(rows, dtype=int), *problem.boxes(rows))
    walk.total = problem.total(len(rows))
    walk.path.by_smo(filled("i", []), walk.total, 1e-3, walk.control())
    assert not walk.path.state.inexact
    return walk


def step(problem, walk, rng):
    """Random rows leave, random others join."""
    outside = np.setdiff1d(np.arange(problem.n), walk.rows)
    joining = rng.permutation(outside)[: rng.integers(0, len(outside) + 1)]
    gone = rng.permutation(len(walk.rows))[: rng.integers(0, len(walk.rows) + (len(joining) > 0))]
    if rng.random() < 0.3:
        gone = gone[:1]
    left = len(walk.rows) + len(joining) - len(gone)
    walk.update(joining, problem.boxes(joining), gone, problem.total(left))


def inner_point(walk, rng):
    """beta with the right sum and, if any can, all coefficients within their bounds."""
    _, low, high = walk.boxes.reshape(3, -1)
    if walk.total:
        return low + walk.total / (high - low).sum() * (high - low)
    up, down = high * rng.uniform(0.1, 0.9, len(high)), low * rng.uniform(0.1, 0.9, len(low))
    sums = up.sum(), -down.sum()
    return up * min(1.0, sums[1] / max(sums[0], 1e-300)) + down * min(1.0, sums[0] / max(sums[1], 1e-300))


@given(problem=problems, param=st.sampled_from(KERNELS), off=st.sampled_from([1e-9, 1e-4, 0.03]))
@examples(120)
def test_the_optimum_from_near_it(problem, param, off):
    """Polishing is a solver by itself: all coefficients free, whatever columns depend on each other."""
    walk = walk_of(problem, param, range(problem.n))
    beta = (1 - off) * np.asarray(walk.path.state.coefficients) + off * inner_point(walk, problem.rng)
    walk.path.start(filled("d", beta), walk.total, walk.control())
    walk.check()


@given(
    problem=problems,
    param=st.sampled_from(KERNELS),
    steps=st.integers(1, 6),
    budget_bytes=st.sampled_from([1.0, 1e8]),
)
@examples(200)
def test_rows_come_and_go(problem, param, steps, budget_bytes):
    walk = walk_of(problem, param, problem.rng.permutation(problem.n)[: max(1, problem.n // 2)], budget_bytes)
    for _ in range(steps):
        step(problem, walk, problem.rng)
        walk.check()
        if not len(walk.rows):
            break


@given(problem=problems, param=st.sampled_from(KERNELS))
@examples(100)
def test_add_then_remove_is_before(problem, param):
    half = problem.n // 2
    walk = walk_of(problem, param, range(max(1, half)))
    before = walk.check()
    rows = np.arange(max(1, half), problem.n)
    walk.update(rows, problem.boxes(rows), (), problem.total(problem.n))
    walk.check()
    walk.update(gone=np.arange(max(1, half), problem.n), total=problem.total(max(1, half)))
    after = walk.check()
    assert walk.rows.tolist() == list(range(max(1, half)))
    assert after.objective == pytest.approx(before.objective, rel=1e-9, abs=1e-9 * before.scale + before.noise)
    # K beta is unique, and beta where K is regular
    assert pytest.approx(before.F, abs=1e-6 * before.scale + 1e3 * before.noise) == after.F
    if np.linalg.cond(before.K) < 1e6:
        assert after.beta == pytest.approx(before.beta, abs=1e-6 * np.abs(before.beta).max(initial=1.0))


@given(
    problem=problems.filter(lambda problem: problem.kind != "one-class"),
    param=st.sampled_from(KERNELS),
    ratio=st.sampled_from([0.01, 0.5, 3.0, 100.0]),
)
@examples(200)
def test_other_bounds(problem, param, ratio):
    walk = walk_of(problem, param, range(problem.n))
    before = walk.check()
    walk.rescale(ratio)
    walk.check()
    walk.rescale(1 / ratio)
    after = walk.check()
    assert after.objective == pytest.approx(before.objective, rel=1e-8, abs=1e-8 * before.scale + before.noise)


def test_members_of_the_margin_meet_bounds_that_shrink():
    """Seen: a member on its way down to 0 was overtaken by its upper bound."""
    for seed in range(12):
        problem = Problems(seed, "regression", 20, 5.0)
        walk = walk_of(problem, KERNELS[2], range(20))
        assert walk.path.state.margin_size
        walk.rescale(0.05)
        walk.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", ["twice", "grid"])
def test_dependent_rows_are_exchanged(kind, source):
    """More free variables than K has rank: no ridge, no failure, an optimum."""
    exchanges = 0
    for seed in range(12):
        problem = Problems(seed, kind, 36, 10.0, source)
        walk = walk_of(problem, KERNELS[0], range(12))
        beta = 0.999 * np.asarray(walk.path.state.coefficients) + 0.001 * inner_point(walk, problem.rng)
        walk.path.start(filled("d", beta), walk.total, walk.control())
        exchanges += walk.path.motion.exchanges
        walk.check()
        rows = np.arange(12, 36)
        walk.update(rows, problem.boxes(rows), [0, 5], problem.total(34))
        walk.check()
        # a linear kernel with d features: at most d + 1 members
        assert walk.path.state.margin_size <= problem.X.shape[1] + 1
    assert exchanges > 12 * 3


def test_all_at_once_has_fewer_breakpoints_than_one_by_one():
    """Karasuyama & Takeuchi 2010, section 4: the ratio is near sqrt(m) / m."""
    together = single = 0
    for seed in range(5):
        problem = Problems(seed, "classification", 120, 1.0)
        rows = np.arange(100, 120)
        walk = walk_of(problem, KERNELS[2], range(100))
        walk.update(rows, problem.boxes(rows), range(20))
        assert walk.path.motion.repairs == 0
        together += walk.path.motion.breakpoints
        last = walk.check()
        walk = walk_of(problem, KERNELS[2], range(100))
        for row in rows:
            walk.update([row], problem.boxes([row]))
            single += walk.path.motion.breakpoints
        for row in range(20):
            walk.update(gone=np.flatnonzero(walk.rows == row))
            single += walk.path.motion.breakpoints
        assert walk.check().objective == pytest.approx(last.objective, rel=1e-9)
    assert 0 < together < 0.6 * single


@given(problem=problems, param=st.sampled_from(KERNELS), late=st.booleans())
@examples(80)
def test_rollback(problem, param, late):
    """Everything as it was at ``mark``, and good for another path."""
    half = max(1, problem.n // 2)
    walk = walk_of(problem, param, range(half))
    for _ in range(2):
        before, total = walk.snapshot(), walk.total
        gap, objective = walk.path.state.gap(), walk.path.state.objective()
        walk.path.state.mark()
        fresh = np.arange(half, problem.n)
        walk.append(fresh, *problem.boxes(fresh))
        if late:
            walk.path.update(len(fresh), filled("i", [0]), problem.total(problem.n - 1), walk.control())
        walk.path.state.rollback()
        walk.total = total
        assert walk.snapshot() == before
        assert (walk.path.state.gap(), walk.path.state.objective()) == (gap, objective)
        walk.check()
        step(problem, walk, problem.rng)
        walk.check()
        half = len(walk.rows)
        if half < 1 or sorted(walk.rows) != list(range(half)):
            break


def test_a_copy_is_independent():
    problem = Problems(3, "classification", 60)
    walk = walk_of(problem, KERNELS[2], range(40))
    before = walk.snapshot()
    path = walk.path
    walk.path = path.copy()
    assert walk.snapshot() == before
    fresh = np.arange(40, 60)
    walk.update(fresh, problem.boxes(fresh), range(10))
    walk.check()
    assert walk.snapshot() != before
    walk.path = path
    assert walk.snapshot() == before
    walk.update(fresh, problem.boxes(fresh), range(10))
    walk.check()


@pytest.mark.parametrize("seed", range(4))
def test_by_smo_ends_within_eps(seed):
    """tanh is not positive semidefinite: a path may be lost, SMO is not."""
    problem = Problems(seed, "classification", 40, 10.0)
    param = Parameter(kernel_type=SIGMOID, gamma=1.0, coef0=-0.5, eps=1e-4)
    walk = Walk(problem.X, param)
    walk.append(np.arange(40), *problem.boxes(range(40)))
    assert np.linalg.eigvalsh(walk.K)[0] < -0.1
    walk.path.by_smo(filled("i", [1, 2]), 0.0, 1e-4, walk.control())
    walk.path.state.discard()
    judged = walk.judged
    assert judged.gap() <= 1e-4 + judged.noise
    assert abs(judged.beta.sum()) <= 1e-9


def test_a_sum_out_of_reach():
    problem = Problems(1, "one-class", 10)
    walk = walk_of(problem, KERNELS[2], range(10))
    with pytest.raises(PathLost, match="no variable can make up for the sum"):
        walk.path.update(0, filled("i", []), 10.5, walk.control())


def test_coefficients_that_can_only_be_zero():
    """Bounds on one side alone: what rounding leaves of the sum is no reason to look for someone to make up for it."""
    for seed in range(20):
        problem = Problems(seed, "any", 12, 1.0)
        linear, _, _ = problem.boxes(range(12))
        walk = Walk(problem.X, KERNELS[0])
        walk.append(np.arange(2), linear[:2], np.zeros(2), [1.0, 0.1])
        walk.path.by_smo(filled("i", []), 0.0, 1e-3, walk.control())
        walk.update(np.arange(2, 12), (linear[2:], np.zeros(10), problem.rng.choice([0.1, 1.0, 3.0], 10)))
        walk.check()
        assert not np.any(walk.path.state.coefficients)


def test_to_stop_is_an_error():
    """Work enough for the clock to be looked at."""
    problem = Problems(1, "any", 900, 10.0)
    walk = walk_of(problem, KERNELS[2], range(300))
    walk.path.state.mark()
    before = walk.snapshot()
    fresh = np.arange(300, 900)
    walk.append(fresh, *problem.boxes(fresh))
    with pytest.raises(TimeoutError, match="interrupted"):
        walk.path.update(600, filled("i", []), 0.0, walk.control(should_stop=lambda: True))
    walk.path.state.rollback()
    assert walk.snapshot() == before
    walk.update(fresh, problem.boxes(fresh))
    walk.check()
