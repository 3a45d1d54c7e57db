"""Error messages of the commands, and the width of their help."""

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from support import data
from support.commands import MODULES, NO_PICTURES, arguments, process
from support.faults import failing, system_call

import libsvmx
from libsvmx.cli import helptext

HEART = str(data.DATA / "heart_scale")
MPG = str(data.DATA / "mpg")


# ---- help ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", MODULES)
@pytest.mark.parametrize("width", [40, 61, 80, 100, 119])
def test_help_is_as_wide_as_columns_says(command, width, monkeypatch, folder):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out = folder.accepts(command, "--help")
    assert max(map(len, out.splitlines())) <= width
    usage = MODULES[command].USAGE
    assert out.split() == usage.split()  # no word is lost or broken
    assert re.findall(r"^  (-\S+)", out, re.M) == re.findall(r"^  (-\S+)", usage, re.M)


@pytest.mark.parametrize("columns", ["", "0", "x", "-5", "1000", "9" * 5000])
def test_help_is_as_written_where_it_fits_or_nothing_says(columns, monkeypatch, folder):
    monkeypatch.setenv("COLUMNS", columns)
    assert folder.accepts("svmx-train", "--help")[1] == MODULES["svmx-train"].USAGE


def test_a_terminal_of_no_width_still_has_words(monkeypatch, folder):
    monkeypatch.setenv("COLUMNS", "1")
    _, out = folder.accepts("svmx-train", "--help")
    assert max(map(len, out.splitlines())) <= helptext.LEAST


def test_the_layout_is_kept():
    text = """\
usage: x [options] first_file second_file

A paragraph of words that are
wrapped again: as one
and so on.

options:
  -a N           first does this and
                 that
  --long-option-name VALUE
                 second
"""
    assert (
        helptext.fitted(text, 40)
        == """\
usage: x [options] first_file
           second_file

A paragraph of words that are wrapped
again: as one and so on.

options:
  -a N           first does this and
                 that
  --long-option-name VALUE
                 second
"""
    )


def test_help_on_a_terminal():
    main, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    done = process("svmx-checkdata", "--help", stdout=child)
    os.close(child)
    text = os.read(main, 1 << 16).decode()
    os.close(main)
    assert done.returncode == 0
    assert max(map(len, text.splitlines())) <= 50


# ---- names --------------------------------------------------------------------------------------

C_LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are bytes")
@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}, C_LOCALE])
@pytest.mark.parametrize("name", ["nö".encode(), b"n\xff\xc3"])
def test_names_are_printed_as_they_were_typed(folder, locale, name):
    done = process("svmx-train", name.decode(errors="surrogateescape"), env={**os.environ, **locale})
    assert done.stderr == b"svmx-train: error: " + name + b": No such file or directory\n"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are bytes")
def test_a_name_that_is_no_text_on_standard_output(folder):
    name = os.fsdecode(b"\xff")
    folder.put(name, b"1 1:1\n-1 1:2\n" * 10)
    few = "from libsvmx.cli import gridjob; gridjob.C_AXIS = gridjob.G_AXIS = (0, 0, 1)"
    done = process("svmx-easy", name, before=few)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"Output model: \xff.model\n")


# ---- files --------------------------------------------------------------------------------------


def test_a_read_only_file_system_is_named_as_such(folder):
    def read_only(statvfs, path):
        found = statvfs(path)
        return os.statvfs_result((*found[:8], found.f_flag | os.ST_RDONLY, found[9]))

    with system_call("access", lambda access, path, mode: not mode & os.W_OK and access(path, mode)):
        err, _ = folder.refuses("svmx-train", "-q", HEART, "model")
        assert err.endswith(": Permission denied\n")
        with system_call("statvfs", read_only):
            err, _ = folder.refuses("svmx-train", "-q", HEART, "model")
    assert err == "svmx-train: error: model: Read-only file system\n"


@pytest.mark.parametrize("call", ["open", "replace"])
def test_python_names_the_file_that_was_asked_for(folder, call):
    X, y = libsvmx.read_problem(HEART)
    model = libsvmx.train(X, y)
    with failing(call, errno.EROFS), pytest.raises(OSError, match="Read-only") as caught:
        libsvmx.save_model("heart.model", model)
    assert (caught.value.errno, caught.value.filename, caught.value.filename2) == (errno.EROFS, "heart.model", None)
    assert str(caught.value) == f"[Errno {errno.EROFS}] Read-only file system: 'heart.model'"
    assert folder.snapshot() == {}


# ---- labels -------------------------------------------------------------------------------------


def test_data_without_a_label_of_the_model(folder):
    folder.accepts("svmx-train", "-q", HEART, "model")
    folder.put("zeros", "0 1:1\n0 1:2\n")
    folder.put("ones", "0 1:1\n1 1:2\n")
    folder.put("none", "")
    err, out = folder.accepts("svmx-predict", "zeros", "model", "o")
    assert out == "Accuracy = 0% (0/2) (classification)\n"
    assert err == "warning: zeros: no row has a label of the model, which knows 1 -1: the accuracy says nothing\n"
    for args in (["ones"], ["none"], [HEART]):
        assert folder.accepts("svmx-predict", *args, "model", "o")[0] == ""
    assert folder.accepts("svmx-predict", "-q", "zeros", "model", "o")[0] == ""
    folder.accepts("svmx-train", "-q", "-s", "2", HEART, "one-class")
    assert folder.accepts("svmx-predict", "zeros", "one-class", "o")[0] == ""


