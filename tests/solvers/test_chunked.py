"""The chunked solver: the optimum with any working sets; checked by NumPy and by the pair solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import data
from support.examples import examples
from support.posed import ENGINES, classes, posed

from libsvmx.enums import KernelType, SvmType

FORMULATIONS = [SvmType.C_SVC, SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR, SvmType.NU_SVR]
SPLIT = SvmType.NU_SVC, SvmType.NU_SVR
KERNELS = [KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID, KernelType.PRECOMPUTED]
RULES = ["mixed", "random", "largest"]
# name: rows, and which target is class +1; None: regression
SETS = {
    "heart_scale": (135, 1.0),
    "iris.scale": (150, 2.0),
    "wine.scale": (178, 2.0),
    "glass.scale": (107, 1.0),
    "vowel.scale.xz": (132, 3.0),
    "breast-cancer.xz": (170, 2.0),
    "ionosphere_scale.xz": (117, 1.0),
    "splice.xz": (100, 1.0),
    "mushrooms.xz": (150, 1.0),
    "a1a.xz": (160, 1.0),
    "pyrim": (74, None),
    "mpg": (98, None),
    "abalone_scale.xz": (100, None),
}


def real(name, factor=1.0):
    """(X, targets, formulation) of a set; its first feature times ``factor``."""
    n, positive = SETS[name]
    X, targets = data.dense_rows(name, n)
    X = X * np.where(np.arange(X.shape[1]) == 0, factor, 1.0)
    if positive is None:
        return X, targets, SvmType.EPSILON_SVR
    return X, np.where(targets == positive, 1.0, -1.0), SvmType.C_SVC


def check_like_cold(case, solution, eps):
    """Optimal, with the pair solver's objective, and on the same side of the plane except for ties."""
    case.check(solution, eps)
    cold = case.cold(eps / 10)
    case.check_near(solution, cold, eps)
    ours, theirs = (case.linear - np.asarray(s.scores) - s.rho for s in (solution, cold))
    tie = 10 * np.sqrt(eps)
    assert np.all((np.sign(ours) == np.sign(theirs)) | (np.abs(theirs) < tie))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("name", SETS)
def test_real_sets(name, C, engine):
    X, targets, kind = real(name)
    case = posed(kind, X, targets, C=C, gamma=1 / X.shape[1], weights=(1.0, 0.5) if kind == SvmType.C_SVC else (1, 1))
    check_like_cold(case, case.solve(working_set=40, engine=engine), 1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("C", [1e4, 1e5])
@pytest.mark.parametrize("name", SETS)
def test_large_costs(name, C, engine):
    X, targets, kind = real(name)
    case = posed(kind, X, targets, C=C, gamma=1 / X.shape[1])
    case.check(case.solve(working_set=100, engine=engine), 1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", ["heart_scale", "ionosphere_scale.xz", "iris.scale", "pyrim"])
def test_a_feature_badly_scaled(name, C, engine):
    X, targets, kind = real(name, 1e3)
    case = posed(kind, X, targets, C=C, gamma=1 / X.shape[1])
    check_like_cold(case, case.solve(working_set=40, engine=engine), 1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_formulations_and_kernels(kind, kernel, shrinking, engine):
    X, y = classes(3, 130)
    options = {"coef0": 0.5, "degree": 2} if kernel == KernelType.POLY else {}
    gamma = 0.01 if kernel == KernelType.SIGMOID else 0.3
    case = posed(kind, X, y, kernel_type=kernel, gamma=gamma, C=5.0, weights=(1.0, 0.3), **options)
    solution = case.solve(1e-4, shrinking, working_set=30, engine=engine)
    check_like_cold(case, solution, 1e-4)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("kind", "working_set"),
    [
        (kind, size)
        for kind in FORMULATIONS
        for size in (0, 2, 3, 20, 100, 1000)
        if kind not in SPLIT or size not in (2, 3)
    ],
)  # two groups: test_the_smallest_working_sets_of_two_groups
def test_working_sets(kind, rule, kept, working_set, engine):
    X, y = classes(4, 120)
    case = posed(kind, X, y, C=3.0)
    solution = case.solve(1e-4, working_set_rule=rule, keep_share=kept, working_set=working_set, engine=engine)
    case.check(solution, 1e-4)
    case.check_near(solution, case.cold(1e-5), 1e-4)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("working_set", [2, 3])
@pytest.mark.parametrize("kind", SPLIT)
def test_the_smallest_working_sets_of_two_groups(kind, working_set, rule):
    X, y = classes(4, 120)
    case = posed(kind, X, y, C=3.0)
    case.check(case.solve(1e-4, working_set_rule=rule, working_set=working_set), 1e-4)


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SvmType.NU_SVC])
def test_chunks_of_chunks(kind):
    """More variables than a leaf holds, and more candidates than that, within one chunk; and several chunks."""
    X, y = classes(5, 900, d=5)
    case = posed(kind, X, y, C=10.0, nu=0.8, gamma=1.0)
    for working_set in (0, 500):
        solution = case.solve(working_set=working_set)
        assert solution.subproblems > 1
        case.check(solution, 1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMULATIONS),
    st.integers(2, 60),
    st.sampled_from([KernelType.LINEAR, KernelType.POLY, KernelType.RBF]),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.sampled_from([1e-1, 1e-3, 1e-4]),
    st.sampled_from(["normal", "grid", "twice"]),
    st.fixed_dictionaries(
        {
            "working_set_rule": st.sampled_from(RULES),
            "keep_share": st.sampled_from([0.0, 0.5, 0.9]),
            "working_set": st.sampled_from([0, 4, 5, 8, 20]),
            "random_state": st.integers(0, 5),
        }
    ),
    st.booleans(),
)
@examples(150)
def test_random_problems(engine, seed, kind, n, kernel, C, eps, source, options, shrinking):
    X, y = classes(seed, n)
    X = X.round() if source == "grid" else X[np.arange(n) // 2] if source == "twice" else X
    case = posed(kind, X, y, kernel_type=kernel, degree=2, coef0=1.0, C=C, nu=0.4)
    solution = case.solve(eps, shrinking, engine=engine, precision="float", **options)
    case.check(solution, eps, precision="float")
    case.check_near(solution, case.cold(eps), eps + 1e-6, case.K_float)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_scores_are_in_double(kind):
    X, y = classes(6, 90)
    case = posed(kind, X, y, C=100.0)
    solution = case.solve(working_set=30, precision="double")
    assert np.asarray(solution.scores) == pytest.approx(case.scores(case.alpha(solution)), abs=1e-10)


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_a_tolerance_below_the_rounding_of_float_rows(kind):
    X, y = classes(6, 90)
    case = posed(kind, X, y, C=100.0)
    solution = case.solve(1e-8, working_set=30)
    if solution.status == "rounding":  # with two sums there is no path that removes the rest
        assert kind == SvmType.NU_SVR
        assert case.gap(case.alpha(solution)) <= 1e-6
    else:
        case.check(solution, 1e-8)


def test_rows_in_float_are_those_of_libsvm():
    """'float': optimal for the rounded matrix, not for the exact one."""
    matrix, targets = data.load("heart_scale", 135)
    case = posed(SvmType.C_SVC, matrix.toarray(), targets, C=1000.0, gamma=0.2)
    solution = case.solve(1e-4, precision="float")
    case.check(solution, 1e-4, precision="float")
