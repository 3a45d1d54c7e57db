"""Kernel matrices of callers: read in place, with the same models for every type and order."""

import tracemalloc

import numpy as np
import pytest
from support.optional import optional

import libsvmx
from libsvmx.io.modelfile import model_text

sparse_arrays = optional("scipy.sparse")

N, M = 120, 30
rng = np.random.default_rng(4)
POINTS = rng.normal(size=(N + M, 5))
LABELS = np.sign(POINTS[:N, 0] + 0.3 * rng.normal(size=N))
TARGETS = {
    "c_svc": LABELS,
    "nu_svc": LABELS,
    "one_class": LABELS,
    "epsilon_svr": POINTS[:N, 1],
    "nu_svr": POINTS[:N, 1],
}
# float32, so that both types hold the same numbers
ALL = np.exp(-((POINTS[:, None] - POINTS[None, :N]) ** 2).sum(2) / 5).astype(np.float32).astype(np.float64)
K, TESTS = ALL[:N], ALL[N:]
SKEWED = K + 1e-9 * rng.normal(size=K.shape)  # not exactly symmetric


def unaligned(values):
    shifted = np.zeros(values.nbytes + 1, dtype=np.uint8)[1:].view(values.dtype).reshape(values.shape)
    shifted[:] = values
    return shifted


def forms(values, folder):
    """The same values in every accepted form."""
    yield "Fortran order", np.asfortranarray(values)
    wide = np.zeros((2 * len(values), 3 * values.shape[1]))
    wide[::2, ::3] = values
    yield "every other one", wide[::2, ::3]
    yield "backwards", np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    yield "big endian", values.astype(">f8")
    yield "unaligned", unaligned(values)
    read_only = values.copy()
    read_only.flags.writeable = False
    yield "read only", read_only
    for order in "CF":
        path = folder / f"{len(values)}{order}"
        np.memmap(path, np.float64, "w+", shape=values.shape, order=order)[:] = values
        yield f"mapped {order}", np.memmap(path, np.float64, "r", shape=values.shape, order=order)
    if (values == values.astype(np.float32)).all():
        yield "float32", values.astype(np.float32)
        yield "float32 in Fortran order", np.asfortranarray(values, dtype=np.float32)
    yield "lists", values.tolist()


@pytest.mark.parametrize("svm_type", TARGETS)
@pytest.mark.parametrize("matrix", [K, SKEWED], ids=["symmetric", "skewed"])
def test_every_form_has_the_same_model_and_predictions(svm_type, matrix, tmp_path):
    y = TARGETS[svm_type]
    options = {"svm_type": svm_type, "kernel_type": "precomputed", "nu": 0.3}
    # libsvmx's own rows have a double for each value
    rows = libsvmx.CsrMatrix(*rows_with_serials(matrix))
    expected = libsvmx.train(rows, y, **options)
    values = libsvmx.decision_values(expected, libsvmx.CsrMatrix(*rows_with_serials(TESTS)))
    for name, form in forms(matrix, tmp_path):
        model = libsvmx.train(form, y, **options)
        assert model_text(model) == model_text(expected), name
    for name, form in forms(TESTS, tmp_path):
        assert np.array_equal(libsvmx.decision_values(expected, form), values), name


def rows_with_serials(values):
    n, m = values.shape
    table = np.column_stack([np.arange(1, n + 1), values])
    indices = np.tile(np.arange(m + 1, dtype=np.int32), n)
    return np.arange(n + 1, dtype=np.int64) * (m + 1), indices, table.reshape(-1)


GIVEN = {"kernel_type": "precomputed"}
DOORS = {
    "train": lambda X, y: libsvmx.train(X, y, **GIVEN),
    "state": lambda X, y: libsvmx.train(X, y, keep_state=True, **GIVEN),
    "add": lambda X, y: libsvmx.train(X[:2, :2], y[:2], keep_state=True, **GIVEN).add(X[2:], y[2:]),
    "folds": lambda X, y: libsvmx.cross_validate(X, y, 3, **GIVEN),
    "seeded": lambda X, y: libsvmx.cross_validate(X, y, 3, seeder="sir", **GIVEN),
    "left out": lambda X, y: libsvmx.leave_one_out(X, y, **GIVEN),
    "many": lambda X, y: libsvmx.fit_many(X, y[:, None], **GIVEN),
    "path": lambda X, y: libsvmx.c_path(X, y, 1, 10, **GIVEN),
    "estimator": lambda X, y: libsvmx.SVC(kernel="precomputed").fit(X, y),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("place", "said"), [((5, 5), "with itself"), ((5, 7), "in column 7")])
