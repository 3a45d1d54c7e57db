"""Arrays of float32 are not converted for ``fit``: all results have the bits of float64."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix, issparse

import libsvmx
from libsvmx.api.arrays import borrowed
from libsvmx.io.modelfile import model_text

RANDOM = np.random.default_rng(32)
X = (RANDOM.standard_normal((310, 3500)) * 1e-2).astype(np.float32)
Y = (X[:, 0] > 0.003).astype(int) + (X[:, 1] > 0)


def fitted(name, rows, y, weights=None, **settings):
    """All fitted attributes as bytes, and predictions."""
    model = getattr(libsvmx, name)(**settings).fit(rows, y, weights)
    own = vars(model)
    kept = {key: own[key].toarray() if issparse(own[key]) else own[key] for key in own if key.endswith("_")}
    kept.setdefault("support_vectors_", model.support_vectors_)  # dense ones are made here
    told = {key: np.asarray(kept[key]).tobytes() for key in kept if key != "optimality_"}
    return told, model_text(model._fitted.model), model.predict(rows).tobytes(), model.support_vectors_.dtype


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"kernel": "poly", "gamma": "auto"}], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_fits_are_those_of_float64(name, settings, order, exhaustive):
    wide = exhaustive or (name == "SVC" and not settings)
    settings = {"nu": 0.2, **settings} if "Nu" in name or "One" in name else settings
    for rows, y in ((X if wide else X[:150, :400], Y if wide else Y[:150]), (X[:60, :5], Y[:60])):
        given = np.asarray(rows, order=order)
        assert fitted(name, given, y, **settings) == fitted(name, given.astype(np.float64), y, **settings)


@pytest.mark.parametrize(
    "settings",
    [{}, {"keep_rows": True}, {"warm_start": True}, {"probability": True, "random_state": 5}, {"refine": True}],
)
def test_rows_that_are_weighted_kept_or_predicted(settings):
    rows, y, weights = X[:200, :9], Y[:200], RANDOM.integers(0, 3, 200).astype(float)
    expected = fitted("SVC", rows.astype(np.float64), y, weights, **settings)
    assert fitted("SVC", rows, y, weights, **settings) == expected


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"kernel": "poly", "gamma": "auto"}], ids=str)
@pytest.mark.parametrize("form", [csr_matrix, csc_matrix])
def test_fits_of_sparse_rows_are_those_of_float64(name, settings, form):
    settings = {"nu": 0.2, **settings} if "Nu" in name or "One" in name else settings
    rows = form(np.where(X[:90, :30] > 0, X[:90, :30], 0))
    assert fitted(name, rows, Y[:90], **settings) == fitted(name, rows.astype(np.float64), Y[:90], **settings)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("values", [None, 1])
def test_fits_of_arrays_of_mostly_zeros_are_those_of_float64(name, kernel, values):
    settings = {"kernel": kernel} | ({"nu": 0.2} if "Nu" in name or "One" in name else {})
    rows = np.where(X[:90, :30] > 0.008, values or X[:90, :30], np.float32(0)).astype(np.float32)
    rows[:, 29:] = 0  # the largest index is less
    assert borrowed(rows).nnz == np.count_nonzero(rows)
    assert fitted(name, rows, Y[:90], **settings) == fitted(name, rows.astype(np.float64), Y[:90], **settings)


@pytest.mark.parametrize(
    "settings",
    [{}, {"keep_rows": True}, {"warm_start": True}, {"probability": True, "random_state": 5}, {"refine": True}],
)
def test_sparse_rows_that_are_weighted_kept_or_predicted(settings):
    rows, y, weights = csr_matrix(np.maximum(X[:200, :9], 0)), Y[:200], RANDOM.integers(0, 3, 200).astype(float)
    expected = fitted("SVC", rows.astype(np.float64), y, weights, **settings)
    assert fitted("SVC", rows, y, weights, **settings) == expected


def test_labels_of_any_kind():
    for labels in (np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object), np.array([False, True])):
        y = labels[Y[:60] % 2]
        assert fitted("SVC", X[:60, :5], y) == fitted("SVC", X[:60, :5].astype(np.float64), y)


def test_a_warm_start_knows_the_rows_again():
    found = libsvmx.SVC(warm_start=True).fit(X, Y)
    assert found.fit(X.astype(np.float64), Y).n_iter_.sum() == 0  # the same rows


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_errors_are_those_of_float64(value):
    rows = X[:60].copy()
    rows[3:9, 4] = value
    messages = []
    for given in (rows, rows.astype(np.float64)):
        with pytest.raises(ValueError) as caught:
            libsvmx.SVC(gamma=1).fit(given, Y[:60])
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_a_sum_that_is_no_float32():
    rows = np.full((60, 5), np.finfo(np.float32).max)
    rows[:, 0] = X[:60, 0]
    assert fitted("SVC", rows.astype(np.float32), Y[:60]) == fitted("SVC", rows, Y[:60])


def test_sparse_rows_are_not_converted_either():
    """With a given gamma: for "scale", SciPy's mean copies the values in some versions."""
    rows, y = csr_matrix(np.maximum(np.tile(X[:, :300], (8, 1)), 0)), RANDOM.integers(0, 2, 2480)
    peaks = []
    for given in (rows, rows.astype(np.float64)):
        tracemalloc.start()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                libsvmx.SVC(gamma=0.1, max_iter=5, cache_size=1).fit(given, y)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[0] < peaks[1] + 0.5 * rows.data.nbytes


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("classes, iterations", [(2, 5), (2, 4000), (7, 200)])
def test_a_fit_copies_support_vectors_alone(kind, classes, iterations):
    rows, y = np.tile(X.reshape(-1, 500), (2, 1)).astype(kind), RANDOM.integers(0, classes, 4340)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = libsvmx.SVC(max_iter=iterations).fit(rows, y)
        held, most = (bytes_ / rows.nbytes for bytes_ in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    share = len(model.support_) / len(rows)
    assert share <= held < share + 0.05
    assert most < share + 0.25  # also 32 kernel rows, and vectors of rows
    np.testing.assert_array_equal(model.support_vectors_, rows[model.support_])
    assert model.support_vectors_.dtype == np.float64
    assert model.support_vectors_ is model.support_vectors_
