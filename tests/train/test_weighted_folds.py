"""Weights of rows in seeded cross-validation, leave-one-out and grids: folds end where plain trainings do."""

import numpy as np
import pytest
from support.weighted import KINDS, options_of, random_rows, targets_of

import libsvmx
from libsvmx._train.validation.scheme import CHOICES, SCHEMES
from libsvmx.enums import SvmType
from libsvmx.exceptions import DataError

SEEDINGS = [(m, s) for m in CHOICES if m not in ("none", "auto") for s in SCHEMES if (m, s) != ("path", "chain")]
NEAR = 1e-6


def weights_with_zeros(w):
    """Not all whole numbers; some are 0."""
    return np.where(w > 0, w * 0.75, 0.0)


def some_near(found, expected):
    """Decision values, of which classes that a training lacks have none."""
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    scale = max(1.0, np.nanmax(np.abs(expected)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=NEAR * scale)


@pytest.mark.parametrize(("seeder", "scheme"), SEEDINGS)
@pytest.mark.parametrize(("kind", "classes"), [(kind, 3 if classes == 4 else 2) for kind, classes in KINDS])
def test_seeded_folds_end_where_plain_ones_do(kind, classes, seeder, scheme):
    X, labels, values, w = random_rows(21, 75, classes)
    y, w = targets_of(kind, labels, values), weights_with_zeros(w)
    options = options_of(kind, nu=0.15)
    expected = libsvmx.cross_validate(X, y, 5, sample_weight=w, **options)
    found = libsvmx.cross_validate(X, y, 5, sample_weight=w, seeder=seeder, scheme=scheme, **options)
    assert found.labels == expected.labels
    some_near(found.decision_values, expected.decision_values)
    if not kind.is_regression:
        np.testing.assert_array_equal(found.predictions, expected.predictions)
    if seeder != "path" or kind not in (SvmType.NU_SVC, SvmType.NU_SVR):  # which have no path
        seeders = {fold.seeder for fold in found.folds}
        assert seeders <= {seeder, "none"} and seeder in seeders


@pytest.mark.parametrize("solver", ["chunked", "irwls"])
def test_other_solvers_go_on_from_seeds_with_weights(solver):
    X, y, _, w = random_rows(22, 75)
    options = options_of(SvmType.C_SVC, solver)
    expected = libsvmx.cross_validate(X, y, 5, sample_weight=w, **options)
    found = libsvmx.cross_validate(X, y, 5, sample_weight=w, seeder="sir", **options)
    some_near(found.decision_values, expected.decision_values)


@pytest.mark.parametrize("seeder", ["auto", "near", "ato", "path"])
@pytest.mark.parametrize(("kind", "classes"), [(kind, 3 if classes == 4 else 2) for kind, classes in KINDS])
def test_leave_one_out_is_a_training_without_each_row(kind, classes, seeder):
    X, labels, values, w = random_rows(23, 40, classes)
    y, w = targets_of(kind, labels, values), weights_with_zeros(w)
    options = options_of(kind, nu=0.15)
    found = libsvmx.leave_one_out(X, y, sample_weight=w, seeder=seeder, **options)
    assert (w[found.retrained] > 0).all()
    expected = libsvmx.cross_validate(X, y, len(y), sample_weight=w, **options)
    assert found.labels == expected.labels
    some_near(found.decision_values, expected.decision_values)
    if not kind.is_regression:
        np.testing.assert_array_equal(found.predictions, expected.predictions)


@pytest.mark.parametrize("seeder", ["none", "sir", "near", "path"])
def test_a_class_of_weight_0_is_no_prediction_and_has_no_decision_values(seeder):
    X, y, _, w = random_rows(24, 90, 3)
    w = np.where(y == 4, 0.0, w + 0.5)
    options = options_of(SvmType.C_SVC)
    found = libsvmx.cross_validate(X, y, 4, sample_weight=w, seeder=seeder, **options)
    plain = libsvmx.cross_validate(X, y, 4, sample_weight=w, **options)
    assert len(found.labels) == 3
    assert not (found.predictions == 4).any()
    some_near(found.decision_values, plain.decision_values)
    np.testing.assert_array_equal(found.predictions, plain.predictions)
    if seeder != "none":
        left = libsvmx.leave_one_out(X, y, sample_weight=w, seeder=seeder, **options)
        assert left.labels == found.labels
        assert np.isnan(left.decision_values).any(axis=0).sum() == 2
        assert not (left.predictions == 4).any()


@pytest.mark.parametrize("seeder", ["none", "sir"])
def test_a_fold_that_holds_all_weight_is_refused(seeder):
    X, y, _, _ = random_rows(25, 30)
    w = np.zeros(30)
    w[7] = 1.0
    with pytest.raises(DataError, match=r"^every row has weight 0$"):
        libsvmx.cross_validate(X, y, 5, sample_weight=w, seeder=seeder)
    with pytest.raises(DataError, match=r"^leave-one-out needs at least 2 rows whose weight is not 0$"):
        libsvmx.leave_one_out(X, y, sample_weight=w)


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SvmType.EPSILON_SVR])
def test_a_grid_weighs_and_chains_from_smaller_C(kind):
    X, labels, values, w = random_rows(26, 80)
    y, w = targets_of(kind, labels, values), weights_with_zeros(w)
    options = {"svm_type": kind, "eps": 1e-8, "p": 0.05}
    axes = {"log2c": (-1, 5, 2), "log2g": (-1, -5, -2)}
    plain = libsvmx.grid_search(X, y, sample_weight=w, seeder=None, **axes, **options)
    seeded = libsvmx.grid_search(X, y, sample_weight=w, seeder="near", **axes, **options)
    np.testing.assert_allclose(seeded.rate, plain.rate, rtol=1e-5)
    for point in range(len(plain.rate)):
        one = libsvmx.cross_validate(X, y, 5, sample_weight=w, C=plain.C[point], gamma=plain.gamma[point], **options)
        rate = one.mean_squared_error if kind.is_regression else one.accuracy
        assert plain.rate[point] == float(f"{rate:g}")
    assert not np.array_equal(plain.rate, libsvmx.grid_search(X, y, seeder=None, **axes, **options).rate)


