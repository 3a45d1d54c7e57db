"""State: after every change the optimum of the present rows, checked by NumPy, whatever happened before."""

import copy
import hashlib
import pickle

import numpy as np
import pytest
from support import optima
from support.oracle import Oracle

import libsvmx
from libsvmx import DataError, ParameterError, State, StoppedEarly

from .table import IN_LIBSVM, WEIGHTS_OF_CLASSES_GONE, Case, each
from .test_cross_validation import LONELY

CHANGED_COSTS = (0.3, 4.0, 0.9)  # factors of C
CHANGED_NUS = (0.6, 1.3, 0.9)


class Followed:
    """A state beside the numbers of the rows that it should have; ``ever``: the row of each id ever given."""

    def __init__(self, case, rows=None, weight=None, **options):
        self.case, self.options = case, {**case.options, **options}
        rows = case.rows if rows is None else rows
        self.ever = np.asarray(rows)
        self.ids = np.arange(len(self.ever))
        self.weight = np.ones(len(case.targets)) if weight is None else np.asarray(weight, dtype=float)
        self.state = libsvmx.train(
            case.X(rows), case.y(rows), keep_state=True, sample_weight=self.weight_of(rows), **self.options
        )

    def weight_of(self, rows):
        return None if (self.weight == 1).all() else self.weight[rows]

    @property
    def rows(self):
        """Numbers of the present rows."""
        return self.ever[self.ids]

    def joining(self, rows):
        """Arguments of ``add``; for a precomputed kernel, values with all rows ever added, too."""
        return self.case.X(rows, np.concatenate([self.ever, rows])), self.case.y(rows)

    def update(self, add=(), remove=(), observer=None):
        add = np.asarray(add, dtype=int)
        more = {"sample_weight": self.weight_of(add)} if len(add) else {}
        given = self.joining(add) if len(add) else None
        ids = self.state.update(add=given, remove=remove, observer=observer, **more)
        assert ids.tolist() == list(range(len(self.ever), len(self.ever) + len(add)))
        self.ever = np.concatenate([self.ever, add])
        self.ids = np.concatenate([np.setdiff1d(self.ids, remove), ids])
        return ids

    def set(self, name, value):
        getattr(self.state, {"C": "set_cost", "nu": "set_nu"}[name])(value)
        self.options[name] = value
        assert getattr(self.state.param, name) == value

    def check(self):
        """The optimum of these rows: exact, or to eps if the kernel is not an inner product."""
        state, rows = self.state, self.rows
        assert state.ids.tolist() == self.ids.tolist()
        assert np.array_equal(state.targets, self.case.y(rows))
        assert np.array_equal(state.sample_weight, self.weight[rows])
        assert len(state) == len(rows)
        judged = optima.judged(state.model, self.case.K(rows), self.case.y(rows), self.weight[rows])
        for one in judged:
            if self.case.kernel == "sigmoid":
                one.check_to(self.case.options["eps"], ulp=optima.ULP)
            else:
                one.check()
        objective = sum(one.reached for one in judged)
        noise = sum(one.noise * np.abs(one.beta).sum() for one in judged)
        assert state.objective == pytest.approx(objective, rel=1e-9, abs=16 * noise + 1e-12)
        assert state.gap <= max((1e-9 * one.scale + 16 * one.noise for one in judged), default=0) + (
            self.case.options["eps"] if self.case.kernel == "sigmoid" else 0
        )
        assert np.array_equal(state.predict(self.tests()), libsvmx.predict(state.model, self.tests()))

    def tests(self):
        """New rows, in the form that the state predicts."""
        return self.case.tests(self.case.new, self.ever)

    def values(self):
        return self.state.decision_values(self.tests())

    def check_against_fresh(self):
        """Equal to a cold start on these rows: order of classes, objective, decision values."""
        fresh = Followed(self.case, self.rows, self.weight, **self.options)
        assert fresh.state.objective == pytest.approx(self.state.objective, rel=1e-7, abs=1e-9)
        labels = fresh.state.model.labels
        assert labels is None or np.array_equal(self.state.model.labels, labels)
        expected = fresh.values()
        size = max(1.0, np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(self.values(), expected, rtol=0, atol=1e-7 * size)


def posed(solver, task, kernel, **options):
    """A case; its sigmoid kernel, which may allow no path, is solved to a small eps."""
    return Case(solver, task, kernel, eps=1e-6 if kernel == "sigmoid" else 1e-3, **options)


def told(state):
    """All public properties of a state, which an error must leave unchanged."""
    model = state.model
    numbers = state.objective, state.gap, state.param, state.report, state.certificate()
    return model.sv_coef.tobytes(), model.rho.tobytes(), state.ids.tolist(), state.targets.tolist(), *numbers


# ---- changes -------------------------------------------------------------------------------------------


@each("state")
def test_rows_join_and_leave(solver, task, kernel, mechanism):
    case = posed(solver, task, kernel, **mechanism)
    drawn = np.random.default_rng(5)
    followed = Followed(case)
    followed.check()
    for n_joining, n_leaving in ((1, 0), (0, 1), (7, 3), (9, 12), (0, 20)):
        add = case.new[:n_joining] + drawn.integers(0, 8)
        followed.update(add, drawn.choice(followed.ids, n_leaving, replace=False))
        followed.check()
    if kernel != "sigmoid":
        followed.check_against_fresh()


@each("set_cost")
def test_another_cost_is_followed(solver, task, kernel, mechanism):
    case = posed(solver, task, kernel, **mechanism)
    followed = Followed(case)
    before, C = followed.state.objective, case.options["C"]
    for factor in CHANGED_COSTS:
        followed.set("C", factor * C)
        followed.check()
    followed.update(case.new[:6], followed.ids[:4])
    followed.check()
    if kernel != "sigmoid":
        followed.check_against_fresh()
        followed.update(case.rows[:4], followed.ids[-6:])
        followed.set("C", C)
        assert followed.state.objective == pytest.approx(before, rel=1e-7)


@each("set_nu")
def test_another_nu_is_followed(solver, task, kernel, mechanism):
    case = posed(solver, task, kernel, **mechanism)
    followed = Followed(case)
    for factor in CHANGED_NUS:
        followed.set("nu", factor * case.options["nu"])
        followed.check()
    followed.update(case.new[:6], followed.ids[:4])
    followed.check()
    if kernel != "sigmoid":
        followed.check_against_fresh()


@each("state", strength=1, kernel=["linear", "cubic", "rbf", "precomputed"])
def test_rows_that_join_and_leave_again_leave_no_trace(solver, task, kernel, mechanism):
    case = posed(solver, task, kernel, **mechanism)
    followed = Followed(case)
    before, objective = followed.values(), followed.state.objective
    ids = followed.update(case.new[:12])
    followed.update(remove=ids)
    assert followed.state.objective == pytest.approx(objective, rel=1e-9, abs=1e-12)
    after = followed.state.decision_values(followed.tests())
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-8 * max(1, np.abs(before).max()))


