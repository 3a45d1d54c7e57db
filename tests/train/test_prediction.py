"""Labels from signs alone: always LIBSVM's, as rows in doubt are recomputed."""

import pickle
import sys

import numpy as np
import pytest
from libsvmx._kernels.cross import CrossKernel
from libsvmx._train.decision import LinearFunctions
from support import data
from support import oracle as libsvm

from libsvmx._core.buffers import filled, zeros
from libsvmx._train import prediction
from libsvmx._train.folds import Rand
from libsvmx._train.model import Model
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.prediction import exact_functions, functions_for_signs, predict_labels
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_problem
from libsvmx.enums import KernelType, SvmType
from libsvmx.io.modelfile import load_model, save_model

KINDS = [KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID]


def all_rows(matrix):
    return Problem(matrix, zeros("d", matrix.n_rows)).rows


def trained(name, kind, svm_type=SvmType.C_SVC, n=200):
    matrix, targets = data.load(name, n)
    param = Parameter(svm_type=svm_type, kernel_type=kind, gamma=0.2, coef0=0.1, C=5.0, nu=0.3)
    return train_problem(Problem(matrix, filled("d", targets)), param, Rand(1), Observer()), data.load(name)[0]


def by_libsvm(model, tests, folder):
    """The model read from its file, whose vectors have fewer digits; LIBSVM's labels and values with it."""
    save_model(str(folder / "model"), model)
    return load_model(str(folder / "model")), *libsvm.predict(libsvm.load(folder / "model"), tests)


