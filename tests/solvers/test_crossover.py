"""Solver crsvm: crossover to a vertex, diverging iterations, and feasible points from any alpha."""

from itertools import pairwise

import numpy as np
import pytest
from libsvmx._solvers.interior_point.block_steps import RowBlock, at_point
from libsvmx._solvers.interior_point.normal_equations import NormalEquations, point_of
from support.crsvm import Case, clouds

from libsvmx._kernels.featurerows import DenseRows
from libsvmx._solvers.dual import array_level
from libsvmx._solvers.interior_point import block_steps, crossover, free_rows, vertex_steps
from libsvmx._solvers.interior_point.crossover import cross_over
from libsvmx._solvers.interior_point.dual_solver import feasible
from libsvmx._solvers.interior_point.predictor_corrector import PredictorCorrector
from libsvmx._solvers.interior_point.row_blocks import LocalRowBlocks
from libsvmx._solvers.interior_point.solver import CRSVM, InteriorPolicy
from libsvmx._solvers.interior_point.vertex_steps import Vertex
from libsvmx.enums import SolveStatus

USUAL = InteriorPolicy()

# ---- crossover ----------------------------------------------------------------------------------------


def iterated(case, tolerance):
    """Row blocks at an interior point, the point, and the mean of |x|^2."""
    blocks = LocalRowBlocks(case.rows, case.y, case.upper, case.y, USUAL)
    method = PredictorCorrector(blocks, CRSVM(), lambda line: None, 200)
    assert method.run(tolerance) == SolveStatus.CONVERGED
    return blocks, method.point, method.data.mean_square


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_a_vertex(C, tolerance):
    case = Case(*clouds(6, 150, 5), C)
    blocks, point, mean_square = iterated(case, tolerance)
    before = blocks.states
    vertex = cross_over(blocks, point.w, point.rho, mean_square, USUAL.crossover_elements)
    assert blocks.states is not before
    alpha = np.concatenate([state.alpha for state in blocks.states])
    assert vertex.gap == pytest.approx(case.gap(alpha), rel=1e-9, abs=1e-11)
    np.testing.assert_allclose(vertex.w, case.X.T @ (case.y * alpha), atol=1e-12 * max(1, C))
    assert vertex.objective == pytest.approx(case.scores(alpha)[1], rel=1e-12)
    assert abs(case.y @ alpha) <= 1e-13 * alpha.sum()
    if tolerance <= 1e-8:
        assert vertex.gap <= 1e-9
        assert vertex.n_free == np.count_nonzero((alpha > 0) & (alpha < case.upper))
        V, _ = case.scores(alpha)
        free = (alpha > 0) & (alpha < case.upper)
        np.testing.assert_allclose(np.asarray(V, dtype=float)[free], -vertex.rho, atol=1e-9)


def test_a_vertex_without_free_rows():
    """Each row in both classes: w = 0, every alpha at its bound."""
    X = np.random.default_rng(0).normal(size=(10, 3))
    case = Case(np.concatenate([X, X]), np.repeat([1.0, -1.0], 10), 2.0)
    blocks, point, mean_square = iterated(case, 1e-8)
    vertex = cross_over(blocks, point.w, point.rho, mean_square, USUAL.crossover_elements)
    assert vertex.n_free == 0
    assert vertex.gap <= 0
    np.testing.assert_array_equal(blocks.states[0].alpha, case.upper)


class Guessed(LocalRowBlocks):
    """Blocks of rows that use ``guess`` for the active set."""

    guess = staticmethod(vertex_steps.guess_active_set)

    def run(self, step, *common, **options):
        return super().run(self.guess if step is vertex_steps.guess_active_set else step, *common, **options)


