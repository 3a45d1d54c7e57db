"""fit_many() and permutation_test(): each training equals train(), each score equals cross_validate()."""

from math import nan, sqrt

import numpy as np
import pytest
from support.drawn import Rand

import libsvmx
from libsvmx import ParameterError, PermutationTest

from .table import Case, each
from .test_training import THREADS, file_of


def columns_of(case, m=3):
    """Targets of the case, and permutations of them."""
    drawn = np.random.default_rng(3)
    return np.stack([case.y(), *(drawn.permutation(case.y()) for _ in range(m - 1))], axis=1)


def fit_many(case, Y, **options):
    return libsvmx.fit_many(case.X(), Y, **{**case.options, **options})


# ---- fit_many ------------------------------------------------------------------------------------------


@each("fit_many")
def test_each_model_is_that_of_a_training(solver, task, kernel, mechanism, tmp_path):
    case = Case(solver, task, kernel, **mechanism)
    Y = columns_of(case)
    expected = [file_of(libsvmx.train(case.X(), y, **case.options), tmp_path) for y in Y.T]
    models = fit_many(case, Y, threads=3)
    assert [file_of(model, tmp_path) for model in models] == expected
    assert all(model.statuses == ("converged",) * len(model.rho) for model in models)
    assert len(set(expected)) == len(expected)


@each("fit_many", strength=1, solver=["smo"], kernel=["linear", "rbf", "precomputed"])
def test_each_model_has_its_own_probability_estimates(solver, task, kernel, mechanism, tmp_path):
    case = Case(solver, task, kernel, probability=True, **mechanism)
    Y = columns_of(case)
    for options in ({}, {"random_state": 5}):
        expected = [file_of(libsvmx.train(case.X(), y, **case.options, **options), tmp_path) for y in Y.T]
        for threads in (1, 3):
            assert [file_of(model, tmp_path) for model in fit_many(case, Y, threads=threads, **options)] == expected


@each("fit_many", strength=1, solver=["crsvm", "crsvm, low rank"])
@pytest.mark.parametrize("of_classes", [False, True])
def test_rows_that_do_not_count_have_no_part_in_a_factor(solver, task, kernel, of_classes, mechanism, tmp_path):
    case = Case(solver, task, kernel, **mechanism)
    if of_classes and not case.task.is_classification:
        pytest.skip("no classes")
    weights = None if of_classes else np.where(np.arange(len(case.y())) % 4 == 1, 0.0, 1.0)
    more = {"weights": {int(case.y()[0]): 0.0}} if of_classes else {"sample_weight": weights}
    Y = columns_of(case)
    expected = [file_of(libsvmx.train(case.X(), y, **{**case.options, **more}), tmp_path) for y in Y.T]
    assert [file_of(model, tmp_path) for model in fit_many(case, Y, **more)] == expected


def test_tasks_with_different_classes(mechanism, tmp_path):
    case = Case("smo", "three classes", "rbf", **mechanism)
    del case.options["weights"]
    y = case.y()
    Y = np.stack([y, y == 1, np.ones(len(y)), np.where(y == 3, 7, y), np.arange(len(y)) % 5], axis=1)
    expected = [file_of(libsvmx.train(case.X(), column, **case.options), tmp_path) for column in Y.T]
    for form in (Y, Y.tolist(), np.asfortranarray(Y), Y.astype(np.int8)):
        assert [file_of(model, tmp_path) for model in fit_many(case, form)] == expected
    assert fit_many(case, Y[:, :0]) == []


# ---- permutation_test ----------------------------------------------------------------------------------


OPTIONS = [{"probability": True}, {"random_state": 7}, *({"seeder": name} for name in ("auto", "sir", "near", "path"))]


def permuted(case, n, cv, seed=1):
    """The targets, and the permutations of a test: drawn after the random numbers of the folds."""
    y, rand = case.y(), Rand(seed)
    rand.folds(y, cv, case.task.is_classification)
    return [y, *(y[rand.shuffled(np.arange(len(y)))] for _ in range(n))]


def outcome(case, n=2, cv=3, **options):
    return libsvmx.permutation_test(case.X(), case.y(), n, cv, **{**case.options, **options})


def scoring_of(case):
    if case.svm_type == libsvmx.SvmType.QUANTILE_SVR:
        return "pinball_loss"
    return "mean_squared_error" if case.svm_type.is_regression else "accuracy"


