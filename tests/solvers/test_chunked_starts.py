"""The chunked solver from warm starts, with rows held out, and on degenerate problems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.labels import labelled
from support.posed import ENGINES, Posed, classes, posed

from libsvmx._core.stopping import Control
from libsvmx._train.parameter import Parameter
from libsvmx.enums import KernelType, SvmType

FORMULATIONS = [SvmType.C_SVC, SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR, SvmType.NU_SVR]
WITH_COST = [SvmType.C_SVC, SvmType.EPSILON_SVR]


def without(case, rows):
    """(C, a feasible start) with the variables of ``rows`` held out; the start is as uneven as possible."""
    held = np.isin(case.index, rows)
    C = np.where(held, 0.0, case.C)
    start = np.zeros(len(C))
    for side in case.judge().groups:
        if not case.start[side].any():
            continue
        missing = min(case.start[side].sum(), C[side].sum())
        for v in np.flatnonzero(side & ~held):
            start[v] = min(C[v], missing)
            missing -= start[v]
    return C, start


# ---- warm starts ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("factor", [1.0, 0.25, 4.0, 100.0])
@pytest.mark.parametrize("kind", WITH_COST)
def test_from_another_cost(kind, factor, shrinking, engine):
    """alpha C'/C is feasible, and V = linear - (linear - V) C'/C."""
    X, y = classes(7, 120)
    small = posed(kind, X, y, C=0.5)
    case = posed(kind, X, y, C=0.5 * factor)
    alpha = case.alpha(small.cold(1e-5)) * factor
    problem = case.changed(start=alpha, V=case.scores(alpha))
    solution = case.solve(1e-4, shrinking, problem, working_set=30, engine=engine)
    case.check(solution, 1e-4, start=alpha)
    case.check_near(solution, case.cold(1e-5), 1e-4)
    if factor == 1.0:
        assert solution.iterations == 0
        assert bytes(solution.beta) == bytes(problem.beta)
        assert bytes(solution.scores) == bytes(problem.scores)


@pytest.mark.parametrize("engine", ENGINES)
def test_coefficients_within_rounding_of_a_bound(engine):
    """3e-17 goes to a coefficient that it does not change: the objective falls by V relative to the level, not by V."""
    case = Posed(
        [[0.1**0.5], [0.5 / 0.1**0.5], [0.0]], [1, 1, -1], Parameter(kernel_type=KernelType.LINEAR), (1.0, 0.88)
    )
    alpha = np.array([0.88, 3e-17, 0.88])
    problem = case.changed(start=alpha, V=case.scores(alpha))
    assert problem.scores[0] > problem.scores[1] > 0.5
    solution = case.solve(1e-3, problem=problem, engine=engine)
    assert (solution.status, solution.iterations) == ("converged", 1)
    assert list(solution.beta) == [0.88, 0, -0.88]


@pytest.mark.parametrize("kind", FORMULATIONS)
def test_the_optimum_is_left_alone(kind):
    X, y = classes(7, 120)
    case = posed(kind, X, y, C=2.0)
    alpha = case.alpha(case.cold(1e-5))
    problem = case.changed(start=alpha, V=case.scores(alpha))
    solution = case.solve(1e-4, problem=problem)
    assert (solution.status, solution.iterations) == ("converged", 0)
    assert bytes(solution.beta) == bytes(problem.beta)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_a_row_removed(kind, shrinking, engine):
    """From the optimum of all rows, what the removed rows had is given to others; their scores are correct, too."""
    X, y = classes(8, 120)
    case = posed(kind, X, y, C=4.0)
    alpha = case.alpha(case.cold(1e-5))
    support = case.index[np.argsort(-alpha)[:3]]
    C = np.where(np.isin(case.index, support), 0.0, case.C)
    start = np.minimum(alpha, C)
    for side in case.judge().groups:
        missing = case.y[side] @ (alpha - start)[side]
        for v in np.flatnonzero(side):
            room = C[v] - start[v] if missing * case.y[v] > 0 else start[v]
            moved = min(room, abs(missing)) * np.sign(missing)
            start[v] += case.y[v] * moved
            missing -= moved
    problem = case.changed(C, start, case.scores(start))
    solution = case.solve(1e-4, shrinking, problem, working_set=20, engine=engine)
    case.check(solution, 1e-4, C, start)


@pytest.mark.parametrize("engine", ENGINES)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(FORMULATIONS),
    st.integers(4, 60),
    st.sampled_from([0.1, 10.0]),
    st.sampled_from([0, 4, 8, 20]),
    st.booleans(),
)
@examples(100)
def test_any_start(engine, seed, kind, n, C, working_set, shrinking):
    """A random feasible alpha: shrunk variables come back where they are needed."""
    X, y = classes(seed, n)
    case = posed(kind, X, y, C=C)
    rng = np.random.default_rng(seed)
    start = case.start.copy()
    for side in case.judge().groups:
        for i, j in rng.choice(np.flatnonzero(side), (2 * n, 2)) if side.any() else ():
            up = case.C[i] - start[i] if case.y[i] > 0 else start[i]
            down = start[j] if case.y[j] > 0 else case.C[j] - start[j]
            step = min(up, down) * rng.choice([0.3, 1.0]) * (i != j)
            start[i], start[j] = start[i] + case.y[i] * step, start[j] - case.y[j] * step
    start = np.clip(start, 0, case.C)
    problem = case.changed(start=start, V=case.scores(start, case.K_float))
    solution = case.solve(1e-3, shrinking, problem, working_set=working_set, engine=engine, precision="float")
    case.check(solution, 1e-3, start=start, precision="float")


# ---- rows held out ----------------------------------------------------------------------------


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_held_out_rows_have_scores(kind, warm, shrinking):
    X, y = classes(9, 200)
    case = posed(kind, X, y, C=3.0)
    C, start = without(case, np.arange(20, 60))
    assert case.y @ start == pytest.approx(case.y @ case.start)
    problem = case.changed(C, start, case.scores(start) if warm else None)
    solution = case.solve(1e-4, shrinking, problem, working_set=12)
    case.check(solution, 1e-4, C, start)
    held = C == 0
    assert held.any()
    assert not case.alpha(solution)[held].any()


@pytest.mark.parametrize("warm", [False, True])
def test_all_rows_held_out(warm):
    X, y = classes(9, 10)
    case = posed(SvmType.C_SVC, X, y)
    nothing = np.zeros(10)
    problem = case.changed(nothing, V=case.linear if warm else None)
    solution = case.solve(problem=problem)
    case.check(solution, 1e-3, nothing)
    assert solution.iterations == 0


# ---- degenerate problems ----------------------------------------------------------------------


def degenerate(name):
    """(X, y)."""
    X, y = classes(10, 40)
    if name == "every row four times":
        return np.tile(X[:20], (4, 1)), np.tile(y[:20], 4)
    if name == "every row with both labels":
        return np.tile(X, (2, 1)), np.concatenate([y, -y])
    if name == "rows all the same":
        return X * 0 + 1.0, y
    if name == "rows of zeros":
        return X * 0, y
    if name == "labels in order":
        return X[np.argsort(y)], np.sort(y)
    if name == "one row of a class":
        return X, np.where(np.arange(40) == 7, 1.0, -1.0)
    if name == "one row of each class":
        return X[:2], y[:2]
    assert name == "rows far apart"
    return np.diag(np.full(40, 30.0)), np.tile([1.0, -1.0], 20)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [0, 4, 10])
@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("kernel", [KernelType.LINEAR, KernelType.RBF])
@pytest.mark.parametrize("kind", FORMULATIONS)
@pytest.mark.parametrize(
    "name",
    [
        "every row four times",
        "every row with both labels",
        "rows all the same",
        "rows of zeros",
        "labels in order",
        "one row of a class",
        "one row of each class",
        "rows far apart",
    ],
)
def test_degenerate(name, kind, kernel, C, working_set, engine):
    """K singular, contradictory labels, chunks without any gain."""
    case = posed(kind, *degenerate(name), kernel_type=kernel, C=C)
    solution = case.solve(working_set=working_set, engine=engine)
    case.check(solution, 1e-3)
    case.check_near(solution, case.cold(1e-4), 1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_all_alphas_at_the_bound(engine):
    """No free variable: the level is the middle of its interval, and alpha is C exactly."""
    X = np.diag(np.full(60, 30.0))
    case = posed(SvmType.C_SVC, X, np.tile([1.0, -1.0], 30), C=0.5)
    solution = case.solve(working_set=8, engine=engine)
    assert set(case.alpha(solution)) == {0.5}
    assert solution.rho == 0
    case.check(solution, 1e-3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_class_alone_in_a_classification(label, engine):
    """Nothing can move."""
    X, _ = classes(11, 30)
    case = posed(SvmType.C_SVC, X, np.full(30, label))
    solution = case.solve(working_set=4, engine=engine)
    assert (solution.status, solution.iterations) == ("converged", 0)
    assert not case.alpha(solution).any()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(  # one row has no feasible nu
    ("kind", "n"), [(kind, n) for kind in FORMULATIONS for n in (1, 2) if kind != SvmType.NU_SVC or n > 1]
)
def test_hardly_any_rows(kind, warm, n, engine):
    X, y = np.array([[1.0, 2.0], [0.5, -1.0]])[:n], np.array([1.0, -1.0])[:n]
    case = Posed(X, y, Parameter(svm_type=kind, gamma=0.3, C=3.0))
    problem = case.changed(V=case.scores(case.start)) if warm else case.dual
    solution = case.solve(problem=problem, engine=engine)
    case.check(solution, 1e-3)
    assert len(solution.beta) == len(case.y)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("working_set", [0, 4, 20])
def test_bounds_of_many_sizes(working_set, engine):
    """Any linear term and any bounds over rows in any order, some of them repeated."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = classes(seed, 50)
        case = posed(SvmType.C_SVC, X, y)
        C = 10.0 ** rng.uniform(-3, 2, 50)
        index = rng.integers(0, 50, 50)
        start = C * rng.choice([0.0, 0.5, 1.0], 50)
        case.take(labelled(y, rng.normal(size=50), C, start, index, two_groups=bool(seed % 2)))
        solution = case.solve(working_set=working_set, engine=engine, precision="float")
        case.check(solution, 1e-3, precision="float")
        # exactly at a bound, not an ulp before it
        alpha = case.alpha(solution)
        assert np.all((alpha == 0) | (alpha > 1e-14 * C))
        assert np.all((alpha == C) | (alpha < C * (1 - 1e-14)))


def test_rows_nearer_than_float_tells():
    """Rounded to float, K is not positive semidefinite here, so steps stop anywhere; in double they do not."""
    case = posed(SvmType.C_SVC, [[194.307], [194.325], [194.3]], [1.0, -1.0, 1.0], C=1e3, kernel_type=KernelType.LINEAR)
    case.check(case.solve(control=Control(1e-3, max_iter=20000), precision="float"), 1e-3, precision="float")
    case.check(case.solve(control=Control(1e-3, max_iter=20000)), 1e-3)


@pytest.mark.parametrize("kernel", [KernelType.SIGMOID, KernelType.POLY])
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_indefinite_kernels(kind, kernel):
    """A stationary point, or a limit: feasible in any case, and no worse than the start."""
    for seed in range(10):
        X, y = classes(seed, 60)
        case = posed(kind, X, y, kernel_type=kernel, gamma=0.5, coef0=-1.0, degree=3, C=2.0)
        solution = case.solve(working_set=8, precision="float")
        alpha = case.alpha(solution)
        case.check(solution, 1e-3, precision="float")
        assert case.objective(alpha) <= case.objective(case.start) + 1e-4 * (1 + abs(case.objective(alpha)))
