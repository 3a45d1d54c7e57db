"""State changes by training where a path would be longer: the same optimum, checked by NumPy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.data import dense_rows
from support.exact import PathTwin, Twin, blobs, come_and_go, noisy_quadrants, shaped
from support.examples import examples
from support.paths import Along, Followed, Short, follow_by

import libsvmx
from libsvmx import KernelType, StoppedEarly, SvmType
from libsvmx._core import dense
from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import PathLost
from libsvmx._train.updating import transaction

LINEAR, POLY, RBF = KernelType.LINEAR, KernelType.POLY, KernelType.RBF
SVR, ONE_CLASS = SvmType.EPSILON_SVR, SvmType.ONE_CLASS


CASES = {
    "heart": (("heart_scale",), {"C": 4.0, "gamma": 0.1}),
    "heart, linear": (("heart_scale",), {"C": 1.0, "kernel_type": LINEAR}),
    "heart, one-class": (("heart_scale",), {"svm_type": ONE_CLASS, "nu": 0.23, "gamma": 0.2}),
    "iris": (("iris.scale",), {"C": 1e3, "gamma": 0.5}),
    "glass, weights": (("glass.scale",), {"C": 8.0, "gamma": 0.3, "weights": {1: 3.0, 7: 0.1}}),
    "pyrim": (("pyrim",), {"svm_type": SVR, "C": 1e3, "gamma": 0.1, "p": 0.01}),
    "a1a, small cache": (("a1a.xz", 160), {"C": 100.0, "gamma": 0.05, "cache_size": 0.01}),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_come_and_go(name):
    arguments, options = CASES[name]
    X, y = dense_rows(*arguments)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    n = len(y) // 2
    twin, trained, waiting = Along(Short, X[:n], y[:n], **options), 0, list(range(n, len(y)))
    for count in (1, 30, 0, 10):
        come, waiting = waiting[:count], waiting[count:]
        twin.update(X[come], y[come], rng.choice(twin.ids, rng.integers(0, n // 3), replace=False))
        twin.check()
        trained += twin.state.report.retrained
    assert sum(binary.path.trained for binary in twin.state.binaries.values()) == trained > 0
    twin.check_against_fresh()


@pytest.mark.parametrize("name", [name for name in CASES if "one-class" not in name])
def test_another_cost(name, monkeypatch):
    monkeypatch.setattr(transaction, "most_cost", lambda binary: 0.0)
    arguments, options = CASES[name]
    X, y = dense_rows(*arguments)
    state = libsvmx.train(X, y, keep_state=True, **options)
    before = state.certificate()
    with pytest.raises(StoppedEarly, match="as it was before"):
        state.set_cost(7.0, observer=Stopping(lambda: True))
    assert state.certificate() == before
    state.set_cost(7.0)
    fresh = libsvmx.train(X, y, keep_state=True, **options | {"C": 7.0})
    assert 0 < state.report.retrained <= len(state.binaries)
    assert state.objective == pytest.approx(fresh.objective, rel=1e-9)
    np.testing.assert_allclose(*(libsvmx.decision_values(each.model, X) for each in (state, fresh)), atol=1e-6)
    state.remove(state.ids[:3])
    assert state.gap < 1e-8


@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.sampled_from([2, 3]),
    source=st.sampled_from(["blobs", "grid", "thrice", "same"]),
    kernel_type=st.sampled_from([LINEAR, POLY, RBF]),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    sizes=st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=4),
)
@examples(60)
def test_any_rows(seed, k, source, kernel_type, C, sizes):
    X, y = blobs(seed, 120, k)
    rng = np.random.default_rng(seed)
    X = shaped(X, source, rng)
    twin = Along(Short, X[:40], y[:40], C=C, kernel_type=kernel_type, gamma=0.3, coef0=1.0, degree=2)
    come_and_go(twin, X, y, sizes, rng)


def interrupted(last=0):
    """Short paths whose training is given up when it requests its problem; the ``last`` one of all is interrupted."""
    trainings = []

    class Interrupted(Short):
        def dual(self):
            trainings.append(self)
            raise KeyboardInterrupt if len(trainings) == last else PathLost("too many iterations")

    return Interrupted


def test_a_training_that_takes_longer_than_the_path():
    """It is given up, the path is followed after all, and the next training is expected to take more work."""
    X, y = dense_rows("heart_scale")
    twin = Along(interrupted(), X[:200], y[:200], C=10.0, gamma=0.1)
    (binary,) = twin.state.binaries.values()
    iterations = binary.iterations
    assert iterations > 50
    twin.update(X[200:], y[200:], range(20))
    twin.check()
    (binary,) = twin.state.binaries.values()
    assert binary.path.motion.breakpoints > 20
    assert binary.iterations >= transaction.MORE * iterations
    assert binary.copy().iterations == binary.iterations


def test_an_error_in_a_later_problem_takes_all_back():
    """The expected work of the next training, too."""
    X, y = blobs(4, 90, 3)
    state = libsvmx.train(X[:60], y[:60], keep_state=True, C=2.0, gamma=0.4)
    before = [(binary.iterations, bytes(binary.state.coefficients)) for binary in state.binaries.values()]
    follow_by(interrupted(3), state)
    with pytest.raises(KeyboardInterrupt):
        state.add(X[60:], y[60:])
    assert [(binary.iterations, bytes(binary.state.coefficients)) for binary in state.binaries.values()] == before


def overlapping(n):
    """Two classes with many rows at bounds, and few within."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    return X, np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)


