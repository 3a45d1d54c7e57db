"""The commands as used from a shell, against LIBSVM: output, files, exit codes, and lines that scripts parse."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import data, oracle
from support.policies import of_commands

import libsvmx.cli.predict
import libsvmx.cli.train
from libsvmx.cli.predict import Job
from libsvmx.cli.process import guarded
from libsvmx.io.svmlight import read_data

HEART = str(data.DATA / "heart_scale")
IRIS = str(data.DATA / "iris.scale")
PYRIM = str(data.DATA / "pyrim")


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder; returns (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(name, *arguments):
        module = {"svmx-train": libsvmx.cli.train, "svmx-predict": libsvmx.cli.predict}[name]
        code = guarded(name, module.main, module.USAGE, list(arguments))
        out, err = capfd.readouterr()
        return code, out, err

    return run


def reference(path, options):
    file = read_data(path)
    return oracle.Oracle(file.matrix, file.targets, options)


def test_quiet_prints_nothing(command):
    assert command("svmx-train", "-q", HEART, "m") == (0, "", "")
    assert command("svmx-predict", "-q", HEART, "m", "o") == (0, "", "")


# unusual data that cause a warning, and a word of it
REMARKABLE = {
    "index 0": (["-t", "2"], "1 0:1 1:2\n-1 0:2 1:1\n", "index 0"),
    "one class": ([], "1 1:2\n1 1:1\n", "only one class"),
    "few rows": (["-b", "1"], "1 1:2\n-1 1:1\n1 1:3\n", "too few rows"),
    "early": (["--time-limit", "1e-9"], "1 1:2\n-1 1:1\n", "time limit"),
}


@pytest.mark.parametrize("name", REMARKABLE)
def test_quiet_is_without_warnings(command, tmp_path, name):
    """Scripts take any text on standard error for an error, and LIBSVM writes none. The report keeps the warnings."""
    options, text, word = REMARKABLE[name]
    (tmp_path / "rows").write_text(text)
    code, _, err = command("svmx-train", *options, "rows", "m")
    assert code == 0 and err.startswith("warning: ") and word in err
    assert command("svmx-train", "-q", "--report", "report", *options, "rows", "m") == (0, "", "")
    assert any(word in warning for warning in json.loads((tmp_path / "report").read_text())["warnings"])
    (tmp_path / "other").write_text("7 1:1\n")
    assert command("svmx-predict", "-q", "other", "m", "o") == (0, "", "")
    code, _, err = command("svmx-train", *options, "rows", "m")  # the next call warns again
    assert code == 0 and word in err


@pytest.mark.parametrize(
    ("options", "word"),
    [(["-w9", "2"], "class 9"), (["--max-iter", "1"], "iteration limit"), (["-v", "500"], "more folds than rows")],
)
def test_quiet_leaves_what_libsvm_writes_in_any_case(command, options, word):
    code, _, err = command("svmx-train", "-q", *options, HEART, *([] if "-v" in options else ["m"]))
    assert code == 0 and err.startswith("warning: ") and word in err and err.count("\n") == 1


@pytest.mark.parametrize("options", ["-b 1", "-b 1 -s 1", "-b 1 -t 0"])
def test_estimates_of_a_single_class_are_those_of_libsvm(command, tmp_path, options):
    """Without any pair: the lines probA and probB are there, and each row has its class with probability 1."""
    (tmp_path / "rows").write_text("".join(f"3 1:{k} 2:{k % 3}\n" for k in range(8)))
    libsvm = reference("rows", options).train()
    code, out, err = command("svmx-train", *options.split(), "rows", "m")
    assert code == 0 and "not finished" not in err
    assert out == libsvm.transcript or "only one class" in err
    assert (tmp_path / "m").read_bytes() == libsvm.model_bytes(tmp_path)
    assert b"\nprobA\nprobB\n" in (tmp_path / "m").read_bytes()
    code, out, err = command("svmx-predict", "-b", "1", "rows", "m", "o")
    assert (code, err) == (0, "")
    labels, estimates = libsvm.predict_probability(read_data("rows").matrix)
    assert (tmp_path / "o").read_text() == "labels 3\n" + "".join(
        f"{label:g} {row[0]:g}\n" for label, row in zip(labels, estimates, strict=True)
    )
    from libsvmx import svmutil

    model = svmutil.svm_train([3] * 8, [{1: k, 2: k % 3} for k in range(8)], f"-q {options}")
    assert model.is_probability_model()
    labels, _, rows = svmutil.svm_predict([3], [{1: 1}], model, "-b 1 -q")
    assert (labels, rows) == ([3.0], [[1.0]])


DEGENERATE = {
    "zeros": ("".join(f"{1 if i % 2 else -1} 1:0 2:0\n" for i in range(20)), "-t 0 -n 0.5"),
    "three classes": ("".join(f"{1 + i % 3} 1:1 2:1\n" for i in range(30)), "-t 2 -n 0.3"),
    "some alike": ("".join(f"{1 + i % 3} 1:{1 if i % 3 < 2 else i % 7 - 3} 2:1\n" for i in range(30)), "-t 0 -n 0.5"),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("queue", [True, False])
def test_folds_of_nu_svc_that_are_not_finite_are_told_as_by_libsvm(command, tmp_path, monkeypatch, name, queue):
    """Coefficients that are nan do not make support vectors."""
    text, options = DEGENERATE[name]
    (tmp_path / "rows").write_text(text)
    libsvm = reference("rows", f"-s 1 {options}")
    libsvm.cross_validate(5)
    of_commands(monkeypatch, queue=queue)
    code, out, err = command("svmx-train", "-s", "1", *options.split(), "-v", "5", "rows")
    assert code == 0 and "degenerates" in err
    assert out.startswith(libsvm.transcript) and "Total nSV" in libsvm.transcript


@pytest.mark.parametrize("options", ["-t 3 -g 1", "-t 3 -g 0.5 -r 1 -b 1", "-s 1 -n 0.4 -t 3 -g 1", "-s 3 -t 3 -g 1"])
def test_a_tangent_of_what_overflows_is_1(command, tmp_path, options):
    rows = [(1, 1e160), (-1, -1e160), (1, 2e160), (-1, -3e159), (1, 5.0), (-1, -4e158), (1, 1e156), (-1, -2.0)]
    (tmp_path / "rows").write_text("".join(f"{y} 1:{x!r}\n" for y, x in rows))
    libsvm = reference("rows", options).train()
    code, out, _ = command("svmx-train", *options.split(), "rows", "m")
    assert (code, out) == (0, libsvm.transcript)
    assert (tmp_path / "m").read_bytes() == libsvm.model_bytes(tmp_path)
    command("svmx-predict", "rows", "m", "o")
    labels, _ = libsvm.predict(read_data("rows").matrix)
    assert [float(line) for line in (tmp_path / "o").read_text().split()] == labels


def test_labels_that_are_not_finite_are_compared_and_no_more(command, tmp_path):
    """LIBSVM reads the label of a row to predict with strtod."""
    command("svmx-train", "-q", HEART, "m")
    command("svmx-train", "-q", "-s", "3", HEART, "svr")
    lines = Path(HEART).read_text().splitlines()[:6]
    other = ["nan", "-inf", "Infinity", "1e400", "-nan"]
    (tmp_path / "plain").write_text("\n".join(lines) + "\n")
    (tmp_path / "odd").write_text(
        "".join(f"{label} {line.partition(' ')[2]}\n" for label, line in zip(other, lines, strict=False))
        + f"{lines[5]}\n"
    )
    command("svmx-predict", "plain", "m", "expected")
    code, out, err = command("svmx-predict", "odd", "m", "o")
    assert (code, err) == (0, "")
    assert (tmp_path / "o").read_bytes() == (tmp_path / "expected").read_bytes()
    assert out in ("Accuracy = 16.6667% (1/6) (classification)\n", "Accuracy = 0% (0/6) (classification)\n")
    (tmp_path / "one").write_text(f"nan {lines[0].partition(' ')[2]}\n{lines[1]}\n")
    code, out, _ = command("svmx-predict", "one", "svr", "o")
    assert code == 0
    assert out == "Mean squared error = nan (regression)\nSquared correlation coefficient = nan (regression)\n"
    code, _, err = command("svmx-train", "odd", "m2")  # training refuses them
    assert code == 1 and "value is not finite: 'nan'" in err
    (tmp_path / "odd").write_text("nano 1:1\n")
    code, _, err = command("svmx-predict", "odd", "m", "o")
    assert code == 1 and "label is not a number: 'nano'" in err


def test_cross_validation_line_as_grid_py_reads_it(command):
    """grid.py takes the last word of the line that contains 'Cross', without the percent sign."""
    code, out, err = command("svmx-train", "-v", "5", "-q", "-c", "2", HEART)
    libsvm = reference(HEART, "-c 2")
    file = read_data(HEART)
    correct = sum(p == y for p, y in zip(libsvm.cross_validate(5), file.targets, strict=True))
    assert (code, err) == (0, "")
    assert out == f"Cross Validation Accuracy = {100.0 * correct / 270:g}%\n"
    rates = [float(line.split()[-1][0:-1]) for line in out.splitlines() if line.find("Cross") != -1]
    assert rates == [pytest.approx(100 * correct / 270, abs=1e-3)]


def test_cross_validation_lines_of_regression(command):
    _, out, _ = command("svmx-train", "-s", "3", "-v", "3", "-q", PYRIM)
    libsvm = reference(PYRIM, "-s 3")
    y = list(read_data(PYRIM).targets)
    v = libsvm.cross_validate(3)
    n = len(y)
    error = 0.0
    for a, b in zip(v, y, strict=True):
        error += (a - b) * (a - b)
    first, second = out.splitlines()
    assert first == f"Cross Validation Mean squared error = {error / n:g}"
    assert second.startswith("Cross Validation Squared correlation coefficient = 0.")


def test_probability_output_and_accuracy_line(command, tmp_path):
    command("svmx-train", "-q", "-b", "1", IRIS, "m")
    code, out, _ = command("svmx-predict", "-b", "1", IRIS, "m", "o")
    file = read_data(IRIS)
    libsvm = reference(IRIS, "-b 1").train()
    labels, estimates = libsvm.predict_probability(file.matrix)
    correct = sum(a == b for a, b in zip(labels, file.targets, strict=True))
    assert (code, out) == (0, f"Accuracy = {correct / 150 * 100:g}% ({correct}/150) (classification)\n")
    expected = ["labels 1 2 3", *(" ".join(f"{v:g}" for v in [y, *p]) for y, p in zip(labels, estimates, strict=True))]
    assert (tmp_path / "o").read_text().splitlines() == expected
    code, out, _ = command("svmx-predict", IRIS, "m", "o")
    assert out.splitlines()[0] == "Model supports probability estimates, but disabled in prediction."


def test_regression_lines(command, tmp_path):
    command("svmx-train", "-q", "-s", "4", "-b", "1", PYRIM, "m")
    code, out, _ = command("svmx-predict", "-b", "1", PYRIM, "m", "o")
    file = read_data(PYRIM)
    libsvm = reference(PYRIM, "-s 4 -b 1").train()
    labels, _ = libsvm.predict(file.matrix)
    assert [float(line) for line in (tmp_path / "o").read_text().split()] == labels
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "Prob. model for test data: target value = predicted value + z,"
    assert lines[1] == f"z: Laplace distribution e^(-|z|/sigma)/(2sigma),sigma={libsvm.model.probA[0]:g}"
    assert lines[2].startswith("Mean squared error = ")
    assert lines[2].endswith(" (regression)")
    assert lines[3].startswith("Squared correlation coefficient = 0.")


@pytest.mark.skipif(not shutil.which("svm-predict"), reason="LIBSVM's own svm-predict is not installed")
@pytest.mark.parametrize(
    ("path", "options"), [(HEART, ""), (IRIS, "-b 1"), (PYRIM, "-s 3"), (IRIS, "-t 1"), (HEART, "-s 1 -t 3")]
)
def test_svm_predict_reads_our_models(path, options, command, tmp_path):
    file = read_data(path)
    from libsvmx.io.svmlight import write_data

    write_data("plain", file.matrix, file.targets)
    command("svmx-train", "-q", *options.split(), "plain", "m")
    flags = options.split() if "-b" in options else []
    theirs = subprocess.run(["svm-predict", *flags, "plain", "m", "theirs"], capture_output=True, text=True, check=True)
    _, out, _ = command("svmx-predict", *flags, "plain", "m", "ours")
    assert out == theirs.stdout
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["train", "predict", "scale", "grid", "easy", "subset", "checkdata", "update", "compress", "export", "batch"],
)
def test_help_version_and_bare_usage(name, tmp_path):
    def run(*arguments):
        call = f"from libsvmx.cli.{name} import entry; entry()"
        return subprocess.run([sys.executable, "-c", call, *arguments], capture_output=True, text=True, cwd=tmp_path)

    bare, helped, version = run(), run("--help"), run("--version")
    assert (bare.returncode, helped.returncode, version.returncode) == (1, 0, 0)
    if helped.stdout.count("\n") <= 40:
        assert bare.stdout == helped.stdout
    else:
        text = bare.stdout.removesuffix(f"all options: svmx-{name} --help\n")
        assert len(text.splitlines()) < 16 and helped.stdout.startswith(text) and text != bare.stdout
    assert helped.stdout.startswith(f"usage: svmx-{name} ")
    assert version.stdout.startswith(f"svmx-{name} ")
    assert bare.stderr == helped.stderr == version.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_output_to_where_standard_output_goes(tmp_path):
    """Through a pipe, and into the file that is standard output."""
    libsvmx_train = "from libsvmx.cli.train import entry; entry()"
    predict = [sys.executable, "-c", "from libsvmx.cli.predict import entry; entry()", HEART, "m", "/dev/stdout"]
    subprocess.run([sys.executable, "-c", libsvmx_train, "-q", HEART, "m"], cwd=tmp_path, check=True)
    piped = subprocess.run(predict, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert piped.splitlines()[-1].startswith("Accuracy = ")
    assert len(piped.splitlines()) == 271
    with open(tmp_path / "out", "w") as file:
        subprocess.run(predict, cwd=tmp_path, stdout=file, check=True)
    assert (tmp_path / "out").read_text() == piped


@pytest.mark.parametrize(
    ("path", "training", "prediction"),
    [
        (HEART, "", ""),
        (IRIS, "-b 1", "-b 1"),
        (IRIS, "-s 1 -n 0.2 -t 0", ""),
        (PYRIM, "-s 3 -b 1", "-b 1"),
        (HEART, "-s 2 -n 0.3 -b 1", "-b 1"),
        (HEART, "-s 2 -n 0.3", "--unlabeled"),
    ],
)
def test_predicting_in_parts_and_threads_changes_nothing(path, training, prediction, folder, monkeypatch):
    folder.accepts("svmx-train", "-q", *training.split(), path, "m")
    if prediction == "--unlabeled":
        file = read_data(path)
        rows = (file.matrix.row(i) for i in range(file.matrix.n_rows))
        path = folder.put("bare", "".join(" ".join(f"{j}:{v:g}" for j, v in row) + "\n" for row in rows))
    expected = folder.accepts("svmx-predict", *prediction.split(), path, "m", "o"), folder.get("o")
    of_commands(monkeypatch, prediction_work_for_threads=0.0)
    for size in (500, 1 << 20):
        for threads in ("1", "2", "3"):
            args, job = (
                [*prediction.split(), "--threads", threads, path, "m", "o"],
                Job(slice_values=50, part_bytes=size),
            )
            assert (folder.accepts("svmx-predict", *args, job=job), folder.get("o")) == expected


def test_a_fault_in_a_later_part_leaves_no_output(folder):
    folder.accepts("svmx-train", "-q", HEART, "m")
    folder.put("o", folder.KEPT)
    folder.put("data", "1 1:1\n" * 100 + "1 1:x\n")
    err, out = folder.refuses("svmx-predict", "data", "m", "o", job=Job(part_bytes=50))
    assert err == "svmx-predict: error: data:101:5: value is not a number: 'x'\n"
    assert out == ""


def test_a_precomputed_row_at_fault_in_a_later_part(folder):
    folder.put("train", "1 0:1 1:1 2:-1\n-1 0:2 1:-1 2:1\n")
    folder.accepts("svmx-train", "-q", "-t", "4", "train", "m")
    folder.put("data", "1 0:1 1:1 2:-1\n" * 60 + "1 0:1 1:1\n" + "1 0:1 1:1 2:-1\n" * 60)
    for size in (100, 1 << 20):
        err, _ = folder.refuses("svmx-predict", "data", "m", "o", job=Job(slice_values=7, part_bytes=size))
        assert err.startswith("svmx-predict: error: data:61: precomputed kernel: the row ends at column 1")


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", ""])
def test_threads_must_be_a_number_from_1(value, folder):
    err, _ = folder.refuses("svmx-predict", f"--threads={value}", "data", "model", "output")
    assert "--threads" in err
    err, _ = folder.refuses("svmx-train", f"--threads={value}", "data", "model")
    assert "--threads" in err


def test_training_takes_a_number_of_threads(folder):
    folder.accepts("svmx-train", "-q", "--threads", "1", HEART, "one")
    folder.accepts("svmx-train", "-q", "--threads=3", HEART, "three")
    assert folder.get("one") == folder.get("three")
