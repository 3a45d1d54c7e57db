"""States in case of errors: ids, wrong calls, failures half-way, lost paths, and threads."""

import re
import threading
import time

import numpy as np
import pytest
from support.exact import Twin, blobs, fingerprint, unchanged
from support.paths import Along, Followed, Lost, follow_by

import libsvmx
from libsvmx import DataError, KernelType, ParameterError, SvmType
from libsvmx._solvers.path.path import PathLost
from libsvmx._solvers.smo.solver import SMO
from libsvmx._train.observer import Observer
from libsvmx.exceptions import SvmxError

LINEAR, POLY, RBF, SIGMOID = KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID
SVR, ONE_CLASS = SvmType.EPSILON_SVR, SvmType.ONE_CLASS


# ---- copies, ids, errors -----------------------------------------------------------------------


def test_copies_are_independent():
    X, y = blobs(6, 80, 3)
    state = libsvmx.train(X[:60], y[:60], keep_state=True, C=2.0, gamma=0.4)
    other = state.copy()
    assert type(other) is libsvmx.State
    assert fingerprint(other) == fingerprint(state)
    before = fingerprint(state)
    assert other.update(add=(X[60:], y[60:]), remove=range(20)).tolist() == list(range(60, 80))
    other.set_cost(7.0)
    assert fingerprint(state) == before
    state.remove([59])
    assert state.add(X[:1], y[:1]).tolist() == [60]
    twin = Twin(X[:60], y[:60], C=2.0, gamma=0.4)
    twin.update(X[60:], y[60:], range(20))
    twin.state.set_cost(7.0)
    assert other.decision_values(X) == pytest.approx(twin.state.decision_values(X), abs=1e-9)


@pytest.mark.parametrize("given", [False, True], ids=["rows", "kernel values"])
def test_the_caller_may_write_into_arrays_afterwards(given):
    X, y = blobs(6, 60, 3)
    K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(axis=2))

    def state_of(after):
        first, second = (K[:40, :40].copy(), K[40:].copy()) if given else (X[:40].copy(), X[40:].copy())
        labels, more = np.array(y[:40]), np.array(y[40:])
        kernel = {"kernel_type": KernelType.PRECOMPUTED} if given else {"gamma": 0.4}
        state = libsvmx.train(first, labels, keep_state=True, **kernel)
        after(first, labels)
        state.update((second, more), [3, 5])
        after(second, more)
        state.remove([1, 50])
        state.set_cost(2.0)
        return fingerprint(state)

    def spoil(rows, labels):
        rows[:], labels[:] = 7, 9

    assert state_of(spoil) == state_of(lambda rows, labels: None)


def test_ids():
    """Never given twice; in the order of the rows; any iterable accepted."""
    X, y = blobs(6, 40)
    state = libsvmx.train(X[:20], y[:20], keep_state=True, gamma=0.4)
    assert state.ids.tolist() == list(range(20))
    state.remove(i for i in (19, 3))
    assert state.add(X[20:23], y[20:23]).tolist() == [20, 21, 22]
    state.remove(np.array([22, 20]))
    assert state.add(X[23:24], y[23:24]).tolist() == [23]
    assert state.update().tolist() == []
    assert state.ids.tolist() == [i for i in range(24) if i not in (3, 19, 20, 22)]
    assert state.targets.tolist() == y[state.ids].tolist()
    state.ids[:] = 0
    state.targets[:] = 0
    assert state.ids[0] == 0
    assert state.ids[-1] == 23
    assert state.targets.tolist() == y[state.ids].tolist()


