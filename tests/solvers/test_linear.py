"""The linear solver: every way to the optimum, checked by NumPy alone."""

import numpy as np
import pytest
from libsvmx._kernels.feature_products import SparseRows
from scipy import sparse
from scipy.optimize import minimize

from libsvmx._core.stopping import Token
from libsvmx._solvers.linear.row_passes import ChosenRows, Losses
from libsvmx._solvers.linear.solver import LinearPolicy, LinearSolver
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped

WAYS = {
    "cholesky": LinearPolicy(most_features=1000),
    "gradients": LinearPolicy(most_features=0, passes=0),
    "descent": LinearPolicy(most_features=0, passes=100_000),
    "descent first": LinearPolicy(most_features=0, passes=3),
}
LOSSES = ("hinge", "squared hinge", "tube", "squared tube")
TUBE = 0.2
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 7)) * (rng.random((80, 7)) < 0.6)
X[:3] = 0.0
TARGET = X @ rng.normal(size=7) + rng.normal(size=80)
COST = rng.uniform(0.1, 2.0, 80)


def solve(*problem, start=None, **how):
    return LinearSolver(*problem, **how).solve(start)


def losses_of(loss, C):
    cost, none = C * COST, np.zeros(80)
    bound, ridge = (np.full(80, np.inf), 0.5 / cost) if loss.startswith("squared") else (cost, none)
    if "tube" in loss:
        return Losses(TARGET, -bound, bound, ridge, TUBE)
    y = np.where(TARGET > 0, 1.0, -1.0)
    return Losses(y, np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0), ridge, 0.0)


def objective(loss, C, w, constant):
    """By its definition."""
    scores = np.column_stack([X, np.full(80, constant)])[:, : len(w)] @ w
    if "tube" in loss:
        lost = np.maximum(np.abs(TARGET - scores) - TUBE, 0)
    else:
        lost = np.maximum(1 - np.where(TARGET > 0, scores, -scores), 0)
    return 0.5 * w @ w + C * COST @ (lost**2 if loss.startswith("squared") else lost)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_every_way_leads_to_the_optimum(loss, C):
    found = {}
    for name, policy in WAYS.items():
        solution = solve(ChosenRows(X, np.arange(80), 2.0), losses_of(loss, C), 1e-9, 100_000, policy=policy)
        assert solution.status == SolveStatus.CONVERGED, name
        assert solution.objective == pytest.approx(objective(loss, C, solution.w, 2.0), rel=1e-12)
        assert 0 <= solution.gap <= 1e-9 * solution.objective
        found[name] = solution.objective
    assert max(found.values()) <= min(found.values()) * (1 + 1e-9)
    # no nearby point is better, whatever the gap
    w = solution.w
    for scale in (1e-1, 1e-2, 1e-3):
        others = w + scale * rng.normal(size=(200, len(w)))
        assert min(objective(loss, C, other, 2.0) for other in others) >= solution.objective * (1 - 1e-9)


@pytest.mark.parametrize("loss", ["squared hinge", "squared tube"])
def test_a_smooth_objective_is_that_of_another_method(loss):
    wanted = minimize(lambda w: objective(loss, 1.0, w, 1.0), np.zeros(8), method="L-BFGS-B", tol=1e-14)
    solution = solve(ChosenRows(X, np.arange(80), 1.0), losses_of(loss, 1.0), 1e-10, 1000)
    assert solution.objective == pytest.approx(wanted.fun, rel=1e-7)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_every_kind(way, loss):
    matrix = sparse.csr_array(X)
    doubled = np.repeat(X, 2, axis=0)  # every other row is then chosen
    kinds = {
        "sparse": (SparseRows(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, 7), np.arange(80)),
        "some": (doubled, np.arange(0, 160, 2)),
        "float": (X.astype(np.float32), np.arange(80)),
    }
    wanted = solve(ChosenRows(X, np.arange(80), 1.0), losses_of(loss, 1.0), 1e-9, 100_000, policy=WAYS[way])
    for name, (rows, chosen) in kinds.items():
        found = solve(ChosenRows(rows, chosen, 1.0), losses_of(loss, 1.0), 1e-9, 100_000, policy=WAYS[way])
        assert found.objective == pytest.approx(wanted.objective, rel=1e-6 if name == "float" else 2e-9), name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", LOSSES)