LONG_OR_NOT = [
    # of 1,000 added rows, 600 go from 0 to a bound; of 40, 24
    pytest.param(overlapping(3000), 2000, 0, {"C": 0.3, "gamma": 0.05}, 1, id="many rows join"),
    pytest.param(overlapping(3000), 2960, 0, {"C": 0.3, "gamma": 0.05}, 0, id="few join"),
    pytest.param(overlapping(3000), 2000, 0, {"C": 10.0, "gamma": 0.2}, 1, id="a larger margin"),
    # with all 600 rows in the margin a training needs a factor of them, while a leaving row takes a rotation
    pytest.param(blobs(2, 603), 600, 15, {"C": 100.0, "gamma": 200.0}, 0, id="few leave a large margin"),
    pytest.param(blobs(2, 600), 600, 300, {"C": 100.0, "gamma": 200.0}, 1, id="many leave it"),
]


@pytest.mark.parametrize("rows, n, leaving, options, trained", LONG_OR_NOT)
def test_the_method_with_less_work_is_used(rows, n, leaving, options, trained):
    """A training starts from the present point of the path, whatever the order of its rows."""
    X, y = rows
    state = libsvmx.train(X[:n], y[:n], keep_state=True, **options)
    state.update(add=(X[n:], y[n:]), remove=range(leaving))
    assert state.report.retrained == trained
    assert not trained or state.report.breakpoints <= 10
    assert state.gap < 1e-9


def test_where_smo_does_not_get_on_a_path_is_followed():
    """At a large C, where the first training is left to another solver, whose steps say nothing about SMO's."""
    X, y = noisy_quadrants(1200)
    state = libsvmx.train(X[:600], y[:600], keep_state=True, C=1e5, gamma=5.0)
    trained = []
    for begin in (600, 800, 1000):
        state.update(add=(X[begin : begin + 200], y[begin : begin + 200]), remove=state.ids[:200])
        trained.append(state.report.retrained)
        assert state.report.breakpoints > 100
    assert trained == [0, 0, 0]
    assert state.gap < 1e-13 * 1e5


