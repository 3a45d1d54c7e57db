"""Estimators to and from model files of LIBSVM."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.data import sparse_rows
from support.optional import optional

import libsvmx
from libsvmx.cli import predict

exceptions = optional("sklearn.exceptions")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


def eighths(rows):
    """With values that eight digits represent exactly."""
    return csr_matrix(np.round(rows.toarray() * 8) / 8)


X, Y = sparse_rows("heart_scale")
X = eighths(X)
GLASS, KINDS = sparse_rows("glass.scale", 200)
GLASS = eighths(GLASS)


def values(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name, kernel, tmp_path):
    kind = getattr(libsvmx, name)
    made = kind(kernel=kernel, gamma=0.1, coef0=0.5, degree=2).fit(X, Y)
    made.to_libsvm(tmp_path / "model")
    found = kind.from_libsvm(tmp_path / "model", n_features=13)
    assert type(found) is kind
    assert found.kernel == kernel
    np.testing.assert_array_equal(values(found, X), values(made, X))
    np.testing.assert_array_equal(found.predict(X), made.predict(X))
    np.testing.assert_array_equal(found.dual_coef_.toarray(), made.dual_coef_.toarray())
    np.testing.assert_array_equal(found.intercept_, made.intercept_)
    np.testing.assert_array_equal(found.n_support_, made.n_support_)
    np.testing.assert_array_equal(found.support_vectors_.toarray(), made.support_vectors_.toarray())
    assert found.n_features_in_ == 13
    for unknown in ("support_", "n_iter_", "fit_status_", "optimality_", "shape_fit_"):
        assert not hasattr(found, unknown)
    if kernel == "linear":
        np.testing.assert_allclose(found.coef_.toarray(), made.coef_.toarray())
    found.to_libsvm(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_the_file_of_scikit_learns_order_is_that_of_svm_train(tmp_path):
    order = np.argsort(KINDS, kind="stable")
    libsvmx.SVC(gamma=0.1).fit(GLASS[order], KINDS[order]).to_libsvm(tmp_path / "ours")
    libsvmx.save_model(str(tmp_path / "theirs"), libsvmx.train(GLASS[order], KINDS[order], gamma=0.1))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_classes_in_the_order_of_a_file(name, probability, tmp_path):
    """svm-train's order is that of the rows; votes are counted in it, everything else is in sorted order."""
    keep = KINDS != 6 if name == "NuSVC" else KINDS > 0
    order = np.random.default_rng(3).permutation(np.flatnonzero(keep))
    rows, y, nu = GLASS[order], KINDS[order], 0.05
    kind = libsvmx.enums.SvmType.NU_SVC if name == "NuSVC" else libsvmx.enums.SvmType.C_SVC
    model = libsvmx.train(rows, y, svm_type=kind, gamma=1.0, nu=nu, eps=1e-8, probability=probability)
    assert list(model.labels) != sorted(model.labels)
    libsvmx.save_model(str(tmp_path / "model"), model)
    found = getattr(libsvmx, name).from_libsvm(str(tmp_path / "model")).set_params(decision_function_shape="ovo")
    np.testing.assert_array_equal(found.classes_, sorted(model.labels))
    np.testing.assert_array_equal(found.predict(rows), libsvmx.predict(model, rows))
    own = {"nu": nu} if name == "NuSVC" else {}
    expected = getattr(libsvmx, name)(gamma=1.0, tol=1e-8, decision_function_shape="ovo", **own).fit(rows, y)
    np.testing.assert_allclose(found.decision_function(rows), expected.decision_function(rows), atol=1e-3)
    np.testing.assert_array_equal(found.n_support_, np.array(model.class_sv)[np.argsort(model.labels)])
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-3)
    assert found.probability == probability
    if probability:
        labels, estimates = libsvmx.predict_probability(model, rows)
        np.testing.assert_array_equal(found.predict_proba(rows), estimates[:, np.argsort(model.labels)])
        del labels
    linear = libsvmx.train(rows, y, svm_type=kind, kernel_type="linear", nu=nu)
    libsvmx.save_model(str(tmp_path / "linear"), linear)
    found = getattr(libsvmx, name).from_libsvm(tmp_path / "linear").set_params(decision_function_shape="ovo")
    shown = rows @ found.coef_.T + found.intercept_
    np.testing.assert_allclose(np.asarray(shown), found.decision_function(rows), atol=1e-9)


def test_two_classes_the_other_way_round(tmp_path):
    order = np.argsort(-Y, kind="stable")
    model = libsvmx.train(X[order], Y[order], gamma=0.1, probability=True)
    assert list(model.labels) == [1, -1]
    libsvmx.save_model(str(tmp_path / "model"), model)
    found = libsvmx.SVC.from_libsvm(tmp_path / "model")
    np.testing.assert_array_equal(found.predict(X), libsvmx.predict(model, X))
    np.testing.assert_array_equal(found.decision_function(X), libsvmx.decision_values(model, X).ravel())
    estimates = libsvmx.predict_probability(model, X)[1]
    np.testing.assert_array_equal(found.predict_proba(X), estimates[:, ::-1])
    found.to_libsvm(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_pairs_of_sorted_classes():
    from libsvmx.sklearn.class_order import pairs_sorted

    columns, signs = pairs_sorted([2, 0, 1])  # pairs (2, 0), (2, 1), (0, 1)
    assert list(columns) == [2, 0, 1]
    assert list(signs) == [1.0, -1.0, -1.0]


def test_svm_predict_reads_it(tmp_path):
    """The command of this package, with LIBSVM's files and predictions."""
    made = libsvmx.SVC(gamma=0.1).fit(X, Y.astype(int))
    made.to_libsvm(tmp_path / "model")
    rows = [" ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(row) if v) for row in X.toarray().tolist()]
    (tmp_path / "data").write_text("".join(f"{y:g} {row}\n" for y, row in zip(Y, rows, strict=True)))
    predict.main([str(tmp_path / name) for name in ("data", "model", "out")])
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "out"), made.predict(X))


