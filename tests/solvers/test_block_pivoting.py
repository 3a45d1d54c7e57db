"""Block pivoting: solver auto's way to the optimum where many variables are free and C is large."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from support.asking import Asked
from support.judge import Judge
from support.machine import machine_with

import libsvmx
from libsvmx._core import memory
from libsvmx._solvers.auto import Auto, ChoicePolicy
from libsvmx._solvers.decomposition import block_pivoting
from libsvmx.enums import SolveStatus
from libsvmx.exceptions import ConvergenceWarning, Stopped, TooLittleMemory

# SMO has a step for each row, and then few free variables are too many for irwls.
SOON = ChoicePolicy(
    first_check=(0.25, np.inf), checks=(), late_checks=(), min_variables=0, max_steps_per_variable=1.0,
    smo_alone=0.0, max_free=1, min_free_for_pivoting=1, least_pivot=0.0,
)  # fmt: skip


def by_pivoting(**changes):
    fields = {name: getattr(SOON, name) for name in ChoicePolicy.__annotations__}
    return Auto(ChoicePolicy(**{**fields, **changes}))


def noisy(n, twice=0):
    """Labels of a smooth function, a tenth of them wrong; the first ``twice`` rows occur once more, with other
    labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return np.vstack([X, X[:twice]]), np.append(y, -y[:twice])


def gap(model, X, linear, lower, upper, gamma):
    """In double, by the judge."""
    beta = np.zeros(len(X))
    beta[np.asarray(model.row_numbers) - 1] = np.asarray(model.sv_coef)[0]
    judge = Judge(np.exp(-gamma * cdist(X, X, "sqeuclidean")), linear, lower, upper)
    judge.check_feasible(beta, 0 * beta)
    return judge.gap(beta)


@pytest.mark.parametrize(("C", "twice"), [(10.0, 0), (1e3, 0), (1e6, 0), (1e3, 30), (1e6, 30)])
def test_the_optimum_at_any_cost(C, twice):
    X, y = noisy(400, twice)
    model = libsvmx.train(X, y, solver=by_pivoting(), C=C, gamma=0.2)
    sign = np.where(y == model.labels[0], 1.0, -1.0)
    assert model.reports[0].chosen == "smo, pivoting"
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert gap(model, X, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), 0.2) <= 1e-3


def test_threads_change_no_bit():
    X, y = noisy(300)
    one, three = (libsvmx.train(X, y, solver=by_pivoting(), C=1e4, gamma=0.2, threads=n) for n in (1, 3))
    assert one.reports[0].chosen == "smo, pivoting"
    np.testing.assert_array_equal(one.sv_coef, three.sv_coef)


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"max_free_for_pivoting": 40}, {}),
        ({"min_free_for_pivoting": 201}, {}),
        ({"least_pivot": 1.0}, {}),
        ({}, {"max_iter": 10**7}),  # of steps
        ({}, {"svm_type": "nu_svc", "nu": 0.3}),
        ({}, {"svm_type": "epsilon_svr"}),
    ],
)
def test_another_solver_elsewhere(changes, options):
    X, y = noisy(200)
    model = libsvmx.train(X, y, solver=by_pivoting(**changes), C=1e3, gamma=0.2, **options)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert "pivoting" not in model.reports[0].chosen
    assert model.reports[0].chosen.startswith(("smo, irwls", "smo, chunked"))


@pytest.mark.parametrize(("features", "names"), [(5, "smo, pivoting"), (1, "smo, chunked")])
def test_only_with_a_kernel_matrix_far_from_singular(features, names):
    X, y = noisy(400)
    policy = by_pivoting(least_pivot=ChoicePolicy().least_pivot)
    model = libsvmx.train(X[:, :features], y, solver=policy, C=1e3, gamma=1.0)
    assert model.reports[0].chosen.startswith(names)


def test_a_warm_start_pivots_too():
    X, y = noisy(200)
    first = libsvmx.train(X, y, solver=by_pivoting(), C=1e2, gamma=0.2)
    model = libsvmx.train(X, y, solver=by_pivoting(), C=1e3, gamma=0.2, start=first)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert model.reports[0].chosen == "smo, pivoting"
    sign = np.where(y == model.labels[0], 1.0, -1.0)
    assert gap(model, X, sign, np.where(sign > 0, 0.0, -1e3), np.where(sign > 0, 1e3, 0.0), 0.2) <= 1e-3


@pytest.mark.parametrize(
    ("C", "changes", "names", "steps"),
    [
        (10.0, {}, "smo, pivoting", (400, 600)),  # less work than SMO's rest
        (10.0, {"pivoting_work": 1.0}, "smo", (1000, 3000)),  # more work
        (30.0, {}, "smo, pivoting", (2000, 2200)),  # once the gap falls
        (1e6, {}, "smo, pivoting", (2000, 2600)),  # at the last check: it has not fallen
        (1e6, {"pivoting_work": 1.0}, "smo, pivoting", (4000, 20_000)),  # from a small C, with SMO's steps there
    ],
)
def test_smo_is_left_where_pivoting_is_less_work(C, changes, names, steps):
    X, y = noisy(400)
    checks = {"max_steps_per_variable": 20.0, "ratio_many_free": np.inf, "pivoting_checks": (1, 5)}
    model = libsvmx.train(X, y, solver=by_pivoting(**checks, **changes), C=C, gamma=0.2)
    sign = np.where(y == model.labels[0], 1.0, -1.0)
    assert model.reports[0].chosen == names
    assert steps[0] <= model.reports[0].iterations <= steps[1]
    assert gap(model, X, sign, np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0), 0.2) <= 1e-3


