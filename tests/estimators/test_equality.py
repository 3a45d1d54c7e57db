"""The same model as sklearn.svm: its support vectors, iterations and coefficients.

Both sum sparse rows in the same order, so that all numbers agree to rounding; scikit-learn sums dense rows with
BLAS. Known differences: scikit-learn draws the folds behind probabilities with its own generator, and if rows of
weight 0 are left out, its ``support_`` counts the remaining rows.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from support.data import load
from support.optional import optional

import libsvmx

svm = optional("sklearn.svm")

CASES = [
    ("SVC", "heart_scale", {}),
    ("SVC", "heart_scale", {"C": 10, "gamma": 0.1, "shrinking": False}),
    ("SVC", "heart_scale", {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.5}),
    ("SVC", "heart_scale", {"kernel": "linear", "C": 0.3, "class_weight": {1: 3.0, -1: 0.5}}),
    ("SVC", "iris.scale", {"kernel": "linear"}),
    ("SVC", "iris.scale", {"gamma": "auto", "tol": 1e-6}),
    ("SVC", "wine.scale", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    ("SVC", "glass.scale", {"C": 100, "class_weight": "balanced"}),
    ("SVC", "vowel.scale.xz", {"C": 10, "gamma": 0.5}),
    ("SVC", "breast-cancer.xz", {"kernel": "sigmoid", "C": 0.1, "gamma": 0.01}),
    ("SVC", "ionosphere_scale.xz", {"C": 5}),
    ("SVC", "splice.xz", {"gamma": 0.01}),
    ("SVC", "mushrooms.xz", {"C": 2, "gamma": 0.1}),
    ("SVC", "a1a.xz", {"gamma": 0.05}),
    ("NuSVC", "heart_scale", {}),
    ("NuSVC", "iris.scale", {"nu": 0.2, "kernel": "poly"}),
    ("NuSVC", "ionosphere_scale.xz", {"nu": 0.3, "gamma": 0.1}),
    ("SVR", "pyrim", {"epsilon": 0.01}),
    ("SVR", "abalone_scale.xz", {"kernel": "linear", "C": 0.1}),
    ("SVR", "abalone_scale.xz", {"C": 10, "gamma": 0.1}),
    ("NuSVR", "pyrim", {"nu": 0.3, "C": 5}),
    ("NuSVR", "mpg", {"gamma": 0.02}),
    ("OneClassSVM", "heart_scale", {"nu": 0.1}),
    ("OneClassSVM", "breast-cancer.xz", {"nu": 0.05, "gamma": 0.1}),
]
ROWS = 400  # at most, from each set


def rows_of(name, kind=csr_matrix):
    matrix, targets = load(name, ROWS)
    parts = (np.asarray(matrix.values), np.asarray(matrix.indices) - 1, np.asarray(matrix.indptr).astype(np.int32))
    return kind(parts, shape=(matrix.n_rows, matrix.max_index)), np.array(targets)


def dense(values):
    return values.toarray() if hasattr(values, "toarray") else values


def near(ours, theirs, relative):
    ours, theirs = dense(ours), dense(theirs)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=relative * max(1.0, np.abs(theirs).max(initial=0)))


def compare(name, parameters, X, y, relative, tests=None, **fit):
    ours = getattr(libsvmx, name)(**parameters).fit(X, y, **fit)
    theirs = getattr(svm, name)(**parameters).fit(X, y, **fit)
    tests = X if tests is None else tests
    for attribute in ("support_", "n_iter_", "fit_status_", "shape_fit_"):
        np.testing.assert_array_equal(getattr(ours, attribute), getattr(theirs, attribute), attribute)
    if hasattr(theirs, "classes_") or not hasattr(X, "toarray"):
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    else:  # theirs is from uninitialized memory
        np.testing.assert_array_equal(ours.n_support_, [len(ours.support_)])
    for attribute in ("dual_coef_", "intercept_", "support_vectors_"):
        near(getattr(ours, attribute), getattr(theirs, attribute), relative)
        assert type(getattr(ours, attribute)) is type(getattr(theirs, attribute))
        assert getattr(ours, attribute).dtype == getattr(theirs, attribute).dtype
    for attribute in ("support_", "n_support_"):
        assert getattr(ours, attribute).dtype == getattr(theirs, attribute).dtype
    if parameters.get("kernel") == "linear":
        near(ours.coef_, theirs.coef_, relative)
        assert type(ours.coef_) is type(theirs.coef_)
    if hasattr(theirs, "classes_"):
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_array_equal(ours.class_weight_, theirs.class_weight_)
    if hasattr(theirs, "offset_"):
        near(ours.offset_, theirs.offset_, relative)
    for method in ("decision_function", "score_samples"):
        if hasattr(theirs, method):
            near(getattr(ours, method)(tests), getattr(theirs, method)(tests), relative)
    if name in ("SVR", "NuSVR"):
        near(ours.predict(tests), theirs.predict(tests), relative)
    else:
        np.testing.assert_array_equal(ours.predict(tests), theirs.predict(tests))
        assert ours.predict(tests).dtype == theirs.predict(tests).dtype
    return ours, theirs


@pytest.mark.parametrize(("name", "data", "parameters"), CASES, ids=lambda value: str(value))
def test_sparse(name, data, parameters):
    compare(name, parameters, *rows_of(data), relative=1e-10)


@pytest.mark.parametrize(("name", "data", "parameters"), CASES, ids=lambda value: str(value))
def test_dense(name, data, parameters):
    X, y = rows_of(data)
    compare(name, parameters, X.toarray(), y, relative=1e-6)


def test_lists():
    X, y = rows_of("heart_scale")
    compare("SVC", {}, X.toarray().tolist(), y.tolist(), relative=1e-6)


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"])
def test_sample_weight(name):
    X, y = rows_of("heart_scale")
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    compare(name, {"nu": 0.2} if name == "NuSVC" else {}, X, y, 1e-10, sample_weight=weights)
    compare(name, {"nu": 0.2} if name == "NuSVC" else {}, X.toarray(), y, 1e-6, sample_weight=weights)


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("data", ["heart_scale", "a1a.xz", "iris.scale"])
def test_rows_of_weight_0_among_rows_of_weight_1(name, data):
    """The steps are those of the rows with weight alone: nu is then summed row by row, too."""
    X, y = rows_of(data)
    rng = np.random.default_rng(3)
    for nu in (0.1, 0.23, 0.31):
        weights = (rng.random(len(y)) < 0.7).astype(float)
        parameters = {} if name in ("SVC", "SVR") else {"nu": nu}
        ours, theirs = (getattr(kind, name)(**parameters).fit(X, y, sample_weight=weights) for kind in (libsvmx, svm))
        np.testing.assert_array_equal(ours.support_, np.flatnonzero(weights)[theirs.support_])
        np.testing.assert_array_equal(ours.n_iter_, theirs.n_iter_)
        near(ours.dual_coef_, theirs.dual_coef_, 1e-10)
        near(ours.intercept_, theirs.intercept_, 1e-10)
        near(
            ours.decision_function(X) if hasattr(ours, "decision_function") else ours.predict(X),
            theirs.decision_function(X) if hasattr(theirs, "decision_function") else theirs.predict(X),
            1e-10,
        )


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_no_steps(name, k):
    """max_iter=0, for any number of classes and threads: LIBSVM's start."""
    from sklearn.exceptions import ConvergenceWarning

    X, y = rows_of("vowel.scale.xz" if k > 3 else "iris.scale")
    k = k if name in ("SVC", "NuSVC") else 3
    keep = np.isin(y, np.unique(y)[: max(k, 2)])
    X, y = X[keep], y[keep]
    for more in ({}, {"n_jobs": 2}, {"callback": lambda progress: None}):
        with pytest.warns(ConvergenceWarning):
            theirs = getattr(svm, name)(max_iter=0).fit(X, y)
        with pytest.warns(ConvergenceWarning, match="max_iter=0"):
            ours = getattr(libsvmx, name)(max_iter=0, **more).fit(X, y)
        assert ours.fit_status_ == theirs.fit_status_ == 1
        np.testing.assert_array_equal(ours.n_iter_, theirs.n_iter_)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        near(ours.intercept_, theirs.intercept_, 1e-10)
        if len(theirs.support_):  # otherwise scikit-learn's shape is (1, 0), whatever the number of classes
            near(ours.dual_coef_, theirs.dual_coef_, 1e-10)


