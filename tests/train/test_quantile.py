"""Quantile regression: the pinball loss, its dual, and shares of targets, against NumPy and a linear program.

primal   1/2 b'Kb + C sum w rho(y - f),  f = Kb + offset,  rho(r) = max(tau r, (tau - 1) r)
dual     y'b - 1/2 b'Kb                  for any b in its box with sum 0: never above the primal
"""

from pathlib import Path

import numpy as np
import pytest
from support import oracle
from support.optional import optional

import libsvmx
from libsvmx import Chunked, Parameter, ParameterError

optimize = optional("scipy.optimize")

DATA = Path(__file__).parents[2] / "data"
SETS = {"mpg": ("mpg", 1), "abalone": ("abalone_scale.xz", 12), "pyrim": ("pyrim", 1), "drawn": ("", 1)}
SOLVERS = {"smo": "smo", "auto": "auto", "chunked": Chunked(working_set=32), "irwls": "irwls"}


def rows_of(name):
    """Features of variance 1 and targets of deviation 1, and weights with zeros among them."""
    rng = np.random.default_rng(5)
    file, step = SETS[name]
    if file:
        X, y = libsvmx.read_problem(DATA / file)
        X, y = X.toarray()[::step], np.asarray(y)[::step]
    else:
        X = rng.normal(size=(250, 4))
        y = np.sin(2 * X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=250)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, (y - y.mean()) / y.std(), rng.integers(0, 4, len(y)).astype(float)


def pinball(y, f, tau):
    return np.maximum(tau * (y - f), (tau - 1) * (y - f))


def primal_and_dual(model, X, y, w, tau, C, gamma):
    """Both by NumPy, from the model's coefficients and rho alone; the coefficients must be in their box."""
    K = np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    beta = np.zeros(len(y))
    beta[np.asarray(model.sv_indices) - 1] = model.sv_coef[0]
    assert (beta <= C * w * tau * (1 + 1e-12)).all() and (beta >= -C * w * (1 - tau) * (1 + 1e-12)).all()
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    squares, f = beta @ K @ beta / 2, K @ beta - model.rho[0]
    return squares + C * w @ pinball(y, f, tau), y @ beta - squares


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_no_other_curve_is_better(name, weighted, solver):
    X, y, w = rows_of(name)
    w, C, gamma = w if weighted else np.ones(len(y)), 1.5, 0.5 / X.shape[1]
    for tau in (0.05, 0.5, 0.9):
        options = {"svm_type": "quantile_svr", "tau": tau, "C": C, "gamma": gamma, "eps": 1e-6}
        model = libsvmx.train(X, y, sample_weight=w if weighted else None, solver=SOLVERS[solver], **options)
        primal, dual = primal_and_dual(model, X, y, w, tau, C, gamma)
        assert 0 <= primal - dual + 1e-9 * primal <= 1e-6 * primal
        # the rows below the curve weigh at most tau, those below or on it at least tau
        f = libsvmx.predict(model, X)
        assert w[y < f - 1e-4].sum() <= tau * w.sum() + 1e-9 <= w[y < f + 1e-4].sum() + 2e-9


def test_without_a_norm_it_is_the_linear_program():
    """Koenker & Bassett 1978: the norm adds at most |w*|^2 / 2C to the loss, and no loss is below the minimum."""
    X, y, _ = rows_of("mpg")
    X, y, C = X[:90], y[:90], 100.0
    n, d = X.shape
    for tau in (0.2, 0.5, 0.85):
        cost = np.concatenate([np.zeros(2 * d + 2), np.full(n, tau), np.full(n, 1 - tau)])
        A = np.hstack([X, -X, np.ones((n, 1)), -np.ones((n, 1)), np.eye(n), -np.eye(n)])
        best = optimize.linprog(cost, A_eq=A, b_eq=y)
        norm = np.square(best.x[:d] - best.x[d : 2 * d]).sum()
        model = libsvmx.train(
            X, y, svm_type="quantile_svr", kernel_type="linear", tau=tau, C=C, eps=1e-7, solver="irwls"
        )
        loss = pinball(y, libsvmx.predict(model, X), tau).sum()
        assert best.fun - 1e-6 <= loss <= best.fun + norm / (2 * C) + 1e-6


