"""The site: its reference lists all public names, its contents all pages, and docstrings render as intended.

Sphinx itself builds it in .ci/run.
"""

import re
import sys
from importlib import import_module

import pytest
from support.documents import ROOT

import libsvmx

DOCS = ROOT / "docs"
REFERENCE = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("api/*.rst"))
NAMED = set(re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)", REFERENCE, re.M))


@pytest.fixture
def extension(monkeypatch):
    """Imports a Sphinx extension by name."""
    monkeypatch.syspath_prepend(str(DOCS / "extensions"))
    before = set(sys.modules)
    yield import_module
    for name in set(sys.modules) - before:
        if (DOCS / "extensions" / f"{name}.py").exists():
            del sys.modules[name]


@pytest.fixture
def docstrings(extension):
    return extension("docstrings")


def test_the_reference_has_all_public_names():
    public = {f"libsvmx.{name}" for name in (*libsvmx.__all__, *libsvmx._ESTIMATORS)}
    assert public - NAMED == set()
    assert {"libsvmx.svmutil.svm_train", "libsvmx.svmutil.svm_predict", "libsvmx.sklearn.Progress"} <= NAMED


def test_the_reference_names_all_of_dask():
    pytest.importorskip("dask")
    assert {f"libsvmx.dask.{name}" for name in import_module("libsvmx.dask").__all__} - NAMED == set()


def test_the_reference_names_all_of_plot():
    assert {f"libsvmx.plot.{name}" for name in import_module("libsvmx.plot").__all__} - NAMED == set()


def test_every_page_is_in_the_contents():
    listed = (DOCS / "index.md").read_text(encoding="utf-8").split("```{toctree}", 1)[1].split()
    assert sorted(p.stem for p in DOCS.glob("*.md") if p.stem not in listed) == ["index"]
    within = (DOCS / "api" / "index.rst").read_text(encoding="utf-8").split(".. toctree::", 1)[1].split()
    assert sorted(p.stem for p in DOCS.glob("api/*.rst") if p.stem not in within) == ["index"]


def test_sections_become_definitions(docstrings):
    text = """One line, |x| and name_.

Parameters
----------
C, nu : float
    cost
eps : float
    tolerance of the
    criterion
model : Model
**options : as of ``train``

Returns
-------
Model, or State with ``keep_state``

Raises
------
DataError, OSError
    bad *data*

More of it.
"""
    assert docstrings.in_sphinx(text.splitlines()) == [
        *(r"One line, \|x\| and name\_.", "", ""),
        *(".. rubric:: Parameters", ""),
        *("``C``, ``nu`` : float", "    cost"),
        *("``eps`` : float", "    tolerance of the", "    criterion"),
        *("``model`` : :py:obj:`~libsvmx.Model`\\ ", "    \\ "),
        *("``**options`` : as of ``train``", "    \\ ", ""),
        *(".. rubric:: Returns", ""),
        *(":py:obj:`~libsvmx.Model`\\ , or :py:obj:`~libsvmx.State`\\  with ``keep_state``", ""),
        *(".. rubric:: Raises", ""),
        *(":py:obj:`~libsvmx.DataError`\\ , ``OSError``", "    bad *data*", ""),
        *("More of it.", ""),
    ]


def test_solvers_have_their_settings_as_parameters(docstrings):
    text = "\n".join(docstrings.settings_of(libsvmx.Chunked))
    assert all(f"\n{setting.name} : " in text for setting in libsvmx.Chunked.settings())
    assert docstrings.settings_of(libsvmx.SMO) == []


def test_links_become_titles_and_leave_the_site(extension):
    pytest.importorskip("sphinx")
    links = extension("links")
    source = ["[solvers.md](solvers.md#auto), [its solvers](solvers.md), [SECURITY.md](../SECURITY.md#x)"]
    links.change_links(None, "page", source)
    assert source == [f"*[](solvers.md#auto)*, [its solvers](solvers.md), [SECURITY.md]({links.BASE}SECURITY.md#x)"]


NUMBERS = "1,605; > 60; 31 %; 2e-7; 5.0 to 216; 4.3, 3.0; 4 \N{EN DASH} 11; 9 \N{MULTIPLICATION SIGN} 12"
WORDS = "; a9a; equal; 119 features; -s 3; C = 1; -"


@pytest.mark.parametrize("text", NUMBERS.split("; "))
def test_cells_of_numbers_are_known(text, extension):
    pytest.importorskip("docutils")
    assert extension("numbercells").is_number(text)


@pytest.mark.parametrize("text", WORDS.split("; "))
def test_cells_of_words_are_known(text, extension):
    pytest.importorskip("docutils")
    assert not extension("numbercells").is_number(text)


def test_a_step_for_shell_and_python_becomes_tabs(extension):
    in_tabs = extension("tabs").in_tabs
    sh, python, output = "```sh\na | b\n```\n", "```python\nprint(1)\n```\n", "```output\n1\n```\n"
    found = in_tabs(f"Text.\n\n{sh}\n{output}\n{python}\n{output}\nMore.\n")
    shell, rest = found.split(":::{tab-item} Python")
    assert shell.startswith("Text.\n\n::::{tab-set}\n:sync-group: language\n:::{tab-item} Shell\n:sync: sh\n")
    assert sh in shell and output in shell and python in rest and output in rest
    assert rest.rstrip().endswith(":::\n::::\n\nMore.")
    for alone in (f"{sh}\nand\n\n{python}", f"{python}\n{sh}", f"{sh}\n{output}"):
        assert in_tabs(alone) == alone


def test_figures_have_colours_for_dark_pages():
    """Of each light-page colour that changes on a dark page."""
    from tools.figures.style import DARK

    for path in (DOCS / "figures").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        rules = text[text.index("@media (prefers-color-scheme: dark)") : text.index("</style>")]
        assert all(f'[style*="fill: {light}"]{{fill:{dark}!important}}' in rules for light, dark in DARK.items()), path
