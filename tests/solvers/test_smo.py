"""The solver against a NumPy oracle and by its properties; other tests compare its bytes with LIBSVM's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvmx._train.formulation import build_dual
from support import data
from support.examples import examples
from support.judge import Judge
from support.labels import alpha_of, labels_of

from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.dual import DualProblem, kkt_gap
from libsvmx._solvers.smo import smo
from libsvmx._train.parameter import Parameter
from libsvmx.enums import SvmType

FORMULATIONS = [SvmType.C_SVC, SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR, SvmType.NU_SVR]


def build(kind, n=90, **options):
    """(dual problem, kernel, kernel matrix as the solver gets it, over variables)"""
    matrix, targets = data.load("heart_scale", n)
    param = Parameter(svm_type=kind, gamma=0.2, nu=0.3, **options)
    kernel = Kernel(matrix, filled("i", range(n)), 2, 0, 0.2, 0.0)
    dual = build_dual(param, filled("d", targets), param.C, param.C)
    index = np.asarray(dual.row)
    K = np.array([kernel.row(i) for i in range(n)], dtype=np.float64)[np.ix_(index, index)]
    return dual, kernel, K


def recomputed(dual, K, alpha):
    """(scores V, objective) of alpha from the whole kernel matrix."""
    judge, beta = Judge.of(dual, K), labels_of(dual) * alpha
    return judge.scores(beta), judge.objective(beta)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_cache_size_changes_nothing(kind):
    """Room for three rows or for all: the same bits."""
    dual, kernel, _ = build(kind)
    a = smo.solve(dual, kernel, 1.0, Control(1e-4))
    b = smo.solve(dual, kernel, 1e9, Control(1e-4))
    assert bytes(a.beta) == bytes(b.beta)
    assert a.iterations == b.iterations
    assert a.rows_computed > b.rows_computed


@pytest.mark.each_value
@pytest.mark.parametrize("room", [48, 150, 320])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_rows_computed_by_the_block_and_let_go_change_nothing(kind, room):
    """Expensive rows, room for some of them, and gradients that are reconstructed: the same bits."""
    n, rng = 400, np.random.default_rng(3)
    rows = [[(j + 1, float(v)) for j, v in enumerate(row)] for row in rng.normal(size=(n, 1000))]
    targets = np.sign(rng.normal(size=n)) if kind in (SvmType.C_SVC, SvmType.NU_SVC) else rng.normal(size=n)
    kernel = Kernel(data.from_rows(rows), filled("i", range(n)), 2, 0, 0.0003, 0.0)
    dual = build_dual(Parameter(svm_type=kind, C=0.3, nu=0.5), filled("d", targets), 0.3, 0.3)
    assert kernel.targets(filled("i", range(n))).blocks
    some = smo.solve(dual, kernel, 4.0 * room * len(dual.linear), Control(1e-6))
    every = smo.solve(dual, kernel, 1e9, Control(1e-6))
    assert bytes(some.beta) == bytes(every.beta)
    assert bytes(some.scores) == bytes(every.scores)
    assert some.iterations == every.iterations


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.floats(0.01, 1e4), st.sampled_from([0, 2]), st.booleans())
@examples(60)
def test_random_problems(seed, n, C, kernel, duplicated):
    """C-SVC on random rows, with duplicate and collinear rows: feasible, KKT from the kernel matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    if duplicated:
        X[n // 2 :] = X[: n - n // 2]
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rows = [[(j + 1, v) for j, v in enumerate(row) if v] for row in X.tolist()]
    k = Kernel(data.from_rows(rows), filled("i", range(n)), kernel, 0, 0.7, 0.0)
    dual = build_dual(Parameter(C=C), filled("d", y), C, C)
    solution = smo.solve(dual, k, 1e6, Control(1e-3, True, max_iter=200000))
    K = np.array([k.row(i) for i in range(n)], dtype=np.float64)
    V, objective = recomputed(dual, K, alpha_of(dual, solution))
    alpha = alpha_of(dual, solution)
    assert alpha.min() >= 0
    assert alpha.max() <= C
    assert abs(y @ alpha) <= 1e-9 * max(1.0, C * n)
    assert objective <= 1e-9  # no worse than the start, alpha = 0
    if solution.status == "converged":
        assert kkt_gap(labels_of(dual) * alpha, V, dual.lower, dual.upper, dual.group) <= 1e-3 + 1e-7 * C * n


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="length"):
        DualProblem(*(filled("d", [0.0] * n) for n in (1, 2, 1)), filled("b", [0]), filled("i", [0]), filled("d", [0]))


@pytest.mark.parametrize(("lower", "upper", "group"), [(-1.0, 1.0, 0), (0.5, 1.0, 0), (-1.0, -0.5, 0), (0.0, 1.0, 1)])
def test_boxes_that_are_not_libsvms(lower, upper, group):
    _, kernel, _ = build(SvmType.C_SVC, 2)
    boxes = filled("d", [0.0, lower]), filled("d", [1.0, upper])
    dual = DualProblem(filled("d", [1, 1]), *boxes, filled("b", [0, group]), filled("i", [0, 1]), filled("d", [0, 0]))
    with pytest.raises(ValueError, match="boxes"):
        smo.solve(dual, kernel, 1e6, Control(1e-3))
