"""fit_many(): every model equals that of train(), bit for bit."""

import numpy as np
import pytest
from support.data import dense_rows, load
from support.machine import too_little_memory
from support.policies import KernelPolicy

import libsvmx
from libsvmx import DataError, Observer, ParameterError, StoppedEarly
from libsvmx.io.modelfile import model_text

ROWS, LABELS = dense_rows("heart_scale")
VOWEL, VOWELS = load("vowel.scale.xz", 250)
DRAWN = np.random.default_rng(3)
TWO = np.stack([LABELS, *(DRAWN.permutation(LABELS) for _ in range(4))], axis=1)
MANY = np.stack([VOWELS[:250], DRAWN.integers(0, 3, 250), np.ones(250), DRAWN.integers(0, 2, 250)], axis=1)


def told(model):
    """All properties of a model."""
    return model_text(model), model.param, bytes(model.row_numbers), model.columns, model.statuses


def expected_of(X, Y, options):
    return [told(libsvmx.train(X, Y[:, j], **options)) for j in range(Y.shape[1])]


def test_batches_change_nothing():
    models = libsvmx.fit_many(ROWS, TWO, policy=KernelPolicy(rows_in_queue=500))
    assert [told(model) for model in models] == expected_of(ROWS, TWO, {})


def test_a_matrix_that_is_borrowed_is_left_alone():
    X, Y = ROWS.copy(), TWO.copy()
    models = libsvmx.fit_many(X, Y)
    expected = [model_text(model) for model in models]
    assert (X == ROWS).all()
    X[:], Y[:] = 7.0, 7.0
    assert [model_text(model) for model in models] == expected


@pytest.mark.parametrize("options", [{}, {"solver": "chunked"}])
def test_progress_and_an_early_end(options):
    class Watching(Observer):
        def __init__(self, most):
            self.most, self.done, self.solves = most, [], 0

        def solved(self, report):
            self.solves += 1

        def counted(self, what, done, total):
            self.done.append((what, done, total))

        def should_stop(self):
            return len(self.done) >= self.most

    watching = Watching(100)
    models = libsvmx.fit_many(ROWS, TWO, observer=watching, threads=2, **options)
    assert watching.done == [("training", k + 1, 5) for k in range(5)]
    assert watching.solves == 5
    with pytest.raises(StoppedEarly, match="interrupted: 0 of 5 models are done"):
        libsvmx.fit_many(ROWS, TWO, observer=Watching(0), **options)
    if options:
        with pytest.raises(StoppedEarly, match="interrupted: 2 of 5 models are done") as error:
            libsvmx.fit_many(ROWS, TWO, observer=Watching(2), threads=1, **options)
        assert list(map(model_text, error.value.partial)) == list(map(model_text, models[:2]))
    with pytest.raises(StoppedEarly, match="time limit: 0 of 5 models are done"):
        libsvmx.fit_many(ROWS, TWO, time_limit=1e-9, **options)
    with pytest.raises(StoppedEarly, match="time limit: 0 of 5 models are done"):
        libsvmx.fit_many(ROWS, TWO, time_limit=1e-9, probability=True, **options)


def test_no_more_memory_than_there_is():
    with too_little_memory(60_000, "5 models needs about"):
        libsvmx.fit_many(ROWS, TWO)
    with too_little_memory(10_000, "5 columns of targets needs about"):
        libsvmx.fit_many(ROWS, TWO)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"Y": LABELS}, DataError, r"a column for each training, but its shape is \(270,\)"),
        ({"Y": TWO[:-1]}, DataError, r"X has 270 rows, but Y has shape \(269, 5\)"),
        (
            {"Y": TWO + np.array([0, 0, 0.5, 0, 0])},
            DataError,
            r"row 0: column 2 of Y: class label 1.5 is not an integer",
        ),
        ({"Y": TWO * [1, np.nan, 1, 1, 1], "svm_type": "nu_svr"}, DataError, "column 1 of Y: target nan is not finite"),
        ({"Y": TWO * [1, np.nan, 1, 1, 1]}, DataError, "column 1 of Y: class label nan"),
        ({"Y": [["a"] * 2] * 270}, DataError, "Y"),
        ({"Y": np.stack([LABELS, [1.0] * 269 + [2.0]], 1), "svm_type": "nu_svc"}, ParameterError, "column 1 of Y: nu"),
        ({"svm_type": "one_class"}, ParameterError, "one-class ignores labels"),
        ({"X": np.where(ROWS > 0.99, np.nan, ROWS)}, DataError, "not finite"),
        ({"sample_weight": np.ones(3)}, DataError, "sample_weight has shape"),
        ({"X": ROWS[:0], "Y": TWO[:0]}, DataError, "no data"),
        ({"Y": MANY[:, 1:3], "X": VOWEL, "weights": {1: 0}}, DataError, "column 1 of Y: every class has weight 0"),
        ({"C": -1.0}, ParameterError, "C"),
    ],
)
def test_refusals(change, error, match):
    with pytest.raises(error, match=match):
        libsvmx.fit_many(**{"X": ROWS, "Y": TWO, **change})


def test_solutions_that_degenerate_are_of_a_column():
    with pytest.raises(ParameterError, match="column 1 of Y: the solution degenerates"):
        libsvmx.fit_many([[1.0], [1.0], [2.0], [2.0]], [[1, 1], [1, -1], [-1, 1], [-1, -1]], svm_type="nu_svc", gamma=1)
