"""--report FILE of every command: its content, also for a failing command, and that it is JSON."""

import json
import os
import signal
from types import SimpleNamespace

import pytest
from support import data
from support.commands import MODULES, process
from support.machine import machine_with

import libsvmx
from libsvmx.cli.process import guarded, phase, tell
from libsvmx.cli.results import PARTS

HEART = str(data.DATA / "heart_scale")
MPG = str(data.DATA / "mpg")
GRID = ["-log2c", "-1,1,2", "-log2g", "-3,-5,-2", "-png", "null"]
FIELDS = [
    *("schema", "command", "arguments", "versions", "started", "seconds", "peak_memory_bytes", "status", "exit_code"),
    *("error", "warnings", "result"),
]
COMMANDS = {
    "svmx-train": ["-c", "4", HEART, "new"],
    "svmx-predict": [HEART, "model", "out"],
    "svmx-scale": [HEART],
    "svmx-grid": [*GRID, HEART],
    "svmx-easy": ["few"],
    "svmx-subset": [HEART, "100", "part"],
    "svmx-checkdata": [HEART],
    "svmx-update": ["-c", "4", "--remove", "1-5", HEART, "model", "new"],
    "svmx-compress": ["--max-sv", "50", "model", "small"],
    "svmx-export": ["model", "model.c"],
    "svmx-batch": ["lines"],
    "svmx-toy": ["--no-browser", "--idle", "0.0001"],
}
PHASES = {  # in the order of their ends
    "svmx-train": ["reading", "training", "writing"],
    "svmx-predict": ["reading", "predicting"],
    "svmx-scale": ["reading", "scaling"],
    "svmx-grid": ["reading", "searching", "writing"],
    "svmx-easy": ["reading", "scaling", "searching", "writing", "training"],
    "svmx-subset": ["reading", "writing"],
    "svmx-checkdata": ["checking"],
    "svmx-update": ["reading", "writing", "updating"],
    "svmx-compress": ["reading", "compressing", "writing"],
    "svmx-export": ["reading", "writing"],
    "svmx-batch": ["running"],
    "svmx-toy": ["serving"],
}


def strict(text):
    """JSON without NaN and Infinity."""

    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def ready(folder):
    folder.accepts("svmx-train", "-q", "-c", "4", HEART, "model")
    folder.put("few", "".join(f"{y} 1:{x} 2:{x * x}\n" for y, x in [(1, 1), (-1, -1), (1, 2), (-1, -2)] * 5))
    folder.put("lines", f"svmx-scale {HEART}\nsvmx-predict {HEART} model other\n")
    return folder


def report(folder, command, *args, name="report.json"):
    """(exit code, report)"""
    code, _, err = folder.call(command, "--report", name, *args)
    assert "Traceback" not in err
    return code, strict(folder.get(name))


@pytest.mark.parametrize("command", MODULES)
def test_every_command_has_one(ready, command):
    code, found = report(ready, command, *COMMANDS[command])
    assert code == 0
    assert [name for name in found if name in FIELDS] == FIELDS
    assert (found["schema"], found["command"], found["status"], found["exit_code"]) == (1, command, "ok", 0)
    assert found["arguments"][:2] == ["--report", "report.json"]
    assert set(found["versions"]) == {"libsvmx", "numpy", "scipy", "python", "cpu_target"}
    assert list(found["seconds"]) == ["wall", "cpu", *PHASES[command]]
    assert found["error"] is None
    assert found["result"] and set(found["result"]) <= set(PARTS[command])


def test_commands_without_one_print_and_write_the_same(ready):
    for command in ("svmx-train", "svmx-predict", "svmx-scale", "svmx-checkdata"):
        plain = ready.call(command, *COMMANDS[command])
        assert ready.call(command, "--report", "report.json", *COMMANDS[command]) == plain


# ---- times and memory ----------------------------------------------------------------------------


@pytest.fixture
def clock():
    """Seconds that have passed, and CPU seconds of this process, advanced by the test. Its workers have used 0.75."""
    clock = SimpleNamespace(now=100.0, own=7.0)
    times = {"monotonic": lambda: clock.now, "time_of_day": lambda: 1e9 + clock.now}
    with machine_with(**times, process_time=lambda: clock.own, process_time_of_children=0.75):
        yield clock


