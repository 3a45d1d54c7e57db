"""Where LIBSVM takes what we take, what comes of it is the same: model files, predictions, scaled data."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fuzz.conftest import NOT_FINITE
from support import oracle
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


def of_libsvm(work):
    """What ``work()``, bytes, gives in a child of this process: LIBSVM may crash. None if it does, or gives up."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(out)
            os.dup2(os.open("complaints", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            with os.fdopen(into, "wb") as file:
                file.write(work())
            code = 0
        finally:
            os._exit(code)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        found = file.read()
    _, status = os.waitpid(child, 0)
    usable = status == 0 and found and not NOT_FINITE.search(found)
    return found if usable and b"reaching max" not in Path("complaints").read_bytes() else None


def trained(options):
    data = read_data("d")
    found = oracle.Oracle(data.matrix, data.targets, " ".join(options))
    return b"" if found.complaint() is not None else found.train().model_bytes(".")


def test_models(place, cases):
    """Whatever LIBSVM makes of a right file with right options, we make the same bytes of it."""
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


def decisions(model, rows):
    labels, values = oracle.predict(model, rows)
    return np.array([[label, *value] for label, value in zip(labels, values, strict=True)]).tobytes()


def test_predictions(place, cases):
    """Models that nobody trained are read as LIBSVM reads them."""
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
