"""States that rows join and leave: after any change the optimum of a training from nothing, by NumPy's judgement."""

import copy
import pickle
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact import Twin, load

import libsvmx
from libsvmx import DataError, KernelType, ParameterError, SvmType
from libsvmx._solvers.path import Path, PathLost
from libsvmx._train import change
from libsvmx._train.observer import Observer
from libsvmx.exceptions import SvmxError

LINEAR, POLY, RBF, SIGMOID = KernelType.LINEAR, KernelType.POLY, KernelType.RBF, KernelType.SIGMOID
SVR, ONE_CLASS = SvmType.EPSILON_SVR, SvmType.ONE_CLASS

# name -> (arguments of support.exact.load, rows at a time, options)
REAL = {
    "heart": (("heart_scale",), 90, {"C": 4.0, "gamma": 0.1}),
    "heart, linear": (("heart_scale",), 60, {"C": 1e3, "kernel_type": LINEAR}),
    "heart, one-class": (("heart_scale",), 80, {"svm_type": ONE_CLASS, "nu": 0.23, "gamma": 0.2}),
    "iris": (("iris.scale",), 70, {"C": 1e5, "gamma": 0.5}),
    "iris, linear": (("iris.scale",), 90, {"C": 10.0, "kernel_type": LINEAR}),
    "glass": (("glass.scale",), 90, {"C": 32.0, "gamma": 0.3}),
    "wine, weights": (("wine.scale",), 80, {"C": 1.0, "gamma": 0.1, "weights": {1: 3.0, 3: 0.01}}),
    "splice, polynomial": (("splice.xz", 160), 80, {"kernel_type": POLY, "degree": 2, "gamma": 0.02, "coef0": 1.0}),
    "a1a": (("a1a.xz", 160), 90, {"C": 100.0, "gamma": 0.05}),
    "a1a, tiny C": (("a1a.xz", 160), 60, {"C": 0.01, "gamma": 0.05}),
    "ionosphere": (("ionosphere_scale.xz", 160), 80, {"C": 1e4, "gamma": 0.1, "cache_size": 0.01}),
    "mushrooms": (("mushrooms.xz", 150), 80, {"C": 10.0, "kernel_type": LINEAR}),
    "mpg": (("mpg", 150), 60, {"svm_type": SVR, "C": 10.0, "gamma": 1e-3, "p": 0.5}),
    "pyrim": (("pyrim",), 40, {"svm_type": SVR, "C": 1e3, "gamma": 0.1, "p": 0.01}),
    "pyrim, p = 0": (("pyrim",), 40, {"svm_type": SVR, "C": 1.0, "kernel_type": LINEAR, "p": 0.0}),
    "abalone, one-class": (("abalone_scale.xz", 150), 60, {"svm_type": ONE_CLASS, "nu": 0.5, "kernel_type": LINEAR}),
}


