"""Each n-th allocation, or start of a thread, fails: 'out of memory' and exit code 1, or the same result with less."""

import errno
import os
import re
import signal
import subprocess
import sys

import pytest
from support.faults import COMMANDS, Case, Done, objects_from_malloc

from libsvmx.cli.process import guarded

pytestmark = objects_from_malloc
LEAST = 2000  # bytes: smaller allocations are CPython's own, some of which it reports as other errors
MORE = {
    "folds": "svmx-train -q -v 3 heart",
    "chains": "svmx-train -q -v 3 --seeder sir --seeder-scheme chain heart",
    "leave one out": "svmx-train -q --loo few",
    "check": "svmx-checkdata heart",
    "threads": "svmx-train -q -b 1 --threads 3 heart printed",
}


def of_numpy(done, blamed):
    """Whether NumPy has crashed as its own allocation failed: it raises without the GIL for the buffers of a loop, and
    its OpenBLAS uses what it was refused.

    Both the refused allocation and the crash must be NumPy's: a crash of ours during the exit is no excuse.
    """
    if done.code != -signal.SIGSEGV:
        return False
    usual = re.compile(r"shim\.so$|/python[\d.]*$|/libpython|/libc[.-]")
    refused, crash, at = blamed.read_text().partition("crash\n") if blamed.exists() else ("", "", "")
    found = [next((name for name in text.splitlines() if not usual.search(name)), "") for text in (refused, at)]
    return bool(crash) and all("_multiarray_umath" in name or "openblas" in name for name in found)


def out_of_memory(done, blamed):
    """Whether that is the only message; if not, the command has finished."""
    assert "Traceback" not in done.err, done.err
    if of_numpy(done, blamed):
        return True
    assert done.code in (0, 1), done
    if done.code == 1:
        assert "out of memory" in done.err, done.err
    return done.code == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_writes(name, ground, server, tmp_path, chosen):
    # the first allocation is always refused, and one that never comes changes nothing
    case = Case(name, ground, tmp_path / "work", server)
    n_calls = server.run(case.command.words, case.folder, kind="memory", bytes=LEAST).calls
    case.kind, refused, blamed = "memory", 0, tmp_path / "blamed"
    last = range(n_calls - 15, n_calls + 1) if name == "window" else ()  # once its files are in place
    for number in [1, *chosen(range(2, n_calls + 2), name), *last]:
        blamed.unlink(missing_ok=True)
        done, n_new = case.run(number, errno.ENOMEM, bytes=LEAST, blame=blamed)
        print(name, number, done)
        if out_of_memory(done, blamed):  # svmx-scale has written its ranges before it prints
            refused += 1
            assert n_new == 0 or case.command.steps or name == "scale"
        else:
            assert n_new == len(case.command.outputs)
        assert case.left() == []
    assert refused


@pytest.mark.parametrize("name", MORE)
def test_a_command_that_prints(name, ground, server, tmp_path, chosen):
    expected = server.run(MORE[name], ground, kind="memory", bytes=LEAST)
    assert expected.code == 0
    refused, blamed = 0, tmp_path / "blamed"
    for number in [1, *chosen(range(2, expected.calls + 2), name)]:
        blamed.unlink(missing_ok=True)
        done = server.run(MORE[name], ground, kind="memory", bytes=LEAST, call=number, act=errno.ENOMEM, blame=blamed)
        print(name, number, done)
        refused += out_of_memory(done, blamed)
        assert done.code or done.out == expected.out
    assert refused


NUMPY, OURS, USUAL = "/np/_multiarray_umath.so", "/sx/smo.so", "/t/shim.so\n/usr/bin/python3.11\n/lib/libc.so.6"


@pytest.mark.parametrize(
    ("text", "code", "excused"),
    [
        (f"{USUAL}\n{NUMPY}\ncrash\n{USUAL}\n{NUMPY}\n{OURS}\n", -signal.SIGSEGV, True),
        (f"{USUAL}\n{NUMPY}\ncrash\n{USUAL}\n{OURS}\n{NUMPY}\n", -signal.SIGSEGV, False),  # during our exit
        (f"{USUAL}\n{OURS}\ncrash\n{USUAL}\n{NUMPY}\n", -signal.SIGSEGV, False),
        (f"{USUAL}\n{NUMPY}\n", -signal.SIGSEGV, False),
        (f"{USUAL}\ncrash\n{USUAL}\n", -signal.SIGSEGV, False),
        (None, -signal.SIGSEGV, False),  # before any refusal
        (f"{USUAL}\n{NUMPY}\ncrash\n{USUAL}\n{NUMPY}\n", -signal.SIGABRT, False),
    ],
)
def test_excused_failures(tmp_path, text, code, excused):
    blamed = tmp_path / "blamed"
    if text is not None:
        blamed.write_text(text)
    assert of_numpy(Done(code, "", "", 0), blamed) == excused


CRASH = """
import ctypes, os, sys
os.environ.update(FAULT_KIND="memory", FAULT_CALL="1", FAULT_ACT="12", FAULT_BYTES=str(1 << 26))
os.environ["FAULT_BLAME"] = sys.argv[1]
ctypes.CDLL(None).fault_settings()
try:
    bytearray(1 << 26)
except MemoryError:
    ctypes.string_at(1)
"""


def test_a_crash_names_where_it_was(tmp_path, server):
    blamed = tmp_path / "blamed"
    environment = {**os.environ, "LD_PRELOAD": str(server.library)}
    done = subprocess.run([sys.executable, "-c", CRASH, blamed], env=environment, check=False)
    assert done.returncode == -signal.SIGSEGV
    refused, _, at = blamed.read_text().partition("crash\n")
    assert "ctypes" not in refused
    assert "ctypes" in at or "libffi" in at


def test_numpy_that_forgets_to_say_so(capfd):
    """Rows indexed by an array, X[rows], raise a SystemError without a message if memory is out."""

    def main(argv):
        raise SystemError(argv[0])

    assert guarded("svmx-train", main, "", ["error return without exception set"]) == 1
    assert capfd.readouterr().err == "svmx-train: error: out of memory\n"
    with pytest.raises(SystemError):
        guarded("svmx-train", main, "", ["bad argument to internal function"])
