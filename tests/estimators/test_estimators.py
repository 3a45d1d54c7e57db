"""Features of the estimators beyond equality to scikit-learn's."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from support.data import sparse_rows
from support.optional import optional

import libsvmx

base = optional("sklearn.base")
exceptions = optional("sklearn.exceptions")
svm = optional("sklearn.svm")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


X, Y = sparse_rows("heart_scale")
DENSE = X.toarray()


@pytest.mark.parametrize("name", NAMES)
def test_kinds_of_input_give_one_model(name):
    """Index widths, interfaces, other formats, exact float32, read-only and Fortran order."""
    exact = np.round(DENSE * 64) / 64  # exact in float32
    expected = getattr(libsvmx, name)(gamma=0.1).fit(exact, Y)
    read_only = exact.copy()
    read_only.flags.writeable = False
    wide = csr_array(exact)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    unsorted = csr_matrix(exact)
    for i in range(unsorted.shape[0]):
        part = slice(unsorted.indptr[i], unsorted.indptr[i + 1])
        unsorted.indices[part], unsorted.data[part] = (
            unsorted.indices[part][::-1].copy(),
            unsorted.data[part][::-1].copy(),
        )
    unsorted.has_sorted_indices = False
    before = unsorted.indices.copy()
    given = [exact.astype(np.float32), read_only, np.asfortranarray(exact), exact.tolist(), wide, unsorted]
    for rows in [*given, csr_matrix(exact).tocsc(), csr_matrix(exact).astype(np.float32)]:
        found = getattr(libsvmx, name)(gamma=0.1).fit(rows, Y)
        np.testing.assert_array_equal(found.support_, expected.support_)
        np.testing.assert_array_equal(found.intercept_, expected.intercept_)
        np.testing.assert_array_equal(found.predict(rows), expected.predict(exact))
    np.testing.assert_array_equal(unsorted.indices, before)


def test_prediction_takes_sparse_and_dense_whatever_the_training_took():
    sparse, dense = libsvmx.SVC(gamma=0.1).fit(X, Y), libsvmx.SVC(gamma=0.1).fit(DENSE, Y)
    for rows in (X, DENSE):
        np.testing.assert_array_equal(sparse.decision_function(rows), dense.decision_function(rows))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", lambda A, B: A @ B.T])
@pytest.mark.parametrize("name", NAMES)
def test_buffers_of_the_caller_may_change(name, kernel):
    rows = DENSE @ DENSE.T if kernel == "precomputed" else DENSE
    given, targets = rows.copy(), Y.copy()
    model = getattr(libsvmx, name)(kernel=kernel, gamma=0.1).fit(given, targets)
    expected = model.predict(rows)
    given[:] = 0
    targets[:] = 0
    np.testing.assert_array_equal(model.predict(rows), expected)


@pytest.mark.parametrize("name", NAMES)
def test_copies(name):
    made = getattr(libsvmx, name)(kernel="rbf", gamma=0.1, tol=1e-4).fit(X, Y)
    method = "decision_function" if hasattr(made, "decision_function") else "predict"
    expected = getattr(made, method)(X)
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        np.testing.assert_array_equal(getattr(other, method)(X), expected)
        assert other.get_params() == made.get_params()
    again = base.clone(made)
    assert again.get_params() == made.get_params()
    with pytest.raises(exceptions.NotFittedError):
        again.predict(X)
    assert not hasattr(again, "dual_coef_")


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_weight_zero_are_not_there(name):
    y = np.arange(len(Y)) % 3 + Y * (0 if name != "SVR" else 0.1)
    weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    weights[3] = -1.0
    kept = np.flatnonzero(weights > 0)
    parameters = {"gamma": 0.1, "tol": 1e-6}
    whole = getattr(libsvmx, name)(**parameters).fit(X, y, sample_weight=weights)
    rest = getattr(libsvmx, name)(**parameters).fit(X[kept], y[kept])
    np.testing.assert_array_equal(whole.support_, kept[rest.support_])
    np.testing.assert_array_equal(whole.dual_coef_.toarray(), rest.dual_coef_.toarray())
    np.testing.assert_array_equal(whole.support_vectors_.toarray(), rest.support_vectors_.toarray())
    np.testing.assert_array_equal(whole.predict(X), rest.predict(X))


def test_a_class_without_weight_is_no_class():
    y = np.arange(len(Y)) % 3
    found = libsvmx.SVC().fit(X, y, sample_weight=(y != 1).astype(float))
    assert list(found.classes_) == [0, 2]
    assert set(found.predict(X)) <= {0, 2}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(len(Y)), "all samples have zero or negative weights"),
        (np.full(len(Y), -1.0), "all samples have zero or negative weights"),
        ((Y > 0).astype(float), "positive weights belong to the same class"),
        (np.full(len(Y), np.nan), "NaN"),
        (np.ones(3), "shape"),
    ],
)
def test_weights_that_cannot_be(weights, message):
    with pytest.raises(ValueError, match=message):
        libsvmx.SVC().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": {1: 0.0}}, "class weights must be > 0"),
        ({"max_iter": -2}, "max_iter"),
        ({"kernel": "RBF"}, "kernel"),
        ({"solver": "crsvm"}, "solver"),
        ({"max_time": 0}, "max_time"),
        ({"kernel": lambda a, b: np.zeros((3, 3))}, "must return an array of shape .*, but its shape is .3, 3."),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises(ValueError, match=message):
        libsvmx.SVC(**parameters).fit(DENSE, Y)


def test_probabilities():
    y = np.arange(len(Y)) % 3 + (Y > 0)
    found = libsvmx.SVC(probability=True, random_state=3).fit(X, y)
    estimates = found.predict_proba(X)
    assert estimates.shape == (len(y), len(found.classes_))
    np.testing.assert_allclose(estimates.sum(1), 1)
    np.testing.assert_array_equal(found.predict_log_proba(X), np.log(estimates))
    assert len(found.probA_) == len(found.probB_) == len(found.n_iter_) == 6
    np.testing.assert_array_equal(found.n_iter_, libsvmx.SVC().fit(X, y).n_iter_)
    again = libsvmx.SVC(probability=True, random_state=3).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), estimates)
    assert not hasattr(libsvmx.SVC(), "predict_proba")
    found = libsvmx.SVC().fit(X, y)
    assert found.probA_.shape == found.probB_.shape == (0,)
    found.probability = True
    with pytest.raises(exceptions.NotFittedError, match="probability=False"):
        found.predict_proba(X)


def test_probabilities_say_what_labels_say():
    found = libsvmx.SVC(probability=True, random_state=0).fit(X, np.where(Y > 0, "ill", "well"))
    ill = found.predict_proba(X)[:, list(found.classes_).index("ill")]
    assert np.corrcoef(ill, -found.decision_function(X))[0, 1] > 0.9


@pytest.mark.parametrize("solver", ["chunked", "irwls", libsvmx.Chunked(working_set=64)])
def test_solvers(solver):
    expected = libsvmx.SVC(tol=1e-6).fit(X, Y)
    found = base.clone(libsvmx.SVC(tol=1e-6, solver=solver)).fit(X, Y)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-4)


def test_threads_change_nothing():
    expected = libsvmx.SVC().fit(X, Y)
    found = libsvmx.SVC(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


def test_predictions_in_several_threads():
    found = libsvmx.SVC(kernel="poly").fit(X, Y)
    expected, differing = found.decision_function(X), []

    def work():
        for _ in range(5):
            if not np.array_equal(found.decision_function(X), expected):
                differing.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not differing


def test_a_time_limit_is_told():
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit"):
        found = libsvmx.SVC(max_time=1e-9).fit(X, Y)
    assert found.fit_status_ == 1
    found.predict(X)


ROWS, KINDS = [[1.0], [1.0], [2.0], [9.0]], [0, 1, 1, 2]  # of three pairs of classes; nothing separates the first
ENDS = {
    "time limit": ({"max_time": 1e-9}, X, Y),
    "interrupted": ({"callback": lambda progress: True}, X, Y),
    "rounding": ({"solver": libsvmx.CRSVM(), "kernel": "linear"}, 1e9 * X, Y),
    "infinite": ({"solver": "auto", "kernel": "linear", "C": np.inf}, ROWS, KINDS),
}


@pytest.mark.parametrize("cause", ENDS)
def test_every_end_before_the_tolerance_is_told(cause):
    parameters, rows, targets = ENDS[cause]
    with pytest.warns(exceptions.ConvergenceWarning, match=cause):
        found = libsvmx.SVC(**parameters).fit(rows, targets)
    assert found.fit_status_ == 1


def test_an_interrupted_fit_leaves_the_model_before(monkeypatch):
    found = libsvmx.SVC().fit(DENSE, Y)
    before, attributes = found.decision_function(DENSE), dict(vars(found))

    def interrupted(*args):
        raise KeyboardInterrupt

    for name in ("_training_data", "_train", "_read_off", "_tell_end"):
        with monkeypatch.context() as patch:
            patch.setattr(libsvmx.SVC, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                found.fit(DENSE[:, :3], -Y)
        assert vars(found) == attributes
        np.testing.assert_array_equal(found.decision_function(DENSE), before)


def test_verbose_prints_the_transcript(capsys):
    libsvmx.SVC(verbose=True).fit(X, Y)
    printed = capsys.readouterr().out
    assert printed.startswith("[LibSVM]") and "optimization finished, #iter = " in printed


def test_linear_coefficients_give_the_decision_function():
    y = np.arange(len(Y)) % 4
    for rows in (X, DENSE):
        found = libsvmx.SVC(kernel="linear", decision_function_shape="ovo").fit(rows, y)
        coef = found.coef_.toarray() if hasattr(found.coef_, "toarray") else found.coef_
        assert coef.shape == (6, DENSE.shape[1])
        np.testing.assert_allclose(DENSE @ coef.T + found.intercept_, found.decision_function(rows), atol=1e-9)
    with pytest.raises(AttributeError, match="linear"):
        _ = libsvmx.SVC().fit(X, Y).coef_


def test_probability_true_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        libsvmx.SVC(probability=True).fit(X, Y).predict_proba(X)


@pytest.mark.parametrize("name", NAMES)
def test_defaults_are_valid(name):
    """``fit`` does not check them."""
    from sklearn.utils._param_validation import validate_parameter_constraints

    made = getattr(libsvmx, name)()
    validate_parameter_constraints(made._parameter_constraints, made.get_params(deep=False), caller_name=name)


def test_subclasses_are_checked_too():
    class Mine(libsvmx.SVC):
        def __init__(self, C=-1.0):
            super().__init__(C=C)

    with pytest.raises(ValueError, match="'C' parameter of Mine"):
        Mine().fit(X, Y)
    assert Mine(C=2.0).fit(X, Y).score(X, Y) > 0.8


def test_properties_of_subclasses_are_set():
    class Mine(libsvmx.SVC):
        @property
        def C(self):
            return self.halved * 2

        @C.setter
        def C(self, value):
            self.halved = value / 2

    made = Mine(C=3.0)
    assert (made.C, made.halved) == (3.0, 1.5)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_need_no_conversion_are_checked(name):
    for bad in (np.nan, np.inf):
        rows, targets = DENSE.copy(), Y.copy()
        rows[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            getattr(libsvmx, name)().fit(rows, Y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            getattr(libsvmx, name)().fit(DENSE, Y).predict(rows)
        targets[3] = bad
        if name != "OneClassSVM":
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                getattr(libsvmx, name)().fit(DENSE, targets)
    for rows in (DENSE[:0], DENSE[:, :0], DENSE[0]):
        with pytest.raises(ValueError, match=r"sample|feature|array"):
            getattr(libsvmx, name)().fit(rows, Y)
    if name != "OneClassSVM":
        with pytest.raises(ValueError, match="inconsistent"):
            getattr(libsvmx, name)().fit(DENSE[:5], Y)
    with pytest.raises(ValueError, match="features"):
        getattr(libsvmx, name)().fit(DENSE, Y).predict(DENSE[:, :3])


def test_a_second_fit_forgets_the_names_of_features():
    found = libsvmx.SVC().fit(DENSE, Y)
    found.feature_names_in_ = np.array(["a"] * DENSE.shape[1], dtype=object)
    assert not hasattr(found.fit(DENSE, Y), "feature_names_in_")


def test_examples_in_docstrings():
    import doctest
    from importlib import import_module

    for name in ("classifiers", "files", "regressors", "outliers", "search", "updating"):
        result = doctest.testmod(import_module(f"libsvmx.sklearn.{name}"))
        assert result.attempted and not result.failed


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_labels_of_float_are_whole_numbers():
    X = np.arange(12.0)[:, None]
    for y in ([0.5, 1.5], [0.0, 2.0**60 + 2.0**40], [-(2.0**70), 1.0]):
        labels, theirs = np.repeat(y, 6), svm.SVC()
        try:
            theirs.fit(X, labels)
        except ValueError as error:
            with pytest.raises(ValueError, match="Unknown label type"):
                libsvmx.SVC().fit(X, labels)
            assert "Unknown label type" in str(error)
        else:
            assert libsvmx.SVC().fit(X, labels).classes_.tolist() == theirs.classes_.tolist()
    fitted = libsvmx.SVC().fit(X, np.repeat([7.0, -3.0, 2.0], 4))
    assert fitted.classes_.tolist() == [-3.0, 2.0, 7.0]
    assert fitted.predict([[0.0], [5.0], [11.0]]).tolist() == [7.0, -3.0, 2.0]
