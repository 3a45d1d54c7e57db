"""Before anything else: the oracle must run with one thread, or it sums in another order."""

import os

os.environ["OMP_NUM_THREADS"] = "1"
# Interpreters that tests start must import the installed package, not the source folder they start in.
os.environ["PYTHONSAFEPATH"] = "1"

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch, capfd):
    """An empty current folder in which commands run, see support.commands.Folder."""
    from support.commands import Folder

    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capfd)
