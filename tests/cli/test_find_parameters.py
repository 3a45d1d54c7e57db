"""grid.py as a module, and as its replacement."""

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr

import pytest
from support import data
from support.faults import system_call
from support.machine import Clock, machine_with

from libsvmx import ParameterError
from libsvmx.grid import find_parameters

HEART = str(data.DATA / "heart_scale")
QUIET = "-png null -out null"

# LIBSVM's: find_parameters('heart_scale', '-log2c null -log2g -1,1,1 -gnuplot null -out null')
LAST_LINE, RESULT = "0.5 77.037\n", (77.037, {"g": 0.5})


def test_the_example_of_libsvm(folder, capfd):
    """The example in the README of its tools, with the result of grid.py 3.24."""
    options = f"-log2c -1,1,1 -log2g -1,1,1 {QUIET}"
    assert find_parameters(HEART, options) == (78.8889, {"c": 0.5, "g": 0.5})
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == "0.5 0.5 78.8889"
    assert "[local] 0.0 0.0 74.8148 (best c=" in "\n".join(lines)
    assert len(lines) == 10


@pytest.mark.parametrize("kind", [str, list, tuple])
def test_options_as_text_or_words(folder, capfd, kind):
    options = f"-log2c null -log2g -1,1,1 {QUIET}"
    assert find_parameters(data.DATA / "heart_scale", options if kind is str else kind(options.split())) == RESULT
    assert capfd.readouterr().out.endswith(LAST_LINE)
    assert folder.snapshot() == {}


def test_results_are_written(folder):
    find_parameters(HEART, ["-log2c", "0,1,1", "-log2g", "null", "-v", 2, "-png", "null"])
    assert b"\nlog2c=0.0 rate=" in folder.get("heart_scale.out")


@pytest.mark.parametrize(
    "options, cause",
    [("-c 1", "cannot be combined with -log2c"), ("-log2c 1", "begin,end,step"), ("-x 1", "unknown option -x")],
)
def test_what_is_wrong_is_raised(folder, options, cause):
    with pytest.raises(ParameterError, match=cause):
        find_parameters(HEART, options)
    with pytest.raises(FileNotFoundError):
        find_parameters("nowhere", QUIET)


def test_it_has_no_report_and_leaves_no_progress_line(folder, monkeypatch):
    from libsvmx.cli import process

    with pytest.raises(ParameterError, match="--report is one of commands"):
        find_parameters(HEART, f"-log2c 0,0,1 -log2g null --report r.json {QUIET}")
    monkeypatch.setenv("TERM", "xterm")
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})()
    with redirect_stderr(terminal), machine_with(monotonic=Clock(step=3.0)):
        find_parameters(HEART, f"-log2c 0,0,1 -log2g null {QUIET}")
    assert "searching, 3 s" in terminal.getvalue()  # a progress line was shown
    assert process._watched.progress is None


def test_ctrl_c_is_a_keyboard_interrupt(folder):
    """Also during the write of a file, where it first becomes another exception."""
    press = system_call("fsync", lambda *_: signal.raise_signal(signal.SIGINT))
    with press, pytest.raises(KeyboardInterrupt):
        find_parameters(HEART, f"-log2c 0,0,1 -log2g null --csv table {QUIET}")
    assert folder.snapshot() == {}


def test_as_a_program(folder):
    words = ["-log2c", "null", "-log2g", "-1,1,1", *QUIET.split(), HEART]
    done = subprocess.run([sys.executable, "-m", "libsvmx.grid", *words], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(LAST_LINE)


@pytest.mark.skipif(os.name != "posix", reason="a shell script of this name")
def test_a_file_in_its_place_for_another_python(folder, monkeypatch):
    """The two lines of docs/grid.md, run by a Python without libsvmx: -S leaves out all installed packages."""
    program = folder.path / "svmx-grid"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m libsvmx.grid "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder.path}:{os.environ['PATH']}")
    folder.put("grid.py", 'import os, sys\nos.execvp("svmx-grid", ["svmx-grid"] + sys.argv[1:])\n')
    words = ["-log2c", "null", "-log2g", "-1,1,1", *QUIET.split(), HEART]
    done = subprocess.run([sys.executable, "-S", "grid.py", *words], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(LAST_LINE)
