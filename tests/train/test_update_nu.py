"""States of nu-SVC and nu-SVR: two sums of coefficients, which change as rows join and leave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.data import dense_rows
from support.exact import Twin, blobs, come_and_go, fingerprint, shaped, unchanged
from support.examples import examples
from support.paths import Along, Followed, Lost, Short, follow_by
from support.statefiles import closed, opened

import libsvmx
from libsvmx import KernelType, ParameterError, State, SvmType
from libsvmx._core.buffers import filled
from libsvmx._solvers.path.path import Path, PathLost
from libsvmx._train.observer import Observer
from libsvmx._train.updating import transaction
from libsvmx._train.updating.left_out import values_left_out

LINEAR, POLY, RBF = KernelType.LINEAR, KernelType.POLY, KernelType.RBF
NU_SVC, NU_SVR = SvmType.NU_SVC, SvmType.NU_SVR


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([NU_SVC, NU_SVR]),
    k=st.sampled_from([2, 3]),
    source=st.sampled_from(["blobs", "grid", "thrice", "same"]),
    kernel_type=st.sampled_from([LINEAR, POLY, RBF]),
    nu=st.sampled_from([0.02, 0.3, 0.6]),
    paths=st.booleans(),
    sizes=st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), min_size=1, max_size=4),
)
@examples(80)
def test_any_rows(seed, kind, k, source, kernel_type, nu, paths, sizes):
    """The optimum, or, if nu is infeasible for the rows, an error and an unchanged state."""
    X, y = blobs(seed, 120, k)
    rng = np.random.default_rng(seed)
    X = shaped(X, source, rng)
    options = {"svm_type": kind, "nu": nu, "kernel_type": kernel_type, "gamma": 0.3, "coef0": 1.0, "degree": 2}
    if kind == NU_SVR:
        y = y + X[:, 0].round(1)
    try:
        twin = Along(Followed if paths else Short, X[:40], y[:40], **options)
    except ParameterError as error:
        assert "infeasible" in str(error) or "cannot be told apart" in str(error)
        return
    for size in sizes:
        before = fingerprint(twin.state)
        try:
            come_and_go(twin, X, y, [size], rng)
        except ParameterError as error:
            assert "infeasible" in str(error) or "cannot be told apart" in str(error)
            twin.state._model = None
            assert fingerprint(twin.state) == before


R_OF_A_THOUSANDTH = {"svm_type": NU_SVC, "nu": 0.3, "kernel_type": KernelType.SIGMOID, "gamma": 0.05, "coef0": -1.0}


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_where_paths_are_lost_values_are_as_accurate_as_by_a_small_tolerance(seed):
    """Their error is that of the dual problem divided by r."""
    X, y = blobs(seed, 60)
    states = [libsvmx.train(X, y, keep_state=True, eps=eps, **R_OF_A_THOUSANDTH) for eps in (1e-3, 1e-9)]
    values = [state.decision_values(X) for state in states]
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=0.01 * np.abs(values[1]).max())


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_a_file_is_trained_again_unless_its_gap_is_eps_r(seed, tmp_path):
    X, y = blobs(seed, 60)
    file = tmp_path / "state"
    for eps in (0.1, 1e-3):
        libsvmx.train(X, y, keep_state=True, eps=eps, **R_OF_A_THOUSANDTH).save(file)
        description, arrays = opened(file.read_bytes())
        description["param"]["eps"] = 1e-3
        file.write_bytes(closed(description, arrays))
        state = State.load(file)
        assert state.report.retrained == (eps > 1e-3)
        assert state.gap < 1e-5


# ---- refusals -------------------------------------------------------------------------------------


def test_rows_of_one_class_may_join_by_themselves():
    """Feasibility of nu depends on all rows."""
    X, y = blobs(3, 140)
    order = np.argsort(y, kind="stable")
    twin = Twin(X[order[40:100]], y[order[40:100]], svm_type=NU_SVC, nu=0.5, gamma=0.3)
    twin.update(X[order[:5]], y[order[:5]])
    twin.check()


def test_nu_at_its_limit():
    """All rows of a class are at their bound, so none of them can move; paths lead there, and on from there."""
    X, y = blobs(5, 80)
    few, many = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    first = np.concatenate([few[:20], many[:30]])
    twin = Twin(X[first], y[first], svm_type=NU_SVC, nu=0.8, gamma=0.3)
    twin.check()
    unchanged(twin.state, ParameterError, lambda: twin.state.remove([0]), "is infeasible")
    for come, gone in ((many[:0], [49]), (many[30:31], []), (few[20:22], [20]), (few[:0], [0, 1]), (many[31:32], [])):
        twin.update(X[come], y[come], gone)
        assert twin.state.report.retrained == 0
        twin.check()
    twin.check_against_fresh()
    balanced = np.concatenate([few[:20], many[:20]])
    twin = Twin(X[balanced], y[balanced], svm_type=NU_SVC, nu=0.9, gamma=0.3)
    for nu in (1.0, 0.5):
        twin.state.set_nu(nu)
        twin.options["nu"] = nu
        assert twin.state.report.retrained == 0
        twin.check()
    twin.check_against_fresh()


@pytest.mark.parametrize("kind", [NU_SVC, NU_SVR])
def test_a_path_to_another_nu_that_is_longer_than_trainings(kind, monkeypatch):
    """It is given up, the problem is trained, and paths go on from there."""
    X, y = blobs(4, 90, 3 if kind == NU_SVC else 2)
    twin = Twin(X[:80], y[:80] if kind == NU_SVC else X[:80, 0], svm_type=kind, nu=0.3, gamma=0.4)
    with monkeypatch.context() as patched:
        patched.setattr(transaction, "most_cost", lambda binary: 0.0)
        twin.state.set_nu(0.4)
    twin.options["nu"] = 0.4
    assert twin.state.report.retrained == len(twin.state.binaries)
    twin.check()
    twin.state.set_nu(0.35)
    twin.options["nu"] = 0.35
    assert twin.state.report.retrained == 0
    twin.check()
    twin.update(X[80:], y[80:] if kind == NU_SVC else X[80:, 0], [3, 5])
    twin.check_against_fresh()


def test_identical_classes():
    """Rows of both classes at the same places: r is 0, and there is no model."""
    X, y = blobs(7, 60)
    twin = Twin(X, y, svm_type=NU_SVC, nu=0.5, gamma=0.3)
    unchanged(twin.state, ParameterError, lambda: twin.state.add(X, -y), "cannot be told apart")
    with pytest.raises(ParameterError, match="cannot be told apart"):
        libsvmx.train(np.tile(X, (2, 1)), np.concatenate([y, -y]), svm_type=NU_SVC, keep_state=True)
    twin.check()


def test_an_r_of_rounding_size_counts_as_zero():
    """Rows of both classes at nearly the same places: r is not 0, but below the smallest gap that counts."""
    X, y = blobs(7, 60)
    near = X + 3e-4 * np.random.default_rng(1).normal(size=X.shape)
    twin = Twin(X, y, svm_type=NU_SVC, nu=0.5, gamma=0.3)
    unchanged(twin.state, ParameterError, lambda: twin.state.add(near, -y), "cannot be told apart")
    with pytest.raises(ParameterError, match="cannot be told apart"):
        libsvmx.train(np.concatenate([X, near]), np.concatenate([y, -y]), svm_type=NU_SVC, gamma=0.3, keep_state=True)


# ---- lost paths -----------------------------------------------------------------------------------


class Far(Lost):
    def near(self, *arguments):
        raise PathLost("far")


@pytest.mark.parametrize("kind", [NU_SVC, NU_SVR])
@pytest.mark.parametrize("path", [Lost, Far])
def test_where_paths_are_lost(path, kind):
    """Training continues, and if that is lost, too, SMO in double; later paths start from there."""
    X, y = blobs(4, 90, 2)
    y = y if kind == NU_SVC else y + X[:, 0]
    twin = Along(path, X[:60], y[:60], svm_type=kind, nu=0.4, gamma=0.4)
    for begin in (60, 75):
        twin.update(X[begin : begin + 15], y[begin : begin + 15], twin.ids[:7])
        assert twin.state.certificate()["retrained"] == 1
        twin.check()
    twin.state.set_nu(0.3)
    twin.options["nu"] = 0.3
    assert twin.state.report.retrained == 1
    twin.check()
    follow_by(path, twin.state)
    if kind == NU_SVR:
        twin.set_cost(2.0)
        assert twin.state.report.retrained == 1
        twin.check()
    twin.check_against_fresh()


@pytest.mark.parametrize("kind", [NU_SVC, NU_SVR])
def test_a_large_margin(kind):
    """Its members, in two groups, are factored at once."""
    X, y = blobs(2, 420)
    y = y if kind == NU_SVC else y + X[:, 0]
    twin = Twin(10 * X[:400], y[:400], svm_type=kind, nu=0.3, C=10.0, gamma=2.0)
    (binary,) = twin.state.binaries.values()
    assert binary.state.margin_size > 200
    assert not binary.state.inexact
    twin.check()
    twin.update(10 * X[400:], y[400:], range(5))
    twin.check()


# ---- copies, files, kernel values -----------------------------------------------------------------


@pytest.mark.parametrize(("kind", "k", "nu"), [(NU_SVC, 2, 0.4), (NU_SVC, 3, 0.2), (NU_SVR, 2, 0.4), (NU_SVC, 2, 0.97)])
def test_leave_one_out(kind, k, nu):
    """The value of each row from the state without it; nan if it cannot leave."""
    X, y = blobs(10, 41, k)
    y = y if kind == NU_SVC else y + X[:, 0]
    state = libsvmx.train(X, y, svm_type=kind, nu=nu, gamma=0.4, keep_state=True)
    before = fingerprint(state)
    found = values_left_out(state, Observer())
    state._model = None
    assert fingerprint(state) == before
    cannot = 0
    for pair, (ids, values) in found.items():
        for row in range(0, 41, 3):
            if row not in ids:
                continue
            value, other = values[ids == row][0], state.copy()
            try:
                other.remove([row])
            except ParameterError:
                assert np.isnan(value)
                cannot += 1
                continue
            binary = other.binaries[pair]
            point = libsvmx.decision_values(other.model, X[row : row + 1])[0]
            place = list(other.binaries).index(pair)
            sign = 1.0 if pair is None or pair[0] == y[0] or k > 2 else -1.0
            assert value == pytest.approx(sign * point[place], abs=1e-8)
            assert binary.state.gap() < 1e-9
    assert (cannot > 0) == (nu == 0.97)


# ---- from a model of LIBSVM -----------------------------------------------------------------------


def test_a_model_of_a_tube_without_width(tmp_path):
    """Both variables of a row are then nonzero, and the model only has their sums: its nu cannot be recovered."""
    X, y = dense_rows("pyrim")
    model = libsvmx.train(X, y, svm_type=NU_SVR, nu=1.0, gamma=0.2)
    known = State.from_model(X, y, model)
    libsvmx.save_model(str(tmp_path / "model"), model)
    with pytest.raises(libsvmx.DataError, match="give the C and nu it was trained with, or train again"):
        State.from_model(X, y, libsvmx.load_model(str(tmp_path / "model")), nu=1.0)
    refined = pytest.importorskip("libsvmx.sklearn").NuSVR(nu=1.0, gamma=0.2, C=1.0, refine=True).fit(X, y)
    exact = libsvmx.train(X, y, svm_type=NU_SVR, nu=1.0, gamma=0.2, keep_state=True)
    for found in (known, refined):
        np.testing.assert_allclose(found.predict(X), exact.predict(X), rtol=0, atol=1e-9)


def test_a_path_has_a_sum_for_each_group():
    path = Path(1, 1e6, 2)
    with pytest.raises(ValueError, match="1 sums of 2 groups"):
        path.update(0, filled("i", []), (0.0,), None)
