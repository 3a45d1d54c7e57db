"""The map of a folder, the docstring of its ``__init__.py``, names every file there, and no others."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "libsvmx"
FOLDERS = [path.parent for path in sorted(PACKAGE.rglob("__init__.py")) if "shim" not in path.parts]
SOURCES = (".py", ".pyx", ".c", ".h", ".js")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_a_picture_names_what_is_there(folder):
    picture = ast.get_docstring(ast.parse(folder.joinpath("__init__.py").read_text(encoding="utf-8")))
    there = {path.stem for path in folder.iterdir() if path.suffix in SOURCES and not path.name.startswith("__")}
    assert there - {*re.findall(r"\w+", picture)} == set()
    named = set(re.findall(r"\b\w+\.(?:pyx|py|c|h|js)\b", picture))
    known = {path.name for package in ("libsvmx", "tools") for path in ROOT.joinpath(package).rglob("*.*")}
    assert named - known == set()