def test_the_median_is_epsilon_regression_without_a_tube_and_with_half_of_C():
    X, y, _ = rows_of("mpg")
    options = {"gamma": 0.1, "eps": 1e-9}
    quantile = libsvmx.train(X, y, svm_type="quantile_svr", C=3.0, **options)
    tubeless = libsvmx.train(X, y, svm_type="epsilon_svr", C=1.5, p=0.0, **options)
    assert np.array_equal(quantile.sv_coef, tubeless.sv_coef)
    assert np.array_equal(quantile.rho, tubeless.rho)


def test_validation_reports_the_pinball_loss():
    X, y, _ = rows_of("mpg")
    X, y = X[:80], y[:80]
    options = {"svm_type": "quantile_svr", "tau": 0.8, "gamma": 0.1}
    found = libsvmx.cross_validate(X, y, 4, repeats=2, **options)
    losses = pinball(y, found.predictions, 0.8).mean(axis=1)
    np.testing.assert_allclose(found.pinball_losses, losses, rtol=1e-12)
    assert found.pinball_loss == pytest.approx(losses.mean(), rel=1e-12)
    left = libsvmx.leave_one_out(X, y, **options)
    assert left.pinball_loss == pytest.approx(pinball(y, left.predictions, 0.8).mean(), rel=1e-12)
    assert np.isnan(libsvmx.cross_validate(X, y, 4, svm_type="nu_svr").pinball_loss)
    grid = libsvmx.grid_search(X, y, n_folds=4, log2c=(-2, 4, 3), log2g=(-3, -3, 1), **options)
    assert grid.best_rate == grid.rate.min()
    assert grid.rate[0] == pytest.approx(
        libsvmx.cross_validate(X, y, 4, **{**options, "C": grid.C[0], "gamma": grid.gamma[0]}).pinball_loss, rel=1e-5
    )


def test_libsvm_refuses_the_model_file(tmp_path, capfd):
    X, y, _ = rows_of("mpg")
    model = libsvmx.train(X[:40], y[:40], svm_type="quantile_svr")
    libsvmx.save_model(tmp_path / "model", model)
    with pytest.raises(ValueError, match="Null pointer"):
        oracle.load(tmp_path / "model")
    assert "unknown svm type" in capfd.readouterr().err
    loaded = libsvmx.load_model(tmp_path / "model")
    assert loaded.param.svm_type == libsvmx.SvmType.QUANTILE_SVR
    np.testing.assert_allclose(libsvmx.predict(loaded, X), libsvmx.predict(model, X), atol=1e-6)


@pytest.mark.parametrize("tau", [0.0, 1.0, -0.5, float("nan")])
def test_tau_is_a_share(tau):
    with pytest.raises(ParameterError, match="tau must be"):
        Parameter(svm_type="quantile_svr", tau=tau)


def test_states_keep_tau(tmp_path):
    X, y, _ = rows_of("mpg")
    state = libsvmx.train(X[:60], y[:60], svm_type="quantile_svr", tau=0.8, gamma=0.1, keep_state=True)
    state.save(tmp_path / "state")
    loaded = libsvmx.State.load(tmp_path / "state")
    for one in (state, loaded):
        one.update((X[60:90], y[60:90]), range(20))
        one.set_cost(4.0)
    assert loaded.param == state.param and loaded.param.tau == 0.8
    np.testing.assert_allclose(loaded.predict(X), state.predict(X), atol=1e-12)
    fresh = libsvmx.train(X[20:90], y[20:90], svm_type="quantile_svr", tau=0.8, gamma=0.1, C=4.0, keep_state=True)
    np.testing.assert_allclose(state.predict(X), fresh.predict(X), atol=1e-9)