@pytest.mark.parametrize("value", [1.8e38, -1e300])
def test_values_beyond_a_float_are_refused(door, place, said, value):
    """LIBSVM keeps kernel rows in float, where they are infinite."""
    matrix = K.copy()
    matrix[place] = matrix[place[::-1]] = value
    kinds = (np.float32, np.float64) if abs(value) < 3e38 else (np.float64,)
    for own in [form for kind in kinds for form in (matrix.astype(kind), np.asfortranarray(matrix, kind))]:
        with pytest.raises(libsvmx.DataError, match=f"the kernel value of the row {said} overflows"):
            DOORS[door](own, LABELS)
    assert libsvmx.predict(libsvmx.train(K, LABELS, **GIVEN), matrix).shape == (N,)  # in double


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"])
def test_estimators_take_every_form(name, tmp_path):
    y = POINTS[:N, 1] if name.endswith("SVR") else LABELS
    expected = getattr(libsvmx, name)(kernel="precomputed").fit(K, y)
    predicted = expected.predict(TESTS)
    for what, form in forms(K, tmp_path):
        made = getattr(libsvmx, name)(kernel="precomputed").fit(form, y)
        assert np.array_equal(made.dual_coef_, expected.dual_coef_), what
    for what, form in forms(TESTS, tmp_path):
        assert np.array_equal(expected.predict(form), predicted), what
    for sparse in (sparse_arrays.csr_array(TESTS), sparse_arrays.csr_matrix(TESTS)):
        assert np.array_equal(expected.predict(sparse), predicted)


@pytest.mark.parametrize("options", [{}, {"probability": True}, {"refine": True}, {"warm_start": True}])
def test_folds_and_estimates_are_those_of_a_copy(options):
    """In C order, where nothing is copied, and from lists, where everything is."""
    given, copied = (
        libsvmx.SVC(kernel="precomputed", random_state=0, **options).fit(X, LABELS) for X in (K, K.tolist())
    )
    assert np.array_equal(given.dual_coef_, copied.dual_coef_)
    if options.get("probability"):
        assert np.array_equal(given.predict_proba(TESTS), copied.predict_proba(TESTS))
    validated = [libsvmx.cross_validate(X, LABELS, 4, kernel_type=4) for X in (K, np.asfortranarray(K), K.tolist())]
    assert np.array_equal(validated[0].predictions, validated[2].predictions)
    assert np.array_equal(validated[1].predictions, validated[2].predictions)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_nothing_of_the_size_of_the_matrix_is_made(order, kind):
    n = 1000
    points = rng.normal(size=(n, 5))
    gram = np.asarray(points @ points.T, dtype=kind, order=order)
    gram = np.asarray((gram + gram.T) / 2, order=order)
    y = np.sign(points[:, 0] + 0.1)
    made, options = libsvmx.SVC(kernel="precomputed", C=0.01), {"kernel_type": 4, "C": 0.01}
    for call in (lambda: made.fit(gram, y), lambda: made.predict(gram), lambda: libsvmx.train(gram, y, **options)):
        call()
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # comparing a Fortran-order matrix with its transpose takes some tiles, whatever its size
        assert peak < 0.1 * gram.nbytes + 2 * 256**2


def test_nothing_that_stays_shares_the_callers_matrix():
    gram = K.copy()
    state = libsvmx.train(gram, LABELS, kernel_type=4, keep_state=True)
    model = libsvmx.train(gram, LABELS, kernel_type=4)
    kept = libsvmx.SVC(kernel="precomputed", keep_rows=True).fit(gram, LABELS)
    refined = libsvmx.SVC(kernel="precomputed", keep_rows=True, refine=True).fit(gram, LABELS)
    text, digest = model_text(model), state.certificate()["sha256"]
    gram[:] = 7.0
    assert model_text(model) == text
    state.update(remove=[3, 4])
    others = np.delete(np.arange(N), [3, 4])
    fresh = libsvmx.train(K[np.ix_(others, others)], LABELS[others], kernel_type=4, keep_state=True)
    assert state.certificate()["sha256"] != digest
    assert state.model.rho == pytest.approx(fresh.model.rho, abs=1e-8)
    kept.unlearn([3, 4])
    refined.unlearn([3, 4])
    assert kept.intercept_ == pytest.approx(refined.intercept_, abs=1e-8)
    assert abs(kept.intercept_[0]) == pytest.approx(abs(fresh.model.rho[0]), abs=1e-8)


@pytest.mark.parametrize("order", "CF")
def test_the_first_value_that_is_not_finite_is_named(order):
    gram = K.copy(order=order)
    gram[90, 2], gram[7, 50], gram[7, 60] = np.nan, np.inf, np.nan
    with pytest.raises(libsvmx.DataError, match="the value of column 50 is not finite") as error:
        libsvmx.train(gram, LABELS, kernel_type=4)
    assert error.value.row == 7
    with pytest.raises(ValueError, match=r"infinity|NaN"):
        libsvmx.SVC(kernel="precomputed").fit(gram, LABELS)


@pytest.mark.parametrize("shape", [(N, N - 1), (N + 1, N)])
def test_more_rows_than_columns_and_fewer(shape):
    gram = np.zeros(shape)
    gram[: min(shape), : min(shape)] = K[: min(shape), : min(shape)]
    labels = np.resize(LABELS, shape[0])
    if shape[0] > shape[1]:
        with pytest.raises(libsvmx.DataError, match="serial number"):
            libsvmx.train(gram, labels, kernel_type=4)
    with pytest.raises(ValueError, match="square"):
        libsvmx.SVC(kernel="precomputed").fit(gram, labels)
