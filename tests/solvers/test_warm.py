"""Warm starts: the optimum of a cold start, from any start, and V of all variables."""

from dataclasses import replace
from itertools import pairwise
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._solvers.seeding.fold_change import adjust, moved_scores
from support import data
from support.examples import examples
from support.fold_changes import FORMULATIONS, Case, proposed

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.seeding.registry import SEEDERS
from libsvmx._solvers.smo import smo, warm
from libsvmx._train.folds import Rand, stratified_folds
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.validation.dual_folds import PATH, DualFolds
from libsvmx._train.validation.scheme import AUTO, SCHEMES, Seeding

cases = st.builds(
    Case,
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMULATIONS),
    st.integers(2, 40),
    C=st.sampled_from([0.1, 3.0, 100.0]),
    weight=st.sampled_from([1.0, 0.3]),
    nu=st.sampled_from([0.1, 0.35, 0.7]),
)


def problem(case, change, start):
    """The problem that ``start`` belongs to."""
    V = moved_scores(change, start)
    return case.dual.changed(lower=change.lower, upper=change.upper, beta=start, scores=V)


def check(case, solution, left_out, eps):
    """Optimal to eps without ``left_out``, V right everywhere, and as near the cold optimum as eps requires."""
    beta, V = np.asarray(solution.beta), np.asarray(solution.scores)
    lower, upper = case.box(left_out)
    assert solution.status == "converged"
    assert np.all(lower <= beta)
    assert np.all(beta <= upper)
    size = 1 + np.abs(case.linear).max() + np.abs(beta).sum()
    assert pytest.approx(case.scores(beta), abs=1e-9 * size) == V
    assert case.gap(beta, left_out) <= eps + 1e-9 * size
    objective = case.objective(beta)
    assert solution.objective == pytest.approx(objective, rel=1e-9, abs=1e-9 * size)
    _, _, cold = case.optimum(left_out, eps)
    # a gap of eps leaves less than eps sum C to gain
    assert objective == pytest.approx(cold.objective, rel=eps, abs=eps * (upper - lower).sum())
    free = (lower < beta) & (beta < upper)
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
    beta, V, _ = case.optimum(before)
    change = case.change(beta, V, before, left_out)
    start = proposed(change, name)
    if not adjust(change, start):
        return
    solution = warm.solve(problem(case, change, start), case.kernel, budget, Control(eps, shrinking))
    check(case, solution, left_out, eps)


@pytest.mark.parametrize("shrinking", [False, True])
@given(case=cases, share=st.floats(0, 1))
@examples(40)
def test_a_start_far_off(shrinking, case, share):
    """Random beta, made feasible: variables shrunk at first come back where they are needed."""
    left_out = case.folds(2)[0]
    none = np.array([], dtype=int)
    bound = sum(case.box(left_out))  # the nonzero one
    beta = np.where(case.rng.random(len(bound)) < share, bound, case.rng.random(len(bound)) * bound)
    change = case.change(beta, case.scores(beta), none, left_out)
    start = change.kept()
    if not adjust(change, start):
        return
    solution = warm.solve(problem(case, change, start), case.kernel, 1e6, Control(1e-6, shrinking))
    check(case, solution, left_out, 1e-6)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_the_optimum_is_left_alone(kind):
    """No steps, the same bits."""
    case = Case(8, kind, 60)
    beta, V, _ = case.optimum([])
    dual = case.dual.changed(beta=filled("d", beta), scores=filled("d", V))
    solution = warm.solve(dual, case.kernel, 1e6, Control(1e-3 * (1 + 1e-9), True))
    assert solution.iterations == 0
    assert bytes(solution.beta) == bytes(dual.beta)
    assert bytes(solution.scores) == bytes(dual.scores)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_a_limit_leaves_scores_right(kind):
    """V of shrunk and of held-out variables if the solver stops before the optimum."""
    case = Case(2, kind, 300, C=50.0)
    left_out = case.folds(6)[0]
    none = np.array([], dtype=int)
    beta, V, _ = case.optimum(none)
    change = case.change(beta, V, none, left_out)
    start = proposed(change, "avg")
    assert adjust(change, start)
    solution = warm.solve(problem(case, change, start), case.kernel, 1e6, Control(1e-12, True, max_iter=700))
    assert (solution.status, solution.iterations) == ("iteration limit", 700)
    beta, V = np.asarray(solution.beta), np.asarray(solution.scores)
    assert pytest.approx(case.scores(beta), abs=1e-9 * np.abs(beta).sum()) == V


