"""Limits of every function: iterations, a stopping observer, no time. The result so far is feasible, or none."""

import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import optima

import libsvmx
from libsvmx import ConvergenceWarning, Observer, StoppedEarly, SvmType

from .table import TASKS, Case, chosen, each, refusal
from .test_grid_search import axes_of

N = 30


class Questions(Observer):
    """Asks to stop from the k-th check on; counts checks, solves and progress reports."""

    def __init__(self, k=10**9):
        self.k, self.asked, self.counts, self.solves = k, 0, [], 0

    def should_stop(self):
        self.asked += 1
        return self.asked >= self.k

    def counted(self, what, done, total):
        self.counts.append((what, done, total))

    def solved(self, report):
        self.solves += 1


def moments(total, most=6):
    """Some of the checks 1, 2, …, ``total``."""
    return sorted(set(np.linspace(1, total, min(most, total)).astype(int).tolist()))


def cut(solver, task, kernel, **options):
    case = Case(solver, task, kernel, **options)
    case.rows = case.rows[:N]
    return case


@pytest.fixture(autouse=True)
def quiet():
    """Early ends warn; tests of the warning use pytest.warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# Every function with a time limit and an observer; the unit it counts, or None.
CALLS = {
    "train": lambda case, **more: case.train(**more),
    "probability": lambda case, **more: case.train(probability=True, **more),
    "calibrated": lambda case, **more: case.train(probability="cv", **more),
    "state": lambda case, **more: case.state(**more),
    "cross_validate": lambda case, **more: libsvmx.cross_validate(case.X(), case.y(), 3, **{**case.options, **more}),
    "leave_one_out": lambda case, **more: libsvmx.leave_one_out(case.X(), case.y(), **{**case.options, **more}),
    "grid_search": lambda case, **more: libsvmx.grid_search(
        case.X(), case.y(), n_folds=3, **{**axes_of(case), **case.options, **more}
    ),
    "fit_many": lambda case, **more: libsvmx.fit_many(
        case.X(), np.stack([case.y(), case.y()[::-1]], axis=1), **{**case.options, **more}
    ),
    "permutation_test": lambda case, **more: libsvmx.permutation_test(
        case.X(), case.y(), 3, 3, **{**case.options, **more}
    ),
    "c_path": lambda case, **more: libsvmx.c_path(
        case.X(), case.y(), 0.1, 10.0, 3, **{name: v for name, v in {**case.options, **more}.items() if name != "C"}
    ),
    "cv_plus": lambda case, **more: libsvmx.cv_plus(case.X(), case.y(), case.tests(), 3, **{**case.options, **more}),
}
# The time limit of these is that of the state.
OF_STATES = {
    "influence": lambda state, case, **more: libsvmx.influence(state, case.tests(), case.y(case.new), **more),
    "jackknife_plus": lambda state, case, **more: libsvmx.jackknife_plus(state, case.tests(), **more),
    "full_conformal": lambda state, case, **more: libsvmx.full_conformal(state, case.tests(), **more),
    "conformal_p_values": lambda state, case, **more: libsvmx.conformal_p_values(
        state, case.tests(), case.y(case.new), **more
    ),
}
COUNTS = {
    "cross_validate": ("fold", 3),
    "leave_one_out": ("row", N),
    "permutation_test": ("permutation", 3),
    "fit_many": ("training", 2),
    "cv_plus": ("fold", 3),
    "c_path": ("fold", 3),
}


def finished(call):
    """The result of a call, or the partial result in StoppedEarly, and the error."""
    try:
        return call(), None
    except StoppedEarly as error:
        return error.partial, error


def check_model(case, model):
    """Feasible, however the solve ended."""
    if case.is_low_rank or case.task.svm_type == SvmType.NU_SVC:  # coefficients of nu-SVC are divided by r
        return
    for one, status in zip(optima.judged(model, case.K(), case.y()), model.statuses, strict=True):
        one.check_in_box()
        if status == "converged":
            one.check_sums()


# ---- iterations ----------------------------------------------------------------------------------------


@each("train", limit=[1, 3])
def test_an_iteration_limit_is_respected_and_reported(solver, task, kernel, limit, mechanism):
    case = Case(solver, task, kernel, eps=1e-9, max_iter=limit, **mechanism)
    with pytest.warns(ConvergenceWarning, match="iteration limit.*What helps: scale the data") as caught:
        model = case.train()
    assert len(caught) == 1
    assert "iteration limit" in model.statuses
    assert all(report.iterations <= limit for report in model.reports)
    # nu-SVC's coefficients are divided by r, and both variables of a row may be above 0 in nu-SVR
    if not case.is_low_rank and not task.startswith("nu-"):
        for one in optima.judged(model, case.K(), case.y()):
            one.check_in_box()
            one.check_sums()


@pytest.mark.parametrize("name", [name for name in CALLS if name not in ("state", "c_path", "cv_plus")])
@pytest.mark.parametrize("task", ["two classes", "three classes"])
def test_every_function_warns_once_of_an_iteration_limit(name, task):
    case = cut("smo", task, "rbf", max_iter=2)
    more = {"seeder": None} if name == "grid_search" else {}
    with pytest.warns(ConvergenceWarning, match="iteration limit") as caught:
        CALLS[name](case, **more)
    assert len(caught) == 1
    assert Path(caught[0].filename).parent == Path(__file__).parent  # the line of the caller, not one inside libsvmx


# ---- an observer, and time -----------------------------------------------------------------------------


def check_whole(name, observer):
    """The observer's records of a complete call."""
    if name in COUNTS:
        what, total = COUNTS[name]
        begin = 0 if name == "permutation_test" else 1
        told = [one for one in observer.counts if one[0] == what]
        assert told == [(what, done, total) for done in range(begin, total + 1)]


