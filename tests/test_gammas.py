"""A gamma for each feature: displayed and stored in the caller's units, and invalid values are refused."""

import os
import pickle
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.commands import process
from support.exported import Program, decision_values_of_json
from support.interrupts import Points, press
from support.optional import optional
from support.sequential import SequentialClient

import libsvmx
from libsvmx import DataError, FormatError, Kernel, Parameter, ParameterError, SvmxError, svmutil
from libsvmx.cli import grid, predict, train, update
from libsvmx.cli.options import UsageError

model_selection = optional("sklearn.model_selection")

N = 60
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 4))
Y = np.where(X[:, 0] * X[:, 1] > 0, 1, 2)
GAMMAS = np.array([1.0, 0.5, 0.0, 2.0])
COUNTS = GAMMAS > 0


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_explained_rows_are_the_callers(name, form):
    model = libsvmx.train(form(X), Y, kernel_type=name, gamma=GAMMAS)
    found = libsvmx.explain(model, form(X[:5]), form(X[10:25]))
    np.testing.assert_allclose(found.base_values, model.decision_function(X[10:25]).mean(), rtol=1e-12)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.decision_function(X[:5])[:, 0])
    np.testing.assert_array_equal(found.data, X[:5])
    assert not found.values[:, 2].any()


OF_030 = {"rbf": np.sqrt(GAMMAS), "laplacian": GAMMAS}  # factors of features, as stored by 0.3.0


@pytest.mark.parametrize("name", OF_030)
def test_kernels_pickled_by_030(name):
    kernel = Kernel.named(name, gamma=GAMMAS)
    old = Kernel.__new__(type(kernel))
    old.__setstate__({"spec": kernel.spec, "factors": OF_030[name]})
    np.testing.assert_allclose(old.param.gammas, GAMMAS)
    found, wanted = (libsvmx.train(X, Y, kernel=one).decision_function(X) for one in (old, kernel))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    old.__setstate__({"spec": Kernel.named(name, gamma=0.5).spec, "factors": None})
    assert repr(old) == repr(pickle.loads(pickle.dumps(old))) == f"Kernel.named('{name}', gamma=0.5)"


def test_estimators_that_030_fitted_with_a_kernel_by_name():
    """0.3.0 called such a kernel, so the model has the support vectors for calls."""
    kernel, called = Kernel.named("rbf", gamma=GAMMAS), Kernel()
    called.prepare, called.rows, called.cross, called.diagonal = kernel.prepare, kernel.rows, kernel, kernel.diagonal
    old = libsvmx.SVC(kernel=called, keep_rows=True).fit(X, Y)
    wanted = old.decision_function(X)
    old.set_params(kernel=kernel)
    np.testing.assert_allclose(old.decision_function(X), wanted)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(old)).decision_function(X), wanted)
    with pytest.raises(ValueError, match=r"0\.3\.0, which has fitted this, called .*: fit again"):
        old.partial_fit(X[:3], Y[:3])
    assert old.fit(X, Y).to_model().own_kernel is None
    old.partial_fit(X[:3], Y[:3])
    other = libsvmx.SVC(kernel=lambda A, B: A @ B.T).fit(X, Y).set_params(kernel=kernel)
    with pytest.raises(ValueError, match="fitted with another kind of kernel"):
        other.predict(X)


@pytest.mark.parametrize("name", ["linear", "precomputed", "cosine"])
def test_kernels_without_gamma_ignore_an_array_as_they_do_a_number(name):
    rows = X @ X.T if name == "precomputed" else X
    of_array, of_number = (
        libsvmx.train(rows, Y, Parameter(gamma=gamma), kernel_type=name) for gamma in (np.ones(4) / 3, 0.5)
    )
    np.testing.assert_array_equal(of_array.decision_function(rows), of_number.decision_function(rows))
    assert of_array.param.gammas == ()


