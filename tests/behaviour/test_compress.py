"""compress(): no decision value of any row changes by more than its bound, with sums and distances by NumPy."""

import numpy as np
from support import optima, oracle

import libsvmx
from libsvmx import KernelType

from .table import IN_LIBSVM, LIBSVMS, Case, each
from .test_training import THREADS


def lengths(param, X):
    """sqrt(K(x, x)) of each row, shape (n, 1)."""
    squares = (X * X).sum(axis=1)[:, None]
    if param.kernel_type in (KernelType.RBF, KernelType.MATERN32, KernelType.TANIMOTO):
        return np.ones_like(squares)
    of_poly = (param.gamma * squares + param.coef0) ** param.degree
    return np.sqrt(squares if param.kernel_type == KernelType.LINEAR else of_poly)


def check_bounds(model, found, X):
    change = np.abs(libsvmx.decision_values(found.model, X) - libsvmx.decision_values(model, X))
    allowed = found.bounds * lengths(model.param, X) + 2.0**-52 * np.abs(model.rho)
    assert (change <= allowed).all()


@each("compress", how=[{"tol": 1e-9}, {"tol": 0.01}, {"tol": 1.0}, {"max_sv": 9}])
def test_no_value_changes_by_more_than_its_bound(solver, task, kernel, how, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    model = case.train()
    found = libsvmx.compress(model, **how)
    assert found.bounds.shape == (len(model.rho),)
    assert found.n_before == model.n_sv >= found.model.n_sv
    if "tol" in how:
        assert (found.bounds <= how["tol"]).all()
    else:
        assert found.model.n_sv == min(9, model.n_sv) or kernel == "linear"
    if kernel == "linear" and how != {"tol": 1e-9}:  # w has 8 digits in a file
        assert found.model.n_sv == min(len(model.rho), model.n_sv)
    drawn = np.random.default_rng(1)
    near = drawn.uniform(-1, 1, size=(100, case.features.shape[1]))
    if model.param.kernel_type.nonnegative:
        near = np.abs(near)
    far = near * 10.0 ** drawn.uniform(-3, 3, size=(100, 1))
    for rows in (case.X(), case.tests(), near, far):
        check_bounds(model, found, rows)
    assert np.array_equal(found.model.rho, model.rho)


@each("compress", strength=1, solver=["smo"], kernel=["rbf", "cubic"])
def test_bounds_are_distances_in_feature_space(solver, task, kernel, mechanism):
    """|w - w'| of each function by NumPy; and no w' over the kept vectors is nearer."""
    case = Case(solver, task, kernel, **mechanism)
    model = case.train()
    found = libsvmx.compress(model, max_sv=max(1, model.n_sv // 2))
    n = len(case.rows)
    change = optima.coefficients(found.model, n) - optima.coefficients(model, n)
    kept = optima.coefficients(found.model, n) != 0
    for own, bound, vectors in zip(change, found.bounds, kept, strict=True):
        distance = np.sqrt(max(own @ case.K() @ own, 0.0))
        rounding = 1e-7 * np.abs(model.sv_coef).sum()
        assert np.abs(case.K() @ own)[vectors].max(initial=0.0) <= rounding * np.abs(case.K()).max()
        assert distance - rounding <= bound <= distance * 1.001 + rounding


@each("compress", strength=1, solver=["smo"], task=IN_LIBSVM, kernel=LIBSVMS)
def test_libsvm_reads_it_and_predicts_the_same(solver, task, kernel, tmp_path):
    case = Case(solver, task, kernel)
    libsvmx.save_model(tmp_path / "before", case.train())
    found = libsvmx.compress(libsvmx.load_model(tmp_path / "before"), max_sv=9).model
    libsvmx.save_model(tmp_path / "after", found)
    labels, values = oracle.predict(oracle.load(tmp_path / "after"), case.matrix(case.new))
    assert libsvmx.predict(found, case.tests()).tolist() == labels
    assert libsvmx.decision_values(found, case.tests()).tolist() == values


@each("compress", strength=1, solver=["smo"])
def test_threads_change_nothing_and_the_model_stays(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    model = case.train()
    before = model.sv_coef.tobytes(), model.support_vectors.toarray().tobytes()
    one, *others = (libsvmx.compress(model, max_sv=9, threads=threads) for threads in THREADS)
    for other in others:
        assert np.array_equal(other.bounds, one.bounds)
        assert np.array_equal(other.model.sv_coef, one.model.sv_coef)
    assert (model.sv_coef.tobytes(), model.support_vectors.toarray().tobytes()) == before
    for nothing in ({"max_sv": model.n_sv}, {"tol": 0}):
        if kernel != "linear" or "tol" in nothing:
            same = libsvmx.compress(model, **nothing)
            assert same.model is model and (same.bounds == 0).all()


def test_probabilities_stay():
    case = Case("smo", "three classes", "rbf", probability=True)
    model = case.train()
    found = libsvmx.compress(model, tol=1e-4).model
    before, after = (libsvmx.predict_probability(m, case.tests())[1] for m in (model, found))
    np.testing.assert_allclose(after, before, atol=1e-3)
