"""Epsilon-SVR with solver crsvm: the optimum, checked by NumPy, and models like those of the other solvers."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from support import data
from support.judge import Factor, Judge, kernel_values

import libsvmx
from libsvmx import ParameterError
from libsvmx._kernels.featurerows import DenseRows, TwiceRows
from libsvmx._solvers.interior_point.solver import CRSVM, InteriorPolicy
from libsvmx._train.parameter import Parameter, changed

SETS = {"mpg": None, "pyrim": None, "abalone_scale.xz": 900}
REGRESSION = {"svm_type": "epsilon_svr", "kernel_type": "linear", "solver": "crsvm"}


def rows_of(name):
    """Rows of mean 0 and deviation 1, and targets."""
    matrix, targets = data.load(name, SETS[name])
    X = matrix.toarray()
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), np.array(targets)


def judged(model, X, y, *, C, p, K=None, weights=1.0):
    """Objective and KKT gap of a model in the 2 n variables of epsilon-SVR; fails if infeasible."""
    n, upper = len(y), np.broadcast_to(C * weights, len(y))
    beta = np.zeros(n)
    beta[np.asarray(model.sv_indices) - 1] = np.asarray(model.sv_coef).ravel()
    assert (abs(beta) <= upper).all()
    assert abs(beta.sum()) <= 1e-12 * abs(beta).sum()
    both = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    linear = np.concatenate([y - p, y + p])
    zero = np.zeros(n)
    kernel = Factor(np.concatenate([X, X])) if K is None else np.tile(K, (2, 2))
    judge = Judge(kernel, linear, np.concatenate([zero, -upper]), np.concatenate([upper, zero]))
    return judge.objective(both), judge.gap(both)


@pytest.mark.parametrize("p", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", SETS)
def test_the_optimum(name, C, p):
    X, y = rows_of(name)
    model = libsvmx.train(X, y, **REGRESSION, C=C, p=p)
    objective, gap = judged(model, X, y, C=C, p=p)
    (report,) = model.reports
    assert report.status == "converged"
    scale = max(1.0, y.std())
    assert gap <= 1e-7 * scale
    assert report.objective == pytest.approx(objective, rel=1e-9, abs=1e-9)
    if C <= 1:  # for larger C LIBSVM's path is long
        other = libsvmx.train(X, y, **{**REGRESSION, "solver": "smo"}, C=C, p=p, eps=1e-5)
        assert objective <= other.reports[0].objective + 1e-5 * abs(objective)
        np.testing.assert_allclose(libsvmx.predict(model, X), libsvmx.predict(other, X), atol=1e-3 * scale)


@pytest.mark.parametrize("targets", ["equal", "within", "far", "tiny", "huge"])
def test_the_scale_of_targets(targets):
    """They may all be equal, lie within epsilon of one value, or be of any size."""
    X = np.random.default_rng(3).normal(size=(60, 3))
    wave = X[:, 0] + 0.3 * np.sin(7 * X[:, 1])
    y = {"equal": np.full(60, 3.0), "within": 0.01 * wave, "far": 1e6 + wave, "tiny": 1e-9 * wave, "huge": 1e9 * wave}[
        targets
    ]
    unit = {"tiny": 1e-9, "huge": 1e9}.get(targets, 1.0)
    model = libsvmx.train(X, y, **REGRESSION, C=2.0 * unit, p=0.1 * unit)
    objective, gap = judged(model, X, y, C=2.0 * unit, p=0.1 * unit)
    assert model.statuses == ("converged",)
    assert gap <= 1e-7 * unit
    if targets in ("equal", "within"):
        assert model.n_sv == 0
        assert abs(libsvmx.predict(model, X) - y).max() <= 0.1
    else:
        assert objective < 0
        plain = libsvmx.train(X, wave, **REGRESSION, C=2.0, p=0.1)
        assert objective == pytest.approx(plain.reports[0].objective * unit**2, rel=1e-6)


def test_a_kernel_with_features():
    """Of degree 2, with a full factor, as there are more features than rows."""
    X, y = rows_of("pyrim")
    options = {"svm_type": "epsilon_svr", "kernel_type": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1, "p": 0.05}
    model = libsvmx.train(X, y, **options, C=5.0, solver="crsvm")
    objective, gap = judged(model, X, y, C=5.0, p=0.05, K=kernel_values(changed(Parameter(), options), X, X))
    assert gap <= 1e-6
    assert model.reports[0].objective == pytest.approx(objective, rel=1e-8)


def test_a_model_of_the_factor():
    """Its pivots, as many as its rank, predict the same as support vectors if the factor is exact."""
    X, y = rows_of("pyrim")
    options = {**REGRESSION, "kernel_type": "rbf", "gamma": 0.05, "C": 3.0, "p": 0.05}
    factor = {"predict_with": "factor", "rank": len(y)}
    exact = libsvmx.train(X, y, **{**options, "solver": "irwls"}, eps=1e-8)
    model = libsvmx.train(X, y, **options, **factor)
    np.testing.assert_allclose(libsvmx.predict(model, X), libsvmx.predict(exact, X), atol=1e-5)
    small = libsvmx.train(X, y, **options, **{**factor, "rank": 20})
    assert small.n_sv == 20
    missed = [np.mean((libsvmx.predict(found, X) - y) ** 2) for found in (small, exact)]
    assert missed[1] < missed[0] < 0.5 * y.var()
    with pytest.raises(ParameterError, match="a regression on a low-rank factor predicts with the factor"):
        libsvmx.train(X, y, **options, rank=20)


@pytest.mark.parametrize("C", [1e2, 1e6, 1e12])
def test_no_tube_and_any_C(C):
    """Both variables of a row are then free, with any common sum; what they have in common cancels."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    model = libsvmx.train(X, y, **REGRESSION, C=C, p=0)
    objective, gap = judged(model, X, y, C=C, p=0)
    assert model.statuses == ("converged",)
    assert model.reports[0].objective == pytest.approx(objective, rel=1e-12)
    assert gap <= 1e-12
    np.testing.assert_allclose(libsvmx.predict(model, X), y, atol=1e-12)