def test_a_search_over_kernels_with_an_array():
    search = model_selection.GridSearchCV(
        libsvmx.SVC(gamma=GAMMAS), {"kernel": ["linear", "rbf"]}, cv=3, error_score="raise"
    )
    search.fit(X, Y)
    linear = libsvmx.SVC(kernel="linear", gamma=GAMMAS).fit(X, Y)
    np.testing.assert_array_equal(linear.coef_, libsvmx.SVC(kernel="linear").fit(X, Y).coef_)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_support_vectors_have_the_callers_units(name, form):
    kernel = Kernel.named(name, gamma=GAMMAS)
    model = libsvmx.train(form(X), Y, kernel=kernel)
    np.testing.assert_allclose(model.support_vectors.toarray(), X[model.sv_indices - 1] * COUNTS, rtol=1e-12)
    values = model.decision_function(X)
    np.testing.assert_allclose(model.decision_function(model.support_vectors), values[model.sv_indices - 1], atol=1e-9)
    fitted = libsvmx.SVC(kernel=kernel, keep_rows=True).fit(form(X[:50]), Y[:50])

    def shown():
        vectors = fitted.support_vectors_
        return vectors if isinstance(vectors, np.ndarray) else vectors.toarray()

    np.testing.assert_array_equal(shown(), X[fitted.support_])
    of_model = libsvmx.SVC.from_model(model)
    np.testing.assert_allclose(of_model.support_vectors_.toarray(), X[of_model.support_] * COUNTS, rtol=1e-12)
    if name == "rbf":
        fitted = libsvmx.SVC(gamma=GAMMAS, keep_rows=True).fit(form(X[:50]), Y[:50])
        fitted.partial_fit(form(X[50:]), Y[50:])
        np.testing.assert_allclose(shown(), X[fitted.support_] * COUNTS, rtol=1e-12)


def test_rows_join_after_an_equal_gamma_is_set():
    own = GAMMAS.copy()
    fitted = libsvmx.SVC(gamma=own, keep_rows=True).fit(X[:50], Y[:50])
    fitted.set_params(gamma=GAMMAS.copy()).partial_fit(X[50:], Y[50:])
    fitted.set_params(gamma=GAMMAS.tolist()).unlearn([3])
    fitted = libsvmx.SVC(gamma=own, keep_rows=True).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match=r"is 0\.1 now: fit again"):
        fitted.set_params(gamma=0.1).partial_fit(X[50:], Y[50:])
    fitted.set_params(gamma=own)
    own *= 2  # the estimator keeps the caller's array, as in scikit-learn
    with pytest.raises(ValueError, match="fit again"):
        fitted.partial_fit(X[50:], Y[50:])


def test_a_feature_before_the_first_of_the_training_rows():
    rows = [{j + 1: value for j, value in enumerate(row)} for row in X.tolist()]
    model = libsvmx.train(rows, Y, gamma=GAMMAS)
    with pytest.raises(DataError, match="a gamma for each feature from 1 on, but rows with feature 0"):
        model.predict([{0: 1.0, 1: 0.5}])


def test_state_from_a_model_with_another_gamma():
    of_one, of_each = libsvmx.train(X, Y, gamma=0.5), libsvmx.train(X, Y, gamma=GAMMAS)
    with pytest.raises(ParameterError, match="gamma is given as one for each feature, but the model has one number"):
        libsvmx.State.from_model(X, Y, of_one, gamma=GAMMAS)
    with pytest.raises(ParameterError, match="gamma is given as one number, but the model has one for each feature"):
        libsvmx.State.from_model(X, Y, of_each, gamma=0.5)
    with pytest.raises(ParameterError, match="gamma of each feature is not that of the model"):
        libsvmx.State.from_model(X, Y, of_each, gamma=2 * GAMMAS)
    assert libsvmx.State.from_model(X, Y, of_each, gamma=GAMMAS).model.param.gammas == tuple(GAMMAS)


def test_a_data_frame_is_not_a_gamma():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ParameterError, match="one for each feature"):
        libsvmx.train(X, Y, gamma=pandas.DataFrame([GAMMAS], columns=[1, 2, 3, 4]))
    series = pandas.Series(GAMMAS, index=[4, 3, 2, 1])
    assert libsvmx.train(X, Y, gamma=series).param.gammas == tuple(GAMMAS)


def test_repr_of_many_gammas_is_short():
    assert "gammas=[0, 1, 2, ..., 781, 782, 783]" in repr(Parameter(gamma=np.arange(784)))
    assert "gammas=(1.0, 0.5, 0.0, 2.0)" in repr(Parameter(gamma=GAMMAS))


