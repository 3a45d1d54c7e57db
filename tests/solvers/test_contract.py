"""The contract of every solver, whatever its method: each test runs on all of them, from one table.

An answer is feasible and optimal; permuting rows or turning labels changes only names; limits and requests to stop are
reported; threads change no bit; the caller's arrays are neither changed nor kept. The judge is NumPy.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pytest
from libsvmx._train.formulation import build_dual
from support import data
from support.judge import FLOAT_ULP, Judge, kernel_values
from support.labels import costs_of, labels_of

from libsvmx._core.buffers import filled, zeros
from libsvmx._core.stopping import Control, Stopped
from libsvmx._kernels.featurerows import DenseRows
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.auto import Auto
from libsvmx._solvers.decomposition.solver import IRWLS, Chunked
from libsvmx._solvers.dual import DualProblem, DualSolution
from libsvmx._solvers.interior_point.solver import CRSVM
from libsvmx._solvers.path.path import Path, path_of, solution_without
from libsvmx._solvers.smo import smo, warm
from libsvmx._train.parameter import Parameter
from libsvmx.enums import KernelType, SolveStatus, SvmType

BUDGET = 1e7  # bytes for kernel rows
EPS = 1e-4


class Case:
    """A dual problem over random rows, with its kernel and its judge in double."""

    def __init__(self, kind, n=80, seed=0, order=None, sign=1.0, C=2.0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        targets = X[:, 0] + 0.7 * rng.normal(size=n)
        targets = sign * (targets if kind.is_regression else np.where(targets > 0, 1.0, -1.0))
        at = np.arange(n) if order is None else order
        self.n, self.X, self.targets = n, X[at], targets[at]
        linear = kind == SvmType.C_SVC  # crsvm gets the rows of C-SVC themselves
        self.param = Parameter(
            svm_type=kind, kernel_type=KernelType.LINEAR if linear else KernelType.RBF, gamma=0.4, C=C, nu=0.37, p=0.1
        )
        matrix = data.from_rows([[(j + 1, v) for j, v in enumerate(row)] for row in self.X.tolist()])
        kernel_type = int(self.param.kernel_type)
        self.kernel = Kernel(matrix, filled("i", range(n)), kernel_type, 3, self.param.gamma, 0.0)
        # the first class has 1.5 times the cost
        weights = (1.5 * C, C) if sign > 0 else (C, 1.5 * C)
        self.dual = build_dual(self.param, filled("d", self.targets), *weights)
        self.row = np.asarray(self.dual.row)
        self.K = kernel_values(self.param, self.X, self.X)[np.ix_(self.row, self.row)]
        self.judge = Judge.of(self.dual, self.K)
        self.start = np.array(self.dual.beta)

    @cached_property
    def rounded(self):
        """Its values as the kernel rounds its rows to float, which LIBSVM's solver uses."""
        rows = np.array([self.kernel.row(i) for i in range(self.n)], dtype=float)
        return rows[np.ix_(self.row, self.row)]

    def noise(self, beta, ulp=FLOAT_ULP):
        """Rounding error of V, with kernel values rounded to float in LIBSVM's solver."""
        return 4 * ulp * (np.abs(self.K) @ (np.abs(beta) + np.abs(self.start)) + np.abs(self.judge.linear)).max()

    def with_scores(self):
        """The problem with the scores of its start, from the rounded kernel."""
        return self.dual.changed(scores=filled("d", self.judge.linear - self.rounded @ self.start))


def pairs(case, control, threads):
    return smo.solve(case.dual, case.kernel, BUDGET, control, threads)


def warm_pairs(case, control, threads):
    return warm.solve(case.with_scores(), case.kernel, BUDGET, control, threads)


def interior_point(case, control, threads):
    features = case.X
    if case.param.kernel_type != KernelType.LINEAR:
        values, vectors = np.linalg.eigh(kernel_values(case.param, case.X, case.X))
        features = vectors * np.sqrt(np.maximum(values, 0.0))
    return CRSVM().solve_features(case.dual, DenseRows(features), control, threads, lambda line: None)


def decomposition(settings, case, control, threads):
    return settings.solve(case.dual, case.kernel, BUDGET, control, threads)


def stopped(case, status):
    """For a stopped path, which has no answer of its own: the start."""
    V, rho = filled("d", case.judge.scores(case.start)), float("nan")
    objective = case.judge.objective(case.start)
    return DualSolution(
        beta=filled("d", case.start), scores=V, rho=rho, objective=objective, iterations=0, status=status
    )


def along_a_path(case, control, threads):
    """From LIBSVM's optimum to a coarse eps, as a fold or a state begins."""
    near = smo.solve(case.dual, case.kernel, BUDGET, Control(1e-2), threads)
    try:
        path = path_of(case.dual, case.kernel, BUDGET, near.beta, control)
        return solution_without(path, case.dual, zeros("i", 0), path.state.totals, control)
    except Stopped as error:
        return stopped(case, *error.args)