def parts_of_a_command(clock):
    """A command whose parts take powers of two seconds, half of it CPU time."""

    def passed(seconds):
        clock.now += seconds
        clock.own += seconds / 2

    def main(argv):
        passed(1)
        with phase("training"):
            passed(2)
            with phase("reading"):
                passed(4)
                with phase("checking"):
                    passed(8)
            passed(16)
            with phase("reading"):
                passed(32)
        with phase("writing"):
            passed(64)
        passed(128)
        return 0

    return main


def seconds_of(folder, clock):
    """The seconds in the report of that command."""
    assert guarded("svmx-train", parts_of_a_command(clock), "", ["--report", "report.json"]) == 0
    return strict(folder.get("report.json"))


def test_the_time_of_a_part_within_another_is_not_the_others(folder, clock):
    found = seconds_of(folder, clock)
    parts = {"checking": 8, "reading": 4 + 32, "training": 2 + 16, "writing": 64}
    assert found["seconds"] == {"wall": 255, "cpu": 255 / 2 + 0.75, **parts}
    assert found["started"] == "2001-09-09T01:48:20.000+00:00"  # 10^9 s, and 100


def test_the_time_of_a_process_begins_with_its_imports(folder):
    before = (
        "from libsvmx import BEGUN\nfrom libsvmx._core.machine import machine\n"
        "machine.monotonic, machine.process_time = lambda: BEGUN + 10, lambda: 7.0\n"
        "machine.process_time_of_children = lambda: 0.75"
    )
    done = process("svmx-train", "-q", "--report", "report.json", HEART, "new", before=before)
    found = strict(folder.get("report.json"))["seconds"]
    assert (done.returncode, found["wall"], found["cpu"]) == (0, pytest.approx(10), 7.75)


def test_peak_memory_is_that_of_the_machine(folder, clock):
    with machine_with(peak_bytes=12345):
        assert seconds_of(folder, clock)["peak_memory_bytes"] == 12345


# ---- results -------------------------------------------------------------------------------------


def test_training(ready):
    _, out = ready.accepts("svmx-train", "-c", "4", HEART, "new")
    found = report(ready, "svmx-train", "-c", "4", HEART, "new")[1]["result"]
    assert found["data"] == [{"file": HEART, "rows": 270, "features": 13, "values": 3378}]
    (solve,) = found["training"]["solves"]
    assert f"#iter = {solve['iterations']}\n" in out
    assert f"obj = {solve['objective']:f}, rho = {solve['rho']:f}\n" in out
    assert f"nSV = {solve['n_sv']}, nBSV = {solve['n_bsv']}\n" in out
    assert (solve["classes"], solve["status"], found["training"]["converged"]) == ([1, -1], "converged", True)
    assert 0 < solve["gap"] < 1e-3
    assert (found["training"]["parameters"]["C"], found["training"]["parameters"]["solver"]) == (4.0, "smo")


def test_pairs_of_classes_are_named(ready):
    found = report(ready, "svmx-train", str(data.DATA / "iris.scale"), "new")[1]["result"]["training"]
    assert [solve["classes"] for solve in found["solves"]] == [[1, 2], [1, 3], [2, 3]]
    assert found["classes"] == [1, 2, 3]


@pytest.mark.parametrize("options", [["-v", "5"], ["-v", "5", "--seeder", "sir"], ["--loo"]])
@pytest.mark.parametrize("name", ["heart_scale", "mpg"])
def test_validation(ready, options, name):
    kind = ["-s", "3", "-g", "0.001"] if name == "mpg" else []
    code, out, _ = ready.call("svmx-train", "-q", *kind, *options, str(data.DATA / name))
    found = report(ready, "svmx-train", "-q", *kind, *options, str(data.DATA / name))[1]["result"]["validation"]
    rate = found["accuracy" if name == "heart_scale" else "mean_squared_error"]
    assert code == 0 and f" = {rate:g}" in out
    if options[0] == "-v":
        assert sum(fold["rows"] for fold in found["folds"]) == (270 if name == "heart_scale" else 392)
        measure = "accuracy" if name == "heart_scale" else "mean_squared_error"
        mean = sum(fold["rows"] * fold[measure] for fold in found["folds"])
        assert mean / sum(fold["rows"] for fold in found["folds"]) == pytest.approx(rate)


