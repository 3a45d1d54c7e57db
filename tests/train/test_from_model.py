"""States from LIBSVM's models and their training data: matched rows and coefficients, exact optima, clear errors."""

import numpy as np
import pytest
from support import data, oracle

import libsvmx
from libsvmx import DataError, ParameterError, State
from libsvmx.io.modelfile import load_model

HEART, IRIS, GLASS, MPG = "heart_scale", "iris.scale", "glass.scale", "mpg"
FLIPPED = (((1.0, -1.0), (-1.0, 1.0)),)


def libsvm_model(folder, matrix, targets, options):
    """A model written by LIBSVM."""
    (folder / "model").write_bytes(oracle.Oracle(matrix, targets, options).train().model_bytes(folder))
    return load_model(str(folder / "model"))


def distance(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def test_the_classes_of_one_pair_are_in_libsvms_order(tmp_path):
    """-1 comes first in the data, +1 in LIBSVM's model: coefficients must not be assigned to the other class."""
    matrix, targets = data.load(HEART, relabel=FLIPPED[0])
    model = libsvm_model(tmp_path, matrix, targets, "-c 10")
    assert (targets[0], model.class_labels) == (-1.0, (1, -1))
    assert State.from_model(matrix, targets, model, C=10).model.class_labels == (1, -1)


def test_rows_in_another_order_than_the_model_saw(tmp_path):
    """Classes appear in another order, too: pairs are reversed, not only rows reordered."""
    matrix, targets = data.load(GLASS)
    model = libsvm_model(tmp_path, matrix, targets, "-c 100 -g 0.5")
    order = np.random.default_rng(0).permutation(len(targets)).astype(np.int32)
    mixed, mixed_targets = matrix.take(memoryview(order)), [targets[i] for i in order]
    assert tuple(dict.fromkeys(int(y) for y in mixed_targets)) != model.class_labels
    state = State.from_model(mixed, mixed_targets, model, C=100)
    assert state.report.breakpoints <= 5  # so coefficients were assigned correctly
    fresh = libsvmx.train(mixed, mixed_targets, C=100, gamma=0.5, keep_state=True)
    assert distance(state.decision_values(matrix), fresh.decision_values(matrix)) < 1e-9


def test_values_of_more_digits_than_a_model_file_keeps(tmp_path):
    matrix, targets = data.load(HEART, factor=1 / 3)
    model = libsvm_model(tmp_path, matrix, targets, "-c 10 -g 0.5")
    assert bytes(model.vectors.values) not in bytes(matrix.values)
    state = State.from_model(matrix, targets, model, C=10)
    fresh = libsvmx.train(matrix, targets, C=10, gamma=0.5, keep_state=True)
    assert state.report.breakpoints <= 5
    assert distance(state.decision_values(matrix), fresh.decision_values(matrix)) < 1e-9


def test_rows_that_occur_twice_even_in_both_classes(tmp_path):
    matrix, targets = data.load(HEART)
    twice = memoryview(np.repeat(np.arange(100, dtype=np.int32), 2))
    doubled, both = matrix.take(twice), np.repeat(targets[:100], 2)
    both[1::8] *= -1  # the second of every fourth pair belongs to the other class
    model = libsvm_model(tmp_path, doubled, both, "-c 10")
    state = State.from_model(doubled, both, model, C=10)
    fresh = libsvmx.train(doubled, both, C=10, keep_state=True)
    assert distance(state.decision_values(matrix), fresh.decision_values(matrix)) < 1e-9


def test_a_model_in_memory_brings_its_own_parameters():
    matrix, targets = data.load(HEART)
    model = libsvmx.train(matrix, targets, C=10, gamma=0.2, probability=True, weights={-1: 2})
    state = State.from_model(matrix, targets, model)
    assert (state.param.C, state.param.weights, state.param.probability) == (10, ((-1, 2.0),), False)


def test_zeros_in_a_file_make_no_difference():
    """LIBSVM keeps 3:0 of a file as a node; arrays have none."""
    rows = [[(1, 1.0), (3, 0.0)], [(1, -1.0), (2, 0.5)], [(1, 0.5), (2, 0.0)], [(1, -0.5)]]
    targets = [1, -1, 1, -1]
    model = libsvmx.train(data.from_rows(rows), targets, kernel_type=0)
    dense = [[1, 0, 0], [-1, 0.5, 0], [0.5, 0, 0], [-0.5, 0, 0]]
    assert len(State.from_model(dense, targets, model)) == 4


# ---------------------------------------------------------------- mismatches


@pytest.fixture(scope="module")
def heart(tmp_path_factory):
    matrix, targets = data.load(HEART)
    return matrix, targets, libsvm_model(tmp_path_factory.mktemp("model"), matrix, targets, "-c 10")


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, r"coefficient 10 exceeds C = 1: give the C and weights it was trained with \(at least C = 10\)"),
        ({"C": 10, "weights": {1: 0.5}}, r"coefficient 10 exceeds C = 5: .*\(at least C = 20\)"),
    ],
)
def test_wrong_costs(heart, options, message):
    with pytest.raises(DataError, match=message):
        State.from_model(*heart, **options)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"gamma": 0.5}, "gamma is given as 0.5, but the model has 0.0769"),
        ({"kernel_type": 0}, "kernel_type is given as LINEAR, but the model has RBF"),
        ({"svm_type": 3}, "svm_type is given as EPSILON_SVR, but the model has C_SVC"),
        ({"param": libsvmx.Parameter(gamma=0.5)}, "gamma is given as 0.5, but"),
    ],
)
def test_contradictions(heart, options, message):
    with pytest.raises(ParameterError, match=message):
        State.from_model(*heart, **options)