@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"])
def test_precomputed_and_callable(name):
    X, y = rows_of("iris.scale")
    X = X.toarray()

    def kernel(a, b):
        return np.exp(-0.3 * ((a[:, None] - b[None]) ** 2).sum(2))

    K = kernel(X, X)
    compare(name, {"kernel": "precomputed"}, K, y, 1e-10, tests=K[:20])
    ours, _ = compare(name, {"kernel": kernel}, X, y, 1e-10, tests=X[:20])
    assert not hasattr(ours, "n_features_in_")
    weights = 1 + np.arange(len(y)) % 3
    compare(name, {"kernel": "precomputed"}, K, y, 1e-10, tests=K[:20], sample_weight=weights)


def test_shapes_of_the_decision_function():
    X, y = rows_of("glass.scale")
    for shape in ("ovr", "ovo"):
        ours, theirs = compare("SVC", {"decision_function_shape": shape, "C": 10}, X, y, 1e-10)
        assert ours.decision_function(X).shape == theirs.decision_function(X).shape
    compare("SVC", {"break_ties": True}, X, y, 1e-10)


@pytest.mark.parametrize("name", ["glass.scale", "wine.scale"])
def test_votes_and_confidences_have_scikit_learns_bits(name):
    from sklearn.utils.multiclass import _ovr_decision_function

    X, y = rows_of(name)
    fitted = libsvmx.SVC(gamma=0.5, C=10).fit(X[::2], y[::2])
    rest = fitted.decision_function(X)
    pairs = fitted.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_array_equal(rest, _ovr_decision_function(pairs < 0, -pairs, len(fitted.classes_)))