@pytest.mark.parametrize(("name", "kind"), [("heart_scale", []), ("mpg", ["-s", "3", "-g", "0.001"])])
def test_repeats(ready, name, kind):
    path = str(data.DATA / name)
    found = report(ready, "svmx-train", "-q", *kind, "-v", "5", "--repeats", "2", path)[1]["result"]["validation"]
    once = report(ready, "svmx-train", "-q", *kind, "-v", "5", path)[1]["result"]["validation"]
    first, second = found["repeats"]
    assert [first] == once["repeats"] and first != second
    for measure, value in first.items():
        assert once[measure] == value
        assert found[measure] == pytest.approx((value + second[measure]) / 2)
    assert [fold["iterations"] for fold in found["folds"][:5]] == [fold["iterations"] for fold in once["folds"]]
    measure, n = next(iter(first)), sum(fold["rows"] for fold in once["folds"])
    assert sum(fold["rows"] * fold[measure] for fold in found["folds"][5:]) / n == pytest.approx(second[measure])


def test_leave_one_out_counts_the_rows_that_mattered(ready):
    expected = libsvmx.leave_one_out(*libsvmx.read_problem(HEART), gamma=1 / 13, values=False)
    found = report(ready, "svmx-train", "-q", "--loo", HEART)[1]["result"]["validation"]
    assert (found["folds"], found["retrained"]) == (270, len(expected.retrained))
    assert 0 < found["retrained"] < 270
    assert found["full"]["n_sv"] == expected.full.n_sv


def test_prediction(ready):
    found = report(ready, "svmx-predict", HEART, "model", "out")[1]["result"]["prediction"]
    _, out = ready.accepts("svmx-predict", HEART, "model", "out")
    assert f"Accuracy = {found['accuracy']:g}% ({found['correct']}/{found['rows']})" in out


def test_grid(ready):
    found = report(ready, "svmx-grid", *GRID, HEART)[1]["result"]["search"]
    assert len(found["points"]) == 4 and found["best"] in found["points"]
    assert found["best"]["rate"] == max(point["rate"] for point in found["points"])


def test_update_has_its_certificate_beside(ready):
    found = report(ready, "svmx-update", *COMMANDS["svmx-update"])[1]
    assert found["rows"] == found["result"]["update"]["rows"] == 265
    assert [change["change"] for change in found["result"]["changes"]] == ["start", "+0 -5"]
    assert found["breakpoints"] == found["result"]["changes"][-1]["breakpoints"] > 0
    assert len(found["sha256"]) == 64


def test_checkdata_tells_what_it_found(ready):
    ready.put("wrong", "1 1:1\n1 1:x\n")
    code, found = report(ready, "svmx-checkdata", "wrong")
    assert (code, found["exit_code"], found["status"]) == (1, 1, "ok")
    assert found["result"]["check"] == {"lines": 2, "lines_with_errors": 1}


def test_what_is_no_number_is_null(ready):
    """The squared correlation of a constant."""
    ready.put("flat", "1 1:1\n1 1:2\n1 1:3\n")
    found = report(ready, "svmx-train", "-s", "3", "-v", "3", "flat")[1]
    assert found["result"]["validation"]["squared_correlation"] is None


# ---- endings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", MODULES)
def test_an_error_is_told(ready, command):
    before = ready.snapshot()
    code, _, err = ready.call(command, "--report", "report.json", "--nonsense", "x", "y")
    found = strict(ready.get("report.json"))
    assert (code, found["exit_code"], found["status"]) == (1, 1, "error")
    assert err.startswith(f"{command}: error: {found['error']}\n")
    assert {name: text for name, text in ready.snapshot().items() if name != "report.json"} == before


@pytest.mark.parametrize("args", [["none"], ["wrong"], ["-c", "0", HEART], ["--loo", "-v", "5", HEART]])
def test_errors_of_all_kinds(ready, args):
    ready.put("wrong", "1 1:x\n")
    code = ready.call("svmx-train", "--report=report.json", *args)[0]
    assert (code, strict(ready.get("report.json"))["status"]) == (1, "error")


def test_a_fault_of_our_own_is_an_error_too(ready):
    with pytest.raises(KeyError):
        guarded("svmx-train", lambda argv: {}["key"], "", ["--report", "report.json", HEART, "new"])
    found = strict(ready.get("report.json"))
    assert (found["status"], found["exit_code"], found["error"]) == ("error", 1, "KeyError('key')")


