"""The least squares of working sets, in parts, and cases in which the solver avoids them."""

import numpy as np
import pytest
from support.posed import classes, posed
from support.selection import quick_first

from libsvmx._core.stopping import NOBODY, Control
from libsvmx._solvers.decomposition import irwls
from libsvmx._solvers.decomposition.irwls import JOINING, Face, damping_of, face_optimum, feasible, joining
from libsvmx._solvers.decomposition.solver import IRWLS
from libsvmx.enums import SolveStatus, SvmType


class Matrix:
    """A subproblem with this kernel matrix."""

    asking, in_double = NOBODY, False

    def __init__(self, K):
        self.K = K

    def lower_triangle(self, places, out):
        out[:] = np.tril(self.K[np.ix_(places, places)])

    def prepare(self, places):
        """Its rows are available."""


@pytest.mark.parametrize("excess", [-3e-16, -2e-16, 2e-16, 3e-16])
def test_variables_at_a_bound_stay_there_exactly(excess):
    """Not slightly inside, where it would count as free, and no step could move it."""
    lower, upper = np.zeros(5), np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    point = np.array([0.0, 0.1, 0.2, 0.7, 0.5])
    found = feasible(point, float(point.sum()) + excess, lower, upper)
    assert found[0] == 0.0
    assert found[4] == 0.5
    np.testing.assert_allclose(found, point, atol=1e-14)


def test_the_nearest_point_of_a_sum():
    rng = np.random.default_rng(0)
    lower, upper = -rng.random(50), rng.random(50)
    point = 3 * rng.normal(size=50)
    for share in (0.0, 0.3, 1.0):
        total = float(lower.sum() + share * (upper - lower).sum())
        found = feasible(point, total, lower, upper)
        assert ((lower <= found) & (found <= upper)).all()
        assert found.sum() == pytest.approx(total, abs=1e-12)
        moved = (point - found)[(found > lower) & (found < upper)]
        assert not len(moved) or np.ptp(moved) < 1e-12  # all by the same amount


@pytest.mark.parametrize("rank", [40, 9])
def test_a_face_is_solved_whatever_is_held(rank):
    """NumPy's solution of the bordered system, at first and after each of two further holds."""
    rng = np.random.default_rng(rank)
    factor = rng.normal(size=(40, rank))
    K, V, beta, damping, total = factor @ factor.T, rng.normal(size=40), rng.normal(size=40), 0.1, 2.5
    S1 = np.flatnonzero(rng.random(40) < 0.6)
    n = len(S1)
    face = Face(Matrix(K), V, beta, S1, total, damping)
    K_S1, held, values = K[np.ix_(S1, S1)], np.arange(0), np.empty(0)
    for more in (np.arange(0), np.array([3]), np.array([0, n - 1, 7])):
        if len(more):
            ends = rng.normal(size=len(more))
            face.hold(more, ends)
            held, values = np.append(held, more), np.append(values, ends)
        system = np.zeros((n + 1 + len(held), n + 1 + len(held)))
        system[:n, :n] = K_S1 + damping * np.eye(n)
        system[:n, n] = system[n, :n] = 1.0
        system[held, n + 1 + np.arange(len(held))] = system[n + 1 + np.arange(len(held)), held] = 1.0
        right = np.concatenate((V[S1] + K_S1 @ beta[S1] + damping * beta[S1], [total], values))
        np.testing.assert_allclose(face.solution(), np.linalg.solve(system, right)[:n], atol=1e-8)
        np.testing.assert_array_equal(face.solution()[held], values)


@pytest.mark.parametrize("seed", range(30))
def test_within_its_face_a_round_leads_on_however_singular_the_kernel(seed):
    """Up along the dual objective, in the box, with the same sum; bounds are respected, and others are reached."""
    rng = np.random.default_rng(seed)
    factor, lower, upper = rng.normal(size=(12, 3)), -rng.random(12), rng.random(12)
    K, V = factor @ factor.T, rng.normal(size=12)
    beta = lower + rng.random(12) * (upper - lower)
    beta[:4] = np.where(rng.random(4) < 0.5, lower[:4], upper[:4])
    found = beta.copy()
    face_optimum(Matrix(K), K, V, found, lower, upper, np.arange(12), within=True)
    direction = found - beta
    assert ((lower <= found) & (found <= upper)).all()
    assert found.sum() == pytest.approx(beta.sum(), abs=1e-12)
    np.testing.assert_array_equal(found[:4], beta[:4])
    assert V @ direction - direction @ K @ direction / 2 > 0
    inside = (lower < found) & (found < upper)
    delta = damping_of(V[4:], upper - lower)
    assert np.ptp((V - K @ direction - delta * direction)[inside]) < 1e-9  # no further ascent within the final face