def test_labels_of_all_kinds():
    X, y = rows_of("wine.scale")
    names = np.array(["red", "white", "rosé"])[y.astype(int) - 1]
    for labels in (names, names.astype(object), y / 2 == 0.5, y.astype(np.uint8)):
        compare("SVC", {}, X, labels, 1e-10)


def test_early_end():
    from sklearn.exceptions import ConvergenceWarning

    X, y = rows_of("glass.scale")
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5"):
        ours, _ = compare("SVC", {"max_iter": 5}, X, y, 1e-10)
    assert ours.fit_status_ == 1 and max(ours.n_iter_) == 5


def test_sparse_interface():
    import sklearn

    if "sparse_interface" not in sklearn.get_config():
        pytest.skip("scikit-learn 1.9 is the first with this setting")
    X, y = rows_of("heart_scale", csr_array)
    for interface in ("sparray", "spmatrix"):
        with sklearn.config_context(sparse_interface=interface):
            compare("SVC", {"kernel": "linear"}, X, y, 1e-10)


def test_shared_random_state_moves_on_as_theirs():
    X, y = rows_of("iris.scale")
    ours, theirs = np.random.RandomState(3), np.random.RandomState(3)
    libsvmx.SVC(random_state=ours).fit(X, y)
    svm.SVC(random_state=theirs).fit(X, y)
    assert ours.randint(1 << 30) == theirs.randint(1 << 30)
    for name in ("SVC", "SVR", "OneClassSVM"):
        following = []
        for module in (libsvmx, svm):
            np.random.seed(5)
            getattr(module, name)().fit(X, y)
            following.append(np.random.randint(1 << 30))
        assert following[0] == following[1]


def test_parameters_and_defaults():
    """Theirs, in their order, then ours."""
    import inspect

    for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"):
        ours = inspect.signature(getattr(libsvmx, name)).parameters
        theirs = inspect.signature(getattr(svm, name)).parameters
        assert list(ours) == [*theirs, "solver", "n_jobs", "max_time", "warm_start", "refine", "keep_rows", "callback"]
        for key, parameter in theirs.items():
            if key != "probability":  # "deprecated" in scikit-learn 1.9, which means False
                assert ours[key].default == parameter.default, key