def test_settings_that_the_model_does_not_use_are_no_contradiction(heart):
    State.from_model(*heart, C=10, gamma=0, degree=7, coef0=3)


def test_a_support_vector_that_is_not_among_the_rows(heart):
    matrix, targets, model = heart
    first = libsvmx.train(matrix, targets, C=10).sv_indices[0] - 1
    rest = np.delete(np.arange(270, dtype=np.int32), first)
    with pytest.raises(DataError, match="support vector 1 is not among the rows"):
        State.from_model(matrix.take(memoryview(rest)), np.delete(targets, first), model, C=10)


def test_a_state_is_not_a_model(heart):
    X, y = data.load("heart_scale", 60)
    state = libsvmx.train(X, y, C=2, keep_state=True)
    for options in ({}, {"C": 2}, {"param": libsvmx.Parameter()}):
        for other in (state, None, "heart.model"):
            with pytest.raises(
                TypeError, match=r"a Model or a fitted estimator is needed, not a (State; take its .model|NoneType|str)"
            ):
                libsvmx.State.from_model(X, y, other, **options)


def test_other_labels(heart):
    matrix, targets, model = heart
    first = libsvmx.train(matrix, targets, C=10).sv_indices[0] - 1
    other = [-y if i == first else y for i, y in enumerate(targets)]
    with pytest.raises(DataError, match=f"support vector 1 is of class 1, but row {first + 1} of the data, with its"):
        State.from_model(matrix, other, model, C=10)
    with pytest.raises(DataError, match="3 is a class of the data, but not of the model"):
        State.from_model(matrix, [*targets[:-1], 3], model, C=10)


def test_the_wrong_nu(tmp_path):
    matrix, targets = data.load(HEART)
    model = libsvm_model(tmp_path, matrix, targets, "-s 2 -n 0.3")
    with pytest.raises(DataError, match=r"add up to 81, but nu = 0.5 and 270 rows to 135: give the nu .* 0\.3$"):
        State.from_model(matrix, targets, model)


def test_coefficients_of_no_training(heart, tmp_path):
    """One coefficient halved: the sum is no longer 0; or with the other sign."""
    matrix, targets, _ = heart
    libsvm_model(tmp_path, matrix, targets, "-c 10")
    text = (tmp_path / "model").read_text()
    for before, after, message in (
        ("\n10 ", "\n5 ", "add up to -5, not to 0"),
        ("\n10 ", "\n-10 ", "not between 0 and"),
    ):
        (tmp_path / "broken").write_text(text.replace(before, after, 1))
        with pytest.raises(DataError, match=message):
            State.from_model(matrix, targets, load_model(str(tmp_path / "broken")), C=10)


def test_a_row_more_often_in_the_model_than_in_the_data():
    rows, targets = [[1.0], [1.0], [-1.0], [-1.0]], [1, 1, -1, -1]
    model = libsvmx.train(rows, targets, kernel_type=0, C=0.1)
    assert model.n_sv == 4
    with pytest.raises(DataError, match="support vector 2 is more often in the model than among the rows"):
        State.from_model([*rows[1:], [2.0]], [*targets[1:], 1], model)
