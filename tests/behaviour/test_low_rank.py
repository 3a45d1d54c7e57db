"""low_rank() and solver crsvm on its factors: the approximation error, and a linear method on its features."""

import numpy as np
import pytest

import libsvmx
from libsvmx import CRSVM, DataError, ParameterError

from .table import Case
from .test_training import THREADS

METHODS = ["cholesky", "rpcholesky", "nystrom", "eigen"]
KERNELS = ["linear", "quadratic", "cubic", "rbf", "precomputed"]
FILES = ["two classes", "binary features", "three classes", "epsilon-SVR"]
RANK = 20


def factorized(case, rows=None, **options):
    of_kernel = ("kernel_type", "degree", "gamma", "coef0", "policy")
    given = {name: value for name, value in case.options.items() if name in of_kernel}
    return libsvmx.low_rank(case.X(rows), **{"rank": RANK, **given, **options})


@pytest.mark.parametrize("task", FILES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", METHODS)
def test_a_factor_approximates_the_kernel(task, kernel, method):
    case = Case("smo", task, kernel)
    found, K = factorized(case, low_rank=method), case.K()
    F, scale = found.factor, np.trace(K)
    assert F.shape == (len(K), found.rank) and found.rank <= RANK
    residual = K - F @ F.T
    assert found.trace == pytest.approx(scale, rel=1e-12)
    assert found.trace_error == pytest.approx(np.trace(residual), abs=1e-9 * scale)
    assert found.relative_error == pytest.approx(np.trace(residual) / scale, abs=1e-9)
    assert np.linalg.eigvalsh(residual).min() >= -1e-8 * scale
    size = np.sqrt(K.diagonal().max())
    np.testing.assert_allclose(K[:, found.pivots] @ found.transform, F, rtol=0, atol=1e-7 * size)
    np.testing.assert_allclose(found.features_of(case.X()), F, rtol=0, atol=1e-7 * size)
    features = case.K(case.new, case.rows)[:, found.pivots] @ found.transform
    np.testing.assert_allclose(found.features_of(case.tests()), features, rtol=0, atol=1e-7 * size)
    if method == "eigen":  # no factor of this rank has a smaller error
        least = np.linalg.eigvalsh(K)[: -found.rank].sum()
        assert np.trace(residual) <= least + 1e-7 * scale
    if method == "cholesky":  # each pivot has the largest remaining diagonal element
        assert K[found.pivots[0], found.pivots[0]] >= K.diagonal().max() * (1 - 1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("error", [0.3, 0.01])
def test_as_many_columns_as_the_error_needs(kernel, method, error):
    case = Case("smo", "two classes", kernel)
    found = factorized(case, low_rank=method, rank=0, rank_error=error)
    assert found.relative_error <= error
    assert found.rank <= len(case.rows)


@pytest.mark.parametrize("task", FILES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", METHODS)
def test_training_on_a_factor_is_a_linear_training_on_its_features(task, kernel, method):
    case = Case("smo", task, kernel)
    solver = CRSVM(low_rank=method, rank=RANK, predict_with="factor")
    model = case.train(solver=solver)
    found = factorized(case, low_rank=method)
    given = {**case.options, "kernel_type": "linear", "solver": "crsvm"}
    linear = libsvmx.train(found.factor, case.y(), **given)
    expected = libsvmx.decision_values(linear, found.features_of(case.tests()))
    values = libsvmx.decision_values(model, case.tests())
    size = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5 * size)
    if not case.is_precomputed:
        assert set(model.sv_indices) <= set(found.pivots + 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_threads_change_nothing_and_seeds_draw(method, kernel):
    case = Case("smo", "two classes", kernel)
    one, *others = (factorized(case, low_rank=method, threads=threads) for threads in THREADS)
    assert all(np.array_equal(other.factor, one.factor) for other in others)
    again = factorized(case, low_rank=method, random_state=7)
    assert np.array_equal(again.pivots, one.pivots) == (method in ("cholesky", "eigen"))


def test_a_whole_factor_is_the_kernel():
    """With as many columns as rows, the optimum is that of the kernel itself."""
    case = Case("smo", "two classes", "rbf", eps=1e-8)
    exact = libsvmx.decision_values(case.train(), case.tests())
    for predict_with in ("kernel", "factor"):
        model = case.train(solver=CRSVM(rank=60, predict_with=predict_with))
        np.testing.assert_allclose(libsvmx.decision_values(model, case.tests()), exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rank": 0}, "needs a rank, or the error"),
        ({"rank": -1}, "rank must be between 0 and"),
        ({"rank_error": 2}, "rank_error must be >= 0 and < 1"),
        ({"low_rank": "magic"}, "unknown low_rank 'magic'"),
        ({"random_state": -1}, "random_state must be between"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ParameterError, match=words):
        factorized(Case("smo", "two classes", "rbf"), **options)
    with pytest.raises(DataError, match="not positive semidefinite"):
        factorized(Case("smo", "two classes", "sigmoid", coef0=-1.0))