def test_workers_of_a_grid_have_the_weights():
    X, y, _, w = random_rows(27, 60)
    axes = {"log2c": (-1, 3, 2), "log2g": (-1, -3, -2)}
    alone = libsvmx.grid_search(X, y, sample_weight=w, **axes)
    shared = libsvmx.grid_search(X, y, sample_weight=w, workers=2, **axes)
    np.testing.assert_array_equal(shared.rate, alone.rate)
    np.testing.assert_array_equal(shared.iterations, alone.iterations)


@pytest.mark.parametrize("function", [libsvmx.cross_validate, libsvmx.leave_one_out, libsvmx.grid_search])
def test_weights_of_1_change_no_figure(function):
    X, y, _, _ = random_rows(28, 50)
    more = {"n_folds": 5} if function is libsvmx.cross_validate else {}
    if function is libsvmx.grid_search:
        more = {"log2c": (-1, 3, 2), "log2g": None}
    one, other = (function(X, y, sample_weight=w, seeder="near", **more) for w in (None, np.ones(50)))
    for name in ("decision_values", "predictions", "rate", "iterations"):
        if hasattr(one, name):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("seeder", ["auto", "sir", "mir", "near", "path"])
def test_a_class_whose_weight_is_0(seeder):
    X, y, _, w = random_rows(27, 90, 3)
    options = options_of(SvmType.C_SVC) | {"weights": {4: 0.0, 5: 2.0}}
    for weights in (None, w):
        plain = libsvmx.cross_validate(X, y, 4, sample_weight=weights, **options)
        found = libsvmx.cross_validate(X, y, 4, sample_weight=weights, seeder=seeder, scheme="star", **options)
        assert found.labels == plain.labels and len(found.labels) == 3
        some_near(found.decision_values, plain.decision_values)
        np.testing.assert_array_equal(found.predictions, plain.predictions)
        left = libsvmx.leave_one_out(X, y, sample_weight=weights, seeder=seeder, **options)
        plain = libsvmx.cross_validate(X, y, len(y), sample_weight=weights, **options)
        some_near(left.decision_values, plain.decision_values)
        np.testing.assert_array_equal(left.predictions, plain.predictions)
        assert not (left.predictions == 4).any()


def test_a_grid_with_a_class_of_weight_0():
    X, y, _, _ = random_rows(28, 90, 3)
    options = {"log2c": (-1, 3, 2), "log2g": (-3, -1, 2), "n_folds": 3, "weights": {4: 0.0}}
    plain = libsvmx.grid_search(X, y, seeder=None, **options)
    found = libsvmx.grid_search(X, y, seeder="sir", **options)
    np.testing.assert_allclose(found.rate, plain.rate, atol=1.2)  # one row of 90 may be near 0
    auto = libsvmx.grid_search(X, y, **options)
    np.testing.assert_allclose(auto.rate, plain.rate, atol=1.2)
