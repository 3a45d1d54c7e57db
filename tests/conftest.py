"""Before anything else: the oracle must run with one thread, or it sums in another order."""

import os
import signal

os.environ["OMP_NUM_THREADS"] = "1"
# Interpreters that tests start must import the installed package, not the source folder they start in.
os.environ["PYTHONSAFEPATH"] = "1"
# A test run started with & inherits an ignored SIGINT, and would hand it on to the commands under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch, capfd):
    """An empty current folder in which commands run, see support.commands.Folder."""
    from support.commands import Folder

    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capfd)


@pytest.fixture(scope="session")
def exhaustive(pytestconfig):
    """Whether every case is wanted, not representatives."""
    return pytestconfig.getoption("exhaustive", False)
