"""States with rows that join and leave: after any change the optimum of a cold start, checked by NumPy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.data import dense_rows
from support.exact import Twin, blobs, come_and_go, noisy_quadrants, shaped, unchanged
from support.examples import examples
from support.paths import Followed, follow_by

import libsvmx
from libsvmx import KernelType, SvmType

LINEAR, POLY, RBF = KernelType.LINEAR, KernelType.POLY, KernelType.RBF
SVR, ONE_CLASS = SvmType.EPSILON_SVR, SvmType.ONE_CLASS

# ---- any sequence of changes -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:a weight is given for class:UserWarning")
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
    """Classes appear, disappear and change their order."""
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
    """Each row three times: dependent columns are exchanged without failure."""
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


@pytest.mark.parametrize("C", [1e6, 1e8, 1e10, 1e12])
def test_a_cost_that_never_binds(C):
    """The hard margin: being near a bound does not depend on the distance of the other bound."""
    X, y = blobs(0, 80)
    X[:, 0] += y
    few = Twin(X[:50], y[:50], C=C, gamma=0.5)
    few.update(X[50:], y[50:], range(5))
    few.check()
    assert few.state.report.retrained == 0
    assert np.abs(few.judged()[0].beta).max() < 1e5


def test_unscaled_features():
    """Cars in SI units: coefficients of 1e-12 matter where K is 1e13."""
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


def test_one_class_of_rows_is_left():
    """No pair, no decision function; later there is one again."""
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
    """By the first row of each class, except +1 before -1."""
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


def test_bounds_after_set_cost_are_those_of_C():
    """Exactly C: a coefficient at its bound equals C."""
    X, y = blobs(1, 60)
    twin = Twin(X, -y, C=0.1, gamma=0.4)
    for C in (0.3, 0.7, 1.1, 0.3):
        twin.set_cost(C)
        assert (np.abs(twin.state.model.sv_coef) == C).sum() > 5
        assert np.abs(twin.state.model.sv_coef).max() == C


@pytest.mark.parametrize("kind", [SvmType.C_SVC, SVR, SvmType.NU_SVR])
def test_what_rounding_leaves_of_a_large_cost_is_nothing_free(kind):
    """From a large C to one with all coefficients at bounds: rho is the middle of its interval, despite rounding."""
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


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_a_state_of_a_large_cost_begins_by_auto(C):
    """To the last bit; at the larger C SMO alone would reach its iteration limit, with a warning."""
    X, y = noisy_quadrants(300)
    smo, auto = (libsvmx.train(X, y, C=C, gamma=1.0, solver=solver, keep_state=True) for solver in ("smo", "auto"))
    assert np.array_equal(smo.model.coef, auto.model.coef)
    assert smo.gap <= 1e-13 * C


@pytest.mark.parametrize("options", [{"C": 3.0}, {"svm_type": SVR, "C": 3.0, "p": 0.3}], ids=["C-SVC", "SVR"])
def test_a_row_without_effect(options):
    """It joins, leaves, and returns if another pair of classes fails, with the bounds it had: it is needed later."""
    X, y = blobs(3, 160, 3)
    if "p" in options:
        y = 2.0 * X[:, 0] - X[:, 1]
    twin = Twin(X[:150], y[:150], gamma=0.2, **options)
    values = np.asarray(twin.state.decision_values(X)).reshape(len(X), -1)
    if "p" in options:
        idle = np.flatnonzero(np.abs(values[:, 0] - y) < 0.2)
    else:
        used = {id for b in twin.state.binaries.values() for id in b.ids[np.asarray(b.coefficients) != 0].tolist()}
        idle = np.setdiff1d(np.arange(150), list(used))
    row = int(idle[idle < 150][0])

    def optimum():
        return [
            (b.state.rho, sorted(zip(b.ids.tolist(), np.asarray(b.coefficients).tolist(), strict=True)))
            for b in twin.state.binaries.values()
        ]

    before = optimum()
    twin.update(X[row : row + 1], y[row : row + 1])
    twin.check()
    assert twin.state.report.breakpoints == 0
    assert optimum() != before
    twin.update(remove=[150])
    assert twin.state.report.breakpoints == 0
    assert optimum() == before
    twin.check()

    calls, last = [], 1 if "p" in options else 2  # of the pairs of its class

    class Interrupted(Followed):
        def rests(self, *arguments):
            calls.append(self.path.rests(*arguments))
            if len(calls) == last:
                raise KeyboardInterrupt
            return calls[-1]

    follow_by(Interrupted, twin.state)
    unchanged(twin.state, KeyboardInterrupt, lambda: twin.state.remove([row]))
    assert calls == [True] * last
    for binary in twin.state.binaries.values():
        binary.path = binary.path.path
    same = twin.ids[twin.y == y[row]] if "p" not in options else twin.ids
    twin.update(remove=[id for id in same if id != row][: len(same) - 2])  # few are left: its beta grows
    twin.check()
    twin.check_against_fresh()


@pytest.mark.parametrize("name", [("heart_scale",), ("a1a.xz", 400)])
@pytest.mark.parametrize("kernel_type", [POLY, RBF])
def test_scores_do_not_depend_on_how_many_rows_join(name, kernel_type):
    """To the last bit, though values of few rows are computed differently. These rows are far from the margin."""
    X, y = dense_rows(*name)
    n = len(y) // 2
    state = libsvmx.train(X[:n], y[:n], kernel_type=kernel_type, C=1.0, gamma=0.05, coef0=1.0, keep_state=True)
    far = n + np.flatnonzero(
        np.ravel(state.decision_values(X[n:])) * np.where(y[n:] == state.model.labels[0], 1, -1) > 1.01
    )
    far = far[:6]
    once, twice = state.copy(), state.copy()
    for one, rows in ((once, far), (twice, far[:3]), (twice, far[3:])):
        one.add(X[rows], y[rows])
        assert (one.report.breakpoints, one.report.steps) == (0, 0)
    a, b = ([np.asarray(p.state.K_beta)[np.argsort(p.ids)] for p in one.binaries.values()] for one in (once, twice))
    assert np.array_equal(a, b)
    once.remove(once.ids[-6:])
    assert once.model.coef == state.model.coef


def test_the_digest_of_rows_has_their_targets_and_weights():
    X, y = dense_rows("heart_scale")
    options = {"gamma": 0.1, "keep_state": True}
    kinds = [(y[:60], None), (np.r_[-y[0], y[1:60]], None), (y[:60], np.r_[2.0, np.ones(59)])]
    digests = {libsvmx.train(X[:60], t, sample_weight=w, **options).certificate()["sha256"] for t, w in kinds}
    assert len(digests) == 3


def test_rows_that_a_path_leaves_out_are_far():
    """Each one whose score meets the level nevertheless would take another path to repair it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5040, 2))
    y = np.where((np.hypot(*X.T) * 2 % 2 < 1) ^ (rng.random(5040) < 0.05), 1, -1)
    state = libsvmx.train(X[:5000], y[:5000], keep_state=True, gamma=4)
    ids = state.add(X[5000:], y[5000:])
    assert (state.report.retrained, state.report.repairs) == (0, 0)
    assert state.report.breakpoints > 50
    state.remove(ids)
    assert (state.report.retrained, state.report.repairs) == (0, 0)


def test_a_loaded_state_follows_its_path_to_a_far_larger_C(tmp_path):
    """It knows of no training, and so of none that would be shorter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = np.where(X[:, 0] + 1.5 * rng.normal(size=600) > 0, 1, -1)
    libsvmx.train(X, y, keep_state=True, gamma=0.2).save(tmp_path / "state.npz")
    loaded = libsvmx.State.load(tmp_path / "state.npz")
    loaded.set_cost(1000)
    assert loaded.report.retrained == 0 < loaded.report.breakpoints
