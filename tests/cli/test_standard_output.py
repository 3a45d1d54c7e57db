"""``-`` as an output file: standard output contains that file and nothing else."""

import os
import sys
from pathlib import Path

import pytest
from support import data
from support.commands import process

HEART = str(data.DATA / "heart_scale")
SMALL = ["-log2c", "0,1,1", "-log2g", "-3,-3,1", "-png", "null"]


@pytest.fixture
def trained(folder):
    """A folder with a model, and a file whose name stands for standard output."""
    folder.accepts("svmx-train", "-q", HEART, "model")
    folder.put("-", folder.KEPT)
    return folder


def test_predictions(trained):
    trained.accepts("svmx-predict", HEART, "model", "o")
    err, out = trained.accepts("svmx-predict", HEART, "model", "-")
    assert out.encode() == trained.get("o")
    assert err == "Accuracy = 86.6667% (234/270) (classification)\n"
    assert trained.get("-") == trained.KEPT


def test_a_device_of_that_name_has_what_libsvm_prints_there(trained):
    trained.accepts("svmx-predict", HEART, "model", "o")
    done = process("svmx-predict", HEART, "model", "/dev/stdout")
    assert done.stdout == trained.get("o") + b"Accuracy = 86.6667% (234/270) (classification)\n"
    assert done.stderr == b""


def test_data_from_standard_input_and_predictions_to_standard_output(trained):
    with open(HEART, "rb") as file:
        done = process("svmx-predict", "-q", "-", "model", "-", stdin=file)
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 270, b"")


def test_a_model(trained):
    _, report = trained.accepts("svmx-train", HEART, "m")
    err, out = trained.accepts("svmx-train", HEART, "-")
    assert (err, out.encode()) == (report, trained.get("model"))


def test_a_figure_stays_where_it_is_parsed(trained):
    """With -v there is no model, so "-" has no effect."""
    _, out = trained.accepts("svmx-train", "-q", "-v", "3", HEART, "-")
    assert out.startswith("Cross Validation Accuracy = ")


def test_parts(trained):
    _, whole = trained.accepts("svmx-subset", "-s", "1", "--random-state", "1", HEART, 20, "part", "rest")
    assert whole == ""
    args = ["svmx-subset", "-s", "1", "--random-state", "1", HEART, 20]
    assert trained.accepts(*args, "-")[1].encode() == trained.get("part")
    assert trained.accepts(*args, "part", "-")[1].encode() == trained.get("rest")


def test_an_update(trained):
    trained.put("more", Path(HEART).read_bytes().splitlines(True)[0])
    _, report = trained.accepts("svmx-update", "--add", "more", HEART, "model", "new")
    err, out = trained.accepts("svmx-update", "--add", "more", HEART, "model", "-")
    assert (out.encode(), err) == (trained.get("new"), report)
    _, report = trained.accepts("svmx-update", "--window", "200", "--step", "50", HEART, "last", "predictions")
    err, out = trained.accepts("svmx-update", "--window", "200", "--step", "50", HEART, "last", "-")
    assert (out.encode(), err) == (trained.get("predictions"), report)


@pytest.mark.parametrize("option", ["-out", "--csv", "--json", "-png"])
def test_results_and_tables_of_a_grid(trained, option):
    if option == "-png":
        pytest.importorskip("matplotlib")
    named = [] if option == "-out" else ["-out", "null"]
    _, points = trained.accepts("svmx-grid", *SMALL, "-out", "null", HEART)
    done = process("svmx-grid", *SMALL, *named, option, "-", HEART)
    assert (done.returncode, done.stderr.decode()) == (0, points)
    first = {"-out": b"# svmx-grid {", "--csv": b"log2c,log2g,", "--json": b"{\n", "-png": b"\x89PNG"}
    assert done.stdout.startswith(first[option])
    assert sorted(trained.snapshot()) == ["-", "model"]


@pytest.mark.parametrize(
    "args, cause",
    [
        (["svmx-subset", HEART, 20, "-", "-"], "two files are to be written to standard output"),
        (["svmx-grid", *SMALL, "-out", "-", "--csv", "-", HEART], "two files are to be written to standard output"),
        (["svmx-update", "--window", "200", HEART, "-", "-"], "two files are to be written to standard output"),
        (["svmx-scale", "-s", "-", HEART], "the ranges need a file: the scaled data go to standard output"),
        (["svmx-scale", "-r", "-", "-"], "standard input can be the data or the range file, not both"),
    ],
)
def test_one_file_at_most(trained, args, cause):
    assert cause in trained.refuses(*args)[0]


@pytest.mark.parametrize(
    "args",
    [
        ["svmx-subset", HEART, 20, "/dev/null", "/dev/null"],
        ["svmx-grid", *SMALL, "-out", "/dev/null", "--csv", "/dev/null", HEART],
        ["svmx-update", "--window", "200", HEART, "/dev/null", "/dev/null"],
        ["svmx-scale", "-s", "/dev/null", "--output", "/dev/null", HEART],
    ],
)
def test_a_device_may_be_two_outputs(trained, args):
    trained.accepts(*args)


def test_a_file_named_dash_is_not_standard_input(trained):
    done = process("svmx-scale", "--output", "./-", "-", input=Path(HEART).read_bytes())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert trained.get("-").decode() == trained.accepts("svmx-scale", HEART)[1]


def test_ranges_from_standard_input(trained):
    _, scaled = trained.accepts("svmx-scale", "-s", "ranges", HEART)
    done = process("svmx-scale", "-r", "-", HEART, input=trained.get("ranges"))
    assert done.stdout.decode() == scaled
    done = process("svmx-scale", "-r", "-", HEART, input=b"junk\n")
    assert done.stderr.startswith(b"svmx-scale: error: standard input:1: not a range file")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "args",
    [
        ["svmx-predict", "-q", HEART, "model", "-"],
        ["svmx-train", "-q", HEART, "-"],
        ["svmx-subset", HEART, 20, "-"],
        ["svmx-grid", *SMALL, "-out", "-", HEART],
        ["svmx-grid", *SMALL, "-out", "null", "--csv", "-", HEART],
    ],
)
def test_a_full_disk_behind_it(trained, args):
    with open("/dev/full", "wb") as full:
        done = process(*args, stdout=full)
    assert done.returncode == 1
    assert done.stderr.endswith(b"error: standard output: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="closed descriptors")
def test_closed_by_the_caller(trained):
    done = process("svmx-predict", HEART, "model", "-", preexec_fn=lambda: os.close(1), stdout=None)
    assert (done.returncode, done.stderr) == (1, b"svmx-predict: error: standard output: Bad file descriptor\n")
