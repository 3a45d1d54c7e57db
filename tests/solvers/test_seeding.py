"""Seeders and AdjustAlpha by their properties, and against brute force in NumPy."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._solvers.seeding.ato_path import first_line
from libsvmx._solvers.seeding.fold_change import FoldChange, adjust, moved_scores
from libsvmx._solvers.seeding.seeders import start_of
from support import data
from support.commands import PATIENCE
from support.examples import examples
from support.fold_changes import (
    FORMULATIONS,
    Case,
    adjusted,
    box_of,
    entering,
    equalised,
    extremes,
    groups_of,
    leaving,
    proposed,
    shared,
    sums_of,
)
from support.labels import costs_of

from libsvmx._core.buffers import filled
from libsvmx._solvers.seeding.registry import SEEDERS
from libsvmx.enums import SvmType

DOCS = (data.DATA.parent / "docs" / "crossvalidation.md").read_text(encoding="utf-8")

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
    """One change of a star or a chain."""
    first, second = case.folds(k)[:2]
    before = np.array([], dtype=int) if star else first
    beta, V, _ = case.optimum(before)
    return case.change(beta, V, before, second)


def can_be(change, slack=1e-9):
    low, high = extremes(change)
    goals, size = np.array(change.sums), 1 + (high - low).max()
    return np.all(goals >= low - slack * size), np.all(goals <= high + slack * size)


def is_feasible(change, beta):
    beta, (lower, upper) = np.asarray(beta), box_of(change)
    assert np.all(lower <= beta)
    assert np.all(beta <= upper)  # so 0 for rows left out
    assert np.abs(sums_of(change, beta) - change.sums).max() <= 1e-12 * max(np.abs(beta).sum(), (upper - lower).max())


def test_each_seeder_is_registered_with_a_scheme_and_a_line_of_help():
    for name, seeder in SEEDERS.items():
        assert seeder.name == name
        assert seeder.usual_scheme in ("chain", "star")
        assert seeder.help
        assert f"| `{name}` |" in DOCS


def test_no_seeder_brings_numpy_in():
    """Commands start without NumPy."""
    code = "import sys, libsvmx._train.validation.dual_folds;assert not {'numpy', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("name", SEEDERS)
@given(case=cases)
@examples(40)
def test_starts_are_feasible(name, star, case):
    change = chained(case, star)
    old = bytes(change.beta), bytes(change.scores)
    start = proposed(change, name)
    assert np.isfinite(np.asarray(start)).all()
    assert (bytes(change.beta), bytes(change.scores)) == old
    if adjust(change, start):
        is_feasible(change, start)
    else:
        assert not all(can_be(change, slack=-1e-9))


@pytest.mark.parametrize("kind", FORMULATIONS)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 20), weight=st.sampled_from([1.0, 0.3]), plan=st.data())
@examples(60)
def test_adjust_is_the_common_shift(kind, seed, n, weight, plan):
    """From any start, to any sums: T, then the free rows of S, then all; infeasible sums are refused."""
    case = Case(seed, kind, n, weight=weight)
    rng, m = case.rng, len(case.y)
    left, new = np.split(rng.permutation(n)[: rng.integers(1, n)], [rng.integers(1, n)])
    lower, upper = case.box(left)
    share_of_box = np.where(rng.random(m) < 0.4, 0.0, np.where(rng.random(m) < 0.3, 1.0, rng.random(m)))
    known = share_of_box * (lower + upper)
    low, high = extremes(case.change(known, case.linear, new, left))
    share = plan.draw(st.sampled_from([-0.3, 0.05, 0.3, 0.5, 0.9, 1.2]))
    change = case.change(known, case.linear, new, left, sums=tuple(low + share * (high - low)))
    C = upper - lower
    begin = rng.normal(size=m) * 2 * C.max()
    start = filled("d", begin)
    possible = adjust(change, start)
    assert possible == all(can_be(change))
    assert np.asarray(start) == pytest.approx(adjusted(change, begin), abs=1e-9 * max(1.0, C.max()))
    if possible:
        is_feasible(change, start)


@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("name", SEEDERS)
@given(case=cases)
@examples(40)
def test_a_start_is_what_is_proposed_made_feasible_with_its_scores(name, star, case):
    change = chained(case, star)
    found, expected = start_of(change, name), proposed(change, name)
    if not adjust(change, expected):
        assert found is None
        return
    start, V = map(np.asarray, found)
    is_feasible(change, start)
    assert start == pytest.approx(np.asarray(expected), abs=1e-12 * case.C)
    size = 1 + np.abs(case.K).max() * (np.abs(start).sum() + np.abs(change.beta).sum())
    assert pytest.approx(case.scores(start), abs=1e-13 * len(V) * size) == V


@pytest.mark.parametrize("star", [False, True])
@given(case=cases)
@examples(60)
def test_scores_of_a_start(star, case):
    change = chained(case, star)
    start = proposed(change, "sir")
    adjust(change, start)
    V = np.asarray(moved_scores(change, start))
    size = 1 + np.abs(case.K).max() * (np.abs(start).sum() + np.abs(change.beta).sum())
    assert pytest.approx(case.scores(np.asarray(start)), abs=1e-14 * len(V) * size) == V


def handed_over(case, change, candidates, once, either):
    """Each leaves its beta to the candidates of largest K, one pair at a time, computed in alpha."""
    y, C, old = case.y, costs_of(change), case.y * np.asarray(change.beta)
    alpha, used = np.minimum(old, C), set()
    for r in leaving(change):
        left = old[r]
        order = sorted(candidates, key=lambda t, r=r: -case.K[r, t])  # stable: the first of ties
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
    return y * alpha


@given(case=cases, star=st.booleans())
@examples(100)
def test_sir_gives_to_the_nearest_of_the_same_sign(case, star):
    change = chained(case, star)
    candidates = list(shared(change, False) if star else entering(change))
    expected = handed_over(case, change, candidates, not star, False)
    assert np.asarray(proposed(change, "sir")) == pytest.approx(expected, abs=1e-13 * case.C)


@given(case=cases, star=st.booleans())
@examples(100)
def test_top_gives_to_one_after_the_other(case, star):
    change = chained(case, star)
    candidates = [*shared(change, False), *entering(change)]
    expected = handed_over(case, change, candidates, False, True)
    assert np.asarray(proposed(change, "top")) == pytest.approx(expected, abs=1e-13 * case.C)


@given(case=cases, star=st.booleans())
@examples(60)
def test_avg_shifts_the_free_rows(case, star):
    change = chained(case, star)
    known, (lower, upper) = np.asarray(change.beta), box_of(change)
    free = [v for v in range(len(known)) if lower[v] < known[v] < upper[v]]
    expected = equalised(change, np.clip(known, lower, upper), free)
    assert np.asarray(proposed(change, "avg")) == pytest.approx(expected, abs=1e-9 * case.C)


@given(case=cases)
@examples(40)
def test_mir_solves_the_normal_equations(case):
    """(18) with the whole of S and T as rows, and T the entering rows that violate optimality."""
    change = chained(case, False)
    y, C, V = case.y, costs_of(change), np.asarray(change.scores)
    old = y * np.asarray(change.beta)
    new, gone = entering(change), leaving(change)
    free = np.setdiff1d(np.asarray(shared(change, True)), new)
    if not len(free) or case.dual.groups == 2 or case.kind.is_regression:
        return
    off = V - V[free].mean()
    T = new[y[new] * off[new] > 0]
    if not len(T):
        return
    X = np.setdiff1d(np.flatnonzero(C > 0), np.setdiff1d(new, T))
    off[free] = 0.0
    goal = change.sums[0] - (y * np.minimum(old, C)).sum()
    A = np.vstack([case.K[np.ix_(X, T)], np.ones(len(T))])
    b = np.append(off[X] + case.K[np.ix_(X, gone)] @ (y * old)[gone], goal)
    if np.linalg.cond(A) > 1e4:
        return
    expected = np.minimum(old, C)
    expected[T] = np.clip(y[T] * np.linalg.lstsq(A, b, rcond=None)[0], 0.0, C[T])
    assert y * np.asarray(proposed(change, "mir")) == pytest.approx(expected, abs=1e-6 * case.C)


@pytest.mark.parametrize("C", [0.02, 3.0, 200.0])
@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_ato_ends_at_the_optimum(kind, star, C):
    """A complete path leaves a gap little larger than that of its start and the ridge.

    With the smallest C there are empty margins; with the largest, the sums of nu-SVR are slack, and both
    variables of most rows are free, where the path may stop early."""
    if C > 100 and kind == SvmType.NU_SVR:
        return
    possible = 0
    for seed in range(20):
        case = Case(seed, kind, 40, C=C)
        first, second = case.folds(5)[:2]
        before = np.array([], dtype=int) if star else first
        beta, V, _ = case.optimum(before, eps=1e-7)
        change = case.change(beta, V, before, second)
        start = proposed(change, "ato")
        if adjust(change, start):
            possible += 1
            assert case.gap(np.asarray(start), second) <= 1e-5 * max(10.0, C)
    assert possible >= 15


@given(case=cases, star=st.booleans())
@examples(100)
def test_the_first_line_of_ato_solves_its_equations(case, star):
    """(7-11) over the margin, with the ridge, and V of the margin moving to the level at the end of the path."""
    change = chained(case, star)
    line = first_line(change)
    if line is None:
        return
    moves, d_level, dV, ridge = (np.array(part) for part in line)
    known, V, (lower, upper) = np.asarray(change.beta), np.asarray(change.scores), box_of(change)
    free = np.flatnonzero((lower < known) & (known < upper))
    groups = groups_of(change)
    if not len(free) or not all(own[free].any() for own in groups):
        return  # the level is not that of the margin
    levels = [V[free[own[free]]].mean() for own in groups]
    level, d_level_of = (np.array(by)[np.asarray(change.group, dtype=int)] for by in (levels, d_level))
    new, gone = entering(change), leaving(change)
    moving = new[(case.y * (V - level) > 0)[new]]
    others = np.setdiff1d(np.arange(len(known)), free)
    velocity = np.zeros(len(known))
    velocity[moving] = (lower + upper)[moving]
    assert moves[others] == pytest.approx(velocity[others])
    velocity[gone] = -known[gone]
    size = 1 + np.abs(case.K).max() * (np.abs(moves).sum() + np.abs(velocity).sum())
    W = case.K @ velocity
    answer = case.K[np.ix_(free, free)] @ moves[free] + ridge * moves[free]
    assert answer + d_level_of[free] == pytest.approx(-W[free] + (V - level)[free], abs=1e-9 * size)
    for own, goal in zip(groups, change.sums, strict=True):
        gained = moves[own & (lower < upper)].sum() - known[own & (lower >= upper)].sum()
        assert gained == pytest.approx(goal - known[own].sum(), abs=1e-9 * size)
    assert dV == pytest.approx(-case.K[:, free] @ moves[free] - W, abs=1e-9 * size)


@pytest.mark.parametrize("share", [0.0, 1.0, 30.0, 1e3])
@given(case=cases)
@examples(40)
def test_ato_stops_where_its_work_ends(share, case):
    """Its point then is the start, with the right scores."""
    full = chained(case, False)
    change = FoldChange(
        case.kernel,
        case.dual.changed(lower=full.lower, upper=full.upper),
        full.sums,
        full.beta,
        full.scores,
        full.former,
        None,
        None,
        share * case.n**2,
    )
    found = start_of(change, "ato")
    if found is not None:
        start, V = map(np.asarray, found)
        is_feasible(change, start)
        size = 1 + np.abs(case.K).max() * (np.abs(start).sum() + np.abs(change.beta).sum())
        assert pytest.approx(case.scores(start), abs=1e-13 * len(V) * size) == V
    if share == 0.0:
        assert change.path_values < 0
        assert np.asarray(proposed(change, "ato")) == pytest.approx(np.asarray(proposed(full, "sir")))


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("kind", [kind for kind in FORMULATIONS if kind != SvmType.QUANTILE_SVR])  # all have alpha
def test_rows_without_alpha_leave_all_as_it_is(kind, name):
    """If rows with alpha = 0 leave and nothing enters, the optimum stays (its sums are those of fewer rows, for nu)."""
    case = Case(5, kind, 40, nu=0.2)
    beta, V, _ = case.optimum([])
    idle = [i for i in range(case.n) if not beta[case.index == i].any()][:3]
    assert idle
    change = case.change(beta, V, [], idle)
    start = proposed(change, name)
    assert adjust(change, start)
    is_feasible(change, start)
    if kind in (SvmType.C_SVC, SvmType.EPSILON_SVR):
        assert np.asarray(start) == pytest.approx(beta, abs=1e-12 * case.C)


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_a_fold_with_a_whole_class(kind, name):
    """C-SVC: only alpha = 0 is left; nu-SVC: nothing."""
    case = Case(3, kind, 20)
    fold = np.flatnonzero(case.targets > 0)
    beta, V, _ = case.optimum([])
    change = case.change(beta, V, [], fold)
    start = proposed(change, name)
    possible = adjust(change, start)
    assert possible == (kind != SvmType.NU_SVC)
    if possible:
        is_feasible(change, start)
    if kind == SvmType.C_SVC:
        assert not np.asarray(start).any()


@pytest.mark.parametrize("name", SEEDERS)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_two_rows(kind, name):
    case = Case(1, kind, 2)
    for before, left in (([], [0]), ([], [1]), ([1], [0]), ([0], [1])):
        beta, V, _ = case.optimum(before)
        change = case.change(beta, V, before, left)
        start = proposed(change, name)
        if adjust(change, start):
            is_feasible(change, start)
        else:
            assert not all(can_be(change, slack=-1e-9))