def test_few_iterations_leave_an_honest_gap(way, loss):
    rows, losses = ChosenRows(X, np.arange(80), 1.0), losses_of(loss, 10.0)
    best = solve(rows, losses, 1e-10, 100_000).objective
    for most in (0, 1, 2, 3):
        found = solve(rows, losses, 1e-10, most, policy=WAYS[way])
        assert found.iterations <= most
        assert found.objective == pytest.approx(objective(loss, 10.0, found.w, 1.0), rel=1e-12)
        assert found.objective - found.gap <= best * (1 + 1e-9)
        assert (found.status == SolveStatus.CONVERGED) == (found.gap <= 1e-10 * found.objective)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("loss", ["hinge", "tube"])
def test_an_optimum_is_a_start_that_needs_nothing(way, loss):
    rows, losses = ChosenRows(X, np.arange(80), 1.0), losses_of(loss, 1.0)
    optimum = solve(rows, losses, 1e-9, 100_000)
    again = solve(rows, losses, 1e-8, 100_000, start=optimum.beta, policy=WAYS[way])
    assert (again.iterations, again.status) == (0, SolveStatus.CONVERGED)


def test_where_rounding_ends_it():
    found = solve(ChosenRows(X, np.arange(80), 1.0), losses_of("hinge", 1.0), 1e-30, 100_000)
    assert found.status in (SolveStatus.ROUNDING, SolveStatus.CONVERGED)
    assert found.iterations < 1000
    assert found.gap <= 1e-10 * found.objective


@pytest.mark.parametrize("way", WAYS)
def test_a_token_ends_it_with_the_best_point(way):
    asked = iter([False] * 4)
    token = Token(should_stop=lambda: next(asked, True))
    rows, losses = ChosenRows(np.tile(X, (20_000, 1)), np.arange(1_600_000), 1.0), None
    y = np.where(np.tile(TARGET, 20_000) > 0, 1.0, -1.0)
    cost = np.ones(len(y))
    losses = Losses(y, np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0), np.zeros(len(y)), 0.0)
    found = solve(rows, losses, 1e-9, 100_000, token, policy=WAYS[way])
    assert found.status == SolveStatus.INTERRUPTED
    assert np.isfinite(found.objective)
    assert found.objective <= len(y)  # that of w = 0
    assert found.gap <= found.objective


@pytest.mark.parametrize("loss", ["hinge", "squared hinge"])
def test_few_passes_of_descent_are_kept(loss):
    """If no Newton step follows, the passes give the result."""
    many = np.random.default_rng(1).normal(size=(80, 300))
    rows, losses = ChosenRows(many, np.arange(80), 1.0), losses_of(loss, 100.0)
    found = solve(rows, losses, 1e-12, 5, policy=WAYS["descent"])
    assert (found.iterations, found.status) == (5, SolveStatus.ITERATION_LIMIT)
    assert found.objective < 0.5 * losses.primal(np.zeros(80))  # that of w = 0


def test_passes_shorter_than_a_piece_ask():
    class Stopping(Token):
        """Stops after that many checks that report work."""

        left = 30

        def ask(self, amount):
            self.left -= amount > 0
            if self.left < 0:
                raise Stopped(SolveStatus.TIME_LIMIT)

    rows, losses = ChosenRows(X, np.arange(80), 1.0), losses_of("hinge", 1e4)
    found = solve(rows, losses, 1e-14, 100_000, Stopping(), policy=WAYS["descent"])
    assert found.status == SolveStatus.TIME_LIMIT
    assert 0 < found.iterations <= 30
    assert found.beta.any()


def test_no_features_but_the_constant_one():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    one = np.ones(4)
    losses = Losses(y, np.where(y > 0, 0.0, -one), np.where(y > 0, one, 0.0), np.zeros(4), 0.0)
    rows = np.zeros((4, 2))
    for constant, wanted in ((1.0, 2.5), (0.0, 4.0)):  # w = 1, or nothing to learn from
        for policy in WAYS.values():
            found = solve(ChosenRows(rows, np.arange(4), constant), losses, 1e-9, 1000, policy=policy)
            assert found.objective == pytest.approx(wanted, rel=1e-9)


def test_inconsistent_arguments():
    one = np.ones(4)
    with pytest.raises(IndexError, match="row 4 of 4"):
        ChosenRows(np.zeros((4, 2)), np.array([0, 4]), 1.0)
    with pytest.raises(ValueError, match="different numbers"):
        Losses(one, one, one, np.ones(3), 0.0)
    rows = ChosenRows(np.zeros((4, 2)), np.arange(4), 1.0)
    with pytest.raises(ValueError, match="vectors of 2"):
        rows.scores(np.zeros(2), np.zeros(4), 0, 4)
    with pytest.raises(ValueError, match="rows 0 to 5"):
        rows.gather(np.zeros(4), np.zeros(3), 0, 5)
    with pytest.raises(ValueError, match="3 values for 4 rows"):
        Losses(one, -one, one, one, 0.0).primal(np.zeros(3))