def check_partial(name, case, found, error, whole):
    """The partial result of a call that was stopped."""
    if name in ("train", "probability", "calibrated"):
        assert error is None
        check_model(case, found)
        return
    if error is None:
        return  # it was complete
    assert error.status in ("interrupted", "time limit")
    assert str(error).startswith(f"{error.status}: ")
    if found is None:
        return
    if name in ("cross_validate", "leave_one_out"):
        assert np.isnan([found.accuracy, found.mean_squared_error]).all()
        done = ~np.isnan(found.predictions)
        assert not done.all()
        assert np.array_equal(found.predictions[done], whole.predictions[done])
        np.testing.assert_array_equal(found.decision_values[done], whole.decision_values[done])
        assert np.isnan(found.decision_values[~done]).all()
    elif name == "grid_search":
        assert len(found.rate) < len(whole.rate)
        of = {(C, g): rate for C, g, rate in zip(whole.C, whole.gamma, whole.rate, strict=True)}
        assert all(of[C, g] == rate for C, g, rate in zip(found.C, found.gamma, found.rate, strict=True))
    elif name == "fit_many":
        assert len(found) < len(whole)
        for one, other in zip(found, whole, strict=False):
            # crsvm ends at its own tolerance, but counts as finished once it has reached eps
            assert one.reports[0].objective == pytest.approx(other.reports[0].objective, rel=1e-6)
            assert np.array_equal(one.sv_coef, other.sv_coef) or case.names[0] == "crsvm"
    elif name == "permutation_test":
        assert len(found.scores) < len(whole.scores)
        assert np.array_equal(found.scores, whole.scores[: len(found.scores)])
    else:
        raise AssertionError(f"{name} has no result in part")


def calls(**ways):
    """Parameters ``name`` of CALLS, ``solver``, ``task`` and ``mechanism``, and a suitable kernel."""
    found = [
        (name, solver, task, kernel, way)
        for name, solver, task, way in product(CALLS, ["smo", "irwls", "crsvm"], TASKS, ways["mechanism"])
        for kernel in ["linear" if solver == "crsvm" else "rbf"]
        if not refusal("train" if name == "probability" else name, solver, task, kernel)
    ]
    names = ["name", "solver", "task", "kernel", "mechanism"]
    return pytest.mark.parametrize(names, chosen(found), indirect=["mechanism"])