X12, Y12 = blobs(6, 12)
MISTAKES = {
    "unknown id": (lambda s: s.remove([1, 99]), "there is no row with id 99"),
    "negative id": (lambda s: s.remove([-1]), "there is no row with id -1"),
    "id that has left": (lambda s: s.remove([5]), "there is no row with id 5"),
    "the same id twice": (lambda s: s.remove([3, 4, 3]), "the id 3 is given twice"),
    "an id that is no number": (lambda s: s.remove(["a"]), "ids must be whole numbers"),
    "an id that is no whole number": (lambda s: s.remove([2.7]), "ids must be whole numbers"),
    "an id too large": (lambda s: s.remove([2**70]), "ids must be whole numbers"),
    "no iterable": (lambda s: s.remove(3), "ids must be whole numbers"),
    "nothing": (lambda s: s.remove(None), "ids must be whole numbers"),
    "a row beside an unknown id": (lambda s: s.update((X12[:1], [1]), [99]), "there is no row with id 99"),
    "squares that overflow": (lambda s: s.add([[1e300] * 3], [1]), "overflows"),
    "all rows": (lambda s: s.remove(s.ids), "no row would be left"),
    "a row too few": (lambda s: s.add(X12, Y12[1:]), "X has 12 rows, but y has shape"),
    "a table of labels": (lambda s: s.add(X12, Y12.reshape(-1, 1)), "X has 12 rows, but y has shape"),
    "a row alone": (lambda s: s.add(X12[0], Y12[:1]), "X must have rows and columns"),
    "nan": (lambda s: s.add(np.full((1, 3), np.nan), [1.0]), "not finite"),
    "infinity": (lambda s: s.update((np.array([[1.0, np.inf, 0]]), [1.0]), [1]), "not finite"),
    "a label that is no integer": (lambda s: s.update((X12[:2], [1.0, 1.5]), [1]), "1.5"),
    "a label that is nan": (lambda s: s.add(X12[:1], [np.nan]), "nan"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    call, message = MISTAKES[name]
    X, y = blobs(6, 40)
    twin = Twin(X, y, C=2.0, gamma=0.4)
    twin.update(remove=[5])
    unchanged(twin.state, DataError, lambda: call(twin.state), message)
    twin.update(X12, Y12, [1, 2])
    twin.check()


def test_a_target_that_is_nan():
    X, y = blobs(6, 40)
    state = libsvmx.train(X, y, keep_state=True, svm_type=SVR, gamma=0.4)
    unchanged(state, DataError, lambda: state.add(X[:2], [1.0, np.nan]), "not finite")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"svm_type": SvmType.NU_SVC, "nu": 0.99}, "nu = 0.99 is infeasible"),
        ({"probability": True}, "probability"),
    ],
)
def test_states_that_cannot_be_kept(options, message):
    X, y = blobs(6, 21)
    with pytest.raises(ParameterError, match=message):
        libsvmx.train(X, y, keep_state=True, **options)


def test_invalid_costs():
    X, y = blobs(1, 40)
    state = libsvmx.train(X, y, keep_state=True, C=1.0, gamma=0.4)
    for C in (0.0, -1.0, np.inf, np.nan, "2"):
        unchanged(state, ParameterError, lambda C=C: state.set_cost(C), "C must be|needs a finite C")
    one = libsvmx.train(X, keep_state=True, y=y, svm_type=ONE_CLASS, gamma=0.4)
    unchanged(one, ParameterError, lambda: one.set_cost(2.0), "one-class has no C")


# ---- all or nothing ----------------------------------------------------------------------------


class StopAfter(Observer):
    """should_stop returns true from the ``calls``-th call on."""

    def __init__(self, calls):
        self.left = calls

    def should_stop(self):
        self.left -= 1
        return self.left < 0


def large(k=2):
    """A state whose next update is long enough to be interrupted several times."""
    X, y = blobs(8, 1100, k)
    return Twin(X[:500], y[:500], C=20.0, gamma=0.7), X[500:], y[500:]


@pytest.mark.parametrize("calls", [0, 3])
@pytest.mark.parametrize("k", [2, 3])
def test_an_interrupted_update(calls, k):
    twin, X, y = large(k)
    stop = StopAfter(calls)
    error = unchanged(
        twin.state, SvmxError, lambda: twin.state.update((X, y), range(50), observer=stop), "interrupted.*as it was"
    )
    assert not isinstance(error, DataError | ParameterError)
    assert stop.left < 0
    twin.update(X[:60], y[:60], range(30))
    twin.check()


