"""Forms of rows, and scikit-learn's requirements of an estimator besides fitting and predicting."""

import numpy as np
import pytest
from scipy import sparse
from support.data import dense_rows
from support.optional import optional
from support.selection import quick_first

import libsvmx

base = optional("sklearn.base")
joblib = optional("joblib")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


X, Y = dense_rows("heart_scale", 150)


def same(found, expected, rows):
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    np.testing.assert_array_equal(found.predict(rows), expected.predict(X))


@pytest.mark.parametrize("mode", ["r", "c"])
@pytest.mark.parametrize("name", NAMES)
def test_mapped_files(name, mode, tmp_path):
    """As joblib passes large arrays to its workers."""
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    rows, targets = (np.load(tmp_path / f"{one}.npy", mmap_mode=mode) for one in "Xy")
    expected = getattr(libsvmx, name)().fit(X, Y)
    same(getattr(libsvmx, name)().fit(rows, targets), expected, rows)
    whole = sparse.csr_matrix(X)
    joblib.dump(whole, tmp_path / "sparse")
    mapped = joblib.load(tmp_path / "sparse", mmap_mode=mode)
    assert isinstance(mapped.data, np.memmap)
    expected = getattr(libsvmx, name)().fit(whole, Y)
    same(getattr(libsvmx, name)().fit(mapped, targets), expected, mapped)


@pytest.mark.parametrize("kernel", quick_first(["rbf", "precomputed"]))
def test_workers_that_share_a_mapped_file(kernel):
    """Arrays of more than ``max_nbytes`` reach the workers as read-only maps."""
    rows = X @ X.T if kernel == "precomputed" else X
    expected = libsvmx.SVC(kernel=kernel, gamma=0.1).fit(rows, Y)

    def fitted(estimator, rows, targets):
        return isinstance(rows, np.memmap) and not rows.flags.writeable, estimator.fit(rows, targets)

    jobs = (joblib.delayed(fitted)(libsvmx.SVC(kernel=kernel, gamma=0.1), rows, Y) for _ in range(2))
    for is_map, found in joblib.Parallel(n_jobs=2, max_nbytes=1000)(jobs):
        assert is_map
        np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)
        np.testing.assert_array_equal(found.predict(rows), expected.predict(rows))


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("name", NAMES)
def test_sparse_rows_of_either_interface_and_width(name, width, kind):
    whole = kind(X)
    parts = ("row", "col") if whole.format == "coo" else ("indices", "indptr")
    if whole.format == "coo":
        whole.coords = tuple(one.astype(width) for one in whole.coords)
    else:
        for part in parts:
            setattr(whole, part, getattr(whole, part).astype(width))
    assert getattr(whole, parts[0]).dtype == width
    before = [getattr(whole, part).copy() for part in parts]
    for part in (*parts, "data"):
        getattr(whole, part).flags.writeable = False
    expected = getattr(libsvmx, name)(gamma=0.1).fit(X, Y)
    found = getattr(libsvmx, name)(gamma=0.1).fit(whole, Y)
    same(found, expected, whole)
    np.testing.assert_array_equal(found.support_vectors_.toarray(), expected.support_vectors_)
    for part, values in zip(parts, before, strict=True):
        np.testing.assert_array_equal(getattr(whole, part), values)


def test_doubled_entries_of_a_sparse_matrix_are_added():
    doubled = sparse.coo_array((np.r_[X.ravel(), X.ravel()], np.tile(np.indices(X.shape).reshape(2, -1), 2)), X.shape)
    same(libsvmx.SVC(gamma=0.1).fit(doubled, Y), libsvmx.SVC(gamma=0.1).fit(2 * X, Y), X)


@pytest.mark.parametrize("name", NAMES)
def test_tags(name):
    """Equal to those of scikit-learn's own estimators."""
    from sklearn import svm
    from sklearn.utils import get_tags

    for kernel in ("rbf", "precomputed"):
        ours, theirs = (get_tags(getattr(module, name)(kernel=kernel)) for module in (libsvmx, svm))
        assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_pictures_in_notebooks(name):
    from sklearn import config_context

    made = getattr(libsvmx, name)(gamma=0.25)
    assert repr(made) == f"{name}(gamma=0.25)"
    before = made._repr_html_()
    assert name in before and "Not fitted" in before
    assert "Not fitted" not in made.fit(X, Y)._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in made._repr_mimebundle_()


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_asked_for(name):
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        made = getattr(libsvmx, name)().set_fit_request(sample_weight=True)
        routing = made.get_metadata_routing()
        assert routing.consumes("fit", ["sample_weight"]) == {"sample_weight"}
        if name != "OneClassSVM":
            made.set_score_request(sample_weight="counts")
            assert made.get_metadata_routing().consumes("score", ["counts"]) == {"counts"}


def test_weights_reach_fits_and_scores_of_a_search(exhaustive):
    from sklearn import config_context
    from sklearn.model_selection import GridSearchCV

    weights = np.arange(len(Y)) % 3 + 1.0
    with config_context(enable_metadata_routing=True):
        routed = libsvmx.SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(routed, {"C": [0.1, 10]}, cv=2, n_jobs=2 if exhaustive else None)
        search.fit(X, Y, sample_weight=weights)
    expected = libsvmx.SVC(**search.best_params_).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.dual_coef_, expected.dual_coef_)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_set_by_name(name):
    made = base.clone(getattr(libsvmx, name)()).set_params(kernel="poly", degree=2, tol=1e-5)
    assert (made.kernel, made.degree, made.get_params()["tol"]) == ("poly", 2, 1e-5)
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        made.set_params(depth=3)