@pytest.mark.parametrize("kernel", ["precomputed", lambda a, b: a @ b.T])
def test_given_kernels_are_written_as_precomputed(kernel, tmp_path):
    dense = X.toarray()
    K = dense @ dense.T
    made = libsvmx.SVC(kernel=kernel).fit(K if kernel == "precomputed" else dense, Y)
    made.to_libsvm(tmp_path / "model")
    found = libsvmx.SVC.from_libsvm(tmp_path / "model", n_features=200)
    assert found.kernel == "precomputed"
    np.testing.assert_array_equal(
        found.decision_function(K), libsvmx.SVC(kernel="precomputed").fit(K, Y).decision_function(K)
    )


# ---- labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["ill", "well"], [0, 2**31], [-(2**40), 1]], ids=["text", "wide", "low"])
def test_labels_that_no_file_has(names, tmp_path):
    y = np.array(names)[(Y > 0).astype(int)]
    made = libsvmx.SVC(gamma=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"whole numbers of 32 bits as labels.*codes=True"):
        made.to_libsvm(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    made.to_libsvm(tmp_path / "model", codes=True)
    assert b"\nlabel 0 1\n" in (tmp_path / "model").read_bytes()
    found = libsvmx.SVC.from_libsvm(tmp_path / "model", classes=made.classes_)
    np.testing.assert_array_equal(found.predict(X), made.predict(X))
    assert list(libsvmx.SVC.from_libsvm(tmp_path / "model").classes_) == [0, 1]


def test_labels_that_are_whole(tmp_path):
    for y in (Y > 0, Y.astype(np.int8), Y):
        made = libsvmx.SVC(gamma=0.1).fit(X, y)
        made.to_libsvm(tmp_path / "model")
        found = libsvmx.SVC.from_libsvm(tmp_path / "model")
        np.testing.assert_array_equal(found.predict(X), made.predict(X).astype(int))


@pytest.mark.parametrize(
    ("classes", "message"),
    [(["a"], "labels 0 to"), (["b", "a"], "sorted"), (["a", "a"], "each once"), ([["a", "b"]], "labels 0 to")],
)
def test_classes_that_do_not_fit(classes, message, tmp_path):
    libsvmx.SVC().fit(X, Y > 0).to_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        libsvmx.SVC.from_libsvm(tmp_path / "model", classes=classes)
    libsvmx.SVC().fit(X, Y).to_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match=r"the file has the labels \[-1, 1\]"):
        libsvmx.SVC.from_libsvm(tmp_path / "model", classes=["a", "b"])
    libsvmx.SVR().fit(X, Y).to_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match="only models of a classification"):
        libsvmx.SVR.from_libsvm(tmp_path / "model", classes=classes)


# ---- refusals -------------------------------------------------------------------------------------


def test_models_of_others(tmp_path):
    libsvmx.NuSVC().fit(X, Y).to_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match=r"a model of NU_SVC: read it by NuSVC\.from_libsvm"):
        libsvmx.SVC.from_libsvm(tmp_path / "model")
    (tmp_path / "broken").write_text("svm_type c_svc\nkernel_type rbf\n")
    with pytest.raises(libsvmx.FormatError, match="broken"):
        libsvmx.SVC.from_libsvm(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        libsvmx.SVC.from_libsvm(tmp_path / "none")
    with pytest.raises(exceptions.NotFittedError):
        libsvmx.SVC().to_libsvm(tmp_path / "unfitted")
    one = libsvmx.train(X[:5], np.ones(5))
    libsvmx.save_model(str(tmp_path / "one"), one)
    with pytest.raises(ValueError, match="one class"):
        libsvmx.SVC.from_libsvm(tmp_path / "one")
    libsvmx.SVC().fit(X, Y).to_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match="columns"):
        libsvmx.SVC.from_libsvm(tmp_path / "model", n_features=2)


def test_probabilities_of_a_regression_are_left_out(tmp_path):
    model = libsvmx.train(X, Y, svm_type="epsilon_svr", gamma=0.1, probability=True)
    libsvmx.save_model(str(tmp_path / "model"), model)
    with pytest.warns(UserWarning, match="probability estimates of the model are left out"):
        found = libsvmx.SVR.from_libsvm(tmp_path / "model")
    np.testing.assert_array_equal(found.predict(X), libsvmx.predict(model, X))


def test_a_model_that_was_read_is_fitted_anew_or_not_at_all(tmp_path):
    libsvmx.SVC(gamma=0.1).fit(X, Y).to_libsvm(tmp_path / "model")
    found = libsvmx.SVC.from_libsvm(tmp_path / "model")
    with pytest.raises(ValueError, match="the training rows are not kept"):
        found.loo_decision_function()
    expected = libsvmx.SVC(gamma=0.1).fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(found.fit(X, Y).decision_function(X), expected)


@pytest.mark.parametrize("n_features", [0, 2.5, "13", 2**31])
def test_a_number_of_features_that_cannot_be(n_features, tmp_path):
    path = tmp_path / "model"
    libsvmx.SVC().fit(np.eye(3), [0, 1, 0]).to_libsvm(path)
    with pytest.raises(ValueError, match="n_features must be a whole number from 3"):
        libsvmx.SVC.from_libsvm(path, n_features=n_features)
