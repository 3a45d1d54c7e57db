"""compress(): the kept vectors against brute force; bounds that hold for every row; refusals."""

from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import optima
from support.data import dense_rows
from support.examples import examples
from support.machine import too_little_memory

import libsvmx
from libsvmx import DataError, KernelType, ParameterError
from libsvmx.api.arrays import as_matrix

ROWS, LABELS = dense_rows("heart_scale")
FLOWERS, SPECIES = dense_rows("iris.scale")
KINDS = {
    "C_SVC": (ROWS, LABELS),
    "NU_SVC": (ROWS, LABELS),
    "ONE_CLASS": (ROWS, LABELS),
    "EPSILON_SVR": (ROWS[:, :9], ROWS[:, 9]),
    "NU_SVR": (ROWS[:, :9], ROWS[:, 9]),
    "three classes": (FLOWERS, SPECIES),
}
KERNELS = {
    "rbf": {"gamma": 0.1},
    "polynomial": {"gamma": 0.2, "coef0": 1.0, "degree": 3},
    "linear": {},
}


def trained(kind, kernel="rbf", **options):
    X, y = KINDS[kind]
    svm_type = kind if kind.isupper() else "C_SVC"
    given = {**KERNELS[kernel], "C": 5, "nu": 0.3, **options}
    return libsvmx.train(X, y, svm_type=svm_type, kernel_type=kernel, **given), X


def lengths(model, X):
    """sqrt(K(x, x)) of each row, shape (n, 1)."""
    p, squares = model.param, (X * X).sum(axis=1)[:, None]
    if p.kernel_type == KernelType.RBF:
        return np.ones_like(squares)
    return np.sqrt(squares if p.kernel_type == KernelType.LINEAR else (p.gamma * squares + p.coef0) ** p.degree)


def excess(model, found, X):
    """The largest change of a decision value, minus its bound and the rounding of rho."""
    change = abs(libsvmx.decision_values(found.model, X) - libsvmx.decision_values(model, X))
    return (change - found.bounds * lengths(model, X) - 2.0**-52 * abs(model.rho)).max()


@pytest.mark.parametrize("kind", ["C_SVC", "EPSILON_SVR", "three classes"])
def test_the_bound_holds_where_the_change_is_largest(kind, exhaustive):
    """Rows that a search from many starts has moved to the largest change."""
    from scipy.optimize import minimize

    model, X = trained(kind, gamma=0.5)
    found = libsvmx.compress(model, max_sv=model.n_sv // 2)
    starts = X[:: 25 if exhaustive else 90]
    for k in range(len(model.rho)):

        def loss(x, k=k):
            change = libsvmx.decision_values(found.model, x[None]) - libsvmx.decision_values(model, x[None])
            return -(change[0, k] ** 2)

        worst = max(
            (minimize(loss, start, method="Nelder-Mead", options={"maxiter": 300}) for start in starts),
            key=lambda r: -r.fun,
        )
        assert excess(model, found, worst.x[None]) <= 0
        assert np.sqrt(-worst.fun) > 0.02 * found.bounds[k]  # the search has found a large change


@pytest.mark.filterwarnings("ignore:rounding hides:libsvmx.ConvergenceWarning")
@examples(120)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1.0, 1e3, 1e7]), st.sampled_from([1e-2, 1.0, 30.0]))
def test_the_bound_is_above_the_exact_distance(seed, C, gamma):
    """Against 60 digits; nearly equal rows with large coefficients that cancel."""
    drawn = np.random.default_rng(seed)
    X = np.repeat(drawn.normal(size=(9, 3)), 3, axis=0)
    X += 10.0 ** drawn.uniform(-9, -1) * drawn.normal(size=X.shape)
    model = libsvmx.train(X, np.sign(drawn.normal(size=len(X))), C=C, gamma=gamma, eps=1e-5)
    if not model.n_sv:
        return
    found = libsvmx.compress(model, max_sv=int(drawn.integers(1, model.n_sv + 1)))
    exact = exact_distance(model, found.model)
    assert float(exact) - 1e-20 <= found.bounds[0]  # for equal models, 60 digits leave this error
    assert float(found.bounds[0]) <= 1.001 * float(exact) + 1e-6 * (
        abs(model.sv_coef).sum() + abs(found.model.sv_coef).sum()
    )
    assert excess(model, found, X) <= 0


def exact_distance(model, other):
    """|w - w'| of two RBF models of two classes, in decimal arithmetic."""
    with localcontext() as context:
        context.prec = 60
        vectors = [list(map(Decimal, row)) for each in (model, other) for row in each.support_vectors.toarray()]
        beta = [*map(Decimal, model.sv_coef[0]), *(-Decimal(b) for b in other.sv_coef[0])]
        gamma, total = Decimal(model.param.gamma), Decimal(0)
        for (b, u), (c, v) in combinations(zip(beta, vectors, strict=True), 2):
            total += 2 * b * c * (-gamma * sum((p - q) ** 2 for p, q in zip(u, v, strict=True))).exp()
        return max(total + sum(b * b for b in beta), Decimal(0)).sqrt()


