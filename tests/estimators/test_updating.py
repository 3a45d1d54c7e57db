"""Rows that join and leave a fitted estimator, and leave-one-out."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from support.data import sparse_rows
from support.optional import optional

import libsvmx
from libsvmx.api.state import State

base = optional("sklearn.base")
exceptions = optional("sklearn.exceptions")

NAMES = ("SVC", "SVR", "OneClassSVM", "NuSVC", "NuSVR")


MORE, MORE_Y = sparse_rows("heart_scale", 202)
X, Y = MORE[:200], MORE_Y[:200]
DENSE = X.toarray()
IRIS, SPECIES = sparse_rows("iris.scale", 150)
NAMED = np.array(["virginica", "setosa", "versicolor"])[SPECIES.astype(int) - 1]


def values(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


def targets_of(name):
    return Y if name in ("SVC", "NuSVC") else Y + DENSE[:, 0]


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def assert_same(found, expected, rows, to_row=None):
    """The same model; ``to_row``: the number in ``found`` of each row of ``expected``."""
    np.testing.assert_allclose(values(found, rows), values(expected, rows), atol=1e-9)
    np.testing.assert_array_equal(found.predict(rows), expected.predict(rows)) if base.is_classifier(found) else None
    support = expected.support_ if to_row is None else to_row[expected.support_]
    np.testing.assert_array_equal(found.support_, support)
    np.testing.assert_array_equal(found.n_support_, expected.n_support_)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-9)
    np.testing.assert_allclose(dense(found.dual_coef_), dense(expected.dual_coef_), atol=1e-8)
    np.testing.assert_array_equal(dense(found.support_vectors_), dense(expected.support_vectors_))
    assert type(found.support_vectors_) is type(expected.support_vectors_)
    assert found.fit_status_ == 0
    assert found.optimality_ < 1e-9


# ---- rows join and leave --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [X, DENSE], ids=["sparse", "dense"])
@pytest.mark.parametrize("name", NAMES)
def test_batches_end_where_one_fit_does(name, rows):
    y, kind = targets_of(name), getattr(libsvmx, name)
    found = kind(gamma=0.1)
    for part in (slice(0, 90), slice(90, 91), slice(91, 200)):
        assert found.partial_fit(rows[part], y[part]) is found
    assert_same(found, kind(gamma=0.1, refine=True).fit(rows, y), rows)
    np.testing.assert_array_equal(found.row_ids_, np.arange(200))
    assert found.shape_fit_ == rows.shape


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_leave_have_never_been_there(name):
    y, kind = MORE_Y if name in ("SVC", "NuSVC") else MORE_Y + MORE.toarray()[:, 0], getattr(libsvmx, name)
    found = kind(gamma=0.1, keep_rows=True).fit(X, y[:200])
    found.unlearn([3, 5]).partial_fit(MORE[200:], y[200:]).unlearn(range(100, 120))
    kept = np.array([i for i in range(202) if i not in (3, 5) and not 100 <= i < 120])
    np.testing.assert_array_equal(found.row_ids_, kept)
    assert_same(found, kind(gamma=0.1, refine=True).fit(MORE[kept], y[kept]), X, kept)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_a_precomputed_kernel(name):
    """Columns belong to all rows ever given; everything else is as with the computed kernel."""
    y, kind = MORE_Y if name in ("SVC", "NuSVC") else MORE_Y + MORE.toarray()[:, 0], getattr(libsvmx, name)
    features = MORE.toarray()
    K = np.exp(-0.1 * ((features[:, None] - features[None]) ** 2).sum(axis=2))
    given, own = kind(kernel="precomputed"), kind(gamma=0.1, keep_rows=True)
    given.partial_fit(K[:190, :190], y[:190])
    own.fit(features[:190], y[:190])
    assert given.row_ids_.tolist() == own.row_ids_.tolist()
    for begin, end, gone in ((190, 191, [3]), (191, 200, range(100, 120)), (200, 202, [191])):
        for each, rows in ((given, K[begin:end, :end]), (own, features[begin:end])):
            assert each.unlearn(gone).partial_fit(rows, y[begin:end]) is each
        assert given.n_features_in_ == end
        np.testing.assert_array_equal(given.row_ids_, own.row_ids_)
        np.testing.assert_array_equal(given.support_, own.support_)
        np.testing.assert_allclose(values(given, K[:, :end]), values(own, features), atol=1e-9)
    for each in (given, own):
        if hasattr(each, "C"):
            each.set_params(C=3.0)
        if hasattr(each, "nu"):
            each.set_params(nu=0.3)
        each.unlearn([7])
    restored = pickle.loads(pickle.dumps(given))
    for each in (given, restored):
        np.testing.assert_allclose(each.loo_decision_function(), own.loo_decision_function(), atol=1e-8)
        np.testing.assert_allclose(values(each, K), values(own, features), atol=1e-9)
        assert each.support_vectors_.shape == (0, 0)
        assert each.shape_fit_ == (len(own.row_ids_), 202)
    kept = own.row_ids_
    square = kind(**{**given.get_params(), "refine": True}).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(values(square, K[:, kept]), values(own, features), atol=1e-9)
    before = values(given, K)
    for rows in (K[:2], K[:2, :200]):
        with pytest.raises(ValueError, match="need 204 kernel values each"):
            given.partial_fit(rows, y[:2])
    bad = np.ones((2, 204))
    bad[0, 203] = 0.5
    with pytest.raises(ValueError, match="row 1: the kernel is not symmetric"):
        given.partial_fit(bad, y[:2])
    np.testing.assert_array_equal(values(given, K), before)


def test_a_fit_that_keeps_rows_is_as_one_that_does_not():
    for name in NAMES:
        expected = getattr(libsvmx, name)(gamma=0.1).fit(X, Y)
        found = getattr(libsvmx, name)(gamma=0.1, keep_rows=True).fit(X, Y)
        np.testing.assert_array_equal(values(found, X), values(expected, X))
        np.testing.assert_array_equal(found.n_iter_, expected.n_iter_)
        assert not hasattr(expected, "row_ids_")


def test_keeping_and_refining_is_refining():
    expected = libsvmx.SVC(gamma=0.5, refine=True).fit(IRIS, NAMED)
    found = libsvmx.SVC(gamma=0.5, refine=True, keep_rows=True).fit(IRIS, NAMED)
    assert_same(found, expected, IRIS)
    np.testing.assert_array_equal(found.n_iter_, expected.n_iter_)


def test_keeping_and_refining_with_balanced_classes_and_probabilities():
    given = {"gamma": 0.1, "class_weight": "balanced", "probability": True, "random_state": 0, "refine": True}
    expected = libsvmx.SVC(**given).fit(X, Y)
    found = libsvmx.SVC(keep_rows=True, **given).fit(X, Y)
    assert_same(found, expected, X)
    np.testing.assert_array_equal(found.class_weight_, expected.class_weight_)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert np.isfinite(found.loo_decision_function()).all()


def test_classes_come_and_go():
    found = libsvmx.SVC(gamma=0.5, C=5)
    first = np.flatnonzero(NAMED != "setosa")
    found.partial_fit(IRIS[first], NAMED[first])
    assert list(found.classes_) == ["versicolor", "virginica"]
    rest = np.flatnonzero(NAMED == "setosa")
    found.partial_fit(IRIS[rest], NAMED[rest])
    assert list(found.classes_) == ["setosa", "versicolor", "virginica"]
    order = np.r_[first, rest]
    expected = libsvmx.SVC(gamma=0.5, C=5, refine=True).fit(IRIS[order], NAMED[order])
    assert_same(found, expected, IRIS)
    gone = np.flatnonzero(NAMED[order] == "versicolor")
    found.unlearn(gone)
    assert list(found.classes_) == ["setosa", "virginica"]
    kept = np.setdiff1d(np.arange(150), gone)
    assert_same(found, libsvmx.SVC(gamma=0.5, C=5, refine=True).fit(IRIS[order[kept]], NAMED[order[kept]]), IRIS, kept)


def test_longer_names_of_classes_are_kept_whole():
    y = np.array(["a", "b"])[np.arange(200) % 2]
    found = libsvmx.SVC(gamma=0.1).partial_fit(X, y).partial_fit(X[:9], np.array(["much longer"] * 9))
    assert list(found.classes_) == ["a", "b", "much longer"]


def test_weights_of_rows_and_classes():
    weights = np.arange(150) % 4 / 2.0
    weights[7] = -1.0
    parameters = {"gamma": 0.5, "class_weight": {"setosa": 3.0, "virginica": 0.5, "versicolor": 1.0}}
    found = libsvmx.SVC(**parameters)
    order = np.argsort(NAMED != "virginica", kind="stable")
    order = np.r_[order[:40], order[60:], order[40:60]]
    rows, y, w = IRIS[order], NAMED[order], weights[order]
    found.partial_fit(rows[:80], y[:80], sample_weight=w[:80])
    found.partial_fit(rows[80:], y[80:], sample_weight=w[80:])
    expected = libsvmx.SVC(refine=True, **parameters).fit(rows, y, sample_weight=w)
    assert_same(found, expected, IRIS)
    np.testing.assert_array_equal(found.class_weight_, expected.class_weight_)


def test_another_cost_is_followed():
    found = libsvmx.SVC(gamma=0.1).partial_fit(X[:150], Y[:150])
    found.set_params(C=4.0).partial_fit(X[150:], Y[150:])
    assert_same(found, libsvmx.SVC(gamma=0.1, C=4.0, refine=True).fit(X, Y), X)


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_another_nu_is_followed(name):
    y, kind = targets_of(name), getattr(libsvmx, name)
    found = kind(gamma=0.1, nu=0.3).partial_fit(X[:150], y[:150])
    found.set_params(nu=0.6).partial_fit(X[150:], y[150:])
    assert_same(found, kind(gamma=0.1, nu=0.6, refine=True).fit(X, y), X)


def test_the_width_of_a_scaled_kernel_stays():
    found = libsvmx.SVC().partial_fit(X[:150], Y[:150])
    gamma = found._gamma
    found.partial_fit(X[150:], Y[150:])
    assert_same(found, libsvmx.SVC(gamma=gamma, refine=True).fit(X, Y), X)


def test_copies_go_on_by_themselves():
    found = libsvmx.SVC(gamma=0.1).partial_fit(X[:100], Y[:100])
    before = found.decision_function(X)
    expected = libsvmx.SVC(gamma=0.1, refine=True).fit(X, Y)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        again = pickle.loads(pickle.dumps(other))  # whose state was not used in between
        assert_same(again.partial_fit(X[100:], Y[100:]), expected, X)
        np.testing.assert_array_equal(found.decision_function(X), before)
    kept = libsvmx.SVC(gamma=0.1, keep_rows=True).fit(X[:100], Y[:100])
    assert_same(pickle.loads(pickle.dumps(kept)).partial_fit(X[100:], Y[100:]), expected, X)


def test_a_fit_forgets_rows_that_were_kept():
    found = libsvmx.SVC(gamma=0.1).partial_fit(X[:100], Y[:100]).fit(X, Y)
    assert not hasattr(found, "row_ids_")
    with pytest.raises(ValueError, match="the training rows are not kept"):
        found.unlearn([0])


# ---- refusals -------------------------------------------------------------------------------------


def snapshot(model):
    return values(model, X), model.row_ids_, model.support_, len(model._kept.problem)


def assert_unchanged(model, before):
    for now, then in zip(snapshot(model), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.unlearn([200]), "there is no row with id 200"),
        (lambda m: m.unlearn([-1]), "there is no row with id -1"),
        (lambda m: m.unlearn([3, 3]), "given twice"),
        (lambda m: m.unlearn([0.5]), "whole numbers"),
        (lambda m: m.unlearn(np.ones(200, bool)), "not a mask"),
        (lambda m: m.unlearn(np.flatnonzero(Y > 0)), "fewer than two classes"),
        (lambda m: m.unlearn(range(200)), "fewer than two classes"),
        (lambda m: m.partial_fit(X[:, :3], Y), "features"),
        (lambda m: m.partial_fit(DENSE * np.nan, Y), "NaN"),
        (lambda m: m.partial_fit(X, Y[:3]), "inconsistent"),
        (lambda m: m.partial_fit(X, np.array(["a", "b"] * 100)), "labels are of type"),
        (lambda m: m.partial_fit(X, Y, classes=[1.0, 2.0]), "not among classes"),
        (lambda m: m.partial_fit(X, Y, sample_weight=np.ones(3)), "shape"),
        (lambda m: m.set_params(gamma=0.2).partial_fit(X, Y), "gamma was 0.1 in the training, and is 0.2 now"),
        (lambda m: m.set_params(kernel="linear").unlearn([1]), "kernel was 'rbf'"),
        (lambda m: m.set_params(probability=True).partial_fit(X, Y), "no probability estimates"),
        (lambda m: m.set_params(C=-1.0).partial_fit(X, Y), "C must be > 0"),
        (lambda m: m.set_params(max_time=1e-9).partial_fit(X[::2], -Y[::2]), "time limit"),
    ],
)
def test_a_change_that_fails_has_not_been_made(change, message):
    found = libsvmx.SVC(gamma=0.1).partial_fit(X, Y)
    before = snapshot(found)
    with pytest.raises(ValueError, match=message):
        change(found)
    assert_unchanged(found, before)
    found.set_params(gamma=0.1, kernel="rbf", probability=False, C=1.0, max_time=None)
    assert_same(found.unlearn([0]), libsvmx.SVC(gamma=0.1, refine=True).fit(X[1:], Y[1:]), X, np.arange(1, 200))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("SVC", {"probability": True}, "no probability estimates"),
        ("SVC", {"class_weight": "balanced"}, "'balanced' changes with every row"),
        ("SVR", {"kernel": "precomputed"}, "must be a square matrix"),
        ("OneClassSVM", {"kernel": lambda a, b: a @ b.T}, "not a callable one"),
        ("SVC", {"C": np.inf}, "C must be finite"),
    ],
)
def test_what_cannot_be_followed(name, parameters, message):
    made = getattr(libsvmx, name)(**parameters)
    with pytest.raises(ValueError, match=message):
        made.partial_fit(X.toarray(), Y)
    with pytest.raises(exceptions.NotFittedError):
        made.predict(X)


def test_rows_that_nu_does_not_allow():
    """Nothing changes, whichever rows join or leave."""
    found = libsvmx.NuSVC(gamma=0.1, nu=0.7).partial_fit(X, Y)
    before = snapshot(found)
    for call in (
        lambda: found.unlearn(np.flatnonzero(Y > 0)[:60]),
        lambda: found.partial_fit(X[Y < 0], Y[Y < 0]),
        lambda: found.set_params(nu=0.99).unlearn([3]),
    ):
        with pytest.raises(ValueError, match="is infeasible: classes"):
            call()
        assert_unchanged(found, before)
    found.set_params(nu=0.7).unlearn([0])
    assert_same(found, libsvmx.NuSVC(gamma=0.1, nu=0.7, refine=True).fit(X[1:], Y[1:]), X, np.arange(1, 200))


def test_leave_one_out_of_rows_that_nu_needs():
    """nan, as for the only row of its class."""
    rows = np.r_[np.flatnonzero(Y > 0)[:20], np.flatnonzero(Y < 0)[:20]]
    found = libsvmx.NuSVC(gamma=0.1, nu=0.96, keep_rows=True).fit(X[rows], Y[rows])
    assert np.isfinite(found.loo_decision_function()).all()
    found.unlearn([0])
    result = found.loo_decision_function()
    assert np.isnan(result).tolist() == (Y[rows][1:] > 0).tolist()


def test_rows_that_were_not_kept():
    found = libsvmx.SVC().fit(X, Y)
    for call in (lambda: found.unlearn([0]), found.loo_decision_function):
        with pytest.raises(ValueError, match="fit with keep_rows=True, or begin with partial_fit"):
            call()
    assert not hasattr(found, "partial_fit")  # as scikit-learn's checks require
    with pytest.raises(AttributeError, match="fit with keep_rows=True, or begin with partial_fit"):
        found.partial_fit(X, Y)
    for call in (lambda: libsvmx.SVC().unlearn([0]), libsvmx.SVC().loo_decision_function):
        with pytest.raises(exceptions.NotFittedError):
            call()


def test_the_first_rows_are_of_two_classes():
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        libsvmx.SVC().partial_fit(X[:3], np.ones(3), classes=[0, 1])


def test_ctrl_c_leaves_the_model_before_or_the_one_after(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    expected = libsvmx.SVC(gamma=0.1, refine=True).fit(X, Y)
    for owner, name in ((State, "change"), (libsvmx.SVC, "_tell_end")):  # before a row has joined, and afterwards
        found = libsvmx.SVC(gamma=0.1).partial_fit(X[:100], Y[:100])
        before = snapshot(found)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                found.partial_fit(X[100:], Y[100:])
        assert_unchanged(found, before)
        assert_same(found.partial_fit(X[100:], Y[100:]), expected, X)
    change = State.change

    def interrupted_at_the_end(*args):
        change(*args)
        raise KeyboardInterrupt

    found = libsvmx.SVC(gamma=0.1).partial_fit(X[:100], Y[:100])
    with monkeypatch.context() as patch:
        patch.setattr(State, "change", interrupted_at_the_end)
        with pytest.raises(KeyboardInterrupt):
            found.partial_fit(X[100:], Y[100:])
    assert_same(found, expected, X)
    found = libsvmx.SVC(gamma=0.1)
    with monkeypatch.context() as patch:
        patch.setattr("libsvmx.sklearn.kept.state_at", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found.partial_fit(X, Y)
    with pytest.raises(exceptions.NotFittedError):
        found.predict(X)


def test_a_first_batch_that_is_stopped_is_told_and_goes_on():
    found = libsvmx.SVC(gamma=0.1, max_time=1e-9)
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit"):
        found.partial_fit(X[:100], Y[:100])
    assert found.fit_status_ == 1
    found.set_params(max_time=None).partial_fit(X[100:], Y[100:])
    assert_same(found, libsvmx.SVC(gamma=0.1, refine=True).fit(X, Y), X)


# ---- leave-one-out --------------------------------------------------------------------------------


def left_out(kind, parameters, rows, y, at, weights=None):
    """The decision value of each row in ``at`` from a model of all others."""
    out = []
    for i in at:
        kept = np.delete(np.arange(rows.shape[0]), i)
        model = kind(**parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[kept], y[kept], sample_weight=None if weights is None else weights[kept])
        out.append(values(model, rows[i])[0])
    return np.array(out)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_leave_one_out_is_exact(name, weighted):
    y, kind = targets_of(name), getattr(libsvmx, name)
    weights = np.arange(200) % 3 / 2.0 if weighted else None
    found = kind(gamma=0.1, keep_rows=True)
    if hasattr(found, "C"):
        found.set_params(C=2.0)
    found.fit(X, y, sample_weight=weights)
    before = values(found, X)
    result = found.loo_decision_function()
    assert result.shape == (200,)
    parameters = {**found.get_params(), "keep_rows": False, "refine": True}
    at = np.arange(0, 200, 7)
    np.testing.assert_allclose(result[at], left_out(kind, parameters, X, y, at, weights), atol=1e-8)
    np.testing.assert_array_equal(values(found, X), before)
    np.testing.assert_allclose(found.loo_decision_function(), result, atol=1e-9)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_leave_one_out_of_many_classes(shape):
    parameters = {"gamma": 0.5, "C": 3.0, "decision_function_shape": shape}
    found = libsvmx.SVC(**parameters).partial_fit(IRIS[::2], NAMED[::2]).partial_fit(IRIS[1::2], NAMED[1::2])
    order = np.r_[np.arange(0, 150, 2), np.arange(1, 150, 2)]
    result = found.loo_decision_function()
    assert result.shape == (150, 3)
    at = np.arange(0, 150, 9)
    expected = left_out(libsvmx.SVC, {**parameters, "refine": True}, IRIS[order], NAMED[order], at)
    np.testing.assert_allclose(result[at], expected, atol=1e-8)


def test_leave_one_out_of_a_row_that_is_all_of_its_class():
    y = np.r_[NAMED[:60], ["alone"]]
    rows = IRIS[np.r_[np.arange(60), 149]]
    kinds = sorted(set(y))
    found = libsvmx.SVC(gamma=0.5, keep_rows=True).fit(rows, y)
    result = found.loo_decision_function()
    assert np.isnan(result[60, kinds.index("alone")])
    rest = [c for c in range(len(kinds)) if kinds[c] != "alone"]
    assert np.isfinite(result[60, rest]).all()
    assert np.isfinite(result[:60]).all()
    two = libsvmx.SVC(gamma=0.5, keep_rows=True).fit(X[:50], np.r_[np.zeros(49), 1])
    result = two.loo_decision_function()
    assert np.isnan(result[49])
    assert np.isfinite(result[:49]).all()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("NuSVC", {"nu": 0.3}),
        ("NuSVR", {}),
        ("SVC", {"kernel": "precomputed"}),
        ("SVR", {"kernel": lambda a, b: a @ b.T}),
    ],
)
def test_leave_one_out_to_the_tolerance(name, parameters):
    y, kind = targets_of(name), getattr(libsvmx, name)
    given = {"gamma": 0.1, "tol": 1e-7, **parameters}
    rows = DENSE @ DENSE.T if given.get("kernel") == "precomputed" else DENSE
    found = kind(keep_rows=True, **given).fit(rows, y)
    result = found.loo_decision_function()
    for i in range(0, 200, 23):
        kept = np.delete(np.arange(200), i)
        square = rows[np.ix_(kept, kept)] if given.get("kernel") == "precomputed" else rows[kept]
        test = rows[i, kept] if given.get("kernel") == "precomputed" else rows[i]
        np.testing.assert_allclose(result[i], values(kind(**given).fit(square, y[kept]), test[None])[0], atol=1e-4)


def test_leave_one_out_with_balanced_classes_and_probabilities():
    given = {"gamma": 0.1, "class_weight": "balanced", "probability": True, "random_state": 0}
    found = libsvmx.SVC(keep_rows=True, **given).fit(X, Y)
    weights = dict(zip(found.classes_.tolist(), found.class_weight_.tolist(), strict=True))
    expected = left_out(libsvmx.SVC, {"gamma": 0.1, "class_weight": weights, "refine": True}, X, Y, range(0, 200, 20))
    np.testing.assert_allclose(found.loo_decision_function()[::20], expected, atol=1e-8)


def test_leave_one_out_is_of_the_model_that_there_is():
    found = libsvmx.SVC(gamma=0.1, keep_rows=True).fit(X, Y)
    before, expected = values(found, X), found.loo_decision_function()
    np.testing.assert_allclose(found.set_params(C=100.0).loo_decision_function(), expected, atol=1e-9)
    np.testing.assert_array_equal(values(found, X), before)


def test_leave_one_out_that_is_stopped():
    found = libsvmx.SVC(gamma=0.1, keep_rows=True).fit(X, Y).set_params(max_time=1e-9)
    before = values(found, X)
    with pytest.raises(ValueError, match="time limit"):
        found.loo_decision_function()
    np.testing.assert_array_equal(values(found, X), before)


def test_examples_of_the_state_are_those_of_the_lower_layer():
    """An estimator's rows are those of ``libsvmx.train(keep_state=True)``."""
    state = libsvmx.train(X, Y, gamma=0.1, keep_state=True)
    found = libsvmx.SVC(gamma=0.1).partial_fit(X, Y)
    state.remove([1, 2, 3])
    found.unlearn([1, 2, 3])
    sign = -1 if state.model.class_labels[0] == found.classes_[0] else 1
    np.testing.assert_allclose(found.decision_function(X), sign * state.decision_values(X).ravel(), atol=1e-9)