def balanced(rng, kind, n_pairs, width):
    """A model whose exact decision values would all be 0: each vector occurs with both signs.

    In the sums they have another order, so that LIBSVM's values are rounding errors, of either sign.
    """
    rows = [[(f + 1, float(v)) for f, v in enumerate(rng.standard_normal(width))] for _ in range(n_pairs)]
    coef = [float(c) for c in rng.random(n_pairs)]
    order = [int(i) for i in rng.permutation(n_pairs)]
    return Model(
        Parameter(kernel_type=kind, gamma=0.05, coef0=0.3),
        2,
        data.from_rows(rows + [rows[i] for i in order]),
        filled("d", coef + [-coef[i] for i in order]),
        filled("d", [0.0]),
        class_labels=(1, -1),
        class_sv=(n_pairs, n_pairs),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_doubt_are_computed_as_libsvm_does(kind, tmp_path):
    rng = np.random.default_rng(kind)
    model = balanced(rng, kind, 40, 6)
    tests = data.from_rows([[(f + 1, float(v)) for f, v in enumerate(rng.standard_normal(6))] for _ in range(300)])
    rows = all_rows(tests)
    model, labels, values = by_libsvm(model, tests, tmp_path)
    assert len(set(labels)) == 2
    assert list(predict_labels(model, tests, rows)) == labels
    signs = functions_for_signs(model)
    if kind == KernelType.POLY:
        assert signs is None
        return
    fast = zeros("d", 300)
    assert signs.evaluate(tests, rows, fast) == list(range(300))
    # without the recomputation labels would be wrong
    assert any((a > 0) != (b[0] > 0) for a, b in zip(fast, values, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_zero_is_not_a_positive_value(kind, tmp_path):
    model = Model(
        Parameter(kernel_type=kind, gamma=0.5, degree=3),
        2,
        data.from_rows([[(1, 1.5), (3, -2.5)], [(1, -1.5), (3, 2.5)]]),
        filled("d", [1.0, -1.0]),
        filled("d", [0.0]),
        class_labels=(1, -1),
        class_sv=(1, 1),
    )
    tests = data.from_rows([[], [(2, 7.5)], [(1, 1e-17)], [(1, -1e-17)], [(1, 1.5)], [(3, 1e-300)]])
    model, labels, values = by_libsvm(model, tests, tmp_path)
    assert values[0] == [0.0]
    assert list(predict_labels(model, tests, all_rows(tests))) == labels


@pytest.mark.parametrize("factor", [1e-170, 1e-9, 1.0, 1e5, 1e120])
@pytest.mark.parametrize("kind", KINDS)
def test_fast_values_keep_to_their_bound(kind, factor, tmp_path):
    """Models of heart_scale in another unit of length, with vectors that nearly cancel."""
    rng = np.random.default_rng(3)
    matrix, _ = data.load("heart_scale", None, None, 0, factor)
    n = matrix.n_rows // 2
    coef = [float(c) for c in rng.choice([1.0, 1e-6, 1e9], n) * rng.standard_normal(n)]
    for gamma in (1e-245, 1e-11, 1e-5, 2.0, 1e17, 1e300):
        model = Model(
            Parameter(kernel_type=kind, gamma=gamma, coef0=0.1),
            2,
            data.from_rows([matrix.row(i // 2) for i in range(2 * n)]),
            filled("d", [c * s for c in coef for s in (1, -1 - 1e-13)]),
            filled("d", [coef[0]]),
            class_labels=(3, 4),
            class_sv=(n, n),
        )
        model, labels, exact = by_libsvm(model, matrix, tmp_path)
        assert list(predict_labels(model, matrix, all_rows(matrix))) == labels
        signs = functions_for_signs(model)
        if signs is None:
            continue
        fast = zeros("d", matrix.n_rows)
        doubtful = set(signs.evaluate(matrix, all_rows(matrix), fast))
        for i in set(range(matrix.n_rows)) - doubtful:
            assert (fast[i] > 0) == (exact[i][0] > 0)


@pytest.mark.parametrize("name", ["heart_scale", "vowel.scale.xz"])
@pytest.mark.parametrize("kind", [KernelType.RBF, KernelType.SIGMOID])
def test_values_differ_by_less_than_the_bound(name, kind):
    model, tests = trained(name, kind)
    rows, width, p = all_rows(tests)[:32], len(model.offsets), model.param
    signs, exact = functions_for_signs(model), exact_functions(model)
    a, b = zeros("d", len(rows) * width), zeros("d", len(rows) * width)
    assert len(signs.evaluate(tests, rows, a)) < 5
    assert exact.evaluate(tests, rows, b) == []
    differences = np.abs(np.asarray(a) - np.asarray(b)).reshape(-1, width)
    assert differences.any()
    kernel = CrossKernel(model.vectors, p.kernel_type, p.degree, p.gamma, p.coef0, approximate=True)
    for row, margin in zip(differences, kernel.block(tests, rows)[1], strict=True):
        assert 0 < margin < 1e-9
        assert (row <= signs.bounds(margin)).all()


def test_linear_functions_collapse_only_where_that_is_less():
    model, tests = trained("a1a.xz", KernelType.LINEAR)
    assert isinstance(functions_for_signs(model), LinearFunctions)
    assert len(functions_for_signs(model).evaluate(tests, all_rows(tests), zeros("d", tests.n_rows))) < 10
    wide = data.from_rows([[(1, 1.0)], [(2**31 - 2, 1.0)]])
    assert not LinearFunctions.pays(wide, 1)


@pytest.mark.parametrize(
    ("coef", "vector", "test", "label"),
    [
        ([2e307, 2e307, -2.2e307, -2.2e307], 8.0, 0.005, -1.0),  # w overflows, LIBSVM's sum does not
        ([1e300, 1e299], 1e-170, 1e-170, -1.0),  # LIBSVM's products underflow, w x does not
    ],
)
def test_collapsing_what_leaves_the_range_of_doubles(coef, vector, test, label, tmp_path):
    model = Model(
        Parameter(kernel_type=KernelType.LINEAR),
        2,
        data.from_rows([[(1, vector)] for _ in coef]),
        filled("d", coef),
        filled("d", [0.0]),
        class_labels=(1, -1),
        class_sv=(1, len(coef) - 1),
    )
    tests = data.from_rows([[(1, test)]])
    model, labels, _ = by_libsvm(model, tests, tmp_path)
    assert labels == [label]
    assert isinstance(functions_for_signs(model), LinearFunctions)
    assert list(predict_labels(model, tests, all_rows(tests))) == labels


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_made_once_and_let_go_of_the_rows(kind):
    model, matrix = trained("heart_scale", kind)
    expected = [
        prediction.decision_values(model, matrix, all_rows(matrix)),
        predict_labels(model, matrix, all_rows(matrix)),
    ]
    (kept,) = model.predictors
    before = sys.getrefcount(matrix)
    again = [
        prediction.decision_values(model, matrix, all_rows(matrix)),
        predict_labels(model, matrix, all_rows(matrix)),
    ]
    assert sys.getrefcount(matrix) == before
    assert [bytes(values) for values in again] == [bytes(values) for values in expected]
    assert len(model.predictors) == 1
    assert model.predictors[0] is kept


def test_an_interrupted_prediction_keeps_nothing():
    model, matrix = trained("heart_scale", KernelType.RBF)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prediction.decision_values(model, matrix, all_rows(matrix), interrupt)
    assert model.predictors == []
    assert pickle.loads(pickle.dumps(model)).predictors == []
