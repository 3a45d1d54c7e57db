"""svmx-easy: files and output of easy.py."""

import json
import re

import pytest
from support import data, oracle

from libsvmx.io.svmlight import read_data

MPG = str(data.DATA / "mpg")
# an unscaled set with two classes: mpg's cars, by whether the first feature is above its median
SPLIT = 4.0


@pytest.fixture
def cars_on_every_point(folder, no_pictures):
    """Training and test files of unscaled data in their own folder."""
    matrix = read_data(MPG).matrix
    lines = []
    for i in range(matrix.n_rows):
        (_, first), *rest = matrix.row(i)
        lines.append(f"{1 if first > SPLIT else -1} {' '.join(f'{j}:{v:g}' for j, v in rest)}\n")
    (folder.path / "in").mkdir()
    # few enough rows for all 110 points of easy.py's grid
    (folder.path / "in" / "train").write_text("".join(lines[::8]))
    (folder.path / "in" / "test").write_text("".join(lines[1::8]))
    return folder


@pytest.fixture
def cars(cars_on_every_point, few_points):
    return cars_on_every_point


NAMES = ["train.model", "train.range", "train.scale", "train.scale.out"]


def without_pictures(folder):
    return sorted(name for name in folder.snapshot() if not name.endswith(".png"))


def test_lines_and_files_are_those_of_easy_py(cars):
    err, out = cars.accepts("svmx-easy", "--seeder", "none", "in/train", "in/test")
    best = re.search(r"^Best c=(\S+), g=(\S+) CV rate=(\S+)$", out, re.M)
    correct = re.search(r"\((\d+)/49\)", out)
    assert err == ""
    assert out == (
        "Scaling training data...\n"
        "Cross validation...\n"
        f"Best c={best[1]}, g={best[2]} CV rate={best[3]}\n"
        "Training...\n"
        "Output model: train.model\n"
        "Scaling testing data...\n"
        "Testing...\n"
        f"Accuracy = {int(correct[1]) / 49 * 100:g}% ({correct[1]}/49) (classification)\n"
        "Output prediction: test.predict\n"
    )
    assert without_pictures(cars) == sorted([*NAMES, "test.predict", "test.scale"])
    made = {name: cars.get(name) for name in without_pictures(cars)}

    # running each step as its own command gives the same bytes
    _, scaled = cars.accepts("svmx-scale", "-s", "range", "in/train")
    assert scaled.encode() == made["train.scale"]
    assert cars.get("range") == made["train.range"]
    _, grid = cars.accepts("svmx-grid", "--seeder", "none", "-png", "null", "-out", "grid", "train.scale")
    c, g, rate = map(float, grid.splitlines()[-1].split())
    assert best.groups() == (str(c), str(g), str(rate))
    assert sorted(without_times(cars.get("grid"))) == sorted(without_times(made["train.scale.out"]))
    assert cars.accepts("svmx-scale", "-r", "range", "in/test")[1].encode() == made["test.scale"]
    cars.accepts("svmx-predict", "-q", "test.scale", "train.model", "predicted")
    assert cars.get("predicted") == made["test.predict"]
    # the model equals LIBSVM's
    file = read_data("train.scale")
    libsvm = oracle.Oracle(file.matrix, file.targets, f"-c {c!r} -g {g!r}").train()
    assert made["train.model"] == libsvm.model_bytes(cars.path)


def without_times(content):
    return [line for line in content.splitlines() if line.startswith(b"log2c")]


def test_a_training_file_alone(cars_on_every_point):
    """At easy.py's exponents, which are integers."""
    cars = cars_on_every_point
    _, out = cars.accepts("svmx-easy", "in/train")
    assert out.splitlines()[-1] == "Output model: train.model"
    assert without_pictures(cars) == NAMES
    lines = without_times(cars.get("train.scale.out"))
    assert sorted(line.split(b" rate=")[0] for line in lines) == sorted(
        f"log2c={c} log2g={g}".encode() for c in range(-5, 16, 2) for g in range(3, -16, -2)
    )


def test_workers_find_the_same(cars):
    pytest.importorskip("joblib")
    _, alone = cars.accepts("svmx-easy", "in/train")
    assert cars.accepts("svmx-easy", "--workers", "2", "in/train")[1] == alone


