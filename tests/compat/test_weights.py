"""Weights of rows in Python, as in LIBSVM's tool "weights for data instances"."""

import copy
import ctypes
import pickle

import numpy as np
import pytest
import scipy.sparse

import libsvmx
from libsvmx.exceptions import DataError
from libsvmx.io.modelfile import model_text
from libsvmx.svmutil import libsvm, svm_parameter, svm_problem, svm_train, toPyModel

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.4 * RNG.normal(size=40) > 0, 1.0, -1.0)
W = RNG.integers(0, 4, 40) * 0.5
OPTIONS = "-q -c 2 -g 0.5"


def expected(weights):
    return model_text(libsvmx.train(X, Y, C=2, gamma=0.5, sample_weight=weights))


@pytest.mark.parametrize("kind", [list, tuple, np.asarray])
@pytest.mark.parametrize("rows", [X, X.tolist(), scipy.sparse.csr_matrix(X), [dict(enumerate(row, 1)) for row in X]])
def test_weights_labels_rows(rows, kind):
    weights, labels = kind(W), kind(Y)
    wanted = expected(W)
    assert model_text(svm_train(weights, labels, rows, OPTIONS).model) == wanted
    assert model_text(svm_train(weights, labels, rows, OPTIONS.split()).model) == wanted
    problem = svm_problem(weights, labels, rows)
    assert W.tolist() == problem.W and problem.y == Y.tolist() and problem.l == 40
    assert model_text(svm_train(problem, OPTIONS).model) == wanted
    assert model_text(svm_train(problem, svm_parameter(OPTIONS)).model) == wanted
    assert model_text(toPyModel(libsvm.svm_train(problem, svm_parameter(OPTIONS))).model) == wanted


def test_no_weights():
    for empty in ([], (), np.empty(0)):
        assert model_text(svm_train(empty, Y, X, OPTIONS).model) == expected(None)
        assert svm_problem(empty, Y, X).W == [1.0] * 40
    assert svm_problem(Y, X).W == [1.0] * 40


def test_the_form_without_options(capsys):
    model = svm_train(W, Y, X)
    assert "optimization finished" in capsys.readouterr().out
    assert model_text(model.model) == model_text(libsvmx.train(X, Y, sample_weight=W))


def test_precomputed_kernels_and_names():
    K = np.column_stack([np.arange(1, 41), X @ X.T])
    model = svm_train(W, Y, K, "-q -t 4")
    again = svm_train(svm_problem(W, Y, K, True), "-q -t 4")
    assert model_text(svm_train(svm_problem(W=W, y=Y, x=K, isKernel=True), "-q -t 4").model) == model_text(model.model)
    assert model_text(again.model) == model_text(model.model)
    assert svm_problem(Y, K, True).W == [1.0] * 40
    assert svm_problem(y=Y, x=X).l == 40


def test_cross_validation_and_later_output():
    plain = svm_train(Y, X, "-q -v 4")
    problem = svm_problem(Y, X)
    problem.W[:] = np.where(Y > 0, 1.0, 0.01).tolist()
    assert svm_train(problem, "-q -v 4") < plain
    problem.W = W.tolist()
    assert model_text(svm_train(problem, OPTIONS).model) == expected(W)


def test_parameters_written_between_trainings_count():
    problem, param = svm_problem(Y, X), svm_parameter("-q -t 3 -g 1")  # no training writes gamma
    param.nr_weight, param.weight_label, param.weight = 1, [1], [np.array(2.0)]

    def trained():
        return model_text(svm_train(problem, param).model)

    before = trained()
    param.weight[0][...] = 0.01
    after = trained()
    assert after != before
    param.coef0 = -0.0
    assert trained() == after.replace(b"coef0 0", b"coef0 -0")
    vars(param)["C"] = 0.25
    assert trained() == model_text(svm_train(problem, "-q -t 3 -g 1 -c 0.25 -r -0.0 -w1 0.01").model)
    param.__dict__.update(svm_type=3)
    assert trained() == model_text(svm_train(problem, "-q -s 3 -t 3 -g 1 -c 0.25 -r -0.0 -w1 0.01").model)
    other = ctypes.pointer(param).contents
    vars(other)["svm_type"] = 4
    assert svm_train(problem, other).get_svm_type() == 4 and svm_train(problem, param).get_svm_type() == 3
    del other.svm_type
    assert svm_train(problem, other).get_svm_type() == 3
    del param.C
    with pytest.raises(AttributeError, match="svm_parameter has no attribute 'C'"):
        svm_train(problem, param)
    assert pickle.dumps(param) == pickle.dumps(copy.copy(param)) and b"_checked" not in pickle.dumps(param)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "W has 1 weights, but there are 40 rows"),
        ([-1.0] * 40, "row 0.*finite and >= 0, not -1"),
        ([1.0, float("nan")] * 20, "row 1.*not nan"),
        ([0.0] * 40, "every row has weight 0"),
    ],
)
def test_refusals(weights, message):
    with pytest.raises(DataError, match=message):
        svm_train(weights, Y, X, OPTIONS)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["a"] * 40, "row 0: weight 'a' is not a number"),
        ([1.0, 10**400] * 20, "row 1: weight 10*0 is not a number"),
        (np.ones((40, 1)), "W has 2 dimensions"),
        (2.0, "W is a float"),
    ],
)
def test_weights_that_are_not_numbers(weights, message):
    with pytest.raises(TypeError, match=message):
        svm_problem(weights, Y, X)


def test_the_wrong_number_of_arguments():
    with pytest.raises(TypeError, match=r"svm_problem\(\) takes .* positional argument"):
        svm_problem(W, Y, X, False, 3)
    with pytest.raises(TypeError, match=r"svm_problem\(\) missing"):
        svm_problem(Y)
    with pytest.raises(TypeError, match="options are a int"):
        svm_train(Y, X, 5)
