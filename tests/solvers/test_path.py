"""Paths against NumPy: an exact optimum after rows came and went, after changes of C, and from any start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import PathTwin, Problems
from support.examples import examples

from libsvmx import Parameter
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Stopped
from libsvmx._solvers.path.path import PathLost

LINEAR, POLY, RBF, SIGMOID = range(4)
KINDS = ["classification", "regression", "one-class", "any", "tube", "two sums"]
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


def twin_of(problem, param, rows, budget_bytes=1e8):
    """The optimum over ``rows``, from SMO and then refined."""
    twin = PathTwin(problem.X, param, problem.per_row, budget_bytes, problem.groups)
    twin.append(np.asarray(rows, dtype=int), *problem.boxes(rows))
    twin.totals = problem.totals(rows)
    twin.path.by_smo(filled("i", []), twin.totals, 1e-3, twin.control())
    assert not twin.path.state.inexact
    return twin


def step(problem, twin, rng):
    """Random rows leave, random others join."""
    outside = np.setdiff1d(np.arange(problem.n), twin.rows)
    joining = rng.permutation(outside)[: rng.integers(0, len(outside) + 1)]
    gone = rng.permutation(len(twin.rows))[: rng.integers(0, len(twin.rows) + (len(joining) > 0))]
    if rng.random() < 0.3:
        gone = gone[:1]
    left = np.concatenate([np.delete(twin.rows, gone), joining])
    twin.update(joining, problem.boxes(joining), gone, problem.totals(left))


def inner_point(twin, rng):
    """beta with the right sums and, if possible, all coefficients strictly within their bounds."""
    _, low, high = twin.boxes.reshape(3, -1)
    if len(twin.totals) > 1:
        return sum(t / (part.sum() or 1.0) * part for t, part in zip(twin.totals, (high, low), strict=True))
    if twin.totals[0]:
        return low + twin.totals[0] / (high - low).sum() * (high - low)
    up, down = high * rng.uniform(0.1, 0.9, len(high)), low * rng.uniform(0.1, 0.9, len(low))
    sums = up.sum(), -down.sum()
    return up * min(1.0, sums[1] / max(sums[0], 1e-300)) + down * min(1.0, sums[0] / max(sums[1], 1e-300))


@given(problem=problems, param=st.sampled_from(KERNELS), off=st.sampled_from([1e-9, 1e-4, 0.03]))
@examples(120)
def test_the_optimum_from_near_it(problem, param, off):
    """Refining is a solver by itself: all coefficients free, with any dependent columns."""
    twin = twin_of(problem, param, range(problem.n))
    beta = (1 - off) * np.asarray(twin.path.state.coefficients) + off * inner_point(twin, problem.rng)
    twin.path.start(filled("d", beta), twin.totals, twin.control())
    twin.check()


@given(
    problem=problems,
    param=st.sampled_from(KERNELS),
    steps=st.integers(1, 6),
    budget_bytes=st.sampled_from([1.0, 1e8]),
)
@examples(200)
def test_rows_come_and_go(problem, param, steps, budget_bytes):
    twin = twin_of(problem, param, problem.rng.permutation(problem.n)[: max(1, problem.n // 2)], budget_bytes)
    for _ in range(steps):
        step(problem, twin, problem.rng)
        twin.check()
        if not len(twin.rows):
            break


@given(problem=problems, param=st.sampled_from(KERNELS))
@examples(100)
def test_add_then_remove_is_before(problem, param):
    half = problem.n // 2
    twin = twin_of(problem, param, range(max(1, half)))
    before = twin.check()
    rows = np.arange(max(1, half), problem.n)
    twin.update(rows, problem.boxes(rows), (), problem.totals(range(problem.n)))
    twin.check()
    twin.update(gone=np.arange(max(1, half), problem.n), totals=problem.totals(range(max(1, half))))
    after = twin.check()
    assert twin.rows.tolist() == list(range(max(1, half)))
    assert after.reached == pytest.approx(before.reached, rel=1e-9, abs=1e-9 * before.scale + before.noise)
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
    twin = twin_of(problem, param, range(problem.n))
    before = twin.check()
    twin.rescale(ratio)
    twin.check()
    twin.rescale(1 / ratio)
    after = twin.check()
    assert after.reached == pytest.approx(before.reached, rel=1e-8, abs=1e-8 * before.scale + before.noise)


@given(
    problem=problems.filter(lambda problem: problem.groups > 1 or problem.kind == "one-class"),
    param=st.sampled_from(KERNELS),
    shares=st.lists(st.tuples(*[st.sampled_from([0.0, 0.01, 1 / 3, 0.5, 1.0])] * 2), min_size=1, max_size=4),
)
@examples(100)
def test_other_sums(problem, param, shares):
    """The sums alone move, to where all is at bounds, and back: the margin becomes empty, or that of one group."""
    twin = twin_of(problem, param, range(problem.n))
    before, first = twin.check(), problem.shares
    for share in [*shares, first]:
        problem.shares = share
        twin.bind()
        twin.update(totals=problem.totals(twin.rows))
        twin.check()
    after = twin.check()
    assert after.reached == pytest.approx(before.reached, rel=1e-8, abs=1e-8 * before.scale + before.noise)


@pytest.mark.parametrize("kind", ["tube", "two sums"])
def test_a_group_without_a_member(kind):
    """Sums that equal sums of bounds leave one group without free variables, while the other has some; paths lead
    there and on from there, and nothing is left to repair."""
    empty = 0
    for seed in range(40):
        problem = Problems(seed, kind, 30, 1.0)
        if kind == "two sums":
            problem.all = problem.all[0], *(np.sign(bound) for bound in problem.all[1:])
        ups = (problem.all[2] > 0).sum()
        for shares in ((0.3, 0.5), (5 / ups, 0.37), (6 / ups, 0.37), (1.0, 0.37), (0.5, 0.37)):
            problem.shares = shares
            if shares[0] == 0.3:
                twin = twin_of(problem, KERNELS[2], range(20))
            else:
                twin.bind()
                twin.update(totals=problem.totals(twin.rows))
            beta, (_, low, high) = twin.judged.beta, twin.boxes.reshape(3, -1)
            free = (beta > low) & (beta < high)
            empty += free.any() and not (free & (low == 0)).any()
            twin.check()
            assert twin.path.motion.repairs == 0 or shares[0] == 0.3
        for row in (20, 21, 22):
            twin.update([row], problem.boxes([row]), [0], twin.totals)
            assert twin.path.motion.repairs == 0
            twin.check()
    assert empty > 20


# Found in practice: rounding of a sum lost the path (978, 2929, 4242), or kept a variable off its bound (the others).
@pytest.mark.parametrize("seed", [155, 254, 336, 978, 2929, 4242])
def test_sums_to_where_nothing_is_free(seed):
    rng = np.random.default_rng(seed)
    kind, n = str(rng.choice(["tube", "two sums"])), int(rng.integers(2, 45))
    problem = Problems(seed, kind, n, rng.choice([1 / 64, 1.0, 100.0, 1e4]), str(rng.choice(SOURCES)))
    share = [0, 1e-3, 0.05, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.99, 1.0, 1 / 3, 2 / 3]
    problem.shares = rng.choice(share, 2)
    param = KERNELS[rng.integers(4)]
    twin = twin_of(problem, param, problem.rng.permutation(n)[: max(1, n // 2)])
    for _ in range(5):
        step(problem, twin, problem.rng)
        twin.check()
        if not len(twin.rows):
            break
        problem.shares = rng.choice([0, 0.1, 0.5, 0.9, 1.0], 2)
        twin.bind()
        twin.update(totals=problem.totals(twin.rows))
        twin.check()
        if rng.random() < 0.3:
            twin.rescale(rng.choice([0.1, 0.5, 3, 20.0]))
            twin.check()
            break


def test_a_group_on_its_bounds_while_bounds_move():
    """Found in practice: its level was constant, members moved only with their bound, and the path went in a circle."""
    problem = Problems(38, "tube", 37, 1 / 64, "same")
    twin = twin_of(problem, KERNELS[0], range(37))
    for ratio in (0.01, 100.0):
        twin.rescale(ratio)
        twin.check()


def test_members_of_the_margin_meet_bounds_that_shrink():
    """Found in practice: a member on its way down to 0 was overtaken by its upper bound."""
    for seed in range(12):
        problem = Problems(seed, "regression", 20, 5.0)
        twin = twin_of(problem, KERNELS[2], range(20))
        assert twin.path.state.margin_size
        twin.rescale(0.05)
        twin.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", ["twice", "grid"])
def test_dependent_rows_are_exchanged(kind, source):
    """More free variables than the rank of K: no ridge, no failure, an optimum."""
    exchanges = 0
    for seed in range(12):
        problem = Problems(seed, kind, 36, 10.0, source)
        twin = twin_of(problem, KERNELS[0], range(12))
        beta = 0.999 * np.asarray(twin.path.state.coefficients) + 0.001 * inner_point(twin, problem.rng)
        twin.path.start(filled("d", beta), twin.totals, twin.control())
        exchanges += twin.path.motion.exchanges
        twin.check()
        rows = np.arange(12, 36)
        twin.update(rows, problem.boxes(rows), [0, 5], problem.totals(np.delete(np.arange(36), [0, 5])))
        twin.check()
        # a linear kernel with d features: at most one more member for each sum
        assert twin.path.state.margin_size <= problem.X.shape[1] + problem.groups
    assert exchanges > 12 * 3


def test_all_at_once_has_fewer_breakpoints_than_one_by_one():
    """Karasuyama & Takeuchi 2010, section 4: the ratio is near sqrt(m) / m."""
    together = single = 0
    for seed in range(5):
        problem = Problems(seed, "classification", 120, 1.0)
        rows = np.arange(100, 120)
        twin = twin_of(problem, KERNELS[2], range(100))
        twin.update(rows, problem.boxes(rows), range(20))
        assert twin.path.motion.repairs == 0
        together += twin.path.motion.breakpoints
        last = twin.check()
        twin = twin_of(problem, KERNELS[2], range(100))
        for row in rows:
            twin.update([row], problem.boxes([row]))
            single += twin.path.motion.breakpoints
        for row in range(20):
            twin.update(gone=np.flatnonzero(twin.rows == row))
            single += twin.path.motion.breakpoints
        assert twin.check().reached == pytest.approx(last.reached, rel=1e-9)
    assert 0 < together < 0.6 * single


@given(problem=problems, param=st.sampled_from(KERNELS), late=st.booleans())
@examples(80)
def test_rollback(problem, param, late):
    """Everything as at ``mark``, and ready for another path."""
    half = max(1, problem.n // 2)
    twin = twin_of(problem, param, range(half))
    for _ in range(2):
        before, totals = twin.snapshot(), twin.totals
        gap, objective = twin.path.state.gap(), twin.path.state.objective()
        twin.path.state.mark()
        fresh = np.arange(half, problem.n)
        twin.append(fresh, *problem.boxes(fresh))
        if late:
            twin.path.update(len(fresh), filled("i", [0]), problem.totals(range(1, problem.n)), twin.control())
        twin.path.state.rollback()
        twin.totals = totals
        assert twin.snapshot() == before
        assert (twin.path.state.gap(), twin.path.state.objective()) == (gap, objective)
        twin.check()
        step(problem, twin, problem.rng)
        twin.check()
        half = len(twin.rows)
        if half < 1 or sorted(twin.rows) != list(range(half)):
            break


def test_a_copy_is_independent():
    problem = Problems(3, "classification", 60)
    twin = twin_of(problem, KERNELS[2], range(40))
    before = twin.snapshot()
    path = twin.path
    twin.path = path.copy()
    assert twin.snapshot() == before
    fresh = np.arange(40, 60)
    twin.update(fresh, problem.boxes(fresh), range(10))
    twin.check()
    assert twin.snapshot() != before
    twin.path = path
    assert twin.snapshot() == before
    twin.update(fresh, problem.boxes(fresh), range(10))
    twin.check()


@pytest.mark.parametrize("seed", range(4))
def test_by_smo_ends_within_eps(seed):
    """tanh is not positive semidefinite: a path may be lost, but SMO converges."""
    problem = Problems(seed, "classification", 40, 10.0)
    param = Parameter(kernel_type=SIGMOID, gamma=1.0, coef0=-0.5, eps=1e-4)
    twin = PathTwin(problem.X, param)
    twin.append(np.arange(40), *problem.boxes(range(40)))
    assert np.linalg.eigvalsh(twin.K)[0] < -0.1
    twin.path.by_smo(filled("i", [1, 2]), (0.0,), 1e-4, twin.control())
    twin.path.state.discard()
    judged = twin.judged
    assert judged.gap(judged.beta) <= 1e-4 + judged.noise
    assert abs(judged.beta.sum()) <= 1e-9


def test_a_sum_out_of_reach():
    problem = Problems(1, "one-class", 10)
    twin = twin_of(problem, KERNELS[2], range(10))
    with pytest.raises(PathLost, match="no variable can make up for the sum"):
        twin.path.update(0, filled("i", []), (10.5,), twin.control())


def test_coefficients_that_can_only_be_zero():
    """Bounds on one side alone: rounding of the sum needs no other variable to compensate for it."""
    for seed in range(20):
        problem = Problems(seed, "any", 12, 1.0)
        linear, _, _ = problem.boxes(range(12))
        twin = PathTwin(problem.X, KERNELS[0])
        twin.append(np.arange(2), linear[:2], np.zeros(2), [1.0, 0.1])
        twin.path.by_smo(filled("i", []), (0.0,), 1e-3, twin.control())
        twin.update(np.arange(2, 12), (linear[2:], np.zeros(10), problem.rng.choice([0.1, 1.0, 3.0], 10)))
        twin.check()
        assert not np.any(twin.path.state.coefficients)


def test_to_stop_is_an_error():
    """Enough work for a reading of the clock."""
    problem = Problems(1, "any", 900, 10.0)
    twin = twin_of(problem, KERNELS[2], range(300))
    twin.path.state.mark()
    before = twin.snapshot()
    fresh = np.arange(300, 900)
    twin.append(fresh, *problem.boxes(fresh))
    with pytest.raises(Stopped, match="interrupted"):
        twin.path.update(600, filled("i", []), (0.0,), twin.control(should_stop=lambda: True))
    twin.path.state.rollback()
    assert twin.snapshot() == before
    twin.update(fresh, problem.boxes(fresh))
    twin.check()