def double_pairs(case, control, threads):
    """SMO over the state of a path, from the current beta."""
    per_row = case.judge.linear.size // case.n
    order = np.arange(per_row * case.n).reshape(per_row, case.n).T.ravel()  # variables of a row side by side
    parts = (filled("d", np.asarray(part)[order]) for part in (case.dual.linear, case.dual.lower, case.dual.upper))
    path, totals = Path(per_row, BUDGET, case.dual.groups), tuple(case.judge.sums(case.start))
    path.state.append(case.kernel, filled("q", range(case.n)), *parts)
    try:
        path.approach(filled("d", case.start[order]), totals, control)
        path.by_smo(zeros("i", 0), totals, control.eps, control)
    except Stopped as error:
        return stopped(case, *error.args)
    state, beta, V = path.state, np.empty(order.size), np.empty(order.size)
    beta[order], V[order] = state.coefficients, state.scores
    return DualSolution(
        beta=filled("d", beta),
        scores=filled("d", V),
        rho=state.rho,
        r=state.r,
        objective=state.objective(),
        iterations=path.motion.breakpoints,
        status=SolveStatus.CONVERGED,
    )


ALL = tuple(SvmType)


@dataclass(frozen=True)
class Subject:
    """A solver under test.

    Attributes
    ----------
    solve : callable(case, control, threads) -> DualSolution
    kinds : formulations it solves
    counts : bool       it respects Control.max_iter
    double : bool       it works with kernel values in double; others with rounded ones, or with either
    """

    solve: object
    kinds: tuple = ALL
    counts: bool = True
    double: bool = False


SOLVERS = {
    "smo": Subject(pairs),
    "warm smo": Subject(warm_pairs),
    "double smo": Subject(double_pairs, ALL, counts=False, double=True),
    "chunked": Subject(partial(decomposition, Chunked(working_set=16))),
    "irwls": Subject(partial(decomposition, IRWLS(working_set=16))),
    "crsvm": Subject(interior_point, (SvmType.C_SVC, SvmType.EPSILON_SVR), double=True),
    "auto": Subject(partial(decomposition, Auto())),
    "path": Subject(along_a_path, ALL, counts=False, double=True),
}
EACH = pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(name, kind, id=f"{name}, {kind.name}") for name, one in SOLVERS.items() for kind in one.kinds],
)


def solved(name, case, threads=1, **control):
    return SOLVERS[name].solve(case, Control(control.pop("eps", EPS), **control), threads)


def bits(solution):
    return bytes(solution.beta), bytes(solution.scores), solution.rho, solution.r, solution.iterations, solution.status


def check_figures(name, case, solution):
    """Scores and objective are those of beta, to the rounding of sums in double."""
    beta, V = np.asarray(solution.beta), np.asarray(solution.scores)
    kernels = [case.K] if SOLVERS[name].double else [case.K, case.rounded]
    judges = [Judge.of(case.dual, K) for K in kernels]
    size = 1e-9 * (1 + np.abs(beta).sum())
    nearest = min(judges, key=lambda judge: np.abs(V - judge.scores(beta)).max())
    np.testing.assert_allclose(V, nearest.scores(beta), rtol=0, atol=size)
    assert solution.objective == pytest.approx(nearest.objective(beta), rel=1e-9, abs=size)


@EACH
@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("eps", [1e-3, 1e-8])
def test_the_optimum(name, kind, eps, shrinking):
    """Feasible, optimal to eps in double from the data, and reported as such."""
    case = Case(kind)
    solution = solved(name, case, eps=eps, shrinking=shrinking)
    beta, judge = np.asarray(solution.beta), case.judge
    noise = case.noise(beta)
    assert solution.status == SolveStatus.CONVERGED
    judge.check_feasible(beta, case.start)
    assert judge.gap(beta) <= eps + 2 * noise
    # every s_i beside beta_i is at most eps from where it costs nothing
    assert judge.duality_gap(beta) <= (eps + 2 * noise) * (judge.upper - judge.lower).sum()
    check_figures(name, case, solution)
    for own, level in zip(judge.groups, (-solution.rho - solution.r, -solution.rho + solution.r), strict=False):
        ((top, bottom),) = [pair for pair, one in zip(judge.intervals(beta), judge.groups, strict=True) if one is own]
        assert min(top, bottom) - eps - noise <= level <= max(top, bottom) + eps + noise


