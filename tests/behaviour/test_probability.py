"""probability=True and "cv": sigmoids fitted to decision values of models that have not seen their rows."""

import numpy as np
import pytest
from support import optima

import libsvmx
from libsvmx import ParameterError

from .table import Case, each
from .test_training import THREADS

SEEDERS = ["auto", "path", *libsvmx.SEEDERS]


def slope(a, b, values, own):
    """The gradient at (a, b) of Platt's objective with the targets of Lin, Lin & Weng (2007), by NumPy."""
    n_own, n_other = own.sum(), (~own).sum()
    wanted = np.where(own, (n_own + 1) / (n_own + 2), 1 / (n_other + 2))
    error = wanted - 1 / (1 + np.exp(a * values + b))
    return np.array([values @ error, error.sum()])


@each("calibrated", strength=1)
def test_calibrated_sigmoids_fit_the_values_of_a_cross_validation(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    model = case.train(probability="cv")
    validated = libsvmx.cross_validate(case.X(), case.y(), 5, **case.options)
    labels, y = model.labels.tolist(), case.y()
    pairs = [(a, b) for k, a in enumerate(labels) for b in labels[k + 1 :]]
    of = {pair: (at, 1.0) for at, pair in enumerate(pairs_of(validated.labels))}
    of |= {pair[::-1]: (at, -1.0) for pair, (at, _) in of.items()}
    for (first, second), a, b in zip(pairs, model.sigmoid_a, model.sigmoid_b, strict=True):
        at, sign = of[first, second]
        own = np.isin(y, (first, second))
        values = sign * validated.decision_values[own, at]
        # Newton's method ends at a gradient of 1e-5; for values far out the slope is indistinguishable from 0
        assert np.abs(slope(a, b, values, y[own] == first)).max() <= 1e-4 * max(1.0, np.abs(values).max())
    plain = case.train()
    assert np.array_equal(model.sv_coef, plain.sv_coef) and np.array_equal(model.rho, plain.rho)
    assert model.has_probability and model.param.probability and not plain.has_probability


def pairs_of(labels):
    return [(a, b) for k, a in enumerate(labels) for b in labels[k + 1 :]]


@each("train", strength=1, solver=["smo", "chunked", "irwls", "crsvm", "crsvm, low rank"])
def test_estimates_of_every_solver_are_near(solver, task, kernel, mechanism):
    """To those of LIBSVM's own folds with another solver; the model itself equals that without estimates."""
    case = Case(solver, task, kernel, eps=1e-5, probability=True, **mechanism)
    model, plain = case.train(), case.train(probability=False)
    assert np.array_equal(model.sv_coef, plain.sv_coef) and np.array_equal(model.rho, plain.rho)
    assert model.has_probability
    if case.is_low_rank or kernel == "sigmoid":
        return  # another problem, or one of several optima
    other = Case("smo", task, kernel, eps=1e-5, probability=True, **mechanism).train()
    if case.svm_type.is_regression:
        assert model.sigmoid_a[0] == pytest.approx(other.sigmoid_a[0], rel=0.02)
        return
    first, second = (libsvmx.predict_probability(one, case.tests())[1] for one in (model, other))
    # one-class estimates are multiples of 0.1
    np.testing.assert_allclose(first, second, rtol=0, atol=0.11 if task == "one-class" else 0.03)


@each(
    "seeded",
    solver=["smo"],
    kernel=["rbf", "precomputed"],
    task=["two classes", "three classes", "nu-SVC"],
    seeder=SEEDERS,
)
def test_seeds_of_inner_folds_change_little_but_iterations(solver, task, kernel, seeder, mechanism):
    case = Case(solver, task, kernel, eps=1e-6, probability=True, **mechanism)
    plain, found = case.train(), case.train(seeder=seeder)
    assert np.array_equal(found.sv_coef, plain.sv_coef) and np.array_equal(found.rho, plain.rho)
    np.testing.assert_allclose(found.sigmoid_a, plain.sigmoid_a, rtol=1e-2)
    first, second = (libsvmx.predict_probability(one, case.tests())[1] for one in (found, plain))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-3)


@each("calibrated", strength=1, solver=["smo", "irwls"], kernel=["rbf", "precomputed"], probability=[True, "cv"])
def test_random_states_and_threads(solver, task, kernel, probability, mechanism):
    case = Case(solver, task, kernel, probability=probability, **mechanism)
    first = [case.train(random_state=3, threads=threads).sigmoid_a.tobytes() for threads in THREADS]
    assert len(set(first)) == 1
    assert case.train(random_state=4).sigmoid_a.tobytes() != first[0]
    assert case.train(random_state=1).sigmoid_a.tobytes() == case.train().sigmoid_a.tobytes()


def test_estimates_of_one_class_are_shares_of_the_training_rows():
    """The density of decision values, in ten steps: LIBSVM's marks; higher values are more normal."""
    case = Case("smo", "one-class", "rbf", probability=True)
    model = case.train()
    _, estimates = libsvmx.predict_probability(model, case.X())
    values = optima.decision_values(model, case.K())[:, 0]
    order = np.argsort(values)
    assert (np.diff(estimates[order, 0]) >= 0).all()
    assert len(set(estimates[:, 0])) > 4
    np.testing.assert_allclose(estimates.sum(axis=1), 1)


def test_refusals():
    case = Case("smo", "two classes", "rbf")
    for options, words in (
        ({"probability": "isotonic"}, "probability must be True, False or 'cv', not 'isotonic'"),
        ({"probability": "cv", "keep_state": True}, "a state has no probability estimates"),
        ({"probability": True, "keep_state": True}, "a state has no probability estimates"),
        ({"probability": "cv", "seeder": "sir"}, "seeder is for the folds of probability=True"),
        ({"keep_state": True, "seeder": "sir"}, "a state has no folds"),
    ):
        with pytest.raises(ParameterError, match=words):
            case.train(**options)
