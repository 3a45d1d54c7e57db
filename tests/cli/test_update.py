"""svmx-update: models, states and streams as used from a shell, against trainings on the same rows."""

import json
import os
import shutil
import signal
import subprocess

import numpy as np
import pytest
from support import data, oracle
from support.commands import PATIENCE, arguments, process

import libsvmx
from libsvmx.io.modelfile import load_model
from libsvmx.io.svmlight import read_data

FULL = "/dev/full"


def lines_of(name, folder, plain):
    """The rows of a data set, and an uncompressed file of them in the folder."""
    path = data.DATA / name
    lines = path.read_text().splitlines(keepends=True)
    folder.put(plain, "".join(lines))
    return lines


def values(model_file, data_file):
    return libsvmx.decision_values(load_model(model_file), read_data(data_file).matrix)


def fresh(data_file, **options):
    """Decision values of the rows of a file, from the exact optimum over them."""
    file = read_data(data_file)
    return libsvmx.train(file.matrix, file.targets, keep_state=True, **options)


def distance(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.fixture
def heart(folder):
    """A folder with 250 rows of heart_scale, 20 others, and LIBSVM's model of the 250; all its lines."""
    lines = lines_of("heart_scale", folder, "all")
    folder.put("train", "".join(lines[:250]))
    folder.put("more", "".join(lines[250:]))
    file = read_data("train")
    folder.put("model", oracle.Oracle(file.matrix, file.targets, "-c 10").train().model_bytes(folder.path))
    return lines


CASES = [
    ("heart_scale", "-c 10", {"C": 10}),
    ("glass.scale", "-c 5 -w2 3", {"C": 5, "weights": {2: 3}}),
    ("mpg", "-s 3 -c 20 -p 1 -g 1e-4", {"svm_type": 3, "C": 20, "p": 1, "gamma": 1e-4}),
    ("heart_scale", "-s 2 -n 0.3", {"svm_type": 2, "nu": 0.3}),
    ("iris.scale", "-s 1 -n 0.2", {"svm_type": 1, "nu": 0.2}),
    ("mpg", "-s 4 -n 0.3 -c 20 -g 1e-4", {"svm_type": 4, "C": 20, "nu": 0.3, "gamma": 1e-4}),
]


@pytest.mark.parametrize("name, options, same", CASES)
def test_rows_join_and_leave_a_model_of_libsvm(name, options, same, folder):
    lines = lines_of(name, folder, "all")
    folder.put("train", "".join(lines[:-30]))
    folder.put("more", "".join(lines[-30:]))
    folder.put("rest", "".join([lines[0], *lines[2:9], *lines[20:]]))
    file = read_data("train")
    folder.put("model", oracle.Oracle(file.matrix, file.targets, options).train().model_bytes(folder.path))
    gamma = load_model("model").param.gamma
    err, out = folder.accepts(
        "svmx-update", *options.split(), "--add", "more", "--remove", "2,10-20", "train", "model", "new"
    )
    assert err == ""
    start, change, total = out.splitlines()
    assert start.startswith(f"start: {len(lines) - 30} rows, ")
    assert change.startswith(f"+30 -12: {len(lines) - 12} rows, ")
    assert total == f"Total nSV = {load_model('new').n_sv}"
    state = fresh("rest", **{**same, "gamma": gamma})
    assert distance(values("new", "all"), state.decision_values(read_data("all").matrix)) < 1e-9
    assert state.model.n_sv == load_model("new").n_sv


def test_the_model_itself_is_replaced(heart, folder):
    before = folder.snapshot()
    assert folder.accepts("svmx-update", "-q", "-c", "10", "--add", "more", "train", "model") == ("", "")
    after = folder.snapshot()
    assert {name for name in after if after[name] != before.get(name)} == {"model"}
    assert distance(values("model", "all"), fresh("all", C=10).decision_values(read_data("all").matrix)) < 1e-9


@pytest.mark.skipif(not shutil.which("svm-predict"), reason="LIBSVM's own svm-predict is not installed")
def test_svm_predict_reads_the_model(heart, folder):
    folder.accepts("svmx-update", "-q", "-c", "10", "--add", "more", "train", "model")
    theirs = subprocess.run(["svm-predict", "all", "model", "theirs"], capture_output=True, text=True, check=True)
    assert folder.accepts("svmx-predict", "all", "model", "ours")[1] == theirs.stdout
    assert folder.get("ours") == folder.get("theirs")


def test_a_state_file_goes_on_where_it_was(heart, folder):
    """Two steps through a file give the same as one, and -c follows the optimum."""
    options = ["-q", "-c", "10"]
    folder.accepts("svmx-update", *options, "--add", "more", "--remove", "5-30", "train", "model", "once")
    folder.accepts("svmx-update", *options, "--save-state", "state", "--remove", "5-30", "train", "model", "first")
    folder.accepts("svmx-update", "-q", "--add", "more", "--state", "state", "--save-state", "state", "twice")
    assert distance(values("twice", "all"), values("once", "all")) < 1e-9
    # added rows are numbered after the 250 of the training file, and keep their numbers
    err, _ = folder.refuses("svmx-update", "--state", "state", "--remove", "1,30", "other")
    assert err == "svmx-update: error: --remove: there is no row 30 among the 244 rows of the state\n"
    folder.put("rest", "".join([*heart[1:4], *heart[30:260], *heart[261:]]))
    _, out = folder.accepts("svmx-update", "-m", "50", "--state", "state", "--remove", "1,261", "-c", "4", "other")
    assert [line.split(":")[0] for line in out.splitlines()] == ["start", "C = 4", "+0 -2", out.splitlines()[-1]]
    expected = fresh("rest", C=4, gamma=load_model("model").param.gamma)
    assert distance(values("other", "all"), expected.decision_values(read_data("all").matrix)) < 1e-9


def test_a_report_of_the_last_change(heart, folder):
    """As JSON: the same as for the state saved beside it, and the work done."""
    options = ["-q", "-c", "10", "--save-state", "state", "--report", "report.json"]
    folder.accepts("svmx-update", *options, "--add", "more", "--remove", "1-5", "train", "model", "new")
    found, saved = json.loads(folder.get("report.json")), libsvmx.State.load("state").certificate()
    assert (found["rows"], found["sha256"]) == (265, saved["sha256"])
    assert found["breakpoints"] > 0
    assert max(found["gap"], found["gap_before"]) < 1e-9
    folder.accepts("svmx-update", "-q", "--report", "-", "--window", "100", "--step", "50", "all", "last")
    printed = folder.accepts("svmx-update", "--report", "-", "--state", "state", "model")[1]
    assert json.loads(printed)["sha256"] == saved["sha256"]
    assert json.loads(printed)["gap_before"] is None


def test_a_state_of_the_command_is_one_of_python(heart, folder):
    folder.accepts("svmx-update", "-q", "-c", "10", "--save-state", "state", "train", "model", "new")
    state = libsvmx.State.load("state")
    assert (len(state), state.param.C, list(state.ids[:3])) == (250, 10, [0, 1, 2])
    state.save("again")
    folder.accepts("svmx-update", "-q", "--state", "again", "new2")
    assert distance(values("new2", "all"), values("new", "all")) < 1e-12


def test_a_state_goes_on_to_another_nu(heart, folder):
    folder.accepts("svmx-train", "-q", "-s", "1", "-n", "0.3", "train", "model")
    folder.accepts("svmx-update", "-q", "-n", "0.3", "--save-state", "state", "train", "model", "new")
    _, out = folder.accepts("svmx-update", "--state", "state", "-n", "0.5", "--add", "more", "new")
    assert [line.split(":")[0] for line in out.splitlines()[:3]] == ["start", "nu = 0.5", "+20 -0"]
    expected = fresh("all", svm_type=1, nu=0.5, gamma=load_model("model").param.gamma)
    assert distance(values("new", "all"), expected.decision_values(read_data("all").matrix)) < 1e-9
    err, _ = folder.refuses("svmx-update", "--state", "state", "-c", "3", "new2")
    assert "nu-SVC has no C" in err


def test_probability_estimates_are_dropped_with_a_remark(heart, folder):
    folder.accepts("svmx-train", "-q", "-b", "1", "-c", "10", "train", "model")
    err, _ = folder.accepts("svmx-update", "-c", "10", "--remove", "1", "train", "model")
    assert err == "warning: the model's probability estimates are dropped: they come from cross-validation\n"
    assert not load_model("model").has_probability


@pytest.mark.parametrize("content", ["2\n10\n11\n", "2\r\n 10\r\n11\r\n\r\n", "10\n2\n11"])
def test_row_numbers_in_a_file(content, heart, folder):
    folder.put("numbers", content)
    folder.accepts("svmx-update", "-q", "-c", "10", "--remove", "numbers", "train", "model", "a")
    folder.accepts("svmx-update", "-q", "-c", "10", "--remove", "2,10-11", "train", "model", "b")
    assert folder.get("a") == folder.get("b")


# ---------------------------------------------------------------- streams


def by_hand(lines, window, step, folder, **options):
    """Predictions of a stream from a training at each step."""
    predicted = []
    for begin in range(window, len(lines), step):
        folder.put("window", "".join(lines[begin - window : begin]))
        folder.put("next", "".join(lines[begin : begin + step]))
        file = read_data("window")
        model = libsvmx.train(file.matrix, file.targets, eps=1e-6, **options)
        predicted += libsvmx.predict(model, read_data("next").matrix).tolist()
    folder.put("window", "".join(lines[-window:]))
    return predicted


STREAMS = [
    ("heart_scale", 150, 60, 7, "-c 2 -g 0.1", {"C": 2, "gamma": 0.1}),
    ("iris.scale", 150, 60, 10, "-c 2 -g 0.5", {"C": 2, "gamma": 0.5}),
    ("mpg", 100, 50, 8, "-s 3 -p 1 -c 5 -g 1e-4", {"svm_type": 3, "p": 1, "C": 5, "gamma": 1e-4}),
    ("heart_scale", 100, 40, 9, "-s 2 -n 0.2 -g 0.1", {"svm_type": 2, "nu": 0.2, "gamma": 0.1}),
    ("heart_scale", 150, 60, 7, "-s 1 -n 0.4 -g 0.1", {"svm_type": 1, "nu": 0.4, "gamma": 0.1}),
    ("mpg", 100, 50, 8, "-s 4 -n 0.3 -c 5 -g 1e-4", {"svm_type": 4, "nu": 0.3, "C": 5, "gamma": 1e-4}),
]


@pytest.mark.parametrize("name, n, window, step, options, same", STREAMS)
def test_predictions_of_a_stream_are_those_of_a_training_at_each_step(name, n, window, step, options, same, folder):
    lines = lines_of(name, folder, "stream")[:n]
    folder.put("stream", "".join(lines))
    err, out = folder.accepts(
        "svmx-update", "--window", window, "--step", step, *options.split(), "stream", "model", "predictions"
    )
    assert err == ""
    expected = by_hand(lines, window, step, folder, **same)
    found = [float(line) for line in folder.get("predictions").split()]
    if same.get("svm_type") in (3, 4):
        assert found == pytest.approx(expected, rel=1e-5)
    else:
        assert found == expected
        assert len(set(found)) > 1
    # the last model is that of the last rows
    assert (
        distance(values("model", "stream"), fresh("window", **same).decision_values(read_data("stream").matrix)) < 1e-9
    )
    # and the statistics printed are those of svmx-predict
    y = read_data("stream").targets[window:]
    last = out.splitlines()[-1]
    if same.get("svm_type") in (3, 4):
        assert last.startswith("Squared correlation coefficient = 0.")
        error = np.mean((np.array(found) - np.array(y)) ** 2)
        assert out.splitlines()[-2] == f"Mean squared error = {error:g} (regression)"
    else:
        correct = sum(a == b for a, b in zip(found, y, strict=True))
        assert last == f"Accuracy = {correct / len(y) * 100:g}% ({correct}/{len(y)}) (classification)"
    assert sum(line.startswith("row ") for line in out.splitlines()) == -(-(n - window) // step)


def test_predictions_come_before_their_rows_join(folder):
    """Unpredictable labels: identical rows whose label changes at every step."""
    folder.put("stream", "".join(f"{1 if i % 2 else -1} 1:{i % 2}\n" for i in range(10)) + "1 1:0\n1 1:0\n1 1:0\n")
    folder.accepts("svmx-update", "-q", "-t", "0", "-c", "100", "--window", "10", "stream", "model", "p")
    assert folder.get("p").split()[0] == b"-1"


def test_gamma_is_that_of_the_first_window(folder):
    folder.put("stream", "1 4:1\n-1 4:-1\n1 1:1 4:0.5\n-1 100:3\n")
    folder.accepts("svmx-update", "-q", "--window", "2", "stream", "model")
    assert load_model("model").param.gamma == 0.25


def test_files_too_many_are_not_written(heart, folder):
    """A state replaces both files: a training file left on the line is not a model file."""
    folder.accepts("svmx-update", "-q", "-c", "10", "--save-state", "state", "train", "model", "new")
    before = folder.snapshot()
    for args in (["--state", "state", "train", "model"], ["-c", "10", "--remove", "1", "train", "model", "new", "x"]):
        err, _ = folder.refuses("svmx-update", *args)
        assert "goes with these options" in err
    assert folder.snapshot() == before


def test_a_stream_whose_classes_come_and_go(folder):
    """iris is sorted by class here: windows of one class, of two, and with a new class."""
    lines = sorted(lines_of("iris.scale", folder, "all"))
    folder.put("stream", "".join(lines))
    folder.accepts("svmx-update", "-g", "1", "--window", "30", "--step", "10", "stream", "model", "p")
    found = [float(line) for line in folder.get("p").split()]
    assert found[20:30] == [1.0] * 10  # class 2 appears; no model knows it yet
    assert load_model("model").class_labels == (3,)
    assert found[-10:] == [3.0] * 10


# ---------------------------------------------------------------- faults


BAD = [
    ([], ""),
    (["train"], "a data file and a model file are needed"),
    (["train", "model"], "nothing to do: --add, --remove, --save-state or --window is needed"),
    (["--add", "more", "--add", "more", "train", "model"], "option --add is given twice"),
    (["--window", "5", "--add", "more", "train", "model"], "option --window excludes --add, --remove and --state"),
    (["--step", "5", "--add", "more", "train", "model"], "option --step needs --window"),
    (["--window", "5", "--step", "6", "train", "model"], "--step 6 is more than --window 5"),
    (["--window", "0", "train", "model"], "option --window must be at least 1, not '0'"),
    (["--window", "x", "train", "model"], "option --window needs a number, not 'x'"),
    (["--state", "state"], "a new model file or --save-state is needed"),
    (["--state", "state", "-g", "3", "new"], "gamma cannot be given with --state: the state file has it"),
    (["--state", "state", "-w1", "3", "new"], "a weight cannot be given with --state: the state file has it"),
    (["-v", "5", "train", "model"], "unknown option -v"),
    (["-c", "x", "--add", "more", "train", "model"], "option -c needs a number, not 'x'"),
    (["-c", "-1", "--add", "more", "train", "model"], "C must be > 0, not -1.0"),
    (["--add", "more", "train", "-"], "a model from standard input needs a new model file"),
    (["--add", "-", "-", "model"], "standard input can be one of the files only"),
    (["--add", "model", "train", "model"], "the model file is the same as model, which would be lost"),
    (["--add", "more", "train", "model", "train"], "the model file is the same as train, which would be lost"),
    (["--add", "more", "train", "model", "./more"], "the model file is the same as more, which would be lost"),
    (["--add", "more", "--save-state", "train", "train", "model", "new"], "the state file is the same as train, which"),
    (["--add", "more", "--save-state", "model", "train", "model", "new"], "the state file is the same as model, which"),
    (["--add", "more", "--save-state", "new", "train", "model", "new"], "two files are to be written to new"),
    (["--add", "more", "--report", "new", "train", "model", "new"], "the report file is the same as new, which"),
    (["--add", "more", "--report", "more", "train", "model", "new"], "the report file is the same as more, which"),
    (["--add", "more", "--save-state", "./model", "train", "model"], "two files are to be written to ./model"),
    (["--window", "50", "train", "train"], "the model file is the same as train, which would be lost"),
    (["--window", "50", "train", "model", "train"], "the predictions file is the same as train, which would be lost"),
    (["--window", "50", "train", "new", "new"], "two files are to be written to new"),
    (["--add", "more", "train", "state"], "state is a state file: give it with --state, without a training file"),
]


@pytest.fixture
def with_state(heart, folder):
    folder.accepts("svmx-update", "-q", "-c", "10", "--save-state", "state", "train", "model", "new")
    return folder


@pytest.mark.parametrize("args, message", BAD)
def test_a_wrong_command_line(args, message, with_state):
    err, out = with_state.refuses("svmx-update", *args)
    assert err.startswith(f"svmx-update: error: {message}") if message else err == ""
    assert err.splitlines()[1:] == (["see svmx-update --help"] if message else [])
    assert out.startswith("usage: svmx-update ") if not message else out == ""


WRONG = [
    (["--add", "more", "train", "model"], "model with train: coefficient 10 exceeds C = 1: give the C and weights"),
    (
        ["-c", "10", "-g", "2", "--add", "more", "train", "model"],
        "model: gamma is given as 2, but the model has 0.0769",
    ),
    (["-c", "10", "-b", "1", "--add", "more", "train", "model"], "a state has no probability estimates"),
    (["-c", "10", "--add", "more", "more", "model"], "model with more: support vector 1 is not among the rows"),
    (["-c", "10", "--add", "more", "missing", "model"], "missing: No such file or directory"),
    (["-c", "10", "--add", "more", "train", "missing"], "missing: No such file or directory"),
    (["-c", "10", "--add", "missing", "train", "model"], "missing: No such file or directory"),
    (["-c", "10", "--add", "bad", "train", "model"], "bad:2:5: value is not a number"),
    (["-c", "10", "--add", "halves", "train", "model"], "halves:2: class label 0.5 is not an integer"),
    (["-c", "10", "--add", "nothing", "train", "model"], "nothing: no data: there is not a single row"),
    (["-c", "10", "--add", "more", "halves", "model"], "halves:2: class label 0.5 is not an integer"),
    (["-c", "10", "--add", "more", "train", "more", "new"], "more: not a model of LIBSVM, but a data file"),
    (["-c", "10", "--remove", "251", "train", "model"], "--remove: there is no row 251 among the 250 rows of train"),
    (["-c", "10", "--remove", "0", "train", "model"], "--remove: there is no row 0 among the 250 rows of train"),
    (["-c", "10", "--remove", "1-99999999999", "train", "model"], "--remove: there is no row 251 among the 250 rows"),
    (["-c", "10", "--remove", "5,4-6", "train", "model"], "--remove: row 5 is given twice"),
    (["-c", "10", "--remove", "6-4", "train", "model"], "--remove: the range 6-4 ends before it begins"),
    (["-c", "10", "--remove", "1-250", "train", "model"], "no row would be left"),
    (["-c", "10", "--remove", "1,x", "train", "model"], "--remove: '1,x' is neither a list like 1,3,10-20 nor a file"),
    (["-c", "10", "--remove", "words", "train", "model"], "words:2: not the number of a row: 'two'"),
    (["-c", "10", "--remove", "large", "train", "model"], "large:3: there is no row 777 among the 250 rows of train"),
    (["-c", "10", "--remove", "again", "train", "model"], "again:2: row 7 is given twice"),
    (["--state", "train", "new"], "train: not a state file"),
    (["--state", "damaged", "new"], "damaged: damaged: the checksum does not fit"),
    (["--state", "half", "new"], "half: damaged: the checksum does not fit"),
    (["--window", "250", "train", "model"], "train: 250 rows are not more than the window of 250: nothing to predict"),
    (["--window", "2", "halves", "model"], "halves:2: class label 0.5 is not an integer"),
    (["--window", "2", "nothing", "model"], "nothing: no data: there is not a single row"),
    (["--window", "50", "-s", "1", "-n", "0.9", "train", "model"], "train: at row 53: nu = 0.9 is infeasible: classes"),
    (["--window", "50", "-s", "1", "-n", "0.99", "train", "model"], "nu = 0.99 is infeasible: classes"),
    (["--window", "50", "-t", "4", "train", "model"], "train:1: precomputed kernel: a row must be 0:serial"),
]


@pytest.mark.parametrize("args, message", WRONG)
def test_bad_input_changes_no_file(args, message, with_state):
    folder = with_state
    folder.put("bad", "1 1:0.5\n1 1:0.x5\n")
    folder.put("halves", "1 1:0.5\n0.5 1:0.5\n-1 1:1\n")
    folder.put("nothing", "")
    folder.put("words", "1\ntwo\n")
    folder.put("large", "1\n2\n777\n")
    folder.put("again", "7\n7\n")
    damaged = bytearray(folder.get("state"))
    damaged[-100] ^= 1
    folder.put("damaged", bytes(damaged))
    folder.put("half", folder.get("state")[:3000])
    err, out = folder.refuses("svmx-update", *args)
    assert err.startswith(f"svmx-update: error: {message}")
    assert "usage" not in out


def test_a_bad_target_is_reported_before_anything_is_read(folder):
    for args in (["train", "model", "no/where"], ["--save-state", "no/where", "train", "model", "new"]):
        err, _ = folder.refuses("svmx-update", "--add", "more", *args)
        assert err == f"svmx-update: error: {folder.path.resolve() / 'no'}: No such file or directory\n"
    err, _ = folder.refuses("svmx-update", "--window", "5", "stream", "model", ".")
    assert err == "svmx-update: error: .: Is a directory\n"


@pytest.mark.skipif(not os.path.exists(FULL), reason=f"no {FULL}")
@pytest.mark.parametrize("model, state", [(FULL, "s"), ("new", FULL)])
def test_a_full_disk_leaves_all_files_as_they_were(model, state, heart, folder):
    before = folder.snapshot()
    done = process("svmx-update", "-q", "-c", "10", "--add", "more", "--save-state", state, "train", "model", model)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"svmx-update: error: /dev/full: No space left on device\n"
    assert folder.snapshot() == before


@pytest.mark.skipif(not os.path.exists(FULL), reason=f"no {FULL}")
def test_a_small_model_to_a_full_disk_leaves_the_state_as_it_was(folder):
    """A model that fits a buffer, so that the error comes only at close."""
    folder.put("stream", "1 1:1\n-1 1:-1\n1 1:0.5\n")
    folder.put("state", folder.KEPT)
    done = process("svmx-update", "-q", "--window", "2", "--save-state", "state", "stream", FULL, "predictions")
    assert (done.returncode, done.stderr) == (1, b"svmx-update: error: /dev/full: No space left on device\n")
    assert sorted(folder.snapshot()) == ["state", "stream"]
    assert folder.get("state") == folder.KEPT


def test_predictions_to_standard_output(folder):
    lines = lines_of("heart_scale", folder, "all")
    folder.put("stream", "".join(lines[:55]))
    done = process("svmx-update", "-q", "--window", "50", "stream", "model", "/dev/stdout")
    assert (done.returncode, done.stderr) == (0, b"")
    assert set(done.stdout.split()) <= {b"1", b"-1"}
    assert len(done.stdout.split()) == 5


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_leaves_the_old_files(signum, folder):
    """During a stream of some thousand updates."""
    lines = lines_of("heart_scale", folder, "all")
    folder.put("stream", "".join(lines * 40))
    for name in ("model", "predictions", "state"):
        folder.put(name, folder.KEPT)
    before = folder.snapshot()
    command = arguments(
        "svmx-update", "-c", "100", "--window", "250", "--save-state", "state", "stream", "model", "predictions"
    )
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(3):
            assert child.stdout.readline()
        child.send_signal(signum)
        _, err = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
        child.wait()
    assert (child.returncode, err) == (-signum, b"")
    assert folder.snapshot() == before


def test_a_path_out_of_time(folder):
    lines = lines_of("heart_scale", folder, "all")
    folder.put("stream", "".join(lines * 10))
    err, _ = folder.refuses(
        "svmx-update", "-q", "--time-limit", "1e-9", "-c", "1000", "--window", "2000", "stream", "m"
    )
    assert err.splitlines()[-1] == "svmx-update: error: time limit: there is no state"


def test_a_row_to_join_that_is_at_fault_is_named_by_its_file(heart, folder):
    folder.put("bad", "1 1:0.5\n" * 3 + "1 1:1e300\n")
    before = folder.get("model")
    code, _, errors = folder.call("svmx-update", "-c", "10", "--add", "bad", "train", "model")
    assert (code, "bad:4: the kernel value" in errors) == (1, True)
    assert folder.get("model") == before
