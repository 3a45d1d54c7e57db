"""svmx-compress: a smaller model that svm-predict and svmx-predict read alike; and refusals."""

import numpy as np
import pytest
from support import data, oracle

import libsvmx

HEART = data.DATA / "heart_scale"


@pytest.mark.parametrize("words", [("--tol", "0.5"), ("--max-sv", "40")])
@pytest.mark.parametrize("options", ["-g 0.1", "-s 3 -g 0.1", "-t 0"])
def test_a_smaller_model(options, words, folder):
    folder.accepts("svmx-train", "-q", *options.split(), HEART, "model")
    _, printed = folder.accepts("svmx-compress", *words, "model", "small")
    before, after = libsvmx.load_model("model"), libsvmx.load_model("small")
    found = libsvmx.compress(before, **{words[0][2:].replace("-", "_"): float(words[1]) if "." in words[1] else 40})
    first, second = printed.splitlines()
    assert first == f"Total nSV = {after.n_sv} of {before.n_sv}"
    assert after.n_sv == found.model.n_sv < before.n_sv
    assert float(second.split()[-1]) == found.bounds.max()
    X, _ = libsvmx.read_problem(str(HEART))
    folder.accepts("svmx-predict", "-q", HEART, "small", "out")
    labels, _ = oracle.predict(oracle.load(folder.path / "small"), X)
    np.testing.assert_allclose(np.array(folder.get("out").split(), dtype=float), labels, rtol=1e-5)


def test_refused(folder):
    folder.accepts("svmx-train", "-q", HEART, "model")
    folder.accepts("svmx-train", "-q", "-t", "3", HEART, "sigmoid")
    for words, cause in (
        (("--tol", "0.1", "model"), "are needed"),
        (("model", "m"), "either --max-sv or --tol"),
        (("--tol", "1", "--max-sv", "3", "model", "m"), "either --max-sv or --tol"),
        (("--tol", "-1", "model", "m"), "tol must be >= 0"),
        (("--max-sv", "0", "model", "m"), "at least 1"),
        (("--tol", "0.1", "model", "model"), "would be lost"),
        (("--tol", "0.1", "sigmoid", "m"), "not SIGMOID"),
        (("--tol", "0.1", "nofile", "m"), "nofile"),
    ):
        assert cause in folder.refuses("svmx-compress", *words)[0]
