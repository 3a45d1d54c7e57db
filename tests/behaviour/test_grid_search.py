"""grid_search() and the estimators SVCCV and SVRCV: each point is a cross-validation."""

import numpy as np
import pytest

import libsvmx
from libsvmx import ParameterError, SvmType

from .table import Case, each
from .test_cross_validation import LONELY
from .test_training import THREADS

FINE = 1e-6


def axes_of(case):
    """Two points on each axis that matters; None for the others."""
    middle, has_cost = case.options.get("gamma", 0.0), case.svm_type.has_cost
    if not (middle or has_cost):
        return None
    near = np.rint(np.log2(middle or 1.0))
    gammas = (near - 1, near + 1, 2) if middle else None
    first = 1 if case.svm_type.is_regression else -1  # for small C all coefficients may be at bounds, and rho is free
    return {"log2c": (first, first + 2, 2) if has_cost else None, "log2g": gammas}


def searched(case, n_folds=3, **options):
    return libsvmx.grid_search(case.X(), case.y(), n_folds=n_folds, **{**axes_of(case), **case.options, **options})


def rate_of(case, n_folds=3, **options):
    """The table's rate for one cross-validation."""
    found = libsvmx.cross_validate(case.X(), case.y(), n_folds, **{**case.options, **options})
    return float(f"{case.rate(found):g}")


@each("grid_search", strength=1)
def test_rates_are_those_of_cross_validations(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    if axes_of(case) is None:
        return
    found = searched(case, seeder=None)
    expected = [rate_of(case, C=C, gamma=gamma) for C, gamma in zip(found.C, found.gamma, strict=True)]
    assert found.rate.tolist() == expected
    best = found.rate.min() if case.svm_type.is_regression else found.rate.max()
    assert found.best_rate == found.rate[found.best] == best
    assert (found.param.C, found.param.gamma) == (found.C[found.best], found.gamma[found.best])
    assert len(found.rate) == len(set(zip(found.C, found.gamma, strict=True)))
    assert np.isnan(found.log2c).all() == (not case.svm_type.has_cost)


@each("grid_search", strength=1, solver=["smo"], kernel=["rbf", "precomputed"])
def test_rates_with_probability_estimates(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, probability=True, **mechanism)
    if axes_of(case) is None:
        return
    found = searched(case, seeder=None)
    expected = [rate_of(case, C=C, gamma=gamma) for C, gamma in zip(found.C, found.gamma, strict=True)]
    assert found.rate.tolist() == expected


@each(
    "seeded",
    solver=["smo", "irwls"],
    kernel=["linear", "rbf"],
    seeder=["auto", "sir", "ato", "near", "path"],
)
def test_seeded_grids_have_the_same_rates(solver, task, kernel, seeder, mechanism):
    """To eps: a row on the boundary may get another label."""
    case = Case(solver, task, kernel, eps=FINE, **mechanism)
    if axes_of(case) is None:
        return
    plain, found = searched(case, seeder=None), searched(case, seeder=seeder)
    assert np.array_equal(found.C, plain.C) and np.array_equal(found.gamma, plain.gamma)
    if case.svm_type.is_regression:
        np.testing.assert_allclose(found.rate, plain.rate, rtol=1e-3)
    else:
        # for one-class, rows on the margin are on the boundary
        rows = 5 if case.svm_type == SvmType.ONE_CLASS else 1
        np.testing.assert_allclose(found.rate, plain.rate, rtol=0, atol=100 * rows / len(case.rows) + 1e-3)


@pytest.mark.parametrize("seeder", ["auto", "sir", "near", "path"])
@pytest.mark.parametrize("name", LONELY)
def test_columns_of_folds_that_lack_a_class(name, seeder, mechanism):
    """A point starts from the next smaller C, fold by fold, each with its own classes."""
    case = Case("smo", "two classes", "rbf", eps=FINE, **mechanism)
    given = {"log2c": (-1, 3, 2), "log2g": (-4, -4, 1), "n_folds": 4, **case.options}
    plain, found = (
        libsvmx.grid_search(case.X(), LONELY[name](case.y()), seeder=how, **given) for how in (None, seeder)
    )
    np.testing.assert_allclose(found.rate, plain.rate, rtol=0, atol=100 / len(case.rows) + 1e-3)


@each("grid_search", strength=1, kernel=["rbf"], seeder=[None, "auto"])
def test_no_number_of_threads_changes_the_table(solver, task, kernel, seeder, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    one, *others = (searched(case, seeder=seeder, threads=threads) for threads in THREADS)
    for other in others:
        for column in ("C", "gamma", "rate", "squared_correlation", "iterations"):
            np.testing.assert_array_equal(getattr(other, column), getattr(one, column))


def test_points_are_reported_in_order():
    case, seen = Case("smo", "two classes", "rbf"), []
    found = searched(case, progress=seen.append)
    assert sorted(point.rate for point in seen) == sorted(found.rate)
    assert (found.seconds > 0).all()
    assert repr(found).startswith("<GridSearch of 4 points, best: C=")


@pytest.mark.parametrize(
    "options",
    [
        {"log2c": None, "log2g": None},
        {"log2c": (1, 0, 1)},
        {"n_folds": 1},
        {"seeder": "guess"},
        {"workers": 0},
        {"C": float("nan")},
    ],
)
def test_refusals(options):
    with pytest.raises(ParameterError):
        searched(Case("smo", "two classes", "rbf"), **options)


# ---- estimators ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["two classes", "binary features", "three classes", "epsilon-SVR"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "quadratic", "precomputed"])
def test_searches_of_estimators_score_given_folds(task, kernel):
    """Each fold is scored by an estimator fitted without it; tests/estimators has the rest."""
    pytest.importorskip("sklearn")
    case = Case("smo", task, kernel)
    X, y = case.X(), case.y()
    drawn = np.random.default_rng(3).integers(0, 3, len(y))
    folds = [(np.flatnonzero(drawn != fold), np.flatnonzero(drawn == fold)) for fold in range(3)]
    regression = case.svm_type.is_regression
    search, one = (libsvmx.SVRCV, libsvmx.SVR) if regression else (libsvmx.SVCCV, libsvmx.SVC)
    options = {"kernel": "poly" if kernel == "quadratic" else kernel, "degree": 2, "coef0": 1.0, "tol": FINE}
    Cs, gammas = [0.5, 8.0], [case.task.gamma] if kernel in ("rbf", "quadratic") else ["scale"]
    found = search(cv=folds, Cs=Cs, gammas=gammas, **options).fit(X, y)
    for place, C in enumerate(found.cv_results_["param_C"]):
        for fold, (rest, own) in enumerate(folds):
            fitted = one(C=C, gamma=gammas[0], **options).fit(case.X(rest), y[rest])
            score = fitted.score(case.tests(own, rest), y[own])
            assert found.cv_results_[f"split{fold}_test_score"][place] == pytest.approx(score, abs=1e-4)
    assert found.best_params_["C"] in Cs
