"""Optional packages of a test file, imported when a test first uses one: every process of a run imports every file, and
few of them run a test that needs scikit-learn, matplotlib or Dask."""

import importlib
from importlib.util import find_spec

import pytest


class Optional:
    """Stands for a module until one of its names is used."""

    def __init__(self, name):
        self._module_name = name

    def __getattr__(self, name):
        if name.startswith("_"):  # pytest examines each name in a file for tests and fixtures
            raise AttributeError(name)
        return getattr(importlib.import_module(self._module_name), name)


def optional(name):
    """Like ``pytest.importorskip`` at the top of a file, but only looks for the package, without importing it."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(f"could not import {name!r}: {package} is not installed", allow_module_level=True)
    return Optional(name)