@EACH
def test_permuted_rows(name, kind):
    """The same optimum: objective, and decision values of all rows."""
    case = Case(kind)
    order = np.random.default_rng(1).permutation(case.n)
    other = Case(kind, order=order)
    one, two = (solved(name, c, eps=1e-7) for c in (case, other))
    assert two.objective == pytest.approx(one.objective, rel=1e-5)
    per_row = case.judge.linear.size // case.n
    positions = np.concatenate([order + h * case.n for h in range(per_row)])
    near = 1e-4 * (1 + np.abs(one.scores).max())
    np.testing.assert_allclose(np.asarray(two.scores), np.asarray(one.scores)[positions], rtol=0, atol=near)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name, one in SOLVERS.items() for kind in one.kinds if kind != SvmType.ONE_CLASS],
)
def test_turned_labels(name, kind):
    """-y instead of y, or the negated targets of a regression: -beta, -rho and the same objective."""
    case, other = Case(kind), Case(kind, sign=-1.0)
    one, two = (solved(name, c, eps=1e-7) for c in (case, other))
    assert two.objective == pytest.approx(one.objective, rel=1e-5)
    K = kernel_values(case.param, case.X, case.X)
    ours, theirs = (K[:, c.row] @ np.asarray(s.beta) for c, s in ((case, one), (other, two)))
    near = 1e-4 * (1 + np.abs(ours).max())
    np.testing.assert_allclose(theirs, -ours, rtol=0, atol=near)
    assert two.rho == pytest.approx(-one.rho, abs=near)


@EACH
@pytest.mark.parametrize("limit", [1, 3])
def test_an_iteration_limit(name, kind, limit):
    """Reported and respected; the result is feasible and no worse than the start."""
    if not SOLVERS[name].counts:
        return
    case = Case(kind)
    solution = solved(name, case, eps=1e-9, max_iter=limit)
    beta = np.asarray(solution.beta)
    assert (solution.status, solution.iterations) == (SolveStatus.ITERATION_LIMIT, limit)
    case.judge.check_feasible(beta, case.start)
    check_figures(name, case, solution)
    assert solution.objective <= case.judge.objective(case.start) + 1e-9 * (1 + np.abs(beta).sum())


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        pytest.param(name, kind, reason, marks=[pytest.mark.exhaustive] if (k + place + kind) % 2 else [])
        for place, (name, one) in enumerate(SOLVERS.items())
        for kind in one.kinds
        for k, reason in enumerate(("interrupted", "time limit"))
    ],
)
def test_a_request_to_stop(name, kind, reason):
    """At the first reading of the clock, after a few million numbers: enough rows that one comes before the end."""
    case = Case(
        kind,
        n={"path": 1200 if kind.is_regression else 2500, "chunked": 200, "irwls": 200, "crsvm": 200}.get(name, 1200),
        C=100.0,
    )
    control = {"should_stop": lambda: True} if reason == "interrupted" else {"time_limit": 1e-9}
    solution = solved(name, case, eps=1e-7, **control)
    assert solution.status == reason
    case.judge.check_feasible(np.asarray(solution.beta), case.start)
    assert np.isfinite(np.asarray(solution.scores)).all()


@pytest.mark.parametrize(("name", "n"), [(name, n) for name in SOLVERS for n in (300, 2300)])
def test_threads_change_no_bit(name, n, exhaustive):
    """More rows than the minimum for helper threads, and fewer."""
    case = Case(SvmType.C_SVC, n=n)
    one, *others = (bits(solved(name, case, threads, eps=1e-2)) for threads in ((1, 2, 5) if exhaustive else (1, 3)))
    assert all(other == one for other in others)


@EACH
def test_arguments_are_not_changed(name, kind):
    """Neither changed nor kept: the answer has its own memory, and survives later changes of the problem."""
    case = Case(kind)
    given = [case.dual.linear, case.dual.lower, case.dual.upper, case.dual.group, case.dual.row, case.dual.beta]
    before = [bytes(buffer) for buffer in given]
    first = solved(name, case)
    assert [bytes(buffer) for buffer in given] == before
    again = bits(solved(name, case))
    assert bits(first) == again
    assert not any(np.shares_memory(np.asarray(first.beta), np.asarray(buffer)) for buffer in given)
    assert not any(np.shares_memory(np.asarray(first.scores), np.asarray(buffer)) for buffer in given)
    for buffer in given:
        np.asarray(buffer)[:] = 0
    assert bits(first) == again


def test_the_problems_are_not_trivial():
    """Each has free variables, and variables at both bounds."""
    for kind in SvmType:
        case = Case(kind)
        beta = np.asarray(solved("smo", case, eps=1e-7).beta)
        assert case.judge.free(beta).sum() >= 2
        assert (labels_of(case.dual) * beta == costs_of(case.dual)).any()
        assert (beta == 0).any()
    assert DualProblem is type(case.dual)