@pytest.mark.parametrize("name", ["none", *SEEDERS])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_folds(kind, name):
    """Chain and star over all folds: the cold optimum in each."""
    case = Case(4, kind, 70, weight=0.5, nu=0.3)
    param = replace(case.param, eps=1e-6)
    folds = DualFolds(case.kernel, 1e8, param, filled("d", case.targets), *case.costs, Observer())
    folds.last = folds.train_full()  # a chain may begin here, too
    for scheme in SCHEMES:
        seeded = 0
        for fold in np.array_split(case.rng.permutation(case.n), 5):
            solved = folds.solve(filled("i", fold), Seeding(name, scheme))
            # a chain has none after one that did not pay; ATO that follows no path is the usual start of its scheme
            instead = {("chain", "none")} | ({(scheme, AUTO[scheme])} if name == "ato" else set())
            assert solved.seeder == name or (scheme, solved.seeder) in instead
            seeded += solved.seeder != "none"
            raw = {"objective": solved.report.objective / solved.scale**2, "rho": solved.report.rho / solved.scale}
            optimum = {"beta": solved.beta, "scores": solved.scores, "status": solved.report.status}
            check(case, SimpleNamespace(**raw, **optimum), fold, 1e-6)
        assert seeded > 0 or name == "none"


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_work_is_counted_by_active_variables(kind):
    """Two rows and two passes of selection for each active variable of a step, and a constant."""
    case = Case(4, kind, 200, nu=0.3)
    dual = case.dual
    plain, shrinking = (smo.solve(dual, case.kernel, 1e8, Control(1e-6, shrinks)) for shrinks in (False, True))
    assert plain.work == (1 + 2 * dual.groups) * (dual.size + 256) * plain.iterations
    assert 0 < shrinking.work < (1 + 2 * dual.groups) * (dual.size + 256) * shrinking.iterations


def test_a_fold_that_cannot_be_seeded_starts_cold():
    case = Case(3, FORMULATIONS[1], 20)
    folds = DualFolds(case.kernel, 1e8, case.param, filled("d", case.targets), *case.costs, Observer())
    folds.train_full()
    fold = filled("i", np.flatnonzero(case.targets > 0)[:-1])
    solved = folds.solve(fold, Seeding("sir", "star"))
    assert solved.seeder == "none"


class AlwaysByPath:
    """What a chain has taken: paths are always expected to pay."""

    def choose(self, cold, cheap, path):
        return PATH

    def note(self, way, work):
        pass


def test_ato_among_rows_that_come_twice():
    """splice has such rows; the factor loses digits at them, and the path would go in circles."""
    matrix, targets = data.load("splice.xz")
    kernel = Kernel(matrix, filled("i", range(len(targets))), 2, 0, 1 / 60, 0.0)
    folds = DualFolds(kernel, 1e8, Parameter(), filled("d", targets), 1.0, 1.0, Observer())
    folds.account = AlwaysByPath()
    order, bounds = stratified_folds(filled("d", targets), 10, Rand(1))
    for begin, end in pairwise(bounds[:7]):
        folds.work_from_nothing = inf  # the limit of a path
        solved = folds.solve(order[begin:end], Seeding("ato", "chain"))
        assert begin == 0 or solved.report.iterations < 100  # a cold start takes 1,000


@pytest.mark.parametrize("name", SEEDERS)
def test_all_at_the_bound_stays_there(name):
    """Rows far from each other, as in madelon: alpha = C - 1e-15 would be free, and rho its V instead of 0."""
    n = 200
    rows = [[(i + 1, 10.0)] for i in range(n)]
    kernel = Kernel(data.from_rows(rows), filled("i", range(n)), 2, 0, 0.7, 0.0)
    targets = filled("d", [1.0, -1.0] * (n // 2))
    folds = DualFolds(kernel, 1e8, Parameter(), targets, 1.0, 1.0, Observer())
    for begin in range(0, n, 40):
        solved = folds.solve(filled("i", range(begin, begin + 40)), Seeding(name, "chain"))
        assert set(solved.beta) == {0.0, 1.0, -1.0}
        assert solved.report.rho == 0