@calls(mechanism=["usual", "in turn", "rows shared", "by threads"])
def test_an_observer_ends_every_function(name, solver, task, kernel, mechanism):
    """At some of its checks: the result is the finished part, equal to that of an unstopped call, or nothing."""
    case = cut(solver, task, kernel, C=20.0, **mechanism)
    more = {"seeder": None} if name == "grid_search" else {}
    counting = Questions()
    whole = CALLS[name](case, observer=counting, **more)
    check_whole(name, counting)
    for k in moments(counting.asked):
        observer = Questions(k)
        found, error = finished(lambda observer=observer: CALLS[name](case, observer=observer, **more))
        assert observer.asked == k  # no more checks after the stop
        assert observer.counts == counting.counts[: len(observer.counts)]
        check_partial(name, case, found, error, whole)


@pytest.mark.parametrize("function", [libsvmx.cross_validate, libsvmx.leave_one_out])
@pytest.mark.parametrize("task", ["two classes", "three classes", "epsilon-SVR"])
@pytest.mark.parametrize("seeder", ["auto", "path", *libsvmx.SEEDERS])
def test_an_observer_ends_seeded_folds(function, task, seeder):
    case = cut("smo", task, "rbf", C=20.0)
    fixed = {**case.options, "seeder": seeder}
    given = (case.X(), case.y(), 4) if function is libsvmx.cross_validate else (case.X(), case.y())
    counting = Questions()
    whole = function(*given, observer=counting, **fixed)
    for k in moments(counting.asked, 4):
        observer = Questions(k)
        found, error = finished(lambda observer=observer: function(*given, observer=observer, **fixed))
        assert observer.asked == k
        assert observer.counts == counting.counts[: len(observer.counts)]
        check_partial(function.__name__, case, found, error, whole)


@each("train", strength=1, solver=["crsvm"])
def test_what_crsvm_calls_converged_is_an_optimum_wherever_it_was_stopped(solver, task, kernel, mechanism):
    """The last step may lead from a stopped point to the optimum: then the result counts as converged."""
    case = Case(solver, task, kernel, **mechanism)
    counting = Questions()
    whole, early = case.train(observer=counting), 0
    for k in range(1, counting.asked + 1):
        observer = Questions(k)
        model = case.train(observer=observer)
        if set(model.statuses) == {"converged"}:
            early += k < counting.asked
            assert max(report.gap for report in model.reports) <= model.param.eps
            np.testing.assert_allclose(
                [report.objective for report in model.reports],
                [report.objective for report in whole.reports],
                rtol=1e-6,
            )
            if not case.is_low_rank:
                for one in optima.judged(model, case.K(), case.y()):
                    one.check_to(model.param.eps)
    assert early


@calls(mechanism=["usual", "by threads"])
def test_no_time_at_all(name, solver, task, kernel, mechanism):
    case = cut(solver, task, kernel, C=20.0, **mechanism)
    found, error = finished(lambda: CALLS[name](case, time_limit=1e-9))
    if name in ("train", "probability", "calibrated"):
        assert "time limit" in found.statuses and not found.has_probability
        check_model(case, found)
    else:
        assert error.status == "time limit"


@pytest.mark.parametrize("name", OF_STATES)
@pytest.mark.parametrize("task", ["two classes", "three classes", "epsilon-SVR"])
@pytest.mark.parametrize("threads", [1, 2])
def test_functions_of_states_are_ended_too(name, task, threads):
    case = cut("smo", task, "rbf")
    state, heard = case.state(), Questions()
    OF_STATES[name](state, case, observer=heard, threads=threads)
    what, _, total = heard.counts[0]
    assert heard.counts == [("row", done, total) for done in range(1, total + 1)] and what == "row"
    for k in (1, heard.asked // 2):
        with pytest.raises(StoppedEarly, match=r"interrupted: .*has no result"):
            OF_STATES[name](state, case, observer=Questions(k), threads=threads)
    late = libsvmx.train(case.X(), case.y(), keep_state=True, time_limit=60.0, **case.options)
    assert late.param.time_limit == 60.0
    OF_STATES[name](late, case)
