"""Seeders and AdjustAlpha by properties, and against brute force in NumPy."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.rounds import FORMULATIONS, SEEDERS, Case, adjusted, extremes, spread, sums_of

from libsvmx._core.buffers import filled
from libsvmx._solvers.seeding.seeders import NAMES, seeder
from libsvmx._solvers.seeding.starts import Round, adjust, moved_scores
from libsvmx.enums import SvmType

cases = st.builds(
    Case,
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMULATIONS),
    st.integers(6, 32),
    C=st.sampled_from([0.1, 3.0, 500.0]),
    weight=st.sampled_from([1.0, 0.3]),
    beyond=st.booleans(),
    nu=st.sampled_from([0.1, 0.35, 0.7]),
)


def chained(case, star, k=3):
    """A round of a star or of a chain."""
    first, second = case.folds(k)[:2]
    before = np.array([], dtype=int) if star else first
    alpha, V, _ = case.optimum(before)
    return case.round(alpha, V, before, second)


def can_be(round_, slack=1e-9):
    low, high = extremes(round_)
    goals, size = np.array(round_.sums), 1 + high.max()
    return np.all(goals >= low - slack * size), np.all(goals <= high + slack * size)


def is_feasible(round_, alpha):
    alpha, C = np.asarray(alpha), np.asarray(round_.C)
    assert alpha.min() >= 0
    assert np.all(alpha <= C)  # so 0 where a row is left out
    assert np.abs(sums_of(round_, alpha) - round_.sums).max() <= 1e-12 * max(alpha.sum(), C.max())


def test_names():
    assert tuple(SEEDERS) == NAMES
    with pytest.raises(KeyError):
        seeder("none")


def test_scipy_is_imported_by_those_that_need_it_only():
    """Each command starts without NumPy, so the default seeder must not bring it in."""
    code = (
        "import sys; from libsvmx._solvers.seeding.seeders import seeder; import libsvmx._train.validation.dual_folds;"
        "[seeder(name) for name in ('sir', 'top', 'avg')]; assert 'numpy' not in sys.modules;"
        "seeder('mir'); assert 'scipy.linalg' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("name", SEEDERS)
@given(case=cases)
@examples(40)
def test_starts_are_feasible(name, star, case):
    round_ = chained(case, star)
    old = bytes(round_.alpha), bytes(round_.scores)
    start = seeder(name)(round_)
    assert np.isfinite(np.asarray(start)).all()
    assert (bytes(round_.alpha), bytes(round_.scores)) == old
    if adjust(round_, start):
        is_feasible(round_, start)
    else:
        assert not all(can_be(round_, slack=-1e-9))


@pytest.mark.parametrize("kind", FORMULATIONS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 20), weight=st.sampled_from([1.0, 0.3]), plan=st.data())
@examples(60)
def test_adjust_is_the_common_shift(kind, seed, n, weight, plan):
    """From any start, to any sums: T, then the free rows of S, then all; infeasible sums are refused."""
    case = Case(seed, kind, n, weight=weight)
    rng, m = case.rng, len(case.y)
    left, entering = np.split(rng.permutation(n)[: rng.integers(1, n)], [rng.integers(1, n)])
    round_ = case.round(np.zeros(m), case.linear, entering, left)
    C = np.asarray(round_.C)
    old = np.where(rng.random(m) < 0.4, 0.0, np.where(rng.random(m) < 0.3, 1.0, rng.random(m))) * C
    low, high = extremes(round_)
    share = plan.draw(st.sampled_from([-0.3, 0.05, 0.3, 0.5, 0.9, 1.2]))
    round_ = Round(
        case.kernel,
        round_.y,
        round_.C,
        round_.index,
        round_.split,
        tuple(low + share * (high - low)),
        filled("d", old),
        round_.scores,
        round_.leaving,
        round_.entering,
    )
    begin = rng.normal(size=m) * 2 * C.max()
    start = filled("d", begin)
    possible = adjust(round_, start)
    assert possible == all(can_be(round_))
    assert np.asarray(start) == pytest.approx(adjusted(round_, begin), abs=1e-9 * max(1.0, C.max()))
    if possible:
        is_feasible(round_, start)


@pytest.mark.parametrize("star", [False, True])
@given(case=cases)
@examples(60)
def test_scores_of_a_start(star, case):
    round_ = chained(case, star)
    start = seeder("sir")(round_)
    adjust(round_, start)
    V = np.asarray(moved_scores(round_, case.every_row, start, case.pool))
    size = 1 + np.abs(case.K).max() * (np.abs(start).sum() + np.abs(round_.alpha).sum())
    assert pytest.approx(case.scores(np.asarray(start)), abs=1e-14 * len(V) * size) == V


def handed_over(case, round_, candidates, once, either):
    """Each leaving alpha to the candidates of largest K, one pair at a time."""
    y, C, old = case.y, np.asarray(round_.C), np.asarray(round_.alpha)
    alpha, used = np.minimum(old, C), set()
    for r in round_.leaving:
        left = old[r]
        order = sorted(candidates, key=lambda t, r=r: -case.K[r, t])  # stable: the first among equals
        for t in order:
            room = C[t] - alpha[t] if y[t] == y[r] else alpha[t] if either else 0.0
            if left <= 0 or t in used or room <= 0:
                continue
            given_ = min(left, room)
            alpha[t] += given_ if y[t] == y[r] else -given_
            left -= given_
            if once:
                used.add(t)
                break
    return alpha


@given(case=cases, star=st.booleans())
@examples(100)
def test_sir_gives_to_the_nearest_of_the_same_sign(case, star):
    round_ = chained(case, star)
    candidates = list(round_.shared(False) if star else round_.entering)
    expected = handed_over(case, round_, candidates, not star, False)
    assert np.asarray(seeder("sir")(round_)) == pytest.approx(expected, abs=1e-13 * case.C)


@given(case=cases, star=st.booleans())
@examples(100)
def test_top_gives_to_one_after_the_other(case, star):
    round_ = chained(case, star)
    candidates = [*round_.shared(False), *round_.entering]
    expected = handed_over(case, round_, candidates, False, True)
    assert np.asarray(seeder("top")(round_)) == pytest.approx(expected, abs=1e-13 * case.C)


@given(case=cases, star=st.booleans())
@examples(60)
def test_avg_shifts_the_free_rows(case, star):
    round_ = chained(case, star)
    old, C = np.asarray(round_.alpha), np.asarray(round_.C)
    free = [v for v in range(len(C)) if 0 < old[v] < C[v]]
    expected = spread(round_, np.minimum(old, C), free)
    assert np.asarray(seeder("avg")(round_)) == pytest.approx(expected, abs=1e-9 * case.C)


@given(case=cases)
@examples(40)
def test_mir_solves_the_normal_equations(case):
    """(18) with the whole of S and T as rows, and T the entering rows that violate optimality."""
    round_ = chained(case, False)
    y, C, old, V = case.y, np.asarray(round_.C), np.asarray(round_.alpha), np.asarray(round_.scores)
    entering, leaving = np.asarray(round_.entering), np.asarray(round_.leaving)
    free = np.setdiff1d(np.asarray(round_.shared(True)), entering)
    if not len(free) or case.dual.groups == 2 or case.kind.is_regression:
        return
    off = V - V[free].mean()
    T = entering[y[entering] * off[entering] > 0]
    if not len(T):
        return
    X = np.setdiff1d(np.flatnonzero(C > 0), np.setdiff1d(entering, T))
    off[free] = 0.0
    goal = round_.sums[0] - (y * np.minimum(old, C)).sum()
    A = np.vstack([case.K[np.ix_(X, T)], np.ones(len(T))])
    b = np.append(off[X] + case.K[np.ix_(X, leaving)] @ (y * old)[leaving], goal)
    if np.linalg.cond(A) > 1e4:
        return
    expected = np.minimum(old, C)
    expected[T] = np.clip(y[T] * np.linalg.lstsq(A, b, rcond=None)[0], 0.0, C[T])
    assert np.asarray(seeder("mir")(round_)) == pytest.approx(expected, abs=1e-6 * case.C)


@pytest.mark.parametrize("C", [0.02, 3.0, 200.0])
@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_ato_ends_at_the_optimum(kind, star, C):
    """A path that is not cut short leaves a gap of little more than that of its beginning and the ridge.

    With the smallest C there are margins without variables; with the largest, nu-SVR has no use for its sums, and both
    variables of most rows are free, where the path may stop early."""
    if C > 100 and kind == SvmType.NU_SVR:
        return
    possible = 0
    for seed in range(20):
        case = Case(seed, kind, 40, C=C)
        first, second = case.folds(5)[:2]
        before = np.array([], dtype=int) if star else first
        alpha, V, _ = case.optimum(before, eps=1e-7)
        round_ = case.round(alpha, V, before, second)
        start = seeder("ato")(round_)
        if adjust(round_, start):
            possible += 1
            assert case.gap(np.asarray(start), second) <= 1e-5 * max(10.0, C)
    assert possible >= 15


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_rows_without_alpha_leave_all_as_it_is(kind, name):
    """Where alpha = 0 leaves and nothing enters, the optimum stays (its sums are those of fewer rows, for nu)."""
    case = Case(5, kind, 40, nu=0.2)
    alpha, V, _ = case.optimum([])
    idle = [i for i in range(case.n) if not alpha[case.index == i].any()][:3]
    assert idle
    round_ = case.round(alpha, V, [], idle)
    start = seeder(name)(round_)
    assert adjust(round_, start)
    is_feasible(round_, start)
    if kind in (SvmType.C_SVC, SvmType.EPSILON_SVR):
        assert np.asarray(start) == pytest.approx(alpha, abs=1e-12 * case.C)


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_a_fold_with_a_whole_class(kind, name):
    """C-SVC: only alpha = 0 is left; nu-SVC: nothing."""
    case = Case(3, kind, 20)
    fold = np.flatnonzero(case.targets > 0)
    alpha, V, _ = case.optimum([])
    round_ = case.round(alpha, V, [], fold)
    start = seeder(name)(round_)
    possible = adjust(round_, start)
    assert possible == (kind != SvmType.NU_SVC)
    if possible:
        is_feasible(round_, start)
    if kind == SvmType.C_SVC:
        assert not np.asarray(start).any()


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_two_rows(kind, name):
    case = Case(1, kind, 2)
    for before, left in (([], [0]), ([], [1]), ([1], [0]), ([0], [1])):
        alpha, V, _ = case.optimum(before)
        round_ = case.round(alpha, V, before, left)
        start = seeder(name)(round_)
        if adjust(round_, start):
            is_feasible(round_, start)
        else:
            assert not all(can_be(round_, slack=-1e-9))
