"""train(start=…): a warm start from a model or from coefficients, and invalid starts."""

import numpy as np
import pytest
from support.data import load

import libsvmx
from libsvmx import DataError, ParameterError

HEART, LABELS = load("heart_scale", 200)
IRIS, SPECIES = load("iris.scale", 150)
LABELS, SPECIES = np.array(LABELS), np.array(SPECIES)
TIGHT = {"gamma": 0.1, "eps": 1e-8}


def trained(X, y, **options):
    """A model, and the iterations of all its solves."""
    model = libsvmx.train(X, y, **options)
    return model, sum(report.iterations for report in model.reports)


def by_row(model, n):
    table = np.zeros((model.nr_class - 1, n))
    table[:, np.asarray(model.row_numbers) - 1] = model.sv_coef
    return table


def values(model, X):
    return libsvmx.decision_values(model, X)


def test_rows_and_classes_that_do_not_count_are_left_out():
    weight = np.ones(150)
    weight[::7] = 0.0
    options = {**TIGHT, "weights": ((1, 0.0),), "sample_weight": weight}
    model, cold = trained(IRIS, SPECIES, **options)
    for start in (model, by_row(model, 150)):
        found, warm = trained(IRIS, SPECIES, start=start, **options)
        assert warm < 0.2 * cold + 20
        np.testing.assert_allclose(values(found, IRIS), values(model, IRIS), atol=1e-5)


def test_classes_in_another_order(tmp_path):
    model, cold = trained(IRIS, SPECIES, **TIGHT)
    libsvmx.save_model(str(tmp_path / "model"), model)
    backwards = np.arange(149, -1, -1)
    rows, labels = IRIS.toarray()[backwards], SPECIES[backwards]
    found, warm = trained(rows, labels, start=libsvmx.load_model(str(tmp_path / "model")), **TIGHT)
    assert found.labels.tolist() == model.labels.tolist()[::-1]
    assert warm < 0.2 * cold + 20
    np.testing.assert_allclose(values(found, rows), -values(model, rows)[:, ::-1], atol=1e-5)


def test_infeasible_coefficients_are_made_feasible():
    start = np.where(LABELS > 0, 100.0, -0.01)
    expected, _ = trained(HEART, LABELS, **TIGHT)
    found, _ = trained(HEART, LABELS, start=start, **TIGHT)
    assert found.reports[0].objective == pytest.approx(expected.reports[0].objective, rel=1e-7)


def test_a_list_as_start_is_not_changed():
    start = [0.0] * 200
    trained(HEART, LABELS, start=start)
    assert start == [0.0] * 200


@pytest.mark.parametrize("rows", [[{}] * 40, [{1: 1.0}] * 39 + [{}], np.arange(1.0, 41.0)[:, None], np.zeros((40, 2))])
def test_a_model_of_a_precomputed_kernel_for_other_rows(rows, tmp_path):
    K, y = np.eye(40), np.tile([1.0, -1.0], 20)
    libsvmx.save_model(str(tmp_path / "model"), libsvmx.train(K, y, kernel_type="precomputed"))
    with pytest.raises(DataError, match="of a precomputed kernel, but the rows are not"):
        libsvmx.train(rows, y, start=libsvmx.load_model(str(tmp_path / "model")), gamma=0.5)


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 1e308])
def test_coefficients_near_the_ends_of_the_range(scale):
    options = {"svm_type": "NU_SVC", "nu": 0.4, **TIGHT}
    expected, _ = trained(HEART, LABELS, **options)
    found, _ = trained(HEART, LABELS, start=scale * LABELS, **options)
    assert found.reports[0].objective == pytest.approx(expected.reports[0].objective, rel=1e-7)


MODEL = libsvmx.train(HEART, LABELS)
OTHER = libsvmx.train(IRIS, SPECIES)
WRONG = [
    (np.zeros(199), {}, DataError, r"start must have shape \(1, 200\), but its shape is \(199,\)"),
    (np.zeros((2, 200)), {}, DataError, r"start must have shape \(1, 200\)"),
    (np.full(200, np.nan), {}, DataError, "row 0: its coefficient in start is not finite"),
    (np.where(np.arange(200) == 7, -LABELS, 0.0), {}, DataError, "row 7: its coefficient in start is .*, but must be"),
    (-np.ones(200), {"svm_type": "ONE_CLASS"}, DataError, "row 0: its coefficient in start is -1, but must be >= 0"),
    ("nothing", {}, DataError, "start"),
    (OTHER, {}, DataError, "is a class of"),
    (MODEL, {"svm_type": "EPSILON_SVR"}, DataError, "start is a model of C_SVC, but EPSILON_SVR is trained"),
    (MODEL, {"solver": "crsvm", "kernel_type": "linear"}, ParameterError, "crsvm cannot start from what is known"),
    (MODEL, {"keep_state": True}, ParameterError, "start= cannot be combined with keep_state=True"),
]


@pytest.mark.parametrize(("start", "options", "error", "words"), WRONG)
def test_invalid_starts(start, options, error, words):
    with pytest.raises(error, match=words):
        libsvmx.train(HEART, LABELS, start=start, **options)


def test_a_model_of_more_rows_or_of_other_labels():
    with pytest.raises(DataError, match="but there are 100 rows"):
        libsvmx.train(HEART.toarray()[:100], LABELS[:100], start=MODEL)
    with pytest.raises(DataError, match="row 2: it is of class 1 in the model of start"):
        libsvmx.train(HEART, -LABELS, start=MODEL)
