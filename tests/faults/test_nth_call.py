"""Each n-th system call fails, is short, or kills the process: nothing is lost.

A small library loaded before the C library counts the calls (shim.c). LIBSVMX_FAULTS=all tries every call, which
takes hours.
"""

import errno
import os

import pytest
from support.faults import COMMANDS, SIGNALS, Case

FAILURES = {"no space": errno.ENOSPC, "I/O error": errno.EIO}
# Calls that may fail: file permissions are kept, leftovers removed, and starts of columns saved if possible.
OPTIONAL = ("chmod", "mkdir", "unlink")


def refused(done, failure):
    """Exit code 1 and the cause; otherwise the command must have succeeded."""
    assert done.code in (0, 1), done
    if done.code == 1:
        assert os.strerror(failure) in done.err, done.err
    return done.code == 1


@pytest.mark.each_value
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_that_fails(name, failure, ground, server, tmp_path, chosen):
    """Exit code 1 and the cause, and all related outputs old, unless the failure does not matter; then the same command
    succeeds."""
    case = Case(name, ground, tmp_path / "work", server)
    for number in chosen(range(1, case.n_calls + 1), f"{name} {failure}"):
        done, n_new = case.run(number, FAILURES[failure])
        call = case.calls[number - 1]
        print(name, number, call, done)
        assert ".tmp" not in done.err, "the name of a file that nobody asked for"
        assert case.left() == [] or call == "unlink"
        if refused(done, FAILURES[failure]):
            assert n_new == 0 or case.command.steps, (number, call)
            case.again()
        else:
            assert call in OPTIONAL or case.command.steps
            assert n_new == len(case.command.outputs)


@pytest.mark.parametrize("name", COMMANDS)
def test_reading_that_fails(name, ground, server, tmp_path, chosen):
    case = Case(name, ground, tmp_path / "work", server, "read")
    for number in chosen(range(1, case.n_calls + 1), name):
        done, n_new = case.run(number, errno.EIO)
        print(name, number, case.calls[number - 1], done)
        assert case.left() == []
        if refused(done, errno.EIO):
            case.again()
        else:  # reading it was optional
            assert n_new == len(case.command.outputs)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_write_that_is_short(name, ground, server, tmp_path, chosen):
    case = Case(name, ground, tmp_path / "work", server)
    writes = [number for number, call in enumerate(case.calls, 1) if call == "write"]
    for number in chosen(writes, name):
        done, n_new = case.run(number, "short")
        assert (done.code, n_new) == (0, len(case.command.outputs)), (number, done.err)


@pytest.mark.each_value
@pytest.mark.parametrize("act", SIGNALS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_a_call(name, act, ground, server, tmp_path, chosen):
    """The signal ends the process, and the same command then gives the undisturbed result."""
    case = Case(name, ground, tmp_path / "work", server)
    for number in chosen(range(1, case.n_calls + 1), f"{name} {act}"):
        done, n_new = case.run(number, act)
        print(name, number, case.calls[number - 1], done)
        late = n_new == len(case.command.outputs)  # all outputs were in place when the signal was checked
        assert done.code == -SIGNALS[act] or (late and done.code == 0), (number, done)
        assert act == "kill" or case.left() == [], (number, case.calls[number - 1])
        if not late:
            case.again()