def test_limits(ready):
    options = ["--time-limit", "1e-9", HEART]
    assert report(ready, "svmx-train", *options, "new")[1]["status"] == "time limit"
    code, found = report(ready, "svmx-train", "-v", "5", *options)
    assert (code, found["status"]) == (1, "time limit")
    assert found["error"].startswith("time limit: ")
    found = report(ready, "svmx-train", "--max-iter", "3", HEART, "new")[1]
    assert (found["status"], found["result"]["training"]["converged"]) == ("ok", False)
    assert found["warnings"][0].startswith("the iteration limit was reached")


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_report_and_no_model(folder, signum):
    """The process ends as it would without a report."""
    ends = f"lambda *a, **k: __import__('signal').raise_signal({signum})"
    before = f"from libsvmx.cli import train\ntrain.train_problem = {ends}"
    done = process("svmx-train", "--report", "report.json", HEART, "new", before=before)
    told = b"svmx-train: interrupted: new is not written\n" if signum == signal.SIGINT else b""
    assert (done.returncode, done.stderr) == (-signum, told)
    found = strict(folder.get("report.json"))
    assert (found["status"], found["exit_code"]) == ("interrupted", 128 + signum)
    assert found["result"]["data"][0]["rows"] == 270
    assert sorted(folder.snapshot()) == ["report.json"]


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_ctrl_c_that_saves(folder):
    before = (
        "from libsvmx.cli import train\nsolve = train.train_problem\n"
        "def after(*args, **more):\n    __import__('signal').raise_signal(2)\n    return solve(*args, **more)\n"
        "train.train_problem = after"
    )
    args = ["--report", "report.json", "--on-interrupt", "save", HEART, "new"]
    done = process("svmx-train", *args, before=before)
    assert done.returncode == 3
    found = strict(folder.get("report.json"))
    assert (found["status"], found["exit_code"]) == ("interrupted", 3)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("more", [(), ("-b", "1")])
def test_ctrl_c_while_a_whole_model_is_written(folder, more):
    before = (
        "from libsvmx.cli import train\nsave = train.save_model\n"
        "def after(*args):\n    __import__('signal').raise_signal(2)\n    return save(*args)\n"
        "train.save_model = after"
    )
    args = ["--report", "report.json", "--on-interrupt", "save", *more, HEART, "new"]
    done = process("svmx-train", *args, before=before)
    assert (done.returncode, done.stderr) == (0, b"")
    found = strict(folder.get("report.json"))
    assert (found["status"], found["exit_code"]) == ("ok", 0)


# ---- the file of the report ----------------------------------------------------------------------


def test_nothing_else_goes_to_its_file(ready):
    err, _ = ready.refuses("svmx-train", "--report", "few", "few", "new")
    assert err.startswith("svmx-train: error: the report file is the same as few, which would be lost\n")
    err, _ = ready.refuses("svmx-train", "--report", "new", HEART, "new")
    assert err.startswith("svmx-train: error: two files are to be written to new\n")
    err, _ = ready.refuses("svmx-train", "--report", "heart_scale.model", HEART)  # the default name of the model
    assert err.startswith("svmx-train: error: two files are to be written to heart_scale.model\n")
    err, _ = ready.refuses("svmx-scale", "--report", "-", HEART)
    assert err.startswith("svmx-scale: error: two files are to be written to standard output\n")
    err, _ = ready.refuses("svmx-train", "--report", "nowhere/report.json", HEART, "new")
    assert err.endswith("nowhere: No such file or directory\n")
    err, _ = ready.refuses("svmx-train", "--report")
    assert err.startswith("svmx-train: error: option --report needs a value\n")


def test_no_output_of_svmx_easy_is_lost(ready):
    before = ready.snapshot()
    for name in ("few.model", "few.scale.out", "./few.predict"):
        err, _ = ready.refuses("svmx-easy", "--report", name, "few", "few")
        assert "two files are to be written to" in err
    assert ready.snapshot() == before


@pytest.mark.parametrize(
    "args",
    [
        ["svmx-train", "-c", "10", "--report", "few"],
        ["svmx-predict", "--report", "few", "few", "out"],
        ["svmx-compress", "--max-sv", "3", "--report", "few", "small"],
        ["svmx-scale", "-y", "-1", "--report=few"],
    ],
)
def test_a_forgotten_name_loses_no_file(ready, args):
    """The input file stands in the place of the report's name."""
    before = ready.snapshot()
    ready.refuses(*args)
    assert ready.snapshot() == before