def test_a_face_without_two_free_variables_stays():
    beta = np.array([0.0, 0.5, 1.0])
    K, box = np.eye(3), (np.zeros(3), np.ones(3))
    assert face_optimum(Matrix(K), K, np.ones(3), beta, *box, np.arange(3), within=True) == 0.0
    np.testing.assert_array_equal(beta, [0.0, 0.5, 1.0])


def test_holding_one_variable_costs_less_than_a_factor_and_holding_many_more():
    face = Face(Matrix(np.eye(200)), np.ones(200), np.zeros(200), np.arange(200), 1.0, 0.1)
    assert face.is_worth_holding(1)
    assert not face.is_worth_holding(100)


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR])
def test_an_easy_problem_is_over_before_the_first_working_set(kind):
    X, y = classes(3, 300)
    case = posed(kind, X, y, C=1.0)
    solution = case.solve(engine=IRWLS)
    assert solution.subproblems == 0
    case.check(solution, 1e-3)
    whole = case.solve(engine=IRWLS, working_set=300)
    assert whole.subproblems > 0
    case.check_near(solution, whole, 1e-3)


def test_a_hard_problem_is_left_to_working_sets_at_the_first_glance():
    X, y = classes(3, 300)
    case = posed(SvmType.C_SVC, X, y, C=1e4)
    solution = case.solve(engine=IRWLS)
    assert solution.subproblems > 0
    assert solution.iterations < 0.5 * case.cold(1e-3).iterations
    case.check(solution, 1e-3)


def test_variables_of_the_wrong_sign_join_the_worst_first():
    """Free variables have level 0; one at a bound joins if it would leave the bound, at most JOINING of them."""
    n = 4 * JOINING
    rng = np.random.default_rng(4)
    V, lower, upper = rng.normal(size=n), np.full(n, -1.0), np.ones(n)
    beta = rng.choice([-1.0, 1.0], size=n)
    beta[:2], V[:2] = 0.0, 0.0
    found = joining(np.arange(2), np.arange(n), V, beta, lower, upper)
    error = -beta * V
    wrong = np.flatnonzero(error > 0)
    assert len(wrong) > JOINING
    assert set(found) == set(wrong[np.argsort(-error[wrong])][:JOINING])
    assert not len(joining(np.arange(0), np.arange(n), V, lower, lower, upper))  # nothing can fall


@pytest.fixture
def in_double(monkeypatch):
    """The step limits of the working sets solved in double, which no solution reports."""
    limits = []
    known = irwls.in_double
    monkeypatch.setattr(irwls, "in_double", lambda *given: limits.append(given[2]) or known(*given))
    return limits


@pytest.mark.parametrize("kind", quick_first([SvmType.C_SVC, SvmType.EPSILON_SVR]))
def test_where_rounding_hides_what_the_optimum_depends_on(kind, in_double):
    """With working sets in float alone epsilon-SVR ends at a gap of 1.8, and C-SVC takes 1,500,000 steps and a path."""
    X, y = classes(3, 600, 2)
    case = posed(kind, X, y, C=1e6, gamma=0.5)
    solution = case.solve(engine=IRWLS)
    case.check(solution, 1e-3)
    assert solution.iterations < 1_000_000
    assert in_double


def test_a_limit_of_steps_ends_rounds_in_double(in_double):
    X, y = classes(5, 250, 2)
    case = posed(SvmType.EPSILON_SVR, X, y, C=1e3, gamma=0.5)
    early = case.cold(1e-8, max_iter=200)
    start = case.dual.changed(beta=early.beta, scores=early.scores, rounded=True)
    whole = case.solve(1e-7, problem=start, engine=IRWLS)
    n_rounds = len(in_double)
    first = whole.iterations - case.dual.size  # it excludes at least the last round in double
    in_double.clear()
    part = case.solve(control=Control(1e-7, True, first), problem=start, engine=IRWLS)
    assert part.status == SolveStatus.ITERATION_LIMIT
    assert part.iterations <= first
    assert 0 < len(in_double) < n_rounds


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SvmType.EPSILON_SVR])
def test_from_a_start_with_rounded_scores_to_the_optimum_in_double(kind, in_double):
    """A start from SMO, as auto passes it on."""
    X, y = classes(5, 250, 2)
    case = posed(kind, X, y, C=1e3, gamma=0.5)
    early = case.cold(1e-8, max_iter=200)
    start = case.dual.changed(beta=early.beta, scores=early.scores, rounded=True)
    solution = case.solve(1e-7, problem=start, engine=IRWLS)
    case.check(solution, 1e-7)
    assert in_double
