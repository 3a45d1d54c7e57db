"""Calls in an unusual order or with unusual arguments: they work, or are refused with a clear error."""

import copy
import dataclasses
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.data import dense_rows
from support.optional import optional

import libsvmx
from libsvmx.api.state import State

exceptions = optional("sklearn.exceptions")
pipeline = optional("sklearn.pipeline")

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3))
NUMBER = np.digitize(X[:, 0], [-0.8, 0.0, 0.8])
NAMED = np.array(["ant", "bee", "cat", "dog"])[NUMBER]
TWO = np.array(["ant", "cat"])[NUMBER // 2]


def linear(a, b):
    return a @ b.T


# ---- rows that join -------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [NUMBER, NAMED, NAMED.astype(object)], ids=["numbers", "text", "objects"])
def test_several_classes_come_at_once(labels):
    first, rest = np.flatnonzero(NUMBER < 2), np.flatnonzero(NUMBER >= 2)
    order = np.r_[first, rest]
    found = libsvmx.SVC(gamma=0.5).partial_fit(X[first], labels[first]).partial_fit(X[rest], labels[rest])
    expected = libsvmx.SVC(gamma=0.5, refine=True).fit(X[order], labels[order])
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)


def test_text_is_text_in_an_array_of_objects_too():
    found = libsvmx.SVC().partial_fit(X, NAMED.astype(object)).partial_fit(X[:2], ["elephant", "ant"])
    assert list(found.classes_) == ["ant", "bee", "cat", "dog", "elephant"]
    assert set(found.predict(X)) <= set(found.classes_)


def test_targets_of_a_regression_are_no_classes_later_either():
    found = libsvmx.SVC(gamma=0.5).partial_fit(X, NUMBER)
    before = found.decision_function(X)
    with pytest.raises(ValueError, match="continuous"):
        found.partial_fit(X, X[:, 0])
    np.testing.assert_array_equal(found.decision_function(X), before)


def test_weights_of_classes_that_are_changed_in_place_are_noticed():
    weights = {"ant": 1.0, "cat": 2.0}
    found = libsvmx.SVC(class_weight=weights).partial_fit(X, TWO)
    weights["cat"] = 5.0
    with pytest.raises(ValueError, match="class_weight was"):
        found.partial_fit(X[:3], TWO[:3])


def test_shallow_copies_do_not_share_rows():
    found = libsvmx.SVC(gamma=0.5).partial_fit(X, TWO)
    other = copy.copy(found).partial_fit(X[:5], TWO[:5])
    assert (len(other.row_ids_), len(found.row_ids_)) == (65, 60)
    assert len(found.loo_decision_function()) == 60
    np.testing.assert_array_equal(found.partial_fit(X[:2], TWO[:2]).row_ids_, np.arange(62))


def test_ctrl_c_once_another_cost_was_followed(monkeypatch):
    """The change is complete: the old rows at the new C."""
    found = libsvmx.SVC(gamma=0.5).partial_fit(X, TWO).set_params(C=4.0)

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(State, "change", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.partial_fit(X[:3], TWO[:3])
    expected = libsvmx.SVC(gamma=0.5, C=4.0, refine=True).fit(X, TWO)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-9)
    assert len(found.row_ids_) == 60


# ---- leave-one-out --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM"])
def test_leave_one_out_of_one_row(name):
    found = getattr(libsvmx, name)(keep_rows=True).fit(X[:1], [1.0])
    assert np.isnan(found.loo_decision_function()).tolist() == [True]


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR"])
def test_leave_one_out_of_the_nu_formulations_is_stopped(name):
    found = getattr(libsvmx, name)(keep_rows=True, nu=0.2).fit(X, NUMBER).set_params(max_time=1e-9)
    with pytest.raises(ValueError, match="time limit"):
        found.loo_decision_function()


# ---- parameters set after a fit -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [("rbf", "precomputed"), ("rbf", linear), ("precomputed", "rbf"), ("precomputed", linear), (linear, "rbf")],
)
def test_another_kind_of_kernel_needs_another_fit(before, after):
    rows = X @ X.T if before == "precomputed" else X
    model = libsvmx.SVC(kernel=before).fit(rows, TWO)
    expected = model.predict(rows)
    model.set_params(kernel=after)
    with pytest.raises(ValueError, match="another kind of kernel than"):
        model.predict(rows)
    np.testing.assert_array_equal(model.set_params(kernel=before).predict(rows), expected)


def test_only_what_was_trained_with_a_linear_kernel_has_weights_of_features():
    assert hasattr(libsvmx.SVC(kernel="linear").fit(X, TWO), "coef_")
    for kernel, rows in (("rbf", X), ("precomputed", X @ X.T)):
        assert not hasattr(libsvmx.SVC(kernel=kernel).fit(rows, TWO).set_params(kernel="linear"), "coef_")