def test_a_report_of_a_wrong_command_line_replaces_a_report(ready):
    for option in ("-c", "-g"):
        assert ready.call("svmx-train", "--report", "report.json", option)[0] == 1
        assert f"option {option} needs a value" in strict(ready.get("report.json"))["error"]
    ready.put("empty", "")
    assert ready.call("svmx-train", "--report", "empty", "-c")[0] == 1
    assert strict(ready.get("empty"))["exit_code"] == 1


def test_there_is_one(ready):
    err, _ = ready.refuses("svmx-train", "--report", "a", "--report=b", HEART)
    assert err.startswith("svmx-train: error: option --report is given twice\n")
    assert not {"a", "b"} & set(ready.snapshot())


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_signal_after_it_does_not_prove_it_wrong(folder):
    before = (
        "from libsvmx.cli import report\nwrite = report.Report.write\n"
        "def after(*args):\n    write(*args)\n"
        "    import atexit\n    atexit.register(lambda: __import__('signal').raise_signal(15))\n"
        "report.Report.write = after"
    )
    done = process("svmx-train", "-q", "--report", "report.json", HEART, "new", before=before)
    assert (done.returncode, done.stderr) == (strict(folder.get("report.json"))["exit_code"], b"")
    assert done.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_where_nothing_can_be_raised_ends_the_command(folder, signum):
    """In the callback of a weak reference, such as importlib's; with a report, signals become exceptions."""
    before = (
        "import signal, weakref\nfrom libsvmx.cli import train\n"
        "def training(*args, **more):\n"
        "    class Gone: pass\n"
        f"    gone = Gone(); ref = weakref.ref(gone, lambda _: signal.raise_signal({signum})); del gone\n"
        "    while True: pass\n"
        "train.train_problem = training"
    )
    done = process("svmx-train", "--report", "report.json", HEART, "new", before=before)
    told = b"svmx-train: interrupted: new is not written\n" if signum == signal.SIGINT else b""
    assert (done.returncode, done.stderr) == (-signum, told)
    assert strict(folder.get("report.json"))["exit_code"] == 128 + signum


def test_it_is_asked_for_before_the_files(ready):
    for options in (["--loo"], ["--report", "report.json"], ["--report=report.json"]):
        code, out, err = ready.call("svmx-train", HEART, *options)
        assert (code, out) == (1, "")
        assert f"option {options[0].partition('=')[0]} must stand before the files\n" in err
    assert "must stand before the files" in strict(ready.get("report.json"))["error"]
    err, _ = ready.refuses("svmx-train", "--reporting", "x", HEART)
    assert "unknown option --reporting" in err


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals")
def test_a_signal_while_it_is_written_leaves_nothing(folder):
    before = "from libsvmx.cli import report\nreport.json_of = lambda found: __import__('signal').raise_signal(15)"
    done = process("svmx-train", "-q", "--report", "report.json", HEART, "new", before=before)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, b"")
    assert sorted(folder.snapshot()) == ["new"]


class Long(list):
    """A list whose repr takes more memory than there is."""

    def __iter__(self):
        return iter(bytearray(2**60))


def test_no_memory_for_it_is_an_error(folder, capfd):
    def main(argv):
        tell("checked", Long([1]), 0)
        return 0

    assert guarded("svmx-checkdata", main, "", ["--report", "report.json", HEART]) == 1
    assert capfd.readouterr() == ("", "svmx-checkdata: error: out of memory\n")
    assert folder.snapshot() == {}


def test_on_standard_output_it_is_alone(ready):
    code, out, err = ready.call("svmx-train", "--report", "-", HEART, "new")
    assert (code, strict(out)["status"]) == (0, "ok")
    assert "Total nSV = 132\n" in err


def test_a_report_that_cannot_be_written_is_an_error(ready):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    code, _, err = ready.call("svmx-train", "-q", "--report", "/dev/full", HEART, "new")
    assert (code, err) == (1, "svmx-train: error: /dev/full: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="file names are bytes")
def test_names_that_are_no_text(folder):
    name = os.fsdecode(b"rows \xff")
    folder.put(name, "1 1:1\n-1 1:-1\n")
    found = report(folder, "svmx-train", name, "new")[1]
    assert found["arguments"][2] == found["result"]["data"][0]["file"] == "rows \\xff"
