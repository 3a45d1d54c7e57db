"""Fixtures shared by the tests of the commands."""

import sys

import pytest
from support import gridengine
from support.gridengine import HEART, SMALL


@pytest.fixture
def no_pictures(monkeypatch):
    """As without matplotlib: svmx-grid and svmx-easy draw pictures by default, which is their slowest part."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def few_points(monkeypatch):
    """A smaller grid than easy.py's, around its centre."""
    monkeypatch.setattr("libsvmx.cli.gridjob.C_AXIS", (-1.0, 3.0, 2.0))


@pytest.fixture
def finished(folder):
    """A folder with the results of a search and its table; the engine's rates depend on the start."""
    with pytest.MonkeyPatch.context() as patch:
        gridengine.use(patch, gridengine.chained)
        folder.accepts("svmx-grid", *SMALL, "-out", "results", "--csv", "expected", HEART)
        yield folder
