"""c_path(): the exact optimum at every C, checked by NumPy, and the errors of exact optima without each fold."""

import numpy as np
import pytest
from support import optima

import libsvmx

from .table import Case, each
from .test_training import THREADS

EXACT = 1e-8


def followed(case, cv=None, **options):
    C = case.options["C"]
    given = {name: value for name, value in {**case.options, **options}.items() if name != "C"}
    return libsvmx.c_path(case.X(), case.y(), C / 30, 30 * C, cv, **given)


def some_costs(path, n, seed=0):
    """Values of C: random, at breakpoints, just before and after them, and both ends."""
    drawn = np.random.default_rng(seed)
    found = [np.exp(drawn.uniform(np.log(path.C_min), np.log(path.C_max), n))]
    at = drawn.choice(path.C[1:-1], min(n, len(path.C) - 2), replace=False)
    found += [at, at * (1 - 1e-9), at * (1 + 1e-9), [path.C_min, path.C_max]]
    return np.clip(np.concatenate(found), path.C_min, path.C_max)


def loss(case, missed):
    """The sum of the losses that score a regression."""
    if case.svm_type == libsvmx.SvmType.QUANTILE_SVR:
        tau = case.options["tau"]
        return np.maximum(tau * missed, (tau - 1) * missed).sum()
    return (missed**2).sum()


def refitted(case, C, fold_of):
    """The cross-validated error from exact optima of the rows without each fold."""
    missed = 0.0
    for fold in range(fold_of.max() + 1):
        rest, own = case.rows[fold_of != fold], case.rows[fold_of == fold]
        found, y = case.state(rest, C=C).predict(case.tests(own, rest)), case.y(own)
        missed += loss(case, y - found) if case.svm_type.is_regression else 100 * (found != y).sum()
    return missed / len(fold_of)


@each("c_path", kernel=["linear", "quadratic", "cubic", "rbf", "precomputed"])
def test_models_are_optima(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    path = followed(case)
    assert (np.diff(path.C) > 0).all() and len(path.C) > 2
    for C in some_costs(path, 2):
        model = path.model(C)
        assert model.param.C == C
        for one in optima.judged(model, case.K(), case.y()):
            one.check(1e-8)
        assert np.array_equal(path.decision_values(case.tests(), C), libsvmx.decision_values(model, case.tests()))
        assert path.n_support(C) == model.n_sv


@each("c_path", strength=1, solver=["smo", "irwls"], kernel=["linear", "cubic", "rbf"])
def test_models_are_those_of_states(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    path = followed(case)
    for C in some_costs(path, 1):
        expected = case.state(C=C).decision_values(case.tests())
        size = max(1, np.abs(expected).max())
        np.testing.assert_allclose(path.decision_values(case.tests(), C), expected, rtol=0, atol=EXACT * size)


@each("c_path", kernel=["linear", "cubic", "rbf", "precomputed"])
def test_errors_are_those_of_exact_optima(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    path = followed(case, 3)
    fold_of = libsvmx.cross_validate(case.X(), case.y(), 3, **case.options).fold_of
    for C in some_costs(path, 1, seed=1):
        assert path.cv_error(C) == pytest.approx(refitted(case, C, fold_of), rel=1e-7, abs=1e-9)
    ends = path.cv_C
    inner = np.clip(np.concatenate([ends[:-1], (ends[:-1] + ends[1:]) / 2, ends[1:]]), path.C_min, path.C_max)
    assert path.cv_error(inner).min() >= path.best_error * (1 - 1e-12)
    assert path.cv_error(path.best_C) == pytest.approx(path.best_error, rel=1e-9)
    begin, end = path.best_interval
    assert path.C_min <= begin <= path.best_C <= end <= path.C_max


@each("c_path", strength=1, kernel=["linear", "rbf", "precomputed"])
def test_no_number_of_threads_changes_a_bit(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    one, *others = (followed(case, 3, threads=threads) for threads in THREADS)
    for other in others:
        assert np.array_equal(other.C, one.C) and np.array_equal(other.cv_C, one.cv_C)
        assert (other.best_C, other.best_interval) == (one.best_C, one.best_interval)
        assert np.array_equal(other.model(1.0).sv_coef, one.model(1.0).sv_coef)
