"""Each n-th allocation, or start of a thread, fails: 'out of memory' and exit code 1, or the same result with less."""

import errno
import re
import signal

import pytest
from support.faults import COMMANDS, Case

from libsvmx.cli.process import guarded

LEAST = 2000  # bytes: smaller ones are CPython's own, which takes some that fail for other errors
MORE = {
    "folds": "svmx-train -q -v 3 heart",
    "chains": "svmx-train -q -v 3 --seeder sir --seeder-scheme chain heart",
    "leave one out": "svmx-train -q --loo few",
    "check": "svmx-checkdata heart",
    "threads": "svmx-train -q -b 1 --threads 3 heart printed",
}


def of_numpy(done, blamed):
    """Whether NumPy has crashed for want of memory of its own: it raises for the buffers of a loop without the GIL."""
    if done.code != -signal.SIGSEGV:
        return False
    usual = re.compile(r"shim\.so$|/python[\d.]*$|/libpython|/libc[.-]")
    return "_multiarray_umath" in next(name for name in blamed.read_text().splitlines() if not usual.search(name))


def out_of_memory(done, blamed):
    """Whether it is told, and nothing else; if not, the command has come to its end."""
    assert "Traceback" not in done.err, done.err
    if of_numpy(done, blamed):
        return True
    assert done.code in (0, 1), done
    if done.code == 1:
        assert "out of memory" in done.err, done.err
    return done.code == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_writes(name, ground, server, tmp_path, chosen):
    # the first of all is always refused, and one that never comes changes nothing
    case = Case(name, ground, tmp_path / "work", server)
    n_calls = server.run(case.command.words, case.folder, kind="memory", bytes=LEAST).calls
    case.kind, refused, blamed = "memory", 0, tmp_path / "blamed"
    for number in [1, *chosen(range(2, n_calls + 2), name)]:
        done, n_new = case.run(number, errno.ENOMEM, bytes=LEAST, blame=blamed)
        print(name, number, done)
        if out_of_memory(done, blamed):  # svmx-scale has its ranges by the time that it prints
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
        done = server.run(MORE[name], ground, kind="memory", bytes=LEAST, call=number, act=errno.ENOMEM, blame=blamed)
        print(name, number, done)
        refused += out_of_memory(done, blamed)
        assert done.code or done.out == expected.out
    assert refused


def test_numpy_that_forgets_to_say_so(capfd):
    """Rows picked by an array of numbers, X[rows], end in a SystemError without a word where memory is out."""

    def main(argv):
        raise SystemError(argv[0])

    assert guarded("svmx-train", main, "", ["error return without exception set"]) == 1
    assert capfd.readouterr().err == "svmx-train: error: out of memory\n"
    with pytest.raises(SystemError):
        guarded("svmx-train", main, "", ["bad argument to internal function"])