def test_a_wrong_active_set_is_put_right():
    """Whichever rows are fixed at first, the conditions say which must be free, and the bounds which cannot."""
    case = Case(*clouds(6, 60, 3), 1.0)
    blocks, point, mean_square = iterated(case, 1e-8)
    right = cross_over(blocks, point.w, point.rho, mean_square, USUAL.crossover_elements)
    optimum = blocks.states[0].alpha
    blocks = Guessed(case.rows, case.y, case.upper, case.y, USUAL)
    for row in range(0, 60, 7):

        def wrong(block, iterate, score_range, row=row):
            vertex = Vertex(optimum.copy(), (optimum > 0) & (optimum < block.upper))
            vertex.alpha[row] = 0.0 if optimum[row] > 0 else block.upper[row]
            vertex.free[row] = False
            return vertex, int(vertex.free.sum())

        blocks.guess, blocks.states = wrong, [None]
        vertex = cross_over(blocks, right.w, right.rho, mean_square, USUAL.crossover_elements)
        assert vertex.gap <= 1e-9
        np.testing.assert_allclose(blocks.states[0].alpha, optimum, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_restore_balance(seed):
    rng = np.random.default_rng(seed)
    upper, y = rng.uniform(0.5, 2, size=20), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    alpha = upper * np.clip(rng.normal(0.5, 0.5, size=20), 0, 1)
    for missing in (1e-9, 0.3, -0.3, 1e3, -1e3, 0.0):
        fixed = -float(y @ alpha) - missing
        found = free_rows.restore_balance(alpha, y, upper, fixed)
        assert np.all((found >= 0) & (found <= upper))
        if abs(missing) < 1:
            assert fixed + y @ found == pytest.approx(0, abs=1e-14)
            np.testing.assert_array_equal((found > 0) & (found < upper), (alpha > 0) & (alpha < upper))
        else:  # as far as there is room
            assert np.all(found == np.where(y * missing > 0, upper, 0.0))


def test_rho_where_no_row_is_free():
    """Rows with V = 3 may grow, with V = 1 shrink: for a larger y'alpha the first is free, for a smaller the second."""
    slack = 1e-3
    more, less, neither = (crossover.rho_between(3.0, 1.0, missing, slack) for missing in (0.1, -0.1, 0.0))
    assert 3 + more > slack
    assert 3 - 2 * slack + more <= slack
    assert 1 + less < -slack
    assert 1 + 2 * slack + less >= -slack
    assert neither == -2.0
    assert crossover.rho_between(3.0, np.inf, 0.0, slack) == pytest.approx(-3, abs=3 * slack)
    assert crossover.rho_between(-np.inf, 1.0, 0.0, slack) == pytest.approx(-1, abs=3 * slack)


def test_the_guess_of_the_active_set():
    """alpha / upper against s, u / upper against xi; if both hold, the nearer bound."""
    upper = np.full(6, 2.0)
    alpha = np.array([1e-9, 2.0 - 1e-9, 0.7, 1e-9, 2.0 - 1e-9, 1e-9])
    iterate = at_point(
        alpha,
        upper - alpha,
        np.array([1e-9, 0.5, 1e-9, 2.0, 0.5, 1e-12]),
        np.array([0.5, 1e-9, 1e-9, 1.0, 2.0, 1e-10]),
        alpha,
    )
    block = RowBlock(DenseRows(np.ones((6, 1))), np.ones(6), upper, np.ones(6))
    vertex, n_free = vertex_steps.guess_active_set(block, iterate, 1.0)
    np.testing.assert_array_equal(vertex.alpha, [0.0, 2.0, 0.7, 0.0, 2.0, 1e-9])
    np.testing.assert_array_equal(vertex.free, [False, False, True, False, False, True])
    assert n_free == 2
    vertex, n_free = vertex_steps.guess_active_set(block, iterate, 1e-2)
    np.testing.assert_array_equal(vertex.free, [False, False, True, False, False, False])


# ---- diverging iterations ---------------------------------------------------------------------------


class LeadingAway(PredictorCorrector):
    """Diverges to nan from its ninth step on."""

    def advance(self, equations, direction, step):
        super().advance(equations, direction, step)
        if self.number > 8:
            nowhere = self.blocks.run(block_steps.measure, np.nan)
            self.point = point_of(self.data, self.point.w * np.nan, np.nan, nowhere)


def test_the_best_point_is_kept():
    """Iterations that diverge, or become nan, do not spoil the best point so far."""
    case = Case(*clouds(4, 150, 5), 10.0)
    blocks = LocalRowBlocks(case.rows, case.y, case.upper, case.y, USUAL)
    method = LeadingAway(blocks, CRSVM(), lambda line: None, 200)
    with np.errstate(all="ignore"):
        assert method.run(1e-12) == SolveStatus.ROUNDING
    assert method.number > 8
    assert np.isfinite(method.point.w).all()
    assert np.isfinite(method.point.gap)
    np.testing.assert_allclose(blocks.states[0].z, case.X @ method.point.w, atol=1e-9)


def test_a_lost_method_starts_again():
    """With few rows and large C, directions are poor; then all rows are used, from the start."""
    rng = np.random.default_rng(98)
    lost = 0
    for _ in range(40):
        X = rng.integers(-2, 3, size=(44, 11))
        y = np.where(rng.random(44) < 0.5, 1.0, -1.0)
        y[:2] = 1, -1
        case = Case(X, y, 6.5e5)
        solution = case.solve(CRSVM("fixed", balanced=False, most_rows=11))
        case.check(solution)
        sizes = [line.rows for line in case.lines]
        lost += any(b.rows == 44 and b.mu < 0.1 * a.mu for a, b in pairwise(case.lines[5:]))
        assert len(sizes) <= 80
    assert lost


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_a_model_of_few_iterations_is_better_than_none(C):
    """Far from the optimum alpha may be much too long."""
    for limit in (1, 2, 3):
        case = Case(*clouds(4, 150, 5), C)
        solution = case.solve(max_iter=limit)
        case.check_feasible(solution)
        assert solution.objective < 0


def test_poor_directions_take_more_rows():
    case = Case(*clouds(4, 150, 5), 10.0)
    method = PredictorCorrector(
        LocalRowBlocks(case.rows, case.y, case.upper, case.y, USUAL), CRSVM(), lambda line: None, 200
    )
    equations = NormalEquations(method.blocks, method.point, 150, True)
    equations.rows, equations.size, equations.factor = 20, 1.0, np.asfortranarray(np.eye(5))
    for poor, expected in ((True, 40), (False, 20), (False, 10)):
        equations.poor = poor
        method.adapt(equations, np.zeros(5))
        assert (method.least_rows, method.refines) == (expected, False)
    equations.rows, equations.poor = 100, True
    method.adapt(equations, np.full(5, 0.1))  # of length 0.22, more than 0.2
    assert (method.least_rows, method.refines) == (150, True)
    equations.gradients = 1  # a refined direction does not show what it would have been
    method.adapt(equations, np.zeros(5))
    assert method.refines


# ---- from any alpha to a model -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_feasible(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 30))
    y = np.where(rng.random(m) < rng.choice([0.1, 0.5]), 1.0, -1.0)
    upper = rng.uniform(0.1, 2, size=m)
    alpha = rng.uniform(-0.5, 2.5, size=m) * rng.choice([0.0, 1.0], p=[0.2, 0.8])
    found = feasible(alpha, y, upper)
    assert np.all((found >= 0) & (found <= upper))
    assert abs(y @ found) <= 1e-13 * (1 + found.sum())
    own = np.clip(alpha, 0, upper)
    smaller = 1 if own[y > 0].sum() < own[y < 0].sum() else -1
    np.testing.assert_array_equal(found[y == smaller], own[y == smaller])


@pytest.mark.parametrize(
    ("alpha", "y", "scores", "expected"),
    [
        ([0.5, 0.5], [1, -1], [0.2, 0.4], -0.3),
        ([0.0, 1.0, 0.5], [1, 1, -1], [9.0, -9.0, 0.7], -0.7),
        ([0.0, 0.0], [1, -1], [1.0, -1.0], 0.0),
        ([0.0, 0.0], [1, 1], [1.0, 2.0], -2.0),
        ([0.0, 0.0], [-1, -1], [1.0, 2.0], -1.0),
        ([1.0, 1.0], [1, -1], [3.0, -2.0], -0.5),
    ],
)
def test_rho(alpha, y, scores, expected):
    alpha, y, scores = (np.array(v, dtype=float) for v in (alpha, y, scores))
    level = array_level(scores, np.where(y > 0, alpha < 1, alpha > 0), np.where(y > 0, alpha > 0, alpha < 1))
    assert -level == pytest.approx(expected)