@pytest.mark.parametrize("share", [1.0, 0.2], ids=["dense", "sparse"])
def test_float32_rows_give_the_model_of_float64(share):
    rows = (X * (rng.random(X.shape) < share)).astype(np.float32)
    single, double = (libsvmx.train(some, Y, gamma=GAMMAS) for some in (rows, rows.astype(float)))
    np.testing.assert_array_equal(single.decision_function(rows), double.decision_function(rows))


# Rows, gammas and options of models.
OF_FILES = {
    "dense": (X, GAMMAS, {}),
    "sparse": (csr_array(X * (X > 0)), GAMMAS / 3, {"kernel_type": "laplacian"}),
    "float32": (X.astype(np.float32), GAMMAS / 3, {"svm_type": "epsilon_svr"}),
    "one feature": (X[:, :1], GAMMAS[1:2], {}),
    "last feature is 0": (X * [1, 1, 1, 0], GAMMAS, {"kernel_type": "chi2"}),
}


@pytest.mark.parametrize("case", OF_FILES)
def test_models_that_are_read_predict_as_those_written(case, tmp_path):
    rows, gammas, options = OF_FILES[case]
    rows = abs(rows)
    model = libsvmx.train(rows, Y, gamma=gammas, **options)
    libsvmx.save_model(tmp_path / "model", model)
    again = libsvmx.load_model(tmp_path / "model")
    assert again.param.gammas == tuple(gammas) and again.n_features == rows.shape[1]
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_allclose(again.support_vectors.toarray(), model.support_vectors.toarray(), rtol=1e-15)
    if "svm_type" not in options:
        fitted = libsvmx.SVC.from_libsvm(tmp_path / "model")
        np.testing.assert_array_equal(fitted.predict(rows), model.predict(rows))


def test_a_factor_of_the_gammas_is_kept_in_model_files(tmp_path):
    model = libsvmx.train(X, Y, Parameter(gamma=0.3, gammas=tuple(GAMMAS)))
    libsvmx.save_model(tmp_path / "model", model)
    again = libsvmx.load_model(tmp_path / "model")
    assert (again.param.gamma, again.param.gammas) == (0.3, tuple(GAMMAS))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("n", [1, 4])
def test_libsvm_refuses_model_files_with_gammas(n, tmp_path, capfd):
    official = pytest.importorskip("libsvm.svmutil")
    libsvmx.save_model(tmp_path / "model", libsvmx.train(X[:, :n], Y, gamma=GAMMAS[:n]))
    assert official.svm_load_model(str(tmp_path / "model")) is None
    assert "unknown text in model file: [gammas]" in capfd.readouterr().err
    with pytest.raises(ParameterError, match="gamma must be one number for LIBSVM's interface"):
        svmutil.svm_load_model(str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("gammas 1 0.5 0 2", "gammas 1 0.5 0", "4: gammas: they are of features 1 to 3, but there is a vector with"),
        ("gammas 1 0.5 0 2", "gammas", "4: gammas: 1 values expected, 0 found"),
        ("gammas 1 0.5 0 2", "gammas 1 0.5 nan 2", "4: gammas: not a finite number: 'nan'"),
        ("gammas 1 0.5 0 2", "gammas 1 0.5 0 x", "4: gammas: not a number: 'x'"),
        ("gammas 1 0.5 0 2", "gammas 1 0.5 0 -2", "4: gammas: must be >= 0, not -2"),
        ("kernel_type rbf", "kernel_type linear", "4: gammas: a linear kernel has none"),
        (" 1:", " 0:1 1:", "4: gammas: they are of features 1 to 4, but there is a vector with feature 0"),
    ],
)
def test_malformed_gammas_of_model_files(before, after, says, tmp_path):
    path = tmp_path / "model"
    libsvmx.save_model(path, libsvmx.train(X, Y, gamma=GAMMAS))
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    with pytest.raises(FormatError, match=f":{says}"):
        libsvmx.load_model(path)


def test_model_files_have_no_gammas_from_index_0_on(tmp_path):
    rows = [dict(enumerate(row)) for row in X.tolist()]
    with pytest.raises(ParameterError, match="gamma must be one number for a model file with a feature of index 0"):
        libsvmx.save_model(tmp_path / "model", libsvmx.train(rows, Y, gamma=GAMMAS))
    assert not (tmp_path / "model").exists()


