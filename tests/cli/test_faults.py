"""Processes, disks, signals and limits. Test names contain the number of the fault in
tests/io/invalid/README.md."""

import locale
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from support import data
from support.commands import PATIENCE, arguments, endless, process
from support.faults import objects_from_malloc

HEART = str(data.DATA / "heart_scale")
FULL = "/dev/full"

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and limits")
linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc of Linux")
needs_full = pytest.mark.skipif(not os.path.exists(FULL), reason=f"no {FULL}")


@pytest.fixture
def trained(folder):
    """A folder with a model of heart_scale."""
    folder.accepts("svmx-train", "-q", HEART, "model")
    return folder


@pytest.fixture
def running():
    """Starts svmx-train and waits for its first progress dot; kills what is left of it at the end."""
    children = []
    # the caller may run under nohup
    before = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"

    def start(*args, **options):
        command = arguments("svmx-train", *args, before=before)
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        children.append(child)
        assert child.stdout.read(1) == b"."
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


def names(folder):
    return sorted(folder.snapshot())


# ---------------------------------------------------------------- disks


@needs_full
def test_fault_70_predictions_to_a_full_disk(trained):
    done = process("svmx-predict", HEART, "model", FULL)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"svmx-predict: error: /dev/full: No space left on device\n"


@needs_full
@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "command, args, code",
    [
        ("svmx-train", [HEART, "new"], 1),
        ("svmx-train", ["-v", "2", HEART], 1),
        ("svmx-train", ["--help"], 1),
        ("svmx-train", ["--version"], 1),
        ("svmx-train", [], 1),
        ("svmx-predict", [HEART, "model", "new"], 1),
        ("svmx-predict", ["--help"], 1),
        ("svmx-train", ["-q", HEART, "new"], 0),
    ],
)
def test_fault_70_standard_output_on_a_full_disk(trained, command, args, code, unbuffered):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | unbuffered
    with open(FULL, "wb") as full:
        done = process(command, *args, stdout=full, env=environment)
    assert done.returncode == code
    expected = f"{command}: error: standard output: No space left on device\n" if code else ""
    assert done.stderr.decode() == expected


@needs_full
def test_fault_72_a_model_to_a_full_disk(folder):
    done = process("svmx-train", "-q", HEART, FULL)
    assert (done.returncode, done.stderr) == (1, b"svmx-train: error: /dev/full: No space left on device\n")


@posix
def test_closed_standard_streams_do_no_harm(trained):
    """As closed by >&- and 2>&- in a shell."""
    done = process("svmx-train", HEART, "new", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, b"")
    assert trained.get("new") == trained.get("model")
    done = process("svmx-train", HEART, "newer", preexec_fn=lambda: os.close(2))
    assert (done.returncode, trained.get("newer")) == (0, trained.get("model"))
    assert process("svmx-predict", HEART, "model", "output", preexec_fn=lambda: os.close(1)).returncode == 0
    assert len(trained.get("output").split()) == 270
    for descriptor, code, args in ((1, 0, ["--help"]), (1, 1, []), (2, 1, ["nowhere"]), (1, 1, ["-x"])):
        done = process("svmx-train", *args, preexec_fn=lambda n=descriptor: os.close(n))
        assert done.returncode == code
        assert b"Traceback" not in done.stderr


TARGETS = [
    ("missing/model", "missing", "No such file or directory"),
    ("file/model", "file", "No such file or directory"),
    ("place", "place", "Is a directory"),
]


@pytest.mark.parametrize("target, named, cause", TARGETS)
def test_fault_72_a_bad_target_is_reported_before_anything_is_read(folder, target, named, cause):
    folder.put("file", folder.KEPT)
    (folder.path / "place").mkdir()
    err, out = folder.refuses("svmx-train", "no such data", target)
    assert cause in err and named in err and "no such data" not in err
    assert out == ""
    err, out = folder.refuses("svmx-predict", "no such data", "no such model", target)
    assert cause in err and named in err and "no such" not in err
    # no check if nothing will be written
    err, _ = folder.refuses("svmx-train", "-v", "2", "no such data", target)
    assert "no such data" in err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_fault_72_protected_targets(folder):
    folder.put("model", folder.KEPT)
    os.chmod("model", 0o444)
    (folder.path / "place").mkdir(mode=0o555)
    for target in ("model", "place/model"):
        code, out, err = folder.call("svmx-train", "no such data", target)
        assert (code, out) == (1, "")
        assert "Permission denied" in err
    assert folder.get("model") == folder.KEPT


@posix
@pytest.mark.parametrize("limit", [0, 1, 4096])
def test_fault_73_the_old_model_survives_a_failing_write(trained, limit):
    trained.put("model", trained.KEPT)
    before = trained.snapshot()
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    done = process("svmx-train", "-q", HEART, "model", before=limited)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"svmx-train: error: model: File too large\n"
    assert trained.snapshot() == before