def expected_scores(case, n=2, cv=3, **options):
    """From cross-validations of the permutations."""
    scores = []
    for y in permuted(case, n, cv, options.get("random_state", 1)):
        found = libsvmx.cross_validate(case.X(), y, cv, **{**case.options, **options})
        scores.append(getattr(found, scoring_of(case)))
    return scores


@each("permutation_test", strength=1)
def test_scores_are_those_of_cross_validations(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    expected, found = expected_scores(case), outcome(case)
    assert [found.score, *found.scores] == expected
    assert found.scoring == scoring_of(case)


# nu-SVC whose r is about 0
@pytest.mark.filterwarnings("ignore:the iteration limit was reached:libsvmx.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:rounding hides what is left:libsvmx.ConvergenceWarning")
@each("permutation_test", solver=["smo"], options=OPTIONS)
def test_scores_whatever_the_options(solver, task, kernel, options, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    expected, found = expected_scores(case, 3, 3, **options), outcome(case, 3, 3, **options)
    if case.svm_type == libsvmx.SvmType.NU_SVC and "seeder" in options:
        expected = expected[:1]  # r of permuted labels may be about 0, and no decision value is determined
    assert [found.score, *found.scores][: len(expected)] == expected


@pytest.mark.parametrize("seeder", ["auto", "sir", "mir", "ato", "near", "path"])
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_scores_of_seeded_nu_svc_whose_kernel_is_narrow(gamma, seeder):
    """Permuted labels are separable then: coefficients, which are in 1 / r, are small, and r is not about 0."""
    case = Case("smo", "nu-SVC", "rbf", gamma=gamma, nu=0.3)
    largest = [np.abs(libsvmx.train(case.X(), y, **case.options).coef).max() for y in permuted(case, 3, 3)]
    assert max(largest) < 10
    found = outcome(case, 3, 3, seeder=seeder)
    assert [found.score, *found.scores] == expected_scores(case, 3, 3, seeder=seeder)


@each("permutation_test", strength=1, solver=["smo", "chunked"], kernel=["linear", "rbf", "precomputed"])
def test_no_number_of_threads_changes_a_score(solver, task, kernel, mechanism):
    case = Case(solver, task, kernel, **mechanism)
    one, *others = (outcome(case, threads=threads) for threads in THREADS)
    assert all(np.array_equal(other.scores, one.scores) for other in others)


def test_the_squared_error_of_quantile_regression():
    case = Case("smo", "quantile", "rbf")
    found = outcome(case, scoring="mean_squared_error")
    expected = libsvmx.cross_validate(case.X(), case.y(), 3, **case.options)
    assert (found.score, found.scoring) == (expected.mean_squared_error, "mean_squared_error")
    with pytest.raises(ParameterError, match="scoring must be 'mean_squared_error', not 'pinball_loss'"):
        outcome(Case("smo", "epsilon-SVR", "rbf"), scoring="pinball_loss")


def test_balanced_accuracy():
    case = Case("smo", "three classes", "rbf")
    found = outcome(case, scoring="balanced_accuracy")
    for score, y in zip([found.score, *found.scores], permuted(case, 2, 3), strict=True):
        predictions = libsvmx.cross_validate(case.X(), y, 3, **case.options).predictions
        shares = [(predictions[y == label] == label).mean() for label in set(y)]
        assert score == pytest.approx(100 * np.mean(shares), rel=1e-14)


def result(score, scores, scoring="accuracy"):
    return PermutationTest(score=score, scores=np.array(scores), scoring=scoring)


def test_the_p_value_and_its_error():
    found = result(70.0, [60.0, 70.0, 80.0, 50.0])
    assert (found.n_as_good, found.p_value) == (2, 3 / 5)
    assert found.standard_error == sqrt(0.6 * 0.4 / 4)
    assert result(1.0, [0.5, 1.0, 1.5, 2.0], "mean_squared_error").n_as_good == 2
    assert result(1.0, [0.5, nan]).n_as_good == result(1.0, [1.5, nan], "mean_squared_error").n_as_good == 1
    from scipy.stats import binomtest

    for as_good in (0, 1, 7, 20):
        found = result(1.0, [2.0] * as_good + [0.0] * (20 - as_good))
        expected = binomtest(as_good, 20).proportion_ci(0.95, "exact")
        np.testing.assert_allclose(found.interval(), (expected.low, expected.high), rtol=1e-9)
