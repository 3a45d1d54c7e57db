"""If LIBSVM accepts the same input, results are equal: model files, predictions, scaled data."""

import shutil
import subprocess

import numpy as np
import pytest
from support import oracle
from support.libsvm_child import NOT_FINITE, decisions, estimates, of_libsvm
from support.wildfiles import model_bytes, right_data, right_model

import libsvmx
from libsvmx.io.svmlight import read_data

OPTIONS = {
    "-s": "01234",
    "-t": "0123",
    "-d": "25",
    "-b": "01",
    "-h": "01",
    "-m": ("100", "1"),
    "-e": ("0.001", "1e-6", "0.5"),
    "-c": ("1", "0.1", "100"),
    "-g": ("0.5", "0.01", "10"),
    "-r": ("1", "-1"),
    "-n": ("0.5", "0.1"),
    "-p": ("0", "0.1"),
    "-w1": ("2", "0.5"),
}


def trained(options):
    data = read_data("d")
    found = oracle.Oracle(data.matrix, data.targets, " ".join(options))
    return b"" if found.complaint() is not None else found.train().model_bytes(".")


def test_models(place, cases):
    """From a valid file with valid options, we write the same bytes as LIBSVM."""
    for wild in cases.each(40):
        r = wild.random
        options = [
            word for name in r.sample(sorted(OPTIONS), r.randrange(5)) for word in (name, r.choice(OPTIONS[name]))
        ]
        regression = next((options[k + 1] in "34" for k in range(0, len(options), 2) if options[k] == "-s"), False)
        place.put("d", right_data(wild, regression))
        expected = of_libsvm(lambda: trained(options))  # noqa: B023  called at once
        code, _ = place.call("svmx-train", "-q", *options, "d", "m")
        if cases.count(expected is not None):
            assert code == 0, options
            assert place.get("m") == expected, options
    cases.check(0.5)


def test_predictions(place, cases):
    """Models that no training produced are read as by LIBSVM."""
    for wild in cases.each(40):
        header, rows = right_model(wild)
        place.put("m", model_bytes(header, rows))
        place.put("d", right_data(wild))
        data = read_data("d")
        expected = of_libsvm(lambda: decisions(oracle.load("m"), data.matrix))  # noqa: B023  called at once
        model = libsvmx.load_model("m")
        X = data.matrix
        labels, values = libsvmx.predict(model, X), libsvmx.decision_values(model, X)
        if cases.count(expected is not None):
            found = np.frombuffer(expected).reshape(len(labels), -1)
            np.testing.assert_array_equal(labels, found[:, 0])
            np.testing.assert_array_equal(np.asarray(values).reshape(len(labels), -1), found[:, 1:])
    cases.check(0.3)


def test_predictions_that_overflow(place, cases):
    """They are non-finite where LIBSVM's are."""
    for wild in cases.each(40):
        header, rows = right_model(wild)
        content = model_bytes(header, rows)
        place.put("m", wild.enlarged(content) if wild.random.random() < 0.5 else content)
        place.put("d", wild.enlarged(right_data(wild)))
        data = read_data("d")
        try:
            model = libsvmx.load_model("m")
        except libsvmx.FormatError:
            cases.count(False)
            continue
        expected = of_libsvm(lambda: decisions(oracle.load("m"), data.matrix))  # noqa: B023  called at once
        labels, values = libsvmx.predict(model, data.matrix), libsvmx.decision_values(model, data.matrix)
        if cases.count(expected is not None):
            found = np.frombuffer(expected).reshape(len(labels), -1)
            np.testing.assert_array_equal(labels, found[:, 0])
            np.testing.assert_array_equal(np.asarray(values).reshape(len(labels), -1), found[:, 1:])
            if model.param.svm_type.is_classification and model.has_probability:
                expected = of_libsvm(lambda: estimates(oracle.load("m"), data.matrix))  # noqa: B023
                found = libsvmx.predict_probability(model, data.matrix)[1]
                np.testing.assert_array_equal(found.ravel(), np.frombuffer(expected))
    cases.check(0.2)


SCALER = shutil.which("svm-scale")


@pytest.mark.skipif(SCALER is None, reason="needs svm-scale")
def test_scaled_data(place, cases):
    for wild in cases.each(40):
        r = wild.random
        place.put("d", right_data(wild))
        limits = r.choice([[], ["-l", "0"], ["-l", "0", "-u", "2.5"], ["-y", "0", "1"], ["-l", "-3", "-u", "-1"]])
        theirs = subprocess.run([SCALER, *limits, "-s", "theirs", "d"], capture_output=True, check=False)
        code, out = place.call("svmx-scale", *limits, "-s", "ours", "d")
        if not cases.count(theirs.returncode == 0 and not NOT_FINITE.search(theirs.stdout)):
            continue
        assert code == 0
        assert out == theirs.stdout
        assert place.get("ours") == place.get("theirs")
        place.put("e", right_data(wild))
        theirs = subprocess.run([SCALER, "-r", "theirs", "e"], capture_output=True, check=False)
        code, out = place.call("svmx-scale", "-r", "theirs", "e")
        assert code == 0
        assert out == theirs.stdout
    cases.check(0.5)
