"""One time limit, and one answer of the observer, for a whole call, whatever it is doing at its end."""

import numpy as np
import pytest
from support import data
from support.machine import Clock, machine_with

import libsvmx
from libsvmx._core.stopping import Stopped
from libsvmx._train.limits import ask, control_of, limited, look
from libsvmx._train.observer import Forwarding
from libsvmx.enums import SolveStatus, SvmType

pytestmark = pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")


class Questions(libsvmx.Observer):
    """Says stop at the n-th check, and at no other; records the reports."""

    def __init__(self, n=0):
        self.n, self.asked, self.counts, self.solves, self.after = n, 0, [], 0, 0

    def should_stop(self):
        self.asked += 1
        return self.asked == self.n

    def solved(self, report):
        self.solves += 1

    def counted(self, what, done, total):
        self.counts.append((what, done, total))


@pytest.fixture
def clock():
    """A clock that advances by a second at each reading."""
    clock = Clock(now=100.0)
    with machine_with(monotonic=clock):
        yield clock


def moments(total, most=12):
    """Some of the checks 1, 2, ... ``total``, including the first and the last."""
    return sorted({1, 2, total, *np.linspace(1, total, most).astype(int).tolist()} & set(range(1, total + 1)))


def heart(**options):
    matrix, y = data.load("heart_scale")
    return matrix, np.asarray(y), {"C": 10.0, "gamma": 0.3, **options}


# ---- one limit for a call ----------------------------------------------------------------------


def test_a_yes_holds_for_the_rest_of_the_call():
    observer = Questions(2)
    call = limited(observer, 0.0)
    assert (look(call), look(call), look(call)) == (None, SolveStatus.INTERRUPTED, SolveStatus.INTERRUPTED)
    assert observer.asked == 2
    assert control_of(libsvmx.Parameter(), call).look() == SolveStatus.INTERRUPTED
    with pytest.raises(Stopped, match="interrupted"):
        ask(call)


def test_a_call_within_a_call_has_the_same_limits(clock):
    outer = limited(libsvmx.Observer(), 5.0)
    inner = limited(Forwarding(outer), 1000.0)
    assert inner.limits is outer.limits
    asked = control_of(libsvmx.Parameter(time_limit=1000.0), inner)
    clock.now += 10.0
    assert asked.look() == look(inner) == look(outer) == SolveStatus.TIME_LIMIT
    assert look(limited(libsvmx.Observer(), 5.0)) is None


def test_the_time_of_all_solves_is_one(clock):
    """Ten pairs of classes: as much time as for one."""
    matrix, y = data.load("glass.scale")
    questions = Questions()
    libsvmx.train(matrix, y, C=1000.0, time_limit=1e6, observer=questions)
    assert questions.solves == 15
    for seconds in (1.0, 8.0, questions.asked / 2):
        begun = clock.now
        model = libsvmx.train(matrix, y, C=1000.0, time_limit=seconds)
        # a check in each solve, and one before it, even if nothing is left to do
        assert clock.now - begun < seconds + 2 * questions.solves + 2
        assert SolveStatus.TIME_LIMIT in model.statuses


# ---- trainings ---------------------------------------------------------------------------------


def test_pairs_that_were_not_begun_are_reported(capsys):
    class Remarks(Questions):
        remarks = ()

        def remark(self, kind, detail=""):
            self.remarks = (*self.remarks, (str(kind), detail))

    matrix, y = data.load("glass.scale")
    observer = Remarks(1)
    model = libsvmx.train(matrix, y, observer=observer)
    assert observer.asked == 1
    assert model.n_sv == 0
    assert ("pairs not begun", "15 of 15") in observer.remarks
    assert set(model.statuses) == {SolveStatus.INTERRUPTED}


@pytest.mark.parametrize("svm_type", [SvmType.C_SVC, SvmType.ONE_CLASS, SvmType.EPSILON_SVR])
@pytest.mark.parametrize("weights", [None, np.arange(270.0) % 3], ids=["all-alike", "weights"])
def test_no_probability_estimates_of_half_the_folds(svm_type, weights):
    matrix, y, options = heart(svm_type=svm_type, probability=True, sample_weight=weights)
    counting = Questions()
    whole = libsvmx.train(matrix, y, observer=counting, **options)
    assert whole.has_probability
    for n in moments(counting.asked):
        observer = Questions(n)
        model = libsvmx.train(matrix, y, observer=observer, **options)
        assert observer.asked == n
        if model.has_probability:  # all but the last solve were done
            assert bytes(model.sigmoid_a or model.marks) == bytes(whole.sigmoid_a or whole.marks)
        else:
            assert not model.param.probability
        libsvmx.predict(model, matrix)


