"""svmx-update with precomputed kernels, in LIBSVM's format: the same as with the kernel itself."""

import numpy as np
import pytest
from support import data, oracle

import libsvmx
from libsvmx.io.modelfile import load_model
from libsvmx.io.svmlight import read_data

GAMMA = 0.1


@pytest.fixture
def heart(folder):
    """A folder with "rows" and "all", the kernel values of all 270 with all; and a function that writes some."""
    lines = (data.DATA / "heart_scale").read_text().splitlines(keepends=True)
    folder.put("rows", "".join(lines))
    X = read_data("rows").matrix.toarray()
    K = np.exp(-GAMMA * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    labels = [line.split()[0] for line in lines]

    def put(name, rows, columns=270, changed=None):
        """Lines with ``columns`` columns each, or up to their own; ``changed``: {(row, column): text}."""
        text = []
        for i in rows:
            values = [f"{j + 1}:{K[i, j]:.17g}" for j in range(columns or i + 1)]
            for (row, column), other in (changed or {}).items():
                if row == i:
                    values[column] = f"{column + 1}:{other}"
            text.append(f"{labels[i]} 0:{i + 1} {' '.join(values)}\n")
        folder.put(name, "".join(text))

    put("all", range(270))
    return put


def distance_to(rows, model="new", **options):
    """From the decision values of a model file to those of the exact optimum over these rows of heart_scale."""
    file = read_data("rows")
    y = np.asarray(file.targets)[rows]
    state = libsvmx.train(file.matrix[rows], y, gamma=GAMMA, keep_state=True, **options)
    expected = state.decision_values(file.matrix)
    return np.abs(libsvmx.decision_values(load_model(model), read_data("all").matrix) - expected).max()


@pytest.mark.parametrize("columns", [270, 0])
def test_rows_join_and_leave_a_model(columns, heart, folder):
    """A file with all columns, or with those up to the row's own, as when rows are appended."""
    heart("square", range(200), 200)
    heart("train", range(200), columns)
    heart("more", range(200, 270), columns)
    folder.accepts("svmx-train", "-q", "-t", "4", "-c", "10", "square", "model")
    assert (
        folder.accepts("svmx-update", "-c", "10", "--add", "more", "--remove", "2,11-20", "train", "model", "new")[0]
        == ""
    )
    rows = [0, *range(2, 10), *range(20, 270)]
    assert distance_to(rows, C=10) < 1e-9
    serials = np.asarray(load_model("new").vectors.values)
    assert set(serials) <= {row + 1 for row in rows}
    assert folder.get("new").split(b"SV\n")[1].startswith(b"10 0:")
    code, out, err = folder.call("svmx-predict", "all", "new", "predictions")
    assert (code, err) == (0, "")
    assert "Accuracy" in out


def test_a_model_of_libsvm(heart, folder):
    heart("train", range(200), 200)
    heart("more", range(200, 270))
    file = read_data("train")
    folder.put("model", oracle.Oracle(file.matrix, file.targets, "-t 4 -c 10").train().model_bytes(folder.path))
    assert folder.accepts("svmx-update", "-q", "-c", "10", "--add", "more", "train", "model", "new") == ("", "")
    assert distance_to(range(270), C=10) < 1e-9


def test_numbers_of_rows_are_any(heart, folder):
    """Rows of a file are counted, --remove; serial numbers name columns."""
    order = np.random.default_rng(1).permutation(270)
    heart("train", order[:200])
    heart("more", order[200:])
    folder.accepts("svmx-train", "-q", "-t", "4", "-c", "10", "train", "model")
    folder.accepts("svmx-update", "-q", "-c", "10", "--add", "more", "--remove", "1-50", "train", "model", "new")
    serials = np.asarray(load_model("new").vectors.values)
    assert set(serials) <= set(order[50:] + 1)
    assert distance_to(order[50:], C=10) < 1e-9


def test_state_files(heart, folder):
    heart("square", range(200), 200)
    heart("more", range(200, 240), 0)
    heart("last", range(240, 270), 0)
    folder.accepts("svmx-train", "-q", "-t", "4", "-c", "10", "square", "model")
    folder.accepts("svmx-update", "-q", "-c", "10", "--save-state", "state", "--remove", "1-50", "square", "model")
    step = ("svmx-update", "-q", "--state", "state", "--save-state", "state", "--report", "report")
    folder.accepts(*step, "--add", "more", "--remove", "51-60")
    folder.accepts(*step, "--add", "last", "-c", "3", "new")
    assert distance_to(range(60, 270), C=3) < 1e-9
    assert len(libsvmx.State.load("state")) == 210


@pytest.mark.parametrize("columns", [270, 0])
def test_a_stream(columns, heart, folder):
    heart("stream", range(270), columns)
    given = folder.accepts("svmx-update", "-t", "4", "--window", "60", "--step", "7", "stream", "new", "given")
    own = folder.accepts("svmx-update", "-g", str(GAMMA), "--window", "60", "--step", "7", "rows", "model", "own")
    assert folder.get("given") == folder.get("own")
    assert given[0] == own[0] == ""
    assert given[1].splitlines()[-1] == own[1].splitlines()[-1]
    assert distance_to(range(210, 270)) < 1e-9


WRONG = [
    ([200, 201], {"changed": {(201, 3): "x"}}, "more:2:"),
    ([200, 200], {}, "more:2: precomputed kernel: there is already a row with serial number 201\n"),
    ([200, 7], {}, "more:2: precomputed kernel: there is already a row with serial number 8\n"),
    ([200, 201], {"columns": 200}, "more:1: precomputed kernel: the row lacks column 201, its value with itself\n"),
    ([200, 201], {"columns": 201}, "more:2: precomputed kernel: the row lacks column 202, its value with itself\n"),
    (
        [200, 201],
        {"changed": {(201, 200): "0.9"}},
        "more:2: the kernel is not symmetric: K(202, 201) is 0.9, but K(201, 202)",
    ),
    ([200, 201], {"changed": {(201, 201): "1e39"}}, "more:2: the kernel value of the row with itself overflows"),
]


@pytest.mark.parametrize(("rows", "options", "message"), WRONG)
def test_bad_rows(rows, options, message, heart, folder):
    heart("square", range(200), 200)
    heart("more", rows, **options)
    folder.accepts("svmx-train", "-q", "-t", "4", "-c", "10", "square", "model")
    folder.accepts("svmx-update", "-q", "-c", "10", "--save-state", "state", "--remove", "9", "square", "model", "new")
    for start in (["-c", "10", "square", "model", "other"], ["--state", "state", "other"]):
        err, _ = folder.refuses("svmx-update", "--add", "more", *start)
        assert err.startswith(f"svmx-update: error: {message}")


def test_a_value_that_no_row_has(heart, folder):
    """Rows with larger numbers exist, and the added one ends before their columns."""
    heart("square", range(100, 200), 200)
    heart("more", [5], 150)
    folder.accepts("svmx-train", "-q", "-t", "4", "square", "model")
    err, _ = folder.refuses("svmx-update", "--add", "more", "square", "model", "new")
    cause = "precomputed kernel: the row lacks column 151, its value with a row that is there"
    assert err == f"svmx-update: error: more:1: {cause}\n"


def test_rows_of_features(heart, folder):
    heart("square", range(200), 200)
    folder.accepts("svmx-train", "-q", "-t", "4", "square", "model")
    err, _ = folder.refuses("svmx-update", "--add", "rows", "square", "model", "new")
    assert err.startswith("svmx-update: error: rows:1: precomputed kernel: a row must be 0:serial")


def test_a_bad_row_of_a_stream(heart, folder):
    heart("stream", range(270), changed={(71, 70): "0.9"})
    step = ("svmx-update", "-q", "-t", "4", "--window", "60", "--step", "10", "stream", "model", "predictions")
    err, _ = folder.refuses(*step)
    assert err.startswith(
        "svmx-update: error: stream:72: the kernel is not symmetric: K(72, 71) is 0.9, but K(71, 72) is"
    )
    lines = folder.get("all").splitlines(keepends=True)
    lines[75] = b" ".join(lines[75].split()[:40]) + b"\n"
    folder.put("stream", b"".join(lines))
    err, _ = folder.refuses(*step)
    assert err.startswith(
        "svmx-update: error: stream:76: precomputed kernel: the row ends at column 38, but the model needs"
    )
