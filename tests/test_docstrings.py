"""Public functions, methods and estimators document their parameters, and have an example that runs."""

import doctest
import inspect
import re
import shutil
from importlib import import_module

import pytest
from support import data
from support.documents import ROOT

import libsvmx

# Objects that users keep; the examples of methods continue that of the class.
CLASSES = ("State", "CostPath", "TauPath")
# Names that the reference omits from a class: those of other modules of libsvmx.
HIDDEN = re.findall(r":exclude-members: (.+)", (ROOT / "docs" / "api" / "updating.rst").read_text(encoding="utf-8"))
HIDDEN = {name for line in HIDDEN for name in line.split(", ")}
# Callables of several forms, whose parameters are those named in the docstring.
OVERLOADED = ("svmutil.svm_train", "jackknife_plus")


def public():
    """Names and objects with docstrings for users; methods as Class.method."""
    found = {name: getattr(libsvmx, name) for name in libsvmx.__all__ if name not in libsvmx._ESTIMATORS}
    svmutil = (ROOT / "docs" / "api" / "svmutil.rst").read_text(encoding="utf-8")
    for name in re.findall(r"autofunction:: libsvmx\.svmutil\.(\w+)", svmutil):
        found[f"svmutil.{name}"] = getattr(import_module("libsvmx.svmutil"), name)
    for module in ("plot", "sklearn"):
        try:
            home = import_module(f"libsvmx.{module}")
        except ImportError:
            continue
        found.update({f"{module}.{name}": getattr(home, name) for name in home.__all__})
    for name, kind in list(found.items()):
        if name in (*CLASSES, "Model") or hasattr(kind, "fit"):
            found.update({f"{name}.{method}": getattr(kind, method) for method in methods(kind)})
    return found


def methods(kind):
    """Methods defined by libsvmx itself."""
    return [
        name
        for name, member in inspect.getmembers(kind, inspect.isroutine)
        if not name.startswith("_") and name not in HIDDEN and (member.__module__ or "").startswith("libsvmx")
    ]


PUBLIC = public()
ESTIMATORS = [name for name, thing in PUBLIC.items() if name.startswith("sklearn.") and hasattr(thing, "fit")]
CALLED = [name for name, thing in PUBLIC.items() if inspect.isroutine(thing)]
FUNCTIONS = [name for name in CALLED if not name.startswith("sklearn.") or name.count(".") == 1]


def text_of(name):
    return inspect.getdoc(PUBLIC[name]) or ""


def sections(name):
    """The lines of each section of a docstring."""
    found, heading = {}, None
    lines = text_of(name).splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line and re.fullmatch("-{3,}", below):
            heading = line
            found[heading] = []
        elif heading and not re.fullmatch("-{3,}", line):
            found[heading].append(line)
    return found


def described(name):
    """The parameters named in a docstring."""
    named = []
    for line in sections(name).get("Parameters", []):
        if line and not line.startswith(" "):
            named += [word.lstrip("*") for word in line.partition(" : ")[0].split(", ")]
    return named


@pytest.mark.parametrize("name", [name for name in CALLED + ESTIMATORS if name not in OVERLOADED])
def test_each_parameter_is_described(name):
    wanted = set(inspect.signature(PUBLIC[name]).parameters) - {"self", "cls"}
    assert wanted - set(described(name)) == set()


def test_each_returned_value_is_described():
    assert len(CALLED) > 60
    returning = [name for name in CALLED if inspect.signature(PUBLIC[name]).return_annotation not in (None, "None")]
    assert [name for name in returning if "Returns" not in sections(name)] == []


def test_functions_say_what_they_raise():
    assert len(FUNCTIONS) > 40
    silent = ("sklearn.patch_sklearn", "sklearn.unpatch_sklearn", "patch_sklearn", "unpatch_sklearn")
    assert [name for name in FUNCTIONS if name not in silent and "Raises" not in sections(name)] == []


def test_a_notebook_shows_what_parameters_mean():
    sklearn = pytest.importorskip("sklearn")
    if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("older versions of scikit-learn show no descriptions")
    for kind in {PUBLIC[name] for name in ESTIMATORS}:
        box = (kind(libsvmx.SVC()) if "estimator" in inspect.signature(kind).parameters else kind())._repr_html_()
        for name in inspect.signature(kind).parameters:
            assert re.search(rf"{name}: [^<]*<br><br>(?!\s*As in)[^<\s]", box), (kind, name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_describes_itself_what_others_have_too(name):
    assert not re.search(r"^ *As in ``", text_of(name), re.MULTILINE)
    assert "n_features_in_" in " ".join(sections(name)["Attributes"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_a_fit_sets_is_described(name):
    kind, y = PUBLIC[name], [0, 1] * 10
    given = {"estimator": libsvmx.SVC(kernel="linear"), "Cs": [1, 2], "cv": 2, "nu": 0.2}
    fitted = kind(**{word: value for word, value in given.items() if word in inspect.signature(kind).parameters})
    fitted.fit([[k * 0.5, k % 3] for k in range(20)], [[label, label] for label in y] if "Multi" in name else y)
    told = re.findall(r"\w+_\b", " ".join(sections(name)["Attributes"]))
    assert {word for word in vars(fitted) if word.endswith("_") and not word.startswith("_")} - set(told) == set()


def test_each_has_an_example():
    assert [name for name in FUNCTIONS + ESTIMATORS if "Examples" not in sections(name)] == []


@pytest.mark.parametrize("name", PUBLIC)
def test_no_description_stands_on_the_line_of_a_type(name):
    """It belongs below, where numpydoc, editors and scikit-learn's box in a notebook expect it."""
    texts = {heading: lines for heading, lines in sections(name).items() if heading != "Examples"}
    assert [line for lines in texts.values() for line in lines if re.match(r"\S+ : .*\S {2,}\S", line)] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if ">>> " in text_of(name)])
def test_examples_run(name, tmp_path, monkeypatch):
    if "plot" in name:
        pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    shutil.copy(data.DATA / "heart_scale", tmp_path / "data")
    owner = name.partition(".")[0]
    before = text_of(owner) + "\n\n" if owner in CLASSES and owner != name else ""
    example = doctest.DocTestParser().get_doctest(before + text_of(name), {}, name, None, 0)
    told = []
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=told.append)
    assert (failed, tried > 0) == (0, True), "".join(told)