def test_fault_73_a_replaced_file_keeps_its_rights_and_its_links(trained):
    os.chmod("model", 0o640)
    (trained.path / "place").mkdir()
    os.symlink("../model", "place/link")
    expected = trained.get("model")
    trained.put("model", trained.KEPT)
    trained.accepts("svmx-train", "-q", HEART, "place/link")
    assert os.path.islink("place/link")
    assert trained.get("model") == expected
    assert os.stat("model").st_mode & 0o777 == 0o640


def test_fault_74_a_missing_model_leaves_the_output_alone(folder):
    folder.put("output", folder.KEPT)
    err, out = folder.refuses("svmx-predict", HEART, "no such model", "output")
    assert (err, out) == ("svmx-predict: error: no such model: No such file or directory\n", "")


def test_fault_75_no_input_is_overwritten(trained):
    trained.put("data", "1 1:1\n-1 1:-1\n")
    os.symlink("data", "soft")
    os.link("data", "hard")
    for name in ("data", "soft", "hard", "./data"):
        err, _ = trained.refuses("svmx-predict", "data", "model", name)
        assert "the output file is the same as data, which would be lost" in err
        err, _ = trained.refuses("svmx-train", "data", name)
        assert "the model file is the same as data, which would be lost" in err
    err, _ = trained.refuses("svmx-predict", "data", "model", "model")
    assert "the output file is the same as model, which would be lost" in err


def test_fault_76_a_bad_row_in_the_middle_leaves_no_partial_output(trained):
    rows = ["1 1:1\n"] * 500
    rows[250] = "1 1:1 3:x\n"
    trained.put("data", "".join(rows))
    trained.put("output", trained.KEPT)
    err, out = trained.refuses("svmx-predict", "data", "model", "output")
    assert (err, out) == ("svmx-predict: error: data:251:9: value is not a number: 'x'\n", "")


def test_fault_77_an_empty_test_file(trained):
    trained.put("data", "")
    err, out = trained.accepts("svmx-predict", "data", "model", "output")
    assert (err, out) == ("", "Accuracy = 0% (0/0) (classification)\n")
    assert trained.get("output") == b""
    trained.accepts("svmx-train", "-q", "-s", "3", HEART, "svr")
    _, out = trained.accepts("svmx-predict", "data", "svr", "output")
    assert out == "Mean squared error = 0 (regression)\nSquared correlation coefficient = 0 (regression)\n"


# ---------------------------------------------------------------- signals


@posix
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def test_fault_78_a_signal_ends_the_training_and_keeps_the_old_model(folder, running, signum):
    folder.put("model", folder.KEPT)
    args = [*endless(folder.path / "data"), "model"]
    before = folder.snapshot()
    child = running(*args)
    child.send_signal(signum)
    _, err = child.communicate(timeout=PATIENCE)
    told = b"svmx-train: interrupted: model is as it was\n" if signum == signal.SIGINT else b""
    assert (child.returncode, err) == (-signum, told)
    assert folder.snapshot() == before


@posix
def test_fault_78_an_interrupt_says_what_is_not_written(folder, running):
    child = running(*endless(folder.path / "data"), "model")
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, err) == (-signal.SIGINT, b"svmx-train: interrupted: model is not written\n")
    assert names(folder) == ["data"]


@posix
@pytest.mark.parametrize("what, code", [("save", 3), ("accept", 0)])
def test_fault_78_an_interrupt_may_save_the_model_as_it_is(folder, running, what, code):
    """By default with its own exit code, so that make does not take the model for a finished one."""
    args = [*endless(folder.path / "data"), "model"]
    child = running("--on-interrupt", what, *args)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == code
    assert err == b"warning: interrupted before the tolerance was reached: the result is feasible, not optimal\n"
    assert b"optimization finished" in out
    folder.accepts("svmx-predict", "-q", "data", "model", "output")
    assert names(folder) == ["data", "model", "output"]


@posix
def test_fault_78_an_interrupt_that_the_caller_ignores_stays_ignored(folder, running):
    """Such as a command started with & in a shell script. Of two pending signals SIGINT, the lower one, acts first."""
    child = running(
        *endless(folder.path / "data"), "model", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, err) == (-signal.SIGTERM, b"")


@posix
def test_fault_78_a_second_interrupt_kills():
    from libsvmx.cli.train import StopFlag

    previous = signal.getsignal(signal.SIGINT)
    try:
        flag = StopFlag()
        flag.listen()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)
        assert flag.raised
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, previous)


@posix
def test_fault_78_an_interrupted_write_leaves_no_temporary_file(trained):
    """Ctrl-C between opening the temporary file and renaming it."""
    code = (
        "import os, signal\n"
        "from libsvmx.cli.ending import tidy_end\n"
        "from libsvmx.cli.process import run\n"
        "from libsvmx.io.outputs import atomic_write\n"
        "def main(argv):\n"
        "    with tidy_end(), atomic_write('model') as file:\n"
        "        file.write(b'half')\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return 0\n"
        "run('svmx-train', main, '')\n"
    )
    before = trained.snapshot()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
    assert trained.snapshot() == before