def greedy(model, count):
    """Vectors kept by brute force: the least-squares residuals of all functions for each candidate."""
    V = model.support_vectors.toarray()
    K = np.exp(-model.param.gamma * ((V[:, None] - V[None]) ** 2).sum(axis=2))
    B = optima.coefficients(model, model.sv_indices.max())[:, model.sv_indices - 1]
    sizes = model.class_sv or (len(V),)
    of = np.repeat(np.arange(len(sizes)), sizes)
    pairs = list(combinations(range(len(sizes)), 2)) if model.class_sv else [(0, 0)]

    def left(S):
        total = 0.0
        for b, pair in zip(B, pairs, strict=True):
            T = [v for v in S if of[v] in pair]
            total += b @ K @ b - (K[T] @ b) @ np.linalg.solve(K[np.ix_(T, T)], K[T] @ b)
        return total

    kept = []
    for _ in range(count):
        kept.append(min((v for v in range(len(V)) if v not in kept), key=lambda v: left([*kept, v])))
    return sorted(kept)


@pytest.mark.parametrize("kind", KINDS)
def test_keeps_the_vectors_of_brute_force(kind):
    model, _ = trained(kind, gamma=0.3)
    for count in (1, 2, 7):
        found = libsvmx.compress(model, max_sv=count).model
        assert (found.sv_indices == model.sv_indices[greedy(model, count)]).all()


def test_as_few_as_reach_the_tolerance():
    model, _ = trained("C_SVC")
    found = libsvmx.compress(model, tol=0.5)
    one_less = libsvmx.compress(model, max_sv=found.model.n_sv - 1)
    assert found.bounds[0] <= 0.5 < one_less.bounds[0]
    same = libsvmx.compress(model, max_sv=found.model.n_sv)
    assert (same.model.sv_coef == found.model.sv_coef).all()


def test_equal_vectors_become_one():
    """Also those of two classes, whose coefficients add up."""
    X, y = np.repeat(FLOWERS[:100], 3, axis=0), np.tile([0, 0, 1], 100)
    model = libsvmx.train(X, y, gamma=0.5)
    found = libsvmx.compress(model, tol=1e-4)
    assert found.model.n_sv <= len(np.unique(FLOWERS[:100], axis=0)) < model.n_sv


def test_a_linear_model_of_rows_with_an_index_of_0():
    drawn = np.random.default_rng(1).normal(size=(40, 3))
    rows = [dict(enumerate(row)) for row in drawn]
    model = libsvmx.train(rows, np.sign(drawn.sum(axis=1)), kernel_type="linear")
    found = libsvmx.compress(model, tol=1e-5).model
    assert found.vectors.first_index == 0
    np.testing.assert_allclose(libsvmx.decision_values(found, rows), libsvmx.decision_values(model, rows), atol=1e-6)
    assert libsvmx.compress(model, tol=1e-12).model is model  # w has 8 digits in a file


def test_nothing_to_spare():
    model, _ = trained("C_SVC")
    for how in ({"max_sv": model.n_sv}, {"max_sv": 10**6}, {"tol": 0}):
        found = libsvmx.compress(model, **how)
        assert found.model is model
        assert (found.bounds == 0).all()
    empty = libsvmx.train(ROWS, np.ones(len(ROWS)), svm_type="EPSILON_SVR")
    assert libsvmx.compress(empty, tol=0.1).model is empty
    one = libsvmx.train(ROWS, np.ones(len(ROWS)))
    assert libsvmx.compress(one, tol=0.1).bounds.shape == (0,)


def test_no_more_memory_than_there_is():
    model, _ = trained("C_SVC")
    with too_little_memory(1000, r"compressing \d+ support vectors needs about"):
        libsvmx.compress(model, tol=0.1)


@pytest.mark.parametrize("kernel_type", ["polynomial", "linear"])
def test_values_that_overflow(kernel_type):
    X = np.random.default_rng(2).normal(size=(30, 4))
    model = libsvmx.train(X, np.sign(X[:, 0]), kernel_type=kernel_type, gamma=1.0)
    huge = replace(model, vectors=as_matrix(model.support_vectors * 1e160))
    with pytest.raises(DataError, match=r"too large for a double|overflows"):
        libsvmx.compress(huge, max_sv=1)


def test_refusals():
    model, _ = trained("C_SVC")
    for how in ({}, {"max_sv": 3, "tol": 0.1}):
        with pytest.raises(ParameterError, match="either max_sv or tol"):
            libsvmx.compress(model, **how)
    for how in (
        {"max_sv": 0},
        {"max_sv": 2.5},
        {"tol": -0.1},
        {"tol": float("nan")},
        {"tol": "a"},
        {"max_sv": 3, "threads": -1},
    ):
        with pytest.raises(ParameterError):
            libsvmx.compress(model, **how)
    with pytest.raises(TypeError):
        libsvmx.compress("model", tol=0.1)
    sigmoid = libsvmx.train(ROWS, LABELS, kernel_type="sigmoid")
    given = libsvmx.train(ROWS @ ROWS.T, LABELS, kernel_type="precomputed")
    indefinite = libsvmx.train(ROWS, LABELS, kernel_type="polynomial", coef0=-1.0)
    for other, name in ((sigmoid, "SIGMOID"), (given, "PRECOMPUTED"), (indefinite, "POLY with coef0 -1")):
        with pytest.raises(ParameterError, match=f"not {name}$"):
            libsvmx.compress(other, tol=0.1)
    linear, _ = trained("three classes", "linear")
    with pytest.raises(ParameterError, match="at least 3, not 2"):
        libsvmx.compress(linear, max_sv=2)