def write_rows(path, rows, labels):
    lines = (
        " ".join([str(label), *(f"{j + 1}:{x!r}" for j, x in enumerate(row))])
        for label, row in zip(labels, rows.tolist(), strict=True)
    )
    path.write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A data file of X and Y, "rows" in the current folder."""
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows", X, Y)
    return tmp_path


def test_svmx_train_and_svmx_predict(file, capsys):
    model = libsvmx.train(*libsvmx.read_problem("rows"), gamma=GAMMAS)
    assert train.main(["-q", "-g", "1,0.5,0,2", "rows", "model"]) == 0
    libsvmx.save_model("wanted", model)
    assert (file / "model").read_bytes() == (file / "wanted").read_bytes()
    (file / "few").write_text("1 1:0.25\n2 2:1 4:0.5\n")  # rows to predict may lack the last features
    for name, rows in (("rows", X), ("few", [[0.25, 0, 0, 0], [0, 1, 0, 0.5]])):
        predict.main([name, "model", "found"])
        np.testing.assert_array_equal(np.loadtxt("found"), model.predict(rows))
    capsys.readouterr()
    train.main(["-g", "1,0.5,0,2", "-v", "4", "rows"])
    accuracy = libsvmx.cross_validate(X, Y, 4, gamma=GAMMAS).accuracy
    assert f"Cross Validation Accuracy = {accuracy:g}%" in capsys.readouterr().out


def test_explanations_of_svmx_train_name_all_gammas(file, capsys):
    train.main(["-g", "1,0.5,0,2", "--explain", "rows"])
    said = capsys.readouterr().out
    assert "rbf, gamma = [1, 0.5, 0, 2]\n" in said and "-g 1,0.5,0,2 " in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2,3", "rows: there are 3 gammas, but rows with 4 columns"),
        ("1,2,3,4,5", "rows: there are 5 gammas, but rows with 4 columns"),
        ("1,2,,4", "option -g needs a number, not ''"),
        ("1,2,nan,4", "option -g needs a finite number, not 'nan'"),
        ("1,2,-3,4", "gamma must be a number, or one for each feature, finite and >= 0"),
    ],
)
def test_invalid_gammas_of_svmx_train(file, text, says):
    with pytest.raises((FormatError, UsageError), match=says):
        train.main(["-g", text, "rows", "model"])
    assert not (file / "model").exists()


def test_svmx_predict_refuses_features_without_a_gamma(file):
    libsvmx.save_model("model", libsvmx.train(X, Y, gamma=GAMMAS))
    (file / "more").write_text("1 1:1 5:1\n")
    with pytest.raises(FormatError, match="more: there are 4 gammas, but rows with 5 columns"):
        predict.main(["more", "model", "found"])
    assert not (file / "found").exists()


SCALED = X * np.sqrt(GAMMAS)
OPTION = "1,0.5,0,2"


def both(file, argv_of):
    """Run commands on X with a gamma for each feature, and on scaled rows, each in a folder of its own.

    ``argv_of``: commands with their arguments, of the option -g."""
    for folder, rows, gamma in (("own", X, OPTION), ("scaled", SCALED, "1")):
        (file / folder).mkdir(exist_ok=True)
        os.chdir(file / folder)
        for name, part in (("rows", slice(0, 50)), ("more", slice(50, 55)), ("stream", slice(0, N))):
            write_rows(file / folder / name, rows[part], Y[part])
        for main, *argv in argv_of(gamma):
            assert main(argv) == 0
    os.chdir(file)


def test_svmx_update(file):
    """From a model, from a state, and along a stream: as with rows that are scaled."""
    more = ["--add", "more", "--remove", "2,7-9"]
    both(
        file,
        lambda g: [
            (train.main, "-q", "-g", g, "rows", "model"),
            (update.main, "-q", *more, "--save-state", "state", "rows", "model", "updated"),
            (update.main, "-q", "-c", "2", "--state", "state", "--add", "more", "--save-state", "after", "dearer"),
            (update.main, "-q", "--window", "40", "--step", "5", "-g", g, "stream", "slid", "predictions"),
        ],
    )
    for name in ("updated", "dearer", "slid"):
        found, wanted = (libsvmx.load_model(folder / name) for folder in (file / "own", file / "scaled"))
        assert found.param.gammas == tuple(GAMMAS)
        np.testing.assert_allclose(found.decision_function(X), wanted.decision_function(SCALED), atol=1e-6)
    own, scaled = (libsvmx.State.load(file / folder / "after") for folder in ("own", "scaled"))
    np.testing.assert_allclose(own.decision_values(X), scaled.decision_values(SCALED), atol=1e-9)
    assert (file / "own" / "predictions").read_bytes() == (file / "scaled" / "predictions").read_bytes()


def test_svmx_update_refuses_features_without_a_gamma(file):
    libsvmx.train(X, Y, gamma=GAMMAS, keep_state=True).save("state")
    (file / "more").write_text("1 1:0.5 5:2\n")
    with pytest.raises(FormatError, match="more: there are 4 gammas, but rows with 5 columns"):
        update.main(["-q", "--state", "state", "--add", "more", "--save-state", "after"])
    with pytest.raises(FormatError, match="rows: there are 3 gammas, but rows with 4 columns"):
        update.main(["-q", "--window", "40", "-g", "1,2,3", "rows", "model"])
    libsvmx.save_model("model", libsvmx.train(X, Y, gamma=GAMMAS))
    with pytest.raises(SvmxError, match="gamma of each feature is not that of the model"):
        update.main(["-q", "-g", "1,0.5,0.1,2", "--save-state", "after", "rows", "model"])
    assert not (file / "after").exists()


@pytest.mark.parametrize("axis", ["null", "-1,1,1"])
def test_svmx_grid(axis, file, capsys):
    """C alone, or with a factor of all gammas."""
    alone = ["-out", "found", "-png", "null", "-v", "4", "-log2c", "-1,2,1", "-log2g", axis]
    both(file, lambda g: [(grid.main, *alone, *(["-g", g] if axis == "null" or g == OPTION else []), "stream")])
    own, scaled = ((file / folder / "found").read_text() for folder in ("own", "scaled"))
    points = [[line for line in text.splitlines() if line.startswith("log2c")] for text in (own, scaled)]
    assert points[0] == points[1] and len(points[0]) == 4 * (1 if axis == "null" else 3)
    wanted = libsvmx.grid_search(X, Y, (-1, 2, 1), None if axis == "null" else (-1, 1, 1), 4, gamma=GAMMAS)
    assert capsys.readouterr().out.splitlines()[-1].split()[-1] == f"{wanted.best_rate:g}"
    with pytest.raises(FormatError, match="gammas was"):
        grid.main([*alone, "-resume", str(file / "own" / "found"), "-g", "1,0.5,0.5,2", str(file / "own" / "stream")])


def test_svmx_grid_needs_a_gamma_for_each_feature(file):
    with pytest.raises(FormatError, match="rows: there are 2 gammas, but rows with 4 columns"):
        grid.main(["-out", "null", "-png", "null", "-g", "1,2", "rows"])
    with pytest.raises(UsageError, match="-g cannot be combined with -log2g"):
        grid.main(["-out", "null", "-png", "null", "-g", "1", "rows"])


def test_svmx_batch(file):
    (file / "commands").write_text(f"svmx-train -q -g {OPTION} rows of_batch\n")
    assert process("svmx-batch", "commands").returncode == 0
    train.main(["-q", "-g", OPTION, "rows", "alone"])
    assert (file / "of_batch").read_bytes() == (file / "alone").read_bytes()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly", "chi2", "matern52"])
def test_exported_onnx_scales_rows(name, dtype, tmp_path):
    reference = pytest.importorskip("onnx.reference")
    model = libsvmx.train(abs(X), Y, kernel_type=name, gamma=GAMMAS / 3)
    libsvmx.export(model, tmp_path / "model.onnx", dtype=dtype)
    rows = abs(X).astype(dtype)
    found = reference.ReferenceEvaluator(str(tmp_path / "model.onnx")).run(None, {"x": rows})[1]
    atol = 1e-12 if dtype == "float64" else 1e-3
    np.testing.assert_allclose(found, model.decision_function(rows)[:, :1], rtol=0, atol=atol)
    with pytest.raises(ParameterError, match="n_features must be between 4, those of the model, and 4, not 5"):
        libsvmx.export(model, tmp_path / "model.onnx", n_features=5)


def test_features_are_left_out_with_their_gammas():
    for elimination in (libsvmx.SVMRFE, libsvmx.SVMRFECV):
        own = elimination(libsvmx.SVC(gamma=GAMMAS)).fit(X, Y)
        scaled = elimination(libsvmx.SVC(gamma=1.0)).fit(SCALED, Y)
        np.testing.assert_array_equal(own.ranking_, scaled.ranking_)
        np.testing.assert_array_equal(own.estimator_.gamma, GAMMAS[own.support_])
        np.testing.assert_array_equal(own.predict(X), scaled.predict(SCALED))
    assert own.ranking_[2] == own.ranking_.max()  # its gamma is 0


def test_pictures_have_the_callers_units():
    figure = pytest.importorskip("matplotlib.figure")
    import libsvmx.plot

    flat, gammas = X[:, :2], GAMMAS[:2]
    drawn = []
    for rows, gamma in ((flat, gammas), (flat * np.sqrt(gammas), 1.0)):
        model, ax = libsvmx.train(rows, Y, gamma=gamma), figure.Figure().add_subplot()
        libsvmx.plot.boundary(model, rows, Y, ax=ax, resolution=9)
        filled = next(one for one in ax.collections if getattr(one, "filled", False))
        offsets = {one.get_label(): np.asarray(one.get_offsets()) for one in ax.collections}
        drawn.append((ax.get_xlim(), ax.get_ylim(), offsets, [len(path) for path in filled.get_paths()]))
    own, scaled = drawn
    np.testing.assert_allclose(own[:2], scaled[:2] / np.sqrt(gammas)[:, None])
    for label in ("label 1", "support vectors"):
        np.testing.assert_allclose(own[2][label] * np.sqrt(gammas), scaled[2][label])
    assert own[3] == scaled[3]


def test_rows_on_a_cluster(tmp_path):
    distributed_rows = optional("dask.array")
    import libsvmx.dask

    options = {"low_rank": "cholesky", "rank": 20, "predict_with": "factor"}
    client = SequentialClient()
    found = []
    for rows, gamma in ((X, GAMMAS), (SCALED, 1.0)):
        problem = libsvmx.dask.from_arrays(distributed_rows.from_array(rows, chunks=(17, 4)), Y, client)
        found.append(libsvmx.dask.train(problem, gamma=gamma, **options).decision_function(rows))
    np.testing.assert_array_equal(*found)
    with pytest.raises(DataError, match="there are 3 gammas, one for each feature from 1 on, but rows with 4 columns"):
        libsvmx.dask.train(problem, gamma=[1.0, 2.0, 3.0], **options)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-13), ("float32", 1e-5)])
def test_exported_c_scales_rows(name, form, dtype, tol, tmp_path):
    rows = X * (np.arange(4) != np.arange(N)[:, np.newaxis] % 4)
    model = libsvmx.train(form(rows), Y, kernel_type=name, gamma=GAMMAS / 3)
    libsvmx.export(model, tmp_path / "model.c", dtype=dtype)
    program = Program(tmp_path / "model.c", model, dtype)
    np.testing.assert_allclose(program.decision_values(rows), model.decision_function(rows)[:, :1], atol=tol * N)
    with pytest.raises(ParameterError, match="n_features must be between 4, those of the model, and 4, not 5"):
        libsvmx.export(model, tmp_path / "model.c", n_features=5)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_exported_json_has_factors_of_rows(name, tmp_path):
    model = libsvmx.train(X, Y, kernel_type=name, gamma=GAMMAS / 3)
    libsvmx.export(model, tmp_path / "model.json")
    found = decision_values_of_json(tmp_path / "model.json", X)
    np.testing.assert_allclose(found, model.decision_function(X)[:, :1], atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_ctrl_c_comes_between_two_blocks_of_rows(form):
    """Rows are multiplied by their gammas some at a time: a signal in the first block begins no other."""
    model = libsvmx.train(X, Y, gamma=GAMMAS)
    rows = form(rng.normal(size=(50_000, 4)))
    model.predict(rows)  # does the look-ups of a first call

    def lines_of(at=0):
        """Function and line of each point of a prediction, interrupted at one of them."""
        points = Points(at, press)
        with suppress(KeyboardInterrupt), points:
            model.predict(rows)
        return [(point.function, point.line) for point in points.found]

    def blocks_of(found):
        """Where each block is begun."""
        return [at for at in range(1, len(found)) if found[at] == product != found[at - 1]]

    every = lines_of()
    product = Counter(place for place in every if place[0] == "scaled_rows").most_common(1)[0][0]
    first, *others = blocks_of(every)
    assert others
    assert blocks_of(lines_of(first + 1)) == [first]