def blobs(seed, n, k=2, d=3):
    """(X, y): overlapping classes 1 .. k, or +1 and -1."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(n, d)) + 1.5 * np.stack([np.cos(y), *[np.sin(y + j) for j in range(1, d)]], axis=1)
    return X, (2.0 * y - 1 if k == 2 else y + 1.0)


def fingerprint(state):
    """All that an error must leave as it was."""
    parts = {
        key: (bytes(path.coefficients), bytes(path.K_beta), path.level, path.margin_size, path.rough, ids.tolist())
        for key, path, ids in ((key, part.path, part.ids) for key, part in state.parts.items())
    }
    model = state.model
    coefficients = bytes(model.coef), bytes(model.offsets), model.class_labels, bytes(model.vectors.values)
    return parts, coefficients, state.ids.tolist(), state.targets.tolist(), state.param, state.report, state.gap


def unchanged(state, error, call, match=None):
    """``call`` raises, and leaves no trace."""
    before = fingerprint(state)
    with pytest.raises(error, match=match) as caught:
        call()
    state._model = None
    assert fingerprint(state) == before
    return caught.value


# ---- any sequence of changes -------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("seed", [1, 2])
def test_real_data(name, seed):
    """Rows come and go, few and many; then the same as a training of those that are there."""
    arguments, n, options = REAL[name]
    X, y = load(*arguments)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    twin = Twin(X[:n], y[:n], **options)
    twin.check()
    waiting = list(range(n, len(y)))
    for count in (1, 7, 40, 2):
        come, waiting = waiting[:count], waiting[count:]
        gone = rng.choice(twin.ids, rng.integers(0, min(count + 5, n // 2)), replace=False)
        twin.update(X[come], y[come], gone)
        twin.check()
        assert twin.state.report.retrained == 0
    twin.check_against_fresh()


@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.sampled_from([2, 2, 3]),
    n=st.integers(1, 40),
    source=st.sampled_from(["blobs", "grid", "thrice", "zeros", "same"]),
    kernel_type=st.sampled_from([LINEAR, POLY, RBF]),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    weights=st.sampled_from([{}, {1: 0.1}, {-1: 5.0, 2: 3.0}]),
    sizes=st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=1, max_size=4),
)
@settings(max_examples=120, deadline=None)
def test_classification(seed, k, n, source, kernel_type, C, weights, sizes):
    """Classes come, go and change their order as they like."""
    X, y = blobs(seed, 120, k)
    rng = np.random.default_rng(seed)
    if source == "grid":
        X = X.round()
    elif source == "thrice":
        X = X[rng.integers(0, 40, 120)]
    elif source == "zeros":
        X = 0 * X
    elif source == "same":
        X = X * 0 + X[0]
    twin = Twin(X[:n], y[:n], C=C, kernel_type=kernel_type, gamma=0.3, coef0=1.0, degree=2, weights=weights)
    twin.check()
    for count, share in sizes:
        come = rng.integers(0, 120, count)
        gone = rng.permutation(twin.ids)[: int(share * len(twin.ids)) if count else int(share * (len(twin.ids) - 1))]
        twin.update(X[come], y[come], gone)
        twin.check()
    twin.check_against_fresh()


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    kind=st.sampled_from([SVR, ONE_CLASS]),
    p=st.sampled_from([0.0, 0.2]),
    nu=st.sampled_from([0.01, 0.3, 0.55, 1.0]),
    source=st.sampled_from(["blobs", "grid", "thrice", "constant"]),
    kernel_type=st.sampled_from([LINEAR, POLY, RBF]),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    sizes=st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=4),
)
@settings(max_examples=120, deadline=None)
def test_regression_and_one_class(seed, n, kind, p, nu, source, kernel_type, C, sizes):
    """More rows may join at once than nu l, or than there are."""
    X, _ = blobs(seed, 120)
    rng = np.random.default_rng(seed)
    z = (X[:, 0] + 0.3 * rng.normal(size=120)).round(1)
    if source == "grid":
        X = X.round()
    elif source == "thrice":
        X = X[rng.integers(0, 40, 120)]
    elif source == "constant":
        z[:] = 2.5
    options = {"kernel_type": kernel_type, "gamma": 0.3, "coef0": 1.0, "degree": 2, "p": p, "nu": nu, "C": C}
    twin = Twin(X[:n], z[:n], svm_type=kind, **options)
    twin.check()
    for count, share in sizes:
        come = rng.integers(0, 120, count)
        gone = rng.permutation(twin.ids)[: int(share * len(twin.ids)) if count else int(share * (len(twin.ids) - 1))]
        twin.update(X[come], z[come], gone)
        twin.check()
    twin.check_against_fresh()


@pytest.mark.parametrize(
    "options", [{"kernel_type": LINEAR}, {"gamma": 0.5}, {"svm_type": SVR, "p": 0.0, "gamma": 0.5}]
)
def test_duplicates_with_contradictory_labels(options):
    """Each row three times: dependent columns are exchanged, not given up."""
    X, y = blobs(5, 30)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    y[::3] *= -1
    twin = Twin(X[:45], y[:45], C=10.0, **options)
    exchanges = twin.state.report.exchanges
    twin.update(X[45:], y[45:], range(0, 45, 4))
    twin.check()
    exchanges += twin.state.report.exchanges
    for C in (0.1, 1e3):
        twin.set_cost(C)
        twin.check()
        assert twin.state.report.retrained == 0
        exchanges += twin.state.report.exchanges
    twin.check_against_fresh()
    assert exchanges


@pytest.mark.parametrize("budget", [0.001, 100.0])
@pytest.mark.parametrize("options", [{}, {"svm_type": SVR}])
def test_any_cache(budget, options):
    X, y = blobs(3, 160)
    twin = Twin(X[:100], y[:100], C=5.0, gamma=0.5, cache_size=budget, **options)
    for begin in range(100, 160, 20):
        twin.update(X[begin : begin + 20], y[begin : begin + 20], twin.ids[::7])
        twin.check()
    large = Twin(X[:100], y[:100], C=5.0, gamma=0.5, **options)
    for begin in range(100, 160, 20):
        large.update(X[begin : begin + 20], y[begin : begin + 20], large.ids[::7])
    assert twin.state.decision_values(X) == pytest.approx(large.state.decision_values(X), abs=1e-10)


def test_a_long_life_leaves_no_drift():
    X, y = blobs(11, 400)
    rng = np.random.default_rng(1)
    twin = Twin(X[:60], y[:60], C=10.0, gamma=0.3)
    for k in range(150):
        come = rng.integers(0, 400, rng.integers(0, 6))
        gone = rng.choice(twin.ids, min(len(twin.ids) - 1, rng.integers(0, 6)), replace=False)
        twin.update(X[come], y[come], gone)
        assert twin.state.report.retrained == 0 or k < 0
    twin.check()
    assert twin.state.check() <= 1e-10
    twin.check_against_fresh()


def test_add_then_remove_is_before():
    for options in ({"gamma": 0.3}, {"svm_type": SVR, "gamma": 0.3}, {"svm_type": ONE_CLASS, "gamma": 0.3, "nu": 0.3}):
        X, y = blobs(2, 90, d=2)
        twin = Twin(X[:60], y[:60], C=3.0, **options)
        before = twin.state.copy()
        ids = twin.update(X[60:], y[60:])
        assert len(twin.state) == 90
        assert abs(twin.state.objective - before.objective) > 1e-3
        twin.update(remove=ids)
        twin.check()
        assert twin.state.objective == pytest.approx(before.objective, rel=1e-10)
        assert twin.state.decision_values(X) == pytest.approx(before.decision_values(X), abs=1e-8)
        # this K is regular: the coefficients are unique as well
        assert twin.state.model.row_numbers == before.model.row_numbers
        assert twin.state.model.sv_coef == pytest.approx(before.model.sv_coef, abs=1e-7)


@pytest.mark.parametrize("C", [1e6, 1e8, 1e10, 1e12])
def test_a_cost_that_never_binds(C):
    """The hard margin: what is near a bound does not depend on how far the other one is."""
    X, y = blobs(0, 80)
    X[:, 0] += y
    few = Twin(X[:50], y[:50], C=C, gamma=0.5)
    few.update(X[50:], y[50:], range(5))
    few.check()
    assert few.state.report.retrained == 0
    assert np.abs(few.judged()[0].beta).max() < 1e5


def test_features_that_nobody_scaled():
    """Cars in SI units: coefficients of 1e-12 count where K is 1e13."""
    X = 1e3 * np.array(
        [[8, 351, 152, 4215, 12.8, 76, 1], [8, 302, 130, 3870, 15, 76, 1], [8, 352, 132, 3000, 15, 76, 1]]
    )
    y = np.array([14.5, 13.0, 11.0])
    state = libsvmx.train(X, y, keep_state=True, C=1e4, kernel_type=LINEAR, svm_type=SVR, p=0.1)
    assert np.abs(state.decision_values(X)[:, 0] - y).max() <= 0.1 + 0.01
    state.remove([2])
    assert np.abs(state.decision_values(X)[:2, 0] - y[:2]).max() <= 0.1 + 0.01
    assert state.gap <= 1e-3


# ---- classes -----------------------------------------------------------------------------------


def test_the_last_row_of_a_class_leaves_and_comes_back():
    X, y = blobs(4, 60, 3)
    twin = Twin(X, y, C=2.0, gamma=0.4)
    threes = np.flatnonzero(y == 3)
    twin.update(remove=threes[:-1])
    twin.check()
    twin.update(remove=threes[-1:])
    twin.check()
    assert sorted(twin.state.model.labels) == [1, 2]
    assert twin.state.report.retrained == 0
    twin.update(X[threes], y[threes])
    twin.check()
    twin.check_against_fresh()
    assert twin.state.report.retrained == 2


def test_a_new_class():
    X, y = blobs(4, 60, 3)
    old = y < 3
    twin = Twin(X[old], y[old], C=2.0, gamma=0.4)
    twin.update(X[~old][:1], y[~old][:1])
    twin.check()
    assert twin.state.report.retrained == 2
    twin.update(X[~old][1:], y[~old][1:])
    twin.check()
    assert twin.state.report.retrained == 0
    twin.check_against_fresh()


def test_one_class_of_rows_is_left():
    """No pair, no decision function; then there is one again."""
    X, y = blobs(4, 30)
    twin = Twin(X, y, C=2.0, gamma=0.4)
    twin.update(remove=np.flatnonzero(y > 0))
    assert list(twin.state.model.labels) == [-1]
    assert twin.state.predict(X[:5]).tolist() == [-1] * 5
    assert twin.state.objective == 0
    twin.update(remove=twin.ids[1:])
    assert len(twin.state) == 1
    twin.update(X[y > 0], y[y > 0])
    twin.check()
    twin.check_against_fresh()


@pytest.mark.parametrize("labels", [(1.0, -1.0), (-1.0, 1.0), (4.0, 2.0), (7.0, -3.0)])
def test_the_order_of_labels_follows_the_rows(labels):
    """As the first row of each class comes, but +1 before -1."""
    X, y = blobs(9, 40)
    y = np.where(y > 0, *labels)
    y[:2] = labels
    twin = Twin(X, y, C=2.0, gamma=0.4, weights={int(labels[0]): 3.0})
    orders = [list(twin.state.model.labels)]
    for _ in range(6):
        first = np.flatnonzero(twin.y != twin.y[0])[0]
        twin.update(remove=twin.ids[:first])
        twin.check()
        twin.check_against_fresh()
        orders.append(list(twin.state.model.labels))
    if set(labels) != {1.0, -1.0}:
        assert all(a != b for a, b in pairwise(orders))
    else:
        assert orders[0] == [1, -1]


# ---- costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["heart", "iris", "wine, weights", "heart, linear", "mpg", "pyrim, p = 0", "splice, polynomial"]
)
def test_set_cost(name):
    """Up and down again, and rows that join at the new C."""
    arguments, n, options = REAL[name]
    X, y = load(*arguments)
    order = np.random.default_rng(3).permutation(len(y))
    X, y = X[order], y[order]
    twin = Twin(X[:n], y[:n], **{**options, "C": 1.0})
    before = twin.state.objective
    for C in (0.01, 3.0, 200.0, 0.7):
        twin.set_cost(C)
        assert twin.state.param.C == twin.state.model.param.C == C
        twin.check()
    twin.check_against_fresh()
    twin.update(X[n : n + 20], y[n : n + 20])
    twin.check()
    twin.update(remove=range(n, n + 20))
    twin.set_cost(1.0)
    twin.check()
    assert twin.state.objective == pytest.approx(before, rel=1e-8)


def test_bounds_after_set_cost_are_those_of_C():
    """Not C but for rounding: a coefficient at its bound is C."""
    X, y = blobs(1, 60)
    twin = Twin(X, -y, C=0.1, gamma=0.4)
    for C in (0.3, 0.7, 1.1, 0.3):
        twin.set_cost(C)
        assert (np.abs(twin.state.model.sv_coef) == C).sum() > 5
        assert np.abs(twin.state.model.sv_coef).max() == C


def test_costs_that_are_none():
    X, y = blobs(1, 40)
    state = libsvmx.train(X, y, keep_state=True, C=1.0, gamma=0.4)
    for C in (0.0, -1.0, np.inf, np.nan, "2"):
        unchanged(state, ParameterError, lambda C=C: state.set_cost(C), "C must be")
    one = libsvmx.train(X, keep_state=True, y=y, svm_type=ONE_CLASS, gamma=0.4)
    unchanged(one, ParameterError, lambda: one.set_cost(2.0), "one-class has no C")


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


def test_ids():
    """Never given twice; in the order of the rows; any iterable takes them."""
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
        ({"svm_type": SvmType.NU_SVC}, "nu formulations"),
        ({"svm_type": SvmType.NU_SVR}, "nu formulations"),
        ({"kernel_type": KernelType.PRECOMPUTED}, "precomputed"),
        ({"probability": True}, "probability"),
        ({"weights": {1: 0.0}}, "weight 0"),
    ],
)
def test_states_that_cannot_be_kept(options, message):
    X, y = blobs(6, 20)
    with pytest.raises(ParameterError, match=message):
        libsvmx.train(np.eye(20) if "kernel_type" in options else X, y, keep_state=True, **options)


# ---- all or nothing ----------------------------------------------------------------------------


class StopAfter(Observer):
    """should_stop says so from the ``calls``-th call on."""

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


class FailingPath(Path):
    """Fails in the part that is ``countdown`` calls away, after the whole path."""

    countdown = -1

    def failing(self):
        FailingPath.countdown -= 1
        if FailingPath.countdown == 0:
            raise Failure

    def update(self, *arguments):
        super().update(*arguments)
        self.failing()

    def rescale(self, *arguments):
        super().rescale(*arguments)
        self.failing()

    def check(self, control):
        found = super().check(control)
        self.failing()
        return found


@pytest.mark.parametrize("part", [1, 2, 3])
def test_a_failure_in_any_part(part, monkeypatch):
    """Parts that were done are undone."""
    monkeypatch.setattr(change, "Path", FailingPath)
    X, y = blobs(4, 90, 3)
    twin = Twin(X[:60], y[:60], C=2.0, gamma=0.4)
    for call in (
        lambda: twin.state.update((X[60:], y[60:]), range(10)),
        lambda: twin.state.set_cost(0.3),
        lambda: twin.state.check(),
    ):
        FailingPath.countdown = part
        unchanged(twin.state, Failure, call)
        assert FailingPath.countdown == 0
    twin.update(X[60:], y[60:], range(10))
    twin.check()
    twin.set_cost(0.3)
    twin.check()
    twin.state.check()
    twin.check_against_fresh()


def test_a_failure_in_the_training_of_a_new_class(monkeypatch):
    X, y = blobs(4, 90, 3)
    old = y < 3
    twin = Twin(X[old], y[old], C=2.0, gamma=0.4)
    train_part, calls = change.train_part, []

    def failing(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise Failure
        return train_part(*arguments, **options)

    monkeypatch.setattr(change, "train_part", failing)
    come, labels = np.concatenate([X[:5], X[~old]]), np.concatenate([3 - y[:5] % 2, y[~old]])
    unchanged(twin.state, Failure, lambda: twin.state.add(come, labels))
    assert len(calls) == 2
    monkeypatch.undo()
    twin.update(come, labels)
    twin.check()


class LostPath(Path):
    def update(self, *arguments):
        super().update(*arguments)
        raise PathLost("lost")


def test_where_a_path_is_lost_smo_goes_on(monkeypatch):
    """From the state before, to the same optimum; and paths go on from there."""
    monkeypatch.setattr(change, "Path", LostPath)
    X, y = blobs(4, 90, 3)
    twin = Twin(X[:60], y[:60], C=2.0, gamma=0.4)
    for begin in (60, 75):
        twin.update(X[begin : begin + 15], y[begin : begin + 15], twin.ids[:7])
        assert twin.state.report.retrained == 3
        twin.check()
    twin.check_against_fresh()


class HopelessPath(LostPath):
    def by_smo(self, *arguments):
        super().by_smo(*arguments)
        raise PathLost("hopeless")


def test_where_smo_is_lost_too(monkeypatch):
    monkeypatch.setattr(change, "Path", HopelessPath)
    X, y = blobs(4, 90, 3)
    state = libsvmx.train(X[:60], y[:60], keep_state=True, C=2.0, gamma=0.4)
    unchanged(state, ParameterError, lambda: state.add(X[60:], y[60:]), "hopeless.*scale the data")


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_type": SIGMOID, "gamma": 1.0, "coef0": -0.5},
        {"kernel_type": SIGMOID, "gamma": 0.1, "coef0": 1.0},
        {"kernel_type": POLY, "gamma": 1.0, "coef0": -1.0, "degree": 2},
        {"kernel_type": POLY, "gamma": 1.0, "coef0": -1.0, "degree": 3},
    ],
)
@pytest.mark.parametrize("kind", [SvmType.C_SVC, SVR, ONE_CLASS])
def test_kernels_that_are_not_positive_semidefinite(options, kind):
    """A stationary point to eps, or an error and the state as it was. Never something else."""
    eps = 1e-3
    for seed in range(3):
        X, y = blobs(seed, 70)
        try:
            twin = Twin(X[:40], y[:40], C=1.0, svm_type=kind, eps=eps, nu=0.4, **options)
        except ParameterError as error:
            assert "cannot be followed" in str(error)
            continue
        for begin in range(40, 70, 10):
            before = fingerprint(twin.state)
            try:
                twin.update(X[begin : begin + 10], y[begin : begin + 10], twin.ids[:4])
            except ParameterError as error:
                assert "cannot be followed" in str(error)
                assert fingerprint(twin.state) == before
                continue
            before = fingerprint(twin.state)
            try:
                twin.state.check()
            except ParameterError:
                assert fingerprint(twin.state) == before
            (judged,) = twin.judged()
            assert judged.gap() <= eps + judged.noise
            assert twin.state.gap <= eps
            assert abs(judged.beta.sum() - judged.total) <= 1e-9


def test_threads():
    """Changes follow one another, whoever asks: ids are right, and so is the optimum."""
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
    # which class came first may differ from the order of the threads, but not from that of the ids
    assert state.decision_values(X) == pytest.approx(fresh.decision_values(X), abs=1e-7)


# ---- large margins, outliers, and what must not happen from within ---------------------------------


def noise(n, seed=5):
    """Labels without a rule: at large C most rows are on the margin."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)), np.where(rng.random(n) < 0.5, 1.0, -1.0)