def test_more_threads_than_there_can_be():
    np.testing.assert_array_equal(libsvmx.SVC(n_jobs=5000).fit(X, TWO).dual_coef_, libsvmx.SVC().fit(X, TWO).dual_coef_)


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_what_predicts_is_kept_with_the_model(method):
    """As for all other predictions: made once, and used by all threads in turn."""
    found = libsvmx.SVC(probability=True, n_jobs=2).fit(X, TWO)
    model = found._fitted.model
    assert model.predictors == []
    first = getattr(found, method)(X)
    kept = list(model.predictors)
    assert len(kept) == 1
    with ThreadPoolExecutor(1) as pool:
        np.testing.assert_array_equal(pool.submit(getattr(found, method), X).result(), first)
    assert model.predictors == kept
    assert kept[0].threads == 2


# ---- values ---------------------------------------------------------------------------------------


def test_gamma_of_rows_that_do_not_vary():
    """Sums over a sparse matrix may round the variance to below 0."""
    rows = csr_matrix(np.full((5, 3), 0.1))
    assert rows.multiply(rows).mean() - rows.mean() ** 2 < 0
    assert libsvmx.SVC().fit(rows, [0, 1, 0, 1, 0])._gamma == 1.0
    assert libsvmx.train(rows, [0, 1, 0, 1, 0], gamma="scale").param.gamma == 1.0


@pytest.mark.parametrize("labels", [["dog"] * 50 + ["ant"] * 10, [7] * 50 + [5] * 10])
def test_errors_name_the_classes(labels):
    with pytest.raises(ValueError, match="classes 0 and 1 have 10 and 50 rows") as caught:
        libsvmx.NuSVC(nu=0.9).fit(X, labels)
    names = sorted(set(labels))
    assert f"0 is {names[0]!r} and 1 is {names[1]!r}" in caught.value.__notes__[0]


def test_errors_name_classes_once_where_these_are_their_numbers():
    with pytest.raises(ValueError, match="classes 0 and 1 have 50 and 10 rows") as caught:
        libsvmx.NuSVC(nu=0.9).fit(X, [0] * 50 + [1] * 10)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    ("call", "classes"),
    [
        (lambda y: libsvmx.train(X, y, svm_type="NU_SVC", nu=0.9), (7.0, 5.0)),
        (lambda y: libsvmx.train(X, y, svm_type="NU_SVC", nu=0.9, sample_weight=np.ones(60)), (7.0, 5.0)),
        (lambda y: libsvmx.train(X, y, weights={5: -1.0}), (5,)),
        (lambda y: libsvmx.train([[0], [1], [1], [5]], [7, 3, 12, 12], svm_type="NU_SVC", nu=0.5), (3, 12)),
        (lambda y: State.from_model(X, [9, *y[1:]], libsvmx.train(X, y)), (9,)),
        (lambda y: libsvmx.train(X, y), ()),
    ],
)
def test_errors_carry_the_classes_that_they_name(call, classes):
    y = [7] * 50 + [5] * 10
    if not classes:
        y[3] = "?"
    with pytest.raises(ValueError) as caught:
        call(y)
    if classes:
        assert caught.value.classes == classes
        assert pickle.loads(pickle.dumps(caught.value)).classes == classes
    else:
        assert not getattr(caught.value, "classes", ())