def test_the_time_limit():
    twin, X, y = large()
    limited = libsvmx.train(twin.X, twin.y, keep_state=True, **twin.options)
    limited.param = libsvmx.Parameter(**{**twin.options, "time_limit": 1e-6})
    unchanged(limited, SvmxError, lambda: limited.add(X, y), "time limit")
    limited.param = twin.state.param
    assert limited.add(X[:50], y[:50]).tolist() == list(range(500, 550))
    twin.update(X[:50], y[:50])
    assert limited.decision_values(X) == pytest.approx(twin.state.decision_values(X), abs=1e-9)


class Failure(Exception):
    pass


class Failing(Followed):
    """Fails in the binary problem ``countdown`` calls away, after the whole path."""

    countdown = -1

    def failing(self):
        Failing.countdown -= 1
        if Failing.countdown == 0:
            raise Failure

    def update(self, *arguments):
        self.path.update(*arguments)
        self.failing()

    def rescale(self, *arguments):
        self.path.rescale(*arguments)
        self.failing()

    def check(self, control):
        found = self.path.check(control)
        self.failing()
        return found


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_failure_in_any_binary_problem(nth):
    """Finished ones are rolled back."""
    X, y = blobs(4, 90, 3)
    twin = Along(Failing, X[:60], y[:60], C=2.0, gamma=0.4)
    for call in (
        lambda: twin.state.update((X[60:], y[60:]), range(10)),
        lambda: twin.state.set_cost(0.3),
        lambda: twin.state.check(),
    ):
        Failing.countdown = nth
        unchanged(twin.state, Failure, call)
        assert Failing.countdown == 0
    twin.update(X[60:], y[60:], range(10))
    twin.check()
    twin.set_cost(0.3)
    twin.check()
    twin.state.check()
    twin.check_against_fresh()


class FailingSolver(SMO):
    """Fails at the solve ``countdown`` calls away."""

    countdown = -1

    def solve(self, *arguments):
        FailingSolver.countdown -= 1
        if FailingSolver.countdown == 0:
            raise Failure
        return super().solve(*arguments)


def test_a_failure_in_the_training_of_a_new_class():
    X, y = blobs(4, 90, 3)
    old = y < 3
    twin = Twin(X[old], y[old], C=2.0, gamma=0.4, solver=FailingSolver())
    FailingSolver.countdown = 2
    come, labels = np.concatenate([X[:5], X[~old]]), np.concatenate([3 - y[:5] % 2, y[~old]])
    unchanged(twin.state, Failure, lambda: twin.state.add(come, labels))
    assert FailingSolver.countdown == 0
    twin.update(come, labels)
    twin.check()


def test_smo_replaces_a_lost_path():
    """From the state before, to the same optimum; and paths continue from there."""
    X, y = blobs(4, 90, 3)
    twin = Along(Lost, X[:60], y[:60], C=2.0, gamma=0.4)
    for begin in (60, 75):
        twin.update(X[begin : begin + 15], y[begin : begin + 15], twin.ids[:7])
        assert twin.state.report.retrained == 3
        twin.check()
    twin.check_against_fresh()


class Hopeless(Lost):
    def near(self, *arguments):
        raise PathLost("hopeless")

    def by_smo(self, *arguments):
        self.path.by_smo(*arguments)
        raise PathLost("hopeless")


def test_where_smo_is_lost_too():
    X, y = blobs(4, 90, 3)
    state = libsvmx.train(X[:60], y[:60], keep_state=True, C=2.0, gamma=0.4)
    follow_by(Hopeless, state)
    unchanged(state, ParameterError, lambda: state.add(X[60:], y[60:]), "hopeless.*scale the data")


