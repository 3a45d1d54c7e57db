"""Leave-one-out from one training over all rows, against LIBSVM's n-fold cross-validation row by row."""

from functools import cache

import numpy as np
import pytest
from support import data
from support.crossvalidation import fold_by_fold, posed, table, validated
from support.oracle import Oracle

import libsvmx
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.training import train_problem
from libsvmx._train.validation.leave_one_out import ClassOrder, leave_one_out
from libsvmx._train.validation.pair_folds import folds_of
from libsvmx.exceptions import DataError, ParameterError

# name -> (arguments of support.data.load, options)
CLASSIFICATION = {
    "heart": (("heart_scale",), "-c 4 -g 0.08"),
    "iris": (("iris.scale",), "-c 8 -g 0.5"),
    "glass": (("glass.scale",), "-c 32 -g 0.3"),
    "a1a": (("a1a.xz", 120), "-c 2 -g 0.05"),
    "splice": (("splice.xz", 166), "-t 0 -c 0.004"),
    "weights": (("ionosphere_scale.xz", 117), "-c 2 -g 0.1 -w1 0.37 -w-1 2"),
}
OTHERS = {
    "mpg": (("mpg", 130), "-s 3 -c 10 -g 0.001 -p 0.5"),
    "mpg, nu-SVR": (("mpg", 98), "-s 4 -c 10 -g 0.001 -n 0.413"),
    "one-class": (("heart_scale", 90), "-s 2 -n 0.3137 -g 0.1"),
    "nu-SVC": (("heart_scale", 90), "-s 1 -n 0.4137 -g 0.1"),
    "nu-SVC, 3 classes": (("iris.scale", 60), "-s 1 -n 0.2137 -g 0.5"),
}
SETS = CLASSIFICATION | OTHERS
SEEDERS = ["auto", "sir", "mir", "ato", "avg", "top"]


def left_one_out(name, eps, **more):
    arguments, options = SETS[name]
    matrix, y = data.load(*arguments)
    problem, param = posed(matrix, y, options, eps)
    return problem, param, leave_one_out(problem, param, Rand(1), Observer(), **more)


@cache
def brute_force(name, eps):
    arguments, options = SETS[name]
    matrix, y = data.load(*arguments)
    return np.array(Oracle(matrix, y, f"{options} -e {eps}").cross_validate(len(y)))


@pytest.mark.parametrize("with_values", [True, False])
@pytest.mark.parametrize("name", SETS)
def test_every_row_as_by_libsvm(name, with_values):
    problem, param, found = left_one_out(name, 1e-6, with_values=with_values)
    expected = brute_force(name, 1e-6)
    if param.svm_type.is_regression:
        np.testing.assert_allclose(found.predicted, expected, rtol=0, atol=2e-5)
    else:
        assert list(found.predicted) == list(expected)
    assert len(found.folds) == len(found.retrained)
    assert list(found.retrained) == sorted(set(found.retrained))
    assert found.full.seeder == "none"
    if param.svm_type.name.startswith("NU") or param.svm_type.name == "ONE_CLASS":
        assert len(found.retrained) == len(problem)
    else:
        assert len(found.retrained) < len(problem)  # else nothing is saved


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_exact_answers_are_libsvms_at_any_eps(name, exhaustive):
    for eps in (1e-3, 0.1) if exhaustive else (0.1,):
        _, _, found = left_one_out(name, eps, with_values=False, exact=True)
        assert list(found.predicted) == list(brute_force(name, eps))


@pytest.mark.parametrize("seeder", SEEDERS)
@pytest.mark.parametrize("name", ["heart", "iris", "mpg", "one-class", "nu-SVC"])
def test_values_are_those_of_models_without_the_row(name, seeder):
    """Also of rows that are not left out since they have no coefficient."""
    problem, param, found = left_one_out(name, 1e-8, seeder=seeder)
    plain = validated(problem, param, len(problem))
    np.testing.assert_allclose(table(found), table(plain), rtol=0, atol=1e-5 if param.svm_type.is_regression else 2e-6)
    assert found.labels == plain.labels
    assert found.known_wrong == 0