def test_rows_far_from_the_margin_are_put_aside_and_come_back():
    """So large that a path goes on without them; a copy does what the state does."""
    X, y = noise(1500)
    state = libsvmx.train(X[:1400], y[:1400], keep_state=True, C=3, gamma=0.5)
    part = next(iter(state.parts.values()))
    assert part.path.margin_size * len(state) > 4e5  # else nothing is put aside
    other = state.copy()
    for each in (state, other):
        ids = each.update(add=(X[1400:], y[1400:]), remove=range(100))
        each.remove(ids[:50])
        assert each.gap < 1e-9
    fresh = libsvmx.train(X[state.ids], y[state.ids], keep_state=True, C=3, gamma=0.5)
    for each in (state, other):
        assert each.objective == pytest.approx(fresh.objective, rel=1e-10)
        np.testing.assert_allclose(each.decision_values(X), fresh.decision_values(X), rtol=0, atol=1e-8)
        assert each.check() < 1e-9


def test_an_outlier_leaves_nothing_behind():
    """Its kernel values set the scale of what is rounding, while it is there."""
    X, y = noise(200)
    state = libsvmx.train(X, y, keep_state=True, kernel_type=0)
    state.remove(state.add(np.full((1, 6), 1e6), [1]))
    with pytest.raises(libsvmx.DataError):
        state.update(add=(np.full((1, 6), 1e9), [1]), remove=[10**6])
    for k in range(20):
        state.update(add=(X[3 * k : 3 * k + 3], y[3 * k : 3 * k + 3]), remove=state.ids[:3])
    rows = np.r_[60:200, 0:60]
    fresh = libsvmx.train(X[rows], y[rows], keep_state=True, kernel_type=0)
    assert state.check() < 1e-10
    assert state.objective == pytest.approx(fresh.objective, rel=1e-10)


def test_an_observer_cannot_use_a_state_in_change():
    X, y = noise(1200)
    state = libsvmx.train(X[:600], y[:600], keep_state=True, C=100, gamma=0.5)
    before = bytes(state.model.coef)

    class Meddler(libsvmx.Observer):
        def should_stop(self):
            return bool(state.model)

    with pytest.raises(libsvmx.SvmxError, match="being changed"):
        state.add(X[600:], y[600:], observer=Meddler())
    assert bytes(state.model.coef) == before
    assert len(state.add(X[600:700], y[600:700])) == 100


def test_states_are_copied_but_not_pickled():
    X, y = noise(60)
    state = libsvmx.train(X, y, keep_state=True)
    for other in (copy.copy(state), copy.deepcopy(state)):
        other.remove([0])
        assert (len(other), len(state)) == (59, 60)
    with pytest.raises(TypeError, match="save it to a file"):
        pickle.dumps(state)
    for wrong in (lambda: libsvmx.predict(state, X), lambda: libsvmx.save_model("never", state)):
        with pytest.raises(TypeError, match=r"take its \.model"):
            wrong()
