"""export(): C, ONNX and JSON compute the same as the model; files are written whole; refusals."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.data import DATA
from support.exported import Program, decision_values_of_json, trained

import libsvmx
from libsvmx import DataError, ParameterError, SvmxError
from libsvmx.api.arrays import as_matrix

HEART = DATA / "heart_scale"
MODELS = {
    "two classes": (HEART, {"gamma": 0.1, "probability": True}),
    "nu": (HEART, {"svm_type": "NU_SVC", "nu": 0.3}),
    "one class": (HEART, {"svm_type": "ONE_CLASS", "nu": 0.3}),
    "regression": (DATA / "pyrim", {"svm_type": "EPSILON_SVR", "p": 0.01}),
    "eleven classes": (DATA / "vowel.scale.xz", {"gamma": 0.5, "C": 10, "probability": True}),
    "three classes": (DATA / "iris.scale", {"probability": True}),
    "sparse": (DATA / "a1a.xz", {"gamma": 0.03}),
    "linear": (DATA / "splice.xz", {"kernel_type": "linear", "C": 0.01}),
    "linear, sparse": (DATA / "mushrooms.xz", {"kernel_type": "linear", "C": 0.01}),
    "polynomial": (DATA / "wine.scale", {"kernel_type": "polynomial", "degree": 5, "coef0": 0.5}),
    "sigmoid": (HEART, {"kernel_type": "sigmoid", "gamma": 0.02, "coef0": -0.1}),
}
made = {}


def model_of(name):
    if name not in made:
        made[name] = trained(*MODELS[name])
    return made[name]


def size_of(model, X):
    """A bound on all sums of a decision value: sum of the coefficients times the largest kernel value."""
    p, square = model.param, (X * X).sum(axis=1).max()
    largest = {0: square, 1: (p.gamma * square + p.coef0) ** p.degree}.get(p.kernel_type, 1.0)
    return abs(model.sv_coef).sum() * largest


@pytest.mark.parametrize("name", MODELS)
def test_c_in_float(name, tmp_path):
    model, X = model_of(name)
    libsvmx.export(model, str(tmp_path / "model.c"), dtype="float32", name="in_float")
    values = Program(tmp_path / "model.c", model, "float32", "in_float").decision_values(X)
    scale = size_of(model, X)
    np.testing.assert_allclose(values, libsvmx.decision_values(model, X), atol=1e-6 * scale)


def test_tables_are_dense_or_sparse(tmp_path):
    for name, sparse in (("two classes", False), ("sparse", True), ("linear", False), ("linear, sparse", True)):
        libsvmx.export(model_of(name)[0], str(tmp_path / "model.c"))
        assert ("feature[k]" in (tmp_path / "model.c").read_text()) == sparse


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_onnx_predicts_the_same(name, dtype, tmp_path):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    model, X = model_of(name)
    libsvmx.export(model, str(tmp_path / "model.onnx"), "onnx", dtype=dtype)
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    assert session.get_inputs()[0].shape == ["n", model.n_features]
    predicted, values = session.run(None, {"x": X.astype(dtype)})
    expected = libsvmx.decision_values(model, X)
    atol = (1e-13 if dtype == "float64" else 2e-5) * size_of(model, X)
    np.testing.assert_allclose(values, expected, atol=atol)
    if dtype == "float64" and not model.param.svm_type.is_regression:
        near = (abs(expected) > atol).all(axis=1)
        assert near.sum() > 0.99 * len(X)
        assert (predicted == libsvmx.predict(model, X))[near].all()
    assert predicted.shape == (len(X),)


@pytest.mark.parametrize("kind", [kind for kind in libsvmx.KernelType if kind.keyword != "precomputed"])
@pytest.mark.parametrize("formulation", ["c_svc", "one_class", "epsilon_svr"])
def test_onnx_has_no_unused_number(formulation, kind, tmp_path):
    """onnxruntime warns of each."""
    onnx = pytest.importorskip("onnx")
    X = np.random.default_rng(0).random((30, 3))
    model = libsvmx.train(X, np.arange(30) % 3, svm_type=formulation, kernel_type=kind)
    libsvmx.export(model, str(tmp_path / "model.onnx"))
    graph = onnx.load(str(tmp_path / "model.onnx")).graph
    read = {name for node in graph.node for name in node.input}
    assert {constant.name for constant in graph.initializer} <= read


def test_onnx_of_no_vectors_and_one_class_alone(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    X = np.arange(12.0).reshape(6, 2)
    flat = libsvmx.train(X, np.ones(6), svm_type="EPSILON_SVR")
    libsvmx.export(flat, str(tmp_path / "m.onnx"), "onnx", n_features=2)
    value, _ = runtime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"x": X})
    assert (value == libsvmx.predict(flat, X)).all()


def test_without_onnx(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(SvmxError, match="pip install 'onnx>="):
        libsvmx.export(model_of("nu")[0], str(tmp_path / "m"), "onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", MODELS)
def test_json_has_all_of_the_model(name, tmp_path):
    model, X = model_of(name)
    libsvmx.export(model, str(tmp_path / "m.json"), "json")
    scale, X = size_of(model, X), X[:150]
    values = decision_values_of_json(tmp_path / "m.json", X)
    np.testing.assert_allclose(values, libsvmx.decision_values(model, X), atol=1e-13 * scale)
    read = json.loads((tmp_path / "m.json").read_text())
    assert (read["format"], read["version"]) == ("libsvmx model", 1)
    assert (np.array(read["coef"]) == model.sv_coef).all()
    assert (read["rho"] == model.rho).all()
    vectors = [dict(map(tuple, pairs)) for pairs in read["support_vectors"]]
    assert vectors == [dict(model.vectors.row(i)) for i in range(model.n_sv)]
    assert read.get("labels") == (None if model.labels is None else list(model.labels))
    assert ("prob_a" in read) == (model.sigmoid_a is not None)


def test_features_beyond_those_of_the_vectors(tmp_path):
    """They count in RBF distances, as in LIBSVM, if the program includes them."""
    rows = [{1: 0.5}, {2: -1.0}, {1: 1.0, 2: 0.25}, {2: 0.5}]
    model = libsvmx.train(rows, [1, -1, 1, -1], gamma=0.5)
    libsvmx.export(model, str(tmp_path / "m.c"), n_features=4)
    X = np.array([[0.5, 0, 0, 2.0], [0, 1.0, -1.0, 0]])
    values = Program(tmp_path / "m.c", model).decision_values(X)
    tests = [{1: 0.5, 4: 2.0}, {2: 1.0, 3: -1.0}]
    assert (values == libsvmx.decision_values(model, tests)).all()
    with pytest.raises(ParameterError, match="between 2, those of the model"):
        libsvmx.export(model, str(tmp_path / "m.c"), n_features=1)


def test_an_index_of_0(tmp_path):
    """Then x[0] is its value."""
    drawn = np.random.default_rng(1).normal(size=(40, 3))
    rows = [dict(enumerate(row)) for row in drawn]
    model = libsvmx.train(rows, np.sign(drawn.sum(axis=1)), gamma=0.5)
    libsvmx.export(model, str(tmp_path / "m.c"))
    assert "is x[j], 0" in (tmp_path / "m.c").read_text()
    assert (Program(tmp_path / "m.c", model).decision_values(drawn) == libsvmx.decision_values(model, rows)).all()
    libsvmx.export(model, str(tmp_path / "m.json"), "json")
    np.testing.assert_allclose(
        decision_values_of_json(tmp_path / "m.json", drawn), libsvmx.decision_values(model, rows), atol=1e-12
    )


def test_models_with_next_to_nothing(tmp_path):
    X = np.arange(12.0).reshape(6, 2)
    models = [
        libsvmx.train(X, np.ones(6), svm_type="EPSILON_SVR"),  # no vectors
        libsvmx.train(X, np.full(6, 7)),  # one class, no function
        libsvmx.train(X * 0, [1, 1, 1, -1, -1, -1], svm_type="C_SVC"),  # only zero vectors
    ]
    for k, model in enumerate(models):
        path = tmp_path / f"{k}.c"
        libsvmx.export(model, str(path))
        program = Program(path, model)
        assert (program.predict(X * 0) == libsvmx.predict(model, X * 0)).all()
        libsvmx.export(model, str(tmp_path / "m.json"), "json")
        assert len(json.loads((tmp_path / "m.json").read_text())["support_vectors"]) == model.n_sv


def test_extreme_numbers(tmp_path):
    """To the bit in double; numbers beyond the range of float are refused."""
    X = np.array([[5e-324, 1e308], [1e22, -1.0], [-3.0, 1 / 3]])
    model = libsvmx.train(np.eye(3, 2), [1, -1, 1], kernel_type="linear")
    model = replace(model, vectors=as_matrix(X[: model.n_sv]))
    libsvmx.export(model, str(tmp_path / "m.c"))
    program = Program(tmp_path / "m.c", model)
    tests = np.array([[1.0, 1e-10], [0.5, 0.25]])
    assert (program.decision_values(tests) == libsvmx.decision_values(model, tests)).all()
    with pytest.raises(DataError, match="too large for a float"):
        libsvmx.export(model, str(tmp_path / "m.c"), dtype="float32")
    assert "double" in (tmp_path / "m.c").read_text()  # the previous file


def test_values_beyond_float_are_refused(tmp_path):
    model = libsvmx.train(np.eye(3, 2), [1, -1, 1], gamma=1e-42)
    with pytest.raises(DataError, match="gamma, 1e-42, is too small for a float"):
        libsvmx.export(model, str(tmp_path / "m.c"), dtype="float32")
    model = replace(libsvmx.train(np.eye(3, 2), [1, -1, 1]), coef=np.full(3, 1e-60).data)
    with pytest.raises(DataError, match="the largest coefficient"):
        libsvmx.export(model, str(tmp_path / "m.c"), dtype="float32")
    with pytest.raises(DataError, match="the largest coefficient"):
        libsvmx.export(model, str(tmp_path / "m.onnx"), "onnx", dtype="float32")
    assert not any(tmp_path.iterdir())


def test_more_features_than_C_counts(tmp_path):
    (tmp_path / "m").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\n"
        "SV\n1 0:1 2147483647:1\n-1 1:2\n"
    )
    model = libsvmx.load_model(str(tmp_path / "m"))
    with pytest.raises(DataError, match="the model has 2147483648 features"):
        libsvmx.export(model, str(tmp_path / "m.c"))


def test_refusals(tmp_path):
    model, _ = model_of("nu")
    path = str(tmp_path / "m")
    for how, cause in (
        ({"format": "cpp"}, "unknown format 'cpp': choose one of c, json, onnx"),
        ({"dtype": "float16"}, "unknown dtype"),
        ({"format": "json", "dtype": "float32"}, "decimal numbers"),
        ({"name": "a b"}, "functions of C"),
        ({"name": "é"}, "functions of C"),
        ({"n_features": 12}, "between 13"),
        ({"n_features": 2**31}, "between 13"),
        ({"n_features": 13.5}, "n_features must be"),
    ):
        with pytest.raises(ParameterError, match=cause):
            libsvmx.export(model, path, **how)
    X = np.eye(4)
    given = libsvmx.train(X, [1, 1, -1, -1], kernel_type="precomputed")
    with pytest.raises(ParameterError, match="precomputed"):
        libsvmx.export(given, path)
    broken = replace(model, coef=np.full(model.n_sv, np.inf))
    with pytest.raises(DataError, match="not finite"):
        libsvmx.export(broken, path)
    with pytest.raises(TypeError):
        libsvmx.export("model", path)
    with pytest.raises(OSError, match="No such file"):
        libsvmx.export(model, str(tmp_path / "no" / "m"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name, begins", [("m.json", b"{"), ("m.JSON", b"{"), ("m.c", b"/*"), ("m", b"/*"), ("m.txt", b"/*")]
)
def test_the_format_follows_the_file_extension(name, begins, tmp_path):
    model, _ = model_of("two classes")
    libsvmx.export(model, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_given_format_overrides_the_extension(tmp_path):
    model, _ = model_of("two classes")
    libsvmx.export(model, tmp_path / "m.json", "c")
    assert (tmp_path / "m.json").read_bytes().startswith(b"/*")
