"""States that rows join and leave: after any change the optimum of a training from nothing, by NumPy's judgement."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import Twin, blobs, come_and_go, load, shaped
from support.examples import examples

import libsvmx
from libsvmx import KernelType, SvmType
from libsvmx._train.updating.left_out import values_left_out

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
@examples(120)
def test_classification(seed, k, n, source, kernel_type, C, weights, sizes):
    """Classes come, go and change their order as they like."""
    X, y = blobs(seed, 120, k)
    rng = np.random.default_rng(seed)
    X = shaped(X, source, rng)
    twin = Twin(X[:n], y[:n], C=C, kernel_type=kernel_type, gamma=0.3, coef0=1.0, degree=2, weights=weights)
    twin.check()
    come_and_go(twin, X, y, sizes, rng)


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
@examples(120)
def test_regression_and_one_class(seed, n, kind, p, nu, source, kernel_type, C, sizes):
    """More rows may join at once than nu l, or than there are."""
    X, _ = blobs(seed, 120)
    rng = np.random.default_rng(seed)
    z = (X[:, 0] + 0.3 * rng.normal(size=120)).round(1)
    X = shaped(X, source, rng)
    if source == "constant":
        z[:] = 2.5
    options = {"kernel_type": kernel_type, "gamma": 0.3, "coef0": 1.0, "degree": 2, "p": p, "nu": nu, "C": C}
    twin = Twin(X[:n], z[:n], svm_type=kind, **options)
    twin.check()
    come_and_go(twin, X, z, sizes, rng)


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


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SVR, SvmType.NU_SVR])
def test_what_rounding_leaves_of_a_large_cost_is_nothing_free(kind):
    """From a large C to one at which all are on bounds: rho is the middle of its interval, whatever is left."""
    off = 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        n = 2 * rng.integers(3, 16)
        X = rng.normal(size=(n, 2)).round(rng.integers(0, 3))
        y = (X.sum(axis=1) + rng.normal(size=n)).round(1)
        if kind == SvmType.C_SVC:
            y = rng.permutation(np.arange(n) % 2)
        twin = Twin(X, y, svm_type=kind, C=100.0, nu=1.0, p=0.01, gamma=1.0)
        for C in (50.0, (0.01, 1e-4)[seed % 2]):
            twin.set_cost(C)
        twin.check()
        (binary,) = twin.state.binaries.values()
        off += binary.state.margin_size == 0
    assert off > 20


@pytest.mark.parametrize("cache_size", [100, 0.005])
def test_a_path_has_the_same_bits_whatever_paths_went_before(cache_size):
    """Which kernel rows are kept differs, and in a copy none are."""
    X, y = load("heart_scale")
    state = libsvmx.train(X, y, C=4, gamma=0.1, keep_state=True, cache_size=cache_size)
    twin = state.copy()
    expected = values_left_out(twin, libsvmx.Observer())
    for other in (twin, state, state.copy()):
        for pair, (ids, values) in values_left_out(other, libsvmx.Observer()).items():
            assert ids.tobytes() == expected[pair][0].tobytes()
            assert values.tobytes() == expected[pair][1].tobytes()


def test_a_certificate_of_a_change():
    """Its digest is that of the rows, however they came, and of nothing else."""
    X, y = load("heart_scale")
    state = libsvmx.train(X[:80], y[:80], C=4, gamma=0.1, keep_state=True)
    assert state.certificate()["gap_before"] is None
    gap = state.gap
    state.update(add=(X[80:90], y[80:90]), remove=[0, 7])
    found = state.certificate()
    assert found["gap_before"] == gap == state.report.gap_before
    assert found["gap"] == state.gap == state.report.gap
    assert (found["rows"], found["breakpoints"]) == (88, state.report.breakpoints)
    ids = np.delete(np.arange(90), [0, 7])
    dense = np.asarray(X)[ids]
    row, column = np.nonzero(dense)
    digest = hashlib.sha256(ids.astype("<i8"))
    digest.update(np.searchsorted(row, np.arange(89)).astype("<i8"))
    digest.update((column + 1).astype("<i4"))
    digest.update(dense[row, column].astype("<f8"))
    digest.update(np.asarray(y)[ids].astype("<f8"))
    digest.update(np.ones(88).astype("<f8"))
    assert found["sha256"] == digest.hexdigest()
    state.set_cost(8)
    assert state.certificate()["sha256"] == found["sha256"]
    assert state.report.gap_before == found["gap"]
    state.remove([89])
    assert state.certificate()["sha256"] != found["sha256"]


def test_the_digest_of_rows_has_their_targets_and_weights():
    X, y = load("heart_scale")
    options = {"gamma": 0.1, "keep_state": True}
    kinds = [(y[:60], None), (np.r_[-y[0], y[1:60]], None), (y[:60], np.r_[2.0, np.ones(59)])]
    digests = {libsvmx.train(X[:60], t, sample_weight=w, **options).certificate()["sha256"] for t, w in kinds}
    assert len(digests) == 3