def test_the_next_training_is_expected_to_take_as_long():
    X, y = dense_rows("heart_scale")
    state = libsvmx.train(X[:200], y[:200], keep_state=True, C=10.0, gamma=0.1)
    follow_by(Short, state)
    expected = [binary.iterations for binary in state.binaries.values()]
    for rows in (range(200, 202), range(202, 270)):
        state.add(X[rows], y[rows])
        assert state.report.retrained == 1
        expected += [binary.iterations for binary in state.binaries.values()]
    assert all(after > before // 2 for before, after in pairwise(expected))


def test_a_training_leaves_little_to_the_path():
    """For any eps: it starts without the leaving rows, and ends near the optimum."""
    X, y = dense_rows("heart_scale")
    state = libsvmx.train(X, y, keep_state=True, C=10.0, gamma=0.1, eps=0.3)
    follow_by(Short, state)
    for add, remove in ((None, range(100)), ((X[:100], y[:100]), ())):
        state.update(add=add, remove=remove)
        assert state.report.retrained == 1
        assert state.report.breakpoints <= 2
        assert state.gap < 1e-9


class Noted(Followed):
    """``calls`` records the attempts."""

    calls = ()

    def note(self, name, arguments):
        self.calls = (*self.calls, name)
        return getattr(self.path, name)(*arguments)

    def update(self, *arguments):
        return self.note("update", arguments)

    def near(self, *arguments):
        return self.note("near", arguments)

    def by_smo(self, *arguments):
        return self.note("by_smo", arguments)


@pytest.mark.parametrize("n, attempts", [(2000, ("near",)), (2980, ("update", "near"))])
def test_a_path_that_is_clearly_longer_is_not_begun(n, attempts):
    """Of fewer rows that join it is begun, and given up where it turns out to be longer."""
    X, y = overlapping(3000)
    state = libsvmx.train(X[:n], y[:n], keep_state=True, C=100.0, gamma=0.2)
    follow_by(Noted, state)
    (path,) = [binary.path for binary in state.binaries.values()]
    state.add(X[n:], y[n:])
    assert path.calls == attempts
    assert state.report.retrained == 1
    assert state.gap < 1e-9


class LostTwice(Noted):
    """The path is lost, and so is the one after a training."""

    def update(self, *arguments):
        super().update(*arguments)
        raise PathLost("lost")

    def near(self, *arguments):
        super().near(*arguments)
        raise PathLost("lost")


def test_a_path_that_was_lost_is_not_followed_again():
    """Nor expected to be a long one."""
    X, y = dense_rows("heart_scale")
    twin = Along(LostTwice, X[:200], y[:200], C=10.0, gamma=0.1)
    (binary,) = twin.state.binaries.values()
    iterations = binary.iterations
    twin.update(X[200:], y[200:], range(20))
    (binary,) = twin.state.binaries.values()
    assert binary.path.calls == ("update", "near", "by_smo")
    assert binary.iterations == iterations
    twin.check()


def test_an_optimum_to_a_tolerance_is_no_start():
    """For a kernel that is not an inner product SMO goes on."""
    X, y = dense_rows("heart_scale")
    twin = Along(Noted, X[:200], y[:200], C=10.0, gamma=0.1, coef0=-1.0, kernel_type=KernelType.SIGMOID)
    (path,) = [binary.path for binary in twin.state.binaries.values()]
    assert path.state.inexact
    twin.update(X[200:], y[200:], range(20))
    assert path.calls == ("update", "by_smo")
    assert twin.state.gap <= 1e-3


class Asked(Short):
    """``asked`` records that a training has begun."""

    def dual(self):
        self.asked = True
        return self.path.dual()


def test_a_stop_within_the_training():
    """The state is unchanged."""
    X, y = dense_rows("heart_scale")
    state = libsvmx.train(X[:200], y[:200], C=10.0, gamma=0.1, keep_state=True)
    follow_by(Asked, state)
    (path,) = [binary.path for binary in state.binaries.values()]
    before, path.asked = bytes(state.model.coef), False
    with pytest.raises(StoppedEarly, match="the state is as it was before"):
        state.add(X[200:], y[200:], observer=Stopping(lambda: path.asked))
    assert path.asked
    assert (len(state), bytes(state.model.coef)) == (200, before)
    state.add(X[200:], y[200:])
    assert state.gap < 1e-9


class Stopping(libsvmx.Observer):
    """Stops once ``asked`` is set."""

    def __init__(self, asked):
        self.asked = asked

    def should_stop(self):
        return self.asked()


@pytest.fixture
def factored(monkeypatch):
    """The sizes of the margins factored at once."""
    sizes, factor = [], dense.factor_and_inverse_norm

    def noted(matrix, asking):
        sizes.append(len(matrix))
        return factor(matrix, asking)

    monkeypatch.setattr(dense, "factor_and_inverse_norm", noted)
    return sizes


def test_a_large_margin_is_factored_at_once(factored):
    X, y = blobs(2, 420)
    twin = Twin(10 * X[:400], y[:400], C=100.0, gamma=2.0)
    twin.check()
    (binary,) = twin.state.binaries.values()
    assert factored == [binary.state.margin_size]
    assert factored[0] >= 250
    twin.update(10 * X[400:], y[400:], range(5))
    twin.check()


def test_of_a_large_margin_dependent_rows_are_exchanged(factored):
    """The others join at once. An optimum without a bound, K beta + b = y, with a third of the rows in two halves."""
    X, y = blobs(2, 300)
    twin = PathTwin(np.concatenate([10 * X, 10 * X[:100]]), libsvmx.Parameter(gamma=2.0))
    K = np.block([[twin.K[:300, :300], np.ones((300, 1))], [np.ones((1, 300)), np.zeros((1, 1))]])
    beta = np.linalg.solve(K, [*y, 0])[:300]
    beta = np.concatenate([beta, beta[:100]])
    beta[:100] /= 2
    beta[300:] /= 2
    y = np.concatenate([y, y[:100]])
    assert (beta * y > 0).all()
    twin.append(np.arange(400), y, np.minimum(0, 10 * y), np.maximum(0, 10 * y))
    twin.path.start(filled("d", beta.tolist()), (0.0,), twin.control())
    assert factored[:2] == [400, 300]
    assert twin.path.motion.exchanges >= 100
    assert twin.path.state.margin_size == 300
    twin.check()