# ---- interrupts ---------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "command, args, hint",
    [
        ("svmx-grid", ["-png", "null", "heart_scale"], "-resume"),
        ("svmx-grid", ["-png", "null", "-out", "results", "heart_scale"], "-resume results"),
        ("svmx-easy", ["heart_scale"], "--resume"),
        ("svmx-grid", ["-png", "null", "-out", "null", "heart_scale"], None),
    ],
)
@pytest.mark.parametrize("moment", ["computing", "writing"])
def test_an_interrupted_search_says_how_to_go_on(folder, command, args, hint, moment):
    """Interrupted at its second point, by its own signal: while only C runs, or while files are written."""
    with open(HEART, "rb") as file:
        # with fewer rows svmx-easy warns of zeros that scaling makes nonzero
        folder.put("heart_scale", b"".join(file.readlines()[: 270 if command == "svmx-easy" else 40]))
    place = {
        "computing": ("libsvmx._train.validation.grid_search", "cross_validate"),
        "writing": ("libsvmx.cli.gridfile", "point_lines"),
    }[moment]
    if hint is None and moment == "writing":
        return
    code = (
        "import os, signal, importlib\n"
        f"module, name = importlib.import_module({place[0]!r}), {place[1]!r}\n"
        "calls, real = [], getattr(module, name)\n"
        "def call(*args, **options):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 2:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(*args, **options)\n"
        "setattr(module, name, call)\n"
    )
    done = process(command, *args, before=code)
    said = b"" if hint is None else f"{command}: interrupted; the same command with {hint} goes on\n".encode()
    assert done.returncode == -2
    assert besides_rounding(done.stderr).replace(b"grid.py", b"") == said
    if hint is not None and moment == "computing":
        done = process(command, *hint.split(), *args, before=NO_PICTURES)
        assert (done.returncode, besides_rounding(done.stderr)) == (0, b"")


def besides_rounding(told):
    """Without the warning of points at large C."""
    return b"".join(line for line in told.splitlines(True) if not line.startswith(b"warning: rounding hides "))


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupted_search_with_workers_tidies_up_first(folder, tmp_path, monkeypatch):
    pytest.importorskip("joblib")
    folder.put("heart_scale", Path(HEART).read_bytes())
    places = tmp_path / "temporary"
    places.mkdir()
    monkeypatch.setenv("TMPDIR", str(places))
    code = "import os, signal; from libsvmx.cli import gridfile; real = gridfile.point_lines\n"
    code += "gridfile.point_lines = lambda point: (os.kill(os.getpid(), signal.SIGINT), real(point))[1]\n"
    done = process("svmx-grid", "--workers", "2", "-png", "null", "heart_scale", before=code)
    assert done.returncode == -2
    # no complaints of resource trackers about leaked semaphores and folders
    assert done.stderr == b"svmx-grid: interrupted; the same command with -resume goes on\n"
    assert not list(places.glob("svmx-grid-*"))


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_of_a_terminal_is_not_heard_by_workers(folder):
    """It is sent to all processes of the group. Starting workers would fail within an import."""
    pytest.importorskip("joblib")
    code = (
        "import os, signal; from joblib.externals.loky.backend import popen_loky_posix as p; real = p.Popen._launch\n"
    )
    code += "p.Popen._launch = lambda self, process: (real(self, process), os.killpg(0, signal.SIGINT))[0]\n"
    command = arguments("svmx-grid", "--workers", "2", "-png", "null", "-out", "results", HEART, before=code)
    done = subprocess.run(command, capture_output=True, check=False, start_new_session=True)
    assert done.returncode == -2
    assert done.stderr == b"svmx-grid: interrupted; the same command with -resume results goes on\n"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_ignored_interrupt_says_nothing(folder):
    code = "import os, signal; from libsvmx.cli import gridfile; real = gridfile.point_lines\n"
    code += "gridfile.point_lines = lambda point: (os.kill(os.getpid(), signal.SIGINT), real(point))[1]\n"
    command = arguments("svmx-grid", "-log2c", "0,0,1", "-log2g", "0,1,1", "-png", "null", HEART, before=code)
    ignore = "import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    command = [sys.executable, "-c", f"{ignore}; os.execv(sys.executable, {command!r})"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_file_says_does_not_steer_the_terminal(folder):
    """A results file of a grid with escape sequences as its seeder."""
    args = ["-log2c", "0,1,1", "-log2g", "0,0,1", "-out"]
    folder.accepts("svmx-grid", *args, "results", HEART)
    results = folder.get("results")
    assert b'"seeder": "' in results
    folder.put("results", re.sub(rb'"seeder": "\w+"', rb'"seeder": "\\u001b[2J\\u009b1m\\u007f\\ttold"', results))
    _, _, said = folder.call("svmx-grid", *args, "more", "-resume", "results", HEART)
    assert "seeder was \\x1b[2J\\x9b1m\\x7f\ttold, now" in said