@posix
def test_fault_79_a_broken_pipe_is_quiet(folder, running):
    args = [*endless(folder.path / "data"), "model"]
    child = running(*args)
    child.stdout.close()
    err = child.stderr.read()
    assert (child.wait(timeout=PATIENCE), err) == (-signal.SIGPIPE, b"")
    assert names(folder) == ["data"]


# ---------------------------------------------------------------- limits


def memory_limit(megabytes):
    """A statement that limits the process to ``megabytes`` more memory than it uses."""
    return (
        "import resource; held = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize(); "
        f"resource.setrlimit(resource.RLIMIT_AS, (held + ({megabytes} << 20),) * 2)"
    )


@linux
@objects_from_malloc
@pytest.mark.parametrize("command", ["svmx-train", "svmx-predict"])
def test_fault_80_too_little_memory_for_the_data(trained, command):
    width = 2_000_000
    with open("data", "w") as file:
        for label in (1, -1):
            file.write(str(label) + "".join(f" {j}:1" for j in range(1, width)) + "\n")
    trained.put("output", trained.KEPT)
    before = names(trained)
    last = 150  # enough to read the rows, not to train on them
    for megabytes in (4, 40, 80, *([last] if command == "svmx-train" else [])):
        args = ["data", "output"] if command == "svmx-train" else ["data", "model", "output"]
        done = process(command, *args, before=memory_limit(megabytes))
        assert (done.returncode, done.stdout) == (1, b"")
        in_training = b"training" in done.stderr or megabytes == last
        advice = b": training; a smaller -m needs less" if in_training else b""
        assert done.stderr == f"{command}: error: out of memory".encode() + advice + b"\n"
        assert names(trained) == before
        assert trained.get("output") == trained.KEPT


@linux
def test_fault_80_with_little_memory_fewer_kernel_rows_are_kept(trained):
    """-m is an upper bound: the model is the same, and with no room at all the old file stays."""
    args = [*endless(trained.path / "data")[:-1], "--max-iter", "3000", "-q", "-m", "100000", "data"]
    assert process("svmx-train", *args, "expected").returncode == 0
    codes = set()
    for megabytes in (1, 2, 3, 4, 5, 6, 8, 16, 64):
        trained.put("new", trained.KEPT)
        done = process("svmx-train", *args, "new", before=memory_limit(megabytes))
        codes.add(done.returncode)
        if done.returncode == 0:
            assert trained.get("new") == trained.get("expected")
        else:
            assert b"svmx-train: error: out of memory" in done.stderr
            assert trained.get("new") == trained.KEPT
    assert codes == {0, 1}


def test_limits_are_remarked_and_leave_a_usable_model(folder):
    args = endless(folder.path / "data")
    for limit, cause in ((["--max-iter", "50"], "iteration"), (["--time-limit", "0.2"], "time")):
        err, out = folder.accepts("svmx-train", *limit, *args, "model")
        assert err == (
            f"warning: the {cause} limit was reached before the tolerance: the result is feasible, not optimal\n"
        )
        assert cause == "time" or "#iter = 50\n" in out
        folder.accepts("svmx-predict", "data", "model", "output")
    err, _ = folder.accepts("svmx-train", "--max-iter", "1000000", "--time-limit", "1000", HEART, "model")
    assert err == ""


# ---------------------------------------------------------------- other processes


def test_fault_86_writers_of_one_model_never_mix(folder):
    costs = ["0.1", "1", "10", "100"]
    for cost in costs:
        folder.accepts("svmx-train", "-q", "-c", cost, HEART, f"expected.{cost}")
    expected = {folder.get(f"expected.{cost}") for cost in costs}
    assert len(expected) == len(costs)
    for _ in range(3):
        children = [subprocess.Popen(arguments("svmx-train", "-q", "-c", cost, HEART, "model")) for cost in costs]
        while any(child.poll() is None for child in children):
            if (folder.path / "model").exists():
                assert folder.get("model") in expected
        assert [child.returncode for child in children] == [0] * len(costs)
        assert folder.get("model") in expected
    assert names(folder) == sorted(["model", *(f"expected.{cost}" for cost in costs)])


def test_fault_87_a_decimal_comma_locale_changes_nothing(trained):
    previous = locale.setlocale(locale.LC_ALL)
    expected = trained.get("model")
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"):
        with suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, name)
            break
    else:
        pytest.skip("no locale with a decimal comma")
    try:
        assert locale.localeconv()["decimal_point"] == ","
        trained.accepts("svmx-train", "-q", HEART, "new")
        assert trained.get("new") == expected
        _, out = trained.accepts("svmx-predict", HEART, "new", "output")
        assert out == "Accuracy = 86.6667% (234/270) (classification)\n"
        assert trained.refuses("svmx-train", "-c", "1,5", HEART, "other")[0].startswith("svmx-train: error: option -c")
    finally:
        locale.setlocale(locale.LC_ALL, previous)
