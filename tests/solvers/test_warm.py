"""The solver that goes on from a start: the optimum of a cold solve, from any start, and V of all variables."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import data
from support.examples import examples
from support.labels import alpha_of, labelled
from support.rounds import FORMULATIONS, SEEDERS, Case

from libsvmx._core.buffers import filled
from libsvmx._core.rand import Rand
from libsvmx._kernels.kernel import Kernel
from libsvmx._solvers.control import Control
from libsvmx._solvers.seeding.seeders import seeder
from libsvmx._solvers.seeding.starts import adjust, moved_scores
from libsvmx._solvers.smo import warm
from libsvmx._train.folds import stratified_folds
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.validation.dual_folds import Rounds
from libsvmx._train.validation.scheme import SCHEMES, Seeding

cases = st.builds(
    Case,
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMULATIONS),
    st.integers(2, 40),
    C=st.sampled_from([0.1, 3.0, 100.0]),
    weight=st.sampled_from([1.0, 0.3]),
    nu=st.sampled_from([0.1, 0.35, 0.7]),
)


def problem(case, round_, start):
    """What ``start`` is the start of."""
    V = moved_scores(round_, case.every_row, start, case.pool)
    return labelled(case.y, case.linear, round_.C, start, case.index, case.dual.groups == 2, V)


def check(case, solution, left_out, eps):
    """Optimal to eps without ``left_out``, V right everywhere, and no farther from the cold optimum than eps allows."""
    alpha, V = alpha_of(case.dual, solution), np.asarray(solution.scores)
    C = case.costs_without(left_out)
    assert solution.status == "converged"
    assert alpha.min() >= 0
    assert np.all(alpha <= C)
    size = 1 + np.abs(case.linear).max() + alpha.sum()
    assert pytest.approx(case.scores(alpha), abs=1e-9 * size) == V
    assert case.gap(alpha, left_out) <= eps + 1e-9 * size
    objective = case.objective(alpha)
    assert solution.objective == pytest.approx(objective, rel=1e-9, abs=1e-9 * size)
    _, _, cold = case.optimum(left_out, eps)
    # a gap of eps leaves less than eps sum C to gain
    assert objective == pytest.approx(cold.objective, rel=eps, abs=eps * C.sum())
    free = (alpha > 0) & (alpha < C)
    if free.any() and case.dual.groups == 1:
        assert solution.rho == pytest.approx(-V[free].mean(), abs=1e-9 * size)


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("eps", [1e-3, 1e-8])
@pytest.mark.parametrize("name", SEEDERS)
@given(case=cases, star=st.booleans(), budget=st.sampled_from([1.0, 1e6]))
@examples(25)
def test_any_seed_ends_at_the_cold_optimum(name, eps, shrinking, case, star, budget):
    folds = case.folds(min(3, case.n))
    before, left_out = (np.array([], dtype=int) if star else folds[0]), folds[1]
    alpha, V, _ = case.optimum(before)
    round_ = case.round(alpha, V, before, left_out)
    start = seeder(name)(round_)
    if not adjust(round_, start):
        return
    solution = warm.solve(problem(case, round_, start), case.kernel, budget, Control(eps, shrinking))
    check(case, solution, left_out, eps)


@pytest.mark.parametrize("shrinking", [False, True])
@given(case=cases, share=st.floats(0, 1))
@examples(40)
def test_a_start_far_off(shrinking, case, share):
    """Random alpha, made feasible: variables put aside at first come back where they are wanted."""
    left_out = case.folds(2)[0]
    none = np.array([], dtype=int)
    C = case.costs_without(left_out)
    alpha = np.where(case.rng.random(len(C)) < share, C, case.rng.random(len(C)) * C)
    round_ = case.round(alpha, case.scores(alpha), none, left_out)
    start = round_.cut()
    if not adjust(round_, start):
        return
    solution = warm.solve(problem(case, round_, start), case.kernel, 1e6, Control(1e-6, shrinking))
    check(case, solution, left_out, 1e-6)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_the_optimum_is_left_alone(kind):
    """No steps, the same bits."""
    case = Case(8, kind, 60)
    alpha, V, _ = case.optimum([])
    dual = labelled(case.y, case.linear, case.costs_without([]), alpha, case.index, case.dual.groups == 2, V)
    solution = warm.solve(dual, case.kernel, 1e6, Control(1e-3 * (1 + 1e-9), True))
    assert solution.iterations == 0
    assert bytes(solution.beta) == bytes(dual.beta)
    assert bytes(solution.scores) == bytes(dual.scores)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_a_limit_leaves_scores_right(kind):
    """V of shrunk and of held-out variables, when the solver stops before the optimum."""
    case = Case(2, kind, 300, C=50.0)
    left_out = case.folds(6)[0]
    none = np.array([], dtype=int)
    alpha, V, _ = case.optimum(none)
    round_ = case.round(alpha, V, none, left_out)
    start = seeder("avg")(round_)
    assert adjust(round_, start)
    solution = warm.solve(problem(case, round_, start), case.kernel, 1e6, Control(1e-12, True, max_iter=700))
    assert (solution.status, solution.iterations) == ("iteration limit", 700)
    V = np.asarray(solution.scores)
    assert (
        pytest.approx(case.scores(alpha_of(case.dual, solution)), abs=1e-9 * alpha_of(case.dual, solution).sum()) == V
    )


@pytest.mark.parametrize("name", ["none", *SEEDERS])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_rounds(kind, name):
    """Chain and star over all folds: the cold optimum in each."""
    case = Case(4, kind, 70, weight=0.5, nu=0.3)
    param = replace(case.param, eps=1e-6)
    rounds = Rounds(case.kernel, 1e8, param, filled("d", case.targets), *case.costs, Observer())
    rounds.solved = rounds.train_whole()  # where a chain may begin as well
    for scheme in SCHEMES:
        for fold in np.array_split(case.rng.permutation(case.n), 5):
            solved = rounds.solve(filled("i", fold), Seeding(name, scheme))
            assert solved.seeder == name
            raw = {"objective": solved.report.objective / solved.scale**2, "rho": solved.rho / solved.scale}
            optimum = {"beta": solved.optimum.beta, "scores": solved.optimum.scores, "status": solved.status}
            check(case, SimpleNamespace(**raw, **optimum), fold, 1e-6)


def test_a_round_that_cannot_be_seeded_starts_cold():
    case = Case(3, FORMULATIONS[1], 20)
    rounds = Rounds(case.kernel, 1e8, case.param, filled("d", case.targets), *case.costs, Observer())
    rounds.train_whole()
    fold = filled("i", np.flatnonzero(case.targets > 0)[:-1])
    solved = rounds.solve(fold, Seeding("sir", "star"))
    assert solved.seeder == "none"


def test_ato_among_rows_that_come_twice():
    """In splice there are such; the inverse loses digits at them, and the path would go in circles."""
    matrix, targets = data.load("splice.xz")
    kernel = Kernel(matrix, filled("i", range(len(targets))), 2, 0, 1 / 60, 0.0)
    rounds = Rounds(kernel, 1e8, Parameter(), filled("d", targets), 1.0, 1.0, Observer())
    order, bounds = stratified_folds(filled("d", targets), 10, Rand(1))
    for begin, end in pairwise(bounds[:7]):
        solved = rounds.solve(order[begin:end], Seeding("ato", "chain"))
        assert begin == 0 or solved.report.iterations < 100  # 1,000 from nothing


@pytest.mark.parametrize("name", SEEDERS)
def test_all_at_the_bound_stays_there(name):
    """Rows far from each other, as in madelon: alpha = C - 1e-15 would be free, and rho its V instead of 0."""
    n = 200
    rows = [[(i + 1, 10.0)] for i in range(n)]
    kernel = Kernel(data.from_rows(rows), filled("i", range(n)), 2, 0, 0.7, 0.0)
    targets = filled("d", [1.0, -1.0] * (n // 2))
    rounds = Rounds(kernel, 1e8, Parameter(), targets, 1.0, 1.0, Observer())
    for begin in range(0, n, 40):
        solved = rounds.solve(filled("i", range(begin, begin + 40)), Seeding(name, "chain"))
        assert set(alpha_of(rounds.dual, solved.optimum)) == {0.0, 1.0}
        assert solved.rho == 0
