"""Block pivoting: solver auto's way to the optimum where many variables are free and C is large."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from support.judge import Judge
from support.machine import machine_with

import libsvmx
from libsvmx._solvers.auto import Auto, ChoicePolicy
from libsvmx.enums import SolveStatus

# SMO has a step for each row, and then a few free variables are enough for block pivoting.
SOON = ChoicePolicy(
    first_check=(0.25, np.inf), checks=(), late_checks=(), min_variables=0, max_steps_per_variable=1.0,
    smo_alone=0.0, free_for_pivoting=(2, 10_000),
)  # fmt: skip


def by_pivoting(**changes):
    fields = {name: getattr(SOON, name) for name in ChoicePolicy.__annotations__}
    return Auto(ChoicePolicy(**{**fields, **changes}))


def noisy(n, twice=0):
    """Labels of a smooth function, a tenth of them wrong; the first ``twice`` rows occur once more, with other
    labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return np.vstack([X, X[:twice]]), np.append(y, -y[:twice])


def gap(model, X, linear, lower, upper, gamma):
    """In double, by the judge."""
    beta = np.zeros(len(X))
    beta[np.asarray(model.row_numbers) - 1] = np.asarray(model.sv_coef)[0]
    judge = Judge(np.exp(-gamma * cdist(X, X, "sqeuclidean")), linear, lower, upper)
    judge.check_feasible(beta, 0 * beta)
    return judge.gap(beta)


@pytest.mark.parametrize(("C", "twice"), [(10.0, 0), (1e3, 0), (1e6, 0), (1e3, 30), (1e6, 30)])
def test_the_optimum_at_any_cost(C, twice):
    X, y = noisy(400, twice)
    model = libsvmx.train(X, y, solver=by_pivoting(), C=C, gamma=0.2)
    sign = np.where(y == model.labels[0], 1.0, -1.0)
    assert model.reports[0].chosen == "smo, pivoting"
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert gap(model, X, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), 0.2) <= 1e-3


def test_threads_change_no_bit():
    X, y = noisy(300)
    one, three = (libsvmx.train(X, y, solver=by_pivoting(), C=1e4, gamma=0.2, threads=n) for n in (1, 3))
    assert one.reports[0].chosen == "smo, pivoting"
    np.testing.assert_array_equal(one.sv_coef, three.sv_coef)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"free_for_pivoting": (2, 40)}, {}),
        ({"free_for_pivoting": (10_000, 10_000)}, {}),
        ({"pivoting_gap": 1e3}, {}),
        ({}, {"max_iter": 10**7}),  # of steps
        ({}, {"svm_type": "nu_svc", "nu": 0.3}),
        ({}, {"svm_type": "epsilon_svr"}),
    ],
)
def test_another_solver_elsewhere(changes, options):
    X, y = noisy(200)
    model = libsvmx.train(X, y, solver=by_pivoting(**changes), C=1e3, gamma=0.2, **options)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert model.reports[0].chosen in ("smo, irwls", "smo, irwls, path")


def test_another_solver_without_memory():
    X, y = noisy(200)
    with machine_with(free_bytes=lambda: 100_000):
        model = libsvmx.train(X, y, solver=by_pivoting(least_squares=libsvmx.Chunked()), C=1e3, gamma=0.2)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert "pivoting" not in model.reports[0].chosen


def test_another_solver_where_sets_cycle_or_have_no_factor():
    """Few features, so that K over the free variables is singular."""
    X, y = noisy(300)
    model = libsvmx.train(X[:, :1], y, solver=by_pivoting(), C=1e4, gamma=0.01)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert "pivoting" not in model.reports[0].chosen