# ---- warnings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: libsvmx.SVC(max_iter=1).fit(X, TWO),
        lambda: libsvmx.SVR(max_iter=1).fit(X, NUMBER),
        lambda: libsvmx.OneClassSVM(max_iter=1).fit(X),
        lambda: libsvmx.SVC(max_iter=1).partial_fit(X, TWO),
        lambda: libsvmx.OneClassSVM(max_iter=1).partial_fit(X),
        lambda: pipeline.make_pipeline(libsvmx.SVC(max_iter=1)).fit(X, TWO),
    ],
)
def test_warnings_are_of_the_line_that_called(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [one.filename for one in caught if issubclass(one.category, exceptions.ConvergenceWarning)]
    assert found == [__file__]


def counting_kernel():
    """A callable kernel, and the list of its arguments."""
    calls = []

    def kernel(a, b):
        calls.append((len(a), len(b)))
        return np.asarray(a) @ np.asarray(b).T

    return kernel, calls


@pytest.mark.parametrize(
    "y, weights, says",
    [
        ([0, 0, 0, 0, 0, 1], None, "nu = 0.9 is infeasible"),
        (["a", "b", "a", "b", "a", "b"], [1, 1, 3, 1, 1, 1], "weights of classes"),
        (["b", "a", "a", "a", "b", "b"], [0, 1, 1, 1, 0, 1], "is infeasible"),
        ([1, 1, 1, 1, 1, 1], None, "number of classes has to be greater than one"),
        ([0, 1, 0, 1, 0, 1], [1, 2], "sample_weight"),
    ],
)
def test_a_callable_kernel_is_not_called_for_targets_that_cannot_be_trained_on(y, weights, says):
    kernel, calls = counting_kernel()
    with pytest.raises(ValueError, match=says):
        libsvmx.NuSVC(kernel=kernel, nu=0.9).fit(np.arange(12.0).reshape(6, 2), y, weights)
    assert calls == []
    libsvmx.NuSVC(kernel=kernel, nu=0.9).fit(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1])
    assert calls == [(6, 6)]


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_the_largest_index_of_files_is_a_column_like_others(name, tmp_path):
    """LIBSVM's largest int: column 2147483646, counted from 0."""
    (tmp_path / "data").write_text("1 1:1 2147483647:2\n-1 2147483646:3 2147483647:1\n1 3:1\n-1 2147483647:-2\n")
    X, y = libsvmx.read_problem(tmp_path / "data")
    estimator = getattr(libsvmx, name)(gamma=0.1).fit(X.tocsr(), y)
    assert estimator.n_features_in_ == 2**31 - 1
    assert estimator.predict(X.tocsr()).shape == (4,)
    with pytest.raises(libsvmx.DataError, match="at most 2147483647 are possible"):
        libsvmx.train(csr_matrix((4, 2**31)), y)


# ---- problems without an optimum -------------------------------------------------------------------


def endless(told):
    """A callback that ends a fit that exceeds LIBSVM's limit."""
    return told.marks > 10**7


@pytest.mark.parametrize("solver", ["smo", "auto"])
@pytest.mark.parametrize("labels", [[0, 1, 0, 1], [0, 1, 0, 2]], ids=["two classes", "three"])
def test_a_hard_margin_of_what_nothing_separates_ends(labels, solver):
    model = libsvmx.SVC(kernel="linear", C=np.inf, solver=solver, callback=endless)
    with pytest.warns(exceptions.ConvergenceWarning, match="no function of this kernel separates the classes"):
        model.fit([[1.0], [2.0], [3.0], [4.0]], labels)
    assert model.n_iter_.max() == 100_000


def test_a_class_whose_cost_is_infinite_ends_so_too():
    model = libsvmx.SVC(kernel="linear", class_weight={0: np.inf, 1: np.inf}, callback=endless)
    with pytest.warns(exceptions.ConvergenceWarning, match="no function of this kernel separates the classes"):
        model.fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])


@pytest.mark.exhaustive  # 10^7 iterations
def test_a_hard_tube_that_nothing_fits_ends_at_libsvms_limit():
    model = libsvmx.SVR(kernel="linear", C=np.inf, epsilon=0.01, callback=endless)
    with pytest.warns(exceptions.ConvergenceWarning, match="terminated early"):
        model.fit([[1.0], [2.0], [3.0], [4.0]], [1.0, -1.0, 1.0, -1.0])
    assert model.n_iter_ == 10**7


@pytest.mark.parametrize("kind", ["NuSVC", "NuSVR"])
def test_a_tolerance_beyond_single_precision_ends_with_a_warning(kind):
    """Kernel values in float are not positive semidefinite: steps go on for ever, and gain nothing."""
    X, y = dense_rows("heart_scale")
    model = getattr(libsvmx, kind)(nu=0.3, kernel="linear", tol=1e-9)
    with pytest.warns(exceptions.ConvergenceWarning, match="rounding hides what is left"):
        model.fit(X, y)
    assert 1e-9 < model.optimality_ < 1e-3
    assert model.fit_status_ == 1
    assert 2 * 10**7 <= model.n_iter_ < 10**8  # LIBSVM's limit, and as many again without a gain


def test_dask_sees_what_a_fit_has_found():
    tokenize = pytest.importorskip("dask.tokenize").tokenize
    one, other = (libsvmx.SVC().fit([[0.0], [1.0], [3.0]], labels) for labels in ([0, 1, 1], [1, 1, 0]))
    assert tokenize(one) != tokenize(other)
    assert not dataclasses.is_dataclass(libsvmx.SVC)
    held = pytest.importorskip("dask").compute({"fitted": one})[0]["fitted"]
    np.testing.assert_array_equal(held.predict([[0.0], [3.0]]), one.predict([[0.0], [3.0]]))