@each("state", strength=1, solver=["smo", "irwls"], kernel=["linear", "rbf", "precomputed"])
def test_neither_threads_nor_memory_change_the_optimum(solver, task, kernel):
    found = []
    for options in ({"threads": 1}, {"threads": 3}, {"cache_size": 0.001}):
        followed = Followed(posed(solver, task, kernel, **options))
        followed.update(followed.case.new[:8], followed.ids[::5])
        found.append(followed.values())
    assert np.array_equal(found[0], found[1])
    np.testing.assert_allclose(found[2], found[0], rtol=0, atol=1e-8 * max(1, np.abs(found[0]).max()))


def test_a_long_life_leaves_no_drift():
    case, drawn = posed("smo", "two classes", "rbf"), np.random.default_rng(1)
    followed = Followed(case)
    for _ in range(60):
        n_leaving = min(int(drawn.integers(0, 6)), len(followed.ids) - 10)
        followed.update(
            drawn.integers(0, 90, drawn.integers(0, 6)), drawn.choice(followed.ids, n_leaving, replace=False)
        )
    followed.check()
    assert followed.state.check() <= 1e-10
    followed.check()
    followed.check_against_fresh()


# ---- classes -------------------------------------------------------------------------------------------


@WEIGHTS_OF_CLASSES_GONE
@pytest.mark.parametrize("task", ["two classes", "three classes", "nu-SVC, three classes"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("solver", ["smo", "irwls"])
def test_a_class_goes_and_comes_back(solver, task, kernel):
    case = posed(solver, task, kernel)
    followed = Followed(case)
    own = case.rows[case.y() == case.y()[0]]
    if not task.startswith("nu"):  # nu does not allow one row
        followed.update(remove=own[:-1])
        followed.check()
    followed.update(remove=np.intersect1d(own, followed.ids))
    assert case.y()[0] not in followed.state.model.labels
    followed.check()
    followed.update(own)
    followed.check()
    followed.check_against_fresh()
    assert followed.state.report.retrained == case.task.n_classes - 1


@pytest.mark.parametrize("name", LONELY)
def test_rare_classes(name):
    case = posed("smo", "two classes", "rbf")
    case.targets = LONELY[name](case.targets)
    followed = Followed(case)
    followed.check()
    for gone in ([0], [7], [1, 2, 3]):
        followed.update(remove=gone)
        followed.check()
        followed.check_against_fresh()


# ---- copies, files, models -----------------------------------------------------------------------------


@each("state", strength=1, solver=["smo", "irwls"])
def test_copies_and_files_continue_like_the_state(solver, task, kernel, mechanism, tmp_path):
    followed = Followed(posed(solver, task, kernel, **mechanism))
    case = followed.case
    followed.update(case.new[:9], followed.ids[::6])
    followed.state.save(tmp_path / "state")
    others = [State.load(tmp_path / "state"), followed.state.copy(), copy.deepcopy(followed.state)]
    size = max(1, np.abs(followed.values()).max())
    for other in others:
        values = other.decision_values(followed.tests())
        np.testing.assert_allclose(values, followed.values(), rtol=0, atol=1e-11 * size)
        assert other.param == followed.state.param and other.ids.tolist() == followed.ids.tolist()
    rows, gone = case.new[9:14], followed.ids[2:9]
    add = followed.joining(rows)
    before = told(others[1])
    followed.update(rows, gone)
    assert told(others[1]) == before
    for other in others:
        other.update(add=add, remove=gone)
        values = other.decision_values(followed.tests())
        np.testing.assert_allclose(values, followed.values(), rtol=0, atol=1e-8 * size)
        assert other.certificate()["sha256"] == followed.state.certificate()["sha256"]
    with pytest.raises(TypeError, match="a State cannot be pickled"):
        pickle.dumps(followed.state)


@each("state", strength=1, solver=["smo"], kernel=["linear", "quadratic", "rbf", "precomputed"], form=["libsvm", "own"])
def test_a_state_from_a_model(solver, task, kernel, form, mechanism, tmp_path):
    """From LIBSVM's file, with C or nu given again, or from the result of train()."""
    case = posed(solver, task, kernel, **mechanism)
    given = {}
    if form == "libsvm":
        if task in IN_LIBSVM:
            oracle = Oracle(case.matrix(), case.y(), case.libsvm_options()).train()
            (tmp_path / "model").write_bytes(oracle.model_bytes(tmp_path))
        else:
            libsvmx.save_model(tmp_path / "model", case.train())
        model = libsvmx.load_model(tmp_path / "model")
        given = {
            name: case.options[name] for name in ("C", "nu", "p", "tau", "weights", "policy") if name in case.options
        }
    else:
        model = case.train()
    followed = Followed(case)
    expected = followed.values()
    followed.state = State.from_model(case.X(), case.y(), model, **given)
    assert followed.state.report.retrained == 0
    followed.check()
    size = max(1, np.abs(expected).max())
    np.testing.assert_allclose(followed.values(), expected, rtol=0, atol=1e-7 * size)
    followed.update(case.new[:5], [1, 2])
    followed.check()


def test_a_certificate_is_of_the_rows_and_of_nothing_else():
    followed = Followed(posed("smo", "two classes", "rbf"))
    case, state = followed.case, followed.state
    assert state.certificate()["gap_before"] is None
    gap = state.gap
    followed.update(case.new[:10], [0, 7])
    found = state.certificate()
    assert found["gap_before"] == gap == state.report.gap_before
    assert found["gap"] == state.gap == state.report.gap
    assert (found["rows"], found["breakpoints"]) == (len(state), state.report.breakpoints)
    dense = case.X(followed.rows)
    row, column = np.nonzero(dense)
    digest = hashlib.sha256(followed.ids.astype("<i8"))
    digest.update(np.searchsorted(row, np.arange(len(dense) + 1)).astype("<i8"))
    digest.update((column + 1).astype("<i4"))
    digest.update(dense[row, column].astype("<f8"))
    digest.update(case.y(followed.rows).astype("<f8"))
    digest.update(np.ones(len(dense)).astype("<f8"))
    assert found["sha256"] == digest.hexdigest()
    state.set_cost(8)
    assert state.certificate()["sha256"] == found["sha256"]


# ---- errors without effect -----------------------------------------------------------------------------


class Stopping(libsvmx.Observer):
    """Asks to stop from the k-th check on."""

    def __init__(self, k):
        self.left = k

    def should_stop(self):
        self.left -= 1
        return self.left < 0


@each("state", strength=1, kernel=["rbf", "precomputed"])
def test_an_error_leaves_no_trace(solver, task, kernel, mechanism):
    followed = Followed(posed(solver, task, kernel, **mechanism))
    case, state = followed.case, followed.state
    X, y = followed.joining(case.new[:3])
    changes = [
        (lambda: state.remove([0, 99]), DataError, "there is no row with id 99"),
        (lambda: state.remove([3, 3]), DataError, "the id 3 is given twice"),
        (lambda: state.remove(["a"]), DataError, "ids must be whole numbers"),
        (lambda: state.remove(range(len(state))), DataError, "no row would be left"),
        (lambda: state.add(np.full_like(X, np.nan), y), DataError, "not finite"),
        (lambda: state.add(X, y[:2]), DataError, "3 rows, but y has shape"),
        (lambda: state.add(X, y, sample_weight=[1, -1, 1]), DataError, "sample_weight must be"),
        (lambda: state.update(add=X), DataError, r"add must be a pair"),
    ]
    if case.svm_type.has_cost:
        changes.append((lambda: state.set_cost(-1.0), ParameterError, "C must be > 0"))
        changes.append((lambda: state.set_cost(float("inf")), ParameterError, "C must be finite|needs a finite C"))
    if case.svm_type.has_nu:
        changes.append((lambda: state.set_nu(1.5), ParameterError, "nu must be"))
    if case.task.is_classification:
        changes.append((lambda: state.add(X, y + 0.5), DataError, "not an integer"))
    for change, error, words in changes:
        before = told(state)
        with pytest.raises(error, match=words):
            change()
        assert told(state) == before, words
    followed.update(case.new[:3])
    followed.check()


@each("state", strength=1, kernel=["linear", "rbf", "precomputed"], k=[0, 1, 3])
def test_a_stopped_change_leaves_no_trace(solver, task, kernel, k, mechanism):
    followed = Followed(posed(solver, task, kernel, **mechanism))
    before = told(followed.state)
    try:
        followed.update(followed.case.new[:10], followed.ids[:10], observer=Stopping(k))
    except StoppedEarly as error:
        assert "the state is as it was before" in str(error)
        assert told(followed.state) == before
        followed.update(followed.case.new[:10], followed.ids[:10])
    followed.check()


def test_rows_that_nu_does_not_allow():
    """The same change with fewer of the rows succeeds."""
    case = posed("smo", "nu-SVC", "rbf", nu=0.8)
    few, many = (np.flatnonzero(case.targets == label) for label in (1, -1))
    followed = Followed(case, np.concatenate([few[:22], many[:30]]))
    state = followed.state
    for change in (
        lambda: state.remove(range(4)),
        lambda: state.set_nu(0.9),
        lambda: state.update(add=(case.X(many[30:40]), case.y(many[30:40])), remove=range(8)),
    ):
        before = told(state)
        with pytest.raises(ParameterError, match=r"nu = 0\.[89] is infeasible: classes"):
            change()
        assert told(state) == before
    followed.update(few[22:30], [0, 1])
    followed.check()
    followed.check_against_fresh()