def test_free_memory_changes_nothing():
    X, y = noisy(200)
    options = {"solver": by_pivoting(), "C": 1e3, "gamma": 0.2}
    with machine_with(free_bytes=lambda: 100_000):
        model = libsvmx.train(X, y, **options)
    assert model.reports[0].chosen == "smo, pivoting"
    np.testing.assert_array_equal(model.sv_coef, libsvmx.train(X, y, **options).sv_coef)


@pytest.mark.parametrize(
    ("module", "name", "error", "names"),
    [
        (memory, "load_blas", TooLittleMemory("loading"), "smo, chunked"),
        (block_pivoting, "typical_pivot", MemoryError(), "smo, chunked"),
        (block_pivoting, "solve", MemoryError(), "smo, pivoting, chunked"),
    ],
)
def test_another_solver_where_memory_ends(module, name, error, names, monkeypatch):
    def fails(*arguments, **named):
        raise error

    monkeypatch.setattr(module, name, fails)
    X, y = noisy(200)
    model = libsvmx.train(X, y, solver=by_pivoting(), C=1e3, gamma=0.2)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert model.reports[0].chosen == names


def test_the_kernel_is_looked_at_once(monkeypatch):
    """However often SMO is checked, and again where it ends."""
    asked, typical_pivot = [], block_pivoting.typical_pivot
    monkeypatch.setattr(block_pivoting, "typical_pivot", lambda *of: asked.append(of) or typical_pivot(*of))
    X, y = noisy(400)
    checks = {"late_checks": (0.25, 0.5), "pivoting_checks": (0.5, 5.0), "min_free_for_pivoting": 1}
    model = libsvmx.train(X, y, solver=by_pivoting(max_free=10**6, **checks), C=1e3, gamma=0.2)
    assert model.reports[0].chosen == "smo, pivoting"
    assert len(asked) == 1


@pytest.mark.parametrize("limit", [{}, {"MOST_ROUNDS": 1}])
def test_another_solver_where_sets_cycle_or_rounds_are_over(limit, monkeypatch):
    """Few features, so that K over the free variables is singular."""
    for name, value in limit.items():
        monkeypatch.setattr(block_pivoting, name, value)
    X, y = noisy(300)
    few = X if limit else X[:, :1]
    model = libsvmx.train(few, y, solver=by_pivoting(), C=1e4, gamma=0.2 if limit else 0.01)
    assert model.statuses == (SolveStatus.CONVERGED,)
    assert model.reports[0].chosen.startswith("smo, pivoting, chunked")


class Inside(libsvmx.Observer):
    """``act`` is called at the first check for a stop within block pivoting."""

    def __init__(self, monkeypatch, act):
        self.act, self.inside = act, False
        solve = block_pivoting.solve

        def watched(*arguments):
            self.inside = True
            try:
                return solve(*arguments)
            finally:
                self.inside = False

        monkeypatch.setattr(block_pivoting, "solve", watched)

    def should_stop(self):
        return self.act() if self.inside else False


def test_a_stop_keeps_what_smo_has_found(monkeypatch):
    X, y = noisy(1000)
    observer = Inside(monkeypatch, lambda: True)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = libsvmx.train(X, y, solver=by_pivoting(), C=1e4, gamma=0.2, threads=1, observer=observer)
    assert model.statuses == (SolveStatus.INTERRUPTED,)
    assert model.reports[0].chosen == "smo, pivoting"
    assert model.reports[0].iterations == 1000
    assert np.isfinite(libsvmx.decision_values(model, X)).all()


def test_a_time_limit(monkeypatch):
    X, y = noisy(1000)
    inside = Inside(monkeypatch, lambda: False)
    jumps = machine_with(monotonic=lambda: 1e3 if inside.inside else 0.0)
    with jumps, pytest.warns(ConvergenceWarning, match="time limit"):
        model = libsvmx.train(X, y, solver=by_pivoting(), C=1e4, gamma=0.2, threads=1, time_limit=10.0)
    assert model.statuses == (SolveStatus.TIME_LIMIT,)
    assert model.reports[0].chosen == "smo, pivoting"


def test_control_c(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    X, y = noisy(1000)
    with pytest.raises(KeyboardInterrupt):
        libsvmx.train(X, y, solver=by_pivoting(), C=1e4, gamma=0.2, threads=1, observer=Inside(monkeypatch, interrupt))


def test_all_work_is_counted_in_small_amounts():
    """Of a factor, and of a step that exchanges columns of it; each check can end it."""
    n = 900
    X, _ = noisy(n)
    K = np.exp(-2.0 * cdist(X, X, "sqeuclidean"))

    class Known:
        def block(self, members, sources, out, lower=False):
            out[:] = K[np.ix_(members, sources)]
            return out

    asked = Asked()
    free = block_pivoting.Free(Known(), asked)
    rng = np.random.default_rng(0)
    for F in (np.arange(700), np.arange(60, 780)):
        V = rng.normal(size=len(F))
        way, level = free.step(F, V, 0.5)
        assert free.S[-1] == 699
        np.testing.assert_allclose(K[np.ix_(F, F)] @ way + level, V, atol=1e-6)
        assert way.sum() == pytest.approx(0.5, abs=1e-6)
    asked.check(700**3 / 3 + 140 * 700**2)
    for end in range(1, len(asked.told)):
        stopping = Asked(end)
        free = block_pivoting.Free(Known(), stopping)
        with pytest.raises(Stopped):
            for F in (np.arange(700), np.arange(60, 780)):
                free.step(F, np.ones(len(F)), 0.5)
        assert not stopping.after