LOST = re.compile("cannot be followed|classes of nu-SVC cannot be told apart")


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_type": SIGMOID, "gamma": 1.0, "coef0": -0.5},
        {"kernel_type": SIGMOID, "gamma": 0.1, "coef0": 1.0},
        {"kernel_type": POLY, "gamma": 1.0, "coef0": -1.0, "degree": 2},
        {"kernel_type": POLY, "gamma": 1.0, "coef0": -1.0, "degree": 3},
    ],
)
@pytest.mark.parametrize("kind", [SvmType.C_SVC, SVR, ONE_CLASS, SvmType.NU_SVC, SvmType.NU_SVR])
def test_kernels_that_are_not_positive_semidefinite(options, kind):
    """A stationary point to eps, or an error and an unchanged state; nothing else."""
    eps = 1e-3
    for seed in range(3):
        X, y = blobs(seed, 70)
        try:
            twin = Twin(X[:40], y[:40], C=1.0, svm_type=kind, eps=eps, nu=0.4, **options)
        except ParameterError as error:
            assert LOST.search(str(error))
            continue
        for begin in range(40, 70, 10):
            before = fingerprint(twin.state)
            try:
                twin.update(X[begin : begin + 10], y[begin : begin + 10], twin.ids[:4])
            except ParameterError as error:
                assert LOST.search(str(error))
                assert fingerprint(twin.state) == before
                continue
            before = fingerprint(twin.state)
            try:
                twin.state.check()
            except ParameterError:
                assert fingerprint(twin.state) == before
            (judged,) = twin.judged()
            assert judged.gap(judged.beta) <= eps + judged.noise
            assert twin.state.gap <= eps
            np.testing.assert_allclose(judged.sums(judged.beta), judged.totals, rtol=0, atol=1e-9)


def test_threads():
    """Changes are sequential, whichever thread makes them: ids are right, and so is the optimum."""
    X, y = blobs(12, 300)
    state = libsvmx.train(X[:100], y[:100], keep_state=True, C=2.0, gamma=0.4)
    owned, errors = {i: X[i] for i in range(100)}, []
    labels = dict(enumerate(y[:100]))
    guard, done = threading.Lock(), threading.Event()

    def change(number):
        rng = np.random.default_rng(number)
        mine = list(range(20 * number, 20 * number + 20))
        try:
            for _ in range(12):
                chosen = rng.integers(0, 300, 3)
                gone = [mine.pop(rng.integers(len(mine))) for _ in range(2)]
                ids = state.update(add=(X[chosen], y[chosen]), remove=gone)
                mine.extend(ids.tolist())
                with guard:
                    for i, row in zip(ids.tolist(), chosen, strict=True):
                        assert i not in owned
                        owned[i], labels[i] = X[row], y[row]
                    for i in gone:
                        del owned[i], labels[i]
        except Exception as error:
            errors.append(error)

    def look():
        while not done.is_set():
            try:
                state.copy()
                assert len(state.model.labels) == 2
                assert np.isfinite(state.gap)
                state.set_cost(3.0)
                time.sleep(0.001)
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    looker = threading.Thread(target=look)
    looker.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    looker.join()
    assert not errors
    state.set_cost(2.0)
    assert state.ids.tolist() == sorted(owned)
    rows = [owned[i] for i in state.ids]
    assert state.targets.tolist() == [labels[i] for i in state.ids]
    fresh = libsvmx.train(np.array(rows), state.targets, keep_state=True, C=2.0, gamma=0.4)
    assert state.objective == pytest.approx(fresh.objective, rel=1e-9)
    # the order of classes may differ from that of the threads, but not from that of the ids
    assert state.decision_values(X) == pytest.approx(fresh.decision_values(X), abs=1e-7)


@pytest.mark.parametrize("C, to", [(1e-300, 1e10), (1e-308, 1.0), (1e-200, 1e200)])
def test_another_cost_beyond_double_precision_of_the_first(C, to):
    """Its ratio to the first, or the speed of the scores, overflows: trained again, never an index out of bounds."""
    X, y = np.array([[0.3, 1.0], [-0.2, 0.5], [1.0, -1.0]]), [1, -1, 1]
    state = libsvmx.train(X, y, C=C, keep_state=True)
    state.set_cost(to)
    fresh = libsvmx.train(X, y, C=to, keep_state=True)
    np.testing.assert_allclose(
        libsvmx.decision_values(state.model, X), libsvmx.decision_values(fresh.model, X), rtol=1e-6
    )
    assert state.gap <= 1e-3
