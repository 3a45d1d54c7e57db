"""svmx-export: programs that predict the same as svmx-predict; and refusals."""

import json

import numpy as np
import pytest
from support import data
from support.exported import Program

import libsvmx

SETS = {
    "heart_scale": "-g 0.1",
    "iris.scale": "",
    "splice.xz": "-g 0.02",
    "vowel.scale.xz": "-g 0.5 -c 10",
    "a1a.xz": "-g 0.03",
    "mushrooms.xz": "-t 0 -c 0.01",
    "abalone_scale.xz": "-s 3 -c 4",
    "wine.scale": "-t 1 -d 2 -r 1",
    "breast-cancer.xz": "-s 2 -n 0.2 -g 0.01",
}


@pytest.mark.parametrize("name", SETS)
def test_predicts_what_svmx_predict_does(name, folder):
    path = data.DATA / name
    folder.accepts("svmx-train", "-q", *SETS[name].split(), path, "model")
    folder.accepts("svmx-predict", "-q", path, "model", "expected")
    X, _ = libsvmx.read_problem(str(path))
    table = X.toarray()
    folder.accepts("svmx-export", "--features", table.shape[1], "--name", "svm", "model", "model.c")
    model = libsvmx.load_model("model")
    program = Program(folder.path / "model.c", model, name="svm")
    expected = np.array(folder.get("expected").split(), dtype=float)
    assert (program.predict(table) == expected).all()
    assert (program.decision_values(table) == libsvmx.decision_values(model, X)).all()


def test_the_format_is_that_of_the_name(folder):
    folder.accepts("svmx-train", "-q", data.DATA / "heart_scale", "model")
    for words, begin in (
        (("m.json",), b"{\n"),
        (("m.c",), b"/* C_SVC"),
        (("m.JSON",), b"{\n"),
        (("m.txt",), b"/* C_SVC"),
        (("--format", "json", "m.c"), b"{\n"),
    ):
        folder.accepts("svmx-export", *words[:-1], "model", words[-1])
        assert folder.get(words[-1]).startswith(begin)
    assert json.loads(folder.get("m.json"))["svm_type"] == "c_svc"
    assert folder.accepts("svmx-export", "--dtype", "float32", "model", "f.c") == ("", "")
    assert b"typedef float real;" in folder.get("f.c")


def test_onnx(folder):
    pytest.importorskip("onnx")
    folder.accepts("svmx-train", "-q", data.DATA / "heart_scale", "model")
    folder.accepts("svmx-export", "model", "m.onnx")
    assert b"libsvmx" in folder.get("m.onnx")


def test_refused(folder):
    folder.accepts("svmx-train", "-q", data.DATA / "heart_scale", "model")
    for words, cause in (
        (("model",), "are needed"),
        (("model", "model"), "would be lost"),
        (("--format", "cpp", "model", "m"), "unknown format 'cpp'"),
        (("--dtype", "int", "model", "m"), "unknown dtype"),
        (("--name", "1", "model", "m"), "functions of C"),
        (("--features", "3", "model", "m"), "between 13"),
        (("nofile", "m"), "nofile"),
        (("model", "no/m"), "no"),
    ):
        assert cause in folder.refuses("svmx-export", *words)[0]


def test_a_name_without_an_ending_is_that_of_a_program_in_C(folder):
    folder.accepts("svmx-train", "-q", data.DATA / "heart_scale", "model")
    folder.accepts("svmx-export", "model", "json")
    assert "#include <math.h>" in (folder.path / "json").read_text()
