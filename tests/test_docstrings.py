"""Public functions, methods and estimators say what they take, and show an example, which runs as it stands."""

import doctest
import inspect
import re
import shutil
from importlib import import_module

import pytest
from support import data
from support.documents import ROOT

import libsvmx

# Methods whose docstrings have an example each: those of what users hold on to.
CLASSES = ("State", "CostPath", "TauPath")
# What the reference leaves out of a class: of other modules of libsvmx.
HIDDEN = re.findall(r":exclude-members: (.+)", (ROOT / "docs" / "api" / "updating.rst").read_text(encoding="utf-8"))
HIDDEN = {name for line in HIDDEN for name in line.split(", ")}


def public():
    """Names and objects whose docstrings are read by users."""
    found = {name: getattr(libsvmx, name) for name in libsvmx.__all__}
    for name in CLASSES:
        found.update({f"{name}.{method}": getattr(found[name], method) for method in methods(found[name])})
    for module in ("plot", "sklearn"):
        try:
            home = import_module(f"libsvmx.{module}")
        except ImportError:
            continue
        found.update({f"{module}.{name}": getattr(home, name) for name in home.__all__})
    return found


def methods(kind):
    return [
        name
        for name in vars(kind)
        if not name.startswith("_")
        and name not in HIDDEN
        and inspect.isroutine(getattr(kind, name))
        and takes(getattr(kind, name))
    ]


def takes(function):
    """Whether it has parameters."""
    return bool(set(inspect.signature(function).parameters) - {"self", "cls"})


PUBLIC = public()
FUNCTIONS = [name for name, thing in PUBLIC.items() if inspect.isfunction(thing) and "." not in name]
FUNCTIONS += [name for name, thing in PUBLIC.items() if inspect.isfunction(thing) and name.startswith("plot.")]
METHODS = [name for name in PUBLIC if "." in name and name.partition(".")[0] in CLASSES]
ESTIMATORS = [name for name, thing in PUBLIC.items() if name.startswith("sklearn.") and hasattr(thing, "fit")]


def text_of(name):
    return inspect.getdoc(PUBLIC[name]) or ""


def test_functions_say_what_they_take_and_raise():
    assert len(FUNCTIONS) > 20
    lacking = [name for name in FUNCTIONS if takes(PUBLIC[name]) and "Parameters\n---" not in text_of(name)]
    assert lacking == []


@pytest.mark.parametrize("kind", ["FUNCTIONS", "METHODS", "ESTIMATORS"])
def test_each_has_an_example(kind):
    names = globals()[kind]
    assert names or kind == "ESTIMATORS"
    assert [name for name in names if "Examples\n---" not in text_of(name)] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if ">>> " in text_of(name)])
def test_examples_run(name, tmp_path, monkeypatch):
    if "plot" in name:
        pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    shutil.copy(data.DATA / "heart_scale", tmp_path / "data")
    owner = name.partition(".")[0]
    before = text_of(owner) + "\n\n" if name in METHODS else ""  # which the examples of methods go on from
    example = doctest.DocTestParser().get_doctest(before + text_of(name), {}, name, None, 0)
    told = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=told.append)
    assert (failed, tried > 0) == (0, True), "".join(told)