# ---- the first gradient ------------------------------------------------------------------------

# Formulations that start from nonzero coefficients: a kernel row for each before the first step.
STARTING = {
    "one-class": {"svm_type": 2, "nu": 0.6},
    "nu-SVC": {"svm_type": 1, "nu": 0.6},
    "nu-SVR": {"svm_type": 4, "nu": 0.6},
}


def many_rows(n=3000):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("solver", ["smo", "chunked", "irwls", "auto"])
@pytest.mark.parametrize("kind", STARTING)
def test_each_question_of_the_first_gradient_is_heard(kind, solver):
    """There is a model in any case, with feasible coefficients, and its gap is reported as unknown."""
    X, y = many_rows()
    options = {**STARTING[kind], "gamma": 0.5, "solver": solver, "threads": 1}
    whole = libsvmx.train(X, y, max_iter=1, observer=(told := Questions()), **options)
    computed = []
    for n in range(1, min(told.asked, 12) + 1):
        observer = Questions(n)
        model = libsvmx.train(X, y, observer=observer, **options)
        (report,) = model.reports
        if report.iterations:
            break
        computed.append(report.values_computed)
        assert (model.statuses, observer.asked) == ((SolveStatus.INTERRUPTED,), n)
        assert (report.gap, report.rho, report.objective) == (np.inf, 0.0, 0.0)
        sums = {"one-class": 0.6 * len(y), "nu-SVC": 0.0, "nu-SVR": 0.0}
        assert np.isclose(model.sv_coef.sum(), sums[kind], atol=1e-9)
        assert np.isfinite(libsvmx.decision_values(model, X[:3])).all()
    assert len(computed) >= 3 and computed == sorted(computed)
    assert computed[0] < 0.1 * whole.reports[0].values_computed
    assert max(np.diff(computed)) < 0.5 * whole.reports[0].values_computed


@pytest.mark.parametrize("kind", STARTING)
def test_a_time_limit_ends_the_first_gradient(kind, clock):
    X, y = many_rows()
    model = libsvmx.train(X, y, time_limit=2, threads=1, **STARTING[kind])
    assert model.statuses == (SolveStatus.TIME_LIMIT,)
    assert model.reports[0].iterations == 0 and model.reports[0].gap == np.inf


def test_unfinished_scores_are_no_start_of_the_next_fit():
    sklearn = pytest.importorskip("sklearn.exceptions")
    X, y = many_rows()
    expected = libsvmx.NuSVR(nu=0.3, tol=1e-4).fit(X[:500], y[:500]).predict(X[:9])
    found = libsvmx.NuSVR(nu=0.3, tol=1e-4, warm_start=True, callback=lambda progress: True)
    with pytest.warns(sklearn.ConvergenceWarning, match="interrupted"):
        found.fit(X[:500], y[:500])
    assert found.fit_status_ == 1 and found.optimality_ == np.inf
    found.set_params(callback=None).fit(X[:500], y[:500])
    np.testing.assert_allclose(found.predict(X[:9]), expected, atol=1e-3)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("solver", ["chunked", "irwls", "auto"])
def test_a_limit_of_0_allows_no_step_of_any_solver(name, solver):
    """max_iter=0: the start of smo, and its gap."""
    pytest.importorskip("sklearn")
    X, y = many_rows(200)
    y = y if name.endswith("SVR") else np.where(X[:, 0] > 1, 3, y)
    nu = {"nu": 0.1} if name == "NuSVC" else {}
    expected = getattr(libsvmx, name)(max_iter=0, **nu)
    found = getattr(libsvmx, name)(max_iter=0, solver=solver, **nu)
    for model in (expected, found):
        with pytest.warns(UserWarning, match="max_iter=0"):
            model.fit(X, y)
        assert np.sum(model.n_iter_) == 0
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-5)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, atol=1e-5)
    assert found.optimality_ == pytest.approx(expected.optimality_, abs=1e-4)