def test_a_search_is_resumed(cars):
    cars.accepts("svmx-easy", "in/train")
    whole = cars.get("train.scale.out")
    cars.put("train.scale.out", b"".join(whole.splitlines(True)[:5]))
    cars.accepts("svmx-easy", "--resume", "in/train")
    assert cars.get("train.scale.out").startswith(b"".join(whole.splitlines(True)[:5]))
    assert sorted(without_times(cars.get("train.scale.out"))) == sorted(without_times(whole))
    header = json.loads(whole.splitlines()[0].removeprefix(b"# svmx-grid "))
    assert header["folds"] == 5


@pytest.mark.parametrize(
    "args, cause",
    [
        (["--solver", "crsvm", "--rank", "5", "--seeder", "sir", "in/train"], "crsvm"),
        (["--solver", "crsvm", "in/train"], "crsvm needs explicit features"),
        (["nowhere"], "nowhere: No such file"),
        (["in/train", "nowhere"], "nowhere: No such file"),
        (["x", "in"], "in: Is a directory"),
        (["-"], "the data must be a file, not standard input"),
        (["a", "b", "c"], "a training file and perhaps a testing file"),
        (["x", "x.scale"], "the output file is the same as x.scale, which would be lost"),
        (["x", "x.model"], "the output file is the same as x.model, which would be lost"),
        (["in/x", "x.scale"], "the output file is the same as x.scale, which would be lost"),
        (["bad"], "bad:1:3: "),
        (["empty"], "empty: no data"),
        (["--workers", "x", "in/train"], "--workers"),
        (["-W", "-", "in/train"], "the data must be a file, not standard input"),
        (["-W", "nowhere", "in/train"], "nowhere: No such file"),
        (["-W", "x.model", "x"], "the output file is the same as x.model, which would be lost"),
        (["-W", "x", "in/train"], "x:1: a line must be one weight"),
    ],
)
def test_what_it_refuses(args, cause, cars):
    cars.put("x", "1 1:1\n-1 1:2\n")
    (cars.path / "in" / "x").write_text("1 1:1\n-1 1:2\n")
    cars.put("x.scale", "1 1:1\n-1 1:2\n")
    cars.put("x.model", "1 1:1\n-1 1:2\n")
    cars.put("bad", "1 x\n")
    cars.put("empty", "")
    err, _ = cars.refuses("svmx-easy", *args)
    assert err.startswith("svmx-easy: error: ")
    assert cause in err


def test_two_files_of_one_name(cars):
    """Of which easy.py, too, keeps the scaled rows of the testing file alone; a file beside itself is no such case."""
    cars.accepts("svmx-easy", "in/train", "in/test")
    scaled, predicted = cars.get("test.scale"), cars.get("test.predict")
    (cars.path / "more").mkdir()
    (cars.path / "more" / "train").write_text((cars.path / "in" / "test").read_text())
    err, _ = cars.accepts("svmx-easy", "in/train", "more/train")
    assert err == (
        "warning: both files are called train: at the end train.scale has the rows of more/train, as in easy.py\n"
    )
    assert (cars.get("train.scale"), cars.get("train.predict")) == (scaled, predicted)
    err, _ = cars.accepts("svmx-easy", "in/train", "in/train")
    assert err == ""


def test_weights_of_rows(cars):
    """Like svmx-grid and svmx-train over the scaled file, with the same weights."""
    weights = [f"{k % 3}\n" for k in range(49)]
    cars.put("weights", "".join(weights))
    _, out = cars.accepts("svmx-easy", "-W", "weights", "in/train", "in/test")
    best = re.search(r"^Best c=(\S+), g=(\S+) CV rate=(\S+)$", out, re.M)
    model = cars.get("train.model")
    grid = ["-out", "null", "-png", "null"]
    _, told = cars.accepts("svmx-grid", "-W", "weights", *grid, "train.scale")
    assert told.splitlines()[-1].split() == [best[1], best[2], best[3]]
    cars.accepts("svmx-train", "-q", "-c", best[1], "-g", best[2], "-W", "weights", "train.scale", "other")
    assert cars.get("other") == model
    cars.accepts("svmx-train", "-q", "-c", best[1], "-g", best[2], "train.scale", "other")
    assert cars.get("other") != model