@pytest.mark.parametrize("outlier", [1e4, 1e10])
def test_an_outlier(outlier):
    """The unit is that of most targets."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 6))
    y = 2 * X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.normal(size=120)
    y[3] = outlier
    model = libsvmx.train(X, y, **REGRESSION, p=0.05)
    assert model.statuses == ("converged",)
    assert judged(model, X, y, C=1.0, p=0.05)[1] <= 1e-3


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_of_any_exponent_do_not_crash(scale):
    X, y = rows_of("pyrim")
    for p in (0.0, 0.1):
        try:
            libsvmx.train(X, y * scale, **REGRESSION, p=p)
        except ParameterError as error:
            assert "not finite" in str(error)


def test_threads_change_no_bit():
    solver = CRSVM(policy=InteriorPolicy(block_rows=101))  # odd, but blocks begin with the first copy of a row
    X, y = rows_of("abalone_scale.xz")
    one, *others = (libsvmx.train(X, y, **{**REGRESSION, "solver": solver}, threads=threads) for threads in (1, 2, 3))
    assert all(bytes(other.coef) == bytes(one.coef) and other.rho == one.rho for other in others)
    assert judged(one, X, y, C=1.0, p=0.1)[1] <= 1e-7


@pytest.mark.parametrize("reduction", [{"most_rows": 300}, {"reduction": "none"}, {"reduction_rule": "distance"}])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_any_normal_matrix_and_form(reduction, form):
    """Rows of either constraint enter it separately."""
    solver = CRSVM(policy=InteriorPolicy(choosing=-np.inf))
    X, y = rows_of("abalone_scale.xz")
    X[abs(X) < 0.5] = 0.0
    model = libsvmx.train(form(X), y, **{**REGRESSION, "solver": solver}, **reduction)
    assert model.statuses == ("converged",)
    assert judged(model, X, y, C=1.0, p=0.1)[1] <= 1e-7


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("limit", [{"max_iter": 3}, {"time_limit": 1e-9}])
def test_a_stopped_training_is_feasible(limit):
    X, y = rows_of("abalone_scale.xz")
    model = libsvmx.train(X, y, **REGRESSION, **limit)
    assert model.statuses != ("converged",)
    assert judged(model, X, y, C=1.0, p=0.1)[0] <= 0


def test_duplicated_rows():
    """Everything that a solver asks of features, compared with rows repeated explicitly."""
    rng = np.random.default_rng(0)
    X, v = rng.normal(size=(11, 4)), rng.random((3, 22))
    twice, copy = TwiceRows(DenseRows(X)), DenseRows(np.repeat(X, 2, axis=0))
    members = np.array([0, 1, 4, 9, 20, 21])
    for rows, other in ((twice, copy), (twice.part(4, 18), copy.part(4, 18))):
        m = other.m
        assert (rows.m, rows.n, rows.nnz) == (other.m, other.n, other.nnz)
        assert rows.squares() == pytest.approx(other.squares())
        np.testing.assert_allclose(rows.times(v[0, :4]), other.times(v[0, :4]))
        np.testing.assert_allclose(rows.transposed(v[:, :m]), other.transposed(v[:, :m]))
        np.testing.assert_allclose(rows.curvature(v[0, :m], v[1, :4]), other.curvature(v[0, :m], v[1, :4]))
        few = members[members < m]
        for own, theirs in zip(rows.gram(few, v[2, few]), other.gram(few, v[2, few]), strict=True):
            np.testing.assert_allclose(np.tril(own), np.tril(theirs))
        np.testing.assert_array_equal(rows.take(few), other.take(few))
        np.testing.assert_array_equal(rows.select(few).take(np.arange(len(few))), other.take(few))
