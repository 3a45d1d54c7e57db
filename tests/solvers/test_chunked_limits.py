"""Stops of the chunked solver, their reports, and that its bits depend only on problem and settings."""

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from support.posed import ENGINES, classes, posed

from libsvmx._core.stopping import MARKS, Control
from libsvmx.enums import KernelType, SvmType

FORMULATIONS = [SvmType.C_SVC, SvmType.NU_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR, SvmType.NU_SVR]


def hard(C=1e4):
    """Takes seconds."""
    X, y = classes(12, 300)
    return posed(SvmType.C_SVC, X, y, C=C, kernel_type=KernelType.LINEAR)


def bits(solution):
    return bytes(solution.beta), bytes(solution.scores), solution.iterations, solution.subproblems, solution.rho


@contextmanager
def alarm(seconds):
    """Ctrl-C after that time, raised as by a signal handler."""
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_a_limit_above_the_iterations_has_no_effect():
    X, y = classes(12, 200)
    case = posed(SvmType.C_SVC, X, y)
    needed = case.solve(working_set=20).iterations
    assert case.solve(control=Control(1e-3, max_iter=needed + 1), working_set=20).status == "converged"


@pytest.mark.parametrize("shrinking", [False, True])
def test_time_limit(shrinking):
    case, asked = hard(), []
    control = Control(1e-3, shrinking, time_limit=0.1, should_stop=lambda: asked.append(time.monotonic()))
    deadline = time.monotonic() + 0.1
    solution = case.solve(control=control, working_set=20)
    assert solution.status == "time limit"
    # it ends at its first check past the limit; one may come between that check and the test's own reading
    assert sum(at > deadline for at in asked) <= 1
    case.check_feasible(case.alpha(solution))


def test_time_limit_within_a_chunk():
    """One working set would take all the steps."""
    solution = hard(C=1e6).solve(control=Control(1e-3, max_iter=100_000_000, time_limit=0.02), working_set=0)
    assert solution.status == "time limit"
    assert solution.iterations < 100_000_000


def test_should_stop():
    asked = []

    def stop():
        asked.append(None)
        return len(asked) > 3

    case = hard()
    solution = case.solve(control=Control(1e-3, should_stop=stop), working_set=20)
    assert solution.status == "interrupted"
    assert len(asked) == 4
    alpha = case.alpha(solution)
    case.check_feasible(alpha)
    assert np.abs(np.asarray(solution.scores) - case.scores(alpha, case.K_float)).max() <= 1e-9 * (1 + alpha.sum())


def test_should_stop_before_anything():
    case = hard()
    solution = case.solve(control=Control(1e-3, should_stop=lambda: True))
    assert (solution.status, solution.iterations) == ("interrupted", 0)


def test_keyboard_interrupt():
    case = hard()
    with alarm(0.1), pytest.raises(KeyboardInterrupt):
        case.solve(working_set=20)


def test_keyboard_interrupt_within_a_chunk():
    case = hard(C=1e6)
    with alarm(0.05), pytest.raises(KeyboardInterrupt):
        case.solve(control=Control(1e-3, max_iter=100_000_000), working_set=0)


@pytest.mark.parametrize("where", ["on_progress", "should_stop"])
def test_exceptions_of_callbacks_get_through(where):
    def fail(*_):
        raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        hard().solve(control=Control(1e-3, **{where: fail}), working_set=20)


@pytest.mark.parametrize("engine", ENGINES)
def test_progress(engine):
    """A dot for each round, a star when shrunk scores are brought back."""
    X, y = classes(13, 300)
    case = posed(SvmType.C_SVC, X, y, C=10.0)
    for shrinking in (False, True):
        marks = []
        control = Control(1e-4, shrinking, on_progress=marks.append)
        assert case.solve(control=control, working_set=30, engine=engine).status == "converged"
        assert set(marks) <= set(MARKS)
        assert marks.count(".") > 3
        assert ("*" in marks) == shrinking


# ---- the same bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", FORMULATIONS)
def test_settings_decide_the_bits(kind, engine):
    """The same in every run; another seed leads to the same optimum another way."""
    X, y = classes(14, 200)
    case = posed(kind, X, y, C=5.0)
    options = {"working_set_rule": "random", "working_set": 20, "engine": engine}
    first, again, other = (case.solve(1e-4, random_state=seed, **options) for seed in (1, 1, 2))
    assert bits(first) == bits(again)
    assert bits(first) != bits(other)
    case.check_near(first, other, 1e-4)
    case.check_near(other, first, 1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_seeds_mean_nothing_to_the_largest(engine):
    X, y = classes(14, 200)
    case = posed(SvmType.C_SVC, X, y, C=5.0)
    a, b = (case.solve(working_set_rule="largest", working_set=20, random_state=seed, engine=engine) for seed in (1, 2))
    assert bits(a) == bits(b)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", ["numbers", "bits"])
@pytest.mark.parametrize("working_set", [0, 300])
def test_threads_change_nothing(working_set, source, engine):
    """More rows than the minimum for helper threads."""
    X, y = classes(15, 2300, d=4)
    X = (X > 0.5) if source == "bits" else X
    case = posed(SvmType.C_SVC, X, y, C=1.0)
    a, b = (case.solve(threads=n, working_set=working_set, engine=engine) for n in (1, 2))
    assert a.status == b.status == "converged"
    assert bits(a) == bits(b)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_budget(engine):
    """1 MB, or next to nothing."""
    X, y = classes(16, 1500, d=4)
    case = posed(SvmType.C_SVC, X, y, C=5.0)
    for budget in (1.0, 1e6):
        case.check(case.solve(budget=budget, engine=engine), 1e-3)


def test_the_budget_changes_nothing_where_the_working_set_is_given():
    X, y = classes(14, 200)
    case = posed(SvmType.C_SVC, X, y, C=5.0)
    a, b = (case.solve(working_set=20, budget=budget) for budget in (1.0, 1e9))
    assert bits(a) == bits(b)


# ---- settings ---------------------------------------------------------------------------------


def test_the_largest_seed():
    X, y = classes(14, 60)
    case = posed(SvmType.C_SVC, X, y)
    case.check(case.solve(random_state=2**63 - 1, working_set_rule="random", working_set=4), 1e-3)