@pytest.mark.parametrize("name", ["heart", "a1a", "splice", "weights"])
def test_rows_known_to_be_wrong_stay_wrong(name):
    problem, param, found = left_one_out(name, 1e-6, with_values=False)
    model = train_problem(problem, param, Rand(1), Observer())
    used = {row - 1 for row in model.row_numbers}
    assert set(found.retrained) <= used
    known_wrong = sorted(used - set(found.retrained))
    assert len(known_wrong) == found.known_wrong > 0
    y, expected = np.asarray(problem.targets), brute_force(name, 1e-6)
    assert np.all(expected[known_wrong] != y[known_wrong])
    _, _, every = left_one_out(name, 1e-6, with_values=True)
    assert set(every.retrained) == used


def test_a_class_of_one_row():
    matrix, y = data.load("iris.scale", 60)
    y = [7.0 if i == 24 else label for i, label in enumerate(y)]
    predicted, values = fold_by_fold(matrix, y, "-c 3 -g 0.3 -e 1e-8", len(y))
    problem, param = posed(matrix, y, "-c 3 -g 0.3", 1e-8)
    for with_values in (True, False):
        found = leave_one_out(problem, param, Rand(1), Observer(), with_values=with_values)
        assert list(found.predicted) == list(predicted)
        np.testing.assert_allclose(table(found), values, rtol=0, atol=1e-6)
        assert np.isnan(table(found)).sum() == 3


@pytest.mark.parametrize("lonely", [1.0, -1.0])
def test_a_class_of_one_row_of_two(lonely):
    matrix, y = data.load("heart_scale", 40)
    y = [lonely if i == 7 else -lonely for i in range(len(y))]
    predicted, values = fold_by_fold(matrix, y, "-g 0.3 -e 1e-8", len(y))
    problem, param = posed(matrix, y, "-g 0.3", 1e-8)
    found = leave_one_out(problem, param, Rand(1), Observer())
    assert list(found.predicted) == list(predicted)
    np.testing.assert_allclose(table(found), values, rtol=0, atol=1e-6)
    assert np.isnan(values).sum() == 1


def test_api():
    matrix, y = data.load("heart_scale", 90)
    expected = Oracle(matrix, y, "-c 4 -g 0.08").cross_validate(90)
    found = libsvmx.leave_one_out(matrix, y, C=4.0, gamma=0.08)
    assert list(found.predictions) == expected
    assert found.accuracy == 100 * np.mean(np.array(expected) == y)
    assert found.decision_values.shape == (90, 1)
    assert found.labels == (1, -1)
    fewer = libsvmx.leave_one_out(matrix, y, C=4.0, gamma=0.08, values=False, seeder="top")
    assert list(fewer.predictions) == expected
    assert len(fewer.retrained) < len(found.retrained)
    assert {report.seeder for report in fewer.folds} == {"top"}


def test_refusals():
    matrix, y = data.load("heart_scale", 60)
    with pytest.raises(ParameterError, match="choose a seeding method"):
        libsvmx.leave_one_out(matrix, y, seeder="none")
    with pytest.raises(ParameterError, match="unknown seeding method 'guess'"):
        libsvmx.leave_one_out(matrix, y, seeder="guess")
    with pytest.raises(ParameterError, match="leave out -b 1"):
        libsvmx.leave_one_out(matrix, y, probability=True)
    with pytest.raises(DataError, match="every class has weight 0"):
        libsvmx.leave_one_out(matrix, y, weights={1: 0.0, -1: 0.0})
    with pytest.raises(ParameterError, match="at least 2"):
        libsvmx.leave_one_out([[1.0]], [1.0])


def test_the_order_of_classes_without_a_row():
    """It decides equal votes: classes by first appearance in the folds' order of the other rows."""
    matrix, y = data.load("glass.scale", 30)
    problem, param = posed(matrix, y, "-g 0.3", 1e-3)
    solver = folds_of(problem, param, Observer())
    order = data.filled("i", np.random.default_rng(3).permutation(len(y)))
    classes = ClassOrder(solver, order)
    turned = 0
    for row in range(len(y)):
        expected = list(dict.fromkeys(solver.class_of[i] for i in order if i != row))
        assert [c for c in classes.without(row) if c in expected] == expected
        turned += expected != classes.usual
    assert turned > 0
