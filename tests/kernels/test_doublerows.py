"""Kernel rows in double, kept or recomputed for the paths that use them: K beta is NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import PathTwin, Problems
from support.examples import examples

from libsvmx import Parameter
from libsvmx._core.buffers import filled

ULP = 2.0**-52
KERNELS = {
    "linear": Parameter(kernel_type=0),
    "polynomial": Parameter(kernel_type=1, degree=3, gamma=0.3, coef0=1.0),
    "rbf": Parameter(kernel_type=2, gamma=0.7),
    "sigmoid": Parameter(kernel_type=3, gamma=0.2, coef0=-0.1),
}
# The minimum number of slots; some; all rows.
BUDGETS = [1.0, 8.0 * 60 * 20, 1e8]


def twin_of(seed, name, n, budget_bytes):
    problem = Problems(seed, "classification", 60, 3.0)
    twin = PathTwin(problem.X, KERNELS[name], 1, budget_bytes)
    twin.append(np.arange(n), *problem.boxes(range(n)))
    twin.path.by_smo(filled("i", []), (0.0,), 1e-3, twin.control())
    return problem, twin


def check_sums(twin):
    """F = K beta, by row, up to rounding; including that of beta up to C = 3, where it has returned to 0."""
    beta, F = np.asarray(twin.path.state.coefficients), np.asarray(twin.path.state.K_beta)
    K = twin.K[np.ix_(twin.rows, twin.rows)]
    assert np.all(np.abs(F - K @ beta) <= 256 * ULP * (np.abs(K) @ np.abs(beta) + 3.0 * np.abs(twin.K).max()))


@pytest.mark.parametrize("budget_bytes", BUDGETS)
@pytest.mark.parametrize("name", KERNELS)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.tuples(st.integers(0, 20), st.floats(0, 0.9)), min_size=1, max_size=6),
)
@examples(15)
def test_rows_and_columns_come_and_go(name, budget_bytes, seed, sizes):
    """Every row of the margin is kept or pinned while others gain and lose columns."""
    problem, twin = twin_of(seed, name, 30, budget_bytes)
    rng = problem.rng
    for count, share in sizes:
        come = rng.permutation(np.setdiff1d(np.arange(60), twin.rows))[:count]
        gone = rng.permutation(len(twin.rows))[: int(share * len(twin.rows))]
        twin.append(come, *problem.boxes(come))
        check_sums(twin)
        # SMO reads whole rows, also kept ones, and F is the sum of the values it read
        twin.path.by_smo(filled("i", gone), (0.0,), 1e-3, twin.control())
        check_sums(twin)
        twin.path.state.discard()
        check_sums(twin)


def test_values_are_not_rounded_to_float():
    """Two rows 1e-9 apart differ, and their difference is correct."""
    X = np.array([[1.0], [1.0 + 1e-9], [0.0]])
    twin = PathTwin(X, KERNELS["linear"])
    twin.append(np.arange(3), [1.0, -1.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 1.0])
    twin.path.by_smo(filled("i", []), (0.0,), 1e-12, twin.control())
    F = np.asarray(twin.path.state.K_beta)
    beta = np.asarray(twin.path.state.coefficients)
    assert pytest.approx(twin.K @ beta, rel=1e-15) == F
    assert F[0] == pytest.approx(-1e-9, rel=1e-6)


@pytest.mark.parametrize("budget_bytes", BUDGETS)
def test_a_margin_larger_than_the_budget(budget_bytes):
    """Pinned rows fill all slots; the others pass through."""
    problem = Problems(5, "classification", 60, 1e3)
    twin = PathTwin(problem.X, Parameter(kernel_type=2, gamma=3.0), 1, budget_bytes)
    twin.append(np.arange(50), *problem.boxes(range(50)))
    twin.path.by_smo(filled("i", []), (0.0,), 1e-3, twin.control())
    assert twin.path.state.margin_size > 20
    twin.check()
    for row in range(50, 60):
        twin.update([row], problem.boxes([row]), [3, 7])
        twin.check()
    twin.bind()
    assert twin.path.check(twin.control()) <= 1e-10
